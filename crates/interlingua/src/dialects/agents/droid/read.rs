//! Lines to events. A line with a message is a message with its blocks; the end of a turn is an event, a compaction is an
//! event and its summary, and any other line is a notice.

use super::super::signed_thinking::{is_thinking, read_thinking};
use crate::blocks;
use crate::json::Str;
use crate::log::{SessionTracker, words_of_unknown};
use crate::model::{
    Author, Compaction, Event, Field, ItemHead, ItemId, ItemKind, Notice, Origin, Part, Session, Stop,
    StopClass, Turn, Words, issuers,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Member as _, Val};

#[derive(Default)]
pub(super) struct DroidReader {
    session: SessionTracker,
}

impl Reader for DroidReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let kind = line.str_or_empty("type");
        if kind.is_empty() {
            doc.report_foreign(super::DIALECT.name, out);
        }
        if kind == "session_start" && self.session.is_another(line.get("id")) {
            *self = Self::default();
        }
        let message = line.get("message").filter(|_| kind == "message");
        self.session(line, kind, message, out);
        let content = message.and_then(|message| message.get("content")).filter(blocks::is_content);
        let author = match message.map_or("", |message| message.str_or_empty("role")) {
            "user" => Some(Author::User),
            "assistant" => Some(Author::Assistant),
            _ => None,
        };
        match (message, author, content) {
            (Some(message), Some(author), Some(content)) => said(line, message, author, content, out),
            _ if kind == "agent_turn_outcome" && line.has_str("reason") => turn_ended(line, out),
            _ if kind == "compaction_state" && line.has_str("summaryText") => compacted(line, out),
            _ => notice(line, kind, out),
        }
    }
}

impl DroidReader {
    /// Reads the session values of a line.
    fn session(&mut self, line: Val<'_>, kind: &str, message: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let mut session = Session::default();
        if kind == "session_start" {
            session.id = line.note_str("id", Field::SessionId);
            session.title = line.note_str("title", Field::SessionTitle);
            session.cwd = line.note_str("cwd", Field::SessionCwd);
            session.parent = line.note_str("parent", Field::SessionParent);
        }
        // Only the assistant's messages have an effort.
        session.effort =
            message.and_then(|message| message.note_str("reasoningEffort", Field::SessionEffort));
        self.session.tell(super::DIALECT.name, session, out);
    }
}

fn said(line: Val<'_>, message: Val<'_>, author: Author, content: Val<'_>, out: &mut EventSink<'_>) {
    line.note_str("type", Field::Structure);
    message.note_str("role", Field::ItemAuthor);
    let mut head = out.head(ItemKind::Message, author);
    if author == Author::User && message.str_or_empty("visibility") == "llm_only" {
        // Text for the model that no user typed: reminders, the state of the folder.
        message.note_str("visibility", Field::ItemOrigin);
        head.origin = Some(Origin::Harness);
    }
    head.shape = blocks::shape(Some(content));
    head.model = message.take_str("modelId", Field::ItemModel);
    let item = begin(head, line, out);
    if let Some(text) = content.take_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    let issuer = issuer(message);
    let mut is_named = false;
    for (number, block) in content.elements().enumerate() {
        let provider = block.get("signatureProvider");
        out.within(block, |out| {
            if is_thinking(block) {
                read_thinking(block, &issuer, provider.filter(|_| !is_named), item, out);
            } else {
                blocks::read_block(block, number as u32, item, out);
            }
        });
        is_named |= block.has_str("signatureProvider");
    }
    out.complete(item);
}

/// The issuer of a message's signatures: the provider that its first thinking block names.
pub(super) fn issuer(message: Val<'_>) -> Str<'_> {
    let blocks = message.get("content").into_iter().flat_map(|content| content.elements());
    let provider =
        blocks.filter_map(|block| block.get("signatureProvider")).find_map(|provider| provider.str());
    provider.unwrap_or(Str::escaped(issuers::ANTHROPIC))
}

fn turn_ended(line: Val<'_>, out: &mut EventSink<'_>) {
    line.note_str("type", Field::Structure);
    let raw = line.note_str("reason", Field::StopReason);
    let class = raw.as_ref().and_then(|raw| OUTCOMES.value(raw)).unwrap_or(StopClass::Error);
    let stop = Some(Stop { class, raw, sequence: None, detail: None });
    out.event(&Event::TurnEnded(Turn { stop, ..Turn::default() }));
}

/// The outcomes of turns; all others are failures.
const OUTCOMES: Words<StopClass> = Words(&[
    (StopClass::End, "completed"),
    (StopClass::End, "spec_handoff"),
    (StopClass::Cancelled, "cancelled"),
    (StopClass::Cancelled, "permission_rejected"),
]);

/// Reads a compaction and its summary.
fn compacted(line: Val<'_>, out: &mut EventSink<'_>) {
    line.note_str("type", Field::ItemAuthor);
    out.event(&Event::Compacted(Compaction::default()));
    let mut head = out.head(ItemKind::Message, Author::User);
    head.origin = Some(Origin::Summary);
    let item = begin(head, line, out);
    if let Some(text) = line.take_str("summaryText", Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

/// A line outside the conversation. Its text is for people, or for the model in a later version of the program.
fn notice(line: Val<'_>, kind: &str, out: &mut EventSink<'_>) {
    let event_type = line.note_str("type", Field::NoticeType);
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    // The id of the first line is the session's.
    let item = if kind == "session_start" { out.start(head) } else { begin(head, line, out) };
    let is_silent = matches!(kind, "session_start" | "todo_state");
    if let Some(words) = words_of_unknown(line).filter(|_| !is_silent) {
        out.delta(item, 0, Part::Text(words));
    }
    out.complete(item);
}

/// Fills the item's head from the line and starts the item.
fn begin<'t>(mut head: ItemHead<'t>, line: Val<'t>, out: &mut EventSink<'_>) -> ItemId {
    head.native_id = line.take_str("id", Field::ItemId);
    head.parent = line.take_str("parentId", Field::ItemParent);
    head.time = line.get("timestamp").take_time(Field::ItemTime);
    out.start(head)
}
