//! The printed stream of Qwen Code: lines of Claude Code's form with their own ids and counts.

use serde_json::{Value, json};

use crate::printed::{captures, check, counts, fixture, short, tokens, universal};

const NAME: &str = "qwen-stream";

/// Items without notices and ids: what was said.
fn said(events: &[Value]) -> Vec<String> {
    short(events)
        .into_iter()
        .filter(|line| !line.starts_with("status ") && !line.starts_with("session "))
        .collect()
}

#[test]
fn partial_messages_tell_the_same_as_whole_messages() {
    let whole = check(NAME, "tools", &fixture(NAME, "tools.jsonl"));
    let partial = check(NAME, "partial", &fixture(NAME, "partial.jsonl"));
    assert_eq!(said(&whole), said(&partial));
    let expected = [
        "turn started",
        "message assistant: thought: The user wants the notes.",
        "message assistant: I read two files.",
    ];
    assert_eq!(said(&whole)[..3], expected);
    let failed = said(&whole).into_iter().filter(|line| line.starts_with("tool_result tool (failed)"));
    assert_eq!(failed.count(), 2, "a missing file, and a command with an exit code");
}

/// The input count includes cached input, and the result repeats the counts of the messages.
#[test]
fn tokens_are_counted_once() {
    let events = universal(NAME, &fixture(NAME, "tools.jsonl"));
    let sums = ["input", "cache_read", "output"].map(|count| tokens(&events, count));
    assert_eq!(sums, [3000, 1800, 150]);
    // A subagent's calls are only in the result.
    let events = universal(NAME, &fixture(NAME, "subagent.jsonl"));
    let end = events.iter().find(|event| event["type"] == "turn.ended").unwrap();
    assert_eq!(end["data"]["metadata"]["usage"], json!({"input": 1000, "cache_read": 600, "output": 50}));
}

#[test]
fn the_session_has_its_version_and_mode() {
    let events = universal(NAME, &fixture(NAME, "tools.jsonl"));
    let facts = &events[0]["data"]["metadata"];
    assert_eq!((&facts["agent"], &facts["cli_version"]), (&json!("qwen-code"), &json!("0.24.4")));
    assert_eq!((&facts["permission_mode"], &facts["provider"]), (&json!("yolo"), &Value::Null));
}

#[test]
fn a_failure_has_its_message() {
    let told = said(&universal(NAME, &fixture(NAME, "api-error.jsonl")));
    let end = ["error: [API Error: 400 scripted bad request]", "turn ended: error"];
    assert_eq!(told[told.len() - 2..], end);
}

#[test]
fn captures_are_read_whole() {
    for (name, text) in captures("qwen", &["stream-"]) {
        let events = check(NAME, &name, &text);
        let count = |kind: &str| counts(&events).get(kind).copied().unwrap_or_default();
        assert_eq!(count("tool_call"), text.matches(r#""type":"tool_use""#).count(), "{name}");
        assert_eq!(count("tool_result"), text.matches(r#""type":"tool_result""#).count(), "{name}");
        assert_eq!(count("thought"), text.matches(r#""type":"thinking""#).count(), "{name}");
    }
}
