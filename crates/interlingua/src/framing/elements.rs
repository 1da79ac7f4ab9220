//! One document with a long array inside, cut into its elements without holding the document.
//!
//! `{"a":1,"list":[X,Y],"b":2}` becomes the head `{"a":1,"list":[]}`, the elements `X` and `Y`, and the tail
//! `{"b":2}`: each a document of its own, so readers need no second grammar. Spacing between elements is not kept.

use super::{Frame, FrameKind, Framer, Gathered};

/// The array framer.
#[derive(Debug)]
pub struct ElementFramer {
    path: &'static [&'static str],
    state: State,
    /// The document outside the array so far, or the element being gathered.
    buffer: Gathered,
    /// Open brackets, as they must be closed.
    open: Vec<u8>,
    /// How many names of the path the open brackets match.
    matched: usize,
    /// In a string, and whether the last byte was a backslash.
    string: Option<bool>,
    /// Where the last string outside the array stands in the buffer, quotes included.
    last_string: std::ops::Range<usize>,
    comma: Comma,
}

/// Whether a comma may stand between the elements here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comma {
    /// No element yet.
    None,
    /// An element came last.
    May,
    /// A comma came last.
    Came,
}

/// Stands on the stack of open brackets where an element begins.
const ELEMENT: u8 = b',';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the array.
    Head,
    /// Between elements.
    Between,
    /// In an element.
    Element,
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
            comma: Comma::None,
        }
    }

    fn add(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.buffer.add(bytes, each) {
            // What a name was compared with has been passed on.
            self.last_string = 0..0;
        }
    }

    /// One byte outside the array, or opening or closing it.
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
                        return self.enter_array(each);
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
            // The comma that followed the array has nothing before it in the tail.
            b',' if self.state == State::Tail && self.buffer.bytes.trim_ascii_end().last() == Some(&b'{') => {
                return;
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

    fn enter_array(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        self.add(b"[]", each);
        let closing: Vec<u8> = self.open.iter().rev().copied().collect();
        self.add(&closing, each);
        self.buffer.end(FrameKind::Head, each);
        self.state = State::Between;
    }

    /// One byte between elements.
    fn between(&mut self, byte: u8, each: &mut dyn FnMut(Frame<'_>)) {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {}
            b',' if self.comma == Comma::May => self.comma = Comma::Came,
            // A comma too many is a frame of its own: it will not parse, and so be reported.
            b',' => each(Frame { bytes: b",", kind: FrameKind::Element }),
            b']' => {
                if self.comma == Comma::Came {
                    each(Frame { bytes: b",", kind: FrameKind::Element });
                }
                self.state = State::Tail;
                self.add(b"{", each);
                for name in &self.path[..self.path.len() - 1] {
                    self.add(format!("\"{name}\":{{").as_bytes(), each);
                }
            }
            _ => {
                self.state = State::Element;
                self.comma = Comma::May;
                self.open.push(ELEMENT);
                self.inside(byte, each);
            }
        }
    }

    /// One byte of an element. Returns whether the element ended before it.
    fn inside(&mut self, byte: u8, each: &mut dyn FnMut(Frame<'_>)) -> bool {
        match byte {
            b'"' => self.string = Some(false),
            b'{' | b'[' => self.open.push(byte),
            b',' | b']' | b'}' if self.open.last() == Some(&ELEMENT) => {
                self.open.pop();
                return true;
            }
            b'}' | b']' => {
                self.open.pop();
            }
            _ => {}
        }
        self.add(&[byte], each);
        false
    }

    fn end_element(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        let bytes = &mut self.buffer.bytes;
        bytes.truncate(bytes.trim_ascii_end().len());
        self.buffer.end(FrameKind::Element, each);
    }
}

impl Framer for ElementFramer {
    fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        while let Some(&byte) = bytes.first() {
            if let Some(escaped) = self.string {
                // Most bytes of a record are inside strings: copy up to the next quote or backslash.
                let end = if escaped {
                    1
                } else {
                    memchr::memchr2(b'"', b'\\', bytes).map_or(bytes.len(), |at| at + 1)
                };
                let (part, tail) = bytes.split_at(end);
                self.add(part, each);
                self.string = match part.last() {
                    Some(b'"') if !escaped => None,
                    Some(b'\\') if !escaped => Some(true),
                    _ => Some(false),
                };
                if self.string.is_none() && self.last_string.end == usize::MAX {
                    self.last_string.end = self.buffer.bytes.len();
                }
                bytes = tail;
            } else {
                bytes = &bytes[1..];
                match self.state {
                    State::Head | State::Tail => self.outside(byte, each),
                    State::Between => self.between(byte, each),
                    State::Element => {
                        if self.inside(byte, each) {
                            self.end_element(each);
                            self.state = State::Between;
                            self.between(byte, each);
                        }
                    }
                }
            }
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        match self.state {
            // No array was found: the whole document is the head.
            State::Head if !self.buffer.is_empty() => self.buffer.end(FrameKind::Head, each),
            State::Element => self.end_element(each),
            State::Tail => self.buffer.end(FrameKind::Tail, each),
            State::Head | State::Between => {}
        }
    }
}
