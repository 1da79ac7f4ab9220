//! Limits for the sessions in the store: old sessions are deleted, and long sessions lose their first events.

use std::time::Duration;

use interlingua_store::AgentSessionRow;

use crate::daemon::Daemon;
use crate::problem::ApiProblem;
use crate::session::now_ms;

/// The limits above which sessions and events are deleted. A session with a running turn is never touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRetention {
    /// The time in milliseconds after the last event of a session, after which the session is deleted.
    pub max_age_ms: Option<u64>,
    /// The number of sessions above which the sessions with the oldest last event are deleted.
    pub max_sessions: Option<u64>,
    /// The sum of the bytes of all events above which the sessions with the oldest last event are deleted.
    pub max_bytes: Option<u64>,
    /// The number of events above which a session loses its first events.
    pub max_session_events: Option<u64>,
}

impl SessionRetention {
    /// Keeps everything.
    pub const NONE: Self =
        Self { max_age_ms: None, max_sessions: None, max_bytes: None, max_session_events: None };

    /// The sessions that exceed the limits, of sessions in the order of their last events. `count` and `bytes` are the sums of
    /// all sessions, with those that have a running turn.
    fn excess<'r>(
        &self,
        idle: &'r [AgentSessionRow],
        (mut count, mut bytes): (u64, u64),
        now: u64,
    ) -> Vec<&'r str> {
        let oldest = self.max_age_ms.map_or(0, |age| now.saturating_sub(age));
        let mut excess = Vec::new();
        for row in idle {
            let is_old = row.updated_ms < oldest;
            let are_many = self.max_sessions.is_some_and(|most| count > most);
            let are_large = self.max_bytes.is_some_and(|most| bytes > most);
            if !is_old && !are_many && !are_large {
                break;
            }
            count -= 1;
            bytes = bytes.saturating_sub(row.bytes);
            excess.push(row.id.as_str());
        }
        excess
    }
}

/// The time between two checks.
const PAUSE: Duration = Duration::from_secs(60);

/// Checks the limits again and again, as long as the daemon is there.
pub(crate) fn repeat(daemon: &Daemon) {
    if *daemon.retention() == SessionRetention::NONE {
        return;
    }
    let daemon = daemon.downgrade();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(daemon) = Daemon::upgrade(&daemon) else { return };
            // A store that refuses the deletion gets the same request after the next pause.
            let _ = daemon.retain(daemon.retention()).await;
        }
    });
}

impl Daemon {
    /// Deletes the sessions and events that exceed the limits.
    pub(crate) async fn retain(&self, retention: &SessionRetention) -> Result<(), ApiProblem> {
        if *retention == SessionRetention::NONE {
            return Ok(());
        }
        let (mut idle, mut count, mut bytes) = (Vec::new(), 0, 0);
        for session in self.sessions().await {
            let row = session.row().await;
            if let Some(most) = retention.max_session_events {
                session.trim((row.sequence + 1).saturating_sub(most)).await?;
            }
            count += 1;
            let row = session.idle_row().await;
            bytes += row.as_ref().map_or(0, |row| row.bytes);
            idle.extend(row);
        }
        idle.sort_by_key(|row| row.updated_ms);
        for id in retention.excess(&idle, (count, bytes), now_ms()) {
            match self.delete(id).await {
                // A client was faster.
                Err(problem) if problem.kind == "session_not_found" => {}
                done => done?,
            }
        }
        Ok(())
    }
}
