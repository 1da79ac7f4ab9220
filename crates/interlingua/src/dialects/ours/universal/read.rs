//! Universal events to events. Events that the writer adds itself (the start and end of the session, missing decisions,
//! calls made up for results) are not read: a writer adds them again where needed. Numbers and ids of events are not
//! read either. Values that the end of an item repeats are claimed if equal and left unclaimed otherwise.

use std::collections::{BTreeMap, HashMap};

use super::data::{read_failure, read_permission, read_question, read_turn};
use super::hidden::HiddenMessages;
use super::read_parts::{read_marks, read_part, read_reasoning, repeat_part};
use super::unreadable::unparsed;
use super::{COMPACTED, EPOCH, MODEL, REQUEST, REWOUND, SESSION_UPDATED, USAGE, inside, note_if};
use crate::error::Code;
use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Circumstances, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail,
    Neutral, Notice, Part, Session, SessionEnd, Shape, Spelling, Status, ToolCall, ToolResult,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::Val;

#[derive(Default)]
pub(super) struct UniversalReader {
    time: String,
    /// The session's native id, as JSON.
    session: String,
    /// Open items, by their universal id.
    open: HashMap<String, ReadItem>,
    /// The native ids of items, by universal id.
    natives: Remembered<Str<'static>>,
    hidden: HiddenMessages,
}

/// An open item.
pub(super) struct ReadItem {
    pub(super) id: ItemId,
    pub(super) of: ItemKindTag,
    /// The surrounding message that was not shown.
    around: Option<Around>,
    /// The members of the item's start, and of the first part of its content.
    began: Vec<ClaimedMember>,
    began_part: Vec<ClaimedMember>,
    /// Text of the deltas for each part, escaped.
    pub(super) said: BTreeMap<u64, String>,
    /// Reasoning within this message, by part.
    reasoning: BTreeMap<u64, ItemId>,
    /// Text of deltas without the number of a part, escaped.
    untyped: String,
    /// The members of parts that an event before the end held whole, by part.
    placed: BTreeMap<u64, Vec<ClaimedMember>>,
}

/// A message around an item that is not shown.
enum Around {
    /// A message without an id, for this item alone.
    Alone(ItemId),
    /// A message with this id, which may have further items.
    Shared(String),
}

/// A claimed member: name, JSON text and field.
struct ClaimedMember {
    name: String,
    json: String,
    field: Field,
}

impl Reader for UniversalReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let event = doc.root;
        let (Some(kind), Some(data)) = (event.get("type").and_then(|kind| kind.str()), event.get("data"))
        else {
            return out.problem(Code::UnknownShape, None, "no `type` or no `data`");
        };
        event.note_str("type", Field::Structure);
        let by_us = event.get("synthetic").and_then(|by_us| by_us.bool()) == Some(true);
        // Types of events that a writer may have added; a writer adds them again where needed.
        let may_be_added = matches!(
            kind.as_escaped(),
            "session.ended"
                | "turn.started"
                | "turn.ended"
                | "permission.requested"
                | "permission.resolved"
                | "question.requested"
                | "question.resolved"
        );
        self.tick(event, out);
        if may_be_added {
            event.take_bool("synthetic", Field::Structure);
        }
        match kind.as_escaped() {
            _ if may_be_added && by_us => {}
            "session.started" => {
                let mut session: Session<'_> = data.get("metadata").and_then(read).unwrap_or_default();
                if session.id.is_none() {
                    session.id = event.note_str("native_session_id", Field::SessionId);
                }
                self.known_as(session.id.as_ref());
                out.event(&Event::SessionStarted(session));
            }
            "session.ended" => {
                self.hidden.end_all(out);
                session_ended(data, out);
            }
            "turn.started" => out.event(&Event::TurnStarted(read_turn(data))),
            "turn.ended" => out.event(&Event::TurnEnded(read_turn(data))),
            "item.started" => self.item(event, data, false, by_us, out),
            "item.completed" => self.item(event, data, true, by_us, out),
            "item.delta" => self.delta(data, by_us, out),
            "permission.requested" => out.event(&Event::PermissionRequested(read_permission(data))),
            "permission.resolved" => out.event(&Event::PermissionResolved(read_permission(data))),
            "question.requested" => out.event(&Event::QuestionRequested(read_question(data))),
            "question.resolved" => out.event(&Event::QuestionResolved(read_question(data))),
            "error" => out.event(&Event::Error(read_failure(data))),
            "agent.unparsed" => unparsed(data, out),
            _ => {
                let event_type = event.note_str("type", Field::NoticeType);
                let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
                let item = out.start(head);
                out.complete(item);
            }
        }
        self.repeat_session(event);
        match event.get("raw") {
            Some(raw) if raw.is_null() => drop(raw.note(Field::Structure)),
            Some(raw) => out.kept_line(super::DIALECT.name, raw, ("", "")),
            None => {}
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.hidden.end_all(out);
    }
}

impl UniversalReader {
    /// Emits a new time as an event of its own: most events have no field for a time.
    fn tick(&mut self, event: Val<'_>, out: &mut EventSink<'_>) {
        let Some(time) = event.get("time").filter(Val::is_time) else { return };
        if time.is(EPOCH) {
            // The placeholder for an unknown time.
            time.note(Field::Structure);
            return;
        }
        let text = time.note(Field::EventTime);
        if text.as_str() != self.time {
            text.as_str().clone_into(&mut self.time);
            out.event(&Event::Clock(text));
        }
    }

    fn known_as(&mut self, id: Option<&Str<'_>>) {
        if let Some(id) = id {
            self.session.clear();
            self.session.push_str(id.as_escaped());
        }
    }

    /// Notes the session's native id, which each event repeats.
    fn repeat_session(&self, event: Val<'_>) {
        let Some(id) = event.get("native_session_id") else { return };
        if id.is_null() && self.session.is_empty() {
            id.note(Field::Structure);
        } else if id.str().is_some_and(|id| id.as_escaped() == self.session) {
            id.note(Field::SessionId);
        }
    }

    fn item(&mut self, event: Val<'_>, data: Val<'_>, done: bool, by_us: bool, out: &mut EventSink<'_>) {
        let Some(item) = data.get("item") else { return };
        let Some(item_id) = item.get("item_id").and_then(|id| id.str()) else { return };
        let content = item.get("content");
        // An item with a native id comes from the agent, whatever its label.
        let has_id = item.get("native_item_id").is_some_and(|id| !id.is_null());
        if !has_id && is_status_of_ours(content, done) {
            if done {
                self.status(item, content, out);
            }
            return;
        }
        let failed = item.str_or_empty("status") == "failed";
        // For a failed item the flag only shows who detected the failure, which not every target records.
        if !failed {
            event.take_bool("synthetic", Field::Structure);
        }
        if by_us && !failed {
            // A call made up for a result; a writer makes it up again.
            let native = item.get("native_item_id").and_then(|native| native.str());
            return self.remember(&item_id, native.as_ref());
        }
        item.note_str("item_id", Field::Structure);
        if let Some(message) = item.get("parent_id").and_then(|id| self.open.get_mut(id.str()?.as_escaped()))
        {
            message.place_preceding(data, out);
        }
        if !self.open.contains_key(item_id.as_escaped()) {
            self.start(item, &item_id, content, out);
        }
        let open = if done { self.open.remove(item_id.as_escaped()) } else { None };
        let Some(mut open) = open else {
            inside(item, "content");
            return note_if(item, "status", "in_progress");
        };
        let status = match (failed, by_us) {
            (false, _) => Status::Completed,
            (true, false) => Status::Failed,
            (true, true) => Status::Interrupted,
        };
        self.hidden.end_within(open.id, out);
        complete(&mut open, item, content, status, out);
        match &open.around {
            Some(Around::Alone(message)) => out.complete(*message),
            Some(Around::Shared(native)) => self.hidden.item_ended(native, out),
            None => {}
        }
    }

    /// Reads a status item that stands for an event without a type in the schema.
    fn status(&mut self, item: Val<'_>, content: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let mut parts = content.into_iter().flat_map(|content| content.elements());
        let (Some(label), Some(part)) = (parts.next(), parts.next()) else { return };
        let Some(value) = part.get("json") else { return };
        let event = match label.str_or_empty("label") {
            SESSION_UPDATED => read(value).map(Event::SessionUpdated),
            USAGE => read(value).map(Event::Usage),
            REWOUND => read(value).map(Event::Rewound),
            COMPACTED => read(value).map(Event::Compacted),
            MODEL => read(value).map(Event::Model),
            _ => read(value).map(|request| Event::Request(Box::new(request))),
        };
        let Some(event) = event else { return };
        if let Event::SessionUpdated(session) = &event {
            self.known_as(session.id.as_ref());
        }
        out.event(&event);
        label.note_str("label", Field::Structure);
        note_if(label, "type", "status");
        note_if(part, "type", "json");
        note_if(item, "kind", "status");
        note_if(item, "role", "system");
        note_if(item, "status", "completed");
        for name in ["native_item_id", "parent_id"] {
            item.get(name).filter(Val::is_null).map(|val| val.note(Field::Structure));
        }
    }

    fn start(&mut self, item: Val<'_>, item_id: &Str<'_>, content: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let first = content.and_then(|content| content.elements().next());
        // Claim the members in source order: a writer that drops a flag searches backwards from the last claim.
        let native = item.get("native_item_id").and_then(|native| native.str());
        // By default, a call's native id is its call id.
        let call_id = first
            .filter(|_| item.str_or_empty("kind") == "tool_call")
            .and_then(|call| call.get("call_id")?.str());
        let is_call_id = native.is_some() && native == call_id;
        text(item, "native_item_id", if is_call_id { Field::CallId } else { Field::ItemId });
        let (within, mut parent) = self.parent(item);
        let (of, author) = match item.str_or_empty("kind") {
            "tool_call" => (ItemKindTag::Call, Author::Assistant),
            "tool_result" => (ItemKindTag::Result, Author::Tool),
            "message" | "system" => (ItemKindTag::Message, author_of(item)),
            _ => (ItemKindTag::Notice, Author::System),
        };
        let label = first.and_then(|first| first.get("label")?.str());
        // Without a label, an unknown kind names the notice.
        let known = of != ItemKindTag::Notice || item.str_or_empty("kind") == "status";
        let kind = match (known, &label) {
            (true, _) => text(item, "kind", Field::Structure).filter(|_| false),
            (false, None) => text(item, "kind", Field::NoticeType),
            (false, Some(_)) => None,
        };
        take_role(item, of);
        let item_kind = item_kind(of, first, kind);
        if author == Author::Developer {
            text(item, "author", Field::ItemAuthor);
        }
        text(item, "native_parent_id", Field::ItemParent);
        let message = text(item, "native_message_id", Field::ItemId);
        let mut circumstances = Circumstances::read_members(item, &[], Spelling::Snake);
        self.remember(item_id, native.as_ref().or(message.as_ref()));
        let beside = item.get("message").filter(|message| message.members().next().is_some());
        let around = (message.is_some() || beside.is_some()).then(|| {
            let usual = if of == ItemKindTag::Result { Author::User } else { Author::Assistant };
            let mut head = out.head(ItemKind::Message, usual);
            head.native_id = message;
            head.within = within;
            // The values of the surrounding message are in the item's `message` member.
            let role = beside.filter(|beside| beside.get("role").is_some());
            if let Some(beside) = role {
                head.author = author_of(beside);
                take_role(beside, ItemKindTag::Message);
                if head.author == Author::Developer {
                    text(beside, "author", Field::ItemAuthor);
                }
            }
            head.parent = beside.and_then(|beside| text(beside, "parent", Field::ItemParent));
            head.parent = head.parent.take().or_else(|| parent.take());
            let own = beside.map(|beside| Circumstances::read_members(beside, &[], Spelling::Snake));
            let usual_author = head.author == usual;
            match own.unwrap_or_default() {
                // A default author is written only to mark that the circumstances belong to the item itself.
                none if none == Circumstances::default() && !(role.is_some() && usual_author) => {
                    head.with(std::mem::take(&mut circumstances))
                }
                own => head.with(own),
            }
        });
        if of != ItemKindTag::Notice || around.is_some() {
            let (id, agent) = match &around {
                Some(head) => (head.native_id.as_ref(), head.circumstances()),
                // A message of another author shows its content only at its end, so it cannot continue a hidden message.
                None if of == ItemKindTag::Message && author == Author::Assistant => {
                    (native.as_ref(), circumstances.clone())
                }
                None => (None, circumstances.clone()),
            };
            self.hidden.begin_other(id.map(Str::as_escaped), &agent, out);
        }
        let around = around.map(|head| self.start_around(head, out));
        let mut began = claimed_in(item);
        if let Some(beside) = beside {
            let (name, json) = ("message".to_owned(), beside.text().to_owned());
            began.push(ClaimedMember { name, json, field: Field::Structure });
        }
        let mut head = out.head(item_kind, author).with(circumstances);
        head.within = around.as_ref().map(|(id, _)| *id).or(within);
        head.native_id = native.filter(|_| !is_call_id);
        head.parent = parent;
        if of == ItemKindTag::Message {
            // A message without content of its own has no event.
            head.shape = Shape::Announced;
        }
        // The items before the first content of a message have begun the message.
        let is_answer = of == ItemKindTag::Message && author == Author::Assistant;
        let shown = if is_answer { self.hidden.show(&head) } else { None };
        let id = shown.unwrap_or_else(|| out.start(head));
        let around = around.map(|(_, around)| around);
        let began_part = first.map(claimed_in).unwrap_or_default();
        let (said, reasoning, placed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let untyped = String::new();
        let open = ReadItem { id, of, around, began, began_part, said, reasoning, untyped, placed };
        self.open.insert(item_id.as_escaped().to_owned(), open);
    }

    /// Starts a message that is not shown, or joins the open one.
    fn start_around(&mut self, head: ItemHead<'_>, out: &mut EventSink<'_>) -> (ItemId, Around) {
        let Some(native) = head.native_id.as_ref().map(|native| native.as_escaped().to_owned()) else {
            let id = out.start(head);
            return (id, Around::Alone(id));
        };
        if let Some(id) = self.hidden.join(&head) {
            return (id, Around::Shared(native));
        }
        let kept = head.clone().into_owned();
        let id = out.start(head);
        self.hidden.begin(&ItemHead { id, ..kept });
        (id, Around::Shared(native))
    }

    /// The open message or notice around an item, or the native id of its parent item.
    fn parent<'t>(&self, item: Val<'t>) -> (Option<ItemId>, Option<Str<'t>>) {
        let native = item.get("native_parent_id").and_then(|parent| parent.str());
        let Some(parent) = item.get("parent_id").and_then(|parent| parent.str()) else {
            text(item, "parent_id", Field::Structure);
            return (None, native);
        };
        let holds_items = |open: &&ReadItem| matches!(open.of, ItemKindTag::Message | ItemKindTag::Notice);
        if let Some(open) = self.open.get(parent.as_escaped()).filter(holds_items) {
            text(item, "parent_id", Field::Structure);
            return (Some(open.id), native);
        }
        let known = self.natives.get(parent.as_escaped()).cloned();
        let call = item.get("parent_call").and_then(|call| call.str());
        if known.is_some() && call == known {
            // The parent is the call that started the subagent, which `parent_call` holds as well.
            text(item, "parent_id", Field::Structure);
            return (None, native);
        }
        if known.is_some() && native.is_none() {
            text(item, "parent_id", Field::ItemParent);
        }
        (None, native.or(known))
    }

    fn remember(&mut self, item_id: &Str<'_>, native: Option<&Str<'_>>) {
        if let Some(native) = native {
            self.natives.insert(item_id.as_escaped(), native.clone().into_owned());
        }
    }

    fn delta(&mut self, data: Val<'_>, by_us: bool, out: &mut EventSink<'_>) {
        let item_id = data.get("item_id").and_then(|id| id.str()).unwrap_or_default();
        let Some(open) = self.open.get_mut(item_id.as_escaped()) else {
            return out.problem(
                Code::Lifecycle,
                Some("/data/item_id".to_owned()),
                "delta for an item that is not open",
            );
        };
        let Some(text) = data.get("delta").and_then(|delta| delta.str()) else { return };
        data.note_str("item_id", Field::Structure);
        repeat(data, "native_item_id", &open.began);
        let number = data.note_u64("part", Field::Structure).unwrap_or(0);
        let part = number as u32;
        open.place_preceding(data, out);
        if data.get("part").is_none() && data.get("content_type").is_none() {
            return open.grow_untyped(data, text, by_us, out);
        }
        open.said.entry(number).or_default().push_str(text.as_escaped());
        let content_type = data.str_or_empty("content_type");
        if matches!(content_type, "text" | "reasoning" | "arguments") {
            data.note_str("content_type", Field::Structure);
        }
        let (id, part, field, value) = match content_type {
            "reasoning" if flag(data, "summary", Field::ReasoningSummary) => {
                (open.reasoning(number, out), 0, Field::ReasoningSummary, Part::Summary(text))
            }
            "reasoning" => (open.reasoning(number, out), 0, Field::ReasoningText, Part::Text(text)),
            "arguments" => (open.id, part, Field::CallArgs, Part::Args(Args::Text(text))),
            _ if flag(data, "refusal", Field::Refusal) => {
                (open.id, part, Field::Refusal, Part::Refusal(text))
            }
            _ => (open.id, part, open.of.text(), Part::Text(text)),
        };
        data.take_str("delta", field);
        if by_us {
            out.delta(id, part, value);
        } else {
            out.piece(id, part, value);
        }
    }
}

/// Whether the content belongs to a status item that stands for another event. An item with only a label may be such a
/// status item at its start; at its end a label alone makes a notice.
fn is_status_of_ours(content: Option<Val<'_>>, done: bool) -> bool {
    let mut parts = content.into_iter().flat_map(|content| content.elements());
    let label = parts.next().map_or("", |part| part.str_or_empty("label"));
    let has_value = parts.next().is_some_and(|part| part.get("json").is_some());
    matches!(label, SESSION_UPDATED | USAGE | REQUEST | REWOUND | COMPACTED | MODEL) && (has_value || !done)
}

/// The kind of item; the first content part holds the details.
fn item_kind<'t>(of: ItemKindTag, first: Option<Val<'t>>, kind: Option<Str<'t>>) -> ItemKind<'t> {
    let part_text = |name, field| first.and_then(|part| text(part, name, field));
    let item_kind = match of {
        ItemKindTag::Call => ItemKind::ToolCall(ToolCall {
            name: part_text("name", Field::CallName).unwrap_or_default(),
            call_id: part_text("call_id", Field::CallId),
            namespace: part_text("namespace", Field::CallNamespace),
            kind: first
                .and_then(|part| CallKind::read(part.get("call_kind")?, Field::CallKind, Spelling::Snake))
                .unwrap_or(CallKind::Function),
        }),
        ItemKindTag::Result => ItemKind::ToolResult(ToolResult {
            call_id: part_text("call_id", Field::ResultCallId),
            name: part_text("name", Field::ResultName),
        }),
        ItemKindTag::Message | ItemKindTag::Reasoning => ItemKind::Message,
        ItemKindTag::Notice => {
            ItemKind::Notice(Notice { event_type: part_text("label", Field::NoticeType).or(kind) })
        }
    };
    if let Some(first) = first {
        for word in ["tool_call", "tool_result", "status"] {
            note_if(first, "type", word);
        }
        for name in ["arguments", "output"] {
            note_if(first, name, "");
        }
    }
    item_kind
}

fn read<'t, T: Neutral<'t>>(value: Val<'t>) -> Option<T> {
    T::read(value, Field::Structure, Spelling::Snake)
}

/// Takes a text member; `null` is structure.
fn text<'t>(object: Val<'t>, name: &str, field: Field) -> Option<Str<'t>> {
    let val = object.get(name)?;
    if val.is_null() {
        val.take(Field::Structure);
    }
    val.take_text(field)
}

/// Takes the role: the author of a message, or structure for any other item.
fn take_role(object: Val<'_>, of: ItemKindTag) {
    let (words, field): (&[&str], Field) = match of {
        ItemKindTag::Call => (&["assistant"], Field::Structure),
        ItemKindTag::Result => (&["tool"], Field::Structure),
        ItemKindTag::Notice => (&["system"], Field::Structure),
        ItemKindTag::Message | ItemKindTag::Reasoning => {
            (&["user", "assistant", "system", "tool"], Field::ItemAuthor)
        }
    };
    if words.contains(&object.str_or_empty("role")) {
        text(object, "role", field);
    }
}

/// The claimed members, which the end of the item repeats.
fn claimed_in(object: Val<'_>) -> Vec<ClaimedMember> {
    let members = object.members().filter_map(|(name, val)| {
        let field = val.claimed().field()?;
        Some(ClaimedMember { name: name.as_escaped().to_owned(), json: val.text().to_owned(), field })
    });
    members.collect()
}

/// The author of a message.
fn author_of(item: Val<'_>) -> Author {
    match item.str_or_empty("role") {
        "user" => Author::User,
        "tool" => Author::Tool,
        "system" if item.str_or_empty("author") == "developer" => Author::Developer,
        "system" => Author::System,
        _ => Author::Assistant,
    }
}

/// Notes a member that repeats the start of the item.
fn repeat(object: Val<'_>, name: &str, began: &[ClaimedMember]) {
    let Some(val) = object.get(name) else { return };
    if let Some(known) = began.iter().find(|known| known.name == name && known.json == val.text()) {
        val.note(known.field);
    }
}

/// Whether the flag is set. An unset flag is left unclaimed.
pub(super) fn flag(object: Val<'_>, name: &str, field: Field) -> bool {
    let set = object.get(name).and_then(|flag| flag.bool()) == Some(true);
    if set {
        object.take_bool(name, field);
    }
    set
}

impl ReadItem {
    /// The reasoning item for this part of the message.
    pub(super) fn reasoning(&mut self, part: u64, out: &mut EventSink<'_>) -> ItemId {
        if let Some(id) = self.reasoning.get(&part) {
            return *id;
        }
        let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
        head.within = Some(self.id);
        let id = out.start(head);
        self.reasoning.insert(part, id);
        id
    }

    /// Reads a delta without the number and the type of its part, as the public schema has it: a piece of the text. The completed item
    /// holds the text of a synthetic delta.
    fn grow_untyped(&mut self, data: Val<'_>, text: Str<'_>, by_us: bool, out: &mut EventSink<'_>) {
        if by_us {
            data.note_str("delta", self.of.text());
            return;
        }
        data.take_str("delta", self.of.text());
        self.untyped.push_str(text.as_escaped());
        out.piece(self.id, 0, Part::Text(text));
    }

    /// Assigns the text of deltas without a number to the parts of the completed item, in order.
    fn assign_untyped(&mut self, content: Option<Val<'_>>) {
        let mut rest = self.untyped.as_str();
        for (index, part) in content.into_iter().flat_map(|content| content.elements()).enumerate() {
            let text =
                ["text", "output", "arguments", "detail"].into_iter().find_map(|name| part.get(name)?.str());
            let is_reasoning = part.str_or_empty("type") == "reasoning";
            let Some(text) = text.filter(|text| !is_reasoning && !text.is_empty()) else { continue };
            if let Some(after) = rest.strip_prefix(text.as_escaped()) {
                self.said.insert(index as u64, text.as_escaped().to_owned());
                rest = after;
            }
        }
    }

    /// Reads the parts whose place the event shows.
    fn place_preceding(&mut self, data: Val<'_>, out: &mut EventSink<'_>) {
        for before in data.get("preceding").into_iter().flat_map(|preceding| preceding.elements()) {
            let number = before.note_u64("part", Field::Structure);
            if let (Some(number), Some(content)) = (number, before.get("content")) {
                self.place(number, content, out);
            }
        }
    }

    /// Reads a part that an event before the end of its item holds whole: the event shows the place of the part.
    fn place(&mut self, number: u64, part: Val<'_>, out: &mut EventSink<'_>) {
        if part.str_or_empty("type") == "reasoning" {
            read_reasoning(self, number, part, out);
        } else if let Some(value) = read_part(self.of, part) {
            out.delta(self.id, number as u32, value);
        }
        self.placed.insert(number, claimed_in(part));
    }
}

/// Emits the content missing from the deltas and ends the item.
fn complete(
    open: &mut ReadItem,
    item: Val<'_>,
    content: Option<Val<'_>>,
    status: Status,
    out: &mut EventSink<'_>,
) {
    for known in &open.began {
        repeat(item, &known.name, &open.began);
    }
    inside(item, "content");
    open.assign_untyped(content);
    let parts = || content.into_iter().flat_map(|content| content.elements());
    let outputs = parts().filter(|part| part.get("output").is_some()).count();
    for (index, part) in parts().enumerate() {
        let number = index as u64;
        for known in &open.began_part {
            repeat(part, &known.name, &open.began_part);
        }
        let said = open.said.get(&number).map(String::as_str);
        if let Some(placed) = open.placed.get(&number) {
            for known in placed {
                repeat(part, &known.name, placed);
            }
            if said.is_none() {
                let of =
                    open.reasoning.get(&number).map_or((open.id, index as u32), |reasoning| (*reasoning, 0));
                read_marks(part, of, out);
                continue;
            }
        }
        if part.get("label").is_some() {
            note_if(part, "type", "status");
            let detail = part.get("detail").and_then(|detail| detail.str());
            match (detail, said) {
                (Some(detail), None) => {
                    part.take_str("detail", Field::NoticeText);
                    out.delta(open.id, 0, Part::Text(detail));
                }
                (Some(detail), Some(said)) if detail.as_escaped() == said => {
                    part.note_str("detail", Field::NoticeText);
                }
                (Some(_), Some(_)) | (None, _) => {}
            }
        } else if part.str_or_empty("type") == "reasoning" {
            read_reasoning(open, number, part, out);
            continue;
        } else if let Some(said) = said {
            repeat_part(open.of, part, said);
        } else if outputs == 1 && part.get("output").is_some_and(|output| output.is("")) {
            // A result without text.
            note_if(part, "output", "");
            note_if(part, "type", "tool_result");
        } else if let Some(value) = read_part(open.of, part) {
            out.delta(open.id, index as u32, value);
        }
        read_marks(part, (open.id, index as u32), out);
    }
    // Claim the status last: a writer that cannot write it looks up the last claim.
    if matches!(item.str_or_empty("status"), "completed" | "failed") {
        item.note_str("status", Field::ItemStatus);
    }
    for id in std::mem::take(&mut open.reasoning).into_values() {
        out.event(&Event::ItemCompleted(ItemTail::new(id, status)));
    }
    let tail = ItemTail::read_members(item, &["status"], Spelling::Snake);
    out.event(&Event::ItemCompleted(ItemTail { id: open.id, status, ..tail }));
}

fn session_ended(data: Val<'_>, out: &mut EventSink<'_>) {
    let status = match data.str_or_empty("reason") {
        "completed" => Some(Status::Completed),
        "error" => Some(Status::Failed),
        "terminated" => Some(Status::Interrupted),
        _ => None,
    };
    if status.is_some() {
        data.take_str("reason", Field::SessionEndStatus);
    }
    note_if(data, "terminated_by", "agent");
    let (status, message) =
        (status.unwrap_or(Status::Failed), data.take_str("message", Field::SessionEndMessage));
    out.event(&Event::SessionEnded(SessionEnd { status, message }));
}
