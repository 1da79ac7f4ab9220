//! Paths: where in a frame a leaf stands, as a hash while the frame is walked and as text once per distinct path, and
//! what was counted there. Bounded, whatever names a frame makes up. The hash finds a row; the text decides whether it
//! is the right one.

use std::hash::Hasher;

use super::{Reason, Row, text_key};
use crate::framing::FramePlace;
use crate::json::same;
use crate::model::Field;
use crate::tape::{Name, Val};

/// The containers around a value. They are found when the path is asked for: most values are mapped, and nobody asks.
#[derive(Debug, Default)]
pub(super) struct Names {
    around: Vec<Container>,
    /// The number of the first value that has not been passed.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Container {
    name: Name,
    /// The number of the value after it.
    end: u32,
    /// The hash of the path to it.
    hash: u64,
}

impl Names {
    /// Begins with that document.
    pub(super) fn begin(&mut self, root: Val<'_>) {
        self.around.clear();
        self.next = root.number();
    }

    /// Goes on to a value of the document, which stands behind all those before. Each value is passed once at most.
    pub(super) fn go_to(&mut self, value: Val<'_>) {
        let place = value.number();
        while self.next < place {
            self.leave(self.next);
            let passed = value.numbered(self.next);
            let end = passed.number_after();
            if end <= place {
                self.next = end;
            } else {
                let hash = self.hash_of(passed.name());
                self.around.push(Container { name: passed.name(), end, hash });
                self.next += 1;
            }
        }
        self.leave(place);
    }

    /// Leaves the containers that end before the value of that number.
    fn leave(&mut self, next: u32) {
        while self.around.pop_if(|container| container.end <= next).is_some() {}
    }

    #[inline]
    pub(super) fn hash_of(&self, name: Name) -> u64 {
        match self.around.last() {
            Some(container) => mix(container.hash, u64::from(name.hash)),
            // The document itself, whatever it is called where it stands.
            None => SEED,
        }
    }

    /// The path of a value in the frame of that text.
    #[inline]
    pub(super) const fn path_of<'n>(&'n self, frame: &'n str, last: Name) -> LeafPath<'n> {
        LeafPath { names: self, frame, last }
    }

    /// The path for people, built once per distinct path.
    fn text_of(&self, frame: &str, last: Name) -> String {
        let mut text = String::new();
        let names = self.around.iter().map(|container| container.name).chain([last]);
        // The document itself has no name.
        let names = names.skip(1.min(self.around.len()));
        for name in names {
            match name.text(frame).filter(|_| !self.around.is_empty()) {
                Some(name) => {
                    text.push('/');
                    text.push_str(name);
                }
                None => text.push_str("[]"),
            }
            if text.len() > LONGEST_PATH {
                let end = (0..=LONGEST_PATH).rev().find(|at| text.is_char_boundary(*at));
                text.truncate(end.unwrap_or(0));
                text.push('…');
                break;
            }
        }
        text
    }
}

/// A path, as text only if it is asked for.
pub(super) trait RowPath {
    /// Whether the row of that path is the one of this.
    fn is(&self, known: &str) -> bool;

    fn text(&self) -> String;
}

/// Words in brackets that stand for a path.
impl RowPath for &str {
    fn is(&self, known: &str) -> bool {
        *self == known
    }

    fn text(&self) -> String {
        (*self).to_owned()
    }
}

/// The path of a leaf that is being settled.
pub(super) struct LeafPath<'n> {
    names: &'n Names,
    frame: &'n str,
    last: Name,
}

impl LeafPath<'_> {
    /// What is left of a path that begins with that name.
    #[inline]
    fn after<'k>(&self, known: &'k [u8], name: Name) -> Option<&'k [u8]> {
        let Some(name) = name.text(self.frame) else { return known.strip_prefix(b"[]") };
        let (begin, rest) = known.strip_prefix(b"/")?.split_at_checked(name.len())?;
        same(begin, name.as_bytes()).then_some(rest)
    }
}

impl RowPath for LeafPath<'_> {
    #[inline]
    fn is(&self, known: &str) -> bool {
        let [_document, around @ ..] = &self.names.around[..] else { return known == "[]" };
        let mut rest = known.as_bytes();
        for container in around {
            match self.after(rest, container.name) {
                Some(after) => rest = after,
                None => return self.is_cut(known),
            }
        }
        self.after(rest, self.last).is_some_and(<[u8]>::is_empty) || self.is_cut(known)
    }

    fn text(&self) -> String {
        self.names.text_of(self.frame, self.last)
    }
}

impl LeafPath<'_> {
    /// Whether it is a path that is too long to be shown whole.
    #[cold]
    fn is_cut(&self, known: &str) -> bool {
        known.len() > LONGEST_PATH - 4 && self.text() == known
    }
}

/// The most bytes of a path: names may be long and deep, and a report holds thousands of them.
const LONGEST_PATH: usize = 1000;

/// What is added to a row.
#[derive(Clone, Copy)]
pub(super) struct Booking {
    pub(super) reason: Reason,
    pub(super) field: Option<Field>,
    pub(super) leaves: u64,
    pub(super) bytes: u64,
    pub(super) frame: FramePlace,
}

impl Booking {
    /// Tells the rows of one path apart.
    #[inline]
    fn mark(&self) -> u64 {
        self.reason as u64 ^ self.field.map_or(0, |field| u64::from(field as u8 + 1) << 8)
    }

    #[inline]
    fn is_of(&self, row: &Row) -> bool {
        row.reason == Some(self.reason) && row.field == self.field
    }
}

/// Paths with their counts. Bounded: past [`Paths::MOST`] distinct ones the rest is counted together.
#[derive(Debug, Default)]
pub(super) struct Paths {
    rows: Vec<Row>,
    /// The keys of the rows and their numbers, in a table whose length is a power of two and at least half of it free.
    table: Vec<Option<(u64, u32)>>,
}

impl Paths {
    const MOST: usize = 4096;

    #[inline]
    pub(super) fn add(&mut self, key: u64, row: Booking, path: &impl RowPath) {
        let key = key ^ row.mark();
        // Nearly every path has been seen before.
        let found = self.find(key).and_then(|number| self.rows.get_mut(number as usize));
        let is_taken = found.is_some();
        if let Some(known) = found.filter(|known| row.is_of(known) && path.is(&known.path)) {
            known.count += row.leaves;
            known.bytes += row.bytes;
        } else {
            self.add_row(key, row, path.text(), is_taken);
        }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        let mut slot = key as usize;
        loop {
            // An empty table has no slot, any other a free one.
            let (known, number) = (*self.table.get(slot & self.table.len().wrapping_sub(1))?)?;
            if known == key {
                return Some(number);
            }
            slot += 1;
        }
    }

    #[cold]
    fn add_row(&mut self, mut key: u64, row: Booking, mut path: String, is_taken: bool) {
        let Booking { reason, field, leaves, bytes, frame } = row;
        if is_taken {
            // Another path has that hash. Nobody can make two paths share a keyed one.
            key = text_key(&path) as u64 ^ row.mark();
        }
        let is_its = |rows: &[Row], number: &u32, path: &str| {
            rows.get(*number as usize).is_some_and(|known| row.is_of(known) && known.path == path)
        };
        let mut known = self.find(key).filter(|number| is_its(&self.rows, number, &path));
        // What stands in brackets is no path; there are few, and each says something of its own.
        if known.is_none() && self.rows.len() >= Self::MOST && !path.starts_with('(') {
            // Not all together: what was lost of the conversation must not pass for bookkeeping.
            (key, path) = (OTHERS_HASH ^ row.mark(), "(other paths)".to_owned());
            known = self.find(key).filter(|number| is_its(&self.rows, number, &path));
        }
        let number = known.unwrap_or_else(|| {
            let new = Row { path, reason: Some(reason), field, count: 0, bytes: 0, first: frame };
            self.rows.push(new);
            self.insert(key, self.rows.len() as u32 - 1)
        });
        let row = &mut self.rows[number as usize];
        row.count += leaves;
        row.bytes += bytes;
    }

    fn insert(&mut self, key: u64, number: u32) -> u32 {
        if self.rows.len() * 2 > self.table.len() {
            let twice = (self.table.len() * 2).max(64);
            let known = std::mem::replace(&mut self.table, vec![None; twice]);
            known.into_iter().flatten().for_each(|(key, number)| self.place(key, number));
        }
        self.place(key, number);
        number
    }

    fn place(&mut self, key: u64, number: u32) {
        let mask = self.table.len() - 1;
        let mut slot = key as usize & mask;
        while self.table[slot].is_some() {
            slot = (slot + 1) & mask;
        }
        self.table[slot] = Some((key, number));
    }

    /// Empties rows; returns how many leaves they counted.
    pub(super) fn remove_all(&mut self, which: impl Fn(&Row) -> bool) -> u64 {
        let mut leaves = 0;
        for row in self.rows.iter_mut().filter(|row| which(row)) {
            leaves += std::mem::take(&mut row.count);
            row.bytes = 0;
        }
        leaves
    }

    pub(super) fn rows(&self, with_reason: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.iter().filter(|row| row.count > 0).cloned().collect();
        if !with_reason {
            for row in &mut rows {
                row.reason = None;
            }
        }
        rows.sort_by(|a, b| {
            let names = a.path.cmp(&b.path).then(a.reason.cmp(&b.reason));
            // One path may stand for several fields: the one seen first comes first.
            let seen = a.first.number.cmp(&b.first.number).then(a.field.cmp(&b.field));
            b.count.cmp(&a.count).then(names).then(seen)
        });
        rows
    }
}

/// Keys are hashes already.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(self.0, bytes);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

pub(super) const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;
pub(super) const UNPARSED_HASH: u64 = 1;
pub(super) const NOTHING_HASH: u64 = 2 << 32;
pub(super) const HOLES_HASH: u64 = 3 << 32;
pub(super) const BLANK_HASH: u64 = 4 << 32;
pub(super) const MARK_HASH: u64 = 5 << 32;
const OTHERS_HASH: u64 = 6 << 32;

/// A fast hash for the tables of this process. Texts that share it are easily made, so it decides nothing alone: where two
/// texts must be told apart, they are compared, or their [`text_key`] is.
#[inline]
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(K);
    // The last word overlaps the one before it, so that no length needs a loop over bytes.
    if let Some(last) = bytes.last_chunk::<8>() {
        let mut rest = bytes;
        while let Some((word, tail)) = rest.split_first_chunk::<8>() {
            state = mix(state, u64::from_le_bytes(*word));
            rest = tail;
        }
        mix(state, u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        mix(state, u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)))
    } else {
        bytes.iter().fold(state, |state, &byte| mix(state, u64::from(byte)))
    }
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
const fn mix(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(K).rotate_left(29)
}
