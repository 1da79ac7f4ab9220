//! Items: the five kinds of element in a conversation, in order. Roles, turns and content blocks of a dialect are runs
//! of items.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, said_enum, words};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Time, Value};
use crate::json::{JsonWriter, Str};
use crate::tape::{Kind, Val};

/// Our number for an item, unique in one run of a pipe and the same in every run over the same input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemId(pub u64);

impl IntoOwned for ItemId {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

/// Item numbers are not written: our own forms have their own ids.
impl<'t> Neutral<'t> for ItemId {
    fn absent() -> Self {
        ItemId(0)
    }

    fn is_absent(&self) -> bool {
        true
    }

    fn write(&self, _: Spelling, _: &mut JsonWriter<'_>) {}

    fn read(_: Val<'t>, _: Field, _: Spelling) -> Option<Self> {
        None
    }
}

/// The start of an item: its kind and its origin.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct ItemHead<'a> {
    /// Our number.
    pub id: ItemId,
    /// The item's kind.
    pub kind: ItemKind<'a>,
    /// The author's role; [`Author::Tool`] for tool results.
    pub author: Author,
    /// The origin of a message's text, where the source has it: about a third of the messages logs attribute to the
    /// user are not typed by the user.
    pub origin: Option<Origin>,
    /// The message that contains this item as a block, in dialects whose messages hold blocks.
    pub within: Option<ItemId>,
    /// The dialect's id of the item.
    pub native_id: Option<Str<'a>>,
    /// The native id of the item this item follows or answers.
    pub parent: Option<Str<'a>>,
    /// The native id of the item this item replaces.
    pub replaces: Option<Str<'a>>,
    /// The subagent that produced the item; `None` is the session's main agent.
    pub agent: Option<Str<'a>>,
    /// The id of the call that started the subagent.
    pub parent_call: Option<Str<'a>>,
    /// The time, as written.
    pub time: Option<Time<'a>>,
    /// The model that produced the item, where the dialect has a model per item.
    pub model: Option<Str<'a>>,
    /// The index, from 0, of the answer this item belongs to when a request has several; `None` with a single answer.
    pub answer: Option<u64>,
    /// Whether an assistant's message is an intermediate comment or the final answer, in the provider's own word.
    pub phase: Option<Str<'a>>,
    /// The heading the model gave to a piece of reasoning.
    pub subject: Option<Str<'a>>,
    /// The session the item was copied from: a fork begins with a copy of its parent's items.
    pub copied_from: Option<Str<'a>>,
    /// The expected shape of the content, so that writers need not buffer.
    pub shape: Shape,
}

impl<'a> ItemHead<'a> {
    /// An item with only the required fields.
    pub const fn new(id: ItemId, kind: ItemKind<'a>, author: Author) -> Self {
        Self {
            id,
            kind,
            author,
            origin: None,
            within: None,
            native_id: None,
            parent: None,
            replaces: None,
            agent: None,
            parent_call: None,
            time: None,
            model: None,
            answer: None,
            phase: None,
            subject: None,
            copied_from: None,
            shape: Shape::One,
        }
    }
}

said! {
    /// The fields of an item except its kind, content and own ids; our forms write these fields under their own names.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Circumstances<'a> {
        /// [`ItemHead::origin`]
        pub origin: Option<Origin> => ItemOrigin,
        /// [`ItemHead::replaces`]
        pub replaces: Option<Str<'a>> => ItemReplaces,
        /// [`ItemHead::agent`]
        pub agent: Option<Str<'a>> => ItemAgent,
        /// [`ItemHead::parent_call`]
        pub parent_call: Option<Str<'a>> => ItemParentCall,
        /// [`ItemHead::time`]
        pub time: Option<Time<'a>> => ItemTime,
        /// [`ItemHead::model`]
        pub model: Option<Str<'a>> => ItemModel,
        /// [`ItemHead::answer`]
        pub answer: Option<u64> => ItemAnswer,
        /// [`ItemHead::phase`]
        pub phase: Option<Str<'a>> => ItemPhase,
        /// [`ItemHead::subject`]
        pub subject: Option<Str<'a>> => ItemSubject,
        /// [`ItemHead::copied_from`]
        pub copied_from: Option<Str<'a>> => ItemCopiedFrom,
    }
}

impl<'a> ItemHead<'a> {
    /// The fields except the kind and the ids.
    pub(crate) fn circumstances(&self) -> Circumstances<'a> {
        #[rustfmt::skip]
        let Self {
            id: _, kind: _, author: _, origin, within: _, native_id: _, parent: _, replaces, agent, parent_call, time,
            model, answer, phase, subject, copied_from, shape: _,
        } = self;
        Circumstances {
            origin: *origin,
            replaces: replaces.clone(),
            agent: agent.clone(),
            parent_call: parent_call.clone(),
            time: time.clone(),
            model: model.clone(),
            answer: *answer,
            phase: phase.clone(),
            subject: subject.clone(),
            copied_from: copied_from.clone(),
        }
    }

    /// The same head with the given circumstances.
    #[must_use]
    pub(crate) fn with(self, circumstances: Circumstances<'a>) -> Self {
        let Circumstances {
            origin,
            replaces,
            agent,
            parent_call,
            time,
            model,
            answer,
            phase,
            subject,
            copied_from,
        } = circumstances;
        Self {
            origin,
            replaces,
            agent,
            parent_call,
            time,
            model,
            answer,
            phase,
            subject,
            copied_from,
            ..self
        }
    }
}

#[rustfmt::skip]
owned!(ItemHead {
    id, kind, author, origin, within, native_id, parent, replaces, agent, parent_call, time, model, answer, phase,
    subject, copied_from, shape
});

impl EachField for ItemHead<'_> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        // The item number and the shape are our own values, not values of the source.
        #[rustfmt::skip]
        let Self {
            id: _, kind, author, origin, within: _, native_id, parent, replaces, agent, parent_call, time, model,
            answer, phase, subject, copied_from, shape: _,
        } = self;
        match kind {
            ItemKind::Message => author.show(Field::ItemAuthor, show),
            ItemKind::Reasoning => {}
            ItemKind::ToolCall(call) => call.each_field(show),
            ItemKind::ToolResult(result) => result.each_field(show),
            ItemKind::Notice(notice) => notice.each_field(show),
        }
        origin.show(Field::ItemOrigin, show);
        native_id.show(Field::ItemId, show);
        parent.show(Field::ItemParent, show);
        replaces.show(Field::ItemReplaces, show);
        agent.show(Field::ItemAgent, show);
        parent_call.show(Field::ItemParentCall, show);
        time.show(Field::ItemTime, show);
        model.show(Field::ItemModel, show);
        answer.show(Field::ItemAnswer, show);
        phase.show(Field::ItemPhase, show);
        subject.show(Field::ItemSubject, show);
        copied_from.show(Field::ItemCopiedFrom, show);
    }
}

/// The expected shape of an item's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Shape {
    /// At most one part, as far as the reader can see.
    #[default]
    One,
    /// At most one part, as far as the reader can see. The source announced the part before the items within the message.
    Announced,
    /// A list of parts.
    List,
}

impl IntoOwned for Shape {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

said_enum! {
    /// The five kinds of item.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ItemKind<'a> {
        /// A message. May contain other items, in order, between its parts.
        Message,
        /// Reasoning, visible or encrypted.
        Reasoning,
        /// A request of the model to run a tool.
        ToolCall(ToolCall<'a>),
        /// The output of a tool call.
        ToolResult(ToolResult<'a>),
        /// Any other line worth keeping: a mode change, an attachment, a snapshot.
        Notice(Notice<'a>),
    }
}

words! {
    /// The role of an item's author.
    pub enum Author {
        /// The user, or the program on the user's behalf.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The operator of the API.
        System = "system",
        /// The application developer, where a dialect distinguishes developer from system.
        Developer = "developer",
        /// A tool.
        Tool = "tool",
    }

    /// The origin of a message's text.
    pub enum Origin {
        /// Typed by a person.
        Own = "own",
        /// Inserted by the program around the model.
        Harness = "harness",
        /// Written by another agent: the prompt of a subagent.
        Agent = "agent",
        /// A summary in place of an earlier, compacted part of the conversation.
        Summary = "summary",
        /// A command of the program, or the command's output.
        Command = "command",
    }

    /// The executor of a tool and the form of its arguments.
    pub enum CallKind {
        /// A function with JSON arguments, run by the client.
        Function = "function",
        /// A tool with plain-text input.
        FreeText = "free_text",
        /// A tool type the vendor trained, run by the client (shell, editor).
        Vendor = "vendor",
        /// A tool the provider runs.
        Server = "server",
        /// A tool of an MCP server.
        Mcp = "mcp",
    }

    /// The status at the end of an item.
    pub enum Status {
        /// Successfully.
        Completed = "completed",
        /// With a failure of the item itself, such as a failed tool.
        Failed = "failed",
        /// The source ended before the item was complete.
        Interrupted = "interrupted",
    }
}

said! {
    /// A request to run a tool. Its arguments are deltas ([`super::Part::Args`]).
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolCall<'a> {
        /// The id that the result refers to. Not the item's own id.
        pub call_id: Option<Str<'a>> => CallId,
        /// The executor and the form of the arguments.
        pub kind: CallKind => CallKind,
        /// The group of tools the name belongs to.
        pub namespace: Option<Str<'a>> => CallNamespace,
        /// The tool's name.
        pub name: Str<'a> => CallName,
    }

    /// The output of a tool. Its content is deltas; files it changed are parts ([`super::Part::File`]).
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolResult<'a> {
        /// The id of the call this result belongs to.
        pub call_id: Option<Str<'a>> => ResultCallId,
        /// The tool's name, where the dialect repeats it.
        pub name: Option<Str<'a>> => ResultName,
    }

    /// A line that is not part of the conversation proper.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Notice<'a> {
        /// The dialect's own name for this type of notice, if any.
        pub event_type: Option<Str<'a>> => NoticeType,
    }

    /// The end of an item.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ItemTail<'a> {
        /// The item.
        pub id: ItemId => ours,
        /// The status at the end.
        pub status: Status => ItemStatus,
        /// The dialect's own word for the status.
        pub native_status: Option<Str<'a>> => ItemStatus,
        /// For tool results: the tool's error flag.
        pub is_error: Option<bool> => ResultIsError,
        /// For tool results: the exit code of the process.
        pub exit_code: Option<i64> => ResultExitCode,
        /// For tool results: the duration in milliseconds.
        pub duration: Option<u64> => ResultDuration,
    }
}

impl ItemTail<'_> {
    /// A tail with only the required fields.
    pub const fn new(id: ItemId, status: Status) -> Self {
        Self { id, status, native_status: None, is_error: None, exit_code: None, duration: None }
    }
}
