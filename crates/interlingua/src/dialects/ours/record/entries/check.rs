//! Checks that the lines of an entry come back: an entry of a new shape is rebuilt and compared with its source, and a line
//! that differs is kept whole.

use super::super::rebuild::{Comparison, Repaired};
use super::super::shape::SourceText;
use super::Entries;
use crate::ledger::LeftoverBody;
use crate::pipe::WriterOutput;

impl Entries {
    /// Compares the entry's lines with the restored lines, and keeps differing lines whole. `closing` holds the
    /// brackets that close the entry.
    pub(super) fn check_lines(&mut self, closing: &str, out: &mut WriterOutput<'_>) {
        if !self.sources.need_check() {
            return;
        }
        if self.known.find(&self.shape, self.sources.text()).is_none() {
            self.rebuild(closing, out);
        }
        self.sources.checked();
    }

    #[cold]
    fn rebuild(&mut self, closing: &str, out: &mut WriterOutput<'_>) {
        let Some(rebuilder) = &mut self.rebuilder else { return };
        out.json.bytes(closing.as_bytes());
        let entry = out.json.tail();
        let comma = usize::from(entry.first() == Some(&b','));
        let text = simdutf8::basic::from_utf8(&entry[comma..]).unwrap_or_default();
        let comparison = rebuilder.compare(text, &self.sources);
        drop(entry);
        out.json.take_back(closing.len());
        let Repaired { at, lines, verbatim } = match comparison {
            Comparison::Equal => return self.known.add(&self.shape, self.sources.text()),
            Comparison::Different(repaired) => repaired,
            Comparison::Impossible => {
                self.shape.odd();
                return out.ledger.note("source lines that could not be compared with their entry");
            }
        };
        // The list of further lines stays open, if it was open.
        let lines = lines.bytes();
        let open = lines.len() - usize::from(closing.starts_with(']'));
        out.json.replace_tail(comma + at, lines.get(..open).unwrap_or_default());
        self.shape.odd();
        (0..verbatim).for_each(|_| out.ledger.kept_verbatim());
    }

    /// Records the source of a line and the shape its restoring depends on. Returns whether the line must be kept
    /// whole: its entry cannot be rebuilt, and no entry of its shape was.
    pub(super) fn learn_line(&mut self, body: LeftoverBody<'_>) -> bool {
        let tape = match body {
            LeftoverBody::Frame(tape) if self.rebuilder.is_some() && self.holes.count > 0 => tape,
            _ => {
                self.sources.add_sound();
                return false;
            }
        };
        if let Some(hash) = self.unread_line.take() {
            // The text of the preceding line was not kept, so its holes cannot be compared with this line's.
            self.shape.odd();
            self.known.has_more(hash);
        }
        let large = self.large || self.entry.as_ref().is_some_and(|entry| entry.large);
        let line = if large { "" } else { tape.root().text() };
        let sources = SourceText { line, ..self.sources.text() };
        self.shape.line(tape, &self.holes, sources);
        let is_alone = !self.is_open() && !self.sources.need_check();
        let known = self.known.find(&self.shape, sources).filter(|_| large || is_alone);
        match known {
            _ if large => {
                self.sources.add_sound();
                return self.is_open() || known.is_none();
            }
            Some(known) if known.has_more => self.sources.add_checked(line),
            Some(_) => {
                self.unread_line = Some(self.shape.hash());
                self.sources.add_sound();
            }
            None => self.sources.add(line),
        }
        false
    }
}
