//! Puts the result of a call before everything that was said while the call ran, in every log of another agent.
//!
//! People type while a tool runs, and some agents write that message between the call and its result, or run a call before
//! the response with further calls is complete. The APIs that continue the session refuse such a history: the calls of a
//! response are followed by their results. So a message of the user after an open call waits, with all later items, until
//! the open calls have their results, and so does an item of the model after the result of one of several open calls. The
//! outline of the source lists the calls that never get a result, so nothing waits for those; without an outline nothing
//! waits at all.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::history::size_of_part;
use super::outline::Outline;
use super::pairs::{Answered, CallPairs, link_key};
use crate::ledger::{Identity, Leftover, Reason};
use crate::model::{
    Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Support, SupportTable,
};
use crate::pipe::{OpenItems, Writer, WriterOutput};

type Items = HashSet<ItemId, BuildHasherDefault<Identity>>;

/// Passes events to the writer of a log, results before the messages that were said while their calls ran.
pub(crate) struct AnswersFirst {
    writer: Box<dyn Writer>,
    outline: Arc<Outline>,
    /// The current events come from kept lines of the target's own dialect, which follow.
    restoring: bool,
    dialect: &'static str,
    session: SessionAnswers,
}

/// The calls and the waiting events of one session.
#[derive(Default)]
struct SessionAnswers {
    pairs: CallPairs,
    /// Written calls whose results are still to come.
    open: Items,
    /// An open call has its result, so the next response of the model waits for the other results.
    has_result: bool,
    /// Calls whose results come before them in the source.
    answered_early: Items,
    /// Open results with the call that each answers.
    answering: OpenItems<ItemId>,
    /// The open items of subagents, and abandoned ones.
    of_others: OpenItems<()>,
    /// The open items that do not wait.
    passing: OpenItems<()>,
    /// The waiting events, in the order of the source.
    waiting: Vec<WaitingEvent>,
    waiting_bytes: usize,
    /// The open items among the waiting events, each with its outermost item.
    waiting_items: HashMap<ItemId, ItemId, BuildHasherDefault<Identity>>,
    /// The keys of the calls among the waiting events.
    waiting_calls: HashSet<u128>,
    /// The waiting results: the writer decides about a result when it is written.
    undecided: Items,
    /// Released results that the writer has no place for.
    refused: OpenItems<Reason>,
}

impl SessionAnswers {
    /// Whether a waiting message is the assistant's.
    fn is_by_assistant(&self, message: ItemId) -> bool {
        self.waiting.iter().any(|waiting| match &waiting.event {
            Event::ItemStarted(head) => head.id == message && head.author == Author::Assistant,
            _ => false,
        })
    }
}

/// The decision about an event.
#[derive(Clone, Copy)]
enum Start {
    Waits,
    Passes,
    /// The item passes, and the message around it waits.
    Alone,
}

/// An event that waits.
struct WaitingEvent {
    /// The number of the frame that the event was read from.
    frame: u64,
    /// The outermost item of the event; `None` if the event belongs to no item.
    root: Option<ItemId>,
    event: Event<'static>,
}

impl AnswersFirst {
    /// The most bytes of waiting events; beyond that the order of the source stays.
    const MOST_WAITING: usize = 16 << 20;

    /// The writer itself, or this stage before it if the source has an outline and the log has results.
    pub(crate) fn before(
        writer: Box<dyn Writer>,
        dialect: &'static str,
        support: SupportTable,
        outline: Option<Arc<Outline>>,
    ) -> Box<dyn Writer> {
        match outline {
            Some(outline) if !matches!(support(Field::ResultText), Support::No(_)) => Box::new(Self {
                writer,
                outline,
                restoring: false,
                dialect,
                session: SessionAnswers::default(),
            }),
            _ => writer,
        }
    }

    /// Whether an item belongs to the main conversation, whose history the agent continues. An item within an item belongs
    /// to the same conversation.
    fn is_main(&self, head: &ItemHead<'_>) -> bool {
        let is_own =
            head.agent.is_none() && head.parent_call.is_none() || self.outline.is_own_thread(head.id);
        let around_is_other = head.within.is_some_and(|around| self.session.of_others.get(around).is_some());
        is_own && !around_is_other && !self.outline.is_left_out(head.id)
    }

    fn route(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let waits = |waits: bool| if waits { Start::Waits } else { Start::Passes };
        let start = match event {
            Event::ItemStarted(head) => self.started(head, out),
            Event::ItemDelta(_) | Event::ItemCompleted(_) => {
                waits(event.item().is_some_and(|item| self.session.waiting_items.contains_key(&item)))
            }
            // The facts and the time of a session do not belong to an item.
            Event::SessionStarted(_) | Event::SessionUpdated(_) | Event::Clock(_) => Start::Passes,
            _ => waits(!self.session.waiting.is_empty()),
        };
        match (start, event) {
            (Start::Waits, _) => return self.wait(event, out),
            (Start::Alone, Event::ItemStarted(head)) => {
                self.pass(&Event::ItemStarted(ItemHead { within: None, ..head.clone() }), out);
            }
            _ => self.pass(event, out),
        }
        let session = &mut self.session;
        match event {
            Event::ItemStarted(head) => session.passing.insert(head.id, ()),
            Event::ItemCompleted(tail) => {
                session.passing.remove(tail.id);
                session.of_others.remove(tail.id);
                if let Some(call) = session.answering.remove(tail.id) {
                    session.open.remove(&call);
                    session.has_result &= !session.open.is_empty();
                }
                // A message around the result ends first.
                if session.open.is_empty() && session.passing.len() == 0 {
                    self.release(true, out);
                }
            }
            _ => {}
        }
    }

    /// Decides about an item that starts.
    fn started(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) -> Start {
        let is_main = self.is_main(head);
        let session = &mut self.session;
        if !is_main {
            session.of_others.insert(head.id, ());
        }
        let around = head.within.and_then(|around| session.waiting_items.get(&around).copied());
        let is_inner = head.within.is_some() && around.is_none();
        let is_prompt =
            head.kind == ItemKind::Message && head.author == Author::User && head.within.is_none();
        let is_result = matches!(head.kind, ItemKind::ToolResult(_));
        // Some agents run a call before the response is complete, so the response goes on after a result.
        let is_next_response = head.author == Author::Assistant && !is_result && session.has_result;
        let is_early = (is_prompt || is_next_response) && !session.open.is_empty();
        let mut is_alone = false;
        let mut waits = around.is_some() || is_main && !is_inner && (!session.waiting.is_empty() || is_early);
        match &head.kind {
            ItemKind::ToolResult(result) if is_main => {
                let key = link_key(result.call_id.as_ref(), result.name.as_ref());
                if let Some(call) = self.outline.call_after(head.id) {
                    session.answered_early.insert(call);
                } else if waits && session.waiting_calls.contains(&key) {
                    // The result answers a call that waits, too.
                } else if let Answered::Call(call) = session.pairs.result(key) {
                    match around {
                        // The model says nothing in a result, so its message does not have to come along.
                        Some(around) if session.is_by_assistant(around) => is_alone = true,
                        Some(around) => self.overtake(around, out),
                        None => {}
                    }
                    self.session.answering.insert(head.id, call);
                    self.session.has_result = true;
                    waits = false;
                }
            }
            ItemKind::ToolCall(call) if is_main => {
                let key = link_key(call.call_id.as_ref(), Some(&call.name));
                if waits {
                    session.waiting_calls.insert(key);
                } else if !self.outline.is_unanswered(head.id) && !session.answered_early.remove(&head.id) {
                    session.pairs.call(key, head.id);
                    session.open.insert(head.id);
                }
            }
            ItemKind::Message if is_prompt && !waits => session.pairs.prompt(),
            _ => {}
        }
        match (waits, is_alone) {
            (true, _) => Start::Waits,
            (false, true) => Start::Alone,
            (false, false) => Start::Passes,
        }
    }

    /// Writes a waiting message before the others, because it holds the result that they wait for.
    fn overtake(&mut self, message: ItemId, out: &mut WriterOutput<'_>) {
        let session = &mut self.session;
        session.waiting_items.retain(|_, root| *root != message);
        let events = std::mem::take(&mut session.waiting);
        let (message, others) = events.into_iter().partition(|event| event.root == Some(message));
        session.waiting = others;
        for WaitingEvent { frame, event, .. } in message {
            match &event {
                Event::ItemStarted(head) => self.session.passing.insert(head.id, ()),
                Event::ItemCompleted(tail) => _ = self.session.passing.remove(tail.id),
                _ => {}
            }
            if frame == out.ledger.frame_number() {
                self.pass(&event, out);
            } else {
                self.pass(&event, &mut out.of_earlier_frames());
            }
        }
    }

    /// Keeps an event until the open calls have their results.
    fn wait(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let session = &mut self.session;
        match event {
            Event::ItemStarted(head) => {
                let around = head.within.and_then(|around| session.waiting_items.get(&around).copied());
                session.waiting_items.insert(head.id, around.unwrap_or(head.id));
            }
            Event::ItemDelta(Delta { value, .. }) => session.waiting_bytes += size_of_part(value),
            _ => {}
        }
        session.waiting_bytes += size_of::<WaitingEvent>();
        let root = event.item().and_then(|item| session.waiting_items.get(&item).copied());
        if let Event::ItemCompleted(tail) = event {
            session.waiting_items.remove(&tail.id);
        }
        let frame = out.ledger.frame_number();
        session.waiting.push(WaitingEvent { frame, root, event: event.clone().into_owned() });
        if session.waiting_bytes > Self::MOST_WAITING {
            self.give_up(out);
        }
    }

    /// Writes the waiting events, which may contain further calls with a message before their result. `moves`: they come
    /// after results that the source has later.
    fn release(&mut self, moves: bool, out: &mut WriterOutput<'_>) {
        let session = &mut self.session;
        if session.waiting.is_empty() {
            return;
        }
        session.waiting_calls.clear();
        session.waiting_bytes = 0;
        // An item that is still open goes on without waiting.
        session.waiting_items.clear();
        let waiting = std::mem::take(&mut session.waiting);
        let mut out = out.of_earlier_frames();
        for WaitingEvent { root, event, .. } in waiting {
            if let Event::ItemStarted(head) = &event
                && moves
                && root == Some(head.id)
                && head.author == Author::User
            {
                out.ledger.note("a message was moved behind the results of the calls that ran");
            }
            self.route(&event, &mut out);
        }
    }

    /// Writes the waiting events although calls are open. Their results follow where the source has them.
    fn give_up(&mut self, out: &mut WriterOutput<'_>) {
        let session = &mut self.session;
        if !session.waiting.is_empty() {
            session.open.clear();
            session.has_result = false;
            session.pairs = CallPairs::default();
            self.release(false, out);
        }
    }

    fn pass(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let session = &mut self.session;
        if let Event::ItemStarted(head) = event
            && session.undecided.remove(&head.id)
            && let Err(reason) = self.writer.takes(head)
        {
            session.refused.insert(head.id, reason);
        }
        let refused = event.item().and_then(|item| session.refused.get(item).copied());
        if let Event::ItemCompleted(tail) = event {
            session.refused.remove(tail.id);
        }
        match refused {
            Some(reason) => out.lose_event(ItemKindTag::Result, event, reason),
            None => self.writer.event(event, out),
        }
    }
}

impl Writer for AnswersFirst {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        let waits = !self.restoring && !self.session.waiting.is_empty();
        if waits && matches!(head.kind, ItemKind::ToolResult(_)) && self.is_main(head) {
            self.session.undecided.insert(head.id);
            return Ok(());
        }
        self.writer.takes(head)
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.restoring = owner == self.dialect;
        self.writer.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.writer.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if self.restoring {
            self.give_up(out);
            return self.writer.event(event, out);
        }
        if let Event::SessionStarted(_) = event {
            self.give_up(out);
            self.session = SessionAnswers::default();
        }
        self.route(event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.give_up(out);
        self.writer.finish(out);
    }
}
