//! What a record says in its own terms. What it did not say would stay in the kept line, so nothing is ever lost; but
//! what it says leaves a hole in the line, so everything here must be read back by [`super::read`] into the same field.

use crate::ledger::Reason;
use crate::model::{Field, Says, caches, citations, revisions};

pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,

        Field::SessionId
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
        | Field::SessionEndStatus
        | Field::SessionEndMessage => Says::Exactly,

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
        | Field::ServiceTier => Says::Exactly,

        Field::TurnId | Field::TurnModel | Field::StopReason | Field::StopSequence | Field::Cost => {
            Says::Exactly
        }
        Field::TurnTime => {
            Says::Less("a time that stands alone is that of the next entry, if that has none of its own")
        }
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => Says::Less("a count that goes down again within one response"),

        Field::ItemAuthor
        | Field::ItemId
        | Field::ItemParent
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemStatus => Says::Exactly,

        Field::MessageText
        | Field::MessageMedia
        | Field::MessageJson
        | Field::Refusal
        | Field::MediaType
        | Field::MediaName
        | Field::FilePath
        | Field::FileAction
        | Field::FileDiff => Says::Exactly,

        Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer => Says::Exactly,

        Field::CallId | Field::CallKind | Field::CallNamespace | Field::CallName | Field::CallArgs => {
            Says::Exactly
        }
        Field::ResultCallId
        | Field::ResultName
        | Field::ResultText
        | Field::ResultMedia
        | Field::ResultJson
        | Field::ResultIsError => Says::Exactly,
        Field::NoticeType | Field::NoticeText => Says::Exactly,

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
        | Field::QuestionDeclined => Says::Exactly,

        Field::ErrorClass
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
