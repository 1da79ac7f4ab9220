//! From an HTTP request to the call of a client: path, credentials, body, route.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use interlingua::dialects::{Dialect, Role};
use interlingua::model::FailureClass;
use interlingua::wire::endpoints::{Api, Endpoint, KeyHeader};

use crate::answer_body::AnswerBody;
use crate::backend::{HttpClient, ReadyBackend};
use crate::call::{CallTarget, ClientCall, FailedCall, json_response, model_of};
use crate::config::Config;
use crate::model_list;

/// A gateway that is ready to serve.
pub(crate) struct Gateway {
    pub(crate) config: Config,
    pub(crate) backends: Vec<ReadyBackend>,
    pub(crate) http: HttpClient,
}

/// Prefixes of paths that name the client's dialect.
const PREFIXES: [(&str, &[&str]); 5] = [
    ("/anthropic", &["anthropic"]),
    ("/openai", &["openai-chat", "openai-responses"]),
    ("/gemini", &["gemini"]),
    ("/kimi", &["kimi"]),
    ("/copilot", &["copilot"]),
];

/// Headers of a client that a backend of the same dialect understands.
const OWN_HEADERS: [&str; 5] =
    ["anthropic-beta", "anthropic-version", "openai-beta", "openai-organization", "openai-project"];

impl Gateway {
    /// Answers a request. Every failure is an answer.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<AnswerBody> {
        let path = request.uri().path().to_owned();
        if request.method() == Method::GET && path == "/health" {
            return json_response(200, r#"{"status":"ok"}"#, None);
        }
        if let Some(refusal) = self.refuse_foreign_page(request.headers()) {
            return refusal;
        }
        let Some((api, endpoint, model)) = find(request.method().as_str(), &path, request.headers()) else {
            let detail = format!("no endpoint has this path: {} {path}", request.method());
            return problem(404, &detail);
        };
        let Some(dialect) = Dialect::named(api.dialect) else { return problem(404, "no such dialect") };
        match self.call(request, api, endpoint, dialect, model).await {
            Ok(response) => response,
            Err(failure) => failure.response(dialect),
        }
    }

    async fn call(
        &self,
        request: Request<Incoming>,
        api: &'static Api,
        endpoint: &'static Endpoint,
        dialect: &'static Dialect,
        model: Option<String>,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        self.authorize(request.headers(), &query, api)?;
        let Some(role) = endpoint.request else {
            return Ok(json_response(200, model_list::body(&self.config, dialect), None));
        };
        let own_headers = own_headers(request.headers());
        let body = self.body(request).await?;
        let missing = || FailedCall::new(FailureClass::InvalidRequest, "the request names no `model`");
        let model = model.or_else(|| model_of(&body)).ok_or_else(missing)?;
        let streams = endpoint.path.ends_with(":streamGenerateContent");
        let call = ClientCall {
            dialect,
            stream: endpoint.path.contains("{model}").then_some(streams),
            is_array: streams && !query.split('&').any(|pair| pair == "alt=sse"),
            model,
            body,
            own_headers,
        };
        let target = self.target(&call.model)?;
        if role == Role::Count {
            return call.count(target, &self.http).await;
        }
        call.run(target, &self.http, Duration::from_secs(self.config.idle_timeout)).await
    }

    /// The backend for a model.
    fn target(&self, model: &str) -> Result<CallTarget<'_>, FailedCall> {
        let unknown = || {
            let patterns: Vec<&str> = self.config.routes.iter().map(|route| &*route.model).collect();
            let message =
                format!("no route for the model `{model}`; there are routes for {}", patterns.join(", "));
            FailedCall::new(FailureClass::NotFound, message)
        };
        let route = self.config.route(model).ok_or_else(unknown)?;
        let backend =
            self.backends.iter().find(|backend| backend.name == route.backend).ok_or_else(unknown)?;
        Ok(CallTarget { backend, send: route.send.as_deref() })
    }

    /// The body, up to the limit.
    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, FailedCall> {
        let collected = Limited::new(request.into_body(), self.config.max_body).collect().await;
        collected.map(http_body_util::Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() {
                let message = format!("the request is larger than {} bytes", self.config.max_body);
                FailedCall::new(FailureClass::TooLarge, message)
            } else {
                FailedCall::new(FailureClass::InvalidRequest, "the request broke off")
            }
        })
    }

    /// Checks the client's token, in the header of its API or as a bearer token, or in Gemini's `key`.
    fn authorize(&self, headers: &HeaderMap, query: &str, api: &Api) -> Result<(), FailedCall> {
        let Some(token) = &self.config.token else { return Ok(()) };
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let plain = match api.key {
            KeyHeader::Plain(name) => text(name),
            _ => None,
        };
        let in_query = query.split('&').find_map(|pair| pair.strip_prefix("key="));
        let given = [bearer, plain, in_query];
        if given.into_iter().flatten().any(|given| is_same(given.as_bytes(), token.as_bytes())) {
            return Ok(());
        }
        Err(FailedCall::new(FailureClass::Authentication, "the API key is not the token of this gateway"))
    }

    /// Refuses requests from web pages of other sites: a page must not spend the keys of its visitor. Without a token, the
    /// host must be this machine, so that no foreign name can point here.
    fn refuse_foreign_page(&self, headers: &HeaderMap) -> Option<Response<AnswerBody>> {
        let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let is_local = |authority: &str| {
            let host = match authority.rsplit_once(':') {
                Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
                _ => authority,
            };
            matches!(host, "localhost" | "127.0.0.1" | "[::1]")
        };
        if let Some(origin) = text(header::ORIGIN)
            && !origin.split_once("://").is_some_and(|(_, authority)| is_local(authority))
        {
            return Some(problem(403, "requests from web pages of other sites are refused"));
        }
        let host = text(header::HOST).unwrap_or_default();
        if self.config.token.is_none() && !is_local(host) {
            return Some(problem(403, "the host of the request is not this machine"));
        }
        None
    }
}

/// The endpoint of a path, with or without a prefix that names the dialect.
fn find(
    method: &str,
    path: &str,
    headers: &HeaderMap,
) -> Option<(&'static Api, &'static Endpoint, Option<String>)> {
    for (prefix, dialects) in PREFIXES {
        if let Some(rest) = path.strip_prefix(prefix).filter(|rest| rest.starts_with('/')) {
            let apis = dialects.iter().filter_map(|dialect| Api::of(dialect));
            return apis.into_iter().find_map(|api| {
                api.find_endpoint(method, rest).map(|(endpoint, model)| (api, endpoint, model))
            });
        }
    }
    let found = Endpoint::find(method, path)?;
    // Anthropic and OpenAI list their models under the same path.
    if found.1.request.is_none() && path == "/v1/models" && !headers.contains_key("anthropic-version") {
        let api = Api::of("openai-chat")?;
        return api.find_endpoint(method, path).map(|(endpoint, model)| (api, endpoint, model));
    }
    Some(found)
}

fn own_headers(headers: &HeaderMap) -> HeaderMap {
    let own = OWN_HEADERS.iter().filter_map(|name| Some((name.parse().ok()?, headers.get(*name)?.clone())));
    own.collect()
}

/// An error for a client whose dialect is unknown.
fn problem(status: u16, detail: &str) -> Response<AnswerBody> {
    let detail = interlingua::json::Str::plain(detail);
    let body = format!(r#"{{"status":{status},"detail":"{}"}}"#, detail.as_escaped());
    let mut response = json_response(status, body, None);
    let problem = http::HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, problem);
    response
}

/// Compares in a time that depends only on the lengths.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let difference = given.iter().zip(token).fold(0, |difference, (one, other)| difference | (one ^ other));
    given.len() == token.len() && difference == 0
}
