//! Backends that answer model calls: servers over HTTP, and scripts.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Limited};
use interlingua::dialects::{Dialect, Role};
use interlingua::json::Str;
use interlingua::wire::backends::{Backend, SharedBackend};
use interlingua::wire::endpoints::{Api, Endpoint};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Sleep;

use crate::breaker::Breaker;
use crate::cassette::{Cassette, CassetteRecorder, TapedAnswer, Taping};
use crate::config::{BackendSettings, ConfigError, ConfigPart, KeySource, Lookup, checked_key};
use crate::connections::{BrokenBody, Connections, Origin, ServerBody};
use crate::handler::{self, Handler};
use crate::http_message::{HttpResponseHead, write_head};
use crate::key_pool::{KeyPool, PickedKey};
use crate::known_servers::{self, KnownServer};
use crate::script::Script;

/// A backend that is ready to be called.
#[derive(Debug)]
pub(crate) struct ReadyBackend {
    pub(crate) name: String,
    pub(crate) api: &'static Api,
    pub(crate) dialect: &'static Dialect,
    /// A script without a dialect of its own answers in the client's dialect.
    speaks_any: bool,
    /// The capabilities; `None` for those of the vendor.
    pub(crate) capabilities: Option<SharedBackend>,
    pub(crate) keys: KeyPool,
    pub(crate) breaker: Breaker,
    /// How often a call is sent again.
    pub(crate) retries: u32,
    /// The time until the backend must begin its answer.
    pub(crate) timeout: Option<Duration>,
    /// The limit on calls at the same time.
    pub(crate) concurrent: Option<Arc<Semaphore>>,
    kind: BackendKind,
}

/// How often a call is sent again by default.
const RETRIES: u32 = 2;

enum BackendKind {
    Server(Box<Server>),
    Cassette(Cassette),
    Script(Arc<Script>),
    Handler(Arc<dyn Handler>),
}

/// A server over HTTP.
struct Server {
    url: String,
    origin: Origin,
    /// The paths of the endpoints whose path holds no model.
    paths: Vec<(&'static Endpoint, Uri)>,
    headers: HeaderMap,
    record: Option<Arc<CassetteRecorder>>,
}

impl Server {
    /// The path of an endpoint below the URL of the server.
    fn path(&self, endpoint: &'static Endpoint, model: &str) -> Option<Uri> {
        let ready = self.paths.iter().find(|(known, _)| std::ptr::eq(*known, endpoint));
        ready.map(|(_, path)| path.clone()).or_else(|| path_below(&self.url, &endpoint.path_for(model)))
    }

    /// The head of a request. The headers of the client replace those of the configuration, and the key replaces both.
    fn head(
        &self,
        endpoint: &Endpoint,
        path: &Uri,
        key: Option<PickedKey<'_>>,
        own: Option<&HeaderMap>,
        length: usize,
    ) -> Vec<u8> {
        let is_key = |name: &HeaderName| key.is_some_and(|key| key.header == name);
        let is_own = |name: &HeaderName| own.is_some_and(|own| own.contains_key(name));
        let set = self.headers.iter().filter(|(name, _)| !is_key(name) && !is_own(name));
        let own = own.into_iter().flatten().filter(|(name, _)| !is_key(name));
        let key = key.map(|key| (key.header, key.value));
        let mut head = Vec::with_capacity(512);
        write_head(&mut head, endpoint.method, path, set.chain(own).chain(key), length);
        head
    }
}

/// The permits for a limit on calls at the same time.
pub(crate) fn permits(most: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
}

/// A URL for messages: user and password of a URL are no part of it.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, server))) => format!("{scheme}://…@{server}"),
        _ => url.to_owned(),
    }
}

/// The path of an endpoint below the URL of a server.
fn path_below(url: &str, path: &str) -> Option<Uri> {
    // Many servers are documented with the version in their URL.
    let base = match path.split('/').nth(1) {
        Some(version) => url.strip_suffix(version).and_then(|url| url.strip_suffix('/')).unwrap_or(url),
        None => url,
    };
    let whole: Uri = format!("{base}{path}").parse().ok()?;
    Some(Uri::from(whole.path_and_query()?.clone()))
}

impl std::fmt::Debug for BackendKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BackendKind::Server(_) => "Server",
            BackendKind::Cassette(_) => "Cassette",
            BackendKind::Script(_) => "Script",
            BackendKind::Handler(_) => "Handler",
        })
    }
}

/// A response of a backend.
pub(crate) struct BackendResponse {
    pub(crate) status: u16,
    /// Milliseconds until the client may try again.
    pub(crate) retry_after: Option<u64>,
    pub(crate) is_stream: bool,
    pub(crate) body: BackendBody,
}

/// A request to a backend.
#[derive(Clone, Debug)]
pub(crate) struct BackendRequest<'r> {
    pub(crate) dialect: &'static Dialect,
    pub(crate) endpoint: &'static Endpoint,
    pub(crate) model: &'r str,
    pub(crate) body: Bytes,
    pub(crate) key: Option<PickedKey<'r>>,
    /// Headers of the client that a backend of its dialect understands.
    pub(crate) own_headers: Option<&'r HeaderMap>,
}

/// A backend that could not be reached.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl ReadyBackend {
    /// A backend of the configuration.
    pub(crate) fn new(
        name: &str,
        settings: &BackendSettings,
        lookup: &dyn Lookup,
    ) -> Result<Self, ConfigError> {
        let of = || name.to_owned();
        settings.check_kind(name)?;
        let api = match (&settings.script, &settings.dialect) {
            // A script without a dialect speaks that of the default API.
            (Some(_), None) => Api::of("openai-chat").ok_or_else(|| ConfigError::NoDialect(of()))?,
            _ => settings.dialect(name)?,
        };
        let wrong = || ConfigError::NotAnApi { backend: of(), dialect: api.dialect.to_owned() };
        let dialect = Dialect::named(api.dialect).ok_or_else(wrong)?;
        let failed = |error: String| ConfigError::Script { backend: of(), error };
        let kind = if let Some(path) = &settings.replay {
            let text = lookup.read(path).map_err(failed)?;
            BackendKind::Cassette(Cassette::parse(&text, settings.replay_match).map_err(failed)?)
        } else if let Some(path) = &settings.script {
            let script = if path.is_empty() {
                Script::default()
            } else {
                Script::parse(&lookup.read(path).map_err(failed)?)
                    .map_err(|error| failed(error.to_string()))?
            };
            BackendKind::Script(Arc::new(script))
        } else {
            let url = settings.server_url(name, api)?;
            let origin = url.parse().ok().and_then(|parsed| Origin::of(&parsed));
            // The parser of URLs drops the part after `#`.
            let Some(origin) = origin.filter(|_| !url.contains('#')) else {
                return Err(ConfigError::Url { backend: of(), url: without_password(&url) });
            };
            let open = |path: &String| {
                let error = |error| failed(format!("cannot write `{path}`: {error}"));
                CassetteRecorder::open(path).map(Arc::new).map_err(error)
            };
            let record = settings.record.as_ref().map(open).transpose()?;
            let fixed = api.endpoints.iter().filter(|endpoint| !endpoint.path.contains('{'));
            let paths =
                fixed.filter_map(|endpoint| Some((endpoint, path_below(&url, &endpoint.path_for(""))?)));
            let (paths, mut headers) = (paths.collect(), headers(name, settings, api)?);
            headers.entry(header::HOST).or_insert_with(|| origin.host.clone());
            BackendKind::Server(Box::new(Server { url, origin, paths, headers, record }))
        };
        let keys = match &kind {
            BackendKind::Server(_) => keys(name, settings, api, lookup)?,
            BackendKind::Cassette(_) | BackendKind::Script(_) | BackendKind::Handler(_) => KeyPool::new([]),
        };
        let capabilities = known_servers::capabilities(name, api);
        let speaks_any = settings.script.is_some() && settings.dialect.is_none();
        Ok(Self {
            name: of(),
            api,
            dialect,
            speaks_any,
            capabilities,
            keys,
            breaker: Breaker::default(),
            retries: settings.retries.unwrap_or(RETRIES),
            timeout: settings.timeout.map(Duration::from_secs),
            concurrent: settings.max_concurrent.map(permits),
            kind,
        })
    }

    /// A program that answers in the client's dialect.
    pub(crate) fn of_handler(name: &str, handler: Arc<dyn Handler>) -> Result<Self, ConfigError> {
        let settings = BackendSettings { script: Some(String::new()), ..BackendSettings::default() };
        // A handler fails for reasons of its own: a repetition is its own business.
        let backend = Self::new(name, &settings, &crate::config::SystemLookup)?;
        Ok(Self { kind: BackendKind::Handler(handler), retries: 0, ..backend })
    }

    /// The API in which the backend answers a client of this dialect.
    pub(crate) fn api_for(&self, client: &'static Dialect) -> (&'static Api, &'static Dialect) {
        match Api::of(client.name).filter(|_| self.speaks_any) {
            Some(api) => (api, client),
            None => (self.api, self.dialect),
        }
    }

    /// Whether the backend is a server, and no script.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.kind, BackendKind::Server(_))
    }

    /// Whether the backend is a server with this dialect.
    pub(crate) fn serves(&self, dialect: &Dialect) -> bool {
        self.is_server() && self.dialect.name == dialect.name
    }

    /// The host of the server; `None` for a backend without a server.
    pub(crate) fn host(&self) -> Option<String> {
        let BackendKind::Server(server) = &self.kind else { return None };
        server.url.parse::<Uri>().ok()?.host().map(str::to_owned)
    }

    /// Whether the backend counts tokens itself.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.is_server() && self.api.endpoint(Role::Count, Role::Counted).is_some()
    }

    /// The limit on output tokens that a translated request gets if the client sets none.
    pub(crate) fn usual_limit(&self, dialect: &Dialect, model: &str) -> Option<u64> {
        let known =
            self.capabilities.clone().or_else(|| Backend::of_dialect(dialect.name).map(Into::into))?;
        known.takes_of(Some(&Str::from_plain(model))).max_tokens_default
    }

    /// Sends a body in a dialect to an endpoint.
    pub(crate) async fn send(
        &self,
        connections: &Arc<Connections>,
        BackendRequest { dialect, endpoint, model, body, key, own_headers }: BackendRequest<'_>,
    ) -> Result<BackendResponse, Unreachable> {
        let server = match &self.kind {
            BackendKind::Script(script) => {
                let answer = script.answer(dialect, endpoint.response, model, &body);
                let is_stream = endpoint.response == Role::Stream && answer.status == 200;
                let (status, retry_after) = (answer.status, answer.retry_after);
                let body = BackendBody::Script(ScriptBody {
                    pieces: answer.pieces.into_iter(),
                    delay: Duration::from_millis(answer.delay),
                    sleep: None,
                });
                return Ok(BackendResponse { status, retry_after, is_stream, body });
            }
            BackendKind::Handler(handler) => {
                let role = endpoint.response;
                let pieces = handler::run(Arc::clone(handler), (dialect, role), model, body);
                let is_stream = role == Role::Stream;
                let body = BackendBody::Handler(pieces);
                return Ok(BackendResponse { status: 200, retry_after: None, is_stream, body });
            }
            BackendKind::Cassette(cassette) => {
                let path = endpoint.path_for(model);
                let missing = || Unreachable("the cassette has no answer to this request".to_owned());
                let answer = cassette.answer(&path, &body).ok_or_else(missing)?.clone();
                let TapedAnswer { status, is_stream, retry_after, pieces, .. } = answer;
                let pieces = ScriptBody { pieces: pieces.into_iter(), delay: Duration::ZERO, sleep: None };
                return Ok(BackendResponse {
                    status,
                    retry_after,
                    is_stream,
                    body: BackendBody::Script(pieces),
                });
            }
            BackendKind::Server(server) => server,
        };
        let path = server.path(endpoint, model);
        let path = path.ok_or_else(|| Unreachable("the URL is not valid".to_owned()))?;
        let head = server.head(endpoint, &path, key, own_headers, body.len());
        let answer = connections.send(&server.origin, &head, &body).await.map_err(Unreachable)?;
        let (HttpResponseHead { status, is_stream, retry_after, .. }, answer) = answer;
        let taping = server.record.as_ref().map(|recorder| {
            let path = endpoint.path_for(model);
            let answer = TapedAnswer { status, is_stream, retry_after, ..TapedAnswer::default() };
            Box::new(Taping { recorder: Arc::clone(recorder), path, body, answer, is_complete: false })
        });
        let body = BackendBody::Server(answer, taping);
        Ok(BackendResponse { status, retry_after, is_stream, body })
    }
}

/// The headers of every request to a server, without a key.
fn headers(name: &str, settings: &BackendSettings, api: &Api) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    let own = settings.headers.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let known = api.headers.iter().copied();
    let usual = [("content-type", "application/json"), ("accept-encoding", "identity")];
    for (key, value) in usual.into_iter().chain(known).chain(own) {
        let (key, value) = parsed(name, key, value)?;
        if [header::CONTENT_LENGTH, header::TRANSFER_ENCODING].contains(&key) {
            return Err(ConfigError::Header { backend: name.to_owned(), header: key.to_string() });
        }
        headers.insert(key, value);
    }
    Ok(headers)
}

fn parsed(backend: &str, key: &str, value: &str) -> Result<(HeaderName, HeaderValue), ConfigError> {
    let wrong = || ConfigError::Header { backend: backend.to_owned(), header: key.to_owned() };
    Ok((key.parse().map_err(|_| wrong())?, value.trim().parse().map_err(|_| wrong())?))
}

/// The keys of a server.
fn keys(
    name: &str,
    settings: &BackendSettings,
    api: &Api,
    lookup: &dyn Lookup,
) -> Result<KeyPool, ConfigError> {
    let owner = ConfigPart::Backend(name.to_owned());
    let (value, env, file) = (settings.key.clone(), settings.key_env.clone(), settings.key_file.clone());
    let single = [value.is_some(), env.is_some(), file.is_some()].contains(&true);
    let single = single.then_some(KeySource { env, file, value });
    let mut keys = Vec::new();
    for source in single.iter().chain(&settings.keys) {
        keys.push(source.key(&owner, lookup)?);
    }
    if keys.is_empty()
        && let Some(variable) = KnownServer::named(name).and_then(|known| known.variable)
    {
        match lookup.variable(variable) {
            Some(key) => keys.push(checked_key(&key).ok_or(ConfigError::KeyText(owner))?),
            // A server of one's own may need no key.
            None if settings.url.is_some() => {}
            None => return Err(ConfigError::NoKey { owner, variable: variable.to_owned() }),
        }
    }
    let header = |key: &String| {
        let (header, value) = api.key_header(key);
        parsed(name, header, &value)
    };
    Ok(KeyPool::new(keys.iter().map(header).collect::<Result<Vec<_>, _>>()?))
}

/// The body of a backend's response.
pub(crate) enum BackendBody {
    Server(ServerBody, Option<Box<Taping>>),
    Script(ScriptBody),
    Handler(mpsc::Receiver<Bytes>),
}

/// The body of a scripted answer: pieces with delays.
pub(crate) struct ScriptBody {
    pieces: std::vec::IntoIter<Bytes>,
    delay: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl BackendBody {
    /// A body without bytes.
    pub(crate) fn empty() -> Self {
        BackendBody::Script(ScriptBody { pieces: Vec::new().into_iter(), delay: Duration::ZERO, sleep: None })
    }

    /// The whole body, if all of its bytes have arrived.
    pub(crate) fn take_ready(&mut self) -> Option<Bytes> {
        match self {
            BackendBody::Server(body, None) => body.take_ready(),
            BackendBody::Server(_, Some(_)) | BackendBody::Script(_) | BackendBody::Handler(_) => None,
        }
    }

    /// The cassette that records the answer, if there is one. The rest of the answer is not recorded.
    pub(crate) fn take_taping(&mut self) -> Option<Box<Taping>> {
        match self {
            BackendBody::Server(_, taping) => taping.take(),
            BackendBody::Script(_) | BackendBody::Handler(_) => None,
        }
    }

    /// Reads the whole body, up to a limit.
    pub(crate) async fn whole(self, most: usize) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
        match self {
            BackendBody::Server(body, None) => Ok(body.whole(most).await?),
            body => Ok(Limited::new(body, most).collect().await?.to_bytes()),
        }
    }
}

impl Body for BackendBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        match self.get_mut() {
            BackendBody::Server(body, taping) => {
                let frame = std::task::ready!(Pin::new(body).poll_frame(context));
                if let Some(taping) = taping {
                    match &frame {
                        Some(Ok(frame)) => taping.answer.pieces.extend(frame.data_ref().cloned()),
                        Some(Err(_)) => {}
                        None => taping.is_complete = true,
                    }
                }
                Poll::Ready(frame)
            }
            BackendBody::Handler(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
            BackendBody::Script(ScriptBody { pieces, delay, sleep }) => {
                if pieces.as_slice().is_empty() {
                    return Poll::Ready(None);
                }
                if !delay.is_zero() {
                    let waiting = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(*delay)));
                    if waiting.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    *sleep = None;
                }
                Poll::Ready(pieces.next().map(|piece| Ok(Frame::data(piece))))
            }
        }
    }
}
