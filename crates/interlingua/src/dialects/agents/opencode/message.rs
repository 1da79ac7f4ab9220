//! Messages: author, time, model and usage. In storage a message holds no content itself.

use super::moment;
use super::part::{self, PartMembers, Sort};
use crate::json::Str;
use crate::model::{
    Author, Event, Field, ItemHead, ItemId, ItemKind, Origin, Part, Session, Shape, Stop, StopClass, Turn,
    Usage, Words, time,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The members of a message that the reader uses.
pub(in crate::dialects::agents) struct MessageMembers<'t> {
    info: Val<'t>,
    pub(in crate::dialects::agents) id: Option<Val<'t>>,
    pub(in crate::dialects::agents) session: Option<Val<'t>>,
    role: Option<Val<'t>>,
    parent: Option<Val<'t>>,
    pub(in crate::dialects::agents) time: Option<Val<'t>>,
    model: Option<Val<'t>>,
    model_id: Option<Val<'t>>,
    provider: Option<Val<'t>>,
    mode: Option<Val<'t>>,
    agent: Option<Val<'t>>,
    tokens: Option<Val<'t>>,
    cost: Option<Val<'t>>,
    pub(in crate::dialects::agents) finish: Option<Val<'t>>,
    pub(in crate::dialects::agents) error: Option<Val<'t>>,
}

impl<'t> MessageMembers<'t> {
    pub(in crate::dialects::agents) fn new(info: Val<'t>) -> Self {
        const WANTED: WantedNames<14> = WantedNames::new([
            "id",
            "sessionID",
            "role",
            "parentID",
            "time",
            "model",
            "modelID",
            "providerID",
            "mode",
            "agent",
            "tokens",
            "cost",
            "finish",
            "error",
        ]);
        let [
            id,
            session,
            role,
            parent,
            time,
            model,
            model_id,
            provider,
            mode,
            agent,
            tokens,
            cost,
            finish,
            error,
        ] = info.find(&WANTED);
        let object = |val: Option<Val<'t>>| val.filter(|val| val.kind() == Kind::Object);
        Self {
            info,
            id,
            session,
            role,
            parent,
            time,
            model: object(model),
            model_id,
            provider,
            mode,
            agent,
            tokens: object(tokens),
            cost,
            finish,
            error: object(error),
        }
    }

    pub(in crate::dialects::agents) fn author(&self) -> Option<Author> {
        match self.role.word() {
            "user" => Some(Author::User),
            "assistant" => Some(Author::Assistant),
            _ => None,
        }
    }

    /// Session values of a message: the directory, the mode and the model from this message on.
    pub(in crate::dialects::agents) fn session_facts(&self) -> Session<'t> {
        let mut facts = Session {
            provider: self.provider.note_text(Field::SessionProvider),
            permission_mode: self.mode.or(self.agent).note_text(Field::PermissionMode),
            ..Session::default()
        };
        if let Some(path) = self.info.get("path") {
            facts.cwd = path.note_str("cwd", Field::SessionCwd);
        }
        if let Some(model) = self.model {
            // OpenCode requires a model; a message built from another agent's session may have `unknown`.
            let known = |name| model.get(name).filter(|word| !word.is("unknown"));
            facts.model = known("modelID").note_text(Field::SessionModel);
            facts.provider = known("providerID").note_text(Field::SessionProvider);
            facts.effort = model.note_str("variant", Field::SessionEffort);
        }
        facts
    }

    /// Emits the message, with its parts if the message holds them. `by_agent` marks a session that another agent
    /// started.
    pub(super) fn read(
        &self,
        author: Author,
        parts: Option<Val<'_>>,
        by_agent: bool,
        out: &mut EventSink<'_>,
    ) {
        let list = || parts.into_iter().flat_map(|parts| parts.elements()).map(PartMembers::new);
        // Emit events before the item: an entry after the item would receive the item's frame.
        if self.error.is_some() {
            out.event(&Event::Error(part::failure(self.error)));
        }
        for part in list().filter(|part| matches!(part.sort(), Sort::Retry | Sort::Compaction)) {
            out.within(part.root, |out| part::read_event(&part, out));
        }
        let own = list().any(|part| part.sort() == Sort::Text && part.aside.is_none());
        let aside = list().any(|part| part.sort() == Sort::Text && part.aside.is_some());
        let item = self.start(author, (by_agent, aside && !own), list(), out);
        if let Some(text) =
            self.info.take_str("system", Field::MessageText).filter(|_| author == Author::User)
        {
            let mut head = out.head(ItemKind::Message, Author::System);
            head.within = Some(item);
            let inner = out.start(head);
            out.delta(inner, 0, Part::Text(text));
            out.complete(inner);
        }
        for (number, part) in list().enumerate() {
            out.within(part.root, |out| {
                part::read_within(&part, number as u32, (item, author), own && aside, out);
            });
        }
        out.complete(item);
        let completed = self.time.and_then(|time| time.get("completed")).and_then(moment);
        // An aborted message ends with its last part.
        let ends = || list().filter_map(|part| part.time.and_then(|time| time.get("end")).and_then(moment));
        let end = completed.or_else(|| ends().max_by_key(|end| time::epoch_millis(&end.raw())));
        if let Some(end) = end.filter(|_| !self.usage(completed, out)) {
            out.event(&Event::Clock(end.note(Field::EventTime)));
        }
    }

    fn start<'p>(
        &self,
        author: Author,
        (by_agent, aside): (bool, bool),
        parts: impl Iterator<Item = PartMembers<'p>>,
        out: &mut EventSink<'_>,
    ) -> ItemId {
        let mut head = self.head(author, by_agent, out);
        let mut said = 0;
        for part in parts.filter(|part| matches!(part.sort(), Sort::Text | Sort::File)) {
            said += usize::from(aside || part.aside.is_none());
            if let (true, Some(mark)) = (aside, part.aside) {
                mark.note(Field::ItemOrigin);
                head.origin = Some(Origin::Harness);
            }
        }
        head.shape = if said > 1 { Shape::List } else { Shape::One };
        out.start(head)
    }

    /// The head of the message: its author, id, time and model. `by_agent` marks a session that another agent started.
    pub(in crate::dialects::agents) fn head(
        &self,
        author: Author,
        by_agent: bool,
        out: &mut EventSink<'_>,
    ) -> ItemHead<'t> {
        self.role.note_text(Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, author);
        head.native_id = self.id.take_text(Field::ItemId);
        head.parent = self.parent.take_text(Field::ItemParent);
        let created = self.time.and_then(|time| time.get("created")).and_then(moment);
        head.time = created.map(|time| time.take(Field::ItemTime));
        head.model = self.model_id.take_text(Field::ItemModel);
        head.origin = self.origin(author, by_agent);
        head
    }

    fn origin(&self, author: Author, by_agent: bool) -> Option<Origin> {
        let summary = self.info.get("summary").filter(|summary| summary.bool() == Some(true));
        match author {
            Author::Assistant => summary.map(|summary| {
                summary.note(Field::ItemOrigin);
                Origin::Summary
            }),
            _ => by_agent.then_some(Origin::Agent),
        }
    }

    /// Whether the message has the usage of a response.
    pub(in crate::dialects::agents) fn has_usage(&self) -> bool {
        let answer = self.tokens.map(|tokens| Answer { tokens, cost: self.cost, stop: self.finish });
        answer.is_some_and(|answer| answer.is_told())
    }

    /// Emits the usage of a response and the time of its completion. Steps of the message repeat the usage. Returns
    /// whether a time was emitted.
    pub(in crate::dialects::agents) fn usage(
        &self,
        completed: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) -> bool {
        let Some(tokens) = self.tokens else { return false };
        let answer = Answer { tokens, cost: self.cost, stop: self.finish };
        let effort = self.info.get("variant").filter(|_| self.role.word() == "assistant");
        let is_told = answer.is_told();
        if is_told {
            let id = self.id.and_then(|id| id.str());
            let model = self.model_id.and_then(|model| model.str());
            let effort = effort.note_text(Field::TurnEffort);
            let time = completed.map(|time| time.note(Field::TurnTime));
            out.event(&Event::Usage(Turn { id, model, time, effort, ..answer.turn() }));
        }
        is_told && completed.is_some()
    }
}

/// The end of a model response and its usage, from a message or from its last step.
pub(in crate::dialects::agents) struct Answer<'t> {
    pub(in crate::dialects::agents) tokens: Val<'t>,
    pub(in crate::dialects::agents) cost: Option<Val<'t>>,
    pub(in crate::dialects::agents) stop: Option<Val<'t>>,
}

impl<'t> Answer<'t> {
    /// Whether any count is above zero: OpenCode requires counts, and in a failed message or one built from another
    /// agent's session all are zero.
    pub(in crate::dialects::agents) fn is_told(&self) -> bool {
        let some = |val: Val<'_>| {
            val.kind() == Kind::Number && val.text().bytes().any(|byte| matches!(byte, b'1'..=b'9'))
        };
        let counts = |val: Val<'t>| val.member_values();
        let cache = self.tokens.get("cache").into_iter().flat_map(counts);
        self.stop.is_some()
            || self.cost.is_some_and(some)
            || self.tokens.member_values().chain(cache).any(some)
    }

    /// The response as a turn.
    pub(in crate::dialects::agents) fn turn(&self) -> Turn<'t> {
        let cache = self.tokens.get("cache");
        let cached = |name, field| cache.and_then(|cache| cache.note_u64(name, field));
        let reasoning = self.tokens.note_u64("reasoning", Field::UsageReasoning);
        let output = self.tokens.note_u64("output", Field::UsageOutput);
        let usage = Usage {
            input: self.tokens.note_u64("input", Field::UsageInput),
            cache_read: cached("read", Field::UsageCacheRead),
            cache_write: cached("write", Field::UsageCacheWrite),
            // OpenCode counts reasoning separately.
            output: output.map(|output| output.saturating_add(reasoning.unwrap_or(0))),
            reasoning,
            ..Usage::default()
        };
        let stop = self.stop.note_text(Field::StopReason);
        Turn {
            stop: stop.map(|raw: Str<'t>| Stop {
                class: STOPS.value(&raw).unwrap_or(StopClass::Other),
                raw: Some(raw),
                sequence: None,
                detail: None,
            }),
            usage: Some(usage),
            cost: self.cost.filter(|cost| cost.kind() == Kind::Number).map(|cost| cost.note(Field::Cost)),
            ..Turn::default()
        }
    }
}

/// OpenCode's words for the end of a response.
pub(in crate::dialects::agents) const STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "stop"),
    (StopClass::ToolUse, "tool-calls"),
    (StopClass::MaxTokens, "length"),
    (StopClass::Filter, "content-filter"),
    (StopClass::Error, "error"),
]);
