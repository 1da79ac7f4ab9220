//! The ledger: what became of every leaf. Nothing is lost silently.
//!
//! A leaf is a scalar or an empty container. A reader claims what it understands for a [`Field`] of the model; when a
//! frame is done the pipe hands what is left to the writer as a [`Leftover`], and the writer either keeps it or gives it up
//! with a reason. What was claimed is *mapped* only if the target says that field, as the writer's table declares it
//! ([`crate::model::Says`]), and the writer did not have to give up this very value. So for every run
//! `leaves in = mapped + kept + lost`, and [`Report`] says which paths were kept and which were lost, and why.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::error::{Code, Place, Problem, Severity};
use crate::json::JsonWriter;
use crate::model::{Field, Fields, ItemId, Says, SaysTable, says_everything};
use crate::tape::{Claim, Tape, Val, Visit};

/// Stands in a kept line for a value that has a place of its own in the model.
pub const HOLE: &str = "\"~\"";

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
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 7] = [
        Reason::NoSlot,
        Reason::Narrowed,
        Reason::Merged,
        Reason::Redundant,
        Reason::Foreign,
        Reason::Refused,
        Reason::Invalid,
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
        }
    }
}

/// The counts of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Frames in the input.
    pub frames: u64,
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
    /// How many of all problems are [errors](Severity::Error).
    pub errors: u64,
    /// How many of all problems are damage: bytes that could not be read.
    pub damaged: u64,
    /// What became of each leaf, if [`crate::dialects::Options::trace`] asked for it.
    pub trace: Vec<Leaf>,
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
    /// The first frame it was seen in, from 1.
    pub first_frame: u64,
}

/// The book itself; lives in the pipe.
#[derive(Debug)]
pub struct Ledger {
    /// What the target says, and what it does not.
    says: SaysTable,
    unsaid: Fields,
    /// What it turned out not to say, beyond its table.
    given_up: Vec<(Field, Reason)>,
    frames: u64,
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
    next_item: u64,
    current: CurrentFrame,
    /// Whether the target has given back a line.
    restores: bool,
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
        Self::new(says_everything, false)
    }
}

impl Ledger {
    /// Empty books for a target that says what the table declares.
    pub fn new(says: SaysTable, trace: bool) -> Self {
        Self {
            says,
            unsaid: Fields::unsaid(says),
            given_up: Vec::new(),
            frames: 0,
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
            next_item: 0,
            current: CurrentFrame::default(),
            restores: false,
            names: Names::default(),
            trace: trace.then(Vec::new),
        }
    }

    /// A frame begins, or one that is too large goes on with its next piece.
    pub(crate) fn frame(&mut self, goes_on: bool) {
        self.frames += u64::from(!goes_on);
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
        self.frames
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
        let row = Booking { reason, field: Some(field), leaves, bytes, frame: self.frames };
        self.lost_paths.add(hash(SEED, path.as_bytes()), row, || path.to_owned());
        if let Some(trace) = &mut self.trace {
            let (frame, fate) = (self.frames, Fate::Lost(reason));
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
            let row = Booking { reason: Reason::NoSlot, field: None, leaves, bytes: 0, frame: 1 };
            self.lost_paths.add(NOTHING_HASH, row, || "(nothing was written)".to_owned());
            self.kept_paths = Paths::default();
        }
    }

    /// Something was emulated, repaired or guessed.
    pub fn note(&mut self, what: &'static str) {
        match self.notes.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.notes.push((what, 1)),
        }
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
        Place { frame: self.frames, byte, pointer }
    }

    /// The counts so far.
    pub fn report(&self) -> Report {
        Report {
            frames: self.frames,
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
    /// What stood before a frame and is no document, if that is more than space.
    pub before: &'t str,
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

impl<'t> Leftover<'t> {
    /// The spacing around the document, such as the carriage return of a foreign line end. What follows the list of a
    /// document that was cut begins with the bracket that ends the list.
    pub fn space(&self) -> (&'t str, &'t str) {
        match self.body {
            LeftoverBody::Frame(tape) => {
                let span = tape.root().span();
                let before = if self.before.is_empty() { &tape.text()[..span.start] } else { self.before };
                (before, &tape.text()[span.end..])
            }
            LeftoverBody::Kept { space, .. } => space,
            LeftoverBody::Unparsed { .. } | LeftoverBody::NoFinalNewline => ("", ""),
        }
    }

    /// Writes the line with a hole for each value that the target says elsewhere, everything else byte for byte.
    pub fn keep(self, ledger: &mut Ledger, out: &mut JsonWriter<'_>) {
        out.begin_raw();
        match self.body {
            LeftoverBody::Frame(tape) => {
                let bytes = tape.text().as_bytes();
                let std::ops::Range { start: copied, end } = tape.root().span();
                let mut line = LineWithHoles { bytes, copied, out };
                ledger.settle(self.body, None, &mut line);
                let copied = line.copied;
                out.bytes(&bytes[copied..end]);
            }
            LeftoverBody::Kept { line, .. } => {
                out.bytes(line.text().as_bytes());
                ledger.settle(self.body, None, &mut Unwatched);
            }
            LeftoverBody::Unparsed { .. } | LeftoverBody::NoFinalNewline => self.mark_kept(ledger),
        }
    }

    /// Counts everything as kept, for a target that has put it somewhere itself.
    pub fn mark_kept(self, ledger: &mut Ledger) {
        ledger.settle(self.body, None, &mut Unwatched);
    }

    /// Gives everything up for one reason.
    pub fn lose(self, ledger: &mut Ledger, reason: Reason) {
        ledger.settle(self.body, Some(reason), &mut Unwatched);
    }
}

impl Ledger {
    /// Whether the rest of the current frame has been kept or lost.
    pub(crate) fn is_settled(&self) -> bool {
        self.current.settled
    }

    /// Books every leaf, in one walk, and shows each value with its fate to the watcher: a claimed one is mapped if the
    /// target says it; any other is kept (`None`) or lost.
    fn settle(&mut self, body: LeftoverBody<'_>, reason: Option<Reason>, watcher: &mut impl Watcher) {
        let frame = self.frames;
        let root = match body {
            LeftoverBody::Frame(tape) => {
                self.current.settled = true;
                self.leaves += u64::from(tape.leaves());
                tape.root()
            }
            LeftoverBody::Kept { line, .. } => line,
            LeftoverBody::Unparsed { bytes, .. } => {
                self.current.settled = true;
                self.leaves += 1;
                let free = Booking {
                    reason: reason.unwrap_or(Reason::NoSlot),
                    field: None,
                    leaves: 1,
                    bytes: bytes.len() as u64,
                    frame,
                };
                let (paths, count) = match reason {
                    None => (&mut self.kept_paths, &mut self.kept),
                    Some(_) => (&mut self.lost_paths, &mut self.lost),
                };
                *count += 1;
                paths.add(UNPARSED_HASH, free, || "(unparsed)".to_owned());
                return;
            }
            LeftoverBody::NoFinalNewline => return,
        };
        self.names.clear();
        let mapped_before = self.mapped;
        let is_line = matches!(body, LeftoverBody::Kept { .. });
        let unclaimed = reason.map_or(Fate::Kept, Fate::Lost);
        let mut settle = Settle { root, ledger: self, unclaimed, is_line, structure: 0, watcher };
        root.walk(&mut settle);
        let structure = settle.structure;
        if let LeftoverBody::Kept { line, .. } = body {
            self.current.holes += structure;
            return line.claim(Claim::Placed);
        }
        let holes = std::mem::take(&mut self.current.holes);
        // A tag says what the values beside it are, a hole that one of them has another place. Where the target says
        // none of them, it says neither; unless it gives lines back, for then it says all that they were read as.
        if structure + holes == 0 || self.mapped > mapped_before || self.restores {
            self.mapped += holes;
            if self.trace.is_some() {
                self.names.clear();
                root.walk(&mut Tags { root, ledger: self, fate: Fate::Mapped });
            } else {
                self.mapped += structure;
            }
            return;
        }
        let (fate, why) = reason.map_or((Fate::Kept, Reason::NoSlot), |why| (Fate::Lost(why), why));
        self.names.clear();
        root.walk(&mut Tags { root, ledger: self, fate });
        if holes > 0 {
            let row = Booking {
                reason: why,
                field: Some(Field::Structure),
                leaves: holes,
                bytes: holes * 3,
                frame,
            };
            let (paths, count) = match reason {
                None => (&mut self.kept_paths, &mut self.kept),
                Some(_) => (&mut self.lost_paths, &mut self.lost),
            };
            *count += holes;
            paths.add(HOLES_HASH, row, || "(holes of a kept line)".to_owned());
        }
    }

    /// Books one value.
    #[inline]
    fn book(&mut self, fate: Fate, field: Option<Field>, name: Option<Val<'_>>, val: Val<'_>, root: Val<'_>) {
        let leaves = u64::from(val.leaves());
        if self.trace.is_some() {
            self.trace_leaf(Leaf { frame: self.frames, span: Some(val.span()), count: leaves, field, fate });
        }
        let (paths, count, reason) = match fate {
            Fate::Mapped => {
                self.mapped += leaves;
                return;
            }
            Fate::Kept => (&mut self.kept_paths, &mut self.kept, Reason::NoSlot),
            Fate::Lost(reason) => (&mut self.lost_paths, &mut self.lost, reason),
        };
        *count += leaves;
        let row = Booking { reason, field, leaves, bytes: val.span().len() as u64, frame: self.frames };
        let (names, key) = (&self.names, self.names.hash_of(name));
        paths.add(key, row, || names.text_of(root, name));
    }

    #[cold]
    fn trace_leaf(&mut self, leaf: Leaf) {
        if let Some(trace) = &mut self.trace {
            trace.push(leaf);
        }
    }

    /// Why a claimed value was not said, if it was not: the writer gave it up, or its table does not have the field.
    #[cold]
    fn unsaid(&self, field: Field, given_up: Option<Reason>) -> Option<Reason> {
        let of_table = match (self.says)(field) {
            Says::No(reason) => Some(reason),
            Says::Exactly | Says::Emulated(_) | Says::Less(_) => {
                self.given_up.iter().find(|(known, _)| *known == field).map(|(_, reason)| *reason)
            }
        };
        given_up.or(of_table).filter(|_| !self.current.restored)
    }
}

/// Whom [`Ledger::settle`] shows each value and its fate.
trait Watcher {
    fn value(&mut self, val: Val<'_>, claim: Claim, fate: Fate);
}

/// Nobody looks.
struct Unwatched;

impl Watcher for Unwatched {
    fn value(&mut self, _: Val<'_>, _: Claim, _: Fate) {}
}

/// A line that is being written with its holes.
struct LineWithHoles<'l, 'e> {
    bytes: &'l [u8],
    /// Where in the line what has been written ends.
    copied: usize,
    out: &'l mut JsonWriter<'e>,
}

impl Watcher for LineWithHoles<'_, '_> {
    #[expect(
        clippy::inline_always,
        reason = "the hot path to a record: out of line it costs a call for each leaf"
    )]
    #[inline(always)]
    fn value(&mut self, val: Val<'_>, claim: Claim, fate: Fate) {
        match (claim, fate) {
            // Only what the target says has a hole: no hole is without a value that fills it.
            (Claim::Taken(_), Fate::Mapped) => {
                let span = val.span();
                self.out.bytes(&self.bytes[self.copied..span.start]);
                self.out.bytes(HOLE.as_bytes());
                self.copied = span.end;
            }
            // A genuine string of tildes gets one more, so that it is no hole.
            (Claim::Free | Claim::Taken(_) | Claim::Noted(_) | Claim::Placed, _) => {
                for tildes in val.strings().filter(|string| is_tildes(*string)) {
                    let quote = tildes.span().end - 1;
                    self.out.bytes(&self.bytes[self.copied..quote]);
                    self.out.bytes(b"~");
                    self.copied = quote;
                }
            }
        }
    }
}

/// Settles one value after the other.
struct Settle<'l, 't, W> {
    root: Val<'t>,
    ledger: &'l mut Ledger,
    /// What becomes of values that nobody claimed.
    unclaimed: Fate,
    /// Whether this is a kept line, in which a hole stands for a value that is booked elsewhere.
    is_line: bool,
    /// Leaves of tags (or holes), whose fate is that of the others.
    structure: u64,
    watcher: &'l mut W,
}

impl<'t, W: Watcher> Visit<'t> for Settle<'_, 't, W> {
    #[inline]
    fn enter(&mut self, name: Option<Val<'t>>) {
        self.ledger.names.enter(name);
    }

    #[inline]
    fn value(&mut self, name: Option<Val<'t>>, val: Val<'t>, claim: Claim, given_up: Option<Reason>) {
        let field = claim.field();
        let fate = match field {
            None if self.is_line && is_hole(val) => {
                self.structure += 1;
                return;
            }
            None => self.unclaimed,
            Some(field) if given_up.is_none() && !self.ledger.unsaid.has(field) => Fate::Mapped,
            Some(field) => match (self.ledger.unsaid(field, given_up), self.unclaimed) {
                (None, _) => Fate::Mapped,
                // A target that keeps the line still has it there.
                (Some(_), Fate::Kept) => Fate::Kept,
                (Some(reason), Fate::Mapped | Fate::Lost(_)) => Fate::Lost(reason),
            },
        };
        self.watcher.value(val, claim, fate);
        match fate {
            Fate::Mapped if field == Some(Field::Structure) => self.structure += u64::from(val.leaves()),
            Fate::Mapped if self.ledger.trace.is_none() => self.ledger.mapped += u64::from(val.leaves()),
            Fate::Kept | Fate::Lost(_) if claim == Claim::Placed => {}
            Fate::Mapped | Fate::Kept | Fate::Lost(_) => {
                self.ledger.book(fate, field, name, val, self.root);
            }
        }
    }

    #[inline]
    fn leave(&mut self) {
        self.ledger.names.leave();
    }
}

/// Books the tags of a frame of which nothing was said.
struct Tags<'l, 't> {
    root: Val<'t>,
    ledger: &'l mut Ledger,
    fate: Fate,
}

impl<'t> Visit<'t> for Tags<'_, 't> {
    fn enter(&mut self, name: Option<Val<'t>>) {
        self.ledger.names.enter(name);
    }

    fn value(&mut self, name: Option<Val<'t>>, val: Val<'t>, claim: Claim, unsaid: Option<Reason>) {
        if let (Claim::Taken(Field::Structure) | Claim::Noted(Field::Structure), None) = (claim, unsaid) {
            self.ledger.book(self.fate, Some(Field::Structure), name, val, self.root);
        }
    }

    fn leave(&mut self) {
        self.ledger.names.leave();
    }
}

/// The names of the containers we are in: where each stands in the frame, and the hash of the path so far.
#[derive(Debug, Default)]
struct Names(Vec<(std::ops::Range<usize>, u64)>);

impl Names {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn enter(&mut self, name: Option<Val<'_>>) {
        let hash = self.hash_of(name);
        self.0.push((name.map_or(0..0, |key| key.span()), hash));
    }

    fn leave(&mut self) {
        self.0.pop();
    }

    #[inline]
    fn hash_of(&self, name: Option<Val<'_>>) -> u64 {
        let so_far = self.0.last().map_or(SEED, |&(_, hash)| hash);
        match name {
            Some(key) => hash(so_far, key.text().as_bytes()),
            // An array's element has no name.
            None => so_far.rotate_left(5) ^ 0x9e37_79b9,
        }
    }

    /// The path for people, built once per distinct path.
    fn text_of(&self, root: Val<'_>, last: Option<Val<'_>>) -> String {
        let frame = root.frame_text();
        let mut text = String::new();
        // The document itself is the first container and has no name.
        let spans = self.0.iter().skip(1).map(|(span, _)| span.clone());
        for span in spans.chain([last.map_or(0..0, |key| key.span())]) {
            if span.is_empty() {
                text.push_str("[]");
            } else {
                text.push('/');
                text.push_str(&frame[span.start + 1..span.end - 1]);
            }
        }
        text
    }
}

/// What is added to a row.
#[derive(Clone, Copy)]
struct Booking {
    reason: Reason,
    field: Option<Field>,
    leaves: u64,
    bytes: u64,
    frame: u64,
}

/// Paths with their counts. Bounded: past [`Paths::MOST`] distinct ones the rest is counted together.
#[derive(Debug, Default)]
struct Paths {
    rows: HashMap<u64, Row, BuildHasherDefault<Identity>>,
}

impl Paths {
    const MOST: usize = 4096;

    #[inline]
    fn add(&mut self, key: u64, row: Booking, path: impl FnOnce() -> String) {
        let key = key ^ row.reason as u64 ^ row.field.map_or(0, |field| u64::from(field as u8 + 1) << 8);
        // Nearly every path has been seen before.
        if let Some(known) = self.rows.get_mut(&key) {
            known.count += row.leaves;
            known.bytes += row.bytes;
        } else {
            self.add_row(key, row, path());
        }
    }

    #[cold]
    fn add_row(&mut self, mut key: u64, row: Booking, mut path: String) {
        let Booking { reason, field, leaves, bytes, frame } = row;
        if self.rows.len() >= Self::MOST {
            (key, path) = (reason as u64, "(other paths)".to_owned());
        }
        let new = Row { path, reason: Some(reason), field, count: 0, bytes: 0, first_frame: frame };
        let row = self.rows.entry(key).or_insert(new);
        row.count += leaves;
        row.bytes += bytes;
    }

    /// Takes rows out; returns how many leaves they counted.
    fn remove_all(&mut self, mut which: impl FnMut(&Row) -> bool) -> u64 {
        let mut leaves = 0;
        self.rows.retain(|_, row| {
            let gone = which(row);
            leaves += if gone { row.count } else { 0 };
            !gone
        });
        leaves
    }

    fn rows(&self, with_reason: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.values().cloned().collect();
        if !with_reason {
            for row in &mut rows {
                row.reason = None;
            }
        }
        rows.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)).then(a.reason.cmp(&b.reason))
        });
        rows
    }
}

/// Keys are hashes already.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(self.0, bytes);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;
const UNPARSED_HASH: u64 = 1;
const NOTHING_HASH: u64 = 2 << 32;
const HOLES_HASH: u64 = 3 << 32;

/// A fast hash for short names. Two paths with the same hash would share a row in the report, nothing more.
#[inline]
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| (state ^ word).wrapping_mul(K).rotate_left(29);
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(K);
    // The last word overlaps the one before it, so that no length needs a loop over bytes.
    if let Some(last) = bytes.last_chunk::<8>() {
        let mut rest = bytes;
        while let Some((word, tail)) = rest.split_first_chunk::<8>() {
            state = mix(state, u64::from_le_bytes(*word));
            rest = tail;
        }
        mix(state, u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        mix(state, u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)))
    } else {
        bytes.iter().fold(state, |state, &byte| mix(state, u64::from(byte)))
    }
}

/// Whether a kept value is a hole.
#[inline]
pub fn is_hole(val: Val<'_>) -> bool {
    val.span().len() == HOLE.len() && val.text() == HOLE
}

/// Whether a string is nothing but tildes.
#[inline]
fn is_tildes(val: Val<'_>) -> bool {
    let text = val.text().as_bytes();
    text.get(1) == Some(&b'~') && text[1..text.len() - 1].iter().all(|&byte| byte == b'~')
}
