//! The fields that requests and responses of the Gemini API support.

use crate::ledger::Reason;
use crate::model::{Field, Says, caches, citations};
use crate::wire::says::{
    ANSWERED, CALLED_WITH_OBJECT, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request,
};

/// The fields of a request.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn request(field: Field) -> Says {
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
        | Field::ReasoningText => Says::Exactly,
        Field::ResultText => ANSWERED,
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ToolNamespace => Says::Emulated("put before the name"),
        Field::StopTexts => Says::Less("no more than five"),
        Field::StoreAnswer => Says::Less("the enterprise API refuses it"),
        Field::ServiceTier => Says::Less("only `default`, `flex` and `priority` have a word"),
        Field::Modalities => Says::Less("text, pictures and sound"),
        Field::Effort => Says::Less("words the model does not take become the nearest, or a budget"),
        Field::ReasoningMode => Says::Less("only that the model decides, where it takes budgets"),
        Field::ReasoningBudget => Says::Less("models with levels get the nearest"),
        Field::ReasoningVisibility => {
            Says::Less("thoughts are shown or not; summaries of every length are one")
        }
        Field::ToolName => {
            Says::Less("odd letters are replaced; another vendor's tool gets the name of the API's own")
        }
        Field::ToolKind => Says::Less("a free-text tool becomes a function with one member"),
        Field::ToolType | Field::ToolConfig => Says::Less("tools of other vendors are lost"),
        Field::ToolService => Says::Less("only as far as the API has a tool for the same"),
        Field::ToolDescription | Field::ToolOutputSchema => Says::Less("the vendor's own tools have none"),
        Field::ToolSchema => Says::Less("a free-text tool has a schema of ours, the vendor's own have none"),
        Field::ToolStrict => Says::Less("of all tools together, by the mode `VALIDATED`"),
        Field::AllowedTools => Says::Less("functions only, and only where calls may be made"),
        Field::CallKind => {
            Says::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::MessageText => Says::Less("empty texts of the assistant are left out"),
        Field::Refusal => Says::Less("written as text"),
        Field::ReasoningSummary => Says::Emulated("written as a thought"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("only what Google issued is sent back to it, and the last signature of a thought")
        }
        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("of the types that the model takes, and no files of other providers")
        }
        Field::MediaType | Field::MediaName => Says::Less("text documents have none"),
        Field::MediaDetail => Says::Less("low, medium or high"),
        Field::ResultIsError => Says::Less("a failed result is an `error`; that it went well is not said"),
        // The API enforces every response schema.
        Field::FormatStrict => Says::No(Reason::Redundant),
        // The method name decides whether to stream, and every stream holds usage.
        Field::StreamAnswer | Field::StreamUsage => Says::No(Reason::NoSlot),
        Field::FormatName
        | Field::FormatDescription
        | Field::Verbosity
        | Field::ToolGrammar
        | Field::ToolDeferred
        | Field::EndUser
        | Field::CacheKey
        | Field::SettingsCache
        | Field::MediaContext
        | Field::MediaCitable => Says::No(Reason::NoSlot),
        // Only responses hold citations, and the API has no cache marks.
        citations!() | caches!() => Says::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

/// The fields of a response, whole or streamed.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn answer(field: Field) -> Says {
    match field {
        Field::ReasoningText | Field::Encrypted | Field::ItemAnswer | Field::TurnAnswer => Says::Exactly,
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ReasoningSummary => Says::Emulated("written as a thought"),
        Field::Issuer => Says::Emulated("one that is not Google stands before its state, both in base64"),
        Field::Signature => Says::Less("the last one of a thought"),
        Field::TurnTime => Says::Less("dates, no seconds"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => COUNTED,
        Field::UsageCacheWrite => Says::Less("counted as input, not told apart"),
        Field::StopReason => {
            Says::Less("reasons without a word become `STOP`, `MAX_TOKENS`, `SAFETY` or `OTHER`")
        }
        Field::StopDetail => Says::Less("a text only"),
        Field::MessageText => Says::Less("empty texts are left out"),
        Field::Refusal => Says::Less("written as text"),
        Field::CallKind => {
            Says::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::CitationKind => Says::Less("every sort is one of a page or of a passage"),
        Field::CitationQuote
        | Field::CitationTitle
        | Field::CitationSource
        | Field::CitationFrom
        | Field::CitationTo => Says::Less("only of what is at an address"),
        Field::ErrorClass => Says::Less("classes without a word become the nearest"),
        Field::ErrorCode | Field::ErrorRequestId | Field::ErrorRetryAfter | Field::ErrorStatus => {
            Says::Less("only of the first failure")
        }
        Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState
        | Field::UsageCacheWriteLong
        | Field::StopSequence
        | Field::Cost => Says::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
