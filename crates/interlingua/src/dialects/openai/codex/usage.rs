//! The usage of each response. Newer logs have a usage line after each response (`token_usage_record`). All logs have a
//! `token_count` line for each update of the screen, with many repetitions; a changed running total marks new usage.

use super::read::{CodexReader, Payload};
use crate::json::{ChangeDetector, Str};
use crate::model::{Event, Field, Turn, Usage};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member, Val, WantedNames};

/// The last reported values: running total, usage of the last response, id of the last response.
#[derive(Default)]
pub(super) struct TokenCounts {
    total: ChangeDetector,
    last: ChangeDetector,
    response: ChangeDetector,
    /// The parsed counts of the running total.
    sum: Usage,
}

/// New usage in a line, with the response it belongs to.
pub(super) struct TokenNews<'t> {
    /// The usage of the response, or the total if the line has only a total.
    counts: Val<'t>,
    /// The increase of the total, if the line has only a total.
    rise: Option<Usage>,
    response: Option<Val<'t>>,
}

impl TokenCounts {
    /// The new usage in a line. A fork's total includes its parent's total, so its first increase is not usage of the
    /// fork. The last usage, if the line holds one, is correct in forks too.
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
            // Without a total, a line with the same last usage repeats the line before.
            None => has_new_last || has_new_response,
        };
        if !is_news {
            // A repeated total adds no usage.
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

/// Reads counts by Codex's names. `input_tokens` includes cached input.
pub(in crate::dialects::openai) fn read_counts<'t>(
    usage: Val<'t>,
    count: impl Fn(Option<Val<'t>>, Field) -> Option<u64>,
) -> Usage {
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
    /// Emits the usage of a response. Usage in the copied part of a fork is skipped, because the parent's log counts
    /// it.
    pub(super) fn say_usage(&self, news: &TokenNews<'_>, out: &mut EventSink<'_>) {
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
