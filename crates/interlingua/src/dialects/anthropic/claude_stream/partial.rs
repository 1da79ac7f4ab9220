//! Partial messages: a response arrives block by block in deltas, and then each block is repeated as a whole line.

use std::collections::{HashMap, VecDeque};

use super::line::{parent_call, repeat_parent_call};
use crate::blocks;
use crate::dialects::anthropic::stream::{BlockSort, note_stop, read_piece, signature, sort_of_piece, usage};
use crate::json::Str;
use crate::live::printed::same_json;
use crate::model::{
    Args, Author, Event, Field, ItemId, ItemKind, ItemTail, Opaque, OpaqueKind, Part, Status, Turn,
};
use crate::pipe::EventSink;
use crate::tape::Val;
use crate::wire::note_tag;

/// The responses being streamed. Subagents stream concurrently, each under the call that started it.
pub(super) struct Streams {
    /// Whether the whole lines of a response have the response's id.
    shares_ids: bool,
    /// By that call; the main agent has the empty key.
    by_call: HashMap<String, PartialResponse>,
    /// The call that a response streams under, by the message id.
    calls: HashMap<String, String>,
}

#[derive(Default)]
struct PartialResponse {
    message: String,
    model: Option<Str<'static>>,
    blocks: Vec<PartialBlock>,
    /// The position in `blocks` of the open block of each index.
    open: HashMap<u64, usize>,
    /// Blocks whose whole line has not arrived, by type, in order of their start.
    unrepeated: [VecDeque<usize>; 3],
}

impl Streams {
    pub(super) fn new(shares_ids: bool) -> Self {
        Self { shares_ids, by_call: HashMap::default(), calls: HashMap::default() }
    }

    /// The streamed block that `block` repeats, and the call that its response streams under. The block belongs to a whole
    /// line of the message `id`, under the call `under`.
    pub(super) fn said_before<'s>(
        &'s mut self,
        id: Option<&Str<'_>>,
        under: &'s Str<'_>,
        block: Val<'_>,
    ) -> Option<(&'s str, &'s mut PartialBlock)> {
        let sort = sort_of(block)?;
        let call = if self.shares_ids { self.calls.get(id?.as_escaped())? } else { under.as_escaped() };
        let response = self.by_call.get_mut(call)?;
        let at = response.unrepeated[sort as usize].pop_front()?;
        Some((call, response.blocks.get_mut(at)?))
    }

    /// Reads one event of the Messages API. Returns whether the event is known.
    pub(super) fn event(&mut self, line: Val<'_>, event: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let under = line.get("parent_tool_use_id").and_then(|parent| parent.str()).unwrap_or_default();
        let known = match event.str_or_empty("type") {
            "message_start" => self.start(line, event, &under, out),
            "content_block_start" => self.block_start(line, event, &under, out),
            "content_block_delta" => self.block_delta(line, event, &under, out),
            // The whole line precedes this event and has completed the block.
            "content_block_stop" => event.get("index").is_some_and(|index| index.u64().is_some()),
            "message_delta" => self.count(line, event, &under, out),
            "message_stop" => {
                let abandoned = line.get("abandoned_blocks").is_some();
                self.close(&under, if abandoned { Status::Interrupted } else { Status::Completed }, out);
                true
            }
            "ping" => true,
            _ => false,
        };
        if known {
            event.note_str("type", Field::Structure);
        }
        known
    }

    /// Ends the turn and completes every open block as interrupted.
    pub(super) fn end(&mut self, out: &mut EventSink<'_>) {
        let mut left: Vec<PartialBlock> = self
            .by_call
            .drain()
            .flat_map(|(_, response)| response.blocks)
            .filter(|block| block.open)
            .collect();
        // Map iteration order is unspecified.
        left.sort_by_key(|block| block.message);
        for mut block in left {
            block.complete(Status::Interrupted, out);
        }
        self.calls.clear();
    }

    fn start(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(message) = event.get("message") else { return false };
        self.close(under, Status::Interrupted, out);
        repeat_parent_call(line.get("parent_tool_use_id"), under.as_escaped());
        // A message id that no other line repeats links no lines.
        let (id_field, model_field) = if self.shares_ids {
            (Field::TurnId, Field::TurnModel)
        } else {
            (Field::Padding, Field::ItemModel)
        };
        let (id, model) = (message.note_str("id", id_field), message.note_str("model", model_field));
        note_tag(message, "role", &["assistant"]);
        note_tag(message, "type", &["message"]);
        let response = PartialResponse {
            message: id.as_ref().map(|id| id.as_escaped().to_owned()).unwrap_or_default(),
            model: model.clone().map(Str::into_owned),
            ..PartialResponse::default()
        };
        self.calls.insert(response.message.clone(), under.as_escaped().to_owned());
        if let Some(before) = self.by_call.insert(under.as_escaped().to_owned(), response)
            && id.as_ref().is_none_or(|id| id.as_escaped() != before.message)
        {
            self.calls.remove(&before.message);
        }
        if let Some(usage) = usage(message) {
            out.event(&Event::Usage(Turn { id, model, usage: Some(usage), ..Turn::default() }));
        }
        true
    }

    fn block_start(
        &mut self,
        line: Val<'_>,
        event: Val<'_>,
        under: &Str<'_>,
        out: &mut EventSink<'_>,
    ) -> bool {
        let (Some(place), Some(block)) = (event.get("index"), event.get("content_block")) else {
            return false;
        };
        let Some(index) = place.u64() else { return false };
        let Some(sort) = sort_of(block) else { return true };
        let Some(response) = self.by_call.get_mut(under.as_escaped()) else { return false };
        place.note(Field::Structure);
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        head.native_id = line.take_str("uuid", Field::ItemId);
        head.parent_call = parent_call(line.get("parent_tool_use_id"));
        head.model.clone_from(&response.model);
        let message = out.start(head);
        let native_kind = block.str_or_empty("type");
        let is_plain = matches!(native_kind, "text" | "thinking" | "tool_use");
        block.note_str("type", if is_plain { Field::Structure } else { Field::CallKind });
        let mut call = [String::new(), String::new()];
        let inner = match sort {
            BlockSort::Text => None,
            BlockSort::Thinking => Some(ItemKind::Reasoning),
            BlockSort::ToolUse => {
                call = ["id", "name"].map(|name| block.str_or_empty(name).to_owned());
                Some(ItemKind::ToolCall(blocks::call(block, native_kind)))
            }
        };
        let inner = inner.map(|kind| {
            let mut head = out.head(kind, Author::Assistant);
            head.within = Some(message);
            out.start(head)
        });
        let (said, signature) = (String::new(), String::new());
        let mut begun = PartialBlock { sort, said, signature, call, message, inner, open: true };
        // The start may hold the first text, which is usually empty. An empty `input` or `signature` adds nothing; a
        // whole `input` is repeated in the whole line, and deltas continue a text.
        for val in ["text", "thinking", "input"].into_iter().filter_map(|name| block.get(name)) {
            match val.str() {
                Some(text) if text.is_empty() => drop(val.note(Field::Structure)),
                Some(text) => {
                    val.take(field_of(sort));
                    begun.grow(text, out);
                }
                None => {}
            }
        }
        for val in ["input", "signature"].into_iter().filter_map(|name| block.get(name)) {
            if matches!(val.text(), "{}" | "\"\"") {
                val.note(Field::Structure);
            }
        }
        if sort == BlockSort::Thinking
            && !block.str_or_empty("signature").is_empty()
            && let Some(opaque) = blocks::take_opaque(block, "signature", OpaqueKind::Signature)
        {
            begun.sign(opaque, 1, out);
        }
        let at = response.blocks.len();
        response.open.insert(index, at);
        response.unrepeated[sort as usize].push_back(at);
        response.blocks.push(begun);
        true
    }

    fn block_delta(
        &mut self,
        line: Val<'_>,
        event: Val<'_>,
        under: &Str<'_>,
        out: &mut EventSink<'_>,
    ) -> bool {
        let (Some(place), Some(delta)) = (event.get("index"), event.get("delta")) else { return false };
        let Some(response) = self.by_call.get_mut(under.as_escaped()) else { return false };
        let at = place.u64().and_then(|index| response.open.get(&index));
        let block = at.and_then(|at| response.blocks.get_mut(*at)).filter(|block| block.open);
        let Some(block) = block else { return false };
        // A delta that does not match its block's type is unknown.
        if sort_of_piece(delta) != Some(block.sort) {
            return false;
        }
        match read_piece(delta) {
            Some((_, Part::Text(text) | Part::Args(Args::Text(text)))) => block.grow(text, out),
            Some((part, Part::Opaque(opaque))) => {
                block.sign(opaque, part, out);
            }
            Some((part, value)) => out.piece(block.inner.unwrap_or(block.message), part, value),
            None => return false,
        }
        place.note(Field::Structure);
        repeat_parent_call(line.get("parent_tool_use_id"), under.as_escaped());
        true
    }

    fn count(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut EventSink<'_>) -> bool {
        let (Some(delta), true) = (event.get("delta"), event.get("usage").is_some()) else { return false };
        let Some(response) = self.by_call.get(under.as_escaped()) else { return false };
        repeat_parent_call(line.get("parent_tool_use_id"), under.as_escaped());
        out.event(&Event::Usage(Turn {
            id: Some(Str::escaped(&response.message)),
            model: response.model.clone(),
            stop: note_stop(delta),
            usage: Some(usage(event).unwrap_or_default()),
            ..Turn::default()
        }));
        true
    }

    /// Completes the open blocks of a response.
    fn close(&mut self, under: &Str<'_>, status: Status, out: &mut EventSink<'_>) {
        let Some(response) = self.by_call.get_mut(under.as_escaped()) else { return };
        for block in response.blocks.iter_mut().filter(|block| block.open) {
            block.complete(status, out);
        }
    }
}

/// The type of a block that arrives in deltas. Any other block is read from its whole line.
fn sort_of(block: Val<'_>) -> Option<BlockSort> {
    match block.str_or_empty("type") {
        "text" => Some(BlockSort::Text),
        "thinking" => Some(BlockSort::Thinking),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(BlockSort::ToolUse),
        _ => None,
    }
}

/// The field of the block's text.
const fn field_of(sort: BlockSort) -> Field {
    match sort {
        BlockSort::Text => Field::MessageText,
        BlockSort::Thinking => Field::ReasoningText,
        BlockSort::ToolUse => Field::CallArgs,
    }
}

/// One content block of a streamed response.
pub(super) struct PartialBlock {
    sort: BlockSort,
    /// Text of the deltas so far, escaped.
    said: String,
    signature: String,
    /// The call's id and name from the start of the block.
    call: [String; 2],
    message: ItemId,
    /// The reasoning or call item within the message.
    inner: Option<ItemId>,
    pub(super) open: bool,
}

impl PartialBlock {
    fn grow(&mut self, text: Str<'_>, out: &mut EventSink<'_>) {
        self.said.push_str(text.as_escaped());
        match (self.sort, self.inner) {
            (BlockSort::ToolUse, Some(call)) => out.piece(call, 0, Part::Args(Args::Text(text))),
            (_, inner) => out.piece(inner.unwrap_or(self.message), 0, Part::Text(text)),
        }
    }

    fn sign(&mut self, opaque: Opaque<'_>, part: u32, out: &mut EventSink<'_>) {
        self.signature.push_str(opaque.value.as_escaped());
        out.piece(self.inner.unwrap_or(self.message), part, Part::Opaque(opaque));
    }

    /// Reads the whole block: emits the text missing from the deltas, then completes the item. Values equal to the
    /// streamed values are claimed; different values are left unclaimed in the line.
    pub(super) fn repeat(&mut self, block: Val<'_>, status: Status, out: &mut EventSink<'_>) {
        block.note_str("type", Field::Structure);
        match self.sort {
            BlockSort::Text => self.catch_up(block.get("text"), out),
            BlockSort::Thinking => {
                self.catch_up(block.get("thinking"), out);
                let whole = block.get("signature").and_then(|val| Some((val, val.str()?)));
                if let (Some((val, value)), Some(inner)) = (whole, self.inner) {
                    let says_more = self.signature.is_empty() && self.open && !value.is_empty();
                    if says_more || value.as_escaped() == self.signature {
                        val.take(Field::Signature);
                    }
                    if says_more {
                        out.delta(inner, 1, Part::Opaque(signature(value)));
                    }
                }
            }
            BlockSort::ToolUse => {
                for ((name, field), known) in
                    [("id", Field::CallId), ("name", Field::CallName)].into_iter().zip(&self.call)
                {
                    if block.get(name).and_then(|val| val.str()).is_some_and(|val| val.as_escaped() == known)
                    {
                        block.note_str(name, field);
                    }
                }
                match (block.get("input"), self.inner) {
                    (Some(input), Some(call)) if self.said.is_empty() && self.open => {
                        out.delta(call, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
                    }
                    // The agent re-serializes the input; the deltas hold the model's own JSON.
                    (Some(input), _) if same_json(input, &Str::escaped(&self.said)) => {
                        input.note(Field::CallArgs);
                    }
                    (Some(_) | None, _) => {}
                }
            }
        }
        if self.open {
            self.complete(status, out);
        }
    }

    fn catch_up(&mut self, whole: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some((val, text)) = whole.and_then(|val| Some((val, val.str()?))) else { return };
        let (said, text) = (std::mem::take(&mut self.said), text.decode());
        match text.strip_prefix(&*Str::escaped(&said).decode()) {
            Some("") => drop(val.take(field_of(self.sort))),
            Some(more) if self.open => {
                val.take(field_of(self.sort));
                self.grow(Str::plain(more), out);
            }
            // The whole text remains in the line.
            Some(_) | None => out.note("a whole block differs from its deltas"),
        }
    }

    fn complete(&mut self, status: Status, out: &mut EventSink<'_>) {
        self.open = false;
        for id in [self.inner, Some(self.message)].into_iter().flatten() {
            out.event(&Event::ItemCompleted(ItemTail::new(id, status)));
        }
    }
}
