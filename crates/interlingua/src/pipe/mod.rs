//! The pipe: framer, tape, reader, lifecycle, writer, joined. Bytes in, bytes out, nothing else.
//!
//! ```text
//! push(bytes) -> Framer -> frame -> Tape -> Reader -> Event -> Lifecycle -> Writer -> bytes
//!                                      \-- what no one claimed --> Leftover --> Writer
//! ```
//!
//! An unreadable frame is passed to the writer unchanged and booked as a problem; the run goes on. For the same
//! dialect and role on both sides, no reader and writer are built: the bytes pass unchanged.

mod agent_link;
mod answer;
mod copied;
mod editor_link;
mod events;
mod exchange;
pub mod lifecycle;
mod open_items;
mod remembered;
mod request_state;
mod shared_cell;
mod source;
mod target;

pub use agent_link::{AgentLink, AgentStream};
pub use answer::{AnswerWriter, function_call};
pub use editor_link::EditorLink;
pub use events::EventSink;
pub use exchange::{AnswerPipe, CallFailure, CallOutcome, Exchange, FailedResponse, RequestSummary};
pub(crate) use lifecycle::ReadPlace;
pub(crate) use open_items::OpenItems;
pub(crate) use remembered::Remembered;
pub(crate) use source::NamedSources;
pub use source::SourceDigest;
pub use target::WriterOutput;

use events::Order;
use source::{HashedOutput, RunningDigest};

use crate::dialects::ours::record;
use crate::dialects::{Dialect, MakeReader, Options, Plane, Role, RoleSpec};
use crate::error::{Code, Error, Place, Problem, Window};
use crate::framing::{Frame, FrameKind, Framer};
use crate::json::{JsonBuffer, Output};
use crate::ledger::{Ledger, Leftover, LeftoverBody, Reason, Report};
use crate::log::{AnswersFirst, CutResults, HistoryWriter, MappedTools, MovedSession};
use crate::model::{Event, ItemHead, SupportTable, supports_everything};
use crate::sniff;
use crate::tape::{Fault, Limits, TapeBuf, Val};

/// Reads one dialect: documents in, events out.
pub trait Reader: Send {
    /// Reads one document. Claims the members it supports; the pipe handles the other members.
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>);

    /// Reads a frame that is not JSON, such as `[DONE]`. Returns whether the frame was understood.
    fn sentinel(&mut self, text: &str, out: &mut EventSink<'_>) -> bool {
        let _ = (text, out);
        false
    }

    /// Ends the source, complete or cut off: emits the events that were held back.
    fn finish(&mut self, out: &mut EventSink<'_>) {
        let _ = out;
    }
}

/// One document to read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Doc<'t> {
    /// The document.
    pub root: Val<'t>,
    /// The kind of frame the document comes from.
    pub kind: FrameKind<'t>,
}

impl Doc<'_> {
    /// Reports a document that certainly belongs to a dialect other than `own`, and returns whether it does. The
    /// document is still read as far as possible, and kept.
    pub fn report_foreign(&self, own: &str, out: &mut EventSink<'_>) -> bool {
        let Some(dialect) = sniff::foreign(own, self.root, self.kind) else { return false };
        out.problem(Code::UnknownShape, None, &format!("it looks like `{}`", dialect.name));
        true
    }
}

/// Writes one dialect: events in, bytes out. The support table ([`crate::model::Support`]) lists the fields the target
/// has. A value that the target cannot hold because of its content or position is booked with [`WriterOutput::lose`] and its
/// variants when the event arrives.
pub trait Writer: Send {
    /// Whether the target has a place for the item here. If not, the pipe books the item with all its content, and the
    /// writer never receives it.
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        let _ = head;
        Ok(())
    }

    /// The support table of a writer whose options narrow the table of its dialect.
    fn narrowed_support(&self) -> Option<SupportTable> {
        None
    }

    /// Announces that the following events come from lines that `owner` kept, which follow the events
    /// ([`Writer::leftover`]); an empty name means no kept lines.
    fn kept_lines_follow(&mut self, owner: &str) {
        let _ = owner;
    }

    /// Announces that the last event comes from a line that `owner` kept, and that the line comes with one of the next
    /// events: a writer that restores the line has written the event, too.
    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        let _ = (owner, out);
    }

    /// Writes or gathers one event. Destructure without `..`: a new field must be a question for every writer.
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>);

    /// Keeps or loses the unclaimed part of the frame whose events have just been written.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>);

    /// Reads a frame of the running agent, and writes the replies that the protocol demands: the next step of a handshake,
    /// the refusal of a request that no event represents. Only an [`AgentLink`] or an [`EditorLink`] calls this method, after
    /// the frame's events; only writers of live dialects implement it.
    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let _ = (frame, out);
    }

    /// Receives the size and the digest of the source: computed by the pipe at the end of the input, or named by the
    /// current record of the input. Only writers of records implement this method.
    fn source(&mut self, source: &SourceDigest) {
        let _ = source;
    }

    /// Ends the output.
    fn finish(&mut self, out: &mut WriterOutput<'_>);
}

/// One conversion.
pub struct Pipe {
    /// `None`: the bytes pass unchanged.
    stages: Option<(Stages, Box<dyn Writer>)>,
    ledger: Ledger,
    emit: JsonBuffer,
    hashed: Hashed,
}

/// The side of a conversion whose bytes are hashed, with the name of the dialect on that side.
#[derive(Debug)]
enum Hashed {
    Nothing,
    /// The source of a record.
    Input(&'static str, RunningDigest),
    /// The log that is restored from a record.
    Output(&'static str, RunningDigest),
}

impl Hashed {
    fn of(from: &Dialect, to: (&Dialect, Role)) -> Self {
        match (record::is_record(from.name), record::is_record(to.0.name)) {
            (false, true) => Hashed::Input(from.name, RunningDigest::default()),
            (true, false) if to.0.plane == Plane::Log && to.1 == Role::Log => {
                Hashed::Output(to.0.name, RunningDigest::default())
            }
            _ => Hashed::Nothing,
        }
    }
}

/// Buffers for reuse by the next conversion, of any dialects: a server with many conversions need not allocate them
/// for each.
///
/// ```
/// use interlingua::dialects::{Dialect, Options, Role};
/// use interlingua::pipe::{Buffers, Pipe};
///
/// let side = |name| (Dialect::named(name).expect("registered"), Role::Response);
/// let mut buffers = Buffers::default();
/// for answer in [r#"{"type":"message","content":[{"type":"text","text":"a"}]}"#; 2] {
///     let mut pipe = Pipe::new(side("anthropic"), side("openai-chat"), &Options::default())?;
///     pipe.use_buffers(buffers);
///     let mut body = Vec::new();
///     (_, buffers) = pipe.finish_and_reuse(answer.as_bytes(), &mut body);
/// }
/// # Ok::<(), interlingua::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Buffers {
    frame: Vec<u8>,
    tape: TapeBuf,
    json: JsonBuffer,
}

/// The stages before the writer.
struct Stages {
    framer: Box<dyn Framer>,
    frames: FrameStages,
}

/// The stages between framer and writer.
struct FrameStages {
    owner: &'static str,
    limits: Limits,
    tape: TapeBuf,
    reader: Box<dyn Reader>,
    order: Order,
    /// Whether any frame was not blank.
    content: bool,
    /// The frame continues with its next piece; the reason for the pieces.
    goes_on: Option<&'static str>,
    no_final_newline: bool,
    /// The writer has no output and supports all fields.
    only_looks: bool,
    /// The digest of the whole source, once it is known.
    source: Option<SourceDigest>,
}

impl std::fmt::Debug for Pipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipe").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl Pipe {
    /// Joins the reader of one dialect to the writer of another.
    pub fn new(from: (&Dialect, Role), to: (&Dialect, Role), options: &Options) -> Result<Self, Error> {
        let target = to.0.role(to.1);
        let writer =
            target.and_then(|spec| spec.write.as_ref()).ok_or(Error::CannotWrite(to.0.name, to.1.word()))?;
        let (spec, reader) = readable(from)?;
        let is_changed = from.1 == Role::Request && options.asks_for_more() || options.seed_schema;
        if from.0.name == to.0.name && from.1 == to.1 && !is_changed {
            return Ok(Self {
                stages: None,
                ledger: Ledger::default(),
                emit: JsonBuffer::default(),
                hashed: Hashed::Nothing,
            });
        }
        let options = &Options { source: Some(from.0.name), ..options.clone() };
        let mut made = (writer.make)(options);
        if to.0.plane == Plane::Log && to.1 == Role::Log {
            made = Box::new(HistoryWriter::new(made, to.0.name, writer.support, options.outline.clone()));
            made = AnswersFirst::before(made, to.0.name, writer.support, options.outline.clone());
            made = MovedSession::before(made, options);
            made = CutResults::before(made, options);
            made = MappedTools::before(made, to.0.name, options);
        }
        let pipe = Self::join(from.0, spec, reader(options), (made, writer.support), options);
        let hashed = if options.without_digest { Hashed::Nothing } else { Hashed::of(from.0, to) };
        Ok(Self { hashed, ..pipe })
    }

    /// Whether bytes pass unchanged and unread.
    pub fn is_copy(&self) -> bool {
        self.stages.is_none()
    }

    /// Joins a reader to a writer that supports all fields, such as a checker.
    pub fn with_writer(
        from: (&Dialect, Role),
        writer: Box<dyn Writer>,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut pipe = Self::with_writer_and_support(from, (writer, supports_everything), options)?;
        if let Some((stages, _)) = &mut pipe.stages {
            stages.frames.only_looks = true;
        }
        Ok(pipe)
    }

    /// Joins a reader to any writer with its support table.
    pub fn with_writer_and_support(
        from: (&Dialect, Role),
        writer: (Box<dyn Writer>, SupportTable),
        options: &Options,
    ) -> Result<Self, Error> {
        let (spec, reader) = readable(from)?;
        Ok(Self::join(from.0, spec, reader(options), writer, options))
    }

    fn join(
        source: &Dialect,
        spec: &RoleSpec,
        reader: Box<dyn Reader>,
        (writer, support): (Box<dyn Writer>, SupportTable),
        options: &Options,
    ) -> Self {
        let support = writer.narrowed_support().unwrap_or(support);
        Self {
            stages: Some((Stages::new(source, spec, reader, options), writer)),
            ledger: Ledger::new(support, spec.framing, options.trace),
            emit: JsonBuffer::default(),
            hashed: Hashed::Nothing,
        }
    }

    /// Uses the buffers of an earlier conversion. Call before the first byte.
    pub fn use_buffers(&mut self, buffers: Buffers) {
        let Some((Stages { framer, frames }, _)) = &mut self.stages else { return };
        *framer.memory() = buffers.frame;
        frames.tape.use_memory(buffers.tape);
        self.emit = buffers.json;
    }

    /// The buffers, emptied and shrunk to the usual size.
    fn into_buffers(self) -> Buffers {
        let Self { stages, emit: mut json, .. } = self;
        let Some((Stages { mut framer, frames: FrameStages { mut tape, .. } }, _)) = stages else {
            return Buffers::default();
        };
        let mut frame = std::mem::take(framer.memory());
        frame.clear();
        frame.shrink_to(Buffers::USUAL);
        tape.shrink_to(Buffers::USUAL);
        json.clear();
        Buffers { frame, tape, json }
    }

    /// Takes the next bytes, of any length; writes the output available so far.
    ///
    /// Once the output is closed ([`Output::is_closed`]), further input is ignored.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Output) {
        if out.is_closed() {
            return;
        }
        let Self { stages, ledger, emit, hashed } = self;
        let Some((stages, writer)) = stages else { return out.write(bytes) };
        match hashed {
            Hashed::Nothing => stages.push(bytes, &mut **writer, ledger, emit, out),
            Hashed::Input(_, digest) => {
                digest.update(bytes);
                stages.push(bytes, &mut **writer, ledger, emit, out);
            }
            Hashed::Output(_, digest) => {
                stages.push(bytes, &mut **writer, ledger, emit, &mut HashedOutput { out, digest });
            }
        }
    }

    /// Ends the input and returns the report.
    pub fn finish(self, out: &mut dyn Output) -> Report {
        self.finish_with(&[], out)
    }

    /// Takes the last bytes, possibly all of them, ends the input and returns the report.
    ///
    /// A body that is completely in memory is read in place, without a copy.
    pub fn finish_with(mut self, last: &[u8], out: &mut dyn Output) -> Report {
        self.end(last, out)
    }

    /// Like [`Pipe::finish_with`], but also returns the buffers for the next conversion.
    pub fn finish_and_reuse(mut self, last: &[u8], out: &mut dyn Output) -> (Report, Buffers) {
        (self.end(last, out), self.into_buffers())
    }

    fn end(&mut self, last: &[u8], out: &mut dyn Output) -> Report {
        let Self { stages, ledger, emit, hashed } = self;
        let Some((stages, writer)) = stages else {
            out.write(last);
            return ledger.report();
        };
        // Output in a different dialect has about the same length.
        if let Some(memory) = out.memory() {
            memory.reserve(last.len() + last.len() / 8);
        }
        match hashed {
            Hashed::Nothing => stages.finish_with(last, &mut **writer, ledger, emit, out),
            Hashed::Input(dialect, digest) => {
                digest.update(last);
                stages.frames.source = Some(digest.finish(dialect));
                stages.finish_with(last, &mut **writer, ledger, emit, out);
            }
            Hashed::Output(dialect, digest) => {
                stages.finish_with(last, &mut **writer, ledger, emit, &mut HashedOutput { out, digest });
                source::compare(&digest.finish(dialect), ledger);
            }
        }
        if !emit.has_written() && !stages.frames.only_looks {
            ledger.nothing_written();
        }
        ledger.report()
    }
}

/// The specification of a role and its reader, if the dialect reads the role.
fn readable(from: (&Dialect, Role)) -> Result<(&'static RoleSpec, MakeReader), Error> {
    let spec = from.0.role(from.1).and_then(|spec| Some((spec, spec.read?)));
    spec.ok_or(Error::CannotRead(from.0.name, from.1.word()))
}

/// Reads one dialect and passes each event to a closure: a conversion without a target.
///
/// [`crate::events`] and [`crate::for_each_event`] do this for a whole input.
pub struct EventReader {
    stages: Stages,
    ledger: Ledger,
    emit: JsonBuffer,
}

impl EventReader {
    /// A reader for input of this dialect and role.
    pub fn new(from: (&Dialect, Role), options: &Options) -> Result<Self, Error> {
        let (spec, reader) = readable(from)?;
        let options = &Options { source: Some(from.0.name), ..options.clone() };
        Ok(Self {
            stages: Stages::new(from.0, spec, reader(options), options),
            ledger: Ledger::new(supports_everything, spec.framing, options.trace),
            emit: JsonBuffer::default(),
        })
    }

    /// Reads the next bytes, of any length, and passes the events found so far to `each`.
    pub fn push(&mut self, bytes: &[u8], each: impl FnMut(&Event<'_>) + Send) {
        let Self { stages, ledger, emit } = self;
        stages.push(bytes, &mut EventCallback(each), ledger, emit, &mut Vec::new());
    }

    /// Ends the input, passes the last events to `each` and returns the report.
    pub fn finish(mut self, each: impl FnMut(&Event<'_>) + Send) -> Report {
        let Self { stages, ledger, emit } = &mut self;
        stages.finish_with(&[], &mut EventCallback(each), ledger, emit, &mut Vec::new());
        self.ledger.report()
    }
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

/// Passes each event to a closure.
struct EventCallback<F>(F);

impl<F: FnMut(&Event<'_>) + Send> Writer for EventCallback<F> {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        (self.0)(event);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

/// Lets `read` emit events to a writer outside any conversion: the output goes to `bytes`, and the ledger is
/// discarded.
pub(crate) fn rehearse(
    writer: &mut dyn Writer,
    limits: &Limits,
    bytes: &mut JsonBuffer,
    read: impl FnOnce(&mut EventSink<'_>),
) {
    let (mut order, mut ledger) = (Order::new(limits), Ledger::rehearsal());
    read(&mut EventSink { writer, order: &mut order, out: WriterOutput::new(bytes.hold(), &mut ledger) });
}

impl Buffers {
    /// The maximum size of a reused buffer: the memory of one huge conversion is not kept for later ones.
    const USUAL: usize = 1 << 20;
}

impl Stages {
    fn new(source: &Dialect, spec: &RoleSpec, reader: Box<dyn Reader>, options: &Options) -> Self {
        let limits = match source.plane {
            Plane::Ours => options.limits.around_others(),
            Plane::Wire | Plane::Live | Plane::Log | Plane::Export => options.limits,
        };
        let mut tape = TapeBuf::default();
        if source.plane == Plane::Live {
            tape.remember_shapes();
        }
        let frames = FrameStages {
            owner: source.name,
            limits,
            tape,
            reader,
            order: Order::new(&limits),
            content: false,
            goes_on: None,
            no_final_newline: false,
            only_looks: false,
            source: None,
        };
        Self { framer: spec.framing.framer(limits.bytes), frames }
    }

    fn push(
        &mut self,
        bytes: &[u8],
        writer: &mut dyn Writer,
        ledger: &mut Ledger,
        emit: &mut JsonBuffer,
        out: &mut dyn Output,
    ) {
        let Self { framer, frames } = self;
        emit.emit(out).begin_push();
        framer
            .push(bytes, &mut |frame| frames.frame(frame, writer, WriterOutput::new(emit.emit(out), ledger)));
        emit.emit(out).end_push();
    }

    fn finish_with(
        &mut self,
        last: &[u8],
        writer: &mut dyn Writer,
        ledger: &mut Ledger,
        emit: &mut JsonBuffer,
        out: &mut dyn Output,
    ) {
        let Self { framer, frames } = self;
        emit.emit(out).begin_push();
        framer
            .last(last, &mut |frame| frames.frame(frame, writer, WriterOutput::new(emit.emit(out), ledger)));
        frames.finish(writer, WriterOutput::new(emit.emit(out), ledger));
        emit.emit(out).end_push();
    }
}

impl FrameStages {
    fn frame(&mut self, frame: Frame<'_>, writer: &mut dyn Writer, mut out: WriterOutput<'_>) {
        // Including the separator after the frame.
        self.order.read(frame.bytes.len() + 1);
        let goes_on = self.goes_on.take();
        // A byte order mark is not a frame.
        out.ledger.frame(frame.kind, goes_on.is_some_and(|why| why != "bom"));
        self.no_final_newline = frame.kind == FrameKind::LastLine;
        // No separator is due after a literal frame.
        let literal = frame.is_literal();
        if let FrameKind::Piece { why, more, of: _ } = frame.kind {
            self.goes_on = more.then_some(why);
            let more = more || literal;
            if why == "bom" {
                out.ledger.note("byte order mark set aside");
                return self.unreadable(frame.bytes, why, more, writer, out);
            }
            self.content = true;
            if goes_on != Some(why) {
                out.ledger.problem(Problem {
                    code: Code::TooLarge,
                    place: out.ledger.place(None, None),
                    detail: format!("the limit is {} bytes", self.limits.bytes),
                    window: Window::around(frame.bytes, 0),
                });
            }
            return self.unreadable(frame.bytes, why, more, writer, out);
        }
        if frame.bytes.trim_ascii().is_empty() && !matches!(frame.kind, FrameKind::Element { .. }) {
            return self.unreadable(frame.bytes, "blank", literal, writer, out);
        }
        self.content = true;
        let Ok(text) = simdutf8::basic::from_utf8(frame.bytes) else {
            // The fast check does not return the position.
            let valid =
                simdutf8::compat::from_utf8(frame.bytes).map_or_else(|error| error.valid_up_to(), str::len);
            return self.damaged(frame, (Code::InvalidUtf8, valid, "UTF-8"), writer, out);
        };
        match self.tape.parse(text, &self.limits) {
            // No agent writes lines like this, and a file may have many tiny ones: they are kept together, like lines
            // that are not JSON.
            Ok(tape) if frame.is_line() && !has_members(tape.root()) => {
                self.damaged(frame, (Code::UnknownShape, 0, "an object with members"), writer, out);
            }
            Ok(tape) => {
                notice_oddities(&tape, out.ledger);
                let span = tape.root().span();
                // Most frames are lines or events, which need no marks.
                let is_separate =
                    !frame.is_literal() && (frame.is_line() || matches!(frame.kind, FrameKind::Sse(_)));
                let around = if is_separate {
                    (String::new(), "")
                } else {
                    marks_around(&frame, &text[..span.start], &text[span.end..])
                };
                let around = (around.0.as_str(), around.1);
                let order = &mut self.order;
                let place = tape.root().place();
                let at_frame = WriterOutput { frame: Some(&tape), place, ..out.reborrow() };
                let mut events = EventSink { writer: &mut *writer, order, out: at_frame };
                self.reader.document(Doc { root: tape.root(), kind: frame.kind }, &mut events);
                writer.leftover(
                    Leftover { owner: self.owner, body: LeftoverBody::Frame(&tape), around },
                    &mut out,
                );
                if !out.ledger.is_settled() {
                    Leftover { owner: self.owner, body: LeftoverBody::Frame(&tape), around }
                        .lose(out.ledger, Reason::NoSlot);
                }
                out.ledger.frame_read();
            }
            Err(fault) => {
                let order = &mut self.order;
                let mut events = EventSink { writer: &mut *writer, order, out: out.reborrow() };
                if self.reader.sentinel(text, &mut events) {
                    out.ledger.frame_read();
                } else {
                    self.damaged(frame, describe(fault, frame.bytes), writer, out);
                }
            }
        }
    }

    fn damaged(
        &mut self,
        frame: Frame<'_>,
        (code, at, expected): (Code, usize, &str),
        writer: &mut dyn Writer,
        out: WriterOutput<'_>,
    ) {
        let place = out.ledger.place(Some(at), None);
        let detail = format!("expected {expected}");
        out.ledger.problem(Problem { code, place, detail, window: Window::around(frame.bytes, at) });
        let source = frame.source();
        let bytes = source.as_deref().unwrap_or(frame.bytes);
        self.unreadable(bytes, code.name(), frame.is_literal(), writer, out);
    }

    fn unreadable(
        &mut self,
        bytes: &[u8],
        why: &'static str,
        more: bool,
        writer: &mut dyn Writer,
        mut out: WriterOutput<'_>,
    ) {
        let body = LeftoverBody::Unparsed { bytes, why, more };
        writer.leftover(Leftover { owner: self.owner, body, around: ("", "") }, &mut out);
        if !out.ledger.is_settled() {
            Leftover { owner: self.owner, body, around: ("", "") }.lose(out.ledger, Reason::Invalid);
        }
    }

    fn finish(&mut self, writer: &mut dyn Writer, mut out: WriterOutput<'_>) {
        if !self.content {
            out.ledger.problem(Problem {
                code: Code::Empty,
                place: Place::default(),
                detail: String::new(),
                window: Window::default(),
            });
        }
        let Self { reader, order, .. } = self;
        reader.finish(&mut EventSink { writer: &mut *writer, order, out: out.reborrow() });
        for event in order.lifecycle.closing() {
            out.ledger.note("closed what the source left open");
            order.pass(&event, &mut *writer, &mut out);
        }
        if self.no_final_newline {
            writer.leftover(
                Leftover { owner: self.owner, body: LeftoverBody::NoFinalNewline, around: ("", "") },
                &mut out,
            );
        }
        if let Some(source) = &self.source {
            writer.source(source);
        }
        writer.finish(&mut out);
    }
}

/// Whether a value is an object with members.
fn has_members(value: Val<'_>) -> bool {
    value.members().next().is_some()
}

/// The bytes around a document, if more than its whitespace is needed to restore it: a log of documents has no implied
/// separator. A bar marks the absence of bytes.
fn marks_around(frame: &Frame<'_>, before: &str, after: &str) -> (String, &'static str) {
    let before = match frame.kind {
        FrameKind::Tail => format!("]{before}"),
        FrameKind::Element { comma: true } => format!(",{before}"),
        _ if frame.is_literal() && !before.contains('\n') && !after.contains('\n') => format!("|{before}"),
        _ => String::new(),
    };
    let after = if frame.kind == FrameKind::Head { "[" } else { "" };
    (before, after)
}

/// Reports input that is legal but suspicious.
fn notice_oddities(tape: &crate::tape::Tape<'_>, ledger: &mut Ledger) {
    let odd = [
        (Code::DuplicateKey, tape.duplicate_key),
        (Code::LoneSurrogate, tape.lone_surrogate),
        (Code::NumberOverflow, tape.number_overflow),
    ];
    for (code, at) in odd {
        if let Some(at) = at {
            let place = ledger.place(Some(at), None);
            let window = Window::around(tape.text().as_bytes(), at);
            ledger.problem(Problem { code, place, detail: String::new(), window });
        }
    }
}

fn describe(fault: Fault, bytes: &[u8]) -> (Code, usize, &'static str) {
    if let Some(nul) = memchr::memchr(0, bytes) {
        return (Code::NulBytes, nul, "text");
    }
    let (at, expected) = match fault {
        Fault::Syntax { at, expected } => (at, expected),
        Fault::Torn { at } => (at, "more"),
        Fault::Trailing { at } => (at, "the end of the document"),
        Fault::TooDeep { at } => (at, "less nesting"),
        Fault::TooManyValues { at } => (at, "fewer values"),
    };
    (fault.into(), at, expected)
}
