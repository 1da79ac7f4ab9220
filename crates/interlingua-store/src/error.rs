//! Errors of the store.

use std::fmt;

/// An operation of the store that failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The database cannot be opened: its place and the cause.
    Open(String, String),
    /// The schema of the database is newer than this program: the found version and the newest supported version.
    Newer(u64, u64),
    /// The file is an SQLite database of another program.
    Foreign(String),
    /// The place names PostgreSQL, and this build has no PostgreSQL client.
    NoPostgres,
    /// The database cannot be reached or is busy. The same operation may succeed later.
    Unavailable(String),
    /// The database refused the operation.
    Refused(String),
    /// A stored value is missing or unreadable: the id of its exchange and the defect.
    Damaged(String, &'static str),
    /// The recorder is closed, or too many reads are waiting.
    Closed,
    /// Exchanges were lost before this flush: their number.
    Lost(u64),
}

impl StoreError {
    /// Whether the same operation may succeed later.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, StoreError::Unavailable(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Open(place, cause) => write!(f, "cannot open the store `{place}`: {cause}"),
            StoreError::Newer(found, known) => write!(
                f,
                "the store has schema version {found}, and this program supports versions up to {known}; a newer \
                 program wrote the store"
            ),
            StoreError::Foreign(place) => {
                write!(f, "`{place}` is an SQLite database of another program, not a store")
            }
            StoreError::NoPostgres => f.write_str(
                "the store is PostgreSQL, and this program was built without the feature `postgres`",
            ),
            StoreError::Unavailable(cause) => write!(f, "the store is not available: {cause}"),
            StoreError::Refused(cause) => write!(f, "the store refused the operation: {cause}"),
            StoreError::Damaged(id, defect) => write!(f, "the stored exchange `{id}` is damaged: {defect}"),
            StoreError::Closed => f.write_str("the store is closed or overloaded"),
            StoreError::Lost(count) => write!(f, "{count} exchanges could not be stored"),
        }
    }
}

impl std::error::Error for StoreError {}
