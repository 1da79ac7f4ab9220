//! Claude Code's logs: blocks that are odd, and what comes back of them.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use serde_json::Value;

fn convert(from: &str, to: &str, bytes: &[u8]) -> (Vec<u8>, Report) {
    let named = |name| Dialect::named(name).expect("registered");
    let mut pipe = Pipe::new((named(from), Role::Log), (named(to), Role::Log), &Options::default())
        .expect("both have logs");
    let mut out = Vec::new();
    pipe.push(bytes, &mut out);
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{report:?}");
    (out, report)
}

/// The first entry of a log's record, after proving that the log comes back from it without a finding.
fn entry(log: &str) -> Value {
    let (record, report) = convert("claude-code", "record", log.as_bytes());
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert("record", "claude-code", &record);
    let record: Value = serde_json::from_slice(&record).expect("a document");
    assert_eq!(String::from_utf8(back).expect("text"), log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "from {record}");
    record["session"]["entries"][0].clone()
}

/// A line with these blocks.
fn line(blocks: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"u","parentUuid":null,"sessionId":"s","message":{{"role":"assistant","content":[{blocks}]}}}}"#
    ) + "\n"
}

#[test]
fn blocks_without_anything_to_take_do_not_shift_the_others() {
    for odd in [
        r#"{"type":"thinking","signature":"s"}"#,
        r#"{"type":"thinking","thinking":null,"signature":"s"}"#,
        r#"{"type":"tool_use","input":null}"#,
        r#"{"type":"tool_result","content":[ ]}"#,
        r#"{"type":"tool_result","content":null}"#,
    ] {
        let log = line(&format!(r#"{odd},{{"type":"thinking","thinking":"t","signature":"q"}}"#));
        let entry = entry(&log);
        assert_eq!(entry["children"].as_array().map(Vec::len), Some(1), "{log}");
        assert_eq!(entry["children"][0]["content"], "t");
    }
}

#[test]
fn a_null_is_not_a_value_that_went_missing() {
    entry(&line(r#"{"type":"tool_use","id":"i","name":"n","input":null}"#));
    entry(&line(r#"{"type":"tool_result","tool_use_id":"i","content":null}"#));
}

#[test]
fn a_result_that_looks_like_our_parts_is_one_value_all_the_same() {
    for list in [
        r#"[{"type":"json","json":1}]"#,
        r#"[{"type":"media","data":"x"},{"type":"summary","text":"y"}]"#,
        r#"[{"type":"file","path":"p","action":"read"}]"#,
    ] {
        let log = line(&format!(r#"{{"type":"tool_result","tool_use_id":"i","content":{list}}}"#));
        assert_eq!(entry(&log)["children"][0]["output"][0]["json"].to_string(), list);
    }
    let input = r#"[{"type":"media","data":"x"}]"#;
    let log = line(&format!(r#"{{"type":"tool_use","id":"i","name":"n","input":{input}}}"#));
    assert_eq!(entry(&log)["children"][0]["input"][0]["data"], "x");
    let plain = r#"[{"tool_name":"x","type":"tool_reference"}]"#;
    let log = line(&format!(r#"{{"type":"tool_result","tool_use_id":"i","content":{plain}}}"#));
    assert_eq!(entry(&log)["children"][0]["output"].to_string(), plain);
}

/// Sorted paths of what is lost when a session of one agent becomes one of another.
fn lost(from: &str, to: &str, log: &str) -> (String, Vec<String>) {
    let (out, report) = convert(from, to, log.as_bytes());
    let mut paths: Vec<String> = report.lost_paths.into_iter().map(|row| row.path).collect();
    paths.sort();
    (String::from_utf8(out).expect("text"), paths)
}

#[test]
fn usage_and_settings_that_another_log_has_no_place_for_are_lost_aloud() {
    let claude = r#"{"type":"assistant","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","version":"2","message":{"role":"assistant","id":"m","model":"claude","usage":{"input_tokens":1,"output_tokens":2},"content":"hi"}}"#;
    let (_, paths) = lost("claude-code", "codex", claude);
    let usage = ["/message/id", "/message/usage/input_tokens", "/message/usage/output_tokens"];
    for path in usage.into_iter().chain(["/version", "/message/model", "/uuid"]) {
        assert!(paths.iter().any(|known| known == path), "{path} in {paths:?}");
    }
    let codex = r#"{"timestamp":"2026-02-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/","cli_version":"1","git":{"commit_hash":"c"}}}
{"timestamp":"2026-02-01T00:00:00Z","type":"turn_context","payload":{"model":"gpt"}}
{"timestamp":"2026-02-01T00:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}
{"timestamp":"2026-02-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":3},"last_token_usage":{"input_tokens":3,"output_tokens":4}}}}
"#;
    let (_, paths) = lost("codex", "claude-code", codex);
    // Nobody answers, so there is no line that could name the model.
    let usage =
        ["input_tokens", "output_tokens"].map(|name| format!("/payload/info/last_token_usage/{name}"));
    let session = ["/payload/git/commit_hash", "/payload/cli_version", "session/model"].map(str::to_owned);
    for path in usage.into_iter().chain(session) {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
}

#[test]
fn what_was_damaged_in_one_log_does_not_damage_another() {
    let log = line(r#"{"type":"text","text":"x"}"#) + "{\"torn\n";
    let (out, paths) = lost("claude-code", "codex", &log);
    assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{out}");
    assert!(paths.iter().any(|path| path == "(unparsed)"), "{paths:?}");
}

#[test]
fn a_time_that_is_none_stays_where_it_is_and_the_record_is_sound() {
    let log = r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"yesterday","message":{"role":"user","content":"x"}}"#;
    let log = log.to_owned() + "\n";
    assert_eq!(entry(&log).get("timestamp"), None);
    let record = convert("claude-code", "record", log.as_bytes()).0;
    let (_, report) = convert("record", "codex", &record);
    assert_eq!(report.problems, []);
}
