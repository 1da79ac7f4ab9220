//! Requests, responses and streams to events. A `message` and a `delta` are read by the same code ([`Said`]): a whole
//! response is a stream of one chunk, and an assistant's message in a request is the same once more.

use super::{ERROR_MARK, ERRORS, MORE_ERRORS, OK_MARK};
use crate::dialects::anthropic::blocks::ISSUER as ANTHROPIC;
use crate::dialects::wire::{is_blank, note_blanks};
use crate::error::Code;
use crate::model::{
    Args, Author, CallKind, Event, Failure, FailureClass, Format, ItemId, ItemKind, ItemTail, Media,
    MediaSource, Opaque, OpaqueKind, Part, Request, Shape, Status, Stop, StopClass, Tool, ToolCall,
    ToolChoice, ToolResult, Turn, Usage,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Claim, Kind, Val};
use crate::text::Str;

pub(super) struct RequestReader;

impl Reader for RequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let root = doc.root;
        out.event(&Event::Request(Box::new(request(root))));
        let Some(messages) = root.get("messages") else {
            return out.problem(Code::UnknownShape, None, "a request has `messages`");
        };
        for message in messages.elements() {
            let role = message.get("role").and_then(|role| role.str());
            let author = match role.as_ref().map(Str::as_escaped) {
                Some("system") => Author::System,
                Some("developer") => Author::Developer,
                Some("user") => Author::User,
                Some("assistant") => Author::Assistant,
                Some("tool") => Author::Tool,
                // `function` is the way of 2023, without ids; it stays where it is, and so does the unknown.
                _ => continue,
            };
            if author == Author::Tool {
                message.note_str("role");
                note_blanks(message);
                tool_result(message, out);
                continue;
            }
            let mut head = out.head(ItemKind::Message, author);
            head.shape = shape(message.get("content"));
            let item = out.start(head);
            let mut said = Said { message: Some(item), whole: true, ..Said::default() };
            said.say(message, out);
            said.end(Status::Completed, out);
        }
    }
}

fn request(root: Val<'_>) -> Request<'_> {
    note_blanks(root);
    if let Some(options) = root.get("stream_options")
        && let Some(usage) = options.get("include_usage")
    {
        usage.note();
    }
    let stop = root.get("stop");
    let stops = stop.into_iter().flat_map(|stop| stop.elements());
    Request {
        model: root.take_str("model"),
        max_tokens: root.take_raw("max_completion_tokens").or_else(|| root.take_raw("max_tokens")),
        temperature: root.take_raw("temperature"),
        top_p: root.take_raw("top_p"),
        stop: stop
            .and_then(|stop| stop.take_text())
            .into_iter()
            .chain(stops.filter_map(|s| s.take_text()))
            .collect(),
        stream: root.take_bool("stream"),
        tools: root.get("tools").into_iter().flat_map(|tools| tools.elements()).filter_map(tool).collect(),
        tool_choice: root.get("tool_choice").and_then(tool_choice),
        parallel_calls: root.take_bool("parallel_tool_calls"),
        effort: root.take_str("reasoning_effort"),
        format: root.get("response_format").and_then(format),
        user: root.take_str("user").or_else(|| root.take_str("safety_identifier")),
        service_tier: root.take_str("service_tier"),
    }
}

/// A tool without `type` is a function.
fn tool(tool: Val<'_>) -> Option<Tool<'_>> {
    let (kind, inner) = match (tool.get("function"), tool.get("custom")) {
        (Some(function), _) => (CallKind::Function, function),
        (None, Some(custom)) => (CallKind::FreeText, custom),
        (None, None) => return None,
    };
    tool.note_str("type");
    note_blanks(inner);
    Some(Tool {
        kind,
        name: inner.take_str("name")?,
        description: inner.take_str("description"),
        schema: inner.take_raw("parameters"),
        strict: inner.take_bool("strict"),
    })
}

fn tool_choice(choice: Val<'_>) -> Option<ToolChoice<'_>> {
    if let Some(word) = choice.str() {
        let parsed = match word.as_escaped() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            _ => return None,
        };
        choice.note();
        return Some(parsed);
    }
    let inner = choice.get("function").or_else(|| choice.get("custom"))?;
    choice.note_str("type");
    Some(ToolChoice::Named(inner.take_str("name")?))
}

fn format(format: Val<'_>) -> Option<Format<'_>> {
    let kind = format.get("type")?;
    let parsed = match kind.str()?.as_escaped() {
        "text" => Format::Text,
        "json_object" => Format::JsonObject,
        "json_schema" => {
            let schema = format.get("json_schema")?;
            note_blanks(schema);
            Format::Schema {
                name: schema.take_str("name"),
                schema: schema.take_raw("schema")?,
                strict: schema.take_bool("strict"),
            }
        }
        _ => return None,
    };
    kind.note();
    Some(parsed)
}

fn tool_result(message: Val<'_>, out: &mut Sink<'_>) {
    let content = message.get("content");
    let call_id = message.take_str("tool_call_id");
    let result = ToolResult { call_id, name: message.take_str("name") };
    let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
    head.shape = shape(content);
    let id = out.start(head);
    let mut is_error = None;
    if let Some(content) = content {
        read_content(content, out, &mut |number, part, out| match part {
            Part::Text(text) if number == 0 => {
                let escaped = text.as_escaped();
                let rest = escaped.strip_prefix(ERROR_MARK);
                is_error = rest.map(|_| true);
                let rest = rest.or_else(|| escaped.strip_prefix(OK_MARK)).unwrap_or(escaped);
                out.delta(id, number, Part::Text(Str::escaped(rest)));
            }
            part => out.delta(id, number, part),
        });
    }
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail { id, status, native_status: None, is_error }));
}

fn shape(content: Option<Val<'_>>) -> Shape {
    match content {
        Some(list) if list.elements().count() > 1 => Shape::List,
        _ => Shape::One,
    }
}

/// Reads a string or a list of parts. A part we do not know stays where it is.
fn read_content(content: Val<'_>, out: &mut Sink<'_>, each: &mut dyn FnMut(u32, Part<'_>, &mut Sink<'_>)) {
    if let Some(text) = content.take_text() {
        each(0, Part::Text(text), out);
    }
    for (number, part) in content.elements().enumerate() {
        let Some(kind) = part.get("type").and_then(|kind| kind.str()) else { continue };
        let value = match kind.as_escaped() {
            "text" => part.take_str("text").map(Part::Text),
            "refusal" => part.take_str("refusal").map(Part::Refusal),
            "image_url" => part.get("image_url").and_then(|image| image.get("url")).and_then(|url| {
                let media = data_url(url).unwrap_or(Media {
                    media_type: None,
                    source: MediaSource::Url(url.str()?),
                    name: None,
                });
                url.take();
                Some(Part::Media(media))
            }),
            "input_audio" => part.get("input_audio").and_then(|audio| {
                let media_type = match audio.note_str("format")?.as_escaped() {
                    "wav" => Str::escaped("audio/wav"),
                    "mp3" => Str::escaped("audio/mpeg"),
                    _ => return None,
                };
                let source = MediaSource::Base64(audio.take_str("data")?);
                Some(Part::Media(Media { media_type: Some(media_type), source, name: None }))
            }),
            "file" => part.get("file").and_then(file).map(Part::Media),
            _ => None,
        };
        if let Some(value) = value {
            part.note_str("type");
            each(number as u32, value, out);
        }
    }
}

fn file(file: Val<'_>) -> Option<Media<'_>> {
    let mut media = if let Some(data) = file.get("file_data") {
        data_url(data).inspect(|_| _ = data.take())?
    } else {
        let source = MediaSource::File(file.take_str("file_id")?);
        Media { media_type: None, source, name: None }
    };
    media.name = file.take_str("filename");
    Some(media)
}

/// `data:image/png;base64,…`, cut where it stands.
fn data_url(val: Val<'_>) -> Option<Media<'_>> {
    let text = val.str().map(|_| val.text())?;
    let inner = text.get(1..text.len() - 1)?.strip_prefix("data:")?;
    let (media_type, data) = inner.split_once(";base64,")?;
    Some(Media {
        media_type: Some(Str::escaped(media_type)),
        source: MediaSource::Base64(Str::escaped(data)),
        name: None,
    })
}

/// One message as it comes, whole or in pieces.
#[derive(Default)]
struct Said {
    message: Option<ItemId>,
    /// There are no fragments: each entry is a call.
    whole: bool,
    thought: Option<Thought>,
    calls: Vec<Call>,
    refused: bool,
}

/// The reasoning that is open.
struct Thought {
    item: ItemId,
    /// What it said so far, escaped.
    text: String,
    /// The number of its entry in `reasoning_details`.
    entry: Option<u64>,
    signed: bool,
}

struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    kind: CallKind,
    /// `None` until id and name are known; then `arguments` is empty.
    item: Option<ItemId>,
    arguments: String,
    ended: bool,
}

/// The part a refusal is: no list of content parts gets that long.
const REFUSAL: u32 = u32::MAX;

impl Said {
    /// Reads a `message` or a `delta`: one pass to see what it has, then reasoning, content and calls in this order.
    fn say(&mut self, delta: Val<'_>, out: &mut Sink<'_>) {
        let Some(message) = self.message else { return };
        let (mut shown, mut entries, mut content, mut refusal, mut calls) = (None, None, None, None, None);
        for (name, value) in delta.members() {
            match name.as_escaped() {
                _ if is_blank(value) => _ = value.note(),
                "role" => _ = value.note(),
                "content" => content = Some(value),
                "refusal" => refusal = Some(value),
                "tool_calls" => calls = Some(value),
                "reasoning_details" => entries = Some(value),
                // Vendors' places for the text of reasoning; the API itself has none. Some say it under two names.
                "reasoning_content" | "reasoning" | "reasoning_text"
                    if value.kind() == Kind::String
                        && shown.is_none_or(|shown: Val<'_>| shown.text() == value.text()) =>
                {
                    value.claim(Claim::Taken);
                    shown = Some(value);
                }
                // Anything else stays where it is.
                _ => {}
            }
        }
        if shown.is_some() || entries.is_some() {
            self.reason(shown, entries, message, out);
        }
        if let Some(content) = content {
            read_content(content, out, &mut |number, part, out| match part {
                Part::Text(text) if text.is_empty() => {}
                part => {
                    self.end_thought(out);
                    self.refused |= matches!(part, Part::Refusal(_));
                    out.delta(message, number, part);
                }
            });
        }
        if let Some(text) = refusal.and_then(|refusal| refusal.take_text()).filter(|text| !text.is_empty()) {
            self.end_thought(out);
            self.refused = true;
            out.delta(message, REFUSAL, Part::Refusal(text));
        }
        for entry in calls.into_iter().flat_map(|calls| calls.elements()) {
            self.call(entry, message, out);
        }
    }

    fn reason(
        &mut self,
        shown: Option<Val<'_>>,
        entries: Option<Val<'_>>,
        message: ItemId,
        out: &mut Sink<'_>,
    ) {
        let mut shown = shown.map_or("", |shown| &shown.text()[1..shown.text().len() - 1]);
        // Texts that the entries repeat are theirs: they know which signature belongs to which.
        let mut told = String::new();
        for text in entries.into_iter().flat_map(|list| list.elements()).filter_map(|entry| entry.get("text"))
        {
            told.push_str(text.str().unwrap_or_default().as_escaped());
        }
        shown = shown.strip_suffix(&told).unwrap_or(shown);
        if !shown.is_empty() {
            self.think(shown, |thought| !thought.signed, None, message, out);
        }
        for entry in entries.into_iter().flat_map(|entries| entries.elements()) {
            self.entry(entry, message, out);
        }
    }

    /// An entry of `reasoning_details`.
    fn entry(&mut self, entry: Val<'_>, message: ItemId, out: &mut Sink<'_>) {
        let index = entry.get("index").and_then(|index| index.u64());
        let Some(kind) = entry.get("type").and_then(|kind| kind.str()) else { return };
        note_blanks(entry);
        match kind.as_escaped() {
            "reasoning.text" => {
                let text = entry.take_str("text").filter(|text| !text.is_empty());
                if let Some(text) = text {
                    let text = text.as_escaped();
                    let known = self.thought.as_ref().is_some_and(|thought| thought.text == text);
                    if !known {
                        let joins = |thought: &Thought| {
                            !thought.signed
                                && (thought.text.is_empty() || thought.entry == index && index.is_some())
                        };
                        self.think(text, joins, index, message, out);
                    }
                }
                if let Some(value) = entry.take_str("signature").filter(|value| !value.is_empty()) {
                    let thought =
                        self.thought(|thought| !thought.signed || thought.entry == index, message, out);
                    (thought.signed, thought.entry) = (true, index);
                    let opaque = Opaque { kind: OpaqueKind::Signature, issuer: issuer(entry), value };
                    out.delta(thought.item, 1, Part::Opaque(opaque));
                }
            }
            "reasoning.encrypted" => {
                let Some(value) = entry.take_str("data") else { return };
                let item = self.thought(|_| false, message, out).item;
                let opaque = Opaque { kind: OpaqueKind::Encrypted, issuer: issuer(entry), value };
                out.delta(item, 1, Part::Opaque(opaque));
                self.end_thought(out);
            }
            // A summary, or a kind to come: what it shows also stands in the text beside it.
            _ => return,
        }
        entry.note_str("type");
        entry.note_u64("index");
    }

    fn think(
        &mut self,
        text: &str,
        joins: impl Fn(&Thought) -> bool,
        entry: Option<u64>,
        message: ItemId,
        out: &mut Sink<'_>,
    ) {
        let thought = self.thought(joins, message, out);
        thought.text.push_str(text);
        thought.entry = entry.or(thought.entry);
        out.delta(thought.item, 0, Part::Text(Str::escaped(text)));
    }

    /// The open thought if it `joins`, else a new one.
    fn thought(
        &mut self,
        joins: impl Fn(&Thought) -> bool,
        message: ItemId,
        out: &mut Sink<'_>,
    ) -> &mut Thought {
        if !self.thought.as_ref().is_some_and(joins) {
            self.end_thought(out);
        }
        self.thought.get_or_insert_with(|| {
            let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
            head.within = Some(message);
            Thought { item: out.start(head), text: String::new(), entry: None, signed: false }
        })
    }

    fn end_thought(&mut self, out: &mut Sink<'_>) {
        if let Some(thought) = self.thought.take() {
            out.complete(thought.item);
        }
    }

    /// A call or a fragment of one. Fragments belong together by `index`; servers that leave it out, give every call
    /// the same one, or send id and name late are understood too.
    fn call(&mut self, entry: Val<'_>, message: ItemId, out: &mut Sink<'_>) {
        self.end_thought(out);
        note_blanks(entry);
        let index = entry.note_u64("index");
        let id = entry.take_str("id").filter(|id| !id.is_empty());
        let same_id = |call: &Call| id.as_ref().is_some_and(|id| call.id == id.as_escaped());
        let known = match index {
            _ if self.whole => None,
            Some(_) => self.calls.iter().rposition(|call| {
                call.index == index && (id.is_none() || call.id.is_empty() || same_id(call))
            }),
            None if id.is_some() => self.calls.iter().position(same_id),
            None => self.calls.len().checked_sub(1),
        };
        let at = known.unwrap_or_else(|| {
            if let Some(last) = self.calls.last_mut().filter(|_| self.whole)
                && let Some(item) = last.end(message, out)
            {
                out.complete(item);
            }
            let (id, name, arguments) = (String::new(), String::new(), String::new());
            self.calls.push(Call {
                index,
                id,
                name,
                kind: CallKind::Function,
                item: None,
                arguments,
                ended: false,
            });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            id.as_escaped().clone_into(&mut call.id);
        }
        let (function, custom) = (entry.get("function"), entry.get("custom"));
        if custom.is_some() {
            call.kind = CallKind::FreeText;
        }
        entry.note_str("type");
        let Some(inner) = function.or(custom) else { return };
        note_blanks(inner);
        // A name comes once; servers that repeat it in each fragment mean the same call.
        if let Some(name) = inner.take_str("name").filter(|_| call.name.is_empty()) {
            name.as_escaped().clone_into(&mut call.name);
        }
        if !call.id.is_empty() && !call.name.is_empty() {
            call.start(message, out);
        }
        let arguments = inner.get("arguments").or_else(|| inner.get("input"));
        match (call.item, arguments) {
            (Some(item), Some(arguments)) => {
                let value = match arguments.take_text() {
                    Some(text) if text.is_empty() => return,
                    Some(text) => Args::Text(text),
                    // Against the rules, but some servers send the object itself.
                    None if arguments.kind() == Kind::Object => Args::Json(arguments.take()),
                    None => return,
                };
                out.delta(item, 0, Part::Args(value));
            }
            (None, Some(arguments)) => {
                if let Some(text) = arguments.take_text() {
                    call.arguments.push_str(text.as_escaped());
                }
            }
            (_, None) => {}
        }
    }

    /// Completes everything; `last` is how the last call ended.
    fn end(&mut self, last: Status, out: &mut Sink<'_>) {
        self.end_thought(out);
        let Some(message) = self.message.take() else { return };
        let count = self.calls.len();
        for (number, call) in self.calls.iter_mut().enumerate() {
            let Some(id) = call.end(message, out) else { continue };
            let status = if number + 1 == count { last } else { Status::Completed };
            out.event(&Event::ItemCompleted(ItemTail { id, status, native_status: None, is_error: None }));
        }
        out.complete(message);
    }
}

impl Call {
    /// The item to complete, once.
    fn end(&mut self, message: ItemId, out: &mut Sink<'_>) -> Option<ItemId> {
        self.start(message, out);
        self.item.filter(|_| !std::mem::replace(&mut self.ended, true))
    }

    fn start(&mut self, message: ItemId, out: &mut Sink<'_>) {
        if self.item.is_some() {
            return;
        }
        let call = ToolCall {
            call_id: Some(Str::escaped(&self.id)).filter(|id| !id.is_empty()),
            kind: self.kind,
            namespace: None,
            name: Str::escaped(&self.name),
        };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        head.within = Some(message);
        let item = out.start(head);
        self.item = Some(item);
        if !self.arguments.is_empty() {
            out.delta(item, 0, Part::Args(Args::Text(Str::escaped(&self.arguments))));
            self.arguments.clear();
        }
    }
}

/// Whose state an entry of `reasoning_details` holds. We write Anthropic's without a format, others with their name.
fn issuer(entry: Val<'_>) -> &'static str {
    let Some(format) = entry.note_str("format") else { return ANTHROPIC };
    let known = [ANTHROPIC, "openai", "google", "xai"];
    known.into_iter().find(|name| format.as_escaped().starts_with(name)).unwrap_or("unknown")
}

pub(super) struct ResponseReader;

impl Reader for ResponseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let root = doc.root;
        if root.get("error").is_none_or(|error| error.is_null()) && root.get("choices").is_none() {
            return out.problem(Code::UnknownShape, None, "a response has `choices` or `error`");
        }
        let mut stream = StreamReader::default();
        stream.said.whole = true;
        stream.document(doc, out);
        stream.end(out);
    }
}

#[derive(Default)]
pub(super) struct StreamReader {
    begun: bool,
    said: Said,
    stop: Option<Stop<'static>>,
    usage: Option<Usage>,
}

impl Reader for StreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let root = doc.root;
        if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
            // No end follows a failure.
            (self.begun, self.stop) = (false, None);
            return failure(error, out);
        }
        let Some(choices) = root.get("choices") else { return };
        note_blanks(root);
        root.note_str("object");
        // Padding that hides the length of tokens.
        root.note_str("obfuscation");
        let first = choices.elements().next().is_some() && !std::mem::replace(&mut self.begun, true);
        if first {
            out.event(&Event::TurnStarted(Turn {
                id: root.take_str("id"),
                model: root.take_str("model"),
                time: root.take_raw("created"),
                ..Turn::default()
            }));
            let head = out.head(ItemKind::Message, Author::Assistant);
            self.said.message = Some(out.start(head));
        } else {
            root.note_str("id");
            root.note_str("model");
            root.note_u64("created");
        }
        for choice in choices.elements() {
            // Only the first of several answers is told; the others stay where they are.
            if choice.get("index").and_then(|index| index.u64()).is_some_and(|index| index > 0) {
                continue;
            }
            choice.note_u64("index");
            note_blanks(choice);
            if let Some(said) = choice.get("delta").or_else(|| choice.get("message")) {
                if said.leaves() == 1 && said.members().next().is_none() {
                    said.note();
                }
                self.said.say(said, out);
            }
            if let Some(reason) = choice.take_str("finish_reason") {
                self.stop =
                    Some(Stop { class: self.class(&reason), raw: Some(reason.into_owned()), sequence: None });
            }
            // Kimi's place for it.
            self.count(choice.get("usage"));
        }
        self.count(root.get("usage"));
    }

    fn sentinel(&mut self, text: &str, out: &mut Sink<'_>) -> bool {
        let done = text.trim() == "[DONE]";
        if done {
            self.end(out);
        }
        done
    }

    fn finish(&mut self, out: &mut Sink<'_>) {
        // Not every server says [DONE], but each says why it stopped.
        if self.stop.is_some() {
            self.end(out);
        }
    }
}

impl StreamReader {
    fn count(&mut self, usage: Option<Val<'_>>) {
        if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
            self.usage.get_or_insert_default().overwrite(&read_usage(usage));
        }
    }

    fn end(&mut self, out: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.begun, false) {
            return;
        }
        // Later chunks may have brought a call or a refusal.
        let mut stop = self.stop.take();
        match &mut stop {
            Some(stop) => stop.class = stop.raw.as_ref().map_or(stop.class, |raw| self.class(raw)),
            None => out.note("no finish_reason before the end"),
        }
        let cut = stop.as_ref().is_some_and(|stop| stop.class == StopClass::MaxTokens);
        let class = self.class(&Str::escaped("stop"));
        self.said.end(if cut { Status::Interrupted } else { Status::Completed }, out);
        let stop = stop.or(Some(Stop { class, raw: None, sequence: None }));
        out.event(&Event::TurnEnded(Turn { stop, usage: self.usage.take(), ..Turn::default() }));
    }

    /// Our word for a finish reason. Some servers say `stop` when they mean calls.
    fn class(&self, reason: &Str<'_>) -> StopClass {
        match reason.as_escaped() {
            "length" => StopClass::MaxTokens,
            "stop" | "content_filter" if self.said.refused => StopClass::Refusal,
            "content_filter" => StopClass::Filter,
            "tool_calls" | "function_call" => StopClass::ToolUse,
            "stop" if !self.said.calls.is_empty() => StopClass::ToolUse,
            "stop" => StopClass::End,
            "error" => StopClass::Error,
            _ => StopClass::Other,
        }
    }
}

/// `prompt_tokens` holds all input; what was read from and written to the cache is told apart beside it.
fn read_usage(usage: Val<'_>) -> Usage {
    note_blanks(usage);
    let input = usage.get("prompt_tokens_details");
    let output = usage.get("completion_tokens_details");
    let of = |details: Option<Val<'_>>, name| details.and_then(|details| details.note_u64(name));
    let cache_read = of(input, "cached_tokens").or_else(|| usage.note_u64("cached_tokens"));
    let cache_write = of(input, "cache_write_tokens");
    usage.note_u64("total_tokens");
    let uncached =
        |all: u64| all.saturating_sub(cache_read.unwrap_or(0)).saturating_sub(cache_write.unwrap_or(0));
    Usage {
        input: usage.note_u64("prompt_tokens").map(uncached),
        cache_read,
        cache_write,
        cache_write_long: None,
        output: usage.note_u64("completion_tokens"),
        reasoning: of(output, "reasoning_tokens"),
    }
}

fn failure(error: Val<'_>, out: &mut Sink<'_>) {
    note_blanks(error);
    // A bare string is all that some servers say.
    let message = error.take_text().or_else(|| error.take_str("message")).unwrap_or_default();
    let (code, kind) = (error.take_str("code"), error.take_str("type"));
    let status = error.take_u64("code").and_then(|status| u16::try_from(status).ok());
    let class = [&code, &kind].into_iter().flatten().find_map(class_of);
    let too_long =
        || ["context length", "context window"].iter().any(|words| message.decode().contains(words));
    let class = match class {
        Some(FailureClass::InvalidRequest) | None if too_long() => FailureClass::ContextTooLong,
        Some(class) => class,
        None => FailureClass::Other,
    };
    out.event(&Event::Error(Failure { class, status, code: code.or(kind), message, request_id: None }));
}

fn class_of(word: &Str<'_>) -> Option<FailureClass> {
    // A code is exact; the same type may stand for several classes, of which the first is the plain one.
    let by_code = ERRORS.iter().find(|(_, _, code)| code.is_some_and(|code| word.is(code)));
    let by_type = || ERRORS.iter().find(|(_, kind, _)| word.is(kind));
    let ours = by_code.or_else(by_type).map(|(class, _, _)| *class);
    ours.or_else(|| MORE_ERRORS.iter().find(|(known, _)| word.is(known)).map(|(_, class)| *class))
}
