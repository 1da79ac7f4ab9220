//! Lines to events. A whole `assistant` or `user` line is one message, as in the log. With partial messages each
//! content block is one message too: `content_block_start` begins it, deltas grow it, and the whole line that follows
//! completes it without saying anything twice. Every line that is none of this is a notice, whatever its type.

use super::block::{Block, BlockKind};
use super::control::Requests;
use super::line::{ended, is_renaming, note_if, notice, parent, repeat_parent, stop, time};
use crate::dialects::anthropic::blocks;
use crate::json::{Latest, Str};
use crate::model::{
    Author, Event, Field, ItemKind, Opaque, OpaqueKind, Part, Session, Status, Turn, issuers,
};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Kind, Val};

#[derive(Default)]
pub(super) struct StreamReader {
    started: bool,
    session: Latest,
    cwd: Latest,
    version: Latest,
    model: Latest,
    title: Latest,
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

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
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
            notice(line, out);
        }
    }
}

impl StreamReader {
    /// What lines repeat about the session, said once and whenever it changes.
    fn session(&mut self, line: Val<'_>, out: &mut Events<'_>) {
        let init = line.get("subtype").is_some_and(|subtype| subtype.is("init"));
        let told = |name, field| if init { line.note_str(name, field) } else { None };
        let id = line.get("session_id").and_then(|id| {
            // What we write to stdin leaves it empty.
            let field = if id.is("") { Field::Structure } else { Field::SessionId };
            id.note_text(field).filter(|id| !id.is_empty())
        });
        let title = if is_renaming(line) { line.note_str("title", Field::SessionTitle) } else { None };
        let session = Session {
            id: self.session.changed(id),
            cwd: self.cwd.changed(told("cwd", Field::SessionCwd)),
            cli_version: self.version.changed(told("claude_code_version", Field::SessionVersion)),
            model: self.model.changed(told("model", Field::SessionModel)),
            title: self.title.changed(title),
            ..Session::default()
        };
        if session == Session::default() {
            return;
        }
        if std::mem::replace(&mut self.started, true) {
            out.event(&Event::SessionUpdated(session));
        } else {
            out.event(&Event::SessionStarted(Session {
                agent: Some(Str::escaped("claude-code")),
                provider: Some(Str::escaped("anthropic")),
                ..session
            }));
        }
    }

    fn begin_turn(&mut self, out: &mut Events<'_>) {
        if self.turn.is_none() {
            self.turn = Some(false);
            out.event(&Event::TurnStarted(Turn::default()));
        }
    }

    /// A whole message: what was streamed before is only completed.
    fn said(&mut self, line: Val<'_>, author: Author, out: &mut Events<'_>) -> bool {
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
        let start = |out: &mut Events<'_>| {
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
                ..Turn::default()
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
    fn streamed(&mut self, line: Val<'_>, out: &mut Events<'_>) -> bool {
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

    fn stream_start(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Events<'_>) -> bool {
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

    fn block_start(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Events<'_>) -> bool {
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
        let native_kind = block.str_or_empty("type");
        let is_function = matches!(native_kind, "text" | "thinking" | "tool_use");
        block.note_str("type", if is_function { Field::Structure } else { Field::CallKind });
        let mut call = [String::new(), String::new()];
        let inner = match kind {
            BlockKind::Text => None,
            BlockKind::Thinking => Some(ItemKind::Reasoning),
            BlockKind::ToolUse => {
                call = ["id", "name"].map(|name| block.str_or_empty(name).to_owned());
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

    fn block_delta(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Events<'_>) -> bool {
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
                let proof = Opaque {
                    kind: OpaqueKind::Signature,
                    issuer: Str::escaped(issuers::ANTHROPIC),
                    value: text,
                };
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

    fn stream_usage(&mut self, line: Val<'_>, event: Val<'_>, under: &Str<'_>, out: &mut Events<'_>) -> bool {
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
    fn close(&mut self, parent: &Str<'_>, status: Status, out: &mut Events<'_>) {
        let Some(stream) = self.stream(parent) else { return };
        for block in stream.blocks.iter_mut().filter(|block| block.open) {
            block.complete(status, out);
        }
    }

    fn result(&mut self, line: Val<'_>, out: &mut Events<'_>) {
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
            // Of a failure it is the message.
            && line.get("is_error").and_then(|failed| failed.bool()) != Some(true)
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
