//! Session logs of Droid: one JSON document a line, a message with content blocks of Anthropic's API in most lines.

mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Session logs of Droid.
pub static DIALECT: Dialect = Dialect {
    name: "droid",
    module: module_path!(),
    plane: Plane::Log,
    about: "Droid session logs (~/.factory/sessions/…/*.jsonl)",
    detected_by: "a `session_start` line with `cwd`, and `message` lines whose blocks are those of Anthropic's API",
    flavour_of: None,
    // Each thinking block names its provider.
    issuer: None,
    // A compaction line has no parent, and a rewound session is a file of its own.
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::DroidReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::DroidForm, options)),
            support: support::support,
        }),
    }],
    reads_more: &[Field::StopReason, Field::NoticeType],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let score = match line.str_or_empty("type") {
        "session_start" if line.has_str("id") && (line.has_str("cwd") || line.has_str("owner")) => 10,
        "agent_turn_outcome" if line.has_str("turnId") && line.has_str("reason") => 10,
        "compaction_state" if line.has_str("summaryText") => 10,
        "todo_state" if line.has_str("id") && line.get("todos").is_some() => 9,
        "message" if line.has_str("id") && line.has_str("timestamp") => message_score(line.get("message")?)?,
        _ => return None,
    };
    Some((Role::Log, score))
}

/// Scores a message. Pi's lines have the same envelope around a message with its own time, and other block types.
fn message_score(message: Val<'_>) -> Option<u32> {
    let content = message.get("content")?;
    let is_spoken = matches!(message.str_or_empty("role"), "user" | "assistant");
    let foreign = |block: Val<'_>| matches!(block.str_or_empty("type"), "toolCall" | "toolResult");
    let is_foreign =
        message.get("timestamp").is_some() || message.has_str("provider") || content.elements().any(foreign);
    if !is_spoken || is_foreign || content.kind() != Kind::Array {
        return None;
    }
    let own = |block: Val<'_>| {
        block.has_str("signatureProvider") || matches!(block.str_or_empty("type"), "tool_use" | "tool_result")
    };
    let is_own = message.has_str("modelId") || message.has_str("visibility") || content.elements().any(own);
    Some(if is_own { 9 } else { 3 })
}
