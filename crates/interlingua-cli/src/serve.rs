//! `serve` and `with`: the gateway from flags and files, alone or around a program.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use interlingua_daemon::{
    ApiProblem, Daemon, DaemonSettings, GatewayServer, PointError, PointTarget, PointedProgram,
};
use interlingua_gateway::{
    BackendSettings, Config, RouteSettings, Server, ServerHandle, ServerParts, StartError, StoreSettings,
    SystemLookup,
};
use interlingua_report::{render, safe};
use interlingua_store::StorePlace;
use tokio::runtime::Runtime;

use crate::agents::AgentPaths;
use crate::child;
use crate::error::{CommandError, Exit};
use crate::flags::{GatewayFlags, Mock, Serve, With};
use crate::talk::Talk;

/// The name of the backend that the flags describe.
const FLAGGED: &str = "backend";

/// The name of the scripted model, and of its backend without flags and files.
const SCRIPTED: &str = "scripted";

/// The time that the gateway of a program has after the program has ended.
const LAST_CALLS: Duration = Duration::from_secs(3);

/// Serves until the command is stopped.
pub(crate) fn serve(args: &Serve, talk: &Talk) -> Result<Exit, CommandError> {
    let flags = &args.gateway;
    if flags.model.is_some() && flags.backend.is_none() && (flags.config.is_some() || flags.mock.is_some()) {
        let hint = "set `send` in the routes of the file, or name a server with `--backend`".to_owned();
        return Err(CommandError::Usage("`--model` is that of a backend".to_owned(), Some(hint)));
    }
    let mut config = config(flags)?;
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if let Some(place) = &args.store {
        let mut store = config.store.take().unwrap_or_else(|| StoreSettings::new(place.clone()));
        store.place.clone_from(place);
        config.store = Some(store);
    }
    if args.check {
        Server::check(&config, &SystemLookup).map_err(|error| CommandError::Gateway(error.into()))?;
        talk.say("the configuration is sound\n");
        return Ok(Exit::Done);
    }
    // The server starts further threads with executors of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandError::Output)?.block_on(async {
        let daemon = if args.agents { Some(open_daemon(&config, args).await?) } else { None };
        let (key, has_clients) = (operator_key(&config), !config.clients.is_empty());
        let mut parts = server_parts();
        if let Some(daemon) = &daemon {
            let runtime = tokio::runtime::Handle::current();
            parts = parts.with_extension(AgentPaths { daemon: daemon.clone(), runtime });
        }
        let server = Server::start(config, &SystemLookup, parts).await.map_err(CommandError::Gateway)?;
        // Agents reach a gateway with keys by its token; clients alone have keys for other programs.
        if let Some(daemon) = daemon.as_ref().filter(|_| key.is_some() || !has_clients) {
            daemon.set_gateway(GatewayServer::new(local_url(server.address()), key));
        }
        talk.say(&format!("listening on http://{}\n", server.address()));
        let reloading = reload_on_signal(server.handle(), &args.gateway, talk);
        // The streams of sessions end before the server waits for its last answers.
        let stop = async {
            stopped().await;
            if let Some(daemon) = &daemon {
                daemon.stop().await;
            }
        };
        tokio::select! {
            () = server.serve(stop) => {}
            () = reloading => {}
        }
        // A last request may have started an agent.
        if let Some(daemon) = &daemon {
            daemon.stop().await;
        }
        Ok(Exit::Done)
    })
}

/// Serves the scripted model alone.
pub(crate) fn mock(args: &Mock, talk: &Talk) -> Result<Exit, CommandError> {
    let script = args.script.clone().unwrap_or_default();
    let gateway = GatewayFlags {
        config: None,
        backend: None,
        dialect: args.dialect.clone(),
        model: None,
        mock: Some(script),
        quiet: args.quiet.clone(),
    };
    serve(
        &Serve {
            gateway,
            listen: args.listen,
            store: None,
            agents: false,
            agent_root: Vec::new(),
            check: args.check,
        },
        talk,
    )
}

/// Runs a program with a gateway of its own, and ends the gateway with the program.
pub(crate) fn with(args: &With, talk: &Talk) -> Result<Exit, CommandError> {
    let Some((program, arguments)) = args.program.split_first() else {
        return Err(CommandError::Usage("no program is named".to_owned(), None));
    };
    let mut config = config(&args.gateway)?;
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.threads = Some(1);
    let usual_model = usual_model(&config).map(str::to_owned);
    let runtime = runtime()?;
    let (stop, stops) = tokio::sync::oneshot::channel::<()>();
    let server = runtime.block_on(start(config))?;
    let url = format!("http://{}", server.address());
    let serving = runtime.spawn(server.serve(async move { drop(stops.await) }));
    let target = PointTarget {
        url: &url,
        key: PointTarget::ANY_KEY,
        model: args.gateway.model.as_deref(),
        usual_model: usual_model.as_deref(),
    };
    let pointed = PointedProgram::new(program, target)?;
    let mut command = pointed.command(program);
    talk.say(&format!("{program} talks to {url}\n"));
    command.args(arguments);
    let status = runtime.block_on(child::run(command));
    drop((stop, pointed));
    // The gateway passes on its last calls. A connection that a process in the background holds must not delay the end.
    let _ = runtime.block_on(async { tokio::time::timeout(LAST_CALLS, serving).await });
    let status = status.map_err(|error| CommandError::Read(safe::exact_line(program), error))?;
    Ok(Exit::Program(child::code_of(status)))
}

pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    Runtime::new().map_err(CommandError::Output)
}

pub(crate) async fn start(config: Config) -> Result<Server, CommandError> {
    Server::start(config, &SystemLookup, server_parts()).await.map_err(CommandError::Gateway)
}

fn server_parts() -> ServerParts {
    // Calls that the store refuses are told with `--quiet`, too.
    ServerParts::default().with_troubles(|trouble| Talk::always(&format!("warning: {trouble}\n")))
}

/// The daemon that runs agents. Its sessions are in the store of the calls, or else in a file in the current directory.
async fn open_daemon(config: &Config, args: &Serve) -> Result<Daemon, CommandError> {
    let place = config.store.as_ref().map_or("interlingua-agents.db", |store| store.place.as_str());
    let Ok(place) = place.parse::<StorePlace>();
    let mut settings = DaemonSettings::new(place);
    let limits = config.store.as_ref().map(|store| store.sessions).unwrap_or_default();
    settings.retention.max_age_ms = limits.max_age_days.map(|days| days.saturating_mul(86_400_000));
    settings.retention.max_sessions = limits.max_sessions;
    settings.retention.max_bytes = limits.max_bytes;
    settings.retention.max_session_events = limits.max_session_events;
    for root in &args.agent_root {
        let real = root.canonicalize();
        settings.roots.push(real.map_err(|error| CommandError::Read(safe::path_name(root), error))?);
    }
    let failed = |problem: ApiProblem| CommandError::Usage(problem.detail, None);
    let daemon = Daemon::open(settings).await.map_err(failed)?;
    for id in daemon.unreadable() {
        let id = safe::exact_line(id);
        Talk::always(&format!(
            "warning: the stored session `{id}` has an agent or settings of another version\n"
        ));
    }
    Ok(daemon)
}

/// The token of the gateway.
fn operator_key(config: &Config) -> Option<String> {
    let of_environment = || config.token_env.as_ref().and_then(|name| std::env::var(name).ok());
    config.token.clone().or_else(of_environment)
}

/// The URL of the server for programs on this machine.
fn local_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let is_v4 = address.is_ipv4();
        address.set_ip(if is_v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    format!("http://{address}")
}

/// The configuration of the file and the flags. Without any, every model is the scripted model.
pub(crate) fn config(flags: &GatewayFlags) -> Result<Config, CommandError> {
    let mut config = match &flags.config {
        Some(path) => {
            let name = safe::path_name(path);
            let text = std::fs::read_to_string(path).map_err(|error| CommandError::Read(name, error))?;
            Config::parse(&text).map_err(|error| CommandError::Gateway(error.into()))?
        }
        None => Config::default(),
    };
    let backend = match &flags.backend {
        Some(backend) => Some(backend.as_str()),
        // A model alone names the server of its vendor.
        None if flags.mock.is_none() && flags.config.is_none() => {
            flags.model.as_deref().map(server_of_model).transpose()?
        }
        None => None,
    };
    if flags.dialect.is_some() && flags.mock.is_none() && flags.backend.is_none() {
        let hint = "name the server with `--backend`".to_owned();
        return Err(CommandError::Usage("`--dialect` is that of a backend".to_owned(), Some(hint)));
    }
    if let Some(script) = &flags.mock {
        let mut settings = BackendSettings::default();
        settings.script = Some(script.clone());
        settings.dialect.clone_from(&flags.dialect);
        config.backends.insert(FLAGGED.to_owned(), settings);
        config.routes.insert(0, RouteSettings::new("*", FLAGGED, None));
    } else if let Some(backend) = backend {
        let mut settings = BackendSettings::default();
        settings.dialect.clone_from(&flags.dialect);
        let name = if backend.contains("://") {
            settings.url = Some(backend.to_owned());
            FLAGGED
        } else {
            backend
        };
        config.backends.insert(name.to_owned(), settings);
        config.routes.insert(0, RouteSettings::new("*", name, flags.model.clone()));
    }
    if config.routes.is_empty() && config.backends.is_empty() {
        let mut settings = BackendSettings::default();
        settings.script = Some(String::new());
        config.backends.insert(SCRIPTED.to_owned(), settings);
        config.routes.push(RouteSettings::new("*", SCRIPTED, None));
    }
    Ok(config)
}

/// The name of the server whose vendor has a model.
fn server_of_model(model: &str) -> Result<&'static str, CommandError> {
    Config::server_of_model(model).ok_or_else(|| {
        let problem = format!("no single vendor is known for the model `{}`", safe::exact_line(model));
        let hint = format!("name the server with `--backend`: a URL, or {}", Config::server_names());
        CommandError::Usage(problem, Some(hint))
    })
}

/// The model for a program without a default model: that of the first route for a single model, or any name for a script.
pub(crate) fn usual_model(config: &Config) -> Option<&str> {
    let single = || config.routes.iter().map(|route| &*route.model).find(|model| !model.contains('*'));
    let is_scripted = |route: &&RouteSettings| {
        config.backends.get(&route.backend).is_some_and(|backend| backend.script.is_some())
    };
    single().or_else(|| config.route(SCRIPTED).filter(is_scripted).map(|_| SCRIPTED))
}

/// Reads the configuration again at each `SIGHUP`. A configuration with an error changes nothing. Never ends.
async fn reload_on_signal(server: ServerHandle, flags: &GatewayFlags, talk: &Talk) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut hangup) = signal(SignalKind::hangup()) {
            while hangup.recv().await.is_some() {
                let reloaded = config(flags).and_then(|config| Ok(server.reload(config, &SystemLookup)?));
                match reloaded {
                    Ok(()) => talk.say("the configuration is loaded again\n"),
                    Err(error) => talk.say(&render::error(&error)),
                }
            }
        }
    }
    std::future::pending::<()>().await;
}

/// Waits for Ctrl-C, or for the signal of a service manager.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

impl From<PointError> for CommandError {
    fn from(error: PointError) -> Self {
        match error {
            PointError::Files(folder, error) => CommandError::Write(folder, error),
            error => {
                let hint = "name the model of the backend with `--model`";
                CommandError::Usage(error.to_string(), Some(hint.to_owned()))
            }
        }
    }
}

impl From<interlingua_gateway::ConfigError> for CommandError {
    fn from(error: interlingua_gateway::ConfigError) -> Self {
        CommandError::Gateway(StartError::from(error))
    }
}
