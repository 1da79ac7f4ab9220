//! Counts of the conversation in the target: items with content of the kinds the target supports.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use super::{ContentCounts, Identity, text_key};
use crate::model::{
    Event, Field, Fields, ItemHead, ItemId, ItemKind, ItemKindTag, OpaqueKind, Part, Support, SupportTable,
};

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct ContentCounter {
    pub(super) counts: ContentCounts,
    /// Open messages and reasoning without content so far: a line that only holds calls does not count as a message.
    silent: HashMap<ItemId, ItemKindTag, BuildHasherDefault<Identity>>,
    /// Keys of the names of subagents whose items were left out.
    agents: HashSet<u128>,
}

/// The maximum number of subagents that are counted.
const MOST_AGENTS: usize = 65_536;

impl ContentCounter {
    /// The number of subagents with items left out.
    pub(super) fn agents(&self) -> u64 {
        self.agents.len() as u64
    }

    /// Counts an item that the target has no place for.
    pub(super) fn left_out(&mut self, head: &ItemHead<'_>) {
        if let Some(agent) = &head.agent
            && self.agents.len() < MOST_AGENTS
        {
            self.agents.insert(text_key(agent.as_escaped()));
        }
    }

    /// Counts an event passed to the target.
    #[inline]
    pub(super) fn told(&mut self, event: &Event<'_>, unsaid: &Fields, support: SupportTable) {
        match event {
            Event::ItemStarted(head) => match head.kind {
                ItemKind::Message | ItemKind::Reasoning => {
                    self.silent.insert(head.id, ItemKindTag::item(&head.kind));
                }
                ItemKind::ToolCall(_) => self.counts.calls += u64::from(!unsaid.has(Field::CallName)),
                ItemKind::ToolResult(_) => self.counts.results += u64::from(!unsaid.has(Field::ResultText)),
                ItemKind::Notice(_) => {}
            },
            Event::ItemDelta(delta) if !self.silent.is_empty() => {
                if let Some(of) = self.silent.get(&delta.item).copied()
                    && says_something(of, &delta.value, unsaid, support)
                {
                    self.silent.remove(&delta.item);
                    match of {
                        ItemKindTag::Reasoning => self.counts.reasoning += 1,
                        ItemKindTag::Message
                        | ItemKindTag::Call
                        | ItemKindTag::Result
                        | ItemKindTag::Notice => self.counts.messages += 1,
                    }
                }
            }
            Event::ItemCompleted(tail) if !self.silent.is_empty() => _ = self.silent.remove(&tail.id),
            Event::Error(_) => self.counts.failures += u64::from(!unsaid.has(Field::ErrorMessage)),
            // All open items have content, or the event is not part of the conversation.
            Event::ItemDelta(_)
            | Event::ItemCompleted(_)
            | Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Request(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::Model(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {}
        }
    }
}

/// Whether a part has content for people that the target supports.
fn says_something(of: ItemKindTag, part: &Part<'_>, unsaid: &Fields, support: SupportTable) -> bool {
    let field = match part {
        Part::Text(text) if text.is_empty() => return false,
        Part::Text(_) => of.text(),
        Part::Summary(_) => Field::ReasoningSummary,
        Part::Media(_) => of.media(),
        Part::Json(_) => of.json(),
        Part::Refusal(_) => Field::Refusal,
        // Encrypted reasoning may only be returned to its issuer, so `Less` does not count as delivered.
        Part::Opaque(opaque) if opaque.kind == OpaqueKind::Encrypted => {
            return matches!(support(Field::Encrypted), Support::Exactly | Support::Emulated(_));
        }
        Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Opaque(_) | Part::Cache(_) => return false,
    };
    !unsaid.has(field)
}
