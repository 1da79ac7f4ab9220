//! Stores of sessions as inputs: each session is one, beside the ordinary logs of a directory.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run has failed")]

mod support;

use support::Dir;

const CLAUDE: &str = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"user","content":"hi"}}
"#;

/// A directory with a tree of one session and a log.
fn with_tree(test: &str) -> Dir {
    let dir = Dir::new(test);
    dir.write("in/claude.jsonl", CLAUDE)
        .write(
            "in/storage/session/p/ses_1.json",
            r#"{"id":"ses_1","slug":"x","projectID":"p","directory":"/w","title":"T","version":"1","time":{"created":1,"updated":2},"share":{"secret":"hidden","url":"u"}}"#,
        )
        .write(
            "in/storage/message/ses_1/msg_1.json",
            r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"x","modelID":"m"}}"#,
        )
        .write(
            "in/storage/part/msg_1/prt_1.json",
            r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hello there"}"#,
        );
    dir
}

#[test]
fn a_store_and_logs_in_one_directory_are_all_found() {
    let dir = with_tree("store_and_logs");
    let run = dir.run("convert -q in --to record -o out");
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let record = String::from_utf8(dir.read("out/storage/ses_1.record.json")).expect("text");
    assert!(record.contains(r#""content":"hello there""#) && !record.contains("hidden"), "{record}");
    assert!(!dir.read("out/claude.record.json").is_empty());
}

#[test]
fn a_store_that_is_named_needs_a_directory_for_its_sessions() {
    let dir = with_tree("store_named");
    let run = dir.run("convert -q in/storage --to record");
    assert_eq!(run.code, Some(1));
    let run = dir.run("convert -q in/storage --to opencode -o out");
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let document = String::from_utf8(dir.read("out/storage/ses_1.opencode.jsonl")).expect("text");
    assert!(document.starts_with(r#"{"info":{"id":"ses_1""#), "{document}");
}

#[test]
fn a_database_of_something_else_is_left_aside_or_refused() {
    let dir = with_tree("other_database");
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(512, 0);
    dir.write("in/other.db", bytes);
    let run = dir.run("convert -q in/other.db --to record -o out");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("in/other.db` is a "), "{}", run.stderr);
    let run = dir.run("show in/other.db");
    assert!(run.stderr.contains("holds many sessions"), "{}", run.stderr);
}
