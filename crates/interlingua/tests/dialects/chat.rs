//! Deviations of real Chat Completions servers and clients from the published types: tables of words, round trips and
//! detection. A recorded deviation of one request or response is a case in `tests/cases/chat_*.txt`. A number is that of
//! the pitfall in the specification of the wire dialects.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::sniff::sniff;
use interlingua::wire::backends::Backend;
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";
const K: &str = "kimi";
const G: &str = "copilot";

#[test]
fn p01_p13_thoughts_come_back_at_their_place() {
    let signed = |text: &str, sign: &str| json!({"type": "thinking", "thinking": text, "signature": sign});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "haul", "input": {"n": 1}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let sealed = |data: &str| json!({"type": "redacted_thinking", "data": data});
    let open = |text: &str| json!({"type": "thinking", "thinking": text, "signature": ""});
    for content in [
        json!([text("First \u{1f9ed} \"so\"."), signed("Then.", "S1"), call("a")]),
        json!([signed("One.", "S1"), call("a"), signed("Two.", "S2"), call("b")]),
        json!([signed("Same.", "S1"), signed("Same.", "S2"), call("a")]),
        json!([
            sealed("E1"),
            text("Mid."),
            sealed("E2"),
            text("End."),
            call("a"),
            signed("", "S3"),
            call("b")
        ]),
        json!([signed("", "S1"), signed("Shown.", "S2"), text("x")]),
    ] {
        let body = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}});
        // A whole response, and the same response as a stream joined by a client.
        let (whole, _) = convert(A, C, Role::Response, body.to_string().as_bytes());
        let joined = join(&text_of(A, C, Role::Stream, Role::Stream, &anthropic_stream(&body)));
        for message in [&whole["choices"][0]["message"], &joined] {
            let request = json!({"model": "m", "messages": [{"role": "user", "content": "Go."}, message,
                {"role": "tool", "tool_call_id": "a", "content": "ok"}, {"role": "tool", "tool_call_id": "b", "content": "ok"}]});
            let (back, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
            assert_eq!(back["messages"][1]["content"], content, "{message}");
        }
    }
    // Without a signature a request cannot repeat reasoning, but its position is noted.
    let body = json!({"type": "message", "role": "assistant", "content": [text("First."), open("Then."), call("a")], "stop_reason": "tool_use"});
    let (whole, _) = convert(A, C, Role::Response, body.to_string().as_bytes());
    let (again, _) = convert(C, A, Role::Response, whole.to_string().as_bytes());
    let kinds: Vec<_> =
        again["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "thinking", "tool_use"]);
}

#[test]
fn p08_reasoning_goes_by_the_name_that_the_backend_reads() {
    let turn = |thinks: bool| {
        let mut blocks = vec![json!({"type": "tool_use", "id": "a", "name": "haul", "input": {}})];
        if thinks {
            blocks.insert(0, json!({"type": "thinking", "thinking": "Why.", "signature": "S"}));
        }
        json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": blocks}]}).to_string()
    };
    let sent = |backend: &str, thinks: bool| {
        let options = Options::default().with_backend(Backend::named(backend, C).unwrap());
        let (out, report) = convert_with(A, C, Role::Request, turn(thinks).as_bytes(), &options);
        (out["messages"][1].clone(), report)
    };
    assert_eq!(sent("deepseek", true).0["reasoning_content"], "Why.");
    assert_eq!(sent("deepseek", false).0["reasoning_content"], "");
    assert_eq!(sent("groq", true).0["reasoning"], "Why.");
    assert!(sent("groq", false).0.get("reasoning").is_none());
    assert_eq!(
        sent("mistral", true).0["content"],
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Why."}]}])
    );
}

#[test]
fn p77_errors_of_every_form_carry_their_message() {
    for (body, kind, message) in [
        (r#"{"error":"model is loading"}"#, "api_error", "model is loading"),
        (r#"{"error":"slow down","user_id":"u"}"#, "api_error", "slow down"),
        (r#"{"detail":"Not Found"}"#, "api_error", "Not Found"),
        (
            r#"{"detail":[{"loc":["body"],"msg":"field required","type":"value_error"}]}"#,
            "api_error",
            "field required",
        ),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            "invalid_request_error",
            "bad",
        ),
        (r#"{"message":"no key"}"#, "api_error", "no key"),
        (
            r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]"#,
            "rate_limit_error",
            "quota",
        ),
        (r#"{"error":{"message":"denied","code":"401"}}"#, "authentication_error", "denied"),
        (r#"{"error":{"message":"no","code":"DeploymentNotFound"}}"#, "not_found_error", "no"),
        (r#"{"error":{"message":"no","type":"request_forbidden"}}"#, "permission_error", "no"),
        (r#"{"error":{"message":"no","code":"insufficient_permissions"}}"#, "permission_error", "no"),
        (
            r#"{"error":{"message":"filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            "invalid_request_error",
            "filtered",
        ),
        (
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 9","type":"invalid_request_error"}}"#,
            "invalid_request_error",
            "exceed context limit",
        ),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "api_error", "502 Bad Gateway"),
        ("upstream connect error", "api_error", "upstream connect error"),
        (r#"{"success":false,"errors":[{"code":7003,"message":"no route"}]}"#, "api_error", "no route"),
    ] {
        let (out, _) = convert(C, A, Role::Response, body.as_bytes());
        assert_eq!(out["type"], "error", "{body} {out}");
        assert!(out["error"]["message"].as_str().unwrap().contains(message), "{body} {out}");
        assert_eq!(out["error"]["type"], kind, "{body} {out}");
    }
}

#[test]
fn flavours_are_told_by_their_own_members_only() {
    for (body, name) in [
        (r#"{"model":"kimi-k3","messages":[{"role":"user","content":"x"}],"max_completion_tokens":5}"#, C),
        (
            r#"{"model":"kimi-k3","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y","partial":true}]}"#,
            K,
        ),
        (r#"{"messages":[{"role":"user","content":"x","copilot_references":[]}]}"#, G),
        (
            r#"{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x","reasoning_opaque":"o"}}]}"#,
            G,
        ),
    ] {
        assert_eq!(sniff(body.as_bytes(), true).unwrap().dialect.name, name, "{body}");
    }
}

#[test]
fn answers_and_requests_are_known_without_being_named() {
    for (body, role) in [
        (
            r#"{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#,
            Role::Response,
        ),
        (
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"max_tokens":5}"#,
            Role::Request,
        ),
        (
            r#"{"model":"m","thinking":{"type":"enabled"},"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":"y"}]}"#,
            Role::Request,
        ),
        (
            "data: {\"id\":\"\",\"object\":\"\",\"choices\":[]}\n\ndata: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n",
            Role::Stream,
        ),
    ] {
        let guess = sniff(body.as_bytes(), true).unwrap();
        assert_eq!((guess.dialect.name, guess.role), (C, role), "{body}");
    }
}

// ---- Helpers ----

fn bytes(from: (&str, Role), to: (&str, Role), input: &[u8]) -> (Vec<u8>, Report) {
    run(from, to, input, &Options::default())
}

fn run(from: (&str, Role), to: (&str, Role), input: &[u8], options: &Options) -> (Vec<u8>, Report) {
    let side = |(name, role)| (Dialect::named(name).unwrap(), role);
    let mut out = Vec::new();
    let mut pipe = Pipe::new(side(from), side(to), options).unwrap();
    for piece in input.chunks(11) {
        pipe.push(piece, &mut out);
    }
    let report = pipe.finish(&mut out);
    assert!(report.adds_up());
    (out, report)
}

fn convert(from: &str, to: &str, role: Role, input: &[u8]) -> (Value, Report) {
    convert_with(from, to, role, input, &Options::default())
}

fn convert_with(from: &str, to: &str, role: Role, input: &[u8], options: &Options) -> (Value, Report) {
    let (bytes, report) = run((from, role), (to, role), input, options);
    (
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&bytes))),
        report,
    )
}

fn text_of(from: &str, to: &str, from_role: Role, to_role: Role, input: &str) -> String {
    String::from_utf8(bytes((from, from_role), (to, to_role), input.as_bytes()).0).unwrap()
}

/// The stream that Anthropic would have sent for a message.
fn anthropic_stream(body: &Value) -> String {
    let mut start = body.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in body["content"].as_array().unwrap().iter().enumerate() {
        let mut empty = block.clone();
        let deltas = match block["type"].as_str().unwrap() {
            "text" => {
                empty["text"] = json!("");
                vec![json!({"type": "text_delta", "text": block["text"]})]
            }
            "thinking" => {
                (empty["thinking"], empty["signature"]) = (json!(""), json!(""));
                let mut deltas = vec![json!({"type": "signature_delta", "signature": block["signature"]})];
                if block["thinking"] != "" {
                    deltas.insert(0, json!({"type": "thinking_delta", "thinking": block["thinking"]}));
                }
                deltas
            }
            "tool_use" => {
                empty["input"] = json!({});
                vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})]
            }
            _ => Vec::new(),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    let mut text = String::new();
    for event in events {
        write!(text, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).unwrap();
    }
    text
}

/// Folds a chat stream as a client does: strings are appended, entries with the same index are joined.
fn join(text: &str) -> Value {
    let mut message = json!({});
    for chunk in text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]")
    {
        let chunk: Value = serde_json::from_str(chunk).unwrap();
        if let Some(delta) = chunk["choices"].get(0).map(|choice| &choice["delta"]) {
            accumulate(&mut message, delta);
        }
    }
    message
}

fn accumulate(known: &mut Value, delta: &Value) {
    match (known, delta) {
        (Value::Object(known), Value::Object(delta)) => {
            for (name, value) in delta {
                match known.get_mut(name) {
                    Some(_) if name == "index" || name == "type" => {}
                    Some(known) => accumulate(known, value),
                    None => _ = known.insert(name.clone(), value.clone()),
                }
            }
        }
        (Value::Array(known), Value::Array(delta)) => {
            for entry in delta {
                match known.iter_mut().find(|known| known["index"] == entry["index"]) {
                    Some(known) => accumulate(known, entry),
                    None => known.push(entry.clone()),
                }
            }
        }
        (Value::String(known), Value::String(delta)) => known.push_str(delta),
        (known, delta) => *known = delta.clone(),
    }
}
