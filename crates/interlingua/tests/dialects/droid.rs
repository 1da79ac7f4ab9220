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

/// Droid answers a call with `Tool execution was cancelled` if its result is not in the message after the call.
#[test]
fn the_results_of_parallel_calls_are_in_the_message_after_the_calls() {
    let of_pi = concat!(
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Look.","timestamp":1}}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Two."},{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"read","arguments":{}}],"timestamp":2}}"#,
        "\n",
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"read","content":[{"type":"text","text":"second"}],"timestamp":3}}"#,
        "\n",
        r#"{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"first"}],"timestamp":4}}"#,
        "\n",
    );
    // The results of Gemini CLI are in the message of the calls, those of Claude Code in messages of the user.
    let of_gemini = concat!(
        r#"{"sessionId":"00000000-0000-4000-8000-000000000001","projectHash":"a","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}"#,
        "\n",
        r#"{"id":"m","timestamp":"2026-01-01T00:00:01.000Z","type":"gemini","content":"Two.","toolCalls":[{"id":"c1","name":"read","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","name":"read","response":{"output":"first"}}}]},{"id":"c2","name":"read","args":{},"status":"success","result":[{"functionResponse":{"id":"c2","name":"read","response":{"output":"second"}}}]}]}"#,
        "\n",
    );
    let claude = |uuid: &str, parent: &str, role: &str, block: &str| {
        format!(
            r#"{{"parentUuid":"{parent}","isSidechain":false,"cwd":"/w","sessionId":"00000000-0000-4000-8000-000000000001","version":"2","type":"{role}","message":{{"role":"{role}","content":[{block}]}},"uuid":"{uuid}","timestamp":"2026-01-01T00:00:01.000Z"}}"#
        ) + "\n"
    };
    let of_claude = [
        claude("a", "", "assistant", r#"{"type":"tool_use","id":"c1","name":"Read","input":{}}"#),
        claude("b", "a", "assistant", r#"{"type":"tool_use","id":"c2","name":"Read","input":{}}"#),
        claude("c", "b", "user", r#"{"type":"tool_result","tool_use_id":"c2","content":"second"}"#),
        claude("d", "c", "user", r#"{"type":"tool_result","tool_use_id":"c1","content":"first"}"#),
        claude("e", "d", "assistant", r#"{"type":"text","text":"Both."}"#),
    ];
    for (from, log) in [("pi", of_pi), ("gemini-cli", of_gemini), ("claude-code", &of_claude.concat())] {
        let (log, _) = convert_log_text(from, "droid", log);
        let messages: Vec<Value> =
            log.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let of_type = |message: &Value, kind: &str| {
            let blocks = message["message"]["content"].as_array().expect("blocks").iter();
            blocks.filter(|block| block["type"] == kind).count()
        };
        let calls = messages.iter().position(|message| of_type(message, "tool_use") == 2);
        let calls = calls.unwrap_or_else(|| panic!("{from}: {log}"));
        assert_eq!(of_type(&messages[calls + 1], "tool_result"), 2, "{from}: {log}");
    }
}
