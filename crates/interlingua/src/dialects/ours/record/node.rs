//! An entry or a child while it is written: head, content and end.
//!
//! Content is written as it arrives. A part that does not fit at the current position (a second part where one was
//! announced, or any part after a child) is a *later part*: a child without a head, with the number of the part that it
//! is or continues.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::arguments::{is_ambiguous, put_arguments};
use super::call_ids::SYNTHETIC;
use super::session::UNKNOWN;
use super::words::{self, SPEAKERS};
use crate::json::{JsonWriter, Raw, Str, is_rfc3339};
use crate::ledger::{Identity, text_key};
use crate::model::{
    Args, Author, CallKind, Delta, FileRef, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource,
    Neutral as _, Notice, Opaque, OpaqueKind, Part, Shape, Spelling, ToolCall, ToolResult, issuers,
};

/// An entry or a child, and the state of its content.
pub(super) struct EntryNode {
    pub(super) item: ItemId,
    pub(super) kind: NodeKind,
    /// The call id, for a call.
    call: Option<HeldCallId>,
    shape: Shape,
    content: ContentSoFar,
    /// Set once `children` is open.
    pub(super) children: bool,
    /// Set for a later part of the surrounding node, which is not an item of its own.
    pub(super) later: bool,
    /// Arguments that may arrive in pieces; only the joined text is a value.
    arguments: Option<(u32, String)>,
    /// Opaque state and the number of its part.
    opaque: Option<(u32, OpaqueKind, Str<'static>)>,
    /// Set while the state is empty: a stream sends empty state before the text.
    blank_opaque: bool,
    parts: Parts,
    /// The number a reader assigns to the next part, unless the part holds a number.
    next: u32,
    /// The number of the last part written.
    last: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    User,
    Assistant,
    /// A system or developer message: the schema has no entry type for it, so it is an event with content.
    Speaker(Author),
    ToolCall(CallKind),
    ToolResult,
    Reasoning,
    Event,
    /// A notice named after an author: with content it would be read as a message.
    Namesake,
}

impl NodeKind {
    fn of(head: &ItemHead<'_>) -> Self {
        match &head.kind {
            ItemKind::Message => match head.author {
                Author::User | Author::Tool => NodeKind::User,
                Author::Assistant => NodeKind::Assistant,
                Author::System | Author::Developer => NodeKind::Speaker(head.author),
            },
            ItemKind::Reasoning => NodeKind::Reasoning,
            ItemKind::ToolCall(call) => NodeKind::ToolCall(call.kind),
            ItemKind::ToolResult(_) => NodeKind::ToolResult,
            ItemKind::Notice(Notice { event_type }) => {
                let is_author = event_type.as_ref().is_some_and(|name| SPEAKERS.value(name).is_some());
                if is_author { NodeKind::Namesake } else { NodeKind::Event }
            }
        }
    }

    /// The kind of the call, for a call.
    pub(super) const fn call(self) -> Option<CallKind> {
        match self {
            NodeKind::ToolCall(kind) => Some(kind),
            _ => None,
        }
    }

    /// Whether the content is in `data`.
    const fn is_wrapped(self) -> bool {
        matches!(self, NodeKind::Speaker(_) | NodeKind::Event | NodeKind::Namesake)
    }

    /// Starts an object of this type. The schema requires a name for calls and events.
    fn begin(self, name: &str, json: &mut JsonWriter<'_>) {
        match self {
            NodeKind::User => json.with_value(r#"{"type":"user""#),
            NodeKind::Assistant => json.with_value(r#"{"type":"assistant""#),
            NodeKind::Reasoning => json.with_value(r#"{"type":"reasoning""#),
            NodeKind::ToolResult => json.with_value(r#"{"type":"tool-result""#),
            NodeKind::ToolCall(_) => json.up_to_value(r#"{"type":"tool-call","name":"#).literal(name),
            NodeKind::Event | NodeKind::Namesake => json.up_to_value(SYSTEM_EVENT).literal(name),
            NodeKind::Speaker(author) => {
                json.up_to_value(SYSTEM_EVENT).literal(SPEAKERS.word(author).unwrap_or(UNKNOWN))
            }
        };
    }
}

/// Marks a notice whose name equals an author or the placeholder for a missing name.
const NOTICE: &str = "notice";

const SYSTEM_EVENT: &str = r#"{"type":"system-event","event-type":"#;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ContentSoFar {
    None,
    /// An open string, to which this part is being added.
    Text(u32),
    /// An open list; the last element is an open text of this part, or complete.
    List(Option<(u32, &'static str)>),
    /// The content is complete, and the `encrypted` string is open.
    Opaque,
    /// The content is complete, and the `files` list is open.
    Files,
    /// Complete.
    Closed,
}

/// The source's numbers of an item's parts. A part's position here is the number a reader assigns.
#[derive(Default)]
pub(super) struct Parts {
    /// Most items have at most four parts, which need no allocation.
    first: [Option<u32>; 4],
    others: HashMap<u32, u32, BuildHasherDefault<Identity>>,
}

impl Parts {
    /// The number a reader assigns to the part.
    fn place(&mut self, part: u32) -> u32 {
        for (number, slot) in self.first.iter_mut().enumerate() {
            if *slot.get_or_insert(part) == part {
                return number as u32;
            }
        }
        let next = (self.others.len() + self.first.len()) as u32;
        *self.others.entry(part).or_insert(next)
    }
}

impl EntryNode {
    fn new(item: ItemId, kind: NodeKind, shape: Shape) -> Self {
        Self {
            item,
            kind,
            call: None,
            shape,
            content: ContentSoFar::None,
            children: false,
            later: false,
            arguments: None,
            opaque: None,
            blank_opaque: false,
            parts: Parts::default(),
            next: 0,
            last: None,
        }
    }

    /// Writes the head and leaves the object open. `now` is the source's clock, for a head without a time; `synthetic`
    /// is the synthetic id of a call or result without an id. Also returns whether a time was written.
    pub(super) fn open(
        head: &ItemHead<'_>,
        now: Option<&Raw<'_>>,
        synthetic: Option<&Str<'_>>,
        json: &mut JsonWriter<'_>,
    ) -> (Self, bool) {
        #[rustfmt::skip]
        let ItemHead {
            id, kind, author, origin, within: _, native_id, parent, replaces, agent, parent_call, time, model, answer, phase,
            subject, copied_from, shape,
        } = head;
        let node_kind = NodeKind::of(head);
        let mut called = None;
        match kind {
            ItemKind::Message => {
                node_kind.begin("", json);
                if *author == Author::Tool {
                    json.key("author").literal(author.word());
                }
            }
            ItemKind::Reasoning => node_kind.begin("", json),
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                node_kind.begin(name.as_escaped(), json);
                json.opt_str("namespace", namespace.as_ref()).opt_str("call-id", call_id.as_ref());
                match kind {
                    // The form of the input distinguishes these two kinds.
                    CallKind::Function | CallKind::FreeText => {}
                    CallKind::Vendor | CallKind::Server | CallKind::Mcp => {
                        json.key("call-kind").literal(kind.word());
                    }
                }
                called = call_id.as_ref().map(HeldCallId::new);
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                node_kind.begin("", json);
                json.opt_str("call-id", call_id.as_ref()).opt_str("name", name.as_ref());
            }
            ItemKind::Notice(Notice { event_type }) => {
                let event_type = event_type.as_ref().map(Str::as_escaped);
                node_kind.begin(event_type.unwrap_or(UNKNOWN), json);
                if event_type == Some(UNKNOWN) {
                    json.key(NOTICE).bool(true);
                }
            }
        }
        if let Some(id) = synthetic {
            json.key("call-id").str(id).key(SYNTHETIC).bool(true);
        }
        json.opt_str("id", native_id.as_ref());
        let has_time = time.as_ref().or(now).is_some_and(|time| put_time(time, json));
        json.opt_str("parent-id", parent.as_ref()).opt_str("model-id", model.as_ref());
        let has_more = origin.is_some() || replaces.is_some() || agent.is_some() || copied_from.is_some();
        if has_more || parent_call.is_some() || answer.is_some() || phase.is_some() || subject.is_some() {
            // Time and model have names of their own in the schema.
            head.circumstances().write_members(&["time", "model"], Spelling::Kebab, json);
        }
        (Self { call: called, ..Self::new(*id, node_kind, *shape) }, has_time)
    }

    /// Whether the node is the call with this id.
    pub(super) fn is_call(&self, id: &Str<'_>) -> bool {
        self.call.as_ref().is_some_and(|call| call.is(id))
    }

    /// Starts a later part of this node, as a child. The caller closes the child before any other output.
    pub(super) fn open_later(&mut self, delta: &Delta<'_>, json: &mut JsonWriter<'_>) -> Self {
        self.begin_children(json);
        let mut parts = std::mem::take(&mut self.parts);
        let number = parts.place(delta.part);
        let arguments = matches!(delta.value, Part::Args(_));
        let kind = match self.kind {
            // Only arguments are written as input.
            NodeKind::ToolCall(_) if !arguments => NodeKind::Assistant,
            kind => kind,
        };
        let again = Self::open_again(self.item, kind, json);
        json.key("part").u64(u64::from(number));
        Self { later: true, parts, next: number, ..again }
    }

    /// Moves the part numbers back to the node of this later part.
    pub(super) fn take_parts(&mut self) -> Parts {
        std::mem::take(&mut self.parts)
    }

    /// Restores the part numbers after a later part has ended.
    pub(super) fn give_parts(&mut self, parts: Parts) {
        self.parts = parts;
    }

    /// Assigns a number to the part. Returns the number if a reader would assign a different one.
    fn number(&mut self, part: u32) -> Option<u32> {
        let number = self.parts.place(part);
        self.last = Some(number);
        if number == self.next {
            self.next += 1;
            return None;
        }
        Some(number)
    }

    /// Assigns a number to a mark, which usually belongs to the last part. Returns the number if a reader would assign
    /// a different one.
    fn marked_number(&mut self, part: u32) -> Option<u32> {
        let number = self.parts.place(part);
        let usual = self.last.replace(number).unwrap_or(self.next);
        (number != usual).then_some(number)
    }

    /// Starts an object for a further part of an item whose head is elsewhere.
    pub(super) fn open_again(item: ItemId, kind: NodeKind, json: &mut JsonWriter<'_>) -> Self {
        let is_event = matches!(kind, NodeKind::Event | NodeKind::Namesake);
        kind.begin(if is_event { "part" } else { "" }, json);
        Self::new(item, kind, Shape::One)
    }

    /// Opens `children`, unless open.
    pub(super) fn begin_children(&mut self, json: &mut JsonWriter<'_>) {
        if !std::mem::replace(&mut self.children, true) {
            self.close(json);
            json.key("children").array();
        }
    }

    pub(super) fn end_children(&mut self, json: &mut JsonWriter<'_>) {
        if std::mem::take(&mut self.children) {
            json.end_array();
        }
    }

    const fn content_key(&self) -> &'static str {
        match self.kind {
            NodeKind::ToolCall(_) => "input",
            NodeKind::ToolResult => "output",
            NodeKind::User
            | NodeKind::Assistant
            | NodeKind::Speaker(_)
            | NodeKind::Reasoning
            | NodeKind::Event
            | NodeKind::Namesake => "content",
        }
    }

    /// Adds a part or a piece of a part. Returns `false` if the delta must become a later part.
    pub(super) fn add(&mut self, delta: &Delta<'_>, json: &mut JsonWriter<'_>) -> bool {
        if self.children {
            return false;
        }
        match (&delta.value, self.content) {
            (Part::Text(text), ContentSoFar::Text(part))
                if part == delta.part && !matches!(self.kind, NodeKind::ToolCall(_)) =>
            {
                json.piece(text);
            }
            (Part::Args(args), _) if matches!(self.kind, NodeKind::ToolCall(_)) => {
                return self.add_arguments(args, delta.part, json);
            }
            (Part::Opaque(opaque), _) => return self.add_opaque(opaque, delta.part, json),
            (Part::File(file), _) if self.kind == NodeKind::ToolResult && !self.later => {
                self.add_file(file, delta.part, json);
            }
            (_, _) if matches!(self.kind, NodeKind::ToolCall(_)) => return false,
            (Part::Text(text), ContentSoFar::None) if self.shape != Shape::List => {
                self.number(delta.part);
                self.begin(json);
                json.open_string().piece(text);
                self.content = ContentSoFar::Text(delta.part);
            }
            (Part::Json(value), ContentSoFar::None) if self.shape != Shape::List && !is_ambiguous(value) => {
                self.number(delta.part);
                self.begin(json);
                json.raw(value);
                self.end_wrapper(json);
                self.content = ContentSoFar::Closed;
            }
            (value, ContentSoFar::None | ContentSoFar::List(_)) => self.add_to_list(value, delta.part, json),
            (
                _,
                ContentSoFar::Text(_) | ContentSoFar::Opaque | ContentSoFar::Files | ContentSoFar::Closed,
            ) => return false,
        }
        true
    }

    fn add_to_list(&mut self, value: &Part<'_>, part: u32, json: &mut JsonWriter<'_>) {
        let sort = sort_of(value);
        let text = match value {
            Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => Some(text),
            _ => None,
        };
        match (self.content, text) {
            (ContentSoFar::List(Some(open)), Some(text)) if open == (part, sort) => {
                json.piece(text);
                return;
            }
            (ContentSoFar::List(Some(_)), _) => {
                json.close_string().end_object();
            }
            (ContentSoFar::List(None), _) => {}
            (
                ContentSoFar::None
                | ContentSoFar::Text(_)
                | ContentSoFar::Opaque
                | ContentSoFar::Files
                | ContentSoFar::Closed,
                _,
            ) => {
                self.begin(json);
                json.array();
            }
        }
        let number = match value {
            Part::Citation(_) | Part::Cache(_) => self.marked_number(part),
            _ => self.number(part),
        };
        json.object().key("type").literal(sort);
        if let Some(text) = text {
            // A further piece of a text that is not the last.
            json.opt_u64("part", number.map(u64::from)).key("text").open_string().piece(text);
            self.content = ContentSoFar::List(Some((part, sort)));
        } else {
            put_part(value, json);
            // A mark has the number of its part.
            json.opt_u64("part", number.map(u64::from)).end_object();
            self.content = ContentSoFar::List(None);
        }
    }

    /// A changed file is written beside the tool's output.
    fn add_file(&mut self, file: &FileRef<'_>, part: u32, json: &mut JsonWriter<'_>) {
        if self.content != ContentSoFar::Files {
            self.end_content(json);
            json.key("files").array();
            self.content = ContentSoFar::Files;
        }
        let number = self.number(part);
        json.object();
        file.write_members(&[], Spelling::Kebab, json);
        json.opt_u64("part", number.map(u64::from)).end_object();
    }

    /// Arguments are a single value. Text that should hold an object is gathered until complete.
    fn add_arguments(&mut self, args: &Args<'_>, part: u32, json: &mut JsonWriter<'_>) -> bool {
        let free_text = self.kind == NodeKind::ToolCall(CallKind::FreeText);
        match (args, self.content, &mut self.arguments) {
            (Args::Text(text), ContentSoFar::Text(open), _) if open == part => {
                json.piece(text);
            }
            (Args::Text(text), ContentSoFar::None, None) if free_text => {
                self.number(part);
                json.key("input").open_string().piece(text);
                self.content = ContentSoFar::Text(part);
            }
            (Args::Text(text), ContentSoFar::None | ContentSoFar::Opaque, Some((known, so_far)))
                if *known == part =>
            {
                so_far.push_str(text.as_escaped());
            }
            (Args::Text(text), ContentSoFar::None, None) => {
                self.number(part);
                self.arguments = Some((part, text.as_escaped().to_owned()));
            }
            (Args::Json(value), ContentSoFar::None, None) => {
                self.number(part);
                json.key("input").raw(value);
                // The value would be read as text or as absent.
                if value.as_str().starts_with(['"', 'n']) {
                    json.key("input-form").literal("json");
                }
                self.say_kind(false, json);
                self.content = ContentSoFar::Closed;
            }
            (Args::Text(_) | Args::Json(_), _, _) => return false,
        }
        true
    }

    /// The form of the input distinguishes a function from a free-text tool; writes the kind if the form would mislead.
    fn say_kind(&self, is_text: bool, json: &mut JsonWriter<'_>) {
        let misleading = match self.kind {
            NodeKind::ToolCall(CallKind::Function) => is_text,
            NodeKind::ToolCall(CallKind::FreeText) => !is_text,
            NodeKind::ToolCall(CallKind::Vendor | CallKind::Server | CallKind::Mcp)
            | NodeKind::User
            | NodeKind::Assistant
            | NodeKind::Speaker(_)
            | NodeKind::ToolResult
            | NodeKind::Reasoning
            | NodeKind::Event
            | NodeKind::Namesake => false,
        };
        if let NodeKind::ToolCall(kind) = self.kind
            && misleading
            && !self.later
        {
            json.key("call-kind").literal(kind.word());
        }
    }

    fn add_opaque(&mut self, opaque: &Opaque<'_>, part: u32, json: &mut JsonWriter<'_>) -> bool {
        let Opaque { kind, issuer, value } = opaque;
        let state = (part, *kind, held_issuer(issuer));
        if self.content == ContentSoFar::Opaque && self.opaque.as_ref() == Some(&state) {
            json.piece(value);
            return true;
        }
        if self.opaque.as_ref().is_some_and(|known| !self.blank_opaque || *known != state) {
            return false;
        }
        self.opaque = Some(state);
        self.blank_opaque = value.is_empty();
        if !self.blank_opaque {
            self.number(part);
            // Gathered arguments are written at the end.
            if self.arguments.is_none() {
                self.end_content(json);
            }
            self.open_opaque(value, json);
        }
        true
    }

    fn open_opaque(&mut self, value: &Str<'_>, json: &mut JsonWriter<'_>) {
        let Some((_, kind, issuer)) = &self.opaque else { return };
        json.key("issuer").str(issuer).key(kind.word()).open_string().piece(value);
        self.content = ContentSoFar::Opaque;
    }

    fn begin(&self, json: &mut JsonWriter<'_>) {
        if self.kind == NodeKind::Namesake {
            json.key(NOTICE).bool(true);
        }
        if self.kind.is_wrapped() {
            json.key("data").object();
        }
        json.key(self.content_key());
    }

    fn end_wrapper(&self, json: &mut JsonWriter<'_>) {
        if self.kind.is_wrapped() {
            json.end_object();
        }
    }

    /// Ends the node's own members.
    pub(super) fn close(&mut self, json: &mut JsonWriter<'_>) {
        self.end_content(json);
        if std::mem::take(&mut self.blank_opaque) {
            self.open_opaque(&Str::default(), json);
            self.end_content(json);
        }
    }

    /// Ends the content, with the members that the schema requires.
    fn end_content(&mut self, json: &mut JsonWriter<'_>) {
        match self.content {
            ContentSoFar::None => {
                self.end_without_content(json);
            }
            ContentSoFar::Text(_) => {
                json.close_string();
                self.end_wrapper(json);
            }
            ContentSoFar::Opaque => {
                json.close_string();
                if self.arguments.is_some() {
                    self.end_without_content(json);
                }
            }
            ContentSoFar::List(part) => {
                if part.is_some() {
                    json.close_string().end_object();
                }
                json.end_array();
                self.end_wrapper(json);
            }
            ContentSoFar::Files => {
                json.end_array();
            }
            ContentSoFar::Closed => return,
        }
        self.content = ContentSoFar::Closed;
    }

    fn end_without_content(&mut self, json: &mut JsonWriter<'_>) {
        match self.kind {
            NodeKind::ToolCall(_) => {
                json.key("input");
                let arguments = self.arguments.take();
                if arguments.is_none() {
                    json.null();
                }
                let is_text = arguments.is_some_and(|(_, text)| put_arguments(&Str::escaped(&text), json));
                self.say_kind(is_text, json);
            }
            NodeKind::ToolResult => {
                json.key("output").null();
            }
            NodeKind::Reasoning => {
                json.key("content").null();
            }
            // Without content the entry would be read as a notice.
            NodeKind::Speaker(_) if !self.later => {
                json.key("data").object().key("content").null().end_object();
            }
            NodeKind::User
            | NodeKind::Assistant
            | NodeKind::Speaker(_)
            | NodeKind::Event
            | NodeKind::Namesake => {}
        }
    }
}

/// A copy of an issuer; known issuers are static and need no allocation.
fn held_issuer(issuer: &Str<'_>) -> Str<'static> {
    let known = [issuers::ANTHROPIC, issuers::OPENAI, issuers::GOOGLE, issuers::XAI];
    match known.into_iter().find(|known| *known == issuer.as_escaped()) {
        Some(known) => Str::escaped(known),
        None => issuer.clone().into_owned(),
    }
}

/// A call id, held without an allocation.
enum HeldCallId {
    /// The bytes and their number.
    Text([u8; 47], u8),
    /// The key of a longer id.
    Key(u128),
}

impl HeldCallId {
    #[inline]
    fn new(id: &Str<'_>) -> Self {
        let id = id.as_escaped();
        let mut bytes = [0; 47];
        match bytes.get_mut(..id.len()) {
            Some(held) => {
                held.copy_from_slice(id.as_bytes());
                // The length is at most 47.
                HeldCallId::Text(bytes, id.len() as u8)
            }
            None => HeldCallId::Key(text_key(id)),
        }
    }

    fn is(&self, id: &Str<'_>) -> bool {
        let id = id.as_escaped();
        match self {
            HeldCallId::Text(bytes, length) => bytes.get(..usize::from(*length)) == Some(id.as_bytes()),
            HeldCallId::Key(key) => *key == text_key(id),
        }
    }
}

/// Writes the end of the item.
pub(super) fn put_tail(tail: &ItemTail<'_>, json: &mut JsonWriter<'_>) {
    // In the schema, `status` is the agent's own word.
    let ItemTail { id: _, status, native_status, is_error, exit_code, duration } = tail;
    json.opt_str("status", native_status.as_ref()).opt_bool("is-error", *is_error);
    if words::usual_status(native_status.as_ref(), *is_error) != *status {
        json.key("outcome").literal(status.word());
    }
    if exit_code.is_some() || duration.is_some() {
        tail.write_members(&["status", "native_status", "is_error"], Spelling::Kebab, json);
    }
}

/// Whether the value is a time under the schema.
pub(super) fn is_time(time: &Raw<'_>) -> bool {
    let text = time.as_str();
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(inside) => is_rfc3339(inside.as_bytes()),
        None => text.parse::<u64>().is_ok(),
    }
}

/// Writes the time; a value that is not a time under the schema gets another name. Returns whether it is a time.
pub(super) fn put_time(time: &Raw<'_>, json: &mut JsonWriter<'_>) -> bool {
    let is_time = is_time(time);
    json.key(if is_time { "timestamp" } else { "native-time" }).raw(time);
    is_time
}

/// The `type` of a part in a content list.
const fn sort_of(part: &Part<'_>) -> &'static str {
    match part {
        Part::Text(_) => "text",
        Part::Summary(_) => "summary",
        Part::Refusal(_) => "refusal",
        Part::Media(_) => "media",
        Part::Json(_) => "json",
        Part::Args(_) => "arguments",
        Part::File(_) => "file",
        Part::Citation(_) => "citation",
        Part::Cache(_) => "cache",
        Part::Opaque(_) => "opaque",
    }
}

/// Writes one element of a content list, after its `type`.
fn put_part(value: &Part<'_>, json: &mut JsonWriter<'_>) {
    let kebab = Spelling::Kebab;
    match value {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) | Part::Args(Args::Text(text)) => {
            json.key("text").str(text);
        }
        Part::Json(value) | Part::Args(Args::Json(value)) => {
            json.key("json").raw(value);
        }
        Part::Media(Media { media_type, source, name, context, citable, detail }) => {
            json.opt_str("media-type", media_type.as_ref()).opt_str("name", name.as_ref());
            let place = match source {
                MediaSource::Base64(_) => "data",
                MediaSource::Url(_) => "url",
                MediaSource::File(_) => "file",
                MediaSource::Text(_) => "text",
            };
            json.key(place).str(source.text());
            json.opt_str("context", context.as_ref()).opt_bool("citable", *citable);
            json.opt_str("detail", detail.as_ref());
        }
        Part::Cache(mark) => mark.write(kebab, json.key("cache")),
        Part::File(file) => file.write_members(&[], kebab, json),
        Part::Citation(citation) => citation.write(kebab, json.key("citation")),
        // Opaque state is written beside the content; see `EntryNode::add_opaque`.
        Part::Opaque(Opaque { kind, issuer, value }) => {
            json.key("issuer").str(issuer).key(kind.word()).str(value);
        }
    }
}
