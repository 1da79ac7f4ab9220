//! Events to a record: the known session values, the entries, and the session values learned meanwhile.
//!
//! Session values of the first lines precede the entries, but these lines may be entries themselves (a queue operation,
//! a snapshot). So notices at the start wait, up to the size of a buffer, until the first message or the working
//! directory.
//!
//! A source may hold several sessions in sequence; each becomes a record of its own, and the records are concatenated.

use super::entries::Entries;
use super::profile::DraftProfile;
use super::rebuild::LARGEST;
use crate::dialects::Options;
use crate::json::{JsonBuffer, JsonWriter};
use crate::ledger::{Leftover, LeftoverBody};
use crate::model::{Event, ItemKind, Session};
use crate::pipe::{SourceDigest, Writer, WriterOutput};

/// The note in the report for each record after the first.
const FURTHER_RECORD: &str = "another session of the input, which is a record of its own";

pub(super) struct RecordWriter {
    options: Options,
    profile: DraftProfile,
    entries: Entries,
    /// Set once a session has started.
    started: bool,
    /// Entries that wait for the head.
    held: JsonBuffer,
    /// Set once the head is written.
    begun: bool,
    /// The source of the record.
    source: Option<SourceDigest>,
    /// The number of records, with the current one.
    records: u64,
}

impl RecordWriter {
    pub(super) fn new(options: &Options, profile: DraftProfile) -> Self {
        Self {
            options: options.clone(),
            profile,
            entries: Entries::new(options, profile),
            started: false,
            held: JsonBuffer::default(),
            begun: false,
            source: None,
            records: 1,
        }
    }

    /// Ends the record if a different session starts.
    fn separate(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        let again = std::mem::replace(&mut self.started, true);
        if again && !self.entries.summary.is_of(session) {
            self.end(out);
            out.end_session(FURTHER_RECORD);
            self.entries = Entries::new(&self.options, self.profile);
            self.begun = false;
            self.records += 1;
        }
    }

    /// Ends the record.
    fn end(&mut self, out: &mut WriterOutput<'_>) {
        self.begin(out);
        self.with(out, Entries::finish);
        out.json.forget_tail();
        let mut source = self.source.take();
        if let Some(source) = &mut source {
            source.records.get_or_insert(self.records);
        }
        self.entries.summary.write_tail(self.entries.no_final_newline, source.as_ref(), &mut out.json);
    }

    /// Writes the head, then the waiting entries.
    fn begin(&mut self, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.entries.summary.write_head(&mut out.json);
            self.held.move_to(&mut out.json.without_spilling());
        }
    }

    /// Runs `write` on the output, or on the buffer of entries that wait for the head. An entry's lines are checked
    /// against the entry's text, so the output holds that text, unless the entry is too large.
    fn with(&mut self, out: &mut WriterOutput<'_>, write: impl FnOnce(&mut Entries, &mut WriterOutput<'_>)) {
        if !self.begun {
            return write(&mut self.entries, &mut out.redirected(self.held.hold()));
        }
        if self.entries.large {
            self.forget_entry(out);
            write(&mut self.entries, out);
            return self.forget_entry(out);
        }
        let room = out.json.suspend_spilling();
        write(&mut self.entries, out);
        out.json.resume_spilling(room);
        if out.json.tail_length() > LARGEST {
            self.forget_entry(out);
        }
        out.json.pass_on_full();
    }

    fn forget_entry(&mut self, out: &mut WriterOutput<'_>) {
        out.json.forget_tail();
        self.entries.forget_text();
    }

    fn is_full(&self) -> bool {
        self.held.bytes().len() > JsonWriter::BUFFER
    }
}

impl Writer for RecordWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if let Event::SessionStarted(session) = event {
            self.separate(session, out);
        }
        if let (false, Event::ItemStarted(head)) = (self.begun, event)
            && (!matches!(head.kind, ItemKind::Notice(_))
                || self.entries.summary.is_placed()
                || self.is_full())
        {
            self.begin(out);
        }
        let large = out.frame_length() > LARGEST;
        if large && matches!(event, Event::ItemDelta(_)) {
            self.begin(out);
        }
        self.entries.large = self.begun && large;
        self.with(out, |entries, out| entries.event(event, out));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        let length = match leftover.body {
            LeftoverBody::Frame(tape) => tape.text().len(),
            LeftoverBody::Kept { line, .. } => line.text().len(),
            LeftoverBody::Unparsed { bytes, .. } => bytes.len(),
            LeftoverBody::NoFinalNewline => 0,
        };
        if length > JsonWriter::BUFFER || self.is_full() {
            self.begin(out);
        }
        self.entries.large = length > LARGEST;
        self.with(out, |entries, out| entries.leftover(leftover, out));
    }

    fn kept_with_next(&mut self, owner: &str, _: &mut WriterOutput<'_>) {
        self.entries.kept_with_next(owner);
    }

    fn source(&mut self, source: &SourceDigest) {
        self.source = Some(source.clone());
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.end(out);
    }
}
