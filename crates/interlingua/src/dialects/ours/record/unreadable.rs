//! Bytes that could not be read: kept where they stood, as text if they are. Lines of a run are one entry, so that a file
//! full of empty lines does not become a hundred times as long.

use super::read_entry::ReadEntry;
use crate::dialects::{Dialect, RoleSpec};
use crate::framing::Framing;
use crate::json::{JsonWriter, from_base64};
use crate::model::Field;
use crate::pipe::Events;
use crate::tape::Member as _;

/// The most bytes of unreadable input in one entry. Escapes make text longer, and an entry must not outgrow what a
/// reader takes.
const PIECE: usize = 1 << 20;

/// Lines that stand one after the other.
#[derive(Default)]
pub(super) struct UnreadableRun {
    owner: String,
    why: &'static str,
    bytes: Vec<u8>,
    lines: u64,
    /// The line before is longer than the limit, and goes on.
    goes_on: bool,
}

impl UnreadableRun {
    /// Adds bytes to the run if they are its next line. If not, the caller ends it and begins anew.
    pub(super) fn joins(&mut self, owner: &str, bytes: &[u8], why: &'static str, more: bool) -> bool {
        let fits = self.bytes.len() + bytes.len() < PIECE;
        if self.lines == 0 || self.owner != owner || more || !fits {
            return false;
        }
        // A line of blanks needs no reason; of several reasons none is that of the run.
        self.why = match (self.why, why) {
            ("blank", why) | (why, "blank") => why,
            (known, why) if known == why => why,
            _ => "unparsed",
        };
        self.bytes.push(b'\n');
        self.bytes.extend_from_slice(bytes);
        self.lines += 1;
        true
    }

    /// Begins a run, or writes what belongs to none.
    pub(super) fn begin(
        &mut self,
        owner: &str,
        bytes: &[u8],
        why: &'static str,
        more: bool,
        json: &mut JsonWriter<'_>,
    ) {
        let is_lines = |dialect: &Dialect| {
            let lines =
                |spec: &RoleSpec| matches!(spec.framing, Framing::Lines | Framing::LinesOrDocuments(_));
            dialect.roles.iter().any(lines)
        };
        let alone = std::mem::replace(&mut self.goes_on, more) || more || bytes.len() > PIECE;
        if alone || !Dialect::named(owner).is_some_and(is_lines) {
            return put(owner, bytes, why, 1, more, json);
        }
        owner.clone_into(&mut self.owner);
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        (self.why, self.lines) = (why, 1);
    }

    /// Writes the run as an entry, if there is one.
    pub(super) fn end(&mut self, json: &mut JsonWriter<'_>) {
        let lines = std::mem::take(&mut self.lines);
        if lines > 0 {
            put(&self.owner, &self.bytes, self.why, lines, false, json);
        }
    }
}

/// Writes the bytes of so many lines. `more` tells whether they go on after the last piece.
fn put(owner: &str, bytes: &[u8], why: &str, lines: u64, more: bool, json: &mut JsonWriter<'_>) {
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
