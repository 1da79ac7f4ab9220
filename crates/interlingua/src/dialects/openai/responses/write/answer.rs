//! Writes responses: a whole response, and the events of a stream.

use super::super::{CANCELLED, CLIENT, COMPLETED, ERRORS};
use super::items::{OutputItems, OutputStatus, Purpose, begin_event};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{Failure, FailureClass, Field, Usage};
use crate::pipe::WriterOutput;
use crate::wire::answer::{AnswerForm, HeadPlace, ResponseHead, Stopped};
use crate::wire::assistant::AssistantForm;
use crate::wire::profile::Profile;

/// A whole response, or an error in its place. All output waits for the end of the response.
pub(in super::super) struct WholeResponse {
    items: OutputItems,
}

impl Default for WholeResponse {
    fn default() -> Self {
        Self { items: OutputItems::new(Purpose::Whole) }
    }
}

impl AnswerForm for WholeResponse {
    const HEAD: HeadPlace = HeadPlace::Last;

    fn profile(&self) -> &'static Profile {
        &CLIENT
    }

    fn begin(&mut self, head: &ResponseHead, _: &mut WriterOutput<'_>) {
        self.items.begin(head.id.as_ref().map_or("", Str::as_escaped));
    }

    fn assistant(&mut self, _: u64) -> &mut dyn AssistantForm {
        &mut self.items
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.items.end_item(item_status(stop), out);
        let mut known = JsonBuffer::default();
        write_head(head, &mut known.hold(), out);
        let end = ResponseEnd::of(stop, head.usage);
        end.write(&known, &self.items, &mut out.json);
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        let Failure { class, status: _, code, message, request_id: _, retry_after } = failure;
        if retry_after.is_some() {
            out.lose(Field::ErrorRetryAfter, Reason::NoSlot);
        }
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
}

/// A stream: events that the response is created and in progress, the items in sequence, and the whole response at the
/// end. A failed stream ends with a failed response object, because clients ignore other error events.
pub(in super::super) struct ResponseEvents {
    items: OutputItems,
    /// The first members of every response object; empty until the first object.
    head: JsonBuffer,
}

impl Default for ResponseEvents {
    fn default() -> Self {
        Self { items: OutputItems::new(Purpose::Stream), head: JsonBuffer::default() }
    }
}

impl AnswerForm for ResponseEvents {
    const HEAD: HeadPlace = HeadPlace::First;

    fn profile(&self) -> &'static Profile {
        &CLIENT
    }

    fn begin(&mut self, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.items.begin(head.id.as_ref().map_or("", Str::as_escaped));
        write_head(head, &mut self.head.hold(), out);
        let json = begin_event!(self.items, "response.created", out).key("response");
        ResponseEnd::IN_PROGRESS.write(&self.head, &self.items, json);
        json.end_object().end_frame("\n\n");
        let json = begin_event!(self.items, "response.in_progress", out).key("response");
        ResponseEnd::IN_PROGRESS.write(&self.head, &self.items, json);
        json.end_object().end_frame("\n\n");
    }

    fn assistant(&mut self, _: u64) -> &mut dyn AssistantForm {
        &mut self.items
    }

    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>) {
        self.items.end_item(item_status(stop), out);
        let end = ResponseEnd::of(stop, head.usage);
        let json = if end.status == COMPLETED {
            begin_event!(self.items, "response.completed", out)
        } else {
            // The API has no event for a cancelled response.
            begin_event!(self.items, "response.incomplete", out)
        };
        end.write(&self.head, &self.items, json.key("response"));
        json.end_object().end_frame("\n\n");
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        if self.head.bytes().is_empty() {
            self.begin(&ResponseHead::default(), out);
        }
        self.items.end_item(OutputStatus::Incomplete, out);
        let json = begin_event!(self.items, "response.failed", out).key("response");
        let end = ResponseEnd { status: "failed", failure: Some(failure), ..ResponseEnd::IN_PROGRESS };
        end.write(&self.head, &self.items, json);
        json.end_object().end_frame("\n\n");
    }
}

/// The status of an item that is open when the response stops.
fn item_status(stop: &Stopped<'_>) -> OutputStatus {
    if stop.word == COMPLETED { OutputStatus::Completed } else { OutputStatus::Incomplete }
}

/// The end of a response object: status, reason, error and usage.
struct ResponseEnd<'a> {
    status: &'static str,
    /// The reason of an incomplete response.
    reason: Option<&'static str>,
    failure: Option<&'a Failure<'a>>,
    usage: Option<Usage>,
}

impl ResponseEnd<'_> {
    const IN_PROGRESS: ResponseEnd<'static> =
        ResponseEnd { status: "in_progress", reason: None, failure: None, usage: None };

    fn of(stop: &Stopped<'_>, usage: Option<Usage>) -> ResponseEnd<'static> {
        let (status, reason) = match stop.word {
            COMPLETED | CANCELLED => (stop.word, None),
            reason => ("incomplete", Some(reason)),
        };
        ResponseEnd { status, reason, failure: None, usage }
    }

    /// Writes the response object. The settings in it are those of a request with default settings; the client has its
    /// own request.
    fn write(&self, head: &JsonBuffer, items: &OutputItems, json: &mut JsonWriter<'_>) {
        json.object().values(head.bytes()).key("status").literal(self.status).key("error");
        match self.failure {
            Some(failure) => write_failure(failure, json),
            None => _ = json.null(),
        }
        json.key("incomplete_details");
        match self.reason {
            Some(reason) => _ = json.object().key("reason").literal(reason).end_object(),
            None => _ = json.null(),
        }
        json.key("output").array().values(items.done.bytes()).end_array();
        json.with_value(r#""parallel_tool_calls":true,"tool_choice":"auto","tools":[]"#).key("usage");
        match &self.usage {
            Some(usage) => write_usage(usage, json),
            None => _ = json.null(),
        }
        json.end_object();
    }
}

/// `"id":…,"object":…,"created_at":…,"model":…`
fn write_head(head: &ResponseHead, json: &mut JsonWriter<'_>, out: &mut WriterOutput<'_>) {
    let text = |text: &Option<Str<'static>>, otherwise| text.clone().unwrap_or(Str::escaped(otherwise));
    json.key("id").str(&text(&head.id, "resp_unknown")).key("object").literal("response").key("created_at");
    match &head.time {
        Some(time) if is_seconds(time) => _ = json.raw(time),
        time => {
            if let Some(time) = time {
                out.lose_raw(Field::TurnTime, time, Reason::Narrowed);
            }
            out.ledger.note("answer without a time of its own said to be of 1970");
            json.u64(0);
        }
    }
    json.key("model").str(&text(&head.model, "unknown"));
}

/// Whether a time is a number.
fn is_seconds(time: &Raw<'_>) -> bool {
    let text = time.as_str();
    text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn write_usage(usage: &Usage, json: &mut JsonWriter<'_>) {
    let Usage { cache_read, cache_write, cache_write_long, output, reasoning, .. } = *usage;
    let (input, output) = (usage.all_input().unwrap_or(0), output.unwrap_or(0));
    json.object().key("input_tokens").u64(input).key("input_tokens_details").object();
    json.key("cached_tokens").u64(cache_read.unwrap_or(0));
    json.key("cache_write_tokens").u64(cache_write.unwrap_or(0));
    if let Some(long) = cache_write_long {
        json.key("cache_write_tokens_details").object().key("ttl_30m_tokens");
        json.u64(cache_write.unwrap_or(0).saturating_sub(long)).key("ttl_12h_tokens").u64(long).end_object();
    }
    json.end_object().key("output_tokens").u64(output).key("output_tokens_details").object();
    json.key("reasoning_tokens").u64(reasoning.unwrap_or(0)).end_object();
    json.key("total_tokens").u64(input.saturating_add(output)).end_object();
}

/// `{"code":…,"message":…}`. Clients act on the code.
fn write_failure(failure: &Failure<'_>, json: &mut JsonWriter<'_>) {
    let Failure { class, status: _, code, message, request_id: _, retry_after } = failure;
    let own = ERRORS.of_class(*class);
    let word = match class {
        FailureClass::InvalidRequest => "invalid_prompt",
        FailureClass::Incomplete => "server_error",
        _ => own.and_then(|(_, code)| code).unwrap_or("server_error"),
    };
    json.object().key("code");
    match code {
        Some(code) => json.str(code),
        None => json.literal(word),
    };
    json.key("message").open_string().piece(message);
    // Codex parses the waiting time from the message.
    if let Some(wait) = retry_after.filter(|_| *class == FailureClass::RateLimit)
        && !message.decode().contains("try again in")
    {
        json.piece(&Str::from_plain(&format!(" Please try again in {wait}ms.")));
    }
    json.close_string().end_object();
}
