//! Lines to events. With partial output, pieces of a text precede the line with the whole text.

use super::tools::{Outcome, ToolLine};
use crate::blocks;
use crate::json::Raw;
use crate::ledger::text_key;
use crate::live::printed::{StreamTurn, failure, notice, stop, take_millis};
use crate::live::streamed::{StreamedBlock, StreamedKind};
use crate::log::SessionTracker;
use crate::model::{
    Args, Author, CallKind, Field, ItemId, ItemKind, ItemTail, Part, Session, Status, StopClass, ToolCall,
    ToolResult, Turn,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Val};

#[derive(Default)]
pub(super) struct CursorStreamReader {
    session: SessionTracker,
    turn: StreamTurn,
    /// The assistant's message of which pieces have arrived.
    message: Option<StreamedBlock>,
    thought: Option<ItemId>,
    /// Calls without a result: the key of the arguments, by call id.
    calls: Remembered<u128>,
    /// Whether the assistant has said something in this turn.
    has_spoken: bool,
}

impl Reader for CursorStreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let message = line.get("message").filter(|message| message.kind() == Kind::Object);
        let id = line.note_str("session_id", Field::SessionId);
        self.session.tell(AGENT, Session { id, ..Session::default() }, out);
        match (line.str_or_empty("type"), line.str_or_empty("subtype"), message) {
            ("system", "init", _) => self.begin(line, out),
            ("user", _, Some(message)) => {
                self.close(Status::Completed, out);
                self.said(line, message, Author::User, out);
            }
            ("assistant", _, Some(message)) => self.answer(line, message, out),
            ("thinking", "delta", _) if line.has_str("text") => self.think(line, out),
            ("thinking", "completed", _) if self.thought.is_some() => {
                tags(line);
                self.end_thought(Status::Completed, out);
            }
            ("tool_call", "started" | "completed", _) => self.tool(line, out),
            ("result", _, _) => self.end(line, out),
            (kind, _, _) => {
                if kind.is_empty() {
                    doc.report_foreign(super::DIALECT.name, out);
                }
                notice(line, out);
            }
        }
    }
}

/// Notes the type and subtype of a line.
fn tags(line: Val<'_>) {
    line.note_str("type", Field::Structure);
    line.note_str("subtype", Field::Structure);
}

/// The time of the item that a line starts. The times of later pieces have no place.
fn time(line: Val<'_>) -> Option<Raw<'_>> {
    take_millis(line.get("timestamp_ms"))
}

impl CursorStreamReader {
    fn begin(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        tags(line);
        let told = Session {
            cwd: line.note_str("cwd", Field::SessionCwd),
            model: line.note_str("model", Field::SessionModel),
            permission_mode: line.note_str("permissionMode", Field::PermissionMode),
            ..Session::default()
        };
        self.session.tell(AGENT, told, out);
        self.turn.begin(out);
    }

    /// Completes the open message and the open thought.
    fn close(&mut self, status: Status, out: &mut EventSink<'_>) {
        self.end_thought(status, out);
        if let Some(block) = self.message.take() {
            out.end(ItemTail::new(block.item, status));
        }
    }

    fn end_thought(&mut self, status: Status, out: &mut EventSink<'_>) {
        if let Some(item) = self.thought.take() {
            out.end(ItemTail::new(item, status));
        }
    }

    fn think(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        tags(line);
        let item = self.thought.unwrap_or_else(|| {
            let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
            head.time = time(line);
            out.start(head)
        });
        self.thought = Some(item);
        if let Some(text) = line.take_str("text", Field::ReasoningText) {
            out.piece(item, 0, Part::Text(text));
        }
    }

    /// Reads a whole message.
    fn said(&mut self, line: Val<'_>, message: Val<'_>, author: Author, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        line.note_str("type", Field::ItemAuthor);
        // The type of the line gives the author.
        message.note_str("role", Field::Padding);
        let content = message.get("content");
        let mut head = out.head(ItemKind::Message, author);
        head.shape = blocks::shape(content);
        head.time = time(line);
        let item = out.start(head);
        if let Some(content) = content {
            blocks::read_content(content, item, out);
        }
        out.complete(item);
    }

    /// Reads a text of the assistant. A piece has a time and names no model call; the whole text that follows repeats the
    /// pieces.
    fn answer(&mut self, line: Val<'_>, message: Val<'_>, out: &mut EventSink<'_>) {
        self.end_thought(Status::Completed, out);
        self.has_spoken = true;
        let is_piece = line.get("timestamp_ms").is_some() && line.get("model_call_id").is_none();
        let content = message.get("content");
        let only = content.and_then(|content| {
            let first = content.elements().next()?;
            first.get("text").filter(|text| content.elements().count() == 1 && text.str().is_some())
        });
        let Some(text) = only.filter(|_| is_piece || self.message.is_some()) else {
            self.close(Status::Completed, out);
            return self.said(line, message, Author::Assistant, out);
        };
        self.turn.begin(out);
        line.note_str("type", Field::ItemAuthor);
        // The type of the line gives the author.
        message.note_str("role", Field::Padding);
        for block in content.into_iter().flat_map(|content| content.elements()) {
            block.note_str("type", Field::Padding);
        }
        let mut block = self.message.take().unwrap_or_else(|| {
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            head.time = time(line);
            StreamedBlock::new(StreamedKind::Text, out.start(head), 0)
        });
        if is_piece {
            if let Some(text) = text.take_text(Field::MessageText) {
                block.grow(text, out);
            }
            self.message = Some(block);
        } else {
            block.text_again(Some(text), out);
            out.complete(block.item);
        }
    }

    fn tool(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        let Some(tool) = ToolLine::new(line) else { return notice(line, out) };
        self.close(Status::Completed, out);
        self.turn.begin(out);
        tags(line);
        let id = line.str_or_empty("call_id");
        let key = tool.arguments.map_or(0, |arguments| text_key(arguments.text()));
        let known = self.calls.remove(id);
        if known.is_none() {
            tool.claim_name(Field::CallName);
            start_call(line, &tool, out);
        } else if let Some(arguments) =
            tool.arguments.filter(|_| known == Some(key) && !tool.changes_a_file())
        {
            arguments.note(Field::Padding);
        }
        if line.str_or_empty("subtype") == "started" {
            // A call displaced from the bounded memory is emitted again with its result.
            let _ = self.calls.insert(id, key);
        } else {
            if known.is_some() {
                tool.claim_name(Field::ResultName);
            }
            result(line, &tool, out);
        }
    }

    fn end(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        let is_error = line.get("is_error").and_then(|failed| failed.bool()) == Some(true);
        self.close(if is_error { Status::Interrupted } else { Status::Completed }, out);
        self.turn.begin(out);
        line.note_str("type", Field::Structure);
        let raw = line.note_str("subtype", Field::StopReason);
        if line.get("is_error").is_some() {
            line.note_raw("is_error", Field::StopReason);
        }
        let text = line.get("result").filter(|text| text.str().is_some_and(|text| !text.is_empty()));
        if is_error {
            let message = text.and_then(|text| text.note_text(Field::ErrorMessage));
            out.event(&failure(None, message.unwrap_or_default()));
        } else if let Some(text) = text {
            // The result repeats all texts of the turn. `--output-format json` prints only the result.
            if std::mem::take(&mut self.has_spoken) {
                text.note(Field::Padding);
            } else {
                let head = out.head(ItemKind::Message, Author::Assistant);
                let item = out.start(head);
                out.delta(item, 0, Part::Text(text.take_text(Field::MessageText).unwrap_or_default()));
                out.complete(item);
            }
        }
        self.has_spoken = false;
        let class = if is_error { StopClass::Error } else { StopClass::End };
        let request_id = line.note_str("request_id", Field::TurnRequestId);
        self.turn.end(Turn { stop: Some(stop(class, raw)), request_id, ..Turn::default() }, out);
    }
}

fn start_call(line: Val<'_>, tool: &ToolLine<'_>, out: &mut EventSink<'_>) {
    let call_id = line.take_str("call_id", Field::CallId);
    let call = ToolCall { call_id, kind: CallKind::Function, namespace: None, name: tool.name() };
    let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
    head.time = time(line);
    let item = out.start(head);
    if let Some(arguments) = tool.arguments {
        let args = match arguments.take_text(Field::CallArgs) {
            Some(text) => Args::Text(text),
            None => Args::Json(arguments.take(Field::CallArgs)),
        };
        out.delta(item, 0, Part::Args(args));
    }
    out.complete(item);
}

fn result(line: Val<'_>, tool: &ToolLine<'_>, out: &mut EventSink<'_>) {
    let call_id = line.take_str("call_id", Field::ResultCallId);
    let name = Some(tool.name());
    let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id, name }), Author::Tool);
    head.time = time(line);
    let item = out.start(head);
    let outcome = Outcome::of(tool);
    outcome.tell(item, out);
    if let Some(file) = outcome.file(tool) {
        out.delta(item, 9, Part::File(file));
    }
    let status = if outcome.is_error { Status::Failed } else { Status::Completed };
    let Outcome { word: native_status, exit_code, .. } = outcome;
    let is_error = Some(outcome.is_error);
    out.end(ItemTail { native_status, is_error, exit_code, ..ItemTail::new(item, status) });
}

/// The agent of the session.
const AGENT: &str = "cursor";
