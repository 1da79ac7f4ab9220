//! Made-up sessions, spelled in the logs of seven agents: prompts, responses, calls, results, rewound turns and
//! compactions in any order.

use proptest::prelude::*;
use serde_json::{Value, json};

/// What happens in a made-up session. Each word is unique; calls have one of a few ids.
#[derive(Clone, Debug)]
pub(super) enum Act {
    User,
    Assistant,
    Call(u8),
    Result(u8),
    /// This many turns are rewound.
    Back(u8),
    Compact,
}

pub(super) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => Just(Act::User),
        3 => Just(Act::Assistant),
        4 => (0..4_u8).prop_map(Act::Call),
        4 => (0..4_u8).prop_map(Act::Result),
        1 => (1..3_u8).prop_map(Act::Back),
        1 => Just(Act::Compact),
    ];
    prop::collection::vec(act, 1..28)
}

/// The texts of a session that must be in another agent's log, and those that must not.
#[derive(Default, Debug)]
pub(super) struct Truth {
    pub(super) there: Vec<String>,
    pub(super) gone: Vec<String>,
    pub(super) calls: usize,
    pub(super) made_up: usize,
}

/// The acts that are still in effect, by number.
pub(super) fn active(acts: &[Act]) -> Vec<usize> {
    let mut active: Vec<usize> = Vec::new();
    for (at, act) in acts.iter().enumerate() {
        if let Act::Back(turns) = act {
            for _ in 0..*turns {
                let Some(last) = active.iter().rposition(|at| matches!(acts[*at], Act::User)) else { break };
                active.truncate(last);
            }
        } else {
            active.push(at);
        }
    }
    active
}

pub(super) fn truth(acts: &[Act]) -> Truth {
    let active = active(acts);
    let mut truth = Truth::default();
    // By id: pending calls, whether a result arrived, and whether a result arrived before its call.
    let mut ids = [(0_usize, false, false); 4];
    for &at in &active {
        let word = word(at);
        match acts[at] {
            Act::User | Act::Assistant | Act::Compact => truth.there.push(word),
            Act::Call(id) => {
                ids[usize::from(id)].0 += 1;
                truth.calls += 1;
                truth.there.push(word);
            }
            Act::Result(id) => match &mut ids[usize::from(id)] {
                (0, true, _) => truth.gone.push(word),
                (0, answered, orphan) => {
                    (*answered, *orphan) = (true, true);
                    truth.there.push(word);
                }
                (waiting, answered, _) => {
                    *waiting -= 1;
                    *answered = true;
                    truth.there.push(word);
                }
            },
            Act::Back(_) => {}
        }
    }
    // A result without an earlier call answers a later call without a result, or gets a generated call.
    truth.made_up = ids.iter().filter(|(waiting, _, orphan)| *orphan && *waiting == 0).count();
    truth.calls += truth.made_up;
    let is_word = |act: &Act| !matches!(act, Act::Back(_));
    truth.gone.extend((0..acts.len()).filter(|at| !active.contains(at) && is_word(&acts[*at])).map(word));
    truth
}

pub(super) fn word(at: usize) -> String {
    format!("word-{at}-of-it")
}

pub(super) fn lines(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect()
}

pub(super) const TIME: &str = "2026-11-16T10:07:11.165Z";

/// A session in a linear log: acts in order, with rewind marks.
fn codex(acts: &[Act]) -> Vec<u8> {
    let line = |kind: &str, payload: Value| json!({"timestamp": TIME, "type": kind, "payload": payload});
    let mut all = vec![line(
        "session_meta",
        json!({"id": "0199e8a0-1111-7222-8333-444455556666", "timestamp": TIME, "cwd": "/r"}),
    )];
    for (at, act) in acts.iter().enumerate() {
        let word = word(at);
        let item = |payload| line("response_item", payload);
        all.push(match act {
            Act::User => item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": word}]})),
            Act::Assistant => item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": word}]})),
            Act::Call(id) => item(json!({"type": "function_call", "name": "f", "arguments": json!({"a": word}).to_string(), "call_id": format!("c{id}")})),
            Act::Result(id) => item(json!({"type": "function_call_output", "call_id": format!("c{id}"), "output": word})),
            Act::Back(turns) => line("event_msg", json!({"type": "thread_rolled_back", "num_turns": turns})),
            Act::Compact => line("compacted", json!({"message": word})),
        });
    }
    lines(&all)
}

fn kimi_code(acts: &[Act]) -> Vec<u8> {
    let mut all =
        vec![json!({"type": "metadata", "protocol_version": "1.4", "created_at": 1_794_731_803_347_u64})];
    for (at, act) in acts.iter().enumerate() {
        let (word, time) = (word(at), 1_794_731_803_347_u64 + at as u64);
        let message = |role: &str| {
            json!({"type": "context.append_message", "agentId": "main", "time": time,
            "message": {"role": role, "content": [{"type": "text", "text": word}], "toolCalls": [], "origin": {"kind": "user"}}})
        };
        let event = |event: Value| json!({"type": "context.append_loop_event", "agentId": "main", "time": time, "event": event});
        all.push(match act {
            Act::User => message("user"),
            Act::Assistant => event(json!({"type": "content.part", "uuid": format!("p{at}"), "stepUuid": "s", "part": {"type": "text", "text": word}})),
            Act::Call(id) => event(json!({"type": "tool.call", "uuid": format!("t{at}"), "stepUuid": "s", "toolCallId": format!("f:{id}"), "name": "f", "args": {"a": word}})),
            Act::Result(id) => event(json!({"type": "tool.result", "parentUuid": "t", "toolCallId": format!("f:{id}"), "result": {"output": word}})),
            Act::Back(turns) => json!({"type": "context.undo", "agentId": "main", "count": turns, "time": time}),
            Act::Compact => json!({"type": "context.apply_compaction", "agentId": "main", "summary": word, "tokensBefore": 1, "tokensAfter": 1, "time": time}),
        });
    }
    lines(&all)
}

/// A session in a tree log: rewound turns are an abandoned branch.
fn tree(acts: &[Act], line: impl Fn(usize, &Act, Option<usize>) -> Option<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    let mut branch: Vec<usize> = Vec::new();
    for (at, act) in acts.iter().enumerate() {
        if let Act::Back(turns) = act {
            for _ in 0..*turns {
                let Some(last) = branch.iter().rposition(|at| matches!(acts[*at], Act::User)) else { break };
                branch.truncate(last);
            }
        } else if let Some(line) = line(at, act, branch.last().copied()) {
            all.push(line);
            branch.push(at);
        }
    }
    all
}

pub(super) fn uuid(at: usize) -> String {
    format!("00000000-0000-4000-8000-{at:012}")
}

pub(super) fn claude_code(acts: &[Act]) -> Vec<u8> {
    lines(&tree(acts, |at, act, parent| {
        let word = word(at);
        let line = |kind: &str, content: Value| {
            json!({"parentUuid": parent.map(uuid), "isSidechain": false, "sessionId": "11111111-2222-4333-8444-555555555555",
            "cwd": "/r", "version": "2.1.0", "type": kind, "message": {"role": kind, "content": content}, "uuid": uuid(at), "timestamp": TIME})
        };
        Some(match act {
            Act::User => line("user", json!(word)),
            Act::Assistant => line("assistant", json!([{"type": "text", "text": word}])),
            Act::Call(id) => line(
                "assistant",
                json!([{"type": "tool_use", "id": format!("c{id}"), "name": "f", "input": {"a": word}}]),
            ),
            Act::Result(id) => line(
                "user",
                json!([{"type": "tool_result", "tool_use_id": format!("c{id}"), "content": word}]),
            ),
            Act::Compact => {
                let mut line = line("user", json!(word));
                line["isCompactSummary"] = json!(true);
                line
            }
            Act::Back(_) => return None,
        })
    }))
}

pub(super) fn pi(acts: &[Act]) -> Vec<u8> {
    let mut all = vec![json!({"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/r"})];
    all.extend(tree(acts, |at, act, parent| {
        let word = word(at);
        let line = |message: Value| json!({"type": "message", "id": uuid(at), "parentId": parent.map(uuid), "timestamp": TIME, "message": message});
        Some(match act {
            Act::User => line(json!({"role": "user", "content": word})),
            Act::Assistant => line(json!({"role": "assistant", "content": [{"type": "text", "text": word}]})),
            Act::Call(id) => line(json!({"role": "assistant", "content": [{"type": "toolCall", "id": format!("c{id}"), "name": "f", "arguments": {"a": word}}]})),
            Act::Result(id) => line(json!({"role": "toolResult", "toolCallId": format!("c{id}"), "toolName": "f", "content": [{"type": "text", "text": word}], "isError": false})),
            Act::Compact => json!({"type": "compaction", "id": uuid(at), "parentId": parent.map(uuid), "timestamp": TIME, "summary": word, "firstKeptEntryId": "x", "tokensBefore": 1}),
            Act::Back(_) => return None,
        })
    }));
    lines(&all)
}

pub(super) fn qwen_code(acts: &[Act]) -> Vec<u8> {
    lines(&tree(acts, |at, act, parent| {
        let word = word(at);
        let line = |kind: &str, role: &str, part: Value| {
            json!({"uuid": uuid(at), "parentUuid": parent.map(uuid), "sessionId": "11111111-2222-4333-8444-555555555555",
            "timestamp": TIME, "type": kind, "cwd": "/r", "version": "0.24.4", "message": {"role": role, "parts": [part]}})
        };
        Some(match act {
            Act::User => line("user", "user", json!({"text": word})),
            Act::Assistant => line("assistant", "model", json!({"text": word})),
            Act::Call(id) => line(
                "assistant",
                "model",
                json!({"functionCall": {"id": format!("c{id}"), "name": "f", "args": {"a": word}}}),
            ),
            Act::Result(id) => line(
                "tool_result",
                "user",
                json!({"functionResponse": {"id": format!("c{id}"), "name": "f", "response": {"output": word}}}),
            ),
            Act::Compact | Act::Back(_) => return None,
        })
    }))
}

/// Every message has the last prompt as its parent.
fn opencode(acts: &[Act]) -> Vec<u8> {
    let mut messages: Vec<Value> = Vec::new();
    let mut question = String::from("msg_0");
    for (at, act) in acts.iter().enumerate() {
        let (word, id) = (word(at), format!("msg_{at:04}"));
        let part = |part: Value| {
            let mut part = part;
            part["id"] = json!(format!("prt_{at:04}"));
            part["messageID"] = json!(id);
            part["sessionID"] = json!("ses_1");
            json!([part])
        };
        let answer = |parts: Value| json!({"info": {"role": "assistant", "parentID": question, "modelID": "m", "providerID": "p", "id": id, "sessionID": "ses_1", "time": {"created": 1_794_730_056_000_u64 + at as u64}}, "parts": parts});
        messages.push(match act {
            Act::User => {
                question.clone_from(&id);
                json!({"info": {"role": "user", "id": id, "sessionID": "ses_1", "time": {"created": 1_794_730_056_000_u64 + at as u64}}, "parts": part(json!({"type": "text", "text": word}))})
            }
            Act::Assistant => answer(part(json!({"type": "text", "text": word}))),
            Act::Call(call) => answer(part(json!({"type": "tool", "tool": "f", "callID": format!("c{call}"), "state": {"status": "completed", "input": {"a": word}, "output": "came", "title": "", "metadata": {}, "time": {"start": 1, "end": 2}}}))),
            Act::Result(_) | Act::Compact | Act::Back(_) => continue,
        });
    }
    json!({"info": {"id": "ses_1", "directory": "/r", "version": "1.18.33", "time": {"created": 1, "updated": 2}}, "messages": messages}).to_string().into_bytes()
}

fn gemini_cli(acts: &[Act]) -> Vec<u8> {
    let mut all = vec![
        json!({"sessionId": "11111111-2222-4333-8444-555555555555", "projectHash": "5f", "startTime": TIME, "lastUpdated": TIME, "kind": "main"}),
    ];
    all.extend(tree(acts, |at, act, _| {
        let word = word(at);
        Some(match act {
            Act::User => json!({"id": uuid(at), "timestamp": TIME, "type": "user", "content": [{"text": word}]}),
            Act::Assistant => json!({"id": uuid(at), "timestamp": TIME, "type": "gemini", "content": word}),
            Act::Call(id) => json!({"id": uuid(at), "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": [{"id": format!("c{id}-{at}"), "name": "f", "args": {"a": word}}]}),
            Act::Result(_) | Act::Compact | Act::Back(_) => return None,
        })
    }));
    lines(&all)
}

/// The acts that a log of Gemini CLI can hold: results of pending calls that are still in effect. A result is stored
/// with its call, so it is rewound only with the call.
pub(super) fn acts_of_gemini_cli(acts: Vec<Act>) -> Vec<Act> {
    let mut kept: Vec<Act> = Vec::new();
    for act in acts.into_iter().filter(|act| !matches!(act, Act::Compact)) {
        kept.push(act);
        while let Some(odd) = odd_result(&kept) {
            kept.remove(odd);
        }
    }
    kept
}

/// The first result without a pending call, or with a call that stays in effect longer than the result.
fn odd_result(acts: &[Act]) -> Option<usize> {
    let mut calls: Vec<(usize, u8)> = Vec::new();
    let counts_at_last = active(acts);
    for (at, act) in acts.iter().enumerate() {
        let counts = active(&acts[..=at]);
        match act {
            Act::Call(id) => calls.push((at, *id)),
            Act::Result(id) => {
                let Some(found) = calls.iter().position(|(call, own)| own == id && counts.contains(call))
                else {
                    return Some(at);
                };
                let (call, _) = calls.remove(found);
                if counts_at_last.contains(&call) != counts_at_last.contains(&at) {
                    return Some(at);
                }
            }
            Act::User | Act::Assistant | Act::Back(_) | Act::Compact => {}
        }
    }
    None
}

/// A session of Gemini CLI: a message is written again when its call has a result, and the whole history when the
/// session is resumed.
pub(super) fn rewritten_gemini_cli(acts: &[Act]) -> Vec<u8> {
    let head = json!({"sessionId": "11111111-2222-4333-8444-555555555555", "projectHash": "5f", "startTime": TIME, "lastUpdated": TIME, "kind": "main"});
    let mut all = vec![head.clone()];
    // The messages in effect, with the numbers of their acts, and the pending calls.
    let mut live: Vec<(usize, Value)> = Vec::new();
    for (at, act) in acts.iter().enumerate() {
        let (word, id) = (word(at), uuid(at));
        if at % 5 == 4 {
            let mut messages: Vec<&Value> = live.iter().map(|(_, message)| message).collect();
            if at % 10 == 4 {
                messages.reverse();
            }
            all.extend([head.clone(), json!({"$set": {"messages": messages}})]);
        }
        let message = match act {
            Act::User => json!({"id": id, "timestamp": TIME, "type": "user", "content": [{"text": word}]}),
            Act::Assistant => json!({"id": id, "timestamp": TIME, "type": "gemini", "content": word}),
            Act::Call(call) => {
                json!({"id": id, "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": [{"id": format!("c{call}-{at}"), "name": "f", "args": {"a": word}}]})
            }
            Act::Result(call) => {
                let waits = |(at, message): &&mut (usize, Value)| {
                    matches!(acts[*at], Act::Call(own) if own == *call)
                        && message["toolCalls"][0]["result"].is_null()
                };
                let (_, message) = live.iter_mut().find(waits).expect("a call waits for each result");
                let call = message["toolCalls"][0]["id"].clone();
                let response =
                    json!({"functionResponse": {"id": call, "name": "f", "response": {"output": word}}});
                message["toolCalls"][0]["result"] = json!([response]);
                all.push(message.clone());
                continue;
            }
            Act::Back(turns) => {
                let questions = live.iter().enumerate().filter(|(_, (at, _))| matches!(acts[*at], Act::User));
                let questions: Vec<usize> = questions.map(|(place, _)| place).collect();
                let Some(&first) = questions.iter().rev().take(usize::from(*turns)).next_back() else {
                    continue;
                };
                all.push(json!({"$rewindTo": live[first].1["id"]}));
                live.truncate(first);
                continue;
            }
            Act::Compact => unreachable!("left out"),
        };
        all.push(message.clone());
        live.push((at, message));
    }
    lines(&all)
}

/// A log format: its name, how it is written, and which acts it can hold.
pub(super) type Spelling = (&'static str, fn(&[Act]) -> Vec<u8>, fn(&Act) -> bool);

pub(super) const SPELLINGS: [Spelling; 7] = [
    ("codex", codex, |_| true),
    ("kimi-code", kimi_code, |_| true),
    ("claude-code", claude_code, |_| true),
    ("pi", pi, |_| true),
    ("qwen-code", qwen_code, |act| !matches!(act, Act::Compact)),
    ("opencode", opencode, |act| matches!(act, Act::User | Act::Assistant | Act::Call(_))),
    ("gemini-cli", gemini_cli, |act| matches!(act, Act::User | Act::Assistant | Act::Call(_))),
];
