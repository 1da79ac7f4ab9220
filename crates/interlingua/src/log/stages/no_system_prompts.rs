//! Leaves out system and developer messages, in every log. A program adds its own system prompt to a resumed session: a
//! foreign prompt would replace it, or would become a user message.

use super::LogStage;
use crate::ledger::Reason;
use crate::model::{Author, ItemHead, ItemKind};

/// Refuses messages of the system and of developers.
#[derive(Debug, Default)]
pub(super) struct NoSystemPrompts;

impl LogStage for NoSystemPrompts {
    fn refuses(&mut self, head: &ItemHead<'_>) -> Option<Reason> {
        let is_prompt =
            head.kind == ItemKind::Message && matches!(head.author, Author::System | Author::Developer);
        is_prompt.then_some(Reason::Foreign)
    }
}
