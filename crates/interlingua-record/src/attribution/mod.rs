//! File attribution: the lines of files that agents wrote, from the edit, write and patch calls of their sessions.
//!
//! ```text
//! bytes -> EditReader (events -> edits of successful calls) -> SessionEdits
//! SessionEdits, base contents -> replay -> remembered lines with their contributor
//! remembered lines, current contents -> locate -> FileLines: ranges, hashes, contributors
//! ```
//!
//! A line is attributed only if the current file has the line of a successful call. Every other line is unknown: no line
//! is attributed to a person. Paths of logs are data: this module opens no file.

mod align;
mod edits;
mod export;
mod locate;
mod patches;
mod paths;
mod replay;

pub use edits::{EditReader, FileChange, FileEdit, SessionEdits};
pub use export::{AttributionProfile, IntoRecordError, agent_trace, into_record, to_json};
pub use paths::repository_path;

use sha2::{Digest as _, Sha256};

/// The contributor of lines: a session, and the model that wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LineContributor {
    /// The number of the session in the list of sessions, from 0.
    pub session: usize,
    /// The model, if the log names it.
    pub model: Option<String>,
}

/// Consecutive lines of one contributor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineRange {
    /// The first line, from 1.
    pub start: u64,
    /// The last line.
    pub end: u64,
    /// The contributor.
    pub contributor: LineContributor,
    /// SHA-256 of the lines, each with a newline.
    pub hash: String,
}

/// The attributed lines of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileLines {
    /// The path in the repository, with `/` between its parts.
    pub path: String,
    /// The number of lines of the file; `None` if there is no such file.
    pub lines: Option<u64>,
    /// The attributed ranges, in the order of the file.
    pub ranges: Vec<LineRange>,
    /// The number of written lines that the file does not have, or not at a certain place.
    pub missing: u64,
}

/// The attribution of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributed {
    /// The files, sorted by path.
    pub files: Vec<FileLines>,
    /// The number of edits of files outside the repository.
    pub outside: u64,
}

/// The contents of files, as far as the caller has them.
pub trait FileContents {
    /// The content before the session, at the given commit if the log names it.
    fn before(&mut self, path: &str, commit: Option<&str>) -> Option<String>;

    /// The current content; `None` if there is no such file.
    fn current(&mut self, path: &str) -> Option<String>;
}

/// No contents: the remembered state after the last session is the current content of files that a session wrote whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContents;

impl FileContents for NoContents {
    fn before(&mut self, _: &str, _: Option<&str>) -> Option<String> {
        None
    }

    fn current(&mut self, _: &str) -> Option<String> {
        None
    }
}

/// Attributes the lines of files to the sessions, which are in the order of their time. `root` is the absolute path of the
/// repository, if there is one.
pub fn attribute(
    sessions: &[SessionEdits],
    root: Option<&str>,
    contents: &mut dyn FileContents,
) -> Attributed {
    let (files, outside) = replay::replay(sessions, root, contents);
    let files = files.into_iter().map(|(path, file)| {
        let current = match root {
            Some(_) => contents.current(&path),
            None => file.whole_text(),
        };
        locate::locate(path, &file, current.as_deref())
    });
    let files = files.filter(|file| file.missing > 0 || !file.ranges.is_empty()).collect();
    Attributed { files, outside }
}

/// The lines of a text without their line ends.
fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// SHA-256 of lines, each with a newline, in hexadecimal digits.
fn hash_of<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
}
