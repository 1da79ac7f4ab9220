//! The counts at each path. Bounded, regardless of the names in a frame.

use std::collections::HashMap;
use std::hash::Hasher;

use super::{Reason, Row};
use crate::framing::FramePlace;
use crate::model::Field;

/// The number of a path, or of a placeholder in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathNumber(pub(super) u32);

impl PathNumber {
    pub(super) const DOCUMENT: Self = Self(0);
    pub(super) const OTHERS: Self = Self(u32::MAX);
    pub(super) const UNPARSED: Self = Self(u32::MAX - 1);
    pub(super) const NOTHING: Self = Self(u32::MAX - 2);
    pub(super) const HOLES: Self = Self(u32::MAX - 3);
    pub(super) const MARK: Self = Self(u32::MAX - 4);

    /// A value of the field at an unknown path.
    pub(super) const fn of_field(field: Field) -> Self {
        Self(u32::MAX - 256 - field as u32)
    }

    const fn is_path(self) -> bool {
        self.0 < u32::MAX - 1024
    }
}

/// An addition to a row.
#[derive(Clone, Copy)]
pub(super) struct Booking {
    pub(super) reason: Reason,
    pub(super) field: Option<Field>,
    pub(super) leaves: u64,
    pub(super) bytes: u64,
    pub(super) frame: FramePlace,
}

impl Booking {
    /// A number that distinguishes the rows of one path. It is never zero.
    #[inline]
    fn mark(&self) -> u32 {
        1 + self.reason as u32 + (self.field.map_or(0, |field| u32::from(field as u8) + 1) << 8)
    }
}

/// Paths with their counts. Bounded: beyond [`Paths::MOST`] distinct paths, further paths are counted together.
#[derive(Debug, Default)]
pub(super) struct Paths {
    rows: Vec<Row>,
    /// The first row of each path, with its mark; a mark of zero means no row.
    first: Vec<(u32, u32)>,
    /// The further rows, by path and mark.
    others: HashMap<(u32, u32), u32>,
}

impl Paths {
    const MOST: usize = 4096;

    /// Adds to the row with this number, if the row has the same reason and field.
    #[inline]
    pub(super) fn add_to(&mut self, number: u32, row: &Booking) -> bool {
        let known = self.rows.get_mut(number as usize);
        let Some(known) = known.filter(|known| known.reason == Some(row.reason) && known.field == row.field)
        else {
            return false;
        };
        known.count += row.leaves;
        known.bytes += row.bytes;
        true
    }

    /// Adds to the row with this number.
    #[inline]
    pub(super) fn add_again(&mut self, number: u32, leaves: u64, bytes: u64) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            row.count += leaves;
            row.bytes += bytes;
        }
    }

    /// Adds to the row of a path. Returns the number of the row.
    #[inline]
    pub(super) fn add(&mut self, path: PathNumber, row: Booking, text: impl FnOnce() -> String) -> u32 {
        let mark = row.mark();
        // Nearly every path has been seen before.
        if let Some((_, number)) =
            self.first.get(path.0 as usize).filter(|(known, _)| *known == mark).copied()
            && let Some(known) = self.rows.get_mut(number as usize)
        {
            known.count += row.leaves;
            known.bytes += row.bytes;
            return number;
        }
        self.add_other(path, row, text)
    }

    #[inline(never)]
    fn add_other(&mut self, path: PathNumber, row: Booking, text: impl FnOnce() -> String) -> u32 {
        let Booking { reason, field, leaves, bytes, frame } = row;
        let mark = row.mark();
        // The first row of a path is in `first`.
        let is_first = path.is_path() && self.first.get(path.0 as usize).is_none_or(|(mark, _)| *mark == 0);
        let mut known = if is_first { None } else { self.others.get(&(path.0, mark)).copied() };
        if known.is_none() {
            // Placeholders in brackets are not paths; there are few, and each has its own meaning.
            let is_beyond = path.is_path() && self.rows.len() >= Self::MOST;
            let path = if is_beyond { PathNumber::OTHERS } else { path };
            if is_beyond {
                // Further paths are still split by reason and field: a loss of conversation must not look like
                // bookkeeping.
                known = self.others.get(&(path.0, mark)).copied();
            }
            if known.is_none() {
                let new = self.rows.len() as u32;
                let text = if path == PathNumber::OTHERS { "(other paths)".to_owned() } else { text() };
                self.rows.push(Row {
                    path: text,
                    reason: Some(reason),
                    field,
                    count: 0,
                    bytes: 0,
                    first: frame,
                });
                self.insert(path, mark, new);
                known = Some(new);
            }
        }
        let number = known.unwrap_or_default();
        self.add_again(number, leaves, bytes);
        number
    }

    fn insert(&mut self, path: PathNumber, mark: u32, row: u32) {
        let at = path.0 as usize;
        if path.is_path() && self.first.len() <= at {
            self.first.resize(at + 1, (0, 0));
        }
        match self.first.get_mut(at) {
            Some(slot) if slot.0 == 0 => *slot = (mark, row),
            _ => _ = self.others.insert((path.0, mark), row),
        }
    }

    /// Empties the matching rows; returns the number of leaves they counted.
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
            let names = || a.path.cmp(&b.path).then_with(|| a.reason.cmp(&b.reason));
            // One path may have several fields: the field seen first comes first.
            let seen = || a.first.number.cmp(&b.first.number).then_with(|| a.field.cmp(&b.field));
            b.count.cmp(&a.count).then_with(names).then_with(seen)
        });
        rows
    }
}

/// A hasher for keys that are already hashes.
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

/// A fast hash for the tables of this process. Collisions are easy to construct, so the hash is never sufficient
/// alone: where two texts must be distinguished, the texts or their [`text_key`] are compared.
#[inline]
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(K);
    // The last word overlaps the word before it, so that no length needs a loop over bytes.
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
