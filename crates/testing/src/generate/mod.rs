//! Generated input of any length: the same number yields the same line.

pub mod live;
pub mod logs;

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
    let text = PROSE;
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

/// A line of a rollout as Codex writes it: messages with their echo, reasoning, calls, results, usage. Line 0 is the
/// head.
pub fn codex_line(number: u64, out: &mut Vec<u8>) {
    let text = PROSE;
    let turn = "01a1ded5-d2fa-7d73-b4b3-02cd0b4df7a6";
    let place = format!(r#""internal_chat_message_metadata_passthrough":{{"turn_id":"{turn}"}}"#);
    let step = number.saturating_sub(1) / 6;
    let said = format!("Step {step}. {}", text.repeat(6));
    let (kind, payload) = match number.checked_sub(1).map(|number| number % 6) {
        None => (
            "session_meta",
            r#"{"id":"01a1ded5-d2e2-7e60-b5e7-db7fbbd265a5","timestamp":"2026-11-15T00:00:00.000Z","cwd":"/tmp/project","originator":"codex_exec","cli_version":"0.150.0","source":"exec","model_provider":"openai"}"#
                .to_owned(),
        ),
        Some(0) => (
            "event_msg",
            format!(r#"{{"type":"agent_message","message":"{said}","phase":"commentary","memory_citation":null}}"#),
        ),
        Some(1) => (
            "response_item",
            format!(
                r#"{{"type":"message","id":"msg_{step:08x}","role":"assistant","content":[{{"type":"output_text","text":"{said}"}}],"phase":"commentary",{place}}}"#
            ),
        ),
        Some(2) => (
            "response_item",
            format!(
                r#"{{"type":"reasoning","id":"rs_{step:08x}","summary":[{{"type":"summary_text","text":"{text}"}}],"content":null,"encrypted_content":"{}",{place}}}"#,
                "Z0FBQUFBQnB".repeat(80),
            ),
        ),
        Some(3) => (
            "response_item",
            format!(
                r#"{{"type":"function_call","id":"fc_{step:08x}","name":"exec_command","arguments":"{{\"cmd\":\"sed -n 1,80p src/file_{step}.rs\",\"workdir\":\"/tmp/project\"}}","call_id":"call_{step:08x}",{place}}}"#
            ),
        ),
        Some(4) => (
            "response_item",
            format!(
                r#"{{"type":"function_call_output","call_id":"call_{step:08x}","output":"{}",{place}}}"#,
                text.repeat(24),
            ),
        ),
        Some(_) => {
            let counts = |times: u64| {
                format!(
                    r#"{{"input_tokens":{},"cached_input_tokens":{},"output_tokens":{},"reasoning_output_tokens":{},"total_tokens":{}}}"#,
                    1000 * times,
                    800 * times,
                    50 * times,
                    10 * times,
                    1050 * times,
                )
            };
            let info = format!(
                r#"{{"total_token_usage":{},"last_token_usage":{},"model_context_window":258400}}"#,
                counts(step + 1),
                counts(1),
            );
            ("event_msg", format!(r#"{{"type":"token_count","info":{info},"rate_limits":null}}"#))
        }
    };
    let line = format!(
        r#"{{"timestamp":"2026-11-15T{:02}:{:02}:{:02}.{:03}Z","type":"{kind}","payload":{payload}}}"#,
        number / 3_600_000 % 24,
        number / 60_000 % 60,
        number / 1_000 % 60,
        number % 1_000,
    );
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

/// A request to the Messages API of about this size: a system prompt, tools, and turns with calls and results.
pub fn anthropic_request(size: usize) -> Vec<u8> {
    let text = PROSE;
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

/// A streamed response of the Messages API: reasoning, a text of this many deltas, and a call whose arguments arrive in
/// deltas. Each element is one event with the empty line that ends it.
pub fn anthropic_stream(pieces: usize) -> Vec<String> {
    let mut events = Vec::new();
    let mut push = |kind: &str, rest: &str| {
        events.push(format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n"));
    };
    push(
        "message_start",
        r#","message":{"id":"msg_01Stream","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":41,"cache_creation_input_tokens":120,"cache_read_input_tokens":3000,"output_tokens":1,"service_tier":"standard"}}"#,
    );
    let (thoughts, fragments) = (pieces / 4, pieces / 8);
    let blocks = [
        (r#"{"type":"thinking","thinking":"","signature":""}"#, "thinking_delta", "thinking", thoughts),
        (r#"{"type":"text","text":""}"#, "text_delta", "text", pieces),
        (
            r#"{"type":"tool_use","id":"toolu_01Stream","name":"write_file","input":{}}"#,
            "input_json_delta",
            "partial_json",
            fragments,
        ),
    ];
    for (index, (block, tag, member, count)) in blocks.into_iter().enumerate() {
        push("content_block_start", &format!(r#","index":{index},"content_block":{block}"#));
        for number in 0..count {
            // A word or two per delta, as models emit them; the arguments form an object.
            let piece = match (member, number) {
                ("partial_json", 0) => r#"{\"path\": \"a.txt\", \"text\": \""#,
                ("partial_json", last) if last + 1 == count => r#"\"}"#,
                ("partial_json", _) => r"and so on,\\n ",
                _ if number % 16 == 15 => r"on.\n\n",
                _ => " and so",
            };
            push(
                "content_block_delta",
                &format!(r#","index":{index},"delta":{{"type":"{tag}","{member}":"{piece}"}}"#),
            );
        }
        if tag == "thinking_delta" {
            push(
                "content_block_delta",
                &format!(
                    r#","index":{index},"delta":{{"type":"signature_delta","signature":"c2lnbmF0dXJl"}}"#
                ),
            );
        }
        push("content_block_stop", &format!(r#","index":{index}"#));
    }
    push(
        "message_delta",
        r#","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2187}"#,
    );
    push("message_stop", "");
    events
}

/// A short complete response of the Messages API, of about 600 bytes.
pub fn anthropic_answer() -> Vec<u8> {
    format!(
        r#"{{"id":"msg_01Short","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{PROSE}{PROSE}"}},{{"type":"tool_use","id":"toolu_01Short","name":"read_file","input":{{"path":"/tmp/project/src/main.rs","limit":200}}}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{{"input_tokens":41,"cache_creation_input_tokens":120,"cache_read_input_tokens":3000,"output_tokens":187,"service_tier":"standard"}}}}"#
    )
    .into_bytes()
}

/// The text of all messages, escaped for JSON.
const PROSE: &str =
    "Line after line of ordinary prose with \\\"quotes\\\" and\\nnewlines, as tools print it. ";
