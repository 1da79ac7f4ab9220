//! One document per line. A line that is complete in the current chunk is not copied.

use super::{ByteOrderMark, Frame, FrameKind, Framer, Gathered, PieceOf};

/// The line framer.
#[derive(Debug)]
pub struct LineFramer {
    /// The beginning of a line without its end so far.
    partial: Gathered,
    mark: ByteOrderMark,
}

impl LineFramer {
    /// A framer that gathers at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { partial: Gathered::new(limit, PieceOf::Line), mark: ByteOrderMark::default() }
    }
}

impl Framer for LineFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.partial.bytes
    }

    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let (kept, mut bytes) = self.mark.skip(bytes, each);
        self.partial.add(kept, each);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, tail) = (&bytes[..end], &bytes[end + 1..]);
            self.partial.end_with(line, FrameKind::Line, each);
            bytes = tail;
        }
        self.partial.add(bytes, each);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        self.partial.add(self.mark.finish(), each);
        if !self.partial.is_empty() {
            self.partial.end(FrameKind::LastLine, each);
        }
    }
}
