//! The chat history of Aider: a Markdown file to which Aider appends all sessions of a folder. Each session becomes one
//! document with an entry for each prompt, each answer, and each group of lines that Aider printed.
//!
//! ```text
//! # aider chat started at 2026-11-18 20:00:49   {"aider":{"started":"2026-11-18 20:00:49",…},"entries":[
//! > Aider v0.86.2                               {"kind":"version","text":"Aider v0.86.2","version":"0.86.2"},
//! #### What did it print?                       {"kind":"user","text":"What did it print?"},
//! It printed `gauge`.                           {"kind":"assistant","text":"It printed `gauge`."}]}
//! ```
//!
//! No byte is dropped: the Markdown that Aider writes for an entry follows from its text, and an entry with another Markdown
//! has it in `raw`.

mod blocks;
mod console;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use rusqlite::Connection;

use super::document::{Members, text};
use super::error::ArchiveError;
use blocks::{Block, BlockKind, blocks};

/// The first bytes of a chat history, on systems with either line break.
pub(crate) const BEGINNINGS: [&[u8]; 3] =
    [b"\n# aider chat started at ", b"# aider chat started at ", b"\r\n# aider chat started at "];

/// The beginning of the line that starts a session.
const HEADING: &[u8] = b"# aider chat started at ";
/// The length of `2026-11-18 20:00:49`.
const STAMP: usize = 19;
/// The name of the file in the folder of a project, unless a setting of Aider names another.
const USUAL_NAME: &str = ".aider.chat.history.md";
/// The longest session that is read: its Markdown is in memory.
const LONGEST: u64 = 512 << 20;

/// A session in a chat history.
#[derive(Clone, Debug)]
pub(crate) struct HistorySession {
    /// The time in its heading, as an id.
    pub(crate) id: String,
    begin: u64,
    end: u64,
}

/// Whether a file is a chat history of Aider.
pub(crate) fn is_history(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_end(&mut begin));
    read.is_ok() && BEGINNINGS.iter().any(|beginning| begin.starts_with(beginning))
}

/// The sessions of a chat history, in their order. Sessions of one second have the same id with a number.
pub(crate) fn sessions(path: &Path) -> Result<Vec<HistorySession>, ArchiveError> {
    let failed = |error| ArchiveError::Io(path.to_owned(), error);
    let file = File::open(path).map_err(failed)?;
    let headings = headings(BufReader::with_capacity(256 << 10, file)).map_err(failed)?;
    let mut sessions: Vec<HistorySession> = Vec::new();
    let mut of_second: HashMap<String, u64> = HashMap::new();
    for (begin, id) in headings.starts {
        if let Some(last) = sessions.last_mut() {
            last.end = begin;
        }
        let alike = of_second.entry(id.clone()).or_default();
        *alike += 1;
        let id = if *alike > 1 { format!("{id}-{alike}") } else { id };
        sessions.push(HistorySession { id, begin, end: headings.length });
    }
    // The empty line before the first heading belongs to the first session.
    if let Some(first) = sessions.first_mut() {
        first.begin = 0;
    }
    Ok(sessions)
}

/// Reads a session as a document.
pub(crate) fn read(path: &Path, session: &HistorySession) -> Result<impl Read + use<>, ArchiveError> {
    let failed = |error| ArchiveError::Io(path.to_owned(), error);
    let length = session.end.saturating_sub(session.begin);
    if length > LONGEST {
        return Err(failed(too_long()));
    }
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(session.begin)).map_err(failed)?;
    let mut markdown = Vec::new();
    file.take(length).read_to_end(&mut markdown).map_err(failed)?;
    let is_usual = path.file_name().is_some_and(|name| name == USUAL_NAME);
    let folder = std::path::absolute(path).ok().filter(|_| is_usual);
    let folder = folder.as_deref().and_then(Path::parent).map(|folder| folder.to_string_lossy().into_owned());
    let mut document = String::new();
    write_document(&markdown, folder.as_deref(), &Zone::of_machine(), &mut document);
    Ok(io::Cursor::new(document.into_bytes()))
}

/// Reads a chat history to its end and returns its sessions as documents.
pub(crate) fn documents(history: impl Read) -> io::Result<Vec<u8>> {
    let mut markdown = Vec::new();
    history.take(LONGEST + 1).read_to_end(&mut markdown)?;
    if markdown.len() as u64 > LONGEST {
        return Err(too_long());
    }
    let mut document = String::new();
    let mut starts: Vec<usize> = headings(&markdown[..])?
        .starts
        .into_iter()
        .skip(1)
        .map(|(begin, _)| usize::try_from(begin).unwrap_or(markdown.len()))
        .collect();
    starts.push(markdown.len());
    let (mut begin, zone) = (0, Zone::of_machine());
    for end in starts {
        write_document(markdown.get(begin..end).unwrap_or_default(), None, &zone, &mut document);
        begin = end;
    }
    Ok(document.into_bytes())
}

fn too_long() -> io::Error {
    let why = format!("a session of its chat history has more than {LONGEST} bytes, the limit");
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

/// The headings of a chat history.
struct Headings {
    /// The place where each session begins, with the empty line before its heading, and the time as an id.
    starts: Vec<(u64, String)>,
    /// The length of the history.
    length: u64,
}

/// Finds the headings: lines at the beginning or after an empty line. Memory holds the beginning of one line.
fn headings(mut history: impl BufRead) -> io::Result<Headings> {
    let mut found = Headings { starts: Vec::new(), length: 0 };
    let (mut line, mut begin) = (Vec::new(), 0);
    // The place of the empty line before the current line.
    let mut before = Some(0);
    loop {
        let bytes = history.fill_buf()?;
        let (taken, has_ended) = match memchr::memchr(b'\n', bytes) {
            Some(at) => (at + 1, true),
            None => (bytes.len(), false),
        };
        let is_over = bytes.is_empty();
        let room = MOST_HEADING.saturating_sub(line.len()).min(taken);
        line.extend_from_slice(bytes.get(..room).unwrap_or_default());
        history.consume(taken);
        found.length += taken as u64;
        if has_ended || is_over {
            if let (Some(before), Some(stamp)) = (before, heading(&line)) {
                found.starts.push((before, stamp.replace(' ', "_").replace(':', "-")));
            }
            before = matches!(line.as_slice(), b"\n" | b"\r\n").then_some(begin);
            line.clear();
            begin = found.length;
        }
        if is_over {
            return Ok(found);
        }
    }
}

/// More bytes than a heading has.
const MOST_HEADING: usize = 64;

/// The time in a heading.
fn heading(line: &[u8]) -> Option<&str> {
    let stamp = line.strip_prefix(HEADING)?.trim_ascii_end();
    let fits = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        10 => *byte == b' ',
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    };
    let is_time = stamp.len() == STAMP && stamp.iter().enumerate().all(fits);
    std::str::from_utf8(stamp).ok().filter(|_| is_time)
}

/// Writes a session as a document.
fn write_document(markdown: &[u8], folder: Option<&str>, zone: &Zone, out: &mut String) {
    let found = blocks(markdown);
    let newline = if found.has_returns { "\r\n" } else { "\n" };
    let mut writer =
        EntryWriter { markdown, newline, entries: Vec::new(), answer: String::new(), is_stopped: false };
    let mut head = Members::default();
    for block in &found.blocks {
        match block.kind {
            BlockKind::Heading => writer.heading(block, folder, zone, &mut head),
            BlockKind::User => writer.user(block),
            BlockKind::Assistant => writer.assistant(block),
            BlockKind::Console => console::write(block, &mut writer),
        }
    }
    out.push_str("{\"aider\":");
    out.push_str(&head.finish());
    out.push_str(",\"entries\":[");
    out.push_str(&writer.entries.join(","));
    out.push_str("]}\n");
}

/// Writes the entries of a session.
struct EntryWriter<'m> {
    markdown: &'m [u8],
    newline: &'static str,
    entries: Vec<String>,
    /// The text of the last answer: its edits are applied after it.
    answer: String,
    /// The user has stopped the next answer.
    is_stopped: bool,
}

impl EntryWriter<'_> {
    /// The bytes of a block.
    fn bytes(&self, block: &Block<'_>) -> &[u8] {
        self.markdown.get(block.begin..block.end).unwrap_or_default()
    }

    fn heading(&self, block: &Block<'_>, folder: Option<&str>, zone: &Zone, head: &mut Members) {
        let line = block.lines.iter().find_map(|line| heading(line.text));
        let started = line.unwrap_or_default();
        put(head, "started", started);
        if let Some(start) = zone.in_utc(started) {
            put(head, "start", &start);
        }
        if let Some(folder) = folder {
            put(head, "folder", folder);
        }
        if self.newline == "\r\n" {
            put(head, "newline", self.newline);
        }
        let n = self.newline;
        Self::keep(self.bytes(block), &format!("{n}# aider chat started at {started}{n}{n}"), head);
    }

    fn user(&mut self, block: &Block<'_>) {
        self.is_stopped = false;
        let text = block.text(|line| {
            let line = line.strip_prefix(b"####").unwrap_or(line);
            let line = line.strip_suffix(b"  ").unwrap_or(line);
            line.strip_prefix(b" ").unwrap_or(line)
        });
        let kind = match text.as_str() {
            BLANK => "blank",
            text if text.starts_with(['/', '!']) => "command",
            _ => "user",
        };
        let n = self.newline;
        let lines = text.split('\n').map(|line| match line {
            "" if !text.contains('\n') => format!("####  {n}"),
            line => format!("#### {line}  {n}"),
        });
        let usual = n.to_owned() + &lines.collect::<String>();
        self.entry(kind, &text, Members::default(), block, &usual);
    }

    fn assistant(&mut self, block: &Block<'_>) {
        let text = block.text(|line| line);
        let whole = text.trim_matches('\n');
        let mut members = Members::default();
        let mut usual = whole.to_owned();
        let answer = match reasoning(whole) {
            Some((reasoning, answer)) => {
                put(&mut members, "reasoning", reasoning);
                usual = format!("<{REASONING}>\n\n{reasoning}\n\n</{REASONING}>\n\n{answer}");
                answer
            }
            None => whole,
        };
        let n = self.newline;
        let usual = format!("{n}{}{n}{n}", usual.replace('\n', n));
        if std::mem::take(&mut self.is_stopped) {
            members.raw("interrupted", "true");
        }
        answer.clone_into(&mut self.answer);
        self.entry("assistant", answer, members, block, &usual);
    }

    /// Adds an entry. `usual` is the Markdown that Aider writes for it.
    fn entry(&mut self, kind: &str, plain: &str, others: Members, block: &Block<'_>, usual: &str) {
        let mut members = Members::default();
        put(&mut members, "kind", kind);
        put(&mut members, "text", plain);
        members.append(others);
        Self::keep(self.bytes(block), usual, &mut members);
        self.entries.push(members.finish());
    }

    /// Keeps the Markdown of an entry, unless it is the usual one.
    fn keep(bytes: &[u8], usual: &str, members: &mut Members) {
        if bytes != usual.as_bytes() {
            put(members, "raw", &String::from_utf8_lossy(bytes));
            members.bytes("raw", bytes);
        }
    }
}

/// The text of a prompt without words.
const BLANK: &str = "<blank>";

/// The tag that Aider puts around reasoning.
const REASONING: &str = "thinking-content-7bbeb8e1441453ad999a0bbba8a46d4b";

/// The reasoning before an answer, and the answer. Aider marks reasoning with a tag of its own; models with a tag have `think`.
fn reasoning(whole: &str) -> Option<(&str, &str)> {
    let (tag, rest) = whole.strip_prefix('<')?.split_once('>')?;
    if ![REASONING, "think", "thinking"].contains(&tag) {
        return None;
    }
    let (reasoning, answer) = rest.split_once(&format!("</{tag}>"))?;
    Some((reasoning.trim_matches('\n'), answer.trim_matches('\n')))
}

fn put(members: &mut Members, name: &str, plain: &str) {
    let mut json = String::new();
    text(plain, &mut json);
    members.raw(name, &json);
}

/// The time zone of this machine, which SQLite knows.
struct Zone(Option<Connection>);

impl Zone {
    fn of_machine() -> Self {
        Self(Connection::open_in_memory().ok())
    }

    /// A time of this machine in UTC.
    fn in_utc(&self, stamp: &str) -> Option<String> {
        let mut asked =
            self.0.as_ref()?.prepare_cached("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1, 'utc')").ok()?;
        asked.query_row([stamp], |row| row.get(0)).ok()?
    }
}
