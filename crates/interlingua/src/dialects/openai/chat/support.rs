//! The fields that requests and responses of the Chat Completions API support.

use crate::ledger::Reason;
use crate::model::{Field, Support, citations};
use crate::wire::support::{ANSWERED, CALLED, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request};

/// The fields of a request.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(in super::super) const fn request(field: Field) -> Support {
    match field {
        Field::RequestModel
        | Field::MaxTokens
        | Field::StreamAnswer
        | Field::FormatDescription
        | Field::Modalities
        | Field::AnswerFormat
        | Field::FormatName
        | Field::FormatSchema
        | Field::FormatStrict => Support::Exactly,
        Field::ResultText => ANSWERED,
        Field::CallArgs => CALLED,
        Field::ReasoningText => Support::Less("some servers have no place for it"),
        Field::Temperature
        | Field::TopP
        | Field::TopK
        | Field::Seed
        | Field::FrequencyPenalty
        | Field::PresencePenalty
        | Field::Logprobs
        | Field::TopLogprobs
        | Field::AnswerCount
        | Field::StoreAnswer
        | Field::Verbosity
        | Field::Metadata
        | Field::CacheKey => Support::Less("some servers or models refuse it"),
        Field::StreamUsage => Support::Less("only of a stream"),
        Field::Effort => Support::Less("words the model does not take become the nearest"),
        Field::ReasoningBudget => Support::Less("written as the nearest effort"),
        Field::AllowedTools => Support::Less("only beside a choice among them"),
        Field::ToolNamespace => Support::Emulated("put before the name"),
        Field::ToolDescription | Field::ToolSchema | Field::ToolStrict => {
            Support::Less("not of tools that a vendor trained or runs")
        }
        Field::ToolName => {
            Support::Less("odd letters are replaced; tools that a vendor trained or runs are lost")
        }
        Field::StopTexts => Support::Less("no more than four"),
        Field::ToolKind => Support::Less("functions and free-text tools only"),
        Field::CallKind => Support::Less("functions and free-text calls only"),
        Field::EndUser => Support::Less("a longer one than 64 characters is replaced by a hash"),
        Field::ServiceTier => Support::Less("words of other providers are lost"),
        Field::CacheMark => Support::Less("on parts of content only, and every sort is the server's own"),
        Field::CacheLifetime => {
            Support::Less("half an hour or half a day, or as the server has it; others are lost")
        }
        Field::MessageText | Field::Refusal => Support::Less("empty texts of the assistant are left out"),
        Field::ReasoningSummary => Support::Emulated("written as reasoning"),
        Field::MessageMedia | Field::ResultMedia => Support::Less(
            "of the user, and of results after them: pictures, sound and PDF documents, texts as text, but no files of other providers",
        ),
        Field::MediaType => Support::Less("media at an address, and texts, have no type of their own"),
        Field::MediaName => Support::Less("only of documents; of texts in a line before them"),
        Field::MediaContext => Support::Less("only of texts, in a line before them"),
        Field::MediaCitable => Support::No(Reason::NoSlot),
        Field::MediaDetail => Support::Less("only pictures have it"),
        Field::ToolGrammar => Support::Less("only tools that take plain text have one"),
        Field::ResultIsError => {
            Support::Less("a failed result begins with `[tool error]`; that it went well is not said")
        }
        // A backend receives only state that it issued, and this API issues none.
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only to a server that asks their issuer, as OpenRouter does")
        }
        Field::ToolType | Field::ToolService | Field::ToolConfig => {
            Support::Less("only of a search on the web, to models that search")
        }
        Field::ToolOutputSchema
        | Field::ToolDeferred
        | Field::ReasoningMode
        | Field::ReasoningVisibility
        | Field::SettingsCache => Support::No(Reason::NoSlot),
        // Only responses hold citations.
        citations!() => Support::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

/// The fields of a response, whole or streamed.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(in super::super) const fn answer(field: Field) -> Support {
    match field {
        Field::CallArgs => CALLED,
        Field::ReasoningText | Field::ItemAnswer | Field::TurnAnswer => Support::Exactly,
        Field::TurnTime => Support::Less("seconds only"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => COUNTED,
        Field::StopReason => {
            Support::Less("reasons without a word become `stop`, `length` or `content_filter`")
        }
        Field::MessageText | Field::Refusal => Support::Less("empty texts are left out"),
        Field::ReasoningSummary => Support::Emulated("written as reasoning"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("the last signature of a text; in `reasoning_details`, as other gateways write it")
        }
        Field::CallKind => Support::Less("functions and free-text calls only, and in streams functions"),
        Field::CitationKind => Support::Less("every sort is `url_citation`"),
        Field::CitationTitle | Field::CitationSource | Field::CitationFrom | Field::CitationTo => {
            Support::Less("only of what is at an address")
        }
        Field::ErrorClass | Field::ErrorCode => Support::Less("only of the first failure"),
        Field::CitationQuote
        | Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState
        | Field::UsageCacheWriteLong
        | Field::StopSequence
        | Field::StopDetail
        | Field::Cost
        | Field::ErrorStatus
        | Field::ErrorRequestId
        | Field::ErrorRetryAfter => Support::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
