//! The fields that requests and responses of Copilot's chat API support, where they differ from the chat dialect.

use crate::dialects::openai::chat::support;
use crate::ledger::Reason;
use crate::model::{Field, Support, citations};

/// The fields of a request.
pub(super) const fn request(field: Field) -> Support {
    match field {
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only Copilot's own, one for each message")
        }
        Field::ReasoningBudget => Support::Less("some models refuse it"),
        Field::CacheMark => Support::Less("on messages only, and every sort is `ephemeral`"),
        Field::CacheLifetime
        | Field::ToolGrammar
        | Field::ToolType
        | Field::ToolService
        | Field::ToolConfig => Support::No(Reason::NoSlot),
        Field::ToolKind | Field::CallKind => Support::Less("functions only"),
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("of the user, and of results after them: pictures, and texts as text")
        }
        Field::Refusal => Support::Less("written as text; empty texts are left out"),
        other => support::request(other),
    }
}

/// The fields of a response, whole or streamed.
pub(super) const fn answer(field: Field) -> Support {
    match field {
        citations!() => Support::No(Reason::NoSlot),
        Field::Signature | Field::Encrypted | Field::Issuer => Support::Less("one for each message"),
        Field::CallKind => Support::Less("functions only"),
        Field::Refusal => Support::Less("written as text; empty texts are left out"),
        other => support::answer(other),
    }
}
