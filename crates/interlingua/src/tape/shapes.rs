//! The shapes of earlier frames. A running agent prints frames of few shapes: the same names in the same order, around
//! other values. Most values repeat, too.
//!
//! A [`Shape`] is the last frame of its shape, with its tape. A new frame is compared with the frame of a shape: the tape of
//! equal bytes is copied, a value that differs is read, and the comparison continues after the value. Where the bytes between
//! two values differ, a [`Turn`] leads to the shape of an earlier frame that differed in the same way; without a turn, the
//! parser reads the rest of the frame as usual, and the frame becomes a shape of its own. A frame has the same tape with and
//! without shapes.
//!
//! The memory of all shapes is bounded. Shapes that are full and no longer fit the frames are dropped.

use std::cell::Cell;

use wide::u8x16;

use super::parse::{ARRAY_END, Broken, OBJECT_END, OpenContainer, Parser, short_string};
use super::{Kind, Mark, Name, Node};

/// The shapes, and the relation of the current frame to them.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    all: Vec<Shape>,
    /// The shape of the last frame that had one.
    last: usize,
    /// The depth limit under which all shapes were read.
    depth: usize,
    /// The size of all shapes in bytes.
    bytes: usize,
    /// The number of frames that found no room.
    refused: usize,
    current: Current,
}

/// The relation of the current frame to the shapes.
#[derive(Clone, Copy, Debug, Default)]
enum Current {
    /// The frame has no shape.
    #[default]
    None,
    /// The frame has this shape, with so many other values.
    Has { shape: usize, changed: usize },
    /// The frame differs from this shape before a value. The bytes between that value and the value before it begin at
    /// `gap`.
    Left { shape: usize, node: usize, gap: usize },
}

/// A frame without oddities, and its tape.
#[derive(Debug)]
struct Shape {
    text: Vec<u8>,
    nodes: Vec<Node>,
    /// The end of each leaf, and of the opening bracket of each container with values.
    reach: Vec<u32>,
    /// The numbers of the containers with values, in the order of their ends.
    filled: Vec<u32>,
    /// For each value, a number that the ledger keeps; zero for none.
    rows: Vec<Cell<u32>>,
    turns: Vec<Turn>,
    /// The earlier shape that has a turn to this shape, and the number of the first value that differs.
    parent: Option<(usize, usize)>,
    /// The shape of the frame after the last frame of this shape.
    next: usize,
}

/// A shape that begins like another shape.
#[derive(Debug)]
struct Turn {
    /// The number of the first value that differs.
    node: usize,
    /// The bytes before that value, with the bracket of a container; or the bytes after the last value.
    gap: Box<[u8]>,
    /// The index of the other shape, which is always later.
    shape: usize,
}

impl Shapes {
    /// The size of the largest frame that becomes a shape.
    const LARGEST: usize = 4096;
    /// The maximum size of all shapes.
    const MOST_BYTES: usize = 1 << 17;
    /// The maximum number of turns of a shape: each costs a comparison.
    const MOST_TURNS: usize = 16;
    /// The number of values that may change without a copy of the frame.
    const MOST_CHANGES: usize = 3;
    /// The number of frames without room after which all shapes are dropped.
    const MOST_REFUSED: usize = 1024;

    /// Begins a frame.
    pub(super) fn begin(&mut self, depth: usize) {
        self.current = Current::None;
        if self.depth != depth {
            *self = Self { depth, ..Self::default() };
        }
    }

    /// The numbers that the ledger keeps for the values of the frame, if the frame has a shape.
    pub(super) fn rows(&self) -> &[Cell<u32>] {
        let Current::Has { shape, .. } = self.current else { return &[] };
        self.all.get(shape).map_or(&[], |shape| &shape.rows)
    }

    /// Remembers a frame without oddities.
    pub(super) fn remember(&mut self, text: &[u8], nodes: &[Node]) {
        match self.current {
            Current::Has { changed, .. } if changed <= Self::MOST_CHANGES => {}
            Current::Has { shape, .. } => self.replace(shape, text, nodes),
            Current::None if self.all.is_empty() => self.add(text, nodes, None),
            Current::None => {}
            Current::Left { shape, node, gap } => self.add_after(shape, node, gap, text, nodes),
        }
        if let Current::Has { shape, .. } = self.current {
            if let Some(last) = self.all.get_mut(self.last) {
                last.next = shape;
            }
            self.last = shape;
        }
    }

    /// Adds the frame as a shape that begins like another shape.
    #[inline(never)]
    fn add_after(&mut self, shape: usize, node: usize, gap: usize, text: &[u8], nodes: &[Node]) {
        let new = self.all.len();
        let end =
            nodes.get(node).map_or(text.len(), |node| node.start as usize + usize::from(node.is_filled()));
        let Some(gap) = text.get(gap..end).filter(|gap| gap.len() <= LONGEST_GAP) else { return };
        if self.all.get(shape).is_none_or(|shape| shape.turns.len() >= Self::MOST_TURNS) {
            return self.refuse();
        }
        self.add(text, nodes, Some((shape, node)));
        if self.all.len() > new
            && let Some(shape) = self.all.get_mut(shape)
        {
            shape.turns.push(Turn { node, gap: gap.into(), shape: new });
        }
    }

    /// Adds the frame as a shape.
    #[inline(never)]
    fn add(&mut self, text: &[u8], nodes: &[Node], parent: Option<(usize, usize)>) {
        let size = size_of_frame(text, nodes);
        // A space after a bracket could be followed by the end of the container in another frame.
        let is_spaced = |node: &Node| {
            node.is_filled() && text.get(node.start as usize + 1).is_none_or(|next| *next <= b' ')
        };
        if text.len() > Self::LARGEST || nodes.iter().any(is_spaced) {
            return;
        }
        if self.bytes + size > Self::MOST_BYTES {
            return self.refuse();
        }
        self.bytes += size;
        self.current = Current::Has { shape: self.all.len(), changed: 0 };
        let mut filled: Vec<u32> = nodes.iter().filter(|node| node.is_filled()).map(|node| node.at).collect();
        filled.sort_by_key(|filled| nodes.get(*filled as usize).map(|node| node.end));
        self.all.push(Shape {
            text: text.to_vec(),
            nodes: nodes.to_vec(),
            reach: nodes.iter().map(Node::reach).collect(),
            filled,
            rows: vec![Cell::new(0); nodes.len()],
            turns: Vec::new(),
            parent,
            next: self.all.len(),
        });
    }

    /// Replaces the frame of a shape.
    fn replace(&mut self, shape: usize, text: &[u8], nodes: &[Node]) {
        let Some(shape) = self.all.get_mut(shape) else { return };
        let bytes = self.bytes - shape.text.len() + text.len();
        if text.len() > Self::LARGEST || bytes > Self::MOST_BYTES {
            return;
        }
        self.bytes = bytes;
        shape.text.clear();
        shape.text.extend_from_slice(text);
        shape.nodes.clear();
        shape.nodes.extend_from_slice(nodes);
        shape.reach.clear();
        shape.reach.extend(nodes.iter().map(Node::reach));
    }

    /// The shape of a frame that differs from the shape `index` before a value; these bytes precede the value. A frame that
    /// differs from a shape earlier than its parent differs from the parent, too: without a turn, `index` becomes the last
    /// shape that the frame differs from.
    #[inline]
    fn turn(&self, index: &mut usize, node: usize, gap: &[u8]) -> Option<usize> {
        loop {
            let shape = self.all.get(*index)?;
            let turn = shape.turns.iter().find(|turn| turn.node == node && gap.starts_with(&turn.gap));
            if let Some(turn) = turn {
                return Some(turn.shape);
            }
            match shape.parent? {
                (_, differs) if node > differs => return None,
                (parent, differs) if node == differs => return Some(parent),
                (parent, _) => *index = parent,
            }
        }
    }

    /// Counts a frame without room. After too many, all shapes are dropped.
    fn refuse(&mut self) {
        self.refused += 1;
        if self.refused >= Self::MOST_REFUSED {
            *self = Self { depth: self.depth, ..Self::default() };
        }
    }
}

/// The size of a frame as a shape.
fn size_of_frame(text: &[u8], nodes: &[Node]) -> usize {
    // The frame, the tape, two numbers for each value, and the lists themselves.
    text.len() + nodes.len() * (size_of::<Node>() + 2 * size_of::<u32>()) + size_of::<Shape>()
}

/// The longest gap of a turn.
const LONGEST_GAP: usize = 128;

impl Shape {
    /// The end of the bracket or value before the value with this number.
    fn end_before(&self, node: usize) -> usize {
        node.checked_sub(1).and_then(|before| self.reach.get(before)).map_or(0, |end| *end as usize)
    }
}

impl Node {
    /// Whether this is a container with values.
    #[inline]
    const fn is_filled(&self) -> bool {
        self.next != self.at + 1
    }

    /// The end of a leaf, or of the opening bracket of a container with values.
    #[inline]
    const fn reach(&self) -> u32 {
        if self.is_filled() { self.start + 1 } else { self.end }
    }

    /// The same node in a frame whose bytes are shifted, without a claim.
    #[inline]
    fn shifted(&self, shift: u32) -> Self {
        Self {
            at: self.at,
            start: self.start.wrapping_add(shift),
            end: self.end.wrapping_add(shift),
            next: self.next,
            name: self.name.shifted(shift),
            kind: self.kind,
            mark: Cell::new(Mark::FREE),
        }
    }
}

impl Name {
    #[inline]
    const fn shifted(self, shift: u32) -> Self {
        // An element of a list has no name.
        let start = self.start.wrapping_add(if self.start == 0 { 0 } else { shift });
        Self { start, ..self }
    }
}

impl<'p> Parser<'p> {
    /// Reads the document along the shapes, as far as it has one of them. Returns whether the document has ended; otherwise
    /// the next member or element begins.
    ///
    /// The caller has checked that the document is too short for the limit on values.
    #[inline(never)]
    pub(super) fn follow(
        &mut self,
        shapes: &mut Shapes,
        rest: &mut &'p [u8],
        inside: &mut OpenContainer,
    ) -> Result<bool, Broken> {
        let bytes = self.bytes;
        // Frames follow each other in the same order most of the time.
        let mut index = shapes.all.get(shapes.last).map_or(0, |last| last.next);
        let Some(mut shape) = shapes.all.get(index) else { return Ok(false) };
        // The number of values that differ, and the value before which the last turn was taken.
        let (mut changed, mut last_turn) = (0, None);
        // The next value, and the place after the value before it: in the shape and in the document.
        let (mut node, mut known, mut read) = (0, 0, 0);
        // The number of containers that have ended.
        let mut ended = 0;
        let gap = loop {
            let unread = bytes.get(read..).unwrap_or_default();
            let equal = known + common(shape.text.get(known..).unwrap_or_default(), unread);
            let shift = (read as u32).wrapping_sub(known as u32);
            // The byte after a value shows its end.
            let reach = shape.reach.get(node..).unwrap_or_default();
            let same = node + reach.iter().take_while(|end| (**end as usize) < equal).count();
            let copied = shape.nodes.get(node..same).unwrap_or_default();
            self.nodes.extend(copied.iter().map(|node| node.shifted(shift)));
            node = same;
            if let Some(next) = shape.nodes.get(node) {
                let start = read + (next.start as usize).wrapping_sub(known);
                if next.start as usize <= equal
                    && let Some(&first @ b'!'..) = bytes.get(start)
                {
                    if !next.is_filled() && !matches!(first, b'{' | b'[') {
                        let mut after = bytes.get(start..).unwrap_or_default();
                        let kind = self.scalar(&mut after, start, first)?;
                        ended = self.end_containers(shape, ended, next.start, shift);
                        (known, read) = (next.end as usize, bytes.len() - after.len());
                        self.nodes.push(Node { end: read as u32, kind, ..next.shifted(shift) });
                        (node, changed) = (node + 1, changed + 1);
                        continue;
                    }
                    let is_same = shape.text.get(next.start as usize) == Some(&first);
                    if next.is_filled() && is_same && is_filled(first, bytes.get(start + 1)) {
                        ended = self.end_containers(shape, ended, next.start, shift);
                        (known, read) = (next.start as usize + 1, start + 1);
                        self.nodes.push(next.shifted(shift));
                        node += 1;
                        continue;
                    }
                }
            } else if equal == shape.text.len() && bytes.len() - read == equal - known {
                self.end_containers(shape, ended, u32::MAX, shift);
                self.filled = shape.filled.len() as u32;
                shapes.current = Current::Has { shape: index, changed };
                return Ok(true);
            }
            // The bytes between two values differ, or a container and a scalar.
            let end = shape.end_before(node);
            let gap = read + (end - known);
            ended = self.end_containers(shape, ended, end as u32, shift);
            let taken = shapes.turn(&mut index, node, bytes.get(gap..).unwrap_or_default());
            // A frame that leaves two shapes at the same value has neither.
            let other = taken.filter(|other| *other > index || last_turn != Some(node));
            let Some(found) = other.and_then(|other| shapes.all.get(other)) else { break gap };
            last_turn = Some(node);
            (index, shape) = (other.unwrap_or(index), found);
            (known, read) = (shape.end_before(node), gap);
        };
        self.filled = self.nodes.iter().filter(|node| node.is_filled()).count() as u32;
        let open = shape.filled.iter().skip(ended).filter(|filled| (**filled as usize) < node);
        // The outermost container ends last.
        for filled in open.rev() {
            let Some(kind) = self.nodes.get(*filled as usize).map(|node| node.kind) else { break };
            let bracket = if kind == Kind::Object { OBJECT_END } else { ARRAY_END };
            self.open.push(*inside);
            *inside = OpenContainer { names: self.names_in(*filled), node: *filled, bracket };
        }
        shapes.current = Current::Left { shape: index, node, gap };
        if node == 0 {
            return Ok(false);
        }
        *rest = bytes.get(gap..).unwrap_or_default();
        let is_open = inside.node as usize == node - 1 && !self.open.is_empty();
        if is_open { Ok(false) } else { self.after_value(rest, inside) }
    }

    /// Sets the ends of the containers that end up to `end` in the shape. Returns the number of containers that have ended.
    #[inline]
    fn end_containers(&mut self, shape: &Shape, ended: usize, end: u32, shift: u32) -> usize {
        let mut count = ended;
        while let Some(known) = shape.filled.get(count).and_then(|filled| shape.nodes.get(*filled as usize))
            && known.end <= end
        {
            let node = &mut self.nodes[known.at as usize];
            (node.end, node.next) = (known.end.wrapping_add(shift), known.next);
            count += 1;
        }
        count
    }

    /// Reads a value that is no container.
    #[expect(clippy::inline_always, reason = "called once, for every value that differs")]
    #[inline(always)]
    fn scalar(&mut self, rest: &mut &'p [u8], start: usize, first: u8) -> Result<Kind, Broken> {
        if first != b'"' {
            return self.plain_value(rest, start, first);
        }
        *rest = match short_string(rest) {
            Ok(after) => after,
            Err(read) => self.long_string(start + 1 + read)?,
        };
        Ok(Kind::String)
    }

    /// The bit set of the names in an open container.
    fn names_in(&self, container: u32) -> u64 {
        let (mut names, mut at) = (0, container as usize + 1);
        while let Some(node) = self.nodes.get(at) {
            names |= 1 << (node.name.hash & 63);
            at = node.next as usize;
        }
        names
    }
}

/// Whether a container with this bracket holds values, without a space before them.
fn is_filled(bracket: u8, next: Option<&u8>) -> bool {
    // Each closing bracket follows its opening bracket in ASCII, after one other character.
    next.is_some_and(|next| *next > b' ' && *next != bracket + 2)
}

/// The number of equal bytes at the beginning.
#[inline]
fn common(one: &[u8], two: &[u8]) -> usize {
    let both = one.len().min(two.len());
    let (one, two) = (one.get(..both).unwrap_or_default(), two.get(..both).unwrap_or_default());
    let mut at = 0;
    for (one, two) in one.as_chunks::<16>().0.iter().zip(two.as_chunks::<16>().0) {
        let equal = u8x16::new(*one).cmp_eq(u8x16::new(*two)).move_mask();
        if equal != 0xffff {
            return at + equal.trailing_ones() as usize;
        }
        at += 16;
    }
    let rest = one.iter().zip(two).skip(at);
    at + rest.take_while(|(one, two)| one == two).count()
}

#[cfg(test)]
mod tests {
    use crate::tape::{Limits, TapeBuf};

    /// The nodes of a document, or its fault, and the problems of its values.
    fn told(buf: &mut TapeBuf, text: &str, limits: &Limits) -> String {
        match buf.parse(text, limits) {
            Ok(tape) => {
                format!("{:?} {} {:?}", tape.nodes, tape.leaves, tape.duplicate_key)
                    + &format!("{:?} {:?}", tape.lone_surrogate, tape.number_overflow)
            }
            Err(fault) => format!("{fault:?}"),
        }
    }

    fn with_shapes() -> TapeBuf {
        let mut buf = TapeBuf::default();
        buf.remember_shapes();
        buf
    }

    const SEED: &str = r#"{"a":[1,-2.5e+3,"x\u00e9\n",{"b":null,"c":true},[],{}],"d":"\"q\"","e":{"f":{"g":[[0]]}},"h":false}"#;

    #[test]
    fn a_frame_has_the_same_tape_with_and_without_shapes() {
        let mut shaped = with_shapes();
        told(&mut shaped, SEED, &Limits::default());
        let mut check = |text: &str| {
            let plain = told(&mut TapeBuf::default(), text, &Limits::default());
            // The first frame may leave the tree and extend it; the second follows the tree as far as possible.
            for _ in 0..2 {
                assert_eq!(told(&mut shaped, text, &Limits::default()), plain, "{text}");
            }
        };
        for at in 0..SEED.len() {
            for byte in 0..128u8 {
                let mut bytes = SEED.as_bytes().to_vec();
                bytes[at] = byte;
                check(&String::from_utf8(bytes).expect("ascii"));
            }
            check(&SEED[..at]);
            check(&SEED[at..]);
            for more in [" ", "\n", "{}", "1", ",", "\"a\":1,", "}"] {
                check(&format!("{}{more}{}", &SEED[..at], &SEED[at..]));
            }
        }
    }

    #[test]
    fn limits_hold_along_a_shape() {
        let mut shaped = with_shapes();
        told(&mut shaped, SEED, &Limits::default());
        for depth in 0..6 {
            let limits = Limits { depth, ..Limits::default() };
            assert_eq!(told(&mut shaped, SEED, &limits), told(&mut TapeBuf::default(), SEED, &limits));
        }
        for nodes in 0..40 {
            let limits = Limits { nodes, ..Limits::default() };
            assert_eq!(told(&mut shaped, SEED, &limits), told(&mut TapeBuf::default(), SEED, &limits));
        }
    }

    #[test]
    fn a_known_shape_has_a_number_for_each_value() {
        let mut shaped = with_shapes();
        told(&mut shaped, SEED, &Limits::default());
        let other = SEED.replace("true", "12").replace("-2.5e+3", "\"text\"");
        for text in [SEED, &other, SEED] {
            let tape = shaped.parse(text, &Limits::default()).expect("legal");
            assert_eq!(tape.rows.len(), tape.nodes.len(), "{text}");
        }
        assert_eq!(shaped.shapes.map_or(0, |shapes| shapes.all.len()), 1);
    }

    #[test]
    fn frames_that_differ_in_the_same_way_share_a_shape() {
        let mut shaped = with_shapes();
        for number in 0..100 {
            for kind in ["a", "b", "c"] {
                let text = format!("{{\"type\":\"{kind}\",\"{kind}\":{{\"id\":{number},\"list\":[1]}}}}");
                told(&mut shaped, &text, &Limits::default());
            }
        }
        assert_eq!(shaped.shapes.map_or(0, |shapes| shapes.all.len()), 3);
    }

    #[test]
    fn a_known_frame_with_odd_values_is_still_odd() {
        let mut shaped = with_shapes();
        for text in ["{\"a\":\"b\",\"c\":1}", "{\"a\":\"\\ud800\",\"c\":1}", "{\"a\":\"b\",\"c\":1e999}"] {
            for _ in 0..3 {
                let plain = told(&mut TapeBuf::default(), text, &Limits::default());
                assert_eq!(told(&mut shaped, text, &Limits::default()), plain);
            }
        }
    }

    #[test]
    fn shapes_are_bounded_and_follow_new_frames() {
        let mut shaped = with_shapes();
        for number in 0..5000 {
            let text = format!("{{\"a{}\":{{\"b{number}\":1}}}}", number % 10);
            told(&mut shaped, &text, &Limits::default());
            let bytes = shaped.shapes.as_ref().map_or(0, |shapes| shapes.bytes);
            assert!(bytes <= super::Shapes::MOST_BYTES);
        }
        let frame = r#"{"new":{"shape":[1,2]}}"#;
        for _ in 0..2000 {
            told(&mut shaped, frame, &Limits::default());
        }
        let tape = shaped.parse(frame, &Limits::default()).expect("legal");
        assert_eq!(tape.rows.len(), 5);
    }
}
