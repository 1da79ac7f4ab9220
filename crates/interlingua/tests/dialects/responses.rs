//! The Responses API with the other APIs: the requirements of an agent loop, and the pitfalls of its items and streams.
//! Tests named `p…` are about the pitfall of that number.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::model::{FailureClass, StopClass};
use interlingua::pipe::{CallOutcome, Exchange, Pipe};
use serde_json::{Value, json};

const R: &str = "openai-responses";
const A: &str = "anthropic";
const C: &str = "openai-chat";

fn named(name: &str) -> &'static Dialect {
    Dialect::named(name).unwrap()
}

fn convert_text(from: &str, to: &str, role: Role, text: &str) -> (String, Report) {
    let out = crate::support::convert((named(from), role), (named(to), role), text.as_bytes());
    assert!(out.report.adds_up());
    (String::from_utf8(out.bytes).unwrap(), out.report)
}

/// The writer's output for the reader's events: between equal dialects a pipe would copy the bytes.
fn rewrite(role: Role, text: &str) -> (String, Report) {
    let options = Options::default().with_source(R);
    let write = named(R).role(role).unwrap().write.as_ref().unwrap();
    let writer = ((write.make)(&options), write.support);
    let pipe = Pipe::with_writer_and_support((named(R), role), writer, &options).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(text.as_bytes(), &mut out);
    assert!(report.adds_up());
    (String::from_utf8(out).unwrap(), report)
}

fn rewrite_json(role: Role, value: &Value) -> (Value, Report) {
    let (text, report) = rewrite(role, &value.to_string());
    (serde_json::from_str(&text).unwrap(), report)
}

fn convert_json(from: &str, to: &str, role: Role, value: &Value) -> (Value, Report) {
    let (text, report) = convert_text(from, to, role, &value.to_string());
    (serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}")), report)
}

/// One model call: the request sent to the backend, and the response for the client.
fn call(client: &str, backend: &str, request: &Value, answer: impl Fn(&Value) -> Value) -> (Value, Value) {
    let mut exchange = Exchange::new(named(client), named(backend), &Options::default());
    let mut sent = Vec::new();
    exchange.request(request.to_string().as_bytes(), &mut sent).unwrap();
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    let mut out = Vec::new();
    let body = answer(&sent).to_string();
    let outcome = exchange.answer(Role::Response).unwrap().finish_with(body.as_bytes(), &mut out);
    assert!(outcome.report.adds_up());
    (sent, serde_json::from_slice(&out).unwrap())
}

fn stream(client: &str, backend: &str, request: &Value, answer: &str) -> (String, CallOutcome) {
    let mut exchange = Exchange::new(named(client), named(backend), &Options::default());
    exchange.request(request.to_string().as_bytes(), &mut Vec::new()).unwrap();
    let (mut out, mut pipe) = (Vec::new(), exchange.answer(Role::Stream).unwrap());
    for piece in answer.as_bytes().chunks(11) {
        pipe.push(piece, &mut out);
    }
    let outcome = pipe.finish(&mut out);
    assert!(outcome.report.adds_up());
    (String::from_utf8(out).unwrap(), outcome)
}

/// The documents of a stream.
fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn is_lost(report: &Report, path: &str) -> bool {
    report.lost_paths.iter().any(|row| row.path == path)
}

fn response(output: &Value) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": output,
        "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}})
}

fn reasoning(id: &str, state: &str) -> Value {
    json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": format!("about {id}")}],
        "encrypted_content": state})
}

fn function_call(call: &str, name: &str) -> Value {
    json!({"id": format!("fc_{call}"), "type": "function_call", "status": "completed", "call_id": call, "name": name,
        "arguments": "{\"a\":1}"})
}

fn message(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

/// An item without its id, which a client need not return, and without members that only responses have.
fn as_input(item: &Value) -> Value {
    let mut item = item.clone();
    let members = item.as_object_mut().unwrap();
    members.remove("id");
    members.remove("status");
    item
}

// ---- An agent loop: values issued by the backend are returned unchanged -----------------------------------------------

/// Two reasoning items, each before its call, and a text between them.
fn issued() -> Vec<Value> {
    vec![
        reasoning("rs_1", "gAAAA-one=="),
        function_call("call_1", "look"),
        message("Two things."),
        reasoning("rs_2", "gAAAA-two=="),
        function_call("call_2", "look"),
    ]
}

#[test]
fn what_the_backend_issued_comes_back_from_an_anthropic_client() {
    let ask = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}]});
    let (_, got) = call(A, R, &ask, |_| response(&json!(issued())));
    assert_eq!(got["stop_reason"], "tool_use");
    let mut next = ask;
    let turns = next["messages"].as_array_mut().unwrap();
    turns.push(json!({"role": "assistant", "content": got["content"]}));
    turns.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "two"}]}));
    let (sent, _) = call(A, R, &next, |_| response(&json!([message("done")])));
    let input = sent["input"].as_array().unwrap();
    let states: Vec<&Value> = input.iter().filter(|item| item["type"] == "reasoning").collect();
    assert_eq!(states[0]["encrypted_content"], "gAAAA-one==");
    assert_eq!(states[1]["encrypted_content"], "gAAAA-two==");
    let kinds: Vec<&str> = input.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[1..6], ["reasoning", "function_call", "message", "reasoning", "function_call"]);
    assert_eq!(input[2], as_input(&issued()[1]));
    assert_eq!(input[3]["content"], "Two things.");
    assert_eq!(input[6], json!({"type": "function_call_output", "call_id": "call_1", "output": "one"}));
}

#[test]
fn what_the_backend_issued_comes_back_from_a_chat_client() {
    let tool = json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let ask = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [tool]});
    let output = json!([reasoning("rs_1", "gAAAA-one=="), function_call("call_1", "look")]);
    let (_, got) = call(C, R, &ask, |_| response(&output));
    let mut next = ask;
    let turns = next["messages"].as_array_mut().unwrap();
    turns.push(got["choices"][0]["message"].clone());
    turns.push(json!({"role": "tool", "tool_call_id": "call_1", "content": "one"}));
    let (sent, _) = call(C, R, &next, |_| response(&json!([message("done")])));
    let input = sent["input"].as_array().unwrap();
    assert_eq!(input[1]["type"], "reasoning");
    assert_eq!(input[1]["encrypted_content"], "gAAAA-one==");
    assert_eq!(input[2], as_input(&output[1]));
}

#[test]
fn signed_and_redacted_thinking_comes_back_exact_from_a_responses_client() {
    let content = json!([
        {"type": "thinking", "thinking": "First.", "signature": "c2ln:LTE="},
        {"type": "redacted_thinking", "data": "Ym94LTE="},
        {"type": "thinking", "thinking": "", "signature": "c2lnLTI="},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}]);
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2}});
    let ask = json!({"model": "m", "input": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": false}]});
    let (_, got) = call(R, A, &ask, |_| answer.clone());
    let output = got["output"].as_array().unwrap();
    let kinds: Vec<&str> = output.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "reasoning", "reasoning", "message", "function_call"]);
    assert!(!got.to_string().contains("\"text\":\"Ym94"), "state is no text");
    let mut next = ask;
    let turns = next["input"].as_array_mut().unwrap();
    turns.extend(output.iter().cloned());
    turns.push(json!({"type": "function_call_output", "call_id": "toolu_1", "output": "seen"}));
    let (sent, _) = call(R, A, &next, |_| answer.clone());
    assert_eq!(sent["messages"][1], json!({"role": "assistant", "content": content}));
}

#[test]
fn thinking_of_others_is_withheld_from_the_backend() {
    let carried = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}], "encrypted_content": "interlingua:anthropic:signature:c2ln"});
    let ask = json!({"model": "m", "input": [{"role": "user", "content": "hi"}, carried, message("So."),
        {"role": "user", "content": "on"}]});
    let (sent, report) = rewrite_json(Role::Request, &ask);
    assert!(!sent.to_string().contains("c2ln"), "{sent}");
    assert!(is_lost(&report, "/input[]/encrypted_content") && is_lost(&report, "/input[]/content[]/text"));
}

// ---- Reasoning --------------------------------------------------------------------------------------------------------

#[test]
fn p09_reasoning_without_state_is_dropped_aloud() {
    let ask = json!({"model": "m", "messages": [{"role": "user", "content": "hi"},
        {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}, {"role": "user", "content": "on"}]});
    let (sent, report) = convert_json(C, R, Role::Request, &ask);
    assert!(!sent.to_string().contains("reasoning"), "{sent}");
    assert!(is_lost(&report, "/messages[]/reasoning_content"));
    assert_eq!(sent["store"], false, "other APIs keep no answers");
}

#[test]
fn p10_reasoning_that_nothing_came_of_is_dropped_aloud() {
    let ask = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "interlingua:openai:gAAAA-x=="}]},
        {"role": "user", "content": "on"}]});
    let (sent, report) = convert_json(A, R, Role::Request, &ask);
    assert!(!sent.to_string().contains("gAAAA"), "{sent}");
    assert!(is_lost(&report, "/messages[]/content[]/data"), "{:?}", report.lost_paths);
}

#[test]
fn p11_encrypted_reasoning_is_that_of_the_item_when_it_is_done() {
    let text =
        std::fs::read_to_string(crate::support::fixture_root(named(R)).join("stream/tools.sse")).unwrap();
    assert!(text.contains(r#""encrypted_content":"gAAAAt"}"#), "the fixture begins with a part of it");
    let (out, _) = convert_text(R, A, Role::Stream, &text);
    let states: Vec<Value> = events(&out)
        .into_iter()
        .filter(|event| event["content_block"]["type"] == "redacted_thinking")
        .collect();
    assert_eq!(states.len(), 1);
    assert_eq!(states[0]["content_block"]["data"], "interlingua:openai:gAAAAtwo-places==");
}

#[test]
fn p17_the_phase_of_a_message_stays() {
    let said = json!({"type": "message", "role": "assistant", "content": "Soon.", "phase": "commentary"});
    let ask = json!({"model": "m", "input": [{"role": "user", "content": "hi"}, said,
        {"type": "message", "role": "assistant", "content": "Now.", "phase": "final_answer"}, {"role": "user", "content": "on"}]});
    let (sent, _) = rewrite_json(Role::Request, &ask);
    assert_eq!(sent["input"][1], said);
    assert_eq!(sent["input"][2]["phase"], "final_answer");
    let (_, report) = convert_json(R, C, Role::Request, &ask);
    assert!(is_lost(&report, "/input[]/phase"));
}

#[test]
fn p35_the_id_of_an_item_is_not_the_id_of_its_call() {
    let (got, report) =
        convert_json(R, A, Role::Response, &response(&json!([function_call("call_1", "look")])));
    assert_eq!(got["content"][0]["id"], "call_1");
    assert!(is_lost(&report, "/output[]/id"));
}

// ---- Tools ------------------------------------------------------------------------------------------------------------

fn agent_request(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "input": [
        {"type": "additional_tools", "role": "developer", "tools": [
            {"type": "custom", "name": "apply_patch", "description": "d", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
            {"type": "namespace", "name": "mcp__charts", "description": "Charts", "tools": [
                {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}, "strict": false}]}]},
        {"role": "user", "content": "hi"},
        {"type": "custom_tool_call", "call_id": "call_0", "name": "apply_patch", "input": "*** \"old\"\n"},
        {"type": "custom_tool_call_output", "call_id": "call_0", "output": "done"}]})
}

#[test]
fn p37_a_free_text_tool_is_a_function_there_and_free_text_again() {
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2},
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "apply_patch", "input": {"input": "*** \"new\"\n"}}]});
    let (sent, got) = call(R, A, &agent_request(false), |_| answer.clone());
    assert_eq!(sent["tools"][0]["input_schema"]["properties"], json!({"input": {"type": "string"}}));
    assert_eq!(sent["messages"][1]["content"][0]["input"], json!({"input": "*** \"old\"\n"}));
    let made = &got["output"][0];
    assert_eq!((&made["type"], &made["input"]), (&json!("custom_tool_call"), &json!("*** \"new\"\n")));
    // From a chat backend, streamed.
    let chunk = |delta: Value, stop: Value| {
        format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})
        )
    };
    let mut answer = chunk(
        json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "call_9", "type": "function",
        "function": {"name": "apply_patch", "arguments": ""}}]}),
        Value::Null,
    );
    for piece in ["{\"inp", "ut\":\"a\\n", "b\"}"] {
        answer +=
            &chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}), Value::Null);
    }
    answer += &chunk(json!({}), json!("tool_calls"));
    answer += "data: [DONE]\n\n";
    let (out, outcome) = stream(R, C, &agent_request(true), &answer);
    assert_eq!(outcome.stop, Some(StopClass::ToolUse));
    let last = events(&out).pop().unwrap();
    let made = &last["response"]["output"][0];
    assert_eq!(
        (&made["type"], &made["call_id"], &made["input"]),
        (&json!("custom_tool_call"), &json!("call_9"), &json!("a\nb"))
    );
    assert!(events(&out).iter().any(|event| event["type"] == "response.custom_tool_call_input.delta"));
}

#[test]
fn p37_the_result_of_a_free_text_call_says_so() {
    let (sent, _) = rewrite_json(Role::Request, &agent_request(false));
    assert_eq!(sent["input"][1]["type"], "custom_tool_call");
    assert_eq!(
        sent["input"][2],
        json!({"type": "custom_tool_call_output", "call_id": "call_0", "output": "done"})
    );
}

#[test]
fn p38_a_group_of_tools_is_put_back() {
    for backend in [A, C] {
        let answer = |sent: &Value| {
            let tools = sent["tools"].to_string();
            assert!(tools.contains("mcp__charts__read"), "{tools}");
            match backend {
                A => {
                    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
                    "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2},
                    "content": [{"type": "tool_use", "id": "toolu_1", "name": "mcp__charts__read", "input": {}}]})
                }
                _ => {
                    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
                    "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "mcp__charts__read", "arguments": ""}}]}}]})
                }
            }
        };
        let (_, got) = call(R, backend, &agent_request(false), answer);
        let made = &got["output"][0];
        assert_eq!((&made["namespace"], &made["name"]), (&json!("mcp__charts"), &json!("read")), "{backend}");
        assert_eq!(made["arguments"], "{}");
    }
}

#[test]
fn p39_tools_that_come_as_an_item_are_tools() {
    for target in [A, C] {
        let (sent, _) = convert_json(R, target, Role::Request, &agent_request(false));
        assert_eq!(sent["tools"].as_array().unwrap().len(), 2, "{target}: {sent}");
    }
    let (sent, _) = rewrite_json(Role::Request, &agent_request(false));
    assert_eq!(sent["tools"][1]["type"], "namespace");
    assert_eq!(sent["tools"][1]["tools"][0]["name"], "read");
}

#[test]
fn a_search_of_one_vendor_stands_in_for_that_of_another() {
    let ask =
        json!({"model": "m", "input": "hi", "tools": [{"type": "web_search", "search_context_size": "low"}]});
    let (sent, report) = convert_json(R, A, Role::Request, &ask);
    assert_eq!(sent["tools"][0]["name"], "web_search");
    assert!(is_lost(&report, "/tools[]/search_context_size"));
    let ask = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
            {"type": "code_execution_20250825", "name": "code_execution"}]});
    let (sent, _) = convert_json(A, R, Role::Request, &ask);
    assert_eq!(
        sent["tools"],
        json!([{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}])
    );
}

#[test]
fn what_the_provider_keeps_is_missed_aloud() {
    let ask = json!({"model": "m", "previous_response_id": "resp_0", "input": [{"type": "item_reference", "id": "msg_0"},
        {"role": "user", "content": "on"}]});
    let (_, report) = convert_json(R, A, Role::Request, &ask);
    assert!(is_lost(&report, "/previous_response_id") && is_lost(&report, "/input[]/id"));
    assert!(report.notes.iter().any(|(note, _)| note.contains("which is not here")), "{:?}", report.notes);
}

// ---- Streams ----------------------------------------------------------------------------------------------------------

fn anthropic_stream(end: bool) -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let mut out = event(
        json!({"type": "message_start", "message": {"id": "msg_9", "type": "message", "role": "assistant",
        "model": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}}),
    );
    out += &event(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    out += &event(
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half"}}),
    );
    out += &event(json!({"type": "content_block_stop", "index": 0}));
    out += &event(json!({"type": "content_block_start", "index": 1,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}}));
    out += &event(json!({"type": "content_block_delta", "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": "{\"a\":"}}));
    if end {
        out += &event(json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "1}"}}));
        out += &event(json!({"type": "content_block_stop", "index": 1}));
        out += &event(
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": {"output_tokens": 9}}),
        );
        out += &event(json!({"type": "message_stop"}));
    }
    out
}

/// Checks the grammar of a stream; returns its last event.
fn well_formed(stream: &str) -> Value {
    let events = events(stream);
    assert_eq!(events[0]["type"], "response.created");
    assert_eq!(events[1]["type"], "response.in_progress");
    let mut open = std::collections::BTreeMap::new();
    let mut done = Vec::new();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
        let index = event["output_index"].as_u64();
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => {
                assert_eq!(index, Some(done.len() as u64 + open.len() as u64), "{event}");
                assert!(open.insert(index, event["item"]["id"].clone()).is_none());
            }
            "response.output_item.done" => {
                assert_eq!(open.remove(&index), Some(event["item"]["id"].clone()), "{event}");
                done.push(event["item"].clone());
            }
            _ if event.get("item_id").is_some() => {
                assert_eq!(open.get(&index), Some(&event["item_id"]), "{event}");
            }
            _ => assert!(event.get("response").is_some(), "{event}"),
        }
    }
    assert!(open.is_empty(), "items left open: {open:?}");
    let last = events.last().unwrap().clone();
    assert_eq!(last["response"]["output"], json!(done));
    assert_eq!(last["response"]["id"], events[0]["response"]["id"]);
    last
}

#[test]
fn p66_every_item_is_done_before_the_end() {
    let (out, _) = convert_text(A, R, Role::Stream, &anthropic_stream(true));
    let last = well_formed(&out);
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["total_tokens"], 12);
    // A stream whose server never sends a stop reason.
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi."}}]});
    let (out, _) = convert_text(C, R, Role::Stream, &format!("data: {chunk}\n\ndata: [DONE]\n\n"));
    assert_eq!(well_formed(&out)["type"], "response.completed");
}

#[test]
fn p67_a_stream_that_was_cut_is_no_success() {
    let whole = anthropic_stream(true);
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let (out, _) = convert_text(A, R, Role::Stream, &whole[..end]);
        // A stream that ends after its stop reason is complete.
        if !whole[..end].contains("\"output_tokens\":9}}") {
            assert_eq!(well_formed(&out)["type"], "response.failed", "cut at {end}");
        }
    }
    let (out, _) = convert_text(A, R, Role::Stream, &anthropic_stream(false));
    let last = well_formed(&out);
    assert_eq!(last["response"]["output"][1]["status"], "incomplete");
    // The opposite direction.
    let text =
        std::fs::read_to_string(crate::support::fixture_root(named(R)).join("stream/cut.sse")).unwrap();
    let (out, _) = convert_text(R, C, Role::Stream, &(text + "data: [DONE]\n\n"));
    assert!(out.contains("\"error\"") && !out.contains("[DONE]"), "{out}");
}

#[test]
fn p68_p77_a_failure_is_a_response_that_failed_with_its_code() {
    let failed = |kind: &str, message: &str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}});
        let (out, outcome) = stream(
            R,
            A,
            &json!({"model": "m", "stream": true, "input": "hi"}),
            &format!("event: error\ndata: {error}\n\n"),
        );
        (well_formed(&out), outcome.failure.unwrap().class)
    };
    let (last, class) = failed("invalid_request_error", "prompt is too long: 9 tokens");
    assert_eq!(class, FailureClass::ContextTooLong);
    assert_eq!(
        (&last["type"], &last["response"]["error"]["code"]),
        (&json!("response.failed"), &json!("context_length_exceeded"))
    );
    let (last, _) = failed("rate_limit_error", "slow down");
    assert_eq!(last["response"]["error"], json!({"code": "rate_limit_exceeded", "message": "slow down"}));
    let (last, _) = failed("overloaded_error", "busy");
    assert_eq!(last["response"]["error"]["code"], "server_is_overloaded");
}

#[test]
fn p69_an_end_without_output_has_the_items_that_were_done() {
    let text =
        std::fs::read_to_string(crate::support::fixture_root(named(R)).join("stream/bare.sse")).unwrap();
    let (out, _) = rewrite(Role::Stream, &text);
    let last = well_formed(&out);
    let kinds: Vec<&Value> =
        last["response"]["output"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
}

#[test]
fn items_that_stand_only_at_the_end_are_said() {
    let created =
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}});
    let done = json!({"type": "response.completed", "response": response(&json!([message("Late."), function_call("c", "look")]))});
    let (out, _) = convert_text(R, A, Role::Stream, &format!("data: {created}\n\ndata: {done}\n\n"));
    assert!(out.contains("Late.") && out.contains("tool_use"), "{out}");
}

#[test]
fn p79_padding_pings_comments_and_line_ends_are_nothing() {
    let text =
        std::fs::read_to_string(crate::support::fixture_root(named(R)).join("stream/text.sse")).unwrap();
    let (plain, _) = convert_text(R, A, Role::Stream, &text);
    let noisy =
        text.replace("\n\n", "\r\n\r\n: comment\r\n\r\nevent: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n");
    let (out, _) = convert_text(R, A, Role::Stream, &noisy);
    assert_eq!(out, plain);
}

#[test]
fn p80_ids_are_given_once_and_used_everywhere() {
    for name in ["tools.sse", "text.sse", "hosted.sse", "incomplete.sse", "refusal.sse"] {
        let text = std::fs::read_to_string(crate::support::fixture_root(named(R)).join("stream").join(name))
            .unwrap();
        let (out, _) = rewrite(Role::Stream, &text);
        well_formed(&out);
        // The item ids are those of the source.
        if name == "tools.sse" {
            assert!(out.contains("\"rs_s2\"") && out.contains("\"fc_s3\""), "{out}");
        }
    }
    // Two items with the same id get different ids.
    let twice = response(&json!([message("One."), message("Two.")]));
    let (got, _) = rewrite_json(Role::Response, &twice);
    assert_ne!(got["output"][0]["id"], got["output"][1]["id"]);
}

#[test]
fn interleaved_calls_of_a_chat_server_are_items_one_after_the_other() {
    let chunk = |delta: Value, stop: Value| {
        format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})
        )
    };
    let piece = |index: u64, text: &str| {
        chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}), Value::Null)
    };
    let first = |index: u64| {
        chunk(
            json!({"tool_calls": [{"index": index, "id": format!("call_{index}"), "type": "function",
            "function": {"name": "look", "arguments": ""}}]}),
            Value::Null,
        )
    };
    let text = [
        first(0),
        first(1),
        piece(0, "{\"a\""),
        piece(1, "{\"b\""),
        piece(0, ":1}"),
        piece(1, ":2}"),
        chunk(json!({}), json!("tool_calls")),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let (out, _) = convert_text(C, R, Role::Stream, &text);
    let last = well_formed(&out);
    assert_eq!(last["response"]["output"][0]["arguments"], "{\"a\":1}");
    assert_eq!(last["response"]["output"][1]["arguments"], "{\"b\":2}");
}

// ---- Errors -----------------------------------------------------------------------------------------------------------

#[test]
fn errors_of_every_form_carry_their_message() {
    for (body, class) in [
        (
            json!({"error": {"message": "gone", "type": "invalid_request_error", "param": null, "code": "context_length_exceeded"}}),
            FailureClass::ContextTooLong,
        ),
        (json!({"code": "invalid-argument", "error": "gone"}), FailureClass::Other),
        (json!({"detail": "gone"}), FailureClass::InvalidRequest),
        (json!({"detail": [{"loc": ["input"], "msg": "gone"}]}), FailureClass::InvalidRequest),
        (
            json!({"object": "response", "status": "failed", "output": [], "error": {"code": "rate_limit_exceeded", "message": "gone"}}),
            FailureClass::RateLimit,
        ),
    ] {
        let mut exchange = Exchange::new(named(A), named(R), &Options::default());
        let mut out = Vec::new();
        let outcome =
            exchange.answer(Role::Response).unwrap().finish_with(body.to_string().as_bytes(), &mut out);
        assert_eq!(outcome.failure.unwrap().class, class, "{body}");
        assert!(String::from_utf8(out).unwrap().contains("gone"), "{body}");
    }
    let queued = json!({"id": "r", "object": "response", "status": "queued", "output": []});
    let (got, _) = convert_json(R, A, Role::Response, &queued);
    assert_eq!(got["type"], "error", "an answer that is not there is no answer");
}

// ---- Counts -----------------------------------------------------------------------------------------------------------

#[test]
fn p76_a_request_can_be_counted() {
    let ask = json!({"model": "m", "max_tokens": 9, "system": "Be brief.", "stream": true,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}]});
    let (sent, _) = convert_json(A, R, Role::Count, &ask);
    assert_eq!(sent["instructions"], "Be brief.");
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    let members: Vec<&String> = sent.as_object().unwrap().keys().collect();
    assert_eq!(members, ["model", "tools", "instructions", "input"], "settings of the answer do not count");
    let counted = json!({"object": "response.input_tokens", "input_tokens": 11});
    let (got, _) = convert_json(R, A, Role::Counted, &counted);
    assert_eq!(got, json!({"input_tokens": 11}));
    let (back, _) = convert_json(A, R, Role::Counted, &got);
    assert_eq!(back, counted);
}

/// A response that was cancelled after half a sentence.
fn cancelled() -> Value {
    json!({"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "cancelled", "output": [
        {"type": "message", "id": "m1", "status": "incomplete", "role": "assistant", "content": [
            {"type": "output_text", "text": "The tide is", "annotations": []}]}]})
}

#[test]
fn a_cancelled_answer_does_not_look_like_success() {
    for client in [C, A, "kimi", "copilot"] {
        let (out, report) = convert_json(R, client, Role::Response, &cancelled());
        assert!(out["error"]["message"].as_str().unwrap().contains("cancelled"), "{client}: {out}");
        assert!(out.get("choices").is_none() && out.get("content").is_none(), "{client}: {out}");
        assert!(report.lost_paths.iter().any(|row| row.path == "/status"), "{client}: {report:?}");
    }
    let (out, _) = convert_json(R, "gemini", Role::Response, &cancelled());
    assert_eq!(out["candidates"][0]["finishReason"], "OTHER");
    let (out, _) = rewrite_json(Role::Response, &cancelled());
    assert_eq!((&out["status"], &out["incomplete_details"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(out["output"][0]["status"], "incomplete");
}

#[test]
fn a_stream_that_is_cancelled_ends_in_a_failure() {
    let of_stream = [
        json!({"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m1", "role": "assistant", "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "m1", "content_index": 0, "delta": "The tide is"}),
        json!({"type": "response.incomplete", "response": cancelled()}),
    ];
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let text: String = of_stream.iter().map(event).collect();
    let request = json!({"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "x"}]});
    for client in [A, C] {
        let (out, _) = stream(client, R, &request, &text);
        let last = events(&out).pop().unwrap();
        assert!(last["error"]["message"].as_str().unwrap().contains("cancelled"), "{client}: {out}");
        assert!(!out.contains("end_turn") && !out.contains("\"stop\""), "{client}: {out}");
    }
    let (out, _) = rewrite(Role::Stream, &text);
    let last = events(&out).pop().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["status"]),
        (&json!("response.incomplete"), &json!("cancelled"))
    );
}

#[test]
fn two_calls_of_one_id_get_one_each_and_their_results_find_them() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}]});
    let of_chat = |id: &str, args: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": args}});
    for issued in ["c", "functions.look:0"] {
        let answer = json!({"id": "1", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": [
                of_chat(issued, "{\"n\":1}"), of_chat(issued, "{\"n\":2}"), of_chat("d", "{}"), of_chat(issued, "{\"n\":3}")]}}]});
        let (_, got) = call(A, C, &request, |_| answer.clone());
        let ids: Vec<String> = got["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["id"].as_str().unwrap().to_owned())
            .collect();
        let different: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(different.len(), 4, "{ids:?}");
        // The client returns the calls, and the backend finds each result next to its call.
        let mut next = request.clone();
        let results: Vec<Value> = ids
            .iter()
            .rev()
            .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": format!("of {id}")}))
            .collect();
        next["messages"].as_array_mut().unwrap().extend([
            json!({"role": "assistant", "content": got["content"]}),
            json!({"role": "user", "content": results}),
        ]);
        let (sent, _) = call(A, C, &next, |_| answer.clone());
        let calls = sent["messages"][1]["tool_calls"].as_array().unwrap();
        assert_eq!(calls[0]["id"], issued);
        assert_eq!(calls[1]["id"], format!("{issued}_1"));
        for (number, result) in sent["messages"].as_array().unwrap()[2..].iter().enumerate() {
            let call = calls.iter().position(|call| call["id"] == result["tool_call_id"]).unwrap();
            assert_eq!(call, 3 - number, "{sent}");
        }
    }
}
