//! Sessions of running agents and their universal events, in the same database as the exchanges.
//!
//! ```text
//! append(session, events) --> writer thread: all that waits in one transaction --> Reply when it is on disk
//! read(|store| …)         --> reader thread --> Reply
//! ```

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;

use crate::StorePlace;
use crate::database::{Access, Database, Value, transaction};
use crate::error::StoreError;
use crate::exchange::now_ms;
use crate::reply::{Reply, ReplySender};
use crate::sql::{Columns, SqlStore};
use crate::sqlite::Sqlite;

/// A session of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentSessionRow {
    /// The id that the client chose.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The settings of the client, as JSON.
    pub settings: String,
    /// The agent's own id of the session.
    pub native_id: Option<String>,
    /// The time of creation and of the last event, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of the last event.
    pub updated_ms: u64,
    /// Whether the session has ended.
    pub ended: bool,
    /// The numbers of the last event, item and turn.
    pub sequence: u64,
    /// The number of the last item.
    pub items: u64,
    /// The number of the last turn.
    pub turns: u64,
    /// The number of the first event that is still stored.
    pub lowest: u64,
    /// The bytes of the stored events.
    pub bytes: u64,
}

impl AgentSessionRow {
    /// A session that begins now.
    pub fn new(id: impl Into<String>, agent: impl Into<String>, settings: impl Into<String>) -> Self {
        let now = now_ms();
        Self {
            id: id.into(),
            agent: agent.into(),
            settings: settings.into(),
            created_ms: now,
            updated_ms: now,
            lowest: 1,
            ..Self::default()
        }
    }
}

/// A universal event of a session, as the line that readers get.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentEventRow {
    /// The number of the event, from 1.
    pub sequence: u64,
    /// The event without its last member `raw` and without the closing brace.
    pub event: Bytes,
    /// The value of `raw`; empty if it is null.
    pub raw: Bytes,
}

impl AgentEventRow {
    /// An event and the agent's line.
    pub const fn new(sequence: u64, event: Bytes, raw: Bytes) -> Self {
        Self { sequence, event, raw }
    }

    /// The bytes of the event in the store.
    pub const fn size(&self) -> u64 {
        (self.event.len() + self.raw.len()) as u64
    }
}

/// The sessions of a store on their own threads. Clones share the threads; the last clone ends them.
#[derive(Clone)]
pub struct SessionLog(Arc<Threads>);

impl fmt::Debug for SessionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLog").finish_non_exhaustive()
    }
}

struct Threads {
    writes: Mutex<Option<Sender<WriteJob>>>,
    reads: Mutex<Option<Sender<ReadJob>>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

type ReadJob = Box<dyn FnOnce(&mut dyn SessionStore) + Send>;

enum WriteJob {
    Create(AgentSessionRow, ReplySender<bool>),
    Append { session: AgentSessionRow, events: Vec<AgentEventRow>, done: ReplySender<()> },
    Delete(String, ReplySender<bool>),
    Trim { id: String, lowest: u64, done: ReplySender<u64> },
}

/// The operations on sessions. They block; [`SessionLog`] is the door for asynchronous code.
trait SessionStore: Send {
    fn write(&mut self, jobs: Vec<WriteJob>);
    fn sessions(&mut self, id: Option<&str>) -> Result<Vec<AgentSessionRow>, StoreError>;
    fn events(&mut self, id: &str, after: u64, most: u64) -> Result<Vec<AgentEventRow>, StoreError>;
}

/// The largest number of jobs in one transaction.
const MOST_JOBS: usize = 512;

impl SessionLog {
    /// Opens the database and starts the threads.
    pub fn open(place: &StorePlace) -> Result<Self, StoreError> {
        let (writes, write_jobs) = channel();
        let (reads, read_jobs) = channel();
        // The writer creates the tables before the reader opens the database.
        let running = vec![
            with_store("session-writer", place, move |store| write_all(store, &write_jobs))?,
            with_store("session-reader", place, move |store| read_all(store, &read_jobs))?,
        ];
        Ok(Self(Arc::new(Threads {
            writes: Mutex::new(Some(writes)),
            reads: Mutex::new(Some(reads)),
            running: Mutex::new(running),
        })))
    }

    /// Adds a session. The reply is `false` if a session has the id already.
    pub fn create(&self, session: AgentSessionRow) -> Reply<bool> {
        self.ask(|done| WriteJob::Create(session, done))
    }

    /// Adds events and updates the row of their session. The reply comes when both are on disk.
    pub fn append(&self, session: AgentSessionRow, events: Vec<AgentEventRow>) -> Reply<()> {
        self.ask(|done| WriteJob::Append { session, events, done })
    }

    /// Deletes a session with its events. The reply is `false` if there is none.
    pub fn delete(&self, id: impl Into<String>) -> Reply<bool> {
        let id = id.into();
        self.ask(|done| WriteJob::Delete(id, done))
    }

    /// Deletes the events of a session below a number. The reply is the sum of their bytes.
    pub fn trim(&self, id: impl Into<String>, lowest: u64) -> Reply<u64> {
        let id = id.into();
        self.ask(|done| WriteJob::Trim { id, lowest, done })
    }

    /// All sessions, the newest first.
    pub fn sessions(&self) -> Reply<Vec<AgentSessionRow>> {
        self.read(|store| store.sessions(None))
    }

    /// One session.
    pub fn session(&self, id: impl Into<String>) -> Reply<Option<AgentSessionRow>> {
        let id = id.into();
        self.read(move |store| Ok(store.sessions(Some(&id))?.pop()))
    }

    /// The events of a session with a number above `after`, in order, at most `most`.
    pub fn events(&self, id: impl Into<String>, after: u64, most: u64) -> Reply<Vec<AgentEventRow>> {
        let id = id.into();
        self.read(move |store| store.events(&id, after, most))
    }

    fn ask<T>(&self, job: impl FnOnce(ReplySender<T>) -> WriteJob) -> Reply<T> {
        let (sender, reply) = Reply::pair();
        if let Some(writes) = &*lock(&self.0.writes) {
            // Without its thread, the sender is dropped, and the reply is an error.
            let _ = writes.send(job(sender));
        }
        reply
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn SessionStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<T> {
        let (sender, reply) = Reply::pair();
        if let Some(reads) = &*lock(&self.0.reads) {
            let _ = reads.send(Box::new(move |store| sender.send(work(store))));
        }
        reply
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        drop((lock(&self.writes).take(), lock(&self.reads).take()));
        for thread in lock(&self.running).drain(..) {
            // A thread that panicked has reported the panic already.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn store(place: &StorePlace) -> Result<Box<dyn SessionStore>, StoreError> {
    match place {
        StorePlace::Sqlite(path) => Ok(Box::new(SqlSessions::new(Sqlite::open(path)?)?)),
        #[cfg(feature = "postgres")]
        StorePlace::Postgres(address) => {
            Ok(Box::new(SqlSessions::new(crate::postgres::Postgres::open(address)?)?))
        }
        #[cfg(not(feature = "postgres"))]
        StorePlace::Postgres(_) => Err(StoreError::NoPostgres),
    }
}

/// Starts a thread that opens the database itself, because a PostgreSQL client must not start inside of a runtime.
fn with_store(
    name: &str,
    place: &StorePlace,
    run: impl FnOnce(Box<dyn SessionStore>) + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let (opened, is_open) = Reply::pair();
    let place = place.clone();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || match store(&place) {
        Ok(store) => {
            opened.send(Ok(()));
            run(store);
        }
        Err(error) => opened.send(Err(error)),
    });
    let thread = thread.map_err(|error| StoreError::Refused(error.to_string()))?;
    is_open.wait()?;
    Ok(thread)
}

fn write_all(mut store: Box<dyn SessionStore>, jobs: &Receiver<WriteJob>) {
    while let Ok(first) = jobs.recv() {
        // The jobs that arrived during the last transaction are the next one.
        let more = std::iter::from_fn(|| jobs.try_recv().ok()).take(MOST_JOBS);
        store.write(std::iter::once(first).chain(more).collect());
    }
}

fn read_all(mut store: Box<dyn SessionStore>, jobs: &Receiver<ReadJob>) {
    while let Ok(job) = jobs.recv() {
        job(&mut *store);
    }
}

struct SqlSessions<D> {
    database: D,
}

const SESSION: &str = "id, agent, settings, native_id, created_ms, updated_ms, ended, sequence, items, turns, \
                       lowest, bytes";

/// The version of the tables of sessions. Version 1 had no columns `lowest` and `bytes`, and its number was not stored.
const VERSION: u64 = 2;

impl<D: Database> SqlSessions<D> {
    /// Creates the tables, migrates those of an earlier version, or refuses those of a later one.
    fn new(database: D) -> Result<Self, StoreError> {
        let mut database = SqlStore::new(database)?.into_database();
        transaction(&mut database, Access::Alone, |database| {
            let rows = database.query("SELECT value FROM store_meta WHERE name = 'sessions'", &[])?;
            let found = rows.into_iter().next().map(|row| Columns::of(row).count());
            match found {
                Some(Some(VERSION)) => return Ok(()),
                Some(Some(found)) if found > VERSION => return Err(StoreError::Newer(found, VERSION)),
                Some(_) => {
                    let cause = "the tables of sessions have no valid schema version";
                    return Err(StoreError::Refused(cause.to_owned()));
                }
                None => {}
            }
            let columns = database.columns("agent_session")?;
            if columns.is_empty() {
                create(database)?;
            } else if !columns.iter().any(|column| column == "lowest") {
                migrate(database)?;
            }
            let sql = "INSERT INTO store_meta (name, value) VALUES ('sessions', $1)";
            database.query(sql, &[Value::count(VERSION)]).map(drop)
        })?;
        Ok(Self { database })
    }
}

fn create<D: Database>(database: &mut D) -> Result<(), StoreError> {
    let sql = "CREATE TABLE agent_session (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL,
            settings TEXT NOT NULL,
            native_id TEXT,
            created_ms BIGINT NOT NULL,
            updated_ms BIGINT NOT NULL,
            ended BIGINT NOT NULL,
            sequence BIGINT NOT NULL,
            items BIGINT NOT NULL,
            turns BIGINT NOT NULL,
            lowest BIGINT NOT NULL,
            bytes BIGINT NOT NULL
        )";
    database.query(sql, &[])?;
    let bytes = D::BYTES;
    let sql = format!(
        "CREATE TABLE agent_event (
            session TEXT NOT NULL,
            sequence BIGINT NOT NULL,
            event {bytes} NOT NULL,
            raw {bytes} NOT NULL,
            PRIMARY KEY (session, sequence)
        )"
    );
    database.query(&sql, &[]).map(drop)
}

/// Adds the columns of version 2 and counts the events of each session for them.
fn migrate<D: Database>(database: &mut D) -> Result<(), StoreError> {
    let statements = [
        "ALTER TABLE agent_session ADD COLUMN lowest BIGINT NOT NULL DEFAULT 1",
        "ALTER TABLE agent_session ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0",
        "UPDATE agent_session SET \
         lowest = COALESCE((SELECT MIN(agent_event.sequence) FROM agent_event WHERE session = id), 1), \
         bytes = (SELECT CAST(COALESCE(SUM(LENGTH(event) + LENGTH(raw)), 0) AS BIGINT) \
                  FROM agent_event WHERE session = id)",
    ];
    statements.iter().try_for_each(|statement| database.query(statement, &[]).map(drop))
}

impl WriteJob {
    /// Runs the job in a transaction. The result is a number for the reply.
    fn run<D: Database>(&self, database: &mut D) -> Result<u64, StoreError> {
        match self {
            WriteJob::Create(session, _) => {
                let exists = exists(database, &session.id)?;
                if !exists {
                    insert(database, session)?;
                }
                Ok(u64::from(!exists))
            }
            WriteJob::Append { session, events, .. } => append(database, session, events).map(|()| 0),
            WriteJob::Delete(id, _) => {
                let exists = exists(database, id)?;
                delete(database, id)?;
                Ok(u64::from(exists))
            }
            WriteJob::Trim { id, lowest, .. } => trim(database, id, *lowest),
        }
    }

    /// Sends the reply after the transaction.
    fn reply(self, result: Result<u64, StoreError>) {
        match self {
            WriteJob::Create(_, reply) | WriteJob::Delete(_, reply) => {
                reply.send(result.map(|number| number == 1));
            }
            WriteJob::Append { done, .. } => done.send(result.map(drop)),
            WriteJob::Trim { done, .. } => done.send(result),
        }
    }
}

/// The same error for each job of a transaction.
fn copied(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(cause) => StoreError::Unavailable(cause.clone()),
        error => StoreError::Refused(error.to_string()),
    }
}

/// The pauses before further attempts, for a database that is not available for a moment.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(100), Duration::from_secs(1)];

/// Tries again while the database is not available.
#[expect(clippy::disallowed_methods, reason = "the thread of the store has nothing else to do")]
fn patient<T>(mut work: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    for pause in PAUSES {
        match work() {
            Err(StoreError::Unavailable(_)) => std::thread::sleep(pause),
            done => return done,
        }
    }
    work()
}

impl<D: Database> SessionStore for SqlSessions<D> {
    fn write(&mut self, jobs: Vec<WriteJob>) {
        let written = patient(|| {
            transaction(&mut self.database, Access::Add, |database| {
                jobs.iter().map(|job| job.run(database)).collect::<Result<Vec<u64>, _>>()
            })
        });
        let frees = jobs.iter().any(|job| matches!(job, WriteJob::Delete(..) | WriteJob::Trim { .. }));
        if frees && written.is_ok() {
            // Space that cannot be returned now is returned after the next deletion.
            let _ = self.database.free_space();
        }
        match written {
            Ok(numbers) => {
                for (job, number) in jobs.into_iter().zip(numbers) {
                    job.reply(Ok(number));
                }
            }
            // A job that the database refuses must not take the other jobs with it.
            Err(StoreError::Refused(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.write(vec![job]);
                }
            }
            Err(error) => {
                for job in jobs {
                    job.reply(Err(copied(&error)));
                }
            }
        }
    }

    fn sessions(&mut self, id: Option<&str>) -> Result<Vec<AgentSessionRow>, StoreError> {
        let rows = if let Some(id) = id {
            let sql = format!("SELECT {SESSION} FROM agent_session WHERE id = $1");
            patient(|| self.database.query(&sql, &[Value::text(id)]))?
        } else {
            let sql = format!("SELECT {SESSION} FROM agent_session ORDER BY created_ms DESC, id");
            patient(|| self.database.query(&sql, &[]))?
        };
        rows.into_iter()
            .map(|row| session_of(&mut Columns::of(row)).ok_or_else(|| damaged(id.unwrap_or_default())))
            .collect()
    }

    fn events(&mut self, id: &str, after: u64, most: u64) -> Result<Vec<AgentEventRow>, StoreError> {
        let sql = "SELECT sequence, event, raw FROM agent_event WHERE session = $1 AND sequence > $2 \
                   ORDER BY sequence LIMIT $3";
        let values = [Value::text(id), Value::count(after), Value::count(most)];
        let rows = patient(|| self.database.query(sql, &values))?;
        rows.into_iter()
            .map(|row| {
                let mut row = Columns::of(row);
                let (sequence, event, raw) = (row.count(), row.bytes(), row.bytes());
                let event = sequence.zip(event).zip(raw);
                let event = event.map(|((sequence, event), raw)| AgentEventRow {
                    sequence,
                    event: event.into(),
                    raw: raw.into(),
                });
                event.ok_or_else(|| damaged(id))
            })
            .collect()
    }
}

fn damaged(id: &str) -> StoreError {
    StoreError::Damaged(id.to_owned(), "a row of the session cannot be read")
}

fn session_of(row: &mut Columns) -> Option<AgentSessionRow> {
    Some(AgentSessionRow {
        id: row.text()?,
        agent: row.text()?,
        settings: row.text()?,
        native_id: row.text(),
        created_ms: row.count()?,
        updated_ms: row.count()?,
        ended: row.count()? == 1,
        sequence: row.count()?,
        items: row.count()?,
        turns: row.count()?,
        lowest: row.count()?,
        bytes: row.count()?,
    })
}

fn exists<D: Database>(database: &mut D, id: &str) -> Result<bool, StoreError> {
    let rows = database.query("SELECT id FROM agent_session WHERE id = $1", &[Value::text(id)])?;
    Ok(!rows.is_empty())
}

fn insert<D: Database>(database: &mut D, session: &AgentSessionRow) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO agent_session ({SESSION}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    let AgentSessionRow {
        id,
        agent,
        settings,
        native_id,
        created_ms,
        updated_ms,
        ended,
        sequence,
        items,
        turns,
        lowest,
        bytes,
    } = session;
    let values = [
        Value::text(id),
        Value::text(agent),
        Value::text(settings),
        Value::optional_text(native_id.as_deref()),
        Value::count(*created_ms),
        Value::count(*updated_ms),
        Value::count(u64::from(*ended)),
        Value::count(*sequence),
        Value::count(*items),
        Value::count(*turns),
        Value::count(*lowest),
        Value::count(*bytes),
    ];
    database.query(&sql, &values).map(drop)
}

/// Adds the events and updates the changing columns of the session.
fn append<D: Database>(
    database: &mut D,
    session: &AgentSessionRow,
    events: &[AgentEventRow],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO agent_event (session, sequence, event, raw) VALUES ($1, $2, $3, $4)";
    for AgentEventRow { sequence, event, raw } in events {
        let values = [
            Value::text(&session.id),
            Value::count(*sequence),
            Value::Bytes(event.to_vec()),
            Value::Bytes(raw.to_vec()),
        ];
        database.query(sql, &values)?;
    }
    let sql = "UPDATE agent_session SET native_id = $1, updated_ms = $2, ended = $3, sequence = $4, items = $5, \
               turns = $6, lowest = $7, bytes = $8 WHERE id = $9";
    let values = [
        Value::optional_text(session.native_id.as_deref()),
        Value::count(session.updated_ms),
        Value::count(u64::from(session.ended)),
        Value::count(session.sequence),
        Value::count(session.items),
        Value::count(session.turns),
        Value::count(session.lowest),
        Value::count(session.bytes),
        Value::text(&session.id),
    ];
    database.query(sql, &values).map(drop)
}

fn delete<D: Database>(database: &mut D, id: &str) -> Result<(), StoreError> {
    database.query("DELETE FROM agent_event WHERE session = $1", &[Value::text(id)])?;
    database.query("DELETE FROM agent_session WHERE id = $1", &[Value::text(id)]).map(drop)
}

/// Deletes the events below a number, and returns the sum of their bytes.
fn trim<D: Database>(database: &mut D, id: &str, lowest: u64) -> Result<u64, StoreError> {
    let below = [Value::text(id), Value::count(lowest)];
    let sql = "SELECT CAST(COALESCE(SUM(LENGTH(event) + LENGTH(raw)), 0) AS BIGINT) FROM agent_event \
               WHERE session = $1 AND sequence < $2";
    let mut row = Columns::of(database.query(sql, &below)?.pop().unwrap_or_default());
    let bytes = row.count().ok_or_else(|| damaged(id))?;
    database.query("DELETE FROM agent_event WHERE session = $1 AND sequence < $2", &below)?;
    let sql = "UPDATE agent_session SET lowest = $1, bytes = bytes - $2 WHERE id = $3";
    database.query(sql, &[Value::count(lowest), Value::count(bytes), Value::text(id)])?;
    Ok(bytes)
}
