//! Sessions of Crush's database: parts of messages, results as rows of their own, summaries and sessions of agents.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::error::Code;
use serde_json::{Value, json};

use crate::support::convert_log_text;

fn document(session: &Value, messages: &Value) -> String {
    let mut row = json!({"id": "s-1", "title": "Title", "created_at": 1_793_872_800_u64});
    row.as_object_mut().expect("a row").extend(session.as_object().expect("members").clone());
    json!({"crush": row, "rows": messages}).to_string()
}

/// The record of a session.
fn record(session: &Value, messages: &Value) -> Value {
    let (record, report) = convert_log_text("crush", "record", &document(session, messages));
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"].clone()
}

/// The entry of the only message with that role and these parts.
fn message(role: &str, parts: &Value) -> Value {
    let row = json!({"id": "m", "role": role, "parts": parts, "model": "claude-x", "provider": "anthropic",
        "created_at": 1_793_872_801_u64});
    let found = record(&json!({}), &json!([row]));
    let entries = found["entries"].as_array().expect("entries");
    entries.iter().find(|entry| entry["id"] == "m").unwrap_or_else(|| panic!("{entries:?}")).clone()
}

#[test]
fn the_results_of_a_response_are_a_message_of_the_user() {
    let result = |id: &str, is_error: bool| {
        json!({"type": "tool_result", "data": {"tool_call_id": id, "name": "bash", "content": "out", "data": "",
            "mime_type": "", "metadata": "{}", "is_error": is_error}})
    };
    let found = message("tool", &json!([result("a", false), result("b", true)]));
    assert_eq!(found["type"], "user");
    let children = found["children"].as_array().expect("results");
    let outcomes: Vec<_> = children.iter().map(|child| (&child["call-id"], &child["is-error"])).collect();
    assert_eq!(outcomes, [(&json!("a"), &json!(false)), (&json!("b"), &json!(true))], "{found}");
}

#[test]
fn arguments_are_json_in_a_string() {
    let call = |input: &str, finished: bool| {
        let data = json!({"id": "c", "name": "view", "input": input, "provider_executed": false, "finished": finished});
        message("assistant", &json!([{"type": "tool_call", "data": data}]))["children"][0].clone()
    };
    let whole = call("{\"file_path\":\"a\"}", true);
    assert_eq!((&whole["input"], whole.get("outcome")), (&json!({"file_path": "a"}), None), "{whole}");
    let cut = call("{\"file_", false);
    assert_eq!(cut["outcome"], "interrupted", "{cut}");
}

#[test]
fn reasoning_has_the_state_of_its_provider() {
    for (member, value, issuer) in [
        ("signature", json!("sig"), "anthropic"),
        ("thought_signature", json!("sig"), "google"),
        ("responses_data", json!({"item_id": "rs", "encrypted_content": "sig"}), "openai"),
    ] {
        let mut data = json!({"thinking": "hm", "signature": "", "thought_signature": "", "tool_id": ""});
        data[member] = value;
        let found = message("assistant", &json!([{"type": "reasoning", "data": data}])).to_string();
        assert!(found.contains("\"hm\"") && found.contains(&format!("\"{issuer}\"")), "{found}");
    }
}

#[test]
fn files_of_a_prompt_are_media() {
    let parts = json!([{"type": "text", "data": {"text": "look"}},
        {"type": "binary", "data": {"Path": "a.png", "MIMEType": "image/png", "Data": "AAAA"}},
        {"type": "finish", "data": {"reason": "stop", "time": 0}}]);
    let found = message("user", &parts).to_string();
    assert!(
        found.contains("\"image/png\"") && found.contains("\"AAAA\"") && found.contains("\"a.png\""),
        "{found}"
    );
}

#[test]
fn the_origin_of_a_prompt_is_its_writer() {
    let origin = |session: &Value, row: &Value| {
        let mut message =
            json!({"id": "m", "role": "user", "parts": [{"type": "text", "data": {"text": "x"}}]});
        message.as_object_mut().expect("a row").extend(row.as_object().expect("members").clone());
        let found = record(session, &json!([message]));
        let entries = found["entries"].as_array().expect("entries");
        let found = entries.iter().find(|entry| entry["id"] == "m").expect("the message").clone();
        assert_eq!(found["type"], "user", "{found}");
        found["origin"].clone()
    };
    let own = json!({});
    assert_eq!(origin(&own, &own), Value::Null);
    let hidden = json!({"parts": [{"type": "text", "data": {"text": "go on", "hidden": true}}]});
    assert_eq!(origin(&own, &hidden), "harness");
    let command = json!({"parts": [{"type": "shell_command", "data": {"command": "ls", "output": "a", "exit_code": 0}}]});
    assert_eq!(origin(&own, &command), "command");
    assert_eq!(origin(&own, &json!({"role": "assistant", "is_summary_message": 1})), "summary");
    assert_eq!(origin(&json!({"parent_session_id": "s-0", "parent_call": "c"}), &own), "agent");
}

#[test]
fn an_error_that_ends_a_response_is_an_error() {
    let finish = json!({"type": "finish", "data": {"reason": "error", "time": 1, "message": "Provider Error",
        "details": "quota exceeded"}});
    let row =
        json!({"id": "m", "role": "assistant", "parts": [{"type": "text", "data": {"text": "x"}}, finish]});
    let found = record(&json!({}), &json!([row])).to_string();
    assert!(found.contains("quota exceeded") && found.contains("Provider Error"), "{found}");
}

#[test]
fn a_session_names_its_folder_and_its_cost() {
    let row = json!({"folder": "/w", "cost": 0.25, "prompt_tokens": 900, "completion_tokens": 0});
    let (text, report) = convert_log_text("crush", "record", &document(&row, &json!([])));
    let found: Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(found["session"]["environment"]["working-dir"], "/w");
    assert!(text.contains("0.25") && text.contains("900"), "{text}");
    assert!(format!("{:?}", report.notes).contains("last response"), "{:?}", report.notes);
}

#[test]
fn parts_that_are_no_list_are_a_problem() {
    let messages = json!([{"id": "m", "role": "user", "parts": "torn ["}]);
    let (record, report) = convert_log_text("crush", "record", &document(&json!({}), &messages));
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert_eq!(report.problems[0].code, Code::InvalidJson);
    assert!(record.contains("torn ["), "{record}");
}
