//! Connections to backends: their use for several calls, their end, and the forms of answers on them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use interlingua_gateway::{Config, Server};
use serde_json::{Value, json};

use crate::support::{Growing, HttpAnswer, TestGateway, TestLookup};

/// A server with one closure for each connection, in the order of the connections.
struct RawServer {
    url: String,
    /// The head of each request.
    heads: Growing<String>,
    /// An element for each connection that its closure has left.
    closed: Growing<()>,
}

type Serve = fn(&mut TcpStream, &Growing<String>);

impl RawServer {
    fn start(connections: impl IntoIterator<Item = Serve>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (heads, closed) = (Growing::default(), Growing::default());
        let (seen, left) = (heads.clone(), closed.clone());
        let connections: Vec<Serve> = connections.into_iter().collect();
        std::thread::spawn(move || {
            for serve in connections {
                let (mut stream, seen, left) = (listener.accept().unwrap().0, seen.clone(), left.clone());
                std::thread::spawn(move || {
                    serve(&mut stream, &seen);
                    drop(stream);
                    left.push(());
                });
            }
        });
        Self { url, heads, closed }
    }

    /// A gateway with this server as a backend of Chat Completions. Each thread of a gateway has its own connections.
    fn gateway(&self) -> TestGateway {
        let config = format!(
            "threads = 1\n[backend.server]\ndialect = \"openai-chat\"\nurl = \"{}\"\nretries = 0\n[[route]]\nmodel = \"*\"\nbackend = \"server\"",
            self.url
        );
        TestGateway::with(&config, "")
    }
}

/// Reads a request, with its body if `with_body`.
fn read_request(stream: &mut TcpStream, heads: &Growing<String>, with_body: bool) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the request is not complete");
        bytes.extend_from_slice(&buffer[..length]);
        let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let value = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if with_body && bytes.len() < end + 4 + value.parse::<usize>().unwrap() {
            continue;
        }
        return heads.push(head);
    }
}

fn completion(text: &str) -> String {
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}).to_string()
}

fn answer(stream: &mut TcpStream, heads: &Growing<String>, text: &str) {
    read_request(stream, heads, true);
    let body = completion(text);
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
}

/// Waits until the gateway closes the connection.
fn wait_for_end(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert!(matches!(stream.read(&mut [0; 64]), Ok(0)), "the gateway sent more");
}

fn ask(gateway: &TestGateway, content: &str) -> HttpAnswer {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]});
    gateway.post("/v1/messages", &body)
}

fn text(answer: &HttpAnswer) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    body["content"][0]["text"].as_str().unwrap_or(&answer.body).to_owned()
}

#[test]
fn a_connection_is_used_for_further_calls() {
    let three: Serve = |stream, heads| {
        for text in ["one", "two", "three"] {
            answer(stream, heads, text);
        }
    };
    let server = RawServer::start([three]);
    let gateway = server.gateway();
    for expected in ["one", "two", "three"] {
        assert_eq!(text(&ask(&gateway, "hi")), expected);
    }
    let heads = server.heads.look();
    assert!(heads[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].contains("\r\nhost: 127.0.0.1:"), "{}", heads[0]);
}

#[test]
fn a_connection_that_the_server_has_closed_is_replaced_in_the_same_attempt() {
    let once = |stream: &mut TcpStream, heads: &Growing<String>| answer(stream, heads, "yes");
    let server = RawServer::start([once as Serve, once]);
    let gateway = server.gateway();
    assert_eq!(text(&ask(&gateway, "hi")), "yes");
    drop(server.closed.wait_for(1));
    assert_eq!(text(&ask(&gateway, "hi")), "yes");
    assert_eq!(server.heads.look().len(), 2);
    let calls = gateway.calls.wait_for(2);
    assert!(calls.iter().all(|call| call.attempts.len() == 1), "{calls:?}");
}

#[test]
fn bytes_after_an_answer_end_the_connection() {
    fn twice(stream: &mut TcpStream, heads: &Growing<String>) {
        read_request(stream, heads, true);
        let body = completion("first");
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        let foreign = completion("of nobody");
        let more = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{foreign}", foreign.len());
        // One write: the gateway receives all bytes together.
        stream.write_all(format!("{head}{body}{more}").as_bytes()).unwrap();
        // A side that closes with unread bytes resets the connection.
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert!(!matches!(stream.read(&mut [0; 64]), Ok(1..)), "the connection is used again");
    }
    let server = RawServer::start([twice as Serve, |stream, heads| answer(stream, heads, "second")]);
    let gateway = server.gateway();
    assert_eq!(text(&ask(&gateway, "hi")), "first");
    drop(server.closed.wait_for(1));
    assert_eq!(text(&ask(&gateway, "hi")), "second");
}

#[test]
fn an_answer_arrives_in_every_form() {
    let forms: [Serve; 4] = [
        |stream, heads| {
            read_request(stream, heads, true);
            let body = completion("in chunks");
            let (one, two) = body.split_at(17);
            write!(stream, "HTTP/1.1 100 Continue\r\n\r\n").unwrap();
            write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
            write!(stream, "{:X};x=y\r\n{one}\r\n{:x}\r\n", one.len(), two.len()).unwrap();
            stream.flush().unwrap();
            std::thread::yield_now();
            write!(stream, "{two}\r\n0\r\nx-trailer: 1\r\n\r\n").unwrap();
            // The second answer on this connection has a length.
            read_request(stream, heads, true);
            let body = completion("in pieces");
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nConnection: close\r\n\r\n", body.len())
                .unwrap();
            for byte in body.bytes() {
                stream.write_all(&[byte]).unwrap();
            }
            wait_for_end(stream);
        },
        |stream, heads| {
            read_request(stream, heads, true);
            write!(stream, "HTTP/1.1 200 OK\r\n\r\n{}", completion("until the end")).unwrap();
        },
        |stream, heads| {
            read_request(stream, heads, true);
            let body = completion("old");
            write!(stream, "HTTP/1.0 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
            wait_for_end(stream);
        },
        |stream, heads| answer(stream, heads, &"long ".repeat(400_000)),
    ];
    let server = RawServer::start(forms);
    let gateway = server.gateway();
    for expected in ["in chunks", "in pieces", "until the end", "old", &"long ".repeat(400_000)] {
        let told = text(&ask(&gateway, "hi"));
        assert!(told == expected, "{expected:.20} is {told:.100}");
    }
    drop(server.closed.wait_for(3));
}

#[test]
fn an_answer_before_the_end_of_a_large_request_reaches_the_client() {
    fn refuse(stream: &mut TcpStream, heads: &Growing<String>) {
        read_request(stream, heads, false);
        let body = r#"{"error":{"message":"far too large","type":"invalid_request_error"}}"#;
        let head = "HTTP/1.1 413 Too Large\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        // The gateway stops sending, or has sent everything by now, and closes the connection.
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        std::io::copy(stream, &mut std::io::sink()).unwrap();
    }
    let server = RawServer::start([refuse as Serve, |stream, heads| answer(stream, heads, "next")]);
    let gateway = server.gateway();
    let refused = ask(&gateway, &"x".repeat(24 << 20));
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert!(refused.body.contains("far too large"), "{}", refused.body);
    assert_eq!(text(&ask(&gateway, "hi")), "next");
}

#[test]
fn a_body_that_ends_early_is_an_error() {
    let cut: [Serve; 3] = [
        |stream, heads| {
            read_request(stream, heads, true);
            let body = completion("cut");
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len() + 1).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        },
        |stream, heads| {
            read_request(stream, heads, true);
            let body = completion("cut");
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
                body.len()
            )
            .unwrap();
        },
        |stream, heads| {
            read_request(stream, heads, true);
            write!(stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n").unwrap();
        },
    ];
    let server = RawServer::start(cut);
    let gateway = server.gateway();
    for call in 1..=3 {
        let answer = ask(&gateway, "hi");
        assert!(answer.status >= 500 && answer.body.contains("broke off"), "{call}: {}", answer.body);
    }
}

#[test]
fn a_configured_header_cannot_change_the_length_of_a_request() {
    for (header, is_sound) in [("x-team", true), ("Content-Length", false), ("transfer-encoding", false)] {
        let config = format!(
            "[backend.b]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:9\"\nheaders = {{ {header} = \"1\" }}\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
        );
        let checked = Server::check(&Config::parse(&config).unwrap(), &TestLookup(""));
        assert_eq!(checked.is_ok(), is_sound, "{header}: {checked:?}");
    }
}
