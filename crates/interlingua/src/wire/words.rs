//! Translation of a dialect's words to the model's words: one table for reading and writing.

use std::time::Duration;

use super::note_blanks;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{Failure, FailureClass, Field, Stop, StopClass, Words};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Val};

/// A dialect's words for stop reasons.
pub(crate) struct StopWords {
    /// Stop classes with an exact word; `End` and `ToolUse` must be among them.
    pub(crate) words: Words<StopClass>,
    /// Substitutes for stop classes without an exact word. All other classes are written as a natural end, except a
    /// cancelled answer, which is written as a failure.
    pub(crate) nearest: Words<StopClass>,
}

/// Facts of an answer that its stop reason depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerFacts {
    /// The answer has calls.
    pub(crate) calls: bool,
    /// The answer has a refusal in its own member or part.
    pub(crate) refused: bool,
}

impl StopWords {
    /// Whether the class has an exact word or a substitute.
    pub(crate) fn has(&self, class: StopClass) -> bool {
        self.words.word(class).or_else(|| self.nearest.word(class)).is_some()
    }

    /// The stop class of a dialect's word.
    pub(crate) fn class(&self, word: &Str<'_>) -> StopClass {
        self.words.value(word).unwrap_or(StopClass::Other)
    }

    /// The stop reason with the given word.
    pub(crate) fn stop<'t>(&self, raw: Str<'t>, sequence: Option<Str<'t>>) -> Stop<'t> {
        Stop { class: self.class(&raw), raw: Some(raw), sequence, detail: None }
    }

    /// The dialect's word for a stop reason; a less precise word is booked.
    pub(crate) fn word(
        &self,
        stop: Option<&Stop<'_>>,
        facts: AnswerFacts,
        out: &mut WriterOutput<'_>,
    ) -> &'static str {
        // An answer with calls waits for their results, regardless of the source's stop reason.
        let natural = if facts.calls { StopClass::ToolUse } else { StopClass::End };
        let natural = self.words.word(natural).unwrap_or_default();
        let Some(stop) = stop else { return natural };
        let exact = match stop.class {
            StopClass::End => Some(natural),
            StopClass::ToolUse => Some(natural).filter(|_| facts.calls),
            class => self.words.word(class),
        };
        // A refusal in its own member or part needs no stop reason.
        let exact =
            exact.or_else(|| Some(natural).filter(|_| stop.class == StopClass::Refusal && facts.refused));
        let says_less = match exact {
            None => true,
            // A word for any other reason is less precise, unless the source has the same word.
            Some(word) => {
                stop.class == StopClass::Other && !stop.raw.as_ref().is_some_and(|raw| raw.is(word))
            }
        };
        if says_less {
            out.lose_some(Field::StopReason, stop.raw.as_ref(), Reason::Narrowed);
        }
        exact.or_else(|| self.nearest.word(stop.class)).unwrap_or(natural)
    }
}

/// A dialect's words for failures.
pub(crate) struct ErrorWords {
    /// The type of each class and, in dialects with codes, its code. The first row of a class is written.
    pub(crate) rows: &'static [(FailureClass, &'static str, Option<&'static str>)],
    /// Further words that imply a class but carry more information than the class.
    pub(crate) more: Words<FailureClass>,
}

/// Words that servers of many dialects use.
const COMMON: Words<FailureClass> = Words(&[
    (FailureClass::InvalidRequest, "invalid_request_error"),
    (FailureClass::InvalidRequest, "invalid_request"),
    (FailureClass::InvalidRequest, "BadRequestError"),
    (FailureClass::InvalidRequest, "BadRequest"),
    (FailureClass::InvalidRequest, "content_filter"),
    (FailureClass::InvalidRequest, "content_policy_violation"),
    (FailureClass::InvalidRequest, "invalid_prompt"),
    (FailureClass::InvalidRequest, "bio_policy"),
    (FailureClass::InvalidRequest, "unsupported_value"),
    (FailureClass::ContextTooLong, "context_length_exceeded"),
    (FailureClass::ContextTooLong, "context_window_exceeded"),
    (FailureClass::ContextTooLong, "string_above_max_length"),
    (FailureClass::Authentication, "authentication_error"),
    (FailureClass::Authentication, "invalid_api_key"),
    (FailureClass::Authentication, "invalid_authentication_error"),
    (FailureClass::Authentication, "incorrect_api_key_error"),
    (FailureClass::Authentication, "unauthorized"),
    (FailureClass::Authentication, "Unauthorized"),
    (FailureClass::Billing, "insufficient_quota"),
    (FailureClass::Billing, "exceeded_current_quota_error"),
    (FailureClass::Billing, "billing_error"),
    (FailureClass::Billing, "usage_not_included"),
    (FailureClass::Billing, "billing_hard_limit_reached"),
    (FailureClass::Permission, "permission_error"),
    (FailureClass::Permission, "permission_denied"),
    (FailureClass::Permission, "permission_denied_error"),
    (FailureClass::Permission, "request_forbidden"),
    (FailureClass::Permission, "insufficient_permissions"),
    (FailureClass::Permission, "forbidden"),
    (FailureClass::Permission, "Forbidden"),
    (FailureClass::NotFound, "not_found"),
    (FailureClass::NotFound, "not_found_error"),
    (FailureClass::NotFound, "NotFoundError"),
    (FailureClass::NotFound, "model_not_found"),
    (FailureClass::NotFound, "resource_not_found_error"),
    (FailureClass::NotFound, "DeploymentNotFound"),
    (FailureClass::TooLarge, "request_too_large"),
    (FailureClass::RateLimit, "rate_limit_error"),
    (FailureClass::RateLimit, "rate_limit_exceeded"),
    (FailureClass::RateLimit, "rate_limit_reached_error"),
    (FailureClass::RateLimit, "too_many_requests"),
    (FailureClass::RateLimit, "requests"),
    (FailureClass::RateLimit, "tokens"),
    (FailureClass::Server, "server_error"),
    (FailureClass::Server, "api_error"),
    (FailureClass::Server, "internal_error"),
    (FailureClass::Server, "internal_server_error"),
    (FailureClass::Server, "InternalServerError"),
    (FailureClass::Overloaded, "overloaded"),
    (FailureClass::Overloaded, "overloaded_error"),
    (FailureClass::Overloaded, "engine_overloaded_error"),
    (FailureClass::Overloaded, "server_is_overloaded"),
    (FailureClass::Overloaded, "service_unavailable"),
    (FailureClass::Timeout, "timeout"),
    (FailureClass::Timeout, "timeout_error"),
    (FailureClass::Timeout, "request_timeout"),
    (FailureClass::InvalidRequest, "invalid_parameter"),
    (FailureClass::InvalidRequest, "invalid_value"),
    (FailureClass::InvalidRequest, "invalid_type"),
    (FailureClass::InvalidRequest, "unknown_parameter"),
    (FailureClass::InvalidRequest, "unsupported_parameter"),
    (FailureClass::InvalidRequest, "missing_required_parameter"),
    (FailureClass::InvalidRequest, "integer_below_min_value"),
    (FailureClass::InvalidRequest, "integer_above_max_value"),
    (FailureClass::InvalidRequest, "decimal_below_min_value"),
    (FailureClass::InvalidRequest, "decimal_above_max_value"),
    (FailureClass::InvalidRequest, "array_above_max_length"),
    (FailureClass::InvalidRequest, "array_below_min_length"),
    (FailureClass::InvalidRequest, "string_below_min_length"),
    (FailureClass::InvalidRequest, "invalid_function_parameters"),
    (FailureClass::InvalidRequest, "invalid_json_schema"),
    (FailureClass::InvalidRequest, "invalid_encrypted_content"),
    (FailureClass::InvalidRequest, "invalid_image"),
    (FailureClass::InvalidRequest, "invalid_image_format"),
    (FailureClass::InvalidRequest, "invalid_base64_image"),
    (FailureClass::InvalidRequest, "invalid_image_url"),
    (FailureClass::InvalidRequest, "invalid_image_mode"),
    (FailureClass::InvalidRequest, "image_too_large"),
    (FailureClass::InvalidRequest, "image_too_small"),
    (FailureClass::InvalidRequest, "image_parse_error"),
    (FailureClass::InvalidRequest, "image_content_policy_violation"),
    (FailureClass::InvalidRequest, "image_file_too_large"),
    (FailureClass::InvalidRequest, "unsupported_image_media_type"),
    (FailureClass::InvalidRequest, "empty_image_file"),
    (FailureClass::InvalidRequest, "failed_to_download_image"),
    (FailureClass::InvalidRequest, "image_file_not_found"),
    (FailureClass::InvalidRequest, "cyber_policy"),
    (FailureClass::InvalidRequest, "invalid_request_body"),
    (FailureClass::InvalidRequest, "invalid_model"),
    (FailureClass::InvalidRequest, "model_not_supported"),
    (FailureClass::InvalidRequest, "unsupported_api_for_model"),
    (FailureClass::InvalidRequest, "off_topic"),
    (FailureClass::InvalidRequest, "tool_use_failed"),
    (FailureClass::InvalidRequest, "json_validate_failed"),
    (FailureClass::InvalidRequest, "model_decommissioned"),
    (FailureClass::InvalidRequest, "validation_error"),
    (FailureClass::InvalidRequest, "invalid_request_message_order"),
    (FailureClass::InvalidRequest, "UnprocessableEntityError"),
    (FailureClass::InvalidRequest, "OperationNotSupported"),
    (FailureClass::InvalidRequest, "unavailable_model"),
    (FailureClass::ContextTooLong, "model_max_prompt_tokens_exceeded"),
    (FailureClass::ContextTooLong, "prompt_too_long"),
    (FailureClass::Authentication, "token_expired"),
    (FailureClass::Authentication, "invalid_token"),
    (FailureClass::Authentication, "missing_token"),
    (FailureClass::Authentication, "invalid_credentials"),
    (FailureClass::Authentication, "mismatched_organization"),
    (FailureClass::Authentication, "invalid_organization"),
    (FailureClass::Authentication, "UnauthorizedError"),
    (FailureClass::Authentication, "AuthenticationError"),
    (FailureClass::Billing, "quota_exceeded"),
    (FailureClass::Billing, "free_quota_exceeded"),
    (FailureClass::Billing, "session_quota_exceeded"),
    (FailureClass::Billing, "overage_limit_reached"),
    (FailureClass::Billing, "additional_spend_limit_reached"),
    (FailureClass::Billing, "enforced_spend_limit_reached"),
    (FailureClass::Billing, "billing_not_configured"),
    (FailureClass::Billing, "billing_not_active"),
    (FailureClass::Billing, "insufficient_credits"),
    (FailureClass::Billing, "insufficient_balance"),
    (FailureClass::Billing, "payment_required"),
    (FailureClass::Permission, "not_authorized"),
    (FailureClass::Permission, "access_terminated"),
    (FailureClass::Permission, "account_deactivated"),
    (FailureClass::Permission, "unsupported_country_region_territory"),
    (FailureClass::Permission, "extension_blocked"),
    (FailureClass::Permission, "feature_flag_blocked"),
    (FailureClass::Permission, "model_permission_blocked_org"),
    (FailureClass::Permission, "model_permission_blocked_project"),
    (FailureClass::Permission, "PermissionDenied"),
    (FailureClass::Permission, "PermissionDeniedError"),
    (FailureClass::Permission, "AccessDenied"),
    (FailureClass::NotFound, "previous_response_not_found"),
    (FailureClass::NotFound, "response_not_found"),
    (FailureClass::NotFound, "ResourceNotFound"),
    (FailureClass::Conflict, "conflict"),
    (FailureClass::Conflict, "conflict_error"),
    (FailureClass::Conflict, "Conflict"),
    (FailureClass::Conflict, "ConflictError"),
    (FailureClass::RateLimit, "rate_limited"),
    (FailureClass::RateLimit, "user_model_rate_limited"),
    (FailureClass::RateLimit, "user_global_rate_limited"),
    (FailureClass::RateLimit, "integration_rate_limited"),
    (FailureClass::RateLimit, "upstream_provider_rate_limit"),
    (FailureClass::RateLimit, "agent_mode_limit_exceeded"),
    (FailureClass::RateLimit, "RateLimitReached"),
    (FailureClass::RateLimit, "RateLimitError"),
    (FailureClass::RateLimit, "websocket_connection_limit_reached"),
    (FailureClass::Server, "unexpected_output"),
    (FailureClass::Server, "unknown_error"),
    (FailureClass::Server, "server_shutting_down"),
    (FailureClass::Overloaded, "model_overloaded"),
    (FailureClass::Overloaded, "engine_overloaded"),
    (FailureClass::Overloaded, "slow_down"),
    (FailureClass::Overloaded, "capacity_exceeded"),
    (FailureClass::Overloaded, "service_unavailable_error"),
    (FailureClass::Overloaded, "ServiceUnavailableError"),
    (FailureClass::Overloaded, "ServiceUnavailable"),
    (FailureClass::Timeout, "vector_store_timeout"),
    (FailureClass::Timeout, "gateway_timeout"),
    (FailureClass::Timeout, "upstream_timeout"),
]);

/// Substrings of unlisted words, each with the class that it suggests; the first match counts.
const STEMS: [(&str, FailureClass); 22] = [
    ("rate_limit", FailureClass::RateLimit),
    ("too_many_requests", FailureClass::RateLimit),
    ("quota", FailureClass::Billing),
    ("billing", FailureClass::Billing),
    ("spend_limit", FailureClass::Billing),
    ("credit", FailureClass::Billing),
    ("overload", FailureClass::Overloaded),
    ("unavailable", FailureClass::Overloaded),
    ("timeout", FailureClass::Timeout),
    ("timed_out", FailureClass::Timeout),
    ("context_length", FailureClass::ContextTooLong),
    ("prompt_tokens", FailureClass::ContextTooLong),
    ("too_large", FailureClass::TooLarge),
    ("not_found", FailureClass::NotFound),
    ("authentication", FailureClass::Authentication),
    ("unauthorized", FailureClass::Authentication),
    ("api_key", FailureClass::Authentication),
    ("permission", FailureClass::Permission),
    ("forbidden", FailureClass::Permission),
    ("invalid", FailureClass::InvalidRequest),
    ("unsupported", FailureClass::InvalidRequest),
    ("missing", FailureClass::InvalidRequest),
];

/// The class that an unlisted type or code suggests.
fn suggested(word: &Str<'_>) -> Option<FailureClass> {
    let plain = word.decode().to_lowercase();
    STEMS.iter().find(|(stem, _)| plain.contains(stem)).map(|(_, class)| *class)
}

/// Phrases in messages about a conversation that is too long, for errors whose type is only an invalid request.
const TOO_LONG: [&str; 12] = [
    "context length",
    "context window",
    "context limit",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "input token count",
    "exceeds the maximum number of tokens",
    "too many tokens",
    "context_length_exceeded",
    "exceeded model token limit",
    "reduce the length of the messages",
];

/// A status in a member that is a number, or a string of digits.
fn read_status(error: Val<'_>, name: &str) -> Option<u16> {
    let code = error.get(name)?;
    let digits = code.str().and_then(|text| text.as_escaped().parse().ok());
    let status = code.u64().or(digits).and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (100..600).contains(status))?;
    code.take(Field::ErrorStatus);
    Some(status)
}

/// The delay that a message asks for: "try again in 1.5s".
fn retry_in(message: &str) -> Option<u64> {
    let rest = ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|words| Some(message.split_once(words)?.1))?;
    let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, unit) = rest.split_at(number);
    let scale = match unit.trim_start() {
        unit if unit.starts_with("ms") || unit.starts_with("milli") => 1.0,
        unit if unit.starts_with('s') => 1000.0,
        unit if unit.starts_with('m') => 60_000.0,
        _ => return None,
    };
    let wait = number.trim_end_matches('.').parse::<f64>().ok()? * scale;
    Some(Duration::try_from_secs_f64(wait / 1000.0).ok()?.as_millis().try_into().unwrap_or(u64::MAX))
}

impl ErrorWords {
    /// The type and code of a class.
    pub(crate) fn of_class(&self, class: FailureClass) -> Option<(&'static str, Option<&'static str>)> {
        self.rows.iter().find(|(known, ..)| *known == class).map(|(_, kind, code)| (*kind, *code))
    }

    /// Reads the error object; some servers send a bare string. The `code` may be a status, and without a code the
    /// type is used as the code.
    pub(crate) fn read<'t>(&self, error: Val<'t>) -> Failure<'t> {
        note_blanks(error);
        let message = error.take_text(Field::ErrorMessage);
        let message = message.or_else(|| error.take_str("message", Field::ErrorMessage)).unwrap_or_default();
        let status = ["code", "status", "status_code"].into_iter().find_map(|name| read_status(error, name));
        let word = |name| {
            error.get(name).filter(|word: &Val<'_>| {
                word.kind() == Kind::String && word.claimed().field() != Some(Field::ErrorStatus)
            })
        };
        let (kind, code) = (word("type"), word("code"));
        let class_of = |word: Option<Val<'_>>| word.and_then(|word| self.class(&word.str()?));
        let suggested = |word: Option<Val<'_>>| word.and_then(|word| suggested(&word.str()?));
        let by_status = || status.map(FailureClass::of_status);
        let class = class_of(code)
            .or_else(|| suggested(code))
            .or_else(|| class_of(kind))
            .or_else(by_status)
            .or_else(|| suggested(kind));
        // A word that carries only its class is not kept as a code.
        let only_class = |word: &Val<'_>| word.str().is_some_and(|word| self.only_says(&word, class));
        if let Some(kind) = kind.filter(|kind| code.is_some() && only_class(kind)) {
            kind.note(Field::ErrorClass);
        }
        let code = code.or(kind).and_then(|word| {
            if only_class(&word) {
                word.note(Field::ErrorClass);
                return None;
            }
            word.take_text(Field::ErrorCode)
        });
        let plain = message.decode().to_lowercase();
        let too_long = || TOO_LONG.iter().any(|words| plain.contains(words));
        let class = match class {
            Some(FailureClass::InvalidRequest) | None if too_long() => FailureClass::ContextTooLong,
            class => class.unwrap_or(FailureClass::Other),
        };
        let retry_after = retry_in(&plain);
        Failure { class, status, code, message, request_id: None, retry_after }
    }

    /// The class of a type or code.
    fn class(&self, word: &Str<'_>) -> Option<FailureClass> {
        let support = |(_, kind, code): &&(FailureClass, &str, Option<&str>)| {
            code.is_some_and(|code| word.is(code)) || word.is(kind)
        };
        // A code is more specific than a type that several classes share.
        let by_code = self.rows.iter().find(|(_, _, code)| code.is_some_and(|code| word.is(code)));
        let row = by_code.or_else(|| self.rows.iter().find(support));
        row.map(|(class, ..)| *class).or_else(|| self.more.value(word)).or_else(|| COMMON.value(word))
    }

    /// Whether a type or code carries only the given class.
    fn only_says(&self, word: &Str<'_>, class: Option<FailureClass>) -> bool {
        let mut of_class = self.rows.iter().filter(|(known, ..)| Some(*known) == class);
        of_class.any(|(_, kind, code)| word.is(kind) || code.is_some_and(|code| word.is(code)))
    }
}
