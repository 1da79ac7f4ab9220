//! Entries to events: prompts and answers are messages, and everything that Aider printed is a notice with the printed text.

use super::DIALECT;
use crate::blocks::start_reasoning;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{SessionTracker, words_of_unknown};
use crate::model::{
    Author, Event, Failure, FailureClass, Field, FileRef, ItemId, ItemKind, Notice, Origin, Part, Session,
    Shape, Stop, StopClass, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct AiderReader {
    session: SessionTracker,
}

impl Reader for AiderReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        match doc.kind {
            FrameKind::Head => {
                // A history holds several sessions.
                self.session.end(out);
                self.session = SessionTracker::default();
                self.facts(root, out);
                root.get("entries").map(|list| list.note(Field::Padding));
                notice(Some(Str::escaped("session")), out);
            }
            // An empty end joins the entry before it.
            FrameKind::Tail if root.members().next().is_none() => _ = root.note(Field::Padding),
            FrameKind::Tail => notice(None, out),
            _ => self.entry(&doc, out),
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.session.end(out);
    }
}

fn notice(event_type: Option<Str<'_>>, out: &mut EventSink<'_>) {
    let item = start_notice(event_type, Shape::One, out);
    out.complete(item);
}

fn start_notice(event_type: Option<Str<'_>>, shape: Shape, out: &mut EventSink<'_>) -> ItemId {
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.shape = shape;
    out.start(head)
}

impl AiderReader {
    /// Reads the facts in the heading of a session.
    fn facts(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        let heading = root.get("aider").filter(|heading| heading.kind() == Kind::Object);
        let start = heading.and_then(|heading| heading.get("start")).filter(Val::is_time);
        if start.is_some() {
            out.note("Aider writes no time zone: the time of the start is read in the zone of this machine");
        }
        let told = Session {
            start: start.map(|start| start.note(Field::SessionStart)),
            cwd: heading.and_then(|heading| heading.note_str("folder", Field::SessionCwd)),
            ..Session::default()
        };
        self.session = SessionTracker::default();
        if told == Session::default() {
            self.session.begin(DIALECT.name, out);
        } else {
            self.session.tell(DIALECT.name, told, out);
        }
    }

    fn entry(&mut self, doc: &Doc<'_>, out: &mut EventSink<'_>) {
        let entry = doc.root;
        match entry.str_or_empty("kind") {
            "user" => prompt(entry, None, out),
            "command" => prompt(entry, Some(Origin::Command), out),
            "assistant" => answer(entry, out),
            "error" if entry.has_str("text") => failed(entry, out),
            kind @ ("version" | "main-model") => {
                printed(entry, out);
                let told = match kind {
                    "version" => Session {
                        cli_version: entry.note_str("version", Field::SessionVersion),
                        ..Session::default()
                    },
                    _ => {
                        Session { model: entry.note_str("model", Field::SessionModel), ..Session::default() }
                    }
                };
                self.session.tell(DIALECT.name, told, out);
            }
            "tokens" => {
                printed(entry, out);
                spent(entry, out);
            }
            "exhausted" => {
                printed(entry, out);
                stopped(entry.get("exhausted"), StopClass::MaxTokens, out);
            }
            "blank" | "stopped" | "console" | "edit" | "added" => printed(entry, out),
            _ => {
                doc.report_foreign(DIALECT.name, out);
                let item = start_notice(entry.note_str("kind", Field::NoticeType), Shape::One, out);
                if let Some(text) = words_of_unknown(entry) {
                    out.delta(item, 0, Part::Text(text));
                }
                out.complete(item);
            }
        }
    }
}

/// Emits a prompt of the user, or a command to Aider.
fn prompt(entry: Val<'_>, origin: Option<Origin>, out: &mut EventSink<'_>) {
    entry.get("kind").map(|kind| kind.note(Field::ItemAuthor));
    let mut head = out.head(ItemKind::Message, Author::User);
    head.origin = origin;
    let item = out.start(head);
    if let Some(text) = entry.take_str("text", Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

fn answer(entry: Val<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> = WantedNames::new(["kind", "text", "reasoning", "interrupted"]);
    let [kind, text, reasoning, interrupted] = entry.find(&WANTED);
    kind.map(|kind| kind.note(Field::ItemAuthor));
    let head = out.head(ItemKind::Message, Author::Assistant);
    let item = out.start(head);
    if let Some(reasoning) = reasoning.take_text(Field::ReasoningText) {
        let thought = start_reasoning(item, out);
        out.delta(thought, 0, Part::Text(reasoning));
        out.complete(thought);
    }
    let text = text.filter(|text| !Some(*text).word().is_empty());
    if let Some(text) = text.take_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
    stopped(interrupted, StopClass::Cancelled, out);
}

/// Emits the reason why the answer before ended, if the flag is set.
fn stopped(flag: Option<Val<'_>>, class: StopClass, out: &mut EventSink<'_>) {
    let Some(flag) = flag.filter(|flag| flag.bool() == Some(true)) else { return };
    flag.note(Field::StopReason);
    let stop = Stop { class, raw: None, sequence: None, detail: None };
    out.event(&Event::Usage(Turn { stop: Some(stop), ..Turn::default() }));
}

/// Emits a notice with the printed text, and the file that it names.
fn printed(entry: Val<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> = WantedNames::new(["kind", "text", "path", "diff"]);
    let [kind, text, path, diff] = entry.find(&WANTED);
    let action = match kind.word() {
        "edit" => "patch",
        _ => "read",
    };
    let path = path.note_text(Field::FilePath);
    let shape = if path.is_some() { Shape::List } else { Shape::One };
    let item = start_notice(kind.note_text(Field::NoticeType), shape, out);
    if let Some(text) = text.take_text(Field::NoticeText) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(path) = path {
        let diff = diff.note_text(Field::FileDiff);
        out.delta(item, 1, Part::File(FileRef { path, action: Str::escaped(action), diff }));
    }
    out.complete(item);
}

/// Emits the counts that Aider printed after an answer.
fn spent(entry: Val<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<6> =
        WantedNames::new(["sent", "received", "cacheWrite", "cacheHit", "cost", "text"]);
    let [sent, received, written, read, cost, text] = entry.find(&WANTED);
    if text.word().contains("k ") {
        out.note("Aider rounds numbers of tokens: `1.2k` is read as 1200");
    }
    let (cache_write, cache_read) =
        (written.note_count(Field::UsageCacheWrite), read.note_count(Field::UsageCacheRead));
    let cached = cache_write.unwrap_or(0).saturating_add(cache_read.unwrap_or(0));
    let usage = Usage {
        input: sent.note_count(Field::UsageInput).map(|sent| sent.saturating_sub(cached)),
        output: received.note_count(Field::UsageOutput),
        cache_write,
        cache_read,
        ..Usage::default()
    };
    let cost = cost.filter(|cost| cost.kind() == Kind::Number).map(|cost| cost.note(Field::Cost));
    out.event(&Event::Usage(Turn { usage: Some(usage), cost, ..Turn::default() }));
}

/// Emits an error of the model's provider, which LiteLLM names.
fn failed(entry: Val<'_>, out: &mut EventSink<'_>) {
    let class = match entry.str_or_empty("error") {
        "BadRequestError" | "UnprocessableEntityError" | "UnsupportedParamsError" | "InvalidRequestError" => {
            FailureClass::InvalidRequest
        }
        "ContextWindowExceededError" => FailureClass::ContextTooLong,
        "AuthenticationError" => FailureClass::Authentication,
        "BudgetExceededError" => FailureClass::Billing,
        "PermissionDeniedError" => FailureClass::Permission,
        "NotFoundError" => FailureClass::NotFound,
        "RateLimitError" => FailureClass::RateLimit,
        "InternalServerError" | "APIError" => FailureClass::Server,
        "ServiceUnavailableError" | "BadGatewayError" => FailureClass::Overloaded,
        "Timeout" => FailureClass::Timeout,
        _ => FailureClass::Other,
    };
    entry.get("kind").map(|kind| kind.note(Field::Structure));
    out.event(&Event::Error(Failure {
        class,
        status: None,
        code: entry.note_str("error", Field::ErrorCode),
        message: entry.note_str("text", Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }));
}
