//! Events to a record: what is known of the session, the entries, and what was learned meanwhile.
//!
//! What the first lines tell belongs before the entries, but they may be entries themselves (a queue operation, a
//! snapshot). So notices at the beginning wait, up to a buffer's worth, until someone speaks or the working directory
//! is known.
//!
//! A source may hold several sessions, one after the other: each becomes a record of its own, and the records follow one
//! another.

use super::entries::Entries;
use super::profile::DraftProfile;
use crate::dialects::Options;
use crate::json::{JsonBuffer, JsonWriter};
use crate::ledger::{Leftover, LeftoverBody};
use crate::model::{Event, ItemKind, Session};
use crate::pipe::{Target, Writer};

pub(super) struct RecordWriter {
    options: Options,
    profile: DraftProfile,
    entries: Entries,
    /// A session has begun.
    started: bool,
    /// Entries that wait for the head.
    early: JsonBuffer,
    begun: bool,
}

impl RecordWriter {
    pub(super) fn new(options: &Options, profile: DraftProfile) -> Self {
        Self {
            options: options.clone(),
            profile,
            entries: Entries::new(options, profile),
            started: false,
            early: JsonBuffer::default(),
            begun: false,
        }
    }

    /// Ends the record, if another session than its own begins.
    fn separate(&mut self, session: &Session<'_>, out: &mut Target<'_>) {
        let again = std::mem::replace(&mut self.started, true);
        if again && !self.entries.summary.is_of(session) {
            self.end(out);
            self.entries = Entries::new(&self.options, self.profile);
            self.begun = false;
        }
    }

    /// Ends the record.
    fn end(&mut self, out: &mut Target<'_>) {
        self.begin(out);
        self.entries.finish(out);
        self.entries.summary.write_tail(self.entries.no_final_newline, &mut out.json);
    }

    /// Writes the head and what has waited for it.
    fn begin(&mut self, out: &mut Target<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.entries.summary.write_head(&mut out.json);
            self.early.pour(&mut out.json);
        }
    }

    /// Runs `write` on the output, or on what waits.
    fn with(&mut self, out: &mut Target<'_>, write: impl FnOnce(&mut Entries, &mut Target<'_>)) {
        if self.begun {
            write(&mut self.entries, out);
        } else {
            write(&mut self.entries, &mut out.redirected(self.early.hold()));
        }
    }

    fn is_full(&self) -> bool {
        self.early.bytes().len() > JsonWriter::BUFFER
    }
}

impl Writer for RecordWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
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
        self.with(out, |entries, out| entries.event(event, out));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        let large = match leftover.body {
            LeftoverBody::Frame(tape) => tape.text().len() > JsonWriter::BUFFER,
            LeftoverBody::Kept { line, .. } => line.text().len() > JsonWriter::BUFFER,
            LeftoverBody::Unparsed { bytes, .. } => bytes.len() > JsonWriter::BUFFER,
            LeftoverBody::NoFinalNewline => false,
        };
        if large || self.is_full() {
            self.begin(out);
        }
        self.with(out, |entries, out| entries.leftover(leftover, out));
    }

    fn finish(&mut self, out: &mut Target<'_>) {
        self.end(out);
    }
}
