//! The open step of a trajectory: its fixed members are written as they arrive, in the order reasoning, message, calls,
//! results. Content that would break this order belongs to a new step.

use std::collections::{BTreeSet, VecDeque};

use super::metrics::{Metrics, OF_STEP};
use crate::dialects::export::facts;
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::log::{GatheredItem, date_of_millis, text_of};
use crate::model::{Author, Media, MediaSource, Part, time};

/// The member of a step that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Begun,
    Reasoning,
    Message,
    Calls,
    Results,
}

/// The originator of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Agent,
    User,
    System,
}

impl Source {
    pub(super) const fn of(author: Author) -> Self {
        match author {
            Author::Assistant => Source::Agent,
            Author::User => Source::User,
            Author::System | Author::Developer | Author::Tool => Source::System,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Source::Agent => "agent",
            Source::User => "user",
            Source::System => "system",
        }
    }
}

/// The subagent, the model, the session of copied items, and the number of the answer.
type StepOrigin = (Option<String>, Option<String>, Option<String>, Option<u64>);

/// The step that is being written.
pub(super) struct OpenStep {
    pub(super) source: Source,
    pub(super) phase: Phase,
    origin: StepOrigin,
    /// The ids of the calls in this step.
    calls: BTreeSet<String>,
    /// The ids of calls without an id in the source that wait for their result.
    nameless: VecDeque<String>,
    /// The number of texts, reasonings, calls and results so far: the place of an event in the step.
    pub(super) units: u64,
    /// The members of messages and reasonings beside their content.
    items: JsonBuffer,
    /// Parts that a message has no form for.
    parts: JsonBuffer,
    pub(super) metrics: Metrics,
}

/// An item within a message has the origin of the message.
fn origin_of(item: GatheredItem<'_>) -> StepOrigin {
    let head = item.frame().0.head();
    let text = |text: &Option<Str<'static>>| text.as_ref().map(|text| text.as_escaped().to_owned());
    (text(&head.agent), text(&head.model), text(&head.copied_from), head.answer)
}

impl OpenStep {
    /// Begins a step. The step has the time and the model of the first item.
    pub(super) fn begin(
        number: u64,
        source: Source,
        first: Option<(GatheredItem<'_>, Option<&Raw<'_>>)>,
        json: &mut JsonWriter<'_>,
    ) -> Self {
        json.object().key("step_id").u64(number).key("source").literal(source.word());
        if let Some((item, clock)) = first {
            let message = item.frame().0.head();
            let written = item.head().time.as_ref().or(message.time.as_ref());
            let millis = written.or(clock).and_then(time::epoch_millis);
            let mut date = String::new();
            if millis.is_some_and(|millis| date_of_millis(millis, &mut date)) {
                json.key("timestamp").raw(&Raw::new(&date));
            }
            if source == Source::Agent {
                json.opt_str("model_name", message.model.as_ref());
            }
            if message.copied_from.is_some() {
                json.key("is_copied_context").bool(true);
            }
        }
        Self {
            source,
            phase: Phase::Begun,
            origin: first.map(|(item, _)| origin_of(item)).unwrap_or_default(),
            calls: BTreeSet::new(),
            nameless: VecDeque::new(),
            units: 0,
            items: JsonBuffer::default(),
            parts: JsonBuffer::default(),
            metrics: Metrics::default(),
        }
    }

    /// Whether an item of the assistant continues this step with content of the given phase. A step has one reasoning and
    /// one message, and any number of calls.
    pub(super) fn accepts(&self, item: GatheredItem<'_>, phase: Phase) -> bool {
        let has_place = self.phase < phase || self.phase == phase && phase == Phase::Calls;
        let (agent, model, copied_from, answer) = &self.origin;
        let (own_agent, own_model, own_copied, own_answer) = &origin_of(item);
        // Some agents name the model only on some items of a response.
        let is_same_model = model.is_none() || own_model.is_none() || model == own_model;
        let is_same = (agent, copied_from, answer) == (own_agent, own_copied, own_answer);
        self.source == Source::Agent && has_place && is_same_model && is_same
    }

    /// The id of the call in this step that a result answers. A result without an id answers the first call without an id.
    pub(super) fn answered(&mut self, item: GatheredItem<'_>) -> Option<String> {
        match item.call_id() {
            Some(id) => self.calls.contains(id.as_escaped()).then(|| id.as_escaped().to_owned()),
            None => self.nameless.pop_front(),
        }
    }

    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.contains(id)
    }

    /// Notes the members of an item beside its content.
    pub(super) fn item(&mut self, item: GatheredItem<'_>, clock: Option<&Raw<'_>>) {
        let mut json = self.items.hold();
        json.object().key("after").u64(self.units);
        facts::write_item(item, clock, &mut json);
        json.end_object();
    }

    /// Notes a part that has no form in the step. `of` is the kind of its item.
    pub(super) fn part(&mut self, of: &str, part: &Part<'_>) {
        let mut json = self.parts.hold();
        json.object().key("after").u64(self.units).key("of").literal(of);
        facts::write_part(part, &mut json);
        json.end_object();
    }

    pub(super) fn reasoning(&mut self, part: &Part<'_>, text: &Str<'_>, json: &mut JsonWriter<'_>) {
        json.key("reasoning_content").str(text);
        if let Part::Summary(_) = part {
            let mut parts = self.parts.hold();
            parts.object().key("at").u64(self.units).key("type").literal(facts::part_word(part)).end_object();
        }
        (self.phase, self.units) = (Phase::Reasoning, self.units + 1);
    }

    /// Writes the parts of a message.
    pub(super) fn message(&mut self, parts: &[&Part<'static>], json: &mut JsonWriter<'_>) {
        json.key("message");
        write_content(parts, &mut self.parts, self.units, json);
        (self.phase, self.units) = (Phase::Message, self.units + 1);
    }

    /// Writes the empty message of a step without one: ATIF requires the member.
    fn end_message(&mut self, json: &mut JsonWriter<'_>) {
        if self.phase < Phase::Message {
            json.key("message").literal("");
            self.phase = Phase::Message;
        }
    }

    pub(super) fn call(
        &mut self,
        item: GatheredItem<'_>,
        name: &Str<'_>,
        (id, is_made_up): (&str, bool),
        clock: Option<&Raw<'_>>,
        json: &mut JsonWriter<'_>,
    ) {
        self.end_message(json);
        if self.phase != Phase::Calls {
            json.key("tool_calls").array();
        }
        (self.phase, self.units) = (Phase::Calls, self.units + 1);
        self.calls.insert(id.to_owned());
        if is_made_up {
            self.nameless.push_back(id.to_owned());
        }
        json.object().key("tool_call_id").literal(id).key("function_name").str(name).key("arguments");
        let object = facts::arguments_object(item);
        match &object {
            Some(object) => _ = json.raw(object),
            None => _ = json.object().end_object(),
        }
        json.key("extra").object();
        facts::write_item(item, clock, json);
        let others = item.parts().filter(|part| object.is_none() || !matches!(part, Part::Args(_)));
        let mut others = others.peekable();
        if others.peek().is_some() {
            json.key("parts").array();
            for part in others {
                json.object();
                facts::write_part(part, json);
                json.end_object();
            }
            json.end_array();
        }
        json.end_object().end_object();
    }

    /// Writes a result. `answers` is the id of its call, if the call is in this step.
    pub(super) fn result(
        &mut self,
        item: GatheredItem<'_>,
        answers: Option<&str>,
        clock: Option<&Raw<'_>>,
        json: &mut JsonWriter<'_>,
    ) {
        self.end_message(json);
        if self.phase == Phase::Calls {
            json.end_array();
        }
        if self.phase != Phase::Results {
            json.key("observation").object().key("results").array();
        }
        (self.phase, self.units) = (Phase::Results, self.units + 1);
        json.object();
        if let Some(id) = answers {
            json.key("source_call_id").literal(id);
        }
        let parts: Vec<_> = item.parts().collect();
        let mut unplaced = JsonBuffer::default();
        json.key("content");
        write_content(&parts, &mut unplaced, 0, json);
        json.key("extra").object();
        facts::write_item(item, clock, json);
        write_list("parts", &unplaced, json);
        json.end_object().end_object();
    }

    /// Ends the step, with the events that happened meanwhile.
    pub(super) fn end(mut self, events: &mut JsonBuffer, json: &mut JsonWriter<'_>) {
        self.end_message(json);
        match self.phase {
            Phase::Calls => _ = json.end_array(),
            Phase::Results => _ = json.end_array().end_object(),
            Phase::Begun | Phase::Reasoning | Phase::Message => {}
        }
        if self.source == Source::Agent && !self.metrics.is_empty() {
            json.key("metrics").object();
            self.metrics.write(OF_STEP, json);
            json.end_object();
        }
        if [&self.items, &self.parts, events].iter().any(|list| !list.bytes().is_empty()) {
            json.key("extra").object();
            write_list("items", &self.items, json);
            write_list("parts", &self.parts, json);
            write_list("events", events, json);
            json.end_object();
        }
        events.clear();
        json.end_object();
    }
}

fn write_list(name: &str, held: &JsonBuffer, json: &mut JsonWriter<'_>) {
    if !held.bytes().is_empty() {
        json.key(name).array().values(held.bytes()).end_array();
    }
}

/// Writes the content of a message or result: a string for one text, else a list of texts, pictures and sounds. `unplaced`
/// gets the parts that have no form, and the facts of parts that a text does not show, each with its place in the list.
fn write_content(parts: &[&Part<'static>], unplaced: &mut JsonBuffer, unit: u64, json: &mut JsonWriter<'_>) {
    let is_shown = |part: &&&Part<'_>| text_of(part).is_some() || media_of(part).is_some();
    let only = match parts.iter().filter(is_shown).count() {
        0 => Some(Str::default()),
        1 => parts.iter().find_map(|part| text_of(part)),
        _ => None,
    };
    match &only {
        Some(text) => _ = json.str(text),
        None => _ = json.array(),
    }
    let mut at = 0;
    for part in parts {
        let media = media_of(part);
        let is_known = match (part, media) {
            (Part::Text(_), _) => true,
            (Part::Media(media), Some(_)) => {
                let Media { media_type: _, source: _, name, context, citable, detail } = media;
                name.is_none() && context.is_none() && citable.is_none() && detail.is_none()
            }
            _ => false,
        };
        let text = text_of(part);
        if !is_known {
            let mut list = unplaced.hold();
            list.object().key("unit").u64(unit).key("at").u64(at);
            match (part, media) {
                (Part::Media(media), Some(_)) => {
                    list.key("type").literal(facts::part_word(part));
                    facts::write_media_facts(media, &mut list);
                }
                _ if text.is_some() => _ = list.key("type").literal(facts::part_word(part)),
                _ => facts::write_part(part, &mut list),
            }
            list.end_object();
        }
        if let Some(text) = text {
            at += 1;
            if only.is_none() {
                json.object().key("type").literal("text").key("text").str(&text).end_object();
            }
        } else if let Some((kind, media_type, source)) = media {
            at += 1;
            json.object().key("type").literal(kind).key("source").object();
            json.key("media_type").literal(media_type).key("path").open_string();
            if let MediaSource::Base64(_) = source {
                json.bytes(b"data:");
                json.bytes(media_type.as_bytes());
                json.bytes(b";base64,");
            }
            json.piece(source.text()).close_string().end_object().end_object();
        }
    }
    if only.is_none() {
        json.end_array();
    }
}

/// The kind, the media type and the bytes of a picture or sound that a trajectory can hold.
fn media_of<'p>(part: &'p Part<'_>) -> Option<(&'static str, &'static str, &'p MediaSource<'p>)> {
    const TYPES: &[&str] = &[
        "image/jpeg",
        "image/png",
        "image/gif",
        "image/webp",
        "audio/wav",
        "audio/mpeg",
        "audio/mp4",
        "audio/aac",
        "audio/ogg",
        "audio/flac",
        "audio/webm",
        "audio/aiff",
    ];
    let Part::Media(Media { media_type: Some(media_type), source, .. }) = part else { return None };
    if !matches!(source, MediaSource::Base64(_) | MediaSource::Url(_)) {
        return None;
    }
    let known = TYPES.iter().find(|known| media_type.is(known))?;
    let kind = if known.starts_with("image/") { "image" } else { "audio" };
    Some((kind, known, source))
}
