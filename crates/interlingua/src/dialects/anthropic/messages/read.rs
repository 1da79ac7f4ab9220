//! Requests, responses and streams to events. A whole response emits the same events as its stream: both open their
//! blocks with [`blocks::open_block`] and start and end their turn in this module.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::super::stream::{BlockSort, read_piece, sort_of_piece, usage};
use super::super::usage::read_stop;
use super::{ERRORS, ROLES, settings};
use crate::blocks::{self, Extent};
use crate::error::Code;
use crate::json::Str;
use crate::ledger::Identity;
use crate::model::{
    Args, Author, Event, Failure, Field, ItemHead, ItemId, ItemKind, ItemTail, Part, Status, Stop, Turn,
    Usage,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Val, WantedNames};
use crate::wire::answer::{CountsSoFar, tell_before_failure};
use crate::wire::{CompleteArguments, JsonProgress, is_blank, note_blanks, note_tag};

pub(super) struct MessagesRequestReader;

impl Reader for MessagesRequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const MEMBERS: WantedNames<2> = WantedNames::new(["role", "content"]);
        let root = doc.root;
        out.event(&Event::Request(Box::new(settings::read(root))));
        if let Some(system) = root.get("system").filter(|system| !system.is_null()) {
            said(system, Author::System, out);
        }
        let Some(messages) = root.get("messages") else {
            return out.problem(Code::UnknownShape, None, "a request has `messages`");
        };
        for message in messages.elements() {
            // A message with an unknown role is left unclaimed.
            if let [Some(role), Some(content)] = message.find(&MEMBERS)
                && let Some(author) = role.str().and_then(|role| ROLES.value(&role))
            {
                role.note(Field::ItemAuthor);
                out.within(message, |out| said(content, author, out));
            }
        }
    }
}

fn said(content: Val<'_>, author: Author, out: &mut EventSink<'_>) {
    let shape = blocks::shape(Some(content));
    let head = out.head(ItemKind::Message, author);
    let item = out.start(ItemHead { shape, ..head });
    blocks::read_content(content, item, out);
    out.complete(item);
}

pub(super) struct WholeAnswerReader;

impl Reader for WholeAnswerReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        if root.get("error").is_some() {
            return failure(root, out);
        }
        let Some(content) = root.get("content") else {
            return out.problem(Code::UnknownShape, None, "a response has `content` or `error`");
        };
        let message = begin(root, usage(root), out);
        blocks::read_content(content, message, out);
        out.complete(message);
        let (usage, stop) = (usage(root), stop(root));
        out.event(&Event::TurnEnded(Turn { stop, usage, ..Turn::default() }));
    }
}

/// Starts the turn and its message; `message` is a whole message or the `message` of `message_start`.
fn begin(message: Val<'_>, usage: Option<Usage>, out: &mut EventSink<'_>) -> ItemId {
    note_tag(message, "type", &["message"]);
    note_tag(message, "role", &["assistant"]);
    note_blanks(message);
    out.event(&Event::TurnStarted(Turn {
        id: message.take_str("id", Field::TurnId),
        model: message.take_str("model", Field::TurnModel),
        usage,
        ..Turn::default()
    }));
    let shape = blocks::shape(message.get("content"));
    let head = out.head(ItemKind::Message, Author::Assistant);
    out.start(ItemHead { shape, ..head })
}

/// Parses the stop reason; `place` is a whole message or the `delta` of `message_delta`.
fn stop(place: Val<'_>) -> Option<Stop<'_>> {
    let reason = place.take_str("stop_reason", Field::StopReason)?;
    let sequence = place.take_str("stop_sequence", Field::StopSequence);
    Some(Stop { detail: place.take_raw("stop_details", Field::StopDetail), ..read_stop(reason, sequence) })
}

fn failure(root: Val<'_>, out: &mut EventSink<'_>) {
    let Some(error) = root.get("error") else { return };
    note_tag(root, "type", &["error"]);
    note_blanks(root);
    let request_id = root.take_str("request_id", Field::ErrorRequestId);
    out.event(&Event::Error(Failure { request_id, ..ERRORS.read(error) }));
}

/// Reads a stream, event by event.
#[derive(Default)]
pub(crate) struct MessageEventsReader {
    message: Option<ItemId>,
    /// The response's id.
    id: Option<Str<'static>>,
    /// Open blocks by index, each with its item; `None` for a text block, which is a part of the message.
    open: HashMap<u64, Option<ItemId>, BuildHasherDefault<Identity>>,
    /// How far the arguments of each call have arrived, by the index of its block.
    arguments: HashMap<u64, JsonProgress, BuildHasherDefault<Identity>>,
    /// The arguments that were complete at the beginning of their block, by the index of the block.
    complete: HashMap<u64, CompleteArguments, BuildHasherDefault<Identity>>,
    /// Reused buffer for decoded arguments.
    plain: String,
    /// Number of blocks so far.
    count: u64,
    stop: Option<Stop<'static>>,
    counts: CountsSoFar,
}

impl Reader for MessageEventsReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        self.event(doc.root, out);
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        // With a stop reason the message is complete even without `message_stop`.
        if self.stop.is_some() && self.message.is_some() {
            out.note("no message_stop after the stop reason");
            self.end(out);
        }
    }
}

impl MessageEventsReader {
    /// Reads one event. An unknown event, or an event out of place, is left unclaimed; the report lists the event by
    /// type.
    fn event(&mut self, event: Val<'_>, out: &mut EventSink<'_>) {
        let Some(kind) = event.get("type") else { return };
        match kind.str().as_ref().map_or("", Str::as_escaped) {
            "message_start" => {
                let Some(message) = event.get("message") else { return };
                kind.note(Field::Structure);
                self.id = message.get("id").and_then(|id| id.str()).map(Str::into_owned);
                self.count = 0;
                let item = begin(message, usage(message), out);
                self.message = Some(item);
                // Some servers send content in `message_start`.
                if let Some(content) = message.get("content").filter(|content| !is_blank(*content)) {
                    self.count = content.elements().count() as u64;
                    blocks::read_content(content, item, out);
                }
            }
            "content_block_start" => self.block_start(event, out),
            "content_block_delta" => self.block_delta(event, out),
            "content_block_stop" => {
                let index = event.get("index").and_then(|index| index.u64());
                let Some((index, closed)) = index.and_then(|index| Some((index, self.open.remove(&index)?)))
                else {
                    return;
                };
                // The event only marks the block as complete.
                kind.note(Field::ItemStatus);
                event.note_u64("index", Field::ItemStatus);
                if let Some(item) = closed {
                    self.end_block(index, item, out);
                }
            }
            "message_delta" => {
                kind.note(Field::Structure);
                self.message_delta(event, out);
            }
            "message_stop" if self.message.is_some() => {
                // The event only marks the message as complete.
                kind.note(Field::ItemStatus);
                self.end(out);
            }
            "error" => {
                // No end event follows a failure, so emit the usage and the stop reason so far.
                if let Some(usage) = usage(event) {
                    self.counts.add(usage, None, out);
                }
                tell_before_failure(self.counts.take(), self.stop.take(), std::iter::empty(), out);
                failure(event, out);
            }
            "ping" => _ = kind.note(Field::Padding),
            // An unknown event is left unclaimed; the report lists it.
            _ => {}
        }
    }

    fn message_delta(&mut self, event: Val<'_>, out: &mut EventSink<'_>) {
        if let Some(delta) = event.get("delta") {
            note_blanks(delta);
            // The first stop reason counts; a different later reason is left unclaimed.
            let known = self.stop.as_ref().and_then(|stop| stop.raw.as_ref());
            if known.is_none_or(|known| delta.get("stop_reason").is_some_and(|word| word.is(&known.decode())))
            {
                self.stop = stop(delta).map(Stop::into_owned).or_else(|| self.stop.take());
            }
        }
        if let Some(later) = usage(event) {
            let id = self.id.as_ref().map(Str::reborrow);
            self.counts.add(later, Some(id.unwrap_or_default()), out);
        }
    }

    fn block_start(&mut self, event: Val<'_>, out: &mut EventSink<'_>) {
        let (Some(message), Some(block)) = (self.message, event.get("content_block")) else { return };
        let Some(index) = event.get("index") else { return };
        let Some(number) = index.u64() else { return };
        note_tag(event, "type", &["content_block_start"]);
        // An index out of order is left unclaimed; the reader counts blocks itself.
        if number == self.count {
            index.note(Field::Structure);
        }
        self.count += 1;
        note_blanks(block);
        let item = blocks::open_block(block, Extent::Beginning, number as u32, message, out);
        if let Some(Some(unclosed)) = self.open.insert(number, item) {
            // A second block with the same index ends the first block.
            self.end_block(number, unclosed, out);
        }
        let Some(item) = item else { return };
        if let Some(input) = block.get("input") {
            // Usually `{}`; the arguments follow in deltas.
            let is_empty_object = input.kind() == Kind::Object && input.members().next().is_none();
            if is_empty_object || is_blank(input) || input.is("") {
                input.note(Field::CallArgs);
            } else {
                let text = input.take_text(Field::CallArgs).map(Args::Text);
                let args = text.unwrap_or_else(|| Args::Json(input.take(Field::CallArgs)));
                self.arguments.entry(number).or_default().read(&args, &mut self.plain);
                if let Some(complete) = CompleteArguments::of(&args, &mut self.plain) {
                    self.complete.insert(number, complete);
                }
                out.piece(item, 0, Part::Args(args));
            }
        }
    }

    fn block_delta(&mut self, event: Val<'_>, out: &mut EventSink<'_>) {
        let [Some(tag), Some(index), Some(delta)] = event.get_all(["type", "index", "delta"]) else { return };
        let (Some(message), Some(number)) = (self.message, index.u64()) else { return };
        let open = self.open.get(&number).copied();
        let Some(sort) = sort_of_piece(delta) else { return };
        // A delta of an unknown block is left unclaimed. A text delta needs no block.
        let (item, is_text) = match (sort, open.flatten()) {
            (BlockSort::Text, _) => (message, true),
            (BlockSort::Thinking | BlockSort::ToolUse, Some(item)) => (item, false),
            (BlockSort::Thinking | BlockSort::ToolUse, None) => return,
        };
        // A delta that differs from complete arguments is left unclaimed.
        let text = delta.get("partial_json").and_then(|text| text.str());
        let complete = self.complete.get_mut(&number).filter(|_| sort == BlockSort::ToolUse);
        let repeats = complete.zip(text).map(|(complete, text)| complete.repeats(&text));
        if repeats == Some(false) || repeats == Some(true) && out.is_refused(item) {
            return;
        }
        let Some((part, value)) = read_piece(delta) else { return };
        tag.note(Field::Structure);
        // Without its block, the index of a text delta is left unclaimed.
        if open.is_some_and(|open| open.is_none() == is_text) {
            index.note(Field::Structure);
        }
        if repeats == Some(true) {
            return;
        }
        if let Part::Args(args) = &value {
            self.arguments.entry(number).or_default().read(args, &mut self.plain);
        }
        let empty = matches!(&value, Part::Text(text) | Part::Args(Args::Text(text)) if text.is_empty());
        if !empty {
            out.piece(item, if is_text { number as u32 } else { part }, value);
        }
    }

    /// Ends the item of a block. A limit on tokens cuts the arguments of a call, and the server closes the block all the
    /// same.
    fn end_block(&mut self, index: u64, item: ItemId, out: &mut EventSink<'_>) {
        self.complete.remove(&index);
        let is_cut_off = self.arguments.remove(&index).is_some_and(|arguments| arguments.is_cut_off());
        out.end(ItemTail::new(item, if is_cut_off { Status::Interrupted } else { Status::Completed }));
    }

    fn end(&mut self, out: &mut EventSink<'_>) {
        let open = self.open.drain();
        let mut left: Vec<(ItemId, u64)> = open.filter_map(|(index, item)| Some((item?, index))).collect();
        // Map iteration order is unspecified.
        left.sort_unstable();
        for (item, index) in left {
            self.end_block(index, item, out);
        }
        let Some(message) = self.message.take() else { return };
        out.complete(message);
        let (stop, usage) = (self.stop.take(), self.counts.take());
        out.event(&Event::TurnEnded(Turn { stop, usage, ..Turn::default() }));
    }
}
