//! An answer between equal dialects: the bytes stay, event by event, and an end without the last event becomes an error.

use super::answer::AnswerWriter;
use super::exchange::{CallFailure, CallOutcome};
use crate::dialects::{Dialect, Options, Role};
use crate::json::Output;
use crate::model::FailureClass;

/// An answer whose bytes are copied.
#[derive(Debug)]
pub(super) struct CopiedAnswer {
    client: (&'static Dialect, Role),
    /// Whether the bytes are events of a stream; `None` before the first bytes.
    has_events: Option<bool>,
    /// The bytes of an event that is not complete.
    open: Vec<u8>,
    /// The number of open bytes without the end of an event.
    searched: usize,
    /// Whether an event was known.
    has_begun: bool,
    /// Whether the bytes are no stream at all: the client gets only the error.
    is_foreign: bool,
}

/// Whether bytes can be the beginning of an event stream, which may have a byte order mark.
fn starts_with_event(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"data:", b"event:", b":", b"id:", b"retry:", b"\xef\xbb\xbf"];
    starts.iter().any(|start| bytes.starts_with(start))
}

impl CopiedAnswer {
    pub(super) fn new(client: (&'static Dialect, Role)) -> Self {
        let (has_events, open, searched) = (None, Vec::new(), 0);
        Self { client, has_events, open, searched, has_begun: false, is_foreign: false }
    }

    /// Copies the bytes. A stream of events is copied event by event: a client cannot parse a part of an event, and the
    /// error after a broken connection needs its own event. Bytes before the first known event wait for it, because they
    /// can be those of something else than an answer.
    pub(super) fn copy(&mut self, bytes: &[u8], outcome: &CallOutcome, out: &mut dyn Output) {
        let Some(first) = bytes.first() else { return };
        // A JSON array has no events.
        let has_events = self.client.1 == Role::Stream && !matches!(first, b'[' | b'{');
        if !*self.has_events.get_or_insert(has_events) {
            return out.write(bytes);
        }
        let open = &mut self.open;
        if !outcome.has_events || self.is_foreign {
            return open.extend_from_slice(bytes);
        }
        if open.is_empty() && self.has_begun && bytes.ends_with(b"\n\n") {
            return out.write(bytes);
        }
        open.extend_from_slice(bytes);
        // A reader may turn a page of HTML into an error.
        if !self.has_begun && outcome.failure.is_some() && !starts_with_event(open) {
            self.is_foreign = true;
            return;
        }
        self.has_begun = true;
        // The end of an event can have begun in the bytes before.
        let from = self.searched.saturating_sub(3);
        let end = |end: &[u8]| {
            let position = open[from..].windows(end.len()).rposition(|window| window == end);
            position.map(|position| from + position + end.len())
        };
        if let Some(end) = end(b"\n\n").max(end(b"\r\n\r\n")) {
            out.write(&open[..end]);
            open.drain(..end);
        }
        self.searched = open.len();
    }

    /// Ends a stream whose final event is missing with an error of the dialect: an end without one may look like success.
    pub(super) fn end(&self, failure: Option<&CallFailure>, out: &mut dyn Output) {
        let is_copied = self.has_begun || self.has_events == Some(false);
        let is_foreign = self.is_foreign || (!is_copied && !starts_with_event(&self.open));
        let is_added = |class| is_foreign || class == FailureClass::Incomplete;
        let failure = failure.filter(|failure| self.client.1 == Role::Stream && is_added(failure.class));
        let answer = failure.and_then(|_| AnswerWriter::new(self.client, &Options::default()).ok());
        let Some((failure, mut answer)) = failure.zip(answer) else {
            return out.write(&self.open);
        };
        answer.fail(failure.class, &failure.message, failure.retry_after, out);
        answer.finish(out);
    }
}
