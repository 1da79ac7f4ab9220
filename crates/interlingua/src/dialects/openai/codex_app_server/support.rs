//! Fields that the input of the app server supports: settings, prompts, decisions, answers and the interrupt. Events that
//! only an agent emits have no message.

use crate::ledger::Reason;
use crate::model::{
    Field, Support, attempts, caches, citations, failures, listings, notices, revisions, settings, usage,
};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::ItemAuthor | Field::MessageText | Field::MessageMedia | Field::MediaType => {
            Support::Less("only prompts are said: messages of the user with text or media")
        }
        Field::StopReason => Support::Less("only that a turn was cancelled is said: the interrupt"),
        Field::PermissionId | Field::PermissionAnswer | Field::PermissionMessage => {
            Support::Less("only answers are said: the agent knows what it asked")
        }
        Field::PermissionBy | Field::PermissionInput => Support::No(Reason::NoSlot),
        Field::PermissionAction => Support::Less("only the form of a decision depends on the action"),
        Field::QuestionId | Field::QuestionDeclined | Field::QuestionAnswer => {
            Support::Less("only answers are said: the agent knows what it asked")
        }
        Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple => Support::No(Reason::NoSlot),
        Field::SessionId => Support::Less("only the id of a thread of Codex is resumed"),
        Field::SessionModel | Field::SessionProvider | Field::SessionEffort => {
            Support::Less("only the client's settings are said, not those of another agent's session")
        }
        Field::SessionCwd => Support::Less("said once, when the thread opens"),
        Field::PermissionMode => Support::Less("only words of an approval policy or a sandbox are said"),
        Field::ApprovalPolicy => Support::Less("only the client's own policy is said"),
        Field::SandboxPolicy => Support::Less("only the mode of a sandbox is said"),
        Field::MediaDetail => Support::Less("only prompts are said: messages of the user with text or media"),
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
        | Field::SessionTitle
        | Field::SessionStart
        | Field::SessionAgent
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
        | Field::MediaName
        | Field::TurnAnswer
        | Field::StopDetail
        | Field::ItemAgent
        | Field::ItemParentCall
        | Field::ItemAnswer
        | Field::MediaContext
        | Field::MediaCitable
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
