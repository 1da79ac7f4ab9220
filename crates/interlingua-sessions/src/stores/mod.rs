//! Sessions that an agent keeps in a database or in a tree of small files: each is an input of its own. One module for each
//! agent with a store.

pub(crate) mod opencode;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use interlingua_report::safe;

use crate::{SessionStore, SourceError, StoreContents, StoredSession};

/// A session in a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionInput {
    /// The path of the store.
    pub store: PathBuf,
    /// Its number in the store: ids may be alike.
    pub number: usize,
    session: StoredSession,
}

impl SessionInput {
    /// The name in messages.
    pub fn name(&self) -> String {
        format!("{}, {}", safe::path_name(&self.store), safe::path_name(&self.session.id))
    }

    /// The id of the session.
    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// Opens the session as one document.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        self.session.open().map_err(io::Error::other)
    }
}

/// The sessions of a store, and what of it could not be read.
pub(crate) struct StoreInputs {
    pub(crate) sessions: Vec<SessionInput>,
    pub(crate) damage: Vec<SourceError>,
}

/// Whether a path is a store of sessions.
pub fn is_store(path: &Path) -> bool {
    store_at(path).is_some()
}

/// The store at that path. A pipe can be read only once and is never opened here.
fn store_at(path: &Path) -> Option<SessionStore> {
    (path.is_file() || path.is_dir()).then(|| SessionStore::at(path)).flatten()
}

/// The sessions of the store at that path; `None` if there is none. What was found on the way through a directory, and is
/// not called like a database, is not looked at: not every file there is opened twice.
pub(crate) fn sessions(path: &Path, named: bool) -> Option<Result<StoreInputs, SourceError>> {
    let is_called_so = |end: &OsStr| ["db", "sqlite", "sqlite3"].iter().any(|usual| end == *usual);
    let likely = named || path.is_dir() || path.extension().is_some_and(is_called_so);
    let store = likely.then(|| store_at(path)).flatten()?;
    let input = |(number, session)| SessionInput { store: path.to_owned(), number, session };
    match store.contents() {
        Ok(StoreContents { sessions, damage }) if sessions.is_empty() && damage.is_empty() => {
            Some(Err(SourceError::EmptyStore(safe::path_name(path))))
        }
        Err(error) => Some(Err(SourceError::Archive(error))),
        Ok(StoreContents { sessions, damage }) => Some(Ok(StoreInputs {
            sessions: sessions.into_iter().enumerate().map(input).collect(),
            damage: damage.into_iter().map(SourceError::Archive).collect(),
        })),
    }
}
