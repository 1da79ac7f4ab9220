//! Sessions of Cline: messages, restored documents, and sessions of other agents written as documents.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a log's record, after asserting that the record restores the log.
fn entries(log: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("cline", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "cline", &record);
    assert_eq!(back, log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// A session with this message.
fn session(message: &str) -> String {
    let head = r#""version":1,"sessionId":"1_a","origin":{"source":"cli","version":"3.0.65"}"#;
    format!(r#"{{{head},"messages":[{message}],"system_prompt":"Be brief."}}"#)
}

/// The entry that holds a text.
fn entry_with(text: &str, log: &str) -> Value {
    let found = entries(log).into_iter().find(|entry| entry.to_string().contains(text));
    found.unwrap_or_else(|| panic!("no entry with {text}"))
}

#[test]
fn an_error_that_only_people_see_is_an_error_and_no_message() {
    let shown = r#"{"id":"e","role":"assistant","content":[{"type":"text","text":"No route."}],"metadata":{"displayOnly":true,"displayRole":"error"}}"#;
    let entry = entry_with("No route.", &session(shown));
    assert_ne!(entry["type"], "assistant", "{entry}");
    let (claude, _) = convert_log_text("cline", "claude-code", &session(shown));
    assert!(!claude.contains("No route."), "{claude}");
    let said = shown.replace("\"displayRole\":\"error\"", "\"displayRole\":\"status\"");
    assert_eq!(entry_with("No route.", &session(&said))["type"], "assistant");
}

#[test]
fn a_result_fails_if_everything_in_it_failed() {
    let result = |outcomes: &str| {
        let block = format!(
            r#"{{"type":"tool_result","tool_use_id":"c","name":"run_commands","content":{outcomes}}}"#
        );
        entry_with("tool-result", &session(&format!(r#"{{"role":"user","content":[{block}]}}"#))).to_string()
    };
    let (failure, success) = (r#"{"query":"a","success":false}"#, r#"{"query":"b","success":true}"#);
    assert!(result(&format!("[{failure}]")).contains("\"outcome\":\"failed\""));
    assert!(!result(&format!("[{failure},{success}]")).contains("\"outcome\":\"failed\""));
    assert!(!result("[]").contains("\"outcome\":\"failed\""));
}

/// A record counts the cache within the input, as Cline does.
#[test]
fn the_input_of_a_response_includes_the_cache() {
    let message = r#"{"role":"assistant","content":"x","metrics":{"inputTokens":160,"outputTokens":33,"cacheReadTokens":40,"cacheWriteTokens":20}}"#;
    let entry = entry_with("token-usage", &session(message));
    let usage = &entry["token-usage"];
    let counted = (&usage["input"], &usage["cached"], &usage["cache-write"], &usage["output"]);
    assert_eq!(counted, (&json!(160), &json!(40), &json!(20), &json!(33)), "{entry}");
}

#[test]
fn a_signature_belongs_to_the_provider_of_the_model() {
    let message = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"c2lnbmVk"}],"modelInfo":{"id":"m","provider":"gemini"}}"#;
    let (claude, _) = convert_log_text("cline", "claude-code", &session(message));
    assert!(!claude.contains("c2lnbmVk"), "{claude}");
    let (claude, _) =
        convert_log_text("cline", "claude-code", &session(&message.replace("gemini", "anthropic")));
    assert!(claude.contains("c2lnbmVk"), "{claude}");
}

#[test]
fn pictures_and_files_are_parts_of_a_message() {
    let message = r#"{"role":"user","content":[{"type":"image","data":"iVBORw0KGgo=","mediaType":"image/png"},{"type":"file","path":"/srv/a","content":"high at six"}]}"#;
    let (claude, _) = convert_log_text("cline", "claude-code", &session(message));
    assert!(claude.contains("iVBORw0KGgo=") && claude.contains("high at six"), "{claude}");
    entries(&session(message));
}

#[test]
fn a_session_of_another_agent_becomes_a_document_of_cline() {
    let pi = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"List the tides.","timestamp":1}}"#;
    let (log, _) = convert_log_text("pi", "cline", &format!("{pi}\n"));
    let document: Value = serde_json::from_str(&log).expect("JSON");
    assert_eq!((&document["version"], &document["origin"]["source"]), (&json!(1), &json!("cli")), "{log}");
    assert_eq!(document["messages"][0]["content"][0]["text"], "List the tides.", "{log}");
}

/// Cline refuses a history with a result without a name, and sends a list of texts as JSON.
#[test]
fn a_result_has_the_name_of_its_call_and_one_text() {
    let pi = concat!(
        r#"{"type":"message","id":"b","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"timestamp":2}}"#,
        "\n",
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"timestamp":3}}"#,
        "\n",
    );
    let (log, _) = convert_log_text("pi", "cline", pi);
    let document: Value = serde_json::from_str(&log).expect("JSON");
    let result = &document["messages"][1]["content"][0];
    assert_eq!(result["name"], "read", "{log}");
    assert!(
        result["content"].as_str().is_some_and(|text| text.contains("one") && text.contains("two")),
        "{log}"
    );
}
