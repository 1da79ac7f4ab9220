//! The tokens of a shape, and the walk over a source line that makes them.
//!
//! The tokens of a line are either added to a list, or compared one by one with those of a known shape: a comparison
//! stops at the first difference and stores nothing.

use crate::ledger::{LineHoles, LineValue, LineValueSort};
use crate::model::Field;
use crate::tape::{Kind, Tape, Val};

/// A consumer of tokens. Each method returns `false` if the walk may stop: the tokens differ from those wanted, or a word
/// is too long for a shape.
pub(super) trait TokenSink {
    fn token(&mut self, token: u64) -> bool;

    /// A value with a name of fewer than sixteen bytes.
    fn member(&mut self, tag: u64, name: u128) -> bool;

    /// A value with a long name. `name` ends with the closing quote.
    fn long_member(&mut self, tag: u64, name: &[u8]) -> bool;

    /// A word, letter by letter.
    #[inline]
    fn word(&mut self, word: &[u8]) -> bool {
        if word.len() > LONGEST_WORD || !self.token(word.len() as u64) {
            return false;
        }
        // The last eight bytes overlap the bytes before them, so that no length needs a loop over bytes.
        if let Some(last) = word.last_chunk::<8>() {
            let (eights, _) = word.as_chunks::<8>();
            return eights.iter().chain([last]).all(|eight| self.token(u64::from_le_bytes(*eight)));
        }
        let short = match (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
            }
            _ => word.iter().fold(0, |token, byte| token << 8 | u64::from(*byte)),
        };
        self.token(short)
    }
}

/// An entry with a longer word is rebuilt each time.
const LONGEST_WORD: usize = 64;

/// The tokens of a shape.
#[derive(Clone, Default, PartialEq)]
pub(super) struct TokenList {
    hash: u64,
    tokens: Vec<u64>,
    /// The spelling of the long member names among the tokens, each with its closing quote.
    names: Vec<u8>,
}

impl TokenList {
    pub(super) fn clear(&mut self) {
        self.hash = 0;
        self.tokens.clear();
        self.names.clear();
    }

    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    /// A comparison with the tokens that follow `begun` in this list; `None` if this list begins differently.
    pub(super) fn follow(&self, begun: &Self) -> Option<TokenFollower<'_>> {
        let tokens = self.tokens.strip_prefix(begun.tokens.as_slice())?;
        Some(TokenFollower { tokens, names: self.names.strip_prefix(begun.names.as_slice())? })
    }
}

impl TokenSink for TokenList {
    #[inline]
    fn token(&mut self, token: u64) -> bool {
        self.hash = mix(self.hash, token);
        self.tokens.push(token);
        true
    }

    #[inline]
    fn member(&mut self, tag: u64, name: u128) -> bool {
        let (low, high) = (name as u64, (name >> 64) as u64);
        self.hash = mix(self.hash, tag ^ low ^ high.rotate_left(23));
        self.tokens.extend_from_slice(&[tag, low, high]);
        true
    }

    fn long_member(&mut self, tag: u64, name: &[u8]) -> bool {
        self.names.extend_from_slice(name);
        self.token(tag | 1 << 63)
    }
}

#[inline]
const fn mix(hash: u64, token: u64) -> u64 {
    (hash.rotate_left(5) ^ token).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The tokens and names of a known shape that a line must have.
pub(super) struct TokenFollower<'k> {
    tokens: &'k [u64],
    names: &'k [u8],
}

impl TokenFollower<'_> {
    pub(super) const fn is_at_end(&self) -> bool {
        self.tokens.is_empty() && self.names.is_empty()
    }
}

impl TokenSink for TokenFollower<'_> {
    #[inline]
    fn token(&mut self, token: u64) -> bool {
        let Some((first, rest)) = self.tokens.split_first() else { return false };
        self.tokens = rest;
        *first == token
    }

    #[inline]
    fn member(&mut self, tag: u64, name: u128) -> bool {
        let Some((first, rest)) = self.tokens.split_first_chunk::<3>() else { return false };
        self.tokens = rest;
        *first == [tag, name as u64, (name >> 64) as u64]
    }

    fn long_member(&mut self, tag: u64, name: &[u8]) -> bool {
        let Some(rest) = self.names.strip_prefix(name) else { return false };
        self.names = rest;
        self.token(tag | 1 << 63)
    }
}

/// A hole of a source line.
pub(super) struct Hole {
    /// The range of the hole's value in the entry's [`SourceText`].
    start: usize,
    end: usize,
    /// Whether the value belongs to an event of its frame, and is not a copy of another hole's value.
    pub(super) original: bool,
}

/// The source lines of an entry, concatenated.
#[derive(Clone, Copy)]
pub(super) struct SourceText<'s> {
    pub(super) earlier: &'s str,
    /// The current line, unless it is among the earlier lines.
    pub(super) line: &'s str,
}

impl<'s> SourceText<'s> {
    pub(super) fn get(self, start: usize, end: usize) -> Option<&'s str> {
        match start.checked_sub(self.earlier.len()) {
            Some(start) => self.line.get(start..end - self.earlier.len()),
            None => self.earlier.get(start..end),
        }
    }

    pub(super) fn hole(self, hole: &Hole) -> Option<&'s str> {
        self.get(hole.start, hole.end)
    }
}

/// A line of an entry.
pub(super) struct LineShape<'l> {
    pub(super) tape: &'l Tape<'l>,
    pub(super) found: &'l LineHoles,
    /// The sources of the entry; the line is the current one.
    pub(super) sources: SourceText<'l>,
    /// Address and length of each value in the events of the line.
    pub(super) values: &'l [(usize, usize)],
    /// The holes of the entry, to which the holes of the line are added.
    pub(super) holes: &'l mut Vec<Hole>,
}

impl LineShape<'_> {
    /// Passes the tokens of the line on. Returns `false` if the sink stopped, or if the line is odd.
    #[inline]
    pub(super) fn walk(self, sink: &mut impl TokenSink) -> bool {
        let Self { tape, found, sources, values, holes } = self;
        let (root, earlier) = (tape.root(), sources.earlier.len());
        let mut unseen = found.values.as_slice();
        skip_words(&mut unseen);
        if !skeleton(root, &mut unseen, sink) {
            return false;
        }
        let text = tape.text();
        let (base, offset) = (text.as_ptr() as usize, root.span().start);
        let mut next = 0;
        for &LineValue { field, sort, start: from, end: to } in &found.values {
            let (from, to) = (from as usize, to as usize);
            let whole = || text.get(from..to).unwrap_or_default();
            let mut tag = (field as u64) << 16;
            if sort != LineValueSort::Hole {
                let word = text.as_bytes().get(from..to).unwrap_or_default();
                if !(sink.token(tag) && sink.word(word)) {
                    return false;
                }
                continue;
            }
            tag |= 1;
            let is_it = |&(address, length): &(usize, usize)| {
                // The value begins at the hole, or after its quote.
                let inset = address.wrapping_sub(base + from);
                inset <= 1 && length + 2 * inset == to - from
            };
            let (before, after) = values.split_at(next.min(values.len()));
            let value = after.iter().position(is_it).map(|at| at + before.len());
            let value = value.or_else(|| before.iter().position(is_it));
            let (own, end) = (earlier + from - offset, earlier + to - offset);
            let mut original = true;
            if let Some(value) = value {
                next = value + 1;
                tag |= 1 << 1 | (value as u64) << 2;
            } else if let Some((kind, data)) = places_of_url(whole(), values) {
                next = data + 1;
                if !sink.token(kind as u64) {
                    return false;
                }
                tag |= 1 << 14 | (data as u64) << 2;
            } else {
                original = false;
                let is_added = match joined(values, base + from + 1, base + to - 1, sink) {
                    Some(true) => {
                        tag |= 1 << 13;
                        true
                    }
                    None => false,
                    // Not a value of an event, but part of the shape of the item's end.
                    Some(false) if field == Field::ResultIsError => sink.token(to as u64 - from as u64),
                    // The agent's own word for the file action, which is part of the shape.
                    Some(false) if field == Field::FileAction => sink.word(whole().as_bytes()),
                    // The reader decodes JSON in a string, and takes the string only if encoding the value restores it.
                    Some(false) if field == Field::CallArgs => true,
                    Some(false) => {
                        let text = sources.get(own, end);
                        let same = |hole: &Hole| text.is_some() && sources.hole(hole) == text;
                        let hole = holes.iter().position(same);
                        tag |= 1 << 15 | (hole.unwrap_or(0) as u64) << 2;
                        hole.is_some()
                    }
                };
                if !is_added {
                    return false;
                }
            }
            holes.push(Hole { start: own, end, original });
            if !sink.token(tag) {
                return false;
            }
        }
        true
    }
}

/// Passes on the names and kinds of all values beside a hole, or beside a value around a hole: log writers distinguish
/// lines by these. `values` are the remaining values of the line that are not words.
fn skeleton(val: Val<'_>, values: &mut &[LineValue], sink: &mut impl TokenSink) -> bool {
    for inner in val.inner_values() {
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
        let goes_on = match inner.short_name() {
            Some(name) => sink.member(tag, name),
            None => sink.long_member(tag, inner.quoted_name()),
        };
        if !goes_on {
            return false;
        }
        match place {
            0 => {}
            1 => {
                if !skeleton(inner, values, sink) {
                    return false;
                }
            }
            _ => {
                *values = values.get(1..).unwrap_or_default();
                skip_words(values);
            }
        }
    }
    sink.token(u64::from(val.kind() == Kind::Array))
}

/// Skips words up to the next hole or string of tildes.
#[inline]
fn skip_words(values: &mut &[LineValue]) {
    while let [LineValue { sort: LineValueSort::Word, .. }, others @ ..] = *values {
        *values = others;
    }
}

/// Whether the text between two addresses consists only of consecutive values of events, whose numbers are passed on.
/// `None` if the sink stopped.
fn joined(
    values: &[(usize, usize)],
    mut start: usize,
    end: usize,
    sink: &mut impl TokenSink,
) -> Option<bool> {
    while start < end {
        let is_next =
            |(address, length): &(usize, usize)| *address == start && (1..=end - start).contains(length);
        let Some(number) = values.iter().position(is_next) else { return Some(false) };
        start += values[number].1;
        if !sink.token(number as u64) {
            return None;
        }
    }
    Some(true)
}

/// The numbers of the values that are the media type and the data of a data URL in a JSON string.
fn places_of_url(string: &str, values: &[(usize, usize)]) -> Option<(usize, usize)> {
    let (kind, data) = string.strip_prefix("\"data:")?.strip_suffix('"')?.split_once(";base64,")?;
    let place = |text: &str| values.iter().position(|value| *value == address_of(text));
    Some((place(kind)?, place(data)?))
}

/// The address and the length of a text.
#[inline]
pub(super) fn address_of(text: &str) -> (usize, usize) {
    (text.as_ptr() as usize, text.len())
}
