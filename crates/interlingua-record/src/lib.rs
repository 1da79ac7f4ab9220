//! The verifiable agent record: its schema and the check.
//!
//! A record is one agent session in a neutral form that can be checked, signed and read without the agent that made it
//! (`docs/record.md`). This crate holds the schema, the check, work orders with their receipts, and [`signed`]
//! records: keys, signatures, the tree of entries, proofs and redaction.
//!
//! The crate does not validate with the CDDL text at run time, because a CDDL engine is some hundred times slower than
//! the reader. The record dialect of the core checks every rule while it reads. The tests of this crate run the same
//! probes against the CDDL and the reader, so that schema and reader cannot drift apart.

pub mod attribution;
pub mod audit;
pub mod calls;
pub mod cbor;
pub mod contract;
pub mod secrets;
pub mod signed;

use interlingua::check::CheckWriter;
use interlingua::dialects::ours::{record, record_v2};
use interlingua::dialects::{Options, Role};
use interlingua::error::{Error, Problem};
use interlingua::pipe::Pipe;
use interlingua::sniff;

/// The schema of the unsigned record, profile v3, as CDDL (RFC 8610).
///
/// For printing, for documentation, and for validation with other tools.
///
/// ```
/// assert!(interlingua_record::CDDL_V3.contains("start = agent-record"));
/// ```
pub const CDDL_V3: &str = include_str!("../schema/record-v3.cddl");

/// The schema of profile v2, the predecessor of v3.
pub const CDDL_V2: &str = include_str!("../schema/record-v2.cddl");

/// Checks a JSON record of the profile named by its version: syntax, schema and links.
///
/// Problems are in the order they were found; a record is valid when none of them is an
/// [error](interlingua::error::Severity::Error). At most a hundred problems are returned.
///
/// ```
/// let problems = interlingua_record::check(br#"{"version":"3.0.0","id":"r1","session":[]}"#);
/// assert_eq!(problems[0].place.pointer.as_deref(), Some("/session"));
/// ```
pub fn check(bytes: &[u8]) -> Vec<Problem> {
    match read(bytes) {
        Ok(problems) => problems,
        // The registry entry of the record dialect has a reader for logs, so this error cannot occur.
        Err(error) => unreachable!("{error}"),
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Problem>, Error> {
    let checker = Box::new(CheckWriter::default());
    let head = bytes.get(..sniff::HEAD).unwrap_or(bytes);
    let guess = sniff::sniff(head, head.len() == bytes.len());
    let is_v2 = guess.is_some_and(|guess| guess.dialect.name == record_v2::DIALECT.name);
    let dialect = if is_v2 { &record_v2::DIALECT } else { &record::DIALECT };
    let mut pipe = Pipe::with_writer((dialect, Role::Log), checker, &Options::default())?;
    pipe.push(bytes, &mut Vec::new());
    Ok(pipe.finish(&mut Vec::new()).problems)
}
