//! Fields that requests to an OpenCode server support: the settings of the session, prompts, decisions and the interrupt.
//! Events that only an agent emits have no request.

use crate::ledger::Reason;
use crate::model::{
    Field, Support, attempts, caches, citations, failures, listings, notices, revisions, settings, usage,
};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName => Support::Less("only prompts are said: messages of the user with text or media"),
        Field::StopReason => Support::Less("only that a turn was cancelled is said: the interrupt"),
        Field::PermissionId | Field::PermissionAnswer | Field::PermissionMessage => {
            Support::Less("only answers are said: the agent knows what it asked")
        }
        Field::PermissionBy => Support::No(Reason::NoSlot),
        Field::PermissionAction | Field::PermissionInput => Support::No(Reason::NoSlot),
        Field::QuestionId | Field::QuestionDeclined => {
            Support::Less("only answers are said: the agent knows what it asked")
        }
        Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple => Support::No(Reason::NoSlot),
        Field::QuestionAnswer => Support::Less("only answers are said: the agent knows what it asked"),
        Field::SessionId => Support::Less("only the id of an OpenCode session to resume is said"),
        Field::SessionCwd
        | Field::SessionTitle
        | Field::SessionModel
        | Field::SessionProvider
        | Field::PermissionMode
        | Field::SessionEffort => Support::Less("only the settings that open the session are said"),
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
        Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionVersion
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionStart
        | Field::SessionAgent
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionLeaf
        | Field::SessionUnrecorded
        | Field::SessionEndStatus
        | Field::SessionEndMessage => Support::No(Reason::NoSlot),
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
