//! A line: its envelope, and what it says of its item.

use std::cell::Cell;

use crate::model::{Event, Field, ItemHead};
use crate::pipe::Events;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// A line with the members that any may have, found in one pass.
pub(super) struct CopilotLine<'t> {
    pub(super) root: Val<'t>,
    pub(super) kind: Option<Val<'t>>,
    /// What happened; of a line without `data`, the line itself.
    pub(super) data: Val<'t>,
    pub(super) id: Option<Val<'t>>,
    pub(super) parent: Option<Val<'t>>,
    time: Option<Val<'t>>,
    agent: Option<Val<'t>>,
    ephemeral: Option<Val<'t>>,
    /// Its time has been told as that of an event.
    has_clock: Cell<bool>,
}

impl<'t> CopilotLine<'t> {
    pub(super) fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<7> =
            WantedNames::new(["type", "data", "id", "timestamp", "parentId", "agentId", "ephemeral"]);
        let [kind, data, id, time, parent, agent, ephemeral] = root.find(&WANTED);
        let data = data.filter(|data| data.kind() == Kind::Object).unwrap_or(root);
        Self { root, kind, data, id, parent, time, agent, ephemeral, has_clock: Cell::new(false) }
    }

    pub(super) fn word(&self) -> &'t str {
        self.kind.word()
    }

    /// The subagent that says it; empty if none does.
    pub(super) fn agent(&self) -> &'t str {
        self.agent.word()
    }

    /// Whether it was printed and never stored.
    pub(super) fn is_ephemeral(&self) -> bool {
        self.ephemeral.is_some_and(|mark| mark.bool() == Some(true))
    }

    /// Tells the time of the line, before an event that is no item. The item of the line has it for its own.
    pub(super) fn clock(&self, out: &mut Events<'_>) {
        if let Some(time) = self.time.filter(|time| time.is_time() && !self.has_clock.replace(true)) {
            out.event(&Event::Clock(time.raw()));
        }
    }

    /// Tells an event that is no item; the item of the line follows it.
    pub(super) fn event(&self, event: &Event<'_>, out: &mut Events<'_>) {
        self.clock(out);
        out.event(event);
    }

    /// What the line says of its item, beyond what it is.
    pub(super) fn begin(&self, head: &mut ItemHead<'t>) {
        head.native_id = self.id.take_text(Field::ItemId);
        head.parent = self.parent.take_text(Field::ItemParent);
        head.agent = self.agent.take_text(Field::ItemAgent);
        head.time = self.time.take_time(Field::ItemTime);
    }
}
