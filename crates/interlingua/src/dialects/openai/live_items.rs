//! Items of a running Codex, which both of its live dialects share: parts that arrive in pieces and are then repeated as
//! a whole, and the arguments of calls.

use crate::json::{JsonBuffer, Raw, Str};
use crate::model::{Field, FileRef, ItemId, Part};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};

/// The sort of a part with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSort {
    Message,
    Reasoning,
    Summary,
    Output,
    Notice,
}

impl TextSort {
    const fn field(self) -> Field {
        match self {
            TextSort::Message => Field::MessageText,
            TextSort::Reasoning => Field::ReasoningText,
            TextSort::Summary => Field::ReasoningSummary,
            TextSort::Output => Field::ResultText,
            TextSort::Notice => Field::NoticeText,
        }
    }

    const fn part(self, text: Str<'_>) -> Part<'_> {
        match self {
            TextSort::Summary => Part::Summary(text),
            TextSort::Message | TextSort::Reasoning | TextSort::Output | TextSort::Notice => Part::Text(text),
        }
    }
}

/// The text parts of an open item.
#[derive(Debug, Default)]
pub(super) struct StreamedTexts(Vec<StreamedText>);

/// A text part: its sort, its index among the parts of this sort, and its escaped text so far. The position in the list
/// is the number of the part.
#[derive(Debug)]
struct StreamedText {
    sort: TextSort,
    index: u64,
    said: String,
}

impl StreamedTexts {
    /// The number of parts.
    pub(super) fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Reads a piece of a part.
    pub(super) fn piece(
        &mut self,
        item: ItemId,
        sort: TextSort,
        index: u64,
        piece: Val<'_>,
        out: &mut EventSink<'_>,
    ) {
        let Some(text) = piece.take_text(sort.field()) else { return };
        let (number, streamed) = self.part(sort, index);
        streamed.said.push_str(text.as_escaped());
        out.piece(item, number, sort.part(text));
    }

    /// Reads the whole text of a part. The text that the pieces already hold is only claimed.
    pub(super) fn whole(
        &mut self,
        item: ItemId,
        sort: TextSort,
        index: u64,
        whole: Val<'_>,
        out: &mut EventSink<'_>,
    ) {
        let Some(text) = whole.str() else { return };
        let said = self.0.iter().find(|part| part.sort == sort && part.index == index);
        if said.is_none_or(|part| part.said.is_empty()) {
            if text.is_empty() {
                whole.note(Field::Structure);
                return;
            }
            whole.take(sort.field());
            let (number, _) = self.part(sort, index);
            return out.delta(item, number, sort.part(text));
        }
        let (number, part) = self.part(sort, index);
        let (said, text) = (std::mem::take(&mut part.said), text.decode());
        match text.strip_prefix(&*Str::escaped(&said).decode()) {
            Some("") => drop(whole.take(sort.field())),
            Some(more) => {
                whole.take(sort.field());
                out.piece(item, number, sort.part(Str::plain(more)));
            }
            // The whole text remains in the line.
            None => out.note("a whole text differs from its pieces"),
        }
    }

    fn part(&mut self, sort: TextSort, index: u64) -> (u32, &mut StreamedText) {
        let known = self.0.iter().position(|part| part.sort == sort && part.index == index);
        let number = known.unwrap_or_else(|| {
            self.0.push(StreamedText { sort, index, said: String::new() });
            self.0.len() - 1
        });
        (number as u32, &mut self.0[number])
    }
}

/// An object of the named members that are present and not null.
pub(super) fn object_of(holder: Val<'_>, names: &[&str], field: Field) -> Raw<'static> {
    let mut buffer = JsonBuffer::default();
    let mut json = buffer.hold();
    json.object();
    for name in names {
        if let Some(value) = holder.get(name).filter(|value| !value.is_null()) {
            json.key(name).raw(&value.note(field));
        }
    }
    json.end_object();
    Raw::owned(buffer.held().to_owned())
}

/// A changed file. `exec` has no diff, and its kind is a word instead of an object.
pub(super) fn changed_file(change: Val<'_>) -> Option<FileRef<'_>> {
    let path = change.get("path").filter(|path| path.str().is_some())?;
    let kind = change.get("kind")?;
    let word = if kind.kind() == Kind::Object { kind.get("type")? } else { kind };
    let action = match word.str()?.as_escaped() {
        "add" => Str::escaped("write"),
        "update" => Str::escaped("patch"),
        other => Str::escaped(other).into_owned(),
    };
    word.note(Field::FileAction);
    Some(FileRef {
        path: path.take_text(Field::FilePath)?,
        action,
        diff: change.take_str("diff", Field::FileDiff),
    })
}

/// Claims members that repeat the value at the start of the item.
#[derive(Debug, Default)]
pub(super) struct RepeatedMembers(Vec<(&'static str, Field, String)>);

impl RepeatedMembers {
    /// Remembers the claimed values of the named members.
    pub(super) fn of(item: Val<'_>, names: &[&'static str]) -> Self {
        let claimed = |name: &&'static str| {
            let value = item.get(name)?;
            Some((*name, value.claimed().field()?, value.text().to_owned()))
        };
        Self(names.iter().filter_map(claimed).collect())
    }

    /// Remembers a member whose inner values were claimed.
    pub(super) fn add(&mut self, item: Val<'_>, name: &'static str, field: Field) {
        if let Some(value) = item.get(name) {
            self.0.push((name, field, value.text().to_owned()));
        }
    }

    /// Claims the members that have the same value again. Different values are left unclaimed.
    pub(super) fn claim(&self, item: Val<'_>) {
        for (name, field, json) in &self.0 {
            if let Some(value) = item.get(name).filter(|value| value.text() == json) {
                value.note(*field);
            }
        }
    }
}
