//! Session logs of Droid: lines, restored logs, and sessions of other agents written as logs.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a log's record, after asserting that the record restores the log.
fn entries(log: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("droid", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "droid", &record);
    assert_eq!(back, log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// A line with a message.
fn message(message: &str) -> String {
    format!(r#"{{"type":"message","id":"2","timestamp":"2026-01-01T00:00:02Z","message":{message}}}"#) + "\n"
}

#[test]
fn reminders_for_the_model_are_text_of_the_harness() {
    let typed = entries(&message(r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#));
    let hidden = entries(&message(
        r#"{"role":"user","content":[{"type":"text","text":"x"}],"visibility":"llm_only"}"#,
    ));
    assert_eq!(typed[0].get("origin"), None, "{}", typed[0]);
    assert_eq!(hidden[0]["origin"], "harness", "{}", hidden[0]);
}

#[test]
fn a_signature_belongs_to_the_provider_that_its_block_names() {
    let log = message(
        r#"{"role":"assistant","content":[{"type":"thinking","signature":"eA==","signatureProvider":"google","thinking":"x"}]}"#,
    );
    assert!(entries(&log)[0].to_string().contains("google"), "{log}");
    // Claude Code accepts only Anthropic's signatures.
    let (claude, _) = convert_log_text("droid", "claude-code", &log);
    assert!(!claude.contains("eA=="), "{claude}");
    let (claude, _) = convert_log_text("droid", "claude-code", &log.replace("google", "anthropic"));
    assert!(claude.contains("eA=="), "{claude}");
}

#[test]
fn an_empty_signature_signs_nothing() {
    let log =
        message(r#"{"role":"assistant","content":[{"type":"thinking","signature":"","thinking":"x"}]}"#);
    let entry = entries(&log)[0].to_string();
    assert!(!entry.contains("\"opaque\""), "{entry}");
}

#[test]
fn a_compaction_is_an_event_and_its_summary_a_message() {
    let line = r#"{"type":"compaction_state","id":"c","timestamp":"2026-01-01T00:00:04Z","summaryText":"Two tides.","anchorMessage":{"id":"2"},"removedCount":1}"#;
    let entries = entries(&format!("{line}\n"));
    let summary = entries.iter().find(|entry| entry.to_string().contains("Two tides.")).expect("a summary");
    assert_eq!(summary["origin"], "summary", "{summary}");
}

#[test]
fn a_session_of_another_agent_becomes_a_file_that_droid_resumes() {
    let pi = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"List the tides.","timestamp":1}}"#;
    let (log, _) = convert_log_text("pi", "droid", &format!("{pi}\n"));
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["type"], &lines[0]["version"]), (&json!("session_start"), &json!(2)), "{log}");
    assert_eq!(lines[1]["message"]["content"][0]["text"], "List the tides.", "{log}");
    assert_eq!(lines[1].get("parentId"), None, "{log}");
}
