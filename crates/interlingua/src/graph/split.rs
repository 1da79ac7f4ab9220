//! Splits joined sessions.

use std::collections::VecDeque;

use super::{RecordFrames, begins_session, children, joined};
use crate::framing::{Frame, FrameKind};
use crate::tape::{Tape, Val};

/// The records in a file, as before they were joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitPart<'p> {
    /// Bytes of the first record, which the others were joined to.
    First(&'p [u8]),
    /// Bytes of a record that followed the first record.
    Following {
        /// The number of the following record, from 0.
        number: usize,
        /// The name of the source file, without its extension.
        file: &'p str,
        /// The bytes.
        bytes: &'p [u8],
    },
    /// A complete record that was inside a call.
    Nested {
        /// The name of the source file, without its extension.
        file: &'p str,
        /// The record.
        record: &'p str,
    },
}

/// Splits a joined record while it is copied.
#[derive(Default)]
pub struct Splitter {
    frames: RecordFrames,
    state: SplitState,
}

#[derive(Default)]
struct SplitState {
    /// The names of the records that follow.
    names: VecDeque<String>,
    /// The current record is a following record.
    following: Option<(usize, String)>,
    begun: bool,
    /// A joined session was found.
    found: bool,
    /// The current record has a written entry.
    has_entries: bool,
}

impl Splitter {
    /// Reads the next bytes and shows the records in them.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(SplitPart<'_>)) {
        let Self { frames, state } = self;
        frames.push(bytes, |frame, tape| state.frame(frame, tape, each));
    }

    /// Shows the rest.
    pub fn finish(&mut self, each: &mut dyn FnMut(SplitPart<'_>)) {
        let Self { frames, state } = self;
        frames.finish(|frame, tape| state.frame(frame, tape, each));
    }

    /// Whether any session was joined to the record, as far as it was read.
    pub const fn has_found(&self) -> bool {
        self.state.found
    }
}

impl SplitState {
    fn frame(&mut self, frame: Frame<'_>, tape: Option<&Tape<'_>>, each: &mut dyn FnMut(SplitPart<'_>)) {
        let source = frame.source().unwrap_or(frame.bytes.into());
        let is_entry = matches!(frame.kind, FrameKind::Element { .. });
        if matches!(frame.kind, FrameKind::Head | FrameKind::Document) {
            self.next_record();
        }
        let Some(tape) = tape.filter(|_| is_entry) else {
            return self.write(&source, each);
        };
        let entry = tape.root();
        if let Some(joined) = joined(entry).filter(|_| begins_session(entry)) {
            self.found = true;
            self.names.push_back(file_of(joined));
            return;
        }
        let mut kept = String::new();
        let mut at = 0;
        take_out(
            entry,
            &mut |cut: std::ops::Range<usize>| {
                kept.push_str(&tape.text()[at..cut.start]);
                at = cut.end;
            },
            each,
        );
        self.found |= at > 0;
        kept.push_str(&tape.text()[at..]);
        if std::mem::replace(&mut self.has_entries, true) {
            self.write(b",", each);
        }
        self.write(kept.as_bytes(), each);
    }

    fn next_record(&mut self) {
        self.has_entries = false;
        // A record without a name belongs to the file of the record before it: some files hold several sessions.
        if std::mem::replace(&mut self.begun, true)
            && let Some(name) = self.names.pop_front()
        {
            let number = self.following.take().map_or(0, |(number, _)| number + 1);
            self.following = Some((number, name));
        }
    }

    fn write(&self, bytes: &[u8], each: &mut dyn FnMut(SplitPart<'_>)) {
        each(match &self.following {
            None => SplitPart::First(bytes),
            Some((number, file)) => SplitPart::Following { number: *number, file, bytes },
        });
    }
}

/// The name of the source file of a joined session.
fn file_of(joined: Val<'_>) -> String {
    let file = joined.get("file").and_then(|file| file.str());
    file.map_or_else(String::new, |file| file.decode().into_owned())
}

/// Finds the sessions in an entry: reports their positions, and shows each session.
fn take_out(
    entry: Val<'_>,
    cut: &mut dyn FnMut(std::ops::Range<usize>),
    each: &mut dyn FnMut(SplitPart<'_>),
) {
    let mut before: Option<Val<'_>> = None;
    let mut sessions: Vec<NestedRecord<'_>> = Vec::new();
    for child in children(entry) {
        if let Some(told) = joined(child).filter(|_| begins_session(child)) {
            sessions.push(NestedRecord { told, entries: Vec::new() });
        } else if let Some(session) = sessions.last_mut() {
            session.entries.push(child);
        } else {
            take_out(child, cut, each);
            before = Some(child);
        }
    }
    let Some(list) = entry.get("children").filter(|_| !sessions.is_empty()) else { return };
    match before {
        Some(before) => cut(before.span().end..list.span().end - 1),
        // The list was created for the sessions.
        None => cut(member_of(list)),
    }
    for session in sessions {
        session.show(each);
    }
}

/// The range of the member with this list, including the comma before it, or after it if it is the first.
fn member_of(list: Val<'_>) -> std::ops::Range<usize> {
    let text = list.frame_text();
    let name = text[..list.span().start].rfind("\"children\"").unwrap_or(list.span().start);
    let before = text[..name].trim_ascii_end();
    if before.ends_with(',') {
        return before.len() - 1..list.span().end;
    }
    let after = &text[list.span().end..];
    let space = after.len() - after.trim_ascii_start().len();
    let comma = usize::from(after.trim_ascii_start().starts_with(','));
    name..list.span().end + if comma > 0 { space + comma } else { 0 }
}

/// A session inside a call.
struct NestedRecord<'t> {
    told: Val<'t>,
    entries: Vec<Val<'t>>,
}

impl NestedRecord<'_> {
    /// Shows the restored record, and the records nested in it.
    fn show(&self, each: &mut dyn FnMut(SplitPart<'_>)) {
        let Some(record) = self.told.get("record") else { return };
        let mut text = String::new();
        write_members(record, &mut text, &mut |text, name, value| match name {
            "session" => write_members(value, text, &mut |text, name, value| match name {
                "entries" => {
                    let entries: Vec<&str> = self.entries.iter().map(Val::text).collect();
                    text.push('[');
                    text.push_str(&entries.join(","));
                    text.push(']');
                }
                _ => text.push_str(value.text()),
            }),
            _ => text.push_str(value.text()),
        });
        let (mut own, mut inner) = (Vec::new(), Splitter::default());
        let mut part = |part: SplitPart<'_>| match part {
            SplitPart::First(bytes) => own.extend_from_slice(bytes),
            other => each(other),
        };
        inner.push(text.as_bytes(), &mut part);
        inner.finish(&mut part);
        let record = String::from_utf8_lossy(&own);
        each(SplitPart::Nested { file: &file_of(self.told), record: &record });
    }
}

/// Writes an object; `value` writes the values.
fn write_members(object: Val<'_>, text: &mut String, value: &mut dyn FnMut(&mut String, &str, Val<'_>)) {
    text.push('{');
    for (number, (name, member)) in object.members().enumerate() {
        text.push_str(if number > 0 { ",\"" } else { "\"" });
        text.push_str(name.as_escaped());
        text.push_str("\":");
        value(text, name.as_escaped(), member);
    }
    text.push('}');
}
