//! The database of OpenCode, read from a copy: assigns rows to sessions and writes each session as a document. A row
//! without a session, or with a missing parent, is in the document unchanged.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use rusqlite::types::ValueRef;

use super::copy::DatabaseCopy;
use super::document::{Members, PieceReader, compact, is_json, text, with_ids};
use super::rows::{RowReader, RowValues, Scan, Table};
use crate::ArchiveError;

/// The rows of each session.
#[derive(Debug)]
pub(crate) struct Catalogue {
    copy: Arc<DatabaseCopy>,
    sessions: Vec<SessionRows>,
}

/// The rows of one session, by row number.
#[derive(Debug, Default)]
struct SessionRows {
    id: String,
    /// `None` if other rows name a session that has no row.
    row: Option<i64>,
    project: Option<i64>,
    messages: Vec<MessageRows>,
    todo: Vec<i64>,
    /// Rows whose message, session or project row is missing or belongs to another row.
    unplaced: Vec<(Table, i64)>,
}

#[derive(Debug)]
struct MessageRows {
    row: i64,
    parts: Vec<i64>,
}

/// The id of the document for rows that name no session.
const NO_SESSION: &str = "rows-without-session";

impl Catalogue {
    /// Finds all rows. Also returns the errors: a damaged table, or a damaged part of a table, does not hide the
    /// others.
    pub(crate) fn of(
        copy: Arc<DatabaseCopy>,
        reader: &RowReader,
    ) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        if ![Table::Session, Table::Message, Table::Part].iter().all(|table| reader.has(*table)) {
            return Err(ArchiveError::NotOpencode(copy.original.clone()));
        }
        let mut damage = Vec::new();
        let mut placing = Placing::default();
        placing
            .sessions(taken(reader.scan(Table::Session, ["time_created", "id", "project_id"]), &mut damage));
        placing.projects(taken(reader.scan(Table::Project, ["id"]), &mut damage));
        placing
            .messages(taken(reader.scan(Table::Message, ["time_created", "id", "session_id"]), &mut damage));
        placing.parts(taken(reader.scan(Table::Part, ["id", "message_id", "session_id"]), &mut damage));
        placing.todo(taken(reader.scan(Table::Todo, ["position", "session_id"]), &mut damage));
        if placing.sessions.is_empty()
            && let Some(first) = damage.pop()
        {
            return Err(first);
        }
        Ok((Self { copy, sessions: placing.sessions }, damage))
    }

    /// The ids of the sessions. Ids may repeat.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(|session| session.id.as_str())
    }

    /// Reads a session, by its number, as a document.
    pub(crate) fn read(self: &Arc<Self>, number: usize) -> Result<impl io::Read + use<>, ArchiveError> {
        let reader = RowReader::open(&self.copy)?;
        let catalogue = Arc::clone(self);
        let (mut step, mut ended) = (0, false);
        Ok(PieceReader::new(move |out: &mut String| {
            let Some(session) = catalogue.sessions.get(number) else { return Ok(false) };
            let document = SessionDocument { session, reader: &reader };
            let written = match step {
                0 => document.write_head(out),
                step if step <= session.messages.len() => document.write_message(step - 1, out),
                _ if !std::mem::replace(&mut ended, true) => document.write_tail(out),
                _ => return Ok(false),
            };
            step += 1;
            written.map_err(io::Error::other)?;
            Ok(true)
        }))
    }
}

fn taken<T>(scan: Scan<T>, damage: &mut Vec<ArchiveError>) -> Vec<(i64, T)> {
    damage.extend(scan.damage);
    scan.rows
}

type Key = Option<Vec<u8>>;

/// Assigns rows to sessions.
#[derive(Default)]
struct Placing {
    sessions: Vec<SessionRows>,
    by_id: HashMap<Vec<u8>, usize>,
    /// Sessions by the id of their project.
    by_project: HashMap<Vec<u8>, Vec<usize>>,
    /// The session of a message and its index there. If ids repeat, the first message gets the parts.
    by_message: HashMap<Vec<u8>, (usize, usize)>,
}

impl Placing {
    fn sessions(&mut self, mut rows: Vec<(i64, [Key; 3])>) {
        rows.sort_by_cached_key(|(number, [time, id, _])| (order(time), id.clone(), *number));
        for (number, [_, id, project]) in rows {
            let at = self.sessions.len();
            let shown = id.as_deref().map_or_else(|| NO_SESSION.into(), String::from_utf8_lossy).into_owned();
            self.sessions.push(SessionRows { id: shown, row: Some(number), ..SessionRows::default() });
            if let Some(id) = id {
                self.by_id.entry(id).or_insert(at);
            }
            if let Some(project) = project {
                self.by_project.entry(project).or_default().push(at);
            }
        }
    }

    /// A project without sessions is in no document.
    fn projects(&mut self, rows: Vec<(i64, [Key; 1])>) {
        for (number, [id]) in rows {
            for at in id.and_then(|id| self.by_project.get(&id)).into_iter().flatten() {
                let Some(session) = self.sessions.get_mut(*at) else { continue };
                match session.project {
                    None => session.project = Some(number),
                    Some(_) => session.unplaced.push((Table::Project, number)),
                }
            }
        }
    }

    fn messages(&mut self, mut rows: Vec<(i64, [Key; 3])>) {
        rows.sort_by_cached_key(|(number, [time, id, _])| (order(time), id.clone(), *number));
        for (row, [_, id, session]) in rows {
            let at = self.session(session);
            let Some(session) = self.sessions.get_mut(at) else { continue };
            if let Some(id) = id {
                self.by_message.entry(id).or_insert((at, session.messages.len()));
            }
            session.messages.push(MessageRows { row, parts: Vec::new() });
        }
    }

    fn parts(&mut self, mut rows: Vec<(i64, [Key; 3])>) {
        rows.sort_by_cached_key(|(number, [id, ..])| (id.clone(), *number));
        for (row, [_, message, session]) in rows {
            let place = message.and_then(|message| self.by_message.get(&message)).copied();
            let found = place.and_then(|(at, message)| self.sessions.get_mut(at)?.messages.get_mut(message));
            match found {
                Some(message) => message.parts.push(row),
                None => self.unplaced(session, Table::Part, row),
            }
        }
    }

    fn todo(&mut self, mut rows: Vec<(i64, [Key; 2])>) {
        rows.sort_by_cached_key(|(number, [position, _])| (order(position), *number));
        for (row, [_, session]) in rows {
            let at = self.session(session);
            if let Some(session) = self.sessions.get_mut(at) {
                session.todo.push(row);
            }
        }
    }

    fn unplaced(&mut self, session: Key, table: Table, row: i64) {
        let at = self.session(session);
        if let Some(session) = self.sessions.get_mut(at) {
            session.unplaced.push((table, row));
        }
    }

    /// The session with that id, also if the session's own row is missing.
    fn session(&mut self, id: Key) -> usize {
        let id = id.unwrap_or_else(|| NO_SESSION.into());
        if let Some(at) = self.by_id.get(&id) {
            return *at;
        }
        let shown = String::from_utf8_lossy(&id).into_owned();
        self.sessions.push(SessionRows { id: shown, ..SessionRows::default() });
        self.by_id.insert(id, self.sessions.len() - 1);
        self.sessions.len() - 1
    }
}

/// A sort key: numbers by value, after all keys that are not numbers.
fn order(key: &Key) -> i128 {
    let text = key.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    let number = text.and_then(|text| text.parse::<i64>().ok());
    number.map_or(i128::MIN, i128::from)
}

/// How a column is written as a member of the document.
#[derive(Clone, Copy)]
enum ColumnForm {
    /// As a string or a number.
    Plain,
    /// As the JSON value in the column's text.
    Json,
}

/// A member, its column, and the form of its value.
type Column = (&'static str, &'static str, ColumnForm);

/// The members of a session except its times.
const SESSION: [Column; 14] = [
    ("id", "id", ColumnForm::Plain),
    ("slug", "slug", ColumnForm::Plain),
    ("projectID", "project_id", ColumnForm::Plain),
    ("workspaceID", "workspace_id", ColumnForm::Plain),
    ("parentID", "parent_id", ColumnForm::Plain),
    ("directory", "directory", ColumnForm::Plain),
    ("path", "path", ColumnForm::Plain),
    ("title", "title", ColumnForm::Plain),
    ("agent", "agent", ColumnForm::Plain),
    ("model", "model", ColumnForm::Json),
    ("version", "version", ColumnForm::Plain),
    ("metadata", "metadata", ColumnForm::Json),
    ("permission", "permission", ColumnForm::Json),
    ("revert", "revert", ColumnForm::Json),
];

/// Members that are nested objects.
const GROUPS: [(&str, &[Column]); 3] = [
    (
        "summary",
        &[
            ("additions", "summary_additions", ColumnForm::Plain),
            ("deletions", "summary_deletions", ColumnForm::Plain),
            ("files", "summary_files", ColumnForm::Plain),
            ("diffs", "summary_diffs", ColumnForm::Json),
        ],
    ),
    ("share", &[("url", "share_url", ColumnForm::Plain)]),
    (
        "time",
        &[
            ("created", "time_created", ColumnForm::Plain),
            ("updated", "time_updated", ColumnForm::Plain),
            ("compacting", "time_compacting", ColumnForm::Plain),
            ("archived", "time_archived", ColumnForm::Plain),
        ],
    ),
];

/// The columns of a session's cost and usage.
const COUNTS: [&str; 6] =
    ["cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write"];

struct SessionDocument<'d> {
    session: &'d SessionRows,
    reader: &'d RowReader,
}

impl SessionDocument<'_> {
    /// `{"info":…,"project":…,"messages":[`
    fn write_head(&self, out: &mut String) -> Result<(), ArchiveError> {
        out.push_str("{\"info\":");
        match self.session.row {
            Some(row) => self.reader.row(Table::Session, row, |row| write_info(row, out))?,
            None => with_ids(&[("id", &self.session.id)], "{}", Members::default(), out),
        }
        if let Some(row) = self.session.project {
            out.push_str(",\"project\":");
            self.reader
                .row(Table::Project, row, |row| write_row(row, ["id", "worktree", "vcs"], &[], out))?;
        }
        out.push_str(",\"messages\":[");
        Ok(())
    }

    /// `{"info":…,"parts":[…]}`
    fn write_message(&self, number: usize, out: &mut String) -> Result<(), ArchiveError> {
        let Some(message) = self.session.messages.get(number) else { return Ok(()) };
        if number > 0 {
            out.push(',');
        }
        out.push_str("{\"info\":");
        let ids = [("id", "id"), ("sessionID", "session_id")];
        self.reader.row(Table::Message, message.row, |row| write_data(row, &ids, out))?;
        out.push_str(",\"parts\":[");
        let ids = [("id", "id"), ("sessionID", "session_id"), ("messageID", "message_id")];
        for (at, part) in message.parts.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            self.reader.row(Table::Part, *part, |row| write_data(row, &ids, out))?;
        }
        out.push_str("]}");
        Ok(())
    }

    /// `],"todo":[…],"rows":[…]}`
    fn write_tail(&self, out: &mut String) -> Result<(), ArchiveError> {
        out.push(']');
        let mut open = ",\"todo\":[";
        for row in &self.session.todo {
            out.push_str(open);
            open = ",";
            self.reader.row(Table::Todo, *row, |row| {
                // The session id and the position follow from the place of the row in the document.
                let is_number = matches!(row.get("position"), Some(ValueRef::Integer(_)));
                let is_id = |value| matches!(value, ValueRef::Text(id) if id == self.session.id.as_bytes());
                let mut told = Vec::new();
                told.extend(row.get("session_id").is_some_and(is_id).then_some("session_id"));
                told.extend(is_number.then_some("position"));
                told.extend(row_times(row));
                write_row(row, ["content", "status", "priority"], &told, out);
            })?;
        }
        out.push_str(if self.session.todo.is_empty() { "" } else { "]" });
        let mut open = ",\"rows\":[";
        for (table, row) in &self.session.unplaced {
            out.push_str(open);
            open = ",";
            out.push_str("{\"table\":");
            text(table.name(), out);
            out.push_str(",\"row\":");
            self.reader.row(*table, *row, |row| write_row(row, ["id"], &[], out))?;
            out.push('}');
        }
        out.push_str(if self.session.unplaced.is_empty() { "" } else { "]" });
        out.push_str("}\n");
        Ok(())
    }
}

/// Writes the members of a session: first those that OpenCode exports, then the unknown columns.
fn write_info(row: &RowValues<'_>, out: &mut String) {
    let mut members = Members::default();
    let mut told: BTreeSet<String> = BTreeSet::new();
    for (name, column, form) in &SESSION {
        told.insert((*column).to_owned());
        members.put(name, row.get(column), *form);
    }
    let counts = SessionCounts::of(row);
    if !matches!(counts, SessionCounts::Odd) {
        told.extend(COUNTS.map(str::to_owned));
    }
    for (name, columns) in &GROUPS {
        told.extend(columns.iter().map(|(_, column, _)| (*column).to_owned()));
        let mut group = Members::default();
        for (name, column, form) in *columns {
            group.put(name, row.get(column), *form);
        }
        if *name == "time" {
            if let SessionCounts::Counted { cost, tokens } = &counts {
                members.raw("cost", cost);
                members.raw("tokens", tokens);
            }
            members.put_others(row, &told);
        }
        if !group.is_empty() {
            members.raw(name, &group.finish());
        }
    }
    out.push_str(&members.finish());
}

/// The cost and usage of a session, as JSON.
enum SessionCounts {
    Counted {
        cost: String,
        tokens: String,
    },
    /// Sessions older than these columns have zeros.
    Uncounted,
    /// A count is missing or is not a number.
    Odd,
}

impl SessionCounts {
    fn of(row: &RowValues<'_>) -> Self {
        let mut counts = [const { String::new() }; COUNTS.len()];
        for (column, count) in COUNTS.iter().zip(&mut counts) {
            *count = match row.get(column) {
                Some(ValueRef::Integer(number)) => number.to_string(),
                Some(ValueRef::Real(number)) if number.is_finite() => number.to_string(),
                Some(_) | None => return SessionCounts::Odd,
            };
        }
        if counts.iter().all(|count| count == "0") {
            return SessionCounts::Uncounted;
        }
        let [cost, input, output, reasoning, read, write] = counts;
        let tokens = format!(
            r#"{{"input":{input},"output":{output},"reasoning":{reasoning},"cache":{{"read":{read},"write":{write}}}}}"#
        );
        SessionCounts::Counted { cost, tokens }
    }
}

/// Writes a message or a part: its ids, its data, and the unknown columns.
fn write_data(row: &RowValues<'_>, ids: &[(&str, &str)], out: &mut String) {
    let mut told: BTreeSet<String> = ids.iter().map(|(_, column)| (*column).to_owned()).collect();
    told.extend(row_times(row).map(str::to_owned));
    let mut others = Members::default();
    let (mut names, mut data) = (Vec::new(), String::new());
    for (name, column) in ids {
        if let Some(value) = row.get(column) {
            others.note_bytes(name, value);
            names.push((*name, plain(value)));
        }
    }
    told.insert("data".to_owned());
    if let Some(value) = row.get("data") {
        others.note_bytes("data", value);
        data = plain(value);
    }
    others.put_others(row, &told);
    let names: Vec<(&str, &str)> = names.iter().map(|(name, id)| (*name, id.as_str())).collect();
    with_ids(&names, &data, others, out);
}

/// The columns of a row that are used only for sorting: `data` holds the times of the message.
fn row_times(row: &RowValues<'_>) -> impl Iterator<Item = &'static str> {
    let is_time = |column: &&str| matches!(row.get(column), Some(ValueRef::Integer(_)));
    ["time_created", "time_updated"].into_iter().filter(is_time)
}

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
    fn put(&mut self, name: &str, value: Option<ValueRef<'_>>, form: ColumnForm) {
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
