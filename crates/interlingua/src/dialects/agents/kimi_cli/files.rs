//! Files whose state before and after is part of a result.

use crate::json::Str;
use crate::log::hunk_of;
use crate::model::{Field, FileRef, ItemId, Part};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};

/// Emits the changed files as parts, starting with number `first`.
pub(super) fn read_files(display: Option<Val<'_>>, item: ItemId, first: u32, out: &mut EventSink<'_>) {
    let diffs = display.into_iter().flat_map(|display| display.elements()).filter(is_diff);
    for (number, block) in (first..).zip(diffs) {
        block.note_str("type", Field::Structure);
        let text = |name| block.note_str(name, Field::FileDiff).map(|text| text.decode().into_owned());
        let start = |name| block.note_u64(name, Field::FileDiff).unwrap_or(1);
        let (old, new) = (text("old_text").unwrap_or_default(), text("new_text").unwrap_or_default());
        let hunk = hunk_of(&old, &new, (start("old_start"), start("new_start")));
        let action = if old.is_empty() { "write" } else { "patch" };
        let path = block.note_str("path", Field::FilePath).unwrap_or_default();
        let diff = Some(Str::from_plain(&hunk));
        out.delta(item, number, Part::File(FileRef { path, action: Str::escaped(action), diff }));
    }
}

fn is_diff(block: &Val<'_>) -> bool {
    let is_text = |name| block.get(name).is_some_and(|text| text.kind() == Kind::String);
    block.str_or_empty("type") == "diff" && ["path", "old_text", "new_text"].into_iter().all(is_text)
}
