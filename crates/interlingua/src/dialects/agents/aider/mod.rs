//! Sessions of Aider: one document with the entries of a chat history in Markdown.
//!
//! `interlingua-sessions` makes a document of each session in `.aider.chat.history.md`; Aider itself has no such file.

mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::Head;
use crate::tape::Kind;

/// Sessions of Aider.
pub static DIALECT: Dialect = Dialect {
    name: "aider",
    module: module_path!(),
    plane: Plane::Log,
    about: "Aider chat histories (.aider.chat.history.md)",
    detected_by: "a document with `aider`, an object, and a list `entries`",
    flavour_of: None,
    // A history names models, and a name need not begin with the provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(ENTRIES),
        read: Some(|_| Box::new(read::AiderReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

/// The path of the entries.
const ENTRIES: &[&str] = &["entries"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let session = head.doc;
    let is_session = session.has_kind("aider", Kind::Object) && session.has_kind("entries", Kind::Array);
    is_session.then_some((Role::Log, 10))
}
