//! The feed of calls over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use interlingua_gateway::{FeedError, FeedEvent, FeedReader};
use serde_json::{Value, json};

use crate::support::{Act, TestGateway, Upstream, request};

/// A subscription.
struct Subscription(BufReader<TcpStream>);

impl Subscription {
    fn open(gateway: &TestGateway, key: &str) -> Self {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let host = gateway.address;
        write!(stream, "GET /v1/calls/feed HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\r\n")
            .unwrap();
        Self(BufReader::new(stream))
    }

    /// The name and the data of the next event. Lines between events are sizes of chunks.
    fn next(&mut self) -> (String, Value) {
        let mut name = None;
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the feed has ended");
            if let Some(found) = line.strip_prefix("event: ") {
                name = Some(found.trim().to_owned());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (name.unwrap(), serde_json::from_str(data).unwrap());
            }
        }
    }

    fn expect(&mut self, name: &str) -> Value {
        let (found, data) = self.next();
        assert_eq!(found, name, "{data}");
        data
    }
}

const SCRIPT: &str = "[[turn]]\ntext = \"answered\"\nusage = { input = 100, cache-read = 20, output = 9 }";

#[test]
fn a_subscriber_gets_open_calls_first_and_then_each_start_and_end() {
    let upstream = Upstream::start([Act::Stall("data: {}\n\n".to_owned())]);
    let config = format!(
        "token = \"t\"\n[backend.slow]\ndialect = \"openai-chat\"\nurl = \"{}\"\nkey = \"secret-key\"\n[backend.s]\ndialect = \"gemini\"\nscript = \"s\"\n[[route]]\nmodel = \"slow\"\nbackend = \"slow\"\n[[route]]\nmodel = \"gpt-5.2\"\nbackend = \"s\"\n",
        upstream.url
    );
    let gateway = TestGateway::with(&config, SCRIPT);
    assert_eq!(gateway.get("/v1/calls/feed").status, 401);
    assert_eq!(
        gateway.request("GET /v1/calls/feed HTTP/1.1\r\nauthorization: Bearer x", "").status,
        401,
        "a wrong key"
    );
    // A client waits for an answer.
    let (path, body) = request("anthropic", "slow", true, 0);
    let body = body.to_string();
    let mut waiting = TcpStream::connect(gateway.address).unwrap();
    write!(
        waiting,
        "POST {path} HTTP/1.1\r\nhost: {}\r\nx-api-key: t\r\ncontent-length: {}\r\n\r\n{body}",
        gateway.address,
        body.len()
    )
    .unwrap();
    drop(upstream.requests.wait_for(1));

    let mut feed = Subscription::open(&gateway, "t");
    let open = feed.expect("call-started");
    assert_eq!((&open["backend"], &open["model_asked"]), (&json!("slow"), &json!("slow")));
    assert_eq!((&open["client"], &open["client_dialect"]), (&json!("default"), &json!("anthropic")));
    assert_eq!(feed.expect("ready"), json!({"open": 1}));

    let (path, body) = request("openai-responses", "gpt-5.2", false, 0);
    let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer t");
    assert_eq!(gateway.request(&head, &body.to_string()).status, 200);
    let started = feed.expect("call-started");
    let ended = feed.expect("call-ended");
    for member in ["id", "started", "client", "client_dialect", "backend", "model_asked", "model_sent"] {
        assert_eq!(started[member], ended[member], "{member}");
    }
    assert_eq!((&ended["status"], &ended["backend_dialect"]), (&json!(200), &json!("gemini")));
    assert_eq!(ended["usage"], json!({"input": 100, "cache_read": 20, "output": 9}));
    assert!(ended["cost"].as_f64().unwrap() > 0.0, "{ended}");
    assert_eq!((&ended["failure"], &ended["cancelled"]), (&json!(null), &json!(false)));
    assert_eq!(ended["attempts"][0]["backend"], json!("s"));
    assert!(ended["duration_ms"].is_u64() && ended["losses"].is_u64(), "{ended}");

    // The client of the open call leaves.
    drop(waiting);
    let left = feed.expect("call-ended");
    assert_eq!((&left["id"], &left["cancelled"]), (&open["id"], &json!(true)));
    let mut later = Subscription::open(&gateway, "t");
    assert_eq!(later.expect("ready"), json!({"open": 0}));
}

#[test]
fn a_call_that_moves_and_a_call_that_is_refused_are_in_the_feed() {
    let config = "[backend.gone]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:9\"\nretries = 0\n[backend.s]\nscript = \"s\"\n[[route]]\nmodel = \"moves\"\nbackend = \"gone\"\n[[route.fallback]]\nbackend = \"s\"\nsend = \"other\"\n";
    let gateway = TestGateway::with(config, SCRIPT);
    let mut feed = Subscription::open(&gateway, "any");
    feed.expect("ready");
    let (path, body) = request("openai-chat", "moves", false, 0);
    assert_eq!(gateway.post(&path, &body).status, 200);
    assert_eq!(feed.expect("call-started")["backend"], json!("gone"));
    let moved = feed.expect("call-moved");
    assert_eq!((&moved["backend"], &moved["model_sent"]), (&json!("s"), &json!("other")));
    let ended = feed.expect("call-ended");
    assert_eq!((&ended["id"], &ended["backend"]), (&moved["id"], &json!("s")));
    assert_eq!(ended["attempts"].as_array().map(Vec::len), Some(2), "{ended}");
    assert!(ended["attempts"][0]["failure"].as_str().unwrap().contains("cannot be reached"), "{ended}");

    let (path, body) = request("openai-chat", "unknown", false, 0);
    assert_eq!(gateway.post(&path, &body).status, 404);
    let refused = feed.expect("call-ended");
    assert_eq!((&refused["status"], &refused["backend"]), (&json!(404), &json!("")));
    assert_eq!(refused["failure"]["class"], json!("not_found"));
}

#[test]
fn the_reader_of_the_feed_has_the_facts_of_the_events() {
    let config = "token = \"t\"\n[backend.s]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"s\"\n";
    let gateway = TestGateway::with(config, SCRIPT);
    let url = format!("http://{}/", gateway.address);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let refused = FeedReader::connect(&url, None).await.unwrap_err();
        assert!(matches!(refused, FeedError::Refused { status: 401, .. }), "{refused}");
        let mut feed = FeedReader::connect(&url, Some("t")).await.unwrap();
        assert_eq!(feed.next().await.unwrap(), Some(FeedEvent::Ready));
        // The text of a name comes back unchanged.
        let (path, body) = request("openai-chat", "a\u{1b}[2J\"\n", false, 0);
        let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer t");
        assert_eq!(gateway.request(&head, &body.to_string()).status, 200);
        let Some(FeedEvent::Started(started)) = feed.next().await.unwrap() else { panic!("no start") };
        let Some(FeedEvent::Ended(ended)) = feed.next().await.unwrap() else { panic!("no end") };
        assert_eq!((&started.id, &*started.model_asked), (&ended.id, "a\u{1b}[2J\"\n"));
        let usage = ended.usage.unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.output), (Some(100), Some(20), Some(9)));
        assert_eq!((ended.status, ended.attempts, &ended.failure), (200, 1, &None));
    });
}

#[test]
fn a_client_sees_its_own_calls_and_the_token_sees_all() {
    let upstream = Upstream::start([Act::Stall("data: {}\n\n".to_owned())]);
    let mut config = format!(
        "token = \"operator\"\n[backend.slow]\ndialect = \"openai-chat\"\nurl = \"{}\"\n[[route]]\nmodel = \"slow\"\nbackend = \"slow\"\n[backend.s]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"s\"\n",
        upstream.url
    );
    for name in ["one", "two"] {
        config += &format!("[[client]]\nname = \"{name}\"\nkey = {{ value = \"key-{name}\" }}\n");
    }
    let gateway = TestGateway::with(&config, SCRIPT);
    let (path, body) = request("openai-chat", "slow", true, 0);
    let (body, host) = (body.to_string(), gateway.address);
    let mut waiting = TcpStream::connect(host).unwrap();
    let length = body.len();
    write!(waiting, "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer key-one\r\ncontent-length: {length}\r\n\r\n{body}")
        .unwrap();
    drop(upstream.requests.wait_for(1));

    let mut one = Subscription::open(&gateway, "key-one");
    let mut two = Subscription::open(&gateway, "key-two");
    let mut all = Subscription::open(&gateway, "operator");
    assert_eq!(one.expect("call-started")["client"], json!("one"));
    assert_eq!(one.expect("ready"), json!({"open": 1}));
    assert_eq!(two.expect("ready"), json!({"open": 0}));
    assert_eq!(all.expect("call-started")["client"], json!("one"));
    assert_eq!(all.expect("ready"), json!({"open": 1}));

    let ask = |key: &str| {
        let (path, body) = request("openai-chat", "m", false, 0);
        let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer {key}");
        gateway.request(&head, &body.to_string()).status
    };
    assert_eq!([ask("key-one"), ask("wrong"), ask("key-two")], [200, 401, 200]);
    drop(waiting);
    for (name, feed, ended) in [("one", &mut one, 2), ("two", &mut two, 1)] {
        let mut left = ended;
        while left > 0 {
            let (event, data) = feed.next();
            assert_eq!(data["client"], json!(name), "{event}");
            left -= usize::from(event == "call-ended");
        }
    }
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let (event, data) = all.next();
        seen.extend((event == "call-ended").then(|| data["client"].as_str().unwrap().to_owned()));
    }
    seen.sort();
    assert_eq!(seen, ["", "one", "one", "two"]);
}
