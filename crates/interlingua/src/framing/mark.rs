//! The byte order mark at the beginning of some files.

use super::{Frame, FrameKind, PieceOf};

/// Finds a byte order mark in any chunking.
#[derive(Debug, Default)]
pub(super) struct ByteOrderMark {
    /// The number of the mark's bytes seen so far.
    seen: usize,
    decided: bool,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl ByteOrderMark {
    /// Passes the mark on as its own frame. Returns bytes that looked like the start of a mark but are not, and the
    /// bytes after it.
    pub(super) fn skip<'b>(
        &mut self,
        mut bytes: &'b [u8],
        each: &mut dyn FnMut(Frame<'_>),
    ) -> (&'static [u8], &'b [u8]) {
        while let (false, Some((&byte, rest))) = (self.decided, bytes.split_first()) {
            if BOM.get(self.seen) != Some(&byte) {
                return (self.finish(), bytes);
            }
            bytes = rest;
            self.seen += 1;
            if self.seen == BOM.len() {
                self.decided = true;
                each(Self::frame());
            }
        }
        (&[], bytes)
    }

    /// The frame of the mark.
    pub(super) const fn frame() -> Frame<'static> {
        Frame::new(BOM, FrameKind::Piece { why: "bom", more: true, of: PieceOf::Nothing })
    }

    /// Returns bytes that looked like the start of an incomplete mark.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        let undecided = !std::mem::replace(&mut self.decided, true);
        BOM.get(..self.seen).filter(|_| undecided).unwrap_or_default()
    }
}
