//! A daemon for tests, the requests of a client, and the facts that hold for every stream.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use interlingua_daemon::{ApiBody, ApiRequest, Daemon, DaemonSettings};
use interlingua_store::StorePlace;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

/// The longest time that a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon with its store.
pub(crate) struct Host {
    pub(crate) daemon: Daemon,
    pub(crate) folder: tempfile::TempDir,
}

impl Host {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let daemon = open(&folder).await;
        Self { daemon, folder }
    }

    /// A daemon with further settings.
    pub(crate) async fn with(change: impl FnOnce(&mut DaemonSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let daemon = open_with(&folder, change).await;
        Self { daemon, folder }
    }

    /// The same store with a new daemon. The first daemon is not told to stop, as if it was killed.
    pub(crate) async fn killed(self) -> (Self, Daemon) {
        let Self { daemon, folder } = self;
        (Self { daemon: open(&folder).await, folder }, daemon)
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = ApiRequest::new(method, path);
        if let Some(body) = body {
            request = request.with_json(body.to_string());
        }
        self.ask(request).await
    }

    pub(crate) async fn ask(&self, request: ApiRequest) -> (u16, Value) {
        let response = self.daemon.answer(request).await;
        let ApiBody::Whole(body) = response.body else { panic!("a stream") };
        let is_problem = response.content_type == Some("application/problem+json");
        assert_eq!(is_problem, response.status >= 400, "{}", response.status);
        (response.status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn create(&self, id: &str) {
        self.create_with(id, json!({})).await;
    }

    /// Creates a session of the mock agent with further settings.
    pub(crate) async fn create_with(&self, id: &str, mut settings: Value) {
        settings["agent"] = "mock".into();
        let (status, answer) = self.post(&format!("/v1/sessions/{id}"), settings).await;
        assert_eq!(status, 200, "{answer}");
    }

    pub(crate) async fn say(&self, id: &str, text: &str) -> u16 {
        self.post(&format!("/v1/sessions/{id}/messages"), json!({ "message": text })).await.0
    }

    /// Posts to a path of the session that needs no body.
    pub(crate) async fn tell(&self, id: &str, what: &str) -> u16 {
        self.call(Method::POST, &format!("/v1/sessions/{id}/{what}"), None).await.0
    }

    pub(crate) async fn events(&self, id: &str) -> Vec<Value> {
        let (status, body) = self.get(&format!("/v1/sessions/{id}/events")).await;
        assert_eq!(status, 200);
        body["events"].as_array().unwrap().clone()
    }

    /// Waits until the session has `count` events of this type.
    pub(crate) async fn wait(&self, id: &str, kind: &str, count: usize) -> Vec<Value> {
        let mut reader = self.stream(&format!("/v1/sessions/{id}/events/sse")).await;
        let waiting = async {
            let mut seen = 0;
            while seen < count {
                let event = reader.next().await.expect("the stream goes on");
                seen += usize::from(event["type"] == kind);
            }
        };
        let is_late = tokio::time::timeout(PATIENCE, waiting).await.is_err();
        let events = self.events(id).await;
        assert!(!is_late, "no {kind}: {events:#?}");
        events
    }

    /// Waits for the end of a turn without reading the events.
    pub(crate) async fn wait_end(&self, id: &str, turns: usize) {
        for _ in 0..6000 {
            let (_, info) = self.get(&format!("/v1/sessions/{id}")).await;
            let after = info["eventCount"].as_u64().unwrap().saturating_sub(1);
            let (_, last) = self.get(&format!("/v1/sessions/{id}/events?offset={after}")).await;
            let last = last["events"].as_array().unwrap().last().unwrap().clone();
            if last["type"] == "turn.ended" && last["data"]["turn_id"] == format!("turn_{turns}") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let (_, info) = self.get(&format!("/v1/sessions/{id}")).await;
        panic!("turn {turns} does not end: {info}");
    }

    /// A stream of events.
    pub(crate) async fn stream(&self, path: &str) -> EventStream {
        self.open_stream(ApiRequest::new(Method::GET, path)).await
    }

    /// The stream of the turn that a message begins.
    pub(crate) async fn turn_stream(&self, id: &str, text: &str, query: &str) -> EventStream {
        let path = format!("/v1/sessions/{id}/messages/stream{query}");
        let body = json!({ "message": text }).to_string();
        self.open_stream(ApiRequest::new(Method::POST, path).with_json(body)).await
    }

    pub(crate) async fn open_stream(&self, request: ApiRequest) -> EventStream {
        let response = self.daemon.answer(request).await;
        assert_eq!((response.status, response.content_type), (200, Some("text/event-stream")));
        let ApiBody::Stream(pieces) = response.body else { panic!("no stream") };
        EventStream { pieces, text: String::new() }
    }
}

/// The server-sent events of a stream.
pub(crate) struct EventStream {
    pieces: Receiver<Bytes>,
    text: String,
}

impl EventStream {
    /// The next frame; `None` at the end of the stream.
    pub(crate) async fn frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(frame);
            }
            let piece = tokio::time::timeout(PATIENCE, self.pieces.recv()).await.expect("a frame in time")?;
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// The next event, whose frame has its number. Comments are skipped.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let frame = self.frame().await?;
            if frame.starts_with(':') {
                continue;
            }
            let (id, data) = frame.split_once('\n').unwrap();
            let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(id, format!("id: {}", event["sequence"]));
            return Some(event);
        }
    }

    /// All events up to the end of the stream.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// The next `count` events.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            events.push(self.next().await.expect("an event"));
        }
        events
    }
}

pub(crate) async fn open(folder: &tempfile::TempDir) -> Daemon {
    open_with(folder, |_| ()).await
}

pub(crate) async fn open_with(
    folder: &tempfile::TempDir,
    change: impl FnOnce(&mut DaemonSettings),
) -> Daemon {
    let mut settings = DaemonSettings::new(place(folder));
    change(&mut settings);
    Daemon::open(settings).await.expect("the store opens")
}

/// The store of a test: a SQLite file, or a database of the PostgreSQL server that `INTERLINGUA_TEST_POSTGRES` names.
/// The name of the folder is the name of the database.
fn place(folder: &tempfile::TempDir) -> StorePlace {
    let server = std::env::var("INTERLINGUA_TEST_POSTGRES").ok();
    let Some(server) = server.filter(|_| cfg!(feature = "postgres")) else {
        return StorePlace::Sqlite(folder.path().join("store.db"));
    };
    let name: String = folder.path().to_str().unwrap().chars().filter(char::is_ascii_alphanumeric).collect();
    let created = folder.path().join("database-created");
    if !created.exists() {
        let statement = format!("CREATE DATABASE \"{name}\"");
        let psql = std::process::Command::new("psql").args([&server, "--quiet", "-c", &statement]).status();
        assert!(psql.is_ok_and(|status| status.success()), "the database is not created");
        std::fs::write(created, "").unwrap();
    }
    let (server, _) = server.rsplit_once('/').unwrap();
    format!("{server}/{name}").parse().unwrap()
}

pub(crate) fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The facts that hold for every stream.
pub(crate) fn check(events: &[Value]) {
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], at + 1, "{event}");
        assert_eq!(event.as_object().unwrap().len(), 10);
        if event["synthetic"] == true {
            assert_eq!(event["source"], "daemon");
        }
    }
    let item = |event: &Value| event["data"]["item"]["item_id"].to_string();
    let turn = |event: &Value| event["data"]["turn_id"].to_string();
    assert_eq!(ids(events, "item.started", item), ids(events, "item.completed", item));
    assert_eq!(ids(events, "turn.started", turn), ids(events, "turn.ended", turn));
    for sort in ["permission", "question"] {
        let request = |event: &Value| event["data"][format!("{sort}_id")].to_string();
        let requested = ids(events, &format!("{sort}.requested"), request);
        assert_eq!(requested, ids(events, &format!("{sort}.resolved"), request));
    }
    assert_eq!(events[0]["type"], "session.started");
    let ends: Vec<usize> = (0..events.len()).filter(|at| events[*at]["type"] == "session.ended").collect();
    assert!(ends.is_empty() || ends == [events.len() - 1], "session.ended is not the last event");
}

/// The sorted ids of the events of a type; each must occur once.
fn ids(events: &[Value], kind: &str, id: impl Fn(&Value) -> String) -> Vec<String> {
    let mut ids: Vec<String> = of(events, kind).into_iter().map(id).collect();
    ids.sort();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id of {kind} occurs twice");
    assert!(!ids.iter().any(|id| id == "null"), "{kind} without an id");
    ids
}

/// The texts of all completed messages.
pub(crate) fn texts(events: &[Value]) -> Vec<String> {
    let completed = of(events, "item.completed").into_iter().map(|event| &event["data"]["item"]);
    let messages = completed.filter(|item| item["kind"] == "message");
    let parts = messages.flat_map(|item| item["content"].as_array().unwrap());
    parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

/// The reason of the end of the last turn.
pub(crate) fn last_stop(events: &[Value]) -> &Value {
    &of(events, "turn.ended").last().unwrap()["data"]["metadata"]["stop"]["class"]
}
