//! The body of a response to a client: bytes that are there, or the answer of a backend, translated as it arrives.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use interlingua::pipe::{AnswerPipe, CallOutcome};
use interlingua_store::Reply;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::backend::BackendBody;
use crate::finished::CallTracker;

/// The silence after which a stream gets a comment, so that the client and proxies on the way keep the connection.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The longest time that the last events wait for the end of the backend's body. A backend that keeps the body open after
/// its last event must not delay the client.
const TAIL_WAIT: Duration = Duration::from_secs(1);

/// A comment in a stream of server-sent events. Clients skip comments.
pub(crate) const COMMENT: &[u8] = b": keep-alive\n\n";

/// The size in bytes from which a piece of a stream takes no further frames of the backend.
const MOST_JOINED: usize = 16 << 10;

/// The body of a response.
pub(crate) enum AnswerBody {
    /// Bytes that are there.
    Whole(Option<Bytes>),
    /// An answer that is translated as it arrives.
    Streamed(Box<StreamedAnswer>),
    /// Events that arrive until the sender ends.
    Events(mpsc::Receiver<Bytes>),
}

impl AnswerBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }
}

/// An answer that is translated as it arrives. Dropping the body closes the connection to the backend.
pub(crate) struct StreamedAnswer {
    backend: BackendBody,
    /// The pipe and the facts of the call; `None` after the end.
    open: Option<(AnswerPipe, CallTracker)>,
    /// Output from before the response began.
    held: Option<Bytes>,
    /// Whether the client wants a JSON array instead of server-sent events.
    array: Option<ArrayForm>,
    timer: Pin<Box<Sleep>>,
    last_data: Instant,
    idle_timeout: Duration,
    /// Whether the output so far ends between two events.
    between_events: bool,
    flush: FirstFlush,
    /// The events from the stop reason on, while the store is durable: a client is done after the last event, so the event
    /// waits until the call is stored. `None` without such a store, and after [`TAIL_WAIT`].
    tail: Option<Vec<u8>>,
    /// The last output, which waits until the call is stored.
    storing: Option<(Reply<()>, Option<Bytes>)>,
}

/// The state of the first output, which must not wait in the buffer of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstFlush {
    NoOutputYet,
    Due,
    Done,
}

impl StreamedAnswer {
    /// An answer whose pipe has written `out` already. An answer that has ended has its outcome instead of the pipe.
    pub(crate) fn new(
        backend: BackendBody,
        pipe: Result<AnswerPipe, CallOutcome>,
        out: Vec<u8>,
        is_array: bool,
        idle_timeout: Duration,
        mut tracker: CallTracker,
    ) -> Self {
        let mut answer = Self {
            backend,
            open: None,
            held: None,
            array: is_array.then(ArrayForm::default),
            timer: Box::pin(tokio::time::sleep(KEEP_ALIVE.min(idle_timeout))),
            last_data: Instant::now(),
            idle_timeout,
            between_events: true,
            flush: FirstFlush::NoOutputYet,
            tail: tracker.waits_for_store().then(Vec::new),
            storing: None,
        };
        answer.held = answer.formed(out, pipe.is_err());
        tracker.returned(answer.held.as_deref().unwrap_or_default());
        match pipe {
            Ok(pipe) => {
                answer.open = Some((pipe, tracker));
                answer.held = answer.held.take().and_then(|held| answer.without_tail(held));
            }
            Err(outcome) => {
                let held = answer.held.take();
                answer.storing = tracker.finish(outcome).map(|reply| (reply, held.clone()));
                answer.held = held.filter(|_| answer.storing.is_none());
            }
        }
        answer
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        // The connection sends its buffer when the body has to wait. The first byte must not wait for a backend that is
        // faster than the connection.
        if self.flush == FirstFlush::Due {
            self.flush = FirstFlush::Done;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let bytes = ready!(self.poll_bytes(context));
        if self.flush == FirstFlush::NoOutputYet {
            self.flush = FirstFlush::Due;
        }
        Poll::Ready(bytes)
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(held) = self.held.take() {
            return Poll::Ready(Some(held));
        }
        if self.storing.is_some() {
            return self.poll_stored(context);
        }
        // Frames that the backend has already sent become one piece of output. The first piece must not wait for further
        // frames.
        let most = if self.flush == FirstFlush::NoOutputYet { 1 } else { MOST_JOINED };
        let (mut out, mut has_read) = (Vec::new(), false);
        loop {
            let Some((pipe, tracker)) = &mut self.open else { return Poll::Ready(None) };
            match Pin::new(&mut self.backend).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    tracker.received(&data);
                    pipe.push(&data, &mut out);
                    has_read = true;
                    if out.len() < most {
                        continue;
                    }
                }
                // A connection that breaks is an answer without its end: the pipe writes an error of the dialect.
                Poll::Ready(Some(Err(_))) => return self.poll_end(out, true, context),
                Poll::Ready(None) => return self.poll_end(out, false, context),
                Poll::Pending if out.is_empty() => {
                    if std::mem::take(&mut has_read) {
                        self.last_data = Instant::now();
                    }
                    ready!(self.timer.as_mut().poll(context));
                    if self.last_data.elapsed() >= self.idle_timeout {
                        return self.poll_end(out, true, context);
                    }
                    self.timer.as_mut().reset(Instant::now() + KEEP_ALIVE.min(self.idle_timeout));
                    if let Some(tail) = self.tail.take_if(|tail| !tail.is_empty()) {
                        return Poll::Ready(Some(tail.into()));
                    }
                    if self.array.is_none() && self.between_events {
                        return Poll::Ready(Some(Bytes::from_static(COMMENT)));
                    }
                    continue;
                }
                Poll::Pending => {}
            }
            self.last_data = Instant::now();
            if let Some(bytes) = self.formed(std::mem::take(&mut out), false) {
                self.returned(&bytes);
                if let Some(bytes) = self.without_tail(bytes) {
                    return Poll::Ready(Some(bytes));
                }
            }
        }
    }

    /// The output that need not wait for the store.
    fn without_tail(&mut self, bytes: Bytes) -> Option<Bytes> {
        let has_ended = self.open.as_ref().is_some_and(|(pipe, _)| pipe.has_ended());
        let Some(tail) = self.tail.as_mut().filter(|_| has_ended) else { return Some(bytes) };
        tail.extend_from_slice(&bytes);
        self.timer.as_mut().reset(Instant::now() + TAIL_WAIT.min(self.idle_timeout));
        None
    }

    fn returned(&mut self, bytes: &[u8]) {
        if let Some((_, tracker)) = &mut self.open {
            tracker.returned(bytes);
        }
    }

    /// The end of the answer, after output that the client has not yet got.
    fn poll_end(
        &mut self,
        mut out: Vec<u8>,
        is_broken: bool,
        context: &mut Context<'_>,
    ) -> Poll<Option<Bytes>> {
        let Some((pipe, mut tracker)) = self.open.take() else { return Poll::Ready(None) };
        let outcome = if is_broken { pipe.break_off(&mut out) } else { pipe.finish(&mut out) };
        let last = self.formed(out, true);
        tracker.returned(last.as_deref().unwrap_or_default());
        let last = match self.tail.take() {
            Some(mut tail) if !tail.is_empty() => {
                tail.extend_from_slice(&last.unwrap_or_default());
                Some(tail.into())
            }
            _ => last,
        };
        match tracker.finish(outcome) {
            Some(reply) => {
                self.storing = Some((reply, last));
                self.poll_stored(context)
            }
            None => Poll::Ready(last),
        }
    }

    /// The last output, once the call is stored.
    fn poll_stored(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some((reply, last)) = &mut self.storing else { return Poll::Ready(None) };
        // The recorder reports its own errors; the answer is right without it.
        let _ = ready!(Pin::new(reply).poll(context));
        let last = last.take();
        self.storing = None;
        Poll::Ready(last)
    }

    /// The output in the form that the client wants; `None` if there is none.
    fn formed(&mut self, out: Vec<u8>, is_end: bool) -> Option<Bytes> {
        let out = match &mut self.array {
            Some(array) => array.push(&out, is_end),
            None => out,
        };
        if out.is_empty() {
            return None;
        }
        // Google ends lines with CRLF.
        self.between_events = out.ends_with(b"\n\n") || out.ends_with(b"\r\n\r\n");
        Some(out.into())
    }
}

impl Drop for StreamedAnswer {
    fn drop(&mut self) {
        if let Some((pipe, tracker)) = self.open.take() {
            tracker.cancel(pipe.progress());
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            AnswerBody::Whole(bytes) => bytes.take(),
            AnswerBody::Streamed(answer) => ready!(answer.poll(context)),
            AnswerBody::Events(events) => ready!(events.poll_recv(context)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, AnswerBody::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            AnswerBody::Whole(bytes) => {
                http_body::SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            AnswerBody::Streamed(_) | AnswerBody::Events(_) => http_body::SizeHint::default(),
        }
    }
}

/// Server-sent events as the elements of a JSON array, which Gemini's API sends unless the client asks for events. The events
/// may be those of the backend itself, with any line ends, comments and fields.
#[derive(Default)]
struct ArrayForm {
    /// The bytes of a line that is not complete.
    line: Vec<u8>,
    /// Whether the last line ended with a carriage return, whose line feed may follow.
    has_return: bool,
    /// The data of an event that is not complete.
    data: Vec<u8>,
    begun: bool,
}

impl ArrayForm {
    fn push(&mut self, events: &[u8], is_end: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = events;
        if std::mem::take(&mut self.has_return) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.has_return = events.is_empty();
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.line.extend_from_slice(&rest[..end]);
            let (is_return, after) = (rest[end] == b'\r', &rest[end + 1..]);
            rest = if is_return { after.strip_prefix(b"\n").unwrap_or(after) } else { after };
            self.has_return = is_return && after.is_empty();
            self.end_line(&mut out);
        }
        self.line.extend_from_slice(rest);
        if is_end {
            // The last event of a stream may have no empty line.
            self.end_line(&mut out);
            self.end_line(&mut out);
            out.extend_from_slice(if self.begun { b"]" } else { b"[]" });
        }
        out
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        } else if line.is_empty() && !self.data.is_empty() {
            out.extend_from_slice(if self.begun { b",\r\n" } else { b"[" });
            out.append(&mut self.data);
            self.begun = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_elements_of_an_array_at_any_cut() {
        let plain = "data: {\"a\":1}\n\n: comment\n\nid: 1\ndata:{\"b\":\ndata: \"x\"}\n\n";
        for events in [
            plain.to_owned(),
            plain.replace('\n', "\r\n"),
            plain.replace('\n', "\r"),
            plain.trim_end().to_owned(),
        ] {
            for cut in 0..=events.len() {
                let mut form = ArrayForm::default();
                let mut out = form.push(&events.as_bytes()[..cut], false);
                out.extend(form.push(&events.as_bytes()[cut..], true));
                assert_eq!(out, b"[{\"a\":1},\r\n{\"b\":\n\"x\"}]", "{events:?}, cut at {cut}");
            }
        }
        assert_eq!(ArrayForm::default().push(b"", true), b"[]");
    }
}
