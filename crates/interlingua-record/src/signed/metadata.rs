//! Trace metadata: facts of the record in the unprotected header, at the draft's label 100.
//!
//! The metadata repeats the record, so that an index can be built without it. Nobody signs it: it counts only where
//! the payload confirms each member.

use super::cbor::CborItem;
use super::digest::{Hash, hex};
use super::scan::{RecordFacts, RecordTime};

/// The metadata that follows from a record and its hash. `None` if the record has no time at all: the draft requires a
/// start, and the time of signing is not that start.
pub(super) fn trace_metadata(facts: &RecordFacts, payload: &Hash) -> Option<CborItem<'static>> {
    let start = facts.start.as_ref().or(facts.first_entry.as_ref())?;
    let mut members = vec![
        ("session-id", CborItem::text(facts.session.clone()?)),
        ("agent-vendor", CborItem::text(facts.provider.clone()?)),
        ("trace-format", CborItem::text(trace_format(facts))),
        ("timestamp-start", time(start)),
    ];
    if let Some(end) = &facts.end {
        members.push(("timestamp-end", time(end)));
    }
    members.push(("content-hash", CborItem::text(hex(payload))));
    members.push(("content-hash-alg", CborItem::text("sha-256")));
    Some(CborItem::Map(members.into_iter().map(|(name, value)| (CborItem::text(name), value)).collect()))
}

fn trace_format(facts: &RecordFacts) -> &'static str {
    match facts.version.as_deref() {
        Some(version) if version.starts_with("2.") => "ietf-vac-v2.0",
        _ => "ietf-vac-v3.0",
    }
}

fn time(time: &RecordTime) -> CborItem<'static> {
    match time {
        RecordTime::Text(text) => CborItem::text(text.clone()),
        RecordTime::Millis(millis) => CborItem::Uint(*millis),
    }
}

/// The first member that the payload does not confirm, or a required member that is missing.
pub(super) fn unconfirmed(metadata: &CborItem<'_>, facts: &RecordFacts, payload: &Hash) -> Option<String> {
    let Some(members) = metadata.as_map() else { return Some("the metadata is not a map".to_owned()) };
    let expected = trace_metadata(facts, payload);
    for (name, value) in members {
        let Some(name) = name.as_text() else { return Some("a name is not text".to_owned()) };
        let true_value = expected.as_ref().and_then(|expected| expected.named(name));
        // A digest may be written in upper case. A mixture of both is a changed byte.
        let is_same_digest = || {
            let upper = true_value.and_then(CborItem::as_text).map(str::to_ascii_uppercase);
            name.starts_with("content-hash") && upper.is_some() && value.as_text() == upper.as_deref()
        };
        if true_value != Some(value) && !is_same_digest() {
            return Some(format!("`{name}`"));
        }
    }
    let required = ["session-id", "agent-vendor", "trace-format", "timestamp-start"];
    let missing = required.into_iter().find(|name| metadata.named(name).is_none())?;
    Some(format!("`{missing}` is missing"))
}
