//! The fields that requests and responses of the Gemini API support.

use crate::ledger::Reason;
use crate::model::{Field, Support, caches, citations};
use crate::wire::support::{
    ANSWERED, CALLED_WITH_OBJECT, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request,
};

/// The fields of a request.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn request(field: Field) -> Support {
    match field {
        Field::RequestModel
        | Field::MaxTokens
        | Field::Temperature
        | Field::TopP
        | Field::TopK
        | Field::Seed
        | Field::FrequencyPenalty
        | Field::PresencePenalty
        | Field::Logprobs
        | Field::TopLogprobs
        | Field::AnswerCount
        | Field::Metadata
        | Field::AnswerFormat
        | Field::FormatSchema
        | Field::ReasoningText => Support::Exactly,
        Field::ResultText => ANSWERED,
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ToolNamespace => Support::Emulated("put before the name"),
        Field::StopTexts => Support::Less("no more than five"),
        Field::StoreAnswer => Support::Less("the enterprise API refuses it"),
        Field::ServiceTier => Support::Less("only `default`, `flex` and `priority` have a word"),
        Field::Modalities => Support::Less("text, pictures and sound"),
        Field::Effort => Support::Less("words the model does not take become the nearest, or a budget"),
        Field::ReasoningMode => Support::Less("only that the model decides, where it takes budgets"),
        Field::ReasoningBudget => Support::Less("models with levels get the nearest"),
        Field::ReasoningVisibility => {
            Support::Less("thoughts are shown or not; summaries of every length are one")
        }
        Field::ToolName => {
            Support::Less("odd letters are replaced; another vendor's tool gets the name of the API's own")
        }
        Field::ToolKind => Support::Less("a free-text tool becomes a function with one member"),
        Field::ToolType | Field::ToolConfig => Support::Less("tools of other vendors are lost"),
        Field::ToolService => Support::Less("only as far as the API has a tool for the same"),
        Field::ToolDescription | Field::ToolOutputSchema => Support::Less("the vendor's own tools have none"),
        Field::ToolSchema => {
            Support::Less("a free-text tool has a schema of ours, the vendor's own have none")
        }
        Field::ToolStrict => Support::Less("of all tools together, by the mode `VALIDATED`"),
        Field::AllowedTools => Support::Less("functions only, and only where calls may be made"),
        Field::CallKind => {
            Support::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::MessageText => Support::Less("empty texts of the assistant are left out"),
        Field::Refusal => Support::Less("written as text"),
        Field::ReasoningSummary => Support::Emulated("written as a thought"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only what Google issued is sent back to it, and the last signature of a thought")
        }
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("of the types that the model takes, and no files of other providers")
        }
        Field::MediaType | Field::MediaName => Support::Less("text documents have none"),
        Field::MediaDetail => Support::Less("low, medium or high"),
        Field::ResultIsError => Support::Less("a failed result is an `error`; that it went well is not said"),
        // The API enforces every response schema.
        Field::FormatStrict => Support::No(Reason::Redundant),
        // The method name decides whether to stream, and every stream holds usage.
        Field::StreamAnswer | Field::StreamUsage => Support::No(Reason::NoSlot),
        Field::FormatName
        | Field::FormatDescription
        | Field::Verbosity
        | Field::ToolGrammar
        | Field::ToolDeferred
        | Field::EndUser
        | Field::CacheKey
        | Field::SettingsCache
        | Field::MediaContext
        | Field::MediaCitable => Support::No(Reason::NoSlot),
        // Only responses hold citations, and the API has no cache marks.
        citations!() | caches!() => Support::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

/// The fields of a response, whole or streamed.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn answer(field: Field) -> Support {
    match field {
        Field::ReasoningText | Field::Encrypted | Field::ItemAnswer | Field::TurnAnswer => Support::Exactly,
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ReasoningSummary => Support::Emulated("written as a thought"),
        Field::Issuer => Support::Emulated("one that is not Google stands before its state, both in base64"),
        Field::Signature => Support::Less("the last one of a thought"),
        Field::TurnTime => Support::Less("dates, no seconds"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => COUNTED,
        Field::UsageCacheWrite => Support::Less("counted as input, not told apart"),
        Field::StopReason => {
            Support::Less("reasons without a word become `STOP`, `MAX_TOKENS`, `SAFETY` or `OTHER`")
        }
        Field::StopDetail => Support::Less("a text only"),
        Field::MessageText => Support::Less("empty texts are left out"),
        Field::Refusal => Support::Less("written as text"),
        Field::CallKind => {
            Support::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::CitationKind => Support::Less("every sort is one of a page or of a passage"),
        Field::CitationQuote
        | Field::CitationTitle
        | Field::CitationSource
        | Field::CitationFrom
        | Field::CitationTo => Support::Less("only of what is at an address"),
        Field::ErrorClass => Support::Less("classes without a word become the nearest"),
        Field::ErrorCode | Field::ErrorRequestId | Field::ErrorRetryAfter | Field::ErrorStatus => {
            Support::Less("only of the first failure")
        }
        Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState
        | Field::UsageCacheWriteLong
        | Field::StopSequence
        | Field::Cost => Support::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
