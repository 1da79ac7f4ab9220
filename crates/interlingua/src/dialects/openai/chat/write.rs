//! Events to messages: whole ones, gathered, and chunks of a stream.

use std::collections::BTreeMap;

use super::{CACHE, ERROR_MARK, ERRORS, Flavour, OK_MARK, ROLES, settings};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{
    Args, Author, Citation, Failure, Field, ItemId, Media, MediaSource, Of, Opaque, OpaqueKind, Request,
    Usage, issuers,
};
use crate::pipe::Target;
use crate::wire::answer::{AnswerForm, HeadPlace, ResponseHead, Stopped};
use crate::wire::assistant::{AssistantForm, CallOpening, Growth, Opening};
use crate::wire::backends::Capabilities;
use crate::wire::content::WireContent;
use crate::wire::media::write_data_url;
use crate::wire::profile::Profile;
use crate::wire::request::{GatheredMessage, PlacedMedia, RequestForm};
use crate::wire::settings::PART_MARK;
use crate::wire::turns::Speaker;

/// What is counted while a message is said.
#[derive(Default)]
struct MessageTally {
    /// Entries of `reasoning_details` so far.
    details: u64,
    /// Thoughts with text that have been completed, and the text of the one that is open.
    thoughts: u64,
    thought: String,
    /// Characters of content so far, and before the text that is open.
    characters: u64,
    text_begins: u64,
    /// The text at hand, decoded in memory that is used again.
    plain: String,
}

impl MessageTally {
    fn open_text(&mut self) {
        self.text_begins = self.characters;
    }

    fn text(&mut self, text: &Str<'_>) {
        self.plain.clear();
        text.decode_into(&mut self.plain);
        self.characters += self.plain.chars().count() as u64;
    }

    fn close(&mut self) {
        self.thoughts += u64::from(!self.thought.is_empty());
        self.thought.clear();
    }

    /// Writes an entry of `reasoning_details`. One text is all of `reasoning_content`; of several, each but the first is
    /// told again with its signature, or nobody could say where it begins.
    fn write_detail(&mut self, opaque: &Opaque<'_>, json: &mut JsonWriter<'_>) {
        let Opaque { kind, issuer, value } = opaque;
        json.object().key("index").u64(self.details).key("type");
        self.details += 1;
        match kind {
            OpaqueKind::Signature => {
                json.literal("reasoning.text");
                if self.thoughts > 0 && !self.thought.is_empty() {
                    json.key("text").literal(&self.thought);
                }
                json.key("signature").str(value);
            }
            OpaqueKind::Encrypted => _ = json.literal("reasoning.encrypted").key("data").str(value),
        }
        if !issuer.is(issuers::ANTHROPIC) {
            json.key("format").str(issuer);
        }
        json.end_object();
    }

    /// Writes an entry of `annotations`. What is said of a whole text is said of all its characters.
    fn write_annotation(&self, citation: &Citation<'_>, json: &mut JsonWriter<'_>, out: &mut Target<'_>) {
        let Citation { kind, title, source, from, to, .. } = citation;
        out.lose_some(
            Field::CitationKind,
            kind.as_ref().filter(|kind| !kind.is("url_citation")),
            Reason::Narrowed,
        );
        json.object().key("type").literal("url_citation").key("url_citation").object().key("start_index");
        let place = |json: &mut JsonWriter<'_>, known: &Option<Raw<'_>>, otherwise| {
            match known {
                Some(known) => json.raw(known),
                None => json.u64(otherwise),
            };
        };
        place(json, from, self.text_begins);
        json.key("end_index");
        place(json, to, self.characters.saturating_sub(1));
        json.key("title").str(&title.clone().unwrap_or_default());
        json.key("url").str(&source.clone().unwrap_or_default()).end_object().end_object();
    }
}

/// One message, gathered.
#[derive(Default)]
struct ChatMessage {
    content: WireContent,
    texts: SeveralTexts,
    /// The text that is open.
    text: Option<(ItemId, u32)>,
    tally: MessageTally,
    refusal: String,
    reasoning: String,
    details: JsonBuffer,
    annotations: JsonBuffer,
    calls: JsonBuffer,
    /// The last call is still open.
    in_call: bool,
}

/// What becomes of several texts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum SeveralTexts {
    /// A list of parts: in a request.
    #[default]
    Listed,
    /// One string: a response has no list.
    Joined,
}

impl AssistantForm for ChatMessage {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        self.texts == SeveralTexts::Joined && citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut Target<'_>) {
        match opening {
            Opening::Text(item, part) => {
                self.tally.open_text();
                self.text = Some((item, part));
                if self.texts == SeveralTexts::Joined {
                    self.text = Some((ItemId(0), 0));
                    if !self.content.is_empty() {
                        out.ledger.note("texts of one message joined");
                    }
                }
            }
            Opening::Thinking => {}
            Opening::Encrypted(opaque) => self.tally.write_detail(opaque, &mut self.details.hold()),
            Opening::Call(CallOpening { id, name, free_text, .. }) => {
                let mut json = self.calls.hold();
                json.up_to_value("{\"id\":").str(id);
                let (kind, arguments) = if free_text {
                    (r#""type":"custom","custom":{"name":"#, r#""input":"#)
                } else {
                    (r#""type":"function","function":{"name":"#, r#""arguments":"#)
                };
                json.up_to_value(kind).str(name).up_to_value(arguments).open_string();
                self.in_call = true;
            }
        }
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut Target<'_>) {
        match growth {
            Growth::Text(text) => {
                // A request has no annotations that could point into its texts.
                if self.texts == SeveralTexts::Joined {
                    self.tally.text(text);
                }
                if let Some((item, part)) = self.text {
                    self.content.text(item, part, text, out);
                }
            }
            Growth::Refusal(text) => self.refusal.push_str(text.as_escaped()),
            Growth::Thinking(text) => {
                self.tally.thought.push_str(text.as_escaped());
                self.reasoning.push_str(text.as_escaped());
            }
            Growth::Signature(opaque) => self.tally.write_detail(opaque, &mut self.details.hold()),
            Growth::Arguments(Args::Text(text)) => _ = self.calls.hold().piece(text),
            Growth::Arguments(Args::Json(json)) => _ = self.calls.hold().plain_piece(json.as_str()),
            Growth::Citation(citation) => {
                self.tally.write_annotation(citation, &mut self.annotations.hold(), out);
            }
            Growth::Cache(mark) => {
                if let Some((item, part)) = self.text
                    && self.content.add_members(item, part, |json| CACHE.write(mark, json))
                {
                    CACHE.lose_rest(mark, PART_MARK, out);
                }
            }
        }
    }

    fn close(&mut self, _: &mut Target<'_>) {
        self.tally.close();
        if std::mem::take(&mut self.in_call) {
            self.calls.hold().close_string().end_object().end_object();
        }
    }
}

impl ChatMessage {
    fn answer() -> Self {
        Self { texts: SeveralTexts::Joined, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.refusal.is_empty()
            && self.reasoning.is_empty()
            && self.details.bytes().is_empty()
            && self.calls.bytes().is_empty()
    }

    /// Writes the message and forgets it.
    fn write(&mut self, out: &mut Target<'_>) {
        self.content.end(out);
        let json = &mut out.json;
        json.up_to_value(r#"{"role":"assistant","content":"#);
        match (self.content.is_empty(), self.texts, self.calls.bytes().is_empty() && self.refusal.is_empty())
        {
            (false, _, _) => self.content.write(json),
            // In a request only calls or a refusal can stand for content.
            (true, SeveralTexts::Listed, true) => _ = json.literal(""),
            (true, _, _) => _ = json.null(),
        }
        if !self.refusal.is_empty() {
            json.key("refusal").literal(&self.refusal);
        }
        if !self.reasoning.is_empty() {
            json.key("reasoning_content").literal(&self.reasoning);
        }
        let lists = [
            ("reasoning_details", &mut self.details),
            ("annotations", &mut self.annotations),
            ("tool_calls", &mut self.calls),
        ];
        for (name, list) in lists {
            if !list.bytes().is_empty() {
                json.key(name).array().values(list.bytes()).end_array();
            }
            list.clear();
        }
        json.end_object();
        self.refusal.clear();
        self.reasoning.clear();
        self.tally = MessageTally::default();
    }
}

/// A request. Settings first, then `messages`, each written as soon as it is complete.
///
/// A user's message that holds results becomes `tool` messages, then a user message with the rest. `tool` messages
/// take text only: what else a result holds follows, labelled, in one user message after all results of that turn.
pub(super) struct ChatRequest {
    flavour: &'static Flavour,
    assistant: ChatMessage,
    /// Media of results, for the user message after them.
    media: WireContent,
    media_count: u32,
    /// Messages that must wait until all calls are answered.
    deferred: JsonBuffer,
}

impl ChatRequest {
    pub(super) fn new(flavour: &'static Flavour) -> Self {
        Self {
            flavour,
            assistant: ChatMessage::default(),
            media: WireContent::default(),
            media_count: 0,
            deferred: JsonBuffer::default(),
        }
    }
}

impl RequestForm for ChatRequest {
    fn profile(&self) -> &'static Profile {
        self.flavour.backend
    }

    fn settings(&mut self, request: &Request<'_>, takes: &'static Capabilities, out: &mut Target<'_>) {
        settings::write(request, self.flavour, takes, out);
    }

    fn assistant(&mut self) -> &mut dyn AssistantForm {
        &mut self.assistant
    }

    fn end_assistant(&mut self, _: bool, out: &mut Target<'_>) -> bool {
        let said = !self.assistant.is_empty();
        if said {
            self.assistant.write(out);
        }
        said
    }

    fn media(&mut self, placed: PlacedMedia<'_>, content: &mut WireContent, out: &mut Target<'_>) {
        let PlacedMedia { of, call, delta, media } = placed;
        let mut part = JsonBuffer::default();
        if let Err(reason) = write_media(media, &mut part.hold(), out) {
            return out.lose_part(of, &delta.value, reason);
        }
        if of != Of::Result {
            return content.item_part(delta.item, delta.part, &part, out);
        }
        out.ledger.note("media of a tool result moved into a user message after the results");
        self.media_count += 1;
        let number = self.media_count;
        // The id is escaped already, and the words around it need no escaping.
        let label = format!("[attachment {number}, from the result of {call}]");
        self.media.text(ItemId(0), number, &Str::escaped(&label), out);
        self.media.part(out).values(part.bytes());
        let here = format!("[attachment {number}: see the next user message]");
        content.text(delta.item, delta.part, &Str::escaped(&here), out);
        content.end(out);
    }

    fn message(&mut self, message: GatheredMessage<'_>, out: &mut Target<'_>) {
        let GatheredMessage { author, content, waited: _, waits } = message;
        if content.is_empty() {
            // A message that says nothing is left out.
            return out.lose(Field::ItemAuthor, Reason::Redundant);
        }
        if !waits {
            self.settle(Speaker::User, out);
            return write_message(author, content, &mut out.json);
        }
        write_message(author, content, &mut self.deferred.hold());
    }

    fn result(&mut self, id: &str, is_error: Option<bool>, content: &mut WireContent, out: &mut Target<'_>) {
        let mark = if is_error == Some(true) {
            out.ledger.note("failed result marked with `[tool error]`");
            ERROR_MARK
        } else if content.begins_with(ERROR_MARK) || content.begins_with(OK_MARK) {
            OK_MARK
        } else {
            ""
        };
        if is_error == Some(false) {
            out.lose(Field::ResultIsError, Reason::Redundant);
        }
        let json = out.json.up_to_value(r#"{"role":"tool","tool_call_id":"#).literal(id);
        content.write_marked(mark, json.key("content"));
        out.json.end_object();
    }

    /// Writes what had to wait for the results.
    fn settle(&mut self, _: Speaker, out: &mut Target<'_>) {
        if !self.media.is_empty() {
            self.media.end(out);
            write_message(Author::User, &mut self.media, &mut out.json);
            self.media_count = 0;
        }
        self.deferred.pour_members(&mut out.json);
    }

    fn end(&mut self, out: &mut Target<'_>) {
        out.json.end_array().end_object();
    }
}

fn write_message(author: Author, content: &mut WireContent, json: &mut JsonWriter<'_>) {
    json.object().key("role").literal(ROLES.word(author).unwrap_or("user"));
    content.write(json.key("content"));
    json.end_object();
}

/// Writes a part with media, or says why the API takes no such thing.
fn write_media(media: &Media<'_>, json: &mut JsonWriter<'_>, out: &mut Target<'_>) -> Result<(), Reason> {
    // Whether to cite it has no place, as the table says.
    let Media { media_type, source, name, context, citable: _, detail } = media;
    out.lose_some(Field::MediaContext, context.as_ref(), Reason::NoSlot);
    let known = media_type.as_ref().map(Str::decode);
    let (kind, data) = match (known.as_deref(), source) {
        (kind, MediaSource::Url(url)) if kind.is_none_or(|kind| kind.starts_with("image/")) => {
            json.up_to_value(r#"{"type":"image_url","image_url":{"url":"#).str(url);
            json.opt_str("detail", detail.as_ref()).end_object().end_object();
            out.lose_some(Field::MediaType, media_type.as_ref(), Reason::Narrowed);
            out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
            return Ok(());
        }
        (Some(kind), MediaSource::Base64(data)) => (kind, data),
        // Each provider has its own store of files.
        (_, MediaSource::File(_)) => return Err(Reason::Foreign),
        (_, MediaSource::Url(_) | MediaSource::Base64(_) | MediaSource::Text(_)) => {
            return Err(Reason::NoSlot);
        }
    };
    let media_type = Str::plain(kind);
    let part = match kind {
        "audio/wav" | "audio/mpeg" => "input_audio",
        "application/pdf" => "file",
        kind if kind.starts_with("image/") => "image_url",
        _ => return Err(Reason::NoSlot),
    };
    json.object().key("type").literal(part).key(part).object();
    match part {
        "input_audio" => {
            json.key("data").str(data);
            json.key("format").literal(if kind == "audio/wav" { "wav" } else { "mp3" });
        }
        "file" => {
            if name.is_none() {
                out.ledger.note("document without a name called `document.pdf`");
            }
            json.key("filename").str(&name.clone().unwrap_or(Str::escaped("document.pdf")));
            write_data_url(&media_type, data, json.key("file_data"));
        }
        _ => {
            write_data_url(&media_type, data, json.key("url"));
            json.opt_str("detail", detail.as_ref());
        }
    }
    json.end_object().end_object();
    out.lose_some(Field::MediaName, name.as_ref().filter(|_| part != "file"), Reason::NoSlot);
    out.lose_some(Field::MediaDetail, detail.as_ref().filter(|_| part != "image_url"), Reason::NoSlot);
    Ok(())
}

/// A whole response, or an error in its place. Nothing is written before the end is known.
pub(super) struct Completion {
    flavour: &'static Flavour,
    choices: BTreeMap<u64, (ChatMessage, Option<&'static str>)>,
}

impl Completion {
    pub(super) const fn new(flavour: &'static Flavour) -> Self {
        Self { flavour, choices: BTreeMap::new() }
    }
}

impl AnswerForm for Completion {
    const HEAD: HeadPlace = HeadPlace::Last;
    const SEVERAL: bool = true;

    fn profile(&self) -> &'static Profile {
        self.flavour.client
    }

    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm {
        &mut self.choices.entry(answer).or_insert_with(|| (ChatMessage::answer(), None)).0
    }

    fn end_answer(&mut self, answer: u64, stop: &Stopped<'_>, _: &mut Target<'_>) {
        self.choices.entry(answer).or_insert_with(|| (ChatMessage::answer(), None)).1 = Some(stop.word);
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut Target<'_>) {
        lose_time(head, out);
        self.end_answer(0, stop, out);
        write_head("chat.completion", head, out.json.object());
        out.json.key("choices").array();
        for (number, (message, reason)) in &mut self.choices {
            out.json.object().key("index").u64(*number).key("message");
            message.write(out);
            out.json.key("finish_reason").literal(reason.unwrap_or("stop")).end_object();
        }
        out.json.end_array();
        write_usage(head, &mut out.json);
        out.json.end_object();
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        write_failure(failure, out);
    }
}

/// A stream of chunks, each with the same head. Clients join the strings of deltas, so whatever is not meant to grow is
/// said once: the role in the first chunk, id and name in a call's first fragment. Usage comes last, then `[DONE]`; after
/// an error nothing.
pub(super) struct Chunks {
    flavour: &'static Flavour,
    head: JsonBuffer,
    /// The answer that speaks.
    answer: u64,
    choices: BTreeMap<u64, ChunkedChoice>,
}

/// What is remembered of an answer.
#[derive(Default)]
struct ChunkedChoice {
    /// Its first chunk, which says the role, is written.
    begun: bool,
    tally: MessageTally,
    /// The number of the call whose arguments come.
    call: u64,
}

impl Chunks {
    pub(super) fn new(flavour: &'static Flavour) -> Self {
        Self { flavour, head: JsonBuffer::default(), answer: 0, choices: BTreeMap::new() }
    }
}

impl AnswerForm for Chunks {
    const HEAD: HeadPlace = HeadPlace::First;
    const SEVERAL: bool = true;
    const USAGE_ON_REQUEST: bool = true;

    fn profile(&self) -> &'static Profile {
        self.flavour.stream_client
    }

    fn begin(&mut self, head: &ResponseHead, out: &mut Target<'_>) {
        lose_time(head, out);
        write_head("chat.completion.chunk", head, &mut self.head.hold());
        self.chunk(None, out, |_, json| _ = json.key("content").literal(""));
    }

    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm {
        self.answer = answer;
        self
    }

    fn end_answer(&mut self, answer: u64, stop: &Stopped<'_>, out: &mut Target<'_>) {
        self.answer = answer;
        self.chunk(Some(stop.word), out, |_, _| {});
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut Target<'_>) {
        self.end_answer(0, stop, out);
        if head.usage.is_some() {
            self.begin_chunk(out).with_value(r#""choices":[]"#);
            write_usage(head, &mut out.json);
            out.json.end_object().frame("\n\n");
        }
        out.json.frame("data: [DONE]\n\n");
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        out.json.frame("data: ");
        write_failure(failure, out);
        out.json.frame("\n\n");
    }
}

impl Chunks {
    fn begin_chunk<'a, 'o>(&self, out: &'a mut Target<'o>) -> &'a mut JsonWriter<'o> {
        out.json.frame("data: ").object().values(self.head.bytes())
    }

    fn chunk(
        &mut self,
        reason: Option<&str>,
        out: &mut Target<'_>,
        write: impl FnOnce(&mut ChunkedChoice, &mut JsonWriter<'_>),
    ) {
        let json = self.begin_chunk(out).up_to_value(r#""choices":[{"index":"#).u64(self.answer);
        json.up_to_value("\"delta\":{");
        let choice = self.choices.entry(self.answer).or_default();
        if !std::mem::replace(&mut choice.begun, true) {
            json.key("role").literal("assistant");
        }
        write(choice, json);
        json.end_object().key("finish_reason");
        match reason {
            Some(reason) => json.literal(reason),
            None => json.null(),
        };
        json.frame("}]}\n\n");
    }

    fn tally(&mut self) -> &mut MessageTally {
        &mut self.choices.entry(self.answer).or_default().tally
    }

    fn detail(&mut self, opaque: &Opaque<'_>, out: &mut Target<'_>) {
        self.chunk(None, out, |choice, json| {
            choice.tally.write_detail(opaque, json.key("reasoning_details").array());
            json.end_array();
        });
    }
}

impl AssistantForm for Chunks {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut Target<'_>) {
        match opening {
            Opening::Text(..) => self.tally().open_text(),
            Opening::Thinking => {}
            Opening::Encrypted(opaque) => self.detail(opaque, out),
            Opening::Call(CallOpening { number, id, name, .. }) => {
                self.chunk(None, out, |choice, json| {
                    choice.call = number;
                    json.up_to_value(r#""tool_calls":[{"index":"#).u64(number).key("id").str(id);
                    json.up_to_value(r#""type":"function","function":{"name":"#).str(name);
                    json.with_value(r#""arguments":""}}]"#);
                });
            }
        }
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut Target<'_>) {
        match growth {
            Growth::Text(text) => self.chunk(None, out, |choice, json| {
                choice.tally.text(text);
                json.key("content").str(text);
            }),
            Growth::Refusal(text) => self.chunk(None, out, |_, json| _ = json.key("refusal").str(text)),
            // Reasoning that is only signed has an empty text.
            Growth::Thinking(text) if text.is_empty() => {}
            Growth::Thinking(text) => self.chunk(None, out, |choice, json| {
                choice.tally.thought.push_str(text.as_escaped());
                json.key("reasoning_content").str(text);
            }),
            Growth::Signature(opaque) => self.detail(opaque, out),
            Growth::Arguments(args) => self.chunk(None, out, |choice, json| {
                json.up_to_value(r#""tool_calls":[{"index":"#).u64(choice.call);
                json.up_to_value(r#""function":{"arguments":"#);
                match args {
                    Args::Text(text) => json.str(text),
                    Args::Json(object) => json.json_in_string(object),
                };
                json.end_object().end_object().end_array();
            }),
            Growth::Citation(citation) => {
                let mut annotation = JsonBuffer::default();
                self.tally().write_annotation(citation, &mut annotation.hold(), out);
                self.chunk(None, out, |_, json| {
                    json.key("annotations").array().values(annotation.bytes()).end_array();
                });
            }
            // An answer has no marks, as the profile of its clients says.
            Growth::Cache(_) => {}
        }
    }

    fn close(&mut self, _: &mut Target<'_>) {
        self.tally().close();
    }
}

/// `"id":…,"object":…,"created":…,"model":…`
fn write_head(object: &str, head: &ResponseHead, json: &mut JsonWriter<'_>) {
    let text = |text: &Option<Str<'static>>, otherwise| text.clone().unwrap_or(Str::escaped(otherwise));
    json.key("id").str(&text(&head.id, "chatcmpl-unknown")).key("object").literal(object).key("created");
    match head.time.as_ref().filter(|time| is_seconds(time)) {
        Some(time) => json.raw(time),
        None => json.u64(0),
    };
    json.key("model").str(&text(&head.model, "unknown"));
}

/// Books a time that has no place in a head.
fn lose_time(head: &ResponseHead, out: &mut Target<'_>) {
    if let Some(time) = head.time.as_ref().filter(|time| !is_seconds(time)) {
        out.lose_raw(Field::TurnTime, time, Reason::Narrowed);
    }
}

fn is_seconds(time: &Raw<'_>) -> bool {
    time.as_str().bytes().all(|byte| byte.is_ascii_digit())
}

/// `"usage":{…}`, if there is any.
fn write_usage(head: &ResponseHead, json: &mut JsonWriter<'_>) {
    let Some(usage) = head.usage else { return };
    let Usage { cache_read, cache_write, input_audio, output, reasoning, output_audio, .. } = usage;
    let (prompt, completion) = (usage.all_input().unwrap_or(0), output.unwrap_or(0));
    json.key("usage").object().key("prompt_tokens").u64(prompt).key("completion_tokens").u64(completion);
    json.key("total_tokens").u64(prompt.saturating_add(completion));
    if cache_read.or(cache_write).or(input_audio).is_some() {
        json.key("prompt_tokens_details").object().opt_u64("cached_tokens", cache_read);
        json.opt_u64("cache_write_tokens", cache_write).opt_u64("audio_tokens", input_audio).end_object();
    }
    if reasoning.or(output_audio).is_some() {
        json.key("completion_tokens_details").object().opt_u64("reasoning_tokens", reasoning);
        json.opt_u64("audio_tokens", output_audio).end_object();
    }
    json.end_object();
}

/// `{"error":{…}}`
fn write_failure(failure: &Failure<'_>, out: &mut Target<'_>) {
    let Failure { class, status: _, code, message, request_id: _, retry_after: _ } = failure;
    let (kind, of_class) = ERRORS.of_class(*class).unwrap_or(("error", None));
    out.json.object().key("error").object().key("message").str(message).key("type").literal(kind);
    out.json.key("param").null().key("code");
    match (code, of_class) {
        (Some(code), _) => out.json.str(code),
        (None, Some(code)) => out.json.literal(code),
        (None, None) => out.json.null(),
    };
    out.json.end_object().end_object();
}
