//! What the model said is written twice: as the `response_item` that is sent back to it, and as the `event_msg` that the
//! screen showed. The two stand side by side, in either order, and are one item. This file pairs them by their text.

use crate::model::{Author, Field, ItemId, ItemKind};
use crate::tape::Val;

/// Who is speaking. The first three are echoed, each on its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    User,
    Assistant,
    Reasoning,
    /// Another agent: input to this one.
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

    /// What plain text is in such an item.
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

/// In which form something has been said.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    /// As a `response_item`.
    Item,
    /// As an echo that gives the texts one by one, as the item does (`item_completed`).
    Done,
    /// As an echo that gives one string: all texts of a message joined, or one text of reasoning (older logs).
    Shown,
    /// As both; or nothing has been said.
    #[default]
    Both,
}

/// What the line at hand is to what its voice said before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The other form of the line before it.
    Beside,
    /// More of reasoning that is shown text by text: of an item that has so many parts.
    More { item: ItemId, parts: usize },
    /// The other form of what was said some lines before.
    Earlier,
    /// Something new.
    New,
}

/// The last thing each voice said.
#[derive(Default)]
pub(super) struct Echoes {
    said: [Said; 6],
    /// What the line at hand says.
    now: Texts,
    /// The line at hand says more than is worth remembering.
    pub(super) too_long: bool,
    /// The item that waits for its second line.
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

/// Escaped texts, one after the other: where each ends, and what it is in the model.
#[derive(Default)]
struct Texts {
    text: String,
    ends: Vec<(usize, Field)>,
}

impl Echoes {
    /// The longest text that is compared: remembering a larger one would cost as much memory as the line itself.
    const MOST: usize = 1 << 20;

    pub(super) fn begin(&mut self) {
        self.now.text.clear();
        self.now.ends.clear();
        self.too_long = false;
    }

    /// The line at hand says this string, which is that field of the model.
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

    /// The first text of the line at hand, still escaped, if the line is worth remembering.
    pub(super) fn first(&self) -> Option<&str> {
        let (end, _) = self.now.ends.first()?;
        self.now.text.get(..*end)
    }

    /// Looks for the other form of what the line at hand says, and pairs the two.
    pub(super) fn find(&mut self, voice: Voice, form: Form, frame: u64) -> Found {
        let (said, now) = (&mut self.said[voice as usize], &self.now);
        let (then, texts) = (&said.texts, said.texts.ends.len());
        let is_next = said.frame + 1 == frame;
        let same = match (form, said.form) {
            _ if texts == 0 => false,
            (Form::Shown, Form::Item) if voice != Voice::Reasoning => now.text == then.text,
            (Form::Done | Form::Shown, Form::Item) => now.text == then.text && now.ends == then.ends,
            // Reasoning may have more to it than was shown.
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

    /// The item that the voice's last words became.
    pub(super) fn item(&self, voice: Voice) -> Option<ItemId> {
        self.said[voice as usize].item
    }

    /// How many texts the voice's last words were.
    pub(super) fn known(&self, voice: Voice) -> usize {
        self.said[voice as usize].texts.ends.len()
    }

    /// Remembers what the line at hand has said, and which item that became.
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

    /// Takes the id and time of a second line where they are those of the first; others stay where they are.
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

/// Whether an (escaped) text only marks where a picture begins or ends in what is sent; the screen does not show it.
pub(super) fn is_image_mark(text: &str) -> bool {
    text == "</image>" || (text.starts_with("<image") && text.ends_with('>') && !text.contains("\\n"))
}
