//! What a running Claude Code says on stdout (`--output-format stream-json`), with or without partial messages, and
//! the control protocol beside it. Content blocks are those of the Messages API; see [`super::messages`].

mod control;
mod line;
mod partial;
mod read;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::model::issuers;
use crate::sniff::Head;

/// Claude Code, live.
pub static DIALECT: Dialect = Dialect {
    name: "claude-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Claude Code live output (claude -p --output-format stream-json)",
    detected_by: "lines with `session_id` beside `type`, `stream_event` and `control_request` lines",
    issuer: Some(issuers::ANTHROPIC),
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::LiveReader::default())),
            write: None,
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            // A transcript may hold both directions, and the lines tell themselves apart.
            read: Some(|_| Box::new(read::LiveReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(write::StdinWriter::new(options)),
                says: says::says,
            }),
        },
    ],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let kind = line.get("type")?.str()?;
    let session = line.get("session_id").is_some();
    // Amp and Qwen Code print lines of the same form. Amp calls its sessions threads; Qwen says its version.
    if line.str_or_empty("session_id").starts_with("T-") || line.get("qwen_code_version").is_some() {
        return None;
    }
    let score = match kind.as_escaped() {
        "system" if line.get("claude_code_version").is_some() => 10,
        "stream_event" if session => 10,
        "control_request" | "control_response" if line.get("request").or(line.get("response")).is_some() => 6,
        "result" if session && line.get("modelUsage").is_some() => 8,
        "system" | "assistant" | "user" | "result" if session => 5,
        _ => return None,
    };
    Some((Role::Live, score))
}
