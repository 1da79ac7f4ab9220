//! One session: the agent's stream, its events in the store, and the client's requests.

mod storing;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, SystemTime};

use interlingua::dialects::{Options, Role, SessionProgress};
use interlingua::error::Error;
use interlingua::json::{Raw, Str};
use interlingua::model::{
    Arrival, Author, Delta, Event, Failure, FailureClass, ItemHead, ItemId, ItemKind, ItemTail, Media,
    MediaSource, Part, SessionEnd, Status, Stop, StopClass, Turn,
};
use interlingua::pipe::{AgentStream, EventReader};
use interlingua_store::{AgentEventRow, AgentSessionRow, SessionLog};
use serde_json::{Value, json};
use storing::{RecentEvents, StoreFailure};
use tokio::sync::{Mutex, watch};

use crate::agents::Agent;
use crate::drivers::Drivers;
use crate::lines::{self, EventLine};
use crate::problem::ApiProblem;
use crate::process::{self, AgentEnd, AgentOutput, RunningAgent};
use crate::recovery;
use crate::settings::{MessageBody, PermissionReply, QuestionReply, Reply, SessionSettings};

/// The time that an agent has to end an interrupted turn.
const INTERRUPT: Duration = Duration::from_secs(5);
/// Ids of items of the client are above all ids of the agent's items.
const CLIENT_ITEMS: u64 = 1 << 63;

/// A session.
pub(crate) struct Session {
    pub(crate) agent: &'static Agent,
    pub(crate) settings: SessionSettings,
    log: SessionLog,
    drivers: Drivers,
    state: Mutex<SessionState>,
    /// The number of the last stored event.
    pub(crate) stored: watch::Sender<u64>,
    recent: SyncMutex<RecentEvents>,
}

struct SessionState {
    row: AgentSessionRow,
    /// The stream and the agent, while the agent runs.
    running: Option<(AgentStream, RunningAgent)>,
    /// The number of starts of the agent: output of an earlier process is ignored.
    starts: u64,
    /// Set while a turn is open.
    in_turn: bool,
    /// The requested events of permissions and questions that wait for an answer, by id.
    pending: HashMap<String, EventLine>,
    resolved: HashSet<String>,
    client_items: u64,
    /// The permission mode that replaces that of the settings.
    permission_mode: Option<String>,
    /// Set while the running agent has an earlier permission mode.
    is_outdated: bool,
    /// Set while the store refuses events. The turn is closed as an error when the store takes events again.
    failure: Option<StoreFailure>,
}

impl Session {
    /// A session from its row in the store.
    pub(crate) fn new(
        agent: &'static Agent,
        settings: SessionSettings,
        row: AgentSessionRow,
        log: SessionLog,
        drivers: Drivers,
    ) -> Self {
        let stored = watch::Sender::new(row.sequence);
        let state = SessionState {
            row,
            running: None,
            starts: 0,
            in_turn: false,
            pending: HashMap::new(),
            resolved: HashSet::new(),
            client_items: CLIENT_ITEMS,
            permission_mode: None,
            is_outdated: false,
            failure: None,
        };
        let (state, recent) = (Mutex::new(state), SyncMutex::default());
        Self { agent, settings, log, drivers, state, stored, recent }
    }

    /// The row of the session as it is now.
    pub(crate) async fn row(&self) -> AgentSessionRow {
        self.state.lock().await.row.clone()
    }

    /// The row of the session, unless a turn is running.
    pub(crate) async fn idle_row(&self) -> Option<AgentSessionRow> {
        let state = self.state.lock().await;
        (!state.in_turn).then(|| state.row.clone())
    }

    /// Deletes the events below a number, unless a turn is running.
    pub(crate) async fn trim(&self, lowest: u64) -> Result<(), ApiProblem> {
        let mut state = self.state.lock().await;
        if state.in_turn || lowest <= state.row.lowest {
            return Ok(());
        }
        let bytes = self.log.trim(&state.row.id, lowest).await?;
        state.row.lowest = lowest;
        state.row.bytes = state.row.bytes.saturating_sub(bytes);
        let mut recent = self.recent();
        while recent.rows.front().is_some_and(|row| row.sequence < lowest) {
            let expired = recent.rows.pop_front();
            recent.bytes -= expired.map_or(0, |row| row.event.len() + row.raw.len());
        }
        Ok(())
    }

    /// Writes the first event of a new session.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<(), ApiProblem> {
        let mut state = self.state.lock().await;
        let mut stream = self.stream(&state.row, None)?;
        let mut out = Vec::new();
        let facts = self.settings.facts(self.agent.id, None);
        stream.note(&Event::SessionStarted(facts), &mut out);
        self.store(&mut state, &out).await
    }

    /// A stream that continues the session's events.
    fn stream(&self, row: &AgentSessionRow, native_id: Option<&str>) -> Result<AgentStream, ApiProblem> {
        let failed = |error: Error| ApiProblem::stream_error(error.to_string());
        let progress = (row.sequence > 0)
            .then(|| SessionProgress::new(row.sequence, row.items, row.turns, native_id.map(str::to_owned)));
        let options = Options::default()
            .with_session_id(row.id.clone())
            .with_progress(progress)
            .with_include_raw(true)
            .with_now(now_ms());
        let from = self.agent.dialect.parse().map_err(failed)?;
        let to = "universal".parse().map_err(failed)?;
        let input = self.agent.input.parse().map_err(failed)?;
        AgentStream::with_input(from, input, (to, Role::Live), &options).map_err(failed)
    }

    /// Starts the agent, if it does not run.
    fn start(self: &Arc<Self>, state: &mut SessionState) -> Result<(), ApiProblem> {
        if std::mem::take(&mut state.is_outdated) {
            state.running = None;
        }
        if state.running.is_some() {
            return Ok(());
        }
        let mut settings = self.settings.clone();
        settings.permission_mode = state.permission_mode.clone().or(settings.permission_mode);
        let native_id = state.row.native_id.clone().or_else(|| self.settings.native_session_id.clone());
        let native_id = native_id.filter(|_| self.agent.resumes);
        let settings = settings.pointed(self.agent)?;
        let (agent, mut output) =
            RunningAgent::start(self.agent, &settings, native_id.as_deref(), &self.drivers)?;
        let mut stream = self.stream(&state.row, state.row.native_id.as_deref())?;
        let facts = self.agent.facts(&settings, native_id.as_deref());
        // The first event of the session holds the settings already.
        let bytes = stream.send_only(&Event::SessionStarted(facts));
        send(&agent, bytes);
        state.starts += 1;
        state.running = Some((stream, agent));
        let (session, start) = (Arc::downgrade(self), state.starts);
        tokio::spawn(async move {
            while let Some(first) = output.recv().await {
                let Some(session) = session.upgrade() else { return };
                let (bytes, end) = process::gathered(first, &mut output);
                if !bytes.is_empty() {
                    session.received(start, AgentOutput::Bytes(bytes)).await;
                }
                if let Some(end) = end {
                    session.received(start, AgentOutput::Ended(end)).await;
                }
            }
        });
        Ok(())
    }

    /// Handles output of the agent.
    async fn received(self: &Arc<Self>, start: u64, output: AgentOutput) {
        let mut state = self.state.lock().await;
        if state.starts != start {
            return;
        }
        match output {
            AgentOutput::Bytes(bytes) => {
                let Some((stream, agent)) = &mut state.running else { return };
                let mut out = Vec::new();
                tick(stream, &mut out);
                let reply = stream.receive(&bytes, &mut out);
                send(agent, self.agent.with_servers(&self.settings, reply));
                let stored = self.store(&mut state, &out).await;
                if stored.is_ok() && state.in_turn && refuses_to_begin(&out) {
                    self.give_up(&mut state).await;
                }
            }
            AgentOutput::Ended(end) => self.ended(&mut state, &end).await,
        }
    }

    /// Ends a turn that the agent refused to begin. The next message starts the agent again.
    async fn give_up(self: &Arc<Self>, state: &mut SessionState) {
        let Some((mut stream, _agent)) = state.running.take() else { return };
        let mut out = Vec::new();
        tick(&mut stream, &mut out);
        let message = format!("{} did not begin the turn", self.agent.name);
        // The end of the stream completes the open items and ends the turn.
        stream.note(&Event::Error(failure("turn_refused", &message)), &mut out);
        out.extend(close(stream));
        // A failure of the store is noted in the state.
        let _ = self.store(state, &out).await;
    }

    /// Closes the turn and perhaps the session after the agent has ended.
    async fn ended(self: &Arc<Self>, state: &mut SessionState, end: &AgentEnd) {
        let Some((mut stream, _)) = state.running.take() else { return };
        let is_crash = end.code != Some(0) || state.in_turn;
        // A new process can go on with the agent's own session.
        let stays_open = self.agent.resumes && state.row.native_id.is_some();
        let mut out = Vec::new();
        tick(&mut stream, &mut out);
        if is_crash {
            let code = end.code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            let message = format!("{} ended with {code}", self.agent.name);
            // The end of the stream completes the open items and ends the turn.
            stream.note(&Event::Error(failure("process_exit", &message)), &mut out);
            if !stays_open {
                let message = Some(Str::from_plain(&message).into_owned());
                let ended = SessionEnd { status: Status::Failed, message };
                stream.note(&Event::SessionEnded(ended), &mut out);
            }
        }
        if stays_open {
            out.extend(close(stream));
        } else {
            stream.finish(&mut out);
            if is_crash {
                out = with_exit(&out, end);
            }
        }
        // A failure of the store is noted in the state.
        let _ = self.store(state, &out).await;
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, RecentEvents> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events after a number, at most `most`: from memory if they are recent, else from the store.
    pub(crate) async fn events(&self, after: u64, most: u64) -> Result<Vec<AgentEventRow>, ApiProblem> {
        let in_memory = {
            let recent = self.recent();
            let first = recent.rows.front().map_or(u64::MAX, |row| row.sequence);
            (first <= after.saturating_add(1)).then(|| {
                let skipped = usize::try_from(after.saturating_add(1) - first).unwrap_or(usize::MAX);
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                recent.rows.iter().skip(skipped).take(most).cloned().collect::<Vec<_>>()
            })
        };
        if let Some(rows) = in_memory {
            return Ok(rows);
        }
        let id = self.state.lock().await.row.id.clone();
        Ok(self.log.events(id, after, most).await?)
    }

    /// Sends a prompt. Returns the number of the event before the turn.
    pub(crate) async fn prompt(self: &Arc<Self>, body: &MessageBody) -> Result<u64, ApiProblem> {
        if body.message.trim().is_empty() && body.attachments.is_empty() {
            return Err(ApiProblem::invalid_request("the message is empty"));
        }
        let media = self.media(body).await?;
        let text = Some(&body.message).filter(|text| !text.is_empty());
        let text = text.map(|text| Part::Text(Str::from_plain(text).into_owned()));
        self.prompt_parts(text.into_iter().chain(media).collect()).await
    }

    /// Sends a prompt of these parts. Returns the number of the event before the turn.
    pub(crate) async fn prompt_parts(self: &Arc<Self>, parts: Vec<Part<'static>>) -> Result<u64, ApiProblem> {
        let mut state = self.state.lock().await;
        if state.row.ended {
            return Err(ApiProblem::session_ended("the session has ended"));
        }
        self.repair(&mut state).await?;
        if state.in_turn {
            return Err(ApiProblem::session_busy("a turn is running; wait for its end or interrupt it"));
        }
        self.start(&mut state)?;
        let before = state.row.sequence;
        state.client_items += 1;
        let item = ItemId(state.client_items);
        let Some((stream, agent)) = &mut state.running else {
            return Err(ApiProblem::agent_process_exited("the agent does not run"));
        };
        let mut out = Vec::new();
        tick(stream, &mut out);
        stream.note(&Event::TurnStarted(Turn::default()), &mut out);
        let deltas = parts.into_iter().enumerate().map(|(number, value)| {
            Event::ItemDelta(Delta { item, part: number as u32, value, arrival: Arrival::Whole })
        });
        let head = Event::ItemStarted(ItemHead::new(item, ItemKind::Message, Author::User));
        let tail = Event::ItemCompleted(ItemTail::new(item, Status::Completed));
        let mut bytes = Vec::new();
        for event in std::iter::once(head).chain(deltas).chain([tail]) {
            bytes.extend(if self.agent.echoes_prompts {
                stream.send_only(&event)
            } else {
                stream.send(&event, &mut out)
            });
        }
        let input = agent.input.clone();
        self.store(&mut state, &out).await?;
        // The end of the output shows that an agent has ended.
        let _ = input.send(bytes);
        Ok(before)
    }

    /// The attachments as parts of a prompt.
    async fn media(&self, body: &MessageBody) -> Result<Vec<Part<'static>>, ApiProblem> {
        let mut parts = Vec::new();
        for attachment in &body.attachments {
            let path = std::path::Path::new(&attachment.path);
            let guessed = || match path.extension().and_then(|end| end.to_str()) {
                Some("png") => Some("image/png".to_owned()),
                Some("jpg" | "jpeg") => Some("image/jpeg".to_owned()),
                Some("gif") => Some("image/gif".to_owned()),
                Some("webp") => Some("image/webp".to_owned()),
                _ => None,
            };
            let kind = attachment.mime.clone().or_else(guessed).filter(|kind| kind.starts_with("image/"));
            let Some(kind) = kind.filter(|_| self.agent.images) else {
                let detail = format!("{} takes no attachment such as `{}`", self.agent.name, attachment.path);
                return Err(ApiProblem::invalid_request(detail));
            };
            let bytes = tokio::fs::read(path).await.map_err(|error| {
                ApiProblem::invalid_request(format!("`{}` cannot be read: {error}", attachment.path))
            })?;
            let name = attachment.filename.as_deref().map(|name| Str::from_plain(name).into_owned());
            parts.push(Part::Media(Media {
                media_type: Some(Str::from_plain(&kind).into_owned()),
                source: MediaSource::Base64(Str::from_plain(&base64(&bytes)).into_owned()),
                name,
                context: None,
                citable: None,
                detail: None,
            }));
        }
        Ok(parts)
    }

    /// Interrupts the running turn. Without a turn nothing happens.
    pub(crate) async fn interrupt(self: &Arc<Self>) -> Result<(), ApiProblem> {
        let mut state = self.state.lock().await;
        let turn = state.row.turns;
        let in_turn = state.in_turn;
        let Some((stream, agent)) = state.running.as_mut().filter(|_| in_turn) else { return Ok(()) };
        let bytes = stream.send_only(&turn_ended(StopClass::Cancelled));
        if bytes.is_empty() {
            // The agent has no message for an interrupt (Amp), so the process is stopped; the next prompt resumes the session.
            self.end_turn(&mut state, StopClass::Cancelled).await;
            return Ok(());
        }
        send(agent, bytes);
        let session = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(INTERRUPT).await;
            let Some(session) = session.upgrade() else { return };
            let mut state = session.state.lock().await;
            if state.in_turn && state.row.turns == turn {
                session.end_turn(&mut state, StopClass::Cancelled).await;
            }
        });
        Ok(())
    }

    /// Sets the permission mode for the prompts from now on. A running agent is started again with the next prompt, and
    /// goes on with its own session.
    pub(crate) async fn set_permission_mode(&self, mode: &str) -> Result<(), ApiProblem> {
        let mut settings = self.settings.clone();
        settings.permission_mode = Some(mode.to_owned());
        self.agent.check(&settings)?;
        let mut state = self.state.lock().await;
        let known = state.permission_mode.as_deref().unwrap_or(self.settings.permission());
        if known == mode {
            return Ok(());
        }
        if state.row.turns > 0 && !self.agent.resumes {
            let detail = format!("{} cannot change its mode after the first prompt", self.agent.name);
            return Err(ApiProblem::mode_not_supported(detail));
        }
        state.permission_mode = Some(mode.to_owned());
        state.is_outdated = state.running.is_some();
        Ok(())
    }

    /// Ends a turn that the agent does not end: the agent is stopped, and the next message starts it again.
    async fn end_turn(self: &Arc<Self>, state: &mut SessionState, class: StopClass) {
        let Some((mut stream, _agent)) = state.running.take() else { return };
        let mut out = Vec::new();
        tick(&mut stream, &mut out);
        if class == StopClass::Error {
            let stopped = failure("daemon_stop", "the daemon was stopped during the turn");
            // The end of the stream completes the open items and ends the turn.
            stream.note(&Event::Error(stopped), &mut out);
        } else {
            stream.note(&turn_ended(class), &mut out);
        }
        out.extend(close(stream));
        // A failure of the store is noted in the state.
        let _ = self.store(state, &out).await;
    }

    /// Ends the session and its agent. A second call does nothing.
    pub(crate) async fn terminate(self: &Arc<Self>) -> Result<(), ApiProblem> {
        let mut state = self.state.lock().await;
        if state.row.ended {
            return Ok(());
        }
        self.repair(&mut state).await?;
        let mut stream = match state.running.take() {
            Some((stream, agent)) => {
                agent.kill();
                stream
            }
            None => self.stream(&state.row, state.row.native_id.as_deref())?,
        };
        let mut out = Vec::new();
        tick(&mut stream, &mut out);
        if state.in_turn {
            stream.note(&turn_ended(StopClass::Cancelled), &mut out);
        }
        let ended = SessionEnd { status: Status::Interrupted, message: None };
        stream.note(&Event::SessionEnded(ended), &mut out);
        stream.finish(&mut out);
        self.store(&mut state, &out).await
    }

    /// Stops the agent without the end of the session, because the daemon ends.
    pub(crate) async fn stop(self: &Arc<Self>) {
        let mut state = self.state.lock().await;
        if state.in_turn {
            self.end_turn(&mut state, StopClass::Error).await;
        } else {
            state.running = None;
        }
    }

    /// Answers a permission request.
    pub(crate) async fn decide(
        self: &Arc<Self>,
        id: &str,
        reply: &PermissionReply,
    ) -> Result<(), ApiProblem> {
        let status = match reply.reply {
            Reply::Once => "accept",
            Reply::Always => "accept_for_session",
            Reply::Reject => "reject",
        };
        let message = reply.message.clone();
        self.resolve(id, "permission", |data| {
            data["status"] = status.into();
            if let Some(message) = message.filter(|_| status == "reject") {
                data["metadata"]["answer"] = json!({ "reject": message });
            }
            Ok(())
        })
        .await
    }

    /// Answers a question, or rejects it.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        id: &str,
        reply: Option<&QuestionReply>,
    ) -> Result<(), ApiProblem> {
        self.resolve(id, "question", |data| {
            let Some(reply) = reply else {
                data["status"] = "rejected".into();
                return Ok(());
            };
            let prompts = data["prompts"].as_array().map_or(1, Vec::len);
            if reply.answers.len() != prompts {
                let detail = format!("{} answers for {prompts} questions", reply.answers.len());
                return Err(ApiProblem::invalid_request(detail));
            }
            data["status"] = "answered".into();
            data["response"] = reply.answers.iter().flatten().next().cloned().into();
            data["answers"] = json!(reply.answers);
            Ok(())
        })
        .await
    }

    /// Resolves a request of the agent: its event with the answer becomes the event of the resolution.
    async fn resolve(
        self: &Arc<Self>,
        id: &str,
        sort: &str,
        answer: impl FnOnce(&mut Value) -> Result<(), ApiProblem>,
    ) -> Result<(), ApiProblem> {
        let mut state = self.state.lock().await;
        let requested = format!("{sort}.requested");
        let Some(line) = state.pending.get(id).filter(|line| line.kind == requested) else {
            // Requests of an earlier daemon are in the store only.
            let is_resolved = state.resolved.contains(id)
                || recovery::was_resolved(&self.log, &state.row.id, &format!("{sort}.resolved"), id).await?;
            return Err(if is_resolved {
                ApiProblem::already_resolved(format!("the {sort} `{id}` is resolved already"))
            } else {
                ApiProblem::not_found(format!("no {sort} has the id `{id}`"))
            });
        };
        let mut text = Vec::new();
        lines::whole(&line.row, false, &mut text);
        let unreadable = |error: serde_json::Error| ApiProblem::stream_error(error.to_string());
        let mut event: Value = serde_json::from_slice(&text).map_err(unreadable)?;
        answer(&mut event["data"])?;
        event["type"] = format!("{sort}.resolved").into();
        event["synthetic"] = false.into();
        let Some((stream, agent)) = &mut state.running else {
            return Err(ApiProblem::agent_process_exited("the agent does not run any more"));
        };
        // The request stays pending, because its answer cannot be delivered.
        if agent.input.is_closed() {
            return Err(ApiProblem::agent_process_exited("the agent does not read its input any more"));
        }
        let mut out = Vec::new();
        tick(stream, &mut out);
        let mut bytes = Vec::new();
        let failed = |error: Error| ApiProblem::stream_error(error.to_string());
        let universal = "universal".parse().map_err(failed)?;
        let mut reader = EventReader::new((universal, Role::Live), &Options::default()).map_err(failed)?;
        reader.push(format!("{event}\n").as_bytes(), |event| {
            if matches!(event, Event::PermissionResolved(_) | Event::QuestionResolved(_)) {
                bytes = stream.send(event, &mut out);
            }
        });
        let input = agent.input.clone();
        self.store(&mut state, &out).await?;
        let _ = input.send(bytes);
        Ok(())
    }

    /// The requests that wait for an answer, as their events.
    pub(crate) async fn pending(&self) -> Vec<AgentEventRow> {
        let state = self.state.lock().await;
        let mut rows: Vec<AgentEventRow> = state.pending.values().map(|line| line.row.clone()).collect();
        rows.sort_by_key(|row| row.sequence);
        rows
    }
}

/// Sends bytes to the agent. An agent that has ended shows it by its end.
fn send(agent: &RunningAgent, bytes: Vec<u8>) {
    if !bytes.is_empty() {
        let _ = agent.input.send(bytes);
    }
}

/// The requests without which an agent begins no turn.
const OPENINGS: [&str; 7] = [
    "initialize",
    "session/new",
    "session/load",
    "session/resume",
    "thread/start",
    "thread/resume",
    "turn/start",
];

/// Whether the output has an error that answers a request without which the agent begins no turn. The agent reports no end
/// of the turn then.
fn refuses_to_begin(out: &[u8]) -> bool {
    let text = String::from_utf8_lossy(out);
    let errors = text.lines().filter(|line| line.contains(r#","type":"error","data":"#));
    errors.filter_map(|line| serde_json::from_str::<Value>(line).ok()).any(|event| {
        let raw = &event["raw"];
        let method = raw["id"].as_str().and_then(|id| id.split_once('#')).unwrap_or_default().0;
        // OpenCode's responses name their requests. Answers to permissions and questions begin no turn.
        let request = raw["request"].as_str().unwrap_or_default();
        let is_opening = request.starts_with("POST /session") || request.starts_with("GET /session");
        let is_refused = is_opening && raw["status"].as_u64().is_some_and(|status| status >= 400);
        is_refused || raw["error"].is_object() && OPENINGS.contains(&method)
    })
}

/// The events of an ended stream without the end of the session, which goes on with a new process.
fn close(stream: AgentStream) -> Vec<u8> {
    let mut out = Vec::new();
    stream.finish(&mut out);
    let text = String::from_utf8_lossy(&out);
    let is_end = |line: &&str| line.contains(r#","type":"session.ended","data":"#);
    let lines = text.lines().filter(|line| !is_end(line));
    lines.flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// Adds the exit code and the standard error to the end of the session.
fn with_exit(out: &[u8], end: &AgentEnd) -> Vec<u8> {
    let text = String::from_utf8_lossy(out);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Some(last) = lines.last_mut()
        && let Ok(mut event) = serde_json::from_str::<Value>(last)
        && event["type"] == "session.ended"
    {
        event["data"]["exit_code"] = json!(end.code);
        if let Some(stderr) = end.stderr.json() {
            event["data"]["stderr"] = stderr;
        }
        *last = event.to_string();
    }
    lines.into_iter().flat_map(|line| (line + "\n").into_bytes()).collect()
}

/// Sets the time of the next events.
fn tick(stream: &mut AgentStream, out: &mut Vec<u8>) {
    stream.note(&Event::Clock(Raw::owned(now_ms().to_string())), out);
}

pub(crate) fn turn_ended(class: StopClass) -> Event<'static> {
    let stop = Stop { class, raw: None, sequence: None, detail: None };
    Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() })
}

pub(crate) fn failure(code: &'static str, message: &str) -> Failure<'static> {
    Failure {
        class: FailureClass::Other,
        status: None,
        code: Some(Str::escaped(code)),
        message: Str::from_plain(message).into_owned(),
        request_id: None,
        retry_after: None,
    }
}

/// The current time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

fn base64(bytes: &[u8]) -> String {
    let mut json = interlingua::json::JsonBuffer::default();
    json.hold().base64(bytes);
    json.held().trim_matches('"').to_owned()
}
