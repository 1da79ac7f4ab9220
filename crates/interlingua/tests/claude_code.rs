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
    let plain = r#"[{"tool_name":"x","type":"tool_reference"}]"#;
    let log = line(&format!(r#"{{"type":"tool_result","tool_use_id":"i","content":{plain}}}"#));
    assert_eq!(entry(&log)["children"][0]["output"].to_string(), plain);
}
