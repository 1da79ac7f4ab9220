//! Reads lines into events. A `response_item` is an item, and its echo next to it is part of the same item (see
//! [`super::echo`]). Every other line is a notice or an event of the model.

use std::collections::VecDeque;

use super::calls::Arguments;
use super::echo::{Echoes, Form, Voice};
use super::notices::{KnownAgent, read_event};
use super::session::{CopiedHistory, KnownSettings};
use super::tool_results::Outcomes;
use super::usage::TokenCounts;
use crate::dialects::openai::items::{call_of, is_result};
use crate::json::Str;
use crate::log::SessionTracker;
use crate::model::{Author, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Status};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct CodexReader {
    pub(super) session: SessionTracker,
    pub(super) copied: CopiedHistory,
    /// Whether the session belongs to a subagent.
    pub(super) is_subagent: bool,
    /// The system prompt.
    pub(super) prompt: Option<String>,
    pub(super) tokens: TokenCounts,
    pub(super) echoes: Echoes,
    pub(super) arguments: Arguments,
    pub(super) outcomes: Outcomes,
    pub(super) agents: VecDeque<KnownAgent>,
    /// The last settings that were reported: at index 0 those for later turns, at index 1 those of a turn.
    pub(super) settings: [KnownSettings; 2],
    /// Buffer for the data of a notice.
    pub(super) data: String,
    /// A complete item that stays open for one more line, which may hold its response's usage.
    pub(super) ending: Option<EndingItem>,
}

/// A complete item whose end has not been emitted.
pub(super) struct EndingItem {
    item: ItemId,
    /// The number of its line.
    frame: u64,
    /// Whether the line has the status `completed`, the only status of an item that waits.
    completed: bool,
}

/// A payload, or an item in a payload, with the members common to all types, found in one pass.
#[derive(Clone, Copy)]
pub(super) struct Payload<'t> {
    pub(super) val: Val<'t>,
    pub(super) kind: Option<Val<'t>>,
    pub(super) id: Option<Val<'t>>,
    pub(super) status: Option<Val<'t>>,
    /// The item inside an `item_completed` or `item_started` event.
    pub(super) item: Option<Val<'t>>,
    /// The timestamp of the line.
    pub(super) time: Option<Val<'t>>,
    /// Whether the line has an envelope.
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
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
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
            // The usage line belongs to the item of its response, so that item ends after this line.
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
            // Every other line is a notice only.
            _ => {}
        }
        self.read_notice(kind, payload, out);
        if let Some(news) = news {
            kind.note_text(Field::Structure);
            self.say_usage(&news, out);
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        let end = out.frame_number() + 1;
        self.end_last(end, out);
        self.close(out);
    }
}

/// The types of a line without an envelope. The oldest rollouts have items without envelopes and a head without a type;
/// the API description also has messages without a type.
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

/// Whether an element of a message has a type that only Codex and its API use.
fn is_block(element: Val<'_>) -> bool {
    matches!(
        element.str_or_empty("type"),
        "input_text" | "output_text" | "function_call" | "function_result" | "reasoning"
    )
}

/// The speaker of a line, and whether the line is a `response_item` or an echo.
fn spoken(words: (&str, &str), payload: Payload<'_>) -> Option<(Voice, Form)> {
    Some(match words {
        ("response_item", "message") => match payload.val.get("role") {
            Some(role) if role.is("user") => (Voice::User, Form::Item),
            Some(role) if role.is("assistant") => (Voice::Assistant, Form::Item),
            Some(role) if role.is("system") => (Voice::System, Form::Item),
            Some(role) if role.is("developer") => (Voice::Developer, Form::Item),
            Some(_) => return None,
            // A message with only calls or only results may have no role.
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
    /// A new item head, marked as copied in the copied part of a fork.
    pub(super) fn head<'t>(
        &self,
        kind: ItemKind<'t>,
        author: Author,
        out: &mut EventSink<'_>,
    ) -> ItemHead<'t> {
        let mut head = out.head(kind, author);
        head.copied_from = self.copied.source().map(Str::into_owned);
        head
    }

    /// Completes the echoed item that waited for its second line in vain.
    pub(super) fn close(&mut self, out: &mut EventSink<'_>) {
        if let Some((_, item)) = self.echoes.open.take() {
            out.complete(item);
        }
        self.end_last(out.frame_number(), out);
    }

    /// Ends the item whose response had no usage line, before the line with number `now`.
    pub(super) fn end_last(&mut self, now: u64, out: &mut EventSink<'_>) {
        if let Some(EndingItem { item, frame, completed }) = self.ending.take() {
            let mut tail = ItemTail::new(item, Status::Completed);
            // After an unreadable line the item has already ended, and its own line holds the status.
            if completed && frame + 1 == now {
                tail.native_status = Some(Str::escaped(COMPLETED));
            }
            out.event(&Event::ItemCompleted(tail));
        }
    }

    /// Leaves an item of a response open for one more line, which may hold the response's usage. An item whose status
    /// is not plain completion ends at once.
    pub(super) fn end_with_next(&mut self, item: ItemId, payload: Payload<'_>, out: &mut EventSink<'_>) {
        let word = payload.status.map(|_| payload.status.word());
        if !matches!(word, None | Some(COMPLETED)) {
            return complete(item, payload, out);
        }
        payload.status.note_text(Field::ItemStatus);
        self.ending = Some(EndingItem { item, frame: out.frame_number(), completed: word.is_some() });
    }
}

/// The status of a successful item.
const COMPLETED: &str = "completed";

/// Sets the id and time of an item from its line.
pub(super) fn begin<'t>(head: &mut ItemHead<'t>, payload: Payload<'t>) {
    head.native_id = payload.id.take_text(Field::ItemId);
    head.time = payload.time.take_time(Field::ItemTime);
}

/// Ends an item with the status of its line.
pub(super) fn complete(item: ItemId, payload: Payload<'_>, out: &mut EventSink<'_>) {
    out.end(tail(item, payload));
}

/// The end of an item, from the status of its line.
pub(super) fn tail(item: ItemId, payload: Payload<'_>) -> ItemTail<'_> {
    let native_status = payload.status.take_text(Field::ItemStatus);
    let status = match native_status.as_ref().map(Str::as_escaped) {
        Some("incomplete") => Status::Interrupted,
        Some("failed") => Status::Failed,
        _ => Status::Completed,
    };
    ItemTail { native_status, ..ItemTail::new(item, status) }
}
