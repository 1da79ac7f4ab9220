//! Support for the fields that the shared writers write for requests and answers of every wire dialect: a dialect's own
//! table lists the fields it writes itself and leaves the other fields to these tables, with the patterns
//! `kit_in_request` and `kit_in_answer`.

use crate::ledger::Reason;
use crate::model::{Field, Support};

/// Fields with the same support in requests and answers. No wire dialect has members for sessions, oversight or
/// notices; and messages have no id, time, parent or model of their own.
macro_rules! kit_in_both {
    () => {
        crate::model::Field::Structure
            | crate::model::Field::Padding
            | crate::model::Field::EventTime
            | crate::model::session!()
            | crate::model::oversight!()
            | crate::model::notices!()
            | crate::model::revisions!()
            | crate::model::attempts!()
            | crate::model::listings!()
            | crate::model::Field::ItemAuthor
            | crate::model::Field::ItemOrigin
            | crate::model::Field::ItemId
            | crate::model::Field::ItemParent
            | crate::model::Field::ItemAgent
            | crate::model::Field::ItemParentCall
            | crate::model::Field::ItemTime
            | crate::model::Field::ItemModel
            | crate::model::Field::ItemStatus
            | crate::model::Field::ItemPhase
            | crate::model::Field::ItemSubject
            | crate::model::Field::CallId
            | crate::model::Field::CallName
            | crate::model::Field::CallNamespace
            | crate::model::Field::MessageJson
    };
}
pub(crate) use kit_in_both;

/// Fields whose support in a request is that of [`in_request`].
macro_rules! kit_in_request {
    () => {
        crate::wire::support::kit_in_both!()
            | crate::model::Field::ToolChoice
            | crate::model::Field::ParallelCalls
            | crate::model::Field::ItemAnswer
            | crate::model::Field::ResultCallId
            | crate::model::Field::ResultName
            | crate::model::Field::ResultJson
            | crate::model::Field::ResultExitCode
            | crate::model::Field::ResultDuration
            | crate::model::Field::FilePath
            | crate::model::Field::FileAction
            | crate::model::Field::FileDiff
            | crate::model::turns!()
            | crate::model::usage!()
            | crate::model::failures!()
    };
}
pub(crate) use kit_in_request;

/// Fields whose support in an answer is that of [`in_answer`].
macro_rules! kit_in_answer {
    () => {
        crate::wire::support::kit_in_both!()
            | crate::model::Field::TurnId
            | crate::model::Field::TurnModel
            | crate::model::Field::ErrorMessage
            | crate::model::Field::MessageMedia
            | crate::model::settings!()
            | crate::model::caches!()
            | crate::model::media!()
            | crate::model::results!()
    };
}
pub(crate) use kit_in_answer;

/// The support of requests.
pub(crate) const fn in_request(field: Field) -> Support {
    match field {
        Field::ItemAuthor => Support::Less(
            "some servers do not know developers, or a system that speaks later; messages in a row are joined",
        ),
        Field::ToolChoice => Support::Less("without such a tool there is no choice"),
        Field::ParallelCalls => Support::Less("without calls nothing is parallel"),
        Field::ResultCallId => Support::Less(
            "letters that the API does not take are replaced, with a hash at the end; results without a call are lost",
        ),
        Field::ResultJson => Support::Less(
            "written as text; results without a call, and of tools that a provider runs, are lost",
        ),
        // The call holds the name.
        Field::ResultName => Support::No(Reason::Redundant),
        other => in_both(other),
    }
}

/// The support of answers, whole or streamed.
pub(crate) const fn in_answer(field: Field) -> Support {
    match field {
        Field::ItemAuthor => Support::Less("only the assistant speaks"),
        Field::TurnId | Field::TurnModel => Support::Less("the first of several answers"),
        Field::ErrorMessage => Support::Less("only of the first failure"),
        other => in_both(other),
    }
}

/// Support for a count that an answer has a member for.
pub(crate) const COUNTED: Support =
    Support::Less("counts that later ones replace, and those of an answer that failed");

/// Support for call fields in a message.
pub(crate) const CALLED: Support = Support::Less("calls of tools that a provider runs are lost");

/// The same for arguments that must be an object.
pub(crate) const CALLED_WITH_OBJECT: Support = Support::Less(
    "what is no JSON object becomes the member `_raw_arguments`; calls of tools that a provider runs are lost",
);

/// Support for result fields in a request.
pub(crate) const ANSWERED: Support =
    Support::Less("results without a call, and of tools that a provider runs, are lost");

const CALL_LETTERS: Support = Support::Less(
    "letters that the API does not take are replaced, with a hash at the end; calls of tools that a provider runs are lost",
);

const fn in_both(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::ItemStatus => Support::Less("only that a call was cut off shows"),
        Field::CallId | Field::CallName => CALL_LETTERS,
        Field::CallNamespace => {
            Support::Less("put before the name; calls of tools that a provider runs are lost")
        }
        Field::MessageJson => Support::Emulated("written as text"),
        // The remaining fields have a place only in the opposite direction, or nowhere on the wire.
        _ => Support::No(Reason::NoSlot),
    }
}
