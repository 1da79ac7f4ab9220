//! Separates items that lie within an item of another author, in every log. A frame has a single author: reasoning and
//! calls are moved out of messages of any author but the assistant, results are moved out of assistant messages, and
//! only a message holds other items.

use super::{LogStage, Placement};
use crate::log::gather::GatheredItems;
use crate::model::{Author, ItemHead, ItemKind, ItemKindTag};

/// Moves an item out of a frame of another author.
#[derive(Debug, Default)]
pub(super) struct OneAuthor;

const MOVED_OUT: &str = "an item inside one that cannot hold it was put beside that one";

impl LogStage for OneAuthor {
    fn place(&mut self, head: &ItemHead<'_>, items: &GatheredItems) -> Option<Placement> {
        let around = items.item(head.within?)?;
        let (frame, number) = around.frame();
        let by_assistant = frame.head().author == Author::Assistant;
        // Items moved out of the current frame follow it, together with later items that fit there.
        let last = items.apart().last().filter(|last| {
            let by_assistant = [last.head().author, head.author] == [Author::Assistant; 2];
            last.of() == ItemKindTag::Message && by_assistant && last.says_anything()
        });
        match head.kind {
            ItemKind::ToolResult(_) if by_assistant || items.apart().next().is_some() => {
                Some(Placement::Apart(None))
            }
            ItemKind::Reasoning | ItemKind::ToolCall(_) if !by_assistant => Some(match last {
                Some(last) => Placement::InFrame(last.frame().1, MOVED_OUT),
                None => Placement::Apart(Some(MOVED_OUT)),
            }),
            _ if around.of() == ItemKindTag::Message => None,
            _ if frame.of() == ItemKindTag::Message && frame.head().author == head.author => {
                Some(Placement::InFrame(number, MOVED_OUT))
            }
            ItemKind::ToolResult(_) => Some(Placement::Apart(None)),
            ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::Notice(_) => {
                Some(Placement::Apart(Some(MOVED_OUT)))
            }
        }
    }
}
