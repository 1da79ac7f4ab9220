//! Drives a running agent with universal events: `agent_link DIALECT -- COMMAND…`
//!
//! The example spawns the command and connects it to an [`AgentLink`]. The example's stdin takes the client's events,
//! one universal event a line; its stdout prints the agent's events, one universal event a line. The agent's stderr is
//! inherited. The end of stdin closes the agent's stdin; the example ends when the agent closes its stdout, with the
//! agent's exit code.
//!
//! ```text
//! cargo run -p interlingua --example agent_link -- codex-app-server -- codex app-server
//! ```
//!
//! Lines that a client sends (members that the reader does not need may be left out):
//!
//! ```text
//! {"type":"session.started","data":{"metadata":{"cwd":"/project","model":"m","permission_mode":"on-request"}}}
//! {"type":"item.completed","data":{"item":{"item_id":"1","kind":"message","role":"user","content":[{"type":"text","text":"List the files."}],"status":"completed"}}}
//! {"type":"permission.resolved","data":{"permission_id":"0","action":"","status":"accept"}}
//! {"type":"question.resolved","data":{"question_id":"1","prompts":[{"text":"Which?","options":[]}],"answers":[["this one"]],"status":"answered"}}
//! {"type":"turn.ended","data":{"metadata":{"stop":{"class":"cancelled"}}}}
//! ```
//!
//! The first line holds the settings of the session; `"id"` in its metadata resumes a session. The status of a permission
//! is `accept`, `accept_for_session` or `reject`; the status `rejected` of a question declines the answer. The last line
//! interrupts the turn. The environment variable `AGENT_LINK_TRACE` names a file that receives the bytes in both
//! directions: a two-way transcript.

#![expect(clippy::disallowed_methods, reason = "a program has a clock and threads; the core has neither")]

use std::io::{Read, Write};
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::{AgentLink, EventReader, Pipe};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The state that both directions share.
struct Connection {
    link: AgentLink,
    /// `None` once the client has ended its input.
    agent: Option<ChildStdin>,
    trace: Option<std::fs::File>,
}

impl Connection {
    /// Sends bytes to the agent. An agent that has closed its stdin takes no more bytes: the end of its stdout ends the
    /// example.
    fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.record(bytes)?;
        let Some(agent) = &mut self.agent else { return Ok(()) };
        if agent.write_all(bytes).and_then(|()| agent.flush()).is_err() {
            self.agent = None;
        }
        Ok(())
    }

    fn record(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.trace.as_mut().map_or(Ok(()), |trace| trace.write_all(bytes)).map_err(Failure::from)
    }
}

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dialect, separator, program, rest @ ..] = &arguments[..] else {
        return Err("usage: agent_link DIALECT -- COMMAND…".into());
    };
    if separator != "--" {
        return Err("usage: agent_link DIALECT -- COMMAND…".into());
    }
    let dialect: &'static Dialect = dialect.parse()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let options = Options::default().with_now(u64::try_from(now)?);
    let universal: &Dialect = "universal".parse()?;
    let mut pipe = Pipe::new((dialect, Role::Live), (universal, Role::Live), &options)?;
    let link = AgentLink::new(dialect, &options)?;
    let mut child = Command::new(program).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut agent_output = child.stdout.take().ok_or("the agent has no stdout")?;
    let trace = std::env::var_os("AGENT_LINK_TRACE").map(std::fs::File::create).transpose()?;
    let connection = Arc::new(Mutex::new(Connection { link, agent: child.stdin.take(), trace }));
    let client = Arc::clone(&connection);
    std::thread::spawn(move || {
        if let Err(failure) = client_input(universal, &client) {
            drop(writeln!(std::io::stderr(), "agent_link: {failure}"));
        }
        locked(&client).agent = None;
    });
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = agent_output.read(&mut buffer)?;
        let mut events = Vec::new();
        if length == 0 {
            pipe.finish(&mut events);
            print(&events)?;
            break;
        }
        pipe.push(&buffer[..length], &mut events);
        {
            let mut connection = locked(&connection);
            connection.record(&buffer[..length])?;
            let reply = connection.link.receive(&buffer[..length], |_| ());
            connection.send(&reply)?;
        }
        // The link reads a request before the client does: the client may answer at once.
        print(&events)?;
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Sends the client's events to the agent until the client ends its input.
fn client_input(universal: &Dialect, connection: &Mutex<Connection>) -> Result<(), Failure> {
    let mut reader = EventReader::new((universal, Role::Live), &Options::default())?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = std::io::stdin().read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        let mut connection = locked(connection);
        let (link, mut bytes) = (&mut connection.link, Vec::new());
        reader.push(&buffer[..length], |event| bytes.extend(link.send(event)));
        connection.send(&bytes)?;
    }
}

fn locked(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

fn print(events: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    out.write_all(events)?;
    Ok(out.flush()?)
}
