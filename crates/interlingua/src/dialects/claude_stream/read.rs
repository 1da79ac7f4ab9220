//! Lines to events. A whole `assistant` or `user` line is one message, as in the log. With partial messages each
//! content block is one message too: `content_block_start` begins it, deltas grow it, and the whole line that follows
//! completes it without saying anything twice. Every line that is none of this is a notice, whatever its type.

use super::control::Requests;
use crate::dialects::anthropic::blocks;
use crate::dialects::wire::class_of_status;
use crate::model::{
    Args, Author, Event, Failure, FailureClass, Field, ItemId, ItemKind, ItemTail, Notice, Opaque,
    OpaqueKind, Part, Session, Status, Stop, StopClass, Turn,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Claim, Kind, Limits, TapeBuf, Val};
use crate::text::{Known, Raw, Str};

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
    /// The last text of the assistant, which the result repeats.
    last_text: String,
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
    signature: String,
    /// The call's id and name as the start of the block has them.
    call: [String; 2],
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

impl BlockKind {
    /// What its text is in the model.
    const fn field(self) -> Field {
        match self {
            Self::Text => Field::MessageText,
            Self::Thinking => Field::ReasoningText,
            Self::ToolUse => Field::CallArgs,
        }
    }
}

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let line = doc.root;
        self.session(line, out);
        let kind = line.note_str("type", Field::Structure);
        let understood = match kind.as_ref().map(Str::as_escaped) {
            Some("system") if line.get("subtype").is_some_and(|subtype| subtype.is("init")) => {
                line.note_str("subtype", Field::Structure);
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
        let told = |name, field| if init { line.note_str(name, field) } else { None };
        // What we write to stdin leaves it empty.
        let id = line.get("session_id").and_then(|id| match id.str()?.is_empty() {
            true => id.note_text(Field::Structure).filter(|_| false),
            false => id.note_text(Field::SessionId),
        });
        let title = if is_renaming(line) { line.note_str("title", Field::SessionTitle) } else { None };
        let session = Session {
            id: self.session.news(id),
            cwd: self.cwd.news(told("cwd", Field::SessionCwd)),
            cli_version: self.version.news(told("claude_code_version", Field::SessionVersion)),
            model: self.model.news(told("model", Field::SessionModel)),
            title: self.title.news(title),
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
        note_if(message, "type", "message");
        note_if(message, "role", if author == Author::User { "user" } else { "assistant" });
        let content = message.get("content");
        if author == Author::User {
            if self.is_echo(line, content) {
                return true;
            }
            self.requests.settle(line, content, out);
        } else {
            self.turn = Some(true);
            self.remember_text(content);
        }
        let id = message.get("id").and_then(|id| id.str());
        let mut item = None;
        let start = |out: &mut Sink<'_>| {
            let mut head = out.head(ItemKind::Message, author);
            head.native_id = line.take_str("uuid", Field::ItemId);
            head.parent = parent(line);
            head.time = line.get("timestamp").and_then(time);
            head.model = message.take_str("model", Field::ItemModel);
            head.shape = blocks::shape(content);
            out.start(head)
        };
        for (number, block) in content.into_iter().flat_map(|content| content.elements()).enumerate() {
            if let Some((under, known)) = self.streamed_before(id.as_ref(), block) {
                message.note_str("id", Field::Structure);
                repeat_parent(line, under);
                let aborted = known.open && line.take_bool("aborted", Field::ItemStatus) == Some(true);
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
            // The message has said its time and its model, if there was one to say them.
            let (model, when) = (message.get("model"), line.get("timestamp"));
            if item.is_none() {
                model.and_then(|model| model.note_text(Field::TurnModel));
                when.and_then(|when| when.note_text(Field::TurnTime));
            }
            let usage = Some(blocks::read_usage(usage));
            out.event(&Event::Usage(Turn {
                id: message.note_str("id", Field::TurnId),
                model: model.and_then(|model| model.str()),
                time: when.filter(|when| when.str().is_some()).map(|when| when.raw()),
                stop: stop(message),
                usage,
                cost: None,
            }));
        }
        true
    }

    /// Keeps the last text of the assistant, if the content has one.
    fn remember_text(&mut self, content: Option<Val<'_>>) {
        let blocks = content.into_iter().flat_map(|content| content.elements());
        let text = blocks.filter_map(|block| block.get("text")?.str()).last();
        if let Some(text) = text.or_else(|| content?.str()) {
            self.last_text.clear();
            self.last_text.push_str(text.as_escaped());
        }
    }

    /// Whether the line repeats a prompt that stands before it (`--replay-user-messages` in a two-way transcript).
    fn is_echo(&mut self, line: Val<'_>, content: Option<Val<'_>>) -> bool {
        let text = content.and_then(|content| match content.kind() {
            Kind::String => Some(content),
            _ => content.elements().next()?.get("text").filter(|text| text.str().is_some()),
        });
        let Some((place, text)) = text.and_then(|text| Some((text, text.str()?))) else { return false };
        if line.get("isReplay").and_then(|replay| replay.bool()) == Some(true) {
            let echo = self.prompt == text.as_escaped();
            self.prompt.clear();
            if echo {
                line.note_raw("isReplay", Field::Structure);
                place.note(Field::MessageText);
            }
            return echo;
        }
        self.prompt.clear();
        self.prompt.push_str(text.as_escaped());
        false
    }

    /// The streamed block that `block` of the message `id` repeats, and the call that its stream is under.
    fn streamed_before(&mut self, id: Option<&Str<'_>>, block: Val<'_>) -> Option<(&str, &mut Block)> {
        let (id, kind) = (id?, BlockKind::of(block)?);
        let stream = self.streams.iter_mut().find(|stream| stream.message == id.as_escaped())?;
        let block = stream.blocks.iter_mut().find(|known| known.kind == kind && !known.repeated)?;
        Some((&stream.parent, block))
    }

    /// One event of the Messages API as it came. Returns whether we know it.
    fn streamed(&mut self, line: Val<'_>, out: &mut Sink<'_>) -> bool {
        let Some(event) = line.get("event") else { return false };
        let Some(kind) = event.get("type").and_then(|kind| kind.str()) else { return false };
        let under = line.get("parent_tool_use_id").and_then(|parent| parent.str()).unwrap_or_default();
        let known = match kind.as_escaped() {
            "message_start" => self.stream_start(line, event, &under, out),
            "content_block_start" => self.block_start(line, event, &under, out),
            "content_block_delta" => self.block_delta(line, event, &under, out),
            // The whole line comes just before it.
            "content_block_stop" => event.get("index").is_some_and(|index| index.u64().is_some()),
            "message_delta" => self.stream_usage(line, event, &under, out),
            "message_stop" => {
                let abandoned = line.get("abandoned_blocks").is_some();
                self.close(&under, if abandoned { Status::Interrupted } else { Status::Completed }, out);
                true
            }
            "ping" => true,
            _ => false,
        };
        if known {
            event.note_str("type", Field::Structure);
        }
        known
    }

    fn stream(&mut self, parent: &Str<'_>) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.parent == parent.as_escaped())
    }

    fn stream_start(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let Some(message) = event.get("message") else { return false };
        self.begin_turn(out);
        self.close(under, Status::Interrupted, out);
        self.streams.retain(|stream| stream.parent != under.as_escaped());
        repeat_parent(line, under.as_escaped());
        let (id, model) =
            (message.note_str("id", Field::TurnId), message.note_str("model", Field::TurnModel));
        note_if(message, "role", "assistant");
        note_if(message, "type", "message");
        self.streams.push(Stream {
            parent: under.as_escaped().to_owned(),
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

    fn block_start(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let (Some(place), Some(block)) = (event.get("index"), event.get("content_block")) else {
            return false;
        };
        let Some(index) = place.u64() else { return false };
        let Some(kind) = BlockKind::of(block) else { return true };
        self.turn = Some(true);
        let Some(stream) = self.stream(under) else { return false };
        place.note(Field::Structure);
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        head.native_id = line.take_str("uuid", Field::ItemId);
        head.parent = parent(line);
        head.model.clone_from(&stream.model);
        let message = out.start(head);
        let native_kind = block.word("type");
        let is_function = matches!(native_kind, "text" | "thinking" | "tool_use");
        block.note_str("type", if is_function { Field::Structure } else { Field::CallKind });
        let mut call = [String::new(), String::new()];
        let inner = match kind {
            BlockKind::Text => None,
            BlockKind::Thinking => Some(ItemKind::Reasoning),
            BlockKind::ToolUse => {
                call = ["id", "name"].map(|name| block.word(name).to_owned());
                Some(ItemKind::ToolCall(blocks::call(block, native_kind)))
            }
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
            signature: String::new(),
            call,
            message,
            inner,
            open: true,
            repeated: false,
        };
        // The first piece may come with the start; usually it is empty. The empty `input` and `signature` say nothing,
        // and what is in them otherwise stands in the whole line.
        for val in ["text", "thinking"].into_iter().filter_map(|name| block.get(name)) {
            match val.str() {
                Some(text) if text.is_empty() => drop(val.note(Field::Structure)),
                Some(text) => {
                    val.take(kind.field());
                    known.grow(text, out);
                }
                None => {}
            }
        }
        for val in ["input", "signature"].into_iter().filter_map(|name| block.get(name)) {
            if matches!(val.text(), "{}" | "\"\"") {
                val.note(Field::Structure);
            }
        }
        stream.blocks.push(known);
        true
    }

    fn block_delta(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let (Some(place), Some(delta)) = (event.get("index"), event.get("delta")) else { return false };
        let (Some(index), Some(stream)) = (place.u64(), self.stream(under)) else { return false };
        let block = stream.blocks.iter_mut().find(|block| block.index == index && block.open);
        let Some(block) = block else { return false };
        let pieces = [
            ("text", "text_delta"),
            ("thinking", "thinking_delta"),
            ("partial_json", "input_json_delta"),
            ("signature", "signature_delta"),
        ];
        let piece = pieces.into_iter().find_map(|(name, tag)| Some((name, tag, delta.get(name)?.str()?)));
        let Some((name, tag, text)) = piece else { return false };
        match (name, block.inner) {
            ("signature", Some(inner)) => {
                delta.take_str(name, Field::Signature);
                block.signature.push_str(text.as_escaped());
                let proof = Opaque { kind: OpaqueKind::Signature, issuer: blocks::ISSUER, value: text };
                out.piece(inner, 1, Part::Opaque(proof));
            }
            ("signature", None) => return false,
            _ => {
                delta.take_str(name, block.kind.field());
                block.grow(text, out);
            }
        }
        place.note(Field::Structure);
        repeat_parent(line, under.as_escaped());
        note_if(delta, "type", tag);
        true
    }

    fn stream_usage(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Sink<'_>) -> bool {
        let (Some(delta), Some(usage)) = (event.get("delta"), event.get("usage")) else { return false };
        let Some(stream) = self.stream(under) else { return false };
        repeat_parent(line, under.as_escaped());
        out.event(&Event::Usage(Turn {
            id: Some(Str::escaped(&stream.message)),
            model: stream.model.clone(),
            stop: stop(delta),
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
        let result = line.get("result").filter(|result| result.str().is_some());
        let text = result.and_then(|result| result.str());
        // `--output-format json` is the result alone: only there has the text not been said.
        if let (Some(false), Some(result), Some(text)) = (self.turn, result, &text)
            && !text.is_empty()
        {
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            head.native_id = line.take_str("uuid", Field::ItemId);
            let item = out.start(head);
            result.note(Field::MessageText);
            out.delta(item, 0, Part::Text(text.reborrow()));
            out.complete(item);
        } else if let (Some(result), Some(text)) = (result, &text)
            && text.as_escaped() == self.last_text
        {
            result.note(Field::MessageText);
        }
        let stop = ended(line, result, out);
        out.event(&Event::TurnEnded(Turn {
            stop: Some(stop),
            usage: line.get("usage").filter(|usage| usage.kind() == Kind::Object).map(blocks::read_usage),
            cost: line
                .get("total_cost_usd")
                .filter(|cost| cost.kind() == Kind::Number)
                .map(|cost| cost.take(Field::Cost)),
            ..Turn::default()
        }));
        self.turn = None;
        self.last_text.clear();
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

    /// The whole block: says what the deltas have left out, then ends the item. What it repeats is claimed where it is
    /// the same; what differs stays in the line.
    fn repeat(&mut self, block: Val<'_>, status: Status, out: &mut Sink<'_>) {
        self.repeated = true;
        block.note_str("type", Field::Structure);
        match self.kind {
            BlockKind::Text => self.catch_up(block.get("text"), out),
            BlockKind::Thinking => {
                self.catch_up(block.get("thinking"), out);
                let signature = block.get("signature").and_then(|val| Some((val, val.str()?)));
                if let (Some((val, value)), Some(inner)) = (signature, self.inner) {
                    let says_more = self.signature.is_empty() && self.open;
                    if says_more || value.as_escaped() == self.signature {
                        val.take(Field::Signature);
                    }
                    if says_more {
                        let proof = Opaque { kind: OpaqueKind::Signature, issuer: blocks::ISSUER, value };
                        out.delta(inner, 1, Part::Opaque(proof));
                    }
                }
            }
            BlockKind::ToolUse => {
                for ((name, field), known) in
                    [("id", Field::CallId), ("name", Field::CallName)].into_iter().zip(&self.call)
                {
                    if block.get(name).and_then(|val| val.str()).is_some_and(|val| val.as_escaped() == known)
                    {
                        block.note_str(name, field);
                    }
                }
                match (block.get("input"), self.inner) {
                    (Some(input), Some(call)) if self.said.is_empty() && self.open => {
                        out.delta(call, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
                    }
                    // The agent spells it anew; the deltas are what the model wrote.
                    (Some(input), _) if same_value(input, &Str::escaped(&self.said)) => {
                        input.note(Field::CallArgs);
                    }
                    (Some(_) | None, _) => {}
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
            Some("") => drop(val.take(self.kind.field())),
            Some(more) if self.open => {
                val.take(self.kind.field());
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

/// Why the turn ended, from its result; a failure is said too.
fn ended<'t>(line: Val<'t>, result: Option<Val<'t>>, out: &mut Sink<'_>) -> Stop<'t> {
    let subtype = line.get("subtype").filter(|subtype| subtype.str().is_some());
    let flag = line.get("is_error").filter(|flag| flag.bool().is_some());
    let terminal = line.get("terminal_reason").filter(|reason| reason.str().is_some());
    if terminal.is_some_and(|reason| reason.text().starts_with("\"aborted")) {
        let raw = terminal.and_then(|reason| reason.note_text(Field::StopReason));
        return Stop { class: StopClass::Cancelled, raw, sequence: None };
    }
    let own_failure = subtype.is_some_and(|subtype| subtype.text().starts_with("\"error"));
    if !own_failure {
        // Only here does the flag decide anything.
        flag.map(|flag| flag.note(Field::StopReason));
    }
    if own_failure || flag.and_then(|flag| flag.bool()) == Some(true) {
        failure(line, subtype, result, out);
        // The subtype is the code of the failure, if nothing else is.
        let raw = terminal
            .and_then(|reason| reason.note_text(Field::StopReason))
            .or_else(|| subtype.and_then(|subtype| subtype.str()));
        return Stop { class: StopClass::Error, raw, sequence: None };
    }
    note_if(line, "subtype", "success");
    let reason = line.get("stop_reason");
    if let Some(raw) = reason.and_then(|reason| reason.note_text(Field::StopReason)) {
        return blocks::stop(raw, None);
    }
    reason.filter(|reason| reason.is_null()).map(|reason| reason.note(Field::Structure));
    let raw = terminal.and_then(|reason| reason.note_text(Field::StopReason));
    Stop { class: StopClass::End, raw, sequence: None }
}

/// An API failure ends as subtype `success` with `is_error`; limits of the agent have a subtype of their own.
fn failure(line: Val<'_>, subtype: Option<Val<'_>>, result: Option<Val<'_>>, out: &mut Sink<'_>) {
    let first = line.get("errors").and_then(|errors| errors.elements().next());
    let message = first.and_then(|error| error.take_text(Field::ErrorMessage));
    let message = message.or_else(|| match result?.claimed() {
        Claim::Free => result?.note_text(Field::ErrorMessage),
        Claim::Taken(_) | Claim::Noted(_) | Claim::Placed => result?.str(),
    });
    let status = line.get("api_error_status").and_then(|status| {
        let number = u16::try_from(status.u64()?).ok()?;
        status.note(Field::ErrorStatus);
        Some(number)
    });
    let code = line
        .note_str("api_error_type", Field::ErrorCode)
        .or_else(|| subtype.and_then(|subtype| subtype.note_text(Field::ErrorCode)));
    let class = status.map_or(FailureClass::Other, class_of_status);
    let message = message.or_else(|| subtype.and_then(|subtype| subtype.str())).unwrap_or_default();
    out.event(&Event::Error(Failure { class, status, code, message, request_id: None }));
}

/// A line that is not part of the conversation, with the one thing in it that people read.
fn notice<'t>(line: Val<'t>, kind: Option<Str<'t>>, out: &mut Sink<'_>) {
    let inner = line.get("request").or(line.get("event"));
    let subtype = match kind.as_ref().map(Str::as_escaped) {
        Some("system") => line.note_str("subtype", Field::NoticeType),
        Some("control_request") => inner.and_then(|request| request.note_str("subtype", Field::NoticeType)),
        Some("stream_event") => inner.and_then(|event| event.note_str("type", Field::NoticeType)),
        _ => None,
    };
    let event_type = subtype.or_else(|| line.note_str("type", Field::NoticeType));
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = line.take_str("uuid", Field::ItemId);
    head.parent = parent(line).or_else(|| line.note_str("tool_use_id", Field::ItemParent));
    head.time = line.get("timestamp").and_then(time);
    let item = out.start(head);
    let detail = ["message", "summary", "description", "title", "status", "error", "compact_result"];
    // A new title has been said of the session.
    let detail = detail.into_iter().filter(|name| *name != "title" || !is_renaming(line));
    let count = || line.get("estimated_tokens").filter(|count| count.kind() == Kind::Number);
    if let Some(text) = detail.into_iter().find_map(|name| line.take_str(name, Field::NoticeText)) {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(count) = count() {
        count.take(Field::NoticeText);
        out.delta(item, 0, Part::Text(Str::escaped(count.text())));
    }
    out.complete(item);
}

fn is_renaming(line: Val<'_>) -> bool {
    line.get("subtype").is_some_and(|subtype| subtype.is("session_title_changed"))
}

/// Notes a tag that is as expected; any other says something that we do not know.
fn note_if(object: Val<'_>, name: &str, word: &str) {
    if object.get(name).is_some_and(|tag| tag.is(word)) {
        object.note_str(name, Field::Structure);
    }
}

/// The call that started the subagent which speaks in this line.
fn parent<'t>(line: Val<'t>) -> Option<Str<'t>> {
    let parent = line.get("parent_tool_use_id")?;
    if parent.is_null() {
        parent.note(Field::Structure);
    }
    parent.take_text(Field::ItemParent)
}

/// Notes a parent that is the one of the stream the line belongs to.
fn repeat_parent(line: Val<'_>, under: &str) {
    let Some(parent) = line.get("parent_tool_use_id") else { return };
    if parent.is_null() && under.is_empty() {
        parent.note(Field::Structure);
    } else if parent.str().is_some_and(|parent| parent.as_escaped() == under) {
        parent.note(Field::ItemParent);
    }
}

fn time(time: Val<'_>) -> Option<Raw<'_>> {
    time.take_text(Field::ItemTime).map(|_| time.raw())
}

/// Why a response stopped, if it says so.
fn stop<'t>(message: Val<'t>) -> Option<Stop<'t>> {
    let [reason, sequence] = message.get_all(["stop_reason", "stop_sequence"]);
    let blank = |val: &Val<'_>| val.is_null();
    reason.filter(blank).map(|reason| reason.note(Field::Structure));
    let raw = reason?.note_text(Field::StopReason)?;
    sequence.filter(blank).map(|sequence| sequence.note(Field::Structure));
    Some(blocks::stop(raw, sequence.and_then(|sequence| sequence.note_text(Field::StopSequence))))
}

/// Whether the JSON in `text` has the same value, however it is spelled.
fn same_value(val: Val<'_>, text: &Str<'_>) -> bool {
    let text = text.decode();
    let mut buf = TapeBuf::default();
    buf.parse(&text, &Limits::default()).is_ok_and(|tape| equal(val, tape.root()))
}

fn equal(one: Val<'_>, two: Val<'_>) -> bool {
    if one.kind() != two.kind() {
        return false;
    }
    match one.kind() {
        Kind::Null => true,
        Kind::Bool | Kind::Number | Kind::Key => one.text() == two.text(),
        Kind::String => one.str().zip(two.str()).is_some_and(|(one, two)| one.decode() == two.decode()),
        Kind::Array => {
            one.elements().count() == two.elements().count()
                && one.elements().zip(two.elements()).all(|(one, two)| equal(one, two))
        }
        Kind::Object => {
            one.members().count() == two.members().count()
                && one
                    .members()
                    .zip(two.members())
                    .all(|((name, one), (other, two))| name.decode() == other.decode() && equal(one, two))
        }
    }
}
