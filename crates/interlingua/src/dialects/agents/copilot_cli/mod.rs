//! Session logs of the GitHub Copilot CLI: one event a line, each with an envelope (`id`, `timestamp`, `parentId`)
//! around its `data`. The reader also accepts the output of `--output-format json`, which has the same envelope.

pub(super) mod line;
pub(super) mod read;
mod results;
mod session_events;
mod support;
pub(super) mod usage;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::{Field, issuers};
use crate::sniff::{Head, RULED_OUT};
use crate::tape::Kind;

/// Session logs of the Copilot CLI.
pub static DIALECT: Dialect = Dialect {
    name: "copilot-cli",
    module: module_path!(),
    plane: Plane::Log,
    about: "Copilot CLI session logs (~/.copilot/session-state/…/events.jsonl)",
    detected_by: "lines with `data`, `timestamp` and `parentId` whose `type` has a dot, such as `session.start`",
    flavour_of: None,
    issuer: Some(issuers::COPILOT),
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::CopilotLogReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::CopilotForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::SessionEndStatus,
        Field::SessionEndMessage,
        Field::TurnId,
        Field::TurnModel,
        Field::StopReason,
        Field::TurnRequestId,
        Field::TurnEffort,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::ItemPhase,
        Field::ItemStatus,
        Field::MediaName,
        Field::FilePath,
        Field::FileAction,
        Field::FileDiff,
        Field::CompactionTrigger,
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
        Field::QuestionId,
        Field::QuestionCallId,
        Field::QuestionText,
        Field::QuestionOption,
        Field::QuestionAnswer,
        Field::ErrorStatus,
        Field::ErrorCode,
        Field::ErrorMessage,
        Field::ErrorRequestId,
    ],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let has = |name, kind| line.get(name).is_some_and(|member| member.kind() == kind);
    let kind = line.str_or_empty("type");
    let is_event = has("data", Kind::Object)
        && has("timestamp", Kind::String)
        && has("id", Kind::String)
        && line.get("parentId").is_some();
    // Only the printed output has such lines; the log never holds them.
    if is_event && line.get("ephemeral").is_some_and(|mark| mark.bool() == Some(true)) {
        return Some((Role::Log, RULED_OUT));
    }
    // The last printed line has no `data`.
    let is_result = kind == "result" && has("exitCode", Kind::Number) && has("sessionId", Kind::String);
    let named = is_event && (kind.contains('.') || kind == "abort");
    (named || is_result).then_some((Role::Log, 10))
}
