//! The shapes of earlier frames. A running agent prints frames of few shapes: the same names in the same order, around
//! other values. Most values repeat, too.
//!
//! A [`Shape`] is the last frame of its shape, with its tape. A new frame is compared with the frame of a shape: a value that
//! differs is read, and the comparison continues after the value. At the end the shape becomes the new frame: the places of
//! its values move, and the tape stays where it is. Where the bytes between two values differ, a [`Turn`] leads to the shape
//! of an earlier frame that differed in the same way; without a turn, the parser reads the rest of the frame as usual, and the
//! frame becomes a shape of its own. A frame has the same tape with and without shapes.
//!
//! The memory of all shapes is bounded. Shapes that are full and no longer fit the frames are dropped.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use wide::u8x16;

use super::parse::{ARRAY_END, Broken, OBJECT_END, OpenContainer, Parser, short_string};
use super::{Kind, Mark, Name, Node};
use crate::ledger::Settlement;

/// The shapes, and the relation of the current frame to them.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    all: Vec<Shape>,
    order: Order,
    /// The depth limit under which all shapes were read.
    depth: usize,
    /// The size of all shapes in bytes.
    bytes: usize,
    /// The number of frames that found no room.
    refused: usize,
    current: Current,
    /// The values of the current frame that differ from its shape.
    changes: Vec<Change>,
}

/// The relation of the current frame to the shapes.
#[derive(Clone, Copy, Debug, Default)]
enum Current {
    /// The frame has no shape.
    #[default]
    None,
    /// The shape has become the frame, with its tape.
    Is { shape: usize },
    /// The frame has this shape, and a tape of its own.
    Has { shape: usize },
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
    /// The settlement of the last frame of the shape.
    settlement: RefCell<Settlement>,
    turns: Vec<Turn>,
    /// The earlier shape that has a turn to this shape, and the number of the first value that differs.
    parent: Option<(usize, usize)>,
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

/// The order of the shapes: the same shapes are followed by the same shape most of the time.
#[derive(Debug, Default)]
struct Order {
    /// The last four shapes, with sixteen bits each. The last is in the lowest bits.
    last: u64,
    /// The shape that followed four shapes, by their hash. Two rows may share a place.
    after: Vec<(u64, u16)>,
}

impl Order {
    /// The number of rows: a power of two.
    const ROWS: usize = 512;

    /// The shape that follows most likely: the shape that followed the last four shapes, or else the last shape.
    fn next(&self) -> usize {
        [self.last, self.last & 0xffff]
            .iter()
            .find_map(|last| self.after.get(Self::place(*last)).filter(|(known, _)| known == last))
            .map_or(0, |(_, next)| usize::from(*next))
    }

    /// Adds the shape of a frame.
    fn add(&mut self, shape: usize) {
        if self.after.is_empty() {
            self.after.resize(Self::ROWS, (u64::MAX, 0));
        }
        // Shapes are limited in bytes, so there are fewer than 65,536.
        let shape = shape as u16;
        for last in [self.last, self.last & 0xffff] {
            if let Some(row) = self.after.get_mut(Self::place(last)) {
                *row = (last, shape);
            }
        }
        self.last = self.last << 16 | u64::from(shape);
    }

    const fn place(last: u64) -> usize {
        (last.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
    }
}

/// A value that differs from the value of the shape.
#[derive(Clone, Copy, Debug)]
struct Change {
    node: u32,
    /// The end of the value in the frame.
    end: u32,
    kind: Kind,
    /// The difference between the places in the frame and in the shape, after the value.
    shift: u32,
}

impl Shapes {
    /// The size of the largest frame that becomes a shape.
    const LARGEST: usize = 4096;
    /// The maximum size of all shapes.
    const MOST_BYTES: usize = 3 << 16;
    /// The maximum number of turns of a shape: each costs a comparison.
    const MOST_TURNS: usize = 16;
    /// The maximum number of turns of a frame: after each, the frame is compared from its start.
    const MOST_RESTARTS: usize = 16;
    /// The number of frames without room after which all shapes are dropped.
    const MOST_REFUSED: usize = 1024;

    /// Begins a frame.
    pub(super) fn begin(&mut self, depth: usize) {
        self.current = Current::None;
        if self.depth != depth {
            *self = Self { depth, ..Self::default() };
        }
    }

    /// The shape of the current frame.
    fn shape(&self) -> Option<&Shape> {
        match self.current {
            Current::Is { shape } | Current::Has { shape } => self.all.get(shape),
            Current::None | Current::Left { .. } => None,
        }
    }

    /// The values of the current frame, if its shape has become the frame.
    pub(super) fn nodes(&self) -> Option<&[Node]> {
        let is_frame = matches!(self.current, Current::Is { .. });
        Some(self.shape().filter(|_| is_frame)?.nodes.as_slice())
    }

    /// The numbers that the ledger keeps for the values of the frame, if the frame has a shape.
    pub(super) fn rows(&self) -> &[Cell<u32>] {
        self.shape().map_or(&[], |shape| &shape.rows)
    }

    /// The settlement of the last frame of this shape, if the frame has a shape.
    pub(super) fn settlement(&self) -> Option<&RefCell<Settlement>> {
        self.shape().map(|shape| &shape.settlement)
    }

    /// Remembers a frame without oddities; `nodes` are the values of a frame that has no shape.
    pub(super) fn remember(&mut self, text: &[u8], nodes: &[Node]) {
        match self.current {
            Current::None if self.all.is_empty() => self.add(text, nodes, None),
            Current::None | Current::Is { .. } | Current::Has { .. } => {}
            Current::Left { shape, node, gap } => self.add_after(shape, node, gap, text, nodes),
        }
        if let Current::Is { shape } | Current::Has { shape } = self.current {
            self.order.add(shape);
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
        self.current = Current::Has { shape: self.all.len() };
        let mut filled: Vec<u32> = nodes.iter().filter(|node| node.is_filled()).map(|node| node.at).collect();
        filled.sort_by_key(|filled| nodes.get(*filled as usize).map(|node| node.end));
        self.all.push(Shape {
            text: text.to_vec(),
            nodes: nodes.to_vec(),
            reach: nodes.iter().map(Node::reach).collect(),
            filled,
            rows: vec![Cell::new(0); nodes.len()],
            settlement: RefCell::default(),
            turns: Vec::new(),
            parent,
        });
    }

    /// Makes a shape the frame that differs from it by these values. Returns whether there is room for the frame.
    fn become_frame(&mut self, shape: usize, text: &[u8], changes: &[Change]) -> bool {
        let Some(shape) = self.all.get_mut(shape) else { return false };
        let bytes = self.bytes - shape.text.len() + text.len();
        if text.len() > Self::LARGEST || bytes > Self::MOST_BYTES {
            return false;
        }
        self.bytes = bytes;
        if !changes.is_empty() {
            shape.text.clear();
            shape.text.extend_from_slice(text);
            shape.apply(changes);
        }
        // The reader of the frame before has claimed values.
        shape.nodes.iter().for_each(|node| node.mark.set(Mark::FREE));
        true
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

/// A text that is equal up to this length is not read from its start.
const LONG_TEXT: usize = 64;

/// The length of a surrogate pair.
const LONGEST_ESCAPE: usize = r"\ud83e\udd80".len();

impl Shape {
    /// The end of the bracket or value before the value with this number.
    fn end_before(&self, node: usize) -> usize {
        node.checked_sub(1).and_then(|before| self.reach.get(before)).map_or(0, |end| *end as usize)
    }

    /// Changes these values, and moves the values after them.
    fn apply(&mut self, changes: &[Change]) {
        if changes.iter().any(|change| change.shift != 0) {
            let mut shifts = Shifts::new(changes);
            for container in &self.filled {
                let Some(node) = self.nodes.get_mut(*container as usize) else { break };
                node.end = node.end.wrapping_add(shifts.before(node.next));
            }
        }
        let (mut at, mut shift) = (0, 0);
        for change in changes {
            let number = change.node as usize;
            self.shift(at..number, shift);
            if let (Some(node), Some(reach)) = (self.nodes.get_mut(number), self.reach.get_mut(number)) {
                (node.start, node.name) = (node.start.wrapping_add(shift), node.name.shifted(shift));
                (node.end, node.kind, *reach) = (change.end, change.kind, change.end);
            }
            (at, shift) = (number + 1, change.shift);
        }
        self.shift(at..self.nodes.len(), shift);
    }

    /// Moves values, but not the ends of containers with values.
    fn shift(&mut self, range: Range<usize>, shift: u32) {
        if shift == 0 {
            return;
        }
        let (nodes, reach) = (self.nodes.get_mut(range.clone()), self.reach.get_mut(range));
        for (node, reach) in nodes.into_iter().flatten().zip(reach.into_iter().flatten()) {
            node.start = node.start.wrapping_add(shift);
            node.end = node.end.wrapping_add(if node.is_filled() { 0 } else { shift });
            node.name = node.name.shifted(shift);
            *reach = reach.wrapping_add(shift);
        }
    }
}

/// The shifts after the values that differ, in their order.
struct Shifts<'c> {
    changes: std::slice::Iter<'c, Change>,
    shift: u32,
}

impl<'c> Shifts<'c> {
    fn new(changes: &'c [Change]) -> Self {
        Self { changes: changes.iter(), shift: 0 }
    }

    /// The shift after all values before `node`. The numbers of consecutive calls never decrease.
    #[inline]
    fn before(&mut self, node: u32) -> u32 {
        while let [change, rest @ ..] = self.changes.as_slice()
            && change.node < node
        {
            (self.changes, self.shift) = (rest.iter(), change.shift);
        }
        self.shift
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
        let mut changes = std::mem::take(&mut shapes.changes);
        let compared = self.compare(shapes, &mut changes);
        let has_ended =
            compared.and_then(|compared| self.take_over(compared, shapes, &changes, rest, inside));
        shapes.changes = changes;
        has_ended
    }

    /// Compares the document with the shapes. Returns the last compared shape, from which the values in `changes` differ, and
    /// the relation of the document to the shapes.
    fn compare(&mut self, shapes: &Shapes, changes: &mut Vec<Change>) -> Result<(usize, Current), Broken> {
        let bytes = self.bytes;
        let mut index = shapes.order.next();
        // The value before which the last turn was taken.
        let mut last_turn = None;
        for _ in 0..Shapes::MOST_RESTARTS {
            let Some(shape) = shapes.all.get(index) else { break };
            let compared = index;
            changes.clear();
            let Some((node, gap)) = self.compare_with(shape, changes)? else {
                return Ok((compared, Current::Is { shape: compared }));
            };
            let taken = shapes.turn(&mut index, node, bytes.get(gap..).unwrap_or_default());
            // A frame that leaves two shapes at the same value has neither.
            match taken.filter(|other| *other > index || last_turn != Some(node)) {
                Some(other) => (index, last_turn) = (other, Some(node)),
                None => return Ok((compared, Current::Left { shape: index, node, gap })),
            }
        }
        Ok((index, Current::None))
    }

    /// Compares the document with one shape, and collects the values that differ. Returns the value before which the document
    /// differs from the shape, if any, and the start of the bytes between that value and the value before it.
    fn compare_with(
        &mut self,
        shape: &Shape,
        changes: &mut Vec<Change>,
    ) -> Result<Option<(usize, usize)>, Broken> {
        let bytes = self.bytes;
        // The next value, and the place after the value before it: in the shape and in the document.
        let (mut node, mut known, mut read) = (0, 0, 0);
        loop {
            let unread = bytes.get(read..).unwrap_or_default();
            let equal = known + common(shape.text.get(known..).unwrap_or_default(), unread);
            // The byte after a value shows its end.
            let reach = shape.reach.get(node..).unwrap_or_default();
            node += reach.iter().take_while(|end| (**end as usize) < equal).count();
            if let Some(next) = shape.nodes.get(node) {
                let start = read + (next.start as usize).wrapping_sub(known);
                if next.start as usize <= equal
                    && let Some(&first @ b'!'..) = bytes.get(start)
                {
                    if !next.is_filled() && !matches!(first, b'{' | b'[') {
                        let mut after = bytes.get(start..).unwrap_or_default();
                        // The quote at the end of a text is equal, too, if the text differs after it.
                        let same = equal.min(next.end as usize - 1) - next.start as usize;
                        let kind = if next.kind == Kind::String && same > LONG_TEXT {
                            self.rest_of_text(&mut after, start, same)?
                        } else {
                            self.scalar(&mut after, start, first)?
                        };
                        let end = bytes.len() - after.len();
                        let shift = (end as u32).wrapping_sub(next.end);
                        changes.push(Change { node: next.at, end: end as u32, kind, shift });
                        (node, known, read) = (node + 1, next.end as usize, end);
                        continue;
                    }
                    let is_same = shape.text.get(next.start as usize) == Some(&first);
                    if next.is_filled() && is_same && is_filled(first, bytes.get(start + 1)) {
                        (node, known, read) = (node + 1, next.start as usize + 1, start + 1);
                        continue;
                    }
                }
            } else if equal == shape.text.len() && bytes.len() - read == equal - known {
                return Ok(None);
            }
            // The bytes between two values differ, or a container and a scalar.
            return Ok(Some((node, read + (shape.end_before(node) - known))));
        }
    }

    /// Takes the values of the shape over, as far as the document has them. Returns whether the document has ended.
    fn take_over(
        &mut self,
        (compared, current): (usize, Current),
        shapes: &mut Shapes,
        changes: &[Change],
        rest: &mut &'p [u8],
        inside: &mut OpenContainer,
    ) -> Result<bool, Broken> {
        shapes.current = current;
        let (node, gap) = match current {
            Current::Left { node, gap, .. } => (node, gap),
            Current::Is { .. } | Current::Has { .. } => {
                let is_odd = self.lone_surrogate.or(self.number_overflow).is_some();
                let is_frame = !is_odd && shapes.become_frame(compared, self.bytes, changes);
                let Some(shape) = shapes.all.get(compared) else { return Ok(false) };
                self.filled = shape.filled.len() as u32;
                if !is_frame {
                    self.copy_nodes(shape, changes, shape.nodes.len(), usize::MAX);
                    shapes.current = Current::Has { shape: compared };
                }
                return Ok(true);
            }
            Current::None => return Ok(false),
        };
        let Some(shape) = shapes.all.get(compared) else { return Ok(false) };
        let ended = self.copy_nodes(shape, changes, node, shape.end_before(node));
        self.filled = self.nodes.iter().filter(|node| node.is_filled()).count() as u32;
        let open = shape.filled.iter().skip(ended).filter(|filled| (**filled as usize) < node);
        // The outermost container ends last.
        for filled in open.rev() {
            let Some(kind) = self.nodes.get(*filled as usize).map(|node| node.kind) else { break };
            let bracket = if kind == Kind::Object { OBJECT_END } else { ARRAY_END };
            self.open.push(*inside);
            *inside = OpenContainer { names: self.names_in(*filled), node: *filled, bracket };
        }
        if node == 0 {
            return Ok(false);
        }
        *rest = self.bytes.get(gap..).unwrap_or_default();
        let is_open = inside.node as usize == node - 1 && !self.open.is_empty();
        if is_open { Ok(false) } else { self.after_value(rest, inside) }
    }

    /// Copies the first values of a shape, with their changes. Returns the number of containers that end up to `end`.
    fn copy_nodes(&mut self, shape: &Shape, changes: &[Change], count: usize, end: usize) -> usize {
        let mut shifts = Shifts::new(changes);
        let copied = shape.nodes.iter().take(count).map(|known| known.shifted(shifts.before(known.at)));
        self.nodes.extend(copied);
        for change in changes {
            let node = &mut self.nodes[change.node as usize];
            (node.end, node.kind) = (change.end, change.kind);
        }
        let (mut shifts, mut ended) = (Shifts::new(changes), 0);
        for container in &shape.filled {
            let Some(known) = shape.nodes.get(*container as usize) else { break };
            if known.end as usize > end {
                break;
            }
            self.nodes[known.at as usize].end = known.end.wrapping_add(shifts.before(known.next));
            ended += 1;
        }
        ended
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

    /// Reads the rest of a text whose first bytes, with its quote, equal a text without oddities.
    fn rest_of_text(&mut self, rest: &mut &'p [u8], start: usize, same: usize) -> Result<Kind, Broken> {
        // The end of the equal bytes may be inside an escape.
        let before = rest.get(same - LONGEST_ESCAPE..same).unwrap_or_default();
        let read = if before.contains(&b'\\') { 1 } else { same };
        *rest = self.long_string(start + read)?;
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
    fn frames_of_agents_have_the_same_tape_with_and_without_shapes() {
        let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/agents");
        for log in
            ["pi_stream/2026-11/tools.jsonl", "pi_stream/2026-11/rpc.jsonl", "acp/2026-11/qwen-code.jsonl"]
        {
            let text = std::fs::read_to_string(fixtures.join(log)).expect("a fixture");
            let (mut shaped, mut plain) = (with_shapes(), TapeBuf::default());
            for round in 0..3 {
                for line in text.lines() {
                    let longer = line.replace("tool", &"tool ".repeat(5 * round + 1));
                    for line in [line, &longer, &line.replace("ex", "\\u00e9")] {
                        let limits = Limits::default();
                        assert_eq!(
                            told(&mut shaped, line, &limits),
                            told(&mut plain, line, &limits),
                            "{line}"
                        );
                    }
                }
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
