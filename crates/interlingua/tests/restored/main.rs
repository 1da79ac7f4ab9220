//! A record and its source: the digest of the log, and the check that the restored log gives the same record.

#![allow(clippy::unwrap_used, reason = "a test that cannot run has failed")]
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

use std::fs;
use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Options, Plane, Role};
use interlingua::error::Code;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::restore_check::RestoreCheck;
use interlingua::sniff::sniff;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures");

/// A session with a message, a call, a failed result, and a line that was cut off.
const LOG: &str = concat!(
    r#"{"parentUuid":null,"uuid":"a1","sessionId":"s1","timestamp":"2026-02-10T17:27:14Z","cwd":"/p","version":"2.0.0","type":"user","message":{"role":"user","content":"hi"},"mark":"~","escaped":"\u007e"}"#,
    "\n",
    r#"{"parentUuid":"a1","uuid":"a2","sessionId":"s1","timestamp":"2026-02-10T17:27:15Z","type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":5,"output_tokens":7}}}"#,
    "\n",
    r#"{"parentUuid":"a2","uuid":"a3","sessionId":"s1","timestamp":"2026-02-10T17:27:16Z","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true}]}}"#,
    "\n \n",
    r#"{"type":"us"#
);

fn dialect(name: &str) -> &'static Dialect {
    Dialect::named(name).unwrap()
}

fn convert(from: &str, to: &str, source: &[u8]) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let pipe = Pipe::new((dialect(from), Role::Log), (dialect(to), Role::Log), &Options::default()).unwrap();
    let report = pipe.finish_with(source, &mut out);
    (out, report)
}

/// The record of the session, without the text whose spelling a JSON library does not keep.
fn record() -> Value {
    let log = LOG.replace(r#","escaped":"\u007e""#, "");
    serde_json::from_slice(&convert("claude-code", "record", log.as_bytes()).0).unwrap()
}

fn check(profile: &str, record: &[u8]) -> Report {
    let mut check = RestoreCheck::new(dialect(profile), &Options::default());
    for piece in record.chunks(1000) {
        check.push(piece);
    }
    let mut report = Report::default();
    check.finish(&mut report);
    report
}

/// The places of findings of this kind.
fn places(report: &Report, code: Code) -> Vec<String> {
    let found = report.problems.iter().filter(|problem| problem.code == code);
    found.map(|problem| problem.place.pointer.clone().unwrap_or_default()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Every JSON file below the folder, in a fixed order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "json" || end == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The logs among the fixtures whose dialects have a writer.
fn logs() -> Vec<(String, &'static Dialect, Vec<u8>)> {
    let mut logs = Vec::new();
    for file in files(Path::new(FIXTURES)) {
        let bytes = fs::read(&file).unwrap();
        let guess = sniff(&bytes, true).filter(|guess| guess.dialect.plane == Plane::Log);
        let is_written = |dialect: &Dialect| dialect.role(Role::Log).is_some_and(|spec| spec.write.is_some());
        if let Some(guess) = guess.filter(|guess| guess.role == Role::Log && is_written(guess.dialect)) {
            logs.push((file.display().to_string(), guess.dialect, bytes));
        }
    }
    assert!(logs.len() > 50, "only {} logs", logs.len());
    logs
}

#[test]
fn every_log_gives_a_record_that_names_it_and_that_is_sound() {
    for (name, log, bytes) in logs() {
        for profile in ["record", "record-v2"] {
            let (record, _) = convert(log.name, profile, &bytes);
            let records: Vec<Value> = serde_json::Deserializer::from_slice(&record)
                .into_iter::<Value>()
                .map(Result::unwrap)
                .collect();
            let source = records.last().unwrap().pointer("/session/vendor-ext/data/source").unwrap();
            let mut expected = json!({
                "dialect": log.name, "bytes": bytes.len(), "sha-256": hex(&Sha256::digest(&bytes)),
            });
            if records.len() > 1 {
                expected["records"] = json!(records.len());
            }
            assert_eq!(*source, expected, "{name}");
            let (restored, report) = convert(profile, log.name, &record);
            assert!(restored == bytes, "{name}: {}", String::from_utf8_lossy(&restored));
            assert_eq!(places(&report, Code::NotTheSource), Vec::<String>::new(), "{name}");
            let report = check(profile, &record);
            assert_eq!(report.problems, [], "{name} as {profile}");
            assert_eq!(report.errors, 0);
        }
    }
}

#[test]
fn a_record_of_another_profile_carries_the_same_source() {
    let (record, _) = convert("claude-code", "record", LOG.as_bytes());
    let (closed, _) = convert("record", "record-v2", &record);
    let source = |record: &[u8]| {
        let record: Value = serde_json::from_slice(record).unwrap();
        record.pointer("/session/vendor-ext/data/source").unwrap().clone()
    };
    assert_eq!(source(&record), source(&closed));
}

#[test]
fn a_log_comes_back_from_a_record_of_a_record() {
    for (name, log, bytes) in logs() {
        for (first, second) in [("record", "record-v2"), ("record-v2", "record")] {
            let (record, _) = convert(log.name, first, &bytes);
            let (other, report) = convert(first, second, &record);
            let (restored, back) = convert(second, log.name, &other);
            let is_same = restored == bytes;
            assert!(
                is_same || report.lost > 0 || back.lost > 0,
                "{name} by {first} and {second}: changed silently"
            );
            assert!(is_same, "{name} by {first} and {second}: {:?} {:?}", report.lost_paths, back.lost_paths);
            assert_eq!(places(&back, Code::NotTheSource), Vec::<String>::new(), "{name}");
        }
    }
}

#[test]
fn the_digest_does_not_depend_on_the_pieces_of_the_input() {
    let (record, _) = convert("claude-code", "record", LOG.as_bytes());
    let side = |name| (dialect(name), Role::Log);
    let mut pipe = Pipe::new(side("claude-code"), side("record"), &Options::default()).unwrap();
    let mut out = Vec::new();
    for byte in LOG.as_bytes() {
        pipe.push(std::slice::from_ref(byte), &mut out);
    }
    pipe.finish(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), String::from_utf8(record).unwrap());
}

#[test]
fn a_restored_log_with_other_bytes_is_a_problem() {
    let (record, _) = convert("claude-code", "record", LOG.as_bytes());
    let edited = String::from_utf8(record).unwrap().replace(r#""content":"hi""#, r#""content":"ho""#);
    let (_, report) = convert("record", "claude-code", edited.as_bytes());
    assert_eq!(places(&report, Code::NotTheSource), [""]);
    let problem = report.problems.iter().find(|problem| problem.code == Code::NotTheSource).unwrap();
    assert!(problem.detail.contains(&hex(&Sha256::digest(LOG))), "{}", problem.detail);
    assert!(report.errors > 0);
    // The log of another agent is no restored log.
    let (_, report) = convert("record", "codex", edited.as_bytes());
    assert_eq!(places(&report, Code::NotTheSource), Vec::<String>::new());
}

/// The first and the last entry of a bare list hold its brackets, which enclose nothing in any source.
#[test]
fn a_value_added_between_the_brackets_of_a_bare_list_is_restored_and_a_problem() {
    let log = br#"[{"role":"user","content":"hi","timestamp":1707307336344}]"#;
    let record = String::from_utf8(convert("opencode", "record", log).0).unwrap();
    let added = record.replacen(r#""data":[]"#, r#""data":["added"]"#, 1);
    assert_ne!(added, record);
    let (back, report) = convert("record", "opencode", added.as_bytes());
    assert!(back.starts_with(br#"["added"{"#), "{}", String::from_utf8_lossy(&back));
    assert!(report.problems.iter().any(|problem| problem.code == Code::NotTheSource), "{report:?}");
}

#[test]
fn the_digest_of_several_sessions_is_compared_with_all_of_them() {
    let path = format!("{FIXTURES}/agents/opencode/2026-11/two-exports.json");
    let log = fs::read(path).unwrap();
    let (records, _) = convert("opencode", "record", &log);
    let all: Vec<Value> =
        serde_json::Deserializer::from_slice(&records).into_iter::<Value>().map(Result::unwrap).collect();
    assert_eq!(all.len(), 2);
    let (restored, report) = convert("record", "opencode", &records);
    assert_eq!((restored, report.errors), (log, 0));
    let noted = |report: &Report| report.notes.iter().any(|(note, _)| note.contains("not compared"));
    assert!(!noted(&report));
    let second = records.windows(2).position(|two| two == b"\n{").unwrap() + 1;
    let (_, report) = convert("record", "opencode", &records[second..]);
    assert!(noted(&report) && places(&report, Code::NotTheSource).is_empty(), "{:?}", report.notes);
}

#[test]
fn each_false_claim_of_a_record_is_found() {
    /// The log holds the edited value as well, so only its digest differs.
    const DIGEST: &str = "digest";
    type Edit = fn(&mut Value);
    assert_eq!(check("record", record().to_string().as_bytes()).errors, 0);
    let attacks: [(&str, &str, Edit); 25] = [
        ("another type", "0/type", |r| r["session"]["entries"][0]["type"] = json!("assistant")),
        ("another origin", "0/origin", |r| r["session"]["entries"][0]["origin"] = json!("harness")),
        ("another id", DIGEST, |r| r["session"]["entries"][0]["id"] = json!("zz")),
        ("a new parent", "0/parent-id", |r| r["session"]["entries"][0]["parent-id"] = json!("zz")),
        ("another time", DIGEST, |r| r["session"]["entries"][1]["timestamp"] = json!("2020-01-01T00:00:00Z")),
        ("no error flag", "2", |r| {
            let entry = r["session"]["entries"][2].as_object_mut().unwrap();
            entry.remove("is-error");
            for child in entry.get_mut("children").and_then(Value::as_array_mut).into_iter().flatten() {
                child.as_object_mut().unwrap().remove("is-error");
            }
            entry.insert("status".to_owned(), json!("success"));
        }),
        ("an exit code", "2/exit-code", |r| r["session"]["entries"][2]["exit-code"] = json!(0)),
        ("files", "2/files", |r| {
            r["session"]["entries"][2]["files"] = json!([{"path": "/etc/passwd", "action": "write"}]);
        }),
        ("usage", "1/token-usage", |r| r["session"]["entries"][1]["token-usage"]["output"] = json!(70_000)),
        ("a model", "agent-meta", |r| r["session"]["entries"][1]["model-id"] = json!("other")),
        ("the model of the session", "agent-meta", |r| {
            r["session"]["agent-meta"]["model-id"] = json!("other");
        }),
        ("another session", "session/session-id", |r| r["session"]["session-id"] = json!("other")),
        ("another id of the record", "/id", |r| r["id"] = json!("other")),
        // The digest is not compared with a log of another dialect.
        ("another dialect of the source", "data/source/dialect", |r| {
            let source = &mut r["session"]["vendor-ext"]["data"]["source"];
            source["dialect"] = json!("pi");
            source["sha-256"] = json!("0".repeat(64));
        }),
        ("a leaf", "vendor-ext/data/leaf", |r| {
            r["session"]["vendor-ext"]["data"]["leaf"] = json!("a1");
        }),
        ("an end", "session-end", |r| r["session"]["session-end"] = json!("2030-01-01T00:00:00Z")),
        ("space that is a line", "", |r| {
            r["session"]["entries"][0]["vendor-ext"]["space"] = json!([["{\"type\":\"x\"}\n", ""]]);
        }),
        ("space that is text", "0", |r| {
            r["session"]["entries"][0]["vendor-ext"]["space"] = json!([["", "text"]]);
        }),
        ("a readable line that is marked as unparsed", "", |r| {
            let last = r["session"]["entries"].as_array_mut().unwrap().last_mut().unwrap();
            last["data"]["raw"] = json!("{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"a3\"}");
        }),
        ("two lines that are marked as one", "", |r| {
            let last = r["session"]["entries"].as_array_mut().unwrap().last_mut().unwrap();
            last["data"]["raw"] = json!("{a\n{b");
            last["data"].as_object_mut().unwrap().remove("lines");
        }),
        ("another base64 beside raw", "/data", |r| {
            let last = r["session"]["entries"].as_array_mut().unwrap().last_mut().unwrap();
            last["data"]["base64"] = json!("e30=");
        }),
        ("another number of lines", "/data", |r| {
            let last = r["session"]["entries"].as_array_mut().unwrap().last_mut().unwrap();
            last["data"]["lines"] = json!(7);
        }),
        ("a hole without a value", "", |r| {
            r["session"]["entries"][0]["vendor-ext"]["data"]["hidden"] = json!("~");
        }),
        ("a further line that no entry tells", "", |r| {
            let line = json!({"type": "user", "uuid": "b1", "message": {"role": "user", "content": "no"}});
            r["session"]["entries"][0]["vendor-ext"]["more"] = json!([line]);
        }),
        ("an entry without a line", "", |r| {
            let entry = json!({"type": "user", "content": "never said"});
            r["session"]["entries"].as_array_mut().unwrap().insert(1, entry);
        }),
    ];
    for (name, place, edit) in attacks {
        let mut record = record();
        edit(&mut record);
        let report = check("record", record.to_string().as_bytes());
        let found = places(&report, if place == DIGEST { Code::NotTheSource } else { Code::NotFromSource });
        let is_there = |found: &String| place == DIGEST || found.contains(place);
        assert!(found.iter().any(is_there), "{name}: {:?}", report.problems);
        assert!(report.errors > 0);
    }
}

#[test]
fn the_id_of_a_session_is_compared_only_if_the_log_has_an_id() {
    let log = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"hi"}}"#;
    let mut options = Options::default();
    options.source_name = Some("my-file".to_owned());
    let side = |name| (Dialect::named(name).unwrap(), Role::Log);
    let mut record = Vec::new();
    Pipe::new(side("claude-code"), side("record"), &options)
        .unwrap()
        .finish_with(log.as_bytes(), &mut record);
    let text = String::from_utf8(record).unwrap();
    assert!(text.contains(r#""session-id":"my-file""#), "{text}");
    assert_eq!(check("record", text.as_bytes()).errors, 0);
    assert_eq!(check("record", text.replace("my-file", "another").as_bytes()).errors, 0);
}

#[test]
fn a_second_member_with_an_escaped_name_is_found() {
    let (record, _) = convert("claude-code", "record", LOG.as_bytes());
    let record = String::from_utf8(record).unwrap();
    let twice = record.replacen(r#""content":"hi""#, r#""content":"hi","c\u006fntent":"ho""#, 1);
    let report = check("record", twice.as_bytes());
    assert_eq!(places(&report, Code::NotFromSource), ["/session/entries/0/content"]);
    let renamed = record.replacen(r#""content":"hi""#, r#""c\u006fntent":"hi""#, 1);
    assert!(check("record", renamed.as_bytes()).errors > 0);
}

#[test]
fn an_escaped_tilde_is_a_hole_and_the_log_comes_back() {
    for (name, log, bytes) in logs() {
        let (record, _) = convert(log.name, "record", &bytes);
        let spelled = String::from_utf8(record).unwrap().replace(r#""~""#, r#""\u007e""#);
        let (restored, report) = convert("record", log.name, spelled.as_bytes());
        assert!(restored == bytes, "{name}: {}", String::from_utf8_lossy(&restored));
        assert_eq!(places(&report, Code::NotTheSource), Vec::<String>::new(), "{name}");
    }
}

/// The value with each text that holds JSON as that JSON: reformatting changes the white space in it.
fn parsed(value: Value) -> Value {
    match value {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => parsed(inner),
            _ => Value::String(text),
        },
        Value::Array(elements) => elements.into_iter().map(parsed).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, parsed(value))).collect(),
        scalar => scalar,
    }
}

#[test]
fn a_reformatted_record_gives_one_sound_line_per_line_and_a_notice_about_its_bytes() {
    let mut tried = 0;
    for (name, log, bytes) in logs() {
        let lines = |bytes: &[u8]| -> Vec<Option<Value>> {
            let value = |line| serde_json::from_slice(line).ok().map(parsed);
            bytes.split(|byte| *byte == b'\n').map(value).collect()
        };
        let original = lines(&bytes);
        let is_lines =
            original.iter().flatten().all(Value::is_object) && original.iter().flatten().count() > 1;
        let (record, _) = convert(log.name, "record", &bytes);
        let Ok(value) = serde_json::from_slice::<Value>(&record) else { continue };
        if !is_lines {
            continue;
        }
        tried += 1;
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let (restored, report) = convert("record", log.name, pretty.as_bytes());
        assert_eq!(lines(&restored), original, "{name}");
        let differs = usize::from(restored != bytes);
        assert_eq!(places(&report, Code::NotTheSource).len(), differs, "{name}");
        let report = check("record", pretty.as_bytes());
        assert_eq!(places(&report, Code::NotFromSource), Vec::<String>::new(), "{name}");
        assert_eq!(report.errors, differs as u64, "{name}");
    }
    assert!(tried > 20, "only {tried} logs of lines");
}

#[test]
fn a_redacted_record_is_noted_and_not_compared() {
    let mut record = record();
    record["session"]["entries"][0]["content"] = json!({ "redacted": "0f".repeat(32) });
    record["session"]["vendor-ext"]["data"]["source"] = Value::Null;
    let report = check("record", record.to_string().as_bytes());
    assert_eq!(report.errors, 0, "{:?}", report.problems);
    assert!(report.notes.iter().any(|(note, _)| note.starts_with("redacted")), "{:?}", report.notes);
}

#[test]
fn a_record_without_lines_of_a_log_is_noted() {
    let record = br#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"user","content":"hi"}]}}"#;
    let report = check("record", record);
    assert_eq!(report.errors, 0);
    assert!(report.notes.iter().any(|(note, _)| note.starts_with("not compared")), "{:?}", report.notes);
}

#[test]
fn entries_that_the_log_never_gives_end_the_comparison() {
    let entry = r#"{"type":"system-event","event-type":"line","data":{},"vendor-ext":{"vendor":"claude-code"},"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}"#;
    let mut record = String::from(r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","entries":["#);
    for number in 0..120_000 {
        record.push_str(if number > 0 { "," } else { "" });
        record.push_str(entry);
    }
    record.push_str(r#"],"agent-meta":{"model-id":"m","model-provider":"p"}}}"#);
    let report = check("record", record.as_bytes());
    assert_eq!(places(&report, Code::NotFromSource), ["/session/entries/0"]);
    assert!(report.problems[0].detail.contains("1,000,000"), "{:?}", report.problems);
}

#[test]
fn many_further_lines_of_an_entry_are_compared() {
    let line = r#"{"type":"progress","data":"~~"}"#;
    let mut record = record();
    record["session"]["entries"][0]["vendor-ext"]["more"] =
        std::iter::repeat_n(serde_json::from_str::<Value>(line).unwrap(), 60_000).collect();
    let report = check("record", record.to_string().as_bytes());
    assert!(report.errors > 0 && report.problems.len() <= 20, "{}", report.problems.len());
}
