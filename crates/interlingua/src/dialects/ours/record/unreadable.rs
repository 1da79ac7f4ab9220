//! Unreadable bytes, kept at their position: as text if valid, else as base64. The lines of a run are one entry.

use super::read_entry::ReadEntry;
use crate::dialects::ours::unreadable_run::{PIECE, UnreadableLines, UnreadableRun};
use crate::json::{JsonWriter, from_base64};
use crate::model::Field;
use crate::pipe::EventSink;
use crate::tape::Member as _;

/// Starts a run, or writes bytes that cannot be part of a run.
pub(super) fn begin(
    run: &mut UnreadableRun,
    owner: &str,
    bytes: &[u8],
    why: &'static str,
    more: bool,
    json: &mut JsonWriter<'_>,
) {
    if !run.begins(owner, bytes, why, more) {
        put(&UnreadableLines { owner, why, bytes, lines: 1 }, more, json);
    }
}

/// Writes the run as an entry, if a run has started.
pub(super) fn end(run: &mut UnreadableRun, json: &mut JsonWriter<'_>) {
    if let Some(lines) = run.end() {
        put(&lines, false, json);
    }
}

/// Writes the bytes of a run. `more` marks that the line continues after the last piece.
fn put(unreadable: &UnreadableLines<'_>, more: bool, json: &mut JsonWriter<'_>) {
    let UnreadableLines { owner, why, bytes, lines } = *unreadable;
    let mut rest = bytes;
    loop {
        let (piece, tail) = rest.split_at(piece_end(rest, PIECE));
        rest = tail;
        json.object().key("type").literal("system-event").key("event-type").literal("unparsed");
        json.key("data").object().key("reason").literal(why);
        match std::str::from_utf8(piece) {
            Ok(text) if escaped_length(piece) <= 2 * piece.len() => json.key("raw").plain(text),
            _ => json.key("base64").base64(piece),
        };
        let (lines, more) = ((lines > 1).then_some(lines), more || !rest.is_empty());
        json.opt_u64("lines", lines).opt_bool("more", more.then_some(true)).end_object();
        json.key("vendor-ext").object().key("vendor").literal(owner).end_object().end_object();
        if rest.is_empty() {
            return;
        }
    }
}

/// The length of the bytes as JSON text. Bytes with a NUL do not count as text.
fn escaped_length(bytes: &[u8]) -> usize {
    let cost = |byte: &u8| match byte {
        0 => usize::MAX / 2,
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        1..0x20 => 6,
        _ => 1,
    };
    bytes.iter().map(cost).fold(0, usize::saturating_add)
}

/// The cut position that splits no character, if the bytes are text.
fn piece_end(bytes: &[u8], most: usize) -> usize {
    let start_of_character = |&at: &usize| bytes[at] & 0xc0 != 0x80;
    match bytes.len() {
        len if len <= most => len,
        _ => (most - 3..=most).rev().find(start_of_character).unwrap_or(most),
    }
}

/// Hands the bytes back to their dialect. Returns whether the entry has bytes.
pub(super) fn give_back(entry: &ReadEntry<'_>, vendor: &str, out: &mut EventSink<'_>) -> bool {
    let Some(data) = entry.data else { return false };
    let more = data.take_bool("more", Field::Structure).unwrap_or(false);
    let is_run = data.take_u64("lines", Field::Structure).is_some();
    // The bytes are booked when they are handed on, as on first reading. Claim them as message text, which is
    // delivered.
    let said = Field::MessageText;
    let bytes = match (data.take_str("raw", said), data.take_str("base64", said)) {
        (Some(raw), _) => raw.decode().into_owned().into_bytes(),
        (None, Some(text)) => match from_base64(text.as_escaped()) {
            Some(bytes) => bytes,
            None => return false,
        },
        (None, None) => return false,
    };
    let vendor_name = entry.ext.and_then(|ext| ext.get("vendor"));
    for tag in [entry.kind, entry.event_type, data.get("reason"), vendor_name] {
        tag.take_text(Field::Structure);
    }
    if is_run {
        bytes.split(|byte| *byte == b'\n').for_each(|line| out.kept_bytes(vendor, line, "unparsed", false));
    } else {
        out.kept_bytes(vendor, &bytes, "unparsed", more);
    }
    true
}
