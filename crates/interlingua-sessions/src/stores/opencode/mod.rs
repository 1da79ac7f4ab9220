//! Sessions of OpenCode, as documents that the core reads.
//!
//! OpenCode keeps sessions in a database, and before that in a tree of small files. Either becomes, session by session, one
//! document like that of `opencode export`, produced while it is read. Nothing of the user's is ever written, locked or
//! opened by the database engine: it works on a copy in a folder that only the user can open, and that is removed.
//! Credentials live in the same database; only five tables can be read at all.
//!
//! ```text
//! opencode.db, -wal --copy--> rows  \
//!                                    > { info, project, messages: [ { info, parts } … ], todo }  -> the core
//! storage/session|message|part ---> files /
//! ```

mod copy;
mod database;
mod document;
mod error;
mod rows;
mod tree;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copy::DatabaseCopy;
use database::Catalogue;
pub use error::ArchiveError;
use tree::TreeSession;

/// A place where OpenCode keeps sessions.
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
    /// Its id.
    pub id: String,
    place: SessionPlace,
}

#[derive(Clone, Debug)]
enum SessionPlace {
    /// Where its rows are, and its number there.
    Database(Arc<Catalogue>, usize),
    /// The tree, and the session's files in it.
    Tree(PathBuf, TreeSession),
}

impl SessionStore {
    /// The store at that path, if there is one: a database, or the folder of a tree.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        match &self.place {
            StorePlace::Database(path) | StorePlace::Tree(path) => path,
        }
    }

    /// Its sessions, in the order in which they began, and what of the store could not be read: rows that are damaged do not
    /// hide the others.
    pub fn contents(&self) -> Result<StoreContents, ArchiveError> {
        match &self.place {
            StorePlace::Database(path) => {
                let (catalogue, damage) = Catalogue::of(Arc::new(DatabaseCopy::of(path)?))?;
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
    /// The sessions. Two may have one id.
    pub sessions: Vec<StoredSession>,
    /// What could not be read.
    pub damage: Vec<ArchiveError>,
}

impl StoredSession {
    /// Reads it as one document. What is read is made as it is asked for: memory holds a message at a time.
    pub fn open(&self) -> Result<Box<dyn Read>, ArchiveError> {
        Ok(match &self.place {
            SessionPlace::Database(catalogue, number) => Box::new(catalogue.read(*number)?),
            SessionPlace::Tree(root, session) => Box::new(tree::read(root, session)?),
        })
    }
}
