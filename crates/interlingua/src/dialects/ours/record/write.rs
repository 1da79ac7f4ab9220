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
use super::rebuild::LARGEST;
use crate::dialects::Options;
use crate::json::{JsonBuffer, JsonWriter};
use crate::ledger::{Leftover, LeftoverBody};
use crate::model::{Event, ItemKind, Session};
use crate::pipe::{Target, Writer};

/// The note in the report for each record after the first.
pub(super) const FURTHER_RECORD: &str = "another session of the input, which is a record of its own";

pub(super) struct RecordWriter {
    options: Options,
    profile: DraftProfile,
    entries: Entries,
    /// A session has begun.
    started: bool,
    /// Entries that wait for the head, and the entry at hand: it is needed when its lines are checked.
    held: JsonBuffer,
    /// How many bytes of these have been written to the output.
    passed_on: usize,
    begun: bool,
}

impl RecordWriter {
    pub(super) fn new(options: &Options, profile: DraftProfile) -> Self {
        Self {
            options: options.clone(),
            profile,
            entries: Entries::new(options, profile),
            started: false,
            held: JsonBuffer::default(),
            passed_on: 0,
            begun: false,
        }
    }

    /// Ends the record, if another session than its own begins.
    fn separate(&mut self, session: &Session<'_>, out: &mut Target<'_>) {
        let again = std::mem::replace(&mut self.started, true);
        if again && !self.entries.summary.is_of(session) {
            out.ledger.note(FURTHER_RECORD);
            self.end(out);
            self.entries = Entries::new(&self.options, self.profile);
            self.begun = false;
        }
    }

    /// Ends the record.
    fn end(&mut self, out: &mut Target<'_>) {
        self.begin(out);
        self.with(out, Entries::finish);
        self.pass_on(out);
        self.held.clear();
        self.passed_on = 0;
        self.entries.summary.write_tail(self.entries.no_final_newline, &mut out.json);
    }

    /// Writes the head and what has waited for it.
    fn begin(&mut self, out: &mut Target<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.entries.summary.write_head(&mut out.json);
            self.pass_on(out);
        }
    }

    /// Runs `write` on what is held, or on the output if the frame is too large to be held twice.
    fn with(&mut self, out: &mut Target<'_>, write: impl FnOnce(&mut Entries, &mut Target<'_>)) {
        if !self.entries.large {
            return write(&mut self.entries, &mut out.redirected(self.held.hold()));
        }
        self.pass_on(out);
        self.entries.forgot_entry();
        write(&mut self.entries, out);
        self.entries.forgot_entry();
        self.held.follow(&out.json);
        self.passed_on = 0;
    }

    /// Writes what is held to the output, once the head is written; only the entry at hand is held on.
    fn pass_on(&mut self, out: &mut Target<'_>) {
        if !self.begun {
            return;
        }
        self.held.pass_on(self.passed_on, &mut out.json);
        self.passed_on = self.held.bytes().len();
        let complete = self.entries.complete(self.passed_on);
        if self.passed_on - complete > LARGEST {
            self.held.follow(&out.json);
            self.entries.forgot_entry();
            self.passed_on = 0;
        } else {
            self.held.forget_first(complete);
            self.entries.forgot(complete);
            self.passed_on -= complete;
        }
    }

    fn is_full(&self) -> bool {
        self.held.bytes().len() > JsonWriter::BUFFER
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
        let large = out.frame_length() > LARGEST;
        if large && matches!(event, Event::ItemDelta(_)) {
            self.begin(out);
        }
        self.entries.large = self.begun && large;
        self.with(out, |entries, out| entries.event(event, out));
        if self.held.bytes().len() - self.passed_on > JsonWriter::BUFFER {
            self.pass_on(out);
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
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
        self.pass_on(out);
    }

    fn finish(&mut self, out: &mut Target<'_>) {
        self.end(out);
    }
}
