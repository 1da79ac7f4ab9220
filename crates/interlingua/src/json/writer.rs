//! Writing JSON: commas are placed for you, escaped text is copied, large slices go straight through.

use std::borrow::Cow;

use super::one_line::{append_one_line, find_break};
use crate::json::{Raw, Str, base64, escape_pieces};

/// Where bytes go. What is written to a `Vec` lies in it at once, so that it becomes the body of a response without a
/// copy; anything else gets pieces of at most [`JsonWriter::BUFFER`] bytes, or larger ones unbuffered.
pub trait Output {
    /// Takes the next bytes.
    fn write(&mut self, bytes: &[u8]);

    /// The memory to write into, if that is all this is.
    fn memory(&mut self) -> Option<&mut Vec<u8>> {
        None
    }
}

impl Output for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn memory(&mut self) -> Option<&mut Vec<u8>> {
        Some(self)
    }
}

/// A JSON writer over a buffer.
pub struct JsonWriter<'o> {
    buffer: &'o mut Vec<u8>,
    /// How much the buffer takes before it is passed on.
    room: usize,
    comma: &'o mut bool,
    written: &'o mut u64,
    frame: &'o mut Option<OpenFrame>,
    kept: &'o mut KeptTail,
    /// `None`: everything stays in the buffer.
    out: Option<&'o mut dyn Output>,
}

impl std::fmt::Debug for JsonWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonWriter").field("buffered", &self.buffer.len()).finish_non_exhaustive()
    }
}

/// What an [`JsonWriter`] remembers between calls.
#[derive(Debug, Default)]
pub struct JsonBuffer {
    buffer: Vec<u8>,
    comma: bool,
    /// Bytes that are no longer in the buffer.
    written: u64,
    frame: Option<OpenFrame>,
    kept: KeptTail,
}

/// The end of the output that the writer may read again, wherever its bytes are by then.
#[derive(Debug, Default)]
struct KeptTail {
    /// Where in the buffer the tail begins, or goes on behind `passed`. `None`: nothing is kept.
    start: Option<usize>,
    /// A copy of the bytes of the tail that were passed on.
    passed: Vec<u8>,
}

impl KeptTail {
    /// The buffer is passed on. The tail goes on at `next` of what follows.
    #[inline]
    fn pass(&mut self, buffer: &[u8], next: usize) {
        if let Some(start) = &mut self.start {
            self.passed.extend_from_slice(buffer.get(*start..).unwrap_or_default());
            *start = next;
        }
    }

    fn clear(&mut self) {
        self.start = None;
        self.passed.clear();
    }
}

/// A frame that has begun and not ended. A frame is one line, whatever the JSON values in it hold.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    /// Where in the buffer its bytes begin that may still hold line ends.
    start: usize,
    /// The bytes before `start` end within the indentation of a value.
    in_indent: bool,
}

impl JsonBuffer {
    /// A writer that writes into the memory of `out`; if it has none, it buffers here and spills.
    pub fn emit<'o>(&'o mut self, out: &'o mut dyn Output) -> JsonWriter<'o> {
        let Self { buffer, comma, written, frame, kept } = self;
        if out.memory().is_none() {
            let room = JsonWriter::BUFFER;
            return JsonWriter { buffer, room, comma, written, frame, kept, out: Some(out) };
        }
        let buffer = out.memory().unwrap_or(buffer);
        JsonWriter { buffer, room: usize::MAX, comma, written, frame, kept, out: None }
    }

    /// A writer that keeps everything here.
    pub fn hold(&mut self) -> JsonWriter<'_> {
        let Self { buffer, comma, written, frame, kept } = self;
        JsonWriter { buffer, room: usize::MAX, comma, written, frame, kept, out: None }
    }

    /// What has been held, as text.
    pub fn held(&self) -> &str {
        // Only `JsonWriter` writes here, and it writes slices of `str` and JSON punctuation.
        simdutf8::basic::from_utf8(&self.buffer).unwrap_or("")
    }

    /// What has been held, to be written again or measured: nobody need look whether it is text.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Writes what has been held to `out`, which goes on where this stood.
    pub fn pour(&mut self, out: &mut JsonWriter<'_>) {
        out.bytes(&self.buffer);
        *out.comma |= self.comma;
        self.clear();
    }

    /// Moves all held bytes to `out`, with the tail that is kept. `out` continues the JSON value of this buffer.
    pub(crate) fn move_to(&mut self, out: &mut JsonWriter<'_>) {
        let length = out.buffer.len();
        out.bytes(&self.buffer);
        *out.comma = self.comma;
        if let Some(start) = self.kept.start {
            out.kept.clear();
            out.kept.start = Some(length + start);
        }
        self.clear();
    }

    /// Writes members that have been held into an object of `out`, if there are any, and forgets them.
    pub(crate) fn pour_members(&mut self, out: &mut JsonWriter<'_>) {
        if !self.buffer.is_empty() {
            out.values(&self.buffer);
            self.clear();
        }
    }

    /// Takes back the end of the object that was held last, so that members can be added to it; returns whether there
    /// is one.
    pub(crate) fn reopen_object(&mut self) -> bool {
        let is_object = self.buffer.last() == Some(&b'}');
        if is_object {
            self.buffer.pop();
            self.comma = self.buffer.last() != Some(&b'{');
        }
        is_object
    }

    /// Cuts out so many bytes before the last ones that are kept.
    pub(crate) fn cut_before(&mut self, kept: usize, cut: usize) {
        let end = self.buffer.len().saturating_sub(kept);
        self.buffer.drain(end.saturating_sub(cut)..end);
    }

    /// Whether a byte has been passed on.
    pub(crate) const fn has_written(&self) -> bool {
        self.written > 0
    }

    /// Forgets what has been held.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.comma = false;
        self.written = 0;
        self.frame = None;
        self.kept.clear();
    }
}

impl JsonWriter<'_> {
    /// How much is gathered before it is passed on.
    pub const BUFFER: usize = 64 << 10;

    /// The same writer for a shorter time.
    pub fn reborrow(&mut self) -> JsonWriter<'_> {
        let out: Option<&mut dyn Output> = match &mut self.out {
            Some(out) => Some(&mut **out),
            None => None,
        };
        let Self { buffer, room, comma, written, frame, kept, .. } = self;
        JsonWriter { buffer, room: *room, comma, written, frame, kept, out }
    }

    /// The same writer, which passes nothing on: all bytes stay in the buffer until [`JsonWriter::pass_on_full`].
    pub(crate) fn without_spilling(&mut self) -> JsonWriter<'_> {
        JsonWriter { room: usize::MAX, ..self.reborrow() }
    }

    /// Passes the buffer on if it is full.
    #[inline]
    pub(crate) fn pass_on_full(&mut self) {
        if self.buffer.len() > self.room {
            self.flush();
        }
    }

    /// Keeps the bytes that follow readable, also after they are passed on.
    #[inline]
    pub(crate) fn begin_tail(&mut self) {
        self.kept.passed.clear();
        self.kept.start = Some(self.buffer.len());
    }

    /// Forgets the tail.
    pub(crate) fn forget_tail(&mut self) {
        self.kept.clear();
    }

    /// The length of the tail.
    #[inline]
    pub(crate) fn tail_length(&self) -> usize {
        let Some(start) = self.kept.start else { return 0 };
        self.kept.passed.len() + self.buffer.len().saturating_sub(start)
    }

    /// The bytes written since [`JsonWriter::begin_tail`]; none if they are not kept.
    pub(crate) fn tail(&self) -> Cow<'_, [u8]> {
        let Some(start) = self.kept.start else { return Cow::default() };
        let buffered = self.buffer.get(start..).unwrap_or_default();
        if self.kept.passed.is_empty() {
            return Cow::Borrowed(buffered);
        }
        Cow::Owned([&self.kept.passed, buffered].concat())
    }

    /// Replaces the bytes of the tail from `at` on. Bytes that were passed on are final: the new ones must begin with them.
    pub(crate) fn replace_tail(&mut self, at: usize, bytes: &[u8]) {
        let Some(start) = self.kept.start else { return };
        let passed = self.kept.passed.len();
        self.buffer.truncate(start + at.saturating_sub(passed));
        self.bytes(bytes.get(passed.saturating_sub(at)..).unwrap_or_default());
    }

    /// The bytes in the buffer: all of them, if this is [`JsonBuffer::hold`].
    pub(crate) fn buffered(&self) -> &[u8] {
        self.buffer
    }

    /// Takes back the last `count` bytes, which must still be in the buffer.
    pub(crate) fn take_back(&mut self, count: usize) {
        self.buffer.truncate(self.buffer.len().saturating_sub(count));
    }

    /// Begins to count. What lies in the caller's memory already is not counted.
    pub(crate) fn begin_push(&mut self) {
        *self.written = self.written.wrapping_sub(self.buffer.len() as u64);
        if let Some(frame) = self.frame {
            frame.start = self.buffer.len();
        }
        if let Some(start) = &mut self.kept.start {
            *start = self.buffer.len();
        }
    }

    /// How many bytes were written in all, while a push goes on.
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        self.written.wrapping_add(self.buffer.len() as u64)
    }

    /// Passes on what is gathered, and counts what stays in the caller's memory.
    pub(crate) fn end_push(&mut self) {
        self.keep_to_one_line();
        if self.out.is_some() {
            self.flush();
        } else {
            *self.written = self.total();
            self.kept.pass(self.buffer, self.buffer.len());
        }
    }

    /// Passes on what is gathered.
    #[cold]
    fn flush(&mut self) {
        self.keep_to_one_line();
        if let Some(out) = self.out.as_deref_mut() {
            *self.written += self.buffer.len() as u64;
            out.write(self.buffer);
            self.kept.pass(self.buffer, 0);
            self.buffer.clear();
            if let Some(frame) = self.frame {
                frame.start = 0;
            }
        }
    }

    /// Takes line ends out of the open frame.
    #[inline]
    fn keep_to_one_line(&mut self) {
        let Some(frame) = self.frame else { return };
        let written = self.buffer.get(frame.start..).unwrap_or_default();
        if frame.in_indent || find_break(written).is_some() {
            let json = self.buffer.split_off(frame.start);
            append_one_line(&json, &mut frame.in_indent, self.buffer);
        }
        frame.start = self.buffer.len();
    }

    /// Bytes as they are, without a comma.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > self.room {
            self.spill(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    #[cold]
    fn spill(&mut self, bytes: &[u8]) {
        self.flush();
        match self.out.as_deref_mut() {
            Some(out) if bytes.len() > Self::BUFFER => match self.frame {
                Some(frame) if frame.in_indent || find_break(bytes).is_some() => {
                    let mut line = Vec::with_capacity(bytes.len());
                    append_one_line(bytes, &mut frame.in_indent, &mut line);
                    *self.written += line.len() as u64;
                    self.kept.pass(&line, 0);
                    out.write(&line);
                }
                _ => {
                    *self.written += bytes.len() as u64;
                    self.kept.pass(bytes, 0);
                    out.write(bytes);
                }
            },
            _ => self.buffer.extend_from_slice(bytes),
        }
    }

    /// Begins a frame: one line of a stream or of a log. `text` is the framing before its value, such as `data: `. Until
    /// [`JsonWriter::end_frame`] line ends in values are left out or escaped, so that every client reads one line.
    pub fn begin_frame(&mut self, text: &str) -> &mut Self {
        self.frame(text);
        *self.frame = Some(OpenFrame { start: self.buffer.len(), in_indent: false });
        self
    }

    /// Ends a frame. `text` is the framing after its value, such as a newline.
    pub fn end_frame(&mut self, text: &str) -> &mut Self {
        self.keep_to_one_line();
        *self.frame = None;
        self.frame(text)
    }

    /// Text as it is, without a comma. The next value starts afresh.
    pub fn frame(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes());
        *self.comma = false;
        self
    }

    #[inline]
    fn separate(&mut self) {
        if *self.comma {
            self.bytes(b",");
        }
        *self.comma = true;
    }

    /// A value follows through [`JsonWriter::bytes`].
    pub fn begin_raw(&mut self) {
        self.separate();
    }

    /// `{`
    pub fn object(&mut self) -> &mut Self {
        self.open(b"{")
    }

    /// `}`
    pub fn end_object(&mut self) -> &mut Self {
        self.close(b"}")
    }

    /// `[`
    pub fn array(&mut self) -> &mut Self {
        self.open(b"[")
    }

    /// `]`
    pub fn end_array(&mut self) -> &mut Self {
        self.close(b"]")
    }

    fn open(&mut self, bracket: &[u8]) -> &mut Self {
        self.separate();
        self.bytes(bracket);
        *self.comma = false;
        self
    }

    fn close(&mut self, bracket: &[u8]) -> &mut Self {
        self.bytes(bracket);
        *self.comma = true;
        self
    }

    /// A member name that needs no escaping.
    #[expect(
        clippy::inline_always,
        reason = "a name is known where it is written: its copy is then a few moves instead of a call"
    )]
    #[inline(always)]
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.make_room(name.len() + 4);
        if std::mem::replace(self.comma, false) {
            self.buffer.push(b',');
        }
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\":");
        self
    }

    /// JSON as it is written out up to a value, such as `{"type":` or `"data":{"content":`.
    #[expect(
        clippy::inline_always,
        reason = "the text is known where it is written: its copy is then a few moves instead of a call"
    )]
    #[inline(always)]
    pub(crate) fn up_to_value(&mut self, json: &'static str) -> &mut Self {
        self.make_room(json.len() + 1);
        if std::mem::replace(self.comma, false) {
            self.buffer.push(b',');
        }
        self.buffer.extend_from_slice(json.as_bytes());
        self
    }

    /// JSON as it is written out up to the end of a value, such as `{"type":"user"`.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn with_value(&mut self, json: &'static str) -> &mut Self {
        self.up_to_value(json);
        *self.comma = true;
        self
    }

    /// Passes on what is gathered if so many bytes more would be too many.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if self.buffer.len() + bytes > self.room {
            self.flush();
        }
        self.buffer.reserve(bytes);
    }

    /// A string value.
    #[inline]
    pub fn str(&mut self, text: &Str<'_>) -> &mut Self {
        self.literal(text.as_escaped())
    }

    /// A string value that needs no escaping.
    #[inline]
    pub fn literal(&mut self, text: &str) -> &mut Self {
        if text.len() > 256 {
            self.open_string();
            self.bytes(text.as_bytes());
            return self.close_string();
        }
        self.make_room(text.len() + 3);
        if std::mem::replace(self.comma, true) {
            self.buffer.push(b',');
        }
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.push(b'"');
        self
    }

    /// Begins a string that comes in pieces through [`JsonWriter::piece`].
    pub fn open_string(&mut self) -> &mut Self {
        self.separate();
        self.bytes(b"\"");
        self
    }

    /// A piece of an open string.
    #[inline]
    pub fn piece(&mut self, text: &Str<'_>) -> &mut Self {
        self.bytes(text.as_escaped().as_bytes());
        self
    }

    /// Ends an open string.
    pub fn close_string(&mut self) -> &mut Self {
        self.bytes(b"\"");
        *self.comma = true;
        self
    }

    /// A piece of an open string, of plain text of any length, escaped on the way.
    pub(crate) fn plain_piece(&mut self, text: &str) -> &mut Self {
        escape_pieces(text, |piece| self.bytes(piece.as_bytes()));
        self
    }

    /// A string value of plain text, of any length, escaped on the way.
    pub fn plain(&mut self, text: &str) -> &mut Self {
        self.open_string().plain_piece(text).close_string()
    }

    /// A string value that says bytes, of any length, in base64.
    pub fn base64(&mut self, bytes: &[u8]) -> &mut Self {
        self.open_string();
        // A multiple of three: only the last piece is padded.
        for piece in bytes.chunks(3 << 12) {
            self.bytes(base64(piece).as_bytes());
        }
        self.close_string()
    }

    /// A JSON value inside a string: escaped once more.
    pub fn json_in_string(&mut self, json: &Raw<'_>) -> &mut Self {
        self.plain(json.as_str())
    }

    /// Any value, verbatim.
    #[inline]
    pub fn raw(&mut self, json: &Raw<'_>) -> &mut Self {
        self.separate();
        self.bytes(json.as_str().as_bytes());
        self
    }

    /// Values held elsewhere, with their commas.
    pub fn values(&mut self, held: &[u8]) -> &mut Self {
        self.separate();
        self.bytes(held);
        self
    }

    /// A whole number.
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.separate();
        // Most are places in a list.
        if number < 10 {
            self.bytes(&[b'0' + number as u8]);
            return self;
        }
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut left = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.bytes(&digits[at..]);
        self
    }

    /// A whole number that may be below zero.
    pub fn i64(&mut self, number: i64) -> &mut Self {
        if number < 0 {
            self.separate();
            self.bytes(b"-");
            *self.comma = false;
        }
        self.u64(number.unsigned_abs())
    }

    /// `true` or `false`
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.separate();
        self.bytes(if value { b"true" } else { b"false" });
        self
    }

    /// `null`
    pub fn null(&mut self) -> &mut Self {
        self.separate();
        self.bytes(b"null");
        self
    }

    /// A string member, if there is one.
    #[inline]
    pub fn opt_str(&mut self, name: &str, text: Option<&Str<'_>>) -> &mut Self {
        match text {
            Some(text) => self.key(name).str(text),
            None => self,
        }
    }

    /// A member of any type, if there is one.
    pub fn opt_raw(&mut self, name: &str, json: Option<&Raw<'_>>) -> &mut Self {
        match json {
            Some(json) => self.key(name).raw(json),
            None => self,
        }
    }

    /// A number member, if there is one.
    #[inline]
    pub fn opt_u64(&mut self, name: &str, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.key(name).u64(number),
            None => self,
        }
    }

    /// A boolean member, if there is one.
    pub fn opt_bool(&mut self, name: &str, value: Option<bool>) -> &mut Self {
        match value {
            Some(value) => self.key(name).bool(value),
            None => self,
        }
    }
}
