//! Counts events as they arrive: a writer without output.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use interlingua::json::Str;
use interlingua::ledger::Leftover;
use interlingua::model::{
    Author, Decision, Delta, Event, FileRef, ItemHead, ItemId, ItemKind, ItemTail, Origin, Part, Permission,
    Session, Status, Tally, Time, ToolCall, ToolResult, Turn, Usage, time,
};
use interlingua::pipe::{Writer, WriterOutput};
use interlingua_models::prices::{self, Picodollars};
use sha2::{Digest as _, Sha256};

use super::sums::{
    CallResult, CountedCall, CountedChange, CountedMessage, CountedResponses, Statistics, hash, id_key, widen,
};
use crate::diffs;

/// Counts one file and sends its statistics at the end.
pub(crate) struct StatsWriter {
    counted: Statistics,
    tally: Tally<CountedResponses>,
    /// The keys of the responses in this turn, and the sum of their costs given by the log.
    turn: (Vec<u128>, Picodollars),
    /// Hash of the current session.
    session: u128,
    /// The model of the session, for responses that name none.
    model: Option<Arc<str>>,
    model_changed: bool,
    /// Responses of this session without a model so far.
    without_model: Vec<u128>,
    now: Option<u64>,
    open: HashMap<ItemId, AwaitedItem>,
    /// Whether the current session belongs to a subagent, and whether it has a prompt of a person.
    is_agents: bool,
    has_prompt: bool,
    /// How often each identity occurred in this file. Equal items are counted separately, and a second file of the
    /// session yields the same keys.
    alike: HashMap<u128, u32>,
    /// The key of a session without an id; different for each file.
    seed: u128,
    done: Sender<Statistics>,
}

/// The facts about an open item that are needed at its end.
struct AwaitedItem {
    kind: AwaitedKind,
    /// Members that the blocks of a message inherit.
    shared: BlockHead,
    /// Hash of the session and the item's id or time. Without an id and a time, the hash of its content identifies the
    /// item.
    identity: u128,
    content: Option<Sha256>,
}

#[derive(Clone, Copy)]
enum AwaitedKind {
    Message { author: Author, is_prompt: bool, is_summary: bool, has_content: bool },
    Reasoning,
    Result { key: u128, time: Option<u64>, changes: u32 },
}

/// The members that blocks do not repeat from their message.
#[derive(Clone, Copy, Default)]
struct BlockHead {
    by_agent: bool,
    is_copied: bool,
    time: Option<u64>,
}

impl StatsWriter {
    pub(crate) fn new(file: &str, done: Sender<Statistics>) -> Self {
        let seed = hash(&file);
        Self {
            counted: Statistics::default(),
            tally: Tally::default(),
            turn: (Vec::new(), 0),
            session: seed,
            model: None,
            model_changed: false,
            without_model: Vec::new(),
            now: None,
            open: HashMap::new(),
            is_agents: false,
            has_prompt: false,
            alike: HashMap::new(),
            seed,
            done,
        }
    }

    fn session(&mut self, session: &Session<'_>) {
        self.counted.headline.session(session);
        if let Some(id) = &session.id {
            let nameless = self.session == self.seed;
            self.session = hash(&id.as_escaped());
            self.tally.responses.session = self.session;
            // Items before the first session id belong to that session.
            let before = self.counted.sessions.remove(&self.seed).filter(|_| nameless).flatten();
            let known = self.counted.sessions.entry(self.session).or_default();
            for time in before.into_iter().flat_map(|(first, last)| [first, last]) {
                widen(known, time);
            }
        }
        if session.parent_call.is_some() {
            self.is_of_an_agent();
        }
        if let Some(model) = &session.model {
            let model = self.model_named(model);
            self.model_changed |= self.model.as_ref().is_some_and(|known| *known != model);
            self.model = Some(model);
        }
        self.clock(session.start.as_ref());
    }

    /// Ends the current session: a file may hold several sessions, and facts of a session do not apply to the next.
    fn end_session(&mut self) {
        let model = self.model.take().filter(|_| !self.model_changed);
        self.model_changed = false;
        (self.is_agents, self.has_prompt) = (false, false);
        // Records name the model of the session at their end. With several models, the model of a response is unknown.
        for key in std::mem::take(&mut self.without_model) {
            if let Some(response) = self.tally.responses.by_id.get_mut(&key) {
                response.model = response.model.take().or_else(|| model.clone());
            }
        }
    }

    /// Returns a shared string for each model, however many responses it gave.
    fn model_named(&self, model: &Str<'_>) -> Arc<str> {
        let name = model.decode();
        match &self.model {
            Some(known) if **known == *name => Arc::clone(known),
            _ => Arc::from(&*name),
        }
    }

    fn clock(&mut self, time: Option<&Time<'_>>) -> Option<u64> {
        let time = time?;
        let millis = time::epoch_millis(time)?;
        self.now = Some(millis);
        widen(self.counted.sessions.entry(self.session).or_default(), millis);
        // Numeric times have no zone of their own.
        let text = || {
            time.text().map_or_else(|| time::utc(time).unwrap_or_default(), |text| text.decode().into_owned())
        };
        self.counted.saw(millis, text);
        Some(millis)
    }

    /// The key for an identity; repeated identities get different keys.
    fn key(&mut self, identity: &impl Hash) -> u128 {
        let identity = hash(&(self.session, hash(identity)));
        let number = self.alike.entry(identity).or_default();
        *number += 1;
        hash(&(identity, *number))
    }

    /// Marks the current session as a subagent's. Its id is the name that the parent session uses.
    fn is_of_an_agent(&mut self) {
        self.is_agents = true;
        self.counted.agents.insert(self.session);
    }

    fn started(&mut self, head: &ItemHead<'_>) {
        let time = self.clock(head.time.as_ref());
        // A source without a session id counts as one session.
        self.counted.sessions.entry(self.session).or_default();
        let of_message = head.within.and_then(|message| Some(self.open.get(&message)?.shared));
        let of_message = of_message.unwrap_or_default();
        let shared = BlockHead {
            by_agent: of_message.by_agent || head.agent.is_some() || self.is_agents,
            is_copied: of_message.is_copied || head.copied_from.is_some(),
            time: time.or(of_message.time),
        };
        let when = shared.time.or(self.now);
        let identity = match &head.native_id {
            Some(id) => hash(&(id_key(id, self.session), kind_word(&head.kind))),
            None => hash(&(when, kind_word(&head.kind))),
        };
        if shared.is_copied {
            // The item was copied from another session.
            let key = self.key(&identity);
            self.counted.copied.insert(key);
            let kind = AwaitedKind::Message {
                author: head.author,
                is_prompt: false,
                is_summary: false,
                has_content: false,
            };
            // The blocks of a copied message are copies, too.
            if matches!(head.kind, ItemKind::Message) {
                self.open.insert(head.id, AwaitedItem { kind, shared, identity, content: None });
            }
            return;
        }
        if let Some(agent) = &head.agent {
            self.counted.agents.insert(id_key(agent, self.session));
        }
        let is_unnamed = head.native_id.is_none() && when.is_none();
        let content = is_unnamed.then(Sha256::new);
        let kind = match &head.kind {
            ItemKind::Message => {
                let of_person = matches!(head.origin, None | Some(Origin::Own));
                let is_prompt = head.author == Author::User && of_person && !shared.by_agent;
                self.has_prompt |= is_prompt;
                let of_agent = head.author == Author::User && head.origin == Some(Origin::Agent);
                if of_agent && head.agent.is_none() && !self.has_prompt {
                    // The first prompt in a subagent's session was written by another agent.
                    self.is_of_an_agent();
                }
                let is_summary = head.origin == Some(Origin::Summary);
                AwaitedKind::Message { author: head.author, is_prompt, is_summary, has_content: false }
            }
            ItemKind::Reasoning => AwaitedKind::Reasoning,
            ItemKind::ToolCall(call) => return self.call(call, shared, identity),
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                let key = match call_id {
                    Some(id) => hash(&(self.session, id.as_escaped())),
                    None => self.key(&identity),
                };
                let call = self.counted.calls.entry(key).or_default();
                if let (None, Some(name)) = (&call.name, name) {
                    call.name = Some(Arc::from(&*name.decode()));
                }
                AwaitedKind::Result { key, time: when, changes: 0 }
            }
            ItemKind::Notice(_) => return,
        };
        self.open.insert(head.id, AwaitedItem { kind, shared, identity, content });
    }

    fn call(&mut self, call: &ToolCall<'_>, shared: BlockHead, identity: u128) {
        let ToolCall { call_id, kind: _, namespace, name } = call;
        let name: Arc<str> = match namespace {
            Some(group) => Arc::from(format!("{}/{}", group.decode(), name.decode())),
            None => Arc::from(&*name.decode()),
        };
        let key = match call_id {
            Some(id) => hash(&(self.session, id.as_escaped())),
            None => self.key(&(identity, &*name)),
        };
        let began = shared.time.or(self.now);
        // If an id repeats at another time after its call has a result, it belongs to another call.
        let is_over =
            |known: &CountedCall| known.name.is_some() && known.result.is_some() && known.began != began;
        if self.counted.calls.get(&key).is_some_and(is_over)
            && let Some(known) = self.counted.calls.remove(&key)
        {
            self.counted.calls.insert(hash(&(key, known.began)), known);
        }
        let known = self.counted.calls.entry(key).or_default();
        known.name = Some(name);
        known.by_agent |= shared.by_agent;
        known.began = known.began.or(began);
    }

    fn delta(&mut self, delta: &Delta<'_>) {
        let Some(item) = self.open.get_mut(&delta.item) else { return };
        if let (Some(content), Part::Text(text)) = (&mut item.content, &delta.value) {
            content.update(text.decode().as_bytes());
        }
        match (&mut item.kind, &delta.value) {
            (
                AwaitedKind::Message { has_content, is_prompt, .. },
                Part::Text(_) | Part::Refusal(_) | Part::Media(_) | Part::Json(_),
            ) => {
                *has_content = true;
                if *is_prompt {
                    self.counted.headline.prompt(delta);
                }
            }
            (AwaitedKind::Result { key, changes, .. }, Part::File(file)) => {
                *changes += 1;
                let change = hash(&(*key, *changes));
                self.changed(change, file);
            }
            _ => {}
        }
    }

    fn changed(&mut self, change: u128, FileRef { path, action, diff }: &FileRef<'_>) {
        if action.is("read") {
            return;
        }
        let path = path.decode();
        if !self.counted.files.contains_key(&*path) {
            self.counted.files.insert(path.clone().into_owned(), HashMap::new());
        }
        let Some(file) = self.counted.files.get_mut(&*path) else { return };
        // A call with two results reports two changes.
        let mut change = change;
        while file.contains_key(&change) {
            change = hash(&change);
        }
        file.insert(change, CountedChange { lines: diff.as_ref().map(|diff| changed_lines(&diff.decode())) });
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let Some(AwaitedItem { kind, shared, identity, content }) = self.open.remove(&tail.id) else {
            return;
        };
        if shared.is_copied {
            return;
        }
        self.counted.headline.completed(tail.id);
        let identity = (identity, content.map(|content| <[u8; 32]>::from(content.finalize())));
        match kind {
            AwaitedKind::Message { author, is_prompt, is_summary, has_content } => {
                let key = self.key(&identity);
                if is_summary {
                    self.counted.compacted.entry(self.session).or_default().summaries.insert(key);
                }
                if has_content {
                    self.counted.said.insert(key, CountedMessage { author, is_prompt });
                }
            }
            AwaitedKind::Reasoning => {
                let key = self.key(&identity);
                self.counted.reasoning.insert(key);
            }
            AwaitedKind::Result { key, time, .. } => {
                let call = self.counted.calls.entry(key).or_default();
                let between = || Some(time?.saturating_sub(call.began?));
                call.result = Some(CallResult {
                    is_error: tail.is_error == Some(true) || tail.status == Status::Failed,
                    bad_exit: tail.exit_code.is_some_and(|code| code != 0),
                    millis: tail.duration.or_else(between),
                });
            }
        }
    }

    /// Updates the usage, and perhaps the cost, of a response.
    fn used(&mut self, turn: &Turn<'_>) {
        let Turn { id, model, time, usage, cost, .. } = turn;
        self.clock(time.as_ref());
        if usage.is_none() && cost.is_none() {
            return;
        }
        let key = match id {
            Some(id) => self.tally.responses.key(id),
            None => self.nameless(usage.as_ref()),
        };
        if let Some(usage) = usage {
            let more = self.tally.increase(id.as_ref(), usage);
            if id.is_none() {
                self.tally.responses.by_id.entry(key).or_default().usage = more;
            }
        }
        self.priced(key, model.as_ref(), cost.as_ref());
    }

    /// The key of a usage report without an id: reports in a file are distinct, but a copy of the file has equal times
    /// and counts.
    fn nameless(&mut self, usage: Option<&Usage>) -> u128 {
        let counts = usage.map(|usage| usage.counts().map(|(_, count)| count));
        let alike = self.now.map(|now| (0..MOST_ALIKE).map(move |number| hash(&(now, counts, number))));
        let free = alike.into_iter().flatten().find(|key| !self.tally.responses.by_id.contains_key(key));
        free.unwrap_or_else(|| self.key(&("response", counts)))
    }

    /// Sets the model, the day and the cost of a response.
    fn priced(&mut self, key: u128, model: Option<&Str<'_>>, cost: Option<&interlingua::json::Raw<'_>>) {
        let model = model.map(|model| self.model_named(model)).or_else(|| self.model.clone());
        let day = self.now.map(|now| now / DAY);
        let known = self.tally.responses.by_id.entry(key).or_default();
        known.model = known.model.take().or(model);
        if known.model.is_none() {
            self.without_model.push(key);
        }
        known.day = known.day.or(day);
        if let Some(cost) = cost.and_then(|cost| prices::cost_of_text(cost.as_str())) {
            let before = known.told.replace(cost).unwrap_or(0);
            self.turn.1 += cost.saturating_sub(before);
        }
        if self.turn.0.len() < MOST_OF_A_TURN {
            self.turn.0.push(key);
        }
    }

    fn turn_started(&mut self, turn: &Turn<'_>) {
        self.turn = (Vec::new(), 0);
        let _ = self.tally.begin_turn(None, None);
        self.used(turn);
    }

    /// The counts and the cost of a turn are totals: only the part that its responses did not report is added.
    fn turn_ended(&mut self, turn: &Turn<'_>) {
        self.clock(turn.time.as_ref());
        let more = self.tally.end_turn(turn.usage.as_ref());
        let cost = turn.cost.as_ref().and_then(|cost| prices::cost_of_text(cost.as_str()));
        let (responses, known) = std::mem::take(&mut self.turn);
        if more.is_none() && cost.is_none() {
            return;
        }
        let rest = self.key(&("turn", self.now, more.map(|more| more.counts().map(|(_, count)| count))));
        if let Some(more) = more {
            self.tally.responses.by_id.entry(rest).or_default().usage = more;
            self.priced(rest, turn.model.as_ref(), None);
        }
        if let Some(cost) = cost {
            // The cost of the turn covers its responses, so no price is looked up for them. The part that the responses
            // did not report is added to the last response.
            for response in responses.iter().chain([&rest]) {
                if let Some(response) = self.tally.responses.by_id.get_mut(response) {
                    response.told.get_or_insert(0);
                }
            }
            let last = responses.last().copied().unwrap_or(rest);
            self.priced(last, turn.model.as_ref(), None);
            let last = self.tally.responses.by_id.entry(last).or_default();
            last.told = Some(last.told.unwrap_or(0) + cost.saturating_sub(known));
        }
        self.turn = (Vec::new(), 0);
    }

    fn asked(&mut self, permission: &Permission<'_>) {
        let denied = matches!(permission.answer, Some(Decision::Reject(_)));
        let key = hash(&(self.session, permission.id.as_escaped()));
        *self.counted.permissions.entry(key).or_default() |= denied;
    }
}

impl Writer for StatsWriter {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                self.end_session();
                self.session(session);
            }
            Event::SessionUpdated(session) => self.session(session),
            Event::Clock(time) => _ = self.clock(Some(time)),
            Event::TurnStarted(turn) => self.turn_started(turn),
            Event::TurnEnded(turn) => self.turn_ended(turn),
            Event::Usage(turn) => self.used(turn),
            Event::ItemStarted(head) => self.started(head),
            Event::ItemDelta(delta) => self.delta(delta),
            Event::ItemCompleted(tail) => self.completed(tail),
            Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
                self.asked(permission);
            }
            Event::Compacted(_) => {
                let key = self.key(&("compaction", self.now));
                self.counted.compacted.entry(self.session).or_default().events.insert(key);
            }
            Event::SessionEnded(_)
            | Event::Request(_)
            | Event::Model(_)
            | Event::Rewound(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => {}
        }
    }

    /// This writer has no output, so leftovers are not lost.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {
        self.end_session();
        let mut counted = std::mem::take(&mut self.counted);
        counted.responses = std::mem::take(&mut self.tally.responses);
        // The receiver may be gone already.
        let _ = self.done.send(counted);
    }
}

/// The name of an item's kind, for its identity.
const fn kind_word(kind: &ItemKind<'_>) -> &'static str {
    match kind {
        ItemKind::Message => "message",
        ItemKind::Reasoning => "reasoning",
        ItemKind::ToolCall(_) => "call",
        ItemKind::ToolResult(_) => "result",
        ItemKind::Notice(_) => "notice",
    }
}

/// The number of lines that a unified diff adds and removes.
fn changed_lines(diff: &str) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    for line in diffs::content_lines(diff) {
        added += u64::from(line.starts_with('+'));
        removed += u64::from(line.starts_with('-'));
    }
    (added, removed)
}

/// A day in milliseconds.
const DAY: u64 = 86_400_000;
/// How many reports with the same time and counts are numbered.
const MOST_ALIKE: u32 = 16;
/// How many responses of one turn share its cost; real turns have far fewer.
const MOST_OF_A_TURN: usize = 65_536;
