//! Session logs of Kimi CLI: the events sent to its user interface (`wire.jsonl`) and the messages sent to its model
//! (`context.jsonl`).

mod calls;
mod files;
pub(super) mod read;
mod support;
mod wire;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Kind, Val};

/// Session logs of Kimi CLI.
pub static DIALECT: Dialect = Dialect {
    name: "kimi-cli",
    module: module_path!(),
    plane: Plane::Log,
    about: "Kimi CLI session logs (~/.kimi/sessions/…/wire.jsonl and context.jsonl)",
    detected_by: "`message` with `type` and `payload` beside a number as `timestamp`, or a `role` that begins with `_`, or a part of type `think` in `content` beside `role`",
    flavour_of: None,
    // Kimi CLI uses several providers and its logs name none.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::KimiReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::KimiForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnId,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::ItemParentCall,
        Field::ItemTime,
        Field::FilePath,
        Field::FileDiff,
        Field::NoticeType,
        Field::NoticeText,
        Field::NoticeData,
        Field::PermissionId,
        Field::PermissionAction,
        Field::PermissionCallId,
        Field::PermissionInput,
        Field::PermissionAnswer,
        Field::PermissionMessage,
        Field::QuestionId,
        Field::QuestionCallId,
        Field::QuestionText,
        Field::QuestionOption,
        Field::QuestionOptionAbout,
        Field::QuestionMultiple,
        Field::ErrorStatus,
        Field::ErrorMessage,
    ],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let [kind, version, created] = line.get_all(["type", "protocol_version", "created_at"]);
    let is_wire = read::envelope(line.get("message")).is_some() && line.has_kind("timestamp", Kind::Number);
    let is_versioned = kind.is_some_and(|kind| kind.is("metadata")) && version.is_some();
    let is_head = is_versioned && created.is_none();
    let score = match line.str_or_empty("role") {
        // The first line of Kimi Code's logs has a time.
        _ if is_versioned && !is_head => RULED_OUT,
        _ if is_wire || is_head => 10,
        "_system_prompt" | "_checkpoint" | "_usage" => 10,
        // The head of the stream of Kimi Code. The stream of Kimi CLI does not begin with the user.
        "meta" if line.has_str("type") => RULED_OUT,
        "assistant" if head.is_first => RULED_OUT,
        "user" | "assistant" | "tool" | "system" => context_score(line)?,
        _ => return None,
    };
    Some((Role::Log, score))
}

/// Scores a message of `context.jsonl`. Only the form of its reasoning is unique to Kimi CLI.
pub(in crate::dialects::agents) fn context_score(line: Val<'_>) -> Option<u32> {
    const NAMES: [&str; 6] = ["role", "content", "tool_calls", "tool_call_id", "name", "partial"];
    if line.members().any(|(name, _)| !NAMES.contains(&name.as_escaped())) {
        return None;
    }
    let content = line.get("content")?;
    let thinks = |part: Val<'_>| part.str_or_empty("type") == "think" && part.has_str("think");
    match content.kind() {
        Kind::Array if content.elements().any(thinks) => Some(6),
        Kind::Array | Kind::String | Kind::Null => Some(2),
        Kind::Bool | Kind::Number | Kind::Object => None,
    }
}
