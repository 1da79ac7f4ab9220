//! Sessions of Cursor's database: bubbles, calls with their results, and rows that hold no JSON.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::error::Code;
use serde_json::{Value, json};

use crate::support::convert_log_text;

fn document(bubbles: &Value) -> String {
    let composer = json!({"composerId": "c-1", "name": "Title", "createdAt": 1_793_872_800_000_u64});
    json!({"composer": composer, "bubbles": bubbles}).to_string()
}

/// The entries of a session with these bubbles.
fn entries(bubbles: &Value) -> Vec<Value> {
    let (record, report) = convert_log_text("cursor-db", "record", &document(bubbles));
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    assert_eq!(record["session"]["session-id"], "c-1");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// The children of the entry of a bubble with this tool.
fn children(tool: &Value) -> Vec<Value> {
    let found = entries(&json!([{"bubbleId": "b", "type": 2, "text": "", "toolFormerData": tool}]));
    let with_tool = found.iter().find(|entry| entry["type"] == "assistant").expect("a message");
    with_tool["children"].as_array().expect("children").clone()
}

#[test]
fn the_type_of_a_bubble_is_its_author() {
    let found = entries(&json!([
        {"bubbleId": "a", "type": 1, "text": "asked", "createdAt": "2026-11-05T10:00:01.120Z"},
        {"bubbleId": "b", "type": 2, "text": "answered", "modelInfo": {"modelName": "m"}},
        {"bubbleId": "c", "type": 3, "text": "something else"},
    ]));
    let of =
        |text: &str| found.iter().find(|entry| entry["content"] == text).map(|entry| entry["type"].clone());
    assert_eq!(of("asked"), Some(json!("user")));
    assert_eq!(of("answered"), Some(json!("assistant")));
    assert_eq!(of("something else"), None);
}

#[test]
fn a_call_and_its_result_are_in_one_bubble() {
    let tool = json!({"toolCallId": "t", "name": "read_file_v2", "status": "completed",
        "rawArgs": "{\"path\":\"a\"}", "params": "{\"targetFile\":\"a\"}", "result": "{\"contents\":\"x\"}"});
    let children = children(&tool);
    let [call, result] = &children[..] else { panic!("{children:?}") };
    assert_eq!((&call["type"], &call["input"]), (&json!("tool-call"), &json!({"path": "a"})));
    assert_eq!((&result["type"], &result["output"]), (&json!("tool-result"), &json!("{\"contents\":\"x\"}")));
    assert_eq!((&call["call-id"], &result["call-id"]), (&json!("t"), &json!("t")));
    assert_eq!(result["is-error"], false);
}

#[test]
fn the_parameters_are_the_arguments_if_the_model_gave_none() {
    for raw in [json!(""), Value::Null] {
        let tool = json!({"toolCallId": "t", "name": "n", "rawArgs": raw, "params": "{\"p\":1}"});
        assert_eq!(children(&tool)[0]["input"], json!({"p": 1}));
    }
}

#[test]
fn a_call_has_a_result_once_it_has_ended() {
    for (status, count, error) in [
        ("completed", 2, false),
        ("error", 2, true),
        ("cancelled", 2, false),
        ("loading", 1, false),
        ("running", 1, false),
    ] {
        let children = children(&json!({"toolCallId": "t", "name": "n", "rawArgs": "{}", "status": status}));
        assert_eq!(children.len(), count, "{status}: {children:?}");
        assert_eq!(children.last().expect("a child")["is-error"] == json!(true), error, "{status}");
    }
    let with_error =
        children(&json!({"toolCallId": "t", "name": "n", "status": "error", "error": "{\"m\":1}"}));
    assert_eq!(with_error[1]["output"], "{\"m\":1}");
}

#[test]
fn a_row_that_holds_no_json_is_a_problem() {
    let bubbles = json!([{"bubbleId": "b", "type": "unreadable", "raw": "torn {"}]);
    let (record, report) = convert_log_text("cursor-db", "record", &document(&bubbles));
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert_eq!(report.problems[0].code, Code::InvalidJson);
    assert!(record.contains("torn {"), "{record}");
}

#[test]
fn counts_of_zero_are_no_counts() {
    let used = |input: u64, output: u64| {
        let tokens = json!({"inputTokens": input, "outputTokens": output});
        let found = entries(&json!([{"bubbleId": "b", "type": 2, "text": "x", "tokenCount": tokens}]));
        found.into_iter().find_map(|entry| entry.get("token-usage").cloned())
    };
    assert_eq!(used(0, 0), None);
    let counted = used(3, 0).expect("counts");
    assert_eq!((&counted["input"], &counted["output"]), (&json!(3), &json!(0)));
}
