//! A local append-only log of signature files: the static files of C2SP `tlog-tiles`, with a signed checkpoint.
//!
//! ```text
//! DIR/checkpoint             origin, size and root, signed by the key of the log (C2SP `tlog-checkpoint`)
//! DIR/tile/L/N[.p/W]         up to 256 hashes of level 8 * L
//! DIR/tile/entries/N[.p/W]   up to 256 entries, each preceded by its length in two bytes
//! ```
//!
//! An append writes its tiles under new names, each by renaming a complete file, and then replaces the checkpoint. Tiles
//! beyond the checkpoint are the remains of an append that was killed; the next append replaces them. So the checkpoint
//! alone decides what is in the log.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use interlingua::json::{base64, from_base64};

use super::cose::Sign1;
use super::digest::{Hash, sha256};
use super::keys::{KeyAlgorithm, PublicKey, SigningKey};
use super::log_receipt::{LogInclusion, add_receipt, log_entry, log_leaf, make_receipt};
use super::tree::{node_hash, split};
use super::verify::SignatureFault;

/// The number of hashes in a full tile.
const TILE: u64 = 256;

/// The reason for which a log cannot be used.
#[derive(Debug)]
pub enum LogFault {
    /// A file of the log cannot be read or written.
    Io(PathBuf, io::Error),
    /// Another program appends to the log.
    Busy,
    /// The checkpoint has another form, or its signature is not by the key of the log.
    BadCheckpoint,
    /// The checkpoint has another origin.
    OtherOrigin(String),
    /// The tiles do not lead to the root of the checkpoint.
    OtherTiles,
    /// The origin is empty, or holds white space or a plus sign.
    BadOrigin,
    /// The key of a log must be an Ed25519 key.
    NotEd25519,
    /// The file is refused.
    File(SignatureFault),
}

impl fmt::Display for LogFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogFault::Io(path, error) => write!(out, "{}: {error}", path.display()),
            LogFault::Busy => write!(out, "another program appends to the log"),
            LogFault::BadCheckpoint => {
                write!(out, "the checkpoint of the log is damaged, or another key signed it")
            }
            LogFault::OtherOrigin(origin) => write!(out, "the log has the origin `{origin}`"),
            LogFault::OtherTiles => {
                write!(out, "the tiles of the log do not lead to the root of its checkpoint")
            }
            LogFault::BadOrigin => {
                write!(out, "the origin of a log is a name without white space and plus signs")
            }
            LogFault::NotEd25519 => write!(out, "the key of a log must be an Ed25519 key"),
            LogFault::File(fault) => write!(out, "{fault}"),
        }
    }
}

impl std::error::Error for LogFault {}

impl From<SignatureFault> for LogFault {
    fn from(fault: SignatureFault) -> Self {
        LogFault::File(fault)
    }
}

/// A log in a folder, open for appending by this program alone.
pub struct TransparencyLog<'k> {
    folder: PathBuf,
    key: &'k SigningKey,
    origin: String,
    size: u64,
    /// Holds the lock while the log is open.
    _lock: File,
}

impl<'k> TransparencyLog<'k> {
    /// Opens the log of a folder, or begins a log in an empty one. The tiles are compared with the checkpoint.
    pub fn open(folder: &Path, key: &'k SigningKey, origin: &str) -> Result<Self, LogFault> {
        if origin.is_empty() || origin.contains(|letter: char| letter.is_whitespace() || letter == '+') {
            return Err(LogFault::BadOrigin);
        }
        if key.public().algorithm() != KeyAlgorithm::Ed25519 {
            return Err(LogFault::NotEd25519);
        }
        fs::create_dir_all(folder).map_err(|error| LogFault::Io(folder.to_owned(), error))?;
        let lock = lock(&folder.join("lock"))?;
        let mut log =
            Self { folder: folder.to_owned(), key, origin: origin.to_owned(), size: 0, _lock: lock };
        let path = folder.join("checkpoint");
        match fs::read_to_string(&path) {
            Ok(note) => {
                let (size, root) = read_checkpoint(&note, origin, &key.public())?;
                log.size = size;
                if log.range_root(0, size)? != root {
                    return Err(LogFault::OtherTiles);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(LogFault::Io(path, error)),
        }
        Ok(log)
    }

    /// The number of files in the log.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a signature file. Returns the file with a receipt in its unprotected header, and its place in the log. `time`
    /// is seconds since 1970.
    pub fn append(&mut self, file: &[u8], time: u64) -> Result<(Vec<u8>, LogInclusion), LogFault> {
        let sign1 = Sign1::decode(file).map_err(SignatureFault::from)?;
        let entry = log_entry(&sign1);
        let index = self.size;
        self.write_entry(index, &entry)?;
        self.write_hashes(index, log_leaf(&entry))?;
        let size = index + 1;
        let root = self.range_root(0, size)?;
        let path = self.inclusion(index, size)?;
        self.write(&self.folder.join("checkpoint"), self.checkpoint(size, &root)?.as_bytes())?;
        self.size = size;
        let place = LogInclusion {
            origin: self.origin.clone(),
            time: Some(time),
            index,
            size,
            is_place_signed: true,
        };
        let receipt = make_receipt(self.key, &place, &entry, &root, &path)?;
        Ok((add_receipt(file, &receipt)?, place))
    }

    fn write_entry(&self, index: u64, entry: &Hash) -> Result<(), LogFault> {
        let width = index % TILE + 1;
        let mut bundle = match width {
            1 => Vec::new(),
            _ => read(&self.tile("entries", index / TILE, width - 1))?,
        };
        bundle.extend_from_slice(&(entry.len() as u16).to_be_bytes());
        bundle.extend_from_slice(entry);
        self.write(&self.tile("entries", index / TILE, width), &bundle)
    }

    /// Writes the tiles that a new leaf changes: one, and one more for each level whose tile below became full.
    fn write_hashes(&self, index: u64, leaf: Hash) -> Result<(), LogFault> {
        let (mut level, mut at, mut hash) = (0u32, index, leaf);
        loop {
            let width = at % TILE + 1;
            let name = level.to_string();
            let mut tile = match width {
                1 => Vec::new(),
                _ => read(&self.tile(&name, at / TILE, width - 1))?,
            };
            tile.extend_from_slice(&hash);
            self.write(&self.tile(&name, at / TILE, width), &tile)?;
            if width < TILE {
                return Ok(());
            }
            hash = complete_root(&tile).ok_or(LogFault::OtherTiles)?;
            at /= TILE;
            level += 1;
        }
    }

    /// The root of the leaves from `start` to `end`, a range of the recursive definition of RFC 9162.
    fn range_root(&self, start: u64, end: u64) -> Result<Hash, LogFault> {
        let size = end - start;
        if size == 0 {
            return Ok(sha256(&[]));
        }
        if size.is_power_of_two() && start.is_multiple_of(size) {
            return self.node(size.trailing_zeros(), start / size);
        }
        let middle = start + split(size);
        // The depth is at most 64: each step halves the range.
        Ok(node_hash(&self.range_root(start, middle)?, &self.range_root(middle, end)?))
    }

    /// The root of a complete subtree, computed from one tile. Each width of a tile has a file of its own, so the narrowest
    /// file with these hashes is read: wider ones may be the remains of a killed append.
    fn node(&self, level: u32, index: u64) -> Result<Hash, LogFault> {
        let (row, inner) = (level / 8, level % 8);
        let first = index << inner;
        let number = first / TILE;
        let width = first + (1 << inner) - number * TILE;
        let tile = read(&self.tile(&row.to_string(), number, width))?;
        let from = (first % TILE) as usize * 32;
        let hashes = tile.get(from..from + (32 << inner)).ok_or(LogFault::OtherTiles)?;
        complete_root(hashes).ok_or(LogFault::OtherTiles)
    }

    fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LogFault> {
        let mut path = Vec::new();
        let (mut start, mut end) = (0, size);
        while end - start > 1 {
            let middle = start + split(end - start);
            if index < middle {
                path.push(self.range_root(middle, end)?);
                end = middle;
            } else {
                path.push(self.range_root(start, middle)?);
                start = middle;
            }
        }
        path.reverse();
        Ok(path)
    }

    fn checkpoint(&self, size: u64, root: &Hash) -> Result<String, LogFault> {
        let text = checkpoint_text(&self.origin, size, root);
        let signature = self
            .key
            .sign(text.as_bytes())
            .map_err(|error| LogFault::File(super::cose::CoseError::Key(error).into()))?;
        let signature = [&note_key_id(&self.origin, &self.key.public())[..], &signature].concat();
        Ok(format!("{text}\n\u{2014} {} {}\n", self.origin, base64(&signature)))
    }

    /// The path of a tile: its number in groups of three digits.
    fn tile(&self, level: &str, number: u64, width: u64) -> PathBuf {
        let mut groups = vec![format!("{:03}", number % 1000)];
        let mut rest = number / 1000;
        while rest > 0 {
            groups.push(format!("x{:03}", rest % 1000));
            rest /= 1000;
        }
        groups.reverse();
        let mut name = groups.join("/");
        if width < TILE {
            name = format!("{name}.p/{width}");
        }
        self.folder.join("tile").join(level).join(name)
    }

    /// Replaces a file by a complete one that is on the disk before it has its name.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), LogFault> {
        let write = || {
            let parent = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(parent)?;
            let temporary = self.folder.join("new");
            let mut file = File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            // Folders cannot be opened as files on every system; there, the rename alone has to do.
            if let Ok(folder) = File::open(parent) {
                let _ = folder.sync_all();
            }
            Ok(())
        };
        write().map_err(|error| LogFault::Io(path.to_owned(), error))
    }
}

/// The root of a power of two of hashes, one after the other.
fn complete_root(hashes: &[u8]) -> Option<Hash> {
    let (chunks, rest) = hashes.as_chunks::<32>();
    let mut row = chunks.to_vec();
    if !rest.is_empty() || !row.len().is_power_of_two() {
        return None;
    }
    while row.len() > 1 {
        let (pairs, _) = row.as_chunks::<2>();
        row = pairs.iter().map(|[left, right]| node_hash(left, right)).collect();
    }
    row.first().copied()
}

fn checkpoint_text(origin: &str, size: u64, root: &Hash) -> String {
    format!("{origin}\n{size}\n{}\n", base64(root))
}

/// The id of an Ed25519 key in a signed note.
fn note_key_id(origin: &str, key: &PublicKey) -> [u8; 4] {
    let hash = sha256(&[origin.as_bytes(), b"\n\x01", key.point()]);
    let mut id = [0; 4];
    id.copy_from_slice(hash.first_chunk::<4>().unwrap_or(&[0; 4]));
    id
}

/// The size and the root of a checkpoint whose signature holds.
fn read_checkpoint(note: &str, origin: &str, key: &PublicKey) -> Result<(u64, Hash), LogFault> {
    let read = || {
        let (text, signatures) = note.split_once("\n\n")?;
        let mut lines = text.lines();
        let found = lines.next()?.to_owned();
        let size = lines.next()?.parse().ok()?;
        let root: Hash = from_base64(lines.next()?)?.try_into().ok()?;
        let prefix = format!("\u{2014} {found} ");
        let signature = signatures.lines().find_map(|line| line.strip_prefix(prefix.as_str()))?;
        let signature = from_base64(signature)?;
        let signature = signature.strip_prefix(&note_key_id(&found, key)[..])?.to_vec();
        let is_exact = text.len() + 1 == checkpoint_text(&found, size, &root).len();
        (is_exact && key.accepts(checkpoint_text(&found, size, &root).as_bytes(), &signature))
            .then_some((found, size, root))
    };
    let (found, size, root) = read().ok_or(LogFault::BadCheckpoint)?;
    if found == origin { Ok((size, root)) } else { Err(LogFault::OtherOrigin(found)) }
}

/// Locks a log. The operating system ends the lock with the program, so a killed program leaves none.
#[cfg(unix)]
fn lock(path: &Path) -> Result<File, LogFault> {
    let failed = |error| LogFault::Io(path.to_owned(), error);
    let file = File::options().create(true).append(true).open(path).map_err(failed)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(LogFault::Busy),
        Err(error) => Err(failed(error.into())),
    }
}

/// Windows denies a second program the file while it is open without sharing.
#[cfg(windows)]
fn lock(path: &Path) -> Result<File, LogFault> {
    use std::os::windows::fs::OpenOptionsExt as _;
    File::options().create(true).append(true).share_mode(0).open(path).map_err(|_| LogFault::Busy)
}

fn read(path: &Path) -> Result<Vec<u8>, LogFault> {
    fs::read(path).map_err(|error| LogFault::Io(path.to_owned(), error))
}
