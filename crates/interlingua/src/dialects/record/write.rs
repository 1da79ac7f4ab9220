//! Events to a record: what is known of the session, the entries, and what was learned meanwhile.
//!
//! What the first lines tell belongs before the entries, but they may be entries themselves (a queue operation, a
//! snapshot). So notices at the beginning wait, up to a buffer's worth, until someone speaks or the working directory
//! is known.

use super::entries::Entries;
use crate::dialects::Options;
use crate::emit::{Emit, EmitState};
use crate::ledger::{Rest, RestBody};
use crate::model::{Event, ItemKind};
use crate::pipe::{Out, Writer};

pub(super) struct RecordWriter {
    entries: Entries,
    /// Entries that wait for the head.
    early: EmitState,
    begun: bool,
}

impl RecordWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self { entries: Entries::new(options), early: EmitState::default(), begun: false }
    }

    /// Writes the head and what has waited for it.
    fn begin(&mut self, out: &mut Out<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.entries.facts.write_head(&mut out.json);
            self.early.pour(&mut out.json);
        }
    }

    /// Runs `write` on the output, or on what waits.
    fn with(&mut self, out: &mut Out<'_>, write: impl FnOnce(&mut Entries, &mut Out<'_>)) {
        if self.begun {
            write(&mut self.entries, out);
        } else {
            write(&mut self.entries, &mut out.redirected(self.early.hold()));
        }
    }

    fn is_full(&self) -> bool {
        self.early.bytes().len() > Emit::BUFFER
    }
}

impl Writer for RecordWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        if let (false, Event::ItemStarted(head)) = (self.begun, event)
            && (!matches!(head.kind, ItemKind::Notice(_)) || self.entries.facts.is_placed() || self.is_full())
        {
            self.begin(out);
        }
        self.with(out, |entries, out| entries.event(event, out));
    }

    fn rest(&mut self, rest: Rest<'_>, out: &mut Out<'_>) {
        let large = match rest.body {
            RestBody::Frame(tape) => tape.text().len() > Emit::BUFFER,
            RestBody::Line { line, .. } => line.text().len() > Emit::BUFFER,
            RestBody::Unparsed { bytes, .. } => bytes.len() > Emit::BUFFER,
            RestBody::NoFinalNewline => false,
        };
        if large || self.is_full() {
            self.begin(out);
        }
        self.with(out, |entries, out| entries.rest(rest, out));
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.begin(out);
        self.entries.finish(out);
        self.entries.facts.write_tail(self.entries.no_final_newline, &mut out.json);
    }
}
