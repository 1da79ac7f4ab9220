//! Inputs: files, stdin, directories, stores. No input is held in memory as a whole.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Role};
use interlingua::sniff::{self, Candidates, Detection, Guess};
use interlingua_report::safe;

use crate::content::ContentForm;
use crate::followed::FollowedInput;
use crate::globs;
use crate::joined::{self, SeparatedInput};
use crate::places::{is_temporary, same_place, stdin_file};
use crate::snapshot::{OpenLine, SnapshotInput};
use crate::stores::{self, SessionInput, StoreInputs};
use crate::unpack::{self, Unpacked};
use crate::{SourceError, SourceHints};

/// The place an input is read from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InputPlace {
    /// stdin.
    Stdin,
    /// A file.
    File(PathBuf),
    /// A session in a store.
    Stored(SessionInput),
    /// A session of a joined record.
    Separated(SeparatedInput),
    /// A file or stdin that another program still writes.
    Followed(FollowedInput),
    /// A copy of another input.
    Snapshot(SnapshotInput),
}

impl InputPlace {
    /// The place that a path names: `-` is stdin, and the id of a session below the path of a store is that session.
    pub fn of(path: &Path) -> Self {
        if path == Path::new("-") {
            return InputPlace::Stdin;
        }
        stores::session_at(path).map_or_else(|| InputPlace::File(path.to_owned()), InputPlace::Stored)
    }

    /// The first session of a joined record, and the number of the sessions joined to it. Any other input stays as it is.
    pub fn first_session(self) -> Result<(Self, usize), SourceError> {
        let InputPlace::File(path) = &self else { return Ok((self, 0)) };
        if !joined::is_joined(path) {
            return Ok((self, 0));
        }
        let failed = |error| SourceError::Read(self.name(), error);
        let mut sessions = joined::separate(path).map_err(failed)?.into_iter();
        let first = sessions.next().map(InputPlace::Separated);
        let others = sessions.len();
        Ok((first.unwrap_or(self), others))
    }

    /// A copy of the input as it is now, for a command that reads it more than once. stdin, a pipe and an input that is followed
    /// can be read once, and stay as they are.
    pub fn snapshot(self, open_line: OpenLine) -> Result<Self, SourceError> {
        match self {
            InputPlace::Snapshot(_) => Ok(self),
            input if input.opens_again() => SnapshotInput::of(input, open_line).map(InputPlace::Snapshot),
            input => Ok(input),
        }
    }

    /// The file of the input, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            InputPlace::Stdin => stdin_file(),
            InputPlace::File(path) => Some(path),
            InputPlace::Stored(session) => Some(&session.store),
            InputPlace::Separated(session) => Some(&session.record),
            InputPlace::Followed(input) => input.path.as_deref(),
            InputPlace::Snapshot(copy) => copy.origin.path(),
        }
    }

    /// The name used in messages.
    pub fn name(&self) -> String {
        match self {
            InputPlace::Stdin => "stdin".to_owned(),
            InputPlace::File(path) => safe::path_name(path),
            InputPlace::Stored(session) => session.name(),
            InputPlace::Separated(session) => session.name(),
            InputPlace::Followed(input) => {
                input.path.as_deref().map_or_else(|| "stdin".to_owned(), safe::path_name)
            }
            InputPlace::Snapshot(copy) => copy.origin.name(),
        }
    }

    /// Whether the input can be read a second time: a pipe cannot.
    pub fn opens_again(&self) -> bool {
        match self {
            InputPlace::Stdin | InputPlace::Followed(_) => false,
            InputPlace::File(path) => path.is_file(),
            InputPlace::Stored(_) | InputPlace::Separated(_) | InputPlace::Snapshot(_) => true,
        }
    }

    /// The fallback name for a session without an id.
    pub fn stem(&self) -> Option<String> {
        match self {
            InputPlace::Stdin => None,
            InputPlace::File(path) => session_folder(path).or_else(|| file_stem(path)),
            InputPlace::Stored(session) => Some(session.id().to_owned()),
            InputPlace::Separated(session) => Some(session.file.clone()).filter(|file| !file.is_empty()),
            InputPlace::Followed(input) => {
                let path = input.path.as_deref()?;
                session_folder(path).or_else(|| file_stem(path))
            }
            InputPlace::Snapshot(copy) => copy.origin.stem(),
        }
    }

    /// Whether the bytes come from a running program, so that reading may block.
    fn is_pipe(&self) -> bool {
        match self {
            InputPlace::Stdin => stdin_file().is_none(),
            InputPlace::File(path) => fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()),
            InputPlace::Stored(_) | InputPlace::Separated(_) | InputPlace::Snapshot(_) => false,
            InputPlace::Followed(_) => true,
        }
    }

    /// The absolute path of a file whose path does not name its session, because another file may have the same name.
    pub fn place(&self) -> Option<String> {
        match self {
            InputPlace::File(path) if session_folder(path).is_none() => {
                Some(std::path::absolute(path).ok()?.to_string_lossy().into_owned())
            }
            InputPlace::Snapshot(copy) => copy.origin.place(),
            InputPlace::Stdin
            | InputPlace::File(_)
            | InputPlace::Stored(_)
            | InputPlace::Separated(_)
            | InputPlace::Followed(_) => None,
        }
    }

    /// Opens the input, unpacks it if needed, and reads its beginning for detection. Compressed input may unpack to at
    /// most `most_unpacked` bytes.
    pub fn open(&self, most_unpacked: u64) -> Result<Opened, SourceError> {
        let mut opened = self.begin(most_unpacked)?;
        opened.look(|error| SourceError::Read(self.name(), error))?;
        let origin = if let InputPlace::Snapshot(copy) = self { &copy.origin } else { self };
        if let InputPlace::Stored(session) = origin {
            // The tables of a store show its agent.
            opened.candidates.guesses = vec![Guess::known(session.dialect(), Role::Log)];
        }
        Ok(opened)
    }

    /// Opens the input like [`InputPlace::open`], but reads a pipe only as far as detection needs.
    pub fn open_live(&self, source: &SourceHints, most_unpacked: u64) -> Result<Opened, SourceError> {
        let mut opened = self.begin(most_unpacked)?;
        let failed = |error| SourceError::Read(self.name(), error);
        let mut judged = 0;
        while self.is_pipe() && !opened.complete && opened.head.len() < sniff::HEAD {
            let seen = opened.head.len();
            opened.read_some().map_err(failed)?;
            // Documents end in line breaks, except those on a single line.
            if opened.head[seen..].contains(&b'\n') || opened.head.len() / 2 >= judged {
                judged = opened.head.len();
                opened.guess();
                if opened.is_decided(source) {
                    return Ok(opened);
                }
            }
        }
        opened.look(failed)?;
        Ok(opened)
    }

    fn begin(&self, most_unpacked: u64) -> Result<Opened, SourceError> {
        let rest = Unpacked::new(self.bytes()?, most_unpacked);
        let rest = rest.map_err(|error| SourceError::Read(self.name(), error))?;
        Ok(Opened { head: Vec::new(), complete: false, rest, candidates: Candidates::default() })
    }

    /// The bytes of the input, as they are stored.
    pub(crate) fn bytes(&self) -> Result<Box<dyn Read>, SourceError> {
        let failed = |error| SourceError::Read(self.name(), error);
        Ok(match self {
            InputPlace::Stdin => Box::new(io::stdin().lock()),
            InputPlace::File(path) if path.is_dir() => return Err(SourceError::NotAFile(self.name())),
            InputPlace::File(path) if stores::is_store(path) => {
                return Err(SourceError::IsStore(self.name()));
            }
            InputPlace::Stored(session) => session.open().map_err(failed)?,
            InputPlace::Separated(session) => Box::new(session.open().map_err(failed)?),
            InputPlace::File(path) => Box::new(File::open(path).map_err(failed)?),
            InputPlace::Followed(input) => input.open().map_err(failed)?,
            InputPlace::Snapshot(copy) => Box::new(copy.open()),
        })
    }
}

/// The file name without its extensions.
fn file_stem(path: &Path) -> Option<String> {
    Some(unpack::inner_name(path).file_stem()?.to_string_lossy().into_owned())
}

/// The name of a session that is identified by its file or by a parent folder, as with Kimi: the nearest path component
/// that holds a UUID, and the components below it, without names that every session has.
fn session_folder(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let stem = file_stem(&path)?;
    let folders = path.parent()?.iter().map(|name| name.to_string_lossy().into_owned());
    let names: Vec<String> = folders.chain([stem]).collect();
    let nearest = names.len().saturating_sub(FOLDERS_OF_SESSION);
    let at = nearest + names.get(nearest..)?.iter().rposition(|name| holds_uuid(name))?;
    let (session, below) = names.get(at..)?.split_first()?;
    let below = below.iter().filter(|name| !SHARED_NAMES.contains(&name.as_str()));
    Some(std::iter::once(session).chain(below).map(String::as_str).collect::<Vec<_>>().join("/"))
}

/// How many path components may name a session: `session_<uuid>/agents/main/wire`.
const FOLDERS_OF_SESSION: usize = 4;
/// Names in session folders that do not distinguish sessions.
const SHARED_NAMES: [&str; 6] = ["wire", "context", "events", "agents", "main", "subagents"];

fn holds_uuid(name: &str) -> bool {
    let is_digit = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    name.as_bytes().windows(36).any(|window| window.iter().enumerate().all(is_digit))
}

/// The longest first line that is read for detection: the default frame limit.
const LONGEST_HEAD: usize = 256 << 20;
/// How far a long line is read before looking for its end again.
const LINE_STEP: usize = 4 << 20;
/// How much of a pipe is read before each detection attempt.
const STEP: usize = 64 << 10;
/// How much is read when several lines are not recognised.
const SEVERAL_LINES: usize = 16 << 20;

/// An input whose beginning has been read.
pub struct Opened {
    head: Vec<u8>,
    complete: bool,
    rest: Unpacked,
    /// The candidates of detection.
    pub candidates: Candidates,
}

impl Opened {
    /// Reads the beginning of the input, as far as detection needs.
    fn look(&mut self, failed: impl Fn(io::Error) -> SourceError) -> Result<(), SourceError> {
        if !self.complete && self.head.len() < sniff::HEAD {
            self.read_more(sniff::HEAD - self.head.len()).map_err(&failed)?;
        }
        self.guess();
        // A long first line must be read completely for detection; after several unrecognised lines, a few more may
        // help.
        let mut step = sniff::HEAD;
        let mut one_line = !self.head.contains(&b'\n');
        while self.is_unclear() && self.head.len() < LONGEST_HEAD {
            if one_line {
                let seen = self.head.len();
                self.read_more(LINE_STEP).map_err(&failed)?;
                one_line = !self.head[seen..].contains(&b'\n');
                if one_line && !self.complete {
                    continue;
                }
            } else if self.head.len() < SEVERAL_LINES {
                step *= 4;
                self.read_more(step).map_err(&failed)?;
            } else {
                break;
            }
            self.guess();
        }
        Ok(())
    }

    /// Whether the bytes read so far decide the dialect and role.
    fn is_decided(&self, source: &SourceHints) -> bool {
        let Some(dialect) = source.from else { return self.candidates.decide_early(None).is_some() };
        let mut readable = dialect.roles.iter().filter(|spec| spec.read.is_some());
        let has_one_role = source.role.is_some() || readable.next().is_some() && readable.next().is_none();
        // The first line shows whether the input looks like a dialect other than the named one.
        let has_line = self.head.trim_ascii_start().contains(&b'\n');
        has_one_role && has_line || self.candidates.decide_early(Some(dialect)).is_some()
    }

    /// Reads the available bytes, and blocks only if there are none.
    fn read_some(&mut self) -> io::Result<()> {
        let seen = self.head.len();
        self.head.resize(seen + STEP, 0);
        let read = loop {
            match self.rest.read(&mut self.head[seen..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.head.truncate(seen + *read.as_ref().unwrap_or(&0));
        self.complete = matches!(read, Ok(0));
        read.map(drop)
    }

    fn read_more(&mut self, more: usize) -> io::Result<()> {
        // Grow in fixed steps instead of doubling: a long line should not cost twice its length.
        self.head.reserve_exact(more);
        let read = self.rest.by_ref().take(more as u64).read_to_end(&mut self.head)?;
        self.complete = read < more;
        Ok(())
    }

    fn guess(&mut self) {
        // An archive may contain a log line by line, but it is not a log.
        let is_packed =
            matches!(ContentForm::of(&self.head), ContentForm::Packed(..)) && self.head.contains(&0);
        self.candidates =
            if is_packed { Candidates::default() } else { sniff::candidates(&self.head, self.complete) };
    }

    /// Whether unread bytes may still reveal a dialect.
    fn is_unclear(&self) -> bool {
        let like_json = matches!(self.head.trim_ascii_start().first(), Some(b'{' | b'['));
        self.candidates.guesses.is_empty() && !self.complete && like_json
    }

    /// Whether detection clearly finds that dialect.
    pub fn looks_like(&self, dialect: &Dialect) -> bool {
        matches!(self.candidates.decide(), Detection::Clear(guess) if guess.dialect.name == dialect.name)
    }

    /// Whether the input holds nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.complete && self.head.trim_ascii().is_empty()
    }

    /// Whether the input is compressed, so that its file size is not the size of its content.
    pub const fn is_packed(&self) -> bool {
        self.rest.is_changed()
    }

    /// The error for input that no dialect recognises.
    pub(crate) fn undetected(&self, name: &str) -> SourceError {
        SourceError::Undetected {
            name: name.to_owned(),
            packing: self.rest.packing(),
            content: ContentForm::of(&self.head),
            unread: self.candidates.unread,
        }
    }

    /// The whole input, if it is small enough to hold in memory together with its output.
    pub fn whole(&self) -> Option<&[u8]> {
        (self.complete && self.head.len() <= sniff::HEAD).then_some(&self.head[..])
    }

    /// Passes the whole input to `push` in order, chunk by chunk, until `push` returns an error.
    pub fn each<E>(
        mut self,
        failed: impl Fn(io::Error) -> E,
        mut push: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        push(&self.head)?;
        if self.complete {
            return Ok(());
        }
        let mut buffer = self.head;
        buffer.resize(CHUNK, 0);
        buffer.shrink_to(CHUNK);
        loop {
            match self.rest.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => push(&buffer[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// Bytes read per chunk.
const CHUNK: usize = 256 << 10;

/// One input of several, with a name for its output.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundFile {
    /// The place of the input.
    pub input: InputPlace,
    /// A relative path for the output, without extensions and unlike that of any other input.
    pub base: PathBuf,
    /// Set if the caller named the input; unset if it was found in a directory or by a pattern.
    pub named: bool,
    /// The size on disk; 0 where it is not known.
    pub bytes: u64,
}

/// All inputs that a list of paths stands for.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundFiles {
    /// The inputs.
    pub files: Vec<FoundFile>,
    /// Entries of directories that are no inputs.
    pub skipped: Vec<(String, SourceError)>,
    /// Directories and stores that could not be read, and patterns without a match.
    pub failed: Vec<(String, SourceError)>,
    seen: HashSet<PathBuf>,
}

/// Refuses patterns with syntax errors before anything is read.
pub fn check_patterns(inputs: &[PathBuf]) -> Result<(), SourceError> {
    inputs.iter().filter_map(|path| globs::pattern(path)).try_for_each(globs::check)
}

/// All files that the paths name, those in directories, in stores and behind patterns too, sorted within each path, each once
/// and with an output name of its own. Files in `output` are left out.
pub fn find(inputs: &[PathBuf], output: Option<&Path>) -> FoundFiles {
    let mut found = FoundFiles::default();
    for path in inputs {
        if path == Path::new("-") {
            found.add(FoundFile { input: InputPlace::Stdin, base: "stdin".into(), named: true, bytes: 0 });
        } else if found.add_store(path, Path::new(path.file_name().unwrap_or_default()), true) {
            // Each session of the store is an input.
        } else if path.is_dir() {
            found.walk(path, path, output);
        } else if let Some(pattern) = globs::pattern(path) {
            match globs::expand(pattern) {
                Ok((matching, failed)) => {
                    let root = globs::root(pattern);
                    for path in &matching {
                        found.below(&root, path, fs::metadata(path), output);
                    }
                    found.failed.extend(failed.into_iter().map(|error| (pattern.to_owned(), error)));
                }
                Err(error) => found.failed.push((pattern.to_owned(), error)),
            }
        } else {
            let base = path.file_name().map_or_else(|| path.clone(), PathBuf::from);
            let bytes = fs::metadata(path).map_or(0, |meta| meta.len());
            found.add(FoundFile { input: InputPlace::of(path), base, named: true, bytes });
        }
    }
    name_apart(&mut found.files);
    found
}

impl FoundFiles {
    /// Adds a file, unless it was added before.
    fn add(&mut self, file: FoundFile) {
        let place = match &file.input {
            InputPlace::Stdin => PathBuf::from("-"),
            InputPlace::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
            InputPlace::Stored(session) => {
                let store = fs::canonicalize(&session.store).unwrap_or_else(|_| session.store.clone());
                store.join(session.number.to_string())
            }
            InputPlace::Separated(session) => session.record.join(session.number.to_string()),
            InputPlace::Followed(input) => input.path.clone().unwrap_or_else(|| PathBuf::from("-")),
            InputPlace::Snapshot(copy) => PathBuf::from(copy.origin.name()),
        };
        if self.seen.insert(place) {
            self.files.push(file);
        }
    }

    /// Separates joined records: each session becomes an input of its own.
    pub fn separate(&mut self) {
        for file in std::mem::take(&mut self.files) {
            let InputPlace::File(path) = &file.input else {
                self.files.push(file);
                continue;
            };
            if !joined::is_joined(path) {
                self.files.push(file);
                continue;
            }
            let name = file.input.name();
            match joined::separate(path) {
                Ok(sessions) => self.files.extend(sessions.into_iter().map(|session| {
                    let base = match session.file.as_str() {
                        "" => file.base.clone(),
                        name => file.base.join(file_name_of(name)),
                    };
                    FoundFile { input: InputPlace::Separated(session), base, named: file.named, bytes: 0 }
                })),
                Err(error) => self.failed.push((name.clone(), SourceError::Read(name, error))),
            }
        }
    }

    /// Adds the sessions of the store at a path. Returns whether the path is a store.
    fn add_store(&mut self, path: &Path, base: &Path, named: bool) -> bool {
        match stores::sessions(path, named) {
            None => return false,
            // Directories may hold databases of unrelated programs.
            Some(Err(error)) if error.is_skip() && !named => {
                self.skipped.push((safe::path_name(path), error));
            }
            Some(Err(error)) => self.failed.push((safe::path_name(path), error)),
            Some(Ok(StoreInputs { sessions, damage })) => {
                self.failed.extend(damage.into_iter().map(|error| (safe::path_name(path), error)));
                for session in sessions {
                    // An id has no extension, but may contain a dot.
                    let base = base.with_extension("").join(format!("{}.json", file_name_of(session.id())));
                    self.add(FoundFile { input: InputPlace::Stored(session), base, named, bytes: 0 });
                }
            }
        }
        true
    }

    fn walk(&mut self, root: &Path, dir: &Path, output: Option<&Path>) {
        let entries = fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let name = safe::path_name(dir);
                return self.failed.push((name.clone(), SourceError::Read(name, error)));
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // Links are not followed: they may form a cycle, and their targets are found at their own paths.
            self.below(root, &entry.path(), entry.metadata(), output);
        }
    }

    /// Adds a file, or the files of a directory, found below `root`.
    fn below(&mut self, root: &Path, path: &Path, meta: io::Result<fs::Metadata>, output: Option<&Path>) {
        let meta = match meta {
            Ok(meta) => meta,
            Err(error) => {
                let name = safe::path_name(path);
                return self.failed.push((name.clone(), SourceError::Read(name, error)));
            }
        };
        let skip = match () {
            () if meta.is_symlink() => Some(SourceError::IsLink),
            () if is_temporary(path) => Some(SourceError::IsTemporary),
            () => None,
        };
        if let Some(why) = skip {
            return self.skipped.push((safe::path_name(path), why));
        }
        let base = path.strip_prefix(root).unwrap_or(path).to_owned();
        if self.add_store(path, &base, false) {
            return;
        }
        if meta.is_dir() && !output.is_some_and(|output| same_place(path, output)) {
            self.walk(root, path, output);
        } else if meta.is_file() {
            let input = InputPlace::File(path.to_owned());
            self.add(FoundFile { input, base, named: false, bytes: meta.len() });
        } else if !meta.is_dir() {
            self.skipped.push((safe::path_name(path), SourceError::IsNoFile));
        }
    }
}

/// The id of a session as a file name: without separators and invisible characters.
fn file_name_of(name: &str) -> String {
    safe::exact_line(name).replace(['/', '\\'], "_")
}

/// Removes the extensions of output names as long as the names stay distinct: `a.json` and `a.jsonl` keep theirs, and
/// `a.jsonl.gz` is named like `a.jsonl`.
fn name_apart(found: &mut [FoundFile]) {
    let mut taken = HashSet::new();
    for file in found {
        let inner = unpack::inner_name(&file.base);
        let stem = inner.with_extension("");
        let numbered = (2..).map(|number| {
            let mut name = stem.clone().into_os_string();
            name.push(format!("-{number}"));
            PathBuf::from(name)
        });
        let free = [stem.clone(), inner, file.base.clone()]
            .into_iter()
            .chain(numbered)
            .find(|base| taken.insert(base.clone()));
        file.base = free.unwrap_or(stem);
    }
}
