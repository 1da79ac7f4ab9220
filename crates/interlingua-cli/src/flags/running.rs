//! The flags of the commands that run agents.

use std::path::PathBuf;

use clap::Args;

use super::{GatewayFlags, QuietFlag};

/// Run an agent for one prompt: its texts, tools and questions in the terminal
///
/// Permissions and questions are answered at the keyboard. Without a terminal, permissions are rejected unless
/// `--permission-mode` allows them. Ctrl-C interrupts the turn; a second Ctrl-C ends the agent.
#[derive(Debug, Args)]
pub(crate) struct RunAgent {
    /// The agent: claude, codex, opencode, gemini, copilot, kimi, qwen, goose, pi, or mock, which needs no installation
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,

    /// The prompt; `-` for stdin
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,

    /// Print universal events as JSON lines
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,

    /// Print one JSON object at the end: text, session, usage, cost and stop reason
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the whole output of tools, and all reasoning
    #[arg(long, conflicts_with_all = ["events", "json"])]
    pub(crate) full: bool,

    /// The model of the agent
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The mode of the agent, such as `build` or `plan`
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,

    /// The actions that need no question: `default`, `plan`, `acceptEdits` or `bypass`
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,

    /// The reasoning effort, for agents with such a setting
    #[arg(long, value_name = "EFFORT")]
    pub(crate) effort: Option<String>,

    /// The working directory of the agent, instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Go on with this session of the agent
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,

    #[command(flatten)]
    pub(crate) calls: ModelCalls,

    #[command(flatten)]
    pub(super) quiet: QuietFlag,
}

/// A gateway around the agent.
#[derive(Debug, Args)]
pub(crate) struct ModelCalls {
    /// Send the agent's model calls through a gateway with the backends and routes of this file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Send the agent's model calls to this backend: a built-in name, or the URL of a server
    #[arg(long, value_name = "NAME|URL")]
    backend: Option<String>,

    /// The dialect of the backend, if its name does not imply one
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<String>,

    /// Answer the agent's model calls from a script; without a file, from the built-in script
    #[arg(long, value_name = "SCRIPT", num_args = 0..=1, default_missing_value = "", require_equals = true, conflicts_with = "backend")]
    mock: Option<String>,
}

impl ModelCalls {
    /// The flags of the gateway; `None` if the agent calls its own vendor.
    pub(crate) fn gateway(&self, model: Option<&str>) -> Option<GatewayFlags> {
        let Self { config, backend, dialect, mock } = self;
        (config.is_some() || backend.is_some() || mock.is_some()).then(|| GatewayFlags {
            config: config.clone(),
            backend: backend.clone(),
            dialect: dialect.clone(),
            model: model.map(str::to_owned),
            mock: mock.clone(),
            quiet: QuietFlag { quiet: true },
        })
    }
}

/// Offer an agent to editors, over the Agent Client Protocol on stdin and stdout
///
/// Editors start the command and talk to the agent in the protocol, version 1. The command ends with its stdin. stderr is
/// for people.
#[derive(Debug, Args)]
pub(crate) struct OfferAgent {
    /// The agent: claude, codex, opencode, gemini, copilot, kimi, qwen, goose, pi, or mock, which needs no installation
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,

    /// The model of new sessions
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The mode of new sessions: `default`, `plan`, `acceptEdits` or `bypass`; the editor can change it
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,

    /// Keep sessions in this folder, from which the editor loads them (default: `interlingua/acp` in the state folder of
    /// the user)
    #[arg(long, value_name = "DIR")]
    pub(crate) sessions: Option<PathBuf>,

    #[command(flatten)]
    pub(super) quiet: QuietFlag,
}
