//! Messages in a bare JSON list: each is an entry of its session, whatever the layout of the list.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use crate::support::{Way, convert, convert_pieces, record};
use interlingua::dialects::{Dialect, Role};
use interlingua::error::Severity;
use interlingua::sniff::sniff;
use serde_json::{Value, json};

fn log(name: &str) -> Way {
    (Dialect::named(name).expect("registered"), Role::Log)
}

/// The entries with a message, after asserting that the record is sound and restores the log.
fn entries(way: Way, text: &str) -> Vec<Value> {
    let out = convert(way, record(), text.as_bytes());
    assert_eq!((out.report.lost, out.report.verbatim), (0, 0), "{:?}", out.report.lost_paths);
    assert_eq!(out.report.problems, [], "{text}");
    for size in [1, 2, 7, 64] {
        let pieces = convert_pieces(way, record(), text.as_bytes().chunks(size));
        assert!(pieces == out, "in chunks of {size}: {text}");
    }
    for profile in [record(), log("record-v2")] {
        let bytes = convert(way, profile, text.as_bytes()).bytes;
        let back = convert(profile, way, &bytes);
        assert_eq!(String::from_utf8_lossy(&back.bytes), text, "the list comes back");
        let errors = back.report.problems.iter().filter(|it| it.code.severity() == Severity::Error);
        assert_eq!((back.report.lost, errors.count()), (0, 0), "{:?}", back.report.lost_paths);
    }
    let record: Value = serde_json::from_slice(&out.bytes).expect("one document");
    let entries = record["session"]["entries"].as_array().expect("entries").clone();
    entries.into_iter().filter(|entry| entry["event-type"] != "line").collect()
}

/// An entry without its kept line.
fn told(entries: Vec<Value>) -> Vec<Value> {
    let without_line = |mut entry: Value| {
        entry.as_object_mut().expect("a map").remove("vendor-ext");
        entry
    };
    entries.into_iter().map(without_line).collect()
}

fn gemini() -> Vec<Value> {
    let time = "2026-02-07T11:22:16.345Z";
    let session = "0498cf95-0000-4000-8000-000000000001";
    vec![
        json!({"sessionId": session, "role": "user", "parts": [{"text": "Fix ]it["}], "timestamp": time}),
        json!({"sessionId": session, "role": "model", "timestamp": time, "finishReason": "STOP",
            "parts": [{"text": "I look."}, {"function_call": {"name": "ls", "args": {"a": [1, 2]}}}]}),
        json!({"sessionId": session, "role": "user", "timestamp": time,
            "parts": [{"function_response": {"name": "ls", "response": {"output": "x", "outcome": "success"}}}]}),
    ]
}

fn opencode() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "Fix \"it\", {now", "timestamp": 1_707_307_336_344_u64}),
        json!({"role": "assistant", "content": "I look.",
            "metadata": {"model": "gpt-5.2", "finish_reason": "stop", "thinking": "Where?"},
            "tool_calls": [{"type": "function", "function": {"name": "ls", "arguments": "{\"a\": 1}"}}]}),
        json!({"tool_responses": [{"output": "x", "status": "success"}]}),
        json!({"role": "assistant", "content": "Done."}),
    ]
}

/// Messages as OpenCode's server lists them.
fn listed() -> Vec<Value> {
    let message =
        |id: &str, role: &str| json!({"id": id, "sessionID": "ses_1", "role": role, "time": {"created": 1}});
    let part = |id: &str, message: &str, text: &str| json!({"id": id, "sessionID": "ses_1", "messageID": message, "type": "text", "text": text});
    vec![
        json!({"info": message("msg_1", "user"), "parts": [part("prt_1", "msg_1", "Fix it")]}),
        json!({"info": message("msg_2", "assistant"), "parts": [part("prt_2", "msg_2", "Done.")]}),
    ]
}

/// Common layouts of a list.
fn layouts(messages: &[Value]) -> Vec<String> {
    let list = Value::Array(messages.to_vec());
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    vec![
        list.to_string(),
        list.to_string() + "\n",
        format!("{list:#}"),
        format!("{list:#}\n\n"),
        format!("\n  {list:#}\r\n"),
        format!("[\n{}\n]\n", lines.join(",\n")),
        format!("[ {} , {}\t]", lines[0], lines[1..].join(" ,\n\n")),
    ]
}

#[test]
fn the_messages_of_a_list_are_the_entries_that_lines_would_be() {
    for (name, messages) in [("gemini-cli", gemini()), ("opencode", opencode()), ("opencode", listed())] {
        let way = log(name);
        let lines: String = messages.iter().map(|message| message.to_string() + "\n").collect();
        let expected = told(entries(way, &lines));
        let kinds = |entries: &[Value]| -> Vec<String> {
            entries.iter().map(|entry| entry["type"].as_str().expect("a type").to_owned()).collect()
        };
        assert!(!kinds(&expected).contains(&"system-event".to_owned()), "{expected:?}");
        for list in layouts(&messages) {
            let guess = sniff(list.as_bytes(), true).map(|guess| guess.dialect.name);
            assert_eq!(guess, Some(name), "{list}");
            assert_eq!(told(entries(way, &list)), expected, "{list}");
        }
    }
}

#[test]
fn a_list_that_is_cut_off_or_damaged_comes_back() {
    for (name, messages) in [("gemini-cli", gemini()), ("opencode", opencode())] {
        let way = log(name);
        for list in layouts(&messages) {
            for end in (0..list.len()).filter(|end| list.is_char_boundary(*end)) {
                for damaged in [list[..end].to_owned(), list[..end].to_owned() + "]" + &list[end..]] {
                    let bytes = convert(way, record(), damaged.as_bytes()).bytes;
                    let back = convert(record(), way, &bytes);
                    assert_eq!(String::from_utf8_lossy(&back.bytes), damaged);
                }
            }
        }
    }
}

#[test]
fn two_lists_one_after_the_other_come_back() {
    for (name, messages) in [("gemini-cli", gemini()), ("opencode", opencode())] {
        for list in layouts(&messages) {
            let twice = format!("{list}{list}");
            let bytes = convert(log(name), record(), twice.as_bytes()).bytes;
            assert_eq!(String::from_utf8_lossy(&convert(record(), log(name), &bytes).bytes), twice);
        }
    }
}

#[test]
fn lists_of_opencodes_storage_are_no_messages() {
    let todo = json!([{"content": "Fix it", "status": "pending", "priority": "high", "id": "1"}]);
    let diff = json!([{"file": "a.rs", "before": "", "after": "x", "additions": 1, "deletions": 0}]);
    for (list, kind) in [(todo, "todo"), (diff, "session_diff")] {
        for text in [list.to_string(), format!("{list:#}\n")] {
            let found = entries(log("opencode"), &text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0]["event-type"], kind);
        }
    }
}
