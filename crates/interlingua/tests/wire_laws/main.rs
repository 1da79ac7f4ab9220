//! Laws of the wire: classes of silent changes between model APIs, each tested over all pairs of APIs.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]
#![allow(missing_docs, reason = "not published")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../support/sdk_user.rs"]
mod sdk_user;
#[path = "../support/mod.rs"]
mod support;

mod answers;
mod beginnings;
mod inner_items;
mod matrix;
mod numbers;
mod schemas;
mod tools;
mod usage;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::{Exchange, Pipe};
use interlingua::wire::backends::{Backend, Capabilities, RuleValue};
use serde_json::{Value, json};

const WIRE: [&str; 6] = ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"];

/// An exchange that translates even between equal dialects, because a backend is named.
fn exchange(client: &str, backend: &str) -> Exchange {
    let named = |name| Dialect::named(name).unwrap();
    let options = Options::default().with_backend(Backend::of_dialect(backend).unwrap());
    Exchange::new(named(client), named(backend), &options)
}

fn noted(report: &Report, what: &str) -> bool {
    report.notes.iter().any(|(note, _)| note.contains(what))
}

/// The group and the name of a tool.
type ToolId = (Option<String>, String);

fn tool_id(group: Option<&str>, name: &str) -> ToolId {
    (group.map(str::to_owned), name.to_owned())
}

/// A request that declares these tools in the client's dialect; groups are dropped where the dialect has none.
fn request_with_tools(client: &str, tools: &[ToolId]) -> Value {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let function = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    let names = tools.iter().map(|(_, name)| name.as_str());
    match client {
        "anthropic" => json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
            "tools": names.map(|name| json!({"name": name, "input_schema": schema})).collect::<Vec<_>>()}),
        "gemini" => {
            json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [{"functionDeclarations":
            names.map(|name| json!({"name": name, "parameters": schema})).collect::<Vec<_>>()}]})
        }
        "openai-responses" => {
            let tool = |(group, name): &ToolId| {
                let tool =
                    json!({"type": "function", "name": name, "parameters": schema, "defer_loading": true});
                match group {
                    None => tool,
                    Some(group) => {
                        json!({"type": "namespace", "name": group, "description": "d", "tools": [tool]})
                    }
                }
            };
            json!({"model": "m", "input": "hi", "tools": tools.iter().map(tool).collect::<Vec<_>>()})
        }
        _ => json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
            "tools": names.map(function).collect::<Vec<_>>()}),
    }
}

/// The tools that a request declares, or a response calls, each with its group.
fn tools_in(value: &Value) -> Vec<ToolId> {
    let mut found = Vec::new();
    let function = |it: &Value| it["function"].get("name").or(it["custom"].get("name")).cloned();
    let named = |it: &Value| Some(it["name"].clone()).filter(Value::is_string);
    let mut add = |group: &Value, name: Option<Value>| {
        found.extend(name.and_then(|name| Some(tool_id(group.as_str(), name.as_str()?))));
    };
    for tool in value["tools"].as_array().into_iter().flatten() {
        for declared in tool["functionDeclarations"].as_array().into_iter().flatten() {
            add(&Value::Null, named(declared));
        }
        match tool["type"].as_str() {
            Some("namespace") => {
                tool["tools"].as_array().into_iter().flatten().for_each(|it| add(&tool["name"], named(it)));
            }
            _ => add(&Value::Null, function(tool).or(named(tool))),
        }
    }
    for call in value["choices"][0]["message"]["tool_calls"].as_array().into_iter().flatten() {
        add(&Value::Null, function(call));
    }
    for block in value["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use")
    {
        add(&Value::Null, named(block));
    }
    for part in value["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
        add(&Value::Null, named(&part["functionCall"]));
    }
    for item in value["output"].as_array().into_iter().flatten() {
        if item["type"] == "function_call" || item["type"] == "custom_tool_call" {
            add(&item["namespace"], named(item));
        }
    }
    found
}

/// A backend's response that calls one tool.
fn answer_that_calls(backend: &str, (group, name): &ToolId) -> Value {
    match backend {
        "anthropic" => {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "b", "stop_reason": "tool_use", "stop_sequence": null,
            "content": [{"type": "tool_use", "id": "toolu_1", "name": name, "input": {"a": "1"}}],
            "usage": {"input_tokens": 1, "output_tokens": 2}})
        }
        "gemini" => {
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"functionCall": {"name": name, "args": {"a": "1"}}}]}}], "responseId": "r", "modelVersion": "b",
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}})
        }
        "openai-responses" => {
            let mut call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed", "name": name, "arguments": "{\"a\":\"1\"}"});
            if let Some(group) = group {
                call["namespace"] = json!(group);
            }
            json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "b", "output": [call],
                "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}})
        }
        _ => {
            json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "b", "choices": [{
            "index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{\"a\":\"1\"}"}}]}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}})
        }
    }
}

/// The rule of that name, as the tables print it.
fn rule(takes: &Capabilities, name: &str) -> f64 {
    match takes.rules().into_iter().find(|(known, _)| *known == name) {
        Some((_, RuleValue::Number(number))) => number,
        Some((_, RuleValue::Flag(flag))) => f64::from(u8::from(flag)),
        other => panic!("{name}: {other:?}"),
    }
}

/// Each built-in backend with each of its rows: a model name and its capabilities.
fn rows() -> Vec<(&'static Backend, String, &'static Capabilities)> {
    let mut rows = Vec::new();
    for backend in Backend::built_in().iter().copied() {
        let named = backend.models.iter().map(|row| row.names[0].replace('*', ""));
        for model in named.chain(["some-model".to_owned()]) {
            let takes = backend.takes_of(Some(&interlingua::json::Str::plain(&model)));
            rows.push((backend, model, takes));
        }
    }
    rows
}

fn sent(client: &str, backend: &'static Backend, request: &Value) -> (Value, Report) {
    let named = |name| Dialect::named(name).unwrap();
    let options = Options::default().with_backend(backend);
    let mut out = Vec::new();
    let asked = Exchange::new(named(client), named(backend.dialect), &options)
        .request(request.to_string().as_bytes(), &mut out)
        .unwrap();
    assert!(asked.report.adds_up());
    (serde_json::from_slice(&out).unwrap(), asked.report)
}

/// Converts between two dialects in one role, without a request.
fn convert(from: &str, to: &str, role: Role, source: &str) -> (String, Report) {
    let side = |name| Dialect::named(name).unwrap();
    let pipe = Pipe::new((side(from), role), (side(to), role), &Options::default()).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(source.as_bytes(), &mut out);
    assert!(report.adds_up());
    (String::from_utf8(out).unwrap(), report)
}

/// A whole response of at most one text, as a stream.
fn text_stream(dialect: &str, whole: &Value) -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    match dialect {
        "anthropic" => {
            let mut head = whole.clone();
            (head["content"], head["stop_reason"]) = (json!([]), Value::Null);
            let mut out = event(json!({"type": "message_start", "message": head}));
            for (index, block) in whole["content"].as_array().into_iter().flatten().enumerate() {
                out += &event(
                    json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
                );
                out += &event(
                    json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": block["text"]}}),
                );
                out += &event(json!({"type": "content_block_stop", "index": index}));
            }
            let delta = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
            out + &event(json!({"type": "message_delta", "delta": delta, "usage": whole["usage"]}))
                + &event(json!({"type": "message_stop"}))
        }
        "gemini" => format!("data: {whole}\n\n"),
        "openai-responses" => {
            let begun =
                json!({"id": whole["id"], "object": "response", "status": "in_progress", "output": []});
            event(json!({"type": "response.created", "sequence_number": 0, "response": begun}))
                + &event(json!({"type": "response.completed", "sequence_number": 1, "response": whole}))
        }
        _ => {
            let choice = &whole["choices"][0];
            let chunk = |choices: Value, usage: &Value| {
                let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "b", "choices": choices, "usage": usage});
                format!("data: {chunk}\n\n")
            };
            let said = json!([{"index": 0, "delta": choice["message"], "finish_reason": null}]);
            let end = json!([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]);
            chunk(said, &Value::Null)
                + &chunk(end, &Value::Null)
                + &chunk(json!([]), &whole["usage"])
                + "data: [DONE]\n\n"
        }
    }
}

/// A response of one text with this usage.
fn answer_with_usage(dialect: &str, usage: &Value) -> Value {
    match dialect {
        "anthropic" => {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "b", "stop_reason": "end_turn",
            "stop_sequence": null, "content": [{"type": "text", "text": "x"}], "usage": usage})
        }
        "gemini" => {
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "x"}]}}],
            "responseId": "r", "modelVersion": "b", "usageMetadata": usage})
        }
        "openai-responses" => {
            json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "b",
            "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "x", "annotations": []}]}], "usage": usage})
        }
        _ => {
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "b", "choices": [{"index": 0,
            "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}], "usage": usage})
        }
    }
}
