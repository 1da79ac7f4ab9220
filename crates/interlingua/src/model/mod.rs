//! The model in the middle: a stream of events that can express any agent's log and any model API.
//!
//! Read this folder first. Events fold into a conversation ([`crate::fold`]); a whole document is the same events with
//! one delta per part. Values borrow from the frame they were read from and stay escaped; an event that must outlive
//! its frame is made owned with [`Event::into_owned`]. Every value has a name ([`Field`]), and the ledger uses these
//! names.
//!
//! A concept becomes a field here when two dialects share it. Until then its value is *left over*: the pipe itself
//! keeps the value verbatim beside the item ([`crate::ledger::Leftover`]), so no reader can forget it.

mod fields;
mod item;
mod listing;
mod macros;
mod neutral;
mod oversight;
mod part;
mod request;
mod session;
mod tally;
pub mod time;
mod turn;
mod value;

pub use fields::{Field, Fields, Group, ItemKindTag, Support, SupportTable, supports_everything};
pub(crate) use fields::{
    attempts, caches, citations, failures, listings, media, notices, oversight, results, revisions, session,
    settings, turns, usage,
};
pub use item::{
    Author, CallKind, Circumstances, ItemHead, ItemId, ItemKind, ItemTail, Notice, Origin, Shape, Status,
    ToolCall, ToolResult,
};
pub use listing::ModelInfo;
pub use macros::{EachField, IntoOwned, Words};
pub use neutral::{Neutral, Spelling};
pub use oversight::{Decision, Permission, Prompt, Question};
pub use part::{
    Args, Arrival, CacheMark, Citation, Delta, FileRef, Media, MediaSource, Opaque, OpaqueKind, Part, issuers,
};
pub use request::{
    Format, Reasoning, Request, SchemaFormat, Service, SettingMut, SettingRef, Tool, ToolChoice,
};
pub use session::{Compaction, Rewind, Session, SessionEnd, Time};
pub use tally::{ResponseUsages, Tally};
pub use turn::{Failure, FailureClass, Stop, StopClass, Turn, Usage};
pub use value::{Show, Value};

use macros::{Shown, said_enum};

said_enum! {
    /// One step of a conversation.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Event<'a> {
        /// A session began, or its first facts were read.
        SessionStarted(Session<'a>),
        /// Facts of the session were added or changed.
        SessionUpdated(Session<'a>),
        /// The session ended.
        SessionEnded(SessionEnd<'a>),
        /// The time of the following events, unless an event has its own. Live sources stamp each line.
        Clock(Time<'a>),
        /// The settings of one model call. The following items are the conversation of the call.
        Request(Box<Request<'a>>),
        /// A model response (wire) or the answer to a prompt (live) begins.
        TurnStarted(Turn<'a>),
        /// A model response or the answer to a prompt ends.
        TurnEnded(Turn<'a>),
        /// The cumulative usage of one model response: the last report for a response id counts.
        Usage(Turn<'a>),
        /// A model that an API offers.
        Model(ModelInfo<'a>),
        /// An item begins.
        ItemStarted(ItemHead<'a>),
        /// An item grows.
        ItemDelta(Delta<'a>),
        /// An item is complete.
        ItemCompleted(ItemTail<'a>),
        /// The conversation went back: items after the given point no longer count.
        Rewound(Rewind<'a>),
        /// The conversation was compacted: earlier items are replaced by a shorter text.
        Compacted(Compaction<'a>),
        /// An agent asks for permission for an action.
        PermissionRequested(Permission<'a>),
        /// The permission request was answered.
        PermissionResolved(Permission<'a>),
        /// An agent asks the user a question.
        QuestionRequested(Question<'a>),
        /// The question was answered.
        QuestionResolved(Question<'a>),
        /// A failure.
        Error(Failure<'a>),
    }
}

impl Event<'_> {
    /// The item this event begins, grows or completes.
    pub const fn item(&self) -> Option<ItemId> {
        match self {
            Event::ItemStarted(head) => Some(head.id),
            Event::ItemDelta(delta) => Some(delta.item),
            Event::ItemCompleted(tail) => Some(tail.id),
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Request(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::Model(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => None,
        }
    }

    /// Shows every value of the event with its field. `of` is the kind of the item that a delta belongs to.
    pub fn each_field(&mut self, of: ItemKindTag, show: &mut Show<'_>) {
        match self {
            Event::SessionStarted(session) | Event::SessionUpdated(session) => session.each_field(show),
            Event::SessionEnded(end) => end.each_field(show),
            Event::Clock(time) => time.show(Field::EventTime, show),
            Event::Request(request) => request.each_field(show),
            Event::TurnStarted(turn) | Event::TurnEnded(turn) | Event::Usage(turn) => turn.each_field(show),
            Event::Model(model) => model.each_field(show),
            Event::ItemStarted(head) => head.each_field(show),
            Event::ItemDelta(delta) => delta.value.each_field(of, show),
            Event::ItemCompleted(tail) => tail.each_field(show),
            Event::Rewound(rewind) => rewind.each_field(show),
            Event::Compacted(compaction) => compaction.each_field(show),
            Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
                permission.each_field(show);
            }
            Event::QuestionRequested(question) | Event::QuestionResolved(question) => {
                question.each_field(show);
            }
            Event::Error(failure) => failure.each_field(show),
        }
    }
}
