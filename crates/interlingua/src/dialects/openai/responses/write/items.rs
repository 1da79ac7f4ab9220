//! The assistant's items in sequence. Each item is collected and written when it is complete. A stream also contains
//! the pieces as they arrive, before the whole item.

use std::collections::HashSet;

use super::super::carried;
use super::open::{HeldPart, OpenKind, OpenOutput, PartKind};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str, escape_into};
use crate::ledger::{Reason, TextDigest, text_key};
use crate::model::{
    Args, Citation, Delta, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Opaque, Part, issuers,
};
use crate::pipe::WriterOutput;
use crate::wire::assistant::{AssistantForm, CallOpening, Growth, Opening};

/// Begins an event of a stream, up to its own members.
macro_rules! begin_event {
    ($items:expr, $name:literal, $out:expr) => {{
        let json = $out.json.begin_frame(concat!("event: ", $name, "\ndata: "));
        json.up_to_value(concat!("{\"type\":\"", $name, "\",\"sequence_number\":")).u64($items.next_number())
    }};
}
pub(super) use begin_event;

/// The target of the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A backend: items are written separately, with only the members that the backend needs.
    #[default]
    Request,
    /// A client that receives a whole response.
    Whole,
    /// A client that receives a stream.
    Stream,
}

/// The assistant's items.
#[derive(Default)]
pub(super) struct OutputItems {
    purpose: Purpose,
    /// The heads of messages without content so far.
    heads: Vec<MessageHead>,
    /// The head of the current reasoning or call: item, id, and whether it is reasoning.
    head: Option<(ItemId, Option<Str<'static>>, bool)>,
    /// The current piece.
    piece: Option<(ItemId, u32, bool)>,
    open: OpenOutput,
    /// The complete items of a response. Items of a request are written at once instead.
    pub(super) done: JsonBuffer,
    /// The number of complete items.
    count: u64,
    /// A digest of the response id, which makes item ids unique across responses.
    seed: u128,
    /// Hashes of the item ids in this response.
    ids: HashSet<u128>,
    /// The number of stream events so far.
    events: u64,
    /// Reasoning items of a request and their parts. They wait for the next item, because reasoning may not be last.
    waiting: JsonBuffer,
    waiting_parts: Vec<HeldPart>,
    /// The ids of a request's free-text calls.
    pub(super) free_calls: HashSet<String>,
    /// Whether the item list of a request is open.
    pub(super) listed: bool,
    /// Whether the current turn of a request has an item.
    said: bool,
    /// Whether thoughts are written as summaries. OpenAI shows and accepts only summaries of thoughts, beside their
    /// state, so text from a client in between is a summary too.
    pub(super) summarises: bool,
}

struct MessageHead {
    item: ItemId,
    id: Option<Str<'static>>,
    phase: Option<Str<'static>>,
}

impl OutputItems {
    pub(super) fn new(purpose: Purpose) -> Self {
        Self { purpose, ..Self::default() }
    }

    /// Starts a response with this id.
    pub(super) fn begin(&mut self, answer: &str) {
        self.seed = TextDigest::of(answer);
    }

    /// The sequence number of the next event.
    pub(super) const fn next_number(&mut self) -> u64 {
        self.events += 1;
        self.events - 1
    }

    fn streams(&self) -> bool {
        self.purpose == Purpose::Stream
    }

    /// Writes the id and output index of the open item into an event.
    fn place<'a, 'o>(&self, json: &'a mut JsonWriter<'o>) -> &'a mut JsonWriter<'o> {
        json.key("item_id").literal(&self.open.id).key("output_index").u64(self.count)
    }

    fn begin_item(&mut self, kind: OpenKind, source: Option<ItemId>, out: &mut WriterOutput<'_>) {
        self.end_item(OutputStatus::Completed, out);
        (self.open.kind, self.open.source) = (kind, source);
        let native = if kind == OpenKind::Message {
            let head = self.heads.iter().rposition(|head| Some(head.item) == source);
            let head = head.map(|at| self.heads.swap_remove(at));
            if let Some(phase) = head.as_ref().and_then(|head| head.phase.as_ref()) {
                self.open.members.hold().key("phase").str(phase);
            }
            head.and_then(|head| head.id)
        } else {
            self.head.take_if(|(item, ..)| Some(*item) == source).and_then(|(item, id, reasons)| {
                self.head = Some((item, None, reasons));
                id
            })
        };
        if self.purpose == Purpose::Request {
            return;
        }
        match native {
            Some(id) if self.ids.insert(text_key(id.as_escaped())) => {
                id.as_escaped().clone_into(&mut self.open.id);
            }
            other => {
                out.lose_some(Field::ItemId, other.as_ref(), Reason::Refused);
                self.open.id = self.made_id();
            }
        }
    }

    /// A new id for the open item, unique within the response.
    fn made_id(&self) -> String {
        format!("{}_{:032x}{:08x}", self.open.kind.prefix(), self.seed, self.count)
    }

    /// Writes the start event of the open item to a stream.
    fn announce(&mut self, out: &mut WriterOutput<'_>) {
        if self.streams() {
            let json = begin_event!(self, "response.output_item.added", out);
            json.key("output_index").u64(self.count).key("item");
            self.write_item("in_progress", json);
            json.end_object().end_frame("\n\n");
        }
    }

    fn begin_part(&mut self, kind: PartKind, number: u32, out: &mut WriterOutput<'_>) {
        self.end_part(out);
        self.open.part = Some((kind, number));
        if !self.streams() {
            return;
        }
        let json = match kind {
            PartKind::Summary => {
                let json = begin_event!(self, "response.reasoning_summary_part.added", out);
                self.place(json).key("summary_index").u64(self.open.part_count)
            }
            PartKind::Text | PartKind::Refusal | PartKind::Thought => {
                let json = begin_event!(self, "response.content_part.added", out);
                self.place(json).key("content_index").u64(self.index_of(kind))
            }
        };
        json.key("part");
        self.write_part(kind, json);
        json.end_object().end_frame("\n\n");
        let index = if kind == PartKind::Summary { "summary_index" } else { "content_index" };
        let mut head = std::mem::take(&mut self.open.piece_head);
        head.clear();
        self.place(&mut head.hold()).key(index).u64(self.index_of(kind)).key("delta").open_string();
        self.open.piece_head = head;
    }

    /// The index of the open part in its list.
    const fn index_of(&self, kind: PartKind) -> u64 {
        match kind {
            PartKind::Text | PartKind::Refusal | PartKind::Summary => self.open.part_count,
            PartKind::Thought => self.open.thought_count,
        }
    }

    /// Adds a piece to the open part.
    fn grow_part(&mut self, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        let Some((kind, _)) = self.open.part else { return };
        self.open.text.push_str(text.as_escaped());
        if !self.streams() || text.is_empty() {
            return;
        }
        let json = match kind {
            PartKind::Text => begin_event!(self, "response.output_text.delta", out),
            PartKind::Refusal => begin_event!(self, "response.refusal.delta", out),
            PartKind::Thought => begin_event!(self, "response.reasoning_text.delta", out),
            PartKind::Summary => begin_event!(self, "response.reasoning_summary_text.delta", out),
        };
        json.begin_raw();
        json.bytes(self.open.piece_head.bytes());
        json.piece(text).close_string();
        if kind == PartKind::Text {
            json.with_value(r#""logprobs":[]"#);
        }
        json.end_object().end_frame("\n\n");
    }

    fn end_part(&mut self, out: &mut WriterOutput<'_>) {
        let Some((kind, _)) = self.open.part else { return };
        if self.streams() {
            self.tell_end_of_part(kind, out);
        }
        let open = &mut self.open;
        if self.purpose == Purpose::Request && kind == PartKind::Text && open.part_count == 0 {
            std::mem::swap(&mut open.only_text, &mut open.text);
            open.has_only_text = true;
            return self.forget_part();
        }
        if std::mem::take(&mut open.has_only_text) {
            std::mem::swap(&mut open.only_text, &mut open.text);
            self.keep_part(PartKind::Text);
            std::mem::swap(&mut self.open.only_text, &mut self.open.text);
        }
        self.keep_part(kind);
        self.forget_part();
    }

    /// Adds the open part to the complete parts of its item.
    fn keep_part(&mut self, kind: PartKind) {
        let mut held = JsonBuffer::default();
        let list = if kind == PartKind::Thought { &mut self.open.thoughts } else { &mut self.open.parts };
        std::mem::swap(list, &mut held);
        self.write_part(kind, &mut held.hold());
        let list = if kind == PartKind::Thought { &mut self.open.thoughts } else { &mut self.open.parts };
        *list = held;
    }

    /// Closes the open part.
    fn forget_part(&mut self) {
        let open = &mut self.open;
        match open.part.take() {
            Some((PartKind::Thought, _)) => open.thought_count += 1,
            Some(_) => open.part_count += 1,
            None => {}
        }
        open.text.clear();
        open.notes.clear();
        (open.counted, open.note_count) = ((0, 0), 0);
    }

    fn tell_end_of_part(&mut self, kind: PartKind, out: &mut WriterOutput<'_>) {
        let (index, member, json) = match kind {
            PartKind::Text => ("content_index", "text", begin_event!(self, "response.output_text.done", out)),
            PartKind::Refusal => {
                ("content_index", "refusal", begin_event!(self, "response.refusal.done", out))
            }
            PartKind::Thought => {
                ("content_index", "text", begin_event!(self, "response.reasoning_text.done", out))
            }
            PartKind::Summary => {
                ("summary_index", "text", begin_event!(self, "response.reasoning_summary_text.done", out))
            }
        };
        self.place(json).key(index).u64(self.index_of(kind)).key(member).literal(&self.open.text);
        if kind == PartKind::Text {
            json.with_value(r#""logprobs":[]"#);
        }
        json.end_object().end_frame("\n\n");
        let json = match kind {
            PartKind::Summary => begin_event!(self, "response.reasoning_summary_part.done", out),
            PartKind::Text | PartKind::Refusal | PartKind::Thought => {
                begin_event!(self, "response.content_part.done", out)
            }
        };
        self.place(json).key(index).u64(self.index_of(kind)).key("part");
        self.write_part(kind, json);
        json.end_object().end_frame("\n\n");
    }

    /// Writes the open part with its text so far.
    fn write_part(&self, kind: PartKind, json: &mut JsonWriter<'_>) {
        let (head, member) = match kind {
            PartKind::Text => (r#"{"type":"output_text""#, "text"),
            PartKind::Refusal => (r#"{"type":"refusal""#, "refusal"),
            PartKind::Summary => (r#"{"type":"summary_text""#, "text"),
            PartKind::Thought => (r#"{"type":"reasoning_text""#, "text"),
        };
        json.with_value(head).key(member).literal(&self.open.text);
        if kind == PartKind::Text {
            json.key("annotations").array().values(self.open.notes.bytes()).end_array();
            if self.purpose != Purpose::Request {
                json.with_value(r#""logprobs":[]"#);
            }
        }
        json.end_object();
    }

    /// Ends the open item with this status, or as incomplete if the item was truncated.
    pub(super) fn end_item(&mut self, status: OutputStatus, out: &mut WriterOutput<'_>) {
        if self.open.kind == OpenKind::Nothing {
            return;
        }
        self.end_part(out);
        let is_call = matches!(self.open.kind, OpenKind::Function | OpenKind::FreeText);
        if is_call && self.streams() {
            self.tell_arguments(out);
        }
        let is_cut = self.open.is_cut || status == OutputStatus::Incomplete;
        let word = if is_cut { "incomplete" } else { "completed" };
        match self.purpose {
            Purpose::Request => self.send(word, out),
            Purpose::Whole | Purpose::Stream => {
                if self.streams() {
                    let json = begin_event!(self, "response.output_item.done", out);
                    json.key("output_index").u64(self.count).key("item");
                    self.write_item(word, json);
                    json.end_object().end_frame("\n\n");
                }
                let mut done = std::mem::take(&mut self.done);
                self.write_item(word, &mut done.hold());
                self.done = done;
            }
        }
        self.count += 1;
        self.open.clear();
    }

    fn tell_arguments(&mut self, out: &mut WriterOutput<'_>) {
        let (member, json) = match self.open.kind {
            OpenKind::FreeText => ("input", begin_event!(self, "response.custom_tool_call_input.done", out)),
            _ => ("arguments", begin_event!(self, "response.function_call_arguments.done", out)),
        };
        self.place(json).key(member).literal(&self.open.text).end_object().end_frame("\n\n");
    }

    /// Writes the open item with its content so far.
    fn write_item(&self, status: &str, json: &mut JsonWriter<'_>) {
        let open = &self.open;
        let is_sent = self.purpose == Purpose::Request;
        json.object();
        let needs_id = !is_sent
            || open.kind == OpenKind::Reasoning
            || open.kind == OpenKind::Message && !open.has_only_text;
        if needs_id && is_sent {
            json.key("id").literal(&self.made_id());
        } else if needs_id {
            json.key("id").literal(&open.id);
        }
        match open.kind {
            OpenKind::Nothing => {}
            OpenKind::Message => {
                json.with_value(r#""type":"message""#);
                if needs_id {
                    json.key("status").literal(status);
                }
                json.with_value(r#""role":"assistant""#);
                write_members(&open.members, json).key("content");
                if open.has_only_text {
                    json.literal(&open.only_text);
                } else {
                    json.array().values(open.parts.bytes()).end_array();
                }
            }
            OpenKind::Reasoning => {
                json.with_value(r#""type":"reasoning""#);
                json.key("summary").array().values(open.parts.bytes()).end_array();
                if !open.thoughts.bytes().is_empty() {
                    json.key("content").array().values(open.thoughts.bytes()).end_array();
                }
                if let Some(state) = &open.state {
                    json.key("encrypted_content").literal(state);
                }
            }
            OpenKind::Function => {
                json.with_value(r#""type":"function_call""#);
                if !is_sent {
                    json.key("status").literal(status);
                }
                write_members(&open.members, json).key("arguments").literal(&open.text);
            }
            OpenKind::FreeText => {
                json.with_value(r#""type":"custom_tool_call""#);
                if !is_sent {
                    json.key("status").literal(status);
                }
                write_members(&open.members, json).key("input").literal(&open.text);
            }
        }
        json.end_object();
    }
}

/// Writes buffered members, if any.
fn write_members<'a, 'o>(members: &JsonBuffer, json: &'a mut JsonWriter<'o>) -> &'a mut JsonWriter<'o> {
    if members.bytes().is_empty() { json } else { json.values(members.bytes()) }
}

/// The status of an ended item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputStatus {
    Completed,
    Incomplete,
}

/// Items of requests.
impl OutputItems {
    /// Opens the item list, once.
    pub(super) fn open_list(&mut self, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.listed, true) {
            out.json.key("input").array();
        }
    }

    /// Writes an item of a request. Reasoning waits for the next item: the API refuses reasoning without readable
    /// state, and reasoning at the end of a turn.
    fn send(&mut self, status: &str, out: &mut WriterOutput<'_>) {
        if self.open.kind == OpenKind::Reasoning {
            let held = std::mem::take(&mut self.open.held);
            if self.open.state.is_none() {
                return lose_parts(&held, out);
            }
            if self.open.summarised {
                out.ledger.note("thoughts written as summaries, which is all of them that the API takes");
            }
            let mut waiting = std::mem::take(&mut self.waiting);
            self.write_item(status, &mut waiting.hold());
            self.waiting = waiting;
            return self.waiting_parts.extend(held);
        }
        self.open_list(out);
        self.said = true;
        self.waiting_parts.clear();
        self.waiting.pour_members(&mut out.json);
        self.write_item(status, &mut out.json);
    }

    /// Ends the turn; returns whether the turn has an item.
    pub(super) fn end_turn(&mut self, out: &mut WriterOutput<'_>) -> bool {
        self.end_item(OutputStatus::Completed, out);
        if !self.waiting_parts.is_empty() {
            out.ledger.note("reasoning that nothing came of was left out");
            lose_parts(&std::mem::take(&mut self.waiting_parts), out);
        }
        self.waiting.clear();
        self.heads.clear();
        std::mem::take(&mut self.said)
    }
}

/// Books reasoning parts as lost. Parts of the current frame are borrowed, so that the ledger finds their original
/// bytes.
fn lose_parts(parts: &[HeldPart], out: &mut WriterOutput<'_>) {
    for HeldPart { part, read } in parts.iter().rev() {
        let Some(mut out) = out.at(*read) else {
            out.lose_part(ItemKindTag::Reasoning, part, Reason::Refused);
            continue;
        };
        let part = match part {
            Part::Text(text) => Part::Text(text.reborrow()),
            Part::Summary(text) => Part::Summary(text.reborrow()),
            Part::Opaque(Opaque { kind, issuer, value }) => {
                Part::Opaque(Opaque { kind: *kind, issuer: issuer.reborrow(), value: value.reborrow() })
            }
            other => other.clone(),
        };
        out.lose_part(ItemKindTag::Reasoning, &part, Reason::Refused);
    }
}

impl AssistantForm for OutputItems {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        self.purpose != Purpose::Request && citation.source.is_some()
    }

    fn message(&mut self, head: &ItemHead<'_>) {
        let own = |text: &Option<Str<'_>>| text.clone().map(Str::into_owned);
        let native_id = head.native_id.clone().filter(|_| self.purpose != Purpose::Request);
        if native_id.is_some() || head.phase.is_some() {
            let (item, id, phase) = (head.id, native_id.map(Str::into_owned), own(&head.phase));
            self.heads.push(MessageHead { item, id, phase });
        }
    }

    fn item(&mut self, head: &ItemHead<'_>) {
        let reasons = matches!(head.kind, ItemKind::Reasoning);
        let native_id = head.native_id.as_ref().filter(|_| self.purpose != Purpose::Request);
        self.head = Some((head.id, native_id.map(|id| id.clone().into_owned()), reasons));
    }

    fn piece(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        self.piece = Some((delta.item, delta.part, matches!(delta.value, Part::Summary(_))));
        let reasons = self.head.as_ref().is_some_and(|(item, _, reasons)| *item == delta.item && *reasons);
        if reasons && self.purpose == Purpose::Request {
            let part = delta.value.clone().into_owned();
            self.open.held.push(HeldPart { part, read: out.read_place() });
        }
    }

    fn parts_thoughts(&self) -> bool {
        true
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>) {
        match opening {
            Opening::Text(item, part) => {
                self.open_message(item, out);
                self.begin_part(PartKind::Text, part, out);
            }
            Opening::Thinking => self.open_reasoning(None, out),
            Opening::Encrypted(opaque) => {
                self.open_reasoning(Some(opaque), out);
                self.open.state = Some(carried(opaque));
            }
            Opening::Call(CallOpening { number: _, id, namespace, name, free_text }) => {
                let kind = if free_text { OpenKind::FreeText } else { OpenKind::Function };
                let source = self.head.as_ref().map(|(item, ..)| *item);
                self.begin_item(kind, source, out);
                self.open.members.hold().key("call_id").str(id).key("name").str(name);
                self.open.members.hold().opt_str("namespace", namespace);
                if free_text && self.purpose == Purpose::Request {
                    self.free_calls.insert(id.as_escaped().to_owned());
                }
                self.announce(out);
            }
        }
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        match growth {
            Growth::Text(text) => self.grow_part(text, out),
            Growth::Refusal(text) => {
                let (item, part, _) = self.piece.unwrap_or((ItemId(0), 0, false));
                let is_open =
                    self.open.source == Some(item) && self.open.part == Some((PartKind::Refusal, part));
                if !is_open {
                    self.open_message(item, out);
                    self.begin_part(PartKind::Refusal, part, out);
                }
                self.grow_part(text, out);
            }
            Growth::Thinking(text) => {
                let (_, part, is_summary) = self.piece.unwrap_or((ItemId(0), 0, false));
                let kind = if is_summary || self.summarises { PartKind::Summary } else { PartKind::Thought };
                self.open.summarised |= kind == PartKind::Summary && !is_summary;
                if self.open.part != Some((kind, part)) {
                    self.begin_part(kind, part, out);
                }
                self.grow_part(text, out);
            }
            Growth::Signature(opaque) => self.open.state = Some(carried(opaque)),
            Growth::Arguments(args) => {
                let from = self.open.text.len();
                match args {
                    Args::Text(text) => self.open.text.push_str(text.as_escaped()),
                    Args::Json(json) => escape_into(json.as_str(), &mut self.open.text),
                }
                if self.streams() {
                    let json = if self.open.kind == OpenKind::FreeText {
                        begin_event!(self, "response.custom_tool_call_input.delta", out)
                    } else {
                        begin_event!(self, "response.function_call_arguments.delta", out)
                    };
                    let text = self.open.text.get(from..).unwrap_or_default();
                    self.place(json).key("delta").literal(text).end_object().end_frame("\n\n");
                }
            }
            Growth::Citation(citation) => self.annotate(citation, out),
            // The assistant's items have no cache marks (see the profile).
            Growth::Cache(_) => {}
        }
    }

    fn cut(&mut self, _: &mut WriterOutput<'_>) {
        self.open.is_cut = true;
    }

    fn close(&mut self, out: &mut WriterOutput<'_>) {
        match self.open.kind {
            // Messages and reasoning stay open, because further parts may follow.
            OpenKind::Nothing | OpenKind::Message | OpenKind::Reasoning => self.end_part(out),
            OpenKind::Function | OpenKind::FreeText => self.end_item(OutputStatus::Completed, out),
        }
    }
}

impl OutputItems {
    fn open_message(&mut self, item: ItemId, out: &mut WriterOutput<'_>) {
        if self.open.kind != OpenKind::Message || self.open.source != Some(item) {
            self.begin_item(OpenKind::Message, Some(item), out);
            self.announce(out);
        }
    }

    /// Opens a reasoning item, unless the open item continues. A source that cannot hold a text and its encrypted form
    /// in one item has two items in sequence; these become one item again.
    fn open_reasoning(&mut self, state: Option<&Opaque<'_>>, out: &mut WriterOutput<'_>) {
        let source = self.piece.map(|(item, ..)| item);
        let is_open = self.open.kind == OpenKind::Reasoning && self.open.state.is_none();
        let is_same = self.open.source == source;
        let completes = state.is_some_and(|state| state.is_of(issuers::OPENAI));
        if is_open && (is_same || completes) {
            return;
        }
        let held = std::mem::take(&mut self.open.held);
        // The current piece was stored with the previous item.
        let (before, now) = held.split_at(held.len().saturating_sub(1));
        self.open.held = before.to_vec();
        let now = now.to_vec();
        self.begin_item(OpenKind::Reasoning, source, out);
        self.open.held = now;
        self.announce(out);
    }

    /// Writes an annotation of the open text. A citation of a whole text covers all its characters.
    fn annotate(&mut self, citation: &Citation<'_>, out: &mut WriterOutput<'_>) {
        let Citation { kind, title, source, from, to, .. } = citation;
        let other = kind.as_ref().filter(|kind| !kind.is("url_citation"));
        out.lose_some(Field::CitationKind, other, Reason::Narrowed);
        let open = &mut self.open;
        let (counted, characters) = open.counted;
        open.plain.clear();
        Str::escaped(open.text.get(counted..).unwrap_or_default()).decode_into(&mut open.plain);
        open.counted = (open.text.len(), characters + open.plain.chars().count() as u64);
        let last = open.counted.1.saturating_sub(1);
        let mut note = JsonBuffer::default();
        let mut json = note.hold();
        let place = |json: &mut JsonWriter<'_>, known: &Option<Raw<'_>>, otherwise| {
            match known {
                Some(known) => json.raw(known),
                None => json.u64(otherwise),
            };
        };
        json.up_to_value(r#"{"type":"url_citation","start_index":"#);
        place(&mut json, from, 0);
        json.key("end_index");
        place(&mut json, to, last);
        json.key("title").str(&title.clone().unwrap_or_default());
        json.key("url").str(&source.clone().unwrap_or_default()).end_object();
        open.notes.hold().values(note.bytes());
        if self.streams() {
            let json = begin_event!(self, "response.output_text.annotation.added", out);
            self.place(json).key("content_index").u64(self.open.part_count);
            json.key("annotation_index").u64(self.open.note_count).key("annotation").values(note.bytes());
            json.end_object().end_frame("\n\n");
        }
        self.open.note_count += 1;
    }
}
