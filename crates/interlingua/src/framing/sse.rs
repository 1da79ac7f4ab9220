//! Server-sent events, as the WHATWG text says: any of three line ends, comments, several data lines joined.

use super::{Frame, FrameKind, Framer};

/// The event-stream framer.
#[derive(Debug)]
pub struct Sse {
    line: Vec<u8>,
    data: Vec<u8>,
    event: Option<String>,
    has_data: bool,
    limit: usize,
    /// The last byte was a carriage return: a newline right after it belongs to it.
    after_return: bool,
    first_line: bool,
}

impl Sse {
    /// A framer that gathers at most `limit` bytes an event.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            event: None,
            has_data: false,
            limit,
            after_return: false,
            first_line: true,
        }
    }

    fn end_line(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.dispatch(each);
        } else {
            self.field(&line);
        }
        line.clear();
        self.line = line;
        if self.data.len() > self.limit {
            each(Frame { bytes: &self.data, kind: FrameKind::Piece { why: "too-large", more: true } });
            self.data.clear();
        }
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (name, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.event = Some(String::from_utf8_lossy(value).into_owned()),
            // Comments (an empty name) keep connections open; ids and retry times steer reconnection. No dialect
            // here puts content into them.
            _ => {}
        }
    }

    fn dispatch(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if std::mem::take(&mut self.has_data) {
            each(Frame { bytes: &self.data, kind: FrameKind::Sse(self.event.as_deref()) });
            self.data.clear();
        }
        self.event = None;
    }
}

impl Framer for Sse {
    fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.line.extend_from_slice(&bytes[..end]);
            let returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if returned {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.end_line(each);
        }
        self.line.extend_from_slice(bytes);
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        // The standard drops an event whose blank line never came; a cut stream would then lose text silently.
        if !self.line.is_empty() {
            self.end_line(each);
        }
        self.dispatch(each);
    }
}
