//! Runs coding agents and offers each as one stream of universal events.
//!
//! ```text
//! client --HTTP--> Daemon --> Session --> AgentStream --> bytes --> agent (a process, or the mock agent)
//!                               |  ^------ lines <------- bytes <----/
//!                               v
//!                           SessionLog (stored before it is sent) --> readers (GET, server-sent events)
//! ```
//!
//! The daemon opens no port: a server passes each request to [`Daemon::answer`] and sends the [`ApiResponse`]. Sessions
//! live in the store, so a restart keeps them.

mod agents;
mod answer;
mod api;
mod codex_server;
mod codex_switch;
mod daemon;
mod drivers;
mod editor;
mod file_api;
mod files;
mod gemini_home;
mod handle;
mod lines;
mod mcp;
mod mock;
mod model_names;
mod openapi;
mod opencode_events;
mod opencode_http;
mod opencode_server;
mod pointed;
mod problem;
mod process;
mod recovery;
mod retention;
mod routes;
mod routing;
mod session;
mod settings;
mod shapes;
mod subscription;
mod versions;
mod watchdog;

pub use agents::{AGENTS, Agent};
pub use answer::{ApiBody, ApiRequest, ApiResponse};
pub use daemon::{Daemon, DaemonSettings};
pub use editor::{EditorInput, EditorSettings, serve_editor};
pub use handle::{EventFeed, PermissionAnswer, SessionHandle, SessionOptions, followed_events};
pub use pointed::{PointError, PointTarget, PointedProgram};
pub use problem::ApiProblem;
pub use retention::SessionRetention;
pub use routing::GatewayServer;
