//! The store on its own threads: one thread writes, one reads. Callers never wait for the database unless they ask to.
//!
//! ```text
//! record(exchange) --> queue, bounded in number and bytes --> writer thread: derive, batch, commit, retain
//! read(|store| …)  --> reader thread --> Reply, for `await` or `wait`
//! ```
//!
//! The writer commits as soon as there is an exchange; the exchanges that arrive during a commit are the next batch.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use interlingua::dialects::Dialect;

use crate::derive::{conversation_key, fill_response_ids};
use crate::error::StoreError;
use crate::exchange::{StoredExchange, now_ms};
use crate::queue::{Batch, Counts, Queue, lock};
use crate::reply::Reply;
use crate::store::{Retention, Store};
use crate::{StorePlace, open};

/// Settings of a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderSettings {
    /// The database.
    pub place: StorePlace,
    /// The exchanges to keep; by default all.
    pub retention: Retention,
    /// The largest number of exchanges that wait for the database.
    pub most_waiting: usize,
    /// The largest size in bytes of the exchanges that wait for the database. A single larger exchange is accepted
    /// while none waits.
    pub most_waiting_bytes: usize,
    /// The time for the last exchanges at the end, if the database is not available.
    pub last_tries: Duration,
}

impl RecorderSettings {
    /// The default settings for a database.
    pub const fn new(place: StorePlace) -> Self {
        Self {
            place,
            retention: Retention::new(None, None),
            most_waiting: 10_000,
            most_waiting_bytes: 64 << 20,
            last_tries: Duration::from_secs(5),
        }
    }

    /// The same settings with a retention.
    #[must_use]
    pub const fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }
}

/// An event that the operator should see. The recorder reports it on its writer thread.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreTrouble<'e> {
    /// Exchanges were dropped since the last report, because too many were waiting: their number.
    Dropped(u64),
    /// The database is not available; the recorder tries again.
    Waiting(&'e StoreError),
    /// The database is available again.
    Recovered,
    /// The database refused an exchange: its id.
    Refused(&'e str, &'e StoreError),
    /// The recorder was closed while the database was not available: the number of lost exchanges.
    Lost(u64, &'e StoreError),
    /// Old exchanges could not be deleted.
    Retention(&'e StoreError),
}

impl fmt::Display for StoreTrouble<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreTrouble::Dropped(count) => {
                write!(f, "{count} exchanges were not recorded: too many are waiting for the store")
            }
            StoreTrouble::Waiting(error) => write!(f, "{error}; trying again"),
            StoreTrouble::Recovered => f.write_str("the store is available again"),
            StoreTrouble::Refused(id, error) => write!(f, "the exchange `{id}` was not recorded: {error}"),
            StoreTrouble::Lost(count, error) => {
                write!(f, "{count} exchanges were not recorded before the end: {error}")
            }
            StoreTrouble::Retention(error) => write!(f, "old exchanges could not be deleted: {error}"),
        }
    }
}

/// Counts of a recorder since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderCounts {
    /// Exchanges that are stored.
    pub stored: u64,
    /// Exchanges that were dropped because too many were waiting, or because the recorder was closed.
    pub dropped: u64,
    /// Exchanges that the database refused or never accepted.
    pub failed: u64,
    /// Exchanges that were deleted by the retention.
    pub deleted: u64,
}

/// A store on its own threads. Clones share the threads; the last clone flushes and ends them.
#[derive(Clone)]
pub struct ExchangeRecorder(Arc<Threads>);

impl fmt::Debug for ExchangeRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeRecorder").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

struct Threads {
    queue: Arc<Queue>,
    reads: Mutex<Option<SyncSender<ReadJob>>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

type ReadJob = Box<dyn FnOnce(&mut dyn Store) + Send>;
type Report = Box<dyn Fn(&StoreTrouble<'_>) + Send>;

/// The largest number of reads that wait.
const MOST_READS: usize = 1024;

impl ExchangeRecorder {
    /// Opens the store and starts the threads. `report` receives events for the operator's log.
    pub fn open(
        settings: RecorderSettings,
        report: impl Fn(&StoreTrouble<'_>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::new(settings.most_waiting, settings.most_waiting_bytes));
        let (reads, jobs) = sync_channel(MOST_READS);
        let place = settings.place.clone();
        let (writer_opened, writer_is_open) = Reply::pair();
        let (reader_opened, reader_is_open) = Reply::pair();
        let writer_queue = Arc::clone(&queue);
        let report: Report = Box::new(report);
        // The threads open their own connections, because a PostgreSQL client must not start inside of a runtime.
        let writer = spawn("store-writer", move || match open(&settings.place) {
            Ok(store) => {
                writer_opened.send(Ok(()));
                Writer { store, queue: writer_queue, settings, report, reported_drops: 0 }.run();
            }
            Err(error) => writer_opened.send(Err(error)),
        })?;
        // The writer creates the tables first.
        writer_is_open.wait()?;
        let reader = spawn("store-reader", move || match open(&place) {
            Ok(mut store) => {
                reader_opened.send(Ok(()));
                serve_reads(&jobs, &mut *store);
            }
            Err(error) => reader_opened.send(Err(error)),
        })?;
        let running = Mutex::new(vec![writer, reader]);
        let recorder = Self(Arc::new(Threads { queue, reads: Mutex::new(Some(reads)), running }));
        reader_is_open.wait()?;
        Ok(recorder)
    }

    /// Hands an exchange over to the writer thread, without waiting. Returns whether the exchange was accepted; a dropped
    /// exchange is counted and reported.
    pub fn record(&self, exchange: StoredExchange) -> bool {
        self.0.queue.push(exchange)
    }

    /// Like [`ExchangeRecorder::record`], and delivers a result once the exchange is stored ([`ExchangeRecorder::flush`]).
    pub fn record_and_flush(&self, exchange: StoredExchange) -> Reply<()> {
        self.0.queue.push_and_flush(exchange)
    }

    /// Delivers a result once every exchange that was recorded before is stored: a killed process does not lose them.
    /// [`StoreError::Lost`] if the database refused some since the last flush.
    pub fn flush(&self) -> Reply<()> {
        self.0.queue.flush()
    }

    /// Runs an operation on the reader thread.
    pub fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<T> {
        let (sender, reply) = Reply::pair();
        let job: ReadJob = Box::new(move |store| sender.send(operation(store)));
        if let Some(reads) = &*lock(&self.0.reads) {
            // A job that is dropped delivers an error.
            let _ = reads.try_send(job);
        }
        reply
    }

    /// The counts since the start.
    pub fn counts(&self) -> RecorderCounts {
        let Counts { stored, dropped, failed, deleted } = &self.0.queue.counts;
        let [stored, dropped, failed, deleted] =
            [stored, dropped, failed, deleted].map(|count| count.load(Ordering::Relaxed));
        RecorderCounts { stored, dropped, failed, deleted }
    }

    /// Stores the exchanges that are waiting, and ends the threads. Later exchanges are dropped. Blocks until then.
    pub fn close(&self) {
        self.0.close();
    }
}

impl Threads {
    fn close(&self) {
        self.queue.close();
        *lock(&self.reads) = None;
        let running = std::mem::take(&mut *lock(&self.running));
        for thread in running {
            // A panic of the thread was printed by the thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.close();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn serve_reads(jobs: &Receiver<ReadJob>, store: &mut dyn Store) {
    for job in jobs {
        job(store);
    }
}

/// The largest number and size of the exchanges of one transaction.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 16 << 20;

/// The time between two deletions of old exchanges.
const RETENTION_PAUSE: Duration = Duration::from_secs(300);

/// The first and the longest pause before the next attempt to reach the database.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

struct Writer {
    store: Box<dyn Store>,
    queue: Arc<Queue>,
    settings: RecorderSettings,
    report: Report,
    reported_drops: u64,
}

impl Drop for Writer {
    /// A writer that panics must not leave callers waiting for a flush.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl Writer {
    fn run(mut self) {
        let mut next_retention = Instant::now();
        // Failures since the last flush.
        let mut lost = 0;
        loop {
            let Batch { mut exchanges, flushes, closed } =
                self.queue.next(next_retention.saturating_duration_since(Instant::now()));
            while !exchanges.is_empty() {
                let mut batch = Vec::new();
                let mut bytes = 0;
                while let Some(exchange) = exchanges.pop_front() {
                    bytes += exchange.weight();
                    batch.push(exchange);
                    if batch.len() == BATCH || bytes >= BATCH_BYTES {
                        break;
                    }
                }
                lost += self.write(&mut batch);
                self.queue.done(&batch);
            }
            if !flushes.is_empty() {
                let lost = std::mem::take(&mut lost);
                for flush in flushes {
                    flush.send(if lost == 0 { Ok(()) } else { Err(StoreError::Lost(lost)) });
                }
            }
            self.report_drops();
            if closed {
                break;
            }
            if Instant::now() >= next_retention && !self.retain() {
                next_retention = Instant::now() + RETENTION_PAUSE;
            }
        }
    }

    /// Stores a batch; returns the number of exchanges that were lost.
    fn write(&mut self, batch: &mut [StoredExchange]) -> u64 {
        let mut pause = FIRST_PAUSE;
        let mut end = None;
        let mut is_waiting = false;
        loop {
            let done = self.derive(batch).and_then(|()| self.store.append(batch));
            let error = match done {
                Ok(()) => {
                    if is_waiting {
                        (self.report)(&StoreTrouble::Recovered);
                    }
                    self.queue.counts.stored.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    return 0;
                }
                Err(error) => error,
            };
            if !error.is_retryable() {
                return self.write_each(batch, &error);
            }
            if !std::mem::replace(&mut is_waiting, true) {
                (self.report)(&StoreTrouble::Waiting(&error));
            }
            if self.queue.is_closed() {
                let end = *end.get_or_insert_with(|| Instant::now() + self.settings.last_tries);
                if Instant::now() >= end {
                    (self.report)(&StoreTrouble::Lost(batch.len() as u64, &error));
                    self.queue.counts.failed.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    return batch.len() as u64;
                }
                pause = FIRST_PAUSE;
            }
            self.queue.pause(pause);
            self.report_drops();
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Stores the exchanges of a refused batch one by one, so that one refused exchange takes no other with it.
    fn write_each(&mut self, batch: &mut [StoredExchange], error: &StoreError) -> u64 {
        if let [exchange] = batch {
            (self.report)(&StoreTrouble::Refused(&exchange.facts.id, error));
            self.queue.counts.failed.fetch_add(1, Ordering::Relaxed);
            return 1;
        }
        batch.iter_mut().map(|exchange| self.write(std::slice::from_mut(exchange))).sum()
    }

    /// Fills the conversation and the response ids of a batch.
    fn derive(&mut self, batch: &mut [StoredExchange]) -> Result<(), StoreError> {
        for at in 0..batch.len() {
            let (earlier, rest) = batch.split_at_mut(at);
            let Some(exchange) = rest.first_mut() else { continue };
            fill_response_ids(exchange);
            if !exchange.facts.conversation.is_empty() {
                continue;
            }
            let facts = &exchange.facts;
            // A request that continues a response belongs to the conversation of the response.
            let continued = match &facts.previous_response {
                Some(id) => {
                    let is_it = |earlier: &&StoredExchange| {
                        earlier.facts.client == facts.client && earlier.facts.response_id.as_ref() == Some(id)
                    };
                    match earlier.iter().rev().find(is_it) {
                        Some(earlier) => Some(earlier.facts.conversation.clone()),
                        None => self.store.response_conversation(&facts.client, id)?,
                    }
                }
                None => None,
            };
            let derived = continued.or_else(|| {
                let dialect = Dialect::named(&facts.client_dialect)?;
                conversation_key(&facts.client, dialect, &exchange.request)
            });
            // A request without a message of the user is a conversation of its own.
            exchange.facts.conversation = derived.unwrap_or_else(|| facts.id.clone());
        }
        Ok(())
    }

    /// One step of the retention; returns whether more steps follow.
    fn retain(&mut self) -> bool {
        match self.store.retain(&self.settings.retention, now_ms()) {
            Ok(deleted) => {
                self.queue.counts.deleted.fetch_add(deleted.exchanges, Ordering::Relaxed);
                deleted.more
            }
            Err(error) => {
                (self.report)(&StoreTrouble::Retention(&error));
                false
            }
        }
    }

    fn report_drops(&mut self) {
        let dropped = self.queue.counts.dropped.load(Ordering::Relaxed);
        if dropped > self.reported_drops {
            (self.report)(&StoreTrouble::Dropped(dropped - self.reported_drops));
            self.reported_drops = dropped;
        }
    }
}
