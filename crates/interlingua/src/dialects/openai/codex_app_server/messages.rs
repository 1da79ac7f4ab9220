//! Small parts of messages: errors, stop reasons and prompts.

use crate::json::Str;
use crate::model::{Failure, FailureClass, Field, Media, MediaSource, Part, Stop, StopClass};
use crate::tape::{Member, Val};
use crate::wire::media::from_data_url;

/// The error of a turn.
pub(super) fn error_of(error: Val<'_>) -> Failure<'_> {
    let info = error.get("codexErrorInfo");
    // The info is a word, or an object with a single member: the word, with the status of the HTTP response.
    let member = info.and_then(|info| info.members().next());
    let code = match (&member, info) {
        (Some((name, _)), _) => Some(name.clone()),
        (None, Some(info)) => info.note_text(Field::ErrorCode),
        (None, None) => None,
    };
    let status = member.and_then(|(_, detail)| {
        let status = detail.get("httpStatusCode")?;
        let number = u16::try_from(status.u64()?).ok()?;
        status.note(Field::ErrorStatus);
        Some(number)
    });
    let class = match code.as_ref().map(Str::as_escaped) {
        Some("contextWindowExceeded") => FailureClass::ContextTooLong,
        Some("sessionBudgetExceeded" | "usageLimitExceeded") => FailureClass::Billing,
        Some("rateLimitExceeded" | "tooManyDenials") => FailureClass::RateLimit,
        Some("serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable") => {
            FailureClass::Overloaded
        }
        Some("modelNotFound") => FailureClass::NotFound,
        Some("cyberPolicy" | "inferenceHookDenied" | "misalignmentPolicyViolation") => {
            FailureClass::Permission
        }
        Some("internalServerError") => FailureClass::Server,
        Some("unauthorized") => FailureClass::Authentication,
        Some("badRequest" | "activeTurnNotSteerable") => FailureClass::InvalidRequest,
        // The connection to the provider broke; the stream of Codex itself is whole.
        Some(
            "httpConnectionFailed"
            | "responseStreamConnectionFailed"
            | "responseStreamDisconnected"
            | "responseTooManyFailedAttempts",
        ) if status.is_none() => FailureClass::Server,
        Some(_) | None => status.map_or(FailureClass::Other, FailureClass::of_status),
    };
    Failure {
        class,
        status,
        code,
        message: error.take_str("message", Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }
}

/// The stop reason of a turn.
pub(super) fn turn_stop(turn: Val<'_>) -> Option<Stop<'_>> {
    let raw = turn.note_str("status", Field::StopReason)?;
    let class = match raw.as_escaped() {
        "completed" => StopClass::End,
        "interrupted" => StopClass::Cancelled,
        "failed" => StopClass::Error,
        _ => StopClass::Other,
    };
    Some(Stop { class, raw: Some(raw), sequence: None, detail: None })
}

/// The texts of a prompt, joined, to recognise the echo of the prompt.
pub(super) fn prompt_text(input: Val<'_>) -> String {
    let texts = input.elements().map(|part| match part.get("text").and_then(|text| text.str()) {
        Some(text) => text.decode().into_owned(),
        None => part.text().to_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A part of a prompt. Skills and mentions stay in the line.
pub(super) fn prompt_part(part: Val<'_>) -> Option<Part<'_>> {
    match part.str_or_empty("type") {
        "text" => Some(Part::Text(part.take_str("text", Field::MessageText)?)),
        "image" | "audio" => media(part, "url", Field::MessageMedia).or_else(|| {
            let id = part.take_str("fileId", Field::MessageMedia)?;
            Some(Part::Media(Media::new(None, MediaSource::File(id))))
        }),
        "localImage" | "localAudio" => media(part, "path", Field::MessageMedia),
        _ => None,
    }
}

/// A medium at an address, or inline in a data URL.
pub(super) fn media<'t>(part: Val<'t>, name: &str, field: Field) -> Option<Part<'t>> {
    let url = part.get(name).filter(|url| url.str().is_some())?;
    let text = Some(url).word();
    url.take(field);
    let mut media =
        from_data_url(text).unwrap_or_else(|| Media::new(None, MediaSource::Url(Str::escaped(text))));
    media.detail = part.take_str("detail", Field::MediaDetail);
    Some(Part::Media(media))
}
