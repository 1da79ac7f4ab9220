//! Collects one assistant message and writes it as a whole.

use super::super::{Flavour, StatePlace};
use super::tally::{DetailReader, MessageTally};
use crate::json::{JsonBuffer, Str};
use crate::ledger::Reason;
use crate::model::{Args, Citation, Field, ItemId, Opaque, OpaqueKind};
use crate::pipe::WriterOutput;
use crate::wire::assistant::{AssistantForm, CallOpening, Growth, Opening};
use crate::wire::backends::ModelCapabilities;
use crate::wire::content::WireContent;
use crate::wire::settings::PART_MARK;

/// One assistant message in the making.
pub(super) struct ChatMessage {
    flavour: &'static Flavour,
    /// The server's capabilities, for a message of a request.
    takes: Option<ModelCapabilities>,
    content: WireContent,
    /// The open text part.
    text: Option<(ItemId, u32)>,
    /// Whether the open thought is a thinking part of the content.
    in_thinking_part: bool,
    tally: MessageTally,
    refusal: String,
    reasoning: String,
    details: JsonBuffer,
    /// The state for `reasoning_opaque`, at most one per message of a request.
    state: Option<Str<'static>>,
    annotations: JsonBuffer,
    calls: JsonBuffer,
    /// Whether the last call is open.
    in_call: bool,
}

/// The reasoning name of backends that expect reasoning as a content part, as Mistral does.
const THINKING_PART: &str = "thinking";

impl AssistantForm for ChatMessage {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        self.is_answer() && self.flavour.cites && citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>) {
        match opening {
            Opening::Text(item, part) => {
                self.tally.open_text(out);
                self.text = Some((item, part));
                // A response has one content string, a request a list of parts.
                if self.is_answer() {
                    self.text = Some((ItemId(0), 0));
                    if !self.content.is_empty() {
                        out.ledger.note("texts of one message joined");
                    }
                }
            }
            Opening::Thinking => self.open_thought(out),
            Opening::Encrypted(opaque) => self.opaque(opaque, out),
            Opening::Call(CallOpening { id, name, free_text, .. }) => {
                self.tally.open_call();
                let mut json = self.calls.hold();
                json.up_to_value("{\"id\":").str(id);
                let (kind, arguments) = if free_text {
                    (r#""type":"custom","custom":{"name":"#, r#""input":"#)
                } else {
                    (r#""type":"function","function":{"name":"#, r#""arguments":"#)
                };
                json.up_to_value(kind).str(name).up_to_value(arguments).open_string();
                self.in_call = true;
            }
        }
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        match growth {
            Growth::Text(text) => {
                // Only responses hold positions within their text.
                if self.is_answer() {
                    self.tally.text(text);
                } else {
                    self.tally.some_text();
                }
                if let Some((item, part)) = self.text {
                    self.content.text(item, part, text, out);
                }
            }
            Growth::Refusal(text) => self.refusal.push_str(text.as_escaped()),
            Growth::Thinking(text) => self.think(text, out),
            Growth::Signature(opaque) => self.opaque(opaque, out),
            Growth::Arguments(Args::Text(text)) => _ = self.calls.hold().piece(text),
            Growth::Arguments(Args::Json(json)) => _ = self.calls.hold().plain_piece(json.as_str()),
            Growth::Citation(citation) => {
                self.tally.write_annotation(citation, false, &mut self.annotations.hold(), out);
            }
            Growth::Cache(mark) => {
                let words = self.flavour.cache_words(self.takes.as_deref());
                if let Some((item, part)) = self.text
                    && self.content.add_members(item, part, |json| words.write(mark, json))
                {
                    words.lose_rest(mark, PART_MARK, out);
                }
            }
        }
    }

    fn cut(&mut self, out: &mut WriterOutput<'_>) {
        // A whole message has no field for an interrupted item.
        out.lose(Field::ItemStatus, Reason::NoSlot);
    }

    fn close(&mut self, _: &mut WriterOutput<'_>) {
        if std::mem::take(&mut self.in_thinking_part) {
            self.content.more().close_string().end_object().end_array().end_object();
        }
        match self.flavour.state {
            _ if !self.is_answer() => _ = self.tally.close(),
            StatePlace::Details => {
                if let Some(text) = self.tally.close() {
                    self.tally.write_thought(&text, &mut self.details.hold());
                }
            }
            StatePlace::Opaque => self.tally.keep(None),
        }
        if std::mem::take(&mut self.in_call) {
            self.calls.hold().close_string().end_object().end_object();
        }
    }
}

impl ChatMessage {
    pub(super) fn new(flavour: &'static Flavour) -> Self {
        Self {
            flavour,
            takes: None,
            content: WireContent::default(),
            text: None,
            in_thinking_part: false,
            tally: MessageTally::default(),
            refusal: String::new(),
            reasoning: String::new(),
            details: JsonBuffer::default(),
            state: None,
            annotations: JsonBuffer::default(),
            calls: JsonBuffer::default(),
            in_call: false,
        }
    }

    /// Makes the message part of a request to a server with these capabilities.
    pub(super) fn obey(&mut self, takes: &ModelCapabilities) {
        self.takes = Some(takes.clone());
    }

    const fn is_answer(&self) -> bool {
        self.takes.is_none()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.refusal.is_empty()
            && self.reasoning.is_empty()
            && self.details.bytes().is_empty()
            && self.state.is_none()
            && self.calls.bytes().is_empty()
    }

    /// The name of the reasoning member, if the target has one.
    fn reasoning_name(&self) -> Option<&str> {
        match &self.takes {
            None => Some(self.flavour.reasoning),
            Some(takes) => takes.reasoning_names.first().map(AsRef::as_ref),
        }
    }

    fn open_thought(&mut self, out: &mut WriterOutput<'_>) {
        let name = self.reasoning_name();
        let keeps_place = self.is_answer() || name == Some(THINKING_PART);
        if name.is_some() && !keeps_place && self.tally.is_after_something() {
            out.ledger.note("thoughts between texts and calls put before them");
        }
        self.tally.open_thought();
    }

    fn think(&mut self, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        match self.reasoning_name() {
            Some(THINKING_PART) => {
                if !text.is_empty() && !std::mem::replace(&mut self.in_thinking_part, true) {
                    let head = r#"{"type":"thinking","thinking":[{"type":"text","text":"#;
                    self.content.part(out).up_to_value(head).open_string();
                }
                if self.in_thinking_part {
                    self.content.more().piece(text);
                }
            }
            Some(_) => {
                self.tally.think(text);
                self.reasoning.push_str(text.as_escaped());
            }
            None => out.lose_thought(text, Reason::NoSlot),
        }
    }

    fn opaque(&mut self, opaque: &Opaque<'_>, out: &mut WriterOutput<'_>) {
        match self.flavour.state {
            StatePlace::Details => {
                let reader = if self.is_answer() { DetailReader::Client } else { DetailReader::Server };
                self.tally.write_detail(opaque, reader, &mut self.details.hold());
            }
            StatePlace::Opaque if self.is_answer() => self.tally.keep(Some(opaque)),
            StatePlace::Opaque if self.state.is_none() => {
                if opaque.kind == OpaqueKind::Encrypted && self.tally.is_after_something() {
                    out.ledger.note("state put before what was said before it");
                }
                self.state = Some(opaque.value.clone().into_owned());
            }
            StatePlace::Opaque => out.lose_str(opaque.kind.field(), &opaque.value, Reason::Merged),
        }
    }

    /// Writes the message and resets the buffers.
    pub(super) fn write(&mut self, goes_on: bool, out: &mut WriterOutput<'_>) {
        self.content.end(out);
        let has_calls = !self.calls.bytes().is_empty();
        let mark = self.flavour.message_mark.filter(|mark| self.content.remove_member(mark));
        let json = &mut out.json;
        json.object().key("role").literal("assistant");
        match (self.content.is_empty(), self.is_answer(), !has_calls && self.refusal.is_empty()) {
            (false, _, _) => self.content.write(json.key("content")),
            // In a request, content may be `null` only beside calls or a refusal.
            (true, false, true) => _ = json.key("content").literal(""),
            (true, false, false) if self.flavour.omits_content => {}
            (true, _, _) => _ = json.key("content").null(),
        }
        if !self.refusal.is_empty() {
            json.key("refusal").literal(&self.refusal);
        }
        let needs_reasoning =
            has_calls && self.takes.as_ref().is_some_and(|takes| takes.reasoning_with_calls);
        if let Some(name) = self.reasoning_name().filter(|_| !self.reasoning.is_empty() || needs_reasoning)
            && name != THINKING_PART
        {
            json.key(name).literal(&self.reasoning);
            if self.reasoning.is_empty() {
                out.ledger.note("calls without thoughts got an empty one, which this server wants");
            }
        }
        let json = &mut out.json;
        json.opt_str("reasoning_opaque", self.state.take().or_else(|| self.tally.packed()).as_ref());
        let lists = [
            ("reasoning_details", &mut self.details),
            ("annotations", &mut self.annotations),
            ("tool_calls", &mut self.calls),
        ];
        for (name, list) in lists {
            if !list.bytes().is_empty() {
                json.key(name).array().values(list.bytes()).end_array();
            }
            list.clear();
        }
        if mark.is_some() {
            self.flavour.write_message_mark(json);
        }
        let prefill = self.takes.as_ref().and_then(|takes| takes.prefill_member.as_deref());
        if let Some(name) = prefill.filter(|_| goes_on) {
            json.key(name).bool(true);
        }
        json.end_object();
        self.refusal.clear();
        self.reasoning.clear();
        self.tally = MessageTally::default();
    }
}
