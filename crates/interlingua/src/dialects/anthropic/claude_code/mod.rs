//! Claude Code's session logs: one JSON document a line, chained by `parentUuid`.

mod calls;
mod notices;
mod origin;
mod read;
mod results;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::{Field, issuers};
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Kind, Val};

/// Claude Code session logs.
pub static DIALECT: Dialect = Dialect {
    name: "claude-code",
    module: module_path!(),
    plane: Plane::Log,
    about: "Claude Code session logs (~/.claude/projects/…/*.jsonl)",
    detected_by: "lines with `uuid`, `parentUuid` or `sessionId` beside `type`",
    flavour_of: None,
    issuer: Some(issuers::ANTHROPIC),
    lineage: Lineage::TreeToLastMessage,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::ClaudeReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::ClaudeForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnId,
        Field::TurnModel,
        Field::StopReason,
        Field::TurnRequestId,
        Field::TurnEffort,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageCacheWriteLong,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::ItemStatus,
        Field::FilePath,
        Field::FileAction,
        Field::FileDiff,
        Field::ResultDuration,
        Field::ItemCopiedFrom,
        Field::CompactionTrigger,
        Field::CompactionBefore,
        Field::CompactionAfter,
        Field::NoticeType,
        Field::NoticeText,
        Field::NoticeData,
        Field::PermissionAnswer,
        Field::PermissionBy,
        Field::ErrorClass,
        Field::ErrorStatus,
        Field::ErrorCode,
        Field::ErrorMessage,
        Field::ErrorRequestId,
        Field::ErrorRetryAfter,
    ],
    sniff,
};

/// Whether a document is the metadata file beside a subagent's log (`agent-….meta.json`).
fn is_agent_meta(doc: Val<'_>) -> bool {
    let [kind, agent, call] = doc.get_all(["type", "agentType", "toolUseId"]);
    kind.is_none()
        && agent.is_some_and(|agent| agent.kind() == Kind::String)
        && call.is_some_and(|call| call.kind() == Kind::String)
}

/// Whether a line belongs to the journal beside the logs of a workflow's agents (`workflows/…/journal.jsonl`).
fn is_journal(line: Val<'_>) -> bool {
    let [kind, key, agent] = line.get_all(["type", "key", "agentId"]);
    kind.is_some_and(|kind| kind.is("started") || kind.is("result")) && key.is_some() && agent.is_some()
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    if is_agent_meta(line) || is_journal(line) {
        return Some((Role::Log, 4));
    }
    let kind = line.get("type")?.str()?;
    let word = kind.as_escaped();
    let has = |name: &&str| line.get(name).is_some();
    let message = line.get("message");
    // Qwen Code's log has `parts` in place of `content`, and a payload on lines without a message. Its other lines are
    // lines of Claude Code.
    if message.is_some_and(|message| message.get("parts").is_some())
        || ["systemPayload", "toolCallResult"].iter().any(has)
    {
        return Some((Role::Log, RULED_OUT));
    }
    // Live output has `session_id`, the log has `sessionId`. Copilot's log ends with the exit code.
    if word == "tool_result" || ["session_id", "provenance", "exitCode"].iter().any(has) {
        return None;
    }
    let chained =
        line.has_str("uuid") && (line.has_str("parentUuid") || line.has_kind("parentUuid", Kind::Null));
    let score = match word {
        _ if chained => 10,
        "user" | "assistant" if message.is_some_and(|message| message.has_str("role")) => {
            let blocks = message.and_then(|message| message.get("content"));
            let is_own = |block: Val<'_>| {
                matches!(block.str_or_empty("type"), "tool_use" | "tool_result" | "thinking")
            };
            match () {
                () if line.has_str("sessionId") => 6,
                () if blocks.is_some_and(|blocks| blocks.elements().any(is_own)) => 4,
                // Logs of other agents have similar lines.
                () => 2,
            }
        }
        word if line.has_str("sessionId") && BESIDE.contains(&word) => 6,
        "summary" if line.has_str("summary") && line.has_str("leafUuid") => 6,
        "file-history-snapshot" if line.has_kind("snapshot", Kind::Object) => 6,
        // New versions keep adding line types.
        _ if line.has_str("sessionId") => 1,
        _ => return None,
    };
    Some((Role::Log, score))
}

/// Types of lines outside the conversation that hold the session's id.
const BESIDE: [&str; 16] = [
    "queue-operation",
    "last-prompt",
    "custom-title",
    "ai-title",
    "agent-name",
    "agent-color",
    "agent-setting",
    "mode",
    "permission-mode",
    "pr-link",
    "tag",
    "cost-state",
    "tools-used",
    "api-request",
    "content-replacement",
    "attribution-snapshot",
];
