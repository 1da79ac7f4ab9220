//! Values of the model without a place of their own in an export, as members under the names of our model.

use crate::json::{JsonWriter, Raw};
use crate::log::GatheredItem;
use crate::model::{
    Args, CacheMark, CallKind, Event, ItemHead, ItemKind, ItemTail, Media, MediaSource, Neutral as _, Opaque,
    Part, Spelling, Status,
};
use crate::tape::TapeBuf;
use crate::wire::is_object;

const SNAKE: Spelling = Spelling::Snake;

/// Writes the members of an item except its content into an open object.
pub(super) fn write_item(item: GatheredItem<'_>, clock: Option<&Raw<'_>>, json: &mut JsonWriter<'_>) {
    let head = item.head();
    let ItemHead { kind, author, within, native_id, parent, .. } = head;
    json.key("kind").literal(kind_word(kind)).key("author").literal(author.word());
    if within.is_some() {
        json.key("within").bool(true);
    }
    json.opt_str("id", native_id.as_ref()).opt_str("parent", parent.as_ref());
    match kind {
        ItemKind::Message | ItemKind::Reasoning => {}
        ItemKind::ToolCall(call) => {
            json.key("call_kind").literal(call.kind.word());
            call.write_members(&["kind", "name"], SNAKE, json);
        }
        ItemKind::ToolResult(result) => result.write_members(&[], SNAKE, json),
        ItemKind::Notice(notice) => notice.write_members(&[], SNAKE, json),
    }
    head.circumstances().write_members(&[], SNAKE, json);
    json.opt_raw("clock", clock);
    let tail: &ItemTail<'_> = item.tail();
    if tail.status != Status::Completed {
        json.key("status").literal(tail.status.word());
    }
    tail.write_members(&["status"], SNAKE, json);
}

const fn kind_word(kind: &ItemKind<'_>) -> &'static str {
    match kind {
        ItemKind::Message => "message",
        ItemKind::Reasoning => "reasoning",
        ItemKind::ToolCall(_) => "tool_call",
        ItemKind::ToolResult(_) => "tool_result",
        ItemKind::Notice(_) => "notice",
    }
}

/// Writes the members of a part into an open object.
pub(super) fn write_part(part: &Part<'_>, json: &mut JsonWriter<'_>) {
    json.key("type").literal(part_word(part));
    match part {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => _ = json.key("text").str(text),
        Part::Json(value) => _ = json.key("json").raw(value),
        Part::Args(Args::Text(text)) => _ = json.key("text").str(text),
        Part::Args(Args::Json(value)) => _ = json.key("json").raw(value),
        Part::Media(media) => {
            let (MediaSource::Base64(text)
            | MediaSource::Url(text)
            | MediaSource::File(text)
            | MediaSource::Text(text)) = &media.source;
            json.opt_str("media_type", media.media_type.as_ref()).key(source_word(&media.source)).str(text);
            write_media_facts(media, json);
        }
        Part::File(file) => file.write_members(&[], SNAKE, json),
        Part::Citation(citation) => citation.write_members(&[], SNAKE, json),
        Part::Opaque(Opaque { kind, issuer, value }) => {
            json.key("state").literal(kind.word()).key("issuer").str(issuer).key("value").str(value);
        }
        Part::Cache(CacheMark { kind, lifetime }) => {
            json.key("cache").str(kind).opt_str("lifetime", lifetime.as_ref());
        }
    }
}

/// The word for the kind of a part.
pub(super) const fn part_word(part: &Part<'_>) -> &'static str {
    match part {
        Part::Text(_) => "text",
        Part::Summary(_) => "summary",
        Part::Media(_) => "media",
        Part::Json(_) => "json",
        Part::Args(_) => "arguments",
        Part::File(_) => "file",
        Part::Citation(_) => "citation",
        Part::Refusal(_) => "refusal",
        Part::Opaque(_) => "opaque",
        Part::Cache(_) => "cache",
    }
}

/// The word for the location of media bytes.
pub(super) const fn source_word(source: &MediaSource<'_>) -> &'static str {
    match source {
        MediaSource::Base64(_) => "base64",
        MediaSource::Url(_) => "url",
        MediaSource::File(_) => "file",
        MediaSource::Text(_) => "text",
    }
}

/// Writes the members of media beside the type and the bytes.
pub(super) fn write_media_facts(media: &Media<'_>, json: &mut JsonWriter<'_>) {
    let Media { media_type: _, source: _, name, context, citable, detail } = media;
    json.opt_str("name", name.as_ref()).opt_str("context", context.as_ref());
    json.opt_bool("citable", *citable).opt_str("detail", detail.as_ref());
}

/// Writes an event that is not an item: its name, and its members as `data`.
pub(super) fn write_event(event: &Event<'_>, json: &mut JsonWriter<'_>) {
    json.key("event").literal(event_word(event)).key("data");
    match event {
        Event::SessionStarted(session) | Event::SessionUpdated(session) => session.write(SNAKE, json),
        Event::SessionEnded(end) => end.write(SNAKE, json),
        Event::Request(request) => request.write(SNAKE, json),
        Event::TurnStarted(turn) | Event::TurnEnded(turn) | Event::Usage(turn) => turn.write(SNAKE, json),
        Event::Model(model) => model.write(SNAKE, json),
        Event::Rewound(rewind) => rewind.write(SNAKE, json),
        Event::Compacted(compaction) => compaction.write(SNAKE, json),
        Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
            permission.write(SNAKE, json);
        }
        Event::QuestionRequested(question) | Event::QuestionResolved(question) => question.write(SNAKE, json),
        Event::Error(failure) => failure.write(SNAKE, json),
        Event::Clock(time) => _ = json.raw(time),
        // Items are written with their content, never as events.
        Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => _ = json.null(),
    }
}

const fn event_word(event: &Event<'_>) -> &'static str {
    match event {
        Event::SessionStarted(_) => "session_started",
        Event::SessionUpdated(_) => "session_updated",
        Event::SessionEnded(_) => "session_ended",
        Event::Clock(_) => "clock",
        Event::Request(_) => "request",
        Event::TurnStarted(_) => "turn_started",
        Event::TurnEnded(_) => "turn_ended",
        Event::Usage(_) => "usage",
        Event::Model(_) => "model",
        Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => "item",
        Event::Rewound(_) => "rewound",
        Event::Compacted(_) => "compacted",
        Event::PermissionRequested(_) => "permission_requested",
        Event::PermissionResolved(_) => "permission_resolved",
        Event::QuestionRequested(_) => "question_requested",
        Event::QuestionResolved(_) => "question_resolved",
        Event::Error(_) => "error",
    }
}

/// Writes a notice: the members of the item, and its content as `parts`.
pub(super) fn write_notice(item: GatheredItem<'_>, clock: Option<&Raw<'_>>, json: &mut JsonWriter<'_>) {
    json.key("event").literal("notice");
    write_item(item, clock, json);
    write_parts(item, json);
}

/// Writes all parts of an item as a member.
pub(super) fn write_parts(item: GatheredItem<'_>, json: &mut JsonWriter<'_>) {
    json.key("parts").array();
    for part in item.parts() {
        json.object();
        write_part(part, json);
        json.end_object();
    }
    json.end_array();
}

/// The arguments of a call as the text of a JSON object, if they are one. Free text is never an object.
pub(super) fn arguments_object(item: GatheredItem<'_>) -> Option<Raw<'static>> {
    let is_free = match &item.head().kind {
        ItemKind::ToolCall(call) => call.kind == CallKind::FreeText,
        ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolResult(_) | ItemKind::Notice(_) => false,
    };
    let is_object = |text: &str| is_object(&mut TapeBuf::default(), text.trim());
    match item.arguments()? {
        Args::Json(json) => is_object(json.as_str()).then(|| json.clone()),
        Args::Text(text) => {
            let plain = text.decode();
            (!is_free && is_object(&plain)).then(|| Raw::owned(plain.into_owned()))
        }
    }
}
