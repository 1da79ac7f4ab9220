//! Checks that the lines of an entry come back: an entry of a new shape is rebuilt and compared with its source, and a line
//! that differs is kept whole.

use super::super::rebuild::{Comparison, EntryText, Repaired};
use super::super::shape_tokens::SourceText;
use super::Entries;
use crate::ledger::LeftoverBody;
use crate::pipe::WriterOutput;

impl Entries {
    /// Compares the entry's lines with the restored lines, and keeps differing lines whole. `closing` holds the
    /// brackets that close the entry, and `line` the text of the current line, if there is one.
    pub(super) fn check_lines(&mut self, closing: &str, line: &str, out: &mut WriterOutput<'_>) {
        if !self.sources.need_check() {
            return;
        }
        let sources = SourceText { line, ..self.sources.text() };
        if self.known.find(&self.shape, None, sources).is_none() {
            self.rebuild(closing, line, out);
        }
        if self.sources.checked() {
            self.unread_line = Some(self.shape.hash());
        }
    }

    #[cold]
    fn rebuild(&mut self, closing: &str, line: &str, out: &mut WriterOutput<'_>) {
        let Some(rebuilder) = &mut self.rebuilder else { return };
        out.json.bytes(closing.as_bytes());
        let entry = out.json.tail();
        let comma = usize::from(entry.first() == Some(&b','));
        let text = simdutf8::basic::from_utf8(&entry[comma..]).unwrap_or_default();
        let known = out.json.tail_texts().map(|text| text.start - comma..text.end - comma).collect();
        let comparison = rebuilder.compare(&EntryText { text, known }, &self.sources, line);
        drop(entry);
        out.json.take_back(closing.len());
        let sources = SourceText { line, ..self.sources.text() };
        let Repaired { at, lines, verbatim } = match comparison {
            Comparison::Equal => return self.known.add(&self.shape, sources),
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
        let is_open = self.is_open();
        let is_alone = !is_open && !self.sources.need_check();
        let before = Some(self.shape.hash()).filter(|_| is_alone && !large && self.lines == 1);
        if before.is_some()
            && let Some(hash) = self.known.follow(&mut self.shape, tape, &self.holes, sources)
        {
            self.unread_line = Some(hash);
            self.sources.add_sound();
            return false;
        }
        self.shape.line(tape, &self.holes, sources);
        let known = self.known.find(&self.shape, before, sources).filter(|_| large || is_alone);
        match known {
            _ if large => {
                self.sources.add_sound();
                return is_open || known.is_none();
            }
            Some(known) if known.has_more => self.sources.add_checked(line),
            Some(_) => {
                self.unread_line = Some(self.shape.hash());
                self.sources.add_sound();
            }
            None if is_alone && line.len() > LONG_LINE => self.sources.add_current(line),
            None => self.sources.add(line),
        }
        false
    }
}

/// A longer line is not copied for its check. Its entry then keeps no text to compare with further lines.
const LONG_LINE: usize = 8 << 10;
