//! The flags of the commands that serve or watch a gateway.

use std::path::PathBuf;

use clap::Args;

use super::QuietFlag;

/// Serve every model API over HTTP, with any model behind it
///
/// Clients of Anthropic, OpenAI, Gemini, Kimi and Copilot work unchanged: point their base URL here. Without a
/// configuration and without flags, the scripted model answers.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) gateway: GatewayFlags,

    /// Listen on this address, such as 127.0.0.1:8787
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,

    /// Record every call in this store: an SQLite file, or the address of a PostgreSQL database
    #[arg(long, value_name = "PLACE")]
    pub(crate) store: Option<String>,

    /// Run agents, too: sessions with universal events below `/v1/sessions`, kept in the store
    #[arg(long)]
    pub(crate) agents: bool,

    /// Let agents work only in this folder and below it; may be given several times
    #[arg(long, value_name = "DIR", requires = "agents")]
    pub(crate) agent_root: Vec<PathBuf>,

    /// Only check the configuration
    #[arg(long)]
    pub(crate) check: bool,
}

/// Serve a scripted model to the clients of every model API
///
/// A test double: the script has the turns of the assistant (text, reasoning, calls, errors, delays, cut streams), and
/// each client gets them in its own dialect.
#[derive(Debug, Args)]
pub(crate) struct Mock {
    /// The script; without a file, the built-in script
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: Option<String>,

    /// Answer in this dialect, translated for clients of other dialects
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<String>,

    /// Listen on this address, such as 127.0.0.1:8787
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,

    /// Only check the script
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// Run a program whose model calls go through a gateway of its own
///
/// The gateway listens on a free port of this machine and ends with the program. Only the program's environment and
/// arguments point at it; no file of yours is changed.
#[derive(Debug, Args)]
pub(crate) struct With {
    #[command(flatten)]
    pub(crate) gateway: GatewayFlags,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub(crate) program: Vec<String>,
}

/// Show the backends that a gateway tries for a model
#[derive(Debug, Args)]
pub(crate) struct Route {
    /// The model that a client asks for
    #[arg(value_name = "MODEL")]
    pub(crate) asked: String,

    /// Also show the routes before, whose patterns do not match
    #[arg(long)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) gateway: GatewayFlags,
}

/// Show the calls of a running gateway as they start and end
///
/// On a terminal: open calls, the last calls that have ended, and sums for each route since the view began. Elsewhere: a
/// line for each call that has ended, with tabs between its values.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The URL of the gateway
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8787")]
    pub(crate) url: String,

    /// The environment variable with a key of the gateway
    #[arg(long, value_name = "NAME")]
    pub(crate) token_env: Option<String>,

    /// Print the open calls, and end
    #[arg(long)]
    pub(crate) once: bool,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// The backend of a gateway.
#[derive(Debug, Args)]
pub(crate) struct GatewayFlags {
    /// Read backends and routes from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Send every call to this backend: a built-in name, or the URL of a server
    #[arg(long, value_name = "NAME|URL")]
    pub(crate) backend: Option<String>,

    /// The dialect of the backend, if its name does not imply one
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<String>,

    /// Ask the backend for this model instead of the requested one; without a backend, the vendor of the model gets the calls
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Answer from a script instead of a backend; without a file, from the built-in script
    #[arg(long, value_name = "SCRIPT", num_args = 0..=1, default_missing_value = "", require_equals = true, conflicts_with = "backend")]
    pub(crate) mock: Option<String>,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}
