//! Requests, responses and streams to events. A whole response is a stream of one chunk.

mod content;
pub(super) mod request;
mod said;

use super::{ERRORS, MORE_ERRORS};
use crate::error::Code;
use crate::json::{Raw, Str};
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemKind, Status, Stop, StopClass, Turn, Usage,
};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Kind, Val};
use crate::wire::{class_of_status, note_blanks, note_tag};
use said::Said;

pub(super) struct ResponseReader;

impl Reader for ResponseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let root = doc.root;
        if root.get("error").is_none_or(|error| error.is_null()) && root.get("choices").is_none() {
            return out.problem(Code::UnknownShape, None, "a response has `choices` or `error`");
        }
        let mut stream = StreamReader { said: Said::whole(), ..StreamReader::default() };
        stream.document(doc, out);
        stream.end(out);
    }
}

#[derive(Default)]
pub(super) struct StreamReader {
    begun: bool,
    /// What the first chunk said of the answer; the others repeat it.
    repeated: Repeated,
    said: Said,
    stop: Option<Stop<'static>>,
    usage: Option<Usage>,
}

#[derive(Default)]
struct Repeated {
    id: Option<Str<'static>>,
    model: Option<Str<'static>>,
    created: Option<Raw<'static>>,
}

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let root = doc.root;
        if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
            // No end follows a failure.
            (self.begun, self.stop) = (false, None);
            return failure(error, out);
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
        let first = choices().next().is_some() && !std::mem::replace(&mut self.begun, true);
        if first {
            let id = root.take_str("id", Field::TurnId);
            let model = root.take_str("model", Field::TurnModel);
            let time = root.take_raw("created", Field::TurnTime);
            self.repeated = Repeated {
                id: id.clone().map(Str::into_owned),
                model: model.clone().map(Str::into_owned),
                created: time.clone().map(Raw::into_owned),
            };
            out.event(&Event::TurnStarted(Turn { id, model, time, ..Turn::default() }));
            let head = out.head(ItemKind::Message, Author::Assistant);
            self.said.message = Some(out.start(head));
        } else {
            self.repeated.note(root);
        }
        for (place, choice) in choices().enumerate() {
            // Only the first of several answers is told; the others stay where they are.
            let index = choice.get("index").and_then(|index| index.u64());
            if index.unwrap_or(place as u64) > 0 {
                continue;
            }
            choice.note_u64("index", Field::Structure);
            note_blanks(choice);
            if let Some(said) = choice.get("delta").or_else(|| choice.get("message")) {
                if said.kind() == Kind::Object && said.members().next().is_none() {
                    said.note(Field::Structure);
                }
                self.said.say(said, out);
            }
            self.stop(choice);
            // Kimi's place for it.
            self.count(choice.get("usage"), out);
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
        if self.stop.is_some() {
            self.end(out);
        } else {
            self.said.cut_off(out);
        }
    }
}

impl StreamReader {
    /// Why it stopped. The first reason stands; another one later stays where it is.
    fn stop(&mut self, choice: Val<'_>) {
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
            self.stop = Some(Stop {
                class: self.class(&reason),
                raw: Some(reason.into_owned()),
                sequence: None,
                detail: None,
            });
        }
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

    fn end(&mut self, out: &mut Events<'_>) {
        if !std::mem::replace(&mut self.begun, false) {
            return;
        }
        // Later chunks may have brought a call or a refusal.
        let mut stop = self.stop.take();
        match &mut stop {
            Some(stop) => stop.class = stop.raw.as_ref().map_or(stop.class, |raw| self.class(raw)),
            None => out.note("no finish_reason before the end"),
        }
        let cut = stop.as_ref().is_some_and(|stop| stop.class == StopClass::MaxTokens);
        let class = self.class(&Str::escaped("stop"));
        self.said.end(if cut { Status::Interrupted } else { Status::Completed }, out);
        let stop = stop.or(Some(Stop { class, raw: None, sequence: None, detail: None }));
        out.event(&Event::TurnEnded(Turn { stop, usage: self.usage.take(), ..Turn::default() }));
    }

    /// Our word for a finish reason. Some servers say `stop` when they mean calls.
    fn class(&self, reason: &Str<'_>) -> StopClass {
        match reason.as_escaped() {
            "length" => StopClass::MaxTokens,
            "stop" | "content_filter" if self.said.refused => StopClass::Refusal,
            "content_filter" => StopClass::Filter,
            "tool_calls" | "function_call" => StopClass::ToolUse,
            "stop" if !self.said.calls.is_empty() => StopClass::ToolUse,
            "stop" => StopClass::End,
            "error" => StopClass::Error,
            _ => StopClass::Other,
        }
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
        output: output_count,
        reasoning: of(output, "reasoning_tokens", Field::UsageReasoning),
        ..Usage::default()
    }
}

fn failure(error: Val<'_>, out: &mut Events<'_>) {
    note_blanks(error);
    // A bare string is all that some servers say.
    let message = error
        .take_text(Field::ErrorMessage)
        .or_else(|| error.take_str("message", Field::ErrorMessage))
        .unwrap_or_default();
    let code = error.take_str("code", Field::ErrorCode);
    let status = error.get("code").and_then(|code| u16::try_from(code.u64()?).ok());
    if status.is_some() {
        error.take_u64("code", Field::ErrorStatus);
    }
    let kind = error.get("type").filter(|kind| kind.kind() == Kind::String);
    let by_code = code.as_ref().and_then(class_of);
    let by_kind = kind.and_then(|kind| class_of(&kind.str()?));
    let class = by_code.or(by_kind).or_else(|| status.map(class_of_status));
    // Without a code the type stands for it. Beside one it is understood if it says the class, or what that class is
    // called; a type that says anything else stays where it is.
    let called = |class| ERRORS.iter().find(|(known, _, _)| *known == class).map(|(_, kind, _)| *kind);
    let kind = kind.and_then(|kind| match (&code, by_code) {
        (None, _) => kind.take_text(Field::ErrorCode),
        (Some(_), Some(class)) if called(class).is_some_and(|word| kind.is(word)) => {
            kind.take_text(Field::ErrorClass)
        }
        (Some(_), None) if by_kind.is_some() => kind.take_text(Field::ErrorClass),
        (Some(_), Some(_) | None) => None,
    });
    let too_long =
        || ["context length", "context window"].iter().any(|words| message.decode().contains(words));
    let class = match class {
        Some(FailureClass::InvalidRequest) | None if too_long() => FailureClass::ContextTooLong,
        Some(class) => class,
        None => FailureClass::Other,
    };
    out.event(&Event::Error(Failure { class, status, code: code.or(kind), message, request_id: None }));
}

fn class_of(word: &Str<'_>) -> Option<FailureClass> {
    // A code is exact; the same type may stand for several classes, of which the first is the plain one.
    let by_code = ERRORS.iter().find(|(_, _, code)| code.is_some_and(|code| word.is(code)));
    let by_type = || ERRORS.iter().find(|(_, kind, _)| word.is(kind));
    let ours = by_code.or_else(by_type).map(|(class, _, _)| *class);
    ours.or_else(|| MORE_ERRORS.iter().find(|(known, _)| word.is(known)).map(|(_, class)| *class))
}
