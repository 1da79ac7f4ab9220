//! Events to entries, written as they arrive; only lines whose item is still open are held back.

mod check;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::call_ids::CallIds;
use super::events::{open_event, put_response};
use super::node::{EntryNode, NodeKind, is_time, put_tail, put_time};
use super::profile::DraftProfile;
use super::rebuild::{Rebuilder, SourceLines, write_line};
use super::session::SessionSummary;
use super::shape::{EntryShape, KnownShapes};
use super::unreadable;
use super::usage::{KnownResponses, is_some, shrunk, write_counts};
use super::waiting::{PendingEntries, PendingUnit};
use crate::dialects::ours::lose_tail;
use crate::dialects::ours::unreadable_run::UnreadableRun;
use crate::dialects::{Dialect, Options, Plane};
use crate::json::{JsonBuffer, Raw, Str};
use crate::ledger::{Identity, Leftover, LeftoverBody, LineHoles, Reason};
use crate::log::{MADE_UP_CALL_ID, UNNAMED_RESULT};
use crate::model::{
    Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Tally, Time, ToolCall, ToolResult,
    Turn, Usage,
};
use crate::pipe::WriterOutput;

#[derive(Default)]
pub(super) struct Entries {
    /// The agent that wrote the log.
    source: Option<&'static str>,
    pub(super) summary: SessionSummary,
    entry: Option<Entry>,
    /// The entry's item, then the open items within it, each nested in the one before.
    nodes: Vec<EntryNode>,
    /// The model in the entry.
    model: String,
    tally: Tally<KnownResponses>,
    call_ids: CallIds,
    /// The source's clock, for events without a time of their own.
    now: Option<Raw<'static>>,
    /// Set once an entry has the clock's time.
    now_is_said: bool,
    /// Lines whose item is still open.
    held: JsonBuffer,
    /// The dialect of the held lines.
    held_owner: String,
    /// The end of the first held line.
    first_held: Option<usize>,
    /// The spacing around each line of the entry; empty while no line has spacing.
    spaces: Vec<(String, String)>,
    /// Number of lines in the entry.
    lines: usize,
    /// The source text of each line.
    sources: SourceLines,
    /// The hash of the entry's shape after a line that was accepted by a known shape and whose text was not kept.
    unread_line: Option<u64>,
    shape: EntryShape,
    known: KnownShapes,
    holes: LineHoles,
    /// Set while the output is not held: entries that start now are too large to rebuild.
    pub(super) large: bool,
    rebuilder: Option<Rebuilder>,
    pub(super) no_final_newline: bool,
    waiting: PendingEntries,
    /// Open items whose entry ended early, because unreadable bytes of a log keep their position.
    cut: HashMap<ItemId, NodeKind, BuildHasherDefault<Identity>>,
    /// Unreadable bytes of the source, not yet written.
    unreadable: UnreadableRun,
    /// The agent whose line another entry of the source record keeps for the open entry.
    kept_elsewhere: Option<String>,
}

/// The entry being written.
#[derive(Default)]
struct Entry {
    ext: Ext,
    /// Set once `token-usage` is written.
    usage: bool,
    /// Set for an event that is not an item.
    apart: bool,
    /// Set if the entry's text is not held, so the entry cannot be rebuilt.
    large: bool,
}

/// How much of the entry's `vendor-ext` is written.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Ext {
    #[default]
    None,
    Data,
    More,
}

impl Entries {
    pub(super) fn new(options: &Options, profile: DraftProfile) -> Self {
        let source = options
            .source
            .filter(|source| Dialect::named(source).is_some_and(|dialect| dialect.plane == Plane::Log));
        let mut tally = Tally::<KnownResponses>::default();
        tally.responses.told(&options.told_responses);
        let summary = SessionSummary::new(options.source_name.clone(), profile);
        let rebuilder = source.and_then(|source| Rebuilder::new(source, options));
        Self { source, summary, tally, rebuilder, ..Self::default() }
    }

    /// Marks the text of the current entry as not held.
    pub(super) const fn forget_text(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.large = true;
        }
    }

    /// Handles the next event.
    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::ItemDelta(_) => self.event_of_item(event, out),
            Event::ItemStarted(_) => {
                self.go_on(out);
                self.event_of_item(event, out);
            }
            Event::ItemCompleted(_) => {
                self.event_of_item(event, out);
                // Units that wait for the entry continue once the entry has its line.
                self.go_on_within(out);
            }
            Event::SessionStarted(session) | Event::SessionUpdated(session) => {
                let earlier = self.summary.leaf().filter(|_| self.source.is_none() && session.leaf.is_some());
                if let Some(leaf) = earlier.filter(|leaf| Some(*leaf) != session.leaf.as_ref()) {
                    // The record holds only the last leaf, and no source line holds the others.
                    let bytes = leaf.as_escaped().len() as u64;
                    out.ledger.lose_late(Field::SessionLeaf, Reason::Merged, 1, bytes);
                }
                for changed in self.summary.learn(session, out.ledger) {
                    self.event_apart(&Event::SessionUpdated(changed), out);
                }
            }
            Event::Clock(time) => {
                self.ends_after(Some(time));
                self.now_is_said = out.is_made_up();
                self.shape.clock(time);
                self.now = Some(time.clone().into_owned());
            }
            // `open_event` handles all of them.
            _ => self.event_apart(event, out),
        }
    }

    /// Handles the unclaimed rest of a frame, or unreadable bytes.
    pub(super) fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        match leftover.body {
            // The frame of a record is an entry of the other profile, and no line of a log: restoring the log must not
            // find it among the kept lines.
            LeftoverBody::Frame(_) if super::is_record(leftover.owner) => {
                self.give_up_clock(leftover.owner, out);
                leftover.lose(out.ledger, Reason::NoSlot);
                self.shape.end_frame();
                self.go_on(out);
            }
            LeftoverBody::Frame(_) | LeftoverBody::Kept { .. } => {
                let owner = leftover.owner;
                self.give_up_clock(owner, out);
                self.line(leftover, out);
                self.shape.end_frame();
                self.go_on(out);
                // In a log, the time of a line does not apply to the next line.
                if self.now.is_some() && is_log(owner) {
                    self.now = None;
                }
            }
            LeftoverBody::Unparsed { bytes, why, more } => {
                self.unparsed(leftover.owner, bytes, why, more, out);
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::NoFinalNewline => self.no_final_newline = true,
        }
    }

    /// Notes that another entry of the record that is read keeps the line of the open entry.
    pub(super) fn kept_with_next(&mut self, owner: &str) {
        if self.entry.is_some() {
            self.kept_elsewhere = Some(owner.to_owned());
        }
    }

    /// Ends the record's entries.
    pub(super) fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.go_on(out);
        self.close_entry(out);
        let unsaid = self
            .now
            .take()
            .filter(|now| !self.now_is_said && now.as_str() != self.summary.overview.last_time);
        if let Some(now) = unsaid {
            // No entry has this time, and it is not the end of the session.
            out.ledger.lose_late(Field::EventTime, Reason::Merged, 1, now.as_str().len() as u64);
        }
    }

    fn is_open(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Writes an event of an item, or queues it.
    fn event_of_item(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let waits_for = match event {
            // The common case: the event belongs to the innermost item, and the queue is empty.
            _ if self.waiting.is_empty() && event.item() == self.nodes.last().map(|node| node.item) => None,
            Event::ItemStarted(head) => self.waiting.start_waits_for(self.holder(head)),
            Event::ItemDelta(Delta { item, .. }) | Event::ItemCompleted(ItemTail { id: item, .. }) => {
                self.waiting.piece_waits_for(*item)
            }
            _ => None,
        };
        match waits_for {
            None => self.write_event_of_item(event, out),
            Some(reason) => self.waiting.wait(event, reason),
        }
    }

    fn write_event_of_item(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::ItemStarted(head) => self.started(head, out),
            Event::ItemDelta(delta) => self.delta(delta, out),
            Event::ItemCompleted(tail) => self.completed(tail, out),
            _ => {}
        }
    }

    /// The open item that contains an item: the message around the item, or the call that started the item's subagent.
    fn holder(&self, head: &ItemHead<'_>) -> Option<ItemId> {
        head.within.or_else(|| {
            let call = head.parent_call.as_ref()?;
            self.nodes.iter().rev().take(8).find(|node| node.is_call(call)).map(|node| node.item)
        })
    }

    /// Writes an event that is not an item, after all open items have ended.
    fn event_apart(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.go_on(out);
        if self.is_open() {
            self.waiting.wait_apart(PendingUnit::Apart(Box::new(event.clone().into_owned())));
        } else {
            self.write_apart(event, out);
        }
    }

    fn write_apart(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::Usage(turn) => self.used(event, turn, out),
            _ => self.happened(event, out),
        }
    }

    /// Writes the units that wait for the entry to end, in order, until an item is open again.
    fn go_on(&mut self, out: &mut WriterOutput<'_>) {
        while !self.waiting.is_empty() && !self.is_open() {
            let Some(unit) = self.waiting.next() else { return };
            match unit {
                PendingUnit::Item(events) => self.go_on_with(&events, out),
                PendingUnit::Apart(event) => self.write_apart(&event, out),
                PendingUnit::Unreadable { owner, bytes, why, more } => {
                    self.unparsed(&owner, &bytes, why, more, out);
                }
            }
            self.go_on_within(out);
        }
    }

    /// Writes the units that wait for a child of the innermost open item to end.
    fn go_on_within(&mut self, out: &mut WriterOutput<'_>) {
        while !self.waiting.is_empty() && self.is_open() {
            let Some(PendingUnit::Item(events)) = self.waiting.next() else { return };
            self.go_on_with(&events, out);
        }
    }

    fn go_on_with(&mut self, events: &[Event<'static>], out: &mut WriterOutput<'_>) {
        let Some((first, others)) = events.split_first() else { return };
        self.write_event_of_item(first, out);
        for event in others {
            self.event_of_item(event, out);
        }
    }

    /// Starts a node.
    fn push_node(&mut self, node: EntryNode) {
        self.waiting.opened(node.item);
        self.nodes.push(node);
    }

    /// Starts an entry; its first byte follows.
    fn begin_entry(&mut self, mut entry: Entry, out: &mut WriterOutput<'_>) {
        if self.large {
            out.json.forget_tail();
        } else {
            out.json.begin_tail();
        }
        self.shape.begin();
        entry.large = self.large;
        self.entry = Some(entry);
    }

    fn open_entry(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        self.close_entry(out);
        self.begin_entry(Entry::default(), out);
        self.model.clear();
        self.model.push_str(head.model.as_ref().map_or("", Str::as_escaped));
        if head.kind == ItemKind::Message && head.author == Author::User {
            self.call_ids.prompt();
        }
        let call_id = self.synthetic_call_id(head, out);
        let (node, has_time) = EntryNode::open(head, self.now.as_ref(), call_id.as_ref(), &mut out.json);
        if let Some(time) = head.time.as_ref().or(self.now.as_ref()).filter(|_| has_time) {
            self.summary.overview.time(time);
        }
        self.now_is_said |= head.time.is_none();
        self.shape.started(head, 0, [has_time, self.now.is_some()]);
        self.push_node(node);
    }

    /// Writes the lines that were held while their item was open.
    fn flush_held(&mut self, out: &mut WriterOutput<'_>) {
        let (Some(mut first), Some(entry)) = (self.first_held.take(), &mut self.entry) else { return };
        begin_ext(&self.held_owner, out);
        if entry.large {
            first = self.sources.make_whole(&mut self.held, first);
        }
        let (data, more) = self.held.held().split_at(first);
        out.json.raw(&Raw::new(data));
        entry.ext = Ext::Data;
        // Held lines are separated by commas.
        if let Some(more) = more.strip_prefix(',') {
            out.json.key("more").array().raw(&Raw::new(more));
            entry.ext = Ext::More;
        }
        self.held.clear();
    }

    fn close_entry(&mut self, out: &mut WriterOutput<'_>) {
        unreadable::end(&mut self.unreadable, &mut out.json);
        while let Some(node) = self.nodes.last() {
            if !node.later {
                self.cut.insert(node.item, node.kind);
            }
            self.end_node(None, out);
        }
        self.flush_held(out);
        let Some(entry) = self.entry.take() else { return };
        let json = &mut out.json;
        let is_restored = entry.apart || self.rebuilder.is_some();
        let elsewhere = self.kept_elsewhere.take();
        let owner = elsewhere.as_deref().or(self.source.filter(|_| is_restored));
        if let (Ext::None, Some(owner)) = (entry.ext, owner) {
            // The line belongs to another entry; with this mark, restoring the log builds no line for this entry.
            json.key("vendor-ext").object().key("vendor").literal(owner).end_object();
        }
        if entry.ext == Ext::More {
            json.end_array();
        }
        if entry.ext != Ext::None {
            self.check_lines("}}", "", out);
        }
        self.sources.clear();
        self.unread_line = None;
        let json = &mut out.json;
        if !self.spaces.is_empty() {
            json.key("space").array();
            for (before, after) in self.spaces.drain(..) {
                json.array().str(&Str::plain(&before)).str(&Str::plain(&after)).end_array();
            }
            json.end_array();
        }
        if entry.ext != Ext::None {
            json.end_object();
        }
        json.end_object();
        self.lines = 0;
    }

    /// Ends the innermost node. The entry's own object stays open for the members of the entry.
    fn end_node(&mut self, tail: Option<&ItemTail<'_>>, out: &mut WriterOutput<'_>) {
        let Some(node) = self.nodes.last_mut() else { return };
        node.close(&mut out.json);
        node.end_children(&mut out.json);
        let later = node.later.then(|| node.take_parts());
        if later.is_none() {
            self.waiting.closed(node.item);
        }
        self.nodes.truncate(self.nodes.len() - 1);
        if let Some(tail) = tail {
            put_tail(tail, &mut out.json);
        }
        if let Some(around) = self.nodes.last_mut() {
            out.json.end_object();
            if let Some(parts) = later {
                around.give_parts(parts);
            }
        }
    }

    /// Ends the current later part, if a later part is open.
    fn end_later(&mut self, out: &mut WriterOutput<'_>) {
        if self.nodes.last().is_some_and(|node| node.later) {
            self.end_node(None, out);
        }
    }

    /// The synthetic id for a call without an id, or for its result.
    fn synthetic_call_id(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) -> Option<Str<'static>> {
        match &head.kind {
            ItemKind::ToolCall(ToolCall { call_id: Some(id), .. }) => self.call_ids.named_call(id),
            ItemKind::ToolResult(ToolResult { call_id: Some(id), .. }) => self.call_ids.named_result(id),
            ItemKind::ToolCall(ToolCall { call_id: None, name, .. }) => {
                out.ledger.note(MADE_UP_CALL_ID);
                return Some(self.call_ids.unnamed_call(name));
            }
            ItemKind::ToolResult(ToolResult { call_id: None, name }) => {
                let id = self.call_ids.unnamed_result(name.as_ref())?;
                out.ledger.note(UNNAMED_RESULT);
                return Some(id);
            }
            ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
        }
        None
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        if let Some(model) = &head.model {
            self.summary.overview.model(model);
        }
        let holder = self.holder(head);
        if holder.is_none() || self.nodes.last().is_none_or(|top| Some(top.item) != holder) {
            return self.open_entry(head, out);
        }
        self.end_later(out);
        let call_id = self.synthetic_call_id(head, out);
        if let Some(parent) = self.nodes.last_mut() {
            parent.begin_children(&mut out.json);
            // A block has the time of its message.
            let now = self.now.as_ref().filter(|_| head.within.is_none());
            let (child, has_time) = EntryNode::open(head, now, call_id.as_ref(), &mut out.json);
            if let Some(time) = head.time.as_ref().or(now).filter(|_| has_time) {
                self.summary.overview.time(time);
            }
            self.now_is_said |= now.is_some() && head.time.is_none();
            self.shape.started(head, self.nodes.len(), [has_time, now.is_some()]);
            self.push_node(child);
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        if self.nodes.last().is_none_or(|node| node.item != delta.item) {
            self.reopen(delta.item, out);
        }
        let Some(node) = self.nodes.last_mut() else { return };
        self.shape.delta(delta, node.kind.call());
        if node.add(delta, &mut out.json) {
            return;
        }
        self.end_later(out);
        if let Some(node) = self.nodes.last_mut() {
            let mut later = node.open_later(delta, &mut out.json);
            later.add(delta, &mut out.json);
            self.nodes.push(later);
        }
    }

    /// Continues an item whose entry ended early, in a new entry.
    #[cold]
    fn reopen(&mut self, item: ItemId, out: &mut WriterOutput<'_>) {
        self.close_entry(out);
        let kind = self.cut.remove(&item).unwrap_or(NodeKind::Event);
        self.model.clear();
        self.begin_entry(Entry::default(), out);
        self.shape.odd();
        let node = EntryNode::open_again(item, kind, &mut out.json);
        self.push_node(node);
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
        if self.nodes.last().is_none_or(|node| node.item != tail.id) {
            // The item's entry ended early, so its tail has no place.
            self.cut.remove(&tail.id);
            return lose_tail(tail, out);
        }
        self.shape.completed(tail);
        self.end_later(out);
        self.end_node(Some(tail), out);
    }

    /// Writes an event that is not an item as an entry of its own.
    fn happened(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.close_entry(out);
        self.begin_entry(Entry { apart: true, ..Entry::default() }, out);
        self.shape.happened(event, self.now.is_some());
        open_event(event, &mut out.json);
        self.now_is_said = true;
        if let Some(now) = &self.now
            && put_time(now, &mut out.json)
        {
            self.summary.overview.time(now);
        }
        if let Event::TurnStarted(turn) | Event::TurnEnded(turn) = event {
            self.ends_after(turn.time.as_ref());
            if let Some(model) = &turn.model {
                self.summary.overview.model(model);
            }
            let more = if let Event::TurnStarted(_) = event {
                self.tally.begin_turn(turn.id.as_ref(), turn.usage.as_ref())
            } else {
                self.tally.end_turn(turn.usage.as_ref())
            };
            if more.is_some() || turn.cost.is_some() {
                if let Some(entry) = &mut self.entry {
                    entry.usage = true;
                }
                out.json.key("token-usage").object();
                write_usage(more.as_ref(), turn, out);
                out.json.end_object();
            }
        }
    }

    /// Books a line's time as lost if no entry has it. The session's end may equal this time, but a later line may move
    /// the end. An event of a live source may take the time of an earlier event.
    fn give_up_clock(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        if self.now.is_some() && !self.now_is_said && is_log(owner) {
            out.lose(Field::EventTime, Reason::Merged);
        }
    }

    /// The session ends at this time or later.
    fn ends_after(&mut self, time: Option<&Time<'_>>) {
        if let Some(time) = time.filter(|time| is_time(time)) {
            self.summary.overview.later(time);
        }
    }

    /// Writes the usage of a response into the current entry, if that entry is complete and still open; otherwise as an
    /// entry of its own.
    fn used(&mut self, event: &Event<'_>, turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
        let Turn { id, model, time, request_id, effort, answer, stop, usage, cost } = turn;
        self.ends_after(time.as_ref());
        if let Some(model) = model {
            self.summary.overview.model(model);
        }
        let mut news = id.is_none() || time.is_some() || answer.is_some() || cost.is_some();
        let mut more = *usage;
        if let Some(id) = id {
            let (response, first) = self.tally.responses.response(id);
            news |= first | response.attempt(request_id.as_ref(), effort.as_ref());
            news |= stop.as_ref().is_some_and(|stop| response.stops(stop));
            if let Some(usage) = usage {
                shrunk(usage, &response.usage).for_each(|field| out.lose(field, Reason::Merged));
                more = Some(response.usage.take_in(usage));
            }
        }
        if let Some(more) = &more {
            self.tally.add(more);
        }
        let names_nothing =
            id.is_none() && model.is_none() && stop.is_none() && request_id.is_none() && effort.is_none();
        let counts_alone = names_nothing && time.is_none() && answer.is_none() && cost.is_none();
        if counts_alone && more.as_ref().is_some_and(|more| !is_some(more)) {
            // Usage of zero is not written; the source line holds the zeros.
            for (field, _) in Usage::default().counts() {
                out.lose(field, Reason::Merged);
            }
            return;
        }
        let free = self.entry.as_mut();
        let free = free.filter(|entry| !entry.apart && entry.ext == Ext::None && !entry.usage);
        // A reader assumes the entry's model for the response.
        let same_model =
            free.is_some() && model.as_ref().is_some_and(|model| model.as_escaped() == self.model);
        if !news && !more.is_some_and(|more| is_some(&more)) && (same_model || model.is_none()) {
            return;
        }
        if free.is_none() {
            self.happened(event, out);
        }
        if let Some(entry) = &mut self.entry {
            entry.usage = true;
        }
        out.json.key("token-usage").object();
        write_usage(more.as_ref(), turn, out);
        put_response(turn, model.as_ref().filter(|_| !same_model), &mut out.json);
        out.json.end_object();
    }

    fn line(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        if self.entry.is_none() {
            unreadable::end(&mut self.unreadable, &mut out.json);
            // A line before the first entry that emitted no event.
            self.begin_entry(Entry::default(), out);
            out.json.object().key("type").literal("system-event").key("event-type").literal("line");
            out.json.key("data").object().end_object();
        }
        let (before, after) = leftover.space();
        self.lines += 1;
        if !before.is_empty() || !after.is_empty() || !self.spaces.is_empty() {
            self.spaces.resize(self.lines - 1, Default::default());
            self.spaces.push((before.to_owned(), after.to_owned()));
        }
        let (owner, body) = (leftover.owner, leftover.body);
        leftover.keep(out.ledger, &mut self.holes);
        let whole = self.learn_line(body);
        if self.is_open() {
            owner.clone_into(&mut self.held_owner);
            write_line(&self.holes, body, whole, &mut self.held.hold());
            self.first_held.get_or_insert(self.held.bytes().len());
            return;
        }
        self.flush_held(out);
        let Some(entry) = &mut self.entry else { return };
        match entry.ext {
            Ext::None => {
                begin_ext(owner, out);
                entry.ext = Ext::Data;
            }
            Ext::Data => {
                out.json.key("more").array();
                entry.ext = Ext::More;
            }
            Ext::More => {}
        }
        let closing = if entry.ext == Ext::More { "]}}" } else { "}}" };
        if self.sources.need_check() && !whole {
            self.holes.note_texts(body, &mut out.json);
        }
        write_line(&self.holes, body, whole, &mut out.json);
        let line = match body {
            LeftoverBody::Frame(tape) => tape.root().text(),
            LeftoverBody::Kept { .. } | LeftoverBody::Unparsed { .. } | LeftoverBody::NoFinalNewline => "",
        };
        self.check_lines(closing, line, out);
    }

    fn unparsed(
        &mut self,
        owner: &str,
        bytes: &[u8],
        why: &'static str,
        more: bool,
        out: &mut WriterOutput<'_>,
    ) {
        // Unreadable lines of a log keep their position. In any other source, an open item is not split for unreadable
        // bytes.
        let in_order = Dialect::named(owner).is_none() || is_log(owner);
        if self.is_open() && !in_order {
            let (owner, bytes) = (owner.to_owned(), bytes.to_owned());
            return self.waiting.wait_apart(PendingUnit::Unreadable { owner, bytes, why, more });
        }
        if !self.unreadable.joins(owner, bytes, why, more) {
            self.close_entry(out);
            unreadable::begin(&mut self.unreadable, owner, bytes, why, more, &mut out.json);
        }
    }
}

fn is_log(owner: &str) -> bool {
    Dialect::named(owner).is_some_and(|dialect| dialect.plane == Plane::Log)
}

fn begin_ext(owner: &str, out: &mut WriterOutput<'_>) {
    out.json.up_to_value(r#""vendor-ext":{"vendor":"#).literal(owner).key("data");
}

/// Writes the increase of the session's usage, and the cost: the schema accepts only a number.
fn write_usage(more: Option<&Usage>, turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
    if let Some(more) = more {
        write_counts(more, &mut out.json);
    }
    if let Some(cost) = &turn.cost {
        let number = cost.as_str().starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        out.json.key(if number { "cost" } else { "native-cost" }).raw(cost);
    }
}
