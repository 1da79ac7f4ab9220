//! Gemini CLI's session logs: one JSON document with a list of messages, or a file of lines that say what changed.

mod memory;
mod message;
mod read;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::issuers;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Session logs of Gemini CLI.
pub static DIALECT: Dialect = Dialect {
    name: "gemini-cli",
    module: module_path!(),
    plane: Plane::Log,
    about: "Gemini CLI session logs (~/.gemini/tmp/…/chats/session-*.json, *.jsonl)",
    detected_by: "`projectHash` beside `sessionId`, `$set` or `$rewindTo`, messages of type `gemini`",
    issuer: Some(issuers::GOOGLE),
    roles: &[RoleSpec {
        role: Role::Log,
        framing: FRAMING,
        read: Some(|_| Box::new(read::GeminiReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::GeminiForm::default(), options)),
            says: says::says,
        }),
    }],
    sniff,
};

/// One document with its messages until spring 2026, lines since then.
const FRAMING: Framing = Framing::LinesOrDocuments(&["messages"]);

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    // A list of messages as the API has them.
    let doc = if doc.kind() == Kind::Array { doc.elements().next()? } else { doc };
    score(doc).map(|score| (Role::Log, score))
}

fn score(doc: Val<'_>) -> Option<u32> {
    let has = |name| doc.get(name).is_some();
    if has("sessionId") && has("projectHash") {
        return Some(10);
    }
    if doc.get("$set").is_some_and(|set| set.kind() == Kind::Object) || doc.has_str("$rewindTo") {
        return Some(10);
    }
    // Lines of other agents have these members, too, and more.
    if has("uuid") || has("message") || has("session_id") {
        return None;
    }
    let is_list = |name| doc.get(name).is_some_and(|list| list.kind() == Kind::Array);
    match (doc.str_or_empty("type"), doc.str_or_empty("role")) {
        ("gemini", _) if doc.has_str("id") && has("content") => Some(10),
        ("user" | "info" | "error" | "warning", _)
            if doc.has_str("id") && has("content") && doc.has_str("timestamp") =>
        {
            Some(3)
        }
        ("", "user" | "model")
            if is_list("parts") && (doc.has_str("sessionId") || doc.has_str("timestamp")) =>
        {
            Some(5)
        }
        _ => None,
    }
}
