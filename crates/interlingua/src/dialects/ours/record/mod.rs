//! The verifiable agent record, profile v3, as JSON.
//!
//! One entry per line of the source (or per run of lines that say one thing). What the model has no word for stands in
//! the entry's `vendor-ext`: `data` is the source line with a hole, `"~"`, for each value that the entry says in
//! canonical terms; `more` are further lines of the same entry. So the entry reads as a record, and the line comes
//! back byte for byte. What is known before the first entry stands before `entries`, the rest after it: one pass.

mod check;
mod entries;
mod events;
mod node;
mod read;
mod says;
mod session;
mod unreadable;
mod usage;
mod waiting;
mod words;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::sniff::Head;

/// The verifiable agent record.
pub static DIALECT: Dialect = Dialect {
    name: "record",
    module: module_path!(),
    plane: Plane::Ours,
    about: "verifiable agent record, profile v3 (JSON)",
    detected_by: "`version` and `session` in one document",
    issuer: None,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(&["session", "entries"]),
        read: Some(|_| Box::new(read::RecordReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(write::RecordWriter::new(options)),
            says: says::says,
        }),
    }],
    sniff,
};

/// The version we write.
pub(crate) const VERSION: &str = "3.0.0";

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let session = head.doc.get("session")?;
    let known = session.get("entries").is_some() || session.get("session-id").is_some();
    (known && head.doc.get("version").is_some()).then_some((Role::Log, 20))
}
