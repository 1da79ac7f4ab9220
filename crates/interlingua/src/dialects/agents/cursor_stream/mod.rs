//! The stdout of a running Cursor CLI (`cursor-agent -p … --output-format stream-json`), with or without partial output. The
//! lines resemble Claude Code's, with calls outside the messages.

mod read;
mod tools;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::Head;
use crate::tape::Kind;

/// Cursor CLI, printed.
pub static DIALECT: Dialect = Dialect {
    name: "cursor-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Cursor CLI printed output (cursor-agent -p … --output-format stream-json)",
    detected_by: "an `init` line with `apiKeySource` and without `tools`; `tool_call` lines with `call_id`",
    flavour_of: None,
    // The stream does not name the provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::CursorStreamReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    // Claude Code and Qwen Code number their lines.
    if !line.has_str("session_id") || line.get("uuid").is_some() {
        return None;
    }
    let is_object = |name| line.get(name).is_some_and(|member| member.kind() == Kind::Object);
    let score = match line.str_or_empty("type") {
        "system" if is_head(head) => 10,
        "tool_call" if line.has_str("subtype") && is_object("tool_call") => 10,
        "thinking" if line.has_str("subtype") => 8,
        "assistant" if line.has_kind("timestamp_ms", Kind::Number) => 6,
        // Claude Code prints the same lines with more members.
        "assistant" | "user" if is_object("message") && line.get("parent_tool_use_id").is_none() => 1,
        "result" if line.has_str("subtype") && line.get("num_turns").is_none() => 1,
        _ => return None,
    };
    Some((Role::Live, score))
}

/// Whether the document is the first line of the stream: Claude Code lists its tools there.
pub(in crate::dialects) fn is_head(head: &Head<'_>) -> bool {
    let line = head.doc;
    line.str_or_empty("subtype") == "init" && line.has_str("apiKeySource") && line.get("tools").is_none()
}
