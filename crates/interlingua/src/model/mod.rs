//! The model in the middle: what any agent or model API can say, as a stream of events.
//!
//! Read this folder first. A conversation is what the events fold into ([`crate::fold`]); a whole document is the same
//! events with one delta per part. Values borrow from the frame they were read from and stay escaped; an event that
//! must outlive its frame is made owned with [`Event::into_owned`]. Every value has a name ([`Field`]), and the books are
//! kept in these names.
//!
//! A concept becomes a field here when two dialects share it. Until then it is *left over*: kept verbatim beside the item
//! by the pipe itself ([`crate::ledger::Leftover`]), so no reader can forget it.

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

pub use fields::{Field, Fields, Group, Of, Says, SaysTable, says_everything};
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
    /// One thing that was said or happened.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Event<'a> {
        /// A session began, or became known.
        SessionStarted(Session<'a>),
        /// More became known about the session, or something about it changed.
        SessionUpdated(Session<'a>),
        /// The session is over.
        SessionEnded(SessionEnd<'a>),
        /// What follows happened at this time, as far as it has none of its own. Live sources stamp each line.
        Clock(Time<'a>),
        /// The settings of one model call. The items that follow are its conversation.
        Request(Box<Request<'a>>),
        /// A model response (wire) or the answer to a prompt (live) begins.
        TurnStarted(Turn<'a>),
        /// It ends.
        TurnEnded(Turn<'a>),
        /// What one model response has used so far. Cumulative: the last report for a response id counts.
        Usage(Turn<'a>),
        /// A model that an API has on offer.
        Model(ModelInfo<'a>),
        /// An item begins.
        ItemStarted(ItemHead<'a>),
        /// An item grows.
        ItemDelta(Delta<'a>),
        /// An item is complete.
        ItemCompleted(ItemTail<'a>),
        /// The conversation went back: what was said after that point no longer counts.
        Rewound(Rewind<'a>),
        /// The conversation was compacted: what was said before is replaced by less.
        Compacted(Compaction<'a>),
        /// An agent asks whether it may do something.
        PermissionRequested(Permission<'a>),
        /// Someone answered.
        PermissionResolved(Permission<'a>),
        /// An agent asks the user something.
        QuestionRequested(Question<'a>),
        /// Someone answered.
        QuestionResolved(Question<'a>),
        /// Something failed.
        Error(Failure<'a>),
    }
}

impl Event<'_> {
    /// The item that it begins, grows or completes.
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

    /// Shows every value the event holds, with its name. `of` is the kind of the item that a piece belongs to.
    pub fn each_field(&mut self, of: Of, show: &mut Show<'_>) {
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
