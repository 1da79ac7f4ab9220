//! The words a record uses for the closed sets of the model. Each table is read in both directions.

use crate::json::Str;
use crate::model::{Author, CallKind, FailureClass, OpaqueKind, Status, Stop, StopClass, issuers};

pub(super) const FAILURES: &[(FailureClass, &str)] = &[
    (FailureClass::InvalidRequest, "invalid-request"),
    (FailureClass::ContextTooLong, "context-too-long"),
    (FailureClass::Authentication, "authentication"),
    (FailureClass::Billing, "billing"),
    (FailureClass::Permission, "permission"),
    (FailureClass::NotFound, "not-found"),
    (FailureClass::Conflict, "conflict"),
    (FailureClass::TooLarge, "too-large"),
    (FailureClass::RateLimit, "rate-limit"),
    (FailureClass::Server, "server"),
    (FailureClass::Overloaded, "overloaded"),
    (FailureClass::Timeout, "timeout"),
    (FailureClass::Incomplete, "incomplete"),
    (FailureClass::Other, "other"),
];

pub(super) const STOPS: &[(StopClass, &str)] = &[
    (StopClass::End, "end"),
    (StopClass::Sequence, "sequence"),
    (StopClass::ToolUse, "tool-use"),
    (StopClass::MaxTokens, "max-tokens"),
    (StopClass::ContextFull, "context-full"),
    (StopClass::Paused, "paused"),
    (StopClass::Refusal, "refusal"),
    (StopClass::Filter, "filter"),
    (StopClass::Cancelled, "cancelled"),
    (StopClass::Error, "error"),
    (StopClass::Other, "other"),
];

/// What providers' own words for a stop mean. Only a word that was used in another sense needs its class beside it.
const NATIVE_STOPS: &[(StopClass, &str)] = &[
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
];

pub(super) const CALL_KINDS: &[(CallKind, &str)] = &[
    (CallKind::Function, "function"),
    (CallKind::FreeText, "free-text"),
    (CallKind::Vendor, "vendor"),
    (CallKind::Server, "server"),
    (CallKind::Mcp, "mcp"),
];

pub(super) const STATUSES: &[(Status, &str)] =
    &[(Status::Completed, "completed"), (Status::Failed, "failed"), (Status::Interrupted, "interrupted")];

pub(super) const OPAQUE_KINDS: &[(OpaqueKind, &str)] =
    &[(OpaqueKind::Signature, "signature"), (OpaqueKind::Encrypted, "encrypted")];

/// Authors of messages for whom the schema has no entry type: these are events with content.
pub(super) const SPEAKERS: &[(Author, &str)] =
    &[(Author::System, "system"), (Author::Developer, "developer")];

/// The word for a value.
pub(super) fn word<T: PartialEq + Copy>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(known, _)| *known == value).map_or("other", |(_, word)| word)
}

/// The value for a word.
pub(super) fn named<T: Copy>(table: &[(T, &'static str)], word: &Str<'_>) -> Option<T> {
    table.iter().find(|(_, known)| word.is(known)).map(|(value, _)| *value)
}

/// The class that a stop has if nothing else is said of it.
pub(super) fn usual_stop(raw: Option<&Str<'_>>) -> StopClass {
    raw.and_then(|raw| named(NATIVE_STOPS, raw)).unwrap_or(StopClass::Other)
}

/// Whether the class of a stop does not follow from the provider's word.
pub(super) fn stop_needs_class(stop: &Stop<'_>) -> bool {
    stop.raw.is_none() || usual_stop(stop.raw.as_ref()) != stop.class
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

/// What opaque state is, if nothing else is said of it: Anthropic signs the thinking that it shows, others encrypt what
/// they hide.
pub(super) fn usual_opaque(issuer: &Str<'_>, beside_text: bool) -> OpaqueKind {
    if issuer.is(issuers::ANTHROPIC) && beside_text { OpaqueKind::Signature } else { OpaqueKind::Encrypted }
}
