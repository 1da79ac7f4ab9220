//! A story as one self-contained HTML page: no network access, no fonts, and only its own script.
//!
//! All content is escaped. The page's content security policy allows only this script and this style, by their hashes,
//! and pictures embedded in the page. So even a mistake here cannot run code from a log.

use std::fmt::Write as _;
use std::io::{self, Write};

use interlingua::json::base64;
use interlingua::model::{Media, MediaSource};
use interlingua_report::render::{number, plural};
use interlingua_report::safe::{one_line, visible};
use sha2::{Digest as _, Sha256};

use crate::Look;
use crate::page_text::{
    CHUNK_BYTES, CHUNK_LINES, TextChunks, cells, clip, escape, lines, lines_of, picture, split_lines,
};
use crate::prose::{Block, Inline, blocks, inline};
use crate::story::{
    ChangedFile, EntryBody, LineFate, Piece, SessionPart, SpokenBy, Story, StoryEntry, StoryTurn, ToolFate,
    ToolUse, changes, gist,
};
use crate::timeline;
use crate::words::{self, SpeakerLine, Tone};

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
const TOOLBAR: &str = include_str!("assets/toolbar.html");
const HELP: &str = include_str!("assets/keys.html");

/// Longer output is folded even if it is shown by default; longer texts are folded after their beginning.
const OPEN_LINES: usize = 40;
const TEXT_LINES: usize = 400;
const PROMPT_LINES: usize = 60;
const PROMPT_BYTES: usize = 8 << 10;
/// Arguments of edits that are shown as changes instead.
const TOLD_BY_CHANGES: [&str; 17] = [
    "file_path",
    "filePath",
    "path",
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "oldText",
    "newText",
    "old_str",
    "new_str",
    "file_text",
    "edits",
    "content",
    "input",
    "patch",
    "patchText",
];

/// Writes a story as an HTML page.
pub(crate) fn write(story: &Story, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = HtmlPage { story, look, html: String::new() };
    page.head();
    page.pour(out)?;
    for (number, turn) in story.turns.iter().enumerate() {
        page.turn(number, turn, out)?;
    }
    page.tail();
    page.pour(out)
}

struct HtmlPage<'s> {
    story: &'s Story,
    look: &'s Look<'s>,
    /// HTML that has not been written yet.
    html: String,
}

/// Formats our own markup; content is added by [`HtmlPage::text`] and similar methods.
macro_rules! put {
    ($page:expr, $($format:tt)*) => {{
        // Writing to a `String` does not fail.
        let _ = write!($page.html, $($format)*);
    }};
}

impl HtmlPage<'_> {
    fn pour(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.html.as_bytes())?;
        self.html.clear();
        Ok(())
    }

    fn head(&mut self) {
        let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())));
        put!(
            self,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; \
             img-src data:; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>",
            hash(SCRIPT),
            hash(STYLE)
        );
        let (story, first) = (self.story, self.story.parts.first());
        let title = match &story.parts[..] {
            [_, _, ..] => words::sessions(story),
            _ => first.map(|part| one_line(&words::title(story, part))).unwrap_or_default(),
        };
        self.text(&title);
        put!(self, "</title>\n<style>{STYLE}</style>\n</head>\n<body>\n");
        put!(
            self,
            "<a class=\"skip\" href=\"#story\">Skip to the story</a>\n<header class=\"bar\">\n{TOOLBAR}"
        );
        timeline::write(self.story, self.look.full, &mut self.html);
        put!(self, "</header>\n<main id=\"story\" tabindex=\"-1\">\n");
        if let Some(first) = first {
            self.session_head(first);
        }
    }

    fn session_head(&mut self, part: &SessionPart) {
        put!(self, "<div class=\"title\">\n<h1>");
        self.text(&one_line(&words::title(self.story, part)));
        put!(self, "</h1>\n<dl>\n");
        for (name, fact) in words::facts(self.story, part, self.look) {
            put!(self, "<div><dt>{name}</dt><dd>");
            self.text(&one_line(&fact));
            put!(self, "</dd></div>\n");
        }
        put!(self, "</dl>\n</div>\n");
    }

    fn turn(&mut self, number: usize, turn: &StoryTurn, out: &mut dyn Write) -> io::Result<()> {
        let story = self.story;
        if story.told(&turn.entries, self.look.full).next().is_none() {
            return Ok(());
        }
        if let Some(part) = story.part_at(number) {
            self.session_head(part);
        }
        let name = words::capital(&story.turn_name(number));
        put!(self, "<details class=\"turn\" id=\"t{number}\" open>\n<summary><h2>{name}</h2>");
        if let Some(time) = story.start(turn) {
            put!(self, "<span class=\"when\">");
            self.text(time.text());
            put!(self, "</span>");
        }
        put!(self, "</summary>\n");
        self.entries(&turn.entries, Some(out))?;
        if let Some(used) = words::used(turn) {
            put!(self, "<p class=\"used\">");
            self.text(&one_line(&used));
            put!(self, "</p>\n");
        }
        put!(self, "</details>\n");
        self.pour(out)
    }

    fn entries(&mut self, entries: &[usize], mut out: Option<&mut dyn Write>) -> io::Result<()> {
        let story = self.story;
        let mut voice = None;
        for (at, entry) in story.told(entries, self.look.full) {
            let new = SpeakerLine::new_in(entry, voice.as_ref());
            self.entry(at, entry, new.as_ref())?;
            voice = new.or(voice);
            if let Some(out) = out.as_deref_mut() {
                self.pour(out)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, at: usize, entry: &StoryEntry, voice: Option<&SpeakerLine<'_>>) -> io::Result<()> {
        let sort = match &entry.body {
            EntryBody::Said(SpokenBy::Person, _) => "said user",
            EntryBody::Said(SpokenBy::Assistant, _) => "said assistant",
            EntryBody::Said(SpokenBy::Agent | SpokenBy::Summary | SpokenBy::Command, _) => "said other",
            EntryBody::Said(SpokenBy::Harness | SpokenBy::System | SpokenBy::Tool, _) => "said aside",
            EntryBody::Thought(_) => "thought",
            EntryBody::Tool(_) => "tool",
            _ => "line",
        };
        let failed = if entry.is_failure() { " bad" } else { "" };
        let copied = if entry.copied_from.is_some() { " copied" } else { "" };
        let number = at + 1;
        put!(self, "<div class=\"e {sort}{failed}{copied}\" id=\"e{number}\">");
        put!(self, "<a class=\"n\" href=\"#e{number}\" aria-label=\"Link to entry {number}\">{number}</a>");
        if let Some(voice) = voice {
            self.speaker(voice, entry);
        }
        match &entry.body {
            EntryBody::Said(speaker, pieces) => self.said(*speaker, pieces),
            EntryBody::Thought(pieces) => self.thought(pieces),
            EntryBody::Tool(tool) => self.tool(tool)?,
            _ => self.happening(entry),
        }
        put!(self, "</div>\n");
        Ok(())
    }

    fn speaker(&mut self, voice: &SpeakerLine<'_>, entry: &StoryEntry) {
        put!(self, "<p class=\"who\"><b>{}</b>", words::who(voice.speaker));
        for fact in voice.facts(entry) {
            put!(self, "<span>");
            self.text(&one_line(&fact));
            put!(self, "</span>");
        }
        put!(self, "</p>");
    }

    fn said(&mut self, speaker: SpokenBy, pieces: &[Piece]) {
        if pieces.is_empty() {
            return put!(self, "<p class=\"dim\">(nothing)</p>");
        }
        // Messages of the harness are long and seldom of interest.
        let folded =
            matches!(speaker, SpokenBy::Harness | SpokenBy::System | SpokenBy::Tool | SpokenBy::Summary);
        let lines: usize = pieces.iter().map(lines_of).sum();
        let folded = folded && lines > 2 && {
            self.fold("", self.look.full);
            self.preview(pieces, lines);
            put!(self, "</summary>");
            true
        };
        for piece in pieces {
            match piece {
                // A prompt may hold whole files, so it is cut; a response is shown in full.
                Piece::Text(text) if speaker != SpokenBy::Assistant && !folded => {
                    self.prose_up_to(&text.decode(), PROMPT_LINES, PROMPT_BYTES);
                }
                Piece::Text(text) => self.prose(&text.decode()),
                Piece::Refusal(text) => {
                    put!(self, "<p class=\"dim\">declined:</p>");
                    self.prose(&text.decode());
                }
                piece => self.piece(piece),
            }
        }
        if folded {
            put!(self, "</details>");
        }
    }

    fn thought(&mut self, pieces: &[Piece]) {
        let lines: usize = pieces.iter().map(lines_of).sum();
        let has_text = pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if !text.is_empty()));
        if !has_text && !self.look.full {
            return put!(self, "<p class=\"dim\">thought, hidden</p>");
        }
        self.fold("", self.look.full);
        put!(self, "<span class=\"label\">thought</span> ");
        self.preview(pieces, lines);
        put!(self, "</summary>");
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.prose(&text.decode()),
                Piece::Opaque(_) if !self.look.full => {}
                piece => self.piece(piece),
            }
        }
        put!(self, "</details>");
    }

    /// The first words of a fold. The fold repeats them, so that a search in the page may skip the preview.
    fn preview(&mut self, pieces: &[Piece], lines: usize) {
        let first = pieces.iter().find_map(|piece| match piece {
            Piece::Text(text) => text.decode().lines().map(one_line).find(|line| !line.is_empty()),
            piece => Some(one_line(&words::brief(piece))),
        });
        put!(self, "<span class=\"gist\" data-echo>");
        self.text(&clip(&first.unwrap_or_default(), 200));
        put!(self, "</span>");
        if lines > 1 {
            put!(self, "<span class=\"facts\">{} lines</span>", number(lines as u64));
        }
    }

    fn tool(&mut self, tool: &ToolUse) -> io::Result<()> {
        let fate = tool.fate();
        let files = changes(tool);
        let changed: usize = files.iter().map(|file| file.lines.len()).sum();
        let printed: usize = tool.output().map(lines_of).sum();
        let pictures = tool.output().any(|piece| matches!(piece, Piece::Media(_)));
        let fits = changed + printed <= OPEN_LINES;
        let open = self.look.full || fits && (fate == ToolFate::Failed || changed > 0 || pictures);
        let sort = match fate {
            ToolFate::Done => "ok",
            ToolFate::Failed => "failed",
            ToolFate::Unanswered => "open",
        };
        self.fold(sort, open);
        put!(self, "<span class=\"mark\">{}</span> <b>", words::mark(fate));
        self.text(&one_line(&words::tool_name(tool)));
        put!(self, "</b> <span class=\"gist mono\" data-echo>");
        self.text(&clip(&one_line(&gist(tool)), 300));
        put!(self, "</span><span class=\"facts\">");
        let mut facts = words::tool_facts(tool);
        for (added, removed) in
            files.iter().map(ChangedFile::counts).filter(|(added, removed)| added + removed > 0)
        {
            facts.push(format!("+{added} −{removed}"));
        }
        let facts = facts.join(" · ");
        self.text(&facts);
        put!(self, "</span></summary>");
        self.arguments(tool, &files);
        for file in &files {
            self.changed(file);
        }
        for piece in tool.output() {
            match piece {
                Piece::Text(text) | Piece::Refusal(text) => self.block("out", &text.decode()),
                Piece::File(file) if file.diff.is_some() => {}
                piece => self.piece(piece),
            }
        }
        if tool.results.is_empty() {
            put!(self, "<p class=\"dim\">There is no result.</p>");
        } else if tool.output().next().is_none() {
            put!(self, "<p class=\"dim\">It printed nothing.</p>");
        }
        put!(self, "</details>");
        if !tool.children.is_empty() {
            self.fold("agent", true);
            let told = self.story.told(&tool.children, self.look.full).count();
            put!(
                self,
                "<span class=\"label\">subagent</span> <span class=\"facts\">{} entries</span></summary>\n",
                number(told as u64)
            );
            self.entries(&tool.children, None)?;
            put!(self, "</details>");
        }
        Ok(())
    }

    fn arguments(&mut self, tool: &ToolUse, files: &[ChangedFile]) {
        let Some(args) = &tool.args else { return };
        let is_told = |name: &str| !files.is_empty() && TOLD_BY_CHANGES.contains(&name);
        let mut named = Vec::new();
        if args.each(|name, value| named.push((name.to_owned(), value.to_owned()))) {
            named.retain(|(name, _)| !is_told(name));
            if named.is_empty() {
                return;
            }
            put!(self, "<dl class=\"args\">");
            for (name, value) in named {
                put!(self, "<div><dt>");
                self.text(&one_line(&name));
                put!(self, "</dt><dd>");
                self.block("", &value);
                put!(self, "</dd></div>");
            }
            put!(self, "</dl>");
        } else if files.is_empty() {
            self.block("in", &args.text());
        }
    }

    fn changed(&mut self, file: &ChangedFile) {
        put!(self, "<p class=\"path\">");
        self.text(&one_line(&format!("{} {}", file.action, file.path)));
        put!(self, "</p>");
        if file.lines.is_empty() {
            return;
        }
        for lines in file.lines.chunks(CHUNK_LINES) {
            put!(self, "<pre class=\"diff\">");
            for line in lines {
                let (open, close) = match line.fate {
                    LineFate::Added => ("<ins>+", "</ins>"),
                    LineFate::Removed => ("<del>-", "</del>"),
                    LineFate::Kept => ("<span> ", "</span>"),
                    LineFate::Place => ("<span class=\"place\">", "</span>"),
                };
                self.html.push_str(open);
                self.text(&line.text);
                self.html.push_str(close);
                self.html.push('\n');
            }
            put!(self, "</pre>");
        }
    }

    fn happening(&mut self, entry: &StoryEntry) {
        let Some(happening) = words::happening(self.story, entry) else { return };
        let tone = match happening.tone {
            Tone::Aside => "aside",
            Tone::Break => "break",
            Tone::Asked => "asked",
            Tone::Bad => "bad",
        };
        put!(self, "<div class=\"{tone}\"><span class=\"label\">");
        self.text(&happening.label);
        put!(self, "</span> ");
        if lines(&happening.text) > 3 {
            self.fold("", self.look.full);
            put!(self, "<span class=\"gist\" data-echo>");
            self.text(&clip(&one_line(&happening.text), 200));
            put!(self, "</span></summary>");
            self.block("", &happening.text);
            put!(self, "</details>");
        } else {
            self.text(&happening.text);
        }
        if let Some(time) = &entry.time {
            put!(self, " <span class=\"facts\">");
            self.text(time.clock());
            put!(self, "</span>");
        }
        put!(self, "</div>");
    }

    fn tail(&mut self) {
        put!(self, "</main>\n<footer>\n<ul>\n");
        let all = words::tokens(&self.story.usage()).map(|all| format!("session {all}"));
        for line in all.into_iter().chain(words::left_out(self.story, self.look.full)) {
            put!(self, "<li>");
            self.words(&one_line(&line));
            put!(self, "</li>\n");
        }
        put!(self, "</ul>\n</footer>\n{HELP}<script>{SCRIPT}</script>\n</body>\n</html>\n");
    }

    /// Opens a fold and its summary; the caller closes the summary.
    fn fold(&mut self, sort: &str, open: bool) {
        put!(self, "<details class=\"{sort}\"{}><summary>", if open { " open" } else { "" });
    }

    /// A piece that is not text.
    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) | Piece::Refusal(text) => self.prose(&text.decode()),
            Piece::Json(json) => self.block("out", json.as_str()),
            Piece::Media(media) => self.media(media),
            Piece::Opaque(_) if !self.look.full => {}
            Piece::File(_) | Piece::Citation(_) | Piece::Opaque(_) => {
                put!(self, "<p class=\"dim\">");
                self.words(&words::brief(piece));
                put!(self, "</p>");
            }
        }
    }

    fn media(&mut self, media: &Media<'_>) {
        let about = one_line(&words::placeholder(media));
        put!(self, "<figure>");
        if let Some((sort, data)) = picture(media) {
            put!(self, "<img loading=\"lazy\" decoding=\"async\" src=\"data:{sort};base64,{data}\" alt=\"");
            self.text(&about);
            put!(self, "\">");
        }
        put!(self, "<figcaption>");
        self.words(&about);
        put!(self, "</figcaption></figure>");
        if let MediaSource::Text(text) = &media.source {
            self.block("out", &text.decode());
        }
    }

    /// The text of a message.
    fn prose(&mut self, text: &str) {
        self.prose_up_to(text, TEXT_LINES, CHUNK_BYTES * 2);
    }

    fn prose_up_to(&mut self, text: &str, lines_shown: usize, bytes_shown: usize) {
        let (shown, rest) = split_lines(text, lines_shown, bytes_shown);
        self.blocks(shown);
        if !rest.is_empty() {
            self.fold("rest", self.look.full);
            put!(self, "<span class=\"label\">{} more</span></summary>", plural(lines(rest) as u64, "line"));
            self.blocks(rest);
            put!(self, "</details>");
        }
    }

    fn blocks(&mut self, text: &str) {
        for block in blocks(text) {
            match block {
                Block::Code(_, code) => self.chunks("code", code),
                Block::Table(lines) => self.table(lines),
                Block::Text(lines) => {
                    for chunk in TextChunks(lines) {
                        put!(self, "<div class=\"p\">");
                        for (number, line) in chunk.lines().enumerate() {
                            if number > 0 {
                                self.html.push('\n');
                            }
                            let heading =
                                line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
                            if heading {
                                put!(self, "<b class=\"h\">");
                            }
                            self.words(line);
                            if heading {
                                put!(self, "</b>");
                            }
                        }
                        put!(self, "</div>");
                    }
                }
            }
        }
    }

    /// Table rows, if a separator line follows the first row.
    fn table(&mut self, text: &str) {
        let is_rule =
            |line: &str| line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
        if text.len() > CHUNK_BYTES || !text.lines().nth(1).is_some_and(is_rule) {
            return self.chunks("table", text);
        }
        put!(self, "<div class=\"scroll\"><table>");
        for (number, line) in text.lines().enumerate().filter(|(number, _)| *number != 1) {
            let cell = if number == 0 { "th" } else { "td" };
            put!(self, "<tr>");
            let line = line.trim();
            let line = line.strip_prefix('|').unwrap_or(line);
            for text in cells(line.strip_suffix('|').unwrap_or(line)) {
                put!(self, "<{cell}>");
                self.words(text.trim());
                put!(self, "</{cell}>");
            }
            put!(self, "</tr>");
        }
        put!(self, "</table></div>");
    }

    /// Preformatted text, folded after its beginning if it is long.
    fn block(&mut self, sort: &str, text: &str) {
        let text = text.trim_end_matches('\n');
        let (shown, rest) = split_lines(text, TEXT_LINES, CHUNK_BYTES * 2);
        self.chunks(sort, shown);
        if !rest.is_empty() {
            self.fold("rest", self.look.full);
            put!(self, "<span class=\"label\">{} more</span></summary>", plural(lines(rest) as u64, "line"));
            self.chunks(sort, rest);
            put!(self, "</details>");
        }
    }

    fn chunks(&mut self, sort: &str, text: &str) {
        for chunk in TextChunks(text) {
            // Browsers drop the first line break after `<pre>`, so one is added.
            put!(self, "<pre class=\"{sort}\">\n");
            self.text(chunk);
            put!(self, "</pre>");
        }
    }

    /// A line with its `code`, its **strong** words and its web addresses.
    fn words(&mut self, line: &str) {
        inline(line, |piece| match piece {
            Inline::Text(text) => self.text(text),
            Inline::Code(text) => {
                self.html.push_str("<code>");
                self.text(text);
                self.html.push_str("</code>");
            }
            Inline::Strong(text) => {
                self.html.push_str("<strong>");
                self.text(text);
                self.html.push_str("</strong>");
            }
            Inline::Address(address) => {
                self.html.push_str("<a rel=\"noopener noreferrer\" href=\"");
                self.text(address);
                self.html.push_str("\">");
                self.text(address);
                self.html.push_str("</a>");
            }
        });
    }

    /// Content: made visible and escaped, as plain text only.
    fn text(&mut self, text: &str) {
        escape(&visible(text), &mut self.html);
    }
}
