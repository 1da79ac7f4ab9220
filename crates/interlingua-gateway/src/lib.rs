//! The gateway: an HTTP server that accepts every dialect of a model API and sends to any backend, translating both ways
//! while bytes flow.
//!
//! ```text
//! client --> service: path -> dialect, role --> routes: model -> backend
//!                                                  |
//!                                                  +--> call: Exchange -> backend (HTTP, or a script) -> Exchange --> client
//! ```
//!
//! The same dialect on both sides passes bytes unchanged, except for credentials. Errors have the client's dialect. This
//! crate parses no flags and prints nothing.

mod answer_body;
mod backend;
mod backend_answer;
mod breaker;
mod call;
mod cassette;
mod client_connection;
mod client_keys;
mod clients;
mod compaction;
mod config;
mod config_places;
mod connections;
mod extension;
mod feed;
mod feed_reader;
mod fetch;
mod finished;
mod handler;
mod http_message;
mod key_pool;
mod known_servers;
mod metrics;
mod model_list;
mod model_name;
mod recording;
mod refusal;
mod request_body;
mod request_path;
mod response_resources;
mod routes;
mod schema_sample;
mod script;
mod server;
mod service;
mod stored_responses;
mod telemetry;
mod token_count;
mod websocket;

pub use cassette::CassetteMatch;
pub use clients::BudgetPeriod;
pub use config::{
    BackendSettings, ClientSettings, Config, ConfigError, ConfigPart, FallbackSettings, KeySource, Lookup,
    RouteSettings, SessionLimits, StoreSettings, SystemLookup, TelemetrySettings,
};
pub use extension::{Extension, ExtensionBody, ExtensionRequest, ExtensionResponse};
pub use feed_reader::{FeedCall, FeedError, FeedEvent, FeedReader};
pub use fetch::{Fetched, fetch};
pub use finished::{Attempt, CallBodies, FinishedCall, Recorder};
pub use handler::{Handler, HandlerAnswer, HandlerCall};
pub use script::{Script, ScriptError};
pub use server::{Server, ServerHandle, StartError};
pub use service::ServerParts;
