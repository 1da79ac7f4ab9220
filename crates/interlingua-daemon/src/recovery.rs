//! After a daemon that was killed, or a store that failed: the items, requests and the turn that were left open are closed as errors.

use std::collections::BTreeMap;

use interlingua_store::{AgentEventRow, AgentSessionRow, SessionLog};
use serde_json::{Value, json};

use crate::lines;
use crate::problem::ApiProblem;
use crate::session::now_ms;

/// How many events are read at once.
const AT_ONCE: u64 = 4096;

/// The events that a stream left open, by the ids of their items and requests.
#[derive(Default)]
struct LeftOpen {
    items: BTreeMap<String, Value>,
    requests: BTreeMap<String, Value>,
    turn: Option<Value>,
    /// The last event.
    last: Value,
}

/// The error before the ends of the open turn and its items.
pub(crate) struct ClosingCause {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Closes everything that the last events of the session left open. Returns the row of the session after it.
pub(crate) async fn close_open_turn(
    mut row: AgentSessionRow,
    log: &SessionLog,
) -> Result<AgentSessionRow, ApiProblem> {
    // A session is closed after these events, so that the daemon starts without reading all events.
    let last = log.events(row.id.clone(), row.sequence.saturating_sub(1), 1).await?;
    let is_closed = |kind| last.last().is_some_and(|event| lines::is_of_type(event, kind));
    if ["session.started", "turn.ended", "session.ended"].into_iter().any(is_closed) {
        return Ok(row);
    }
    let open = LeftOpen::of(&row.id, log).await?;
    if open.is_empty() {
        return Ok(row);
    }
    let message = "the daemon was stopped during the turn".to_owned();
    let cause = ClosingCause { code: "daemon_restart", message };
    let closing = open.closing(&row, &cause);
    store_closing(&mut row, &closing, log).await?;
    Ok(row)
}

/// Adds the error and closes everything that is open. Returns the row of the session after it, and the new events.
pub(crate) async fn close_after_failure(
    mut row: AgentSessionRow,
    log: &SessionLog,
    cause: &ClosingCause,
) -> Result<(AgentSessionRow, Vec<AgentEventRow>), ApiProblem> {
    let open = LeftOpen::of(&row.id, log).await?;
    let closing = open.closing(&row, cause);
    let rows = store_closing(&mut row, &closing, log).await?;
    Ok((row, rows))
}

async fn store_closing(
    row: &mut AgentSessionRow,
    closing: &str,
    log: &SessionLog,
) -> Result<Vec<AgentEventRow>, ApiProblem> {
    let rows: Vec<AgentEventRow> =
        lines::read(closing.as_bytes())?.into_iter().map(|line| line.row).collect();
    row.sequence += rows.len() as u64;
    row.bytes += rows.iter().map(AgentEventRow::size).sum::<u64>();
    row.updated_ms = now_ms();
    log.append(row.clone(), rows.clone()).await?;
    Ok(rows)
}

/// Whether the stored events of a session resolve a request.
pub(crate) async fn was_resolved(
    log: &SessionLog,
    session: &str,
    kind: &str,
    request: &str,
) -> Result<bool, ApiProblem> {
    let mut after = 0;
    loop {
        let rows = log.events(session, after, AT_ONCE).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        after = last.sequence;
        for row in rows.iter().filter(|row| lines::is_of_type(row, kind)) {
            let mut line = Vec::new();
            lines::whole(row, false, &mut line);
            if lines::read(&line)?.iter().any(|event| event.request.as_deref() == Some(request)) {
                return Ok(true);
            }
        }
    }
}

impl LeftOpen {
    /// Reads all events of a session.
    async fn of(session: &str, log: &SessionLog) -> Result<Self, ApiProblem> {
        let mut open = LeftOpen::default();
        let mut after = 0;
        loop {
            let events = log.events(session, after, AT_ONCE).await?;
            let Some(last) = events.last() else { return Ok(open) };
            after = last.sequence;
            for event in &events {
                open.observe(event);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.requests.is_empty() && self.turn.is_none()
    }

    fn observe(&mut self, row: &AgentEventRow) {
        let mut text = Vec::new();
        lines::whole(row, false, &mut text);
        let Ok(event) = serde_json::from_slice::<Value>(&text) else { return };
        self.last = event.clone();
        let item = event["data"]["item"]["item_id"].as_str().map(str::to_owned);
        let request = event["data"]["permission_id"].as_str().or(event["data"]["question_id"].as_str());
        let request = request.map(str::to_owned);
        match (event["type"].as_str().unwrap_or_default(), item, request) {
            ("item.started", Some(id), _) => drop(self.items.insert(id, event)),
            ("item.completed", Some(id), _) => drop(self.items.remove(&id)),
            ("permission.requested" | "question.requested", _, Some(id)) => {
                drop(self.requests.insert(id, event));
            }
            ("permission.resolved" | "question.resolved", _, Some(id)) => drop(self.requests.remove(&id)),
            ("turn.started", ..) => self.turn = Some(event),
            ("turn.ended", ..) => self.turn = None,
            _ => {}
        }
    }

    /// The error, and the events that close the stream.
    fn closing(self, row: &AgentSessionRow, cause: &ClosingCause) -> String {
        let Self { items, requests, turn, last } = self;
        let mut sequence = row.sequence;
        let mut out = String::new();
        let mut say = |mut event: Value, kind: &str| {
            sequence += 1;
            event["event_id"] = format!("evt_{}_{sequence}", row.id).into();
            event["sequence"] = sequence.into();
            event["time"] = last["time"].clone();
            event["native_session_id"] = row.native_id.clone().into();
            event["synthetic"] = true.into();
            event["source"] = "daemon".into();
            event["type"] = kind.into();
            event["raw"] = Value::Null;
            out.push_str(&event.to_string());
            out.push('\n');
        };
        let mut error = last.clone();
        error["data"] =
            json!({ "message": cause.message, "code": cause.code, "details": { "class": "other" } });
        say(error, "error");
        for mut event in items.into_values() {
            event["data"]["item"]["status"] = "failed".into();
            say(event, "item.completed");
        }
        for mut event in requests.into_values() {
            let is_permission = event["type"] == "permission.requested";
            event["data"]["status"] = if is_permission { "reject" } else { "rejected" }.into();
            say(event, if is_permission { "permission.resolved" } else { "question.resolved" });
        }
        if let Some(mut event) = turn {
            event["data"]["phase"] = "ended".into();
            event["data"]["metadata"] = json!({ "stop": { "class": "error" } });
            say(event, "turn.ended");
        }
        out
    }
}
