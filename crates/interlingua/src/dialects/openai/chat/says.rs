//! What requests and answers of the Chat Completions API say of each field of the model.

use crate::ledger::Reason;
use crate::model::{
    Field, Says, caches, citations, failures, notices, oversight, revisions, session, settings, turns, usage,
};

/// A request.
pub(super) const fn request(field: Field) -> Says {
    match field {
        Field::Structure
        | Field::Padding
        | Field::RequestModel
        | Field::MaxTokens
        | Field::Temperature
        | Field::TopP
        | Field::StreamAnswer
        | Field::ToolDescription
        | Field::ToolSchema
        | Field::ToolStrict
        | Field::Effort
        | Field::AnswerFormat
        | Field::FormatName
        | Field::FormatSchema
        | Field::FormatStrict
        | Field::ResultText
        | Field::CallArgs => Says::Exactly,
        Field::ToolName | Field::CallName | Field::CallId | Field::ResultCallId => {
            Says::Emulated("letters that the API does not take are replaced, with a hash at the end")
        }
        Field::CallNamespace => Says::Emulated("put before the name"),
        Field::MessageJson | Field::ResultJson => Says::Emulated("written as text"),
        Field::StopTexts => Says::Less("no more than four"),
        Field::ToolKind => Says::Less("functions and free-text tools only"),
        Field::CallKind => Says::Less("functions and free-text calls only"),
        Field::ToolChoice => Says::Less("without such a tool there is no choice"),
        Field::ParallelCalls => Says::Less("without calls nothing is parallel"),
        Field::EndUser => Says::Less("a longer one than 64 characters is replaced by a hash"),
        Field::ServiceTier => Says::Less("words of other providers are lost"),
        Field::ItemAuthor => {
            Says::Less("developers are not told from the system; messages in a row are joined")
        }
        Field::ItemStatus => Says::Less("only that a call was cut off shows"),
        Field::MessageText | Field::Refusal => Says::Less("empty texts of the assistant are left out"),
        Field::ReasoningText => Says::Exactly,
        Field::ReasoningSummary => Says::Emulated("written as reasoning"),
        Field::MessageMedia | Field::ResultMedia => Says::Less(
            "of the user, and of results after them: pictures, sound and PDF documents, but no files of other providers",
        ),
        Field::MediaType => Says::Less("media at an address have no type of their own"),
        Field::MediaName => Says::Less("only documents have one"),
        Field::ResultIsError => {
            Says::Less("a failed result begins with `[tool error]`; that it went well is not said")
        }
        // The call has the name.
        Field::ResultName => Says::No(Reason::Redundant),
        // A backend gets no state that it did not issue, and this API issues none.
        Field::Signature | Field::Encrypted | Field::Issuer => Says::No(Reason::Foreign),
        // No word on the wire is about sessions, or about what an agent asks a person.
        session!() => Says::No(Reason::NoSlot),
        oversight!() => Says::No(Reason::NoSlot),
        // Messages have no id, time, parent or model of their own, and there are no notices, files or sources.
        Field::ItemId | Field::ItemParent | Field::ItemTime | Field::ItemModel => Says::No(Reason::NoSlot),
        notices!() => Says::No(Reason::NoSlot),
        Field::FilePath | Field::FileAction | Field::FileDiff => Says::No(Reason::NoSlot),
        // These are an answer's.
        turns!() => Says::No(Reason::NoSlot),
        usage!() => Says::No(Reason::NoSlot),
        failures!() => Says::No(Reason::NoSlot),
        Field::EventTime
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

/// An answer, whole or as a stream.
pub(super) const fn answer(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding | Field::CallArgs => Says::Exactly,
        Field::ErrorMessage => Says::Less("only of the first failure"),
        Field::CallName | Field::CallId => {
            Says::Emulated("letters that the API does not take are replaced, with a hash at the end")
        }
        Field::CallNamespace => Says::Emulated("put before the name"),
        Field::MessageJson => Says::Emulated("written as text"),
        Field::TurnId | Field::TurnModel => Says::Less("the first of several answers"),
        Field::TurnTime => Says::Less("seconds only"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageOutput
        | Field::UsageReasoning => {
            Says::Less("counts that later ones replace, and those of an answer that failed")
        }
        Field::StopReason => Says::Less("reasons without a word become `stop`, `length` or `content_filter`"),
        Field::ItemAuthor => Says::Less("only the assistant speaks"),
        Field::ItemStatus => Says::Less("only that a call was cut off shows"),
        Field::MessageText | Field::Refusal => Says::Less("empty texts are left out"),
        Field::ReasoningText => Says::Exactly,
        Field::ReasoningSummary => Says::Emulated("written as reasoning"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("the last signature of a text; in `reasoning_details`, as other gateways write it")
        }
        Field::CallKind => Says::Less("functions and free-text calls only, and in streams functions"),
        Field::ErrorClass | Field::ErrorCode => Says::Less("a code beside that of its class"),
        Field::UsageCacheWriteLong
        | Field::StopSequence
        | Field::Cost
        | Field::ErrorStatus
        | Field::ErrorRequestId => Says::No(Reason::NoSlot),
        // No word on the wire is about sessions, or about what an agent asks a person.
        session!() => Says::No(Reason::NoSlot),
        oversight!() => Says::No(Reason::NoSlot),
        // Messages have no id, time, parent or model of their own, and there are no notices, files or sources.
        Field::ItemId | Field::ItemParent | Field::ItemTime | Field::ItemModel => Says::No(Reason::NoSlot),
        notices!() => Says::No(Reason::NoSlot),
        Field::FilePath | Field::FileAction | Field::FileDiff => Says::No(Reason::NoSlot),
        // These are a request's.
        Field::ResultCallId
        | Field::ResultName
        | Field::ResultText
        | Field::ResultMedia
        | Field::ResultJson
        | Field::ResultIsError
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName => Says::No(Reason::NoSlot),
        settings!() => Says::No(Reason::NoSlot),
        Field::EventTime
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
