//! Fields that requests and responses of the Messages API support.

use crate::ledger::Reason;
use crate::model::{Field, Says};
use crate::wire::says::{
    ANSWERED, CALLED_WITH_OBJECT, COUNTED, in_answer, in_request, kit_in_answer, kit_in_request,
};

/// Fields of a request.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn request(field: Field) -> Says {
    match field {
        Field::RequestModel
        | Field::MaxTokens
        | Field::StopTexts
        | Field::StreamAnswer
        | Field::FormatSchema => Says::Exactly,
        Field::ResultIsError => ANSWERED,
        Field::ToolName => {
            Says::Less("odd letters are replaced; another vendor's tool gets the name of the API's own")
        }
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ToolKind => Says::Less("a free-text tool becomes a function with one member"),
        Field::ToolType | Field::ToolConfig => Says::Less("tools of other vendors are lost"),
        Field::ToolDescription | Field::ToolStrict | Field::ToolDeferred => {
            Says::Less("the vendor's own tools have none")
        }
        Field::CallKind => {
            Says::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::ToolSchema => Says::Less("a free-text tool has a schema of ours, the vendor's own have none"),
        Field::Effort => Says::Less("words the model does not take become the nearest, or a budget"),
        Field::ReasoningMode => {
            Says::Less("words the API does not know, and any beside thinking switched off")
        }
        Field::ReasoningBudget => Says::Less("models that decide themselves get the nearest effort"),
        Field::ReasoningVisibility => Says::Less("words the API does not know, and any without a mode"),
        Field::AnswerFormat => Says::Less("a schema has a place, and any object an instruction"),
        Field::EndUser => Says::Less("a longer one than 256 characters is replaced by a hash"),
        Field::StreamUsage => Says::Less("every stream tells it"),
        Field::ServiceTier => Says::Less("only `auto` and `default` have a word"),
        Field::SettingsCache | Field::CacheLifetime => Says::Less("5 minutes or an hour; others are lost"),
        Field::CacheMark => Says::Less("on blocks only, and every sort is `ephemeral`"),
        Field::MessageText | Field::ResultText => Says::Less("blank text is refused"),
        Field::Refusal => Says::Less("written as text; blank text is refused"),
        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("pictures, PDF and text documents only, and no files of other providers")
        }
        Field::MediaType => Says::Less("media at an address have no type of their own"),
        Field::MediaName | Field::MediaContext | Field::MediaCitable => Says::Less("only documents have it"),
        Field::ReasoningText | Field::ReasoningSummary => {
            Says::Less("reasoning without a signature is refused")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("only what Anthropic issued is sent back to it, and the last signature of a text")
        }
        Field::CitationKind
        | Field::CitationQuote
        | Field::CitationTitle
        | Field::CitationSource
        | Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState => {
            Says::Less("of the assistant, and of the API's own sorts, as far as each has it")
        }
        Field::Temperature | Field::TopP | Field::TopK => Says::Less("newer models refuse it"),
        Field::ToolNamespace => Says::Emulated("put before the name"),
        Field::AllowedTools => Says::Emulated("the other tools are not offered"),
        Field::ToolService => Says::Less("only as far as the API has a tool for the same"),
        // In this API a response always matches its schema.
        Field::FormatStrict => Says::No(Reason::Redundant),
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
        | Field::CacheKey => Says::No(Reason::NoSlot),
        // A citation's position is its text block.
        Field::CitationFrom | Field::CitationTo => Says::No(Reason::NoSlot),
        kit_in_request!() => in_request(field),
    }
}

/// Fields of a response, whole or streamed.
#[expect(clippy::unnested_or_patterns, reason = "each room of fields is a pattern of its own")]
pub(super) const fn answer(field: Field) -> Says {
    match field {
        Field::StopSequence | Field::ReasoningText | Field::Encrypted => Says::Exactly,
        Field::StopDetail => Says::Less("only of the API's own sort"),
        Field::ErrorRequestId => Says::Less("only of the first failure"),
        Field::CallArgs => CALLED_WITH_OBJECT,
        Field::ReasoningSummary => Says::Emulated("written as thinking"),
        Field::Issuer => Says::Emulated("one that is not Anthropic stands before its state"),
        Field::Signature => Says::Less("the last one of a text"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageOutput
        | Field::UsageReasoning => COUNTED,
        Field::StopReason => Says::Less("reasons without a word become `end_turn` or `refusal`"),
        Field::MessageText => Says::Less("empty texts are left out"),
        Field::Refusal => Says::Less("written as text"),
        Field::CallKind => {
            Says::Less("a free-text call becomes a function's; those the provider ran are lost")
        }
        Field::CitationKind => Says::Less("other sorts become results of a web search"),
        Field::CitationQuote
        | Field::CitationTitle
        | Field::CitationSource
        | Field::CitationDocument
        | Field::CitationStart
        | Field::CitationEnd
        | Field::CitationState => Says::Less("as far as the sort of citation has it"),
        Field::ErrorCode => Says::Less("the word is that of the class; one that says more is lost"),
        Field::ErrorClass => Says::Less("classes without a word become `api_error`"),
        // A response has a single choice, and a citation's position is its text block.
        Field::TurnAnswer | Field::ItemAnswer | Field::CitationFrom | Field::CitationTo => {
            Says::No(Reason::NoSlot)
        }
        Field::TurnTime
        | Field::Cost
        | Field::ErrorStatus
        | Field::ErrorRetryAfter
        | Field::UsageInputAudio
        | Field::UsageOutputAudio => Says::No(Reason::NoSlot),
        kit_in_answer!() => in_answer(field),
    }
}
