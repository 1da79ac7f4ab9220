//! A store at a path, its sessions, and their documents.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlingua::dialects::{Dialect, agents};

use super::aider::{self, HistorySession};
use super::copy::{self, DatabaseCopy};
use super::error::ArchiveError;
use super::opencode::tree::{self, TreeSession};
use super::rows::{RowReader, Table};
use super::{crush, cursor, goose, opencode};

/// A place where an agent stores sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    place: StorePlace,
}

#[derive(Clone, Debug)]
enum StorePlace {
    Database(PathBuf),
    Tree(PathBuf),
    /// A chat history of Aider.
    History(PathBuf),
}

/// One session in a store.
#[derive(Clone, Debug)]
pub struct StoredSession {
    /// The session's id.
    pub id: String,
    place: SessionPlace,
}

#[derive(Clone, Debug)]
enum SessionPlace {
    /// The catalogue of a database of OpenCode, and the session's number in it.
    Opencode(Arc<opencode::database::Catalogue>, usize),
    /// The catalogue of a database of Goose, and the session's number in it.
    Goose(Arc<goose::Catalogue>, usize),
    /// The catalogue of a database of Crush, and the session's number in it.
    Crush(Arc<crush::Catalogue>, usize),
    /// The catalogue of a database of Cursor's editor, and the session's number in it.
    Cursor(Arc<cursor::Catalogue>, usize),
    /// The tree, and the session's files in it.
    Tree(PathBuf, TreeSession),
    /// The chat history of Aider, and the session's place in it.
    History(PathBuf, HistorySession),
}

impl SessionStore {
    /// The store at a path, if there is one: a database, the folder of a tree, or a chat history.
    pub fn at(path: &Path) -> Option<Self> {
        let place = if tree::is_tree(path) {
            StorePlace::Tree(path.to_owned())
        } else if copy::is_database(path) {
            StorePlace::Database(path.to_owned())
        } else if aider::is_history(path) {
            StorePlace::History(path.to_owned())
        } else {
            return None;
        };
        Some(Self { place })
    }

    /// The path of the store.
    pub fn path(&self) -> &Path {
        match &self.place {
            StorePlace::Database(path) | StorePlace::Tree(path) | StorePlace::History(path) => path,
        }
    }

    /// The sessions, ordered by their start, and the errors of damaged parts: damaged rows do not hide the others.
    pub fn contents(&self) -> Result<StoreContents, ArchiveError> {
        match &self.place {
            StorePlace::Database(path) => of_database(&Arc::new(DatabaseCopy::of(path)?)),
            StorePlace::Tree(path) => {
                let found = tree::sessions(path)?;
                let stored = |session: TreeSession| StoredSession {
                    id: session.id.clone(),
                    place: SessionPlace::Tree(path.clone(), session),
                };
                Ok(StoreContents { sessions: found.into_iter().map(stored).collect(), damage: Vec::new() })
            }
            StorePlace::History(path) => {
                let stored = |session: HistorySession| StoredSession {
                    id: session.id.clone(),
                    place: SessionPlace::History(path.clone(), session),
                };
                let sessions = aider::sessions(path)?.into_iter().map(stored).collect();
                Ok(StoreContents { sessions, damage: Vec::new() })
            }
        }
    }
}

/// The sessions of a database: the tables show which agent wrote it.
fn of_database(copy: &Arc<DatabaseCopy>) -> Result<StoreContents, ArchiveError> {
    let mut refused = None;
    // A view with the name of one agent's table does not hide the tables of another agent.
    let mut open = |tables: &'static [&'static Table]| match RowReader::open(copy, tables) {
        Ok(reader) => Ok(Some(reader).filter(|reader| reader.has_required(tables))),
        Err(error @ ArchiveError::Refused(..)) => {
            refused.get_or_insert(error);
            Ok(None)
        }
        Err(error) => Err(error),
    };
    if let Some(reader) = open(opencode::database::TABLES)? {
        let (catalogue, damage) = opencode::database::Catalogue::of(Arc::clone(copy), &reader)?;
        let catalogue = Arc::new(catalogue);
        let place = |number| SessionPlace::Opencode(Arc::clone(&catalogue), number);
        return Ok(StoreContents { sessions: stored(catalogue.ids(), place), damage });
    }
    if let Some(reader) = open(goose::TABLES)? {
        let (catalogue, damage) = goose::Catalogue::of(Arc::clone(copy), &reader)?;
        let catalogue = Arc::new(catalogue);
        let place = |number| SessionPlace::Goose(Arc::clone(&catalogue), number);
        return Ok(StoreContents { sessions: stored(catalogue.ids(), place), damage });
    }
    if let Some(reader) = open(crush::TABLES)? {
        let (catalogue, damage) = crush::Catalogue::of(Arc::clone(copy), &reader)?;
        let catalogue = Arc::new(catalogue);
        let place = |number| SessionPlace::Crush(Arc::clone(&catalogue), number);
        return Ok(StoreContents { sessions: stored(catalogue.ids(), place), damage });
    }
    if let Some(reader) = open(cursor::TABLES)? {
        let (catalogue, damage) = cursor::Catalogue::of(Arc::clone(copy), &reader)?;
        let catalogue = Arc::new(catalogue);
        let place = |number| SessionPlace::Cursor(Arc::clone(&catalogue), number);
        return Ok(StoreContents { sessions: stored(catalogue.ids(), place), damage });
    }
    Err(refused.unwrap_or_else(|| ArchiveError::NotStore(copy.original.clone())))
}

fn stored<'c>(
    ids: impl Iterator<Item = &'c str>,
    place: impl Fn(usize) -> SessionPlace,
) -> Vec<StoredSession> {
    ids.enumerate().map(|(number, id)| StoredSession { id: id.to_owned(), place: place(number) }).collect()
}

/// The contents of a store.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreContents {
    /// The sessions. Ids may repeat.
    pub sessions: Vec<StoredSession>,
    /// The errors of damaged parts.
    pub damage: Vec<ArchiveError>,
}

impl StoredSession {
    /// The dialect of the session's document.
    pub const fn dialect(&self) -> &'static Dialect {
        match self.place {
            SessionPlace::Opencode(..) | SessionPlace::Tree(..) => &agents::opencode::DIALECT,
            SessionPlace::Goose(..) => &agents::goose::DIALECT,
            SessionPlace::Crush(..) => &agents::crush::DIALECT,
            SessionPlace::Cursor(..) => &agents::cursor_db::DIALECT,
            SessionPlace::History(..) => &agents::aider::DIALECT,
        }
    }

    /// Opens the session as one document. The document is generated while it is read: memory holds one message at a
    /// time.
    pub fn open(&self) -> Result<Box<dyn Read>, ArchiveError> {
        Ok(match &self.place {
            SessionPlace::Opencode(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Goose(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Crush(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Cursor(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Tree(root, session) => Box::new(tree::read(root, session)?),
            SessionPlace::History(path, session) => Box::new(aider::read(path, session)?),
        })
    }
}
