//! An item while it is open, and how its events are written.

use super::parts::{self, Nature, Piece};
use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::model::{Author, ItemId, Status};

/// An item that is not complete.
pub(super) struct Open {
    pub(super) id: ItemId,
    /// Its number, once it is shown.
    pub(super) shown: Option<u64>,
    pub(super) nature: Nature,
    pub(super) author: Author,
    pub(super) native: Option<String>,
    pub(super) parent: Option<u64>,
    /// The native id of the item it follows.
    pub(super) parent_id: Option<String>,
    /// The same, if no item of ours can be named instead, or its place is taken by the message around.
    pub(super) native_parent: Option<String>,
    pub(super) model: Option<String>,
    pub(super) time: Option<String>,
    /// The message around it, if that is not shown.
    pub(super) around: Option<Around>,
    /// The message whose part this reasoning is.
    pub(super) host: Option<ItemId>,
    pub(super) holds_items: bool,
    pub(super) parts: Vec<Piece>,
}

/// What a message that is not shown says of itself. What the item does not say stands in the item's own members.
#[derive(Default)]
pub(super) struct Around {
    pub(super) native: Option<String>,
    /// Who speaks, if one would not guess it from the item.
    pub(super) author: Option<Author>,
    /// What the item says of itself, too.
    pub(super) parent: Option<String>,
    pub(super) model: Option<String>,
    pub(super) time: Option<String>,
}

/// How an item ends, borrowed.
pub(super) struct Tail<'a> {
    pub(super) status: Status,
    pub(super) native_status: Option<&'a Str<'a>>,
    pub(super) is_error: Option<bool>,
}

impl Open {
    pub(super) fn new(id: ItemId, nature: Nature, author: Author) -> Self {
        Self {
            id,
            shown: None,
            nature,
            author,
            native: None,
            parent: None,
            parent_id: None,
            native_parent: None,
            model: None,
            time: None,
            around: None,
            host: None,
            holds_items: false,
            parts: Vec::new(),
        }
    }

    /// The item is in a message that is not shown, whose place, model and time it says, too.
    pub(super) fn is_in(&mut self, message: &Open) {
        let mut around = Around { native: message.native.clone(), ..Around::default() };
        let usual = if let Nature::Result { .. } = self.nature { Author::User } else { Author::Assistant };
        around.author = Some(message.author).filter(|author| *author != usual);
        if self.parent.is_none() && self.native_parent.is_none() {
            self.parent = message.parent;
            self.native_parent.clone_from(&message.native_parent);
        } else {
            around.parent.clone_from(&message.parent_id);
        }
        for (own, others, place) in [
            (&mut self.model, &message.model, &mut around.model),
            (&mut self.time, &message.time, &mut around.time),
        ] {
            if own.is_some() {
                place.clone_from(others);
            } else {
                own.clone_from(others);
            }
        }
        self.around = Some(around);
    }

    pub(super) fn write(&self, tail: Option<&Tail<'_>>, json: &mut JsonWriter<'_>) {
        let Self { shown, nature, author, native, parent, native_parent, model, time, around, parts, .. } =
            self;
        let (kind, role) = match (nature, author) {
            (Nature::Call(_), _) => ("tool_call", "assistant"),
            (Nature::Result { .. }, _) => ("tool_result", "tool"),
            (Nature::Status { .. }, _) => ("status", "system"),
            (Nature::Message | Nature::Reasoning, Author::System | Author::Developer) => ("system", "system"),
            (Nature::Message | Nature::Reasoning, Author::User) => ("message", "user"),
            (Nature::Message | Nature::Reasoning, Author::Tool) => ("message", "tool"),
            (Nature::Message | Nature::Reasoning, Author::Assistant) => ("message", "assistant"),
        };
        json.object().key("item").object().key("item_id").literal(&item_id(shown.unwrap_or(0)));
        json.key("native_item_id");
        opt_word(native.as_deref(), json);
        json.key("parent_id");
        opt_word(parent.map(item_id).as_deref(), json);
        json.key("kind").literal(kind).key("role").literal(role).key("content");
        parts::write(nature, tail.map_or(&[], |_| parts), tail.is_some(), json);
        let status = match tail.map(|tail| tail.status) {
            None => "in_progress",
            Some(Status::Completed) => "completed",
            Some(Status::Failed | Status::Interrupted) => "failed",
        };
        json.key("status").literal(status);
        if *author == Author::Developer {
            json.key("author").literal("developer");
        }
        let message = around.as_ref().and_then(|around| around.native.as_ref());
        let members = [
            ("native_parent_id", native_parent.as_ref()),
            ("native_message_id", message),
            ("model", model.as_ref()),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                json.key(name).literal(value);
            }
        }
        if let Some(time) = time {
            json.key("time").raw(&Raw::new(time).one_line());
        }
        if let Some(around) = around {
            around.write(json);
        }
        if let Some(Tail { status: _, native_status, is_error }) = tail {
            json.opt_str("native_status", *native_status).opt_bool("is_error", *is_error);
        }
        json.end_object().end_object();
    }
}

impl Around {
    /// Writes what the item's own members have no room for.
    fn write(&self, json: &mut JsonWriter<'_>) {
        let Self { native: _, author, parent, model, time } = self;
        if author.is_none() && parent.is_none() && model.is_none() && time.is_none() {
            return;
        }
        json.key("message").object();
        if let Some(author) = author {
            json.key("role").literal(match author {
                Author::User => "user",
                Author::Assistant => "assistant",
                Author::System | Author::Developer => "system",
                Author::Tool => "tool",
            });
            if *author == Author::Developer {
                json.key("author").literal("developer");
            }
        }
        for (name, value) in [("parent", parent), ("model", model)] {
            if let Some(value) = value {
                json.key(name).literal(value);
            }
        }
        if let Some(time) = time {
            json.key("time").raw(&Raw::new(time).one_line());
        }
        json.end_object();
    }
}

pub(super) fn item_id(number: u64) -> String {
    format!("itm_{number}")
}

pub(super) fn opt_word(text: Option<&str>, json: &mut JsonWriter<'_>) {
    match text {
        Some(text) => json.literal(text),
        None => json.null(),
    };
}
