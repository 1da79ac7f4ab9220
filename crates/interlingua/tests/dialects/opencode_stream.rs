//! The printed output of OpenCode: parts join to messages, results have their outcome, and a run is one turn.

use serde_json::{Value, json};

use crate::printed::{captures, check, counts, fixture, short, tokens, universal};

const NAME: &str = "opencode-stream";

#[test]
fn a_run_with_tools_is_told_in_order() {
    let events = check(NAME, "tools", &fixture(NAME, "tools.jsonl"));
    let notes = "<path>/home/demo/repo/notes.txt</path>\n<type>file</type>\n<content>\n1: alpha\n2: beta\n3: gamma\n\n\
        (End of file - total 3 lines)\n</content>";
    let expected = [
        "session started",
        "turn started",
        r#"tool_call assistant: call_1_2 read {"filePath":"missing.txt"}"#,
        "tool_result tool (failed): call_1_2 = File not found: /home/demo/repo/missing.txt",
        r#"tool_call assistant: call_1_1 read {"filePath":"notes.txt"}"#,
        &format!("tool_result tool: call_1_1 = {notes}"),
        "message assistant: thought: I read the notes first. | I read two files.",
        "status system: usage | json",
        r#"tool_call assistant: call_2_1 edit {"filePath":"notes.txt","oldString":"beta","newString":"BETA"}"#,
        "tool_result tool: call_2_1 = Edit applied successfully. | patch /home/demo/repo/notes.txt",
        r#"tool_call assistant: call_2_2 bash {"command":"echo oops; exit 3","description":"Fails"}"#,
        "tool_result tool (failed): call_2_2 = oops\n",
        "message assistant: thought: Now the edit. | I edit and run.",
        "status system: usage | json",
        "message assistant: Done: the notes are edited. ü €",
        "status system: usage | json",
        "turn ended: end_turn",
    ];
    assert_eq!(short(&events), expected);
}

/// The end of a step has its own counts, and OpenCode counts reasoning beside the output.
#[test]
fn usage_is_counted_once_for_each_step() {
    let events = universal(NAME, &fixture(NAME, "shapes.jsonl"));
    assert_eq!((tokens(&events, "input"), tokens(&events, "output")), (820, 60));
    let ended = events.iter().filter(|event| event["type"] == "turn.ended").collect::<Vec<_>>();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["data"]["metadata"]["usage"], Value::Null);
}

/// The program rejects a permission that it cannot ask for, and ends after the step.
#[test]
fn a_rejected_call_fails_and_its_run_ends() {
    let events = check(NAME, "denied", &fixture(NAME, "denied.jsonl"));
    let told = short(&events);
    let rejected = "The user rejected permission to use this specific tool call.";
    assert!(told.contains(&format!("tool_result tool (failed): call_1_1 = {rejected}")), "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("turn ended: tool_use"));
}

#[test]
fn a_failure_of_the_api_ends_the_run() {
    let told = short(&check(NAME, "api-error", &fixture(NAME, "api-error.jsonl")));
    assert!(told.iter().any(|line| line.starts_with("error: ")), "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("turn ended: error"));
}

/// Output that ends within a step was cut: the message is interrupted, and so is the turn.
#[test]
fn cut_output_is_interrupted() {
    let text = fixture(NAME, "tools.jsonl");
    for lines in 1..6 {
        let head: String = text.lines().take(lines).map(|line| format!("{line}\n")).collect();
        let events = universal(NAME, &head);
        let end = events.iter().find(|event| event["type"] == "turn.ended").expect("an end");
        assert_eq!((&end["synthetic"], &end["source"]), (&json!(true), &json!("daemon")), "{lines}");
        let failed =
            |event: &&Value| event["data"]["item"]["status"] == "failed" && event["synthetic"] == true;
        assert_eq!(events.iter().filter(failed).count(), 1, "{lines}");
    }
}

#[test]
fn a_later_step_of_an_answer_repeats_no_id() {
    let line = |kind: &str, part: Value| {
        let mut part = part;
        part["messageID"] = json!("msg_1");
        part["id"] = json!("prt_1");
        json!({"type": kind, "timestamp": 1_794_730_065_000_u64, "sessionID": "ses_1", "part": part})
            .to_string()
            + "\n"
    };
    let step = |text: &str| {
        line("text", json!({"type": "text", "text": text}))
            + &line("step_finish", json!({"type": "step-finish", "reason": "stop"}))
    };
    let events = universal(NAME, &(step("one") + &step("two")));
    let done = events.iter().filter(|event| event["type"] == "item.completed");
    let ids: Vec<_> = done.map(|event| event["data"]["item"]["native_item_id"].clone()).collect();
    assert_eq!(ids, [json!("msg_1"), Value::Null]);
    assert_eq!(short(&events).last().map(String::as_str), Some("turn ended: other"));
}

#[test]
fn another_session_and_odd_lines_are_told() {
    let text = fixture(NAME, "denied.jsonl");
    let other = text.replace("ses_", "ses_other");
    let events = universal(NAME, &format!("{text}{other}"));
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((of("turn.started"), of("turn.ended")), (2, 2));
    // A part without a message, and a line without a part.
    let odd = r#"{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"type":"text","text":"hm"}}"#;
    let new = r#"{"type":"telemetry","timestamp":1,"sessionID":"ses_1","text":"hm"}"#;
    let events = universal(NAME, &format!("{odd}\n{new}\n"));
    let told = counts(&events);
    assert_eq!(told.get("status"), Some(&2), "{:?}", short(&events));
}

/// The captures have as many texts, thoughts, calls and results as lines of these types.
#[test]
fn captures_are_read_whole() {
    for (name, text) in captures("opencode", &["run-json"]) {
        let events = check(NAME, &name, &text);
        let count = |kind: &str| counts(&events).get(kind).copied().unwrap_or_default();
        let lines = |kind: &str| text.matches(&format!(r#"{{"type":"{kind}","timestamp""#)).count();
        assert_eq!(
            (count("tool_call"), count("tool_result")),
            (lines("tool_use"), lines("tool_use")),
            "{name}"
        );
        assert_eq!(count("thought"), lines("reasoning"), "{name}");
        assert_eq!(count("error"), lines("error"), "{name}");
    }
}
