//! The printed stream of Gemini CLI: pieces join to messages, results have their outcome, and the run ends once.

use serde_json::json;

use crate::printed::{captures, check, counts, fixture, short, universal};

const NAME: &str = "gemini-stream";

#[test]
fn a_run_with_tools_is_told_in_order() {
    let events = check(NAME, "tools", &fixture(NAME, "tools.jsonl"));
    let expected = [
        "session started",
        "turn started",
        "message user: Look at the notes.",
        "message assistant: I read two files.",
        r#"tool_call assistant: read_file__call_1_1 read_file {"file_path":"/home/demo/repo/notes.txt"}"#,
        r#"tool_call assistant: read_file__call_1_2 read_file {"file_path":"/home/demo/repo/missing.txt"}"#,
        "tool_result tool: read_file__call_1_1 = ",
        "tool_result tool (failed): read_file__call_1_2 = File not found: /home/demo/repo/missing.txt",
        "message assistant: I edit and run.",
        r#"tool_call assistant: replace__call_2_1 replace {"file_path":"/home/demo/repo/notes.txt","instruction":"edit","old_string":"beta","new_string":"BETA"}"#,
        r#"tool_call assistant: run_shell_command__call_2_2 run_shell_command {"command":"echo oops; exit 3","description":"Fails"}"#,
        "tool_result tool: replace__call_2_1 =  | patch /home/demo/repo/notes.txt",
        "tool_result tool: run_shell_command__call_2_2 = oops",
        "message assistant: Done: the notes are edited.",
        "turn ended: end_turn",
    ];
    assert_eq!(short(&events), expected);
    let pieces = events.iter().filter(|event| event["type"] == "item.delta").count();
    assert!(pieces >= 12, "each piece is a delta, not {pieces}");
}

/// The total is the only count that includes thoughts.
#[test]
fn usage_counts_thoughts_as_output() {
    let result = json!({"type": "result", "timestamp": "2026-11-17T10:00:00Z", "status": "success",
        "stats": {"total_tokens": 2662, "input_tokens": 2506, "output_tokens": 106, "cached": 300, "input": 2206}});
    let events = universal(NAME, &format!("{result}\n"));
    let end = events.iter().find(|event| event["type"] == "turn.ended").expect("an end");
    let usage = json!({"input": 2206, "cache_read": 300, "output": 156, "reasoning": 50});
    assert_eq!(end["data"]["metadata"]["usage"], usage);
}

#[test]
fn failures_are_errors_and_warnings_are_not() {
    let events = universal(NAME, &fixture(NAME, "api-error.jsonl"));
    let told = short(&events);
    assert!(told.iter().any(|line| line.starts_with("error: [API Error: ")), "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("turn ended: error"));
    let line = |severity: &str| {
        json!({"type": "error", "timestamp": "2026-11-17T10:00:00Z", "severity": severity, "message": "Loop detected"})
            .to_string()
            + "\n"
    };
    assert_eq!(
        short(&universal(NAME, &line("error"))).last().map(String::as_str),
        Some("error: Loop detected")
    );
    let warned = counts(&universal(NAME, &line("warning")));
    assert_eq!((warned.get("error"), warned.get("status")), (None, Some(&1)));
}

/// A stream that ends within a message leaves the message interrupted, and an unknown line is a notice.
#[test]
fn cut_streams_and_unknown_lines_are_told() {
    let text = fixture(NAME, "tools.jsonl");
    let head: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    let told = short(&universal(NAME, &head));
    assert!(told.contains(&"message assistant (failed): I read ".to_owned()), "{told:?}");
    let other = r#"{"type":"telemetry","timestamp":"2026-11-17T10:00:00Z","text":"hm"}"#;
    let told = short(&universal(NAME, &format!("{head}{other}\n")));
    assert!(told.contains(&"status system: telemetry".to_owned()), "{told:?}");
}

/// The log of the same run has the same calls and results.
#[test]
fn captures_agree_with_the_logs() {
    for (name, text) in
        captures("gemini", &["stdout-streamjson", "stdout-errflow", "stdout-subagent", "stdout-resume"])
    {
        let events = check(NAME, &name, &text);
        let count = |kind: &str| counts(&events).get(kind).copied().unwrap_or_default();
        assert_eq!(count("tool_call"), count("tool_result"), "{name}");
        assert_eq!(count("tool_call"), text.matches(r#""type":"tool_use""#).count(), "{name}");
    }
}
