//! Chat sessions of GitHub Copilot in VS Code: rounds, parts that VS Code shows, and the end of an answer.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::error::Code;
use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a session with this request.
fn entries(request: &Value) -> Vec<Value> {
    let session = json!({"responderUsername": "GitHub Copilot", "requests": [request], "sessionId": "s-1"});
    let (record, report) = convert_log_text("copilot-chat", "record", &session.to_string());
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    assert_eq!(record["session"]["session-id"], "s-1");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// A request with these members beside the prompt.
fn request(members: &Value) -> Value {
    let mut request = json!({"requestId": "request_1", "message": {"text": "Hello", "parts": []}});
    for (name, value) in members.as_object().expect("an object") {
        request[name] = value.clone();
    }
    request
}

/// The entries of that type.
fn of_type<'e>(entries: &'e [Value], name: &str) -> Vec<&'e Value> {
    entries.iter().filter(|entry| entry["type"] == name).collect()
}

fn round(text: &str, calls: &Value) -> Value {
    json!({"response": text, "toolCalls": calls, "toolInputRetry": 0, "id": "round-1"})
}

#[test]
fn the_rounds_are_the_answer_and_the_parts_repeat_them() {
    let rounds = json!([round("From the round.", &json!([]))]);
    let parts = json!([{"value": "From the round."}, {"value": "Only shown."}]);
    let members = json!({"response": parts, "result": {"metadata": {"toolCallRounds": rounds}}});
    let found = entries(&request(&members));
    let said = of_type(&found, "assistant");
    assert_eq!(said.len(), 1, "{found:?}");
    assert_eq!(said[0]["content"], "From the round.");
    let (claude, report) = {
        let session = json!({"responderUsername": "GitHub Copilot", "requests": [request(&members)]});
        convert_log_text("copilot-chat", "claude-code", &session.to_string())
    };
    assert!(!claude.contains("Only shown."), "{claude}");
    let lost: Vec<_> = report.lost_paths.iter().map(|path| format!("{path:?}")).collect();
    assert!(lost.iter().any(|path| path.contains("/response[]/value")), "{lost:?}");
}

#[test]
fn an_answer_without_rounds_is_read_from_its_parts() {
    for rounds in [json!([]), json!([round("", &json!([]))]), Value::Null] {
        let parts = json!([{"kind": "thinking", "value": ["One ", "two."]}, {"value": "Shown."}]);
        let members = json!({"response": parts, "result": {"metadata": {"toolCallRounds": rounds}}});
        let found = entries(&request(&members));
        let text = of_type(&found, "assistant")[0].to_string();
        assert!(text.contains("One two.") && text.contains("Shown."), "{text}");
    }
}

#[test]
fn the_texts_of_a_tree_are_one_text() {
    let calls = json!([{"name": "read_file", "arguments": "{\"a\": 1}", "id": "c__vscode-1"}]);
    let tree = json!({"type": 1, "children": [
        {"type": 2, "text": "one"},
        {"type": 1, "children": [{"type": 2, "text": " and", "lineBreakBefore": false}]},
        {"type": 2, "text": "two", "lineBreakBefore": true},
    ]});
    let results = json!({"c__vscode-1": {"$mid": 20, "content": [{"$mid": 23, "value": {"node": tree}}]}});
    let metadata = json!({"toolCallRounds": [round("", &calls)], "toolCallResults": results});
    let found = entries(&request(&json!({"result": {"metadata": metadata}})));
    let results = of_type(&found, "tool-result");
    assert_eq!(results.len(), 1, "{found:?}");
    assert_eq!(results[0]["output"], "one and\ntwo");
    assert_eq!(results[0]["call-id"], "c__vscode-1");
    let call = of_type(&found, "assistant")[0].to_string();
    assert!(call.contains(r#""input":{"a":1}"#) || call.contains(r#""input":{"a": 1}"#), "{call}");
}

#[test]
fn a_round_takes_the_outcome_of_the_part_with_its_id() {
    let calls = json!([{"name": "run_in_terminal", "arguments": "{}", "id": "c-1__vscode-7"}]);
    let results = json!({"c-1__vscode-7": {"content": [{"value": "no"}]}});
    let part = |id: &str| {
        json!({"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": id,
            "resultDetails": {"isError": true}, "toolSpecificData": {"terminalCommandState": {"exitCode": 2}}})
    };
    let result = |id: &str| {
        let metadata = json!({"toolCallRounds": [round("", &calls)], "toolCallResults": results});
        let members = json!({"response": [part(id)], "result": {"metadata": metadata}});
        let found = entries(&request(&members));
        of_type(&found, "tool-result")[0].clone()
    };
    for id in ["c-1", "c-1__vscode-7"] {
        assert_eq!((&result(id)["is-error"], &result(id)["exit-code"]), (&json!(true), &json!(2)), "{id}");
    }
    assert_eq!(result("c-2")["is-error"], Value::Null);
}

#[test]
fn the_tokens_of_an_answer_count_once() {
    let counts = json!({"promptTokens": 90, "completionTokens": 7, "outputTokens": 7});
    for members in [
        json!({"response": [{"value": "a"}], "result": {"usage": counts, "metadata": counts}}),
        json!({"response": [{"value": "a"}], "result": {"metadata": counts}}),
        json!({"response": [{"value": "a"}], "promptTokens": 90, "completionTokens": 7}),
    ] {
        let found = entries(&request(&members));
        let used = found.iter().map(|entry| &entry["token-usage"]).filter(|used| !used.is_null());
        let used: Vec<_> = used.collect();
        assert_eq!(used.len(), 1, "{found:?}");
        assert_eq!((&used[0]["input"], &used[0]["output"]), (&json!(90), &json!(7)));
    }
}

#[test]
fn the_state_of_an_answer_is_its_stop() {
    for (members, class) in [
        (json!({"modelState": {"value": 1}}), "end_turn"),
        (json!({"modelState": {"value": 2}}), "cancelled"),
        (json!({"modelState": {"value": 3}}), "error"),
        (json!({"isCanceled": true}), "cancelled"),
    ] {
        let mut members = members;
        members["response"] = json!([{"value": "a"}]);
        let text = Value::from(entries(&request(&members))).to_string();
        assert!(text.contains(&format!("\"{class}\"")), "{class}: {text}");
    }
    let text = Value::from(entries(&request(&json!({"isCanceled": false})))).to_string();
    assert!(!text.contains("cancelled"), "{text}");
}

#[test]
fn lines_that_cannot_be_applied_are_a_problem() {
    let session = json!({"creationDate": 1, "requests": [], "unapplied": [{"line": 2, "raw": "torn {"}]});
    let (record, report) = convert_log_text("copilot-chat", "record", &session.to_string());
    let codes: Vec<_> = report.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::InvalidJson]);
    assert!(record.contains("torn {"), "{record}");
}

#[test]
fn a_prompt_of_the_program_is_not_the_users() {
    for (automatic, origin) in [(true, json!("harness")), (false, Value::Null)] {
        let found = entries(&request(&json!({"isSystemInitiated": automatic})));
        let text = of_type(&found, "user")[0].to_string();
        assert_eq!(text.contains("\"harness\""), !origin.is_null(), "{text}");
    }
}
