//! Gemini CLI session logs: one JSON document with a list of messages, or a file of lines with changes.

mod memory;
mod message;
mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::{Field, issuers};
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Session logs of Gemini CLI.
pub static DIALECT: Dialect = Dialect {
    name: "gemini-cli",
    module: module_path!(),
    plane: Plane::Log,
    about: "Gemini CLI session logs (~/.gemini/tmp/…/chats/session-*.json, *.jsonl)",
    detected_by: "`projectHash` beside `sessionId`, `$set` or `$rewindTo`, messages of type `gemini`",
    flavour_of: None,
    issuer: Some(issuers::GOOGLE),
    lineage: Lineage::Rewritten,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: FRAMING,
        read: Some(|_| Box::new(read::GeminiReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::GeminiForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::StopReason,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::ItemSubject,
        Field::ItemStatus,
        Field::FilePath,
        Field::FileAction,
        Field::FileDiff,
        Field::RewindTo,
        Field::NoticeType,
        Field::NoticeText,
        Field::NoticeData,
    ],
    sniff,
};

/// Logs were one document with all messages until spring 2026, and are lines since then. Messages of the API's form may
/// be a bare list.
const FRAMING: Framing = Framing::LinesOrDocuments(&["messages"], &["role", "parts", "type"]);

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    // A bare list of messages of the API's form.
    let doc = if doc.kind() == Kind::Array { doc.elements().next()? } else { doc };
    score(doc).map(|score| (Role::Log, score))
}

fn score(doc: Val<'_>) -> Option<u32> {
    let has = |name| doc.get(name).is_some();
    if doc.has_str("sessionId") && doc.has_str("projectHash") || doc.has_str("$rewindTo") {
        return Some(10);
    }
    // Database logs have `$set` too, so one of the values set must be a session member.
    if let Some(set) = doc.get("$set").filter(|set| set.kind() == Kind::Object) {
        let own =
            set.has_str("lastUpdated") || set.has_kind("messages", Kind::Array) || set.has_str("summary");
        return Some(if own { 6 } else { 1 });
    }
    // Lines of other agents have these members as well, with additional members.
    if has("uuid") || has("message") || has("session_id") {
        return None;
    }
    let is_said = has("content") && doc.has_str("timestamp");
    match (doc.str_or_empty("type"), doc.str_or_empty("role")) {
        ("gemini", _) if doc.has_str("id") && has("content") => Some(10),
        ("gemini", _) if is_said => Some(6),
        ("user" | "info" | "error" | "warning", _) if is_said => Some(if doc.has_str("id") { 3 } else { 1 }),
        ("", "user" | "model")
            if doc.has_kind("parts", Kind::Array)
                && (doc.has_str("sessionId") || doc.has_str("timestamp")) =>
        {
            Some(5)
        }
        _ => None,
    }
}
