//! The configuration: backends, routes and limits, from TOML or from flags.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use interlingua::wire::backends::{Backend, is_match};
use interlingua::wire::endpoints::Api;
use serde::Deserialize;

/// The configuration of a gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The token that clients must send as their API key. Required to listen beyond loopback.
    pub token: Option<String>,
    /// The largest accepted request body in bytes.
    pub max_body: usize,
    /// The seconds of silence after which a backend's answer counts as cut off.
    pub idle_timeout: u64,
    /// The backends by name.
    #[serde(rename = "backend")]
    pub backends: BTreeMap<String, BackendSettings>,
    /// The routes. The first route whose pattern matches the requested model applies.
    #[serde(rename = "route")]
    pub routes: Vec<RouteSettings>,
}

/// A backend of the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct BackendSettings {
    /// The dialect of the server. The default is that of the built-in backend with this name.
    pub dialect: Option<String>,
    /// The URL of the server, without the path of an endpoint. The default is the vendor's.
    pub url: Option<String>,
    /// The environment variable with the key.
    pub key_env: Option<String>,
    /// The key itself.
    pub key: Option<String>,
    /// Further request headers.
    pub headers: BTreeMap<String, String>,
    /// The path of a script; the backend then is the scripted model instead of a server. Empty for the built-in script.
    pub script: Option<String>,
}

/// A route of the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RouteSettings {
    /// The requested model; `*` matches any text.
    pub model: String,
    /// The name of the backend.
    pub backend: String,
    /// The model to ask the backend for; without it, the requested model.
    #[serde(default)]
    pub send: Option<String>,
}

impl RouteSettings {
    /// A route from a pattern of models to a backend.
    pub fn new(model: impl Into<String>, backend: impl Into<String>, send: Option<String>) -> Self {
        Self { model: model.into(), backend: backend.into(), send }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            token: None,
            max_body: 64 << 20,
            idle_timeout: 300,
            backends: BTreeMap::new(),
            routes: Vec::new(),
        }
    }
}

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not TOML, or has an unknown member: the message of the parser, with line and column.
    Toml(String),
    /// A backend has no dialect, and its name is not that of a built-in backend.
    NoDialect(String),
    /// A backend has a dialect that is none of a model API.
    NotAnApi {
        /// The name of the backend.
        backend: String,
        /// The dialect.
        dialect: String,
    },
    /// A URL that cannot be parsed.
    Url {
        /// The name of the backend.
        backend: String,
        /// The URL.
        url: String,
    },
    /// A header name or value that HTTP does not allow.
    Header {
        /// The name of the backend.
        backend: String,
        /// The name of the header.
        header: String,
    },
    /// The environment variable with a key is not set.
    NoKey {
        /// The name of the backend.
        backend: String,
        /// The name of the variable.
        variable: String,
    },
    /// A route names a backend that does not exist.
    NoBackend {
        /// The pattern of the route.
        model: String,
        /// The name of the backend.
        backend: String,
    },
    /// A script with an error.
    Script {
        /// The name of the backend.
        backend: String,
        /// The error.
        error: String,
    },
    /// The address is not loopback, and there is no token.
    NoToken(SocketAddr),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Toml(message) => f.write_str(message.trim()),
            ConfigError::NoDialect(backend) => write!(f, "backend `{backend}` has no `dialect`"),
            ConfigError::NotAnApi { backend, dialect } => {
                write!(f, "backend `{backend}`: `{dialect}` is no dialect of a model API")
            }
            ConfigError::Url { backend, url } => {
                write!(f, "backend `{backend}`: `{url}` is no URL of a server")
            }
            ConfigError::Header { backend, header } => {
                write!(f, "backend `{backend}`: HTTP does not allow the header `{header}`")
            }
            ConfigError::NoKey { backend, variable } => {
                write!(f, "backend `{backend}`: the environment variable `{variable}` is not set")
            }
            ConfigError::NoBackend { model, backend } => {
                write!(f, "the route for `{model}` names the backend `{backend}`, which does not exist")
            }
            ConfigError::Script { backend, error } => write!(f, "backend `{backend}`: {error}"),
            ConfigError::NoToken(address) => {
                write!(f, "{address} can be reached from other machines, so clients need a `token`")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads a configuration.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Toml(error.to_string()))
    }

    /// The first route for a model.
    pub fn route(&self, model: &str) -> Option<&RouteSettings> {
        self.routes.iter().find(|route| is_match(&route.model, model))
    }
}

/// The usual environment variables with a key, by the name of the backend.
const KEY_VARIABLES: [(&str, &str); 8] = [
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("openai", "OPENAI_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
    ("moonshot", "MOONSHOT_API_KEY"),
    ("copilot", "GITHUB_COPILOT_TOKEN"),
    ("openrouter", "OPENROUTER_API_KEY"),
    ("deepseek", "DEEPSEEK_API_KEY"),
    ("xai", "XAI_API_KEY"),
];

/// The servers of backends that are not the vendor of their dialect.
const URLS: [(&str, &str); 4] = [
    ("openrouter", "https://openrouter.ai/api"),
    ("deepseek", "https://api.deepseek.com"),
    ("xai", "https://api.x.ai"),
    ("ollama", "http://127.0.0.1:11434"),
];

impl BackendSettings {
    /// The dialect: as configured, or that of the built-in backend with this name.
    pub(crate) fn dialect(&self, name: &str) -> Result<&'static Api, ConfigError> {
        let built_in =
            || Backend::built_in().iter().find(|known| known.name == name).map(|known| known.dialect);
        let Some(dialect) = self.dialect.as_deref().or_else(built_in) else {
            return Err(ConfigError::NoDialect(name.to_owned()));
        };
        let wrong = || ConfigError::NotAnApi { backend: name.to_owned(), dialect: dialect.to_owned() };
        Api::of(dialect).ok_or_else(wrong)
    }

    /// The URL: as configured, or the usual one of the backend.
    pub(crate) fn server_url(&self, name: &str, api: &Api) -> String {
        let usual = URLS.iter().find(|(known, _)| *known == name).map_or(api.base_url, |(_, url)| url);
        self.url.as_deref().unwrap_or(usual).trim_end_matches('/').to_owned()
    }

    /// The variable with the key: as configured, or the usual one of the backend.
    pub(crate) fn key_variable<'s>(&'s self, name: &str) -> Option<&'s str> {
        let usual = || KEY_VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, variable)| *variable);
        self.key_env.as_deref().or_else(usual)
    }
}
