//! A line: its envelope and the values for its item.

use std::cell::Cell;

use crate::model::{Event, Field, ItemHead};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// A line with the members common to all lines, found in one pass.
pub(in crate::dialects::agents) struct CopilotLine<'t> {
    pub(in crate::dialects::agents) root: Val<'t>,
    pub(in crate::dialects::agents) kind: Option<Val<'t>>,
    /// The `data` object; for a line without `data`, the line itself.
    pub(in crate::dialects::agents) data: Val<'t>,
    pub(in crate::dialects::agents) id: Option<Val<'t>>,
    pub(in crate::dialects::agents) parent: Option<Val<'t>>,
    pub(in crate::dialects::agents) time: Option<Val<'t>>,
    agent: Option<Val<'t>>,
    ephemeral: Option<Val<'t>>,
    /// Set once the line's time was emitted as a clock event.
    has_clock: Cell<bool>,
}

impl<'t> CopilotLine<'t> {
    pub(in crate::dialects::agents) fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<7> =
            WantedNames::new(["type", "data", "id", "timestamp", "parentId", "agentId", "ephemeral"]);
        let [kind, data, id, time, parent, agent, ephemeral] = root.find(&WANTED);
        let data = data.filter(|data| data.kind() == Kind::Object).unwrap_or(root);
        Self { root, kind, data, id, parent, time, agent, ephemeral, has_clock: Cell::new(false) }
    }

    pub(in crate::dialects::agents) fn word(&self) -> &'t str {
        self.kind.word()
    }

    /// The subagent of the line; empty for the main agent.
    pub(in crate::dialects::agents) fn agent(&self) -> &'t str {
        self.agent.word()
    }

    /// Whether the line was only printed and never stored.
    pub(in crate::dialects::agents) fn is_ephemeral(&self) -> bool {
        self.ephemeral.is_some_and(|mark| mark.bool() == Some(true))
    }

    /// Emits the line's time before an event that is not an item. An item has the time in its head.
    pub(in crate::dialects::agents) fn clock(&self, out: &mut EventSink<'_>) {
        if let Some(time) = self.time.filter(|time| time.is_time() && !self.has_clock.replace(true)) {
            out.event(&Event::Clock(time.raw()));
        }
    }

    /// Emits an event that is not an item; the line's item follows.
    pub(in crate::dialects::agents) fn event(&self, event: &Event<'_>, out: &mut EventSink<'_>) {
        self.clock(out);
        out.event(event);
    }

    /// Fills the item's head from the line's envelope.
    pub(in crate::dialects::agents) fn begin(&self, head: &mut ItemHead<'t>) {
        head.native_id = self.id.take_text(Field::ItemId);
        head.parent = self.parent.take_text(Field::ItemParent);
        head.agent = self.agent.take_text(Field::ItemAgent);
        head.time = self.time.take_time(Field::ItemTime);
    }
}
