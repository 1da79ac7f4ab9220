//! One session of an editor: the agent's events become messages, and the editor's answers reach the agent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::json::Str;
use interlingua::model::{Decision, Event, Part, Permission, Question, Session as Facts, StopClass};
use interlingua::pipe::{EditorLink, EventReader};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::messages::{self, RpcError, code};
use crate::agents::Agent;
use crate::daemon::Daemon;
use crate::handle::{EventFeed, followed_events};
use crate::problem::ApiProblem;
use crate::session::{Session, failure, turn_ended};
use crate::settings::{PermissionReply, QuestionReply, Reply};

/// How many events are read at once.
const AT_ONCE: u64 = 512;

/// Whether the editor gets the messages of the session so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replay {
    Shown,
    Hidden,
}

/// A session of the editor.
pub(super) struct EditorSession {
    pub(super) id: String,
    /// The task that passes new events on.
    pub(super) reading: Option<JoinHandle<()>>,
    /// The id of the running prompt.
    pub(super) prompt: Option<Value>,
    daemon: Daemon,
    session: Arc<Session>,
    place: PathBuf,
    /// The number of the last event that was read when the session was opened.
    read: u64,
    reader: EventReader,
    side: EditorSide,
}

/// The state of the messages for the editor.
struct EditorSide {
    id: String,
    agent: &'static Agent,
    link: EditorLink,
    /// The mode that the editor knows.
    mode: String,
    /// The open requests by their ids in the protocol.
    requests: HashMap<String, OpenRequest>,
    /// Set once the turn has ended.
    has_ended: bool,
}

/// A request that the editor has not answered, with its id in the session.
enum OpenRequest {
    Permission(String),
    Question { id: String, prompts: usize },
}

impl EditorSession {
    /// Opens a session of a daemon. Returns also the messages that repeat the session.
    pub(super) async fn open(
        daemon: Daemon,
        id: &str,
        place: PathBuf,
        replay: Replay,
    ) -> Result<(Self, Vec<u8>), ApiProblem> {
        let session = daemon.session(id).await?;
        let row = session.row().await;
        if row.ended {
            return Err(ApiProblem::session_ended(format!("the session `{id}` has ended")));
        }
        let failed = |error: Error| ApiProblem::stream_error(error.to_string());
        let acp: &Dialect = "acp".parse().map_err(failed)?;
        let universal: &Dialect = "universal".parse().map_err(failed)?;
        let mut link = EditorLink::new(acp, &Options::default()).map_err(failed)?;
        // The link learns the id of the session; the server answers the editor's own request.
        let open = json!({
            "jsonrpc": "2.0", "id": 0, "method": "session/load",
            "params": { "sessionId": id, "cwd": "/", "mcpServers": [] },
        });
        link.receive(&messages::line(&open), |_| ());
        let side = EditorSide {
            id: id.to_owned(),
            agent: session.agent,
            link,
            mode: session.settings.permission().to_owned(),
            requests: HashMap::new(),
            has_ended: false,
        };
        let mut opened = Self {
            id: id.to_owned(),
            reading: None,
            prompt: None,
            daemon,
            session,
            place,
            read: 0,
            reader: EventReader::new((universal, Role::Live), &Options::default()).map_err(failed)?,
            side,
        };
        let bytes = opened.replay(row.sequence, replay).await?;
        // The last mode of the earlier connection stays.
        opened.session.set_permission_mode(&opened.side.mode).await?;
        Ok((opened, bytes))
    }

    /// Reads the events up to a number. Returns the messages of the conversation among them.
    async fn replay(&mut self, last: u64, replay: Replay) -> Result<Vec<u8>, ApiProblem> {
        let mut bytes = Vec::new();
        while self.read < last {
            let rows = self.session.events(self.read, AT_ONCE.min(last - self.read)).await?;
            let Some(row) = rows.last() else { break };
            self.read = row.sequence;
            let mut lines = Vec::new();
            for row in &rows {
                crate::lines::whole(row, false, &mut lines);
                lines.push(b'\n');
            }
            let side = &mut self.side;
            self.reader.push(&lines, |event| {
                let message = side.repeated(event);
                if replay == Replay::Shown {
                    bytes.extend(message);
                }
            });
        }
        Ok(bytes)
    }

    pub(super) fn agent(&self) -> &'static Agent {
        self.session.agent
    }

    /// The events that were not read when the session was opened.
    pub(super) fn feed(&self) -> EventFeed {
        EventFeed::of(&self.session, self.read)
    }

    /// The modes of the session, as the protocol has them.
    pub(super) fn modes(&self) -> Value {
        let modes = self.session.agent.permission_modes().iter().map(|(mode, _)| {
            let (name, about) = match *mode {
                "default" => ("Default", "Asks before actions that need permission"),
                "plan" => ("Plan", "Plans without changing files"),
                "acceptEdits" => ("Accept edits", "Changes files without asking"),
                "bypass" => ("Bypass permissions", "Never asks"),
                other => (other, ""),
            };
            json!({ "id": mode, "name": name, "description": about })
        });
        let modes: Vec<Value> = modes.collect();
        json!({ "currentModeId": self.side.mode, "availableModes": modes })
    }

    /// Writes new events as messages.
    pub(super) fn events(&mut self, lines: &[u8]) -> Vec<u8> {
        let (side, mut bytes) = (&mut self.side, Vec::new());
        self.reader.push(&followed_events(lines), |event| bytes.extend(side.event(event)));
        if std::mem::take(&mut side.has_ended) {
            self.prompt = None;
        }
        bytes
    }

    /// Sends a prompt to the agent. The end of the turn answers the request.
    pub(super) async fn prompt(
        &mut self,
        id: &Value,
        whole: &Value,
        parts: Vec<Part<'static>>,
    ) -> Result<Vec<u8>, RpcError> {
        if self.prompt.is_some() {
            let message = "a prompt is running in this session; wait for its end or cancel it";
            return Err(RpcError::new(code::INVALID_REQUEST, message.to_owned()));
        }
        let mut bytes = self.side.link.receive(&messages::line(whole), |_| ());
        self.prompt = Some(id.clone());
        if let Err(problem) = self.session.prompt_parts(parts).await {
            bytes.extend(self.fail(&problem));
        }
        Ok(bytes)
    }

    /// Answers the running prompt with an error.
    pub(super) fn fail(&mut self, problem: &ApiProblem) -> Vec<u8> {
        self.prompt = None;
        let mut bytes = self.side.link.send(&Event::Error(failure("-32603", &problem.detail)));
        bytes.extend(self.side.link.send(&turn_ended(StopClass::Error)));
        bytes
    }

    /// Interrupts the turn.
    pub(super) async fn cancel(&mut self, whole: &Value) -> Result<Vec<u8>, ApiProblem> {
        let bytes = self.side.link.receive(&messages::line(whole), |_| ());
        self.session.interrupt().await?;
        Ok(bytes)
    }

    pub(super) async fn set_mode(&mut self, mode: &str) -> Result<(), RpcError> {
        self.session.set_permission_mode(mode).await?;
        mode.clone_into(&mut self.side.mode);
        Ok(())
    }

    pub(super) fn has_asked(&self, id: &str) -> bool {
        self.side.requests.contains_key(id)
    }

    /// Passes an answer of the editor to the agent. An answer that cannot be understood rejects the request, so that the
    /// agent never waits for ever.
    pub(super) async fn answered(&mut self, id: &str, whole: &Value) -> Result<Vec<u8>, ApiProblem> {
        let Some(request) = self.side.requests.remove(id) else { return Ok(Vec::new()) };
        let mut decision = None;
        let bytes = self.side.link.receive(&messages::line(whole), |event| {
            if let Event::PermissionResolved(Permission { answer, .. }) = event {
                decision.clone_from(&answer.clone().map(Decision::into_owned));
            }
        });
        match request {
            OpenRequest::Permission(id) => {
                let reply = match decision {
                    Some(Decision::Accept) => Reply::Once,
                    Some(Decision::AcceptForSession) => Reply::Always,
                    Some(Decision::Reject(_)) | None => Reply::Reject,
                };
                self.session.decide(&id, &PermissionReply { reply, message: None }).await?;
            }
            OpenRequest::Question { id, prompts } => {
                let reply = answers(&whole["result"], prompts).map(|answers| QuestionReply { answers });
                self.session.answer(&id, reply.as_ref()).await?;
            }
        }
        Ok(bytes)
    }

    /// Stops the agent. A session without a prompt leaves no store.
    pub(super) async fn close(self) {
        if let Some(reading) = &self.reading {
            reading.abort();
        }
        self.daemon.stop().await;
        let is_empty = self.session.row().await.turns == 0;
        let place = self.place.clone();
        drop(self);
        if is_empty {
            remove(&place);
        }
    }
}

impl EditorSide {
    /// Writes an event of the running session.
    fn event(&mut self, event: &Event<'_>) -> Vec<u8> {
        match event {
            Event::SessionStarted(facts) | Event::SessionUpdated(facts) => self.changed(facts),
            Event::PermissionRequested(permission) => {
                let own = self.own_id(&permission.id);
                let id = permission.id.decode().into_owned();
                self.requests.insert(own.clone(), OpenRequest::Permission(id));
                let id = Str::from_plain(&own);
                self.link.send(&Event::PermissionRequested(Permission { id, ..permission.clone() }))
            }
            Event::PermissionResolved(permission) => {
                let own = self.own_id(&permission.id);
                self.requests.remove(&own);
                let id = Str::from_plain(&own);
                self.link.send(&Event::PermissionResolved(Permission { id, ..permission.clone() }))
            }
            Event::QuestionRequested(question) => {
                let own = self.own_id(&question.id);
                let (id, prompts) = (question.id.decode().into_owned(), question.prompts.len());
                self.requests.insert(own.clone(), OpenRequest::Question { id, prompts });
                let id = Str::from_plain(&own);
                self.link.send(&Event::QuestionRequested(Question { id, ..question.clone() }))
            }
            Event::QuestionResolved(question) => {
                let own = self.own_id(&question.id);
                self.requests.remove(&own);
                let id = Str::from_plain(&own);
                self.link.send(&Event::QuestionResolved(Question { id, ..question.clone() }))
            }
            Event::TurnEnded(_) => {
                self.has_ended = true;
                self.link.send(event)
            }
            other => self.link.send(other),
        }
    }

    /// Writes an event of an earlier connection: the conversation, but no request and no end of a turn.
    fn repeated(&mut self, event: &Event<'_>) -> Vec<u8> {
        match event {
            Event::SessionStarted(facts) | Event::SessionUpdated(facts) => self.changed(facts),
            Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => self.link.send(event),
            Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_) => Vec::new(),
        }
    }

    /// Writes a new title and a new mode. The model is chosen before the session, so the editor gets no option for it.
    fn changed(&mut self, facts: &Facts<'_>) -> Vec<u8> {
        let modes = self.agent.permission_modes();
        // A stream holds the mode of the settings or the agent's own word, which several modes may share.
        let is_told = |(mode, word): &&(&str, &str), told: &str| *mode == told || *word == told;
        let told = facts.permission_mode.as_ref().map(|told| told.decode().into_owned());
        let known = |told: &String| modes.iter().any(|mode| mode.0 == self.mode && is_told(&mode, told));
        let new = |told: String| modes.iter().find(|mode| is_told(mode, &told));
        let mode = told.filter(|told| !known(told)).and_then(new).map(|(mode, _)| (*mode).to_owned());
        if let Some(mode) = &mode {
            self.mode.clone_from(mode);
        }
        let permission_mode = mode.map(|mode| Str::from_plain(&mode));
        if permission_mode.is_none() && facts.title.is_none() {
            return Vec::new();
        }
        let facts = Facts { title: facts.title.clone(), permission_mode, ..Facts::default() };
        self.link.send(&Event::SessionUpdated(facts))
    }

    /// The id of a request in the protocol. Two sessions may have requests with the same id.
    fn own_id(&self, id: &Str<'_>) -> String {
        format!("{}/{}", self.id, id.decode())
    }
}

/// The chosen labels of each prompt in the answer to a form; `None` if the form was declined.
fn answers(result: &Value, prompts: usize) -> Option<Vec<Vec<String>>> {
    if result["action"] != "accept" {
        return None;
    }
    let label = |answer: &Value| match answer {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(answer.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let answers: Vec<Vec<String>> = (0..prompts)
        .map(|number| match &result["content"][format!("q{number}")] {
            Value::Array(answers) => answers.iter().filter_map(label).collect(),
            answer => label(answer).into_iter().collect(),
        })
        .collect();
    answers.iter().any(|answer| !answer.is_empty()).then_some(answers)
}

/// Removes the store of a session.
pub(super) fn remove(place: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = place.as_os_str().to_owned();
        name.push(end);
        // A file that is gone already needs no removal.
        let _ = std::fs::remove_file(name);
    }
}
