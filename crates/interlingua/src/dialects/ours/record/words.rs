//! What follows from other words of a record, and so is only said where it does not.

use crate::json::Str;
use crate::model::{Author, Status, Stop, StopClass, Words};

/// What providers' own words for a stop mean. Only a word that was used in another sense needs its class beside it.
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

/// Authors of messages for whom the schema has no entry type: these are events with content.
pub(super) const SPEAKERS: Words<Author> =
    Words(&[(Author::System, "system"), (Author::Developer, "developer")]);

/// Why a response stopped, if nothing is said but the provider's word.
pub(super) fn usual_stop(raw: Str<'_>) -> Stop<'_> {
    let class = NATIVE_STOPS.value(&raw).unwrap_or(StopClass::Other);
    Stop { class, raw: Some(raw), sequence: None, detail: None }
}

/// The provider's word, if the whole stop follows from it.
pub(super) fn usual_word<'s, 'a>(stop: &'s Stop<'a>) -> Option<&'s Str<'a>> {
    stop.raw.as_ref().filter(|raw| usual_stop(raw.reborrow()) == *stop)
}

/// How an item ended, if nothing else is said of it than its own word and whether the tool failed.
pub(super) fn usual_status(native: Option<&Str<'_>>, is_error: Option<bool>) -> Status {
    match native.map(Str::as_escaped) {
        Some("incomplete") => Status::Interrupted,
        Some("failed") => Status::Failed,
        Some(_) | None if is_error == Some(true) => Status::Failed,
        Some(_) | None => Status::Completed,
    }
}
