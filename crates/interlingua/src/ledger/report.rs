//! What a run is told in: the counts, the paths that were kept or lost, and why. Plain data for whoever prints it; it
//! books nothing itself.

use crate::error::Problem;
use crate::framing::{FramePlace, Framing};
use crate::model::Field;

/// Why something was lost on the way to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The target has no place for it.
    NoSlot,
    /// The target says something close, but less.
    Narrowed,
    /// Several things became one.
    Merged,
    /// The target says it another way already.
    Redundant,
    /// It belongs to another provider and must not be sent on.
    Foreign,
    /// The target would refuse it.
    Refused,
    /// The source itself is damaged there.
    Invalid,
    /// The source itself gave it up: a turn that was rewound, a branch that was left, a version that was replaced.
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

    /// The word in reports.
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
}

/// The counts of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How the input was cut: places have their names from it.
    pub framing: Framing,
    /// Frames in the input.
    pub frames: u64,
    /// What the target was told.
    pub content: ContentCounts,
    /// Subagents of which items were left out because the target has no place for them.
    pub agents: u64,
    /// Frames that were understood: neither blank nor damaged nor of a foreign shape.
    pub read: u64,
    /// Leaves read.
    pub leaves: u64,
    /// Leaves expressed in the target's own terms.
    pub mapped: u64,
    /// Leaves carried along verbatim.
    pub kept: u64,
    /// Leaves that found no place.
    pub lost: u64,
    /// Kept paths, most frequent first.
    pub kept_paths: Vec<Row>,
    /// Lost paths, most frequent first.
    pub lost_paths: Vec<Row>,
    /// What was emulated, repaired or guessed, with counts.
    pub notes: Vec<(&'static str, u64)>,
    /// What is wrong with the input.
    pub problems: Vec<Problem>,
    /// Problems beyond those listed.
    pub more_problems: u64,
    /// How many of all problems are [errors](crate::error::Severity::Error).
    pub errors: u64,
    /// How many of all problems are damage: bytes that could not be read.
    pub damaged: u64,
    /// Source lines that a record keeps whole, beside the values read from them: filling the holes of such a line would
    /// not have given its bytes back. Each is a defect of a reader or of a log writer, and no loss.
    pub verbatim: u64,
    /// What became of each leaf, if [`crate::dialects::Options::trace`] asked for it.
    pub trace: Vec<Leaf>,
}

/// What the target was told, and can say: of a conversation, or of its failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentCounts {
    /// Messages with words or media.
    pub messages: u64,
    /// Reasoning with words, or hidden where the target says it.
    pub reasoning: u64,
    /// Calls of tools.
    pub calls: u64,
    /// Their results.
    pub results: u64,
    /// Errors of a model or a server.
    pub failures: u64,
}

impl ContentCounts {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One leaf, or a value that was claimed as a whole, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The frame, from 1.
    pub frame: u64,
    /// Where in the frame; `None` for a loss that a writer found only later.
    pub span: Option<std::ops::Range<usize>>,
    /// Leaves in it.
    pub count: u64,
    /// The field it was claimed for.
    pub field: Option<Field>,
    /// Its fate.
    pub fate: Fate,
}

/// What became of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The target says it.
    Mapped,
    /// The target carries it along verbatim.
    Kept,
    /// It found no place.
    Lost(Reason),
}

impl Report {
    /// The law: every leaf has exactly one fate.
    pub fn adds_up(&self) -> bool {
        self.leaves == self.mapped + self.kept + self.lost
    }

    /// Whether anything could not be read as what it claims to be.
    pub fn is_damaged(&self) -> bool {
        self.damaged > 0
    }
}

/// One path in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where, with `[]` for any index.
    pub path: String,
    /// Why; `None` for kept paths.
    pub reason: Option<Reason>,
    /// What it would have been in the model, if someone understood it.
    pub field: Option<Field>,
    /// Leaves.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// The first frame it was seen in.
    pub first: FramePlace,
}
