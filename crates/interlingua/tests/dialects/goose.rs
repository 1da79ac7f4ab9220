//! Sessions of Goose: messages, restored documents and lines, and sessions of other agents written as documents.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a log's record, after asserting that the record restores the log.
fn entries(log: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("goose", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "goose", &record);
    assert_eq!(back, log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// A session with these messages.
fn session(messages: &str) -> String {
    format!(
        r#"{{"id":"20261101_1","working_dir":"/srv","name":"Tides","created_at":"2026-11-01T08:00:00Z","conversation":[{messages}],"provider_name":"anthropic","goose_mode":"auto"}}"#
    )
}

/// A message with these blocks and this metadata.
fn message(role: &str, blocks: &str, metadata: &str) -> String {
    format!(r#"{{"id":"m","role":"{role}","created":1793520000,"content":[{blocks}],"metadata":{metadata}}}"#)
}

const VISIBLE: &str = r#"{"userVisible":true,"agentVisible":true}"#;

/// The entry that holds a text.
fn entry_with(text: &str, log: &str) -> Value {
    let found = entries(log).into_iter().find(|entry| entry.to_string().contains(text));
    found.unwrap_or_else(|| panic!("no entry with {text}"))
}

#[test]
fn a_message_that_people_do_not_see_comes_from_the_program() {
    let text = r#"{"type":"text","text":"It is noon."}"#;
    let hidden = r#"{"userVisible":false,"agentVisible":true,"turnContext":true}"#;
    let origin =
        |metadata| entry_with("It is noon.", &session(&message("user", text, metadata)))["origin"].clone();
    assert_eq!(origin(hidden), "harness");
    assert_ne!(origin(VISIBLE), "harness");
}

/// A compaction hides the messages before it from the model and adds a summary that people do not see.
#[test]
fn the_message_after_hidden_messages_is_a_summary() {
    let said = |text: &str, metadata: &str| {
        message("user", &format!(r#"{{"type":"text","text":"{text}"}}"#), metadata)
    };
    let old = said("Old.", r#"{"userVisible":true,"agentVisible":false}"#);
    let summary = said("All in short.", r#"{"userVisible":false,"agentVisible":true}"#);
    let context = said("It is noon.", r#"{"userVisible":false,"agentVisible":true,"turnContext":true}"#);
    let origin = |text: &str, messages: &str| entry_with(text, &session(messages))["origin"].clone();
    assert_eq!(origin("All in short.", &format!("{old},{summary}")), "summary");
    assert_eq!(origin("All in short.", &format!("{},{summary}", said("Old.", VISIBLE))), "harness");
    assert_eq!(origin("It is noon.", &format!("{old},{context}")), "harness");
}

#[test]
fn a_notification_for_people_is_a_notice() {
    let shown = r#"{"type":"systemNotification","notificationType":"inlineMessage","msg":"Compacting."}"#;
    let log = session(&message("assistant", shown, r#"{"userVisible":true,"agentVisible":false}"#));
    let entry = entry_with("Compacting.", &log);
    assert_eq!(entry["event-type"], "systemNotification", "{entry}");
    let (claude, _) = convert_log_text("goose", "claude-code", &log);
    assert!(!claude.contains("Compacting."), "{claude}");
}

/// Results had three forms: contents in an object, a list of contents, and the error of a tool that could not run.
#[test]
fn a_result_is_read_in_each_of_its_forms() {
    let call = r#"{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}"#;
    let contents = r#"[{"type":"text","text":"high at six"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]"#;
    for (outcome, failed) in [
        (format!(r#"{{"status":"success","value":{{"content":{contents},"isError":true}}}}"#), true),
        (format!(r#"{{"status":"success","value":{contents}}}"#), false),
        (r#"{"status":"error","error":"-32603: high at six"}"#.to_owned(), true),
    ] {
        let result = format!(r#"{{"type":"toolResponse","id":"c","toolResult":{outcome}}}"#);
        let log = session(&format!(
            "{},{}",
            message("assistant", call, VISIBLE),
            message("user", &result, VISIBLE)
        ));
        let entry = entry_with("high at six", &log).to_string();
        assert_eq!(entry.contains("\"is-error\":true"), failed, "{entry}");
        let (claude, _) = convert_log_text("goose", "claude-code", &log);
        assert!(claude.contains("high at six"), "{claude}");
        assert_eq!(claude.contains("iVBORw0KGgo="), outcome.contains("iVBORw0KGgo="), "{claude}");
    }
}

#[test]
fn a_call_that_could_not_be_parsed_stays_in_its_message() {
    let call = r#"{"type":"toolRequest","id":"c","toolCall":{"status":"error","error":"-32602: no JSON"}}"#;
    let log = session(&message("assistant", call, VISIBLE));
    assert!(entries(&log).iter().all(|entry| entry["type"] != "tool-call"));
    let (_, report) = convert_log_text("goose", "claude-code", &log);
    assert!(report.lost > 0);
}

/// A record counts the cache within the input, as Goose does.
#[test]
fn the_input_of_a_response_includes_the_cache() {
    let metadata = r#"{"userVisible":true,"agentVisible":true,"usage":{"inputTokens":160,"outputTokens":33,"cacheReadTokens":40,"cacheWriteTokens":20}}"#;
    let log = session(&message("assistant", r#"{"type":"text","text":"x"}"#, metadata));
    let usage = &entry_with("token-usage", &log)["token-usage"];
    let counted = (&usage["input"], &usage["cached"], &usage["cache-write"], &usage["output"]);
    assert_eq!(counted, (&json!(160), &json!(40), &json!(20), &json!(33)), "{usage}");
}

#[test]
fn a_signature_belongs_to_the_provider_of_the_message() {
    let thought = r#"{"type":"thinking","thinking":"x","signature":"c2lnbmVk"}"#;
    let by = |provider: &str| {
        let metadata = format!(
            r#"{{"userVisible":true,"agentVisible":true,"inference":{{"provider":"{provider}","requestedModel":"m"}}}}"#
        );
        let log = session(&message("assistant", thought, &metadata));
        entries(&log);
        convert_log_text("goose", "claude-code", &log).0.contains("c2lnbmVk")
    };
    assert!(by("anthropic"));
    assert!(!by("google"));
}

#[test]
fn lines_of_older_versions_name_their_session_in_the_first_line() {
    let log = concat!(
        r#"{"working_dir":"/srv","description":"Tides","message_count":1,"accumulated_input_tokens":70,"accumulated_output_tokens":8}"#,
        "\n",
        r#"{"role":"user","created":1751440000,"content":[{"type":"text","text":"When?"}]}"#,
        "\n",
    );
    let (record, _) = convert_log_text("goose", "record", log);
    let record: Value = serde_json::from_str(&record).expect("a document");
    assert_eq!(record["session"]["environment"]["working-dir"], "/srv", "{record}");
    assert!(entries(log).iter().any(|entry| entry["token-usage"]["input"] == 70));
}

/// Goose refuses a document without these members.
#[test]
fn a_session_of_another_agent_becomes_a_document_that_goose_imports() {
    let pi = concat!(
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"List the tides.","timestamp":1}}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","provider":"openai","model":"gpt-5","content":[{"type":"thinking","thinking":"Hm."},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}"#,
        "\n",
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"06:12"}],"isError":true}}"#,
        "\n",
    );
    let (log, _) = convert_log_text("pi", "goose", pi);
    let document: Value = serde_json::from_str(&log).expect("JSON");
    for name in ["id", "working_dir", "name", "created_at", "updated_at"] {
        assert!(document[name].is_string(), "{name} of {log}");
    }
    assert!(document["extension_data"].is_object() && document["message_count"].is_u64(), "{log}");
    let messages = document["conversation"].as_array().expect("messages");
    assert_eq!(messages.len(), 3, "{log}");
    for message in messages {
        assert!(message["created"].as_i64().is_some_and(|created| created > 1_700_000_000), "{message}");
        assert_eq!(message["metadata"]["agentVisible"], true, "{message}");
    }
    assert_eq!(messages[0]["content"][0]["text"], "List the tides.");
    let [thought, call] = [0, 1].map(|at| &messages[1]["content"][at]);
    assert_eq!((&thought["thinking"], &thought["signature"]), (&json!("Hm."), &json!("")), "{thought}");
    assert_eq!(call["toolCall"]["value"], json!({"name": "bash", "arguments": {"command": "ls"}}));
    // Goose requires both members.
    assert_eq!(
        messages[1]["metadata"]["inference"],
        json!({"provider": "unknown", "requestedModel": "gpt-5"})
    );
    let value = &messages[2]["content"][0]["toolResult"]["value"];
    assert_eq!((&value["content"][0]["text"], &value["isError"]), (&json!("06:12"), &json!(true)), "{log}");
}

/// Goose sorts the messages of a session by their times.
#[test]
fn no_built_message_is_older_than_the_message_before() {
    let line = |id: &str, parent: &str, second: u8| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:0{second}.000Z","message":{{"role":"user","content":"{id}","timestamp":1}}}}"#
        ) + "\n"
    };
    let pi = line("first", "null", 7) + &line("second", "\"first\"", 2) + &line("third", "\"second\"", 9);
    let document: Value = serde_json::from_str(&convert_log_text("pi", "goose", &pi).0).expect("JSON");
    let seconds: Vec<i64> = document["conversation"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|message| message["created"].as_i64())
        .map(|created| created % 60)
        .collect();
    assert_eq!(seconds, [7, 7, 9], "{document}");
}
