//! Joins sessions into the calls that started them.

use super::{JOINED, Kinship, Link, RecordFrames, begins_session, children};
use crate::framing::{Frame, FrameKind};
use crate::json::Output;
use crate::tape::{Kind, Tape, Val};

/// Converts a record to the `children` of a call.
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct NestedSession<'p> {
    /// The kinship of the parent session.
    parent: &'p Kinship,
    frames: RecordFrames,
    record: RecordRest,
    entries: String,
    /// The ids of entries that the parent record contains, too.
    repeated: String,
}

/// A record without its entries.
#[derive(Default)]
struct RecordRest {
    before: String,
    session: String,
    after: String,
}

impl RecordRest {
    /// Adds the part of the record before or after the entries.
    fn add(&mut self, part: Val<'_>) {
        for (name, value) in part.members() {
            if name.as_escaped() != "session" {
                let outer = if self.session.is_empty() { &mut self.before } else { &mut self.after };
                add_member(outer, name.as_escaped(), value);
                continue;
            }
            for (name, value) in value.members() {
                // An empty list marks the position of the entries.
                add_member(&mut self.session, name.as_escaped(), value);
            }
        }
    }

    fn text(&self) -> String {
        let Self { before, session, after } = self;
        let whole = format!("{{{before}\"session\":{{{}}},{after}", session.trim_end_matches(','));
        format!("{}}}", whole.trim_end_matches(','))
    }
}

fn add_member(members: &mut String, name: &str, value: Val<'_>) {
    for text in ["\"", name, "\":", value.text(), ","] {
        members.push_str(text);
    }
}

impl<'p> NestedSession<'p> {
    /// A session with the given parent.
    pub fn of(parent: &'p Kinship) -> Self {
        Self {
            parent,
            frames: RecordFrames::default(),
            record: RecordRest::default(),
            entries: String::new(),
            repeated: String::new(),
        }
    }

    /// Reads the next bytes of the record.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.push(bytes, |frame, tape| self.frame(frame, tape));
        self.frames = frames;
    }

    /// The entry that begins the session, followed by its entries: elements of a list. `file` is the name of the
    /// source file, without its extension.
    pub fn finish(mut self, link: &Link, file: &str) -> String {
        let mut frames = std::mem::take(&mut self.frames);
        frames.finish(|frame, tape| self.frame(frame, tape));
        let record = format!(",\"record\":{}", self.record.text());
        let repeated = match self.repeated.trim_end_matches(',') {
            "" => String::new(),
            ids => format!(",\"repeated\":[{ids}]"),
        };
        marker(link, file, &(repeated + &record)) + &self.entries
    }

    fn frame(&mut self, frame: Frame<'_>, tape: Option<&Tape<'_>>) {
        let Some(tape) = tape else { return };
        let FrameKind::Element { .. } = frame.kind else { return self.record.add(tape.root()) };
        let entry = tape.root();
        self.entries.push(',');
        self.entries.push_str(entry.text());
        let id = entry.get("id").and_then(|id| id.str());
        if let Some(id) = id.filter(|id| self.parent.tells_of(id.as_escaped())) {
            for text in ["\"", id.as_escaped(), "\","] {
                self.repeated.push_str(text);
            }
        }
    }
}

/// The entry with the name of a joined session, before its entries or for a record that follows.
fn marker(link: &Link, file: &str, more: &str) -> String {
    let Link { relation, call, name, .. } = link;
    let call = call.as_ref().map_or_else(String::new, |call| format!(",\"parent-call\":\"{call}\""));
    let file = crate::json::Str::from_plain(file);
    let (file, relation) = (file.as_escaped(), relation.word());
    format!(
        "{{\"type\":\"system-event\",\"event-type\":\"{JOINED}\",\"agent\":\"{name}\"{call},\
         \"data\":{{\"content\":{{\"relation\":\"{relation}\",\"file\":\"{file}\"{more}}}}}}}"
    )
}

/// The entry that names a record that follows in the same file.
pub fn following_entry(link: &Link, file: &str) -> String {
    marker(link, file, "")
}

/// Inserts sessions into the calls of a record while it is copied.
#[derive(Default)]
pub struct Joiner {
    frames: RecordFrames,
    /// An entry has been written.
    begun: bool,
}

impl Joiner {
    /// Reads the next bytes of the record and writes the joined record. `sessions` is called with the id of every call
    /// and returns the content to insert.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sessions: &mut dyn FnMut(&str) -> Option<String>,
        out: &mut dyn Output,
    ) {
        let Self { frames, begun } = self;
        frames.push(bytes, |frame, tape| join_frame(frame, tape, begun, sessions, out));
    }

    /// Writes the rest. `last` returns entries to append after all others, before the record ends.
    pub fn finish(
        &mut self,
        sessions: &mut dyn FnMut(&str) -> Option<String>,
        last: &mut dyn FnMut() -> Vec<String>,
        out: &mut dyn Output,
    ) {
        let Self { frames, begun } = self;
        frames.finish(|frame, tape| {
            if frame.kind == FrameKind::Tail {
                for entry in last() {
                    if std::mem::replace(begun, true) {
                        out.write(b",");
                    }
                    out.write(entry.as_bytes());
                }
            }
            join_frame(frame, tape, begun, sessions, out);
        });
    }
}

fn join_frame(
    frame: Frame<'_>,
    tape: Option<&Tape<'_>>,
    begun: &mut bool,
    sessions: &mut dyn FnMut(&str) -> Option<String>,
    out: &mut dyn Output,
) {
    let is_entry = matches!(frame.kind, FrameKind::Element { .. });
    *begun |= is_entry;
    let mut inserts = Vec::new();
    if let Some(tape) = tape.filter(|_| is_entry) {
        find_calls(tape.root(), sessions, &mut inserts);
    }
    let Some(tape) = tape.filter(|_| !inserts.is_empty()) else {
        return out.write(&frame.source().unwrap_or(frame.bytes.into()));
    };
    if frame.kind == (FrameKind::Element { comma: true }) {
        out.write(b",");
    }
    let mut at = 0;
    for (place, text) in inserts {
        out.write(&tape.text().as_bytes()[at..place]);
        out.write(text.as_bytes());
        at = place;
    }
    out.write(&tape.text().as_bytes()[at..]);
}

/// Finds the calls in an entry, and the positions for their sessions.
fn find_calls(
    entry: Val<'_>,
    sessions: &mut dyn FnMut(&str) -> Option<String>,
    inserts: &mut Vec<(usize, String)>,
) {
    for child in children(entry).take_while(|child| !begins_session(*child)) {
        find_calls(child, sessions, inserts);
    }
    let list = entry.get("children");
    let takes_more = list.is_none_or(|list| list.kind() == Kind::Array);
    if !takes_more || !entry.get("type").is_some_and(|kind| kind.is("tool-call")) {
        return;
    }
    let Some(call) = entry.get("call-id").and_then(|call| call.str()) else { return };
    let Some(text) = sessions(call.as_escaped()) else { return };
    match list {
        Some(list) => {
            let comma = if list.elements().next().is_some() { "," } else { "" };
            inserts.push((list.span().end - 1, format!("{comma}{text}")));
        }
        None => inserts.push((entry.span().end - 1, format!(",\"children\":[{text}]"))),
    }
}
