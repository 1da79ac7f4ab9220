//! An item while it is open, and how its events are written.

use super::parts::{self, ItemContent};
use crate::json::JsonWriter;
use crate::model::{Author, Circumstances, ItemId, ItemKind, ItemTail, Spelling, Status};

/// An item that is not complete.
pub(super) struct ShownItem {
    /// Its number, once it is shown.
    pub(super) shown: Option<u64>,
    pub(super) kind: ItemKind<'static>,
    pub(super) author: Author,
    pub(super) native: Option<String>,
    pub(super) parent: Option<u64>,
    /// The native id of the item it follows.
    pub(super) parent_id: Option<String>,
    /// The same, if no item of ours can be named instead, or its place is taken by the message around.
    pub(super) native_parent: Option<String>,
    pub(super) circumstances: Circumstances<'static>,
    /// The message around it, if that is not shown.
    pub(super) around: Option<Around>,
    /// The message whose part this reasoning is.
    pub(super) host: Option<ItemId>,
    pub(super) holds_items: bool,
    pub(super) content: ItemContent,
}

/// What a message that is not shown says of itself. What the item does not say stands in the item's own members.
#[derive(Default)]
pub(super) struct Around {
    pub(super) native: Option<String>,
    /// Who speaks, if one would not guess it from the item.
    pub(super) author: Option<Author>,
    /// What the item says of itself, too.
    pub(super) parent: Option<String>,
    pub(super) circumstances: Circumstances<'static>,
}

impl ShownItem {
    pub(super) fn new(kind: ItemKind<'static>, author: Author) -> Self {
        Self {
            shown: None,
            kind,
            author,
            native: None,
            parent: None,
            parent_id: None,
            native_parent: None,
            circumstances: Circumstances::default(),
            around: None,
            host: None,
            holds_items: false,
            content: ItemContent::default(),
        }
    }

    /// The item is in a message that is not shown, whose place and circumstances it says, too, unless it has its own.
    pub(super) fn is_in(&mut self, message: &ShownItem) {
        let mut around = Around { native: message.native.clone(), ..Around::default() };
        let usual = if let ItemKind::ToolResult(_) = self.kind { Author::User } else { Author::Assistant };
        let own_circumstances = self.circumstances != Circumstances::default();
        // Who speaks also tells a reader that the message has nothing of what the item says of itself.
        let nothing = own_circumstances && message.circumstances == Circumstances::default();
        around.author = Some(message.author).filter(|author| *author != usual || nothing);
        if self.parent.is_none() && self.native_parent.is_none() {
            self.parent = message.parent;
            self.native_parent.clone_from(&message.native_parent);
        } else {
            around.parent.clone_from(&message.parent_id);
        }
        let place = if own_circumstances { &mut around.circumstances } else { &mut self.circumstances };
        place.clone_from(&message.circumstances);
        self.around = Some(around);
    }

    pub(super) fn write(&self, tail: Option<&ItemTail<'_>>, json: &mut JsonWriter<'_>) {
        let (kind, role) = match (&self.kind, self.author) {
            (ItemKind::ToolCall(_), _) => ("tool_call", "assistant"),
            (ItemKind::ToolResult(_), _) => ("tool_result", "tool"),
            (ItemKind::Notice(_), _) => ("status", "system"),
            (ItemKind::Message | ItemKind::Reasoning, Author::System | Author::Developer) => {
                ("system", "system")
            }
            (ItemKind::Message | ItemKind::Reasoning, author) => ("message", author.word()),
        };
        json.object().key("item").object().key("item_id").literal(&item_id(self.shown.unwrap_or(0)));
        json.key("native_item_id");
        opt_word(self.native.as_deref(), json);
        json.key("parent_id");
        opt_word(self.parent.map(item_id).as_deref(), json);
        json.key("kind").literal(kind).key("role").literal(role).key("content");
        match tail {
            Some(_) => parts::write(&self.kind, &self.content.pieces, true, json),
            None => parts::write(&self.kind, &[], false, json),
        }
        let status = match tail.map(|tail| tail.status) {
            None => "in_progress",
            Some(Status::Completed) => "completed",
            Some(Status::Failed | Status::Interrupted) => "failed",
        };
        json.key("status").literal(status);
        if self.author == Author::Developer {
            json.key("author").literal("developer");
        }
        let message = self.around.as_ref().and_then(|around| around.native.as_ref());
        for (name, value) in
            [("native_parent_id", self.native_parent.as_ref()), ("native_message_id", message)]
        {
            if let Some(value) = value {
                json.key(name).literal(value);
            }
        }
        self.circumstances.write_members(&[], Spelling::Snake, json);
        if let Some(around) = &self.around {
            around.write(json);
        }
        if let Some(tail) = tail {
            tail.write_members(&["status"], Spelling::Snake, json);
        }
        json.end_object().end_object();
    }
}

impl Around {
    /// Writes what the item's own members have no room for.
    fn write(&self, json: &mut JsonWriter<'_>) {
        let Self { native: _, author, parent, circumstances } = self;
        if author.is_none() && parent.is_none() && *circumstances == Circumstances::default() {
            return;
        }
        json.key("message").object();
        if let Some(author) = author {
            let is_system = matches!(author, Author::System | Author::Developer);
            json.key("role").literal(if is_system { "system" } else { author.word() });
            if *author == Author::Developer {
                json.key("author").literal("developer");
            }
        }
        if let Some(parent) = parent {
            json.key("parent").literal(parent);
        }
        circumstances.write_members(&[], Spelling::Snake, json);
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
