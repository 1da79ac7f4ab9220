//! Puts consecutive results into one message, for agents that require the results of all calls of a message in the message after it.
//! A source may have a message of the user around each result, and a message shows its content only later: so the first message of
//! the user after a result joins it, too.

use super::{LogStage, Placement};
use crate::log::gather::{GatheredContent, GatheredItem, GatheredItems};
use crate::model::{Author, ItemHead, ItemKind, ItemKindTag};

/// Joins a result, or a message that may hold one, to the message of the results before it.
#[derive(Debug, Default)]
pub struct ResultsTogether;

impl LogStage for ResultsTogether {
    fn place(&mut self, head: &ItemHead<'_>, items: &GatheredItems) -> Option<Placement> {
        // A result is moved out of a message of the assistant, and follows it.
        let is_moved = head.within.and_then(|around| items.item(around)).map(|around| around.frame().0);
        let is_moved = is_moved.map(|frame| frame.head().author == Author::Assistant);
        let may_hold_result = match head.kind {
            ItemKind::ToolResult(_) => is_moved != Some(false),
            ItemKind::Message => {
                head.within.is_none() && head.author == Author::User && head.origin.is_none()
            }
            ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::Notice(_) => false,
        };
        let before = items.apart().last().or_else(|| items.root()).filter(|_| may_hold_result)?;
        let is_joined = before.head().agent == head.agent && has_only_results(before);
        is_joined.then(|| Placement::InFrame(before.frame().1, "what followed a result joined its message"))
    }

    fn needs_message(&self, kind: &ItemKind<'_>) -> bool {
        matches!(kind, ItemKind::ToolResult(_))
    }
}

/// Whether a message holds results and nothing else.
fn has_only_results(message: GatheredItem<'_>) -> bool {
    let is_result = |content: &GatheredContent<'_>| match content {
        GatheredContent::Item(item) => matches!(item.head().kind, ItemKind::ToolResult(_)),
        GatheredContent::Part(_) => false,
    };
    let blocks = message.blocks();
    message.of() == ItemKindTag::Message && !blocks.is_empty() && blocks.iter().all(is_result)
}
