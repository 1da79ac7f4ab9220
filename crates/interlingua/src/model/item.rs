//! Items: the five kinds of thing a conversation is made of, in order. Roles, turns and content blocks of a dialect are
//! runs of items.

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

/// Our numbers are not said: our own forms have ids of their own.
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

/// How an item begins: what it is and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemHead<'a> {
    /// Our number.
    pub id: ItemId,
    /// What it is.
    pub kind: ItemKind<'a>,
    /// Who speaks. For tool results this is [`Author::Tool`].
    pub author: Author,
    /// Whose words a message holds, where the source tells: about a third of what logs call the user's is not.
    pub origin: Option<Origin>,
    /// The message this item is a block of, in dialects whose messages hold blocks.
    pub within: Option<ItemId>,
    /// The id the dialect gave it.
    pub native_id: Option<Str<'a>>,
    /// The native id of the item it follows or answers.
    pub parent: Option<Str<'a>>,
    /// The native id of the item it takes the place of.
    pub replaces: Option<Str<'a>>,
    /// The subagent that says it; `None` is the agent the session is about.
    pub agent: Option<Str<'a>>,
    /// The call by which that subagent was started.
    pub parent_call: Option<Str<'a>>,
    /// When, as written.
    pub time: Option<Time<'a>>,
    /// The model that said it, where the dialect tells per item.
    pub model: Option<Str<'a>>,
    /// Which of several answers to one request it belongs to, from 0; `None` where there is one.
    pub answer: Option<u64>,
    /// Whether an assistant's message is a comment on the way or the answer, in the provider's own word.
    pub phase: Option<Str<'a>>,
    /// What a piece of reasoning is about, in the model's own heading.
    pub subject: Option<Str<'a>>,
    /// The session it was copied from: a fork begins with what its parent had said.
    pub copied_from: Option<Str<'a>>,
    /// What its content will look like, so that no writer has to wait and see.
    pub shape: Shape,
}

impl<'a> ItemHead<'a> {
    /// An item of which no more is known.
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
    /// What an item says of itself beside its kind, its content and its own ids: what our forms say by its name.
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
    /// What it says beside its kind and its ids.
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

    /// The same head with these.
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
        // The number is ours, and so is the advice on the shape.
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

/// What an item's content will look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// One part at most, as far as the reader knows.
    #[default]
    One,
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
        /// Something said. May hold other items, in order, between its parts.
        Message,
        /// Thinking, shown or hidden.
        Reasoning,
        /// The model asks for a tool to be run.
        ToolCall(ToolCall<'a>),
        /// What came of it.
        ToolResult(ToolResult<'a>),
        /// Anything else worth a line: a mode change, an attachment, a snapshot.
        Notice(Notice<'a>),
    }
}

words! {
    /// Who speaks.
    pub enum Author {
        /// The user, or the program on the user's behalf.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The operator of the API.
        System = "system",
        /// The application developer, where a dialect tells this from system.
        Developer = "developer",
        /// A tool.
        Tool = "tool",
    }

    /// Whose words a message holds.
    pub enum Origin {
        /// The author's own: a person typed them.
        Own = "own",
        /// The program around the model put them there.
        Harness = "harness",
        /// Another agent wrote them: the prompt of a subagent.
        Agent = "agent",
        /// They stand for an earlier part of the conversation that was compacted.
        Summary = "summary",
        /// A command of the program, or what it printed.
        Command = "command",
    }

    /// Who runs a tool and how its arguments look.
    pub enum CallKind {
        /// A function with JSON arguments, run by the client.
        Function = "function",
        /// A tool that takes plain text.
        FreeText = "free_text",
        /// A tool type the vendor trained, run by the client (shell, editor).
        Vendor = "vendor",
        /// Run by the provider.
        Server = "server",
        /// A tool of an MCP server.
        Mcp = "mcp",
    }

    /// How an item ended.
    pub enum Status {
        /// As it should.
        Completed = "completed",
        /// The thing itself failed.
        Failed = "failed",
        /// The source stopped before it was complete.
        Interrupted = "interrupted",
    }
}

said! {
    /// A request to run a tool. Its arguments are deltas ([`super::Part::Args`]).
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolCall<'a> {
        /// What the result will refer to. Not the item's own id.
        pub call_id: Option<Str<'a>> => CallId,
        /// Who runs it and how its arguments look.
        pub kind: CallKind => CallKind,
        /// The group of tools the name belongs to.
        pub namespace: Option<Str<'a>> => CallNamespace,
        /// The tool.
        pub name: Str<'a> => CallName,
    }

    /// What a tool answered. Its content is deltas; files it changed are parts ([`super::Part::File`]).
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolResult<'a> {
        /// The call it answers.
        pub call_id: Option<Str<'a>> => ResultCallId,
        /// The tool, where the dialect repeats it.
        pub name: Option<Str<'a>> => ResultName,
    }

    /// A line that is not part of the conversation proper.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Notice<'a> {
        /// What sort of notice, in the dialect's own word, if it has one.
        pub event_type: Option<Str<'a>> => NoticeType,
    }

    /// How an item ends.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ItemTail<'a> {
        /// The item.
        pub id: ItemId => ours,
        /// How it ended.
        pub status: Status => ItemStatus,
        /// The dialect's own word for that.
        pub native_status: Option<Str<'a>> => ItemStatus,
        /// For tool results: whether the tool said it failed.
        pub is_error: Option<bool> => ResultIsError,
        /// For tool results: what a process that ran returned.
        pub exit_code: Option<i64> => ResultExitCode,
        /// For tool results: how long it took, in milliseconds.
        pub duration: Option<u64> => ResultDuration,
    }
}

impl ItemTail<'_> {
    /// The end of an item of which no more is known.
    pub const fn new(id: ItemId, status: Status) -> Self {
        Self { id, status, native_status: None, is_error: None, exit_code: None, duration: None }
    }
}
