//! One document per line, or documents over several lines: agents changed between the two formats.
//!
//! The first document decides. The input is lines if the first line is a complete document without the list that
//! documents are cut at; or if it is torn and the next line begins like a document; or if it does not begin like a
//! document and the next line is not indented. Otherwise the input is documents.

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
        Self { path, listed, limit, beginning: Vec::new(), looked: 0, chosen: None }
    }

    /// Whether the input is lines, as soon as that is certain.
    fn is_lines(&mut self, complete: bool) -> Option<bool> {
        let text = self.beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.beginning);
        let text = text.trim_ascii_start();
        if self.beginning.len() - text.len() > LONGEST {
            return Some(true);
        }
        if !complete && text.len() < LONGEST {
            // The form is open until the second line has begun.
            let new = self.looked.min(text.len());
            let line = memchr::memchr(b'\n', text.get(new..).unwrap_or_default()).map(|at| new + at);
            self.looked = line.unwrap_or(text.len());
            let next = text.get(line? + 1..).unwrap_or_default();
            next.trim_ascii_start().first()?;
        }
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
        Some(match end {
            Some((at, _)) => {
                let alone = line.get(at + 1..).is_some_and(|rest| rest.trim_ascii().is_empty());
                alone && !self.has_list(line)
            }
            None => next.get(1) == Some(&b'{'),
        })
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
