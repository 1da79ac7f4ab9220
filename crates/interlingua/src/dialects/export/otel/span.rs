//! Spans in the JSON form of OTLP, and the messages in their attributes.

use crate::dialects::export::facts;
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::log::{GatheredItem, arguments_text};
use crate::model::{Media, MediaSource, Part, ToolCall};

/// The kinds of spans.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Internal,
    Client,
}

/// The fixed members of a span.
pub(super) struct SpanHead<'s> {
    pub(super) trace: u128,
    pub(super) number: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: &'s str,
    pub(super) kind: Kind,
    /// Milliseconds since 1970.
    pub(super) times: (u64, u64),
    pub(super) is_error: bool,
}

/// Writes a span. `attributes` is a held list of attributes, `events` a held list of span events.
pub(super) fn write_span(
    head: &SpanHead<'_>,
    attributes: &JsonBuffer,
    events: &JsonBuffer,
    json: &mut JsonWriter<'_>,
) {
    let SpanHead { trace, number, parent, name, kind, times: (start, end), is_error } = head;
    json.object().key("traceId").literal(&format!("{trace:032x}")).key("spanId").literal(&span_id(*number));
    if let Some(parent) = parent {
        json.key("parentSpanId").literal(&span_id(*parent));
    }
    json.key("name").literal(name).key("kind").u64(match kind {
        Kind::Internal => 1,
        Kind::Client => 3,
    });
    json.key("startTimeUnixNano").literal(&nanos(*start)).key("endTimeUnixNano").literal(&nanos(*end));
    json.key("attributes").array();
    if !attributes.bytes().is_empty() {
        json.values(attributes.bytes());
    }
    json.end_array();
    if !events.bytes().is_empty() {
        json.key("events").array().values(events.bytes()).end_array();
    }
    if *is_error {
        json.key("status").object().key("code").u64(2).end_object();
    }
    json.end_object();
}

fn span_id(number: u64) -> String {
    format!("{number:016x}")
}

/// The time in nanoseconds, as OTLP writes numbers of 64 bits: as text.
pub(super) fn nanos(millis: u64) -> String {
    millis.saturating_mul(1_000_000).to_string()
}

/// Writes an attribute with a text.
pub(super) fn text(name: &str, value: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.object().key("key").literal(name).key("value").object().key("stringValue").str(value);
    json.end_object().end_object();
}

/// Writes an attribute with a text, if there is a text.
pub(super) fn some_text(name: &str, value: Option<&Str<'_>>, json: &mut JsonWriter<'_>) {
    if let Some(value) = value {
        text(name, value, json);
    }
}

/// Writes an attribute with a number, if there is a number.
pub(super) fn some_number(name: &str, value: Option<u64>, json: &mut JsonWriter<'_>) {
    // OTLP has signed numbers of 64 bits.
    if let Some(value) = value {
        let value = value.min(i64::MAX as u64).to_string();
        json.object().key("key").literal(name).key("value").object().key("intValue").literal(&value);
        json.end_object().end_object();
    }
}

/// Writes an attribute with a JSON value in a string.
pub(super) fn json_text(name: &str, value: &str, json: &mut JsonWriter<'_>) {
    json.object().key("key").literal(name).key("value").object().key("stringValue").plain(value);
    json.end_object().end_object();
}

/// Writes an attribute with an object in a string.
pub(super) fn object(name: &str, write: impl FnOnce(&mut JsonWriter<'_>), json: &mut JsonWriter<'_>) {
    let mut held = JsonBuffer::default();
    let mut members = held.hold();
    members.object();
    write(&mut members);
    members.end_object();
    json_text(name, held.held(), json);
}

/// The members of an item beside its content, for the first of its parts.
pub(super) type Told<'t> = Option<(GatheredItem<'t>, Option<&'t Raw<'t>>)>;

fn write_told(told: Told<'_>, json: &mut JsonWriter<'_>) {
    if let Some((item, clock)) = told {
        json.key("interlingua").object();
        facts::write_item(item, clock, json);
        json.end_object();
    }
}

/// Writes a part of a message. A part without a form in the conventions has a type of ours.
pub(super) fn write_part(part: &Part<'_>, is_reasoning: bool, told: Told<'_>, json: &mut JsonWriter<'_>) {
    json.object();
    match part {
        Part::Text(text) => {
            let kind = if is_reasoning { "reasoning" } else { "text" };
            json.key("type").literal(kind).key("content").str(text);
        }
        Part::Summary(text) => {
            json.key("type").literal("reasoning").key("content").str(text);
            json.key("summary").bool(true);
        }
        Part::Media(media @ Media { media_type: Some(media_type), source, .. })
            if matches!(source, MediaSource::Base64(_) | MediaSource::Url(_)) =>
        {
            let kind = if let MediaSource::Url(_) = source { ("uri", "uri") } else { ("blob", "content") };
            json.key("type").literal(kind.0).key("mime_type").str(media_type);
            let modality = media_type.as_escaped().split('/').next().unwrap_or_default();
            json.key("modality").literal(modality).key(kind.1).str(source.text());
            facts::write_media_facts(media, json);
        }
        Part::Media(_)
        | Part::Json(_)
        | Part::Args(_)
        | Part::File(_)
        | Part::Citation(_)
        | Part::Refusal(_)
        | Part::Opaque(_)
        | Part::Cache(_) => {
            json.key("type").literal("interlingua").key("part").object();
            facts::write_part(part, json);
            json.end_object();
        }
    }
    write_told(told, json);
    json.end_object();
}

/// Writes a call as a part of the model's message.
pub(super) fn write_call(
    item: GatheredItem<'_>,
    call: &ToolCall<'_>,
    clock: Option<&Raw<'_>>,
    json: &mut JsonWriter<'_>,
) {
    json.object().key("type").literal("tool_call").opt_str("id", call.call_id.as_ref());
    json.key("name").str(&call.name);
    match (facts::arguments_object(item), arguments_text(item)) {
        (Some(object), _) => _ = json.key("arguments").raw(&object),
        (None, Some(text)) => _ = json.key("arguments").str(&text),
        (None, None) => {}
    }
    let others = item.parts().filter(|part| !matches!(part, Part::Args(_)));
    let mut others = others.peekable();
    if others.peek().is_some() {
        json.key("parts").array();
        for part in others {
            json.object();
            facts::write_part(part, json);
            json.end_object();
        }
        json.end_array();
    }
    write_told(Some((item, clock)), json);
    json.end_object();
}

/// Writes an item without parts, for its other members.
pub(super) fn write_empty(item: GatheredItem<'_>, clock: Option<&Raw<'_>>, json: &mut JsonWriter<'_>) {
    json.object().key("type").literal("interlingua");
    write_told(Some((item, clock)), json);
    json.end_object();
}
