//! Places of files: whether two paths lead to the same file, the file behind stdin, and the names of incomplete outputs.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that a path leads to, under any of its names, or the place where a new file would be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilePlace {
    /// A file that exists.
    #[cfg(unix)]
    Existing {
        /// The number of its device.
        device: u64,
        /// Its number on the device.
        inode: u64,
    },
    /// A path, with the links above it resolved.
    Named(PathBuf),
}

impl FilePlace {
    /// The place that a path leads to.
    pub fn of(path: &Path) -> Self {
        #[cfg(unix)]
        if let Ok(meta) = fs::metadata(path) {
            use std::os::unix::fs::MetadataExt as _;
            return FilePlace::Existing { device: meta.dev(), inode: meta.ino() };
        }
        if let Ok(real) = fs::canonicalize(path) {
            return FilePlace::Named(real);
        }
        // Also where a link leads to that leads to nothing yet.
        let path = &followed(path).ok().flatten().unwrap_or_else(|| path.to_owned());
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")));
        FilePlace::Named(match (parent, path.file_name()) {
            (Ok(parent), Some(name)) => parent.join(name),
            _ => path.to_owned(),
        })
    }
}

/// Whether two paths lead to the same thing, also through links.
pub fn same_place(one: &Path, other: &Path) -> bool {
    FilePlace::of(one) == FilePlace::of(other)
}

/// The path that a link leads to, whether or not a file is there; the path itself if it is no link. `None` for a link to an
/// open file, such as `/dev/stdout`: an open file has no name.
pub fn followed(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else { return Ok(Some(path)) };
        let parent = path.parent().unwrap_or(Path::new(""));
        if fs::canonicalize(parent).is_ok_and(|real| real.starts_with("/proc") && real.ends_with("fd")) {
            return Ok(None);
        }
        // An absolute link takes the place of the whole path.
        path = parent.join(next);
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// The regular file behind stdin.
pub fn stdin_file() -> Option<&'static Path> {
    regular_file("/dev/stdin")
}

/// The path, if it leads to a regular file.
pub fn regular_file(path: &'static str) -> Option<&'static Path> {
    fs::metadata(path).is_ok_and(|meta| meta.is_file()).then_some(Path::new(path))
}

/// The beginning of the name of an incomplete output.
pub const TEMPORARY_BEGIN: &str = ".interlingua-";
/// The end of the name of an incomplete output.
pub const TEMPORARY_END: &str = ".tmp";

/// Whether a file has the name of an incomplete output, which a killed run left behind.
pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with(TEMPORARY_BEGIN) && name.ends_with(TEMPORARY_END)
}
