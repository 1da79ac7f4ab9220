//! The tape: one strict pass over a frame marks where each JSON value begins and ends.
//!
//! Nothing is decoded or copied; a [`Val`] is a place on the tape and its text is a slice of the frame. Each node
//! also has a *claim*: reading a member claims it, and what nobody claimed is still there when the reader is done
//! (see [`crate::ledger`]). The tape refuses what RFC 8259 refuses; it does not judge meaning: duplicate keys and
//! lone surrogates are legal here, but noticed.

mod parse;

use std::cell::Cell;

use crate::json::{Raw, Str, is_rfc3339};
use crate::ledger::Reason;
use crate::model::Field;
use parse::Parser;

/// How large a frame may get before it is passed through unread.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes in one frame.
    pub bytes: usize,
    /// Values and keys in one frame; `[0,0,0,…]` costs ten times its size on the tape.
    pub nodes: usize,
    /// Nesting. A line is embedded eight levels deep in a record, and common parsers stop at 128.
    pub depth: usize,
}

impl Limits {
    /// Limits for a form that carries frames of other dialects inside its own: whatever could be read there must
    /// still be readable here, with the members that were added around it.
    #[must_use]
    pub fn around_others(self) -> Self {
        Self {
            // Damaged frames are carried in pieces of a mebibyte, at worst six times as long when escaped.
            bytes: self.bytes.saturating_mul(2).saturating_add(8 << 20).min(u32::MAX as usize),
            nodes: self.nodes.saturating_mul(2).saturating_add(1 << 10),
            depth: self.depth + 8,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 256 << 20, nodes: 1 << 20, depth: 120 }
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
    /// A member name; never seen through [`Val::kind`]
    Key,
    /// An object
    Object,
    /// An array
    Array,
}

/// What a reader did with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Nobody asked for it: it will be kept or reported lost.
    Free,
    /// Its value moved into that field of the model; the same dialect's writer can put it back.
    Taken(Field),
    /// It was understood as that field, but it also stays where it is (a type tag, a usage object).
    Noted(Field),
    /// It was already handed on as [`crate::ledger::Leftover`].
    Placed,
}

impl Claim {
    /// The field that the value was claimed for.
    pub const fn field(self) -> Option<Field> {
        match self {
            Claim::Taken(field) | Claim::Noted(field) => Some(field),
            Claim::Free | Claim::Placed => None,
        }
    }
}

/// A claim as it stands on the tape, and why a writer could not say the value, if it could not.
#[derive(Clone, Copy, Debug)]
struct Mark {
    claim: Claim,
    unsaid: Option<Reason>,
    /// The value claimed before this one: claims are remembered in the order they were made.
    before: u32,
}

impl Mark {
    const FREE: Self = Self { claim: Claim::Free, unsaid: None, before: NOBODY };
}

/// No value was claimed before.
const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    end: u32,
    /// The node after this one's subtree.
    next: u32,
    /// Leaves before this node.
    leaves: u32,
    kind: Kind,
}

/// Why a frame is not a JSON document we read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The grammar breaks at this byte.
    Syntax {
        /// Offset in the frame.
        at: usize,
        /// What would have been allowed there.
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
        /// Offset of the opening bracket that was one too many.
        at: usize,
    },
    /// More values than the limit.
    TooManyValues {
        /// Offset of the value that was one too many.
        at: usize,
    },
}

/// The memory of a tape, reused from frame to frame.
#[derive(Debug, Default)]
pub struct TapeBuf {
    nodes: Vec<Node>,
    marks: Vec<Cell<Mark>>,
    /// Open containers: node number and a bit set of the keys seen.
    open: Vec<(u32, u64)>,
}

impl TapeBuf {
    /// Reads one document.
    pub fn parse<'t>(&'t mut self, text: &'t str, limits: &Limits) -> Result<Tape<'t>, Fault> {
        self.nodes.clear();
        self.open.clear();
        // A first guess that spares a fresh buffer most of its growing.
        self.nodes.reserve((text.len() / 16).min(4096));
        let mut parser = Parser {
            bytes: text.as_bytes(),
            nodes: &mut self.nodes,
            open: &mut self.open,
            limits: *limits,
            leaves: 0,
            duplicate_key: None,
            lone_surrogate: None,
            number_overflow: None,
        };
        parser.document()?;
        let Parser { leaves, duplicate_key, lone_surrogate, number_overflow, .. } = parser;
        self.marks.clear();
        self.marks.resize(self.nodes.len(), Cell::new(Mark::FREE));
        let (nodes, marks) = (&self.nodes, &self.marks);
        let last_claimed = Cell::new(NOBODY);
        Ok(Tape { text, nodes, marks, leaves, last_claimed, duplicate_key, lone_surrogate, number_overflow })
    }
}

/// One document, indexed.
#[derive(Clone, Debug)]
pub struct Tape<'t> {
    text: &'t str,
    nodes: &'t [Node],
    marks: &'t [Cell<Mark>],
    leaves: u32,
    /// The value claimed last: what an event says was claimed just before it.
    last_claimed: Cell<u32>,
    /// Where a member name stands a second time in its object (objects of up to 64 members are watched).
    pub duplicate_key: Option<usize>,
    /// Where an escape names half a surrogate pair.
    pub lone_surrogate: Option<usize>,
    /// Where a number stands that neither a 64-bit integer nor a double can hold.
    pub number_overflow: Option<usize>,
}

impl<'t> Tape<'t> {
    /// The document itself.
    pub fn root(&self) -> Val<'_> {
        Val { tape: self, at: 0 }
    }

    /// The text of the frame.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Scalars and empty containers in the document.
    pub fn leaves(&self) -> u32 {
        self.leaves
    }

    fn leaves_before(&self, node: u32) -> u32 {
        self.nodes.get(node as usize).map_or(self.leaves, |node| node.leaves)
    }

    /// The value that `text` is, or is a part of, if it lies in this frame: the claimed one, if one is.
    pub(crate) fn value_at(&self, text: &str) -> Option<Val<'_>> {
        // Two addresses are compared; nothing is read through them.
        let offset = (text.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let end = offset + text.len();
        if end > self.text.len() || text.is_empty() {
            return None;
        }
        let after = self.nodes.partition_point(|node| node.start as usize <= offset);
        let around = |at: &usize| self.nodes[*at].end as usize >= end && self.nodes[*at].kind != Kind::Key;
        let mut around =
            (0..after).rev().take(NEAR).filter(around).map(|at| Val { tape: self, at: at as u32 });
        let innermost = around.next()?;
        // A claim on a container is a claim on all in it.
        let claimed = |val: &Val<'_>| val.claimed() != Claim::Free;
        Some(Some(innermost).filter(claimed).or_else(|| around.find(claimed)).unwrap_or(innermost))
    }

    /// The values that were claimed for `field` and are not marked as unsaid, the last claim first, if that was not long
    /// ago.
    pub(crate) fn claimed_for(&self, field: Field) -> impl Iterator<Item = Val<'_>> {
        let last = Some(self.last_claimed.get());
        let before = |at: &u32| self.marks.get(*at as usize).map(|mark| mark.get().before);
        let claims = std::iter::successors(last, before).take(NEAR);
        let ours = move |at: &u32| {
            let mark = self.marks.get(*at as usize).map(Cell::get);
            mark.is_some_and(|mark| mark.unsaid.is_none() && mark.claim.field() == Some(field))
        };
        claims.filter(ours).map(|at| Val { tape: self, at })
    }
}

/// How many values or claims back one is looked for: what belongs to one event stands close together and is claimed
/// together. A bound, because a hostile frame can give up a hundred thousand values.
const NEAR: usize = 256;

/// A value on a tape.
#[derive(Clone, Copy)]
pub struct Val<'t> {
    tape: &'t Tape<'t>,
    at: u32,
}

impl<'t> Val<'t> {
    fn node(&self) -> &'t Node {
        // A `Val` is only made from node numbers that its own tape gave out.
        &self.tape.nodes[self.at as usize]
    }

    /// Whether some object of the frame has two members of one name.
    pub(crate) fn frame_has_duplicates(&self) -> bool {
        self.tape.duplicate_key.is_some()
    }

    /// The kind of this value.
    pub fn kind(&self) -> Kind {
        self.node().kind
    }

    /// The value as it stands in the frame.
    pub fn text(&self) -> &'t str {
        let node = self.node();
        &self.tape.text[node.start as usize..node.end as usize]
    }

    /// The text of the whole frame.
    pub(crate) fn frame_text(&self) -> &'t str {
        self.tape.text
    }

    /// The value, verbatim.
    pub fn raw(&self) -> Raw<'t> {
        Raw::new(self.text())
    }

    /// Where the value begins and ends in the frame.
    pub fn span(&self) -> std::ops::Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    /// Scalars and empty containers in this value.
    pub fn leaves(&self) -> u32 {
        self.tape.leaves_before(self.node().next) - self.node().leaves
    }

    /// The string, if it is one.
    pub fn str(&self) -> Option<Str<'t>> {
        let node = self.node();
        (node.kind == Kind::String)
            .then(|| Str::escaped(&self.tape.text[node.start as usize + 1..node.end as usize - 1]))
    }

    /// The number, if it is a whole one that fits.
    pub fn u64(&self) -> Option<u64> {
        if self.kind() == Kind::Number { self.text().parse().ok() } else { None }
    }

    /// The truth value, if it is one.
    pub fn bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.text() == "true")
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether this is a string with exactly this plain text.
    pub fn is(&self, plain: &str) -> bool {
        self.str().is_some_and(|text| text.is(plain))
    }

    /// The first member of that name, if this is an object. Looks without claiming.
    pub fn get(&self, name: &str) -> Option<Val<'t>> {
        let node = self.node();
        if node.kind != Kind::Object {
            return None;
        }
        let bytes = self.tape.text.as_bytes();
        let quoted = name.len() as u32 + 2;
        let mut key = self.at + 1;
        while key < node.next {
            // A key and its value are two nodes; most keys are told apart by their length alone.
            let [span, value] = self.tape.nodes[key as usize..key as usize + 2] else { return None };
            if span.end - span.start == quoted
                && &bytes[span.start as usize + 1..span.end as usize - 1] == name.as_bytes()
            {
                return Some(Val { tape: self.tape, at: key + 1 });
            }
            key = value.next;
        }
        None
    }

    /// Several members in one pass: the first of each name, if this is an object. Looks without claiming.
    pub fn get_all<const N: usize>(&self, names: [&str; N]) -> [Option<Val<'t>>; N] {
        let mut found = [None; N];
        let node = self.node();
        let end = if node.kind == Kind::Object { node.next } else { self.at };
        let bytes = self.tape.text.as_bytes();
        let mut key = self.at + 1;
        while key < end {
            let [span, value] = self.tape.nodes[key as usize..key as usize + 2] else { break };
            for (name, found) in names.iter().zip(&mut found) {
                if (span.end - span.start) as usize == name.len() + 2
                    && &bytes[span.start as usize + 1..span.end as usize - 1] == name.as_bytes()
                {
                    found.get_or_insert(Val { tape: self.tape, at: key + 1 });
                }
            }
            key = value.next;
        }
        found
    }

    /// The text of a string member, still escaped; empty if there is none. Looks without claiming.
    pub fn str_or_empty(&self, name: &str) -> &'t str {
        match self.get(name) {
            Some(val) if val.kind() == Kind::String => &val.text()[1..val.text().len() - 1],
            _ => "",
        }
    }

    /// Members in order, if this is an object.
    pub fn members(&self) -> impl Iterator<Item = (Str<'t>, Val<'t>)> + use<'t> {
        let tape = self.tape;
        self.children(Kind::Object, 2).map(move |at| {
            let key = Val { tape, at }.text();
            (Str::escaped(&key[1..key.len() - 1]), Val { tape, at: at + 1 })
        })
    }

    /// Elements in order, if this is an array.
    pub fn elements(&self) -> impl Iterator<Item = Val<'t>> + use<'t> {
        let tape = self.tape;
        self.children(Kind::Array, 1).map(move |at| Val { tape, at })
    }

    /// Node numbers of the children, `stride` nodes apart plus their subtrees.
    fn children(&self, kind: Kind, stride: u32) -> impl Iterator<Item = u32> + use<'t> {
        let node = self.node();
        let tape = self.tape;
        let end = if node.kind == kind { node.next } else { self.at };
        let mut next = self.at + 1;
        std::iter::from_fn(move || {
            let at = next;
            if at >= end {
                return None;
            }
            next = tape.nodes[(at + stride - 1) as usize].next;
            Some(at)
        })
    }

    /// The strings in this value, itself included, in order.
    pub(crate) fn strings(&self) -> impl Iterator<Item = Val<'t>> + use<'t> {
        let tape = self.tape;
        let nodes = (self.at..self.node().next).map(move |at| Val { tape, at });
        nodes.filter(|val| val.kind() == Kind::String)
    }

    /// Claims this value and everything in it.
    #[inline]
    pub fn claim(&self, claim: Claim) {
        let mark = &self.tape.marks[self.at as usize];
        let known = mark.get();
        let before =
            if known.claim == Claim::Free { self.tape.last_claimed.replace(self.at) } else { known.before };
        // Who claims a value again for the same field does not undo that it could not be said.
        let unsaid = known.unsaid.filter(|_| known.claim.field() == claim.field());
        mark.set(Mark { claim, unsaid, before });
    }

    /// The claim on exactly this value.
    pub fn claimed(&self) -> Claim {
        self.mark().claim
    }

    fn mark(&self) -> Mark {
        self.tape.marks[self.at as usize].get()
    }

    /// Marks a claimed value as one that the writer could not say.
    pub(crate) fn unsaid(&self, reason: Reason) {
        self.tape.marks[self.at as usize].set(Mark { unsaid: Some(reason), ..self.mark() });
    }

    /// Takes the value: it moves into that field of the model.
    pub fn take(&self, field: Field) -> Raw<'t> {
        self.claim(Claim::Taken(field));
        self.raw()
    }

    /// Notes the value: understood as that field, and it stays.
    pub fn note(&self, field: Field) -> Raw<'t> {
        self.claim(Claim::Noted(field));
        self.raw()
    }

    /// Takes this string; anything else is left alone.
    pub fn take_text(&self, field: Field) -> Option<Str<'t>> {
        self.claim_if(Claim::Taken(field), self.str())
    }

    /// Notes this string; anything else is left alone.
    pub fn note_text(&self, field: Field) -> Option<Str<'t>> {
        self.claim_if(Claim::Noted(field), self.str())
    }

    /// Takes a string member; a member of another type is left alone.
    pub fn take_str(&self, name: &str, field: Field) -> Option<Str<'t>> {
        self.get(name).and_then(|val| val.take_text(field))
    }

    /// Takes this time, if it is written as RFC 3339 has it; any other is left alone.
    pub fn take_time(&self, field: Field) -> Option<Raw<'t>> {
        self.is_time().then(|| self.take(field))
    }

    /// Whether this is a time as RFC 3339 has it.
    pub fn is_time(&self) -> bool {
        self.str().is_some_and(|text| is_rfc3339(text.as_escaped().as_bytes()))
    }

    /// Notes a string member; a member of another type is left alone.
    pub fn note_str(&self, name: &str, field: Field) -> Option<Str<'t>> {
        self.get(name).and_then(|val| val.note_text(field))
    }

    /// Takes a whole-number member.
    pub fn take_u64(&self, name: &str, field: Field) -> Option<u64> {
        self.get(name).and_then(|val| val.claim_if(Claim::Taken(field), val.u64()))
    }

    /// Notes a whole-number member.
    pub fn note_u64(&self, name: &str, field: Field) -> Option<u64> {
        self.get(name).and_then(|val| val.claim_if(Claim::Noted(field), val.u64()))
    }

    /// Takes a boolean member.
    pub fn take_bool(&self, name: &str, field: Field) -> Option<bool> {
        self.get(name).and_then(|val| val.claim_if(Claim::Taken(field), val.bool()))
    }

    /// Takes a member of any type but `null`.
    pub fn take_raw(&self, name: &str, field: Field) -> Option<Raw<'t>> {
        self.get(name).filter(|val| !val.is_null()).map(|val| val.take(field))
    }

    /// Notes a member of any type.
    pub fn note_raw(&self, name: &str, field: Field) -> Option<Raw<'t>> {
        self.get(name).map(|val| val.note(field))
    }

    fn claim_if<T>(&self, claim: Claim, value: Option<T>) -> Option<T> {
        if value.is_some() {
            self.claim(claim);
        }
        value
    }

    /// Shows the subtree to `visitor`, in order.
    #[inline]
    pub(crate) fn walk(&self, visitor: &mut impl Visit<'t>) {
        let end = self.node().next;
        let mut at = self.at;
        let mut name = None;
        // The ends of the containers we are in.
        let mut open: [u32; 128] = [0; 128];
        let mut depth = 0;
        while at < end {
            while depth > 0 && open[depth - 1] == at {
                depth -= 1;
                visitor.leave();
            }
            let mut val = Val { tape: self.tape, at };
            if val.node().kind == Kind::Key {
                name = Some(val);
                val = Val { tape: self.tape, at: at + 1 };
            }
            let Node { next, .. } = *val.node();
            let Mark { claim, unsaid, before: _ } = val.mark();
            let leaf = next == val.at + 1;
            if claim != Claim::Free || leaf || depth == open.len() {
                visitor.value(name.take(), val, claim, unsaid);
                at = next;
            } else {
                visitor.enter(name.take());
                open[depth] = next;
                depth += 1;
                at = val.at + 1;
            }
        }
        for _ in 0..depth {
            visitor.leave();
        }
    }
}

impl std::fmt::Debug for Val<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// Whom [`Val::walk`] shows a document to.
pub(crate) trait Visit<'t> {
    /// A container with something free in it begins.
    fn enter(&mut self, name: Option<Val<'t>>);

    /// A leaf, or a container that was claimed as a whole.
    fn value(&mut self, name: Option<Val<'t>>, val: Val<'t>, claim: Claim, unsaid: Option<Reason>);

    /// The innermost container ends.
    fn leave(&mut self);
}

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
