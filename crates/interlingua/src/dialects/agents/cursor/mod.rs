//! Transcripts of Cursor's agent: lines with a role and content, and the end of each turn.

mod read;
mod stamp;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::Kind;

/// Transcripts of Cursor's agent.
pub static DIALECT: Dialect = Dialect {
    name: "cursor",
    module: module_path!(),
    plane: Plane::Log,
    about: "Cursor agent transcripts (~/.cursor/projects/…/agent-transcripts/*.jsonl)",
    detected_by: "lines of a `role` and a `message` that has `content` and nothing else, and `turn_ended` lines",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::CursorReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::CursorForm, options)),
            support: support::support,
        }),
    }],
    reads_more: &[Field::StopReason, Field::ReasoningText, Field::NoticeType, Field::NoticeText],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let said = || {
        let content = line.get("message")?.get("content")?;
        let alone = line.members().count() == 2 && line.get("message")?.members().count() == 1;
        let speaks = matches!(line.str_or_empty("role"), "user" | "assistant");
        (speaks && alone && matches!(content.kind(), Kind::Array | Kind::String)).then_some(())
    };
    let ended =
        line.str_or_empty("type") == "turn_ended" && line.has_str("status") && line.get("id").is_none();
    (ended || said().is_some()).then_some((Role::Log, 10))
}
