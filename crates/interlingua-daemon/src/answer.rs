//! Requests and responses, independent of the server that carries them.

use std::borrow::Cow;

use bytes::Bytes;
use http::Method;
use tokio::sync::mpsc;

use crate::problem::ApiProblem;
use crate::routes::decoded;

/// A request of a client, after the server has checked its credentials.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiRequest {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The header `content-type`.
    pub content_type: Option<String>,
    /// The header `last-event-id`.
    pub last_event_id: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl ApiRequest {
    /// A request without headers and without a body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        let path = path.into();
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        Self {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            content_type: None,
            last_event_id: None,
            body: Bytes::new(),
        }
    }

    /// The same request with a body of JSON.
    #[must_use]
    pub fn with_json(self, body: impl Into<Bytes>) -> Self {
        Self { content_type: Some("application/json".to_owned()), body: body.into(), ..self }
    }

    /// A value of the query.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<Cow<'_, str>>, ApiProblem> {
        let pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let Some((_, value)) = pairs.into_iter().find(|(key, _)| *key == name) else { return Ok(None) };
        // Forms write a space as a plus sign.
        if value.contains('+') {
            return decoded(&value.replace('+', " ")).map(|value| Some(Cow::Owned(value.into_owned())));
        }
        decoded(value).map(Some)
    }
}

/// The response to a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApiResponse {
    /// The status.
    pub status: u16,
    /// The header `content-type`, if there is a body.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: ApiBody,
}

/// The body of a response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApiBody {
    /// A body that is there.
    Whole(Bytes),
    /// Pieces that arrive until the sender ends.
    Stream(mpsc::Receiver<Bytes>),
}

impl ApiResponse {
    pub(crate) fn json(body: impl Into<Bytes>) -> Self {
        Self { status: 200, content_type: Some("application/json"), body: ApiBody::Whole(body.into()) }
    }

    pub(crate) fn bytes(body: impl Into<Bytes>) -> Self {
        Self { content_type: Some("application/octet-stream"), ..Self::json(body) }
    }

    pub(crate) fn empty() -> Self {
        Self { status: 204, content_type: None, body: ApiBody::Whole(Bytes::new()) }
    }

    pub(crate) fn events(events: mpsc::Receiver<Bytes>) -> Self {
        Self { status: 200, content_type: Some("text/event-stream"), body: ApiBody::Stream(events) }
    }

    pub(crate) fn problem(problem: &ApiProblem, path: &str) -> Self {
        Self {
            status: problem.status,
            content_type: Some("application/problem+json"),
            body: ApiBody::Whole(problem.json(path).into()),
        }
    }
}
