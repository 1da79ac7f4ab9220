//! Simulates a user of each dialect's SDK: sends a request, folds a stream, and returns a response with results.
//! Backends' streams are generated here, too. None of this uses the tested code.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;

use serde_json::{Value, json};

fn is_chat(dialect: &str) -> bool {
    matches!(dialect, "openai-chat" | "kimi" | "copilot")
}

/// The first request of a loop.
pub(crate) fn first_request(dialect: &str, model: &str, streamed: bool) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    let tools = ["look", "find", "patch"];
    match dialect {
        "anthropic" => json!({"model": model, "max_tokens": 9000, "stream": streamed,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [{"role": "user", "content": "Go."}],
            "tools": tools.map(|name| json!({"name": name, "input_schema": schema}))}),
        "openai-responses" => json!({"model": model, "stream": streamed, "store": false,
            "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "medium", "summary": "auto"},
            "input": [{"type": "message", "role": "user", "content": "Go."}],
            "tools": [{"type": "function", "name": "look", "parameters": schema, "strict": false},
                {"type": "function", "name": "find", "parameters": schema, "strict": false},
                {"type": "custom", "name": "patch"},
                {"type": "namespace", "name": "disk", "description": "Disk.", "tools": [
                    {"type": "function", "name": "look", "parameters": schema, "strict": false}]}]}),
        "gemini" => json!({"model": model, "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
            "tools": [{"functionDeclarations": tools.map(|name| json!({"name": name, "parametersJsonSchema": schema}))}]}),
        _ => {
            json!({"model": model, "stream": streamed, "messages": [{"role": "user", "content": "Go."}],
            "tools": tools.map(|name| json!({"type": "function", "function": {"name": name, "parameters": schema}}))})
        }
    }
}

/// The next request of an SDK user: the conversation so far, the response as received, and a result for each call.
pub(crate) fn next_request(dialect: &str, request: &Value, answer: &Value) -> Value {
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
            // Gemini's client adds each chunk of a stream to the history as a separate content.
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

/// The content of a request after its first message, normalised across dialects.
pub(crate) fn said(dialect: &str, request: &Value) -> Vec<Value> {
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
                        said.push(json!({"state": item["encrypted_content"], "summary": item["summary"]}));
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

/// The same response as a stream of the backend.
pub(crate) fn stream_of(dialect: &str, body: &Value) -> String {
    let mut out = String::new();
    let named = |out: &mut String, event: Value| {
        write!(out, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).unwrap();
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
                    // The first value is not the final state.
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
                write!(out, "data: {chunk}\r\n\r\n").unwrap();
            }
        }
        _ => {
            let message = &body["choices"][0]["message"];
            let mut chunk = |delta: Value, finish: Value| {
                let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
                write!(out, "data: {chunk}\n\n").unwrap();
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

/// A text in two halves, or none for an empty text.
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
    let mut all = at.clone();
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}

/// A stream folded as the dialect's SDK does it.
pub(crate) fn folded(dialect: &str, stream: &str) -> Value {
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
                    "message_delta" => {
                        let usage = with(&message["usage"], event["usage"].clone());
                        message = with(&message, event["delta"].clone());
                        message["usage"] = usage;
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
            // Gemini's client keeps the parts as received, and omits only empty parts.
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
