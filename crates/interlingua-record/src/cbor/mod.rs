//! Records in CBOR (RFC 8949), transcoded from and to the JSON text of the same record.
//!
//! ```text
//! JSON text --> to_cbor --> CBOR, core deterministic encoding, tag 4149
//!     ^                       |
//!     +------ RecordJson <----+
//! ```
//!
//! A log is restored from the exact text of kept lines and values: the order of members, the spelling of numbers and
//! escapes. CBOR has none of them, so three rules keep them ([`to_cbor`] has the details):
//!
//! - a value of any type whose CBOR would not give the same JSON text is embedded JSON (tag 262);
//! - the spelling of other texts and numbers is in a table beside them, `json` in `vendor-ext`;
//! - the names of members before the entries are in the same table of the session.
//!
//! The transcoder does no IO of its own: it reads from any reader, and its caller lends the space for the entries.

mod decode;
mod encode;
pub(crate) mod item;
mod render;

pub use decode::{CborFault, RecordJson, is_cbor_record};
pub use encode::{EncodeFault, RECORD_TAG, to_cbor};
pub use item::{CborError, CborItem};

/// The tag of embedded JSON text, as a byte string.
const EMBEDDED_JSON: u64 = 262;
/// The name of the table with the JSON spelling.
const JSON_TABLE: &str = "json";
/// The member of the session's table that lists the members before the entries.
const BEFORE: &str = "before";
/// The member of the session's table that holds the spelling of values outside the entries.
const SPELLED: &str = "spelled";
/// The deepest nesting of an entry; deeper values are embedded JSON.
const MAX_DEPTH: usize = 160;
