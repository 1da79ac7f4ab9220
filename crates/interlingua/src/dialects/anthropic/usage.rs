//! Usage and stop reasons of responses.

use crate::json::Str;
use crate::model::{Field, Stop, StopClass, Usage, Words};
use crate::tape::{Val, WantedNames};
use crate::wire::answer::output_and_reasoning;
use crate::wire::words::StopWords;

/// Reads a usage object and leaves it in place.
pub(super) fn read_usage(usage: Val<'_>) -> Usage {
    const WANTED: WantedNames<6> = WantedNames::new([
        "output_tokens_details",
        "cache_creation",
        "cache_creation_input_tokens",
        "input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    ]);
    let [details, by_age, written, input, cache_read, output] = usage.find(&WANTED);
    let note = |count: Option<Val<'_>>, field| count.and_then(|count| count.note_count(field));
    let thinking = details.and_then(|details| details.note_u64("thinking_tokens", Field::UsageReasoning));
    let long = by_age.and_then(|ages| ages.note_u64("ephemeral_1h_input_tokens", Field::UsageCacheWriteLong));
    let short = by_age.and_then(|ages| ages.get("ephemeral_5m_input_tokens")).filter(|n| n.u64().is_some());
    let written = note(written, Field::UsageCacheWrite);
    let by_ages = short.and_then(|short| short.u64()?.checked_add(long.unwrap_or(0)));
    // The total repeats the sum of its parts; if they differ, the parts are left unclaimed.
    if let Some(short) = short.filter(|_| by_ages.is_some() && written.is_none_or(|sum| Some(sum) == by_ages))
    {
        short.note(Field::UsageCacheWrite);
    }
    Usage {
        input: note(input, Field::UsageInput),
        cache_read: note(cache_read, Field::UsageCacheRead),
        cache_write: written.or(by_ages).or(long),
        cache_write_long: long,
        output: note(output, Field::UsageOutput)
            .and_then(|all| output_and_reasoning(Some(all), thinking, false)),
        reasoning: thinking,
        ..Usage::default()
    }
}

/// Values of `stop_reason`.
pub(super) static STOPS: StopWords = StopWords {
    words: Words(&[
        (StopClass::End, "end_turn"),
        (StopClass::Sequence, "stop_sequence"),
        (StopClass::ToolUse, "tool_use"),
        (StopClass::MaxTokens, "max_tokens"),
        (StopClass::ContextFull, "model_context_window_exceeded"),
        (StopClass::Paused, "pause_turn"),
        (StopClass::Refusal, "refusal"),
    ]),
    nearest: Words(&[(StopClass::Filter, "refusal")]),
};

/// Parses `stop_reason`.
pub(super) fn read_stop<'t>(raw: Str<'t>, sequence: Option<Str<'t>>) -> Stop<'t> {
    STOPS.stop(raw, sequence)
}
