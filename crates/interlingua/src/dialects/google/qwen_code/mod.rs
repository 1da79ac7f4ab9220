//! Qwen Code session logs: one JSON document per line, chained by `parentUuid`, with the parts of Google's APIs.

mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;

/// Session logs of Qwen Code.
pub static DIALECT: Dialect = Dialect {
    name: "qwen-code",
    module: module_path!(),
    plane: Plane::Log,
    about: "Qwen Code session logs (~/.qwen/projects/…/chats/*.jsonl)",
    detected_by: "lines with `uuid`, `parentUuid` and `sessionId` whose message has `parts`, or with a `systemPayload`",
    flavour_of: None,
    // Qwen Code works with any provider, and its logs do not name the provider.
    issuer: None,
    lineage: Lineage::TreeToLastLine,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::QwenReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::QwenForm, options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnId,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::ItemStatus,
        Field::FilePath,
        Field::FileDiff,
        Field::ResultExitCode,
        Field::ResultDuration,
        Field::RewindTo,
        Field::CompactionTrigger,
        Field::CompactionBefore,
        Field::CompactionAfter,
        Field::CompactionHistory,
        Field::NoticeType,
        Field::NoticeData,
        Field::PermissionId,
        Field::PermissionAction,
        Field::PermissionAnswer,
        Field::ErrorStatus,
        Field::ErrorCode,
        Field::ErrorMessage,
    ],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let has = |name| line.get(name).is_some();
    if !(has("uuid") && has("parentUuid") && has("sessionId") && line.has_str("type")) {
        return None;
    }
    // Claude Code lines have `content` in place of `parts`.
    let spoken = line.get("message").is_some_and(|message| message.get("parts").is_some());
    let own =
        spoken || has("systemPayload") || has("provenance") || line.str_or_empty("type") == "tool_result";
    own.then_some((Role::Log, 10))
}
