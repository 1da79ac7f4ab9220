//! Fields that the protocol supports, for each direction.

use crate::ledger::Reason;
use crate::live::input_support::{ANSWERS, INTERRUPT, prompts_only};
use crate::model::{Field, Support, attempts, caches, citations, listings, notices, revisions, settings};

/// The messages of an agent to an editor.
pub(super) const fn agent(field: Field) -> Support {
    const TURN: &str = "only the end of a turn tells it";
    const ASKED: &str = "only requests are said: the editor knows its own answers";
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::SessionId | Field::SessionAgent => Support::Less("only the start of a session tells it"),
        Field::SessionVersion => Support::Less("only the start of a session tells it, with the agent's name"),
        Field::SessionModel | Field::SessionEffort => Support::Emulated("an option of the session"),
        Field::PermissionMode => Support::Emulated("the mode of the session"),
        Field::SessionTitle => Support::Exactly,
        Field::StopReason => Support::Less("one of four reasons, at the end of a turn"),
        Field::UsageInput
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageCacheRead
        | Field::UsageCacheWrite => Support::Less(TURN),
        Field::ItemId => Support::Less("only messages and reasoning with content have an id"),
        Field::ItemParentCall => Support::Less("only calls tell the call that started their subagent"),
        Field::ItemAuthor => {
            Support::Less("only messages of the user and the assistant with content are said")
        }
        Field::ItemStatus => Support::Less("only results have a status: completed or failed"),
        Field::MessageText | Field::MessageMedia | Field::MediaType | Field::MediaName => {
            Support::Less("only messages of the user and the assistant are said, without files of a provider")
        }
        Field::Refusal => Support::Emulated("a text of the assistant"),
        Field::ReasoningText => Support::Exactly,
        Field::ReasoningSummary => Support::Emulated("a text of the reasoning"),
        Field::CallId | Field::CallName | Field::CallArgs => Support::Exactly,
        Field::ResultCallId | Field::ResultText | Field::ResultMedia | Field::ResultJson => {
            Support::Less("only results that name their call are said, without files of a provider")
        }
        Field::ResultIsError => Support::Less("only results that name their call are said"),
        Field::ResultExitCode => Support::Less("only results without a JSON value have it"),
        Field::FilePath | Field::FileDiff => {
            Support::Less("only changes of files in results are said, as the old and the new lines")
        }
        Field::PermissionId
        | Field::PermissionAction
        | Field::PermissionCallId
        | Field::PermissionInput
        | Field::QuestionId
        | Field::QuestionCallId
        | Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple => Support::Less(ASKED),
        Field::PermissionAnswer
        | Field::PermissionMessage
        | Field::PermissionBy
        | Field::QuestionAnswer
        | Field::QuestionDeclined => Support::No(Reason::NoSlot),
        Field::ErrorCode | Field::ErrorMessage => {
            Support::Less("only the failure that ends a turn is said; its code must be a number")
        }
        Field::ErrorClass | Field::ErrorStatus | Field::ErrorRequestId | Field::ErrorRetryAfter => {
            Support::No(Reason::NoSlot)
        }
        Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionCwd
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionStart
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionLeaf
        | Field::SessionUnrecorded
        | Field::SessionEndStatus
        | Field::SessionEndMessage
        | Field::EventTime
        | Field::TurnId
        | Field::TurnModel
        | Field::TurnTime
        | Field::TurnAnswer
        | Field::StopSequence
        | Field::StopDetail
        | Field::Cost
        | Field::UsageCacheWriteLong
        | Field::UsageInputAudio
        | Field::UsageOutputAudio
        | Field::ItemParent
        | Field::ItemOrigin
        | Field::ItemAgent
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemAnswer
        | Field::ItemPhase
        | Field::ItemSubject
        | Field::MessageJson
        | Field::MediaContext
        | Field::MediaCitable
        | Field::MediaDetail
        | Field::FileAction
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer
        | Field::CallKind
        | Field::CallNamespace
        | Field::ResultName
        | Field::ResultDuration => Support::No(Reason::NoSlot),
        notices!() => Support::No(Reason::NoSlot),
        settings!() => Support::No(Reason::NoSlot),
        listings!() => Support::No(Reason::NoSlot),
        citations!() => Support::No(Reason::NoSlot),
        caches!() => Support::No(Reason::NoSlot),
        revisions!() => Support::No(Reason::NoSlot),
        attempts!() => Support::No(Reason::NoSlot),
    }
}

/// The messages of a client to an agent: the settings, prompts, decisions and the interrupt.
pub(super) const fn client(field: Field) -> Support {
    match field {
        Field::SessionId | Field::SessionCwd => Support::Less("only the first settings open the session"),
        Field::SessionModel | Field::SessionEffort | Field::PermissionMode => {
            Support::Less("only a running agent is asked for it, when the session opens")
        }
        Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName => Support::Less("only prompts: messages of the user with text or media"),
        Field::StopReason => Support::Less(INTERRUPT),
        Field::PermissionId
        | Field::PermissionAnswer
        | Field::QuestionId
        | Field::QuestionAnswer
        | Field::QuestionDeclined => Support::Less(ANSWERS),
        other => prompts_only(other),
    }
}
