//! Small documents with words that no fixture contains, so that each word is tested in its place.

use interlingua::dialects::{Dialect, Role};

use crate::support::Case;

pub(crate) fn probes() -> Vec<Case> {
    PROBES
        .iter()
        .enumerate()
        .map(|(number, (dialect, role, text))| Case {
            way: (Dialect::named(dialect).expect("registered"), *role),
            name: format!("probe {number}"),
            path: std::path::PathBuf::from(format!("probe-{number}")),
            bytes: text.trim_start().as_bytes().to_vec(),
            made_from: None,
        })
        .collect()
}

const PROBES: &[(&str, Role, &str)] = &[
    // The origins of lines.
    (
        "claude-code",
        Role::Log,
        r#"
{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/w","origin":{"kind":"human"},"message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/w","origin":{"kind":"agent"},"message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/w","origin":{"kind":"peer"},"message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","cwd":"/w","origin":{"kind":"task"},"message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"u5","parentUuid":"u4","sessionId":"s","cwd":"/w","origin":{"kind":"task_notification"},"message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"u6","parentUuid":"u5","sessionId":"s","cwd":"/w","origin":{"kind":"hook"},"message":{"role":"user","content":"hi"}}
"#,
    ),
    // A permission for the whole session, by its scope and by its author.
    (
        "claude-code",
        Role::Log,
        r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","uuid":"u1","parentUuid":"a1","sessionId":"s","cwd":"/w","permissionDecision":{"decision":"accept","source":"user","grantScope":"session"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}
"#,
    ),
    (
        "claude-code",
        Role::Log,
        r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","uuid":"u1","parentUuid":"a1","sessionId":"s","cwd":"/w","permissionDecision":{"decision":"allow","source":"user_session"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}
"#,
    ),
    // File changes.
    (
        "claude-code",
        Role::Log,
        r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/w/f","content":"a"}}]}}
{"type":"user","uuid":"u1","parentUuid":"a1","sessionId":"s","cwd":"/w","toolUseResult":{"type":"create","filePath":"/w/f","content":"a","structuredPatch":[]},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}
{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/w","toolUseResult":{"type":"update","filePath":"/w/f","content":"a","structuredPatch":[]},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}
{"type":"agent-name","agentName":"a title","sessionId":"s"}
{"type":"progress","uuid":"p1","parentUuid":"u2","sessionId":"s","cwd":"/w","toolUseID":"t1","parentToolUseID":"t1","data":{"type":"skill_progress","agentId":"g","message":{"type":"user","uuid":"q","message":{"role":"user","content":"inner"}}}}
"#,
    ),
    // Input to Qwen Code that was not typed, and messages for the screen.
    (
        "qwen-code",
        Role::Log,
        r#"
{"uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"user","subtype":"realtime_message","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[{"text":"hi"}]}}
{"uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"user","subtype":"cron","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[{"text":"hi"}]}}
{"uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"user","provenance":"real_user","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[{"text":"hi"}]}}
"#,
    ),
    (
        "qwen-code",
        Role::Log,
        r#"
{"uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"system","subtype":"ui_telemetry","cwd":"/w","version":"0.24.4","systemPayload":{"uiEvent":{"event.name":"tool_call","call_id":"c","function_name":"f","decision":"accept","duration_ms":3,"response_id":"r","status_code":429,"error_message":"no","error_type":"t"}}}
"#,
    ),
    (
        "qwen-code",
        Role::Log,
        r#"
{"uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"system","subtype":"ui_telemetry","cwd":"/w","version":"0.24.4","systemPayload":{"uiEvent":{"event.name":"api_error","status_code":429,"error_message":"no","error_type":"t"}}}
{"uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"system","subtype":"ui_telemetry","cwd":"/w","version":"0.24.4","systemPayload":{"uiEvent":{"event.name":"api_response","response_id":"r","input_token_count":1,"output_token_count":2}}}
{"uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-11-16T09:00:05.000Z","type":"assistant","cwd":"/w","version":"0.24.4","model":"m","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2},"message":{"role":"model","parts":[{"text":"hi"}]}}
"#,
    ),
    // The origins of Kimi Code messages.
    (
        "kimi-code",
        Role::Log,
        r#"
{"type":"metadata","protocol_version":"1.4","created_at":1794731803390}
{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"a"}],"id":"m1","toolCalls":[],"origin":{"kind":"hook_result"}},"time":1794731803391}
{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"b"}],"id":"m2","toolCalls":[],"origin":{"kind":"background_task"}},"time":1794731803392}
{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"c"}],"id":"m3","toolCalls":[],"origin":{"kind":"cron_job"}},"time":1794731803393}
{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"d"}],"id":"m4","toolCalls":[],"origin":{"kind":"cron_missed"}},"time":1794731803394}
"#,
    ),
    // Subagents of Codex, with each word for their start.
    (
        "codex",
        Role::Log,
        r#"
{"timestamp":"2026-04-02T08:00:00.000Z","type":"session_meta","payload":{"id":"019d1000-0000-7000-8000-00000000000a","timestamp":"2026-04-02T08:00:00.000Z","cwd":"/w","originator":"codex","cli_version":"1"}}
{"timestamp":"2026-04-02T08:00:01.000Z","type":"event_msg","payload":{"type":"sub_agent_activity","kind":"spawned","agent_thread_id":"019d1000-0001-7000-8000-00000000000c","agent_path":"/a"}}
{"timestamp":"2026-04-02T08:00:02.000Z","type":"event_msg","payload":{"type":"item_completed","thread_id":"019d1000-0000-7000-8000-00000000000a","turn_id":"1","item":{"type":"CollabAgentToolCall","id":"c1","tool":"spawn","receiver_thread_ids":["019d1000-0001-7000-8000-00000000000d"]}}}
{"timestamp":"2026-04-02T08:00:03.000Z","type":"event_msg","payload":{"type":"item_completed","thread_id":"019d1000-0000-7000-8000-00000000000a","turn_id":"1","item":{"type":"CollabAgentToolCall","id":"c2","tool":"spawnAgent","receiver_thread_ids":["019d1000-0001-7000-8000-00000000000e"]}}}
{"timestamp":"2026-04-02T08:00:04.000Z","type":"event_msg","payload":{"type":"agent_reasoning_raw_content","text":"hm"}}
{"timestamp":"2026-04-02T08:00:04.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}}
"#,
    ),
    // File changes in OpenCode.
    (
        "opencode",
        Role::Log,
        r#"
{"info":{"id":"ses_1","slug":"s","version":"1","projectID":"p","directory":"/w","title":"t","time":{"created":1,"updated":2},"summary":{"diffs":[{"file":"a","status":"deleted"},{"file":"b","status":"added"}]}},"messages":[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"unknown","modelID":"unknown"},"summary":{"diffs":[{"file":"a","status":"deleted"}]}},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}]},{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1,"completed":2},"parentID":"msg_1","modelID":"m","providerID":"p","mode":"build","path":{"cwd":"/w","root":"/"},"cost":0,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"patch","state":{"status":"completed","input":{},"output":"ok","title":"t","metadata":{"files":[{"filePath":"/w/a","type":"move","diff":"d"}]},"time":{"start":1,"end":2}}},{"id":"prt_3","sessionID":"ses_1","messageID":"msg_2","type":"unreadable","raw":"{x"}]}]}
"#,
    ),
    // A row of Cursor's database that holds no JSON.
    (
        "cursor-db",
        Role::Log,
        r#"
{"composer":{"composerId":"c"},"bubbles":[{"bubbleId":"a","type":1,"text":"hi"},{"bubbleId":"b","type":"unreadable","raw":"{x"}]}
"#,
    ),
    // A row of Crush's database whose parts are no list, and a result without a call.
    (
        "crush",
        Role::Log,
        r#"
{"crush":{"id":"c"},"rows":[{"id":"a","role":"user","parts":"torn ["},{"id":"b","role":"tool","parts":[{"type":"tool_result","data":{"tool_call_id":"x","content":"no call","is_error":true}}]}]}
"#,
    ),
    // Printed output of OpenCode, which `--from opencode` reads as a log.
    ("opencode", Role::Log, include_str!("../../fixtures/agents/opencode_stream/2026-11/shapes.jsonl")),
    ("opencode", Role::Log, include_str!("../../fixtures/agents/opencode_stream/2026-11/tools.jsonl")),
    ("opencode", Role::Log, include_str!("../../fixtures/agents/opencode_stream/2026-11/api-error.jsonl")),
    // A cache mark and a file in the content of a record, each alone, so that their words are told apart.
    (
        "record",
        Role::Log,
        r#"
{"version":"3.0.0-draft","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"assistant","id":"a","content":[{"type":"cache","cache":{"kind":"ephemeral","lifetime":"5m"}}]}]}}
"#,
    ),
    (
        "record",
        Role::Log,
        r#"
{"version":"3.0.0-draft","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"assistant","id":"a","content":[{"type":"file","path":"a","action":"edit"}]}]}}
"#,
    ),
    // Facts of a session that its log does not hold.
    (
        "record",
        Role::Log,
        r#"
{"version":"3.0.0-draft","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"vendor-ext":{"vendor":"interlingua","data":{"unrecorded":"times"}},"entries":[{"type":"user","content":"hi"}]}}
"#,
    ),
    // A failed result within a message of a record.
    (
        "record",
        Role::Log,
        r#"
{"version":"3.0.0-draft","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"assistant","id":"a","children":[{"type":"tool-result","call-id":"c","status":"failed","output":"no"},{"type":"tool-result","call-id":"d","status":"success","output":"yes"}]}]}}
"#,
    ),
    // Notices of Copilot CLI that repeat a call.
    (
        "copilot-cli",
        Role::Log,
        r#"
{"type":"external_tool.requested","data":{"requestId":"r","toolCallId":"t","toolName":"x","arguments":{"a":1}},"id":"c1","timestamp":"2026-03-04T10:00:13.000Z","parentId":null}
"#,
    ),
    // A question to the user that is withdrawn.
    (
        "claude-stream",
        Role::Live,
        r#"
{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"m","tools":[]}
{"type":"control_request","request_id":"r0","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":{"plan":"p"}}}
{"type":"control_cancel_request","request_id":"r0"}
{"type":"system","subtype":"session_title_changed","session_id":"s","title":"new"}
"#,
    ),
    // Turns of Cursor that ended with an error, and lines that resemble system messages.
    (
        "cursor",
        Role::Log,
        r#"
{"role":"user","message":{"content":[{"type":"text","text":"hi"}]}}
{"type":"turn_ended","status":"error","error":"abort"}
{"type":"turn_ended","status":"error","error":"model failed"}
{"type":"system","text":"x"}
{"type":"developer","text":"x"}
"#,
    ),
    // Parts that only some servers of the chat API accept.
    (
        "openai-chat",
        Role::Request,
        r#"
{"model":"m","messages":[{"role":"user","content":[{"type":"document_url","document_url":"https://x/a.pdf","document_name":"n"},{"type":"file_url","file_url":{"url":"https://x/a.txt"}},{"type":"video_url","video_url":{"url":"https://x/a.mov"}},{"type":"input_text","text":"i"},{"type":"output_text","text":"o"}]},{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"t"}]},{"role":"assistant","content":"x","reasoning":"a","reasoning_opaque":"o"},{"role":"assistant","content":"y","reasoning_text":"b"},{"role":"user","content":"z"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"any","thinking":{"type":"disabled"}}
"#,
    ),
    (
        "openai-chat",
        Role::Response,
        r#"
{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.summary","summary":"s","index":0},{"type":"reasoning.encrypted","data":"d","index":0}],"annotations":[{"type":"url_citation","url_citation":{"url":"https://x","title":"t","start_index":0,"end_index":1}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}
"#,
    ),
    // Interleaved thinking, and a tool that is marked as the client's own.
    (
        "anthropic",
        Role::Request,
        r#"
{"model":"claude-opus-5-5","max_tokens":64000,"thinking":{"type":"between_tools"},"tools":[{"type":"custom","name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AAAA"}},{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"AAAA"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"AAAA"}}]}]}
"#,
    ),
    (
        "anthropic",
        Role::Request,
        r#"
{"model":"claude-sonnet-4-5","max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[{"role":"user","content":"x"}]}
"#,
    ),
    // A prompt that was refused without a reason, and schemas in Google's spelling.
    (
        "gemini",
        Role::Response,
        r#"{"promptFeedback":{"blockReason":"BLOCKED_REASON_UNSPECIFIED"},"modelVersion":"m"}"#,
    ),
    ("gemini", Role::Response, r#"{"promptFeedback":{"blockReason":"SAFETY"},"modelVersion":"m"}"#),
    (
        "universal",
        Role::Live,
        r#"
{"event_id":"e1","sequence":1,"time":"2026-02-20T10:00:15.555Z","session_id":"s","native_session_id":"s","synthetic":false,"source":"agent","type":"session.ended","data":{"reason":"terminated","terminated_by":"agent"},"raw":null}
"#,
    ),
    // Items, pieces, settings and error codes of the app server that no fixture has.
    (
        "codex-app-server",
        Role::Live,
        r#"
{"method":"thread/started","params":{"thread":{"id":"t1","cwd":"/w","createdAt":1,"updatedAt":1}}}
{"id":"a","method":"turn/start","params":{"threadId":"t1","input":[{"type":"text","text":"go"},{"type":"image","url":"https://x/y.png"},{"type":"audio","fileId":"file-1"},{"type":"localImage","path":"/w/p.png"},{"type":"localAudio","path":"/w/p.wav"}],"approvalPolicy":"on-request"}}
{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1","items":[],"status":"inProgress"}}}
{"id":"b","method":"turn/steer","params":{"threadId":"t1","input":[{"type":"text","text":"and more"}]}}
{"method":"thread/name/updated","params":{"threadId":"t1","threadName":"a title"}}
{"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"model":"m","cwd":"/w","approvalPolicy":"never"}}}
{"method":"item/started","params":{"threadId":"t1","turnId":"u1","item":{"type":"reasoning","id":"r1","summary":[],"content":[]}}}
{"method":"item/reasoning/textDelta","params":{"threadId":"t1","turnId":"u1","itemId":"r1","delta":"piece","contentIndex":0}}
{"method":"item/started","params":{"threadId":"t1","turnId":"u1","item":{"type":"plan","id":"p1","text":""}}}
{"method":"item/plan/delta","params":{"threadId":"t1","turnId":"u1","itemId":"p1","delta":"piece"}}
{"method":"item/started","params":{"threadId":"t1","turnId":"u1","item":{"type":"commandExecution","id":"c1","command":"ls","cwd":"/w","status":"inProgress"}}}
{"method":"item/commandExecution/outputDelta","params":{"threadId":"t1","turnId":"u1","itemId":"c1","delta":"piece"}}
{"method":"item/started","params":{"threadId":"t1","turnId":"u1","item":{"type":"fileChange","id":"f1","changes":[],"status":"inProgress"}}}
{"method":"item/fileChange/outputDelta","params":{"threadId":"t1","turnId":"u1","itemId":"f1","delta":"piece"}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"mcpToolCall","id":"m1","server":"s","tool":"t","arguments":{"a":1},"status":"completed","result":{"content":[{"type":"text","text":"done"}]}}}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"dynamicToolCall","id":"m2","tool":"t","arguments":{"a":1},"status":"failed","contentItems":[{"type":"inputText","text":"no"}],"success":false}}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"functionCallOutput","id":"m3","name":"f","output":"text"}}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"imageGeneration","id":"m4","status":"completed","revisedPrompt":"a cat","result":"iVBORw0="}}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"imageView","id":"m5","path":"/w/p.png"}}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"sleep","id":"m6","durationMs":5}}}
{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"collabAgentToolCall","id":"m7","tool":"spawnAgent","status":"completed","senderThreadId":"t1","receiverThreadIds":["t2"],"prompt":"look"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"activeTurnNotSteerable"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"badRequest"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"contextWindowExceeded"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"cyberPolicy"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"flexUnavailable"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"inferenceHookDenied"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"internalServerError"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"misalignmentPolicyViolation"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"modelNotFound"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"policyCapacityUnavailable"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"rateLimitExceeded"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"serverOverloaded"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"sessionBudgetExceeded"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"tooManyDenials"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"unauthorized"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":"usageLimitExceeded"}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":null}}}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":{"responseStreamConnectionFailed":{"httpStatusCode":null}}}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}}}
{"method":"error","params":{"threadId":"t1","turnId":"u1","willRetry":true,"error":{"message":"no","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":null}}}}}
"#,
    ),
    // Decisions of older clients.
    (
        "codex-app-server",
        Role::Live,
        r#"
{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1","itemId":"c0","command":"ls","cwd":"/w"}}
{"id":0,"result":{"decision":"abort"}}
{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1","itemId":"c1","command":"ls","cwd":"/w"}}
{"id":1,"result":{"decision":"timed_out"}}
{"id":2,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1","itemId":"c2","command":"ls","cwd":"/w"}}
{"id":2,"result":{"decision":{"denied":{"rejection":"no"}}}}
"#,
    ),
    // Tools of `codex exec` that did not run.
    (
        "codex-exec",
        Role::Live,
        r#"
{"type":"thread.started","thread_id":"t1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1},"status":"declined"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"interrupted"}}
"#,
    ),
    // Dialogs, changes of the session and streamed calls of Pi.
    (
        "pi-stream",
        Role::Live,
        r#"
{"type":"session","version":3,"id":"s1","timestamp":"2026-11-16T09:00:00Z","cwd":"/w"}
{"type":"agent_start"}
{"type":"message_start","message":{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","timestamp":1}}
{"type":"message_update","assistantMessageEvent":{"type":"start"}}
{"type":"message_update","assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}}]}}}
{"type":"message_update","assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{}"}}
{"type":"message_update","assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"c1","name":"ls","arguments":{}}}}
{"type":"compaction_end","reason":"manual","result":{"summary":"short","firstKeptEntryId":"e1","tokensBefore":9}}
{"type":"session_info_changed","name":"a title"}
{"type":"thinking_level_changed","level":"high"}
{"type":"extension_ui_request","id":"q1","method":"select","title":"Which?","options":["Blue","Green"]}
{"type":"extension_ui_response","id":"q1","value":"Blue"}
{"type":"extension_ui_request","id":"q2","method":"confirm","title":"Sure?","message":"It deletes."}
{"type":"extension_ui_response","id":"q2","confirmed":true}
{"type":"extension_ui_request","id":"q3","method":"editor","title":"Write"}
{"type":"extension_ui_response","id":"q3","cancelled":true}
{"type":"extension_ui_request","id":"q4","method":"notify","message":"hello"}
{"type":"extension_ui_request","id":"q5","method":"setStatus","statusKey":"k","statusText":"busy"}
{"type":"extension_ui_request","id":"q6","method":"setWidget","widgetKey":"k"}
{"type":"extension_ui_request","id":"q7","method":"setTitle","title":"t"}
{"type":"extension_ui_request","id":"q8","method":"set_editor_text","text":"x"}
{"id":"r1","type":"prompt","message":"begin"}
{"id":"r2","type":"steer","message":"turn left"}
{"id":"r3","type":"follow_up","message":"and then"}
"#,
    ),
    // Edits and deletions of Cursor.
    (
        "cursor-stream",
        Role::Live,
        r#"
{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/w","session_id":"s","model":"m","permissionMode":"default"}
{"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":{"editToolCall":{"args":{"path":"f"},"result":{"success":{"diffString":"-a\\n+b"}}}},"session_id":"s"}
{"type":"tool_call","subtype":"completed","call_id":"c2","tool_call":{"deleteToolCall":{"args":{"path":"f"},"result":{"success":{}}}},"session_id":"s"}
"#,
    ),
    // Errors and warnings of Gemini CLI.
    (
        "gemini-stream",
        Role::Live,
        r#"
{"type":"init","timestamp":"2026-11-16T09:00:00Z","session_id":"s","model":"m"}
{"type":"error","timestamp":"2026-11-16T09:00:01Z","severity":"error","message":"it broke"}
{"type":"error","timestamp":"2026-11-16T09:00:02Z","severity":"warning","message":"it may break"}
"#,
    ),
    // Parts and lines that OpenCode does not print today.
    (
        "opencode-stream",
        Role::Live,
        r#"
{"type":"retry","timestamp":1794730065000,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"busy","statusCode":529}}}}
{"type":"compaction","timestamp":1794730065001,"sessionID":"ses_1","part":{"id":"prt_2","messageID":"msg_1","type":"compaction","auto":true}}
{"type":"file","timestamp":1794730065002,"sessionID":"ses_1","part":{"id":"prt_3","messageID":"msg_1","type":"file","mime":"image/png","url":"data:image/png;base64,aGk=","filename":"a.png"}}
{"type":"system","timestamp":1794730065003,"sessionID":"ses_1","text":"hm"}
{"type":"developer","timestamp":1794730065004,"sessionID":"ses_1","text":"hm"}
"#,
    ),
    // Requests to OpenCode's server.
    (
        "opencode-events",
        Role::Input,
        r#"
{"method":"POST","path":"/session","body":{"title":"t"}}
{"method":"GET","path":"/session/ses_1","body":null}
{"method":"POST","path":"/session/ses_1/prompt_async","body":{"parts":[{"type":"text","text":"hi"}]}}
{"method":"POST","path":"/session/ses_1/abort","body":{}}
"#,
    ),
    // A heartbeat.
    (
        "opencode-events",
        Role::Live,
        r#"
data: {"id":"evt_1","type":"server.connected","properties":{}}

data: {"id":"evt_2","type":"server.heartbeat","properties":{}}

"#,
    ),
    // Blocks, options and form fields of ACP that no fixture has.
    (
        "acp",
        Role::Live,
        r#"
{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":"k"}}
{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"file:///w/a","mimeType":"image/png","blob":"iVBORw0="}},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}]}}
{"jsonrpc":"2.0","id":3,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"ls"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"Never","kind":"reject_always"}]}}
{"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}
{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","title":"Count"},"m":{"type":"number","title":"Size"}}}}}
{"jsonrpc":"2.0","id":4,"result":{"action":"accept","content":{"n":3,"m":1.5}}}
"#,
    ),
];
