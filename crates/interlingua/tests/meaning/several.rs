//! One of several: several texts in a message, several folders of a session, subagents within subagents, calls of one id.
//! The position of a value decides its meaning.

use std::sync::Arc;

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::json::Str;
use interlingua::log::OutlineReader;
use interlingua::model::{Author, ItemKind, Origin, Status};
use serde_json::{Value, json};

use crate::second::{items, read};
use crate::support::{Law, can_write, convert, convert_with, record};

/// Makes a message of two texts.
type Message<'m> = &'m dyn Fn([&str; 2]) -> Value;

/// Makes a document with these folders.
type Document<'d> = &'d dyn Fn(&[&str]) -> Value;

/// A name, the messages by author, and the answer of each call.
type CallRow = (&'static str, Vec<(&'static str, Value)>, Vec<(&'static str, Option<&'static str>)>);

/// A message of two texts has the origin that its dialect takes from both, in either order.
#[test]
fn two_texts_of_a_message_have_one_origin() {
    let texts = |[one, two]: [&str; 2]| json!([{"type": "text", "text": one}, {"type": "text", "text": two}]);
    let harness = Some(Origin::Harness);
    // A dialect, a text of its program, a message of two texts, and the origins: text of the program first, text of a
    // person first, only texts of the program.
    let rows: [(&str, &str, Message<'_>, [Option<Origin>; 3]); 5] = [
        (
            "cursor",
            "<git_status>\nx\n</git_status>",
            &|two| json!({"role": "user", "message": {"content": texts(two)}}),
            [None, None, harness],
        ),
        (
            "claude-code",
            "<system-reminder>x</system-reminder>",
            &|two| {
                json!({"type": "user", "uuid": "u", "parentUuid": null, "sessionId": "s", "cwd": "/w",
                    "message": {"role": "user", "content": texts(two)}})
            },
            [harness, Some(Origin::Own), harness],
        ),
        (
            "kimi-cli",
            "<system-reminder>x</system-reminder>",
            &|two| json!({"role": "user", "content": texts(two)}),
            [harness, None, harness],
        ),
        (
            "qwen-code",
            "<session_context>x",
            &|[one, two]| {
                json!({"uuid": "u", "parentUuid": null, "sessionId": "s", "timestamp": "2026-11-16T09:00:05.000Z",
                    "type": "user", "cwd": "/w", "version": "0.24.4",
                    "message": {"role": "user", "parts": [{"text": one}, {"text": two}]}})
            },
            [harness, None, harness],
        ),
        (
            "codex",
            "<environment_context>x</environment_context>",
            &|[one, two]| {
                json!({"timestamp": "2026-04-02T08:00:00.000Z", "type": "response_item",
                    "payload": {"type": "message", "role": "user",
                        "content": [{"type": "input_text", "text": one}, {"type": "input_text", "text": two}]}})
            },
            [harness, None, harness],
        ),
    ];
    for (dialect, mark, message, wanted) in rows {
        for (two, wanted) in [[mark, "hello"], ["hello", mark], [mark, mark]].into_iter().zip(wanted) {
            let transcript = read(dialect, Role::Log, &message(two).to_string());
            let of_user = |item: &&interlingua::fold::Item| {
                item.author == Author::User && item.kind == ItemKind::Message
            };
            let origins: Vec<_> = items(&transcript)
                .into_iter()
                .filter(of_user)
                .map(|item| item.circumstances.origin)
                .collect();
            assert_eq!(origins, [wanted], "{dialect}: {two:?}");
        }
    }
}

/// Of several folders, the first is the working directory.
#[test]
fn the_first_of_several_folders_is_the_working_directory() {
    let amp = |folders: &[&str]| {
        let trees: Vec<Value> =
            folders.iter().map(|folder| json!({"uri": format!("file://{folder}")})).collect();
        json!({"v": 1, "id": "T-1", "created": 1, "env": {"initial": {"trees": trees}}, "messages": []})
    };
    let gemini = |folders: &[&str]| {
        json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00.000Z",
            "lastUpdated": "2026-01-01T00:00:01.000Z", "directories": folders, "messages": []})
    };
    let rows: [(&str, Document<'_>); 2] = [("amp", &amp), ("gemini-cli", &gemini)];
    for (dialect, document) in rows {
        for folders in [&["/a"][..], &["/a", "/b"], &["/b", "/a"], &["/c", "/b", "/a"]] {
            let from = (Dialect::named(dialect).expect("registered"), Role::Log);
            let out = convert(from, record(), document(folders).to_string().as_bytes()).bytes;
            let out: Value = serde_json::from_slice(&out).expect("a record");
            let cwd = &out["session"]["environment"]["working-dir"];
            assert_eq!(cwd, folders[0], "{dialect}: {folders:?}");
        }
    }
}

/// An item of a subagent has the call that started that subagent, at every depth.
#[test]
fn a_subagent_within_a_subagent_hangs_on_the_inner_call() {
    for name in ["parent_tool_call_id", "task_tool_call_id"] {
        for depth in 1..=4 {
            let mut message = json!({"type": "ContentPart", "payload": {"type": "text", "text": "hello"}});
            for level in (1..=depth).rev() {
                let (call, agent) = (format!("c{level}"), format!("a{level}"));
                message = json!({"type": "SubagentEvent",
                    "payload": {name: call, "agent_id": agent, "event": message}});
            }
            let line = json!({"timestamp": 1_772_591_802.5, "message": message}).to_string();
            let transcript = read("kimi-cli", Role::Log, &line);
            let found: Vec<[String; 2]> = items(&transcript)
                .into_iter()
                .filter(|item| item.author == Author::Assistant)
                .map(|item| {
                    let text = |id: &Option<Str<'static>>| {
                        id.as_ref().map_or_else(String::new, |id| id.decode().into_owned())
                    };
                    [text(&item.circumstances.parent_call), text(&item.circumstances.agent)]
                })
                .collect();
            assert_eq!(found, [[format!("c{depth}"), format!("a{depth}")]], "{name}, {depth} deep");
        }
    }
}

/// Calls and results in the order of a record: the input of each call, with the output that answers it. Of calls with one
/// id, the first without a result is answered.
fn answers(record: &Value) -> Vec<(String, Option<String>)> {
    fn walk(entries: &Value, calls: &mut Vec<(String, String, Option<String>)>) {
        for entry in entries.as_array().into_iter().flatten() {
            let id = entry["call-id"].to_string();
            match entry["type"].as_str() {
                Some("tool-call") => calls.push((id, entry["input"].to_string(), None)),
                Some("tool-result") => {
                    let open = calls.iter_mut().find(|(call, _, output)| *call == id && output.is_none());
                    if let Some((_, _, output)) = open {
                        *output = Some(entry["output"].to_string());
                    }
                }
                _ => {}
            }
            walk(&entry["children"], calls);
        }
    }
    let mut calls = Vec::new();
    walk(&record["session"]["entries"], &mut calls);
    calls.into_iter().map(|(_, input, output)| (input, output)).collect()
}

/// Calls of one id are answered in their order, in every log. A call that stands before another prompt is answered last.
#[test]
fn calls_of_one_id_are_answered_in_their_order() {
    let call = |input: &str| json!({"type": "tool_use", "id": "t", "name": "f", "input": {"q": input}});
    let result = |output: &str| json!({"type": "tool_result", "tool_use_id": "t", "content": output});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let rows: [CallRow; 3] = [
        (
            "all in one turn",
            vec![
                ("user", text("hello")),
                ("assistant", json!([call("one"), call("two"), call("three")])),
                ("user", json!([result("first"), result("second"), result("third")])),
                ("assistant", text("done")),
            ],
            vec![("one", Some("first")), ("two", Some("second")), ("three", Some("third"))],
        ),
        (
            "a prompt in between",
            vec![
                ("user", text("hello")),
                ("assistant", json!([call("one")])),
                ("user", text("and now")),
                ("assistant", json!([call("two")])),
                ("user", json!([result("second")])),
                ("assistant", text("done")),
            ],
            vec![("one", None), ("two", Some("second"))],
        ),
        (
            "each in its turn",
            vec![
                ("user", text("hello")),
                ("assistant", json!([call("one")])),
                ("user", json!([result("first")])),
                ("assistant", text("done")),
                ("user", text("and now")),
                ("assistant", json!([call("two")])),
                ("user", json!([result("second")])),
            ],
            vec![("one", Some("first")), ("two", Some("second"))],
        ),
    ];
    let claude = (Dialect::named("claude-code").expect("registered"), Role::Log);
    let mut law = Law::new("calls of one id are answered in their order");
    for (name, messages, wanted) in rows {
        let lines = messages.iter().enumerate().map(|(at, (role, content))| {
            let parent = at.checked_sub(1).map(|at| format!("u{at}"));
            let line = json!({"type": role, "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s",
                "cwd": "/w", "message": {"role": role, "id": format!("m{at}"), "content": content}});
            line.to_string() + "\n"
        });
        let log: String = lines.collect();
        let targets = DIALECTS.iter().filter(|to| to.plane == Plane::Log).map(|to| (*to, Role::Log));
        // Cursor writes no results, and a log of Claude Code stays as it is.
        for to in targets.filter(|to| can_write(*to) && !["cursor", "claude-code"].contains(&to.0.name)) {
            let mut first = OutlineReader::new(claude, &Options::default()).expect("readable");
            first.push(log.as_bytes());
            let options = Options::default().with_outline(Arc::new(first.finish()));
            let written = convert_with(claude, to, [log.as_bytes()], &options).bytes;
            let again = convert(to, record(), &written).bytes;
            let again: Value = serde_json::from_slice(&again).expect("a record");
            let found = answers(&again);
            let outputs = ["first", "second", "third"];
            let is_so = found.len() == wanted.len()
                && found.iter().zip(&wanted).all(|((input, output), (asked, answered))| {
                    let output = output.as_deref().unwrap_or_default();
                    let told = outputs.into_iter().find(|word| output.contains(word));
                    input.contains(asked) && told == *answered
                });
            law.holds(is_so, || format!("{name}, {}: {found:?}", to.0.name));
        }
    }
    law.end();
}

/// A request with three calls and as many results as there are outputs. The results have no ids.
fn request_without_ids(dialect: &str, outputs: &[&str]) -> Value {
    let calls = [("t1", "one"), ("t2", "two"), ("t3", "three")];
    match dialect {
        "anthropic" => json!({"model": "m", "max_tokens": 9, "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": calls.map(|(id, input)| {
                json!({"type": "tool_use", "id": id, "name": "f", "input": {"q": input}})
            })},
            {"role": "user", "content": outputs.iter().map(|output| {
                json!({"type": "tool_result", "content": output})
            }).collect::<Vec<_>>()},
        ]}),
        "gemini" => json!({"contents": [
            {"role": "user", "parts": [{"text": "hello"}]},
            {"role": "model", "parts": calls.map(|(id, input)| {
                json!({"functionCall": {"id": id, "name": "f", "args": {"q": input}}})
            })},
            {"role": "user", "parts": outputs.iter().map(|output| {
                json!({"functionResponse": {"name": "f", "response": {"output": output}}})
            }).collect::<Vec<_>>()},
        ]}),
        "openai-responses" => {
            let mut input = vec![json!({"role": "user", "content": "hello"})];
            input.extend(calls.map(|(id, input)| {
                let arguments = json!({"q": input}).to_string();
                json!({"type": "function_call", "call_id": id, "name": "f", "arguments": arguments})
            }));
            input.extend(
                outputs.iter().map(|output| json!({"type": "function_call_output", "output": output})),
            );
            json!({"model": "m", "input": input})
        }
        _ => {
            let calls = calls.map(|(id, input)| {
                let arguments = json!({"q": input}).to_string();
                json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})
            });
            let mut messages = vec![
                json!({"role": "user", "content": "hello"}),
                json!({"role": "assistant", "content": null, "tool_calls": calls}),
            ];
            messages.extend(outputs.iter().map(|output| json!({"role": "tool", "content": output})));
            json!({"model": "m", "messages": messages})
        }
    }
}

/// Results without an id answer the calls in their order, and a call without a result is one of the last, between all
/// APIs.
#[test]
fn results_without_an_id_answer_the_calls_in_their_order() {
    let apis = ["anthropic", "gemini", "openai-responses", "openai-chat"];
    let mut law = Law::new("results without an id answer the calls in their order");
    let pairs = apis.iter().flat_map(|from| apis.iter().map(move |to| (*from, *to)));
    // A request to its own API stays as it is.
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        let way = |name| (Dialect::named(name).expect("registered"), Role::Request);
        for outputs in [&["first"][..], &["first", "second"], &["first", "second", "third"]] {
            let request = request_without_ids(from, outputs).to_string();
            let written = convert(way(from), way(to), request.as_bytes()).bytes;
            let transcript = read(to, Role::Request, &String::from_utf8_lossy(&written));
            let mut calls: Vec<(Option<Str<'static>>, String)> = Vec::new();
            let mut found = Vec::new();
            for item in items(&transcript) {
                let content = format!("{:?}", item.content);
                match &item.kind {
                    ItemKind::ToolCall(call) => calls.push((call.call_id.clone(), content)),
                    ItemKind::ToolResult(result) => {
                        let call = calls.iter().find(|(id, _)| *id == result.call_id);
                        let asked = ["one", "two", "three"]
                            .into_iter()
                            .find(|word| call.is_some_and(|(_, asked)| asked.contains(word)));
                        found.extend(
                            outputs.iter().find(|word| content.contains(**word)).map(|word| (asked, *word)),
                        );
                    }
                    _ => {}
                }
            }
            let wanted: Vec<_> =
                ["one", "two", "three"].into_iter().map(Some).zip(outputs.iter().copied()).collect();
            law.holds(found == wanted, || format!("{from} to {to}: {found:?}"));
        }
    }
    law.end();
}

/// The events of a stream with so many calls. The limit of tokens cuts the arguments of the last call.
fn stream_of_calls(dialect: &str, count: usize) -> String {
    let mut events = Vec::new();
    for at in 0..count {
        let is_last = at + 1 == count;
        let (id, arguments) = (format!("t{at}"), if is_last { "{\"q\":" } else { "{\"q\":1}" });
        if dialect == "openai-responses" {
            let item_id = format!("fc{at}");
            let item = |status: &str, arguments: &str| {
                json!({"type": "function_call", "id": item_id, "call_id": id, "name": "f",
                    "arguments": arguments, "status": status})
            };
            events.push(json!({"type": "response.output_item.added", "output_index": at,
                "item": item("in_progress", "")}));
            events.push(json!({"type": "response.function_call_arguments.delta", "output_index": at,
                "item_id": item_id, "delta": arguments}));
            if !is_last {
                events.push(json!({"type": "response.output_item.done", "output_index": at,
                    "item": item("completed", arguments)}));
            }
        } else if dialect == "anthropic" {
            events.push(json!({"type": "content_block_start", "index": at,
                "content_block": {"type": "tool_use", "id": id, "name": "f", "input": {}}}));
            events.push(json!({"type": "content_block_delta", "index": at,
                "delta": {"type": "input_json_delta", "partial_json": arguments}}));
            events.push(json!({"type": "content_block_stop", "index": at}));
        } else {
            let call = json!({"index": at, "id": id, "type": "function",
                "function": {"name": "f", "arguments": arguments}});
            let choice = json!({"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null});
            events.push(json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [choice]}));
        }
    }
    if dialect == "anthropic" {
        let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
        events.insert(0, json!({"type": "message_start", "message": message}));
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 9}}));
    }
    events.push(if dialect == "anthropic" {
        json!({"type": "message_stop"})
    } else if dialect == "openai-responses" {
        json!({"type": "response.incomplete", "response": {"id": "r", "object": "response", "created_at": 1,
            "status": "incomplete", "model": "m", "output": [],
            "incomplete_details": {"reason": "max_output_tokens"}}})
    } else {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
    });
    let framed = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(framed).collect()
}

/// Of several calls in a stream that ends at the limit of tokens, the last is interrupted and the others are complete.
/// Gemini sends whole calls only.
#[test]
fn the_limit_interrupts_only_the_last_call_of_a_stream() {
    for dialect in ["openai-responses", "openai-chat", "anthropic"] {
        for count in 1..=3 {
            let transcript = read(dialect, Role::Stream, &stream_of_calls(dialect, count));
            let found: Vec<_> = items(&transcript)
                .into_iter()
                .filter(|item| matches!(item.kind, ItemKind::ToolCall(_)))
                .map(|item| item.status)
                .collect();
            let mut wanted = vec![Some(Status::Completed); count];
            wanted[count - 1] = Some(Status::Interrupted);
            assert_eq!(found, wanted, "{dialect}: {count} calls");
        }
    }
}

/// Each spelling by which an event of Codex reports the end of a call has one outcome.
#[test]
fn every_spelling_of_a_failed_call_of_codex_is_a_failure() {
    let content = json!([{"type": "text", "text": "x"}]);
    let rows = [
        (json!({"Ok": {"content": content}}), false),
        (json!({"Ok": {"content": content, "isError": false}}), false),
        (json!({"Ok": {"content": content, "isError": true}}), true),
        (json!({"Ok": {"content": content, "is_error": false}}), false),
        (json!({"Ok": {"content": content, "is_error": true}}), true),
        (json!({"Err": "the server is gone"}), true),
    ];
    for (answer, failed) in rows {
        let payload = [
            json!({"type": "function_call", "name": "demo__look", "arguments": "{}", "call_id": "c"}),
            json!({"type": "mcp_tool_call_end", "call_id": "c", "invocation": {"server": "demo", "tool": "look",
                "arguments": {}}, "duration": {"secs": 0, "nanos": 9_000_000}, "result": answer}),
            json!({"type": "function_call_output", "call_id": "c", "output": "x"}),
        ];
        let kinds = ["response_item", "event_msg", "response_item"];
        let lines = payload.iter().zip(kinds).map(|(payload, kind)| {
            json!({"timestamp": "2026-04-02T08:00:21.000Z", "type": kind, "payload": payload}).to_string()
                + "\n"
        });
        let transcript = read("codex", Role::Log, &lines.collect::<String>());
        let found: Vec<_> = items(&transcript)
            .into_iter()
            .filter(|item| matches!(item.kind, ItemKind::ToolResult(_)))
            .map(|item| item.is_error)
            .collect();
        assert_eq!(found, [Some(failed)], "{answer}");
    }
}
