//! Events to messages. [`Speech`] decides what an assistant's message says next; a [`Form`] writes that down, as one
//! message (requests, responses) or as chunks.

pub(super) mod request;
pub(super) mod response;
pub(super) mod stream;

use super::ERRORS;
use crate::dialects::anthropic::messages::ERRORS as ANTHROPIC_ERRORS;
use crate::json::{JsonBuffer, JsonWriter};
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::model::{
    Args, CallKind, Delta, Event, Failure, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource,
    Of, Opaque, OpaqueKind, Part, Status, Stop, StopClass, ToolCall, Usage, issuers,
};
use crate::pipe::Target;
use crate::pipe::lifecycle::Sequential;
use crate::tape::TapeBuf;
use crate::wire::{self, Content, Facts, Held, Letters};

/// Where an assistant's message goes. Calls come one after the other, each with all its arguments.
pub(super) trait Form {
    fn text(&mut self, item: ItemId, part: u32, text: &Str<'_>, out: &mut Target<'_>);
    fn refusal(&mut self, text: &Str<'_>, out: &mut Target<'_>);
    fn reasoning(&mut self, text: &Str<'_>, out: &mut Target<'_>);
    fn detail(&mut self, detail: Detail<'_>, out: &mut Target<'_>);
    fn call(&mut self, call: Head<'_>, out: &mut Target<'_>);
    /// A piece of the arguments' text.
    fn arguments(&mut self, piece: &Str<'_>, out: &mut Target<'_>);
    fn end_call(&mut self, out: &mut Target<'_>);
    /// Whether calls with plain text can be said.
    fn has_free_text(&self) -> bool;
}

/// How a call begins.
pub(super) struct Head<'a> {
    number: u64,
    id: &'a Str<'a>,
    name: &'a Str<'a>,
    free_text: bool,
}

/// An entry of `reasoning_details`.
pub(super) struct Detail<'a> {
    number: u64,
    opaque: &'a Opaque<'a>,
    /// The text that the signature covers, where it is not all there was before.
    text: Option<&'a str>,
}

impl Detail<'_> {
    fn write(&self, json: &mut JsonWriter<'_>) {
        let Opaque { kind, issuer, value } = self.opaque;
        json.object().key("index").u64(self.number);
        match kind {
            OpaqueKind::Signature => {
                json.key("type").literal("reasoning.text");
                if let Some(text) = self.text {
                    json.key("text").literal(text);
                }
                json.key("signature").str(value);
            }
            OpaqueKind::Encrypted => {
                _ = json.key("type").literal("reasoning.encrypted").key("data").str(value);
            }
        }
        if !issuer.is(issuers::ANTHROPIC) {
            json.key("format").str(issuer);
        }
        json.end_object();
    }
}

/// What to do with signatures and encrypted reasoning.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// To a client, which will send it back.
    #[default]
    Carry,
    /// To a backend, which did not issue it.
    Lose,
}

/// What an assistant's message says, in order.
#[derive(Default)]
pub(super) struct Speech {
    /// What each open item is, in the order they came: pieces without a place are given up when they come.
    items: Vec<(ItemId, Of)>,
    order: Sequential,
    current: Option<(ItemId, Current)>,
    state: State,
    calls: u64,
    details: u64,
    /// Reasoning with text that has been completed.
    thoughts: u64,
    thought: String,
    signature: Option<(Str<'static>, Held)>,
    arguments: bool,
    pub(super) refused: bool,
    /// The id of the answer, unless this is a request.
    pub(super) answer: Option<Str<'static>>,
    tape: TapeBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    Reasoning,
    Call,
    /// Plain text for a form that has only functions: it becomes the member `input`.
    Wrapped,
}

impl Speech {
    pub(super) fn new(state: State) -> Self {
        Self { state, ..Self::default() }
    }

    /// A new message begins.
    pub(super) fn reset(&mut self) {
        (self.calls, self.details, self.thoughts, self.refused) = (0, 0, 0, false);
    }

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
                if let Err(reason) = self.takes(of, &delta.value) {
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

    /// Whether a message has a place for a piece of such an item.
    fn takes(&self, of: Of, part: &Part<'_>) -> Result<(), Reason> {
        match (of, part) {
            (Of::Message, Part::Text(text) | Part::Summary(text) | Part::Refusal(text))
                if text.is_empty() =>
            {
                Err(Reason::Redundant)
            }
            (Of::Message, Part::Text(_) | Part::Summary(_) | Part::Refusal(_) | Part::Json(_))
            | (Of::Reasoning, Part::Text(_) | Part::Summary(_))
            | (Of::Call, Part::Args(_)) => Ok(()),
            (Of::Reasoning, Part::Opaque(_)) if self.state == State::Carry => Ok(()),
            (_, Part::Opaque(_)) => Err(Reason::Foreign),
            (Of::Message | Of::Reasoning | Of::Call | Of::Result | Of::Notice, _) => Err(Reason::NoSlot),
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        match &head.kind {
            ItemKind::Reasoning => {
                self.thought.clear();
                self.current = Some((head.id, Current::Reasoning));
            }
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                let free_text = *kind == CallKind::FreeText;
                let wrapped = free_text && !form.has_free_text();
                let id = call_id_of(call_id.as_ref(), self.answer.as_ref(), head.id);
                if call_id.as_ref().is_none_or(|old| old.as_escaped() != id.as_escaped()) {
                    out.ledger.note("tool call id replaced by one the target takes");
                }
                let name = wire::flat_name(namespace.as_ref(), name, out.ledger);
                let free_text = free_text && !wrapped;
                form.call(Head { number: self.calls, id: &id, name: &name, free_text }, out);
                self.calls += 1;
                self.arguments = free_text;
                self.current = Some((head.id, if wrapped { Current::Wrapped } else { Current::Call }));
                if wrapped {
                    out.ledger.note("free text of a tool call became the member `input`");
                    self.arguments(&Str::plain("{\"input\":\""), form, out);
                }
            }
            // A message is what it says; the others have no place here and do not come.
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let current = self.current.filter(|(current, _)| current == item).map(|(_, current)| current);
        match (current, value) {
            (None, Part::Text(text) | Part::Summary(text)) => form.text(*item, *part, text, out),
            (None, Part::Refusal(text)) => {
                self.refused = true;
                form.refusal(text, out);
            }
            (None, Part::Json(json)) => {
                out.ledger.note("JSON content written as text");
                form.text(*item, *part, &Str::plain(json.as_str()), out);
            }
            // Reasoning that is only signed has an empty text.
            (Some(Current::Reasoning), Part::Text(text) | Part::Summary(text)) if text.is_empty() => {}
            (Some(Current::Reasoning), Part::Text(text) | Part::Summary(text)) => {
                self.thought.push_str(text.as_escaped());
                form.reasoning(text, out);
            }
            (Some(Current::Reasoning), Part::Opaque(opaque)) => match opaque.kind {
                _ if opaque.value.is_empty() => {}
                // A later signature replaces an earlier one: wait for the end.
                OpaqueKind::Signature => {
                    let later = (opaque.issuer.clone().into_owned(), Held::new(&opaque.value, out));
                    if let Some((_, earlier)) = self.signature.replace(later) {
                        earlier.lose(Field::Signature, Reason::Merged, out);
                    }
                }
                OpaqueKind::Encrypted => self.detail(opaque, form, out),
            },
            (Some(Current::Call), Part::Args(Args::Text(text))) => self.arguments(text, form, out),
            (Some(Current::Wrapped), Part::Args(Args::Text(text))) => {
                self.arguments(&Str::plain(text.as_escaped()), form, out);
            }
            (Some(Current::Call | Current::Wrapped), Part::Args(Args::Json(json))) => {
                match wire::raw_arguments(&mut self.tape, json.as_str()) {
                    Some(text) => self.arguments(&text, form, out),
                    None => self.arguments(&Str::plain(json.as_str()), form, out),
                }
            }
            // [`Speech::takes`] has sorted these out.
            (None | Some(Current::Reasoning | Current::Call | Current::Wrapped), _) => {}
        }
    }

    fn detail(&mut self, opaque: &Opaque<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        // One text is all of `reasoning_content`; of several, each but the first is told again with its signature, or
        // nobody could say where it begins.
        let text = (self.thoughts > 0 && !self.thought.is_empty()).then_some(&*self.thought);
        form.detail(Detail { number: self.details, opaque, text }, out);
        self.details += 1;
    }

    fn arguments(&mut self, piece: &Str<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        if !piece.is_empty() {
            self.arguments = true;
            form.arguments(piece, out);
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, form: &mut dyn Form, out: &mut Target<'_>) {
        let ItemTail { id, status, .. } = tail;
        let Some((_, current)) = self.current.filter(|(current, _)| current == id) else { return };
        self.current = None;
        match current {
            Current::Reasoning => {
                if let Some((issuer, value)) = self.signature.take() {
                    let value = value.text();
                    self.detail(&Opaque { kind: OpaqueKind::Signature, issuer, value }, form, out);
                }
                self.thoughts += u64::from(!self.thought.is_empty());
            }
            Current::Call | Current::Wrapped => {
                if *status != Status::Interrupted {
                    if current == Current::Wrapped {
                        self.arguments(&Str::plain("\"}"), form, out);
                    }
                    // Clients parse what they get, and nothing is not JSON.
                    if !self.arguments {
                        self.arguments(&Str::escaped("{}"), form, out);
                    }
                }
                form.end_call(out);
            }
        }
    }
}

/// The id of a call in a form the API takes. A call without one gets its own.
fn call_id_of<'a>(id: Option<&'a Str<'a>>, answer: Option<&Str<'_>>, item: ItemId) -> Str<'a> {
    match id.filter(|id| !id.is_empty()) {
        Some(id) => wire::alias(id, Letters::Any, 64),
        None => wire::new_call_id(answer, item),
    }
}

/// One message, gathered.
#[derive(Default)]
pub(super) struct Message {
    content: Content,
    texts: Texts,
    refusal: String,
    reasoning: String,
    details: JsonBuffer,
    calls: JsonBuffer,
}

/// What becomes of several texts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Texts {
    /// A list of parts.
    #[default]
    Listed,
    /// One string: a response has no list.
    Joined(Option<(ItemId, u32)>),
}

impl Form for Message {
    fn text(&mut self, item: ItemId, part: u32, text: &Str<'_>, out: &mut Target<'_>) {
        match &mut self.texts {
            Texts::Listed => self.content.text(item, part, text),
            Texts::Joined(last) => {
                if last.replace((item, part)).is_some_and(|last| last != (item, part)) {
                    out.ledger.note("texts of one message joined");
                }
                self.content.text(ItemId(0), 0, text);
            }
        }
    }

    fn refusal(&mut self, text: &Str<'_>, _: &mut Target<'_>) {
        self.refusal.push_str(text.as_escaped());
    }

    fn reasoning(&mut self, text: &Str<'_>, _: &mut Target<'_>) {
        self.reasoning.push_str(text.as_escaped());
    }

    fn detail(&mut self, detail: Detail<'_>, _: &mut Target<'_>) {
        detail.write(&mut self.details.hold());
    }

    fn call(&mut self, call: Head<'_>, _: &mut Target<'_>) {
        let Head { number: _, id, name, free_text } = call;
        let (kind, member) = if free_text { ("custom", "input") } else { ("function", "arguments") };
        let mut json = self.calls.hold();
        json.object().key("id").str(id).key("type").literal(kind).key(kind).object();
        json.key("name").str(name).key(member).open_string();
    }

    fn arguments(&mut self, piece: &Str<'_>, _: &mut Target<'_>) {
        self.calls.hold().piece(piece);
    }

    fn end_call(&mut self, _: &mut Target<'_>) {
        self.calls.hold().close_string().end_object().end_object();
    }

    fn has_free_text(&self) -> bool {
        true
    }
}

impl Message {
    pub(super) fn new(texts: Texts) -> Self {
        Self { texts, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.refusal.is_empty()
            && self.reasoning.is_empty()
            && self.details.bytes().is_empty()
            && self.calls.bytes().is_empty()
    }

    /// Writes the message and forgets it.
    pub(super) fn write(&mut self, json: &mut JsonWriter<'_>) {
        json.object().key("role").literal("assistant").key("content");
        match (self.content.is_empty(), self.texts, self.calls.bytes().is_empty() && self.refusal.is_empty())
        {
            (false, _, _) => self.content.write(json),
            // In a request only calls or a refusal can stand for content.
            (true, Texts::Listed, true) => _ = json.literal(""),
            (true, _, _) => _ = json.null(),
        }
        if !self.refusal.is_empty() {
            json.key("refusal").literal(&self.refusal);
        }
        if !self.reasoning.is_empty() {
            json.key("reasoning_content").literal(&self.reasoning);
        }
        for (name, list) in [("reasoning_details", &mut self.details), ("tool_calls", &mut self.calls)] {
            if !list.bytes().is_empty() {
                json.key(name).array().values(list.bytes()).end_array();
            }
            list.clear();
        }
        json.end_object();
        self.refusal.clear();
        self.reasoning.clear();
    }
}

/// `"id":…,"object":…,"created":…,"model":…`
pub(super) fn write_head(object: &str, facts: &Facts, json: &mut JsonWriter<'_>) {
    let text = |text: &Option<Str<'static>>, otherwise| text.clone().unwrap_or(Str::escaped(otherwise));
    json.key("id").str(&text(&facts.id, "chatcmpl-unknown")).key("object").literal(object).key("created");
    match facts.time.as_ref().filter(|time| is_seconds(time)) {
        Some(time) => json.raw(time),
        None => json.u64(0),
    };
    json.key("model").str(&text(&facts.model, "unknown"));
}

/// Books a time that has no place in a head.
pub(super) fn lose_time(facts: &Facts, out: &mut Target<'_>) {
    if let Some(time) = facts.time.as_ref().filter(|time| !is_seconds(time)) {
        out.lose_raw(Field::TurnTime, time, Reason::Narrowed);
    }
}

fn is_seconds(time: &Raw<'_>) -> bool {
    time.as_str().bytes().all(|byte| byte.is_ascii_digit())
}

/// `"usage":{…}`, if there is any.
pub(super) fn write_usage(facts: &Facts, json: &mut JsonWriter<'_>) {
    let Some(usage) = facts.usage else { return };
    let Usage { cache_read, cache_write, output, reasoning, .. } = usage;
    let (prompt, completion) = (usage.all_input().unwrap_or(0), output.unwrap_or(0));
    json.key("usage").object().key("prompt_tokens").u64(prompt).key("completion_tokens").u64(completion);
    json.key("total_tokens").u64(prompt.saturating_add(completion));
    if cache_read.or(cache_write).is_some() {
        json.key("prompt_tokens_details").object().opt_u64("cached_tokens", cache_read);
        json.opt_u64("cache_write_tokens", cache_write).end_object();
    }
    if let Some(reasoning) = reasoning {
        json.key("completion_tokens_details").object().key("reasoning_tokens").u64(reasoning).end_object();
    }
    json.end_object();
}

/// The word for a stop reason; what it says less is booked.
pub(super) fn finish_reason(stop: Option<&Stop<'_>>, speech: &Speech, out: &mut Target<'_>) -> &'static str {
    let natural = if speech.calls > 0 { "tool_calls" } else { "stop" };
    let Some(Stop { class, raw, .. }) = stop else { return natural };
    let (word, exact) = match class {
        // Whoever made calls waits for their results, whatever the source called it.
        StopClass::End => (natural, true),
        StopClass::ToolUse => (natural, speech.calls > 0),
        StopClass::MaxTokens => ("length", true),
        StopClass::Filter => ("content_filter", true),
        StopClass::Refusal if speech.refused => ("stop", true),
        StopClass::Refusal => ("content_filter", false),
        StopClass::Sequence => (natural, false),
        StopClass::ContextFull => ("length", false),
        StopClass::Paused | StopClass::Cancelled | StopClass::Error | StopClass::Other => (natural, false),
    };
    if !exact {
        out.lose_some(Field::StopReason, raw.as_ref(), Reason::Narrowed);
    }
    word
}

/// `{"error":{…}}`
pub(super) fn write_failure(failure: &Failure<'_>, out: &mut Target<'_>) {
    let Failure { class, status: _, code, message, request_id: _ } = failure;
    let known = ERRORS.iter().find(|(known, _, _)| known == class);
    let (kind, fixed) = known.map_or(("error", None), |(_, kind, code)| (*kind, *code));
    // Anthropic's word for the class is said by the class.
    let told = |code: &Str<'_>| {
        code.is(kind) || ANTHROPIC_ERRORS.iter().any(|(word, known)| known == class && code.is(word))
    };
    let own = code.as_ref().filter(|code| !told(code));
    out.json.object().key("error").object().key("message").str(message).key("type").literal(kind);
    out.json.key("param").null().key("code");
    if let (Some(fixed), Some(own)) = (fixed, own)
        && !own.is(fixed)
    {
        out.lose_str(Field::ErrorCode, own, Reason::Narrowed);
    }
    match (fixed, own) {
        (Some(code), _) => out.json.literal(code),
        (None, Some(code)) => out.json.str(code),
        (None, None) => out.json.null(),
    };
    out.json.end_object().end_object();
}

/// Writes a part with media of an item of that kind, or gives it up if the API takes no such thing.
pub(super) fn write_media(
    of: Of,
    part: &Part<'_>,
    media: &Media<'_>,
    out: &mut Target<'_>,
) -> Option<JsonBuffer> {
    let Media { media_type, source, name, .. } = media;
    let known = media_type.as_ref().map(Str::decode);
    let mut block = JsonBuffer::default();
    let mut json = block.hold();
    let escaped = |text: &str| Str::from_plain(text);
    let mut has_name = false;
    let refused = match (known.as_deref(), source) {
        (kind, MediaSource::Url(url)) if kind.is_none_or(|kind| kind.starts_with("image/")) => {
            json.object().key("type").literal("image_url").key("image_url").object().key("url").str(url);
            out.lose_some(Field::MediaType, media_type.as_ref(), Reason::Narrowed);
            None
        }
        (Some(kind), MediaSource::Base64(data)) if kind.starts_with("image/") => {
            json.object().key("type").literal("image_url").key("image_url").object().key("url").open_string();
            json.piece(&escaped("data:")).piece(&escaped(kind)).piece(&escaped(";base64,"));
            json.piece(data).close_string();
            None
        }
        (Some(kind @ ("audio/wav" | "audio/mpeg")), MediaSource::Base64(data)) => {
            let format = if kind == "audio/wav" { "wav" } else { "mp3" };
            json.object().key("type").literal("input_audio").key("input_audio").object();
            json.key("data").str(data).key("format").literal(format);
            None
        }
        (Some(kind @ "application/pdf"), MediaSource::Base64(data)) => {
            has_name = true;
            if name.is_none() {
                out.ledger.note("document without a name called `document.pdf`");
            }
            json.object().key("type").literal("file").key("file").object().key("filename");
            json.str(&name.clone().unwrap_or(Str::escaped("document.pdf"))).key("file_data").open_string();
            json.piece(&escaped("data:")).piece(&escaped(kind)).piece(&escaped(";base64,"));
            json.piece(data).close_string();
            None
        }
        // Each provider has its own store of files.
        (_, MediaSource::File(_)) => Some(Reason::Foreign),
        (_, MediaSource::Url(_) | MediaSource::Base64(_) | MediaSource::Text(_)) => Some(Reason::NoSlot),
    };
    if let Some(reason) = refused {
        out.lose_part(of, part, reason);
        return None;
    }
    out.lose_some(Field::MediaName, name.as_ref().filter(|_| !has_name), Reason::NoSlot);
    json.end_object().end_object();
    Some(block)
}
