//! A story as CommonMark. Content cannot break out: prose is escaped, and all other content is in fences longer than
//! any fence inside it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use interlingua_report::render::plural;
use interlingua_report::safe::{one_line, visible};

use crate::Look;
use crate::prose::{Block, Inline, blocks, inline};
use crate::story::{
    ChangedFile, EntryBody, LineFate, Piece, SessionPart, SpokenBy, Story, StoryTurn, ToolFate, ToolUse,
    changes, gist,
};
use crate::words::{self, SpeakerLine};

const FAILED_LINES: usize = 20;
const DIFF_LINES: usize = 60;
const ASIDE_LINES: usize = 6;
const GIST: usize = 160;
/// The longest line of output that is printed in full, in characters.
const LONGEST_LINE: usize = 4000;

/// Writes a story as Markdown.
pub(crate) fn write(story: &Story, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = MarkdownPage { story, look, out, before: String::new() };
    if let [_, _, ..] = &story.parts[..] {
        page.paragraph(&words_of(&words::sessions(story)))?;
    }
    if let Some(first) = story.parts.first() {
        page.head(first)?;
    }
    for (number, turn) in story.turns.iter().enumerate() {
        page.turn(number, turn)?;
    }
    page.tail()
}

struct MarkdownPage<'s> {
    story: &'s Story,
    look: &'s Look<'s>,
    out: &'s mut dyn Write,
    /// The prefix of each line: block quotes and the indent of lists.
    before: String,
}

impl MarkdownPage<'_> {
    fn head(&mut self, part: &SessionPart) -> io::Result<()> {
        self.paragraph(&format!("# {}", words_of(&words::title(self.story, part))))?;
        for (name, fact) in words::facts(self.story, part, self.look) {
            self.line(&format!("- {name}: {}", words_of(&fact)))?;
        }
        self.line("")
    }

    fn turn(&mut self, number: usize, turn: &StoryTurn) -> io::Result<()> {
        let story = self.story;
        if story.told(&turn.entries, self.look.full).next().is_none() {
            return Ok(());
        }
        if let Some(part) = story.part_at(number) {
            self.head(part)?;
        }
        let when = story.start(turn).map(|time| format!(" · {}", words_of(time.text()))).unwrap_or_default();
        let name = words::capital(&story.turn_name(number));
        self.paragraph(&format!("## {name}{when}"))?;
        self.entries(&turn.entries)?;
        if let Some(used) = words::used(turn) {
            self.paragraph(&format!("*{}*", words_of(&used)))?;
        }
        Ok(())
    }

    fn entries(&mut self, entries: &[usize]) -> io::Result<()> {
        let story = self.story;
        let mut voice = None;
        for (_, entry) in story.told(entries, self.look.full) {
            if let Some(now) = SpeakerLine::new_in(entry, voice.as_ref()) {
                let mut line = format!("**{}**", words::who(now.speaker));
                for fact in now.facts(entry) {
                    let _ = write!(line, " · {}", words_of(&fact));
                }
                self.paragraph(&line)?;
                voice = Some(now);
            }
            match &entry.body {
                EntryBody::Said(speaker, pieces) => self.said(*speaker, pieces)?,
                EntryBody::Thought(pieces) => self.thought(pieces)?,
                EntryBody::Tool(tool) => self.tool(tool)?,
                _ => {
                    if let Some(happening) = words::happening(story, entry) {
                        let text =
                            clip(&one_line(&happening.text), if self.look.full { usize::MAX } else { 400 });
                        self.paragraph(&format!("*{}:* {}", words_of(&happening.label), words_of(&text)))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn said(&mut self, speaker: SpokenBy, pieces: &[Piece]) -> io::Result<()> {
        if pieces.is_empty() {
            return self.paragraph("*(nothing)*");
        }
        let before = self.before.len();
        if speaker != SpokenBy::Assistant {
            self.before.push_str("> ");
        }
        let aside = matches!(speaker, SpokenBy::Harness | SpokenBy::System | SpokenBy::Tool);
        for piece in pieces {
            match piece {
                Piece::Text(text) if aside => self.fence("text", &text.decode(), ASIDE_LINES)?,
                Piece::Text(text) => self.prose(&text.decode())?,
                Piece::Refusal(text) => {
                    self.paragraph("*declined:*")?;
                    self.prose(&text.decode())?;
                }
                Piece::Json(json) => self.fence("json", json.as_str(), DIFF_LINES)?,
                Piece::Opaque(_) if !self.look.full => {}
                Piece::Media(_) | Piece::File(_) | Piece::Citation(_) | Piece::Opaque(_) => {
                    self.paragraph(&format!("*{}*", words_of(&words::brief(piece))))?;
                }
            }
        }
        if self.before.len() > before {
            self.before.truncate(before);
            self.line("")?;
        }
        Ok(())
    }

    fn thought(&mut self, pieces: &[Piece]) -> io::Result<()> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(more) => text.push_str(&more.decode()),
                piece if self.look.full => {
                    let _ = write!(text, "\n({})", words::brief(piece));
                }
                _ => {}
            }
        }
        if text.trim().is_empty() {
            return self.paragraph("*thought, hidden*");
        }
        if self.look.full {
            self.paragraph("*thought:*")?;
            let before = self.before.len();
            self.before.push_str("> ");
            self.prose(&text)?;
            self.before.truncate(before);
            return self.line("");
        }
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        let first = text.lines().map(one_line).find(|line| !line.is_empty()).unwrap_or_default();
        let more =
            if lines > 1 { format!(" (+{})", plural(lines as u64 - 1, "line")) } else { String::new() };
        self.paragraph(&format!("*thought: {}{more}*", words_of(&clip(&first, 200))))
    }

    fn tool(&mut self, tool: &ToolUse) -> io::Result<()> {
        let fate = tool.fate();
        let files = changes(tool);
        let mut line = format!("- {} **{}**", words::mark(fate), words_of(&words::tool_name(tool)));
        let about = clip(&one_line(&gist(tool)), GIST);
        if !about.is_empty() {
            let _ = write!(line, " {}", code_span(&about));
        }
        for fact in words::tool_facts(tool) {
            let _ = write!(line, " · {fact}");
        }
        self.line(&line)?;
        self.line("")?;
        let before = self.before.len();
        self.before.push_str("  ");
        if self.look.full {
            self.arguments(tool, &files)?;
        }
        for file in &files {
            self.changed(file)?;
        }
        if self.look.full || fate == ToolFate::Failed {
            for piece in tool.output() {
                match piece {
                    Piece::Text(text) | Piece::Refusal(text) => {
                        self.fence("text", &text.decode(), FAILED_LINES)?;
                    }
                    Piece::Json(json) => self.fence("json", json.as_str(), FAILED_LINES)?,
                    Piece::File(file) if file.diff.is_some() => {}
                    Piece::Media(_) | Piece::File(_) | Piece::Citation(_) | Piece::Opaque(_) => {
                        self.paragraph(&format!("*{}*", words_of(&words::brief(piece))))?;
                    }
                }
            }
        } else if files.is_empty() {
            let first = tool.output().find_map(|piece| match piece {
                Piece::Text(text) => text.decode().lines().map(one_line).find(|line| !line.is_empty()),
                Piece::Json(json) => Some(one_line(json.as_str())),
                Piece::Media(_) => Some(words::brief(piece)),
                _ => None,
            });
            if let Some(first) = first {
                self.paragraph(&format!("→ {}", code_span(&clip(&one_line(&first), GIST))))?;
            }
        }
        if !tool.children.is_empty() {
            self.before.push_str("> ");
            self.entries(&tool.children)?;
            self.before.truncate(before);
            self.line("")?;
        }
        self.before.truncate(before);
        Ok(())
    }

    fn arguments(&mut self, tool: &ToolUse, files: &[ChangedFile]) -> io::Result<()> {
        let Some(args) = &tool.args else { return Ok(()) };
        let mut told = String::new();
        let named = args.each(|name, value| {
            let _ = writeln!(told, "{name}: {value}");
        });
        if named {
            self.fence("text", &told, usize::MAX)
        } else if files.is_empty() {
            self.fence("text", &args.text(), usize::MAX)
        } else {
            Ok(())
        }
    }

    fn changed(&mut self, file: &ChangedFile) -> io::Result<()> {
        if file.lines.is_empty() {
            return Ok(());
        }
        self.paragraph(&format!("{} {}", words_of(&file.action), code_span(&one_line(&file.path))))?;
        let mut text = String::new();
        for line in &file.lines {
            if line.fate != LineFate::Place {
                text.push(line.fate.sign());
            }
            text.push_str(&line.text);
            text.push('\n');
        }
        self.fence("diff", &text, DIFF_LINES)
    }

    fn tail(&mut self) -> io::Result<()> {
        self.paragraph("---")?;
        if let Some(all) = words::tokens(&self.story.usage()) {
            self.line(&format!("- session {}", words_of(&all)))?;
        }
        for line in words::left_out(self.story, self.look.full) {
            self.line(&format!("- {}", words_of(&line)))?;
        }
        Ok(())
    }

    /// The text of a message: code in fences, all other text as prose.
    fn prose(&mut self, text: &str) -> io::Result<()> {
        let text = visible(text);
        for block in blocks(&text) {
            match block {
                Block::Code(info, code) => {
                    let language = info.split_whitespace().next().unwrap_or("text");
                    let plain = language
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '_' | '#'));
                    self.fence(if plain { language } else { "text" }, code, usize::MAX)?;
                }
                Block::Table(lines) => self.fence("text", lines, usize::MAX)?,
                Block::Text(lines) => {
                    let mut lines = lines.lines().peekable();
                    while let Some(line) = lines.next() {
                        let goes_on = lines.peek().is_some_and(|next| !next.trim().is_empty());
                        let end = if goes_on && !line.trim().is_empty() { "\\" } else { "" };
                        self.line(&format!("{}{end}", prose_line(line)))?;
                    }
                    self.line("")?;
                }
            }
        }
        Ok(())
    }

    /// Text in a fence that no line of the text can close.
    fn fence(&mut self, info: &str, text: &str, most: usize) -> io::Result<()> {
        let most = if self.look.full { usize::MAX } else { most };
        let text = visible(text.trim_end_matches('\n'));
        let fence = "`".repeat(longest_run(&text).max(2) + 1);
        self.line(&format!("{fence}{info}"))?;
        let mut lines = text.lines();
        for line in lines.by_ref().take(most) {
            let line = if self.look.full { Cow::Borrowed(line) } else { clip(line, LONGEST_LINE).into() };
            self.line(&line)?;
        }
        let more = lines.count();
        self.line(&fence)?;
        self.line("")?;
        if more > 0 {
            self.paragraph(&format!("*… {}*", plural(more as u64, "more line")))?;
        }
        Ok(())
    }

    fn paragraph(&mut self, line: &str) -> io::Result<()> {
        self.line(line)?;
        self.line("")
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        if line.is_empty() {
            return writeln!(self.out, "{}", self.before.trim_end());
        }
        writeln!(self.out, "{}{line}", self.before)
    }
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn code_span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text on one line, with all markup escaped.
fn words_of(text: &str) -> String {
    let mut out = String::new();
    escape(&one_line(text), &mut out);
    at_start(out)
}

/// A line of prose, escaped so that it stays prose.
fn prose_line(line: &str) -> String {
    let inner = line.trim_start_matches([' ', '\t']);
    if inner.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    inline(inner, |piece| match piece {
        Inline::Code(code) => text.push_str(&code_span(code)),
        Inline::Strong(words) => {
            text.push_str("**");
            escape(words, &mut text);
            text.push_str("**");
        }
        Inline::Text(words) | Inline::Address(words) => escape(words, &mut text),
    });
    let indent: usize =
        line[..line.len() - inner.len()].bytes().map(|byte| if byte == b'\t' { 4 } else { 1 }).sum();
    // Leading spaces would be dropped, or turn the line into code.
    "&nbsp;".repeat(indent.min(40)) + &at_start(text)
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&' | '|' | '~' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Escapes characters that are markup only at the start of a line: bullets, numbers, underlines of headings.
fn at_start(text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let at = match text.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 => digits,
        Some(b'-' | b'+' | b'=' | b':') if digits == 0 => 0,
        _ => return text,
    };
    format!("{}\\{}", &text[..at], &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_stays_words() {
        for (line, shown) in [
            ("# not a heading", "\\# not a heading"),
            ("<script>alert(1)</script>", "\\<script\\>alert(1)\\</script\\>"),
            ("- [x](javascript:y)", "\\- \\[x\\](javascript:y)"),
            ("1. one", "1\\. one"),
            ("===", "\\==="),
            ("    code?", "&nbsp;&nbsp;&nbsp;&nbsp;code?"),
            ("a `b*` **c**", "a `b*` **c**"),
            ("&lt; ~~x~~", "\\&lt; \\~\\~x\\~\\~"),
        ] {
            assert_eq!(prose_line(line), shown);
        }
        assert_eq!(code_span("a``b`"), "``` a``b` ```");
    }
}
