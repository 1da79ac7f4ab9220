//! Further paths of a server, such as those of a daemon that runs agents.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use interlingua::model::FailureClass;
use tokio::sync::mpsc;

use crate::answer_body::AnswerBody;
use crate::refusal::{no_key, problem};
use crate::service::{ClientBody, GatewayState};

/// Serves paths that are not those of a model API. The server has checked the credentials, the host and the origin of each
/// request, and the size of its body.
pub trait Extension: Send + Sync + 'static {
    /// Whether the path belongs to the extension.
    fn serves(&self, path: &str) -> bool;

    /// Whether everyone may request the path, without a key.
    fn is_public(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// Answers a request.
    fn answer(&self, request: ExtensionRequest) -> Pin<Box<dyn Future<Output = ExtensionResponse> + Send>>;
}

/// A request for an extension.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExtensionRequest {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The response of an extension.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExtensionResponse {
    /// The status.
    pub status: u16,
    /// The header `content-type`, if there is a body.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: ExtensionBody,
}

/// The body of a response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExtensionBody {
    /// A body that is there.
    Whole(Bytes),
    /// Pieces that arrive until the sender ends.
    Stream(mpsc::Receiver<Bytes>),
}

impl ExtensionResponse {
    /// A response.
    pub const fn new(status: u16, content_type: Option<&'static str>, body: ExtensionBody) -> Self {
        Self { status, content_type, body }
    }

    pub(crate) fn into_response(self) -> Response<AnswerBody> {
        let Self { status, content_type, body } = self;
        let is_stream = matches!(body, ExtensionBody::Stream(_));
        let mut response = Response::new(match body {
            ExtensionBody::Whole(bytes) => AnswerBody::whole(bytes),
            ExtensionBody::Stream(pieces) => AnswerBody::Events(pieces),
        });
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if let Some(kind) = content_type {
            headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
        }
        if is_stream {
            headers.insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache"));
        }
        response
    }
}

/// The answer of an extension.
pub(crate) async fn extended(
    state: &GatewayState,
    extension: &Arc<dyn Extension>,
    request: Request<ClientBody>,
    path: String,
) -> Response<AnswerBody> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    if !extension.is_public(&path) && state.authorize(request.headers(), &query).is_err() {
        return no_key();
    }
    let (method, headers) = (request.method().clone(), request.headers().clone());
    match state.body(request).await {
        Ok(body) => {
            let request = ExtensionRequest { method, path, query, headers, body };
            extension.answer(request).await.into_response()
        }
        Err(failure) if failure.class == FailureClass::TooLarge => problem(413, &failure.message),
        Err(failure) => problem(400, &failure.message),
    }
}
