//! CBOR records to JSON text, as a reader.
//!
//! Refused, each with its place: indefinite lengths, integers and lengths that are not the shortest, names that a map
//! holds twice, types without a counterpart in JSON (byte strings, other tags than 262, infinite numbers), nesting beyond
//! 160 levels, an item of more than 1 GiB, a spelling that does not stand for its value, and bytes after a record that are
//! not a record. The order of map keys is free. Memory is bounded by the largest entry and by the members around the entries.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use super::item::{CborError, CborItem, DecodeRules};
use super::render::{NoJson, Renderer, Spelling};
use super::{BEFORE, JSON_TABLE, MAX_DEPTH, SPELLED};

/// The reason for which CBOR is not a record, with its place.
#[derive(Debug)]
#[non_exhaustive]
pub struct CborFault {
    /// The offset in the input.
    pub at: u64,
    /// The reason.
    pub what: String,
}

impl fmt::Display for CborFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a record in CBOR at byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for CborFault {}

/// Whether an input begins like a record in CBOR: a map with a text key, with or without tags before it. No text in UTF-8
/// begins with these bytes.
pub fn is_cbor_record(beginning: &[u8]) -> bool {
    let mut rest = beginning;
    for _ in 0..MAX_TAGS {
        let length = match rest.first() {
            Some(0xd8) => 2,
            Some(0xd9) => 3,
            Some(0xda) => 5,
            Some(0xdb) => 9,
            _ => break,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    matches!(rest, [0xa1..=0xb7, 0x60..=0x7b, ..] | [0xb8, _, 0x60..=0x7b, ..])
}

/// The number of tags before a record.
const MAX_TAGS: usize = 2;
/// The largest item: an entry, or a member around the entries.
const MAX_ITEM: usize = 1 << 30;
/// The size of all members around the entries.
const MAX_AROUND: usize = 64 << 20;
const BUFFER: usize = 256 << 10;
const RULES: DecodeRules = DecodeRules { depth: MAX_DEPTH, has_floats: true };

/// The JSON text of one or several records in CBOR.
pub struct RecordJson<R> {
    window: CborWindow<R>,
    /// JSON text that is not read yet.
    text: String,
    given: usize,
    state: State,
    around: Around,
    /// The members around the entries of each record, from a first pass.
    plans: Option<VecDeque<Around>>,
    /// Whether the reader is the first pass, which makes no text of entries.
    is_first_pass: bool,
}

impl<R> fmt::Debug for RecordJson<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordJson").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Start,
    /// The number of members left.
    Record(u64),
    Session {
        record: u64,
        left: u64,
    },
    Entries {
        record: u64,
        session: u64,
        left: u64,
        is_first: bool,
    },
    End,
}

/// The members around the entries.
#[derive(Clone, Debug, Default)]
struct Around {
    record: Vec<(String, CborItem<'static>)>,
    session: Option<Vec<(String, CborItem<'static>)>>,
    has_entries: bool,
    bytes: usize,
}

impl<R: Read> RecordJson<R> {
    /// Reads in one pass. The members around the entries follow the entries in the text.
    pub fn new(input: R) -> Self {
        Self {
            window: CborWindow { input, buffer: Vec::new(), start: 0, item: 0, offset: 0, is_over: false },
            text: String::new(),
            given: 0,
            state: State::Start,
            around: Around::default(),
            plans: None,
            is_first_pass: false,
        }
    }

    /// Produces more text. Returns false at the end of the input.
    fn advance(&mut self) -> Result<bool, Failure> {
        match self.state {
            State::End => return Ok(false),
            State::Start => self.begin()?,
            State::Record(0) => self.end_record()?,
            State::Record(left) => self.record_member(left - 1)?,
            State::Session { record, left: 0 } => self.state = State::Record(record),
            State::Session { record, left } => self.session_member(record, left - 1)?,
            State::Entries { record, session, left: 0, .. } => {
                self.state = State::Session { record, left: session };
            }
            State::Entries { record, session, left, is_first } => {
                let (at, bytes) = self.window.item()?;
                if !self.is_first_pass {
                    if !is_first {
                        self.text.push(',');
                    }
                    entry_text(bytes, at, &mut self.text)?;
                }
                self.window.consume();
                self.state = State::Entries { record, session, left: left - 1, is_first: false };
            }
        }
        Ok(true)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        if self.window.is_at_end()? {
            self.state = State::End;
            return Ok(());
        }
        for _ in 0..=MAX_TAGS {
            let at = self.window.offset;
            let (major, value) = self.window.head()?;
            match major {
                6 => {}
                5 => {
                    self.around = Around::default();
                    self.state = State::Record(value);
                    return Ok(());
                }
                _ => return Err(fault(at, "expected the map of a record")),
            }
        }
        Err(fault(self.window.offset, "more than two tags before a record"))
    }

    fn record_member(&mut self, left: u64) -> Result<(), Failure> {
        let (at, name) = self.window.name()?;
        if self.around.record.iter().any(|(known, _)| *known == name)
            || (name == "session" && self.around.session.is_some())
        {
            return Err(fault(at, format!("the map holds the name `{name}` twice")));
        }
        if name == "session" && self.window.peek_major()? == Some(5) {
            let (_, members) = self.window.head()?;
            self.around.session = Some(Vec::new());
            self.state = State::Session { record: left, left: members };
            return Ok(());
        }
        let item = self.member_value()?;
        self.around.record.push((name, item));
        self.state = State::Record(left);
        Ok(())
    }

    fn session_member(&mut self, record: u64, left: u64) -> Result<(), Failure> {
        let (at, name) = self.window.name()?;
        let is_list = name == "entries";
        let session = self.around.session.get_or_insert_default();
        if session.iter().any(|(known, _)| *known == name) || (is_list && self.around.has_entries) {
            return Err(fault(at, format!("the map holds the name `{name}` twice")));
        }
        if is_list && self.window.peek_major()? == Some(4) {
            let (_, entries) = self.window.head()?;
            self.around.has_entries = true;
            if !self.is_first_pass {
                match self.plans.as_ref().and_then(VecDeque::front) {
                    None => self.text.push_str(r#"{"session":{"entries":["#),
                    Some(plan) => self.text.push_str(&plan.texts(at)?.0),
                }
            }
            self.state = State::Entries { record, session: left, left: entries, is_first: true };
            return Ok(());
        }
        let item = self.member_value()?;
        self.around.session.get_or_insert_default().push((name, item));
        self.state = State::Session { record, left };
        Ok(())
    }

    fn member_value(&mut self) -> Result<CborItem<'static>, Failure> {
        let (at, bytes) = self.window.item()?;
        self.around.bytes += bytes.len();
        if self.around.bytes > MAX_AROUND {
            return Err(fault(at, "the members around the entries have more than 64 MiB"));
        }
        let item = CborItem::decode_by(bytes, RULES).map_err(|error| of_error(at, error))?.into_owned();
        self.window.consume();
        Ok(item)
    }

    fn end_record(&mut self) -> Result<(), Failure> {
        let at = self.window.offset;
        let around = std::mem::take(&mut self.around);
        self.state = State::Start;
        if self.is_first_pass {
            // The texts are made once, so that a fault is found before the first byte of the second pass.
            around.texts(at)?;
            self.plans.get_or_insert_default().push_back(around);
            return Ok(());
        }
        let plan = self.plans.as_mut().and_then(VecDeque::pop_front);
        let is_planned = plan.is_some();
        let around = plan.unwrap_or(around);
        let (head, tail) =
            if is_planned || !around.has_entries { around.texts(at)? } else { around.late_texts(at)? };
        if !around.has_entries {
            self.text.push_str(&head);
        }
        self.text.push_str(&tail);
        self.text.push('\n');
        Ok(())
    }
}

impl<R: Read + Seek> RecordJson<R> {
    /// Reads in two passes, so that the members that precede the entries in JSON precede them again. The first pass
    /// finds every fault of the CBOR syntax.
    pub fn in_order(mut input: R) -> io::Result<Self> {
        let start = input.stream_position()?;
        let mut first = RecordJson { is_first_pass: true, ..RecordJson::new(&mut input) };
        while first.advance().map_err(io_error)? {}
        let plans = first.plans.take().unwrap_or_default();
        input.seek(SeekFrom::Start(start))?;
        Ok(Self { plans: Some(plans), ..Self::new(input) })
    }
}

impl<R: Read> Read for RecordJson<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            self.text.clear();
            self.given = 0;
            if out.is_empty() || !self.advance().map_err(io_error)? {
                return Ok(0);
            }
        }
        let rest = self.text.as_bytes().get(self.given..).unwrap_or_default();
        let count = rest.len().min(out.len());
        for (to, from) in out.iter_mut().zip(rest) {
            *to = *from;
        }
        self.given += count;
        Ok(count)
    }
}

impl Around {
    /// The text before the entries and the text after them, as in the JSON record. Without entries, the first is the whole
    /// text.
    fn texts(&self, at: u64) -> Result<(String, String), Failure> {
        let (session, before, mut spelling) = self.without_table();
        let is_before = |path: &str| before.as_ref().is_none_or(|before| before.contains(path));
        let mut renderer = Renderer::new(&mut spelling);
        let (mut head, mut tail) = (String::from("{"), String::new());
        let mut is_first = true;
        // The version and the id precede all other members, because programs detect a record by them.
        let rank = |name: &str| ["version", "id"].iter().position(|known| *known == name).unwrap_or(2);
        let mut record: Vec<_> = self.record.iter().collect();
        record.sort_by_key(|(name, _)| rank(name));
        let mut late = Vec::new();
        for (name, item) in record {
            if is_before(&format!("/{name}")) {
                separate(&mut head, &mut is_first);
                renderer.member("", name, item, &mut head).map_err(|why| of_json(at, why))?;
            } else {
                late.push((name, item));
            }
        }
        if let Some(session) = &session {
            separate(&mut head, &mut is_first);
            head.push_str(r#""session":{"#);
            let mut is_first = true;
            let mut late = Vec::new();
            for (name, item) in session {
                if is_before(&format!("/session/{name}")) {
                    separate(&mut head, &mut is_first);
                    renderer.member("/session", name, item, &mut head).map_err(|why| of_json(at, why))?;
                } else {
                    late.push((name, item));
                }
            }
            if self.has_entries {
                separate(&mut head, &mut is_first);
                head.push_str(r#""entries":["#);
                tail.push(']');
            }
            for (name, item) in late {
                separate(&mut tail, &mut is_first);
                renderer.member("/session", name, item, &mut tail).map_err(|why| of_json(at, why))?;
            }
            tail.push('}');
        }
        for (name, item) in late {
            separate(&mut tail, &mut is_first);
            renderer.member("", name, item, &mut tail).map_err(|why| of_json(at, why))?;
        }
        tail.push('}');
        unused(&spelling, at)?;
        Ok((head, tail))
    }

    /// The text after the entries, if all other members follow them.
    fn late_texts(&self, at: u64) -> Result<(String, String), Failure> {
        let (session, _, mut spelling) = self.without_table();
        let mut renderer = Renderer::new(&mut spelling);
        let mut tail = String::from("]");
        for (name, item) in session.iter().flatten() {
            tail.push(',');
            renderer.member("/session", name, item, &mut tail).map_err(|why| of_json(at, why))?;
        }
        tail.push('}');
        for (name, item) in &self.record {
            tail.push(',');
            renderer.member("", name, item, &mut tail).map_err(|why| of_json(at, why))?;
        }
        tail.push('}');
        unused(&spelling, at)?;
        Ok((String::new(), tail))
    }

    /// The session without the table of its JSON text, the pointers of the members before the entries, and the spelling.
    #[expect(clippy::type_complexity, reason = "three results of one step, used by two callers")]
    fn without_table(&self) -> (Option<Vec<(String, CborItem<'static>)>>, Option<HashSet<String>>, Spelling) {
        let mut session = self.session.clone();
        let ext = session.iter_mut().flatten().find(|(name, _)| name == "vendor-ext");
        let data = ext.and_then(|(_, ext)| member_of(ext, "data"));
        let Some(table) = data.and_then(take_table) else { return (session, None, Spelling::new()) };
        let before = table.named(BEFORE).and_then(CborItem::as_array).map(|names| {
            names.iter().filter_map(|name| name.as_text().map(str::to_owned)).collect::<HashSet<_>>()
        });
        let spelling = table.named(SPELLED).map(spelling_of).unwrap_or_default();
        (session, before, spelling)
    }
}

fn separate(text: &mut String, is_first: &mut bool) {
    if !std::mem::replace(is_first, false) {
        text.push(',');
    }
}

/// Adds the JSON text of an entry.
fn entry_text(bytes: &[u8], at: u64, text: &mut String) -> Result<(), Failure> {
    let mut entry = CborItem::decode_by(bytes, RULES).map_err(|error| of_error(at, error))?;
    let mut spelling = Spelling::new();
    if let Some(ext) = member_of(&mut entry, "vendor-ext") {
        // Profile v3 has the table in `vendor-ext`, profile v2 in its `data`, which may exist for the table alone.
        let mut table = take_table(ext);
        if table.is_none()
            && let Some(data) = member_of(ext, "data")
        {
            table = take_table(data);
            let is_empty = matches!(data, CborItem::Map(members) if members.is_empty());
            if table.is_some()
                && is_empty
                && let CborItem::Map(members) = ext
            {
                members.retain(|(key, _)| key.as_text() != Some("data"));
            }
        }
        spelling = table.as_ref().map(spelling_of).unwrap_or_default();
    }
    Renderer::new(&mut spelling).document(&entry, text).map_err(|why| of_json(at, why))?;
    unused(&spelling, at)
}

fn member_of<'i, 'a>(item: &'i mut CborItem<'a>, name: &str) -> Option<&'i mut CborItem<'a>> {
    let CborItem::Map(members) = item else { return None };
    members.iter_mut().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

/// Takes the table of the JSON text out of a map.
fn take_table<'a>(item: &mut CborItem<'a>) -> Option<CborItem<'a>> {
    let CborItem::Map(members) = item else { return None };
    let is_table = |(key, value): &(CborItem<'_>, CborItem<'_>)| {
        key.as_text() == Some(JSON_TABLE) && matches!(value, CborItem::Map(_))
    };
    let at = members.iter().position(is_table)?;
    Some(members.remove(at).1)
}

fn spelling_of(table: &CborItem<'_>) -> Spelling {
    let members = table.as_map().unwrap_or_default();
    let text = |item: &CborItem<'_>| item.as_text().unwrap_or_default().to_owned();
    members.iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// Refuses a spelling without a value: a CBOR reader and a JSON reader would see two records.
fn unused(spelling: &Spelling, at: u64) -> Result<(), Failure> {
    match spelling.keys().next() {
        None => Ok(()),
        Some(path) => Err(of_json(at, NoJson::Spelling(path.clone()))),
    }
}

enum Failure {
    Fault(CborFault),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

fn io_error(failure: Failure) -> io::Error {
    match failure {
        Failure::Fault(fault) => io::Error::new(io::ErrorKind::InvalidData, fault),
        Failure::Io(error) => error,
    }
}

fn fault(at: u64, what: impl Into<String>) -> Failure {
    Failure::Fault(CborFault { at, what: what.into() })
}

/// The fault of an item that begins at `start`.
fn of_error(start: u64, error: CborError) -> Failure {
    let (at, what) = match error {
        CborError::Truncated => (0, "the data is cut off"),
        CborError::Trailing(at) => (at, "bytes follow the item"),
        CborError::Indefinite(at) => (at, "an indefinite length"),
        CborError::NotShortest(at) => (at, "a number or a length that is not in its shortest form"),
        CborError::DuplicateKey(at) => (at, "a key that the map holds twice"),
        CborError::TooDeep(at) => (at, "nested deeper than 160 levels"),
        CborError::NotUtf8(at) => (at, "a text that is not UTF-8"),
        CborError::Unsupported(at) => (at, "a type without a counterpart in JSON"),
    };
    fault(start + at as u64, what)
}

fn of_json(at: u64, why: NoJson) -> Failure {
    match why {
        NoJson::Type(what) => fault(at, format!("{what} in this item, which has no counterpart in JSON")),
        NoJson::Embedded => fault(at, "embedded JSON (tag 262) in this item is not one JSON value"),
        NoJson::Spelling(path) => {
            fault(at, format!("the spelling for `{path}` in this item does not stand for its value"))
        }
    }
}

/// A window on the bytes of a reader, which holds one item at a time.
struct CborWindow<R> {
    input: R,
    buffer: Vec<u8>,
    /// The position of the next byte in the buffer.
    start: usize,
    /// The length of the next item, once it is known.
    item: usize,
    /// The offset of the next byte in the input.
    offset: u64,
    is_over: bool,
}

impl<R: Read> CborWindow<R> {
    /// Reads more bytes. Returns false at the end of the input.
    fn fill(&mut self) -> Result<bool, Failure> {
        if self.is_over {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.len() > MAX_ITEM {
            return Err(fault(self.offset, "an item of more than 1 GiB"));
        }
        let known = self.buffer.len();
        // The buffer grows by its own length, so that a large item is looked through a few times only.
        let wanted = known.max(BUFFER) as u64;
        let read = (&mut self.input).take(wanted).read_to_end(&mut self.buffer)?;
        self.is_over = (read as u64) < wanted;
        Ok(read > 0)
    }

    fn is_at_end(&mut self) -> Result<bool, Failure> {
        Ok(self.rest().is_empty() && !self.fill()?)
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    fn drop_bytes(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// The head of an item, which is consumed.
    fn head(&mut self) -> Result<(u8, u64), Failure> {
        loop {
            match read_head(self.rest(), 0) {
                Ok((major, _, value, length)) => {
                    self.drop_bytes(length);
                    return Ok((major, value));
                }
                Err(CborError::Truncated) if self.fill()? => {}
                Err(error) => return Err(of_error(self.offset, error)),
            }
        }
    }

    /// The major type of the next item.
    fn peek_major(&mut self) -> Result<Option<u8>, Failure> {
        if self.is_at_end()? {
            return Ok(None);
        }
        Ok(self.rest().first().map(|first| first >> 5))
    }

    /// A text key, which is consumed, and its offset.
    fn name(&mut self) -> Result<(u64, String), Failure> {
        let (at, bytes) = self.item()?;
        let key = CborItem::decode_by(bytes, RULES).map_err(|error| of_error(at, error))?;
        let name = key.as_text().map(str::to_owned);
        self.consume();
        name.map(|name| (at, name)).ok_or_else(|| fault(at, "a map key that is not text"))
    }

    /// The offset and the bytes of the next item.
    fn item(&mut self) -> Result<(u64, &[u8]), Failure> {
        let length = loop {
            match item_length(self.rest()) {
                Ok(length) => break length,
                Err(CborError::Truncated) if self.fill()? => {}
                Err(error) => return Err(of_error(self.offset, error)),
            }
        };
        self.item = length;
        Ok((self.offset, self.rest().get(..length).unwrap_or_default()))
    }

    /// Consumes the item.
    fn consume(&mut self) {
        let length = std::mem::take(&mut self.item);
        self.drop_bytes(length);
    }
}

/// The major type, the additional information, the value and the length of the head at this position.
fn read_head(bytes: &[u8], at: usize) -> Result<(u8, u8, u64, usize), CborError> {
    let first = *bytes.get(at).ok_or(CborError::Truncated)?;
    let (major, info) = (first >> 5, first & 31);
    let (length, least) = match info {
        0..24 => return Ok((major, info, u64::from(info), 1)),
        24 => (1, 24),
        25 => (2, 1 << 8),
        26 => (4, 1 << 16),
        27 => (8, 1 << 32),
        31 => return Err(CborError::Indefinite(at)),
        _ => return Err(CborError::Unsupported(at)),
    };
    let value = bytes.get(at + 1..at + 1 + length).ok_or(CborError::Truncated)?;
    let value = value.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    // The information of major type 7 is a type, and the value of a floating-point number has no shorter form here.
    if value < least && major != 7 {
        return Err(CborError::NotShortest(at));
    }
    Ok((major, info, value, 1 + length))
}

/// The length of the item at the beginning of the bytes.
fn item_length(bytes: &[u8]) -> Result<usize, CborError> {
    let mut at = 0;
    // The number of items that are due at each level.
    let mut open: Vec<u64> = Vec::new();
    loop {
        let start = at;
        let (major, _, value, length) = read_head(bytes, at)?;
        at += length;
        let inner = match major {
            2 | 3 => {
                let length = usize::try_from(value).map_err(|_| CborError::Truncated)?;
                at = at.checked_add(length).filter(|end| *end <= bytes.len()).ok_or(CborError::Truncated)?;
                0
            }
            4 => value,
            5 => value.checked_mul(2).ok_or(CborError::Truncated)?,
            6 => 1,
            _ => 0,
        };
        if inner > 0 {
            if open.len() > MAX_DEPTH {
                return Err(CborError::TooDeep(start));
            }
            open.push(inner);
            continue;
        }
        loop {
            match open.last_mut() {
                None => return Ok(at),
                Some(left) => *left -= 1,
            }
            if open.last() != Some(&0) {
                break;
            }
            open.pop();
        }
    }
}
