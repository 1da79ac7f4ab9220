//! Settling a frame: one walk over its tape books every leaf and finds the holes of a kept line. Settling does not
//! interpret values: the mapped leaves follow from the claims and from the writer's table.

use super::paths::{Booking, PathNumber};
use super::{Fate, HOLE, Leaf, Ledger, Leftover, LeftoverBody, Reason, Settlement};
use crate::json::JsonWriter;
use crate::model::{Field, Support};
use crate::tape::{Claim, Kind, Tape, Val, Visited};

impl<'t> Leftover<'t> {
    /// The whitespace around the document, such as the carriage return of a foreign line end. For documents that were
    /// cut, it includes the brackets and commas between the pieces.
    pub fn space(&self) -> (&'t str, &'t str) {
        match self.body {
            LeftoverBody::Frame(tape) => {
                let span = tape.root().span();
                let (before, after) = self.around;
                let or = |mark: &'t str, space: &'t str| if mark.is_empty() { space } else { mark };
                (or(before, &tape.text()[..span.start]), or(after, &tape.text()[span.end..]))
            }
            LeftoverBody::Kept { space, .. } => space,
            LeftoverBody::Unparsed { .. } | LeftoverBody::NoFinalNewline => ("", ""),
        }
    }

    /// Books the line as kept, with a hole for each value that the target writes elsewhere. [`LineHoles::write`]
    /// writes the line.
    pub fn keep(self, ledger: &mut Ledger, holes: &mut LineHoles) {
        holes.values.clear();
        holes.count = 0;
        match self.body {
            LeftoverBody::Frame(tape) => {
                ledger.settle(self.body, None, &mut FindHoles { text: tape.text().as_bytes(), holes });
            }
            LeftoverBody::Kept { .. } => ledger.settle(self.body, None, &mut Unwatched),
            LeftoverBody::Unparsed { .. } | LeftoverBody::NoFinalNewline => self.mark_kept(ledger),
        }
    }

    /// Counts the whole leftover as kept, for a target that has stored it itself.
    pub fn mark_kept(self, ledger: &mut Ledger) {
        ledger.settle(self.body, None, &mut Unwatched);
    }

    /// Books the whole leftover as lost, with one reason.
    pub fn lose(self, ledger: &mut Ledger, reason: Reason) {
        ledger.settle(self.body, Some(reason), &mut Unwatched);
    }
}

impl Ledger {
    /// Whether the unclaimed leaves of the current frame have been kept or lost.
    pub(crate) fn is_settled(&self) -> bool {
        self.current.settled
    }

    /// Books every leaf, in one walk, and shows each value with its fate to the watcher: a claimed value is mapped if
    /// the target supports its field; an unclaimed value is kept (`None`) or lost.
    fn settle<W: Watcher>(&mut self, body: LeftoverBody<'_>, reason: Option<Reason>, watcher: &mut W) {
        let frame = self.frame;
        let root = match body {
            LeftoverBody::Frame(tape) => {
                self.current.settled = true;
                self.leaves += u64::from(tape.leaves());
                tape.root()
            }
            LeftoverBody::Kept { line, .. } => line,
            // A blank line is spacing and holds no leaf.
            LeftoverBody::Unparsed { why: "blank", .. } => {
                self.current.settled = true;
                return;
            }
            LeftoverBody::Unparsed { bytes, why, .. } => {
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
                // A byte order mark is not damage.
                let (number, path) = match why {
                    "bom" => (PathNumber::MARK, "(byte order mark)"),
                    _ => (PathNumber::UNPARSED, "(unparsed)"),
                };
                paths.add(number, free, || path.to_owned());
                return;
            }
            LeftoverBody::NoFinalNewline => return,
        };
        if self.rehearsal {
            return;
        }
        let mapped_before = self.mapped;
        let is_line = matches!(body, LeftoverBody::Kept { .. });
        let unclaimed = reason.map_or(Fate::Kept, Fate::Lost);
        // A trace lists each leaf, and in a frame whose line is restored no value is lost.
        let is_plain = !W::OBSERVES && self.trace.is_none() && !self.current.restored;
        let shaped = match body {
            LeftoverBody::Frame(tape) if is_plain => tape.settlement().map(|known| (tape, known)),
            _ => None,
        };
        let structure = match shaped {
            Some((tape, known)) => self.settle_frame(tape, unclaimed, &mut known.borrow_mut()),
            None => self.settle_values(root, unclaimed, is_line, watcher),
        };
        if let LeftoverBody::Kept { line, .. } = body {
            self.current.holes += structure;
            return line.claim(Claim::Placed);
        }
        let holes = std::mem::take(&mut self.current.holes);
        // A tag describes the values beside it, and a hole refers to a value with its own place. If the target holds
        // none of those values, tags and holes are lost with them; unless the target restores lines, which contain all
        // values read from them.
        if structure + holes == 0 || self.mapped > mapped_before || self.restores {
            self.mapped += holes;
            if self.trace.is_some() {
                self.book_tags(root, Fate::Mapped);
            } else {
                self.mapped += structure;
            }
            return;
        }
        let (fate, why) = reason.map_or((Fate::Kept, Reason::NoSlot), |why| (Fate::Lost(why), why));
        self.book_tags(root, fate);
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
            paths.add(PathNumber::HOLES, row, || "(holes of a kept line)".to_owned());
        }
    }

    /// Books every leaf of a frame that has a shape: as in the last frame of its shape, if the same values are claimed.
    /// Returns the number of leaves of tags.
    #[inline(never)]
    fn settle_frame(&mut self, tape: &Tape<'_>, unclaimed: Fate, known: &mut Settlement) -> u64 {
        if !known.applies_to(tape, unclaimed, self.given_up.len()) {
            let mapped_before = self.mapped;
            known.begin();
            let structure = self.settle_values(tape.root(), unclaimed, false, known);
            known.end(tape, self.mapped - mapped_before, structure, (unclaimed, self.given_up.len()));
            return structure;
        }
        let (paths, count) = match unclaimed {
            Fate::Mapped | Fate::Kept => (&mut self.kept_paths, &mut self.kept),
            Fate::Lost(_) => (&mut self.lost_paths, &mut self.lost),
        };
        *count += known.book_again(tape, paths);
        self.mapped += known.mapped;
        known.structure
    }

    /// Books every leaf of a document. Returns the number of leaves of tags, or holes.
    #[inline]
    fn settle_values<W: Watcher>(
        &mut self,
        root: Val<'_>,
        unclaimed: Fate,
        is_line: bool,
        watcher: &mut W,
    ) -> u64 {
        self.names.begin(root);
        let mut settle = Settle { ledger: self, unclaimed, is_line, structure: 0, mapped: 0, watcher };
        root.walk(|seen| settle.value(seen));
        let Settle { structure, mapped, .. } = settle;
        self.mapped += mapped;
        structure
    }

    /// Books the tags of a document, which share the fate of their neighbours.
    fn book_tags(&mut self, root: Val<'_>, fate: Fate) {
        self.names.begin(root);
        root.walk(|seen| {
            if let (Claim::Taken(Field::Structure) | Claim::Noted(Field::Structure), None) = seen.claim() {
                self.book(fate, Some(Field::Structure), seen);
            }
        });
    }

    /// Books one value. Returns the number of its row, unless the target holds the value.
    #[inline]
    fn book(&mut self, fate: Fate, field: Option<Field>, seen: Visited<'_>) -> Option<u32> {
        let leaves = seen.leaves();
        if self.trace.is_some() {
            self.trace_leaf(Leaf {
                frame: self.frame.number,
                span: Some(seen.span()),
                count: leaves,
                field,
                fate,
            });
        }
        let (paths, count, reason) = match fate {
            Fate::Mapped => {
                self.mapped += leaves;
                return None;
            }
            Fate::Kept => (&mut self.kept_paths, &mut self.kept, Reason::NoSlot),
            Fate::Lost(reason) => (&mut self.lost_paths, &mut self.lost, reason),
        };
        *count += leaves;
        let row = Booking { reason, field, leaves, bytes: seen.span().len() as u64, frame: self.frame };
        // Values at the same place in frames of the same shape have the same path.
        let memo = seen.val.row_memo().filter(|_| self.names.is_frame);
        let side = u32::from(fate == Fate::Kept);
        if let Some(known) = memo.and_then(|memo| memo.get().checked_sub(1))
            && known & 1 == side
            && paths.add_to(known >> 1, &row)
        {
            return Some(known >> 1);
        }
        let path = self.names.path_of(seen.val);
        let number = paths.add(path, row, || self.names.text_of(path));
        if let Some(memo) = memo {
            memo.set((number << 1 | side) + 1);
        }
        Some(number)
    }

    #[cold]
    fn trace_leaf(&mut self, leaf: Leaf) {
        if let Some(trace) = &mut self.trace {
            trace.push(leaf);
        }
    }

    /// The reason a claimed value was not written, if any: the writer booked it, or the support table lacks the field.
    #[cold]
    fn unsaid(&self, field: Field, given_up: Option<Reason>) -> Option<Reason> {
        let of_table = match (self.support)(field) {
            Support::No(reason) => Some(reason),
            Support::Exactly | Support::Emulated(_) | Support::Less(_) => {
                self.given_up.iter().find(|(known, _)| *known == field).map(|(_, reason)| *reason)
            }
        };
        given_up.or(of_table).filter(|_| !self.current.restored)
    }
}

/// The values of a line that determine its kept form. The buffers are reused.
#[derive(Debug, Default)]
pub struct LineHoles {
    pub(crate) values: Vec<LineValue>,
    /// The number of holes among the values.
    pub(crate) count: usize,
}

/// A hole, a word that names its neighbours, or a string of tildes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineValue {
    /// The start and end of the value in the frame.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) field: Field,
    pub(crate) sort: LineValueSort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineValueSort {
    Hole,
    Word,
    Tildes,
}

impl LineHoles {
    /// Writes the line with its holes, all other bytes unchanged.
    pub fn write(&self, leftover: LeftoverBody<'_>, out: &mut JsonWriter<'_>) {
        match leftover {
            LeftoverBody::Frame(tape) => {
                out.begin_raw();
                self.write_frame(tape.root(), out);
            }
            LeftoverBody::Kept { line, .. } => {
                out.begin_raw();
                out.bytes(line.text().as_bytes());
            }
            LeftoverBody::Unparsed { .. } | LeftoverBody::NoFinalNewline => {}
        }
    }

    /// Notes the long strings of a line that [`LineHoles::write`] writes next: see [`JsonWriter::note_text`].
    #[cold]
    pub(crate) fn note_texts(&self, leftover: LeftoverBody<'_>, out: &mut JsonWriter<'_>) {
        let LeftoverBody::Frame(tape) = leftover else { return };
        let (root, mut values) = (tape.root(), self.values.iter().peekable());
        // A comma before the line, and holes of another length than their values, shift the strings.
        let mut written = out.before_value();
        let mut copied = root.span().start;
        for string in root.strings().filter(|string| string.span().len() > JsonWriter::LONG_TEXT + 2) {
            let span = string.span();
            while let Some(value) = values.next_if(|value| (value.end as usize) <= span.start) {
                match value.sort {
                    LineValueSort::Hole => {
                        written += value.start as usize - copied + HOLE.len();
                        copied = value.end as usize;
                    }
                    LineValueSort::Tildes => written += 1,
                    LineValueSort::Word => {}
                }
            }
            if values.peek().is_none_or(|value| span.end <= value.start as usize) {
                let start = written + span.start - copied + 1;
                out.note_text(start, start + span.len() - 2);
            }
        }
    }

    fn write_frame(&self, root: Val<'_>, out: &mut JsonWriter<'_>) {
        let bytes = root.frame_text().as_bytes();
        let std::ops::Range { start: mut copied, end } = root.span();
        for value in &self.values {
            let (start, end) = (value.start as usize, value.end as usize);
            match value.sort {
                LineValueSort::Hole => {
                    out.bytes(&bytes[copied..start]);
                    out.bytes(HOLE.as_bytes());
                    copied = end;
                }
                // A literal string of tildes gets one more tilde, so that it is not a hole.
                LineValueSort::Tildes => {
                    out.bytes(&bytes[copied..end - 1]);
                    out.bytes(b"~");
                    copied = end - 1;
                }
                LineValueSort::Word => {}
            }
        }
        out.bytes(&bytes[copied..end]);
    }
}

/// Writes a document without holes: each string of tildes gets one more tilde, all other bytes stay unchanged.
pub(crate) fn write_whole(root: Val<'_>, out: &mut JsonWriter<'_>) {
    let bytes = root.frame_text().as_bytes();
    let std::ops::Range { start: mut copied, end } = root.span();
    for tildes in root.strings().filter(|string| is_tildes(*string)) {
        let quote = tildes.span().end - 1;
        out.bytes(&bytes[copied..quote]);
        out.bytes(b"~");
        copied = quote;
    }
    out.bytes(&bytes[copied..end]);
}

/// An observer to which [`Ledger::settle`] shows each value and its fate.
pub(super) trait Watcher {
    /// Whether the watcher needs to see the values.
    const OBSERVES: bool = true;

    fn value(&mut self, seen: Visited<'_>, claim: Claim, fate: Fate);

    /// The value was booked in the row with this number.
    #[inline]
    fn booked(&mut self, seen: Visited<'_>, row: u32) {
        let _ = (seen, row);
    }
}

/// A watcher that ignores all values.
struct Unwatched;

impl Watcher for Unwatched {
    const OBSERVES: bool = false;

    fn value(&mut self, _: Visited<'_>, _: Claim, _: Fate) {}
}

/// Finds the holes of a line.
struct FindHoles<'l> {
    text: &'l [u8],
    holes: &'l mut LineHoles,
}

impl Watcher for FindHoles<'_> {
    #[expect(
        clippy::inline_always,
        reason = "the hot path to a record: out of line it costs a call for each leaf"
    )]
    #[inline(always)]
    fn value(&mut self, seen: Visited<'_>, claim: Claim, fate: Fate) {
        match (claim, fate) {
            // Only a value that the target writes gets a hole, so every hole has a value to fill it.
            (Claim::Taken(field), Fate::Mapped) => {
                self.holes.count += 1;
                self.found(seen, field, LineValueSort::Hole);
            }
            (Claim::Free | Claim::Taken(_) | Claim::Noted(_) | Claim::Placed, _) => {
                // A string without a tilde or an escape after its quote is not a string of tildes.
                let first = || self.text.get(seen.val.span().start + 1);
                if !seen.is_leaf() || matches!(first(), Some(b'~' | b'\\')) {
                    self.tildes(seen.val);
                }
                if let Claim::Noted(
                    Field::Structure | Field::ItemAuthor | Field::CallKind | Field::ItemStatus,
                ) = claim
                    && seen.val.kind() == Kind::String
                {
                    self.found(seen, Field::Structure, LineValueSort::Word);
                }
            }
        }
    }
}

impl FindHoles<'_> {
    #[inline]
    fn found(&mut self, seen: Visited<'_>, field: Field, sort: LineValueSort) {
        let std::ops::Range { start, end } = seen.span();
        self.holes.values.push(LineValue { start: start as u32, end: end as u32, field, sort });
    }

    #[inline(never)]
    fn tildes(&mut self, val: Val<'_>) {
        for tildes in val.strings().filter(|string| is_tildes(*string)) {
            let std::ops::Range { start, end } = tildes.span();
            let (field, sort) = (Field::Structure, LineValueSort::Tildes);
            let (start, end) = (start as u32, end as u32);
            self.holes.values.push(LineValue { start, end, field, sort });
        }
    }
}

/// Settles values one by one.
struct Settle<'l, W> {
    ledger: &'l mut Ledger,
    /// The fate of unclaimed values.
    unclaimed: Fate,
    /// Whether this is a kept line, in which a hole marks a value that is booked elsewhere.
    is_line: bool,
    /// Leaves of tags (or holes), which share the fate of the other leaves.
    structure: u64,
    /// Leaves that the target holds.
    mapped: u64,
    watcher: &'l mut W,
}

impl<W: Watcher> Settle<'_, W> {
    #[inline]
    fn value(&mut self, seen: Visited<'_>) {
        let (claim, given_up) = seen.claim();
        let field = claim.field();
        let fate = match field {
            None if self.is_line && is_hole(seen.val) => {
                self.structure += 1;
                return;
            }
            None => self.unclaimed,
            Some(field) if given_up.is_none() && !self.ledger.unsaid.has(field) => Fate::Mapped,
            Some(field) => match (self.ledger.unsaid(field, given_up), self.unclaimed) {
                (None, _) => Fate::Mapped,
                // A target that keeps the line still holds the value in the line.
                (Some(_), Fate::Kept) => Fate::Kept,
                (Some(reason), Fate::Mapped | Fate::Lost(_)) => Fate::Lost(reason),
            },
        };
        self.watcher.value(seen, claim, fate);
        match fate {
            Fate::Mapped if field == Some(Field::Structure) => self.structure += seen.leaves(),
            Fate::Mapped if self.ledger.trace.is_none() => self.mapped += seen.leaves(),
            Fate::Kept | Fate::Lost(_) if claim == Claim::Placed => {}
            Fate::Mapped | Fate::Kept | Fate::Lost(_) => {
                if let Some(row) = self.ledger.book(fate, field, seen) {
                    self.watcher.booked(seen, row);
                }
            }
        }
    }
}

/// Whether a kept value is a hole.
#[inline]
pub fn is_hole(val: Val<'_>) -> bool {
    let length = val.span().len();
    (length == HOLE.len() && val.text() == HOLE) || (length == ESCAPED_HOLE && count_tildes(val) == 1)
}

/// The length of a hole whose tilde is an escape, as another program may have written it.
const ESCAPED_HOLE: usize = r#""\u007e""#.len();

/// Whether a string consists of tildes only.
#[inline]
fn is_tildes(val: Val<'_>) -> bool {
    count_tildes(val) > 0
}

/// The number of tildes of a string that consists of tildes only, else 0. A tilde may be spelled as an escape.
#[inline]
pub(crate) fn count_tildes(val: Val<'_>) -> usize {
    let text = val.text().as_bytes();
    let mut rest = match text {
        [b'"', inner @ .., b'"'] if matches!(inner.first(), Some(b'~' | b'\\')) => inner,
        _ => return 0,
    };
    let mut count = 0;
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (b'~', after) => after,
            (b'\\', [b'u', b'0', b'0', b'7', b'e' | b'E', after @ ..]) => after,
            _ => return 0,
        };
        count += 1;
    }
    count
}
