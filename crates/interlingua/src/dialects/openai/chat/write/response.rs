//! A whole response, or an error in its place. Nothing is written before the end is known.

use super::{Message, Speech, Texts, finish_reason, lose_time, write_failure, write_head, write_usage};
use crate::dialects::openai::chat::says;
use crate::model::{Event, Failure, SaysTable, Turn};
use crate::pipe::Target;
use crate::wire::{Answer, Facts, HeadPlace};

pub(in super::super) struct Response {
    speech: Speech,
    message: Message,
}

impl Default for Response {
    fn default() -> Self {
        Self { speech: Speech::default(), message: Message::new(Texts::Joined(None)) }
    }
}

impl Answer for Response {
    const HEAD: HeadPlace = HeadPlace::Last;
    const SAYS: SaysTable = says::answer;

    fn begin(&mut self, facts: &Facts, _: &mut Target<'_>) {
        self.speech.answer.clone_from(&facts.id);
    }

    fn item(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        self.speech.event(event, &mut self.message, out);
    }

    fn end(&mut self, turn: &Turn<'_>, facts: &Facts, out: &mut Target<'_>) {
        lose_time(facts, out);
        let reason = finish_reason(turn.stop.as_ref(), &self.speech, out);
        let json = &mut out.json;
        write_head("chat.completion", facts, json.object());
        json.key("choices").array().object().key("index").u64(0).key("message");
        self.message.write(json);
        json.key("finish_reason").literal(reason).end_object().end_array();
        write_usage(facts, json);
        json.end_object();
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        write_failure(failure, out);
    }
}
