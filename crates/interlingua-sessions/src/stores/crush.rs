//! The database of Crush, read from a copy: each session becomes one document with its messages.
//!
//! ```text
//! .crush/crush.db, -wal --copy--> rows -> { crush: session, rows: [ message … ], files, read_files }  -> the core
//! ```
//!
//! Members have the names of their columns. A session that a call has started has the id of the call in `parent_call`. A row
//! that names no session is in a document of its own.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::columns::{Column, ColumnForm, told_by_place};
use super::copy::DatabaseCopy;
use super::document::{Members, PieceReader, text};
use super::error::ArchiveError;
use super::placing::{SessionRows, place};
use super::rows::{RowReader, RowValues, Table};

/// The tables of Crush.
pub(crate) static TABLES: &[&Table] = &[SESSIONS, MESSAGES, FILES, READ_FILES];

const SESSIONS: &Table = &Table { name: "sessions", needed: &["id", "title"], is_required: true };
const MESSAGES: &Table =
    &Table { name: "messages", needed: &["session_id", "role", "parts"], is_required: true };
/// The versions of changed files.
const FILES: &Table = &Table { name: "files", needed: &["session_id"], is_required: false };
/// The files that the agent has read. Older versions have no such table.
const READ_FILES: &Table = &Table { name: "read_files", needed: &["session_id"], is_required: false };

/// The rows of each session.
#[derive(Debug)]
pub(crate) struct Catalogue {
    copy: Arc<DatabaseCopy>,
    sessions: Vec<SessionRows<3>>,
}

impl Catalogue {
    /// Finds all rows, and the errors of damaged parts.
    pub(crate) fn of(
        copy: Arc<DatabaseCopy>,
        reader: &RowReader,
    ) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        let tables = [(MESSAGES, "created_at"), (FILES, "created_at"), (READ_FILES, "read_at")];
        let (sessions, damage) = place(reader, SESSIONS, tables)?;
        Ok((Self { copy, sessions }, damage))
    }

    /// The ids of the sessions. Ids may repeat.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(|session| session.id.as_str())
    }

    /// Reads a session, by its number, as a document.
    pub(crate) fn read(self: &Arc<Self>, number: usize) -> Result<impl io::Read + use<>, ArchiveError> {
        let reader = RowReader::open(&self.copy, TABLES)?;
        let catalogue = Arc::clone(self);
        let (mut list, mut at) = (0, 0);
        Ok(PieceReader::new(move |out: &mut String| {
            let Some(session) = catalogue.sessions.get(number) else { return Ok(false) };
            let tables = [("rows", MESSAGES), ("files", FILES), ("read_files", READ_FILES)];
            let written = loop {
                let (Some((name, table)), Some(rows)) = (tables.get(list), session.tables.get(list)) else {
                    return Ok(false);
                };
                // The messages are always a list; other lists only have a name if they have rows.
                let is_written = list == 0 || !rows.is_empty();
                if at == 0 && list == 0 {
                    catalogue.write_head(session, &reader, out).map_err(io::Error::other)?;
                }
                if at == 0 && is_written {
                    out.push_str(if list == 0 { "\"" } else { ",\"" });
                    out.push_str(name);
                    out.push_str("\":[");
                }
                if let Some(row) = rows.get(at) {
                    out.push_str(if at > 0 { "," } else { "" });
                    at += 1;
                    break reader.row(table, *row, |row| write_row(row, &session.id, out));
                }
                out.push_str(if is_written { "]" } else { "" });
                (list, at) = (list + 1, 0);
                if list == tables.len() {
                    out.push_str("}\n");
                    break Ok(());
                }
            };
            written.map_err(io::Error::other)?;
            Ok(true)
        }))
    }

    /// `{"crush":{…},`
    fn write_head(
        &self,
        session: &SessionRows<3>,
        reader: &RowReader,
        out: &mut String,
    ) -> Result<(), ArchiveError> {
        let mut members = Members::default();
        match session.row {
            Some(row) => reader.row(SESSIONS, row, |row| write_members(row, &SESSION, &mut members))?,
            None => members.raw("id", &quoted(&session.id)),
        }
        if let Some((_, call)) = session.id.split_once("$$") {
            members.raw("parent_call", &quoted(call));
        }
        if let Some(folder) = project(&self.copy.original) {
            members.raw("folder", &quoted(&folder));
        }
        out.push_str("{\"crush\":");
        out.push_str(&members.finish());
        out.push(',');
        Ok(())
    }
}

/// The first members of a session.
const SESSION: [Column; 3] = [
    ("id", "id", ColumnForm::Plain),
    ("parent_session_id", "parent_session_id", ColumnForm::Plain),
    ("title", "title", ColumnForm::Plain),
];

/// The first members of a row of another table.
const ROW: [Column; 4] = [
    ("id", "id", ColumnForm::Plain),
    ("role", "role", ColumnForm::Plain),
    ("parts", "parts", ColumnForm::Json),
    ("content", "content", ColumnForm::Plain),
];

fn write_row(row: &RowValues<'_>, session: &str, out: &mut String) {
    let mut members = Members::default();
    let told = told_by_place(row, session);
    write_rest(row, &ROW, told, &mut members);
    out.push_str(&members.finish());
}

fn write_members(row: &RowValues<'_>, first: &[Column], members: &mut Members) {
    write_rest(row, first, BTreeSet::new(), members);
}

/// Writes these columns, and then all others except those in `told`.
fn write_rest(row: &RowValues<'_>, first: &[Column], mut told: BTreeSet<String>, members: &mut Members) {
    for (name, column, form) in first {
        members.put(name, row.get(column), *form);
        told.insert((*column).to_owned());
    }
    members.put_others(row, &told);
}

/// The folder of a project: that of `.crush/crush.db`.
fn project(database: &Path) -> Option<String> {
    let path = std::path::absolute(database).ok()?;
    let folder = path.parent().filter(|folder| folder.ends_with(".crush"))?;
    Some(folder.parent()?.to_string_lossy().into_owned())
}

fn quoted(plain: &str) -> String {
    let mut json = String::new();
    text(plain, &mut json);
    json
}
