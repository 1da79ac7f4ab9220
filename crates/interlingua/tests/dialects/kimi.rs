//! Session logs of Kimi CLI and Kimi Code: lines, restored logs, and sessions of other agents written as logs.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::sniff::sniff;
use serde_json::{Value, json};

use crate::support::convert_log_text;

/// A log's record, after asserting that the record restores the log.
fn record(dialect: &str, log: &str) -> Value {
    let (record, report) = convert_log_text(dialect, "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", dialect, &record);
    for (given, line) in back.lines().zip(log.lines()) {
        assert_eq!(given, line);
    }
    assert_eq!(back, log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    serde_json::from_str(&record).expect("a document")
}

fn entries(dialect: &str, log: &str) -> Vec<Value> {
    record(dialect, log)["session"]["entries"].as_array().expect("entries").clone()
}

/// The entries of that type.
fn of_type<'e>(entries: &'e [Value], kind: &str) -> Vec<&'e Value> {
    entries.iter().filter(|entry| entry["type"] == kind).collect()
}

fn events<'e>(entries: &'e [Value], kind: &str) -> Vec<&'e Value> {
    entries.iter().filter(|entry| entry["event-type"] == kind).collect()
}

fn lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).expect("a document")).collect()
}

/// The fixture of a dialect with this text in its name.
fn fixture(dialect: &str, name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/agents");
    let path = folder.join(dialect.replace('-', "_")).join("2026-11").join(name);
    std::fs::read_to_string(path).expect("there")
}

fn guess(text: &str) -> Option<&'static str> {
    sniff(text.as_bytes(), true).map(|guess| guess.dialect.name)
}

#[test]
fn a_line_of_the_wire_is_an_item_with_its_date() {
    let entries = entries("kimi-cli", &fixture("kimi-cli", "wire.jsonl"));
    let user = &of_type(&entries, "user")[0];
    assert_eq!((&user["content"], &user["origin"]), (&"read, edit, fail, look".into(), &"own".into()));
    assert!(
        user["timestamp"]
            .as_str()
            .is_some_and(|time| time.starts_with("2026-11-16T09:") && time.ends_with('Z'))
    );
    assert_eq!(of_type(&entries, "tool-call").len(), 7);
    let results = of_type(&entries, "tool-result");
    assert_eq!(results.len(), 7);
    let of = |id: &str| *results.iter().find(|result| result["call-id"] == id).expect("answered");
    assert_eq!((&of("call_demo04")["is-error"], &of("call_demo04")["exit-code"]), (&true.into(), &3.into()));
    assert_eq!(of("call_demo05")["is-error"], true);
    assert_eq!(of("call_demo02")["files"][0]["path"], "/tmp/demo/repo/notes.txt");
    assert_eq!(of("call_demo02")["files"][0]["action"], "patch");
    assert_eq!(of("call_demo07")["files"][0]["diff"], "@@ -1,0 +1,2 @@\n+one\n+two\n");
    assert_eq!(of("call_demo06")["output"][1]["media-type"], "image/png");
    assert_eq!(of_type(&entries, "reasoning").len(), 3);
}

#[test]
fn usage_is_counted_once_for_each_answer() {
    let record = record("kimi-cli", &fixture("kimi-cli", "wire-subagent.jsonl"));
    let entries = record["session"]["entries"].as_array().expect("entries");
    let sum =
        |name: &str| -> u64 { entries.iter().filter_map(|entry| entry["token-usage"][name].as_u64()).sum() };
    let told: Vec<Value> = lines(&fixture("kimi-cli", "wire-subagent.jsonl"));
    let native = |name: &str| -> u64 {
        let status = |line: &Value| {
            let message = &line["message"];
            let inner = &message["payload"]["event"];
            let holder = if inner.is_null() { message } else { inner };
            holder["payload"]["token_usage"][name].as_u64()
        };
        told.iter().filter_map(status).sum()
    };
    assert_eq!(sum("output"), native("output"));
    assert_eq!(sum("input"), native("input_other") + native("input_cache_read"));
    assert_eq!(sum("cached"), native("input_cache_read"));
}

#[test]
fn what_a_subagent_says_names_it_and_its_call() {
    let entries = entries("kimi-cli", &fixture("kimi-cli", "wire-subagent.jsonl"));
    let by_agent: Vec<_> = entries.iter().filter(|entry| entry.get("agent").is_some()).collect();
    assert!(by_agent.iter().all(|entry| entry["parent-call"] == "call_demo10"), "{by_agent:?}");
    let spoken: Vec<_> = by_agent
        .iter()
        .filter(|entry| entry["type"] != "system-event")
        .map(|entry| entry["type"].as_str())
        .collect();
    let expected = ["user", "reasoning", "tool-call", "tool-result", "assistant"].map(Some);
    assert_eq!(spoken, expected);
    assert_eq!(by_agent[0]["origin"], "agent");
    assert_eq!(events(&entries, "compacted").len(), 1);
}

#[test]
fn arguments_in_pieces_are_one_call_though_a_result_stands_between() {
    let entries = entries("kimi-cli", &fixture("kimi-cli", "wire-shapes.jsonl"));
    let calls = of_type(&entries, "tool-call");
    let of = |id: &str| *calls.iter().find(|call| call["call-id"] == id).expect("called");
    assert_eq!(of("Shell:1")["input"], json!({"command": "git push"}));
    assert_eq!(of("Shell:1")["timestamp"], "2026-03-04T02:36:37.3Z");
    assert_eq!(of("ReadFile:0")["input"], json!({"path": "x.png"}));
    assert_eq!(
        (&of("ReadFile:0")["agent"], &of("ReadFile:0")["parent-call"]),
        (&"a1".into(), &"Task:2".into())
    );
    // A call without arguments, and a call that was cut off.
    assert_eq!(of("Think:4")["name"], "ListTasks");
    assert_eq!(of("Shell:5")["input"], "{\"command\": \"sle");
    assert_eq!(calls.len(), 6);
}

#[test]
fn what_a_person_decided_is_told() {
    let entries = entries("kimi-cli", &fixture("kimi-cli", "wire-shapes.jsonl"));
    let asked = events(&entries, "permission-requested");
    let answered = events(&entries, "permission-resolved");
    assert_eq!(asked[0]["data"]["action"], "edit file");
    assert_eq!(asked[0]["data"]["call-id"], "StrReplaceFile:0");
    assert_eq!(answered[0]["data"]["answer"], "accept_for_session");
    assert_eq!(answered[1]["data"]["answer"], json!({"reject": "not now"}));
    assert_eq!(answered[1]["data"]["call-id"], "Shell:1");
    assert_eq!(answered[1]["timestamp"], "2026-03-04T02:36:39.4Z");
    let question = &events(&entries, "question-requested")[0]["data"];
    assert_eq!(question["prompts"][0]["options"], json!([["This", "the first"], ["That", ""]]));
    assert_eq!(events(&entries, "HookResolved")[0]["data"]["content"]["reason"], "not on Fridays");
    assert_eq!(events(&entries, "error")[0]["data"]["status"], 429);
    let modes: Vec<_> = events(&entries, "session-updated")
        .iter()
        .map(|entry| entry["data"]["permission-mode"].clone())
        .collect();
    assert_eq!(modes, ["plan", "default"]);
}

#[test]
fn a_context_has_messages_with_thoughts_and_calls() {
    let entries = entries("kimi-cli", &fixture("kimi-cli", "context-shapes.jsonl"));
    let users = of_type(&entries, "user");
    let origins: Vec<_> = users.iter().map(|user| user["origin"].as_str()).collect();
    assert_eq!(origins, [Some("harness"), Some("summary"), None, Some("harness")]);
    let said = of_type(&entries, "assistant");
    let children: Vec<_> = said[0]["children"]
        .as_array()
        .expect("children")
        .iter()
        .map(|child| child["type"].as_str())
        .collect();
    assert_eq!(children[..2], [Some("reasoning"), Some("reasoning")]);
    assert_eq!(
        said[0]["children"]
            .as_array()
            .map_or(0, |children| children.iter().filter(|child| child["type"] == "tool-call").count()),
        2
    );
    let results = of_type(&entries, "tool-result");
    assert_eq!((&results[1]["is-error"], &results[1]["exit-code"]), (&true.into(), &2.into()));
    assert_eq!(results[2]["is-error"], true);
    assert_eq!(results[0].get("is-error"), None);
}

#[test]
fn a_session_of_kimi_code_is_its_context_told_once() {
    let log = fixture("kimi-code", "main.jsonl");
    let record = record("kimi-code", &log);
    let entries = record["session"]["entries"].as_array().expect("entries").clone();
    assert_eq!(record["session"]["environment"]["working-dir"], "/tmp/demo/repo");
    assert_eq!(record["session"]["agent-meta"]["model-id"], "demo-model");
    let users: Vec<_> = of_type(&entries, "user").iter().map(|user| user["origin"].clone()).collect();
    assert_eq!(users.iter().filter(|origin| **origin == "own").count(), 2);
    assert!(users.iter().all(|origin| *origin == "own" || *origin == "harness"), "{users:?}");
    assert_eq!((of_type(&entries, "tool-call").len(), of_type(&entries, "tool-result").len()), (8, 8));
    let results = of_type(&entries, "tool-result");
    let of = |id: &str| *results.iter().find(|result| result["call-id"] == id).expect("answered");
    assert_eq!((&of("call_demo04")["is-error"], &of("call_demo04")["exit-code"]), (&true.into(), &3.into()));
    assert!(of("call_demo01")["duration"].is_u64());
    // The output of the tool, and the note about it for the model.
    assert_eq!(of("call_demo01")["output"][0]["text"], "1\thello\n2\tworld");
    assert!(
        of("call_demo01")["output"][1]["text"]
            .as_str()
            .is_some_and(|note| note.starts_with("<system>2 lines read"))
    );
    assert_eq!(
        of("call_demo02")["files"],
        json!([{"path": "/tmp/demo/repo/notes.txt", "action": "patch", "diff": "@@ -1,1 +1,1 @@\n-hello\n+hello there\n"}])
    );
    // The parent of a result is found by its id.
    let ids: Vec<_> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
    assert!(
        entries.iter().filter_map(|entry| entry["parent-id"].as_str()).all(|parent| ids.contains(&parent))
    );
    let sum =
        |name: &str| -> u64 { entries.iter().filter_map(|entry| entry["token-usage"][name].as_u64()).sum() };
    let native: u64 = lines(&log)
        .iter()
        .filter(|line| line["type"] == "usage.record")
        .filter_map(|line| line["usage"]["output"].as_u64())
        .sum();
    assert_eq!(sum("output"), native);
    let stops: Vec<_> =
        entries.iter().filter_map(|entry| entry["token-usage"]["stop-reason"].as_str()).collect();
    assert_eq!(stops.iter().filter(|stop| **stop == "end_turn").count(), 2);
}

#[test]
fn what_happened_in_kimi_code_is_told() {
    let entries = entries("kimi-code", &fixture("kimi-code", "shapes.jsonl"));
    let resolved = events(&entries, "permission-resolved");
    assert_eq!(
        (&resolved[0]["data"]["id"], &resolved[0]["data"]["answer"]),
        (&"int_1".into(), &json!({"reject": "not now"}))
    );
    assert_eq!(resolved[1]["data"]["answer"], "accept_for_session");
    assert_eq!(events(&entries, "permission-requested")[0]["data"]["action"], "run command");
    assert_eq!(events(&entries, "rewound")[0]["data"]["turns"], 1);
    let compacted = events(&entries, "compacted");
    assert_eq!(
        (&compacted[0]["data"]["before"], &compacted[0]["data"]["after"]),
        (&9000.into(), &300.into())
    );
    assert_eq!(compacted[0]["data"]["summary"], "They pushed; it was refused.");
    let origins: Vec<_> = of_type(&entries, "user").iter().map(|user| user["origin"].as_str()).collect();
    assert_eq!(origins, [Some("own"), Some("command"), Some("harness")]);
    let errors: Vec<_> =
        events(&entries, "error").iter().map(|error| error["data"]["message"].clone()).collect();
    assert_eq!(errors, ["Too many requests", "The model is gone"]);
    // The usage of the step, which no other line holds, and the usage of the compaction.
    let output: u64 = entries.iter().filter_map(|entry| entry["token-usage"]["output"].as_u64()).sum();
    assert_eq!(output, 55);
    let files: Vec<_> = entries.iter().filter_map(|entry| entry["files"][0]["diff"].as_str()).collect();
    assert_eq!(files, ["@@ -1,0 +1,2 @@\n+one\n+two\n"]);
    let failed = events(&entries, "subagent.failed")[0];
    assert_eq!(
        (&failed["agent"], &failed["data"]["content"]),
        (&"agent-1".into(), &"It was stopped.".into())
    );
}

#[test]
fn what_the_programs_print_is_no_log() {
    let printed = concat!(
        r#"{"role":"assistant","content":[{"type":"think","think":"Hm.","encrypted":null},{"type":"text","text":"Yes."}]}"#,
        "\n",
        r#"{"role":"tool","content":"<system>Done.</system>","tool_call_id":"c"}"#,
        "\n",
    );
    assert_ne!(guess(printed), Some("kimi-cli"));
    let printed = concat!(
        r#"{"role":"meta","type":"system.version","version":"2.1.0"}"#,
        "\n",
        r#"{"role":"assistant","content":"Yes."}"#,
        "\n",
        r#"{"role":"meta","type":"session.resume_hint","session_id":"s","command":"kimi -r s","content":"To resume"}"#,
        "\n",
    );
    assert!(!guess(printed).is_some_and(|guess| guess.starts_with("kimi-c")), "{:?}", guess(printed));
    for name in ["wire.jsonl", "context.jsonl", "wire-shapes.jsonl", "context-shapes.jsonl"] {
        assert_eq!(guess(&fixture("kimi-cli", name)), Some("kimi-cli"), "{name}");
    }
    assert_eq!(guess(&fixture("kimi-code", "shapes.jsonl")), Some("kimi-code"));
    // Plain messages do not identify an agent.
    assert_eq!(guess(concat!(r#"{"role":"user","content":"Hi"}"#, "\n")), None);
}

const CLAUDE: &str = concat!(
    r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Two."},{"type":"tool_use","id":"t1","name":"Read","input":{"p":1}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":"two","is_error":true}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:03.000Z","isCompactSummary":true,"message":{"role":"user","content":"So far."}}"#,
    "\n",
);

#[test]
fn a_session_of_claude_code_becomes_a_context() {
    let (log, _) = convert_log_text("claude-code", "kimi-cli", CLAUDE);
    assert_eq!(guess(&log), Some("kimi-cli"));
    let call = |id: &str, arguments: &str| json!({"type": "function", "id": id, "function": {"name": "Read", "arguments": arguments}});
    assert_eq!(
        lines(&log),
        [
            json!({"role": "_checkpoint", "id": 0}),
            json!({"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}),
            json!({"role": "assistant", "content": [{"type": "think", "think": "Hm.", "encrypted": null}, {"type": "text", "text": "Two."}], "tool_calls": [call("t1", r#"{"p":1}"#), call("t2", "{}")]}),
            json!({"role": "tool", "content": "one", "tool_call_id": "t1"}),
            json!({"role": "tool", "content": [{"type": "text", "text": "<system>ERROR: Tool failed.</system>"}, {"type": "text", "text": "two"}], "tool_call_id": "t2"}),
            json!({"role": "user", "content": "So far."}),
        ]
    );
    // Generated text is not read as a message of the user or the model.
    let (again, _) = convert_log_text("kimi-cli", "record", &log);
    let again: Value = serde_json::from_str(&again).expect("a document");
    let failed = again["session"]["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .find(|entry| entry["call-id"] == "t2")
        .cloned();
    let failed = failed.expect("there");
    assert_eq!((&failed["output"], &failed["is-error"]), (&"two".into(), &true.into()));
}

#[test]
fn a_session_of_claude_code_becomes_a_file_of_kimi_code() {
    let (log, _) = convert_log_text("claude-code", "kimi-code", CLAUDE);
    assert_eq!(guess(&log), Some("kimi-code"));
    let lines = lines(&log);
    let words: Vec<_> = lines
        .iter()
        .map(|line| line["message"]["role"].as_str().or(line["type"].as_str()).unwrap_or_default())
        .collect();
    assert_eq!(words, ["metadata", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(
        lines[0],
        json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1_767_225_600_000_u64})
    );
    assert_eq!(
        (&lines[1]["message"]["id"], &lines[1]["time"]),
        (&"u1".into(), &1_767_225_600_000_u64.into())
    );
    assert_eq!(
        lines[2]["message"]["toolCalls"][0],
        json!({"type": "function", "id": "t1", "name": "Read", "arguments": "{\"p\":1}"})
    );
    assert_eq!(
        (&lines[4]["message"]["isError"], &lines[4]["message"]["toolCallId"]),
        (&true.into(), &"t2".into())
    );
    assert_eq!(lines[5]["message"]["origin"]["kind"], "compaction_summary");
    let again = entries("kimi-code", &log);
    let origins: Vec<_> = of_type(&again, "user").iter().map(|user| user["origin"].as_str()).collect();
    assert_eq!(origins.last(), Some(&Some("summary")), "{origins:?}");
}

#[test]
fn what_a_subagent_said_is_not_written_between_a_call_and_its_result() {
    let log = fixture("kimi-cli", "wire-subagent.jsonl");
    for to in ["kimi-code", "pi"] {
        let (out, report) = convert_log_text("kimi-cli", to, &log);
        assert!(report.lost > 0);
        assert!(!out.contains("wc -l notes.txt"), "{out}");
    }
    let (out, _) = convert_log_text("kimi-cli", "kimi-code", &log);
    let roles: Vec<_> =
        lines(&out).iter().filter_map(|line| line["message"]["role"].as_str().map(str::to_owned)).collect();
    assert_eq!(roles[..3], ["user", "assistant", "assistant"]);
}

/// A pseudo-random sequence that is the same in every run.
fn mixed(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

/// Lines in any order, repeated, torn and mixed with other lines: each is restored, and nothing is lost.
fn shuffled(dialect: &str, pool: &[&str]) {
    let mut seed = 7;
    for round in 0..400 {
        let mut log = format!("{}\n", pool[mixed(&mut seed) % pool.len()]);
        for _ in 0..mixed(&mut seed) % 12 {
            let line = pool[mixed(&mut seed) % pool.len()];
            match mixed(&mut seed) % 24 {
                0 => log.push_str(&line[..line.len() / 2]),
                1 => log.push_str("\u{0}\u{0}"),
                2 => log.extend([line, "\r"]),
                3 => {}
                _ => log.push_str(line),
            }
            log.push('\n');
        }
        let (record, report) = convert_log_text(dialect, "record", &log);
        assert_eq!(report.lost, 0, "round {round}: {:?}\n{log}", report.lost_paths);
        // A record requires an id, and a file without a readable line has none: the generated id is removed on the way
        // back.
        let made_up: &[&str] = if report.read == 0 { &["session/id"] } else { &[] };
        let (back, report) = convert_log_text("record", dialect, &record);
        assert_eq!(back, log, "round {round}: from {record}");
        let lost: Vec<&str> = report.lost_paths.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(lost, made_up, "round {round}:\n{log}\n{record}");
    }
}

#[test]
fn lines_come_back_in_whatever_order_they_stand() {
    shuffled(
        "kimi-cli",
        &[
            r#"{"type": "metadata", "protocol_version": "1.10"}"#,
            r#"{"timestamp": 1.5, "message": {"type": "TurnBegin", "payload": {"user_input": "go"}}}"#,
            r#"{"timestamp": 2, "message": {"type": "StepBegin", "payload": {"n": 1}}}"#,
            r#"{"timestamp": 3, "message": {"type": "ToolCall", "payload": {"type": "function", "id": "a", "function": {"name": "F", "arguments": ""}}}}"#,
            r#"{"timestamp": 4, "message": {"type": "ToolCall", "payload": {"type": "function", "id": "b", "function": {"name": "F", "arguments": "{\"x\""}}}}"#,
            r#"{"timestamp": 5, "message": {"type": "ToolCall", "payload": {"type": "function", "id": "c", "function": {"name": "F", "arguments": "{}"}}}}"#,
            r#"{"timestamp": 6, "message": {"type": "ToolCallPart", "payload": {"arguments_part": ": 1"}}}"#,
            r#"{"timestamp": 7, "message": {"type": "ToolCallPart", "payload": {"arguments_part": "}"}}}"#,
            r#"{"timestamp": 8, "message": {"type": "ToolCallPart", "payload": {"arguments_part": "{\"x\": 2}"}}}"#,
            r#"{"timestamp": 9, "message": {"type": "ToolResult", "payload": {"tool_call_id": "a", "return_value": {"is_error": false, "output": "o", "message": "m", "display": []}}}}"#,
            r#"{"timestamp": 10, "message": {"type": "ToolResult", "payload": {"tool_call_id": "b", "return_value": {"is_error": true, "output": "", "message": "m", "display": []}}}}"#,
            r#"{"timestamp": 11, "message": {"type": "StatusUpdate", "payload": {"token_usage": {"input_other": 1, "output": 1}, "message_id": "r", "plan_mode": true}}}"#,
            r#"{"timestamp": 12, "message": {"type": "StatusUpdate", "payload": {"token_usage": null, "plan_mode": false}}}"#,
            r#"{"timestamp": 13, "message": {"type": "SubagentEvent", "payload": {"parent_tool_call_id": "c", "agent_id": "s", "event": {"type": "ToolCall", "payload": {"id": "a", "function": {"name": "F", "arguments": null}}}}}}"#,
            r#"{"timestamp": 14, "message": {"type": "SubagentEvent", "payload": {"parent_tool_call_id": "c", "agent_id": "s", "event": {"type": "ToolCallPart", "payload": {"arguments_part": "{}"}}}}}"#,
            r#"{"timestamp": 15, "message": {"type": "ApprovalRequest", "payload": {"id": "q", "tool_call_id": "a", "action": "run", "description": "d"}}}"#,
            r#"{"timestamp": 16, "message": {"type": "ApprovalResponse", "payload": {"request_id": "q", "response": "reject"}}}"#,
            r#"{"timestamp": 17, "message": {"type": "CompactionEnd", "payload": {}}}"#,
            r#"{"timestamp": 18, "message": {"type": "HookResolved", "payload": {"action": "allow"}}}"#,
            r#"{"timestamp": 19, "message": {"type": "SubagentEvent", "payload": {"agent_id": "s", "event": {"type": "HookResolved", "payload": {"action": "~"}}}}}"#,
            r#"{"role": "_checkpoint", "id": 0}"#,
            r#"{"role":"assistant","content":"~","tool_calls":[{"type":"function","id":"a","function":{"name":"F","arguments":"{}"}}]}"#,
            r#"{"role":"tool","content":[{"type":"text","text":"<system>ERROR: Tool failed.</system>"},{"type":"text","text":"o"}],"tool_call_id":"a"}"#,
            r#"{"what":"else"}"#,
            "[1]",
        ],
    );
    shuffled(
        "kimi-code",
        &[
            r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#,
            r#"{"type":"profile.bind","agentId":"main","modelAlias":"m","thinkingEffort":"on","systemPrompt":"S","disallowedTools":[],"time":2}"#,
            r#"{"type":"permission.set_mode","agentId":"main","mode":"auto","time":3}"#,
            r#"{"type":"permission.set_mode","agentId":"agent-0","mode":"yolo","time":4}"#,
            r#"{"type":"context.append_message","agentId":"agent-0","message":{"role":"user","content":[{"type":"text","text":"hi"}],"toolCalls":[],"origin":{"kind":"user"}},"time":5}"#,
            r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"step.begin","uuid":"s"},"time":6}"#,
            r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"tool.call","uuid":"t","stepUuid":"s","toolCallId":"c","name":"Edit","args":{},"display":{"kind":"file_io","operation":"edit","path":"p","before":"a","after":"b"}},"time":7}"#,
            r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"tool.result","parentUuid":"t","toolCallId":"c","result":{"output":"o","note":"n","durationMs":1}},"time":8}"#,
            r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"tool.result","parentUuid":"t","toolCallId":"c","result":{"output":[],"isError":true}},"time":9}"#,
            r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"step.end","uuid":"s","finishReason":"end_turn","usage":{"output":1},"messageId":"r"},"time":10}"#,
            r#"{"type":"usage.record","agentId":"main","model":"m","usage":{"inputOther":1,"output":1},"time":11}"#,
            r#"{"type":"context.undo","agentId":"main","count":1,"time":12}"#,
            r#"{"type":"context.apply_compaction","agentId":"main","summary":"s","compactedCount":1,"tokensBefore":2,"time":13}"#,
            r#"{"type":"permission.record_approval_result","agentId":"main","toolCallId":"c","action":"a","result":{"decision":"approved"},"time":14}"#,
            r#"{"type":"subagent.completed","subagentId":"agent-0","resultSummary":"~","time":15}"#,
            r#"{"type":"tools.update_store","agentId":"main","key":"todo","value":{"a":"~"},"time":16}"#,
            r#"{"type":"turn.ended","agentId":"main","reason":"failed","error":{"message":"m"},"time":17}"#,
            r#"{"type":"x.y","agentId":"main","time":"soon"}"#,
            r#"{"what":"else"}"#,
        ],
    );
}

#[test]
fn usage_counts_once_whether_its_record_or_the_end_of_the_step_comes_first() {
    const RECORD: &str = r#"{"type":"usage.record","agentId":"main","model":"m","usage":{"inputOther":7,"output":5,"inputCacheRead":3,"inputCacheCreation":2},"usageScope":"turn","time":1794821508001}"#;
    let end = |id: &str| {
        format!(
            r#"{{"type":"context.append_loop_event","agentId":"main","event":{{"type":"step.end","uuid":"{id}","turnId":"t","step":1,"usage":{{"inputOther":7,"output":5,"inputCacheRead":3,"inputCacheCreation":2}},"finishReason":"end_turn"}},"time":1794821508002}}"#
        )
    };
    let begin = |id: &str| {
        format!(
            r#"{{"type":"context.append_loop_event","agentId":"main","event":{{"type":"step.begin","uuid":"{id}","turnId":"t","step":1}},"time":1794821508000}}"#
        )
    };
    let output = |lines: &[&str]| {
        let (events, _) = convert_log_text("kimi-code", "record", &(lines.join("\n") + "\n"));
        let record: Value = serde_json::from_str(&events).expect("a document");
        let entries = record["session"]["entries"].as_array().expect("entries").clone();
        entries.iter().filter_map(|entry| entry["token-usage"]["output"].as_u64()).sum::<u64>()
    };
    let (one, two) = (begin("a"), begin("b"));
    assert_eq!(output(&[&one, RECORD, &end("a")]), 5);
    assert_eq!(output(&[&one, &end("a"), RECORD]), 5);
    // Equal counts in two steps are counted twice.
    assert_eq!(output(&[&one, &end("a"), RECORD, &two, &end("b")]), 10);
    assert_eq!(output(&[&one, &end("a"), RECORD, &two, &end("b"), RECORD]), 10);
}
