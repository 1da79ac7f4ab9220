//! Counting what a target is told of a conversation: items that say something, of the sorts that it can say.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use super::{ContentCounts, Identity, text_key};
use crate::model::{Event, Field, Fields, ItemHead, ItemId, ItemKind, Of, OpaqueKind, Part, Says, SaysTable};

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct ContentCounter {
    pub(super) counts: ContentCounts,
    /// Open messages and thoughts that have said nothing yet: a line that only holds calls is no message to people.
    silent: HashMap<ItemId, Of, BuildHasherDefault<Identity>>,
    /// Keys of the names of subagents of which items were left out.
    agents: HashSet<u128>,
}

/// The most subagents that are told apart.
const MOST_AGENTS: usize = 65_536;

impl ContentCounter {
    /// How many subagents were left out.
    pub(super) fn agents(&self) -> u64 {
        self.agents.len() as u64
    }

    /// The target has no place for this item.
    pub(super) fn left_out(&mut self, head: &ItemHead<'_>) {
        if let Some(agent) = &head.agent
            && self.agents.len() < MOST_AGENTS
        {
            self.agents.insert(text_key(agent.as_escaped()));
        }
    }

    /// The target is told this.
    #[inline]
    pub(super) fn told(&mut self, event: &Event<'_>, unsaid: &Fields, says: SaysTable) {
        match event {
            Event::ItemStarted(head) => match head.kind {
                ItemKind::Message | ItemKind::Reasoning => {
                    self.silent.insert(head.id, Of::item(&head.kind));
                }
                ItemKind::ToolCall(_) => self.counts.calls += u64::from(!unsaid.has(Field::CallName)),
                ItemKind::ToolResult(_) => self.counts.results += u64::from(!unsaid.has(Field::ResultText)),
                ItemKind::Notice(_) => {}
            },
            Event::ItemDelta(delta) if !self.silent.is_empty() => {
                if let Some(of) = self.silent.get(&delta.item).copied()
                    && says_something(of, &delta.value, unsaid, says)
                {
                    self.silent.remove(&delta.item);
                    match of {
                        Of::Reasoning => self.counts.reasoning += 1,
                        Of::Message | Of::Call | Of::Result | Of::Notice => self.counts.messages += 1,
                    }
                }
            }
            Event::ItemCompleted(tail) if !self.silent.is_empty() => _ = self.silent.remove(&tail.id),
            Event::Error(_) => self.counts.failures += u64::from(!unsaid.has(Field::ErrorMessage)),
            // All have said something, or it is no part of what people said and did.
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

/// Whether a part says something to people, and in this target.
fn says_something(of: Of, part: &Part<'_>, unsaid: &Fields, says: SaysTable) -> bool {
    let field = match part {
        Part::Text(text) if text.is_empty() => return false,
        Part::Text(_) => of.text(),
        Part::Summary(_) => Field::ReasoningSummary,
        Part::Media(_) => of.media(),
        Part::Json(_) => of.json(),
        Part::Refusal(_) => Field::Refusal,
        // Hidden thoughts are only for whom they come from; whoever says them to some may not say them here.
        Part::Opaque(opaque) if opaque.kind == OpaqueKind::Encrypted => {
            return matches!(says(Field::Encrypted), Says::Exactly | Says::Emulated(_));
        }
        Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Opaque(_) | Part::Cache(_) => return false,
    };
    !unsaid.has(field)
}
