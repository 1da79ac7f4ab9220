//! The clock of a source: the time of its last line. Items without a time of their own get this time. A time that no
//! item used is booked as lost.

use super::file::is_date;
use crate::json::Raw;
use crate::ledger::Reason;
use crate::model::{Field, time};
use crate::pipe::WriterOutput;
use crate::tape::{Tape, TapePlace};

/// The current time of the source.
#[derive(Debug, Default)]
pub(super) struct SourceClock {
    /// The time, and whether a frame holds it.
    now: Option<(Raw<'static>, bool)>,
}

impl SourceClock {
    /// Sets the time. `in_kept_frame`: a kept frame that follows holds the time. `all_kept`: the whole file is made of
    /// kept frames, one of which holds the time.
    pub(super) fn set(
        &mut self,
        time: &Raw<'_>,
        in_kept_frame: bool,
        all_kept: bool,
        out: &mut WriterOutput<'_>,
    ) {
        if self.now.as_ref().is_some_and(|(now, _)| now == time) {
            return;
        }
        self.give_up(out);
        let counted = dated(Some(time));
        let time = counted.as_ref().unwrap_or(time);
        if in_kept_frame {
            return;
        }
        if is_date(time) {
            self.now = Some((time.clone().into_owned(), all_kept));
        } else {
            out.lose_raw(Field::EventTime, time, Reason::Narrowed);
        }
    }

    /// The time, for an item without a time of its own. The frame of the item holds the time.
    pub(super) fn take(&mut self) -> Option<Raw<'static>> {
        self.now.as_mut().map(|(time, taken)| {
            *taken = true;
            time.clone()
        })
    }

    /// Forgets the time: the kept frame that is restored now holds its own time, which is also the time of its session
    /// changes.
    pub(super) fn forget(&mut self) {
        self.now = None;
    }

    /// Books the time as lost if no item used it.
    pub(super) fn give_up(&mut self, out: &mut WriterOutput<'_>) {
        if let Some((time, false)) = self.now.take() {
            out.ledger.lose_late(Field::EventTime, Reason::Redundant, 1, time.as_str().len() as u64);
        }
    }

    /// Books the time of a frame without an item as lost on the leaf that holds the time.
    pub(super) fn give_up_in(&mut self, frame: &Tape<'_>) {
        if let Some((_, taken @ false)) = &mut self.now {
            *taken = true;
            frame
                .claimed_for(Field::EventTime, TapePlace::FRAME)
                .for_each(|leaf| leaf.unsaid(Reason::Redundant));
        }
    }
}

/// The date of a numeric time: logs have dates.
pub(super) fn dated(time: Option<&Raw<'_>>) -> Option<Raw<'static>> {
    let counted = time.filter(|time| time.as_str().starts_with(|first: char| first.is_ascii_digit()))?;
    time::utc(counted).map(|date| Raw::owned(format!("\"{date}\"")))
}
