//! The byte order mark that some programs put before everything else.

use super::{Frame, FrameKind, PieceOf};

/// Looks for a byte order mark, however it is cut.
#[derive(Debug, Default)]
pub(super) struct ByteOrderMark {
    /// How many of its bytes have come.
    seen: usize,
    decided: bool,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl ByteOrderMark {
    /// Sets the mark aside. Returns what was taken for its beginning and is not, and the bytes after it.
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

    /// The mark, as it is handed out.
    pub(super) const fn frame() -> Frame<'static> {
        Frame::new(BOM, FrameKind::Piece { why: "bom", more: true, of: PieceOf::Nothing })
    }

    /// Returns what was taken for the beginning of a mark that never came.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        let undecided = !std::mem::replace(&mut self.decided, true);
        BOM.get(..self.seen).filter(|_| undecided).unwrap_or_default()
    }
}
