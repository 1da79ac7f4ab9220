//! Requests, responses and streams to events. A whole response says the same events as its stream: both open their
//! blocks with [`blocks::open_block`] and begin and end their turn here.

use super::{ERRORS, TOO_LONG, blocks};
use crate::dialects::wire::note_blanks;
use crate::error::Code;
use crate::model::{
    Args, Author, CallKind, Event, Failure, FailureClass, Field, Format, ItemId, ItemKind, Opaque,
    OpaqueKind, Part, Request, Stop, Tool, ToolChoice, Turn, Usage,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Kind, Val};
use crate::text::Str;

pub(super) struct RequestReader;

impl Reader for RequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let root = doc.root;
        out.event(&Event::Request(Box::new(request(root))));
        if let Some(system) = root.get("system").filter(|system| !system.is_null()) {
            said(system, Author::System, out);
        }
        let Some(messages) = root.get("messages") else {
            return out.problem(Code::UnknownShape, None, "a request has `messages`");
        };
        for message in messages.elements() {
            let role = message.get("role").and_then(|role| role.str());
            let author = match role.as_ref().map(Str::as_escaped) {
                Some("user") => Author::User,
                Some("assistant") => Author::Assistant,
                Some("system") => Author::System,
                // A role we do not know stays where it is, with all it says.
                _ => continue,
            };
            message.note_str("role", Field::Unnamed);
            if let Some(content) = message.get("content") {
                said(content, author, out);
            }
        }
    }
}

fn said(content: Val<'_>, author: Author, out: &mut Sink<'_>) {
    let mut head = out.head(ItemKind::Message, author);
    head.shape = blocks::shape(Some(content));
    let item = out.start(head);
    blocks::read_content(content, item, out);
    out.complete(item);
}

fn request(root: Val<'_>) -> Request<'_> {
    note_blanks(root);
    let output = root.get("output_config");
    let effort = output.and_then(|output| output.take_str("effort", Field::Unnamed));
    let choice = root.get("tool_choice");
    Request {
        model: root.take_str("model", Field::Unnamed),
        max_tokens: root.take_raw("max_tokens", Field::Unnamed),
        // Gone from the current types, but older clients and models still use them.
        temperature: root.take_raw("temperature", Field::Unnamed),
        top_p: root.take_raw("top_p", Field::Unnamed),
        stop: texts(root.get("stop_sequences")),
        stream: root.take_bool("stream", Field::Unnamed),
        tools: root.get("tools").into_iter().flat_map(|tools| tools.elements()).filter_map(tool).collect(),
        parallel_calls: choice
            .and_then(|choice| choice.take_bool("disable_parallel_tool_use", Field::Unnamed))
            .map(|disabled| !disabled),
        tool_choice: choice.and_then(tool_choice),
        effort: effort.or_else(|| no_thinking(root)),
        format: output.and_then(|output| output.get("format")).and_then(|format| {
            format.get("type").filter(|kind| kind.is("json_schema"))?.note(Field::Unnamed);
            Some(Format::Schema {
                name: None,
                schema: format.take_raw("schema", Field::Unnamed)?,
                strict: None,
            })
        }),
        user: root.get("metadata").and_then(|metadata| metadata.take_str("user_id", Field::Unnamed)),
        service_tier: root.take_str("service_tier", Field::Unnamed),
    }
}

fn texts(list: Option<Val<'_>>) -> Vec<Str<'_>> {
    list.into_iter()
        .flat_map(|list| list.elements())
        .filter_map(|text| text.take_text(Field::Unnamed))
        .collect()
}

/// A tool the client runs. Server tools and trained tools mean nothing elsewhere and stay where they are.
fn tool(tool: Val<'_>) -> Option<Tool<'_>> {
    let kind = tool.get("type").filter(|kind| !kind.is_null());
    if kind.is_some_and(|kind| !kind.is("custom")) {
        return None;
    }
    if let Some(kind) = kind {
        kind.note(Field::Unnamed);
    }
    Some(Tool {
        kind: CallKind::Function,
        name: tool.take_str("name", Field::Unnamed)?,
        description: tool.take_str("description", Field::Unnamed),
        schema: tool.take_raw("input_schema", Field::Unnamed),
        strict: tool.take_bool("strict", Field::Unnamed),
    })
}

fn tool_choice(choice: Val<'_>) -> Option<ToolChoice<'_>> {
    let kind = choice.get("type")?;
    let parsed = match kind.str()?.as_escaped() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(choice.take_str("name", Field::Unnamed)?),
        _ => return None,
    };
    kind.note(Field::Unnamed);
    Some(parsed)
}

/// Thinking switched off is the lowest effort.
fn no_thinking(root: Val<'_>) -> Option<Str<'_>> {
    let kind = root.get("thinking")?.get("type").filter(|kind| kind.is("disabled"))?;
    kind.note(Field::Unnamed);
    Some(Str::escaped("none"))
}

pub(super) struct ResponseReader;

impl Reader for ResponseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let root = doc.root;
        if root.get("error").is_some() {
            return failure(root, out);
        }
        let Some(content) = root.get("content") else {
            return out.problem(Code::UnknownShape, None, "a response has `content` or `error`");
        };
        let message = begin(root, out);
        blocks::read_content(content, message, out);
        out.complete(message);
        let (usage, stop) = (usage(root), stop(root));
        out.event(&Event::TurnEnded(Turn { stop, usage, ..Turn::default() }));
    }
}

/// Begins the turn and its message; `message` is a whole one or that of `message_start`.
fn begin(message: Val<'_>, out: &mut Sink<'_>) -> ItemId {
    message.note_str("type", Field::Unnamed);
    message.note_str("role", Field::Unnamed);
    note_blanks(message);
    out.event(&Event::TurnStarted(Turn {
        id: message.take_str("id", Field::Unnamed),
        model: message.take_str("model", Field::Unnamed),
        usage: usage(message),
        ..Turn::default()
    }));
    let mut head = out.head(ItemKind::Message, Author::Assistant);
    head.shape = blocks::shape(message.get("content"));
    out.start(head)
}

fn usage(message: Val<'_>) -> Option<Usage> {
    message.get("usage").filter(|usage| usage.kind() == Kind::Object).map(blocks::read_usage)
}

/// Why it stopped; `place` is a whole message or the `delta` of `message_delta`.
fn stop(place: Val<'_>) -> Option<Stop<'_>> {
    let sequence = place.take_str("stop_sequence", Field::Unnamed);
    Some(blocks::stop(place.take_str("stop_reason", Field::Unnamed)?, sequence))
}

fn failure(root: Val<'_>, out: &mut Sink<'_>) {
    root.note_str("type", Field::Unnamed);
    note_blanks(root);
    let error = root.get("error");
    let word = error.and_then(|error| error.take_str("type", Field::Unnamed));
    let message = error.and_then(|error| error.take_str("message", Field::Unnamed)).unwrap_or_default();
    let known = ERRORS.iter().find(|(known, _)| word.as_ref().is_some_and(|word| word.is(known)));
    let class = match known.map(|(_, class)| *class) {
        Some(FailureClass::InvalidRequest) if message.decode().contains(TOO_LONG) => {
            FailureClass::ContextTooLong
        }
        Some(class) => class,
        None => FailureClass::Other,
    };
    out.event(&Event::Error(Failure {
        class,
        status: None,
        code: word,
        message,
        request_id: root.take_str("request_id", Field::Unnamed),
    }));
}

/// Reads a stream, event by event. Claude Code's live output carries the same events.
#[derive(Default)]
pub(crate) struct StreamReader {
    message: Option<ItemId>,
    /// Open blocks by index, with the item each is; the text of the message is none.
    open: Vec<(u64, Option<ItemId>)>,
    stop: Option<Stop<'static>>,
    usage: Option<Usage>,
}

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        self.event(doc.root, out);
    }
}

impl StreamReader {
    /// Reads one event.
    pub(crate) fn event(&mut self, event: Val<'_>, out: &mut Sink<'_>) {
        let kind = event.get("type").and_then(|kind| kind.str());
        match kind.as_ref().map_or("", Str::as_escaped) {
            "message_start" => {
                if let Some(message) = event.get("message") {
                    self.message = Some(begin(message, out));
                }
            }
            "content_block_start" => self.block_start(event, out),
            "content_block_delta" => self.block_delta(event, out),
            "content_block_stop" => {
                let Some(index) = event.note_u64("index", Field::Unnamed) else { return };
                let at = self.open.iter().position(|(open, _)| *open == index);
                if let Some((_, Some(item))) = at.map(|at| self.open.remove(at)) {
                    out.complete(item);
                }
            }
            "message_delta" => {
                if let Some(delta) = event.get("delta") {
                    note_blanks(delta);
                    self.stop = stop(delta).map(Stop::into_owned).or_else(|| self.stop.take());
                }
                // Counts are totals so far: the last ones stand.
                if let Some(later) = usage(event) {
                    self.usage.get_or_insert_default().overwrite(&later);
                }
            }
            "message_stop" => self.end(out),
            "error" => return failure(event, out),
            "ping" => {}
            // An event we do not know keeps its name; the report will show it.
            _ => return,
        }
        event.note_str("type", Field::Unnamed);
    }

    fn block_start(&mut self, event: Val<'_>, out: &mut Sink<'_>) {
        let (Some(message), Some(block)) = (self.message, event.get("content_block")) else { return };
        let Some(index) = event.note_u64("index", Field::Unnamed) else { return };
        note_blanks(block);
        let item = blocks::open_block(block, index as u32, message, out);
        self.open.push((index, item));
        let Some(item) = item else { return };
        if let Some(input) = block.get("input") {
            // Usually `{}`, and the arguments follow in pieces.
            if input.members().next().is_none() {
                input.note(Field::Unnamed);
            } else {
                out.delta(item, 0, Part::Args(Args::Json(input.take(Field::Unnamed))));
            }
        }
    }

    fn block_delta(&mut self, event: Val<'_>, out: &mut Sink<'_>) {
        let (Some(message), Some(delta)) = (self.message, event.get("delta")) else { return };
        let Some(index) = event.get("index").and_then(|index| index.u64()) else { return };
        let open = self.open.iter().find(|(open, _)| *open == index).and_then(|(_, item)| *item);
        let kind = delta.get("type").and_then(|kind| kind.str());
        let (item, part, value) = match (kind.as_ref().map_or("", Str::as_escaped), open) {
            ("text_delta", _) => {
                (message, index as u32, delta.take_str("text", Field::Unnamed).map(Part::Text))
            }
            ("citations_delta", _) => {
                (message, index as u32, delta.take_raw("citation", Field::Unnamed).map(Part::Citation))
            }
            ("thinking_delta", Some(item)) => {
                (item, 0, delta.take_str("thinking", Field::Unnamed).map(Part::Text))
            }
            ("signature_delta", Some(item)) => {
                let opaque = |value| Opaque { kind: OpaqueKind::Signature, issuer: blocks::ISSUER, value };
                (item, 1, delta.take_str("signature", Field::Unnamed).map(opaque).map(Part::Opaque))
            }
            ("input_json_delta", Some(item)) => (
                item,
                0,
                delta.take_str("partial_json", Field::Unnamed).map(|text| Part::Args(Args::Text(text))),
            ),
            // A delta we do not know, or of a block we do not know, stays where it is.
            _ => return,
        };
        let Some(value) = value else { return };
        delta.note_str("type", Field::Unnamed);
        event.note_u64("index", Field::Unnamed);
        out.piece(item, part, value);
    }

    fn end(&mut self, out: &mut Sink<'_>) {
        for (_, item) in self.open.drain(..) {
            if let Some(item) = item {
                out.complete(item);
            }
        }
        let Some(message) = self.message.take() else { return };
        out.complete(message);
        let (stop, usage) = (self.stop.take(), self.usage.take());
        out.event(&Event::TurnEnded(Turn { stop, usage, ..Turn::default() }));
    }
}
