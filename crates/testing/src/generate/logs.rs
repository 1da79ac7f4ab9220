//! Generated logs of every agent, of any length: the same number yields the same piece. Each log follows the format of
//! its program: prompts, reasoning, calls, results and usage, each with its own ids, in pieces of about a kilobyte.

use super::{PROSE, claude_line, codex_line};

/// A generated log of one program.
#[derive(Debug)]
pub struct LogShape {
    /// The dialect.
    pub dialect: &'static str,
    /// The variant, if the dialect has several.
    pub form: &'static str,
    /// How the pieces form a log.
    pub pieces: LogPieces,
    /// The text before the first piece.
    head: &'static str,
    /// Writes a piece, without separators.
    piece: fn(u64) -> String,
}

/// How a log is composed of its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPieces {
    /// Each piece is a line.
    Lines,
    /// Each piece is a document with its own newlines.
    Documents,
    /// All pieces are elements of a list in one document, which ends with this text.
    Elements(&'static str),
}

impl LogShape {
    /// The name of the shape.
    pub fn name(&self) -> String {
        if self.form.is_empty() {
            self.dialect.to_owned()
        } else {
            format!("{} ({})", self.dialect, self.form)
        }
    }

    /// Appends the piece with that number, and the head before the first piece.
    pub fn piece(&self, number: u64, out: &mut Vec<u8>) {
        if number == 0 {
            out.extend_from_slice(self.head.as_bytes());
        }
        let text = (self.piece)(number);
        match self.pieces {
            LogPieces::Lines => out.extend_from_slice(text.as_bytes()),
            LogPieces::Documents => out.extend_from_slice(indented(&text, 0).as_bytes()),
            LogPieces::Elements(_) => {
                out.extend_from_slice(if number == 0 { b"\n    " } else { b",\n    " });
                out.extend_from_slice(indented(&text, 2).as_bytes());
                return;
            }
        }
        out.push(b'\n');
    }

    /// Appends the text after the last piece.
    pub fn tail(&self, out: &mut Vec<u8>) {
        if let LogPieces::Elements(tail) = self.pieces {
            out.extend_from_slice(tail.as_bytes());
        }
    }

    /// A log with this many pieces.
    pub fn log(&self, pieces: u64) -> Vec<u8> {
        let mut out = Vec::new();
        (0..pieces).for_each(|number| self.piece(number, &mut out));
        self.tail(&mut out);
        out
    }

    /// The documents of a log with this many pieces, each with the whitespace after it.
    pub fn documents(&self, pieces: u64) -> Vec<String> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match self.pieces {
            LogPieces::Elements(_) => vec![text(self.log(pieces))],
            LogPieces::Lines => text(self.log(pieces)).split_inclusive('\n').map(str::to_owned).collect(),
            LogPieces::Documents => {
                let each = (0..pieces).map(|number| indented(&(self.piece)(number), 0) + "\n");
                let head = (!self.head.is_empty()).then(|| self.head.to_owned());
                head.into_iter().chain(each).collect()
            }
        }
    }
}

/// The logs of all agents.
pub const LOGS: &[LogShape] = &[
    LogShape { dialect: "claude-code", form: "", pieces: LogPieces::Lines, head: "", piece: claude },
    LogShape { dialect: "codex", form: "", pieces: LogPieces::Lines, head: "", piece: codex },
    LogShape { dialect: "pi", form: "", pieces: LogPieces::Lines, head: PI_HEAD, piece: pi },
    LogShape {
        dialect: "amp",
        form: "",
        pieces: LogPieces::Elements("\n  ],\n  \"~debug\": {}\n}\n"),
        head: AMP_HEAD,
        piece: amp,
    },
    LogShape {
        dialect: "copilot-cli",
        form: "",
        pieces: LogPieces::Lines,
        head: COPILOT_HEAD,
        piece: copilot,
    },
    LogShape { dialect: "cursor", form: "", pieces: LogPieces::Lines, head: "", piece: cursor },
    LogShape {
        dialect: "gemini-cli",
        form: "document",
        pieces: LogPieces::Elements("\n  ]\n}\n"),
        head: GEMINI_DOCUMENT,
        piece: gemini,
    },
    LogShape {
        dialect: "gemini-cli",
        form: "lines",
        pieces: LogPieces::Lines,
        head: GEMINI_HEAD,
        piece: gemini_line,
    },
    LogShape { dialect: "qwen-code", form: "", pieces: LogPieces::Lines, head: "", piece: qwen },
    LogShape { dialect: "kimi-cli", form: "wire", pieces: LogPieces::Lines, head: KIMI_HEAD, piece: kimi },
    LogShape {
        dialect: "kimi-cli",
        form: "context",
        pieces: LogPieces::Lines,
        head: KIMI_CONTEXT,
        piece: kimi_context,
    },
    LogShape {
        dialect: "kimi-code",
        form: "",
        pieces: LogPieces::Lines,
        head: KIMI_CODE_HEAD,
        piece: kimi_code,
    },
    LogShape {
        dialect: "opencode",
        form: "storage",
        pieces: LogPieces::Documents,
        head: OPENCODE_PROJECT,
        piece: opencode,
    },
    LogShape {
        dialect: "opencode",
        form: "export",
        pieces: LogPieces::Elements("\n  ]\n}\n"),
        head: OPENCODE_EXPORT,
        piece: opencode_message,
    },
    LogShape { dialect: "opencode", form: "run", pieces: LogPieces::Lines, head: "", piece: opencode_run },
];

/// The first log shape of a dialect.
pub fn log_of(dialect: &str) -> Option<&'static LogShape> {
    LOGS.iter().find(|shape| shape.dialect == dialect)
}

fn line(write: fn(u64, &mut Vec<u8>), number: u64) -> String {
    let mut out = Vec::new();
    write(number, &mut out);
    String::from_utf8_lossy(out.trim_ascii_end()).into_owned()
}

fn claude(number: u64) -> String {
    line(claude_line, number)
}

fn codex(number: u64) -> String {
    line(codex_line, number)
}

const PI_HEAD: &str = r#"{"type":"session","version":3,"id":"5c0ffee0-0000-7000-8000-000000000003","timestamp":"2026-11-15T09:00:00.000Z","cwd":"/tmp/project"}
{"type":"model_change","id":"f0000000","parentId":null,"timestamp":"2026-11-15T09:00:00.010Z","provider":"anthropic","modelId":"claude-sonnet-4-5"}
"#;

fn pi(number: u64) -> String {
    let (step, text, time) = (number / 4, PROSE, clock(number));
    let stamp = millis(number);
    let parent = number.checked_sub(1).map_or("f0000000".to_owned(), |before| format!("{before:08x}"));
    let said = format!(
        r#""api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{{"input":400,"output":{},"cacheRead":600,"cacheWrite":10,"totalTokens":1060,"cost":{{"input":0.0012,"output":0.00075,"cacheRead":0.00018,"cacheWrite":0.00003,"total":0.00216}}}}"#,
        number % 500
    );
    let message = match number % 4 {
        0 => format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"{}"}}],"timestamp":{stamp}}}"#,
            text.repeat(5)
        ),
        1 => format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"{}","thinkingSignature":"c2lnbmF0dXJl"}},{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"toolu_{step:08x}","name":"read","arguments":{{"path":"src/file_{step}.rs","limit":200}}}}],{said},"stopReason":"toolUse","timestamp":{stamp},"responseId":"msg_{step:08x}"}}"#,
            text.repeat(3)
        ),
        2 => format!(
            r#"{{"role":"toolResult","toolCallId":"toolu_{step:08x}","toolName":"read","content":[{{"type":"text","text":"{}"}}],"isError":false,"timestamp":{stamp}}}"#,
            text.repeat(16)
        ),
        _ => format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}],{said},"stopReason":"stop","timestamp":{stamp}}}"#,
            text.repeat(4)
        ),
    };
    format!(
        r#"{{"type":"message","id":"{number:08x}","parentId":"{parent}","timestamp":"{time}","message":{message}}}"#
    )
}

const AMP_HEAD: &str = "{\n  \"v\": 108,\n  \"id\": \"T-01a1de5f-5cc4-75fc-8438-92c6c937e14d\",\n  \"created\": 1772618400000,\n  \"messages\": [";

fn amp(number: u64) -> String {
    let (step, text) = (number / 4, PROSE);
    let usage = format!(
        r#""usage":{{"model":"claude-opus-5-5","maxInputTokens":168000,"inputTokens":400,"outputTokens":{},"cacheCreationInputTokens":100,"cacheReadInputTokens":500,"totalInputTokens":1000,"timestamp":"{}"}}"#,
        number % 500,
        clock(number)
    );
    match number % 4 {
        0 => format!(
            r#"{{"role":"user","messageId":{number},"content":[{{"type":"text","text":"{}"}}],"userState":{{"currentlyVisibleFiles":[]}},"agentMode":"smart","meta":{{"sentAt":{}}}}}"#,
            text.repeat(5),
            millis(number)
        ),
        1 => format!(
            r#"{{"role":"assistant","messageId":{number},"content":[{{"type":"thinking","thinking":"{}","signature":"c2lnbmF0dXJl","provider":"anthropic"}},{{"type":"text","text":"{text}"}},{{"type":"tool_use","complete":true,"id":"toolu_{step:08x}","name":"Bash","input":{{"cmd":"sed -n 1,80p src/file_{step}.rs","cwd":"/tmp/project"}}}}],"state":{{"type":"complete","stopReason":"tool_use"}},{usage}}}"#,
            text.repeat(3)
        ),
        2 => format!(
            r#"{{"role":"user","messageId":{number},"content":[{{"type":"tool_result","toolUseID":"toolu_{step:08x}","run":{{"status":"done","result":{{"output":"{}","exitCode":0}}}}}}]}}"#,
            text.repeat(16)
        ),
        _ => format!(
            r#"{{"role":"assistant","messageId":{number},"content":[{{"type":"text","text":"{}"}}],"state":{{"type":"complete","stopReason":"end_turn"}},{usage}}}"#,
            text.repeat(4)
        ),
    }
}

const COPILOT_HEAD: &str = r#"{"type":"session.start","data":{"sessionId":"11111111-2222-4333-8444-555555555555","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-11-15T00:00:00.000Z","selectedModel":"gpt-5.5","contextTier":null,"context":{"cwd":"/tmp/project","gitRoot":"/tmp/project","branch":"main"},"alreadyInUse":false,"remoteSteerable":false},"id":"ffffffff-0000-4000-8000-000000000000","timestamp":"2026-11-15T00:00:00.000Z","parentId":null}
"#;

fn copilot(number: u64) -> String {
    let (step, text) = (number / 7, PROSE);
    let place = format!(r#""interactionId":"a0fb3efc-9aab-413a-bd78-3a4266d755c2","turnId":"{step}""#);
    let arguments = format!(r#"{{"command":"sed -n 1,80p src/file_{step}.rs","description":"Read"}}"#);
    let (kind, data) = match number % 7 {
        0 => (
            "user.message",
            format!(
                r#"{{"content":"{said}","transformedContent":"<current_datetime>{}</current_datetime>\n\n{said}","messageId":"{}",{place}}}"#,
                clock(number),
                uuid(number),
                said = text.repeat(3)
            ),
        ),
        1 => ("assistant.turn_start", format!("{{{place}}}")),
        2 => (
            "session.usage_record",
            format!(
                r#"{{"usage":{{"model":"gpt-5.5","inputTokens":1001,"outputTokens":{},"cacheReadTokens":100,"cacheWriteTokens":0,"reasoningTokens":7,"cost":0.0,"duration":17,"initiator":"user","isByok":true,"maxPromptTokens":128000,"transport":"http","requestBodyBytes":48060,"apiCallId":"resp_{step:08x}","apiEndpoint":"/responses"}}}}"#,
                number % 500
            ),
        ),
        3 => (
            "assistant.message",
            format!(
                r#"{{"messageId":"{}","model":"gpt-5.5","content":"{}","toolRequests":[{{"toolCallId":"call_{step:08x}","name":"bash","arguments":{arguments},"type":"function","toolTitle":"Running command"}}],{place},"reasoningText":"{}","apiCallId":"resp_{step:08x}"}}"#,
                uuid(number),
                text.repeat(3),
                text.repeat(2)
            ),
        ),
        4 => (
            "tool.execution_start",
            format!(
                r#"{{"toolCallId":"call_{step:08x}","toolName":"bash","arguments":{arguments},"turnId":"{step}","model":"gpt-5.5","toolTitle":"Running command"}}"#
            ),
        ),
        5 => (
            "tool.execution_complete",
            format!(
                r#"{{"toolCallId":"call_{step:08x}","model":"gpt-5.5",{place},"shellExecution":{{"exitCode":0}},"success":true,"result":{{"content":"{}"}},"toolTelemetry":{{"properties":{{"executionMode":"sync","detached":"false"}},"metrics":{{"context_token_limit":128000.0,"context_current_tokens":10370.0}}}}}}"#,
                text.repeat(24)
            ),
        ),
        _ => ("assistant.turn_end", format!(r#"{{"turnId":"{step}"}}"#)),
    };
    let parent = number.checked_sub(1).map_or("ffffffff-0000-4000-8000-000000000000".to_owned(), uuid);
    format!(
        r#"{{"type":"{kind}","data":{data},"id":"{}","timestamp":"{}","parentId":"{parent}"}}"#,
        uuid(number),
        clock(number)
    )
}

fn cursor(number: u64) -> String {
    let (step, text) = (number / 4, PROSE);
    match number % 4 {
        0 => format!(
            r#"{{"role":"user","message":{{"content":[{{"type":"text","text":"<timestamp>Thursday, Aug 6, 2026, 3:53 PM (UTC+5:30)</timestamp>\n<user_query>\n{}\n</user_query>"}}]}}}}"#,
            text.repeat(6)
        ),
        1 => format!(
            r#"{{"role":"assistant","message":{{"content":[{{"type":"text","text":"{}"}},{{"type":"tool_use","name":"Read","input":{{"path":"/tmp/project/src/file_{step}.rs","limit":200}}}},{{"type":"tool_use","name":"Shell","input":{{"command":"wc -l src/file_{step}.rs","description":"Count"}}}}]}}}}"#,
            text.repeat(8)
        ),
        2 => format!(
            r#"{{"role":"assistant","message":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
            text.repeat(24)
        ),
        _ => r#"{"type":"turn_ended","status":"success"}"#.to_owned(),
    }
}

const GEMINI_DOCUMENT: &str = "{\n  \"sessionId\": \"33333333-4444-4555-8666-777777777777\",\n  \"projectHash\": \"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd\",\n  \"startTime\": \"2026-11-15T00:00:00.000Z\",\n  \"lastUpdated\": \"2026-11-15T12:00:00.000Z\",\n  \"messages\": [";

fn gemini(number: u64) -> String {
    if number.is_multiple_of(2) { gemini_prompt(number) } else { gemini_answer(number, number / 2, true) }
}

fn gemini_prompt(number: u64) -> String {
    format!(
        r#"{{"id":"{}","timestamp":"{}","type":"user","content":[{{"text":"{}"}}]}}"#,
        uuid(number),
        clock(number),
        PROSE.repeat(5)
    )
}

fn gemini_answer(id: u64, step: u64, called: bool) -> String {
    let (text, time) = (PROSE, clock(id));
    let calls = if called {
        format!(
            r#","toolCalls":[{{"id":"read_file__{step:08x}_0","name":"read_file","args":{{"file_path":"src/file_{step}.rs"}},"result":[{}],"status":"success","timestamp":"{time}","resultDisplay":"","displayName":"ReadFile","description":"src/file_{step}.rs","renderOutputAsMarkdown":true}}]"#,
            gemini_result(step)
        )
    } else {
        String::new()
    };
    format!(
        r#"{{"id":"{}","timestamp":"{time}","type":"gemini","content":"{}","thoughts":[{{"subject":"Looking around","description":"{text}","timestamp":"{time}"}}],"tokens":{{"input":1001,"output":{},"cached":100,"thoughts":7,"tool":0,"total":1029}},"model":"gemini-3.8-flash"{calls}}}"#,
        uuid(id),
        text.repeat(3),
        step % 500,
    )
}

fn gemini_result(step: u64) -> String {
    format!(
        r#"{{"functionResponse":{{"id":"read_file__{step:08x}_0","name":"read_file","response":{{"output":"{}"}}}}}}"#,
        PROSE.repeat(12)
    )
}

const GEMINI_HEAD: &str = r#"{"sessionId":"11111111-2222-4333-8444-555555555555","projectHash":"5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f","startTime":"2026-11-15T00:00:00.000Z","lastUpdated":"2026-11-15T00:00:00.000Z","kind":"main"}
"#;

/// A response is written again when its calls are done; the results are then also written as a message of the user.
fn gemini_line(number: u64) -> String {
    let (step, answer) = (number / 6, number / 6 * 6 + 1);
    match number % 6 {
        0 => gemini_prompt(number),
        1 => gemini_answer(answer, step, false),
        2 | 5 => format!(r#"{{"$set":{{"lastUpdated":"{}"}}}}"#, clock(number)),
        3 => gemini_answer(answer, step, true),
        _ => format!(
            r#"{{"id":"{}","timestamp":"{}","type":"user","content":[{}]}}"#,
            uuid(number),
            clock(number),
            gemini_result(step)
        ),
    }
}

fn qwen(number: u64) -> String {
    let (step, text, time) = (number / 5, PROSE, clock(number));
    let usage = format!(
        r#""usageMetadata":{{"promptTokenCount":1003,"candidatesTokenCount":{},"thoughtsTokenCount":7,"totalTokenCount":1056,"cachedContentTokenCount":200}}"#,
        number % 500
    );
    let (kind, provenance, rest) = match number % 5 {
        0 => (
            "user",
            "real_user",
            format!(r#""message":{{"role":"user","parts":[{{"text":"{}"}}]}}"#, text.repeat(5)),
        ),
        1 => (
            "system",
            "system",
            format!(
                r#""subtype":"ui_telemetry","systemPayload":{{"uiEvent":{{"event.name":"qwen-code.api_response","event.timestamp":"{time}","response_id":"chatcmpl-{step:08x}","model":"qwen4-coder","status_code":200,"duration_ms":900,"input_token_count":1003,"output_token_count":51,"cached_content_token_count":200,"thoughts_token_count":7,"total_token_count":1056,"response_text":"{text}","prompt_id":"11111111-2222-4333-8444-555555555555########0","auth_type":"openai"}}}}"#
            ),
        ),
        2 => (
            "assistant",
            "assistant_output",
            format!(
                r#""model":"qwen4-coder","message":{{"role":"model","parts":[{{"text":"{}","thought":true}},{{"text":"{text}"}},{{"functionCall":{{"id":"call_{step:08x}","name":"read_file","args":{{"file_path":"/tmp/project/src/file_{step}.rs"}}}}}}]}},{usage}"#,
                text.repeat(3)
            ),
        ),
        3 => (
            "system",
            "system",
            format!(
                r#""subtype":"ui_telemetry","systemPayload":{{"uiEvent":{{"event.name":"qwen-code.tool_call","event.timestamp":"{time}","call_id":"call_{step:08x}","function_name":"read_file","function_args":{{"file_path":"/tmp/project/src/file_{step}.rs"}},"duration_ms":110,"status":"success","execution_status":"success","success":true,"decision":"auto_accept","prompt_id":"11111111-2222-4333-8444-555555555555########0","response_id":"chatcmpl-{step:08x}","tool_type":"native","content_length":12}}}}"#
            ),
        ),
        _ => (
            "tool_result",
            "tool_result",
            format!(
                r#""message":{{"role":"user","parts":[{{"functionResponse":{{"id":"call_{step:08x}","name":"read_file","response":{{"output":"{}"}}}}}}]}},"toolCallResult":{{"callId":"call_{step:08x}","status":"success","resultDisplay":"","executionStatus":"success"}}"#,
                text.repeat(16)
            ),
        ),
    };
    let parent = number.checked_sub(1).map_or("null".to_owned(), |before| format!("\"{}\"", uuid(before)));
    format!(
        r#"{{"uuid":"{}","parentUuid":{parent},"sessionId":"11111111-2222-4333-8444-555555555555","timestamp":"{time}","type":"{kind}","provenance":"{provenance}","cwd":"/tmp/project","version":"0.24.4","gitBranch":"main",{rest}}}"#,
        uuid(number)
    )
}

const KIMI_HEAD: &str = "{\"type\": \"metadata\", \"protocol_version\": \"1.10\"}\n";

fn kimi(number: u64) -> String {
    let (step, text) = (number / 7, PROSE);
    let (kind, payload) = match number % 7 {
        0 => ("TurnBegin", format!(r#"{{"user_input": "{}"}}"#, text.repeat(5))),
        1 => ("StepBegin", r#"{"n": 1}"#.to_owned()),
        2 => (
            "ContentPart",
            format!(r#"{{"type": "think", "think": "{}", "encrypted": null}}"#, text.repeat(4)),
        ),
        3 => ("ContentPart", format!(r#"{{"type": "text", "text": "{}"}}"#, text.repeat(4))),
        4 => (
            "ToolCall",
            format!(
                r#"{{"type": "function", "id": "call_{step:08x}", "function": {{"name": "ReadFile", "arguments": "{{\"path\": \"/tmp/project/src/file_{step}.rs\"}}"}}, "extras": null}}"#
            ),
        ),
        5 => (
            "StatusUpdate",
            format!(
                r#"{{"context_usage": 0.007890625, "context_tokens": 1010, "max_context_tokens": 128000, "token_usage": {{"input_other": 410, "output": {}, "input_cache_read": 600, "input_cache_creation": 0}}, "message_id": "chatcmpl-{step:08x}", "plan_mode": false, "mcp_status": null}}"#,
                number % 500
            ),
        ),
        _ => (
            "ToolResult",
            format!(
                r#"{{"tool_call_id": "call_{step:08x}", "return_value": {{"is_error": false, "output": "{}", "message": "{text}", "display": [], "extras": null}}}}"#,
                text.repeat(24)
            ),
        ),
    };
    format!(
        r#"{{"timestamp": {}.{:03}, "message": {{"type": "{kind}", "payload": {payload}}}}}"#,
        1_794_821_451 + number / 1_000,
        number % 1_000
    )
}

const KIMI_CONTEXT: &str =
    "{\"role\": \"_system_prompt\", \"content\": \"You are an agent that helps with code.\"}\n";

fn kimi_context(number: u64) -> String {
    let (step, text) = (number / 5, PROSE);
    match number % 5 {
        0 => format!(r#"{{"role": "_checkpoint", "id": {step}}}"#),
        1 => format!(r#"{{"role":"user","content":"{}"}}"#, text.repeat(6)),
        2 => format!(
            r#"{{"role":"assistant","content":[{{"type":"think","think":"{}","encrypted":null}},{{"type":"text","text":"{text}"}}],"tool_calls":[{{"type":"function","id":"call_{step:08x}","function":{{"name":"ReadFile","arguments":"{{\"path\": \"/tmp/project/src/file_{step}.rs\"}}"}}}}]}}"#,
            text.repeat(4)
        ),
        3 => format!(r#"{{"role": "_usage", "token_count": {}}}"#, 1_000 + step),
        _ => format!(
            r#"{{"role":"tool","content":[{{"type":"text","text":"<system>80 lines read from file.</system>"}},{{"type":"text","text":"{}"}}],"tool_call_id":"call_{step:08x}"}}"#,
            text.repeat(20)
        ),
    }
}

const KIMI_CODE_HEAD: &str = r#"{"type":"metadata","protocol_version":"1.5","created_at":1794821500000}
{"type":"config.update","agentId":"main","modelAlias":"kimi-k2","profileName":"agent","thinkingLevel":"high","environmentDisclosure":{"cwd":"/tmp/project"},"time":1794821500001}
"#;

fn kimi_code(number: u64) -> String {
    let (step, text, time) = (number / 8, PROSE, millis(number));
    let at = format!(r#""turnId":"0","step":{step},"stepUuid":"{}""#, uuid(step * 8 + 1));
    let event = match number % 8 {
        0 => {
            return format!(
                r#"{{"type":"context.append_message","agentId":"main","message":{{"role":"user","content":[{{"type":"text","text":"{}"}}],"id":"msg_{step:08x}","toolCalls":[],"origin":{{"kind":"user"}}}},"time":{time}}}"#,
                text.repeat(5)
            );
        }
        2 => {
            return format!(
                r#"{{"type":"llm.request","agentId":"main","kind":"loop","provider":"kimi","model":"kimi-k2-0905","modelAlias":"kimi-k2","thinkingEffort":"high","maxTokens":262144,"toolSelect":false,"messageCount":{number},"turnStep":"0.{step}","time":{time}}}"#
            );
        }
        1 => format!(r#"{{"type":"step.begin","uuid":"{}","turnId":"0","step":{step}}}"#, uuid(number)),
        3 => format!(
            r#"{{"type":"content.part","uuid":"{}",{at},"part":{{"type":"think","think":"{}","reasoningKey":"reasoning_content"}}}}"#,
            uuid(number),
            text.repeat(4)
        ),
        4 => format!(
            r#"{{"type":"content.part","uuid":"{}",{at},"part":{{"type":"text","text":"{}"}}}}"#,
            uuid(number),
            text.repeat(4)
        ),
        5 => format!(
            r#"{{"type":"tool.call","uuid":"{}",{at},"toolCallId":"call_{step:08x}","name":"Read","args":{{"path":"/tmp/project/src/file_{step}.rs"}},"display":{{"kind":"file_io","operation":"read","path":"/tmp/project/src/file_{step}.rs"}}}}"#,
            uuid(number)
        ),
        6 => format!(
            r#"{{"type":"tool.result","parentUuid":"{}","toolCallId":"call_{step:08x}","result":{{"output":"{}","note":"<system>80 lines read.</system>","durationMs":17}}}}"#,
            uuid(number - 1),
            text.repeat(24)
        ),
        _ => format!(
            r#"{{"type":"step.end","uuid":"{}","turnId":"0","step":{step},"finishReason":"tool_use","usage":{{"inputOther":410,"output":{},"inputCacheRead":600,"inputCacheCreation":0}},"llmFirstTokenLatencyMs":56,"llmStreamDurationMs":35,"messageId":"chatcmpl-{step:08x}","providerFinishReason":"tool_calls","rawFinishReason":"tool_calls"}}"#,
            uuid(step * 8 + 1),
            number % 500
        ),
    };
    format!(r#"{{"type":"context.append_loop_event","agentId":"main","event":{event},"time":{time}}}"#)
}

const OPENCODE_PROJECT: &str = "{\n  \"id\": \"c387ae0c45859f241b82f03beba884dfed805718\",\n  \"worktree\": \"/tmp/project\",\n  \"vcs\": \"git\",\n  \"time\": {\n    \"created\": 1770738109100\n  }\n}\n";
const OPENCODE_EXPORT: &str = "{\n  \"info\": {\n    \"id\": \"ses_1\",\n    \"slug\": \"hidden-sailor\",\n    \"projectID\": \"global\",\n    \"directory\": \"/tmp/project\",\n    \"title\": \"A title\",\n    \"version\": \"1.18.33\",\n    \"time\": {\n      \"created\": 1794826875914,\n      \"updated\": 1794826887749\n    }\n  },\n  \"messages\": [";
const OPENCODE_TOKENS: &str =
    r#""tokens":{"input":400,"output":30,"reasoning":20,"cache":{"write":0,"read":600}},"cost":0.00056"#;

/// A part of a message with five parts: step start, reasoning, text, a call with its result, step finish.
fn opencode_part(step: u64, part: u64) -> String {
    let (text, time) = (PROSE, millis(step));
    let rest = match part {
        0 => r#""type":"step-start","snapshot":"c0d7ab7052c1""#.to_owned(),
        1 => format!(
            r#""type":"reasoning","text":"{}","time":{{"start":{time},"end":{time}}},"metadata":{{"anthropic":{{"signature":"c2lnbmF0dXJl"}}}}"#,
            text.repeat(3)
        ),
        2 => format!(r#""type":"text","text":"{}","time":{{"start":{time},"end":{time}}}"#, text.repeat(4)),
        3 => format!(
            r#""type":"tool","callID":"call_{step:08x}","tool":"bash","state":{{"status":"completed","input":{{"command":"sed -n 1,80p src/file_{step}.rs","description":"Read"}},"output":"{}","title":"Read","metadata":{{"exit":0,"truncated":false}},"time":{{"start":{time},"end":{time}}}}}"#,
            text.repeat(24)
        ),
        _ => format!(
            r#""type":"step-finish","reason":"tool-calls","snapshot":"5f0c3f0e7c0b",{OPENCODE_TOKENS}"#
        ),
    };
    format!(r#"{{"id":"prt_{step:08x}{part}","sessionID":"ses_1","messageID":"msg_{step:08x}",{rest}}}"#)
}

fn opencode_info(step: u64) -> String {
    let before = step.saturating_sub(1);
    format!(
        r#"{{"id":"msg_{step:08x}","sessionID":"ses_1","role":"assistant","time":{{"created":{time},"completed":{time}}},"parentID":"msg_{before:08x}","modelID":"claude-opus-5-5","providerID":"anthropic","mode":"build","agent":"build","path":{{"cwd":"/tmp/project","root":"/tmp/project"}},{OPENCODE_TOKENS},"finish":"tool-calls"}}"#,
        time = millis(step)
    )
}

/// The parts of a message come before the message.
fn opencode(number: u64) -> String {
    let (step, part) = (number / 6, number % 6);
    if part < 5 { opencode_part(step, part) } else { opencode_info(step) }
}

fn opencode_message(number: u64) -> String {
    if number.is_multiple_of(2) {
        return format!(
            r#"{{"info":{{"role":"user","time":{{"created":{}}},"agent":"build","model":{{"providerID":"anthropic","modelID":"claude-opus-5-5"}},"id":"msg_{number:08x}","sessionID":"ses_1"}},"parts":[{{"type":"text","text":"{}","id":"prt_{number:08x}","sessionID":"ses_1","messageID":"msg_{number:08x}"}}]}}"#,
            millis(number),
            PROSE.repeat(5)
        );
    }
    let parts: Vec<String> = (0..5).map(|part| opencode_part(number, part)).collect();
    format!(r#"{{"info":{},"parts":[{}]}}"#, opencode_info(number), parts.join(","))
}

fn opencode_run(number: u64) -> String {
    let (step, part) = (number / 5, number % 5);
    let kind = ["step_start", "reasoning", "text", "tool_use", "step_finish"][(number % 5) as usize];
    format!(
        r#"{{"type":"{kind}","timestamp":{},"sessionID":"ses_1","part":{}}}"#,
        millis(number),
        opencode_part(step, part)
    )
}

fn uuid(number: u64) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn millis(number: u64) -> u64 {
    1_794_821_500_000 + number
}

/// A time of day for a piece.
fn clock(number: u64) -> String {
    format!(
        "2026-11-15T{:02}:{:02}:{:02}.{:03}Z",
        number / 3_600_000 % 24,
        number / 60_000 % 60,
        number / 1_000 % 60,
        number % 1_000
    )
}

/// JSON with each member on a separate line, as programs write readable files; `depth` is the initial nesting level.
fn indented(json: &str, mut depth: usize) -> String {
    let mut out = String::with_capacity(json.len() * 3 / 2);
    let (mut in_string, mut escaped, mut opened) = (false, false, false);
    for c in json.chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        let closes = matches!(c, '}' | ']');
        if closes {
            depth -= 1;
        }
        if opened != closes && (opened || closes) {
            new_line(&mut out, depth);
        }
        opened = matches!(c, '{' | '[');
        out.push(c);
        match c {
            '{' | '[' => depth += 1,
            ',' => new_line(&mut out, depth),
            ':' => out.push(' '),
            '"' => in_string = true,
            _ => {}
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}
