//! Writes responses, whole and streamed.

use std::collections::BTreeMap;

use super::super::{ERRORS, Flavour, StatePlace};
use super::message::ChatMessage;
use super::tally::{DetailReader, MessageTally};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{Args, Citation, Failure, Field, Opaque, Usage};
use crate::pipe::WriterOutput;
use crate::wire::answer::{AnswerForm, HeadPlace, ResponseHead, Stopped};
use crate::wire::assistant::{AssistantForm, CallOpening, Growth, Opening};
use crate::wire::profile::Profile;

/// A whole response, or an error in its place. All output waits for the end of the response.
pub(in super::super) struct Completion {
    flavour: &'static Flavour,
    /// In boxes, because a map allocates eleven places at once.
    choices: BTreeMap<u64, Box<(ChatMessage, Option<&'static str>)>>,
}

impl Completion {
    pub(in super::super) const fn new(flavour: &'static Flavour) -> Self {
        Self { flavour, choices: BTreeMap::new() }
    }
}

impl Completion {
    fn choice(&mut self, answer: u64) -> &mut (ChatMessage, Option<&'static str>) {
        let flavour = self.flavour;
        self.choices.entry(answer).or_insert_with(|| Box::new((ChatMessage::new(flavour), None)))
    }
}

impl AnswerForm for Completion {
    const HEAD: HeadPlace = HeadPlace::Last;
    const SEVERAL: bool = true;

    fn profile(&self) -> &'static Profile {
        self.flavour.client
    }

    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm {
        &mut self.choice(answer).0
    }

    fn end_answer(&mut self, answer: u64, stop: &Stopped<'_>, _: &mut WriterOutput<'_>) {
        self.choice(answer).1 = Some(stop.word);
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        lose_time(head, out);
        self.end_answer(0, stop, out);
        note_head(head, out);
        write_head("chat.completion", head, out.json.object());
        out.json.key("choices").array();
        for (number, choice) in &mut self.choices {
            let (message, reason) = &mut **choice;
            out.json.object().key("index").u64(*number).key("message");
            message.write(false, out);
            out.json.key("finish_reason").literal(reason.unwrap_or("stop")).end_object();
        }
        out.json.end_array();
        write_usage(head, out);
        out.json.end_object();
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        write_failure(failure, out);
    }
}

/// A stream of chunks, each with the same head. Clients concatenate the strings of deltas, so the role is only in the
/// first chunk, and a call's id and name are only in its first fragment. Usage comes last, then `[DONE]`; an error ends
/// the stream.
pub(in super::super) struct Chunks {
    flavour: &'static Flavour,
    head: JsonBuffer,
    /// The number of the current choice.
    answer: u64,
    choices: BTreeMap<u64, ChunkedChoice>,
}

/// The state of one choice.
#[derive(Default)]
struct ChunkedChoice {
    /// Whether the first chunk, which holds the role, has been written.
    begun: bool,
    tally: MessageTally,
    /// The index of the call whose arguments are being written.
    call: u64,
}

impl Chunks {
    pub(in super::super) fn new(flavour: &'static Flavour) -> Self {
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

    fn begin(&mut self, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        lose_time(head, out);
        note_head(head, out);
        write_head("chat.completion.chunk", head, &mut self.head.hold());
        self.chunk(None, out, |_, json| _ = json.key("content").literal(""));
    }

    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm {
        self.answer = answer;
        self
    }

    fn end_answer(&mut self, answer: u64, stop: &Stopped<'_>, out: &mut WriterOutput<'_>) {
        self.answer = answer;
        self.say_state(out);
        self.chunk(Some(stop.word), out, |_, _| {});
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.end_answer(0, stop, out);
        self.counts(head, out);
        out.json.frame("data: [DONE]\n\n");
    }

    fn tell_counts_of_failed(&mut self, head: &ResponseHead, out: &mut WriterOutput<'_>) -> bool {
        // A stream has no head before its first chunk.
        let begun = !self.head.bytes().is_empty();
        if begun {
            self.counts(head, out);
        }
        begun
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        let answers: Vec<u64> = self.choices.keys().copied().collect();
        for answer in answers {
            self.answer = answer;
            self.say_state(out);
        }
        out.json.begin_frame("data: ");
        write_failure(failure, out);
        out.json.end_frame("\n\n");
    }
}

impl Chunks {
    /// Writes the usage chunk, if the usage is known.
    fn counts(&self, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        if head.usage.is_some() {
            self.begin_chunk(out).with_value(r#""choices":[]"#);
            write_usage(head, out);
            out.json.end_object().end_frame("\n\n");
        }
    }

    fn begin_chunk<'a, 'o>(&self, out: &'a mut WriterOutput<'o>) -> &'a mut JsonWriter<'o> {
        out.json.begin_frame("data: ").object().values(self.head.bytes())
    }

    fn chunk(
        &mut self,
        reason: Option<&str>,
        out: &mut WriterOutput<'_>,
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
        json.frame("}]}").end_frame("\n\n");
    }

    fn tally(&mut self) -> &mut MessageTally {
        &mut self.choices.entry(self.answer).or_default().tally
    }

    fn opaque(&mut self, opaque: &Opaque<'_>, out: &mut WriterOutput<'_>) {
        match self.flavour.state {
            StatePlace::Details => self.chunk(None, out, |choice, json| {
                let json = json.key("reasoning_details").array();
                choice.tally.write_detail(opaque, DetailReader::Client, json);
                json.end_array();
            }),
            StatePlace::Opaque => self.tally().keep(Some(opaque)),
        }
    }

    /// Writes the packed state to `reasoning_opaque`. Clients keep only the last value, so each value holds all states
    /// so far.
    fn say_state(&mut self, out: &mut WriterOutput<'_>) {
        if let Some(state) = self.tally().packed() {
            self.chunk(None, out, |_, json| _ = json.key("reasoning_opaque").str(&state));
        }
    }
}

impl AssistantForm for Chunks {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        self.flavour.cites && citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>) {
        match opening {
            Opening::Text(..) => {
                self.say_state(out);
                self.tally().open_text(out);
            }
            Opening::Thinking => self.tally().open_thought(),
            Opening::Encrypted(opaque) => self.opaque(opaque, out),
            Opening::Call(CallOpening { number, id, name, .. }) => {
                self.say_state(out);
                self.chunk(None, out, |choice, json| {
                    choice.call = number;
                    choice.tally.open_call();
                    json.up_to_value(r#""tool_calls":[{"index":"#).u64(number).key("id").str(id);
                    json.up_to_value(r#""type":"function","function":{"name":"#).str(name);
                    json.with_value(r#""arguments":""}}]"#);
                });
            }
        }
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        match growth {
            Growth::Text(text) => self.chunk(None, out, |choice, json| {
                choice.tally.text(text);
                json.key("content").str(text);
            }),
            Growth::Refusal(text) => self.chunk(None, out, |_, json| _ = json.key("refusal").str(text)),
            // Reasoning with only a signature has an empty text.
            Growth::Thinking(text) if text.is_empty() => {}
            Growth::Thinking(text) => {
                let name = self.flavour.reasoning;
                self.chunk(None, out, |choice, json| {
                    choice.tally.think(text);
                    json.key(name).str(text);
                });
            }
            Growth::Signature(opaque) => self.opaque(opaque, out),
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
                self.tally().write_annotation(citation, true, &mut annotation.hold(), out);
                self.chunk(None, out, |_, json| {
                    json.key("annotations").array().values(annotation.bytes()).end_array();
                });
            }
            // Responses have no cache marks (see the client profile).
            Growth::Cache(_) => {}
        }
    }

    fn close(&mut self, out: &mut WriterOutput<'_>) {
        if self.flavour.state == StatePlace::Opaque {
            self.tally().keep(None);
        } else if let Some(text) = self.tally().close() {
            self.chunk(None, out, |choice, json| {
                choice.tally.write_thought(&text, json.key("reasoning_details").array());
                json.end_array();
            });
        }
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

/// Notes which head members are made up.
fn note_head(head: &ResponseHead, out: &mut WriterOutput<'_>) {
    if head.id.is_none() {
        out.ledger.note("id of the answer made up");
    }
    if head.model.is_none() {
        out.ledger.note("model of the answer not known");
    }
    if !head.time.as_ref().is_some_and(is_seconds) {
        out.ledger.note("time of the answer not known: written as 0");
    }
}

/// Books a time that is not in whole seconds as lost.
fn lose_time(head: &ResponseHead, out: &mut WriterOutput<'_>) {
    if let Some(time) = head.time.as_ref().filter(|time| !is_seconds(time)) {
        out.lose_raw(Field::TurnTime, time, Reason::Narrowed);
    }
}

fn is_seconds(time: &Raw<'_>) -> bool {
    time.as_str().bytes().all(|byte| byte.is_ascii_digit())
}

/// `"usage":{…}`, if the usage is known.
fn write_usage(head: &ResponseHead, out: &mut WriterOutput<'_>) {
    let Some(usage) = head.usage else { return };
    if usage.all_input().is_none() || usage.output.is_none() {
        out.ledger.note("counts that the source does not tell written as 0");
    }
    let json = &mut out.json;
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
fn write_failure(failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
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
