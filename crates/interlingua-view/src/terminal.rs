//! A story for the terminal: wrapped to the terminal's width, folded and coloured.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use interlingua_report::render::{number, plural};
use interlingua_report::safe::{one_line, visible};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::Look;
use crate::story::{
    ChangedFile, EntryBody, LineFate, Piece, SessionPart, SpokenBy, Story, StoryEntry, StoryTurn, ToolFate,
    ToolUse, changes, gist,
};
use crate::words::{self, SpeakerLine, Tone};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const THOUGHT: Style = Style::new().dimmed().italic();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const MAGENTA: Style = AnsiColor::Magenta.on_default();
const PLAIN: Style = Style::new();

/// How many lines are printed of a failed tool's output, of a diff, of a harness message, of a prompt, of a response.
const FAILED_LINES: usize = 8;
const DIFF_LINES: usize = 16;
const ASIDE_LINES: usize = 3;
const PROMPT_LINES: usize = 60;
const TEXT_LINES: usize = 200;
/// The longest line that is printed in full, in bytes.
const LONGEST_LINE: usize = 8 << 10;
/// The smallest readable width; below it, nested agents share their parent's indent.
const NARROWEST: usize = 30;

/// Writes a story as text.
pub(crate) fn write(story: &Story, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
    let opened = look.at.and_then(|frame| story.entry_at(frame));
    let first = opened.and_then(|entry| story.entries.get(entry)).map_or(0, |entry| entry.turn);
    let mut page = TextPage { story, look, out, indent: String::new(), opened };
    if let [_, _, ..] = &story.parts[..] {
        page.wrapped("", BOLD, &words::sessions(story))?;
        page.blank()?;
    }
    if let Some(first) = story.parts.first() {
        page.head(first)?;
    }
    for (number, turn) in story.turns.iter().enumerate().skip(first) {
        page.turn(number, turn)?;
    }
    page.tail()
}

struct TextPage<'s> {
    story: &'s Story,
    look: &'s Look<'s>,
    out: &'s mut dyn Write,
    /// The prefix of each line: one bar for each nesting level of agents.
    indent: String,
    /// The entry that the page begins at and shows whole.
    opened: Option<usize>,
}

impl TextPage<'_> {
    fn head(&mut self, part: &SessionPart) -> io::Result<()> {
        let title = one_line(&words::title(self.story, part));
        self.wrapped("", BOLD, &title)?;
        for (name, fact) in words::facts(self.story, part, self.look) {
            let name = format!("{name:10} ");
            let styled = self.styled(DIM, &name);
            self.hanging(&styled, name.width(), PLAIN, &one_line(&fact), usize::MAX)?;
        }
        self.blank()
    }

    fn turn(&mut self, number: usize, turn: &StoryTurn) -> io::Result<()> {
        let story = self.story;
        if story.told(&turn.entries, self.look.full).next().is_none() {
            return Ok(());
        }
        if let Some(part) = story.part_at(number) {
            self.blank()?;
            self.head(part)?;
        }
        let name = story.turn_name(number);
        let when = story.start(turn).map(|time| format!(" {}", time.text())).unwrap_or_default();
        let line = "─".repeat(self.look.width.saturating_sub(name.width() + when.width() + 4));
        let rule = self.styled(DIM, &format!("{line}{when}"));
        let name = self.styled(BOLD, &name);
        writeln!(self.out, "── {name} {rule}")?;
        let earlier = self.opened.and_then(|opened| turn.entries.iter().position(|entry| *entry == opened));
        let (earlier, entries) = turn.entries.split_at(earlier.unwrap_or(0));
        if !earlier.is_empty() {
            let count = story.told(earlier, self.look.full).count() as u64;
            self.wrapped("", DIM, &format!("earlier in this turn: {}", plural(count, "part")))?;
        }
        self.entries(entries)?;
        if let Some(used) = words::used(turn) {
            self.wrapped("", DIM, &one_line(&used))?;
            self.blank()?;
        }
        Ok(())
    }

    fn entries(&mut self, entries: &[usize]) -> io::Result<()> {
        let story = self.story;
        let mut voice = None;
        let mut told = false;
        for (at, entry) in story.told(entries, self.look.full) {
            if let Some(now) = SpeakerLine::new_in(entry, voice.as_ref()) {
                if told {
                    self.blank()?;
                }
                self.speaker(&now, entry)?;
                voice = Some(now);
            }
            if self.opened == Some(at) {
                let look = Look { full: true, ..*self.look };
                let indent = self.indent.clone();
                TextPage { story, look: &look, out: &mut *self.out, indent, opened: None }.entry(entry)?;
            } else {
                self.entry(entry)?;
            }
            told = true;
        }
        if told { self.blank() } else { Ok(()) }
    }

    fn speaker(&mut self, voice: &SpeakerLine<'_>, entry: &StoryEntry) -> io::Result<()> {
        let style = match voice.speaker {
            SpokenBy::Person => CYAN.bold(),
            SpokenBy::Assistant => MAGENTA.bold(),
            SpokenBy::Agent | SpokenBy::Summary | SpokenBy::Command => YELLOW.bold(),
            SpokenBy::Harness | SpokenBy::System | SpokenBy::Tool => BOLD.dimmed(),
        };
        let name = words::who(voice.speaker);
        let mut line = self.styled(style, name);
        let mut room = self.room(name);
        for fact in voice.facts(entry) {
            let fact = clip(&one_line(&fact), room.saturating_sub(2).min(60));
            room = room.saturating_sub(2 + fact.width());
            line.push_str(&self.styled(DIM, &format!("  {fact}")));
            if room < 6 {
                break;
            }
        }
        writeln!(self.out, "{}{line}", self.indent)
    }

    fn entry(&mut self, entry: &StoryEntry) -> io::Result<()> {
        match &entry.body {
            EntryBody::Said(speaker, pieces) => self.said(*speaker, pieces),
            EntryBody::Thought(pieces) => self.thought(pieces),
            EntryBody::Tool(tool) => self.tool(tool),
            _ => self.happening(entry),
        }
    }

    fn said(&mut self, speaker: SpokenBy, pieces: &[Piece]) -> io::Result<()> {
        let (style, most) = match speaker {
            SpokenBy::Harness | SpokenBy::System | SpokenBy::Tool => (DIM, ASIDE_LINES),
            SpokenBy::Summary | SpokenBy::Command => (PLAIN, DIFF_LINES),
            SpokenBy::Person | SpokenBy::Agent => (PLAIN, PROMPT_LINES),
            SpokenBy::Assistant => (PLAIN, TEXT_LINES),
        };
        if pieces.is_empty() {
            return self.wrapped("  ", DIM, "(nothing)");
        }
        for piece in pieces {
            match piece {
                Piece::Text(text) if most == ASIDE_LINES && !self.look.full => self.aside(&text.decode())?,
                Piece::Text(text) => self.text("  ", style, &text.decode(), most)?,
                Piece::Refusal(text) => {
                    self.wrapped("  ", RED, "declined:")?;
                    self.text("  ", style, &text.decode(), most)?;
                }
                Piece::Json(json) => self.text("  ", style, json.as_str(), most.min(DIFF_LINES))?,
                Piece::Media(_) | Piece::File(_) | Piece::Citation(_) => {
                    self.wrapped("  ", DIM, &one_line(&words::brief(piece)))?;
                }
                Piece::Opaque(_) if self.look.full => {
                    self.wrapped("  ", DIM, &one_line(&words::brief(piece)))?;
                }
                Piece::Opaque(_) => {}
            }
        }
        Ok(())
    }

    fn thought(&mut self, pieces: &[Piece]) -> io::Result<()> {
        let texts: Vec<_> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.decode()),
                _ => None,
            })
            .collect();
        let text = texts.join("\n");
        if self.look.full {
            self.wrapped("  ", THOUGHT, "thought:")?;
            self.text("    ", THOUGHT, &text, usize::MAX)?;
            for piece in pieces.iter().filter(|piece| !matches!(piece, Piece::Text(_))) {
                self.wrapped("    ", DIM, &one_line(&words::brief(piece)))?;
            }
            return Ok(());
        }
        if text.trim().is_empty() {
            return self.wrapped("  ", THOUGHT, "thought, hidden");
        }
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        let more =
            if lines > 1 { format!(" (+{})", plural(lines as u64 - 1, "line")) } else { String::new() };
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let room = self.room("  ").saturating_sub("thought: ".len() + more.width());
        let line = format!("thought: {}{more}", clip(&one_line(first), room));
        self.wrapped("  ", THOUGHT, &line)
    }

    fn tool(&mut self, tool: &ToolUse) -> io::Result<()> {
        let fate = tool.fate();
        let style = match fate {
            ToolFate::Done => GREEN,
            ToolFate::Failed => RED.bold(),
            ToolFate::Unanswered => YELLOW,
        };
        let files = changes(tool);
        let mut facts = words::tool_facts(tool);
        for file in &files {
            let (added, removed) = file.counts();
            if added + removed > 0 {
                facts.push(format!("+{added} -{removed}"));
            }
        }
        let room = self.room("  ✓ ");
        let facts = clip(&facts.join(", "), room / 2);
        let facts = if facts.is_empty() { facts } else { format!("  {facts}") };
        let name = clip(&one_line(&words::tool_name(tool)), room.saturating_sub(facts.width()).min(40));
        let room = room.saturating_sub(name.width() + facts.width());
        let about = one_line(&gist(tool));
        let about = if about.is_empty() || room < 4 {
            String::new()
        } else {
            format!("  {}", clip(&about, room.saturating_sub(2)))
        };
        let shown = if self.look.full || fate == ToolFate::Failed || !files.is_empty() {
            String::new()
        } else {
            let left = room.saturating_sub(about.width() + 4);
            let first = first_line(tool).filter(|_| left >= 10);
            first.map(|line| format!("  → {}", clip(&line, left))).unwrap_or_default()
        };
        let line = format!(
            "  {} {}{about}{}{}",
            self.styled(style, words::mark(fate)),
            self.styled(BOLD, &name),
            self.styled(if fate == ToolFate::Failed { RED } else { DIM }, &facts),
            self.styled(DIM, &shown),
        );
        writeln!(self.out, "{}{line}", self.indent)?;
        if self.look.full {
            self.arguments(tool, &files)?;
        }
        for file in &files {
            self.changed(file)?;
        }
        if self.look.full {
            self.output(tool, PLAIN, usize::MAX)?;
        } else if fate == ToolFate::Failed {
            self.output(tool, RED, FAILED_LINES)?;
        } else {
            for piece in tool.output().filter(|piece| matches!(piece, Piece::Media(_))) {
                self.wrapped("    ", DIM, &one_line(&words::brief(piece)))?;
            }
        }
        if tool.children.is_empty() {
            return Ok(());
        }
        let deeper = self.look.width.saturating_sub(self.indent.width() + 4) >= NARROWEST;
        let before = self.indent.len();
        if deeper {
            self.indent.push_str("  ┃ ");
        }
        self.entries(&tool.children)?;
        self.indent.truncate(before);
        Ok(())
    }

    fn arguments(&mut self, tool: &ToolUse, files: &[ChangedFile]) -> io::Result<()> {
        let Some(args) = &tool.args else { return Ok(()) };
        let mut told: Vec<(String, String)> = Vec::new();
        if !args.each(|name, value| told.push((name.to_owned(), value.to_owned()))) {
            // A patch is shown as changes, not as arguments.
            return if files.is_empty() { self.text("    ", DIM, &args.text(), usize::MAX) } else { Ok(()) };
        }
        for (name, value) in told {
            let name = one_line(&name);
            if value.contains('\n') || name.width() > self.room("    ") / 2 {
                self.wrapped("    ", DIM, &format!("{name}:"))?;
                self.text("      ", PLAIN, &value, usize::MAX)?;
            } else {
                let label = format!("    {name}: ");
                let styled = self.styled(DIM, &label);
                self.hanging(&styled, label.width(), PLAIN, &visible(&value), usize::MAX)?;
            }
        }
        Ok(())
    }

    fn changed(&mut self, file: &ChangedFile) -> io::Result<()> {
        if file.lines.is_empty() {
            return Ok(());
        }
        let most = if self.look.full { usize::MAX } else { DIFF_LINES };
        self.wrapped("    ", DIM, &format!("{} {}", one_line(&file.action), one_line(&file.path)))?;
        for line in file.lines.iter().take(most) {
            let style = match line.fate {
                LineFate::Added => GREEN,
                LineFate::Removed => RED,
                LineFate::Place => CYAN,
                LineFate::Kept => DIM,
            };
            let sign =
                if line.fate == LineFate::Place { String::new() } else { line.fate.sign().to_string() };
            let text = format!("{sign}{}", expanded(&visible(&line.text)));
            self.hanging("    ", 4, style, &text, usize::MAX)?;
        }
        self.more("    ", file.lines.len().saturating_sub(most))
    }

    fn output(&mut self, tool: &ToolUse, style: Style, most: usize) -> io::Result<()> {
        for piece in tool.output() {
            match piece {
                Piece::Text(text) | Piece::Refusal(text) => self.barred(style, &text.decode(), most)?,
                Piece::Json(json) => self.barred(style, json.as_str(), most)?,
                // Files with a diff are shown as changes.
                Piece::File(file) if file.diff.is_some() => {}
                Piece::Media(_) | Piece::File(_) | Piece::Citation(_) | Piece::Opaque(_) => {
                    self.barred(DIM, &words::brief(piece), most)?;
                }
            }
        }
        Ok(())
    }

    fn happening(&mut self, entry: &StoryEntry) -> io::Result<()> {
        let Some(happening) = words::happening(self.story, entry) else { return Ok(()) };
        let (mark, style) = match happening.tone {
            Tone::Aside => ("·", DIM),
            Tone::Break => ("↺", YELLOW),
            Tone::Asked => ("?", CYAN),
            Tone::Bad => ("!", RED),
        };
        let label = format!("  {mark} {}: ", happening.label);
        let styled = self.styled(style, &label);
        let words = if happening.tone == Tone::Aside { DIM } else { PLAIN };
        if !self.look.full {
            return self.hanging(&styled, label.width(), words, &one_line(&happening.text), ASIDE_LINES);
        }
        let (first, rest) = happening.text.split_once('\n').unwrap_or((&happening.text, ""));
        self.hanging(&styled, label.width(), words, first, usize::MAX)?;
        if rest.is_empty() { Ok(()) } else { self.text("      ", words, rest, usize::MAX) }
    }

    fn tail(&mut self) -> io::Result<()> {
        if let Some(all) = words::tokens(&self.story.usage()) {
            self.wrapped("", DIM, &format!("session {all}"))?;
        }
        for line in words::left_out(self.story, self.look.full) {
            self.wrapped("", DIM, &one_line(&line))?;
        }
        Ok(())
    }

    /// Wrapped text of several lines with a common indent.
    fn text(&mut self, space: &str, style: Style, text: &str, most: usize) -> io::Result<()> {
        let most = if self.look.full { usize::MAX } else { most };
        let text = visible(text.trim_end_matches('\n'));
        let mut lines = text.lines();
        for line in lines.by_ref().take(most) {
            let (line, rest) = self.beginning(line);
            self.wrapped(space, style, line)?;
            self.more_of_line(space, rest)?;
        }
        self.more(space, lines.count())
    }

    /// The beginning of a harness message, each of its lines clipped to one line.
    fn aside(&mut self, text: &str) -> io::Result<()> {
        let text = visible(text.trim_end_matches('\n'));
        let room = self.room("  ");
        let mut lines = text.lines();
        for line in lines.by_ref().take(ASIDE_LINES) {
            self.wrapped("  ", DIM, &clip(&expanded(line), room))?;
        }
        self.more("  ", lines.count())
    }

    /// The printed part of a line, and the rest.
    fn beginning<'t>(&self, line: &'t str) -> (&'t str, &'t str) {
        if self.look.full || line.len() <= LONGEST_LINE {
            return (line, "");
        }
        cut_hard(line, LONGEST_LINE / 2)
    }

    fn more_of_line(&mut self, space: &str, rest: &str) -> io::Result<()> {
        if rest.is_empty() {
            return Ok(());
        }
        self.wrapped(space, DIM, &format!("… {} more of this line", words::size(rest.len() as u64)))
    }

    /// Output of a tool, with a bar in front of each line.
    fn barred(&mut self, style: Style, text: &str, most: usize) -> io::Result<()> {
        let text = visible(text.trim_end_matches('\n'));
        let mut lines = text.lines();
        let bar = format!("    {} ", self.styled(DIM, "│"));
        for line in lines.by_ref().take(most) {
            let (line, rest) = self.beginning(line);
            self.hanging(&bar, 6, style, line, usize::MAX)?;
            self.more_of_line("    ", rest)?;
        }
        self.more("    ", lines.count())
    }

    fn more(&mut self, space: &str, lines: usize) -> io::Result<()> {
        if lines == 0 {
            return Ok(());
        }
        let word = if lines == 1 { "line" } else { "lines" };
        self.wrapped(space, DIM, &format!("… {} more {word}", number(lines as u64)))
    }

    fn wrapped(&mut self, space: &str, style: Style, line: &str) -> io::Result<()> {
        self.hanging(space, space.width(), style, &expanded(line), usize::MAX)
    }

    /// A line behind a label; wrapped lines are indented by the width of the label.
    fn hanging(
        &mut self,
        label: &str,
        width: usize,
        style: Style,
        line: &str,
        most: usize,
    ) -> io::Result<()> {
        let inside = width.min(24);
        let room = self.look.width.saturating_sub(self.indent.width() + width).max(NARROWEST / 2);
        // The caller already made the line safe; this is a second check.
        let line = expanded(&visible(line)).replace('\n', " ");
        let mut rest: &str = &line;
        let mut first = true;
        let mut shown = 0;
        loop {
            let space = if first { String::new() } else { " ".repeat(inside) };
            let here = if first { room } else { room + width - inside };
            let (now, later) = cut(rest, here);
            if now.is_empty() {
                return writeln!(self.out, "{}", format!("{}{label}", self.indent).trim_end());
            }
            let text = self.styled(style, now);
            writeln!(self.out, "{}{}{space}{text}", self.indent, if first { label } else { "" })?;
            shown += 1;
            if later.is_empty() {
                return Ok(());
            }
            if shown == most {
                return self.wrapped(&" ".repeat(inside), DIM, "…");
            }
            (rest, first) = (later, false);
        }
    }

    fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out, "{}", self.indent.trim_end())
    }

    /// How many columns are left after the indent.
    fn room(&self, space: &str) -> usize {
        self.look.width.saturating_sub(self.indent.width() + space.width())
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.look.colour && style != PLAIN && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// The first line of a tool's output.
fn first_line(tool: &ToolUse) -> Option<String> {
    tool.output().find_map(|piece| {
        let text = match piece {
            Piece::Text(text) | Piece::Refusal(text) => text.decode(),
            Piece::Json(json) => json.as_str().into(),
            // Media is printed on lines of its own.
            Piece::Media(_) | Piece::File(_) | Piece::Citation(_) | Piece::Opaque(_) => return None,
        };
        text.lines().map(one_line).find(|line| !line.is_empty())
    })
}

/// Replaces tabs by spaces.
fn expanded(line: &str) -> String {
    line.replace('\t', "    ")
}

/// The text cut to the width, with `…` for the rest.
fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (shown, _) = cut_hard(text, width.saturating_sub(1));
    format!("{shown}…")
}

/// Splits a text at the width: the part that fits and the rest, at a space if possible.
fn cut(text: &str, width: usize) -> (&str, &str) {
    // A character has at most four bytes, so a longer text need not be measured again for each wrapped line.
    if text.len() <= width || text.len() <= 4 * width && text.width() <= width {
        return (text, "");
    }
    let (fits, rest) = cut_hard(text, width);
    if rest.is_empty() {
        return (fits, rest);
    }
    if rest.starts_with(' ') {
        return (fits, rest.trim_start_matches(' '));
    }
    match fits.rfind(' ') {
        // Do not break at a space that leaves most of the line empty.
        Some(space) if space > fits.len() / 3 && !fits[..space].trim().is_empty() => {
            (&text[..space], text[space..].trim_start_matches(' '))
        }
        Some(_) | None => (fits, rest),
    }
}

/// Splits a text at the width, without regard to spaces: the first part has at least one character.
fn cut_hard(text: &str, width: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text.char_indices().find_map(|(at, c)| {
        used += c.width().unwrap_or(0);
        (used > width && at > 0).then_some(at)
    });
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_spaces_and_wide_characters_take_two_columns() {
        assert_eq!(cut("one two three", 8), ("one two", "three"));
        assert_eq!(cut("漢字漢字", 5), ("漢字", "漢字"));
        assert_eq!(cut("abcdefghij", 4), ("abcd", "efghij"));
        assert_eq!(clip("漢字漢字", 5), "漢字…");
        assert_eq!(clip("short", 5), "short");
    }
}
