//! What universal events say: nearly everything.

use crate::ledger::Reason;
use crate::model::{Field, Says, caches, citations, revisions};

pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::ItemId | Field::ItemParent | Field::ItemTime | Field::ItemModel => {
            Says::Less("reasoning within a message has none of its own")
        }
        Field::ItemStatus => {
            Says::Less("reasoning, and a message that only holds items, have none of their own")
        }
        Field::ResultIsError => Says::Less("only items that are shown have it"),
        Field::TurnTime => {
            Says::Less("without a turn or new usage only the envelope tells it, in UTC and never going back")
        }
        Field::SessionEndStatus | Field::SessionEndMessage => Says::Less("a session ends once"),
        Field::PermissionId
        | Field::PermissionAction
        | Field::PermissionCallId
        | Field::PermissionInput
        | Field::PermissionAnswer
        | Field::PermissionMessage
        | Field::QuestionId
        | Field::QuestionCallId
        | Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple
        | Field::QuestionAnswer
        | Field::QuestionDeclined => Says::Less("an answer to a request that is not open is not said"),
        Field::RequestModel
        | Field::MaxTokens
        | Field::Temperature
        | Field::TopP
        | Field::StopTexts
        | Field::StreamAnswer
        | Field::ToolKind
        | Field::ToolName
        | Field::ToolDescription
        | Field::ToolSchema
        | Field::ToolStrict
        | Field::ToolChoice
        | Field::ParallelCalls
        | Field::Effort
        | Field::AnswerFormat
        | Field::FormatName
        | Field::FormatSchema
        | Field::FormatStrict
        | Field::EndUser
        | Field::ServiceTier => Says::Emulated("a status item `request`"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => Says::Emulated("a status item `usage`, or in `turn.ended`"),
        Field::Structure
        | Field::Padding
        | Field::SessionId
        | Field::SessionParent
        | Field::SessionCwd
        | Field::SessionVersion
        | Field::SessionModel
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionTitle
        | Field::SessionStart
        | Field::SessionAgent
        | Field::TurnId
        | Field::TurnModel
        | Field::StopReason
        | Field::StopSequence
        | Field::Cost
        | Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MessageJson
        | Field::Refusal
        | Field::MediaType
        | Field::MediaName
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
        | Field::NoticeType
        | Field::NoticeText
        | Field::ErrorClass
        | Field::ErrorStatus
        | Field::ErrorCode
        | Field::ErrorMessage
        | Field::ErrorRequestId => Says::Exactly,
        Field::EventTime
        | Field::SessionParentCall
        | Field::PermissionMode
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::TopK
        | Field::Seed
        | Field::FrequencyPenalty
        | Field::PresencePenalty
        | Field::Logprobs
        | Field::TopLogprobs
        | Field::AnswerCount
        | Field::ToolType
        | Field::ToolConfig
        | Field::ReasoningMode
        | Field::ReasoningBudget
        | Field::ReasoningVisibility
        | Field::Verbosity
        | Field::Modalities
        | Field::Metadata
        | Field::CacheKey
        | Field::SettingsCache
        | Field::TurnAnswer
        | Field::StopDetail
        | Field::UsageInputAudio
        | Field::UsageOutputAudio
        | Field::ItemOrigin
        | Field::ItemAgent
        | Field::ItemParentCall
        | Field::ItemAnswer
        | Field::MediaContext
        | Field::MediaCitable
        | Field::ResultExitCode
        | Field::ResultDuration => Says::No(Reason::NoSlot),
        citations!() => Says::No(Reason::NoSlot),
        caches!() => Says::No(Reason::NoSlot),
        revisions!() => Says::No(Reason::NoSlot),
    }
}
