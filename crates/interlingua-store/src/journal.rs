//! The journal of a recorder beside an SQLite file: finished calls that are not in the database yet.
//!
//! ```text
//! store.db-calls/OWNER.lock          locked while the process with this journal lives
//! store.db-calls/OWNER-NUMBER.calls  a segment: a head, then entries
//! ```
//!
//! A call is appended with one `write`, so that it survives the end of the process. The writer thread transfers whole
//! segments into the database and deletes them. A transfer can be repeated, because the database leaves out exchanges that
//! it has. So a process may transfer the segments of another process, too, but only the owner deletes them while it lives.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::entry;
use crate::exchange::{StoredExchange, random_name};
use crate::queue::lock;

/// The start of a segment, with the version of the form of its entries.
const SEGMENT_HEAD: &[u8] = b"interlingua-calls 1\n";

const LOCK: &str = "lock";
const SEGMENT: &str = "calls";

/// The attempts to create a journal while another process deletes the empty folder.
const MOST_TRIES: u32 = 100;

/// The journal of this process.
pub(crate) struct Journal {
    folder: PathBuf,
    owner: String,
    /// The lock ends with the file.
    lock: File,
    state: Mutex<JournalState>,
    /// The bytes that are not transferred.
    backlog: AtomicU64,
}

#[derive(Default)]
struct JournalState {
    open: Option<Segment>,
    /// Segments that get no more entries.
    sealed: Vec<Segment>,
    /// The number of segments so far.
    number: u64,
    is_closed: bool,
}

/// A segment of this process's journal.
pub(crate) struct Segment {
    file: File,
    path: PathBuf,
    /// The bytes with whole entries.
    length: u64,
    /// The end of the entries that are in the database.
    pub(crate) transferred: u64,
}

/// The result of an attempt to append a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The call survives the end of the process. The call is the first call of its segment.
    First,
    /// The call survives the end of the process.
    Later,
    /// The journal does not take the call: it is closed, its files cannot be written, or the call is too large.
    Not,
}

impl Journal {
    /// Creates a journal for the database at this path.
    pub(crate) fn create(database: &Path) -> io::Result<Self> {
        let folder = folder(database);
        let mut tries = 0;
        loop {
            tries += 1;
            let owner = random_name();
            match create_lock(&folder, &owner) {
                Ok(Some(lock)) => {
                    return Ok(Self {
                        folder,
                        owner,
                        lock,
                        state: Mutex::default(),
                        backlog: AtomicU64::new(0),
                    });
                }
                // Another process deleted the empty folder, or took the new lock first.
                Ok(None) if tries < MOST_TRIES => {}
                Err(error) if error.kind() == ErrorKind::NotFound && tries < MOST_TRIES => {}
                Ok(None) => return Err(io::Error::other("the journal was deleted again and again")),
                Err(error) => return Err(error),
            }
        }
    }

    /// The other journals of the same database.
    pub(crate) fn others(&self) -> OtherJournals {
        OtherJournals { folder: self.folder.clone(), own: Some(self.owner.clone()) }
    }

    /// Appends a call.
    pub(crate) fn append(&self, exchange: &StoredExchange) -> Appended {
        let mut entry = Vec::new();
        if !entry::append(exchange, &mut entry) {
            return Appended::Not;
        }
        let mut state = lock(&self.state);
        if state.is_closed {
            return Appended::Not;
        }
        let mut appended = Appended::Later;
        let mut segment = match state.open.take() {
            Some(segment) => segment,
            None => match self.next_segment(&mut state) {
                Ok(segment) => {
                    appended = Appended::First;
                    segment
                }
                Err(_) => return Appended::Not,
            },
        };
        if segment.file.write_all(&entry).is_err() {
            // A part of the entry may be in the file. The next call gets a new segment.
            let _ = segment.file.set_len(segment.length);
            state.sealed.push(segment);
            return Appended::Not;
        }
        segment.length += entry.len() as u64;
        self.backlog.fetch_add(entry.len() as u64, Ordering::Relaxed);
        state.open = Some(segment);
        appended
    }

    fn next_segment(&self, state: &mut JournalState) -> io::Result<Segment> {
        let path = self.folder.join(format!("{}-{:08}.{SEGMENT}", self.owner, state.number));
        state.number += 1;
        let mut file = private_file().read(true).open(&path)?;
        if let Err(error) = file.write_all(SEGMENT_HEAD) {
            drop(file);
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        let length = SEGMENT_HEAD.len() as u64;
        Ok(Segment { file, path, length, transferred: length })
    }

    /// The bytes that are not transferred.
    pub(crate) fn backlog(&self) -> u64 {
        self.backlog.load(Ordering::Relaxed)
    }

    /// The segments for the next transfer. Later calls get a new segment.
    pub(crate) fn seal(&self) -> Vec<Segment> {
        let mut state = lock(&self.state);
        let open = state.open.take();
        let mut sealed = std::mem::take(&mut state.sealed);
        sealed.extend(open);
        sealed
    }

    /// Takes no more calls.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
    }

    /// Deletes the lock after the last transfer, unless segments are left for the next process.
    pub(crate) fn end(&self) {
        if self.backlog() == 0 {
            let _ = std::fs::remove_file(self.folder.join(format!("{}.{LOCK}", self.owner)));
            // The folder stays while other journals are in it.
            let _ = std::fs::remove_dir(&self.folder);
        }
        let _ = self.lock.unlock();
    }

    /// Notes that this many more bytes of a segment are in the database.
    pub(crate) fn transferred(&self, bytes: u64) {
        self.backlog.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Segment {
    /// Reads the calls that are not in the database yet.
    pub(crate) fn reader(&self) -> io::Result<SegmentReader> {
        SegmentReader::new(self.file.try_clone()?, self.transferred, self.length)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes the segment, whose calls are all in the database.
    pub(crate) fn delete(self) {
        drop(self.file);
        // A segment that stays is transferred again by the next process, which changes nothing.
        let _ = std::fs::remove_file(self.path);
    }
}

/// Creates and locks the lock file of a new owner; `None` if another process took the owner for a dead one.
fn create_lock(folder: &Path, owner: &str) -> io::Result<Option<File>> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let path = folder.join(format!("{owner}.{LOCK}"));
    let lock = private_file().open(&path)?;
    lock.lock()?;
    // Before the lock, another process may have taken the owner for a dead one and deleted the file.
    Ok(path.try_exists()?.then_some(lock))
}

/// Options for a new file that only the user may read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The folder of the journals of a database.
fn folder(database: &Path) -> PathBuf {
    let mut folder = database.as_os_str().to_owned();
    folder.push("-calls");
    folder.into()
}

/// Reads the calls of a segment.
pub(crate) struct SegmentReader {
    input: BufReader<File>,
    /// The end of the last whole entry that was read.
    at: u64,
    end: u64,
    has_ended: bool,
}

/// The largest number and size of the calls that are read at once.
const BATCH: usize = 256;
const BATCH_BYTES: u64 = 4 << 20;

impl SegmentReader {
    fn new(mut file: File, at: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(at))?;
        Ok(Self { input: BufReader::with_capacity(64 << 10, file), at, end, has_ended: false })
    }

    /// The end of the last whole entry that was read.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// Sets the place for a later reader back to the start of a batch that was not stored.
    pub(crate) const fn go_back(&mut self, at: u64) {
        self.at = at;
        self.has_ended = true;
    }

    /// The bytes after the last whole entry, once all entries are read.
    pub(crate) const fn rest(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// The next calls, in order; none at the end of the segment and before an entry that is not whole.
    pub(crate) fn batch(&mut self) -> io::Result<Vec<StoredExchange>> {
        let mut batch = Vec::new();
        let start = self.at;
        while !self.has_ended && batch.len() < BATCH && self.at - start < BATCH_BYTES {
            match self.next()? {
                Some(exchange) => batch.push(exchange),
                None => self.has_ended = true,
            }
        }
        Ok(batch)
    }

    fn next(&mut self) -> io::Result<Option<StoredExchange>> {
        let left = self.rest();
        let mut head = [0; entry::HEAD];
        if left < head.len() as u64 {
            return Ok(None);
        }
        self.input.read_exact(&mut head)?;
        let (length, sum) = entry::head(head);
        let whole = head.len() as u64 + u64::from(length);
        // No entry is empty: a file that a power failure filled with zeros has no entries.
        if length == 0 || whole > left {
            return Ok(None);
        }
        let mut entry = vec![0; length as usize];
        self.input.read_exact(&mut entry)?;
        let exchange = entry::read(&Bytes::from(entry), sum);
        if exchange.is_some() {
            self.at += whole;
        }
        Ok(exchange)
    }
}

/// The journals of other processes with the same database.
pub(crate) struct OtherJournals {
    folder: PathBuf,
    /// The owner of this process's journal.
    own: Option<String>,
}

/// A segment of another process.
pub(crate) struct OtherSegment {
    pub(crate) path: PathBuf,
    owner: String,
}

impl OtherJournals {
    /// All journals of a database.
    pub(crate) fn of(database: &Path) -> Self {
        Self { folder: folder(database), own: None }
    }

    /// The segments of other processes, in the order of their calls.
    pub(crate) fn segments(&self) -> io::Result<Vec<OtherSegment>> {
        let mut segments = self.files(SEGMENT)?;
        segments.retain_mut(|segment| match segment.owner.rsplit_once('-') {
            Some((owner, _)) => {
                segment.owner = owner.to_owned();
                self.own.as_ref() != Some(&segment.owner)
            }
            None => false,
        });
        segments.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(segments)
    }

    /// Locks the journals of processes that have ended. Their segments may be deleted while the locks exist.
    pub(crate) fn lock_ended(&self) -> io::Result<EndedJournals> {
        // The locks are listed after the segments: each segment of a living process has a lock that is older.
        let mut segments = self.segments()?;
        let mut living = Vec::new();
        let mut locks = Vec::new();
        for OtherSegment { path, owner } in self.files(LOCK)? {
            if self.own.as_ref() == Some(&owner) {
                continue;
            }
            let file = match OpenOptions::new().write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match file.try_lock() {
                Ok(()) => locks.push((file, path)),
                Err(TryLockError::WouldBlock) => living.push(owner),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        segments.retain(|segment| !living.contains(&segment.owner));
        Ok(EndedJournals { segments, locks })
    }

    /// The files with this ending, and their names without it.
    fn files(&self, ending: &str) -> io::Result<Vec<OtherSegment>> {
        let listed = match std::fs::read_dir(&self.folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for file in listed {
            let path = file?.path();
            if path.extension() == Some(OsStr::new(ending))
                && let Some(owner) = path.file_stem().and_then(OsStr::to_str)
            {
                files.push(OtherSegment { owner: owner.to_owned(), path });
            }
        }
        Ok(files)
    }
}

/// The journals of processes that have ended.
pub(crate) struct EndedJournals {
    pub(crate) segments: Vec<OtherSegment>,
    locks: Vec<(File, PathBuf)>,
}

impl EndedJournals {
    /// Deletes the locks, once all segments are deleted.
    pub(crate) fn delete(self) {
        for (file, path) in self.locks {
            let _ = std::fs::remove_file(path);
            drop(file);
        }
    }
}

/// The result of an attempt to read a segment of another process.
pub(crate) enum OpenedSegment {
    Reader(SegmentReader),
    /// Its owner has transferred and deleted the segment.
    Deleted,
    /// The file is no segment, or one of a newer program.
    Foreign,
}

impl OtherSegment {
    /// Reads the calls from this place on; 0 is the first call.
    pub(crate) fn reader(&self, at: u64) -> io::Result<OpenedSegment> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(OpenedSegment::Deleted),
            Err(error) => return Err(error),
        };
        let end = file.metadata()?.len();
        let mut head = Vec::new();
        (&mut file).take(SEGMENT_HEAD.len() as u64).read_to_end(&mut head)?;
        if !SEGMENT_HEAD.starts_with(&head) {
            return Ok(OpenedSegment::Foreign);
        }
        // A head that is not whole is the whole file.
        let at = at.max(head.len() as u64);
        SegmentReader::new(file, at, end).map(OpenedSegment::Reader)
    }

    /// Deletes a segment whose calls are all in the database.
    pub(crate) fn delete(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
