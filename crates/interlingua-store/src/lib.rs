//! The store of the gateway: one row per finished model call, in SQLite or PostgreSQL.
//!
//! ```text
//! gateway --> ExchangeRecorder --> writer thread --> Store --> SQLite (a file) or PostgreSQL (feature `postgres`)
//!                     \--> reader thread --^    get, list, conversation, response, sums, retain
//! ```
//!
//! A row holds the facts of a call, the report of its translation, and both bodies as the client sent and received them.
//! Headers are never stored, so no credential is. The crate reads no configuration and prints nothing: the caller's
//! function receives each event that the operator should see.
//!
//! ```
//! use interlingua_store::{ExchangeRecorder, RecorderSettings, StorePlace, StoredExchange};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("gateway.db");
//! # let place = path.to_str().expect("a path in UTF-8");
//! // At the start of a gateway: a path, or `postgres://user@host/database`.
//! let place: StorePlace = place.parse()?;
//! let recorder = ExchangeRecorder::open(RecorderSettings::new(place), |trouble| eprintln!("{trouble}"))?;
//!
//! // At the start of a call, and at its end. `record` does not wait.
//! let mut exchange = StoredExchange::begin();
//! let id = exchange.facts.id.clone();
//! exchange.facts.client_dialect = "anthropic".to_owned();
//! exchange.facts.status = 200;
//! exchange.receipt = r#"{"lost":0}"#.to_owned();
//! exchange.request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#[..].into();
//! exchange.response = br#"{"type":"message","content":[]}"#[..].into();
//! recorder.record(exchange);
//!
//! // `GET /v1/receipts/{id}`: with `.await` in asynchronous code, with `.wait()` elsewhere.
//! recorder.flush().wait()?;
//! let found = recorder.read(move |store| store.get(&id)).wait()?;
//! assert_eq!(found.expect("stored").receipt, r#"{"lost":0}"#);
//!
//! // At the end of the gateway.
//! recorder.close();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod database;
mod derive;
mod entry;
mod error;
mod exchange;
mod journal;
mod journalled;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod record;
mod recorder;
mod reply;
mod session_log;
mod sql;
mod sqlite;
mod store;
#[cfg(feature = "postgres")]
mod tls;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

pub use derive::conversation_key;
pub use error::StoreError;
pub use exchange::{ExchangeFacts, StoredAttempt, StoredExchange, StoredFailure};
pub use record::{RecordError, record};
pub use recorder::{ExchangeRecorder, RecorderCounts, RecorderSettings, StoreTrouble};
pub use reply::Reply;
pub use session_log::{AgentEventRow, AgentSessionRow, SessionLog};
pub use store::{ClientSums, Deleted, ListFilter, Retention, Store, StoreSize};

/// The database of a store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorePlace {
    /// An SQLite file, which is created if there is none.
    Sqlite(PathBuf),
    /// The address of a PostgreSQL database. The address may hold a password, so it is never printed.
    Postgres(String),
}

/// Parses the address of a PostgreSQL database (`postgres://…`, `postgresql://…`), or the path of a file.
impl FromStr for StorePlace {
    type Err = std::convert::Infallible;

    fn from_str(place: &str) -> Result<Self, Self::Err> {
        let is_address = ["postgres://", "postgresql://"].iter().any(|scheme| place.starts_with(scheme));
        Ok(if is_address { Self::Postgres(place.to_owned()) } else { Self::Sqlite(place.into()) })
    }
}

impl fmt::Debug for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorePlace::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            StorePlace::Postgres(_) => f.debug_tuple("Postgres").finish_non_exhaustive(),
        }
    }
}

/// Opens a store. The operations of the store block; [`ExchangeRecorder`] is the door for asynchronous code.
pub fn open(place: &StorePlace) -> Result<Box<dyn Store>, StoreError> {
    match place {
        StorePlace::Sqlite(path) => Ok(Box::new(journalled::JournalledStore::open(path)?)),
        #[cfg(feature = "postgres")]
        StorePlace::Postgres(address) => {
            Ok(Box::new(sql::SqlStore::new(postgres::Postgres::open(address)?)?))
        }
        #[cfg(not(feature = "postgres"))]
        StorePlace::Postgres(_) => Err(StoreError::NoPostgres),
    }
}
