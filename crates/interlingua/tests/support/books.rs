//! Shared code of the ledger laws: the leaves of a case with their positions, the fate of each leaf, the
//! size-independent content of a report, and breaches with their excuses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use interlingua::dialects::{Dialect, Plane, Role};
use interlingua::error::Code;
use interlingua::ledger::{Fate, Reason, Report, Row};
use interlingua::model::{Field, Support};
use interlingua::tape::{Claim, Kind};

use super::watch::{Look, SeenFrame, Story, watch};
use super::{Case, Way, all_targets, asked_for};

/// A case with its leaves.
pub struct Source<'c> {
    pub case: &'c Case,
    pub leaves: Vec<SourceLeaf>,
    /// Leaves in parsed frames, whether or not the frames are literally in the source.
    pub read: u64,
    /// The events of the source.
    pub story: Arc<Story>,
}

/// A leaf and its positions.
#[derive(Clone, Debug)]
pub struct SourceLeaf {
    /// The number of its frame in the ledger.
    pub frame: u64,
    /// The position in the frame.
    pub span: Range<usize>,
    /// The position in the source.
    pub at: Range<usize>,
    /// The path, with `[]` for any index.
    pub path: String,
    pub kind: Kind,
    pub claim: Claim,
}

impl<'c> Source<'c> {
    pub fn of(case: &'c Case) -> Self {
        let (seen, report) = watch(case.way, &case.bytes, Look::Leaves);
        let story = Arc::new(Story::of(&seen, &report));
        let read = seen.frames.iter().map(|frame| frame.leaves.len() as u64).sum();
        let mut leaves = place(&case.bytes, seen.frames);
        // A change of padding need not be visible.
        leaves.retain(|leaf| leaf.claim.field() != Some(Field::Padding));
        Self { case, leaves, read, story }
    }

    /// The text of a leaf.
    pub fn text(&self, leaf: &SourceLeaf) -> &str {
        std::str::from_utf8(&self.case.bytes[leaf.at.clone()]).expect("a frame that was read is UTF-8")
    }

    /// The source with the value of a leaf replaced.
    pub fn with(&self, leaf: &SourceLeaf, value: &str) -> Vec<u8> {
        self.with_all(&[(leaf, value)])
    }

    /// The same as three slices.
    pub fn around<'b>(&'b self, leaf: &SourceLeaf, value: &'b str) -> [&'b [u8]; 3] {
        let bytes = &self.case.bytes;
        [&bytes[..leaf.at.start], value.as_bytes(), &bytes[leaf.at.end..]]
    }

    /// The source with the values of several leaves, given in order, replaced.
    pub fn with_all(&self, changes: &[(&SourceLeaf, &str)]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.case.bytes.len() + 64 * changes.len());
        let mut copied = 0;
        for (leaf, value) in changes {
            bytes.extend_from_slice(&self.case.bytes[copied..leaf.at.start]);
            bytes.extend_from_slice(value.as_bytes());
            copied = leaf.at.end;
        }
        bytes.extend_from_slice(&self.case.bytes[copied..]);
        bytes
    }
}

/// Finds the positions of leaves in the source. The head and tail of a document cut into elements are not literally in
/// the source: only their leaves before and after the array are found.
fn place(bytes: &[u8], frames: Vec<SeenFrame>) -> Vec<SourceLeaf> {
    let mut leaves = Vec::new();
    let mut from = 0;
    for SeenFrame { number, text, leaves: seen } in frames {
        let frame = text.as_bytes();
        // The offset from frame positions to source positions, and the frame positions it is valid for.
        let (start, right) = if let Some(at) = find(&bytes[from..], frame) {
            let start = from + at;
            from = start + frame.len();
            (start, 0..frame.len())
        } else if from == 0 {
            let common = bytes.iter().zip(frame).take_while(|(a, b)| a == b).count();
            (0, 0..common)
        } else {
            let common = bytes.iter().rev().zip(frame.iter().rev()).take_while(|(a, b)| a == b).count();
            let Some(start) = bytes.len().checked_sub(frame.len()) else { continue };
            (start, frame.len() - common..frame.len())
        };
        leaves.extend(
            seen.into_iter().filter(|leaf| right.start <= leaf.span.start && leaf.span.end <= right.end).map(
                |leaf| SourceLeaf {
                    frame: number,
                    at: start + leaf.span.start..start + leaf.span.end,
                    span: leaf.span,
                    path: leaf.path,
                    kind: leaf.kind,
                    claim: leaf.claim,
                },
            ),
        );
    }
    leaves
}

pub fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    (0..=bytes.len().checked_sub(wanted.len())?)
        .find(|&at| bytes[at] == first && &bytes[at..at + wanted.len()] == wanted)
}

/// The end of a value, its claimed field, and its fate.
type Booked = (usize, Option<Field>, Fate);

/// The fate of every leaf, by frame and position.
pub struct Fates {
    frames: BTreeMap<u64, BTreeMap<usize, Booked>>,
    /// Fields with a loss that was booked after their frame.
    late: BTreeSet<Field>,
}

impl Fates {
    pub fn of(report: &Report) -> Self {
        let mut fates = Self { frames: BTreeMap::new(), late: BTreeSet::new() };
        for leaf in &report.trace {
            match &leaf.span {
                Some(span) => {
                    let frame = fates.frames.entry(leaf.frame).or_default();
                    frame.insert(span.start, (span.end, leaf.field, leaf.fate));
                }
                None => fates.late.extend(leaf.field),
            }
        }
        fates
    }

    /// The fate and the claimed field of the leaf at a position. A leaf without a booking of its own is structure and
    /// counts as mapped.
    pub fn at(&self, frame: u64, span: &Range<usize>) -> (Fate, Option<Field>) {
        let before = self.frames.get(&frame).and_then(|leaves| leaves.range(..=span.start).next_back());
        match before {
            Some((_, (end, field, fate))) if *end >= span.end => (*fate, *field),
            _ => (Fate::Mapped, Some(Field::Structure)),
        }
    }

    pub fn is_lost_late(&self, field: Option<Field>) -> bool {
        field.is_some_and(|field| self.late.contains(&field))
    }

    /// Whether a value of that field was lost in that frame, or later.
    pub fn is_lost_in(&self, frame: u64, field: Field) -> bool {
        self.late.contains(&field)
            || self.of_field(frame, field).any(|fate| matches!(fate, Fate::Lost(_) | Fate::Kept))
    }

    /// Whether a value of that field is booked as mapped.
    pub fn is_mapped_in(&self, frame: u64, field: Field) -> bool {
        self.of_field(frame, field).any(|fate| fate == Fate::Mapped)
    }

    fn of_field(&self, frame: u64, wanted: Field) -> impl Iterator<Item = Fate> {
        let leaves = self.frames.get(&frame).into_iter().flat_map(BTreeMap::values);
        leaves.filter(move |(_, field, _)| *field == Some(wanted)).map(|(_, _, fate)| *fate)
    }

    /// Whether a value of that field is booked as narrowed.
    pub fn narrows(&self, wanted: Field) -> bool {
        let narrowed =
            |(_, field, fate): &Booked| *field == Some(wanted) && *fate == Fate::Lost(Reason::Narrowed);
        self.frames.values().flat_map(BTreeMap::values).any(narrowed)
    }

    /// Whether any value of that field was lost because the target has no place for it.
    pub fn gives_up(&self, wanted: Field) -> bool {
        let given_up = |(_, field, fate): &Booked| {
            *field == Some(wanted) && matches!(fate, Fate::Lost(reason) if *reason != Reason::Invalid)
        };
        self.late.contains(&wanted) || self.frames.values().flat_map(BTreeMap::values).any(given_up)
    }
}

/// The fields with losses. A row names only one field of its path; the trace names all.
pub fn lost_fields(report: &Report) -> BTreeSet<Field> {
    let lost = report.trace.iter().filter(|leaf| matches!(leaf.fate, Fate::Lost(_)));
    lost.filter_map(|leaf| leaf.field).collect()
}

/// The contents of a report except sizes, byte positions and windows, which change with any leaf.
#[derive(PartialEq, Debug)]
pub struct Essence {
    counts: [u64; 6],
    rows: Vec<(String, Option<Reason>, Option<Field>, u64)>,
    notes: Vec<(&'static str, u64)>,
    problems: Vec<(Code, u64, Option<String>, String)>,
}

impl Essence {
    pub fn of(report: &Report) -> Self {
        let Report {
            frames, read, leaves, mapped, kept, lost, kept_paths, lost_paths, notes, problems, ..
        } = report;
        let row = |row: &Row| (row.path.clone(), row.reason, row.field, row.count);
        Self {
            counts: [*frames, *read, *leaves, *mapped, *kept, *lost],
            rows: kept_paths.iter().chain(lost_paths).map(row).collect(),
            notes: notes.clone(),
            problems: problems
                .iter()
                .map(|found| {
                    (found.code, found.place.frame.number, found.place.pointer.clone(), found.detail.clone())
                })
                .collect(),
        }
    }
}

/// A breach of a law.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    pub law: &'static str,
    /// The source dialect.
    pub from: &'static str,
    /// The target dialect.
    pub to: &'static str,
    /// The path or the field.
    pub place: String,
    /// The finding.
    pub how: String,
}

impl Breach {
    pub fn new(law: &'static str, case: &Case, to: Way, place: &str, how: impl Display) -> Self {
        Self {
            law,
            from: case.way.0.name,
            to: to.0.name,
            place: place.to_owned(),
            how: format!("{case}: {how}"),
        }
    }
}

/// An exception of a law: the source dialect, the target dialect, the end of the path or the field (its beginning, if it
/// ends with `*`), and the reason. A dialect is a name, `*` for any dialect, `record*` for dialects whose name begins so,
/// `openai-chat+` for a dialect and its flavours, or `@item/model` for logs whose built frames support that field.
pub type Excuse = (&'static str, &'static str, &'static str, &'static str);

/// A value that a reader derives (hunks as a diff, seconds as milliseconds) is restored with its kept line.
pub const MADE_OF_A_KEPT_LINE: &str = "made of values in another form; the line that is given back has those";

/// Whether an excuse covers the breach.
pub fn is_excused(breach: &Breach, excuses: &[Excuse]) -> bool {
    excuses.iter().any(|excuse| fits(excuse, breach))
}

fn fits((from, to, place, _): &Excuse, breach: &Breach) -> bool {
    is_named(from, breach.from)
        && is_named(to, breach.to)
        && match place.strip_suffix('*') {
            Some(start) => breach.place.starts_with(start),
            None => breach.place.ends_with(place),
        }
}

/// Whether the pattern of an excuse includes a dialect.
fn is_named(pattern: &str, dialect: &str) -> bool {
    if let Some(base) = pattern.strip_suffix('+') {
        let flavour_of = Dialect::named(dialect).and_then(|dialect| dialect.flavour_of);
        return dialect == base || flavour_of == Some(base);
    }
    if let Some(field) = pattern.strip_prefix('@') {
        return supports(dialect, field);
    }
    pattern.strip_suffix('*').map_or(dialect == pattern, |start| dialect.starts_with(start))
}

/// Whether built frames of a log support a field, according to the table of its dialect.
fn supports(dialect: &str, field: &str) -> bool {
    let log = Dialect::named(dialect).filter(|dialect| dialect.plane == Plane::Log);
    let write = log.and_then(|dialect| dialect.role(Role::Log)?.write.as_ref());
    let field = Field::ALL.iter().find(|known| known.word() == field);
    write.zip(field).is_some_and(|(write, field)| !matches!((write.support)(*field), Support::No(_)))
}

/// Fails with every breach without an excuse and, if all targets are tested, with every unused excuse.
pub fn judge(cases: usize, breaches: Vec<Breach>, excuses: &[Excuse]) {
    assert!(cases > 0, "the law was tried on nothing");
    let mut used = vec![false; excuses.len()];
    let mut rest: BTreeMap<(&str, &str, String), (usize, String)> = BTreeMap::new();
    let all = breaches.len();
    for breach in breaches {
        if let Some(at) = excuses.iter().position(|excuse| fits(excuse, &breach)) {
            used[at] = true;
            continue;
        }
        let Breach { from, to, place, how, .. } = breach;
        rest.entry((from, to, place)).or_insert((0, how)).0 += 1;
    }
    let mut lines: Vec<String> = excuses
        .iter()
        .zip(used)
        .filter(|(_, used)| !used && asked_for().is_none() && all_targets())
        .map(|(excuse, _)| format!("nothing needs this excuse any more: {excuse:?}"))
        .collect();
    lines.extend(
        rest.iter()
            .map(|((from, to, place), (count, how))| format!("{from} -> {to} `{place}` x{count}: {how}")),
    );
    let shown = if std::env::var_os("INTERLINGUA_BREACHES").is_some() { usize::MAX } else { 40 };
    let text: Vec<&str> = lines.iter().take(shown).map(String::as_str).collect();
    assert!(
        lines.is_empty(),
        "{} places (of {all} breaches) without excuse; INTERLINGUA_BREACHES=1 shows all:\n{}",
        lines.len(),
        text.join("\n")
    );
}
