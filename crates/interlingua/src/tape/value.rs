//! A value on the tape: access, claims and walks. Text is decoded only on request.

use super::parse::{hash_of, short_word};
use super::{Claim, Kind, Mark, Name, Node, Tape};
use crate::json::{Raw, Str, is_rfc3339, same};
use crate::ledger::Reason;
use crate::model::Field;

/// A value on a tape.
#[derive(Clone, Copy)]
pub struct Val<'t> {
    pub(super) tape: &'t Tape<'t>,
    pub(super) node: &'t Node,
}

impl<'t> Val<'t> {
    /// The kind of this value.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.node.kind
    }

    /// The text of the value in the frame.
    #[inline]
    pub fn text(&self) -> &'t str {
        let node = self.node;
        self.slice(node.start, node.end)
    }

    /// A slice of the frame between two node positions. The access cannot fail, so it costs nothing if the slice is
    /// unused.
    #[inline]
    fn slice(&self, start: u32, end: u32) -> &'t str {
        self.tape.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The text of the whole frame.
    pub(crate) fn frame_text(&self) -> &'t str {
        self.tape.text
    }

    /// The hash of the member's name.
    pub(crate) fn name_hash(&self) -> u32 {
        self.node.name.hash
    }

    /// The name of a member as one number, if it has fewer than sixteen bytes. Distinct names of the same length have
    /// distinct numbers.
    #[inline]
    pub(crate) fn short_name(&self) -> Option<u128> {
        let name = self.node.name;
        let chunk = self.tape.text.as_bytes().get(name.start as usize..)?.first_chunk::<16>()?;
        (name.len < 16).then(|| short_word(*chunk, name.len as usize))
    }

    /// The length of the member's name.
    #[inline]
    pub(crate) fn name_length(&self) -> u32 {
        self.node.name.len
    }

    /// The member's name as spelled, with the closing quote; empty if the value is not a member.
    #[inline]
    pub(crate) fn quoted_name(&self) -> &'t [u8] {
        let name = self.node.name;
        if name.start == 0 {
            return &[];
        }
        let start = name.start as usize;
        self.tape.text.as_bytes().get(start..start + name.len as usize + 1).unwrap_or_default()
    }

    /// The value, verbatim.
    #[inline]
    pub fn raw(&self) -> Raw<'t> {
        Raw::new(self.text())
    }

    /// The start and end of the value in the frame.
    pub fn span(&self) -> std::ops::Range<usize> {
        let node = self.node;
        node.start as usize..node.end as usize
    }

    /// The number of scalars and empty containers in this value.
    #[inline(never)]
    pub fn leaves(&self) -> u32 {
        let inside = &self.tape.nodes[self.node.at as usize..self.node.next as usize];
        inside.iter().zip(self.node.at + 1..).filter(|(node, after)| node.next == *after).count() as u32
    }

    /// The string, if the value is a string.
    #[inline]
    pub fn str(&self) -> Option<Str<'t>> {
        let node = self.node;
        (node.kind == Kind::String).then(|| Str::escaped(self.slice(node.start + 1, node.end - 1)))
    }

    /// The number, if the value is an integer that fits.
    pub fn u64(&self) -> Option<u64> {
        let node = self.node;
        let digits = &self.tape.text.as_bytes()[node.start as usize..node.end as usize];
        if node.kind != Kind::Number || digits.len() > 18 {
            return self.large_u64();
        }
        // This few digits always fit; any other byte means that the number is not an unsigned integer.
        digits.iter().try_fold(0, |number, byte| match byte {
            b'0'..=b'9' => Some(number * 10 + u64::from(byte - b'0')),
            _ => None,
        })
    }

    #[cold]
    fn large_u64(&self) -> Option<u64> {
        if self.kind() == Kind::Number { self.text().parse().ok() } else { None }
    }

    /// The boolean, if the value is one.
    pub fn bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.text() == "true")
    }

    /// Whether the value is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether the value is a string with exactly this plain text.
    #[inline]
    pub fn is(&self, plain: &str) -> bool {
        let node = self.node;
        // Most strings differ in length: with its quotes, a string is never shorter than its plain text.
        let length = (node.end - node.start) as usize;
        length >= plain.len() + 2
            && (length == 2 || !plain.is_empty())
            && self.str().is_some_and(|text| text.is(plain))
    }

    /// The first member with the name, if this is an object. Does not claim.
    pub fn get(&self, name: &str) -> Option<Val<'t>> {
        let (tape, node) = (self.tape, self.node);
        let end = if node.kind == Kind::Object { node.next } else { self.node.at };
        let mut at = self.node.at + 1;
        while at < end {
            let node = &tape.nodes[at as usize];
            if self.is_named(node, name.as_bytes()) {
                return Some(Val { tape, node });
            }
            at = node.next;
        }
        None
    }

    /// Several members in one pass: the first of each name, if this is an object. Does not claim.
    #[inline]
    pub fn get_all<const N: usize>(&self, names: [&str; N]) -> [Option<Val<'t>>; N] {
        let mut found = [None; N];
        let (tape, node) = (self.tape, self.node);
        let end = if node.kind == Kind::Object { node.next } else { self.node.at };
        let mut at = self.node.at + 1;
        while at < end {
            let node = &tape.nodes[at as usize];
            for (name, found) in names.iter().zip(&mut found) {
                if self.is_named(node, name.as_bytes()) {
                    found.get_or_insert(Val { tape, node });
                    break;
                }
            }
            at = node.next;
        }
        found
    }

    /// Several members in one pass, for names that are looked up on every line: the first of each name, if this is an
    /// object. Does not claim.
    #[inline]
    pub(crate) fn find<const N: usize>(&self, wanted: &WantedNames<N>) -> [Option<Val<'t>>; N] {
        let mut found: [Option<&Node>; N] = [None; N];
        let (tape, node) = (self.tape, self.node);
        let end = if node.kind == Kind::Object { node.next } else { self.node.at };
        let mut at = self.node.at + 1;
        while at < end {
            let node = &tape.nodes[at as usize];
            let number = wanted.number_of(node.name.hash);
            if let (Some(name), Some(found)) = (wanted.names.get(number), found.get_mut(number))
                && name.hash == node.name.hash
                && found.is_none()
                && self.is_named(node, &name.bytes[..name.len])
            {
                *found = Some(node);
            }
            at = node.next;
        }
        found.map(|node| node.map(|node| Val { tape, node }))
    }

    #[inline]
    fn is_named(&self, node: &Node, name: &[u8]) -> bool {
        // Most names differ in length.
        node.name.len as usize == name.len() && {
            let start = node.name.start as usize;
            same(&self.tape.text.as_bytes()[start..start + name.len()], name)
        }
    }

    /// The text of a string member, still escaped; empty if missing. Does not claim.
    pub fn str_or_empty(&self, name: &str) -> &'t str {
        self.get(name).word()
    }

    /// Whether a member with the name and kind exists. Does not claim.
    pub fn has_kind(&self, name: &str, kind: Kind) -> bool {
        self.get(name).is_some_and(|member| member.kind() == kind)
    }

    /// Whether a string member with the name exists.
    pub fn has_str(&self, name: &str) -> bool {
        self.get(name).is_some_and(|member| member.kind() == Kind::String)
    }

    /// The members in order, if this is an object.
    pub fn members(&self) -> impl Iterator<Item = (Str<'t>, Val<'t>)> + use<'t> {
        let text = self.tape.text;
        let name = move |val: &Val<'t>| Str::escaped(val.node.name.text(text).unwrap_or_default());
        self.children(Kind::Object).map(move |val| (name(&val), val))
    }

    /// The values of the members in order, if this is an object.
    pub(crate) fn member_values(&self) -> impl Iterator<Item = Val<'t>> + use<'t> {
        self.children(Kind::Object)
    }

    /// The elements in order, if this is an array.
    pub fn elements(&self) -> impl Iterator<Item = Val<'t>> + use<'t> {
        self.children(Kind::Array)
    }

    fn children(&self, kind: Kind) -> impl Iterator<Item = Val<'t>> + use<'t> {
        self.children_up_to(if self.node.kind == kind { self.node.next } else { self.node.at })
    }

    /// The members or elements in order.
    #[inline]
    pub(crate) fn inner_values(&self) -> impl Iterator<Item = Val<'t>> + use<'t> {
        // For a scalar the range is empty.
        self.children_up_to(self.node.next)
    }

    #[inline]
    fn children_up_to(&self, end: u32) -> impl Iterator<Item = Val<'t>> + use<'t> {
        let tape = self.tape;
        let mut next = self.node.at + 1;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let node = &tape.nodes[next as usize];
            next = node.next;
            Some(Val { tape, node })
        })
    }

    /// The strings in this value, including itself, in order.
    pub(crate) fn strings(&self) -> impl Iterator<Item = Val<'t>> + use<'t> {
        let tape = self.tape;
        let nodes = &tape.nodes[self.node.at as usize..self.node.next as usize];
        nodes.iter().map(move |node| Val { tape, node }).filter(|val| val.kind() == Kind::String)
    }

    /// Claims this value and all values in it.
    #[inline]
    pub fn claim(&self, claim: Claim) {
        let mark = &self.node.mark;
        let known = mark.get();
        if known.claim == Claim::Free {
            self.tape.remember(self.node.at);
            return mark.set(Mark { claim, unsaid: None });
        }
        // A second claim for the same field keeps the mark for a lost value.
        let unsaid = known.unsaid.filter(|_| known.claim.field() == claim.field());
        mark.set(Mark { claim, unsaid });
    }

    /// The claim on exactly this value.
    pub fn claimed(&self) -> Claim {
        self.node.mark.get().claim
    }

    /// Marks a claimed value as one that the writer could not write.
    pub(crate) fn unsaid(&self, reason: Reason) {
        let mark = &self.node.mark;
        mark.set(Mark { unsaid: Some(reason), ..mark.get() });
    }

    /// Takes the value: it moves into the field of the model.
    #[expect(
        clippy::inline_always,
        reason = "who does not look at the value does not pay for its text, but only the caller knows"
    )]
    #[inline(always)]
    pub fn take(&self, field: Field) -> Raw<'t> {
        self.claim(Claim::Taken(field));
        self.raw()
    }

    /// Notes the value: it is read as the field, and stays in the frame.
    #[expect(
        clippy::inline_always,
        reason = "who does not look at the value does not pay for its text, but only the caller knows"
    )]
    #[inline(always)]
    pub fn note(&self, field: Field) -> Raw<'t> {
        self.claim(Claim::Noted(field));
        self.raw()
    }

    /// Takes the value if it is a string; otherwise does not claim it.
    #[inline]
    pub fn take_text(&self, field: Field) -> Option<Str<'t>> {
        self.claim_if(Claim::Taken(field), self.str())
    }

    /// Notes the value if it is a string; otherwise does not claim it.
    #[inline]
    pub fn note_text(&self, field: Field) -> Option<Str<'t>> {
        self.claim_if(Claim::Noted(field), self.str())
    }

    /// Takes a string member; a member of a different type is not claimed.
    pub fn take_str(&self, name: &str, field: Field) -> Option<Str<'t>> {
        self.get(name).and_then(|val| val.take_text(field))
    }

    /// Takes the value if it is an RFC 3339 time; otherwise does not claim it.
    pub fn take_time(&self, field: Field) -> Option<Raw<'t>> {
        self.is_time().then(|| self.take(field))
    }

    /// Whether the value is an RFC 3339 time.
    pub fn is_time(&self) -> bool {
        self.str().is_some_and(|text| is_rfc3339(text.as_escaped().as_bytes()))
    }

    /// Notes a string member; a member of a different type is not claimed.
    pub fn note_str(&self, name: &str, field: Field) -> Option<Str<'t>> {
        self.get(name).and_then(|val| val.note_text(field))
    }

    /// Takes an integer member.
    pub fn take_u64(&self, name: &str, field: Field) -> Option<u64> {
        self.get(name).and_then(|val| val.claim_if(Claim::Taken(field), val.u64()))
    }

    /// Notes an integer member.
    pub fn note_u64(&self, name: &str, field: Field) -> Option<u64> {
        self.get(name).and_then(|val| val.note_count(field))
    }

    /// Notes the value if it is an integer; otherwise does not claim it.
    pub(crate) fn note_count(&self, field: Field) -> Option<u64> {
        self.claim_if(Claim::Noted(field), self.u64())
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

    /// Shows the values in this value in order, including itself: leaves, and containers claimed as a whole.
    #[inline]
    pub(crate) fn walk(&self, mut show: impl FnMut(Visited<'t>)) {
        let tape = self.tape;
        let mut at = self.node.at;
        while at < self.node.next {
            let node = &tape.nodes[at as usize];
            let leaf = node.next == at + 1;
            if node.mark.get().claim == Claim::Free && !leaf {
                at += 1;
            } else {
                show(Visited { val: Val { tape, node } });
                at = node.next;
            }
        }
    }

    /// The value's number in the frame, in the order the values begin.
    pub(crate) fn number(&self) -> u32 {
        self.node.at
    }

    /// The number of the next value after this value and its content.
    pub(crate) fn number_after(&self) -> u32 {
        self.node.next
    }

    /// A place for a number of the ledger, which the values at this place in all documents of the same shape share; zero
    /// means no number.
    #[inline]
    pub(crate) fn row_memo(&self) -> Option<&'t std::cell::Cell<u32>> {
        self.tape.rows.get(self.node.at as usize)
    }

    /// The value with the given number in the same frame.
    pub(crate) fn numbered(&self, number: u32) -> Val<'t> {
        Val { tape: self.tape, node: &self.tape.nodes[number as usize] }
    }

    /// The name of a member.
    pub(crate) fn name(&self) -> Name {
        self.node.name
    }
}

/// An optional member, as returned by [`Val::find`]: a missing member has no text and no claim.
pub(crate) trait Member<'t> {
    /// The member's text, still escaped; empty if it is not a string. Does not claim.
    fn word(self) -> &'t str;
    /// [`Val::take_text`]
    fn take_text(self, field: Field) -> Option<Str<'t>>;
    /// [`Val::note_text`]
    fn note_text(self, field: Field) -> Option<Str<'t>>;
    /// [`Val::take_time`]
    fn take_time(self, field: Field) -> Option<Raw<'t>>;
    /// [`Val::note_count`]
    fn note_count(self, field: Field) -> Option<u64>;
}

impl<'t> Member<'t> for Option<Val<'t>> {
    #[inline]
    fn word(self) -> &'t str {
        match self {
            Some(val) if val.kind() == Kind::String => val.slice(val.node.start + 1, val.node.end - 1),
            _ => "",
        }
    }

    #[inline]
    fn take_text(self, field: Field) -> Option<Str<'t>> {
        self?.take_text(field)
    }

    #[inline]
    fn note_text(self, field: Field) -> Option<Str<'t>> {
        self?.note_text(field)
    }

    #[inline]
    fn take_time(self, field: Field) -> Option<Raw<'t>> {
        self?.take_time(field)
    }

    #[inline]
    fn note_count(self, field: Field) -> Option<u64> {
        self?.note_count(field)
    }
}

impl std::fmt::Debug for Val<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// Names for repeated lookups. Declare as a constant.
pub(crate) struct WantedNames<const N: usize> {
    names: [WantedName; N],
    /// The index of the name for each hash slot; `N` for an empty slot.
    numbers: [u8; 128],
    /// A factor that maps each name's hash to its own slot.
    factor: u32,
}

impl<const N: usize> WantedNames<N> {
    pub(crate) const fn new(names: [&'static str; N]) -> Self {
        Self::spelled(names, b'_')
    }

    /// The same names with a different byte for each underscore.
    pub(crate) const fn spelled(names: [&'static str; N], underscore: u8) -> Self {
        let mut wanted = [WantedName { bytes: [0; 32], len: 0, hash: 0 }; N];
        let mut at = 0;
        while at < N {
            wanted[at] = WantedName::spelled(names[at].as_bytes(), underscore);
            at += 1;
        }
        let mut factor = 1;
        loop {
            let mut numbers = [N as u8; 128];
            let mut at = 0;
            while at < N && numbers[place(wanted[at].hash, factor)] == N as u8 {
                numbers[place(wanted[at].hash, factor)] = at as u8;
                at += 1;
            }
            if at == N {
                return Self { names: wanted, numbers, factor };
            }
            factor += 2;
        }
    }

    /// The index of the only name that may have the hash.
    #[inline]
    fn number_of(&self, hash: u32) -> usize {
        usize::from(self.numbers[place(hash, self.factor)])
    }
}

/// The slot of a hash in a table of 128.
#[inline]
const fn place(hash: u32, factor: u32) -> usize {
    (hash.wrapping_mul(factor) >> 25) as usize
}

/// A name to look up: the first `len` bytes. No name is longer than the array.
#[derive(Clone, Copy)]
struct WantedName {
    bytes: [u8; 32],
    len: usize,
    hash: u32,
}

impl WantedName {
    const fn spelled(name: &[u8], underscore: u8) -> Self {
        let mut bytes = [0; 32];
        let mut at = 0;
        while at < name.len() {
            bytes[at] = if name[at] == b'_' { underscore } else { name[at] };
            at += 1;
        }
        Self { bytes, len: name.len(), hash: hash_of(bytes.split_at(name.len()).0) }
    }
}

/// A value in a walk.
#[derive(Clone, Copy)]
pub(crate) struct Visited<'t> {
    pub(crate) val: Val<'t>,
}

impl Visited<'_> {
    /// The claim on the value, and the reason it could not be written, if any.
    #[inline]
    pub(crate) fn claim(&self) -> (Claim, Option<Reason>) {
        let Mark { claim, unsaid } = self.val.node.mark.get();
        (claim, unsaid)
    }

    /// The start and end of the value in the frame.
    #[inline]
    pub(crate) fn span(&self) -> std::ops::Range<usize> {
        self.val.node.start as usize..self.val.node.end as usize
    }

    /// Whether the value is a scalar or an empty container.
    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.val.node.next == self.val.node.at + 1
    }

    /// The number of scalars and empty containers in the value.
    #[inline]
    pub(crate) fn leaves(&self) -> u64 {
        if self.is_leaf() { 1 } else { u64::from(self.val.leaves()) }
    }
}
