//! The report of a run: the counts, the kept and lost paths, and the reasons. Plain data for printing; the report
//! itself books nothing.

use crate::error::Problem;
use crate::framing::{FramePlace, Framing};
use crate::model::Field;

/// The reason for a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The target has no field for the value.
    NoSlot,
    /// The target has a similar but less precise value.
    Narrowed,
    /// Several values became one value.
    Merged,
    /// The target already holds the same information in a different form.
    Redundant,
    /// The value belongs to another provider and must not be sent on.
    Foreign,
    /// The target would refuse the value.
    Refused,
    /// The source is damaged at this place.
    Invalid,
    /// The source itself abandoned the item: a rewound turn, a left branch, a replaced version.
    Abandoned,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 8] = [
        Reason::NoSlot,
        Reason::Narrowed,
        Reason::Merged,
        Reason::Redundant,
        Reason::Foreign,
        Reason::Refused,
        Reason::Invalid,
        Reason::Abandoned,
    ];

    /// The stable name in JSON reports and policies.
    pub const fn word(self) -> &'static str {
        match self {
            Reason::NoSlot => "no-slot",
            Reason::Narrowed => "narrowed",
            Reason::Merged => "merged",
            Reason::Redundant => "redundant",
            Reason::Foreign => "foreign",
            Reason::Refused => "refused",
            Reason::Invalid => "invalid",
            Reason::Abandoned => "abandoned",
        }
    }

    /// The reason as a phrase for people.
    pub const fn phrase(self) -> &'static str {
        match self {
            Reason::NoSlot => "the target has no field for it",
            Reason::Narrowed => "the target holds less of it",
            Reason::Merged => "several values became one",
            Reason::Redundant => "the target has it in another form",
            Reason::Foreign => "it belongs to another provider",
            Reason::Refused => "the target refuses it",
            Reason::Invalid => "the source is damaged there",
            Reason::Abandoned => "the conversation went back and left it behind",
        }
    }
}

/// The counts of one run.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Report {
    /// The framing of the input, which determines the names of places.
    pub framing: Framing,
    /// The number of frames in the input.
    pub frames: u64,
    /// The content passed to the target.
    pub content: ContentCounts,
    /// The number of subagents with items left out because the target has no place for them.
    pub agents: u64,
    /// The number of frames that were understood: neither blank nor damaged nor of a foreign shape.
    pub read: u64,
    /// The number of leaves read.
    pub leaves: u64,
    /// The number of leaves written in the target's own terms.
    pub mapped: u64,
    /// The number of leaves kept verbatim.
    pub kept: u64,
    /// The number of leaves lost.
    pub lost: u64,
    /// Kept paths, most frequent first.
    pub kept_paths: Vec<Row>,
    /// Lost paths, most frequent first.
    pub lost_paths: Vec<Row>,
    /// Emulated, repaired or guessed values, with counts.
    pub notes: Vec<(&'static str, u64)>,
    /// Problems of the input.
    pub problems: Vec<Problem>,
    /// The number of problems beyond those listed.
    pub more_problems: u64,
    /// The number of problems that are [errors](crate::error::Severity::Error).
    pub errors: u64,
    /// The number of problems that are damage: bytes that could not be read.
    pub damaged: u64,
    /// The number of source lines that a record keeps whole, beside the values read from them, because filling the
    /// holes would not restore their bytes. Each is a defect of a reader or of a log writer, but not a loss.
    pub verbatim: u64,
    /// The positions in the output at which the sessions after the first begin, if each session is a log or a document of
    /// its own. Programs read one session from a file, so an output of several sessions becomes several files there.
    pub further_sessions: Vec<u64>,
    /// The fate of each leaf, if requested with [`crate::dialects::Options::trace`].
    pub trace: Vec<Leaf>,
}

/// Counts of the content that was passed to the target and that the target supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct ContentCounts {
    /// Messages with text or media.
    pub messages: u64,
    /// Reasoning with text, or encrypted reasoning that the target supports.
    pub reasoning: u64,
    /// Tool calls.
    pub calls: u64,
    /// Tool results.
    pub results: u64,
    /// Errors of a model or a server.
    pub failures: u64,
}

impl ContentCounts {
    /// Whether all counts are zero.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One leaf, or a value claimed as a whole, with its fate.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Leaf {
    /// The number of the frame, from 1.
    pub frame: u64,
    /// The position in the frame; `None` for a loss that a writer found later.
    pub span: Option<std::ops::Range<usize>>,
    /// The number of leaves in the value.
    pub count: u64,
    /// The field the value was claimed for.
    pub field: Option<Field>,
    /// The fate of the value.
    pub fate: Fate,
}

/// The fate of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The target holds the value.
    Mapped,
    /// The target keeps the value verbatim.
    Kept,
    /// The target has no place for the value.
    Lost(Reason),
}

impl Report {
    /// The law: every leaf has exactly one fate.
    pub fn adds_up(&self) -> bool {
        self.leaves == self.mapped + self.kept + self.lost
    }

    /// Turns the report of an observer into that of a copy: every leaf arrives.
    pub(crate) fn copied(mut self) -> Self {
        (self.mapped, self.kept, self.lost) = (self.leaves, 0, 0);
        self.kept_paths.clear();
        self.lost_paths.clear();
        self
    }

    /// Whether any input was damaged.
    pub fn is_damaged(&self) -> bool {
        self.damaged > 0
    }
}

impl Report {
    /// Adds a leaf that the caller of a conversion has lost before the conversion, with a note for people.
    pub fn add_loss(&mut self, path: &str, reason: Reason, note: &'static str) {
        let (path, reason) = (path.to_owned(), Some(reason));
        let first = FramePlace::default();
        self.lost_paths.push(Row { path, reason, field: None, count: 1, bytes: 0, first });
        self.leaves += 1;
        self.lost += 1;
        self.notes.push((note, 1));
    }
}

/// One path in a report.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Row {
    /// The path, with `[]` for any index.
    pub path: String,
    /// The reason; `None` for kept paths.
    pub reason: Option<Reason>,
    /// The field of the model, if a reader claimed the value.
    pub field: Option<Field>,
    /// The number of leaves.
    pub count: u64,
    /// The size of the leaves in bytes.
    pub bytes: u64,
    /// The first frame with this path.
    pub first: FramePlace,
}
