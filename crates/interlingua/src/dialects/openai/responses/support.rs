//! The fields that requests and responses of the Responses API support.

use crate::ledger::Reason;
use crate::model::{Field, Support, citations};
use crate::wire::support::{ANSWERED, CALLED, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request};

/// The fields of a request.
pub(super) const fn request(field: Field) -> Support {
    match field {
        // Fields that other APIs do not have.
        Field::ItemAuthor => Support::Less("messages that say nothing are left out"),
        Field::ItemPhase => Support::Less("of the assistant only"),
        Field::CallNamespace => CALLED,
        other => rest_of_request(other),
    }
}

/// The fields of a response, whole or streamed.
pub(super) const fn answer(field: Field) -> Support {
    match field {
        Field::ItemId => Support::Less("each is there once"),
        Field::ItemPhase => Support::Less("of messages that say something"),
        Field::CallNamespace => CALLED,
        Field::ItemStatus => Support::Less("that an item was cut off, but not that it failed"),
        other => rest_of_answer(other),
    }
}

#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
const fn rest_of_request(field: Field) -> Support {
    match field {
        Field::RequestModel
        | Field::MaxTokens
        | Field::StreamAnswer
        | Field::FormatDescription
        | Field::AnswerFormat
        | Field::FormatName
        | Field::FormatStrict
        | Field::ToolNamespace => Support::Exactly,
        Field::ResultText => ANSWERED,
        Field::CallArgs => CALLED,
        Field::Temperature
        | Field::TopP
        | Field::TopLogprobs
        | Field::StoreAnswer
        | Field::Verbosity
        | Field::Metadata
        | Field::CacheKey => Support::Less("some servers or models refuse it"),
        Field::FormatSchema => Support::Less("as the server takes it"),
        Field::Logprobs => Support::Less("only that they are wanted"),
        Field::StreamUsage => Support::Less("every stream tells it"),
        Field::Effort => Support::Less("words the model does not take become the nearest"),
        Field::ReasoningVisibility => Support::Less("summaries only: `auto`, `concise` or `detailed`"),
        Field::ReasoningBudget => Support::Less("a budget becomes the nearest effort"),
        Field::AllowedTools => Support::Less("only beside a choice among them"),
        Field::ToolDescription | Field::ToolSchema | Field::ToolStrict | Field::ToolDeferred => {
            Support::Less("not of tools that a vendor trained or runs")
        }
        Field::ToolOutputSchema => Support::Less("only of functions"),
        Field::ToolName => Support::Less(
            "odd letters are replaced; another vendor's own tools are lost, or the API's own stand in",
        ),
        Field::ToolType | Field::ToolConfig | Field::ToolService => {
            Support::Less("another vendor's own tools are lost, or the API's own stand in")
        }
        Field::ToolKind => Support::Less("tools that another vendor trained or runs are lost"),
        Field::ToolGrammar => Support::Less("only tools that take plain text have one"),
        Field::CallKind => Support::Less("functions and free-text calls only"),
        Field::EndUser => Support::Less("a longer one than 64 characters is replaced by a hash"),
        Field::ServiceTier => Support::Less("words of other providers are lost"),
        Field::CacheMark => Support::Less("on what users and tools say only, and every sort is `explicit`"),
        Field::CacheLifetime => Support::Less("half an hour or half a day; others are lost"),
        Field::MessageText | Field::Refusal => Support::Less("empty texts of the assistant are left out"),
        Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer => Support::Less("only reasoning that OpenAI issued and from which something came"),
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures and files, but no sound or film, and no files of other providers")
        }
        Field::MediaType => Support::Less("media at an address, and texts, have no type of their own"),
        Field::MediaName => Support::Less("only of files; of texts in a line before them"),
        Field::MediaContext => Support::Less("only of texts, in a line before them"),
        Field::MediaDetail => Support::Less("pictures and files have it, texts do not"),
        Field::ResultIsError => {
            Support::Less("a failed result begins with `[tool error]`; that it went well is not said")
        }
        Field::TopK
        | Field::Seed
        | Field::FrequencyPenalty
        | Field::PresencePenalty
        | Field::AnswerCount
        | Field::StopTexts
        | Field::Modalities
        | Field::ReasoningMode
        | Field::SettingsCache
        | Field::MediaCitable => Support::No(Reason::NoSlot),
        // Only responses hold citations.
        citations!() => Support::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
const fn rest_of_answer(field: Field) -> Support {
    match field {
        Field::CallArgs => CALLED,
        Field::ReasoningText | Field::ReasoningSummary => Support::Exactly,
        Field::TurnTime => Support::Less("seconds only"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => COUNTED,
        Field::StopReason => Support::Less(
            "reasons without a word become `completed`, `max_output_tokens` or `content_filter`",
        ),
        Field::MessageText | Field::Refusal => Support::Less("empty texts are left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("the last signature of a text; in `encrypted_content`, others' under their name")
        }
        Field::CallKind => Support::Less("functions and free-text calls only"),
        Field::CitationKind => Support::Less("every sort is `url_citation`"),
        Field::CitationTitle | Field::CitationSource | Field::CitationFrom | Field::CitationTo => {
            Support::Less("only of what is at an address")
        }
        Field::ErrorClass | Field::ErrorCode => Support::Less("only of the first failure"),
        Field::ErrorRetryAfter => Support::Less("in a stream, in the message of a rate limit"),
        Field::CitationQuote
        | Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState
        | Field::UsageInputAudio
        | Field::UsageOutputAudio
        | Field::ItemAnswer
        | Field::TurnAnswer
        | Field::StopSequence
        | Field::StopDetail
        | Field::Cost
        | Field::ErrorStatus
        | Field::ErrorRequestId => Support::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
