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
mod daemon;
mod lines;
mod mock;
mod problem;
mod process;
mod recovery;
mod session;
mod settings;
mod subscription;

pub use agents::{AGENTS, Agent};
pub use answer::{ApiBody, ApiRequest, ApiResponse};
pub use daemon::{Daemon, DaemonSettings};
pub use problem::ApiProblem;
