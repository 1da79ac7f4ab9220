//! The verifiable agent record, profile v3, as JSON.
//!
//! One entry per line of the source, or per run of lines that form one item. Values without a field in the model are in
//! the entry's `vendor-ext`: `data` is the source line with a hole, `"~"`, for each value that the entry holds under a
//! canonical name; `more` holds further lines of the same entry. So the entry reads as a record, and the line is
//! restored byte for byte. Session values known before the first entry precede `entries`, later values follow it: one
//! pass.

mod arguments;
mod call_ids;
mod check;
mod closed;
mod entries;
mod events;
mod node;
mod profile;
mod read;
mod read_entry;
mod rebuild;
mod session;
mod shape;
mod shape_tokens;
mod support;
mod unreadable;
mod usage;
mod waiting;
mod words;
mod write;

use profile::DraftProfile;
pub(super) use support::support;

use crate::dialects::{Dialect, Lineage, Options, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::model::Usage;
use crate::pipe::{Reader, Writer};
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// The verifiable agent record.
pub static DIALECT: Dialect = Dialect {
    name: "record",
    module: module_path!(),
    plane: Plane::Ours,
    about: "verifiable agent record, profile v3 (JSON)",
    detected_by: "`version` and `session` in one document",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: FRAMING,
        read: Some(|_| Box::new(read::RecordReader::new(DraftProfile::V3))),
        write: Some(WriteSpec {
            make: |options| Box::new(write::RecordWriter::new(options, DraftProfile::V3)),
            support,
        }),
    }],
    reads_more: &[],
    sniff,
};

/// A record is split into its entries.
pub const FRAMING: Framing = Framing::Documents(&["session", "entries"]);

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let of_session = head.doc.get("session").is_some_and(is_session);
    let known = of_session && head.doc.has_str("version") && !is_v2(head.doc);
    known.then_some((Role::Log, 10))
}

fn is_session(session: Val<'_>) -> bool {
    session.has_kind("entries", Kind::Array) || session.has_str("session-id")
}

/// Whether a document is a record of profile v2.
pub(super) fn is_v2(doc: Val<'_>) -> bool {
    let version = doc.get("version").is_some_and(|version| version.is(DraftProfile::V2.version()));
    version && doc.get("session").is_some_and(is_session)
}

/// Whether a dialect is a record, of either profile.
pub(crate) fn is_record(dialect: &str) -> bool {
    [DIALECT.name, super::record_v2::DIALECT.name].contains(&dialect)
}

/// A reader of profile v2.
pub(super) fn closed_reader() -> Box<dyn Reader> {
    Box::new(read::RecordReader::new(DraftProfile::V2))
}

/// A writer of profile v2.
pub(super) fn closed_writer(options: &Options) -> Box<dyn Writer> {
    Box::new(closed::ClosedWriter::new(options))
}

/// The response of an entry, and its usage.
pub(crate) fn response_of(entry: Val<'_>) -> Option<(String, Usage)> {
    let usage = read_entry::ReadEntry::new(entry, DraftProfile::V3).usage()?;
    let id = usage.rest.get("response-id")?.str()?.as_escaped().to_owned();
    Some((id, usage::read_counts(usage)))
}
