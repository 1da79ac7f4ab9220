//! Output files. A file gets its name only when it is complete and on disk. Until then it has a random temporary name,
//! and it is removed if the run fails. An output never replaces an input, and its permissions are not wider than its
//! source's.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, IsTerminal as _, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use interlingua::framing::Framing;
use interlingua::json::Output;
use interlingua_record::cbor::to_cbor;
use interlingua_report::safe::{self, DataScreen};
use interlingua_sessions::places::{FilePlace, TEMPORARY_BEGIN, TEMPORARY_END, followed, regular_file};
use interlingua_sessions::{FoundFile, PrivateFolder};
use tempfile::NamedTempFile;

use crate::error::CommandError;

/// The file that stdout is redirected to, if any.
pub(crate) fn stdout_file() -> Option<&'static Path> {
    regular_file("/dev/stdout")
}

/// Whether stdout is redirected to a file with the extension of a single JSON document.
pub(crate) fn stdout_is_named_json() -> bool {
    let file = stdout_file().and_then(|path| fs::canonicalize(path).ok());
    file.is_some_and(|file| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")))
}

/// The name of a further file next to the named file: `out-2.json`.
pub(crate) fn further(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Output for stdout, held back until it may be printed.
pub(crate) struct Spool(PrivateFolder);

impl Spool {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let failed = |error| CommandError::Write(std::env::temp_dir(), error);
        PrivateFolder::new().map(Self).map_err(failed)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("stdout")
    }

    pub(crate) fn sink(&self) -> Result<Sink, CommandError> {
        Sink::file(&self.path(), None)
    }

    /// Copies the content to stdout.
    pub(crate) fn pass_on(self) -> Result<(), CommandError> {
        let path = self.path();
        let failed = |error| CommandError::Read(safe::path_name(&path), error);
        let mut reader = io::BufReader::new(File::open(&path).map_err(failed)?);
        let mut sink = Sink::stdout();
        loop {
            let bytes = reader.fill_buf().map_err(failed)?;
            let length = bytes.len();
            if length == 0 {
                return sink.finish();
            }
            sink.write(bytes);
            sink.take_error()?;
            reader.consume(length);
        }
    }
}

/// The names that outputs may not have, because an input, the report or another output has them.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    paths: Mutex<HashSet<FilePlace>>,
    /// The preferred names of all outputs. A name with an added number never equals a preferred name, so names do not
    /// depend on the order of work.
    bases: HashSet<PathBuf>,
}

impl Taken {
    pub(crate) fn new(found: &[FoundFile], report: Option<&Path>) -> Self {
        let inputs = found.iter().filter_map(|file| file.input.path()).map(FilePlace::of);
        let bases = found.iter().map(|file| file.base.clone());
        Self { paths: Mutex::new(inputs.chain(report.map(FilePlace::of)).collect()), bases: bases.collect() }
    }

    /// The path of an output: `<base>.<dialect>.<extension>`, with a number if that path is taken.
    pub(crate) fn claim(&self, dir: &Path, base: &Path, dialect: &str, extension: &str) -> PathBuf {
        let mut taken = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let mut number = 1;
        let base = &of_usual_length(base);
        loop {
            let mut name = base.as_os_str().to_owned();
            if number > 1 {
                name.push(format!("-{number}"));
            }
            let is_free = number == 1 || !self.bases.contains(Path::new(&name));
            name.push(format!(".{dialect}.{extension}"));
            let path = dir.join(name);
            // The `FilePlace` of an output changes once the file or its directory exists, so the plain path is stored
            // as well.
            let name = FilePlace::Named(path.clone());
            if is_free && !taken.contains(&name) && taken.insert(FilePlace::of(&path)) {
                taken.insert(name);
                return path;
            }
            number += 1;
        }
    }
}

/// The path with its last component shortened, to leave room for the added suffixes.
fn of_usual_length(base: &Path) -> PathBuf {
    match base.file_name().map(OsStr::to_string_lossy) {
        Some(name) if name.len() > LONGEST_NAME => {
            let end = (0..=LONGEST_NAME).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
            base.with_file_name(&name[..end])
        }
        Some(_) | None => base.to_owned(),
    }
}

/// File names have at most 255 bytes; an output adds a number, its dialect and its extension.
const LONGEST_NAME: usize = 200;

/// Directories created for outputs. Empty ones are removed at the end.
#[derive(Debug, Default)]
pub(crate) struct NewFolders(Mutex<Vec<PathBuf>>);

impl NewFolders {
    /// Creates a directory and its missing parents.
    pub(crate) fn make(&self, folder: &Path) -> Result<(), CommandError> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        made.extend(missing.into_iter().rev());
        fs::create_dir_all(folder).map_err(|error| CommandError::Write(folder.to_owned(), error))
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).rev() {
            // Removing a directory that is not empty fails, and the directory stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The file name extension for a framing.
pub(crate) const fn extension(framing: Framing) -> &'static str {
    match framing {
        Framing::Lines | Framing::LinesOrDocuments(..) => "jsonl",
        Framing::Sse | Framing::EventsOrArray => "sse",
        Framing::Whole | Framing::Documents(_) => "json",
    }
}

/// The output of a conversion. Writes are not buffered here, because the core already collects small pieces.
pub(crate) struct Sink {
    target: OutputPlace,
    failed: Option<io::Error>,
    /// The last line has no line break yet.
    open_line: bool,
    /// Escapes control characters in data for a terminal.
    screen: Option<DataScreen>,
    /// The JSON text of records that are written in CBOR at the end, and their tag.
    encoded: Option<(File, u64)>,
}

enum OutputPlace {
    Stdout(io::StdoutLock<'static>),
    /// A device, a pipe or an already open file.
    Device(PathBuf, File),
    Temporary(Unfinished),
}

impl Sink {
    fn new(target: OutputPlace) -> Self {
        let is_terminal = matches!(&target, OutputPlace::Device(_, file) if file.is_terminal());
        let screen = is_terminal.then(DataScreen::default);
        Self { target, failed: None, open_line: false, screen, encoded: None }
    }

    /// Stdout for text that is already safe and may hold our colours.
    #[expect(clippy::disallowed_methods, reason = "this is where data goes to")]
    pub(crate) fn stdout() -> Self {
        Self::new(OutputPlace::Stdout(io::stdout().lock()))
    }

    /// Stdout for data: unchanged, except that control characters are escaped on a terminal.
    pub(crate) fn stdout_for_data() -> Self {
        let stdout = Self::stdout();
        let is_terminal = matches!(&stdout.target, OutputPlace::Stdout(stdout) if stdout.is_terminal());
        Self { screen: is_terminal.then(DataScreen::default), ..stdout }
    }

    /// A file derived from the source. A replaced file keeps its permissions; a new file gets those of the source. A
    /// link is kept, and its target is written.
    pub(crate) fn file(path: &Path, source: Option<&Path>) -> Result<Self, CommandError> {
        let failed = |error| CommandError::Write(path.to_owned(), error);
        let Some(path) = &followed(path).map_err(failed)? else {
            // Existing content of the device stays.
            let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
            return Ok(Self::new(OutputPlace::Device(path.to_owned(), file)));
        };
        let target = match fs::metadata(path) {
            Ok(meta) if !meta.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                OutputPlace::Device(path.to_owned(), file)
            }
            Ok(meta) => {
                OutputPlace::Temporary(Unfinished::beside(path, Some(meta.permissions())).map_err(failed)?)
            }
            Err(_) => {
                let permissions = source.and_then(|source| permissions_like(source, path));
                OutputPlace::Temporary(Unfinished::beside(path, permissions).map_err(failed)?)
            }
        };
        Ok(Self::new(target))
    }

    /// The same output for records in CBOR, if there is a tag for them. Their JSON text is in a temporary file without a
    /// name until the output is finished.
    pub(crate) fn encoded(mut self, tag: Option<u64>) -> Result<Self, CommandError> {
        if let Some(tag) = tag {
            let failed = |error| CommandError::Write(std::env::temp_dir(), error);
            self.encoded = Some((tempfile::tempfile().map_err(failed)?, tag));
        }
        Ok(self)
    }

    /// Writes the records in CBOR.
    fn encode(&mut self) -> Result<(), CommandError> {
        let Some((mut json, tag)) = self.encoded.take() else { return Ok(()) };
        self.take_error()?;
        let failed = |error| CommandError::Write(std::env::temp_dir(), error);
        json.rewind().map_err(failed)?;
        let space = tempfile::tempfile().map_err(failed)?;
        let mut out = io::BufWriter::with_capacity(256 << 10, UnchangedBytes(self));
        to_cbor(json, tag, BufferedSpace::new(space), &mut out)
            .map_err(|fault| failed(io::Error::other(fault)))?;
        out.flush().map_err(failed)
    }

    /// A file that, if it is new, only the user can read, because it holds pieces of many inputs.
    pub(crate) fn private(path: &Path) -> Result<Self, CommandError> {
        let mut sink = Self::file(path, None)?;
        #[cfg(unix)]
        if let OutputPlace::Temporary(unfinished) = &mut sink.target {
            use std::os::unix::fs::PermissionsExt as _;
            unfinished.permissions.get_or_insert(Permissions::from_mode(0o600));
        }
        Ok(sink)
    }

    /// A file that an earlier run made of the same input: it is kept if the new content is equal, and never replaced if
    /// the content differs.
    pub(crate) fn again(path: &Path) -> Result<Self, CommandError> {
        let mut sink = Self::file(path, None)?;
        if let OutputPlace::Temporary(unfinished) = &mut sink.target {
            unfinished.only_if_same = true;
        }
        Ok(sink)
    }

    /// Flushes stdout. Files are flushed at the end.
    pub(crate) fn flush(&mut self) {
        if let (OutputPlace::Stdout(stdout), None) = (&mut self.target, &self.failed) {
            self.failed = stdout.flush().err();
        }
    }

    /// Returns the first error, once.
    pub(crate) fn take_error(&mut self) -> Result<(), CommandError> {
        match self.failed.take() {
            None => Ok(()),
            Some(error) => Err(match &self.target {
                OutputPlace::Stdout(_) => CommandError::Output(error),
                OutputPlace::Device(path, _) => CommandError::Write(path.clone(), error),
                OutputPlace::Temporary(unfinished) => CommandError::Write(unfinished.target.clone(), error),
            }),
        }
    }

    /// Finishes an output whose further sessions begin at the given positions: the first session gets the name of the
    /// file, and each further session goes to a file opened by `next`. A device or stdout holds all sessions in sequence.
    pub(crate) fn finish_apart(
        mut self,
        positions: &[u64],
        next: &mut dyn FnMut() -> Result<Sink, CommandError>,
    ) -> Result<(), CommandError> {
        self.take_error()?;
        // Records in CBOR follow one another in one file.
        if positions.is_empty() || self.encoded.is_some() {
            return self.finish();
        }
        let OutputPlace::Temporary(whole) = &self.target else { return self.finish() };
        let Some(file) = &whole.file else { return Ok(()) };
        let failed = |error| CommandError::Write(whole.target.clone(), error);
        let mut first = Unfinished::beside(&whole.target, whole.permissions.clone()).map_err(failed)?;
        first.only_if_same = whole.only_if_same;
        let mut sink = Sink::new(OutputPlace::Temporary(first));
        let mut reader = io::BufReader::with_capacity(256 << 10, File::open(file.path()).map_err(failed)?);
        let mut begin = 0;
        for position in positions {
            let length = position.saturating_sub(begin);
            // A session without any output has no file.
            if length > 0 {
                sink.copy((&mut reader).take(length)).map_err(failed)?;
                std::mem::replace(&mut sink, next()?).finish()?;
            }
            begin = *position;
        }
        sink.copy(reader).map_err(failed)?;
        sink.finish()
    }

    /// Writes all bytes of a reader.
    fn copy(&mut self, mut reader: impl BufRead) -> io::Result<()> {
        loop {
            let bytes = reader.fill_buf()?;
            let length = bytes.len();
            if length == 0 {
                return Ok(());
            }
            self.write(bytes);
            reader.consume(length);
        }
    }

    /// Finishes the output and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), CommandError> {
        self.encode()?;
        if let Some(screen) = &mut self.screen {
            let end = screen.finish();
            self.pass(end.as_bytes());
        }
        if self.failed.is_none() {
            self.failed = match &mut self.target {
                OutputPlace::Stdout(stdout) => {
                    // The prompt of a terminal starts on a new line.
                    let end: &[u8] = if self.open_line && stdout.is_terminal() { b"\n" } else { b"" };
                    stdout.write_all(end).and_then(|()| stdout.flush()).err()
                }
                OutputPlace::Device(_, file) => file.flush().err(),
                OutputPlace::Temporary(unfinished) => unfinished.persist().err(),
            };
        }
        self.take_error()
    }
}

/// A temporary file with a buffer for writing.
struct BufferedSpace(io::BufWriter<File>);

impl BufferedSpace {
    fn new(file: File) -> Self {
        Self(io::BufWriter::with_capacity(256 << 10, file))
    }
}

impl io::Read for BufferedSpace {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.flush()?;
        self.0.get_mut().read(buffer)
    }
}

impl Write for BufferedSpace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl io::Seek for BufferedSpace {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl Output for Sink {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_some() || bytes.is_empty() {
            return;
        }
        if let Some((json, _)) = &mut self.encoded {
            self.failed = json.write_all(bytes).err();
            return;
        }
        self.open_line = !bytes.ends_with(b"\n");
        match &mut self.screen {
            None => self.pass(bytes),
            Some(screen) => {
                let shown = screen.push(bytes);
                self.pass(shown.as_bytes());
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.failed.is_some()
    }
}

/// An output for bytes that are not text: they are written unchanged, also to a terminal.
struct UnchangedBytes<'s>(&'s mut Sink);

impl Write for UnchangedBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.pass(bytes);
        match self.0.failed.take() {
            None => Ok(bytes.len()),
            Some(error) => Err(error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    /// Writes bytes unchanged.
    fn pass(&mut self, bytes: &[u8]) {
        let written = match &mut self.target {
            OutputPlace::Stdout(stdout) => stdout.write_all(bytes),
            OutputPlace::Device(_, file) => file.write_all(bytes),
            OutputPlace::Temporary(unfinished) => unfinished.write_all(bytes),
        };
        self.failed = self.failed.take().or(written.err());
    }
}

/// Writes a small file derived from the source, completely or not at all.
pub(crate) fn write_file(path: &Path, source: Option<&Path>, bytes: &[u8]) -> Result<(), CommandError> {
    let mut sink = Sink::file(path, source)?;
    sink.write(bytes);
    sink.finish()
}

/// A file that still has its temporary name.
struct Unfinished {
    /// Its key in `OpenFiles`; removed once the file has its final name.
    number: u64,
    file: Option<NamedTempFile>,
    target: PathBuf,
    permissions: Option<Permissions>,
    /// The file may only replace a file with the same content.
    only_if_same: bool,
}

impl Unfinished {
    fn beside(target: &Path, permissions: Option<Permissions>) -> io::Result<Self> {
        let parent =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_BEGIN).suffix(TEMPORARY_END);
        #[cfg(unix)]
        if permissions.is_none() {
            // Without a source file, the user's umask decides the permissions.
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let (number, file) = open_files().begin(|| builder.tempfile_in(parent), NamedTempFile::path)?;
        Ok(Self { number, file: Some(file), target: target.to_owned(), permissions, only_if_same: false })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn persist(&mut self) -> io::Result<()> {
        if self.only_if_same {
            let Some(file) = &self.file else { return Ok(()) };
            if !same_content(file.path(), &self.target)? {
                return Err(io::Error::other("it is there, and not what an earlier run made of this input"));
            }
            open_files().done.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        if let Some(permissions) = self.permissions.take() {
            file.as_file().set_permissions(permissions)?;
        }
        file.as_file().sync_all()?;
        // Hold the lock during the rename, so that `abandon` cannot remove the file.
        let open = open_files();
        let mut paths = open.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let renamed = file.persist(&self.target);
        paths.remove(&self.number);
        renamed.map(drop).map_err(|failed| failed.error)?;
        open.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let [mut one, mut other] = [File::open(one)?, File::open(other)?].map(io::BufReader::new);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let length = a.len().min(b.len());
        if a[..length] != b[..length] {
            return Ok(false);
        }
        if length == 0 {
            return Ok(a.is_empty() && b.is_empty());
        }
        one.consume(length);
        other.consume(length);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            open_files().paths.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
        }
    }
}

/// The permissions of a source, for a file that is made of it: without leave to run it, because a log is no program, and
/// without that of others who cannot come to the source, because a folder around it is closed.
#[cfg(unix)]
fn permissions_like(source: &Path, target: &Path) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = fs::metadata(source).ok().filter(fs::Metadata::is_file)?;
    let closed_to = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::canonicalize(parent)?.ancestors().try_fold(0, |closed, folder| {
            let mode = fs::metadata(folder)?.permissions().mode();
            let others = if mode & 0o001 == 0 { 0o007 } else { 0 };
            io::Result::Ok(closed | others | if mode & 0o010 == 0 { 0o070 } else { 0 })
        })
    };
    let source = fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    // If the folder permissions cannot be read, treat the source as private and the target as public.
    let closed = closed_to(&source).unwrap_or(0o077) & !closed_to(target).unwrap_or(0);
    Some(Permissions::from_mode(meta.permissions().mode() & 0o666 & !closed))
}

#[cfg(not(unix))]
fn permissions_like(source: &Path, _: &Path) -> Option<Permissions> {
    fs::metadata(source).ok().filter(fs::Metadata::is_file).map(|meta| meta.permissions())
}

/// Temporary files and folders, to be removed when the command is stopped.
pub(crate) struct OpenFiles {
    paths: Mutex<HashMap<u64, PathBuf>>,
    next: AtomicU64,
    done: AtomicUsize,
    /// The expected number of outputs, if there are several.
    expected: AtomicUsize,
}

/// The temporary files of this run.
pub(crate) fn open_files() -> &'static OpenFiles {
    static OPEN: std::sync::OnceLock<OpenFiles> = std::sync::OnceLock::new();
    OPEN.get_or_init(|| OpenFiles {
        paths: Mutex::default(),
        next: AtomicU64::new(0),
        done: AtomicUsize::new(0),
        expected: AtomicUsize::new(0),
    })
}

impl OpenFiles {
    /// Creates a file or a folder and registers it under the lock, so that it never stays behind.
    fn begin<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(u64, T)> {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let new = make()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        paths.insert(number, path(&new).to_owned());
        Ok((number, new))
    }

    /// Sets the expected number of outputs.
    pub(crate) fn expect(&self, files: usize) {
        self.expected.store(files, Ordering::Relaxed);
    }

    /// Removes all temporary files and blocks further renames. Returns the number of finished files and the number of
    /// expected files.
    pub(crate) fn abandon(&self) -> (usize, usize) {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths.values() {
            // A failed removal cannot be reported any more.
            let _ = fs::remove_file(path);
        }
        // The lock is never released, because the process is about to end.
        std::mem::forget(paths);
        (self.done.load(Ordering::Relaxed), self.expected.load(Ordering::Relaxed))
    }
}

/// Rejects an output that would overwrite an input or another output, before any file is opened.
pub(crate) fn check_places(written: &[&Path], read: &[&Path]) -> Result<(), CommandError> {
    let read: HashSet<FilePlace> = read.iter().map(|path| FilePlace::of(path)).collect();
    let mut taken = HashSet::new();
    for path in written {
        let place = FilePlace::of(path);
        if read.contains(&place) {
            return Err(CommandError::OverInput((*path).to_owned()));
        }
        if !taken.insert(place) {
            return Err(CommandError::OverOutput((*path).to_owned()));
        }
    }
    Ok(())
}
