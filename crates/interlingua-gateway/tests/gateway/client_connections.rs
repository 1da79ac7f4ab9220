//! Connections of clients: several requests on one connection, and requests of unusual forms.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::TestGateway;

const SCRIPT: &str = "[[turn]]\ntext = \"answered\"\n";

fn gateway() -> TestGateway {
    let config = "[backend.demo]\nscript = \"demo\"\n[[route]]\nmodel = \"*\"\nbackend = \"demo\"\n";
    TestGateway::with(config, SCRIPT)
}

fn connect(gateway: &TestGateway) -> TcpStream {
    let stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn body(is_stream: bool) -> String {
    format!(r#"{{"model":"m","stream":{is_stream},"messages":[{{"role":"user","content":"hi"}}]}}"#)
}

/// A request with these headers beside its host and its length.
fn request(gateway: &TestGateway, headers: &str, body: &str) -> String {
    let (address, length) = (gateway.address, body.len());
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// Reads one answer, up to its end: the head and the body as they arrive.
fn answer(stream: &mut TcpStream) -> String {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    loop {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&bytes));
        bytes.push(byte[0]);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&text);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let is_whole = match length {
            Some(length) => body.len() == length.parse::<usize>().unwrap(),
            None => body.ends_with("0\r\n\r\n"),
        };
        if is_whole {
            return text.to_owned();
        }
    }
}

fn is_right(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("answered"), "{answer}");
    assert!(answer.contains("\r\ndate: ") && answer.contains("\r\nx-interlingua-call: "), "{answer}");
}

#[test]
fn a_connection_serves_whole_answers_and_streams_in_turn() {
    let gateway = gateway();
    let mut stream = connect(&gateway);
    for is_stream in [false, true, false, true] {
        stream.write_all(request(&gateway, "", &body(is_stream)).as_bytes()).unwrap();
        let answer = answer(&mut stream);
        is_right(&answer);
        assert_eq!(answer.contains("transfer-encoding: chunked"), is_stream, "{answer}");
        assert_eq!(answer.contains("data: [DONE]"), is_stream, "{answer}");
    }
}

#[test]
fn a_request_arrives_in_pieces_of_any_size() {
    let gateway = gateway();
    let mut stream = connect(&gateway);
    for size in [1, 7, 100] {
        for piece in request(&gateway, "", &body(false)).as_bytes().chunks(size) {
            stream.write_all(piece).unwrap();
        }
        is_right(&answer(&mut stream));
    }
}

#[test]
fn requests_that_come_before_the_answer_wait() {
    let gateway = gateway();
    let mut stream = connect(&gateway);
    let one = request(&gateway, "", &body(false));
    stream.write_all(format!("{one}{one}{one}").as_bytes()).unwrap();
    for _ in 0..3 {
        is_right(&answer(&mut stream));
    }
}

#[test]
fn a_request_of_an_unusual_form_is_answered_on_the_same_connection() {
    let gateway = gateway();
    let (address, whole) = (gateway.address, body(false));
    let length = whole.len();
    let long = body(false).replace("hi", &"long text ".repeat(10_000));
    let forms = [
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{whole}\r\n0\r\n\r\n"
        ),
        format!(
            "\r\nPOST /v1/chat/completions HTTP/1.1\nhost: {address}\ncontent-length: {length}\n\n{whole}"
        ),
        request(&gateway, "", &long),
        request(&gateway, "expect: 100-continue\r\n", &whole),
        request(&gateway, "connection: keep-alive, x-other\r\n", &whole),
    ];
    for form in forms {
        let mut stream = connect(&gateway);
        // The first request has the usual form, and so has the last.
        for one in [&request(&gateway, "", &whole), &form, &request(&gateway, "", &whole)] {
            stream.write_all(one.as_bytes()).unwrap();
            is_right(&answer(&mut stream));
        }
    }
}

#[test]
fn a_request_that_is_not_http_ends_the_connection() {
    let gateway = gateway();
    for wrong in [
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: x\r\n\r\n",
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "nothing of this is HTTP\r\n\r\n",
    ] {
        let mut stream = connect(&gateway);
        stream.write_all(wrong.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{wrong}: {answer}");
    }
}

#[test]
fn a_client_can_end_the_connection_after_an_answer() {
    let gateway = gateway();
    for is_stream in [false, true] {
        let mut stream = connect(&gateway);
        stream.write_all(request(&gateway, "Connection: Close\r\n", &body(is_stream)).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        is_right(&answer);
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    }
}
