//! A stream of documents, as server-sent events or as one JSON array that grows: which of the two shows with the first
//! byte.

use super::nesting::{Nesting, NestingMark};
use super::{ByteOrderMark, Frame, FrameKind, Framer, Gathered, PieceOf, SseFramer};

/// The framer of such streams.
#[derive(Debug)]
pub struct EventsOrArrayFramer {
    form: StreamForm,
    events: SseFramer,
    element: Gathered,
    nesting: Nesting,
    mark: ByteOrderMark,
    /// The mark as it is handed out, if there is one.
    has_mark: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamForm {
    /// Nothing but space so far.
    Unknown,
    Events,
    /// In the array.
    Array,
    /// After the bracket that ends it.
    AfterArray,
}

impl EventsOrArrayFramer {
    /// A framer that gathers at most `limit` bytes a document.
    pub fn new(limit: usize) -> Self {
        Self {
            form: StreamForm::Unknown,
            events: SseFramer::new(limit),
            element: Gathered::new(limit, PieceOf::Element),
            nesting: Nesting::default(),
            mark: ByteOrderMark::default(),
            has_mark: false,
        }
    }

    /// Goes on in the array. Returns how many of the bytes are dealt with.
    fn inside(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let Some((found, mark)) = self.nesting.find(bytes, 0) else {
            self.element.add(bytes, each);
            return bytes.len();
        };
        if mark == NestingMark::End {
            // A document is handed out when it is complete, not when the next one begins.
            let document = bytes.get(..=found).unwrap_or_default();
            self.element.end_with(document, FrameKind::Element { comma: false }, each);
        } else {
            self.end_element(bytes.get(..found).unwrap_or_default(), each);
        }
        if mark == NestingMark::Outer {
            self.form = StreamForm::AfterArray;
        }
        found + 1
    }

    /// What stands before a comma or the end: nothing but space, or something that is no document.
    fn end_element(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.element.is_blank() && bytes.trim_ascii().is_empty() {
            self.element.bytes.clear();
        } else {
            self.element.end_with(bytes, FrameKind::Element { comma: false }, each);
        }
    }
}

impl Framer for EventsOrArrayFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        self.events.memory()
    }

    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        // Events may begin with a mark, and it is no part of them.
        let (kept, mut bytes) = self.mark.skip(bytes, &mut |_| self.has_mark = true);
        if !kept.is_empty() {
            self.form = StreamForm::Events;
            self.events.push(kept, each);
        }
        while !bytes.is_empty() {
            match self.form {
                StreamForm::Unknown => {
                    let space = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    match bytes.get(space) {
                        None => return self.events.push(bytes, each),
                        Some(b'[') => {
                            self.form = StreamForm::Array;
                            if self.has_mark {
                                each(ByteOrderMark::frame());
                            }
                            bytes = bytes.get(space + 1..).unwrap_or_default();
                        }
                        Some(_) => self.form = StreamForm::Events,
                    }
                }
                StreamForm::Events => return self.events.push(bytes, each),
                StreamForm::Array => {
                    let done = self.inside(bytes, each);
                    bytes = bytes.get(done..).unwrap_or_default();
                }
                // Anything but space here is no part of the array: it is handed out as it is, and so reported.
                StreamForm::AfterArray => {
                    self.element.add(bytes, each);
                    return;
                }
            }
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        match self.form {
            StreamForm::Unknown | StreamForm::Events => {
                self.events.push(self.mark.finish(), each);
                self.events.finish(each);
            }
            StreamForm::Array | StreamForm::AfterArray => {
                if !self.element.is_blank() {
                    self.element.end(FrameKind::Element { comma: false }, each);
                }
            }
        }
    }
}
