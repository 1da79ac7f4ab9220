//! Rollouts of Codex.

use std::fmt::Write as _;

use super::joined;

/// A rollout with one reasoning item of this many summaries.
pub fn summaries(count: usize) -> Vec<u8> {
    let summaries = joined(count, |number| format!(r#"{{"type":"summary_text","text":"step {number}"}}"#));
    items(&format!(
        r#"{{"type":"reasoning","id":"rs_1","summary":[{summaries}],"content":null,"encrypted_content":"c2VjcmV0"}}"#
    ))
}

/// A rollout with one message of this many texts.
pub fn texts(count: usize) -> Vec<u8> {
    let texts = joined(count, |number| format!(r#"{{"type":"output_text","text":"part {number}"}}"#));
    items(&format!(r#"{{"type":"message","role":"assistant","content":[{texts}]}}"#))
}

fn items(item: &str) -> Vec<u8> {
    format!("{CODEX}{{\"timestamp\":\"2026-11-15T00:00:01.000Z\",\"type\":\"response_item\",\"payload\":{item}}}\n")
        .into_bytes()
}

const CODEX: &str = "{\"timestamp\":\"2026-11-15T00:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"01a1ded5-d2e2-7e60-b5e7-db7fbbd265a5\",\"timestamp\":\"2026-11-15T00:00:00.000Z\",\"cwd\":\"/tmp\",\"originator\":\"codex_exec\",\"cli_version\":\"0.150.0\"}}\n";

/// A rollout with this many calls whose results come in reverse order.
pub fn late_results(count: usize) -> Vec<u8> {
    let mut out = CODEX.to_owned();
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"timestamp":"2026-11-15T00:00:01.000Z","type":"response_item","payload":{{"type":"function_call","name":"f","arguments":"{{}}","call_id":"call_{number}"}}}}"#
        );
    }
    for number in (0..count).rev() {
        let _ = writeln!(
            out,
            r#"{{"timestamp":"2026-11-15T00:00:02.000Z","type":"response_item","payload":{{"type":"function_call_output","call_id":"call_{number}","output":"ok"}}}}"#
        );
    }
    out.into_bytes()
}

/// A rollout in which one text is repeated this many times.
pub fn echoes(count: usize) -> Vec<u8> {
    let mut out = CODEX.to_owned();
    for _ in 0..count {
        out += "{\"timestamp\":\"2026-11-15T00:00:01.000Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"agent_message\",\"message\":\"again\"}}\n";
    }
    out.into_bytes()
}
