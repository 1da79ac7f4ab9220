//! Usage counted: reports are cumulative for each response; sums need the increase of each report.

use super::Usage;
use crate::json::Str;

/// The usage reported so far for each response id. The caller chooses how many responses are remembered.
pub trait ResponseUsages {
    /// The usage reported so far for the response; empty for a new id.
    fn usage_of(&mut self, id: &Str<'_>) -> &mut Usage;
}

/// Turns cumulative usage per response into the increase of each report, so that all increases add up to the session's
/// total; and back.
#[derive(Debug, Default)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Tally<R> {
    /// The usage of the responses so far.
    pub responses: R,
    /// The usage reported by the responses of this turn so far.
    turn: Usage,
}

impl<R: ResponseUsages> Tally<R> {
    /// The increase of a report over the known usage of the response. A report without an id counts as a new response.
    pub fn increase(&mut self, id: Option<&Str<'_>>, usage: &Usage) -> Usage {
        let more = id.map_or(*usage, |id| self.responses.usage_of(id).take_in(usage));
        self.add(&more);
        more
    }

    /// Adds an increase to the usage of this turn.
    pub fn add(&mut self, more: &Usage) {
        self.turn = self.turn.and(more);
    }

    /// The cumulative report of a response whose usage grew by `more`.
    pub fn report(&mut self, id: Option<&Str<'_>>, more: &Usage) -> Usage {
        self.add(more);
        let Some(id) = id else { return *more };
        let known = self.responses.usage_of(id);
        let all = known.and(more);
        *known = all;
        // Counts missing in `more` are left out of the report.
        all.where_said(more)
    }

    /// Starts a turn. Returns the increase of the usage reported at its start, if any.
    pub fn begin_turn(&mut self, id: Option<&Str<'_>>, usage: Option<&Usage>) -> Option<Usage> {
        self.turn = Usage::default();
        usage.map(|usage| self.increase(id, usage))
    }

    /// Ends a turn. The usage at the end is the turn's total: only the part its responses did not report is added.
    pub fn end_turn(&mut self, usage: Option<&Usage>) -> Option<Usage> {
        let more = usage?.increase_over(&self.turn);
        self.add(&more);
        Some(more)
    }
}
