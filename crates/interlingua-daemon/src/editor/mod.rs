//! An agent for editors: the agent's side of the Agent Client Protocol, version 1, with several sessions in one connection.
//!
//! ```text
//! lines of the editor --> EditorServer --> EditorSession --> Session (the agent)
//! messages for the editor <--- EditorLink <--- events <---------/
//! ```
//!
//! The caller moves the bytes: this module opens no file but the stores of sessions, and prints nothing. Each session has a
//! store of its own in a folder, so that an editor can load the session in a later connection.

mod messages;
mod prompt;
mod servers;
mod session;

use std::collections::HashMap;
use std::path::PathBuf;

use interlingua_store::StorePlace;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::agents::Agent;
use crate::daemon::{Daemon, DaemonSettings};
use crate::handle::{EventFeed, SessionOptions};
use crate::problem::ApiProblem;
use crate::session::now_ms;
use messages::{EditorMessage, RpcError, code};
use session::{EditorSession, Replay};

/// The most sessions that one editor has open.
const MOST_SESSIONS: usize = 64;
/// How many pieces of events wait for the editor.
const WAITING: usize = 16;

/// The input of an editor.
#[derive(Clone, Debug)]
pub enum EditorInput {
    /// A line, with or without its end.
    Line(Vec<u8>),
    /// A line that is longer than the reader accepts: the limit in bytes.
    TooLong(usize),
}

/// The agent that an editor gets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EditorSettings {
    /// The agent.
    pub agent: &'static Agent,
    /// The folder of the sessions' stores. It must exist.
    pub folder: PathBuf,
    /// The model of new sessions.
    pub model: Option<String>,
    /// The permission mode of new sessions.
    pub permission_mode: Option<String>,
    /// Variables for the agent's processes.
    pub env: std::collections::BTreeMap<String, String>,
}

impl EditorSettings {
    /// An agent with its own defaults, and the folder of its sessions.
    pub fn new(agent: &'static Agent, folder: PathBuf) -> Self {
        Self { agent, folder, model: None, permission_mode: None, env: std::collections::BTreeMap::new() }
    }
}

/// Serves an editor until its input ends or its output closes, and stops all agents then. `log` gets sentences for people.
pub async fn serve_editor(
    settings: EditorSettings,
    mut input: mpsc::Receiver<EditorInput>,
    output: mpsc::Sender<Vec<u8>>,
    log: impl Fn(&str) + Send + Sync,
) {
    let (feeds, mut fed) = mpsc::channel(WAITING);
    let mut server = EditorServer { settings, sessions: HashMap::new(), opened: 0, feeds, log };
    loop {
        let bytes = tokio::select! {
            line = input.recv() => match line {
                Some(EditorInput::Line(line)) => Box::pin(server.received(&line)).await,
                Some(EditorInput::TooLong(limit)) => {
                    let message = format!("the line has more than {limit} bytes");
                    RpcError::new(code::INVALID_REQUEST, message).response(&Value::Null)
                }
                None => break,
            },
            Some(Fed { session, lines }) = fed.recv() => server.fed(&session, lines),
            () = output.closed() => break,
        };
        if !bytes.is_empty() && output.send(bytes).await.is_err() {
            break;
        }
    }
    for (_, session) in server.sessions.drain() {
        session.close().await;
    }
}

/// Events of a session.
struct Fed {
    session: String,
    lines: Result<Vec<u8>, ApiProblem>,
}

struct EditorServer<L> {
    settings: EditorSettings,
    sessions: HashMap<String, EditorSession>,
    /// The number of sessions so far.
    opened: u64,
    feeds: mpsc::Sender<Fed>,
    log: L,
}

impl<L: Fn(&str) + Send + Sync> EditorServer<L> {
    /// Handles a line of the editor. Returns the bytes for the editor.
    async fn received(&mut self, line: &[u8]) -> Vec<u8> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Vec::new();
        }
        match messages::parse(line) {
            Ok(EditorMessage::Request { id, method, params, whole }) => {
                match self.requested(&method, &params, &id, &whole).await {
                    Ok(bytes) => bytes,
                    Err(error) => error.response(&id),
                }
            }
            Ok(EditorMessage::Notification { method, params, whole }) => {
                self.notified(&method, &params, &whole).await
            }
            Ok(EditorMessage::Response { id, whole }) => self.answered(&id, &whole).await,
            Err((id, error)) => error.response(&id),
        }
    }

    /// Handles events of a session. Returns the bytes for the editor.
    fn fed(&mut self, id: &str, lines: Result<Vec<u8>, ApiProblem>) -> Vec<u8> {
        // A closed session has no reader.
        let Some(session) = self.sessions.get_mut(id) else { return Vec::new() };
        match lines {
            Ok(lines) => session.events(&lines),
            Err(problem) => {
                (self.log)(&format!("session {id}: {}", problem.detail));
                session.fail(&problem)
            }
        }
    }

    async fn requested(
        &mut self,
        method: &str,
        params: &Map<String, Value>,
        id: &Value,
        whole: &Value,
    ) -> Result<Vec<u8>, RpcError> {
        match method {
            "initialize" => self.initialize(params).map(|result| messages::result(id, &result)),
            "session/new" => self.new_session(params).await.map(|result| messages::result(id, &result)),
            "session/load" => self.load(params, Replay::Shown, id).await,
            "session/resume" => self.load(params, Replay::Hidden, id).await,
            "session/prompt" => {
                let agent = self.settings.agent;
                let session = self.session(params)?;
                let parts = prompt::parts(params, agent)?;
                session.prompt(id, whole, parts).await
            }
            "session/set_mode" => {
                let mode = text(params, "modeId")?.to_owned();
                self.session(params)?.set_mode(&mode).await?;
                Ok(messages::result(id, &json!({})))
            }
            "session/close" => {
                let name = self.session(params)?.id.clone();
                if let Some(session) = self.sessions.remove(&name) {
                    Box::pin(session.close()).await;
                }
                Ok(messages::result(id, &json!({})))
            }
            "session/cancel" => {
                Err(RpcError::new(code::INVALID_REQUEST, "`session/cancel` is a notification".to_owned()))
            }
            _ => Err(RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("this agent does not have the method `{method}`"),
            )),
        }
    }

    fn initialize(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        if !params.get("protocolVersion").is_some_and(Value::is_u64) {
            return Err(RpcError::params("`protocolVersion` is not a number".to_owned()));
        }
        let agent = self.settings.agent;
        let resumes =
            if agent.resumes { json!({ "resume": {}, "close": {} }) } else { json!({ "close": {} }) };
        Ok(json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": agent.resumes,
                "promptCapabilities": { "image": agent.images, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": true },
                "sessionCapabilities": resumes,
            },
            "agentInfo": {
                "name": format!("interlingua-{}", agent.id),
                "title": agent.name,
                "version": env!("CARGO_PKG_VERSION"),
            },
            "authMethods": [],
        }))
    }

    async fn new_session(&mut self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        self.check_room()?;
        let mut options = SessionOptions::new(self.settings.agent.id);
        options.directory = Some(text(params, "cwd")?.to_owned());
        options.mcp = servers::of(params)?;
        options.model.clone_from(&self.settings.model);
        options.permission_mode.clone_from(&self.settings.permission_mode);
        options.env.clone_from(&self.settings.env);
        self.opened += 1;
        let (agent, process) = (self.settings.agent.id, std::process::id());
        let id = format!("{agent}-{:x}-{process:x}-{}", now_ms(), self.opened);
        let place = self.place(&id);
        let daemon = Daemon::open(DaemonSettings::new(StorePlace::Sqlite(place.clone()))).await?;
        if let Err(problem) = daemon.open_session(&id, options).await {
            drop(daemon);
            session::remove(&place);
            return Err(problem.into());
        }
        let (session, _) = EditorSession::open(daemon, &id, place, Replay::Hidden).await?;
        let answer = json!({ "sessionId": id, "modes": session.modes() });
        self.insert(session);
        Ok(answer)
    }

    /// Opens a session of an earlier connection, and repeats its messages to the editor.
    async fn load(
        &mut self,
        params: &Map<String, Value>,
        replay: Replay,
        request: &Value,
    ) -> Result<Vec<u8>, RpcError> {
        let id = text(params, "sessionId")?;
        let unknown = || RpcError::new(code::NOT_FOUND, format!("there is no session `{id}`"));
        if !self.settings.agent.resumes {
            let message = format!("{} cannot go on with an earlier session", self.settings.agent.name);
            return Err(RpcError::new(code::METHOD_NOT_FOUND, message));
        }
        // The name of the file is the id: no other character can lead out of the folder.
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let place = self.place(id);
        if !id.chars().all(is_name) || !place.is_file() {
            return Err(unknown());
        }
        // A second load of an open session begins anew with its store.
        if let Some(open) = self.sessions.remove(id) {
            Box::pin(open.close()).await;
        }
        self.check_room()?;
        if !place.is_file() {
            return Err(unknown());
        }
        let daemon = Daemon::open(DaemonSettings::new(StorePlace::Sqlite(place.clone()))).await?;
        let (session, mut bytes) = Box::pin(EditorSession::open(daemon, id, place, replay)).await?;
        if session.agent().id != self.settings.agent.id {
            let message = format!("the session `{id}` belongs to {}", session.agent().name);
            return Err(RpcError::params(message));
        }
        bytes.extend(messages::result(request, &json!({ "modes": session.modes() })));
        self.insert(session);
        Ok(bytes)
    }

    fn place(&self, id: &str) -> PathBuf {
        self.settings.folder.join(format!("{id}.db"))
    }

    fn check_room(&self) -> Result<(), RpcError> {
        if self.sessions.len() < MOST_SESSIONS {
            return Ok(());
        }
        let message = format!("{MOST_SESSIONS} sessions are open; close one with `session/close`");
        Err(RpcError::new(code::INTERNAL, message))
    }

    /// Adds a session, and passes its new events on.
    fn insert(&mut self, mut session: EditorSession) {
        let (feeds, id) = (self.feeds.clone(), session.id.clone());
        let mut feed: EventFeed = session.feed();
        session.reading = Some(tokio::spawn(async move {
            loop {
                let lines = feed.next().await;
                let is_over = lines.is_err();
                if feeds.send(Fed { session: id.clone(), lines }).await.is_err() || is_over {
                    return;
                }
            }
        }));
        self.sessions.insert(session.id.clone(), session);
    }

    async fn notified(&mut self, method: &str, params: &Map<String, Value>, whole: &Value) -> Vec<u8> {
        match method {
            "session/cancel" => match self.session(params) {
                Ok(session) => match session.cancel(whole).await {
                    Ok(bytes) => return bytes,
                    Err(problem) => (self.log)(&format!("`session/cancel`: {}", problem.detail)),
                },
                Err(error) => (self.log)(&format!("`session/cancel`: {}", error.message)),
            },
            "$/cancel_request" => {
                let id = params.get("requestId").unwrap_or(&Value::Null);
                let running = self.sessions.values_mut().find(|session| session.prompt.as_ref() == Some(id));
                let Some(session) = running else {
                    (self.log)(&format!("`$/cancel_request`: no prompt has the id {id}"));
                    return Vec::new();
                };
                let cancel = json!({
                    "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session.id },
                });
                match session.cancel(&cancel).await {
                    Ok(bytes) => return bytes,
                    Err(problem) => (self.log)(&format!("`$/cancel_request`: {}", problem.detail)),
                }
            }
            _ => (self.log)(&format!("the notification `{method}` is unknown")),
        }
        Vec::new()
    }

    /// Handles the answer to a permission request or a question.
    async fn answered(&mut self, id: &Value, whole: &Value) -> Vec<u8> {
        let asked = id.as_str().unwrap_or_default();
        let Some(session) = self.sessions.values_mut().find(|session| session.has_asked(asked)) else {
            (self.log)(&format!("the answer {id} belongs to no open request"));
            return Vec::new();
        };
        match session.answered(asked, whole).await {
            Ok(bytes) => bytes,
            Err(problem) => {
                (self.log)(&format!("the answer {id}: {}", problem.detail));
                Vec::new()
            }
        }
    }

    fn session(&mut self, params: &Map<String, Value>) -> Result<&mut EditorSession, RpcError> {
        let id = text(params, "sessionId")?;
        let unknown = || RpcError::new(code::NOT_FOUND, format!("no open session has the id `{id}`"));
        self.sessions.get_mut(id).ok_or_else(unknown)
    }
}

/// A text among the parameters.
fn text<'p>(params: &'p Map<String, Value>, name: &str) -> Result<&'p str, RpcError> {
    let found = params.get(name).and_then(Value::as_str);
    found.ok_or_else(|| RpcError::params(format!("`{name}` is missing or not a text")))
}
