//! Universal events: what any agent says, as one JSON event a line, with ten keys around each.
//!
//! Items are flat here (message, tool call, tool result, status), numbered `itm_<n>` as they begin; `parent_id` names
//! the message or the call they belong to. An event is a function of its source: ids come from the session and the
//! sequence, times from what the source wrote. The first events of a live source that holds no time have the caller's
//! ([`crate::dialects::Options::now`]); without that, or in a file without any time, 1970 stands for none.

mod beginning;
mod data;
mod item;
mod parts;
mod read;
mod read_parts;
mod says;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Universal events.
pub static DIALECT: Dialect = Dialect {
    name: "universal",
    module: module_path!(),
    plane: Plane::Ours,
    about: "universal agent events (JSON lines)",
    detected_by: "lines with `event_id`, `sequence`, `type` and `data`",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::UniversalReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(write::UniversalWriter::new(options)),
            says: says::says,
        }),
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    let named = doc.has_str("event_id") && doc.has_str("type");
    let ours = named && doc.has_kind("sequence", Kind::Number) && doc.has_kind("data", Kind::Object);
    ours.then_some((Role::Live, 10))
}

/// The time before any is known.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Labels of status items that are more than a notice.
const SESSION_UPDATED: &str = "session.updated";
const USAGE: &str = "usage";
const REQUEST: &str = "request";
const REWOUND: &str = "rewound";
const COMPACTED: &str = "compacted";
/// A model on offer.
const MODEL: &str = "model";

/// A member that holds others; an empty one is a leaf of its own, which says nothing.
fn inside<'t>(val: Val<'t>, name: &str) -> Option<Val<'t>> {
    let member = val.get(name)?;
    let holds = matches!(member.kind(), Kind::Object | Kind::Array);
    if holds && member.members().next().is_none() && member.elements().next().is_none() {
        member.note(Field::Structure);
    }
    Some(member)
}

/// Notes a word that is as expected; any other says something that we do not know.
fn note_if(object: Val<'_>, name: &str, word: &str) {
    if object.get(name).is_some_and(|val| val.is(word)) {
        object.note_str(name, Field::Structure);
    }
}
