//! Counts events as they come: a writer that writes nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use interlingua::json::Str;
use interlingua::ledger::Leftover;
use interlingua::model::{
    Author, Decision, Delta, Event, FileRef, ItemHead, ItemId, ItemKind, ItemTail, Origin, Part, Permission,
    Session, Status, Tally, Time, ToolCall, ToolResult, Turn, Usage, time,
};
use interlingua::pipe::{Target, Writer};

use super::sums::{CallResult, CountedCall, CountedResponses, FileChanges, Statistics, hash, widen};
use crate::prices::{self, Picodollars};

/// Counts one file and sends what it has when everything has been said.
pub(crate) struct StatsWriter {
    counted: Statistics,
    tally: Tally<CountedResponses>,
    /// Where the responses of this turn are, and what they cost as far as that was told.
    turn: (Vec<u64>, Picodollars),
    /// Hash of the session at hand.
    session: u64,
    /// The model that the session names, for responses that do not.
    model: Option<Arc<str>>,
    model_changed: bool,
    /// Responses of this session of which no model is known yet.
    without_model: Vec<u64>,
    now: Option<u64>,
    open: HashMap<ItemId, AwaitedItem>,
    /// Messages that stand for what was compacted.
    summaries: u64,
    /// For what has no id.
    unnamed: u64,
    /// Different for each file.
    seed: u64,
    done: Sender<Statistics>,
}

/// What must be known of an item when it ends.
enum AwaitedItem {
    Message {
        author: Author,
        /// Words of a person, if there are any.
        is_prompt: bool,
        says_something: bool,
    },
    Result {
        key: u64,
        time: Option<u64>,
    },
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
            summaries: 0,
            unnamed: 0,
            seed,
            done,
        }
    }

    fn session(&mut self, session: &Session<'_>) {
        if let Some(id) = &session.id {
            let nameless = self.session == self.seed;
            self.session = hash(&id.as_escaped());
            self.tally.responses.session = self.session;
            // What stood before the first name belongs to it.
            let before = self.counted.sessions.remove(&self.seed).filter(|_| nameless).flatten();
            let known = self.counted.sessions.entry(self.session).or_default();
            for time in before.into_iter().flat_map(|(first, last)| [first, last]) {
                widen(known, time);
            }
        }
        if let Some(model) = &session.model {
            let model = self.model_named(model);
            self.model_changed |= self.model.as_ref().is_some_and(|known| *known != model);
            self.model = Some(model);
        }
        self.clock(session.start.as_ref());
    }

    /// A file may hold several sessions: what is known of one does not hold for the next.
    fn end_session(&mut self) {
        let model = self.model.take().filter(|_| !self.model_changed);
        self.model_changed = false;
        // Records name the model of the session at their end. If there were several, nobody knows whose it was.
        for key in std::mem::take(&mut self.without_model) {
            if let Some(response) = self.tally.responses.by_id.get_mut(&key) {
                response.model = response.model.take().or_else(|| model.clone());
            }
        }
    }

    /// One string for each model, however many responses it gave.
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
        // Numbers have no zone of their own.
        let text = || {
            time.text().map_or_else(|| time::utc(time).unwrap_or_default(), |text| text.decode().into_owned())
        };
        self.counted.saw(millis, text);
        Some(millis)
    }

    fn unnamed(&mut self) -> u64 {
        self.unnamed += 1;
        hash(&(self.seed, self.unnamed))
    }

    fn started(&mut self, head: &ItemHead<'_>) {
        let time = self.clock(head.time.as_ref());
        // Sources that say nothing of their session are one.
        self.counted.sessions.entry(self.session).or_default();
        if head.copied_from.is_some() {
            // Another session said it.
            self.counted.copied += 1;
            return;
        }
        if let Some(agent) = &head.agent {
            self.counted.agents.insert(hash(&(self.session, agent.as_escaped())));
        }
        match &head.kind {
            ItemKind::Message => {
                let is_own = matches!(head.origin, None | Some(Origin::Own));
                self.summaries += u64::from(head.origin == Some(Origin::Summary));
                let is_prompt = head.author == Author::User && is_own && head.agent.is_none();
                let item = AwaitedItem::Message { author: head.author, is_prompt, says_something: false };
                self.open.insert(head.id, item);
            }
            ItemKind::Reasoning => self.counted.reasoning += 1,
            ItemKind::ToolCall(call) => self.call(call, head, time),
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                let key = match call_id {
                    Some(id) => hash(&(self.session, id.as_escaped())),
                    None => self.unnamed(),
                };
                let call = self.counted.calls.entry(key).or_default();
                if let (None, Some(name)) = (&call.name, name) {
                    call.name = Some(Arc::from(&*name.decode()));
                }
                self.open.insert(head.id, AwaitedItem::Result { key, time: time.or(self.now) });
            }
            ItemKind::Notice(_) => {}
        }
    }

    fn call(&mut self, call: &ToolCall<'_>, head: &ItemHead<'_>, time: Option<u64>) {
        let ToolCall { call_id, kind: _, namespace, name } = call;
        let name: Arc<str> = match namespace {
            Some(group) => Arc::from(format!("{}/{}", group.decode(), name.decode())),
            None => Arc::from(&*name.decode()),
        };
        let key = match call_id {
            Some(id) => hash(&(self.session, id.as_escaped())),
            None => self.unnamed(),
        };
        let began = time.or(self.now);
        // An id that comes again after its call was answered, at another time, is another call's.
        let is_over =
            |known: &CountedCall| known.name.is_some() && known.result.is_some() && known.began != began;
        if self.counted.calls.get(&key).is_some_and(is_over)
            && let Some(known) = self.counted.calls.remove(&key)
        {
            let free = self.unnamed();
            self.counted.calls.insert(free, known);
        }
        let known = self.counted.calls.entry(key).or_default();
        known.name = Some(name);
        known.by_agent |= head.agent.is_some();
        known.began = known.began.or(began);
    }

    fn delta(&mut self, delta: &Delta<'_>) {
        match (self.open.get_mut(&delta.item), &delta.value) {
            (
                Some(AwaitedItem::Message { says_something, .. }),
                Part::Text(_) | Part::Refusal(_) | Part::Media(_) | Part::Json(_),
            ) => *says_something = true,
            (Some(AwaitedItem::Result { .. }), Part::File(file)) => self.changed(file),
            _ => {}
        }
    }

    fn changed(&mut self, FileRef { path, action, diff }: &FileRef<'_>) {
        if action.is("read") {
            return;
        }
        let path = path.decode();
        if !self.counted.files.contains_key(&*path) {
            self.counted.files.insert(path.clone().into_owned(), FileChanges::default());
        }
        let Some(file) = self.counted.files.get_mut(&*path) else { return };
        file.times += 1;
        match diff {
            None => file.untold += 1,
            Some(diff) => {
                let (added, removed) = changed_lines(&diff.decode());
                file.added += added;
                file.removed += removed;
            }
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        match self.open.remove(&tail.id) {
            None => {}
            Some(AwaitedItem::Message { author, is_prompt, says_something }) => {
                let messages = &mut self.counted.messages;
                let count = match author {
                    Author::User => &mut messages.user,
                    Author::Assistant => &mut messages.assistant,
                    Author::System | Author::Developer | Author::Tool => &mut messages.other,
                };
                *count += u64::from(says_something);
                self.counted.turns += u64::from(is_prompt && says_something);
            }
            Some(AwaitedItem::Result { key, time }) => {
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

    /// A response tells what it has used so far, and perhaps what that costs.
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

    /// The key of a report without an id: each is of its own, but a copy of the file has it with the same time and counts.
    fn nameless(&mut self, usage: Option<&Usage>) -> u64 {
        let counts = usage.map(|usage| usage.counts().map(|(_, count)| count));
        let alike = self.now.map(|now| (0..MOST_ALIKE).map(move |number| hash(&(now, counts, number))));
        let free = alike.into_iter().flatten().find(|key| !self.tally.responses.by_id.contains_key(key));
        free.unwrap_or_else(|| self.unnamed())
    }

    /// Says of a response whose it is, when it was and what it cost.
    fn priced(&mut self, key: u64, model: Option<&Str<'_>>, cost: Option<&interlingua::json::Raw<'_>>) {
        let model = model.map(|model| self.model_named(model)).or_else(|| self.model.clone());
        let day = self.now.map(|now| now / DAY);
        let known = self.tally.responses.by_id.entry(key).or_default();
        known.model = known.model.take().or(model);
        if known.model.is_none() {
            self.without_model.push(key);
        }
        known.day = known.day.or(day);
        if let Some(cost) = cost.and_then(|cost| prices::told(cost.as_str())) {
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

    /// The counts and the cost of a turn are its totals: only what its responses have not told is added.
    fn turn_ended(&mut self, turn: &Turn<'_>) {
        self.clock(turn.time.as_ref());
        let more = self.tally.end_turn(turn.usage.as_ref());
        let cost = turn.cost.as_ref().and_then(|cost| prices::told(cost.as_str()));
        let (responses, known) = std::mem::take(&mut self.turn);
        if more.is_none() && cost.is_none() {
            return;
        }
        let rest = self.unnamed();
        if let Some(more) = more {
            self.tally.responses.by_id.entry(rest).or_default().usage = more;
            self.priced(rest, turn.model.as_ref(), None);
        }
        if let Some(cost) = cost {
            // What the turn cost is what its responses cost, so that no price file is asked for them; what they have not
            // told themselves goes to the last.
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
    fn event(&mut self, event: &Event<'_>, _: &mut Target<'_>) {
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
            Event::Compacted(_) => self.counted.compactions += 1,
            Event::SessionEnded(_)
            | Event::Request(_)
            | Event::Model(_)
            | Event::Rewound(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => {}
        }
    }

    /// Nothing goes anywhere, so nothing can be lost.
    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut Target<'_>) {
        self.end_session();
        let mut counted = std::mem::take(&mut self.counted);
        counted.responses = std::mem::take(&mut self.tally.responses);
        // A log tells that the conversation was compacted, or what stands for it, or both.
        counted.compactions = counted.compactions.max(self.summaries);
        // Whoever wanted it may have given up.
        let _ = self.done.send(counted);
    }
}

/// Lines that a unified diff adds and removes.
fn changed_lines(diff: &str) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    let mut in_hunk = false;
    for line in diff.lines() {
        if line.starts_with("@@") {
            in_hunk = true;
        } else if line.starts_with("diff ") {
            in_hunk = false;
        } else if in_hunk || !(line.starts_with("+++ ") || line.starts_with("--- ")) {
            added += u64::from(line.starts_with('+'));
            removed += u64::from(line.starts_with('-'));
        }
    }
    (added, removed)
}

/// A day in milliseconds.
const DAY: u64 = 86_400_000;
/// How many reports with the same time and counts are told apart by their number.
const MOST_ALIKE: u32 = 16;
/// How many responses of one turn share its cost; there are never nearly as many.
const MOST_OF_A_TURN: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_no_lines_and_lines_that_look_like_them_are() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n+++ counter\n--- rule\n\\ No newline\n";
        assert_eq!(changed_lines(diff), (2, 2));
        assert_eq!(changed_lines("+a\n-b\n c"), (1, 1));
    }
}
