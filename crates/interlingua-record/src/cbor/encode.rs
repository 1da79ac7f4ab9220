//! JSON records to CBOR.
//!
//! The core deterministic encoding needs the number of entries and the order of all names before the first byte. So the
//! entries are encoded into a space that the caller lends (a temporary file), and the members around them stay in
//! memory. Memory is bounded by the largest entry and by the members around the entries.

use std::fmt::{self, Write as _};
use std::io::{self, Read, Seek, SeekFrom, Write};

use interlingua::dialects::ours::record;
use interlingua::framing::{Frame, FrameKind};
use interlingua::tape::{Kind, Limits, TapeBuf, Val};

use super::item::{CborItem, encode_head};
use super::render::{gives, plain_scalar, scalar_of};
use super::{BEFORE, EMBEDDED_JSON, JSON_TABLE, SPELLED};

/// The CBOR tag that the draft requests for records. The number is not assigned yet.
pub const RECORD_TAG: u64 = 4149;

/// The reason for which a record has no CBOR form.
#[derive(Debug)]
#[non_exhaustive]
pub enum EncodeFault {
    /// Reading or writing failed.
    Io(io::Error),
    /// The input is not JSON, or not within the limits of a record. Holds the number of the frame, from 1.
    NotJson(u64),
    /// A map of the record holds a name twice.
    DuplicateName(String),
    /// The document is not a map.
    NotARecord,
}

impl fmt::Display for EncodeFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeFault::Io(error) => write!(out, "{error}"),
            EncodeFault::NotJson(frame) => write!(out, "part {frame} of the record is not valid JSON"),
            EncodeFault::DuplicateName(name) => {
                write!(out, "the record holds the name `{name}` twice in one map")
            }
            EncodeFault::NotARecord => write!(out, "the document is not a record"),
        }
    }
}

impl std::error::Error for EncodeFault {}

impl From<io::Error> for EncodeFault {
    fn from(error: io::Error) -> Self {
        EncodeFault::Io(error)
    }
}

/// Writes JSON records as CBOR with this tag; several records become a CBOR sequence. `space` holds the encoded entries of
/// a record until their number is known.
///
/// The JSON text that [`super::RecordJson`] makes of the result has the same values. It is the same text but for white
/// space between members and the order of members that the schema names. The text of kept lines, of `content`, `input` and
/// `output`, and the spelling of every text and number of an entry with a `vendor-ext` are the same, so the same log is
/// restored.
pub fn to_cbor(
    mut json: impl Read,
    tag: u64,
    space: impl Read + Write + Seek,
    out: &mut dyn Write,
) -> Result<(), EncodeFault> {
    let mut encoder = Encoder { space, tag, record: None, frames: 0, tape: TapeBuf::default() };
    let limits = Limits::default().around_others();
    let mut framer = record::FRAMING.framer(limits.bytes);
    let mut buffer = vec![0; 256 << 10];
    let mut done = Ok(());
    loop {
        let count = match json.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let mut each = |frame: Frame<'_>| {
            if done.is_ok() {
                done = encoder.frame(&frame, &limits, out);
            }
        };
        match buffer.get(..count) {
            Some(bytes) if count > 0 => framer.push(bytes, &mut each),
            _ => {
                framer.finish(&mut each);
                done?;
                return encoder.end_record(out);
            }
        }
        std::mem::replace(&mut done, Ok(()))?;
    }
}

struct Encoder<S> {
    space: S,
    tag: u64,
    /// The record at hand.
    record: Option<OuterMembers>,
    frames: u64,
    tape: TapeBuf,
}

/// The members around the entries.
#[derive(Default)]
struct OuterMembers {
    record: Members,
    session: Option<Members>,
    /// The number of entries, if the record has a list of entries.
    entries: Option<u64>,
    /// The pointers of members before the entries.
    before: Vec<CborItem<'static>>,
    spelled: Spelled,
    is_v2: bool,
}

type Members = Vec<(CborItem<'static>, CborItem<'static>)>;
type Spelled = Vec<(String, String)>;

impl<S: Read + Write + Seek> Encoder<S> {
    fn frame(&mut self, frame: &Frame<'_>, limits: &Limits, out: &mut dyn Write) -> Result<(), EncodeFault> {
        self.frames += 1;
        if frame.bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        let not_json = EncodeFault::NotJson(self.frames);
        if matches!(frame.kind, FrameKind::Head | FrameKind::Document) {
            self.end_record(out)?;
            self.space.seek(SeekFrom::Start(0))?;
            self.record = Some(OuterMembers::default());
        }
        let (Some(record), Ok(text)) = (&mut self.record, std::str::from_utf8(frame.bytes)) else {
            return Err(not_json);
        };
        if let FrameKind::Piece { .. } = frame.kind {
            return Err(not_json);
        }
        let tape = self.tape.parse(text, limits).map_err(|_| not_json)?;
        match frame.kind {
            FrameKind::Element { .. } => {
                let entry = top_entry(tape.root(), record.is_v2)?;
                let mut bytes = Vec::with_capacity(text.len());
                entry.encode_into(&mut bytes);
                self.space.write_all(&bytes)?;
                *record.entries.get_or_insert(0) += 1;
                Ok(())
            }
            FrameKind::Head => {
                record.entries.get_or_insert(0);
                record.add(tape.root(), true)
            }
            _ => record.add(tape.root(), false),
        }
    }

    fn end_record(&mut self, out: &mut dyn Write) -> Result<(), EncodeFault> {
        let Some(record) = self.record.take() else { return Ok(()) };
        let mut head = Vec::new();
        encode_head(6, self.tag, &mut head);
        let entries = record.entries;
        let (before, after) = record.around_entries();
        head.extend_from_slice(&before);
        out.write_all(&head)?;
        if entries.is_some() {
            let length = self.space.stream_position()?;
            self.space.seek(SeekFrom::Start(0))?;
            io::copy(&mut (&mut self.space).take(length), out)?;
        }
        out.write_all(&after)?;
        Ok(())
    }
}

impl OuterMembers {
    fn add(&mut self, root: Val<'_>, is_head: bool) -> Result<(), EncodeFault> {
        if root.kind() != Kind::Object {
            return Err(EncodeFault::NotARecord);
        }
        for (name, value) in root.members() {
            let name = name.decode().into_owned();
            if name == "session" && value.kind() == Kind::Object {
                let mut members = self.session.take().unwrap_or_default();
                self.add_session(value, is_head, &mut members)?;
                self.session = Some(members);
                continue;
            }
            if name == "version" {
                self.is_v2 = value.str().is_some_and(|version| version.as_escaped().starts_with("2."));
            }
            let item = typed(value, &mut format!("/{name}"), &mut self.spelled)?;
            self.note_before(is_head, format!("/{name}"));
            push_once(&mut self.record, name, item)?;
        }
        Ok(())
    }

    fn add_session(
        &mut self,
        session: Val<'_>,
        is_head: bool,
        members: &mut Members,
    ) -> Result<(), EncodeFault> {
        for (name, value) in session.members() {
            let name = name.decode().into_owned();
            let is_list = name == "entries" && value.kind() == Kind::Array && self.entries.is_some();
            if is_list && value.elements().next().is_none() {
                continue;
            }
            let item = typed(value, &mut format!("/session/{name}"), &mut self.spelled)?;
            self.note_before(is_head, format!("/session/{name}"));
            push_once(members, name, item)?;
        }
        Ok(())
    }

    fn note_before(&mut self, is_head: bool, pointer: String) {
        if is_head {
            self.before.push(CborItem::text(pointer));
        }
    }

    /// The bytes of the record before the first entry and after the last.
    fn around_entries(mut self) -> (Vec<u8>, Vec<u8>) {
        let Some(mut session) = self.session.take() else {
            return (CborItem::Map(self.record).encode(), Vec::new());
        };
        self.add_table(&mut session);
        let Some(entries) = self.entries else {
            self.record.push((CborItem::text("session"), CborItem::Map(session)));
            return (CborItem::Map(self.record).encode(), Vec::new());
        };
        let mut list = Vec::new();
        encode_head(4, entries, &mut list);
        let (before, after) = split_map(session, "entries");
        let inner = ([before, list].concat(), after);
        let (before, after) = split_map(self.record, "session");
        ([before, inner.0].concat(), [inner.1, after].concat())
    }

    /// Adds the table of the JSON text, if our `vendor-ext` has a place for it.
    fn add_table(&mut self, session: &mut Members) {
        let is = |name: &'static str| move |key: &CborItem<'_>| key.as_text() == Some(name);
        let Some((_, CborItem::Map(ext))) = session.iter_mut().find(|(key, _)| is("vendor-ext")(key)) else {
            return;
        };
        let ours = |(key, value): &(CborItem<'_>, CborItem<'_>)| {
            is("vendor")(key) && value.as_text() == Some("interlingua")
        };
        if !ext.iter().any(ours) {
            return;
        }
        let Some((_, CborItem::Map(data))) = ext.iter_mut().find(|(key, _)| is("data")(key)) else { return };
        // The order of the list has no meaning, and the same record has one encoding.
        let mut before = std::mem::take(&mut self.before);
        before.sort_by_cached_key(CborItem::encode);
        let mut table = vec![(CborItem::text(BEFORE), CborItem::Array(before))];
        if !self.spelled.is_empty() {
            table.push((CborItem::text(SPELLED), spelling_map(std::mem::take(&mut self.spelled))));
        }
        data.push((CborItem::text(JSON_TABLE), CborItem::Map(table)));
    }
}

/// The encoding of a map with one more member, cut at the value of that member.
fn split_map(mut members: Members, name: &'static str) -> (Vec<u8>, Vec<u8>) {
    members.sort_by_cached_key(|(key, _)| key.encode());
    let key = CborItem::text(name).encode();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    encode_head(5, members.len() as u64 + 1, &mut before);
    let mut is_before = true;
    for (own, value) in members {
        let own = own.encode();
        if is_before && own > key {
            is_before = false;
        }
        let out = if is_before { &mut before } else { &mut after };
        out.extend_from_slice(&own);
        value.encode_into(out);
    }
    before.extend_from_slice(&key);
    (before, after)
}

fn push_once(members: &mut Members, name: String, item: CborItem<'static>) -> Result<(), EncodeFault> {
    if members.iter().any(|(key, _)| key.as_text() == Some(&name)) {
        return Err(EncodeFault::DuplicateName(name));
    }
    members.push((CborItem::text(name), item));
    Ok(())
}

fn spelling_map(spelled: Spelled) -> CborItem<'static> {
    CborItem::Map(
        spelled.into_iter().map(|(path, text)| (CborItem::text(path), CborItem::text(text))).collect(),
    )
}

/// An entry of the list, with the table of its spelling.
fn top_entry(entry: Val<'_>, is_v2: bool) -> Result<CborItem<'static>, EncodeFault> {
    let mut spelled = Spelled::new();
    let mut item = entry_item(entry, is_v2, &mut String::new(), &mut spelled)?;
    if let (CborItem::Map(members), false) = (&mut item, spelled.is_empty())
        && let Some((_, CborItem::Map(ext))) =
            members.iter_mut().find(|(key, _)| key.as_text() == Some("vendor-ext"))
    {
        let table = (CborItem::text(JSON_TABLE), spelling_map(spelled));
        if !is_v2 {
            ext.push(table);
        } else if let Some((_, CborItem::Map(data))) =
            ext.iter_mut().find(|(key, _)| key.as_text() == Some("data"))
        {
            data.push(table);
        } else {
            ext.push((CborItem::text("data"), CborItem::Map(vec![table])));
        }
    }
    Ok(item)
}

/// An entry or a child: values of any type keep their text, the members of the schema have the types of the schema.
fn entry_item(
    entry: Val<'_>,
    is_v2: bool,
    path: &mut String,
    spelled: &mut Spelled,
) -> Result<CborItem<'static>, EncodeFault> {
    if entry.kind() != Kind::Object {
        return typed(entry, path, spelled);
    }
    map_of(entry, path, |name, value, path| match (name, value.kind()) {
        ("content" | "input" | "output", _) => Ok(any(value)),
        ("children", Kind::Array) => {
            let mut number = 0;
            list_of(value, |child| {
                let length = path.len();
                let _ = write!(path, "/{number}");
                number += 1;
                let item = entry_item(child, is_v2, path, spelled);
                path.truncate(length);
                item
            })
        }
        ("vendor-ext", Kind::Object) => map_of(value, path, |name, value, path| match (name, value.kind()) {
            ("data", Kind::Object) if is_v2 => map_of(value, path, |_, value, _| Ok(any(value))),
            ("data", _) => Ok(any(value)),
            ("more", Kind::Array) => list_of(value, |line| Ok(any(line))),
            _ => typed(value, path, spelled),
        }),
        ("data", Kind::Object) if is_v2 => {
            map_of(value, path, |name, value, path| match (name, value.kind()) {
                ("data", Kind::Object) => map_of(value, path, |_, value, _| Ok(any(value))),
                _ => typed(value, path, spelled),
            })
        }
        ("data", Kind::Object) => map_of(value, path, |_, value, _| Ok(any(value))),
        _ => typed(value, path, spelled),
    })
}

fn map_of(
    map: Val<'_>,
    path: &mut String,
    mut item: impl FnMut(&str, Val<'_>, &mut String) -> Result<CborItem<'static>, EncodeFault>,
) -> Result<CborItem<'static>, EncodeFault> {
    let mut members = Members::new();
    let mut names = std::collections::HashSet::new();
    for (name, value) in map.members() {
        let name = name.decode().into_owned();
        let length = path.len();
        path.push('/');
        path.push_str(&name);
        let value = item(&name, value, path)?;
        path.truncate(length);
        if !names.insert(name.clone()) {
            return Err(EncodeFault::DuplicateName(name));
        }
        members.push((CborItem::text(name), value));
    }
    Ok(CborItem::Map(members))
}

fn list_of(
    list: Val<'_>,
    item: impl FnMut(Val<'_>) -> Result<CborItem<'static>, EncodeFault>,
) -> Result<CborItem<'static>, EncodeFault> {
    list.elements().map(item).collect::<Result<_, _>>().map(CborItem::Array)
}

/// A value of any type: plain CBOR if CBOR gives the same JSON text, else embedded JSON.
fn any(value: Val<'_>) -> CborItem<'static> {
    match plain(value) {
        Some(item) if gives(&item, value.text()) => item,
        _ => embedded(value),
    }
}

fn embedded(value: Val<'_>) -> CborItem<'static> {
    CborItem::Tag(EMBEDDED_JSON, Box::new(CborItem::bytes(value.text().as_bytes().to_vec())))
}

/// The item of a value whose maps are in the order of the deterministic encoding. `None` for other values.
fn plain(value: Val<'_>) -> Option<CborItem<'static>> {
    Some(match value.kind() {
        Kind::Null => CborItem::Null,
        Kind::Bool => CborItem::Bool(value.bool()?),
        Kind::String | Kind::Number => scalar_of(value)?,
        Kind::Array => CborItem::Array(value.elements().map(plain).collect::<Option<_>>()?),
        Kind::Object => {
            let mut members = Members::new();
            let mut last = Vec::new();
            for (name, value) in value.members() {
                let key = CborItem::text(name.decode().into_owned());
                let encoded = key.encode();
                if encoded <= last {
                    return None;
                }
                last = encoded;
                members.push((key, plain(value)?));
            }
            CborItem::Map(members)
        }
    })
}

/// A value with a type in the schema. A text or a number whose spelling CBOR does not keep is added to the table.
fn typed(value: Val<'_>, path: &mut String, spelled: &mut Spelled) -> Result<CborItem<'static>, EncodeFault> {
    match value.kind() {
        Kind::Null => Ok(CborItem::Null),
        Kind::Bool => Ok(CborItem::Bool(value.bool() == Some(true))),
        Kind::String | Kind::Number => {
            let Some(item) = scalar_of(value) else { return Ok(embedded(value)) };
            let mut text = String::new();
            plain_scalar(&item, &mut text);
            if text != value.text() {
                spelled.push((path.clone(), value.text().to_owned()));
            }
            Ok(item)
        }
        Kind::Array => {
            let mut number = 0;
            list_of(value, |element| {
                let length = path.len();
                let _ = write!(path, "/{number}");
                number += 1;
                let item = typed(element, path, spelled);
                path.truncate(length);
                item
            })
        }
        Kind::Object => map_of(value, path, |_, value, path| typed(value, path, spelled)),
    }
}
