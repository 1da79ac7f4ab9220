//! Errors, in the forms of several servers.

use super::super::ERRORS;
use crate::json::Str;
use crate::model::{Failure, FailureClass, Field};
use crate::tape::{Kind, Val};
use crate::wire::note_tag;

/// The error in a document, unless the document is a response.
pub(super) fn failure_of<'t>(root: Val<'t>, is_named_error: bool) -> Option<Failure<'t>> {
    // Google's servers wrap the object in a list.
    let root = root.elements().next().unwrap_or(root);
    let support = |name| root.get(name).filter(|value: &Val<'_>| !value.is_null());
    if let Some(error) = support("error").filter(|error| *error.text() != *"\"\"") {
        return Some(beside(root, read(error)));
    }
    if support("choices").is_some() {
        return None;
    }
    let first = |list: Val<'t>| list.elements().next().unwrap_or(list);
    if let Some(error) = support("errors").map(first) {
        return Some(beside(root, read(error)));
    }
    if let Some(detail) = support("detail").map(first) {
        return Some(beside(root, read(detail)));
    }
    let is_error = is_named_error || support("object").is_some_and(|object| object.is("error"));
    if is_error || root.has_str("message") {
        note_tag(root, "object", &["error"]);
        return Some(read(root));
    }
    None
}

/// Reads an error: an object in one of several forms, or a text.
fn read(error: Val<'_>) -> Failure<'_> {
    let failure = ERRORS.read(error);
    if failure.message.is_empty() {
        // Other names of the message, and objects with a nested error object.
        let inner =
            error.get("error").or_else(|| error.get("message")).filter(|it| it.kind() == Kind::Object);
        if let Some(inner) = inner {
            return ERRORS.read(inner);
        }
        let words = ["msg", "detail", "error", "error_message", "title"];
        if let Some(text) =
            words.iter().find_map(|name| error.get(name).filter(|it| it.kind() == Kind::String))
        {
            let said = ERRORS.read(text);
            let class = if failure.class == FailureClass::Other { said.class } else { failure.class };
            return Failure { class, message: said.message, ..failure };
        }
    }
    failure
}

/// Takes the error class from the members beside the error, if the error itself has none.
fn beside<'t>(root: Val<'t>, mut failure: Failure<'t>) -> Failure<'t> {
    if failure.class == FailureClass::Other && failure.status.is_none() {
        for name in ["status", "status_code", "code", "statusCode"] {
            let Some(status) = root.get(name).and_then(|code| u16::try_from(code.u64()?).ok()) else {
                continue;
            };
            if (400..600).contains(&status) {
                root.take_u64(name, Field::ErrorStatus);
                (failure.status, failure.class) = (Some(status), FailureClass::of_status(status));
                break;
            }
        }
    }
    failure
}

/// The error in a body that is not JSON: a proxy's page or line. `None` for truncated JSON.
pub(super) fn of_text(text: &str) -> Option<Failure<'static>> {
    let text = text.trim();
    if text.is_empty() || text.starts_with(['{', '[', '"']) {
        return None;
    }
    let words = text.get(..400).unwrap_or(text).split(|c: char| !c.is_ascii_alphanumeric());
    let status = words
        .filter(|word| word.len() == 3)
        .find_map(|word| word.parse::<u16>().ok().filter(|status| (400..600).contains(status)));
    let class = status.map_or(FailureClass::Other, FailureClass::of_status);
    let message = Str::from_plain(&text.chars().take(MESSAGE).collect::<String>());
    Some(Failure { class, status, code: None, message, request_id: None, retry_after: None })
}

/// The most characters of a page that become the error message.
const MESSAGE: usize = 2_000;
