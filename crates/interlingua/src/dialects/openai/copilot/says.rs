//! The fields that requests and responses of Copilot's chat API support, where they differ from the chat dialect.

use crate::dialects::openai::chat::says;
use crate::ledger::Reason;
use crate::model::{Field, Says, citations};

/// The fields of a request.
pub(super) const fn request(field: Field) -> Says {
    match field {
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Says::Less("only Copilot's own, one for each message")
        }
        Field::ReasoningBudget => Says::Less("some models refuse it"),
        Field::CacheMark => Says::Less("on messages only, and every sort is `ephemeral`"),
        Field::CacheLifetime
        | Field::ToolGrammar
        | Field::ToolType
        | Field::ToolService
        | Field::ToolConfig => Says::No(Reason::NoSlot),
        Field::ToolKind | Field::CallKind => Says::Less("functions only"),
        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("of the user, and of results after them: pictures, and texts as text")
        }
        Field::Refusal => Says::Less("written as text; empty texts are left out"),
        other => says::request(other),
    }
}

/// The fields of a response, whole or streamed.
pub(super) const fn answer(field: Field) -> Says {
    match field {
        citations!() => Says::No(Reason::NoSlot),
        Field::Signature | Field::Encrypted | Field::Issuer => Says::Less("one for each message"),
        Field::CallKind => Says::Less("functions only"),
        Field::Refusal => Says::Less("written as text; empty texts are left out"),
        other => says::answer(other),
    }
}
