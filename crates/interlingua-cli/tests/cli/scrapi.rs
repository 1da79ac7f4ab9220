//! Registration with a transparency service over HTTP: a small service on loopback that keeps a log, and services that
//! misbehave.

use crate::support;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::support::Dir;
use interlingua_record::signed::{SigningKey, TransparencyLog, receipts_of};

/// A request that the service got.
#[derive(Clone, Debug)]
struct Asked {
    line: String,
    headers: String,
    body: Vec<u8>,
}

/// Starts a service on loopback. `answer` gets the number of the request, and the request. Returns its address and the
/// requests so far.
fn service(
    mut answer: impl FnMut(usize, &Asked) -> Vec<u8> + Send + 'static,
) -> (String, Arc<Mutex<Vec<Asked>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let request = read_request(&mut stream);
            let number = {
                let mut seen = seen.lock().expect("no panic");
                seen.push(request.clone());
                seen.len() - 1
            };
            let _ = stream.write_all(&answer(number, &request));
        }
    });
    (address, asked)
}

fn read_request(stream: &mut TcpStream) -> Asked {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).expect("a request");
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            assert!(count > 0, "a request ended early");
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
        let length = headers
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            let body = bytes[end + 4..].to_vec();
            return Asked { line: line.to_owned(), headers: headers.to_lowercase(), body };
        }
    }
}

fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n", body.len())
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A folder with a record, a key of a signer, a key of a service and a signature over the digest.
fn prepared(test: &str) -> Dir {
    let dir = Dir::new(test);
    dir.write("log.jsonl", support::log(3));
    for command in [
        "convert -q log.jsonl --to record -o record.json",
        "keygen ann.key",
        "keygen service.key",
        "sign -q record.json --key ann.key --signer Ann --digest -o digest.cose",
        "sign -q record.json --key ann.key --signer Ann -o attached.cose",
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
    }
    dir
}

/// The receipt of a real log for a statement.
fn receipt_for(dir: &Dir, statement: &[u8]) -> Vec<u8> {
    let pem = String::from_utf8(dir.read("service.key")).expect("PEM");
    let key = SigningKey::from_pem(&pem).expect("a key");
    let mut log =
        TransparencyLog::open(&dir.path().join("service-log"), &key, "example.org/service").expect("a log");
    let (file, _) = log.append(statement, 1_770_000_000).expect("a statement");
    receipts_of(&file).expect("a file").remove(0)
}

/// A service that registers at once, or after it was asked twice.
fn honest(dir: &Dir, is_slow: bool) -> (String, Arc<Mutex<Vec<Asked>>>) {
    let path = dir.path().to_owned();
    let pem = String::from_utf8(dir.read("service.key")).expect("PEM");
    let mut receipt = Vec::new();
    service(move |number, asked| {
        if asked.line.starts_with("POST /entries ") {
            let key = SigningKey::from_pem(&pem).expect("a key");
            let mut log =
                TransparencyLog::open(&path.join("service-log"), &key, "example.org/service").expect("a log");
            let (file, _) = log.append(&asked.body, 1_770_000_000).expect("a statement");
            receipt = receipts_of(&file).expect("a file").remove(0);
            if !is_slow {
                return response(
                    "201 Created",
                    "content-type: application/cose\r\nlocation: /entries/1\r\n",
                    &receipt,
                );
            }
            return response("303 See Other", "location: /entries/1\r\nretry-after: 0\r\n", b"");
        }
        assert!(asked.line.starts_with("GET /entries/1 "), "{}", asked.line);
        match number {
            1 => response("302 Found", "location: /entries/1\r\nretry-after: 0\r\n", b""),
            2 => response("503 Service Unavailable", "retry-after: 0\r\n", b""),
            _ => response("200 OK", "content-type: application/cose\r\n", &receipt),
        }
    })
}

#[test]
fn a_signature_is_registered_with_a_service() {
    for is_slow in [false, true] {
        let dir = prepared(&format!("scrapi-{is_slow}"));
        let (address, asked) = honest(&dir, is_slow);
        let ran = dir
            .run(&format!("log append {address} digest.cose --log-key service.key.pub -o registered.cose"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("the receipt holds"), "{}", ran.stderr);
        let asked = asked.lock().expect("no panic").clone();
        assert_eq!(asked.len(), if is_slow { 4 } else { 1 });
        assert!(asked[0].headers.contains("content-type: application/cose"), "{}", asked[0].headers);
        let verified = dir
            .run("verify registered.cose --record record.json --key ann.key.pub --log-key service.key.pub");
        assert_eq!(verified.code, Some(0), "{}", verified.stdout());
        // The service learns neither salts nor the record.
        let sent = String::from_utf8_lossy(&asked[0].body).into_owned();
        assert!(!sent.contains("salts") && !sent.contains("entries"), "{sent}");
    }
}

#[test]
fn signing_and_registering_are_one_command() {
    let dir = prepared("scrapi-sign");
    let (address, _) = honest(&dir, true);
    let ran = dir.run(&format!("sign record.json --key ann.key --signer Ann --log {address} -o one.cose"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let verified =
        dir.run("verify one.cose --record record.json --key ann.key.pub --log-key service.key.pub");
    assert_eq!(verified.code, Some(0), "{}", verified.stdout());
}

#[test]
fn a_record_is_never_sent() {
    let dir = prepared("scrapi-record");
    let (address, asked) = honest(&dir, false);
    let ran = dir.run(&format!("log append {address} attached.cose -o out.cose"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("`sign --digest`"), "{}", ran.stderr);
    assert_eq!(asked.lock().expect("no panic").len(), 0);
}

#[test]
fn a_service_that_misbehaves_is_refused_with_a_reason() {
    let dir = prepared("scrapi-hostile");
    let statement = interlingua_record::signed::statement_of(&dir.read("attached.cose"));
    assert!(statement.is_err());
    let other = receipt_for(&dir, &dir.read("attached.cose"));
    let answers: [(&str, Vec<u8>); 7] = [
        ("another server", response("303 See Other", "location: http://127.0.0.2:9/x\r\n", b"")),
        ("without the address", response("202 Accepted", "", b"")),
        ("status 400", response("400 Bad Request", "", b"no")),
        ("not a COSE receipt", response("201 Created", "", b"\xd2\x80")),
        ("not a COSE receipt", response("200 OK", "", b"")),
        ("in time", response("302 Found", "location: /entries/1\r\nretry-after: 0\r\n", b"")),
        ("does not lead from this file", response("201 Created", "", &other)),
    ];
    for (reason, answer) in answers {
        let (address, asked) = service(move |_, _| answer.clone());
        let ran = dir.run(&format!("log append {address} digest.cose --log-key service.key.pub -o out.cose"));
        assert_ne!(ran.code, Some(0), "{reason}");
        assert!(ran.stderr.contains(reason), "{reason}: {}", ran.stderr);
        assert!(!dir.path().join("out.cose").exists(), "{reason}");
        assert!(asked.lock().expect("no panic").len() <= 100, "{reason}");
    }
    let (address, _) = service(|_, _| response("201 Created", "", &vec![0; 2 << 20]));
    let ran = dir.run(&format!("log append {address} digest.cose -o out.cose"));
    assert!(ran.stderr.contains("more than 1048576 bytes"), "{}", ran.stderr);
}

#[test]
fn a_log_in_a_folder_needs_its_key_and_name() {
    let dir = prepared("scrapi-folder");
    let ran = dir.run("log append folder digest.cose -o out.cose");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("--key` and `--origin"), "{}", ran.stderr);
}
