//! The ledger: the fate of every leaf. Nothing is lost silently.
//!
//! A leaf is a scalar or an empty container. A reader claims leaves for a [`Field`] of the model. When a frame is done,
//! the pipe passes the unclaimed leaves to the writer as a [`Leftover`], and the writer either keeps them or books them
//! as lost with a reason. A claimed leaf is *mapped* only if the target supports the field according to the writer's
//! table ([`crate::model::Support`]), and the writer did not book this value as lost. So every run satisfies the equation
//! `leaves in = mapped + kept + lost`. A [`Report`] lists the kept paths, and the lost paths with their reasons.

mod content;
mod digest;
mod names;
mod paths;
mod policy;
mod report;
mod settle;
mod settlement;

use crate::error::{Code, Place, Problem, Severity};
use crate::framing::{FrameKind, FramePlace, Framing};
use crate::model::{Event, Field, Fields, ItemHead, ItemId, SupportTable, supports_everything};
use crate::pipe::NamedSources;
use crate::tape::{Tape, Val};
use content::ContentCounter;
pub(crate) use digest::{TextDigest, TextKey, text_key};
use names::Names;
use paths::{Booking, PathNumber, Paths};
pub(crate) use paths::{Identity, hash};
pub use policy::{LossPolicy, LossRule, PolicyError};
pub use report::{ContentCounts, Fate, Leaf, Reason, Report, Row};
pub use settle::{LineHoles, is_hole};
pub(crate) use settle::{LineValue, LineValueSort, count_tildes, write_whole};
pub(crate) use settlement::Settlement;

/// The placeholder in a kept line for a value that has a field in the model.
pub const HOLE: &str = "\"~\"";

/// The ledger of one run; owned by the pipe.
#[derive(Debug)]
pub struct Ledger {
    /// The target's support table, and the fields without support.
    support: SupportTable,
    unsaid: Fields,
    /// Fields that the target turned out not to support, beyond its table.
    given_up: Vec<(Field, Reason)>,
    framing: Framing,
    /// The current frame.
    frame: FramePlace,
    content: ContentCounter,
    read: u64,
    leaves: u64,
    mapped: u64,
    /// Leaves counted as mapped that were booked as lost later.
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
    further_sessions: Vec<u64>,
    next_item: u64,
    current: CurrentFrame,
    /// Whether the target has restored a kept line.
    restores: bool,
    /// The ledger of a rehearsal has no rows: no report is made from it.
    rehearsal: bool,
    names: Names,
    trace: Option<Vec<Leaf>>,
    /// The sources that the records of the input name.
    pub(crate) sources: NamedSources,
}

/// The state of the current frame, or of the current piece of a frame.
#[derive(Debug, Default)]
struct CurrentFrame {
    /// The unclaimed leaves of the frame have been kept or lost.
    settled: bool,
    /// The frame has a foreign shape.
    foreign: bool,
    /// The target has restored the line that the frame was made from.
    restored: bool,
    /// The number of holes in the frame's kept lines.
    holes: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new(supports_everything, Framing::Whole, false)
    }
}

impl Ledger {
    /// An empty ledger for a source with this framing and a target with this support table.
    pub fn new(support: SupportTable, framing: Framing, trace: bool) -> Self {
        Self {
            support,
            unsaid: Fields::unsaid(support),
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
            further_sessions: Vec::new(),
            next_item: 0,
            current: CurrentFrame::default(),
            restores: false,
            rehearsal: false,
            names: Names::default(),
            trace: trace.then(Vec::new),
            sources: NamedSources::default(),
        }
    }

    /// A ledger for a rehearsal: it settles frames without a row for any path.
    pub(crate) fn rehearsal() -> Self {
        Self { rehearsal: true, ..Self::default() }
    }

    /// Starts a frame, or continues an oversized frame with its next piece.
    pub(crate) fn frame(&mut self, kind: FrameKind<'_>, goes_on: bool) {
        if !goes_on {
            self.frame = self.frame.next(kind);
        }
        self.current = CurrentFrame::default();
    }

    /// Records that the target restores the line that the current frame was made from, so every value read from it is
    /// written.
    pub(crate) fn frame_restored(&mut self) {
        self.current.restored = true;
        if std::mem::replace(&mut self.restores, true) {
            return;
        }
        // Tags of earlier frames, such as the head of a record, were booked as lost. Now they are mapped.
        let tags = self.lost_paths.remove_all(|row| row.field == Some(Field::Structure));
        self.lost -= tags;
        self.mapped += tags;
        for leaf in self.trace.iter_mut().flatten().filter(|leaf| leaf.field == Some(Field::Structure)) {
            leaf.fate = Fate::Mapped;
        }
    }

    /// Counts the frame as read, unless its reader reported a foreign shape.
    pub(crate) fn frame_read(&mut self) {
        self.read += u64::from(!self.current.foreign);
    }

    /// The number of the current frame.
    pub fn frame_number(&self) -> u64 {
        self.frame.number
    }

    /// The name of the current frame for people.
    pub(crate) fn frame_name(&self) -> String {
        self.frame.name(self.framing)
    }

    /// Counts an item that the target has no place for.
    #[cold]
    pub(crate) fn left_out(&mut self, head: &ItemHead<'_>) {
        self.content.left_out(head);
    }

    /// Counts an event passed to the target.
    #[inline]
    pub(crate) fn told(&mut self, event: &Event<'_>) {
        self.content.told(event, &self.unsaid, self.support);
    }

    /// A new item number.
    pub fn next_item(&mut self) -> ItemId {
        self.next_item += 1;
        ItemId(self.next_item)
    }

    /// Marks a field as unsupported from now on, regardless of the support table.
    pub(crate) fn cannot_say(&mut self, field: Field, reason: Reason) {
        if !self.unsaid.has(field) {
            self.unsaid.add(field);
            self.given_up.push((field, reason));
        }
    }

    /// Books mapped leaves of an earlier frame as lost, because the target could not write them after all.
    pub(crate) fn lose_late(&mut self, field: Field, reason: Reason, leaves: u64, bytes: u64) {
        // Leaves of unsupported fields are booked as lost at the end of their frame.
        if self.unsaid.has(field) {
            return;
        }
        self.late += leaves;
        let path = field.word();
        // The original place is no longer known, and the current frame is a different one.
        let row = Booking { reason, field: Some(field), leaves, bytes, frame: FramePlace::default() };
        self.lost_paths.add(PathNumber::of_field(field), row, || path.to_owned());
        if let Some(trace) = &mut self.trace {
            let (frame, fate) = (self.frame.number, Fate::Lost(reason));
            trace.push(Leaf { frame, span: None, count: leaves, field: Some(field), fate });
        }
    }

    /// Books all leaves as lost because the output is empty, regardless of the support table.
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

    /// Adds a remark about an emulated, repaired or guessed value.
    pub fn note(&mut self, what: &'static str) {
        match self.notes.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.notes.push((what, 1)),
        }
    }

    /// Counts a line that is kept whole because filling its holes would not restore its bytes.
    pub(crate) fn kept_verbatim(&mut self) {
        self.verbatim += 1;
        self.note("source lines kept whole beside the values read from them");
    }

    /// Adds the position in the output at which a further session begins.
    pub(crate) fn further_session(&mut self, position: u64) {
        self.further_sessions.push(position);
    }

    /// Adds a problem of the input. The first hundred problems are kept.
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
            further_sessions: self.further_sessions.clone(),
            trace: self.trace.clone().unwrap_or_default(),
        }
    }
}

/// Unclaimed input. A writer keeps or loses it; without either, it counts as lost.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Leftover<'t> {
    /// The dialect of the leftover.
    pub owner: &'t str,
    /// The leftover itself.
    pub body: LeftoverBody<'t>,
    /// The bytes before and after a frame, if they are more than its own whitespace.
    pub around: (&'t str, &'t str),
}

/// The content of a leftover.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum LeftoverBody<'t> {
    /// The frame just read; its reader's claims are marked in the tape.
    Frame(&'t Tape<'t>),
    /// A line that an earlier conversion from another dialect kept, with holes for the values in the model.
    Kept {
        /// The kept line.
        line: Val<'t>,
        /// The whitespace before and after the line.
        space: (&'t str, &'t str),
    },
    /// A frame, or a piece of a frame, that is not a readable document. Counts as one leaf.
    Unparsed {
        /// The bytes.
        bytes: &'t [u8],
        /// The problem: the name of a code, or `blank`, `bom`.
        why: &'static str,
        /// The frame continues in the next piece.
        more: bool,
    },
    /// The source does not end with a newline. Not a leaf, but needed to restore the exact bytes.
    NoFinalNewline,
}
