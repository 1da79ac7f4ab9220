//! Writing JSON: commas are inserted automatically, escaped text is copied, large slices are passed on directly.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use super::one_line::{append_one_line, find_break};
use crate::json::{Raw, Str, base64, escape_pieces};

/// The destination of output. Output to a `Vec` is written directly into it, so that it becomes the body of a response
/// without a copy; any other output gets pieces of at most [`JsonWriter::BUFFER`] bytes, or larger pieces unbuffered.
pub trait Output {
    /// Writes the next bytes.
    fn write(&mut self, bytes: &[u8]);

    /// The memory to write into, if the output is only a buffer.
    fn memory(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// Whether the output accepts no more bytes, for instance after an error. The pipe then ignores further input.
    fn is_closed(&self) -> bool {
        false
    }
}

/// An output to any [`io::Write`]. The first error closes the output.
///
/// ```
/// use interlingua::json::IoOutput;
/// use interlingua::pipe::Pipe;
///
/// let (from, to): (&_, &_) = ("claude-code".parse()?, "record".parse()?);
/// let role = interlingua::dialects::Role::Log;
/// let mut out = IoOutput::new(std::io::sink());
/// let pipe = Pipe::new((from, role), (to, role), &Default::default())?;
/// let report = pipe.finish_with(br#"{"type":"user","message":{"role":"user","content":"hi"}}"#, &mut out);
/// out.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IoOutput<W> {
    inner: W,
    error: Option<io::Error>,
}

impl<W: io::Write> IoOutput<W> {
    /// An output to `inner`, without a buffer of its own: the pipe passes on up to 64 KiB at a time.
    pub const fn new(inner: W) -> Self {
        Self { inner, error: None }
    }

    /// Flushes the inner writer and returns it, or returns the first error.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.inner.flush().map(|()| self.inner),
        }
    }
}

impl<W: io::Write> Output for IoOutput<W> {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.inner.write_all(bytes).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some()
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
    /// The maximum size of the buffer before it is passed on.
    room: usize,
    comma: &'o mut bool,
    written: &'o mut u64,
    frame: &'o mut Option<OpenFrame>,
    kept: &'o mut KeptTail,
    /// `None`: all bytes stay in the buffer.
    out: Option<&'o mut dyn Output>,
}

impl std::fmt::Debug for JsonWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonWriter").field("buffered", &self.buffer.len()).finish_non_exhaustive()
    }
}

/// The state of a [`JsonWriter`] between calls.
#[derive(Debug, Default)]
pub struct JsonBuffer {
    buffer: Vec<u8>,
    comma: bool,
    /// The number of bytes that are no longer in the buffer.
    written: u64,
    frame: Option<OpenFrame>,
    kept: KeptTail,
}

/// The end of the output that the writer may read again, even after its bytes were passed on.
#[derive(Debug, Default)]
struct KeptTail {
    /// The start of the tail in the buffer, or of its continuation after `passed`. `None`: no tail is kept.
    start: Option<usize>,
    /// A copy of the tail's bytes that were passed on.
    passed: Vec<u8>,
    /// The ranges of long texts in the tail, without their quotes.
    texts: Vec<(usize, usize)>,
}

impl KeptTail {
    /// Records that the buffer is passed on. The tail continues at `next` of the following buffer.
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
        self.texts.clear();
    }
}

/// An open frame. A frame is one line, regardless of the JSON values in it.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    /// The start of the frame's bytes in the buffer that may still contain line ends.
    start: usize,
    /// The bytes before `start` end within the indentation of a value.
    in_indent: bool,
}

impl JsonBuffer {
    /// A writer into the memory of `out`; without such memory, it buffers here and passes the buffer on when full.
    pub fn emit<'o>(&'o mut self, out: &'o mut dyn Output) -> JsonWriter<'o> {
        let Self { buffer, comma, written, frame, kept } = self;
        if out.memory().is_none() {
            let room = JsonWriter::BUFFER;
            return JsonWriter { buffer, room, comma, written, frame, kept, out: Some(out) };
        }
        let buffer = out.memory().unwrap_or(buffer);
        JsonWriter { buffer, room: usize::MAX, comma, written, frame, kept, out: None }
    }

    /// A writer that keeps all output in this buffer.
    pub fn hold(&mut self) -> JsonWriter<'_> {
        let Self { buffer, comma, written, frame, kept } = self;
        JsonWriter { buffer, room: usize::MAX, comma, written, frame, kept, out: None }
    }

    /// The held output, as text.
    pub fn held(&self) -> &str {
        // Only `JsonWriter` writes here, and it writes slices of `str` and JSON punctuation.
        simdutf8::basic::from_utf8(&self.buffer).unwrap_or("")
    }

    /// The held output as bytes, to copy or measure it without a UTF-8 check.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Writes the held output to `out`, which continues from this state.
    pub fn pour(&mut self, out: &mut JsonWriter<'_>) {
        out.bytes(&self.buffer);
        *out.comma |= self.comma;
        self.clear();
    }

    /// Moves all held bytes to `out`, with the kept tail. `out` continues the JSON value of this buffer.
    pub(crate) fn move_to(&mut self, out: &mut JsonWriter<'_>) {
        let length = out.buffer.len();
        out.bytes(&self.buffer);
        *out.comma = self.comma;
        if let Some(start) = self.kept.start {
            out.kept.clear();
            out.kept.start = Some(length + start);
            std::mem::swap(&mut out.kept.texts, &mut self.kept.texts);
        }
        self.clear();
    }

    /// Writes held members into an object of `out`, if there are any, and clears the buffer.
    pub(crate) fn pour_members(&mut self, out: &mut JsonWriter<'_>) {
        if !self.buffer.is_empty() {
            out.values(&self.buffer);
            self.clear();
        }
    }

    /// Removes the closing brace of the last held object, so that members can be added; returns whether there is one.
    pub(crate) fn reopen_object(&mut self) -> bool {
        let is_object = self.buffer.last() == Some(&b'}');
        if is_object {
            self.buffer.pop();
            self.comma = self.buffer.last() != Some(&b'{');
        }
        is_object
    }

    /// Removes `cut` bytes before the last `kept` bytes.
    pub(crate) fn cut_before(&mut self, kept: usize, cut: usize) {
        let end = self.buffer.len().saturating_sub(kept);
        self.buffer.drain(end.saturating_sub(cut)..end);
    }

    /// Whether any byte has been passed on.
    pub(crate) const fn has_written(&self) -> bool {
        self.written > 0
    }

    /// Clears the held output.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.comma = false;
        self.written = 0;
        self.frame = None;
        self.kept.clear();
    }
}

impl JsonWriter<'_> {
    /// The maximum size of the buffer before it is passed on.
    pub const BUFFER: usize = 64 << 10;

    /// A longer text is noted: see [`JsonWriter::note_text`].
    pub(crate) const LONG_TEXT: usize = 256;

    /// The same writer with a shorter lifetime.
    pub fn reborrow(&mut self) -> JsonWriter<'_> {
        let out: Option<&mut dyn Output> = match &mut self.out {
            Some(out) => Some(&mut **out),
            None => None,
        };
        let Self { buffer, room, comma, written, frame, kept, .. } = self;
        JsonWriter { buffer, room: *room, comma, written, frame, kept, out }
    }

    /// The same writer without passing output on: all bytes stay in the buffer until [`JsonWriter::pass_on_full`].
    pub(crate) fn without_spilling(&mut self) -> JsonWriter<'_> {
        JsonWriter { room: usize::MAX, ..self.reborrow() }
    }

    /// Keeps all bytes in the buffer until [`JsonWriter::resume_spilling`], which takes the returned size.
    #[inline]
    pub(crate) const fn suspend_spilling(&mut self) -> usize {
        std::mem::replace(&mut self.room, usize::MAX)
    }

    /// Passes output on again once the buffer exceeds `room`.
    #[inline]
    pub(crate) const fn resume_spilling(&mut self, room: usize) {
        self.room = room;
    }

    /// Passes the buffer on if it is full.
    #[inline]
    pub(crate) fn pass_on_full(&mut self) {
        if self.buffer.len() > self.room {
            self.flush();
        }
    }

    /// Keeps the following bytes readable, even after they are passed on.
    #[inline]
    pub(crate) fn begin_tail(&mut self) {
        self.kept.passed.clear();
        self.kept.texts.clear();
        self.kept.start = Some(self.buffer.len());
    }

    /// Drops the tail.
    pub(crate) fn forget_tail(&mut self) {
        self.kept.clear();
    }

    /// The length of the tail.
    #[inline]
    pub(crate) fn tail_length(&self) -> usize {
        let Some(start) = self.kept.start else { return 0 };
        self.kept.passed.len() + self.buffer.len().saturating_sub(start)
    }

    /// The bytes written since [`JsonWriter::begin_tail`]; empty if no tail is kept.
    pub(crate) fn tail(&self) -> Cow<'_, [u8]> {
        let Some(start) = self.kept.start else { return Cow::default() };
        let buffered = self.buffer.get(start..).unwrap_or_default();
        if self.kept.passed.is_empty() {
            return Cow::Borrowed(buffered);
        }
        Cow::Owned([&self.kept.passed, buffered].concat())
    }

    /// The ranges of the tail that are long texts of the source, in order: JSON strings without their quotes.
    pub(crate) fn tail_texts(&self) -> impl Iterator<Item = Range<usize>> {
        self.kept.texts.iter().map(|(start, end)| *start..*end)
    }

    /// Notes that the given range of the tail will be a long text: a JSON string, or a piece of it, without its quotes.
    /// The text was parsed as a string, and ends where an escape ends. Texts are noted in their order.
    #[inline]
    pub(crate) fn note_text(&mut self, start: usize, end: usize) {
        if self.kept.start.is_some() {
            self.kept.texts.push((start, end));
        }
    }

    /// The length of the tail once a comma before the next value is written.
    pub(crate) fn before_value(&self) -> usize {
        self.tail_length() + usize::from(*self.comma)
    }

    /// Replaces the bytes of the tail from `at` on. Bytes that were passed on are final: the new bytes must begin with
    /// them.
    pub(crate) fn replace_tail(&mut self, at: usize, bytes: &[u8]) {
        let Some(start) = self.kept.start else { return };
        let passed = self.kept.passed.len();
        self.kept.texts.retain(|(_, end)| *end <= at);
        self.buffer.truncate(start + at.saturating_sub(passed));
        self.bytes(bytes.get(passed.saturating_sub(at)..).unwrap_or_default());
    }

    /// The bytes in the buffer: all output, if this is [`JsonBuffer::hold`].
    pub(crate) fn buffered(&self) -> &[u8] {
        self.buffer
    }

    /// Removes the last `count` bytes, which must still be in the buffer.
    pub(crate) fn take_back(&mut self, count: usize) {
        self.buffer.truncate(self.buffer.len().saturating_sub(count));
    }

    /// Starts counting. Bytes already in the caller's memory are not counted.
    pub(crate) fn begin_push(&mut self) {
        *self.written = self.written.wrapping_sub(self.buffer.len() as u64);
        if let Some(frame) = self.frame {
            frame.start = self.buffer.len();
        }
        if let Some(start) = &mut self.kept.start {
            *start = self.buffer.len();
        }
    }

    /// The total number of bytes written, during a push.
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        self.written.wrapping_add(self.buffer.len() as u64)
    }

    /// Passes the buffer on, and counts the bytes that stay in the caller's memory.
    pub(crate) fn end_push(&mut self) {
        self.keep_to_one_line();
        if self.out.is_some() {
            self.flush();
        } else {
            *self.written = self.total();
            self.kept.pass(self.buffer, self.buffer.len());
        }
    }

    /// Passes the buffer on.
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

    /// Removes line ends from the open frame.
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

    /// Writes bytes unchanged, without a comma.
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

    /// Writes text unchanged, without a comma. The next value starts without a comma, too.
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

    /// Prepares for a value that follows through [`JsonWriter::bytes`].
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

    /// Writes a member name that needs no escaping.
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

    /// Writes literal JSON up to a value, such as `{"type":` or `"data":{"content":`.
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

    /// Writes literal JSON up to the end of a value, such as `{"type":"user"`.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn with_value(&mut self, json: &'static str) -> &mut Self {
        self.up_to_value(json);
        *self.comma = true;
        self
    }

    /// Passes the buffer on if the given number of bytes would not fit.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if self.buffer.len() + bytes > self.room {
            self.flush();
        }
        self.buffer.reserve(bytes);
    }

    /// Writes a string value.
    #[inline]
    pub fn str(&mut self, text: &Str<'_>) -> &mut Self {
        self.literal(text.as_escaped())
    }

    /// Writes a string value that needs no escaping.
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

    /// Begins a string that follows in pieces through [`JsonWriter::piece`].
    pub fn open_string(&mut self) -> &mut Self {
        self.separate();
        self.bytes(b"\"");
        self
    }

    /// Writes a piece of an open string.
    #[inline]
    pub fn piece(&mut self, text: &Str<'_>) -> &mut Self {
        let text = text.as_escaped();
        if text.len() > Self::LONG_TEXT {
            let start = self.tail_length();
            self.note_text(start, start + text.len());
        }
        self.bytes(text.as_bytes());
        self
    }

    /// Ends an open string.
    pub fn close_string(&mut self) -> &mut Self {
        self.bytes(b"\"");
        *self.comma = true;
        self
    }

    /// Writes a piece of an open string from plain text of any length, escaped piece by piece.
    pub(crate) fn plain_piece(&mut self, text: &str) -> &mut Self {
        escape_pieces(text, |piece| self.bytes(piece.as_bytes()));
        self
    }

    /// Writes a string value from plain text of any length, escaped piece by piece.
    pub fn plain(&mut self, text: &str) -> &mut Self {
        self.open_string().plain_piece(text).close_string()
    }

    /// Writes bytes of any length as a base64 string.
    pub fn base64(&mut self, bytes: &[u8]) -> &mut Self {
        self.open_string();
        // A multiple of three: only the last piece is padded.
        for piece in bytes.chunks(3 << 12) {
            self.bytes(base64(piece).as_bytes());
        }
        self.close_string()
    }

    /// Writes a JSON value inside a string: escaped once more.
    pub fn json_in_string(&mut self, json: &Raw<'_>) -> &mut Self {
        self.plain(json.as_str())
    }

    /// Writes any value verbatim.
    #[inline]
    pub fn raw(&mut self, json: &Raw<'_>) -> &mut Self {
        self.separate();
        self.bytes(json.as_str().as_bytes());
        self
    }

    /// Writes values held elsewhere, with their commas.
    pub fn values(&mut self, held: &[u8]) -> &mut Self {
        self.separate();
        self.bytes(held);
        self
    }

    /// Writes an unsigned integer.
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.separate();
        // Most numbers are list indexes.
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

    /// Writes a signed integer.
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

    /// Writes a string member, if there is a value.
    #[inline]
    pub fn opt_str(&mut self, name: &str, text: Option<&Str<'_>>) -> &mut Self {
        match text {
            Some(text) => self.key(name).str(text),
            None => self,
        }
    }

    /// Writes a member of any type, if there is a value.
    pub fn opt_raw(&mut self, name: &str, json: Option<&Raw<'_>>) -> &mut Self {
        match json {
            Some(json) => self.key(name).raw(json),
            None => self,
        }
    }

    /// Writes a number member, if there is a value.
    #[inline]
    pub fn opt_u64(&mut self, name: &str, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.key(name).u64(number),
            None => self,
        }
    }

    /// Writes a boolean member, if there is a value.
    pub fn opt_bool(&mut self, name: &str, value: Option<bool>) -> &mut Self {
        match value {
            Some(value) => self.key(name).bool(value),
            None => self,
        }
    }
}
