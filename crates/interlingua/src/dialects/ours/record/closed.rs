//! The writer of profile v2, whose maps are closed. Each entry is written as in v3; then all members outside the draft
//! move into `vendor-ext`: the source line into `data/line` (with `more` and `space`), and model fields beyond the
//! draft into `data/said`.

use super::profile::{DraftProfile, OURS};
use super::write::RecordWriter;
use crate::dialects::Options;
use crate::framing::{DocumentFramer, Frame, FrameKind, Framer as _};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Leftover;
use crate::model::Event;
use crate::pipe::{SourceDigest, Writer, WriterOutput};
use crate::tape::{Limits, TapeBuf, Val};

pub(super) struct ClosedWriter {
    open: RecordWriter,
    json: JsonBuffer,
    pieces: Pieces,
}

/// Splits an open record into entries and closes each entry.
struct Pieces {
    framer: DocumentFramer,
    limits: Limits,
    tape: TapeBuf,
    closed: JsonBuffer,
}

impl ClosedWriter {
    pub(super) fn new(options: &Options) -> Self {
        let framer = DocumentFramer::new(&["session", "entries"], usize::MAX);
        Self {
            open: RecordWriter::new(options, DraftProfile::V2),
            json: JsonBuffer::default(),
            pieces: Pieces {
                framer,
                limits: options.limits.around_others(),
                tape: TapeBuf::default(),
                closed: JsonBuffer::default(),
            },
        }
    }

    /// Runs `write` on the writer of open records, then closes the completed entries.
    fn with(
        &mut self,
        out: &mut WriterOutput<'_>,
        write: impl FnOnce(&mut RecordWriter, &mut WriterOutput<'_>),
    ) {
        let mut bytes = Vec::new();
        let mut json = self.json.emit(&mut bytes);
        json.begin_push();
        write(&mut self.open, &mut out.redirected(json));
        self.json.emit(&mut bytes).end_push();
        let Pieces { framer, limits, tape, closed } = &mut self.pieces;
        framer.push(&bytes, &mut |frame| put(&frame, limits, tape, closed, &mut out.json));
    }
}

impl Writer for ClosedWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.with(out, |open, out| open.event(event, out));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.with(out, |open, out| open.leftover(leftover, out));
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.with(out, |open, out| open.kept_with_next(owner, out));
    }

    fn source(&mut self, source: &SourceDigest) {
        self.open.source(source);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.with(out, RecordWriter::finish);
        let Pieces { framer, limits, tape, closed } = &mut self.pieces;
        framer.finish(&mut |frame| put(&frame, limits, tape, closed, &mut out.json));
    }
}

/// Writes a piece of the record: an entry with closed maps, any other piece unchanged.
fn put(
    frame: &Frame<'_>,
    limits: &Limits,
    tape: &mut TapeBuf,
    closed: &mut JsonBuffer,
    json: &mut JsonWriter<'_>,
) {
    let FrameKind::Element { comma } = frame.kind else {
        let source = frame.source();
        return json.bytes(source.as_deref().unwrap_or(frame.bytes));
    };
    let text = std::str::from_utf8(frame.bytes).unwrap_or_default();
    // Our own writer produced the piece within these limits, so parsing succeeds.
    let Ok(tape) = tape.parse(text, limits) else {
        return json.bytes(frame.bytes);
    };
    closed.clear();
    put_entry(tape.root(), &mut closed.hold());
    if comma {
        json.bytes(b",");
    }
    json.bytes(closed.bytes());
}

/// The draft's members for a type of entry.
fn known(kind: &str) -> &'static [&'static str] {
    match kind {
        "user" => &["content", "parent-id"],
        "assistant" => &["content", "parent-id", "model-id"],
        "tool-call" => &["name", "input", "call-id"],
        "tool-result" => &["output", "call-id", "status", "is-error"],
        "reasoning" => &["content", "encrypted", "subject"],
        _ => &["event-type"],
    }
}

/// Members that every entry may have.
const EVERY: &[&str] = &["type", "timestamp", "id"];

/// The draft's usage counts.
const COUNTS: &[&str] = &["input", "output", "cached", "reasoning", "total", "cost"];

/// Members written at another path, or in another form.
const ELSEWHERE: &[&str] = &["children", "vendor-ext", "token-usage", "data"];

fn put_entry(entry: Val<'_>, json: &mut JsonWriter<'_>) {
    let kind = entry.str_or_empty("type").to_owned();
    let is_known = |name: &Str<'_>| {
        let name = name.as_escaped();
        EVERY.contains(&name) || known(&kind).contains(&name)
    };
    let usage = UsageMembers { map: entry.get("token-usage"), of_assistant: kind == "assistant" };
    json.object();
    put_members(entry, &is_known, json);
    if let Some(data) = entry.get("data") {
        json.key("data").object().key("vendor").literal(OURS);
        json.key("data").raw(&Raw::new(data.text())).end_object();
    }
    usage.put_known(json);
    if let Some(children) = entry.get("children") {
        json.key("children").array();
        children.elements().for_each(|child| put_entry(child, json));
        json.end_array();
    }
    let is_said = |name: &Str<'_>| !is_known(name) && !ELSEWHERE.contains(&name.as_escaped());
    let said = usage.has_rest() || entry.members().any(|(name, _)| is_said(&name));
    let ext = entry.get("vendor-ext");
    if ext.is_some() || said {
        json.key("vendor-ext").object().key("vendor");
        match ext.and_then(|ext| ext.get("vendor")) {
            Some(vendor) => json.raw(&Raw::new(vendor.text())),
            None => json.literal(OURS),
        };
        json.key("data").object();
        for (name, closed) in [("data", "line"), ("more", "more"), ("space", "space")] {
            if let Some(value) = ext.and_then(|ext| ext.get(name)) {
                json.key(closed).raw(&Raw::new(value.text()));
            }
        }
        if said {
            json.key("said").object();
            put_members(entry, &is_said, json);
            usage.put_rest(json);
            json.end_object();
        }
        json.end_object().end_object();
    }
    json.end_object();
}

/// The usage of an entry: the draft has it only on assistant entries.
struct UsageMembers<'t> {
    map: Option<Val<'t>>,
    of_assistant: bool,
}

impl UsageMembers<'_> {
    /// Whether the draft has this member, in `token-usage` or on the entry.
    fn is_known(&self, name: &Str<'_>) -> bool {
        self.of_assistant && (name.is(STOP) || COUNTS.contains(&name.as_escaped()))
    }

    fn put_known(&self, json: &mut JsonWriter<'_>) {
        let Some(map) = self.map.filter(|_| self.of_assistant) else { return };
        put_members(map, &|name| name.is(STOP), json);
        json.key("token-usage").object();
        put_members(map, &|name| self.is_known(name) && !name.is(STOP), json);
        json.end_object();
    }

    fn has_rest(&self) -> bool {
        self.map.is_some_and(|map| map.members().any(|(name, _)| !self.is_known(&name)))
    }

    fn put_rest(&self, json: &mut JsonWriter<'_>) {
        let Some(map) = self.map.filter(|_| self.has_rest()) else { return };
        json.key("token-usage").object();
        put_members(map, &|name| !self.is_known(name), json);
        json.end_object();
    }
}

const STOP: &str = "stop-reason";

/// Writes the members of a map that `wanted` selects.
fn put_members(map: Val<'_>, wanted: &dyn Fn(&Str<'_>) -> bool, json: &mut JsonWriter<'_>) {
    for (name, value) in map.members().filter(|(name, _)| wanted(name)) {
        json.key(name.as_escaped()).raw(&Raw::new(value.text()));
    }
}
