//! What can go wrong with a store.

use std::path::PathBuf;

/// Why a store or one of its sessions cannot be read.
#[derive(Debug)]
pub enum ArchiveError {
    /// A file or folder could not be read, or the copy not be made.
    Io(PathBuf, std::io::Error),
    /// It is an SQLite database, but the tables of OpenCode are not in it.
    NotOpencode(PathBuf),
    /// The database is damaged, or something in it is not as OpenCode writes it.
    Damaged(PathBuf, String),
    /// The store holds a table that is never read, such as a view; the text names the table.
    Refused(PathBuf, String),
    /// Another program went on writing to the database while it was copied.
    Busy(PathBuf),
}

impl std::fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArchiveError::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
            ArchiveError::NotOpencode(path) => {
                write!(f, "`{}` is a database, but not one of OpenCode", path.display())
            }
            ArchiveError::Damaged(path, why) => {
                write!(f, "`{}` is a damaged database: {why}", path.display())
            }
            ArchiveError::Refused(path, what) => write!(f, "`{}`: {what}", path.display()),
            ArchiveError::Busy(path) => {
                write!(f, "`{}` was written to again and again while it was copied", path.display())
            }
        }
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ArchiveError::Io(_, error) => Some(error),
            ArchiveError::NotOpencode(_)
            | ArchiveError::Damaged(..)
            | ArchiveError::Refused(..)
            | ArchiveError::Busy(_) => None,
        }
    }
}
