//! Token usage: cumulative in the model, increases in the record.

use crate::emit::Emit;
use crate::model::Usage;
use crate::text::Str;

/// Writes an entry's `token-usage`.
pub(super) fn write_usage(usage: &Usage, json: &mut Emit<'_>) {
    let Usage { input: _, cache_read, cache_write: _, cache_write_long: _, output, reasoning } = usage;
    let input = usage.all_input();
    let total = input.zip(*output).map(|(input, output)| input.saturating_add(output));
    json.key("token-usage").object();
    json.opt_u64("input", input)
        .opt_u64("output", *output)
        .opt_u64("cached", *cache_read)
        .opt_u64("reasoning", *reasoning)
        .opt_u64("total", total);
    json.end_object();
}

/// Turns cumulative usage per response into what each entry adds, so that entries add up to the session.
#[derive(Default)]
pub(super) struct Meter {
    /// The responses seen last, with what they had used. Lines of one response stand close together.
    recent: std::collections::VecDeque<(String, Usage)>,
}

impl Meter {
    const MOST: usize = 32;

    /// What this report adds to what is known of the response; `None` if nothing.
    pub(super) fn increase(&mut self, id: Option<&Str<'_>>, usage: &Usage) -> Option<Usage> {
        let Some(id) = id else { return some(*usage) };
        if let Some((_, known)) = self.recent.iter_mut().rev().find(|(known, _)| known == id.as_escaped()) {
            let more = usage.increase_over(known);
            *known = known.and(&more);
            return some(more);
        }
        // The oldest slot's string is used again.
        let mut slot = if self.recent.len() < Self::MOST {
            String::with_capacity(64)
        } else {
            self.recent.pop_front().map(|(id, _)| id).unwrap_or_default()
        };
        slot.clear();
        slot.push_str(id.as_escaped());
        self.recent.push_back((slot, *usage));
        some(*usage)
    }
}

/// Nothing used is nothing to write.
fn some(usage: Usage) -> Option<Usage> {
    let Usage { input, cache_read, cache_write, cache_write_long: _, output, reasoning } = usage;
    let counts = [input, cache_read, cache_write, output, reasoning];
    counts.into_iter().flatten().any(|count| count > 0).then_some(usage)
}
