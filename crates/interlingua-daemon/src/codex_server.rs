//! One process of `codex app-server` for all sessions with the same program and the environment of the daemon. The process
//! starts with the first session and ends with the last. Its death ends the turns of its sessions; their next messages start
//! a new process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::process::Command;
use tokio::sync::mpsc;

use crate::codex_switch::{CodexMove, CodexSwitch};
use crate::problem::ApiProblem;
use crate::process::{AgentEnd, AgentOutput, RunningAgent, WAITING};
use crate::watchdog::Watchdog;

/// The longest line of the server.
const LONGEST: usize = 256 << 20;

/// The running servers by their programs and arguments.
#[derive(Clone, Default)]
pub(crate) struct CodexServers(Arc<Mutex<ServerList>>);

#[derive(Default)]
struct ServerList {
    servers: HashMap<CodexProgram, RunningServer>,
    /// The number of the last session.
    sessions: u64,
}

/// A program with its arguments.
type CodexProgram = (PathBuf, Vec<String>);

struct RunningServer {
    commands: mpsc::UnboundedSender<ServerCommand>,
    seats: usize,
}

/// The place of one session at a server. Dropping it leaves the server.
pub(crate) struct CodexSeat {
    servers: CodexServers,
    program: CodexProgram,
    session: u64,
    commands: mpsc::UnboundedSender<ServerCommand>,
}

enum ServerCommand {
    Join(u64, mpsc::Sender<AgentOutput>),
    Input(u64, Vec<u8>),
    Leave(u64),
    Stop,
}

impl CodexServers {
    /// Joins the server of a program, which is started if it does not run.
    pub(crate) fn join(
        &self,
        program: &Path,
        arguments: &[String],
        watchdog: &Watchdog,
    ) -> Result<(CodexSeat, mpsc::Receiver<AgentOutput>), ApiProblem> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.sessions += 1;
        let key = (program.to_owned(), arguments.to_vec());
        let session = list.sessions;
        let (output, received) = mpsc::channel(WAITING);
        let joins = |server: &&mut RunningServer| {
            server.commands.send(ServerCommand::Join(session, output.clone())).is_ok()
        };
        let commands = if let Some(server) = list.servers.get_mut(&key).filter(joins) {
            server.seats += 1;
            server.commands.clone()
        } else {
            let mut command = Command::new(program);
            command.args(arguments);
            let (process, lines) = RunningAgent::spawn(command, watchdog)?;
            let (commands, orders) = mpsc::unbounded_channel();
            let first = ServerCommand::Join(session, output);
            tokio::spawn(serve(process, lines, orders, first));
            let server = RunningServer { commands: commands.clone(), seats: 1 };
            list.servers.insert(key.clone(), server);
            commands
        };
        let seat = CodexSeat { servers: self.clone(), program: key, session, commands };
        Ok((seat, received))
    }
}

impl CodexSeat {
    /// Sends bytes of the session to the server.
    pub(crate) fn input(&self) -> impl Fn(Vec<u8>) + Send + use<> {
        let (commands, session) = (self.commands.clone(), self.session);
        // The end of the output shows that the server has ended.
        move |bytes| drop(commands.send(ServerCommand::Input(session, bytes)))
    }
}

impl Drop for CodexSeat {
    fn drop(&mut self) {
        let mut list = self.servers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.commands.send(ServerCommand::Leave(self.session));
        let is_ours = |server: &&mut RunningServer| server.commands.same_channel(&self.commands);
        if let Some(server) = list.servers.get_mut(&self.program).filter(is_ours) {
            server.seats -= 1;
            if server.seats == 0 {
                let _ = server.commands.send(ServerCommand::Stop);
                list.servers.remove(&self.program);
            }
        }
    }
}

/// Serves the sessions until the process ends or the last session leaves.
async fn serve(
    process: RunningAgent,
    mut output: mpsc::Receiver<AgentOutput>,
    mut commands: mpsc::UnboundedReceiver<ServerCommand>,
    first: ServerCommand,
) {
    let mut hall = CodexHall { process, switch: CodexSwitch::default(), sessions: HashMap::new() };
    hall.obey(first).await;
    let mut partial = Vec::new();
    let end = loop {
        tokio::select! {
            command = commands.recv() => {
                let Some(command) = command else { return };
                if matches!(command, ServerCommand::Stop) {
                    return;
                }
                hall.obey(command).await;
            }
            received = output.recv() => match received {
                Some(AgentOutput::Bytes(bytes)) => {
                    partial.extend_from_slice(&bytes);
                    if !hall.receive(&mut partial).await {
                        break AgentEnd::default();
                    }
                }
                Some(AgentOutput::Ended(end)) => break end,
                None => break AgentEnd::default(),
            },
        }
    };
    // A session that joins after this line starts a new process.
    commands.close();
    while let Ok(command) = commands.try_recv() {
        if let ServerCommand::Join(session, output) = command {
            hall.sessions.insert(session, output);
        }
    }
    for output in hall.sessions.values() {
        // A session that is gone needs no end.
        let _ = output.send(AgentOutput::Ended(end.clone())).await;
    }
}

/// The server with its sessions.
struct CodexHall {
    process: RunningAgent,
    switch: CodexSwitch,
    sessions: HashMap<u64, mpsc::Sender<AgentOutput>>,
}

impl CodexHall {
    async fn obey(&mut self, command: ServerCommand) {
        let moves = match command {
            ServerCommand::Join(session, output) => {
                self.sessions.insert(session, output);
                self.switch.join(session)
            }
            ServerCommand::Input(session, bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let lines = text.split_inclusive('\n').filter(|line| !line.trim().is_empty());
                lines.flat_map(|line| self.switch.of_session(session, line)).collect()
            }
            ServerCommand::Leave(session) => {
                self.sessions.remove(&session);
                self.switch.leave(session)
            }
            ServerCommand::Stop => Vec::new(),
        };
        self.make(moves).await;
    }

    /// Reads the complete lines. Returns whether the rest is short enough to wait for its end.
    async fn receive(&mut self, partial: &mut Vec<u8>) -> bool {
        let Some(end) = partial.iter().rposition(|byte| *byte == b'\n') else {
            return partial.len() < LONGEST;
        };
        let rest = partial.split_off(end + 1);
        let lines = std::mem::replace(partial, rest);
        let text = String::from_utf8_lossy(&lines);
        for line in text.split_inclusive('\n').filter(|line| !line.trim().is_empty()) {
            let moves = self.switch.of_server(line);
            self.make(moves).await;
        }
        true
    }

    async fn make(&self, moves: Vec<CodexMove>) {
        for each in moves {
            match each {
                // The end of the output shows that the process has ended.
                CodexMove::ToServer(line) => drop(self.process.input.send(line.into_bytes())),
                CodexMove::ToSession(session, line) => {
                    if let Some(output) = self.sessions.get(&session) {
                        // A session that is gone reads nothing.
                        let _ = output.send(AgentOutput::Bytes(line.into_bytes())).await;
                    }
                }
            }
        }
    }
}
