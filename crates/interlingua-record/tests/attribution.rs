//! The attribution of lines: remembered edits of several sessions, without a repository.

#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

use std::collections::HashMap;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua_record::attribution::{
    Attributed, EditReader, FileContents, NoContents, SessionEdits, agent_trace, attribute, into_record,
    to_json,
};
use serde_json::{Value, json};

/// A session of Claude Code: calls with their inputs, and whether each failed.
fn session(id: &str, calls: &[(&str, Value, bool)]) -> SessionEdits {
    let mut log = String::new();
    for (number, (tool, input, failed)) in calls.iter().enumerate() {
        let call = json!({"type": "assistant", "sessionId": id, "uuid": format!("{id}-a{number}"), "cwd": "/work/p",
            "message": {"role": "assistant", "id": format!("m{number}"), "model": "claude-x",
                "content": [{"type": "tool_use", "id": format!("t{number}"), "name": tool, "input": input}]}});
        let result = json!({"type": "user", "sessionId": id, "uuid": format!("{id}-b{number}"), "cwd": "/work/p",
            "message": {"role": "user",
                "content": [{"type": "tool_result", "tool_use_id": format!("t{number}"), "content": "ok", "is_error": failed}]}});
        log.extend([call.to_string(), "\n".to_owned(), result.to_string(), "\n".to_owned()]);
    }
    let claude = Dialect::named("claude-code").expect("registered");
    let mut reader = EditReader::new(id, (claude, Role::Log), &Options::default()).expect("a log dialect");
    reader.push(log.as_bytes());
    let [session] = reader.finish().try_into().expect("one session");
    session
}

fn write(path: &str, content: &str) -> (&'static str, Value, bool) {
    ("Write", json!({"file_path": path, "content": content}), false)
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value, bool) {
    ("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), false)
}

/// Files before the sessions, and now.
#[derive(Default)]
struct Files {
    before: HashMap<&'static str, &'static str>,
    now: HashMap<&'static str, &'static str>,
}

impl FileContents for Files {
    fn before(&mut self, path: &str, _: Option<&str>) -> Option<String> {
        self.before.get(path).map(|text| (*text).to_owned())
    }

    fn current(&mut self, path: &str) -> Option<String> {
        self.now.get(path).map(|text| (*text).to_owned())
    }
}

/// The ranges of the only file, as `start-end session`.
fn ranges(attributed: &Attributed) -> Vec<String> {
    assert!(attributed.files.len() <= 1, "{attributed:?}");
    let ranges = attributed.files.iter().flat_map(|file| &file.ranges);
    ranges.map(|range| format!("{}-{} {}", range.start, range.end, range.contributor.session)).collect()
}

fn attributed(before: Option<&'static str>, now: &'static str, sessions: &[SessionEdits]) -> Attributed {
    let mut files = Files::default();
    files.before.extend(before.map(|text| ("a", text)));
    files.now.insert("a", now);
    attribute(sessions, Some("/work/p"), &mut files)
}

#[test]
fn lines_of_a_new_file_are_of_the_session_and_lines_of_people_stay_unknown() {
    let one = session("s", &[write("/work/p/a", "1\n2\n3\n")]);
    let found = attributed(None, "0\n1\n2\nx\n3\n4\n", &[one]);
    assert_eq!(ranges(&found), ["2-3 0", "5-5 0"]);
    assert_eq!(found.files[0].ranges[0].contributor.model.as_deref(), Some("claude-x"));
    assert_eq!(found.files[0].ranges[0].hash, hash("1\n2\n"));
}

fn hash(text: &str) -> String {
    interlingua_record::contract::Digest::of(text.as_bytes()).sha256
}

#[test]
fn later_edits_override_and_failed_calls_do_not_count() {
    let mut failed = edit("/work/p/a", "1", "9");
    failed.2 = true;
    let one = session("s", &[write("/work/p/a", "1\n2\n3\n"), failed]);
    let two = session("t", &[edit("/work/p/a", "2", "two")]);
    assert_eq!(one.failed, 1);
    let found = attributed(None, "1\ntwo\n3\n", &[one, two]);
    assert_eq!(ranges(&found), ["1-1 0", "2-2 1", "3-3 0"]);
}

#[test]
fn an_edit_of_a_known_file_leaves_its_other_lines_unknown() {
    let one = session("s", &[edit("/work/p/a", "}\n", "}\n\nfn g() {\n}\n")]);
    let before = "fn f() {\n}\n\nfn h() {\n}\n";
    let found = attributed(Some(before), "fn f() {\n}\n\nfn g() {\n}\n\nfn h() {\n}\n", &[one]);
    assert_eq!(ranges(&found), ["3-5 0"]);
    // Without the function, the brace and the blank line of people stay unknown.
    let found =
        attributed(Some(before), before, &[session("s", &[edit("/work/p/a", "}\n", "}\n\nfn g() {\n}\n")])]);
    assert_eq!((ranges(&found), found.files[0].missing), (vec![], 3));
}

#[test]
fn an_edit_of_an_unknown_file_is_found_at_its_only_place() {
    let one = session("s", &[edit("/work/p/a", "total = f(1)", "total = f(2)\n    y = 3")]);
    let found = attributed(None, "begin\n    total = f(2)\n    y = 3;\nend\n", std::slice::from_ref(&one));
    assert_eq!(ranges(&found), ["2-3 0"]);
    // A short piece of a line is no certain place, and two places are none.
    let short = session("s", &[edit("/work/p/a", "1", "9")]);
    let found = attributed(None, "in 1900\n", &[short]);
    assert_eq!((ranges(&found), found.files[0].missing), (vec![], 1));
    let found = attributed(None, "    total = f(2)\n    y = 3;\n    total = f(2)\n    y = 3;\n", &[one]);
    assert_eq!((ranges(&found), found.files[0].missing), (vec![], 2));
}

#[test]
fn a_moved_block_is_found_by_its_content() {
    let one = session("s", &[write("/work/p/a", "alpha\nbeta\ngamma\ndelta one\ndelta two\n")]);
    let found = attributed(None, "delta one\ndelta two\nhuman\nalpha\nbeta\ngamma\n", &[one]);
    assert_eq!(ranges(&found), ["1-2 0", "4-6 0"]);
}

#[test]
fn patches_moves_and_deletions_are_followed() {
    let patch = |text: &str| {
        ("apply_patch", json!({"input": format!("*** Begin Patch\n{text}\n*** End Patch")}), false)
    };
    let one = session(
        "s",
        &[
            write("/work/p/old", "1\n2\n3\n"),
            patch("*** Update File: old\n*** Move to: a\n@@\n 1\n-2\n+two\n 3"),
            write("/work/p/gone", "x\n"),
            patch("*** Delete File: gone"),
        ],
    );
    assert_eq!(one.edits.len(), 5);
    let found = attributed(None, "1\ntwo\n3\n", &[one]);
    assert_eq!(ranges(&found), ["1-3 0"]);
}

#[test]
fn files_outside_the_repository_are_counted_and_not_read() {
    let one = session("s", &[write("/etc/passwd", "x\n"), write("../q", "x\n"), write("/work/p/a", "x\n")]);
    let found = attributed(None, "x\n", &[one]);
    assert_eq!((found.outside, ranges(&found)), (2, vec!["1-1 0".to_owned()]));
}

#[test]
fn without_a_repository_the_lines_are_those_after_the_last_session() {
    let one = session("s", &[write("/work/p/a", "1\n2\n"), edit("/work/p/a", "2", "3\n4")]);
    assert_eq!(ranges(&attribute(&[one], None, &mut NoContents)), ["1-3 0"]);
}

#[test]
fn records_of_both_profiles_hold_the_attribution_and_stay_valid() {
    let sessions = [session("s", &[write("/work/p/a", "1\n2\n")])];
    let found = attribute(&sessions, None, &mut NoContents);
    for (version, start, model) in [("3.0.0", "start-line", "model-id"), ("2.0.0", "start_line", "model_id")]
    {
        let record = json!({"version": version, "id": "r", "created": "2026-11-15T10:00:00Z", "session":
            {"session-id": "s", "agent-meta": {"model-id": "m", "model-provider": "p"}, "format": "interactive", "entries": []}});
        let record = format!("{record:#}\n");
        assert_eq!(interlingua_record::check(record.as_bytes()), [], "{version}");
        let with = into_record(&record, &sessions, &found).expect("a record");
        assert_eq!(interlingua_record::check(with.as_bytes()), [], "{with}");
        let value: Value = serde_json::from_str(&with).expect("JSON");
        let talk = &value["file-attribution"]["files"][0]["conversations"][0];
        assert_eq!(talk["contributor"], json!({"type": "ai", model: "claude-x"}));
        assert_eq!(talk["ranges"][0][start], 1);
        assert_eq!(talk["url"], "urn:agent-session:s");
        assert!(into_record(&with, &sessions, &found).is_err());
    }
    assert!(into_record("[]", &sessions, &found).is_err());
}

#[test]
fn agent_trace_and_json_hold_every_range() {
    let sessions = [session("s", &[write("/work/p/a", "1\n2\n")])];
    let found = attribute(&sessions, None, &mut NoContents);
    let trace: Value =
        serde_json::from_str(&agent_trace(&sessions, &found, Some("abc"), 1_794_739_913_016)).expect("JSON");
    assert_eq!(trace["version"], "0.1.0");
    assert_eq!(trace["timestamp"], "2026-11-15T10:51:53.016Z");
    assert_eq!(trace["vcs"], json!({"type": "git", "revision": "abc"}));
    let range = &trace["files"][0]["conversations"][0]["ranges"][0];
    assert_eq!(
        *range,
        json!({"start_line": 1, "end_line": 2, "content_hash": format!("sha256:{}", hash("1\n2\n"))})
    );
    let own: Value = serde_json::from_str(&to_json(&sessions, &found, None)).expect("JSON");
    assert_eq!(own["files"][0]["ranges"][0]["end"], 2);
}
