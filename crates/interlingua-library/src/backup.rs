//! Copies of the sessions of all agents, before the agents delete them: Claude Code sweeps its sessions after thirty days.
//!
//! ```text
//! BACKUP/index.jsonl           a line for each state of a file: agent, path, SHA-256, size, time
//! BACKUP/objects/ab/abcd….gz   the bytes of a state, once for all equal states, packed with gzip
//! ```
//!
//! An object is written under a temporary name, read back, and renamed; its line in the index follows. A killed backup therefore
//! leaves no line without its object, and the next backup goes on: it removes a line without an end, and temporary files. Of a tree
//! of small files, such as OpenCode's older `storage`, each file is saved.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use interlingua_report::safe;
use interlingua_sessions::places::{TEMPORARY_BEGIN, TEMPORARY_END};
use interlingua_sessions::{PrivateFolder, is_database};
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
    /// The length of the index up to the end of its last line.
    sound_length: u64,
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
    /// Several sessions fit the name: their names.
    Several(String, Vec<String>),
    /// The object of a state has other bytes than were saved.
    Damaged(PathBuf),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::File(path, error) => write!(f, "`{}`: {error}", safe::path_name(path)),
            BackupError::Unknown(name) => write!(f, "the backup has no session `{}`", safe::exact_line(name)),
            BackupError::Several(name, found) => {
                write!(f, "the backup has {} sessions `{}`:", found.len(), safe::exact_line(name))?;
                found.iter().take(5).try_for_each(|found| write!(f, " {}", safe::exact_line(found)))
            }
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
        let folder = folder.to_owned();
        let mut backup = Self { folder, states: Vec::new(), damaged: 0, sound_length: 0 };
        let path = backup.index();
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(backup),
            opened => opened.map_err(|error| BackupError::File(path.clone(), error))?,
        };
        let mut lines = BufReader::new(file);
        loop {
            let mut line = Vec::new();
            let read = lines.read_until(b'\n', &mut line);
            read.map_err(|error| BackupError::File(path.clone(), error))?;
            // A line without an end was written by a killed backup, and its object is saved again.
            let Some(whole) = line.strip_suffix(b"\n") else { return Ok(backup) };
            backup.sound_length += line.len() as u64;
            match serde_json::from_slice(whole).ok().and_then(|line| SavedState::parse(&line)) {
                Some(state) => backup.states.push(state),
                None => backup.damaged += 1,
            }
        }
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
        self.heal()?;
        // A state without its object is saved again.
        let is_there = |state: &&SavedState| self.object(&state.digest).is_file();
        let known: HashMap<PathBuf, String> = { self.states.iter().filter(is_there) }
            .map(|state| (state.path.clone(), state.stamp.clone()))
            .collect();
        for home in HOMES {
            for path in home.saved_files(environment) {
                let mut unread = Vec::new();
                let mut files = Vec::new();
                each_file(&path, &mut files, &mut unread);
                report.failed.extend(unread);
                let mut saved = Vec::new();
                for path in files {
                    let Some(stamp) = crate::catalogue::stamp(&path) else { continue };
                    if known.get(&path) == Some(&stamp) {
                        report.same += 1;
                        continue;
                    }
                    match self.save_file(home.dialect, &path, stamp, now) {
                        Ok(state) => {
                            report.saved += 1;
                            report.bytes += state.bytes;
                            saved.push(state);
                        }
                        Err(BackupError::File(at, error)) if at.starts_with(&self.folder) => {
                            return Err(BackupError::File(at, error));
                        }
                        Err(error) => report.failed.push((path, error.to_string())),
                    }
                }
                self.append(saved)?;
            }
        }
        Ok(report)
    }

    /// Removes the traces of a killed backup: a line of the index without its end, and old temporary files.
    fn heal(&mut self) -> Result<(), BackupError> {
        let index = self.index();
        let failed = |error| BackupError::File(index.clone(), error);
        let length = index.metadata().map_or(0, |meta| meta.len());
        if length > self.sound_length {
            let text = fs::read(&index).map_err(failed)?;
            // Another backup may have written whole lines meanwhile.
            if !text.ends_with(b"\n") {
                let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
                let file = File::options().write(true).open(&index).map_err(failed)?;
                file.set_len(end).and_then(|()| file.sync_all()).map_err(failed)?;
            }
        }
        let Ok(entries) = fs::read_dir(self.folder.join("objects")) else { return Ok(()) };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_temporary = name.starts_with(TEMPORARY_BEGIN) && name.ends_with(TEMPORARY_END);
            let age = || path.metadata().ok()?.modified().ok()?.elapsed().ok();
            if is_temporary && age().is_some_and(|age| age > OLD) {
                // The next backup tries again.
                let _ = fs::remove_file(&path);
            }
        }
        Ok(())
    }

    /// Saves the bytes of a file.
    fn save_file(
        &self,
        agent: &str,
        path: &Path,
        stamp: String,
        time: u64,
    ) -> Result<SavedState, BackupError> {
        let unread = |error| BackupError::File(path.to_owned(), error);
        let (digest, bytes) = if is_database(path) {
            // A database that is in use is copied by the database itself.
            let folder = PrivateFolder::new().map_err(unread)?;
            let copy = folder.numbered(1);
            copy_database(path, &copy).map_err(unread)?;
            self.write_object(&copy)?
        } else {
            self.write_object(path)?
        };
        Ok(SavedState { agent: agent.to_owned(), path: path.to_owned(), digest, bytes, time, stamp })
    }

    /// Adds the lines of saved states to the index, after their objects.
    fn append(&mut self, saved: Vec<SavedState>) -> Result<(), BackupError> {
        if saved.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = saved.iter().map(|state| state.to_json().to_string()).collect();
        let lines = lines.join("\n") + "\n";
        let index = self.index();
        let failed = |error| BackupError::File(index.clone(), error);
        let mut file = File::options().append(true).create(true).open(&index).map_err(failed)?;
        file.write_all(lines.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        self.sound_length = file.metadata().map_err(failed)?.len();
        self.states.extend(saved);
        Ok(())
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
        let (mut bytes, mut is_written) = (0, true);
        let digest = digests::of_bytes(input, |piece| {
            bytes += piece.len() as u64;
            output.write_all(piece).inspect_err(|_| is_written = false)
        });
        let digest = digest.map_err(|error| if is_written { unread(error) } else { failed(error) })?;
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

    /// All states of the files of one session, by a part of its path, such as its id; the oldest first.
    pub fn states_of(&self, name: &str) -> Result<Vec<&SavedState>, BackupError> {
        let paths: HashSet<&Path> = self.find(name, u64::MAX)?.iter().map(|state| &*state.path).collect();
        Ok(self.states.iter().filter(|state| paths.contains(&*state.path)).collect())
    }

    /// The newest states of the files of one session up to a time in milliseconds since 1970, by a part of its path, such as its
    /// id.
    pub fn find(&self, name: &str, until: u64) -> Result<Vec<&SavedState>, BackupError> {
        let mut newest: BTreeMap<&Path, &SavedState> = BTreeMap::new();
        for state in self.states.iter().filter(|state| state.time <= until) {
            newest.insert(&state.path, state);
        }
        let session = |path: &Path| session_part(path, name).map(str::to_owned);
        let names: BTreeSet<String> = newest.keys().filter_map(|path| session(path)).collect();
        match names.len() {
            0 => return Err(BackupError::Unknown(name.to_owned())),
            1 => {}
            _ => return Err(BackupError::Several(name.to_owned(), names.into_iter().collect())),
        }
        // In OpenCode's older tree the parts of a message are in a folder with the id of the message.
        let mut ids: BTreeSet<String> = names;
        for path in newest.keys().filter(|path| session(path).is_some()) {
            ids.extend(stem(path).filter(|stem| stem.starts_with("msg_")).map(str::to_owned));
        }
        let is_of_session = |path: &Path| {
            session(path).is_some() || path.parent().and_then(stem).is_some_and(|folder| ids.contains(folder))
        };
        Ok(newest.into_iter().filter(|(path, _)| is_of_session(path)).map(|(_, state)| state).collect())
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

    /// Packs the bytes of damaged states again whose files are as they were saved. Returns the other states.
    pub fn mend(&self, damaged: Vec<SavedState>) -> Result<Vec<SavedState>, BackupError> {
        let mut others = Vec::new();
        for state in damaged {
            let is_same = crate::catalogue::stamp(&state.path).is_some_and(|stamp| stamp == state.stamp);
            let is_mended = is_same && {
                let saved = self.save_file(&state.agent, &state.path, state.stamp.clone(), state.time)?;
                saved.digest == state.digest
            };
            if !is_mended {
                others.push(state);
            }
        }
        Ok(others)
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

/// The age of temporary files that no running backup has.
const OLD: Duration = Duration::from_secs(3600);

/// The name of a path's last part, up to its first dot.
fn stem(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.split('.').next()
}

/// The part of a path that names the session: the last one with the text, up to its first dot. A text with a separator is compared
/// with the whole path; then the session is the part where the text begins.
fn session_part<'p>(path: &'p Path, name: &str) -> Option<&'p str> {
    let contains = |part: &&Path| part.file_name().is_some_and(|part| part.to_string_lossy().contains(name));
    if let Some(part) = path.ancestors().find(contains) {
        return stem(part);
    }
    let text = path.to_str()?;
    let at = text.find(name)?;
    let begin = text.get(..at)?.rfind('/').map_or(0, |slash| slash + 1);
    text.get(begin..)?.split(['/', '.']).find(|part| !part.is_empty())
}

/// The files of a path: the file itself, or all files of a tree. Links are not followed.
fn each_file(path: &Path, files: &mut Vec<PathBuf>, unread: &mut Vec<(PathBuf, String)>) {
    if !path.is_dir() {
        return files.push(path.to_owned());
    }
    match fs::read_dir(path) {
        Ok(entries) => {
            let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            paths.iter().filter(|path| !path.is_symlink()).for_each(|path| each_file(path, files, unread));
        }
        Err(error) => unread.push((path.to_owned(), error.to_string())),
    }
}

/// A consistent copy of a database that another program may be writing.
fn copy_database(from: &Path, to: &Path) -> io::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags).map_err(io::Error::other)?;
    let copied = connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]);
    copied.map(drop).map_err(io::Error::other)
}
