//! Connections of clients: several requests on one connection, and requests of unusual forms.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Act, TestGateway, Upstream};

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

/// A gateway before a server, with a short timeout.
fn impatient(upstream: &Upstream, seconds: u64) -> TestGateway {
    let url = &upstream.url;
    let config = format!(
        "idle-timeout = {seconds}\n[backend.b]\ndialect = \"openai-chat\"\nurl = \"{url}\"\nretries = 0\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n"
    );
    TestGateway::with(&config, SCRIPT)
}

#[test]
fn a_client_that_leaves_with_unread_bytes_on_its_connection_ends_the_call() {
    for rest in ["\r\n", "POST /v1/chat/comple"] {
        for is_stream in [false, true] {
            let upstream = Upstream::start([Act::Stall(String::new())]);
            let gateway = impatient(&upstream, 300);
            let mut stream = connect(&gateway);
            stream
                .write_all(format!("{}{rest}", request(&gateway, "", &body(is_stream))).as_bytes())
                .unwrap();
            drop(upstream.requests.wait_for(1));
            drop(stream);
            drop(upstream.left.wait_for(1));
        }
    }
}

#[test]
fn a_client_that_stops_sending_its_request_loses_the_connection() {
    let upstream = Upstream::start([Act::Close]);
    let gateway = impatient(&upstream, 1);
    let address = gateway.address;
    // The second body is read by the server for unusual requests.
    for length in [500, 500_000] {
        let mut stream = connect(&gateway);
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an end before the patience of the test");
        assert!(answer.is_empty() || answer.contains("no byte of the request came for 1 s"), "{answer}");
    }
    assert_eq!(upstream.count(), 0);
}

#[test]
fn a_client_that_stops_reading_ends_the_call() {
    // More than the buffers of both connections hold.
    let event = format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"finish_reason\":null}}]}}\n\n",
        "x".repeat(100_000)
    );
    let upstream = Upstream::start([Act::Stall(event.repeat(300))]);
    let gateway = impatient(&upstream, 1);
    for headers in ["", "connection: keep-alive, x-other\r\n"] {
        let mut stream = connect(&gateway);
        stream.write_all(request(&gateway, headers, &body(true)).as_bytes()).unwrap();
        let calls = gateway.calls.wait_for(1);
        assert!(calls.iter().all(|call| call.is_cancelled), "{calls:?}");
        drop(calls);
        gateway.calls.look().clear();
        drop(stream);
    }
}

#[test]
fn a_compressed_request_is_read() {
    let gateway = gateway();
    // `gzip -n` of the body, in hexadecimal digits.
    let packed: Vec<u8> = "1f8b08000000000002ff0dcabb09c0300c05c05d5eed09bc4a482192970f4836584a65bc7bd41e3761fda4a2c250e03128867a893a0b8cee72d351b789d195d93ee7c879f4166c91f0bc58fbfa0178d4309a48000000"
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    let mut stream = connect(&gateway);
    let (address, length) = (gateway.address, packed.len());
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), &packed].concat()).unwrap();
    is_right(&answer(&mut stream));
    for (coding, said) in [("br", "content-encoding: br"), ("gzip", "the request is not `gzip`")] {
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-encoding: {coding}");
        let refused = gateway.request(&head, &body(false));
        assert!(refused.status == 400 && refused.body.contains(said), "{}", refused.body);
    }
}

#[test]
fn a_request_without_json_is_told_apart_from_one_without_a_model() {
    let gateway = gateway();
    for (body, said) in [
        ("", "the request has no body"),
        ("  ", "the request has no body"),
        ("hello", "the request is not a JSON object"),
        ("[]", "the request is not a JSON object"),
        ("{}", "the request names no `model`"),
    ] {
        let refused = gateway.request("POST /v1/messages HTTP/1.1", body);
        assert!(refused.status == 400 && refused.body.contains(said), "{body}: {}", refused.body);
    }
}

#[test]
fn a_head_request_has_the_head_of_the_page() {
    let gateway = gateway();
    for (path, status) in [("/health", 200), ("/v1/models", 200), ("/metrics", 200), ("/nothing", 404)] {
        let head = gateway.request(&format!("HEAD {path} HTTP/1.1"), "");
        assert_eq!((head.status, &*head.body), (status, ""), "{path}: {}", head.head);
    }
}

#[test]
fn the_path_of_an_endpoint_may_have_more_slashes_and_its_version_twice() {
    let gateway = gateway();
    for path in [
        "//v1//chat/completions/",
        "/openai/chat/completions",
        "/v1/v1/chat/completions?beta=true",
        "/responses",
    ] {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"input":"hi"}"#;
        let answer = gateway.request(&format!("POST {path} HTTP/1.1"), body);
        assert!(answer.status == 200 && answer.body.contains("answered"), "{path}: {}", answer.body);
    }
}

#[test]
fn a_page_of_this_machine_may_read_the_answers_of_a_model_and_nothing_else() {
    let gateway = gateway();
    let ask = |method: &str, path: &str, headers: &str, body: &str| {
        gateway.request(&format!("{method} {path} HTTP/1.1\r\n{headers}"), body)
    };
    let page = "origin: http://localhost:3000";
    let asks = format!(
        "{page}\r\naccess-control-request-method: POST\r\naccess-control-request-headers: content-type,x-api-key"
    );
    let allowed = "access-control-allow-origin: http://localhost:3000";
    let preflight = ask("OPTIONS", "/v1/chat/completions", &asks, "");
    assert_eq!(preflight.status, 204, "{}", preflight.head);
    for header in [
        allowed,
        "access-control-allow-headers: content-type,x-api-key",
        "access-control-allow-methods: post",
    ] {
        assert!(preflight.head.contains(header), "{}", preflight.head);
    }
    let answer = ask("POST", "/v1/chat/completions", page, &body(false));
    assert!(answer.status == 200 && answer.head.contains(allowed), "{}", answer.head);
    for (method, path, status) in
        [("GET", "/metrics", 200), ("GET", "/health", 200), ("OPTIONS", "/v1/receipts/x", 404)]
    {
        let other = ask(method, path, &asks, "");
        assert_eq!(other.status, status, "{path}");
        assert!(!other.head.contains("access-control"), "{path}: {}", other.head);
    }
    let foreign = asks.replace("localhost:3000", "site.example");
    for (method, body) in [("OPTIONS", String::new()), ("POST", body(false))] {
        let refused = ask(method, "/v1/chat/completions", &foreign, &body);
        assert_eq!(refused.status, 403, "{method}");
        assert!(!refused.head.contains("access-control"), "{}", refused.head);
    }
}

#[test]
fn the_host_of_a_request_is_this_machine_in_any_spelling() {
    let gateway = gateway();
    for (host, status) in [
        ("LOCALHOST", 200),
        ("127.0.0.2:99", 200),
        ("[::1]:1", 200),
        ("example.com", 403),
        ("localhost.example.com", 403),
    ] {
        let answer =
            gateway.request(&format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {host}"), &body(false));
        assert_eq!(answer.status, status, "{host}: {}", answer.body);
    }
}
