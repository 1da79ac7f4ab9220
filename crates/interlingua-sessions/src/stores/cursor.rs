//! The database of Cursor's editor, read from a copy: one table of keys and values. Each composer becomes one document with its
//! bubbles in the order in which Cursor shows them; every other row of the composer is in the document unchanged.
//!
//! ```text
//! composerData:<composer>        \
//! bubbleId:<composer>:<bubble>    >  { composer, bubbles: [ … ], rows: [ { key, value } … ] }  -> the core
//! <anything>:<composer>[:…]      /
//! ```
//!
//! The same file has a table of settings with the user's tokens; only the table of keys and values can be read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use interlingua::tape::{Limits, TapeBuf};

use super::columns::{plain, write_row};
use super::copy::DatabaseCopy;
use super::document::{Members, PieceReader, with_ids};
use super::error::ArchiveError;
use super::rows::{RowReader, RowValues, Table};

/// The tables of Cursor's editor.
pub(crate) static TABLES: &[&Table] = &[VALUES];

const VALUES: &Table = &Table { name: "cursorDiskKV", needed: &["key", "value"], is_required: true };

/// The rows of each session.
#[derive(Debug)]
pub(crate) struct Catalogue {
    copy: Arc<DatabaseCopy>,
    sessions: Vec<ComposerRows>,
}

/// The rows of one composer, by row number.
#[derive(Debug, Default)]
struct ComposerRows {
    id: String,
    /// `None` if other rows name a composer that has no row.
    row: Option<i64>,
    /// The bubbles with their ids.
    bubbles: Vec<(String, i64)>,
    /// All other rows.
    others: Vec<i64>,
}

const COMPOSER: &str = "composerData";
const BUBBLE: &str = "bubbleId";

impl Catalogue {
    /// Finds the rows of all composers. Also returns the error of a table that cannot be read to its end.
    pub(crate) fn of(
        copy: Arc<DatabaseCopy>,
        reader: &RowReader,
    ) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        let scan = reader.scan(VALUES, ["key"]);
        let mut sessions: BTreeMap<String, ComposerRows> = BTreeMap::new();
        let mut others = Vec::new();
        for (number, [key]) in scan.rows {
            // A key that is no text, and a key without an id, belong to no composer.
            let Some(key) = key.and_then(|key| String::from_utf8(key).ok()) else { continue };
            let Some((sort, rest)) = key.split_once(':') else { continue };
            let (id, bubble) = rest.split_once(':').map_or((rest, None), |(id, bubble)| (id, Some(bubble)));
            match (sort, bubble) {
                (COMPOSER, None) => {
                    let session = sessions.entry(id.to_owned()).or_default();
                    match session.row {
                        None => session.row = Some(number),
                        Some(_) => session.others.push(number),
                    }
                }
                (BUBBLE, Some(bubble)) => {
                    let bubble = (bubble.to_owned(), number);
                    sessions.entry(id.to_owned()).or_default().bubbles.push(bubble);
                }
                _ => others.push((id.to_owned(), number)),
            }
        }
        for (id, number) in others {
            if let Some(session) = sessions.get_mut(&id) {
                session.others.push(number);
            }
        }
        let named = |(id, session): (String, ComposerRows)| ComposerRows { id, ..session };
        let mut sessions: Vec<ComposerRows> = sessions.into_iter().map(named).collect();
        // A new value gets a new row number, so the session that was written last is the last.
        sessions.sort_by_key(|session| session.row);
        match scan.damage {
            Some(damage) if sessions.is_empty() => Err(damage),
            damage => Ok((Self { copy, sessions }, damage.into_iter().collect())),
        }
    }

    /// The ids of the composers.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(|session| session.id.as_str())
    }

    /// Reads a session, by its number, as a document.
    pub(crate) fn read(self: &Arc<Self>, number: usize) -> Result<impl io::Read + use<>, ArchiveError> {
        let reader = RowReader::open(&self.copy, TABLES)?;
        let catalogue = Arc::clone(self);
        let empty = ComposerRows::default();
        let session = catalogue.sessions.get(number).unwrap_or(&empty);
        let mut composer = String::new();
        match session.row {
            Some(row) => reader.row(VALUES, row, |row| {
                write_value(row, "composerId", &session.id, &mut composer);
            })?,
            None => with_ids(&[("composerId", &session.id)], "{}", Members::default(), &mut composer),
        }
        let (bubbles, unlisted) = in_order(&composer, &session.bubbles);
        let mut head = Some(format!("{{\"composer\":{composer},\"bubbles\":["));
        let rows: Vec<i64> = unlisted.into_iter().chain(session.others.iter().copied()).collect();
        let (mut bubbles, mut rows) = (bubbles.into_iter().enumerate(), rows.into_iter().enumerate());
        let mut has_ended = false;
        Ok(PieceReader::new(move |out: &mut String| {
            if let Some(head) = head.take() {
                *out = head;
                return Ok(true);
            }
            if let Some((at, (id, row))) = bubbles.next() {
                out.push_str(if at > 0 { "," } else { "" });
                let written = reader.row(VALUES, row, |row| write_value(row, "bubbleId", &id, out));
                written.map_err(io::Error::other)?;
                return Ok(true);
            }
            if let Some((at, row)) = rows.next() {
                out.push_str(if at > 0 { "," } else { "],\"rows\":[" });
                let written = reader.row(VALUES, row, |row| write_row(row, ["key"], &[], out));
                written.map_err(io::Error::other)?;
                return Ok(true);
            }
            if std::mem::replace(&mut has_ended, true) {
                return Ok(false);
            }
            out.push_str("]}\n");
            Ok(true)
        }))
    }
}

/// The bubbles in the order of the composer's headers, and the rows of bubbles that no header names: Cursor does not show
/// them. Without headers, the bubbles are in the order of their rows.
fn in_order(composer: &str, bubbles: &[(String, i64)]) -> (Vec<(String, i64)>, Vec<i64>) {
    let mut tape = TapeBuf::default();
    let parsed = tape.parse(composer, &Limits::default()).ok();
    let headers = parsed.as_ref().and_then(|tape| tape.root().get("fullConversationHeadersOnly"));
    let ids: Vec<String> = headers
        .into_iter()
        .flat_map(|headers| headers.elements())
        .filter_map(|header| Some(header.get("bubbleId")?.str()?.decode().into_owned()))
        .collect();
    if ids.is_empty() {
        return (bubbles.to_vec(), Vec::new());
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, id) in ids.iter().enumerate() {
        places.entry(id).or_insert(at);
    }
    let mut taken = BTreeSet::new();
    let (mut listed, mut unlisted) = (Vec::new(), Vec::new());
    for (id, row) in bubbles {
        match places.get(id.as_str()) {
            Some(at) if taken.insert(*at) => listed.push((*at, id.clone(), *row)),
            _ => unlisted.push(*row),
        }
    }
    listed.sort();
    (listed.into_iter().map(|(_, id, row)| (id, row)).collect(), unlisted)
}

/// Writes the value of a row as an object with its id, and the unknown columns.
fn write_value(row: &RowValues<'_>, name: &str, id: &str, out: &mut String) {
    let mut others = Members::default();
    let mut json = String::new();
    if let Some(value) = row.get("value") {
        others.note_bytes("value", value);
        json = plain(value);
    }
    let told = ["key", "value"].map(str::to_owned).into_iter().collect();
    others.put_others(row, &told);
    with_ids(&[(name, id)], &json, others, out);
}
