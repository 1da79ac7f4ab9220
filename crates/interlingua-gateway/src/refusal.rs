//! Errors for clients whose dialect is unknown: `application/problem+json`.

use http::{Response, header};

use crate::answer_body::AnswerBody;
use crate::call::json_response;

/// The refusal of a page of the gateway itself.
pub(crate) fn no_key() -> Response<AnswerBody> {
    problem(401, "this page needs a key of the gateway as a bearer token")
}

/// An error for a client whose dialect is unknown.
pub(crate) fn problem(status: u16, detail: &str) -> Response<AnswerBody> {
    let detail = interlingua::json::Str::plain(detail);
    let kind = match status {
        401 => "token_invalid",
        403 => "permission_denied",
        404 => "not_found",
        413 => "payload_too_large",
        400..500 => "invalid_request",
        _ => "unavailable",
    };
    let title = kind.replace('_', " ");
    let body = format!(
        r#"{{"type":"urn:interlingua:error:{kind}","title":"{title}","status":{status},"detail":"{}"}}"#,
        detail.as_escaped()
    );
    let mut response = json_response(status, body, None);
    let problem = http::HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, problem);
    response
}
