//! Codex rollouts: one JSON document per line. An envelope holds an item of the model's input or output
//! (`response_item`), an event that the screen showed (`event_msg`), or the current settings.

mod calls;
mod echo;
mod messages;
mod notices;
mod patch;
mod read;
mod session;
mod support;
mod tool_results;
pub(super) mod usage;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::{Field, issuers};
use crate::sniff::Head;
use crate::tape::Kind;

/// Codex rollouts.
pub static DIALECT: Dialect = Dialect {
    name: "codex",
    module: module_path!(),
    plane: Plane::Log,
    about: "Codex CLI rollouts (~/.codex/sessions/…/rollout-*.jsonl)",
    detected_by: "lines with a `payload` and a `type` such as `response_item`; bare items of OpenAI's API with a head",
    flavour_of: None,
    issuer: Some(issuers::OPENAI),
    lineage: Lineage::OneThread,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::CodexReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::CodexForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnId,
        Field::StopReason,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::ItemId,
        Field::ItemParentCall,
        Field::ItemPhase,
        Field::ItemStatus,
        Field::ItemCopiedFrom,
        Field::RewindTurns,
        Field::CompactionHistory,
        Field::NoticeType,
        Field::NoticeText,
        Field::NoticeData,
        Field::ErrorStatus,
        Field::ErrorCode,
        Field::ErrorMessage,
    ],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let kind = head.doc.get("type").and_then(|kind| kind.str());
    let word = kind.as_ref().map_or("", |kind| kind.as_escaped());
    if head.doc.has_kind("payload", Kind::Object) {
        let known = matches!(
            word,
            "session_meta"
                | "response_item"
                | "event_msg"
                | "turn_context"
                | "compacted"
                | "world_state"
                | "token_usage_record"
        );
        // New versions add line types, so an unknown type still counts, with less weight.
        return kind.as_ref().map(|_| (Role::Log, if known { 10 } else { 1 }));
    }
    // The oldest rollouts have no envelopes.
    let weight = read::words_of_bare(read::Payload::new(head.doc, None)).map(|(outer, _)| match outer {
        // A head line, or a line with `record_type`.
        "session_meta" | "" => 5,
        _ => 2,
    })?;
    let has = |name| head.doc.get(name).is_some();
    // Other dialects also have messages and results, but with their own ids around them.
    let foreign = ["message", "parentId", "uuid", "sessionId", "model", "usage", "object", "response"];
    // The output of other agents has a string where Codex has a list of parts.
    let is_printed =
        word == "message" && head.doc.get("content").is_some_and(|content| content.str().is_some());
    (!is_printed && !foreign.into_iter().any(has)).then_some((Role::Log, weight))
}
