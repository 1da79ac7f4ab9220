//! Shared parts of the wire dialects. Nothing here contains a vendor's words, except the text part, which is the same
//! in all dialects.
//!
//! ```text
//! request    settings, then turns: which item goes where; a RequestForm writes it down
//! turns      calls paired with their results, and where a part goes
//! answer     one answer, or several: head, counts, failure; an AnswerForm writes it down
//! assistant  what an assistant says, one thing after the other; an AssistantForm writes it down
//! content    parts being gathered, a string or a list
//! schemas    JSON Schemas that the target takes
//! settings   tables of settings, read and written by the same row
//! thinking   how hard to think, in the form a backend takes
//! words      tables of stop reasons and errors
//! profile    what backends and clients of a dialect take, in its words
//! backends   what servers and their models take: data
//! says       what every dialect says because the kit writes it
//! aliases    ids and names that every target accepts
//! arguments  arguments of calls, as text and as objects
//! listing    lists of models, and counts of tokens
//! media      addresses that hold their own bytes
//! ```

pub(crate) mod aliases;
pub(crate) mod answer;
pub(crate) mod arguments;
pub(crate) mod assistant;
pub mod backends;
pub(crate) mod content;
pub(crate) mod listing;
pub(crate) mod media;
pub(crate) mod profile;
pub(crate) mod request;
pub(crate) mod schemas;
pub(crate) mod settings;
pub(crate) mod support;
pub(crate) mod thinking;
pub(crate) mod turns;
pub(crate) mod words;

pub use aliases::{Letters, alias};
pub(crate) use arguments::is_object;

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
