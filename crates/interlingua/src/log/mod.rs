//! What logs share: an item is gathered with all that belongs to it, then the frame that was kept for it is given back
//! with its holes filled, or a frame is built.
//!
//! A dialect says how its values look ([`LogForm`]): the same native values fill the holes of a kept frame and make up a
//! built one. Everything else is here: which frame may be filled and what becomes of the others, what stands between
//! frames, what a built frame cannot say, ids, times and the facts of the session.

mod arguments;
mod assets;
mod build;
mod counted;
mod file;
mod fill;
mod frame_fields;
mod gather;
mod history;
mod hunks;
mod identity;
mod media;
mod moments;
mod outline;
mod pairs;
mod session;
mod values;
mod words;
mod writer;

/// A pattern for what no frame of a log says when it is built: what only requests, turns and live agents have, and what
/// no log has a place for so far.
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

/// Words that a log has of everyone but the system, whose prompt is never told as another's words.
pub(crate) const SPOKEN: crate::model::Says = crate::model::Says::Less("system prompts are left out");

/// The same in a file of one agent ([`LogRules::one_agent`]).
pub(crate) const SPOKEN_BY_MAIN_AGENT: crate::model::Says =
    crate::model::Says::Less("system prompts are left out, and what subagents say");

/// What a file of one agent has of that agent only.
pub(crate) const OF_MAIN_AGENT: crate::model::Says =
    crate::model::Says::Less("what subagents say and do is left out");

/// A pattern for the facts of a session that no head and no line says when it is built: they are lost unless lines were
/// kept. Whoever reads a log knows whose it is.
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

pub use arguments::CallValues;
pub(crate) use arguments::{SpelledArguments, arguments_text, name_with_group};
pub use build::{FrameHead, LogBuilder, SessionHead};
pub(crate) use counted::CountedLine;
pub use file::{is_date, is_uuid};
pub use fill::has_hole;
pub use gather::{GatheredContent, GatheredItem, GatheredItems};
pub(crate) use history::{HistoryWriter, MADE_UP_CALL_ID, UNNAMED_RESULT};
pub(crate) use hunks::hunk_of;
pub use identity::SessionIds;
pub use media::MediaRules;
pub(crate) use moments::{date_of_millis, date_of_seconds, millis_of_date};
pub use outline::{Outline, OutlineReader};
pub(crate) use outline::{OutlineWriter, key as id_key};
pub(crate) use pairs::{Answered, CallPairs, link_key};
pub use session::SessionNews;
pub use values::{NativeElement, NativeObject, NativeValue, text_of};
pub(crate) use words::words_of_unknown;
pub use writer::{LogForm, LogRules, LogWriter};
