//! Messages that the events do not show: a message without content of its own is the `native_message_id` of the items
//! within it. The items of one message are read into one message of the model, so that no id stands twice. A hidden message
//! ends where another message of the same agent begins, because a result may come after the end of its turn; a source that
//! repeats the id later has two messages of the id.

use std::collections::HashMap;

use crate::json::Str;
use crate::model::{Author, Circumstances, ItemHead, ItemId};
use crate::pipe::EventSink;

/// The hidden messages that are open.
#[derive(Default)]
pub(super) struct HiddenMessages {
    open: HashMap<String, HiddenMessage>,
    /// The open hidden message of each agent.
    current: HashMap<AgentKey, String>,
    /// The number of open messages that are within another item.
    nested: usize,
}

/// The agent and its call: the messages of one agent follow each other, those of two agents may alternate.
type AgentKey = (Option<String>, Option<String>);

struct HiddenMessage {
    id: ItemId,
    author: Author,
    within: Option<ItemId>,
    parent: Option<Str<'static>>,
    circumstances: Circumstances<'static>,
    /// The number of open items within the message.
    items: usize,
    /// Set once another message of the agent has begun.
    is_over: bool,
}

impl HiddenMessages {
    /// Joins the open message of this head and adds an item to it. Without such a message, or where its values differ, returns
    /// `None`.
    pub(super) fn join(&mut self, head: &ItemHead<'_>) -> Option<ItemId> {
        let message = self.open.get_mut(head.native_id.as_ref()?.as_escaped())?;
        if !message.is(head) {
            return None;
        }
        message.items += 1;
        Some(message.id)
    }

    /// Adds a new message with one item within it.
    pub(super) fn begin(&mut self, head: &ItemHead<'static>) {
        let Some(native) = &head.native_id else { return };
        let native = native.as_escaped().to_owned();
        self.current.insert(agent_of(&head.circumstances()), native.clone());
        self.nested += usize::from(head.within.is_some());
        let message = HiddenMessage {
            id: head.id,
            author: head.author,
            within: head.within,
            parent: head.parent.clone(),
            circumstances: head.circumstances(),
            items: 1,
            is_over: false,
        };
        self.open.insert(native, message);
    }

    /// Takes the open message of this head out, because the events show the message from here on.
    pub(super) fn show(&mut self, head: &ItemHead<'_>) -> Option<ItemId> {
        let native = head.native_id.as_ref()?.as_escaped();
        let id = self.open.get(native).filter(|message| message.is(head))?.id;
        self.remove(native);
        Some(id)
    }

    /// Ends the agent's open message, unless it has this id.
    pub(super) fn begin_other(
        &mut self,
        native: Option<&str>,
        circumstances: &Circumstances<'_>,
        out: &mut EventSink<'_>,
    ) {
        if self.current.is_empty() {
            return;
        }
        let agent = agent_of(circumstances);
        if let Some(current) = self.current.get(&agent).filter(|current| native != Some(current.as_str())) {
            let current = current.clone();
            self.current.remove(&agent);
            self.end_when_empty(&current, out);
        }
    }

    /// Ends an item within a message.
    pub(super) fn item_ended(&mut self, native: &str, out: &mut EventSink<'_>) {
        let Some(message) = self.open.get_mut(native) else { return };
        message.items = message.items.saturating_sub(1);
        if message.is_over {
            self.end_when_empty(native, out);
        }
    }

    /// Ends the messages within an item that ends.
    pub(super) fn end_within(&mut self, item: ItemId, out: &mut EventSink<'_>) {
        if self.nested > 0 {
            self.end_some(|message| message.within == Some(item), out);
        }
    }

    /// Ends all messages without an open item, at the end of the source.
    pub(super) fn end_all(&mut self, out: &mut EventSink<'_>) {
        self.end_some(|_| true, out);
    }

    fn end_some(&mut self, which: impl Fn(&HiddenMessage) -> bool, out: &mut EventSink<'_>) {
        let ending = self.open.iter().filter(|(_, message)| which(message));
        let mut ending: Vec<_> = ending.map(|(native, message)| (message.id, native.clone())).collect();
        ending.sort_unstable_by_key(|(id, _)| id.0);
        for (_, native) in ending {
            self.end_when_empty(&native, out);
        }
    }

    fn end_when_empty(&mut self, native: &str, out: &mut EventSink<'_>) {
        let Some(message) = self.open.get_mut(native) else { return };
        message.is_over = true;
        if message.items == 0 {
            let id = message.id;
            self.remove(native);
            out.complete(id);
        }
    }

    fn remove(&mut self, native: &str) {
        let Some(message) = self.open.remove(native) else { return };
        self.nested -= usize::from(message.within.is_some());
        let agent = agent_of(&message.circumstances);
        if self.current.get(&agent).is_some_and(|current| current == native) {
            self.current.remove(&agent);
        }
    }
}

impl HiddenMessage {
    /// Whether the head of a message has the values of this message.
    fn is(&self, head: &ItemHead<'_>) -> bool {
        let Self { id: _, author, within, parent, circumstances, items: _, is_over: _ } = self;
        *author == head.author
            && *within == head.within
            && *parent == head.parent
            && *circumstances == head.circumstances()
    }
}

fn agent_of(circumstances: &Circumstances<'_>) -> AgentKey {
    let own = |text: &Option<Str<'_>>| text.as_ref().map(|text| text.as_escaped().to_owned());
    (own(&circumstances.agent), own(&circumstances.parent_call))
}
