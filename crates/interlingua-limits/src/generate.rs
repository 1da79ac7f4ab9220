//! Input of any length, made up: the same number gives the same line.

use std::fmt::Write as _;

/// A line of a session as Claude Code writes it: prompts, thinking, calls, results, attachments, each with its own
/// ids.
pub fn claude_line(number: u64, out: &mut Vec<u8>) {
    let id = |number: u64| format!("{number:08x}-0000-4000-8000-000000000000");
    let (own, parent) = (id(number + 1), id(number));
    let common = format!(
        r#""parentUuid":"{parent}","isSidechain":false,"userType":"external","cwd":"/tmp/project","sessionId":"11111111-2222-4333-8444-555555555555","version":"2.1.325","gitBranch":"main","uuid":"{own}","timestamp":"2026-11-15T{:02}:{:02}:{:02}.{:03}Z""#,
        number / 3_600_000 % 24,
        number / 60_000 % 60,
        number / 1_000 % 60,
        number % 1_000,
    );
    let response = number / 4;
    let assistant = |content: &str| {
        format!(
            r#"{{{common},"type":"assistant","requestId":"req_{response:08x}","message":{{"model":"claude-opus-5-5","id":"msg_{response:08x}","type":"message","role":"assistant","content":[{content}],"stop_reason":"tool_use","stop_sequence":null,"usage":{{"input_tokens":{},"cache_creation_input_tokens":120,"cache_read_input_tokens":3000,"output_tokens":{}}}}}}}"#,
            number % 100,
            number % 500,
        )
    };
    let text = "Line after line of ordinary prose with \\\"quotes\\\" and\\nnewlines, as tools print it. ";
    let line = match number % 5 {
        0 => format!(
            r#"{{{common},"type":"user","message":{{"role":"user","content":"{}"}}}}"#,
            text.repeat(3)
        ),
        1 => assistant(&format!(
            r#"{{"type":"thinking","thinking":"{}","signature":"c2lnbmF0dXJl"}}"#,
            text.repeat(4)
        )),
        2 => assistant(&format!(
            r#"{{"type":"tool_use","id":"toolu_{number:08x}","name":"Bash","input":{{"command":"ls -la","description":"{text}"}}}}"#
        )),
        3 => format!(
            r#"{{{common},"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{:08x}","type":"tool_result","content":"{}","is_error":false}}]}},"toolUseResult":{{"stdout":"{text}","stderr":"","interrupted":false,"isImage":false}}}}"#,
            number - 1,
            text.repeat(20),
        ),
        _ => format!(
            r#"{{{common},"type":"attachment","attachment":{{"type":"todo","items":[],"count":{number}}}}}"#
        ),
    };
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

/// A request to the Messages API of about that size: a system prompt, tools, and turns with calls and results.
pub fn anthropic_request(size: usize) -> Vec<u8> {
    let text = "Line after line of ordinary prose with \\\"quotes\\\" and\\nnewlines, as tools print it. ";
    let mut out = format!(
        r#"{{"model":"claude-opus-5-5","max_tokens":4096,"temperature":0.7,"stream":true,"system":"{text}","tools":["#
    );
    for number in 0..12 {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            out,
            r#"{comma}{{"name":"tool_{number}","description":"{text}","input_schema":{{"type":"object","properties":{{"path":{{"type":"string","description":"where"}},"limit":{{"type":"integer"}}}},"required":["path"]}}}}"#
        );
    }
    out += r#"],"messages":["#;
    let mut number = 0;
    while out.len() < size {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            out,
            r#"{comma}{{"role":"user","content":"{text}"}},{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"tool_use","id":"toolu_{number:08x}","name":"tool_1","input":{{"path":"/tmp/demo/file_{number}","limit":{number}}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{number:08x}","content":"{}"}}]}},{{"role":"assistant","content":"{text}"}}"#,
            text.repeat(8),
        );
        number += 1;
    }
    out += r#",{"role":"user","content":"go on"}]}"#;
    out.into_bytes()
}
