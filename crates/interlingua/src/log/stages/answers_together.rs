//! Puts consecutive items of the assistant into one message, for agents whose response is one message with its
//! reasoning, texts and calls. [`CallsTogether`](super::CallsTogether) joins fewer items: only those after a call.

use super::{LogStage, Placement, joinable};
use crate::log::gather::GatheredItems;
use crate::model::{ItemHead, ItemKind};

/// Joins the items of a response to the first of them.
#[derive(Debug, Default)]
pub struct AnswersTogether;

impl LogStage for AnswersTogether {
    fn place(&mut self, head: &ItemHead<'_>, items: &GatheredItems) -> Option<Placement> {
        let frame = joinable(head, items)?;
        Some(Placement::InFrame(frame, "what was said in a row joined one message"))
    }

    fn needs_message(&self, kind: &ItemKind<'_>) -> bool {
        matches!(kind, ItemKind::ToolCall(_) | ItemKind::Reasoning)
    }
}
