//! The open messages. The server repeats a message whenever one of its values changes; the item stays open until the
//! message is complete, and its parts become the message's content and nested items.

use std::collections::{HashMap, VecDeque};

use super::part::PartState;
use super::read::{Subagents, Whose};
use crate::dialects::agents::opencode::message::MessageMembers;
use crate::dialects::agents::opencode::moment;
use crate::dialects::agents::opencode::part::{PartMembers, Sort};
use crate::json::Str;
use crate::model::{Author, Field, ItemId, ItemKind, ItemTail, Session, Shape, Status};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// The open messages of all sessions that are read.
#[derive(Default)]
pub(super) struct Messages {
    open: HashMap<String, OpenMessage>,
    /// The last closed messages: the server repeats closed messages, too.
    closed: VecDeque<String>,
    /// The last prompt of each session: the server repeats it after each response, and a prompt may have many.
    prompts: Remembered<String>,
    /// Tools without a result when their message was closed, by the id of their part.
    late: Remembered<()>,
    waiting: Waiting,
}

/// A message that is not complete.
pub(super) struct OpenMessage {
    pub(super) item: ItemId,
    pub(super) author: Author,
    pub(super) session: String,
    /// The first event already had the whole message (a fork copies messages): its parts follow.
    is_whole: bool,
    pub(super) parts: Vec<PartState>,
    /// The number of the next text or medium.
    pub(super) next: u32,
}

/// Events about parts of unknown messages, in order, with the message's id.
#[derive(Default)]
struct Waiting(VecDeque<(String, String)>);

impl Messages {
    /// The number of closed messages that are remembered.
    const CLOSED: usize = 128;
    /// The number of events that wait for their message.
    const WAITING: usize = 1024;

    /// Whether the message is open, or was closed lately.
    pub(super) fn is_known(&self, id: &str) -> bool {
        self.open.contains_key(id) || self.is_closed(id)
    }

    fn is_closed(&self, id: &str) -> bool {
        self.closed.iter().rev().any(|closed| closed == id)
    }

    /// Reads a message: starts it, or completes it. Returns the facts about the session, or `None` if the message
    /// cannot be read.
    pub(super) fn updated<'t>(
        &mut self,
        info: Val<'t>,
        whose: Whose<'_>,
        subagents: &Subagents,
        out: &mut EventSink<'_>,
    ) -> Option<Session<'t>> {
        let message = MessageMembers::new(info);
        let author = message.author()?;
        let id = info.str_or_empty("id");
        let completed = message.time.and_then(|time| time.get("completed")).and_then(moment);
        let is_prompt = author == Author::User;
        if self.open.contains_key(id) {
            if completed.is_some() && message.has_usage() {
                info.note_str("id", Field::TurnId);
                info.note_str("modelID", Field::TurnModel);
            } else {
                info.note_str("id", Field::Structure);
            }
            if completed.is_some() {
                message.usage(completed, out);
                let status = status_of(message.error);
                self.close(id, status, out);
            }
            return Some(Session::default());
        }
        let session = info.str_or_empty("sessionID");
        let is_repeated = is_prompt && self.prompts.get(session).is_some_and(|prompt| prompt == id);
        if is_repeated || self.is_closed(id) {
            info.note_str("id", Field::Structure);
            return Some(Session::default());
        }
        self.close_before(session, author, out);
        let is_main = whose == Whose::Main;
        let facts = if is_main { message.session_facts() } else { Session::default() };
        let mut head = message.head(author, matches!(whose, Whose::Subagent(_)), out);
        head.shape = Shape::List;
        whose.mark(&mut head, subagents);
        let item = out.start(head);
        if is_prompt {
            self.prompts.insert(session, id.to_owned());
        }
        let is_whole = completed.is_some();
        if is_whole {
            message.usage(completed, out);
        }
        let session = session.to_owned();
        let open = OpenMessage { item, author, session, is_whole, parts: Vec::new(), next: 0 };
        self.open.insert(id.to_owned(), open);
        Some(facts)
    }

    /// Reads the current state of a part. Returns whether the part is understood.
    pub(super) fn part(
        &mut self,
        event: Val<'_>,
        properties: Val<'_>,
        whose: Whose<'_>,
        subagents: &mut Subagents,
        out: &mut EventSink<'_>,
    ) -> bool {
        let part = properties.get("part").filter(|part| part.has_str("id") && part.has_str("messageID"));
        let Some(part) = part.map(PartMembers::new) else { return false };
        let id = part.root.str_or_empty("messageID");
        if let Some(message) = self.open.get_mut(id) {
            part.root.note_str("messageID", Field::Structure);
            message.read((&part, properties.get("time")), whose, subagents, out);
            return true;
        }
        if !self.is_closed(id) {
            self.waiting.0.push_back((id.to_owned(), event.text().to_owned()));
            if self.waiting.0.len() > Self::WAITING {
                out.of_no_frame(|out| self.assume_oldest(subagents, out));
            }
            return true;
        }
        let is_late = PartState::has_ended(&part) && self.late.remove(part.root.str_or_empty("id")).is_some();
        if is_late {
            PartState::late_result(&part, whose, subagents, out);
        }
        is_late
    }

    /// Reads a streamed piece of a part. Returns whether the part is open.
    pub(super) fn piece(&mut self, event: Val<'_>, properties: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let id = properties.str_or_empty("messageID");
        let Some(message) = self.open.get_mut(id) else {
            let waits = !id.is_empty() && !self.is_closed(id) && self.waiting.0.len() < Self::WAITING;
            if waits {
                self.waiting.0.push_back((id.to_owned(), event.text().to_owned()));
            }
            return waits;
        };
        message.grow(properties, out)
    }

    /// Closes the messages that end where the next message of their session begins.
    fn close_before(&mut self, session: &str, next: Author, out: &mut EventSink<'_>) {
        self.close_those(out, |message| {
            let ended = message.author == Author::User || message.is_whole;
            let replaced = !ended && next == Author::Assistant;
            let status = if ended { Status::Completed } else { Status::Interrupted };
            (message.session == session && (ended || replaced)).then_some(status)
        });
    }

    /// Closes the prompts: the agent works on them, so they are complete.
    pub(super) fn close_prompts(&mut self, out: &mut EventSink<'_>) {
        self.close_those(out, |message| (message.author == Author::User).then_some(Status::Completed));
    }

    /// Closes all messages: another session begins.
    pub(super) fn close_all(&mut self, out: &mut EventSink<'_>) {
        self.close_those(out, |message| {
            let ended = message.author == Author::User || message.is_whole;
            Some(if ended { Status::Completed } else { Status::Interrupted })
        });
    }

    fn close_those(&mut self, out: &mut EventSink<'_>, status: impl Fn(&OpenMessage) -> Option<Status>) {
        if self.open.is_empty() {
            return;
        }
        let mut those: Vec<(ItemId, String, Status)> = self
            .open
            .iter()
            .filter_map(|(id, message)| Some((message.item, id.clone(), status(message)?)))
            .collect();
        // Map iteration order is unspecified.
        those.sort_by_key(|(item, ..)| *item);
        for (_, id, status) in those {
            self.close(&id, status, out);
        }
    }

    fn close(&mut self, id: &str, status: Status, out: &mut EventSink<'_>) {
        let Some((id, message)) = self.open.remove_entry(id) else { return };
        for part in message.parts {
            if let Some(unanswered) = part.close(status, out) {
                self.late.insert(&unanswered, ());
            }
        }
        out.end(ItemTail::new(message.item, status));
        if self.closed.len() == Self::CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back(id);
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.0.is_empty()
    }

    /// Reads the events that waited for a message.
    pub(super) fn read_waiting(&mut self, id: &str, subagents: &mut Subagents, out: &mut EventSink<'_>) {
        let all = std::mem::take(&mut self.waiting.0);
        let (those, others): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(|(of, _)| of == id);
        self.waiting.0 = others;
        let mut buf = TapeBuf::default();
        for (_, text) in those {
            // The text was parsed before.
            let Ok(tape) = buf.parse(&text, &Limits::default()) else { continue };
            let event = tape.root();
            let Some(properties) = event.get("properties") else { continue };
            let session = self.open.get(id).map(|message| message.session.clone()).unwrap_or_default();
            let whose = if subagents.has(&session) { Whose::Subagent(&session) } else { Whose::Main };
            if event.str_or_empty("type") == "message.part.delta" {
                self.piece(event, properties, out);
            } else {
                self.part(event, properties, whose, subagents, out);
            }
        }
    }

    /// Reads the events whose message never came. The first part shows the author.
    pub(super) fn give_up_waiting(&mut self, subagents: &mut Subagents, out: &mut EventSink<'_>) {
        while self.has_waiting() {
            self.assume_oldest(subagents, out);
        }
    }

    fn assume_oldest(&mut self, subagents: &mut Subagents, out: &mut EventSink<'_>) {
        let Some((id, text)) = self.waiting.0.front().cloned() else { return };
        let mut buf = TapeBuf::default();
        let tape = buf.parse(&text, &Limits::default()).ok();
        let part = tape.as_ref().and_then(|tape| tape.root().get("properties")?.get("part"));
        let part = part.filter(|part| part.kind() == Kind::Object).map(PartMembers::new);
        let author = part.as_ref().map_or(Author::Assistant, |part| match part.sort() {
            // Only the user's first part is a text: a response begins with a step.
            Sort::Text | Sort::File => part.sort().first_author(""),
            sort => sort.first_author(part.root.str_or_empty("type")),
        });
        out.note("guessed the author of a message that the server never sent");
        let mut head = out.head(ItemKind::Message, author);
        head.native_id = Some(Str::escaped(&id));
        head.shape = Shape::List;
        let item = out.start(head);
        let session = part.map(|part| part.root.str_or_empty("sessionID").to_owned()).unwrap_or_default();
        let open = OpenMessage { item, author, session, is_whole: true, parts: Vec::new(), next: 0 };
        self.open.insert(id.clone(), open);
        self.read_waiting(&id, subagents, out);
        self.close(&id, Status::Completed, out);
    }
}

/// The status of a message with this error.
fn status_of(error: Option<Val<'_>>) -> Status {
    match error {
        Some(error) if error.str_or_empty("name") == "MessageAbortedError" => Status::Interrupted,
        Some(_) => Status::Failed,
        None => Status::Completed,
    }
}
