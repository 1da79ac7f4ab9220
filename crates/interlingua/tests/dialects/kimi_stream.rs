//! The printed streams of Kimi Code and Kimi CLI.

use crate::printed::{captures, check, counts, fixture, short, universal};

const NAME: &str = "kimi-stream";

#[test]
fn kimi_code_has_its_session_in_the_first_and_last_line() {
    let events = check(NAME, "tools", &fixture(NAME, "tools.jsonl"));
    let told = short(&events);
    let results: Vec<&str> =
        told.iter().map(String::as_str).filter(|line| line.starts_with("tool_result")).collect();
    assert_eq!(results.len(), 4);
    let failed = "tool_result tool (failed): call_2_2 = oops\nCommand failed with exit code: 3.";
    assert!(results.contains(&failed), "{results:?}");
    assert_eq!(told.last().map(String::as_str), Some("turn ended: end_turn"));
    assert_eq!(events[0]["data"]["metadata"]["agent"], "kimi-code");
}

#[test]
fn kimi_cli_ends_with_its_last_answer() {
    let text = fixture(NAME, "kimi-cli.jsonl");
    let events = check(NAME, "kimi-cli", &text);
    let counted = counts(&events);
    assert_eq!((counted["tool_call"], counted["tool_result"], counted["thought"]), (2, 2, 2));
    assert_eq!(events[0]["data"]["metadata"]["agent"], "kimi-cli");
    let head: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    let told = short(&universal(NAME, &head));
    assert!(told.iter().any(|line| line.starts_with("error: ")), "a call has no result: {told:?}");
}

#[test]
fn captures_are_read_whole() {
    for agent in ["kimi-code", "kimi-cli"] {
        for (name, text) in captures(agent, &["stream-main", "stream-parallel", "stream-task", "stream-ask"])
        {
            let events = check(NAME, &name, &text);
            let counted = counts(&events);
            let count = |kind: &str| counted.get(kind).copied().unwrap_or_default();
            assert_eq!(count("tool_call"), text.matches(r#""type":"function""#).count(), "{agent} {name}");
            assert_eq!(count("tool_result"), text.matches(r#""role":"tool""#).count(), "{agent} {name}");
            assert_eq!(count("thought"), text.matches(r#""type":"think""#).count(), "{agent} {name}");
        }
    }
}
