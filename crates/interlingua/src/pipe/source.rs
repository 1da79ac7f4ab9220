//! The size and the SHA-256 of a source. A record carries both at its end, and a restored log is compared with them.
//!
//! The pipe hashes the bytes that it passes on: the input of a conversion to a record, and the output of a conversion
//! from a record to a log. The comparison needs no second pass and no copy of the log.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::error::{Code, Place, Problem, Window};
use crate::json::Output;
use crate::ledger::Ledger;

/// The dialect, the size and the SHA-256 of the source of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct SourceDigest {
    /// The name of the dialect.
    pub dialect: String,
    /// The number of bytes.
    pub bytes: u64,
    /// The SHA-256 of the bytes, as 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// The number of consecutive records that the source became, up to the record with this value. `None` if the writer
    /// of the record counts them.
    pub records: Option<u64>,
}

/// A digest of the bytes so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningDigest {
    hasher: Sha256,
    bytes: u64,
}

impl RunningDigest {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// The digest of a source of this dialect.
    pub(super) fn finish(&mut self, dialect: &str) -> SourceDigest {
        let Self { hasher, bytes } = std::mem::take(self);
        let sha256 = hasher.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        SourceDigest { dialect: dialect.to_owned(), bytes, sha256, records: None }
    }
}

/// An output that hashes the bytes on their way.
pub(super) struct HashedOutput<'o> {
    pub(super) out: &'o mut dyn Output,
    pub(super) digest: &'o mut RunningDigest,
}

impl Output for HashedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.out.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.out.is_closed()
    }
}

/// The sources that the records of an input name.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedSources {
    /// The number of records so far.
    pub(crate) records: u64,
    /// The number of records with a source.
    count: u64,
    last: Option<SourceDigest>,
}

impl NamedSources {
    pub(crate) fn add(&mut self, source: &SourceDigest) {
        self.count += 1;
        self.last = Some(source.clone());
    }
}

/// Compares a restored log with the source that its record names, and books a difference as a problem. A log of another
/// dialect than the source is no restored log.
pub(super) fn compare(restored: &SourceDigest, ledger: &mut Ledger) {
    let NamedSources { records, count, last } = ledger.sources.clone();
    let Some(source) = last.filter(|source| source.dialect == restored.dialect) else { return };
    if count > 1 || source.records.unwrap_or(1) != records {
        ledger.note(NOT_COMPARED);
        return;
    }
    if (source.bytes, &source.sha256) != (restored.bytes, &restored.sha256) {
        let detail = format!(
            "the source has {} bytes with SHA-256 {}; the restored log has {} bytes with SHA-256 {}",
            source.bytes, source.sha256, restored.bytes, restored.sha256
        );
        let (place, window) = (Place::default(), Window::default());
        ledger.problem(Problem { code: Code::NotTheSource, place, detail, window });
    }
}

/// The note for a digest that covers another number of records than the input holds.
const NOT_COMPARED: &str =
    "restored log not compared with the digest of its source: the input is not the records of one log";
