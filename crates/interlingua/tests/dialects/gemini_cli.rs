//! Gemini CLI's session logs: repeated messages, restored logs, and sessions of other agents written as logs.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::sniff::sniff;
use serde_json::{Value, json};

use crate::support::convert_log_text;

/// The entries of a log's record, after asserting that the record restores the log.
fn entries(log: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("gemini-cli", "record", log);
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "gemini-cli", &record);
    assert_eq!(back, log, "from {record}");
    assert_eq!(report.lost, 0, "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// All entries, including nested entries.
fn all(entries: &[Value]) -> Vec<&Value> {
    let mut found = Vec::new();
    for entry in entries {
        found.push(entry);
        found.extend(entry["children"].as_array().map(|inner| all(inner)).unwrap_or_default());
    }
    found
}

fn of_type<'e>(entries: &'e [Value], kind: &str) -> Vec<&'e Value> {
    all(entries).into_iter().filter(|entry| entry["type"] == kind && entry.get("part").is_none()).collect()
}

fn log(lines: &[Value]) -> String {
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

fn head() -> Value {
    json!({"sessionId": "s", "projectHash": "x", "startTime": "2026-11-16T09:00:00.000Z", "kind": "main"})
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-11-16T09:00:01.000Z", "type": "user", "content": [{"text": text}]})
}

fn answer(id: &str, text: &str, tokens: u64) -> Value {
    json!({"id": id, "timestamp": "2026-11-16T09:00:02.000Z", "type": "gemini", "content": text, "model": "m",
        "thoughts": [{"subject": "Plan", "description": "first this", "timestamp": "2026-11-16T09:00:01.500Z"}],
        "tokens": {"input": tokens, "output": 5, "cached": 0, "thoughts": 2, "tool": 0, "total": tokens + 7}})
}

fn with_calls(mut answer: Value, calls: &[Value]) -> Value {
    answer["toolCalls"] = calls.into();
    answer
}

fn call(id: &str, output: &str) -> Value {
    json!({"id": id, "name": "look", "args": {"at": id}, "result": [response(id, output)], "status": "success",
        "timestamp": "2026-11-16T09:00:03.000Z"})
}

fn response(id: &str, output: &str) -> Value {
    json!({"functionResponse": {"id": id, "name": "look", "response": {"output": output}}})
}

fn responses(id: &str, parts: &[Value]) -> Value {
    json!({"id": id, "timestamp": "2026-11-16T09:00:03.500Z", "type": "user", "content": parts})
}

fn updated() -> Value {
    json!({"$set": {"lastUpdated": "2026-11-16T09:00:03.600Z"}})
}

/// The lines that a resumed session writes for a response with one call: one text, no usage, and the result under the
/// same id.
fn rewritten(id: &str, text: &str, call: &str, output: &str) -> [Value; 2] {
    let parts = json!([
        {"text": "**Plan** first this", "thought": true}, {"text": text},
        {"functionCall": {"id": call, "name": "look", "args": {"at": call}}}
    ]);
    let time = "2026-11-16T10:00:00.000Z";
    [
        json!({"id": id, "timestamp": time, "type": "gemini", "content": parts}),
        json!({"id": id, "timestamp": time, "type": "user", "content": [response(call, output)]}),
    ]
}

fn used(entries: &[Value]) -> u64 {
    all(entries).iter().filter_map(|entry| entry["token-usage"]["total"].as_u64()).sum()
}

#[test]
fn an_answer_that_is_written_again_with_its_calls_is_one_entry() {
    let first = answer("g", "I look.", 100);
    let again = with_calls(first.clone(), &[call("c1", "one"), call("c2", "two")]);
    let results = responses("r", &[response("c1", "one"), response("c2", "two")]);
    let entries = entries(&log(&[head(), user("u", "go"), first, updated(), again, results, updated()]));
    assert_eq!(entries.len(), 3, "{entries:?}");
    let said = &entries[2];
    let kinds: Vec<_> =
        said["children"].as_array().expect("inner").iter().map(|inner| &inner["type"]).collect();
    assert_eq!(kinds, ["reasoning", "assistant", "tool-call", "tool-result", "tool-call", "tool-result"]);
    assert_eq!(said["children"][0]["subject"], "Plan");
    assert_eq!((said["children"][5]["output"].as_str(), used(&entries)), (Some("two"), 107));
    assert_eq!(said["vendor-ext"]["more"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_resumed_history_is_neither_lost_nor_told_twice() {
    let first = with_calls(answer("g", "I look.", 100), &[call("c1", "one")]);
    let [gemini, result] = rewritten("g", "I look.", "c1", "one");
    let history = json!({"$set": {"messages": [user("u", "go"), gemini, result]}});
    let before = [head(), user("u", "go"), first, responses("r", &[response("c1", "one")])];
    let after = [
        head(),
        json!({"$set": {"messages": [user("u", "go")]}}),
        history,
        user("u2", "more"),
        answer("g2", "Yes.", 50),
    ];
    let entries = entries(&log(&[&before[..], &after].concat()));
    let texts: Vec<_> = of_type(&entries, "user").iter().map(|entry| entry["content"].clone()).collect();
    assert_eq!(texts, ["go", "more"]);
    for (kind, count) in [("tool-call", 1), ("tool-result", 1), ("reasoning", 2), ("assistant", 2)] {
        assert_eq!(of_type(&entries, kind).len(), count, "{kind}: {entries:?}");
    }
    assert_eq!(used(&entries), 107 + 57);
    assert!(all(&entries).iter().all(|entry| entry["event-type"] != "rewound"), "{entries:?}");
}

#[test]
fn what_a_rewritten_history_changed_is_said() {
    let first = with_calls(answer("g", "I look.", 100), &[call("c1", "one")]);
    let [gemini, result] = rewritten("g", "I looked.", "c1", "[cut]");
    let history = json!({"$set": {"messages": [user("u", "go"), gemini, result]}});
    let entries = entries(&log(&[head(), user("u", "go"), first, history]));
    let results: Vec<_> =
        of_type(&entries, "tool-result").iter().map(|entry| entry["output"].clone()).collect();
    assert_eq!(results, ["one", "[cut]"]);
    let replaced: Vec<_> = all(&entries).into_iter().filter(|entry| entry["replaces"] == "g").collect();
    assert_eq!(replaced.len(), 1, "{entries:?}");
    assert_eq!(replaced[0]["children"][1]["content"], "I looked.");
    assert_eq!(used(&entries), 107);
}

#[test]
fn a_result_that_only_the_user_has_is_told() {
    let mut bare = call("c1", "");
    bare.as_object_mut().expect("an object").remove("result");
    let first = with_calls(answer("g", "I look.", 100), &[bare]);
    let entries = entries(&log(&[head(), first, responses("r", &[response("c1", "late")])]));
    let results = of_type(&entries, "tool-result");
    assert_eq!(
        (results.len(), &results[0]["output"], &results[0]["call-id"]),
        (1, &"late".into(), &"c1".into())
    );
}

#[test]
fn one_call_more_in_a_later_line_is_told_alone() {
    let first = with_calls(answer("g", "I look.", 100), &[call("c1", "one")]);
    let later = with_calls(answer("g", "I look.", 100), &[call("c1", "one"), call("c2", "two")]);
    let entries = entries(&log(&[head(), first, user("u", "and?"), later]));
    let calls: Vec<_> = of_type(&entries, "tool-call").iter().map(|entry| entry["call-id"].clone()).collect();
    assert_eq!((calls, used(&entries)), (vec![json!("c1"), json!("c2")], 107));
    assert!(all(&entries).iter().all(|entry| entry.get("replaces").is_none()));
}

#[test]
fn a_rewind_names_the_last_message_that_counts() {
    let lines = [head(), user("u1", "a"), answer("g1", "b", 1), user("u2", "c"), answer("g2", "d", 1)];
    for (target, last) in [("u2", json!("g1")), ("u1", Value::Null), ("nobody", Value::Null)] {
        let lines = [&lines[..], &[json!({"$rewindTo": target}), user("u3", "e")]].concat();
        let entries = entries(&log(&lines));
        let rewound = all(&entries).into_iter().find(|entry| entry["event-type"] == "rewound").expect("told");
        assert_eq!(rewound["data"]["to"], last, "{target}");
    }
    // A shortened history is a rewind, too, once a message follows it.
    let history = json!({"$set": {"messages": [user("u1", "a"), answer("g1", "b", 1)]}});
    let (record, _) =
        convert_log_text("gemini-cli", "record", &log(&[&lines[..], &[history, user("u3", "e")]].concat()));
    assert!(record.contains(r#""event-type":"rewound","data":{"to":"g1"}"#), "{record}");
}

#[test]
fn what_the_screen_showed_is_nobodys_words() {
    let shown = |kind: &str| json!({"id": kind, "timestamp": "2026-11-16T09:00:04.000Z", "type": kind, "content": "so it is"});
    let entries = entries(&log(&[head(), shown("info"), shown("warning"), shown("error"), shown("error")]));
    let words: Vec<_> = entries.iter().map(|entry| entry["event-type"].clone()).collect();
    assert_eq!(words, ["main", "info", "warning", "error"]);
    assert_eq!((&entries[3]["data"]["content"], &entries[3]["id"]), (&"so it is".into(), &"error".into()));
}

#[test]
fn tokens_have_their_places() {
    let mut said = answer("g", "x", 1000);
    said["tokens"] =
        json!({"input": 1000, "output": 40, "cached": 600, "thoughts": 9, "tool": 3, "total": 1052});
    let entries = entries(&log(&[head(), said]));
    let usage = &entries[1]["token-usage"];
    assert_eq!(
        [&usage["input"], &usage["output"], &usage["cached"], &usage["reasoning"], &usage["total"]],
        [1003, 49, 600, 9, 1052]
    );
}

#[test]
fn a_shuffled_log_comes_back() {
    let small = [
        head(),
        updated(),
        user("u", "go"),
        answer("g", "I look.", 100),
        with_calls(answer("g", "I look.", 100), &[call("c1", "one"), call("c2", "two")]),
        with_calls(answer("g", "", 90), &[call("c2", "other")]),
        responses("r", &[response("c1", "one"), json!({"inlineData": {"data": "AAEC", "mimeType": "image/png"}})]),
        responses("g", &[response("c2", "two"), json!({"text": "and"})]),
        json!({"$set": {"messages": [user("u", "go"), answer("g", "I look.", 100), responses("g", &[response("c1", "one")])]}}),
        json!({"$set": {"messages": [user("u", "gone"), user("v", "new")], "lastUpdated": "2026-11-16T09:00:05.000Z"}}),
        json!({"$set": {"summary": "a word"}}),
        json!({"$rewindTo": "u"}),
        json!({"id": "i", "type": "info", "content": "hm"}),
        json!({"id": "e", "type": "error", "timestamp": "2026-11-16T09:00:05.000Z", "content": "oh"}),
        json!({"type": "gemini", "content": [{"text": "no id"}, {"thought": true, "text": "~"}, {"text": ""}]}),
        json!({"role": "model", "parts": [{"text": "hi"}, {"function_call": {"name": "look", "args": {}}}], "timestamp": "t"}),
        json!([user("w", "listed"), {"role": "user", "parts": [{"function_response": {"name": "look", "response": {"x": 1}}}]}]),
        json!({"id": "n", "type": "new", "content": {"~": "~"}}),
        json!({}),
    ]
    .map(|line| line.to_string());
    let lines: Vec<&str> =
        small.iter().map(String::as_str).chain(["", "{\"id\":\"u", "\u{0}\u{0}", "  7 "]).collect();
    let mut seed = 7_u64;
    for _ in 0..400 {
        // The first line shows that the log is in lines.
        let mut text = small[0].clone() + "\n";
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += lines[(seed >> 33) as usize % lines.len()];
            text += if seed >> 60 == 0 { "\r\n" } else { "\n" };
        }
        let (record, report) = convert_log_text("gemini-cli", "record", &text);
        assert_eq!(report.lost, 0, "{:?} in\n{text}", report.lost_paths);
        let (back, _) = convert_log_text("record", "gemini-cli", &record);
        assert_eq!(back, text, "from {record}");
    }
}

const CLAUDE: &str = concat!(
    r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Look"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","id":"m","model":"claude","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Read","input":{"p":1}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":"two","is_error":true}]}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"u4","parentUuid":"u3","sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/w","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","id":"n","model":"claude","content":[{"type":"tool_use","id":"t3","name":"Read","input":{}}]}}"#,
    "\n",
);

#[test]
fn a_session_of_claude_code_has_its_results_beside_the_calls() {
    let (text, _) = convert_log_text("claude-code", "gemini-cli", CLAUDE);
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap_or("head")).collect();
    assert_eq!(kinds, ["head", "user", "gemini", "gemini"], "{text}");
    assert_eq!(
        (&lines[0]["sessionId"], lines[0]["projectHash"].is_string()),
        (&"11111111-2222-4333-8444-555555555555".into(), true)
    );
    let calls = lines[2]["toolCalls"].as_array().expect("calls");
    assert_eq!(calls[0]["result"][0]["functionResponse"]["response"]["output"], "one");
    assert_eq!(calls[1]["result"][0]["functionResponse"]["response"]["error"], "two");
    assert_eq!(
        (&calls[1]["status"], &lines[2]["thoughts"][0]["description"]),
        (&"error".into(), &"Hm.".into())
    );
    // The last call has no result, and Gemini CLI would send it without one: its result is generated and marked.
    let made_up = &lines[3]["toolCalls"][0]["result"][0]["functionResponse"]["response"]["error"];
    assert_eq!(made_up, "[No result of this tool call was recorded.]");
    assert_eq!(lines[3]["id"], "u4");
}

#[test]
fn what_came_of_a_call_stands_alone_in_other_logs() {
    let first = with_calls(answer("g", "I look.", 100), &[call("c1", "one"), call("c2", "two")]);
    let text = log(&[head(), user("u", "go"), first, answer("g2", "Done.", 1)]);
    let (claude, _) = convert_log_text("gemini-cli", "claude-code", &text);
    let kinds: Vec<Value> =
        claude.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let kinds: Vec<_> = kinds.iter().map(|line| line["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["user", "assistant", "user", "user", "assistant"], "{claude}");
    let (pi, _) = convert_log_text("gemini-cli", "pi", &text);
    let roles: Vec<Value> = pi.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let roles: Vec<_> =
        roles.iter().map(|line| line["message"]["role"].as_str().unwrap_or_default()).collect();
    assert_eq!(roles, ["", "user", "assistant", "toolResult", "toolResult", "assistant"], "{pi}");
}

#[test]
fn each_form_is_known_and_live_output_is_not() {
    let named = |text: &str| sniff(text.as_bytes(), true).map(|guess| guess.dialect.name);
    for text in [
        log(&[head(), user("u", "go")]),
        json!({"sessionId": "s", "projectHash": "x", "messages": [user("u", "go")]}).to_string(),
        format!("{:#}", json!({"sessionId": "s", "projectHash": "x", "messages": [user("u", "go")]})),
        log(&[user("u", "go"), answer("g", "yes", 1)]),
        log(&[json!({"sessionId": "s", "role": "user", "parts": [{"text": "go"}], "timestamp": "t"})]),
        format!("{:#}", json!([{"sessionId": "s", "role": "user", "parts": [{"text": "go"}]}])),
    ] {
        assert_eq!(named(&text), Some("gemini-cli"), "{text}");
    }
    for live in [
        json!({"type": "init", "timestamp": "t", "session_id": "s", "model": "m"}),
        json!({"type": "message", "timestamp": "t", "role": "user", "content": "go"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}),
        json!({"session_id": "s", "response": "yes", "stats": {}}),
    ] {
        assert_ne!(named(&live.to_string()), Some("gemini-cli"), "{live}");
    }
}

/// Two texts that collide under the former hash of earlier messages: such texts of 16 bytes are found quickly.
fn made_to_collide(id: &str) -> [String; 2] {
    let word = |state: u64, word: u64| {
        let hash = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ hash >> 32
    };
    let mut state = 0xcbf2_9ce4_8422_2325u64;
    let mut padded = [0; 8];
    padded[..id.len()].copy_from_slice(id.as_bytes());
    for next in [u64::from_le_bytes(padded), id.len() as u64, 0xf8 | 2, 0] {
        state = word(state, next);
    }
    let first = *b"the tide";
    let after_first = word(state, u64::from_le_bytes(first));
    let second = *b" is high";
    for number in 0u64.. {
        let other = number.to_string();
        let mut start = *b"________";
        let length = other.len().min(8);
        start[..length].copy_from_slice(&other.as_bytes()[..length]);
        let after = word(state, u64::from_le_bytes(start));
        let rest = (after ^ after_first ^ u64::from_le_bytes(second)).to_le_bytes();
        if rest.iter().all(u8::is_ascii_alphanumeric) {
            let text = |bytes: [[u8; 8]; 2]| String::from_utf8(bytes.concat()).expect("ASCII");
            return [text([first, second]), text([start, rest])];
        }
    }
    unreachable!("numbers do not end")
}

#[test]
fn a_text_made_to_collide_with_another_is_told() {
    let [one, two] = made_to_collide("m2");
    assert_ne!(one, two);
    let line = |text: &str| {
        format!(
            r#"{{"id":"m2","timestamp":"2026-02-10T17:28:02.000Z","type":"gemini","content":"{text}","thoughts":[],"model":"gemini-3-pro"}}"#
        )
    };
    let head = r#"{"sessionId":"5b6f8a3e-0000-4000-8000-000000000001","projectHash":"x","startTime":"2026-02-10T17:28:00.000Z","lastUpdated":"2026-02-10T17:28:00.000Z","kind":"main"}"#;
    let asked =
        r#"{"id":"m1","timestamp":"2026-02-10T17:28:01.000Z","type":"user","content":[{"text":"Well?"}]}"#;
    let log = [head, asked, &line(&one), &line(&two), ""].join("\n");
    for to in ["record", "claude-code", "codex", "pi"] {
        let (out, _) = convert_log_text("gemini-cli", to, &log);
        assert!(out.contains(&two), "{to}: {out}");
    }
}
