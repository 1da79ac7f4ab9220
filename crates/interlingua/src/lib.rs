//! One language between all coding agents and all model APIs: the core.
//!
//! ```text
//!            framing            dialect            lifecycle          dialect           framing
//! bytes  ->  frames   ->  reader: frame -> events  ->  order  ->  writer: event -> frames  ->  bytes
//!           lines, sse,            \                                   /
//!           whole, elements         +------------ ledger -------------+     every leaf: mapped, kept or lost
//! ```
//!
//! Everything is a stream of events, and events fold into a conversation. The core does no IO: no files, sockets,
//! clock, randomness, logging or threads. Bytes go in, bytes come out.
//!
//! ```
//! use interlingua::dialects::{Dialect, Options, Role};
//! use interlingua::pipe::Pipe;
//!
//! let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"},"cwd":"/tmp"}"#;
//! let claude = Dialect::named("claude-code").expect("registered");
//! let record = Dialect::named("record").expect("registered");
//!
//! let mut out = Vec::new();
//! let mut pipe = Pipe::new((claude, Role::Log), (record, Role::Log), &Options::default())?;
//! pipe.push(log, &mut out); // in pieces of any size
//! let report = pipe.finish(&mut out);
//!
//! assert!(report.adds_up());
//! assert_eq!(report.lost, 0);
//! assert!(String::from_utf8(out)?.contains(r#""content":"hi""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read on with [`model`], then [`pipe`], then one dialect.

pub mod check;
pub mod dialects;
pub mod error;
pub mod fold;
pub mod framing;
pub mod graph;
pub mod json;
pub mod ledger;
pub mod log;
pub mod model;
pub mod pipe;
pub mod sniff;
pub mod tape;
pub mod wire;
