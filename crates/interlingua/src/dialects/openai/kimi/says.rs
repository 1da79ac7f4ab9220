//! The fields that requests and responses of Kimi's API support, where they differ from the chat dialect.

use crate::dialects::openai::chat::says;
use crate::ledger::Reason;
use crate::model::{Field, Says, citations};

/// The fields of a request.
pub(super) const fn request(field: Field) -> Says {
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
        | Field::CacheLifetime => Says::No(Reason::NoSlot),
        Field::Signature | Field::Encrypted | Field::Issuer => Says::No(Reason::Foreign),
        Field::ReasoningMode => Says::Less("on or off, of models that can be switched"),
        Field::ToolType | Field::ToolService | Field::ToolConfig => {
            Says::Less("only of the vendor's own tools")
        }
        Field::EndUser => Says::Less("a longer one than 128 characters is replaced by a hash"),
        Field::StopTexts => Says::Less("no more than five, of 32 bytes each"),
        Field::ToolKind | Field::CallKind => Says::Less("all but the vendor's own are functions"),
        Field::MessageMedia | Field::ResultMedia => Says::Less(
            "of the user, and of results after them: pictures and films, texts as text, but no files of other providers",
        ),
        Field::Refusal => Says::Less("written as text; empty texts are left out"),
        other => says::request(other),
    }
}

/// The fields of a response, whole or streamed.
pub(super) const fn answer(field: Field) -> Says {
    match field {
        citations!() => Says::No(Reason::NoSlot),
        Field::CallKind => Says::Less("functions only"),
        Field::Refusal => Says::Less("written as text; empty texts are left out"),
        other => says::answer(other),
    }
}
