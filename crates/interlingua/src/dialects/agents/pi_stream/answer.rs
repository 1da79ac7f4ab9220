//! An answer that arrives in pieces: thoughts, texts and calls by their index, then the whole message.

use crate::blocks::start_reasoning;
use crate::dialects::agents::pi::read::{Changes, count, opaque, read_block, remember_change};
use crate::json::Str;
use crate::live::printed::same_json;
use crate::model::{
    Args, Author, CallKind, Event, Field, ItemId, ItemKind, ItemKindTag, ItemTail, OpaqueKind, Part, Shape,
    Status, ToolCall,
};
use crate::pipe::EventSink;
use crate::tape::Val;

/// The answer that the agent is giving.
pub(super) struct StreamedAnswer {
    item: ItemId,
    model: Option<Str<'static>>,
    blocks: Vec<StreamedBlock>,
}

/// A block of the answer.
struct StreamedBlock {
    index: u64,
    kind: StreamedKind,
    /// The item of a thought or call; the message, for a text.
    item: ItemId,
    /// The text so far, escaped.
    said: String,
    is_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamedKind {
    Text,
    Thought,
    Call,
}

impl StreamedKind {
    /// The kind of block of an update, and the word for what happens to the block.
    fn of(word: &str) -> Option<(Self, &str)> {
        let (kind, what) = word.split_once('_')?;
        let kind = match kind {
            "text" => StreamedKind::Text,
            "thinking" => StreamedKind::Thought,
            "toolcall" => StreamedKind::Call,
            _ => return None,
        };
        Some((kind, what))
    }

    /// The type of a whole block, and the member that holds its text.
    const fn whole(self) -> (&'static str, &'static str) {
        match self {
            StreamedKind::Text => ("text", "text"),
            StreamedKind::Thought => ("thinking", "thinking"),
            StreamedKind::Call => ("toolCall", "arguments"),
        }
    }

    const fn field(self) -> Field {
        match self {
            StreamedKind::Text => Field::MessageText,
            StreamedKind::Thought => Field::ReasoningText,
            StreamedKind::Call => Field::CallArgs,
        }
    }
}

impl StreamedAnswer {
    pub(super) fn start(message: Val<'_>, out: &mut EventSink<'_>) -> Self {
        message.note_str("role", Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        // More texts may follow the first.
        head.shape = Shape::List;
        head.model = message.take_str("model", Field::ItemModel);
        let model = head.model.clone().map(Str::into_owned);
        Self { item: out.start(head), model, blocks: Vec::new() }
    }

    /// Reads a piece of the answer. Returns whether the piece is known.
    pub(super) fn update(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(event) = line.get("assistantMessageEvent") else { return false };
        let word = event.str_or_empty("type");
        let index = event.get("contentIndex").and_then(|index| index.u64());
        let known = match (StreamedKind::of(word), index) {
            (Some((kind, "start")), Some(index)) => self.block_start(kind, index, event, out),
            (Some((kind, "delta")), Some(index)) => self.block_delta(kind, index, event, out),
            (Some((kind, "end")), Some(index)) => self.block_end(kind, index, event, out),
            // The lines before and after have the same values.
            (None, None) => matches!(word, "start" | "done" | "error"),
            _ => false,
        };
        if known {
            line.note_str("type", Field::Structure);
            event.note_str("type", Field::Structure);
            event.note_raw("contentIndex", Field::Structure);
            // Snapshots of the message so far.
            line.note_raw("message", Field::Padding);
            line.note_raw("usage", Field::Padding);
            for name in ["message", "error"] {
                event.note_raw(name, Field::Padding);
            }
            if word != "toolcall_start" {
                event.note_raw("partial", Field::Padding);
            }
        }
        known
    }

    /// The position of an open block.
    fn find(&self, kind: StreamedKind, index: u64) -> Option<usize> {
        let is_it = |block: &StreamedBlock| block.index == index && block.kind == kind && block.is_open;
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
        self.blocks.push(StreamedBlock { index, kind, item, said: String::new(), is_open: true });
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
            self.blocks[at].grow(text, out);
        }
        true
    }

    /// Reads the end of a block, which repeats the whole block.
    fn block_end(&mut self, kind: StreamedKind, index: u64, event: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(at) = self.find(kind, index) else { return false };
        let block = &mut self.blocks[at];
        match kind {
            StreamedKind::Call => {
                if let Some(call) = event.get("toolCall") {
                    block.call_again(call, out);
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
            let is_it = |block: &StreamedBlock| {
                block.index == number as u64 && block.kind.whole().0 == whole.str_or_empty("type")
            };
            match self.blocks.iter_mut().rfind(|block| is_it(block)) {
                Some(block) => out.within(whole, |out| block.again(whole, message, changes, out)),
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
        for block in self.blocks.iter_mut().filter(|block| block.is_open && block.kind != StreamedKind::Text)
        {
            block.is_open = false;
            out.event(&Event::ItemCompleted(ItemTail::new(block.item, status)));
        }
        out.event(&Event::ItemCompleted(ItemTail::new(self.item, status)));
    }
}

impl StreamedBlock {
    fn grow(&mut self, text: Str<'_>, out: &mut EventSink<'_>) {
        self.said.push_str(text.as_escaped());
        match self.kind {
            StreamedKind::Text => out.piece(self.item, self.index as u32, Part::Text(text)),
            StreamedKind::Thought => out.piece(self.item, 0, Part::Text(text)),
            StreamedKind::Call => out.piece(self.item, 0, Part::Args(Args::Text(text))),
        }
    }

    /// Reads a repeated text: claims equal text, and emits text that continues the pieces.
    fn text_again(&mut self, whole: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some((val, text)) = whole.and_then(|val| Some((val, val.str()?))) else { return };
        if text.as_escaped() == self.said {
            val.note(self.kind.field());
            return;
        }
        let text = text.decode();
        let said = Str::escaped(&self.said).decode().into_owned();
        match text.strip_prefix(&*said) {
            Some("") => drop(val.note(self.kind.field())),
            Some(more) => {
                val.note(self.kind.field());
                self.grow(Str::plain(more), out);
            }
            // The whole text remains in the line.
            None => out.note("a whole block differs from its pieces"),
        }
    }

    /// Reads a repeated call. The pieces are the model's own text; the agent writes the value again.
    fn call_again(&mut self, call: Val<'_>, out: &mut EventSink<'_>) {
        call.note_str("type", Field::Structure);
        call.note_str("id", Field::Structure);
        call.note_str("name", Field::Structure);
        let Some(arguments) = call.get("arguments") else { return };
        if self.said.is_empty() && self.is_open {
            self.said.push_str(arguments.text());
            out.delta(self.item, 0, Part::Args(Args::Json(arguments.take(Field::CallArgs))));
        } else if self.said == arguments.text() || same_json(arguments, &Str::escaped(&self.said)) {
            arguments.note(Field::CallArgs);
        }
        if self.is_open {
            self.is_open = false;
            out.complete(self.item);
        }
    }

    /// Reads the whole block of the message.
    fn again(&mut self, whole: Val<'_>, message: Val<'_>, changes: &mut Changes, out: &mut EventSink<'_>) {
        let (_, member) = self.kind.whole();
        match self.kind {
            StreamedKind::Text => {
                whole.note_str("type", Field::Structure);
                self.text_again(whole.get(member), out);
            }
            StreamedKind::Thought => {
                whole.note_str("type", Field::Structure);
                self.text_again(whole.get(member), out);
                if let Some(state) = opaque(whole, "thinkingSignature", OpaqueKind::Signature, message) {
                    out.delta(self.item, 1, Part::Opaque(state));
                }
                if std::mem::take(&mut self.is_open) {
                    out.complete(self.item);
                }
            }
            StreamedKind::Call => {
                remember_change(whole, changes);
                self.call_again(whole, out);
            }
        }
    }
}
