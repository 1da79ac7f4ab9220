//! An answer that arrives in pieces: thoughts, texts and calls by their index, then the whole message.

use crate::blocks::start_reasoning;
use crate::dialects::agents::pi::read::{Changes, count, opaque, read_block, remember_change};
use crate::json::Str;
use crate::live::printed::take_millis;
use crate::live::streamed::{StreamedBlock, StreamedKind};
use crate::model::{
    Author, CallKind, Event, Field, ItemId, ItemKind, ItemKindTag, ItemTail, OpaqueKind, Part, Shape, Status,
    ToolCall,
};
use crate::pipe::EventSink;
use crate::tape::{Member as _, Val, WantedNames};

/// The answer that the agent is giving.
pub(super) struct StreamedAnswer {
    item: ItemId,
    model: Option<Str<'static>>,
    /// The blocks with their indexes.
    blocks: Vec<(u64, StreamedBlock)>,
}

impl StreamedAnswer {
    pub(super) fn start(message: Val<'_>, out: &mut EventSink<'_>) -> Self {
        message.note_str("role", Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        // More texts may follow the first.
        head.shape = Shape::List;
        head.time = take_millis(message.get("timestamp"));
        head.model = message.take_str("model", Field::ItemModel);
        let model = head.model.clone().map(Str::into_owned);
        Self { item: out.start(head), model, blocks: Vec::new() }
    }

    /// Reads a piece of the answer. Returns whether the piece is known.
    pub(super) fn update(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        const LINE: WantedNames<4> = WantedNames::new(["type", "assistantMessageEvent", "message", "usage"]);
        const EVENT: WantedNames<5> =
            WantedNames::new(["type", "contentIndex", "partial", "message", "error"]);
        let [tag, event, message, usage] = line.find(&LINE);
        let Some(event) = event else { return false };
        let [kind, index, partial, inner_message, error] = event.find(&EVENT);
        let (word, place) = (kind.word(), index);
        let index = index.and_then(|index| index.u64());
        let known = match (kind_of(word), index) {
            (Some((kind, "start")), Some(index)) => self.block_start(kind, index, event, out),
            (Some((kind, "delta")), Some(index)) => self.block_delta(kind, index, event, out),
            (Some((kind, "end")), Some(index)) => self.block_end(kind, index, event, out),
            // The lines before and after have the same values.
            (None, None) => matches!(word, "start" | "done" | "error"),
            _ => false,
        };
        if known {
            for tag in [tag, kind] {
                tag.note_text(Field::Structure);
            }
            if let Some(place) = place {
                place.note(Field::Structure);
            }
            // Snapshots of the message so far. The start of a call reads its snapshot.
            let partial = partial.filter(|_| word != "toolcall_start");
            for snapshot in [message, usage, inner_message, error, partial].into_iter().flatten() {
                snapshot.note(Field::Padding);
            }
        }
        known
    }

    /// The position of an open block.
    fn find(&self, kind: StreamedKind, index: u64) -> Option<usize> {
        let is_it =
            |(known, block): &(u64, StreamedBlock)| *known == index && block.kind == kind && block.is_open;
        self.blocks.iter().rposition(is_it)
    }

    fn block_start(
        &mut self,
        kind: StreamedKind,
        index: u64,
        event: Val<'_>,
        out: &mut EventSink<'_>,
    ) -> bool {
        if self.find(kind, index).is_some() {
            return false;
        }
        let item = match kind {
            StreamedKind::Text => self.item,
            StreamedKind::Thought => start_reasoning(self.item, out),
            StreamedKind::Call => self.call_start(index, event, out),
        };
        self.blocks.push((index, StreamedBlock::new(kind, item, index as u32)));
        true
    }

    /// Starts a call. Older versions name the call only in their snapshot of the message.
    fn call_start(&mut self, index: u64, event: Val<'_>, out: &mut EventSink<'_>) -> ItemId {
        let content = event.get("partial").and_then(|partial| partial.get("content"));
        let place = usize::try_from(index).ok();
        let shown = content.zip(place).and_then(|(content, place)| content.elements().nth(place));
        let take =
            |own: &str, old: &str, field| event.take_str(own, field).or_else(|| shown?.take_str(old, field));
        let call = ToolCall {
            call_id: take("id", "id", Field::CallId),
            kind: CallKind::Function,
            namespace: None,
            name: take("toolName", "name", Field::CallName).unwrap_or_default(),
        };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        head.within = Some(self.item);
        out.start(head)
    }

    fn block_delta(
        &mut self,
        kind: StreamedKind,
        index: u64,
        event: Val<'_>,
        out: &mut EventSink<'_>,
    ) -> bool {
        let Some(at) = self.find(kind, index) else { return false };
        let Some(delta) = event.get("delta").filter(|delta| delta.str().is_some()) else { return false };
        if delta.is("") {
            delta.note(Field::Structure);
        } else if let Some(text) = delta.take_text(kind.field()) {
            self.blocks[at].1.grow(text, out);
        }
        true
    }

    /// Reads the end of a block, which repeats the whole block.
    fn block_end(&mut self, kind: StreamedKind, index: u64, event: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(at) = self.find(kind, index) else { return false };
        let (_, block) = &mut self.blocks[at];
        match kind {
            StreamedKind::Call => {
                if let Some(call) = event.get("toolCall") {
                    call_again(block, call, out);
                }
            }
            StreamedKind::Text | StreamedKind::Thought => block.text_again(event.get("content"), out),
        }
        true
    }

    /// Reads the whole message: adds what no piece held, and completes the answer.
    pub(super) fn end(mut self, message: Val<'_>, changes: &mut Changes, out: &mut EventSink<'_>) {
        message.note_str("role", Field::Structure);
        let content = message.get("content").into_iter().flat_map(|content| content.elements());
        for (number, whole) in content.enumerate() {
            let is_it = |(index, block): &(u64, StreamedBlock)| {
                *index == number as u64 && type_of(block.kind) == whole.str_or_empty("type")
            };
            match self.blocks.iter_mut().rfind(|block| is_it(block)) {
                Some((_, block)) => out.within(whole, |out| again(block, whole, message, changes, out)),
                None => out.within(whole, |out| {
                    let place = (self.item, ItemKindTag::Message);
                    read_block((number as u32, whole), message, place, changes, out);
                }),
            }
        }
        let stopped = message.str_or_empty("stopReason");
        let status =
            if matches!(stopped, "error" | "aborted") { Status::Interrupted } else { Status::Completed };
        self.complete(status, out);
        count(message, self.model.take(), out);
    }

    /// Completes an answer whose end is missing.
    pub(super) fn interrupt(mut self, out: &mut EventSink<'_>) {
        self.complete(Status::Interrupted, out);
    }

    fn complete(&mut self, status: Status, out: &mut EventSink<'_>) {
        for (_, block) in &mut self.blocks {
            block.complete(status, out);
        }
        out.event(&Event::ItemCompleted(ItemTail::new(self.item, status)));
    }
}

/// The kind of block of an update, and the word for what happens to the block.
fn kind_of(word: &str) -> Option<(StreamedKind, &str)> {
    let (kind, what) = word.split_once('_')?;
    let kind = match kind {
        "text" => StreamedKind::Text,
        "thinking" => StreamedKind::Thought,
        "toolcall" => StreamedKind::Call,
        _ => return None,
    };
    Some((kind, what))
}

/// The type of a whole block.
const fn type_of(kind: StreamedKind) -> &'static str {
    match kind {
        StreamedKind::Text => "text",
        StreamedKind::Thought => "thinking",
        StreamedKind::Call => "toolCall",
    }
}

/// Reads a repeated call.
fn call_again(block: &mut StreamedBlock, call: Val<'_>, out: &mut EventSink<'_>) {
    for name in ["type", "id", "name"] {
        call.note_str(name, Field::Padding);
    }
    block.arguments_again(call.get("arguments"), out);
}

/// Reads the whole block of the message.
fn again(
    block: &mut StreamedBlock,
    whole: Val<'_>,
    message: Val<'_>,
    changes: &mut Changes,
    out: &mut EventSink<'_>,
) {
    match block.kind {
        StreamedKind::Text => {
            whole.note_str("type", Field::Structure);
            block.text_again(whole.get("text"), out);
        }
        StreamedKind::Thought => {
            whole.note_str("type", Field::Structure);
            block.text_again(whole.get("thinking"), out);
            if let Some(state) = opaque(whole, "thinkingSignature", OpaqueKind::Signature, message) {
                out.delta(block.item, 1, Part::Opaque(state));
            }
            block.complete(Status::Completed, out);
        }
        StreamedKind::Call => {
            remember_change(whole, changes);
            call_again(block, whole, out);
        }
    }
}
