//! Errors: `{"error":{"code":…,"message":…,"status":…,"details":[…]}}`, with the status words of Google RPC. Details
//! hold the retry delay, a finer reason and the request id.

use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{Failure, FailureClass, Field};
use crate::pipe::WriterOutput;
use crate::tape::Val;
use crate::wire::note_blanks;

/// The values of `status` with their HTTP status. The first row of a class is the one that is written, and holds no
/// more information than the class.
const STATUSES: [(FailureClass, &str, u16); 16] = [
    (FailureClass::InvalidRequest, "INVALID_ARGUMENT", 400),
    (FailureClass::Authentication, "UNAUTHENTICATED", 401),
    (FailureClass::Permission, "PERMISSION_DENIED", 403),
    (FailureClass::NotFound, "NOT_FOUND", 404),
    (FailureClass::Conflict, "ABORTED", 409),
    (FailureClass::RateLimit, "RESOURCE_EXHAUSTED", 429),
    (FailureClass::Server, "INTERNAL", 500),
    (FailureClass::Overloaded, "UNAVAILABLE", 503),
    (FailureClass::Timeout, "DEADLINE_EXCEEDED", 504),
    (FailureClass::Other, "UNKNOWN", 500),
    (FailureClass::InvalidRequest, "FAILED_PRECONDITION", 400),
    (FailureClass::InvalidRequest, "OUT_OF_RANGE", 400),
    (FailureClass::Conflict, "ALREADY_EXISTS", 409),
    (FailureClass::Server, "DATA_LOSS", 500),
    (FailureClass::Other, "CANCELLED", 499),
    (FailureClass::InvalidRequest, "UNIMPLEMENTED", 501),
];

/// Classes that share the status word of another class.
const NEAREST: [(FailureClass, FailureClass); 4] = [
    (FailureClass::ContextTooLong, FailureClass::InvalidRequest),
    (FailureClass::TooLarge, FailureClass::InvalidRequest),
    (FailureClass::Billing, FailureClass::RateLimit),
    (FailureClass::Incomplete, FailureClass::Server),
];

/// Finer reasons whose class differs from that of the status word.
const REASONS: [(&str, FailureClass); 13] = [
    ("API_KEY_INVALID", FailureClass::Authentication),
    ("API_KEY_EXPIRED", FailureClass::Authentication),
    ("BILLING_DISABLED", FailureClass::Billing),
    ("SERVICE_DISABLED", FailureClass::Permission),
    ("RATE_LIMIT_EXCEEDED", FailureClass::RateLimit),
    ("MODEL_CAPACITY_EXHAUSTED", FailureClass::Overloaded),
    ("ACCESS_TOKEN_EXPIRED", FailureClass::Authentication),
    ("ACCESS_TOKEN_TYPE_UNSUPPORTED", FailureClass::Authentication),
    ("CREDENTIALS_MISSING", FailureClass::Authentication),
    ("API_KEY_SERVICE_BLOCKED", FailureClass::Permission),
    ("ACCESS_TOKEN_SCOPE_INSUFFICIENT", FailureClass::Permission),
    ("CONSUMER_SUSPENDED", FailureClass::Permission),
    ("USER_PROJECT_DENIED", FailureClass::Permission),
];

/// The words in the message of an error for a conversation that is too long.
const TOO_LONG: &str = "exceeds the maximum number of tokens";

const RETRY: &str = "type.googleapis.com/google.rpc.RetryInfo";
const INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const REQUEST: &str = "type.googleapis.com/google.rpc.RequestInfo";

/// Reads an error object; some servers send a bare string.
pub(super) fn read(error: Val<'_>) -> Failure<'_> {
    note_blanks(error);
    let message = error.take_text(Field::ErrorMessage);
    let message = message.or_else(|| error.take_str("message", Field::ErrorMessage)).unwrap_or_default();
    let status = error.get("code").and_then(|code| u16::try_from(code.u64()?).ok());
    if status.is_some() {
        error.take_u64("code", Field::ErrorStatus);
    }
    let (mut retry_after, mut reason, mut request_id) = (None, None, None);
    for detail in error.get("details").into_iter().flat_map(|details| details.elements()) {
        let Some(kind) = detail.get("@type") else { continue };
        let found = if kind.is(RETRY) {
            let delay = detail.get("retryDelay").filter(|_| retry_after.is_none());
            retry_after = delay.and_then(milliseconds).or(retry_after);
            delay
                .filter(|delay| milliseconds(*delay).is_some())
                .map(|delay| delay.note(Field::ErrorRetryAfter))
                .is_some()
        } else if kind.is(INFO) && reason.is_none() {
            reason = detail.take_str("reason", Field::ErrorCode);
            reason.is_some()
        } else if kind.is(REQUEST) && request_id.is_none() {
            request_id = detail.take_str("requestId", Field::ErrorRequestId);
            request_id.is_some()
        } else {
            false
        };
        if found {
            kind.note(Field::Structure);
        }
    }
    let word = error.get("status");
    let row = word.and_then(|word| {
        let word = word.str()?;
        STATUSES.iter().enumerate().find(|(_, (_, known, _))| word.is(known))
    });
    let finer = reason.as_ref().and_then(|reason| REASONS.iter().find(|(known, _)| reason.is(known)));
    let class = finer.map(|(_, class)| *class).or(row.map(|(_, (class, ..))| *class));
    let class = class.or(status.map(FailureClass::of_status)).unwrap_or(FailureClass::Other);
    // A status word that is equivalent to its class needs no separate field.
    let only_class = row
        .is_some_and(|(at, (class, ..))| STATUSES.iter().position(|(known, ..)| known == class) == Some(at));
    let code = match (reason, word) {
        (Some(reason), word) => {
            word.filter(|_| row.is_some()).map(|word| word.note(Field::ErrorClass));
            Some(reason)
        }
        (None, Some(word)) if only_class => {
            word.note(Field::ErrorClass);
            None
        }
        (None, word) => word.and_then(|word| word.take_text(Field::ErrorCode)),
    };
    let class = match class {
        FailureClass::InvalidRequest if message.decode().contains(TOO_LONG) => FailureClass::ContextTooLong,
        class => class,
    };
    Failure { class, status, code, message, request_id, retry_after }
}

/// Parses a duration such as `3.5s` into milliseconds.
fn milliseconds(delay: Val<'_>) -> Option<u64> {
    let text = delay.str()?;
    let seconds = text.as_escaped().strip_suffix('s')?;
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(&part) {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(part.parse().ok()?)
}

/// Writes the body of an error, alone or in a stream. The SDK recognises errors by the first member.
pub(super) fn write(failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
    let Failure { class, status, code, message, request_id, retry_after } = failure;
    let nearest = NEAREST.iter().find(|(known, _)| known == class).map(|(_, nearest)| *nearest);
    if nearest.is_some() && *class != FailureClass::ContextTooLong {
        out.lose(Field::ErrorClass, Reason::Narrowed);
    }
    let said = nearest.unwrap_or(*class);
    let row = STATUSES.iter().find(|(known, ..)| *known == said);
    let (word, usual) = row.map_or(("UNKNOWN", 500), |(_, word, usual)| (*word, *usual));
    let told = status.filter(|status| (400..600).contains(status));
    if status.is_some() && told.is_none() {
        out.lose(Field::ErrorStatus, Reason::Invalid);
    }
    out.json.up_to_value(r#"{"error":{"code":"#).u64(u64::from(told.unwrap_or(usual)));
    out.json.key("message").open_string().piece(message);
    if *class == FailureClass::ContextTooLong && !message.decode().contains(TOO_LONG) {
        out.ledger.note("message ended with the words by which clients know that the prompt is too long");
        out.json.piece(&Str::escaped(" (the input token count ")).piece(&Str::escaped(TOO_LONG));
        out.json.piece(&Str::escaped(" allowed)"));
    }
    out.json.close_string().key("status").literal(word);
    if code.is_some() || request_id.is_some() || retry_after.is_some() {
        let json = out.json.key("details").array();
        if let Some(code) = code {
            json.object().key("@type").literal(INFO).key("reason").str(code).end_object();
        }
        if let Some(delay) = retry_after {
            let (whole, part) = (delay / 1000, delay % 1000);
            let delay = if part == 0 { format!("{whole}s") } else { format!("{whole}.{part:03}s") };
            json.object().key("@type").literal(RETRY).key("retryDelay").literal(&delay).end_object();
        }
        if let Some(id) = request_id {
            json.object().key("@type").literal(REQUEST).key("requestId").str(id).end_object();
        }
        json.end_array();
    }
    out.json.end_object().end_object();
}
