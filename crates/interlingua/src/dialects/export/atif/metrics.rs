//! Token counts and costs of steps and of the whole trajectory.

use crate::dialects::export::usage::{self, Responses};
use crate::json::{JsonWriter, Raw};
use crate::model::{Event, Tally, Usage};

/// Counts and a cost.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Metrics {
    usage: Usage,
    cost: Option<f64>,
}

impl Metrics {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn add(&mut self, other: &Metrics) {
        self.usage = self.usage.and(&other.usage);
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    /// Writes the members under the names of a step or of the whole trajectory.
    pub(super) fn write(&self, names: [&str; 4], json: &mut JsonWriter<'_>) {
        let [input, output, cached, cost] = names;
        json.opt_u64(input, self.usage.all_input()).opt_u64(output, self.usage.output);
        json.opt_u64(cached, self.usage.cache_read);
        // JSON has no infinite numbers.
        let number = self.cost.filter(|cost| cost.is_finite()).map(|cost| Raw::owned(cost.to_string()));
        json.opt_raw(cost, number.as_ref());
    }
}

/// The names of the members in a step.
pub(super) const OF_STEP: [&str; 4] = ["prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"];
/// The names of the members in `final_metrics`.
pub(super) const OF_TRAJECTORY: [&str; 4] =
    ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd"];

/// The counts and the cost that an event adds to the session, if any.
pub(super) fn increase(event: &Event<'_>, tally: &mut Tally<Responses>) -> Option<Metrics> {
    let cost = match event {
        Event::TurnStarted(turn) | Event::TurnEnded(turn) | Event::Usage(turn) => turn.cost.as_ref(),
        _ => None,
    };
    let cost = cost.and_then(|cost| cost.as_str().parse().ok());
    let metrics = Metrics { usage: usage::increase(event, tally).unwrap_or_default(), cost };
    (!metrics.is_empty()).then_some(metrics)
}
