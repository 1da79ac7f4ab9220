//! Token usage: cumulative in the model, increases in the record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

use super::read_entry::ReadUsage;
use crate::json::{JsonWriter, Str, same};
use crate::ledger::{Identity, hash, text_key};
use crate::model::{Field, ResponseUsages, Stop, StopClass, Usage};

/// Writes counts under the names of `token-usage`, where `input` is all input. `input` is omitted if the source has
/// only cache counts, so that a reader can restore the absence.
pub(super) fn write_counts(usage: &Usage, json: &mut JsonWriter<'_>) {
    #[rustfmt::skip]
    let [input, output, cached, written, written_long, input_audio, reasoning, output_audio, total] =
        named_counts(usage);
    // Unrolled, so that each name compiles to a few moves.
    json.opt_u64(input.0, input.1).opt_u64(output.0, output.1).opt_u64(cached.0, cached.1);
    json.opt_u64(written.0, written.1).opt_u64(written_long.0, written_long.1);
    json.opt_u64(input_audio.0, input_audio.1).opt_u64(reasoning.0, reasoning.1);
    json.opt_u64(output_audio.0, output_audio.1).opt_u64(total.0, total.1);
}

/// The counts with their names.
#[inline]
pub(super) fn named_counts(usage: &Usage) -> [(&'static str, Option<u64>); 9] {
    #[rustfmt::skip]
    let Usage {
        input, cache_read, cache_write, cache_write_long, input_audio, output, reasoning, output_audio,
    } = usage;
    [
        ("input", input.and(usage.all_input())),
        ("output", *output),
        ("cached", *cache_read),
        ("cache-write", *cache_write),
        ("cache-write-long", *cache_write_long),
        ("input-audio", *input_audio),
        ("reasoning", *reasoning),
        ("output-audio", *output_audio),
        ("total", total(usage)),
    ]
}

fn total(usage: &Usage) -> Option<u64> {
    let input = usage.input.and(usage.all_input());
    input.zip(usage.output).map(|(input, output)| input.saturating_add(output))
}

/// Reads counts. A total that differs from the sum has an unknown meaning and is left unclaimed.
pub(super) fn read_counts(usage: ReadUsage<'_>) -> Usage {
    let ReadUsage { counts: usage, rest } = usage;
    let input = usage.take_u64("input", Field::UsageInput);
    let cache_read = usage.take_u64("cached", Field::UsageCacheRead);
    let cache_write = rest.take_u64("cache-write", Field::UsageCacheWrite);
    let caches = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    let counts = Usage {
        input: input.map(|input| input.saturating_sub(caches)),
        cache_read,
        cache_write,
        cache_write_long: rest.take_u64("cache-write-long", Field::UsageCacheWriteLong),
        input_audio: rest.take_u64("input-audio", Field::UsageInputAudio),
        output: usage.take_u64("output", Field::UsageOutput),
        reasoning: usage.take_u64("reasoning", Field::UsageReasoning),
        output_audio: rest.take_u64("output-audio", Field::UsageOutputAudio),
    };
    let sum = usage.get("total").filter(|said| said.u64().is_some() && said.u64() == total(&counts));
    if let Some(sum) = sum {
        sum.note(Field::Structure);
    }
    counts
}

/// Whether any count of `more` is above zero.
pub(super) fn is_some(more: &Usage) -> bool {
    more.counts().iter().any(|(_, count)| count.is_some_and(|count| count > 0))
}

/// The fields whose counts are below the earlier counts: a record holds only increases.
pub(super) fn shrunk(now: &Usage, known: &Usage) -> impl Iterator<Item = Field> + use<> {
    let pairs = now.counts().into_iter().zip(known.counts());
    pairs.filter(|((_, now), (_, known))| now.is_some() && now < known).map(|((field, _), _)| field)
}

/// The responses seen. Recent responses are kept whole, because lines of one response are close together; for older
/// responses only the usage is kept, because a copied history repeats all of them. The writer and the reader remember
/// the same responses, so reading reverses writing.
#[derive(Default)]
pub(super) struct KnownResponses {
    /// A ring buffer.
    recent: Vec<Response>,
    /// A hash of each id. Most responses are new, which one pass over the hashes shows; on a match the ids are
    /// compared.
    keys: [u32; KnownResponses::MOST],
    /// The next slot.
    next: usize,
    older: OlderResponses,
}

/// The usage of older responses by id. The stored text of an id is compared, because ids may share a hash.
#[derive(Default)]
struct OlderResponses {
    /// The ids, concatenated.
    ids: String,
    /// The start of each id in `ids`, its length, and the usage, by the fast hash of the id.
    used: HashMap<u64, (usize, usize, Usage), BuildHasherDefault<Identity>>,
    /// Long ids, and ids whose fast hash is taken, by key.
    others: HashMap<u128, Usage, BuildHasherDefault<Identity>>,
}

impl OlderResponses {
    /// The most responses remembered, in 6 MB at most.
    const MOST: usize = 1 << 15;
    const LONGEST: usize = 64;

    fn get(&self, id: &str) -> Option<Usage> {
        if let Some((start, length, usage)) = self.used.get(&hash(0, id.as_bytes()))
            && self.ids.get(*start..start + length) == Some(id)
        {
            return Some(*usage);
        }
        // The map is nearly always empty.
        if self.others.is_empty() { None } else { self.others.get(&text_key(id)).copied() }
    }

    fn insert(&mut self, id: &str, usage: Usage) {
        let is_full = self.used.len() + self.others.len() >= Self::MOST;
        if id.len() <= Self::LONGEST {
            match self.used.entry(hash(0, id.as_bytes())) {
                Entry::Occupied(mut known) => {
                    let (start, length, used) = known.get_mut();
                    if self.ids.get(*start..*start + *length) == Some(id) {
                        *used = usage;
                        return;
                    }
                }
                Entry::Vacant(slot) => {
                    if !is_full {
                        slot.insert((self.ids.len(), id.len(), usage));
                        self.ids.push_str(id);
                    }
                    return;
                }
            }
        }
        let key = text_key(id);
        if !is_full || self.others.contains_key(&key) {
            self.others.insert(key, usage);
        }
    }
}

#[derive(Default)]
pub(super) struct Response {
    id: String,
    pub(super) usage: Usage,
    /// The stop reason so far: the class and the provider's own word.
    stop: Option<StopClass>,
    stop_word: String,
    /// The rest of the stop reason, which is rare.
    stop_rest: Option<Box<Stop<'static>>>,
    /// The request's id and effort.
    request_id: HeardText,
    effort: HeardText,
}

/// An optional text. Its memory is reused.
#[derive(Default)]
struct HeardText {
    text: String,
    is_some: bool,
}

impl HeardText {
    /// Stores a text. Returns whether it differs from the previous text.
    #[inline]
    fn changes(&mut self, new: Option<&Str<'_>>) -> bool {
        let text = new.map_or("", Str::as_escaped);
        if self.is_some == new.is_some() && same(text.as_bytes(), self.text.as_bytes()) {
            return false;
        }
        self.is_some = new.is_some();
        self.text.clear();
        self.text.push_str(text);
        true
    }

    fn clear(&mut self) {
        self.is_some = false;
        self.text.clear();
    }
}

impl Response {
    /// Stores the request's id and effort. Returns whether either is new.
    pub(super) fn attempt(&mut self, request_id: Option<&Str<'_>>, effort: Option<&Str<'_>>) -> bool {
        let is_told = request_id.is_some() || effort.is_some();
        // Store both, even if the first is new.
        is_told && self.request_id.changes(request_id) | self.effort.changes(effort)
    }

    /// Stores the stop reason. Returns whether it is new.
    pub(super) fn stops(&mut self, stop: &Stop<'_>) -> bool {
        let Stop { class, raw, sequence, detail } = stop;
        let raw = raw.as_ref().map_or("", Str::as_escaped);
        let says_more = sequence.is_some() || detail.is_some();
        let rest_known = !says_more || self.stop_rest.as_deref() == Some(stop);
        let known = self.stop == Some(*class) && self.stop_word == raw && rest_known;
        if !known {
            self.stop = Some(*class);
            self.stop_word.clear();
            self.stop_word.push_str(raw);
            self.stop_rest = says_more.then(|| Box::new(stop.clone().into_owned()));
        }
        !known
    }
}

impl KnownResponses {
    const MOST: usize = 32;

    /// The response with this id, and whether the id is new.
    pub(super) fn response(&mut self, id: &Str<'_>) -> (&mut Response, bool) {
        // The lower half of the hash: ids differ at their end, which affects only this half.
        let key = hash(0, id.as_escaped().as_bytes()) as u32;
        // Count instead of searching: without an early exit all keys are compared at once.
        let among = self.keys.iter().filter(|known| **known == key).count() > 0;
        let is_it = |(known, response): (&u32, &Response)| *known == key && response.id == id.as_escaped();
        let known = if among { self.keys.iter().zip(&self.recent).position(is_it) } else { None };
        if let Some(at) = known {
            return (&mut self.recent[at], false);
        }
        let at = self.next;
        self.next = (at + 1) % Self::MOST;
        if at == self.recent.len() {
            self.recent.push(Response { id: String::with_capacity(64), ..Response::default() });
        }
        let older = self.older.get(id.as_escaped());
        // Reuse the string of the oldest slot.
        let slot = &mut self.recent[at];
        if is_some(&slot.usage) {
            self.older.insert(&slot.id, slot.usage);
        }
        slot.id.clear();
        slot.id.push_str(id.as_escaped());
        (slot.usage, slot.stop, slot.stop_rest) = (older.unwrap_or_default(), None, None);
        slot.request_id.clear();
        slot.effort.clear();
        self.keys[at] = key;
        (slot, older.is_none())
    }
}

impl KnownResponses {
    /// Adds the usage of responses that are already counted in another record.
    pub(super) fn told(&mut self, responses: &[(String, Usage)]) {
        for (id, usage) in responses {
            self.older.insert(id, *usage);
        }
    }
}

impl ResponseUsages for KnownResponses {
    fn usage_of(&mut self, id: &Str<'_>) -> &mut Usage {
        &mut self.response(id).0.usage
    }
}
