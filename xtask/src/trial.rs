//! `cargo xtask try NAME FOLDER`: tests a dialect with real files.
//!
//! Each file is converted to a record and back, in memory, and must be restored byte for byte; mapped, kept and lost
//! leaves and problems are summed over all files. The task is for the author of a dialect who has a folder of private
//! logs. It writes no file, and a failure in a file does not stop the run.

mod render;
mod tally;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use interlingua::dialects::{DIALECTS, Dialect, Options, Role};
use interlingua::error::{Error, Window};
use interlingua::json::Output;
use interlingua::ledger::{Leftover, Report};
use interlingua::model::{Event, ItemKind};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use interlingua::sniff;
use interlingua::tape::Limits;

use crate::TaskResult;
use tally::TrialTally;

/// Tests every file and fails if a file is not restored.
pub(crate) fn run(arguments: &[String]) -> TaskResult<()> {
    let [name, path] = arguments else {
        return Err("expected a dialect and a folder\nhint: `cargo xtask try NAME FOLDER`".into());
    };
    let dialect = Dialect::named(name).ok_or_else(|| {
        let known: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        format!("there is no dialect `{name}`\nhint: there are {}", known.join(", "))
    })?;
    let tally = match try_all(dialect, Path::new(path), &mut io::stdout().lock()) {
        // The reader of stdout closed it, as `head` does.
        Err(error) if is_broken_pipe(&*error) => return Ok(()),
        tally => tally?,
    };
    let all = tally.tried + tally.failed;
    match tally.different + tally.failed + tally.unbalanced {
        _ if all == 0 => Err(format!("nothing in `{path}` looks like `{name}`, so nothing was tried").into()),
        0 => Ok(()),
        broken => Err(format!("{broken} of {all} did not come through as they should").into()),
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Tests all files in sequence: prints problems of a file at once, and a summary at the end.
fn try_all(dialect: &'static Dialect, path: &Path, out: &mut dyn Write) -> TaskResult<TrialTally> {
    if dialect.name == RECORD {
        return Err("`record` is what files are tried through\nhint: `interlingua check FILE`".into());
    }
    let mut tally = TrialTally::default();
    let files = Files::below(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    for (file, listed) in files {
        let inner = file.strip_prefix(path).ok().filter(|inner| !inner.as_os_str().is_empty());
        let name = render::printable(&inner.unwrap_or(&file).to_string_lossy());
        let choice = if inner.is_some() { Choice::Found } else { Choice::Named };
        let trial = match listed {
            Ok(()) => try_file(dialect, &file, choice),
            Err(error) => Trial::Failed(error.to_string()),
        };
        out.write_all(render::trial(&name, &trial).as_bytes())?;
        tally.add(&name, trial);
    }
    out.write_all(render::tally(dialect, &tally).as_bytes())?;
    Ok(tally)
}

/// The dialect that files are converted to.
const RECORD: &str = "record";

/// The files below a folder, sorted within each folder. Links are not followed, because they may form a cycle.
struct Files(Vec<FolderEntry>);

enum FolderEntry {
    File(PathBuf),
    Folder(PathBuf),
}

impl Files {
    /// If the path is a file, it is the only one.
    fn below(path: &Path) -> io::Result<Self> {
        let kind = fs::metadata(path)?.file_type();
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => Ok(Self(vec![FolderEntry::Folder(path.to_owned())])),
            (_, true) => Ok(Self(vec![FolderEntry::File(path.to_owned())])),
            (false, false) => Err(io::Error::other("neither a file nor a folder")),
        }
    }

    fn list(&mut self, folder: &Path) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        // The stack is popped from its end, so the order is reversed.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
        for entry in entries {
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.0.push(FolderEntry::Folder(entry.path()));
            } else if kind.is_file() {
                self.0.push(FolderEntry::File(entry.path()));
            }
        }
        Ok(())
    }
}

impl Iterator for Files {
    /// A file, or a folder that could not be listed, with the error.
    type Item = (PathBuf, io::Result<()>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.pop()? {
                FolderEntry::File(path) => return Some((path, Ok(()))),
                FolderEntry::Folder(path) => {
                    if let Err(error) = self.list(&path) {
                        return Some((path, Err(error)));
                    }
                }
            }
        }
    }
}

/// How a file was selected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Named on the command line: read as the dialect regardless of detection.
    Named,
    /// Found in the folder: read only if detection finds the dialect.
    Found,
}

/// The result of one file.
enum Trial {
    /// The file is of another dialect: the result of detection.
    Skipped(String),
    /// The file could not be read, or the conversion panicked.
    Failed(String),
    /// The file was converted.
    Tried(Box<Tried>),
}

/// A converted file.
struct Tried {
    /// The result of detection, if it differs from the dialect.
    looks_like: Option<String>,
    bytes: u64,
    record_bytes: u64,
    /// The report of the conversion to the record.
    there: Report,
    /// The report of the conversion back.
    back: Report,
    comes_back: ComesBack,
    items: Items,
}

/// Whether the file is restored from the record.
enum ComesBack {
    Same,
    Differs(Difference),
    /// The dialect has no writer yet, or files of this role are not restored byte for byte.
    Uncompared,
}

/// The first difference between a file and the restored file.
struct Difference {
    /// The line, from 1.
    line: u64,
    /// The byte in the line, from 0.
    byte: usize,
    was: Window,
    is: Window,
}

/// How many items of each kind a file holds.
#[derive(Default)]
struct Items {
    messages: u64,
    reasoning: u64,
    calls: u64,
    results: u64,
    /// Notices by the dialect's own word.
    notices: BTreeMap<String, u64>,
}

fn try_file(dialect: &'static Dialect, path: &Path, choice: Choice) -> Trial {
    let (bytes, guesses) = match open(path, dialect, choice) {
        Ok(TriedFile::Read(bytes, guesses)) => (bytes, guesses),
        Ok(TriedFile::Skip(looks_like)) => return Trial::Skipped(looks_like),
        Err(error) => return Trial::Failed(error.to_string()),
    };
    let own = guesses.iter().find(|guess| guess.dialect.name == dialect.name).map(|guess| guess.role);
    let readable = |role: &Role| dialect.role(*role).is_some_and(|spec| spec.read.is_some());
    let Some(role) = own.or_else(|| dialect.roles.iter().map(|spec| spec.role).find(readable)) else {
        return Trial::Skipped(format!("{}, which has no reader", dialect.name));
    };
    if !readable(&role) {
        return Trial::Skipped(format!("{} {}, which has no reader", dialect.name, role.word()));
    }
    let source_name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let options = Options::default().with_source_name(source_name);
    let trial = catch_unwind(AssertUnwindSafe(|| try_bytes((dialect, role), &bytes, &options)));
    match trial {
        Ok(Ok(tried)) => {
            let best = guesses.first().map(|guess| guess.dialect.name).filter(|name| *name != dialect.name);
            Trial::Tried(Box::new(Tried { looks_like: best.map(str::to_owned), ..tried }))
        }
        Ok(Err(error)) => Trial::Failed(error.to_string()),
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().copied();
            let said = said.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
            Trial::Failed(format!("the conversion panicked: {said}"))
        }
    }
}

/// A file to test, or the result of detection for a skipped file.
enum TriedFile {
    Read(Vec<u8>, Vec<sniff::Guess>),
    Skip(String),
}

/// Reads as much of a file as detection needs, and the rest if it is of the dialect.
fn open(path: &Path, dialect: &Dialect, choice: Choice) -> io::Result<TriedFile> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut complete = read_more(&mut file, sniff::HEAD, &mut bytes)?;
    let mut guesses = sniff::candidates(&bytes, complete).guesses;
    // A longer first document must be read completely.
    let like_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    if guesses.is_empty() && !complete && like_json {
        complete = read_more(&mut file, Limits::default().bytes, &mut bytes)?;
        guesses = sniff::candidates(&bytes, complete).guesses;
    }
    let best = guesses.first();
    if choice == Choice::Found && best.is_none_or(|guess| guess.dialect.name != dialect.name) {
        return Ok(TriedFile::Skip(match best {
            Some(guess) => guess.dialect.name.to_owned(),
            None if complete && bytes.trim_ascii().is_empty() => "nothing: it is blank".to_owned(),
            None => "no dialect".to_owned(),
        }));
    }
    if !complete {
        file.read_to_end(&mut bytes)?;
    }
    Ok(TriedFile::Read(bytes, guesses))
}

/// Reads up to `most` bytes; returns whether the end was reached.
fn read_more(file: &mut File, most: usize, bytes: &mut Vec<u8>) -> io::Result<bool> {
    Ok(file.take(most as u64).read_to_end(bytes)? < most)
}

fn try_bytes(way: (&'static Dialect, Role), bytes: &[u8], options: &Options) -> Result<Tried, Error> {
    let record = Dialect::named(RECORD).ok_or(Error::UnknownDialect(RECORD.to_owned()))?;
    let record = (record, Role::Log);
    let compared = way.1 == Role::Log && way.0.role(way.1).is_some_and(|spec| spec.write.is_some());
    let back = if compared {
        Pipe::new(record, way, options)?
    } else {
        // Without a writer for the way back, the record is only read, which still validates it.
        Pipe::with_writer(record, Box::new(Watch::default()), options)?
    };
    let compare = Compare { was: bytes, same: 0, is: Vec::new() };
    let mut through = Through { bytes: 0, back, compare };
    let there = Pipe::new(way, record, options)?.finish_with(bytes, &mut through);
    let Through { bytes: record_bytes, back, mut compare } = through;
    let back = back.finish(&mut compare);
    let watch = Watch::default();
    let items = Arc::clone(&watch.0);
    Pipe::with_writer(way, Box::new(watch), options)?.finish_with(bytes, &mut Nowhere);
    let items = std::mem::take(&mut *items.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Tried {
        looks_like: None,
        bytes: bytes.len() as u64,
        record_bytes,
        there,
        back,
        comes_back: match compare.difference() {
            _ if !compared => ComesBack::Uncompared,
            None => ComesBack::Same,
            Some(difference) => ComesBack::Differs(difference),
        },
        items,
    })
}

/// Passes the record on to the way back without holding it as a whole.
struct Through<'b> {
    bytes: u64,
    back: Pipe,
    compare: Compare<'b>,
}

impl Output for Through<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.back.push(bytes, &mut self.compare);
    }
}

/// Compares the restored bytes with the original.
struct Compare<'b> {
    was: &'b [u8],
    /// The number of equal bytes.
    same: usize,
    /// The first different bytes, as many as are shown.
    is: Vec<u8>,
}

impl Output for Compare<'_> {
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if self.is.is_empty() {
            let ahead = &self.was[self.same..];
            let same = if ahead.starts_with(bytes) {
                bytes.len()
            } else {
                ahead.iter().zip(bytes).take_while(|(was, is)| was == is).count()
            };
            self.same += same;
            rest = &bytes[same..];
        }
        let most = SHOWN.saturating_sub(self.is.len()).min(rest.len());
        self.is.extend_from_slice(&rest[..most]);
    }
}

/// More than a window shows on either side.
const SHOWN: usize = 64;

impl Compare<'_> {
    /// The first difference. The restored file may also be too short.
    fn difference(&self) -> Option<Difference> {
        if self.is.is_empty() && self.same == self.was.len() {
            return None;
        }
        let is_inside = |bytes: &[u8], at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let begin = self.same.saturating_sub(SHOWN);
        let mut is = self.was[begin..self.same].to_vec();
        is.extend_from_slice(&self.is);
        // Two characters may share their first bytes.
        let mut at = self.same;
        while at > begin && (is_inside(self.was, at) || is_inside(&is, at - begin)) {
            at -= 1;
        }
        let before = &self.was[..at];
        let lines = before.split(|byte| *byte == b'\n');
        Some(Difference {
            byte: lines.clone().next_back().map_or(0, <[u8]>::len),
            line: lines.count() as u64,
            was: Window::around(self.was, at),
            is: Window::around(&is, at - begin),
        })
    }
}

/// A writer without output that counts the items.
#[derive(Default)]
struct Watch(Arc<Mutex<Items>>);

impl Writer for Watch {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let Event::ItemStarted(head) = event else { return };
        let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &head.kind {
            ItemKind::Message => items.messages += 1,
            ItemKind::Reasoning => items.reasoning += 1,
            ItemKind::ToolCall(_) => items.calls += 1,
            ItemKind::ToolResult(_) => items.results += 1,
            ItemKind::Notice(notice) => {
                let word = notice.event_type.as_ref().map_or("", |word| word.as_escaped());
                match items.notices.get_mut(word) {
                    Some(count) => *count += 1,
                    None => _ = items.notices.insert(word.to_owned(), 1),
                }
            }
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

/// An output that drops all bytes.
struct Nowhere;

impl Output for Nowhere {
    fn write(&mut self, _: &[u8]) {}
}

#[cfg(test)]
mod tests;
