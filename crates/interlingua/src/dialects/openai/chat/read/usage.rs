//! The usage of a response, in the forms of several servers.

use crate::model::{Field, Usage};
use crate::pipe::EventSink;
use crate::tape::Val;
use crate::wire::answer::output_and_reasoning;
use crate::wire::note_blanks;

/// Reads a `usage` object. `prompt_tokens` counts all input; cache reads and writes are counted separately, in one of
/// several members.
pub(super) fn read_usage(usage: Val<'_>, out: &mut EventSink<'_>) -> Usage {
    note_blanks(usage);
    let input = usage.get("prompt_tokens_details");
    let output = usage.get("completion_tokens_details");
    let of =
        |details: Option<Val<'_>>, name, field| details.and_then(|details| details.note_u64(name, field));
    let prompt = usage.get("prompt_tokens").and_then(|count| count.u64());
    // The members of OpenAI, of Kimi, of DeepSeek, and of gateways in front of Anthropic.
    let reads = [
        input.and_then(|input| input.get("cached_tokens")),
        usage.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cache_read_input_tokens"),
    ];
    let writes = [
        input.and_then(|input| input.get("cache_write_tokens")),
        input.and_then(|input| input.get("cache_creation_tokens")),
        usage.get("cache_creation_input_tokens"),
    ];
    let most = prompt.unwrap_or(u64::MAX);
    let cache_read = count(&reads, most, Field::UsageCacheRead, out);
    let cache_write = count(&writes, most - cache_read.unwrap_or(0), Field::UsageCacheWrite, out);
    let cached = cache_read.unwrap_or(0) + cache_write.unwrap_or(0);
    let uncached = usage.note_u64("prompt_tokens", Field::UsageInput).map(|all| all - cached);
    if let Some(missed) = usage.get("prompt_cache_miss_tokens").filter(|missed| missed.u64() == uncached) {
        missed.note(Field::UsageInput);
    }
    let completion = usage.note_u64("completion_tokens", Field::UsageOutput);
    let reasoning = of(output, "reasoning_tokens", Field::UsageReasoning);
    let total = usage.get("total_tokens");
    let total_is = |output: Option<u64>| {
        let sum = prompt.zip(output).and_then(|(prompt, output)| prompt.checked_add(output));
        total.is_some_and(|total| sum.is_some() && total.u64() == sum)
    };
    let both = output_and_reasoning(completion, reasoning, true);
    let outside = !total_is(completion) && total_is(both);
    let output_count = output_and_reasoning(completion, reasoning, outside);
    if output_count != completion {
        out.note("reasoning counted beside the other output: added to it");
    }
    if let Some(total) = total.filter(|_| total_is(output_count)) {
        total.note(Field::UsageOutput);
    }
    Usage {
        input: uncached,
        cache_read,
        cache_write,
        cache_write_long: None,
        input_audio: of(input, "audio_tokens", Field::UsageInputAudio),
        output: output_count,
        reasoning,
        output_audio: of(output, "audio_tokens", Field::UsageOutputAudio),
    }
}

/// The first count in several members; members with the same count are claimed too. A cache count above `most` is
/// limited to `most`, and its members stay unclaimed.
fn count(places: &[Option<Val<'_>>], most: u64, field: Field, out: &mut EventSink<'_>) -> Option<u64> {
    let mut told = places.iter().flatten().filter_map(|val| Some((val, val.u64()?)));
    let (_, first) = told.clone().next()?;
    if first > most {
        out.note("more tokens of the cache than of the prompt: counted as those of the prompt");
        return Some(most);
    }
    for (val, _) in told.by_ref().filter(|(_, other)| *other == first) {
        val.note(field);
    }
    Some(first)
}
