//! The loop of an agent over every pair of wire dialects: a backend answers, the client gets the answer in its own dialect
//! and sends it back with results, as a user of its SDK does, and the backend must get what it issued: state, ids, names,
//! arguments, in its order. What cannot come back stands in [`LIMITS`] with its reason, and was reported.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Exchange;
use serde_json::{Map, Value, json};

const WIRE: [&str; 6] = ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"];

/// What cannot come back.
struct Limit {
    /// `*` stands for any.
    client: &'static str,
    backend: &'static str,
    case: &'static str,
    why: &'static str,
    /// A note, or the field or path of a loss, in one of the two reports.
    told: &'static str,
}

const fn limit(
    client: &'static str,
    backend: &'static str,
    case: &'static str,
    why: &'static str,
    told: &'static str,
) -> Limit {
    Limit { client, backend, case, why, told }
}

const ONE_STATE: &str =
    "a message of Copilot has one text of thoughts and one place for state, before all else";
const BETWEEN: &str = "thoughts between texts and calls put before them";
const NEW_ID: &str = "tool call id replaced by one the target takes";

const LIMITS: &[Limit] = &[
    limit("copilot", "anthropic", "thinking and redacted thinking", ONE_STATE, "/data"),
    limit("copilot", "anthropic", "thinking after a text", ONE_STATE, BETWEEN),
    limit("copilot", "anthropic", "thinking between calls", ONE_STATE, BETWEEN),
    limit("copilot", "openai-responses", "reasoning between calls", ONE_STATE, BETWEEN),
    limit("copilot", "gemini", "state on a text and on a call", ONE_STATE, "/thoughtSignature"),
    limit("copilot", "gemini", "state on each of two calls", ONE_STATE, "/thoughtSignature"),
    limit(
        "copilot",
        "gemini",
        "state on an empty text",
        ONE_STATE,
        "state put before what was said before it",
    ),
    limit(
        "*",
        "openai-responses",
        "summary of two parts",
        "others have one text of a thought",
        "parts of a thought joined",
    ),
    limit("*", "openai-responses", "phase of a message", "no other API has phases", "/phase"),
    limit(
        "*",
        "openai-responses",
        "free text",
        "the client offered no tool that takes free text, or it streams from a chat API, \
        whose pieces are those of functions",
        "free text of a tool call became",
    ),
    limit("*", "openai-responses", "group of tools", "the client offered no group", "tool group put before"),
    limit("*", "gemini", "calls without ids", "everybody else has ids, and the API takes them", NEW_ID),
    limit("anthropic", "kimi", "ids with dots", "the API refuses such ids", NEW_ID),
    limit("*", "kimi", "long ids", "the API refuses such ids in requests, though it issued them", NEW_ID),
];

/// An answer that a backend gives.
struct Case {
    backend: &'static str,
    name: &'static str,
    model: &'static str,
    body: Value,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |backend, name, model, body| cases.push(Case { backend, name, model, body });
    let claude = |content: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
            "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 9}})
    };
    let thinking =
        |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let tool_use = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let text = |text: &str| json!({"type": "text", "text": text});
    let look = || tool_use("toolu_01A", "look", json!({"path": "a/b", "depth": 2}));
    let find = || tool_use("toolu_01B", "find", json!({"words": ["x", "ż\n"], "exact": true}));
    add(
        "anthropic",
        "thinking, text and parallel calls",
        "claude-sonnet-4-5",
        claude(json!([thinking("First\nlook.", "EqQBsig+/1=="), text("I will look."), look(), find()])),
    );
    add(
        "anthropic",
        "redacted thinking",
        "claude-sonnet-4-5",
        claude(json!([{"type": "redacted_thinking", "data": "EmwKAhgB+/=="}, look()])),
    );
    add(
        "anthropic",
        "thinking and redacted thinking",
        "claude-sonnet-4-5",
        claude(
            json!([thinking("Hm.", "sigA=="), {"type": "redacted_thinking", "data": "redA=="}, text("So."), look()]),
        ),
    );
    add(
        "anthropic",
        "signature without a text",
        "claude-sonnet-4-5",
        claude(json!([thinking("", "sigOnly=="), look()])),
    );
    add(
        "anthropic",
        "thinking after a text",
        "claude-sonnet-4-5",
        claude(json!([text("Wait."), thinking("Which?", "sigB=="), look()])),
    );
    add(
        "anthropic",
        "thinking between calls",
        "claude-sonnet-4-5",
        claude(json!([thinking("One.", "sig1=="), look(), thinking("Two.", "sig2=="), find()])),
    );

    let response = |output: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": null, "model": "gpt-5.1",
            "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": true, "tools": [],
            "tool_choice": "auto", "temperature": 1.0, "top_p": 1.0, "output": output,
            "usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 12}})
    };
    let reasoning = |id: &str, summary: &[&str], state: &str| {
        let parts: Vec<Value> =
            summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
        json!({"id": id, "type": "reasoning", "summary": parts, "encrypted_content": state})
    };
    let message = |text: &str, phase: Option<&str>| {
        let mut item = json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]});
        if let Some(phase) = phase {
            item["phase"] = json!(phase);
        }
        item
    };
    let call = |id: &str, name: &str, arguments: &str| {
        json!({"id": format!("fc_{id}"), "type": "function_call", "status": "completed", "call_id": id, "name": name,
            "arguments": arguments})
    };
    add(
        "openai-responses",
        "reasoning, message and parallel calls",
        "gpt-5.1",
        response(json!([
            reasoning("rs_1", &["**Looking**"], "gAAAAAB+/=="),
            message("I will look.", None),
            call("call_A", "look", "{\"path\":\"a/b\",\"depth\":2}"),
            call("call_B", "find", "{\"words\":[\"x\"]}")
        ])),
    );
    add(
        "openai-responses",
        "reasoning without a summary",
        "gpt-5.1",
        response(json!([reasoning("rs_1", &[], "gAAAAAB1=="), call("call_A", "look", "{}")])),
    );
    add(
        "openai-responses",
        "summary of two parts",
        "gpt-5.1",
        response(json!([reasoning("rs_1", &["One.", "Two."], "gAAAAAB2=="), call("call_A", "look", "{}")])),
    );
    add(
        "openai-responses",
        "reasoning between calls",
        "gpt-5.1",
        response(json!([
            reasoning("rs_1", &["One."], "gAAAAAB1=="),
            call("call_A", "look", "{}"),
            reasoning("rs_2", &["Two."], "gAAAAAB2=="),
            call("call_B", "find", "{}")
        ])),
    );
    add(
        "openai-responses",
        "phase of a message",
        "gpt-5.1",
        response(json!([message("I will look.", Some("commentary")), call("call_A", "look", "{}")])),
    );
    add(
        "openai-responses",
        "free text",
        "gpt-5.1",
        response(json!([
        {"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_A", "name": "patch",
            "input": "*** Begin\n\"é\"\n"}])),
    );
    add(
        "openai-responses",
        "group of tools",
        "gpt-5.1",
        response(json!([
        {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_A", "namespace": "disk",
            "name": "look", "arguments": "{\"a\":1}"}])),
    );

    let gemini = |parts: Value| {
        json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 9, "totalTokenCount": 12},
            "modelVersion": "gemini-3-pro-preview", "responseId": "r1"})
    };
    let function =
        |id: &str, name: &str, args: Value| json!({"functionCall": {"id": id, "name": name, "args": args}});
    let signed = |mut part: Value, state: &str| {
        part["thoughtSignature"] = json!(state);
        part
    };
    let g = "gemini-3-pro-preview";
    add(
        "gemini",
        "state on the first of parallel calls",
        g,
        gemini(json!([
        {"text": "Looking.", "thought": true},
        signed(function("ga", "look", json!({"path": "a", "depth": 2})), "CiQBcsjaAAA="), function("gb", "find", json!({}))])),
    );
    add(
        "gemini",
        "text, then a call with state",
        g,
        gemini(json!([
        {"text": "I will look."}, signed(function("ga", "look", json!({"a": 1})), "CiQBcsjaAAB="),])),
    );
    add(
        "gemini",
        "state on a text and on a call",
        g,
        gemini(json!([
            signed(json!({"text": "I will look."}), "CiQBcsjaAAC="),
            signed(function("ga", "look", json!({})), "CiQBcsjaAAD=")
        ])),
    );
    add(
        "gemini",
        "state on each of two calls",
        g,
        gemini(json!([
            signed(function("ga", "look", json!({})), "CiQBcsjaAAE="),
            signed(function("gb", "find", json!({})), "CiQBcsjaAAF=")
        ])),
    );
    add(
        "gemini",
        "calls without ids",
        g,
        gemini(json!([
        signed(json!({"functionCall": {"name": "look", "args": {"a": 1}}}), "CiQBcsjaAAG="),
        {"functionCall": {"name": "find", "args": {"b": [2]}}}])),
    );
    add(
        "gemini",
        "state on an empty text",
        g,
        gemini(json!([
        {"text": "Done."}, signed(json!({"text": ""}), "CiQBcsjaAAH=")])),
    );

    let long = "x".repeat(90);
    let chat = |message: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}})
    };
    let calls = |ids: [&str; 2]| {
        json!([{"id": ids[0], "type": "function", "function": {"name": "look", "arguments": "{\"path\":\"a\",\"depth\":2}"}},
            {"id": ids[1], "type": "function", "function": {"name": "find", "arguments": "{}"}}])
    };
    add(
        "openai-chat",
        "text and calls",
        "gpt-5.1",
        chat(
            json!({"role": "assistant", "content": "I will look.", "tool_calls": calls(["call_A", "call_B"])}),
        ),
    );
    add(
        "openai-chat",
        "calls alone",
        "gpt-5.1",
        chat(json!({"role": "assistant", "content": null, "tool_calls": calls(["call_A", "call_B"])})),
    );
    add(
        "kimi",
        "thoughts, text and calls",
        "kimi-k2-thinking",
        chat(json!({"role": "assistant", "reasoning_content": "Hm.\nYes.",
        "content": "I will look.", "tool_calls": calls(["call_A", "call_B"])})),
    );
    add(
        "kimi",
        "ids with dots",
        "kimi-k2-thinking",
        chat(json!({"role": "assistant", "reasoning_content": "Hm.",
        "content": "", "tool_calls": calls(["functions.look:0", "functions.find:1"])})),
    );
    add(
        "kimi",
        "long ids",
        "kimi-k2-thinking",
        chat(json!({"role": "assistant", "reasoning_content": "Hm.",
        "content": "", "tool_calls": calls([&format!("{long}1"), &format!("{long}2")])})),
    );
    add(
        "copilot",
        "thoughts with state and calls",
        "claude-sonnet-4.5",
        chat(json!({"role": "assistant", "content": "I will look.",
        "reasoning_text": "Hm.", "reasoning_opaque": "opaqueA+/==", "tool_calls": calls(["call_A", "call_B"])})),
    );
    add(
        "copilot",
        "state alone",
        "claude-sonnet-4.5",
        chat(json!({"role": "assistant", "content": null,
        "reasoning_opaque": "opaqueB==", "tool_calls": calls(["call_A", "call_B"])})),
    );
    cases
}

#[test]
fn every_backend_gets_back_what_it_issued_through_every_client() {
    let (mut wrong, mut used) = (Vec::new(), std::collections::BTreeSet::new());
    for case in cases() {
        for client in WIRE.into_iter().filter(|client| *client != case.backend) {
            for streamed in [false, true] {
                let way = format!(
                    "{client} -> {} ({}{})",
                    case.backend,
                    case.name,
                    if streamed { ", streamed" } else { "" }
                );
                let outcome = run(client, &case, streamed);
                let limit = LIMITS.iter().position(|limit| {
                    let is = |said: &str, is: &str| said == "*" || said == is;
                    is(limit.client, client) && is(limit.backend, case.backend) && is(limit.case, case.name)
                });
                let told = limit.and_then(|limit| LIMITS.get(limit)).map(|limit| limit.told);
                match (outcome, limit) {
                    // A limit may hold for only one of the two.
                    (Ok(()), _) => {}
                    (Err(mismatch), Some(limit)) if told.is_some_and(|told| mismatch.tells(told)) => {
                        used.insert(limit);
                    }
                    (Err(Mismatch { said, .. }), _) => {
                        wrong.push(format!("{way}, should tell: {told:?}\n{said}"))
                    }
                }
            }
        }
    }
    let idle = LIMITS.iter().enumerate().filter(|(at, _)| !used.contains(at));
    let idle: Vec<_> = idle.map(|(_, limit)| (limit.client, limit.backend, limit.case, limit.why)).collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(idle.is_empty(), "limits that do not hold any more: {idle:?}");
}

struct Mismatch {
    reports: [Report; 2],
    said: String,
}

impl Mismatch {
    fn tells(&self, what: &str) -> bool {
        self.reports.iter().any(|report| {
            report.notes.iter().any(|(note, _)| note.contains(what))
                || report.lost_paths.iter().any(|row| row.path.contains(what))
        })
    }
}

fn run(client: &'static str, case: &Case, streamed: bool) -> Result<(), Mismatch> {
    let named = |name| Dialect::named(name).unwrap();
    let exchange = || Exchange::new(named(client), named(case.backend), &Options::default());
    let mut first = exchange();
    let request = first_request(client, case, streamed);
    let mut out = Vec::new();
    first.request(request.to_string().as_bytes(), &mut out).unwrap();
    let role = if streamed { Role::Stream } else { Role::Response };
    let body = if streamed { stream_of(case.backend, &case.body) } else { case.body.to_string() };
    let mut out = Vec::new();
    let mut pipe = first.answer(role).unwrap();
    for piece in body.as_bytes().chunks(50) {
        pipe.push(piece, &mut out);
    }
    let told = pipe.finish(&mut out);
    assert_eq!(told.failure, None, "{client} {} {}", case.backend, case.name);
    let got = String::from_utf8(out).unwrap();
    let answer = if streamed { folded(client, &got) } else { serde_json::from_str(&got).unwrap() };
    let next = next_request(client, &request, &answer);
    let mut out = Vec::new();
    let asked = exchange().request(next.to_string().as_bytes(), &mut out).unwrap();
    let sent: Value = serde_json::from_slice(&out).unwrap();
    assert!(told.report.adds_up() && asked.report.adds_up());
    // Whoever asks the backend itself sends this.
    let own = next_request(case.backend, &first_request(case.backend, case, streamed), &case.body);
    let (sent, own) = (said(case.backend, &sent), said(case.backend, &own));
    if sent == own {
        return Ok(());
    }
    let lines = |list: &[Value]| list.iter().map(|it| format!("      {it}\n")).collect::<String>();
    let said = format!(
        "    issued\n{}    came back\n{}    the client got {answer}\n    answer: {}\n    request: {}",
        lines(&own),
        lines(&sent),
        summary(&told.report),
        summary(&asked.report)
    );
    Err(Mismatch { reports: [told.report, asked.report], said })
}

fn summary(report: &Report) -> String {
    let lost: Vec<_> = report.lost_paths.iter().map(|row| (row.path.as_str(), row.reason)).collect();
    format!("notes {:?}, lost {lost:?}", report.notes)
}

fn is_chat(dialect: &str) -> bool {
    matches!(dialect, "openai-chat" | "kimi" | "copilot")
}

/// The request that the answer is given to.
fn first_request(dialect: &str, case: &Case, streamed: bool) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    let tools = ["look", "find", "patch"];
    match dialect {
        "anthropic" => json!({"model": case.model, "max_tokens": 9000, "stream": streamed,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [{"role": "user", "content": "Go."}],
            "tools": tools.map(|name| json!({"name": name, "input_schema": schema}))}),
        "openai-responses" => json!({"model": case.model, "stream": streamed, "store": false,
            "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "medium", "summary": "auto"},
            "input": [{"type": "message", "role": "user", "content": "Go."}],
            "tools": [{"type": "function", "name": "look", "parameters": schema, "strict": false},
                {"type": "function", "name": "find", "parameters": schema, "strict": false},
                {"type": "custom", "name": "patch"},
                {"type": "namespace", "name": "disk", "description": "Disk.", "tools": [
                    {"type": "function", "name": "look", "parameters": schema, "strict": false}]}]}),
        "gemini" => json!({"model": case.model, "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
            "tools": [{"functionDeclarations": tools.map(|name| json!({"name": name, "parametersJsonSchema": schema}))}]}),
        _ => {
            json!({"model": case.model, "stream": streamed, "messages": [{"role": "user", "content": "Go."}],
            "tools": tools.map(|name| json!({"type": "function", "function": {"name": name, "parameters": schema}}))})
        }
    }
}

/// What a user of the dialect's SDK sends next: what was said so far, the answer as it came, and a result for each call.
fn next_request(dialect: &str, request: &Value, answer: &Value) -> Value {
    let mut next = request.clone();
    let list =
        |value: &mut Value, name: &str, more: Vec<Value>| value[name].as_array_mut().unwrap().extend(more);
    match dialect {
        "anthropic" => {
            let content = answer["content"].as_array().unwrap();
            let results: Vec<Value> = content
                .iter()
                .filter(|block| block["type"] == "tool_use")
                .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "found"}))
                .collect();
            let mut more = vec![json!({"role": "assistant", "content": content})];
            more.extend((!results.is_empty()).then(|| json!({"role": "user", "content": results})));
            list(&mut next, "messages", more);
        }
        "openai-responses" => {
            let mut items = answer["output"].as_array().unwrap().clone();
            let results: Vec<Value> = items
                .iter()
                .filter_map(|item| {
                    let kind = match item["type"].as_str()? {
                        "function_call" => "function_call_output",
                        "custom_tool_call" => "custom_tool_call_output",
                        _ => return None,
                    };
                    Some(json!({"type": kind, "call_id": item["call_id"], "output": "found"}))
                })
                .collect();
            items.extend(results);
            list(&mut next, "input", items);
        }
        "gemini" => {
            // Its client puts each piece of a stream into the history as a content of its own.
            let content = answer["candidates"][0]["content"].clone();
            let pieces = answer["pieces"].as_array().cloned();
            let results: Vec<Value> = content["parts"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|part| !part["functionCall"].is_null())
                .map(|part| {
                    let call = &part["functionCall"];
                    let mut result = json!({"name": call["name"], "response": {"output": "found"}});
                    if !call["id"].is_null() {
                        result["id"] = call["id"].clone();
                    }
                    json!({"functionResponse": result})
                })
                .collect();
            let mut more = pieces.unwrap_or(vec![content]);
            more.extend((!results.is_empty()).then(|| json!({"role": "user", "parts": results})));
            list(&mut next, "contents", more);
        }
        _ => {
            let message = answer["choices"][0]["message"].clone();
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            let results = calls
                .iter()
                .map(|call| json!({"role": "tool", "tool_call_id": call["id"], "content": "found"}));
            let more = std::iter::once(message).chain(results.collect::<Vec<_>>()).collect();
            list(&mut next, "messages", more);
        }
    }
    next
}

/// What a request says after its first message, in the same words for the same thing.
fn said(dialect: &str, request: &Value) -> Vec<Value> {
    let mut said = Vec::new();
    let parsed = |arguments: &Value| {
        serde_json::from_str::<Value>(arguments.as_str().unwrap_or("")).unwrap_or(Value::Null)
    };
    let flat = |content: &Value| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    let add_text = |said: &mut Vec<Value>, text: String, state: &Value| {
        if !text.is_empty() || !state.is_null() {
            said.push(json!({"text": text, "state": state}));
        }
    };
    match dialect {
        "anthropic" => {
            for message in &request["messages"].as_array().unwrap()[1..] {
                for block in message["content"].as_array().unwrap() {
                    match block["type"].as_str().unwrap() {
                        "tool_result" => said
                            .push(json!({"result": block["tool_use_id"], "text": flat(&block["content"])})),
                        _ => said.push(block.clone()),
                    }
                }
            }
        }
        "openai-responses" => {
            for item in &request["input"].as_array().unwrap()[1..] {
                match item["type"].as_str().unwrap() {
                    "message" => said.push(json!({"text": flat(&item["content"]), "phase": item["phase"]})),
                    "reasoning" => {
                        said.push(json!({"state": item["encrypted_content"], "summary": item["summary"]}))
                    }
                    "function_call" => said.push(json!({"call": item["call_id"], "group": item["namespace"],
                        "name": item["name"], "args": parsed(&item["arguments"])})),
                    "custom_tool_call" => said
                        .push(json!({"call": item["call_id"], "name": item["name"], "input": item["input"]})),
                    kind => said.push(json!({kind: item["call_id"], "text": flat(&item["output"])})),
                }
            }
        }
        "gemini" => {
            for content in &request["contents"].as_array().unwrap()[1..] {
                for part in content["parts"].as_array().unwrap() {
                    let state = &part["thoughtSignature"];
                    if let Some(text) = part["text"].as_str() {
                        if part["thought"] == true {
                            said.push(json!({"thought": text, "state": state}));
                        } else {
                            add_text(&mut said, text.to_owned(), state);
                        }
                    } else if !part["functionCall"].is_null() {
                        let call = &part["functionCall"];
                        said.push(json!({"call": call["id"], "name": call["name"], "args": call["args"], "state": state}));
                    } else {
                        let result = &part["functionResponse"];
                        said.push(json!({"result": result["id"], "name": result["name"], "text": result["response"]["output"]}));
                    }
                }
            }
        }
        _ => {
            for message in &request["messages"].as_array().unwrap()[1..] {
                if message["role"] == "tool" {
                    said.push(json!({"result": message["tool_call_id"], "text": flat(&message["content"])}));
                    continue;
                }
                for name in ["reasoning_content", "reasoning_text", "reasoning_opaque"] {
                    if message[name].as_str().is_some_and(|text| !text.is_empty()) {
                        said.push(json!({name: message[name]}));
                    }
                }
                add_text(&mut said, flat(&message["content"]), &Value::Null);
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let function = &call["function"];
                    said.push(json!({"call": call["id"], "name": function["name"], "args": parsed(&function["arguments"])}));
                }
            }
        }
    }
    said
}

/// The same answer as the backend streams it.
fn stream_of(dialect: &str, body: &Value) -> String {
    let mut out = String::new();
    let named = |out: &mut String, event: Value| {
        *out += &format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    };
    match dialect {
        "anthropic" => {
            let mut message = body.clone();
            message["content"] = json!([]);
            message["stop_reason"] = Value::Null;
            named(&mut out, json!({"type": "message_start", "message": message}));
            for (index, block) in body["content"].as_array().unwrap().iter().enumerate() {
                let (start, deltas) = match block["type"].as_str().unwrap() {
                    "thinking" => (json!({"type": "thinking", "thinking": "", "signature": ""}), {
                        let mut deltas: Vec<Value> = halves(&block["thinking"])
                            .iter()
                            .map(|half| json!({"type": "thinking_delta", "thinking": half}))
                            .collect();
                        deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
                        deltas
                    }),
                    "text" => (
                        json!({"type": "text", "text": ""}),
                        halves(&block["text"])
                            .iter()
                            .map(|half| json!({"type": "text_delta", "text": half}))
                            .collect(),
                    ),
                    "tool_use" => (
                        json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                        halves(&json!(block["input"].to_string()))
                            .iter()
                            .map(|half| json!({"type": "input_json_delta", "partial_json": half}))
                            .collect(),
                    ),
                    _ => (block.clone(), Vec::new()),
                };
                named(
                    &mut out,
                    json!({"type": "content_block_start", "index": index, "content_block": start}),
                );
                for delta in deltas {
                    named(&mut out, json!({"type": "content_block_delta", "index": index, "delta": delta}));
                }
                named(&mut out, json!({"type": "content_block_stop", "index": index}));
            }
            named(
                &mut out,
                json!({"type": "message_delta", "delta": {"stop_reason": body["stop_reason"], "stop_sequence": null},
                "usage": {"output_tokens": 9}}),
            );
            named(&mut out, json!({"type": "message_stop"}));
        }
        "openai-responses" => {
            let mut empty = body.clone();
            (empty["output"], empty["status"], empty["usage"]) =
                (json!([]), json!("in_progress"), Value::Null);
            let mut number = 0;
            let mut event = |kind: &str, mut event: Value| {
                (event["type"], event["sequence_number"]) = (json!(kind), json!(number));
                number += 1;
                named(&mut out, event);
            };
            event("response.created", json!({"response": empty}));
            event("response.in_progress", json!({"response": empty}));
            for (index, item) in body["output"].as_array().unwrap().iter().enumerate() {
                let id = &item["id"];
                let mut start = item.clone();
                for (name, blank) in [
                    ("content", json!([])),
                    ("summary", json!([])),
                    ("arguments", json!("")),
                    ("input", json!("")),
                    ("status", json!("in_progress")),
                ] {
                    if !item[name].is_null() {
                        start[name] = blank;
                    }
                }
                if !item["encrypted_content"].is_null() {
                    // What stands there first is not the state.
                    start["encrypted_content"] = json!("gAAAAAearly");
                }
                event("response.output_item.added", json!({"output_index": index, "item": start}));
                match item["type"].as_str().unwrap() {
                    "reasoning" => {
                        for (number, part) in item["summary"].as_array().unwrap().iter().enumerate() {
                            let at = json!({"item_id": id, "output_index": index, "summary_index": number});
                            event(
                                "response.reasoning_summary_part.added",
                                with(&at, json!({"part": {"type": "summary_text", "text": ""}})),
                            );
                            for half in halves(&part["text"]) {
                                event(
                                    "response.reasoning_summary_text.delta",
                                    with(&at, json!({"delta": half})),
                                );
                            }
                            event(
                                "response.reasoning_summary_text.done",
                                with(&at, json!({"text": part["text"]})),
                            );
                            event("response.reasoning_summary_part.done", with(&at, json!({"part": part})));
                        }
                    }
                    "message" => {
                        let at = json!({"item_id": id, "output_index": index, "content_index": 0});
                        let part = &item["content"][0];
                        event(
                            "response.content_part.added",
                            with(
                                &at,
                                json!({"part": {"type": "output_text", "text": "",
                            "annotations": [], "logprobs": []}}),
                            ),
                        );
                        for half in halves(&part["text"]) {
                            event(
                                "response.output_text.delta",
                                with(&at, json!({"delta": half, "logprobs": []})),
                            );
                        }
                        event(
                            "response.output_text.done",
                            with(&at, json!({"text": part["text"], "logprobs": []})),
                        );
                        event("response.content_part.done", with(&at, json!({"part": part})));
                    }
                    kind => {
                        let at = json!({"item_id": id, "output_index": index});
                        let (stem, name) = if kind == "function_call" {
                            ("response.function_call_arguments", "arguments")
                        } else {
                            ("response.custom_tool_call_input", "input")
                        };
                        for half in halves(&item[name]) {
                            event(&format!("{stem}.delta"), with(&at, json!({"delta": half})));
                        }
                        event(&format!("{stem}.done"), with(&at, json!({name: item[name]})));
                    }
                }
                event("response.output_item.done", json!({"output_index": index, "item": item}));
            }
            event("response.completed", json!({"response": body}));
        }
        "gemini" => {
            let candidate = &body["candidates"][0];
            let parts = candidate["content"]["parts"].as_array().unwrap();
            for (at, part) in parts.iter().enumerate() {
                let mut chunk = body.clone();
                let mut piece = candidate.clone();
                piece["content"]["parts"] = json!([part]);
                if at + 1 < parts.len() {
                    piece.as_object_mut().unwrap().remove("finishReason");
                }
                chunk["candidates"] = json!([piece]);
                out += &format!("data: {chunk}\r\n\r\n");
            }
        }
        _ => {
            let message = &body["choices"][0]["message"];
            let mut chunk = |delta: Value, finish: Value| {
                let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
                out += &format!("data: {chunk}\n\n");
            };
            chunk(json!({"role": "assistant", "content": ""}), Value::Null);
            for name in ["reasoning_content", "reasoning_text", "content"] {
                for half in halves(&message[name]) {
                    chunk(json!({name: half}), Value::Null);
                }
                if name == "reasoning_text" && !message["reasoning_opaque"].is_null() {
                    chunk(json!({"reasoning_opaque": message["reasoning_opaque"]}), Value::Null);
                }
            }
            for (index, call) in message["tool_calls"].as_array().unwrap().iter().enumerate() {
                let mut start = call.clone();
                start["index"] = json!(index);
                start["function"]["arguments"] = json!("");
                chunk(json!({"tool_calls": [start]}), Value::Null);
                for half in halves(&call["function"]["arguments"]) {
                    chunk(
                        json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]}),
                        Value::Null,
                    );
                }
            }
            chunk(json!({}), body["choices"][0]["finish_reason"].clone());
            out += "data: [DONE]\n\n";
        }
    }
    out
}

/// A text in two pieces, or in none.
fn halves(text: &Value) -> Vec<String> {
    let text = text.as_str().unwrap_or_default();
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    [&text[..middle], &text[middle..]]
        .into_iter()
        .filter(|half| !half.is_empty())
        .map(str::to_owned)
        .collect()
}

fn with(at: &Value, more: Value) -> Value {
    let mut all: Map<String, Value> = at.as_object().unwrap().clone();
    all.extend(more.as_object().unwrap().clone());
    Value::Object(all)
}

/// A stream put together as the dialect's SDK does it.
fn folded(dialect: &str, stream: &str) -> Value {
    let events: Vec<Value> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: ").filter(|data| *data != "[DONE]"))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let append = |place: &mut Value, piece: &Value| {
        *place = json!(place.as_str().unwrap_or_default().to_owned() + piece.as_str().unwrap_or_default());
    };
    match dialect {
        "anthropic" => {
            let mut message = Value::Null;
            let mut json = String::new();
            for event in &events {
                match event["type"].as_str().unwrap() {
                    "message_start" => message = event["message"].clone(),
                    "content_block_start" => {
                        message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                        json.clear();
                    }
                    "content_block_delta" => {
                        let at = event["index"].as_u64().unwrap() as usize;
                        let (block, delta) = (&mut message["content"][at], &event["delta"]);
                        match delta["type"].as_str().unwrap() {
                            "text_delta" => append(&mut block["text"], &delta["text"]),
                            "thinking_delta" => append(&mut block["thinking"], &delta["thinking"]),
                            "signature_delta" => block["signature"] = delta["signature"].clone(),
                            "input_json_delta" => {
                                json += delta["partial_json"].as_str().unwrap();
                                block["input"] = serde_json::from_str(&json).unwrap_or(json!({}));
                            }
                            other => panic!("{other}"),
                        }
                    }
                    _ => {}
                }
            }
            message
        }
        "openai-responses" => {
            let last = events.iter().find(|event| event["type"] == "response.completed").unwrap();
            let done: Vec<Value> = events
                .iter()
                .filter(|event| event["type"] == "response.output_item.done")
                .map(|event| event["item"].clone())
                .collect();
            assert_eq!(last["response"]["output"], json!(done));
            last["response"].clone()
        }
        "gemini" => {
            // Its client keeps the parts as they came, and leaves out only what is empty.
            let (mut parts, mut pieces): (Vec<Value>, Vec<Value>) = Default::default();
            for event in &events {
                for part in event["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
                    if part["text"] != "" || !part["thoughtSignature"].is_null() {
                        parts.push(part.clone());
                        pieces.push(json!({"role": "model", "parts": [part]}));
                    }
                }
            }
            json!({"candidates": [{"content": {"role": "model", "parts": parts}}], "pieces": pieces})
        }
        _ => {
            assert!(is_chat(dialect));
            let mut message = json!({"role": "assistant", "content": null});
            for delta in events.iter().map(|event| &event["choices"][0]["delta"]) {
                for name in ["content", "reasoning_content", "reasoning_text", "refusal"] {
                    if delta[name].is_string() {
                        append(&mut message[name], &delta[name]);
                    }
                }
                if delta["reasoning_opaque"].is_string() {
                    message["reasoning_opaque"] = delta["reasoning_opaque"].clone();
                }
                for (name, strings) in [
                    ("reasoning_details", &["text", "signature", "data", "summary"][..]),
                    ("tool_calls", &[][..]),
                ] {
                    for piece in delta[name].as_array().into_iter().flatten() {
                        if message[name].is_null() {
                            message[name] = json!([]);
                        }
                        let list = message[name].as_array_mut().unwrap();
                        let at = piece["index"].as_u64().unwrap() as usize;
                        if list.len() <= at {
                            list.push(piece.clone());
                            continue;
                        }
                        for string in strings {
                            if piece[string].is_string() {
                                append(&mut list[at][string], &piece[string]);
                            }
                        }
                        if name == "tool_calls" {
                            append(&mut list[at]["function"]["arguments"], &piece["function"]["arguments"]);
                        }
                    }
                }
            }
            for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
                call.as_object_mut().unwrap().remove("index");
            }
            message.as_object_mut().unwrap().retain(|name, value| name == "content" || !value.is_null());
            json!({"choices": [{"message": message}]})
        }
    }
}
