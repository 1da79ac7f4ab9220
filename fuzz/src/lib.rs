//! Properties that hold for any bytes, as plain functions for the fuzz targets and for regression tests of crashes.
//!
//! `cargo xtask fuzz [SECONDS]` runs all of them on stable, with coverage and without sanitizers (our code has no
//! unsafe code to sanitize); with a nightly toolchain, `cargo fuzz run tape` does the same.

#[path = "../../crates/interlingua/tests/support/grammar.rs"]
mod grammar;
mod signed;

use std::collections::BTreeSet;
use std::io::{Cursor, Read as _};

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::error::Code;
use interlingua::framing::{Frame, FrameKind, Framing};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::tape::{Fault, Kind, Limits, TapeBuf, Val};
use interlingua_record::cbor::{RECORD_TAG, RecordJson, is_cbor_record, to_cbor};
pub use signed::signed;

/// CBOR is refused, or becomes JSON text that every further way through CBOR leaves unchanged.
pub fn cbor(data: &[u8]) {
    let text = |cbor: &[u8]| {
        let mut json = Vec::new();
        RecordJson::in_order(Cursor::new(cbor))
            .and_then(|mut record| record.read_to_end(&mut json))
            .map(|_| json)
    };
    // The seeds are JSON.
    let mut seed = Vec::new();
    if !is_cbor_record(data) && to_cbor(data, RECORD_TAG, Cursor::new(Vec::new()), &mut seed).is_err() {
        return;
    }
    let Ok(json) = text(if seed.is_empty() { data } else { &seed }) else { return };
    let mut cbor = Vec::new();
    // Embedded JSON may hold a name twice where the schema names the members.
    if to_cbor(&json[..], RECORD_TAG, Cursor::new(Vec::new()), &mut cbor).is_err() {
        return;
    }
    let again = text(&cbor).expect("our own CBOR is read");
    let mut twice = Vec::new();
    to_cbor(&again[..], RECORD_TAG, Cursor::new(Vec::new()), &mut twice).expect("our own JSON is encoded");
    assert_eq!(twice, cbor, "{}", String::from_utf8_lossy(&again));
}

/// The tape accepts the same input as serde_json, marks valid values, and counts every leaf.
pub fn tape(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut buf = TapeBuf::default();
    let ours = buf.parse(text, &Limits::default());
    let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text);
    let tape = match ours {
        Ok(tape) => tape,
        Err(Fault::TooDeep { .. } | Fault::TooManyValues { .. }) => return,
        Err(fault) => {
            assert!(theirs.is_err(), "serde_json takes what we refuse: {fault:?}");
            let (Fault::Syntax { at, .. } | Fault::Torn { at } | Fault::Trailing { at }) = fault else {
                return;
            };
            assert!(at <= text.len(), "{fault:?} lies outside");
            return;
        }
    };
    assert!(theirs.is_ok(), "we take what serde_json refuses: {theirs:?}");
    let mut seen = Seen::default();
    look(tape.root(), &mut seen);
    assert_eq!(seen.leaves, tape.leaves());
    // A serde_json value has unique names and no lone surrogates.
    if seen.twice || tape.lone_surrogate.is_some() {
        return;
    }
    assert!(tape.duplicate_key.is_none(), "no name is there twice");
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(text)
        && !text.contains("$serde_json")
    {
        assert_eq!(leaves(&value), tape.leaves());
    }
}

#[derive(Default)]
struct Seen {
    leaves: u32,
    twice: bool,
}

fn look(val: Val<'_>, seen: &mut Seen) {
    let text = val.text();
    let expected = match text.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    };
    assert_eq!(val.kind(), expected);
    let before = seen.leaves;
    let mut names = BTreeSet::new();
    let mut inside = false;
    for (name, member) in val.members() {
        inside = true;
        seen.twice |= !names.insert(name.decode().into_owned());
        look(member, seen);
    }
    for element in val.elements() {
        inside = true;
        look(element, seen);
    }
    if !inside {
        seen.leaves += 1;
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(), "{text}");
    }
    assert_eq!(val.leaves(), seen.leaves - before);
}

fn leaves(value: &serde_json::Value) -> u32 {
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => members.values().map(leaves).sum(),
        serde_json::Value::Array(elements) if !elements.is_empty() => elements.iter().map(leaves).sum(),
        _ => 1,
    }
}

/// Any chunking of an event stream yields the same events, equal to those of the standard's algorithm; a document in
/// place of a stream is one frame.
pub fn sse(data: &[u8]) {
    let whole = frames(Framing::Sse, usize::MAX, [data]);
    same_in_pieces(Framing::Sse, usize::MAX, data, &whole);
    let document = data.trim_ascii_start();
    let is_document = document.starts_with(b"{") || document.starts_with(b"[") || document.starts_with(b"<");
    let expected = if is_document { vec![(None, document.to_vec())] } else { events(data) };
    let found: Vec<(Option<String>, Vec<u8>)> = whole
        .into_iter()
        .map(|(bytes, kind)| match kind {
            Part::Sse(name) if !is_document => (name, bytes),
            Part::Other(kind) if is_document && kind == "Whole" => (None, bytes),
            other => panic!("{other:?} in an event stream"),
        })
        .collect();
    assert!(found == expected, "not the events of the standard");
    // An event over the limit is split into pieces, and no byte of it is lost.
    let limited = frames(Framing::Sse, 16, [data]);
    same_in_pieces(Framing::Sse, 16, data, &limited);
    let joined: Vec<u8> = limited.iter().flat_map(|(bytes, _)| bytes).copied().collect();
    assert!(
        joined == expected.into_iter().flat_map(|(_, data)| data).collect::<Vec<u8>>(),
        "bytes went missing"
    );
}

/// The standard's algorithm, written for readability instead of speed; an event at the end needs no blank line.
fn events(data: &[u8]) -> Vec<(Option<String>, Vec<u8>)> {
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut bytes = data.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\r' | b'\n' => {
                if byte == b'\r' && bytes.peek() == Some(&&b'\n') {
                    bytes.next();
                }
                lines.push(std::mem::take(&mut line));
            }
            _ => line.push(byte),
        }
    }
    lines.push(line);
    lines.push(Vec::new());
    let mut events = Vec::new();
    let (mut name, mut data): (Option<String>, Option<Vec<u8>>) = (None, None);
    for line in lines {
        if line.is_empty() {
            if let Some(data) = data.take() {
                // An event with an empty name has no name.
                events.push((name.take().filter(|name| !name.is_empty()), data));
            }
            name = None;
            continue;
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            },
            b"event" => name = Some(String::from_utf8_lossy(value).into_owned()),
            _ => {}
        }
    }
    events
}

const PATH: Framing = Framing::Documents(&["session", "entries"]);

/// Any chunking of a document yields the same pieces; those of a sound document are its elements, with the surrounding
/// whitespace.
pub fn elements(data: &[u8]) {
    let whole = frames(PATH, usize::MAX, [data]);
    same_in_pieces(PATH, usize::MAX, data, &whole);
    same_in_pieces(PATH, 32, data, &frames(PATH, 32, [data]));
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut buf = TapeBuf::default();
    let Ok(tape) = buf.parse(text, &Limits::default()) else { return };
    let mut seen = Seen::default();
    look(tape.root(), &mut seen);
    let array = tape.root().get("session").and_then(|session| session.get("entries"));
    let Some(array) = array.filter(|array| array.kind() == Kind::Array && !seen.twice) else { return };
    let expected: Vec<&[u8]> = array.elements().map(|element| element.text().as_bytes()).collect();
    let found: Vec<&[u8]> = whole
        .iter()
        .filter(|(_, kind)| *kind == Part::Element)
        .map(|(bytes, _)| bytes.trim_ascii())
        .collect();
    assert!(found == expected, "not the elements of the array");
    for (bytes, kind) in &whole {
        let sound = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
        assert!(sound, "{kind:?} is no document: {}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(whole.first().map(|(_, kind)| kind), Some(&Part::Head));
    assert_eq!(whole.last().map(|(_, kind)| kind), Some(&Part::Tail));
}

/// Any bytes, or a document of known words generated from them ([`grammar`]), through any reader to any writer, in any
/// chunks: no panic, every leaf has a fate, and a log is restored from its record byte for byte.
pub fn pipe(data: &[u8]) {
    // The length decides, so that mutations of any seed reach both branches.
    if data.len() % 3 == 2 { ways(&grammar::document(data)) } else { ways(data) }
}

fn ways(data: &[u8]) {
    let ways = DIALECTS
        .iter()
        .flat_map(|&dialect| dialect.roles.iter().map(move |spec| (dialect, spec)))
        .filter(|(_, spec)| spec.read.is_some())
        .map(|(dialect, spec)| (dialect, spec.role));
    for (number, from) in ways.enumerate() {
        comes_back(from, data);
        let targets: Vec<(&Dialect, Role)> = DIALECTS
            .iter()
            .filter_map(|&dialect| Some((dialect, dialect.role_for(from.1)?)))
            .filter(|to| (to.0.name, to.1) != (from.0.name, from.1))
            .collect();
        // One target per run, selected by the input's length, so that mutations reach all targets.
        let Some(&to) = targets.get((data.len() + number) % targets.len().max(1)) else { continue };
        let whole = convert(from, to, data, data.len());
        let size = usize::from(*data.last().unwrap_or(&0)) % 61 + 1;
        let pieces = convert(from, to, data, size);
        assert!(pieces == whole, "{} -> {} in chunks of {size}", from.0.name, to.0.name);
    }
}

fn convert(from: (&Dialect, Role), to: (&Dialect, Role), data: &[u8], size: usize) -> (Vec<u8>, Report) {
    let mut pipe = Pipe::new(from, to, &Options::default()).expect("registered");
    let mut out = Vec::new();
    for chunk in data.chunks(size.max(1)) {
        pipe.push(chunk, &mut out);
    }
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{} -> {}: {report:?}", from.0.name, to.0.name);
    (out, report)
}

/// A log of a dialect with a writer is restored from its record, with nothing lost and no hole left unfilled.
fn comes_back(from: (&Dialect, Role), data: &[u8]) {
    let is_written = from.0.role(from.1).is_some_and(|spec| spec.write.is_some());
    if from.0.plane != Plane::Log || from.1 != Role::Log || !is_written {
        return;
    }
    let record = (Dialect::named("record").expect("registered"), Role::Log);
    let (kept, there) = convert(from, record, data, data.len());
    let (back, report) = convert(record, from, &kept, kept.len());
    assert!(there.lost == 0, "{}: lost on the way to a record: {:?}", from.0.name, there.lost_paths);
    assert!(back == data, "{}: other bytes came back from the record", from.0.name);
    let holes = report.problems.iter().any(|problem| problem.code == Code::UnfilledHole);
    assert!(!holes, "{}: a hole is left open: {:?}", from.0.name, report.problems);
}

/// The kind of a frame, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Sse(Option<String>),
    Head,
    Element,
    Tail,
    Other(String),
}

fn frames<'d>(
    framing: Framing,
    limit: usize,
    chunks: impl IntoIterator<Item = &'d [u8]>,
) -> Vec<(Vec<u8>, Part)> {
    let mut frames = Vec::new();
    let mut each = |frame: Frame<'_>| {
        let kind = match frame.kind {
            FrameKind::Sse(name) => Part::Sse(name.map(str::to_owned)),
            FrameKind::Head => Part::Head,
            FrameKind::Element { .. } => Part::Element,
            FrameKind::Tail => Part::Tail,
            other => Part::Other(format!("{other:?}")),
        };
        frames.push((frame.bytes.to_vec(), kind));
    };
    let mut framer = framing.framer(limit);
    for chunk in chunks {
        framer.push(chunk, &mut each);
    }
    framer.finish(&mut each);
    frames
}

fn same_in_pieces(framing: Framing, limit: usize, data: &[u8], whole: &[(Vec<u8>, Part)]) {
    for size in [1, 2, 3, 7, usize::from(*data.first().unwrap_or(&0)) % 50 + 4] {
        let pieces = frames(framing, limit, data.chunks(size));
        assert!(pieces == whole, "other frames in chunks of {size} with a limit of {limit}");
    }
}
