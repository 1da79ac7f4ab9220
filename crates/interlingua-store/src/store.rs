//! The operations of the store.

use crate::error::StoreError;
use crate::exchange::{ExchangeFacts, StoredExchange};

/// A store of finished model calls.
///
/// The operations block. A program with asynchronous code uses [`crate::ExchangeRecorder`], which runs them on its own threads.
pub trait Store: Send {
    /// Adds exchanges in one transaction: after an error none is stored. An exchange whose id is stored already is
    /// left out, so that a batch can be repeated after a broken connection.
    fn append(&mut self, batch: &[StoredExchange]) -> Result<(), StoreError>;

    /// The exchange with this id.
    fn get(&mut self, id: &str) -> Result<Option<StoredExchange>, StoreError>;

    /// The facts of exchanges, newest first.
    fn list(&mut self, filter: &ListFilter) -> Result<Vec<ExchangeFacts>, StoreError>;

    /// The exchanges of a conversation in their order, with bodies.
    fn conversation(&mut self, id: &str) -> Result<Vec<StoredExchange>, StoreError>;

    /// The exchange with this response id. Each client finds only its own responses.
    fn response(&mut self, client: &str, response_id: &str) -> Result<Option<StoredExchange>, StoreError>;

    /// The conversation of the exchange with this response id.
    fn response_conversation(
        &mut self,
        client: &str,
        response_id: &str,
    ) -> Result<Option<String>, StoreError>;

    /// The sums of all exchanges that started at this time or later, for each client or for the given client.
    fn sums(&mut self, since_ms: u64, client: Option<&str>) -> Result<Vec<ClientSums>, StoreError>;

    /// The number and size of the stored exchanges.
    fn size(&mut self) -> Result<StoreSize, StoreError>;

    /// Deletes exchanges that are too old or exceed the size, oldest first, and at most some hundreds of them, so that
    /// other operations need not wait long. Call again while [`Deleted::more`] is set.
    fn retain(&mut self, retention: &Retention, now_ms: u64) -> Result<Deleted, StoreError>;

    /// The exchanges from the start of a chain of `previous_response_id` up to this response, oldest first. Empty if
    /// the response is not stored; a chain whose start was deleted starts later.
    fn response_chain(&mut self, client: &str, response_id: &str) -> Result<Vec<StoredExchange>, StoreError> {
        let mut chain = Vec::new();
        let mut next = Some(response_id.to_owned());
        while let Some(id) = next.take() {
            let Some(exchange) = self.response(client, &id)? else { break };
            // A chain that leads back to itself ends.
            if chain.iter().any(|known: &StoredExchange| known.facts.id == exchange.facts.id) {
                break;
            }
            next.clone_from(&exchange.facts.previous_response);
            chain.push(exchange);
        }
        chain.reverse();
        Ok(chain)
    }
}

/// Conditions of a list. A condition that is `None` holds for every exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListFilter {
    /// Started at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Started before this time.
    pub before_ms: Option<u64>,
    /// Listed after this exchange: its start and its id. The last exchange of a list gives the next list.
    pub after: Option<(u64, String)>,
    /// The backend.
    pub backend: Option<String>,
    /// The requested model or the model sent to the backend.
    pub model: Option<String>,
    /// The client.
    pub client: Option<String>,
    /// The first digit of the HTTP status.
    pub status_class: Option<u16>,
    /// The largest number of exchanges.
    pub limit: u32,
}

impl Default for ListFilter {
    /// The newest hundred exchanges.
    fn default() -> Self {
        Self {
            since_ms: None,
            before_ms: None,
            after: None,
            backend: None,
            model: None,
            client: None,
            status_class: None,
            limit: 100,
        }
    }
}

/// Sums over the exchanges of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientSums {
    /// The client.
    pub client: String,
    /// The number of exchanges.
    pub exchanges: u64,
    /// Input tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of the output that is reasoning.
    pub reasoning: u64,
    /// The cost in picodollars.
    pub cost: u64,
    /// The number of exchanges with token counts and without a known cost.
    pub unpriced: u64,
}

/// The number and size of the stored exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreSize {
    /// The number of exchanges.
    pub exchanges: u64,
    /// Their bytes as stored, compressed. The indexes and pages of a database add up to a quarter.
    pub bytes: u64,
}

/// The exchanges to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// The largest age in milliseconds.
    pub age_ms: Option<u64>,
    /// The largest size in bytes, as [`StoreSize::bytes`] counts them.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Keeps exchanges up to an age in milliseconds and up to a total size in bytes.
    pub const fn new(age_ms: Option<u64>, bytes: Option<u64>) -> Self {
        Self { age_ms, bytes }
    }
}

/// The result of a step of [`Store::retain`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The number of deleted exchanges.
    pub exchanges: u64,
    /// Whether there may be more exchanges to delete.
    pub more: bool,
}
