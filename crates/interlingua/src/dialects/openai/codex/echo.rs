//! Pairs each `response_item` with its echo. Codex writes messages and reasoning twice: as the `response_item` that is
//! sent to the model, and as the `event_msg` that the screen showed. The two lines are neighbours, in either order, and
//! become one item. Pairing compares their texts.

use crate::model::{Author, Field, ItemId, ItemKind};
use crate::tape::Val;

/// The speaker of a line. Codex echoes the first three, each independently.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    User,
    Assistant,
    Reasoning,
    /// A second agent that sends input to the current agent.
    Agent,
    Developer,
    System,
}

impl Voice {
    pub(super) const fn kind(self) -> ItemKind<'static> {
        match self {
            Voice::Reasoning => ItemKind::Reasoning,
            Voice::User | Voice::Assistant | Voice::Agent | Voice::Developer | Voice::System => {
                ItemKind::Message
            }
        }
    }

    /// The field for plain text in an item of this speaker.
    pub(super) const fn text(self) -> Field {
        match self {
            Voice::Reasoning => Field::ReasoningText,
            Voice::User | Voice::Assistant | Voice::Agent | Voice::Developer | Voice::System => {
                Field::MessageText
            }
        }
    }

    pub(super) const fn author(self) -> Author {
        match self {
            Voice::User | Voice::Agent => Author::User,
            Voice::Assistant | Voice::Reasoning => Author::Assistant,
            Voice::Developer => Author::Developer,
            Voice::System => Author::System,
        }
    }
}

/// The form in which a line holds a message or reasoning.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    /// A `response_item`.
    Item,
    /// An echo with a list of texts, like the item's own list (`item_completed`).
    Done,
    /// An echo with one string: all texts of a message joined, or one text of reasoning (older logs).
    Shown,
    /// Both forms have been read, or the speaker has no line yet.
    #[default]
    Both,
}

/// How the current line relates to the speaker's previous line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The second form of the line directly before.
    Beside,
    /// The next text of reasoning that is echoed text by text; the item already has `parts` parts.
    More { item: ItemId, parts: usize },
    /// The second form of a line further back.
    Earlier,
    /// A new item.
    New,
}

/// The last message or reasoning of each speaker.
#[derive(Default)]
pub(super) struct Echoes {
    said: [Said; 6],
    /// The texts of the current line.
    now: Texts,
    /// Set when the texts of the current line exceed the comparison limit.
    pub(super) too_long: bool,
    /// The echoed item that waits for its `response_item`.
    pub(super) open: Option<(Voice, ItemId)>,
}

#[derive(Default)]
struct Said {
    texts: Texts,
    form: Form,
    frame: u64,
    id: String,
    time: String,
    item: Option<ItemId>,
}

/// Escaped texts, concatenated, with the end and the field of each.
#[derive(Default)]
struct Texts {
    text: String,
    ends: Vec<(usize, Field)>,
}

impl Echoes {
    /// The longest text that is compared. Storing a longer text would cost as much memory as the line.
    const MOST: usize = 1 << 20;

    pub(super) fn begin(&mut self) {
        self.now.text.clear();
        self.now.ends.clear();
        self.too_long = false;
    }

    /// Adds a string of the current line, as a text of this field.
    pub(super) fn hear(&mut self, val: Val<'_>, field: Field) {
        let text = val.text();
        if is_image_mark(&text[1..text.len() - 1]) {
            return;
        }
        self.too_long |= text.len() > Self::MOST;
        if !self.too_long {
            self.now.text.push_str(&text[1..text.len() - 1]);
        }
        self.now.ends.push((self.now.text.len(), field));
    }

    /// The first text of the current line, still escaped, unless the line exceeds the limit.
    pub(super) fn first(&self) -> Option<&str> {
        let (end, _) = self.now.ends.first()?;
        self.now.text.get(..*end)
    }

    /// Pairs the current line with the speaker's previous line if their texts match.
    pub(super) fn find(&mut self, voice: Voice, form: Form, frame: u64) -> Found {
        let (said, now) = (&mut self.said[voice as usize], &self.now);
        let (then, texts) = (&said.texts, said.texts.ends.len());
        let is_next = said.frame + 1 == frame;
        let same = match (form, said.form) {
            _ if texts == 0 => false,
            (Form::Shown, Form::Item) if voice != Voice::Reasoning => now.text == then.text,
            (Form::Done | Form::Shown, Form::Item) => now.text == then.text && now.ends == then.ends,
            // A reasoning item may hold more texts than its echo.
            (Form::Item, Form::Done | Form::Shown) => {
                now.text.starts_with(&then.text)
                    && now.ends.starts_with(&then.ends)
                    && (voice == Voice::Reasoning || now.ends.len() == texts)
            }
            _ => false,
        };
        if same {
            said.form = Form::Both;
            return if is_next { Found::Beside } else { Found::Earlier };
        }
        let shown = (voice, form, said.form) == (Voice::Reasoning, Form::Shown, Form::Shown);
        if let Some((Voice::Reasoning, item)) = self.open.filter(|_| shown && is_next) {
            let length = said.texts.text.len();
            said.texts.text.push_str(&now.text);
            said.texts.ends.extend(now.ends.iter().map(|&(end, field)| (end + length, field)));
            said.frame = frame;
            return Found::More { item, parts: texts };
        }
        Found::New
    }

    /// The item of the speaker's last line.
    pub(super) fn item(&self, voice: Voice) -> Option<ItemId> {
        self.said[voice as usize].item
    }

    /// The number of texts in the speaker's last line.
    pub(super) fn known(&self, voice: Voice) -> usize {
        self.said[voice as usize].texts.ends.len()
    }

    /// Stores the current line's texts with its item, for pairing with later lines.
    pub(super) fn remember(
        &mut self,
        voice: Voice,
        form: Form,
        frame: u64,
        marks: [Option<Val<'_>>; 2],
        item: ItemId,
    ) {
        let said = &mut self.said[voice as usize];
        std::mem::swap(&mut said.texts, &mut self.now);
        said.form = if self.too_long { Form::Both } else { form };
        (said.frame, said.item) = (frame, Some(item));
        for (known, mark) in [&mut said.id, &mut said.time].into_iter().zip(marks) {
            known.clear();
            known.push_str(mark.map_or("", |mark| mark.text()));
        }
    }

    /// Takes the id and time of a second line if they equal those of the first; different values stay in the line.
    pub(super) fn take_same(&self, voice: Voice, marks: [Option<Val<'_>>; 2]) {
        let said = &self.said[voice as usize];
        let [id, time] = marks;
        if let Some(id) = id.filter(|id| id.text() == said.id) {
            id.take_text(Field::ItemId);
        }
        if let Some(time) = time.filter(|time| time.text() == said.time) {
            time.take_time(Field::ItemTime);
        }
    }
}

/// Whether an (escaped) text only marks the start or end of a picture in the request; echoes omit these marks.
pub(super) fn is_image_mark(text: &str) -> bool {
    text == "</image>" || (text.starts_with("<image") && text.ends_with('>') && !text.contains("\\n"))
}
