//! Reports of a conversion: for people, on one screen; for programs, according to the schema.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::support::{Dir, schema};
use serde_json::Value;

const SCHEMA: &str = interlingua_report::json::SCHEMA;
const STATS_SCHEMA: &str = interlingua_view::stats::SCHEMA;

/// A Codex rollout with settings, usage and bookkeeping that Claude Code's log has no place for.
fn rollout(turns: usize) -> String {
    let mut log = String::from(concat!(
        r#"{"timestamp":"2026-11-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0199f0a0-0000-7000-8000-000000000001","#,
        r#""timestamp":"2026-11-01T10:00:00.000Z","cwd":"/w","originator":"codex_exec","cli_version":"0.140.0","model_provider":"openai"}}"#,
        "\n"
    ));
    for turn in 1..=turns {
        let _ = writeln!(
            log,
            r#"{{"timestamp":"2026-11-01T10:00:01.000Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"turn {turn}"}}]}}}}"#
        );
        let _ = writeln!(
            log,
            r#"{{"timestamp":"2026-11-01T10:00:02.000Z","type":"event_msg","payload":{{"type":"token_count","info":null,"rate_limits":{{"primary":{{"used_percent":{turn}.5,"window_minutes":300}},"secondary":{{"used_percent":2.0,"window_minutes":10080}}}}}}}}"#
        );
        let _ = writeln!(
            log,
            r#"{{"timestamp":"2026-11-01T10:00:03.000Z","type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"done {turn}"}}]}}}}"#
        );
    }
    log
}

#[test]
fn one_file_is_told_in_a_sentence_and_three_sections() {
    let dir = Dir::new("report_one");
    dir.write("x.jsonl", rollout(3));
    let ran = dir.run("convert x.jsonl --to claude-code -o x.claude");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines[1],
        "converted codex (log) to claude-code (log): 6 messages; nothing of the conversation was lost, as far as it was understood"
    );
    assert!(!ran.stderr.contains("lost of the conversation"), "{}", ran.stderr);
    // Values that always occur together share a line, with an example and its place.
    let roof = lines.iter().find(|line| line.contains("/payload/rate_limits/…")).expect("a roof");
    assert!(roof.contains("12  /payload/rate_limits/…"), "{roof}");
    assert!(
        roof.ends_with("the target has no field for it, such as /primary/used_percent in line 3"),
        "{roof}"
    );
    let order: Vec<&&str> = lines.iter().filter(|line| line.starts_with("lost of ")).collect();
    assert!(order[0].starts_with("lost of settings, session and usage: "), "{order:?}");
    assert!(order[1].starts_with("lost of bookkeeping, and what has no word here: "), "{order:?}");
    // With `-v` all paths are listed.
    let all = dir.run("convert x.jsonl --to claude-code -o x.claude -v").stderr;
    for path in ["/payload/rate_limits/primary/window_minutes", "/payload/rate_limits/secondary/used_percent"]
    {
        assert!(all.contains(path) && !ran.stderr.contains(path), "{path} in {all}");
    }
}

#[test]
fn what_is_lost_of_the_conversation_is_said_first() {
    let dir = Dir::new("report_conversation");
    let result = r#"{"type":"user","uuid":"c","parentUuid":"b","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}}"#;
    let log = [
        r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#,
        r#"{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"n","input":{}}]}}"#,
        result,
        "",
    ];
    dir.write("x.jsonl", log.join("\n"));
    let said = dir.run("convert x.jsonl --to codex -o x.codex").stderr;
    let sentence = said.lines().nth(1).expect("a sentence");
    assert!(
        sentence.ends_with("1 message, 1 call and 1 result; not carried over: error flag of 1 tool result (codex logs have no field for them)"),
        "{sentence}"
    );
    assert!(
        said.contains(
            "lost of the conversation: 1 leaf\n  1  /message/content[]/is_error  the target has no field for it, first in line 3\n"
        ),
        "{said}"
    );
}

#[test]
fn many_files_are_a_screen() {
    let dir = Dir::new("report_many");
    for file in 0..60 {
        dir.write(&format!("in/{}/{file:02}.jsonl", file % 3), rollout(file % 7 + 1));
    }
    let damaged = rollout(9).replacen("turn 4", "turn\n4", 1);
    dir.write("in/worst.jsonl", damaged).write("in/notes.txt", "hello\n");
    let ran = dir.run("convert in --to claude-code -o out");
    assert_eq!(ran.code, Some(0));
    let said = &ran.stderr;
    assert!(said.lines().count() <= 40, "{said}");
    assert!(said.starts_with("61 files of codex (log) became claude-code (log): "), "{said}");
    let worst = said.split_once("worst files:\n").expect("the worst are named").1;
    let first = worst.lines().next().expect("one");
    assert!(
        first.starts_with("  in/worst.jsonl: lost ") && first.ends_with(", damaged in 2 places"),
        "{worst}"
    );
    assert!(said.contains("(torn): once, first in in/worst.jsonl, line 11, byte "), "{said}");
    assert!(said.contains("not carried over: 2 parts that could not be read, in 1 file\n"), "{said}");
    // With `-v` there is a line for each file.
    let all = dir.run("convert in --to claude-code -o out -v").stderr;
    assert_eq!(all.lines().filter(|line| line.contains(" -> out/")).count(), 61);
    assert!(all.contains("in/0/00.jsonl -> out/0/00.claude-code.jsonl: "), "{all}");
}

#[test]
fn an_output_without_content_is_said_to_be_one() {
    let dir = Dir::new("report_empty");
    dir.write("x.json", r#"{"model":"gpt-5","messages":[],"temperature":1,"n":1}"#);
    let ran = dir.run("convert x.json --from openai-chat --role request --to gemini -o y.json");
    assert!(ran.stderr.contains("; nothing of a conversation is in the output\n"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(0));
    let strict = dir.run(
        "convert x.json --from openai-chat --role request --to gemini -o y.json --strict --policy all=allow",
    );
    assert_eq!(strict.code, Some(3), "{}", strict.stderr);
    // A record keeps lines without a mapping, so no loss is reported.
    dir.write("only.jsonl", "{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"u\"}\n{\"type\":\"mode\",\"sessionId\":\"s\",\"mode\":\"normal\"}\n");
    let ran = dir.run("convert only.jsonl --from claude-code --to record -o only.json --strict");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn places_are_where_things_stand() {
    let dir = Dir::new("report_places");
    // A document over several lines, with its messages in a list.
    let message = r#"{"id":"m","timestamp":"2026-11-01T10:00:00.000Z","type":"user","content":"hi"}"#;
    let odd = message.replacen("\"id\":\"m\"", "\"id\":\"n\",\"odd\":1", 1);
    let log = format!(
        "{{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"p\",\n  \"startTime\": \"2026-11-01T10:00:00.000Z\",\n  \"messages\": [\n    {message},\n    {odd}\n  ]\n}}\n"
    );
    dir.write("x.json", log);
    let said = dir.run("convert x.json --to claude-code -o y").stderr;
    assert!(said.contains("/odd") && said.contains("first in messages[1]\n"), "{said}");
    // The same messages as lines.
    let head = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-11-01T10:00:00.000Z","kind":"main"}"#;
    dir.write("x.jsonl", format!("{head}\n\n{message}\n{odd}\n"));
    let said = dir.run("convert x.jsonl --to claude-code -o y").stderr;
    assert!(said.contains("/odd") && said.contains("first in line 4\n"), "{said}");
    // A byte order mark is not a line, but an empty line is.
    let line = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    dir.write("y.jsonl", format!("\u{feff}{line}\n\n\n{{\"torn"));
    assert!(dir.run("check y.jsonl").stdout().contains("error: line 4, byte 6: cut off"));
}

/// A session of Pi.
fn pi_session(id: &str) -> String {
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-11-01T10:00:00.000Z\",\"cwd\":\"/w\"}}\n\
         {{\"type\":\"message\",\"id\":\"a{id}\",\"parentId\":null,\"timestamp\":\"2026-11-01T10:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"asked in {id}\"}}]}}}}\n"
    )
}

#[test]
fn nothing_in_a_file_steers_the_terminal() {
    let dir = Dir::new("report_steers");
    let line = "{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":null,\"sessionId\":\"s\",\"\u{9b}31m\u{202e}\":{\"x\":1},\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    dir.write("x.jsonl", line);
    let said = dir.run("convert x.jsonl --to codex -o y").stderr;
    assert!(!said.contains(['\u{9b}', '\u{202e}']), "{said:?}");
    assert!(said.contains("<U+202E>"), "{said:?}");
}

/// Reports of all kinds are validated against the schema.
#[test]
fn reports_are_as_their_schema_says() {
    let dir = Dir::new("report_schema");
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    dir.write("in/a.jsonl", rollout(2))
        .write("in/torn.jsonl", format!("{}{{\"x", rollout(1)))
        .write("in/notes.txt", "hello\n")
        .write("in/dup.jsonl", rollout(1).replacen("\"cwd\"", "\"id\":\"x\",\"cwd\"", 1))
        .write("same.jsonl", rollout(1))
        .write("two.jsonl", pi_session("one") + &pi_session("two"))
        .write("breach.json", r#"{"version":"3.0.0","id":7,"session":{"session-id":"s","entries":[]}}"#);
    let mut seen = BTreeSet::new();
    let mut files = 0;
    for args in [
        "convert in --to claude-code -o out --report - -q",
        "convert in nowhere --to record -o rec --report - -q",
        "convert same.jsonl --to codex -o copy --report - -q",
        "convert same.jsonl --from claude-code --to record -o x --report - -q",
        "convert in/a.jsonl in/a.jsonl --to universal -o u/ --report - -q",
        "convert two.jsonl --to claude-code -o apart.jsonl --verify --report - -q",
        "check in --json",
        "check same.jsonl nowhere --json -q",
        "check rec breach.json --json -q",
        "check in --from gemini-cli --json -q",
    ] {
        let ran = dir.run(args);
        // Output is empty or complete.
        if ran.stdout.is_empty() {
            assert_eq!(ran.code, Some(1), "{args}: {}", ran.stderr);
            continue;
        }
        let report: Value =
            serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{args}: {error}"));
        assert_eq!(schema::breaches(&report, &schema), Vec::<String>::new(), "{args}");
        files += report["files"].as_array().map_or(0, Vec::len);
        if args.contains("two.jsonl") {
            assert_eq!(ran.code, Some(0), "{args}: {}", ran.stderr);
            assert_eq!(report["files"][0]["further_outputs"], serde_json::json!(["apart-2.jsonl"]));
            let second = dir.read("apart-2.jsonl");
            assert!(String::from_utf8_lossy(&second).contains("asked in two"));
        }
        names(&report, &mut seen);
    }
    assert!(files >= 14, "{files}");
    names_all(&schema, &seen);
    // The checker itself detects a violation.
    let broken = r#"{"version":2,"command":"check","files":[{"input":1}],"skipped":[]}"#;
    let broken: Value = serde_json::from_str(broken).expect("JSON");
    assert_eq!(schema::breaches(&broken, &schema), ["/version: const", ": oneOf"]);
}

#[test]
fn statistics_are_as_their_schema_says() {
    let dir = Dir::new("stats_schema");
    let schema: Value = serde_json::from_str(STATS_SCHEMA).expect("JSON");
    let patch = concat!(
        r#"{"type":"user","uuid":"c","sessionId":"s","timestamp":"2026-11-01T10:00:09.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"#,
        r#""toolUseResult":{"filePath":"/w/a","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}}"#,
    );
    let call = concat!(
        r#"{"type":"assistant","uuid":"b","sessionId":"s","timestamp":"2026-11-01T10:00:05.000Z","message":{"id":"msg_0123456789abcdef","role":"assistant","model":"claude-opus-4-6","#,
        r#""content":[{"type":"tool_use","id":"t1","name":"Edit","input":{}}],"usage":{"input_tokens":3,"output_tokens":4}}}"#,
    );
    dir.write("in/a.jsonl", format!("{call}\n{patch}\n"))
        .write("in/b.jsonl", rollout(2))
        .write("in/c.jsonl", call.replace("opus-4-6", "opus-9").replace("0123456789", "9876543210"))
        .write("in/notes.txt", "hello\n");
    let ran = dir.run("stats in nowhere --json -q");
    let found: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(schema::breaches(&found, &schema), Vec::<String>::new());
    let mut seen = BTreeSet::new();
    names(&found, &mut seen);
    names_all(&schema, &seen);
}

/// Every written member is in the schema, and every member of the schema is written.
fn names_all(schema: &Value, seen: &BTreeSet<String>) {
    let known: BTreeSet<String> = schema::members(schema).into_iter().collect();
    let unnamed: Vec<&String> = seen.difference(&known).collect();
    let unseen: Vec<&String> = known.difference(seen).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
    assert!(unseen.is_empty(), "{unseen:?}");
}

fn names(value: &Value, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                seen.insert(name.clone());
                names(inner, seen);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| names(inner, seen)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
