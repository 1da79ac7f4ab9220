//! Rebuilds the source lines of an entry from the entry, with the code that restores a log: the record's own reader and
//! the log writer of the source's dialect. The record writer compares the result with the source, and keeps a line
//! whole where the two differ.

use std::ops::Range;

use super::profile::DraftProfile;
use super::read::read_alone;
use super::read_entry::ReadEntry;
use super::shape_tokens::SourceText;
use crate::dialects::{Dialect, Options, Plane, Role, WriteSpec};
use crate::json::{JsonBuffer, JsonWriter};
use crate::ledger::{Leftover, LeftoverBody, LineHoles, Reason, write_whole};
use crate::model::{Event, ItemHead};
use crate::pipe::{Writer, WriterOutput, rehearse};
use crate::tape::{Limits, TapeBuf};

/// The log writer of a source's dialect, for entries one at a time.
pub(super) struct Rebuilder {
    spec: &'static WriteSpec,
    options: Options,
    tape: TapeBuf,
    rebuilt: JsonBuffer,
}

/// The source lines of the entry being written. The memory is reused.
#[derive(Default)]
pub(super) struct SourceLines {
    text: String,
    /// The range of each line in the text. `None` for a line that needs no check: a line without holes, or a line
    /// already shown to be restored exactly.
    lines: Vec<Option<(usize, usize)>>,
    /// The number of lines that need a check.
    unchecked: usize,
    /// The text of the last line is not copied here.
    is_current: bool,
}

impl SourceLines {
    /// Adds a line that needs a check.
    pub(super) fn add(&mut self, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.lines.push(Some((start, self.text.len())));
        self.unchecked += 1;
    }

    /// Adds a line that is checked next, without a copy of its text.
    pub(super) fn add_current(&mut self, line: &str) {
        let start = self.text.len();
        self.lines.push(Some((start, start + line.len())));
        self.unchecked += 1;
        self.is_current = true;
    }

    /// Adds a line that needs no check. Its text is kept for comparisons with later lines of the entry.
    pub(super) fn add_checked(&mut self, line: &str) {
        self.text.push_str(line);
        self.lines.push(None);
    }

    /// Adds a line that needs no check.
    pub(super) fn add_sound(&mut self) {
        self.lines.push(None);
    }

    pub(super) const fn need_check(&self) -> bool {
        self.unchecked > 0
    }

    /// Marks all lines so far as restored exactly. Returns whether the text of the last line was not copied.
    pub(super) fn checked(&mut self) -> bool {
        self.lines.fill(None);
        self.unchecked = 0;
        std::mem::take(&mut self.is_current)
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(LARGEST);
        self.lines.clear();
        self.unchecked = 0;
        self.is_current = false;
    }

    /// The texts of all lines that needed a check, concatenated.
    pub(super) fn text(&self) -> SourceText<'_> {
        SourceText { earlier: &self.text, line: "" }
    }

    /// Rewrites the held lines of an entry; lines that need a check are written without holes. Returns the end of the
    /// first.
    #[cold]
    pub(super) fn make_whole(&mut self, held: &mut JsonBuffer, first: usize) -> usize {
        let (mut list, mut source) = (TapeBuf::default(), TapeBuf::default());
        let limits = Limits { bytes: usize::MAX, nodes: usize::MAX, depth: usize::MAX, ..Limits::default() };
        let text = format!("[{}]", held.held());
        // Both texts were parsed before, so parsing succeeds.
        let Ok(lines) = list.parse(&text, &limits) else { return first };
        held.clear();
        let (mut json, mut end) = (held.hold(), 0);
        for (number, line) in lines.root().elements().enumerate() {
            json.begin_raw();
            match self.line(number, "").map(|line| source.parse(line, &limits)) {
                Some(Ok(source)) => write_whole(source.root(), &mut json),
                Some(Err(_)) | None => json.bytes(line.text().as_bytes()),
            }
            if number == 0 {
                end = json.buffered().len();
            }
        }
        self.checked();
        end
    }

    /// The text of a line that needs a check; `line` is the text of the current line.
    fn line<'s>(&'s self, number: usize, line: &'s str) -> Option<&'s str> {
        let (start, end) = (*self.lines.get(number)?)?;
        SourceText { line, ..self.text() }.get(start, end)
    }
}

/// Writes a line with or without its holes.
pub(super) fn write_line(holes: &LineHoles, body: LeftoverBody<'_>, whole: bool, json: &mut JsonWriter<'_>) {
    match body {
        LeftoverBody::Frame(tape) if whole => {
            json.begin_raw();
            write_whole(tape.root(), json);
        }
        body => holes.write(body, json),
    }
}

/// The largest entry that is rebuilt: memory holds the largest frame once, and rebuilding needs it several times.
pub(super) const LARGEST: usize = 1 << 20;

impl Rebuilder {
    /// A rebuilder for logs of this dialect; `None` if the dialect has no log writer.
    pub(super) fn new(source: &str, options: &Options) -> Option<Self> {
        let dialect = Dialect::named(source).filter(|dialect| dialect.plane == Plane::Log)?;
        let spec = dialect.role(Role::Log)?.write.as_ref()?;
        let (tape, rebuilt) = (TapeBuf::default(), JsonBuffer::default());
        Some(Self { spec, options: options.clone(), tape, rebuilt })
    }

    /// Compares the source lines of an entry with the restored lines. `entry` is the whole entry without the `space` of
    /// its lines, and `line` the text of the current line.
    pub(super) fn compare(&mut self, entry: &EntryText<'_>, sources: &SourceLines, line: &str) -> Comparison {
        match self.differing(entry, sources, line) {
            None => Comparison::Impossible,
            Some(differing) if differing.is_empty() => Comparison::Equal,
            Some(differing) => match self.repair(entry.text, sources, line, &differing) {
                Some(repaired) => Comparison::Different(repaired),
                None => Comparison::Impossible,
            },
        }
    }

    /// The entry's lines with the differing lines kept whole; `None` if the entry cannot be read.
    #[cold]
    fn repair(
        &mut self,
        entry: &str,
        sources: &SourceLines,
        line: &str,
        differing: &[usize],
    ) -> Option<Repaired> {
        let repaired = self.with_whole(entry, sources, line, |number| differing.contains(&number))?;
        // A line without holes consumes no values, so later lines may now receive the values it consumed before.
        let again = format!("{}{}}}}}", entry.get(..repaired.at)?, repaired.lines.held());
        let again = EntryText { text: &again, known: Vec::new() };
        if self.differing(&again, sources, line)?.is_empty() {
            return Some(repaired);
        }
        self.with_whole(entry, sources, line, |_| true)
    }

    /// The numbers of the lines that are not restored exactly; `None` if the entry cannot be read.
    fn differing(&mut self, entry: &EntryText<'_>, sources: &SourceLines, line: &str) -> Option<Vec<usize>> {
        let Self { spec, options, tape, rebuilt } = self;
        let limits = options.limits.around_others();
        let kept = tape.parse_with(entry.text, &entry.known, &limits).ok()?;
        let entry = ReadEntry::new(kept.root(), DraftProfile::V3);
        let mut writer = LineWriter { inner: (spec.make)(options), ends: Vec::new() };
        rebuilt.clear();
        rehearse(&mut writer, &limits, rebuilt, |events| read_alone(&entry, events));
        let lines = writer.lines(rebuilt.bytes());
        let differs = |number: &usize| {
            let source = sources.line(*number, line).map(str::as_bytes);
            source.is_some_and(|source| lines.get(*number) != Some(&source))
        };
        Some((0..sources.lines.len()).filter(differs).collect())
    }

    /// The lines of an entry; lines that need a check and that `is_whole` selects have no holes.
    #[cold]
    fn with_whole(
        &mut self,
        entry: &str,
        sources: &SourceLines,
        line: &str,
        is_whole: impl Fn(usize) -> bool,
    ) -> Option<Repaired> {
        let limits = self.options.limits.around_others();
        let kept = self.tape.parse(entry, &limits).ok()?;
        let [_, data, more, _] = ReadEntry::new(kept.root(), DraftProfile::V3).kept();
        let mut repaired = Repaired { at: data?.span().start, lines: JsonBuffer::default(), verbatim: 0 };
        let mut json = repaired.lines.hold();
        let elements = more.into_iter().flat_map(|more| more.elements());
        let mut whole = TapeBuf::default();
        for (number, kept) in data.into_iter().chain(elements).enumerate() {
            if number == 1 {
                json.key("more").array();
            }
            json.begin_raw();
            match sources.line(number, line) {
                Some(source) if is_whole(number) => {
                    let source = whole.parse(source, &limits).ok()?;
                    write_whole(source.root(), &mut json);
                    repaired.verbatim += 1;
                }
                _ => json.bytes(kept.text().as_bytes()),
            }
        }
        if more.is_some() {
            json.end_array();
        }
        Some(repaired)
    }
}

/// The text of an entry.
pub(super) struct EntryText<'e> {
    pub(super) text: &'e str,
    /// The ranges of long texts that were parsed as a part of the source: they are not scanned again.
    pub(super) known: Vec<Range<usize>>,
}

/// The result of comparing the source lines of an entry with the restored lines.
pub(super) enum Comparison {
    /// All lines are restored exactly.
    Equal,
    /// Some lines differ. These are the lines with the differing ones kept whole.
    Different(Repaired),
    /// The entry cannot be read, so nothing is known about its lines.
    Impossible,
}

/// The lines of an entry after the differing lines were replaced.
pub(super) struct Repaired {
    /// The start of `data` in the entry.
    pub(super) at: usize,
    /// The value of `data`, and the member `more` behind it.
    pub(super) lines: JsonBuffer,
    /// The number of replaced lines.
    pub(super) verbatim: u64,
}

/// A log writer that records the line boundaries of its output, one line per kept line.
struct LineWriter {
    inner: Box<dyn Writer>,
    /// The range of each line in the output.
    ends: Vec<(usize, usize)>,
}

impl LineWriter {
    /// The lines, without the line feeds between them.
    fn lines<'o>(&self, output: &'o [u8]) -> Vec<&'o [u8]> {
        let line = |&(start, end): &(usize, usize)| {
            let line = output.get(start..end).unwrap_or_default();
            line.strip_prefix(b"\n").unwrap_or(line)
        };
        self.ends.iter().map(line).collect()
    }
}

impl Writer for LineWriter {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.inner.takes(head)
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.inner.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.inner.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.inner.event(event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        let is_line = matches!(leftover.body, LeftoverBody::Kept { .. });
        let start = out.json.buffered().len();
        self.inner.leftover(leftover, out);
        if is_line {
            self.ends.push((start, out.json.buffered().len()));
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.inner.finish(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_entry_that_does_not_parse_are_not_taken_for_restored() {
        let mut rebuilder = Rebuilder::new("claude-code", &Options::default()).expect("a log dialect");
        let mut sources = SourceLines::default();
        sources.add(r#"{"type":"user","message":{"role":"user","content":"x"}}"#);
        let entry = r#"{"type":"user","content":"x","vendor-ext":{"vendor":"claude-code","data":{"type":"user","message":{"role":"user","content":"~"}}}}"#;
        let mut compare =
            |text: &str| rebuilder.compare(&EntryText { text, known: Vec::new() }, &sources, "");
        assert!(matches!(compare(entry), Comparison::Equal));
        let other = entry.replacen("\"x\"", "\"y\"", 1);
        assert!(matches!(compare(&other), Comparison::Different(_)));
        let deep = entry.replacen("\"x\"", &("[".repeat(200) + &"]".repeat(200)), 1);
        for broken in ["", &entry[..entry.len() - 1], &entry[1..], &format!("{entry}}}"), &deep] {
            assert!(matches!(compare(broken), Comparison::Impossible), "{broken}");
        }
    }
}
