//! Consecutive documents; a long list in a document is cut into its elements, so that no document is held in memory.
//!
//! `{"a":1,"list":[X, Y],"b":2}` becomes the head `{"a":1,"list":[]}`, the elements `X` and ` Y`, and the tail
//! `{"b":2}`: each is a document of its own, so readers need no second grammar. The framer always adds and omits the
//! same bytes: the brackets that close a head and open a tail, and the comma before a frame. A frame holds the
//! original bytes ([`Frame::source`]), so that an unreadable frame is kept unchanged. The whitespace after a document
//! belongs to it.
//!
//! A document that is itself a list is cut likewise, if its first element has one of the members that the dialect
//! names: `[X, Y]` becomes the head `[]`, the elements, and the tail `[]`.
//!
//! A document without an end would swallow all following documents. In an indented file, as most files with several
//! lines are, the indent of a line shows where the next document or element begins: the open document or element is
//! then torn, and ends there.
//!
//! A line with that indent may also be a value of the open frame, if the frame so far ends with `:`, `[` or a comma in
//! a list. The line then continues the frame and is remembered as a candidate. A frame that is complete in the end was
//! not torn. A frame that turns out to be torn ends at its first candidate, and the bytes from there on are framed
//! again, with each such line as a beginning. So no byte is framed more than twice. A frame over the limit is passed
//! on in pieces, and its candidates are dropped.

use super::nesting::{Nesting, NestingMark};
use super::{ByteOrderMark, Frame, FrameKind, Framer, Gathered, PieceOf};
use crate::tape::{Limits, TapeBuf};

/// The framer of documents.
#[derive(Debug)]
pub struct DocumentFramer {
    path: &'static [&'static str],
    /// A document that is a list of objects with one of these members is cut.
    listed: &'static [&'static str],
    /// Whether the current document is a list to be cut, once its first value is complete.
    is_list: Option<bool>,
    state: State,
    /// The current frame, byte for byte, or the last document with the whitespace after it.
    buffer: Gathered,
    /// A comma precedes the current element.
    comma: bool,
    /// The closing brackets of the containers on the path to the list.
    open: Vec<u8>,
    /// The number of names of the path that the open brackets match.
    matched: usize,
    /// In a string outside the list, and whether the last byte was a backslash.
    string: Option<bool>,
    /// The position of the last string outside the list in the buffer, quotes included.
    last_string: std::ops::Range<usize>,
    /// The scan through an element, or through a value that does not contain the list.
    nesting: Nesting,
    /// A tail that is being turned into a document.
    tail: Vec<u8>,
    layout: Layout,
    /// The first candidate in the current frame.
    candidate: Option<TearCandidate>,
    /// The bytes of a torn frame are framed again: every line that may begin a frame does.
    reframing: bool,
    mark: ByteOrderMark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between documents. The last document waits for the whitespace after it.
    Between(Option<FrameKind<'static>>),
    /// In a document, before its list.
    Head,
    /// In a value before the list that does not contain the list.
    HeadValue,
    /// After the list's opening bracket, before an element or the end.
    Begun,
    /// In an element, or in the whitespace around it.
    Element,
    /// Directly after the list.
    Ended,
    /// After the list.
    Tail,
    /// In a value after the list.
    TailValue,
    /// In a line between documents that does not begin a document.
    Stray,
}

/// The indentation of lines, which shows where frames begin.
#[derive(Debug, Default)]
struct Layout {
    /// The next bytes begin a line.
    begins_line: bool,
    /// The indent of the line so far.
    indent: Vec<u8>,
    /// Whether the current document indents its members, once known.
    indented: Option<bool>,
    /// The indent of elements, if they have lines of their own.
    element: Option<Vec<u8>>,
    /// Whether there were earlier documents, and whether one of them had members without indent.
    seen: bool,
    flat: bool,
}

/// The kind of frame whose beginning tears the open frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tear {
    Element,
    Document,
}

/// A line that begins the next frame if the open frame is torn, and is a value of the open frame otherwise.
#[derive(Debug)]
struct TearCandidate {
    /// The position of the line in the buffer.
    at: usize,
    tear: Tear,
}

impl DocumentFramer {
    /// Cuts the list at `path`, gathering at most `limit` bytes at a time.
    pub fn new(path: &'static [&'static str], limit: usize) -> Self {
        Self {
            path,
            listed: &[],
            is_list: None,
            state: State::Between(None),
            buffer: Gathered::literal(limit, PieceOf::Document),
            comma: false,
            open: Vec::new(),
            matched: 0,
            string: None,
            last_string: 0..0,
            nesting: Nesting::default(),
            tail: Vec::new(),
            layout: Layout::default(),
            candidate: None,
            reframing: false,
            mark: ByteOrderMark::default(),
        }
    }

    /// Also cuts a document that is itself a list, if its first element is an object with one of these members.
    #[must_use]
    pub fn with_lists_of(self, listed: &'static [&'static str]) -> Self {
        Self { listed, ..self }
    }

    fn add(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        self.buffer.of = match self.state {
            State::Between(None) | State::Head | State::HeadValue | State::Begun | State::Stray => {
                PieceOf::Document
            }
            State::Element => PieceOf::Element,
            State::Between(Some(_)) | State::Ended | State::Tail | State::TailValue => PieceOf::Tail,
        };
        if self.buffer.add(bytes, each) {
            // The bytes of the last name and of the candidate have been passed on.
            self.last_string = 0..0;
            self.candidate = None;
        }
    }

    /// Processes bytes of any number of lines.
    fn feed_lines(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        while !bytes.is_empty() {
            // Within a value, only a line with an opening bracket can begin a new frame.
            let in_value = matches!(self.state, State::HeadValue | State::Element | State::TailValue);
            if self.layout.begins_line && in_value && self.layout.indent.is_empty() {
                let first = bytes.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
                self.layout.begins_line = first.is_none_or(|first| *first == b'{');
            }
            if self.layout.begins_line {
                let space = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let (space, rest) = bytes.split_at(space);
                self.layout.indent.extend_from_slice(space);
                bytes = rest;
                let first = bytes.first().copied();
                if first.is_none() && self.layout.indent.len() < LONGEST_INDENT {
                    return;
                }
                if let Some(first) = first {
                    self.begin_line(first, each);
                }
                self.feed_indent(each);
                continue;
            }
            if in_value {
                let lines = lines_of_value(bytes);
                let done = match self.state {
                    State::Element => self.inside(lines, each),
                    _ => self.value(lines, each),
                };
                self.layout.begins_line = done == lines.len() && lines.ends_with(b"\n");
                bytes = bytes.get(done..).unwrap_or_default();
                continue;
            }
            let line = memchr::memchr(b'\n', bytes).map(|at| at + 1);
            let (line, rest) = bytes.split_at(line.unwrap_or(bytes.len()));
            self.feed(line, each);
            if line.ends_with(b"\n") {
                // No string continues on the next line.
                self.string = None;
                if self.state == State::Stray {
                    self.state = State::Between(Some(FrameKind::Document));
                }
                self.layout.begins_line = true;
            }
            bytes = rest;
        }
    }

    /// Processes bytes of one line.
    fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        while let Some(&byte) = bytes.first() {
            let done = match self.state {
                State::Between(kind) => self.between(kind, bytes, each),
                State::Head | State::Tail => self.outside(bytes, each),
                State::HeadValue | State::TailValue => self.value(bytes, each),
                State::Begun if byte.is_ascii_whitespace() => {
                    self.add(&[byte], each);
                    1
                }
                State::Begun => self.end_head(byte, each),
                State::Element => self.inside(bytes, each),
                State::Ended => self.after(byte, each),
                State::Stray => {
                    self.add(bytes, each);
                    bytes.len()
                }
            };
            bytes = bytes.get(done..).unwrap_or_default();
        }
    }

    /// Processes the indent of the current line.
    fn feed_indent(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        self.layout.begins_line = false;
        let mut indent = std::mem::take(&mut self.layout.indent);
        self.feed(&indent, each);
        indent.clear();
        self.layout.indent = indent;
    }

    /// The whitespace after a document belongs to it; any other byte begins the next document.
    fn between(
        &mut self,
        kind: Option<FrameKind<'static>>,
        bytes: &[u8],
        each: &mut dyn FnMut(Frame<'_>),
    ) -> usize {
        let space = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.add(bytes.get(..space).unwrap_or_default(), each);
        if space < bytes.len() {
            if let Some(kind) = kind {
                self.end_document(kind, each);
            }
            self.begin_document(bytes.get(space).copied());
        }
        space
    }

    fn begin_document(&mut self, first: Option<u8>) {
        let bracket = matches!(first, Some(b'{' | b'['));
        self.state = if bracket { State::Head } else { State::Stray };
        self.open.clear();
        self.is_list = None;
        self.matched = 0;
        self.string = None;
        self.layout.indented = None;
        self.layout.element = None;
    }

    /// Passes on a complete or torn document.
    fn end_document(&mut self, kind: FrameKind<'static>, each: &mut dyn FnMut(Frame<'_>)) {
        self.state = State::Between(None);
        self.candidate = None;
        self.layout.seen = true;
        self.layout.flat |= self.layout.indented == Some(false);
        if kind == FrameKind::Tail && !self.buffer.oversized {
            self.make_tail();
            let frame = Frame::cut(&self.tail, &self.buffer.bytes, kind);
            each(frame);
            self.buffer.bytes.clear();
        } else if !self.buffer.is_empty() {
            self.buffer.end(kind, each);
        }
    }

    /// Processes bytes outside the list: up to a string, a bracket, or their end. Returns the number of bytes
    /// processed.
    fn outside(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        if let Some(escaped) = self.string {
            return self.in_string(escaped, bytes, each);
        }
        let Some(at) = bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']')) else {
            self.add(bytes, each);
            return bytes.len();
        };
        self.add(bytes.get(..at).unwrap_or_default(), each);
        match bytes.get(at) {
            Some(b'"') => {
                self.string = Some(false);
                self.last_string = self.buffer.bytes.len()..usize::MAX;
                self.add(b"\"", each);
            }
            Some(b'{' | b'[') => return at + self.opens(bytes.get(at..).unwrap_or_default(), each),
            Some(&byte) => {
                self.open.pop();
                self.matched = self.matched.min(self.open.len().saturating_sub(1));
                self.add(&[byte], each);
                if self.open.is_empty() {
                    let tail = self.state == State::Tail;
                    self.state =
                        State::Between(Some(if tail { FrameKind::Tail } else { FrameKind::Document }));
                }
            }
            None => {}
        }
        at + 1
    }

    fn in_string(&mut self, escaped: bool, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let mut end = usize::from(escaped);
        self.string = Some(false);
        while let Some(at) = bytes.get(end..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            end += at + 1;
            if bytes.get(end - 1) == Some(&b'"') {
                self.string = None;
                break;
            }
            // The escaped byte may be in the next chunk.
            self.string = Some(end == bytes.len());
            end += 1;
        }
        let end = if self.string.is_none() { end } else { bytes.len() };
        self.add(bytes.get(..end).unwrap_or_default(), each);
        if self.string.is_none() && self.last_string.end == usize::MAX {
            self.last_string.end = self.buffer.bytes.len();
        }
        end
    }

    /// Processes an opening bracket outside the list: of the document, of a container on the path, of the list, or of
    /// another value.
    fn opens(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let byte = bytes.first().copied().unwrap_or_default();
        let closing = if byte == b'{' { b'}' } else { b']' };
        if self.open.is_empty() {
            self.open.push(closing);
            self.add(&[byte], each);
            return 1;
        }
        let named = self.path.get(self.matched).is_some_and(|name| self.follows_name(name));
        if self.state == State::Head && named && self.open.len() == self.matched + 1 {
            let last = self.matched + 1 == self.path.len();
            if last && byte == b'[' {
                self.add(b"[", each);
                self.state = State::Begun;
                return 1;
            }
            if !last && byte == b'{' {
                self.matched += 1;
                self.open.push(closing);
                self.add(b"{", each);
                return 1;
            }
        }
        self.nesting = Nesting::default();
        self.state = if self.state == State::Tail { State::TailValue } else { State::HeadValue };
        self.value(bytes, each)
    }

    /// Whether the buffer ends with `"name":`, ignoring whitespace.
    fn follows_name(&self, name: &str) -> bool {
        let quoted = self.buffer.bytes.get(self.last_string.clone()).unwrap_or_default();
        let between = self.buffer.bytes.get(self.last_string.end..).unwrap_or_default();
        quoted.len() == name.len() + 2
            && quoted.get(1..=name.len()) == Some(name.as_bytes())
            && between.iter().filter(|byte| !byte.is_ascii_whitespace()).eq([&b':'])
    }

    /// Continues in a value that does not contain the list.
    fn value(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let mut at = 0;
        while let Some((found, mark)) = self.nesting.find_in_lines(bytes, at) {
            at = found + 1;
            if mark != NestingMark::Comma {
                self.state = if self.state == State::TailValue { State::Tail } else { State::Head };
                self.add(bytes.get(..at).unwrap_or_default(), each);
                if self.state == State::Head && self.open == b"]" && self.is_list.is_none() {
                    self.cut_list(each);
                }
                return at;
            }
        }
        self.add(bytes, each);
        bytes.len()
    }

    /// Cuts a document that is a list, if the dialect requests it. Called when the first value of the list is
    /// complete.
    fn cut_list(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        let bracket = self.buffer.bytes.iter().position(|byte| *byte == b'[');
        let head = bracket.map_or(0, |at| at + 1);
        let first = self.buffer.bytes.get(head..).unwrap_or_default();
        let is_list = !self.buffer.oversized && !self.listed.is_empty() && has_member(first, self.listed);
        self.is_list = Some(is_list);
        if !is_list {
            return;
        }
        self.candidate = None;
        let first = self.buffer.bytes.split_off(head);
        self.buffer.bytes.push(b']');
        let bytes = &self.buffer.bytes;
        each(Frame::cut(bytes, bytes.get(..head).unwrap_or_default(), FrameKind::Head));
        self.buffer.bytes.clear();
        self.begin_elements(&first, each);
    }

    /// Processes the first byte after the list's opening bracket that is not whitespace.
    fn end_head(&mut self, byte: u8, each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let ends = byte == b']';
        self.candidate = None;
        // The whitespace in an empty list belongs to the head, otherwise to the first element.
        let space = self.buffer.bytes.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
        let space = if ends || self.buffer.oversized { 0 } else { space };
        let head = self.buffer.bytes.len() - space;
        let space = self.buffer.bytes.split_off(head);
        if self.buffer.oversized {
            self.buffer.end(FrameKind::Head, each);
        } else {
            self.buffer.bytes.push(b']');
            self.buffer.bytes.extend(self.open.iter().rev());
            let bytes = &self.buffer.bytes;
            each(Frame::cut(bytes, bytes.get(..head).unwrap_or_default(), FrameKind::Head));
            self.buffer.bytes.clear();
        }
        if ends {
            self.state = State::Ended;
            self.add(b"]", each);
            return 1;
        }
        self.begin_elements(&space, each);
        0
    }

    /// Starts the elements of the list with these bytes: the whitespace before the first element, or the whole
    /// element.
    fn begin_elements(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let space = bytes.len() - bytes.trim_ascii_start().len();
        let space = bytes.get(..space).unwrap_or_default();
        let line = space.iter().rposition(|byte| *byte == b'\n');
        self.layout.element = line.map(|at| space.get(at + 1..).unwrap_or_default().to_vec());
        self.state = State::Element;
        self.comma = false;
        self.nesting = Nesting::default();
        self.add(bytes, each);
    }

    /// Continues in an element. Returns the number of bytes processed.
    fn inside(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let mut at = 0;
        while let Some((found, mark)) = self.nesting.find_in_lines(bytes, at) {
            at = found + 1;
            let ends_list = mark == NestingMark::Outer && bytes.get(found) == Some(&b']');
            // An unmatched closing bracket is part of the unreadable element.
            if mark != NestingMark::Comma && !ends_list {
                continue;
            }
            self.end_element(bytes.get(..found).unwrap_or_default(), each);
            self.comma = !ends_list;
            if ends_list {
                // A document that is itself the list has no further members.
                let ended = State::Between(Some(FrameKind::Tail));
                self.state = if self.is_list == Some(true) { ended } else { State::Ended };
                self.add(b"]", each);
            }
            return at;
        }
        self.add_to_element(bytes, each);
        bytes.len()
    }

    fn add_to_element(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        // An element passed on in pieces contains its comma.
        let overflows = self.buffer.bytes.len() + bytes.len() > self.buffer.limit;
        if overflows && !self.buffer.oversized && std::mem::take(&mut self.comma) {
            let so_far = std::mem::take(&mut self.buffer.bytes);
            self.add(b",", each);
            self.add(&so_far, each);
        }
        self.add(bytes, each);
    }

    fn end_element(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.buffer.bytes.len() + bytes.len() > self.buffer.limit || self.buffer.oversized {
            self.add_to_element(bytes, each);
        }
        let kind = FrameKind::Element { comma: self.comma };
        self.candidate = None;
        if self.buffer.oversized {
            self.buffer.end(kind, each);
        } else {
            self.buffer.end_with(bytes, kind, each);
        }
        self.nesting = Nesting::default();
    }

    /// Processes one byte between the end of the list and the tail's members.
    fn after(&mut self, byte: u8, each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let comma = self.buffer.bytes.contains(&b',');
        if byte.is_ascii_whitespace() || byte == b',' && !comma {
            self.add(&[byte], each);
            return 1;
        }
        self.state = State::Tail;
        self.string = None;
        0
    }

    /// Turns the tail into a document: `]`, whitespace and a comma become the brackets that the head has closed. A
    /// tail that does not continue like a document is left unchanged, and so is not a document.
    fn make_tail(&mut self) {
        self.tail.clear();
        let bytes = self.buffer.bytes.as_slice();
        let rest = bytes.strip_prefix(b"]").unwrap_or(bytes);
        if self.is_list == Some(true) {
            self.tail.extend_from_slice(b"[]");
            return self.tail.extend_from_slice(rest);
        }
        let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let (space, rest) = rest.split_at(space);
        let first = rest.trim_ascii_start().first();
        let after_comma = rest.strip_prefix(b",").filter(|rest| rest.trim_ascii_start().starts_with(b"\""));
        let rest = match (first, after_comma) {
            (Some(b'}'), _) => rest,
            (_, Some(rest)) => rest,
            _ => return self.tail.extend_from_slice(bytes),
        };
        self.tail.extend_from_slice(space);
        self.tail.push(b'{');
        for name in self.path.iter().rev().skip(1).rev() {
            self.tail.extend_from_slice(format!("\"{name}\":{{").as_bytes());
        }
        self.tail.extend_from_slice(rest);
    }

    /// Processes the beginning of a line whose first byte after the indent is `first`: the line may tear the open
    /// frame.
    fn begin_line(&mut self, first: u8, each: &mut dyn FnMut(Frame<'_>)) {
        let Some(mut tear) = self.tears(first) else { return };
        if self.remembers(tear) {
            return;
        }
        if let Some(candidate) = self.candidate.take() {
            let indent = std::mem::take(&mut self.layout.indent);
            self.reframe(&candidate, each);
            self.layout.indent = indent;
            let Some(again) = self.tears(first).filter(|tear| !self.remembers(*tear)) else { return };
            tear = again;
        }
        self.tear(tear, each);
    }

    /// Remembers a line that may be a value of the open frame as a candidate. Returns whether the line may be one.
    fn remembers(&mut self, tear: Tear) -> bool {
        let frame = self.buffer.bytes.trim_ascii_end();
        let before_element = self.state == State::Element && frame.is_empty();
        // A frame with a candidate is kept until its end, so it is searched for its brackets only once.
        let expects_value =
            before_element || self.candidate.is_some() && frame.ends_with(b",") || value_follows(frame);
        let may_be_value = expects_value && !self.buffer.oversized && !self.reframing;
        if may_be_value {
            let at = self.buffer.bytes.len();
            self.candidate.get_or_insert(TearCandidate { at, tear });
        }
        may_be_value
    }

    /// Ends the open frame, which is torn, at its first candidate, and frames the bytes from there on again.
    fn reframe(&mut self, candidate: &TearCandidate, each: &mut dyn FnMut(Frame<'_>)) {
        let rest = self.buffer.bytes.split_off(candidate.at);
        self.tear(candidate.tear, each);
        self.layout.begins_line = true;
        self.reframing = true;
        self.feed_lines(&rest, each);
        self.reframing = false;
    }

    /// The kind of frame that a line with the current indent and this first byte begins, judged by the indent alone.
    fn tears(&mut self, first: u8) -> Option<Tear> {
        let Layout { indent, indented, element, seen, flat, .. } = &mut self.layout;
        if matches!(self.state, State::Head | State::Tail) && indented.is_none() && first != b'{' {
            *indented = match (indent.is_empty(), first) {
                (false, _) => Some(true),
                (true, b'}' | b']') => None,
                (true, _) => Some(false),
            };
        }
        if first != b'{' {
            return None;
        }
        // A single-line document does not show its layout; its neighbours do.
        let at_margin = indent.is_empty() && indented.unwrap_or(*seen && !*flat);
        match self.state {
            State::Between(_) | State::Stray => None,
            State::Head | State::HeadValue | State::Tail | State::TailValue if at_margin => {
                Some(Tear::Document)
            }
            State::Begun | State::Element | State::Ended if at_margin && *indented == Some(true) => {
                Some(Tear::Document)
            }
            State::Element if element.as_ref() == Some(indent) && self.nesting.is_open() => {
                Some(Tear::Element)
            }
            State::Head
            | State::HeadValue
            | State::Begun
            | State::Element
            | State::Ended
            | State::Tail
            | State::TailValue => None,
        }
    }

    /// Ends the open frame without completing it.
    fn tear(&mut self, tear: Tear, each: &mut dyn FnMut(Frame<'_>)) {
        match (tear, self.state) {
            (Tear::Element, _) => {
                self.end_element(b"", each);
                self.comma = false;
            }
            (Tear::Document, State::Element) => {
                self.end_element(b"", each);
                self.end_document(FrameKind::Document, each);
            }
            (Tear::Document, State::Ended | State::Tail | State::TailValue) => {
                self.end_document(FrameKind::Tail, each);
            }
            (Tear::Document, _) => self.end_document(FrameKind::Document, each),
        }
    }
}

/// The next bytes of a value, up to a line that may begin a frame: a line with an opening bracket, or a line of which only
/// the indent is known. Bounded, because the value may end long before.
fn lines_of_value(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.get(..LONGEST_PIECE).unwrap_or(bytes);
    let brackets = memchr::memchr_iter(b'{', bytes).chain([bytes.len()]);
    let mut begins = brackets.filter_map(|at| {
        let before = bytes.get(..at)?;
        let indent = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = at - indent;
        (start > 0 && bytes.get(start - 1) == Some(&b'\n')).then_some(start)
    });
    bytes.get(..begins.next().unwrap_or(bytes.len())).unwrap_or(bytes)
}

/// The number of bytes of a value that are processed together.
const LONGEST_PIECE: usize = 1024;

impl Framer for DocumentFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.buffer.bytes
    }

    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let (kept, bytes) = self.mark.skip(bytes, each);
        self.feed(kept, each);
        self.feed_lines(bytes, each);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        let kept = self.mark.finish();
        self.feed(kept, each);
        self.feed_indent(each);
        let is_open = !matches!(self.state, State::Between(_));
        if let Some(candidate) = self.candidate.take().filter(|_| is_open) {
            self.reframe(&candidate, each);
            self.feed_indent(each);
        }
        match self.state {
            State::Between(kind) => self.end_document(kind.unwrap_or(FrameKind::Document), each),
            State::Head | State::HeadValue | State::Begun | State::Stray => {
                self.end_document(FrameKind::Document, each);
            }
            State::Element if self.buffer.is_empty() && !self.comma => {}
            State::Element => self.end_element(b"", each),
            State::Ended | State::Tail | State::TailValue => self.end_document(FrameKind::Tail, each),
        }
    }
}

/// Whether a text is an object with one of these members.
fn has_member(text: &[u8], names: &[&str]) -> bool {
    let Ok(text) = simdutf8::basic::from_utf8(text) else { return false };
    let mut tape = TapeBuf::default();
    tape.parse(text, &Limits::default())
        .is_ok_and(|tape| names.iter().any(|name| tape.root().get(name).is_some()))
}

/// Whether a text that ends in the middle of a document continues with a value: after a colon, after the opening
/// bracket of a list, and after a comma in a list.
pub(super) fn value_follows(text: &[u8]) -> bool {
    match text.last() {
        Some(b':' | b'[') => true,
        Some(b',') => innermost_bracket(text) == Some(b'['),
        _ => false,
    }
}

/// The last opening bracket of a text that is not closed. No string continues on the next line.
fn innermost_bracket(text: &[u8]) -> Option<u8> {
    let (mut open, mut string, mut escaped) = (Vec::new(), false, false);
    for &byte in text {
        match byte {
            b'\n' => (string, escaped) = (false, false),
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => open.push(byte),
            b'}' | b']' if !string => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// The maximum indent that is compared; after a longer indent the search stops.
const LONGEST_INDENT: usize = 1 << 12;
