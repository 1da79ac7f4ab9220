//! Reads requests, responses and streams into events. A whole response is read as a stream of one chunk, with whole
//! parts.

use std::collections::BTreeMap;

use super::super::parts::{PartReader, either, take_either};
use super::citations::{CandidateSources, CitedText};
use super::{STOPS, TO_COUNT, errors, settings};
use crate::error::Code;
use crate::json::{Raw, Str};
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemHead, ItemKind, Part, Shape, Stop, StopClass, Turn,
    Usage,
};
use crate::pipe::{Doc, EventSink, ReadPlace, Reader};
use crate::tape::{Claim, Kind, Val, WantedNames};
use crate::wire::answer::{AnswerNumbers, CountsSoFar, tell_before_failure};
use crate::wire::{note_blanks, note_tag};

pub(super) struct GenerateRequestReader;

impl Reader for GenerateRequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        // A count request holds the request to be counted, or is itself that request.
        let root = TO_COUNT.iter().find_map(|name| doc.root.get(name)).unwrap_or(doc.root);
        out.event(&Event::Request(Box::new(settings::read(root))));
        let mut reader = PartReader::default();
        if let Some(system) = either(root, "systemInstruction", "system_instruction") {
            // The role of a system instruction has no meaning.
            note_tag(system, "role", &["system", "user", "model"]);
            said(&[RoleContent::new(system)], Author::System, &mut reader, &mut Vec::new(), out);
        }
        let Some(contents) = root.get("contents") else {
            return out.problem(Code::UnknownShape, None, "a request has `contents`");
        };
        // A single content or text is accepted in place of a list.
        let only = Some(contents).filter(|contents| matches!(contents.kind(), Kind::Object | Kind::String));
        let all = contents.elements().chain(only).map(|content| {
            let content = RoleContent::new(content);
            (content, content.author())
        });
        let mut all = all.peekable();
        // Reused buffers.
        let (mut turn, mut parts) = (Vec::new(), Vec::new());
        while let Some((content, author)) = all.next() {
            // A content with an unknown role stays unclaimed.
            let Some(author) = author else { continue };
            turn.clear();
            turn.push(content);
            if author == Author::Assistant {
                // Clients store each chunk of a stream as a separate content in the history.
                while let Some((content, _)) = all.next_if(|(_, next)| *next == Some(author)) {
                    turn.push(content);
                }
                reader.forget_calls();
                reader.makes_ids = all.peek().is_some_and(|(next, _)| answers_otherwise(&turn, *next));
            }
            for role in turn.iter().filter_map(|content| content.role) {
                role.note(if author == Author::Tool { Field::Structure } else { Field::ItemAuthor });
            }
            let author = if author == Author::Tool { Author::User } else { author };
            match turn.as_slice() {
                [only] => {
                    out.within(only.val, |out| said(&turn, author, &mut reader, &mut parts, out));
                }
                _ => said(&turn, author, &mut reader, &mut parts, out),
            }
        }
    }
}

/// A content: an object with parts, a list of parts, or a bare text.
#[derive(Clone, Copy)]
struct RoleContent<'t> {
    val: Val<'t>,
    role: Option<Val<'t>>,
    parts: Option<Val<'t>>,
}

impl<'t> RoleContent<'t> {
    fn new(val: Val<'t>) -> Self {
        const MEMBERS: WantedNames<2> = WantedNames::new(["role", "parts"]);
        let [role, parts] = val.find(&MEMBERS);
        Self { val, role: role.filter(|role| !role.is_null()), parts }
    }

    /// The author, if the role is known.
    fn author(self) -> Option<Author> {
        let Some(role) = self.role else { return Some(Author::User) };
        match role.str()?.as_escaped() {
            "user" => Some(Author::User),
            "model" => Some(Author::Assistant),
            // Older versions of the API had a separate role for results.
            "function" | "tool" => Some(Author::Tool),
            _ => None,
        }
    }
}

/// Whether results without ids are in a different order than their calls; then results are matched by name.
fn answers_otherwise(turn: &[RoleContent<'_>], results: RoleContent<'_>) -> bool {
    let calls = || turn.iter().flat_map(|content| inner(*content, "functionCall", "function_call"));
    if calls().nth(1).is_none() {
        return false;
    }
    let results = || inner(results, "functionResponse", "function_response");
    let unnamed = |val: &Val<'_>| val.str_or_empty("id").is_empty();
    calls().chain(results()).all(|val| unnamed(&val))
        && calls()
            .zip(results())
            .any(|(call, result)| call.str_or_empty("name") != result.str_or_empty("name"))
}

/// The calls or results of a content.
fn inner<'t>(content: RoleContent<'t>, camel: &str, snake: &str) -> impl Iterator<Item = Val<'t>> {
    let parts = content.parts.into_iter().flat_map(|parts| parts.elements());
    parts.filter_map(move |part| either(part, camel, snake))
}

/// Reads adjacent contents of one author as one message.
fn said<'t>(
    contents: &[RoleContent<'t>],
    author: Author,
    reader: &mut PartReader,
    all: &mut Vec<Val<'t>>,
    out: &mut EventSink<'_>,
) {
    all.clear();
    for content in contents {
        let parts = content.parts.unwrap_or(content.val);
        note_blanks(content.val);
        all.extend(parts.elements());
        // A single part is accepted in place of a list.
        let is_only = parts.kind() == Kind::Object && content.parts.is_some();
        if is_only || parts.kind() == Kind::String {
            all.push(parts);
        }
    }
    let shape = if all.len() > 1 { Shape::List } else { Shape::One };
    let head = out.head(ItemKind::Message, author);
    reader.begin(out.start(ItemHead { shape, ..head }));
    // Adjacent texts of the model are pieces of one streamed text.
    let goes_on = |at: usize| {
        author == Author::Assistant
            && all.get(at).is_some_and(|part| is_plain_text(*part) && !has_state(*part))
            && at.checked_sub(1).and_then(|at| all.get(at)).is_some_and(|part| is_plain_text(*part))
    };
    let mut goes_on_here = false;
    for (at, part) in all.iter().enumerate() {
        if goes_on_here {
            out.note("texts of the model that follow each other joined");
        }
        let goes_on_next = goes_on(at + 1);
        reader.in_pieces = goes_on_here || goes_on_next;
        out.within(*part, |out| reader.read(*part, out));
        goes_on_here = goes_on_next;
    }
    reader.in_pieces = false;
    reader.end(out);
}

fn is_plain_text(part: Val<'_>) -> bool {
    let is_thought = part.get("thought").is_some_and(|flag| flag.bool() == Some(true));
    !is_thought && part.get("text").is_some_and(|text| text.kind() == Kind::String && !text.is(""))
}

fn has_state(part: Val<'_>) -> bool {
    either(part, "thoughtSignature", "thought_signature").is_some()
}

pub(super) struct WholeResponseReader;

impl Reader for WholeResponseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let mut stream = ResponseChunkReader { whole: true, ..ResponseChunkReader::default() };
        // An error may be in a list.
        let all: Vec<Val<'_>> = doc.root.elements().chain(Some(doc.root)).collect();
        let known =
            ["error", "candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata"];
        if !all.iter().any(|root| known.iter().any(|name| root.get(name).is_some())) {
            return out.problem(
                Code::UnknownShape,
                None,
                "a response has `candidates`, `promptFeedback` or `error`",
            );
        }
        for root in all {
            if !ResponseChunkReader::fails_at_once(root, out) {
                stream.chunk(root, out);
            }
        }
        stream.end(out);
    }
}

/// Reads a stream, chunk by chunk.
#[derive(Default)]
pub(super) struct ResponseChunkReader {
    /// Whether the input is a single response with whole parts.
    whole: bool,
    begun: bool,
    /// Id, model and time from the first chunk, as written; later chunks repeat them.
    head: [String; 3],
    first: CandidateReader,
    /// The candidates after the first, by number.
    others: BTreeMap<u64, CandidateReader>,
    numbers: AnswerNumbers,
    counts: CountsSoFar,
}

/// The fields of [`ResponseChunkReader::head`].
const HEAD: [Field; 3] = [Field::TurnId, Field::TurnModel, Field::TurnTime];

impl Reader for ResponseChunkReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        if doc.root.kind() == Kind::Array {
            for chunk in doc.root.elements() {
                self.chunk(chunk, out);
            }
        } else {
            self.chunk(doc.root, out);
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        // At the end of the connection the response is complete if it has a finish reason.
        if self.first.stop.is_some() {
            return self.end(out);
        }
        for candidate in std::iter::once(&mut self.first).chain(self.others.values_mut()) {
            candidate.parts.end_thought(out);
        }
        self.tell_counts(out);
    }
}

impl ResponseChunkReader {
    /// Reads a whole response whose finish reason is an error; returns `false` for any other response. The rest of the
    /// response stays unclaimed, because clients do not show it.
    fn fails_at_once(root: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let candidates = root.get("candidates").into_iter().flat_map(|list| list.elements());
        let Some(first) = candidates
            .into_iter()
            .next()
            .filter(|first| first.get("index").is_none_or(|at| at.text() == "0"))
        else {
            return false;
        };
        let Some((val, word)) = finish_reason(first) else { return false };
        if STOPS.class(&word) != StopClass::Error {
            return false;
        }
        let said = either(first, "finishMessage", "finish_message");
        let said = said.and_then(|said| said.take_text(Field::ErrorMessage));
        val.take(Field::ErrorCode);
        let failure = malformed(word, said);
        if let Some(usage) = either(root, "usageMetadata", "usage_metadata") {
            out.event(&Event::Usage(Turn { usage: Some(read_usage(usage)), ..Turn::default() }));
        }
        out.event(&Event::Error(failure));
        true
    }

    fn chunk(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<11> = WantedNames::new([
            "error",
            "candidates",
            "usageMetadata",
            "usage_metadata",
            "promptFeedback",
            "prompt_feedback",
            "responseId",
            "response_id",
            "modelVersion",
            "model_version",
            "createTime",
        ]);
        let [error, candidates, uc, us, pc, ps, ic, is, mc, ms, time] = root.find(&WANTED);
        let (usage, feedback, id, model) = (uc.or(us), pc.or(ps), ic.or(is), mc.or(ms));
        let error = error.filter(|error| !error.is_null());
        if error.is_some() && candidates.is_none() {
            self.count(usage, out);
            return self.fail(error, out);
        }
        if candidates.is_none() && usage.is_none() && feedback.is_none() {
            return;
        }
        note_blanks(root);
        if std::mem::replace(&mut self.begun, true) {
            // Different values in a later chunk stay unclaimed.
            for ((val, known), field) in [id, model, time].into_iter().zip(&self.head).zip(HEAD) {
                val.filter(|val| val.text() == known).map(|val| val.note(field));
            }
        } else {
            self.begin([id, model, time], out);
        }
        for (place, candidate) in candidates.into_iter().flat_map(|list| list.elements()).enumerate() {
            out.within(candidate, |out| self.candidate(candidate, place as u64, out));
        }
        if let Some(feedback) = feedback {
            self.blocked(feedback, out);
        }
        self.count(usage, out);
        self.fail(error, out);
    }

    fn count(&mut self, usage: Option<Val<'_>>, out: &mut EventSink<'_>) {
        if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
            let head = Raw::new(&self.head[0]);
            let id = head.text().unwrap_or_default();
            self.counts.add(read_usage(usage), Some(id).filter(|_| self.begun), out);
        }
    }

    /// Ends the response with an error, without an end event. Usage and stop reasons so far come before the error.
    fn fail(&mut self, error: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some(error) = error else { return };
        self.begun = false;
        let stop = self.first.stop.take();
        let others = std::mem::take(&mut self.others);
        let others = others.into_iter().filter_map(|(number, other)| Some((number, other.stop?)));
        tell_before_failure(self.counts.take(), stop, others, out);
        out.event(&Event::Error(errors::read(error)));
    }

    fn begin(&mut self, [id, model, time]: [Option<Val<'_>>; 3], out: &mut EventSink<'_>) {
        let turn = Turn {
            id: id.and_then(|id| id.take_text(Field::TurnId)),
            model: model.and_then(|model| model.take_text(Field::TurnModel)),
            time: time.and_then(|time| time.take_time(Field::TurnTime)),
            ..Turn::default()
        };
        let taken = |val: &Val<'_>| matches!(val.claimed(), Claim::Taken(_));
        self.head = [id, model, time].map(|val| val.filter(taken).map_or("", |val| val.text()).to_owned());
        out.event(&Event::TurnStarted(turn));
        self.first.begin(None, !self.whole, out);
    }

    /// Reads the candidate at index `place` of its list. Each candidate is a separate message.
    fn candidate(&mut self, candidate: Val<'_>, place: u64, out: &mut EventSink<'_>) {
        note_blanks(candidate);
        let index = candidate.get("index").filter(|index| index.u64().is_some());
        let stated = index.and_then(|index| index.u64());
        let number = stated.unwrap_or(place);
        // In a stream a repeated number continues the same candidate.
        let number = if self.whole { self.numbers.next(number, out) } else { number };
        let index = index.filter(|_| stated == Some(number));
        let streams = !self.whole;
        let reader = if number == 0 {
            index.map(|index| index.note(Field::Structure));
            &mut self.first
        } else {
            index.map(|index| index.note(Field::ItemAnswer));
            self.others.entry(number).or_insert_with(|| {
                let mut other = CandidateReader::default();
                other.begin(Some(number), streams, out);
                other
            })
        };
        reader.read(candidate, out);
    }

    /// Reads the block reason of a refused prompt, which has no candidates.
    fn blocked(&mut self, feedback: Val<'_>, out: &mut EventSink<'_>) {
        note_blanks(feedback);
        let reason = either(feedback, "blockReason", "block_reason");
        let unspecified = |reason: &Val<'_>| reason.is("BLOCKED_REASON_UNSPECIFIED") || reason.is("");
        let Some(reason) = reason.filter(|reason| !unspecified(reason) && self.first.stop.is_none()) else {
            return;
        };
        let word = match reason.kind() {
            Kind::String => reason.take_text(Field::StopReason),
            Kind::Number => {
                reason.take(Field::StopReason);
                Some(Str::escaped("SAFETY"))
            }
            Kind::Null | Kind::Bool | Kind::Object | Kind::Array => None,
        };
        let Some(raw) = word.map(Str::into_owned) else { return };
        let message = take_either(feedback, "blockReasonMessage", "block_reason_message", Field::Refusal);
        if let (Some(text), Some(item)) = (message.filter(|text| !text.is_empty()), self.first.parts.message)
        {
            out.delta(item, 0, Part::Refusal(text));
        }
        // An unknown block reason is a refusal too.
        let known = raw.is("OTHER") || STOPS.class(&raw) == StopClass::Filter;
        let class = if known { StopClass::Filter } else { StopClass::Refusal };
        self.first.stop = Some(Stop { class, raw: Some(raw), sequence: None, detail: None });
    }

    /// Ends every candidate, the first candidate last and with the usage of all.
    fn end(&mut self, out: &mut EventSink<'_>) {
        if !std::mem::replace(&mut self.begun, false) {
            return;
        }
        for (number, mut candidate) in std::mem::take(&mut self.others) {
            let (answer, stop) = (Some(number), Some(candidate.end(out)));
            let ended = Event::TurnEnded(Turn { answer, stop, ..Turn::default() });
            out.of_place(candidate.stop_place, |out| out.event(&ended));
        }
        let stop = self.first.end(out);
        let usage = self.counts.take();
        if stop.class != StopClass::Error {
            let ended = Event::TurnEnded(Turn { stop: Some(stop), usage, ..Turn::default() });
            return out.of_place(self.first.stop_place, |out| out.event(&ended));
        }
        let failure = malformed(stop.raw.unwrap_or_default(), self.first.complaint.take());
        if let Some(usage) = usage {
            self.counts.add(usage, None, out);
        }
        self.tell_counts(out);
        out.event(&Event::Error(failure));
    }

    /// Emits the usage of a response that does not end.
    fn tell_counts(&mut self, out: &mut EventSink<'_>) {
        if let Some(usage) = self.counts.take() {
            let head = Raw::new(&self.head[0]);
            let id = head.text().filter(|id| !id.is_empty());
            out.event(&Event::Usage(Turn { id, usage: Some(usage), ..Turn::default() }));
        }
    }
}

/// Reads one candidate.
#[derive(Default)]
struct CandidateReader {
    parts: PartReader,
    stop: Option<Stop<'static>>,
    /// The candidate that the reason stands in.
    stop_place: Option<ReadPlace>,
    /// The provider's message about a call that it could not parse.
    complaint: Option<Str<'static>>,
}

impl CandidateReader {
    fn begin(&mut self, answer: Option<u64>, streams: bool, out: &mut EventSink<'_>) {
        let head = out.head(ItemKind::Message, Author::Assistant);
        let message = out.start(ItemHead { answer, ..head });
        (self.parts.answer, self.parts.streams, self.parts.cites) = (answer, streams, true);
        self.parts.begin(message);
    }

    fn read(&mut self, candidate: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<7> = WantedNames::new([
            "content",
            "finishReason",
            "finish_reason",
            "groundingMetadata",
            "grounding_metadata",
            "citationMetadata",
            "citation_metadata",
        ]);
        const CONTENT: WantedNames<2> = WantedNames::new(["role", "parts"]);
        let [content, fc, fs, grounding @ ..] = candidate.find(&WANTED);
        let is_grounded = grounding.iter().any(Option::is_some);
        let content = content.filter(|content| content.kind() == Kind::Object);
        content.map(note_blanks);
        let [role, parts] = content.map_or([None; 2], |content| content.find(&CONTENT));
        role.filter(|role| role.is("model")).map(|role| role.note(Field::Structure));
        let parts = parts.into_iter().flat_map(|parts| parts.elements());
        if self.parts.streams {
            for part in parts {
                out.within(part, |out| self.parts.read(part, out));
            }
            if is_grounded {
                let sources = CandidateSources::of(candidate, |_| 0);
                self.cite(&sources, (0, 0), true, out);
            }
        } else {
            let is_text = |part: &Val<'_>| {
                part.has_str("text") && part.get("thought").is_none_or(|flag| flag.bool() != Some(true))
            };
            let parts: Vec<Val<'_>> = parts.collect();
            let first_text = parts.iter().position(is_text);
            // Segments of a part that is not a text refer to the first text part.
            let part_of = |named: u64| {
                let text =
                    usize::try_from(named).ok().and_then(|named| parts.get(named)).is_some_and(is_text);
                if text { named } else { first_text.unwrap_or(0) as u64 }
            };
            let sources = is_grounded.then(|| CandidateSources::of(candidate, part_of));
            for (number, part) in parts.iter().enumerate() {
                let (base, number) = (self.parts.plain.len(), number as u64);
                out.within(*part, |out| self.parts.read(*part, out));
                if let Some(sources) = sources.as_ref().filter(|_| is_text(part)) {
                    self.cite(sources, (base, number), number == part_of(0), out);
                }
            }
        }
        if fc.or(fs).is_some() {
            self.read_stop(candidate, out);
        }
    }

    fn cite(
        &mut self,
        sources: &CandidateSources<'_>,
        (base, number): (usize, u64),
        is_first: bool,
        out: &mut EventSink<'_>,
    ) {
        if let (Some(message), Some(part)) = (self.parts.message, self.parts.text_number()) {
            self.parts.plain.count();
            let said = &self.parts.plain;
            CitedText { message, part, said, base, number }.read(sources, is_first, out);
        }
    }

    /// Reads the finish reason. The first reason counts; a different reason in a later chunk stays unclaimed.
    fn read_stop(&mut self, candidate: Val<'_>, out: &EventSink<'_>) {
        let Some((val, word)) = finish_reason(candidate) else { return };
        if word.is("FINISH_REASON_UNSPECIFIED") || word.is_empty() {
            val.note(Field::Structure);
            return;
        }
        let known = self.stop.as_ref().and_then(|stop| stop.raw.as_ref());
        if known.is_some_and(|known| *known != word) {
            return;
        }
        // A numeric reason is not a copy of its word: a loss within the frame is booked at the number.
        let numbered = super::reason_of(val.u64().unwrap_or(0)).filter(|_| val.str().is_none());
        let numbered = numbered.filter(|_| !self.parts.streams).map(Str::escaped);
        let mut stop = STOPS.stop(numbered.unwrap_or_else(|| word.into_owned()), None);
        let said = either(candidate, "finishMessage", "finish_message");
        if stop.class == StopClass::Error {
            val.take(Field::ErrorCode);
            self.complaint = said.and_then(|said| said.take_text(Field::ErrorMessage)).map(Str::into_owned);
        } else {
            val.take(Field::StopReason);
            let said = said.filter(|said| said.kind() == Kind::String);
            stop.detail = said.map(|said| said.take(Field::StopDetail).into_owned());
        }
        self.stop = Some(stop);
        self.stop_place = Some(out.here());
    }

    /// Completes the message; returns the stop reason.
    fn end(&mut self, out: &mut EventSink<'_>) -> Stop<'static> {
        let mut stop = self.stop.take().unwrap_or_else(|| {
            out.note("no finishReason before the end");
            Stop { class: StopClass::End, raw: None, sequence: None, detail: None }
        });
        // The API has no finish reason for calls.
        if stop.class == StopClass::End && self.parts.calls {
            stop.class = StopClass::ToolUse;
        }
        self.parts.end(out);
        stop
    }
}

/// The finish reason of a candidate as a word; some servers send its number.
fn finish_reason(candidate: Val<'_>) -> Option<(Val<'_>, Str<'_>)> {
    let val = either(candidate, "finishReason", "finish_reason")?;
    let word = val.str().or_else(|| val.u64().and_then(super::reason_of).map(Str::escaped))?;
    Some((val, word))
}

/// A malformed call is an error, regardless of the content before it.
fn malformed<'t>(word: Str<'t>, said: Option<Str<'t>>) -> Failure<'t> {
    Failure {
        code: Some(word),
        message: said.unwrap_or(Str::escaped("the model's call could not be read")),
        class: FailureClass::Server,
        status: None,
        request_id: None,
        retry_after: None,
    }
}

/// Reads usage. `promptTokenCount` includes cached input and excludes tool input. `candidatesTokenCount` excludes
/// thoughts, except on old servers, where the total shows that it includes them.
fn read_usage(usage: Val<'_>) -> Usage {
    const WANTED: WantedNames<12> = WantedNames::new([
        "promptTokenCount",
        "prompt_token_count",
        "cachedContentTokenCount",
        "cached_content_token_count",
        "candidatesTokenCount",
        "candidates_token_count",
        "thoughtsTokenCount",
        "thoughts_token_count",
        "toolUsePromptTokenCount",
        "tool_use_prompt_token_count",
        "totalTokenCount",
        "total_token_count",
    ]);
    note_blanks(usage);
    let [pc, ps, cc, cs, oc, os, hc, hs, uc, us, tc, ts] = usage.find(&WANTED);
    let [prompt, cached, said, thoughts, tools, total] =
        [pc.or(ps), cc.or(cs), oc.or(os), hc.or(hs), uc.or(us), tc.or(ts)]
            .map(|count| count.and_then(|val| Some((val, val.u64()?))));
    let number = |count: Option<(Val<'_>, u64)>| count.map(|(_, number)| number);
    let note = |count: Option<(Val<'_>, u64)>, field| {
        if let Some((val, _)) = count {
            val.note(field);
        }
    };
    let all_input = [prompt, tools].map(number).into_iter().flatten().reduce(u64::saturating_add);
    // A cached count above the input count stays unclaimed.
    let cached = cached.filter(|(_, cached)| all_input.is_none_or(|all| *cached <= all));
    let input = all_input.map(|all| all - number(cached).unwrap_or(0));
    note(prompt, Field::UsageInput);
    note(tools, Field::UsageInput);
    note(cached, Field::UsageCacheRead);
    note(said, Field::UsageOutput);
    note(thoughts, Field::UsageReasoning);
    let together = [said, thoughts].map(number).into_iter().flatten().reduce(u64::saturating_add);
    let sum = |output: Option<u64>| all_input.unwrap_or(0).checked_add(output.unwrap_or(0));
    let total_is = |output| total.is_some_and(|(_, total)| sum(output) == Some(total));
    let is_inside = number(thoughts) <= number(said) && !total_is(together) && total_is(number(said));
    let output = if is_inside { number(said) } else { together };
    if total_is(output) {
        note(total, Field::UsageOutput);
    }
    Usage {
        input,
        cache_read: number(cached),
        output,
        reasoning: number(thoughts),
        input_audio: sound(usage, "promptTokensDetails", "prompt_tokens_details", Field::UsageInputAudio),
        output_audio: sound(
            usage,
            "candidatesTokensDetails",
            "candidates_tokens_details",
            Field::UsageOutputAudio,
        ),
        ..Usage::default()
    }
}

/// The number of audio tokens.
fn sound(usage: Val<'_>, camel: &str, snake: &str, field: Field) -> Option<u64> {
    let audio = either(usage, camel, snake)?
        .elements()
        .find(|entry| entry.get("modality").is_some_and(|modality| modality.is("AUDIO")))?;
    let count = either(audio, "tokenCount", "token_count")?.note_count(field)?;
    note_tag(audio, "modality", &["AUDIO"]);
    Some(count)
}
