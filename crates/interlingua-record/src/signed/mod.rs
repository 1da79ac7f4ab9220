//! Signed records: keys, signatures, the tree of entries, proofs and redaction.
//!
//! A signature file is a COSE_Sign1 over the exact bytes of a record, with a signed tree head in its unprotected header
//! (`docs/record.md`). Records are read in one pass and bounded memory.
//!
//! ```text
//! record --> scan --> walk: leaves, tree, digest --> sign, verify
//!            keys, cose <- cbor                 \--> proofs, redaction
//! ```

mod certificates;
mod copies;
mod cose;
mod digest;
mod file;
mod head;
mod keys;
mod leaf;
mod log;
mod log_receipt;
mod metadata;
mod proof;
mod redact;
mod salts;
mod scan;
mod sign;
mod time;
mod tree;
mod verify;
mod walk;
mod window;

use crate::cbor::item as cbor;
pub use crate::cbor::{CborError, CborItem};
pub use certificates::{CertificateChain, CertifiedKey, ChainFault, ClockSource, TrustStore};
pub use cose::{CoseError, Sign1};
pub use digest::{Hash, digest_of, from_hex, hex};
pub use file::MAX_FILE;
pub use head::{TREE_HEAD_TYPE, TreeHead};
pub use keys::{KeyAlgorithm, KeyError, PublicKey, SigningKey};
pub use log::{LogFault, TransparencyLog};
pub use log_receipt::{
    LogInclusion, ReceiptCheck, add_receipt, detached, is_receipt, receipts_of, statement_of,
    verify_receipts, without_receipts,
};
pub use proof::{ProofFacts, ProofSource, prove_continuation, prove_entry, verify_proof};
pub use redact::{RedactPlan, RedactReport, RedactedPlace, place_of_pointer, redact};
pub use salts::SaltSet;
pub use scan::{REMOVABLE, RecordFacts, RecordTime, ScanFault};
pub use sign::{PayloadForm, RECORD_TYPE, SignSettings, SignedRecord, sign};
pub use time::utc;
pub use verify::{EnvelopeFacts, HeadFacts, SignatureCheck, SignatureFault, Verification, verify};
pub use walk::{MAX_PAYLOAD, Removed};
