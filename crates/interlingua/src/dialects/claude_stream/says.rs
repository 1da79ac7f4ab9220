//! What Claude Code can be told on stdin: prompts, answers and the interrupt. What only an agent says has no line there.

use crate::ledger::Reason;
use crate::model::{Field, Says};

pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Unnamed => Says::Exactly,
        Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName => Says::Less("only prompts are said: messages of the user with text or media"),
        Field::StopReason => Says::Less("only that a turn was cancelled is said: the interrupt"),
        Field::PermissionId | Field::PermissionAnswer | Field::PermissionMessage => {
            Says::Less("only answers are said: the agent knows what it asked")
        }
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
        | Field::SessionEndMessage
        | Field::RequestModel
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
        | Field::ServiceTier
        | Field::TurnId
        | Field::TurnModel
        | Field::TurnTime
        | Field::StopSequence
        | Field::Cost
        | Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::ItemId
        | Field::ItemParent
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemStatus
        | Field::MessageJson
        | Field::Refusal
        | Field::Citation
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
        | Field::NoticeType
        | Field::NoticeText
        | Field::PermissionCallId
        | Field::QuestionCallId
        | Field::ErrorClass
        | Field::ErrorStatus
        | Field::ErrorCode
        | Field::ErrorMessage
        | Field::ErrorRequestId => Says::No(Reason::NoSlot),
    }
}
