//! The agent loop over every pair of wire dialects. A backend responds, the client gets the response in its own dialect
//! and returns it with results, as a user of its SDK does. The backend must get back the state, ids, names and
//! arguments that it issued, in its order. Values that cannot be returned are listed in [`LIMITS`] with a reason, and
//! must be reported.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Exchange;
use serde_json::{Value, json};

use crate::sdk_user::{first_request, folded, next_request, said, stream_of};

const WIRE: [&str; 6] = ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"];

/// A value that cannot be returned.
struct Limit {
    /// `*` matches any client.
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

const NEW_ID: &str = "tool call id replaced by one the target takes";

const LIMITS: &[Limit] = &[
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
    limit("*", "openai-responses", "group of tools", "the client offered no group", "namespace"),
    limit("*", "gemini", "calls without ids", "everybody else has ids, and the API takes them", NEW_ID),
];

/// A response of a backend.
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
                    // A limit may apply only to whole responses or only to streams.
                    (Ok(()), _) => {}
                    (Err(mismatch), Some(limit)) if told.is_some_and(|told| mismatch.tells(told)) => {
                        used.insert(limit);
                    }
                    (Err(mismatch), _) => {
                        wrong.push(format!("{way}, should tell: {told:?}\n{}", mismatch.said));
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

fn run(client: &'static str, case: &Case, streamed: bool) -> Result<(), Box<Mismatch>> {
    let named = |name| Dialect::named(name).unwrap();
    let exchange = || Exchange::new(named(client), named(case.backend), &Options::default());
    let mut first = exchange();
    let request = first_request(client, case.model, streamed);
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
    // The request that a client of the backend itself sends.
    let own = next_request(case.backend, &first_request(case.backend, case.model, streamed), &case.body);
    let (sent, own) = (said(case.backend, &sent), said(case.backend, &own));
    if sent == own {
        return Ok(());
    }
    let lines = |list: &[Value]| list.iter().map(|it| format!("      {it}")).collect::<Vec<_>>().join("\n");
    let said = format!(
        "    issued\n{}\n    came back\n{}\n    the client got {answer}\n    answer: {}\n    request: {}",
        lines(&own),
        lines(&sent),
        summary(&told.report),
        summary(&asked.report)
    );
    Err(Box::new(Mismatch { reports: [told.report, asked.report], said }))
}

fn summary(report: &Report) -> String {
    let lost: Vec<_> = report.lost_paths.iter().map(|row| (row.path.as_str(), row.reason)).collect();
    format!("notes {:?}, lost {lost:?}", report.notes)
}

/// A message of Copilot has one string for state; the state packed into it is restored only while it fits the text.
#[test]
fn thoughts_packed_for_copilot_come_back_where_they_stood() {
    let turn = |text: &str, state: &str| {
        let calls =
            json!([{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]);
        let message = json!({"role": "assistant", "content": "Ah. So.", "reasoning_text": text, "reasoning_opaque": state,
            "tool_calls": calls});
        let request = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, message,
            {"role": "tool", "tool_call_id": "c1", "content": "ok"}]});
        let (mut out, named) = (Vec::new(), |name| Dialect::named(name).unwrap());
        let mut exchange = Exchange::new(named("copilot"), named("anthropic"), &Options::default());
        let report = exchange.request(request.to_string().as_bytes(), &mut out).unwrap().report;
        let sent: Value = serde_json::from_slice(&out).unwrap();
        (sent["messages"][1]["content"].clone(), report)
    };
    let list = "interlingua-thoughts:0,0,5,signature,anthropic,a%3Bb%2C%25=;3,0,4,signature,anthropic,s2==;7,1,0,encrypted,anthropic,r3==";
    let (content, _) = turn("Öne?\nTwo.", list);
    let expected = json!([
        {"type": "thinking", "thinking": "Öne?\n", "signature": "a;b,%="},
        {"type": "text", "text": "Ah."},
        {"type": "thinking", "thinking": "Two.", "signature": "s2=="},
        {"type": "text", "text": " So."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        {"type": "redacted_thinking", "data": "r3=="}
    ]);
    assert_eq!(content, expected);
    // The client changed the text, or the list is broken: no signature is attached to a text that it does not sign.
    let broken = [
        "interlingua-thoughts:0,0,5,signature,anthropic",
        "interlingua-thoughts:0,0,x",
        "interlingua-thoughts:",
    ];
    for (text, state) in
        [("One?", list), ("Öne?\nTwo. And more.", list)].into_iter().chain(broken.map(|list| ("Hm.", list)))
    {
        let (content, report) = turn(text, state);
        assert!(!content.to_string().contains("signature"), "{content}");
        assert!(report.lost_paths.iter().any(|row| row.path.contains("reasoning_opaque")), "{state}");
    }
}
