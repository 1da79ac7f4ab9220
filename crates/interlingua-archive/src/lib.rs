//! Sessions that agents do not keep in a file of their own, as documents that the core reads.
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
mod tree;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copy::DatabaseCopy;
pub use copy::remove_copies;
pub use error::ArchiveError;

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
    Database(Arc<DatabaseCopy>),
    /// The tree, and the session's own file, if there is one.
    Tree(PathBuf, Option<PathBuf>),
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

    /// Its sessions, in the order in which they began.
    pub fn sessions(&self) -> Result<Vec<StoredSession>, ArchiveError> {
        match &self.place {
            StorePlace::Database(path) => {
                let copy = Arc::new(DatabaseCopy::of(path)?);
                let ids = database::sessions(&copy)?;
                let stored = |id| StoredSession { id, place: SessionPlace::Database(Arc::clone(&copy)) };
                Ok(ids.into_iter().map(stored).collect())
            }
            StorePlace::Tree(path) => {
                let found = tree::sessions(path)?;
                let stored = |(id, file)| StoredSession { id, place: SessionPlace::Tree(path.clone(), file) };
                Ok(found.into_iter().map(stored).collect())
            }
        }
    }
}

impl StoredSession {
    /// Reads it as one document. What is read is made as it is asked for: memory holds a message at a time.
    pub fn open(&self) -> Result<Box<dyn Read>, ArchiveError> {
        Ok(match &self.place {
            SessionPlace::Database(copy) => Box::new(database::read(copy, &self.id)?),
            SessionPlace::Tree(root, file) => Box::new(tree::read(root, file.as_deref(), &self.id)?),
        })
    }
}
