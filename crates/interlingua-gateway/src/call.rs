//! One model call: the request of a client to a backend, and the answer back.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use http_body_util::{BodyExt, Limited};
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::FailureClass;
use interlingua::pipe::{AnswerWriter, CallFailure, Exchange, FailedResponse};
use interlingua::tape::{Limits, TapeBuf};

use crate::answer_body::{AnswerBody, StreamedAnswer};
use crate::backend::{BackendBody, HttpClient, ReadyBackend, Unreachable};

/// The request of a client.
#[derive(Debug)]
pub(crate) struct ClientCall {
    pub(crate) dialect: &'static Dialect,
    /// The requested model.
    pub(crate) model: String,
    /// Whether the answer is a stream, if the path says so.
    pub(crate) stream: Option<bool>,
    /// Whether the stream is a JSON array.
    pub(crate) is_array: bool,
    pub(crate) body: Bytes,
    /// Headers that the backend gets if it has the client's dialect.
    pub(crate) own_headers: HeaderMap,
}

/// The place that a call is sent to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallTarget<'r> {
    pub(crate) backend: &'r ReadyBackend,
    /// The model to ask for; without it, the requested model.
    pub(crate) send: Option<&'r str>,
}

/// A call that the gateway itself refuses or fails.
#[derive(Debug)]
pub(crate) struct FailedCall {
    pub(crate) class: FailureClass,
    pub(crate) message: String,
    pub(crate) retry_after: Option<u64>,
}

impl FailedCall {
    pub(crate) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None }
    }

    /// The failure as a response in the client's dialect.
    pub(crate) fn response(&self, dialect: &'static Dialect) -> Response<AnswerBody> {
        let mut out = Vec::new();
        if let Ok(mut answer) = AnswerWriter::new((dialect, Role::Response), &Options::default()) {
            answer.fail(self.class, &self.message, self.retry_after, &mut out);
            answer.finish(&mut out);
        }
        json_response(self.class.status(), out, self.retry_after)
    }
}

/// A response with a JSON body.
pub(crate) fn json_response(
    status: u16,
    body: impl Into<Bytes>,
    retry_after: Option<u64>,
) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(body));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(milliseconds) = retry_after {
        headers.insert(header::RETRY_AFTER, milliseconds.div_ceil(1000).into());
    }
    response
}

/// The header with the number of values that did not reach the other side.
const LOSSES: HeaderName = HeaderName::from_static("x-interlingua-losses");

/// The header with the name of the backend.
pub(crate) const BACKEND: HeaderName = HeaderName::from_static("x-interlingua-backend");

/// The largest accepted whole answer in bytes.
pub(crate) const MOST_ANSWER: usize = 256 << 20;

impl ClientCall {
    /// Sends the call to a backend and translates its answer.
    pub(crate) async fn run(
        &self,
        target: CallTarget<'_>,
        http: &HttpClient,
        idle_timeout: Duration,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let CallTarget { backend, send } = target;
        let (api, dialect) = backend.api_for(self.dialect);
        let model = send.unwrap_or(&self.model);
        let is_same = dialect.name == self.dialect.name;
        let mut options = Options::default().with_stream(self.stream);
        if !is_same {
            options = options.with_backend(backend.capabilities.clone());
            if send.is_some() || !has_model(self.dialect) {
                options = options.with_model(model.to_owned());
            }
        }
        // Between equal dialects the bytes stay, except for the model's name.
        let renamed = if is_same && send.is_some() { with_model(&self.body, model) } else { None };
        let body = renamed.as_deref().unwrap_or(&self.body);
        let mut exchange = Exchange::new(self.dialect, dialect, &options);
        let mut sent = Vec::new();
        let summary = exchange
            .request(body, &mut sent)
            .map_err(|error| FailedCall::new(FailureClass::InvalidRequest, error.to_string()))?;
        if let Some(problem) = summary.report.problems.first().filter(|_| summary.report.read == 0) {
            let message = format!("the request is not JSON: {}", problem.detail);
            return Err(FailedCall::new(FailureClass::InvalidRequest, message));
        }
        let lost = summary.report.lost;
        let role = summary.answer_role();
        let endpoint = api.endpoint(Role::Request, role).ok_or_else(|| {
            FailedCall::new(FailureClass::InvalidRequest, format!("`{}` has no such endpoint", dialect.name))
        })?;
        let no_headers = HeaderMap::new();
        let extra = if is_same { &self.own_headers } else { &no_headers };
        let reply = backend.send(http, dialect, endpoint, model, sent, extra).await.map_err(
            |Unreachable(cause)| {
                let message = format!("the backend `{}` cannot be reached: {cause}", backend.name);
                FailedCall::new(FailureClass::Overloaded, message)
            },
        )?;
        let failed = FailedResponse::new(reply.status, reply.retry_after);
        let mut response = if reply.status >= 400 {
            let bytes = whole(reply.body).await?;
            failed_answer(&mut exchange, failed, &bytes)?
        } else if role == Role::Stream && reply.is_stream {
            let pipe = exchange
                .answer(Role::Stream)
                .map_err(|error| FailedCall::new(FailureClass::Server, error.to_string()))?;
            let answer = StreamedAnswer::new(reply.body, pipe, self.is_array, idle_timeout);
            let mut response = Response::new(AnswerBody::Streamed(Box::new(answer)));
            let content_type = if self.is_array { "application/json" } else { "text/event-stream" };
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        } else {
            let bytes = whole(reply.body).await?;
            whole_answer(&mut exchange, &bytes)?
        };
        response.headers_mut().insert(LOSSES, lost.into());
        if let Ok(name) = HeaderValue::from_str(&backend.name) {
            response.headers_mut().insert(BACKEND, name);
        }
        Ok(response)
    }
}

/// A whole answer.
fn whole_answer(exchange: &mut Exchange, bytes: &[u8]) -> Result<Response<AnswerBody>, FailedCall> {
    let broken = |error: interlingua::error::Error| FailedCall::new(FailureClass::Server, error.to_string());
    let mut out = Vec::new();
    let outcome = exchange.answer(Role::Response).map_err(broken)?.finish_with(bytes, &mut out);
    match &outcome.failure {
        Some(CallFailure { status, retry_after, .. }) if !out.is_empty() => {
            Ok(json_response(*status, out, *retry_after))
        }
        None if outcome.report.read > 0 && !out.is_empty() => Ok(json_response(200, out, None)),
        _ => failed_answer(exchange, FailedResponse::new(502, None), bytes),
    }
}

/// An error of the backend.
fn failed_answer(
    exchange: &mut Exchange,
    failed: FailedResponse,
    bytes: &[u8],
) -> Result<Response<AnswerBody>, FailedCall> {
    let mut out = Vec::new();
    let broken = |error: interlingua::error::Error| FailedCall::new(FailureClass::Server, error.to_string());
    let outcome = exchange.failed(failed, bytes, &mut out).map_err(broken)?;
    let status = outcome.failure.as_ref().map_or(failed.status, |failure| failure.status);
    let retry_after = outcome.failure.and_then(|failure| failure.retry_after).or(failed.retry_after);
    Ok(json_response(status, out, retry_after))
}

/// A whole body.
pub(crate) async fn whole(body: BackendBody) -> Result<Bytes, FailedCall> {
    let collected = Limited::new(body, MOST_ANSWER).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| {
        FailedCall::new(FailureClass::Incomplete, format!("the answer of the backend broke off: {error}"))
    })
}

/// Whether requests of a dialect hold the model in their body.
pub(crate) fn has_model(dialect: &Dialect) -> bool {
    dialect.name != "gemini"
}

/// The model of a request body.
pub(crate) fn model_of(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let mut tape = TapeBuf::default();
    let tape = tape.parse(text, &Limits::default()).ok()?;
    Some(tape.root().get("model")?.str()?.decode().into_owned())
}

/// The body with another model; `None` if the body has no model to replace.
fn with_model(body: &[u8], model: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut tape = TapeBuf::default();
    let tape = tape.parse(text, &Limits::default()).ok()?;
    let span = tape.root().get("model")?.span();
    let mut changed = Vec::with_capacity(body.len() + model.len());
    changed.extend_from_slice(&body[..span.start]);
    changed.push(b'"');
    changed.extend_from_slice(interlingua::json::Str::plain(model).as_escaped().as_bytes());
    changed.push(b'"');
    changed.extend_from_slice(&body[span.end..]);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_model_is_replaced() {
        let body = br#"{ "messages" : [{"model":"inner"}], "model":"a\u0062" ,"n":1e0}"#;
        assert_eq!(model_of(body).as_deref(), Some("ab"));
        let changed = with_model(body, "x\"y").expect("a model");
        assert_eq!(changed, br#"{ "messages" : [{"model":"inner"}], "model":"x\"y" ,"n":1e0}"#);
        assert_eq!(with_model(b"{}", "x"), None);
    }
}
