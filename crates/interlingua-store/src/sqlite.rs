//! SQLite: one file, embedded. Several processes may use the file at once on a local file system.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, ErrorCode};

use crate::database::{Access, Database, Row, Value};
use crate::error::StoreError;

/// A connection to an SQLite file.
pub(crate) struct Sqlite {
    connection: Connection,
    place: String,
}

/// The time that a transaction waits for the transaction of another process. A recorder tries again afterwards.
const BUSY: Duration = Duration::from_secs(3);

/// The attempts to switch to the write-ahead log while other processes open the file.
const MOST_SWITCHES: u32 = 1000;

impl Sqlite {
    /// Opens or creates a file. Only the user may read a new file, because it holds conversations.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let place = path.display().to_string();
        let cannot = |cause: String| StoreError::Open(place.clone(), cause);
        create(path).map_err(|error| cannot(error.to_string()))?;
        let connection = Connection::open(path).map_err(|error| cannot(error.to_string()))?;
        let mut sqlite = Self { connection, place: place.clone() };
        sqlite.prepare().map_err(|error| match error {
            StoreError::Foreign(place) => StoreError::Foreign(place),
            error => cannot(error.to_string()),
        })?;
        Ok(sqlite)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        self.connection.busy_timeout(BUSY).map_err(|error| of_sqlite(&error))?;
        // A database of another program stays unchanged.
        self.has_tables()?;
        // Pages of deleted rows can be returned; the setting must come before the first table.
        self.pragma("auto_vacuum", "INCREMENTAL")?;
        self.log_ahead()?;
        self.pragma("synchronous", "NORMAL")?;
        self.pragma("journal_size_limit", "16777216")?;
        self.pragma("trusted_schema", "OFF")
    }

    /// Switches to the write-ahead log, once per file: readers do not block the writer, and a killed process loses no
    /// committed transaction.
    fn log_ahead(&mut self) -> Result<(), StoreError> {
        let mut tries = 0;
        loop {
            let mode = self.query("PRAGMA journal_mode", &[])?;
            if matches!(mode.first().and_then(|row| row.first()), Some(Value::Text(mode)) if mode == "wal") {
                return Ok(());
            }
            match self.pragma("journal_mode", "WAL") {
                // The switch does not wait for another process that opens the file, but a transaction does.
                Err(StoreError::Unavailable(_)) if tries < MOST_SWITCHES => {
                    tries += 1;
                    self.begin(Access::Alone)?;
                    self.roll_back();
                }
                done => return done,
            }
        }
    }

    fn pragma(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        self.query(&format!("PRAGMA {name} = {value}"), &[]).map(drop)
    }
}

/// Creates the file if there is none. An existing file is not opened: to close a file ends every lock of the process on
/// the file, so the locks of other connections would be lost.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

impl Database for Sqlite {
    const BYTES: &'static str = "BLOB";
    const COLUMNS: &'static str = "SELECT name FROM pragma_table_info($1)";

    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| of_sqlite(&error))?;
        let columns = statement.column_count();
        let mut rows =
            statement.query(rusqlite::params_from_iter(parameters)).map_err(|error| of_sqlite(&error))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(|error| of_sqlite(&error))? {
            let value =
                |column| row.get::<_, SqlValue>(column).map(Value::from).map_err(|error| of_sqlite(&error));
            all.push((0..columns).map(value).collect::<Result<Row, StoreError>>()?);
        }
        Ok(all)
    }

    fn begin(&mut self, _: Access) -> Result<(), StoreError> {
        // The lock is taken at the start, so that two writers wait for each other instead of failing midway.
        self.query("BEGIN IMMEDIATE", &[]).map(drop)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.query("COMMIT", &[]).map(drop)
    }

    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            // SQLite has rolled back by itself after most errors.
            let _ = self.query("ROLLBACK", &[]);
        }
    }

    fn has_tables(&mut self) -> Result<bool, StoreError> {
        let rows = self.query("SELECT name FROM sqlite_master WHERE type = 'table'", &[])?;
        let has =
            rows.iter().any(|row| matches!(row.first(), Some(Value::Text(name)) if name == "store_meta"));
        if !has && !rows.is_empty() {
            return Err(StoreError::Foreign(self.place.clone()));
        }
        Ok(has)
    }

    fn free_space(&mut self) -> Result<(), StoreError> {
        self.query("PRAGMA incremental_vacuum", &[])?;
        // The file shrinks when the log is copied into it.
        self.query("PRAGMA wal_checkpoint(PASSIVE)", &[]).map(drop)
    }
}

impl From<SqlValue> for Value {
    fn from(value: SqlValue) -> Self {
        match value {
            SqlValue::Null => Value::Null,
            SqlValue::Integer(number) => Value::Integer(number),
            // No column of the store holds fractions.
            SqlValue::Real(number) => Value::Integer(number as i64),
            SqlValue::Text(text) => Value::Text(text),
            SqlValue::Blob(bytes) => Value::Bytes(bytes),
        }
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn of_sqlite(error: &rusqlite::Error) -> StoreError {
    let cause = error.to_string();
    match error.sqlite_error_code() {
        // A full disk or a lock may pass.
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Unavailable(cause),
        _ => StoreError::Refused(cause),
    }
}
