//! Fields that Claude Code's stdin supports: prompts, decisions and the interrupt. Events that only an agent emits have
//! no line on stdin.

use crate::ledger::Reason;
use crate::model::{
    Field, Says, attempts, caches, citations, failures, listings, notices, revisions, session, settings,
    usage,
};

pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName => Says::Less("only prompts are said: messages of the user with text or media"),
        Field::StopReason => Says::Less("only that a turn was cancelled is said: the interrupt"),
        Field::PermissionId | Field::PermissionAnswer | Field::PermissionMessage => {
            Says::Less("only answers are said: the agent knows what it asked")
        }
        Field::PermissionBy => Says::No(Reason::NoSlot),
        Field::PermissionAction => Says::Less("only an answer for the whole session names what it allows"),
        Field::PermissionInput => Says::Less("only an allowance repeats what it allows"),
        Field::QuestionId | Field::QuestionDeclined => {
            Says::Less("only answers are said: the agent knows what it asked")
        }
        Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple => Says::Less("only an answer repeats its question"),
        Field::QuestionAnswer => Says::Less("only answers to a question that is repeated are said"),
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
        | Field::QuestionCallId => Says::No(Reason::NoSlot),
        session!() => Says::No(Reason::NoSlot),
        settings!() => Says::No(Reason::NoSlot),
        usage!() => Says::No(Reason::NoSlot),
        notices!() => Says::No(Reason::NoSlot),
        failures!() => Says::No(Reason::NoSlot),
        Field::ItemOrigin => Says::Less("only what a person typed is a prompt"),
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
        | Field::ResultDuration => Says::No(Reason::NoSlot),
        listings!() => Says::No(Reason::NoSlot),
        citations!() => Says::No(Reason::NoSlot),
        caches!() => Says::No(Reason::NoSlot),
        revisions!() => Says::No(Reason::NoSlot),
        attempts!() => Says::No(Reason::NoSlot),
    }
}
