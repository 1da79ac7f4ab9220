//! Pi's session logs: lines, restored logs, and sessions of other agents written as logs.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a log's record, after asserting that the record restores the log.
fn entries(log: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("pi", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "pi", &record);
    assert_eq!(back, log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

fn lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).expect("a document")).collect()
}

fn said_by(provider: &str, signature: &str) -> String {
    format!(
        r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-15T08:00:00.000Z","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"Hm.","thinkingSignature":"{signature}"}}],"provider":"{provider}","model":"m"}}}}"#
    ) + "\n"
}

#[test]
fn state_belongs_to_the_provider_that_the_message_names() {
    for provider in ["anthropic", "google", "someone-else"] {
        let entries = entries(&said_by(provider, "c2ln"));
        let thought = &entries[0]["children"][0];
        assert_eq!((&thought["issuer"], &thought["signature"]), (&provider.into(), &"c2ln".into()));
    }
    let (claude, _) = convert_log_text("pi", "claude-code", &said_by("anthropic", "c2ln"));
    assert!(claude.contains(r#""signature":"c2ln""#), "{claude}");
    let (claude, _) = convert_log_text("pi", "claude-code", &said_by("google", "c2ln"));
    assert!(!claude.contains("c2ln"), "{claude}");
}

#[test]
fn the_name_of_a_member_is_no_state() {
    for name in ["reasoning_content", "reasoning", r#"{\"type\":\"reasoning\",\"id\":\"rs_1\"}"#] {
        let entries = entries(&said_by("openai", name));
        assert_eq!(entries[0]["children"][0].get("signature"), None, "{name}");
    }
}

#[test]
fn an_edited_issuer_is_lost_aloud() {
    let (record, _) = convert_log_text("pi", "record", &said_by("google", "c2ln"));
    let edited = record.replace(r#""issuer":"google""#, r#""issuer":"xai""#);
    assert_ne!(record, edited);
    let (_, report) = convert_log_text("record", "pi", &edited);
    assert!(report.lost > 0);
}

const CLAUDE: &str = concat!(
    r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Look"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Read","input":{"p":1}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":"two","is_error":true}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:03.000Z","isCompactSummary":true,"message":{"role":"user","content":"So far."}}"#,
    "\n",
);

#[test]
fn a_session_of_claude_code_becomes_a_tree() {
    let (log, report) = convert_log_text("claude-code", "pi", CLAUDE);
    let lines = lines(&log);
    let words: Vec<_> = lines
        .iter()
        .map(|line| line["message"]["role"].as_str().or(line["type"].as_str()).unwrap_or_default())
        .collect();
    assert_eq!(words, ["session", "user", "assistant", "toolResult", "toolResult", "user"]);
    assert_eq!(
        (&lines[0]["id"], &lines[0]["cwd"], &lines[0]["version"]),
        (&"11111111-2222-4333-8444-555555555555".into(), &"/w".into(), &3.into())
    );
    for pair in lines[1..].windows(2) {
        assert_eq!(pair[0]["id"], pair[1]["parentId"], "{log}");
    }
    let said = &lines[2]["message"];
    assert_eq!((&said["provider"], &said["stopReason"]), (&"anthropic".into(), &"toolUse".into()));
    assert_eq!(said["content"][0]["thinkingSignature"], "c2ln");
    assert_eq!((&lines[4]["id"], &lines[4]["message"]["isError"]), (&"u3".into(), &true.into()));
    assert_eq!(lines[3]["message"]["toolName"], "Read");
    // A `compaction` line would hide all earlier lines from Pi.
    assert_eq!(lines[5]["message"]["content"][0]["text"], "So far.");
    assert_eq!(report.lost_paths.iter().filter(|lost| lost.path.contains("content")).count(), 0);
}

#[test]
fn calls_made_at_once_stand_in_one_message_before_their_results() {
    let item = |payload: Value| json!({"timestamp": "2026-11-15T08:00:01.000Z", "type": "response_item", "payload": payload});
    let call =
        |id: &str| item(json!({"type": "function_call", "name": "look", "arguments": "{}", "call_id": id}));
    let result =
        |id: &str| item(json!({"type": "function_call_output", "call_id": id, "output": format!("of {id}")}));
    let said = |text: &str| {
        item(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}),
        )
    };
    let log = [
        said("first"),
        call("a"),
        call("b"),
        said("between"),
        call("c"),
        result("b"),
        result("a"),
        result("c"),
        said("last"),
    ];
    let log = log.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let (out, report) = convert_log_text("codex", "pi", &log);
    assert_eq!(report.leaves, report.mapped + report.kept + report.lost);
    let content = |line: &Value| {
        let blocks = line["message"]["content"].as_array().cloned().unwrap_or_default();
        blocks
            .iter()
            .map(|block| block["id"].as_str().or(block["text"].as_str()).unwrap_or("?").to_owned())
            .collect::<Vec<_>>()
    };
    let lines = lines(&out);
    let told: Vec<_> = lines.iter().skip(1).map(content).collect();
    assert_eq!(
        told,
        [
            vec!["first"],
            vec!["a", "b", "between", "c"],
            vec!["of b"],
            vec!["of a"],
            vec!["of c"],
            vec!["last"]
        ]
    );
    // Pi adds up the usage of every response, and fails at a response without usage.
    let answers: Vec<&Value> = lines.iter().filter(|line| line["message"]["role"] == "assistant").collect();
    assert!(answers.iter().all(|line| line["message"]["usage"]["totalTokens"] == 0), "{out}");
    let (again, _) = convert_log_text("pi", "record", &out);
    assert!(!again.contains("token-usage"), "nobody counted: {again}");
    // Read again, and in a log without messages around them, all items are present in their original order.
    let (back, _) = convert_log_text("pi", "codex", &out);
    let order: Vec<&str> =
        ["first", "\"a\"", "\"b\"", "between", "\"c\"", "of b", "of a", "of c", "last"].into();
    let mut at = 0;
    for text in order {
        at += back[at..].find(text).unwrap_or_else(|| panic!("`{text}` is missing after byte {at}: {back}"));
    }
}

#[test]
fn arguments_that_are_a_string_keep_an_escaped_quote_at_their_end() {
    let line = json!({"type": "message", "id": "m", "parentId": null, "timestamp": "2026-11-15T08:00:01.000Z", "message": {
        "role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "look", "arguments": "say \"hi\""}]}});
    let (out, _) = convert_log_text("pi", "claude-code", &line.to_string());
    let input = lines(&out).iter().find_map(|line| line["message"]["content"][0].get("input").cloned());
    assert_eq!(input, Some(json!({"input": "say \"hi\""})), "{out}");
}

#[test]
fn a_change_names_its_file_and_a_failed_one_none() {
    let log = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fixtures/agents/pi/2026-11/edits.jsonl"
    ));
    let entries = entries(&log.unwrap());
    let files: Vec<Value> = entries
        .iter()
        .filter(|entry| entry["type"] == "tool-result")
        .map(|entry| entry["files"].clone())
        .collect();
    assert_eq!(
        files,
        [
            serde_json::json!([{"path": "tides.txt", "action": "patch", "diff": "--- tides.txt\n+++ tides.txt\n@@ -1,2 +1,2 @@\n dawn\n-low\n+high\n"}]),
            serde_json::json!([{"path": "new/index.txt", "action": "write"}]),
            Value::Null
        ]
    );
    let errors: Vec<&Value> = entries.iter().filter(|entry| entry["event-type"] == "error").collect();
    assert_eq!(errors[0]["data"]["message"], "503 the harbour is closed");
}

#[test]
fn results_have_the_duration_that_newer_versions_write() {
    let log =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/agents/pi/2026-11/durations.jsonl"));
    let entries = entries(log);
    let results: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "tool-result").collect();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["duration"], &results[1]["duration"]), (&json!(41), &Value::Null), "{results:?}");
}
