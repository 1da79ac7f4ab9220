//! Usage counted: reports are cumulative for each response, sums want what each report adds.

use super::Usage;
use crate::json::Str;

/// What responses have told so far, by their ids. How many of them are remembered is the caller's choice.
pub trait ResponseUsages {
    /// What the response of that id has told; nothing yet, if it is heard of for the first time.
    fn usage_of(&mut self, id: &Str<'_>) -> &mut Usage;
}

/// Turns cumulative usage per response into what each report adds, so that all of them add up to the session; and back.
#[derive(Debug, Default)]
pub struct Tally<R> {
    /// The responses heard of.
    pub responses: R,
    /// What the responses of this turn have told so far.
    turn: Usage,
}

impl<R: ResponseUsages> Tally<R> {
    /// What a report adds to what is known of the response. Without an id each report is about a response of its own.
    pub fn increase(&mut self, id: Option<&Str<'_>>, usage: &Usage) -> Usage {
        let more = id.map_or(*usage, |id| self.responses.usage_of(id).take_in(usage));
        self.add(&more);
        more
    }

    /// The responses of this turn have told so much more.
    pub fn add(&mut self, more: &Usage) {
        self.turn = self.turn.and(more);
    }

    /// What a response must have reported to add `more`.
    pub fn report(&mut self, id: Option<&Str<'_>>, more: &Usage) -> Usage {
        self.add(more);
        let Some(id) = id else { return *more };
        let known = self.responses.usage_of(id);
        let all = known.and(more);
        *known = all;
        // A number that was not reported this time is not said again.
        all.where_said(more)
    }

    /// A turn begins, and may tell what it used so far. Returns what that adds.
    pub fn begin_turn(&mut self, id: Option<&Str<'_>>, usage: Option<&Usage>) -> Option<Usage> {
        self.turn = Usage::default();
        usage.map(|usage| self.increase(id, usage))
    }

    /// A turn ends. Its count is its total: only what its responses have not told is added.
    pub fn end_turn(&mut self, usage: Option<&Usage>) -> Option<Usage> {
        let more = usage?.increase_over(&self.turn);
        self.add(&more);
        Some(more)
    }
}
