//! An item with all that belongs to it, gathered from its events: the values of its head, its parts, the items within
//! it, and how it ended.
//!
//! A log writes an item when it is complete, and events borrow from a frame that is gone by then. So the texts are copied,
//! once, into one buffer that serves item after item; every value is known by its [`Field`] and by where it stands
//! there. Nothing is searched: an item is found by its number, its content by following links.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::json::{Raw, Str};
use crate::ledger::Identity;
use crate::model::{
    Args, Author, CallKind, Delta, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Notice,
    Of, Opaque, OpaqueKind, Origin, Part, ToolCall, ToolResult,
};

/// The items that are being gathered: one that stands alone, and those within it.
#[derive(Debug, Default)]
pub struct GatheredItems {
    text: String,
    values: Vec<GatheredValue>,
    items: Vec<ItemNode>,
    parts: Vec<PartNode>,
    numbers: HashMap<ItemId, u32, BuildHasherDefault<Identity>>,
    /// Parts by item, number and sort, once a piece has come that goes on with another part than the last.
    by_number: Option<BTreeMap<(u32, u32, PartSort), u32>>,
}

/// A value of an item or a part: where it stands in the text of all.
#[derive(Debug)]
struct GatheredValue {
    field: Field,
    start: usize,
    end: usize,
    /// The next value of the same item or part.
    next: Link,
    /// A kept frame says it.
    said: Cell<bool>,
}

#[derive(Debug)]
struct ItemNode {
    id: ItemId,
    of: Of,
    author: Author,
    origin: Option<Origin>,
    call: CallKind,
    is_error: Option<bool>,
    exit_code: Option<i64>,
    duration: Option<u64>,
    values: Links,
    content: Links,
    /// The highest number of a part so far.
    highest: Option<u32>,
    /// The next content of the item around it.
    next: Link,
}

#[derive(Debug)]
struct PartNode {
    number: u32,
    sort: PartSort,
    values: Links,
    /// The next content of its item.
    next: Link,
}

/// What a part is, without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PartSort {
    Text,
    Summary,
    Refusal,
    Json,
    TextArgs,
    JsonArgs,
    Base64,
    Url,
    File,
    Document,
    Signature,
    Encrypted,
}

/// The first and the last of a chain.
#[derive(Clone, Copy, Debug)]
struct Links {
    first: Link,
    last: Link,
}

/// Who comes next. Among contents, parts have even numbers and items odd ones.
type Link = u32;
const NONE: Link = Link::MAX;
const NO_LINKS: Links = Links { first: NONE, last: NONE };

impl GatheredItems {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        // A huge item's memory is given back; a usual one's is used again.
        self.text.shrink_to(1 << 20);
        self.values.clear();
        self.items.clear();
        self.parts.clear();
        self.numbers.clear();
        self.by_number = None;
    }

    /// The item that stands alone.
    pub fn root(&self) -> Option<GatheredItem<'_>> {
        (!self.items.is_empty()).then_some(GatheredItem { all: self, at: 0 })
    }

    /// The item of that number, if it is being gathered.
    pub fn item(&self, id: ItemId) -> Option<GatheredItem<'_>> {
        self.numbers.get(&id).map(|&at| GatheredItem { all: self, at: at as usize })
    }

    /// An item begins: the first stands alone, any other lies within one that is here. `now` is the time at the source.
    pub fn start(&mut self, head: &ItemHead<'_>, now: Option<&Raw<'_>>) {
        // Which item it replaces and which answer it belongs to no log tells; the shape is advice to others.
        #[rustfmt::skip]
        let ItemHead {
            id, kind, author, origin, within, native_id, parent, replaces: _, agent, parent_call, time, model,
            answer: _, shape: _,
        } = head;
        let at = self.items.len();
        self.items.push(ItemNode {
            id: *id,
            of: Of::item(kind),
            author: *author,
            origin: *origin,
            call: if let ItemKind::ToolCall(call) = kind { call.kind } else { CallKind::Function },
            is_error: None,
            exit_code: None,
            duration: None,
            values: NO_LINKS,
            content: NO_LINKS,
            highest: None,
            next: NONE,
        });
        let around = within.and_then(|around| self.numbers.get(&around).copied());
        if let Some(around) = around.filter(|_| at > 0) {
            self.add_content(around as usize, at as Link * 2 + 1);
        }
        self.numbers.insert(*id, at as u32);
        let (mut own, mut named) = ([None; 3], None);
        match kind {
            ItemKind::Message | ItemKind::Reasoning => {}
            ItemKind::ToolCall(ToolCall { call_id, kind: _, namespace, name }) => {
                own = [
                    Some((Field::CallId, call_id.as_ref())),
                    Some((Field::CallNamespace, namespace.as_ref())),
                    None,
                ];
                named = Some((Field::CallName, name));
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                own = [
                    Some((Field::ResultCallId, call_id.as_ref())),
                    Some((Field::ResultName, name.as_ref())),
                    None,
                ];
            }
            ItemKind::Notice(Notice { event_type }) => {
                own[0] = Some((Field::NoticeType, event_type.as_ref()))
            }
        }
        let texts = [
            (Field::ItemId, native_id.as_ref()),
            (Field::ItemParent, parent.as_ref()),
            (Field::ItemAgent, agent.as_ref()),
            (Field::ItemParentCall, parent_call.as_ref()),
            (Field::ItemModel, model.as_ref()),
        ];
        let named = named.map(|(field, name)| (field, Some(name)));
        for (field, text) in texts.into_iter().chain(own.into_iter().flatten()).chain(named) {
            if let Some(text) = text {
                self.add_to_item(at, field, text.as_escaped());
            }
        }
        for (field, time) in [(Field::ItemTime, time.as_ref()), (Field::EventTime, now)] {
            if let Some(time) = time {
                self.add_to_item(at, field, time.as_str());
            }
        }
    }

    /// An item grows. Pieces of one part join. Files, citations and marks for a cache have no place in a log so far.
    pub fn delta(&mut self, delta: &Delta<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(&at) = self.numbers.get(item) else { return };
        let of = self.items[at as usize].of;
        match value {
            Part::Text(text) => self.text_part(at, *part, PartSort::Text, of.text(), text),
            Part::Summary(text) => {
                self.text_part(at, *part, PartSort::Summary, Field::ReasoningSummary, text);
            }
            Part::Refusal(text) => self.text_part(at, *part, PartSort::Refusal, Field::Refusal, text),
            Part::Args(Args::Text(text)) => {
                self.text_part(at, *part, PartSort::TextArgs, Field::CallArgs, text);
            }
            Part::Args(Args::Json(json)) => {
                let node = self.new_part(at, *part, PartSort::JsonArgs);
                self.add_to_part(node, Field::CallArgs, json.as_str());
            }
            Part::Json(json) => {
                let node = self.new_part(at, *part, PartSort::Json);
                self.add_to_part(node, of.json(), json.as_str());
            }
            Part::Media(media) => self.media_part(at, *part, of, media),
            Part::Opaque(Opaque { kind, issuer, value }) => {
                let sort = match kind {
                    OpaqueKind::Signature => PartSort::Signature,
                    OpaqueKind::Encrypted => PartSort::Encrypted,
                };
                let node = self.text_part_node(at, *part, sort);
                if self.parts[node].values.first == NONE {
                    self.add_to_part(node, Field::Issuer, issuer.as_escaped());
                }
                self.append(node, kind.field(), value);
            }
            Part::File(_) | Part::Citation(_) | Part::Cache(_) => {}
        }
    }

    /// An item is complete.
    pub fn complete(&mut self, tail: &ItemTail<'_>) {
        // How it ended shows in the dialect's own word, where it has one.
        let ItemTail { id, status: _, native_status, is_error, exit_code, duration } = tail;
        let Some(&at) = self.numbers.get(id) else { return };
        let item = &mut self.items[at as usize];
        (item.is_error, item.exit_code, item.duration) = (*is_error, *exit_code, *duration);
        if let Some(status) = native_status {
            self.add_to_item(at as usize, Field::ItemStatus, status.as_escaped());
        }
    }

    /// A kept frame says the value that this text is or is a part of, if it is one of these.
    pub(super) fn mark_said(&self, text: &str) {
        // Two addresses are compared; nothing is read through them.
        let Some(offset) = (text.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize) else { return };
        let after = self.values.partition_point(|value| value.start <= offset);
        let is_it = |value: &&GatheredValue| {
            let empty = value.start == value.end;
            value.end >= offset + text.len() && empty == text.is_empty()
        };
        // Only empty values, which share their start with the one after them, make this look at more than one.
        if let Some(value) = self.values[..after].iter().rev().find(is_it) {
            value.said.set(true);
        }
    }

    /// The values that no kept frame says: field and length.
    pub(super) fn unsaid(&self) -> impl Iterator<Item = (Field, usize)> {
        let unsaid = self.values.iter().filter(|value| !value.said.get());
        unsaid.map(|value| (value.field, value.end - value.start))
    }

    fn text_part(&mut self, at: u32, number: u32, sort: PartSort, field: Field, text: &Str<'_>) {
        let node = self.text_part_node(at, number, sort);
        self.append(node, field, text);
    }

    /// The part that a piece goes on with, or a new one.
    fn text_part_node(&mut self, at: u32, number: u32, sort: PartSort) -> usize {
        let item = &self.items[at as usize];
        // Nearly every piece is of a new part, or goes on with the last.
        if item.highest.is_some_and(|highest| number <= highest) {
            let last = item.content.last;
            if let Some(node) = self.parts.get(last as usize / 2).filter(|_| last.is_multiple_of(2))
                && (node.number, node.sort) == (number, sort)
            {
                return last as usize / 2;
            }
            if let Some(&node) = self.index_parts().get(&(at, number, sort)) {
                return node as usize;
            }
        }
        self.new_part(at, number, sort)
    }

    /// Parts by item, number and sort; made when it is first asked for.
    fn index_parts(&mut self) -> &BTreeMap<(u32, u32, PartSort), u32> {
        let known = self.by_number.take().unwrap_or_else(|| {
            let mut known = BTreeMap::new();
            for at in 0..self.items.len() {
                for (node, part) in self.parts_of(at) {
                    known.entry((at as u32, part.number, part.sort)).or_insert(node as u32);
                }
            }
            known
        });
        self.by_number.insert(known)
    }

    fn new_part(&mut self, at: u32, number: u32, sort: PartSort) -> usize {
        let node = self.parts.len();
        self.parts.push(PartNode { number, sort, values: NO_LINKS, next: NONE });
        let item = &mut self.items[at as usize];
        item.highest = item.highest.max(Some(number));
        self.add_content(at as usize, node as Link * 2);
        if let Some(known) = &mut self.by_number {
            known.entry((at, number, sort)).or_insert(node as u32);
        }
        node
    }

    fn media_part(&mut self, at: u32, number: u32, of: Of, media: &Media<'_>) {
        let Media { media_type, source, name, context, citable } = media;
        let (sort, place) = match source {
            MediaSource::Base64(data) => (PartSort::Base64, data),
            MediaSource::Url(url) => (PartSort::Url, url),
            MediaSource::File(id) => (PartSort::File, id),
            MediaSource::Text(text) => (PartSort::Document, text),
        };
        let node = self.new_part(at, number, sort);
        self.add_to_part(node, of.media(), place.as_escaped());
        for (field, text) in
            [(Field::MediaType, media_type), (Field::MediaName, name), (Field::MediaContext, context)]
        {
            if let Some(text) = text {
                self.add_to_part(node, field, text.as_escaped());
            }
        }
        if let Some(citable) = citable {
            self.add_to_part(node, Field::MediaCitable, if *citable { "true" } else { "false" });
        }
    }

    /// Adds text to a part's value, which grows in place if nothing has been gathered since.
    fn append(&mut self, node: usize, field: Field, text: &Str<'_>) {
        let last = self.parts[node].values.last;
        match self.values.get_mut(last as usize) {
            Some(value) if value.field == field && value.end == self.text.len() => {
                self.text.push_str(text.as_escaped());
                value.end = self.text.len();
            }
            _ => self.add_to_part(node, field, text.as_escaped()),
        }
    }

    fn add_to_part(&mut self, node: usize, field: Field, text: &str) {
        let mut links = self.parts[node].values;
        self.add_value(&mut links, field, text);
        self.parts[node].values = links;
    }

    fn add_to_item(&mut self, at: usize, field: Field, text: &str) {
        let mut links = self.items[at].values;
        self.add_value(&mut links, field, text);
        self.items[at].values = links;
    }

    fn add_value(&mut self, links: &mut Links, field: Field, text: &str) {
        let (start, at) = (self.text.len(), self.values.len() as Link);
        self.text.push_str(text);
        self.values.push(GatheredValue {
            field,
            start,
            end: self.text.len(),
            next: NONE,
            said: Cell::new(false),
        });
        match self.values.get_mut(links.last as usize) {
            Some(last) => last.next = at,
            None => links.first = at,
        }
        links.last = at;
    }

    fn add_content(&mut self, at: usize, content: Link) {
        let Links { first, last } = self.items[at].content;
        if last == NONE {
            self.items[at].content = Links { first: content, last: content };
            return;
        }
        if last.is_multiple_of(2) {
            self.parts[last as usize / 2].next = content;
        } else {
            self.items[last as usize / 2].next = content;
        }
        self.items[at].content = Links { first, last: content };
    }

    fn parts_of(&self, at: usize) -> impl Iterator<Item = (usize, &PartNode)> {
        let parts = self.contents(at).filter(|link| link.is_multiple_of(2));
        parts.map(|link| (link as usize / 2, &self.parts[link as usize / 2]))
    }

    fn contents(&self, at: usize) -> impl Iterator<Item = Link> {
        let next = |link: &Link| {
            let at = *link as usize / 2;
            let next = if link.is_multiple_of(2) { self.parts[at].next } else { self.items[at].next };
            Some(next).filter(|next| *next != NONE)
        };
        std::iter::successors(Some(self.items[at].content.first).filter(|first| *first != NONE), next)
    }

    fn values_of(&self, links: Links) -> impl Iterator<Item = (Field, &str)> {
        let first = self.values.get(links.first as usize);
        let values = std::iter::successors(first, |value| self.values.get(value.next as usize));
        values.map(|value| (value.field, &self.text[value.start..value.end]))
    }

    /// The text of a field; in one piece unless pieces of several parts came in turn.
    fn joined(&self, links: Links, field: Field) -> Option<Cow<'_, str>> {
        let mut pieces = self.values_of(links).filter(|(known, _)| *known == field).map(|(_, text)| text);
        let mut text = Cow::Borrowed(pieces.next()?);
        pieces.for_each(|piece| text.to_mut().push_str(piece));
        Some(text)
    }
}

/// An item that has been gathered.
#[derive(Clone, Copy, Debug)]
pub struct GatheredItem<'g> {
    all: &'g GatheredItems,
    at: usize,
}

/// What an item holds, in order.
#[derive(Debug)]
pub enum GatheredContent<'g> {
    /// A part. Pieces have been joined.
    Part(Part<'g>),
    /// An item within it.
    Item(GatheredItem<'g>),
}

impl<'g> GatheredItem<'g> {
    fn node(&self) -> &'g ItemNode {
        &self.all.items[self.at]
    }

    /// Our number.
    pub fn id(&self) -> ItemId {
        self.node().id
    }

    /// What sort of item it is.
    pub fn of(&self) -> Of {
        self.node().of
    }

    /// Who speaks.
    pub fn author(&self) -> Author {
        self.node().author
    }

    /// Whose words it holds.
    pub fn origin(&self) -> Option<Origin> {
        self.node().origin
    }

    /// Who runs a tool, if it is a call.
    pub fn call_kind(&self) -> CallKind {
        self.node().call
    }

    /// Whether a tool said that it failed.
    pub fn is_error(&self) -> Option<bool> {
        self.node().is_error
    }

    /// What a process returned.
    pub fn exit_code(&self) -> Option<i64> {
        self.node().exit_code
    }

    /// How long a tool ran, in milliseconds.
    pub fn duration(&self) -> Option<u64> {
        self.node().duration
    }

    /// A text of its head or its end, such as [`Field::ItemId`], [`Field::CallName`] or [`Field::ItemStatus`].
    pub fn text(&self, field: Field) -> Option<Str<'g>> {
        self.value(field).map(Str::escaped)
    }

    /// The time of its own, as written.
    pub fn time(&self) -> Option<Raw<'g>> {
        self.value(Field::ItemTime).map(Raw::new)
    }

    /// The time at the source when it began.
    pub fn clock(&self) -> Option<Raw<'g>> {
        self.value(Field::EventTime).map(Raw::new)
    }

    fn value(&self, field: Field) -> Option<&'g str> {
        self.all.values_of(self.node().values).find(|(known, _)| *known == field).map(|(_, text)| text)
    }

    /// Its parts and the items within it, in order.
    pub fn content(&self) -> impl Iterator<Item = GatheredContent<'g>> + use<'g> {
        let all = self.all;
        all.contents(self.at).filter_map(move |link| {
            let at = link as usize / 2;
            if link.is_multiple_of(2) {
                all.part(&all.parts[at]).map(GatheredContent::Part)
            } else {
                Some(GatheredContent::Item(GatheredItem { all, at }))
            }
        })
    }

    /// Its parts.
    pub fn parts(&self) -> impl Iterator<Item = Part<'g>> + use<'g> {
        self.content().filter_map(|content| match content {
            GatheredContent::Part(part) => Some(part),
            GatheredContent::Item(_) => None,
        })
    }

    /// The items within it.
    pub fn items(&self) -> impl Iterator<Item = GatheredItem<'g>> + use<'g> {
        self.content().filter_map(|content| match content {
            GatheredContent::Item(item) => Some(item),
            GatheredContent::Part(_) => None,
        })
    }

    /// Whether there is anything to write: a message or reasoning without content is no line.
    pub fn says_anything(&self) -> bool {
        match self.of() {
            Of::Call | Of::Result => true,
            Of::Notice => false,
            Of::Message | Of::Reasoning => self.content().any(|content| match content {
                GatheredContent::Part(_) => true,
                GatheredContent::Item(item) => item.says_anything(),
            }),
        }
    }

    /// A kept frame says all its parts, together.
    pub fn mark_parts_said(&self) {
        for (_, part) in self.all.parts_of(self.at) {
            self.all.values_of(part.values).for_each(|(_, text)| self.all.mark_said(text));
        }
    }
}

impl GatheredItems {
    /// A part as the model has it.
    fn part(&self, node: &PartNode) -> Option<Part<'_>> {
        let text = |field| self.joined(node.values, field).map(Str::from);
        let json = |field| self.joined(node.values, field).map(Raw::from);
        let own =
            self.values_of(node.values).map(|(field, _)| field).find(|field| *field != Field::Issuer)?;
        let opaque = |kind| {
            let issuer = text(Field::Issuer).unwrap_or_default();
            Some(Part::Opaque(Opaque { kind, issuer, value: text(own)? }))
        };
        let media = |source| {
            Part::Media(Media {
                media_type: text(Field::MediaType),
                source,
                name: text(Field::MediaName),
                context: text(Field::MediaContext),
                citable: text(Field::MediaCitable).map(|citable| citable.is("true")),
            })
        };
        Some(match node.sort {
            PartSort::Text => Part::Text(text(own)?),
            PartSort::Summary => Part::Summary(text(own)?),
            PartSort::Refusal => Part::Refusal(text(own)?),
            PartSort::Json => Part::Json(json(own)?),
            PartSort::TextArgs => Part::Args(Args::Text(text(own)?)),
            PartSort::JsonArgs => Part::Args(Args::Json(json(own)?)),
            PartSort::Base64 => media(MediaSource::Base64(text(own)?)),
            PartSort::Url => media(MediaSource::Url(text(own)?)),
            PartSort::File => media(MediaSource::File(text(own)?)),
            PartSort::Document => media(MediaSource::Text(text(own)?)),
            PartSort::Signature => return opaque(OpaqueKind::Signature),
            PartSort::Encrypted => return opaque(OpaqueKind::Encrypted),
        })
    }
}
