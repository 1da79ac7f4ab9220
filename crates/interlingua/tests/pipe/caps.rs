//! Limits on the size of a source: input over a limit is reported, and the ledger still adds up.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Code;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::tape::Limits;
use serde_json::{Value, json};

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn start(model: &str) -> String {
    event(&json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
        "model": model, "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}))
}

fn block(index: usize) -> String {
    event(
        &json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
    )
}

fn call(index: usize) -> String {
    event(&json!({"type": "content_block_start", "index": index,
        "content_block": {"type": "tool_use", "id": format!("c{index}"), "name": "look", "input": {}}}))
}

fn piece(text: &str) -> String {
    event(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}))
}

fn convert(input: &str, to: (&str, Role), limits: Limits) -> (Vec<u8>, Report) {
    let side = |name| Dialect::named(name).expect("registered");
    let options = Options::default().with_limits(limits);
    let mut pipe = Pipe::new((side("anthropic"), Role::Stream), (side(to.0), to.1), &options).unwrap();
    let mut out = Vec::new();
    // In chunks, so that earlier output counts too.
    for piece in input.as_bytes().chunks(5_000) {
        pipe.push(piece, &mut out);
    }
    let report = pipe.finish(&mut out);
    assert_eq!(report.leaves, report.mapped + report.kept + report.lost, "{report:?}");
    (out, report)
}

fn has(report: &Report, code: Code) -> usize {
    report.problems.iter().filter(|problem| problem.code == code).count()
}

const TARGETS: [(&str, Role); 3] =
    [("openai-chat", Role::Stream), ("universal", Role::Live), ("record", Role::Log)];

#[test]
fn a_long_name_is_not_said_again_forever() {
    let mut input = start(&"m".repeat(50_000));
    input += &block(0);
    (0..300).for_each(|number| input += &piece(&format!("word {number}")));
    let allowed = 4 * input.len() + (1 << 20);
    for to in TARGETS {
        let (free, report) = convert(&input, to, Limits::default());
        assert_eq!(has(&report, Code::Overgrown), 0, "{to:?}: usual limits allow it");
        let (capped, report) = convert(&input, to, Limits { growth: 4, ..Limits::default() });
        let overgrown = free.len() > allowed;
        assert_eq!(has(&report, Code::Overgrown), usize::from(overgrown), "{to:?} says so once");
        if overgrown {
            assert!(capped.len() < allowed + 500_000, "{to:?} wrote {} of {}", capped.len(), free.len());
            assert!(report.lost > 100, "{to:?}: what was not said is lost: {}", report.lost);
        } else {
            assert_eq!(free, capped, "{to:?}");
        }
    }
    let (free, _) = convert(&input, TARGETS[0], Limits::default());
    assert!(free.len() > allowed, "every chunk of chat has the name of the model");
}

#[test]
fn what_lies_in_the_callers_memory_already_is_not_counted() {
    let side = |name| (Dialect::named(name).expect("registered"), Role::Stream);
    let options = Options::default().with_limits(Limits { growth: 1, ..Limits::default() });
    let mut pipe = Pipe::new(side("anthropic"), side("openai-chat"), &options).unwrap();
    let mut out = vec![b' '; 3 << 20];
    let input = start("m") + &block(0) + &piece("hello");
    pipe.push(input.as_bytes(), &mut out);
    let report = pipe.finish(&mut out);
    assert_eq!(has(&report, Code::Overgrown), 0);
    assert!(String::from_utf8(out).unwrap().contains("hello"));
}

#[test]
fn more_items_than_allowed_are_not_opened() {
    let input = (1..7).fold(start("m") + &block(0), |input, index| input + &call(index)) + &piece("first");
    for to in TARGETS {
        let (_, report) = convert(&input, to, Limits::default());
        assert_eq!(has(&report, Code::Lifecycle), 0, "{to:?}");
        let (out, report) = convert(&input, to, Limits { open: 3, ..Limits::default() });
        assert!(has(&report, Code::Lifecycle) > 0, "{to:?}");
        assert!(report.problems.iter().any(|problem| problem.detail == "too many items open at once"));
        assert!(String::from_utf8(out).unwrap().contains("first"), "{to:?}: those before go on");
    }
}

#[test]
fn what_was_begun_is_ended_and_nothing_else_is_begun_when_too_much_was_written() {
    let side = |name, role| (Dialect::named(name).expect("registered"), role);
    let input = r#"{"type":"x","uuid":"u","parentUuid":null,"sessionId":"s"}"#.to_owned() + "\n";
    let input = input.repeat(20_000);
    let options = Options::default().with_limits(Limits { growth: 4, ..Limits::default() });
    let mut pipe =
        Pipe::new(side("claude-code", Role::Log), side("universal", Role::Live), &options).unwrap();
    let mut out = Vec::new();
    pipe.push(input.as_bytes(), &mut out);
    let report = pipe.finish(&mut out);
    assert_eq!(has(&report, Code::Overgrown), 1);
    assert_eq!(report.leaves, report.mapped + report.kept + report.lost, "{report:?}");
    assert!(out.len() < 4 * input.len() + (1 << 20) + 4096, "{} of {}", out.len(), input.len());
    let out = String::from_utf8(out).unwrap();
    let (before, end) = out.trim_end().rsplit_once('\n').unwrap();
    assert!(end.contains("session.ended"), "{end}");
    let count = |kind: &str| before.matches(&format!("\"type\":\"item.{kind}\"")).count();
    assert!(count("started") > 1_000);
    assert_eq!(count("started"), count("completed"));
    assert!(out.len() < 4 * input.len(), "what is read later allows nothing more: {}", out.len());
}
