//! Sessions of Goose: one document with all messages, as `goose session export` writes it and as a row of the database
//! becomes; or a head line and lines of messages, as versions before 1.10 wrote them.

mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Sessions of Goose.
pub static DIALECT: Dialect = Dialect {
    name: "goose",
    module: module_path!(),
    plane: Plane::Log,
    about: "Goose sessions (~/.local/share/goose/sessions/sessions.db, *.jsonl, exports)",
    detected_by: "a document with `conversation` and `working_dir`, a line with `working_dir` and `message_count`, messages with a number `created` and blocks of Goose",
    flavour_of: None,
    // The provider of a message issues the state of its thinking.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: FRAMING,
        read: Some(|_| Box::new(read::GooseReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::GooseForm::default(), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::Cost,
        Field::NoticeType,
        Field::NoticeText,
    ],
    sniff,
};

/// An export is a document; the files of older versions are lines.
const FRAMING: Framing = Framing::LinesOrDocuments(&["conversation"], &[]);

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    score(head.doc).map(|score| (Role::Log, score))
}

fn score(doc: Val<'_>) -> Option<u32> {
    if doc.has_str("working_dir") && doc.has_kind("conversation", Kind::Array) || is_head_line(doc) {
        return Some(10);
    }
    let is_message = matches!(doc.str_or_empty("role"), "user" | "assistant");
    let content = doc.get("content").filter(|content| is_message && content.kind() == Kind::Array)?;
    if !doc.has_kind("created", Kind::Number) {
        return None;
    }
    let is_own = |block: Val<'_>| matches!(block.str_or_empty("type"), "toolRequest" | "toolResponse");
    Some(if content.elements().any(is_own) { 8 } else { 4 })
}

/// Whether a line is the first line of a file of messages.
fn is_head_line(line: Val<'_>) -> bool {
    line.has_str("working_dir") && line.has_kind("message_count", Kind::Number) && line.get("role").is_none()
}
