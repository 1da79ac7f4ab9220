//! A stream of chunks. Clients join the strings of deltas, so whatever is not meant to grow is said once: the role in
//! the first chunk, id and name in a call's first fragment. Usage comes last, then `[DONE]`; after an error nothing.

use super::{Detail, Facts, Form, Head, Speech, finish_reason, nothing, write_failure};
use crate::emit::{Emit, EmitState};
use crate::ledger::Rest;
use crate::model::{Event, Failure, ItemId, StopClass, Turn};
use crate::pipe::{Out, Writer};
use crate::text::{Raw, Str};

#[derive(Default)]
pub(in super::super) struct StreamWriter {
    speech: Speech,
    facts: Facts,
    chunks: Chunks,
    started: bool,
    done: bool,
}

impl StreamWriter {
    fn start(&mut self, out: &mut Out<'_>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        self.facts.write_head("chat.completion.chunk", self.chunks.head.hold().frame(""));
        self.chunks.delta(out, |json| _ = json.key("role").word("assistant").key("content").word(""));
    }

    fn stop(&mut self, turn: &Turn<'_>, out: &mut Out<'_>) {
        self.start(out);
        self.facts.learn(turn, out.ledger);
        if turn.stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error) {
            return self.fail(&nothing(), out);
        }
        let reason = finish_reason(turn.stop.as_ref(), &self.speech, out.ledger);
        self.chunks.chunk(out, Some(reason), |_| {});
        if self.facts.usage.is_some() {
            self.chunks.begin(out).key("choices").array().end_array();
            self.facts.write_usage(&mut out.json, out.ledger);
            out.json.end_object().frame("\n\n");
        }
        out.json.frame("data: [DONE]\n\n");
        self.done = true;
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Out<'_>) {
        out.json.frame("data: ");
        write_failure(failure, &mut out.json, out.ledger);
        out.json.frame("\n\n");
        self.done = true;
    }
}

impl Writer for StreamWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        if self.done {
            return;
        }
        match event {
            Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => {
                self.start(out);
                self.speech.event(event, &mut self.chunks, out);
            }
            Event::TurnStarted(turn) => {
                self.facts.learn(turn, out.ledger);
                self.start(out);
            }
            Event::Usage(turn) => self.facts.learn(turn, out.ledger),
            Event::TurnEnded(turn) => {
                self.speech.event(event, &mut self.chunks, out);
                self.stop(turn, out);
            }
            Event::Error(failure) => {
                self.speech.event(event, &mut self.chunks, out);
                self.fail(failure, out);
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {
                out.ledger.note("only a model's answer has a place in a response")
            }
        }
    }

    fn rest(&mut self, _: Rest<'_>, _: &mut Out<'_>) {}

    fn finish(&mut self, out: &mut Out<'_>) {
        if !self.done {
            self.fail(&nothing(), out);
        }
    }
}

/// Deltas as chunks, each with the same head.
#[derive(Default)]
struct Chunks {
    head: EmitState,
    /// The number of the call whose arguments come.
    call: u64,
}

impl Chunks {
    fn begin<'a, 'o>(&self, out: &'a mut Out<'o>) -> &'a mut Emit<'o> {
        out.json.frame("data: ").object().raw(&Raw::new(self.head.held()))
    }

    fn delta(&self, out: &mut Out<'_>, write: impl FnOnce(&mut Emit<'_>)) {
        self.chunk(out, None, write);
    }

    fn chunk(&self, out: &mut Out<'_>, reason: Option<&str>, write: impl FnOnce(&mut Emit<'_>)) {
        let json = self.begin(out).key("choices").array().object().key("index").u64(0).key("delta").object();
        write(json);
        json.end_object().key("finish_reason");
        match reason {
            Some(reason) => json.word(reason),
            None => json.null(),
        };
        json.end_object().end_array().end_object().frame("\n\n");
    }
}

impl Form for Chunks {
    fn text(&mut self, _: ItemId, _: u32, text: &Str<'_>, out: &mut Out<'_>) {
        self.delta(out, |json| _ = json.key("content").str(text));
    }

    fn refusal(&mut self, text: &Str<'_>, out: &mut Out<'_>) {
        self.delta(out, |json| _ = json.key("refusal").str(text));
    }

    fn reasoning(&mut self, text: &Str<'_>, out: &mut Out<'_>) {
        self.delta(out, |json| _ = json.key("reasoning_content").str(text));
    }

    fn detail(&mut self, detail: Detail<'_>, out: &mut Out<'_>) {
        self.delta(out, |json| {
            detail.write(json.key("reasoning_details").array());
            json.end_array();
        });
    }

    fn call(&mut self, call: Head<'_>, out: &mut Out<'_>) {
        let Head { number, id, name, free_text: _ } = call;
        self.call = number;
        self.delta(out, |json| {
            json.key("tool_calls").array().object().key("index").u64(number).key("id").str(id);
            json.key("type").word("function").key("function").object().key("name").str(name);
            json.key("arguments").word("").end_object().end_object().end_array();
        });
    }

    fn arguments(&mut self, piece: &Str<'_>, out: &mut Out<'_>) {
        self.delta(out, |json| {
            json.key("tool_calls").array().object().key("index").u64(self.call);
            json.key("function").object().key("arguments").str(piece).end_object().end_object().end_array();
        });
    }

    fn end_call(&mut self, _: &mut Out<'_>) {}

    fn has_free_text(&self) -> bool {
        // Deltas are typed for functions only.
        false
    }
}
