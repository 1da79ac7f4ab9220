//! Recorded calls: receipts, and a process that is killed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use interlingua_store::{ListFilter, StorePlace};

use crate::support::{Act, DIALECTS, TestGateway, Upstream, request};

const SCRIPT: &str = "[[turn]]\ntext = \"answered\"";

fn place(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.db"));
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    let _ = std::fs::remove_dir_all(format!("{}-calls", path.display()));
    path
}

fn config(path: &Path) -> String {
    let mut config = format!("[store]\nplace = '{}'\n", path.display());
    for dialect in DIALECTS {
        config += &format!(
            "[backend.to-{dialect}]\ndialect = \"{dialect}\"\nscript = \"s\"\n[[route]]\nmodel = \"to-{dialect}\"\nbackend = \"to-{dialect}\"\n"
        );
    }
    config
        + "[[client]]\nname = \"one\"\nkey = { value = \"k1\" }\n[[client]]\nname = \"two\"\nkey = { value = \"k2\" }\n"
}

#[test]
fn every_call_has_a_receipt_before_its_answer_ends() {
    let path = place("receipts");
    let gateway = TestGateway::with(&config(&path), SCRIPT);
    let mut ids = Vec::new();
    for client in DIALECTS {
        for (backend, stream) in DIALECTS.into_iter().zip([false, true].into_iter().cycle()) {
            let (post, mut body) = request(client, &format!("to-{backend}"), stream, 0);
            body["unknown_member"] = serde_json::json!(1);
            let head = format!("POST {post} HTTP/1.1\r\nauthorization: Bearer k1");
            let answer = gateway.request(&head, &body.to_string());
            assert_eq!(answer.status, 200, "{client} {backend}: {}", answer.body);
            let id =
                answer.head.split_once("x-interlingua-call: ").unwrap().1.lines().next().unwrap().to_owned();
            let receipt = |key: &str| {
                gateway.request(&format!("GET /v1/receipts/{id} HTTP/1.1\r\nauthorization: Bearer {key}"), "")
            };
            let found = receipt("k1");
            assert_eq!(found.status, 200, "{client} {backend}: {}", found.body);
            assert_eq!(receipt("k2").status, 404, "the receipt is that of another client");
            assert_eq!(receipt("k3").status, 401);
            // The digests are those of the bodies that the client sent and got.
            let files = [("request", body.to_string().into_bytes()), ("returned", answer.body.into_bytes())];
            let findings = interlingua_record::contract::verify(&found.body, &files);
            assert!(findings.is_empty(), "{client} {backend}: {findings:?}");
            if client != backend {
                assert!(found.body.contains("/unknown_member"), "{client} {backend}: {}", found.body);
            }
            ids.push(id);
        }
    }
    // Another connection sees the rows while the gateway runs, as it would after a kill.
    let place: StorePlace = path.to_str().unwrap().parse().unwrap();
    let mut store = interlingua_store::open(&place).unwrap();
    let rows = store.list(&ListFilter::default()).unwrap();
    let mut stored: Vec<String> = rows.into_iter().map(|row| row.id).collect();
    stored.sort();
    ids.sort();
    assert_eq!(stored, ids);
}

#[test]
fn the_last_event_of_a_stream_waits_for_its_receipt() {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let text = chunk("{\"role\":\"assistant\",\"content\":\"said\"}", "null");
    let end = chunk("{}", "\"stop\"") + "data: [DONE]\n\n";
    for (client, last_event) in [("openai-chat", "data: [DONE]\n\n"), ("anthropic", "event: message_stop\n")]
    {
        // The backend keeps its body open after the last event, until the gateway gives up.
        let upstream = Upstream::start([Act::Stall(format!("{text}{end}"))]);
        let path = place(&format!("last-event-{client}"));
        let gateway = TestGateway::with(
            &format!(
                "idle-timeout = 1\n[store]\nplace = '{}'\n[backend.b]\ndialect = \"openai-chat\"\nurl = \"{}\"\nretries = 0\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n",
                path.display(),
                upstream.url
            ),
            SCRIPT,
        );
        let (post, body) = request(client, "m", true, 0);
        let body = body.to_string();
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        let (host, length) = (gateway.address, body.len());
        write!(stream, "POST {post} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut received = String::new();
        while !received.contains(last_event) {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap();
            assert!(length > 0, "{client}: {received}");
            received.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        }
        let place: StorePlace = path.to_str().unwrap().parse().unwrap();
        let rows = interlingua_store::open(&place).unwrap().list(&ListFilter::default()).unwrap();
        assert_eq!(rows.len(), 1, "{client}");
        assert!(rows[0].failure.is_none(), "{client}: {:?}", rows[0].failure);
    }
}

#[test]
fn a_new_process_does_not_refill_a_budget() {
    let path = place("budgets");
    // Opus 5.5 costs 4 dollars for a million tokens of input: the first call costs 1 dollar.
    let script = "[[turn]]\ntext = \"answered\"\nusage = { input = 250000, output = 0 }";
    let client = |name: &str, key: &str, period: &str| {
        format!(
            "[[client]]\nname = \"{name}\"\nkey = {{ value = \"{key}\" }}\nbudget = 1.5\nbudget-per = \"{period}\"\n"
        )
    };
    let clients =
        client("one", "k1", "forever") + &client("two", "k2", "month") + &client("three", "k3", "day");
    let config = |store: &str| {
        format!(
            "{store}{clients}[backend.b]\ndialect = \"anthropic\"\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n"
        )
    };
    let ask = |gateway: &TestGateway, key: &str| {
        let (post, mut body) = request("anthropic", "claude-opus-5-5", false, 0);
        body["max_tokens"] = serde_json::json!(30_000);
        let head = format!("POST {post} HTTP/1.1\r\nauthorization: Bearer {key}");
        let answer = gateway.request(&head, &body.to_string());
        assert!(answer.status == 200 || answer.body.contains(": 1 are spent"), "{}", answer.body);
        answer.status
    };
    let store = format!("[store]\nplace = '{}'\n", path.display());
    // 0.6 dollars are reserved for the output: the second call would exceed the budget.
    let before = TestGateway::with(&config(&store), script);
    assert_eq!([ask(&before, "k1"), ask(&before, "k2"), ask(&before, "k1")], [200, 200, 402]);
    drop(before);
    let after = TestGateway::with(&config(&store), script);
    assert_eq!([ask(&after, "k1"), ask(&after, "k2"), ask(&after, "k3")], [402, 402, 200]);
    drop(after);
    let without_store = TestGateway::with(&config(""), script);
    assert_eq!(ask(&without_store, "k1"), 200);
}

#[test]
fn a_refused_call_has_an_id_and_a_receipt() {
    let gateway = TestGateway::with(
        &format!("max-body = 3000\ntoken = \"operator\"\n{}", config(&place("refused"))),
        SCRIPT,
    );
    let receipt = |id: &str, key: &str| {
        gateway.request(&format!("GET /v1/receipts/{id} HTTP/1.1\r\nauthorization: Bearer {key}"), "")
    };
    for client in DIALECTS {
        for (key, model, padding, status, readers) in [
            ("wrong", "to-gemini", 0, 401, ["operator", "k1"]),
            ("k1", "nobody", 0, 404, ["k1", "operator"]),
            ("k1", "to-gemini", 4000, 413, ["k1", "k2"]),
        ] {
            let (post, mut body) = request(client, model, false, 0);
            body["padding"] = serde_json::json!("x".repeat(padding));
            let head = format!("POST {post} HTTP/1.1\r\nauthorization: Bearer {key}");
            let answer = gateway.request(&head, &body.to_string());
            assert_eq!(answer.status, status, "{client}: {}", answer.body);
            let id = answer.head.split_once("x-interlingua-call: ").unwrap().1.lines().next().unwrap();
            let found = receipt(id, readers[0]);
            assert_eq!(found.status, 200, "{client} {status}: {}", found.body);
            assert_eq!(receipt(id, readers[1]).status, 404, "{client} {status}");
            // The gateway does not read the body of a request without a key, or with too large a body.
            let request = if status == 404 { body.to_string() } else { String::new() };
            let files = [("request", request.into_bytes()), ("returned", answer.body.into_bytes())];
            let findings = interlingua_record::contract::verify(&found.body, &files);
            assert!(findings.is_empty(), "{client} {status}: {findings:?}");
        }
    }
    // A list of models is no model call.
    let list = gateway.request("GET /v1/models HTTP/1.1\r\nauthorization: Bearer wrong", "");
    assert_eq!(list.status, 401);
    assert!(!list.head.contains("x-interlingua-call"), "{}", list.head);
}
