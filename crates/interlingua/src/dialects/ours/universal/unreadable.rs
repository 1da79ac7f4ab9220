//! Reads the bytes of a source that were unreadable when a universal event was written for them.

use crate::error::Code;
use crate::json::from_base64;
use crate::pipe::EventSink;
use crate::tape::Val;

/// Hands back bytes that were unreadable when the event was made.
pub(super) fn unparsed(data: Val<'_>, out: &mut EventSink<'_>) {
    let damage = [
        Code::InvalidJson,
        Code::Torn,
        Code::InvalidUtf8,
        Code::NulBytes,
        Code::TooDeep,
        Code::TooLarge,
        Code::UnknownShape,
    ];
    let why = damage.into_iter().find(|code| data.str_or_empty("error") == code.name());
    let text = |name: &str| data.get(name).and_then(|text| text.str());
    let bytes = match text("text") {
        Some(text) => Some(text.decode().into_owned().into_bytes()),
        None => text("base64").and_then(|text| from_base64(text.as_escaped())),
    };
    let why = why.map_or("unparsed", Code::name);
    let bytes = bytes.unwrap_or_default();
    // Without bytes, several lines are handed back as one.
    if data.get("lines").is_some() {
        bytes
            .split(|byte| *byte == b'\n')
            .for_each(|line| out.kept_bytes(super::DIALECT.name, line, why, false));
    } else {
        out.kept_bytes(super::DIALECT.name, &bytes, why, false);
    }
}
