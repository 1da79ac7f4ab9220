//! Fields that the stdin of every driven agent supports: prompts. Events that only an agent emits have no line on stdin.

use crate::ledger::Reason;
use crate::model::{
    Field, Support, attempts, caches, citations, failures, listings, notices, revisions, session, settings,
    usage,
};

/// The support for decisions and answers, which do not repeat their request.
pub(crate) const ANSWERS: &str = "only answers, without the request: the agent has its own request";

/// The support for the stop reason of a turn.
pub(crate) const INTERRUPT: &str = "only a cancelled turn: the interrupt";

/// The support of an agent that takes prompts of text and images, and nothing else. The tables of other agents fall back
/// to this table.
pub(crate) const fn prompts_only(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::ItemAuthor | Field::MessageText => {
            Support::Less("only prompts: messages of the user with text or images")
        }
        Field::MessageMedia | Field::MediaType => Support::Less("only images with their data"),
        Field::StopReason
        | Field::QuestionId
        | Field::QuestionAnswer
        | Field::QuestionDeclined
        | Field::MediaName
        | Field::PermissionId
        | Field::PermissionAnswer
        | Field::PermissionMessage
        | Field::PermissionBy
        | Field::PermissionAction
        | Field::PermissionInput
        | Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple => Support::No(Reason::NoSlot),
        Field::TurnId
        | Field::TurnModel
        | Field::TurnTime
        | Field::StopSequence
        | Field::ItemId
        | Field::ItemParent
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemStatus
        | Field::MessageJson
        | Field::Refusal
        | Field::FilePath
        | Field::FileAction
        | Field::FileDiff
        | Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer
        | Field::CallId
        | Field::CallKind
        | Field::CallNamespace
        | Field::CallName
        | Field::CallArgs
        | Field::ResultCallId
        | Field::ResultName
        | Field::ResultText
        | Field::ResultMedia
        | Field::ResultJson
        | Field::ResultIsError
        | Field::PermissionCallId
        | Field::QuestionCallId => Support::No(Reason::NoSlot),
        session!() => Support::No(Reason::NoSlot),
        settings!() => Support::No(Reason::NoSlot),
        usage!() => Support::No(Reason::NoSlot),
        notices!() => Support::No(Reason::NoSlot),
        failures!() => Support::No(Reason::NoSlot),
        Field::ItemOrigin => Support::Less("only what a person typed is a prompt"),
        Field::EventTime
        | Field::TurnAnswer
        | Field::StopDetail
        | Field::ItemAgent
        | Field::ItemParentCall
        | Field::ItemAnswer
        | Field::MediaContext
        | Field::MediaCitable
        | Field::MediaDetail
        | Field::ItemPhase
        | Field::ItemSubject
        | Field::ResultExitCode
        | Field::ResultDuration => Support::No(Reason::NoSlot),
        listings!() => Support::No(Reason::NoSlot),
        citations!() => Support::No(Reason::NoSlot),
        caches!() => Support::No(Reason::NoSlot),
        revisions!() => Support::No(Reason::NoSlot),
        attempts!() => Support::No(Reason::NoSlot),
    }
}
