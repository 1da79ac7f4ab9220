//! Writes events as contents with parts: whole contents, and chunks of a stream.

use std::collections::BTreeMap;

use super::super::parts::{carried, write_media};
use super::citations::{AnswerSoFar, Grounding};
use super::parts::{GatheredCall, PartList, STATE};
use super::{BACKEND, CLIENT, TEXTS, TO_COUNT, errors, settings};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str, is_rfc3339};
use crate::ledger::{Ledger, Reason};
use crate::model::{Author, Citation, Delta, Failure, Field, ItemId, ItemKindTag, Opaque, Request, Usage};
use crate::pipe::WriterOutput;
use crate::tape::TapeBuf;
use crate::wire::answer::{AnswerForm, HeadPlace, ResponseHead, Stopped};
use crate::wire::assistant::{AssistantForm, Growth, Opening};
use crate::wire::backends::{ModelCapabilities, SharedBackend, SystemPlaces};
use crate::wire::content::WireContent;
use crate::wire::is_object;
use crate::wire::narrow::Narrowing;
use crate::wire::profile::Profile;
use crate::wire::request::{GatheredMessage, PlacedMedia, RequestForm};
use crate::wire::turns::Speaker;

/// Writes a request: settings, then `systemInstruction`, then `contents`. Each user turn is one content with results
/// first. A later system message becomes marked text at its position.
pub(super) struct GenerateRequest {
    takes: ModelCapabilities,
    /// Whether `contents` is open; before that, system messages go to `systemInstruction`.
    contents: bool,
    system: WireContent,
    assistant: PartList,
    /// Whether the user's turn is open; the turn begins with results.
    in_user: bool,
    /// The other content of the user's turn.
    said: WireContent,
    /// The open result: a JSON value that is the whole result, and media.
    value: Option<String>,
    media: JsonBuffer,
    media_count: u32,
    /// The contents since the last user text, and the byte offsets at which first calls lack state.
    recent: JsonBuffer,
    gaps: Vec<usize>,
    tape: TapeBuf,
    /// Whether this is a count request, which wraps the request.
    counts: bool,
}

impl GenerateRequest {
    /// A count request.
    pub(super) fn to_count() -> Self {
        Self { counts: true, ..Self::default() }
    }
}

impl Default for GenerateRequest {
    fn default() -> Self {
        Self {
            takes: SharedBackend::from(BACKEND.vendor).default_capabilities(),
            contents: false,
            system: WireContent::new(TEXTS),
            assistant: PartList::default(),
            in_user: false,
            said: WireContent::new(TEXTS),
            value: None,
            media: JsonBuffer::default(),
            media_count: 0,
            recent: JsonBuffer::default(),
            gaps: Vec::new(),
            tape: TapeBuf::default(),
            counts: false,
        }
    }
}

impl RequestForm for GenerateRequest {
    fn profile(&self) -> &'static Profile {
        &BACKEND
    }

    fn narrow(&self, settings: &mut Narrowing<'_, '_, '_>) {
        settings::narrow(settings);
    }

    fn settings(&mut self, request: &Request<'_>, takes: &ModelCapabilities, out: &mut WriterOutput<'_>) {
        self.takes = takes.clone();
        if self.counts {
            out.json.object().key(TO_COUNT[0]);
        }
        settings::write(request, takes, &mut out.json);
    }

    fn assistant(&mut self) -> &mut dyn AssistantForm {
        &mut self.assistant
    }

    fn end_assistant(&mut self, _: bool, out: &mut WriterOutput<'_>) -> bool {
        let said = !self.assistant.is_empty();
        if said {
            self.open_contents(out);
            let needs = self.takes.call_state.is_some();
            let mut held = if needs { self.recent.hold() } else { out.json.reborrow() };
            held.up_to_value(r#"{"role":"model","parts":["#);
            let gap = self.assistant.write(needs, &mut held, out.ledger);
            held.end_array().end_object();
            self.gaps.extend(gap.and_then(|gap| usize::try_from(gap).ok()));
        }
        said
    }

    fn media(&mut self, placed: PlacedMedia<'_>, content: &mut WireContent, out: &mut WriterOutput<'_>) {
        let PlacedMedia { of, call, delta, media } = placed;
        let mut part = JsonBuffer::default();
        if let Err(reason) = write_media(media, &mut part.hold(), out) {
            return out.lose_part(of, &delta.value, reason);
        }
        if of != ItemKindTag::Result {
            return content.item_part(delta.item, delta.part, &part, out);
        }
        if self.takes.media_in_results {
            self.media.hold().values(part.bytes());
            return;
        }
        out.ledger.note("media of a tool result moved behind the results");
        self.media_count += 1;
        let number = self.media_count;
        // The id is already escaped, and the words around it need no escapes.
        let label = format!("[attachment {number}, from the result of {call}]");
        self.said.text(ItemId(0), number, &Str::escaped(&label), out);
        self.said.part(out).values(part.bytes());
        let here = format!("[attachment {number}: see below]");
        content.text(delta.item, delta.part, &Str::escaped(&here), out);
        content.end(out);
    }

    /// An object that is the whole result becomes the response itself. The API fails on schema references in a
    /// response.
    fn json(
        &mut self,
        delta: &Delta<'_>,
        json: &Raw<'_>,
        content: &mut WireContent,
        out: &mut WriterOutput<'_>,
    ) {
        let is_result = self.value.is_none() && content.is_empty();
        if is_result && !json.as_str().contains("$ref") && !json.as_str().contains("$defs") {
            self.value = Some(json.as_str().to_owned());
            return;
        }
        out.ledger.note("JSON content written as text");
        content.text(delta.item, delta.part, &Str::plain(json.as_str()), out);
    }

    fn message(&mut self, message: GatheredMessage<'_>, out: &mut WriterOutput<'_>) {
        let GatheredMessage { author, narrowed, content, waited: _, waits: _ } = message;
        if let Some(value) = self.value.take() {
            out.ledger.note("JSON content written as text");
            content.text(ItemId(0), u32::MAX, &Str::plain(&value), out);
            content.end(out);
        }
        if content.is_empty() {
            // An empty message is left out.
            return;
        }
        let begun = self.contents || !self.said.is_empty();
        if author == Author::System && !begun && self.takes.system != SystemPlaces::Nowhere {
            return self.system.absorb(content);
        }
        if author == Author::System {
            if !narrowed {
                out.lose(Field::ItemAuthor, Reason::Narrowed);
            }
            out.ledger.note("system message written as marked user text, where it stood");
            self.said.text(ItemId(0), u32::MAX - 1, &Str::escaped("<system>"), out);
            self.said.end(out);
            self.said.absorb(content);
            self.said.text(ItemId(0), u32::MAX, &Str::escaped("</system>"), out);
            return self.said.end(out);
        }
        if !self.said.is_empty() {
            out.lose(Field::ItemAuthor, Reason::Merged);
            out.ledger.note("user messages in a row joined");
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
        let is_failed = is_error == Some(true);
        if is_error == Some(false) {
            out.lose(Field::ResultIsError, Reason::Redundant);
        }
        let mut value = self.value.take().map(Raw::owned);
        if !content.is_empty()
            && let Some(value) = value.take()
        {
            out.ledger.note("JSON content written as text");
            content.text(ItemId(0), u32::MAX, &Str::plain(value.as_str()), out);
            content.end(out);
        }
        self.open_user(out);
        let name = self.assistant.calls.of(id);
        let mut json = if self.takes.call_state.is_some() { self.recent.hold() } else { out.json.reborrow() };
        json.up_to_value(r#"{"functionResponse":{"id":"#)
            .literal(id)
            .key("name")
            .literal(name)
            .key("response");
        let key = if is_failed { "error" } else { "output" };
        match &value {
            // An object is the response itself, unless a failed result needs an `error` member.
            Some(object) if is_object(&mut self.tape, object.as_str()) => {
                if is_failed && !object.as_str().contains("\"error\"") {
                    json.object().key(key).raw(object).end_object();
                } else {
                    json.raw(object);
                }
            }
            Some(value) => _ = json.object().key(key).raw(value).end_object(),
            None => write_output(key, content, &mut json, out.ledger),
        }
        if !self.media.bytes().is_empty() {
            json.key("parts").array().values(self.media.bytes()).end_array();
            self.media.clear();
        }
        json.end_object().end_object();
    }

    /// The user's turn continues until the assistant's turn begins.
    fn settle(&mut self, next: Speaker, out: &mut WriterOutput<'_>) {
        if next != Speaker::User {
            self.end_user(out);
        }
    }

    fn end(&mut self, out: &mut WriterOutput<'_>) {
        if let Some(state) = &self.takes.call_state {
            let (bytes, mut from) = (self.recent.bytes(), 0);
            if !bytes.is_empty() {
                out.json.begin_raw();
            }
            for gap in &self.gaps {
                out.ledger
                    .note("first call of a turn that another model made got the word that stands for state");
                out.json.bytes(bytes.get(from..*gap).unwrap_or_default());
                out.json.bytes(format!(",\"{STATE}\":\"{state}\"").as_bytes());
                from = *gap;
            }
            out.json.bytes(bytes.get(from..).unwrap_or_default());
            self.recent.clear();
        }
        self.pour(out);
        out.json.end_array().end_object();
        if self.counts {
            out.json.end_object();
        }
    }
}

/// `{"output":"…"}` or `{"error":"…"}`
fn write_output(key: &str, content: &mut WireContent, json: &mut JsonWriter<'_>, ledger: &mut Ledger) {
    if content.write_lines(json.object().key(key)) > 1 {
        ledger.note("texts of one result joined");
    }
    json.end_object();
}

impl GenerateRequest {
    fn end_user(&mut self, out: &mut WriterOutput<'_>) {
        self.media_count = 0;
        // The results belonged to the calls of the previous turn.
        self.assistant.calls.clear();
        if !self.in_user && self.said.is_empty() {
            return;
        }
        self.open_user(out);
        let speaks = !self.said.is_empty();
        let mut json = if self.takes.call_state.is_some() { self.recent.hold() } else { out.json.reborrow() };
        self.said.write_parts(&mut json);
        json.end_array().end_object();
        self.in_user = false;
        if speaks {
            // Only calls since the last user text require state.
            self.pour(out);
        }
    }

    /// Opens the user's turn, unless it is open.
    fn open_user(&mut self, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.in_user, true) {
            self.open_contents(out);
            let needs = self.takes.call_state.is_some();
            let mut json = if needs { self.recent.hold() } else { out.json.reborrow() };
            json.up_to_value(r#"{"role":"user","parts":["#);
        }
    }

    /// Writes the contents that were held back.
    fn pour(&mut self, out: &mut WriterOutput<'_>) {
        self.recent.pour_members(&mut out.json);
        self.gaps.clear();
    }

    /// Opens `contents`, once.
    fn open_contents(&mut self, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.contents, true) {
            if !self.system.is_empty() {
                out.json.up_to_value(r#""systemInstruction":{"parts":["#);
                self.system.write_parts(&mut out.json);
                out.json.end_array().end_object();
            }
            out.json.key("contents").array();
        }
    }
}

/// A whole response, or an error in its place. All output waits for the end of the response.
#[derive(Default)]
pub(super) struct WholeCandidates {
    candidates: BTreeMap<u64, (PartList, JsonBuffer)>,
}

impl WholeCandidates {
    fn candidate(&mut self, answer: u64) -> &mut (PartList, JsonBuffer) {
        self.candidates.entry(answer).or_insert_with(|| (PartList::answer(), JsonBuffer::default()))
    }
}

impl AnswerForm for WholeCandidates {
    const HEAD: HeadPlace = HeadPlace::Last;
    const SEVERAL: bool = true;

    fn profile(&self) -> &'static Profile {
        &CLIENT
    }

    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm {
        &mut self.candidate(answer).0
    }

    fn end_answer(&mut self, answer: u64, stop: &Stopped<'_>, out: &mut WriterOutput<'_>) {
        let held = &mut self.candidate(answer).1;
        write_stop(stop, &mut held.hold(), out);
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.end_answer(0, stop, out);
        out.json.object().key("candidates").array();
        for (number, (parts, stop)) in &mut self.candidates {
            out.json.object();
            // A candidate that stopped before its first part has no content.
            if !parts.is_empty() {
                out.json.up_to_value(r#""content":{"parts":["#);
                parts.write(false, &mut out.json, out.ledger);
                out.json.end_array().key("role").literal("model").end_object();
            }
            stop.pour_members(&mut out.json);
            parts.write_grounding(&mut out.json);
            out.json.key("index").u64(*number).end_object();
        }
        out.json.end_array();
        write_usage(head, out);
        write_head(head, out);
        out.json.end_object();
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        errors::write(failure, out);
    }
}

/// A stream of responses, each with the new content. A call is whole in a single chunk. The last chunk holds the finish
/// reason and the usage; an error ends the stream.
#[derive(Default)]
pub(super) struct ResponseChunks {
    head: JsonBuffer,
    /// Whether a chunk has been written; each chunk repeats the head.
    has_chunk: bool,
    /// The number of the current candidate.
    answer: u64,
    candidates: BTreeMap<u64, StreamedCandidate>,
}

/// The state of one candidate.
#[derive(Default)]
struct StreamedCandidate {
    /// State for the next text or call.
    state: Option<String>,
    open: OpenChunk,
    call: GatheredCall,
    said: AnswerSoFar,
    grounding: Grounding,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum OpenChunk {
    #[default]
    Nothing,
    Thinking,
    Call,
}

impl AnswerForm for ResponseChunks {
    const HEAD: HeadPlace = HeadPlace::First;
    const SEVERAL: bool = true;

    fn profile(&self) -> &'static Profile {
        &CLIENT
    }

    fn begin(&mut self, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.head.clear();
        write_head(head, &mut out.redirected(self.head.hold()));
    }

    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm {
        self.answer = answer;
        self
    }

    fn end_answer(&mut self, answer: u64, stop: &Stopped<'_>, out: &mut WriterOutput<'_>) {
        self.answer = answer;
        self.last_chunk(stop, out);
        self.end_chunk(out);
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.answer = 0;
        self.last_chunk(stop, out);
        write_usage(head, out);
        self.end_chunk(out);
    }

    fn tell_counts_of_failed(&mut self, head: &ResponseHead, out: &mut WriterOutput<'_>) -> bool {
        let is_head_unwritten = !self.has_chunk && !self.head.bytes().is_empty();
        if head.usage.is_some() || is_head_unwritten {
            out.json.begin_frame("data: ").object();
            write_usage(head, out);
            self.end_chunk(out);
        }
        true
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        out.json.begin_frame("data: ");
        errors::write(failure, out);
        out.json.end_frame("\n\n");
    }
}

impl ResponseChunks {
    fn candidate(&mut self) -> &mut StreamedCandidate {
        self.candidates.entry(self.answer).or_default()
    }

    /// Writes a chunk with one part; `write` writes the part's members.
    fn chunk(
        &mut self,
        out: &mut WriterOutput<'_>,
        write: impl FnOnce(&mut StreamedCandidate, &mut WriterOutput<'_>),
    ) {
        out.json.begin_frame("data: ").up_to_value(r#"{"candidates":[{"content":{"parts":[{"#);
        let answer = self.answer;
        write(self.candidate(), out);
        out.json.end_object().frame(r#"],"role":"model"},"index":"#);
        Self::end_candidate(answer, out);
        self.end_chunk(out);
    }

    fn end_candidate(answer: u64, out: &mut WriterOutput<'_>) {
        out.json.frame("");
        out.json.u64(answer).end_object().end_array();
    }

    fn end_chunk(&mut self, out: &mut WriterOutput<'_>) {
        self.has_chunk = true;
        if !self.head.bytes().is_empty() {
            out.json.values(self.head.bytes());
        }
        out.json.end_object().end_frame("\n\n");
    }

    /// Writes the last chunk of a candidate. It has an empty text, because clients treat a response without parts as
    /// broken.
    fn last_chunk(&mut self, stop: &Stopped<'_>, out: &mut WriterOutput<'_>) {
        let answer = self.answer;
        let mut said = JsonBuffer::default();
        write_stop(stop, &mut said.hold(), out);
        let candidate = self.candidate();
        out.json.begin_frame("data: ").up_to_value(r#"{"candidates":[{"content":{"parts":[{"text":"""#);
        out.json.frame("");
        if let Some(state) = candidate.state.take() {
            out.json.frame(",").key(STATE).literal(&state);
        }
        out.json.end_object().frame(r#"],"role":"model"},"#).values(said.bytes());
        candidate.grounding.write(&mut out.json);
        out.json.key("index");
        Self::end_candidate(answer, out);
    }

    /// Writes state without a following part on an empty text.
    fn flush_state(&mut self, out: &mut WriterOutput<'_>) {
        if self.candidate().state.is_some() {
            self.text(r#""text":"#, &Str::default(), out);
        }
    }

    /// Writes a text, with the waiting state.
    fn text(&mut self, member: &'static str, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        self.chunk(out, |candidate, out| candidate.write_text(member, text, out));
    }

    fn hold_state(&mut self, opaque: &Opaque<'_>) {
        self.candidate().state = Some(carried(opaque).as_escaped().to_owned());
    }
}

impl StreamedCandidate {
    /// Writes the members of a text, with the waiting state.
    fn write_text(&mut self, member: &'static str, text: &Str<'_>, out: &mut WriterOutput<'_>) {
        out.json.frame("").up_to_value(member).str(text);
        if let Some(state) = self.state.take() {
            out.json.key(STATE).literal(&state);
        }
    }
}

/// The members of a thought part, up to its text.
const THOUGHT: &str = r#""thought":true,"text":"#;

impl AssistantForm for ResponseChunks {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>) {
        let open = match opening {
            Opening::Text(..) => {
                self.candidate().said.open();
                OpenChunk::Nothing
            }
            Opening::Thinking => {
                self.flush_state(out);
                OpenChunk::Thinking
            }
            Opening::Encrypted(opaque) => {
                self.flush_state(out);
                self.hold_state(opaque);
                OpenChunk::Nothing
            }
            Opening::Call(call) => {
                self.candidate().call.begin(&call);
                OpenChunk::Call
            }
        };
        self.candidate().open = open;
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        match growth {
            // The API has no separate refusals.
            Growth::Text(text) | Growth::Refusal(text) => {
                self.chunk(out, |candidate, out| {
                    candidate.said.add(text);
                    candidate.write_text(r#""text":"#, text, out);
                });
            }
            // Reasoning with only a signature has an empty text.
            Growth::Thinking(text) if text.is_empty() => {}
            Growth::Thinking(text) => self.text(THOUGHT, text, out),
            Growth::Signature(opaque) => {
                self.hold_state(opaque);
                self.text(THOUGHT, &Str::default(), out);
            }
            Growth::Arguments(args) => self.candidate().call.add(args),
            Growth::Citation(citation) => {
                let StreamedCandidate { said, grounding, .. } = self.candidate();
                grounding.add(citation, said, out);
            }
            // The API has no cache marks (see the profile).
            Growth::Cache(_) => {}
        }
    }

    fn close(&mut self, out: &mut WriterOutput<'_>) {
        if std::mem::take(&mut self.candidate().open) == OpenChunk::Call {
            self.chunk(out, |candidate, out| {
                out.json.frame("");
                candidate.call.write(&mut out.json, out.ledger);
                if let Some(state) = candidate.state.take() {
                    out.json.key(STATE).literal(&state);
                }
            });
        }
    }
}

/// `"finishReason":…`
fn write_stop(stop: &Stopped<'_>, json: &mut JsonWriter<'_>, out: &mut WriterOutput<'_>) {
    json.key("finishReason").literal(stop.word);
    match stop.detail {
        Some(detail) if detail.text().is_some() => _ = json.key("finishMessage").raw(detail),
        Some(detail) => out.lose_raw(Field::StopDetail, detail, Reason::Narrowed),
        None => {}
    }
}

/// `"modelVersion":…,"responseId":…,"createTime":…`, as far as they are known.
fn write_head(head: &ResponseHead, out: &mut WriterOutput<'_>) {
    out.json.opt_str("modelVersion", head.model.as_ref()).opt_str("responseId", head.id.as_ref());
    if let Some(time) = &head.time {
        if time.text().is_some_and(|text| is_rfc3339(text.as_escaped().as_bytes())) {
            out.json.key("createTime").raw(time);
        } else {
            out.lose_raw(Field::TurnTime, time, Reason::Narrowed);
        }
    }
}

/// `"usageMetadata":{…}`, if the usage is known. Cache writes are part of the prompt count and have no separate member.
fn write_usage(head: &ResponseHead, out: &mut WriterOutput<'_>) {
    let Some(usage) = head.usage else { return };
    let Usage { cache_read, cache_write, input_audio, output, reasoning, output_audio, .. } = usage;
    if let Some(written) = cache_write {
        out.lose_number(Field::UsageCacheWrite, written, Reason::Merged);
    }
    let (prompt, said) = (usage.all_input(), output.map(|all| all.saturating_sub(reasoning.unwrap_or(0))));
    let json = out.json.key("usageMetadata").object();
    json.opt_u64("promptTokenCount", prompt).opt_u64("cachedContentTokenCount", cache_read);
    // Zero counts are omitted.
    json.opt_u64("candidatesTokenCount", said.filter(|said| *said > 0))
        .opt_u64("thoughtsTokenCount", reasoning);
    json.key("totalTokenCount").u64(prompt.unwrap_or(0).saturating_add(output.unwrap_or(0)));
    for (name, count) in [("promptTokensDetails", input_audio), ("candidatesTokensDetails", output_audio)] {
        if let Some(count) = count {
            json.key(name).array().object().key("modality").literal("AUDIO");
            json.key("tokenCount").u64(count).end_object().end_array();
        }
    }
    json.end_object();
}
