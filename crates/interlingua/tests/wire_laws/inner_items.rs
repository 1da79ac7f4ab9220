//! Items inside messages: reasoning, a call, a result or a message inside a message of any author, at any position,
//! from every source that supports the shape, to every target. Each text arrives or its leaf is lost.

use interlingua::dialects::{DIALECTS, Dialect, Role};
use serde_json::{Value, json};

use super::support::books::{Breach, Excuse, Source, is_excused, judge};
use super::support::canary::{EXCUSES, canary_law, plant};
use super::support::{Case, Way, convert, fixtures, on_two_threads, other_targets};

#[test]
fn an_item_inside_any_message_arrives_or_is_reported_lost() {
    let cases = nested_cases();
    assert!(cases.len() > 200, "{}", cases.len());
    judge(cases.len(), breaches(&cases), GENERATED);
}

/// Every generated shape, from every source that supports it.
pub(super) fn nested_cases() -> Vec<Case> {
    let mut cases = nested_entries();
    let universal = (Dialect::named("universal").unwrap(), Role::Live);
    let derived: Vec<Case> = cases.iter().map(|case| converted(case, universal)).collect();
    cases.extend(derived);
    cases.extend(nested_events());
    cases.extend(nested_requests());
    cases
}

#[test]
fn a_message_by_another_author_arrives_or_is_reported_lost() {
    let mut cases = Vec::new();
    for case in fixtures().into_iter().filter(|case| case.bytes.len() < 12_000) {
        for [from, to] in [["assistant", "user"], ["user", "assistant"]] {
            cases.extend(with_author(&case, from, to));
        }
    }
    let sources: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.way.0.name).collect();
    assert!(sources.len() > 14, "{sources:?}");
    judge(cases.len(), breaches(&cases), FLIPPED);
}

const GENERATED: &[Excuse] =
    &[("anthropic", "opencode-events", "/source/data", "the text of a file stands there in base64")];

const FLIPPED: &[Excuse] = &[];

/// Puts a unique word into every text of the cases, and looks for the word in each target's output and ledger.
fn breaches(cases: &[Case]) -> Vec<Breach> {
    let found = on_two_threads(cases, |case| {
        let source = Source::of(case);
        let planted = plant(&source);
        let targets = other_targets(case);
        let all = planted.iter().flat_map(|planted| targets.iter().flat_map(|to| canary_law(planted, *to)));
        all.collect::<Vec<Breach>>()
    });
    found.into_iter().flatten().filter(|breach| !is_excused(breach, EXCUSES)).collect()
}

fn case(dialect: &str, role: Role, name: String, text: &str) -> Case {
    let way: Way = (Dialect::named(dialect).unwrap(), role);
    Case { way, name, path: "generated".into(), bytes: text.as_bytes().to_vec(), made_from: None }
}

fn converted(case: &Case, to: Way) -> Case {
    let bytes = convert(case.way, to, &case.bytes).bytes;
    Case { way: to, name: format!("{} of {}", to.0.name, case.name), bytes, ..case.clone() }
}

/// The case with every message of one author changed to another author; `None` if there is no message of the first.
fn with_author(case: &Case, from: &str, to: &str) -> Option<Case> {
    // The words for the two authors, each pair in the dialects that use it.
    let words =
        [("assistant", "user"), ("model", "user"), ("gemini", "user"), ("assistant.message", "user.message")];
    let source = Source::of(case);
    let mut changes = Vec::new();
    for leaf in &source.leaves {
        let member = leaf.path.rsplit('/').next().unwrap_or_default();
        let word = source.text(leaf).trim_matches('"');
        let pair = words.iter().find(|(assistant, user)| match from {
            "assistant" => *assistant == word,
            _ => *user == word && (*assistant == own_word(case.way.0, member) || *user != "user"),
        });
        if let (Some((assistant, user)), "role" | "type") = (pair, member) {
            changes.push((leaf, format!("\"{}\"", if to == "user" { user } else { assistant })));
        }
    }
    let changes: Vec<_> = changes.iter().map(|(leaf, word)| (*leaf, word.as_str())).collect();
    let name = format!("{} with {from} as {to}", case.name);
    (!changes.is_empty()).then(|| Case { name, bytes: source.with_all(&changes), ..case.clone() })
}

/// The word of a dialect for the assistant in that member.
fn own_word(dialect: &Dialect, member: &str) -> &'static str {
    match (dialect.name, member) {
        ("gemini", _) | ("qwen-code", "role") => "model",
        ("gemini-cli", "type") => "gemini",
        _ => "assistant",
    }
}

const KINDS: [&str; 7] =
    ["user", "assistant", "system", "reasoning", "tool-call", "tool-result", "system-event"];

/// An entry of a record.
fn entry(kind: &str, tag: &str) -> Value {
    match kind {
        "tool-call" => {
            json!({"type": kind, "call-id": format!("call_{tag}"), "name": format!("name_{tag}"), "input": {"a": format!("argument of {tag}")}})
        }
        "tool-result" => {
            json!({"type": kind, "call-id": format!("call_{tag}"), "output": format!("output of {tag}")})
        }
        "system-event" => json!({"type": kind, "event-type": "system", "data": format!("data of {tag}")}),
        _ => json!({"type": kind, "content": format!("text of {tag}")}),
    }
}

/// A record for each pair of an item and an item inside it, in each position.
fn nested_entries() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, middle: Vec<Value>| {
        let mut entries = vec![entry("user", "first question")];
        entries.extend(middle);
        entries.push(entry("assistant", "last answer"));
        let record = json!({"version": "3.0.0", "id": "u", "session": {"entries": entries, "session-id": "u",
            "agent-meta": {"model-id": "unknown", "model-provider": "unknown"}}});
        cases.push(case("record", Role::Log, name, &record.to_string()));
    };
    for (outer, inner) in KINDS.iter().flat_map(|outer| KINDS.map(|inner| (*outer, inner))) {
        for position in ["first", "middle", "last", "twice"] {
            let mut around = entry(outer, "outer");
            let mut children = vec![entry(inner, "inner")];
            match position {
                "first" => {
                    for name in ["content", "output"] {
                        around.as_object_mut().unwrap().remove(name);
                    }
                }
                "middle" if ["user", "assistant", "reasoning"].contains(&outer) => {
                    children.push(json!({"type": outer, "part": 1, "content": "later text of outer"}));
                }
                "twice" => children.push(entry(inner, "second")),
                _ => {}
            }
            around["children"] = json!(children);
            let mut middle = vec![around];
            // A result needs an earlier call, otherwise the writer generates one.
            if inner == "tool-result" || outer == "tool-result" {
                let tags = ["outer", "inner", "second"];
                middle.splice(..0, tags.map(|tag| entry("tool-call", tag)));
            }
            add(format!("{inner} in {outer}, {position}"), middle);
        }
        let mut around = entry(outer, "outer");
        around["children"] = json!([
            entry("reasoning", "thought"),
            entry("tool-call", "pair"),
            entry("tool-result", "pair"),
            entry(inner, "inner")
        ]);
        add(format!("thought, call, result and {inner} in {outer}"), vec![around]);
    }
    cases
}

/// Universal events of a message of each author that holds an item of each kind.
fn nested_events() -> Vec<Case> {
    let mut cases = Vec::new();
    for author in ["user", "assistant", "system", "tool"] {
        for inner in ["message", "tool_call", "tool_result"] {
            for part in [
                json!({"type": "text", "text": "part of outer"}),
                json!({"type": "reasoning", "text": "thought of outer", "visibility": "public"}),
            ] {
                let mut sequence = 0;
                let mut event = |kind: &str, item: Value| {
                    sequence += 1;
                    let event = json!({"event_id": format!("evt_{sequence}"), "sequence": sequence, "time": "2026-01-01T00:00:00Z", "session_id": "s",
                        "native_session_id": null, "synthetic": false, "source": "agent", "type": kind, "data": {"item": item}, "raw": null});
                    format!("{event}\n")
                };
                let content = match inner {
                    "tool_call" => {
                        json!([{"type": "tool_call", "name": "name_inner", "arguments": "{\"a\":\"argument of inner\"}", "call_id": "call_inner"}])
                    }
                    "tool_result" => {
                        json!([{"type": "tool_result", "call_id": "call_inner", "output": "output of inner"}])
                    }
                    _ => json!([{"type": "text", "text": "text of inner"}]),
                };
                let outer = |content: Value, status: &str| json!({"item_id": "itm_1", "native_item_id": null, "parent_id": null, "kind": "message", "role": author, "content": content, "status": status});
                let inside = |content: &Value, status: &str| json!({"item_id": "itm_2", "native_item_id": null, "parent_id": "itm_1", "kind": inner, "role": "assistant", "content": content, "status": status});
                let text = [
                    event("item.started", outer(json!([]), "in_progress")),
                    event("item.started", inside(&content, "in_progress")),
                    event("item.completed", inside(&content, "completed")),
                    event(
                        "item.completed",
                        outer(json!([part, {"type": "text", "text": "text of outer"}]), "completed"),
                    ),
                ];
                cases.push(case(
                    "universal",
                    Role::Live,
                    format!("{inner} in {author}, {part}"),
                    &text.concat(),
                ));
            }
        }
    }
    cases
}

/// Requests of the APIs whose messages are lists of blocks or have members for calls and reasoning.
fn nested_requests() -> Vec<Case> {
    let mut cases = Vec::new();
    let anthropic = [
        json!({"type": "thinking", "thinking": "thought", "signature": "signed"}),
        json!({"type": "redacted_thinking", "data": "hidden"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "haul", "input": {"a": "argument"}}),
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "asked"}}),
        json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "came of it"}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://a.example", "title": "found", "encrypted_content": "e"}]}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "written"}, "title": "named"}),
    ];
    let gemini = [
        json!({"text": "thought", "thought": true, "thoughtSignature": "c2ln"}),
        json!({"functionCall": {"id": "c1", "name": "haul", "args": {"a": "argument"}}}),
        json!({"functionResponse": {"id": "c1", "name": "haul", "response": {"output": "came of it"}}}),
        json!({"executableCode": {"language": "PYTHON", "code": "coded"}}),
        json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "ran"}}),
        json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
        json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/f.pdf"}}),
    ];
    let authors = [("user", "user"), ("assistant", "model"), ("system", "user")];
    for ((author, role), position) in authors.iter().flat_map(|author| (0..3).map(move |at| (*author, at))) {
        let around = |text: &dyn Fn(&str) -> Value, block: &Value| {
            let mut blocks = vec![text("before"), text("after")];
            blocks.insert(position, block.clone());
            blocks
        };
        for block in &anthropic {
            let blocks = around(&|text| json!({"type": "text", "text": text}), block);
            let request = json!({"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "question"},
                {"role": author, "content": blocks}, {"role": "user", "content": "last question"}]});
            cases.push(case(
                "anthropic",
                Role::Request,
                format!("{author} {position} {block}"),
                &request.to_string(),
            ));
        }
        for block in &gemini {
            let parts = around(&|text| json!({"text": text}), block);
            let request = json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "question"}]},
                {"role": role, "parts": parts}, {"role": "user", "parts": [{"text": "last question"}]}]});
            cases.push(case(
                "gemini",
                Role::Request,
                format!("{role} {position} {block}"),
                &request.to_string(),
            ));
        }
    }
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "haul", "arguments": "{\"a\":\"argument\"}"}}]);
    let members = [
        ("tool_calls", call),
        ("function_call", json!({"name": "haul", "arguments": "{\"a\":\"argument\"}"})),
        ("reasoning_content", json!("thought")),
        ("reasoning", json!("thought")),
        ("refusal", json!("refused")),
        ("tool_call_id", json!("c1")),
    ];
    for dialect in
        DIALECTS.iter().filter(|dialect| ["openai-chat", "kimi", "copilot"].contains(&dialect.name))
    {
        for (author, (member, value)) in ["user", "assistant", "system", "developer", "tool"]
            .iter()
            .flat_map(|author| members.iter().map(move |member| (*author, member)))
        {
            let mut message = json!({"role": author, "content": "text of the message"});
            message[*member] = value.clone();
            let request = json!({"model": "m", "messages": [{"role": "user", "content": "question"}, message, {"role": "user", "content": "last question"}]});
            cases.push(case(
                dialect.name,
                Role::Request,
                format!("{member} of {author}"),
                &request.to_string(),
            ));
        }
    }
    cases
}
