//! The form that resembles a model API: `role`, `content`, `tool_calls`, `tool_responses`, and thoughts in `metadata`.

use super::moment;
use crate::blocks::{start_call, start_reasoning};
use crate::log::{
    GatheredContent, GatheredItem, NativeObject, NativeValue, SpelledArguments, arguments_text,
};
use crate::model::{
    Author, Event, Field, ItemId, ItemKind, ItemTail, Part, Status, Stop, StopClass, ToolResult, Turn, Words,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// Members that distinguish a list of messages from the lists in OpenCode's storage.
pub(super) const LISTED: &[&str] = &["role", "tool_calls", "tool_responses", "metadata", "meta", "info"];

/// Scores a document as this form.
pub(super) fn sniff(doc: Val<'_>) -> Option<u32> {
    let in_metadata = |name| doc.get("metadata").is_some_and(|metadata| metadata.has_str(name));
    if doc.get("meta").is_some_and(|meta| meta.str_or_empty("agent") == "opencode") {
        Some(10)
    } else if doc.has_kind("tool_responses", Kind::Array)
        || in_metadata("thinking") && doc.get("role").is_some()
    {
        Some(8)
    } else if doc.has_str("role") && doc.has_str("content") && in_metadata("finish_reason") {
        Some(6)
    } else if doc.has_str("role")
        && doc.has_str("content")
        && doc.get("timestamp").is_some_and(|time| time.u64().is_some())
    {
        // Many chat formats match.
        Some(2)
    } else {
        None
    }
}

/// Whether a document is a message of this form.
pub(super) fn is_message(doc: Val<'_>) -> bool {
    let thinks = || doc.get("metadata").is_some_and(|metadata| metadata.has_str("thinking"));
    let listed = |name| doc.get(name).is_some_and(|list| list.kind() == Kind::Array);
    author(doc).is_some() || listed("tool_calls") || listed("tool_responses") || thinks()
}

fn author(doc: Val<'_>) -> Option<Author> {
    match doc.str_or_empty("role") {
        "user" => Some(Author::User),
        "assistant" => Some(Author::Assistant),
        "system" => Some(Author::System),
        "tool" => Some(Author::Tool),
        _ => None,
    }
}

pub(super) fn read(doc: Val<'_>, arguments: &mut SpelledArguments, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<6> =
        WantedNames::new(["role", "content", "timestamp", "metadata", "tool_calls", "tool_responses"]);
    let [role, content, time, metadata, calls, responses] = doc.find(&WANTED);
    role.note_text(Field::ItemAuthor);
    // A list of tool responses without a role is a tool message.
    let author = author(doc).unwrap_or(if responses.is_some() { Author::Tool } else { Author::Assistant });
    let mut head = out.head(ItemKind::Message, author);
    head.time = time.and_then(moment).map(|time| time.take(Field::ItemTime));
    head.model = metadata.and_then(|metadata| metadata.take_str("model", Field::ItemModel));
    let model = head.model.clone();
    let item = out.start(head);
    if let Some(text) = content.take_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(text) = metadata.and_then(|metadata| metadata.take_str("thinking", Field::ReasoningText)) {
        let inner = start_reasoning(item, out);
        out.delta(inner, 0, Part::Text(text));
        out.complete(inner);
    }
    for block in calls.into_iter().flat_map(|calls| calls.elements()) {
        call(block, item, arguments, out);
    }
    for block in responses.into_iter().flat_map(|responses| responses.elements()) {
        response(block, item, out);
    }
    out.complete(item);
    let stop = metadata.and_then(|metadata| metadata.note_str("finish_reason", Field::StopReason));
    if let Some(raw) = stop {
        let class = STOPS.value(&raw).unwrap_or(StopClass::Other);
        let stop = Some(Stop { class, raw: Some(raw), sequence: None, detail: None });
        out.event(&Event::Usage(Turn { model, stop, ..Turn::default() }));
    }
}

const STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "stop"),
    (StopClass::ToolUse, "tool_calls"),
    (StopClass::MaxTokens, "length"),
    (StopClass::Filter, "content_filter"),
]);

fn call(block: Val<'_>, within: ItemId, arguments: &mut SpelledArguments, out: &mut EventSink<'_>) {
    let Some(function) = block.get("function").filter(|function| function.has_str("name")) else { return };
    let item = start_call(block.get("id"), function.get("name"), within, out);
    if let Some(given) = function.get("arguments") {
        arguments.read(given, item, out);
    }
    out.complete(item);
}

fn response(block: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    let [call_id, output, status] = block.get_all(["tool_call_id", "output", "status"]);
    let call_id = call_id.take_text(Field::ResultCallId);
    let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
    head.within = Some(within);
    let item = out.start(head);
    if let Some(text) = output.take_text(Field::ResultText) {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(json) = output.filter(|output| !output.is_null()) {
        out.delta(item, 0, Part::Json(json.note(Field::ResultJson)));
    }
    let failed = matches!(status.word(), "error" | "failed" | "failure");
    let native_status = status.note_text(Field::ItemStatus);
    let is_error = native_status.is_some().then_some(failed);
    let status = if failed { Status::Failed } else { Status::Completed };
    out.end(ItemTail { native_status, is_error, ..ItemTail::new(item, status) });
}

/// The values of a message for a kept message.
pub(super) fn kept(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut line = NativeObject::new();
    let mut metadata = NativeObject::new();
    let (mut calls, mut responses) = (Vec::new(), Vec::new());
    line.put_some("timestamp", item.head().time.as_ref());
    metadata.put_some("model", item.head().model.as_ref());
    for content in item.content() {
        match content {
            GatheredContent::Part(Part::Text(text)) => _ = line.put("content", text),
            GatheredContent::Part(_) => {}
            GatheredContent::Item(inner) => match &inner.head().kind {
                ItemKind::Reasoning => _ = metadata.put_some("thinking", first_text(inner)),
                ItemKind::ToolCall(call) => {
                    let mut function = NativeObject::new();
                    function.put("name", &call.name).put_some("arguments", arguments_text(inner));
                    let mut block = NativeObject::new();
                    block.put_some("id", call.call_id.as_ref()).put("function", function);
                    calls.push(block);
                }
                ItemKind::ToolResult(result) => {
                    let mut block = NativeObject::new();
                    block.put_some("tool_call_id", result.call_id.as_ref());
                    block.put_some("output", first_text(inner));
                    responses.push(block);
                }
                ItemKind::Message | ItemKind::Notice(_) => {}
            },
        }
    }
    line.put("metadata", metadata).put("tool_calls", calls).put("tool_responses", responses);
    line
}

fn first_text(item: GatheredItem<'_>) -> Option<NativeValue<'_>> {
    item.parts().find_map(|part| if let Part::Text(text) = part { Some(text.into()) } else { None })
}
