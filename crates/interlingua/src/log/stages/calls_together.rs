//! Puts parallel calls into one message, for agents that treat a new response as the end of waiting for a call, or that
//! require the results of all calls before any other message. Items of the assistant between a call and its result join
//! the message of the call.

use super::{LogStage, Placement, joinable};
use crate::log::gather::GatheredItems;
use crate::model::{ItemHead, ItemKind};

/// Joins the items after a call to the message of the call.
#[derive(Debug, Default)]
pub struct CallsTogether;

impl LogStage for CallsTogether {
    fn place(&mut self, head: &ItemHead<'_>, items: &GatheredItems) -> Option<Placement> {
        let frame = joinable(head, items).filter(|_| items.has_call())?;
        Some(Placement::InFrame(frame, "what followed a call joined its message"))
    }

    fn needs_message(&self, kind: &ItemKind<'_>) -> bool {
        matches!(kind, ItemKind::ToolCall(_))
    }
}
