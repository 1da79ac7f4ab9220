//! The same dialect on both sides: bytes stay, except for credentials and, if routed, the name of the model.

use serde_json::json;

use crate::support::{Act, DIALECTS, TestGateway, Upstream, request, told};

/// A body and an answer with odd spacing, odd escapes, unknown members and odd numbers, which translation would change.
fn odd(text: &str) -> String {
    text.replacen('{', "{ \"x_unknown\" : [1e0, \"\\u00e9\\/\"],", 1)
}

fn answer(dialect: &str) -> String {
    let body = match dialect {
        "anthropic" => {
            json!({"id": "a", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}})
        }
        "gemini" => {
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}})
        }
        "openai-responses" => {
            json!({"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "yes", "annotations": []}]}]})
        }
        _ => {
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]})
        }
    };
    odd(&body.to_string())
}

fn gateway(dialect: &str, upstream: &Upstream, send: &str) -> TestGateway {
    let url = &upstream.url;
    TestGateway::with(
        &format!(
            "token = \"gateway-secret\"\n[backend.b]\ndialect = \"{dialect}\"\nurl = \"{url}\"\nkey = \"backend-secret\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n{send}"
        ),
        "",
    )
}

#[test]
fn bytes_stay_and_credentials_change() {
    for dialect in DIALECTS {
        let answered = answer(dialect);
        let upstream = Upstream::start([Act::Answer(200, "", answered.clone())]);
        let gateway = gateway(dialect, &upstream, "");
        let (path, body) = request(dialect, "m", false, 0);
        let sent = odd(&body.to_string());
        let head =
            format!("POST {path} HTTP/1.1\r\nauthorization: Bearer gateway-secret\r\nanthropic-beta: b-1");
        let returned = gateway.request(&head, &sent);
        assert_eq!(returned.body, answered, "{dialect}");
        let request = upstream.requests.look()[0].clone();
        let (head, received) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(received, sent, "{dialect}");
        assert!(!head.contains("gateway-secret") && head.contains("backend-secret"), "{dialect}: {head}");
        assert!(head.contains("anthropic-beta: b-1"), "{dialect}: {head}");
    }
}

#[test]
fn headers_of_the_client_replace_those_of_the_api() {
    let upstream = Upstream::start([Act::Answer(200, "", answer("anthropic"))]);
    let gateway = gateway("anthropic", &upstream, "");
    let (path, body) = request("anthropic", "m", false, 0);
    let own = "anthropic-version: 2099-01-01\r\nanthropic-beta: b-1\r\nanthropic-beta: b-2";
    let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer gateway-secret\r\n{own}");
    gateway.request(&head, &body.to_string());
    let request = upstream.requests.look()[0].clone();
    let sent = |name: &str| {
        request.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect::<Vec<_>>()
    };
    assert_eq!(sent("anthropic-version"), ["2099-01-01"]);
    assert_eq!(sent("anthropic-beta"), ["b-1", "b-2"]);
}

#[test]
fn a_routed_model_is_the_only_change() {
    for dialect in DIALECTS.into_iter().filter(|dialect| *dialect != "gemini") {
        let upstream = Upstream::start([Act::Answer(200, "", answer(dialect))]);
        let gateway = gateway(dialect, &upstream, "send = \"other-model\"");
        let (path, body) = request(dialect, "m", false, 0);
        let sent = odd(&body.to_string());
        gateway.request(&format!("POST {path} HTTP/1.1\r\nauthorization: Bearer gateway-secret"), &sent);
        let request = upstream.requests.look()[0].clone();
        let (_, received) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(received, sent.replace("\"m\"", "\"other-model\""), "{dialect}");
    }
}

#[test]
fn a_stream_passes_unchanged_and_its_missing_end_is_an_error() {
    let events = "data: {\"id\":\"c\",  \"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"odd\":1e0,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"},\"finish_reason\":null}]}\n\n";
    let end = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let head = "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer gateway-secret";
    let (_, body) = request("openai-chat", "m", true, 0);
    let whole = format!("{events}{end}");
    let upstream = Upstream::start([Act::Answer(200, "content-type: text/event-stream\r\n", whole.clone())]);
    let answer = gateway("openai-chat", &upstream, "").request(head, &body.to_string());
    assert_eq!(answer.body, whole);
    for act in [
        Act::Answer(200, "content-type: text/event-stream\r\n", events.to_owned()),
        Act::Break(events.to_owned()),
    ] {
        let upstream = Upstream::start([act]);
        let answer = gateway("openai-chat", &upstream, "").request(head, &body.to_string());
        assert!(answer.body.starts_with(events), "{}", answer.body);
        assert!(told("openai-chat", &answer).contains("[error"), "{}", answer.body);
        assert!(!answer.body.contains("[DONE]"), "{}", answer.body);
    }
}

#[test]
fn a_recorded_server_answers_again_without_a_network() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cassette.jsonl");
    let _ = std::fs::remove_file(&folder);
    let path = folder.to_str().unwrap();
    let answered = answer("openai-chat");
    let upstream = Upstream::start([Act::Answer(200, "", answered.clone()), Act::Close]);
    let url = &upstream.url;
    let record = format!(
        "[backend.b]\ndialect = \"openai-chat\"\nurl = \"{url}\"\nkey = \"backend-secret\"\nrecord = '{path}'\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
    );
    let (post, body) = request("anthropic", "m", false, 0);
    let live = TestGateway::with(&record, "").post(&post, &body);
    assert_eq!(live.status, 200, "{}", live.body);
    let cassette = std::fs::read_to_string(path).unwrap();
    assert!(!cassette.contains("backend-secret") && cassette.contains("yes"), "{cassette}");
    // The lookup of the test returns this text for every path.
    let cassette: &'static str = Box::leak(cassette.into_boxed_str());
    let replay =
        "[backend.b]\ndialect = \"openai-chat\"\nreplay = \"c\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"";
    let gateway = TestGateway::with(replay, cassette);
    assert_eq!(gateway.post(&post, &body).body, live.body);
    let (post, other) = request("anthropic", "m", false, 1);
    let missing = gateway.post(&post, &other);
    assert!(missing.status >= 500 && missing.body.contains("the cassette has no answer"), "{}", missing.body);
}

#[test]
fn state_of_another_vendor_does_not_reach_openai_in_a_copy() {
    let body = r#"{"id":"c","object":"chat.completion","created":1,"model":"gpt-5.2","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"yes"}}]}"#;
    let request = json!({"model": "gpt-5.2", "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": "c2ln"}]},
        {"role": "user", "content": "c"}]});
    // A server that is not built in may have issued the state, and gets the bytes of the client.
    for (name, is_copied) in [("openai", false), ("openrouter", true), ("mine", true)] {
        let upstream = Upstream::start([Act::Answer(200, "", body.to_owned())]);
        let sent = if name == "openrouter" { "anthropic/claude-sonnet-4-5" } else { "gpt-5.2" };
        let config = format!(
            "[backend.{name}]\ndialect = \"openai-chat\"\nurl = \"{}\"\nkey = \"k\"\n[[route]]\nmodel = \"*\"\nbackend = \"{name}\"\n",
            upstream.url
        );
        let gateway = TestGateway::with(&config, "");
        let mut request = request.clone();
        request["model"] = json!(sent);
        let answer = gateway.post("/v1/chat/completions", &request);
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        let received = upstream.requests.look().first().unwrap().clone();
        assert_eq!(received.contains("c2ln"), is_copied, "{name}: {received}");
        let losses = format!("x-interlingua-losses: {}", u8::from(!is_copied));
        assert!(answer.head.contains(&losses), "{name}: {}", answer.head);
    }
}

#[test]
fn a_stream_that_is_cut_before_its_final_event_ends_with_an_error() {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let chat = chunk("{\"content\":\"yes\"}", "null") + &chunk("{}", "\"stop\"");
    let message = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"yes\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n";
    let candidate = "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"yes\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":1}}\n\n";
    let response = format!(
        "event: response.completed\ndata: {{\"type\":\"response.completed\",\"sequence_number\":1,\"response\":{}}}\n\n",
        answer("openai-responses")
    );
    let created = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}\n\n";
    let response = format!("{created}{response}");
    let done = "data: [DONE]\n\n";
    let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    // The events up to the stop reason, the final event, and whether a connection that ends in order is an end.
    for (dialect, events, last, ends_in_order) in [
        ("anthropic", message, stop, false),
        ("openai-chat", &*chat, done, true),
        ("kimi", &chat, done, true),
        ("copilot", &chat, done, true),
        ("gemini", candidate, "", true),
        ("openai-responses", &response, "", true),
    ] {
        let (path, body) = request(dialect, "m", true, 0);
        let ask = |act: Act| {
            let upstream = Upstream::start([act]);
            let gateway = gateway(dialect, &upstream, "");
            let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer gateway-secret");
            let answer = gateway.request(&head, &body.to_string());
            let failed = gateway.calls.wait_for(1)[0].failure.is_some();
            (answer.body.clone(), told(dialect, &answer).contains("[error"), failed)
        };
        let in_order = |events: String| Act::Answer(200, "content-type: text/event-stream\r\n", events);
        let whole = format!("{events}{last}");
        assert_eq!(ask(in_order(whole.clone())), (whole.clone(), false, false), "{dialect}");
        let (body, has_error, failed) = ask(in_order(events.to_owned()));
        assert!(body.starts_with(events), "{dialect}: {body}");
        assert_eq!((has_error, failed), (!ends_in_order, !ends_in_order), "{dialect}: {body}");
        assert_eq!(body == events, ends_in_order, "{dialect}: {body}");

        let (body, has_error, failed) = ask(Act::Break(events.to_owned()));
        let is_final = dialect == "openai-responses";
        assert!(body.starts_with(events), "{dialect}: {body}");
        assert_eq!((has_error, failed), (!is_final, !is_final), "{dialect}: {body}");
        if !last.is_empty() {
            // The final event is there: the answer is whole, although the connection breaks.
            assert_eq!(ask(Act::Break(whole.clone())), (whole.clone(), false, false), "{dialect}");
            // A part of the final event is not passed on.
            let part = &whole[..whole.len() - 6];
            let (body, has_error, _) = ask(Act::Break(part.to_owned()));
            assert!(body.starts_with(events) && has_error && !body.starts_with(part), "{dialect}: {body}");
        }
    }
}

#[test]
fn the_events_of_a_gemini_server_become_an_array_with_any_line_ends() {
    let part =
        |text: &str| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]});
    let last = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "b"}]}, "finishReason": "STOP"}]});
    for end in ["\r\n", "\n"] {
        let events = format!("data: {}{end}{end}data: {last}{end}{end}", part("a"));
        let upstream =
            Upstream::start([Act::Answer(200, "content-type: text/event-stream\r\n", events.clone())]);
        let gateway = gateway("gemini", &upstream, "");
        let body = json!({"contents": [{"parts": [{"text": "hi"}]}]});
        let path = "/v1beta/models/m:streamGenerateContent?key=gateway-secret";
        assert_eq!(gateway.post(path, &body).json(), json!([part("a"), last]), "{end:?}");
        assert_eq!(gateway.post(&format!("{path}&alt=sse"), &body).body, events);
    }
}
