//! One process of `opencode serve` for all sessions with the same program and environment, and the connection of a session to
//! it. The process starts with the first session and ends with the last. Its death ends the turns of its sessions; their next
//! messages start a new process.
//!
//! ```text
//! session --request lines--> requests, one after the other --HTTP--> server
//!    ^---- server-sent events of its own sessions, and responses <-----/
//! ```

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::{mpsc, watch};

use crate::opencode_events::OwnEvents;
use crate::opencode_http::{EventBody, ServerClient, random_word};
use crate::problem::ApiProblem;
use crate::process::{AgentEnd, AgentOutput, RunningAgent};
use crate::watchdog::Watchdog;

/// The time that the server has to listen. Its first start on a machine is slow.
const START: Duration = Duration::from_secs(60);
/// The time between the end of the events and the end of the process.
const END: Duration = Duration::from_secs(2);

/// The running servers by their programs, arguments and environments.
#[derive(Clone, Default)]
pub(crate) struct OpenCodeServers(Arc<Mutex<HashMap<ServerKey, RunningOpenCode>>>);

type ServerKey = (PathBuf, Vec<String>, BTreeMap<String, String>);

struct RunningOpenCode {
    state: watch::Receiver<ServerState>,
    /// The process ends with this sender.
    _stop: mpsc::Sender<()>,
    password: String,
    seats: usize,
}

#[derive(Clone)]
enum ServerState {
    Starting,
    Listening(SocketAddr),
    Ended(AgentEnd),
}

/// The place of one session at a server. Dropping it leaves the server.
pub(crate) struct OpenCodeSeat {
    servers: OpenCodeServers,
    key: ServerKey,
    state: watch::Receiver<ServerState>,
    password: String,
}

impl OpenCodeServers {
    /// Joins the server of a program, which is started if it does not run.
    pub(crate) fn join(
        &self,
        program: &Path,
        arguments: &[String],
        env: &BTreeMap<String, String>,
        watchdog: &Watchdog,
    ) -> Result<OpenCodeSeat, ApiProblem> {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (program.to_owned(), arguments.to_vec(), env.clone());
        let runs = |server: &&mut RunningOpenCode| !matches!(*server.state.borrow(), ServerState::Ended(_));
        let (state, password) = if let Some(server) = servers.get_mut(&key).filter(runs) {
            server.seats += 1;
            (server.state.clone(), server.password.clone())
        } else {
            // Other users of the machine must not reach the server.
            let password = random_word()?;
            let mut command = Command::new(program);
            command.args(arguments).envs(env).env("OPENCODE_SERVER_PASSWORD", &password);
            let (process, output) = RunningAgent::spawn(command, watchdog)?;
            let (told, state) = watch::channel(ServerState::Starting);
            let (stop, stopped) = mpsc::channel(1);
            tokio::spawn(supervise(process, output, told, stopped));
            let server =
                RunningOpenCode { state: state.clone(), _stop: stop, password: password.clone(), seats: 1 };
            servers.insert(key.clone(), server);
            (state, password)
        };
        Ok(OpenCodeSeat { servers: self.clone(), key, state, password })
    }
}

impl Drop for OpenCodeSeat {
    fn drop(&mut self) {
        let mut servers = self.servers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ours = |server: &&mut RunningOpenCode| server.state.same_channel(&self.state);
        if let Some(server) = servers.get_mut(&self.key).filter(is_ours) {
            server.seats -= 1;
            if server.seats == 0 {
                servers.remove(&self.key);
            }
        }
    }
}

/// Reads the address from the server's output, and waits for the end of the process or of the last session.
async fn supervise(
    _process: RunningAgent,
    mut output: mpsc::Receiver<AgentOutput>,
    state: watch::Sender<ServerState>,
    mut stopped: mpsc::Receiver<()>,
) {
    let mut said = String::new();
    let late = tokio::time::sleep(START);
    tokio::pin!(late);
    loop {
        let is_starting = matches!(*state.borrow(), ServerState::Starting);
        let end = tokio::select! {
            received = output.recv() => match received {
                Some(AgentOutput::Bytes(bytes)) => {
                    if is_starting {
                        said.push_str(&String::from_utf8_lossy(&bytes));
                        if let Some(address) = address_in(&said) {
                            state.send_replace(ServerState::Listening(address));
                        }
                    }
                    continue;
                }
                Some(AgentOutput::Ended(end)) => end,
                None => AgentEnd::default(),
            },
            () = &mut late, if is_starting => AgentEnd::default(),
            _ = stopped.recv() => AgentEnd::default(),
        };
        state.send_replace(ServerState::Ended(end));
        return;
    }
}

/// The address in `opencode server listening on http://127.0.0.1:4096`.
fn address_in(text: &str) -> Option<SocketAddr> {
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut addresses =
        lines.filter_map(|line| line.split_once("listening on http://")?.1.trim().parse().ok());
    addresses.next()
}

/// Connects a session to the server until the session leaves or the server ends.
pub(crate) async fn connect(
    mut seat: OpenCodeSeat,
    directory: Option<String>,
    mut input: mpsc::UnboundedReceiver<Vec<u8>>,
    output: mpsc::Sender<AgentOutput>,
) {
    let end = match open(&mut seat, directory.as_deref()).await {
        Ok((client, events)) => {
            let mut link = SessionLink::new(&client, output.clone());
            let end = link.run(&mut seat, events, &mut input).await;
            let Some(end) = end else { return link.abort(&client, directory.as_deref()).await };
            end
        }
        Err(end) => end,
    };
    // A session that is gone needs no end.
    let _ = output.send(AgentOutput::Ended(end)).await;
}

/// Waits for the server and opens the stream of its events, so that no event is missed.
async fn open(
    seat: &mut OpenCodeSeat,
    directory: Option<&str>,
) -> Result<(ServerClient, EventBody), AgentEnd> {
    let state = seat.state.wait_for(|state| !matches!(state, ServerState::Starting)).await;
    let state = state.map_or_else(|_| ServerState::Ended(AgentEnd::default()), |state| state.clone());
    let address = match state {
        ServerState::Listening(address) => address,
        ServerState::Ended(end) => return Err(end),
        ServerState::Starting => return Err(AgentEnd::default()),
    };
    let client = ServerClient::new(address, &seat.password);
    match client.events(directory).await {
        Ok(events) => Ok((client, events)),
        Err(problem) => Err(AgentEnd::told(&problem)),
    }
}

/// The end of the server.
async fn ended(state: &mut watch::Receiver<ServerState>) -> AgentEnd {
    match state.wait_for(|state| matches!(state, ServerState::Ended(_))).await.as_deref() {
        Ok(ServerState::Ended(end)) => end.clone(),
        Ok(ServerState::Starting | ServerState::Listening(_)) | Err(_) => AgentEnd::default(),
    }
}

/// The connection of one session.
struct SessionLink {
    own: OwnEvents,
    /// Request lines, sent in order.
    requests: mpsc::UnboundedSender<String>,
    answers: mpsc::UnboundedReceiver<String>,
    output: mpsc::Sender<AgentOutput>,
}

impl SessionLink {
    fn new(client: &ServerClient, output: mpsc::Sender<AgentOutput>) -> Self {
        let (requests, mut to_send) = mpsc::unbounded_channel::<String>();
        let (answered, answers) = mpsc::unbounded_channel();
        let client = client.clone();
        tokio::spawn(async move {
            while let Some(line) = to_send.recv().await {
                if let Some(event) = client.send(&line).await
                    && answered.send(event).is_err()
                {
                    return;
                }
            }
        });
        Self { own: OwnEvents::default(), requests, answers, output }
    }

    /// Moves bytes until the server ends, or the session leaves: `None`.
    async fn run(
        &mut self,
        seat: &mut OpenCodeSeat,
        mut events: EventBody,
        input: &mut mpsc::UnboundedReceiver<Vec<u8>>,
    ) -> Option<AgentEnd> {
        let mut state = seat.state.clone();
        loop {
            tokio::select! {
                bytes = input.recv() => {
                    let text = String::from_utf8_lossy(bytes.as_deref()?).into_owned();
                    for line in text.lines().filter(|line| !line.trim().is_empty()) {
                        // The task ends only with this sender.
                        let _ = self.requests.send(line.to_owned());
                    }
                }
                Some(answer) = self.answers.recv() => {
                    let frames = self.own.answered(&answer);
                    self.tell(frames).await;
                }
                piece = events.next() => {
                    let Some(bytes) = piece else {
                        // The end of the process follows the end of its events.
                        let end = tokio::time::timeout(END, ended(&mut seat.state)).await;
                        return Some(end.unwrap_or_else(|_| AgentEnd::told("the stream of events ended")));
                    };
                    let frames = self.own.received(&bytes);
                    self.tell(frames).await;
                }
                end = ended(&mut state) => return Some(end),
            }
        }
    }

    async fn tell(&self, frames: String) {
        if !frames.is_empty() {
            // A session that is gone reads nothing.
            let _ = self.output.send(AgentOutput::Bytes(frames.into_bytes())).await;
        }
    }

    /// Stops the turn of a session that has left.
    async fn abort(&self, client: &ServerClient, directory: Option<&str>) {
        if let Some(session) = self.own.session() {
            client.abort(session, directory).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::address_in;

    #[test]
    fn the_address_is_read_from_a_whole_line() {
        let line = "opencode server listening on http://127.0.0.1:4096\n";
        assert_eq!(address_in(line).map(|address| address.port()), Some(4096));
        assert_eq!(address_in(&format!("Warning\n{line}")).map(|address| address.port()), Some(4096));
        assert_eq!(address_in("opencode server listening on http://127.0.0.1:40"), None);
        assert_eq!(address_in("listening on nothing\n"), None);
    }
}
