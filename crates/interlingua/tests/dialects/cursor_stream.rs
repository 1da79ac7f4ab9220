//! The printed stream of Cursor CLI.

use serde_json::json;

use crate::printed::{check, fixture, short, universal};

const NAME: &str = "cursor-stream";

#[test]
fn a_run_with_tools_is_told_in_order() {
    let told = short(&check(NAME, "tools", &fixture(NAME, "tools.jsonl")));
    let expected = [
        "session started",
        "turn started",
        "message user: Look at the notes.",
        "message assistant: thought: The user wants the notes.",
        "message assistant: I read two files.",
        r#"tool_call assistant: call_1_1 read {"path":"/home/demo/repo/notes.txt","toolCallId":"call_1_1"}"#,
        "tool_result tool: call_1_1 = alpha\nbeta\ngamma\n",
        "tool_result tool (failed): call_1_2 = oops\n",
        "message assistant: Done: the notes are read.",
        "turn ended: end_turn",
    ];
    let mut rest = told.iter();
    for line in expected {
        assert!(rest.any(|told| told == line), "{line} in {told:#?}");
    }
    assert!(told.iter().any(|line| line.ends_with("| write /home/demo/repo/new.txt")), "{told:#?}");
}

#[test]
fn whole_texts_repeat_their_pieces() {
    let told = short(&check(NAME, "partial", &fixture(NAME, "partial.jsonl")));
    let said: Vec<&str> =
        told.iter().map(String::as_str).filter(|line| line.starts_with("message ")).collect();
    let expected = [
        "message user: Look at the notes.",
        "message assistant: I ask the web.",
        "message assistant: I stop.",
    ];
    assert_eq!(said, expected);
    assert!(
        told.iter().any(|line| line.starts_with("tool_result tool (failed): call_1_1 = The user refused"))
    );
}

#[test]
fn a_result_alone_holds_the_text_and_a_failure_its_message() {
    let line = |is_error: bool| {
        let line = json!({"type": "result", "subtype": "success", "is_error": is_error, "result": "Yes.", "session_id": "s"});
        line.to_string() + "\n"
    };
    assert!(short(&universal(NAME, &line(false))).contains(&"message assistant: Yes.".to_owned()));
    assert!(short(&universal(NAME, &line(true))).contains(&"error: Yes.".to_owned()));
}

/// A result without its call has the call before it, and a call id is told once.
#[test]
fn every_result_has_a_call() {
    let text = fixture(NAME, "tools.jsonl");
    let without_starts: String =
        text.lines().filter(|line| !line.contains("\"started\"")).map(|line| format!("{line}\n")).collect();
    let told = short(&check(NAME, "no starts", &without_starts));
    assert_eq!(told.iter().filter(|line| line.starts_with("tool_call ")).count(), 3, "{told:#?}");
}
