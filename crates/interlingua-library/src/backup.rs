//! Copies of the sessions of all agents, before the agents delete them: Claude Code sweeps its sessions after thirty days.
//!
//! ```text
//! BACKUP/index.jsonl           a line for each state of a file: agent, path, SHA-256, size, time
//! BACKUP/objects/ab/abcd….gz   the bytes of a state, once for all equal states, packed with gzip
//! ```
//!
//! An object is written under a temporary name, read back, and renamed; its line in the index follows. A killed backup therefore
//! leaves no line without its object, and the next backup goes on.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use interlingua_report::safe;
use interlingua_sessions::places::{TEMPORARY_BEGIN, TEMPORARY_END};
use interlingua_sessions::{PrivateFolder, is_store};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::digests;
use crate::homes::{Environment, HOMES};

/// A backup of sessions in a folder.
#[derive(Debug)]
pub struct SessionBackup {
    folder: PathBuf,
    states: Vec<SavedState>,
    /// The lines of the index that could not be read.
    damaged: usize,
}

/// The state of a file at the time of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedState {
    /// The dialect of the log.
    pub agent: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The SHA-256 of its bytes.
    pub digest: String,
    /// Its size.
    pub bytes: u64,
    /// The time of the backup, in milliseconds since 1970.
    pub time: u64,
    /// The state of the file in the file system, by which a change is seen without reading.
    stamp: String,
}

/// The result of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Files whose state was saved.
    pub saved: u64,
    /// Files that did not change since the last backup.
    pub same: u64,
    /// The size of the saved states.
    pub bytes: u64,
    /// Files that could not be saved, and the reasons.
    pub failed: Vec<(PathBuf, String)>,
}

/// A backup that cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackupError {
    /// A file of the backup cannot be read or written.
    File(PathBuf, io::Error),
    /// No saved state fits the name.
    Unknown(String),
    /// The object of a state has other bytes than were saved.
    Damaged(PathBuf),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::File(path, error) => write!(f, "`{}`: {error}", safe::path_name(path)),
            BackupError::Unknown(name) => write!(f, "the backup has no session `{}`", safe::exact_line(name)),
            BackupError::Damaged(path) => {
                write!(f, "the saved bytes of `{}` are damaged", safe::path_name(path))
            }
        }
    }
}

impl std::error::Error for BackupError {}

impl SessionBackup {
    /// Opens the backup in a folder. A folder without an index is an empty backup.
    pub fn open(folder: &Path) -> Result<Self, BackupError> {
        let mut backup = Self { folder: folder.to_owned(), states: Vec::new(), damaged: 0 };
        let path = backup.index();
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(backup),
            opened => opened.map_err(|error| BackupError::File(path.clone(), error))?,
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| BackupError::File(path.clone(), error))?;
            match serde_json::from_slice(&line).ok().and_then(|line| SavedState::parse(&line)) {
                Some(state) => backup.states.push(state),
                // The last line of a killed backup.
                None => backup.damaged += 1,
            }
        }
        Ok(backup)
    }

    /// Every saved state, the oldest first.
    pub fn states(&self) -> &[SavedState] {
        &self.states
    }

    /// The number of lines of the index that could not be read.
    pub const fn damaged_lines(&self) -> usize {
        self.damaged
    }

    /// Saves the files of all agents that are new or have changed. `now` is the time in milliseconds since 1970.
    pub fn save(&mut self, environment: &Environment, now: u64) -> Result<BackupReport, BackupError> {
        let mut report = BackupReport::default();
        let known: HashMap<PathBuf, String> =
            self.states.iter().map(|state| (state.path.clone(), state.stamp.clone())).collect();
        for home in HOMES {
            for path in home.files(environment) {
                if path.is_dir() {
                    let reason =
                        "a tree of small files is not saved; export its sessions with the agent".to_owned();
                    report.failed.push((path, reason));
                    continue;
                }
                let Some(stamp) = crate::catalogue::stamp(&path) else { continue };
                if known.get(&path) == Some(&stamp) {
                    report.same += 1;
                    continue;
                }
                match self.save_file(home.dialect, &path, stamp, now) {
                    Ok(state) => {
                        report.saved += 1;
                        report.bytes += state.bytes;
                        self.states.push(state);
                    }
                    Err(BackupError::File(at, error)) if at.starts_with(&self.folder) => {
                        return Err(BackupError::File(at, error));
                    }
                    Err(error) => report.failed.push((path, error.to_string())),
                }
            }
        }
        Ok(report)
    }

    fn save_file(
        &self,
        agent: &str,
        path: &Path,
        stamp: String,
        time: u64,
    ) -> Result<SavedState, BackupError> {
        // A database that is in use is copied by the database itself.
        let folder = PrivateFolder::new().map_err(|error| BackupError::File(path.to_owned(), error))?;
        let copy = folder.numbered(1);
        let source = if is_store(path) {
            copy_database(path, &copy).map_err(|error| BackupError::File(path.to_owned(), error))?;
            &copy
        } else {
            path
        };
        let (digest, bytes) = self.write_object(source)?;
        let state = SavedState { agent: agent.to_owned(), path: path.to_owned(), digest, bytes, time, stamp };
        let line = format!("{}\n", state.to_json());
        let index = self.index();
        let failed = |error| BackupError::File(index.clone(), error);
        let mut file = File::options().append(true).create(true).open(&index).map_err(failed)?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(state)
    }

    /// Packs the bytes of a file, and reads them back. Returns the digest and the size of the file.
    fn write_object(&self, source: &Path) -> Result<(String, u64), BackupError> {
        let objects = self.folder.join("objects");
        let failed = |error| BackupError::File(objects.clone(), error);
        fs::create_dir_all(&objects).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        let packed = builder.prefix(TEMPORARY_BEGIN).suffix(TEMPORARY_END).tempfile_in(&objects);
        let packed = packed.map_err(failed)?;
        let unread = |error| BackupError::File(source.to_owned(), error);
        let input = File::open(source).map_err(unread)?;
        let mut output = GzEncoder::new(packed.as_file(), Compression::default());
        let mut bytes = 0;
        let digest = digests::of_bytes(input, |piece| {
            bytes += piece.len() as u64;
            output.write_all(piece)
        });
        let digest = digest.map_err(unread)?;
        output.finish().and_then(File::sync_all).map_err(failed)?;
        let reread = File::open(packed.path()).map_err(failed)?;
        if digests::of_bytes(GzDecoder::new(reread), |_| Ok(())).map_err(failed)? != digest {
            return Err(BackupError::Damaged(source.to_owned()));
        }
        let object = self.object(&digest);
        if let Some(parent) = object.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        packed.persist(&object).map_err(|error| failed(error.error))?;
        Ok((digest, bytes))
    }

    /// The newest state of the session whose path contains a text.
    pub fn find(&self, name: &str) -> Result<&SavedState, BackupError> {
        let fits = |state: &&SavedState| state.path.to_string_lossy().contains(name);
        self.states.iter().rfind(fits).ok_or_else(|| BackupError::Unknown(name.to_owned()))
    }

    /// Writes the bytes of a state to a new file, after it has compared them with the digest.
    pub fn restore(&self, state: &SavedState, to: &Path) -> Result<(), BackupError> {
        let failed = |error| BackupError::File(to.to_owned(), error);
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        let file =
            builder.prefix(TEMPORARY_BEGIN).suffix(TEMPORARY_END).tempfile_in(parent).map_err(failed)?;
        self.unpack(state, |piece| file.as_file().write_all(piece))?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist_noclobber(to).map(drop).map_err(|error| failed(error.error))
    }

    /// The states whose bytes are missing or damaged.
    pub fn verify(&self) -> Vec<&SavedState> {
        let mut sound = HashSet::new();
        let is_damaged = |state: &&SavedState| {
            !sound.contains(&state.digest) && {
                let is_sound = self.unpack(state, |_| Ok(())).is_ok();
                if is_sound {
                    sound.insert(state.digest.clone());
                }
                !is_sound
            }
        };
        self.states.iter().filter(is_damaged).collect()
    }

    fn unpack(
        &self,
        state: &SavedState,
        write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), BackupError> {
        let object = self.object(&state.digest);
        let file = File::open(&object).map_err(|error| BackupError::File(object, error))?;
        match digests::of_bytes(GzDecoder::new(file), write) {
            Ok(digest) if digest == state.digest => Ok(()),
            _ => Err(BackupError::Damaged(state.path.clone())),
        }
    }

    fn index(&self) -> PathBuf {
        self.folder.join("index.jsonl")
    }

    fn object(&self, digest: &str) -> PathBuf {
        self.folder.join("objects").join(digest.get(..2).unwrap_or("00")).join(format!("{digest}.gz"))
    }
}

impl SavedState {
    fn parse(line: &Value) -> Option<Self> {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let digest = text("sha256")
            .filter(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        Some(Self {
            agent: text("agent")?,
            path: text("path")?.into(),
            digest,
            bytes: line["bytes"].as_u64()?,
            time: line["time"].as_u64()?,
            stamp: text("stamp")?,
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "agent": self.agent, "path": self.path.to_string_lossy(), "sha256": self.digest, "bytes": self.bytes,
            "time": self.time, "stamp": self.stamp,
        })
    }
}

/// A consistent copy of a database that another program may be writing.
fn copy_database(from: &Path, to: &Path) -> io::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags).map_err(io::Error::other)?;
    let copied = connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]);
    copied.map(drop).map_err(io::Error::other)
}
