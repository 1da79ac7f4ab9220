//! Sessions for a program that has the daemon in its own process: no server and no requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::daemon::Daemon;
use crate::lines;
use crate::problem::ApiProblem;
use crate::session::Session;
use crate::settings::{MessageBody, PermissionReply, QuestionReply, Reply, SessionSettings};

/// How many events are read at once.
const AT_ONCE: u64 = 512;

/// The settings of a new session.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The name of the agent.
    pub agent: String,
    /// The mode of the agent, such as `plan`.
    pub mode: Option<String>,
    /// The permission mode: `default`, `plan`, `acceptEdits` or `bypass`.
    pub permission_mode: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The reasoning effort.
    pub effort: Option<String>,
    /// The working directory, as an absolute path.
    pub directory: Option<String>,
    /// Variables for the agent's process.
    pub env: BTreeMap<String, String>,
    /// The agent's own session to go on with.
    pub resume: Option<String>,
    /// Servers of the Model Context Protocol by name, in the agent's own terms.
    pub mcp: Option<serde_json::Value>,
    /// A model of the daemon's gateway ([`Daemon::set_gateway`]), instead of `model`.
    pub route: Option<String>,
}

impl SessionOptions {
    /// The settings for an agent, with the agent's own defaults.
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }

    fn settings(self) -> SessionSettings {
        let Self { agent, mode, permission_mode, model, effort, directory, env, resume, mcp, route } = self;
        SessionSettings {
            agent,
            agent_mode: mode,
            permission_mode,
            model,
            variant: effort,
            directory,
            env,
            native_session_id: resume,
            mcp,
            route,
            ..SessionSettings::default()
        }
    }
}

/// The answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// Allows the action.
    Once,
    /// Allows the action and equal actions for the rest of the session.
    Always,
    /// Rejects the action, perhaps with a reason for the agent.
    Reject(Option<String>),
}

/// A session of a daemon in the same process.
#[derive(Clone)]
pub struct SessionHandle(Arc<Session>);

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHandle").field("agent", &self.0.agent.id).finish_non_exhaustive()
    }
}

impl Daemon {
    /// Creates a session. The agent starts with the first prompt.
    pub async fn open_session(&self, id: &str, options: SessionOptions) -> Result<SessionHandle, ApiProblem> {
        self.create(id, options.settings()).await.map(SessionHandle)
    }
}

impl SessionHandle {
    /// The agent's own id of the session, once the agent has named it.
    pub async fn native_id(&self) -> Option<String> {
        self.0.row().await.native_id
    }

    /// Sends a prompt, which starts a turn.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<(), ApiProblem> {
        let body = MessageBody { message: text.into(), attachments: Vec::new() };
        self.0.prompt(&body).await.map(|_| ())
    }

    /// The events of the session after this number, as lines.
    pub fn feed(&self, after: u64) -> EventFeed {
        EventFeed { stored: self.0.stored.subscribe(), session: Arc::clone(&self.0), after }
    }

    /// Answers a permission request.
    pub async fn decide(&self, id: &str, answer: PermissionAnswer) -> Result<(), ApiProblem> {
        let (reply, message) = match answer {
            PermissionAnswer::Once => (Reply::Once, None),
            PermissionAnswer::Always => (Reply::Always, None),
            PermissionAnswer::Reject(message) => (Reply::Reject, message),
        };
        self.0.decide(id, &PermissionReply { reply, message }).await
    }

    /// Answers a question with the chosen labels of each prompt, or declines it.
    pub async fn answer(&self, id: &str, answers: Option<Vec<Vec<String>>>) -> Result<(), ApiProblem> {
        let reply = answers.map(|answers| QuestionReply { answers });
        self.0.answer(id, reply.as_ref()).await
    }

    /// Interrupts the running turn, which ends as cancelled. Without a turn nothing happens.
    pub async fn interrupt(&self) -> Result<(), ApiProblem> {
        self.0.interrupt().await
    }

    /// Ends the session and its agent.
    pub async fn terminate(&self) -> Result<(), ApiProblem> {
        self.0.terminate().await
    }
}

/// The events of a session, one universal event a line, without the agent's own lines.
pub struct EventFeed {
    session: Arc<Session>,
    stored: watch::Receiver<u64>,
    after: u64,
}

impl std::fmt::Debug for EventFeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventFeed").field("after", &self.after).finish_non_exhaustive()
    }
}

impl EventFeed {
    pub(crate) fn of(session: &Arc<Session>, after: u64) -> Self {
        SessionHandle(Arc::clone(session)).feed(after)
    }

    /// Waits for the next events and returns their lines. A call that is dropped before its end loses no event.
    pub async fn next(&mut self) -> Result<Vec<u8>, ApiProblem> {
        loop {
            self.stored.borrow_and_update();
            let rows = self.session.events(self.after, AT_ONCE).await?;
            if let Some(last) = rows.last() {
                self.after = last.sequence;
                let mut out = Vec::new();
                for row in &rows {
                    lines::whole(row, false, &mut out);
                    out.push(b'\n');
                }
                return Ok(out);
            }
            // The feed holds the session, and the session holds the sender.
            if self.stored.changed().await.is_err() {
                return Err(ApiProblem::session_not_found("the session is gone"));
            }
        }
    }
}

/// The lines for a reader of universal events in the same process. The ends of turns, requests and sessions that the daemon
/// adds are marked as its own, and the reader skips them, because a writer adds them again; a program that follows a
/// session needs them.
pub fn followed_events(lines: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = br#","synthetic":"#;
    const TYPES: [&str; 6] = [
        "session.ended",
        "turn.ended",
        "permission.requested",
        "permission.resolved",
        "question.requested",
        "question.resolved",
    ];
    let mut out = Vec::with_capacity(lines.len() + 64);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        // The envelope is before the data, so the first mark is its own.
        let start = line.windows(MARK.len()).position(|bytes| bytes == MARK).map(|at| at + MARK.len());
        let Some((head, rest)) = start.map(|start| line.split_at(start)) else {
            out.extend_from_slice(line);
            continue;
        };
        let ends = |kind: &str| {
            rest.starts_with(format!(r#"true,"source":"daemon","type":"{kind}","data":"#).as_bytes())
        };
        out.extend_from_slice(head);
        match rest.strip_prefix(b"true") {
            Some(rest) if TYPES.iter().any(|kind| ends(kind)) => {
                out.extend_from_slice(b"false");
                out.extend_from_slice(rest);
            }
            _ => out.extend_from_slice(rest),
        }
    }
    out
}
