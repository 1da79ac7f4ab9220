//! Requests, responses and streams to events. A whole response is a stream of one chunk.

mod content;
mod message;
pub(super) mod request;

use std::collections::BTreeMap;

use super::{ERRORS, STOPS};
use crate::error::Code;
use crate::json::{Raw, Str};
use crate::model::{Event, Field, Status, Stop, StopClass, Turn, Usage};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Kind, Val};
use crate::wire::{note_blanks, note_tag};
use message::MessageReader;

pub(super) struct CompletionReader;

impl Reader for CompletionReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let root = doc.root;
        if root.get("error").is_none_or(|error| error.is_null()) && root.get("choices").is_none() {
            return out.problem(Code::UnknownShape, None, "a response has `choices` or `error`");
        }
        let first = ChoiceReader { message: MessageReader::whole(None), stop: None };
        let mut stream = ChunkReader { first, ..ChunkReader::default() };
        stream.document(doc, out);
        stream.end(out);
    }
}

#[derive(Default)]
pub(super) struct ChunkReader {
    begun: bool,
    /// What the first chunk said of the answer; the others repeat it.
    repeated: Repeated,
    first: ChoiceReader,
    /// The answers beside the first, by their number.
    others: BTreeMap<u64, ChoiceReader>,
    usage: Option<Usage>,
}

#[derive(Default)]
struct Repeated {
    id: Option<Str<'static>>,
    model: Option<Str<'static>>,
    created: Option<Raw<'static>>,
}

impl Reader for ChunkReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let root = doc.root;
        if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
            // No end follows a failure.
            (self.begun, self.first.stop) = (false, None);
            return out.event(&Event::Error(ERRORS.read(error)));
        }
        let choices = root.get("choices");
        if choices.is_none() && root.get("usage").is_none() {
            return;
        }
        note_blanks(root);
        note_tag(root, "object", &["chat.completion", "chat.completion.chunk"]);
        // Padding that hides the length of tokens.
        root.note_str("obfuscation", Field::Padding);
        let choices = || choices.into_iter().flat_map(|choices| choices.elements());
        let is_first = choices().next().is_some() && !std::mem::replace(&mut self.begun, true);
        if is_first {
            self.begin(root, out);
        } else {
            self.repeated.note(root);
        }
        for (place, choice) in choices().enumerate() {
            self.choice(choice, place as u64, out);
        }
        self.count(root.get("usage"), out);
    }

    fn sentinel(&mut self, text: &str, out: &mut Events<'_>) -> bool {
        let done = text.trim() == "[DONE]";
        if done {
            self.end(out);
        }
        done
    }

    fn finish(&mut self, out: &mut Events<'_>) {
        // Not every server says [DONE], but each says why it stopped.
        if self.first.stop.is_some() {
            return self.end(out);
        }
        for choice in std::iter::once(&mut self.first).chain(self.others.values_mut()) {
            choice.message.cut_off(out);
        }
    }
}

impl ChunkReader {
    fn begin(&mut self, root: Val<'_>, out: &mut Events<'_>) {
        let id = root.take_str("id", Field::TurnId);
        let model = root.take_str("model", Field::TurnModel);
        let time = root.take_raw("created", Field::TurnTime);
        self.repeated = Repeated {
            id: id.clone().map(Str::into_owned),
            model: model.clone().map(Str::into_owned),
            created: time.clone().map(Raw::into_owned),
        };
        out.event(&Event::TurnStarted(Turn { id, model, time, ..Turn::default() }));
        self.first.message.begin(out);
    }

    /// A choice, at that place of its list. Each is an answer of its own.
    fn choice(&mut self, choice: Val<'_>, place: u64, out: &mut Events<'_>) {
        let index = choice.get("index").and_then(|index| index.u64());
        let number = index.unwrap_or(place);
        let reader = if number == 0 {
            choice.note_u64("index", Field::Structure);
            &mut self.first
        } else {
            choice.note_u64("index", Field::ItemAnswer);
            let another = || ChoiceReader { message: self.first.message.another(number), stop: None };
            self.others.entry(number).or_insert_with(another)
        };
        note_blanks(choice);
        if let Some(said) = choice.get("delta").or_else(|| choice.get("message")) {
            if said.kind() == Kind::Object && said.members().next().is_none() {
                said.note(Field::Structure);
            }
            reader.message.begin(out);
            reader.message.read(said, out);
        }
        reader.read_stop(choice);
        // Kimi's place for it.
        self.count(choice.get("usage"), out);
    }

    /// Counts are totals so far: the last ones stand, and those before them are told as they are replaced.
    fn count(&mut self, usage: Option<Val<'_>>, out: &mut Events<'_>) {
        let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) else { return };
        let later = read_usage(usage);
        if let Some(earlier) = self.usage.filter(|earlier| *earlier != later && self.begun) {
            let id = self.repeated.id.clone();
            out.event(&Event::Usage(Turn { id, usage: Some(earlier), ..Turn::default() }));
        }
        self.usage.get_or_insert_default().overwrite(&later);
    }

    /// Ends every answer; the first one last, with the counts of all.
    fn end(&mut self, out: &mut Events<'_>) {
        if !std::mem::replace(&mut self.begun, false) {
            return;
        }
        for (number, mut choice) in std::mem::take(&mut self.others) {
            let (answer, stop) = (Some(number), Some(choice.end(out)));
            out.event(&Event::TurnEnded(Turn { answer, stop, ..Turn::default() }));
        }
        let stop = Some(self.first.end(out));
        out.event(&Event::TurnEnded(Turn { stop, usage: self.usage.take(), ..Turn::default() }));
    }
}

/// Reads one of the answers.
#[derive(Default)]
struct ChoiceReader {
    message: MessageReader,
    stop: Option<Stop<'static>>,
}

impl ChoiceReader {
    /// Why it stopped. The first reason stands; another one later stays where it is.
    fn read_stop(&mut self, choice: Val<'_>) {
        let Some(word) = choice.get("finish_reason").filter(|word| word.kind() == Kind::String) else {
            return;
        };
        let known = self.stop.as_ref().and_then(|stop| stop.raw.as_ref());
        if word.is("") {
            // Some servers say nothing with an empty word.
            word.note(Field::Structure);
        } else if known.is_none_or(|known| word.text().trim_matches('"') == known.as_escaped())
            && let Some(reason) = word.take_text(Field::StopReason)
        {
            self.stop = Some(STOPS.stop(reason.into_owned(), None));
        }
    }

    /// Completes everything; returns why it stopped.
    fn end(&mut self, out: &mut Events<'_>) -> Stop<'static> {
        let mut stop = self.stop.take().unwrap_or_else(|| {
            out.note("no finish_reason before the end");
            Stop { class: StopClass::End, raw: None, sequence: None, detail: None }
        });
        // Some servers say `stop` when they mean calls, and a refusal is told by its text.
        let facts = self.message.facts();
        stop.class = match stop.class {
            StopClass::End | StopClass::Filter if facts.refused => StopClass::Refusal,
            StopClass::End if facts.calls => StopClass::ToolUse,
            class => class,
        };
        let is_cut = stop.class == StopClass::MaxTokens;
        self.message.end(if is_cut { Status::Interrupted } else { Status::Completed }, out);
        stop
    }
}

impl Repeated {
    /// Notes what a later chunk says again; what it says differently stays where it is.
    fn note(&self, root: Val<'_>) {
        let Self { id, model, created } = self;
        for (name, field, known) in [("id", Field::TurnId, id), ("model", Field::TurnModel, model)] {
            let again = |val: &Val<'_>| val.str().as_ref() == known.as_ref();
            if let Some(val) = root.get(name).filter(|_| known.is_some()).filter(again) {
                val.note(field);
            }
        }
        let again = |val: &Val<'_>| created.as_ref().is_some_and(|known| known.as_str() == val.text());
        if let Some(val) = root.get("created").filter(again) {
            val.note(Field::TurnTime);
        }
    }
}

/// `prompt_tokens` holds all input; what was read from and written to the cache is told apart beside it.
fn read_usage(usage: Val<'_>) -> Usage {
    note_blanks(usage);
    let input = usage.get("prompt_tokens_details");
    let output = usage.get("completion_tokens_details");
    let of =
        |details: Option<Val<'_>>, name, field| details.and_then(|details| details.note_u64(name, field));
    let cache_read = of(input, "cached_tokens", Field::UsageCacheRead)
        .or_else(|| usage.note_u64("cached_tokens", Field::UsageCacheRead));
    let cache_write = of(input, "cache_write_tokens", Field::UsageCacheWrite);
    let prompt = usage.get("prompt_tokens").and_then(|count| count.u64());
    // A sum that is less than its parts stays where it is.
    let uncached = prompt
        .and_then(|all| all.checked_sub(cache_read.unwrap_or(0))?.checked_sub(cache_write.unwrap_or(0)))
        .inspect(|_| _ = usage.note_u64("prompt_tokens", Field::UsageInput));
    let output_count = usage.note_u64("completion_tokens", Field::UsageOutput);
    let sum = prompt.zip(output_count).and_then(|(prompt, output)| prompt.checked_add(output));
    if let Some(total) = usage.get("total_tokens").filter(|total| sum.is_some() && total.u64() == sum) {
        total.note(Field::UsageOutput);
    }
    Usage {
        input: uncached,
        cache_read,
        cache_write,
        cache_write_long: None,
        input_audio: of(input, "audio_tokens", Field::UsageInputAudio),
        output: output_count,
        reasoning: of(output, "reasoning_tokens", Field::UsageReasoning),
        output_audio: of(output, "audio_tokens", Field::UsageOutputAudio),
    }
}
