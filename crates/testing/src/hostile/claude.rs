//! Live output and logs of Claude Code.

use std::fmt::Write as _;

use super::joined;
use super::streams::MESSAGE_START;

/// Live output in which this many subagents stream concurrently, each under its own call.
pub fn subagents(count: usize) -> Vec<u8> {
    let mut out = String::new();
    let mut line = |parent: usize, event: &str| {
        let _ = writeln!(
            out,
            r#"{{"type":"stream_event","event":{event},"session_id":"s","parent_tool_use_id":"toolu_{parent}","uuid":"u"}}"#
        );
    };
    for number in 0..count {
        line(
            number,
            &format!(
                r#"{{"type":"message_start","message":{{"id":"msg_{number}","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null}}}}"#
            ),
        );
    }
    for event in [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"two"}}"#,
    ] {
        (0..count).for_each(|number| line(number, event));
    }
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"type":"assistant","message":{{"id":"msg_{number}","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"one two"}}]}},"parent_tool_use_id":"toolu_{number}","session_id":"s","uuid":"v{number}"}}"#
        );
    }
    out.into_bytes()
}

/// Live output in which this many blocks of one response stream concurrently.
pub fn live_open_blocks(count: usize) -> Vec<u8> {
    let mut out = String::new();
    let mut line = |event: &str| {
        let _ = writeln!(
            out,
            r#"{{"type":"stream_event","event":{event},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}}"#
        );
    };
    line(&format!(r#"{{"type":"message_start","message":{MESSAGE_START}}}"#));
    for number in 0..count {
        line(&format!(
            r#"{{"type":"content_block_start","index":{number},"content_block":{{"type":"text","text":""}}}}"#
        ));
    }
    for piece in ["one ", "two"] {
        for number in 0..count {
            line(&format!(
                r#"{{"type":"content_block_delta","index":{number},"delta":{{"type":"text_delta","text":"{piece}"}}}}"#
            ));
        }
    }
    for _ in 0..count {
        out += r#"{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"one two"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"v"}"#;
        out.push('\n');
    }
    out.into_bytes()
}

/// Live output in which this many permission requests are pending, and are answered in reverse order.
pub fn live_permissions(count: usize) -> Vec<u8> {
    let mut out = String::new();
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"type":"control_request","request_id":"r{number}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"ls"}},"tool_use_id":"toolu_{number}"}}}}"#
        );
    }
    for number in (0..count).rev() {
        let _ = writeln!(
            out,
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"r{number}","response":{{"behavior":"allow"}}}}}}"#
        );
    }
    out.into_bytes()
}

/// A log of one line with this many texts.
pub fn texts(count: usize) -> Vec<u8> {
    blocks(&joined(count, |number| format!(r#"{{"type":"text","text":"part {number}"}}"#)))
}

/// A log of one line with this many calls.
pub fn calls(count: usize) -> Vec<u8> {
    blocks(&joined(count, |number| {
        format!(r#"{{"type":"tool_use","id":"toolu_{number}","name":"Bash","input":{{"command":"ls"}}}}"#)
    }))
}

/// A log of one line with one text of this many bytes.
pub fn long_text(count: usize) -> Vec<u8> {
    blocks(&format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(count)))
}

fn blocks(blocks: &str) -> Vec<u8> {
    format!(
        "{{{CLAUDE},\"uuid\":\"a1\",\"parentUuid\":null,\"type\":\"assistant\",\"message\":{{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{blocks}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":1,\"output_tokens\":1}}}}}}\n"
    )
    .into_bytes()
}

const CLAUDE: &str = r#""isSidechain":false,"userType":"external","cwd":"/tmp","sessionId":"11111111-2222-4333-8444-555555555555","version":"2.1.325","timestamp":"2026-11-15T00:00:00.000Z""#;

/// A log with this many calls, one per line, whose results come in reverse order.
pub fn late_results(count: usize) -> Vec<u8> {
    let mut out = String::new();
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{{CLAUDE},"uuid":"c{number}","parentUuid":null,"type":"assistant","message":{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{{"type":"tool_use","id":"toolu_{number}","name":"Bash","input":{{}}}}]}}}}"#
        );
    }
    for number in (0..count).rev() {
        let _ = writeln!(
            out,
            r#"{{{CLAUDE},"uuid":"r{number}","parentUuid":"c{number}","type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{number}","type":"tool_result","content":"ok"}}]}}}}"#
        );
    }
    out.into_bytes()
}

/// A log of this many responses that all continue after all have begun: the usage of each is in two lines.
pub fn responses(count: usize) -> Vec<u8> {
    let mut out = String::new();
    for round in 1..3 {
        for number in 0..count {
            let _ = writeln!(
                out,
                r#"{{{CLAUDE},"uuid":"{round}-{number}","parentUuid":null,"type":"assistant","message":{{"id":"msg_{number}","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"now"}}],"usage":{{"input_tokens":{round},"output_tokens":{round}}}}}}}"#
            );
        }
    }
    out.into_bytes()
}

/// A log of one line with this many unknown members, each with a different name.
pub fn unknown_members(count: usize) -> Vec<u8> {
    let members = joined(count, |number| format!(r#""k{number}":{number}"#));
    format!(
        "{{{CLAUDE},\"uuid\":\"a1\",\"parentUuid\":null,\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"hi\"}},{members}}}\n"
    )
    .into_bytes()
}

/// A log with this many damaged lines.
pub fn damaged_lines(count: usize) -> Vec<u8> {
    "{\"type\":\"us\n".repeat(count).into_bytes()
}
