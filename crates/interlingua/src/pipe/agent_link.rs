//! The connection to one running agent, without I/O: the agent's bytes become events, and the client's events become
//! bytes for the agent.

use super::{EventSink, Order, Stages, Writer, WriterOutput, readable};
use crate::dialects::{Dialect, Options, Role, WriteSpec};
use crate::error::Error;
use crate::json::{JsonBuffer, Output};
use crate::ledger::{Ledger, Leftover, LeftoverBody, Reason, Report};
use crate::model::{Event, FailureClass, ItemHead, SupportTable, supports_everything};
use crate::tape::Val;

/// The connection to one running agent.
///
/// [`AgentLink::receive`] reads the output of the agent ([`Role::Live`]) and passes its events to a closure.
/// [`AgentLink::send`] writes the client's events to the input of the agent ([`Role::Input`]): the settings of the session
/// (`SessionStarted`), prompts (messages of the user), decisions on permissions, answers to questions, and the interrupt
/// (`TurnEnded` with the stop reason *cancelled*). Both return bytes for the agent: some protocols demand a reply to each
/// request of the agent, and a prompt waits until the agent has opened the session.
///
/// ```
/// use interlingua::dialects::{Dialect, Options};
/// use interlingua::model::{Event, Stop, StopClass, Turn};
/// use interlingua::pipe::AgentLink;
///
/// let claude: &Dialect = "claude-stream".parse()?;
/// let mut link = AgentLink::new(claude, &Options::default())?;
/// let mut events = 0;
/// let line = br#"{"type":"system","subtype":"init","session_id":"s1","cwd":"/tmp"}
/// "#;
/// let reply = link.receive(line, |_| events += 1);
/// assert!(events > 0 && reply.is_empty());
///
/// let stop = Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None };
/// let bytes = link.send(&Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() }));
/// assert!(String::from_utf8(bytes)?.contains("interrupt"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AgentLink {
    stages: Stages,
    /// The losses and problems of the agent's output.
    ledger: Ledger,
    /// No reader of frames writes here: the writer for the agent's input has its own buffer.
    unused: JsonBuffer,
    input: InputSide,
    /// The order of the client's events.
    order: Order,
}

/// The agent's input.
struct InputSide {
    writer: Box<dyn Writer>,
    json: JsonBuffer,
    ledger: Ledger,
    bytes: Vec<u8>,
}

impl InputSide {
    fn received(&mut self, frame: Val<'_>) {
        let Self { writer, json, ledger, bytes } = self;
        writer.received(frame, &mut WriterOutput::new(json.emit(bytes), ledger).of_no_frame());
    }
}

impl AgentLink {
    /// A connection to an agent that speaks this dialect.
    pub fn new(dialect: &Dialect, options: &Options) -> Result<Self, Error> {
        Self::between(dialect, (Role::Live, Role::Input), supports_everything, options)
    }

    fn with_support(dialect: &Dialect, support: SupportTable, options: &Options) -> Result<Self, Error> {
        Self::between(dialect, (Role::Live, Role::Input), support, options)
    }

    /// A connection that reads the first role and writes the second.
    pub(super) fn between(
        dialect: &Dialect,
        (read, written): (Role, Role),
        support: SupportTable,
        options: &Options,
    ) -> Result<Self, Error> {
        let (spec, reader) = readable((dialect, read))?;
        let input = dialect.role(written).and_then(|spec| spec.write.as_ref());
        let input = input.ok_or(Error::CannotWrite(dialect.name, written.word()))?;
        let options = &Options { source: Some(dialect.name), ..options.clone() };
        let mut order = Order::new(&options.limits);
        // The client's events have no size of their own to compare the size of the agent's input with.
        order.read(usize::MAX);
        Ok(Self {
            stages: Stages::new(dialect, spec, reader(options), options),
            ledger: Ledger::new(support, spec.framing, options.trace),
            unused: JsonBuffer::default(),
            input: InputSide {
                writer: (input.make)(options),
                json: JsonBuffer::default(),
                ledger: Ledger::rehearsal(),
                bytes: Vec::new(),
            },
            order,
        })
    }

    /// Reads the next bytes of the agent, of any length, and passes the events found so far to `each`. Returns the bytes to
    /// send to the agent.
    pub fn receive(&mut self, bytes: &[u8], each: impl FnMut(&Event<'_>) + Send) -> Vec<u8> {
        let Self { stages, ledger, unused, input, order: _ } = self;
        stages.push(bytes, &mut AgentOutput { each, input }, ledger, unused, &mut Vec::new());
        std::mem::take(&mut input.bytes)
    }

    /// Writes an event of the client. Returns the bytes to send to the agent.
    pub fn send(&mut self, event: &Event<'_>) -> Vec<u8> {
        let InputSide { writer, json, ledger, bytes } = &mut self.input;
        let out = WriterOutput::new(json.emit(bytes), ledger);
        EventSink { writer: &mut **writer, order: &mut self.order, out }.event_unclaimed(event);
        std::mem::take(bytes)
    }

    /// Ends the agent's output: open items and an open turn are closed as interrupted. Returns the report on the agent's
    /// output.
    pub fn finish(self, each: impl FnMut(&Event<'_>) + Send) -> Report {
        let Self { mut stages, mut ledger, mut unused, mut input, order: _ } = self;
        let mut output = AgentOutput { each, input: &mut input };
        stages.finish_with(&[], &mut output, &mut ledger, &mut unused, &mut Vec::new());
        ledger.report()
    }
}

/// A running agent as a stream in another dialect, usually universal events: the agent's bytes and the client's events
/// become lines of one stream.
///
/// ```
/// use interlingua::dialects::{Options, Role};
/// use interlingua::model::{Event, Session};
/// use interlingua::pipe::AgentStream;
///
/// let options = Options::default().with_session_id("mine".to_owned());
/// let mut stream = AgentStream::new("claude-stream".parse()?, ("universal".parse()?, Role::Live), &options)?;
/// let mut lines = Vec::new();
/// stream.send(&Event::SessionStarted(Session::default()), &mut lines);
/// stream.receive(b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}\n", &mut lines);
/// stream.finish(&mut lines);
/// assert!(String::from_utf8(lines)?.contains(r#""session_id":"mine","native_session_id":"s1""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AgentStream {
    link: AgentLink,
    writer: Box<dyn Writer>,
    json: JsonBuffer,
    /// The order of the client's events in the stream.
    order: Order,
    /// Set while a turn is open that the client began.
    in_turn: bool,
    /// Set once the client has told why the agent or its turn ended.
    has_failed: bool,
}

impl AgentStream {
    /// A stream of an agent that speaks the dialect `from`.
    pub fn new(from: &Dialect, to: (&Dialect, Role), options: &Options) -> Result<Self, Error> {
        let target = to.0.role(to.1).and_then(|spec| spec.write.as_ref());
        let target = target.ok_or(Error::CannotWrite(to.0.name, to.1.word()))?;
        let link = AgentLink::with_support(from, target.support, options)?;
        Ok(Self::of_link(link, from, target, options))
    }

    /// A stream of an agent that speaks the dialect `from`, and reads the input of another agent's dialect: Amp reads the
    /// lines of Claude Code.
    pub fn with_input(
        from: &Dialect,
        input: &Dialect,
        to: (&Dialect, Role),
        options: &Options,
    ) -> Result<Self, Error> {
        let target = to.0.role(to.1).and_then(|spec| spec.write.as_ref());
        let target = target.ok_or(Error::CannotWrite(to.0.name, to.1.word()))?;
        let (spec, reader) = readable((from, Role::Live))?;
        let mut link = AgentLink::with_support(input, target.support, options)?;
        let own = Options { source: Some(from.name), ..options.clone() };
        link.stages = Stages::new(from, spec, reader(&own), &own);
        link.ledger = Ledger::new(target.support, spec.framing, own.trace);
        Ok(Self::of_link(link, from, target, options))
    }

    fn of_link(link: AgentLink, from: &Dialect, target: &WriteSpec, options: &Options) -> Self {
        let options = &Options { source: Some(from.name), ..options.clone() };
        let mut order = Order::new(&options.limits);
        // There is no input to compare the size of the output with.
        order.read(usize::MAX);
        Self {
            link,
            writer: (target.make)(options),
            json: JsonBuffer::default(),
            order,
            in_turn: false,
            has_failed: false,
        }
    }

    /// Whether a turn is open that the client began.
    pub const fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    /// Reads the next bytes of the agent, of any length, and writes their events to the stream. Returns the bytes to send
    /// to the agent.
    pub fn receive(&mut self, bytes: &[u8], out: &mut dyn Output) -> Vec<u8> {
        let Self { link, writer, json, order: _, in_turn, has_failed } = self;
        let AgentLink { stages, ledger, input, .. } = link;
        let mut output = StreamOutput { writer: &mut **writer, input, in_turn, has_failed: *has_failed };
        stages.push(bytes, &mut output, ledger, json, out);
        std::mem::take(&mut input.bytes)
    }

    /// Writes an event of the client to the stream and to the agent. Returns the bytes to send to the agent.
    pub fn send(&mut self, event: &Event<'_>, out: &mut dyn Output) -> Vec<u8> {
        self.note(event, out);
        self.link.send(event)
    }

    /// Sends an event of the client to the agent alone, because the agent repeats it in its output. Returns the bytes to send
    /// to the agent.
    pub fn send_only(&mut self, event: &Event<'_>) -> Vec<u8> {
        self.link.send(event)
    }

    /// Writes an event to the stream alone. The end of a turn closes the items that the agent has open.
    pub fn note(&mut self, event: &Event<'_>, out: &mut dyn Output) {
        let Self { link, writer, json, order, in_turn, has_failed } = self;
        let AgentLink { stages, ledger, .. } = link;
        match event {
            Event::Error(_) => *has_failed = true,
            Event::TurnStarted(_) => (*in_turn, *has_failed) = (true, false),
            // The end of the agent's output is no error for a turn that the client has ended.
            Event::TurnEnded(_) => (*in_turn, *has_failed) = (false, true),
            _ => {}
        }
        json.emit(out).begin_push();
        let before = json.emit(out).total();
        let mut target = WriterOutput::new(json.emit(out), ledger);
        if let Event::TurnEnded(_) = event {
            let agents = &mut stages.frames.order;
            let closing = agents.lifecycle.closing();
            for item in closing.filter(|event| matches!(event, Event::ItemCompleted(_))) {
                agents.pass(&item, &mut **writer, &mut target.of_client());
            }
        }
        EventSink { writer: &mut **writer, order, out: target.of_client() }.event(event);
        // The lines of the client are no output of the agent, so they take nothing of the agent's allowance.
        let written = json.emit(out).total().wrapping_sub(before);
        stages.frames.order.read(usize::try_from(written).unwrap_or(usize::MAX));
        json.emit(out).end_push();
    }

    /// Ends the agent's output: open items and an open turn are closed as interrupted, and the stream is ended. Returns the
    /// report on the agent's output.
    pub fn finish(self, out: &mut dyn Output) -> Report {
        let Self { link, mut writer, mut json, order: _, mut in_turn, has_failed } = self;
        let AgentLink { mut stages, mut ledger, mut input, .. } = link;
        let in_turn = &mut in_turn;
        let mut output = StreamOutput { writer: &mut *writer, input: &mut input, in_turn, has_failed };
        stages.finish_with(&[], &mut output, &mut ledger, &mut json, out);
        ledger.report()
    }
}

impl std::fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentStream").field("link", &self.link).finish_non_exhaustive()
    }
}

/// Passes the events of the agent to the writer of the stream, and each frame to the writer of the agent's input.
struct StreamOutput<'l> {
    writer: &'l mut dyn Writer,
    input: &'l mut InputSide,
    in_turn: &'l mut bool,
    has_failed: bool,
}

impl Writer for StreamOutput<'_> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.writer.takes(head)
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            // The turn began with the client's prompt.
            Event::TurnStarted(_) if *self.in_turn => return,
            Event::TurnEnded(_) => *self.in_turn = false,
            // The client has told the reason for the missing end.
            Event::Error(failure) if self.has_failed && failure.class == FailureClass::Incomplete => return,
            _ => {}
        }
        self.writer.event(event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        if let LeftoverBody::Frame(tape) = leftover.body {
            self.input.received(tape.root());
        }
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.writer.finish(out);
    }
}

impl std::fmt::Debug for AgentLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentLink").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

/// Passes the events of the agent to a closure, and each frame to the writer of the agent's input.
struct AgentOutput<'l, F> {
    each: F,
    input: &'l mut InputSide,
}

impl<F: FnMut(&Event<'_>) + Send> Writer for AgentOutput<'_, F> {
    fn takes(&mut self, _: &ItemHead<'_>) -> Result<(), Reason> {
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        (self.each)(event);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        if let LeftoverBody::Frame(tape) = leftover.body {
            self.input.received(tape.root());
        }
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}
