//! Events to spans, in one pass. The span of a response is written when its response ends, the span of a call when its
//! result arrives, and the span of the session at the end.

use std::collections::VecDeque;

use super::span::{self, Kind, SpanHead};
use crate::dialects::Options;
use crate::dialects::export::facts;
use crate::dialects::export::sequence::{Sequence, Unit};
use crate::dialects::export::usage::{Responses, increase};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::{Leftover, LeftoverBody, Reason, TextDigest};
use crate::log::{GatheredContent, GatheredItem};
use crate::model::{
    Author, Event, ItemKind, ItemKindTag, Neutral as _, Part, Session, Spelling, Status, Tally, ToolCall,
    Turn, Usage, time,
};
use crate::pipe::{Writer, WriterOutput};

pub(super) struct OtelWriter {
    sequence: Sequence,
    traces: Traces,
}

/// The document, with the trace that is being written.
struct Traces {
    source: Option<&'static str>,
    source_name: Option<String>,
    /// Whether the document has begun.
    begun: bool,
    trace: Trace,
}

/// The trace of a session.
#[derive(Default)]
struct Trace {
    id: Option<u128>,
    session: Session<'static>,
    has_session: bool,
    /// The number of the last span; the span of the session is the first.
    spans: u64,
    /// The first and the last time so far, in milliseconds since 1970.
    times: Option<(u64, u64)>,
    /// Messages since the last response.
    input: JsonBuffer,
    response: Option<Response>,
    /// Calls that wait for their result.
    calls: VecDeque<OpenCall>,
    /// Events since the last span ended, as a list of span events.
    events: JsonBuffer,
    tally: Tally<Responses>,
    total: Usage,
    /// The number of parts, results and events so far: the order of everything in the trace.
    units: u64,
}

/// The response that is being gathered.
struct Response {
    start: u64,
    parts: JsonBuffer,
    model: Option<Str<'static>>,
    agent: Option<Str<'static>>,
    answer: Option<u64>,
    usage: Usage,
    id: Option<Str<'static>>,
    stop: Option<Str<'static>>,
    /// The number of its first part.
    unit: u64,
}

struct OpenCall {
    id: Option<String>,
    name: Str<'static>,
    start: u64,
    unit: u64,
}

/// The size of held events or messages that is written as a span.
const MOST_HELD: usize = 64 << 10;
/// Calls that wait for their result; the oldest is written without one.
const MOST_CALLS: usize = 1024;
/// The number of the span of a session.
const ROOT: u64 = 1;

impl OtelWriter {
    pub(super) fn new(options: &Options) -> Self {
        let traces = Traces {
            source: options.source,
            source_name: options.source_name.clone(),
            begun: false,
            trace: Trace::default(),
        };
        Self { sequence: Sequence::default(), traces }
    }
}

impl Writer for OtelWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let traces = &mut self.traces;
        self.sequence.event(event, &mut |unit| traces.unit(unit, out));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        match leftover.body {
            LeftoverBody::Unparsed { .. } => leftover.lose(out.ledger, Reason::Invalid),
            LeftoverBody::Kept { .. } | LeftoverBody::Frame(_) => leftover.lose(out.ledger, Reason::NoSlot),
            LeftoverBody::NoFinalNewline => {}
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        let traces = &mut self.traces;
        self.sequence.finish(&mut |unit| traces.unit(unit, out));
        traces.end_trace(out);
        out.json.end_array().end_object();
    }
}

impl Traces {
    fn unit(&mut self, unit: Unit<'_>, out: &mut WriterOutput<'_>) {
        match unit {
            Unit::Item(item, clock) => self.item(item, clock, out),
            Unit::Event(event) => self.event(event, out),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                let is_other = session.id.is_some() && session.id != self.trace.session.id;
                if std::mem::replace(&mut self.trace.has_session, true) && is_other {
                    out.ledger.note("another session of the input, which is a trace of its own");
                    self.end_trace(out);
                    self.trace = Trace { has_session: true, ..Trace::default() };
                }
                self.trace.session.update(session.clone().into_owned());
            }
            Event::SessionUpdated(session) => self.trace.session.update(session.clone().into_owned()),
            Event::Clock(time) => _ = self.trace.at(Some(time), None),
            _ => {}
        }
        let trace = &mut self.trace;
        if let Some(more) = increase(event, &mut trace.tally) {
            trace.total = trace.total.and(&more);
            if let Some(response) = &mut trace.response {
                response.usage = response.usage.and(&more);
            }
        }
        if let (Event::Usage(turn) | Event::TurnEnded(turn), Some(response)) = (event, &mut trace.response) {
            let Turn { id, stop, .. } = turn;
            let owned = |text: &Str<'_>| text.clone().into_owned();
            response.id = id.as_ref().map(owned).or(response.id.take());
            let word = stop.as_ref().map(|stop| match &stop.raw {
                Some(raw) => owned(raw),
                None => Str::escaped(stop.class.word()),
            });
            response.stop = word.or(response.stop.take());
        }
        self.hold("interlingua.event", |json| facts::write_event(event, json), out);
    }

    /// Holds a span event until a span ends.
    fn hold(&mut self, name: &str, write: impl FnOnce(&mut JsonWriter<'_>), out: &mut WriterOutput<'_>) {
        let trace = &mut self.trace;
        let (now, unit) = (trace.now(), trace.unit());
        let mut json = trace.events.hold();
        json.object().key("timeUnixNano").literal(&span::nanos(now)).key("name").literal(name);
        json.key("attributes").array();
        span::some_number("interlingua.sequence", Some(unit), &mut json);
        span::object("interlingua.data", write, &mut json);
        json.end_array().end_object();
        if trace.events.bytes().len() > MOST_HELD {
            self.end_response(out);
            if !self.trace.events.bytes().is_empty() {
                self.span("interlingua.events", Kind::Internal, (now, now), false, out, |_, _| {});
            }
        }
    }

    fn item(&mut self, item: GatheredItem<'_>, clock: Option<&Raw<'_>>, out: &mut WriterOutput<'_>) {
        let at = self.trace.at(item.head().time.as_ref(), clock);
        match &item.head().kind {
            ItemKind::Message if item.head().author == Author::Assistant => {
                self.parts_of(item, clock, at, out);
                return;
            }
            ItemKind::Message => {
                self.input_message(item, clock, out);
                return;
            }
            ItemKind::Reasoning => self.parts_of(item, clock, at, out),
            ItemKind::ToolCall(call) => self.call(item, call, clock, at, out),
            ItemKind::ToolResult(_) => self.result(item, clock, at, out),
            ItemKind::Notice(_) => {
                self.hold("interlingua.notice", |json| facts::write_notice(item, clock, json), out);
            }
        }
        for content in item.content() {
            if let GatheredContent::Item(inner) = content
                && item.of() != ItemKindTag::Reasoning
            {
                self.item(inner, None, out);
            }
        }
    }

    /// Adds the content of a message or reasoning of the model to the response.
    fn parts_of(
        &mut self,
        item: GatheredItem<'_>,
        clock: Option<&Raw<'_>>,
        at: u64,
        out: &mut WriterOutput<'_>,
    ) {
        let mut told = Some((item, clock));
        for content in item.content() {
            match content {
                GatheredContent::Part(part) => {
                    let is_reasoning = item.of() == ItemKindTag::Reasoning;
                    let response = self.response(item, at, out);
                    span::write_part(part, is_reasoning, told.take(), &mut response.parts.hold());
                    self.trace.unit();
                }
                GatheredContent::Item(inner) => {
                    if let Some((item, clock)) = told.take() {
                        span::write_empty(item, clock, &mut self.response(item, at, out).parts.hold());
                        self.trace.unit();
                    }
                    self.item(inner, None, out);
                }
            }
        }
        if let Some((item, clock)) = told {
            span::write_empty(item, clock, &mut self.response(item, at, out).parts.hold());
            self.trace.unit();
        }
    }

    /// A message for the model: part of the next response's input. Its inner items are results.
    fn input_message(&mut self, item: GatheredItem<'_>, clock: Option<&Raw<'_>>, out: &mut WriterOutput<'_>) {
        let mut told = Some((item, clock));
        let mut parts: Vec<&Part<'static>> = Vec::new();
        for content in item.content() {
            match content {
                GatheredContent::Part(part) => parts.push(part),
                GatheredContent::Item(inner) => {
                    if !parts.is_empty() || told.is_some() {
                        self.input(item, &std::mem::take(&mut parts), told.take(), out);
                    }
                    self.item(inner, None, out);
                }
            }
        }
        if !parts.is_empty() || told.is_some() {
            self.input(item, &parts, told, out);
        }
    }

    fn input(
        &mut self,
        item: GatheredItem<'_>,
        parts: &[&Part<'static>],
        mut told: span::Told<'_>,
        out: &mut WriterOutput<'_>,
    ) {
        self.end_response(out);
        let unit = self.trace.unit();
        let mut json = self.trace.input.hold();
        json.object().key("role").literal(item.head().author.word()).key("sequence").u64(unit);
        json.key("parts").array();
        if let (Some((item, clock)), true) = (told, parts.is_empty()) {
            span::write_empty(item, clock, &mut json);
        }
        for part in parts {
            span::write_part(part, false, told.take(), &mut json);
        }
        json.end_array().end_object();
        if self.trace.input.bytes().len() > MOST_HELD {
            self.end_input(out);
        }
    }

    /// The open response that continues with an item of the model, or a new response.
    fn response(&mut self, item: GatheredItem<'_>, at: u64, out: &mut WriterOutput<'_>) -> &mut Response {
        // An item within a message belongs to the response of the message.
        let head = item.frame().0.head();
        let continues = self.trace.response.as_ref().is_some_and(|response| {
            // Some agents name the model only on some items of a response.
            let is_same_model =
                response.model.is_none() || head.model.is_none() || response.model == head.model;
            is_same_model && response.agent == head.agent && response.answer == head.answer
        });
        if !continues {
            self.end_response(out);
        }
        let unit = self.trace.units + 1;
        self.trace.response.get_or_insert_with(|| Response {
            start: at,
            parts: JsonBuffer::default(),
            model: head.model.clone(),
            agent: head.agent.clone(),
            answer: head.answer,
            usage: Usage::default(),
            id: None,
            stop: None,
            unit,
        })
    }

    fn call(
        &mut self,
        item: GatheredItem<'_>,
        call: &ToolCall<'static>,
        clock: Option<&Raw<'_>>,
        at: u64,
        out: &mut WriterOutput<'_>,
    ) {
        let response = self.response(item, at, out);
        span::write_call(item, call, clock, &mut response.parts.hold());
        let unit = self.trace.unit();
        if self.trace.calls.len() >= MOST_CALLS
            && let Some(oldest) = self.trace.calls.pop_front()
        {
            out.ledger.note("a call that waits too long for its result is written without the result");
            self.unanswered(&oldest, out);
        }
        let id = call.call_id.as_ref().map(|id| id.as_escaped().to_owned());
        self.trace.calls.push_back(OpenCall { id, name: call.name.clone(), start: at, unit });
    }

    /// The span of a tool, from its call to its result. A result without an id answers the first call without an id.
    fn result(
        &mut self,
        item: GatheredItem<'_>,
        clock: Option<&Raw<'_>>,
        at: u64,
        out: &mut WriterOutput<'_>,
    ) {
        self.end_response(out);
        let unit = self.trace.unit();
        let id = item.call_id();
        let is_it = |call: &OpenCall| call.id.as_deref() == id.map(Str::as_escaped);
        let call = self.trace.calls.iter().position(is_it).and_then(|at| self.trace.calls.remove(at));
        let is_error = item.tail().is_error == Some(true) || item.tail().status == Status::Failed;
        let start = call.as_ref().map_or(at, |call| call.start.min(at));
        let name = call.as_ref().map_or_else(
            || "execute_tool".to_owned(),
            |call| format!("execute_tool {}", call.name.as_escaped()),
        );
        self.span(&name, Kind::Internal, (start, at), is_error, out, |_, json| {
            operation("execute_tool", unit, json);
            some_call(call.as_ref(), json);
            span::some_text("gen_ai.tool.call.id", id, json);
            let mut parts = item.parts();
            if let (Some(Part::Text(text)), None) = (parts.next(), parts.next()) {
                span::text("gen_ai.tool.call.result", text, json);
            } else {
                let mut held = JsonBuffer::default();
                held.hold().array();
                for part in item.parts() {
                    span::write_part(part, false, None, &mut held.hold());
                }
                held.hold().end_array();
                span::json_text("gen_ai.tool.call.result", held.held(), json);
                span::some_number("interlingua.parts", Some(item.parts().count() as u64), json);
            }
            span::object("interlingua.item", |json| facts::write_item(item, clock, json), json);
        });
    }

    fn unanswered(&mut self, call: &OpenCall, out: &mut WriterOutput<'_>) {
        let name = format!("execute_tool {}", call.name.as_escaped());
        let times = (call.start, call.start);
        self.span(&name, Kind::Internal, times, false, out, |_, json| {
            operation("execute_tool", call.unit, json);
            some_call(Some(call), json);
            span::some_text("gen_ai.tool.call.id", call.id.as_deref().map(Str::escaped).as_ref(), json);
        });
    }

    /// Writes the response that is being gathered, with the messages before it.
    fn end_response(&mut self, out: &mut WriterOutput<'_>) {
        let Some(response) = self.trace.response.take() else { return };
        let Response { start, parts, model, agent, answer: _, usage, id, stop, unit } = &response;
        let input = std::mem::take(&mut self.trace.input);
        let model = model.as_ref().or(self.trace.session.model.as_ref()).cloned();
        let name =
            model.as_ref().map_or_else(|| "chat".to_owned(), |model| format!("chat {}", model.as_escaped()));
        let end = self.trace.now();
        self.span(&name, Kind::Client, (*start, end), false, out, |session, json| {
            operation("chat", *unit, json);
            span::some_text("gen_ai.provider.name", session.provider.as_ref(), json);
            span::some_text("gen_ai.request.model", model.as_ref(), json);
            span::some_text("gen_ai.response.id", id.as_ref(), json);
            span::some_text("gen_ai.agent.id", agent.as_ref(), json);
            if let Some(stop) = stop {
                json.object().key("key").literal("gen_ai.response.finish_reasons").key("value").object();
                json.key("arrayValue").object().key("values").array();
                json.object().key("stringValue").str(stop).end_object();
                json.end_array().end_object().end_object().end_object();
            }
            write_usage(usage, json);
            write_messages("gen_ai.input.messages", &input, json);
            let mut output = JsonBuffer::default();
            let mut held = output.hold();
            held.array().object().key("role").literal("assistant").key("parts").array();
            held.values(parts.bytes()).end_array();
            held.opt_str("finish_reason", stop.as_ref()).end_object().end_array();
            span::json_text("gen_ai.output.messages", output.held(), json);
        });
    }

    /// Writes messages that no response follows.
    fn end_input(&mut self, out: &mut WriterOutput<'_>) {
        if self.trace.input.bytes().is_empty() {
            return;
        }
        let input = std::mem::take(&mut self.trace.input);
        let (now, unit) = (self.trace.now(), self.trace.unit());
        self.span("chat", Kind::Client, (now, now), false, out, |_, json| {
            operation("chat", unit, json);
            write_messages("gen_ai.input.messages", &input, json);
        });
    }

    /// Writes a span within the session, with the events since the last span.
    fn span(
        &mut self,
        name: &str,
        kind: Kind,
        times: (u64, u64),
        is_error: bool,
        out: &mut WriterOutput<'_>,
        write: impl FnOnce(&Session<'_>, &mut JsonWriter<'_>),
    ) {
        self.begin(out);
        let trace = &mut self.trace;
        trace.spans += 1;
        let (id, number) = (trace.id.unwrap_or(1), ROOT + trace.spans);
        let mut attributes = JsonBuffer::default();
        write(&trace.session, &mut attributes.hold());
        let head = SpanHead { trace: id, number, parent: Some(ROOT), name, kind, times, is_error };
        span::write_span(&head, &attributes, &trace.events, &mut out.json);
        trace.events.clear();
    }

    /// Begins the document and the trace.
    fn begin(&mut self, out: &mut WriterOutput<'_>) {
        let json = &mut out.json;
        if !std::mem::replace(&mut self.begun, true) {
            json.object().key("resourceSpans").array();
        }
        if self.trace.id.is_none() {
            let session = self.trace.session.id.as_ref().map(|id| id.as_escaped().to_owned());
            let name = session.or_else(|| self.source_name.clone()).unwrap_or_default();
            self.trace.id = Some(TextDigest::of(&name).max(1));
            json.object().key("scopeSpans").array().object();
            json.key("scope").object().key("name").literal("interlingua").end_object();
            json.key("schemaUrl").literal("https://opentelemetry.io/schemas/1.37.0");
            json.key("spans").array();
        }
    }

    /// Writes the span of the session, and ends its trace.
    fn end_trace(&mut self, out: &mut WriterOutput<'_>) {
        self.end_response(out);
        self.end_input(out);
        while let Some(call) = self.trace.calls.pop_front() {
            self.unanswered(&call, out);
        }
        self.begin(out);
        let source = self.source.unwrap_or("unknown");
        let trace = &mut self.trace;
        if trace.times.is_none() {
            out.ledger.note("times of all spans unknown");
        }
        let agent = trace.session.agent.clone().unwrap_or_else(|| Str::escaped(source));
        let mut attributes = JsonBuffer::default();
        let mut json = attributes.hold();
        operation("invoke_agent", 0, &mut json);
        span::text("gen_ai.agent.name", &agent, &mut json);
        span::some_text("gen_ai.conversation.id", trace.session.id.as_ref(), &mut json);
        span::some_text("gen_ai.provider.name", trace.session.provider.as_ref(), &mut json);
        span::some_text("gen_ai.request.model", trace.session.model.as_ref(), &mut json);
        write_usage(&trace.total, &mut json);
        span::json_text("interlingua.session", &neutral(&trace.session), &mut json);
        let times = trace.times.unwrap_or_default();
        let head = SpanHead {
            trace: trace.id.unwrap_or(1),
            number: ROOT,
            parent: None,
            name: &format!("invoke_agent {}", agent.as_escaped()),
            kind: Kind::Internal,
            times,
            is_error: false,
        };
        span::write_span(&head, &attributes, &trace.events, &mut out.json);
        let json = &mut out.json;
        json.end_array().end_object().end_array();
        json.key("resource").object().key("attributes").array();
        span::text("service.name", &agent, json);
        span::some_text("service.version", trace.session.cli_version.as_ref(), json);
        json.end_array().end_object().end_object();
    }
}

impl Trace {
    /// The number of the next unit.
    fn unit(&mut self) -> u64 {
        self.units += 1;
        self.units
    }

    fn now(&self) -> u64 {
        self.times.map_or(0, |(_, last)| last)
    }

    /// The time of an item in milliseconds: its own time, the source's clock, or the last known time.
    fn at(&mut self, time: Option<&Raw<'_>>, clock: Option<&Raw<'_>>) -> u64 {
        let known = time.or(clock).and_then(time::epoch_millis);
        if let Some(known) = known {
            let (first, last) = self.times.unwrap_or((known, known));
            self.times = Some((first.min(known), last.max(known)));
        }
        known.unwrap_or_else(|| self.now())
    }
}

fn operation(name: &str, unit: u64, json: &mut JsonWriter<'_>) {
    span::text("gen_ai.operation.name", &Str::escaped(name), json);
    span::some_number("interlingua.sequence", Some(unit), json);
}

fn some_call(call: Option<&OpenCall>, json: &mut JsonWriter<'_>) {
    span::some_text("gen_ai.tool.name", call.map(|call| &call.name), json);
    span::some_number("interlingua.call.sequence", call.map(|call| call.unit), json);
}

fn write_usage(usage: &Usage, json: &mut JsonWriter<'_>) {
    span::some_number("gen_ai.usage.input_tokens", usage.all_input(), json);
    span::some_number("gen_ai.usage.output_tokens", usage.output, json);
    span::some_number("gen_ai.usage.cache_read.input_tokens", usage.cache_read, json);
    span::some_number("gen_ai.usage.cache_creation.input_tokens", usage.cache_write, json);
}

fn write_messages(name: &str, held: &JsonBuffer, json: &mut JsonWriter<'_>) {
    if !held.bytes().is_empty() {
        let mut list = String::from("[");
        list.push_str(held.held());
        list.push(']');
        span::json_text(name, &list, json);
    }
}

/// The facts of a session under the names of our model.
fn neutral(session: &Session<'_>) -> String {
    let mut held = JsonBuffer::default();
    session.write(Spelling::Snake, &mut held.hold());
    held.held().to_owned()
}
