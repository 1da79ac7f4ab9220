//! One document a line. A line that is complete in the bytes at hand is not copied.

use super::{Frame, FrameKind, Framer, gather};

/// The line framer.
#[derive(Debug)]
pub struct Lines {
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    limit: usize,
    /// The current line is over the limit and passes in pieces.
    oversized: bool,
    /// Bytes of a byte order mark still possible at the start; `None` once decided.
    start: Option<usize>,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Lines {
    /// A framer that gathers at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), limit: limit.max(1), oversized: false, start: Some(0) }
    }

    /// Sets a byte order mark aside, however it is cut.
    fn skip_mark<'b>(&mut self, mut bytes: &'b [u8], each: &mut dyn FnMut(Frame<'_>)) -> &'b [u8] {
        while let (Some(seen), Some(&byte)) = (self.start, bytes.first()) {
            if BOM.get(seen) == Some(&byte) {
                bytes = &bytes[1..];
                self.start = Some(seen + 1);
                if seen + 1 == BOM.len() {
                    each(Frame { bytes: BOM, kind: FrameKind::Piece { why: "bom", more: true } });
                    self.start = None;
                }
            } else {
                self.partial.extend_from_slice(&BOM[..seen]);
                self.start = None;
            }
        }
        bytes
    }

    fn line(&mut self, bytes: &[u8], kind: FrameKind<'_>, each: &mut dyn FnMut(Frame<'_>)) {
        let bytes = self.pieces(bytes, each);
        if std::mem::take(&mut self.oversized) {
            // A last line that has no newline goes on as far as anyone can tell.
            let more = kind == FrameKind::LastLine;
            each(Frame { bytes, kind: FrameKind::Piece { why: "too-large", more } });
        } else {
            each(Frame { bytes, kind });
        }
    }

    /// Hands out what is over the limit, in pieces of exactly the limit, so that the cut does not depend on how the
    /// bytes came in. Returns what is left.
    fn pieces<'b>(&mut self, mut bytes: &'b [u8], each: &mut dyn FnMut(Frame<'_>)) -> &'b [u8] {
        while bytes.len() > self.limit {
            let (piece, rest) = bytes.split_at(self.limit);
            self.oversized = true;
            each(Frame { bytes: piece, kind: FrameKind::Piece { why: "too-large", more: true } });
            bytes = rest;
        }
        bytes
    }
}

impl Framer for Lines {
    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let mut bytes = self.skip_mark(bytes, each);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, tail) = (&bytes[..end], &bytes[end + 1..]);
            if self.partial.is_empty() {
                self.line(line, FrameKind::Line, each);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                gather(&mut whole, line);
                self.line(&whole, FrameKind::Line, each);
                whole.clear();
                // A huge line's memory is given back; a usual one's is used again.
                if whole.capacity() <= 1 << 20 {
                    self.partial = whole;
                }
            }
            bytes = tail;
        }
        gather(&mut self.partial, bytes);
        if self.partial.len() > self.limit {
            let partial = std::mem::take(&mut self.partial);
            let rest = self.pieces(&partial, each);
            gather(&mut self.partial, rest);
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if let Some(seen) = self.start.take() {
            self.partial.extend_from_slice(&BOM[..seen]);
        }
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() || self.oversized {
            self.line(&last, FrameKind::LastLine, each);
        }
    }
}
