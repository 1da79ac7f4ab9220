//! Leaves out reasoning that the program's own model has not signed, for programs whose API refuses unsigned
//! reasoning.

use super::LogStage;
use crate::ledger::Reason;
use crate::log::gather::GatheredItems;
use crate::model::{ItemId, ItemKindTag};
use crate::pipe::WriterOutput;

/// Removes the parts of unsigned reasoning.
#[derive(Debug, Default)]
pub struct SignedThoughts;

impl LogStage for SignedThoughts {
    fn completed(&mut self, item: ItemId, items: &mut GatheredItems, out: &mut WriterOutput<'_>) {
        for part in items.take_unsigned(item) {
            out.lose_part(ItemKindTag::Reasoning, &part, Reason::Refused);
        }
    }
}
