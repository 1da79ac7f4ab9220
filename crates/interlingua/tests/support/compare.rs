//! Equality of a log and its record.

use interlingua::fold::{Content, Item};
use interlingua::model::{CallKind, ItemKind, Usage};

/// The counts that a record has members for.
pub fn in_records(usage: &Usage) -> [u64; 4] {
    [usage.all_input(), usage.cache_read, usage.output, usage.reasoning].map(Option::unwrap_or_default)
}

/// Normalises an item to the form of a record: the runner of a tool is not compared, and parts are renumbered.
pub fn as_in_records(item: &mut Item) {
    if let ItemKind::ToolCall(call) = &mut item.kind {
        call.kind = CallKind::Function;
    }
    let mut number = 0;
    for content in &mut item.content {
        match content {
            Content::Part(part, _) => {
                *part = number;
                number += 1;
            }
            Content::Item(inner) => as_in_records(inner),
        }
    }
}

pub fn is_unparsed(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Notice(notice) if notice.event_type.as_ref().is_some_and(|word| word.is("unparsed")))
}
