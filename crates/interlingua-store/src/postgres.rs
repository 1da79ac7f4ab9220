//! PostgreSQL: one database for several gateways. The tables are in the schema `interlingua`.

use std::collections::HashMap;
use std::error::Error as _;
use std::fmt::Write as _;
use std::time::Duration;

use postgres::config::Host;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};
use postgres::{Client, Config, Statement};

use crate::database::{Access, Database, Row, Value};
use crate::error::StoreError;
use crate::tls::Tls;

/// A connection to a PostgreSQL server, which is opened again when the server closed it.
pub(crate) struct Postgres {
    config: Config,
    tls: Tls,
    connection: Option<Connection>,
    in_transaction: bool,
}

struct Connection {
    client: Client,
    statements: HashMap<String, Statement>,
}

/// The number of the lock between gateways: shared while rows are added, exclusive while rows are deleted.
const LOCK: i64 = 0x1f0_57ee;

impl Postgres {
    /// Connects to a server.
    pub(crate) fn open(address: &str) -> Result<Self, StoreError> {
        let cannot = |cause: String| StoreError::Open("postgres".to_owned(), cause);
        let (address, tls) = Tls::of_address(address).map_err(cannot)?;
        // The parser's message may repeat the address with its password.
        let unreadable = |_| cannot("the address is no PostgreSQL connection string".to_owned());
        let mut config: Config = address.parse().map_err(unreadable)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        if config.get_application_name().is_none() {
            config.application_name("interlingua");
        }
        let place = place_of(&config);
        let mut postgres = Self { config, tls, connection: None, in_transaction: false };
        postgres.connected().map_err(|error| StoreError::Open(place, error.to_string()))?;
        Ok(postgres)
    }

    fn connected(&mut self) -> Result<&mut Connection, StoreError> {
        if self.connection.as_ref().is_some_and(|connection| connection.client.is_closed()) {
            self.connection = None;
        }
        // A new connection would run the rest of a transaction without its start.
        if self.connection.is_none() && self.in_transaction {
            return Err(StoreError::Unavailable("the connection was closed in a transaction".to_owned()));
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().map_err(|error| of_postgres(&error))?,
        };
        Ok(self.connection.insert(connection))
    }

    fn query_once(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError> {
        let Connection { client, statements } = self.connected()?;
        if !statements.contains_key(sql) {
            let statement = client.prepare(sql).map_err(|error| of_postgres(&error))?;
            statements.insert(sql.to_owned(), statement);
        }
        // The statement was inserted if it was missing.
        let Some(statement) = statements.get(sql) else { return Err(StoreError::Closed) };
        let parameters: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = client.query(statement, &parameters).map_err(|error| of_postgres(&error))?;
        let value = |row: &postgres::Row, column| {
            let value = row.try_get::<_, Option<Value>>(column).map_err(|error| of_postgres(&error))?;
            Ok(value.unwrap_or(Value::Null))
        };
        rows.iter().map(|row| (0..row.len()).map(|column| value(row, column)).collect()).collect()
    }

    fn connect(&self) -> Result<Connection, postgres::Error> {
        let mut client = self.config.connect(self.tls.clone())?;
        client.batch_execute("SET search_path TO interlingua")?;
        Ok(Connection { client, statements: HashMap::new() })
    }

    fn run(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connected()?.client.batch_execute(sql).map_err(|error| of_postgres(&error))
    }
}

impl Database for Postgres {
    const BYTES: &'static str = "BYTEA";
    const COLUMNS: &'static str = "SELECT column_name::TEXT FROM information_schema.columns \
                                   WHERE table_schema = 'interlingua' AND table_name::TEXT = $1";

    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError> {
        let done = self.query_once(sql, parameters);
        let is_closed = self.connection.as_ref().is_none_or(|connection| connection.client.is_closed());
        match done {
            // The server closed the connection since the last query, as it does when it restarts.
            Err(StoreError::Unavailable(_)) if is_closed && !self.in_transaction => {
                self.query_once(sql, parameters)
            }
            done => done,
        }
    }

    fn begin(&mut self, access: Access) -> Result<(), StoreError> {
        let lock = match access {
            Access::Add => "pg_advisory_xact_lock_shared",
            Access::Alone => "pg_advisory_xact_lock",
        };
        let begun = self.run(&format!("BEGIN; SELECT {lock}({LOCK})"));
        match begun {
            Ok(()) => self.in_transaction = true,
            Err(_) => self.roll_back(),
        }
        begun
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    fn roll_back(&mut self) {
        self.in_transaction = false;
        let Some(connection) = &mut self.connection else { return };
        if connection.client.batch_execute("ROLLBACK").is_err() {
            self.connection = None;
        }
    }

    fn has_tables(&mut self) -> Result<bool, StoreError> {
        let found = self.query("SELECT 1::BIGINT FROM pg_namespace WHERE nspname = 'interlingua'", &[])?;
        if found.is_empty() {
            self.run("CREATE SCHEMA interlingua")?;
        }
        let sql =
            "SELECT 1::BIGINT FROM pg_tables WHERE schemaname = 'interlingua' AND tablename = 'store_meta'";
        Ok(!self.query(sql, &[])?.is_empty())
    }

    fn free_space(&mut self) -> Result<(), StoreError> {
        // The server's autovacuum makes the space usable again.
        Ok(())
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(of, out),
            // PostgreSQL has no text with a zero byte.
            Value::Text(text) if text.contains('\0') => text.replace('\0', "\u{fffd}").to_sql(of, out),
            Value::Text(text) => text.to_sql(of, out),
            Value::Bytes(bytes) => bytes.to_sql(of, out),
        }
    }

    fn accepts(of: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(of)
    }

    postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *of {
            Type::INT8 => Value::Integer(i64::from_sql(of, raw)?),
            Type::BYTEA => Value::Bytes(raw.to_vec()),
            _ => Value::Text(String::from_sql(of, raw)?),
        })
    }

    fn accepts(of: &Type) -> bool {
        <Value as ToSql>::accepts(of)
    }
}

/// The hosts and the database, without the password.
fn place_of(config: &Config) -> String {
    let mut place = "postgres://".to_owned();
    for (number, host) in config.get_hosts().iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = match host {
            Host::Tcp(name) => write!(place, "{comma}{name}"),
            #[cfg(unix)]
            Host::Unix(path) => write!(place, "{comma}{}", path.display()),
        };
    }
    let _ = write!(place, "/{}", config.get_dbname().unwrap_or_default());
    place
}

fn of_postgres(error: &postgres::Error) -> StoreError {
    let mut cause = error.to_string();
    if let Some(source) = error.source() {
        let _ = write!(cause, ": {source}");
    }
    // Without a code of the server, the connection failed. The classes of codes that may pass: connection (08),
    // transaction (40), resources (53), operator (57).
    let passes = |code: &str| ["08", "40", "53", "57"].iter().any(|class| code.starts_with(class));
    match error.code() {
        Some(code) if !passes(code.code()) => StoreError::Refused(cause),
        None if !error.is_closed() && is_conversion(error) => StoreError::Refused(cause),
        _ => StoreError::Unavailable(cause),
    }
}

/// Whether a value did not fit its column. The client has no public kinds of errors, only their messages.
fn is_conversion(error: &postgres::Error) -> bool {
    let text = error.to_string();
    text.contains("serializ") || text.contains("parameters")
}
