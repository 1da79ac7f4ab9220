//! One document a line. A line that is complete in the bytes at hand is not copied.

use super::{Frame, FrameKind, Framer, Gathered};

/// The line framer.
#[derive(Debug)]
pub struct LineFramer {
    /// The beginning of a line whose end has not come yet.
    partial: Gathered,
    /// Bytes of a byte order mark still possible at the start; `None` once decided.
    start: Option<usize>,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl LineFramer {
    /// A framer that gathers at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { partial: Gathered::new(limit), start: Some(0) }
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
                self.partial.add(&BOM[..seen], each);
                self.start = None;
            }
        }
        bytes
    }
}

impl Framer for LineFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.partial.bytes
    }

    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let mut bytes = self.skip_mark(bytes, each);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, tail) = (&bytes[..end], &bytes[end + 1..]);
            self.partial.end_with(line, FrameKind::Line, each);
            bytes = tail;
        }
        self.partial.add(bytes, each);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if let Some(seen) = self.start.take() {
            self.partial.add(&BOM[..seen], each);
        }
        if !self.partial.is_empty() {
            self.partial.end(FrameKind::LastLine, each);
        }
    }
}
