//! A running agent: bytes in, bytes out, and its end. The agent is a process in a group of its own, or the mock agent.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::agents::{Agent, AgentDriver};
use crate::codex_server::CodexSeat;
use crate::drivers::Drivers;
use crate::mock;
use crate::opencode_server;
use crate::problem::ApiProblem;
use crate::settings::SessionSettings;
use crate::watchdog::Watchdog;

/// The connection to a running agent. Dropping it ends the agent.
pub(crate) struct RunningAgent {
    /// Bytes for the agent's input.
    pub(crate) input: mpsc::UnboundedSender<Vec<u8>>,
    /// The group of the process; `None` for the mock agent.
    group: Option<u32>,
    /// The tasks end with the agent.
    tasks: Vec<tokio::task::JoinHandle<()>>,
    watchdog: Watchdog,
    /// The place at a process that other sessions share.
    _seat: Option<CodexSeat>,
}

/// The output of an agent.
#[derive(Debug)]
pub(crate) enum AgentOutput {
    Bytes(Vec<u8>),
    Ended(AgentEnd),
}

/// The largest piece of output that is joined from waiting output. The events of a piece are stored in one transaction.
const LARGEST_PIECE: usize = 256 << 10;

/// The output up to now, and the end of the agent if it has ended.
pub(crate) fn gathered(
    first: AgentOutput,
    output: &mut mpsc::Receiver<AgentOutput>,
) -> (Vec<u8>, Option<AgentEnd>) {
    let mut bytes = match first {
        AgentOutput::Bytes(bytes) => bytes,
        AgentOutput::Ended(end) => return (Vec::new(), Some(end)),
    };
    while bytes.len() < LARGEST_PIECE {
        match output.try_recv() {
            Ok(AgentOutput::Bytes(more)) => bytes.extend_from_slice(&more),
            Ok(AgentOutput::Ended(end)) => return (bytes, Some(end)),
            // Nothing is there now; the next call waits.
            Err(_) => break,
        }
    }
    (bytes, None)
}

/// The end of an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentEnd {
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stderr: StderrLines,
}

impl AgentEnd {
    /// The end of an agent with this reason.
    pub(crate) fn told(reason: &str) -> Self {
        let mut stderr = StderrLines::default();
        stderr.add(reason);
        Self { code: None, stderr }
    }
}

/// The first and the last lines of an agent's standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct StderrLines {
    head: Vec<String>,
    tail: std::collections::VecDeque<String>,
    count: usize,
}

const HEAD_LINES: usize = 20;
const TAIL_LINES: usize = 50;
const LONGEST_LINE: usize = 500;
/// The size of a read from the agent's output.
const CHUNK: usize = 64 << 10;
/// How many chunks wait for the session.
pub(crate) const WAITING: usize = 64;

impl StderrLines {
    fn add(&mut self, line: &str) {
        let line: String = line.chars().take(LONGEST_LINE).collect();
        self.count += 1;
        if self.head.len() < HEAD_LINES {
            return self.head.push(line);
        }
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }

    /// The lines as the universal schema has them; `None` if there are none.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        let truncated = self.count > HEAD_LINES + TAIL_LINES;
        let tail: Vec<&str> = self.tail.iter().map(String::as_str).collect();
        let (head, tail) = if truncated {
            (self.head.join("\n"), Some(tail.join("\n")))
        } else {
            let all: Vec<&str> = self.head.iter().map(String::as_str).chain(tail).collect();
            (all.join("\n"), None)
        };
        (self.count > 0).then(|| {
            serde_json::json!({ "head": head, "tail": tail, "truncated": truncated, "total_lines": self.count })
        })
    }
}

impl RunningAgent {
    /// Starts the agent of a session.
    pub(crate) fn start(
        agent: &Agent,
        settings: &SessionSettings,
        native_id: Option<&str>,
        drivers: &Drivers,
    ) -> Result<(Self, mpsc::Receiver<AgentOutput>), ApiProblem> {
        if agent.program.is_none() {
            let (output, received) = mpsc::channel(WAITING);
            let (input, to_write) = mpsc::unbounded_channel();
            let task =
                tokio::spawn(mock::run(settings.clone(), native_id.map(str::to_owned), to_write, output));
            let watchdog = drivers.watchdog.clone();
            return Ok((Self { input, group: None, tasks: vec![task], watchdog, _seat: None }, received));
        }
        let missing = || {
            let program = agent.program.unwrap_or(agent.id);
            ApiProblem::agent_not_installed(format!(
                "`{program}` is not on the path; install {} first",
                agent.name
            ))
        };
        let path = agent.path().ok_or_else(missing)?;
        let arguments = agent.arguments(settings, native_id);
        match agent.driver() {
            AgentDriver::OpenCodeServer => return Self::connect(&path, &arguments, settings, drivers),
            AgentDriver::CodexServer if settings.env.is_empty() => {
                return Self::join(&path, &arguments, drivers);
            }
            // A session with variables of its own has a server of its own.
            AgentDriver::CodexServer | AgentDriver::Process => {}
        }
        let mut command = Command::new(&path);
        command.args(arguments).envs(&settings.env);
        if let Some(directory) = &settings.directory {
            command.current_dir(Path::new(directory));
        }
        Self::spawn(command, &drivers.watchdog)
    }

    /// Joins the process that other sessions share.
    fn join(
        path: &Path,
        arguments: &[String],
        drivers: &Drivers,
    ) -> Result<(Self, mpsc::Receiver<AgentOutput>), ApiProblem> {
        let (seat, received) = drivers.codex.join(path, arguments, &drivers.watchdog)?;
        let (input, mut to_write) = mpsc::unbounded_channel();
        let write = seat.input();
        let task = tokio::spawn(async move {
            while let Some(bytes) = to_write.recv().await {
                write(bytes);
            }
        });
        let watchdog = drivers.watchdog.clone();
        Ok((Self { input, group: None, tasks: vec![task], watchdog, _seat: Some(seat) }, received))
    }

    /// Connects to a server that other sessions share.
    fn connect(
        path: &Path,
        arguments: &[String],
        settings: &SessionSettings,
        drivers: &Drivers,
    ) -> Result<(Self, mpsc::Receiver<AgentOutput>), ApiProblem> {
        let seat = drivers.opencode.join(path, arguments, &settings.env, &drivers.watchdog)?;
        let (output, received) = mpsc::channel(WAITING);
        let (input, to_write) = mpsc::unbounded_channel();
        // The task ends with the input, after it has stopped the turn.
        tokio::spawn(opencode_server::connect(seat, settings.directory.clone(), to_write, output));
        let watchdog = drivers.watchdog.clone();
        Ok((Self { input, group: None, tasks: Vec::new(), watchdog, _seat: None }, received))
    }

    /// Starts a process in a group of its own.
    pub(crate) fn spawn(
        mut command: Command,
        watchdog: &Watchdog,
    ) -> Result<(Self, mpsc::Receiver<AgentOutput>), ApiProblem> {
        let (output, received) = mpsc::channel(WAITING);
        let (input, to_write) = mpsc::unbounded_channel();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn().map_err(|error| {
            let program = command.as_std().get_program().display();
            ApiProblem::agent_process_exited(format!("{program} cannot be started: {error}"))
        })?;
        let (group, watchdog) = (child.id(), watchdog.clone());
        if let Some(group) = group {
            watchdog.watch(group);
        }
        let task = tokio::spawn(supervise(child, to_write, output));
        Ok((Self { input, group, tasks: vec![task], watchdog, _seat: None }, received))
    }

    /// Ends the process and its children.
    pub(crate) fn kill(&self) {
        #[cfg(unix)]
        if let Some(group) = self.group.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            // A group that has ended already is no error.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        for task in &self.tasks {
            task.abort();
        }
        if let Some(group) = self.group {
            self.watchdog.forget(group);
        }
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Moves bytes between a process and its session until the process ends.
async fn supervise(
    mut child: Child,
    mut input: mpsc::UnboundedReceiver<Vec<u8>>,
    output: mpsc::Sender<AgentOutput>,
) {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writing = async move {
        let Some(mut stdin) = stdin else { return };
        while let Some(bytes) = input.recv().await {
            // The end of the output shows that the process has ended.
            if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
                return;
            }
        }
    };
    let sender = output.clone();
    let reading = async move {
        let Some(mut stdout) = stdout else { return };
        let mut chunk = vec![0; CHUNK];
        while let Ok(read @ 1..) = stdout.read(&mut chunk).await {
            if sender.send(AgentOutput::Bytes(chunk[..read].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let errors = async move {
        let mut lines = StderrLines::default();
        let Some(stderr) = stderr else { return lines };
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(1..) = stderr.read_until(b'\n', &mut line).await {
            lines.add(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
        lines
    };
    let writing = tokio::spawn(writing);
    let ((), stderr) = tokio::join!(reading, errors);
    let status = child.wait().await;
    writing.abort();
    let code = status.ok().and_then(|status| status.code());
    // A session that is gone needs no end.
    let _ = output.send(AgentOutput::Ended(AgentEnd { code, stderr })).await;
}
