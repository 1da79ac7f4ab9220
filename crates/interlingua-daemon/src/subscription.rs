//! Readers of a session's events: server-sent events, from the store and then live. A reader that lags is caught up from
//! the store, so it never misses an event.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use crate::lines;
use crate::session::Session;

/// The silence after which a reader gets a comment. Readers may rely on one comment in 15 seconds.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How many events are read at once.
const AT_ONCE: u64 = 512;
/// How many pieces wait for a reader. The session never waits for a reader.
const WAITING: usize = 4;

/// What a reader wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subscription {
    /// The number of the last event that the reader has.
    pub(crate) after: u64,
    pub(crate) include_raw: bool,
    pub(crate) until: Until,
}

/// When a stream of events ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When the reader leaves.
    Never,
    /// After the end of the session.
    SessionEnd,
    /// After the end of the turn, or of the session.
    TurnEnd,
}

/// Starts a stream of server-sent events. The stream ends when the daemon stops, which sets `closing`.
pub(crate) fn start(
    session: Arc<Session>,
    subscription: Subscription,
    closing: watch::Receiver<bool>,
) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(send_events(session, subscription, closing, sender));
    receiver
}

async fn send_events(
    session: Arc<Session>,
    mut subscription: Subscription,
    mut closing: watch::Receiver<bool>,
    sender: mpsc::Sender<Bytes>,
) {
    let mut stored = session.stored.subscribe();
    loop {
        stored.borrow_and_update();
        // An end that is known before the events are read is among the events, or the reader has it already.
        let is_closing = *closing.borrow_and_update();
        let is_over = is_closing || subscription.until != Until::Never && session.row().await.ended;
        loop {
            // A store that fails ends the stream; the reader comes back with the number of its last event.
            let Ok(rows) = session.events(subscription.after, AT_ONCE).await else { return };
            let Some(last) = rows.last() else { break };
            subscription.after = last.sequence;
            let mut out = Vec::new();
            let mut is_end = false;
            for row in &rows {
                out.extend_from_slice(format!("id: {}\ndata: ", row.sequence).as_bytes());
                lines::whole(row, subscription.include_raw, &mut out);
                out.extend_from_slice(b"\n\n");
                let ends_session = || lines::is_of_type(row, "session.ended");
                is_end = match subscription.until {
                    Until::Never => false,
                    Until::SessionEnd => ends_session(),
                    Until::TurnEnd => lines::is_of_type(row, "turn.ended") || ends_session(),
                };
                if is_end {
                    break;
                }
            }
            if sender.send(out.into()).await.is_err() || is_end {
                return;
            }
        }
        if is_over {
            return;
        }
        tokio::select! {
            changed = stored.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            // A daemon that is gone stops as well.
            _ = closing.changed() => {}
            () = tokio::time::sleep(HEARTBEAT) => {
                if sender.send(Bytes::from_static(b": keep-alive\n\n")).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}
