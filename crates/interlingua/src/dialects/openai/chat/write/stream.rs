//! A stream of chunks. Clients join the strings of deltas, so whatever is not meant to grow is said once: the role in
//! the first chunk, id and name in a call's first fragment. Usage comes last, then `[DONE]`; after an error nothing.

use super::{Detail, Form, Head, Speech, finish_reason, lose_time, write_failure, write_head, write_usage};
use crate::dialects::openai::chat::says;
use crate::json::Str;
use crate::json::{JsonBuffer, JsonWriter};
use crate::model::{Event, Failure, ItemId, SaysTable, Turn};
use crate::pipe::Target;
use crate::wire::{Answer, Facts, HeadPlace};

#[derive(Default)]
pub(in super::super) struct Stream {
    speech: Speech,
    chunks: Chunks,
}

impl Answer for Stream {
    const HEAD: HeadPlace = HeadPlace::First;
    const SAYS: SaysTable = says::answer;

    fn begin(&mut self, facts: &Facts, out: &mut Target<'_>) {
        self.speech.answer.clone_from(&facts.id);
        lose_time(facts, out);
        write_head("chat.completion.chunk", facts, &mut self.chunks.head.hold());
        self.chunks.delta(out, |json| _ = json.key("role").literal("assistant").key("content").literal(""));
    }

    fn item(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        self.speech.event(event, &mut self.chunks, out);
    }

    fn end(&mut self, turn: &Turn<'_>, facts: &Facts, out: &mut Target<'_>) {
        let reason = finish_reason(turn.stop.as_ref(), &self.speech, out);
        self.chunks.chunk(out, Some(reason), |_| {});
        if facts.usage.is_some() {
            self.chunks.begin(out).key("choices").array().end_array();
            write_usage(facts, &mut out.json);
            out.json.end_object().frame("\n\n");
        }
        out.json.frame("data: [DONE]\n\n");
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        out.json.frame("data: ");
        write_failure(failure, out);
        out.json.frame("\n\n");
    }
}

/// Deltas as chunks, each with the same head.
#[derive(Default)]
struct Chunks {
    head: JsonBuffer,
    /// The number of the call whose arguments come.
    call: u64,
}

impl Chunks {
    fn begin<'a, 'o>(&self, out: &'a mut Target<'o>) -> &'a mut JsonWriter<'o> {
        out.json.frame("data: ").object().values(self.head.bytes())
    }

    fn delta(&self, out: &mut Target<'_>, write: impl FnOnce(&mut JsonWriter<'_>)) {
        self.chunk(out, None, write);
    }

    fn chunk(&self, out: &mut Target<'_>, reason: Option<&str>, write: impl FnOnce(&mut JsonWriter<'_>)) {
        let json = self.begin(out).key("choices").array().object().key("index").u64(0).key("delta").object();
        write(json);
        json.end_object().key("finish_reason");
        match reason {
            Some(reason) => json.literal(reason),
            None => json.null(),
        };
        json.end_object().end_array().end_object().frame("\n\n");
    }
}

impl Form for Chunks {
    fn text(&mut self, _: ItemId, _: u32, text: &Str<'_>, out: &mut Target<'_>) {
        self.delta(out, |json| _ = json.key("content").str(text));
    }

    fn refusal(&mut self, text: &Str<'_>, out: &mut Target<'_>) {
        self.delta(out, |json| _ = json.key("refusal").str(text));
    }

    fn reasoning(&mut self, text: &Str<'_>, out: &mut Target<'_>) {
        self.delta(out, |json| _ = json.key("reasoning_content").str(text));
    }

    fn detail(&mut self, detail: Detail<'_>, out: &mut Target<'_>) {
        self.delta(out, |json| {
            detail.write(json.key("reasoning_details").array());
            json.end_array();
        });
    }

    fn call(&mut self, call: Head<'_>, out: &mut Target<'_>) {
        let Head { number, id, name, free_text: _ } = call;
        self.call = number;
        self.delta(out, |json| {
            json.key("tool_calls").array().object().key("index").u64(number).key("id").str(id);
            json.key("type").literal("function").key("function").object().key("name").str(name);
            json.key("arguments").literal("").end_object().end_object().end_array();
        });
    }

    fn arguments(&mut self, piece: &Str<'_>, out: &mut Target<'_>) {
        self.delta(out, |json| {
            json.key("tool_calls").array().object().key("index").u64(self.call);
            json.key("function").object().key("arguments").str(piece).end_object().end_object().end_array();
        });
    }

    fn end_call(&mut self, _: &mut Target<'_>) {}

    fn has_free_text(&self) -> bool {
        // Deltas are typed for functions only.
        false
    }
}
