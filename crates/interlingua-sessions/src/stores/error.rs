//! Errors of reading a store.

use std::path::{Path, PathBuf};

/// A store or a session in it that cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ArchiveError {
    /// A file or folder could not be read, or the copy failed.
    Io(PathBuf, std::io::Error),
    /// An SQLite database without the tables of an agent.
    NotStore(PathBuf),
    /// The database is damaged, or a value differs from the format that the agent writes.
    Damaged(PathBuf, String),
    /// The store holds a table that is never read, such as a view; the text names the table.
    Refused(PathBuf, String),
    /// Another program kept writing to the database during the copy.
    Busy(PathBuf),
}

impl ArchiveError {
    /// The message, with paths formatted by `name`.
    pub fn with_path(&self, name: impl Fn(&Path) -> String) -> String {
        match self {
            ArchiveError::Io(path, error) => format!("`{}`: {error}", name(path)),
            ArchiveError::NotStore(path) => {
                format!("`{}` is a database, but not one of OpenCode, Goose, Crush or Cursor", name(path))
            }
            ArchiveError::Damaged(path, why) => format!("`{}` is a damaged database: {why}", name(path)),
            ArchiveError::Refused(path, what) => format!("`{}`: {what}", name(path)),
            ArchiveError::Busy(path) => {
                format!("`{}` was written to again and again while it was copied", name(path))
            }
        }
    }
}

impl std::fmt::Display for ArchiveError {
    #[expect(clippy::disallowed_methods, reason = "callers that show the path to people use `with_path`")]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.with_path(|path| path.display().to_string()))
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ArchiveError::Io(_, error) => Some(error),
            ArchiveError::NotStore(_)
            | ArchiveError::Damaged(..)
            | ArchiveError::Refused(..)
            | ArchiveError::Busy(_) => None,
        }
    }
}
