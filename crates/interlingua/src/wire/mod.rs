//! Shared parts of the wire dialects. Nothing here contains a vendor's words, except the text part, which is the same
//! in all dialects.
//!
//! ```text
//! request    writes settings and turns; a RequestForm spells them
//! turns      pairs calls with their results, and assigns parts to messages
//! answer     writes a response with one choice or several: head, usage, failure; an AnswerForm spells it
//! assistant  writes the items of an assistant message in order; an AssistantForm spells them
//! content    gathers parts into a string or a list
//! schemas    adapts JSON Schemas to the target
//! settings   tables of settings, read and written by the same row
//! narrow     the stage before the writer of settings: a request as the target accepts it
//! thinking   converts reasoning effort and budgets to the form of a backend
//! words      tables of stop reasons and errors
//! profile    the requests that backends and clients of a dialect accept, in its words
//! backends   the requests that servers and their models accept: data
//! endpoints  method, path and headers of each API: data
//! support    fields that every dialect supports because the kit writes them
//! aliases    ids and names that every target accepts
//! arguments  arguments of calls, as text and as objects
//! listing    lists of models, and counts of tokens
//! media      URLs that hold their own bytes
//! ```

pub(crate) mod aliases;
pub(crate) mod answer;
pub(crate) mod arguments;
pub(crate) mod assistant;
pub mod backends;
pub(crate) mod content;
pub mod endpoints;
pub(crate) mod listing;
pub(crate) mod media;
pub(crate) mod narrow;
pub(crate) mod overrides;
pub(crate) mod profile;
pub(crate) mod request;
pub(crate) mod schemas;
pub(crate) mod settings;
pub(crate) mod support;
pub(crate) mod thinking;
pub(crate) mod turns;
pub(crate) mod words;

pub use aliases::{Letters, alias};
pub(crate) use arguments::{CompleteArguments, JsonProgress, is_object};

use crate::model::Field;
use crate::tape::{Kind, Val};

/// Members that are `null` or an empty list carry no information: they are noted as structure, under any name.
pub(crate) fn note_blanks(object: Val<'_>) {
    for value in object.member_values().filter(|value| is_blank(*value)) {
        value.note(Field::Structure);
    }
}

/// Whether the value is `null` or an empty list.
pub(crate) fn is_blank(value: Val<'_>) -> bool {
    match value.kind() {
        Kind::Null => true,
        Kind::Array => value.elements().next().is_none(),
        Kind::Bool | Kind::Number | Kind::String | Kind::Object => false,
    }
}

/// The messages of a document that may be a request of a message-based API.
pub(crate) fn conversation(doc: Val<'_>) -> Option<Val<'_>> {
    const ROLES: [&str; 6] = ["user", "assistant", "system", "developer", "tool", "function"];
    // A document with an id of its own, or with session members, is a log that looks like a request.
    const OF_LOGS: [&str; 7] = ["id", "uuid", "info", "meta", "sessionId", "sessionID", "projectHash"];
    let messages = doc.get("messages").filter(|messages| messages.kind() == Kind::Array)?;
    let is_said = |message: Val<'_>| ROLES.contains(&message.str_or_empty("role"));
    let is_empty = messages.elements().next().is_none();
    let speaks = if is_empty { doc.has_str("model") } else { messages.elements().any(is_said) };
    (speaks && OF_LOGS.iter().all(|name| doc.get(name).is_none())).then_some(messages)
}

/// Notes a tag that only describes the values beside it, if it has an expected value; any other value stays unclaimed.
pub(crate) fn note_tag(object: Val<'_>, name: &str, expected: &[&str]) {
    if let Some(tag) = object.get(name).filter(|tag| expected.iter().any(|word| tag.is(word))) {
        tag.note(Field::Structure);
    }
}
