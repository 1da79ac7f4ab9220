//! Sessions in the database of Cursor's editor: one document with the data of a composer and its bubbles. A bubble is a piece
//! of a message: a prompt, a text, a thought, or a call with its result.
//!
//! `interlingua-sessions` makes a document of each session; Cursor itself has no such file.

mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::Head;
use crate::tape::Kind;

/// Sessions in the database of Cursor's editor.
pub static DIALECT: Dialect = Dialect {
    name: "cursor-db",
    module: module_path!(),
    plane: Plane::Log,
    about: "Cursor editor sessions (Cursor/User/globalStorage/state.vscdb)",
    detected_by: "a document with `composer`, an object, and a list `bubbles`",
    flavour_of: None,
    // A bubble names its model, and no member names the provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(BUBBLES),
        read: Some(|_| Box::new(read::CursorDbReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

/// The path of the bubbles.
const BUBBLES: &[&str] = &["bubbles"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let session = head.doc;
    let is_session = session.has_kind("composer", Kind::Object) && session.has_kind("bubbles", Kind::Array);
    is_session.then_some((Role::Log, 10))
}
