//! One pass over a JSON record: its facts, the bytes around the entries, and each entry with its parts.
//!
//! The scanner finds boundaries; it does not check the schema, and inside the values of an entry it checks only
//! brackets and strings (`interlingua check` checks the rest). A name that an object of the record, its session or an
//! entry holds twice is refused, because two readers could see two records.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use interlingua::json::Str;

use super::window::Window;
use crate::cbor::{RecordJson, is_cbor_record};

/// The reason for which a record cannot be scanned.
#[derive(Debug)]
pub enum ScanFault {
    /// Reading failed.
    Io(io::Error),
    /// The record ends in the middle, at this offset.
    Truncated(u64),
    /// Another byte than expected.
    Malformed {
        /// The offset of the byte.
        at: u64,
        /// The expected syntax.
        expected: &'static str,
    },
    /// An object holds this name twice.
    DuplicateName(String),
    /// The record has no list `session/entries`.
    NoEntries,
    /// Another document follows the record, at this offset.
    SeveralRecords(u64),
    /// An entry is longer than 1 GiB.
    TooLarge(u64),
    /// An entry is nested deeper than 10,000 levels.
    TooDeep(u64),
    /// A record has more than 2^32 entries.
    TooMany,
}

impl fmt::Display for ScanFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScanFault::Io(error) => write!(out, "the record cannot be read: {error}"),
            ScanFault::Truncated(at) => write!(out, "the record is truncated at offset {at}"),
            ScanFault::Malformed { at, expected } => {
                write!(out, "the record is not valid JSON at offset {at}: expected {expected}")
            }
            ScanFault::DuplicateName(name) => {
                write!(out, "the record holds the name `{name}` twice in one object")
            }
            ScanFault::NoEntries => {
                write!(out, "the file is not a record: it has no list `session/entries`")
            }
            ScanFault::SeveralRecords(at) => {
                write!(out, "the file holds several records: a second document begins at offset {at}")
            }
            ScanFault::TooLarge(at) => {
                write!(out, "a part of the record is longer than 1 GiB, at offset {at}")
            }
            ScanFault::TooDeep(at) => {
                write!(out, "the record is nested deeper than 10,000 levels at offset {at}")
            }
            ScanFault::TooMany => write!(out, "the record has more than 2^32 entries"),
        }
    }
}

impl std::error::Error for ScanFault {}

impl ScanFault {
    /// The same reason once more. An [`io::Error`] has no copy, so its text is copied.
    pub(super) fn again(&self) -> Self {
        match self {
            ScanFault::Io(error) => ScanFault::Io(io::Error::new(error.kind(), error.to_string())),
            ScanFault::Truncated(at) => ScanFault::Truncated(*at),
            ScanFault::Malformed { at, expected } => ScanFault::Malformed { at: *at, expected },
            ScanFault::DuplicateName(name) => ScanFault::DuplicateName(name.clone()),
            ScanFault::NoEntries => ScanFault::NoEntries,
            ScanFault::SeveralRecords(at) => ScanFault::SeveralRecords(*at),
            ScanFault::TooLarge(at) => ScanFault::TooLarge(*at),
            ScanFault::TooDeep(at) => ScanFault::TooDeep(*at),
            ScanFault::TooMany => ScanFault::TooMany,
        }
    }
}

/// The parts of an entry that can be removed one by one. All other members stay, or are removed with the entry.
pub const REMOVABLE: [&str; 9] =
    ["children", "content", "data", "encrypted", "files", "input", "output", "signature", "vendor-ext"];

/// A removable member of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryPart {
    pub(super) name: &'static str,
    /// The position of the value in the piece.
    pub(super) range: Range<usize>,
}

/// An entry of a record.
pub(super) struct ScannedEntry<'a> {
    pub(super) index: u64,
    /// The separator before the entry (a comma, white space) and the entry.
    pub(super) piece: &'a [u8],
    /// The start of the entry in the piece.
    pub(super) start: usize,
    pub(super) parts: &'a [EntryPart],
}

/// Receives the pieces of a record in their order. The pieces are the whole record, without gaps.
pub(super) trait RecordVisitor {
    /// The bytes before the first entry.
    fn before(&mut self, bytes: &[u8]);
    /// One entry.
    fn entry(&mut self, entry: &ScannedEntry<'_>) -> Result<(), ScanFault>;
    /// The bytes after the last entry, and the position of the value that [`SourceValue`] describes.
    fn after(&mut self, bytes: &[u8], source: &SourceValue);
}

/// The digest of the log that the record was made from: `session/vendor-ext/data/source`.
///
/// With the digest of a log, a reader of the redacted record could test guesses about the removed text. So the tree head does
/// not cover the value, and redaction replaces it by `null`. The entries and the other members determine the log, and with
/// it the right value; `interlingua check` compares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SourceValue {
    /// The record names no source.
    #[default]
    Absent,
    /// The position of the value after the entries: `null`, or exactly the members that a record writer emits.
    At(Range<usize>),
    /// A value of another form or before the entries. It is an ordinary value, which the tree head covers.
    Covered,
}

/// Whether the value of `source` is `null`, or has the members and the spelling that the record writer emits.
fn is_source(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let read = || {
        let rest = text.strip_prefix(r#"{"bytes":"#)?;
        let (bytes, rest) = rest.split_once(r#","dialect":""#)?;
        let (dialect, rest) = rest.split_once('"')?;
        let (records, rest) = rest.split_once(r#","sha-256":""#)?;
        let digits = rest.strip_suffix(r#""}"#)?;
        let is_number =
            |text: &str| (1..20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let is_name = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let is_digit = |b: u8| matches!(b, b'a'..=b'f' | b'0'..=b'9');
        let fits = dialect.len() <= 40 && dialect.bytes().all(is_name) && is_number(bytes);
        let fits = fits && digits.len() == 64 && digits.bytes().all(is_digit);
        let records = match records {
            "" => true,
            more => is_number(more.strip_prefix(r#","records":"#)?),
        };
        Some(fits && records)
    };
    text == "null" || read().unwrap_or(false)
}

/// A time of the record: text, or milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordTime {
    /// RFC 3339 text.
    Text(String),
    /// Milliseconds since 1970.
    Millis(u64),
}

/// Facts of a record outside its entries, and the first time among its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFacts {
    /// The version of the schema.
    pub version: Option<String>,
    /// The id of the session.
    pub session: Option<String>,
    /// The provider of the model.
    pub provider: Option<String>,
    /// The start of the session.
    pub start: Option<RecordTime>,
    /// The end of the session.
    pub end: Option<RecordTime>,
    /// The time of the first entry with a time.
    pub first_entry: Option<RecordTime>,
    /// The number of entries.
    pub entries: u64,
}

/// Scans a record that is the whole input. A record in CBOR is scanned as its JSON text, in which the other members follow
/// the entries.
pub(super) fn scan(mut input: impl Read, visitor: &mut dyn RecordVisitor) -> Result<RecordFacts, ScanFault> {
    let mut beginning = Vec::new();
    input.by_ref().take(BEGINNING).read_to_end(&mut beginning).map_err(ScanFault::Io)?;
    let is_cbor = is_cbor_record(&beginning);
    let input = io::Cursor::new(beginning).chain(input);
    if is_cbor { scan_json(RecordJson::new(input), visitor) } else { scan_json(input, visitor) }
}

/// How much of a record shows whether it is CBOR.
const BEGINNING: u64 = 32;

fn scan_json(input: impl Read, visitor: &mut dyn RecordVisitor) -> Result<RecordFacts, ScanFault> {
    let mut scanner = Scanner {
        window: Window::new(input),
        facts: RecordFacts::default(),
        parts: Vec::new(),
        names: NameSet::default(),
        source: SourceValue::Absent,
    };
    scanner.record(visitor)?;
    Ok(scanner.facts)
}

struct Scanner<R> {
    window: Window<R>,
    facts: RecordFacts,
    parts: Vec<EntryPart>,
    names: NameSet,
    source: SourceValue,
}

impl<R: Read> Scanner<R> {
    fn record(&mut self, visitor: &mut dyn RecordVisitor) -> Result<(), ScanFault> {
        self.window.expect(b'{', "a record")?;
        let mut names = NameSet::default();
        let mut has_entries = false;
        while let Some(name) = self.window.next_name(names.is_empty())? {
            let name = names.add(self.window.bytes(name))?;
            if name == "session" && self.window.peek_token()? == Some(b'{') {
                has_entries |= self.session(visitor)?;
                continue;
            }
            let value = self.value_text()?;
            if name == "version" {
                self.facts.version = value.and_then(|json| text_of(&json));
            }
        }
        if !has_entries {
            return Err(ScanFault::NoEntries);
        }
        if self.window.peek_token()?.is_some() {
            return Err(ScanFault::SeveralRecords(self.window.offset()));
        }
        visitor.after(self.window.piece(), &self.source);
        Ok(())
    }

    /// Returns whether the session has entries.
    fn session(&mut self, visitor: &mut dyn RecordVisitor) -> Result<bool, ScanFault> {
        self.window.expect(b'{', "a session")?;
        let mut names = NameSet::default();
        let mut has_entries = false;
        while let Some(name) = self.window.next_name(names.is_empty())? {
            let name = names.add(self.window.bytes(name))?;
            if name == "entries" && self.window.peek_token()? == Some(b'[') {
                self.window.expect(b'[', "a list of entries")?;
                visitor.before(self.window.piece());
                self.window.set_mark();
                self.entries(visitor)?;
                has_entries = true;
                continue;
            }
            if name == "agent-meta" && self.window.peek_token()? == Some(b'{') {
                self.agent_meta()?;
                continue;
            }
            if name == "vendor-ext" && self.window.peek_token()? == Some(b'{') {
                self.extension(has_entries, true)?;
                continue;
            }
            let Some(value) = self.value_text()? else { continue };
            match name.as_str() {
                "session-id" => self.facts.session = text_of(&value),
                "session-start" => self.facts.start = time_of(&value),
                "session-end" => self.facts.end = time_of(&value),
                _ => {}
            }
        }
        Ok(has_entries)
    }

    /// Scans the session's `vendor-ext`, or its `data`, for the digest of the source.
    fn extension(&mut self, has_entries: bool, is_outer: bool) -> Result<(), ScanFault> {
        self.window.expect(b'{', "an object")?;
        let mut names = NameSet::default();
        while let Some(name) = self.window.next_name(names.is_empty())? {
            let name = names.add(self.window.bytes(name))?;
            if is_outer && name == "data" && self.window.peek_token()? == Some(b'{') {
                self.extension(has_entries, false)?;
                continue;
            }
            let start = self.window.position();
            self.window.skip_value()?;
            let value = start..self.window.position();
            if !is_outer && name == "source" {
                let is_ours = has_entries && is_source(self.window.bytes(value.clone()));
                self.source = if is_ours { SourceValue::At(value) } else { SourceValue::Covered };
            }
        }
        Ok(())
    }

    fn agent_meta(&mut self) -> Result<(), ScanFault> {
        self.window.expect(b'{', "an object")?;
        let mut names = NameSet::default();
        while let Some(name) = self.window.next_name(names.is_empty())? {
            let name = names.add(self.window.bytes(name))?;
            let value = self.value_text()?;
            if name == "model-provider" {
                self.facts.provider = value.and_then(|json| text_of(&json));
            }
        }
        Ok(())
    }

    /// Skips a value, and returns its JSON text if it is short and not a container.
    fn value_text(&mut self) -> Result<Option<String>, ScanFault> {
        let is_container = matches!(self.window.peek_token()?, Some(b'{' | b'['));
        let start = self.window.position();
        self.window.skip_value()?;
        let end = self.window.position();
        if is_container || end - start > 64 << 10 {
            return Ok(None);
        }
        Ok(std::str::from_utf8(self.window.bytes(start..end)).ok().map(str::to_owned))
    }

    fn entries(&mut self, visitor: &mut dyn RecordVisitor) -> Result<(), ScanFault> {
        let mut index = 0;
        loop {
            // White space after the last entry belongs to the bytes after the entries.
            match self.window.peek_token()? {
                Some(b']') => break,
                Some(b',') if index > 0 => self.window.expect(b',', "a comma")?,
                _ if index > 0 => return Err(self.window.malformed("a comma or the end of the entries")),
                _ => {}
            }
            if self.window.peek_token()? != Some(b'{') {
                return Err(self.window.malformed("an entry"));
            }
            let start = self.window.position();
            self.entry()?;
            let entry = ScannedEntry { index, piece: self.window.piece(), start, parts: &self.parts };
            visitor.entry(&entry)?;
            self.window.set_mark();
            index += 1;
            if index > u64::from(u32::MAX) {
                return Err(ScanFault::TooMany);
            }
        }
        self.facts.entries = index;
        self.window.expect(b']', "the end of the entries")
    }

    fn entry(&mut self) -> Result<(), ScanFault> {
        self.window.expect(b'{', "an entry")?;
        self.parts.clear();
        self.names.clear();
        while let Some(name) = self.window.next_name(self.names.is_empty())? {
            let start = self.window.position();
            let name = self.names.add_bytes(self.window.bytes(name))?;
            let part = REMOVABLE.into_iter().find(|known| known.as_bytes() == name);
            let is_time = self.facts.first_entry.is_none() && name == b"timestamp";
            self.window.skip_value()?;
            let range = start..self.window.position();
            if is_time && let Ok(json) = std::str::from_utf8(self.window.bytes(range.clone())) {
                self.facts.first_entry = time_of(json);
            }
            self.parts.extend(part.map(|name| EntryPart { name, range }));
        }
        Ok(())
    }
}

/// The names of one object.
#[derive(Default)]
struct NameSet {
    /// The first few names, one after the other, and the ends of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The names after the first few.
    more: HashSet<Vec<u8>>,
}

/// A short list is compared faster than it is hashed.
const FEW: usize = 16;

impl NameSet {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.more.clear();
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn add(&mut self, escaped: &[u8]) -> Result<String, ScanFault> {
        self.add_bytes(escaped).map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// Adds a name, and returns it without escapes.
    fn add_bytes(&mut self, escaped: &[u8]) -> Result<&[u8], ScanFault> {
        let start = self.bytes.len();
        let text = escaped.contains(&b'\\').then(|| std::str::from_utf8(escaped));
        match text {
            Some(Ok(text)) => self.bytes.extend_from_slice(Str::escaped(text).decode().as_bytes()),
            Some(Err(_)) | None => self.bytes.extend_from_slice(escaped),
        }
        let name = &self.bytes[start..];
        let mut from = 0;
        let mut is_known = self.more.contains(name);
        for end in &self.ends {
            is_known |= self.bytes[from..*end] == *name;
            from = *end;
        }
        if is_known {
            return Err(ScanFault::DuplicateName(String::from_utf8_lossy(name).into_owned()));
        }
        if self.ends.len() < FEW {
            self.ends.push(self.bytes.len());
        } else {
            self.more.insert(name.to_vec());
            // The set holds the name; the bytes stay until the next name, for the caller.
            let kept = self.ends.last().copied().unwrap_or_default();
            self.bytes.drain(kept..start);
            return Ok(&self.bytes[kept..]);
        }
        Ok(&self.bytes[start..])
    }
}

/// The text of a JSON string.
fn text_of(json: &str) -> Option<String> {
    let escaped = json.strip_prefix('"')?.strip_suffix('"')?;
    Some(Str::escaped(escaped).decode().into_owned())
}

fn time_of(json: &str) -> Option<RecordTime> {
    match text_of(json) {
        Some(text) => Some(RecordTime::Text(text)),
        None => json.parse().ok().map(RecordTime::Millis),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Pieces {
        all: Vec<u8>,
        entries: Vec<String>,
        parts: Vec<Vec<(&'static str, String)>>,
        source: SourceValue,
    }

    impl RecordVisitor for Pieces {
        fn before(&mut self, bytes: &[u8]) {
            self.all.extend_from_slice(bytes);
        }
        fn entry(&mut self, entry: &ScannedEntry<'_>) -> Result<(), ScanFault> {
            self.all.extend_from_slice(entry.piece);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            self.entries.push(text(&entry.piece[entry.start..]));
            let part = |part: &EntryPart| (part.name, text(&entry.piece[part.range.clone()]));
            self.parts.push(entry.parts.iter().map(part).collect());
            Ok(())
        }
        fn after(&mut self, bytes: &[u8], source: &SourceValue) {
            self.all.extend_from_slice(bytes);
            self.source = source.clone();
        }
    }

    /// A reader that returns one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    const RECORD: &str = r#" {"version":"3.0.0", "session" : {"session-id":"s\u0031",
      "entries" : [ {"type":"user","content":"a\"}]","x":[{}]} ,
        {"timestamp":5,"c\u006fntent":{"a":["]"]},"data" : null} ],
      "session-start":"t","agent-meta":{"model-provider":"p"}},"id":"r" }
    "#;

    #[test]
    fn the_pieces_are_the_record_and_the_facts_are_found() {
        for one_by_one in [false, true] {
            let mut pieces = Pieces::default();
            let input: &mut dyn Read =
                if one_by_one { &mut Slow(RECORD.as_bytes()) } else { &mut RECORD.as_bytes() };
            let facts = scan(input, &mut pieces).unwrap();
            assert_eq!(String::from_utf8(pieces.all).unwrap(), RECORD);
            assert_eq!(pieces.entries[0], r#"{"type":"user","content":"a\"}]","x":[{}]}"#);
            assert_eq!(pieces.parts[0], [("content", r#""a\"}]""#.to_owned())]);
            let parts = [("content", r#"{"a":["]"]}"#.to_owned()), ("data", "null".to_owned())];
            assert_eq!(pieces.parts[1], parts);
            assert_eq!(facts.session.as_deref(), Some("s1"));
            assert_eq!(facts.provider.as_deref(), Some("p"));
            assert_eq!(facts.start, Some(RecordTime::Text("t".to_owned())));
            assert_eq!(facts.first_entry, Some(RecordTime::Millis(5)));
            assert_eq!(facts.entries, 2);
        }
    }

    #[test]
    fn the_digest_of_the_source_is_found_only_in_the_form_of_the_record_writer() {
        let source = |value: &str| {
            let mut pieces = Pieces::default();
            let record = format!(
                r#"{{"session":{{"entries":[],"vendor-ext":{{"vendor":"interlingua","data":{{"leaf":"a","source":{value}}}}}}}}}"#
            );
            scan(record.as_bytes(), &mut pieces).unwrap();
            pieces.source
        };
        let digits = "0f".repeat(32);
        for value in [
            "null".to_owned(),
            format!(r#"{{"bytes":12,"dialect":"claude-code","sha-256":"{digits}"}}"#),
            format!(r#"{{"bytes":0,"dialect":"pi","records":2,"sha-256":"{digits}"}}"#),
        ] {
            assert!(matches!(source(&value), SourceValue::At(_)), "{value}");
        }
        for value in [
            r#""a text""#.to_owned(),
            format!(r#"{{"bytes":12,"dialect":"claude-code","sha-256":"{digits}","x":"a text"}}"#),
            format!(r#"{{"bytes":12,"dialect":"a text","sha-256":"{digits}"}}"#),
            format!(r#"{{"bytes":1e2,"dialect":"pi","sha-256":"{digits}"}}"#),
            format!(r#"{{ "bytes":1,"dialect":"pi","sha-256":"{digits}"}}"#),
        ] {
            assert_eq!(source(&value), SourceValue::Covered, "{value}");
        }
    }

    fn refusal(record: &str) -> String {
        scan(record.as_bytes(), &mut Pieces::default()).unwrap_err().to_string()
    }

    #[test]
    fn every_cut_of_a_record_is_refused() {
        let whole = RECORD.trim_end();
        for end in 0..whole.len() {
            let reason = refusal(&whole[..end]);
            assert!(reason.contains("truncated"), "{end}: {reason}");
        }
    }

    #[test]
    fn each_unsound_record_is_refused_with_its_own_reason() {
        for (record, reason) in [
            (r#"{"id":1,"i\u0064":2,"session":{"entries":[]}}"#, "`id` twice"),
            (r#"{"session":{"entries":[{"content":1,"c\u006fntent":2}]}}"#, "`content` twice"),
            (r#"{"session":{"entries":[],"entries":[]}}"#, "`entries` twice"),
            (r#"{"session":{}}"#, "no list `session/entries`"),
            (r#"{"session":{"entries":[]}} {}"#, "several records"),
            (r#"{"session":{"entries":[1]}}"#, "expected an entry"),
            (r#"{"session":{"entries":[{"a":[}]}]}}"#, "expected the matching bracket"),
            (r#"{"session":{"entries":[{} {}]}}"#, "expected a comma"),
            (r"[]", "expected a record"),
        ] {
            assert!(refusal(record).contains(reason), "{record}: {}", refusal(record));
        }
        let deep = format!(r#"{{"session":{{"entries":[{{"a":{}"#, "[".repeat(20_000));
        assert!(refusal(&deep).contains("deeper than 10,000"), "{}", refusal(&deep));
        let names: Vec<String> = (0..40).map(|number| format!(r#""n{number}":0,"#)).collect();
        let names = names.concat();
        let many = format!(r#"{{"session":{{"entries":[{{{names}"n39":1}}]}}}}"#);
        assert!(refusal(&many).contains("`n39` twice"), "{}", refusal(&many));
    }
}
