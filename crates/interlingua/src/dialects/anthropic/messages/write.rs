//! Events to messages of content blocks: whole messages, gathered, and stream events.

use super::super::citations::{is_own_citation, write_citation};
use super::{BACKEND, CLIENT, ERRORS, TOO_LONG, settings};
use crate::blocks::{self, CACHE};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{
    Args, Author, Citation, Failure, FailureClass, Field, Format, ItemId, Media, MediaSource, Request, Usage,
};
use crate::pipe::WriterOutput;
use crate::tape::{Limits, TapeBuf};
use crate::wire::answer::{AnswerForm, HeadPlace, ResponseHead, Stopped};
use crate::wire::arguments::ArgumentObject;
use crate::wire::assistant::{AssistantForm, Growth, Opening};
use crate::wire::backends::{ModelCapabilities, SystemPlaces};
use crate::wire::content::{HeldText, WireContent};
use crate::wire::narrow::Narrowing;
use crate::wire::profile::Profile;
use crate::wire::request::{GatheredMessage, PlacedMedia, RequestForm};
use crate::wire::settings::PART_MARK;
use crate::wire::turns::Speaker;

/// Whole blocks, gathered.
#[derive(Default)]
struct BlockList {
    content: WireContent,
    rules: BlockRules,
    open: OpenBlock,
    thinking: Vec<HeldText>,
    signature: Option<String>,
    input: ArgumentObject,
    /// Members after the open block's content.
    citations: JsonBuffer,
    mark: JsonBuffer,
    count: u32,
}

/// Which blocks may be written.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum BlockRules {
    /// The API refuses thinking without a signature and citations of other issuers.
    #[default]
    Request,
    /// A client may read every block.
    Answer,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum OpenBlock {
    #[default]
    Text,
    Thinking,
    ToolUse,
    Redacted,
}

impl BlockList {
    fn new(rules: BlockRules, profile: &Profile) -> Self {
        Self { content: WireContent::new(profile.texts), rules, ..Self::default() }
    }

    /// The position of the open text in the content: each block is a part of its own, whatever its source item.
    const fn place(&self) -> (ItemId, u32) {
        (ItemId(0), self.count)
    }

    fn close_text(&mut self, out: &mut WriterOutput<'_>) {
        let (item, part) = self.place();
        let (citations, mark) = (&mut self.citations, &mut self.mark);
        if !citations.bytes().is_empty() || !mark.bytes().is_empty() {
            self.content.add_members(item, part, |json| {
                if !citations.bytes().is_empty() {
                    json.key("citations").array().values(citations.bytes()).end_array();
                }
                mark.pour_members(json);
            });
            citations.clear();
            mark.clear();
        }
        self.content.end(out);
    }
}

impl AssistantForm for BlockList {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        is_own_citation(citation) || self.rules == BlockRules::Answer && citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>) {
        self.count += 1;
        self.open = match opening {
            Opening::Text(..) => OpenBlock::Text,
            Opening::Thinking => OpenBlock::Thinking,
            Opening::Encrypted(opaque) => {
                let mut json = self.content.part(out);
                json.up_to_value(r#"{"type":"redacted_thinking","data":"#)
                    .str(&blocks::carried(opaque))
                    .end_object();
                OpenBlock::Redacted
            }
            Opening::Call(call) => {
                let mut json = self.content.part(out);
                json.up_to_value(r#"{"type":"tool_use","id":"#).str(call.id).key("name").str(call.name);
                OpenBlock::ToolUse
            }
        };
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        match growth {
            // The API has no refusal block; a refusal is written as text.
            Growth::Text(text) | Growth::Refusal(text) => {
                let (item, part) = self.place();
                self.content.text(item, part, text, out);
            }
            Growth::Thinking(text) => self.thinking.push(HeldText::new(text, out)),
            Growth::Signature(opaque) => {
                self.signature = Some(blocks::carried(opaque).as_escaped().to_owned());
            }
            Growth::Arguments(args) => self.input.add(args),
            Growth::Citation(citation) => {
                write_citation(citation, &mut self.citations.hold(), out);
            }
            Growth::Cache(mark) => {
                self.mark.clear();
                CACHE.lose_rest(mark, PART_MARK, out);
                CACHE.write(mark, &mut self.mark.hold());
            }
        }
    }

    fn cut(&mut self, out: &mut WriterOutput<'_>) {
        // A whole message has no field for an interrupted item.
        out.lose(Field::ItemStatus, Reason::NoSlot);
    }

    fn close(&mut self, out: &mut WriterOutput<'_>) {
        match self.open {
            OpenBlock::Text => self.close_text(out),
            OpenBlock::Redacted => {}
            OpenBlock::Thinking if self.signature.is_none() && self.rules == BlockRules::Request => {
                for text in self.thinking.drain(..).rev() {
                    text.lose_thought(Reason::Refused, out);
                }
            }
            OpenBlock::Thinking => {
                let mut json = self.content.part(out);
                json.up_to_value(r#"{"type":"thinking","thinking":"#).open_string();
                for text in self.thinking.drain(..) {
                    json.piece(&text.text());
                }
                let signature = self.signature.take().unwrap_or_default();
                json.close_string().key("signature").literal(&signature).end_object();
            }
            OpenBlock::ToolUse => {
                let mut json = self.content.more();
                json.key("input");
                self.input.write(&mut json, out.ledger);
                self.mark.pour_members(&mut json);
                json.end_object();
                self.mark.clear();
            }
        }
    }
}

/// Writes a request: settings, then `system`, then `messages`. Each turn is written as soon as it is known to be over.
/// Results directly follow their calls, and system messages are written only where the API allows them.
pub(super) struct MessagesRequest {
    /// Set once `messages` is open; before that, a system message belongs to `system`.
    messages: bool,
    blocks: BlockList,
    /// Set while the user's turn is open; its `tool_result` blocks come first and are written.
    answering: bool,
    /// The rest of the user's turn.
    said: WireContent,
    /// A system message whose place is not decided yet.
    system: WireContent,
    last: Speaker,
    /// The model's capabilities.
    takes: Option<ModelCapabilities>,
}

/// The API has no setting that requests any JSON object.
const JSON_INSTRUCTION: &str = "Answer with one JSON object and nothing else.";

impl Default for MessagesRequest {
    fn default() -> Self {
        Self {
            messages: false,
            blocks: BlockList::new(BlockRules::Request, &BACKEND),
            answering: false,
            said: WireContent::default(),
            system: WireContent::default(),
            last: Speaker::Nobody,
            takes: None,
        }
    }
}

impl RequestForm for MessagesRequest {
    fn profile(&self) -> &'static Profile {
        &BACKEND
    }

    fn narrow(&self, settings: &mut Narrowing<'_, '_, '_>) {
        settings::narrow(settings);
    }

    fn settings(&mut self, request: &Request<'_>, takes: &ModelCapabilities, out: &mut WriterOutput<'_>) {
        settings::write(request, takes, &mut out.json);
        self.takes = Some(takes.clone());
        if request.format == Some(Format::JsonObject) {
            out.ledger.note("any JSON object asked for by an instruction");
            self.system.text(ItemId(0), 0, &Str::escaped(JSON_INSTRUCTION), out);
            self.system.end(out);
        }
    }

    fn assistant(&mut self) -> &mut dyn AssistantForm {
        &mut self.blocks
    }

    fn end_assistant(&mut self, is_last: bool, out: &mut WriterOutput<'_>) -> bool {
        if is_last && self.blocks.content.trim_end() {
            out.ledger.note("space at the end of an answer that is given as its beginning cut off");
        }
        let said = !self.blocks.content.is_empty();
        if said {
            self.open_messages(out);
            out.json.up_to_value(r#"{"role":"assistant","content":"#);
            self.blocks.content.write(&mut out.json);
            out.json.end_object();
            self.last = Speaker::Assistant;
        }
        said
    }

    fn media(&mut self, placed: PlacedMedia<'_>, content: &mut WireContent, out: &mut WriterOutput<'_>) {
        let PlacedMedia { of, call: _, delta, media } = placed;
        let mut block = JsonBuffer::default();
        match write_media(media, &mut block.hold(), out) {
            Ok(()) => content.item_part(delta.item, delta.part, &block, out),
            Err(reason) => out.lose_part(of, &delta.value, reason),
        }
    }

    fn message(&mut self, message: GatheredMessage<'_>, out: &mut WriterOutput<'_>) {
        let GatheredMessage { author, narrowed: _, content, waited, waits } = message;
        if content.is_empty() {
            return;
        }
        if author == Author::System {
            return self.system.absorb(content);
        }
        let answers = self.answering && self.said.is_empty() && self.system.is_empty();
        if !(waited || waits || answers) {
            self.settle(Speaker::User, out);
        }
        self.said.absorb(content);
    }

    fn result(
        &mut self,
        id: &str,
        is_error: Option<bool>,
        content: &mut WireContent,
        out: &mut WriterOutput<'_>,
    ) {
        if !self.answering {
            self.open_messages(out);
            self.answering = true;
            out.json.up_to_value(r#"{"role":"user","content":["#);
        }
        let block = out.json.up_to_value(r#"{"type":"tool_result","tool_use_id":"#).literal(id);
        block.opt_bool("is_error", is_error);
        if !content.is_empty() {
            content.write(block.key("content"));
        }
        block.end_object();
    }

    /// Writes the user's turn, then the pending system message: in `system` if no message precedes it, as a message of
    /// its own where the API allows it (after the user, before the assistant or at the end), otherwise as marked user
    /// text. A system message never moves ahead of its place.
    fn settle(&mut self, next: Speaker, out: &mut WriterOutput<'_>) {
        self.end_user(out);
        if self.system.is_empty() {
            return;
        }
        let places = self.takes.as_ref().map(|takes| takes.system);
        if !self.messages && places != Some(SystemPlaces::Nowhere) {
            self.system.write(out.json.key("system"));
            return self.open_messages(out);
        }
        self.open_messages(out);
        let json = &mut out.json;
        let may_stand = !matches!(places, Some(SystemPlaces::First | SystemPlaces::Nowhere));
        if may_stand && self.last == Speaker::User && next != Speaker::User {
            self.system.write(json.up_to_value(r#"{"role":"system","content":"#));
            json.end_object();
            self.last = Speaker::Nobody;
        } else {
            out.ledger.note("system message written as marked user text, where it stood");
            json.with_value(r#"{"role":"user","content":[{"type":"text","text":"<system>"}"#);
            self.system.write_parts(json);
            json.with_value(r#"{"type":"text","text":"</system>"}]}"#);
            self.last = Speaker::User;
        }
    }

    fn end(&mut self, out: &mut WriterOutput<'_>) {
        self.open_messages(out);
        if self.last == Speaker::Assistant {
            out.ledger.note("the conversation ends with the assistant, which newer models refuse");
        }
        out.json.end_array().end_object();
    }
}

impl MessagesRequest {
    fn end_user(&mut self, out: &mut WriterOutput<'_>) {
        if std::mem::take(&mut self.answering) {
            self.said.write_parts(&mut out.json);
            out.json.end_array().end_object();
        } else if self.said.is_empty() {
            return;
        } else {
            self.open_messages(out);
            self.said.write(out.json.up_to_value(r#"{"role":"user","content":"#));
            out.json.end_object();
        }
        self.last = Speaker::User;
    }

    /// Opens `messages`, once.
    fn open_messages(&mut self, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.messages, true) {
            out.json.key("messages").array();
        }
    }
}

/// Writes a picture or a document, or returns the reason the API refuses it.
fn write_media(
    media: &Media<'_>,
    json: &mut JsonWriter<'_>,
    out: &mut WriterOutput<'_>,
) -> Result<(), Reason> {
    let Media { media_type, source, name, context, citable, detail: _ } = media;
    let known = media_type.as_ref().map(Str::decode);
    let kind = match (known.as_deref(), source) {
        // Files are stored per provider.
        (_, MediaSource::File(_)) => return Err(Reason::Foreign),
        (_, MediaSource::Text(_)) | (Some("application/pdf"), _) => "document",
        (Some("image/jpeg" | "image/png" | "image/gif" | "image/webp"), _) | (None, MediaSource::Url(_)) => {
            "image"
        }
        (Some(_), MediaSource::Url(_)) | (_, MediaSource::Base64(_)) => return Err(Reason::Refused),
    };
    json.object().key("type").literal(kind).key("source").object().key("type");
    let mut unsaid = None;
    match source {
        MediaSource::Base64(data) => {
            json.literal("base64").opt_str("media_type", media_type.as_ref()).key("data").str(data);
        }
        MediaSource::Text(text) if media_type.is_some() => {
            json.literal("text").key("media_type").literal("text/plain").key("data").str(text);
            unsaid = media_type.as_ref().filter(|media_type| !media_type.is("text/plain"));
        }
        MediaSource::Text(text) => {
            json.literal("content").key("content").array().object().key("type").literal("text");
            json.key("text").str(text).end_object().end_array();
        }
        MediaSource::Url(place) | MediaSource::File(place) => {
            json.literal("url").key("url").str(place);
            // A document at a URL is a PDF; a picture may have any type.
            unsaid = media_type.as_ref().filter(|_| kind == "image");
        }
    }
    out.lose_some(Field::MediaType, unsaid, Reason::Narrowed);
    json.end_object();
    if kind == "document" {
        json.opt_str("title", name.as_ref()).opt_str("context", context.as_ref());
        if let Some(citable) = citable {
            json.key("citations").object().key("enabled").bool(*citable).end_object();
        }
    } else {
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
        out.lose_some(Field::MediaContext, context.as_ref(), Reason::NoSlot);
        if citable.is_some() {
            out.lose(Field::MediaCitable, Reason::NoSlot);
        }
    }
    json.end_object();
    Ok(())
}

/// A whole response, or an error in its place. Output starts only after the last event.
pub(super) struct WholeAnswer {
    blocks: BlockList,
}

impl Default for WholeAnswer {
    fn default() -> Self {
        Self { blocks: BlockList::new(BlockRules::Answer, &CLIENT) }
    }
}

impl AnswerForm for WholeAnswer {
    const HEAD: HeadPlace = HeadPlace::Last;

    fn profile(&self) -> &'static Profile {
        &CLIENT
    }

    fn assistant(&mut self, _: u64) -> &mut dyn AssistantForm {
        &mut self.blocks
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        write_head(head, out.json.object());
        out.json.key("content").array();
        self.blocks.content.write_parts(&mut out.json);
        out.json.end_array();
        let detail = own_detail(stop, out);
        write_stop(stop, detail, &mut out.json);
        write_usage(head, &mut out.json);
        out.json.end_object();
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        write_failure(failure, out);
    }
}

/// A stream: `message_start`, blocks in sequence, `message_delta`, `message_stop`; or `error` as the last event.
#[derive(Default)]
pub(super) struct MessageEvents {
    /// Number of blocks so far.
    count: u64,
}

impl AnswerForm for MessageEvents {
    const HEAD: HeadPlace = HeadPlace::FirstWithCounts;

    fn profile(&self) -> &'static Profile {
        &CLIENT
    }

    fn begin(&mut self, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        let json = out.json.begin_frame("event: message_start\ndata: ");
        write_head(head, json.up_to_value(r#"{"type":"message_start","message":{"#));
        json.with_value(r#""content":[],"stop_reason":null,"stop_sequence":null"#);
        write_usage(head, json);
        json.end_object().end_object().end_frame("\n\n");
    }

    fn assistant(&mut self, _: u64) -> &mut dyn AssistantForm {
        self
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        let detail = own_detail(stop, out);
        let json = out.json.begin_frame("event: message_delta\ndata: ");
        write_stop(stop, detail, json.up_to_value(r#"{"type":"message_delta","delta":{"#));
        // Repeat all counts: the start may have lacked some.
        write_usage(head, json.end_object());
        json.end_object().end_frame("\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        out.json.begin_frame("event: error\ndata: ");
        write_failure(failure, out);
        out.json.end_frame("\n\n");
    }
}

impl MessageEvents {
    /// Writes a delta of the open block: `piece` is its `delta` up to the text.
    fn delta(&self, piece: &'static str, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        // Skip empty deltas.
        if !text.is_empty() {
            self.begin_delta(out).up_to_value(piece).str(text).end_object().end_object().end_frame("\n\n");
        }
    }

    fn begin_delta<'a, 'o>(&self, out: &'a mut WriterOutput<'o>) -> &'a mut JsonWriter<'o> {
        let json = out.json.begin_frame("event: content_block_delta\ndata: ");
        json.up_to_value(r#"{"type":"content_block_delta","index":"#).u64(self.count.saturating_sub(1))
    }
}

impl AssistantForm for MessageEvents {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        is_own_citation(citation) || citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>) {
        let json = out.json.begin_frame("event: content_block_start\ndata: ");
        json.up_to_value(r#"{"type":"content_block_start","index":"#).u64(self.count).key("content_block");
        self.count += 1;
        match opening {
            Opening::Text(..) => json.with_value(r#"{"type":"text","text":"""#),
            Opening::Thinking => json.with_value(r#"{"type":"thinking","thinking":"","signature":"""#),
            Opening::Encrypted(opaque) => {
                json.up_to_value(r#"{"type":"redacted_thinking","data":"#).str(&blocks::carried(opaque))
            }
            Opening::Call(call) => {
                json.up_to_value(r#"{"type":"tool_use","id":"#).str(call.id).key("name").str(call.name);
                json.with_value(r#""input":{}"#)
            }
        };
        json.end_object().end_object().end_frame("\n\n");
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        const INPUT: &str = r#""delta":{"type":"input_json_delta","partial_json":"#;
        match growth {
            // The API has no refusal block; a refusal is written as text.
            Growth::Text(text) | Growth::Refusal(text) => {
                self.delta(r#""delta":{"type":"text_delta","text":"#, text, out);
            }
            Growth::Thinking(text) => {
                self.delta(r#""delta":{"type":"thinking_delta","thinking":"#, text, out);
            }
            Growth::Signature(opaque) => {
                let state = blocks::carried(opaque);
                self.delta(r#""delta":{"type":"signature_delta","signature":"#, &state, out);
            }
            Growth::Arguments(Args::Text(text)) => self.delta(INPUT, text, out),
            // Empty arguments need no delta.
            Growth::Arguments(Args::Json(json)) if json.as_str() == "{}" => {}
            Growth::Arguments(Args::Json(json)) => self.delta(INPUT, &Str::plain(json.as_str()), out),
            Growth::Citation(citation) => {
                let mut written = JsonBuffer::default();
                write_citation(citation, &mut written.hold(), out);
                let json =
                    self.begin_delta(out).up_to_value(r#""delta":{"type":"citations_delta","citation":"#);
                json.values(written.bytes()).end_object().end_object().end_frame("\n\n");
            }
            // A response has no cache breakpoints, per the client profile.
            Growth::Cache(_) => {}
        }
    }

    fn close(&mut self, out: &mut WriterOutput<'_>) {
        let json = out.json.begin_frame("event: content_block_stop\ndata: ");
        json.up_to_value(r#"{"type":"content_block_stop","index":"#).u64(self.count.saturating_sub(1));
        json.end_object().end_frame("\n\n");
    }
}

/// `"id":…,"type":"message","role":"assistant","model":…`
fn write_head(head: &ResponseHead, json: &mut JsonWriter<'_>) {
    let text = |text: &Option<Str<'static>>, otherwise| text.clone().unwrap_or(Str::escaped(otherwise));
    json.key("id").str(&text(&head.id, "msg_unknown"));
    json.up_to_value(r#""type":"message","role":"assistant","model":"#).str(&text(&head.model, "unknown"));
}

/// `"usage":{…}`; both totals are required.
fn write_usage(head: &ResponseHead, json: &mut JsonWriter<'_>) {
    let Usage { input, cache_read, cache_write, cache_write_long, output, reasoning, .. } =
        head.usage.unwrap_or_default();
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

/// The stop detail, if it is in this API's own form; details of other APIs have no field.
fn own_detail<'a>(stop: &Stopped<'a>, out: &mut WriterOutput<'_>) -> Option<&'a Raw<'a>> {
    let detail = stop.detail?;
    let mut tape = TapeBuf::default();
    let parsed = tape.parse(detail.as_str(), &Limits::default());
    if parsed.is_ok_and(|tape| tape.root().get("type").is_some_and(|kind| kind.is("refusal"))) {
        return Some(detail);
    }
    out.lose_raw(Field::StopDetail, detail, Reason::Narrowed);
    None
}

/// `"stop_reason":…,"stop_sequence":…`
fn write_stop(stop: &Stopped<'_>, detail: Option<&Raw<'_>>, json: &mut JsonWriter<'_>) {
    json.key("stop_reason").literal(stop.word).key("stop_sequence");
    match stop.sequence {
        Some(sequence) => json.str(sequence),
        None => json.null(),
    };
    json.opt_raw("stop_details", detail);
}

/// The body of an error, on its own or as a stream event.
fn write_failure(failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
    let Failure { class, status: _, code, message, request_id, retry_after: _ } = failure;
    let own = ERRORS.of_class(*class);
    out.lose_some(Field::ErrorCode, code.as_ref(), Reason::NoSlot);
    if own.is_none() {
        out.lose(Field::ErrorClass, Reason::Narrowed);
    }
    let word = own.or(ERRORS.of_class(FailureClass::Server)).map_or("", |(word, _)| word);
    out.json.up_to_value(r#"{"type":"error","error":{"type":"#).literal(word);
    out.json.key("message").open_string();
    if *class == FailureClass::ContextTooLong && !message.decode().contains(TOO_LONG) {
        out.ledger.note("message begun with the words by which clients know that the prompt is too long");
        out.json.piece(&Str::escaped(TOO_LONG)).piece(&Str::escaped(": "));
    }
    out.json.piece(message).close_string().end_object();
    out.json.opt_str("request_id", request_id.as_ref()).end_object();
}
