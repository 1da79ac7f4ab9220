//! Framing: bytes to frames. Any chunking of the input gives the same frames.
//!
//! A framer knows where a document begins and ends and nothing of what is in it. A frame over the limit is not
//! gathered: it passes through in pieces, so memory stays bounded whatever comes in.

mod elements;
mod lines;
mod sse;

pub use elements::Elements;
pub use lines::Lines;
pub use sse::Sse;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'f> {
    /// Its bytes.
    pub bytes: &'f [u8],
    /// What part of the source it is.
    pub kind: FrameKind<'f>,
}

/// What part of the source a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind<'f> {
    /// A line.
    Line,
    /// The last line, without its newline.
    LastLine,
    /// The whole input.
    Whole,
    /// One server-sent event, with its name.
    Sse(Option<&'f str>),
    /// A document before its array, closed so that it is a document of its own.
    Head,
    /// An element of that array.
    Element,
    /// The document after its array, likewise closed.
    Tail,
    /// A piece of something that cannot be read, and why.
    Piece {
        /// Why: `bom` or `too-large`.
        why: &'static str,
        /// The same line goes on in the next frame.
        more: bool,
    },
}

/// How a dialect's bytes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One document a line.
    Lines,
    /// Server-sent events.
    Sse,
    /// One document.
    Whole,
    /// One document with a long array at this path, cut into its elements.
    Elements(&'static [&'static str]),
}

impl Framing {
    /// A framer for a new input.
    pub fn framer(self, limit: usize) -> Box<dyn Framer> {
        match self {
            Framing::Lines => Box::new(Lines::new(limit)),
            Framing::Sse => Box::new(Sse::new(limit)),
            Framing::Whole => Box::new(Whole { buffer: Vec::new(), limit: limit.max(1), oversized: false }),
            Framing::Elements(path) => Box::new(Elements::new(path, limit)),
        }
    }

    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Framing::Lines => "lines",
            Framing::Sse => "sse",
            Framing::Whole => "whole",
            Framing::Elements(_) => "elements",
        }
    }
}

/// Cuts bytes into frames.
pub trait Framer: Send {
    /// Takes the next bytes, of any length, and hands out the frames that are complete.
    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>));

    /// Hands out what is left. Call once, after the last [`Framer::push`].
    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>));
}

/// One document, gathered.
struct Whole {
    buffer: Vec<u8>,
    limit: usize,
    oversized: bool,
}

impl Framer for Whole {
    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        gather(&mut self.buffer, bytes);
        while self.buffer.len() > self.limit {
            self.oversized = true;
            let kind = FrameKind::Piece { why: "too-large", more: true };
            each(Frame { bytes: &self.buffer[..self.limit], kind });
            self.buffer.drain(..self.limit);
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        let kind = if self.oversized {
            FrameKind::Piece { why: "too-large", more: false }
        } else {
            FrameKind::Whole
        };
        if !self.buffer.is_empty() {
            each(Frame { bytes: &self.buffer, kind });
        }
    }
}

/// Appends, growing by a quarter: doubling would cost twice the largest frame.
fn gather(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let need = buffer.len() + bytes.len();
    if need > buffer.capacity() {
        buffer.reserve_exact(bytes.len().max(need / 4).max(4096));
    }
    buffer.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames of `input`, cut into chunks of that size, as text.
    fn frames(framing: Framing, limit: usize, input: &str, chunk: usize) -> Vec<String> {
        let mut framer = framing.framer(limit);
        let mut found = Vec::new();
        let mut each = |frame: Frame<'_>| {
            found.push(format!("{:?} {}", frame.kind, String::from_utf8_lossy(frame.bytes)))
        };
        input.as_bytes().chunks(chunk).for_each(|bytes| framer.push(bytes, &mut each));
        framer.finish(&mut each);
        found
    }

    #[test]
    fn what_is_over_the_limit_is_cut_at_the_limit_whatever_the_chunks() {
        for (framing, input) in [
            (Framing::Lines, "short\na line that is long\nshort\nthe last one, without an end"),
            (Framing::Whole, "a document that is long"),
            (Framing::Elements(&["a"]), r#"{"a":[1,"an element that is long",2]}"#),
        ] {
            let whole = frames(framing, 8, input, input.len());
            assert!(whole.iter().any(|frame| frame.starts_with("Piece")), "{whole:?}");
            for chunk in 1..input.len() {
                assert_eq!(frames(framing, 8, input, chunk), whole, "{framing:?} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn a_comma_too_many_is_a_frame_of_its_own() {
        let found = frames(Framing::Elements(&["a"]), 100, r#"{"a":[,1,,2,]}"#, 3);
        let elements: Vec<&str> = found.iter().filter_map(|frame| frame.strip_prefix("Element ")).collect();
        assert_eq!(elements, [",", "1", ",", "2", ","]);
    }
}
