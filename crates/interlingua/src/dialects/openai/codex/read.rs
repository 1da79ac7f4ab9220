//! Lines to events. A `response_item` is an item, its echo beside it the same item again (see [`super::echo`]); every
//! other line is a notice, whatever its type, or an event of the model.

use std::collections::VecDeque;

use super::calls::Arguments;
use super::echo::{Echoes, Form, Voice};
use super::facts::{CopiedHistory, KnownSettings};
use super::notices::{KnownAgent, read_event};
use super::outcome::Outcomes;
use super::tokens::TokenCounts;
use crate::dialects::openai::items::{call_of, is_result};
use crate::json::Str;
use crate::log::SessionNews;
use crate::model::{Author, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Status};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct CodexReader {
    pub(super) session: SessionNews,
    pub(super) copied: CopiedHistory,
    /// The session is that of an agent which another one started.
    pub(super) is_subagent: bool,
    /// The system prompt.
    pub(super) prompt: Option<String>,
    pub(super) tokens: TokenCounts,
    pub(super) echoes: Echoes,
    pub(super) arguments: Arguments,
    pub(super) outcomes: Outcomes,
    pub(super) agents: VecDeque<KnownAgent>,
    /// The settings that were told last: those for what follows, and those of a turn.
    pub(super) settings: [KnownSettings; 2],
    /// The data of a notice that is put together.
    pub(super) data: String,
    /// A complete item whose response may tell in the next line what it used.
    pub(super) ending: Option<EndingItem>,
}

/// A complete item that has not been ended.
pub(super) struct EndingItem {
    item: ItemId,
    /// Its line.
    frame: u64,
    /// The only word that such an item has for its end.
    completed: bool,
}

/// A payload, or an item in one, with the members that any may have, found in one pass.
#[derive(Clone, Copy)]
pub(super) struct Payload<'t> {
    pub(super) val: Val<'t>,
    pub(super) kind: Option<Val<'t>>,
    pub(super) id: Option<Val<'t>>,
    pub(super) status: Option<Val<'t>>,
    /// What has been completed, in events that show items.
    pub(super) item: Option<Val<'t>>,
    /// That of its line.
    pub(super) time: Option<Val<'t>>,
    /// Whether there is a line around it.
    pub(super) enveloped: bool,
}

impl<'t> Payload<'t> {
    pub(super) fn new(val: Val<'t>, time: Option<Val<'t>>) -> Self {
        const WANTED: WantedNames<4> = WantedNames::new(["type", "id", "status", "item"]);
        let [kind, id, status, item] = val.find(&WANTED);
        Self { val, kind, id, status, item, time, enveloped: true }
    }
}

impl Reader for CodexReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["type", "payload", "timestamp"]);
        let [kind, enveloped, time] = doc.root.find(&WANTED);
        let enveloped = enveloped.filter(|payload| payload.kind() == Kind::Object);
        let mut payload = Payload::new(enveloped.unwrap_or(doc.root), time);
        payload.enveloped = enveloped.is_some();
        let words = if enveloped.is_some() {
            (kind.word(), payload.kind.word())
        } else {
            words_of_bare(payload).unwrap_or_else(|| {
                doc.report_foreign(super::DIALECT.name, out);
                (kind.word(), kind.word())
            })
        };
        if !matches!(words, ("event_msg", "item_completed" | "item_started")) {
            payload.item = None;
        }
        self.copied.see(words.1, payload);
        if let Some((voice, form)) = spoken(words, payload) {
            return self.said(kind, payload, voice, form, out);
        }
        let word = if words.0 == "event_msg" { words.1 } else { words.0 };
        let news = self.tokens.news(word, payload);
        if let Some(news) = &news
            && self.ending.as_ref().is_some_and(|ending| ending.frame + 1 == out.frame_number())
        {
            // The line belongs to the item of the response that it counts.
            self.close(out);
            kind.note_text(Field::Structure);
            payload.kind.note_text(Field::Structure);
            return self.say_usage(news, out);
        }
        self.close(out);
        match words {
            ("response_item", word) if self.tool(payload, word, None, out) => {
                kind.note_text(Field::Structure);
                return;
            }
            ("session_meta", _) => return self.read_head(kind, payload, out),
            ("turn_context", _) => self.read_settings(payload.val, time, out),
            ("event_msg", "thread_settings_applied") => {
                if let Some(settings) = payload.val.get("thread_settings") {
                    self.read_settings(settings, time, out);
                }
            }
            ("event_msg", "thread_name_updated") => {
                self.read_title(payload.val.get("thread_name"), time, out);
            }
            _ if read_event(kind, payload, out) => return,
            // A notice, and no more.
            _ => {}
        }
        self.read_notice(kind, payload, out);
        if let Some(news) = news {
            kind.note_text(Field::Structure);
            self.say_usage(&news, out);
        }
    }

    fn finish(&mut self, out: &mut Events<'_>) {
        let end = out.frame_number() + 1;
        self.end_last(end, out);
        self.close(out);
    }
}

/// The oldest rollouts have items without an envelope, and a head that has no type at all; what describes the API has
/// messages that have no type either.
pub(super) fn words_of_bare(line: Payload<'_>) -> Option<(&'static str, &str)> {
    let word = line.kind.word();
    match word {
        "message" | "reasoning" => Some(("response_item", word)),
        word if call_of(word).is_some() || is_result(word) => Some(("response_item", word)),
        "" if line.kind.is_none() => {
            let content = line.val.get("content").filter(|content| content.kind() == Kind::Array);
            let has_block = |content: Val<'_>| content.elements().any(is_block);
            if line.id.is_some() && line.val.get("instructions").is_some() {
                Some(("session_meta", ""))
            } else if line.val.has_str("record_type") {
                Some(("", ""))
            } else {
                content.is_some_and(has_block).then_some(("response_item", "message"))
            }
        }
        _ => None,
    }
}

/// Whether an element of a message is one of those that only Codex and its API have.
fn is_block(element: Val<'_>) -> bool {
    matches!(
        element.str_or_empty("type"),
        "input_text" | "output_text" | "function_call" | "function_result" | "reasoning"
    )
}

/// Whose words a line holds, and whether as what was sent or as what the screen showed.
fn spoken(words: (&str, &str), payload: Payload<'_>) -> Option<(Voice, Form)> {
    Some(match words {
        ("response_item", "message") => match payload.val.get("role") {
            Some(role) if role.is("user") => (Voice::User, Form::Item),
            Some(role) if role.is("assistant") => (Voice::Assistant, Form::Item),
            Some(role) if role.is("system") => (Voice::System, Form::Item),
            Some(role) if role.is("developer") => (Voice::Developer, Form::Item),
            Some(_) => return None,
            // A list of calls or of results alone does not say whose it is.
            None => {
                let first = payload.val.get("content")?.elements().next()?;
                match first.str_or_empty("type") {
                    "function_call" | "reasoning" | "output_text" => (Voice::Assistant, Form::Item),
                    "function_result" | "input_text" => (Voice::User, Form::Item),
                    _ => return None,
                }
            }
        },
        ("response_item", "agent_message") => (Voice::Agent, Form::Item),
        ("response_item", "reasoning") => (Voice::Reasoning, Form::Item),
        ("event_msg", "user_message") => (Voice::User, Form::Shown),
        ("event_msg", "agent_message") => (Voice::Assistant, Form::Shown),
        ("event_msg", "agent_reasoning" | "agent_reasoning_raw_content") => (Voice::Reasoning, Form::Shown),
        ("event_msg", "item_completed") => match payload.item?.str_or_empty("type") {
            "UserMessage" => (Voice::User, Form::Done),
            "AgentMessage" => (Voice::Assistant, Form::Done),
            "Reasoning" => (Voice::Reasoning, Form::Done),
            _ => return None,
        },
        _ => return None,
    })
}

impl CodexReader {
    /// A head of which no more is known than whether it was copied.
    pub(super) fn head<'t>(&self, kind: ItemKind<'t>, author: Author, out: &mut Events<'_>) -> ItemHead<'t> {
        let mut head = out.head(kind, author);
        head.copied_from = self.copied.source().map(Str::into_owned);
        head
    }

    /// Completes the item that waited for a second line which did not come.
    pub(super) fn close(&mut self, out: &mut Events<'_>) {
        if let Some((_, item)) = self.echoes.open.take() {
            out.complete(item);
        }
        self.end_last(out.frame_number(), out);
    }

    /// Ends the item whose response has not told what it used, at the line of that number.
    pub(super) fn end_last(&mut self, now: u64, out: &mut Events<'_>) {
        if let Some(EndingItem { item, frame, completed }) = self.ending.take() {
            let mut tail = ItemTail::new(item, Status::Completed);
            // Behind something that nobody could read, the item is over already; its line says the word.
            if completed && frame + 1 == now {
                tail.native_status = Some(Str::escaped(COMPLETED));
            }
            out.event(&Event::ItemCompleted(tail));
        }
    }

    /// Ends an item of a response with the next line, which may tell what the response used. Only if its end says no
    /// more than that it is complete.
    pub(super) fn end_with_next(&mut self, item: ItemId, payload: Payload<'_>, out: &mut Events<'_>) {
        let word = payload.status.map(|_| payload.status.word());
        if !matches!(word, None | Some(COMPLETED)) {
            return complete(item, payload, out);
        }
        payload.status.note_text(Field::ItemStatus);
        self.ending = Some(EndingItem { item, frame: out.frame_number(), completed: word.is_some() });
    }
}

/// The status of what went well.
const COMPLETED: &str = "completed";

/// What a line says about its item.
pub(super) fn begin<'t>(head: &mut ItemHead<'t>, payload: Payload<'t>) {
    head.native_id = payload.id.take_text(Field::ItemId);
    head.time = payload.time.take_time(Field::ItemTime);
}

/// Ends an item.
pub(super) fn complete(item: ItemId, payload: Payload<'_>, out: &mut Events<'_>) {
    out.end(tail(item, payload));
}

/// How a line says that its item ended.
pub(super) fn tail(item: ItemId, payload: Payload<'_>) -> ItemTail<'_> {
    let native_status = payload.status.take_text(Field::ItemStatus);
    let status = match native_status.as_ref().map(Str::as_escaped) {
        Some("incomplete") => Status::Interrupted,
        Some("failed") => Status::Failed,
        _ => Status::Completed,
    };
    ItemTail { native_status, ..ItemTail::new(item, status) }
}
