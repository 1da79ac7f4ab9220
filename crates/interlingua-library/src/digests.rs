//! SHA-256 digests of files, in hexadecimal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The digest of a file.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    of_bytes(File::open(path)?, |_| Ok(()))
}

/// The digest of an input, whose pieces are passed on to `each`.
pub(crate) fn of_bytes(
    mut input: impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
        each(&buffer[..read])?;
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes every write.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
