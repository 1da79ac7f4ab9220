//! Lines to events. Consecutive lines of the assistant are one message, and any line without a known meaning is a notice.

use crate::json::Str;
use crate::live::printed::{StreamTurn, clock, failure, notice, stop};
use crate::log::SessionTracker;
use crate::model::{
    Args, Author, CallKind, Field, FileRef, ItemId, ItemKind, ItemTail, Part, Session, Status, StopClass,
    ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Member as _, Val};
use crate::wire::note_tag;

#[derive(Default)]
pub(super) struct PrintedReader {
    session: SessionTracker,
    turn: StreamTurn,
    /// The assistant's message that the next line may continue. A stream that ends here leaves the message interrupted.
    message: Option<ItemId>,
    /// The file that a call is about to change, by the id of the call.
    changes: Remembered<Str<'static>>,
}

impl Reader for PrintedReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let kind = line.str_or_empty("type");
        if kind == "message" && line.has_str("content") && is_piece(line) {
            return self.piece(line, out);
        }
        self.close(out);
        match kind {
            "init" if line.has_str("session_id") => self.begin(line, out),
            "message" if line.has_str("content") => match line.str_or_empty("role") {
                "user" => self.said(line, Author::User, out),
                "assistant" => self.said(line, Author::Assistant, out),
                _ => notice(line, out),
            },
            "tool_use" if line.has_str("tool_name") => self.call(line, out),
            "tool_result" if line.has_str("tool_id") => self.result(line, out),
            "error" if line.str_or_empty("severity") == "error" && line.has_str("message") => {
                line.note_str("type", Field::Structure);
                line.note_str("severity", Field::Structure);
                clock(line.get("timestamp"), out);
                let message = line.note_str("message", Field::ErrorMessage).unwrap_or_default();
                out.event(&failure(None, message));
            }
            "result" if line.has_str("status") => self.end(line, out),
            _ => {
                if kind.is_empty() {
                    doc.report_foreign(super::DIALECT.name, out);
                }
                notice(line, out);
            }
        }
    }
}

/// Whether the line is a piece of the assistant's message.
fn is_piece(line: Val<'_>) -> bool {
    let delta = line.get("delta").and_then(|delta| delta.bool());
    delta == Some(true) && line.str_or_empty("role") == "assistant"
}

impl PrintedReader {
    /// Completes the assistant's message.
    fn close(&mut self, out: &mut EventSink<'_>) {
        if let Some(item) = self.message.take() {
            out.complete(item);
        }
    }

    fn begin(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        line.note_str("type", Field::Structure);
        let start = line.get("timestamp").filter(Val::is_time);
        let told = Session {
            id: line.note_str("session_id", Field::SessionId),
            model: line.note_str("model", Field::SessionModel),
            start: start.map(|start| start.note(Field::SessionStart)),
            provider: Some(Str::escaped("google")),
            ..Session::default()
        };
        self.session.tell(AGENT, told, out);
        self.turn.begin(out);
    }

    /// Starts a message.
    fn start(&mut self, line: Val<'_>, author: Author, out: &mut EventSink<'_>) -> ItemId {
        self.turn.begin(out);
        let mut head = out.head(ItemKind::Message, author);
        head.time = line.get("timestamp").take_time(Field::ItemTime);
        out.start(head)
    }

    /// Reads a piece of the assistant's text.
    fn piece(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        note_tag(line, "type", &["message"]);
        line.note_str("role", Field::ItemAuthor);
        line.note_raw("delta", Field::Structure);
        let item = self.message.unwrap_or_else(|| self.start(line, Author::Assistant, out));
        self.message = Some(item);
        if let Some(text) = line.take_str("content", Field::MessageText) {
            out.piece(item, 0, Part::Text(text));
        }
    }

    /// Reads a whole message.
    fn said(&mut self, line: Val<'_>, author: Author, out: &mut EventSink<'_>) {
        note_tag(line, "type", &["message"]);
        line.note_str("role", Field::ItemAuthor);
        let item = self.start(line, author, out);
        if let Some(text) = line.take_str("content", Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        out.complete(item);
    }

    fn call(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        line.note_str("type", Field::Structure);
        let arguments = line.get("parameters");
        let id = line.take_str("tool_id", Field::CallId);
        let name = line.take_str("tool_name", Field::CallName).unwrap_or_default();
        let path = arguments.and_then(|arguments| arguments.get("file_path")?.str());
        if let (Some(id), Some(path), "replace" | "write_file") = (&id, path, name.as_escaped()) {
            // A call displaced from the bounded memory never had a result.
            let _ = self.changes.insert(id.as_escaped(), path.into_owned());
        }
        let call = ToolCall { call_id: id, kind: CallKind::Function, namespace: None, name };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        head.time = line.get("timestamp").take_time(Field::ItemTime);
        let item = out.start(head);
        if let Some(arguments) = arguments {
            out.delta(item, 0, Part::Args(Args::Json(arguments.take(Field::CallArgs))));
        }
        out.complete(item);
    }

    /// Reads a result. The model got the message of the error; `output` is the text that the program showed.
    fn result(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        line.note_str("type", Field::Structure);
        let call_id = line.take_str("tool_id", Field::ResultCallId);
        let changed = call_id.as_ref().and_then(|id| self.changes.remove(id.as_escaped()));
        let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
        head.time = line.get("timestamp").take_time(Field::ItemTime);
        let item = out.start(head);
        let (error, shown) = (line.get("error"), line.get("output"));
        let message = error.and_then(|error| error.get("message")).filter(|message| message.str().is_some());
        if let (Some(message), Some(shown)) = (message, shown)
            && message.text() == shown.text()
        {
            shown.note(Field::ResultText);
        }
        if let Some(text) = message.or(shown).take_text(Field::ResultText) {
            out.delta(item, 0, Part::Text(text));
        }
        let is_error = match line.str_or_empty("status") {
            "success" => Some(false),
            "error" => Some(true),
            _ => None,
        };
        if is_error.is_some() {
            line.note_str("status", Field::ResultIsError);
        }
        if let Some(path) = changed.filter(|_| is_error == Some(false)) {
            out.delta(item, 1, Part::File(FileRef { path, action: Str::escaped("patch"), diff: None }));
        }
        let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
        let native_status = error.and_then(|error| error.take_str("type", Field::ItemStatus));
        out.end(ItemTail { native_status, is_error, ..ItemTail::new(item, status) });
    }

    fn end(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        line.note_str("type", Field::Structure);
        clock(line.get("timestamp"), out);
        let raw = line.note_str("status", Field::StopReason);
        let mut class = if raw.as_ref().is_some_and(|raw| raw.as_escaped() == "success") {
            StopClass::End
        } else {
            StopClass::Other
        };
        if line.str_or_empty("status") == "error" {
            class = StopClass::Error;
            let error = line.get("error");
            let code = error.and_then(|error| error.note_str("type", Field::ErrorCode));
            let message = error.and_then(|error| error.note_str("message", Field::ErrorMessage));
            self.turn.begin(out);
            out.event(&failure(code, message.unwrap_or_default()));
        }
        let usage = line.get("stats").map(usage);
        self.turn.end(Turn { stop: Some(stop(class, raw)), usage, ..Turn::default() }, out);
    }
}

/// Reads the tokens of the run. The total is the only count that includes thoughts, so the thoughts are the tokens that
/// are neither input nor output.
fn usage(stats: Val<'_>) -> Usage {
    let number = |name| stats.get(name).and_then(|count| count.u64());
    let shown = number("output_tokens");
    let rest = number("total_tokens").zip(number("input_tokens").zip(shown));
    let thoughts = rest.and_then(|(total, (input, shown))| total.checked_sub(input)?.checked_sub(shown));
    if thoughts.is_some() {
        stats.note_u64("total_tokens", Field::UsageOutput);
        stats.note_u64("input_tokens", Field::UsageOutput);
    }
    stats.note_u64("output_tokens", Field::UsageOutput);
    Usage {
        input: stats.note_u64("input", Field::UsageInput),
        cache_read: stats.note_u64("cached", Field::UsageCacheRead),
        output: shown.map(|shown| shown.saturating_add(thoughts.unwrap_or(0))),
        reasoning: thoughts,
        ..Usage::default()
    }
}

/// The program that prints the stream.
const AGENT: &str = "gemini-cli";
