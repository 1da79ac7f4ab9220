//! Copilot's session logs: lines, repeated values, usage totals, and sessions of other agents written as logs.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log;

/// The record of a log, after asserting that the record restores the log.
fn record(log: &[u8]) -> Value {
    let (record, report) = convert_log("copilot-cli", "record", log);
    assert_eq!((report.lost, report.verbatim), (0, 0), "{:?}", report.lost_paths);
    let (back, report) = convert_log("record", "copilot-cli", &record);
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(shown(&back), shown(log), "from {}", shown(&record));
    assert_eq!(report.problems, [], "from {}", shown(&record));
    serde_json::from_slice(&record).expect("a document")
}

fn entries(log: &str) -> Vec<Value> {
    record(log.as_bytes())["session"]["entries"].as_array().expect("entries").clone()
}

/// A line of that type; its id and time come from its number, and its parent is the line before.
fn line(number: usize, kind: &str, data: &Value) -> String {
    let id = |number: usize| format!("c0000000-0000-4000-8000-{number:012}");
    let parent = number.checked_sub(1).filter(|before| *before > 0).map(id);
    let line = json!({"type": kind, "data": data, "id": id(number), "parentId": parent,
        "timestamp": format!("2026-03-04T10:00:{number:02}.000Z")});
    line.to_string() + "\n"
}

/// Consecutive lines of these types.
fn log(lines: &[(&str, Value)]) -> String {
    lines.iter().enumerate().map(|(number, (kind, data))| line(number + 1, kind, data)).collect()
}

/// The usage of all entries, including children: input, output and cached input.
fn used(entries: &[Value]) -> [u64; 3] {
    let mut all = [0; 3];
    for entry in entries {
        for (sum, name) in all.iter_mut().zip(["input", "output", "cached"]) {
            *sum += entry["token-usage"][name].as_u64().unwrap_or(0);
        }
    }
    all
}

fn answer(call: &str, text: &str, more: &Value) -> (&'static str, Value) {
    let mut data =
        json!({"messageId": text, "model": "m", "content": text, "toolRequests": [], "apiCallId": call});
    for (name, value) in more.as_object().expect("members") {
        data[name] = value.clone();
    }
    ("assistant.message", data)
}

#[test]
fn an_answer_in_pieces_is_one_whether_they_are_counted_or_not() {
    let calls =
        json!({"toolRequests": [{"toolCallId": "c", "name": "look", "arguments": {}}], "outputTokens": 7});
    for counted in [false, true] {
        let piece = |number: u64, text: &str, more: &Value| {
            let (kind, mut data) = answer("api", text, more);
            data["reasoningText"] = format!("thought {number}").into();
            if counted {
                (data["chunkIndex"], data["chunkCount"]) = (number.into(), 3.into());
            }
            (kind, data)
        };
        let none = json!({});
        let pieces = [piece(0, "one", &none), piece(1, "", &none), piece(2, "three", &calls)];
        let mut lines = pieces.to_vec();
        lines.push(("tool.execution_start", json!({"toolCallId": "c", "toolName": "look", "arguments": {}})));
        let entries = entries(&log(&lines));
        assert_eq!(entries.len(), 2, "{entries:?}");
        let told: Vec<_> = entries[0]["children"]
            .as_array()
            .expect("children")
            .iter()
            .map(|child| child.get("content").or(child.get("name")).cloned().unwrap_or_default())
            .collect();
        assert_eq!(told, ["thought 0", "one", "thought 1", "thought 2", "three", "look"]);
        assert_eq!(entries[0]["token-usage"]["output"], 7);
        assert_eq!(entries[0]["token-usage"]["response-id"], "api");
        // The parent of the next entry is the response, not its last chunk.
        assert_eq!(entries[1]["parent-id"], entries[0]["id"]);
    }
}

#[test]
fn answers_of_other_calls_phases_or_places_are_their_own() {
    let none = json!({});
    let between = ("session.info", json!({"infoType": "x", "message": "y"}));
    let phases = [json!({"phase": "commentary"}), json!({"phase": "final_answer"})];
    for lines in [
        vec![answer("a", "one", &none), answer("b", "two", &none)],
        vec![answer("a", "one", &phases[0]), answer("a", "two", &phases[1])],
        vec![answer("a", "one", &none), between, answer("a", "two", &none)],
    ] {
        let entries = entries(&log(&lines));
        let said: Vec<_> = entries.iter().filter(|entry| entry["type"] == "assistant").collect();
        assert_eq!((said[0]["content"].as_str(), said[1]["content"].as_str()), (Some("one"), Some("two")));
    }
}

#[test]
fn totals_add_what_nobody_told_and_no_more() {
    let totals = |input: u64, output: u64, cached: u64| {
        let usage = json!({"inputTokens": input, "outputTokens": output, "cacheReadTokens": cached});
        ("session.shutdown", json!({"shutdownType": "routine", "modelMetrics": {"m": {"usage": usage}}}))
    };
    let told = |call: &str, output: u64| answer(call, "x", &json!({"outputTokens": output}));
    let counted = |call: &str| {
        let usage = json!({"model": "m", "inputTokens": 100, "outputTokens": 5, "cacheReadTokens": 60, "apiCallId": call});
        ("session.usage_record", json!({"usage": usage}))
    };
    // Each response reports only its output; the totals are those of each run.
    let runs = [told("a", 10), told("b", 20), totals(1000, 30, 400), told("c", 5), totals(200, 5, 50)];
    assert_eq!(used(&entries(&log(&runs))), [1200, 35, 450]);
    // The same, with cumulative totals of both runs.
    let runs = [told("a", 10), told("b", 20), totals(1000, 30, 400), told("c", 5), totals(1200, 35, 450)];
    assert_eq!(used(&entries(&log(&runs))), [1200, 35, 450]);
    // All usage is reported before the totals.
    let none = json!({});
    let all =
        [counted("a"), answer("a", "x", &none), counted("b"), answer("b", "y", &none), totals(200, 10, 120)];
    let entries = entries(&log(&all));
    assert_eq!(used(&entries), [200, 10, 120]);
    let answers = entries.iter().filter(|entry| entry["type"] == "assistant");
    assert!(answers.into_iter().all(|entry| entry["token-usage"]["input"] == 100), "{entries:?}");
}

#[test]
fn a_line_that_stands_twice_is_counted_once() {
    let record = json!({"usage": {"model": "m", "inputTokens": 100, "outputTokens": 5, "apiCallId": "a"}});
    let ended = json!({"shutdownType": "routine", "modelMetrics": {"m": {"usage": {"inputTokens": 100, "outputTokens": 5}}}});
    let lines = [
        line(1, "session.usage_record", &record),
        line(2, "assistant.message", &json!({"messageId": "x", "content": "x", "apiCallId": "a"})),
        line(3, "session.shutdown", &ended),
    ];
    for twice in 0..lines.len() {
        let mut log = String::new();
        for (number, line) in lines.iter().enumerate() {
            log += &line.repeat(1 + usize::from(number == twice));
        }
        assert_eq!(used(&entries(&log)), [100, 5, 0], "{log}");
    }
    // Totals of the second run only.
    let totals = |number: usize, output: u64| {
        let usage = json!({"m": {"usage": {"inputTokens": 10 * output, "outputTokens": output}}});
        line(number, "session.shutdown", &json!({"shutdownType": "routine", "modelMetrics": usage}))
    };
    let log = totals(1, 30) + &totals(2, 5).repeat(2);
    assert_eq!(used(&entries(&log)), [350, 35, 0]);
    // An older version, which does not name the call.
    let told = line(1, "assistant.message", &json!({"messageId": "x", "content": "x", "outputTokens": 9}));
    assert_eq!(used(&entries(&told.repeat(2))), [0, 9, 0]);
}

#[test]
fn usage_without_an_answer_is_told_and_that_of_another_agent_waits() {
    let usage =
        |call: &str| json!({"usage": {"model": "m", "inputTokens": 9, "outputTokens": 1, "apiCallId": call}});
    let of_agent = |text: String| text.replace(r#""data""#, r#""agentId":"g","data""#);
    let none = json!({});
    let (kind, data) = answer("b", "of the helper", &none);
    let lines = [
        line(1, "session.usage_record", &usage("a")),
        of_agent(line(2, "session.usage_record", &usage("b"))),
        line(3, "assistant.turn_end", &json!({"turnId": "0"})),
        of_agent(line(4, kind, &data)),
    ];
    let entries = entries(&lines.concat());
    let ids: Vec<_> =
        entries.iter().filter_map(|entry| entry["token-usage"]["response-id"].as_str()).collect();
    assert_eq!((ids, used(&entries)), (vec!["a", "b"], [18, 2, 0]));
    assert_eq!(entries.last().map(|entry| &entry["token-usage"]["response-id"]), Some(&json!("b")));
}

#[test]
fn a_result_tells_how_the_tool_ended_and_what_it_changed() {
    let diff = "\ndiff --git a/w/a.txt b/w/a.txt\n--- a/w/a.txt\n+++ b/w/a.txt\n@@ -1 +1 @@\n-x\n+y\n";
    let result = |data: Value| {
        let mut data = data;
        data["toolCallId"] = "c".into();
        entries(&log(&[("tool.execution_complete", data)])).remove(0)
    };
    let ran =
        result(json!({"success": true, "result": {"content": "x"}, "shellExecution": {"exitCode": -1}}));
    assert_eq!((&ran["is-error"], &ran["exit-code"]), (&json!(false), &json!(-1)));
    let denied = result(json!({"success": false, "error": {"message": "no", "code": "denied"}}));
    assert_eq!(
        (&denied["output"], &denied["is-error"], &denied["status"]),
        (&json!("no"), &json!(true), &json!("denied"))
    );
    let edits = json!([{"path": "/w/a.txt", "kind": "edit"}]);
    let listed = result(
        json!({"success": true, "result": {"content": "ok", "detailedContent": diff}, "fileEdits": edits}),
    );
    let file = json!([{"path": "/w/a.txt", "action": "patch", "diff": diff}]);
    assert_eq!(listed["files"], file);
    // Older versions have no list of files; the diff text names the file. A read-only view of a file has a diff text,
    // too.
    let older = |command: &str| {
        let telemetry = json!({"properties": {"command": command}});
        result(
            json!({"success": true, "result": {"content": "ok", "detailedContent": diff}, "toolTelemetry": telemetry}),
        )
    };
    assert_eq!((&older("edit")["files"], older("view").get("files")), (&file, None));
    // A diff of other files is assigned to the first file.
    let edits = json!([{"path": "/w/a.txt", "kind": "create"}, {"path": "/w/b.txt", "kind": "mend"}]);
    let two = result(
        json!({"success": true, "result": {"content": "ok", "detailedContent": diff}, "fileEdits": edits}),
    );
    assert_eq!((&two["files"][0]["diff"], two["files"][1].get("diff")), (&json!(diff), None));
    assert_eq!((&two["files"][0]["action"], &two["files"][1]["action"]), (&json!("write"), &json!("patch")));
}

#[test]
fn the_bytes_of_a_picture_stand_once_and_are_named_where_they_are_shown() {
    let asset = json!({"assetId": "sha256:1", "type": "image", "mimeType": "image/png", "byteLength": 5, "data": "cGl4ZWw="});
    let shown = json!([{"type": "image", "assetId": "sha256:1", "mimeType": "image/png"}]);
    let result =
        json!({"toolCallId": "c", "success": true, "result": {"content": "", "binaryResultsForLlm": shown}});
    let record =
        record(log(&[("session.binary_asset", asset), ("tool.execution_complete", result)]).as_bytes());
    let text = record.to_string();
    assert_eq!(text.matches("cGl4ZWw=").count(), 1, "{text}");
    let entries = &record["session"]["entries"];
    assert_eq!(entries[0]["data"]["content"][0]["name"], "sha256:1");
    assert_eq!(
        entries[1]["output"].as_array().and_then(|parts| parts.last()).map(|part| &part["file"]),
        Some(&json!("sha256:1"))
    );
}

#[test]
fn who_spoke_is_told() {
    let said = |source: Option<&str>| {
        let mut data = json!({"content": "x"});
        if let Some(source) = source {
            data["source"] = source.into();
        }
        entries(&log(&[("user.message", data)])).remove(0)["origin"].clone()
    };
    assert_eq!(said(None), Value::Null);
    for (source, origin) in [
        ("user", "own"),
        ("instruction-discovery", "harness"),
        ("skill-pdf", "harness"),
        ("of-tomorrow", "harness"),
        ("agent-17", "agent"),
        ("command-usage", "command"),
    ] {
        assert_eq!(said(Some(source)), origin, "{source}");
    }
}

#[test]
fn facts_of_a_subagent_are_not_those_of_the_session() {
    let start = json!({"sessionId": "s", "selectedModel": "large"});
    let change = line(2, "session.model_change", &json!({"newModel": "small"}));
    let log = line(1, "session.start", &start) + &change.replace(r#""data""#, r#""agentId":"g","data""#);
    let record = record(log.as_bytes());
    assert_eq!(record["session"]["agent-meta"]["model-id"], "large");
    assert_eq!(record["session"]["agent-meta"].get("models"), None);
}

#[test]
fn lines_that_repeat_the_conversation_are_not_told_again() {
    let none = json!({});
    let (kind, mut data) = answer("a", "the only words", &none);
    data["reasoningText"] = "the only thought".into();
    let again = json!({"messages": [{"role": "assistant", "content": "the only words"}]});
    let mut lines = log(&[
        (kind, data),
        ("assistant.reasoning", json!({"reasoningId": "r", "content": "the only thought"})),
        ("model.messages_snapshot", again),
        (
            "hook.start",
            json!({"hookInvocationId": "h", "hookType": "postToolUse", "input": {"toolResult": "the only words"}}),
        ),
    ]);
    for (kind, member) in [("assistant.message_delta", "deltaContent"), ("tool.shell_output", "text")] {
        let piece = line(9, kind, &json!({member: "the only words"}));
        lines += &piece.replace(r#""data""#, r#""ephemeral":true,"data""#);
    }
    let mut entries = entries(&lines);
    for entry in &mut entries {
        entry.as_object_mut().map(|entry| entry.remove("vendor-ext"));
    }
    let told = Value::from(entries).to_string();
    assert_eq!(told.matches("the only words").count(), 1, "{told}");
    assert_eq!(told.matches("the only thought").count(), 1, "{told}");
}

#[test]
fn permissions_are_asked_and_answered() {
    let request = json!({"kind": "write", "toolCallId": "c", "fileName": "a", "diff": "-x\n+y"});
    let lines = [
        ("permission.requested", json!({"requestId": "p", "permissionRequest": request})),
        (
            "permission.completed",
            json!({"requestId": "p", "toolCallId": "c", "result": {"kind": "denied-by-rules"}}),
        ),
    ];
    let entries = entries(&log(&lines));
    let told = |at: usize| (entries[at]["event-type"].clone(), entries[at]["data"].clone());
    assert_eq!(
        told(0),
        (
            "permission-requested".into(),
            json!({"id": "p", "action": "write", "call-id": "c",
        "input": {"fileName": "a", "diff": "-x\n+y"}})
        )
    );
    assert_eq!(
        told(2),
        (
            "permission-resolved".into(),
            json!({"id": "p", "action": "write", "call-id": "c",
        "answer": {"reject": "denied-by-rules"}})
        )
    );
    assert_eq!(
        (&entries[0]["timestamp"], &entries[1]["id"]),
        (&json!("2026-03-04T10:00:01.000Z"), &json!("c0000000-0000-4000-8000-000000000001"))
    );
}

#[test]
fn any_order_of_lines_comes_back() {
    let none = json!({});
    let (kind, said) = answer("a", "x", &json!({"reasoningText": "t", "outputTokens": 2}));
    let (_, calls) = answer(
        "a",
        "",
        &json!({"toolRequests": [{"toolCallId": "c", "name": "f", "arguments": "text", "type": "custom"}, {"odd": 1}]}),
    );
    let (_, counted) = answer("a", "~", &json!({"chunkIndex": 1, "chunkCount": 2, "encryptedContent": "e"}));
    let usage = json!({"usage": {"apiCallId": "a", "inputTokens": 3, "outputTokens": 1}});
    let pool = [
        line(1, kind, &said),
        line(2, kind, &calls),
        line(3, kind, &counted),
        line(4, "session.usage_record", &usage),
        line(5, "assistant.reasoning", &json!({"content": "t"})),
        line(6, "tool.execution_start", &json!({"toolCallId": "c", "arguments": "text"})),
        line(7, "tool.execution_complete", &json!({"toolCallId": "c", "success": 1, "result": {"content": "~~"}})),
        line(8, "permission.requested", &json!({"requestId": "p", "permissionRequest": {"kind": "shell"}})),
        line(9, "permission.completed", &json!({"requestId": "p", "result": {"kind": "approved"}})),
        line(10, "session.compaction_complete", &json!({"success": true, "summaryContent": "s"})),
        line(11, "session.shutdown", &json!({"shutdownType": "routine", "modelMetrics": {"m": {"usage": {"inputTokens": 9}}}})),
        line(12, "session.model_change", &json!({"newModel": "n"})),
        line(13, "of.tomorrow", &none),
        line(14, "assistant.message_delta", &none).replace(r#""data""#, r#""ephemeral":true,"data""#),
        "{\"type\":\"result\",\"timestamp\":\"2026-03-04T10:00:00Z\",\"sessionId\":\"s\",\"exitCode\":1}\n".to_owned(),
        "{\"type\":\"abort\",\"data\":{\"reason\":\"user_initiated\"},\"id\":7,\"timestamp\":\"x\",\"parentId\":null}\r\n".to_owned(),
        "{\"torn\":\n".to_owned(),
        "\n".to_owned(),
        "\0\0\0\n".to_owned(),
    ];
    let mut seed = 7_u64;
    for _ in 0..300 {
        let mut log = String::new();
        for _ in 0..8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            log += &pool[(seed >> 33) as usize % pool.len()];
        }
        record(log.as_bytes());
    }
}

#[test]
fn bytes_that_are_no_text_come_back() {
    let said = line(1, "user.message", &json!({"content": "x"}));
    for damage in [&b"\xff\xfe\n"[..], b"\xef\xbb\xbf", b"{\"type\":\"us", b"\0\0"] {
        let log = [said.as_bytes(), damage, said.as_bytes(), damage].concat();
        let (record, _) = convert_log("copilot-cli", "record", &log);
        assert_eq!(convert_log("record", "copilot-cli", &record).0, log, "{damage:?}");
    }
}

#[test]
fn a_session_of_another_agent_has_what_copilot_asks_for() {
    let claude = concat!(
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Look"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Read","input":{"p":1}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":"two","is_error":true},{"type":"text","text":"Go on"}]}}"#,
        "\n",
    );
    let (log, _) = convert_log("claude-code", "copilot-cli", claude.as_bytes());
    let log = String::from_utf8(log).expect("text");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let words: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap_or_default()).collect();
    let wanted = [
        "session.start",
        "user.message",
        "assistant.message",
        "tool.execution_complete",
        "tool.execution_complete",
        "user.message",
    ];
    assert_eq!(words, wanted);
    // Copilot rejects ids that are not UUIDs, and files whose lines name no parent.
    let is_uuid = |id: &Value| id.as_str().is_some_and(interlingua::log::is_uuid);
    assert!(lines.iter().all(|line| is_uuid(&line["id"]) && line.get("parentId").is_some()), "{log}");
    assert!(lines.windows(2).all(|pair| pair[0]["id"] == pair[1]["parentId"]), "{log}");
    let start = &lines[0]["data"];
    assert!(
        is_uuid(&start["sessionId"]) && start["producer"].is_string() && start["version"] == 1,
        "{start}"
    );
    let answer = &lines[2]["data"];
    assert!(is_uuid(&answer["messageId"]), "{answer}");
    assert_eq!(
        (&answer["reasoningText"], &answer["toolRequests"][1]["toolCallId"]),
        (&json!("Hm."), &json!("t2"))
    );
    assert_eq!(
        (&lines[4]["data"]["success"], &lines[4]["data"]["error"]["message"]),
        (&json!(false), &json!("two"))
    );
}

#[test]
fn arguments_that_are_json_in_a_string_come_back_as_a_string() {
    for arguments in [r#"{"path": "a"}"#, "{}", "plain", "", "[1]"] {
        let request = json!({"toolCallId": "t1", "name": "view", "arguments": arguments, "type": "function"});
        let data = json!({"messageId": "m1", "content": "", "toolRequests": [request]});
        entries(&log(&[("assistant.message", data)]));
    }
}
