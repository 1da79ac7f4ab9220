//! Paths: where in a frame a leaf stands, as a hash while the frame is walked and as text once per distinct path, and
//! what was counted there. Bounded, whatever names a frame makes up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Reason, Row};
use crate::model::Field;
use crate::tape::Name;

/// The names of the containers we are in, and the hash of the path so far.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(Name, u64)>);

impl Names {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub(super) fn enter(&mut self, name: Name) {
        let hash = self.hash_of(name);
        self.0.push((name, hash));
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    #[inline]
    pub(super) fn hash_of(&self, name: Name) -> u64 {
        mix(self.0.last().map_or(SEED, |&(_, hash)| hash), u64::from(name.hash))
    }

    /// The path for people, built once per distinct path.
    pub(super) fn text_of(&self, frame: &str, last: Name) -> String {
        let mut text = String::new();
        // The document itself is the first container and has no name.
        for name in self.0.iter().skip(1).map(|&(name, _)| name).chain([last]) {
            match name.text(frame) {
                Some(name) => {
                    text.push('/');
                    text.push_str(name);
                }
                None => text.push_str("[]"),
            }
        }
        text
    }
}

/// What is added to a row.
#[derive(Clone, Copy)]
pub(super) struct Booking {
    pub(super) reason: Reason,
    pub(super) field: Option<Field>,
    pub(super) leaves: u64,
    pub(super) bytes: u64,
    pub(super) frame: u64,
}

/// Paths with their counts. Bounded: past [`Paths::MOST`] distinct ones the rest is counted together.
#[derive(Debug, Default)]
pub(super) struct Paths {
    rows: HashMap<u64, Row, BuildHasherDefault<Identity>>,
}

impl Paths {
    const MOST: usize = 4096;

    #[inline]
    pub(super) fn add(&mut self, key: u64, row: Booking, path: impl FnOnce() -> String) {
        let key = key ^ row.reason as u64 ^ row.field.map_or(0, |field| u64::from(field as u8 + 1) << 8);
        // Nearly every path has been seen before.
        if let Some(known) = self.rows.get_mut(&key) {
            known.count += row.leaves;
            known.bytes += row.bytes;
        } else {
            self.add_row(key, row, path());
        }
    }

    #[cold]
    fn add_row(&mut self, mut key: u64, row: Booking, mut path: String) {
        let Booking { reason, field, leaves, bytes, frame } = row;
        if self.rows.len() >= Self::MOST {
            (key, path) = (reason as u64, "(other paths)".to_owned());
        }
        let new = Row { path, reason: Some(reason), field, count: 0, bytes: 0, first_frame: frame };
        let row = self.rows.entry(key).or_insert(new);
        row.count += leaves;
        row.bytes += bytes;
    }

    /// Takes rows out; returns how many leaves they counted.
    pub(super) fn remove_all(&mut self, mut which: impl FnMut(&Row) -> bool) -> u64 {
        let mut leaves = 0;
        self.rows.retain(|_, row| {
            let gone = which(row);
            leaves += if gone { row.count } else { 0 };
            !gone
        });
        leaves
    }

    pub(super) fn rows(&self, with_reason: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.values().cloned().collect();
        if !with_reason {
            for row in &mut rows {
                row.reason = None;
            }
        }
        rows.sort_by(|a, b| {
            let names = a.path.cmp(&b.path).then(a.reason.cmp(&b.reason));
            // One path may stand for several fields: the one seen first comes first.
            let seen = a.first_frame.cmp(&b.first_frame).then(a.field.cmp(&b.field));
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

/// A fast hash for short names. Two paths with the same hash would share a row in the report, nothing more.
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
