//! The gateway over HTTP on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
#![allow(clippy::format_push_string, reason = "short texts")]
#![allow(missing_docs, reason = "not published")]

mod backend_connections;
mod client_connections;
mod clients;
mod feed;
mod passing;
mod recorded;
mod reliability;
mod responses;
mod support;
mod telemetry;
