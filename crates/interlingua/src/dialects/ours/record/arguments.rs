//! Values whose form in an entry depends on their text: arguments in a string, and values that resemble a content list.

use crate::json::{JsonWriter, Raw, Str, escape_into};
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// Writes arguments from a string: as the object the string holds, otherwise as the string. Returns whether a string
/// was written.
pub(super) fn put_arguments(text: &Str<'_>, json: &mut JsonWriter<'_>) -> bool {
    let plain = text.decode();
    let object = plain.starts_with('{') && plain.ends_with('}');
    // JSON with replaced characters differs from the source's JSON.
    let sound = || {
        !plain.contains(char::REPLACEMENT_CHARACTER) || {
            let mut again = String::new();
            escape_into(&plain, &mut again);
            again == text.as_escaped()
        }
    };
    let limits = Limits { depth: 100, ..Limits::default() };
    if object && sound() && TapeBuf::default().parse(&plain, &limits).is_ok() {
        json.raw(&Raw::new(&plain));
        return false;
    }
    json.str(text);
    true
}

/// Whether a reader would parse the value as text, as absent or as a content list.
pub(super) fn is_ambiguous(value: &Raw<'_>) -> bool {
    let text = value.as_str();
    match text.as_bytes().first() {
        Some(b'"' | b'n') => true,
        Some(b'[') => TapeBuf::default()
            .parse(text, &Limits::default().around_others())
            .is_ok_and(|tape| is_parts(tape.root())),
        Some(_) | None => false,
    }
}

/// Whether a value is a content list in the record's form.
pub(super) fn is_parts(list: Val<'_>) -> bool {
    list.kind() == Kind::Array
        && list.elements().next().is_some()
        && list.elements().all(|part| {
            let kind = part.get("type").and_then(|kind| kind.str());
            let text = || part.get("text").is_some_and(|text| text.kind() == Kind::String);
            match kind.as_ref().map(Str::as_escaped) {
                Some("text" | "summary" | "refusal") => text(),
                Some("media") => ["data", "url", "file", "text"].iter().any(|name| part.get(name).is_some()),
                Some("json") => part.get("json").is_some(),
                Some("arguments") => part.get("json").is_some() || text(),
                Some("citation") => part.get("citation").is_some(),
                Some("cache") => part.get("cache").is_some(),
                Some("file") => part.get("path").is_some() && part.get("action").is_some(),
                _ => false,
            }
        })
}
