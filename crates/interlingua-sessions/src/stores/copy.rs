//! Copies a database with its write-ahead log or its rollback journal into a folder that only the user can open. SQLite
//! creates files next to a database that it opens and locks the database, so it never opens the user's own.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use super::error::ArchiveError;
use crate::private;

/// A copy of a database. The folder is removed when the copy is dropped.
#[derive(Debug)]
pub(crate) struct DatabaseCopy {
    folder: PathBuf,
    /// The path of the original database, for messages.
    pub(crate) original: PathBuf,
}

/// The first bytes of an SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether a file is an SQLite database.
pub fn is_database(path: &Path) -> bool {
    let mut begin = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *MAGIC
}

impl DatabaseCopy {
    /// Copies a database that may be in use: if it changes during the copy, the copy is repeated.
    pub(crate) fn of(original: &Path) -> Result<Self, ArchiveError> {
        let folder = private_folder().map_err(|error| ArchiveError::Io(std::env::temp_dir(), error))?;
        let copy = Self { folder, original: original.to_owned() };
        let failed = |error| ArchiveError::Io(original.to_owned(), error);
        let versions = || ["", "-wal", "-journal"].map(|ending| Version::of(&beside(original, ending)));
        for _ in 0..ATTEMPTS {
            let before = versions();
            fs::copy(original, copy.path()).map_err(failed)?;
            for (ending, version) in ["-wal", "-journal"].into_iter().zip(&before[1..]) {
                let to = beside(&copy.path(), ending);
                // Remove the copy of an earlier attempt.
                let _ = fs::remove_file(&to);
                if version.is_some() {
                    match fs::copy(beside(original, ending), &to) {
                        // The file was removed in the meantime, so the versions differ and the next attempt copies the
                        // current files.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        copied => _ = copied.map_err(failed)?,
                    }
                }
            }
            if before == versions() {
                return Ok(copy);
            }
        }
        Err(ArchiveError::Busy(original.to_owned()))
    }

    /// The size of the copy in bytes, including its log.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
        size(&self.path()) + size(&beside(&self.path(), "-wal"))
    }

    /// The path of the copy.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("copy.db")
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        private::remove(&self.folder);
    }
}

/// How often a database may change while it is copied.
const ATTEMPTS: usize = 5;

/// The properties of a file that change with a write.
#[derive(PartialEq)]
struct Version {
    bytes: u64,
    time: Option<SystemTime>,
    /// The write-ahead log restarts with new salt values in these bytes.
    begin: [u8; 32],
}

impl Version {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        let mut begin = [0; 32];
        // A shorter file leaves `begin` zeroed.
        let _ = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
        Some(Self { bytes: meta.len(), time: meta.modified().ok(), begin })
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Creates a folder that only the user can open.
fn private_folder() -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("interlingua-{}-{number}-{since:x}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    private::registered(|| builder.create(&path).map(|()| path.clone()), PathBuf::as_path)
}
