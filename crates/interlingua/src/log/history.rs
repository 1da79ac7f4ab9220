//! The stage before every log writer: repairs the history, so that a different agent can continue the session.
//!
//! Agents resume a log only if each id is unique, each result follows its call, and each call has a result. Sources
//! keep rewound turns, reuse ids, and report results twice, early or never. This stage leaves out abandoned items
//! ([`Outline`]), renames repeated ids, and adds missing results. Every repair is a loss or a remark in the report.
//! Lines restored from a record pass unchanged.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::assets::Assets;
use super::outline::{Outline, key, summary_item};
use super::pairs::{Answered, CallPairs, has_no_id, link_key};
use crate::json::{Raw, Str};
use crate::ledger::{Identity, Leftover, Reason};
use crate::model::{
    Args, Arrival, Author, CallKind, Compaction, Delta, Event, Field, ItemHead, ItemId, ItemKind,
    ItemKindTag, ItemTail, Origin, Part, Status, Support, SupportTable, ToolCall, ToolResult,
};
use crate::pipe::{OpenItems, Writer, WriterOutput};

/// Passes repaired events to the writer of a log.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the log or the source")]
pub(crate) struct HistoryWriter {
    writer: Box<dyn Writer>,
    /// The dialect of the log.
    dialect: &'static str,
    outline: Option<Arc<Outline>>,
    /// Whether the log format has tool results.
    has_results: bool,
    /// Whether results name their tool.
    names_results: bool,
    /// The current events come from kept lines of this dialect, which follow.
    restoring: bool,
    /// Kept lines of this dialect were restored, so calls may be in those lines.
    has_restored: bool,
    /// Keys of the ids of all items.
    ids: HashSet<u128, BuildHasherDefault<Identity>>,
    /// The last new id and its frame number: one line may become several items.
    last_id: (u128, u64),
    has_session: bool,
    session: SessionHistory,
    assets: Assets,
    /// The last notice that started.
    notice: Option<ItemId>,
    /// The number of compactions with a summary.
    compactions: u64,
    /// The number of made-up items.
    made_up: u64,
}

/// The state of the session that is being written.
#[derive(Default)]
struct SessionHistory {
    pairs: CallPairs,
    /// Calls without a result so far.
    calls: HashMap<ItemId, WrittenCall>,
    /// Ids of the calls written so far.
    call_ids: HashSet<u128>,
    /// New ids of calls, by their key in the source.
    renamed: HashMap<u128, Str<'static>>,
    /// The open items, and whether each is a message.
    open: OpenItems<bool>,
    /// The decision about the next result.
    next_result: Option<NextResult>,
    /// Results that are being held back.
    held: HashMap<ItemId, HeldResult>,
    /// Complete results that precede their call, by call.
    early: HashMap<ItemId, HeldResult>,
    held_bytes: usize,
    /// Results that are due before the next step.
    due: VecDeque<DueResult>,
    /// A result was written since the first due result was queued.
    has_result: bool,
    /// A due result has no call: it does not wait for the results of other calls.
    has_orphan: bool,
}

/// A call in the log.
struct WrittenCall {
    /// The key of the call's id in the source.
    key: u128,
    id: Str<'static>,
    name: Str<'static>,
    agent: Option<Str<'static>>,
    parent_call: Option<Str<'static>>,
}

enum NextResult {
    /// The result answers the call with this id.
    Answers(Str<'static>),
    /// The call comes later, or never.
    Held(Option<ItemId>),
}

struct HeldResult {
    call: Option<ItemId>,
    head: ItemHead<'static>,
    rest: Vec<Event<'static>>,
}

enum DueResult {
    /// The source has no result for the call.
    Missing(ItemId),
    /// The result was held back until its call.
    Early(HeldResult),
    /// The result has no call.
    Orphan(HeldResult),
}

impl HistoryWriter {
    /// The maximum size in bytes of results held back until their call.
    const MOST_HELD: usize = 16 << 20;

    pub(crate) fn new(
        writer: Box<dyn Writer>,
        dialect: &'static str,
        support: SupportTable,
        outline: Option<Arc<Outline>>,
    ) -> Self {
        let has = |field| !matches!(support(field), Support::No(_));
        Self {
            writer,
            dialect,
            outline,
            has_results: has(Field::ResultText),
            names_results: has(Field::ResultName),
            restoring: false,
            has_restored: false,
            ids: HashSet::default(),
            last_id: (0, 0),
            has_session: false,
            session: SessionHistory::default(),
            assets: Assets::default(),
            notice: None,
            compactions: 0,
            made_up: 0,
        }
    }

    /// The head of an item of another agent, if it has to change: an item that belongs to the session's main conversation
    /// becomes an item of that conversation, and a subagent without a name is named after the call that started it.
    fn with_agent<'a>(&self, head: &ItemHead<'a>) -> Option<ItemHead<'a>> {
        let call = head.parent_call.as_ref();
        if head.agent.is_none() && call.is_none() {
            return None;
        }
        if self.is_own_thread(head) {
            return Some(ItemHead { agent: None, parent_call: None, ..head.clone() });
        }
        head.agent.is_none().then(|| ItemHead { agent: call.cloned(), ..head.clone() })
    }

    /// Whether an item of another agent belongs to the session's main conversation.
    fn is_own_thread(&self, head: &ItemHead<'_>) -> bool {
        self.outline.as_ref().is_some_and(|outline| outline.is_own_thread(head.id))
    }

    /// Decides how a result that the target accepts is written.
    fn takes_result(&mut self, head: &ItemHead<'_>, result: &ToolResult<'_>) -> Result<(), Reason> {
        let id = link_key(result.call_id.as_ref(), result.name.as_ref());
        let session = &mut self.session;
        session.next_result = match session.pairs.result(id) {
            Answered::Call(call) => session.calls.remove(&call).map(|call| NextResult::Answers(call.id)),
            Answered::Again => return Err(Reason::Refused),
            Answered::Nothing if self.has_restored || !self.has_results => None,
            Answered::Nothing => {
                session.pairs.has_answer(id);
                let outline = self.outline.as_ref();
                Some(NextResult::Held(outline.and_then(|outline| outline.call_after(head.id))))
            }
        };
        Ok(())
    }

    /// Handles the start of an item.
    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let is_step = head.within.is_none_or(|around| self.session.open.get(around).is_none());
        if is_step {
            self.before_step(head, out);
        }
        if let Some(NextResult::Held(call)) = &self.session.next_result {
            let result = HeldResult {
                call: *call,
                head: ItemHead { within: None, ..head.clone().into_owned() },
                rest: Vec::new(),
            };
            self.session.held.insert(head.id, result);
            self.session.next_result = None;
            return;
        }
        self.session.open.insert(head.id, head.kind == ItemKind::Message);
        let mut changed = None;
        if let Some(id) = &head.native_id
            && self.is_known(id, out)
        {
            out.ledger.note("an id that stood before was replaced");
            changed.get_or_insert_with(|| head.clone()).native_id = None;
        }
        if let Some(call) = &head.parent_call
            && !self.session.renamed.is_empty()
            && let Some(renamed) = self.session.renamed.get(&key(call))
        {
            changed.get_or_insert_with(|| head.clone()).parent_call = Some(renamed.clone());
        }
        match &head.kind {
            ItemKind::ToolCall(call) => {
                if let Some(call_id) = self.call(head, call, out) {
                    let call = ToolCall { call_id: Some(call_id), ..call.clone() };
                    changed.get_or_insert_with(|| head.clone()).kind = ItemKind::ToolCall(call);
                }
            }
            ItemKind::ToolResult(result) => {
                self.session.has_result = true;
                if let Some(NextResult::Answers(id)) = self.session.next_result.take()
                    && result.call_id.as_ref() != Some(&id)
                {
                    match &result.call_id {
                        Some(own) => out.lose_str(Field::ResultCallId, own, Reason::Refused),
                        None => out.ledger.note(UNNAMED_RESULT),
                    }
                    let result = ToolResult { call_id: Some(id), ..result.clone() };
                    changed.get_or_insert_with(|| head.clone()).kind = ItemKind::ToolResult(result);
                }
            }
            ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
        }
        match changed {
            Some(head) => self.writer.event(&Event::ItemStarted(head), out),
            None => self.writer.event(event, out),
        }
    }

    /// Whether an earlier item has the same id; the item then loses its id.
    fn is_known(&mut self, id: &Str<'_>, out: &mut WriterOutput<'_>) -> bool {
        let key = key(id);
        let here = (key, out.ledger.frame_number());
        if self.ids.insert(key) {
            self.last_id = here;
            return false;
        }
        // The first item of the line keeps the id.
        if self.last_id != here {
            out.lose_str(Field::ItemId, id, Reason::Refused);
        }
        true
    }

    /// Handles the start of a call. Returns the call's new id, if it differs from the id in the source.
    fn call(
        &mut self,
        head: &ItemHead<'_>,
        call: &ToolCall<'_>,
        out: &mut WriterOutput<'_>,
    ) -> Option<Str<'static>> {
        let session = &mut self.session;
        let own = link_key(call.call_id.as_ref(), Some(&call.name));
        let mut renamed = None;
        if has_no_id(own) || !session.call_ids.insert(own) {
            match &call.call_id {
                Some(id) => {
                    out.ledger.note("a call id used again was replaced");
                    out.lose_str(Field::CallId, id, Reason::Refused);
                }
                None => out.ledger.note(MADE_UP_CALL_ID),
            }
            let id = session.new_call_id(head.id);
            if !has_no_id(own) {
                session.renamed.insert(own, id.clone());
            }
            renamed = Some(id);
        }
        let id = renamed.clone().or_else(|| call.call_id.clone().map(Str::into_owned)).unwrap_or_default();
        let written = WrittenCall {
            key: own,
            id,
            name: call.name.clone().into_owned(),
            agent: head.agent.clone().map(Str::into_owned),
            parent_call: head.parent_call.clone().map(Str::into_owned),
        };
        session.calls.insert(head.id, written);
        session.pairs.call(own, head.id);
        if let Some(result) = session.early.remove(&head.id) {
            session.due(DueResult::Early(result));
        } else if self.outline.as_ref().is_some_and(|outline| outline.is_unanswered(head.id)) {
            session.due(DueResult::Missing(head.id));
        }
        renamed
    }

    /// Writes due results before the next step of the conversation. Parallel calls stay together, and so do their
    /// results.
    fn before_step(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        if head.kind == ItemKind::Message && head.author == Author::User {
            self.session.pairs.prompt();
        }
        if self.session.due.is_empty() {
            return;
        }
        let goes_on = match head.kind {
            ItemKind::ToolResult(_) => true,
            ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::Notice(_) => {
                head.author == Author::Assistant && !self.session.has_result
            }
        };
        if !goes_on {
            self.write_due(out);
        }
    }

    fn write_due(&mut self, out: &mut WriterOutput<'_>) {
        (self.session.has_result, self.session.has_orphan) = (false, false);
        while let Some(due) = self.session.due.pop_front() {
            match due {
                DueResult::Missing(call) => self.write_missing(call, out),
                DueResult::Early(held) => self.write_held(held, out),
                DueResult::Orphan(held) => {
                    let call = self.make_up_call(&held.head, out);
                    self.write_held(HeldResult { call, ..held }, out);
                }
            }
        }
    }

    /// Writes a placeholder result for a call without a result.
    fn write_missing(&mut self, item: ItemId, out: &mut WriterOutput<'_>) {
        let Some(call) = self.session.calls.remove(&item) else { return };
        self.session.pairs.close(call.key, item);
        if !self.has_results {
            return;
        }
        let WrittenCall { id, name, agent, parent_call, .. } = call;
        let kind = ItemKind::ToolResult(ToolResult { call_id: Some(id), name: Some(name) });
        let head = ItemHead { agent, parent_call, ..ItemHead::new(self.next_item(), kind, Author::Tool) };
        let item = head.id;
        let tail = ItemTail { is_error: Some(true), ..ItemTail::new(item, Status::Interrupted) };
        if self.write_made_up(head, Part::Text(Str::escaped(NO_RESULT)), tail, out) {
            out.ledger.note("made up the result of a call that has none");
        }
    }

    /// Writes a made-up call for a result without a call in the source. Returns the number of the call.
    fn make_up_call(&mut self, result: &ItemHead<'static>, out: &mut WriterOutput<'_>) -> Option<ItemId> {
        let ItemKind::ToolResult(ToolResult { call_id, name }) = &result.kind else { return None };
        let item = self.next_item();
        let own = call_id.as_ref().map_or(0, key);
        let id = match call_id {
            Some(id) if self.session.call_ids.insert(own) => id.clone(),
            _ => self.session.new_call_id(item),
        };
        let name = name.clone().filter(|_| self.names_results).unwrap_or(Str::escaped("unknown"));
        let call = ToolCall {
            call_id: Some(id.clone()),
            kind: CallKind::Function,
            namespace: None,
            name: name.clone(),
        };
        let (agent, parent_call) = (result.agent.clone(), result.parent_call.clone());
        let head = ItemHead {
            agent: agent.clone(),
            parent_call: parent_call.clone(),
            ..ItemHead::new(item, ItemKind::ToolCall(call), Author::Assistant)
        };
        let tail = ItemTail::new(item, Status::Completed);
        if self.write_made_up(head, Part::Args(Args::Json(Raw::new("{}"))), tail, out) {
            out.ledger.note("made up the call of a result that has none");
        }
        self.session.calls.insert(item, WrittenCall { key: own, id, name, agent, parent_call });
        Some(item)
    }

    /// Writes a made-up item.
    fn write_made_up(
        &mut self,
        head: ItemHead<'static>,
        part: Part<'static>,
        tail: ItemTail<'static>,
        out: &mut WriterOutput<'_>,
    ) -> bool {
        let (item, writer) = (head.id, &mut self.writer);
        if writer.takes(&head).is_err() {
            return false;
        }
        let out = &mut out.of_no_frame();
        writer.event(&Event::ItemStarted(head), out);
        let arrival = Arrival::Whole;
        writer.event(&Event::ItemDelta(Delta { item, part: 0, value: part, arrival }), out);
        writer.event(&Event::ItemCompleted(tail), out);
        true
    }

    /// Writes a held result after its call.
    fn write_held(&mut self, held: HeldResult, out: &mut WriterOutput<'_>) {
        let HeldResult { call, mut head, rest } = held;
        let mut out = out.of_earlier_frames();
        let call = call.and_then(|call| Some((call, self.session.calls.remove(&call)?)));
        let Some((item, WrittenCall { key, id, .. })) = call else {
            for event in std::iter::once(Event::ItemStarted(head)).chain(rest) {
                out.lose_event(ItemKindTag::Result, &event, Reason::Refused);
            }
            return;
        };
        self.session.pairs.close(key, item);
        if let ItemKind::ToolResult(result) = &mut head.kind {
            if let Some(own) = result.call_id.as_ref().filter(|own| **own != id) {
                out.lose_str(Field::ResultCallId, own, Reason::Refused);
            }
            result.call_id = Some(id);
        }
        if head.native_id.as_ref().is_some_and(|id| self.is_known(id, &mut out)) {
            head.native_id = None;
        }
        out.ledger.note("a result was moved behind its call");
        self.writer.event(&Event::ItemStarted(head), &mut out);
        for event in rest {
            self.writer.event(&event, &mut out);
        }
    }

    /// A number for a made-up item: readers count from one, and ids made of numbers have 48 bits for them.
    const fn next_item(&mut self) -> ItemId {
        self.made_up += 1;
        ItemId(1 << 47 | self.made_up)
    }

    /// Adds an event to a held result; returns whether the event belongs to one.
    fn hold(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) -> bool {
        let session = &mut self.session;
        if session.held.is_empty() {
            return false;
        }
        let Some(item) = event.item() else { return false };
        let Some(held) = session.held.get_mut(&item) else { return false };
        if let Event::ItemDelta(Delta { value, .. }) = event {
            session.held_bytes += size_of_part(value);
        }
        held.rest.push(event.clone().into_owned());
        if !matches!(event, Event::ItemCompleted(_)) {
            return true;
        }
        let Some(held) = session.held.remove(&item) else { return true };
        match held.call {
            Some(call) if session.held_bytes <= Self::MOST_HELD => _ = session.early.insert(call, held),
            _ => {
                session.held_bytes = 0;
                session.has_orphan = true;
                session.due(DueResult::Orphan(held));
                if session.open.len() == 0 {
                    self.write_due(out);
                }
            }
        }
        true
    }

    /// Writes the summary of a compaction as a message, unless the source has it in a message.
    fn compacted(&mut self, compaction: &Compaction<'_>, out: &mut WriterOutput<'_>) {
        let Some(summary) = &compaction.summary else { return };
        self.compactions += 1;
        let item = summary_item(self.compactions);
        if self.restoring || summary.is("") {
            return;
        }
        if self.outline.as_ref().is_some_and(|outline| outline.is_left_out(item)) {
            return out.lose_str(Field::CompactionSummary, summary, Reason::Abandoned);
        }
        self.write_due(out);
        let mut head = ItemHead::new(item, ItemKind::Message, Author::User);
        head.origin = Some(Origin::Summary);
        let tail = ItemTail::new(head.id, Status::Completed);
        if self.write_made_up(head, Part::Text(summary.clone().into_owned()), tail, out) {
            out.ledger.note("the summary of a compaction written as a message");
        }
    }

    fn end_session(&mut self, out: &mut WriterOutput<'_>) {
        let early = std::mem::take(&mut self.session.early);
        let mut early: Vec<HeldResult> = early.into_values().collect();
        early.sort_unstable_by_key(|held| held.head.id);
        self.session.due.extend(early.into_iter().map(DueResult::Orphan));
        let mut missing: Vec<ItemId> = self.session.calls.keys().copied().collect();
        missing.sort_unstable();
        // Results that are already due keep their place.
        self.session.due.extend(missing.into_iter().map(DueResult::Missing));
        self.write_due(out);
        self.session = SessionHistory::default();
    }
}

impl SessionHistory {
    fn due(&mut self, result: DueResult) {
        if self.due.is_empty() {
            self.has_result = false;
        }
        self.due.push_back(result);
    }

    /// A call id in the form that log writers use, unique in the session.
    fn new_call_id(&mut self, ItemId(number): ItemId) -> Str<'static> {
        let mut id = Str::from_plain(&format!("call_{number}"));
        let mut more = 1_u64;
        while !self.call_ids.insert(key(&id)) {
            id = Str::from_plain(&format!("call_{number}_{more}"));
            more += 1;
        }
        id
    }
}

/// Remarks about ids missing in the source.
pub(crate) const MADE_UP_CALL_ID: &str = "made up the id of a call";
pub(crate) const UNNAMED_RESULT: &str = "result without an id taken for that of the first open call";

/// The text of a placeholder result.
const NO_RESULT: &str = "[No result of this tool call was recorded.]";

pub(super) fn size_of_part(part: &Part<'_>) -> usize {
    match part {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => text.as_escaped().len(),
        Part::Json(json) => json.as_str().len(),
        Part::Media(media) => media.source.text().as_escaped().len(),
        Part::File(file) => file.diff.as_ref().map_or(0, |diff| diff.as_escaped().len()),
        Part::Args(Args::Text(text)) => text.as_escaped().len(),
        Part::Args(Args::Json(json)) => json.as_str().len(),
        Part::Citation(_) | Part::Opaque(_) | Part::Cache(_) => 64,
    }
}

impl Writer for HistoryWriter {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        if self.restoring {
            return self.writer.takes(head);
        }
        if self.outline.as_ref().is_some_and(|outline| outline.is_left_out(head.id)) {
            return Err(Reason::Abandoned);
        }
        let changed = self.with_agent(head);
        let head = changed.as_ref().unwrap_or(head);
        match self.writer.takes(head) {
            // The notice may hold an image that a later item refers to.
            Err(reason) if matches!(head.kind, ItemKind::Notice(_)) && head.within.is_none() => {
                self.assets.refuse(head.id, reason);
                return Ok(());
            }
            taken => taken?,
        }
        match &head.kind {
            ItemKind::ToolResult(result) => self.takes_result(head, result),
            ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::Notice(_) => Ok(()),
        }
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.restoring = owner == self.dialect;
        self.has_restored |= self.restoring;
        self.writer.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.writer.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if self.restoring {
            if let Event::Compacted(compaction) = event {
                self.compacted(compaction, out);
            }
            return self.writer.event(event, out);
        }
        if self.assets.take_refused(event, out) {
            return;
        }
        let joined = self.assets.joined(event);
        let event = joined.as_ref().unwrap_or(event);
        match event {
            Event::ItemStarted(head) => {
                if matches!(head.kind, ItemKind::Notice(_)) {
                    self.notice = Some(head.id);
                }
                let Some(own) = self.with_agent(head) else { return self.started(head, event, out) };
                if own.agent.is_some() {
                    out.ledger.note("a subagent without a name is named after the call that started it");
                } else if head.within.is_none_or(|around| self.session.open.get(around).is_none()) {
                    out.lose_some(Field::ItemAgent, head.agent.as_ref(), Reason::Narrowed);
                    out.lose_some(Field::ItemParentCall, head.parent_call.as_ref(), Reason::Narrowed);
                    out.ledger.note("an item of another agent written as one of this conversation");
                }
                return self.started(&own, &Event::ItemStarted(own.clone()), out);
            }
            Event::ItemDelta(delta) => {
                if let (true, Part::Media(media)) = (self.notice == Some(delta.item), &delta.value) {
                    self.assets.remember(media, true, out);
                }
                if self.hold(event, out) {
                    return;
                }
                // Gemini CLI and Qwen Code drop a message with an empty text, and the calls in it.
                if let Part::Text(text) = &delta.value
                    && text.is("")
                    && self.session.open.get(delta.item) == Some(&true)
                {
                    return;
                }
                let replaced = self.outline.as_ref().is_some_and(|outline| outline.is_replaced(delta.item));
                if let (true, Part::Text(_)) = (replaced, &delta.value) {
                    return out.lose_part(ItemKindTag::Message, &delta.value, Reason::Abandoned);
                }
            }
            Event::ItemCompleted(tail) => {
                if self.hold(event, out) {
                    return;
                }
                self.session.open.remove(tail.id);
                if self.session.has_orphan && self.session.open.len() == 0 {
                    self.writer.event(event, out);
                    return self.write_due(out);
                }
            }
            // The event of the first session may follow its first items.
            Event::SessionStarted(_) if std::mem::replace(&mut self.has_session, true) => {
                self.end_session(out);
            }
            Event::Compacted(compaction) => self.compacted(compaction, out),
            Event::Rewound(_) if self.outline.is_none() => {
                out.ledger.note("the source went back, but what it took back is written already");
            }
            _ => {}
        }
        self.writer.event(event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.end_session(out);
        self.assets.end(out);
        self.writer.finish(out);
    }
}
