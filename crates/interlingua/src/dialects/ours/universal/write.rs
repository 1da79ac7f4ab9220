//! Events to universal events. A message is shown only if it has content of its own, so a native message that holds
//! only a call leaves no empty message; its values are in the call's item.

mod opening;
mod requests;
mod turns;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::beginning::{Beginning, EarlyInput};
use requests::{AgentRequest, PendingRequests};
use turns::broken_off;

use super::data::put_failure;
use super::item::{ShownItem, item_id, opt_word};
use super::parts::PartForm;
use super::seed::{self, Members};
use super::{COMPACTED, EPOCH, MODEL, REQUEST, REWOUND};
use crate::dialects::ours::lose_tail;
use crate::dialects::ours::unreadable_run::{UnreadableLines, UnreadableRun};
use crate::dialects::{Options, SessionProgress};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::{Identity, Leftover, LeftoverBody, Reason};
use crate::model::{
    Args, Arrival, Author, CallKind, Circumstances, Delta, Event, FailureClass, Field, ItemHead, ItemId,
    ItemKind, ItemKindTag, ItemTail, Neutral, Part, Session, SessionEnd, Shape, Spelling, Status,
    SupportTable, Time, ToolCall, ToolResult, Turn, time,
};
use crate::pipe::{Remembered, Writer, WriterOutput};

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about what came before")]
pub(super) struct UniversalWriter {
    source_name: Option<String>,
    include_raw: bool,
    pub(super) members: Members,
    /// Input before the first event, while it waits.
    beginning: Option<Beginning>,
    /// The current time, if the caller passed it.
    now: Option<u64>,
    /// Set while the time of events does not come from the source.
    time_is_made_up: bool,
    /// The session's id that the caller chose, escaped.
    session_id: Option<String>,
    /// Set while the events of a client are written, not those of the agent.
    from_client: bool,
    /// The session's id in the envelope, escaped; fixed with the first event.
    session: Option<String>,
    native_session: Option<String>,
    time: String,
    /// The field and length of a time that no event has shown yet.
    unseen_time: Option<(Field, usize)>,
    /// The last time written verbatim in an event.
    said_time: String,
    sequence: u64,
    items: u64,
    turns: u64,
    turn: Option<String>,
    open: HashMap<ItemId, ShownItem, BuildHasherDefault<Identity>>,
    /// The numbers of items, by native id; calls also by call id.
    numbers: Remembered<u64>,
    requests: PendingRequests,
    /// The last usage of a response, without its time.
    usage: Option<Turn<'static>>,
    ended: Option<(Status, Option<String>)>,
    /// Set if the client ended the session.
    ended_by_client: bool,
    cut: bool,
    /// Set after a failure, until the model completes a message.
    failed: bool,
    raw: RawState,
    /// Output after the event that waits for its raw line.
    held: JsonBuffer,
    /// A raw line that arrived before its event: a message is shown only when it has content.
    early_raw: Option<String>,
    /// Set while a line over the size limit is skipped.
    oversized: bool,
    /// Set if the preceding line was unreadable. Its event is written at once, because the agent may write no more.
    was_unreadable: bool,
    /// Further unreadable lines, and the position of the first. They become one event, before the next event.
    unreadable: UnreadableRun,
    unreadable_at: String,
}

/// Whether the frame's line is in an event.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum RawState {
    /// No event of this frame has been written.
    #[default]
    Unsaid,
    /// The first event is written up to its raw line, which is added at the end of the frame.
    PendingEntries,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    ByAgent,
    ByUs,
}

impl UniversalWriter {
    pub(super) fn new(options: &Options) -> Self {
        let own = |text: &String| Str::plain(text).as_escaped().to_owned();
        let session_id = options.session_id.as_ref().map(own);
        let now = options.now.filter(|_| session_id.is_some()).map(|now| Raw::owned(now.to_string()));
        let writer = Self {
            source_name: options.source_name.clone(),
            include_raw: options.include_raw,
            members: if options.seed_schema { Members::OfSchema } else { Members::All },
            // A session with a chosen id need not wait for the agent's id.
            beginning: session_id.is_none().then(|| Beginning::new(options.whole)),
            now: options.now,
            time: now.and_then(|now| time::utc(&now)).unwrap_or_else(|| EPOCH.to_owned()),
            session_id,
            ..Self::default()
        };
        let Some(progress) = &options.progress else { return writer };
        // The session has begun: no event waits for its id, and no event announces it again.
        let SessionProgress { sequence, items, turns, native_session_id } = progress;
        Self {
            beginning: None,
            session: writer.session_id.clone().or_else(|| native_session_id.as_ref().map(own)),
            native_session: native_session_id.as_ref().map(own),
            sequence: *sequence,
            items: *items,
            turns: *turns,
            ..writer
        }
    }

    /// Writes one event.
    fn say(
        &mut self,
        made: Made,
        kind: &str,
        out: &mut WriterOutput<'_>,
        data: impl FnOnce(&mut JsonWriter<'_>),
    ) {
        if self.session.is_none() {
            self.first(&Session::default(), out);
        }
        self.write(made, kind, out, data);
    }

    fn write(
        &mut self,
        made: Made,
        kind: &str,
        out: &mut WriterOutput<'_>,
        data: impl FnOnce(&mut JsonWriter<'_>),
    ) {
        self.sequence += 1;
        self.unseen_time = None;
        let session = self.session.as_deref().unwrap_or("unknown");
        let waiting = self.raw == RawState::PendingEntries;
        let mut json = if waiting { self.held.hold() } else { out.json.reborrow() };
        let by_us = made == Made::ByUs;
        json.begin_frame("").object();
        json.key("event_id").open_string();
        json.bytes(b"evt_");
        json.bytes(session.as_bytes());
        json.bytes(format!("_{}", self.sequence).as_bytes());
        json.close_string().key("sequence").u64(self.sequence).key("time").literal(&self.time);
        json.key("session_id").literal(session).key("native_session_id");
        opt_word(self.native_session.as_deref(), &mut json);
        let source = if by_us || self.from_client { "daemon" } else { "agent" };
        json.key("synthetic").bool(by_us).key("source").literal(source);
        json.key("type").literal(kind).key("data");
        data(&mut json);
        json.key("raw");
        if self.include_raw && !by_us && !self.from_client && !waiting {
            self.raw = RawState::PendingEntries;
        } else {
            json.null().end_object().end_frame("\n");
        }
    }

    /// Writes a status item made by the writer: a label and a value.
    fn status(
        &mut self,
        made: Made,
        label: &str,
        out: &mut WriterOutput<'_>,
        value: impl Fn(&mut JsonWriter<'_>),
    ) {
        self.items += 1;
        let number = self.items;
        for (kind, status) in [("item.started", "in_progress"), ("item.completed", "completed")] {
            self.say(made, kind, out, |json| {
                json.object().key("item").object().key("item_id").literal(&item_id(number));
                json.key("native_item_id").null().key("parent_id").null().key("kind").literal("status");
                json.key("role").literal("system").key("content").array();
                json.object().key("type").literal("status").key("label").literal(label).end_object();
                if status == "completed" {
                    json.object().key("type").literal("json").key("json");
                    value(json);
                    json.end_object();
                }
                json.end_array().key("status").literal(status).end_object().end_object();
            });
        }
    }

    /// Writes a status item that holds a value of the model.
    fn status_of<'t>(&mut self, label: &str, value: &impl Neutral<'t>, out: &mut WriterOutput<'_>) {
        // The public schema has no member for these values.
        if self.members.is_closed() {
            return;
        }
        self.status(Made::ByAgent, label, out, |json| value.write(Spelling::Snake, json));
    }

    /// Sets the time from the source, unless it would go back. The next event holds the time verbatim.
    fn tick(&mut self, time: &Time<'_>) {
        time.as_str().clone_into(&mut self.said_time);
        self.advance(time);
    }

    /// Sets the time of an item or a turn. Closed events show the time only in the envelope.
    fn tick_of(&mut self, field: Field, time: &Time<'_>, out: &mut WriterOutput<'_>) {
        if self.members.is_closed() { self.tick_alone(field, time, out) } else { self.tick(time) }
    }

    /// Whether the bytes of unreadable lines are written.
    pub(super) const fn holds_unreadable(&self) -> bool {
        self.include_raw && !self.members.is_closed()
    }

    /// Sets a time that has no event of its own: only the envelope of the next event can show it.
    fn tick_alone(&mut self, field: Field, time: &Time<'_>, out: &mut WriterOutput<'_>) {
        if time.as_str() == self.said_time {
            return;
        }
        if out.is_made_up() {
            self.advance(time);
            return;
        }
        let before = self.time.clone();
        if !self.advance(time) {
            return out.lose_raw(field, time, Reason::Narrowed);
        }
        if self.time == before {
            return;
        }
        let unseen = self.unseen_time.replace((field, time.as_str().len()));
        if let Some((field, length)) = unseen.filter(|_| !self.include_raw) {
            // The unseen time belongs to an earlier frame.
            out.ledger.lose_late(field, Reason::Merged, 1, length as u64);
        }
    }

    /// Moves the time of events forward. Returns whether the time is now the given time.
    fn advance(&mut self, time: &Time<'_>) -> bool {
        let Some(now) = time::utc(time) else { return false };
        // `…:05Z` is before `…:05.1Z`, so compare without the letter.
        let forward = now.trim_end_matches('Z') >= self.time.trim_end_matches('Z');
        // The first time of the source replaces a made-up time.
        let forward = forward || (self.time_is_made_up && now.as_str() >= EPOCH);
        self.time_is_made_up &= !forward;
        if forward {
            self.time = now;
        }
        forward
    }

    fn find(&self, native: &Str<'_>) -> Option<u64> {
        self.numbers.get(native.as_escaped()).copied()
    }

    fn remember(&mut self, native: Option<&str>, number: u64) {
        if let Some(native) = native {
            self.numbers.insert(native, number);
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        let ItemHead { id, kind, author, within, native_id, parent, parent_call, time, .. } = head;
        if let Some(time) = time {
            self.tick_of(Field::ItemTime, time, out);
        }
        self.lose_of_start(head, out);
        let own = |text: &Option<Str<'_>>| text.as_ref().map(|text| text.as_escaped().to_owned());
        let mut open = ShownItem::new(kind.clone().into_owned(), *author);
        open.native = own(native_id);
        open.parent = parent.as_ref().and_then(|parent| self.find(parent));
        open.parent_id = own(parent);
        open.native_parent = own(parent).filter(|_| open.parent.is_none() || parent == parent_call);
        if parent.is_none() {
            // A subagent's item belongs to the call that started the subagent.
            open.parent = parent_call.as_ref().and_then(|call| self.find(call));
        }
        open.circumstances = head.circumstances().into_owned();
        if let Some(message) = within.filter(|_| !matches!(kind, ItemKind::Reasoning)) {
            self.show_before_item(message, out);
        }
        if let Some(message) = within.as_ref().and_then(|message| self.open.get_mut(message)) {
            if let ItemKind::Reasoning = kind {
                open.host = *within;
                // A part of a message has no id and no parent of its own, and has the message's circumstances.
                let same = open.circumstances == message.circumstances;
                let lost = if same { head.clone().with(Circumstances::default()) } else { head.clone() };
                out.lose_event(ItemKindTag::Reasoning, &Event::ItemStarted(lost), Reason::NoSlot);
            } else {
                message.holds_items = true;
                if message.author == Author::Assistant && !self.members.is_closed() {
                    open.preceding = message.content.preceding();
                }
                match message.shown {
                    Some(shown) => {
                        open.parent = Some(shown);
                        open.native_parent = own(parent);
                    }
                    None => open.is_in(message),
                }
            }
        }
        match kind {
            ItemKind::Message if head.shape == Shape::Announced => self.show(&mut open, out),
            ItemKind::Message | ItemKind::Reasoning => {}
            ItemKind::ToolCall(call) => {
                let call_id = call.call_id.as_ref().map(|id| id.as_escaped().to_owned());
                if open.native.is_none() {
                    open.native.clone_from(&call_id);
                }
                self.show(&mut open, out);
                self.remember(call_id.as_deref(), self.items);
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                if let Some(call_id) = call_id {
                    self.answered(call_id, name.as_ref(), out);
                }
                self.show(&mut open, out);
            }
            ItemKind::Notice(_) => self.show(&mut open, out),
        }
        self.open.insert(*id, open);
    }

    /// Shows an answer with content before an item within it, so that the content keeps its place before the item.
    fn show_before_item(&mut self, message: ItemId, out: &mut WriterOutput<'_>) {
        let holds_content = |open: &ShownItem| {
            open.shown.is_none() && open.author == Author::Assistant && !open.content.pieces.is_empty()
        };
        if self.open.get(&message).is_some_and(holds_content)
            && let Some(mut open) = self.open.remove(&message)
        {
            self.show(&mut open, out);
            self.open.insert(message, open);
        }
    }

    /// Adds a call for a result without a call, so that a call precedes every result.
    fn answered(&mut self, call_id: &Str<'_>, name: Option<&Str<'_>>, out: &mut WriterOutput<'_>) {
        if self.find(call_id).is_some() {
            return;
        }
        out.ledger.note("a tool result without its call: the call was made up");
        let name = name.map_or(Str::escaped("unknown"), |name| name.clone().into_owned());
        let call_id = call_id.clone().into_owned();
        let call =
            ToolCall { call_id: Some(call_id.clone()), kind: CallKind::Function, namespace: None, name };
        let mut open = ShownItem::new(ItemKind::ToolCall(call), Author::Assistant);
        open.native = Some(call_id.as_escaped().to_owned());
        self.show_as(&mut open, Made::ByUs, out);
        let done = ItemTail::new(ItemId(0), Status::Completed);
        let members = self.members;
        self.say(Made::ByUs, "item.completed", out, |json| open.write(Some(&done), members, json));
    }

    fn show(&mut self, open: &mut ShownItem, out: &mut WriterOutput<'_>) {
        self.show_as(open, Made::ByAgent, out);
    }

    /// Assigns the item's number and writes its start.
    fn show_as(&mut self, open: &mut ShownItem, made: Made, out: &mut WriterOutput<'_>) {
        self.items += 1;
        open.shown = Some(self.items);
        let message = open.around.as_ref().and_then(|around| around.native.as_deref());
        self.remember(message, self.items);
        self.remember(open.native.as_deref(), self.items);
        if let Some(parent) = open.native_parent.as_ref().filter(|_| self.members.is_closed()) {
            out.lose_str(Field::ItemParent, &Str::escaped(parent).into_owned(), Reason::NoSlot);
        }
        let members = self.members;
        self.say(made, "item.started", out, |json| open.write(None, members, json));
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        let Delta { item, part, value, arrival } = delta;
        // Reasoning is a part of its message.
        let host = self.open.get(item).and_then(|open| open.host).filter(|host| self.open.contains_key(host));
        let shown_in = host.unwrap_or(*item);
        let Some(mut open) = self.open.remove(&shown_in) else { return };
        // Opaque state alone does not show the item.
        if open.shown.is_none() && !matches!(value, Part::Opaque(_)) {
            self.show(&mut open, out);
        }
        let kind = if host.is_some() { &ItemKind::Reasoning } else { &open.kind };
        self.lose_of_part(value, ItemKindTag::item(kind), out);
        let added = open.content.add(kind, (*item, *part), value, self.members);
        if let Some((index, form)) = added {
            let (text, content_type) = match (value, form) {
                (Part::Args(Args::Text(text)), _) => (Some(text), "arguments"),
                (Part::Text(text) | Part::Summary(text), PartForm::Reasoning | PartForm::Summary) => {
                    (Some(text), "reasoning")
                }
                (Part::Text(text) | Part::Refusal(text), _) => (Some(text), "text"),
                _ => (None, ""),
            };
            let speaks = matches!(open.kind, ItemKind::Message | ItemKind::Reasoning)
                && open.author == Author::Assistant;
            let made = match arrival {
                Arrival::Streamed => Some(Made::ByAgent),
                Arrival::Whole => speaks.then_some(Made::ByUs),
            };
            // Deltas of the public schema have no type: only text is told apart from nothing else.
            let is_shown = |text: &&Str<'_>| {
                !text.is_empty() && (self.members == Members::All || content_type == "text")
            };
            if let (Some(text), Some(made), Some(number)) = (text.filter(is_shown), made, open.shown) {
                let members = self.members;
                self.say(made, "item.delta", out, |json| {
                    json.object().key("item_id").literal(&item_id(number)).key("native_item_id");
                    opt_word(open.native.as_deref(), json);
                    json.key("delta").str(text);
                    if members.is_closed() {
                        json.end_object();
                        return;
                    }
                    json.key("part").u64(index as u64);
                    open.content.write_preceding(index, json);
                    json.key("content_type").literal(content_type);
                    if let PartForm::Summary | PartForm::Refusal = form {
                        json.key(if form == PartForm::Summary { "summary" } else { "refusal" }).bool(true);
                    }
                    json.end_object();
                });
            }
        }
        self.open.insert(shown_in, open);
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
        let Some(mut open) = self.open.remove(&tail.id) else { return };
        let unseen = open.is_unseen();
        if unseen && tail.status != Status::Completed {
            out.lose(Field::ItemStatus, Reason::NoSlot);
        }
        if let Some(native) = open.native.as_ref().filter(|_| unseen && self.members.is_closed()) {
            out.lose_str(Field::ItemId, &Str::escaped(native).into_owned(), Reason::NoSlot);
        }
        if open.host.is_some() || unseen {
            return lose_tail(tail, out);
        }
        self.lose_of_end(tail, out);
        if open.shown.is_none() {
            self.show(&mut open, out);
        }
        // An interrupted item is completed by the writer, not by the agent.
        let made = if tail.status == Status::Interrupted { Made::ByUs } else { Made::ByAgent };
        let members = self.members;
        self.say(made, "item.completed", out, |json| open.write(Some(tail), members, json));
    }
}

impl UniversalWriter {
    fn tell(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.end_unreadable(out);
        self.watch_failure(event);
        match event {
            Event::SessionStarted(session) | Event::SessionUpdated(session) => self.session(session, out),
            Event::SessionEnded(_) if self.ended.is_some() => {
                out.lose_event(ItemKindTag::Message, event, Reason::Merged);
            }
            Event::SessionEnded(SessionEnd { status, message }) => {
                let message = message.as_ref().map(|message| message.as_escaped().to_owned());
                self.ended = Some((*status, message));
                self.ended_by_client = self.from_client;
            }
            Event::Clock(time) => self.tick_alone(Field::EventTime, time, out),
            Event::Rewound(rewind) => self.status_of(REWOUND, rewind, out),
            Event::Compacted(compaction) => self.status_of(COMPACTED, compaction, out),
            Event::Model(model) => self.status_of(MODEL, model, out),
            Event::Request(request) => self.status_of(REQUEST, &**request, out),
            Event::TurnStarted(turn) => self.turn_started(turn, Made::ByAgent, out),
            Event::TurnEnded(turn) => self.turn_ended(turn, Made::ByAgent, out),
            Event::Usage(turn) => self.used(turn, out),
            Event::ItemStarted(head) => self.started(head, out),
            Event::ItemDelta(delta) => self.delta(delta, out),
            Event::ItemCompleted(tail) => self.completed(tail, out),
            // An agent may repeat a request that is still open.
            Event::PermissionRequested(permission) if self.requests.is_open(true, &permission.id) => {
                out.lose_event(ItemKindTag::Message, event, Reason::Merged);
            }
            Event::QuestionRequested(question) if self.requests.is_open(false, &question.id) => {
                out.lose_event(ItemKindTag::Message, event, Reason::Merged);
            }
            Event::PermissionRequested(permission) => {
                self.ask(Made::ByAgent, &AgentRequest::Permission(permission.clone()), out);
            }
            Event::QuestionRequested(question) => {
                self.ask(Made::ByAgent, &AgentRequest::Question(question.clone()), out);
            }
            // A request is resolved once.
            Event::PermissionResolved(permission) if self.requests.was_resolved(true, &permission.id) => {
                out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
            }
            Event::QuestionResolved(question) if self.requests.was_resolved(false, &question.id) => {
                out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
            }
            Event::PermissionResolved(permission) => {
                self.resolve(Made::ByAgent, &AgentRequest::Permission(permission.clone()), out);
            }
            Event::QuestionResolved(question) => {
                self.resolve(Made::ByAgent, &AgentRequest::Question(question.clone()), out);
            }
            Event::Error(failure) => {
                let cut = failure.class == FailureClass::Incomplete;
                self.cut |= cut;
                let made = if cut { Made::ByUs } else { Made::ByAgent };
                let members = self.members;
                self.say(made, "error", out, |json| put_failure(failure, members, json));
            }
        }
    }

    /// Queues the end of a frame before the first event. Returns the leftover if the wait is over.
    fn wait<'t>(&mut self, leftover: Leftover<'t>, out: &mut WriterOutput<'_>) -> Option<Leftover<'t>> {
        let holds_unreadable = self.holds_unreadable();
        let Some(beginning) = &mut self.beginning else { return Some(leftover) };
        let input = match leftover.body {
            LeftoverBody::Frame(_) if leftover.owner == super::DIALECT.name => {
                leftover.lose(out.ledger, Reason::NoSlot);
                EarlyInput::FrameEnd(None)
            }
            LeftoverBody::Frame(tape) if self.include_raw => {
                let label = tape.root().get("type").and_then(|kind| kind.str());
                let label = label.map_or("line".to_owned(), |label| label.as_escaped().to_owned());
                leftover.mark_kept(out.ledger);
                EarlyInput::FrameEnd(Some((tape.text().to_owned(), label)))
            }
            LeftoverBody::Frame(_) => {
                leftover.lose(out.ledger, Reason::NoSlot);
                EarlyInput::FrameEnd(None)
            }
            LeftoverBody::Unparsed { bytes, why, more: false } if !matches!(why, "blank" | "bom") => {
                let said = holds_unreadable;
                let input = EarlyInput::Unreadable {
                    owner: leftover.owner.to_owned(),
                    bytes: if said { bytes.to_owned() } else { Vec::new() },
                    why,
                    more: false,
                    place: out.ledger.frame_name(),
                };
                if said {
                    leftover.mark_kept(out.ledger);
                } else {
                    leftover.lose(out.ledger, Reason::Invalid);
                }
                input
            }
            LeftoverBody::Unparsed { .. } | LeftoverBody::Kept { .. } | LeftoverBody::NoFinalNewline => {
                return Some(leftover);
            }
        };
        if beginning.frame(input) {
            self.begin_now(out);
        }
        None
    }
}

impl Writer for UniversalWriter {
    fn narrowed_support(&self) -> Option<SupportTable> {
        self.members.is_closed().then_some(seed::support as SupportTable)
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.from_client = out.is_from_client();
        match &mut self.beginning {
            None => self.tell(event, out),
            Some(beginning) => {
                if beginning.event(event) {
                    self.begin_now(out);
                }
            }
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.from_client = false;
        let Some(leftover) = self.wait(leftover, out) else { return };
        if matches!(leftover.body, LeftoverBody::Unparsed { more: true, .. } | LeftoverBody::Kept { .. }) {
            self.begin_now(out);
        }
        if !matches!(leftover.body, LeftoverBody::Unparsed { .. }) {
            self.end_unreadable(out);
        }
        match leftover.body {
            LeftoverBody::Frame(_) if leftover.owner == super::DIALECT.name => {
                self.release(None, out);
                leftover.lose(out.ledger, Reason::NoSlot);
            }
            LeftoverBody::Frame(tape) if self.include_raw => {
                if self.raw == RawState::Unsaid {
                    // A line without events becomes a status item.
                    let label = tape.root().get("type").and_then(|kind| kind.str());
                    let label = label.unwrap_or(Str::escaped("line"));
                    self.status(Made::ByAgent, label.as_escaped(), out, |json| {
                        json.null();
                    });
                }
                self.release(Some(tape.text()), out);
                leftover.mark_kept(out.ledger);
            }
            // An event holds a single line; the line waits in `early_raw` until its event is written.
            LeftoverBody::Kept { line, .. }
                if self.include_raw
                    && leftover.owner == super::DIALECT.name
                    && (self.raw == RawState::PendingEntries || self.early_raw.is_none()) =>
            {
                self.release(Some(line.text()), out);
                leftover.mark_kept(out.ledger);
            }
            // A line over the limit is one event, even if it arrives in several pieces.
            LeftoverBody::Unparsed { more, .. } if std::mem::replace(&mut self.oversized, more) => {
                leftover.lose(out.ledger, Reason::Invalid);
            }
            LeftoverBody::Unparsed { bytes, why, more } if !matches!(why, "blank" | "bom") => {
                let said = self.holds_unreadable() && !more;
                let bytes = if said { bytes } else { &[] };
                let lines = UnreadableLines { owner: leftover.owner, why, bytes, lines: 1 };
                let place = out.ledger.frame_name();
                self.unreadable(&lines, more, &place, out);
                if said { leftover.mark_kept(out.ledger) } else { leftover.lose(out.ledger, Reason::Invalid) }
            }
            LeftoverBody::NoFinalNewline => {}
            LeftoverBody::Frame(_) | LeftoverBody::Kept { .. } | LeftoverBody::Unparsed { .. } => {
                leftover.lose(out.ledger, Reason::NoSlot);
            }
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.begin_now(out);
        self.end_unreadable(out);
        self.settle(out);
        let cut = self.cut || self.turn.is_some();
        if self.turn.is_some() {
            self.turn_ended(&broken_off(), Made::ByUs, out);
        }
        let is_told = self.ended.is_some();
        let made = if is_told && !self.ended_by_client { Made::ByAgent } else { Made::ByUs };
        let broken = match (cut, self.failed) {
            (true, _) => Status::Interrupted,
            (false, true) => Status::Failed,
            (false, false) => Status::Completed,
        };
        let by = if self.ended_by_client { "daemon" } else { "agent" };
        let (status, message) = self.ended.take().unwrap_or((broken, None));
        self.say(made, "session.ended", out, |json| {
            json.object().key("reason").literal(match (status, is_told) {
                (Status::Completed, _) => "completed",
                (Status::Interrupted, true) => "terminated",
                (Status::Failed, _) | (Status::Interrupted, false) => "error",
            });
            json.key("terminated_by").literal(by);
            if let Some(message) = &message {
                json.key("message").literal(message);
            }
            json.end_object();
        });
        self.release(None, out);
    }
}
