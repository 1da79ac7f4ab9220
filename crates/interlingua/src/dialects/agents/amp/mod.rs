//! Threads of Amp: one document with all messages. The lines that Amp prints (`--stream-json`) are a separate dialect.

mod date;
mod read;
mod results;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::Kind;

/// Threads of Amp.
pub static DIALECT: Dialect = Dialect {
    name: "amp",
    module: module_path!(),
    plane: Plane::Log,
    about: "Amp threads (~/.local/share/amp/threads/T-*.json)",
    detected_by: "a document with `messages`, a number `v`, and an `id` that begins with `T-`",
    flavour_of: None,
    // Each thinking block names its provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(MESSAGES),
        read: Some(|_| Box::new(read::AmpReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::AmpForm::default(), options)),
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
        Field::ItemId,
        Field::ItemTime,
        Field::ItemModel,
        Field::ItemStatus,
        Field::FilePath,
        Field::FileDiff,
        Field::NoticeType,
        Field::PermissionAction,
        Field::PermissionAnswer,
        Field::PermissionMessage,
        Field::ErrorMessage,
    ],
    sniff,
};

/// The path of the messages.
const MESSAGES: &[&str] = &["messages"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let thread = head.doc;
    let has = |name, kind| thread.get(name).is_some_and(|member| member.kind() == kind);
    let named = thread.str_or_empty("id").starts_with("T-");
    (named && has("v", Kind::Number) && has("messages", Kind::Array)).then_some((Role::Log, 10))
}
