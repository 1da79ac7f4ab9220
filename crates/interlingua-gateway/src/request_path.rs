//! The path of a request: its endpoint, and the web pages that may request it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use interlingua::wire::endpoints::{APIS, Api, Endpoint};

use crate::answer_body::AnswerBody;
use crate::service::ClientBody;
use crate::telemetry::percent_decoded;

/// Prefixes of paths that name the client's dialect.
const PREFIXES: [(&str, &[&str]); 5] = [
    ("/anthropic", &["anthropic"]),
    ("/openai", &["openai-chat", "openai-responses"]),
    ("/gemini", &["gemini"]),
    ("/kimi", &["kimi"]),
    ("/copilot", &["copilot", "openai-responses"]),
];

/// The path without repeated slashes and without a slash at its end.
pub(crate) fn usual_path(path: &str) -> String {
    if !path.contains("//") && !path.ends_with('/') {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}

/// The endpoints for `POST` whose path holds no model. Most requests have such a path, and a search compares the path with
/// those of all endpoints.
static FIXED_PATHS: LazyLock<HashMap<&str, (&Api, &Endpoint)>> = LazyLock::new(|| {
    let all = APIS.iter().flat_map(|api| api.endpoints).filter(|endpoint| !endpoint.path.contains('{'));
    all.filter_map(|endpoint| {
        let (api, endpoint, _) = Endpoint::find("POST", endpoint.path)?;
        Some((endpoint.path, (api, endpoint)))
    })
    .collect()
});

/// The endpoint of a path, with or without a prefix that names the dialect. Clients add the version of the API to their base
/// URL or expect it there, so a path may have the version twice or not at all.
pub(crate) fn find(
    method: &str,
    path: &str,
    headers: &HeaderMap,
) -> Option<(&'static Api, &'static Endpoint, Option<String>)> {
    find_exactly(method, path, headers).or_else(|| {
        let (prefix, rest) = split_prefix(path);
        if let Some(once) = rest.strip_prefix("/v1").filter(|once| once.starts_with("/v1")) {
            return find_exactly(method, &format!("{prefix}{once}"), headers);
        }
        find_exactly(method, &format!("{prefix}/v1{rest}"), headers)
    })
}

/// The API and the model of a request for the entry of one model, such as `/v1/models/gpt-5.5`.
pub(crate) fn find_model(path: &str, headers: &HeaderMap) -> Option<(&'static Api, String)> {
    let (before, name) = path.split_once("/models/")?;
    let (api, endpoint, _) = find("GET", &format!("{before}/models"), headers)?;
    // Google's methods follow a colon; the models of other servers may hold one.
    let is_model = endpoint.request.is_none() && !(api.dialect == "gemini" && name.contains(':'));
    is_model.then(|| (api, percent_decoded(name)))
}

/// The rest of a path below that of the Responses API, with or without a prefix and the version.
pub(crate) fn below_responses(path: &str) -> Option<&str> {
    let (prefix, mut rest) = split_prefix(path);
    if !["", "/openai", "/copilot"].contains(&prefix) {
        return None;
    }
    for _ in 0..2 {
        rest = rest.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(rest);
    }
    let rest = rest.strip_prefix("/responses")?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The prefix that names the dialect, and the rest of a path.
fn split_prefix(path: &str) -> (&str, &str) {
    let is_prefix =
        |(prefix, _): &&(&str, _)| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
    let length = PREFIXES.iter().find(is_prefix).map_or(0, |(prefix, _)| prefix.len());
    path.split_at(length)
}

fn find_exactly(
    method: &str,
    path: &str,
    headers: &HeaderMap,
) -> Option<(&'static Api, &'static Endpoint, Option<String>)> {
    let (prefix, rest) = split_prefix(path);
    if let Some((_, dialects)) = PREFIXES.iter().find(|(known, _)| *known == prefix) {
        let apis = dialects.iter().filter_map(|dialect| Api::of(dialect));
        return apis
            .into_iter()
            .find_map(|api| api.find_endpoint(method, rest).map(|(endpoint, model)| (api, endpoint, model)));
    }
    if let Some((api, endpoint)) = FIXED_PATHS.get(path).filter(|_| method == "POST") {
        return Some((api, endpoint, None));
    }
    let found = Endpoint::find(method, path)?;
    // Three vendors list their models under the same path.
    if found.1.request.is_none() && path == "/v1/models" && !headers.contains_key("anthropic-version") {
        let is_gemini = headers.contains_key("x-goog-api-key") || headers.contains_key("x-goog-api-client");
        let api = Api::of(if is_gemini { "gemini" } else { "openai-chat" })?;
        return api.find_endpoint(method, path).map(|(endpoint, model)| (api, endpoint, model));
    }
    Some(found)
}

/// The site of a web page of this machine that requests the API of a model. Such a page may read the answer. The other paths
/// of the gateway answer only pages of the gateway itself, because agents and the calls of other programs are behind them.
pub(crate) fn local_page(request: &Request<ClientBody>, path: &str) -> Option<HeaderValue> {
    let origin = request.headers().get(header::ORIGIN)?;
    if !origin.to_str().is_ok_and(is_local_page) {
        return None;
    }
    let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD);
    let method = asked.and_then(|method| method.to_str().ok()).unwrap_or(request.method().as_str());
    find(method, path, request.headers()).map(|_| origin.clone())
}

/// The answer to the question of a browser whether a page may send a request; `None` for any other request.
pub(crate) fn preflight(request: &Request<ClientBody>) -> Option<Response<AnswerBody>> {
    let method = request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD)?;
    if request.method() != Method::OPTIONS {
        return None;
    }
    let mut response = Response::new(AnswerBody::whole(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, method.clone());
    if let Some(asked) = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    Some(response)
}

/// Lets a page read a response.
pub(crate) fn allow(page: HeaderValue, response: &mut Response<AnswerBody>) {
    const EXPOSED: HeaderName = header::ACCESS_CONTROL_EXPOSE_HEADERS;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(EXPOSED, HeaderValue::from_static("*"));
}

/// Whether a web page is one of this machine.
pub(crate) fn is_local_page(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, authority)| is_this_machine(authority))
}

/// Whether a host, perhaps with a port, is this machine.
pub(crate) fn is_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for local in ["localhost", "LocalHost:8787", "127.0.0.1", "127.8.8.8:1", "[::1]", "[::1]:80"] {
            assert!(is_this_machine(local), "{local}");
        }
        for foreign in
            ["", "localhost.example", "127.0.0.1.example:80", "10.0.0.1", "[::2]", "evil:localhost", "127.1"]
        {
            assert!(!is_this_machine(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_path_has_one_usual_form() {
        for (path, usual) in
            [("/v1/messages", "/v1/messages"), ("//v1///messages/", "/v1/messages"), ("/", "/"), ("//", "/")]
        {
            assert_eq!(usual_path(path), usual, "{path}");
        }
    }

    #[test]
    fn the_version_of_an_api_is_there_once_twice_or_not() {
        let found = |path: &str| {
            find("POST", path, &HeaderMap::new())
                .map(|(api, endpoint, model)| (api.dialect, endpoint.path, model))
        };
        let messages = Some(("anthropic", "/v1/messages", None));
        for path in [
            "/v1/messages",
            "/v1/v1/messages",
            "/messages",
            "/anthropic/messages",
            "/anthropic/v1/v1/messages",
        ] {
            assert_eq!(found(path), messages, "{path}");
        }
        let responses = Some(("openai-responses", "/v1/responses", None));
        for path in ["/responses", "/openai/responses", "/v1/v1/responses"] {
            assert_eq!(found(path), responses, "{path}");
        }
        let gemini = |version: &'static str| Some(("gemini", version, Some("m".to_owned())));
        assert_eq!(
            found("/v1/v1beta/models/m:generateContent"),
            gemini("/v1beta/models/{model}:generateContent")
        );
        assert_eq!(found("/gemini/models/m:generateContent"), gemini("/v1/models/{model}:generateContent"));
        for path in ["/v2/messages", "/v1/v1/v1/messages", "/anthropic", "/v1", "", "/openai/v1/messages"] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
