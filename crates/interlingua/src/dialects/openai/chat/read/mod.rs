//! Requests, responses and streams to events. A whole response is a stream of one chunk.

mod content;
mod message;
pub(super) mod request;

use std::collections::BTreeMap;

use super::{ERRORS, STOPS};
use crate::error::Code;
use crate::json::Raw;
use crate::model::{Event, Field, Status, Stop, StopClass, Turn, Usage};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Claim, Kind, Val, WantedNames};
use crate::wire::answer::CountsSoFar;
use crate::wire::note_blanks;
use message::MessageReader;

pub(super) struct CompletionReader;

impl Reader for CompletionReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let root = doc.root;
        if root.get("error").is_none_or(|error| error.is_null()) && root.get("choices").is_none() {
            return out.problem(Code::UnknownShape, None, "a response has `choices` or `error`");
        }
        let first = ChoiceReader { message: MessageReader::whole(), stop: None };
        let mut stream = ChunkReader { first, ..ChunkReader::default() };
        stream.document(doc, out);
        stream.end(out);
    }
}

#[derive(Default)]
pub(super) struct ChunkReader {
    begun: bool,
    /// What the first chunk said of the answer, as it is written there; the others repeat it.
    head: [String; 3],
    first: ChoiceReader,
    /// The answers beside the first, by their number.
    others: BTreeMap<u64, ChoiceReader>,
    counts: CountsSoFar,
}

/// The fields of [`ChunkReader::head`].
const HEAD: [Field; 3] = [Field::TurnId, Field::TurnModel, Field::TurnTime];

impl Reader for ChunkReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        const WANTED: WantedNames<8> = WantedNames::new([
            "error",
            "choices",
            "usage",
            "id",
            "model",
            "created",
            "object",
            "obfuscation",
        ]);
        let [error, choices, usage, id, model, created, object, padding] = doc.root.find(&WANTED);
        if let Some(error) = error.filter(|error| !error.is_null()) {
            // No end follows a failure.
            (self.begun, self.first.stop) = (false, None);
            return out.event(&Event::Error(ERRORS.read(error)));
        }
        if choices.is_none() && usage.is_none() {
            return;
        }
        note_blanks(doc.root);
        let is_tag = |tag: &Val<'_>| tag.is("chat.completion.chunk") || tag.is("chat.completion");
        object.filter(is_tag).map(|tag| tag.note(Field::Structure));
        // It hides the length of tokens.
        padding.and_then(|padding| padding.note_text(Field::Padding));
        let choices = || choices.into_iter().flat_map(|choices| choices.elements());
        if choices().next().is_some() && !std::mem::replace(&mut self.begun, true) {
            self.begin([id, model, created], out);
        } else {
            // What a later chunk says differently stays where it is.
            for ((val, known), field) in [id, model, created].into_iter().zip(&self.head).zip(HEAD) {
                val.filter(|val| val.text() == known).map(|val| val.note(field));
            }
        }
        for (place, choice) in choices().enumerate() {
            self.choice(choice, place as u64, out);
        }
        self.count(usage, out);
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
    fn begin(&mut self, [id, model, created]: [Option<Val<'_>>; 3], out: &mut Events<'_>) {
        let turn = Turn {
            id: id.and_then(|id| id.take_text(Field::TurnId)),
            model: model.and_then(|model| model.take_text(Field::TurnModel)),
            time: created.filter(|time| !time.is_null()).map(|time| time.take(Field::TurnTime)),
            ..Turn::default()
        };
        let taken = |val: &Val<'_>| matches!(val.claimed(), Claim::Taken(_));
        self.head = [id, model, created].map(|val| val.filter(taken).map_or("", |val| val.text()).to_owned());
        out.event(&Event::TurnStarted(turn));
        self.first.message.begin(out);
    }

    /// A choice, at that place of its list. Each is an answer of its own.
    fn choice(&mut self, choice: Val<'_>, place: u64, out: &mut Events<'_>) {
        const WANTED: WantedNames<5> =
            WantedNames::new(["index", "delta", "message", "finish_reason", "usage"]);
        let [index, delta, message, reason, usage] = choice.find(&WANTED);
        let number = index.and_then(|index| index.u64()).unwrap_or(place);
        let reader = if number == 0 {
            &mut self.first
        } else {
            let another = || ChoiceReader { message: self.first.message.another(number), stop: None };
            self.others.entry(number).or_insert_with(another)
        };
        index.map(|index| index.note_count(if number == 0 { Field::Structure } else { Field::ItemAnswer }));
        note_blanks(choice);
        if let Some(said) = delta.or(message) {
            if said.kind() == Kind::Object && said.members().next().is_none() {
                said.note(Field::Structure);
            }
            reader.message.begin(out);
            reader.message.read(said, out);
        }
        reader.read_stop(reason);
        // Kimi's place for it.
        self.count(usage, out);
    }

    fn count(&mut self, usage: Option<Val<'_>>, out: &mut Events<'_>) {
        if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
            let head = Raw::new(&self.head[0]);
            let id = head.text().unwrap_or_default();
            self.counts.add(read_usage(usage), Some(id).filter(|_| self.begun), out);
        }
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
        out.event(&Event::TurnEnded(Turn { stop, usage: self.counts.take(), ..Turn::default() }));
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
    fn read_stop(&mut self, reason: Option<Val<'_>>) {
        let Some((val, word)) = reason.and_then(|val| Some((val, val.str()?))) else { return };
        let known = self.stop.as_ref().and_then(|stop| stop.raw.as_ref());
        if word.is_empty() {
            // Some servers say nothing with an empty word.
            val.note(Field::Structure);
        } else if known.is_none_or(|known| *known == word) {
            val.take(Field::StopReason);
            self.stop = Some(STOPS.stop(word.into_owned(), None));
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
