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

use super::shape_tokens::{Hole, LineShape, SourceText, TokenList, TokenSink as _, address_of};
use crate::json::{Raw, Str};
use crate::ledger::{Identity, LineHoles};
use crate::model::{
    Args, CallKind, Compaction, Delta, Event, FileRef, ItemHead, ItemKind, ItemTail, MediaSource, Notice,
    Opaque, OpaqueKind, Part, Shape, ToolCall, ToolResult, Turn,
};
use crate::tape::Tape;

/// The shape of the entry being written.
#[derive(Default)]
pub(super) struct EntryShape {
    tokens: TokenList,
    /// Address and length of each value in the events of the current frame. Addresses are compared, never dereferenced.
    values: Vec<(usize, usize)>,
    /// The holes of the entry's lines.
    holes: Vec<Hole>,
    odd: bool,
    /// A line was compared with a known shape instead of being added to the tokens.
    followed: bool,
}

impl EntryShape {
    /// Starts an entry.
    pub(super) fn begin(&mut self) {
        self.tokens.clear();
        self.holes.clear();
        self.odd = false;
        self.followed = false;
        // Values of the frame before the entry do not fill its holes.
        self.token(self.values.len() as u64);
    }

    /// Ends the current frame and its text.
    pub(super) fn end_frame(&mut self) {
        self.values.clear();
    }

    /// The hash of the shape so far.
    pub(super) const fn hash(&self) -> u64 {
        self.tokens.hash()
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
        self.odd |= self.followed || tape.duplicate_key.is_some() || found.values.len() > MOST_VALUES;
        if self.odd {
            return;
        }
        let Self { tokens, values, holes, .. } = self;
        self.odd = !LineShape { tape, found, sources, values, holes }.walk(tokens);
    }

    /// Whether the entry has the shape `known`, after its only line is added. The line is compared, and not added to
    /// the tokens.
    fn follows(
        &mut self,
        known: &KnownShape,
        tape: &Tape<'_>,
        found: &LineHoles,
        sources: SourceText<'_>,
    ) -> bool {
        if self.odd || tape.duplicate_key.is_some() || found.values.len() > MOST_VALUES {
            return false;
        }
        let Some(mut follower) = known.tokens.follow(&self.tokens) else { return false };
        let Self { values, holes, .. } = self;
        let is_same = LineShape { tape, found, sources, values, holes }.walk(&mut follower)
            && follower.is_at_end()
            && known.equal.iter().all(|&(one, other)| self.are_equal(one, other, sources));
        if !is_same {
            // Only the first line of an entry is compared.
            self.holes.clear();
        }
        self.followed = is_same;
        is_same
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
        // The tokens lack a line, so they are no shape.
        self.odd |= self.followed;
        self.tokens.token(token);
    }

    /// Adds a word, letter by letter.
    fn word(&mut self, word: &str) {
        self.odd |= self.followed || !self.tokens.word(word.as_bytes());
    }
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

/// An entry with more holes and words is rebuilt each time.
const MOST_VALUES: usize = 256;

/// The shapes of entries that were rebuilt exactly.
#[derive(Default)]
pub(super) struct KnownShapes {
    shapes: Vec<KnownShape>,
    /// The number of the shape with a hash.
    by_hash: HashMap<u64, usize, BuildHasherDefault<Identity>>,
    /// The number of the last shape whose tokens before its line have a hash: most lines have the shape of an earlier
    /// line of the same kind.
    last: HashMap<u64, usize, BuildHasherDefault<Identity>>,
}

/// The shape of an entry that was rebuilt exactly.
pub(super) struct KnownShape {
    tokens: TokenList,
    /// Holes with equal values in that entry. An entry of this shape in which these values differ may not be restored
    /// exactly.
    equal: Box<[(usize, usize)]>,
    /// Set if entries of this shape may get further lines with holes, which are compared with these.
    pub(super) has_more: bool,
}

impl KnownShapes {
    const MOST: usize = 4096;

    /// The known shape equal to an entry's shape. `before` is the hash of the shape before its only line, if the entry
    /// has one line.
    #[inline]
    pub(super) fn find(
        &mut self,
        shape: &EntryShape,
        before: Option<u64>,
        sources: SourceText<'_>,
    ) -> Option<&KnownShape> {
        let number = *self.by_hash.get(&shape.hash()).filter(|_| !shape.odd && !shape.followed)?;
        let known = self.shapes.get(number)?;
        let is_same = known.tokens == shape.tokens
            && known.equal.iter().all(|&(one, other)| shape.are_equal(one, other, sources));
        if let Some(before) = before.filter(|_| is_same) {
            self.last.insert(before, number);
        }
        is_same.then_some(known)
    }

    /// Whether an entry has the shape of the last entry that was like it before its only line. Returns the hash of the
    /// shape.
    pub(super) fn follow(
        &self,
        shape: &mut EntryShape,
        tape: &Tape<'_>,
        found: &LineHoles,
        sources: SourceText<'_>,
    ) -> Option<u64> {
        let known = self.shapes.get(*self.last.get(&shape.hash())?).filter(|known| !known.has_more)?;
        shape.follows(known, tape, found, sources).then(|| known.tokens.hash())
    }

    /// Adds the shape of an entry that was rebuilt exactly.
    pub(super) fn add(&mut self, shape: &EntryShape, sources: SourceText<'_>) {
        if shape.odd || shape.followed || self.shapes.len() >= Self::MOST {
            return;
        }
        let (tokens, equal) = (shape.tokens.clone(), shape.equal_holes(sources));
        self.by_hash.insert(tokens.hash(), self.shapes.len());
        self.shapes.push(KnownShape { tokens, equal, has_more: false });
    }

    /// Records that an entry with this shape hash got a further line.
    pub(super) fn has_more(&mut self, hash: u64) {
        let known = self.by_hash.get(&hash).and_then(|number| self.shapes.get_mut(*number));
        if let Some(known) = known {
            known.has_more = true;
        }
    }
}
