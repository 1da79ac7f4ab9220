//! Peculiarities of Gemini: agent loops through an exchange, turn by turn, and streams in pieces. The translation of one
//! request or response is a case in `tests/cases/gemini_*.txt`. A number in a name is that of the pitfall in the
//! specification.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test reads what it wrote itself")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::model::{FailureClass, StopClass};
use interlingua::pipe::{CallOutcome, Exchange, Pipe};
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";
const G: &str = "gemini";

fn dialect(name: &str) -> &'static Dialect {
    Dialect::named(name).unwrap()
}

fn exchange(client: &str, backend: &str) -> Exchange {
    Exchange::new(dialect(client), dialect(backend), &Options::default())
}

/// The translated request and its report.
fn sent(exchange: &mut Exchange, request: &Value) -> (Value, Report) {
    let mut out = Vec::new();
    let summary = exchange.request(request.to_string().as_bytes(), &mut out).unwrap();
    (serde_json::from_slice(&out).unwrap(), summary.report)
}

/// The translated response and its outcome.
fn got(exchange: &mut Exchange, role: Role, answer: &str) -> (String, CallOutcome) {
    let mut out = Vec::new();
    let outcome = exchange.answer(role).unwrap().finish_with(answer.as_bytes(), &mut out);
    (String::from_utf8(out).unwrap(), outcome)
}

fn convert(from: &str, to: &str, role: Role, body: &str) -> (String, Report) {
    let side = |name| (dialect(name), role);
    let pipe = Pipe::new(side(from), side(to), &Options::default()).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(body.as_bytes(), &mut out);
    (String::from_utf8(out).unwrap(), report)
}

fn document(from: &str, to: &str, role: Role, body: &Value) -> (Value, Report) {
    let (out, report) = convert(from, to, role, &body.to_string());
    (serde_json::from_str(&out).unwrap(), report)
}

fn sse(chunks: &[Value]) -> String {
    chunks.iter().fold(String::new(), |text, chunk| text + "data: " + &chunk.to_string() + "\r\n\r\n")
}

/// The documents of a stream.
fn chunks(stream: &str) -> Vec<Value> {
    stream.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
}

/// A response, or a chunk of one, with these parts.
fn response(parts: &Value, reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({"candidates": [candidate], "modelVersion": "gemini-3-pro", "responseId": "r1",
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}})
}

/// The parts that Gemini 3 emits when it calls two tools at once.
fn two_calls() -> Value {
    json!([
        {"text": "Two places to look.", "thought": true},
        {"text": "Let me look."},
        {"functionCall": {"id": "c1", "name": "tide", "args": {"at": "Pléneuf"}}, "thoughtSignature": "U0lHMQ=="},
        {"functionCall": {"id": "c2", "name": "bell", "args": {}}}
    ])
}

fn tools(client: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    match client {
        A => json!([{"name": "tide", "input_schema": schema}, {"name": "bell", "input_schema": schema}]),
        C => json!([{"type": "function", "function": {"name": "tide", "parameters": schema}},
            {"type": "function", "function": {"name": "bell", "parameters": schema}}]),
        _ => json!([{"functionDeclarations": [{"name": "tide"}, {"name": "bell"}]}]),
    }
}

/// The parts of a request's contents by one role.
fn parts_of<'v>(request: &'v Value, role: &str) -> Vec<&'v Value> {
    let contents = request["contents"].as_array().unwrap().iter().filter(|content| content["role"] == role);
    contents.flat_map(|content| content["parts"].as_array().unwrap()).collect()
}

// ---- Agents in front of Gemini -----------------------------------------------------------------------------------------

/// The next request of an Anthropic client.
fn anthropic_turn(model: &str, content: Option<&Value>) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Look."})];
    if let Some(content) = content {
        let call = |block: &&Value| block["type"] == "tool_use";
        let result =
            |block: &Value| json!({"type": "tool_result", "tool_use_id": block["id"], "content": "fine"});
        let results: Vec<Value> = content.as_array().unwrap().iter().filter(call).map(result).collect();
        messages.extend([
            json!({"role": "assistant", "content": content}),
            json!({"role": "user", "content": results}),
        ]);
    }
    json!({"model": model, "max_tokens": 500, "tools": tools(A), "messages": messages})
}

/// The next request of a Chat client.
fn chat_turn(model: &str, message: Option<&Value>) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Look."})];
    if let Some(message) = message {
        messages.push(message.clone());
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "fine"}));
        }
    }
    json!({"model": model, "tools": tools(C), "messages": messages})
}

/// The calls and texts that Gemini gets back, without reasoning.
fn came_back(request: &Value) -> Vec<Value> {
    parts_of(request, "model").into_iter().filter(|part| part["thought"] != true).cloned().collect()
}

fn issued(parts: &Value) -> Vec<Value> {
    parts.as_array().unwrap().iter().filter(|part| part["thought"] != true).cloned().collect()
}

#[test]
fn p06_signatures_come_back_on_their_calls_through_an_anthropic_client() {
    let mut loop_ = exchange(A, G);
    sent(&mut loop_, &anthropic_turn("gemini-3-pro", None));
    let (answer, outcome) =
        got(&mut loop_, Role::Response, &response(&two_calls(), Some("STOP")).to_string());
    assert_eq!(outcome.stop, Some(StopClass::ToolUse));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["stop_reason"], "tool_use");
    let (again, report) = sent(&mut loop_, &anthropic_turn("gemini-3-pro", Some(&answer["content"])));
    assert_eq!(came_back(&again), issued(&two_calls()));
    assert!(report.notes.iter().all(|(note, _)| !note.contains("stands for state")), "{:?}", report.notes);
}

#[test]
fn p06_signatures_come_back_on_their_calls_through_a_chat_client() {
    let mut loop_ = exchange(C, G);
    sent(&mut loop_, &chat_turn("gemini-3-pro", None));
    let (answer, _) = got(&mut loop_, Role::Response, &response(&two_calls(), Some("STOP")).to_string());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    // A Chat message holds its state before its text, but the state still belongs to the call.
    let (again, _) = sent(&mut loop_, &chat_turn("gemini-3-pro", Some(&choice["message"])));
    assert_eq!(came_back(&again), issued(&two_calls()));
}

#[test]
fn p06_signatures_of_a_text_its_end_and_a_call_come_back_in_their_order() {
    let parts = json!([
        {"text": "First.", "thoughtSignature": "QQ=="},
        {"functionCall": {"id": "c1", "name": "tide", "args": {}}, "thoughtSignature": "Qg=="},
        {"functionCall": {"id": "c2", "name": "bell", "args": {}}, "thoughtSignature": "Qw=="}
    ]);
    for client in [A, C] {
        let mut loop_ = exchange(client, G);
        let turn = |said: Option<&Value>| match client {
            A => anthropic_turn("gemini-3-pro", said),
            _ => chat_turn("gemini-3-pro", said),
        };
        sent(&mut loop_, &turn(None));
        let (answer, _) = got(&mut loop_, Role::Response, &response(&parts, Some("STOP")).to_string());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let said = if client == A { &answer["content"] } else { &answer["choices"][0]["message"] };
        let (again, _) = sent(&mut loop_, &turn(Some(said)));
        assert_eq!(came_back(&again), issued(&parts), "through {client}");
    }
    let text = json!([{"text": "Done."}, {"text": "", "thoughtSignature": "RQ=="}]);
    let mut loop_ = exchange(A, G);
    sent(&mut loop_, &anthropic_turn("gemini-3-pro", None));
    let (answer, _) = got(&mut loop_, Role::Response, &response(&text, Some("STOP")).to_string());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let (again, _) = sent(&mut loop_, &anthropic_turn("gemini-3-pro", Some(&answer["content"])));
    assert_eq!(came_back(&again), issued(&text));
}

#[test]
fn p06_signatures_of_a_stream_come_back_on_their_calls() {
    let stream = sse(&[
        response(&json!([{"text": "Hm.", "thought": true}]), None),
        response(&json!([{"text": "Let me"}]), None),
        response(&json!([{"text": " look."}]), None),
        response(
            &json!([{"functionCall": {"name": "tide", "args": {"at": "x"}}, "thoughtSignature": "U0lH"}]),
            None,
        ),
        response(&json!([{"functionCall": {"name": "tide", "args": {"at": "y"}}}]), None),
        response(&json!([{"text": ""}]), Some("STOP")),
    ]);
    let mut loop_ = exchange(C, G);
    let mut first = chat_turn("gemini-3-pro", None);
    first["stream"] = json!(true);
    sent(&mut loop_, &first);
    let (out, outcome) = got(&mut loop_, Role::Stream, &stream);
    assert_eq!(outcome.stop, Some(StopClass::ToolUse));
    // Joins the deltas as a client does.
    let mut message = json!({"role": "assistant", "content": "", "reasoning_details": [], "tool_calls": []});
    for chunk in chunks(&out) {
        let delta = &chunk["choices"][0]["delta"];
        if let Some(text) = delta["content"].as_str() {
            message["content"] = json!(message["content"].as_str().unwrap().to_owned() + text);
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            message["reasoning_details"].as_array_mut().unwrap().push(detail.clone());
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let calls = message["tool_calls"].as_array_mut().unwrap();
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if index == calls.len() {
                calls.push(call.clone());
            } else {
                let more = call["function"]["arguments"].as_str().unwrap();
                let so_far = calls[index]["function"]["arguments"].as_str().unwrap().to_owned();
                calls[index]["function"]["arguments"] = json!(so_far + more);
            }
        }
    }
    let (again, _) = sent(&mut loop_, &chat_turn("gemini-3-pro", Some(&message)));
    let parts = came_back(&again);
    assert_eq!(parts[0], json!({"text": "Let me look."}));
    assert_eq!(parts[1]["thoughtSignature"], "U0lH");
    assert_eq!(parts[1]["functionCall"]["args"], json!({"at": "x"}));
    assert_eq!(parts[2].get("thoughtSignature"), None);
    // Two calls of one name have different generated ids.
    let ids: Vec<_> = [1, 2].map(|at| parts[at]["functionCall"]["id"].clone()).into();
    assert_ne!(ids[0], ids[1]);
    let results: Vec<_> =
        parts_of(&again, "user").into_iter().filter(|part| part.get("functionResponse").is_some()).collect();
    assert_eq!(results.iter().map(|part| part["functionResponse"]["id"].clone()).collect::<Vec<_>>(), ids);
}

// ---- Gemini clients in front of others ---------------------------------------------------------------------------------

/// The next request of a Gemini client, which returns the received parts.
fn gemini_turn(parts: Option<Vec<Value>>) -> Value {
    let mut contents = vec![json!({"role": "user", "parts": [{"text": "Look."}]})];
    if let Some(parts) = parts {
        let result = |part: &Value| {
            let call = part.get("functionCall")?;
            Some(
                json!({"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "fine"}}}),
            )
        };
        let results: Vec<Value> = parts.iter().filter_map(result).collect();
        contents
            .extend([json!({"role": "model", "parts": parts}), json!({"role": "user", "parts": results})]);
    }
    json!({"model": "claude-opus-4-5", "tools": tools(G), "contents": contents})
}

fn all_parts(answer: &str) -> Vec<Value> {
    let whole: Vec<Value> = serde_json::from_str(answer).map_or_else(|_| chunks(answer), |whole| vec![whole]);
    let parts =
        |chunk: &Value| chunk["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default();
    whole.iter().flat_map(parts).collect()
}

const THINKS: &str = r#"[{"type":"thinking","thinking":"Hm, tides.","signature":"U0lHLUE="},{"type":"redacted_thinking","data":"UkVEMQ=="},{"type":"redacted_thinking","data":"UkVEMg=="},{"type":"thinking","thinking":"","signature":"U0lHLUI="},{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_1","name":"tide","input":{"at":"x"}},{"type":"tool_use","id":"toolu_2","name":"bell","input":{}}]"#;

#[test]
fn anthropic_thinking_comes_back_in_order_through_a_gemini_client() {
    let blocks: Value = serde_json::from_str(THINKS).unwrap();
    let mut loop_ = exchange(G, A);
    sent(&mut loop_, &gemini_turn(None));
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": blocks,
        "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 5, "output_tokens": 7}});
    let (out, _) = got(&mut loop_, Role::Response, &answer.to_string());
    let parts = all_parts(&out);
    // The SDK treats a signature as base64 bytes.
    for state in parts.iter().filter_map(|part| part["thoughtSignature"].as_str()) {
        assert!(interlingua::json::from_base64(state).is_some(), "{state}");
    }
    let (again, report) = sent(&mut loop_, &gemini_turn(Some(parts)));
    assert_eq!(again["messages"][1]["content"], blocks, "{:?}", report.lost_paths);
}

#[test]
fn anthropic_thinking_of_a_stream_comes_back_in_order_through_a_gemini_client() {
    let blocks: Value = serde_json::from_str(THINKS).unwrap();
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": blocks,
        "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 5, "output_tokens": 7}});
    let stream = {
        let (from, to) = ((dialect(A), Role::Response), (dialect(A), Role::Stream));
        let mut out = Vec::new();
        Pipe::new(from, to, &Options::default()).unwrap().finish_with(whole.to_string().as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    let mut loop_ = exchange(G, A);
    sent(&mut loop_, &gemini_turn(None));
    let (out, _) = got(&mut loop_, Role::Stream, &stream);
    let mut parts = all_parts(&out);
    // Some clients write bytes in URL-safe base64.
    for part in &mut parts {
        if let Some(state) = part.get("thoughtSignature").and_then(Value::as_str) {
            part["thoughtSignature"] = json!(state.replace('+', "-").replace('/', "_").trim_end_matches('='));
        }
    }
    let (again, report) = sent(&mut loop_, &gemini_turn(Some(parts)));
    assert_eq!(again["messages"][1]["content"], blocks, "{:?}", report.lost_paths);
}

#[test]
fn calls_of_a_chat_backend_come_back_with_their_ids_through_a_gemini_client() {
    let mut loop_ = exchange(G, C);
    sent(&mut loop_, &gemini_turn(None));
    let calls = json!([
        {"id": "functions.tide:0", "type": "function", "function": {"name": "tide", "arguments": "{\"at\":\"x\"}"}},
        {"id": "functions.bell:1", "type": "function", "function": {"name": "bell", "arguments": "{}"}}]);
    let answer = json!({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "Hm.", "reasoning_content": "R",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "T1BFTg==", "format": "openai", "index": 0}],
        "tool_calls": calls}}]});
    let (out, _) = got(&mut loop_, Role::Response, &answer.to_string());
    let (again, _) = sent(&mut loop_, &gemini_turn(Some(all_parts(&out))));
    let message = &again["messages"][1];
    assert_eq!(message["tool_calls"], calls);
    assert_eq!(message["reasoning_content"], "R");
    assert_eq!(again["messages"][2]["tool_call_id"], "functions.tide:0");
}

// ---- Requests ------------------------------------------------------------------------------------------------------------

#[test]
fn p50_references_in_results_are_text() {
    // A result that Gemini would parse as an object of its own is passed through universal events, which keep it a
    // value.
    let with = |response: Value| {
        let contents = json!({"contents": [
            {"role": "user", "parts": [{"text": "x"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "t", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "t", "response": response}}]}]});
        let (from, to) = ((dialect(G), Role::Request), (dialect("universal"), Role::Live));
        let mut events = Vec::new();
        Pipe::new(from, to, &Options::default())
            .unwrap()
            .finish_with(contents.to_string().as_bytes(), &mut events);
        let mut out = Vec::new();
        let back = (dialect(G), Role::Request);
        Pipe::new(to, back, &Options::default()).unwrap().finish_with(&events, &mut out);
        let out: Value = serde_json::from_slice(&out).unwrap();
        parts_of(&out, "user").into_iter().find_map(|part| part.get("functionResponse")).unwrap()["response"]
            .clone()
    };
    assert_eq!(with(json!({"depths": [1, 2]})), json!({"depths": [1, 2]}));
    assert_eq!(with(json!({"output": [1, 2]})), json!({"output": [1, 2]}));
    let schema = json!({"schema": {"$ref": "#/$defs/x", "$defs": {"x": {}}}});
    assert_eq!(with(schema.clone()), json!({"output": schema.to_string()}));
}

// ---- Answers -------------------------------------------------------------------------------------------------------------

#[test]
fn p45_a_call_that_could_not_be_made_is_a_failure() {
    for reason in
        ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"]
    {
        let mut whole = response(&json!([]), Some(reason));
        whole["candidates"][0]["finishMessage"] = json!("It was no call.");
        for client in [A, C] {
            let mut loop_ = exchange(client, G);
            let (out, outcome) = got(&mut loop_, Role::Response, &whole.to_string());
            let failure = outcome.failure.unwrap();
            assert!(failure.is_retryable(), "{reason}");
            let out: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(out["error"]["message"], "It was no call.");
            let stream = sse(&[response(&json!([{"text": "Well,"}]), None), whole.clone()]);
            let (out, outcome) = got(&mut loop_, Role::Stream, &stream);
            assert!(outcome.failure.is_some());
            assert!(out.contains("Well,") && out.contains("It was no call."));
            assert!(!out.contains("message_stop") && !out.contains("[DONE]"), "{out}");
        }
    }
}

#[test]
fn p46_an_answer_of_nothing_is_an_empty_answer() {
    let mut bare = response(&json!([]), Some("STOP"));
    bare["candidates"][0].as_object_mut().unwrap().remove("content");
    for empty in [response(&json!([]), Some("STOP")), response(&json!([{"text": ""}]), Some("STOP")), bare] {
        for (role, body) in
            [(Role::Response, empty.to_string()), (Role::Stream, sse(std::slice::from_ref(&empty)))]
        {
            let (_, outcome) = got(&mut exchange(A, G), role, &body);
            assert_eq!((outcome.failure, outcome.stop), (None, Some(StopClass::End)));
            assert_eq!(outcome.usage.unwrap().input, Some(10));
        }
    }
    // A response cut off before its first part has the stop reason `length`.
    let (out, _) = document(G, C, Role::Response, &response(&json!([]), Some("MAX_TOKENS")));
    assert_eq!(out["choices"][0]["finish_reason"], "length");
}

#[test]
fn p67_a_stream_without_a_reason_is_cut() {
    let stream = sse(&[response(&json!([{"text": "Half"}]), None)]);
    let (out, outcome) = got(&mut exchange(C, G), Role::Stream, &stream);
    assert_eq!(outcome.failure.unwrap().class, FailureClass::Incomplete);
    assert!(out.contains("Half") && !out.contains("[DONE]"));
}

#[test]
fn a_stream_may_be_an_array_in_any_pieces() {
    let one = response(&json!([{"text": "a, \"b\" ]"}]), None);
    let two = response(&json!([{"text": "!"}]), Some("STOP"));
    let events = sse(&[one.clone(), two.clone()]);
    let (expected, _) = convert(G, C, Role::Stream, &events);
    for array in [format!("[{one}\n,\r\n{two}\n]"), format!(" [ {one:#}, {two:#} ] \n")] {
        let side = |name| (dialect(name), Role::Stream);
        for size in 1..80 {
            let mut pipe = Pipe::new(side(G), side(C), &Options::default()).unwrap();
            let mut out = Vec::new();
            for piece in array.as_bytes().chunks(size) {
                pipe.push(piece, &mut out);
            }
            let report = pipe.finish(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            assert!(report.problems.is_empty(), "{:?}", report.problems);
        }
        let guess = interlingua::sniff::sniff(array.as_bytes(), true).unwrap();
        assert_eq!((guess.dialect.name, guess.role), (G, Role::Stream));
    }
}

#[test]
fn a_chunk_of_an_array_is_said_when_it_is_complete() {
    let side = |name| (dialect(name), Role::Stream);
    let mut pipe = Pipe::new(side(G), side(C), &Options::default()).unwrap();
    let mut out = Vec::new();
    pipe.push(format!("[{}", response(&json!([{"text": "now"}]), None)).as_bytes(), &mut out);
    assert!(String::from_utf8(out).unwrap().contains("now"));
}

#[test]
fn failures_say_when_to_try_again_and_are_known_by_their_words() {
    let body = r#"[{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.25s"}]}}]"#;
    let (out, outcome) = got(&mut exchange(A, G), Role::Response, body);
    let failure = outcome.failure.unwrap();
    assert_eq!(
        (failure.class, failure.status, failure.retry_after),
        (FailureClass::RateLimit, 429, Some(3250))
    );
    assert!(out.contains("rate_limit_error") && out.contains("Slow down."));
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}, "request_id": "req_1"});
    let (out, _) = document(A, G, Role::Response, &overloaded);
    assert_eq!(
        out,
        json!({"error": {"code": 503, "message": "Busy", "status": "UNAVAILABLE", "details": [
        {"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": "req_1"}]}})
    );
}

#[test]
fn a_reason_by_its_number_is_the_word_and_no_success() {
    let answer = |number: u64| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": number, "index": 0}], "modelVersion": "m", "responseId": "r"});
    // Up to 5 the two Google APIs use the same numbers; later numbers differ, and none of them is a success.
    for (number, word) in [
        (1, "stop"),
        (2, "length"),
        (3, "content_filter"),
        (4, "content_filter"),
        (6, "content_filter"),
        (9, "content_filter"),
    ] {
        let (out, _) = document(G, C, Role::Response, &answer(number));
        assert_eq!(out["choices"][0]["finish_reason"], word, "{number}: {out}");
    }
    for number in [10, 12, 13] {
        let (out, _) = document(G, C, Role::Response, &answer(number));
        assert!(out.get("error").is_some(), "{number}: {out}");
    }
}
