//! Columns as members of a document, and rows in order: shared by the databases of all agents.

use std::collections::BTreeSet;

use rusqlite::types::ValueRef;

use super::document::{Members, compact, is_json, text};
use super::error::ArchiveError;
use super::rows::{RowValues, Scan};

/// The rows of a scan; its error is added to the damage.
pub(crate) fn taken<T>(scan: Scan<T>, damage: &mut Vec<ArchiveError>) -> Vec<(i64, T)> {
    damage.extend(scan.damage);
    scan.rows
}

/// The value of a column that names or sorts a row.
pub(crate) type Key = Option<Vec<u8>>;

/// A sort key: numbers by value, after all keys that are not numbers.
pub(crate) fn order(key: &Key) -> i128 {
    let text = key.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    let number = text.and_then(|text| text.parse::<i64>().ok());
    number.map_or(i128::MIN, i128::from)
}

/// How a column is written as a member of the document.
#[derive(Clone, Copy)]
pub(crate) enum ColumnForm {
    /// As a string or a number.
    Plain,
    /// As the JSON value in the column's text.
    Json,
}

/// A member, its column, and the form of its value.
pub(crate) type Column = (&'static str, &'static str, ColumnForm);

/// Writes a row as an object: the columns in `first`, then all others except those in `elsewhere`.
pub(crate) fn write_row<const N: usize>(
    row: &RowValues<'_>,
    first: [&str; N],
    elsewhere: &[&str],
    out: &mut String,
) {
    let mut members = Members::default();
    let mut told: BTreeSet<String> = elsewhere.iter().map(|name| (*name).to_owned()).collect();
    for column in first {
        members.put(column, row.get(column), ColumnForm::Plain);
        told.insert(column.to_owned());
    }
    members.put_others(row, &told);
    out.push_str(&members.finish());
}

/// The column of the session's id, if the document itself has that id.
pub(crate) fn told_by_place(row: &RowValues<'_>, session: &str) -> BTreeSet<String> {
    let is_id = |value| matches!(value, ValueRef::Text(id) if id == session.as_bytes());
    row.get("session_id").is_some_and(is_id).then(|| "session_id".to_owned()).into_iter().collect()
}

/// A value as text. Invalid UTF-8 is replaced; [`Members::note_bytes`] keeps the bytes.
pub(crate) fn plain(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

impl Members {
    /// Adds a value, unless the column is null.
    pub(crate) fn put(&mut self, name: &str, value: Option<ValueRef<'_>>, form: ColumnForm) {
        let Some(value) = value else { return };
        let plain = plain(value);
        let mut json = String::new();
        match (value, form) {
            (ValueRef::Integer(_), _) => json.push_str(&plain),
            (ValueRef::Real(number), _) if number.is_finite() => json.push_str(&plain),
            (_, ColumnForm::Json) if is_json(&plain) => compact(&plain, &mut json),
            (_, ColumnForm::Json | ColumnForm::Plain) => text(&plain, &mut json),
        }
        self.raw(name, &json);
        self.note_bytes(name, value);
    }

    /// Adds the columns that are not in `told`, under their own names: lists and objects as JSON, all other values as
    /// text or numbers.
    pub(crate) fn put_others(&mut self, row: &RowValues<'_>, told: &BTreeSet<String>) {
        for (column, value) in &row.0 {
            if *value == ValueRef::Null || told.contains(&column.to_ascii_lowercase()) {
                continue;
            }
            let is_container = matches!(plain(*value).trim_start().as_bytes(), [b'{' | b'[', ..]);
            self.put(column, Some(*value), if is_container { ColumnForm::Json } else { ColumnForm::Plain });
        }
    }

    /// Keeps the bytes of a text that is invalid UTF-8.
    pub(crate) fn note_bytes(&mut self, name: &str, value: ValueRef<'_>) {
        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value {
            self.bytes(name, bytes);
        }
    }
}
