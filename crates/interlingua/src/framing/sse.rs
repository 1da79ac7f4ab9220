//! Server-sent events according to the WHATWG specification: three line ends, comments, several data lines joined.

use super::{Frame, FrameKind, Framer, Gathered, PieceOf};

/// The event-stream framer.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact about the bytes just read, in any combination"
)]
pub struct SseFramer {
    /// The current line, unless it is data.
    line: Vec<u8>,
    /// The rest of the current line is added directly to the data.
    in_data: bool,
    data: Gathered,
    has_data: bool,
    /// The name of the event; empty if it has none.
    event: String,
    /// The last byte was a carriage return: a newline directly after it belongs to the same line end.
    after_return: bool,
    first_line: bool,
    /// Only whitespace so far.
    blank: bool,
    /// The source is not a stream but one document: an error, or a complete answer.
    whole: bool,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl SseFramer {
    /// A framer that gathers at most `limit` bytes per event.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            in_data: false,
            data: Gathered::new(limit, PieceOf::Event),
            has_data: false,
            event: String::new(),
            after_return: false,
            first_line: true,
            blank: true,
            whole: false,
        }
    }

    /// Adds bytes to the current line.
    fn grow(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.in_data {
            self.data.add(bytes, each);
            return;
        }
        self.line.extend_from_slice(bytes);
        let start = if self.first_line && self.line.starts_with(BOM) { BOM.len() } else { 0 };
        // One byte more than `data:`, to check for a following space.
        if self.line.len() > start + 5 && self.line[start..].starts_with(b"data:") {
            let line = std::mem::take(&mut self.line);
            let value = &line[start + 5..];
            self.begin_data(each);
            self.data.add(value.strip_prefix(b" ").unwrap_or(value), each);
            self.in_data = true;
            self.line = line;
            self.line.clear();
        }
        // A line that is neither data nor a name may be long, but is not used.
        self.line.truncate(self.data.limit.max(LONGEST_NAME));
    }

    fn begin_data(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.add(b"\n", each);
        }
    }

    fn end_line(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if std::mem::take(&mut self.first_line) && self.line.starts_with(BOM) {
            self.line.drain(..BOM.len());
        }
        if std::mem::take(&mut self.in_data) {
            return;
        }
        if self.line.is_empty() {
            self.dispatch(each);
        } else {
            self.field(each);
        }
        self.line.clear();
    }

    fn field(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        let colon = self.line.iter().position(|&byte| byte == b':').unwrap_or(self.line.len());
        let value = self.line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &self.line[..colon] {
            // `data` without a value; lines with a value are already handled.
            b"data" => self.begin_data(each),
            b"event" => {
                self.event.clear();
                self.event.push_str(&String::from_utf8_lossy(value));
            }
            // Comments (an empty name) keep connections open; ids and retry times steer reconnection. No dialect
            // puts content into these fields.
            _ => {}
        }
    }

    fn dispatch(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if std::mem::take(&mut self.has_data) {
            let event = Some(self.event.as_str()).filter(|event| !event.is_empty());
            self.data.end(FrameKind::Sse(event), each);
        }
        self.event.clear();
    }
}

/// The maximum length of an event name.
const LONGEST_NAME: usize = 1 << 10;

impl Framer for SseFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.data.bytes
    }

    fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.blank
            && let Some(begin) = bytes.iter().position(|byte| !byte.is_ascii_whitespace())
        {
            // No field of an event begins with these bytes, but a JSON document or an HTML page does.
            (self.blank, self.whole) = (false, matches!(bytes[begin], b'{' | b'[' | b'<'));
            if self.whole {
                bytes = &bytes[begin..];
            }
        }
        if self.whole {
            self.data.add(bytes, each);
            return;
        }
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.grow(&bytes[..end], each);
            let returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if returned {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.end_line(each);
        }
        self.grow(bytes, each);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if self.whole {
            return self.data.end(FrameKind::Whole, each);
        }
        // The specification drops an event without its blank line; a cut stream would then lose text silently.
        if !self.line.is_empty() || self.in_data {
            self.end_line(each);
        }
        self.dispatch(each);
    }
}
