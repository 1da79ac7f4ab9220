//! `convert --join`: the files of a session become one record, and the record is separated into the files again.

use std::fs;
use std::path::Path;

use crate::support::Dir;

const CLAUDE: &str = "anthropic/claude_code/2026-11";
const CODEX: &str = "openai/codex/2026-11";

fn fixture(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures").join(path);
    fs::read(path).expect("a fixture can be read")
}

#[test]
fn a_session_and_its_subagent_become_one_record_and_come_back() {
    for (dialect, folder) in [("claude-code", CLAUDE), ("codex", CODEX)] {
        let dir = Dir::new("joined");
        let [parent, child] =
            ["subagent", "subagent-child"].map(|name| fixture(&format!("{folder}/{name}.jsonl")));
        dir.write("main.jsonl", &parent);
        dir.write("agents/agent-1.jsonl", &child);
        // The order of the inputs does not matter.
        let ran = dir.run("convert agents/agent-1.jsonl main.jsonl --to record --join -o s.json");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("0 lost"), "{}", ran.stderr);
        let record = String::from_utf8(dir.read("s.json")).expect("text");
        assert_eq!(record.matches("\"event-type\":\"session-joined\"").count(), 1, "{dialect}");
        assert_eq!(dir.run("check s.json").code, Some(0), "{dialect}");

        // A log holds one session, so one file cannot hold both.
        let ran = dir.run(&format!("convert s.json --to {dialect} -o s.jsonl"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("holds several sessions"), "{}", ran.stderr);
        let ran = dir.run(&format!("convert s.json --to {dialect} -o back/"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(dir.read(&format!("back/s.{dialect}.jsonl")), parent, "{dialect}");
        assert_eq!(dir.read(&format!("back/s/agent-1.{dialect}.jsonl")), child, "{dialect}");

        // The subagent's usage is in the record once, and is counted once.
        let both = dir.run("stats main.jsonl agents/agent-1.jsonl --json");
        let joined = dir.run("stats s.json --json");
        let tokens = |json: &str| {
            // The totals follow the list of files.
            let (_, all) = json.split_once("}],").expect("a list of files");
            let (_, rest) = all.split_once("\"tokens\":").expect("tokens");
            rest.split(|c: char| !c.is_ascii_digit()).next().expect("a number").to_owned()
        };
        assert_eq!(tokens(joined.stdout()), tokens(both.stdout()), "{dialect}");
    }
}

#[test]
fn a_fork_follows_its_parent_and_strangers_stay_apart() {
    let dir = Dir::new("joined_fork");
    dir.write("main.jsonl", fixture(&format!("{CODEX}/resumed.jsonl")));
    dir.write("fork.jsonl", fixture(&format!("{CODEX}/forked.jsonl")));
    dir.write("other.jsonl", fixture(&format!("{CLAUDE}/tools.jsonl")));
    let ran = dir.run("convert main.jsonl fork.jsonl other.jsonl --to record --join -o s.json");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 sessions"), "{}", ran.stderr);
    dir.run("convert main.jsonl fork.jsonl other.jsonl --to record --join -o out/ -q").expect(0, "");
    let record = String::from_utf8(dir.read("out/main.record.json")).expect("text");
    assert!(record.contains("\"relation\":\"fork\""));
    dir.run("convert out/main.record.json --to codex -o back/ -q").expect(0, "");
    assert_eq!(dir.read("back/main.record.codex.jsonl"), dir.read("main.jsonl"));
    assert_eq!(dir.read("back/main.record/fork.codex.jsonl"), dir.read("fork.jsonl"));
    dir.run("convert out/other.record.json --to claude-code -o other-back.jsonl -q").expect(0, "");
    assert_eq!(dir.read("other-back.jsonl"), dir.read("other.jsonl"));
}

#[test]
fn only_records_are_joined() {
    let dir = Dir::new("joined_logs");
    dir.write("main.jsonl", fixture(&format!("{CLAUDE}/subagent.jsonl")));
    let ran = dir.run("convert main.jsonl --to codex --join -o x.jsonl");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`--join` makes records, and `codex` is none"), "{}", ran.stderr);
}

/// A record whose text mentions joined sessions holds none.
#[test]
fn a_record_that_only_speaks_of_it_is_one_session() {
    let dir = Dir::new("joined_words");
    let line = r#"{"type":"user","sessionId":"s","uuid":"a","parentUuid":null,"message":{"role":"user","content":"what is session-joined?"}}"#;
    dir.write("x.jsonl", format!("{line}\n"));
    dir.run("convert x.jsonl --to record -o x.json -q").expect(0, "");
    dir.run("convert x.json --to claude-code -o y.jsonl -q").expect(0, "");
    assert_eq!(dir.read("y.jsonl"), dir.read("x.jsonl"));
}

/// A damaged record, or a record of several sessions, is never nested in another record.
#[test]
fn a_damaged_record_and_one_of_several_sessions_stay_as_they_are() {
    let dir = Dir::new("joined_alone");
    dir.write("main.jsonl", fixture(&format!("{CLAUDE}/subagent.jsonl")));
    dir.write("child.jsonl", fixture(&format!("{CLAUDE}/subagent-child.jsonl")));
    dir.write("several.jsonl", fixture("agents/opencode/2026-02/storage.jsonl"));
    dir.run("convert child.jsonl --to record -o child.json -q").expect(0, "");
    let mut torn = dir.read("child.json");
    let list = br#""entries":["#;
    let first = torn.windows(list.len()).position(|bytes| bytes == list).expect("entries") + list.len();
    torn[first..first + 40].fill(b'{');
    dir.write("torn.json", &torn);
    dir.run("convert main.jsonl torn.json several.jsonl --to record --join -o out/ -q").expect(0, "");
    assert_eq!(dir.read("out/torn.record.json"), torn);
    // Each session of the input has a file.
    let records =
        ["several.record.json", "several-2.record.json"].map(|name| dir.read(&format!("out/{name}")));
    for record in &records {
        assert!(serde_json::from_slice::<serde_json::Value>(record).is_ok(), "one document");
    }
    dir.write("together.json", records.concat());
    dir.run("convert together.json --to opencode -o back.jsonl -q").expect(0, "");
    assert_eq!(dir.read("back.jsonl"), dir.read("several.jsonl"));
}
