//! `run`: one agent for one prompt in the terminal. The daemon runs the agent in this process, and the view of `show
//! --follow` prints its events.

mod ask;
mod signals;
mod turn;

use std::io::{self, IsTerminal, Read as _};
use std::net::SocketAddr;
use std::path::Path;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua_daemon::{
    Agent, Daemon, DaemonSettings, GatewayServer, SessionHandle, SessionOptions, followed_events,
};
use interlingua_report::{Identified, IdentifiedBy, safe};
use interlingua_sessions::PrivateFolder;
use interlingua_store::StorePlace;
use interlingua_view::FollowReader;

use crate::error::{CommandError, Exit};
use crate::flags::RunAgent;
use crate::serve;
use crate::talk::{self, Talk};
use ask::{Asking, Keyboard};
use signals::StopSignal;
pub(crate) use signals::StopSignals;
use turn::TurnTracker;

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Runs the agent to the end of its turn.
pub(crate) fn run(args: &RunAgent, talk: &Talk) -> Result<Exit, CommandError> {
    let agent = installed(&args.agent)?;
    let prompt = prompt(args)?;
    let mut options = options(args, agent)?;
    let folder = PrivateFolder::new().map_err(|error| CommandError::Write(std::env::temp_dir(), error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::Output)?;
    runtime.block_on(async {
        let gateway = start_gateway(args, &mut options).await?;
        let place = StorePlace::Sqlite(folder.path().join("session.db"));
        let daemon = Daemon::open(DaemonSettings::new(place)).await.map_err(CommandError::Agent)?;
        if let Some(gateway) = gateway {
            daemon.set_gateway(gateway);
        }
        let session = daemon.open_session("run", options).await.map_err(CommandError::Agent)?;
        let ended = AgentRun::new(args, agent, session)?.follow(prompt).await;
        daemon.stop().await;
        let (run, exit) = ended?;
        run.finish(talk).await?;
        Ok(exit)
    })
}

/// The agent with this name, if it can run here.
pub(crate) fn installed(name: &str) -> Result<&'static Agent, CommandError> {
    let agent = Agent::named(name).ok_or_else(|| CommandError::UnknownAgent(safe::exact_line(name)))?;
    if agent.is_installed() { Ok(agent) } else { Err(CommandError::NotInstalled(agent)) }
}

fn prompt(args: &RunAgent) -> Result<String, CommandError> {
    let mut prompt = args.prompt.clone();
    if prompt == "-" {
        prompt.clear();
        let read = io::stdin().lock().read_to_string(&mut prompt);
        read.map_err(|error| CommandError::Read("stdin".to_owned(), error))?;
    }
    if prompt.trim().is_empty() {
        return Err(CommandError::Usage("the prompt is empty".to_owned(), None));
    }
    Ok(prompt)
}

fn options(args: &RunAgent, agent: &Agent) -> Result<SessionOptions, CommandError> {
    let folder = args.dir.as_deref().unwrap_or(Path::new("."));
    let unreadable = |error| CommandError::Read(safe::path_name(folder), error);
    let folder = folder.canonicalize().map_err(unreadable)?;
    let Some(folder) = folder.to_str() else {
        let name = safe::path_name(&folder);
        return Err(CommandError::Usage(format!("the path `{name}` is not UTF-8"), None));
    };
    let mut options = SessionOptions::new(agent.id);
    options.directory = Some(folder.to_owned());
    options.model.clone_from(&args.model);
    options.mode.clone_from(&args.mode);
    options.permission_mode.clone_from(&args.permission_mode);
    options.effort.clone_from(&args.effort);
    options.resume.clone_from(&args.resume);
    Ok(options)
}

/// Starts a gateway, if the flags name a backend, and sets the route of the session. Returns the gateway.
async fn start_gateway(
    args: &RunAgent,
    options: &mut SessionOptions,
) -> Result<Option<GatewayServer>, CommandError> {
    let Some(flags) = args.calls.gateway(args.model.as_deref()) else { return Ok(None) };
    let mut config = serve::config(&flags)?;
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.threads = Some(1);
    let model = args.model.clone().or_else(|| serve::usual_model(&config).map(str::to_owned));
    if model.is_none() {
        let message = "the agent needs the name of a model of the gateway".to_owned();
        return Err(CommandError::Usage(message, Some("name the model with `--model`".to_owned())));
    }
    (options.route, options.model) = (model, None);
    let server = serve::start(config).await?;
    let url = format!("http://{}", server.address());
    // The gateway ends with the command.
    tokio::spawn(server.serve(std::future::pending()));
    Ok(Some(GatewayServer::new(url, None)))
}

/// The form of the output.
enum View {
    Text(Box<FollowReader>),
    Events,
    Json,
}

/// A running agent.
struct AgentRun<'a> {
    args: &'a RunAgent,
    agent: &'static Agent,
    session: SessionHandle,
    view: View,
    turn: TurnTracker,
    asking: Asking,
}

impl<'a> AgentRun<'a> {
    #[expect(clippy::disallowed_methods, reason = "only asks about stdin, stdout and stderr")]
    fn new(args: &'a RunAgent, agent: &'static Agent, session: SessionHandle) -> Result<Self, CommandError> {
        let view = match (args.events, args.json) {
            (true, _) => View::Events,
            (_, true) => View::Json,
            (false, false) => {
                let colour = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
                View::Text(Box::new(follow_reader(args.full, colour)?))
            }
        };
        let is_watched = io::stdin().is_terminal() && io::stderr().is_terminal();
        let keyboard = is_watched.then(Keyboard::default);
        let mode = args.permission_mode.as_deref().unwrap_or("default");
        let asking = Asking::new(keyboard, mode, matches!(view, View::Text(_)));
        Ok(Self { args, agent, session, view, turn: TurnTracker::new()?, asking })
    }

    /// Sends the prompt and follows the turn to its end.
    async fn follow(mut self, prompt: String) -> Result<(Self, Exit), CommandError> {
        let mut signals = StopSignals::new().map_err(CommandError::Output)?;
        let mut feed = self.session.feed(0);
        self.session.prompt(prompt).await.map_err(CommandError::Agent)?;
        let mut is_interrupted = false;
        while !self.turn.has_ended() {
            tokio::select! {
                lines = feed.next() => self.events(&lines.map_err(CommandError::Agent)?).await?,
                line = self.asking.line() => self.asking.typed(line, &self.session).await?,
                signal = signals.next() => match signal {
                    StopSignal::Interrupt if !is_interrupted => {
                        is_interrupted = true;
                        Talk::always("\ninterrupting the turn; Ctrl-C again ends the agent\n");
                        self.session.interrupt().await.map_err(CommandError::Agent)?;
                    }
                    StopSignal::Interrupt => return Ok((self, Exit::Program(INTERRUPTED))),
                    StopSignal::End(code) => return Ok((self, Exit::Program(code))),
                },
            }
        }
        let exit = match is_interrupted || self.turn.is_cancelled() {
            true => Exit::Program(INTERRUPTED),
            false if self.turn.has_failed() => Exit::Unreadable,
            false => Exit::Done,
        };
        Ok((self, exit))
    }

    /// Prints events, and answers or asks what they request.
    async fn events(&mut self, lines: &[u8]) -> Result<(), CommandError> {
        let followed = followed_events(lines);
        match &mut self.view {
            View::Text(reader) => talk::text(&reader.push(&followed))?,
            View::Events => _ = talk::data(lines)?,
            View::Json => {}
        }
        for text in stderr_of_agent(lines) {
            Talk::always(&text);
        }
        for request in self.turn.push(&followed) {
            self.asking.add(request);
        }
        self.asking.go_on(&self.session).await
    }

    /// Prints the end of the output.
    async fn finish(self, talk: &Talk) -> Result<(), CommandError> {
        let native_id = self.session.native_id().await;
        match self.view {
            View::Text(reader) => talk::text(&reader.finish().unwrap_or_default())?,
            View::Events => {}
            View::Json => _ = talk::data(&self.turn.result(self.agent.id, native_id.as_deref()))?,
        }
        if let Some(id) = native_id.filter(|_| self.agent.resumes() && !self.args.json) {
            let (agent, id) = (self.agent.id, safe::exact_line(&id));
            talk.say(&format!("go on with `interlingua run {agent} --resume {id} PROMPT`\n"));
        }
        Ok(())
    }
}

/// The standard error of an agent that ended the session by a crash: it often names the reason.
fn stderr_of_agent(lines: &[u8]) -> Vec<String> {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| {
        let mark = br#""type":"session.ended","data":"#;
        line.windows(mark.len()).any(|bytes| bytes == mark)
    });
    let texts = lines.filter_map(|line| {
        let event: serde_json::Value = serde_json::from_slice(line).ok()?;
        let stderr = &event["data"]["stderr"];
        let (head, tail) = (stderr["head"].as_str()?, stderr["tail"].as_str().unwrap_or_default());
        Some(format!("{}\n", format!("{head}\n{tail}").trim_end()))
    });
    texts.collect()
}

/// The view of `show --follow` for universal events.
fn follow_reader(full: bool, colour: bool) -> Result<FollowReader, CommandError> {
    let failed = |error: interlingua::error::Error| CommandError::Usage(error.to_string(), None);
    let universal: &'static Dialect = "universal".parse().map_err(failed)?;
    let Some(spec) = universal.role(Role::Live) else {
        return Err(CommandError::Usage("universal events have no role `live`".to_owned(), None));
    };
    let identity = Identified::new(universal, spec, IdentifiedBy::Name);
    FollowReader::new(&identity, &Options::default(), full, colour).map_err(failed)
}
