//! What each response used. Newer logs say so right after it (`token_usage_record`), all logs when the screen shows the
//! count (`token_count`), again and again; the running total tells whether there is news.

use super::read::{CodexReader, Payload};
use crate::json::{Latest, Str};
use crate::model::{Event, Field, Turn, Usage};
use crate::pipe::Events;
use crate::tape::{Member as _, Val, WantedNames};

/// The running total, as it was last told.
#[derive(Default)]
pub(super) struct TokenCounts {
    total: Latest,
}

/// What a line tells that was not known yet: what a response used, and which.
pub(super) struct TokenNews<'t> {
    last: Val<'t>,
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
        let last = last?;
        let total = total?;
        if self.total.changed(Some(Str::escaped(total.text()))).is_none() {
            // All that a repeated total says is that it is one.
            total.note(Field::Structure);
            return None;
        }
        Some(TokenNews { last, response })
    }
}

impl CodexReader {
    /// Says what a response used; not if it was the parent's of a fork, in whose log it is counted.
    pub(super) fn say_usage(&self, news: &TokenNews<'_>, out: &mut Events<'_>) {
        const COUNTS: WantedNames<5> = WantedNames::new([
            "input_tokens",
            "cached_input_tokens",
            "cache_write_input_tokens",
            "output_tokens",
            "reasoning_output_tokens",
        ]);
        if self.copied.source().is_some() {
            return;
        }
        let [input, cached, written, output, reasoning] = news.last.find(&COUNTS);
        let cache_read = cached.note_count(Field::UsageCacheRead);
        let cache_write = written.note_count(Field::UsageCacheWrite);
        let cache = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let usage = Usage {
            input: input.note_count(Field::UsageInput).map(|input| input.saturating_sub(cache)),
            cache_read,
            cache_write,
            output: output.note_count(Field::UsageOutput),
            reasoning: reasoning.note_count(Field::UsageReasoning),
            ..Usage::default()
        };
        let known = self.session.known();
        out.event(&Event::Usage(Turn {
            id: news.response.note_text(Field::TurnId),
            model: known.model.as_ref().map(Str::reborrow),
            effort: known.effort.as_ref().map(Str::reborrow),
            usage: Some(usage),
            ..Turn::default()
        }));
    }
}
