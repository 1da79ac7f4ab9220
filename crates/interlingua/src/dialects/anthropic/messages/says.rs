//! What requests and answers of the Messages API say of each field of the model.

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
        | Field::StopTexts
        | Field::StreamAnswer
        | Field::ToolDescription
        | Field::ToolStrict
        | Field::FormatSchema
        | Field::ResultIsError => Says::Exactly,
        Field::ToolName | Field::CallName | Field::CallId | Field::ResultCallId => {
            Says::Emulated("letters that the API does not take are replaced, with a hash at the end")
        }
        Field::CallNamespace => Says::Emulated("put before the name"),
        Field::CallArgs => Says::Emulated("what is no JSON object becomes the member `_raw_arguments`"),
        Field::MessageJson | Field::ResultJson => Says::Emulated("written as text"),
        Field::ToolKind => {
            Says::Less("a free-text tool becomes a function with one member; the provider's own are lost")
        }
        Field::CallKind => {
            Says::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::ToolSchema => Says::Less("a free-text tool has a schema of ours"),
        Field::ToolChoice => Says::Less("without such a tool there is no choice"),
        Field::ParallelCalls => Says::Less("without calls nothing is parallel"),
        Field::Effort => Says::Less("`minimal` becomes `low`; words the API does not know are lost"),
        Field::AnswerFormat => Says::Less("only a schema has a place"),
        Field::EndUser => Says::Less("a longer one than 256 characters is replaced by a hash"),
        Field::ServiceTier => Says::Less("only `auto` and `default` have a word"),
        Field::ItemAuthor => {
            Says::Less("developers are not told from the system; messages in a row are joined")
        }
        Field::ItemStatus => Says::Less("only that a call was cut off shows"),
        Field::MessageText | Field::ResultText => Says::Less("blank text is refused"),
        Field::Refusal => Says::Less("written as text; blank text is refused"),
        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("pictures and PDF documents only, and no files of other providers")
        }
        Field::MediaType => Says::Less("media at an address have no type of their own"),
        Field::MediaName => Says::Less("only documents have one"),
        Field::ReasoningText | Field::ReasoningSummary => {
            Says::Less("reasoning without a signature is refused")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("only what Anthropic issued is sent back to it, and the last signature of a text")
        }
        Field::Temperature | Field::TopP => Says::No(Reason::Refused),
        Field::FormatName => Says::No(Reason::NoSlot),
        // Here an answer always matches its schema.
        Field::FormatStrict => Says::No(Reason::Redundant),
        // The call has the name.
        Field::ResultName => Says::No(Reason::Redundant),
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
        Field::Structure | Field::Padding | Field::StopSequence => Says::Exactly,
        Field::ErrorMessage | Field::ErrorRequestId => Says::Less("only of the first failure"),
        Field::CallName | Field::CallId => {
            Says::Emulated("letters that the API does not take are replaced, with a hash at the end")
        }
        Field::CallNamespace => Says::Emulated("put before the name"),
        Field::CallArgs => Says::Emulated("what is no JSON object becomes the member `_raw_arguments`"),
        Field::MessageJson => Says::Emulated("written as text"),
        Field::ReasoningText => Says::Exactly,
        Field::ReasoningSummary => Says::Emulated("written as thinking"),
        Field::TurnId | Field::TurnModel => Says::Less("the first of several answers"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => {
            Says::Less("counts that later ones replace, and those of an answer that failed")
        }
        Field::StopReason => Says::Less("reasons without a word become `end_turn` or `refusal`"),
        Field::ItemAuthor => Says::Less("only the assistant speaks"),
        Field::ItemStatus => Says::Less("only that a call was cut off shows"),
        Field::MessageText => Says::Less("empty texts are left out"),
        Field::Refusal => Says::Less("written as text"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("only what Anthropic issued has a place, and the last signature of a text")
        }
        Field::CallKind => {
            Says::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::ErrorClass => Says::Less("classes without a word become `api_error`"),
        Field::ErrorCode => Says::Less("only the words of this API"),
        Field::TurnTime | Field::Cost | Field::ErrorStatus => Says::No(Reason::NoSlot),
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
