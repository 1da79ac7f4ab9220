//! Backends that fail: repetitions, other keys, fallbacks, pauses; and the limits of clients.

use std::io::{Read, Write};
use std::net::TcpStream;

use interlingua_gateway::{Config, ConfigError, Server};
use serde_json::json;

use crate::support::{Act, DIALECTS, HttpAnswer, TestGateway, TestLookup, Upstream, request, told};

const SCRIPT: &str = "[[turn]]\ntext = \"from the script\"";

fn chat_answer() -> Act {
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "from the server"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0, "total_tokens": 1_000_000}});
    Act::Answer(200, "", body.to_string())
}

fn chat_error(status: u16, headers: &'static str) -> Act {
    let kind = match status {
        400 => "invalid_request_error",
        429 => "rate_limit_error",
        _ => "server_error",
    };
    let body = json!({"error": {"message": format!("error {status}"), "type": kind}});
    Act::Answer(status, headers, body.to_string())
}

/// The beginning of a chat stream without content.
const BEGUN: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n";

/// The first content of a chat stream.
const CONTENT: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"},\"finish_reason\":null}]}\n\n";

const STREAM_ERROR: &str =
    "data: {\"error\":{\"message\":\"overloaded now\",\"type\":\"overloaded_error\",\"code\":503}}\n\n";

const EVENTS: &str = "content-type: text/event-stream\r\n";

/// A gateway with the server as its backend, with further members of the backend and a further configuration.
fn gateway(upstream: &Upstream, backend: &str, more: &str) -> TestGateway {
    let url = &upstream.url;
    let config = format!(
        "[backend.server]\ndialect = \"openai-chat\"\nurl = \"{url}\"\n{backend}\n[backend.script]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"server\"\n{more}"
    );
    TestGateway::with(&config, SCRIPT)
}

fn ask(gateway: &TestGateway, client: &str, stream: bool) -> HttpAnswer {
    let (path, body) = request(client, "m", stream, 0);
    gateway.post(&path, &body)
}

const FALLBACK: &str = "[[route.fallback]]\nbackend = \"script\"";

#[test]
fn a_failure_of_the_server_is_sent_again() {
    for fault in [chat_error(500, ""), chat_error(503, ""), Act::Close] {
        for stream in [false, true] {
            let answer = if stream {
                let done = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
                Act::Answer(200, EVENTS, format!("{BEGUN}{CONTENT}{done}"))
            } else {
                chat_answer()
            };
            let upstream = Upstream::start([fault.clone(), answer]);
            let gateway = gateway(&upstream, "", "");
            let answer = ask(&gateway, "anthropic", stream);
            assert_eq!(answer.status, 200, "{fault:?} {stream}: {}", answer.body);
            assert!(told("anthropic", &answer).contains("[end_turn]"), "{fault:?} {stream}: {}", answer.body);
            // The HTTP client of the gateway repeats a request on a connection that closes without an answer, too.
            assert!(upstream.count() >= 2, "{fault:?}");
        }
    }
}

#[test]
fn an_invalid_request_is_sent_once() {
    let upstream = Upstream::start([chat_error(400, "")]);
    let gateway = gateway(&upstream, "", FALLBACK);
    let answer = ask(&gateway, "anthropic", false);
    assert_eq!((answer.status, upstream.count()), (400, 1), "{}", answer.body);
    assert!(answer.body.contains("error 400"), "{}", answer.body);
}

#[test]
fn every_client_gets_the_fallback_before_the_first_content() {
    let faults = [
        chat_error(500, ""),
        chat_error(429, "retry-after: 7\r\n"),
        Act::Answer(200, EVENTS, format!("{BEGUN}{STREAM_ERROR}")),
        Act::Answer(200, EVENTS, BEGUN.to_owned()),
        Act::Break(BEGUN.to_owned()),
    ];
    for fault in faults {
        let upstream = Upstream::start([fault.clone()]);
        let gateway = gateway(&upstream, "retries = 0", FALLBACK);
        for client in DIALECTS {
            let answer = ask(&gateway, client, true);
            let told = told(client, &answer);
            assert!(told.contains("fromthescript"), "{client} {fault:?}: {told} {}", answer.body);
            assert!(!told.contains("[error"), "{client} {fault:?}: {told}");
            assert!(answer.head.contains("x-interlingua-backend: script"), "{}", answer.head);
        }
    }
}

#[test]
fn an_error_after_the_first_content_reaches_the_client() {
    let acts = [
        Act::Answer(200, EVENTS, format!("{BEGUN}{CONTENT}{STREAM_ERROR}")),
        Act::Break(format!("{BEGUN}{CONTENT}")),
    ];
    for act in acts {
        let upstream = Upstream::start([act.clone()]);
        let gateway = gateway(&upstream, "", FALLBACK);
        for client in DIALECTS {
            let answer = ask(&gateway, client, true);
            let told = told(client, &answer);
            assert!(told.starts_with("half"), "{client} {act:?}: {told}");
            assert!(told.contains("[error"), "{client} {act:?}: {told} {}", answer.body);
            assert!(!told.contains("fromthescript"), "{client} {act:?}: {told}");
        }
    }
}

#[test]
fn a_fallback_follows_its_failures_only() {
    let upstream = Upstream::start([chat_error(500, "")]);
    let only_limits = format!("{FALLBACK}\non = [\"rate_limit\"]");
    let gateway = gateway(&upstream, "retries = 0", &only_limits);
    assert_eq!(ask(&gateway, "anthropic", false).status, 500);
    let wrong = Config::parse("[backend.b]\nscript=\"\"\n[[route]]\nmodel=\"*\"\nbackend=\"b\"\n[[route.fallback]]\nbackend=\"b\"\non=[\"moon\"]").unwrap();
    let error = Server::check(&wrong, &TestLookup(SCRIPT)).unwrap_err();
    assert!(matches!(error.cause(), ConfigError::FailureClass { word, .. } if word == "moon"), "{error}");
}

#[test]
fn a_limited_key_rests_and_the_next_one_is_used() {
    let upstream = Upstream::start([chat_error(429, "retry-after: 60\r\n"), chat_answer()]);
    let gateway = gateway(&upstream, "keys = [{ env = \"KEY_A\" }, { value = \"KEY_B\" }]", "");
    for _ in 0..3 {
        assert_eq!(ask(&gateway, "openai-chat", false).status, 200);
    }
    let requests = upstream.requests.look();
    let used: Vec<&str> = requests
        .iter()
        .map(|request| request.split_once("authorization: Bearer ").unwrap().1.lines().next().unwrap())
        .collect();
    assert_eq!(used, ["KEY_A", "KEY_B", "KEY_B", "KEY_B"]);
}

#[test]
fn the_delay_of_a_rate_limit_reaches_the_client_and_holds() {
    let upstream = Upstream::start([chat_error(429, "retry-after: 60\r\n"), chat_answer()]);
    let gateway = gateway(&upstream, "key = \"only\"", "");
    for client in DIALECTS {
        let answer = ask(&gateway, client, false);
        assert_eq!(answer.status, 429, "{client}: {}", answer.body);
        assert!(
            answer.head.contains("retry-after: 60") || answer.head.contains("retry-after: 59"),
            "{}",
            answer.head
        );
    }
    assert_eq!(upstream.count(), 1, "the key rests");
}

#[test]
fn a_backend_that_keeps_failing_is_paused() {
    let upstream = Upstream::start([chat_error(500, "")]);
    let gateway = gateway(&upstream, "retries = 0", "");
    for _ in 0..13 {
        ask(&gateway, "openai-chat", false);
    }
    assert_eq!(upstream.count(), 10);
    let answer = ask(&gateway, "openai-chat", false);
    assert!(answer.body.contains("is paused after failures"), "{}", answer.body);
    let metrics = gateway.get("/metrics").body;
    assert!(metrics.contains("interlingua_backend_circuit_open{backend=\"server\"} 1"), "{metrics}");
}

#[test]
fn a_client_gets_the_failure_of_the_backend_and_not_the_pause_after_it() {
    let upstream = Upstream::start([chat_error(500, "")]);
    let gateway = gateway(&upstream, "", "");
    // Three attempts each: the circuit opens during the fourth call.
    for call in 1..=4 {
        let answer = ask(&gateway, "anthropic", false);
        assert_eq!(
            (answer.status, answer.body.contains("error 500")),
            (500, true),
            "{call}: {}",
            answer.body
        );
    }
    assert_eq!(upstream.count(), 10);
}

#[test]
fn silence_is_an_error_and_the_backend_is_left() {
    let upstream = Upstream::start([Act::Stall(format!("{BEGUN}{CONTENT}"))]);
    let url = &upstream.url;
    let config = format!(
        "idle-timeout = 1\n[backend.server]\ndialect = \"openai-chat\"\nurl = \"{url}\"\n[[route]]\nmodel = \"*\"\nbackend = \"server\""
    );
    let gateway = TestGateway::with(&config, SCRIPT);
    let answer = ask(&gateway, "anthropic", true);
    let told = told("anthropic", &answer);
    assert!(told.starts_with("half") && told.contains("[error"), "{told}");
}

#[test]
fn a_client_that_leaves_ends_the_call_of_the_backend() {
    for begin in [String::new(), format!("{BEGUN}{CONTENT}")] {
        let upstream = Upstream::start([Act::Stall(begin.clone())]);
        let gateway = gateway(&upstream, "", "");
        let (path, body) = request("anthropic", "m", true, 0);
        let body = body.to_string();
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        if begin.is_empty() {
            drop(upstream.requests.wait_for(1));
        } else {
            stream.read_exact(&mut [0; 12]).unwrap();
        }
        drop(stream);
        drop(upstream.left.wait_for(1));
        assert!(gateway.calls.wait_for(1)[0].is_cancelled);
    }
}

#[test]
fn clients_have_their_models_and_their_budgets() {
    let upstream = Upstream::start([chat_answer()]);
    let clients = "[[client]]\nname = \"small\"\nkey = { value = \"k1\" }\nmodels = [\"gpt-*\"]\nbudget = 2.0\n[[client]]\nname = \"large\"\nkey = { env = \"K2\" }";
    let gateway = gateway(&upstream, "", clients);
    let ask = |key: &str, model: &str| {
        let (path, body) = request("openai-chat", model, false, 0);
        gateway.request(&format!("POST {path} HTTP/1.1\r\nauthorization: Bearer {key}"), &body.to_string())
    };
    assert_eq!(ask("unknown", "gpt-5.5").status, 401);
    assert_eq!(ask("k1", "claude-opus-5-5").status, 403);
    assert_eq!(ask("K2", "claude-opus-5-5").status, 200);
    // The server counts a million input tokens for each call, which cost more than a dollar.
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(ask("k1", "gpt-5.5").status);
    }
    assert_eq!(statuses[0], 200);
    assert_eq!(statuses[3], 402, "{statuses:?}");
    assert_eq!(ask("K2", "gpt-5.5").status, 200, "the budget is that of one client");
    let models = gateway.request("GET /v1/models HTTP/1.1\r\nauthorization: Bearer k1", "");
    assert!(!models.body.contains("claude"), "{}", models.body);
    let metrics = gateway.request("GET /metrics HTTP/1.1\r\nauthorization: Bearer K2", "").body;
    assert!(metrics.contains("interlingua_input_tokens_total{client=\"small\",dialect=\"openai-chat\",backend=\"server\",model=\"gpt-5.5\",status=\"200\"} "), "{metrics}");
    assert_eq!(gateway.get("/metrics").status, 401);
}

#[test]
fn a_new_configuration_is_for_new_calls() {
    let upstream = Upstream::start([Act::Stall(format!("{BEGUN}{CONTENT}")), chat_answer()]);
    let gateway = gateway(&upstream, "", "");
    let (path, body) = request("openai-chat", "m", true, 0);
    let body = body.to_string();
    let mut open = TcpStream::connect(gateway.address).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    open.write_all(format!("{head}{body}").as_bytes()).unwrap();
    open.read_exact(&mut [0; 12]).unwrap();
    let script =
        Config::parse("[backend.s]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"s\"").unwrap();
    gateway.handle.reload(script, &TestLookup(SCRIPT)).unwrap();
    assert!(ask(&gateway, "openai-chat", false).body.contains("from the script"));
    assert!(gateway.calls.look().iter().all(|call| !call.is_cancelled), "the open stream goes on");
    let broken = Config::parse("[[route]]\nmodel = \"*\"\nbackend = \"none\"").unwrap();
    assert!(gateway.handle.reload(broken, &TestLookup(SCRIPT)).is_err());
    assert!(ask(&gateway, "openai-chat", false).body.contains("from the script"), "the last sound one stays");
}

#[test]
fn a_route_can_refuse_losses() {
    let upstream = Upstream::start([chat_answer()]);
    let gateway = gateway(&upstream, "", "losses = \"all=fail\"");
    let (path, mut body) = request("anthropic", "m", false, 0);
    assert_eq!(gateway.post(&path, &body).status, 200);
    body["top_k"] = json!(3);
    let reported = crate::support::TestGateway::with(
        "[backend.b]\ndialect = \"openai-chat\"\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"",
        SCRIPT,
    );
    let head = reported.post(&path, &body).head;
    assert!(
        head.contains("x-interlingua-losses: 1") && head.contains("x-interlingua-lost: /top_k"),
        "{head}"
    );
    let answer = gateway.post(&path, &body);
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body.contains("`/top_k` would be lost"), "{}", answer.body);
    assert_eq!(upstream.count(), 1);
}

#[test]
fn a_cut_inside_an_event_leaves_whole_events_for_a_client_of_the_same_dialect() {
    let cut = &CONTENT[..CONTENT.len() / 2];
    for begin in [format!("{BEGUN}{CONTENT}{cut}"), cut.to_owned()] {
        let upstream = Upstream::start([Act::Break(begin)]);
        let gateway = gateway(&upstream, "retries = 0", "");
        let answer = ask(&gateway, "openai-chat", true);
        let events: Vec<&str> = answer.body.split_terminator("\n\n").collect();
        let data = events.iter().map(|event| event.strip_prefix("data: ").expect("an event"));
        let values: Vec<serde_json::Value> =
            data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
        assert!(values.last().expect("events")["error"]["message"].is_string(), "{}", answer.body);
        assert!(gateway.calls.wait_for(1)[0].failure.is_some());
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_an_error_and_counts_as_a_failure() {
    const PAGE: &str = "<!doctype html><p>Please sign in.";
    for client in DIALECTS {
        for (stream, headers) in
            [(false, "content-type: text/html\r\n"), (true, "content-type: text/html\r\n"), (true, EVENTS)]
        {
            let upstream =
                Upstream::start([Act::Answer(200, headers, format!("{PAGE}\n\ndata: {PAGE}\n\n"))]);
            let gateway = gateway(&upstream, "retries = 0", "");
            let answer = ask(&gateway, client, stream);
            let is_error = answer.status >= 400 || answer.body.contains("\"error\"");
            assert!(is_error, "{client} {headers}: {} {}", answer.status, answer.body);
            assert!(!answer.body.starts_with('<'), "{client} {headers}: {}", answer.body);
            let failure = gateway.calls.wait_for(1)[0].failure.clone();
            assert!(failure.is_some(), "{client} {headers}");
        }
    }
}

#[test]
fn an_error_in_the_configuration_has_a_place_and_no_key() {
    for (config, expected) in [
        (
            "listen = \"127.0.0.1:0\"\n[backend.b]\nkeys = [\"sk-secret\"]",
            "line 3, column 9: invalid type: string, expected a table with `env`, `file` or `value`",
        ),
        ("token = [\"sk-secret\"]", "line 1, column 9: invalid type: sequence, expected a string"),
        (
            "[backend.b]\ntimeout = \"sk-secret\\\" x\"",
            "line 2, column 11: invalid type: string, expected u64",
        ),
        ("token = \"sk-secret", "line 1, column 19: invalid basic string, expected `\"`"),
    ] {
        let error = Config::parse(config).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(error, expected);
    }
}

/// The rest of a chat stream.
const DONE: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[test]
fn a_stream_with_another_content_type_is_a_stream() {
    for kind in ["content-type: application/json\r\n", "content-type: text/plain\r\n", "content-type:\r\n"] {
        for mark in ["", "\u{feff}", "\n", ": comment\n\n", "event: message\n"] {
            let upstream = Upstream::start([Act::Answer(200, kind, format!("{mark}{BEGUN}{CONTENT}{DONE}"))]);
            let gateway = gateway(&upstream, "", "");
            for client in DIALECTS {
                let answer = ask(&gateway, client, true);
                assert!(answer.head.contains("text/event-stream"), "{client} {kind}: {}", answer.head);
                assert_eq!(
                    told(client, &answer),
                    "half[end_turn]",
                    "{client} {kind} {mark}: {}",
                    answer.body
                );
            }
        }
    }
}

#[test]
fn a_whole_answer_to_a_request_for_a_stream_becomes_a_stream() {
    let Act::Answer(_, _, body) = chat_answer() else { panic!("an answer") };
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&body).unwrap()).unwrap();
    let upstream = Upstream::start([Act::Answer(200, "", pretty)]);
    let gateway = gateway(&upstream, "", "");
    for client in DIALECTS.into_iter().filter(|client| *client != "openai-chat") {
        let answer = ask(&gateway, client, true);
        assert!(answer.head.contains("text/event-stream"), "{client}: {}", answer.head);
        assert_eq!(told(client, &answer), "fromtheserver[end_turn]", "{client}: {}", answer.body);
    }
    // Each API has its own form of a whole answer.
    let message = json!({"id": "a", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "yes"}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}});
    let candidate = json!([{"candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}]}]);
    let response = json!({"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "yes", "annotations": []}]}]});
    for (backend, whole) in [("anthropic", message), ("gemini", candidate), ("openai-responses", response)] {
        let upstream = Upstream::start([Act::Answer(200, "", serde_json::to_string_pretty(&whole).unwrap())]);
        let url = &upstream.url;
        let config = format!(
            "[backend.b]\ndialect = \"{backend}\"\nurl = \"{url}\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
        );
        let gateway = TestGateway::with(&config, "");
        for client in DIALECTS.into_iter().filter(|client| *client != backend) {
            let answer = ask(&gateway, client, true);
            let told = told(client, &answer);
            assert!(told.ends_with("yes[end_turn]"), "{backend} {client}: {told} {}", answer.body);
            assert!(answer.head.contains("text/event-stream"), "{backend} {client}: {}", answer.head);
        }
    }
    // An error in such an answer has a status.
    let error =
        json!({"error": {"message": "too fast", "type": "rate_limit_error", "code": "rate_limit_exceeded"}});
    let upstream = Upstream::start([Act::Answer(200, "", error.to_string())]);
    let gateway = self::gateway(&upstream, "", "");
    for client in DIALECTS {
        let answer = ask(&gateway, client, true);
        assert_eq!(answer.status, 429, "{client}: {}", answer.body);
        assert!(answer.body.contains("too fast"), "{client}: {}", answer.body);
    }
}

#[test]
fn an_answer_that_is_no_answer_names_its_cause() {
    let compressed = "content-encoding: gzip\r\n";
    for (act, said) in [
        (
            Act::Answer(301, "location: https://x/\r\n", String::new()),
            "HTTP status 301: the gateway follows no redirects",
        ),
        (Act::Answer(200, "", String::new()), "the answer of the backend has no body"),
        (Act::Answer(200, "", "<html>".to_owned()), "<html>"),
        (
            Act::Answer(200, compressed, "x".to_owned()),
            "the response is compressed (`content-encoding: gzip`)",
        ),
    ] {
        let upstream = Upstream::start([act]);
        let gateway = gateway(&upstream, "retries = 0", "");
        for stream in [false, true] {
            let answer = ask(&gateway, "anthropic", stream);
            assert!(
                answer.status >= 500 && answer.body.contains(said),
                "{said}: {} {}",
                answer.status,
                answer.body
            );
        }
        assert!(upstream.requests.look()[0].contains("\r\naccept-encoding: identity\r\n"));
    }
    let Act::Answer(_, _, body) = chat_answer() else { panic!("an answer") };
    let upstream = Upstream::start([Act::Answer(200, "", format!("\u{feff}{body}"))]);
    let gateway = gateway(&upstream, "", "");
    assert_eq!(told("anthropic", &ask(&gateway, "anthropic", false)), "fromtheserver[end_turn]");
}

#[test]
fn a_key_that_a_backend_repeats_reaches_nobody() {
    let body = json!({"error": {"message": "Incorrect API key provided: sk-planted-key", "type": "invalid_request_error", "code": "invalid_api_key"}});
    let upstream = Upstream::start([Act::Answer(401, "", body.to_string())]);
    let tape = std::env::temp_dir().join(format!("interlingua-key-{}", std::process::id()));
    let settings = format!("key = \"sk-planted-key\"\nretries = 0\nrecord = \"{}\"", tape.display());
    let gateway = gateway(&upstream, &settings, "");
    for client in DIALECTS {
        let answer = ask(&gateway, client, false);
        assert_eq!(answer.status, 401, "{client}: {}", answer.body);
        assert!(
            answer.body.contains("provided: [key]") && !answer.body.contains("sk-planted"),
            "{}",
            answer.body
        );
    }
    assert!(upstream.requests.look()[0].contains("sk-planted-key"), "the backend gets the key");
    let calls = gateway.calls.wait_for(DIALECTS.len());
    assert!(!format!("{calls:?}").contains("sk-planted"));
    let recorded = std::fs::read_to_string(&tape).unwrap();
    std::fs::remove_file(&tape).unwrap();
    assert!(recorded.contains("[key]") && !recorded.contains("sk-planted"), "{recorded}");
}

#[test]
fn keys_that_are_all_refused_are_no_rate_limit() {
    let body = json!({"error": {"message": "no such key", "type": "invalid_request_error", "code": "invalid_api_key"}});
    let upstream = Upstream::start([Act::Answer(401, "", body.to_string())]);
    let gateway = gateway(&upstream, "keys = [{ value = \"one\" }, { value = \"two\" }]", "");
    for _ in 0..3 {
        let answer = ask(&gateway, "anthropic", false);
        assert_eq!(answer.status, 401, "{}", answer.body);
        assert!(!answer.head.contains("retry-after"), "{}", answer.head);
    }
    assert_eq!(upstream.count(), 2, "each key is tried once");
}
