//! Blocks of an answer that arrive in pieces and are repeated whole: thoughts, texts and calls.

use super::printed::same_json;
use crate::json::Str;
use crate::model::{Args, Event, Field, ItemId, ItemTail, Part, Status};
use crate::pipe::EventSink;
use crate::tape::Val;

/// A block of an answer.
pub(crate) struct StreamedBlock {
    pub(crate) kind: StreamedKind,
    /// The item of a thought or call; the message, for a text.
    pub(crate) item: ItemId,
    /// The number of the part, for a text.
    part: u32,
    /// The text so far, escaped.
    said: String,
    pub(crate) is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamedKind {
    Text,
    Thought,
    Call,
}

impl StreamedKind {
    pub(crate) const fn field(self) -> Field {
        match self {
            StreamedKind::Text => Field::MessageText,
            StreamedKind::Thought => Field::ReasoningText,
            StreamedKind::Call => Field::CallArgs,
        }
    }
}

impl StreamedBlock {
    pub(crate) const fn new(kind: StreamedKind, item: ItemId, part: u32) -> Self {
        Self { kind, item, part, said: String::new(), is_open: true }
    }

    /// Emits a piece.
    pub(crate) fn grow(&mut self, text: Str<'_>, out: &mut EventSink<'_>) {
        self.said.push_str(text.as_escaped());
        match self.kind {
            StreamedKind::Text => out.piece(self.item, self.part, Part::Text(text)),
            StreamedKind::Thought => out.piece(self.item, 0, Part::Text(text)),
            StreamedKind::Call => out.piece(self.item, 0, Part::Args(Args::Text(text))),
        }
    }

    /// Reads a repeated text: claims equal text, and emits text that continues the pieces.
    pub(crate) fn text_again(&mut self, whole: Option<Val<'_>>, out: &mut EventSink<'_>) {
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

    /// Reads repeated arguments and completes the call. The pieces are the model's own text; the agent writes the value
    /// again.
    pub(crate) fn arguments_again(&mut self, arguments: Option<Val<'_>>, out: &mut EventSink<'_>) {
        if let Some(arguments) = arguments {
            if self.said.is_empty() && self.is_open {
                self.said.push_str(arguments.text());
                out.delta(self.item, 0, Part::Args(Args::Json(arguments.take(Field::CallArgs))));
            } else if self.said == arguments.text() || same_json(arguments, &Str::escaped(&self.said)) {
                arguments.note(Field::CallArgs);
            }
        }
        self.complete(Status::Completed, out);
    }

    /// Completes the item of a thought or call. A text belongs to its message.
    pub(crate) fn complete(&mut self, status: Status, out: &mut EventSink<'_>) {
        if std::mem::take(&mut self.is_open) && self.kind != StreamedKind::Text {
            out.event(&Event::ItemCompleted(ItemTail::new(self.item, status)));
        }
    }
}
