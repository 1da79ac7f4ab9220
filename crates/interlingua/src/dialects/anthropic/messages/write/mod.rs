//! Events to content blocks. [`Blocks`] decides which block opens, grows and closes; a [`Form`] writes that down, as a
//! list of whole blocks (requests, responses) or as stream events. So what a block looks like is said once per form
//! and what becomes a block is said once.

pub(super) mod request;
pub(super) mod response;
mod settings;
pub(super) mod stream;

use super::{ERRORS, TOO_LONG};
use crate::json::Str;
use crate::json::{JsonBuffer, JsonWriter};
use crate::ledger::Reason;
use crate::model::{
    Args, Arrival, CallKind, Delta, Event, Failure, FailureClass, Field, ItemHead, ItemId, ItemKind,
    ItemTail, Media, MediaSource, Of, Opaque, OpaqueKind, Part, Status, Stop, StopClass, ToolCall, Usage,
    issuers,
};
use crate::pipe::Target;
use crate::pipe::lifecycle::Sequential;
use crate::wire::{self, Content, Facts, Held, Input, Letters};

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
    /// Whether there is a place for a piece of such an item.
    fn takes(&self, of: Of, delta: &Delta<'_>) -> Result<(), Reason> {
        takes(of, &delta.value)
    }
    fn open(&mut self, block: Block<'_>, out: &mut Target<'_>);
    fn piece(&mut self, piece: Piece<'_>, out: &mut Target<'_>);
    fn close(&mut self, out: &mut Target<'_>);
}

/// The blocks of an assistant's message, one after the other.
#[derive(Default)]
pub(super) struct Blocks {
    /// What each open item is, in the order they came: pieces without a place are given up when they come.
    items: Vec<(ItemId, Of)>,
    order: Sequential,
    /// The item whose pieces come now; anything else that grows is the message.
    current: Option<(ItemId, Current)>,
    open: Open,
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
    /// Takes an event about items; others are for the caller. What is lost is booked here, before anything waits.
    pub(super) fn event(&mut self, event: &Event<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        match event {
            Event::ItemStarted(head) => {
                self.items.push((head.id, Of::item(&head.kind)));
                if let ItemKind::ToolCall(call) = &head.kind
                    && call.kind == CallKind::Vendor
                {
                    out.lose(Field::CallKind, Reason::Narrowed);
                }
            }
            Event::ItemDelta(delta) => {
                let known = self.items.iter().rfind(|(item, _)| *item == delta.item);
                let of = known.map_or(Of::Message, |(_, of)| *of);
                if let Err(reason) = form.takes(of, delta) {
                    return out.lose_part(of, &delta.value, reason);
                }
            }
            Event::ItemCompleted(tail) => {
                if let Some(at) = self.items.iter().rposition(|(item, _)| *item == tail.id) {
                    self.items.remove(at);
                }
            }
            _ => {}
        }
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
    pub(super) fn close(&mut self, form: &mut dyn Form, out: &mut Target<'_>) {
        if std::mem::take(&mut self.open) != Open::Nothing {
            form.close(out);
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        match &head.kind {
            ItemKind::Reasoning => self.current = Some((head.id, Current::Reasoning)),
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
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
            // A message is its blocks; the others have no place here and do not come.
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let current = self.current.filter(|(current, _)| current == item).map(|(_, current)| current);
        match (current, value) {
            (None, Part::Text(text) | Part::Summary(text)) => self.text(*item, *part, text, form, out),
            (None, Part::Refusal(text)) => {
                out.ledger.note("refusal written as text");
                self.text(*item, *part, text, form, out);
            }
            (None, Part::Json(json)) => {
                out.ledger.note("JSON content written as text");
                self.text(*item, *part, &Str::plain(json.as_str()), form, out);
            }
            (Some(Current::Reasoning), Part::Text(text) | Part::Summary(text)) => {
                self.thinking(form, out);
                form.piece(Piece::Thinking(text), out);
            }
            (Some(Current::Reasoning), Part::Opaque(Opaque { kind, issuer: _, value })) => match kind {
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
            },
            (Some(Current::Call(CallKind::FreeText)), Part::Args(Args::Text(text))) => {
                form.piece(Piece::Input(&Args::Text(Str::plain(text.as_escaped()))), out);
            }
            (Some(Current::Call(_)), Part::Args(args)) => form.piece(Piece::Input(args), out),
            // [`takes`] has sorted these out.
            (None | Some(Current::Reasoning | Current::Call(_)), _) => {}
        }
    }

    fn text(&mut self, item: ItemId, part: u32, text: &Str<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        if self.open != Open::Text(item, part) {
            self.close(form, out);
            form.open(Block::Text, out);
            self.open = Open::Text(item, part);
        }
        form.piece(Piece::Text(text), out);
    }

    fn thinking(&mut self, form: &mut dyn Form, out: &mut Target<'_>) {
        if self.open != Open::Thinking {
            self.close(form, out);
            form.open(Block::Thinking, out);
            self.open = Open::Thinking;
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        let ItemTail { id, status, .. } = tail;
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

/// Whether an assistant's message has a place for a piece of such an item.
fn takes(of: Of, part: &Part<'_>) -> Result<(), Reason> {
    match (of, part) {
        (Of::Message, Part::Text(text) | Part::Summary(text) | Part::Refusal(text)) if text.is_empty() => {
            Err(Reason::Redundant)
        }
        (Of::Message, Part::Text(_) | Part::Summary(_) | Part::Refusal(_) | Part::Json(_))
        | (Of::Reasoning, Part::Text(_) | Part::Summary(_))
        | (Of::Call, Part::Args(_)) => Ok(()),
        (Of::Reasoning, Part::Opaque(opaque)) if opaque.is_of(issuers::ANTHROPIC) => Ok(()),
        (_, Part::Opaque(_)) => Err(Reason::Foreign),
        (Of::Message | Of::Reasoning | Of::Call | Of::Result | Of::Notice, _) => Err(Reason::NoSlot),
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
    thinking: Vec<Held>,
    signature: Option<Held>,
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
            thinking: Vec::new(),
            signature: None,
            input: Input::default(),
        }
    }
}

impl Form for List {
    fn takes(&self, of: Of, delta: &Delta<'_>) -> Result<(), Reason> {
        if self.rules == Rules::Request && of == Of::Message && self.blank.refuses(delta) {
            return Err(Reason::Refused);
        }
        takes(of, &delta.value)
    }

    fn open(&mut self, block: Block<'_>, _: &mut Target<'_>) {
        self.count += 1;
        self.open = match block {
            Block::Text => Whole::Text,
            Block::Thinking => Whole::Thinking,
            Block::Redacted(data) => {
                let mut json = self.content.part();
                json.object().key("type").literal("redacted_thinking").key("data").str(data).end_object();
                Whole::Redacted
            }
            Block::ToolUse { id, name } => {
                let mut json = self.content.part();
                json.object().key("type").literal("tool_use").key("id").str(id).key("name").str(name);
                Whole::ToolUse
            }
        };
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Target<'_>) {
        // Each block counts as a part of its own, whatever item it came from.
        let (item, part) = (ItemId(0), self.count);
        match piece {
            Piece::Text(text) if self.rules == Rules::Answer => self.content.text(item, part, text),
            Piece::Text(text) => self.blank.text(item, part, text, &mut self.content, out),
            Piece::Thinking(text) => self.thinking.push(Held::new(text, out)),
            Piece::Signature(value) => {
                let later = Held::new(value, out);
                if let Some(earlier) = self.signature.replace(later) {
                    earlier.lose(Field::Signature, Reason::Merged, out);
                }
            }
            Piece::Input(args) => self.input.add(args),
        }
    }

    fn close(&mut self, out: &mut Target<'_>) {
        let (thinking, signature) = (std::mem::take(&mut self.thinking), self.signature.take());
        match self.open {
            Whole::Text => self.blank.end(out),
            Whole::Redacted => {}
            Whole::Thinking if signature.is_none() && self.rules == Rules::Request => {
                for text in thinking.iter().rev() {
                    text.lose(Field::ReasoningText, Reason::Refused, out);
                }
            }
            Whole::Thinking => {
                let mut json = self.content.part();
                json.object().key("type").literal("thinking").key("thinking").open_string();
                for text in &thinking {
                    json.piece(&text.text());
                }
                json.close_string().key("signature");
                json.str(&signature.as_ref().map_or(Str::escaped(""), Held::text)).end_object();
            }
            Whole::ToolUse => {
                let mut json = self.content.more();
                json.key("input");
                self.input.write(&mut json, out.ledger);
                json.end_object();
            }
        }
    }
}

/// Text that is still blank: the API refuses a text block of nothing but space.
#[derive(Default)]
pub(super) struct Blank {
    at: Option<(ItemId, u32)>,
    held: Vec<Held>,
}

impl Blank {
    /// Whether this is a whole text of nothing but space.
    pub(super) fn refuses(&self, delta: &Delta<'_>) -> bool {
        let Delta { item, part, value, arrival } = delta;
        let (Part::Text(text) | Part::Summary(text) | Part::Refusal(text)) = value else { return false };
        *arrival == Arrival::Whole && self.at != Some((*item, *part)) && is_blank(text)
    }

    pub(super) fn text(
        &mut self,
        item: ItemId,
        part: u32,
        text: &Str<'_>,
        content: &mut Content,
        out: &mut Target<'_>,
    ) {
        let begun = self.at == Some((item, part)) && self.held.is_empty();
        if !begun && is_blank(text) {
            if self.at != Some((item, part)) {
                self.end(out);
                self.at = Some((item, part));
            }
            return self.held.push(Held::new(text, out));
        }
        if self.at == Some((item, part)) {
            for held in self.held.drain(..) {
                content.text(item, part, &held.text());
            }
        } else {
            self.end(out);
            self.at = Some((item, part));
        }
        content.text(item, part, text);
    }

    /// The text is complete.
    pub(super) fn end(&mut self, out: &mut Target<'_>) {
        self.at = None;
        for held in self.held.drain(..) {
            held.lose(Field::MessageText, Reason::Refused, out);
        }
    }
}

fn is_blank(text: &Str<'_>) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    !text.as_escaped().bytes().next().is_some_and(plain) && text.decode().trim().is_empty()
}

/// Writes a picture or a PDF of an item of that kind, or gives it up if the API takes no such thing.
pub(super) fn write_media(
    of: Of,
    part: &Part<'_>,
    media: &Media<'_>,
    out: &mut Target<'_>,
) -> Option<JsonBuffer> {
    let Media { media_type, source, name, .. } = media;
    let known = media_type.as_ref().map(Str::decode);
    let kind = match (known.as_deref(), source) {
        // Each provider has its own store of files.
        (_, MediaSource::File(_)) => Err(Reason::Foreign),
        (_, MediaSource::Text(_)) => Err(Reason::NoSlot),
        (Some("application/pdf"), _) => Ok("document"),
        (Some("image/jpeg" | "image/png" | "image/gif" | "image/webp"), _) | (None, MediaSource::Url(_)) => {
            Ok("image")
        }
        (Some(_), MediaSource::Url(_)) | (_, MediaSource::Base64(_)) => Err(Reason::Refused),
    };
    let kind = match kind {
        Ok(kind) => kind,
        Err(reason) => {
            out.lose_part(of, part, reason);
            return None;
        }
    };
    let mut block = JsonBuffer::default();
    let mut json = block.hold();
    json.object().key("type").literal(kind).key("source").object();
    match source {
        MediaSource::Base64(data) => {
            json.key("type")
                .literal("base64")
                .opt_str("media_type", media_type.as_ref())
                .key("data")
                .str(data);
        }
        MediaSource::Url(place) | MediaSource::File(place) | MediaSource::Text(place) => {
            json.key("type").literal("url").key("url").str(place);
            // A document at an address is a PDF, a picture is any.
            out.lose_some(
                Field::MediaType,
                media_type.as_ref().filter(|_| kind == "image"),
                Reason::Narrowed,
            );
        }
    }
    json.end_object();
    if kind == "document" {
        json.opt_str("title", name.as_ref());
    } else {
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
    }
    json.end_object();
    Some(block)
}

/// `"id":…,"type":"message","role":"assistant","model":…`
pub(super) fn write_head(facts: &Facts, json: &mut JsonWriter<'_>) {
    let text = |text: &Option<Str<'static>>, otherwise| text.clone().unwrap_or(Str::escaped(otherwise));
    json.key("id").str(&text(&facts.id, "msg_unknown")).key("type").literal("message");
    json.key("role").literal("assistant").key("model").str(&text(&facts.model, "unknown"));
}

/// `"usage":{…}`; both sums are required.
pub(super) fn write_usage(facts: &Facts, json: &mut JsonWriter<'_>) {
    let Usage { input, cache_read, cache_write, cache_write_long, output, reasoning, .. } =
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
pub(super) fn write_stop(stop: Option<&Stop<'_>>, calls: bool, out: &mut Target<'_>) {
    // Whoever made calls waits for their results, whatever the source called it.
    let natural = if calls { "tool_use" } else { "end_turn" };
    let (word, exact) = match stop.map_or(StopClass::Other, |stop| stop.class) {
        StopClass::End => (natural, true),
        StopClass::ToolUse => (natural, calls),
        StopClass::Sequence => ("stop_sequence", true),
        StopClass::MaxTokens => ("max_tokens", true),
        StopClass::ContextFull => ("model_context_window_exceeded", true),
        StopClass::Paused => ("pause_turn", true),
        StopClass::Refusal => ("refusal", true),
        StopClass::Filter => ("refusal", false),
        StopClass::Cancelled | StopClass::Error | StopClass::Other => (natural, false),
    };
    if !exact {
        out.lose_some(Field::StopReason, stop.and_then(|stop| stop.raw.as_ref()), Reason::Narrowed);
    }
    out.json.key("stop_reason").literal(word).key("stop_sequence");
    match stop.and_then(|stop| stop.sequence.as_ref()) {
        Some(sequence) => out.json.str(sequence),
        None => out.json.null(),
    };
}

/// The body of an error, alone or as a stream event.
pub(super) fn write_failure(failure: &Failure<'_>, out: &mut Target<'_>) {
    let Failure { class, status: _, code, message, request_id } = failure;
    let word = ERRORS.iter().find(|(_, known)| known == class).map_or("api_error", |(word, _)| word);
    if let Some(code) = code.as_ref().filter(|code| code.as_escaped() != word) {
        out.lose_str(Field::ErrorCode, code, Reason::NoSlot);
    }
    if let FailureClass::Other | FailureClass::Incomplete = class {
        out.lose(Field::ErrorClass, Reason::Narrowed);
    }
    out.json.object().key("type").literal("error").key("error").object().key("type").literal(word);
    out.json.key("message").open_string();
    if *class == FailureClass::ContextTooLong && !message.decode().contains(TOO_LONG) {
        out.ledger.note("message begun with the words by which clients know that the prompt is too long");
        out.json.piece(&Str::escaped(TOO_LONG)).piece(&Str::escaped(": "));
    }
    out.json.piece(message).close_string().end_object();
    out.json.opt_str("request_id", request_id.as_ref()).end_object();
}
