//! Logs of the other agents: unanswered calls, results in the wrong order, very many items of one kind.

use std::fmt::Write as _;

use super::joined;
use crate::generate::logs::log_of;

/// The head of a generated log, so that the lines after it belong to a session.
fn headed(dialect: &str) -> String {
    let mut out = Vec::new();
    if let Some(shape) = log_of(dialect) {
        shape.piece(0, &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn late(
    dialect: &str,
    count: usize,
    call: impl Fn(usize) -> String,
    result: impl Fn(usize) -> String,
) -> Vec<u8> {
    let mut out = headed(dialect);
    (0..count).for_each(|number| _ = writeln!(out, "{}", call(number)));
    (0..count).rev().for_each(|number| _ = writeln!(out, "{}", result(number)));
    out.into_bytes()
}

/// Copilot CLI: calls whose results come in reverse order.
pub fn copilot_late_results(count: usize) -> Vec<u8> {
    late(
        "copilot-cli",
        count,
        |number| {
            format!(
                r#"{{"type":"assistant.message","data":{{"messageId":"m{number}","content":"","toolRequests":[{{"toolCallId":"c{number}","name":"bash","arguments":{{}},"type":"function"}}]}},"id":"a{number}","timestamp":"2026-11-15T00:00:01.000Z","parentId":null}}"#
            )
        },
        |number| {
            format!(
                r#"{{"type":"tool.execution_complete","data":{{"toolCallId":"c{number}","success":true,"result":{{"content":"ok"}}}},"id":"b{number}","timestamp":"2026-11-15T00:00:02.000Z","parentId":null}}"#
            )
        },
    )
}

/// Copilot CLI: subagents that have started and not finished.
pub fn copilot_subagents(count: usize) -> Vec<u8> {
    late(
        "copilot-cli",
        count,
        |number| {
            format!(
                r#"{{"type":"subagent.started","data":{{"toolCallId":"c{number}","agentName":"explore","agentDisplayName":"Explore"}},"id":"a{number}","timestamp":"2026-11-15T00:00:01.000Z","parentId":null}}"#
            )
        },
        |number| {
            format!(
                r#"{{"type":"subagent.completed","data":{{"toolCallId":"c{number}","agentName":"explore"}},"id":"b{number}","timestamp":"2026-11-15T00:00:02.000Z","parentId":null}}"#
            )
        },
    )
}

/// Qwen Code: calls whose results come in reverse order.
pub fn qwen_late_results(count: usize) -> Vec<u8> {
    let line = |kind: &str, id: &str, message: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":null,"sessionId":"11111111-2222-4333-8444-555555555555","timestamp":"2026-11-15T00:00:01.000Z","type":"{kind}","cwd":"/tmp","version":"0.24.4","message":{message}}}"#
        )
    };
    late(
        "qwen-code",
        count,
        |number| {
            let message = format!(
                r#"{{"role":"model","parts":[{{"functionCall":{{"id":"c{number}","name":"f","args":{{}}}}}}]}}"#
            );
            line("assistant", &format!("a{number}"), &message)
        },
        |number| {
            let message = format!(
                r#"{{"role":"user","parts":[{{"functionResponse":{{"id":"c{number}","name":"f","response":{{"output":"ok"}}}}}}]}}"#
            );
            line("tool_result", &format!("b{number}"), &message)
        },
    )
}

/// Kimi CLI: calls whose results come in reverse order.
pub fn kimi_late_results(count: usize) -> Vec<u8> {
    late(
        "kimi-cli",
        count,
        |number| {
            format!(
                r#"{{"timestamp": 1.5, "message": {{"type": "ToolCall", "payload": {{"type": "function", "id": "c{number}", "function": {{"name": "f", "arguments": "{{}}"}}, "extras": null}}}}}}"#
            )
        },
        |number| {
            format!(
                r#"{{"timestamp": 2.5, "message": {{"type": "ToolResult", "payload": {{"tool_call_id": "c{number}", "return_value": {{"is_error": false, "output": "ok", "message": "", "display": [], "extras": null}}}}}}}}"#
            )
        },
    )
}

/// Kimi Code: calls of one step whose results come in reverse order.
pub fn kimi_code_late_results(count: usize) -> Vec<u8> {
    let line = |event: &str| {
        format!(
            r#"{{"type":"context.append_loop_event","agentId":"main","event":{event},"time":1794821500009}}"#
        )
    };
    late(
        "kimi-code",
        count,
        |number| {
            line(&format!(
                r#"{{"type":"tool.call","uuid":"u{number}","turnId":"0","step":1,"stepUuid":"s1","toolCallId":"c{number}","name":"f","args":{{}}}}"#
            ))
        },
        |number| {
            line(&format!(
                r#"{{"type":"tool.result","parentUuid":"u{number}","toolCallId":"c{number}","result":{{"output":"ok"}}}}"#
            ))
        },
    )
}

/// Kimi Code: one step with very many parts.
pub fn kimi_code_parts(count: usize) -> Vec<u8> {
    let mut out = headed("kimi-code");
    out += "{\"type\":\"context.append_loop_event\",\"agentId\":\"main\",\"event\":{\"type\":\"step.begin\",\"uuid\":\"s1\",\"turnId\":\"0\",\"step\":1},\"time\":1794821500009}\n";
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"type":"context.append_loop_event","agentId":"main","event":{{"type":"content.part","uuid":"p{number}","turnId":"0","step":1,"stepUuid":"s1","part":{{"type":"text","text":"part {number}"}}}},"time":1794821500009}}"#
        );
    }
    out.into_bytes()
}

/// Pi: calls whose results come in reverse order.
pub fn pi_late_results(count: usize) -> Vec<u8> {
    late(
        "pi",
        count,
        |number| {
            format!(
                r#"{{"type":"message","id":"a{number}","parentId":null,"timestamp":"2026-11-15T00:00:01.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c{number}","name":"read","arguments":{{}}}}],"api":"x","provider":"p","model":"m","stopReason":"toolUse","timestamp":1}}}}"#
            )
        },
        |number| {
            format!(
                r#"{{"type":"message","id":"b{number}","parentId":null,"timestamp":"2026-11-15T00:00:02.000Z","message":{{"role":"toolResult","toolCallId":"c{number}","toolName":"read","content":[{{"type":"text","text":"ok"}}],"isError":false,"timestamp":2}}}}"#
            )
        },
    )
}

/// Cursor: one message with very many calls, none with an id.
pub fn cursor_calls(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(r#"{{"type":"tool_use","name":"Read","input":{{"path":"f{number}"}}}}"#)
    });
    format!("{}{{\"role\":\"assistant\",\"message\":{{\"content\":[{calls}]}}}}\n", headed("cursor"))
        .into_bytes()
}

/// Gemini CLI: one response with very many calls and their results, written twice as it grows.
pub fn gemini_calls(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(
            r#"{{"id":"c{number}","name":"f","args":{{}},"result":[{{"functionResponse":{{"id":"c{number}","name":"f","response":{{"output":"ok"}}}}}}],"status":"success","timestamp":"2026-11-15T00:00:01.000Z"}}"#
        )
    });
    let answer = |more: &str| {
        format!(
            "{{\"id\":\"g1\",\"timestamp\":\"2026-11-15T00:00:01.000Z\",\"type\":\"gemini\",\"content\":\"so\",\"model\":\"m\"{more}}}\n"
        )
    };
    let calls = format!(",\"toolCalls\":[{calls}]");
    format!("{GEMINI}{}{}", answer(""), answer(&calls)).into_bytes()
}

/// Gemini CLI: after each prompt the session is rewound to the first.
pub fn gemini_rewinds(count: usize) -> Vec<u8> {
    let mut out = GEMINI.to_owned();
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"id":"u{number}","timestamp":"2026-11-15T00:00:01.000Z","type":"user","content":[{{"text":"prompt {number}"}}]}}"#
        );
        out += "{\"$rewindTo\":\"u0\"}\n";
    }
    out.into_bytes()
}

/// Gemini CLI: very many prompts, then the whole history again.
pub fn gemini_history(count: usize) -> Vec<u8> {
    let prompt = |number: usize| {
        format!(
            r#"{{"id":"u{number}","timestamp":"2026-11-15T00:00:01.000Z","type":"user","content":[{{"text":"prompt {number}"}}]}}"#
        )
    };
    let mut out = GEMINI.to_owned();
    (0..count).for_each(|number| _ = writeln!(out, "{}", prompt(number)));
    let _ = writeln!(out, r#"{{"$set":{{"messages":[{}]}}}}"#, joined(count, prompt));
    out.into_bytes()
}

const GEMINI: &str = "{\"sessionId\":\"1\",\"projectHash\":\"5f\",\"startTime\":\"2026-11-15T00:00:00.000Z\",\"lastUpdated\":\"2026-11-15T00:00:00.000Z\",\"kind\":\"main\"}\n";

/// Amp: a thread with very many minimal elements.
pub fn amp_tiny_elements(count: usize) -> Vec<u8> {
    format!(r#"{{"v":1,"id":"T-1","created":1,"messages":[{}]}}"#, joined(count, |_| "0".to_owned()))
        .into_bytes()
}

/// Amp: one message with very many calls, and the results in reverse order in the next message.
pub fn amp_late_results(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(r#"{{"type":"tool_use","complete":true,"id":"c{number}","name":"Read","input":{{}}}}"#)
    });
    let results = joined(count, |number| {
        let number = count - 1 - number;
        format!(
            r#"{{"type":"tool_result","toolUseID":"c{number}","run":{{"status":"done","result":{{"output":"ok","exitCode":0}}}}}}"#
        )
    });
    format!(
        r#"{{"v":1,"id":"T-1","created":1,"messages":[{{"role":"assistant","messageId":0,"content":[{calls}],"state":{{"type":"complete","stopReason":"tool_use"}}}},{{"role":"user","messageId":1,"content":[{results}]}}]}}"#
    )
    .into_bytes()
}

/// `opencode`: very many sessions in one file, each with a message.
pub fn opencode_sessions(count: usize) -> Vec<u8> {
    let mut out = String::new();
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"info":{{"id":"ses_{number}","slug":"s","projectID":"global","directory":"/tmp","title":"t","version":"1.1.44","time":{{"created":1,"updated":2}}}},"messages":[{{"info":{{"id":"msg_{number}","sessionID":"ses_{number}","role":"user","time":{{"created":1}}}},"parts":[{{"id":"prt_{number}","sessionID":"ses_{number}","messageID":"msg_{number}","type":"text","text":"go"}}]}}]}}"#
        );
    }
    out.into_bytes()
}

/// `opencode`: the parts of very many messages, followed by the messages in reverse order.
pub fn opencode_late_messages(count: usize) -> Vec<u8> {
    let mut out = String::new();
    for number in 0..count {
        let _ = writeln!(
            out,
            r#"{{"id":"prt_{number}","sessionID":"ses_1","messageID":"msg_{number}","type":"text","text":"part {number}"}}"#
        );
    }
    for number in (0..count).rev() {
        let _ = writeln!(
            out,
            r#"{{"id":"msg_{number}","sessionID":"ses_1","role":"user","time":{{"created":1}},"agent":"build","model":{{"providerID":"p","modelID":"m"}}}}"#
        );
    }
    out.into_bytes()
}

/// `opencode`: a deeply nested document.
pub fn opencode_deep(count: usize) -> Vec<u8> {
    format!(
        "{{\"id\":\"prt_1\",\"sessionID\":\"ses_1\",\"messageID\":\"msg_1\",\"type\":\"text\",\"text\":\"x\",\"metadata\":{}1{}}}\n",
        "[".repeat(count),
        "]".repeat(count)
    )
    .into_bytes()
}

/// `opencode`: an export with a text of this many bytes, including escapes, over several lines.
pub fn opencode_long_text(count: usize) -> Vec<u8> {
    format!(
        "{{\n  \"info\": {{\"id\": \"ses_1\", \"directory\": \"/tmp\", \"version\": \"1\", \"time\": {{\"created\": 1}}}},\n  \"messages\": [\n    {{\n      \"info\": {{\"id\": \"msg_1\", \"sessionID\": \"ses_1\", \"role\": \"user\", \"time\": {{\"created\": 1}}}},\n      \"parts\": [{{\"id\": \"prt_1\", \"sessionID\": \"ses_1\", \"messageID\": \"msg_1\", \"type\": \"text\", \"text\": \"{}\"}}]\n    }}\n  ]\n}}\n",
        "so it goes\\n\\\"on\\\" ".repeat(count / 18)
    )
    .into_bytes()
}
