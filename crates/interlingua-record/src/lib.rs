//! The verifiable agent record: its schema.
//!
//! A record is one agent session in a neutral form that can be checked, signed and read without the
//! agent that made it (`docs/record.md`). For now this crate holds the schema alone; CBOR, signatures,
//! the Merkle tree, redaction and attribution will live here too.
//!
//! It does not validate with the CDDL text at run time: a CDDL engine is some hundred times slower
//! than reading. The record dialect of the core checks every rule while it reads, and the tests of
//! this crate put the same probes to both, so that schema and reader cannot drift apart.

/// The schema of the unsigned record, profile v3, as CDDL (RFC 8610).
///
/// For printing, for documentation, and for those who want to validate with a tool of their own.
///
/// ```
/// assert!(interlingua_record::CDDL_V3.contains("start = agent-record"));
/// ```
pub const CDDL_V3: &str = include_str!("../schema/record-v3.cddl");
