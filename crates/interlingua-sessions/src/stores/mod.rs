//! Sessions that an agent keeps in a database or in a tree of small files: each session is a separate input.
//!
//! Each session becomes one document like that of the agent's own export, generated while it is read. The database engine
//! never opens, locks or writes the user's files: it works on a copy in a folder that only the user can open, and the
//! folder is removed afterwards. Only the tables of sessions can be read, because the same database may hold credentials.

pub(crate) mod aider;
mod columns;
mod copy;
mod crush;
mod cursor;
mod document;
mod error;
mod goose;
mod opencode;
mod placing;
mod rows;
mod store;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use interlingua::dialects::Dialect;
use interlingua_report::safe;

pub use copy::is_database;
pub use error::ArchiveError;
pub use store::{SessionStore, StoreContents, StoredSession};

use crate::SourceError;

/// A session in a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionInput {
    /// The path of the store.
    pub store: PathBuf,
    /// The number of the session in the store, because ids may repeat.
    pub number: usize,
    session: StoredSession,
}

impl SessionInput {
    /// The name used in messages.
    pub fn name(&self) -> String {
        format!("{}, {}", safe::path_name(&self.store), safe::path_name(&self.session.id))
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// The dialect of the session's document.
    pub const fn dialect(&self) -> &'static Dialect {
        self.session.dialect()
    }

    /// Opens the session as one document.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        self.session.open().map_err(io::Error::other)
    }
}

/// The sessions of a store, and the errors of unreadable parts.
pub(crate) struct StoreInputs {
    pub(crate) sessions: Vec<SessionInput>,
    pub(crate) damage: Vec<SourceError>,
}

/// Whether a path named on the command line is a store.
pub fn is_store(path: &Path) -> bool {
    store_at(path).is_some()
}

/// The session that a path names below its store: `opencode.db/ses_…`, `sessions.db/20261118_1`.
pub(crate) fn session_at(path: &Path) -> Option<SessionInput> {
    let id = path.file_name()?.to_str()?;
    let parent = path.parent().filter(|parent| !path.exists() && parent.exists())?;
    let stored = sessions(parent, true)?.ok()?;
    stored.sessions.into_iter().find(|session| session.id() == id)
}

/// The store at a path. A pipe can be read only once, so only files and directories are opened.
fn store_at(path: &Path) -> Option<SessionStore> {
    (path.is_file() || path.is_dir()).then(|| SessionStore::at(path)).flatten()
}

/// The sessions of the store at a path; `None` if the path is not a store. A file found in a directory is opened only
/// if it has the extension of a database, so that most files are opened once.
pub(crate) fn sessions(path: &Path, named: bool) -> Option<Result<StoreInputs, SourceError>> {
    let is_called_so =
        |end: &OsStr| ["db", "sqlite", "sqlite3", "vscdb", "md"].iter().any(|usual| end == *usual);
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
