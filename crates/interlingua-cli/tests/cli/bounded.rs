//! Output and memory are proportional to the input, whatever the input is.

#![cfg(target_os = "linux")]
use std::process::Command;

use crate::support::Dir;

const MESSAGE: &str = concat!(
    r#"{"type":"user","sessionId":"s","uuid":"a","parentUuid":null,"timestamp":"2026-02-10T17:27:14Z","message":{"role":"user","content":"hi"}}"#,
    "\n"
);

/// A log of about this many bytes: a message, then one tiny line repeated.
fn log(line: &str, bytes: usize) -> String {
    MESSAGE.to_owned() + &line.repeat(bytes / line.len())
}

/// Runs the command with 300 MB of address space, most of which is reserved for threads.
fn run(dir: &Dir, args: &str) -> String {
    let script = format!("ulimit -v 300000; exec '{}' {args}", env!("CARGO_BIN_EXE_interlingua"));
    let ran =
        Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().expect("a shell runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{args}: {said}");
    said
}

/// Converts a log to records, to universal events and to other logs. A record may have at most `most_of_record`
/// hundredths of the input's bytes, and must restore all of them.
fn holds(name: &str, line: &str, bytes: usize, most_of_record: usize) {
    let dir = Dir::new(&format!("bounded_{name}"));
    let source = log(line, bytes);
    dir.write("in.jsonl", &source);
    let targets = [
        ("record", most_of_record),
        // Lines without a counterpart in the target are reported and not written.
        ("universal", 1),
        ("record-v2", most_of_record),
        ("universal --raw", 2 * most_of_record),
        ("codex", 1),
        ("pi", 1),
        ("gemini-cli", 1),
    ];
    // The first two targets suffice for a large input.
    let targets = if bytes > 1_000_000 { &targets[..2] } else { &targets };
    for &(target, most) in targets {
        let said = run(&dir, &format!("convert in.jsonl --from claude-code --to {target} -o out"));
        assert!(!said.contains("overgrown"), "{name} to {target}: {said}");
        let out = dir.read("out").len();
        assert!(
            out < source.len() * most / 100 + 4096,
            "{name} to {target}: {out} bytes of {}",
            source.len()
        );
        if target.starts_with("record") {
            run(&dir, "convert out --to claude-code -q -o back");
            assert!(dir.read("back") == source.as_bytes(), "{name} comes back from {target}");
        }
    }
}

#[test]
fn ten_megabytes_of_empty_lines_become_twenty() {
    holds("empty", "\n", 10_000_000, 201);
}

#[test]
fn tiny_lines_become_half_as_long_again() {
    holds("letter", "x\n", 3_000_000, 151);
}

#[test]
fn tiny_lines_of_every_sort_are_kept_together() {
    for (name, line, most) in [
        ("brace", "{\n", 151),
        ("windows", "\r\n", 201),
        ("nul", "\0\n", 201),
        ("number", "1\n", 151),
        ("null", "null\n", 151),
        ("text", "\"\"\n", 201),
        ("object", "{}\n", 151),
        ("list", "[1]\n", 151),
        ("broken", "\u{fffd}\n", 151),
        ("mixed", "\nx\n1\n{}\n{\n\0\n", 201),
    ] {
        holds(name, line, 200_000, most);
    }
}

#[test]
fn the_smallest_lines_that_are_read_are_entries_of_their_own() {
    let dir = Dir::new("bounded_objects");
    let source = log("{\"\":1}\n", 300_000);
    dir.write("in.jsonl", &source);
    for (target, most) in [("record", 15), ("record-v2", 16), ("universal", 110), ("codex", 0)] {
        run(&dir, &format!("convert in.jsonl --from claude-code --to {target} -q -o out"));
        let out = dir.read("out").len();
        assert!(out < most * source.len() + 4096, "{target}: {out} bytes of {}", source.len());
        if target.starts_with("record") {
            run(&dir, "convert out --to claude-code -q -o back");
            assert!(dir.read("back") == source.as_bytes(), "they come back from {target}");
        }
    }
}
