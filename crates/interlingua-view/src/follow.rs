//! A session for the terminal while it happens: each message, tool, request and cost as soon as it is known.

use std::collections::HashMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use interlingua::dialects::Options;
use interlingua::error::Error;
use interlingua::json::Str;
use interlingua::model::{
    Args, Arrival, Author, Decision, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Origin, Part,
    Permission, Question, Session, Status, StopClass, Turn, Usage,
};
use interlingua::pipe::EventReader;
use interlingua_report::Identified;
use interlingua_report::safe::{one_line, visible};

use crate::story::gist_of;
use crate::turn_usage::TurnUsage;
use crate::words;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const THOUGHT: Style = Style::new().dimmed().italic();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const MAGENTA: Style = AnsiColor::Magenta.on_default();

/// How many lines are printed of a failed tool's output.
const FAILED_LINES: usize = 8;
/// The longest summary of arguments or of output, in characters.
const SUMMARY: usize = 160;
/// How many calls wait for their results at most.
const MOST_CALLS: usize = 4096;

/// Reads the bytes of a running session and writes text for a terminal as soon as the session goes on.
///
/// The text passes through [`interlingua_report::safe::ScreenWriter`] on its way to a terminal.
#[derive(Debug)]
pub struct FollowReader {
    reader: EventReader,
    page: FollowPage,
}

impl FollowReader {
    /// A reader for an input of that dialect and role. It fails if the dialect has no reader for the role.
    pub fn new(identity: &Identified, options: &Options, full: bool, colour: bool) -> Result<Self, Error> {
        let reader = EventReader::new((identity.dialect, identity.spec.role), options)?;
        Ok(Self { reader, page: FollowPage { full, colour, ..FollowPage::default() } })
    }

    /// Reads the next bytes and returns the text for them.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let page = &mut self.page;
        self.reader.push(bytes, |event| page.event(event));
        std::mem::take(&mut page.text)
    }

    /// Ends the session and returns the last text, or `None` if no frame of the input could be read.
    pub fn finish(self) -> Option<String> {
        let Self { reader, mut page } = self;
        let report = reader.finish(|event| page.event(event));
        page.end_line();
        if let Some(tokens) = words::tokens(&page.usage) {
            page.line(DIM, &format!("session {tokens}{}", cost(page.cost)));
        }
        if report.is_damaged() {
            page.line(RED, "some lines could not be read; `convert --to record` keeps them");
        }
        (report.read > 0).then_some(page.text)
    }
}

/// The text so far, and the open items.
#[derive(Debug, Default)]
struct FollowPage {
    full: bool,
    colour: bool,
    /// Text that the caller has not taken yet.
    text: String,
    /// The item whose text is being printed piece by piece, with an unfinished line.
    streaming: Option<ItemId>,
    speaker: Option<&'static str>,
    turns: u64,
    open: HashMap<ItemId, OpenEntry>,
    /// The names of calls without a result, by their ids.
    calls: HashMap<String, String>,
    /// The usage of the current turn, and of the session.
    turn: TurnUsage,
    usage: Usage,
    cost: Option<f64>,
}

/// An open item.
#[derive(Debug)]
struct OpenEntry {
    head: ItemHead<'static>,
    /// Text that has not been printed, decoded.
    text: String,
    /// Other parts, in a few words each.
    others: Vec<String>,
    /// Set once a piece of the text was printed.
    is_streamed: bool,
}

impl FollowPage {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::SessionStarted(session) => self.session(session, true),
            Event::SessionUpdated(session) => self.session(session, false),
            Event::SessionEnded(end) => {
                let why = end
                    .message
                    .as_ref()
                    .map(|why| format!(": {}", one_line(&why.decode())))
                    .unwrap_or_default();
                if end.status != Status::Completed || self.full {
                    self.happening(DIM, "·", "session ended", &why);
                }
            }
            Event::TurnStarted(_) => {
                self.turns += 1;
                self.end_line();
                self.speaker = None;
                self.turn = TurnUsage::default();
                self.line(DIM, &format!("── turn {} ──", self.turns));
            }
            Event::TurnEnded(turn) => self.turn_ended(turn),
            Event::Usage(turn) => self.count(turn),
            Event::ItemStarted(head) => {
                let entry = OpenEntry {
                    head: head.clone().into_owned(),
                    text: String::new(),
                    others: Vec::new(),
                    is_streamed: false,
                };
                self.open.insert(head.id, entry);
            }
            Event::ItemDelta(delta) => self.delta(delta),
            Event::ItemCompleted(tail) => self.completed(tail),
            Event::PermissionRequested(permission) => {
                let input =
                    permission.input.as_ref().map(|input| gist_of(input.as_str())).unwrap_or_default();
                let asked = format!("{}  {}", one_line(&permission.action.decode()), clip(&one_line(&input)));
                self.happening(YELLOW, "?", "permission", asked.trim_end());
            }
            Event::PermissionResolved(permission) => self.decided(permission),
            Event::QuestionRequested(question) => self.asked(question),
            Event::QuestionResolved(question) => self.answered(question),
            Event::Error(failure) => {
                self.happening(RED, "!", "error", &one_line(&failure.message.decode()));
            }
            Event::Compacted(_) => {
                self.happening(YELLOW, "↺", "compacted", "earlier messages were summed up");
            }
            Event::Rewound(_) => self.happening(YELLOW, "↺", "rewound", "the conversation went back"),
            Event::Clock(_) | Event::Model(_) | Event::Request(_) => {}
        }
    }

    fn session(&mut self, session: &Session<'_>, is_start: bool) {
        let facts = [
            ("agent", &session.agent),
            ("version", &session.cli_version),
            ("model", &session.model),
            ("folder", &session.cwd),
            ("session", &session.id),
            ("title", &session.title),
            ("mode", &session.permission_mode),
        ];
        for (name, fact) in facts {
            let Some(fact) = fact else { continue };
            if is_start || self.full || matches!(name, "model" | "title" | "mode") {
                self.end_line();
                let name = self.styled(DIM, &format!("{name:10} "));
                let _ = writeln!(self.text, "{name}{}", one_line(&fact.decode()));
            }
        }
    }

    fn turn_ended(&mut self, turn: &Turn<'_>) {
        let more = self.turn.end(turn);
        self.usage = self.usage.and(&more);
        let spent = turn.cost.as_ref().and_then(|cost| cost.as_str().parse::<f64>().ok());
        if let Some(spent) = spent {
            self.cost = Some(self.cost.unwrap_or(0.0) + spent);
        }
        let stop = turn.stop.as_ref().filter(|stop| stop.class != StopClass::End);
        let stop = stop.map(|stop| {
            let word = stop.raw.as_ref().map(|raw| raw.decode().into_owned());
            word.unwrap_or_else(|| stop.class.word().to_owned())
        });
        let tokens = words::tokens(self.turn.total()).map(|tokens| format!("{tokens}{}", cost(spent)));
        let told: Vec<String> = stop.into_iter().chain(tokens).map(|fact| one_line(&fact)).collect();
        self.end_line();
        if !told.is_empty() {
            self.line(DIM, &told.join("; "));
        }
        self.turn.clear_total();
        self.speaker = None;
    }

    /// Adds the increase of a cumulative report of one response.
    fn count(&mut self, turn: &Turn<'_>) {
        let more = self.turn.report(turn);
        self.usage = self.usage.and(&more);
    }

    fn delta(&mut self, delta: &Delta<'_>) {
        let Delta { item, part: _, value, arrival } = delta;
        let Some(entry) = self.open.get_mut(item) else { return };
        match value {
            Part::Text(text) | Part::Summary(text) | Part::Refusal(text) | Part::Args(Args::Text(text)) => {
                entry.text.push_str(&text.decode());
            }
            Part::Args(Args::Json(json)) | Part::Json(json) => entry.text.push_str(json.as_str()),
            Part::Media(media) => entry.others.push(words::placeholder(media)),
            Part::File(file) => {
                entry.others.push(format!("{} {}", file.action.decode(), file.path.decode()));
            }
            Part::Citation(_) | Part::Cache(_) | Part::Opaque(_) => {}
        }
        let is_said = matches!(entry.head.kind, ItemKind::Message) && entry.head.author == Author::Assistant;
        if is_said && *arrival == Arrival::Streamed {
            self.stream(*item);
        }
    }

    /// Prints the new text of a message that is being streamed.
    fn stream(&mut self, item: ItemId) {
        let Some(entry) = self.open.get_mut(&item) else { return };
        let text = std::mem::take(&mut entry.text);
        let is_first = !std::mem::replace(&mut entry.is_streamed, true);
        if text.is_empty() {
            return;
        }
        if is_first || self.streaming != Some(item) {
            self.speak("assistant", MAGENTA);
            self.end_line();
            self.text.push_str("  ");
            self.streaming = Some(item);
        }
        self.text.push_str(&visible(&text).replace('\n', "\n  "));
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let Some(entry) = self.open.remove(&tail.id) else { return };
        let OpenEntry { head, text, others, is_streamed } = entry;
        if self.streaming == Some(tail.id) {
            self.end_line();
        }
        match &head.kind {
            ItemKind::Message => {
                if !is_streamed || !text.is_empty() {
                    self.message(&head, &text);
                }
            }
            ItemKind::Reasoning => self.thought(&text),
            ItemKind::ToolCall(call) => {
                let name = one_line(&call.name.decode());
                let gist = clip(&one_line(&gist_of(&text)));
                let line = format!("{}  {gist}", self.styled(BOLD, &name));
                self.happening_styled(CYAN, "▸", line.trim_end());
                if let Some(id) = &call.call_id {
                    if self.calls.len() >= MOST_CALLS {
                        self.calls.clear();
                    }
                    self.calls.insert(id.as_escaped().to_owned(), name);
                }
            }
            ItemKind::ToolResult(result) => {
                let call = result.call_id.as_ref().and_then(|id| self.calls.remove(id.as_escaped()));
                let name = call.or_else(|| result.name.as_ref().map(|name| one_line(&name.decode())));
                self.result(&name.unwrap_or_else(|| "result".to_owned()), &text, tail);
            }
            ItemKind::Notice(notice) => {
                let name = notice.event_type.as_ref().map_or_else(|| "note".into(), Str::decode);
                // Some notices of universal events hold the value null instead of a text.
                if self.full || !matches!(text.trim(), "" | "null") {
                    self.happening(DIM, "·", &one_line(&name), &clip(&one_line(&text)));
                }
            }
        }
        for other in others {
            self.end_line();
            self.line(DIM, &format!("    {}", clip(&one_line(&other))));
        }
    }

    fn message(&mut self, head: &ItemHead<'_>, text: &str) {
        let (name, style) = match (head.author, head.origin) {
            (Author::User, None | Some(Origin::Own)) => ("user", CYAN),
            (Author::Assistant, _) => ("assistant", MAGENTA),
            (Author::User, Some(Origin::Agent)) => ("agent", YELLOW),
            (Author::User, Some(_)) | (Author::System | Author::Developer, _) => ("harness", DIM),
            (Author::Tool, _) => ("tool", DIM),
        };
        if text.trim().is_empty() {
            return;
        }
        self.speak(name, style);
        if name == "harness" && !self.full {
            return self.line(DIM, &format!("  {}", clip(&one_line(text))));
        }
        for line in visible(text.trim_end()).lines() {
            let _ = writeln!(self.text, "  {line}");
        }
    }

    fn thought(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.end_line();
        let shown =
            if self.full { visible(text.trim_end()).replace('\n', "\n  ") } else { clip(&one_line(text)) };
        self.line(THOUGHT, &format!("  thought: {shown}"));
    }

    fn result(&mut self, name: &str, text: &str, tail: &ItemTail<'_>) {
        let failed = tail.is_error == Some(true) || tail.status != Status::Completed;
        let code = tail.exit_code.filter(|code| *code != 0).map(|code| format!(", exit code {code}"));
        let code = code.unwrap_or_default();
        if failed || !code.is_empty() || self.full {
            let (mark, style) = if failed || !code.is_empty() { ("✗", RED) } else { ("✓", GREEN) };
            let word = if tail.status == Status::Interrupted { "  interrupted" } else { "" };
            self.happening_styled(style, mark, &format!("{name}{word}{code}"));
            let most = if self.full { usize::MAX } else { FAILED_LINES };
            let shown = visible(text.trim_end());
            let mut lines = shown.lines();
            for line in lines.by_ref().take(most) {
                self.line(DIM, &format!("    │ {line}"));
            }
            let left = lines.count();
            if left > 0 {
                self.line(DIM, &format!("    … {left} more"));
            }
            return;
        }
        let first = text.lines().map(one_line).find(|line| !line.is_empty()).unwrap_or_default();
        let shown = if first.is_empty() { String::new() } else { format!("  → {}", clip(&first)) };
        self.happening_styled(GREEN, "✓", &format!("{name}{shown}"));
    }

    fn decided(&mut self, permission: &Permission<'_>) {
        let decision = match &permission.answer {
            Some(Decision::Accept) => "accepted".to_owned(),
            Some(Decision::AcceptForSession) => "accepted for the session".to_owned(),
            Some(Decision::Reject(None)) | None => "rejected".to_owned(),
            Some(Decision::Reject(Some(why))) => format!("rejected: {}", clip(&one_line(&why.decode()))),
        };
        let action = one_line(&permission.action.decode());
        self.happening(YELLOW, "?", "permission", &format!("{action}  {decision}"));
    }

    fn asked(&mut self, question: &Question<'_>) {
        for prompt in &question.prompts {
            self.happening(YELLOW, "?", "question", &one_line(&prompt.text.decode()));
            for (label, about) in &prompt.options {
                let about = about.as_ref().map(|about| format!(": {}", about.decode())).unwrap_or_default();
                self.line(
                    DIM,
                    &format!("      - {}", clip(&one_line(&format!("{}{about}", label.decode())))),
                );
            }
        }
    }

    fn answered(&mut self, question: &Question<'_>) {
        let chosen = question.answers.iter().flatten().flatten().map(|label| label.decode().into_owned());
        let chosen: Vec<String> = chosen.collect();
        let told = if question.declined { "declined".to_owned() } else { one_line(&chosen.join(", ")) };
        self.happening(YELLOW, "?", "answer", &told);
    }

    /// Names the speaker if another one spoke before.
    fn speak(&mut self, name: &'static str, style: Style) {
        self.end_line();
        if self.speaker != Some(name) {
            self.speaker = Some(name);
            self.line(style.bold(), name);
        }
    }

    fn happening(&mut self, style: Style, mark: &str, label: &str, text: &str) {
        self.happening_styled(style, mark, &format!("{label}: {text}"));
    }

    fn happening_styled(&mut self, style: Style, mark: &str, text: &str) {
        self.end_line();
        let mark = self.styled(style, mark);
        let _ = writeln!(self.text, "  {mark} {text}");
    }

    fn line(&mut self, style: Style, text: &str) {
        let text = self.styled(style, text);
        self.text.push_str(&text);
        self.text.push('\n');
    }

    /// Ends the unfinished line of a streamed message.
    fn end_line(&mut self) {
        if self.streaming.take().is_some() {
            self.text.push('\n');
        }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The cost as a phrase after the tokens.
fn cost(cost: Option<f64>) -> String {
    cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default()
}

/// The beginning of a text of one line.
fn clip(text: &str) -> String {
    match text.char_indices().nth(SUMMARY) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
