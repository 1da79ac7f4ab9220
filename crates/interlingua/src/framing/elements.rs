//! One document with a long array inside, cut into its elements without holding the document.
//!
//! `{"a":1,"list":[X, Y],"b":2}` becomes the head `{"a":1,"list":[]}`, the elements `X` and ` Y`, and the tail
//! `{"b":2}`: each a document of its own, so readers need no second grammar. What the framer adds and leaves out is
//! always the same: the brackets that close a head and open a tail, and the comma before a frame. Every other byte is
//! in one of the frames, so that [`crate::log`] can give the document back.

use super::nesting::{Nesting, NestingMark};
use super::{Frame, FrameKind, Framer, Gathered};

/// The array framer.
#[derive(Debug)]
pub struct ElementFramer {
    path: &'static [&'static str],
    state: State,
    /// The document outside the array so far, or the element being gathered.
    buffer: Gathered,
    /// Open brackets outside the array, as they must be closed.
    open: Vec<u8>,
    /// How many names of the path the open brackets match.
    matched: usize,
    /// In a string outside the array, and whether the last byte was a backslash.
    string: Option<bool>,
    /// Where the last string outside the array stands in the buffer, quotes included.
    last_string: std::ops::Range<usize>,
    /// The scan through an element.
    element: Nesting,
    /// Space that stands after the array's bracket.
    space: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the array.
    Head,
    /// After the array's bracket, where an element may follow or not.
    Begun,
    /// In an element, or in the space around it.
    Element,
    /// After the array, before anything else; a comma has come or not.
    Ended { comma: bool },
    /// After the array.
    Tail,
}

impl ElementFramer {
    /// Cuts the array at `path`, gathering at most `limit` bytes at a time.
    pub fn new(path: &'static [&'static str], limit: usize) -> Self {
        Self {
            path,
            state: State::Head,
            buffer: Gathered::new(limit),
            open: Vec::new(),
            matched: 0,
            string: None,
            last_string: 0..0,
            element: Nesting::default(),
            space: Vec::new(),
        }
    }

    fn add(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.buffer.add(bytes, each) {
            // What a name was compared with has been passed on.
            self.last_string = 0..0;
        }
    }

    /// One byte outside the array and outside strings, or opening the array.
    fn outside(&mut self, byte: u8, each: &mut dyn FnMut(Frame<'_>)) {
        match byte {
            b'"' => {
                self.string = Some(false);
                self.last_string = self.buffer.bytes.len()..usize::MAX;
            }
            b'{' | b'[' => {
                let named = self.path.get(self.matched).is_some_and(|name| self.follows_name(name));
                let last = self.matched + 1 == self.path.len();
                if self.state == State::Head && named && self.open.len() == self.matched + 1 {
                    if last && byte == b'[' {
                        self.add(b"[", each);
                        self.state = State::Begun;
                        return;
                    }
                    if !last && byte == b'{' {
                        self.matched += 1;
                    }
                }
                self.open.push(if byte == b'{' { b'}' } else { b']' });
            }
            b'}' | b']' => {
                self.open.pop();
                self.matched = self.matched.min(self.open.len().saturating_sub(1));
            }
            _ => {}
        }
        self.add(&[byte], each);
    }

    /// Whether the buffer ends with `"name":`, spacing aside.
    fn follows_name(&self, name: &str) -> bool {
        let quoted = self.buffer.bytes.get(self.last_string.clone()).unwrap_or_default();
        let between = self.buffer.bytes.get(self.last_string.end..).unwrap_or_default();
        quoted.len() == name.len() + 2
            && &quoted[1..=name.len()] == name.as_bytes()
            && between.iter().filter(|byte| !byte.is_ascii_whitespace()).eq([&b':'])
    }

    /// The first byte after the array's bracket that is no space. Returns whether it is the bracket that ends the array.
    fn end_head(&mut self, byte: u8, each: &mut dyn FnMut(Frame<'_>)) -> bool {
        let (space, ends) = (std::mem::take(&mut self.space), byte == b']');
        // The space in an empty array is the head's, any other is the first element's.
        if ends {
            self.add(&space, each);
        }
        self.add(b"]", each);
        let closing: Vec<u8> = self.open.iter().rev().copied().collect();
        self.add(&closing, each);
        self.buffer.end(FrameKind::Head, each);
        if ends {
            self.state = State::Ended { comma: false };
        } else {
            self.state = State::Element;
            self.add(&space, each);
        }
        ends
    }

    /// Goes on in an element. Returns how many of the bytes are dealt with.
    fn inside(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let mut at = 0;
        while let Some((found, mark)) = self.element.find(bytes, at) {
            at = found + 1;
            if mark == NestingMark::End {
                continue;
            }
            self.end_element(&bytes[..found], each);
            if mark == NestingMark::Outer {
                self.state = State::Ended { comma: false };
            }
            return at;
        }
        self.add(bytes, each);
        bytes.len()
    }

    fn end_element(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let blank = self.buffer.is_blank() && bytes.trim_ascii().is_empty();
        if blank {
            // A comma too many is a frame of its own: it will not parse, and so be reported.
            self.buffer.bytes.clear();
            each(Frame { bytes: b",", kind: FrameKind::Element });
        } else {
            self.buffer.end_with(bytes, FrameKind::Element, each);
        }
    }

    /// One byte between the array's end and what follows. The space before a comma stands before the tail.
    fn after(&mut self, comma: bool, byte: u8, each: &mut dyn FnMut(Frame<'_>)) {
        if byte.is_ascii_whitespace() {
            return self.add(&[byte], each);
        }
        if !comma {
            self.open_tail(each);
        }
        match (comma, byte) {
            (false, b',') => return self.state = State::Ended { comma: true },
            (false, b'}') | (true, b'"') => {}
            // No document goes on like this; nor does the tail, and so it is reported.
            (false, _) => self.add(b"]", each),
            (true, _) => self.add(b",", each),
        }
        self.state = State::Tail;
        self.outside(byte, each);
    }

    fn open_tail(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        self.add(b"{", each);
        for name in self.path.iter().rev().skip(1).rev() {
            self.add(format!("\"{name}\":{{").as_bytes(), each);
        }
    }
}

impl Framer for ElementFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.buffer.bytes
    }

    fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        while let Some(&byte) = bytes.first() {
            let done = match (self.string, self.state) {
                (Some(escaped), _) => {
                    let end = if escaped {
                        1
                    } else {
                        memchr::memchr2(b'"', b'\\', bytes).map_or(bytes.len(), |at| at + 1)
                    };
                    let part = &bytes[..end];
                    self.add(part, each);
                    self.string = match part.last() {
                        Some(b'"') if !escaped => None,
                        Some(b'\\') if !escaped => Some(true),
                        _ => Some(false),
                    };
                    if self.string.is_none() && self.last_string.end == usize::MAX {
                        self.last_string.end = self.buffer.bytes.len();
                    }
                    end
                }
                (None, State::Element) => self.inside(bytes, each),
                (None, State::Begun) if byte.is_ascii_whitespace() => {
                    self.space.push(byte);
                    1
                }
                (None, State::Begun) => usize::from(self.end_head(byte, each)),
                (None, State::Head | State::Tail) => {
                    self.outside(byte, each);
                    1
                }
                (None, State::Ended { comma }) => {
                    self.after(comma, byte, each);
                    1
                }
            };
            bytes = &bytes[done..];
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        match self.state {
            // No array was found: the whole document is the head.
            State::Head if !self.buffer.is_empty() => self.buffer.end(FrameKind::Head, each),
            State::Head => {}
            State::Begun => _ = self.end_head(b' ', each),
            State::Element if self.buffer.is_blank() => {}
            State::Element => self.buffer.end(FrameKind::Element, each),
            State::Ended { comma } => {
                if !comma {
                    self.open_tail(each);
                }
                self.buffer.end(FrameKind::Tail, each);
            }
            State::Tail => self.buffer.end(FrameKind::Tail, each),
        }
    }
}
