//! The daemon: all sessions, and the answers to requests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlingua_store::{AgentSessionRow, SessionLog, StorePlace};
use tokio::sync::RwLock;

use crate::agents::Agent;
use crate::answer::{ApiRequest, ApiResponse};
use crate::problem::ApiProblem;
use crate::session::Session;
use crate::settings::SessionSettings;
use crate::{api, recovery};

/// The settings of a daemon.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DaemonSettings {
    /// The database.
    pub place: StorePlace,
    /// The folders that working directories must be in; without any, every folder is allowed.
    pub roots: Vec<PathBuf>,
}

impl DaemonSettings {
    /// The settings for a database, without limits for working directories.
    pub const fn new(place: StorePlace) -> Self {
        Self { place, roots: Vec::new() }
    }
}

/// Runs agents for clients.
#[derive(Clone)]
pub struct Daemon(Arc<Shared>);

struct Shared {
    log: SessionLog,
    sessions: RwLock<HashMap<String, Arc<Session>>>,
    unreadable: Vec<String>,
    roots: Vec<PathBuf>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("roots", &self.0.roots).finish_non_exhaustive()
    }
}

impl Daemon {
    /// Opens the store. Turns that an earlier daemon left open are closed as errors.
    pub async fn open(settings: DaemonSettings) -> Result<Self, ApiProblem> {
        let log = SessionLog::open(&settings.place)?;
        let (mut sessions, mut unreadable) = (HashMap::new(), Vec::new());
        for row in log.sessions().await? {
            let own = serde_json::from_str::<SessionSettings>(&row.settings);
            let (Some(agent), Ok(own)) = (Agent::named(&row.agent), own) else {
                unreadable.push(row.id);
                continue;
            };
            let row = if row.ended { row } else { recovery::close_open_turn(row, &log).await? };
            sessions.insert(row.id.clone(), Arc::new(Session::new(agent, own, row, log.clone())));
        }
        let DaemonSettings { roots, .. } = settings;
        Ok(Self(Arc::new(Shared { log, sessions: RwLock::new(sessions), unreadable, roots })))
    }

    /// The ids of stored sessions whose agent or settings this version does not know. They stay in the store.
    pub fn unreadable(&self) -> &[String] {
        &self.0.unreadable
    }

    /// Whether the daemon answers requests to this path.
    pub fn serves(path: &str) -> bool {
        api::serves(path)
    }

    /// Answers a request.
    pub async fn answer(&self, request: ApiRequest) -> ApiResponse {
        let path = request.path.clone();
        match api::answer(self, request).await {
            Ok(response) => response,
            Err(problem) => ApiResponse::problem(&problem, &path),
        }
    }

    /// Stops all agents. Open turns end as errors, and the sessions can go on after a restart.
    pub async fn stop(&self) {
        let sessions: Vec<Arc<Session>> = self.0.sessions.read().await.values().cloned().collect();
        for session in sessions {
            session.stop().await;
        }
    }

    pub(crate) async fn session(&self, id: &str) -> Result<Arc<Session>, ApiProblem> {
        let found = self.0.sessions.read().await.get(id).cloned();
        found.ok_or_else(|| ApiProblem::session_not_found(format!("no session has the id `{id}`")))
    }

    pub(crate) async fn sessions(&self) -> Vec<Arc<Session>> {
        self.0.sessions.read().await.values().cloned().collect()
    }

    /// Creates a session. The agent starts with the first message.
    pub(crate) async fn create(
        &self,
        id: &str,
        settings: SessionSettings,
    ) -> Result<Arc<Session>, ApiProblem> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if id.is_empty() || id.len() > 128 || !id.chars().all(is_name) {
            let detail = "an id has 1 to 128 letters, digits and the characters `-_.:`";
            return Err(ApiProblem::invalid_request(detail));
        }
        let agent = Agent::named(&settings.agent).ok_or_else(|| {
            let known: Vec<&str> = crate::AGENTS.iter().map(|agent| agent.id).collect();
            let detail = format!("there is no agent `{}`; there are {}", settings.agent, known.join(", "));
            ApiProblem::unsupported_agent(detail)
        })?;
        agent.check(&settings)?;
        if let Some(directory) = &settings.directory {
            self.check_directory(Path::new(directory))?;
        }
        if !agent.is_installed() {
            let program = agent.program.unwrap_or(agent.id);
            return Err(ApiProblem::agent_not_installed(format!("`{program}` is not on the path")));
        }
        let stored = serde_json::to_string(&settings)
            .map_err(|error| ApiProblem::invalid_request(error.to_string()))?;
        let row = AgentSessionRow::new(id, agent.id, stored);
        let mut sessions = self.0.sessions.write().await;
        if sessions.contains_key(id) || !self.0.log.create(row.clone()).await? {
            return Err(ApiProblem::session_already_exists(format!("a session has the id `{id}` already")));
        }
        let session = Arc::new(Session::new(agent, settings, row, self.0.log.clone()));
        session.begin().await?;
        sessions.insert(id.to_owned(), Arc::clone(&session));
        Ok(session)
    }

    /// Deletes a session with its events. A running agent is stopped.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), ApiProblem> {
        let session = self.session(id).await?;
        session.terminate().await?;
        self.0.sessions.write().await.remove(id);
        self.0.log.delete(id).await?;
        Ok(())
    }

    fn check_directory(&self, directory: &Path) -> Result<(), ApiProblem> {
        let wrong = |detail: String| Err(ApiProblem::invalid_request(detail));
        if !directory.is_absolute() {
            return wrong(format!("`{}` is not an absolute path", directory.display()));
        }
        // Links are followed, so that no link leads out of the allowed folders.
        let Ok(real) = directory.canonicalize() else {
            return wrong(format!("the directory `{}` does not exist", directory.display()));
        };
        if !real.is_dir() {
            return wrong(format!("`{}` is not a directory", directory.display()));
        }
        if !self.0.roots.is_empty() && !self.0.roots.iter().any(|root| real.starts_with(root)) {
            let detail = format!("`{}` is outside the allowed folders", directory.display());
            return Err(ApiProblem::permission_denied(detail));
        }
        Ok(())
    }
}
