//! Server output outside the published types: detected without flags, read correctly, and never taken for success if it
//! broke off.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::{Exchange, FailedResponse, Pipe};
use interlingua::sniff::sniff;
use serde_json::{Value, json};

const WIRE: [&str; 6] = ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"];

/// The translation of a body to each of the other dialects.
fn everywhere(from: &str, role: Role, body: &str) -> Vec<(&'static str, String)> {
    let source = Dialect::named(from).unwrap();
    let others = WIRE.into_iter().filter(|to| *to != from);
    others
        .map(|to| {
            let target = (Dialect::named(to).unwrap(), role);
            let pipe = Pipe::new((source, role), target, &Options::default()).unwrap();
            let mut out = Vec::new();
            let report = pipe.finish_with(body.as_bytes(), &mut out);
            assert!(report.adds_up(), "{from} to {to}");
            (to, String::from_utf8(out).unwrap())
        })
        .collect()
}

fn detected(body: &str) -> Option<(&'static str, Role)> {
    sniff(body.as_bytes(), true).map(|guess| (guess.dialect.name, guess.role))
}

fn sse(events: &[Value]) -> String {
    let events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    events.concat()
}

#[test]
fn claude_on_a_server_of_another_dialect_is_told_by_the_limit_that_anthropic_insists_on() {
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "Where are the nets?"}]}]);
    for (limit, dialect) in [(None, "openai-chat"), (Some(64), "anthropic")] {
        let mut body = json!({"model": "lake-claude-3-7-sonnet", "stream": true, "messages": messages});
        if let Some(limit) = limit {
            body["max_tokens"] = json!(limit);
        }
        assert_eq!(detected(&body.to_string()), Some((dialect, Role::Request)));
    }
}

#[test]
fn errors_of_servers_that_have_their_own_form_are_detected_and_keep_their_message() {
    for (body, message) in [
        (json!({"detail": "Not authenticated"}), "Not authenticated"),
        (
            json!({"detail": [{"type": "missing", "loc": ["body"], "msg": "Field required"}]}),
            "Field required",
        ),
        (json!({"error": "model not found"}), "model not found"),
        (
            json!({"error": {"message": "filtered", "type": null, "code": "content_filter", "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            "filtered",
        ),
        (json!({"error": {"message": "No endpoints", "code": 404}, "user_id": "u"}), "No endpoints"),
    ] {
        let body = body.to_string();
        assert_eq!(detected(&body), Some(("openai-chat", Role::Response)), "{body}");
        // The message arrives with either dialect as the source.
        for from in ["openai-chat", "openai-responses"] {
            for (to, out) in everywhere(from, Role::Response, &body) {
                let out: Value = serde_json::from_str(&out).unwrap();
                assert_eq!(out["error"]["message"], message, "{from} to {to}: {body}");
            }
        }
        for from in WIRE {
            for to in WIRE.into_iter().filter(|to| *to != from) {
                let named = |name| Dialect::named(name).unwrap();
                let mut exchange = Exchange::new(named(to), named(from), &Options::default());
                let mut out = Vec::new();
                let response = FailedResponse { status: 422, retry_after: None };
                exchange.failed(response, body.as_bytes(), &mut out).unwrap();
                let out = String::from_utf8(out).unwrap();
                assert!(out.contains(message), "{from} to {to}: {body} became {out}");
            }
        }
    }
}

#[test]
fn responses_are_detected_without_their_object_and_their_errors_by_their_number() {
    let response = json!({"id": "resp_1", "status": "completed", "model": "m", "output": [{"type": "message",
        "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]});
    assert_eq!(detected(&response.to_string()), Some(("openai-responses", Role::Response)));
    let error =
        json!({"type": "error", "sequence_number": 1, "error": {"type": "server_error", "message": "boom"}});
    assert_eq!(detected(&sse(&[error])), Some(("openai-responses", Role::Stream)));
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}});
    assert_eq!(detected(&sse(&[error])), Some(("anthropic", Role::Stream)));
}

#[test]
fn a_response_that_is_not_done_is_no_answer() {
    for status in ["queued", "in_progress"] {
        let body = json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "m", "output": []});
        for (to, out) in everywhere("openai-responses", Role::Response, &body.to_string()) {
            assert!(!serde_json::from_str::<Value>(&out).unwrap()["error"].is_null(), "{to}: {out}");
        }
    }
}

#[test]
fn a_stream_that_breaks_off_in_a_call_is_no_success_even_if_it_says_it_is_done() {
    let call = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0,
        "delta": {"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function",
            "function": {"name": "f", "arguments": "{\"path\": \"a"}}]}, "finish_reason": null}]});
    let chat = sse(&[call]) + "data: [DONE]\n\n";
    let chunk =
        |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]});
    let gemini = sse(&[chunk(json!([{"functionCall": {"name": "f", "willContinue": true,
        "partialArgs": [{"jsonPath": "$.path", "stringValue": "a", "willContinue": true}]}}]))]);
    let array = format!("[{},\r\n{},", chunk(json!([{"text": "Hi"}])), chunk(json!([{"text": " you"}])));
    let item = json!({"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": ""});
    let responses = sse(&[
        json!({"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": 0, "delta": "{\"a\":"}),
    ]) + "data: [DONE]\n\n";
    for (from, body) in
        [("openai-chat", &chat), ("gemini", &gemini), ("gemini", &array), ("openai-responses", &responses)]
    {
        assert_eq!(detected(body), Some((from, Role::Stream)), "{body}");
        for (to, out) in everywhere(from, Role::Stream, body) {
            assert!(out.contains("\"error\":{"), "{from} to {to}: {out}");
            let ends =
                ["message_stop", "response.completed", "\"finishReason\"", "\"finish_reason\":\"", "[DONE]"];
            for end in ends {
                assert!(!out.contains(end), "{from} to {to}: {out}");
            }
        }
    }
}

#[test]
fn a_call_of_no_tool_is_not_made_one() {
    let gemini = json!({"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {}}, {"text": "Hi"}]},
        "finishReason": "STOP", "index": 0}]});
    let responses = json!({"id": "r", "object": "response", "status": "completed", "output": [{"type": "function_call", "call_id": "c"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]});
    for (from, body) in [("gemini", gemini), ("openai-responses", responses)] {
        for (to, out) in everywhere(from, Role::Response, &body.to_string()) {
            assert!(out.contains("Hi"), "{from} to {to}: {out}");
            for call in ["\"tool_use\"", "\"tool_calls\"", "\"functionCall\"", "\"function_call\""] {
                assert!(!out.contains(call), "{from} to {to}: {out}");
            }
        }
    }
}

#[test]
fn what_a_gemini_client_kept_of_a_stream_is_one_text_again() {
    let piece = |text: &str| json!({"role": "model", "parts": [{"text": text}]});
    let request = json!({"contents": [{"role": "user", "parts": [{"text": "Go."}]}, piece("One"), piece("\n\n"),
        {"role": "model", "parts": [{"text": "Two"}, {"text": "."}]}, {"role": "user", "parts": [{"text": "On."}]}]});
    for (to, out) in everywhere("gemini", Role::Request, &request.to_string()) {
        assert!(out.contains("\"One\\n\\nTwo.\""), "{to}: {out}");
    }
}
