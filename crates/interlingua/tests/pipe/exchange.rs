//! A request and its response through one exchange: the response uses facts of the request.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::{FailureClass, StopClass};
use interlingua::pipe::{Buffers, CallOutcome, Exchange, FailedResponse, RequestSummary};
use interlingua::wire::backends::Backend;
use serde_json::{Value, json};

fn exchange(client: &str, backend: &str) -> Exchange {
    let named = |name| Dialect::named(name).unwrap();
    Exchange::new(named(client), named(backend), &Options::default())
}

fn ask(exchange: &mut Exchange, request: &Value) -> (Value, RequestSummary) {
    let mut out = Vec::new();
    let asked = exchange.request(request.to_string().as_bytes(), &mut out).unwrap();
    (serde_json::from_slice(&out).unwrap(), asked)
}

fn answer(exchange: &mut Exchange, role: Role, answer: &str) -> (String, CallOutcome) {
    let mut out = Vec::new();
    let mut pipe = exchange.answer(role).unwrap();
    for piece in answer.as_bytes().chunks(7) {
        pipe.push(piece, &mut out);
    }
    let outcome = pipe.finish(&mut out);
    assert!(outcome.report.adds_up());
    (String::from_utf8(out).unwrap(), outcome)
}

fn chat_call(name: &str, arguments: &str) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "backend-model", "choices": [{
        "index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})
}

#[test]
fn a_tool_is_called_by_the_name_the_client_gave_it() {
    let mut exchange = exchange("anthropic", "openai-chat");
    let request = json!({"model": "m", "max_tokens": 5, "stream": false, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "fs.read/file", "input_schema": {"type": "object"}}, {"name": "plain", "input_schema": {"type": "object"}}]});
    let (sent, asked) = ask(&mut exchange, &request);
    assert_eq!(
        (asked.stream, asked.model.as_deref(), asked.answer_role()),
        (false, Some("m"), Role::Response)
    );
    let names: Vec<&str> = sent["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_ne!(names[0], "fs.read/file");
    assert_eq!(names[1], "plain");
    for (name, known) in [(names[0], "fs.read/file"), ("plain", "plain"), ("never_offered", "never_offered")]
    {
        let (out, outcome) = answer(&mut exchange, Role::Response, &chat_call(name, "{\"a\":1}").to_string());
        let out: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(out["content"][0]["name"], known);
        assert_eq!(out["content"][0]["input"], json!({"a": 1}));
        assert_eq!(outcome.stop, Some(StopClass::ToolUse));
        let usage = outcome.usage.unwrap();
        assert_eq!((usage.input, usage.output), (Some(11), Some(7)));
        assert_eq!(outcome.failure, None);
    }
}

#[test]
fn a_tool_that_takes_plain_text_gets_plain_text_back() {
    let mut exchange = exchange("openai-chat", "anthropic");
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "custom", "custom": {"name": "patch", "description": "d"}}]});
    let (sent, _) = ask(&mut exchange, &request);
    assert_eq!(sent["tools"][0]["input_schema"]["required"], json!(["input"]));
    let call = |input: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "b", "stop_reason": "tool_use", "stop_sequence": null,
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "patch", "input": input}],
            "usage": {"input_tokens": 1, "output_tokens": 2}})
        .to_string()
    };
    let (out, _) = answer(&mut exchange, Role::Response, &call(json!({"input": "*** Begin\n\"é\""})));
    let out: Value = serde_json::from_str(&out).unwrap();
    let made = &out["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(made["custom"], json!({"name": "patch", "input": "*** Begin\n\"é\""}));
    // An object of another form is passed unchanged.
    let (out, _) = answer(&mut exchange, Role::Response, &call(json!({"other": 1})));
    assert!(out.contains("other"), "{out}");
}

#[test]
fn streamed_pieces_of_plain_text_come_back_whole() {
    let mut exchange = exchange("openai-chat", "anthropic");
    let request = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "custom", "custom": {"name": "patch"}}]});
    let (_, asked) = ask(&mut exchange, &request);
    assert_eq!(asked.answer_role(), Role::Stream);
    let event = |name: &str, data: Value| format!("event: {name}\ndata: {data}\n\n");
    let mut stream = event(
        "message_start",
        json!({"type": "message_start", "message": {"id": "m1", "type": "message",
        "role": "assistant", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}}),
    );
    stream += &event(
        "content_block_start",
        json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "patch", "input": {}}}),
    );
    for piece in ["{\"inp", "ut\": \"ab", "\\n", "c\"}"] {
        stream += &event(
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": piece}}),
        );
    }
    stream += &event("content_block_stop", json!({"type": "content_block_stop", "index": 0}));
    stream += &event(
        "message_delta",
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
        "usage": {"output_tokens": 9}}),
    );
    stream += &event("message_stop", json!({"type": "message_stop"}));
    let (out, outcome) = answer(&mut exchange, Role::Stream, &stream);
    // The backend did not name its model, so the requested model is used.
    assert!(out.contains("\"model\":\"m\""), "{out}");
    let arguments: String = out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter_map(|chunk| {
            Some(chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str()?.to_owned())
        })
        .collect();
    // Deltas are typed for functions only, so in a stream the text is again the member `input`, once.
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({"input": "ab\nc"}));
    assert_eq!(outcome.usage.unwrap().output, Some(9));
}

#[test]
fn a_failure_has_a_class_and_a_status_to_answer_with() {
    let mut exchange = exchange("anthropic", "openai-chat");
    for (body, class, status) in [
        (
            json!({"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}),
            FailureClass::RateLimit,
            429,
        ),
        (json!({"error": {"message": "no", "code": 403}}), FailureClass::Permission, 403),
        (
            json!({"error": {"message": "context length", "type": "invalid_request_error"}}),
            FailureClass::ContextTooLong,
            400,
        ),
    ] {
        let (out, outcome) = answer(&mut exchange, Role::Response, &body.to_string());
        assert_eq!(outcome.failure.map(|it| (it.class, it.status)), Some((class, status)), "{body}");
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["type"], "error");
    }
    // A response that breaks off is a failure, too.
    let (_, outcome) = answer(
        &mut exchange,
        Role::Stream,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
    );
    assert_eq!(outcome.failure.map(|it| (it.class, it.status)), Some((FailureClass::Incomplete, 502)));
}

#[test]
fn a_stream_tells_what_was_used_to_who_asked_for_it() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    for (options, told) in [
        (json!({"include_usage": true}), true),
        (json!({"include_usage": false}), false),
        (Value::Null, false),
    ] {
        let mut exchange = exchange("openai-chat", "anthropic");
        let request = json!({"model": "m", "stream": true, "stream_options": options,
            "messages": [{"role": "user", "content": "hi"}]});
        let (_, asked) = ask(&mut exchange, &request);
        assert_eq!(asked.report.lost, 0, "the wish is met: {options}");
        let (out, outcome) = answer(&mut exchange, Role::Stream, stream);
        assert_eq!(out.contains("\"completion_tokens\":7"), told, "{options}: {out}");
        assert!(out.ends_with("data: [DONE]\n\n"), "{out}");
        let usage = outcome.usage.expect("whoever sends it on knows");
        assert_eq!((usage.input, usage.output), (Some(3), Some(7)));
        // The first output count is not read, because the last count replaces it.
        let lost = if told { 1 } else { 3 };
        assert_eq!(outcome.report.lost, lost, "counts that are not told are lost: {options}");
    }
    // A chat backend is asked for usage even if the client did not request it.
    let request = json!({"model": "m", "stream": true, "stream_options": {"include_usage": false},
        "messages": [{"role": "user", "content": "hi"}]});
    let chat = Dialect::named("openai-chat").unwrap();
    let backend = Backend::named("vllm", "openai-chat").unwrap();
    let mut exchange = Exchange::new(chat, chat, &Options::default().with_backend(backend));
    let (sent, _) = ask(&mut exchange, &request);
    assert_eq!(sent["stream_options"]["include_usage"], json!(true));
}

#[test]
fn memory_that_is_handed_on_leaves_no_trace() {
    let request =
        json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let cut = &request[..request.len() / 2];
    let answer = chat_call("look", "{}").to_string();
    let run = |body: &str, buffers: Buffers| {
        let mut exchange = exchange("anthropic", "openai-chat");
        exchange.use_buffers(buffers);
        let (mut sent, mut out) = (Vec::new(), Vec::new());
        let asked = exchange.request(body.as_bytes(), &mut sent).unwrap();
        let mut pipe = exchange.answer(Role::Response).unwrap();
        // Push small chunks, so that the pipe buffers them.
        for piece in answer.as_bytes().chunks(7) {
            pipe.push(piece, &mut out);
        }
        let (outcome, buffers) = pipe.finish_and_reuse(&[], &mut out);
        ((sent, asked, out, outcome), buffers)
    };
    let mut buffers = Buffers::default();
    for body in [request.as_str(), cut, "", &request, cut, &request] {
        let (fresh, _) = run(body, Buffers::default());
        let (again, given_back) = run(body, buffers);
        assert_eq!(fresh, again, "{body}");
        buffers = given_back;
    }
}

#[test]
fn an_error_that_no_dialect_knows_is_one_of_the_clients_with_its_message() {
    for (status, body, class, message) in [
        (502, "<html><h1>Bad Gateway</h1></html>", FailureClass::Server, "<html><h1>Bad Gateway</h1></html>"),
        (429, "slow down", FailureClass::RateLimit, "slow down"),
        (503, "", FailureClass::Overloaded, "HTTP status 503"),
        (404, "{\"what\":\"no\"}", FailureClass::NotFound, "{\"what\":\"no\"}"),
    ] {
        let mut exchange = exchange("anthropic", "openai-chat");
        let response = FailedResponse { status, retry_after: Some(1500) };
        let mut out = Vec::new();
        let outcome = exchange.failed(response, body.as_bytes(), &mut out).unwrap();
        let failure = outcome.failure.unwrap();
        assert_eq!(
            (failure.class, failure.status, failure.retry_after),
            (class, status, Some(1500)),
            "{body}"
        );
        let out: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((&out["type"], &out["error"]["message"]), (&json!("error"), &json!(message)));
    }
    // A backend of the client's dialect can be behind a proxy with errors of its own.
    for dialect in ["anthropic", "openai-chat", "openai-responses", "gemini"] {
        let (response, mut out) = (FailedResponse { status: 502, retry_after: None }, Vec::new());
        exchange(dialect, dialect).failed(response, b"<h1>Bad Gateway</h1>", &mut out).unwrap();
        let out: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(out["error"]["message"], json!("<h1>Bad Gateway</h1>"), "{dialect}");
    }
    // An error body that the dialect can parse keeps its message, and the HTTP status supplies the missing class.
    let mut out = Vec::new();
    let body = json!({"error": {"message": "no", "type": "new_sort_of_error"}}).to_string();
    let response = FailedResponse { status: 429, retry_after: None };
    let outcome = exchange("anthropic", "openai-chat").failed(response, body.as_bytes(), &mut out).unwrap();
    assert_eq!(outcome.failure.unwrap().class, FailureClass::RateLimit);
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(out["error"], json!({"type": "rate_limit_error", "message": "no"}));
}

#[test]
fn p05_between_two_of_one_dialect_every_byte_stays_and_the_outcome_is_known() {
    let mut exchange = exchange("anthropic", "anthropic");
    let request = r#"{ "model":"m","max_tokens":5 ,"stream":false, "messages":[{"role":"user","content":"hi"}],"new_setting":1}"#;
    let mut out = Vec::new();
    let asked = exchange.request(request.as_bytes(), &mut out).unwrap();
    assert_eq!((out.as_slice(), asked.model.as_deref()), (request.as_bytes(), Some("m")));
    // A copy loses no member, whether the reader knows the member or not.
    assert_eq!((asked.report.lost, asked.report.lost_paths.len()), (0, 0));
    let body = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a\u0041"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}, "new":true}"#;
    let (out, outcome) = answer(&mut exchange, Role::Response, body);
    assert_eq!(out, body);
    assert_eq!((outcome.stop, outcome.usage.unwrap().output), (Some(StopClass::End), Some(2)));
    assert!(outcome.report.lost == 0 && outcome.report.adds_up());
    // Unless another model is requested.
    let dialect = Dialect::named("anthropic").unwrap();
    let options = Options::default().with_model("claude-opus-4-5".to_owned());
    let mut out = Vec::new();
    Exchange::new(dialect, dialect, &options).request(request.as_bytes(), &mut out).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["model"], "claude-opus-4-5");
}

#[test]
fn a_copied_stream_has_whole_events_at_any_cut_and_no_byte_before_the_first_known_event() {
    let stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    for cut in 0..stream.len() {
        // The bytes of a complete stream stay, however they arrive.
        let mut pipe = exchange("anthropic", "anthropic").answer(Role::Stream).unwrap();
        let mut out = Vec::new();
        pipe.push(&stream.as_bytes()[..cut], &mut out);
        assert!(out.is_empty() || out.ends_with(b"\n\n"), "cut at {cut}");
        let outcome = pipe.finish_with(&stream.as_bytes()[cut..], &mut out);
        assert_eq!((out.as_slice(), outcome.failure), (stream.as_bytes(), None), "cut at {cut}");
        // The message is complete with `message_stop`, and the bytes stay. A stop reason alone is not enough.
        let (out, outcome) = answer(&mut exchange("anthropic", "anthropic"), Role::Stream, &stream[..cut]);
        if outcome.failure.is_none() {
            assert_eq!(out, stream[..cut], "cut at {cut}");
            assert!(out.trim_end().ends_with("{\"type\":\"message_stop\"}"), "cut at {cut}");
            continue;
        }
        // Without its end, each event of the stream is whole, and the last is an error.
        for event in out.split_terminator("\n\n") {
            let data = event.split_once("\ndata: ").expect("an event").1;
            serde_json::from_str::<Value>(data)
                .unwrap_or_else(|error| panic!("cut at {cut}: {error}: {out}"));
        }
        assert!(out.contains("event: error\n"), "cut at {cut}: {out}");
    }
    let page = "<p>no\n\ndata: <p>\n\n";
    let (out, outcome) = answer(&mut exchange("anthropic", "anthropic"), Role::Stream, page);
    assert!(outcome.failure.is_some() && out.starts_with("event: error\n"), "{out}");
}

#[test]
fn p04_state_of_another_issuer_does_not_reach_the_backend_that_speaks_the_same() {
    // The history was made with another backend, which issued `secret`.
    let in_base64 = "aW50ZXJsaW5ndWE6YW50aHJvcGljOnNlY3JldA==";
    let histories = [
        (
            "anthropic",
            json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant",
                "content": [{"type": "redacted_thinking", "data": "interlingua:openai:secret"}, {"type": "text", "text": "Yes."}]},
                {"role": "user", "content": "Go on."}]}),
        ),
        (
            "openai-responses",
            json!({"model": "gpt-5.1", "input": [{"type": "message", "role": "user", "content": "hi"},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "interlingua:anthropic:signature:secret"},
                {"type": "message", "role": "assistant", "content": "Yes."}, {"type": "message", "role": "user", "content": "Go on."}]}),
        ),
        (
            "copilot",
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Yes.",
                "reasoning_text": "Hm.", "reasoning_opaque": "interlingua-signature:anthropic:secret"}, {"role": "user", "content": "Go on."}]}),
        ),
        (
            "gemini",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [
                {"text": "Yes.", "thoughtSignature": in_base64}]}, {"role": "user", "parts": [{"text": "Go on."}]}]}),
        ),
    ];
    for (dialect, request) in histories {
        let mut exchange = exchange(dialect, dialect);
        let (sent, asked) = ask(&mut exchange, &request);
        let sent = sent.to_string();
        assert!(!sent.contains("secret") && !sent.contains(in_base64), "{dialect}: {sent}");
        assert!(sent.contains("Yes.") && sent.contains("Go on."), "{dialect}: {sent}");
        assert!(asked.report.lost > 0, "{dialect}");
        // The same request without that state is copied.
        let plain = request.to_string().replace("interlingua", "vendor").replace(in_base64, "Q2lRQg==");
        let mut out = Vec::new();
        exchange.request(plain.as_bytes(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), plain);
    }
}

#[test]
fn a_client_that_asks_for_summaries_gets_the_reasoning_of_others_as_a_summary() {
    let thought = json!({"type": "thinking", "thinking": "It may rain.", "signature": "sig"});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "b", "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [thought, {"type": "text", "text": "Take a coat."}]});
    for (summary, shown) in [(json!("auto"), true), (Value::Null, false)] {
        let mut exchange = exchange("openai-responses", "anthropic");
        let mut request = json!({"model": "m", "input": "hi", "reasoning": {"effort": "low"}});
        request["reasoning"]["summary"] = summary;
        ask(&mut exchange, &request);
        let (out, _) = answer(&mut exchange, Role::Response, &message.to_string());
        let item = &serde_json::from_str::<Value>(&out).unwrap()["output"][0];
        let summaries: &[Value] =
            if shown { &[json!({"type": "summary_text", "text": "It may rain."})] } else { &[] };
        assert_eq!(item["summary"].as_array().unwrap(), summaries, "{item}");
        assert_eq!(item.get("content").is_none(), shown, "{item}");
        // The client returns the item, and the backend gets its own thought again.
        let again = json!({"model": "m", "input": [{"role": "user", "content": "hi"}, item, {"role": "user", "content": "and?"}]});
        let (sent, _) = ask(&mut exchange, &again);
        assert_eq!(sent["messages"][1]["content"][0], thought, "{sent}");
    }
}

#[test]
fn claude_code_sees_thoughts_of_every_backend() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "adaptive", "display": "updates"}, "output_config": {"effort": "medium"}});
    let (sent, _) = ask(&mut exchange("anthropic", "gemini"), &request);
    assert_eq!(sent["generationConfig"]["thinkingConfig"]["includeThoughts"], true, "{sent}");
    let (sent, _) = ask(&mut exchange("anthropic", "openai-responses"), &request);
    assert_eq!(sent["reasoning"]["summary"], "auto", "{sent}");
}
