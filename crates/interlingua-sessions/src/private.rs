//! Folders for intermediate files that only the user can open. A folder is removed with its value, and all of them by
//! [`remove_private_folders`] where a process ends without dropping its values.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A folder for intermediate files that only the user can open.
#[derive(Debug)]
pub struct PrivateFolder {
    folder: tempfile::TempDir,
}

impl PrivateFolder {
    /// Makes a folder in the directory for temporary files.
    pub fn new() -> io::Result<Self> {
        let folder = registered(
            || {
                let mut builder = tempfile::Builder::new();
                #[cfg(unix)]
                builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
                builder.prefix("interlingua-").tempdir()
            },
            tempfile::TempDir::path,
        )?;
        Ok(Self { folder })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of the file with that number in the folder.
    pub fn numbered(&self, number: usize) -> PathBuf {
        self.path().join(number.to_string())
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        forget(self.path());
    }
}

/// All folders that exist now.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a folder and registers it in one step, so that [`remove_private_folders`] misses none.
pub(crate) fn registered<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<T> {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = make()?;
    folders.push(path(&new).to_owned());
    Ok(new)
}

/// Takes a folder that is about to be removed off the list.
pub(crate) fn forget(folder: &Path) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.retain(|known| known != folder);
}

/// Removes a folder that was made by [`registered`].
pub(crate) fn remove(folder: &Path) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.retain(|known| known != folder);
    // A folder that stays behind is no error of the caller.
    let _ = fs::remove_dir_all(folder);
}

/// Removes all private folders and copies of databases, for a process that is about to end without dropping its values. No
/// folder can be made after this: other threads that try wait until the process ends.
pub fn remove_private_folders() {
    let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    for folder in folders.iter() {
        // The process is ending; an error has no reader.
        let _ = fs::remove_dir_all(folder);
    }
    // The lock is never given back: the process is about to end.
    std::mem::forget(folders);
}
