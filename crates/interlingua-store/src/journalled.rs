//! The store in SQLite with the journals of living processes: each operation sees every call that is stored.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::derive::derive;
use crate::error::StoreError;
use crate::exchange::{ExchangeFacts, StoredExchange};
use crate::journal::{OpenedSegment, OtherJournals};
use crate::sql::SqlStore;
use crate::sqlite::Sqlite;
use crate::store::{ClientSums, Deleted, ListFilter, Retention, Store, StoreSize};

/// A store in SQLite that transfers the journals of other processes before it reads.
pub(crate) struct JournalledStore {
    store: SqlStore<Sqlite>,
    journals: OtherJournals,
    /// The end of the transferred calls of each segment.
    transferred: HashMap<PathBuf, u64>,
}

impl JournalledStore {
    /// Opens a store that reads all journals.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::with_journals(path, OtherJournals::of(path))
    }

    /// Opens a store that reads these journals.
    pub(crate) fn with_journals(path: &Path, journals: OtherJournals) -> Result<Self, StoreError> {
        let store = SqlStore::new(Sqlite::open(path)?)?;
        Ok(Self { store, journals, transferred: HashMap::new() })
    }

    /// The store, with all calls that are in journals now.
    fn caught_up(&mut self) -> Result<&mut SqlStore<Sqlite>, StoreError> {
        let segments = self.journals.segments().map_err(|error| unreadable(&error))?;
        self.transferred.retain(|path, _| segments.iter().any(|segment| segment.path == *path));
        for segment in segments {
            let at = self.transferred.get(&segment.path).copied().unwrap_or(0);
            let mut reader = match segment.reader(at).map_err(|error| unreadable(&error))? {
                OpenedSegment::Reader(reader) => reader,
                OpenedSegment::Deleted | OpenedSegment::Foreign => continue,
            };
            loop {
                let mut batch = reader.batch().map_err(|error| unreadable(&error))?;
                if batch.is_empty() {
                    break;
                }
                patiently(&mut self.store, &mut batch)?;
                self.transferred.insert(segment.path.clone(), reader.at());
            }
        }
        Ok(&mut self.store)
    }
}

/// The attempts to transfer calls of another process. Each waits for the transactions of other processes, which may come one
/// after the other.
const MOST_TRIES: u32 = 5;

/// Transfers calls of another process.
fn patiently(store: &mut SqlStore<Sqlite>, batch: &mut [StoredExchange]) -> Result<(), StoreError> {
    let mut tries = 1;
    loop {
        // The owner of the journal reports refused exchanges.
        match transfer(store, batch, &mut |_, _| {}) {
            Err(error) if error.is_retryable() && tries < MOST_TRIES => tries += 1,
            done => return done,
        }
    }
}

/// A journal that cannot be read.
pub(crate) fn unreadable(error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("the journal of calls cannot be read: {error}"))
}

/// Stores a batch. A refused batch is stored one by one, so that one refused exchange takes no other with it.
pub(crate) fn transfer(
    store: &mut (impl Store + ?Sized),
    batch: &mut [StoredExchange],
    refused: &mut dyn FnMut(&str, &StoreError),
) -> Result<(), StoreError> {
    match derive(store, batch).and_then(|()| store.append(batch)) {
        Err(error) if !error.is_retryable() => match batch {
            [exchange] => refused(&exchange.facts.id, &error),
            _ => {
                for exchange in batch {
                    transfer(store, std::slice::from_mut(exchange), refused)?;
                }
            }
        },
        done => return done,
    }
    Ok(())
}

impl Store for JournalledStore {
    fn append(&mut self, batch: &[StoredExchange]) -> Result<(), StoreError> {
        self.store.append(batch)
    }

    fn get(&mut self, id: &str) -> Result<Option<StoredExchange>, StoreError> {
        self.caught_up()?.get(id)
    }

    fn list(&mut self, filter: &ListFilter) -> Result<Vec<ExchangeFacts>, StoreError> {
        self.caught_up()?.list(filter)
    }

    fn conversation(&mut self, id: &str) -> Result<Vec<StoredExchange>, StoreError> {
        self.caught_up()?.conversation(id)
    }

    fn response(&mut self, client: &str, response_id: &str) -> Result<Option<StoredExchange>, StoreError> {
        self.caught_up()?.response(client, response_id)
    }

    fn response_conversation(
        &mut self,
        client: &str,
        response_id: &str,
    ) -> Result<Option<String>, StoreError> {
        self.caught_up()?.response_conversation(client, response_id)
    }

    fn sums(&mut self, since_ms: u64, client: Option<&str>) -> Result<Vec<ClientSums>, StoreError> {
        self.caught_up()?.sums(since_ms, client)
    }

    fn size(&mut self) -> Result<StoreSize, StoreError> {
        self.caught_up()?.size()
    }

    fn retain(&mut self, retention: &Retention, now_ms: u64) -> Result<Deleted, StoreError> {
        self.caught_up()?.retain(retention, now_ms)
    }
}
