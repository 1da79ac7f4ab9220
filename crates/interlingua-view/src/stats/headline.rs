//! The headline of an input: the facts by which people recognise a session.

use interlingua::json::Str;
use interlingua::model::{Delta, ItemId, Part, Session};

/// The longest beginning of the first prompt that is kept, in bytes.
const LONGEST_WORDS: usize = 400;

/// The id, the place and the first words of the first session of an input.
#[derive(Debug, Default)]
pub(crate) struct Headline {
    pub(crate) id: Option<String>,
    pub(crate) cwd: Option<String>,
    /// The id of the parent session.
    pub(crate) parent: Option<String>,
    /// The last title: agents write a better title as a session goes on.
    pub(crate) title: Option<String>,
    /// The last model.
    pub(crate) model: Option<String>,
    pub(crate) first_words: String,
    /// The first prompt with text.
    prompt: Option<ItemId>,
    is_complete: bool,
}

impl Headline {
    /// Takes in the facts of a session. Later sessions of the same input change nothing.
    pub(crate) fn session(&mut self, session: &Session<'_>) {
        let text = |value: &Option<Str<'_>>| value.as_ref().map(|value| value.decode().into_owned());
        let id = text(&session.id);
        if self.id.is_some() && id.is_some() && self.id != id {
            return;
        }
        self.id = self.id.take().or(id);
        self.cwd = self.cwd.take().or_else(|| text(&session.cwd));
        self.parent = self.parent.take().or_else(|| text(&session.parent));
        self.title = text(&session.title).or(self.title.take());
        self.model = text(&session.model).or(self.model.take());
    }

    /// Takes in a piece of a prompt.
    pub(crate) fn prompt(&mut self, delta: &Delta<'_>) {
        let Part::Text(text) = &delta.value else { return };
        if self.is_complete || *self.prompt.get_or_insert(delta.item) != delta.item {
            return;
        }
        let text = text.decode();
        let room = LONGEST_WORDS.saturating_sub(self.first_words.len());
        let end = (0..=room.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        self.first_words.push_str(&text[..end]);
    }

    /// Takes in the end of an item: a prompt of white space is none.
    pub(crate) fn completed(&mut self, item: ItemId) {
        if self.prompt == Some(item) {
            self.is_complete = !self.first_words.trim().is_empty();
            if !self.is_complete {
                self.prompt = None;
                self.first_words.clear();
            }
        }
    }
}
