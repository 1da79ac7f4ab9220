//! A whole response, or an error in its place. Nothing is written before the end is known.

use super::{Blocks, List, Rules, write_failure, write_head, write_stop, write_usage};
use crate::dialects::anthropic::messages::says;
use crate::model::{Event, Failure, SaysTable, Turn};
use crate::pipe::Target;
use crate::wire::{Answer, Facts, HeadPlace};

pub(in super::super) struct Response {
    blocks: Blocks,
    list: List,
}

impl Default for Response {
    fn default() -> Self {
        Self { blocks: Blocks::default(), list: List::new(Rules::Answer) }
    }
}

impl Answer for Response {
    const HEAD: HeadPlace = HeadPlace::Last;
    const SAYS: SaysTable = says::answer;

    fn begin(&mut self, facts: &Facts, _: &mut Target<'_>) {
        self.blocks.answer.clone_from(&facts.id);
    }

    fn item(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        self.blocks.event(event, &mut self.list, out);
    }

    fn end(&mut self, turn: &Turn<'_>, facts: &Facts, out: &mut Target<'_>) {
        self.blocks.close(&mut self.list, out);
        write_head(facts, out.json.object());
        out.json.key("content").array();
        self.list.content.write_parts(&mut out.json);
        out.json.end_array();
        write_stop(turn.stop.as_ref(), self.blocks.calls, out);
        write_usage(facts, &mut out.json);
        out.json.end_object();
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        write_failure(failure, out);
    }
}
