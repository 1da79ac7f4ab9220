//! Shared parts of log writers: an item is gathered completely; then its kept frame is restored with the holes filled,
//! or a new frame is built.
//!
//! A dialect defines its native values ([`LogForm`]): the same values fill the holes of a kept frame and make up a
//! built frame. The dialect's rules ([`LogRules`]) name the stages that regroup items before they are gathered
//! ([`LogStage`]). This module does the rest: the choice of kept frames to fill, the fate of the other frames,
//! separators, losses of built frames, ids, times and the facts of the session.

mod answers_first;
mod arguments;
mod assets;
mod budget;
mod build;
mod call_names;
mod clock;
mod file;
mod fill;
mod form;
mod frame_fields;
mod gather;
mod history;
mod hunks;
mod identity;
mod mapped_tools;
mod media;
mod moved;
mod native_tools;
mod outline;
mod pairs;
mod session;
mod stages;
mod timestamps;
mod usage;
mod values;
mod words;
mod writer;

/// A pattern for the fields that no built frame of a log holds: fields of requests, turns and live agents, and fields
/// without a place in any log so far.
macro_rules! said_by_no_log {
    () => {
        crate::model::settings!()
            | crate::model::turns!()
            | crate::model::attempts!()
            | crate::model::usage!()
            | crate::model::notices!()
            | crate::model::oversight!()
            | crate::model::failures!()
            | crate::model::citations!()
            | crate::model::caches!()
            | crate::model::Field::ItemReplaces
            | crate::model::Field::ItemCopiedFrom
            | crate::model::Field::RewindTo
            | crate::model::Field::RewindTurns
            | crate::model::Field::CompactionTrigger
            | crate::model::Field::CompactionBefore
            | crate::model::Field::CompactionAfter
            | crate::model::Field::CompactionHistory
            | crate::model::Field::CompactionKeptFrom
            | crate::model::listings!()
            | crate::model::Field::SessionEndStatus
            | crate::model::Field::SessionEndMessage
            | crate::model::Field::ItemAnswer
            | crate::model::Field::MediaContext
            | crate::model::Field::MediaCitable
            | crate::model::Field::MediaDetail
            | crate::model::Field::ItemPhase
            | crate::model::Field::ItemSubject
            | crate::model::Field::FilePath
            | crate::model::Field::FileAction
            | crate::model::Field::FileDiff
    };
}
pub(crate) use said_by_no_log;

/// Support for messages in logs without system prompts: a system prompt is never written as another author's message.
pub(crate) const SPOKEN: crate::model::Support = crate::model::Support::Less("system prompts are left out");

/// The same in a file of a single agent ([`OneAgent`]).
pub(crate) const SPOKEN_BY_MAIN_AGENT: crate::model::Support =
    crate::model::Support::Less("system prompts are left out, and what subagents say");

/// Support for fields that a file of a single agent holds for the main agent only.
pub(crate) const OF_MAIN_AGENT: crate::model::Support =
    crate::model::Support::Less("what subagents say and do is left out");

/// Support for the name of a tool: as [`OF_MAIN_AGENT`], under [`LogRules::call_names`].
pub(crate) const TOOL_NAME_OF_MAIN_AGENT: crate::model::Support = crate::model::Support::Less(
    "a name that the API refuses is replaced; what subagents say and do is left out",
);

/// A pattern for the session facts that no built head or line holds: these facts are lost unless kept lines hold them.
/// The log's own agent is implied by its format.
macro_rules! said_by_kept_frames {
    () => {
        crate::model::Field::SessionParent
            | crate::model::Field::SessionParentCall
            | crate::model::Field::SessionVersion
            | crate::model::Field::SessionTitle
            | crate::model::Field::SessionAgent
            | crate::model::Field::ApprovalPolicy
            | crate::model::Field::SandboxPolicy
            | crate::model::Field::SessionEffort
            | crate::model::Field::SessionLeaf
            | crate::model::Field::SessionUnrecorded
    };
}
pub(crate) use said_by_kept_frames;

pub(crate) use answers_first::AnswersFirst;
pub use arguments::CallValues;
pub(crate) use arguments::{SpelledArguments, arguments_text, name_with_group};
pub(crate) use budget::CutResults;
pub use budget::{BudgetReader, CUT_MARK, ResultCuts};
pub use build::{FrameHead, LogBuilder, SessionHead};
pub use file::{is_date, is_uuid};
pub use fill::has_hole;
pub use form::{LogForm, LogRules};
pub use gather::{FrameNumber, GatheredContent, GatheredItem, GatheredItems};
pub(crate) use history::{HistoryWriter, MADE_UP_CALL_ID, UNNAMED_RESULT};
pub(crate) use hunks::hunk_of;
pub use identity::SessionIds;
pub(crate) use mapped_tools::MappedTools;
pub use media::MediaRules;
pub(crate) use moved::MovedSession;
pub use outline::{Outline, OutlineReader};
pub(crate) use outline::{OutlineWriter, key as id_key};
pub(crate) use pairs::{Answered, CallPairs, link_key};
pub use session::SessionTracker;
pub use stages::{
    AnswersTogether, CallsTogether, LogStage, NewStage, OneAgent, Placement, ResultsTogether, SignedThoughts,
    stage,
};
pub(crate) use timestamps::{date_of_millis, date_of_seconds, millis_of_date};
pub(crate) use usage::CountedLine;
pub use values::{NativeElement, NativeObject, NativeValue, text_of};
pub(crate) use words::words_of_unknown;
pub use writer::LogWriter;
