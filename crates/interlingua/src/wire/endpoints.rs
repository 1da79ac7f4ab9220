//! The HTTP endpoints of the wire dialects, as data: method, path, headers and body roles. A client takes the URL and the
//! headers of a request from here, and a server finds the dialect and the role of a request by its path. This module
//! sends and receives nothing.
//!
//! ```
//! use interlingua::dialects::Role;
//! use interlingua::wire::endpoints::{Api, Endpoint};
//!
//! let gemini = Api::of("gemini").expect("a wire dialect");
//! let endpoint = gemini.endpoint(Role::Request, Role::Stream).expect("an endpoint");
//! assert_eq!(endpoint.path_for("gemini-3-pro"), "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
//! assert_eq!(gemini.key_header("secret"), ("x-goog-api-key", "secret".to_owned()));
//!
//! let (api, endpoint, model) = Endpoint::find("POST", "/v1beta/models/gemini-3-pro:countTokens").expect("an endpoint");
//! assert_eq!((api.dialect, endpoint.request, model.as_deref()), ("gemini", Some(Role::Count), Some("gemini-3-pro")));
//! ```

use crate::dialects::Role;

/// The HTTP interface of a wire dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Api {
    /// The name of the dialect.
    pub dialect: &'static str,
    /// The vendor's server, without a path.
    pub base_url: &'static str,
    /// The request header that holds the key.
    pub key: KeyHeader,
    /// Headers that every request needs besides the key and the content type.
    pub headers: &'static [(&'static str, &'static str)],
    /// The endpoints.
    pub endpoints: &'static [Endpoint],
}

/// The request header that holds the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// A header of this name whose value is the key.
    Plain(&'static str),
}

/// One endpoint of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The role of the request body; `None` for a request without a body.
    pub request: Option<Role>,
    /// The role of the response body. Every endpoint may also respond with an error ([`Role::Response`]).
    pub response: Role,
    /// The HTTP method.
    pub method: &'static str,
    /// The path below the server; `{model}` stands for the model, if the path holds it.
    pub path: &'static str,
    /// The query, without `?`; empty if there is none.
    pub query: &'static str,
}

impl Api {
    /// The API of a wire dialect.
    pub fn of(dialect: &str) -> Option<&'static Self> {
        APIS.iter().find(|api| api.dialect == dialect)
    }

    /// The endpoint for a request of this role that is answered in that role.
    pub fn endpoint(&self, request: Role, response: Role) -> Option<&'static Endpoint> {
        self.endpoints.iter().find(|endpoint| {
            endpoint.request.unwrap_or(Role::Models) == request && endpoint.response == response
        })
    }

    /// The endpoint of a request to this API by its method and its path, with the model if the path holds it. A query is
    /// ignored.
    pub fn find_endpoint(&self, method: &str, path: &str) -> Option<(&'static Endpoint, Option<String>)> {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        for endpoint in self.endpoints.iter().filter(|endpoint| endpoint.method == method) {
            match endpoint.path.split_once(MODEL) {
                None if endpoint.path == path => return Some((endpoint, None)),
                None => {}
                Some((before, after)) => {
                    let model = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                    if let Some(model) = model.filter(|model| !model.is_empty()) {
                        return Some((endpoint, Some(unescaped(model)?)));
                    }
                }
            }
        }
        None
    }

    /// The name and the value of the header that holds the key.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        match self.key {
            KeyHeader::Bearer => ("authorization", format!("Bearer {key}")),
            KeyHeader::Plain(name) => (name, key.to_owned()),
        }
    }
}

impl Endpoint {
    /// The path with its query, for a model.
    pub fn path_for(&self, model: &str) -> String {
        let mut path = self.path.replace(MODEL, &escaped(model));
        if !self.query.is_empty() {
            path.push('?');
            path.push_str(self.query);
        }
        path
    }

    /// The content type of the response.
    pub const fn content_type(&self) -> &'static str {
        match self.response {
            Role::Stream => "text/event-stream",
            _ => "application/json",
        }
    }

    /// The API and the endpoint of a request by its method and its path, with the model if the path holds it. A query is
    /// ignored, except that `alt=sse` is no part of the path. Dialects that share a path (`kimi` and `openai-chat`) resolve
    /// to the base dialect. A request for a stream has the path of one for a whole response, except in Gemini; the body
    /// decides.
    pub fn find(method: &str, path: &str) -> Option<(&'static Api, &'static Self, Option<String>)> {
        APIS.iter().find_map(|api| {
            let (endpoint, model) = api.find_endpoint(method, path)?;
            Some((api, endpoint, model))
        })
    }
}

/// The placeholder of the model in a path.
const MODEL: &str = "{model}";

/// A model name as a segment of a path. Slashes stay, because names of tuned models hold them.
fn escaped(model: &str) -> String {
    let mut path = String::with_capacity(model.len());
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push('%');
            path.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
            );
        }
    }
    path
}

/// The reverse of [`escaped`]; `None` if the text is not UTF-8 or an escape is broken.
fn unescaped(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16).map(|digit| digit as u8);
            bytes.push(digit()? << 4 | digit()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

const fn post(path: &'static str, request: Role, response: Role) -> Endpoint {
    Endpoint { request: Some(request), response, method: "POST", path, query: "" }
}

const fn get(path: &'static str) -> Endpoint {
    Endpoint { request: None, response: Role::Models, method: "GET", path, query: "" }
}

/// The API of each wire dialect. A base dialect comes before its flavours.
pub static APIS: &[Api] = &[
    Api {
        dialect: "anthropic",
        base_url: "https://api.anthropic.com",
        key: KeyHeader::Plain("x-api-key"),
        headers: &[("anthropic-version", "2023-06-01")],
        endpoints: &[
            post("/v1/messages", Role::Request, Role::Response),
            post("/v1/messages", Role::Request, Role::Stream),
            post("/v1/messages/count_tokens", Role::Count, Role::Counted),
            get("/v1/models"),
        ],
    },
    Api {
        dialect: "openai-chat",
        base_url: "https://api.openai.com",
        key: KeyHeader::Bearer,
        headers: &[],
        endpoints: &[
            post("/v1/chat/completions", Role::Request, Role::Response),
            post("/v1/chat/completions", Role::Request, Role::Stream),
            get("/v1/models"),
        ],
    },
    Api {
        dialect: "openai-responses",
        base_url: "https://api.openai.com",
        key: KeyHeader::Bearer,
        headers: &[],
        endpoints: &[
            post("/v1/responses", Role::Request, Role::Response),
            post("/v1/responses", Role::Request, Role::Stream),
            post("/v1/responses/input_tokens", Role::Count, Role::Counted),
            // The request has members of a model call; the response has items for the next request.
            post("/v1/responses/compact", Role::Request, Role::Response),
            get("/v1/models"),
        ],
    },
    Api {
        dialect: "gemini",
        base_url: "https://generativelanguage.googleapis.com",
        key: KeyHeader::Plain("x-goog-api-key"),
        headers: &[],
        endpoints: &[
            post("/v1beta/models/{model}:generateContent", Role::Request, Role::Response),
            // Without `alt=sse` the server sends a JSON array instead of a stream of events.
            Endpoint {
                query: "alt=sse",
                ..post("/v1beta/models/{model}:streamGenerateContent", Role::Request, Role::Stream)
            },
            post("/v1beta/models/{model}:countTokens", Role::Count, Role::Counted),
            get("/v1beta/models"),
            // The stable version has the same endpoints, and Google's package for Python asks for it since 3.0.
            post("/v1/models/{model}:generateContent", Role::Request, Role::Response),
            Endpoint {
                query: "alt=sse",
                ..post("/v1/models/{model}:streamGenerateContent", Role::Request, Role::Stream)
            },
            post("/v1/models/{model}:countTokens", Role::Count, Role::Counted),
            get("/v1/models"),
        ],
    },
    Api {
        dialect: "kimi",
        base_url: "https://api.moonshot.ai",
        key: KeyHeader::Bearer,
        headers: &[],
        endpoints: &[
            post("/v1/chat/completions", Role::Request, Role::Response),
            post("/v1/chat/completions", Role::Request, Role::Stream),
            post("/v1/tokenizers/estimate-token-count", Role::Count, Role::Counted),
            get("/v1/models"),
        ],
    },
    Api {
        dialect: "copilot",
        base_url: "https://api.githubcopilot.com",
        key: KeyHeader::Bearer,
        headers: &[],
        endpoints: &[
            post("/chat/completions", Role::Request, Role::Response),
            post("/chat/completions", Role::Request, Role::Stream),
            get("/models"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::{DIALECTS, Dialect, Plane};

    #[test]
    fn every_wire_dialect_has_an_endpoint_for_each_role_it_writes() {
        for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Wire) {
            let api = Api::of(dialect.name).expect(dialect.name);
            for spec in dialect.roles.iter().filter(|spec| spec.write.is_some()) {
                let role = spec.role;
                let is_there =
                    |endpoint: &Endpoint| endpoint.request == Some(role) || endpoint.response == role;
                assert!(api.endpoints.iter().any(is_there), "{} {}", dialect.name, role.word());
            }
        }
    }

    #[test]
    fn every_endpoint_has_a_dialect_that_reads_and_writes_its_bodies() {
        for api in APIS {
            let dialect = Dialect::named(api.dialect).expect(api.dialect);
            for endpoint in api.endpoints {
                let roles = endpoint.request.into_iter().chain([endpoint.response]);
                for role in roles {
                    let spec = dialect.role(role);
                    assert!(spec.is_some_and(|spec| spec.write.is_some()), "{} {}", api.dialect, role.word());
                }
                assert_eq!(
                    endpoint.request.is_none(),
                    endpoint.method == "GET",
                    "{} {}",
                    api.dialect,
                    endpoint.path
                );
            }
        }
    }

    #[test]
    fn a_path_is_found_again_with_its_model() {
        for model in ["m", "tunedModels/a b", "ft:gpt:org::x", "é%/?#", "a:b"] {
            for api in APIS {
                for endpoint in api.endpoints {
                    let path = endpoint.path_for(model);
                    let (found, same, named) = Endpoint::find(endpoint.method, &path).expect(&path);
                    assert_eq!((same.path, same.method), (endpoint.path, endpoint.method), "{path}");
                    assert_eq!(named.is_some(), endpoint.path.contains(MODEL), "{path}");
                    assert!(named.is_none_or(|named| named == model), "{path}");
                    let is_first = APIS.iter().find(|other| {
                        other
                            .endpoints
                            .iter()
                            .any(|it| it.path == endpoint.path && it.method == endpoint.method)
                    });
                    assert_eq!(is_first.map(|api| api.dialect), Some(found.dialect), "{path}");
                }
            }
        }
    }

    #[test]
    fn other_paths_and_methods_are_not_found() {
        for (method, path) in [
            ("GET", "/v1/messages"),
            ("POST", "/v1/message"),
            ("POST", "/v1beta/models/:generateContent"),
            ("POST", "/v1beta/models/m:generate"),
            ("POST", "/v1beta/models/%zz:countTokens"),
            ("POST", "/v1beta/models/%ff:countTokens"),
            ("POST", ""),
        ] {
            assert_eq!(Endpoint::find(method, path), None, "{method} {path}");
        }
    }

    #[test]
    fn keys_are_in_the_header_of_the_api() {
        let header = |dialect| Api::of(dialect).expect("registered").key_header("k");
        assert_eq!(header("anthropic"), ("x-api-key", "k".to_owned()));
        assert_eq!(header("openai-chat"), ("authorization", "Bearer k".to_owned()));
        assert_eq!(Api::of("claude-code"), None);
    }
}
