//! The means that all sessions of a daemon share to run their agents.

use crate::codex_server::CodexServers;
use crate::opencode_server::OpenCodeServers;
use crate::watchdog::Watchdog;

/// The shared means of all sessions.
#[derive(Clone, Default)]
pub(crate) struct Drivers {
    pub(crate) codex: CodexServers,
    pub(crate) opencode: OpenCodeServers,
    pub(crate) watchdog: Watchdog,
}
