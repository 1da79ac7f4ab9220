//! Complete requests and responses of the model APIs.

use super::joined;

/// A request to the Messages API with this many messages.
pub fn anthropic_messages(count: usize) -> Vec<u8> {
    let messages = joined(count, |number| {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        format!(r#"{{"role":"{role}","content":"go on"}}"#)
    });
    anthropic_request("", &messages)
}

/// A request to the Messages API with this many tools.
pub fn anthropic_tools(count: usize) -> Vec<u8> {
    let tools = joined(count, |number| {
        format!(
            r#"{{"name":"tool_{number}","description":"a tool","input_schema":{{"type":"object","properties":{{}}}}}}"#
        )
    });
    anthropic_request(&format!(r#""tools":[{tools}],"#), r#"{"role":"user","content":"go"}"#)
}

/// A request to the Messages API with this many stop sequences.
pub fn anthropic_stops(count: usize) -> Vec<u8> {
    let stops = joined(count, |number| format!(r#""stop {number}""#));
    anthropic_request(&format!(r#""stop_sequences":[{stops}],"#), r#"{"role":"user","content":"go"}"#)
}

/// A request to the Messages API with this many blocks of system text.
pub fn anthropic_system(count: usize) -> Vec<u8> {
    let blocks = joined(count, |_| r#"{"type":"text","text":"be brief"}"#.to_owned());
    anthropic_request(&format!(r#""system":[{blocks}],"#), r#"{"role":"user","content":"go"}"#)
}

/// A request to the Messages API with this many calls in one turn, whose results come in reverse order.
pub fn anthropic_late_results(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(r#"{{"type":"tool_use","id":"toolu_{number}","name":"f","input":{{}}}}"#)
    });
    let results = joined(count, |number| {
        format!(r#"{{"type":"tool_result","tool_use_id":"toolu_{}","content":"ok"}}"#, count - 1 - number)
    });
    anthropic_request(
        "",
        &format!(
            r#"{{"role":"user","content":"go"}},{{"role":"assistant","content":[{calls}]}},{{"role":"user","content":[{results}]}}"#
        ),
    )
}

/// A request to the Messages API with one text of this many bytes.
pub fn anthropic_long_text(count: usize) -> Vec<u8> {
    anthropic_request("", &format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(count)))
}

fn anthropic_request(settings: &str, messages: &str) -> Vec<u8> {
    format!(r#"{{"model":"m","max_tokens":9,{settings}"messages":[{messages}]}}"#).into_bytes()
}

/// A response of the Messages API with this many calls.
pub fn anthropic_answer(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(
            r#"{{"type":"text","text":"now"}},{{"type":"tool_use","id":"toolu_{number}","name":"f","input":{{}}}}"#
        )
    });
    format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{calls}],"stop_reason":"tool_use","stop_sequence":null,"usage":{{"input_tokens":1,"output_tokens":1}}}}"#
    )
    .into_bytes()
}

/// A chat request with this many messages.
pub fn chat_messages(count: usize) -> Vec<u8> {
    chat_request(
        "",
        &joined(count, |number| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            format!(r#"{{"role":"{role}","content":"go on"}}"#)
        }),
    )
}

/// A chat request with this many system messages between the others.
pub fn chat_system_messages(count: usize) -> Vec<u8> {
    chat_request(
        "",
        &joined(count, |_| {
            r#"{"role":"user","content":"go on"},{"role":"system","content":"be brief"}"#.to_owned()
        }),
    )
}

/// A chat request with this many tools.
pub fn chat_tools(count: usize) -> Vec<u8> {
    let tools = joined(count, |number| {
        format!(
            r#"{{"type":"function","function":{{"name":"tool_{number}","description":"a tool","parameters":{{"type":"object","properties":{{}}}}}}}}"#
        )
    });
    chat_request(&format!(r#""tools":[{tools}],"#), r#"{"role":"user","content":"go"}"#)
}

/// A chat request with this many stop sequences.
pub fn chat_stops(count: usize) -> Vec<u8> {
    let stops = joined(count, |number| format!(r#""stop {number}""#));
    chat_request(&format!(r#""stop":[{stops}],"#), r#"{"role":"user","content":"go"}"#)
}

/// A chat request with this many calls in one message, whose results come in reverse order.
pub fn chat_late_results(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(r#"{{"id":"call_{number}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)
    });
    let results = joined(count, |number| {
        format!(r#"{{"role":"tool","tool_call_id":"call_{}","content":"ok"}}"#, count - 1 - number)
    });
    chat_request(
        "",
        &format!(
            r#"{{"role":"user","content":"go"}},{{"role":"assistant","content":null,"tool_calls":[{calls}]}},{results}"#
        ),
    )
}

fn chat_request(settings: &str, messages: &str) -> Vec<u8> {
    format!(r#"{{"model":"m",{settings}"messages":[{messages}]}}"#).into_bytes()
}

/// A chat response with this many calls.
pub fn chat_answer(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(r#"{{"id":"call_{number}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)
    });
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"now","tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
    )
    .into_bytes()
}
