//! The tape: one strict pass over a frame marks the start and end of each JSON value.
//!
//! Nothing is decoded or copied; a [`Val`] is a position on the tape and its text is a slice of the frame. Each node
//! also has a *claim*: reading a member claims it, and unclaimed values remain when the reader is done (see
//! [`crate::ledger`]). The tape refuses everything RFC 8259 refuses; it does not interpret values: duplicate keys and
//! lone surrogates are legal, but recorded.

mod parse;
mod shapes;
mod value;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use crate::ledger::{Reason, Settlement};
use crate::model::Field;
use parse::{Broken, OpenContainer, Parser};
pub(crate) use parse::{Escapes, block_mask, hash_of};
use shapes::Shapes;
pub use value::Val;
pub(crate) use value::{Member, Visited, WantedNames};

/// The maximum size of a frame before it is passed through unread, and limits on the resources of a source.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Limits {
    /// Bytes in one frame.
    pub bytes: usize,
    /// Values and names in one frame; `[0,0,0,…]` takes sixteen times its size on the tape.
    pub nodes: usize,
    /// Nesting depth. A line is embedded eight levels deep in a record, and common parsers stop at 128.
    pub depth: usize,
    /// Open items: a source that opens more items and closes none is not a conversation.
    pub open: usize,
    /// Bytes of output per byte of input: a megabyte-long name repeated with every word is not a conversation.
    pub growth: u64,
}

impl Limits {
    /// Limits for a format that embeds frames of other dialects: every frame within the limits of its own dialect must
    /// stay readable here, with the members added around it.
    #[must_use]
    pub fn around_others(self) -> Self {
        Self {
            // Damaged frames are embedded in pieces of a mebibyte, at worst six times as long when escaped.
            bytes: self.bytes.saturating_mul(2).saturating_add(8 << 20).min(u32::MAX as usize),
            nodes: self.nodes.saturating_mul(2).saturating_add(1 << 10),
            depth: self.depth + 8,
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 256 << 20, nodes: 1 << 20, depth: 120, open: 1 << 16, growth: 256 }
    }
}

/// The kind of a JSON value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number, as spelled
    Number,
    /// A string
    String,
    /// An object
    Object,
    /// An array
    Array,
}

/// A reader's claim on a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Unclaimed: the value will be kept or reported as lost.
    Free,
    /// The value moved into this field of the model; the writer of the same dialect can restore the value.
    Taken(Field),
    /// The value was read as this field, but also stays in the frame (a type tag, a usage object).
    Noted(Field),
    /// The value was already passed on as [`crate::ledger::Leftover`].
    Placed,
}

impl Claim {
    /// The field of the claim.
    pub const fn field(self) -> Option<Field> {
        match self {
            Claim::Taken(field) | Claim::Noted(field) => Some(field),
            Claim::Free | Claim::Placed => None,
        }
    }
}

/// A claim on the tape, and the reason a writer could not write the value, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    claim: Claim,
    unsaid: Option<Reason>,
}

impl Mark {
    const FREE: Self = Self { claim: Claim::Free, unsaid: None };
}

/// A value on the tape, with its position, claim and member name.
#[derive(Clone, Debug)]
// Thirty-two bytes: the position of a node is its number, shifted.
#[repr(align(8))]
struct Node {
    /// The node's own number.
    at: u32,
    start: u32,
    end: u32,
    /// The number of the node after this subtree.
    next: u32,
    name: Name,
    kind: Kind,
    mark: Cell<Mark>,
}

const _: () = assert!(size_of::<Node>() == 32);

/// A member's name: its position in the frame, without quotes, and its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    start: u32,
    len: u32,
    /// The same for the same bytes, in any frame.
    pub(crate) hash: u32,
}

impl Name {
    /// The name of an array element, and of the document itself.
    pub(crate) const NONE: Self = Self { start: 0, len: 0, hash: 0x9e37_79b9 };

    /// The bytes of the name in the frame `text`, if there is a name.
    #[inline]
    pub(crate) fn bytes(self, text: &str) -> Option<&[u8]> {
        let start = self.start as usize;
        (start > 0).then(|| text.as_bytes().get(start..start + self.len as usize).unwrap_or_default())
    }

    /// The name as spelled in the frame `text`, if there is one.
    #[inline]
    pub(crate) fn text(self, text: &str) -> Option<&str> {
        // A name follows a bracket and a quote, so it never starts at offset zero.
        let name = self.start as usize..(self.start + self.len) as usize;
        (self.start > 0).then(|| text.get(name).unwrap_or_default())
    }
}

/// The reason a frame is not a readable JSON document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Fault {
    /// The grammar breaks at this byte.
    Syntax {
        /// Offset in the frame.
        at: usize,
        /// A description of the accepted input.
        expected: &'static str,
    },
    /// The document is cut off.
    Torn {
        /// Offset of the end.
        at: usize,
    },
    /// More than one document in the frame.
    Trailing {
        /// Offset of the first byte after the document.
        at: usize,
    },
    /// Nested deeper than the limit.
    TooDeep {
        /// Offset of the opening bracket that exceeds the limit.
        at: usize,
    },
    /// More values than the limit.
    TooManyValues {
        /// Offset of the value that exceeds the limit.
        at: usize,
    },
}

/// The memory of a tape, reused from frame to frame.
#[derive(Debug, Default)]
pub struct TapeBuf {
    nodes: Vec<Node>,
    /// The containers around the current container.
    open: Vec<OpenContainer>,
    /// The last claimed values, in the order of their claims: a ring buffer indexed by [`Tape::claims`], from the first
    /// document on.
    claimed: Option<Box<[Cell<u32>; NEAR]>>,
    /// The shapes of earlier documents, for a source whose documents have few shapes.
    shapes: Option<Box<Shapes>>,
}

impl TapeBuf {
    /// Remembers the shapes of documents from now on: the documents of running agents have few shapes.
    pub(crate) fn remember_shapes(&mut self) {
        self.shapes = Some(Box::default());
    }

    /// Uses the memory of another tape, but not its shapes: the numbers in them belong to the ledger of another source.
    pub(crate) fn use_memory(&mut self, other: Self) {
        *self = Self { shapes: self.shapes.take(), ..other };
    }

    /// Empties the buffers and frees memory beyond the given number of bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.shapes = None;
        self.nodes.clear();
        self.nodes.shrink_to(bytes / size_of::<Node>());
        self.open.clear();
        self.open.shrink_to(bytes / size_of::<OpenContainer>());
    }

    /// Reads one document.
    pub fn parse<'t>(&'t mut self, text: &'t str, limits: &Limits) -> Result<Tape<'t>, Fault> {
        self.parse_with(text, &[], limits)
    }

    /// Reads one document. The bytes of the ranges `known` are not scanned: each is a JSON string that was parsed before,
    /// or a piece of it, without its quotes. A piece ends where an escape ends.
    pub(crate) fn parse_with<'t>(
        &'t mut self,
        text: &'t str,
        known: &[Range<usize>],
        limits: &Limits,
    ) -> Result<Tape<'t>, Fault> {
        self.nodes.clear();
        self.open.clear();
        // An initial estimate that saves a new buffer most reallocations. An empty buffer is replaced: its growth would copy
        // old nodes.
        let estimate = (text.len() / 16).min(4096);
        if self.nodes.capacity() < estimate {
            let most = estimate.max(2 * self.nodes.capacity());
            self.nodes = Vec::new();
            self.nodes.reserve_exact(most);
        }
        let mut shapes = self.shapes.as_deref_mut();
        if let Some(shapes) = &mut shapes {
            shapes.begin(limits.depth);
        }
        let mut parser = Parser::new(text.as_bytes(), known, &mut self.nodes, &mut self.open, limits);
        // A document of so few bytes cannot have too many values.
        let followed = shapes.as_deref_mut().filter(|_| text.len() <= limits.nodes);
        if let Err(Broken) = parser.document(followed) {
            return Err(parser.fault);
        }
        let Parser { duplicate_key, lone_surrogate, number_overflow, filled, .. } = parser;
        let is_odd = duplicate_key.or(lone_surrogate).or(number_overflow).is_some();
        if let Some(shapes) = shapes.filter(|_| !is_odd) {
            shapes.remember(text.as_bytes(), &self.nodes);
        }
        let claimed = self.claimed.get_or_insert_with(|| Box::new([const { Cell::new(0) }; NEAR]));
        let (nodes, rows, settlement) = match self.shapes.as_deref() {
            Some(shapes) => (shapes.nodes().unwrap_or(&self.nodes), shapes.rows(), shapes.settlement()),
            None => (&self.nodes[..], &[][..], None),
        };
        let claims = Cell::new(0);
        Ok(Tape {
            text,
            nodes,
            rows,
            settlement,
            claimed,
            claims,
            leaves: nodes.len() as u32 - filled,
            duplicate_key,
            lone_surrogate,
            number_overflow,
        })
    }
}

/// One document, indexed.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Tape<'t> {
    text: &'t str,
    nodes: &'t [Node],
    /// For each value of a known shape, a number for the ledger; empty without a shape.
    rows: &'t [Cell<u32>],
    /// The settlement of the last document of the same shape.
    settlement: Option<&'t RefCell<Settlement>>,
    claimed: &'t [Cell<u32>; NEAR],
    /// The number of claims. The values of an event are claimed just before the event is emitted.
    claims: Cell<u32>,
    leaves: u32,
    /// The offset of a repeated member name in its object (checked for objects of up to 64 members).
    pub duplicate_key: Option<usize>,
    /// The offset of an escape with half a surrogate pair.
    pub lone_surrogate: Option<usize>,
    /// The offset of a number that neither a 64-bit integer nor a double can hold.
    pub number_overflow: Option<usize>,
}

impl<'t> Tape<'t> {
    /// The document itself.
    pub fn root(&self) -> Val<'_> {
        // A parsed document has at least one value.
        Val { tape: self, node: &self.nodes[0] }
    }

    /// The text of the frame.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The number of scalars and empty containers in the document.
    pub fn leaves(&self) -> u32 {
        self.leaves
    }

    /// The settlement of the last document of the same shape; `None` without a shape.
    pub(crate) fn settlement(&self) -> Option<&'t RefCell<Settlement>> {
        self.settlement
    }

    /// The number of bytes of the value with the given number.
    #[inline]
    pub(crate) fn length_of(&self, number: u32) -> u32 {
        self.nodes.get(number as usize).map_or(0, |node| node.end - node.start)
    }

    /// Whether the claims of this document are exactly these.
    pub(crate) fn has_claims(&self, known: &ClaimList) -> bool {
        // A list has at most as many claims as the buffer, so the claims in the buffer are the first.
        self.claims.get() as usize == known.0.len()
            && known.0.iter().zip(self.claimed).all(|((at, mark), claimed)| {
                claimed.get() == *at
                    && self.nodes.get(*at as usize).is_some_and(|node| node.mark.get() == *mark)
            })
    }

    /// Copies the claims of this document, unless there are too many.
    pub(crate) fn copy_claims(&self, list: &mut ClaimList) -> bool {
        list.0.clear();
        let Some(claimed) = self.claimed.get(..self.claims.get() as usize) else { return false };
        let marked =
            claimed.iter().map(Cell::get).zip(claimed.iter().map(|at| &self.nodes[at.get() as usize]));
        list.0.extend(marked.map(|(at, node)| (at, node.mark.get())));
        true
    }

    /// The value that contains `text`, if `text` lies in this frame: a claimed value, if there is one.
    pub(crate) fn value_at(&self, text: &str) -> Option<Val<'_>> {
        // Only addresses are compared; they are never dereferenced.
        let offset = (text.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let end = offset + text.len();
        if end > self.text.len() || text.is_empty() {
            return None;
        }
        let after = self.nodes.partition_point(|node| node.start as usize <= offset);
        let before = self.nodes[..after].iter().rev().take(NEAR);
        let mut around = before.filter(|node| node.end as usize >= end).map(|node| Val { tape: self, node });
        let innermost = around.next()?;
        // A claim on a container covers all values in it.
        let claimed = |val: &Val<'_>| val.claimed() != Claim::Free;
        Some(Some(innermost).filter(claimed).or_else(|| around.find(claimed)).unwrap_or(innermost))
    }

    /// The recent values claimed for `field` and not marked as lost: values inside `place` first, then members around it.
    /// Values of neighbouring list elements are excluded.
    pub(crate) fn claimed_for(&self, field: Field, place: TapePlace) -> impl Iterator<Item = Val<'_>> {
        self.recent_at(field, place).filter(|val| val.node.mark.get().unsaid.is_none())
    }

    /// The same for values marked as lost.
    pub(crate) fn given_up_for(&self, field: Field, place: TapePlace) -> impl Iterator<Item = Val<'_>> {
        self.recent_at(field, place).filter(|val| val.node.mark.get().unsaid.is_some())
    }

    fn recent_at(&self, field: Field, place: TapePlace) -> impl Iterator<Item = Val<'_>> {
        let own = self.recent(field).filter(move |val| place.holds(val.node));
        let around = self.recent(field).filter(move |val| !place.holds(val.node)).take(NEAR_AROUND);
        // The members of a message come before those of its parts, which are items or parts of their own.
        let is_own_member = move |val: &Val<'_>| self.is_member(val.node, place);
        let members = own.clone().filter(is_own_member);
        let inner = own.filter(move |val| !is_own_member(val));
        members.chain(around.filter(is_own_member)).chain(inner)
    }

    /// Whether no list separates a value from the innermost container of both the value and the place. Values behind a list
    /// boundary belong to neighbours. The whole frame has no neighbours.
    fn is_member(&self, node: &Node, place: TapePlace) -> bool {
        if place == TapePlace::FRAME {
            return true;
        }
        let before = self.nodes.get(..=node.at as usize).unwrap_or_default().iter().rev().take(NEAR_HOLDER);
        let mut holders = before.filter(|holder| holder.next > node.at);
        let first = holders.find(|holder| holder.holds(place) || holder.is_element());
        first.is_some_and(|holder| holder.holds(place))
    }

    fn recent(&self, field: Field) -> impl Iterator<Item = Val<'_>> + Clone {
        let last = self.claims.get();
        let oldest = last.saturating_sub(NEAR as u32);
        let claims = (oldest..last).rev().map(|claim| self.claimed[claim as usize % NEAR].get());
        let vals = claims.map(|at| Val { tape: self, node: &self.nodes[at as usize] });
        vals.filter(move |val| val.node.mark.get().claim.field() == Some(field))
    }

    /// Records a claim.
    #[inline]
    fn remember(&self, at: u32) {
        let claim = self.claims.get();
        self.claimed[claim as usize % NEAR].set(at);
        self.claims.set(claim + 1);
    }
}

/// The claimed values of a document by their numbers, in the order of their claims, with their marks.
#[derive(Debug, Default)]
pub(crate) struct ClaimList(Vec<(u32, Mark)>);

/// The node range of a value and its children: the source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TapePlace {
    /// The number of the value.
    first: u32,
    /// The number of the value after it and all in it.
    after: u32,
}

impl TapePlace {
    /// The whole frame.
    pub(crate) const FRAME: Self = Self { first: 0, after: u32::MAX };

    /// Whether `other` lies inside this place.
    #[inline]
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.after <= self.after
    }

    const fn holds(self, node: &Node) -> bool {
        self.first <= node.at && node.at < self.after
    }
}

impl Node {
    /// Whether a place lies in the value.
    const fn holds(&self, place: TapePlace) -> bool {
        self.at <= place.first && place.after <= self.next
    }

    /// Whether the value is an element of a list, or the document: only those have no name.
    const fn is_element(&self) -> bool {
        self.name.len == 0
    }
}

/// An element of a list, with all values in it.
#[derive(Clone, Copy)]
pub(crate) struct ListElement<'t> {
    tape: &'t Tape<'t>,
    node: &'t Node,
}

impl<'t> ListElement<'t> {
    /// The values of the element that were claimed for `field` and are not marked as lost.
    pub(crate) fn claimed_for(self, field: Field) -> impl Iterator<Item = Val<'t>> {
        let nodes = &self.tape.nodes[self.node.at as usize..self.node.next as usize];
        let ours = move |node: &&Node| {
            let mark = node.mark.get();
            mark.unsaid.is_none() && mark.claim.field() == Some(field)
        };
        nodes.iter().filter(ours).map(move |node| Val { tape: self.tape, node })
    }
}

impl<'t> Val<'t> {
    /// The value and all in it.
    #[inline]
    pub(crate) const fn place(self) -> TapePlace {
        TapePlace { first: self.node.at, after: self.node.next }
    }

    /// The element of the innermost list around the value; without a list, the whole document. Only elements and
    /// documents have no name.
    pub(crate) fn element(self) -> ListElement<'t> {
        let at = self.node.at;
        let mut before = self.tape.nodes[..=at as usize].iter().rev();
        let element = before.find(|node| node.next > at && node.is_element());
        ListElement { tape: self.tape, node: element.unwrap_or(self.node) }
    }
}

/// The number of recent values or claims to search: the values of an event are close together and claimed together.
/// The bound matters because a hostile frame can lose a hundred thousand values.
const NEAR: usize = 256;

/// The number of claims around a place to examine: each costs a search for a list boundary.
const NEAR_AROUND: usize = 8;

/// The number of preceding nodes to search for the common container of a claimed value and a place.
const NEAR_HOLDER: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Result<u32, Fault> {
        TapeBuf::default().parse(text, &Limits::default()).map(|tape| tape.leaves())
    }

    #[test]
    fn leaves_are_scalars_and_empty_containers() {
        assert_eq!(verdict(r#"{"a":1,"b":{},"c":[],"d":[1,{"e":null}],"a":2}"#), Ok(6));
        assert_eq!(verdict(" \"x\" "), Ok(1));
    }

    #[test]
    fn faults_say_where_and_what() {
        assert_eq!(verdict(r#"{"a":1"#), Err(Fault::Torn { at: 6 }));
        assert_eq!(verdict(r#"{"a" 1}"#), Err(Fault::Syntax { at: 5, expected: "`:`" }));
        assert_eq!(verdict("{} {}"), Err(Fault::Trailing { at: 3 }));
        assert_eq!(
            verdict("\"a\u{1}\""),
            Err(Fault::Syntax { at: 2, expected: "no raw control character in a string" })
        );
        assert_eq!(verdict(&"[".repeat(10_000)), Err(Fault::TooDeep { at: 120 }));
        assert_eq!(verdict("tru"), Err(Fault::Torn { at: 3 }));
        assert_eq!(verdict("01"), Err(Fault::Trailing { at: 1 }));
    }

    #[test]
    fn oddities_are_legal_but_noticed() {
        let mut buf = TapeBuf::default();
        let tape = buf.parse(r#"{"k":"\ud800","b":1,"k":2}"#, &Limits::default()).expect("legal");
        assert_eq!(tape.lone_surrogate, Some(6));
        assert_eq!(tape.duplicate_key, Some(20));
        assert_eq!(tape.root().get("k").map(|val| val.text()), Some(r#""\ud800""#));
        let mut overflow = |text| buf.parse(text, &Limits::default()).expect("legal").number_overflow;
        assert_eq!(overflow("[1e999]"), Some(1));
        assert_eq!(overflow("[18446744073709551616]"), Some(1));
        assert_eq!(
            overflow("[18446744073709551615,-9223372036854775808,1e300,1e-999,0.12345678901234567890]"),
            None
        );
    }

    #[test]
    fn long_strings_end_at_their_quote() {
        for length in 0..200 {
            for tail in ["\"", "\\n\"", "\\\"x\""] {
                let text = format!("\"{}{tail}", "x".repeat(length));
                assert_eq!(verdict(&text), Ok(1), "{text}");
            }
        }
    }

    #[test]
    fn rows_of_backslashes_end_where_they_end_wherever_they_stand() {
        for length in 0..140 {
            for slashes in 0..6 {
                for tail in ["\"", "n\"", "u0041\"", "ud83e\\udd80\"", "q\"", "\n\"", "ud83e\"", ""] {
                    let text = format!(
                        "\"\\n{}{}{tail}{}",
                        "x".repeat(length),
                        "\\".repeat(slashes),
                        " ".repeat(80)
                    );
                    let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                    let mut buf = TapeBuf::default();
                    let ours = buf.parse(&text, &Limits::default());
                    // Half a surrogate pair is legal here.
                    let lone = ours.as_ref().is_ok_and(|tape| tape.lone_surrogate.is_some());
                    assert_eq!(ours.is_ok(), theirs || lone, "{text}");
                    let half = if slashes % 2 == 1 { "ud83e\"" } else { "ud83e\\udd80\"" };
                    assert_eq!(lone, tail == half, "{text}");
                }
            }
        }
    }

    #[test]
    fn the_tape_and_serde_json_agree_on_a_mutated_document() {
        let seed = br#"{"a":[1,-2.5e+3,"x\u00e9\n",{"b":null,"c":true},[],{}],"d":"\"q\""}"#;
        for at in 0..seed.len() {
            for byte in 0..128u8 {
                let mut bytes = seed.to_vec();
                bytes[at] = byte;
                let text = String::from_utf8(bytes).expect("ascii");
                let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                assert_eq!(verdict(&text).is_ok(), theirs, "{text}");
            }
        }
    }
}
