//! The open item of an output, and its content until it is complete.

use crate::json::JsonBuffer;
use crate::model::{ItemId, Part};
use crate::pipe::ReadPlace;

/// The open item.
#[derive(Default)]
pub(super) struct OpenOutput {
    pub(super) kind: OpenKind,
    /// The item in the source.
    pub(super) source: Option<ItemId>,
    pub(super) id: String,
    /// A message's phase, or the id, group and name of a call.
    pub(super) members: JsonBuffer,
    /// The open part with its number in the source, and its escaped text.
    pub(super) part: Option<(PartKind, u32)>,
    pub(super) text: String,
    /// The location members of the part's piece events, up to the piece.
    pub(super) piece_head: JsonBuffer,
    /// The number of bytes whose characters are counted, and the number of these characters.
    pub(super) counted: (usize, u64),
    pub(super) plain: String,
    pub(super) notes: JsonBuffer,
    pub(super) note_count: u64,
    /// The complete parts: content of messages and summaries, and thoughts.
    pub(super) parts: JsonBuffer,
    pub(super) part_count: u64,
    pub(super) thoughts: JsonBuffer,
    pub(super) thought_count: u64,
    /// The text of a request's message with a single text part, which is not in `parts`.
    pub(super) only_text: String,
    pub(super) has_only_text: bool,
    pub(super) state: Option<String>,
    /// Whether thoughts were written as summaries.
    pub(super) summarised: bool,
    pub(super) is_cut: bool,
    /// The parts of reasoning, in case they must be booked as lost.
    pub(super) held: Vec<HeldPart>,
}

impl OpenOutput {
    /// Clears the item; the buffers are reused.
    pub(super) fn clear(&mut self) {
        let Self { id, text, plain, only_text, .. } = self;
        for text in [id, text, plain, only_text] {
            text.clear();
        }
        let Self { members, notes, parts, thoughts, held, .. } = self;
        for buffer in [members, notes, parts, thoughts] {
            buffer.clear();
        }
        held.clear();
        (self.kind, self.source, self.part, self.state) = (OpenKind::Nothing, None, None, None);
        self.counted = (0, 0);
        (self.note_count, self.part_count, self.thought_count) = (0, 0, 0);
        (self.has_only_text, self.is_cut, self.summarised) = (false, false, false);
    }
}

/// A part of reasoning, and the place it was read from.
#[derive(Clone)]
pub(super) struct HeldPart {
    pub(super) part: Part<'static>,
    pub(super) read: ReadPlace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OpenKind {
    #[default]
    Nothing,
    Message,
    Reasoning,
    Function,
    FreeText,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Refusal,
    Summary,
    Thought,
}

impl OpenKind {
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            OpenKind::Nothing => "",
            OpenKind::Message => "msg",
            OpenKind::Reasoning => "rs",
            OpenKind::Function => "fc",
            OpenKind::FreeText => "ctc",
        }
    }
}
