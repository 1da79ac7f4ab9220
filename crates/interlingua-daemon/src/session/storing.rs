//! Events into the store, and then to the readers. While the store refuses events, the session waits: the agent is stopped,
//! and the turn is closed as an error as soon as the store takes events again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use interlingua_store::AgentEventRow;

use super::{Session, SessionState, now_ms};
use crate::lines;
use crate::problem::ApiProblem;
use crate::recovery::{self, ClosingCause};

/// The bytes of events that a session keeps in memory for its readers; older events are read from the store.
const RECENT_BYTES: usize = 256 << 10;
/// The pause between attempts to close a turn after the store failed.
const REPAIR: Duration = Duration::from_secs(1);

/// A failure of the store, which stopped the agent.
pub(super) struct StoreFailure {
    problem: ApiProblem,
    /// The number of events that were not stored.
    unstored: usize,
}

/// The last events, for readers that keep up.
#[derive(Default)]
pub(super) struct RecentEvents {
    pub(super) rows: VecDeque<AgentEventRow>,
    pub(super) bytes: usize,
}

impl Session {
    /// Stores the events of the output, and then tells the readers. After a failure the agent is stopped, because the
    /// numbers of its stream are ahead of the store, and the turn is closed when the store takes events again.
    pub(super) async fn store(
        self: &Arc<Self>,
        state: &mut SessionState,
        out: &[u8],
    ) -> Result<(), ApiProblem> {
        let Err((problem, unstored)) = self.try_store(state, out).await else { return Ok(()) };
        state.running = None;
        state.failure = Some(StoreFailure { problem: problem.clone(), unstored });
        let session = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REPAIR).await;
                let Some(session) = session.upgrade() else { return };
                let mut state = session.state.lock().await;
                if session.repair(&mut state).await.is_ok() {
                    return;
                }
            }
        });
        Err(problem)
    }

    /// Stores the events of the output. A failure changes nothing, and holds the number of the events.
    async fn try_store(&self, state: &mut SessionState, out: &[u8]) -> Result<(), (ApiProblem, usize)> {
        let events =
            lines::read(out).map_err(|problem| (problem, out.split(|byte| *byte == b'\n').count()))?;
        if events.is_empty() {
            return Ok(());
        }
        let mut row = state.row.clone();
        for event in &events {
            row.sequence = event.row.sequence;
            row.bytes += event.row.size();
            if let Some(id) = &event.native_session_id {
                row.native_id = Some(id.clone());
            }
            match event.kind.as_str() {
                "item.started" => row.items += 1,
                "turn.started" => row.turns += 1,
                "session.ended" => row.ended = true,
                _ => {}
            }
        }
        row.updated_ms = now_ms();
        let rows: Vec<AgentEventRow> = events.iter().map(|event| event.row.clone()).collect();
        let stored = self.log.append(row.clone(), rows.clone()).await;
        stored.map_err(|error| (error.into(), rows.len()))?;
        state.row = row;
        for event in events {
            match (event.kind.as_str(), event.request.clone()) {
                ("turn.started", _) => state.in_turn = true,
                ("turn.ended", _) => state.in_turn = false,
                ("permission.requested" | "question.requested", Some(id)) => {
                    state.pending.insert(id, event);
                }
                ("permission.resolved" | "question.resolved", Some(id)) => {
                    state.pending.remove(&id);
                    state.resolved.insert(id);
                }
                _ => {}
            }
        }
        self.publish(state.row.sequence, rows);
        Ok(())
    }

    /// Keeps stored events in memory and tells the readers.
    fn publish(&self, sequence: u64, rows: Vec<AgentEventRow>) {
        let mut recent = self.recent();
        for row in rows {
            recent.bytes += row.event.len() + row.raw.len();
            recent.rows.push_back(row);
        }
        while recent.bytes > RECENT_BYTES && recent.rows.len() > 1 {
            let oldest = recent.rows.pop_front();
            recent.bytes -= oldest.map_or(0, |row| row.event.len() + row.raw.len());
        }
        drop(recent);
        self.stored.send_replace(sequence);
    }

    /// Closes the turn that a failure of the store left open. Fails while the store refuses events.
    pub(super) async fn repair(&self, state: &mut SessionState) -> Result<(), ApiProblem> {
        let Some(StoreFailure { problem, unstored }) = &state.failure else { return Ok(()) };
        // A store that lost its connection may have stored the events. A session that is gone was deleted.
        if let Some(row) = self.log.session(&state.row.id).await? {
            let message = format!(
                "{unstored} events could not be stored, and the agent was stopped: {}",
                problem.detail
            );
            let cause = ClosingCause { code: "store_failed", message };
            let (row, rows) = recovery::close_after_failure(row, &self.log, &cause).await?;
            state.row = row;
            *self.recent() = RecentEvents::default();
            self.publish(state.row.sequence, rows);
        }
        state.in_turn = false;
        state.resolved.extend(state.pending.drain().map(|(id, _)| id));
        state.failure = None;
        Ok(())
    }
}
