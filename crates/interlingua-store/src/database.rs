//! The two databases behind the store: the same SQL with parameters `$1`, `$2` and so on, in the order of their first
//! use, because SQLite numbers them by that order.

use crate::error::StoreError;

/// A value of a column or parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// A count. Larger numbers than a database holds become the largest number.
    pub(crate) fn count(number: u64) -> Self {
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(crate) fn text(text: &str) -> Self {
        Value::Text(text.to_owned())
    }

    pub(crate) fn optional_count(number: Option<u64>) -> Self {
        number.map_or(Value::Null, Value::count)
    }

    pub(crate) fn optional_text(text: Option<&str>) -> Self {
        text.map_or(Value::Null, Value::text)
    }
}

/// A row of a result.
pub(crate) type Row = Vec<Value>;

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Adds rows. Several processes may add rows at once where the database can.
    Add,
    /// Deletes rows or changes the schema, alone.
    Alone,
}

/// One connection to a database.
pub(crate) trait Database: Send {
    /// The type of a column of bytes.
    const BYTES: &'static str;

    /// A query for the columns of the table `$1`.
    const COLUMNS: &'static str;

    /// Runs a statement and returns its rows.
    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// Begins a transaction.
    fn begin(&mut self, access: Access) -> Result<(), StoreError>;

    /// Commits the transaction.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Abandons the transaction. A connection that cannot do so is closed.
    fn roll_back(&mut self);

    /// Whether the tables of the store exist. Fails if the database belongs to another program.
    fn has_tables(&mut self) -> Result<bool, StoreError>;

    /// The names of the columns of a table of the store; none if there is no table of this name.
    fn columns(&mut self, table: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.query(Self::COLUMNS, &[Value::text(table)])?;
        let name = |row: Row| match row.into_iter().next() {
            Some(Value::Text(name)) => Some(name),
            _ => None,
        };
        Ok(rows.into_iter().filter_map(name).collect())
    }

    /// Returns the space of deleted rows to the system, as far as the database does not do so itself.
    fn free_space(&mut self) -> Result<(), StoreError>;
}

/// Runs `work` in a transaction.
pub(crate) fn transaction<D: Database, T>(
    database: &mut D,
    access: Access,
    work: impl FnOnce(&mut D) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    database.begin(access)?;
    let done = work(database).and_then(|value| database.commit().map(|()| value));
    if done.is_err() {
        database.roll_back();
    }
    done
}
