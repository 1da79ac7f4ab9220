//! Sessions of Cline: one document with all messages, whose blocks resemble those of Anthropic's API.

mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::Kind;

/// Sessions of Cline.
pub static DIALECT: Dialect = Dialect {
    name: "cline",
    module: module_path!(),
    plane: Plane::Log,
    about: "Cline sessions (~/.cline/data/sessions/…/*.messages.json)",
    detected_by: "a document with `messages`, a number `version`, a `sessionId` and an `origin` with a `source`",
    flavour_of: None,
    // The provider of a message issues the state of its thinking.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(MESSAGES),
        read: Some(|_| Box::new(read::ClineReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::ClineForm, options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::Cost,
        Field::ItemId,
        Field::ItemTime,
        Field::ItemModel,
        Field::MessageMedia,
        Field::MediaType,
        Field::NoticeType,
        Field::NoticeText,
        Field::ErrorMessage,
    ],
    sniff,
};

/// The path of the messages.
const MESSAGES: &[&str] = &["messages"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let session = head.doc;
    let has = |name, kind| session.get(name).is_some_and(|member| member.kind() == kind);
    let is_from = session.get("origin").is_some_and(|origin| origin.has_str("source"));
    let is_session = has("version", Kind::Number) && session.has_str("sessionId") && is_from;
    (is_session && has("messages", Kind::Array)).then_some((Role::Log, 10))
}
