//! What each response used. Newer logs say so right after it (`token_usage_record`), all logs when the screen shows the
//! count (`token_count`), again and again; the running total tells whether there is news.

use super::read::{CodexReader, Payload};
use crate::json::{Latest, Str};
use crate::model::{Event, Field, Turn, Usage};
use crate::pipe::Events;
use crate::tape::{Kind, Member, Val, WantedNames};

/// What was told last: the running total, the usage of the last response, and its id.
#[derive(Default)]
pub(super) struct TokenCounts {
    total: Latest,
    last: Latest,
    response: Latest,
    /// The counts of the total.
    sum: Usage,
}

/// What a line tells that was not known yet: what a response used, and which.
pub(super) struct TokenNews<'t> {
    /// What the response used, or the total if only that is told.
    counts: Val<'t>,
    /// What the total rose by, if only that is told.
    rise: Option<Usage>,
    response: Option<Val<'t>>,
}

impl TokenCounts {
    /// What the line tells. In a fork the total begins with its parent's, so what it rose by is not what was used, but what
    /// the line itself calls the last usage is.
    pub(super) fn news<'t>(&mut self, word: &str, payload: Payload<'t>) -> Option<TokenNews<'t>> {
        const COUNT: WantedNames<2> = WantedNames::new(["total_token_usage", "last_token_usage"]);
        const RECORD: WantedNames<3> = WantedNames::new(["thread_token_usage", "usage", "response_id"]);
        let (total, last, response) = match word {
            "token_count" => {
                let [total, last] = payload.val.get("info")?.find(&COUNT);
                (total, last, None)
            }
            "token_usage_record" => {
                let [total, last, response] = payload.val.find(&RECORD);
                (total, last, response)
            }
            _ => return None,
        };
        let object = |val: &Val<'_>| val.kind() == Kind::Object;
        let (total, last) = (total.filter(object), last.filter(object));
        let text = |val: Option<Val<'t>>| val.map(|val| Str::escaped(val.text()));
        let has_new_total = self.total.changed(text(total)).is_some();
        let has_new_last = self.last.changed(text(last)).is_some();
        let has_new_response = self.response.changed(text(response)).is_some();
        let is_news = match total {
            Some(_) => has_new_total,
            // Without a total, a line that repeats the usage of the last response repeats the line before it.
            None => has_new_last || has_new_response,
        };
        if !is_news {
            // All that a repeated total says is that it is one.
            total.or(last).map(|repeated| repeated.note(Field::Structure));
            return None;
        }
        let before = self.sum;
        if let Some(total) = total {
            self.sum = read_counts(total, |count, _| count?.u64());
        }
        let rise = last.is_none().then(|| self.sum.increase_over(&before));
        Some(TokenNews { counts: last.or(total)?, rise, response })
    }
}

/// Reads counts as Codex names them: its input is all input, cached or not.
fn read_counts<'t>(usage: Val<'t>, count: impl Fn(Option<Val<'t>>, Field) -> Option<u64>) -> Usage {
    const COUNTS: WantedNames<5> = WantedNames::new([
        "input_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
    ]);
    let [input, cached, written, output, reasoning] = usage.find(&COUNTS);
    let cache_read = count(cached, Field::UsageCacheRead);
    let cache_write = count(written, Field::UsageCacheWrite);
    let cache = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: count(input, Field::UsageInput).map(|input| input.saturating_sub(cache)),
        cache_read,
        cache_write,
        output: count(output, Field::UsageOutput),
        reasoning: count(reasoning, Field::UsageReasoning),
        ..Usage::default()
    }
}

impl CodexReader {
    /// Says what a response used; not if it was the parent's of a fork, in whose log it is counted.
    pub(super) fn say_usage(&self, news: &TokenNews<'_>, out: &mut Events<'_>) {
        if self.copied.source().is_some() {
            return;
        }
        let counts = read_counts(news.counts, Member::note_count);
        let known = self.session.known();
        out.event(&Event::Usage(Turn {
            id: news.response.note_text(Field::TurnId),
            model: known.model.as_ref().map(Str::reborrow),
            effort: known.effort.as_ref().map(Str::reborrow),
            usage: Some(news.rise.unwrap_or(counts)),
            ..Turn::default()
        }));
    }
}
