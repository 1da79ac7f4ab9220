//! The files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below `dir` with one of these extensions, sorted, so that failures come in the same order on every
/// machine.
pub(crate) fn files(dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("the directory can be listed") {
            let path = entry.expect("the directory can be listed").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| extensions.iter().any(|known| found == *known)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
