//! The blocks of a session in Markdown. Aider writes each block at once and marks the end of its own lines with two spaces:
//! a prompt is lines that begin with `####`, a message of the program begins with `>`, and an answer is everything else,
//! between empty lines.

use super::heading;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// The line that starts the session.
    Heading,
    /// A prompt.
    User,
    /// An answer.
    Assistant,
    /// Messages of the program.
    Console,
}

/// Consecutive lines of one kind.
#[derive(Debug)]
pub(super) struct Block<'m> {
    pub(super) kind: BlockKind,
    pub(super) lines: Vec<Line<'m>>,
    /// The place in the session.
    pub(super) begin: usize,
    pub(super) end: usize,
}

/// A line without its line break.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'m> {
    pub(super) text: &'m [u8],
    pub(super) begin: usize,
    pub(super) end: usize,
}

/// The blocks of a session.
#[derive(Debug)]
pub(super) struct Blocks<'m> {
    pub(super) blocks: Vec<Block<'m>>,
    /// Whether lines end with a carriage return.
    pub(super) has_returns: bool,
}

impl<'m> Block<'m> {
    /// A block of these lines, with the empty lines before and after.
    pub(super) fn of(kind: BlockKind, lines: &[Line<'m>]) -> Self {
        let begin = lines.first().map_or(0, |line| line.begin);
        let end = lines.last().map_or(begin, |line| line.end);
        Self { kind, lines: lines.to_vec(), begin, end }
    }

    /// The text of the lines between the empty ones at both ends, each line cut by `cut`.
    pub(super) fn text(&self, cut: impl Fn(&'m [u8]) -> &'m [u8]) -> String {
        let is_filled = |line: &Line<'_>| !line.text.is_empty();
        let first = self.lines.iter().position(is_filled).unwrap_or(self.lines.len());
        let last = self.lines.iter().rposition(is_filled).map_or(first, |last| last + 1);
        let lines = self.lines.get(first..last).unwrap_or_default();
        let texts: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(cut(line.text))).collect();
        texts.join("\n")
    }
}

/// Cuts a session into its blocks. Every byte is in one block.
pub(super) fn blocks(markdown: &[u8]) -> Blocks<'_> {
    let mut at = 0;
    let mut has_returns = false;
    let lines: Vec<Line<'_>> = markdown
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let begin = at;
            at += line.len();
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let cut = text.strip_suffix(b"\r");
            has_returns |= cut.is_some() && begin == 0;
            Line { text: cut.unwrap_or(text), begin, end: at }
        })
        .collect();
    // A program that strips spaces from the ends of lines has changed the whole file.
    let is_stripped = !lines.iter().any(|line| line.text.ends_with(b"  "));
    let mut cutter = Cutter { lines: &lines, is_stripped, at: 0, found: Vec::new() };
    while cutter.at < lines.len() {
        cutter.next();
    }
    Blocks { blocks: cutter.found, has_returns }
}

struct Cutter<'l, 'm> {
    lines: &'l [Line<'m>],
    is_stripped: bool,
    at: usize,
    found: Vec<Block<'m>>,
}

impl<'m> Cutter<'_, 'm> {
    fn text(&self, at: usize) -> Option<&'m [u8]> {
        self.lines.get(at).map(|line| line.text)
    }

    /// Whether a line ends as Aider ends its own lines.
    fn is_ended(&self, text: &[u8]) -> bool {
        self.is_stripped || text.ends_with(b"  ")
    }

    fn is_prompt(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(b"####");
        rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b' ')) && self.is_ended(text)
    }

    fn is_message(&self, text: &[u8]) -> bool {
        begins_message(text) && self.is_ended(text)
    }

    /// The kind of the block that a line certainly begins.
    fn certain(&self, text: &[u8]) -> Option<BlockKind> {
        match () {
            () if heading(text).is_some() => Some(BlockKind::Heading),
            () if self.is_prompt(text) => Some(BlockKind::User),
            () if self.is_message(text) => Some(BlockKind::Console),
            () => None,
        }
    }

    /// Cuts the next block.
    fn next(&mut self) {
        let begin = self.at;
        let mut at = begin;
        while self.text(at).is_some_and(<[u8]>::is_empty) {
            at += 1;
        }
        let Some(text) = self.text(at) else {
            // Empty lines at the end belong to the block before them.
            return self.extend_last(at);
        };
        let is_message = self.certain(text) == Some(BlockKind::Console);
        if is_message && at > begin {
            // Empty lines before a message belong to the block before it.
            return self.extend_last(at);
        }
        let is_adjacent = at == begin;
        let after_console = self.found.last().is_some_and(|block| block.kind == BlockKind::Console);
        let (kind, end) = match self.certain(text) {
            Some(BlockKind::Heading) if self.found.is_empty() => {
                (BlockKind::Heading, at + 1 + self.blank(at + 1))
            }
            Some(BlockKind::User) => (BlockKind::User, self.while_lines(at, |text| self.is_prompt(text))),
            Some(BlockKind::Console) => (BlockKind::Console, at + 1),
            // A message of several lines has one mark at its beginning and one at its end.
            _ => match self.end_of_message(at) {
                Some(end) if is_adjacent && (begins_message(text) || after_console) => {
                    (BlockKind::Console, end)
                }
                _ => (BlockKind::Assistant, self.end_of_answer(at)),
            },
        };
        if kind == BlockKind::Console && is_adjacent && after_console {
            return self.extend_last(end);
        }
        self.found.push(Block::of(kind, self.lines.get(begin..end).unwrap_or_default()));
        self.at = end;
    }

    /// Adds the lines until `end` to the block before them.
    fn extend_last(&mut self, end: usize) {
        let begin = std::mem::replace(&mut self.at, end);
        let more = self.lines.get(begin..end).unwrap_or_default();
        match self.found.last_mut() {
            Some(last) => {
                last.lines.extend_from_slice(more);
                last.end = more.last().map_or(last.end, |line| line.end);
            }
            None => self.found.push(Block::of(BlockKind::Assistant, more)),
        }
    }

    /// One, if a line is empty.
    fn blank(&self, at: usize) -> usize {
        usize::from(self.text(at).is_some_and(<[u8]>::is_empty))
    }

    fn while_lines(&self, mut at: usize, fits: impl Fn(&[u8]) -> bool) -> usize {
        while self.text(at).is_some_and(&fits) {
            at += 1;
        }
        at
    }

    /// The end of a message of several lines; `None` if no line ends it before the next prompt.
    fn end_of_message(&self, begin: usize) -> Option<usize> {
        if self.is_stripped {
            return None;
        }
        let mut at = begin;
        loop {
            let text = self.text(at)?;
            let is_next = at > begin && self.text(at - 1).is_some_and(<[u8]>::is_empty);
            if is_next && (self.is_prompt(text) || heading(text).is_some()) {
                return None;
            }
            at += 1;
            if self.is_ended(text) {
                return Some(at);
            }
        }
    }

    /// The end of an answer: one empty line before the next block.
    fn end_of_answer(&self, begin: usize) -> usize {
        let mut at = begin;
        while let Some(text) = self.text(at) {
            at += 1;
            if !text.is_empty() {
                continue;
            }
            let next = self.while_lines(at, <[u8]>::is_empty);
            match self.text(next).map(|text| self.certain(text)) {
                // Empty lines at the end of the session belong to the answer.
                None => return self.lines.len(),
                // A prompt begins with an empty line of its own.
                Some(Some(BlockKind::Console)) => return next,
                Some(Some(_)) => return at.max(next - 1),
                Some(None) => at = next,
            }
        }
        at
    }
}

/// Whether a line begins a message of the program.
fn begins_message(text: &[u8]) -> bool {
    text.strip_prefix(b">").is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b' '))
}
