//! Conversions of generated input, for callgrind: `instructions WALK UNITS TIMES`. `cargo xtask instructions` runs it once
//! with one conversion and once with two, so that the start and the generated input do not count.
//!
//! `instructions file DIALECT PATH TIMES` converts a log of that dialect to a record instead.
//!
//! The digest of the source of a record is left out: processors hash by instructions that callgrind does not have, so the
//! instructions of the digest would hide those of the conversion. `docs/performance.md` has its cost.

use interlingua::dialects::Role;
use interlingua_bench::run::{convert_without_digest, side};
use interlingua_testing::generate::{anthropic_stream, claude_line, codex_line};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let walk = arguments.next().unwrap_or_default();
    if walk == "file" {
        return convert_file(arguments);
    }
    let mut number = || arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (units, times): (u64, u64) = (number(), number());
    let lines = |line: fn(u64, &mut Vec<u8>)| {
        let mut log = Vec::new();
        (0..units).for_each(|number| line(number, &mut log));
        log
    };
    let (from, to, input) = match walk.as_str() {
        "claude-line-to-record" => (("claude-code", Role::Log), ("record", Role::Log), lines(claude_line)),
        "codex-line-to-claude" => (("codex", Role::Log), ("claude-code", Role::Log), lines(codex_line)),
        "stream-delta-to-chat" => {
            let stream = anthropic_stream(usize::try_from(units).unwrap_or(usize::MAX)).concat();
            (("anthropic", Role::Stream), ("openai-chat", Role::Stream), stream.into_bytes())
        }
        "chat-messages-to-gemini" => {
            (("openai-chat", Role::Request), ("gemini", Role::Request), chat_request(units).into_bytes())
        }
        other => {
            eprintln!("no walk is called `{other}`");
            std::process::exit(2);
        }
    };
    for _ in 0..times {
        let mut out = Vec::new();
        convert_without_digest(side(from.0, from.1), side(to.0, to.1), &input, &mut out);
        std::hint::black_box(out);
    }
}

/// Converts a log file to a record: the dialect, the path and the number of conversions are arguments.
fn convert_file(mut arguments: impl Iterator<Item = String>) {
    let mut next = || arguments.next().unwrap_or_default();
    let (dialect, path, times) = (next(), next(), next().parse().unwrap_or(1));
    let input = match std::fs::read(&path) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("cannot read `{path}`: {error}");
            std::process::exit(2);
        }
    };
    for _ in 0..times {
        let mut out = Vec::new();
        convert_without_digest(side(&dialect, Role::Log), side("record", Role::Log), &input, &mut out);
        std::hint::black_box(out);
    }
}

/// A chat request with a question, a call and a result per unit.
fn chat_request(units: u64) -> String {
    let mut messages = String::new();
    for number in 0..units {
        let comma = if number == 0 { "" } else { "," };
        messages += &format!(
            r#"{comma}{{"role":"user","content":"Look at file {number} and say what it holds."}},{{"role":"assistant","content":"I look.","tool_calls":[{{"id":"call_{number}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"src/{number}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{number}","content":"fn main() {{}}\n// {number}"}}"#
        );
    }
    format!(
        r#"{{"model":"gpt-5.5","messages":[{messages}],"tools":[{{"type":"function","function":{{"name":"read","description":"Reads a file","parameters":{{"type":"object","properties":{{"path":{{"type":"string"}}}},"required":["path"]}}}}}}]}}"#
    )
}
