//! Qwen Code's session logs: authors, repeated usage, and sessions of other agents written as logs.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::sniff::sniff;
use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a log's record, after asserting that the record restores the log.
fn entries(log: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("qwen-code", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "qwen-code", &record);
    assert_eq!(back, log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

fn line(id: &str, kind: &str, rest: &Value) -> Value {
    let mut line = json!({"uuid": id, "parentUuid": null, "sessionId": "s", "timestamp": "2026-11-16T09:00:00.000Z",
        "type": kind, "cwd": "/w", "version": "0.24.4"});
    let members = rest.as_object().expect("members").clone();
    line.as_object_mut().expect("a line").extend(members);
    line
}

fn log(lines: &[Value]) -> String {
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

fn said(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn telemetry(id: &str, event: &Value) -> Value {
    line(id, "system", &json!({"subtype": "ui_telemetry", "systemPayload": {"uiEvent": event}}))
}

fn answer(id: &str) -> Value {
    let counts = json!({"promptTokenCount": 1000, "candidatesTokenCount": 50, "thoughtsTokenCount": 20,
        "totalTokenCount": 1050, "cachedContentTokenCount": 600});
    let parts = json!([{"text": "hm", "thought": true}, {"text": "I look."},
        {"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "exit 3"}}}]);
    line(
        id,
        "assistant",
        &json!({"model": "m", "message": {"role": "model", "parts": parts}, "usageMetadata": counts}),
    )
}

#[test]
fn who_spoke_is_told() {
    let lines = [
        line("a", "user", &json!({"provenance": "real_user", "message": said("typed")})),
        line("b", "user", &json!({"message": said("of an older version")})),
        line("c", "user", &json!({"subtype": "notification", "message": said("a task ended")})),
        line(
            "d",
            "user",
            &json!({"subtype": "mid_turn_user_message", "provenance": "real_user", "message": said("and hurry")}),
        ),
        line(
            "e",
            "system",
            &json!({"subtype": "slash_command", "systemPayload": {"phase": "invocation", "rawCommand": "/mcp"}}),
        ),
    ];
    let entries = entries(&log(&lines));
    let origins: Vec<_> = entries.iter().map(|entry| entry["origin"].clone()).collect();
    assert_eq!(origins, [json!("own"), Value::Null, json!("harness"), json!("own"), json!("command")]);
    assert_eq!(entries[4]["content"], "/mcp");
}

#[test]
fn telemetry_counts_nothing_and_tells_how_long_a_call_took() {
    let response = json!({"event.name": "qwen-code.api_response", "response_id": "r1", "input_token_count": 1000,
        "output_token_count": 50, "cached_content_token_count": 600, "response_text": "I look."});
    let called = json!({"event.name": "qwen-code.tool_call", "call_id": "c", "duration_ms": 19, "decision": "auto_accept"});
    let result = json!({"message": {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "run_shell_command",
        "response": {"error": "Exit"}}}]}, "toolCallResult": {"callId": "c", "status": "error",
        "resultDisplay": {"type": "shell_result", "exitCode": 3}}});
    let lines =
        [telemetry("a", &response), answer("b"), telemetry("c", &called), line("d", "tool_result", &result)];
    let entries = entries(&log(&lines));
    let used: Vec<_> = entries.iter().filter_map(|entry| entry["token-usage"].as_object()).collect();
    assert_eq!(used.len(), 1, "{entries:?}");
    // Here the total shows that the reasoning is part of the output.
    assert_eq!([&used[0]["input"], &used[0]["output"], &used[0]["reasoning"]], [1000, 50, 20]);
    assert_eq!(used[0]["response-id"], "r1");
    let result = &entries[3];
    assert_eq!([&result["exit-code"], &result["duration"]], [3, 19]);
    assert_eq!((&result["status"], &result["is-error"]), (&"error".into(), &true.into()));
}

#[test]
fn what_a_person_decided_is_told() {
    let called = |id: &str, decision: &str| {
        telemetry(
            id,
            &json!({"event.name": "qwen-code.tool_call", "call_id": id, "function_name": "edit", "decision": decision}),
        )
    };
    let entries = entries(&log(&[called("a", "auto_accept"), called("b", "accept"), called("c", "reject")]));
    let answers: Vec<_> =
        entries.iter().filter(|entry| entry["event-type"] == "permission-resolved").collect();
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[1]["data"]["id"], &answers[1]["data"]["answer"]), (&"c".into(), &"reject".into()));
}

#[test]
fn compressions_and_rewinds_are_events() {
    let compressed = json!({"subtype": "chat_compression", "systemPayload": {"info": {"originalTokenCount": 9000,
        "newTokenCount": 700, "triggerReason": "auto"}, "compressedHistory": [{"role": "user", "parts": []}]}});
    let rewound = json!({"subtype": "rewind", "systemPayload": {"targetUuid": "a"}});
    let entries = entries(&log(&[line("b", "system", &compressed), line("c", "system", &rewound)]));
    let words: Vec<_> = entries.iter().map(|entry| entry["event-type"].clone()).collect();
    assert_eq!(words, ["compacted", "chat_compression", "rewound", "rewind"]);
    assert_eq!([&entries[0]["data"]["before"], &entries[0]["data"]["after"]], [9000, 700]);
    assert_eq!(
        (&entries[2]["data"]["to"], &entries[2]["timestamp"]),
        (&"a".into(), &"2026-11-16T09:00:00.000Z".into())
    );
}

#[test]
fn it_is_no_log_of_claude_code_and_claude_codes_is_none_of_its() {
    let named = |lines: &[Value]| sniff(log(lines).as_bytes(), true).map(|guess| guess.dialect.name);
    let snapshot =
        line("a", "system", &json!({"subtype": "attribution_snapshot", "systemPayload": {"snapshot": {}}}));
    let telemetry = telemetry("b", &json!({"event.name": "qwen-code.api_response"}));
    assert_eq!(named(&[snapshot.clone(), telemetry.clone()]), Some("qwen-code"));
    assert_eq!(named(&[snapshot, telemetry, answer("c")]), Some("qwen-code"));
    assert_eq!(named(&[line("a", "user", &json!({"message": said("hi")}))]), Some("qwen-code"));
    let content = json!({"message": {"role": "user", "content": "hi"}});
    assert_eq!(named(&[line("a", "user", &content)]), Some("claude-code"));
    assert_eq!(
        named(&[line("a", "system", &json!({"subtype": "local_command", "content": "x"}))]),
        Some("claude-code")
    );
    // Live output.
    let live = json!({"type": "system", "subtype": "init", "uuid": "u", "session_id": "s", "qwen_code_version": "0.24.4"});
    assert_ne!(named(&[live]), Some("qwen-code"));
}

#[test]
fn a_shuffled_log_comes_back() {
    let result = json!({"message": {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "~",
        "response": {"output": {"deep": 1}}, "parts": [{"inlineData": {"data": "AA==", "mimeType": "image/png"}}]}}, {"text": "~"}]},
        "toolCallResult": {"callId": "c", "status": "cancelled", "resultDisplay": {"fileDiff": "+a", "fileName": "~"}}});
    let two = json!({"message": {"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"output": "y"}}},
        {"functionResponse": {"id": "d", "response": null}}]}});
    let small = [
        answer("a"),
        line("b", "user", &json!({"message": said("~")})),
        line("c", "tool_result", &result),
        line("d", "tool_result", &two),
        line("e", "tool_result", &json!({"message": {"parts": [{"text": "none"}]}})),
        telemetry("f", &json!({"event.name": "qwen-code.tool_call", "call_id": "c", "duration_ms": 19, "decision": "reject"})),
        telemetry("g", &json!({"event.name": "qwen-code.other", "rating": 1})),
        telemetry("h", &json!({"event.name": "qwen-code.api_error", "error": "oh", "status_code": 99_999})),
        line("i", "system", &json!({"subtype": "at_command", "systemPayload": {"filesRead": []}})),
        line("j", "system", &json!({"subtype": "rewind", "systemPayload": {}})),
        line("k", "system", &json!({"subtype": "chat_compression", "systemPayload": {"compressedHistory": null}})),
        line("l", "system", &json!({"subtype": "new", "systemPayload": "~"})),
        line("m", "new", &json!({})),
        json!({"type": "user"}),
        json!([1]),
    ]
    .map(|line| line.to_string());
    let lines: Vec<&str> = small.iter().map(String::as_str).chain(["", "{\"uuid", "\u{0}", " 7"]).collect();
    let mut seed = 11_u64;
    for _ in 0..300 {
        let mut text = String::new();
        for _ in 0..10 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += lines[(seed >> 33) as usize % lines.len()];
            text += if seed >> 60 == 0 { "\r\n" } else { "\n" };
        }
        let (record, report) = convert_log_text("qwen-code", "record", &text);
        assert_eq!(report.lost, 0, "{:?} in\n{text}", report.lost_paths);
        let (back, _) = convert_log_text("record", "qwen-code", &record);
        assert_eq!(back, text, "from {record}");
    }
}

#[test]
fn a_session_of_another_agent_is_a_chain_with_its_directory() {
    let gemini = [
        json!({"sessionId": "11111111-2222-4333-8444-555555555555", "projectHash": "x", "directories": ["/w"]}),
        json!({"id": "u", "timestamp": "2026-11-16T09:00:01.000Z", "type": "user", "content": "go"}),
        json!({"id": "g", "timestamp": "2026-11-16T09:00:02.000Z", "type": "gemini", "content": "I look.", "model": "m",
            "thoughts": [{"subject": "Plan", "description": "first"}],
            "toolCalls": [{"id": "c", "name": "look", "args": {}, "result": "one", "status": "error"}]}),
    ];
    let (text, _) = convert_log_text("gemini-cli", "qwen-code", &log(&gemini));
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["user", "assistant", "tool_result"], "{text}");
    for pair in lines.windows(2) {
        assert_eq!(pair[0]["uuid"], pair[1]["parentUuid"], "{text}");
    }
    assert!(
        lines
            .iter()
            .all(|line| line["cwd"] == "/w" && line["sessionId"] == "11111111-2222-4333-8444-555555555555"),
        "{text}"
    );
    let parts = &lines[1]["message"]["parts"];
    assert_eq!((&parts[0]["thought"], &parts[0]["text"]), (&true.into(), &"first".into()));
    assert_eq!(parts[2]["functionCall"]["id"], "c");
    assert_eq!(lines[2]["message"]["parts"][0]["functionResponse"]["response"]["error"], "one");
    assert_eq!(lines[2]["toolCallResult"]["status"], "error");
}
