//! The database of Goose, read from a copy: each session becomes one document like that of `goose session export`.
//!
//! ```text
//! sessions.db, -wal --copy--> rows -> { session, conversation: [ message … ], settings, usage_ledger }  -> the core
//! ```
//!
//! The numbers of tokens have the names of their columns, as in exports of older versions, which Goose still imports. A row
//! that names no session is in a document of its own.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use rusqlite::types::ValueRef;

use super::columns::{Column, ColumnForm, plain, told_by_place, write_row};
use super::copy::DatabaseCopy;
use super::document::{Members, PieceReader, text};
use super::error::ArchiveError;
use super::placing::{SessionRows, place};
use super::rows::{RowReader, RowValues, Table};

/// The tables of Goose.
pub(crate) static TABLES: &[&Table] = &[SESSIONS, MESSAGES, LEDGER];

const SESSIONS: &Table = &Table { name: "sessions", needed: &["id", "working_dir"], is_required: true };
const MESSAGES: &Table =
    &Table { name: "messages", needed: &["session_id", "role", "content_json"], is_required: true };
/// The calls of models. Older versions have no such table.
const LEDGER: &Table = &Table { name: "usage_ledger", needed: &["session_id"], is_required: false };

/// The rows of each session.
#[derive(Debug)]
pub(crate) struct Catalogue {
    copy: Arc<DatabaseCopy>,
    sessions: Vec<SessionRows<2>>,
}

impl Catalogue {
    /// Finds all rows, and the errors of damaged parts. Goose sorts messages by their times, and messages of one second by
    /// their numbers.
    pub(crate) fn of(
        copy: Arc<DatabaseCopy>,
        reader: &RowReader,
    ) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        let tables = [(MESSAGES, "created_timestamp"), (LEDGER, "created_timestamp")];
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
        let (mut step, mut ended) = (0, false);
        Ok(PieceReader::new(move |out: &mut String| {
            let Some(session) = catalogue.sessions.get(number) else { return Ok(false) };
            let [messages, ledger] = &session.tables;
            let document = SessionDocument { session, messages, ledger, reader: &reader };
            let written = match step {
                0 => document.write_head(out),
                step if step <= messages.len() => document.write_message(step - 1, out),
                _ if !std::mem::replace(&mut ended, true) => document.write_tail(out),
                _ => return Ok(false),
            };
            step += 1;
            written.map_err(io::Error::other)?;
            Ok(true)
        }))
    }
}

/// The members before the messages.
const BEFORE: [Column; 7] = [
    ("id", "id", ColumnForm::Plain),
    ("working_dir", "working_dir", ColumnForm::Plain),
    ("session_type", "session_type", ColumnForm::Plain),
    ("extension_data", "extension_data", ColumnForm::Json),
    ("schedule_id", "schedule_id", ColumnForm::Plain),
    ("recipe", "recipe_json", ColumnForm::Json),
    ("user_recipe_values", "user_recipe_values_json", ColumnForm::Json),
];

/// The members after the messages.
const AFTER: [Column; 5] = [
    ("provider_name", "provider_name", ColumnForm::Plain),
    ("model_config", "model_config_json", ColumnForm::Json),
    ("goose_mode", "goose_mode", ColumnForm::Plain),
    ("project_id", "project_id", ColumnForm::Plain),
    ("parent_session_id", "parent_session_id", ColumnForm::Plain),
];

/// The members of a message.
const MESSAGE: [Column; 5] = [
    ("id", "message_id", ColumnForm::Plain),
    ("role", "role", ColumnForm::Plain),
    ("created", "created_timestamp", ColumnForm::Plain),
    ("content", "content_json", ColumnForm::Json),
    ("metadata", "metadata_json", ColumnForm::Json),
];

struct SessionDocument<'d> {
    session: &'d SessionRows<2>,
    messages: &'d [i64],
    ledger: &'d [i64],
    reader: &'d RowReader,
}

impl SessionDocument<'_> {
    /// `{"id":…,"conversation":[`
    fn write_head(&self, out: &mut String) -> Result<(), ArchiveError> {
        if let Some(row) = self.session.row {
            self.reader.row(SESSIONS, row, |row| write_session(row, self.messages.len(), out))?;
            // The list is the last member of the open object.
            out.pop();
            out.push(',');
        } else {
            out.push_str("{\"id\":");
            text(&self.session.id, out);
            out.push_str(",\"working_dir\":\"\",");
        }
        out.push_str("\"conversation\":[");
        Ok(())
    }

    fn write_message(&self, number: usize, out: &mut String) -> Result<(), ArchiveError> {
        let Some(row) = self.messages.get(number) else { return Ok(()) };
        if number > 0 {
            out.push(',');
        }
        self.reader.row(MESSAGES, *row, |row| {
            let mut members = Members::default();
            let mut told = told_by_place(row, &self.session.id);
            for (name, column, form) in MESSAGE {
                members.put(name, row.get(column), form);
                told.insert(column.to_owned());
            }
            // The number of a row and the time of its insertion sort the rows.
            let is_number = matches!(row.get("id"), Some(ValueRef::Integer(_)));
            told.extend(is_number.then(|| "id".to_owned()));
            let is_date = |value| matches!(value, ValueRef::Text(date) if is_date(date));
            told.extend(row.get("timestamp").is_some_and(is_date).then(|| "timestamp".to_owned()));
            members.put_others(row, &told);
            out.push_str(&members.finish());
        })
    }

    /// `],"provider_name":…,"usage_ledger":[…]}`
    fn write_tail(&self, out: &mut String) -> Result<(), ArchiveError> {
        out.push(']');
        if let Some(row) = self.session.row {
            self.reader.row(SESSIONS, row, |row| {
                let mut members = Members::default();
                for (name, column, form) in AFTER {
                    members.put(name, row.get(column), form);
                }
                put_date("archived_at", row, &mut members);
                if !members.is_empty() {
                    let object = members.finish();
                    out.push(',');
                    out.push_str(object.get(1..object.len() - 1).unwrap_or_default());
                }
            })?;
        }
        let mut open = ",\"usage_ledger\":[";
        for row in self.ledger {
            out.push_str(open);
            open = ",";
            self.reader.row(LEDGER, *row, |row| {
                let told = told_by_place(row, &self.session.id);
                let told: Vec<&str> = told.iter().map(String::as_str).collect();
                write_row(row, ["model"], &told, out);
            })?;
        }
        out.push_str(if self.ledger.is_empty() { "}\n" } else { "]}\n" });
        Ok(())
    }
}

/// Writes the members before the messages: those that Goose exports, then the unknown columns.
fn write_session(row: &RowValues<'_>, messages: usize, out: &mut String) {
    let mut members = Members::default();
    let mut told: BTreeSet<String> = AFTER.iter().map(|(_, column, _)| (*column).to_owned()).collect();
    told.insert("archived_at".to_owned());
    for (name, column, form) in BEFORE {
        members.put(name, row.get(column), form);
        told.insert(column.to_owned());
        if column == "working_dir" {
            put_names(row, &mut members, &mut told);
        }
        if column == "session_type" {
            for date in ["created_at", "updated_at"] {
                put_date(date, row, &mut members);
                told.insert(date.to_owned());
            }
        }
    }
    members.raw("message_count", &messages.to_string());
    members.put_others(row, &told);
    out.push_str(&members.finish());
}

/// Adds the name of a session. Older versions have only a description, and Goose imports one of the two.
fn put_names(row: &RowValues<'_>, members: &mut Members, told: &mut BTreeSet<String>) {
    let is_empty = |column: &str| matches!(row.get(column), Some(ValueRef::Text(b"")));
    for (column, other) in [("name", "description"), ("description", "name")] {
        let is_other = row.get(other).is_some() && !is_empty(other);
        if !(is_empty(column) && (is_other || column == "description")) {
            members.put(column, row.get(column), ColumnForm::Plain);
        }
        told.insert(column.to_owned());
    }
    if let Some(ValueRef::Integer(flag @ (0 | 1))) = row.get("user_set_name") {
        members.raw("user_set_name", if flag == 1 { "true" } else { "false" });
        told.insert("user_set_name".to_owned());
    }
}

/// Adds a date. SQLite's own form has a space before the time, and no zone for UTC.
fn put_date(column: &'static str, row: &RowValues<'_>, members: &mut Members) {
    let date = row.get(column);
    match date {
        Some(ValueRef::Text(bytes)) if is_date(bytes) => {
            let written = plain(ValueRef::Text(bytes)).replacen(' ', "T", 1);
            let has_zone = bytes.iter().skip(DATE_LENGTH).any(|byte| matches!(byte, b'Z' | b'+' | b'-'));
            let zone = if has_zone { "" } else { "Z" };
            let mut json = String::new();
            text(&(written + zone), &mut json);
            members.raw(column, &json);
        }
        _ => members.put(column, date, ColumnForm::Plain),
    }
}

/// The length of `2026-11-18 14:06:30`.
const DATE_LENGTH: usize = 19;

/// Whether a text is a date of SQLite, with or without a fraction and a zone.
fn is_date(text: &[u8]) -> bool {
    let is_at = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        10 => matches!(byte, b' ' | b'T'),
        13 | 16 => *byte == b':',
        0..DATE_LENGTH => byte.is_ascii_digit(),
        _ => byte.is_ascii_digit() || matches!(byte, b'.' | b':' | b'+' | b'-' | b'Z'),
    };
    text.len() >= DATE_LENGTH && text.iter().enumerate().all(is_at)
}
