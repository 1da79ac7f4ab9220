//! Programs that answer model calls themselves, served to the clients of every model API.

use bytes::Bytes;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::{Event, FailureClass, ItemId, ItemKind, Part, StopClass, Usage};
use interlingua::pipe::{AnswerWriter, EventReader};
use tokio::sync::mpsc;

use crate::script::AskedRequest;

/// A program that answers model calls.
///
/// A closure is a handler. It runs on a thread of its own, and each piece that it writes reaches a streaming client at
/// once:
///
/// ```
/// use interlingua_gateway::{Handler, HandlerCall, HandlerAnswer};
///
/// let echo = |call: &HandlerCall, answer: &mut HandlerAnswer| {
///     answer.text(&format!("You said: {}", call.user_text()));
/// };
/// fn is_handler(_: impl Handler) {}
/// is_handler(echo);
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Answers a call. An answer that the handler does not end itself ends with [`StopClass::End`], or with
    /// [`StopClass::ToolUse`] after calls.
    fn answer(&self, call: &HandlerCall, answer: &mut HandlerAnswer);
}

impl<F: Fn(&HandlerCall, &mut HandlerAnswer) + Send + Sync + 'static> Handler for F {
    fn answer(&self, call: &HandlerCall, answer: &mut HandlerAnswer) {
        self(call, answer);
    }
}

/// A model call for a handler.
#[derive(Debug)]
pub struct HandlerCall {
    dialect: &'static Dialect,
    model: String,
    body: Bytes,
}

impl HandlerCall {
    /// The dialect of the client.
    pub const fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// The requested model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The request as the client sent it.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The events of the request: settings, messages, calls and results.
    pub fn events(&self) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        if let Ok(mut reader) = EventReader::new((self.dialect, Role::Request), &Options::default()) {
            let mut keep = |event: &Event<'_>| events.push(event.clone().into_owned());
            reader.push(&self.body, &mut keep);
            reader.finish(&mut keep);
        }
        events
    }

    /// The last text of the user.
    pub fn user_text(&self) -> String {
        AskedRequest::of(self.dialect, &self.body).user
    }
}

/// The answer of a handler. After the client has left, every method does nothing.
#[derive(Debug)]
pub struct HandlerAnswer {
    /// `None` after the end.
    writer: Option<AnswerWriter>,
    pieces: mpsc::Sender<Bytes>,
    /// Whether each piece is sent at once.
    streams: bool,
    out: Vec<u8>,
    has_calls: bool,
}

impl HandlerAnswer {
    /// Whether the client has left: a handler can stop its work.
    pub fn is_closed(&self) -> bool {
        self.pieces.is_closed()
    }

    /// Writes a whole text.
    pub fn text(&mut self, text: &str) {
        self.write(|writer, out| writer.text(text, out));
    }

    /// Writes reasoning.
    pub fn reasoning(&mut self, text: &str) {
        self.write(|writer, out| writer.reasoning(text, None, out));
    }

    /// Writes a call of a function, with its arguments as JSON.
    pub fn call(&mut self, id: &str, name: &str, arguments: &str) {
        self.has_calls = true;
        self.write(|writer, out| writer.call(id, name, arguments, out));
    }

    /// Starts an item whose content arrives in pieces.
    pub fn start(&mut self, kind: ItemKind<'_>) -> Option<ItemId> {
        self.has_calls |= matches!(kind, ItemKind::ToolCall(_));
        let mut item = None;
        self.write(|writer, out| item = Some(writer.start(kind, out)));
        item
    }

    /// Adds a piece to an item.
    pub fn piece(&mut self, item: ItemId, part: Part<'_>) {
        self.write(|writer, out| writer.piece(item, 0, part, out));
    }

    /// Completes an item.
    pub fn complete(&mut self, item: ItemId) {
        self.write(|writer, out| writer.complete(item, out));
    }

    /// Ends the answer.
    pub fn end(&mut self, stop: StopClass, usage: Usage) {
        self.write(|writer, out| writer.end(stop, usage, out));
        self.finish();
    }

    /// Ends the answer with an error.
    pub fn fail(&mut self, class: FailureClass, message: &str) {
        self.write(|writer, out| writer.fail(class, message, None, out));
        self.finish();
    }

    fn write(&mut self, act: impl FnOnce(&mut AnswerWriter, &mut Vec<u8>)) {
        if let Some(writer) = &mut self.writer {
            act(writer, &mut self.out);
            if self.streams {
                self.send();
            }
        }
    }

    fn finish(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.finish(&mut self.out);
            self.send();
        }
    }

    fn send(&mut self) {
        if !self.out.is_empty() {
            // The client may have left.
            let _ = self.pieces.blocking_send(std::mem::take(&mut self.out).into());
        }
    }
}

/// The pieces that a handler may write before the client reads them.
const WAITING_PIECES: usize = 64;

/// Runs a handler on a thread of its own; returns the pieces of its answer.
pub(crate) fn run(
    handler: std::sync::Arc<dyn Handler>,
    (dialect, role): (&'static Dialect, Role),
    model: &str,
    body: Bytes,
) -> mpsc::Receiver<Bytes> {
    let (pieces, receiver) = mpsc::channel(WAITING_PIECES);
    let call = HandlerCall { dialect, model: model.to_owned(), body };
    let id = crate::finished::new_id().1;
    tokio::task::spawn_blocking(move || {
        let writer = AnswerWriter::new((dialect, role), &Options::default()).ok();
        let streams = role == Role::Stream;
        let mut answer = HandlerAnswer { writer, pieces, streams, out: Vec::new(), has_calls: false };
        answer.write(|writer, out| writer.begin(&id, &call.model, out));
        handler.answer(&call, &mut answer);
        let usual = if answer.has_calls { StopClass::ToolUse } else { StopClass::End };
        answer.end(usual, Usage::default());
    });
    receiver
}
