//! The fields that requests and responses of the Responses API support.

use crate::ledger::Reason;
use crate::model::{Field, Says, citations};
use crate::wire::says::{ANSWERED, CALLED, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request};

/// The fields of a request.
pub(super) const fn request(field: Field) -> Says {
    match field {
        // Fields that other APIs do not have.
        Field::ItemAuthor => Says::Less("messages that say nothing are left out"),
        Field::ItemPhase => Says::Less("of the assistant only"),
        Field::CallNamespace => CALLED,
        other => rest_of_request(other),
    }
}

/// The fields of a response, whole or streamed.
pub(super) const fn answer(field: Field) -> Says {
    match field {
        Field::ItemId => Says::Less("each is there once"),
        Field::ItemPhase => Says::Less("of messages that say something"),
        Field::CallNamespace => CALLED,
        Field::ItemStatus => Says::Less("that an item was cut off, but not that it failed"),
        other => rest_of_answer(other),
    }
}

#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
const fn rest_of_request(field: Field) -> Says {
    match field {
        Field::RequestModel
        | Field::MaxTokens
        | Field::StreamAnswer
        | Field::FormatDescription
        | Field::AnswerFormat
        | Field::FormatName
        | Field::FormatStrict
        | Field::ToolNamespace => Says::Exactly,
        Field::ResultText => ANSWERED,
        Field::CallArgs => CALLED,
        Field::Temperature
        | Field::TopP
        | Field::TopLogprobs
        | Field::StoreAnswer
        | Field::Verbosity
        | Field::Metadata
        | Field::CacheKey => Says::Less("some servers or models refuse it"),
        Field::FormatSchema => Says::Less("as the server takes it"),
        Field::Logprobs => Says::Less("only that they are wanted"),
        Field::StreamUsage => Says::Less("every stream tells it"),
        Field::Effort => Says::Less("words the model does not take become the nearest"),
        Field::ReasoningVisibility => Says::Less("summaries only: `auto`, `concise` or `detailed`"),
        Field::ReasoningBudget => Says::Less("a budget becomes the nearest effort"),
        Field::AllowedTools => Says::Less("only beside a choice among them"),
        Field::ToolDescription | Field::ToolSchema | Field::ToolStrict | Field::ToolDeferred => {
            Says::Less("not of tools that a vendor trained or runs")
        }
        Field::ToolOutputSchema => Says::Less("only of functions"),
        Field::ToolName => Says::Less(
            "odd letters are replaced; another vendor's own tools are lost, or the API's own stand in",
        ),
        Field::ToolType | Field::ToolConfig | Field::ToolService => {
            Says::Less("another vendor's own tools are lost, or the API's own stand in")
        }
        Field::ToolKind => Says::Less("tools that another vendor trained or runs are lost"),
        Field::ToolGrammar => Says::Less("only tools that take plain text have one"),
        Field::CallKind => Says::Less("functions and free-text calls only"),
        Field::EndUser => Says::Less("a longer one than 64 characters is replaced by a hash"),
        Field::ServiceTier => Says::Less("words of other providers are lost"),
        Field::CacheMark => Says::Less("on what users and tools say only, and every sort is `explicit`"),
        Field::CacheLifetime => Says::Less("half an hour or half a day; others are lost"),
        Field::MessageText | Field::Refusal => Says::Less("empty texts of the assistant are left out"),
        Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer => Says::Less("only reasoning that OpenAI issued and from which something came"),
        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("pictures and files, but no sound or film, and no files of other providers")
        }
        Field::MediaType => Says::Less("media at an address, and texts, have no type of their own"),
        Field::MediaName => Says::Less("only of files; of texts in a line before them"),
        Field::MediaContext => Says::Less("only of texts, in a line before them"),
        Field::MediaDetail => Says::Less("pictures and files have it, texts do not"),
        Field::ResultIsError => {
            Says::Less("a failed result begins with `[tool error]`; that it went well is not said")
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
        | Field::MediaCitable => Says::No(Reason::NoSlot),
        // Only responses hold citations.
        citations!() => Says::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
const fn rest_of_answer(field: Field) -> Says {
    match field {
        Field::CallArgs => CALLED,
        Field::ReasoningText | Field::ReasoningSummary => Says::Exactly,
        Field::TurnTime => Says::Less("seconds only"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => COUNTED,
        Field::StopReason => {
            Says::Less("reasons without a word become `completed`, `max_output_tokens` or `content_filter`")
        }
        Field::MessageText | Field::Refusal => Says::Less("empty texts are left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("the last signature of a text; in `encrypted_content`, others' under their name")
        }
        Field::CallKind => Says::Less("functions and free-text calls only"),
        Field::CitationKind => Says::Less("every sort is `url_citation`"),
        Field::CitationTitle | Field::CitationSource | Field::CitationFrom | Field::CitationTo => {
            Says::Less("only of what is at an address")
        }
        Field::ErrorClass | Field::ErrorCode => Says::Less("only of the first failure"),
        Field::ErrorRetryAfter => Says::Less("in a stream, in the message of a rate limit"),
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
        | Field::ErrorRequestId => Says::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
