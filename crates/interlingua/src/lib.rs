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
//! Four doors:
//!
//! | for | use |
//! |---|---|
//! | bytes of one dialect to bytes of another | [`convert()`]; in pieces: [`pipe::Pipe`] |
//! | a proxy for one model call, both ways | [`pipe::Exchange`] |
//! | the events of a log or stream | [`for_each_event`] (borrowed), [`events`] (owned); in pieces: [`pipe::EventReader`] |
//! | the losses of a conversion | [`ledger::Report`] |
//!
//! ```
//! let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"},"cwd":"/tmp"}"#;
//! let (record, report) = interlingua::convert(log, "claude-code".parse()?, "record".parse()?)?;
//!
//! assert!(report.adds_up());
//! assert_eq!(report.lost, 0);
//! assert!(String::from_utf8(record)?.contains(r#""content":"hi""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read on with [`model`], then [`pipe`], then one dialect.

mod blocks;
pub mod check;
pub mod dialects;
mod doors;
pub mod error;
pub mod fold;
pub mod framing;
pub mod graph;
pub mod json;
pub mod ledger;
mod live;
pub mod log;
pub mod model;
pub mod pipe;
pub mod restore_check;
pub mod sniff;
pub mod tape;
pub mod wire;

pub use doors::{EventIter, convert, events, for_each_event};
