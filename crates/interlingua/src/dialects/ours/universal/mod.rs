//! Universal events: the events of any agent, as one JSON event a line, with ten keys around each.
//!
//! Items are flat (message, tool call, tool result, status), numbered `itm_<n>` in order of their start; `parent_id`
//! names the message or the call they belong to. An event is a function of its source: ids come from the session and
//! the sequence, times from the source. The first events of a live source without a time have the caller's time
//! ([`crate::dialects::Options::now`]); without that, or in a file without any time, the time is 1970.

mod beginning;
mod data;
mod hidden;
mod item;
mod parts;
mod read;
mod read_parts;
mod seed;
mod support;
mod unreadable;
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
            support: support::support,
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

/// The JSON Schema of closed events ([`crate::dialects::Options::seed_schema`]): the members of the public schema, and no
/// others.
pub const SEED_SCHEMA: &str = include_str!("../../../../schema/universal-event.schema.json");

/// The time of events before any time is known.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Labels of status items that stand for other events.
const SESSION_UPDATED: &str = "session.updated";
const USAGE: &str = "usage";
const REQUEST: &str = "request";
const REWOUND: &str = "rewound";
const COMPACTED: &str = "compacted";
/// A model of an API's list.
const MODEL: &str = "model";

/// A member with members or elements. An empty container is a leaf without a value and is noted.
fn inside<'t>(val: Val<'t>, name: &str) -> Option<Val<'t>> {
    let member = val.get(name)?;
    let holds = matches!(member.kind(), Kind::Object | Kind::Array);
    if holds && member.members().next().is_none() && member.elements().next().is_none() {
        member.note(Field::Structure);
    }
    Some(member)
}

/// Notes a word if it is the expected word; any other word is left unclaimed.
fn note_if(object: Val<'_>, name: &str, word: &str) {
    if object.get(name).is_some_and(|val| val.is(word)) {
        object.note_str(name, Field::Structure);
    }
}
