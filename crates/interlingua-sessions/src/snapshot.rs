//! A copy of an input as it was at one moment. An agent may go on writing its log, or write it anew, while a command reads the
//! log more than once; all readings of a snapshot have the same bytes.
//!
//! The copy is a temporary file without a name, so that nothing stays of it, however the process ends.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use interlingua::tape::{Limits, TapeBuf};

use crate::SourceError;
use crate::sources::InputPlace;

/// A copy of an input. [`InputPlace::snapshot`] makes it.
#[derive(Clone, Debug)]
pub struct SnapshotInput {
    /// The input that was copied.
    pub(crate) origin: Box<InputPlace>,
    copy: Arc<Mutex<File>>,
    bytes: u64,
    /// The bytes of a last line without an end, which are left out.
    open_line: u64,
}

/// A last line whose end was not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenLine {
    /// The line is read.
    Kept,
    /// The line is left out, unless it is a complete JSON value.
    LeftOut,
}

impl SnapshotInput {
    pub(crate) fn of(origin: InputPlace, open_line: OpenLine) -> Result<Self, SourceError> {
        // An input that cannot be read has an error of its own.
        drop(origin.bytes()?);
        let name = origin.name();
        Self::copied(origin, open_line).map_err(|error| {
            let text = format!("no temporary copy can be made: {error}");
            SourceError::Read(name, io::Error::other(text))
        })
    }

    fn copied(origin: InputPlace, open_line: OpenLine) -> io::Result<Self> {
        let mut copy = tempfile::tempfile()?;
        let mut bytes = 0;
        for _ in 0..ATTEMPTS {
            let before = Version::of(&origin);
            copy.set_len(0)?;
            copy.rewind()?;
            // A log may grow faster than it is copied.
            let most = before.as_ref().map_or(u64::MAX, |version| version.bytes);
            let input = origin.bytes().map_err(io::Error::other)?;
            bytes = io::copy(&mut input.take(most), &mut copy)?;
            // A log in lines only grows. Other files are written anew, perhaps while they were copied.
            if before == Version::of(&origin) || begins_with_json_line(&mut copy, bytes)? {
                break;
            }
        }
        let open_line = match open_line {
            OpenLine::LeftOut if begins_with_json_line(&mut copy, bytes)? => {
                let tail = after_last_line(&mut copy, bytes)?;
                if tail.trim_ascii().is_empty() || is_json(&tail) { 0 } else { tail.len() as u64 }
            }
            OpenLine::LeftOut | OpenLine::Kept => 0,
        };
        let bytes = bytes - open_line;
        Ok(Self { origin: Box::new(origin), copy: Arc::new(Mutex::new(copy)), bytes, open_line })
    }

    /// The number of bytes of a last line without an end, which are left out.
    pub const fn open_line(&self) -> u64 {
        self.open_line
    }

    /// Opens the copy. Each reader has a position of its own.
    pub(crate) fn open(&self) -> SnapshotReader {
        SnapshotReader { copy: Arc::clone(&self.copy), at: 0, end: self.bytes }
    }
}

/// How often a file that changes while it is copied is copied again.
const ATTEMPTS: usize = 5;

/// The properties of a file that change with a write.
#[derive(PartialEq)]
struct Version {
    bytes: u64,
    time: Option<SystemTime>,
}

impl Version {
    /// `None` for an input that is not a file of its own.
    fn of(origin: &InputPlace) -> Option<Self> {
        let InputPlace::File(path) = origin else { return None };
        let meta = fs::metadata(path).ok()?;
        Some(Self { bytes: meta.len(), time: meta.modified().ok() })
    }
}

/// The longest first line, and the longest last one, that are looked at.
const LONGEST_LINE: u64 = 64 << 20;

/// Whether the first line is a complete JSON value, as in a log in lines.
fn begins_with_json_line(copy: &mut File, bytes: u64) -> io::Result<bool> {
    copy.rewind()?;
    let mut line = Vec::new();
    let mut reader = io::BufReader::new(copy.take(bytes.min(LONGEST_LINE)));
    io::BufRead::read_until(&mut reader, b'\n', &mut line)?;
    Ok(line.ends_with(b"\n") && is_json(&line))
}

/// The bytes after the last line break; none if the last line is too long.
fn after_last_line(copy: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut step = 64 << 10;
    loop {
        let from = bytes.saturating_sub(step);
        copy.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        copy.take(bytes - from).read_to_end(&mut tail)?;
        if let Some(at) = memchr::memrchr(b'\n', &tail) {
            return Ok(tail.split_off(at + 1));
        }
        if from == 0 || step >= LONGEST_LINE {
            return Ok(Vec::new());
        }
        step *= 8;
    }
}

fn is_json(line: &[u8]) -> bool {
    let text = str::from_utf8(line.trim_ascii());
    text.is_ok_and(|text| TapeBuf::default().parse(text, &Limits::default()).is_ok())
}

/// Reads a snapshot.
pub(crate) struct SnapshotReader {
    copy: Arc<Mutex<File>>,
    at: u64,
    end: u64,
}

impl Read for SnapshotReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        copy.seek(SeekFrom::Start(self.at))?;
        let read = copy.by_ref().take(self.end.saturating_sub(self.at)).read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn snapshot(text: &str, open_line: OpenLine) -> (SnapshotInput, tempfile::NamedTempFile) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        (SnapshotInput::of(InputPlace::File(file.path().to_owned()), open_line).expect("a copy"), file)
    }

    fn text(snapshot: &SnapshotInput) -> String {
        let mut text = String::new();
        snapshot.open().read_to_string(&mut text).expect("a text");
        text
    }

    #[test]
    fn a_snapshot_has_the_same_bytes_whatever_happens_to_the_file() {
        let (snapshot, mut file) = snapshot("{\"a\":1}\n", OpenLine::LeftOut);
        file.write_all(b"{\"b\":2}\n").expect("appended");
        assert_eq!((text(&snapshot), text(&snapshot)), ("{\"a\":1}\n".into(), "{\"a\":1}\n".into()));
        fs::write(file.path(), "other").expect("written anew");
        drop(file);
        assert_eq!(text(&snapshot), "{\"a\":1}\n");
    }

    #[test]
    fn readers_of_a_snapshot_have_positions_of_their_own() {
        let (snapshot, _file) = snapshot("[1]\n[2]\n", OpenLine::LeftOut);
        let (mut one, mut two) = (snapshot.open(), snapshot.open());
        let mut bytes = [0; 4];
        one.read_exact(&mut bytes).expect("four bytes");
        two.read_exact(&mut bytes).expect("four bytes");
        assert_eq!(&bytes, b"[1]\n");
        one.read_exact(&mut bytes).expect("four bytes");
        assert_eq!(&bytes, b"[2]\n");
    }

    #[test]
    fn a_line_without_an_end_is_left_out_of_a_log_in_lines() {
        let long = format!("{{\"a\":1}}\n{{\"b\":\"{}", "x".repeat(200_000));
        for (log, kept) in [
            ("{\"a\":1}\n{\"b\":", "{\"a\":1}\n"),
            ("{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}"),
            ("{\"a\":1}\n  ", "{\"a\":1}\n  "),
            ("{\"a\":1}", "{\"a\":1}"),
            ("{\"a\":", "{\"a\":"),
            // Documents and texts have no lines of their own.
            ("{\n  \"a\": 1\n}", "{\n  \"a\": 1\n}"),
            ("# aider chat\n\n#### hi", "# aider chat\n\n#### hi"),
            (&long, "{\"a\":1}\n"),
            ("", ""),
        ] {
            let (left_out, _file) = snapshot(log, OpenLine::LeftOut);
            assert_eq!(text(&left_out), kept);
            assert_eq!(left_out.open_line(), (log.len() - kept.len()) as u64);
            let (whole, _file) = snapshot(log, OpenLine::Kept);
            assert_eq!((text(&whole).as_str(), whole.open_line()), (log, 0));
        }
    }
}
