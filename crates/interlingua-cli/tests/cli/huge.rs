//! Huge and hostile records: many entries, many lines of one entry, many holes, deep nesting. `check`, `sign`, `verify`,
//! `redact` and restoring stay within a limit of memory, and their time grows with the size of the record. With
//! `INTERLINGUA_FULL=1` the records have a million entries or lines, and a gigabyte of holes.

#![cfg(target_os = "linux")]
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Dir;

const HEAD: &str = r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","entries":["#;
const TAIL: &str = r#"],"agent-meta":{"model-id":"m","model-provider":"p"}}}"#;
const LINE: &str = r#"{"type":"user","uuid":"~","sessionId":"s","message":{"role":"user","content":"~"}}"#;

fn is_full() -> bool {
    std::env::var_os("INTERLINGUA_FULL").is_some()
}

/// A record with `count` entries, lines or holes.
fn write_record(dir: &Dir, shape: &str, count: usize) {
    let file = File::create(dir.path().join("r.json")).expect("a file can be made");
    let mut out = BufWriter::new(file);
    let comma = |at: usize| if at == 0 { "" } else { "," };
    let mut put = |text: &str| out.write_all(text.as_bytes()).expect("the disk has room");
    put(HEAD);
    match shape {
        "entries" => {
            for at in 0..count {
                put(&format!(
                    r#"{}{{"type":"user","id":"u{at}","content":"hi {at}","vendor-ext":{{"vendor":"claude-code","data":{LINE}}}}}"#,
                    comma(at)
                ));
            }
        }
        "more" => {
            put(r#"{"type":"user","id":"u","content":"hi","vendor-ext":{"vendor":"claude-code","data":"#);
            put(LINE);
            put(r#","more":["#);
            for at in 0..count {
                put(&format!(r#"{}{{"type":"x","n":{at}}}"#, comma(at)));
            }
            put("]}}");
        }
        "holes" => {
            put(
                r#"{"type":"user","id":"u","content":"hi","vendor-ext":{"vendor":"claude-code","data":{"type":"user","x":["#,
            );
            for at in 0..count {
                put(comma(at));
                put(r#""~""#);
            }
            put("]}}}");
        }
        _ => put(&format!(
            r#"{{"type":"user","id":"u","content":{}{}}}"#,
            "[".repeat(count),
            "]".repeat(count)
        )),
    }
    put(TAIL);
}

/// Runs all steps on the record with this limit of memory in kilobytes. Returns the time of each step.
fn run(dir: &Dir, memory: u64) -> Vec<(&'static str, Duration)> {
    let steps = [
        ("check", "check -q r.json"),
        ("sign", "sign -q r.json --key k --signer Ann --digest -o r.cose"),
        ("verify", "verify r.cose --record r.json --key k.pub"),
        ("restore", "convert -q r.json --to claude-code -o out.jsonl"),
        ("redact", "redact -q r.cose --record r.json --key k.pub --entry 0 -o redacted.json"),
    ];
    let mut times = Vec::new();
    for (name, args) in steps {
        let command =
            format!("ulimit -v {memory}; exec {} {args} > /dev/null", env!("CARGO_BIN_EXE_interlingua"));
        let start = Instant::now();
        let ran =
            Command::new("sh").args(["-c", &command]).current_dir(dir.path()).output().expect("it starts");
        // A record that holds more than its log gives has findings (3); a lack of memory or a panic is another code.
        let code = ran.status.code();
        let is_known = matches!(
            (name, code),
            ("sign" | "verify", Some(0)) | ("check" | "restore" | "redact", Some(0 | 3))
        );
        assert!(is_known, "{args}: {code:?} {}", String::from_utf8_lossy(&ran.stderr));
        times.push((name, start.elapsed()));
    }
    times
}

/// Four times the size may take sixteen times the time of a busy machine and a second more; a square would be far above.
fn grows_with_its_size(shape: &str, count: usize, memory: u64) {
    let dir = Dir::new(&format!("huge_{shape}"));
    assert_eq!(dir.run("keygen k").code, Some(0));
    write_record(&dir, shape, count / 4);
    let few = run(&dir, memory);
    write_record(&dir, shape, count);
    for ((name, few), (_, many)) in few.into_iter().zip(run(&dir, memory)) {
        assert!(many < few * 16 + Duration::from_secs(1), "{shape}, {name}: {few:?} and {many:?}");
    }
}

#[test]
fn many_entries() {
    let count = if is_full() { 1_000_000 } else { 40_000 };
    // The record of a million entries has 172 MB.
    grows_with_its_size("entries", count, 600_000);
}

#[test]
fn many_lines_of_one_entry() {
    let (count, memory) = if is_full() { (1_000_000, 1_600_000) } else { (40_000, 600_000) };
    grows_with_its_size("more", count, memory);
}

#[test]
fn many_holes() {
    let (count, memory) = if is_full() { (4_000_000, 1_600_000) } else { (160_000, 600_000) };
    grows_with_its_size("holes", count, memory);
}

#[test]
fn deep_nesting() {
    grows_with_its_size("levels", 10_000, 600_000);
}

#[test]
fn a_gigabyte_of_holes_in_one_entry() {
    if !is_full() {
        return;
    }
    let dir = Dir::new("huge_gigabyte");
    assert_eq!(dir.run("keygen k").code, Some(0));
    write_record(&dir, "holes", 268_000_000);
    // The largest piece of a signed record is 1 GiB, and a frame over 256 MiB is not parsed; buffers double.
    let command = format!("ulimit -v 4500000; exec {} check -q r.json", env!("CARGO_BIN_EXE_interlingua"));
    let ran = Command::new("sh").args(["-c", &command]).current_dir(dir.path()).output().expect("it starts");
    assert!(matches!(ran.status.code(), Some(0 | 2 | 3)), "{:?}", ran.status);
}
