//! The configuration: backends, routes and limits, from TOML or from flags.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use interlingua::model::FailureClass;
use interlingua::wire::backends::is_match;
use interlingua::wire::endpoints::Api;
use serde::Deserialize;

use crate::cassette::CassetteMatch;
use crate::clients::BudgetPeriod;
use crate::config_places::{ConfigPlaces, line_and_column};
use crate::known_servers::KnownServer;

/// The configuration of a gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The token that clients must send as their API key. Required to listen beyond loopback, unless there are clients.
    pub token: Option<String>,
    /// The environment variable with the token.
    pub token_env: Option<String>,
    /// The number of threads that serve connections; by default one for each processor.
    pub threads: Option<usize>,
    /// The largest accepted request body in bytes.
    pub max_body: usize,
    /// The most calls at the same time.
    pub max_concurrent: usize,
    /// The seconds of silence after which a backend's answer counts as cut off.
    pub idle_timeout: u64,
    /// The backends by name.
    #[serde(rename = "backend")]
    pub backends: BTreeMap<String, BackendSettings>,
    /// The routes. The first route whose pattern matches the requested model applies.
    #[serde(rename = "route")]
    pub routes: Vec<RouteSettings>,
    /// The clients with keys of their own.
    #[serde(rename = "client")]
    pub clients: Vec<ClientSettings>,
    /// The store of calls; without it, no call is recorded.
    pub store: Option<StoreSettings>,
    /// The receiver of spans; by default that of the environment variable `OTEL_EXPORTER_OTLP_ENDPOINT`, if it is set.
    pub telemetry: Option<TelemetrySettings>,
    /// The places of the settings in the text, for errors.
    #[serde(skip)]
    places: ConfigPlaces,
}

/// The receiver of spans.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TelemetrySettings {
    /// The URL of a receiver for OTLP over HTTP, without `/v1/traces`.
    pub endpoint: String,
}

/// The store of calls.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StoreSettings {
    /// The path of an SQLite file, or the address of a PostgreSQL database. The address may hold a password.
    pub place: String,
    /// The age in days after which calls are deleted.
    #[serde(default)]
    pub max_age_days: Option<u64>,
    /// The size of the stored calls in bytes above which the oldest are deleted.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// Whether an answer ends only after its call is stored, so that a killed process loses no finished call; true by
    /// default.
    #[serde(default = "yes")]
    pub durable: bool,
    /// The limits for sessions of agents, which are in the same store.
    #[serde(default)]
    pub sessions: SessionLimits,
}

/// The limits above which sessions of agents are deleted from the store.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct SessionLimits {
    /// The days after the last event of a session, after which the session is deleted.
    pub max_age_days: Option<u64>,
    /// The number of sessions above which the sessions with the oldest last event are deleted.
    pub max_sessions: Option<u64>,
    /// The bytes of all events above which the sessions with the oldest last event are deleted.
    pub max_bytes: Option<u64>,
    /// The number of events above which a session loses its first events.
    pub max_session_events: Option<u64>,
}

impl StoreSettings {
    /// A durable store that keeps all calls.
    pub fn new(place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            max_age_days: None,
            max_bytes: None,
            durable: true,
            sessions: SessionLimits::default(),
        }
    }
}

fn yes() -> bool {
    true
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings").finish_non_exhaustive()
    }
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
    /// The file with the key.
    pub key_file: Option<String>,
    /// The key itself.
    pub key: Option<String>,
    /// Further keys. Calls take turns with all keys, and a key that the server refuses rests for a while.
    pub keys: Vec<KeySource>,
    /// Further request headers.
    pub headers: BTreeMap<String, String>,
    /// The path of a script; the backend then is the scripted model instead of a server. Empty for the built-in script.
    pub script: Option<String>,
    /// The path of a cassette; the backend then answers from recorded exchanges instead of a server.
    pub replay: Option<String>,
    /// The rule by which a recorded exchange answers a request.
    pub replay_match: CassetteMatch,
    /// The path of a cassette to which the exchanges with the server are appended.
    pub record: Option<String>,
    /// How often a call is sent again after a failure of the server; 2 by default.
    pub retries: Option<u32>,
    /// The seconds until the server must begin its answer; by default the idle timeout of the gateway.
    pub timeout: Option<u64>,
    /// The most calls at the same time.
    pub max_concurrent: Option<usize>,
}

/// The place of a key: one of the three.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[serde(expecting = "a table with `env`, `file` or `value`")]
#[non_exhaustive]
pub struct KeySource {
    /// An environment variable.
    pub env: Option<String>,
    /// A file.
    pub file: Option<String>,
    /// The key itself.
    pub value: Option<String>,
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySource").field("env", &self.env).field("file", &self.file).finish_non_exhaustive()
    }
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
    /// The rules for losses, as in `convert --policy`: a request with a loss that fails the policy is refused.
    #[serde(default)]
    pub losses: Option<String>,
    /// The highest limit on output tokens.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// The backends to try when the backend fails.
    #[serde(rename = "fallback", default)]
    pub fallbacks: Vec<FallbackSettings>,
}

/// A backend to try when the one before fails.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct FallbackSettings {
    /// The name of the backend.
    pub backend: String,
    /// The model to ask the backend for; without it, the requested model.
    #[serde(default)]
    pub send: Option<String>,
    /// The classes of failures that lead here, such as `rate_limit`; without any, those after which a call may be sent
    /// again.
    #[serde(default)]
    pub on: Vec<String>,
}

/// A client with a key of its own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ClientSettings {
    /// The name, for budgets and metrics.
    pub name: String,
    /// The key that the client sends.
    pub key: KeySource,
    /// The models that the client may ask for; all without any. `*` matches any text.
    #[serde(default)]
    pub models: Vec<String>,
    /// The budget in dollars.
    #[serde(default)]
    pub budget: Option<f64>,
    /// The span of time for which the budget holds; a day by default.
    #[serde(default)]
    pub budget_per: BudgetPeriod,
    /// The most requests in a minute.
    #[serde(default)]
    pub requests_per_minute: Option<u32>,
    /// The most calls at the same time.
    #[serde(default)]
    pub max_concurrent: Option<usize>,
}

impl RouteSettings {
    /// A route from a pattern of models to a backend.
    pub fn new(model: impl Into<String>, backend: impl Into<String>, send: Option<String>) -> Self {
        Self { model: model.into(), backend: backend.into(), send, ..Self::default() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            token: None,
            token_env: None,
            threads: None,
            max_body: 64 << 20,
            max_concurrent: 10_000,
            idle_timeout: 300,
            backends: BTreeMap::new(),
            routes: Vec::new(),
            clients: Vec::new(),
            store: None,
            telemetry: None,
            places: ConfigPlaces::default(),
        }
    }
}

/// The values outside a configuration: environment variables, and the files that the configuration names.
pub trait Lookup: Send + Sync {
    /// The value of an environment variable; `None` if it is not set or empty.
    fn variable(&self, name: &str) -> Option<String>;
    /// The text of a file, or a message for people.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// The environment and the files of this process.
#[derive(Clone, Copy, Debug)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))
    }
}

impl KeySource {
    /// The key; `owner` is the part of the configuration in errors.
    pub(crate) fn key(&self, owner: &ConfigPart, lookup: &dyn Lookup) -> Result<String, ConfigError> {
        let owner = || owner.clone();
        let text = match (&self.value, &self.env, &self.file) {
            (Some(value), None, None) => value.clone(),
            (None, Some(variable), None) => lookup
                .variable(variable)
                .ok_or_else(|| ConfigError::NoKey { owner: owner(), variable: variable.clone() })?,
            (None, None, Some(path)) => {
                lookup.read(path).map_err(|error| ConfigError::KeyFile { owner: owner(), error })?
            }
            _ => return Err(ConfigError::KeySource(owner())),
        };
        checked_key(&text).ok_or_else(|| ConfigError::KeyText(owner()))
    }
}

/// A key without the space around it; `None` for an empty key, which every client would have, and for a text that a header
/// cannot hold, such as two lines.
pub(crate) fn checked_key(text: &str) -> Option<String> {
    let key = text.trim();
    let is_key = !key.is_empty() && key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    is_key.then(|| key.to_owned())
}

/// The part of a configuration that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigPart {
    /// The settings outside all tables.
    Gateway,
    /// The token.
    Token,
    /// The backend with this name.
    Backend(String),
    /// The client with this name.
    Client(String),
    /// The route for this pattern of models.
    Route(String),
}

impl fmt::Display for ConfigPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigPart::Gateway => f.write_str("the gateway"),
            ConfigPart::Token => f.write_str("`token`"),
            ConfigPart::Backend(name) => write!(f, "backend `{name}`"),
            ConfigPart::Client(name) => write!(f, "client `{name}`"),
            ConfigPart::Route(model) => write!(f, "the route for `{model}`"),
        }
    }
}

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// An error in a setting, with its place in the text.
    At {
        /// The line, from 1 on.
        line: usize,
        /// The column, from 1 on.
        column: usize,
        /// The error.
        error: Box<ConfigError>,
    },
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
        /// The owner of the key.
        owner: ConfigPart,
        /// The name of the variable.
        variable: String,
    },
    /// The file with a key cannot be read.
    KeyFile {
        /// The owner of the key.
        owner: ConfigPart,
        /// The error.
        error: String,
    },
    /// A key without exactly one place.
    KeySource(ConfigPart),
    /// A key that is empty, or that a header of HTTP cannot hold.
    KeyText(ConfigPart),
    /// A key that another client has, too.
    SameKey(String),
    /// A name that another client has, too.
    SameName(String),
    /// A backend without a URL whose server has a URL of its own for each customer.
    NoUrl(String),
    /// Two settings of a backend that exclude each other.
    Conflict {
        /// The name of the backend.
        backend: String,
        /// The names of the settings.
        settings: [&'static str; 2],
    },
    /// A place that cannot hold a store.
    Store(String),
    /// Backends without a route.
    NoRoute,
    /// A route with an error in its rules for losses.
    Losses {
        /// The pattern of the route.
        model: String,
        /// The error.
        error: String,
    },
    /// A fallback with an unknown class of failures.
    FailureClass {
        /// The pattern of the route.
        model: String,
        /// The word.
        word: String,
    },
    /// A budget that is no amount of dollars.
    Budget(String),
    /// A limit of zero, which would refuse every call.
    ZeroLimit {
        /// The part with the limit.
        part: ConfigPart,
        /// The name of the limit.
        setting: &'static str,
    },
    /// A route names a backend that does not exist.
    NoBackend {
        /// The pattern of the route.
        model: String,
        /// The name of the backend.
        backend: String,
    },
    /// A script or a cassette with an error.
    Script {
        /// The name of the backend.
        backend: String,
        /// The error.
        error: String,
    },
    /// The receiver of spans is not valid.
    Telemetry(String),
    /// The address is not loopback, and there is no token.
    NoToken(SocketAddr),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::At { line, column, error } => write!(f, "line {line}, column {column}: {error}"),
            ConfigError::Toml(message) => f.write_str(message.trim()),
            ConfigError::NoDialect(backend) => {
                write!(f, "backend `{backend}` has no `dialect`, and its name is not that of a known server")
            }
            ConfigError::NoUrl(backend) => write!(f, "backend `{backend}` has no `url`"),
            ConfigError::Conflict { backend, settings: [one, other] } => {
                write!(f, "backend `{backend}` has both `{one}` and `{other}`")
            }
            ConfigError::Store(error) => write!(f, "store: {error}"),
            ConfigError::NoRoute => f.write_str("no `[[route]]` leads to the backends"),
            ConfigError::NotAnApi { backend, dialect } => {
                write!(f, "backend `{backend}`: `{dialect}` is no dialect of a model API")
            }
            ConfigError::Url { backend, url } => {
                write!(
                    f,
                    "backend `{backend}`: `{url}` is no URL of a server: `http://` or `https://`, a host, and perhaps a path"
                )
            }
            ConfigError::Header { backend, header } => {
                write!(f, "backend `{backend}`: HTTP does not allow the header `{header}`")
            }
            ConfigError::NoKey { owner, variable } => {
                write!(f, "{owner}: the environment variable `{variable}` is not set")
            }
            ConfigError::KeyFile { owner, error } => write!(f, "{owner}: {error}"),
            ConfigError::KeySource(owner) => {
                write!(f, "{owner}: a key has one of `env`, `file` and `value`")
            }
            ConfigError::KeyText(owner) => {
                write!(f, "{owner}: the key is empty, or has a character that an HTTP header cannot hold")
            }
            ConfigError::SameKey(client) => write!(f, "client `{client}` has the key of another client"),
            ConfigError::SameName(client) => write!(f, "two clients have the name `{client}`"),
            ConfigError::Losses { model, error } => {
                write!(f, "the route for `{model}`: `losses`: {error}")
            }
            ConfigError::FailureClass { model, word } => {
                let known: Vec<&str> = FailureClass::WORDS.0.iter().map(|(_, word)| *word).collect();
                let known = known.join(", ");
                write!(
                    f,
                    "the route for `{model}`: `{word}` is no class of failures; the classes are {known}"
                )
            }
            ConfigError::Budget(client) => write!(f, "client `{client}`: the budget is no amount of dollars"),
            ConfigError::ZeroLimit { part: ConfigPart::Gateway, setting } => {
                write!(f, "`{setting}`: with a limit of 0 every call would fail")
            }
            ConfigError::ZeroLimit { part, setting } => {
                write!(f, "{part}: `{setting}`: with a limit of 0 every call would fail")
            }
            ConfigError::NoBackend { model, backend } => {
                write!(f, "the route for `{model}` names the backend `{backend}`, which does not exist")
            }
            ConfigError::Script { backend, error } => write!(f, "backend `{backend}`: {error}"),
            ConfigError::Telemetry(error) => write!(f, "telemetry: {error}"),
            ConfigError::NoToken(address) => {
                write!(f, "{address} can be reached from other machines, so clients need a `token`")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// The error without its place.
    pub fn cause(&self) -> &Self {
        match self {
            ConfigError::At { error, .. } => error.cause(),
            error => error,
        }
    }
}

impl Config {
    /// Reads a configuration.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config = toml::from_str(text).map_err(|error| ConfigError::Toml(place_and_message(text, &error)));
        config.map(|config| Self { places: ConfigPlaces::of(text), ..config })
    }

    /// An error with the place of its setting.
    pub(crate) fn placed(&self, error: ConfigError) -> ConfigError {
        self.places.place(self, error)
    }

    /// The first route for a model.
    pub fn route(&self, model: &str) -> Option<&RouteSettings> {
        self.routes.iter().find(|route| is_match(&route.model, model))
    }

    /// The routes before the one that applies to a model, and that route: the reasons of a decision.
    pub fn explain(&self, model: &str) -> (&[RouteSettings], Option<&RouteSettings>) {
        let position = self.routes.iter().position(|route| is_match(&route.model, model));
        match position {
            Some(position) => (&self.routes[..position], self.routes.get(position)),
            None => (&self.routes, None),
        }
    }
}

impl BackendSettings {
    /// The dialect and the URL of the server, for a backend with this name.
    pub fn server(&self, name: &str) -> Result<(&'static str, String), ConfigError> {
        let api = self.dialect(name)?;
        Ok((api.dialect, self.server_url(name, api)?))
    }

    /// The dialect: as configured, or that of the built-in backend with this name.
    pub(crate) fn dialect(&self, name: &str) -> Result<&'static Api, ConfigError> {
        let usual = || KnownServer::named(name).map(|known| known.dialect);
        let Some(dialect) = self.dialect.as_deref().or_else(usual) else {
            return Err(ConfigError::NoDialect(name.to_owned()));
        };
        let wrong = || ConfigError::NotAnApi { backend: name.to_owned(), dialect: dialect.to_owned() };
        Api::of(dialect).ok_or_else(wrong)
    }

    /// The URL: as configured, or the usual one of the backend with this name, or that of the vendor of the dialect.
    pub(crate) fn server_url(&self, name: &str, api: &Api) -> Result<String, ConfigError> {
        let usual = match KnownServer::named(name) {
            Some(known) => known.url,
            None => Some(api.base_url),
        };
        let url = self.url.as_deref().or(usual).ok_or_else(|| ConfigError::NoUrl(name.to_owned()))?;
        Ok(url.trim_end_matches('/').to_owned())
    }

    /// Refuses settings of which one would have no effect.
    pub(crate) fn check_kind(&self, name: &str) -> Result<(), ConfigError> {
        let kinds = [
            ("script", self.script.is_some()),
            ("replay", self.replay.is_some()),
            ("url", self.url.is_some()),
            ("record", self.record.is_some()),
        ];
        let mut given = kinds.iter().filter(|(_, is_given)| *is_given).map(|(kind, _)| *kind);
        match (given.next(), given.next()) {
            // A server has a URL, and a cassette that records its answers.
            (Some("url"), _) | (_, None) => Ok(()),
            (one, other) => Err(ConfigError::Conflict {
                backend: name.to_owned(),
                settings: [one.unwrap_or_default(), other.unwrap_or_default()],
            }),
        }
    }
}

impl Config {
    /// The built-in name of the server whose vendor has a model with this name.
    pub fn server_of_model(model: &str) -> Option<&'static str> {
        KnownServer::of_model(model).map(|server| server.name)
    }

    /// The names of servers that need no URL, with commas.
    pub fn server_names() -> String {
        KnownServer::names()
    }

    /// Refuses limits of zero: each of them would refuse or fail every call.
    pub(crate) fn check_limits(&self) -> Result<(), ConfigError> {
        let gateway = [
            ("threads", self.threads == Some(0)),
            ("max-body", self.max_body == 0),
            ("max-concurrent", self.max_concurrent == 0),
            ("idle-timeout", self.idle_timeout == 0),
        ];
        refuse_zero(&ConfigPart::Gateway, &gateway)?;
        for (name, backend) in &self.backends {
            let limits = [
                ("timeout", backend.timeout == Some(0)),
                ("max-concurrent", backend.max_concurrent == Some(0)),
            ];
            refuse_zero(&ConfigPart::Backend(name.clone()), &limits)?;
        }
        for route in &self.routes {
            let limits = [("max-tokens", route.max_tokens == Some(0))];
            refuse_zero(&ConfigPart::Route(route.model.clone()), &limits)?;
        }
        for client in &self.clients {
            let limits = [
                ("max-concurrent", client.max_concurrent == Some(0)),
                ("requests-per-minute", client.requests_per_minute == Some(0)),
            ];
            refuse_zero(&ConfigPart::Client(client.name.clone()), &limits)?;
        }
        Ok(())
    }
}

/// Refuses the first limit of zero.
fn refuse_zero(part: &ConfigPart, limits: &[(&'static str, bool)]) -> Result<(), ConfigError> {
    match limits.iter().find(|(_, is_zero)| *is_zero) {
        Some((setting, _)) => Err(ConfigError::ZeroLimit { part: part.clone(), setting }),
        None => Ok(()),
    }
}

impl StoreSettings {
    /// Refuses a place that cannot hold a store, without creating one.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |detail: String| Err(ConfigError::Store(detail));
        let is_postgres =
            ["postgres://", "postgresql://"].iter().any(|scheme| self.place.starts_with(scheme));
        if is_postgres {
            if !cfg!(feature = "postgres") {
                return wrong("this program was built without the feature `postgres`".to_owned());
            }
            return Ok(());
        }
        // Another address may hold a password, so the message does not repeat it.
        if self.place.contains("://") {
            return wrong(
                "`place` is the path of a file, or an address that begins with `postgres://`".to_owned(),
            );
        }
        let path = Path::new(&self.place);
        if path.is_dir() {
            return wrong(format!("`{}` is a folder", self.place));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.filter(|folder| !folder.is_dir()) {
            Some(folder) => wrong(format!("there is no folder `{}`", folder.display())),
            None => Ok(()),
        }
    }
}

/// The place and the message of an error, without text of the file: the line may hold a key.
fn place_and_message(text: &str, error: &toml::de::Error) -> String {
    let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
    let mut message = error.message().to_owned();
    // A message about a wrong type repeats the string of the file: `invalid type: string "sk-…", expected …`.
    if let (Some(start), Some(end)) = (message.find('"'), message.rfind('"'))
        && start < end
    {
        message.replace_range(start..=end, "");
    }
    let message = message.replace("string ,", "string,");
    format!("line {line}, column {column}: {}", message.trim().replace('\n', "; "))
}
