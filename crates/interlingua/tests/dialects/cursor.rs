//! Cursor's transcripts: lines, reported gaps, and sessions of other agents written as transcripts.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log;

/// The record of a log, after asserting that the record restores the log.
fn record(log: &[u8]) -> Value {
    let (record, report) = convert_log("cursor", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log("record", "cursor", &record);
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(shown(&back), shown(log), "from {}", shown(&record));
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "from {}", shown(&record));
    serde_json::from_slice(&record).expect("a document")
}

fn entries(log: &str) -> Vec<Value> {
    record(log.as_bytes())["session"]["entries"].as_array().expect("entries").clone()
}

fn said(role: &str, content: &Value) -> String {
    json!({"role": role, "message": {"content": content}}).to_string() + "\n"
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn what_cursor_does_not_write_down_is_said_to_be_missing() {
    let record = record(said("user", &text("x")).as_bytes());
    let missing = record["session"]["vendor-ext"]["data"]["unrecorded"].as_str().unwrap_or_default();
    for word in ["results", "ids of calls", "models", "usage", "times"] {
        assert!(missing.contains(word), "{missing}");
    }
    assert_eq!(record["session"]["agent-meta"]["model-id"], "unknown");
}

#[test]
fn two_equal_calls_are_two() {
    let call = json!({"type": "tool_use", "name": "Shell", "input": {"command": "ls"}});
    let entries = entries(&said("assistant", &json!([call, call])));
    let children = entries[0]["children"].as_array().expect("children");
    assert_eq!(children.len(), 2);
    for (child, id) in children.iter().zip(["interlingua-call-1", "interlingua-call-2"]) {
        assert_eq!((&child["name"], &child["input"]), (&json!("Shell"), &json!({"command": "ls"})));
        // Cursor writes no ids: these ids are generated and marked as synthetic.
        assert_eq!((&child["call-id"], &child["synthetic-call-id"]), (&json!(id), &json!(true)));
        assert_eq!(child.get("id"), None);
    }
}

#[test]
fn a_stamp_is_the_time_of_a_message_where_it_tells_its_zone() {
    let time = |stamp: &str| {
        let words = format!("<timestamp>{stamp}</timestamp>\n<user_query>\nx\n</user_query>");
        let entry = entries(&said("user", &text(&words))).remove(0);
        // The text stays unchanged.
        assert_eq!(entry["content"], words);
        entry.get("timestamp").cloned()
    };
    assert_eq!(time("Thursday, Aug 6, 2026, 3:53 PM (UTC+5:30)"), Some("2026-08-06T15:53:00+05:30".into()));
    assert_eq!(time("Thursday, Aug 6, 2026, 3:53 PM"), None);
}

#[test]
fn a_persons_words_are_told_from_what_cursor_adds() {
    let origin = |words: &str| entries(&said("user", &text(words))).remove(0)["origin"].clone();
    assert_eq!(origin("<user_query>\nx\n</user_query>"), "own");
    assert_eq!(origin("<git_status>\nx\n</git_status>\n<user_query>\nx\n</user_query>"), "own");
    assert_eq!(origin("<git_status>\nx\n</git_status>"), "harness");
    for words in ["plain", "<b> is a tag", "<T>x</T>", "1 < 2 > 0", ""] {
        assert_eq!(origin(words), Value::Null, "{words}");
    }
}

#[test]
fn turns_end_well_badly_or_by_hand() {
    let class = |line: &str| entries(&format!("{line}\n")).remove(0)["data"]["stop"]["class"].clone();
    assert_eq!(class(r#"{"type":"turn_ended","status":"success"}"#), "end_turn");
    assert_eq!(
        class(r#"{"type":"turn_ended","status":"error","error":"User aborted request"}"#),
        "cancelled"
    );
    assert_eq!(class(r#"{"type":"turn_ended","status":"error","error":"no credit"}"#), "error");
    assert_eq!(class(r#"{"type":"turn_ended","status":"of tomorrow"}"#), Value::Null);
}

#[test]
fn any_order_of_lines_comes_back() {
    let pool = [
        said("user", &text("~")),
        said("user", &json!("a string")),
        said(
            "assistant",
            &json!([{"type": "tool_use", "name": "f", "input": "~~"}, {"type": "odd"}, {"type": "text", "text": "x"}]),
        ),
        said(
            "assistant",
            &json!([{"type": "tool_use", "name": "f", "id": "c", "input": null}, {"type": "text"}]),
        ),
        said("tool", &text("x")),
        "{\"type\":\"turn_ended\",\"status\":\"success\"}\r\n".to_owned(),
        "{ \"type\" : \"turn_ended\", \"status\":\"error\",\"error\":7 }\n".to_owned(),
        "{\"type\":\"of tomorrow\"}\n".to_owned(),
        "{\"role\":\"us\n".to_owned(),
        "\0\0\n".to_owned(),
        "\n".to_owned(),
    ];
    let mut seed = 11_u64;
    for _ in 0..300 {
        let mut log = String::new();
        for _ in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            log += &pool[(seed >> 33) as usize % pool.len()];
        }
        record(log.as_bytes());
    }
}

#[test]
fn a_session_of_another_agent_becomes_bare_lines() {
    let claude = concat!(
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Look"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Read","input":{"p":1}}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}}"#,
        "\n",
    );
    let (log, report) = convert_log("claude-code", "cursor", claude.as_bytes());
    let expected = concat!(
        r#"{"role":"user","message":{"content":[{"type":"text","text":"Look"}]}}"#,
        "\n",
        r#"{"role":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Read","input":{"p":1}}]}}"#,
        "\n",
    );
    assert_eq!(String::from_utf8_lossy(&log), expected);
    assert!(
        report.lost_paths.iter().any(|lost| lost.path == "/message/content[]/content"),
        "{:?}",
        report.lost_paths
    );
}
