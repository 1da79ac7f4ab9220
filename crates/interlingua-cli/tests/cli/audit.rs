//! `check --audit`: its forms, its policy and its exit codes.

use crate::support::Dir;
use serde_json::Value;

/// A prompt, and an answer that is ten minutes older.
const BACK: &str = concat!(
    r#"{"type":"user","sessionId":"s","uuid":"a","parentUuid":null,"timestamp":"2026-11-15T10:00:00Z","message":{"role":"user","content":"hi"}}"#,
    "\n",
    r#"{"type":"assistant","sessionId":"s","uuid":"b","parentUuid":"a","timestamp":"2026-11-15T09:50:00Z","message":{"role":"assistant","id":"m","model":"x","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#,
    "\n",
    r#"{"type":"user","sessionId":"s","uuid":"c","parentUuid":"b","timestamp":"2026-11-15T09:50:01Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}"#,
    "\n",
);

#[test]
fn findings_have_a_place_a_rule_and_a_severity() {
    let dir = Dir::new("audit");
    dir.write("x.jsonl", BACK);
    let ran = dir.run("check --audit x.jsonl");
    assert_eq!(
        ran.stdout(),
        "x.jsonl: claude-code (log)
audit: 0 errors, 1 warning, 0 info
  warning: line 2, at `/timestamp`: 2026-11-15T09:50:00.000Z is 10 min before 2026-11-15T10:00:00.000Z, the time of the item before it (time-backwards)
"
    );
    assert_eq!(ran.code, Some(0));
    assert_eq!(dir.run("check --audit --fail-on warning x.jsonl").code, Some(3));
    assert_eq!(dir.run("check --audit --fail-on never x.jsonl").code, Some(0));
}

#[test]
fn a_record_is_audited_with_pointers_into_it() {
    let dir = Dir::new("audit-record");
    dir.write("x.jsonl", BACK);
    assert_eq!(dir.run("convert x.jsonl --to record -o x.json").code, Some(0));
    let ran = dir.run("check --audit x.json");
    assert!(ran.stdout().contains("entries[1], at `/session/entries/1/timestamp`"), "{}", ran.stdout());
}

#[test]
fn a_policy_denies_tools_and_a_bad_policy_is_refused() {
    let dir = Dir::new("audit-policy");
    dir.write("x.jsonl", BACK);
    dir.write("policy.toml", "[tools]\ndeny = ['Bash']\n[severity]\ntime-backwards = 'off'\n");
    let ran = dir.run("check --audit --policy policy.toml x.jsonl");
    assert!(
        ran.stdout().contains("error: line 2, at `/message/content/0/name`: call of `Bash` (tool-denied)")
    );
    assert_eq!(ran.code, Some(3));
    dir.write("bad.toml", "[tools]\nforbid = []\n");
    let ran = dir.run("check --audit --policy bad.toml x.jsonl");
    assert!(ran.stderr.contains("`bad.toml`: `tools.forbid` is unknown"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(1));
    assert_eq!(dir.run("check --policy policy.toml x.jsonl").code, Some(2));
    assert_eq!(dir.run("check --audit missing.jsonl").code, Some(1));
}

#[test]
fn json_and_sarif_are_one_document() {
    let dir = Dir::new("audit-forms");
    dir.write("x.jsonl", BACK).write("y.jsonl", BACK);
    let ran = dir.run("check --audit --json x.jsonl y.jsonl");
    let json: Value = serde_json::from_str(ran.stdout()).expect("JSON");
    assert_eq!(json["counts"]["warning"], 2);
    assert_eq!(json["files"][1]["name"], "y.jsonl");
    let ran = dir.run("check --audit --sarif x.jsonl y.jsonl missing.jsonl");
    let sarif: Value = serde_json::from_str(ran.stdout()).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(2));
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert_eq!(ran.code, Some(1));
}
