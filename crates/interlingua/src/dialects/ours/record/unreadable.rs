//! Bytes that could not be read: kept where they stood, as text if they are. Lines of a run are one entry.

use super::read_entry::ReadEntry;
use crate::dialects::ours::unreadable_run::{PIECE, UnreadableLines, UnreadableRun};
use crate::json::{JsonWriter, from_base64};
use crate::model::Field;
use crate::pipe::Events;
use crate::tape::Member as _;

/// Begins a run, or writes what belongs to none.
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

/// Writes a run as an entry, if there is one.
pub(super) fn end(run: &mut UnreadableRun, json: &mut JsonWriter<'_>) {
    if let Some(lines) = run.end() {
        put(&lines, false, json);
    }
}

/// Writes the bytes of so many lines. `more` tells whether they go on after the last piece.
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

/// How long bytes become as text in JSON. Text with a NUL in it is none.
fn escaped_length(bytes: &[u8]) -> usize {
    let cost = |byte: &u8| match byte {
        0 => usize::MAX / 2,
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        1..0x20 => 6,
        _ => 1,
    };
    bytes.iter().map(cost).fold(0, usize::saturating_add)
}

/// Where to cut so that no character is cut in two, if it is text at all.
fn piece_end(bytes: &[u8], most: usize) -> usize {
    let start_of_character = |&at: &usize| bytes[at] & 0xc0 != 0x80;
    match bytes.len() {
        len if len <= most => len,
        _ => (most - 3..=most).rev().find(start_of_character).unwrap_or(most),
    }
}

/// Gives the bytes back to the dialect they stood in. Returns whether the entry has some.
pub(super) fn give_back(entry: &ReadEntry<'_>, vendor: &str, out: &mut Events<'_>) -> bool {
    let Some(data) = entry.data else { return false };
    let more = data.take_bool("more", Field::Structure).unwrap_or(false);
    let is_run = data.take_u64("lines", Field::Structure).is_some();
    // What becomes of the bytes is booked when they are handed on, as if they were read for the first time. Here they
    // are something said that arrives.
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
