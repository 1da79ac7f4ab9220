//! The shape of an entry: all properties that determine how its lines are restored, apart from the texts in their
//! holes.
//!
//! Rebuilding every entry would cost more than writing the record, so an entry is rebuilt only if no entry of its shape
//! was. A shape is exact, not a hash: the kinds, authors and flags of the entry's items and parts, every word that is
//! compared with another, the names and kinds of all values around and beside each hole, and which value of which event
//! the hole had. Restoring copies texts without looking at them, so two entries of one shape are restored alike. A text
//! that is inspected (JSON in a string, a list that resembles a content list) makes the entry *odd*: an odd entry is
//! rebuilt each time.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::json::{Raw, Str};
use crate::ledger::{Identity, LineHoles, LineValue, LineValueSort};
use crate::model::{
    Args, CallKind, Compaction, Delta, Event, Field, FileRef, ItemHead, ItemKind, ItemTail, MediaSource,
    Notice, Opaque, OpaqueKind, Part, Shape, ToolCall, ToolResult, Turn,
};
use crate::tape::{Kind, Tape, Val};

/// The shape of the entry being written.
#[derive(Default)]
pub(super) struct EntryShape {
    tokens: Vec<u64>,
    /// The spelling of the long member names among the tokens, each with its closing quote.
    names: Vec<u8>,
    hash: u64,
    /// Address and length of each value in the events of the current frame. Addresses are compared, never dereferenced.
    values: Vec<(usize, usize)>,
    /// The holes of the entry's lines.
    holes: Vec<Hole>,
    odd: bool,
}

/// A hole of a source line.
struct Hole {
    /// The range of the hole's value in the entry's [`SourceText`].
    start: usize,
    end: usize,
    /// Whether the value belongs to an event of its frame, and is not a copy of another hole's value.
    original: bool,
}

/// The source lines of an entry, concatenated.
#[derive(Clone, Copy)]
pub(super) struct SourceText<'s> {
    pub(super) earlier: &'s str,
    /// The current line, unless it is among the earlier lines.
    pub(super) line: &'s str,
}

impl<'s> SourceText<'s> {
    fn get(self, start: usize, end: usize) -> Option<&'s str> {
        match start.checked_sub(self.earlier.len()) {
            Some(start) => self.line.get(start..end - self.earlier.len()),
            None => self.earlier.get(start..end),
        }
    }

    fn hole(self, hole: &Hole) -> Option<&'s str> {
        self.get(hole.start, hole.end)
    }
}

impl EntryShape {
    /// Starts an entry.
    pub(super) fn begin(&mut self) {
        self.tokens.clear();
        self.names.clear();
        self.hash = 0;
        self.holes.clear();
        self.odd = false;
        // Values of the frame before the entry do not fill its holes.
        self.token(self.values.len() as u64);
    }

    /// Ends the current frame and its text.
    pub(super) fn end_frame(&mut self) {
        self.values.clear();
    }

    /// The hash of the shape so far.
    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    /// Marks the entry as odd: its restoring depends on more than the shape.
    pub(super) const fn odd(&mut self) {
        self.odd = true;
    }

    /// Adds an event that is not an item.
    pub(super) fn happened(&mut self, event: &Event<'_>, has_time: bool) {
        let (tag, texts, json, others) = match event {
            Event::TurnStarted(turn) | Event::TurnEnded(turn) => {
                let Turn { id, model, time, request_id, effort, answer, stop, usage, cost } = turn;
                self.odd |= stop.is_some();
                let tag = 1 + u64::from(matches!(event, Event::TurnEnded(_)));
                let texts = [id, model, request_id, effort];
                (tag, texts, [time, cost], [answer.is_some(), usage.is_some()])
            }
            Event::Compacted(compaction) => {
                let Compaction { trigger, before, after, summary, history, kept_from } = compaction;
                if let Some(word) = trigger {
                    self.word(word.as_escaped());
                }
                (
                    3,
                    [trigger, summary, kept_from, &None],
                    [history, &None],
                    [before.is_some(), after.is_some()],
                )
            }
            // Other events rarely have a line.
            _ => return self.odd = true,
        };
        let flags =
            texts.iter().fold(u64::from(has_time), |flags, text| flags << 1 | u64::from(text.is_some()));
        let flags = json.iter().fold(flags, |flags, json| flags << 1 | u64::from(json.is_some()));
        let flags = others.iter().fold(flags, |flags, flag| flags << 1 | u64::from(*flag));
        self.token(flags << 8 | tag << 4 | 0xe);
        for text in texts {
            self.text(text.as_ref());
        }
        for json in json {
            self.raw(json.as_ref());
        }
    }

    /// Adds the time of the source's clock.
    pub(super) fn clock(&mut self, time: &Raw<'_>) {
        self.raw(Some(time));
    }

    /// Adds the start of an item at nesting level `depth`. `times` holds whether the item has a time under the schema,
    /// and whether the source's clock has a time.
    pub(super) fn started(&mut self, head: &ItemHead<'_>, depth: usize, times: [bool; 2]) {
        #[rustfmt::skip]
        let ItemHead {
            id: _, kind, author, origin, within, native_id, parent, replaces, agent, parent_call, time, model, answer, phase,
            subject, copied_from, shape,
        } = head;
        let texts = [native_id, parent, model, replaces, agent, parent_call, phase, subject, copied_from];
        let mut flags = texts.iter().fold(1, |flags, text| flags << 1 | u64::from(text.is_some()));
        let [has_time, has_clock] = times;
        let more =
            [time.is_some(), has_time, has_clock, answer.is_some(), within.is_some(), *shape == Shape::List];
        flags = more.iter().fold(flags, |flags, flag| flags << 1 | u64::from(*flag));
        flags = flags << 3 | origin.map_or(0, |origin| origin as u64 + 1);
        flags = flags << 3 | *author as u64;
        let (tag, kind_flags, word) = match kind {
            ItemKind::Message => (0, 0, None),
            ItemKind::Reasoning => (1, 0, None),
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                self.text(call_id.as_ref());
                self.text(namespace.as_ref());
                self.text(Some(name));
                let flags =
                    u64::from(call_id.is_some()) << 4 | u64::from(namespace.is_some()) << 3 | *kind as u64;
                (2, flags, Some(name))
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                self.text(call_id.as_ref());
                self.text(name.as_ref());
                (3, u64::from(call_id.is_some()) << 1 | u64::from(name.is_some()), name.as_ref())
            }
            ItemKind::Notice(Notice { event_type }) => {
                self.text(event_type.as_ref());
                (4, u64::from(event_type.is_some()), event_type.as_ref())
            }
        };
        self.token(flags << 8 | kind_flags << 3 | tag);
        self.token(depth as u64);
        if let Some(word) = word {
            self.word(word.as_escaped());
        }
        for text in texts {
            self.text(text.as_ref());
        }
        self.raw(time.as_ref());
    }

    /// Adds a part of an item.
    pub(super) fn delta(&mut self, delta: &Delta<'_>, call: Option<CallKind>) {
        let Delta { item: _, part, value, arrival: _ } = delta;
        let (tag, detail) = match value {
            Part::Text(text) => (1, self.said(text)),
            Part::Summary(text) => (2, self.said(text)),
            Part::Refusal(text) => (3, self.said(text)),
            Part::Json(json) => {
                let first = json.as_str().bytes().next().unwrap_or(0);
                // A reader may parse the value as a content list, a text or as absent.
                self.odd |= match first {
                    b'[' => may_be_parts(json.as_str()),
                    first => matches!(first, b'"' | b'n'),
                };
                self.raw(Some(json));
                (4, u64::from(first))
            }
            Part::Args(Args::Json(json)) => {
                self.raw(Some(json));
                (5, u64::from(json.as_str().bytes().next().unwrap_or(0)))
            }
            Part::Args(Args::Text(text)) => {
                self.odd |= call != Some(CallKind::FreeText) && may_be_json(text.as_escaped());
                (6, self.said(text))
            }
            Part::Media(media) => {
                let place = match &media.source {
                    MediaSource::Base64(_) => 0,
                    MediaSource::Url(_) => 1,
                    MediaSource::File(_) => 2,
                    MediaSource::Text(_) => 3,
                };
                let texts = [&media.media_type, &media.name, &media.context, &media.detail];
                let flags = texts.iter().fold(place, |flags, text| flags << 1 | u64::from(text.is_some()));
                for text in texts {
                    self.text(text.as_ref());
                }
                self.text(Some(media.source.text()));
                (7, flags)
            }
            Part::Opaque(Opaque { kind, issuer, value }) => {
                self.word(issuer.as_escaped());
                (8, self.said(value) << 1 | u64::from(*kind == OpaqueKind::Encrypted))
            }
            Part::File(FileRef { path, action, diff }) => {
                self.word(action.as_escaped());
                let texts = [Some(path), Some(action), diff.as_ref()];
                for text in texts {
                    self.text(text);
                }
                (9, u64::from(diff.is_some()))
            }
            Part::Citation(_) | Part::Cache(_) => {
                self.odd = true;
                (10, 0)
            }
        };
        self.token(u64::from(*part) << 16 | detail << 4 | tag);
    }

    /// Adds the end of an item.
    pub(super) fn completed(&mut self, tail: &ItemTail<'_>) {
        let ItemTail { id: _, status, native_status, is_error, exit_code, duration } = tail;
        let flags = [native_status.is_some(), exit_code.is_some(), duration.is_some()];
        let flags = flags.iter().fold(*status as u64, |flags, flag| flags << 1 | u64::from(*flag));
        self.token(flags << 6 | is_error.map_or(0, |flag| 1 + u64::from(flag)) << 4 | 15);
        if let Some(word) = native_status {
            self.word(word.as_escaped());
            self.text(Some(word));
        }
    }

    /// Adds a line of the entry: the current line of `sources`.
    pub(super) fn line(&mut self, tape: &Tape<'_>, found: &LineHoles, sources: SourceText<'_>) {
        let (root, start) = (tape.root(), sources.earlier.len());
        self.odd |= tape.duplicate_key.is_some() || found.values.len() > MOST_VALUES;
        if self.odd {
            return;
        }
        self.skeleton(root, &mut found.values.as_slice());
        let (base, offset) = (tape.text().as_ptr() as usize, root.span().start);
        let mut next = 0;
        for &LineValue { field, sort, start: from, end: to } in &found.values {
            let is_hole = sort == LineValueSort::Hole;
            let (from, to) = (from as usize, to as usize);
            let mut tag = (field as u64) << 16 | u64::from(is_hole);
            if !is_hole {
                self.token(tag);
                self.word(tape.text().get(from..to).unwrap_or_default());
                continue;
            }
            let whole = tape.text().get(from..to).unwrap_or_default();
            // A data URL holds the media type and the data; each is a value of the event.
            let url = data_url(whole).map(|[kind, data]| (address_of(kind), address_of(data)));
            let is_it = |&(address, length): &(usize, usize)| {
                (address == base + from + 1 && length + 2 == to - from)
                    || (address == base + from && length == to - from)
            };
            let (before, after) = self.values.split_at(next.min(self.values.len()));
            let value = after.iter().position(is_it).map(|at| at + before.len());
            let (own, end) = (start + from - offset, start + to - offset);
            let value = value.or_else(|| before.iter().position(is_it));
            let place = |wanted: (usize, usize)| self.values.iter().position(|value| *value == wanted);
            let url = url.and_then(|(kind, data)| Some((place(kind)?, place(data)?)));
            if let Some(value) = value {
                next = value + 1;
                tag |= 1 << 1 | (value as u64) << 2;
            } else if let Some((kind, data)) = url {
                next = data + 1;
                self.token(kind as u64);
                tag |= 1 << 14 | (data as u64) << 2;
            } else if self.is_joined(base + from + 1, base + to - 1) {
                tag |= 1 << 13;
            } else if field == Field::ResultIsError {
                // Not a value of an event, but part of the shape of the item's end.
                self.token(to as u64 - from as u64);
            } else if field == Field::FileAction {
                // The agent's own word for the file action, which is part of the shape.
                self.word(whole);
            } else if field == Field::CallArgs {
                // The reader decodes JSON in a string, and takes the string only if encoding the value restores it.
            } else {
                let text = sources.get(own, end);
                let same = |hole: &Hole| text.is_some() && sources.hole(hole) == text;
                match self.holes.iter().position(same) {
                    Some(hole) => tag |= 1 << 15 | (hole as u64) << 2,
                    None => self.odd = true,
                }
            }
            self.holes.push(Hole {
                start: own,
                end,
                original: value.or(url.map(|(_, data)| data)).is_some(),
            });
            self.token(tag);
        }
    }

    /// Whether the text between two addresses consists only of consecutive values of events.
    fn is_joined(&mut self, mut start: usize, end: usize) -> bool {
        while start < end {
            let is_next =
                |(address, length): &(usize, usize)| *address == start && (1..=end - start).contains(length);
            let Some(number) = self.values.iter().position(is_next) else { return false };
            start += self.values[number].1;
            self.token(number as u64);
        }
        true
    }

    /// Adds the names and kinds of all values beside a hole, or beside a value around a hole: log writers distinguish
    /// lines by these. `values` are the remaining values of the line.
    fn skeleton(&mut self, val: Val<'_>, values: &mut &[LineValue]) {
        for inner in val.inner_values() {
            while let [LineValue { sort: LineValueSort::Word, .. }, others @ ..] = *values {
                *values = others;
            }
            let span = inner.span();
            let next = values.first().filter(|hole| (hole.start as usize) < span.end);
            // 3: a string of tildes; 2: the hole itself; 1: a value that contains a hole.
            let place = match next {
                Some(hole) if (hole.start as usize..hole.end as usize) == span => {
                    2 + u64::from(hole.sort == LineValueSort::Tildes)
                }
                Some(_) => 1,
                None => 0,
            };
            let tag = u64::from(inner.name_length()) << 8 | (inner.kind() as u64) << 4 | place;
            if let Some(name) = inner.short_name() {
                self.token(tag);
                self.token(name as u64);
                if inner.name_length() > 8 {
                    self.token((name >> 64) as u64);
                }
            } else {
                self.token(tag | 1 << 63);
                self.names.extend_from_slice(inner.quoted_name());
            }
            match place {
                0 => {}
                1 => self.skeleton(inner, values),
                _ => *values = values.get(1..).unwrap_or_default(),
            }
        }
        self.token(u64::from(val.kind() == Kind::Array));
    }

    /// The pairs of holes with equal values, perhaps by chance: a rebuilt entry may have swapped them.
    fn equal_holes(&self, sources: SourceText<'_>) -> Box<[(usize, usize)]> {
        let original = self.holes.iter().enumerate().filter(|(_, hole)| hole.original);
        let mut values: Vec<_> = original.map(|(number, hole)| (sources.hole(hole), number)).collect();
        values.sort_unstable();
        let equal = values.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        equal.map(|pair| (pair[0].1, pair[1].1)).collect()
    }

    /// Whether two holes have the same value.
    fn are_equal(&self, one: usize, other: usize, sources: SourceText<'_>) -> bool {
        let value = |number: usize| self.holes.get(number).and_then(|hole| sources.hole(hole));
        value(one).is_some_and(|value_of_one| value(other) == Some(value_of_one))
    }

    fn said(&mut self, text: &Str<'_>) -> u64 {
        self.text(Some(text));
        u64::from(text.is_empty())
    }

    #[inline]
    fn text(&mut self, text: Option<&Str<'_>>) {
        if let Some(text) = text {
            let text = text.as_escaped();
            self.values.push(address_of(text));
        }
    }

    #[inline]
    fn raw(&mut self, json: Option<&Raw<'_>>) {
        if let Some(json) = json {
            let json = json.as_str();
            self.values.push(address_of(json));
        }
    }

    #[inline]
    fn token(&mut self, token: u64) {
        self.hash = mix(self.hash, token);
        self.tokens.push(token);
    }

    /// Adds a word, letter by letter.
    fn word(&mut self, word: &str) {
        self.odd |= word.len() > LONGEST_WORD;
        self.token(word.len() as u64);
        let (eights, rest) = word.as_bytes().as_chunks::<8>();
        for eight in eights.iter().take(LONGEST_WORD / 8) {
            self.token(u64::from_le_bytes(*eight));
        }
        if !rest.is_empty() {
            self.token(rest.iter().fold(0, |token, byte| token << 8 | u64::from(*byte)));
        }
    }
}

/// The media type and the data of a data URL in a JSON string.
fn data_url(string: &str) -> Option<[&str; 2]> {
    let (kind, data) = string.strip_prefix("\"data:")?.strip_suffix('"')?.split_once(";base64,")?;
    Some([kind, data])
}

/// Whether a JSON list may be parsed as content parts: each content part has a type.
fn may_be_parts(list: &str) -> bool {
    let list = list.as_bytes();
    let inner = list.strip_prefix(b"[").unwrap_or(list);
    inner.trim_ascii_start().starts_with(b"]")
        || memchr::memchr(b'\\', list).is_some()
        || memchr::memmem::find(list, b"\"type\"").is_some()
}

/// Whether a text may be JSON, judged by its first character.
fn may_be_json(text: &str) -> bool {
    !text.starts_with(|first: char| {
        first.is_ascii_graphic()
            && !matches!(first, '{' | '[' | '"' | '-' | '0'..='9' | 't' | 'f' | 'n' | '\\')
    })
}

/// The address and the length of a text.
#[inline]
fn address_of(text: &str) -> (usize, usize) {
    (text.as_ptr() as usize, text.len())
}

/// An entry with a longer word, or with more holes and words, is rebuilt each time.
const LONGEST_WORD: usize = 64;
const MOST_VALUES: usize = 256;

/// The shapes of entries that were rebuilt exactly.
#[derive(Default)]
pub(super) struct KnownShapes {
    known: HashMap<u64, KnownShape, BuildHasherDefault<Identity>>,
}

/// The shape of an entry that was rebuilt exactly.
pub(super) struct KnownShape {
    tokens: Box<[u64]>,
    names: Box<[u8]>,
    /// Holes with equal values in that entry. An entry of this shape in which these values differ may not be restored
    /// exactly.
    equal: Box<[(usize, usize)]>,
    /// Set if entries of this shape may get further lines with holes, which are compared with these.
    pub(super) has_more: bool,
}

impl KnownShapes {
    const MOST: usize = 4096;

    /// The known shape equal to an entry's shape.
    #[inline]
    pub(super) fn find(&self, shape: &EntryShape, sources: SourceText<'_>) -> Option<&KnownShape> {
        let known = self.known.get(&shape.hash).filter(|_| !shape.odd)?;
        let is_same = *known.tokens == *shape.tokens
            && *known.names == *shape.names
            && known.equal.iter().all(|&(one, other)| shape.are_equal(one, other, sources));
        is_same.then_some(known)
    }

    /// Adds the shape of an entry that was rebuilt exactly.
    pub(super) fn add(&mut self, shape: &EntryShape, sources: SourceText<'_>) {
        if shape.odd || self.known.len() >= Self::MOST {
            return;
        }
        let equal = shape.equal_holes(sources);
        let (tokens, names) = (shape.tokens.as_slice().into(), shape.names.as_slice().into());
        self.known.insert(shape.hash, KnownShape { tokens, names, equal, has_more: false });
    }

    /// Records that an entry with this shape hash got a further line.
    pub(super) fn has_more(&mut self, hash: u64) {
        if let Some(known) = self.known.get_mut(&hash) {
            known.has_more = true;
        }
    }
}

#[inline]
const fn mix(hash: u64, token: u64) -> u64 {
    (hash.rotate_left(5) ^ token).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
