//! A whole response, or an error in its place. Nothing is written before the end is known.

use super::{Blocks, Facts, List, Unsigned, nothing, write_failure, write_stop};
use crate::ledger::Rest;
use crate::model::{Event, StopClass};
use crate::pipe::{Out, Writer};

pub(in super::super) struct ResponseWriter {
    blocks: Blocks,
    list: List,
    facts: Facts,
    done: bool,
}

impl Default for ResponseWriter {
    fn default() -> Self {
        Self {
            blocks: Blocks::default(),
            list: List::new(Unsigned::Keep),
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
        self.blocks.event(event, &mut self.list, out);
        match event {
            Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => {}
            Event::TurnStarted(turn) | Event::Usage(turn) => self.facts.learn(turn, out.ledger),
            Event::TurnEnded(turn) => {
                self.facts.learn(turn, out.ledger);
                self.blocks.close(&mut self.list, out);
                self.done = true;
                if turn.stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error) {
                    return write_failure(&nothing(), &mut out.json, out.ledger);
                }
                let json = &mut out.json;
                self.facts.write_head(json.object());
                json.key("content").array();
                self.list.content.write_parts(json);
                json.end_array();
                write_stop(turn.stop.as_ref(), self.blocks.calls, json, out.ledger);
                self.facts.write_usage(json);
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
