//! Amp's threads: messages, restored logs, and sessions of other agents written as threads.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log;

/// The entries of a thread's record, after asserting that the record restores the thread.
fn entries(thread: &str) -> Vec<Value> {
    let (record, report) = convert_log("amp", "record", thread.as_bytes());
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log("record", "amp", &record);
    assert_eq!(String::from_utf8_lossy(&back), thread, "from {}", String::from_utf8_lossy(&record));
    assert_eq!(report.problems, []);
    let record: Value = serde_json::from_slice(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

fn thread(messages: &Value) -> String {
    json!({"v": 1, "id": "T-1", "created": 1, "messages": messages, "nextMessageId": 9}).to_string()
}

fn result(run: &Value) -> Value {
    let block = json!({"type": "tool_result", "toolUseID": "t", "run": run});
    let message = json!({"role": "user", "messageId": 0, "content": [block]});
    entries(&thread(&json!([message])))[1]["children"][0].clone()
}

#[test]
fn a_result_is_told_whatever_its_shape() {
    let text = result(&json!({"status": "done", "result": "x"}));
    assert_eq!((&text["output"], &text["is-error"]), (&json!("x"), &json!(false)));
    let ran = result(&json!({"status": "done", "result": {"output": "x", "exitCode": 3}}));
    assert_eq!((&ran["output"], &ran["exit-code"]), (&json!("x"), &json!(3)));
    let read = result(&json!({"status": "done", "result": {"absolutePath": "/w/a", "content": "x"}}));
    assert_eq!(read["output"], "x");
    let image = json!({"absolutePath": "/w/a", "content": "cA==", "isImage": true, "imageInfo": {"mimeType": "image/png"}});
    let seen = result(&json!({"status": "done", "result": image}));
    assert_eq!(
        (&seen["output"][0]["data"], &seen["output"][0]["media-type"]),
        (&json!("cA=="), &json!("image/png"))
    );
    let files = json!(["file:///w/a"]);
    let changed = result(&json!({"status": "done", "result": {"diff": "-x\n+y"}, "trackFiles": files}));
    assert_eq!(changed["files"], json!([{"path": "/w/a", "action": "patch", "diff": "-x\n+y"}]));
    let failed = result(&json!({"status": "error", "error": {"message": "no"}}));
    assert_eq!((&failed["output"], &failed["is-error"]), (&json!("no"), &json!(true)));
    let open = result(&json!({"status": "in-progress", "result": "so far"}));
    assert_eq!((&open["status"], &open["outcome"]), (&json!("in-progress"), &json!("interrupted")));
    for other in
        [json!(["a", "b"]), json!({"x": [1]}), json!(7), json!({"output": "x"}), json!({"content": 1})]
    {
        assert_eq!(result(&json!({"status": "done", "result": other}))["output"], other);
    }
}

#[test]
fn what_nobody_counted_is_not_told() {
    let state = json!({"type": "complete", "stopReason": "end_turn"});
    let mut message = json!({"role": "assistant", "messageId": 0, "content": [{"type": "text", "text": "x"}], "state": state});
    assert_eq!(entries(&thread(&json!([message])))[1].get("token-usage"), None);
    message["usage"] = json!({"model": "m", "inputTokens": 3, "outputTokens": 1, "cacheReadInputTokens": 2});
    let told = entries(&thread(&json!([message])))[1]["token-usage"].clone();
    assert_eq!(
        (&told["input"], &told["output"], &told["stop-reason"]),
        (&json!(5), &json!(1), &json!("end_turn"))
    );
}

#[test]
fn threads_in_one_file_are_several_records() {
    let message = json!([{"role": "user", "messageId": 0, "content": [{"type": "text", "text": "x"}]}]);
    let two = thread(&message) + "\n" + &thread(&message).replace("T-1", "T-2") + "\n";
    let (records, _) = convert_log("amp", "record", two.as_bytes());
    let ids = String::from_utf8_lossy(&records).matches(r#""session-id":"T-"#).count();
    assert_eq!(ids, 2, "{}", String::from_utf8_lossy(&records));
    assert_eq!(convert_log("record", "amp", &records).0, two.as_bytes());
}

#[test]
fn a_thread_is_no_request() {
    let message = json!([{"role": "user", "messageId": 0, "content": [{"type": "text", "text": "x"}]}]);
    let guess = interlingua::sniff::sniff(thread(&message).as_bytes(), true).map(|guess| guess.dialect.name);
    assert_eq!(guess, Some("amp"));
    let request =
        json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}).to_string();
    let guess = interlingua::sniff::sniff(request.as_bytes(), true).map(|guess| guess.dialect.name);
    assert_ne!(guess, Some("amp"));
}

#[test]
fn a_session_of_another_agent_becomes_a_thread() {
    let claude = concat!(
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Look"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"}]}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"p":1}}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}}"#,
        "\n",
    );
    let (thread, _) = convert_log("claude-code", "amp", claude.as_bytes());
    let thread: Value = serde_json::from_slice(&thread).expect("a document");
    assert!(thread["id"].as_str().is_some_and(|id| id.starts_with("T-")), "{thread}");
    let said = thread["messages"].as_array().expect("messages");
    assert_eq!(
        said.iter().map(|message| &message["messageId"]).collect::<Vec<_>>(),
        [&json!(0), &json!(1), &json!(2)]
    );
    let answer = &said[1];
    assert_eq!(answer["content"].as_array().map(Vec::len), Some(2), "{answer}");
    assert_eq!(
        (&answer["content"][0]["signature"], &answer["state"]["type"]),
        (&json!("c2ln"), &json!("complete"))
    );
    assert_eq!(
        (&said[2]["content"][0]["toolUseID"], &said[2]["content"][0]["run"]["result"]),
        (&json!("t1"), &json!("one"))
    );
}
