//! The rows of the tables of OpenCode and Cursor: each row is found by a scan of its table and read by its number. No index of the
//! database is used, because an index may omit rows; no view, trigger, virtual table or generated column is evaluated.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Statement};

use super::copy::DatabaseCopy;
use crate::ArchiveError;

/// The tables that may be read. Credentials and share secrets are in other tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Project,
    Session,
    Message,
    Part,
    Todo,
    /// The keys and values of Cursor's editor.
    CursorDiskKv,
}

impl Table {
    pub(crate) const ALL: [Table; 6] =
        [Table::Project, Table::Session, Table::Message, Table::Part, Table::Todo, Table::CursorDiskKv];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Table::Project => "project",
            Table::Session => "session",
            Table::Message => "message",
            Table::Part => "part",
            Table::Todo => "todo",
            Table::CursorDiskKv => "cursorDiskKV",
        }
    }

    /// The required columns of the table.
    const fn needed(self) -> &'static [&'static str] {
        match self {
            Table::Project | Table::Session => &["id"],
            Table::Message => &["id", "session_id", "data"],
            Table::Part => &["id", "message_id", "data"],
            Table::Todo => &["session_id"],
            Table::CursorDiskKv => &["key", "value"],
        }
    }
}

/// The readable columns of a table.
#[derive(Debug)]
struct TableForm {
    /// The columns, without generated columns.
    columns: Vec<String>,
    /// The name of the row number: `rowid`, or an alias if a column has that name.
    number: &'static str,
    /// A missing column that is required to assign rows to sessions.
    missing: Option<&'static str>,
}

/// An open copy of a database.
pub(crate) struct RowReader {
    database: Connection,
    copy: Arc<DatabaseCopy>,
    tables: HashMap<Table, TableForm>,
    /// The size of the database and its log in bytes.
    bytes: u64,
}

/// The result of a scan.
pub(crate) struct Scan<T> {
    /// The row numbers with the values of the requested columns.
    pub(crate) rows: Vec<(i64, T)>,
    /// Why the scan stopped before the end of the table.
    pub(crate) damage: Option<ArchiveError>,
}

impl RowReader {
    /// Opens the copy. SQLite may create its files next to the copy.
    pub(crate) fn open(copy: &Arc<DatabaseCopy>) -> Result<Self, ArchiveError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let fail = |error: rusqlite::Error| damaged(copy, &error);
        let database = Connection::open_with_flags(copy.path(), flags).map_err(fail)?;
        let bytes = copy.bytes();
        // An ordinary scan takes at most a few steps per byte.
        let (mut steps, most) = (0, 10_000 + bytes / 100);
        database.progress_handler(
            1000,
            Some(move || {
                steps += 1;
                steps > most
            }),
        );
        for (setting, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        ] {
            database.set_db_config(setting, value).map_err(fail)?;
        }
        database.pragma_update(None, "cell_size_check", true).map_err(fail)?;
        database.authorizer(Some(permit));
        let mut reader = Self { database, copy: Arc::clone(copy), tables: HashMap::new(), bytes };
        for table in Table::ALL {
            if let Some(form) = reader.form(table)? {
                reader.tables.insert(table, form);
            }
        }
        Ok(reader)
    }

    /// The readable columns of a table; `None` if there is no such table.
    fn form(&self, table: Table) -> Result<Option<TableForm>, ArchiveError> {
        let fail = |error: rusqlite::Error| damaged(&self.copy, &error);
        let refuse = |why: &str| {
            let what = format!("`{}` is {why}, which is not read", table.name());
            Err(ArchiveError::Refused(self.copy.original.clone(), what))
        };
        let mut list =
            self.database.prepare(&format!("PRAGMA table_list({})", table.name())).map_err(fail)?;
        let kinds = list.query_map([], |row| Ok((row.get::<_, String>(2)?, row.get::<_, bool>(4)?)));
        let kinds: Vec<(String, bool)> = kinds.and_then(Iterator::collect).map_err(fail)?;
        match kinds.first().map(|(kind, without_number)| (kind.as_str(), *without_number)) {
            None => return Ok(None),
            Some(("table", false)) => {}
            Some(("table", true)) => return refuse("a table without row numbers"),
            Some(("view", _)) => return refuse("a view"),
            Some(_) => return refuse("a virtual table"),
        }
        let mut info =
            self.database.prepare(&format!("PRAGMA table_info({})", table.name())).map_err(fail)?;
        let columns = info.query_map([], |row| row.get::<_, String>(1));
        let columns: Vec<String> = columns.and_then(Iterator::collect).map_err(fail)?;
        let has = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        let missing = table.needed().iter().find(|name| !has(name));
        if let (Some(_), Table::Session | Table::Message | Table::Part) = (missing, table) {
            return Err(ArchiveError::NotOpencode(self.copy.original.clone()));
        }
        let Some(number) = ["rowid", "_rowid_", "oid"].into_iter().find(|name| !has(name)) else {
            return refuse("a table that hides its row numbers");
        };
        Ok(Some(TableForm { columns, number, missing: missing.copied() }))
    }

    /// Whether the database has that table.
    pub(crate) fn has(&self, table: Table) -> bool {
        self.tables.contains_key(&table)
    }

    /// Scans all rows of a table and returns the values of the given columns: `None` for a missing column. Work and
    /// content are bounded by the size of the file.
    pub(crate) fn scan<const N: usize>(
        &self,
        table: Table,
        wanted: [&'static str; N],
    ) -> Scan<[Option<Vec<u8>>; N]> {
        let mut scan = Scan { rows: Vec::new(), damage: None };
        let Some(form) = self.tables.get(&table) else { return scan };
        if let Some(missing) = form.missing {
            let what = format!("`{}` has no column `{missing}`, and is not read", table.name());
            scan.damage = Some(ArchiveError::Refused(self.copy.original.clone(), what));
            return scan;
        }
        if let Err(what) = self.scan_rows(table, form, wanted, "ASC", None, &mut scan.rows) {
            // Rows after a damaged page are found by a scan in reverse order.
            let mut behind = Vec::new();
            let last = scan.rows.last().map_or(i64::MIN, |(number, _)| *number);
            let _ = self.scan_rows(table, form, wanted, "DESC", Some(last), &mut behind);
            scan.rows.extend(behind.into_iter().rev());
            let what = format!("not all rows of `{}` can be read: {what}", table.name());
            scan.damage = Some(ArchiveError::Damaged(self.copy.original.clone(), what));
        }
        scan
    }

    fn scan_rows<const N: usize>(
        &self,
        table: Table,
        form: &TableForm,
        wanted: [&'static str; N],
        order: &str,
        after: Option<i64>,
        found: &mut Vec<(i64, [Option<Vec<u8>>; N])>,
    ) -> Result<(), String> {
        let text = |error: rusqlite::Error| message(&error);
        let sizes: Vec<String> =
            form.columns.iter().map(|name| format!("octet_length({})", quoted(name))).collect();
        let keys: Vec<String> = wanted
            .iter()
            .map(|name| {
                let column = form.columns.iter().find(|column| column.eq_ignore_ascii_case(name));
                column.map_or_else(|| "NULL".to_owned(), |column| quoted(column))
            })
            .collect();
        let query = format!(
            "SELECT {number}, {}, {} FROM {} NOT INDEXED ORDER BY {number} {order}",
            keys.join(", "),
            sizes.join(", "),
            table.name(),
            number = form.number
        );
        let mut query = self.database.prepare(&query).map_err(text)?;
        let mut rows = query.query([]).map_err(text)?;
        let (mut content, mut last): (u64, Option<i64>) = (0, None);
        while let Some(row) = rows.next().map_err(text)? {
            let number: i64 = row.get(0).map_err(text)?;
            if after.is_some_and(|after| number <= after) {
                return Ok(());
            }
            let is_behind = |last: i64| if order == "ASC" { number <= last } else { number >= last };
            if last.is_some_and(is_behind) {
                return Err("its rows are not in their order".to_owned());
            }
            last = Some(number);
            for at in 0..form.columns.len() {
                if let ValueRef::Integer(size) = row.get_ref(1 + N + at).map_err(text)? {
                    content += u64::try_from(size).unwrap_or(0);
                }
            }
            // A row takes a few bytes of the file and holds its content once. Small numbers take less space than the
            // eight bytes counted here.
            let most = self.bytes.saturating_mul(8);
            if content > most || found.len() as u64 > self.bytes {
                return Err("it holds more than fits into the file".to_owned());
            }
            let mut keys = [const { None }; N];
            for (at, key) in keys.iter_mut().enumerate() {
                *key = match row.get_ref(1 + at).map_err(text)? {
                    ValueRef::Null => None,
                    ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
                    ValueRef::Real(number) => Some(number.to_string().into_bytes()),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
                };
            }
            found.push((number, keys));
        }
        Ok(())
    }

    /// Reads all columns of a row.
    pub(crate) fn row<T>(
        &self,
        table: Table,
        number: i64,
        read: impl FnOnce(&RowValues<'_>) -> T,
    ) -> Result<T, ArchiveError> {
        let fail = |error: rusqlite::Error| damaged(&self.copy, &error);
        let Some(form) = self.tables.get(&table) else {
            return Err(ArchiveError::NotOpencode(self.copy.original.clone()));
        };
        let columns: Vec<String> = form.columns.iter().map(|name| quoted(name)).collect();
        let query = format!(
            "SELECT {} FROM {} NOT INDEXED WHERE {} = ?1",
            columns.join(", "),
            table.name(),
            form.number
        );
        let mut query = self.database.prepare_cached(&query).map_err(fail)?;
        one_row(&mut query, number, &form.columns, read).map_err(fail)
    }
}

fn one_row<T>(
    query: &mut Statement<'_>,
    number: i64,
    columns: &[String],
    read: impl FnOnce(&RowValues<'_>) -> T,
) -> rusqlite::Result<T> {
    let mut rows = query.query([number])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let mut values = Vec::with_capacity(columns.len());
    for (at, name) in columns.iter().enumerate() {
        values.push((name.as_str(), row.get_ref(at)?));
    }
    Ok(read(&RowValues(values)))
}

/// The columns of a row and their values.
pub(crate) struct RowValues<'r>(pub(crate) Vec<(&'r str, ValueRef<'r>)>);

impl<'r> RowValues<'r> {
    /// The value of a column; `None` if the column is missing or null.
    pub(crate) fn get(&self, column: &str) -> Option<ValueRef<'r>> {
        let (_, value) = self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(column))?;
        (*value != ValueRef::Null).then_some(*value)
    }
}

/// Whether a statement may perform an action: only reads of our tables are allowed.
fn permit(context: AuthContext<'_>) -> Authorization {
    let is_ours = |name: &str| Table::ALL.iter().any(|table| table.name().eq_ignore_ascii_case(name));
    let allowed = match context.action {
        AuthAction::Select | AuthAction::Function { function_name: "octet_length" } => true,
        AuthAction::Read { table_name, .. } => is_ours(table_name),
        AuthAction::Pragma { pragma_name: "table_info" | "table_list", pragma_value } => {
            pragma_value.is_some_and(is_ours)
        }
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn damaged(copy: &DatabaseCopy, error: &rusqlite::Error) -> ArchiveError {
    ArchiveError::Damaged(copy.original.clone(), message(error))
}

fn message(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            "reading it takes too long for its size".to_owned()
        }
        _ => error.to_string(),
    }
}

/// A quoted SQL identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
