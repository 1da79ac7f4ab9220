//! Requests, responses and streams to events. A whole response is a stream of one chunk.

mod content;
pub(super) mod request;
mod said;

use super::{ERRORS, MORE_ERRORS};
use crate::dialects::wire::{class_of_status, note_blanks};
use crate::error::Code;
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemKind, Status, Stop, StopClass, Turn, Usage,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Kind, Val};
use crate::text::Str;
use said::Said;

pub(super) struct ResponseReader;

impl Reader for ResponseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
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
    said: Said,
    stop: Option<Stop<'static>>,
    usage: Option<Usage>,
}

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
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
        root.note_str("object", Field::Unnamed);
        // Padding that hides the length of tokens.
        root.note_str("obfuscation", Field::Unnamed);
        let choices = || choices.into_iter().flat_map(|choices| choices.elements());
        let first = choices().next().is_some() && !std::mem::replace(&mut self.begun, true);
        if first {
            out.event(&Event::TurnStarted(Turn {
                id: root.take_str("id", Field::Unnamed),
                model: root.take_str("model", Field::Unnamed),
                time: root.take_raw("created", Field::Unnamed),
                ..Turn::default()
            }));
            let head = out.head(ItemKind::Message, Author::Assistant);
            self.said.message = Some(out.start(head));
        } else {
            root.note_str("id", Field::Unnamed);
            root.note_str("model", Field::Unnamed);
            root.note_u64("created", Field::Unnamed);
        }
        for (place, choice) in choices().enumerate() {
            // Only the first of several answers is told; the others stay where they are.
            let index = choice.get("index").and_then(|index| index.u64());
            if index.unwrap_or(place as u64) > 0 {
                continue;
            }
            choice.note_u64("index", Field::Unnamed);
            note_blanks(choice);
            if let Some(said) = choice.get("delta").or_else(|| choice.get("message")) {
                if said.leaves() == 1 && said.members().next().is_none() {
                    said.note(Field::Unnamed);
                }
                self.said.say(said, out);
            }
            if let Some(reason) = choice.take_str("finish_reason", Field::Unnamed) {
                self.stop =
                    Some(Stop { class: self.class(&reason), raw: Some(reason.into_owned()), sequence: None });
            }
            // Kimi's place for it.
            self.count(choice.get("usage"));
        }
        self.count(root.get("usage"));
    }

    fn sentinel(&mut self, text: &str, out: &mut Sink<'_>) -> bool {
        let done = text.trim() == "[DONE]";
        if done {
            self.end(out);
        }
        done
    }

    fn finish(&mut self, out: &mut Sink<'_>) {
        // Not every server says [DONE], but each says why it stopped.
        if self.stop.is_some() {
            self.end(out);
        }
    }
}

impl StreamReader {
    fn count(&mut self, usage: Option<Val<'_>>) {
        if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
            self.usage.get_or_insert_default().overwrite(&read_usage(usage));
        }
    }

    fn end(&mut self, out: &mut Sink<'_>) {
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
        let stop = stop.or(Some(Stop { class, raw: None, sequence: None }));
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

/// `prompt_tokens` holds all input; what was read from and written to the cache is told apart beside it.
fn read_usage(usage: Val<'_>) -> Usage {
    note_blanks(usage);
    let input = usage.get("prompt_tokens_details");
    let output = usage.get("completion_tokens_details");
    let of =
        |details: Option<Val<'_>>, name| details.and_then(|details| details.note_u64(name, Field::Unnamed));
    let cache_read = of(input, "cached_tokens").or_else(|| usage.note_u64("cached_tokens", Field::Unnamed));
    let cache_write = of(input, "cache_write_tokens");
    usage.note_u64("total_tokens", Field::Unnamed);
    let uncached =
        |all: u64| all.saturating_sub(cache_read.unwrap_or(0)).saturating_sub(cache_write.unwrap_or(0));
    Usage {
        input: usage.note_u64("prompt_tokens", Field::Unnamed).map(uncached),
        cache_read,
        cache_write,
        cache_write_long: None,
        output: usage.note_u64("completion_tokens", Field::Unnamed),
        reasoning: of(output, "reasoning_tokens"),
    }
}

fn failure(error: Val<'_>, out: &mut Sink<'_>) {
    note_blanks(error);
    // A bare string is all that some servers say.
    let message = error
        .take_text(Field::Unnamed)
        .or_else(|| error.take_str("message", Field::Unnamed))
        .unwrap_or_default();
    let code = error.take_str("code", Field::Unnamed);
    // A type that says more than the code, and means nothing to us, stays where it is.
    let kind = error
        .get("type")
        .filter(|kind| code.is_none() || kind.str().is_some_and(|kind| class_of(&kind).is_some()));
    let kind = kind.and_then(|kind| kind.take_text(Field::Unnamed));
    let status = error.take_u64("code", Field::Unnamed).and_then(|status| u16::try_from(status).ok());
    let class = [&code, &kind].into_iter().flatten().find_map(class_of);
    let class = class.or_else(|| status.map(class_of_status));
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
