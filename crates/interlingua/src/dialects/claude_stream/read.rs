//! Lines to events. A whole `assistant` or `user` line is one message, as in the log. With partial messages each
//! content block is one message too: `content_block_start` begins it, deltas grow it, and the whole line that follows
//! completes it without saying anything twice. Every line that is none of this is a notice, whatever its type.

use super::control::Requests;
use crate::dialects::anthropic::blocks;
use crate::model::{
    Args, Author, Event, Failure, FailureClass, Field, ItemId, ItemKind, ItemTail, Notice, Opaque,
    OpaqueKind, Part, Session, Status, Stop, StopClass, Turn,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Kind, Val};
use crate::text::Known;
use crate::text::Str;

#[derive(Default)]
pub(super) struct StreamReader {
    started: bool,
    session: Known,
    cwd: Known,
    version: Known,
    model: Known,
    title: Known,
    /// A turn is open, and whether the assistant has said anything in it.
    turn: Option<bool>,
    streams: Vec<Stream>,
    requests: Requests,
    /// The last prompt that was not an echo.
    prompt: String,
}

/// A response that arrives as `stream_event`s. Subagents stream at the same time, each under its call.
struct Stream {
    parent: String,
    message: String,
    model: Option<Str<'static>>,
    blocks: Vec<Block>,
}

/// One content block of a streamed response.
struct Block {
    index: u64,
    kind: BlockKind,
    /// What the deltas have said so far, escaped.
    said: String,
    signed: bool,
    message: ItemId,
    /// The reasoning or the call within the message.
    inner: Option<ItemId>,
    open: bool,
    /// The whole line came.
    repeated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    ToolUse,
}

impl BlockKind {
    fn of(block: Val<'_>) -> Option<Self> {
        Some(match block.get("type")?.str()?.as_escaped() {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Self::ToolUse,
            // Anything else comes in one piece, and the whole line says it.
            _ => return None,
        })
    }
}

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let line = doc.root;
        self.session(line, out);
        let kind = line.note_str("type", Field::Unnamed);
        let understood = match kind.as_ref().map(Str::as_escaped) {
            Some("system") if line.get("subtype").is_some_and(|subtype| subtype.is("init")) => {
                line.note_str("subtype", Field::Unnamed);
                self.begin_turn(out);
                true
            }
            Some("assistant") => self.said(line, Author::Assistant, out),
            Some("user") => self.said(line, Author::User, out),
            Some("stream_event") => self.streamed(line, out),
            Some("result") => {
                self.result(line, out);
                true
            }
            Some("control_request") => self.requests.request(line, out),
            Some("control_response") => self.requests.response(line, out),
            Some("control_cancel_request") => self.requests.cancel(line, out),
            _ => false,
        };
        if !understood {
            notice(line, kind, out);
        }
    }
}

impl StreamReader {
    /// What lines repeat about the session, said once and whenever it changes.
    fn session(&mut self, line: Val<'_>, out: &mut Sink<'_>) {
        let init = line.get("subtype").is_some_and(|subtype| subtype.is("init"));
        let told = |name| if init { line.note_str(name, Field::Unnamed) } else { None };
        let renamed = line.get("subtype").is_some_and(|subtype| subtype.is("session_title_changed"));
        let session = Session {
            // What we write to stdin leaves it empty.
            id: self.session.news(line.note_str("session_id", Field::Unnamed).filter(|id| !id.is_empty())),
            cwd: self.cwd.news(told("cwd")),
            cli_version: self.version.news(told("claude_code_version")),
            model: self.model.news(told("model")),
            title: self.title.news(if renamed { line.note_str("title", Field::Unnamed) } else { None }),
            ..Session::default()
        };
        if session == Session::default() {
            return;
        }
        if std::mem::replace(&mut self.started, true) {
            out.event(&Event::SessionUpdated(session));
        } else {
            out.event(&Event::SessionStarted(Session {
                agent: Some("claude-code"),
                provider: Some(Str::escaped("anthropic")),
                ..session
            }));
        }
    }

    fn begin_turn(&mut self, out: &mut Sink<'_>) {
        if self.turn.is_none() {
            self.turn = Some(false);
            out.event(&Event::TurnStarted(Turn::default()));
        }
    }

    /// A whole message: what was streamed before is only completed.
    fn said(&mut self, line: Val<'_>, author: Author, out: &mut Sink<'_>) -> bool {
        let Some(message) = line.get("message").filter(|message| message.kind() == Kind::Object) else {
            return false;
        };
        self.begin_turn(out);
        for name in ["type", "role", "stop_reason", "stop_sequence"] {
            message.note_raw(name, Field::Unnamed);
        }
        line.note_raw("parent_tool_use_id", Field::Unnamed);
        let content = message.get("content");
        if author == Author::User {
            if self.is_echo(line, content) {
                return true;
            }
            self.requests.settle(line, content, out);
        } else {
            self.turn = Some(true);
        }
        let id = message.note_str("id", Field::Unnamed);
        let mut item = None;
        let start = |out: &mut Sink<'_>| {
            let mut head = out.head(ItemKind::Message, author);
            head.native_id = line.take_str("uuid", Field::Unnamed);
            head.parent = line.take_str("parent_tool_use_id", Field::Unnamed);
            head.time =
                line.get("timestamp").and_then(|time| time.take_text(Field::Unnamed).map(|_| time.raw()));
            head.model = message.take_str("model", Field::Unnamed);
            head.shape = blocks::shape(content);
            out.start(head)
        };
        for (number, block) in content.into_iter().flat_map(|content| content.elements()).enumerate() {
            if let Some(known) = self.streamed_before(id.as_ref(), block) {
                let aborted = line.take_bool("aborted", Field::Unnamed) == Some(true);
                known.repeat(block, if aborted { Status::Interrupted } else { Status::Completed }, out);
            } else {
                let item = *item.get_or_insert_with(|| start(out));
                blocks::read_block(block, number as u32, item, out);
            }
        }
        if let Some(content) = content.filter(|content| content.kind() != Kind::Array) {
            let item = *item.get_or_insert_with(|| start(out));
            blocks::read_content(content, item, out);
        }
        if let Some(item) = item {
            out.complete(item);
        }
        if let Some(usage) = message.get("usage").filter(|usage| usage.kind() == Kind::Object) {
            out.event(&Event::Usage(Turn {
                id,
                model: message.note_str("model", Field::Unnamed),
                time: line
                    .get("timestamp")
                    .filter(|time| time.str().is_some())
                    .map(|time| time.note(Field::Unnamed)),
                stop: message
                    .note_str("stop_reason", Field::Unnamed)
                    .map(|raw| blocks::stop(raw, message.note_str("stop_sequence", Field::Unnamed))),
                usage: Some(blocks::read_usage(usage)),
                cost: None,
            }));
        }
        true
    }

    /// Whether the line repeats a prompt that stands before it (`--replay-user-messages` in a two-way transcript).
    fn is_echo(&mut self, line: Val<'_>, content: Option<Val<'_>>) -> bool {
        let text = content
            .and_then(|content| content.str().or_else(|| content.elements().next()?.get("text")?.str()));
        let Some(text) = text else { return false };
        if line.get("isReplay").and_then(|replay| replay.bool()) == Some(true) {
            let echo = self.prompt == text.as_escaped();
            self.prompt.clear();
            if let (true, Some(content)) = (echo, content) {
                content.note(Field::Unnamed);
            }
            return echo;
        }
        self.prompt.clear();
        self.prompt.push_str(text.as_escaped());
        false
    }

    fn streamed_before(&mut self, id: Option<&Str<'_>>, block: Val<'_>) -> Option<&mut Block> {
        let (id, kind) = (id?, BlockKind::of(block)?);
        let stream = self.streams.iter_mut().find(|stream| stream.message == id.as_escaped())?;
        stream.blocks.iter_mut().find(|known| known.kind == kind && !known.repeated)
    }

    /// One event of the Messages API as it came. Returns whether we know it.
    fn streamed(&mut self, line: Val<'_>, out: &mut Sink<'_>) -> bool {
        let Some(event) = line.get("event") else { return false };
        let Some(kind) = event.get("type").and_then(|kind| kind.str()) else { return false };
        let parent = line.get("parent_tool_use_id").and_then(|parent| parent.str()).unwrap_or_default();
        let known = match kind.as_escaped() {
            "message_start" => self.stream_start(event, &parent, out),
            "content_block_start" => self.block_start(line, event, &parent, out),
            "content_block_delta" => self.block_delta(event, &parent, out),
            // The whole line comes just before it.
            "content_block_stop" => event.note_u64("index", Field::Unnamed).is_some(),
            "message_delta" => self.stream_usage(event, &parent, out),
            "message_stop" => {
                let abandoned = line.get("abandoned_blocks").is_some();
                self.close(&parent, if abandoned { Status::Interrupted } else { Status::Completed }, out);
                true
            }
            "ping" => true,
            _ => false,
        };
        if known {
            event.note_str("type", Field::Unnamed);
            line.note_raw("parent_tool_use_id", Field::Unnamed);
            line.note_str("api_message_id", Field::Unnamed);
        }
        known
    }

    fn stream(&mut self, parent: &Str<'_>) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.parent == parent.as_escaped())
    }

    fn stream_start(&mut self, event: Val<'_>, parent: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let Some(message) = event.get("message") else { return false };
        self.begin_turn(out);
        self.close(parent, Status::Interrupted, out);
        self.streams.retain(|stream| stream.parent != parent.as_escaped());
        let (id, model) = (message.note_str("id", Field::Unnamed), message.note_str("model", Field::Unnamed));
        message.note_str("role", Field::Unnamed);
        message.note_str("type", Field::Unnamed);
        self.streams.push(Stream {
            parent: parent.as_escaped().to_owned(),
            message: id.as_ref().map(|id| id.as_escaped().to_owned()).unwrap_or_default(),
            model: model.clone().map(Str::into_owned),
            blocks: Vec::new(),
        });
        if let Some(usage) = message.get("usage").filter(|usage| usage.kind() == Kind::Object) {
            let usage = Some(blocks::read_usage(usage));
            out.event(&Event::Usage(Turn { id, model, usage, ..Turn::default() }));
        }
        true
    }

    fn block_start(&mut self, line: Val<'_>, event: Val<'_>, parent: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let (Some(index), Some(block)) =
            (event.note_u64("index", Field::Unnamed), event.get("content_block"))
        else {
            return false;
        };
        let Some(kind) = BlockKind::of(block) else {
            block.note(Field::Unnamed);
            return true;
        };
        self.turn = Some(true);
        let Some(stream) = self.stream(parent) else { return false };
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        head.native_id = line.take_str("uuid", Field::Unnamed);
        head.parent = line.take_str("parent_tool_use_id", Field::Unnamed);
        head.model.clone_from(&stream.model);
        let message = out.start(head);
        let native_kind = block.note_str("type", Field::Unnamed).unwrap_or_default();
        let inner = match kind {
            BlockKind::Text => None,
            BlockKind::Thinking => Some(ItemKind::Reasoning),
            BlockKind::ToolUse => Some(ItemKind::ToolCall(blocks::call(block, native_kind.as_escaped()))),
        };
        let inner = inner.map(|kind| {
            let mut head = out.head(kind, Author::Assistant);
            head.within = Some(message);
            out.start(head)
        });
        let mut known = Block {
            index,
            kind,
            said: String::new(),
            signed: false,
            message,
            inner,
            open: true,
            repeated: false,
        };
        // The first piece may come with the start; usually it is empty. The empty `input` and `signature` say nothing.
        for name in ["text", "thinking"] {
            if let Some(text) = block.take_str(name, Field::Unnamed).filter(|text| !text.is_empty()) {
                known.grow(text, out);
            }
        }
        for name in ["input", "signature"] {
            block.note_raw(name, Field::Unnamed);
        }
        stream.blocks.push(known);
        true
    }

    fn block_delta(&mut self, event: Val<'_>, parent: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let (Some(index), Some(delta)) = (event.note_u64("index", Field::Unnamed), event.get("delta")) else {
            return false;
        };
        let Some(stream) = self.stream(parent) else { return false };
        let block = stream.blocks.iter_mut().find(|block| block.index == index && block.open);
        let Some(block) = block else { return false };
        let text =
            ["text", "thinking", "partial_json"].iter().find_map(|name| delta.take_str(name, Field::Unnamed));
        if let Some(text) = text {
            block.grow(text, out);
        } else if let (Some(value), Some(inner)) = (delta.take_str("signature", Field::Unnamed), block.inner)
        {
            block.signed = true;
            let proof = Opaque { kind: OpaqueKind::Signature, issuer: blocks::ISSUER, value };
            out.piece(inner, 1, Part::Opaque(proof));
        } else {
            return false;
        }
        delta.note_str("type", Field::Unnamed);
        true
    }

    fn stream_usage(&mut self, event: Val<'_>, parent: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let (Some(delta), Some(usage)) = (event.get("delta"), event.get("usage")) else { return false };
        let Some(stream) = self.stream(parent) else { return false };
        out.event(&Event::Usage(Turn {
            id: Some(Str::escaped(&stream.message)),
            model: stream.model.clone(),
            stop: delta
                .note_str("stop_reason", Field::Unnamed)
                .map(|raw| blocks::stop(raw, delta.note_str("stop_sequence", Field::Unnamed))),
            usage: Some(blocks::read_usage(usage)),
            ..Turn::default()
        }));
        true
    }

    /// Completes what a stream has left open.
    fn close(&mut self, parent: &Str<'_>, status: Status, out: &mut Sink<'_>) {
        let Some(stream) = self.stream(parent) else { return };
        for block in stream.blocks.iter_mut().filter(|block| block.open) {
            block.complete(status, out);
        }
    }

    fn result(&mut self, line: Val<'_>, out: &mut Sink<'_>) {
        self.begin_turn(out);
        for mut stream in std::mem::take(&mut self.streams) {
            for block in stream.blocks.iter_mut().filter(|block| block.open) {
                block.complete(Status::Interrupted, out);
            }
        }
        let result = line.note_str("result", Field::Unnamed);
        // `--output-format json` is the result alone: only there has the text not been said.
        if let (Some(false), Some(text)) = (self.turn, &result)
            && !text.is_empty()
        {
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            head.native_id = line.take_str("uuid", Field::Unnamed);
            let item = out.start(head);
            out.delta(item, 0, Part::Text(text.reborrow()));
            out.complete(item);
        }
        let subtype = line.note_str("subtype", Field::Unnamed).unwrap_or_default();
        let failed = line
            .get("is_error")
            .inspect(|failed| drop(failed.note(Field::Unnamed)))
            .and_then(|failed| failed.bool());
        let failed = failed == Some(true) || subtype.as_escaped().starts_with("error");
        let terminal = line.note_str("terminal_reason", Field::Unnamed);
        let cancelled = terminal.as_ref().is_some_and(|reason| reason.as_escaped().starts_with("aborted"));
        let reason = line.note_str("stop_reason", Field::Unnamed);
        let stop = match (cancelled, failed, reason) {
            (true, _, _) => Stop { class: StopClass::Cancelled, raw: terminal, sequence: None },
            (false, true, _) => {
                failure(line, &subtype, result, out);
                let raw = terminal.or(Some(subtype));
                Stop { class: StopClass::Error, raw, sequence: None }
            }
            (false, false, Some(raw)) => blocks::stop(raw, None),
            (false, false, None) => Stop { class: StopClass::End, raw: terminal, sequence: None },
        };
        out.event(&Event::TurnEnded(Turn {
            stop: Some(stop),
            usage: line.get("usage").filter(|usage| usage.kind() == Kind::Object).map(blocks::read_usage),
            cost: line
                .get("total_cost_usd")
                .filter(|cost| cost.kind() == Kind::Number)
                .map(|cost| cost.take(Field::Unnamed)),
            ..Turn::default()
        }));
        self.turn = None;
    }
}

impl Block {
    fn grow(&mut self, text: Str<'_>, out: &mut Sink<'_>) {
        self.said.push_str(text.as_escaped());
        match (self.kind, self.inner) {
            (BlockKind::ToolUse, Some(call)) => out.piece(call, 0, Part::Args(Args::Text(text))),
            (_, inner) => out.piece(inner.unwrap_or(self.message), 0, Part::Text(text)),
        }
    }

    /// The whole block: says what the deltas have left out, then ends the item.
    fn repeat(&mut self, block: Val<'_>, status: Status, out: &mut Sink<'_>) {
        self.repeated = true;
        block.note_str("type", Field::Unnamed);
        match self.kind {
            BlockKind::Text => self.catch_up(block.get("text"), out),
            BlockKind::Thinking => {
                self.catch_up(block.get("thinking"), out);
                if let (Some(value), Some(inner)) = (block.take_str("signature", Field::Unnamed), self.inner)
                    && !self.signed
                    && self.open
                {
                    let proof = Opaque { kind: OpaqueKind::Signature, issuer: blocks::ISSUER, value };
                    out.delta(inner, 1, Part::Opaque(proof));
                }
            }
            BlockKind::ToolUse => {
                block.note_str("id", Field::Unnamed);
                block.note_str("name", Field::Unnamed);
                match (block.get("input"), self.inner) {
                    (Some(input), Some(call)) if self.said.is_empty() && self.open => {
                        out.delta(call, 0, Part::Args(Args::Json(input.take(Field::Unnamed))));
                    }
                    // The agent spells it anew; the deltas are what the model wrote.
                    (Some(input), _) => drop(input.note(Field::Unnamed)),
                    (None, _) => {}
                }
            }
        }
        if self.open {
            self.complete(status, out);
        }
    }

    fn catch_up(&mut self, whole: Option<Val<'_>>, out: &mut Sink<'_>) {
        let Some((val, text)) = whole.and_then(|val| Some((val, val.str()?))) else { return };
        let (said, text) = (std::mem::take(&mut self.said), text.decode());
        match text.strip_prefix(&*Str::escaped(&said).decode()) {
            Some("") => drop(val.take(Field::Unnamed)),
            Some(more) if self.open => {
                val.take(Field::Unnamed);
                self.grow(Str::plain(more), out);
            }
            // The whole text stays in the line.
            Some(_) | None => out.note("a whole block differs from its deltas"),
        }
    }

    fn complete(&mut self, status: Status, out: &mut Sink<'_>) {
        self.open = false;
        for id in [self.inner, Some(self.message)].into_iter().flatten() {
            out.event(&Event::ItemCompleted(ItemTail { id, status, native_status: None, is_error: None }));
        }
    }
}

/// An API failure ends as subtype `success` with `is_error`; limits of the agent have a subtype of their own.
fn failure(line: Val<'_>, subtype: &Str<'_>, result: Option<Str<'_>>, out: &mut Sink<'_>) {
    let first = line.get("errors").and_then(|errors| errors.elements().next());
    let message = first.and_then(|error| error.take_text(Field::Unnamed)).or(result);
    let status =
        line.note_u64("api_error_status", Field::Unnamed).and_then(|status| u16::try_from(status).ok());
    let code = line.note_str("api_error_type", Field::Unnamed).unwrap_or_else(|| subtype.clone());
    let (class, message) = (class(status), message.unwrap_or_else(|| subtype.clone()));
    out.event(&Event::Error(Failure { class, status, code: Some(code), message, request_id: None }));
}

/// A line that is not part of the conversation, with the one thing in it that people read.
fn notice<'t>(line: Val<'t>, kind: Option<Str<'t>>, out: &mut Sink<'_>) {
    let inner = line.get("request").or(line.get("event"));
    let subtype = match kind.as_ref().map(Str::as_escaped) {
        Some("system") => line.note_str("subtype", Field::Unnamed),
        Some("control_request") => inner.and_then(|request| request.note_str("subtype", Field::Unnamed)),
        Some("stream_event") => inner.and_then(|event| event.note_str("type", Field::Unnamed)),
        _ => None,
    };
    let event_type = subtype.or(kind);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = line.take_str("uuid", Field::Unnamed);
    head.parent = line
        .take_str("parent_tool_use_id", Field::Unnamed)
        .or_else(|| line.note_str("tool_use_id", Field::Unnamed));
    head.time = line.get("timestamp").and_then(|time| time.take_text(Field::Unnamed).map(|_| time.raw()));
    let item = out.start(head);
    let detail = ["message", "summary", "description", "title", "status", "error", "compact_result"];
    let count = || line.get("estimated_tokens").filter(|count| count.kind() == Kind::Number);
    if let Some(text) = detail.iter().find_map(|name| line.take_str(name, Field::Unnamed)) {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(count) = count() {
        count.take(Field::Unnamed);
        out.delta(item, 0, Part::Text(Str::escaped(count.text())));
    }
    out.complete(item);
}

fn class(status: Option<u16>) -> FailureClass {
    match status {
        Some(400 | 422) => FailureClass::InvalidRequest,
        Some(401) => FailureClass::Authentication,
        Some(402) => FailureClass::Billing,
        Some(403) => FailureClass::Permission,
        Some(404) => FailureClass::NotFound,
        Some(409) => FailureClass::Conflict,
        Some(413) => FailureClass::TooLarge,
        Some(429) => FailureClass::RateLimit,
        Some(529) => FailureClass::Overloaded,
        Some(408 | 504) => FailureClass::Timeout,
        Some(500..) => FailureClass::Server,
        Some(_) | None => FailureClass::Other,
    }
}
