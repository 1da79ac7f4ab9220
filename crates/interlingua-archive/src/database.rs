//! The database of OpenCode, read from a copy. An authorizer lets five tables be read and nothing else happen.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::ArchiveError;
use crate::copy::DatabaseCopy;
use crate::document::{PieceReader, compact, member, text, with_ids};

/// The tables that are ever read. Credentials and secrets of shares stand in others.
const TABLES: [&str; 5] = ["project", "session", "message", "part", "todo"];

/// The ids of all sessions, in the order in which they began.
pub(crate) fn sessions(copy: &DatabaseCopy) -> Result<Vec<String>, ArchiveError> {
    let database = open(copy)?;
    let damaged = |error: rusqlite::Error| damaged(copy, &error);
    for table in ["session", "message", "part"] {
        if columns(&database, table).map_err(damaged)?.is_empty() {
            return Err(ArchiveError::NotOpencode(copy.original.clone()));
        }
    }
    let mut query = database.prepare("SELECT id FROM session ORDER BY time_created, id").map_err(damaged)?;
    let ids = query.query_map([], |row| row.get(0)).map_err(damaged)?;
    ids.collect::<Result<_, _>>().map_err(damaged)
}

/// Opens the copy. It is ours, so the engine may put its files beside it.
fn open(copy: &DatabaseCopy) -> Result<Connection, ArchiveError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(copy.path(), flags).map_err(|error| damaged(copy, &error))?;
    database.authorizer(Some(permit));
    Ok(database)
}

/// Whether a statement may do that.
fn permit(context: AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        AuthAction::Select => true,
        AuthAction::Read { table_name, .. } => TABLES.contains(&table_name),
        AuthAction::Pragma { pragma_name: "table_info", pragma_value } => {
            pragma_value.is_some_and(|table| TABLES.contains(&table))
        }
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn damaged(copy: &DatabaseCopy, error: &rusqlite::Error) -> ArchiveError {
    ArchiveError::Damaged(copy.original.clone(), error.to_string())
}

/// The columns of a table: versions differ. Empty if there is none.
fn columns(database: &Connection, table: &'static str) -> rusqlite::Result<BTreeSet<String>> {
    let mut query = database.prepare(&format!("PRAGMA table_info({table})"))?;
    let names = query.query_map([], |row| row.get::<_, String>(1))?;
    names.collect()
}

/// Reads a session as a document.
pub(crate) fn read(copy: &Arc<DatabaseCopy>, id: &str) -> Result<impl io::Read + use<>, ArchiveError> {
    let database = open(copy)?;
    let fail = |error: rusqlite::Error| damaged(copy, &error);
    let mut head = String::new();
    write_head(&database, id, &mut head).map_err(fail)?;
    let mut query = database
        .prepare("SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id")
        .map_err(fail)?;
    let messages: Vec<String> =
        query.query_map([id], |row| row.get(0)).and_then(Iterator::collect).map_err(fail)?;
    drop(query);
    let (copy, id) = (Arc::clone(copy), id.to_owned());
    let (mut head, mut messages, mut begun, mut ended) = (Some(head), messages.into_iter(), false, false);
    Ok(PieceReader::new(move |out: &mut String| {
        // The copy must stay as long as it is read.
        let failed = |error: rusqlite::Error| io::Error::other(damaged(&copy, &error));
        if let Some(head) = head.take() {
            *out = head;
        } else if let Some(message) = messages.next() {
            if std::mem::replace(&mut begun, true) {
                out.push(',');
            }
            write_message(&database, &id, &message, out).map_err(failed)?;
        } else if !std::mem::replace(&mut ended, true) {
            write_tail(&database, &id, out).map_err(failed)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }))
}

/// A value of a column for a member of the document.
enum ColumnForm {
    /// A text or a number.
    Plain,
    /// A text that holds JSON.
    Json,
}

/// A member, and the column it stands in.
type Column = (&'static str, &'static str, ColumnForm);

/// The members that a session has beside its times.
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

/// Members that are objects of their own.
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

/// `{"info":…,"project":…,"messages":[`
fn write_head(database: &Connection, id: &str, out: &mut String) -> rusqlite::Result<()> {
    let known = columns(database, "session")?;
    let mut query = database.prepare("SELECT * FROM session WHERE id = ?1")?;
    let project = query.query_row([id], |row| {
        out.push_str("{\"info\":{");
        let mut first = true;
        for (name, column, form) in SESSION.iter().filter(|(_, column, _)| known.contains(*column)) {
            put(name, row.get_ref(*column)?, form, &mut first, out);
        }
        for (name, members) in &GROUPS {
            if *name == "time" {
                write_counts(row, &known, &mut first, out)?;
            }
            let mut group = String::new();
            let mut first_of_group = true;
            for (name, column, form) in members.iter().filter(|(_, column, _)| known.contains(*column)) {
                put(name, row.get_ref(*column)?, form, &mut first_of_group, &mut group);
            }
            if !group.is_empty() {
                member(name, &mut first, out);
                out.push('{');
                out.push_str(&group);
                out.push('}');
            }
        }
        out.push('}');
        row.get::<_, Option<String>>("project_id")
    })?;
    if let Some(project) = project {
        write_project(database, &project, out)?;
    }
    out.push_str(",\"messages\":[");
    Ok(())
}

/// What a session has cost and used, unless it was never counted: sessions older than these columns have zeros.
fn write_counts(
    row: &Row<'_>,
    known: &BTreeSet<String>,
    first: &mut bool,
    out: &mut String,
) -> rusqlite::Result<()> {
    const COUNTS: [&str; 6] = [
        "cost",
        "tokens_input",
        "tokens_output",
        "tokens_reasoning",
        "tokens_cache_read",
        "tokens_cache_write",
    ];
    if !COUNTS.iter().all(|column| known.contains(*column)) {
        return Ok(());
    }
    let mut counts = [const { String::new() }; COUNTS.len()];
    for (column, count) in COUNTS.iter().zip(&mut counts) {
        *count = match row.get_ref(*column)? {
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => return Ok(()),
        };
    }
    if counts.iter().any(|count| count != "0") {
        let [cost, input, output, reasoning, read, write] = counts;
        member("cost", first, out);
        out.push_str(&cost);
        member("tokens", first, out);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            r#"{{"input":{input},"output":{output},"reasoning":{reasoning},"cache":{{"read":{read},"write":{write}}}}}"#
        );
    }
    Ok(())
}

fn write_project(database: &Connection, id: &str, out: &mut String) -> rusqlite::Result<()> {
    let known = columns(database, "project")?;
    if !["id", "worktree", "vcs"].iter().all(|name| known.contains(*name)) {
        return Ok(());
    }
    let mut query = database.prepare("SELECT id, worktree, vcs FROM project WHERE id = ?1")?;
    let mut rows = query.query([id])?;
    if let Some(row) = rows.next()? {
        out.push_str(",\"project\":{");
        let mut first = true;
        for name in ["id", "worktree", "vcs"] {
            put(name, row.get_ref(name)?, &ColumnForm::Plain, &mut first, out);
        }
        out.push('}');
    }
    Ok(())
}

/// `{"info":…,"parts":[…]}`
fn write_message(database: &Connection, session: &str, id: &str, out: &mut String) -> rusqlite::Result<()> {
    let mut message = database.prepare_cached("SELECT data FROM message WHERE id = ?1")?;
    let data: String = message.query_row([id], |row| row.get(0))?;
    out.push_str("{\"info\":");
    with_ids(&[("id", id), ("sessionID", session)], &data, out);
    out.push_str(",\"parts\":[");
    let mut parts = database.prepare_cached("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")?;
    let mut rows = parts.query([id])?;
    let mut first = true;
    while let Some(row) = rows.next()? {
        if !std::mem::replace(&mut first, false) {
            out.push(',');
        }
        let (part, data): (String, String) = (row.get(0)?, row.get(1)?);
        with_ids(&[("id", &part), ("sessionID", session), ("messageID", id)], &data, out);
    }
    out.push_str("]}");
    Ok(())
}

/// `],"todo":[…]}`
fn write_tail(database: &Connection, id: &str, out: &mut String) -> rusqlite::Result<()> {
    out.push(']');
    let known = columns(database, "todo")?;
    if ["content", "status", "priority", "position"].iter().all(|name| known.contains(*name)) {
        let mut query = database
            .prepare("SELECT content, status, priority FROM todo WHERE session_id = ?1 ORDER BY position")?;
        let mut rows = query.query([id])?;
        let mut begun = false;
        while let Some(row) = rows.next()? {
            out.push_str(if begun { "," } else { ",\"todo\":[" });
            begun = true;
            out.push('{');
            let mut first = true;
            for name in ["content", "status", "priority"] {
                put(name, row.get_ref(name)?, &ColumnForm::Plain, &mut first, out);
            }
            out.push('}');
        }
        if begun {
            out.push(']');
        }
    }
    out.push_str("}\n");
    Ok(())
}

/// Writes a member, unless the column is empty.
fn put(name: &str, value: ValueRef<'_>, form: &ColumnForm, first: &mut bool, out: &mut String) {
    let plain = match value {
        ValueRef::Null => return,
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    member(name, first, out);
    match (value, form) {
        (ValueRef::Integer(_) | ValueRef::Real(_), _) => out.push_str(&plain),
        (_, ColumnForm::Json) if is_json(&plain) => compact(&plain, out),
        (_, ColumnForm::Json | ColumnForm::Plain) => text(&plain, out),
    }
}

fn is_json(plain: &str) -> bool {
    interlingua::tape::TapeBuf::default().parse(plain, &interlingua::tape::Limits::default()).is_ok()
}
