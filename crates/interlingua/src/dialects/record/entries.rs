//! Events to entries, written as they come; nothing is held but a line whose item is still open.

use super::read::is_parts;
use super::session::Facts;
use super::usage::{Meter, write_usage};
use crate::dialects::Options;
use crate::emit::{Emit, EmitState};
use crate::ledger::{Reason, Rest, RestBody};
use crate::model::{
    Args, Arrival, Author, Delta, Event, FileRef, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource,
    Notice, Opaque, Part, Shape, ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::{Out, Writer};
use crate::tape::{Limits, TapeBuf};
use crate::text::{Raw, Str};

#[derive(Default)]
pub(super) struct Entries {
    pub(super) facts: Facts,
    entry: Option<Entry>,
    meter: Meter,
    /// Usage that belongs to the open entry.
    usage: Option<Usage>,
    /// What the responses of this turn have told so far.
    turn: Usage,
    /// Lines whose item is still open.
    held: EmitState,
    /// Whose lines they are.
    held_owner: String,
    /// Where the first held line ends.
    first_held: Option<usize>,
    /// The spacing around each line of the entry; empty while there is none.
    spaces: Vec<(String, String)>,
    /// Lines of the entry so far.
    lines: usize,
    pub(super) no_final_newline: bool,
    /// Events of items that began while the entry, or a child of it, was open: a live source says several things at
    /// once, and entries and children stand one after the other.
    waiting: Vec<Event<'static>>,
}

/// The entry being written.
struct Entry {
    node: Node,
    children: bool,
    child: Option<Node>,
    /// Items of this entry that are not complete.
    open_items: usize,
    ext: Ext,
}

/// How far the entry's `vendor-ext` is written.
#[derive(PartialEq, Eq)]
enum Ext {
    None,
    Data,
    More,
}

/// An entry or a child: what of its content is written.
struct Node {
    item: ItemId,
    kind: NodeKind,
    shape: Shape,
    content: Content,
    /// Arguments that come in pieces: only together are they a value.
    arguments: String,
    /// The opaque state was said to be empty so far: a stream does that before the text comes.
    blank_opaque: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    User,
    Assistant,
    /// A system or developer message: the schema has no entry for it, so it is an event with content.
    System,
    ToolCall,
    ToolResult,
    Reasoning,
    Event,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    None,
    /// A string that part is still being added to.
    Text(u32),
    /// A list whose last element is a text that part is still being added to, or complete.
    List(Option<u32>),
    /// Content is complete, and `encrypted` is a string that is still being added to.
    Opaque,
    Closed,
}

impl Entries {
    pub(super) fn new(options: &Options) -> Self {
        Self { facts: Facts::new(options.source_name.clone()), ..Self::default() }
    }

    /// Whether an item must wait: for the open child if it is a part of the entry, else for the entry.
    fn must_wait(&self, within: Option<ItemId>) -> bool {
        let Some(entry) = &self.entry else { return false };
        if within == Some(entry.node.item) { entry.has_open_child() } else { entry.open_items > 0 }
    }

    /// Whether a piece must wait: for its item to start, or, if it is the entry's own, for the open child.
    fn piece_must_wait(&self, item: ItemId) -> bool {
        self.waits(item)
            || self.entry.as_ref().is_some_and(|entry| item == entry.node.item && entry.has_open_child())
    }

    fn waits(&self, item: ItemId) -> bool {
        self.waiting.iter().any(|event| matches!(event, Event::ItemStarted(head) if head.id == item))
    }

    /// Writes what has waited and need not wait any longer.
    fn go_on(&mut self, out: &mut Out<'_>) {
        let ready = self.waiting.iter().any(|event| match event {
            Event::ItemStarted(head) => !self.must_wait(head.within),
            Event::ItemDelta(delta) => !self.piece_must_wait(delta.item),
            _ => false,
        });
        if ready {
            for event in std::mem::take(&mut self.waiting) {
                self.event(&event, out);
            }
        }
    }

    fn open_entry(&mut self, head: &ItemHead<'_>, out: &mut Out<'_>) {
        self.close_entry(out);
        let node = Node::open(head, &mut out.json);
        self.entry = Some(Entry { node, children: false, child: None, open_items: 1, ext: Ext::None });
    }

    /// Ends everything about the entry but its `vendor-ext`.
    fn end_content(&mut self, out: &mut Out<'_>) {
        let Some(entry) = &mut self.entry else { return };
        if entry.ext != Ext::None {
            return;
        }
        entry.end_children(&mut out.json);
        entry.node.close(&mut out.json);
        if let Some(usage) = self.usage.take() {
            write_usage(&usage, &mut out.json);
        }
    }

    /// Writes the lines that were held while their item was open.
    fn flush_held(&mut self, out: &mut Out<'_>) {
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

    fn close_entry(&mut self, out: &mut Out<'_>) {
        self.end_content(out);
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

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Out<'_>) {
        if let Some(model) = &head.model {
            self.facts.model(model);
        }
        if let Some(time) = &head.time {
            self.facts.time(time);
        }
        match &mut self.entry {
            Some(entry) if head.within == Some(entry.node.item) && entry.ext == Ext::None => {
                entry.begin_child(&mut out.json);
                entry.child = Some(Node::open(head, &mut out.json));
                entry.open_items += 1;
            }
            _ => self.open_entry(head, out),
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Out<'_>) {
        let Some(entry) = &mut self.entry else { return };
        if let Some(child) = &mut entry.child
            && (child.item == delta.item && child.content != Content::Closed)
            && (entry.node.item != delta.item || child.content == Content::Text(delta.part))
        {
            child.add(delta, out);
        } else if entry.node.item != delta.item || entry.ext != Ext::None {
            out.ledger.note("piece of an item that is already written");
            out.ledger.lose("content", Reason::NoSlot, "\"\"");
        } else if entry.children || !entry.node.fits(delta) {
            // Content after an item within the message, or a second part where one was announced: a child of the
            // same type, so that the order stands.
            entry.begin_child(&mut out.json);
            let (kind, word) = match entry.node.kind {
                NodeKind::User => (NodeKind::User, "user"),
                _ => (NodeKind::Assistant, "assistant"),
            };
            out.json.object().key("type").word(word);
            let mut node = Node::new(delta.item, kind, Shape::One);
            node.add(delta, out);
            entry.child = Some(node);
        } else {
            entry.node.add(delta, out);
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut Out<'_>) {
        let ItemTail { id, status: _, native_status, is_error } = tail;
        let Some(entry) = &mut self.entry else { return };
        let json = &mut out.json;
        let node = match &mut entry.child {
            Some(child) if child.item == *id && entry.node.item != *id => child,
            _ if entry.node.item == *id => {
                entry.end_children(json);
                &mut entry.node
            }
            // Its entry had to end before it did: bytes that cannot be read stand where they stood.
            _ => return,
        };
        entry.open_items = entry.open_items.saturating_sub(1);
        node.close(json);
        json.opt_str("status", native_status.as_ref()).opt_bool("is-error", *is_error);
        if entry.node.item != *id {
            json.end_object();
            entry.child = None;
        }
    }

    /// Adds what was used to the entry at hand. A turn's own count is its total: only what its responses have not
    /// told is added.
    fn used(&mut self, turn: &Turn<'_>, total: bool) {
        let Turn { id, model, time: _, stop: _, usage, cost: _ } = turn;
        if let Some(model) = model {
            self.facts.model(model);
        }
        let Some(usage) = usage else { return };
        let more = if total {
            Some(usage.increase_over(&self.turn))
        } else {
            self.meter.increase(id.as_ref(), usage)
        };
        if let Some(more) = more {
            self.turn = self.turn.and(&more);
            self.usage = Some(self.usage.unwrap_or_default().and(&more));
        }
    }

    fn line(&mut self, rest: Rest<'_>, out: &mut Out<'_>) {
        if self.entry.is_none() {
            // A line that said nothing of its own, before any entry.
            out.json.object().key("type").word("system-event").key("event-type").word("line");
            let node = Node::new(ItemId(0), NodeKind::Event, Shape::One);
            self.entry = Some(Entry { node, children: false, child: None, open_items: 0, ext: Ext::None });
        }
        let (before, after) = rest.space();
        self.lines += 1;
        if !before.is_empty() || !after.is_empty() || !self.spaces.is_empty() {
            self.spaces.resize(self.lines - 1, Default::default());
            self.spaces.push((before.to_owned(), after.to_owned()));
        }
        if self.entry.as_ref().is_some_and(|entry| entry.open_items > 0) {
            rest.owner.clone_into(&mut self.held_owner);
            rest.keep(out.ledger, &mut self.held.hold());
            self.first_held.get_or_insert(self.held.bytes().len());
            return;
        }
        self.end_content(out);
        self.flush_held(out);
        let Some(entry) = &mut self.entry else { return };
        match entry.ext {
            Ext::None => {
                begin_ext(rest.owner, out);
                entry.ext = Ext::Data;
            }
            Ext::Data => {
                out.json.key("more").array();
                entry.ext = Ext::More;
            }
            Ext::More => {}
        }
        rest.keep(out.ledger, &mut out.json);
    }

    fn unparsed(&mut self, owner: &str, bytes: &[u8], why: &str, more: bool, out: &mut Out<'_>) {
        self.close_entry(out);
        let json = &mut out.json;
        let mut rest = bytes;
        loop {
            // Escapes make text up to six times as long, and an entry must not outgrow what a reader takes.
            let (piece, tail) = rest.split_at(piece_end(rest, PIECE));
            rest = tail;
            json.object().key("type").word("system-event").key("event-type").word("unparsed");
            json.key("data").object().key("reason").word(why);
            match std::str::from_utf8(piece) {
                Ok(text) if !text.contains('\0') => json.key("raw").plain(text),
                _ => json.key("base64").base64(piece),
            };
            if more || !rest.is_empty() {
                json.key("more").bool(true);
            }
            json.end_object().key("vendor-ext").object().key("vendor").word(owner).end_object().end_object();
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

fn begin_ext(owner: &str, out: &mut Out<'_>) {
    out.json.key("vendor-ext").object().key("vendor").word(owner).key("data");
}

impl Writer for Entries {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event {
            Event::SessionStarted(session) | Event::SessionUpdated(session) => {
                self.facts.learn(session, out.ledger);
            }
            Event::ItemStarted(head) => {
                self.go_on(out);
                if self.must_wait(head.within) {
                    self.waiting.push(Event::ItemStarted(head.clone().into_owned()));
                } else {
                    self.started(head, out);
                }
            }
            Event::ItemDelta(delta) if self.piece_must_wait(delta.item) => {
                self.waiting.push(Event::ItemDelta(delta.clone().into_owned()));
            }
            Event::ItemDelta(delta) => self.delta(delta, out),
            Event::ItemCompleted(tail) if self.waits(tail.id) => {
                self.waiting.push(Event::ItemCompleted(tail.clone().into_owned()));
            }
            Event::ItemCompleted(tail) => {
                self.completed(tail, out);
                // What waits for the entry goes on once the entry has its line.
                if self.entry.as_ref().is_some_and(|entry| entry.open_items > 0) {
                    self.go_on(out);
                }
            }
            Event::TurnStarted(turn) => {
                self.turn = Usage::default();
                self.used(turn, false);
            }
            Event::Usage(turn) => self.used(turn, false),
            Event::TurnEnded(turn) => self.used(turn, true),
            Event::SessionEnded(_) => {}
            Event::Request(_) => out.ledger.note("the settings of a request have no place in a record"),
            Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => out.ledger.note("live events have no place in a record yet"),
        }
    }

    fn rest(&mut self, rest: Rest<'_>, out: &mut Out<'_>) {
        match rest.body {
            RestBody::Frame(_) | RestBody::Line { .. } => {
                self.line(rest, out);
                self.go_on(out);
            }
            RestBody::Unparsed { bytes, why, more } => {
                self.unparsed(rest.owner, bytes, why, more, out);
                rest.keep_elsewhere(out.ledger);
            }
            RestBody::NoFinalNewline => self.no_final_newline = true,
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.go_on(out);
        self.close_entry(out);
        if let Some(usage) = self.usage.take() {
            // Told after the last entry was written: the total of a turn.
            out.json.object().key("type").word("system-event").key("event-type").word("usage");
            write_usage(&usage, &mut out.json);
            out.json.end_object();
        }
    }
}

impl Entry {
    /// Whether an item within the entry is not complete.
    fn has_open_child(&self) -> bool {
        self.child.as_ref().is_some_and(|child| child.item != self.node.item)
    }

    fn begin_child(&mut self, json: &mut Emit<'_>) {
        self.end_child(json);
        if !self.children {
            self.node.close(json);
            self.children = true;
            json.key("children").array();
        }
    }

    fn end_child(&mut self, json: &mut Emit<'_>) {
        if let Some(mut child) = self.child.take() {
            child.close(json);
            json.end_object();
        }
    }

    fn end_children(&mut self, json: &mut Emit<'_>) {
        self.end_child(json);
        if std::mem::take(&mut self.children) {
            json.end_array();
            self.node.content = Content::Closed;
        }
    }
}

impl Node {
    const fn new(item: ItemId, kind: NodeKind, shape: Shape) -> Self {
        Self { item, kind, shape, content: Content::None, arguments: String::new(), blank_opaque: false }
    }

    /// Writes what the head says and leaves the object open.
    fn open(head: &ItemHead<'_>, json: &mut Emit<'_>) -> Self {
        let ItemHead { id, kind, author, within: _, native_id, parent, time, model, shape } = head;
        json.object().key("type");
        let node_kind = match kind {
            ItemKind::Message => match author {
                Author::User | Author::Tool => {
                    json.word("user");
                    NodeKind::User
                }
                Author::Assistant => {
                    json.word("assistant");
                    NodeKind::Assistant
                }
                Author::System | Author::Developer => {
                    let word = if *author == Author::System { "system" } else { "developer" };
                    json.word("system-event").key("event-type").word(word);
                    NodeKind::System
                }
            },
            ItemKind::Reasoning => {
                json.word("reasoning");
                NodeKind::Reasoning
            }
            ItemKind::ToolCall(ToolCall { call_id, kind: _, namespace, name }) => {
                json.word("tool-call").key("name").str(name);
                json.opt_str("namespace", namespace.as_ref()).opt_str("call-id", call_id.as_ref());
                NodeKind::ToolCall
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                json.word("tool-result").opt_str("call-id", call_id.as_ref()).opt_str("name", name.as_ref());
                NodeKind::ToolResult
            }
            ItemKind::Notice(Notice { event_type }) => {
                json.word("system-event")
                    .key("event-type")
                    .word(event_type.as_ref().map_or("unknown", Str::as_escaped));
                NodeKind::Event
            }
        };
        json.opt_str("id", native_id.as_ref())
            .opt_raw("timestamp", time.as_ref())
            .opt_str("parent-id", parent.as_ref())
            .opt_str("model-id", model.as_ref());
        Self::new(*id, node_kind, *shape)
    }

    const fn content_key(&self) -> &'static str {
        match self.kind {
            NodeKind::ToolCall => "input",
            NodeKind::ToolResult => "output",
            _ => "content",
        }
    }

    /// Whether the piece can go into this node's own content.
    fn fits(&self, delta: &Delta<'_>) -> bool {
        match (&delta.value, self.content) {
            (Part::Opaque(_), _) => true,
            (_, Content::None) => true,
            (Part::Text(_) | Part::Summary(_) | Part::Args(Args::Text(_)), Content::Text(part)) => {
                part == delta.part
            }
            (_, Content::List(_)) => true,
            (_, Content::Text(_) | Content::Opaque | Content::Closed) => {
                !matches!(self.kind, NodeKind::User | NodeKind::Assistant)
            }
        }
    }

    fn add(&mut self, delta: &Delta<'_>, out: &mut Out<'_>) {
        let json = &mut out.json;
        match (&delta.value, self.content, self.shape) {
            (Part::Opaque(Opaque { kind: _, issuer: _, value }), content, _) => {
                if self.kind != NodeKind::Reasoning {
                    out.ledger.lose("opaque", Reason::NoSlot, "\"\"");
                } else if content == Content::Opaque {
                    json.piece(value);
                } else if value.is_empty() {
                    self.blank_opaque = true;
                } else {
                    self.end_content(json);
                    self.blank_opaque = false;
                    json.key("encrypted").open_string().piece(value);
                    self.content = Content::Opaque;
                }
            }
            (Part::Args(Args::Text(text)), _, _)
                if delta.arrival == Arrival::Streamed && self.kind == NodeKind::ToolCall =>
            {
                self.arguments.push_str(text.as_escaped());
            }
            (Part::Text(text) | Part::Args(Args::Text(text)), Content::Text(part), _)
                if part == delta.part =>
            {
                json.piece(text);
            }
            (Part::Text(text) | Part::Args(Args::Text(text)), Content::None, Shape::One) => {
                self.begin(json);
                json.open_string().piece(text);
                self.content = Content::Text(delta.part);
            }
            (Part::Args(Args::Json(value)) | Part::Json(value), Content::None, Shape::One) => {
                self.begin(json);
                // Arguments are never read as parts.
                if self.kind != NodeKind::ToolCall && is_ambiguous(value) {
                    json.array();
                    list_part(&Part::Json(value.reborrow()), delta.part, json);
                    json.end_array();
                } else {
                    json.raw(value);
                }
                self.end_wrapper(json);
                self.content = Content::Closed;
            }
            (Part::Text(text) | Part::Summary(text), Content::List(Some(part)), _) if part == delta.part => {
                json.piece(text);
            }
            (value, Content::None | Content::List(_), _) => {
                if self.content == Content::None {
                    self.begin(json);
                    json.array();
                }
                if let Content::List(Some(_)) = self.content {
                    json.close_string().end_object();
                }
                self.content = Content::List(list_part(value, delta.part, json));
            }
            // A second part where one was announced: only a source that is itself a stream does this.
            (_, Content::Text(_) | Content::Opaque | Content::Closed, _) => {
                out.ledger.note("a second part where one was announced");
                out.ledger.lose(self.content_key(), Reason::NoSlot, "\"\"");
            }
        }
    }

    fn begin(&self, json: &mut Emit<'_>) {
        if matches!(self.kind, NodeKind::System | NodeKind::Event) {
            json.key("data").object();
        }
        json.key(self.content_key());
    }

    fn end_wrapper(&self, json: &mut Emit<'_>) {
        if matches!(self.kind, NodeKind::System | NodeKind::Event) {
            json.end_object();
        }
    }

    /// Ends what the node says of itself.
    fn close(&mut self, json: &mut Emit<'_>) {
        self.end_content(json);
        if std::mem::take(&mut self.blank_opaque) {
            json.key("encrypted").word("");
        }
    }

    /// Ends the content, giving what the schema requires.
    fn end_content(&mut self, json: &mut Emit<'_>) {
        match self.content {
            Content::None => match self.kind {
                NodeKind::ToolCall if !self.arguments.is_empty() => {
                    let text = Str::escaped(&self.arguments);
                    let value = text.decode();
                    json.key(self.content_key());
                    match TapeBuf::default().parse(&value, &Limits::default()) {
                        Ok(_) => json.raw(&Raw::new(&value)),
                        Err(_) => json.str(&text),
                    };
                }
                NodeKind::ToolCall | NodeKind::ToolResult => {
                    json.key(self.content_key()).null();
                }
                NodeKind::Reasoning => {
                    json.key("content").null();
                }
                NodeKind::User | NodeKind::Assistant | NodeKind::System | NodeKind::Event => return,
            },
            Content::Text(_) => {
                json.close_string();
                self.end_wrapper(json);
            }
            Content::Opaque => {
                json.close_string();
            }
            Content::List(part) => {
                if part.is_some() {
                    json.close_string().end_object();
                }
                json.end_array();
                self.end_wrapper(json);
            }
            Content::Closed => return,
        }
        self.content = Content::Closed;
    }
}

/// Whether a value of the source would be read as a content list of ours.
fn is_ambiguous(value: &Raw<'_>) -> bool {
    value.as_str().starts_with('[')
        && TapeBuf::default()
            .parse(value.as_str(), &Limits::default())
            .is_ok_and(|tape| is_parts(tape.root()))
}

/// Writes one element of a content list; returns its part number if more text may follow.
fn list_part(value: &Part<'_>, part: u32, json: &mut Emit<'_>) -> Option<u32> {
    json.object().key("type");
    match value {
        Part::Text(text) => {
            json.word("text").key("text").open_string().piece(text);
            return Some(part);
        }
        Part::Summary(text) => {
            json.word("summary").key("text").open_string().piece(text);
            return Some(part);
        }
        Part::Refusal(text) => {
            json.word("refusal").key("text").str(text);
        }
        Part::Media(Media { media_type, source, name }) => {
            json.word("media").opt_str("media-type", media_type.as_ref()).opt_str("name", name.as_ref());
            match source {
                MediaSource::Base64(data) => json.key("data").str(data),
                MediaSource::Url(url) => json.key("url").str(url),
                MediaSource::File(id) => json.key("file").str(id),
            };
        }
        Part::Json(value) | Part::Args(Args::Json(value)) => {
            json.word("json").key("json").raw(value);
        }
        Part::Args(Args::Text(text)) => {
            json.word("arguments").key("text").str(text);
        }
        Part::File(FileRef { path, action, diff }) => {
            json.word("file").key("path").str(path).key("action").str(action).opt_str("diff", diff.as_ref());
        }
        Part::Citation(value) => {
            json.word("citation").key("citation").raw(value);
        }
        Part::Opaque(Opaque { kind: _, issuer: _, value }) => {
            json.word("opaque").key("encrypted").str(value);
        }
    }
    json.end_object();
    None
}
