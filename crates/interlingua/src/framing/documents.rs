//! Documents one after the other. The space before a document belongs to it; what follows the last is a frame of its own.

use super::nesting::{Nesting, NestingMark};
use super::{Frame, FrameKind, Framer, Gathered};

/// The framer of documents.
#[derive(Debug)]
pub struct DocumentFramer {
    /// The beginning of a document whose end has not come yet.
    partial: Gathered,
    nesting: Nesting,
}

impl DocumentFramer {
    /// A framer that gathers at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { partial: Gathered::new(limit), nesting: Nesting::default() }
    }
}

impl Framer for DocumentFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.partial.bytes
    }

    fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        let mut at = 0;
        while let Some((found, mark)) = self.nesting.find(bytes, at) {
            at = found + 1;
            if mark != NestingMark::Comma {
                let (document, rest) = bytes.split_at(at);
                self.partial.end_with(document, FrameKind::Whole, each);
                (bytes, at) = (rest, 0);
            }
        }
        self.partial.add(bytes, each);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if !self.partial.is_empty() {
            self.partial.end(FrameKind::Whole, each);
        }
    }
}
