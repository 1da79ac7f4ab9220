//! Framing: bytes to frames. Any chunking of the input gives the same frames.
//!
//! A framer finds the start and end of documents and does not interpret their content. A frame over the limit is not
//! gathered: it passes through in pieces, so memory stays bounded for any input.

mod documents;
mod events_or_array;
mod lines;
mod lines_or_documents;
mod mark;
mod nesting;
mod sse;

pub use documents::DocumentFramer;
pub use events_or_array::EventsOrArrayFramer;
pub use lines::LineFramer;
pub use lines_or_documents::LinesOrDocumentsFramer;
pub use sse::SseFramer;

use mark::ByteOrderMark;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Frame<'f> {
    /// The bytes of the frame.
    pub bytes: &'f [u8],
    /// The kind of the frame.
    pub kind: FrameKind<'f>,
    source: Source<'f>,
}

/// The source bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source<'f> {
    /// The bytes of the frame, plus the separator of its framing.
    Frame,
    /// Exactly the bytes of the frame.
    Literal,
    /// Exactly these other bytes: a document was cut, and its brackets closed.
    Cut(&'f [u8]),
}

impl<'f> Frame<'f> {
    /// A frame with the usual separators of its framing.
    pub const fn new(bytes: &'f [u8], kind: FrameKind<'f>) -> Self {
        Self { bytes, kind, source: Source::Frame }
    }

    const fn cut(bytes: &'f [u8], source: &'f [u8], kind: FrameKind<'f>) -> Self {
        Self { bytes, kind, source: Source::Cut(source) }
    }

    /// Whether the frame contains all source bytes between its neighbours: no separator is needed to restore the
    /// source.
    pub fn is_literal(&self) -> bool {
        self.source != Source::Frame
    }

    /// Whether the frame is a line.
    pub const fn is_line(&self) -> bool {
        matches!(self.kind, FrameKind::Line | FrameKind::LastLine)
    }

    /// The source bytes, if they differ from the frame.
    pub fn source(&self) -> Option<std::borrow::Cow<'f, [u8]>> {
        match (self.source, self.kind) {
            (Source::Cut(source), _) => Some(source.into()),
            (_, FrameKind::Element { comma: true }) => Some([b",", self.bytes].concat().into()),
            (Source::Frame | Source::Literal, _) => None,
        }
    }
}

/// The part of the source that a frame represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum FrameKind<'f> {
    /// A line.
    Line,
    /// The last line, without its newline.
    LastLine,
    /// The whole input.
    Whole,
    /// One of several documents, with the whitespace after it.
    Document,
    /// One server-sent event, with its name.
    Sse(Option<&'f str>),
    /// A document before its list, closed so that it is a valid document.
    Head,
    /// An element of the list.
    Element {
        /// A comma precedes the element.
        comma: bool,
    },
    /// The document after its list, likewise made a valid document.
    Tail,
    /// A piece of unreadable input, and the reason.
    Piece {
        /// The reason: `bom` or `too-large`.
        why: &'static str,
        /// The same line continues in the next frame.
        more: bool,
        /// The part of the source that the piece belongs to.
        of: PieceOf,
    },
}

/// The part of the source that a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum PieceOf {
    /// None: the piece precedes all frames.
    Nothing,
    /// A line.
    Line,
    /// An event.
    Event,
    /// A document, or its part before the list.
    Document,
    /// An element of a list.
    Element,
    /// The part of a document after its list.
    Tail,
}

/// The place of a frame in its source, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct FramePlace {
    /// The number of the frame, from 1; 0 means the whole input.
    pub number: u64,
    /// The part of the source.
    pub part: FramePart,
}

/// The part of the source that a frame represents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum FramePart {
    /// The whole source.
    #[default]
    Whole,
    /// The line with the frame's number.
    Line,
    /// The event with the frame's number.
    Event,
    /// One of several documents, from 1.
    Document(u64),
    /// The part of the document before its list.
    Head(u64),
    /// An element of the document's list.
    Element {
        /// The number of the document, from 1.
        document: u64,
        /// The index of the element, from 0.
        index: u64,
    },
    /// The part of the document after its list.
    Tail(u64),
}

impl FramePlace {
    /// The name of the place for people. Lists have their name from the framing.
    pub fn name(self, framing: Framing) -> String {
        let list = match framing {
            Framing::Documents(path) | Framing::LinesOrDocuments(path, _) => path.last().copied(),
            Framing::Lines | Framing::Sse | Framing::EventsOrArray | Framing::Whole => None,
        };
        let list = list.unwrap_or_default();
        let (place, document) = match self.part {
            _ if self.is_whole() => return "the input".to_owned(),
            FramePart::Whole => return "the input".to_owned(),
            FramePart::Line => return format!("line {}", self.number),
            FramePart::Event => return format!("event {}", self.number),
            FramePart::Document(document) => return format!("document {document}"),
            FramePart::Head(document) => (format!("what stands before `{list}`"), document),
            FramePart::Element { document, index } => (format!("{list}[{index}]"), document),
            FramePart::Tail(document) => (format!("what stands after `{list}`"), document),
        };
        match document {
            0 | 1 => place,
            later => format!("{place} of document {later}"),
        }
    }

    /// Whether the place covers the whole input, without a more specific position.
    pub const fn is_whole(self) -> bool {
        self.number == 0 || matches!(self.part, FramePart::Whole | FramePart::Document(0 | 1))
    }

    /// The place of the next frame.
    pub(crate) const fn next(self, kind: FrameKind<'_>) -> Self {
        let part = match (kind, self.part) {
            (FrameKind::Piece { of: PieceOf::Nothing, .. }, _) => return self,
            (FrameKind::Line | FrameKind::LastLine | FrameKind::Piece { of: PieceOf::Line, .. }, _) => {
                FramePart::Line
            }
            (FrameKind::Whole, _) => FramePart::Whole,
            (FrameKind::Sse(_) | FrameKind::Piece { of: PieceOf::Event, .. }, _) => FramePart::Event,
            (FrameKind::Document | FrameKind::Piece { of: PieceOf::Document, .. }, before) => {
                FramePart::Document(before.document() + 1)
            }
            (FrameKind::Head, before) => FramePart::Head(before.document() + 1),
            (FrameKind::Tail | FrameKind::Piece { of: PieceOf::Tail, .. }, before) => {
                FramePart::Tail(before.document())
            }
            (
                FrameKind::Element { .. } | FrameKind::Piece { of: PieceOf::Element, .. },
                FramePart::Element { document, index },
            ) => FramePart::Element { document, index: index + 1 },
            (FrameKind::Element { .. } | FrameKind::Piece { of: PieceOf::Element, .. }, before) => {
                FramePart::Element { document: before.document(), index: 0 }
            }
        };
        Self { number: self.number + 1, part }
    }
}

impl FramePart {
    /// The number of documents begun so far.
    const fn document(self) -> u64 {
        match self {
            FramePart::Document(document)
            | FramePart::Head(document)
            | FramePart::Tail(document)
            | FramePart::Element { document, .. } => document,
            FramePart::Whole | FramePart::Line | FramePart::Event => 0,
        }
    }
}

/// The framing of a dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// One document per line.
    Lines,
    /// Server-sent events.
    Sse,
    /// Server-sent events, or the elements of one array.
    EventsOrArray,
    /// One document.
    #[default]
    Whole,
    /// Consecutive documents, with or without whitespace between them. A long list at this path is cut into its
    /// elements.
    Documents(&'static [&'static str]),
    /// One document per line, or documents over several lines: the first document decides. A document that is itself a
    /// list is cut, too, if its first element is an object with one of the second names.
    LinesOrDocuments(&'static [&'static str], &'static [&'static str]),
}

impl Framing {
    /// A framer for a new input.
    pub fn framer(self, limit: usize) -> Box<dyn Framer> {
        match self {
            Framing::Lines => Box::new(LineFramer::new(limit)),
            Framing::Sse => Box::new(SseFramer::new(limit)),
            Framing::EventsOrArray => Box::new(EventsOrArrayFramer::new(limit)),
            Framing::Whole => Box::new(WholeFramer::new(limit)),
            Framing::Documents(path) => Box::new(DocumentFramer::new(path, limit)),
            Framing::LinesOrDocuments(path, listed) => {
                Box::new(LinesOrDocumentsFramer::new(path, listed, limit))
            }
        }
    }

    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Framing::Lines => "lines",
            Framing::Sse => "sse",
            Framing::EventsOrArray => "sse or array",
            Framing::Whole => "whole",
            Framing::Documents(_) => "documents",
            Framing::LinesOrDocuments(..) => "lines or documents",
        }
    }
}

/// Cuts bytes into frames.
pub trait Framer: Send {
    /// Processes the next bytes, of any length, and passes on the complete frames.
    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>));

    /// Passes on the remaining frames. Call once, after the last [`Framer::push`].
    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>));

    /// The buffer in which frames are gathered.
    fn memory(&mut self) -> &mut Vec<u8>;

    /// Processes the last bytes and passes on the remaining frames. A document in one piece need not be copied.
    fn last(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        self.push(bytes, each);
        self.finish(each);
    }
}

/// A framer for a single document.
struct WholeFramer {
    document: Gathered,
    mark: ByteOrderMark,
}

impl WholeFramer {
    fn new(limit: usize) -> Self {
        Self { document: Gathered::new(limit, PieceOf::Document), mark: ByteOrderMark::default() }
    }
}

impl Framer for WholeFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.document.bytes
    }

    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let (kept, bytes) = self.mark.skip(bytes, each);
        self.document.add(kept, each);
        self.document.add(bytes, each);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        self.document.add(self.mark.finish(), each);
        if !self.document.is_empty() {
            self.document.end(FrameKind::Whole, each);
        }
    }

    fn last(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let (kept, bytes) = self.mark.skip(bytes, each);
        if kept.is_empty()
            && self.document.is_empty()
            && !bytes.is_empty()
            && bytes.len() <= self.document.limit
        {
            return each(Frame::new(bytes, FrameKind::Whole));
        }
        self.document.add(kept, each);
        self.document.add(bytes, each);
        self.finish(each);
    }
}

/// The bytes of one frame. A frame over the limit passes in pieces of exactly the limit's size, so that the chunks of
/// the input have no effect.
#[derive(Debug)]
struct Gathered {
    bytes: Vec<u8>,
    limit: usize,
    oversized: bool,
    /// Whether frames include their separators.
    source: Source<'static>,
    /// The part of the source being gathered.
    of: PieceOf,
}

impl Gathered {
    fn new(limit: usize, of: PieceOf) -> Self {
        Self { bytes: Vec::new(), limit: limit.max(1), oversized: false, source: Source::Frame, of }
    }

    fn literal(limit: usize, of: PieceOf) -> Self {
        Self { source: Source::Literal, ..Self::new(limit, of) }
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.oversized
    }

    /// Adds bytes to the frame. Returns whether a piece was passed on.
    fn add(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> bool {
        let mut passed = false;
        while bytes.len() > self.limit - self.bytes.len() {
            let (fits, rest) = bytes.split_at(self.limit - self.bytes.len());
            self.append(fits);
            let kind = FrameKind::Piece { why: "too-large", more: true, of: self.of };
            each(Frame { bytes: &self.bytes, kind, source: self.source });
            self.bytes.clear();
            self.oversized = true;
            passed = true;
            bytes = rest;
        }
        self.append(bytes);
        passed
    }

    /// Whether the frame is only whitespace so far.
    fn is_blank(&self) -> bool {
        !self.oversized && self.bytes.trim_ascii().is_empty()
    }

    /// Ends the frame with these bytes. A frame in one piece is not copied.
    fn end_with(&mut self, bytes: &[u8], kind: FrameKind<'_>, each: &mut dyn FnMut(Frame<'_>)) {
        if self.is_empty() && bytes.len() <= self.limit {
            each(Frame { bytes, kind, source: self.source });
        } else {
            self.add(bytes, each);
            self.end(kind, each);
        }
    }

    /// Ends the frame.
    fn end(&mut self, kind: FrameKind<'_>, each: &mut dyn FnMut(Frame<'_>)) {
        let kind = if std::mem::take(&mut self.oversized) {
            // A last line without a newline is treated as continuing.
            FrameKind::Piece { why: "too-large", more: kind == FrameKind::LastLine, of: self.of }
        } else {
            kind
        };
        each(Frame { bytes: &self.bytes, kind, source: self.source });
        self.bytes.clear();
        // The memory of a huge frame is freed; a buffer of usual size is reused.
        self.bytes.shrink_to(1 << 20);
    }

    /// Grows by a quarter: doubling would need twice the memory of the largest frame.
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let need = self.bytes.len() + bytes.len();
        if need > self.bytes.capacity() {
            self.bytes.reserve_exact(bytes.len().max(need / 4).max(4096));
        }
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distinct places of frames, by name.
    fn places(framing: Framing, limit: usize, text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let (mut place, mut goes_on) = (FramePlace::default(), false);
        let mut each = |frame: Frame<'_>| {
            if !goes_on {
                place = place.next(frame.kind);
            }
            let is_mark = matches!(frame.kind, FrameKind::Piece { of: PieceOf::Nothing, .. });
            goes_on = !is_mark && matches!(frame.kind, FrameKind::Piece { more: true, .. });
            let name = place.name(framing);
            if !is_mark && found.last() != Some(&name) {
                found.push(name);
            }
        };
        let mut framer = framing.framer(limit);
        framer.push(text.as_bytes(), &mut each);
        framer.finish(&mut each);
        found
    }

    #[test]
    fn frames_are_called_as_people_find_them() {
        const LIST: Framing = Framing::LinesOrDocuments(&["a"], &[]);
        let long = "x".repeat(40);
        let before = "what stands before `a`";
        let after = "what stands after `a`";
        for (framing, text, names) in [
            (Framing::Lines, "\u{feff}1\n\n3".to_owned(), vec!["line 1", "line 2", "line 3"]),
            (Framing::Lines, format!("{long}\n2\n"), vec!["line 1", "line 2"]),
            (Framing::Sse, format!("data: {long}\n\ndata: 2\n\n"), vec!["event 1", "event 2"]),
            (Framing::Whole, format!("[{long}]"), vec!["the input"]),
            (LIST, "\u{feff}{\"b\":1}\n{\"b\":2}\n".to_owned(), vec!["line 1", "line 2"]),
            (LIST, "\u{feff}{\"a\":[1,2]}".to_owned(), vec![before, "a[0]", "a[1]", after]),
            (LIST, format!("{{\"a\":[1,\"{long}\",3]}}"), vec![before, "a[0]", "a[1]", "a[2]", after]),
            (LIST, format!("{{\"a\":[\"{long}\"],\"b\":\"{long}\"}}"), vec![before, "a[0]", after]),
            (
                Framing::Documents(&["a"]),
                format!("{{\"a\":[1]}}{{\"b\":\"{long}\",\"a\":[1]}}{{\"b\":1}}"),
                vec![
                    before,
                    "a[0]",
                    after,
                    "document 2",
                    "a[0] of document 2",
                    "what stands after `a` of document 2",
                    "document 3",
                ],
            ),
        ] {
            assert_eq!(places(framing, 20, &text), names, "{text}");
        }
    }

    fn frames(framing: Framing, limit: usize, chunk: usize, text: &str) -> Vec<(String, String)> {
        let mut frames = Vec::new();
        let mut each = |frame: Frame<'_>| {
            let found = std::str::from_utf8(frame.bytes).expect("text in, text out").to_owned();
            frames.push((found, format!("{:?}", frame.kind)));
        };
        let mut cutter = framing.framer(limit);
        for piece in text.as_bytes().chunks(chunk) {
            cutter.push(piece, &mut each);
        }
        cutter.finish(&mut each);
        frames
    }

    #[test]
    fn what_is_over_the_limit_comes_in_the_same_pieces_however_it_was_cut() {
        let path = Framing::Documents(&["session", "entries"]);
        for (framing, text) in [
            (Framing::Lines, "short\nexactly 10\nrather longer than ten\n\nno newline at the end"),
            (Framing::Whole, "rather longer than ten"),
            (
                Framing::Sse,
                "data: rather longer than ten\ndata: more\n\nevent: e\ndata: short\n\n: comment longer\n",
            ),
            (
                path,
                r#"{"version":"rather long","session":{"id":1,"entries":[{"type":"user"},1],"x":2},"y":3}"#,
            ),
        ] {
            let whole = frames(framing, 10, text.len(), text);
            assert!(whole.iter().any(|(_, kind)| kind.contains("too-large")), "{whole:?}");
            assert!(whole.iter().all(|(text, _)| text.len() <= 10), "{whole:?}");
            for chunk in 1..text.len() {
                assert_eq!(frames(framing, 10, chunk, text), whole, "in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn a_comma_too_many_is_an_empty_frame() {
        let found = frames(Framing::Documents(&["a"]), 100, 3, r#"{"a":[,1,,2,]}"#);
        let elements: Vec<&str> = found
            .iter()
            .filter(|(_, kind)| kind.starts_with("Element"))
            .map(|(text, _)| text.as_str())
            .collect();
        assert_eq!(elements, ["", "1", "", "2", ""]);
    }

    #[test]
    fn a_torn_document_ends_where_the_next_one_begins() {
        let path = Framing::LinesOrDocuments(&["a"], &[]);
        let wholes = [
            "{\n  \"x\": {\n    \"y\": 1\n  }\n}\n",
            "{\n  \"x\": [\n    1,\n    {\n      \"y\": [\n        2\n      ]\n    },\n    3\n  ]\n}\n",
        ];
        let texts = |text: &str| -> Vec<String> {
            let found = frames(path, 1000, text.len(), text);
            for chunk in 1..text.len() {
                assert_eq!(frames(path, 1000, chunk, text), found, "in chunks of {chunk}");
            }
            found.into_iter().map(|(text, _)| text).collect()
        };
        for whole in wholes {
            for cut in 3..whole.len() - 3 {
                let torn = &whole[..cut];
                let line = if torn.ends_with('\n') { "" } else { "\n" };
                let found = texts(&format!("{whole}{torn}{line}{whole}{whole}"));
                assert_eq!(found[found.len() - 2..], [whole, whole], "{torn}");
                let found = texts(&format!("{whole}{torn}{line}{whole}"));
                assert_eq!(found[found.len() - 1..], [whole], "{torn}");
            }
        }
        // A torn element ends likewise.
        let element = "\n    {\n      \"b\": [\n        {}\n      ]\n    }";
        for cut in 8..element.len() {
            let found = texts(&format!(
                "{{\n  \"a\": [{element},{}\n{},{element}\n  ]\n}}",
                &element[..cut],
                &element[1..]
            ));
            assert!(found.iter().filter(|text| text.trim() == element.trim()).count() >= 3, "{found:?}");
        }
    }

    #[test]
    fn a_valid_document_of_any_layout_is_not_torn() {
        const TOKENS: &[&str] = &[
            "{", "\"v\"", ":", "{", "\"w\"", ":", "[", "1", ",", "{", "}", ",", "{", "\"z\"", ":", "{", "}",
            "}", "]", "}", ",", "\"a\"", ":", "[", "{", "\"b\"", ":", "[", "{", "}", ",", "{", "}", "]", "}",
            ",", "{", "\"b\"", ":", "{", "}", "}", ",", "2", "]", ",", "\"c\"", ":", "{", "\"d\"", ":", "[",
            "{", "}", ",", "{", "}", "]", "}", "}",
        ];
        let spaces = ["", "", "\n", "\n  ", "\n    ", "\r\n", " ", "\n\n"];
        let mut state = 1u64;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let without_spaces = |text: &str| text.replace([' ', '\r', '\n'], "");
        for round in 0..2_000 {
            // An indented or a flat document before the tested document decides a layout that the latter leaves open.
            let mut text = ["", "{\n  \"a\": []\n}\n", "{\n\"a\": []\n}\n"][round % 3].to_owned();
            for token in TOKENS {
                text.push_str(token);
                text.push_str(spaces[next(spaces.len())]);
            }
            let found = frames(Framing::Documents(&["a"]), 1000, 1 + next(40), &text);
            let found: Vec<String> = found.iter().map(|(text, _)| without_spaces(text)).collect();
            let head = r#"{"v":{"w":[1,{},{"z":{}}]},"a":[]}"#;
            let frames = [head, r#"{"b":[{},{}]}"#, r#"{"b":{}}"#, "2", r#"{"c":{"d":[{},{}]}}"#];
            assert!(found.ends_with(&frames.map(str::to_owned)), "{found:?} of {text}");
        }
    }

    #[test]
    fn the_first_document_tells_lines_from_documents() {
        let kinds = |text: &str| -> Vec<String> {
            frames(Framing::LinesOrDocuments(&["a"], &[]), 100, 5, text)
                .into_iter()
                .map(|(_, kind)| kind)
                .collect()
        };
        assert_eq!(kinds("{\"x\":1}\n{\"a\":[1]}"), ["Line", "LastLine"]);
        assert_eq!(kinds("{\"a\":[1]}\n"), ["Head", "Element { comma: false }", "Tail"]);
        assert_eq!(kinds("{\n \"a\":[1]}\n"), ["Head", "Element { comma: false }", "Tail"]);
        assert_eq!(kinds("{\n \"x\":1}\n{}"), ["Document", "Document"]);
        assert_eq!(kinds("{\"x\":1}{\"x\":2}"), ["Document", "Document"]);
        // The elements of a list have lines of their own.
        let list = ["Head", "Element { comma: false }", "Element { comma: true }", "Tail"];
        assert_eq!(kinds("{\"a\":[\n{\"x\":1},\n{\"x\":2}\n]}\n"), list);
        assert_eq!(kinds("{\"v\":[1,\n{}],\"a\":[\n{\n\"x\":1},\n{\"x\":2}\n]}\n"), list);
        // A torn first line.
        assert_eq!(kinds("{\"x\":\n{\"x\":2}\n"), ["Line", "Line"]);
        assert_eq!(kinds("\n# text\n"), ["Line", "Line"]);
    }

    #[test]
    fn an_event_over_the_limit_ends_as_it_began() {
        let found = frames(Framing::Sse, 4, 100, "data: abcdef\n\ndata: x\n\n");
        let kinds: Vec<(&str, bool)> =
            found.iter().map(|(text, kind)| (text.as_str(), kind.contains("too-large"))).collect();
        assert_eq!(kinds, [("abcd", true), ("ef", true), ("x", false)]);
    }
}
