//! The ledger: what became of every leaf. Nothing is lost silently.
//!
//! A leaf is a scalar or an empty container. A reader claims what it understands for a [`Field`] of the model; when a
//! frame is done the pipe hands what is left to the writer as a [`Leftover`], and the writer either keeps it or gives it up
//! with a reason. What was claimed is *mapped* only if the target says that field, as the writer's table declares it
//! ([`crate::model::Says`]), and the writer did not have to give up this very value. So for every run
//! `leaves in = mapped + kept + lost`, and [`Report`] says which paths were kept and which were lost, and why.

mod content;
mod digest;
mod names;
mod paths;
mod policy;
mod report;
mod settle;

use crate::error::{Code, Place, Problem, Severity};
use crate::framing::{FrameKind, FramePlace, Framing};
use crate::model::{Event, Field, Fields, ItemHead, ItemId, SaysTable, says_everything};
use crate::tape::{Tape, Val};
use content::ContentCounter;
pub(crate) use digest::{TextDigest, TextKey, text_key};
use names::Names;
use paths::{Booking, PathNumber, Paths};
pub(crate) use paths::{Identity, hash};
pub use policy::{LossPolicy, LossRule, PolicyError};
pub use report::{ContentCounts, Fate, Leaf, Reason, Report, Row};
pub use settle::{LineHoles, is_hole};
pub(crate) use settle::{LineValue, LineValueSort, write_whole};

/// Stands in a kept line for a value that has a place of its own in the model.
pub const HOLE: &str = "\"~\"";

/// The book itself; lives in the pipe.
#[derive(Debug)]
pub struct Ledger {
    /// What the target says, and what it does not.
    says: SaysTable,
    unsaid: Fields,
    /// What it turned out not to say, beyond its table.
    given_up: Vec<(Field, Reason)>,
    framing: Framing,
    /// The frame being read.
    frame: FramePlace,
    content: ContentCounter,
    read: u64,
    leaves: u64,
    mapped: u64,
    /// Leaves among them that turned out to be lost.
    late: u64,
    kept: u64,
    lost: u64,
    kept_paths: Paths,
    lost_paths: Paths,
    notes: Vec<(&'static str, u64)>,
    problems: Vec<Problem>,
    more_problems: u64,
    errors: u64,
    damaged: u64,
    verbatim: u64,
    next_item: u64,
    current: CurrentFrame,
    /// Whether the target has given back a line.
    restores: bool,
    /// The books of a rehearsal have no rows: no report is made from them.
    rehearsal: bool,
    names: Names,
    trace: Option<Vec<Leaf>>,
}

/// What is known of the frame being read, or of a piece of one.
#[derive(Debug, Default)]
struct CurrentFrame {
    /// Its rest has been kept or lost.
    settled: bool,
    /// It has turned out to be of a foreign shape.
    foreign: bool,
    /// The target has given back the very line that it was made from.
    restored: bool,
    /// Holes in the kept lines in it.
    holes: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new(says_everything, Framing::Whole, false)
    }
}

impl Ledger {
    /// Empty books for a source that is cut like this and a target that says what the table declares.
    pub fn new(says: SaysTable, framing: Framing, trace: bool) -> Self {
        Self {
            says,
            unsaid: Fields::unsaid(says),
            given_up: Vec::new(),
            framing,
            frame: FramePlace::default(),
            content: ContentCounter::default(),
            read: 0,
            leaves: 0,
            mapped: 0,
            late: 0,
            kept: 0,
            lost: 0,
            kept_paths: Paths::default(),
            lost_paths: Paths::default(),
            notes: Vec::new(),
            problems: Vec::new(),
            more_problems: 0,
            errors: 0,
            damaged: 0,
            verbatim: 0,
            next_item: 0,
            current: CurrentFrame::default(),
            restores: false,
            rehearsal: false,
            names: Names::default(),
            trace: trace.then(Vec::new),
        }
    }

    /// A ledger for a rehearsal: it settles frames without a row for any path.
    pub(crate) fn rehearsal() -> Self {
        Self { rehearsal: true, ..Self::default() }
    }

    /// A frame begins, or one that is too large goes on with its next piece.
    pub(crate) fn frame(&mut self, kind: FrameKind<'_>, goes_on: bool) {
        if !goes_on {
            self.frame = self.frame.next(kind);
        }
        self.current = CurrentFrame::default();
    }

    /// The target gives back the very line that the current frame was made from: it says everything that was read.
    pub(crate) fn frame_restored(&mut self) {
        self.current.restored = true;
        if std::mem::replace(&mut self.restores, true) {
            return;
        }
        // Tags of frames before this one, such as the head of a record, were said by nobody. Now they are.
        let tags = self.lost_paths.remove_all(|row| row.field == Some(Field::Structure));
        self.lost -= tags;
        self.mapped += tags;
        for leaf in self.trace.iter_mut().flatten().filter(|leaf| leaf.field == Some(Field::Structure)) {
            leaf.fate = Fate::Mapped;
        }
    }

    /// The frame was understood, unless its reader has said otherwise.
    pub(crate) fn frame_read(&mut self) {
        self.read += u64::from(!self.current.foreign);
    }

    /// The number of the frame being read.
    pub fn frame_number(&self) -> u64 {
        self.frame.number
    }

    /// What people call it.
    pub(crate) fn frame_name(&self) -> String {
        self.frame.name(self.framing)
    }

    /// The target has no place for this item.
    #[cold]
    pub(crate) fn left_out(&mut self, head: &ItemHead<'_>) {
        self.content.left_out(head);
    }

    /// The target is told this.
    #[inline]
    pub(crate) fn told(&mut self, event: &Event<'_>) {
        self.content.told(event, &self.unsaid, self.says);
    }

    /// A fresh item number.
    pub fn next_item(&mut self) -> ItemId {
        self.next_item += 1;
        ItemId(self.next_item)
    }

    /// From now on the target says nothing of that field, whatever its table hoped.
    pub(crate) fn cannot_say(&mut self, field: Field, reason: Reason) {
        if !self.unsaid.has(field) {
            self.unsaid.add(field);
            self.given_up.push((field, reason));
        }
    }

    /// Leaves of an earlier frame that were mapped, and now the target cannot say them after all.
    pub(crate) fn lose_late(&mut self, field: Field, reason: Reason, leaves: u64, bytes: u64) {
        // What the target never says is lost when its frame ends.
        if self.unsaid.has(field) {
            return;
        }
        self.late += leaves;
        let path = field.word();
        // Where it stood is not known any more, and this frame is another.
        let row = Booking { reason, field: Some(field), leaves, bytes, frame: FramePlace::default() };
        self.lost_paths.add(PathNumber::of_field(field), row, || path.to_owned());
        if let Some(trace) = &mut self.trace {
            let (frame, fate) = (self.frame.number, Fate::Lost(reason));
            trace.push(Leaf { frame, span: None, count: leaves, field: Some(field), fate });
        }
    }

    /// Not a byte was written: whatever the table says, nothing was said.
    pub(crate) fn nothing_written(&mut self) {
        let late = std::mem::take(&mut self.late).min(self.mapped);
        self.lost += late;
        let leaves = std::mem::take(&mut self.mapped) - late + std::mem::take(&mut self.kept);
        if leaves > 0 {
            self.lost += leaves;
            let frame = FramePlace::default();
            let row = Booking { reason: Reason::NoSlot, field: None, leaves, bytes: 0, frame };
            self.lost_paths.add(PathNumber::NOTHING, row, || "(nothing was written)".to_owned());
            self.kept_paths = Paths::default();
            self.content = ContentCounter::default();
        }
    }

    /// Something was emulated, repaired or guessed.
    pub fn note(&mut self, what: &'static str) {
        match self.notes.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.notes.push((what, 1)),
        }
    }

    /// A line is kept whole because filling its holes would not give its bytes back.
    pub(crate) fn kept_verbatim(&mut self) {
        self.verbatim += 1;
        self.note("source lines kept whole beside the values read from them");
    }

    /// Something is wrong with the input. The first hundred are kept.
    pub fn problem(&mut self, problem: Problem) {
        self.current.foreign |= problem.code == Code::UnknownShape;
        self.errors += u64::from(problem.code.severity() == Severity::Error);
        self.damaged += u64::from(problem.is_damage());
        if self.problems.len() < 100 {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }

    /// The place of `pointer` in the current frame.
    pub fn place(&self, byte: Option<usize>, pointer: Option<String>) -> Place {
        Place { frame: self.frame, byte, pointer }
    }

    /// The counts so far.
    pub fn report(&self) -> Report {
        Report {
            framing: self.framing,
            frames: self.frame.number,
            content: self.content.counts,
            agents: self.content.agents(),
            read: self.read,
            leaves: self.leaves,
            mapped: self.mapped - self.late.min(self.mapped),
            kept: self.kept,
            lost: self.lost + self.late.min(self.mapped),
            kept_paths: self.kept_paths.rows(false),
            lost_paths: self.lost_paths.rows(true),
            notes: self.notes.clone(),
            problems: self.problems.clone(),
            more_problems: self.more_problems,
            errors: self.errors,
            damaged: self.damaged,
            verbatim: self.verbatim,
            trace: self.trace.clone().unwrap_or_default(),
        }
    }
}

/// What nobody claimed. A writer keeps it or loses it; one that does neither has lost it.
#[derive(Debug)]
pub struct Leftover<'t> {
    /// The dialect whose words these are.
    pub owner: &'t str,
    /// What there is.
    pub body: LeftoverBody<'t>,
    /// What stands before and after a frame, if that is more than its own space.
    pub around: (&'t str, &'t str),
}

/// What there is to keep.
#[derive(Clone, Copy, Debug)]
pub enum LeftoverBody<'t> {
    /// The frame just read; what its reader took is no longer in it.
    Frame(&'t Tape<'t>),
    /// A line that another dialect kept earlier, with holes where the model has the values.
    Kept {
        /// The line.
        line: Val<'t>,
        /// The spacing that stood before and after it.
        space: (&'t str, &'t str),
    },
    /// A frame, or a piece of one, that is not a document we read. Counts as one leaf.
    Unparsed {
        /// Its bytes.
        bytes: &'t [u8],
        /// What is wrong with it: a code's name, or `blank`, `bom`.
        why: &'static str,
        /// The frame goes on in the next piece.
        more: bool,
    },
    /// The source does not end with a newline. No leaf, but needed to give the same bytes back.
    NoFinalNewline,
}
