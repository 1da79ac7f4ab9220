//! The store on its own threads: one thread writes, one reads. Callers never wait for the database unless they ask to.
//!
//! ```text
//! record(exchange) --> queue, bounded in number and bytes --> writer thread: derive, batch, commit, retain
//! record_and_flush(exchange) --> journal (SQLite only) --> writer thread, now and then: derive, batch, commit
//! read(|store| …)  --> reader thread --> Reply, for `await` or `wait`
//! ```
//!
//! The writer commits as soon as there is an exchange in the queue; the exchanges that arrive during a commit are the next
//! batch. An exchange in the journal is stored already, so the writer may wait for more of them. A read waits for the
//! transfer of the journal.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::derive::derive;
use crate::error::StoreError;
use crate::exchange::{StoredExchange, now_ms};
use crate::journal::{Appended, Journal, OpenedSegment, Segment, SegmentReader};
use crate::journalled::{JournalledStore, transfer, unreadable};
use crate::queue::{Batch, Counts, Queue, lock};
use crate::reply::{Reply, ReplySender};
use crate::sql::SqlStore;
use crate::sqlite::Sqlite;
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
    /// The recorder was closed while the database was not available. The journal holds so many bytes of exchanges, which the
    /// next recorder transfers.
    Kept(u64, &'e StoreError),
    /// The journal of a process that was killed ends with so many bytes that are no whole exchange. They were cut.
    Cut(&'e Path, u64),
    /// The file is no journal, or that of a newer program. The file stays.
    Foreign(&'e Path),
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
            StoreTrouble::Kept(bytes, error) => {
                write!(f, "{bytes} bytes of exchanges stay in the journal until the next start: {error}")
            }
            StoreTrouble::Cut(path, bytes) => {
                let path = path.display();
                write!(
                    f,
                    "the journal `{path}` ended in the middle of an exchange; its last {bytes} bytes were cut"
                )
            }
            StoreTrouble::Foreign(path) => {
                write!(f, "`{}` is no journal of this version of the program; it was left", path.display())
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
    /// The journal of a store in SQLite.
    journal: Option<Arc<Journal>>,
    /// The bytes in the journal from which on calls wait for the database.
    most_backlog: u64,
    reads: Mutex<Option<SyncSender<ReadJob>>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

type ReadJob = Box<dyn FnOnce(Result<&mut dyn Store, StoreError>) + Send>;
type Report = Box<dyn Fn(&StoreTrouble<'_>) + Send>;

/// The largest number of reads that wait.
const MOST_READS: usize = 1024;

/// The time that an exchange is in the journal before it is transferred with those that came after it.
const TRANSFER_PAUSE: Duration = Duration::from_millis(250);

impl ExchangeRecorder {
    /// Opens the store and starts the threads. `report` receives events for the operator's log.
    pub fn open(
        settings: RecorderSettings,
        report: impl Fn(&StoreTrouble<'_>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::new(settings.most_waiting, settings.most_waiting_bytes));
        let most_backlog = settings.most_waiting_bytes as u64;
        let (reads, jobs) = sync_channel(MOST_READS);
        let place = settings.place.clone();
        let (writer_opened, writer_is_open) = Reply::pair();
        let (reader_opened, reader_is_open) = Reply::pair();
        let writer_queue = Arc::clone(&queue);
        let report: Report = Box::new(report);
        // The threads open their own connections, because a PostgreSQL client must not start inside of a runtime.
        let writer = spawn("store-writer", move || match open_for_writer(&settings.place) {
            Ok((store, journal)) => {
                let opened = journal.clone();
                let mut writer = Writer::new(store, journal, writer_queue, settings, report);
                writer.transfer_ended();
                writer_opened.send(Ok(opened));
                writer.run();
            }
            Err(error) => writer_opened.send(Err(error)),
        })?;
        // The writer creates the tables first.
        let journal = writer_is_open.wait()?;
        let (reader_queue, reader_journal) = (Arc::clone(&queue), journal.clone());
        let reader =
            spawn("store-reader", move || match open_for_reader(&place, reader_journal.as_deref()) {
                Ok(mut store) => {
                    reader_opened.send(Ok(()));
                    serve_reads(&jobs, &mut *store, &reader_queue, reader_journal.as_deref());
                }
                Err(error) => reader_opened.send(Err(error)),
            })?;
        let running = Mutex::new(vec![writer, reader]);
        let reads = Mutex::new(Some(reads));
        let recorder = Self(Arc::new(Threads { queue, journal, most_backlog, reads, running }));
        reader_is_open.wait()?;
        Ok(recorder)
    }

    /// Hands an exchange over to the writer thread, without waiting. Returns whether the exchange was accepted; a dropped
    /// exchange is counted and reported.
    pub fn record(&self, exchange: StoredExchange) -> bool {
        self.0.queue.push(exchange)
    }

    /// Like [`ExchangeRecorder::record`], and delivers a result once the exchange is stored: a killed process does not lose
    /// it. With SQLite, the calling thread writes the exchange to a file beside the database, and the result is there at
    /// once. An exchange that the database refuses afterwards is reported, and counted by the next flush.
    pub fn record_and_flush(&self, exchange: StoredExchange) -> Reply<()> {
        let Threads { queue, journal, most_backlog, .. } = &*self.0;
        if let Some(journal) = journal.as_ref().filter(|journal| journal.backlog() < *most_backlog) {
            match journal.append(&exchange) {
                Appended::First => queue.transfer_by(Instant::now() + TRANSFER_PAUSE),
                Appended::Later if journal.backlog() > *most_backlog / 4 => queue.transfer_by(Instant::now()),
                Appended::Later => {}
                // The writer tries the database, and reports its error.
                Appended::Not => return queue.push_and_flush(exchange),
            }
            return Reply::ready(Ok(()));
        }
        queue.push_and_flush(exchange)
    }

    /// Delivers a result once every exchange that was recorded before is in the database. [`StoreError::Lost`] if the
    /// database refused some since the last flush.
    pub fn flush(&self) -> Reply<()> {
        self.0.queue.flush()
    }

    /// Runs an operation on the reader thread.
    pub fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<T> {
        let (sender, reply) = Reply::pair();
        let job: ReadJob = Box::new(move |store| sender.send(store.and_then(operation)));
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

/// The store of the writer, and its journal in SQLite.
type WriterStore = (Box<dyn Store>, Option<Arc<Journal>>);

/// Opens the store of the writer, with a journal of its own in SQLite.
fn open_for_writer(place: &StorePlace) -> Result<WriterStore, StoreError> {
    let StorePlace::Sqlite(path) = place else { return Ok((open(place)?, None)) };
    let store = SqlStore::new(Sqlite::open(path)?)?;
    let cannot = |error: std::io::Error| {
        StoreError::Open(path.display().to_string(), format!("its journal cannot be created: {error}"))
    };
    Ok((Box::new(store), Some(Arc::new(Journal::create(path).map_err(cannot)?))))
}

/// The store of the reader. The writer transfers the journal of this process.
fn open_for_reader(place: &StorePlace, journal: Option<&Journal>) -> Result<Box<dyn Store>, StoreError> {
    match (place, journal) {
        (StorePlace::Sqlite(path), Some(journal)) => {
            Ok(Box::new(JournalledStore::with_journals(path, journal.others())?))
        }
        _ => open(place),
    }
}

fn serve_reads(jobs: &Receiver<ReadJob>, store: &mut dyn Store, queue: &Queue, journal: Option<&Journal>) {
    for job in jobs {
        let is_pending = journal.is_some_and(|journal| journal.backlog() > 0);
        match if is_pending { queue.transfer().wait() } else { Ok(()) } {
            Ok(()) => job(Ok(store)),
            Err(error) => job(Err(error)),
        }
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
    journal: Option<Arc<Journal>>,
    /// Segments of the journal that are not transferred.
    sealed: VecDeque<Segment>,
    /// Whether the last transfer of the journal failed.
    is_transfer_waiting: bool,
    transfer_pause: Duration,
    queue: Arc<Queue>,
    settings: RecorderSettings,
    report: Report,
    reported_drops: u64,
    /// Exchanges that the database refused since the last flush.
    lost: u64,
    /// Those who wait until all calls are in the database.
    flushes: Vec<ReplySender<()>>,
}

impl Drop for Writer {
    /// A writer that panics must not leave callers waiting for a flush.
    fn drop(&mut self) {
        self.queue.abandon();
        if let Some(journal) = &self.journal {
            journal.close();
            journal.end();
        }
    }
}

impl Writer {
    fn new(
        store: Box<dyn Store>,
        journal: Option<Arc<Journal>>,
        queue: Arc<Queue>,
        settings: RecorderSettings,
        report: Report,
    ) -> Self {
        Self {
            store,
            journal,
            sealed: VecDeque::new(),
            is_transfer_waiting: false,
            transfer_pause: FIRST_PAUSE,
            queue,
            settings,
            report,
            reported_drops: 0,
            lost: 0,
            flushes: Vec::new(),
        }
    }

    fn run(mut self) {
        let mut next_retention = Instant::now();
        loop {
            let Batch { mut exchanges, flushes, transfers, is_transfer_due, closed } =
                self.queue.next(next_retention.saturating_duration_since(Instant::now()));
            self.flushes.extend(flushes);
            // Calls in the journal are older than those in the queue.
            let has_work = !(exchanges.is_empty() && self.flushes.is_empty() && transfers.is_empty());
            if is_transfer_due || has_work || closed {
                self.transfer_for(transfers);
            }
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
                self.lost += self.write(&mut batch);
                self.queue.done(&batch);
            }
            self.deliver_flushes();
            self.report_drops();
            if closed {
                self.transfer_last();
                self.deliver_flushes();
                break;
            }
            if Instant::now() >= next_retention && !self.retain() {
                self.transfer_ended();
                next_retention = Instant::now() + RETENTION_PAUSE;
            }
        }
    }

    /// Answers those who wait until all calls are in the database, unless some are still in the journal.
    fn deliver_flushes(&mut self) {
        if self.flushes.is_empty() || self.is_transfer_waiting {
            return;
        }
        let lost = std::mem::take(&mut self.lost);
        for flush in self.flushes.drain(..) {
            flush.send(if lost == 0 { Ok(()) } else { Err(StoreError::Lost(lost)) });
        }
    }

    /// Transfers the journal, and wakes the callers that wait for the transfer. If the database is not available, the writer tries
    /// again later.
    fn transfer_for(&mut self, waiting: Vec<ReplySender<()>>) {
        let done = self.transfer();
        match &done {
            Ok(()) => {
                if std::mem::take(&mut self.is_transfer_waiting) {
                    (self.report)(&StoreTrouble::Recovered);
                }
                self.transfer_pause = FIRST_PAUSE;
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_transfer_waiting, true) {
                    (self.report)(&StoreTrouble::Waiting(error));
                }
                self.queue.transfer_by(Instant::now() + self.transfer_pause);
                self.transfer_pause = (self.transfer_pause * 2).min(LONGEST_PAUSE);
            }
        }
        for reply in waiting {
            reply.send(match &done {
                Ok(()) => Ok(()),
                Err(error) => Err(StoreError::Unavailable(error.to_string())),
            });
        }
    }

    /// Transfers the journal after the last call. Calls that cannot be transferred stay in the journal.
    fn transfer_last(&mut self) {
        let Some(journal) = self.journal.clone() else { return };
        journal.close();
        let end = Instant::now() + self.settings.last_tries;
        while let Err(error) = self.transfer() {
            if Instant::now() >= end {
                (self.report)(&StoreTrouble::Kept(journal.backlog(), &error));
                return;
            }
            self.queue.pause(FIRST_PAUSE);
        }
        self.is_transfer_waiting = false;
    }

    /// Transfers the journal.
    fn transfer(&mut self) -> Result<(), StoreError> {
        let Some(journal) = self.journal.clone() else { return Ok(()) };
        self.sealed.extend(journal.seal());
        while let Some(mut segment) = self.sealed.pop_front() {
            let done = segment.reader().map_err(|error| unreadable(&error)).and_then(|mut reader| {
                let done = self.transfer_segment(&mut reader);
                journal.transferred(reader.at() - segment.transferred);
                segment.transferred = reader.at();
                done.map(|()| reader.rest())
            });
            match done {
                Ok(0) => segment.delete(),
                Ok(rest) => {
                    // Another program has changed the file.
                    (self.report)(&StoreTrouble::Cut(segment.path(), rest));
                    self.lost += 1;
                    journal.transferred(rest);
                    segment.delete();
                }
                Err(error) => {
                    self.sealed.push_front(segment);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Transfers the rest of a segment.
    fn transfer_segment(&mut self, reader: &mut SegmentReader) -> Result<(), StoreError> {
        loop {
            let at = reader.at();
            let mut batch = reader.batch().map_err(|error| unreadable(&error))?;
            if batch.is_empty() {
                return Ok(());
            }
            let mut refused = 0;
            let done = transfer(&mut *self.store, &mut batch, &mut |id, error| {
                (self.report)(&StoreTrouble::Refused(id, error));
                refused += 1;
            });
            if let Err(error) = done {
                reader.go_back(at);
                return Err(error);
            }
            self.lost += refused;
            self.queue.counts.failed.fetch_add(refused, Ordering::Relaxed);
            self.queue.counts.stored.fetch_add(batch.len() as u64 - refused, Ordering::Relaxed);
        }
    }

    /// Transfers the journals of processes that were killed.
    fn transfer_ended(&mut self) {
        let Some(journal) = self.journal.clone() else { return };
        if let Err(error) = self.try_transfer_ended(&journal) {
            // The next start or the next retention tries again.
            (self.report)(&StoreTrouble::Waiting(&error));
        }
    }

    fn try_transfer_ended(&mut self, journal: &Journal) -> Result<(), StoreError> {
        let ended = journal.others().lock_ended().map_err(|error| unreadable(&error))?;
        for segment in &ended.segments {
            match segment.reader(0).map_err(|error| unreadable(&error))? {
                OpenedSegment::Reader(mut reader) => {
                    self.transfer_segment(&mut reader)?;
                    if reader.rest() > 0 {
                        (self.report)(&StoreTrouble::Cut(&segment.path, reader.rest()));
                    }
                    segment.delete();
                }
                OpenedSegment::Deleted => {}
                OpenedSegment::Foreign => (self.report)(&StoreTrouble::Foreign(&segment.path)),
            }
        }
        ended.delete();
        Ok(())
    }

    /// Stores a batch; returns the number of exchanges that were lost.
    fn write(&mut self, batch: &mut [StoredExchange]) -> u64 {
        let mut pause = FIRST_PAUSE;
        let mut end = None;
        let mut is_waiting = false;
        loop {
            let done = derive(&mut *self.store, batch).and_then(|()| self.store.append(batch));
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
            for reply in self.queue.take_transfers() {
                reply.send(Err(StoreError::Unavailable(error.to_string())));
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
