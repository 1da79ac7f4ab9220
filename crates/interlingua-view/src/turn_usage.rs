//! The tokens of one turn.

use std::collections::HashMap;

use interlingua::model::{Turn, Usage};

/// The tokens of one turn, from the cumulative reports of its responses and from the total at its end.
#[derive(Clone, Debug, Default)]
pub struct TurnUsage {
    responses: HashMap<String, Usage>,
    total: Usage,
}

impl TurnUsage {
    /// Adds a cumulative report of one response. Returns the increase.
    pub fn report(&mut self, turn: &Turn<'_>) -> Usage {
        let Some(usage) = &turn.usage else { return Usage::default() };
        let more = match &turn.id {
            None => *usage,
            Some(id) => {
                let known = self.responses.entry(id.as_escaped().to_owned()).or_default();
                let more = usage.increase_over(known);
                *known = known.and(&more);
                more
            }
        };
        self.total = self.total.and(&more);
        more
    }

    /// Adds the end of the turn, whose usage is the turn's total. Returns the increase.
    pub fn end(&mut self, turn: &Turn<'_>) -> Usage {
        let more = turn.usage.as_ref().map(|usage| usage.increase_over(&self.total)).unwrap_or_default();
        self.total = self.total.and(&more);
        more
    }

    /// The tokens so far.
    pub const fn total(&self) -> &Usage {
        &self.total
    }

    /// Sets the tokens to zero. Later reports of known responses still add only their increase.
    pub(crate) fn clear_total(&mut self) {
        self.total = Usage::default();
    }
}
