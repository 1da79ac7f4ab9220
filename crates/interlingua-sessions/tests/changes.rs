//! Logs of changes that VS Code writes: the document has the last state, and every other value is beside it.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use interlingua_sessions::{InputPlace, MOST_UNPACKED, SourceHints};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The text that the core reads for a file with these bytes.
fn read(bytes: &[u8]) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path: PathBuf = std::env::temp_dir().join(format!("changes-{}-{number}.jsonl", std::process::id()));
    fs::write(&path, bytes).expect("a file");
    let opened = InputPlace::File(path.clone()).open(MOST_UNPACKED).expect("an input");
    let mut all = Vec::new();
    let pushed = opened.each(
        |error| error,
        |piece| {
            all.extend_from_slice(piece);
            Ok(())
        },
    );
    pushed.expect("read");
    fs::remove_file(&path).expect("removed");
    String::from_utf8(all).expect("a text")
}

/// The document of a log with these lines.
fn document(lines: &[Value]) -> Value {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    serde_json::from_str(&read(lines.join("\n").as_bytes())).expect("a document")
}

fn begin(requests: &Value) -> Value {
    json!({"kind": 0, "v": {"version": 3, "creationDate": 1, "sessionId": "s", "requests": requests}})
}

#[test]
fn changes_are_applied_in_their_order() {
    let found = document(&[
        begin(&json!([])),
        json!({"kind": 2, "k": ["requests"], "v": [{"requestId": "a", "response": []}]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "one"}, {"value": "tw"}]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "two"}], "i": 1}),
        json!({"kind": 1, "k": ["requests", 0, "result"], "v": {"details": "x"}}),
        json!({"kind": 1, "k": ["customTitle"], "v": "T"}),
        json!({"kind": 3, "k": ["creationDate"]}),
    ]);
    assert_eq!(
        found,
        json!({"version": 3, "sessionId": "s",
        "requests": [{"requestId": "a", "response": [{"value": "one"}, {"value": "two"}], "result": {"details": "x"}}],
        "customTitle": "T",
        "superseded": [
            {"line": 4, "k": ["requests", 0, "response"], "v": {"value": "tw"}},
            {"line": 7, "k": ["creationDate"], "v": 1},
        ]})
    );
}

#[test]
fn a_list_that_does_not_exist_is_made() {
    let found = document(&[
        begin(&json!([{"requestId": "a", "response": null}, {"requestId": "b"}])),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [1]}),
        json!({"kind": 2, "k": ["requests", 1, "response"], "v": [2]}),
        json!({"kind": 2, "k": ["requests", 1, "response"], "i": 0}),
    ]);
    assert_eq!(
        found["requests"],
        json!([{"requestId": "a", "response": [1]}, {"requestId": "b", "response": []}])
    );
}

#[test]
fn a_line_that_cannot_be_applied_is_in_the_document() {
    let good = begin(&json!([{"requestId": "a"}]));
    let odd = [
        r#"{"kind":1,"k":["requests",7,"result"],"v":1}"#,
        r#"{"kind":1,"k":["requests",99999999999],"v":1}"#,
        r#"{"kind":2,"k":["requests"],"v":[1],"i":5}"#,
        r#"{"kind":2,"k":["sessionId"],"v":[1]}"#,
        r#"{"kind":9,"k":["requests"],"v":[1]}"#,
        r#"{"kind":1,"k":[],"v":1}"#,
        r#"{"kind":1,"k":["requests",0,"res"#,
    ];
    let mut log = format!("{good}\n{}\n", odd.join("\n")).into_bytes();
    log.extend(b"\xff\n");
    let text = read(&log);
    let found: Value = serde_json::from_str(&text).expect("a document");
    let lines = found["unapplied"].as_array().expect("lines");
    assert_eq!(lines.len(), odd.len() + 1, "{found}");
    for (at, line) in odd.iter().enumerate() {
        assert_eq!(lines[at]["raw"], json!(line));
        assert_eq!(lines[at]["line"], json!(at + 2));
    }
    assert_eq!(lines[odd.len()]["bytes"], "ff");
    assert_eq!(found["requests"], json!([{"requestId": "a"}]));
}

#[test]
fn values_keep_their_spelling() {
    let log = concat!(
        r#"{"kind":0,"v":{"requests":[{"n":1.50e3,"t":"\u0041\/"}],"sessionId":"s"}}"#,
        "\n",
        r#"{"kind":1,"k":["x"],"v":12345678901234567890}"#
    );
    let text = read(log.as_bytes());
    assert!(text.contains(r#"{"n":1.50e3,"t":"\u0041\/"}"#), "{text}");
    assert!(text.contains(r#""x":12345678901234567890"#), "{text}");
}

#[test]
fn other_lines_stay_as_they_are() {
    for log in [
        "{\"kind\":0,\"v\":{\"other\":1}}\n{\"kind\":1,\"k\":[\"a\"],\"v\":2}\n",
        "{\"kind\":1,\"k\":[\"a\"],\"v\":2}\n",
        "{\"kind\":0,\"v\":{",
        "{",
        "",
    ] {
        assert_eq!(read(log.as_bytes()), log);
    }
}

#[test]
fn a_log_of_changes_is_a_session_of_copilot_chat() {
    let path = std::env::temp_dir().join(format!("changes-{}-detected.jsonl", std::process::id()));
    let request =
        json!({"kind": 2, "k": ["requests"], "v": [{"requestId": "a", "message": {"text": "Hello"}}]});
    fs::write(&path, format!("{}\n{request}\n", begin(&json!([])))).expect("a file");
    let opened = InputPlace::File(path.clone()).open(MOST_UNPACKED).expect("an input");
    let identity = opened.identify("a log", &SourceHints::default()).expect("a dialect");
    fs::remove_file(&path).expect("removed");
    assert_eq!(identity.dialect.name, "copilot-chat");
}

/// Lines that change any part of a small session, possible or not.
fn change() -> impl Strategy<Value = Value> {
    let step = prop_oneof![
        Just(json!("requests")),
        Just(json!("response")),
        Just(json!("a\"b")),
        (0..3_u8).prop_map(|at| json!(at)),
    ];
    let path = prop::collection::vec(step, 0..4);
    (0..5_u8, path, any::<Option<u32>>(), prop::option::of(0..3_u8)).prop_map(|(kind, path, value, from)| {
        let mut line = json!({"kind": kind, "k": path});
        let value = value.map(|number| json!(format!("value-{number}-")));
        match (kind, value) {
            (0, Some(value)) => line["v"] = json!({"requests": [{"response": [value]}]}),
            (2, Some(value)) => line["v"] = json!([value]),
            (_, Some(value)) => line["v"] = value,
            (_, None) => {}
        }
        if let Some(from) = from {
            line["i"] = json!(from);
        }
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_of_the_log_is_in_the_document(changes in prop::collection::vec(change(), 0..12)) {
        let mut lines = vec![begin(&json!([{"requestId": "a", "response": ["first-value"]}]))];
        lines.extend(changes);
        let text = document(&lines).to_string();
        for line in &lines {
            let spelled = line.to_string();
            for value in spelled.split('"').filter(|word| word.starts_with("value-") || word.starts_with("first-")) {
                prop_assert!(text.contains(value), "{value} of {spelled} is not in {text}");
            }
        }
    }
}
