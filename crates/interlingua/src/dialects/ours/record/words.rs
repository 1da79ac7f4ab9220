//! Words of a record that follow from other words and are written only when they differ.

use crate::json::Str;
use crate::model::{Author, Status, Stop, StopClass, Words};

/// The classes of providers' stop words. A class is written only if a word was used with another class.
const NATIVE_STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "end_turn"),
    (StopClass::End, "stop"),
    (StopClass::Sequence, "stop_sequence"),
    (StopClass::ToolUse, "tool_use"),
    (StopClass::ToolUse, "tool_calls"),
    (StopClass::MaxTokens, "max_tokens"),
    (StopClass::MaxTokens, "length"),
    (StopClass::ContextFull, "model_context_window_exceeded"),
    (StopClass::Paused, "pause_turn"),
    (StopClass::Refusal, "refusal"),
    (StopClass::Filter, "content_filter"),
]);

/// Authors of messages without an entry type in the schema: their messages are events with content.
pub(super) const SPEAKERS: Words<Author> =
    Words(&[(Author::System, "system"), (Author::Developer, "developer")]);

/// The stop reason that follows from the provider's word alone.
pub(super) fn usual_stop(raw: Str<'_>) -> Stop<'_> {
    let class = NATIVE_STOPS.value(&raw).unwrap_or(StopClass::Other);
    Stop { class, raw: Some(raw), sequence: None, detail: None }
}

/// The provider's word, if the whole stop reason follows from it.
pub(super) fn usual_word<'s, 'a>(stop: &'s Stop<'a>) -> Option<&'s Str<'a>> {
    stop.raw.as_ref().filter(|raw| usual_stop(raw.reborrow()) == *stop)
}

/// The status that follows from the native status and the error flag.
pub(super) fn usual_status(native: Option<&Str<'_>>, is_error: Option<bool>) -> Status {
    match native.map(Str::as_escaped) {
        Some("incomplete") => Status::Interrupted,
        Some("failed") => Status::Failed,
        Some(_) | None if is_error == Some(true) => Status::Failed,
        Some(_) | None => Status::Completed,
    }
}
