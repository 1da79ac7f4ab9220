//! Pi's session logs: one JSON document a line, a tree by `parentId`.

pub(super) mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Kind, Val};

/// Session logs of Pi.
pub static DIALECT: Dialect = Dialect {
    name: "pi",
    module: module_path!(),
    plane: Plane::Log,
    about: "Pi session logs (~/.pi/agent/sessions/…/*.jsonl)",
    detected_by: "a `session` line with `cwd`, and lines with `parentId` or a `message` beside their `type`",
    flavour_of: None,
    // Each message names its provider.
    issuer: None,
    lineage: Lineage::TreeToLastLine,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::PiReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::PiForm, options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnId,
        Field::StopReason,
        Field::Cost,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::FileDiff,
        Field::ResultDuration,
        Field::CompactionBefore,
        Field::CompactionKeptFrom,
        Field::NoticeType,
        Field::NoticeText,
        Field::ErrorMessage,
    ],
    sniff,
};

/// Scores a line with a message. Droid's lines have the same envelope around a different message: blocks of Anthropic's
/// API, and no time in milliseconds.
fn message_score(message: Val<'_>, is_linked: bool) -> Option<u32> {
    let foreign = |block: Val<'_>| matches!(block.str_or_empty("type"), "tool_use" | "tool_result");
    let content = message.get("content");
    if !message.has_str("role") || content.is_some_and(|content| content.elements().any(foreign)) {
        return None;
    }
    let is_own = message.has_kind("timestamp", Kind::Number) || message.has_str("provider");
    // Files of the first versions are no trees.
    Some(if is_linked && is_own { 10 } else { 3 })
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let is_timed = line.has_str("id") && line.has_str("timestamp");
    let is_linked = line.has_str("id") && (line.has_str("parentId") || line.has_kind("parentId", Kind::Null));
    let score = match line.str_or_empty("type") {
        "session" if is_timed && line.has_str("cwd") => 10,
        "model_change" | "thinking_level_change" | "branch_summary" | "custom_message" | "session_info"
            if is_linked =>
        {
            10
        }
        // Other tree-shaped logs have lines of the same types.
        "compaction" | "custom" | "label" if is_linked => 4,
        "message" => message_score(line.get("message")?, is_linked)?,
        // The first line of Droid's logs, whose later lines resemble Pi's; and the lines after the head of Pi's stream.
        "session_start" | "agent_start" | "turn_start" => RULED_OUT,
        _ => return None,
    };
    Some((Role::Log, score))
}
