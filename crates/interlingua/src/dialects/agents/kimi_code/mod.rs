//! Session logs of Kimi Code: all events of one agent, one JSON document a line.

mod loops;
mod read;
mod session_events;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Kind, Member as _};

/// Session logs of Kimi Code.
pub static DIALECT: Dialect = Dialect {
    name: "kimi-code",
    module: module_path!(),
    plane: Plane::Log,
    about: "Kimi Code session logs (~/.kimi-code/sessions/…/agents/*/wire.jsonl)",
    detected_by: "a `type` with a dot beside a number as `time` and an `agentId`, `context.append_message` and the like, `protocol_version` beside `created_at`",
    flavour_of: None,
    // Kimi Code uses several providers, and thoughts do not name theirs.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::KimiCodeReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::KimiCodeForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnId,
        Field::TurnModel,
        Field::StopReason,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::ItemParent,
        Field::ItemParentCall,
        Field::ResultDuration,
        Field::RewindTurns,
        Field::CompactionBefore,
        Field::CompactionAfter,
        Field::NoticeType,
        Field::NoticeText,
        Field::NoticeData,
        Field::PermissionId,
        Field::PermissionAction,
        Field::PermissionCallId,
        Field::PermissionInput,
        Field::PermissionAnswer,
        Field::PermissionMessage,
        Field::ErrorStatus,
        Field::ErrorCode,
        Field::ErrorMessage,
        Field::ErrorRetryAfter,
    ],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let [kind, time, agent, version, created, event] =
        head.doc.get_all(["type", "time", "agentId", "protocol_version", "created_at", "kind"]);
    let is_versioned = kind.word() == "metadata" && version.is_some();
    let is_head = is_versioned && created.is_some_and(|time| time.kind() == Kind::Number);
    let is_timed = time.is_some_and(|time| time.kind() == Kind::Number) && kind.word().contains('.');
    match () {
        () if is_head => Some((Role::Log, 10)),
        // The first line of Kimi CLI's logs has no time.
        () if is_versioned && created.is_none() => Some((Role::Log, RULED_OUT)),
        () if is_timed && (agent.is_some() || event.word() == "event") => Some((Role::Log, 10)),
        // Other event logs have the same members.
        () if is_timed => Some((Role::Log, if OWN.contains(&kind.word()) { 5 } else { 1 })),
        () => None,
    }
}

/// Types of lines that belong to a conversation.
const OWN: [&str; 6] = [
    "context.append_message",
    "context.append_loop_event",
    "context.apply_compaction",
    "turn.prompt",
    "llm.request",
    "usage.record",
];
