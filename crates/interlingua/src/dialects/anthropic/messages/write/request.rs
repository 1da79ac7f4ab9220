//! A request. Settings first, then `system`, then `messages`, each written as soon as its turn is known to be over.
//!
//! Turns follow the API's rules: results directly after their calls and before anything else, no empty text, no
//! thinking without signature, system messages only where they may stand.

use super::{Blank, Blocks, List, Rules, settings, write_media};
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{
    Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Of, Part, Request, ToolResult,
};
use crate::pipe::Target;
use crate::wire::{self, Ask, Content, Letters, Pairing};

pub(in super::super) struct RequestWriter {
    /// `messages` is open; before, a system message belongs to `system`.
    messages: bool,
    turn: Turn,
    /// The blocks of the assistant's turn.
    blocks: Blocks,
    list: List,
    /// `tool_result` blocks of the user's turn, which come first, and what else it says.
    results: Content,
    said: Content,
    /// A system message whose place is not decided yet.
    system: Content,
    last: Turn,
    pairs: Pairing,
    result: Answer,
    open: Vec<(ItemId, Goes)>,
    /// The assistant's turn has a message already.
    spoke: bool,
    blank: Blank,
}

/// Whose turn is being gathered, or was written last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Nobody,
    User,
    Assistant,
}

/// Where the pieces of an open item go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    System,
    User,
    Assistant,
    Result,
}

impl Goes {
    /// The kind of item that its pieces are of.
    fn of(self) -> Of {
        match self {
            Goes::System | Goes::User | Goes::Assistant => Of::Message,
            Goes::Result => Of::Result,
        }
    }
}

/// The result being gathered.
#[derive(Default)]
struct Answer {
    content: Content,
    id: String,
}

impl Default for RequestWriter {
    fn default() -> Self {
        Self {
            messages: false,
            turn: Turn::Nobody,
            blocks: Blocks::default(),
            list: List::new(Rules::Request),
            results: Content::default(),
            said: Content::default(),
            system: Content::default(),
            last: Turn::Nobody,
            pairs: Pairing::default(),
            result: Answer::default(),
            open: Vec::new(),
            spoke: false,
            blank: Blank::default(),
        }
    }
}

impl Ask for RequestWriter {
    fn settings(&mut self, request: &Request<'_>, out: &mut Target<'_>) {
        settings::write(request, out);
    }

    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match &head.kind {
            ItemKind::Message | ItemKind::Reasoning => Ok(()),
            ItemKind::ToolCall(call) => wire::client_runs(call.kind),
            // A result that the provider itself produced, inside its answer.
            ItemKind::ToolResult(_) if self.goes(head.within) == Some(Goes::Assistant) => Err(Reason::NoSlot),
            ItemKind::ToolResult(result) => {
                let id = result.call_id.as_ref().map(result_id);
                if self.pairs.expects(id.as_ref()) { Ok(()) } else { Err(Reason::Refused) }
            }
            ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let ItemHead { id, kind, author, .. } = head;
        let goes = match (kind, author) {
            (ItemKind::Message, Author::System) => Goes::System,
            (ItemKind::Message, Author::Developer) => {
                out.lose(Field::ItemAuthor, Reason::Narrowed);
                Goes::System
            }
            (ItemKind::Message, Author::Assistant) | (ItemKind::Reasoning | ItemKind::ToolCall(_), _) => {
                self.assistant(out);
                if *kind == ItemKind::Message && std::mem::replace(&mut self.spoke, true) {
                    out.lose(Field::ItemAuthor, Reason::Merged);
                    out.ledger.note("assistant messages in a row joined");
                }
                if let ItemKind::ToolCall(call) = kind {
                    self.pairs.called(&super::call_id_of(call.call_id.as_ref(), None, *id));
                }
                self.blocks.event(event, &mut self.list, out);
                Goes::Assistant
            }
            (ItemKind::Message, Author::User | Author::Tool) => {
                if *author == Author::Tool {
                    out.lose(Field::ItemAuthor, Reason::Narrowed);
                }
                self.user(out);
                Goes::User
            }
            (ItemKind::ToolResult(result), _) => {
                self.answer(result, out);
                Goes::Result
            }
            // It has no place and does not come.
            (ItemKind::Notice(_), _) => return,
        };
        self.open.push((*id, goes));
    }

    fn delta(&mut self, delta: &Delta<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(goes) = self.goes(Some(*item)) else { return };
        if goes == Goes::Assistant {
            self.assistant(out);
            return self.blocks.event(event, &mut self.list, out);
        }
        if self.blank.refuses(delta) {
            return out.lose_part(goes.of(), value, Reason::Refused);
        }
        let content = match goes {
            Goes::System => &mut self.system,
            Goes::Result => &mut self.result.content,
            Goes::User | Goes::Assistant => &mut self.said,
        };
        match value {
            Part::Text(text) | Part::Summary(text) => self.blank.text(*item, *part, text, content, out),
            Part::Refusal(text) => {
                out.ledger.note("refusal written as text");
                self.blank.text(*item, *part, text, content, out);
            }
            Part::Json(json) => {
                out.ledger.note("JSON content written as text");
                content.text(*item, *part, &Str::plain(json.as_str()));
            }
            Part::Media(media) if goes != Goes::System => {
                if let Some(block) = write_media(goes.of(), value, media, out) {
                    content.part().values(block.bytes());
                }
            }
            Part::Media(_) | Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Cache(_) => {
                out.lose_part(goes.of(), value, Reason::NoSlot);
            }
            Part::Opaque(_) => out.lose_part(goes.of(), value, Reason::Foreign),
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let ItemTail { id, is_error, .. } = tail;
        self.blank.end(out);
        let Some(at) = self.open.iter().position(|(open, _)| open == id) else { return };
        let (_, goes) = self.open.remove(at);
        match goes {
            Goes::Assistant => self.blocks.event(event, &mut self.list, out),
            Goes::Result => {
                let Answer { content, id } = &mut self.result;
                let mut block = self.results.part();
                block.object().key("type").literal("tool_result").key("tool_use_id").literal(id);
                block.opt_bool("is_error", *is_error);
                if !content.is_empty() {
                    content.write(block.key("content"));
                }
                block.end_object();
            }
            Goes::System | Goes::User => {}
        }
    }

    fn end(&mut self, out: &mut Target<'_>) {
        self.end_turn(out);
        self.place_system(Turn::Nobody, out);
        self.messages(out);
        if self.last == Turn::Assistant {
            out.ledger.note("the conversation ends with the assistant, which newer models refuse");
        }
        out.json.end_array().end_object();
    }
}

/// The id of a call as its result names it.
fn result_id<'a>(id: &'a Str<'_>) -> Str<'a> {
    wire::alias(id, Letters::Word, usize::MAX)
}

impl RequestWriter {
    /// Where the pieces of an open item go.
    fn goes(&self, item: Option<ItemId>) -> Option<Goes> {
        self.open.iter().rfind(|(open, _)| Some(*open) == item).map(|(_, goes)| *goes)
    }

    /// The user speaks: in the turn that answers the calls, or in a new one.
    fn user(&mut self, out: &mut Target<'_>) {
        let joins = match self.turn {
            Turn::User if self.pairs.is_waiting() => true,
            Turn::User => !self.results.is_empty() && self.said.is_empty() && self.system.is_empty(),
            Turn::Nobody | Turn::Assistant => false,
        };
        if joins {
            return;
        }
        if self.turn == Turn::Assistant && self.pairs.is_waiting() {
            self.end_assistant(out);
        } else {
            self.end_turn(out);
            self.place_system(Turn::User, out);
        }
        self.turn = Turn::User;
    }

    /// The assistant speaks: what the user said is complete.
    fn assistant(&mut self, out: &mut Target<'_>) {
        if self.turn == Turn::Assistant && self.system.is_empty() {
            return;
        }
        self.end_turn(out);
        self.place_system(Turn::Assistant, out);
        self.turn = Turn::Assistant;
    }

    /// A result of one of the calls that wait.
    fn answer(&mut self, result: &ToolResult<'_>, out: &mut Target<'_>) {
        let ToolResult { call_id, name: _ } = result;
        let id = call_id.as_ref().map(result_id);
        self.result.id = self.pairs.answered(id.as_ref(), out.ledger).unwrap_or_default();
        self.result.content.clear();
        if self.turn == Turn::Assistant {
            self.end_assistant(out);
        }
        self.turn = Turn::User;
    }

    /// Writes the turn at hand; calls that got no result get one that says so.
    fn end_turn(&mut self, out: &mut Target<'_>) {
        if self.turn == Turn::Assistant {
            self.end_assistant(out);
        }
        for id in self.pairs.unanswered() {
            out.ledger.note("call without a result got one that says so");
            let mut block = self.results.part();
            block.object().key("type").literal("tool_result").key("tool_use_id").literal(&id);
            block.key("is_error").bool(true).key("content").literal(wire::NO_RESULT).end_object();
        }
        self.turn = Turn::Nobody;
        if self.results.is_empty() && self.said.is_empty() {
            return;
        }
        self.messages(out);
        let json = &mut out.json;
        json.object().key("role").literal("user").key("content");
        if self.results.is_empty() {
            self.said.write(json);
        } else {
            json.array();
            self.results.write_parts(json);
            self.said.write_parts(json);
            json.end_array();
        }
        json.end_object();
        self.last = Turn::User;
    }

    fn end_assistant(&mut self, out: &mut Target<'_>) {
        self.blocks.close(&mut self.list, out);
        (self.turn, self.spoke) = (Turn::Nobody, false);
        if self.list.content.is_empty() {
            out.lose(Field::ItemAuthor, Reason::Refused);
            return out.ledger.note("a turn that says nothing was left out");
        }
        self.messages(out);
        out.json.object().key("role").literal("assistant").key("content");
        self.list.content.write(&mut out.json);
        out.json.end_object();
        self.last = Turn::Assistant;
    }

    /// Writes the system message that waits: in `system` if nothing was said before, as a message of its own where
    /// that may stand (after the user, before the assistant or at the end), else as marked user text. Never earlier.
    fn place_system(&mut self, next: Turn, out: &mut Target<'_>) {
        self.blank.end(out);
        if self.system.is_empty() {
            return;
        }
        if !self.messages {
            self.system.write(out.json.key("system"));
            return self.messages(out);
        }
        let json = &mut out.json;
        if self.last == Turn::User && next != Turn::User {
            json.object().key("role").literal("system").key("content");
            self.system.write(json);
            json.end_object();
            self.last = Turn::Nobody;
        } else {
            out.ledger.note("system message written as marked user text, where it stood");
            json.object().key("role").literal("user").key("content").array();
            json.object().key("type").literal("text").key("text").literal("<system>").end_object();
            self.system.write_parts(json);
            json.object().key("type").literal("text").key("text").literal("</system>").end_object();
            json.end_array().end_object();
            self.last = Turn::User;
        }
    }

    /// Opens `messages`, once.
    fn messages(&mut self, out: &mut Target<'_>) {
        if !std::mem::replace(&mut self.messages, true) {
            out.json.key("messages").array();
        }
    }
}
