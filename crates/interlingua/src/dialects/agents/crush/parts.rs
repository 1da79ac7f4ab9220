//! The parts of a message: each has a `type` and its `data`. A part of another type is left unclaimed.

use crate::blocks::{start_call, start_reasoning};
use crate::json::Str;
use crate::log::SpelledArguments;
use crate::model::{
    Author, Field, ItemId, ItemKind, ItemTail, Media, MediaSource, Opaque, OpaqueKind, Part, Shape, Status,
    ToolResult, issuers,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// Whether a part is a part of the message itself and not an item within it.
pub(super) fn is_part(part: &Val<'_>) -> bool {
    let Some(data) = part.get("data") else { return false };
    match part.str_or_empty("type") {
        "text" => data.has_str("text"),
        "image_url" => data.has_str("url"),
        "binary" => data.has_str("Data"),
        // A command and its output are two parts.
        "shell_command" => data.has_str("command") || data.has_str("output"),
        _ => false,
    }
}

/// Reads a part. `number` is the number of the next part of the message itself.
pub(super) fn read_part(
    part: Val<'_>,
    number: &mut u32,
    message: ItemId,
    arguments: &mut SpelledArguments,
    out: &mut EventSink<'_>,
) {
    let Some(data) = part.get("data").filter(|data| data.kind() == Kind::Object) else { return };
    let mut say = |value: Option<Part<'_>>, out: &mut EventSink<'_>| {
        let Some(value) = value else { return };
        out.delta(message, *number, value);
        *number += 1;
    };
    match part.str_or_empty("type") {
        "text" => say(data.take_str("text", Field::MessageText).map(Part::Text), out),
        "image_url" => {
            let url = data.take_str("url", Field::MessageMedia);
            let detail = data.take_str("detail", Field::MediaDetail);
            let media = |url| Media { detail, ..Media::new(None, MediaSource::Url(url)) };
            say(url.map(media).map(Part::Media), out);
        }
        "binary" => {
            let bytes = data.take_str("Data", Field::MessageMedia);
            let media_type = data.take_str("MIMEType", Field::MediaType);
            let name =
                data.get("Path").filter(|path| !Some(*path).word().is_empty()).take_text(Field::MediaName);
            let media = |bytes| Media { name, ..Media::new(media_type, MediaSource::Base64(bytes)) };
            say(bytes.map(media).map(Part::Media), out);
        }
        "shell_command" => {
            for name in ["command", "output"] {
                say(data.take_str(name, Field::MessageText).map(Part::Text), out);
            }
        }
        "reasoning" => reasoning(data, message, out),
        "tool_call" if data.has_str("name") => call(data, message, arguments, out),
        "tool_result" if data.has_str("content") => result(data, message, out),
        // `finish` is read after the message.
        _ => return,
    }
    part.note_str("type", Field::Structure);
}

/// Reads reasoning. Each provider's state has a member of its own.
fn reasoning(data: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
    let item = start_reasoning(message, out);
    let filled = |text: &Val<'_>| !Some(*text).word().is_empty();
    if let Some(text) = data.get("thinking").filter(filled).take_text(Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    let sealed = data.get("responses_data").and_then(|data| data.get("encrypted_content"));
    for (number, (value, kind, issuer)) in [
        (data.get("signature"), OpaqueKind::Signature, issuers::ANTHROPIC),
        (data.get("thought_signature"), OpaqueKind::Signature, issuers::GOOGLE),
        (sealed, OpaqueKind::Encrypted, issuers::OPENAI),
    ]
    .into_iter()
    .enumerate()
    {
        if let Some(value) = value.filter(filled).take_text(kind.field()) {
            let opaque = Opaque { kind, issuer: Str::escaped(issuer), value };
            out.delta(item, number as u32 + 1, Part::Opaque(opaque));
        }
    }
    out.complete(item);
}

fn call(data: Val<'_>, message: ItemId, arguments: &mut SpelledArguments, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> = WantedNames::new(["id", "name", "input", "finished"]);
    let [id, name, input, finished] = data.find(&WANTED);
    let item = start_call(id, name, message, out);
    if let Some(input) = input {
        arguments.read(input, item, out);
    }
    // The model was stopped within the call.
    match finished.filter(|finished| finished.bool() == Some(false)) {
        Some(finished) => {
            finished.note(Field::ItemStatus);
            out.end(ItemTail::new(item, Status::Interrupted));
        }
        None => out.complete(item),
    }
}

fn result(data: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<6> =
        WantedNames::new(["tool_call_id", "name", "content", "data", "mime_type", "is_error"]);
    let [call, name, content, bytes, media_type, is_error] = data.find(&WANTED);
    let filled = |text: &Val<'_>| !Some(*text).word().is_empty();
    let result = ToolResult {
        call_id: call.take_text(Field::ResultCallId),
        name: name.filter(filled).take_text(Field::ResultName),
    };
    let bytes = bytes.filter(filled);
    let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
    head.within = Some(message);
    head.shape = if bytes.is_some() { Shape::List } else { Shape::One };
    let item = out.start(head);
    if let Some(text) = content.take_text(Field::ResultText) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(bytes) = bytes.take_text(Field::ResultMedia) {
        let media_type = media_type.filter(filled).take_text(Field::MediaType);
        out.delta(item, 1, Part::Media(Media::new(media_type, MediaSource::Base64(bytes))));
    }
    let is_error = is_error.and_then(|flag| {
        let value = flag.bool()?;
        flag.note(Field::ResultIsError);
        Some(value)
    });
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.end(ItemTail { is_error, ..ItemTail::new(item, status) });
}
