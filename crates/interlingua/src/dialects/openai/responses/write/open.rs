//! The item of an output that is open, and what it holds until it is complete.

use crate::json::JsonBuffer;
use crate::model::{ItemId, Part};
use crate::pipe::ReadPlace;

/// The item that is open.
#[derive(Default)]
pub(super) struct OpenOutput {
    pub(super) kind: OpenKind,
    /// The item of the source that it is.
    pub(super) source: Option<ItemId>,
    pub(super) id: String,
    /// A message's phase; the id, group and name of a call.
    pub(super) members: JsonBuffer,
    /// The part that is open, by its number in the source; its text, escaped, and what belongs to it.
    pub(super) part: Option<(PartKind, u32)>,
    pub(super) text: String,
    /// What each event of its pieces says of where it stands, up to the piece.
    pub(super) piece_head: JsonBuffer,
    /// How far its characters are counted, and how many there are up to there.
    pub(super) counted: (usize, u64),
    pub(super) plain: String,
    pub(super) notes: JsonBuffer,
    pub(super) note_count: u64,
    /// Parts that are complete: content of messages and summaries, and what was thought.
    pub(super) parts: JsonBuffer,
    pub(super) part_count: u64,
    pub(super) thoughts: JsonBuffer,
    pub(super) thought_count: u64,
    /// The only part of a request's message so far is this text; then it does not stand in `parts`.
    pub(super) only_text: String,
    pub(super) has_only_text: bool,
    pub(super) state: Option<String>,
    /// Its thoughts became summaries.
    pub(super) summarised: bool,
    pub(super) is_cut: bool,
    /// What reasoning says, if it may have to be given up.
    pub(super) held: Vec<HeldPart>,
}

impl OpenOutput {
    /// The item is complete. Memory is used again.
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

/// What reasoning says, and the place it was read from.
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
