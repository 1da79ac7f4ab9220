//! A complete item, gathered from its events: head, parts, inner items and tail.
//!
//! A log writes an item when it is complete. Events borrow from a frame that is gone by then, so all values are
//! copied. Items and parts are looked up by number, never by a search.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::json::{Raw, Str};
use crate::ledger::Identity;
use crate::model::{Args, Delta, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Opaque, Part, Status};

/// The items that are being gathered: a top-level item and the items within it.
#[derive(Debug, Default)]
pub struct GatheredItems {
    items: Vec<ItemNode>,
    numbers: HashMap<ItemId, usize, BuildHasherDefault<Identity>>,
    /// The position of each part in the content of its item, by item and part number.
    parts: HashMap<u64, usize, BuildHasherDefault<Identity>>,
    has_call: bool,
    /// Items that lie within another item in the source and are top-level items here.
    apart: Vec<usize>,
}

#[derive(Debug)]
struct ItemNode {
    head: ItemHead<'static>,
    content: Vec<ContentNode>,
    tail: ItemTail<'static>,
    /// The source's clock at the start of the item, if the item has no time of its own.
    clock: Option<Raw<'static>>,
    /// The index of the item whose frame holds this item: its own for a top-level item.
    frame: usize,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all content is parts")]
enum ContentNode {
    Part(Part<'static>),
    Item(usize),
}

impl GatheredItems {
    /// Removes all items but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.numbers.clear();
        self.parts.clear();
        self.has_call = false;
        self.apart.clear();
    }

    /// Whether any gathered item is a call.
    pub fn has_call(&self) -> bool {
        self.has_call
    }

    /// The further top-level items that follow the first.
    pub fn apart(&self) -> impl Iterator<Item = GatheredItem<'_>> {
        self.apart.iter().map(|&at| GatheredItem { all: self, at })
    }

    /// The top-level item.
    pub fn root(&self) -> Option<GatheredItem<'_>> {
        (!self.items.is_empty()).then_some(GatheredItem { all: self, at: 0 })
    }

    /// The item with the given number, if it is being gathered.
    pub fn item(&self, id: ItemId) -> Option<GatheredItem<'_>> {
        self.numbers.get(&id).map(|&at| GatheredItem { all: self, at })
    }

    /// The item that owns the given frame.
    pub fn item_of(&self, FrameNumber(at): FrameNumber) -> Option<GatheredItem<'_>> {
        (at < self.items.len()).then_some(GatheredItem { all: self, at })
    }

    /// All gathered items.
    pub fn items(&self) -> impl Iterator<Item = GatheredItem<'_>> {
        (0..self.items.len()).map(|at| GatheredItem { all: self, at })
    }

    /// Starts an item: the first is the top-level item, every later item lies within a gathered item. Returns the
    /// number of the new item.
    pub fn start(&mut self, head: &ItemHead<'_>, clock: Option<Raw<'static>>) -> FrameNumber {
        let around = head.within.and_then(|around| self.numbers.get(&around).copied());
        self.add(head, around, clock)
    }

    /// Starts an item that lies within another item in the source and becomes a top-level item after the first.
    pub fn start_apart(&mut self, head: &ItemHead<'_>) -> FrameNumber {
        self.apart.push(self.items.len());
        self.add(head, None, None)
    }

    /// Starts an item that becomes part of the given frame, whatever its place in the source.
    pub fn start_in(&mut self, head: &ItemHead<'_>, frame: FrameNumber) {
        self.add(head, Some(frame.0), None);
    }

    fn add(
        &mut self,
        head: &ItemHead<'_>,
        around: Option<usize>,
        clock: Option<Raw<'static>>,
    ) -> FrameNumber {
        let (at, tail) = (self.items.len(), ItemTail::new(head.id, Status::Completed));
        self.has_call |= matches!(head.kind, ItemKind::ToolCall(_));
        let frame = around.and_then(|around| self.items.get(around)).map_or(at, |around| around.frame);
        if let Some(around) = around.and_then(|around| self.items.get_mut(around)) {
            around.content.push(ContentNode::Item(at));
        }
        self.numbers.insert(head.id, at);
        let head = head.clone().into_owned();
        self.items.push(ItemNode { head, content: Vec::new(), tail, clock, frame });
        FrameNumber(at)
    }

    /// Adds a delta to an item. Pieces of the same part are joined.
    pub fn delta(&mut self, delta: &Delta<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(&at) = self.numbers.get(item) else { return };
        let Some(ItemNode { content, .. }) = self.items.get_mut(at) else { return };
        let known = self.parts.entry(key(at, *part)).or_insert(content.len());
        let joined = match content.get_mut(*known) {
            Some(ContentNode::Part(so_far)) => join(so_far, value),
            Some(ContentNode::Item(_)) | None => false,
        };
        if !joined {
            *known = content.len();
            content.push(ContentNode::Part(value.clone().into_owned()));
        }
    }

    /// Removes and returns the parts of reasoning that its issuer has not signed.
    pub fn take_unsigned(&mut self, id: ItemId) -> Vec<Part<'static>> {
        let is_unsigned =
            |item: &GatheredItem<'_>| item.of() == ItemKindTag::Reasoning && item.opaque().is_none();
        let Some(at) = self.item(id).filter(is_unsigned).map(|item| item.at) else { return Vec::new() };
        let content = self.items.get_mut(at).map(|item| std::mem::take(&mut item.content));
        let part = |content| if let ContentNode::Part(part) = content { Some(part) } else { None };
        content.unwrap_or_default().into_iter().filter_map(part).collect()
    }

    /// Completes an item.
    pub fn complete(&mut self, tail: &ItemTail<'_>) {
        let at = self.numbers.get(&tail.id);
        if let Some(item) = at.and_then(|&at| self.items.get_mut(at)) {
            item.tail = tail.clone().into_owned();
        }
    }
}

/// A single key for an item and a part. The map uses keys as hashes and reads their low bits, so both numbers are
/// spread over the low bits; distinct pairs have distinct keys.
const fn key(item: usize, part: u32) -> u64 {
    ((item as u64) << 32 | part as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

/// Appends a piece to a text of the same kind. Returns whether the kinds match.
fn join(so_far: &mut Part<'static>, more: &Part<'_>) -> bool {
    match (so_far, more) {
        (Part::Text(text), Part::Text(more))
        | (Part::Summary(text), Part::Summary(more))
        | (Part::Refusal(text), Part::Refusal(more))
        | (Part::Args(Args::Text(text)), Part::Args(Args::Text(more))) => text.push(more),
        (Part::Opaque(Opaque { kind, value, .. }), Part::Opaque(more)) if *kind == more.kind => {
            value.push(&more.value);
        }
        _ => return false,
    }
    true
}

/// A gathered item.
#[derive(Clone, Copy, Debug)]
pub struct GatheredItem<'g> {
    all: &'g GatheredItems,
    at: usize,
}

/// The index of an item that has its own frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameNumber(usize);

/// The content of an item, in order.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum GatheredContent<'g> {
    /// A part.
    Part(&'g Part<'static>),
    /// An item within the item.
    Item(GatheredItem<'g>),
}

impl<'g> GatheredItem<'g> {
    fn node(self) -> &'g ItemNode {
        // Only `GatheredItems` creates these indexes, and only for existing items.
        &self.all.items[self.at]
    }

    /// The item's start.
    pub fn head(self) -> &'g ItemHead<'static> {
        &self.node().head
    }

    /// The item whose frame holds this item, and the index of that item.
    pub fn frame(self) -> (GatheredItem<'g>, FrameNumber) {
        let at = self.node().frame;
        (GatheredItem { all: self.all, at }, FrameNumber(at))
    }

    /// The item's end.
    pub fn tail(self) -> &'g ItemTail<'static> {
        &self.node().tail
    }

    /// The source's clock at the start of the item, if the item has no time of its own.
    pub fn clock(self) -> Option<&'g Raw<'static>> {
        self.node().clock.as_ref()
    }

    /// The kind of the item.
    pub fn of(self) -> ItemKindTag {
        ItemKindTag::item(&self.head().kind)
    }

    /// The id of a call, or of the call a result answers.
    pub fn call_id(self) -> Option<&'g Str<'static>> {
        match &self.head().kind {
            ItemKind::ToolCall(call) => call.call_id.as_ref(),
            ItemKind::ToolResult(result) => result.call_id.as_ref(),
            ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => None,
        }
    }

    /// The arguments of a call.
    pub fn arguments(self) -> Option<&'g Args<'static>> {
        self.parts().find_map(|part| if let Part::Args(args) = part { Some(args) } else { None })
    }

    /// The first opaque part, if any.
    pub fn opaque(self) -> Option<&'g Opaque<'static>> {
        self.parts().find_map(|part| if let Part::Opaque(opaque) = part { Some(opaque) } else { None })
    }

    /// The item's text, if the text is its only content.
    pub fn only_text(self) -> Option<&'g Str<'static>> {
        let mut content = self.content();
        match (content.next(), content.next()) {
            (Some(GatheredContent::Part(Part::Text(text))), None) => Some(text),
            _ => None,
        }
    }

    /// The content for a frame of blocks, in order: the parts of a message and the items within it, including those of
    /// nested messages. Any other item is a single block.
    pub fn blocks(self) -> Vec<GatheredContent<'g>> {
        let mut blocks = Vec::new();
        self.add_blocks(&mut blocks);
        blocks
    }

    fn add_blocks(self, blocks: &mut Vec<GatheredContent<'g>>) {
        if self.of() != ItemKindTag::Message {
            return blocks.push(GatheredContent::Item(self));
        }
        for content in self.content() {
            match content {
                GatheredContent::Part(_) => blocks.push(content),
                GatheredContent::Item(inner) => inner.add_blocks(blocks),
            }
        }
    }

    /// The item's parts and inner items, in order.
    pub fn content(self) -> impl Iterator<Item = GatheredContent<'g>> + use<'g> {
        self.node().content.iter().map(move |content| match content {
            ContentNode::Part(part) => GatheredContent::Part(part),
            ContentNode::Item(at) => GatheredContent::Item(GatheredItem { all: self.all, at: *at }),
        })
    }

    /// The item's parts.
    pub fn parts(self) -> impl Iterator<Item = &'g Part<'static>> + use<'g> {
        self.content().filter_map(|content| match content {
            GatheredContent::Part(part) => Some(part),
            GatheredContent::Item(_) => None,
        })
    }

    /// Whether the item is written at all: a message or reasoning without content has no frame.
    pub fn says_anything(self) -> bool {
        match self.of() {
            ItemKindTag::Call | ItemKindTag::Result => true,
            ItemKindTag::Notice => false,
            ItemKindTag::Message | ItemKindTag::Reasoning => self.content().any(|content| match content {
                GatheredContent::Part(_) => true,
                GatheredContent::Item(item) => item.says_anything(),
            }),
        }
    }
}
