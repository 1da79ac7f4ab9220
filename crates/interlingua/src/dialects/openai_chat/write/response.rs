//! A whole response, or an error in its place. Nothing is written before the end is known.

use super::{Facts, Message, Speech, Texts, finish_reason, nothing, write_failure};
use crate::ledger::Rest;
use crate::model::{Event, StopClass};
use crate::pipe::{Out, Writer};

pub(in super::super) struct ResponseWriter {
    speech: Speech,
    message: Message,
    facts: Facts,
    done: bool,
}

impl Default for ResponseWriter {
    fn default() -> Self {
        Self {
            speech: Speech::default(),
            message: Message::new(Texts::Joined(None)),
            facts: Facts::default(),
            done: false,
        }
    }
}

impl Writer for ResponseWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        if self.done {
            return;
        }
        self.speech.event(event, &mut self.message, out);
        match event {
            Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => {}
            Event::TurnStarted(turn) | Event::Usage(turn) => self.facts.learn(turn, out.ledger),
            Event::TurnEnded(turn) => {
                self.done = true;
                self.facts.learn(turn, out.ledger);
                if turn.stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error) {
                    return write_failure(&nothing(), &mut out.json, out.ledger);
                }
                let json = &mut out.json;
                self.facts.write_head("chat.completion", json.object());
                json.key("choices").array().object().key("index").u64(0).key("message");
                self.message.write(json);
                let reason = finish_reason(turn.stop.as_ref(), &self.speech, out.ledger);
                json.key("finish_reason").word(reason).end_object().end_array();
                self.facts.write_usage(json, out.ledger);
                json.end_object();
            }
            Event::Error(failure) => {
                self.done = true;
                write_failure(failure, &mut out.json, out.ledger);
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
            write_failure(&nothing(), &mut out.json, out.ledger);
        }
    }
}
