//! The baselines: a document is parsed into a `Value` and serialised again.
//!
//! A document that a baseline cannot parse is excluded beforehand by [`can_read`].

use std::hint::black_box;

use interlingua::tape::{Limits, TapeBuf};

/// The fastest `Value` we know of.
pub const SONIC: &str = "sonic-rs `Value`, parse + serialise";
/// The library that nearly every Rust program uses.
pub const SERDE: &str = "serde_json `Value`, parse + serialise";

/// Whether each baseline, and the tape, can parse a document.
pub fn can_read(text: &str) -> bool {
    sonic(text).is_some()
        && serde(text).is_some()
        && TapeBuf::default().parse(text, &Limits::default()).is_ok()
}

/// One document through sonic-rs.
pub fn sonic(text: &str) -> Option<()> {
    let value: sonic_rs::Value = sonic_rs::from_str(text).ok()?;
    black_box(sonic_rs::to_vec(&value).ok()?);
    Some(())
}

/// One document through serde_json that is known to be UTF-8, as a line of a log is.
pub fn serde(text: &str) -> Option<()> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    black_box(serde_json::to_vec(&value).ok()?);
    Some(())
}

/// One document through serde_json as bytes from a socket: not yet validated as UTF-8.
pub fn serde_bytes(bytes: &[u8]) -> Option<()> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    black_box(serde_json::to_vec(&value).ok()?);
    Some(())
}
