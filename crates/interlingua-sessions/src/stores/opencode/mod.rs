//! Sessions that agents do not store in separate files, converted to documents that the core reads.
//!
//! OpenCode keeps sessions in a database, and before that in a tree of small files. Each session in either form becomes
//! one document like that of `opencode export`, generated while it is read. The database engine never opens, locks or
//! writes the user's files: it works on a copy in a folder that only the user can open, and the folder is removed
//! afterwards. The same database holds credentials, so only five tables can be read.
//!
//! ```text
//! opencode.db, -wal --copy--> rows  \
//!                                    > { info, project, messages: [ { info, parts } … ], todo }  -> the core
//! storage/session|message|part ---> files /
//! ```

pub(crate) mod copy;
pub(crate) mod database;
pub(crate) mod document;
mod error;
pub(crate) mod rows;
mod tree;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copy::DatabaseCopy;
use database::Catalogue;
pub use error::ArchiveError;
use interlingua::dialects::Dialect;
use interlingua::dialects::agents::{cursor_db, opencode};
use rows::{RowReader, Table};
use tree::TreeSession;

use super::cursor::CursorCatalogue;

/// A place where an agent stores sessions: OpenCode, or the editor of Cursor.
#[derive(Clone, Debug)]
pub struct SessionStore {
    place: StorePlace,
}

#[derive(Clone, Debug)]
enum StorePlace {
    Database(PathBuf),
    Tree(PathBuf),
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
    /// The catalogue of the database, and the session's number in it.
    Database(Arc<Catalogue>, usize),
    /// The catalogue of Cursor's database, and the session's number in it.
    Cursor(Arc<CursorCatalogue>, usize),
    /// The tree, and the session's files in it.
    Tree(PathBuf, TreeSession),
}

impl SessionStore {
    /// The store at a path, if there is one: a database, or the folder of a tree.
    pub fn at(path: &Path) -> Option<Self> {
        let place = if tree::is_tree(path) {
            StorePlace::Tree(path.to_owned())
        } else if copy::is_database(path) {
            StorePlace::Database(path.to_owned())
        } else {
            return None;
        };
        Some(Self { place })
    }

    /// The path of the store.
    pub fn path(&self) -> &Path {
        match &self.place {
            StorePlace::Database(path) | StorePlace::Tree(path) => path,
        }
    }

    /// The sessions, ordered by their start, and the errors of damaged parts: damaged rows do not hide the others.
    pub fn contents(&self) -> Result<StoreContents, ArchiveError> {
        match &self.place {
            StorePlace::Database(path) => {
                let copy = Arc::new(DatabaseCopy::of(path)?);
                let reader = RowReader::open(&copy)?;
                if reader.has(Table::CursorDiskKv) {
                    let (catalogue, damage) = CursorCatalogue::of(copy, &reader)?;
                    let catalogue = Arc::new(catalogue);
                    let stored = |(number, id): (usize, &str)| StoredSession {
                        id: id.to_owned(),
                        place: SessionPlace::Cursor(Arc::clone(&catalogue), number),
                    };
                    let sessions = catalogue.ids().enumerate().map(stored).collect();
                    return Ok(StoreContents { sessions, damage });
                }
                let (catalogue, damage) = Catalogue::of(copy, &reader)?;
                let catalogue = Arc::new(catalogue);
                let stored = |(number, id): (usize, &str)| StoredSession {
                    id: id.to_owned(),
                    place: SessionPlace::Database(Arc::clone(&catalogue), number),
                };
                Ok(StoreContents { sessions: catalogue.ids().enumerate().map(stored).collect(), damage })
            }
            StorePlace::Tree(path) => {
                let found = tree::sessions(path)?;
                let stored = |session: TreeSession| StoredSession {
                    id: session.id.clone(),
                    place: SessionPlace::Tree(path.clone(), session),
                };
                Ok(StoreContents { sessions: found.into_iter().map(stored).collect(), damage: Vec::new() })
            }
        }
    }
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
    /// The dialect of the document.
    pub fn dialect(&self) -> &'static Dialect {
        match &self.place {
            SessionPlace::Database(..) | SessionPlace::Tree(..) => &opencode::DIALECT,
            SessionPlace::Cursor(..) => &cursor_db::DIALECT,
        }
    }

    /// Opens the session as one document. The document is generated while it is read: memory holds one message at a
    /// time.
    pub fn open(&self) -> Result<Box<dyn Read>, ArchiveError> {
        Ok(match &self.place {
            SessionPlace::Database(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Cursor(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Tree(root, session) => Box::new(tree::read(root, session)?),
        })
    }
}
