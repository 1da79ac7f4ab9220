//! Claude Code's session logs: one JSON document a line, chained by `parentUuid`.

mod calls;
mod notices;
mod origin;
mod read;
mod results;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::issuers;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Claude Code session logs.
pub static DIALECT: Dialect = Dialect {
    name: "claude-code",
    module: module_path!(),
    plane: Plane::Log,
    about: "Claude Code session logs (~/.claude/projects/…/*.jsonl)",
    detected_by: "lines with `uuid`, `parentUuid` or `sessionId` beside `type`",
    issuer: Some(issuers::ANTHROPIC),
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::ClaudeReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::ClaudeForm::default(), options)),
            says: says::says,
        }),
    }],
    sniff,
};

/// Whether a document is the small one beside the log of a subagent (`agent-….meta.json`).
fn is_agent_meta(doc: Val<'_>) -> bool {
    let [kind, agent, call] = doc.get_all(["type", "agentType", "toolUseId"]);
    kind.is_none() && agent.is_some() && call.is_some_and(|call| call.kind() == Kind::String)
}

/// Whether a line is of the journal beside the logs of a workflow's agents (`workflows/…/journal.jsonl`).
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
    let spoken = line.get("message").is_some_and(|message| message.get("role").is_some())
        && matches!(kind.as_escaped(), "user" | "assistant");
    let chained = line.get("parentUuid").is_some() && line.get("uuid").is_some();
    // Live output has `session_id` where the log has `sessionId`; Qwen Code's log has `parts` where this has `content`.
    let foreign = line.get("message").is_some_and(|message| message.get("parts").is_some());
    // Its lines without a message have a payload.
    let foreign = foreign || line.get("systemPayload").is_some() || line.get("toolCallResult").is_some();
    if foreign || line.get("session_id").is_some() {
        return None;
    }
    match (chained, line.get("sessionId").is_some()) {
        (true, _) => Some((Role::Log, 10)),
        (false, true) => Some((Role::Log, 6)),
        (false, false) if spoken => Some((Role::Log, 3)),
        (false, false) => {
            matches!(kind.as_escaped(), "summary" | "file-history-snapshot").then_some((Role::Log, 4))
        }
    }
}
