//! Fields that requests and responses of the Messages API support.

use crate::ledger::Reason;
use crate::model::{Field, Support};
use crate::wire::support::{
    ANSWERED, CALLED_WITH_OBJECT, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request,
};

/// Fields of a request.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn request(field: Field) -> Support {
    match field {
        Field::RequestModel
        | Field::MaxTokens
        | Field::StopTexts
        | Field::StreamAnswer
        | Field::FormatSchema => Support::Exactly,
        Field::ResultIsError => ANSWERED,
        Field::ToolName => {
            Support::Less("odd letters are replaced; another vendor's tool gets the name of the API's own")
        }
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ToolKind => Support::Less("a free-text tool becomes a function with one member"),
        Field::ToolType | Field::ToolConfig => Support::Less("tools of other vendors are lost"),
        Field::ToolDescription | Field::ToolStrict | Field::ToolDeferred => {
            Support::Less("the vendor's own tools have none")
        }
        Field::CallKind => {
            Support::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::ToolSchema => {
            Support::Less("a free-text tool has a schema of ours, the vendor's own have none")
        }
        Field::Effort => Support::Less("words the model does not take become the nearest, or a budget"),
        Field::ReasoningMode => {
            Support::Less("words the API does not know, and any beside thinking switched off")
        }
        Field::ReasoningBudget => Support::Less("models that decide themselves get the nearest effort"),
        Field::ReasoningVisibility => Support::Less("words the API does not know, and any without a mode"),
        Field::AnswerFormat => Support::Less("a schema has a place, and any object an instruction"),
        Field::EndUser => Support::Less("a longer one than 256 characters is replaced by a hash"),
        Field::StreamUsage => Support::Less("every stream tells it"),
        Field::ServiceTier => Support::Less("only `auto` and `default` have a word"),
        Field::SettingsCache | Field::CacheLifetime => Support::Less("5 minutes or an hour; others are lost"),
        Field::CacheMark => Support::Less("on blocks only, and every sort is `ephemeral`"),
        Field::MessageText | Field::ResultText => Support::Less("blank text is refused"),
        Field::Refusal => Support::Less("written as text; blank text is refused"),
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures, PDF and text documents only, and no files of other providers")
        }
        Field::MediaType => Support::Less("media at an address have no type of their own"),
        Field::MediaName | Field::MediaContext | Field::MediaCitable => {
            Support::Less("only documents have it")
        }
        Field::ReasoningText | Field::ReasoningSummary => {
            Support::Less("reasoning without a signature is refused")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only what Anthropic issued is sent back to it, and the last signature of a text")
        }
        Field::CitationKind
        | Field::CitationQuote
        | Field::CitationTitle
        | Field::CitationSource
        | Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState => {
            Support::Less("of the assistant, and of the API's own sorts, as far as each has it")
        }
        Field::Temperature | Field::TopP | Field::TopK => Support::Less("newer models refuse it"),
        Field::ToolNamespace => Support::Emulated("put before the name"),
        Field::AllowedTools => Support::Emulated("the other tools are not offered"),
        Field::ToolService => Support::Less("only as far as the API has a tool for the same"),
        // In this API a response always matches its schema.
        Field::FormatStrict => Support::No(Reason::Redundant),
        Field::Seed
        | Field::FrequencyPenalty
        | Field::PresencePenalty
        | Field::Logprobs
        | Field::TopLogprobs
        | Field::AnswerCount
        | Field::Verbosity
        | Field::Modalities
        | Field::FormatName
        | Field::FormatDescription
        | Field::StoreAnswer
        | Field::ToolOutputSchema
        | Field::ToolGrammar
        | Field::MediaDetail
        | Field::Metadata
        | Field::CacheKey => Support::No(Reason::NoSlot),
        // A citation's position is its text block.
        Field::CitationFrom | Field::CitationTo => Support::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

/// Fields of a response, whole or streamed.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn answer(field: Field) -> Support {
    match field {
        Field::StopSequence | Field::ReasoningText | Field::Encrypted => Support::Exactly,
        Field::StopDetail => Support::Less("only of the API's own sort"),
        Field::ErrorRequestId => Support::Less("only of the first failure"),
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ReasoningSummary => Support::Emulated("written as thinking"),
        Field::Issuer => Support::Emulated("one that is not Anthropic stands before its state"),
        Field::Signature => Support::Less("the last one of a text"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => COUNTED,
        Field::StopReason => Support::Less("reasons without a word become `end_turn` or `refusal`"),
        Field::MessageText => Support::Less("empty texts are left out"),
        Field::Refusal => Support::Less("written as text"),
        Field::CallKind => {
            Support::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::CitationKind => Support::Less("other sorts become results of a web search"),
        Field::CitationQuote
        | Field::CitationTitle
        | Field::CitationSource
        | Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState => Support::Less("as far as the sort of citation has it"),
        Field::ErrorCode => Support::Less("the word is that of the class; one that says more is lost"),
        Field::ErrorClass => Support::Less("classes without a word become `api_error`"),
        // A response has a single choice, and a citation's position is its text block.
        Field::TurnAnswer | Field::ItemAnswer | Field::CitationFrom | Field::CitationTo => {
            Support::No(Reason::NoSlot)
        }
        Field::TurnTime
        | Field::Cost
        | Field::ErrorStatus
        | Field::ErrorRetryAfter
        | Field::UsageInputAudio
        | Field::UsageOutputAudio => Support::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
