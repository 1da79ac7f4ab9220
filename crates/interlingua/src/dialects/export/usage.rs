//! The usage of responses: the increase of each report, so that the increases of a session add up.

use std::collections::HashMap;

use crate::json::Str;
use crate::ledger::text_key;
use crate::model::{Event, ResponseUsages, Tally, Usage};

/// The usage of the responses so far, by the key of their id; the oldest half is forgotten.
#[derive(Default)]
pub(super) struct Responses {
    recent: HashMap<u128, Usage>,
    older: HashMap<u128, Usage>,
}

impl Responses {
    /// Responses per generation: two generations are remembered, in 8 MB at most.
    const MOST: usize = 1 << 15;
}

impl ResponseUsages for Responses {
    fn usage_of(&mut self, id: &Str<'_>) -> &mut Usage {
        let key = text_key(id.as_escaped());
        if self.recent.len() >= Self::MOST && !self.recent.contains_key(&key) {
            self.older = std::mem::take(&mut self.recent);
        }
        let known = self.older.get(&key).copied().unwrap_or_default();
        self.recent.entry(key).or_insert(known)
    }
}

/// The increase that an event reports, if any. A report is the total of its response so far, and the end of a turn is the
/// total of its responses.
pub(super) fn increase(event: &Event<'_>, tally: &mut Tally<Responses>) -> Option<Usage> {
    match event {
        Event::TurnStarted(turn) => tally.begin_turn(turn.id.as_ref(), turn.usage.as_ref()),
        Event::TurnEnded(turn) => tally.end_turn(turn.usage.as_ref()),
        Event::Usage(turn) => turn.usage.as_ref().map(|usage| tally.increase(turn.id.as_ref(), usage)),
        _ => None,
    }
}
