//! Events to a trajectory, in one pass: a step is written while its items arrive, and ends when the next step begins.
//! Facts of the session and totals follow the steps.

use super::metrics::{Metrics, OF_TRAJECTORY, increase};
use super::step::{OpenStep, Phase, Source};
use crate::dialects::Options;
use crate::dialects::export::facts;
use crate::dialects::export::sequence::{Sequence, Unit};
use crate::dialects::export::usage::Responses;
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::{Leftover, LeftoverBody, Reason};
use crate::log::{GatheredContent, GatheredItem, name_with_group, text_of};
use crate::model::{Event, ItemId, ItemKind, ItemKindTag, Neutral as _, Part, Session, Spelling, Tally};
use crate::pipe::{Writer, WriterOutput};

pub(super) struct AtifWriter {
    sequence: Sequence,
    trajectory: Trajectory,
}

/// The trajectory that is being written.
struct Trajectory {
    source: Option<&'static str>,
    /// The facts of the session so far.
    session: Session<'static>,
    has_session: bool,
    /// Whether the document has begun.
    begun: bool,
    steps: u64,
    step: Option<OpenStep>,
    /// Events since the last step ended.
    events: JsonBuffer,
    tally: Tally<Responses>,
    total: Metrics,
}

/// The source's clock at the start of an item whose members no step holds yet.
#[derive(Clone, Copy)]
struct ItemClock<'c>(Option<&'c Raw<'c>>);

/// The size of held events that ends a step.
const MOST_EVENTS: usize = 64 << 10;

const FURTHER: &str = "another session of the input, which is a trajectory of its own";

impl AtifWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self { sequence: Sequence::default(), trajectory: Trajectory::new(options.source) }
    }
}

impl Writer for AtifWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let trajectory = &mut self.trajectory;
        self.sequence.event(event, &mut |unit| trajectory.unit(unit, out));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        match leftover.body {
            LeftoverBody::Unparsed { .. } => leftover.lose(out.ledger, Reason::Invalid),
            LeftoverBody::Kept { .. } | LeftoverBody::Frame(_) => leftover.lose(out.ledger, Reason::NoSlot),
            LeftoverBody::NoFinalNewline => {}
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        let trajectory = &mut self.trajectory;
        self.sequence.finish(&mut |unit| trajectory.unit(unit, out));
        trajectory.end(out);
    }
}

impl Trajectory {
    fn new(source: Option<&'static str>) -> Self {
        Self {
            source,
            session: Session::default(),
            has_session: false,
            begun: false,
            steps: 0,
            step: None,
            events: JsonBuffer::default(),
            tally: Tally::default(),
            total: Metrics::default(),
        }
    }

    fn unit(&mut self, unit: Unit<'_>, out: &mut WriterOutput<'_>) {
        match unit {
            Unit::Item(item, clock) => self.item(item, clock, out),
            Unit::Event(event) => self.event(event, out),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                let is_other = session.id.is_some() && session.id != self.session.id;
                if std::mem::replace(&mut self.has_session, true) && is_other {
                    self.end(out);
                    out.json.frame("\n");
                    out.end_session(FURTHER);
                    *self = Self { has_session: true, ..Self::new(self.source) };
                }
                self.session.update(session.clone().into_owned());
            }
            Event::SessionUpdated(session) => self.session.update(session.clone().into_owned()),
            // People look for these texts among the steps.
            Event::Error(failure) => self.remark(&failure.message, out),
            Event::Compacted(compaction) => {
                if let Some(summary) = &compaction.summary {
                    self.remark(summary, out);
                }
            }
            _ => {}
        }
        if let Some(more) = increase(event, &mut self.tally) {
            self.total.add(&more);
            if let Some(step) = &mut self.step {
                step.metrics.add(&more);
            }
        }
        self.hold(|json| facts::write_event(event, json), out);
    }

    /// A step of the system with a text.
    fn remark(&mut self, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        let part = Part::Text(text.clone().into_owned());
        self.begin_step(Source::System, None, out).message(&[&part], &mut out.json);
    }

    /// Holds an event until the end of the step. An event before the first step, or after a step with too many events, waits
    /// for the next step.
    fn hold(&mut self, write: impl FnOnce(&mut JsonWriter<'_>), out: &mut WriterOutput<'_>) {
        let after = self.step.as_ref().map_or(0, |step| step.units);
        let mut json = self.events.hold();
        json.object().key("after").u64(after);
        write(&mut json);
        json.end_object();
        if self.events.bytes().len() > MOST_EVENTS {
            if self.step.is_none() {
                self.begin_step(Source::System, None, out);
            }
            self.end_step(out);
        }
    }

    fn item(&mut self, item: GatheredItem<'_>, clock: Option<&Raw<'_>>, out: &mut WriterOutput<'_>) {
        match &item.head().kind {
            ItemKind::Message => self.message(item, clock, out),
            ItemKind::Reasoning => self.reasoning(item, clock, out),
            ItemKind::ToolCall(call) => {
                let made_up;
                let (id, is_made_up) = if let Some(id) = &call.call_id {
                    (id.as_escaped(), false)
                } else {
                    let ItemId(number) = item.head().id;
                    made_up = format!("call_{number}");
                    out.ledger.note("made up the id of a call");
                    (made_up.as_str(), true)
                };
                let known = self.step.as_ref().filter(|step| step.accepts(item, Phase::Calls));
                if known.is_none_or(|step| step.has_call(id)) {
                    self.begin_step(Source::Agent, Some((item, clock)), out);
                }
                let name = name_with_group(call);
                if let Some(step) = &mut self.step {
                    step.call(item, &name, (id, is_made_up), clock, &mut out.json);
                }
            }
            ItemKind::ToolResult(_) => {
                let answers = self.step.as_mut().and_then(|step| step.answered(item));
                if answers.is_none() {
                    out.ledger
                        .note("result in a step of its own: its call is in an earlier step, or unknown");
                    self.begin_step(Source::System, Some((item, clock)), out);
                }
                if let Some(step) = &mut self.step {
                    step.result(item, answers.as_deref(), clock, &mut out.json);
                }
            }
            ItemKind::Notice(_) => self.hold(|json| facts::write_notice(item, clock, json), out),
        }
        // Only a message has its inner items in its content, at their places.
        if item.of() != ItemKindTag::Message {
            for content in item.content() {
                if let GatheredContent::Item(inner) = content {
                    self.item(inner, None, out);
                }
            }
        }
    }

    /// The parts of a message between its inner items, and the inner items.
    fn message(&mut self, item: GatheredItem<'_>, clock: Option<&Raw<'_>>, out: &mut WriterOutput<'_>) {
        let mut texts: Vec<&Part<'static>> = Vec::new();
        let mut told = Some(ItemClock(clock));
        for content in item.content() {
            match content {
                GatheredContent::Part(part) => texts.push(part),
                GatheredContent::Item(inner) => {
                    self.texts(item, &mut texts, &mut told, out);
                    if told.is_some() && inner.of() == ItemKindTag::Message {
                        self.texts_of_message(item, &[], &mut told, out);
                    }
                    self.item(inner, None, out);
                    // The message is an item of the step that holds its first content.
                    if let (Some(ItemClock(clock)), Some(step)) = (told, &mut self.step) {
                        step.item(item, clock);
                        told = None;
                    }
                }
            }
        }
        self.texts(item, &mut texts, &mut told, out);
        if told.is_some() {
            self.texts_of_message(item, &[], &mut told, out);
        }
    }

    fn texts(
        &mut self,
        item: GatheredItem<'_>,
        texts: &mut Vec<&Part<'static>>,
        told: &mut Option<ItemClock<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        if !texts.is_empty() {
            let texts = std::mem::take(texts);
            self.texts_of_message(item, &texts, told, out);
        }
    }

    fn texts_of_message(
        &mut self,
        item: GatheredItem<'_>,
        texts: &[&Part<'static>],
        told: &mut Option<ItemClock<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        let source = Source::of(item.head().author);
        let clock = told.and_then(|ItemClock(clock)| clock);
        if !self.step.as_ref().is_some_and(|step| step.accepts(item, Phase::Message))
            || source != Source::Agent
        {
            self.begin_step(source, Some((item, clock)), out);
        }
        let Some(step) = &mut self.step else { return };
        if told.take().is_some() {
            step.item(item, clock);
        }
        step.message(texts, &mut out.json);
    }

    fn reasoning(&mut self, item: GatheredItem<'_>, clock: Option<&Raw<'_>>, out: &mut WriterOutput<'_>) {
        let mut is_told = false;
        if !self.step.as_ref().is_some_and(|step| step.accepts(item, Phase::Reasoning)) {
            self.begin_step(Source::Agent, Some((item, clock)), out);
        }
        for part in item.parts() {
            let text = text_of(part);
            let Some(step) = &mut self.step else { return };
            // A step has one text of reasoning.
            let step = if text.is_some() && step.phase >= Phase::Reasoning {
                self.begin_step(Source::Agent, Some((item, clock)), out)
            } else {
                step
            };
            if !std::mem::replace(&mut is_told, true) {
                step.item(item, clock);
            }
            match (part, text) {
                (Part::Text(_) | Part::Summary(_), Some(text)) => step.reasoning(part, &text, &mut out.json),
                _ => step.part("reasoning", part),
            }
        }
        if let Some(step) = self.step.as_mut().filter(|_| !is_told) {
            step.item(item, clock);
        }
    }

    fn begin_step(
        &mut self,
        source: Source,
        first: Option<(GatheredItem<'_>, Option<&Raw<'_>>)>,
        out: &mut WriterOutput<'_>,
    ) -> &mut OpenStep {
        self.end_step(out);
        self.begin(&mut out.json);
        self.steps += 1;
        self.step.insert(OpenStep::begin(self.steps, source, first, &mut out.json))
    }

    fn end_step(&mut self, out: &mut WriterOutput<'_>) {
        if let Some(step) = self.step.take() {
            step.end(&mut self.events, &mut out.json);
        }
    }

    fn begin(&mut self, json: &mut JsonWriter<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            json.object().key("schema_version").literal("ATIF-v1.8").key("steps").array();
        }
    }

    /// Ends the document.
    fn end(&mut self, out: &mut WriterOutput<'_>) {
        if self.step.is_none() && (self.steps == 0 || !self.events.bytes().is_empty()) {
            if self.steps == 0 {
                out.ledger.note("made up a step: the trajectory has none");
            }
            self.begin_step(Source::System, None, out);
        }
        self.end_step(out);
        let json = &mut out.json;
        json.end_array().opt_str("session_id", self.session.id.as_ref());
        json.key("agent").object().key("name");
        match (&self.session.agent, self.source) {
            (Some(agent), _) => _ = json.str(agent),
            (None, source) => _ = json.literal(source.unwrap_or("unknown")),
        }
        json.key("version");
        if let Some(version) = &self.session.cli_version {
            json.str(version);
        } else {
            json.literal("unknown");
            out.ledger.note("version of the agent unknown");
        }
        let json = &mut out.json;
        json.opt_str("model_name", self.session.model.as_ref()).end_object();
        json.key("final_metrics").object().key("total_steps").u64(self.steps);
        self.total.write(OF_TRAJECTORY, json);
        json.end_object();
        if self.session != Session::default() {
            json.key("extra").object().key("session");
            self.session.write(Spelling::Snake, json);
            json.end_object();
        }
        json.end_object();
    }
}
