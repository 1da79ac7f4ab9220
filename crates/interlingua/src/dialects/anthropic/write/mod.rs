//! Events to content blocks. [`Blocks`] decides which block opens, grows and closes; a [`Form`] writes that down, as a
//! list of whole blocks (requests, responses) or as stream events. So what a block looks like is said once per form
//! and what becomes a block is said once.

pub(super) mod request;
pub(super) mod response;
mod settings;
pub(super) mod stream;

use super::{ERRORS, TOO_LONG, blocks};
use crate::dialects::wire::{self, Content, Facts, Input, Letters};
use crate::emit::Emit;
use crate::ledger::{Ledger, Reason};
use crate::lifecycle::Sequential;
use crate::model::{
    Args, Author, CallKind, Delta, Event, Failure, FailureClass, ItemHead, ItemId, ItemKind, ItemTail, Media,
    MediaSource, Opaque, OpaqueKind, Part, Status, Stop, StopClass, ToolCall, Usage,
};
use crate::pipe::Out;
use crate::text::Str;

/// How a block begins.
pub(super) enum Block<'a> {
    Text,
    Thinking,
    Redacted(&'a Str<'a>),
    ToolUse { id: &'a Str<'a>, name: &'a Str<'a> },
}

/// What a block grows by.
pub(super) enum Piece<'a> {
    Text(&'a Str<'a>),
    Thinking(&'a Str<'a>),
    /// Replaces an earlier one.
    Signature(&'a Str<'a>),
    Input(&'a Args<'a>),
}

/// Where blocks go.
pub(super) trait Form {
    fn open(&mut self, block: Block<'_>, out: &mut Out<'_>);
    fn piece(&mut self, piece: Piece<'_>, out: &mut Out<'_>);
    fn close(&mut self, out: &mut Out<'_>);
}

/// The blocks of an assistant's message, one after the other.
#[derive(Default)]
pub(super) struct Blocks {
    order: Sequential,
    /// The item whose pieces come now; anything else that grows is the message.
    current: Option<(ItemId, Current)>,
    open: Open,
    dropped: Vec<ItemId>,
    /// A tool use was written.
    pub(super) calls: bool,
    /// The id of the answer, unless this is a request.
    pub(super) answer: Option<Str<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    Reasoning,
    Call(CallKind),
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Text(ItemId, u32),
    Thinking,
    Other,
}

impl Blocks {
    /// Takes an event about items; others are for the caller.
    pub(super) fn event(&mut self, event: &Event<'_>, form: &mut dyn Form, out: &mut Out<'_>) {
        let mut order = std::mem::take(&mut self.order);
        order.event(event, &mut |event| match event {
            Event::ItemStarted(head) => self.started(head, form, out),
            Event::ItemDelta(delta) => self.delta(delta, form, out),
            Event::ItemCompleted(tail) => self.completed(tail, form, out),
            _ => {}
        });
        self.order = order;
    }

    /// Closes what is open. An interrupted block stays open until something follows it: a client that sees it closed
    /// would take a cut call for a whole one.
    pub(super) fn close(&mut self, form: &mut dyn Form, out: &mut Out<'_>) {
        if std::mem::take(&mut self.open) != Open::Nothing {
            form.close(out);
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, form: &mut dyn Form, out: &mut Out<'_>) {
        match &head.kind {
            ItemKind::Message if head.author == Author::Assistant => {}
            ItemKind::Reasoning => self.current = Some((head.id, Current::Reasoning)),
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => match kind {
                CallKind::Function | CallKind::FreeText | CallKind::Vendor => {
                    let id = call_id_of(call_id.as_ref(), self.answer.as_ref(), head.id);
                    if call_id.as_ref().is_none_or(|old| old.as_escaped() != id.as_escaped()) {
                        out.ledger.note("tool call id replaced by one the target takes");
                    }
                    let name = wire::flat_name(namespace.as_ref(), name, out.ledger);
                    self.close(form, out);
                    form.open(Block::ToolUse { id: &id, name: &name }, out);
                    (self.open, self.calls) = (Open::Other, true);
                    self.current = Some((head.id, Current::Call(*kind)));
                    if *kind == CallKind::FreeText {
                        out.ledger.note("free text of a tool call became the member `input`");
                        form.piece(Piece::Input(&Args::Text(Str::plain("{\"input\":\""))), out);
                    }
                }
                // The provider ran it and keeps its state: no one else can replay it.
                CallKind::Server | CallKind::Mcp => self.drop(head, out),
            },
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => self.drop(head, out),
        }
    }

    fn drop(&mut self, head: &ItemHead<'_>, out: &mut Out<'_>) {
        wire::lose_head(head, Reason::NoSlot, out.ledger);
        self.dropped.push(head.id);
    }

    fn delta(&mut self, delta: &Delta<'_>, form: &mut dyn Form, out: &mut Out<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        if self.dropped.contains(item) {
            return wire::lose_part(value, Reason::NoSlot, out.ledger);
        }
        match (self.current.filter(|(current, _)| current == item), value) {
            (None, Part::Text(text) | Part::Summary(text)) => self.text(*item, *part, text, form, out),
            (None, Part::Refusal(text)) => {
                out.ledger.note("refusal written as text");
                self.text(*item, *part, text, form, out);
            }
            (None, Part::Json(json)) => {
                out.ledger.note("JSON content written as text");
                self.text(*item, *part, &Str::plain(json.as_str()), form, out);
            }
            (Some((_, Current::Reasoning)), Part::Text(text) | Part::Summary(text)) => {
                self.thinking(form, out);
                form.piece(Piece::Thinking(text), out);
            }
            (Some((_, Current::Reasoning)), Part::Opaque(opaque)) if opaque.issuer == blocks::ISSUER => {
                let Opaque { kind, issuer: _, value } = opaque;
                match kind {
                    OpaqueKind::Signature if value.is_empty() => {}
                    OpaqueKind::Signature => {
                        self.thinking(form, out);
                        form.piece(Piece::Signature(value), out);
                    }
                    OpaqueKind::Encrypted => {
                        self.close(form, out);
                        form.open(Block::Redacted(value), out);
                        self.open = Open::Other;
                    }
                }
            }
            (Some((_, Current::Call(CallKind::FreeText))), Part::Args(Args::Text(text))) => {
                form.piece(Piece::Input(&Args::Text(Str::plain(text.as_escaped()))), out);
            }
            (Some((_, Current::Call(_))), Part::Args(args)) => form.piece(Piece::Input(args), out),
            (_, Part::Opaque(_)) => wire::lose_part(value, Reason::Foreign, out.ledger),
            (_, value) => wire::lose_part(value, Reason::NoSlot, out.ledger),
        }
    }

    fn text(&mut self, item: ItemId, part: u32, text: &Str<'_>, form: &mut dyn Form, out: &mut Out<'_>) {
        if text.is_empty() {
            return;
        }
        if self.open != Open::Text(item, part) {
            self.close(form, out);
            form.open(Block::Text, out);
            self.open = Open::Text(item, part);
        }
        form.piece(Piece::Text(text), out);
    }

    fn thinking(&mut self, form: &mut dyn Form, out: &mut Out<'_>) {
        if self.open != Open::Thinking {
            self.close(form, out);
            form.open(Block::Thinking, out);
            self.open = Open::Thinking;
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, form: &mut dyn Form, out: &mut Out<'_>) {
        let ItemTail { id, status, native_status: _, is_error: _ } = tail;
        if let Some(at) = self.dropped.iter().position(|dropped| dropped == id) {
            self.dropped.remove(at);
            return wire::lose_tail(tail, Reason::NoSlot, out.ledger);
        }
        let mine = match self.current.filter(|(current, _)| current == id) {
            Some((_, current)) => {
                self.current = None;
                if current == Current::Call(CallKind::FreeText) && *status != Status::Interrupted {
                    form.piece(Piece::Input(&Args::Text(Str::plain("\"}"))), out);
                }
                true
            }
            None => matches!(self.open, Open::Text(item, _) if item == *id),
        };
        if mine && *status != Status::Interrupted {
            self.close(form, out);
        }
    }
}

/// The id of a call in a form the API takes. A call without one gets its own.
fn call_id_of<'a>(id: Option<&'a Str<'a>>, answer: Option<&Str<'_>>, item: ItemId) -> Str<'a> {
    match id.filter(|id| !id.is_empty()) {
        Some(id) => wire::alias(id, Letters::Word, usize::MAX),
        None => wire::new_call_id(answer, item),
    }
}

/// Whole blocks, gathered.
pub(super) struct List {
    pub(super) content: Content,
    rules: Rules,
    blank: Blank,
    open: Whole,
    count: u32,
    thinking: String,
    signature: String,
    input: Input,
}

/// Which blocks may be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// The API refuses blank text and thinking without a signature.
    Request,
    /// A client may read anything.
    Answer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Text,
    Thinking,
    ToolUse,
    Redacted,
}

impl List {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            content: Content::default(),
            rules,
            blank: Blank::default(),
            open: Whole::Text,
            count: 0,
            thinking: String::new(),
            signature: String::new(),
            input: Input::default(),
        }
    }
}

impl Form for List {
    fn open(&mut self, block: Block<'_>, _: &mut Out<'_>) {
        self.count += 1;
        self.open = match block {
            Block::Text => Whole::Text,
            Block::Thinking => Whole::Thinking,
            Block::Redacted(data) => {
                let mut json = self.content.part();
                json.object().key("type").word("redacted_thinking").key("data").str(data).end_object();
                Whole::Redacted
            }
            Block::ToolUse { id, name } => {
                let mut json = self.content.part();
                json.object().key("type").word("tool_use").key("id").str(id).key("name").str(name);
                Whole::ToolUse
            }
        };
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Out<'_>) {
        // Each block counts as a part of its own, whatever item it came from.
        let (item, part) = (ItemId(0), self.count);
        match piece {
            Piece::Text(text) if self.rules == Rules::Answer => self.content.text(item, part, text),
            Piece::Text(text) => self.blank.text(item, part, text, &mut self.content, out.ledger),
            Piece::Thinking(text) => self.thinking.push_str(text.as_escaped()),
            Piece::Signature(value) => {
                self.signature.clear();
                self.signature.push_str(value.as_escaped());
            }
            Piece::Input(args) => self.input.add(args),
        }
    }

    fn close(&mut self, out: &mut Out<'_>) {
        match self.open {
            Whole::Text => self.blank.end(out.ledger),
            Whole::Redacted => {}
            Whole::Thinking if self.signature.is_empty() && self.rules == Rules::Request => {
                wire::lose_str("reasoning/text", Reason::Refused, &Str::escaped(&self.thinking), out.ledger);
            }
            Whole::Thinking => {
                let mut json = self.content.part();
                json.object().key("type").word("thinking").key("thinking").word(&self.thinking);
                json.key("signature").word(&self.signature).end_object();
            }
            Whole::ToolUse => {
                let mut json = self.content.more();
                json.key("input");
                self.input.write(&mut json, out.ledger);
                json.end_object();
            }
        }
        self.thinking.clear();
        self.signature.clear();
    }
}

/// Text that is still blank: the API refuses a text block of nothing but space.
#[derive(Default)]
pub(super) struct Blank {
    at: Option<(ItemId, u32)>,
    held: Vec<String>,
}

impl Blank {
    pub(super) fn text(
        &mut self,
        item: ItemId,
        part: u32,
        text: &Str<'_>,
        content: &mut Content,
        ledger: &mut Ledger,
    ) {
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        let begun = self.at == Some((item, part)) && self.held.is_empty();
        if !begun && !text.as_escaped().bytes().next().is_some_and(plain) && text.decode().trim().is_empty() {
            if self.at != Some((item, part)) {
                self.end(ledger);
                self.at = Some((item, part));
            }
            return self.held.push(text.as_escaped().to_owned());
        }
        if self.at == Some((item, part)) {
            for held in self.held.drain(..) {
                content.text(item, part, &Str::escaped(&held));
            }
        } else {
            self.end(ledger);
            self.at = Some((item, part));
        }
        content.text(item, part, text);
    }

    /// The text is complete.
    pub(super) fn end(&mut self, ledger: &mut Ledger) {
        self.at = None;
        for held in self.held.drain(..) {
            wire::lose_str("text", Reason::Refused, &Str::escaped(&held), ledger);
        }
    }
}

/// Writes a picture or a PDF; gives it back if the API takes no such thing.
pub(super) fn write_media<'a>(media: &'a Media<'a>, json: &mut Emit<'_>) -> Result<(), Reason> {
    let Media { media_type, source, name } = media;
    let (word, member, place) = match source {
        MediaSource::Base64(data) => ("base64", "data", data),
        MediaSource::Url(url) => ("url", "url", url),
        // Each provider has its own store of files.
        MediaSource::File(_) => return Err(Reason::Foreign),
    };
    let known = media_type.as_ref().map(Str::decode);
    let kind = match known.as_deref() {
        Some("application/pdf") => "document",
        Some("image/jpeg" | "image/png" | "image/gif" | "image/webp") => "image",
        None if matches!(source, MediaSource::Url(_)) => "image",
        _ => return Err(Reason::Refused),
    };
    json.object().key("type").word(kind).key("source").object().key("type").word(word);
    if matches!(source, MediaSource::Base64(_)) {
        json.opt_str("media_type", media_type.as_ref());
    }
    json.key(member).str(place).end_object();
    if kind == "document" {
        json.opt_str("title", name.as_ref());
    }
    json.end_object();
    Ok(())
}

/// `"id":…,"type":"message","role":"assistant","model":…`
pub(super) fn write_head(facts: &Facts, json: &mut Emit<'_>, ledger: &mut Ledger) {
    let text = |text: &Option<Str<'static>>, otherwise| text.clone().unwrap_or(Str::escaped(otherwise));
    json.key("id").str(&text(&facts.id, "msg_unknown")).key("type").word("message");
    json.key("role").word("assistant").key("model").str(&text(&facts.model, "unknown"));
    if let Some(time) = &facts.time {
        ledger.lose("turn/time", Reason::NoSlot, time.as_str());
    }
}

/// `"usage":{…}`; both sums are required.
pub(super) fn write_usage(facts: &Facts, json: &mut Emit<'_>) {
    let Usage { input, cache_read, cache_write, cache_write_long, output, reasoning } =
        facts.usage.unwrap_or_default();
    json.key("usage").object().key("input_tokens").u64(input.unwrap_or(0));
    json.opt_u64("cache_creation_input_tokens", cache_write);
    json.opt_u64("cache_read_input_tokens", cache_read);
    if let Some(long) = cache_write_long {
        let short = cache_write.unwrap_or(0).saturating_sub(long);
        json.key("cache_creation").object().key("ephemeral_5m_input_tokens").u64(short);
        json.key("ephemeral_1h_input_tokens").u64(long).end_object();
    }
    json.key("output_tokens").u64(output.unwrap_or(0));
    if let Some(reasoning) = reasoning {
        json.key("output_tokens_details").object().key("thinking_tokens").u64(reasoning).end_object();
    }
    json.end_object();
}

/// `"stop_reason":…,"stop_sequence":…`
pub(super) fn write_stop(stop: Option<&Stop<'_>>, calls: bool, json: &mut Emit<'_>, ledger: &mut Ledger) {
    let sequence = stop.and_then(|stop| stop.sequence.as_ref());
    // Whoever made calls waits for their results, whatever the source called it.
    let natural = if calls { "tool_use" } else { "end_turn" };
    let word = match stop.map_or(StopClass::Other, |stop| stop.class) {
        StopClass::End => natural,
        StopClass::ToolUse if calls => natural,
        StopClass::Sequence => "stop_sequence",
        StopClass::MaxTokens => "max_tokens",
        StopClass::ContextFull => "model_context_window_exceeded",
        StopClass::Paused => "pause_turn",
        StopClass::Refusal | StopClass::Filter => "refusal",
        StopClass::ToolUse | StopClass::Cancelled | StopClass::Error | StopClass::Other => {
            if let Some(raw) = stop.and_then(|stop| stop.raw.as_ref()) {
                wire::lose_str("turn/stop", Reason::Narrowed, raw, ledger);
            }
            natural
        }
    };
    json.key("stop_reason").word(word).key("stop_sequence");
    match sequence {
        Some(sequence) => json.str(sequence),
        None => json.null(),
    };
}

/// The body of an error, alone or as a stream event.
pub(super) fn write_failure(failure: &Failure<'_>, json: &mut Emit<'_>, ledger: &mut Ledger) {
    let Failure { class, status: _, code, message, request_id } = failure;
    let word = ERRORS.iter().find(|(_, known)| known == class).map_or("api_error", |(word, _)| word);
    if let Some(code) = code.as_ref().filter(|code| code.as_escaped() != word) {
        wire::lose_str("error/code", Reason::NoSlot, code, ledger);
    }
    json.object().key("type").word("error").key("error").object().key("type").word(word);
    json.key("message").open_string();
    if *class == FailureClass::ContextTooLong && !message.decode().contains(TOO_LONG) {
        ledger.note("message begun with the words by which clients know that the prompt is too long");
        json.piece(&Str::escaped(TOO_LONG)).piece(&Str::escaped(": "));
    }
    json.piece(message).close_string().end_object().opt_str("request_id", request_id.as_ref()).end_object();
}
