//! One call of a model, there and back: converts the client's request for the backend, and the backend's answer for
//! the client, with facts from the request.
//!
//! An answer alone lacks the client's tool names, the tools with plain-text input, and the requested model. An
//! [`Exchange`] stores these facts from the request and restores them in the answer:
//!
//! ```
//! use interlingua::dialects::{Dialect, Options};
//! use interlingua::pipe::Exchange;
//!
//! let named = |name| Dialect::named(name).expect("registered");
//! let mut exchange = Exchange::new(named("anthropic"), named("openai-chat"), &Options::default());
//!
//! let request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],
//!     "tools":[{"name":"file.read","input_schema":{"type":"object"}}]}"#;
//! let mut out = Vec::new();
//! let asked = exchange.request(request, &mut out)?;
//! assert!(!asked.stream);
//!
//! // The backend takes no dots in names, and so it calls another one.
//! let sent = String::from_utf8(out)?;
//! let name = sent.split("\"name\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
//! assert_ne!(name, "file.read");
//! let answer = format!(r#"{{"id":"1","object":"chat.completion","model":"m","choices":[{{"index":0,"finish_reason":"tool_calls",
//!     "message":{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function",
//!     "function":{{"name":"{name}","arguments":"{{}}"}}}}]}}}}]}}"#);
//! let mut out = Vec::new();
//! let outcome = exchange.answer(asked.answer_role())?.finish_with(answer.as_bytes(), &mut out);
//! assert!(outcome.failure.is_none());
//! assert!(String::from_utf8(out)?.contains(r#""name":"file.read""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::copied::{CopiedAnswer, Ending};
use super::request_state::RequestState;
use super::shared_cell::SharedCell;
use super::{Buffers, Pipe, Writer, WriterOutput};
use crate::dialects::{Dialect, Options, Role, WriteSpec};
use crate::error::Error;
use crate::framing::Framing;
use crate::json::{JsonBuffer, Output, Raw, Str};
use crate::ledger::{Identity, Ledger, Leftover, Reason, Report};
use crate::model::{
    Args, Arrival, CallKind, Delta, Event, Failure, FailureClass, Field, ItemHead, ItemId, ItemKind,
    ItemTail, Part, StopClass, Support, ToolCall, Turn, Usage,
};
use crate::tape::{Limits, TapeBuf};
use crate::wire::backends::{Backend, SharedBackend};
use crate::wire::profile::client_runs;
use crate::wire::schemas;

/// One call of a model, there and back.
#[derive(Debug)]
pub struct Exchange {
    client: &'static Dialect,
    backend: &'static Dialect,
    options: Options,
    state: SharedCell<RequestState>,
    buffers: Buffers,
    /// The request holds state that its backend did not issue and must not receive.
    holds_foreign_state: bool,
}

/// The facts of a request that its sender needs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct RequestSummary {
    /// Whether the answer should be a stream.
    pub stream: bool,
    /// The requested model.
    pub model: Option<String>,
    /// The limit on output tokens.
    pub max_tokens: Option<u64>,
    /// The report of the request.
    pub report: Report,
}

impl RequestSummary {
    /// The expected role of the answer, unless the backend fails: an error is always a complete response.
    pub const fn answer_role(&self) -> Role {
        if self.stream { Role::Stream } else { Role::Response }
    }
}

/// The failure of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct CallFailure {
    /// The class of the failure.
    pub class: FailureClass,
    /// The HTTP status for the response to the client.
    pub status: u16,
    /// The delay in milliseconds before a retry, if the backend gave one.
    pub retry_after: Option<u64>,
    /// The message for people.
    pub message: String,
}

impl CallFailure {
    fn new(failure: &Failure<'_>) -> Self {
        let Failure { class, status, retry_after, message, .. } = failure;
        let status = status.filter(|status| (400..600).contains(status)).unwrap_or(class.status());
        let message = message.decode().into_owned();
        Self { class: *class, status, retry_after: *retry_after, message }
    }

    /// A failure that the sender of a request detects itself: an unreachable backend, a timeout.
    pub fn of(class: FailureClass, message: &str, retry_after: Option<u64>) -> Self {
        Self { class, status: class.status(), retry_after, message: message.to_owned() }
    }

    /// Whether the same request may succeed later.
    pub const fn is_retryable(&self) -> bool {
        self.class.is_retryable()
    }
}

/// Facts of an error response outside its body.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct FailedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The value of the header `retry-after` or `retry-after-ms`, in milliseconds.
    pub retry_after: Option<u64>,
}

impl FailedResponse {
    /// An error response with a status, and with the delay of its headers in milliseconds.
    pub const fn new(status: u16, retry_after: Option<u64>) -> Self {
        Self { status, retry_after }
    }
}

/// The outcome of a model call.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct CallOutcome {
    /// The failure, if any.
    pub failure: Option<CallFailure>,
    /// The stop reason.
    pub stop: Option<StopClass>,
    /// The usage, as far as the backend reported it.
    pub usage: Option<Usage>,
    /// The model that answered, as the backend named it.
    pub model: Option<String>,
    /// Whether the answer had content: text, reasoning or a call.
    pub has_content: bool,
    /// Whether the answer had any event of its dialect.
    pub has_events: bool,
    /// The report of the answer.
    pub report: Report,
}

impl CallOutcome {
    /// The outcome of a call that failed before an answer.
    pub fn failed(failure: CallFailure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    fn has_ended(&self) -> bool {
        self.stop.is_some() || self.failure.is_some()
    }
}

impl Exchange {
    /// A call between a client and a backend with different dialects.
    pub fn new(client: &'static Dialect, backend: &'static Dialect, options: &Options) -> Self {
        Self {
            client,
            backend,
            options: options.clone(),
            state: SharedCell::default(),
            buffers: Buffers::default(),
            holds_foreign_state: false,
        }
    }

    /// Uses the buffers of an earlier conversion; [`AnswerPipe::finish_and_reuse`] returns them again.
    pub fn use_buffers(&mut self, buffers: Buffers) {
        self.buffers = buffers;
    }

    /// The buffers of the request, for other conversions while the backend works on its answer.
    pub fn take_buffers(&mut self) -> Buffers {
        std::mem::take(&mut self.buffers)
    }

    /// Converts the client's request for the backend, and stores the facts for the answer.
    pub fn request(&mut self, body: &[u8], out: &mut dyn Output) -> Result<RequestSummary, Error> {
        let WriteSpec { make, support } = writes(self.backend, Role::Request)?;
        self.options.source = Some(self.client.name);
        let groups = !matches!(support(Field::ToolNamespace), Support::No(_) | Support::Emulated(_));
        self.holds_foreign_state = holds_carried_state(body);
        let (copies, options) = (self.copies(), &self.options);
        let server =
            || options.backend.clone().or_else(|| Backend::of_dialect(self.backend.name).map(Into::into));
        // A copied answer has the names of the request.
        let server = if copies { None } else { server() };
        let inner = if copies { Box::new(NullWriter) } else { make(options) };
        let observer =
            RequestObserver { inner, state: self.state.clone(), server, groups, stream: options.stream };
        let from = (self.client, Role::Request);
        let mut pipe = if copies {
            Pipe::with_writer(from, Box::new(observer), options)?
        } else {
            Pipe::with_writer_and_support(from, (Box::new(observer), *support), options)?
        };
        pipe.use_buffers(std::mem::take(&mut self.buffers));
        let report;
        (report, self.buffers) = if copies {
            out.write(body);
            let (report, buffers) = pipe.finish_and_reuse(body, &mut NoOutput);
            (report.copied(), buffers)
        } else {
            pipe.finish_and_reuse(body, out)
        };
        let state = self.state.look();
        Ok(RequestSummary {
            stream: state.stream,
            max_tokens: state.max_tokens,
            model: state.model.as_ref().map(|model| model.decode().into_owned()),
            report,
        })
    }

    /// Converts the backend's answer, whole or streamed, for the client.
    pub fn answer(&mut self, role: Role) -> Result<AnswerPipe, Error> {
        self.answer_of((role, role), FailedResponse::default())
    }

    /// Converts a whole answer of the backend for a client that asked for a stream.
    pub fn whole_as_stream(&mut self) -> Result<AnswerPipe, Error> {
        self.answer_of((Role::Response, Role::Stream), FailedResponse::default())
    }

    /// Converts the body of an error, in any format, to an error in the client's dialect with the body's message.
    pub fn failed(
        &mut self,
        response: FailedResponse,
        body: &[u8],
        out: &mut dyn Output,
    ) -> Result<CallOutcome, Error> {
        let mut written = Vec::new();
        let outcome =
            self.answer_of((Role::Response, Role::Response), response)?.finish_with(body, &mut written);
        // Between equal dialects the body is copied, and a page of HTML is no error of a dialect.
        let is_json = matches!(written.trim_ascii_start().first(), Some(b'{' | b'['));
        if outcome.failure.is_some() && is_json {
            out.write(&written);
            return Ok(outcome);
        }
        // The body is not an error of the dialect: its text becomes the message.
        let text = String::from_utf8_lossy(body);
        let said: String = text.trim().chars().take(MESSAGE).collect();
        let message = if said.is_empty() { format!("HTTP status {}", response.status) } else { said };
        let failure = response.complete(&Failure {
            class: FailureClass::Other,
            status: None,
            code: None,
            message: Str::from_plain(&message),
            request_id: None,
            retry_after: None,
        });
        let WriteSpec { make, support } = writes(self.client, Role::Response)?;
        let options = Options { source: Some(self.backend.name), ..self.options.clone() };
        let (mut ledger, mut json) = (Ledger::new(*support, Framing::Whole, false), JsonBuffer::default());
        ledger.note("body of an error that is none of its dialect: written as a message");
        let mut target = WriterOutput::new(json.emit(out), &mut ledger);
        let mut writer = make(&options);
        writer.event(&Event::Error(failure.clone()), &mut target);
        writer.finish(&mut target);
        json.emit(out).end_push();
        Ok(CallOutcome { failure: Some(CallFailure::new(&failure)), report: ledger.report(), ..outcome })
    }

    /// The pipe for an answer with a role at the backend and a role at the client.
    fn answer_of(
        &mut self,
        (sent, wanted): (Role, Role),
        response: FailedResponse,
    ) -> Result<AnswerPipe, Error> {
        let WriteSpec { make, support } = writes(self.client, wanted)?;
        self.options.usage_unasked = !self.state.look().stream_usage;
        self.options.source = Some(self.backend.name);
        let options = &self.options;
        let outcome = SharedCell::default();
        let copies = self.copies() && sent == wanted;
        let rewriter = ResponseRewriter {
            inner: if copies { Box::new(NullWriter) } else { make(options) },
            state: self.state.clone(),
            outcome: outcome.clone(),
            held: HashMap::default(),
            summed_up: (self.client.name == SUMMARIES_OF && self.state.look().summaries)
                .then(HashSet::default),
            tape: TapeBuf::default(),
            response,
            is_stream: wanted == Role::Stream,
            has_content: false,
            has_events: false,
        };
        let from = (self.backend, sent);
        let mut pipe = if copies {
            Pipe::with_writer(from, Box::new(rewriter), options)?
        } else {
            Pipe::with_writer_and_support(from, (Box::new(rewriter), *support), options)?
        };
        pipe.use_buffers(std::mem::take(&mut self.buffers));
        let copy = copies.then(|| CopiedAnswer::new((self.client, wanted)));
        Ok(AnswerPipe { pipe, outcome, copy })
    }

    /// Whether both sides have the same dialect: the bytes then stay unchanged, because opaque state is bound to the
    /// bytes before it and caches are keyed by them. Foreign state that the client received in another exchange must
    /// not reach this backend.
    fn copies(&self) -> bool {
        let is_same = self.client.name == self.backend.name && !self.options.asks_for_more();
        is_same && !self.holds_foreign_state
    }
}

/// Whether a request holds strings with the state of another issuer: plain or in base64, for each place of the state.
fn holds_carried_state(body: &[u8]) -> bool {
    /// The common beginning of the plain forms, and the form in base64.
    static MARKS: LazyLock<[Finder<'static>; 2]> =
        LazyLock::new(|| ["\"interlingua", "\"aW50ZXJsaW5ndWE6"].map(Finder::new));
    const PLACES: [&[u8]; 3] = [b":", b"-signature:", b"-thoughts:"];
    let [plain, encoded] = &*MARKS;
    let is_state = |at: usize| {
        let rest = &body[at + plain.needle().len()..];
        PLACES.iter().any(|place| rest.starts_with(place))
    };
    plain.find_iter(body).any(is_state) || encoded.find(body).is_some()
}

/// The maximum number of characters of an error body in the message.
const MESSAGE: usize = 2_000;

/// The dialect whose clients show summaries of reasoning and hide its text. A client that asks for summaries gets the text
/// of a backend without summaries as a summary.
const SUMMARIES_OF: &str = "openai-responses";

/// A writer without output: the bytes are copied directly.
struct NullWriter;

impl Writer for NullWriter {
    fn event(&mut self, _: &Event<'_>, _: &mut WriterOutput<'_>) {}

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

/// The output of a pipe with a [`NullWriter`].
struct NoOutput;

impl Output for NoOutput {
    fn write(&mut self, _: &[u8]) {}
}

/// The answer of an [`Exchange`] on its way back.
#[derive(Debug)]
pub struct AnswerPipe {
    pipe: Pipe,
    outcome: SharedCell<CallOutcome>,
    /// The bytes are copied unchanged, and the pipe only observes them.
    copy: Option<CopiedAnswer>,
}

impl AnswerPipe {
    /// Takes the next bytes, of any length; writes the output available so far.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Output) {
        if let Some(copy) = &mut self.copy {
            self.pipe.push(bytes, &mut NoOutput);
            return copy.copy(bytes, &self.outcome.look(), out);
        }
        self.pipe.push(bytes, out);
    }

    /// The outcome so far, with an empty report. Before the first content, the call can still be sent to another backend.
    pub fn progress(&self) -> CallOutcome {
        self.outcome.look().clone()
    }

    /// Whether the answer has had content or has failed.
    pub fn has_begun(&self) -> bool {
        let outcome = self.outcome.look();
        outcome.has_content || outcome.failure.is_some()
    }

    /// Whether the stop reason or a failure has arrived: only counts and the last events can follow.
    pub fn has_ended(&self) -> bool {
        self.outcome.look().has_ended()
    }

    /// Ends the answer.
    pub fn finish(self, out: &mut dyn Output) -> CallOutcome {
        self.finish_with(&[], out)
    }

    /// Ends an answer whose connection broke. Bytes that are copied get an error of the dialect unless the final event has
    /// arrived. In a translated answer, the stop reason is enough for a whole answer.
    pub fn break_off(self, out: &mut dyn Output) -> CallOutcome {
        self.end(&[], Ending::Broken, out).0
    }

    /// Takes the last bytes, possibly all of them, and ends the answer.
    pub fn finish_with(self, last: &[u8], out: &mut dyn Output) -> CallOutcome {
        self.finish_and_reuse(last, out).0
    }

    /// Like [`AnswerPipe::finish_with`], but also returns the buffers for the next exchange.
    pub fn finish_and_reuse(self, last: &[u8], out: &mut dyn Output) -> (CallOutcome, Buffers) {
        self.end(last, Ending::InOrder, out)
    }

    fn end(self, last: &[u8], ending: Ending, out: &mut dyn Output) -> (CallOutcome, Buffers) {
        let Self { mut pipe, outcome, copy } = self;
        let (report, buffers) = if let Some(mut copy) = copy {
            let rest = copy.observe_end(last, ending, &mut pipe, || outcome.look().has_ended());
            let (report, buffers) = pipe.finish_and_reuse(rest, &mut NoOutput);
            let mut outcome = outcome.look();
            copy.copy(last, &outcome, out);
            copy.end(&mut outcome.failure, out);
            (report.copied(), buffers)
        } else {
            pipe.finish_and_reuse(last, out)
        };
        let outcome = CallOutcome { report, ..std::mem::take(&mut *outcome.look()) };
        (outcome, buffers)
    }
}

fn writes(dialect: &'static Dialect, role: Role) -> Result<&'static WriteSpec, Error> {
    let spec = dialect.role(role).and_then(|spec| spec.write.as_ref());
    spec.ok_or(Error::CannotWrite(dialect.name, role.word()))
}

/// The writer of the request, which also stores facts for the answer.
struct RequestObserver {
    inner: Box<dyn Writer>,
    state: SharedCell<RequestState>,
    /// The backend of the request, if known.
    server: Option<SharedBackend>,
    /// Whether the backend's dialect has tool groups.
    groups: bool,
    /// Whether the answer is a stream, as the caller knows.
    stream: Option<bool>,
}

impl Writer for RequestObserver {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.inner.takes(head)
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if let Event::Request(request) = event {
            let mut state = self.state.look();
            state.stream = self.stream.or(request.stream) == Some(true);
            state.max_tokens = request.max_tokens.as_ref().and_then(|limit| limit.as_str().parse().ok());
            state.learn(request);
            if let Some(server) = &self.server {
                state.learn_tools(request, &server.capabilities(request.model.as_ref()), self.groups);
            }
            drop(state);
            if request.stream_usage == Some(false) {
                // The answer's writer filters the usage for the client; the sender of the request always needs the
                // usage.
                let mut asked = request.clone();
                asked.stream_usage = None;
                return self.inner.event(&Event::Request(asked), out);
            }
        }
        self.inner.event(event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.inner.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.inner.finish(out);
    }
}

/// The writer of the answer, which restores the facts of the request.
struct ResponseRewriter {
    inner: Box<dyn Writer>,
    state: SharedCell<RequestState>,
    outcome: SharedCell<CallOutcome>,
    /// Open calls whose arguments must be complete before the client gets them.
    held: HashMap<ItemId, HeldArguments, BuildHasherDefault<Identity>>,
    /// Open reasoning whose text the client gets as a summary; `None` if the client gets text.
    summed_up: Option<HashSet<ItemId, BuildHasherDefault<Identity>>>,
    tape: TapeBuf,
    response: FailedResponse,
    is_stream: bool,
    has_content: bool,
    has_events: bool,
}

/// Whether an event has content for the client.
fn is_content(event: &Event<'_>) -> bool {
    match event {
        Event::ItemStarted(head) => matches!(head.kind, ItemKind::ToolCall(_)),
        Event::ItemDelta(_) => true,
        _ => false,
    }
}

/// Whether an event is a part of an answer.
fn is_of_answer(event: &Event<'_>) -> bool {
    is_content(event) || matches!(event, Event::TurnStarted(_) | Event::TurnEnded(_) | Event::Error(_))
}

/// The failure of a stream without any event of its dialect. The writers add their own error to the output.
const NO_EVENTS: Failure<'static> = Failure {
    class: FailureClass::Incomplete,
    status: None,
    code: None,
    message: Str::escaped("the stream could not be read"),
    request_id: None,
    retry_after: None,
};

/// Arguments of an open call.
#[derive(Default)]
struct HeldArguments {
    /// The arguments so far, escaped.
    text: String,
    /// The schema of a strict tool with optional properties; `None` for a plain-text tool that was offered as a
    /// function.
    optional: Option<Raw<'static>>,
}

impl Writer for ResponseRewriter {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.inner.takes(head)
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if !self.has_content && is_content(event) {
            self.has_content = true;
            self.outcome.look().has_content = true;
        }
        if !self.has_events && is_of_answer(event) {
            self.has_events = true;
            self.outcome.look().has_events = true;
        }
        match event {
            Event::ItemStarted(head) => self.started(head, event, out),
            Event::ItemDelta(Delta { item, value: Part::Args(args), .. }) if self.held.contains_key(item) => {
                let held = &mut self.held.entry(*item).or_default().text;
                match args {
                    Args::Text(text) => held.push_str(text.as_escaped()),
                    Args::Json(json) => held.push_str(Str::plain(json.as_str()).as_escaped()),
                }
            }
            Event::ItemDelta(delta) if self.sums_up(delta.item) => {
                let value = match &delta.value {
                    Part::Text(text) => Part::Summary(text.clone()),
                    other => other.clone(),
                };
                self.inner.event(&Event::ItemDelta(Delta { value, ..delta.clone() }), out);
            }
            Event::ItemCompleted(ItemTail { id, .. }) => {
                if let Some(summed_up) = &mut self.summed_up {
                    summed_up.remove(id);
                }
                if let Some(held) = self.held.remove(id) {
                    self.release(*id, &held, out);
                }
                self.inner.event(event, out);
            }
            Event::TurnStarted(turn) => {
                self.count(turn);
                let asked = self.state.look().model.clone().filter(|_| turn.model.is_none());
                match asked {
                    // An answer without a model gets the requested model.
                    Some(model) => {
                        let turn = Turn { model: Some(model), ..turn.clone() };
                        self.inner.event(&Event::TurnStarted(turn), out);
                    }
                    None => self.inner.event(event, out),
                }
            }
            Event::TurnEnded(turn) | Event::Usage(turn) => {
                self.count(turn);
                self.inner.event(event, out);
            }
            Event::Error(failure) => {
                let mut failure = self.response.complete(failure);
                let known = CallFailure::new(&failure);
                if !self.is_stream {
                    // The body of a Gemini error repeats the status of its response.
                    failure.status = Some(known.status);
                }
                self.outcome.look().failure = Some(known);
                self.inner.event(&Event::Error(failure), out);
            }
            Event::ItemDelta(_)
            | Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Request(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => self.inner.event(event, out),
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.inner.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        if self.is_stream && !self.has_events {
            self.outcome.look().failure = Some(CallFailure::new(&NO_EVENTS));
        }
        self.inner.finish(out);
    }
}

impl FailedResponse {
    /// The failure in a body, completed with the facts outside the body.
    fn complete<'a>(&self, failure: &Failure<'a>) -> Failure<'a> {
        let mut failure = failure.clone();
        if self.status >= 400 {
            failure.status = failure.status.or(Some(self.status));
            if failure.class == FailureClass::Other {
                failure.class = FailureClass::of_status(self.status);
            }
        }
        failure.retry_after = failure.retry_after.or(self.retry_after);
        failure
    }
}

impl ResponseRewriter {
    /// Whether the client gets the text of this item as a summary.
    fn sums_up(&self, item: ItemId) -> bool {
        self.summed_up.as_ref().is_some_and(|summed_up| summed_up.contains(&item))
    }

    /// Gives a call the name, group and kind that the client declared. A call of an undeclared tool keeps its name,
    /// with a remark in the report.
    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if let Some(summed_up) = self.summed_up.as_mut().filter(|_| matches!(head.kind, ItemKind::Reasoning))
        {
            summed_up.insert(head.id);
        }
        let ItemKind::ToolCall(call) = &head.kind else { return self.inner.event(event, out) };
        if client_runs(call.kind).is_err() {
            return self.inner.event(event, out);
        }
        let state = self.state.look();
        let Some(lesson) = state.tool_of(call) else {
            if state.tools.is_some() {
                out.ledger.note("call of a tool that the request does not declare");
            }
            drop(state);
            return self.inner.event(event, out);
        };
        let wrapped = lesson.kind == CallKind::FreeText && call.kind == CallKind::Function;
        if wrapped || lesson.optional.is_some() {
            let optional = lesson.optional.clone();
            self.held.insert(head.id, HeldArguments { text: String::new(), optional });
        }
        let same = lesson.name == call.name && lesson.namespace == call.namespace && !wrapped;
        let as_client_has_it = (!same).then(|| ToolCall {
            name: lesson.name.clone(),
            namespace: lesson.namespace.clone(),
            kind: if wrapped { CallKind::FreeText } else { call.kind },
            ..call.clone()
        });
        drop(state);
        let Some(as_client_has_it) = as_client_has_it else { return self.inner.event(event, out) };
        if as_client_has_it.namespace.is_none() {
            out.lose_some(Field::CallNamespace, call.namespace.as_ref(), Reason::Redundant);
        }
        let head = ItemHead { kind: ItemKind::ToolCall(as_client_has_it), ..head.clone() };
        self.inner.event(&Event::ItemStarted(head), out);
    }

    /// Emits the plain text in a function's arguments, or the arguments without the nulls for optional properties;
    /// arguments of any other form are emitted unchanged.
    fn release(&mut self, item: ItemId, held: &HeldArguments, out: &mut WriterOutput<'_>) {
        let plain = Str::escaped(&held.text).decode().into_owned();
        let mut cleaned = JsonBuffer::default();
        let tape = self.tape.parse(&plain, &Limits::default()).ok();
        let root = tape.as_ref().map(|tape| tape.root());
        let args = match (&held.optional, root) {
            (None, Some(root)) => root.get("input").and_then(|input| input.str()).map(Args::Text),
            (Some(schema), Some(root)) => {
                let mut tape = TapeBuf::default();
                let schema = tape.parse(schema.as_str(), &Limits::default()).ok();
                let found = schema
                    .is_some_and(|schema| schemas::without_nulls(root, schema.root(), &mut cleaned.hold()));
                found.then(|| Args::Json(Raw::new(cleaned.held())))
            }
            (_, None) => None,
        };
        let args = args.unwrap_or_else(|| Args::Text(Str::escaped(&held.text)));
        let value = Part::Args(args);
        self.inner.event(&Event::ItemDelta(Delta { item, part: 0, value, arrival: Arrival::Whole }), out);
    }

    fn count(&self, turn: &Turn<'_>) {
        let CallOutcome { stop, usage, model, .. } = &mut *self.outcome.look();
        if let Some(name) = turn.model.as_ref().filter(|_| model.is_none()) {
            *model = Some(name.decode().into_owned());
        }
        *stop = turn.stop.as_ref().map(|stop| stop.class).or(*stop);
        if let Some(counts) = &turn.usage {
            usage.get_or_insert_default().overwrite(counts);
        }
    }
}
