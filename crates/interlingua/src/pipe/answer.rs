//! Answers that a program gives itself, instead of translating those of a backend: a handler in a gateway, a test double.

use super::events::{EventSink, Order};
use super::{Writer, WriterOutput};
use crate::dialects::{Dialect, Options, Role};
use crate::error::Error;
use crate::framing::Framing;
use crate::json::{JsonBuffer, Output, Raw, Str};
use crate::ledger::{Ledger, Report};
use crate::model::{
    Args, Arrival, Author, CallKind, Delta, Event, Failure, FailureClass, ItemHead, ItemId, ItemKind,
    ItemTail, Opaque, OpaqueKind, Part, Status, Stop, StopClass, ToolCall, Turn, Usage,
};

/// Writes the answer to a model call from events, in any dialect of a model API.
///
/// ```
/// use interlingua::dialects::{Options, Role};
/// use interlingua::model::{StopClass, Usage};
/// use interlingua::pipe::AnswerWriter;
///
/// let mut out = Vec::new();
/// let mut answer = AnswerWriter::new(("anthropic".parse()?, Role::Stream), &Options::default())?;
/// answer.begin("msg_1", "claude-opus-5-5", &mut out);
/// answer.text("Hello.", &mut out);
/// answer.end(StopClass::End, Usage::default(), &mut out);
/// answer.finish(&mut out);
/// assert!(String::from_utf8(out)?.contains(r#""text":"Hello.""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AnswerWriter {
    writer: Box<dyn Writer>,
    order: Order,
    ledger: Ledger,
    emit: JsonBuffer,
    /// The issuer of the dialect's own reasoning state.
    issuer: &'static str,
    items: u64,
}

impl std::fmt::Debug for AnswerWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerWriter").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl AnswerWriter {
    /// An answer in this dialect, whole ([`Role::Response`]) or streamed ([`Role::Stream`]).
    pub fn new(to: (&Dialect, Role), options: &Options) -> Result<Self, Error> {
        let spec = to.0.role(to.1).and_then(|spec| spec.write.as_ref());
        let spec = spec.ok_or(Error::CannotWrite(to.0.name, to.1.word()))?;
        let mut order = Order::new(&options.limits);
        // There is no input to compare the size of the output with.
        order.read(usize::MAX);
        Ok(Self {
            writer: (spec.make)(options),
            order,
            ledger: Ledger::new(spec.support, Framing::Whole, false),
            emit: JsonBuffer::default(),
            issuer: to.0.issuer.unwrap_or(to.0.name),
            items: 0,
        })
    }

    /// Writes any event. Events out of order are refused and reported.
    pub fn event(&mut self, event: &Event<'_>, out: &mut dyn Output) {
        let Self { writer, order, ledger, emit, .. } = self;
        emit.emit(out).begin_push();
        let mut target = WriterOutput::new(emit.emit(out), ledger);
        EventSink { writer: &mut **writer, order, out: target.of_no_frame() }.event(event);
        emit.emit(out).end_push();
    }

    /// Begins the answer.
    pub fn begin(&mut self, id: &str, model: &str, out: &mut dyn Output) {
        let turn =
            Turn { id: Some(Str::from_plain(id)), model: Some(Str::from_plain(model)), ..Turn::default() };
        self.event(&Event::TurnStarted(turn), out);
    }

    /// Starts an item of the assistant, for content that arrives in pieces.
    pub fn start(&mut self, kind: ItemKind<'_>, out: &mut dyn Output) -> ItemId {
        self.items += 1;
        let id = ItemId(self.items);
        self.event(&Event::ItemStarted(ItemHead::new(id, kind, Author::Assistant)), out);
        id
    }

    /// Adds a piece to an item; pieces of one part have its number.
    pub fn piece(&mut self, item: ItemId, part: u32, value: Part<'_>, out: &mut dyn Output) {
        self.event(&Event::ItemDelta(Delta { item, part, value, arrival: Arrival::Streamed }), out);
    }

    /// Completes an item.
    pub fn complete(&mut self, item: ItemId, out: &mut dyn Output) {
        self.event(&Event::ItemCompleted(ItemTail::new(item, Status::Completed)), out);
    }

    /// Writes a whole text.
    pub fn text(&mut self, text: &str, out: &mut dyn Output) {
        let item = self.start(ItemKind::Message, out);
        self.piece(item, 0, Part::Text(Str::from_plain(text)), out);
        self.complete(item, out);
    }

    /// Writes reasoning, with the state that the client sends back if there is one.
    pub fn reasoning(&mut self, text: &str, state: Option<&str>, out: &mut dyn Output) {
        let item = self.start(ItemKind::Reasoning, out);
        self.piece(item, 0, Part::Text(Str::from_plain(text)), out);
        if let Some(state) = state {
            self.piece(item, 1, Part::Opaque(self.signature(state)), out);
        }
        self.complete(item, out);
    }

    /// Reasoning state of the dialect's own issuer.
    pub fn signature(&self, state: &str) -> Opaque<'static> {
        Opaque {
            kind: OpaqueKind::Signature,
            issuer: Str::escaped(self.issuer),
            value: Str::from_plain(state).into_owned(),
        }
    }

    /// Writes a whole call of a function, with its arguments as JSON.
    pub fn call(&mut self, id: &str, name: &str, arguments: &str, out: &mut dyn Output) {
        let item = self.start(ItemKind::ToolCall(function_call(id, name)), out);
        self.piece(item, 0, Part::Args(Args::Json(Raw::owned(arguments.to_owned()))), out);
        self.complete(item, out);
    }

    /// Ends the answer.
    pub fn end(&mut self, stop: StopClass, usage: Usage, out: &mut dyn Output) {
        let stop = Stop { class: stop, raw: None, sequence: None, detail: None };
        let turn = Turn { stop: Some(stop), usage: Some(usage), ..Turn::default() };
        self.event(&Event::TurnEnded(turn), out);
    }

    /// Ends the answer with an error, or writes an error instead of an answer.
    pub fn fail(
        &mut self,
        class: FailureClass,
        message: &str,
        retry_after: Option<u64>,
        out: &mut dyn Output,
    ) {
        let failure = Failure {
            class,
            status: Some(class.status()),
            code: None,
            message: Str::from_plain(message),
            request_id: None,
            retry_after,
        };
        self.event(&Event::Error(failure), out);
    }

    /// Ends the output. Items and turns that are still open become an error of the dialect.
    pub fn finish(self, out: &mut dyn Output) -> Report {
        let Self { mut writer, mut order, mut ledger, mut emit, .. } = self;
        emit.emit(out).begin_push();
        let mut target = WriterOutput::new(emit.emit(out), &mut ledger);
        for event in order.lifecycle.closing() {
            order.pass(&event, &mut *writer, &mut target);
        }
        writer.finish(&mut target);
        emit.emit(out).end_push();
        ledger.report()
    }
}

/// A call of a function, for [`AnswerWriter::start`].
pub fn function_call<'a>(id: &str, name: &str) -> ToolCall<'a> {
    ToolCall {
        call_id: Some(Str::from_plain(id).into_owned()),
        kind: CallKind::Function,
        namespace: None,
        name: Str::from_plain(name).into_owned(),
    }
}
