//! From an HTTP request to the call of a client: path, credentials, body, route.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Response, header};
use hyper::body::Incoming;
use interlingua::dialects::{Dialect, Role};
use interlingua::model::FailureClass;
use interlingua::wire::endpoints::Endpoint;

use interlingua_models::prices::cost_of_text;
use interlingua_store::StoreError;
use tokio::sync::{OwnedRwLockReadGuard, Semaphore, watch};

use crate::answer_body::AnswerBody;
use crate::backend::{ReadyBackend, permits};
use crate::call::{CallContext, CallTask, ClientCall, FailedCall, json_response};
use crate::clients::{Client, ClientLedger, Secret};
use crate::compaction::{self, Compaction};
use crate::config::{ClientSettings, Config, ConfigError, ConfigPart, KeySource, Lookup};
use crate::connections::Connections;
use crate::extension::{Extension, extended};
use crate::feed::FeedView;
use crate::finished::{CallLog, CallTracker, KeptAnswer, Recorder};
use crate::handler::Handler;
use crate::model_list;
use crate::model_name::model_of;
use crate::recording::CallStore;
use crate::refusal::{no_key, problem};
use crate::request_body::{self, BodyLimits};
use crate::request_path::{self, find, is_local_page, is_this_machine, usual_path};
use crate::response_resources::{self, BackgroundRequest};
use crate::routes::{self, ReadyRoute};
use crate::telemetry::Telemetry;
use crate::{client_keys, feed, metrics, stored_responses, websocket};

/// A gateway that is ready to serve.
pub(crate) struct Gateway {
    state: Arc<RwLock<Arc<GatewayState>>>,
    pub(crate) log: Arc<CallLog>,
    pub(crate) backend_connections: Arc<Connections>,
    /// Whether the gateway ends after the open answers.
    closing: Arc<watch::Sender<bool>>,
    /// Open connections hold a read guard.
    connections: Arc<tokio::sync::RwLock<()>>,
    handlers: Handlers,
    extension: Option<Arc<dyn Extension>>,
}

/// The handlers of a gateway by the names of their backends.
pub(crate) type Handlers = BTreeMap<String, Arc<dyn Handler>>;

/// Takes messages for the operator.
pub(crate) type TroubleReport = Arc<dyn Fn(&str) + Send + Sync>;

/// The parts of a server that a configuration cannot hold.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ServerParts {
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) handlers: Handlers,
    pub(crate) troubles: Option<TroubleReport>,
    pub(crate) extension: Option<Arc<dyn Extension>>,
}

impl std::fmt::Debug for ServerParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerParts").field("handlers", &self.handlers.keys()).finish_non_exhaustive()
    }
}

impl ServerParts {
    /// Records every call.
    #[must_use]
    pub fn with_recorder(self, recorder: Arc<dyn Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Passes messages for the operator on: troubles of the store and of the receiver of spans.
    #[must_use]
    pub fn with_troubles(self, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { troubles: Some(Arc::new(say)), ..self }
    }

    /// Adds further paths.
    #[must_use]
    pub fn with_extension(self, extension: impl Extension) -> Self {
        Self { extension: Some(Arc::new(extension)), ..self }
    }

    /// Adds a backend that is a program.
    #[must_use]
    pub fn with_handler(mut self, name: impl Into<String>, handler: impl Handler) -> Self {
        self.handlers.insert(name.into(), Arc::new(handler));
        self
    }
}

/// The body of a client's request.
pub(crate) enum ClientBody {
    /// A body that has arrived.
    Whole(Bytes),
    /// A body on its way.
    Incoming(Incoming),
}

/// A request to an endpoint, with its body.
pub(crate) struct ModelRequest {
    pub(crate) dialect: &'static Dialect,
    pub(crate) endpoint: &'static Endpoint,
    pub(crate) headers: HeaderMap,
    pub(crate) query: String,
    /// The model of the path.
    pub(crate) model: Option<String>,
    pub(crate) body: Bytes,
    /// The trace of the client, if spans are sent.
    pub(crate) traceparent: Option<String>,
}

/// The parts of a gateway that a new configuration replaces. Open calls keep the state that they began with.
#[derive(Debug)]
pub(crate) struct GatewayState {
    config: Config,
    backends: Vec<ReadyBackend>,
    routes: Vec<ReadyRoute>,
    /// The clients with keys. Without any, everyone is the same client.
    clients: Vec<Client>,
    /// Whether a client must have a key.
    is_closed: bool,
    permits: Arc<Semaphore>,
}

impl GatewayState {
    /// The state for a configuration. Clients keep their spending and their rates from the state before.
    pub(crate) fn new(
        config: &Config,
        lookup: &dyn Lookup,
        handlers: &Handlers,
        before: Option<&Self>,
    ) -> Result<Self, ConfigError> {
        Self::checked(config, lookup, handlers, before).map_err(|error| config.placed(error))
    }

    fn checked(
        config: &Config,
        lookup: &dyn Lookup,
        handlers: &Handlers,
        before: Option<&Self>,
    ) -> Result<Self, ConfigError> {
        config.check_limits()?;
        if let Some(store) = &config.store {
            store.check()?;
        }
        let mut backends: Vec<ReadyBackend> = config
            .backends
            .iter()
            .map(|(name, settings)| ReadyBackend::new(name, settings, lookup))
            .collect::<Result<_, _>>()?;
        for (name, handler) in handlers {
            backends.push(ReadyBackend::of_handler(name, Arc::clone(handler))?);
        }
        if config.routes.is_empty() && !backends.is_empty() {
            return Err(ConfigError::NoRoute);
        }
        let routes = routes::routes(config, &backends)?;
        let ledger = |name: &str| {
            let known = before.and_then(|before| before.clients.iter().find(|client| client.name == name));
            known.map(|client| Arc::clone(&client.ledger)).unwrap_or_default()
        };
        let mut clients = Vec::new();
        for settings in &config.clients {
            let client = ready_client(settings, lookup, ledger(&settings.name))?;
            push_client(&mut clients, client)?;
        }
        let source = KeySource { value: config.token.clone(), env: config.token_env.clone(), file: None };
        let has_token = source.value.is_some() || source.env.is_some();
        let token = if has_token { Some(Secret::new(source.key(&ConfigPart::Token, lookup)?)) } else { None };
        let is_closed = token.is_some() || !clients.is_empty();
        if !config.listen.ip().is_loopback() && !is_closed {
            return Err(ConfigError::NoToken(config.listen));
        }
        if token.is_some() || clients.is_empty() {
            push_client(&mut clients, Client::anyone(token, ledger("default")))?;
        }
        let permits = permits(config.max_concurrent);
        Ok(Self { config: config.clone(), backends, routes, clients, is_closed, permits })
    }
}

/// Adds a client. Its name decides which calls and responses it can see, and its key decides its name.
fn push_client(clients: &mut Vec<Client>, client: Client) -> Result<(), ConfigError> {
    if clients.iter().any(|known| known.name == client.name) {
        return Err(ConfigError::SameName(client.name));
    }
    if clients.iter().any(|known| known.has_key_of(&client)) {
        return Err(ConfigError::SameKey(client.name));
    }
    clients.push(client);
    Ok(())
}

/// A client of the configuration.
fn ready_client(
    settings: &ClientSettings,
    lookup: &dyn Lookup,
    ledger: Arc<ClientLedger>,
) -> Result<Client, ConfigError> {
    let key = settings.key.key(&ConfigPart::Client(settings.name.clone()), lookup)?;
    let wrong = || ConfigError::Budget(settings.name.clone());
    let budget =
        settings.budget.map(|dollars| cost_of_text(&dollars.to_string()).ok_or_else(wrong)).transpose()?;
    Ok(Client {
        name: settings.name.clone(),
        key: Some(Secret::new(key)),
        is_operator: false,
        models: settings.models.clone(),
        budget: budget.map(|budget| (budget, settings.budget_per)),
        requests_per_minute: settings.requests_per_minute,
        concurrent: settings.max_concurrent.map(|most| (most, permits(most))),
        ledger,
    })
}

/// Headers of a client that a backend of the same dialect understands.
static OWN_HEADERS: [HeaderName; 5] = [
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("openai-beta"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
];

impl Gateway {
    pub(crate) fn new(
        state: GatewayState,
        ServerParts { recorder, handlers, extension, .. }: ServerParts,
        store: Option<CallStore>,
        telemetry: Option<Telemetry>,
    ) -> Self {
        Self {
            state: Arc::new(RwLock::new(Arc::new(state))),
            log: Arc::new(CallLog::new(recorder, store, telemetry)),
            backend_connections: Arc::new(Connections::new()),
            closing: Arc::new(watch::Sender::new(false)),
            connections: Arc::default(),
            handlers,
            extension,
        }
    }

    /// The same gateway with connections to backends of its own, for another thread: a connection that two threads use
    /// wakes one for the other.
    pub(crate) fn for_thread(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            log: Arc::clone(&self.log),
            backend_connections: Arc::new(Connections::new()),
            closing: Arc::clone(&self.closing),
            connections: Arc::clone(&self.connections),
            handlers: self.handlers.clone(),
            extension: self.extension.clone(),
        }
    }

    /// Ends open connections after their answers.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// A guard for an open connection; `None` if the gateway waits for its last connections.
    pub(crate) fn open_connection(&self) -> Option<OwnedRwLockReadGuard<()>> {
        Arc::clone(&self.connections).try_read_owned().ok()
    }

    /// Ends when all connections have ended.
    pub(crate) async fn all_ended(&self) {
        drop(self.connections.write().await);
    }

    /// Whether the gateway ends after the open answers.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Ends when the gateway closes.
    pub(crate) async fn closed(&self) {
        // The sender lives as long as the gateway.
        let _ = self.closing.subscribe().wait_for(|is_closing| *is_closing).await;
    }

    /// The longest silence of a client on a new connection.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.state().idle_timeout()
    }

    /// The state for a new call.
    pub(crate) fn state(&self) -> Arc<GatewayState> {
        // No holder of the lock panics.
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the configuration for new calls. The address stays.
    pub(crate) fn reload(&self, mut config: Config, lookup: &dyn Lookup) -> Result<(), ConfigError> {
        let before = self.state();
        config.listen = before.config.listen;
        let state = GatewayState::new(&config, lookup, &self.handlers, Some(&before))?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
        Ok(())
    }

    /// Answers a request. Every failure is an answer.
    pub(crate) async fn answer(self: &Arc<Self>, mut request: Request<ClientBody>) -> Response<AnswerBody> {
        let path = usual_path(request.uri().path());
        // The connection leaves out the body of the answer.
        if request.method() == Method::HEAD {
            *request.method_mut() = Method::GET;
        }
        let Some(page) = request_path::local_page(&request, &path) else {
            return self.answered(request, path).await;
        };
        let mut response = match request_path::preflight(&request) {
            Some(response) => response,
            None => self.answered(request, path).await,
        };
        request_path::allow(page, &mut response);
        response
    }

    async fn answered(self: &Arc<Self>, request: Request<ClientBody>, path: String) -> Response<AnswerBody> {
        if request.method() == Method::GET && path == "/health" {
            return json_response(200, r#"{"status":"ok"}"#, None);
        }
        let state = self.state();
        if let Some(refusal) = state.refuse_foreign_page(request.headers()) {
            return refusal;
        }
        if request.method() == Method::GET && path == "/metrics" {
            return self.metrics(&state, &request);
        }
        if request.method() == Method::GET && path == feed::PATH {
            return self.feed(&state, &request);
        }
        if let Some(rest) = request_path::below_responses(&path) {
            if rest.is_empty() && websocket::is_upgrade(request.headers()) {
                return self.connect(&state, request);
            }
            if let Some(rest) = rest.strip_prefix('/')
                && response_resources::is_resource(request.method(), rest)
            {
                return self.stored_response(&state, &request, rest);
            }
        }
        if let Some(id) = path.strip_prefix("/v1/receipts/").filter(|_| request.method() == Method::GET) {
            return self.receipt(&state, &request, id).await;
        }
        if let Some(extension) = self.extension.as_ref().filter(|extension| extension.serves(&path)) {
            return extended(&state, extension, request, path).await;
        }
        if request.method() == Method::GET
            && let Some((api, name)) = request_path::find_model(&path, request.headers())
            && let Some(dialect) = Dialect::named(api.dialect)
        {
            return model_entry(&state, &request, dialect, &name);
        }
        let Some((api, endpoint, model)) = find(request.method().as_str(), &path, request.headers()) else {
            let detail = format!("no endpoint has this path: {} {path}", request.method());
            return problem(404, &detail);
        };
        let Some(dialect) = Dialect::named(api.dialect) else { return problem(404, "no such dialect") };
        match self.call(&state, request, endpoint, dialect, model).await {
            Ok(response) => response,
            Err(failure) => failure.response(dialect),
        }
    }

    /// The counters, for anyone who may call.
    fn metrics(&self, state: &GatewayState, request: &Request<ClientBody>) -> Response<AnswerBody> {
        if client_of(state, request).is_err() {
            return no_key();
        }
        let circuits = state.backends.iter().map(|backend| (&*backend.name, backend.breaker.is_open()));
        let mut text = self.log.metrics.text(self.log.start.elapsed(), circuits);
        if let Some(telemetry) = &self.log.telemetry {
            metrics::counter(
                &mut text,
                "spans_dropped_total",
                "Spans that the receiver did not get.",
                telemetry.dropped(),
            );
        }
        let mut response = json_response(200, text, None);
        let text_type = http::HeaderValue::from_static("text/plain; version=0.0.4");
        response.headers_mut().insert(header::CONTENT_TYPE, text_type);
        response
    }

    /// Events about calls: all calls for the operator, and the calls of a client for the client.
    fn feed(&self, state: &GatewayState, request: &Request<ClientBody>) -> Response<AnswerBody> {
        let Ok(client) = client_of(state, request) else { return no_key() };
        let view = if client.is_operator { FeedView::All } else { FeedView::Client(client.name.clone()) };
        let events = Arc::clone(&self.log.feed).subscribe(view, self.closing.subscribe());
        let mut response = Response::new(AnswerBody::Events(events));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache"));
        response
    }

    /// The receipt of a call, for the client that made the call.
    async fn receipt(
        &self,
        state: &GatewayState,
        request: &Request<ClientBody>,
        id: &str,
    ) -> Response<AnswerBody> {
        let Ok(client) = client_of(state, request) else { return no_key() };
        let Some(store) = &self.log.store else {
            return problem(404, "this gateway stores no calls; its configuration has no `[store]`");
        };
        match store.receipt(id, client).await {
            Ok(Some(receipt)) => json_response(200, receipt, None),
            Ok(None) => problem(404, "there is no receipt with this id"),
            Err(error) => problem(503, &error.to_string()),
        }
    }

    /// Opens a WebSocket.
    fn connect(self: &Arc<Self>, state: &GatewayState, request: Request<ClientBody>) -> Response<AnswerBody> {
        let Some((dialect, _)) = websocket::endpoint() else { return problem(404, "no such path") };
        let name = match client_of(state, &request) {
            Ok(client) => client.name.clone(),
            Err(failure) => return failure.response(dialect),
        };
        let invalid = || problem(400, "the request is no handshake of a WebSocket");
        websocket::accept(self, request, name, state.config.max_body).unwrap_or_else(invalid)
    }

    /// A stored response, its input items, its cancellation or its removal.
    fn stored_response(
        &self,
        state: &GatewayState,
        request: &Request<ClientBody>,
        rest: &str,
    ) -> Response<AnswerBody> {
        let Some((dialect, _)) = websocket::endpoint() else { return problem(404, "no such path") };
        let client = client_of(state, request);
        let answer = client.and_then(|client| self.response_resource(client, request, rest));
        answer.unwrap_or_else(|failure| failure.response(dialect))
    }

    async fn call(
        self: &Arc<Self>,
        state: &GatewayState,
        request: Request<ClientBody>,
        endpoint: &'static Endpoint,
        dialect: &'static Dialect,
        model: Option<String>,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let client = match client_of(state, &request) {
            Ok(client) => client,
            Err(failure) => return Err(self.refuse_early(failure, None, dialect, endpoint).await),
        };
        if endpoint.request.is_none() {
            return Ok(json_response(200, model_list::body(&state.config, client, dialect), None));
        }
        let headers = own_headers(request.headers());
        let trace = self.log.telemetry.as_ref().and_then(|_| request.headers().get("traceparent"));
        let traceparent = trace.and_then(|trace| trace.to_str().ok()).map(str::to_owned);
        let body = match state.body(request).await {
            Ok(body) => body,
            Err(failure) => return Err(self.refuse_early(failure, Some(client), dialect, endpoint).await),
        };
        let request = ModelRequest { dialect, endpoint, headers, query, model, body, traceparent };
        if endpoint.request == Some(Role::Request)
            && let Some(asked) = BackgroundRequest::of(dialect, &request.body)
        {
            return match self.begin_in_background(state, client, request, asked) {
                Ok(response) => Ok(response),
                Err(failure) => Err(self.refuse_early(failure, Some(client), dialect, endpoint).await),
            };
        }
        self.respond(state, client, request).await
    }

    /// Counts and records a model call that the gateway refuses without its body.
    async fn refuse_early(
        &self,
        failure: FailedCall,
        client: Option<&Client>,
        dialect: &'static Dialect,
        endpoint: &'static Endpoint,
    ) -> FailedCall {
        if endpoint.request != Some(Role::Request) {
            return failure;
        }
        let mut tracker = CallTracker::new(Arc::clone(&self.log), dialect.name, &Bytes::new());
        tracker.call.client = client.map_or_else(String::new, |client| client.name.clone());
        endpoint.path.clone_into(&mut tracker.call.path);
        tracker.refuse(failure).await
    }

    /// The request with the items of the response that it continues; `None` if it continues none.
    pub(crate) fn with_history(&self, body: &Bytes, client: &Client) -> Result<Option<Bytes>, FailedCall> {
        let Some(id) = stored_responses::continued(body) else { return Ok(None) };
        let before = self.log.responses.get(&id, &client.name);
        let before = before.ok_or_else(|| stored_responses::not_found(&id))?;
        stored_responses::with_history(body, &before).map(|whole| Some(Bytes::from(whole)))
    }

    /// A request of the Responses API that the backends of its route understand, and its task. `is_native` is whether
    /// the first backend has the Responses API itself.
    fn prepared(
        &self,
        body: &Bytes,
        client: &Client,
        endpoint: &'static Endpoint,
        is_native: bool,
    ) -> Result<(Bytes, CallTask), FailedCall> {
        let history = if is_native { None } else { self.with_history(body, client)? };
        let body = history.unwrap_or_else(|| body.clone());
        let is_compaction = endpoint.path == compaction::PATH;
        if is_compaction && !is_native {
            let (compaction, request) = Compaction::of(&body)?;
            return Ok((request.into(), CallTask::Compact(compaction)));
        }
        let task = if is_compaction { CallTask::Forward(endpoint) } else { CallTask::Answer };
        Ok((compaction::restored(&body)?.map_or(body, Bytes::from), task))
    }

    /// Answers a request with a body.
    pub(crate) async fn respond(
        &self,
        state: &GatewayState,
        client: &Client,
        ModelRequest { dialect, endpoint, headers, query, model, mut body, traceparent }: ModelRequest,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let model = model.or_else(|| model_of(&body));
        let mut tracker = CallTracker::new(Arc::clone(&self.log), dialect.name, &body);
        tracker.call.client.clone_from(&client.name);
        tracker.call.traceparent = traceparent;
        endpoint.path.clone_into(&mut tracker.call.path);
        let Some(model) = model else {
            let message = match body.trim_ascii_start().first() {
                None => "the request has no body",
                Some(b'{' | 0xef) => "the request names no `model`",
                Some(_) => "the request is not a JSON object",
            };
            let missing = FailedCall::new(FailureClass::InvalidRequest, message);
            return Err(tracker.refuse(missing).await);
        };
        tracker.call.model_asked.clone_from(&model);
        let route = match state.admit(client, &model, &mut tracker) {
            Ok(route) => route,
            Err(failure) => return Err(tracker.refuse(failure).await),
        };
        let (mut task, mut answer_id) = (CallTask::Answer, None);
        if dialect.name == "openai-responses" {
            let is_native = state.stores_responses(route, dialect);
            match self.prepared(&body, client, endpoint, is_native) {
                Ok(prepared) => (body, task) = prepared,
                Err(failure) => return Err(tracker.refuse(failure).await),
            }
            answer_id = (!is_native).then(|| format!("resp_{}", tracker.call.id));
            if !is_native && matches!(task, CallTask::Answer) && stored_responses::asks_to_store(&body) {
                let (stored, request) = (Arc::clone(&self.log.responses), body.clone());
                tracker.kept = Some(KeptAnswer { stored, request, returned: Vec::new() });
            }
        }
        let streams = endpoint.path.ends_with(":streamGenerateContent");
        let call = ClientCall {
            dialect,
            client,
            stream: endpoint.path.contains("{model}").then_some(streams),
            is_array: streams && !query.split('&').any(|pair| pair == "alt=sse"),
            model,
            body,
            own_headers: headers,
            task,
            answer_id,
        };
        let context = CallContext {
            backends: &state.backends,
            connections: &self.backend_connections,
            idle_timeout: state.idle_timeout(),
        };
        if endpoint.request == Some(Role::Count) {
            tracker.forget();
            return call.count(route, context).await;
        }
        call.run(route, context, tracker).await
    }
}

/// The entry of one model in the list of models.
fn model_entry(
    state: &GatewayState,
    request: &Request<ClientBody>,
    dialect: &'static Dialect,
    name: &str,
) -> Response<AnswerBody> {
    let entry = client_of(state, request).and_then(|client| {
        let missing =
            || FailedCall::new(FailureClass::NotFound, format!("there is no route for the model `{name}`"));
        model_list::entry(&state.config, client, dialect, name).ok_or_else(missing)
    });
    entry.map_or_else(|failure| failure.response(dialect), |entry| json_response(200, entry, None))
}

/// The client of a request.
fn client_of<'s>(state: &'s GatewayState, request: &Request<ClientBody>) -> Result<&'s Client, FailedCall> {
    state.authorize(request.headers(), request.uri().query().unwrap_or_default())
}

impl GatewayState {
    /// The route of a call, if the limits allow the call.
    fn admit(
        &self,
        client: &Client,
        model: &str,
        tracker: &mut CallTracker,
    ) -> Result<&ReadyRoute, FailedCall> {
        tracker.permits.extend(client.admit(model)?);
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            let message = "the gateway has its limit of open calls";
            FailedCall { retry_after: Some(1000), ..FailedCall::new(FailureClass::Overloaded, message) }
        })?;
        tracker.permits.push(permit);
        routes::find(&self.routes, model).ok_or_else(|| {
            let known = routes::patterns(&self.routes);
            let message = format!("no route for the model `{model}`; there are routes for {known}");
            FailedCall::new(FailureClass::NotFound, message)
        })
    }

    /// Charges the budgets of clients with the calls in the store, so that a new process does not refill a budget.
    pub(crate) async fn restore_spending(&self, store: &CallStore) -> Result<(), StoreError> {
        for client in &self.clients {
            if let Some(since) = client.budget_start() {
                client.add_spent(store.spent(&client.name, since).await?);
            }
        }
        Ok(())
    }

    /// The client with a name.
    pub(crate) fn client(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.name == name)
    }

    /// Whether the backend of a model stores responses itself.
    pub(crate) fn has_native_responses(&self, model: &str, dialect: &Dialect) -> bool {
        routes::find(&self.routes, model).is_some_and(|route| self.stores_responses(route, dialect))
    }

    /// Whether the first backend of a route stores responses itself: it has the dialect, and it is a server.
    fn stores_responses(&self, route: &ReadyRoute, dialect: &Dialect) -> bool {
        let first = route.targets.first().map(|target| &self.backends[target.backend]);
        first.is_some_and(|backend| backend.serves(dialect))
    }

    /// The body, up to the limit.
    pub(crate) async fn body(&self, request: Request<ClientBody>) -> Result<Bytes, FailedCall> {
        let limits = BodyLimits { most: self.config.max_body, silence: self.idle_timeout() };
        let (parts, body) = request.into_parts();
        request_body::whole(body, &parts.headers, limits).await
    }

    /// The longest silence of a backend or a client.
    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.config.idle_timeout)
    }

    /// The client with the key of a request.
    pub(crate) fn authorize(&self, headers: &HeaderMap, query: &str) -> Result<&Client, FailedCall> {
        if !self.is_closed
            && let Some(anyone) = self.clients.iter().find(|client| client.key.is_none())
        {
            return Ok(anyone);
        }
        let given: Vec<Cow<'_, str>> = client_keys::given(headers, query).collect();
        let is_theirs =
            |client: &&Client| client.key.as_ref().is_some_and(|key| given.iter().any(|given| key.is(given)));
        let refused =
            || FailedCall::new(FailureClass::Authentication, "the API key is no key of this gateway");
        self.clients.iter().find(is_theirs).ok_or_else(refused)
    }

    /// Refuses requests from web pages of other sites: a page must not spend the keys of its visitor. Without a token, the
    /// host must be this machine, so that no foreign name can point here.
    fn refuse_foreign_page(&self, headers: &HeaderMap) -> Option<Response<AnswerBody>> {
        let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        if text(header::ORIGIN).is_some_and(|origin| !is_local_page(origin)) {
            return Some(problem(403, "requests from web pages of other sites are refused"));
        }
        let host = text(header::HOST).unwrap_or_default();
        if !self.is_closed && !is_this_machine(host) {
            let message = "the host of the request is not this machine; a gateway with a token or clients answers for every host";
            return Some(problem(403, message));
        }
        None
    }
}

/// The headers of a client that a backend of its dialect understands.
pub(crate) fn own_headers(headers: &HeaderMap) -> HeaderMap {
    let own = headers.iter().filter(|(name, _)| OWN_HEADERS.contains(name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}
