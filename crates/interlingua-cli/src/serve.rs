//! `serve` and `with`: the gateway from flags and files, alone or around a program.

use std::net::SocketAddr;
use std::process::{Command, ExitStatus};

use interlingua_gateway::{
    BackendSettings, Config, RouteSettings, Server, ServerHandle, ServerParts, StartError, SystemLookup,
};
use interlingua_report::{render, safe};
use tokio::runtime::Runtime;

use crate::error::{CommandError, Exit};
use crate::flags::{GatewayFlags, Serve, With};
use crate::talk::Talk;

/// The name of the backend that the flags describe.
const FLAGGED: &str = "backend";

/// Serves until the command is stopped.
pub(crate) fn serve(args: &Serve, talk: &Talk) -> Result<Exit, CommandError> {
    let mut config = config(&args.gateway)?;
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if args.check {
        Server::check(&config, &SystemLookup).map_err(|error| CommandError::Gateway(error.into()))?;
        talk.say("the configuration is sound\n");
        return Ok(Exit::Done);
    }
    // The server starts further threads with executors of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandError::Output)?.block_on(async {
        let server = start(config).await?;
        talk.say(&format!("listening on http://{}\n", server.address()));
        let reloading = reload_on_signal(server.handle(), &args.gateway, talk);
        tokio::select! {
            () = server.serve(stopped()) => {}
            () = reloading => {}
        }
        Ok(Exit::Done)
    })
}

/// Runs a program with a gateway of its own, and ends the gateway with the program.
pub(crate) fn with(args: &With, talk: &Talk) -> Result<Exit, CommandError> {
    let mut config = config(&args.gateway)?;
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let runtime = runtime()?;
    let (stop, stops) = tokio::sync::oneshot::channel::<()>();
    let server = runtime.block_on(start(config))?;
    let url = format!("http://{}", server.address());
    runtime.spawn(server.serve(async move { drop(stops.await) }));
    let Some((program, arguments)) = args.program.split_first() else {
        return Err(CommandError::Usage("no program is named".to_owned(), None));
    };
    talk.say(&format!("{program} talks to {url}\n"));
    let mut child = Command::new(program);
    let settings = ProgramSettings::of(program, &url, args.gateway.model.as_deref());
    child.args(settings.arguments).args(arguments).envs(settings.variables);
    // Ctrl-C is for the program. The gateway ends with it.
    let _ignored = runtime.spawn(async {
        loop {
            let _ = tokio::signal::ctrl_c().await;
        }
    });
    let failed = |error| CommandError::Read(safe::exact_line(program), error);
    let status = child.status().map_err(failed)?;
    drop(stop);
    Ok(Exit::Program(code_of(status)))
}

fn runtime() -> Result<Runtime, CommandError> {
    Runtime::new().map_err(CommandError::Output)
}

async fn start(config: Config) -> Result<Server, CommandError> {
    Server::start(config, &SystemLookup, ServerParts::default()).await.map_err(CommandError::Gateway)
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
    if let Some(script) = &flags.mock {
        let mut settings = BackendSettings::default();
        settings.script = Some(script.clone());
        settings.dialect.clone_from(&flags.dialect);
        config.backends.insert(FLAGGED.to_owned(), settings);
        config.routes.insert(0, RouteSettings::new("*", FLAGGED, None));
    } else if let Some(backend) = &flags.backend {
        let mut settings = BackendSettings::default();
        settings.dialect.clone_from(&flags.dialect);
        let name = if backend.contains("://") {
            settings.url = Some(backend.clone());
            FLAGGED
        } else {
            backend
        };
        config.backends.insert(name.to_owned(), settings);
        config.routes.insert(0, RouteSettings::new("*", name, flags.model.clone()));
    }
    if config.routes.is_empty() {
        let mut settings = BackendSettings::default();
        settings.script = Some(String::new());
        config.backends.insert("scripted".to_owned(), settings);
        config.routes.push(RouteSettings::new("*", "scripted", None));
    }
    Ok(config)
}

/// The settings that point a program at the gateway.
struct ProgramSettings {
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl ProgramSettings {
    /// The variables of all known clients, and the arguments of programs that read no variable.
    fn of(program: &str, url: &str, model: Option<&str>) -> Self {
        let key = || "interlingua".to_owned();
        let with_version = || format!("{url}/v1");
        let mut variables = vec![
            ("ANTHROPIC_BASE_URL", url.to_owned()),
            ("ANTHROPIC_API_KEY", key()),
            ("OPENAI_BASE_URL", with_version()),
            ("OPENAI_API_KEY", key()),
            ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
            ("GEMINI_API_KEY", key()),
            ("COPILOT_PROVIDER_BASE_URL", with_version()),
            ("COPILOT_PROVIDER_API_KEY", key()),
            ("KIMI_MODEL_BASE_URL", with_version()),
            ("KIMI_MODEL_API_KEY", key()),
            ("KIMI_MODEL_PROVIDER_TYPE", "openai".to_owned()),
        ];
        for name in ["ANTHROPIC_MODEL", "OPENAI_MODEL", "GEMINI_MODEL", "COPILOT_MODEL", "KIMI_MODEL_NAME"] {
            variables.extend(model.map(|model| (name, model.to_owned())));
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        let mut arguments = Vec::new();
        if name == "codex" {
            let provider = format!(
                "model_providers.interlingua={{name=\"Interlingua\",base_url=\"{url}/v1\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}}"
            );
            for setting in [provider, "model_provider=\"interlingua\"".to_owned()] {
                arguments.extend(["-c".to_owned(), setting]);
            }
            if let Some(model) = model {
                arguments.extend(["-c".to_owned(), format!("model=\"{model}\"")]);
            }
        }
        Self { arguments, variables }
    }
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

/// The exit code that a shell reports for the program.
fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

impl From<interlingua_gateway::ConfigError> for CommandError {
    fn from(error: interlingua_gateway::ConfigError) -> Self {
        CommandError::Gateway(StartError::from(error))
    }
}
