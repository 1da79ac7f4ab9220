//! Events to entries, written as they come; nothing is held but a line whose item is still open.

use std::collections::HashSet;

use super::events::{event_type, open_event, put_turn};
use super::node::{Node, NodeKind, put_tail, put_time};
use super::session::Facts;
use super::usage::{Tally, USAGE_FIELDS, is_some, shrunk, write_counts};
use crate::dialects::{Dialect, Options, Plane};
use crate::json::JsonBuffer;
use crate::json::{Raw, Str};
use crate::ledger::{Leftover, LeftoverBody, Reason};
use crate::model::{Delta, Event, Field, ItemHead, ItemId, ItemTail, Turn, Usage};
use crate::pipe::{Target, Writer};

#[derive(Default)]
pub(super) struct Entries {
    pub(super) facts: Facts,
    entry: Option<Entry>,
    /// The entry's item and the open items within it, each within the one before.
    nodes: Vec<Node>,
    /// The model that the entry names.
    model: String,
    tally: Tally,
    /// The time at the source, if no entry has told it yet.
    now: Option<Raw<'static>>,
    /// Lines whose item is still open.
    held: JsonBuffer,
    /// Whose lines they are.
    held_owner: String,
    /// Where the first held line ends.
    first_held: Option<usize>,
    /// The spacing around each line of the entry; empty while there is none.
    spaces: Vec<(String, String)>,
    /// Lines of the entry so far.
    lines: usize,
    pub(super) no_final_newline: bool,
    /// What came while the entry, or a child of it, was open: a live source says several things at once, and entries
    /// and children stand one after the other.
    waiting: Vec<Waiting>,
    /// The items among them that have not begun.
    waiting_items: HashSet<ItemId>,
    /// Something has ended since they were looked at.
    may_go_on: bool,
    /// Open items whose entry had to end before they did: bytes of a log that cannot be read stand where they stood.
    cut: Vec<(ItemId, NodeKind)>,
}

/// The entry being written.
struct Entry {
    /// Items of this entry that are not complete.
    open_items: usize,
    ext: Ext,
    /// Its `token-usage` is written.
    usage: bool,
}

/// How far the entry's `vendor-ext` is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ext {
    None,
    Data,
    More,
}

enum Waiting {
    Event(Box<Event<'static>>),
    Unparsed { owner: String, bytes: Vec<u8>, why: &'static str, more: bool },
}

impl Entries {
    pub(super) fn new(options: &Options) -> Self {
        Self { facts: Facts::new(options.source_name.clone()), ..Self::default() }
    }

    fn is_open(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.open_items > 0)
    }

    /// Whether an item must wait: for the open child if it is a part of an open item, else for the entry.
    fn must_wait(&self, within: Option<ItemId>) -> bool {
        match within {
            Some(item) if self.nodes.iter().any(|node| node.item == item) => self.is_behind(item),
            Some(item) if self.waits(item) => true,
            Some(_) | None => self.is_open(),
        }
    }

    /// Whether a piece, or the end of an item, must wait: for its item to start, or for an open child of it.
    fn piece_must_wait(&self, item: ItemId) -> bool {
        self.is_behind(item) || self.waits(item)
    }

    /// Whether an item within that one is open.
    fn is_behind(&self, item: ItemId) -> bool {
        self.nodes.last().is_some_and(|top| top.item != item)
            && self.nodes.iter().any(|node| node.item == item)
    }

    fn waits(&self, item: ItemId) -> bool {
        self.waiting_items.contains(&item)
    }

    fn wait(&mut self, event: &Event<'_>) {
        self.wait_again(Waiting::Event(Box::new(event.clone().into_owned())));
    }

    fn wait_again(&mut self, waiting: Waiting) {
        if let Waiting::Event(event) = &waiting
            && let Event::ItemStarted(head) = &**event
        {
            self.waiting_items.insert(head.id);
        }
        self.waiting.push(waiting);
    }

    /// Writes what has waited and need not wait any longer, in the order it came.
    fn go_on(&mut self, out: &mut Target<'_>) {
        // Only the end of an item, or of its line, lets another one go on.
        if !std::mem::take(&mut self.may_go_on) {
            return;
        }
        let mut before = usize::MAX;
        while !self.waiting.is_empty() && self.waiting.len() < before {
            before = self.waiting.len();
            self.waiting_items.clear();
            for waiting in std::mem::take(&mut self.waiting) {
                if !self.is_ready(&waiting) {
                    self.wait_again(waiting);
                    continue;
                }
                match waiting {
                    // What changed about the session was learned when it came.
                    Waiting::Event(event) if matches!(*event, Event::SessionUpdated(_)) => {
                        self.event_apart(&event, out);
                    }
                    Waiting::Event(event) => self.event(&event, out),
                    Waiting::Unparsed { owner, bytes, why, more } => {
                        self.unparsed(&owner, &bytes, why, more, out);
                    }
                }
            }
        }
    }

    fn is_ready(&self, waiting: &Waiting) -> bool {
        let Waiting::Event(event) = waiting else { return !self.is_open() && self.waiting.is_empty() };
        match &**event {
            Event::ItemStarted(head) => !self.must_wait(head.within),
            Event::ItemDelta(Delta { item, .. }) | Event::ItemCompleted(ItemTail { id: item, .. }) => {
                !self.piece_must_wait(*item)
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
 | Event::Clock(_)
 | Event::Rewound(_)
            | Event::Request(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            // In its place among what waits.
            | Event::Error(_) => !self.is_open() && self.waiting.is_empty(),
        }
    }

    fn open_entry(&mut self, head: &ItemHead<'_>, out: &mut Target<'_>) {
        self.close_entry(out);
        self.model.clear();
        self.model.push_str(head.model.as_ref().map_or("", Str::as_escaped));
        let now = self.now.take();
        let (node, has_time) = Node::open(head, now.as_ref(), &mut out.json);
        if let Some(time) = head.time.as_ref().or(now.as_ref()).filter(|_| has_time) {
            self.facts.time(time);
        }
        self.nodes.push(node);
        self.entry = Some(Entry { open_items: 1, ext: Ext::None, usage: false });
    }

    /// Writes the lines that were held while their item was open.
    fn flush_held(&mut self, out: &mut Target<'_>) {
        let (Some(first), Some(entry)) = (self.first_held.take(), &mut self.entry) else { return };
        begin_ext(&self.held_owner, out);
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

    fn close_entry(&mut self, out: &mut Target<'_>) {
        self.may_go_on = true;
        while let Some(node) = self.nodes.last() {
            if !node.later {
                self.cut.push((node.item, node.kind));
            }
            self.end_node(None, out);
        }
        self.flush_held(out);
        let Some(entry) = self.entry.take() else { return };
        let json = &mut out.json;
        if entry.ext == Ext::More {
            json.end_array();
        }
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

    /// Ends the innermost node. The entry's own object stays open for what belongs to the entry.
    fn end_node(&mut self, tail: Option<&ItemTail<'_>>, out: &mut Target<'_>) {
        let Some(node) = self.nodes.last_mut() else { return };
        node.close(&mut out.json);
        node.end_children(&mut out.json);
        self.nodes.truncate(self.nodes.len() - 1);
        if let Some(tail) = tail {
            put_tail(tail, &mut out.json);
        }
        if !self.nodes.is_empty() {
            out.json.end_object();
        }
    }

    /// Ends the later part that is being written, if one is.
    fn end_later(&mut self, out: &mut Target<'_>) {
        if self.nodes.last().is_some_and(|node| node.later) {
            self.end_node(None, out);
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Target<'_>) {
        if let Some(model) = &head.model {
            self.facts.model(model);
        }
        if head.within.is_none() || self.nodes.last().is_none_or(|top| Some(top.item) != head.within) {
            return self.open_entry(head, out);
        }
        self.end_later(out);
        if let (Some(parent), Some(entry)) = (self.nodes.last_mut(), &mut self.entry) {
            parent.begin_children(&mut out.json);
            let (child, has_time) = Node::open(head, None, &mut out.json);
            if let Some(time) = head.time.as_ref().filter(|_| has_time) {
                self.facts.time(time);
            }
            self.nodes.push(child);
            entry.open_items += 1;
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Target<'_>) {
        if self.nodes.last().is_none_or(|node| node.item != delta.item) {
            self.reopen(delta.item, out);
        }
        let Some(node) = self.nodes.last_mut() else { return };
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

    /// Goes on with an item whose entry had to end: in an entry of its own.
    #[cold]
    fn reopen(&mut self, item: ItemId, out: &mut Target<'_>) {
        self.close_entry(out);
        let at = self.cut.iter().position(|(cut, _)| *cut == item);
        let kind = at.map_or(NodeKind::Event, |at| self.cut.remove(at).1);
        self.model.clear();
        self.nodes.push(Node::open_again(item, kind, &mut out.json));
        self.entry = Some(Entry { open_items: 1, ext: Ext::None, usage: false });
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut Target<'_>) {
        if self.nodes.last().is_none_or(|node| node.item != tail.id) {
            // Its entry had to end before it did, and what is said of its end has no place any more.
            self.cut.retain(|(cut, _)| *cut != tail.id);
            out.lose_some(Field::ItemStatus, tail.native_status.as_ref(), Reason::NoSlot);
            if tail.is_error.is_some() {
                out.lose(Field::ResultIsError, Reason::NoSlot);
            }
            return;
        }
        self.end_later(out);
        self.end_node(Some(tail), out);
        self.may_go_on = true;
        if let Some(entry) = &mut self.entry {
            entry.open_items = entry.open_items.saturating_sub(1);
        }
    }

    /// An event that is no item is an entry of its own.
    fn happened(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        self.close_entry(out);
        open_event(event, &mut out.json);
        if let Some(now) = self.now.take()
            && put_time(&now, &mut out.json)
        {
            self.facts.time(&now);
        }
        let mut entry = Entry { open_items: 0, ext: Ext::None, usage: false };
        if let Event::TurnStarted(turn) | Event::TurnEnded(turn) = event {
            if let Some(model) = &turn.model {
                self.facts.model(model);
            }
            let more = if let Event::TurnStarted(_) = event {
                self.tally.begin_turn(turn.id.as_ref(), turn.usage.as_ref())
            } else {
                self.tally.end_turn(turn.usage.as_ref())
            };
            if more.is_some() || turn.cost.is_some() {
                entry.usage = true;
                out.json.key("token-usage").object();
                write_usage(more.as_ref(), turn, out);
                out.json.end_object();
            }
        }
        self.entry = Some(entry);
    }

    /// What a response has used belongs to the entry at hand, if that is complete and still open to it.
    fn used(&mut self, event: &Event<'_>, turn: &Turn<'_>, out: &mut Target<'_>) {
        let Turn { id, model, time, stop, usage, cost, .. } = turn;
        if let (None, None, Some(time), None, None, None) = (id, model, time, stop, usage, cost) {
            self.now = Some(time.clone().into_owned());
            return;
        }
        self.go_on(out);
        if self.is_open() || !self.waiting.is_empty() {
            return self.wait(event);
        }
        if let Some(model) = model {
            self.facts.model(model);
        }
        let mut news = id.is_none() || time.is_some() || cost.is_some();
        if let Some(id) = id {
            let (response, first) = self.tally.response(id);
            news |= first || stop.as_ref().is_some_and(|stop| response.stops(stop));
            if let Some(usage) = usage {
                shrunk(usage, &response.usage).for_each(|field| out.lose(field, Reason::Merged));
            }
        }
        let more = usage.map(|usage| self.tally.increase(id.as_ref(), &usage));
        let counts_alone = (id, model, time, stop, cost) == (&None, &None, &None, &None, &None);
        if counts_alone && more.as_ref().is_some_and(|more| !is_some(more)) {
            // Nothing used is nothing to write; the line still has its zeros.
            for field in USAGE_FIELDS {
                out.lose(field, Reason::Merged);
            }
            return;
        }
        let free = self.entry.as_mut().filter(|entry| entry.ext == Ext::None && !entry.usage);
        // A reader takes the entry's model for that of the response.
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
        if same_model {
            let turn = Turn { model: None, usage: None, cost: None, ..turn.clone() };
            put_turn("response-id", &turn, &mut out.json);
        } else {
            put_turn("response-id", turn, &mut out.json);
        }
        out.json.end_object();
    }

    fn line(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        if self.entry.is_none() {
            // A line that said nothing of its own, before any entry.
            out.json.object().key("type").literal("system-event").key("event-type").literal("line");
            out.json.key("data").object().end_object();
            self.entry = Some(Entry { open_items: 0, ext: Ext::None, usage: false });
        }
        let (before, after) = leftover.space();
        self.lines += 1;
        if !before.is_empty() || !after.is_empty() || !self.spaces.is_empty() {
            self.spaces.resize(self.lines - 1, Default::default());
            self.spaces.push((before.to_owned(), after.to_owned()));
        }
        if self.is_open() {
            leftover.owner.clone_into(&mut self.held_owner);
            leftover.keep(out.ledger, &mut self.held.hold());
            self.first_held.get_or_insert(self.held.bytes().len());
            return;
        }
        self.flush_held(out);
        let Some(entry) = &mut self.entry else { return };
        match entry.ext {
            Ext::None => {
                begin_ext(leftover.owner, out);
                entry.ext = Ext::Data;
            }
            Ext::Data => {
                out.json.key("more").array();
                entry.ext = Ext::More;
            }
            Ext::More => {}
        }
        leftover.keep(out.ledger, &mut out.json);
    }

    fn unparsed(&mut self, owner: &str, bytes: &[u8], why: &'static str, more: bool, out: &mut Target<'_>) {
        // The lines of a log come back in their order; of anything else, no item is cut in two for such bytes.
        let in_order = Dialect::named(owner).is_none_or(|dialect| dialect.plane == Plane::Log);
        if self.is_open() && !in_order {
            let (owner, bytes) = (owner.to_owned(), bytes.to_owned());
            return self.waiting.push(Waiting::Unparsed { owner, bytes, why, more });
        }
        self.close_entry(out);
        let json = &mut out.json;
        let mut rest = bytes;
        loop {
            // Escapes make text up to six times as long, and an entry must not outgrow what a reader takes.
            let (piece, tail) = rest.split_at(piece_end(rest, PIECE));
            rest = tail;
            json.object().key("type").literal("system-event").key("event-type").literal("unparsed");
            json.key("data").object().key("reason").literal(why);
            match std::str::from_utf8(piece) {
                Ok(text) if !text.contains('\0') => json.key("raw").plain(text),
                _ => json.key("base64").base64(piece),
            };
            if more || !rest.is_empty() {
                json.key("more").bool(true);
            }
            json.end_object()
                .key("vendor-ext")
                .object()
                .key("vendor")
                .literal(owner)
                .end_object()
                .end_object();
            if rest.is_empty() {
                return;
            }
        }
    }
}

/// The most bytes of unreadable input in one entry.
const PIECE: usize = 1 << 20;

/// Where to cut so that no character is cut in two, if it is text at all.
fn piece_end(bytes: &[u8], most: usize) -> usize {
    let start_of_character = |&at: &usize| bytes[at] & 0xc0 != 0x80;
    match bytes.len() {
        len if len <= most => len,
        _ => (most - 3..=most).rev().find(start_of_character).unwrap_or(most),
    }
}

fn begin_ext(owner: &str, out: &mut Target<'_>) {
    out.json.up_to_value(r#""vendor-ext":{"vendor":"#).literal(owner).key("data");
}

/// Writes what is added to the session's usage, and what it cost: a number, or the schema has no place for it.
fn write_usage(more: Option<&Usage>, turn: &Turn<'_>, out: &mut Target<'_>) {
    if let Some(more) = more {
        write_counts(more, &mut out.json);
    }
    if let Some(cost) = &turn.cost {
        let number = cost.as_str().starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        out.json.key(if number { "cost" } else { "native-cost" }).raw(cost);
    }
}

impl Writer for Entries {
    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        match event {
            Event::ItemDelta(delta) if self.piece_must_wait(delta.item) => self.wait(event),
            Event::ItemDelta(delta) => self.delta(delta, out),
            Event::ItemStarted(head) => {
                self.go_on(out);
                if self.must_wait(head.within) {
                    self.wait(event);
                } else {
                    self.started(head, out);
                }
            }
            Event::ItemCompleted(tail) if self.piece_must_wait(tail.id) => self.wait(event),
            Event::ItemCompleted(tail) => {
                self.completed(tail, out);
                // What waits for the entry goes on once the entry has its line.
                if self.is_open() {
                    self.go_on(out);
                }
            }
            Event::SessionStarted(session) | Event::SessionUpdated(session) => {
                for changed in self.facts.learn(session, out.ledger) {
                    self.event_apart(&Event::SessionUpdated(changed), out);
                }
            }
            Event::Usage(turn) => self.used(event, turn, out),
            Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => self.event_apart(event, out),
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        match leftover.body {
            LeftoverBody::Frame(_) | LeftoverBody::Kept { .. } => {
                self.line(leftover, out);
                self.may_go_on = true;
                self.go_on(out);
            }
            LeftoverBody::Unparsed { bytes, why, more } => {
                self.unparsed(leftover.owner, bytes, why, more, out);
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::NoFinalNewline => self.no_final_newline = true,
        }
    }

    fn finish(&mut self, out: &mut Target<'_>) {
        self.may_go_on = true;
        self.go_on(out);
        self.close_entry(out);
    }
}

impl Entries {
    /// Writes an event that is no item once nothing is open.
    fn event_apart(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        debug_assert!(event_type(event).is_some(), "an event of an item");
        self.go_on(out);
        if self.is_open() || !self.waiting.is_empty() {
            self.wait(event);
        } else {
            self.happened(event, out);
        }
    }
}
