//! The printed stream of Copilot CLI: pieces of answers before the lines of the log.

use crate::printed::{captures, check, counts, fixture, short, universal};

const NAME: &str = "copilot-stream";

#[test]
fn pieces_and_whole_answers_are_told_once() {
    let events = check(NAME, "tools", &fixture(NAME, "tools.jsonl"));
    let told = short(&events);
    let said: Vec<&str> =
        told.iter().map(String::as_str).filter(|line| line.starts_with("message ")).collect();
    assert_eq!(said.len(), 4, "{told:#?}");
    assert_eq!(said[0], "message user: Look at the notes.");
    assert!(
        said[1].contains("thought: The user wants the notes.") && said[1].contains("I read two files."),
        "{said:?}"
    );
    let counted = counts(&events);
    assert_eq!((counted["tool_call"], counted["tool_result"], counted["thought"]), (4, 4, 2));
    let pieces = events.iter().filter(|event| event["type"] == "item.delta" && event["synthetic"] == false);
    assert!(pieces.count() >= 12);
    assert!(told.contains(&"turn ended: end_turn".to_owned()), "{told:#?}");
}

#[test]
fn a_subagent_streams_under_its_call() {
    let events = check(NAME, "subagent", &fixture(NAME, "subagent.jsonl"));
    let child = events.iter().find(|event| {
        event["type"] == "item.completed"
            && event["data"]["item"]["content"][0]["text"] == "The child is done."
    });
    let child = &child.expect("the child's answer")["data"]["item"];
    assert!(child["agent"].is_string(), "{child}");
}

#[test]
fn failures_end_the_turn_with_an_error() {
    for file in ["api-error.jsonl", "denied.jsonl"] {
        let told = short(&universal(NAME, &fixture(NAME, file)));
        assert_eq!(told.iter().filter(|line| line.starts_with("error: 400 ")).count(), 1, "{told:#?}");
        assert_eq!(told.iter().filter(|line| *line == "turn ended: error").count(), 1, "{told:#?}");
    }
    let told = short(&universal(NAME, &fixture(NAME, "denied.jsonl")));
    assert!(told.iter().any(|line| line.starts_with("tool_result tool (failed): ")), "{told:#?}");
}

#[test]
fn captures_agree_with_their_own_lines() {
    for (name, text) in captures("copilot", &["p-json-"]) {
        let events = check(NAME, &name, &text);
        let counted = counts(&events);
        let count = |kind: &str| counted.get(kind).copied().unwrap_or_default();
        assert_eq!(count("tool_call"), text.matches(r#""type":"tool.execution_start""#).count(), "{name}");
        assert_eq!(
            count("tool_result"),
            text.matches(r#""type":"tool.execution_complete""#).count(),
            "{name}"
        );
        assert_eq!(count("thought"), text.matches(r#""reasoningText":"#).count(), "{name}");
    }
}
