//! OpenCode's sessions: documents, authors, restored logs, and sessions of other agents written as exports.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use serde_json::{Deserializer, Value, json};

use crate::support::{convert_log_text, convert_log_with};

const STORAGE: &str = include_str!("../../fixtures/agents/opencode/2026-02/storage.jsonl");
const EXPORT: &str = include_str!("../../fixtures/agents/opencode/2026-11/export.json");
const TWO: &str = include_str!("../../fixtures/agents/opencode/2026-11/two-exports.json");
const RUN: &str = include_str!("../../fixtures/agents/opencode_stream/2026-11/shapes.jsonl");
const API_LIKE: &str = include_str!("../../fixtures/agents/opencode/2026-02/api-like.json");
const CLAUDE: &str = include_str!("../../fixtures/anthropic/claude_code/2026-11/tools.jsonl");

fn documents(text: &str) -> Vec<Value> {
    Deserializer::from_str(text).into_iter().map(|doc| doc.expect("a document")).collect()
}

/// The records of a log, after asserting that they restore the log.
fn records(log: &str) -> Vec<Value> {
    let (records, report) = convert_log_text("opencode", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, _) = convert_log_text("record", "opencode", &records);
    assert_eq!(back, log, "from {records}");
    documents(&records)
}

/// All entries, without the kept lines.
fn entries(log: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    for mut record in records(log) {
        for entry in record["session"]["entries"].as_array_mut().expect("entries") {
            entry.as_object_mut().expect("a map").remove("vendor-ext");
            entries.push(entry.take());
        }
    }
    entries
}

fn with_id<'e>(entries: &'e [Value], id: &str) -> &'e Value {
    entries.iter().find(|entry| entry["id"] == id).expect("an entry of that id")
}

#[test]
fn each_session_of_a_file_is_a_record_of_its_own() {
    let records = records(STORAGE);
    let facts: Vec<Value> = records
        .iter()
        .map(|record| {
            let session = &record["session"];
            json!([session["session-id"], session["environment"], session["vendor-ext"]["data"]["title"]])
        })
        .collect();
    let place = |path: &str| json!({"working-dir": path, "vcs": {"type": "git", "repository": path}});
    assert_eq!(
        facts,
        [
            json!(["ses_3b7c8b357ffe7WSI65hIZWAtTJ", place("/proj/shop"), "Tax in the cart"]),
            json!(["ses_3b7c76cceffemmR6GNCgYtVBVX", place("/proj/blog"), "The picture"]),
        ]
    );
    // The second project's document begins the second session, although it does not name that session.
    assert_eq!(records[1]["session"]["entries"][0]["event-type"], "project");
    assert_eq!(records[1]["session"]["vendor-ext"]["data"]["parent"], "ses_3b7c8b357ffe7WSI65hIZWAtTJ");
}

#[test]
fn parts_name_their_message_and_messages_what_they_answer() {
    let entries = entries(STORAGE);
    for entry in &entries {
        if let Some(parent) = entry.get("parent-id") {
            with_id(&entries, parent.as_str().expect("an id"));
        }
    }
    let question = with_id(&entries, "prt_c48374e60001001Parta");
    assert_eq!(
        (&question["type"], &question["parent-id"]),
        (&json!("user"), &json!("msg_c48374e60001001Messa"))
    );
    let answer = with_id(&entries, "prt_c48374e60003001Parta");
    assert_eq!((&answer["type"], &answer["timestamp"]), (&json!("assistant"), &json!(1_770_738_110_400_u64)));
}

#[test]
fn a_message_that_contradicts_its_parts_is_a_problem() {
    let part = |kind: &str| json!({"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": kind, "text": "x"});
    let message = json!({"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 5}});
    let problems = |log: &str| convert_log_text("opencode", "record", log).1.problems.len();
    assert_eq!(problems(&format!("{}\n{message}\n", part("text"))), 1);
    assert_eq!(problems(&format!("{}\n{message}\n", part("step-start"))), 0);
    // If the message comes first, it determines the author.
    let log = format!("{message}\n{}\n", part("text"));
    assert_eq!(problems(&log), 0);
    assert_eq!(entries(&log)[1]["type"], "assistant");
}

#[test]
fn usage_stands_on_the_message_once_with_reasoning_in_the_output() {
    let entries = entries(STORAGE);
    let counted: Vec<&Value> = entries.iter().filter_map(|entry| entry.get("token-usage")).collect();
    assert_eq!(counted.len(), 3);
    let usage = &with_id(&entries, "msg_c48374e60003001Messa")["token-usage"];
    assert_eq!(
        [&usage["input"], &usage["output"], &usage["reasoning"], &usage["cached"], &usage["cache-write"]],
        [14_580, 85, 25, 14_028, 512]
    );
    let stop = json!({"class": "tool_use", "raw": "tool-calls"});
    assert_eq!((&usage["cost"], &usage["response"]["stop"]), (&json!(0.0142), &stop));
    // The output of a run has no messages: its steps hold the usage.
    let sum = |entries: &[Value]| -> u64 {
        entries.iter().filter_map(|entry| entry["token-usage"]["total"].as_u64()).sum()
    };
    assert_eq!(sum(&self::entries(RUN)), 1050 + 1020);
}

#[test]
fn a_tool_part_is_a_call_and_its_result() {
    let entries = entries(EXPORT);
    let children = entries.iter().filter_map(|entry| entry["children"].as_array()).flatten();
    let results: Vec<Value> = children
        .filter(|child| child["type"] == "tool-result")
        .map(|child| {
            json!([
                child["call-id"],
                child["is-error"],
                child["exit-code"],
                child["duration"],
                child["files"]
            ])
        })
        .collect();
    let diff = "@@ -1 +1 @@\n-beta\n+BETA\n";
    assert_eq!(
        results,
        [
            json!(["call_1", false, null, 4, null]),
            json!(["call_2", false, null, 3, [{"path": "/proj/shop/notes.txt", "action": "patch", "diff": diff}]]),
            json!(["call_3", false, 3, 54, null]),
            json!(["call_4", true, null, 1, null]),
            json!(["call_5", false, null, 1, [{"path": "/proj/shop/new.txt", "action": "write"}]]),
        ]
    );
    let calls = entries.iter().filter_map(|entry| entry["children"].as_array()).flatten();
    let open: Vec<&Value> =
        calls.filter(|child| child["type"] == "tool-call" && child.get("status").is_some()).collect();
    assert_eq!(open.iter().map(|call| &call["status"]).collect::<Vec<_>>(), ["running", "pending"]);
    let listed = &self::entries(STORAGE);
    let listed = listed.iter().filter_map(|entry| entry["children"][1]["files"].as_array()).flatten();
    let actions: Vec<&Value> = listed.map(|file| &file["action"]).collect();
    assert_eq!(actions, ["patch", "write", "delete"]);
}

#[test]
fn words_of_the_program_are_told_from_those_of_the_person() {
    let entries = entries(EXPORT);
    let first = with_id(&entries, "msg_1de3f5d0001Msg");
    assert_eq!(first.get("origin"), None);
    let children = first["children"].as_array().expect("children");
    let harness: Vec<&Value> = children.iter().filter(|child| child["origin"] == "harness").collect();
    assert_eq!(harness.len(), 1);
    assert!(harness[0]["content"].as_str().is_some_and(|text| text.starts_with("Called the Read tool")));
    assert_eq!(with_id(&entries, "msg_1de3f5d0007Msg")["origin"], "harness");
    assert_eq!(with_id(&entries, "msg_1de3f5d0006Msg")["origin"], "summary");
    // In the session of a subagent, another agent wrote the prompt.
    assert_eq!(with_id(&self::entries(TWO), "msg_two11")["origin"], "agent");
}

#[test]
fn what_happened_is_an_event() {
    let entries = entries(EXPORT);
    let events: Vec<Value> = entries
        .iter()
        .filter(|entry| matches!(entry["event-type"].as_str(), Some("error" | "compacted" | "rewound")))
        .map(|entry| json!([entry["event-type"], entry["data"]]))
        .collect();
    assert_eq!(
        events,
        [
            json!(["error", {"class": "rate_limit", "status": 429, "code": "APIError", "message": "Too many requests"}]),
            json!(["compacted", {"trigger": "auto", "kept-from": "msg_1de3f5d0003Msg"}]),
            json!(["error", {"class": "authentication", "code": "ProviderAuthError", "message": "no key"}]),
            json!(["rewound", {"to": "msg_1de3f5d0008Msg"}]),
        ]
    );
}

#[test]
fn the_secret_of_a_share_is_in_no_member_of_ours_and_in_no_other_log() {
    for to in ["claude-code", "codex", "pi", "universal"] {
        let role = if to == "universal" { Role::Live } else { Role::Log };
        let named = |name| Dialect::named(name).expect("registered");
        let mut pipe =
            Pipe::new((named("opencode"), Role::Log), (named(to), role), &Options::default()).expect("both");
        let mut out = Vec::new();
        pipe.push(STORAGE.as_bytes(), &mut out);
        pipe.finish(&mut out);
        assert!(!String::from_utf8_lossy(&out).contains("not-a-secret"), "{to}");
    }
    for entry in entries(STORAGE) {
        assert!(!entry.to_string().contains("not-a-secret"), "{entry}");
    }
}

#[test]
fn the_form_like_an_api_is_read() {
    let entries = entries(API_LIKE);
    let answer = entries.iter().find(|entry| entry["type"] == "assistant").expect("an answer");
    assert_eq!(answer["children"][0], json!({"type": "reasoning", "content": "I need to find the file."}));
    assert_eq!(
        (&answer["children"][1]["name"], &answer["children"][1]["input"]),
        (&json!("grep"), &json!({"pattern": "memcpy"}))
    );
    assert_eq!(
        (&answer["model-id"], &answer["token-usage"]["stop-reason"]),
        (&json!("gpt-5.2"), &json!("tool_calls"))
    );
    let results = entries.iter().find(|entry| entry["author"] == "tool").expect("results");
    let told = |at: usize| json!([results["children"][at]["call-id"], results["children"][at]["is-error"]]);
    assert_eq!([told(0), told(1)], [json!(["call-001", false]), json!(["call-002", true])]);
}

#[test]
fn documents_in_any_order_come_back() {
    let pool: Vec<String> = documents(STORAGE)
        .into_iter()
        .chain(documents(RUN))
        .chain([json!({"type": "new", "x": 1}), json!([]), json!({"meta": {"agent": "opencode"}}), json!(7)])
        .map(|doc| doc.to_string())
        .collect();
    let mut dice = 0x2545_f491_4f6c_dd1d_u64;
    let mut roll = |below: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice % below as u64) as usize
    };
    for round in 0..400 {
        let mut log = String::new();
        for _ in 0..=roll(12) {
            log.push_str(&pool[roll(pool.len())]);
            log.push_str(["\n", "\n", "\n", "\r\n", "\n\n"][roll(5)]);
        }
        let (record, report) = convert_log_text("opencode", "record", &log);
        assert_eq!(report.lost, 0, "round {round}: {:?} of {log}", report.lost_paths);
        let (back, report) = convert_log_text("record", "opencode", &record);
        assert_eq!(back, log, "round {round}: from {record}");
        let holes = report.problems.iter().filter(|problem| problem.code.name() == "unfilled-hole").count();
        assert_eq!(holes, 0, "round {round}: {log}");
    }
}

#[test]
fn a_file_that_begins_in_the_middle_of_a_document_tells_the_others() {
    let log = &STORAGE[STORAGE.find('\n').unwrap_or(0)..];
    let (record, report) = convert_log_text("opencode", "record", log);
    assert_eq!(report.lost, 0);
    assert!(record.contains(r#""content":"I look at the file first.""#), "{record}");
    assert_eq!(convert_log_text("record", "opencode", &record).0, log);
}

#[test]
fn another_agents_session_becomes_an_export_that_is_imported() {
    let (export, report) = convert_log_text("claude-code", "opencode", CLAUDE);
    let export: Value = serde_json::from_str(&export).expect("one document");
    assert!(report.notes.iter().any(|(note, _)| note.contains("reasoning becomes")), "{:?}", report.notes);
    let info = &export["info"];
    for name in ["id", "slug", "title", "version"] {
        assert!(info[name].is_string(), "{name}");
    }
    assert!(info["id"].as_str().is_some_and(|id| id.starts_with("ses")));
    let (mut last_time, mut last_message, mut last_part) = (0, String::new(), String::new());
    let text = |val: &Value| val.as_str().expect("a string").to_owned();
    for message in export["messages"].as_array().expect("messages") {
        let info = &message["info"];
        let time = info["time"]["created"].as_u64().expect("a time");
        assert!(time > std::mem::replace(&mut last_time, time), "{info}");
        let id = text(&info["id"]);
        assert!(id.starts_with("msg") && id > last_message, "{id} after {last_message}");
        last_message.clone_from(&id);
        if info["role"] == "assistant" {
            for name in ["parentID", "modelID", "providerID", "mode", "agent"] {
                assert!(info[name].is_string(), "{name} of {info}");
            }
            assert!(
                info["path"]["cwd"].is_string()
                    && info["cost"].is_number()
                    && info["tokens"]["cache"]["read"].is_number()
            );
        } else {
            assert!(info["agent"].is_string() && info["model"]["modelID"].is_string(), "{info}");
        }
        for part in message["parts"].as_array().expect("parts") {
            let own = text(&part["id"]);
            assert!(own.starts_with("prt") && own > std::mem::replace(&mut last_part, own.clone()), "{own}");
            assert_eq!((&part["messageID"], &part["sessionID"]), (&json!(id), &export["info"]["id"]));
            if part["type"] == "tool" && part["state"]["status"] == "completed" {
                let state = &part["state"];
                assert!(
                    state["output"].is_string()
                        && state["title"].is_string()
                        && state["metadata"].is_object(),
                    "{state}"
                );
                assert!(state["time"]["end"].is_number(), "{state}");
            }
        }
    }
    // A call and its result are one part again.
    let tools = export["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .flat_map(|message| message["parts"].as_array().expect("parts"));
    let tools: Vec<&Value> = tools.filter(|part| part["type"] == "tool").collect();
    assert!(!tools.is_empty() && tools.iter().all(|tool| tool["state"]["status"] != "pending"), "{tools:?}");
}

#[test]
fn no_time_is_later_than_now() {
    let line = |id: &str, time: &str, role: &str| {
        format!(
            r#"{{"type":"{role}","uuid":"{id}","parentUuid":null,"sessionId":"s","timestamp":"{time}","message":{{"role":"{role}","content":"x"}}}}"#
        ) + "\n"
    };
    let log =
        line("a", "2026-11-15T08:00:00.000Z", "user") + &line("b", "2126-11-15T08:00:00.000Z", "assistant");
    let now = 1_794_740_000_000;
    let (export, _) =
        convert_log_with("claude-code", "opencode", log.as_bytes(), &Options::default().with_now(now));
    let export: Value = serde_json::from_slice(&export).expect("one document");
    let times: Vec<u64> = export["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|message| message["info"]["time"]["created"].as_u64())
        .collect();
    assert_eq!(times, [1_794_729_600_000, now]);
}

#[test]
fn several_sessions_become_several_exports() {
    let (records, _) = convert_log_text("opencode", "record", TWO);
    // Records without kept lines, as if another agent had made them.
    let foreign: String = documents(&records)
        .into_iter()
        .map(|mut record| {
            for entry in record["session"]["entries"].as_array_mut().expect("entries") {
                entry.as_object_mut().expect("a map").remove("vendor-ext");
            }
            record["session"]["agent-meta"]["cli-name"] = json!("someone");
            record.to_string() + "\n"
        })
        .collect();
    let (exports, _) = convert_log_text("record", "opencode", &foreign);
    let exports = documents(&exports);
    let told: Vec<Value> = exports
        .iter()
        .map(|export| json!([export["info"]["id"], export["messages"][1]["parts"][0]["text"]]))
        .collect();
    assert_eq!(told, [json!(["ses_two0", "Answer 0"]), json!(["ses_two1", "Answer 1"])]);
}

#[test]
fn other_logs_get_dates_and_results_of_their_own() {
    let (claude, _) = convert_log_text("opencode", "claude-code", EXPORT);
    let lines: Vec<Value> = claude.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    assert_eq!(lines[0]["timestamp"], "2026-11-15T08:07:36.010Z");
    let blocks = |line: &Value| -> Vec<String> {
        let content = line["message"]["content"].as_array();
        content
            .into_iter()
            .flatten()
            .map(|block| block["type"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let answer = lines.iter().position(|line| blocks(line).contains(&"tool_use".to_owned())).expect("calls");
    assert!(!blocks(&lines[answer]).contains(&"tool_result".to_owned()));
    for line in &lines[answer + 1..answer + 3] {
        assert_eq!((&line["type"], blocks(line)), (&json!("user"), vec!["tool_result".to_owned()]));
    }
}
