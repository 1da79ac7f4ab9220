//! The daemon: all sessions, and the answers to requests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use interlingua_store::{AgentSessionRow, SessionLog, StorePlace};
use tokio::sync::{RwLock, watch};

use crate::agents::Agent;
use crate::answer::{ApiRequest, ApiResponse};
use crate::drivers::Drivers;
use crate::problem::ApiProblem;
use crate::retention::{self, SessionRetention};
use crate::routing::{GatewayLink, GatewayServer};
use crate::session::Session;
use crate::settings::SessionSettings;
use crate::versions::AgentVersions;
use crate::{recovery, routes};

/// The settings of a daemon.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DaemonSettings {
    /// The database.
    pub place: StorePlace,
    /// The folders that working directories must be in; without any, every folder is allowed.
    pub roots: Vec<PathBuf>,
    /// The limits above which sessions and events are deleted.
    pub retention: SessionRetention,
}

impl DaemonSettings {
    /// The settings for a database, without limits for working directories.
    pub const fn new(place: StorePlace) -> Self {
        Self { place, roots: Vec::new(), retention: SessionRetention::NONE }
    }
}

/// Runs agents for clients.
#[derive(Clone)]
pub struct Daemon(Arc<Shared>);

pub(crate) struct Shared {
    log: SessionLog,
    sessions: RwLock<HashMap<String, Arc<Session>>>,
    unreadable: Vec<String>,
    drivers: Drivers,
    versions: AgentVersions,
    roots: Vec<PathBuf>,
    retention: SessionRetention,
    /// The gateway of sessions that name a route.
    gateway: Arc<OnceLock<GatewayServer>>,
    /// Set when the daemon stops.
    closing: watch::Sender<bool>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("roots", &self.0.roots).finish_non_exhaustive()
    }
}

impl Daemon {
    /// The versions of installed agents.
    pub(crate) fn versions(&self) -> &AgentVersions {
        &self.0.versions
    }

    /// Opens the store. Turns that an earlier daemon left open are closed as errors.
    pub async fn open(settings: DaemonSettings) -> Result<Self, ApiProblem> {
        let log = SessionLog::open(&settings.place)?;
        let gateway = Arc::default();
        let (mut sessions, mut unreadable) = (HashMap::new(), Vec::new());
        let drivers = Drivers::default();
        for row in log.sessions().await? {
            let own = serde_json::from_str::<SessionSettings>(&row.settings);
            let (Some(agent), Ok(mut own)) = (Agent::named(&row.agent), own) else {
                unreadable.push(row.id);
                continue;
            };
            own.gateway = GatewayLink::to(&gateway);
            let row = if row.ended { row } else { recovery::close_open_turn(row, &log).await? };
            let id = row.id.clone();
            sessions.insert(id, Arc::new(Session::new(agent, own, row, log.clone(), drivers.clone())));
        }
        let DaemonSettings { roots, retention, .. } = settings;
        let daemon = Self(Arc::new(Shared {
            log,
            sessions: RwLock::new(sessions),
            unreadable,
            drivers,
            versions: AgentVersions::default(),
            roots,
            retention,
            gateway,
            closing: watch::Sender::new(false),
        }));
        daemon.retain(&daemon.0.retention).await?;
        retention::repeat(&daemon);
        Ok(daemon)
    }

    /// Tells the gateway that agents can be pointed at. Only the first call has an effect.
    pub fn set_gateway(&self, server: GatewayServer) {
        let _ = self.0.gateway.set(server);
    }

    /// The folders that files and working directories must be in.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.0.roots
    }

    pub(crate) fn retention(&self) -> &SessionRetention {
        &self.0.retention
    }

    /// A reference that does not keep the daemon alive.
    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(shared: &Weak<Shared>) -> Option<Self> {
        shared.upgrade().map(Self)
    }

    /// The ids of stored sessions whose agent or settings this version does not know. They stay in the store.
    pub fn unreadable(&self) -> &[String] {
        &self.0.unreadable
    }

    /// Whether the daemon answers requests to this path.
    pub fn serves(path: &str) -> bool {
        routes::serves(path)
    }

    /// Answers a request.
    pub async fn answer(&self, request: ApiRequest) -> ApiResponse {
        let path = request.path.clone();
        match routes::dispatch(self, request).await {
            Ok(response) => response,
            Err(problem) => ApiResponse::problem(&problem, &path),
        }
    }

    /// Stops all agents and ends all streams. Open turns end as errors, and the sessions can go on after a restart.
    pub async fn stop(&self) {
        let sessions: Vec<Arc<Session>> = self.0.sessions.read().await.values().cloned().collect();
        for session in sessions {
            session.stop().await;
        }
        self.0.closing.send_replace(true);
    }

    /// Becomes true when the daemon stops.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.0.closing.subscribe()
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
        mut settings: SessionSettings,
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
        settings.gateway = GatewayLink::to(&self.0.gateway);
        settings.check_route(agent)?;
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
        if sessions.contains_key(id) || !self.add_row(&row).await? {
            return Err(ApiProblem::session_already_exists(format!("a session has the id `{id}` already")));
        }
        let (log, drivers) = (self.0.log.clone(), self.0.drivers.clone());
        let session = Arc::new(Session::new(agent, settings, row, log, drivers));
        session.begin().await?;
        sessions.insert(id.to_owned(), Arc::clone(&session));
        drop(sessions);
        self.retain(&self.0.retention).await?;
        Ok(session)
    }

    /// Adds a row to the store. A row without events is left by a store that failed in the middle, and is replaced.
    async fn add_row(&self, row: &AgentSessionRow) -> Result<bool, ApiProblem> {
        let log = &self.0.log;
        if log.create(row.clone()).await? {
            return Ok(true);
        }
        let is_left = log.session(&row.id).await?.is_some_and(|row| row.sequence == 0);
        Ok(is_left && log.delete(&row.id).await? && log.create(row.clone()).await?)
    }

    /// Deletes a session with its events. A running agent is stopped.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), ApiProblem> {
        let session = self.session(id).await?;
        // A full store does not take the end of the session, but the deletion gives space.
        let _ = session.terminate().await;
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
