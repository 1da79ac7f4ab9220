//! Reads requests, responses and streams into events. A whole response is read as a stream of one chunk.

mod calls;
mod content;
mod failures;
mod message;
pub(super) mod request;
mod thoughts;
mod usage;

use std::collections::BTreeMap;

use super::STOPS;
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::{Raw, same};
use crate::model::{Event, Field, Status, Stop, StopClass, Turn};
use crate::pipe::{Doc, EventSink, ReadPlace, Reader};
use crate::tape::{Claim, Kind, Val, WantedNames};
use crate::wire::answer::{AnswerNumbers, CountsSoFar, tell_before_failure};
use crate::wire::note_blanks;
use failures::failure_of;
use message::MessageReader;
use usage::read_usage;

pub(super) struct CompletionReader;

impl Reader for CompletionReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let first = ChoiceReader { message: MessageReader::whole(), ..ChoiceReader::default() };
        let numbers = Some(AnswerNumbers::default());
        let mut stream = ChunkReader { first, numbers, ..ChunkReader::default() };
        if !stream.chunk(doc, out) {
            return out.problem(Code::UnknownShape, None, "a response has `choices` or `error`");
        }
        stream.end(out);
    }

    fn sentinel(&mut self, text: &str, out: &mut EventSink<'_>) -> bool {
        let failure = failures::of_text(text);
        if let Some(failure) = &failure {
            out.note("a body that is no JSON taken for the message of a failure");
            out.event(&Event::Error(failure.clone()));
        }
        failure.is_some()
    }
}

#[derive(Default)]
pub(super) struct ChunkReader {
    begun: bool,
    /// Id, model and time from the first chunk, as written; later chunks repeat them.
    head: [String; 3],
    first: ChoiceReader,
    /// The choices after the first, by number.
    others: BTreeMap<u64, ChoiceReader>,
    /// The numbers of a whole response's choices. In a stream a repeated number continues the same choice.
    numbers: Option<AnswerNumbers>,
    counts: CountsSoFar,
}

impl Reader for ChunkReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        self.chunk(doc, out);
    }

    fn sentinel(&mut self, text: &str, out: &mut EventSink<'_>) -> bool {
        if text.trim() == "[DONE]" {
            // Incomplete call arguments before `[DONE]` mean that the stream was truncated.
            if self.first.stop.is_some() || !self.first.message.breaks_off() {
                self.end(out);
            }
            return true;
        }
        // An HTML page instead of a stream.
        let failure = failures::of_text(text).filter(|_| !self.begun && text.trim_start().starts_with('<'));
        if let Some(failure) = &failure {
            out.event(&Event::Error(failure.clone()));
        }
        failure.is_some()
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        // Some servers omit `[DONE]`, but every complete stream has a finish reason.
        if self.first.stop.is_some() {
            return self.end(out);
        }
        self.tell_counts(out);
        for choice in std::iter::once(&mut self.first).chain(self.others.values_mut()) {
            choice.message.cut_off(out);
        }
    }
}

impl ChunkReader {
    /// Reads a chunk, or a whole response as one chunk. Returns `false` for any other document.
    fn chunk(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) -> bool {
        const WANTED: WantedNames<9> = WantedNames::new([
            "error",
            "choices",
            "usage",
            "id",
            "model",
            "created",
            "object",
            "obfuscation",
            "x_groq",
        ]);
        let [error, choices, usage, id, model, created, object, padding, groq] = doc.root.find(&WANTED);
        let groq = groq.and_then(|groq| groq.get("usage"));
        let is_named_error = doc.kind == FrameKind::Sse(Some("error"));
        // A document with `choices` and without `error` is not an error.
        let failure = match (error, choices) {
            (None, Some(_)) if !is_named_error => None,
            _ => failure_of(doc.root, is_named_error),
        };
        if failure.is_none() && choices.is_none() && usage.is_none() && groq.is_none() {
            return false;
        }
        note_blanks(doc.root);
        let is_tag = |tag: &Val<'_>| tag.is("chat.completion.chunk") || tag.is("chat.completion");
        object.filter(is_tag).map(|tag| tag.note(Field::Structure));
        // Padding that hides the length of tokens.
        padding.and_then(|padding| padding.note_text(Field::Padding));
        let choices = || choices.into_iter().flat_map(|choices| choices.elements());
        if choices().next().is_some() && !std::mem::replace(&mut self.begun, true) {
            self.begin([id, model, created], out);
        } else {
            // Different values in a later chunk stay unclaimed.
            let [known_id, known_model, known_time] = &self.head;
            note_repeated(id, known_id, Field::TurnId);
            note_repeated(model, known_model, Field::TurnModel);
            note_repeated(created, known_time, Field::TurnTime);
            object.filter(|object| object.is("")).map(|tag| tag.note(Field::Structure));
        }
        for (place, choice) in choices().enumerate() {
            out.within(choice, |out| self.choice(choice, place as u64, out));
        }
        self.count(usage, out);
        self.count(groq, out);
        if let Some(failure) = failure {
            // No end event follows an error.
            self.begun = false;
            let others = self.others.iter_mut();
            let others = others.filter_map(|(number, other)| Some((*number, other.stop.take()?)));
            tell_before_failure(self.counts.take(), self.first.stop.take(), others, out);
            out.event(&Event::Error(failure));
        }
        true
    }

    fn begin(&mut self, [id, model, created]: [Option<Val<'_>>; 3], out: &mut EventSink<'_>) {
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

    /// Reads the choice at index `place` of its list. Each choice is a separate message.
    fn choice(&mut self, choice: Val<'_>, place: u64, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<6> =
            WantedNames::new(["index", "delta", "message", "finish_reason", "finish_details", "usage"]);
        let [index, delta, message, reason, details, usage] = choice.find(&WANTED);
        let stated = index.and_then(|index| index.u64());
        let number = stated.unwrap_or(place);
        let number = self.numbers.as_mut().map_or(number, |numbers| numbers.next(number, out));
        let index = index.filter(|_| stated == Some(number));
        let reader = if number == 0 {
            &mut self.first
        } else {
            let another =
                || ChoiceReader { message: self.first.message.another(number), ..ChoiceReader::default() };
            self.others.entry(number).or_insert_with(another)
        };
        index.map(|index| index.note_count(if number == 0 { Field::Structure } else { Field::ItemAnswer }));
        note_blanks(choice);
        reader.message.read_choice(delta, message, out);
        reader.read_stop(reason, out);
        // Older servers send `finish_details` instead.
        reader.read_stop(details.and_then(|details| details.get("type")), out);
        // Kimi's streams hold the usage in the choice.
        self.count(usage, out);
    }

    fn count(&mut self, usage: Option<Val<'_>>, out: &mut EventSink<'_>) {
        if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
            let head = Raw::new(&self.head[0]);
            let id = head.text().unwrap_or_default();
            let counts = read_usage(usage, out);
            self.counts.add(counts, Some(id).filter(|_| self.begun), out);
        }
    }

    /// Emits the usage of a response that does not end.
    fn tell_counts(&mut self, out: &mut EventSink<'_>) {
        if let Some(usage) = self.counts.take() {
            let head = Raw::new(&self.head[0]);
            let id = head.text().filter(|id| !id.is_empty());
            out.event(&Event::Usage(Turn { id, usage: Some(usage), ..Turn::default() }));
        }
    }

    /// Ends every choice, the first choice last and with the usage of all.
    fn end(&mut self, out: &mut EventSink<'_>) {
        if !std::mem::replace(&mut self.begun, false) {
            return;
        }
        for (number, mut choice) in std::mem::take(&mut self.others) {
            let (answer, stop) = (Some(number), Some(choice.end(out)));
            let ended = Event::TurnEnded(Turn { answer, stop, ..Turn::default() });
            out.of_place(choice.stop_place, |out| out.event(&ended));
        }
        let stop = Some(self.first.end(out));
        let ended = Event::TurnEnded(Turn { stop, usage: self.counts.take(), ..Turn::default() });
        out.of_place(self.first.stop_place, |out| out.event(&ended));
    }
}

/// Notes a head member that a later chunk repeats.
#[inline]
fn note_repeated(val: Option<Val<'_>>, known: &str, field: Field) {
    let Some(val) = val else { return };
    if same(val.text().as_bytes(), known.as_bytes()) {
        val.note(field);
    } else if val.is("") || val.text() == "0" {
        // Azure's first chunk holds only content filters; its head members are empty.
        val.note(Field::Structure);
    }
}

/// Reads one choice.
#[derive(Default)]
struct ChoiceReader {
    message: MessageReader,
    stop: Option<Stop<'static>>,
    /// The choice that the reason stands in.
    stop_place: Option<ReadPlace>,
}

impl ChoiceReader {
    /// Reads the stop reason. The first reason counts; a different reason in a later chunk stays unclaimed.
    fn read_stop(&mut self, reason: Option<Val<'_>>, out: &EventSink<'_>) {
        let Some((val, word)) = reason.and_then(|val| Some((val, val.str()?))) else { return };
        let known = self.stop.as_ref().and_then(|stop| stop.raw.as_ref());
        if word.is_empty() {
            // Some servers send an empty stop reason instead of `null`.
            val.note(Field::Structure);
        } else if known.is_none_or(|known| *known == word) {
            val.take(Field::StopReason);
            self.stop = Some(STOPS.stop(word.into_owned(), None));
            self.stop_place = Some(out.here());
        }
    }

    /// Completes the message; returns the stop reason.
    fn end(&mut self, out: &mut EventSink<'_>) -> Stop<'static> {
        let mut stop = self.stop.take().unwrap_or_else(|| {
            out.note("no finish_reason before the end");
            Stop { class: StopClass::End, raw: None, sequence: None, detail: None }
        });
        // Some servers send `stop` for responses with calls. A refusal is recognised by its text.
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
