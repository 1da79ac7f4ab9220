//! One document per line, or documents over several lines: agents changed between the two formats.
//!
//! The first document decides. The input is lines if the first line is a complete document without the list that
//! documents are cut at; or if it is torn and the next line begins like a document; or if it does not begin like a
//! document and the next line is not indented. Otherwise the input is documents.
//!
//! A first line that ends before a value (`{"messages":[`) is torn, or the next line is that value. The next line is the
//! value if the line goes on after the value (`{..},`) or breaks off after a token (`{`).

use super::documents::value_follows;
use super::nesting::{Nesting, NestingMark};
use super::{DocumentFramer, Frame, FrameKind, Framer, LineFramer};

/// The framer of either form.
pub struct LinesOrDocumentsFramer {
    path: &'static [&'static str],
    listed: &'static [&'static str],
    limit: usize,
    /// The beginning of the input, until the form is known.
    beginning: Vec<u8>,
    /// The number of bytes of the beginning that were searched for a line end.
    looked: usize,
    /// The end of the first line, once known.
    line_end: Option<usize>,
    chosen: Option<Box<dyn Framer>>,
}

impl std::fmt::Debug for LinesOrDocumentsFramer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinesOrDocumentsFramer")
            .field("chosen", &self.chosen.is_some())
            .finish_non_exhaustive()
    }
}

/// The maximum number of bytes examined: a longer first line is taken for a document with a list.
const LONGEST: usize = 1 << 20;

impl LinesOrDocumentsFramer {
    /// Cuts the list at `path` of documents, and a document that is itself a list if its first element has one of the
    /// members `listed`, gathering at most `limit` bytes at a time.
    pub fn new(path: &'static [&'static str], listed: &'static [&'static str], limit: usize) -> Self {
        Self { path, listed, limit, beginning: Vec::new(), looked: 0, line_end: None, chosen: None }
    }

    /// Whether the input is lines, as soon as that is certain.
    fn is_lines(&mut self, complete: bool) -> Option<bool> {
        let text = self.beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.beginning);
        let text = text.trim_ascii_start();
        if self.beginning.len() - text.len() > LONGEST {
            return Some(true);
        }
        if !complete && text.len() < LONGEST {
            let looked = &mut self.looked;
            let mut search = || {
                let from = (*looked).min(text.len());
                let end = memchr::memchr(b'\n', text.get(from..).unwrap_or_default()).map(|at| from + at);
                *looked = end.map_or(text.len(), |end| end + 1);
                end
            };
            // The form is open until the second line has begun.
            let end = match self.line_end {
                Some(end) => end,
                None => search()?,
            };
            self.line_end = Some(end);
            let (line, next) = text.split_at(end + 1);
            next.trim_ascii_start().first()?;
            // After a line that may end before a value, the form is open until the second line has ended.
            let is_open = matches!(line.trim_ascii_end().last(), Some(b':' | b'[' | b','));
            if is_open && next.starts_with(b"{") {
                search()?;
            }
        }
        // The decision does not depend on the bytes that the last chunk has beyond the maximum.
        let text = text.get(..LONGEST).unwrap_or(text);
        let line = memchr::memchr(b'\n', text);
        let (line, next) = text.split_at(line.unwrap_or(text.len()));
        if line.len() >= LONGEST {
            return Some(false);
        }
        if !line.starts_with(b"{") {
            // A list, the rest of an indented document whose beginning is missing, or a line of unknown form.
            let goes_on = matches!(next.get(1), Some(b' ' | b'\t' | b'}' | b']'));
            return Some(!line.starts_with(b"[") && !goes_on);
        }
        let end = Nesting::default().find(line, 0).filter(|(_, mark)| *mark == NestingMark::End);
        if let Some((at, _)) = end {
            let alone = line.get(at + 1..).is_some_and(|rest| rest.trim_ascii().is_empty());
            return Some(alone && !self.has_list(line));
        }
        let next = next.get(1..).unwrap_or_default();
        let next = next.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
        let is_value = value_follows(line.trim_ascii_end()) && goes_on(next);
        Some(next.starts_with(b"{") && !is_value)
    }

    fn has_list(&self, line: &[u8]) -> bool {
        let mut found = false;
        let mut framer = DocumentFramer::new(self.path, usize::MAX);
        framer.push(line, &mut |frame| found |= frame.kind == FrameKind::Head);
        found
    }

    fn choose(&mut self, lines: bool, each: &mut dyn FnMut(Frame<'_>)) {
        let mut framer: Box<dyn Framer> = if lines {
            Box::new(LineFramer::new(self.limit))
        } else {
            Box::new(DocumentFramer::new(self.path, self.limit).with_lists_of(self.listed))
        };
        framer.push(&std::mem::take(&mut self.beginning), each);
        self.chosen = Some(framer);
    }
}

/// Whether a line that begins with an object goes on after the object, or breaks off after a token that is not an end.
fn goes_on(line: &[u8]) -> bool {
    match Nesting::default().find(line, 0) {
        Some((at, _)) => at + 1 < line.len(),
        None => matches!(line.last(), Some(b'{' | b'[' | b',')),
    }
}

impl Framer for LinesOrDocumentsFramer {
    fn memory(&mut self) -> &mut Vec<u8> {
        match &mut self.chosen {
            Some(framer) => framer.memory(),
            None => &mut self.beginning,
        }
    }

    fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if let Some(framer) = &mut self.chosen {
            return framer.push(bytes, each);
        }
        self.beginning.extend_from_slice(bytes);
        if let Some(lines) = self.is_lines(false) {
            self.choose(lines, each);
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if self.chosen.is_none() {
            let lines = self.is_lines(true).unwrap_or(true);
            self.choose(lines, each);
        }
        if let Some(framer) = &mut self.chosen {
            framer.finish(each);
        }
    }
}
