//! Tool results. A result is a text, or an object whose shape depends on the tool. For a known shape the reader emits
//! the text, the picture or the change; any other value is emitted as JSON.

use super::read::{FILE, path_of};
use crate::json::Str;
use crate::model::{
    Author, Decision, Event, Field, FileRef, ItemId, ItemKind, ItemTail, Media, MediaSource, Part,
    Permission, Shape, Status, ToolResult,
};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

pub(super) fn read(block: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<5> = WantedNames::new(["status", "result", "error", "trackFiles", "reason"]);
    let run = block.get("run").filter(|run| run.kind() == Kind::Object);
    let [status, result, error, files, reason] = run.map(|run| run.find(&WANTED)).unwrap_or_default();
    let call_id = block.take_str("toolUseID", Field::ResultCallId);
    let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
    head.within = Some(within);
    let changed = result.filter(|result| result.has_str("diff"));
    if changed.is_some() {
        head.shape = Shape::List;
    }
    let item = out.start(head);
    let mut exit_code = None;
    if let Some(changed) = changed {
        let file = files.and_then(|files| files.elements().next());
        let path = file.filter(|file| Some(*file).word().starts_with(FILE));
        let path = path.map_or(Str::escaped(""), |file| path_of(file, Field::FilePath));
        let diff = changed.take_str("diff", Field::FileDiff);
        out.delta(item, 0, Part::File(FileRef { path, action: Str::escaped("patch"), diff }));
    } else if let Some(result) = result.filter(|result| !result.is_null()) {
        let part = read_value(result, &mut exit_code);
        out.delta(item, 0, part);
    } else if let Some(message) = error.and_then(|error| error.take_str("message", Field::ResultText)) {
        out.delta(item, 0, Part::Text(message));
        exit_code = error.and_then(|error| error.get("exitCode")).and_then(read_code);
    } else if let Some(why) = reason.take_text(Field::ResultText) {
        // A refused or cancelled call has a reason and no result.
        out.delta(item, 0, Part::Text(why));
    }
    let is_error = match status.word() {
        "done" => Some(false),
        "error" => Some(true),
        _ => None,
    };
    let tail = ItemTail::new(item, if is_error == Some(true) { Status::Failed } else { Status::Completed });
    // A status beyond success and failure is kept as the native status.
    let native_status = if is_error.is_none() { status.take_text(Field::ItemStatus) } else { None };
    if is_error.is_some() {
        status.note_text(Field::ResultIsError);
    }
    let status = if native_status.is_some() { Status::Interrupted } else { tail.status };
    out.event(&Event::ItemCompleted(ItemTail { status, native_status, is_error, exit_code, ..tail }));
}

/// Emits the user's permission decision, before the message with the result.
pub(super) fn decided(block: Val<'_>, tools: &mut Remembered<Str<'static>>, out: &mut EventSink<'_>) {
    let call = block.get("toolUseID").filter(|_| block.str_or_empty("type") == "tool_result");
    let Some(call) = call.and_then(|call| call.str()) else { return };
    let tool = tools.remove(call.as_escaped());
    let input = block.get("userInput").filter(|input| input.kind() == Kind::Object);
    let accepted = input.and_then(|input| input.get("accepted"));
    let refused = block.get("run").is_some_and(|run| run.str_or_empty("status") == "rejected-by-user");
    let answer = match accepted.and_then(|accepted| accepted.bool()) {
        Some(true) => Decision::Accept,
        None if !refused => return,
        Some(false) | None => {
            Decision::Reject(input.and_then(|input| input.note_str("feedback", Field::PermissionMessage)))
        }
    };
    if let Some(accepted) = accepted {
        accepted.note(Field::PermissionAnswer);
    }
    out.event(&Event::PermissionResolved(Permission {
        id: call.clone(),
        action: tool.unwrap_or(Str::escaped("unknown")),
        call_id: Some(call),
        input: None,
        answer: Some(answer),
        by: None,
    }));
}

fn read_code(code: Val<'_>) -> Option<i64> {
    let number = code.text().parse().ok()?;
    code.note(Field::ResultExitCode);
    Some(number)
}

/// The value of a result, without file changes.
fn read_value<'t>(result: Val<'t>, exit_code: &mut Option<i64>) -> Part<'t> {
    const WANTED: WantedNames<5> =
        WantedNames::new(["output", "exitCode", "content", "isImage", "imageInfo"]);
    if let Some(text) = result.take_text(Field::ResultText) {
        return Part::Text(text);
    }
    let [output, code, content, is_image, info] = result.find(&WANTED);
    let output = output.filter(|output| output.kind() == Kind::String);
    if let (Some(text), Some(number)) = (output, code.filter(|_| output.is_some()).and_then(read_code)) {
        *exit_code = Some(number);
        return Part::Text(text.take_text(Field::ResultText).unwrap_or_default());
    }
    let content = content.filter(|content| content.kind() == Kind::String);
    let picture = is_image.filter(|mark| mark.bool() == Some(true));
    if let (Some(bytes), Some(mark)) = (content, picture) {
        mark.note(Field::Structure);
        let media_type = info.and_then(|info| info.take_str("mimeType", Field::MediaType));
        let data = bytes.take_text(Field::ResultMedia).unwrap_or_default();
        return Part::Media(Media::new(media_type, MediaSource::Base64(data)));
    }
    let file = result.has_str("absolutePath");
    match content.filter(|_| file).take_text(Field::ResultText) {
        Some(text) => Part::Text(text),
        None => Part::Json(result.take(Field::ResultJson)),
    }
}
