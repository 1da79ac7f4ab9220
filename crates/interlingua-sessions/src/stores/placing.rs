//! The rows of a database by session: a table of sessions, and tables whose rows name a session.

use std::collections::HashMap;

use super::columns::{Key, order, taken};
use super::error::ArchiveError;
use super::rows::{RowReader, Table};

/// A table whose rows name a session in the column `session_id`, and the column by whose time the rows are sorted.
pub(crate) type TableOfSessions = (&'static Table, &'static str);

/// The rows of one session, by row number. `N` is the number of tables beside that of the sessions.
#[derive(Debug)]
pub(crate) struct SessionRows<const N: usize> {
    pub(crate) id: String,
    /// `None` if other rows name a session that has no row.
    pub(crate) row: Option<i64>,
    pub(crate) tables: [Vec<i64>; N],
}

/// The id of the document for rows that name no session.
const NO_SESSION: &str = "rows-without-session";

/// Assigns all rows to sessions, in the order of their times; rows of one time are in the order of their numbers. Also returns
/// the errors: a damaged table, or a damaged part of a table, does not hide the others.
pub(crate) fn place<const N: usize>(
    reader: &RowReader,
    sessions: &'static Table,
    tables: [TableOfSessions; N],
) -> Result<(Vec<SessionRows<N>>, Vec<ArchiveError>), ArchiveError> {
    let mut damage = Vec::new();
    let mut placing = Placing { sessions: Vec::new(), by_id: HashMap::new() };
    placing.sessions(taken(reader.scan(sessions, ["created_at", "id"]), &mut damage));
    for (number, (table, time)) in tables.into_iter().enumerate() {
        placing.rows(number, taken(reader.scan(table, [time, "session_id"]), &mut damage));
    }
    if placing.sessions.is_empty()
        && let Some(first) = damage.pop()
    {
        return Err(first);
    }
    Ok((placing.sessions, damage))
}

struct Placing<const N: usize> {
    sessions: Vec<SessionRows<N>>,
    by_id: HashMap<Vec<u8>, usize>,
}

impl<const N: usize> Placing<N> {
    fn add(&mut self, id: &[u8], row: Option<i64>) -> usize {
        let id = String::from_utf8_lossy(id).into_owned();
        self.sessions.push(SessionRows { id, row, tables: [const { Vec::new() }; N] });
        self.sessions.len() - 1
    }

    fn sessions(&mut self, mut rows: Vec<(i64, [Key; 2])>) {
        rows.sort_by_cached_key(|(number, [time, id])| (order(time), time.clone(), id.clone(), *number));
        for (number, [_, id]) in rows {
            let id = id.unwrap_or_else(|| NO_SESSION.into());
            let at = self.add(&id, Some(number));
            self.by_id.entry(id).or_insert(at);
        }
    }

    fn rows(&mut self, table: usize, mut rows: Vec<(i64, [Key; 2])>) {
        rows.sort_by_cached_key(|(number, [time, _])| (order(time), *number));
        for (row, [_, id]) in rows {
            let id = id.unwrap_or_else(|| NO_SESSION.into());
            let known = self.by_id.get(&id).copied();
            let at = known.unwrap_or_else(|| {
                let at = self.add(&id, None);
                self.by_id.insert(id, at);
                at
            });
            if let Some(rows) = self.sessions.get_mut(at).and_then(|session| session.tables.get_mut(table)) {
                rows.push(row);
            }
        }
    }
}
