//! A stream of documents, as server-sent events or as one growing JSON array: the first byte decides.

use super::nesting::{Nesting, NestingMark};
use super::{ByteOrderMark, Frame, FrameKind, Framer, Gathered, PieceOf, SseFramer};

/// The framer of streams in either form.
#[derive(Debug)]
pub struct EventsOrArrayFramer {
    form: StreamForm,
    events: SseFramer,
    element: Gathered,
    nesting: Nesting,
    mark: ByteOrderMark,
    /// The input begins with a byte order mark.
    has_mark: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamForm {
    /// Only whitespace so far.
    Unknown,
    EventSink,
    /// In the array.
    Array,
    /// After the closing bracket of the array.
    AfterArray,
}

impl EventsOrArrayFramer {
    /// A framer that gathers at most `limit` bytes per document.
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

    /// Continues in the array. Returns the number of bytes processed.
    fn inside(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let Some((found, mark)) = self.nesting.find(bytes, 0) else {
            self.element.add(bytes, each);
            return bytes.len();
        };
        if mark == NestingMark::End {
            // A document is passed on when it is complete, not when the next document begins.
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

    /// Ends the bytes before a comma or the end of the array: only whitespace, or bytes that are not a document.
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
        // Events may begin with a byte order mark, which does not belong to them.
        let (kept, mut bytes) = self.mark.skip(bytes, &mut |_| self.has_mark = true);
        if !kept.is_empty() {
            self.form = StreamForm::EventSink;
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
                        Some(_) => self.form = StreamForm::EventSink,
                    }
                }
                StreamForm::EventSink => return self.events.push(bytes, each),
                StreamForm::Array => {
                    let done = self.inside(bytes, each);
                    bytes = bytes.get(done..).unwrap_or_default();
                }
                // Any bytes but whitespace after the array are passed on unchanged, and so reported.
                StreamForm::AfterArray => {
                    self.element.add(bytes, each);
                    return;
                }
            }
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        match self.form {
            StreamForm::Unknown | StreamForm::EventSink => {
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
