//! The store of correct outputs in the build directory. A file is named after the digests of its row, so
//! the store can hold the outputs of several commits.

use std::path::{Path, PathBuf};

use crate::Conversion;
use crate::table::Row;

/// Stores an output unless the store holds it.
pub fn keep(conversion: &Conversion) {
    let path = path(&conversion.row);
    if !path.exists() {
        std::fs::create_dir_all(folder()).expect("creatable");
        std::fs::write(path, &conversion.text).expect("writable");
    }
}

/// The stored report and output of a row.
pub fn find(row: &Row) -> Option<Vec<u8>> {
    std::fs::read(path(row)).ok()
}

fn path(row: &Row) -> PathBuf {
    folder().join(format!("{}-{}.txt", row.output(), row.report()))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden")
}
