//! The source of a record and records in CBOR, tested through the command.

use crate::support;
use crate::support::Dir;

#[test]
fn every_command_that_reads_a_record_reads_cbor() {
    let dir = Dir::new("encoded");
    dir.write("log.jsonl", support::log(3));
    for command in [
        "convert -q log.jsonl --to record -o record.json",
        "convert -q log.jsonl --to record --encoding cbor -o record.acr",
        "convert -q record.json --to record --encoding cbor -o other.acr",
        "convert -q record.acr --to claude-code --strict -o back.jsonl",
        "convert -q log.jsonl --to record --profile v2 --encoding cbor --cbor-tag 50000 -o closed.acr",
        "convert -q closed.acr --to claude-code --strict -o closed.jsonl",
        "convert -q record.acr --to record -o back.json",
        "convert -q back.json --to claude-code --strict -o again.jsonl",
        "check -q record.acr",
        "check -q closed.acr",
        "show record.acr",
        "stats record.acr",
        "convert -q log.jsonl --to record --encoding cbor -o records/",
        "keygen ann.key",
        "sign -q record.acr --key ann.key --signer Ann -o attached.cose",
        "sign -q record.acr --key ann.key --signer Ann --detached -o detached.cose",
        "verify attached.cose --key ann.key.pub",
        "verify detached.cose --record record.acr --key ann.key.pub",
    ] {
        let ran = dir.run(command);
        assert_eq!(ran.code, Some(0), "{command}: {}{}", ran.stderr, ran.stdout());
    }
    let log = dir.read("log.jsonl");
    for back in ["back.jsonl", "closed.jsonl", "again.jsonl"] {
        assert_eq!(dir.read(back), log, "{back}");
    }
    assert_eq!(dir.read("other.acr"), dir.read("record.acr"));
    assert_eq!(dir.read("records/log.record.acr"), dir.read("record.acr"));
    let printed = dir.run("convert -q log.jsonl --to record --encoding cbor");
    assert_eq!(printed.stdout, dir.read("record.acr"));
    let of_json = dir.run("verify detached.cose --record record.json --key ann.key.pub");
    assert_eq!(of_json.code, Some(3), "{}", of_json.stdout());
}

#[test]
fn damaged_cbor_and_cbor_for_a_log_are_refused() {
    let dir = Dir::new("encoded_badly");
    dir.write("log.jsonl", support::log(3));
    assert_eq!(dir.run("convert -q log.jsonl --to record --encoding cbor -o record.acr").code, Some(0));
    let mut cut = dir.read("record.acr");
    cut.truncate(cut.len() / 2);
    dir.write("cut.acr", cut);
    let ran = dir.run("check cut.acr");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("not a record in CBOR at byte "), "{}", ran.stderr);
    let ran = dir.run("convert log.jsonl --to codex --encoding cbor");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("only records are written in CBOR"), "{}", ran.stderr);
}

#[test]
fn a_restored_log_with_other_bytes_is_reported_and_fails_under_strict() {
    let dir = Dir::new("other_bytes");
    dir.write("log.jsonl", support::log(3));
    assert_eq!(dir.run("convert -q log.jsonl --to record -o record.json").code, Some(0));
    let record = String::from_utf8_lossy(&dir.read("record.json")).into_owned();
    let start = record.find(r#""content":""#).map_or(0, |at| at + r#""content":""#.len());
    dir.write("edited.json", format!("{}X{}", &record[..start], &record[start..]));
    let ran = dir.run("convert edited.json --to claude-code -o edited.jsonl");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("differs from the log that the record was made from"), "{}", ran.stderr);
    let ran = dir.run("convert edited.json --to claude-code --strict -o strict.jsonl");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(dir.read("strict.jsonl"), dir.read("edited.jsonl"));
    assert_eq!(dir.run("check edited.json").code, Some(3));
    assert_eq!(dir.run("check record.json").code, Some(0));
}
