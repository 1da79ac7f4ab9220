//! Sessions in the database of Crush: one document with the row of a session and the rows of its messages.
//!
//! `interlingua-sessions` makes a document of each session; Crush itself has no such file.

mod parts;
mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::Head;
use crate::tape::Kind;

/// Sessions in the database of Crush.
pub static DIALECT: Dialect = Dialect {
    name: "crush",
    module: module_path!(),
    plane: Plane::Log,
    about: "Crush sessions (.crush/crush.db)",
    detected_by: "a document with `crush`, an object, and a list `rows`",
    flavour_of: None,
    // Each kind of state has a member of its own, which names its provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(ROWS),
        read: Some(|_| Box::new(read::CrushReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

/// The path of the rows of messages.
const ROWS: &[&str] = &["rows"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let session = head.doc;
    let is_session = session.has_kind("crush", Kind::Object) && session.has_kind("rows", Kind::Array);
    is_session.then_some((Role::Log, 10))
}
