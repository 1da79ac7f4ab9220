//! Runs the examples in the documents: every fenced `sh` block, and every `text` block that begins with `$
//! interlingua`, whose output must match the document. `INTERLINGUA_BLESS=1` updates the outputs in the documents.

#![cfg(unix)]
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::Dir;

#[test]
fn the_examples_of_the_readme_run_as_they_stand() {
    let dir = scratch("examples_readme");
    run_document(&dir, "README.md");
    // The examples promise the same bytes, and every file restored.
    assert_eq!(dir.read("session.jsonl"), dir.read("examples/claude-code.jsonl"));
    let written = dir.files();
    for (name, original) in CODEX_SESSIONS {
        let bytes = fixture(original);
        let is_it = |file: &&String| file.starts_with("sessions/") && dir.read(file) == bytes;
        assert!(written.iter().any(|file| is_it(&file)), "{name} comes back: {written:?}");
    }
}

#[test]
fn the_examples_of_the_command_run_as_they_stand() {
    let dir = scratch("examples_cli");
    run_document(&dir, "docs/cli.md");
    assert_eq!(dir.read("again.jsonl"), dir.read("examples/claude-code.jsonl"));
    assert_eq!(dir.read("back/session.claude-code.jsonl"), dir.read("session.jsonl"));
    assert_eq!(dir.read("back/session/agent-1.claude-code.jsonl"), dir.read("subagents/agent-1.jsonl"));
    // Every command has an example.
    let document = fs::read_to_string(repository().join("docs/cli.md")).expect("it is there");
    let commands: Vec<String> =
        blocks(&document).into_iter().flat_map(|block| block.commands).map(|example| example.line).collect();
    for subcommand in interlingua_cli::command().get_subcommands() {
        let name = format!("interlingua {} ", subcommand.get_name());
        assert!(commands.iter().any(|line| format!("{line} ").contains(&name)), "`{name}` has an example");
    }
}

#[test]
fn the_examples_of_backends_and_work_orders_run_as_they_stand() {
    run_document(&scratch("examples_backends"), "docs/backends.md");
    let dir = scratch("examples_contract");
    run_document(&dir, "docs/contract.md");
}

#[test]
fn an_example_that_does_not_run_is_found() {
    let dir = scratch("examples_wrong");
    for (wrong, why) in [
        ("```sh\ninterlingua convert request.json --to gemini --no-such-flag\n```\n", "--no-such-flag"),
        ("```sh\ninterlingua convert request.json --to gemini --frobnicate # runs?\n```\n", "--frobnicate"),
        ("```sh\ninterlingua dialects | no-such-program\n```\n", "no-such-program"),
        ("```sh\ncargo frobnicate\n```\n", "cargo frobnicate"),
        ("```text\n$ interlingua dialects --json | head -c 1\n{\n```\n", "["),
        ("```text\n$ interlingua show missing.jsonl\n```\n", "missing.jsonl"),
    ] {
        let failure = try_document(&dir, wrong).expect_err(wrong);
        assert!(failure.contains(why), "{wrong}: {failure}");
    }
    let right = "text\n\n```text\n$ interlingua dialects --json | head -c 1\n[\n```\n";
    assert_eq!(try_document(&dir, right), Ok(right.to_owned()));
    let unblessed = right.replace("\n[\n", "\nanything\n");
    assert_eq!(blessed(&dir, &unblessed), Ok(right.to_owned()));
}

/// A command of a document, and its documented output.
struct Example {
    /// The command line for a shell.
    line: String,
    output: String,
}

/// A fenced block with commands.
struct ExampleBlock {
    /// The numbers of its first line within the fence and of the closing fence.
    lines: (usize, usize),
    /// Whether the block shows outputs, as a terminal session.
    is_session: bool,
    commands: Vec<Example>,
}

/// The blocks of a document that hold commands.
fn blocks(document: &str) -> Vec<ExampleBlock> {
    let lines: Vec<&str> = document.lines().collect();
    let mut found = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        match (open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((number + 1, language)),
            (Some((first, language)), Some("")) => {
                open = None;
                let body = &lines[first..number];
                let is_session = body.first().is_some_and(|line| line.starts_with("$ interlingua"));
                let commands = match language {
                    "sh" => script(body),
                    _ if is_session => session(body),
                    _ => continue,
                };
                found.push(ExampleBlock { lines: (first, number), is_session, commands });
            }
            _ => {}
        }
    }
    found
}

/// The commands of a script, one per line; a trailing backslash continues the line.
fn script(body: &[&str]) -> Vec<Example> {
    let joined = body.join("\n").replace("\\\n", "");
    let is_command = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let example = |line: &str| Example { line: line.to_owned(), output: String::new() };
    joined.lines().filter(is_command).map(example).collect()
}

/// The commands after a `$`, each with the output lines that follow it.
fn session(body: &[&str]) -> Vec<Example> {
    let mut commands: Vec<Example> = Vec::new();
    for line in body {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                commands.push(Example { line: command.to_owned(), output: String::new() });
            }
            (None, Some(command)) => {
                let _ = writeln!(command.output, "{line}");
            }
            (None, None) => {}
        }
    }
    commands
}

fn run_document(dir: &Dir, name: &str) {
    let path = repository().join(name);
    let document = fs::read_to_string(&path).expect("the document is there");
    if std::env::var_os("INTERLINGUA_BLESS").is_some() {
        let new = blessed(dir, &document).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        return fs::write(path, new).expect("the document can be written");
    }
    if let Err(failure) = try_document(dir, &document) {
        panic!(
            "{name}: {failure}\nhint: if that is as it should be, `INTERLINGUA_BLESS=1 cargo test --test examples`"
        );
    }
}

/// Runs all examples; fails if a command fails or prints different output.
fn try_document(dir: &Dir, document: &str) -> Result<String, String> {
    let new = blessed(dir, document)?;
    let changed = document.lines().zip(new.lines()).find(|(old, new)| old != new);
    match changed {
        Some((old, new)) => Err(format!("shown is `{old}`, printed was `{new}`")),
        None if document == new => Ok(new),
        None => Err(format!("not all that was printed is shown, or too much:\n{new}")),
    }
}

/// Runs all examples and returns the document with their actual output.
fn blessed(dir: &Dir, document: &str) -> Result<String, String> {
    let lines: Vec<&str> = document.lines().collect();
    let mut new = String::new();
    let mut copied = 0;
    for block in blocks(document) {
        let (first, end) = block.lines;
        let mut said = String::new();
        for Example { line, output: _ } in &block.commands {
            let output = run_line(dir, line)?;
            let printed = String::from_utf8(output.stdout).map_err(|error| format!("`{line}`: {error}"))?;
            let _ = writeln!(said, "$ {line}");
            // Output without a final newline is shown with one.
            said.push_str(&printed);
            if !said.ends_with('\n') {
                said.push('\n');
            }
        }
        if block.is_session {
            lines[copied..first].iter().for_each(|line| _ = writeln!(new, "{line}"));
            new.push_str(&said);
            copied = end;
        }
    }
    lines[copied..].iter().for_each(|line| _ = writeln!(new, "{line}"));
    Ok(new)
}

/// Runs a line in a shell. The command must succeed and create the files named with `-o` and `--report`.
fn run_line(dir: &Dir, line: &str) -> Result<Output, String> {
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(dir.path())
        .env("HOME", dir.path().join("home"))
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().join("programs").to_string_lossy()))
        .stdin(Stdio::null())
        .output()
        .expect("a shell runs");
    let said = String::from_utf8_lossy(&output.stderr);
    // The exit code of a pipeline is that of its last program, so earlier errors are found in stderr.
    if !output.status.success() || said.contains("error: ") {
        return Err(format!("`{line}` ended with {}: {said}", output.status));
    }
    let words: Vec<&str> = line.split_whitespace().take_while(|word| *word != "#").collect();
    for pair in words.windows(2) {
        if let ["-o" | "--report" | "--receipt" | ">", path] = pair
            && !dir.path().join(path).exists()
        {
            return Err(format!("`{line}` has written no `{path}`"));
        }
    }
    Ok(output)
}

/// A directory with all files that examples name.
fn scratch(name: &str) -> Dir {
    let dir = Dir::new(name);
    for entry in fs::read_dir(repository().join("examples")).expect("there are examples") {
        let path = entry.expect("they can be listed").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        dir.write(&format!("examples/{name}"), fs::read(&path).expect("an example can be read"));
    }
    let claude = dir.read("examples/claude-code.jsonl");
    dir.write("home/.claude/projects/harbour/session.jsonl", &claude);
    for (name, original) in CODEX_SESSIONS {
        dir.write(&format!("home/.codex/sessions/2026/11/{name}"), fixture(original));
    }
    let gzip = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packer, bytes).expect("memory takes everything");
        packer.finish().expect("memory takes everything")
    };
    let zstd = |bytes: &[u8]| {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Uncompressed)
    };
    dir.write("archive/2025/old.jsonl.zst", zstd(&claude));
    dir.write("old logs/2025/old.jsonl.gz", gzip(&claude));
    dir.write("session.jsonl", fixture("anthropic/claude_code/2026-11/subagent.jsonl"));
    let child = fixture("anthropic/claude_code/2026-11/subagent-child.jsonl");
    dir.write("subagents/agent-1.jsonl", child);
    dir.write("request.json", REQUEST);
    dir.write("answer.json", ANSWER);
    // The work order is taken from the document.
    let contract = fs::read_to_string(repository().join("docs/contract.md")).expect("it is there");
    let order = contract.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    dir.write("order.json", order.expect("it shows an order"));

    dir.write("programs/cargo", CARGO);
    let cargo = dir.path().join("programs/cargo");
    fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).expect("it is ours");
    symlink(env!("CARGO_BIN_EXE_interlingua"), dir.path().join("programs/interlingua")).expect("a link");
    for receipt in ["one.json", "other.json"] {
        run_line(&dir, &format!("interlingua translate order.json -q --receipt {receipt} > sent.json"))
            .expect("an order is carried out");
    }
    dir
}

const CODEX_SESSIONS: [(&str, &str); 2] = [
    ("rollout-1.jsonl", "openai/codex/2026-11/functions.jsonl"),
    ("rollout-2.jsonl", "openai/codex/2026-11/compacted.jsonl"),
];

const REQUEST: &str = r#"{"model":"claude-opus-5-5","max_tokens":900,"messages":[{"role":"user","content":"When is high water?"}]}"#;
const ANSWER: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"qwen3-32b","choices":[{"index":0,"finish_reason":"stop",
"message":{"role":"assistant","content":"At noon."}}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}"#;

/// Replaces cargo: the binary is already built, and the tests are already running.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    "run --release -- "*) shift 3; exec interlingua "$@" ;;
    "run -- "*) shift 2; exec interlingua "$@" ;;
    "test --workspace") exit 0 ;;
    *) echo "no example of ours: cargo $*" >&2; exit 1 ;;
esac
"#;

fn fixture(path: &str) -> Vec<u8> {
    fs::read(repository().join("crates/interlingua/fixtures").join(path)).expect("a fixture can be read")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
