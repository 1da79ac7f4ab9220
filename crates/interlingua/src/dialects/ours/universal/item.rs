//! An open item, and the writing of its events.

use super::parts::{self, ItemContent};
use super::seed::Members;
use crate::json::{JsonWriter, Raw};
use crate::model::{Author, Circumstances, ItemId, ItemKind, ItemTail, Spelling, Status};

/// An open item.
pub(super) struct ShownItem {
    /// The item's number, once shown.
    pub(super) shown: Option<u64>,
    pub(super) kind: ItemKind<'static>,
    pub(super) author: Author,
    pub(super) native: Option<String>,
    pub(super) parent: Option<u64>,
    /// The native id of the parent item.
    pub(super) parent_id: Option<String>,
    /// The native parent id, if no shown item stands for the parent, or if the surrounding message takes the parent's
    /// place.
    pub(super) native_parent: Option<String>,
    pub(super) circumstances: Circumstances<'static>,
    /// The surrounding message, if that message is not shown.
    pub(super) around: Option<Around>,
    /// The message that contains this reasoning as a part.
    pub(super) host: Option<ItemId>,
    pub(super) holds_items: bool,
    /// The parts of the surrounding message whose place the start of this item shows, as JSON.
    pub(super) preceding: Option<String>,
    pub(super) content: ItemContent,
}

/// Values of a message that is not shown. Values without a counterpart in the item are in the item's own members.
#[derive(Default)]
pub(super) struct Around {
    pub(super) native: Option<String>,
    /// The author, unless it follows from the item.
    pub(super) author: Option<Author>,
    /// The message's parent, if the item has a parent of its own.
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
            preceding: None,
            content: ItemContent::default(),
        }
    }

    /// Whether the item is a message that no event shows: it holds items, and no content of its own.
    pub(super) fn is_unseen(&self) -> bool {
        self.shown.is_none() && self.holds_items && self.content.pieces.is_empty()
    }

    /// Puts the item into a message that is not shown. The item takes over the message's parent and circumstances,
    /// unless it has its own.
    pub(super) fn is_in(&mut self, message: &ShownItem) {
        let mut around = Around { native: message.native.clone(), ..Around::default() };
        let usual = if let ItemKind::ToolResult(_) = self.kind { Author::User } else { Author::Assistant };
        let own_circumstances = self.circumstances != Circumstances::default();
        // An explicit author also shows a reader that the message has no circumstances of its own.
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

    pub(super) fn write(&self, tail: Option<&ItemTail<'_>>, members: Members, json: &mut JsonWriter<'_>) {
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
            Some(_) => parts::write(&self.kind, &self.content.pieces, true, members, json),
            None => parts::write(&self.kind, &[], false, members, json),
        }
        let status = match tail.map(|tail| tail.status) {
            None => "in_progress",
            Some(Status::Completed) => "completed",
            Some(Status::Failed | Status::Interrupted) => "failed",
        };
        json.key("status").literal(status);
        if members == Members::All {
            self.write_ours(tail, json);
        }
        json.end_object();
        if let (None, Some(preceding)) = (tail, &self.preceding) {
            json.key("preceding").raw(&Raw::new(preceding));
        }
        json.end_object();
    }

    /// Writes the members that the public schema lacks.
    fn write_ours(&self, tail: Option<&ItemTail<'_>>, json: &mut JsonWriter<'_>) {
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
    }
}

impl Around {
    /// Writes the message's values that do not fit into the item's own members.
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
