//! Fields that Pi's stdin supports: prompts, answers to dialogs and the interrupt. Events that only an agent emits have no
//! line on stdin.

use crate::ledger::Reason;
use crate::model::{
    Field, Support, attempts, caches, citations, failures, listings, notices, revisions, session, settings,
    usage,
};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::ItemAuthor | Field::MessageText => {
            Support::Less("only prompts are said: messages of the user with text or images")
        }
        Field::MessageMedia | Field::MediaType => Support::Less("only images with their data are said"),
        Field::StopReason => Support::Less("only that a turn was cancelled is said: the interrupt"),
        Field::QuestionId => Support::Less("only answers are said: the agent knows what it asked"),
        Field::QuestionAnswer => Support::Less("only the first answer is said"),
        Field::QuestionDeclined => Support::Less("only a refusal is said"),
        Field::MediaName
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
