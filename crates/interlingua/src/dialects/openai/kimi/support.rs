//! The fields that requests and responses of Kimi's API support, where they differ from the chat dialect.

use crate::dialects::openai::chat::support;
use crate::ledger::Reason;
use crate::model::{Field, Support, citations};

/// The fields of a request.
pub(super) const fn request(field: Field) -> Support {
    match field {
        Field::Seed
        | Field::TopK
        | Field::Logprobs
        | Field::TopLogprobs
        | Field::StoreAnswer
        | Field::Verbosity
        | Field::Modalities
        | Field::ServiceTier
        | Field::Metadata
        | Field::ToolGrammar
        | Field::CacheMark
        | Field::CacheLifetime => Support::No(Reason::NoSlot),
        Field::Signature | Field::Encrypted | Field::Issuer => Support::No(Reason::Foreign),
        Field::ReasoningMode => Support::Less("on or off, of models that can be switched"),
        Field::ToolType | Field::ToolService | Field::ToolConfig => {
            Support::Less("only of the vendor's own tools")
        }
        Field::EndUser => Support::Less("a longer one than 128 characters is replaced by a hash"),
        Field::StopTexts => Support::Less("no more than five, of 32 bytes each"),
        Field::ToolKind | Field::CallKind => Support::Less("all but the vendor's own are functions"),
        Field::MessageMedia | Field::ResultMedia => Support::Less(
            "of the user, and of results after them: pictures and films, texts as text, but no files of other providers",
        ),
        Field::Refusal => Support::Less("written as text; empty texts are left out"),
        other => support::request(other),
    }
}

/// The fields of a response, whole or streamed.
pub(super) const fn answer(field: Field) -> Support {
    match field {
        citations!() => Support::No(Reason::NoSlot),
        Field::CallKind => Support::Less("functions only"),
        Field::Refusal => Support::Less("written as text; empty texts are left out"),
        other => support::answer(other),
    }
}
