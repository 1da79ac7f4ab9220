//! Logs to measure: real logs from `INTERLINGUA_CORPUS`, and generated logs with pieces of about 1 KB.
//!
//! A corpus may hold any files. Unreadable files are counted, files that are not logs are skipped, and a line that a
//! baseline cannot parse is left out for all contestants.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Role};
use interlingua::sniff::{HEAD, sniff};
use interlingua_testing::generate::logs::LogShape;

use crate::baseline::can_read;

/// A log in which all contestants can parse every line.
#[derive(Debug, Default)]
pub struct Log {
    /// A description of the log.
    pub name: String,
    /// The documents, each with the whitespace after it.
    pub text: String,
    /// The end of each document.
    ends: Vec<usize>,
    /// Lines that a baseline cannot parse.
    left_out: usize,
}

/// The logs that were found, by dialect.
#[derive(Debug, Default)]
pub struct Corpus {
    logs: Vec<(&'static str, usize, Log)>,
    /// Files that are not logs: of another program, empty, or damaged from the beginning.
    others: usize,
    /// Files and folders that cannot be read.
    unreadable: usize,
    /// Logs beyond the size limit.
    too_many: usize,
}

/// The size limit per dialect; a folder with years of sessions would take too long to measure.
const MOST: usize = 64 << 20;

impl Corpus {
    /// Searches the folder in `INTERLINGUA_CORPUS`, if it is set.
    pub fn find() -> Self {
        let mut corpus = Self::default();
        let Some(root) = std::env::var_os("INTERLINGUA_CORPUS").map(PathBuf::from) else { return corpus };
        // Use whole sessions if the corpus stores them apart from captures of single calls.
        let logs = root.join("logs");
        for path in files(if logs.is_dir() { &logs } else { &root }, &mut corpus.unreadable) {
            if corpus.add(&path).is_none() {
                corpus.unreadable += 1;
            }
        }
        corpus
    }

    /// Adds a file if it is a log; `None` if it cannot be read.
    fn add(&mut self, path: &Path) -> Option<()> {
        let mut file = File::open(path).ok()?;
        let mut bytes = Vec::new();
        file.by_ref().take(HEAD as u64).read_to_end(&mut bytes).ok()?;
        let complete = bytes.len() < HEAD;
        let guess = sniff(&bytes, complete).filter(|guess| guess.role == Role::Log);
        let Some(guess) = guess.filter(|guess| REAL_LOGS.contains(&guess.dialect.name)) else {
            self.others += 1;
            return Some(());
        };
        let name = guess.dialect.name;
        let known = self.logs.iter().position(|(known, ..)| *known == name);
        let at = known.unwrap_or_else(|| {
            self.logs.push((name, 0, Log::default()));
            self.logs.len() - 1
        });
        let (_, count, log) = &mut self.logs[at];
        if log.text.len() > MOST {
            self.too_many += 1;
            return Some(());
        }
        file.read_to_end(&mut bytes).ok()?;
        log.add(&bytes);
        *count += 1;
        Some(())
    }

    /// The number of files in the folder that are not measured, if there is a folder.
    pub fn left_out(&self) -> Option<String> {
        let Self { logs: _, others, unreadable, too_many } = self;
        std::env::var_os("INTERLINGUA_CORPUS")?;
        Some(format!(
            "Not measured in the corpus: {others} files that are no log we know, {unreadable} that cannot be read, \
             {too_many} logs after the first {} MB.",
            MOST >> 20
        ))
    }

    /// The real log of a dialect, if there is one.
    pub fn take(&mut self, dialect: &Dialect) -> Option<Log> {
        let at = self.logs.iter().position(|(name, ..)| *name == dialect.name)?;
        let (_, count, log) = self.logs.swap_remove(at);
        (!log.text.is_empty()).then(|| {
            log.named(&if count == 1 { "a real log".to_owned() } else { format!("{count} real logs") })
        })
    }
}

/// The dialects whose real logs are measured; their logs hold a document per line.
pub const REAL_LOGS: [&str; 2] = ["claude-code", "codex"];

impl Log {
    /// A generated log of this many pieces.
    pub fn generated(shape: &LogShape, pieces: u64) -> Self {
        let mut log = Self::default();
        for document in shape.documents(pieces) {
            assert!(can_read(&document), "{}: everyone reads what is made up", shape.name());
            log.push(&document);
        }
        log.named("a generated log")
    }

    /// The documents of the log.
    pub fn documents(&self) -> Vec<&str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end]).collect()
    }

    fn push(&mut self, document: &str) {
        self.text.push_str(document);
        self.ends.push(self.text.len());
    }

    /// Adds the lines that all contestants can parse. Blank lines are not documents.
    fn add(&mut self, bytes: &[u8]) {
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match std::str::from_utf8(line).ok().filter(|line| can_read(line)) {
                Some(line) => self.push(&format!("{line}\n")),
                None => self.left_out += 1,
            }
        }
    }

    fn named(self, what: &str) -> Self {
        let (size, lines) = (self.text.len() as f64, self.ends.len());
        let each = size / 1e3 / lines.max(1) as f64;
        let mut name = format!("{what}, {:.1} MB, {lines} documents of {each:.1} KB", size / 1e6);
        if self.left_out > 0 {
            name += &format!("; {} lines that a baseline cannot read are left out", self.left_out);
        }
        Self { name, ..self }
    }
}

/// All files under a folder. Links are not followed, because they may form a cycle.
fn files(root: &Path, unreadable: &mut usize) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            *unreadable += 1;
            continue;
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                Ok(_) => {}
                Err(_) => *unreadable += 1,
            }
        }
    }
    files.sort();
    files
}
