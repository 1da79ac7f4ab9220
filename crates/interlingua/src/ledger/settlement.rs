//! The settlement of the last frame of a shape. A frame of the same shape has the same values at the same paths, so if the
//! same values are claimed for the same fields, every value has the same fate and only the number of bytes differs.

use super::Fate;
use super::paths::Paths;
use super::settle::Watcher;
use crate::tape::{Claim, ClaimList, Tape, Visited};

/// The fates of the values of a frame, as far as they depend on its shape and its claims.
#[derive(Debug, Default)]
pub(crate) struct Settlement {
    claims: ClaimList,
    /// The fate of unclaimed values, and the number of fields that the target had turned out not to support. `None` if
    /// no settlement is known.
    terms: Option<(Fate, usize)>,
    /// Leaves that the target holds, without tags.
    pub(super) mapped: u64,
    /// Leaves of tags.
    pub(super) structure: u64,
    booked: Vec<BookedValue>,
    /// Leaves of the booked values.
    leaves: u64,
}

/// A value that was kept or lost.
#[derive(Clone, Copy, Debug)]
struct BookedValue {
    /// The number of the value in the frame.
    value: u32,
    leaves: u32,
    /// The row of its path.
    row: u32,
}

impl Settlement {
    /// Whether the values of a frame have the same fates.
    pub(super) fn applies_to(&self, tape: &Tape<'_>, unclaimed: Fate, given_up: usize) -> bool {
        self.terms == Some((unclaimed, given_up)) && tape.has_claims(&self.claims)
    }

    /// Books the values of a frame. Returns the number of their leaves.
    pub(super) fn book_again(&self, tape: &Tape<'_>, paths: &mut Paths) -> u64 {
        for booked in &self.booked {
            paths.add_again(booked.row, u64::from(booked.leaves), u64::from(tape.length_of(booked.value)));
        }
        self.leaves
    }

    /// Forgets the settlement. The values of another frame follow.
    pub(super) fn begin(&mut self) {
        self.terms = None;
        self.booked.clear();
        self.leaves = 0;
    }

    /// Ends the settlement of a frame.
    pub(super) fn end(&mut self, tape: &Tape<'_>, mapped: u64, structure: u64, terms: (Fate, usize)) {
        (self.mapped, self.structure) = (mapped, structure);
        self.terms = tape.copy_claims(&mut self.claims).then_some(terms);
    }
}

impl Watcher for Settlement {
    fn value(&mut self, _: Visited<'_>, _: Claim, _: Fate) {}

    fn booked(&mut self, seen: Visited<'_>, row: u32) {
        let leaves = seen.leaves();
        self.leaves += leaves;
        self.booked.push(BookedValue { value: seen.val.number(), leaves: leaves as u32, row });
    }
}
