//! The stdout of a running Claude Code (`--output-format stream-json`), with or without partial messages, and the
//! control protocol. Content blocks are those of the Messages API; see [`super::messages`].

mod control;
mod line;
mod partial;
pub(super) mod read;
mod support;
mod write;

use crate::dialects::agents::cursor_stream;
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::live::input::InputWriter;
use crate::model::issuers;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Kind, Val};

/// Claude Code, live.
pub static DIALECT: Dialect = Dialect {
    name: "claude-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Claude Code live output (claude -p --output-format stream-json)",
    detected_by: "lines with `session_id` beside `type` and what only Claude Code prints there; `stream_event` and `control_request` lines",
    flavour_of: None,
    issuer: Some(issuers::ANTHROPIC),
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::LiveReader::new(&read::CLAUDE))),
            write: None,
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            // A transcript may hold both directions; the line types differ, so one reader handles both.
            read: Some(|_| Box::new(read::LiveReader::new(&read::CLAUDE))),
            write: Some(WriteSpec {
                make: |options| Box::new(InputWriter::new(write::StdinInput::default(), options)),
                support: support::support,
            }),
        },
    ],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let kind = line.get("type")?.str()?;
    let session = line.has_str("session_id");
    let any = |holder: Val<'_>, names: &[&str]| names.iter().any(|name| holder.get(name).is_some());
    // Amp and Qwen Code print lines of the same form with fewer members, so few lines identify Claude Code.
    let score = match kind.as_escaped() {
        "control_request" if line.has_kind("request", Kind::Object) && line.has_str("request_id") => 6,
        "control_response" if line.has_kind("response", Kind::Object) => 6,
        _ if !session => return None,
        // Amp prints lines of this form for its threads.
        _ if line.str_or_empty("session_id").starts_with("T-") => RULED_OUT,
        // The first lines of Qwen Code and of Cursor, whose later lines resemble Claude Code's.
        "system" if line.has_str("qwen_code_version") || cursor_stream::is_head(head) => RULED_OUT,
        // Claude Code has calls within messages.
        "tool_call" if line.has_str("subtype") => RULED_OUT,
        "system" if line.has_str("claude_code_version") || line.has_str("apiKeySource") => 10,
        "system" if line.has_str("subtype") && line.str_or_empty("subtype") != "init" => 4,
        "stream_event" if line.get("event").is_some_and(|event| event.has_str("type")) => {
            if any(line, &["api_message_id", "ttft_ms"]) { 10 } else { 4 }
        }
        "result" if any(line, &["modelUsage", "total_cost_usd"]) => 8,
        "assistant" | "user" => {
            let message = line.get("message")?;
            let own = ["request_id", "timestamp", "tool_use_result", "isSynthetic", "isReplay"];
            if any(line, &own) || message.get("stop_sequence").is_some() { 5 } else { 2 }
        }
        "system" | "result" => 2,
        _ => return None,
    };
    Some((Role::Live, score))
}
