//! Streamed responses of the model APIs.

use std::fmt::Write as _;

use super::joined;

/// A chat stream with this many calls open at once; the arguments of each come in three alternating chunks.
pub fn chat_open_calls(count: usize) -> Vec<u8> {
    let mut out = String::new();
    chat_chunk(&mut out, r#"{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}"#);
    for number in 0..count {
        chat_chunk(
            &mut out,
            &format!(
                r#"{{"index":0,"delta":{{"tool_calls":[{{"index":{number},"id":"call_{number}","type":"function","function":{{"name":"f","arguments":""}}}}]}},"finish_reason":null}}"#
            ),
        );
    }
    for piece in [r#"{\"a\":"#, "1", "}"] {
        for number in 0..count {
            chat_chunk(
                &mut out,
                &format!(
                    r#"{{"index":0,"delta":{{"tool_calls":[{{"index":{number},"function":{{"arguments":"{piece}"}}}}]}},"finish_reason":null}}"#
                ),
            );
        }
    }
    chat_chunk(&mut out, r#"{"index":0,"delta":{},"finish_reason":"tool_calls"}"#);
    out += "data: [DONE]\n\n";
    out.into_bytes()
}

/// A chat stream with one text in this many chunks.
pub fn chat_pieces(count: usize) -> Vec<u8> {
    let mut out = String::new();
    for _ in 0..count {
        chat_chunk(
            &mut out,
            r#"{"index":0,"delta":{"role":"assistant","content":"and "},"finish_reason":null}"#,
        );
    }
    chat_chunk(&mut out, r#"{"index":0,"delta":{},"finish_reason":"stop"}"#);
    out += "data: [DONE]\n\n";
    out.into_bytes()
}

fn chat_chunk(out: &mut String, choice: &str) {
    let _ = write!(
        out,
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{choice}]}}\n\n"
    );
}

/// A chat stream with one chunk of this many calls.
pub fn chat_calls_in_one_chunk(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(
            r#"{{"index":{number},"id":"call_{number}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#
        )
    });
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"tool_calls\":[{calls}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    )
    .into_bytes()
}

/// A Messages stream with one text in this many deltas.
pub fn anthropic_pieces(count: usize) -> Vec<u8> {
    let pieces = vec![r#"{"type":"text_delta","text":"and "}"#; count];
    anthropic_open_blocks(1, |_| r#"{"type":"text","text":""}"#.to_owned(), &pieces)
}

/// A Messages stream with one delta of this many bytes.
pub fn anthropic_long_piece(count: usize) -> Vec<u8> {
    let piece = format!(r#"{{"type":"text_delta","text":"{}"}}"#, "x".repeat(count));
    anthropic_open_blocks(1, |_| r#"{"type":"text","text":""}"#.to_owned(), &[&piece])
}

/// A Messages stream with this many calls open at once, whose deltas alternate.
pub fn anthropic_open_calls(count: usize) -> Vec<u8> {
    anthropic_open_blocks(
        count,
        |number| format!(r#"{{"type":"tool_use","id":"toolu_{number}","name":"f","input":{{}}}}"#),
        &[
            r#"{"type":"input_json_delta","partial_json":"{\"a\":"}"#,
            r#"{"type":"input_json_delta","partial_json":"1}"}"#,
        ],
    )
}

/// A Messages stream with this many texts open at once.
pub fn anthropic_open_texts(count: usize) -> Vec<u8> {
    anthropic_open_blocks(
        count,
        |_| r#"{"type":"text","text":""}"#.to_owned(),
        &[r#"{"type":"text_delta","text":"one "}"#, r#"{"type":"text_delta","text":"two "}"#],
    )
}

/// A Messages stream with this many thinking blocks open at once.
pub fn anthropic_open_thoughts(count: usize) -> Vec<u8> {
    anthropic_open_blocks(
        count,
        |_| r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned(),
        &[
            r#"{"type":"thinking_delta","thinking":"one "}"#,
            r#"{"type":"signature_delta","signature":"c2ln"}"#,
        ],
    )
}

fn anthropic_open_blocks(count: usize, block: impl Fn(usize) -> String, pieces: &[&str]) -> Vec<u8> {
    let mut out = String::new();
    let mut event = |kind: &str, rest: &str| {
        let _ = write!(out, "event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    };
    event("message_start", &format!(r#","message":{MESSAGE_START}"#));
    for number in 0..count {
        event("content_block_start", &format!(r#","index":{number},"content_block":{}"#, block(number)));
    }
    for piece in pieces {
        for number in 0..count {
            event("content_block_delta", &format!(r#","index":{number},"delta":{piece}"#));
        }
    }
    for number in 0..count {
        event("content_block_stop", &format!(r#","index":{number}"#));
    }
    event(
        "message_delta",
        r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}"#,
    );
    event("message_stop", "");
    out.into_bytes()
}

pub(super) const MESSAGE_START: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#;

/// A Messages stream that is mostly comments and pings.
pub fn anthropic_pings(count: usize) -> Vec<u8> {
    let mut out =
        format!("event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{MESSAGE_START}}}\n\n");
    for _ in 0..count {
        out += ": still here\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n";
    }
    out += "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    out.into_bytes()
}

/// A Messages stream with one event over this many `data:` lines.
pub fn anthropic_data_lines(count: usize) -> Vec<u8> {
    let mut out = format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{MESSAGE_START}}}\n\nevent: ping\ndata: {{\"type\":\"ping\"\n"
    );
    for number in 0..count {
        let _ = writeln!(out, "data: ,\"k{number}\":0");
    }
    out += "data: }\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    out.into_bytes()
}
