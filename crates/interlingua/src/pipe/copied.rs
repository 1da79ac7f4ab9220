//! An answer between equal dialects: the bytes stay, event by event, and an end without the last event becomes an error.

use super::Pipe;
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
    /// Whether the stream has ended without its final event.
    lacks_final_event: bool,
}

/// The message for a stream whose stop reason has arrived, but not its final event.
const NO_FINAL_EVENT: &str = "the stream ended without its final event";

/// The end of the bytes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The answer ended as its transport announced.
    InOrder,
    /// The connection broke.
    Broken,
}

/// The dialects whose streams may end without a final event if the connection ends in order: Gemini's streams have none,
/// and some servers with the Chat API omit `[DONE]` (10 of 550 recorded streams).
const ENDS_WITH_CONNECTION: [&str; 4] = ["openai-chat", "kimi", "copilot", "gemini"];

/// Whether bytes can be the beginning of an event stream, which may have a byte order mark.
fn starts_with_event(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"data:", b"event:", b":", b"id:", b"retry:", b"\xef\xbb\xbf"];
    starts.iter().any(|start| bytes.starts_with(start))
}

impl CopiedAnswer {
    pub(super) fn new(client: (&'static Dialect, Role)) -> Self {
        let (has_events, open, searched) = (None, Vec::new(), 0);
        let (has_begun, is_foreign, lacks_final_event) = (false, false, false);
        Self { client, has_events, open, searched, has_begun, is_foreign, lacks_final_event }
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

    /// Passes the last bytes to the pipe that observes them, up to the final event if the answer needs one. Returns the bytes
    /// that the pipe has not yet got.
    pub(super) fn observe_end<'b>(
        &mut self,
        last: &'b [u8],
        ending: Ending,
        pipe: &mut Pipe,
        has_ended: impl Fn() -> bool,
    ) -> &'b [u8] {
        if !self.needs_final_event(ending) {
            return last;
        }
        pipe.push(last, &mut Vec::new());
        if !has_ended() {
            // The blank line after the last event may be missing.
            pipe.push(b"\n\n", &mut Vec::new());
        }
        self.lacks_final_event = !has_ended();
        &[]
    }

    /// Whether the answer is only whole with the final event of its dialect. A stop reason before that event is not
    /// enough: a client that waits for the event takes the end for an error, or for success.
    fn needs_final_event(&self, ending: Ending) -> bool {
        let is_lenient = ENDS_WITH_CONNECTION.contains(&self.client.0.name) && ending == Ending::InOrder;
        // A JSON array has no events.
        self.client.1 == Role::Stream && self.has_events != Some(false) && !is_lenient
    }

    /// Ends a stream whose final event is missing with an error of the dialect: an end without one may look like success.
    pub(super) fn end(&self, failure: &mut Option<CallFailure>, out: &mut dyn Output) {
        if self.lacks_final_event && failure.is_none() {
            *failure = Some(CallFailure::of(FailureClass::Incomplete, NO_FINAL_EVENT, None));
        }
        let is_copied = self.has_begun || self.has_events == Some(false);
        let is_foreign = self.is_foreign || (!is_copied && !starts_with_event(&self.open));
        let is_added = |class| is_foreign || class == FailureClass::Incomplete;
        let failure =
            failure.as_ref().filter(|failure| self.client.1 == Role::Stream && is_added(failure.class));
        let answer = failure.and_then(|_| AnswerWriter::new(self.client, &Options::default()).ok());
        let Some((failure, mut answer)) = failure.zip(answer) else {
            return out.write(&self.open);
        };
        answer.fail(failure.class, &failure.message, failure.retry_after, out);
        answer.finish(out);
    }
}
