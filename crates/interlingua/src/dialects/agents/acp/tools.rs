//! Tool calls. An agent announces a call, reports its progress, and ends it; the call and its result are two items. Some
//! agents ask for permission without an announcement, and never mention a call again that was denied.

use super::content::{ContentFields, file_of, part_of};
use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Part, Shape, Status,
    ToolCall, ToolResult,
};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Claim, Kind, Val};
use crate::wire::note_tag;

/// The calls of the turn, by their id.
#[derive(Default)]
pub(super) struct Calls(Remembered<Call>);

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the call")]
struct Call {
    id: Str<'static>,
    /// The item, while its arguments are unknown.
    open: Option<ItemId>,
    /// Whether the agent announced a part of the arguments: a report will have all.
    is_partial: bool,
    /// Whether the agent asked for permission.
    asked: bool,
    has_result: bool,
    /// The turn ended before the result, which may still come.
    is_late: bool,
}

impl Calls {
    /// Reads an announcement or a report. Returns whether an event was emitted.
    pub(super) fn update(&mut self, update: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let id = update.get("toolCallId").and_then(|id| id.str()).unwrap_or_default();
        // An announcement with the id of an earlier turn is another call.
        let is_announced = update.str_or_empty("sessionUpdate") == "tool_call";
        let known = self.0.remove(id.as_escaped()).filter(|call| !(call.is_late && is_announced));
        let is_new = known.is_none();
        let mut call = known.unwrap_or_else(|| start(update, out));
        let is_over = ["completed", "failed"].contains(&update.str_or_empty("status"));
        let had_open = call.open.is_some();
        if !is_new {
            call.take_arguments(update, is_over, out);
        }
        let emitted = is_new || had_open && call.open.is_none() || is_over && !call.has_result;
        if is_over && !call.has_result {
            call.has_result = true;
            call.close(out);
            result(update, is_new, out);
        } else if emitted && !is_new {
            update.get("toolCallId").map(|id| id.note(Field::CallId));
            note_tag(update, "status", &["pending", "in_progress"]);
        }
        self.remember(call, out);
        emitted
    }

    /// Whether a report is about a call of a turn that has ended.
    pub(super) fn is_late(&self, update: Val<'_>) -> bool {
        self.0.get(update.str_or_empty("toolCallId")).is_some_and(|call| call.is_late)
            && update.str_or_empty("sessionUpdate") == "tool_call_update"
    }

    /// Reads the call of a permission request: starts its item, unless the agent announced the call.
    pub(super) fn asked(&mut self, tool: Val<'_>, out: &mut EventSink<'_>) {
        let Some(id) = tool.get("toolCallId").and_then(|id| id.str()) else { return };
        let known = self.0.remove(id.as_escaped()).filter(|call| !call.is_late);
        let mut call = known.unwrap_or_else(|| {
            let mut call = start(tool, out);
            call.close(out);
            call
        });
        call.asked = true;
        if !call.is_partial {
            call.take_arguments(tool, false, out);
        }
        self.remember(call, out);
    }

    fn remember(&mut self, call: Call, out: &mut EventSink<'_>) {
        let name = call.id.clone();
        if let Some(mut oldest) = self.0.insert(name.as_escaped(), call) {
            oldest.close(out);
            out.note("forgot the call that waited longest: too many wait for their result");
        }
    }

    /// Ends the turn: a call without a result was denied or interrupted.
    pub(super) fn end(&mut self, is_cancelled: bool, out: &mut EventSink<'_>) {
        let calls: Vec<_> = self.0.take_all().collect();
        for mut call in calls {
            call.close(out);
            if call.has_result || call.is_late {
                continue;
            }
            let result = ToolResult { call_id: Some(call.id.clone()), name: None };
            let head = out.head(ItemKind::ToolResult(result), Author::Tool);
            let is_denied = call.asked && !is_cancelled;
            let status = if is_denied { Status::Failed } else { Status::Interrupted };
            let tail = ItemTail { is_error: is_denied.then_some(true), ..ItemTail::new(head.id, status) };
            out.event_unclaimed(&Event::ItemStarted(head));
            out.event_unclaimed(&Event::ItemCompleted(tail));
            call.is_late = true;
            self.remember(call, out);
        }
    }
}

impl Call {
    /// Reads the arguments, if a report has them. At the end of the call, an empty object counts.
    fn take_arguments(&mut self, update: Val<'_>, is_over: bool, out: &mut EventSink<'_>) {
        let Some(input) = update.get("rawInput").filter(|input| is_over || is_complete(*input)) else {
            return;
        };
        if let Some(item) = self.open.filter(|_| !input.is_null()) {
            out.delta(item, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
            self.close(out);
        }
    }

    fn close(&mut self, out: &mut EventSink<'_>) {
        let Some(item) = self.open.take() else { return };
        out.complete(item);
    }
}

/// Starts the item of a call. The call is complete if its arguments are known.
fn start(tool: Val<'_>, out: &mut EventSink<'_>) -> Call {
    let id = tool.get("toolCallId").and_then(|id| id.str()).unwrap_or_default().into_owned();
    let title = tool.get("title").filter(|title| title.str().is_some_and(|title| !title.is_empty()));
    let is_name = title.is_some_and(|title| is_word(title.text().trim_matches('"')));
    let own = tool.get("_meta").and_then(|meta| {
        let meta = meta.get("claudeCode").unwrap_or(meta);
        meta.take_str("toolName", Field::CallName)
    });
    let has_own = own.is_some();
    let name = own
        .or_else(|| title.filter(|_| is_name)?.take_text(Field::CallName))
        .or_else(|| tool.take_str("kind", Field::CallName));
    let input = tool.get("rawInput");
    // Without arguments, a title such as a command describes the call.
    let described = title.filter(|_| input.is_none() && (has_own || !is_name) && name.is_some());
    let name = name.or_else(|| title?.take_text(Field::CallName)).unwrap_or_else(|| Str::escaped("tool"));
    let call = ToolCall {
        call_id: tool.take_str("toolCallId", Field::CallId),
        kind: if described.is_some() { CallKind::FreeText } else { CallKind::Function },
        namespace: None,
        name,
    };
    let mut head: ItemHead<'_> = out.head(ItemKind::ToolCall(call), Author::Assistant);
    head.parent_call = parent(tool);
    let item = out.start(head);
    note_tag(tool, "status", &["pending", "in_progress"]);
    let is_partial = input.is_some_and(|input| !is_complete(input) && input.members().next().is_some());
    let mut call = Call { id, open: Some(item), is_partial, asked: false, has_result: false, is_late: false };
    if let Some(title) = described.and_then(|title| title.take_text(Field::CallArgs)) {
        out.delta(item, 0, Part::Args(Args::Text(title)));
        call.close(out);
    } else {
        call.take_arguments(tool, false, out);
    }
    call
}

/// The call that started the subagent of this call.
fn parent(tool: Val<'_>) -> Option<Str<'_>> {
    let meta = tool.get("_meta")?;
    let claude = meta.get("claudeCode").unwrap_or(meta);
    let names = ["parentToolUseId", "parentToolCallId"];
    names.into_iter().find_map(|name| claude.take_str(name, Field::ItemParentCall))
}

/// Whether arguments are complete: an agent that streams arguments announces a call with none, or with only the directory.
fn is_complete(input: Val<'_>) -> bool {
    match input.kind() {
        Kind::Object => input.members().any(|(name, _)| !name.is("cwd")),
        _ => !input.is_null(),
    }
}

/// Whether a title can be the name of a tool.
fn is_word(title: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !title.is_empty() && title.len() <= 64 && title.bytes().all(is_part)
}

/// Reads the result of a call.
fn result(update: Val<'_>, is_named: bool, out: &mut EventSink<'_>) {
    let id = update.get("toolCallId");
    // The same line may start the call, which then has the id.
    let id = if is_named {
        id.and_then(|id| id.str())
    } else {
        id.and_then(|id| id.take_text(Field::ResultCallId))
    };
    let content = update.get("content").filter(|content| content.kind() == Kind::Array);
    let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id: id, name: None }), Author::Tool);
    let count = content.map_or(0, |content| content.elements().count());
    head.shape = if count > 1 { Shape::List } else { Shape::One };
    let item = out.start(head);
    let mut parts = 0;
    for block in content.into_iter().flat_map(|content| content.elements()) {
        out.within(block, |out| {
            let Some(part) = result_part(block) else { return };
            out.delta(item, parts, part);
            parts += 1;
        });
    }
    let output = update.get("rawOutput");
    if parts == 0
        && let Some(part) = output.and_then(output_part)
    {
        out.delta(item, 0, part);
    }
    let exit_code = output.and_then(exit_code);
    let native_status = update.take_str("status", Field::ItemStatus);
    let is_failed = native_status.as_ref().is_some_and(|status| status.is("failed"))
        || exit_code.is_some_and(|code| code != 0);
    let status = if is_failed { Status::Failed } else { Status::Completed };
    out.end(ItemTail {
        native_status,
        is_error: is_failed.then_some(true),
        exit_code,
        ..ItemTail::new(item, status)
    });
}

/// A part of a result, from an element of its content.
fn result_part(block: Val<'_>) -> Option<Part<'_>> {
    match block.str_or_empty("type") {
        "content" => {
            let part = part_of(block.get("content")?, ContentFields::RESULT)?;
            note_tag(block, "type", &["content"]);
            Some(part)
        }
        "diff" => file_of(block),
        // A terminal of the client: this client has none.
        _ => None,
    }
}

/// The result of an agent that has no content: a text, or the text for people in an object.
fn output_part(output: Val<'_>) -> Option<Part<'_>> {
    match output.kind() {
        Kind::String => output.take_text(Field::ResultText).map(Part::Text),
        Kind::Object => {
            let names = ["output", "content", "text", "message", "error"];
            let text = names.into_iter().find_map(|name| output.take_str(name, Field::ResultText));
            match text {
                Some(text) => Some(Part::Text(text)),
                // An exit code alone is no content.
                None => output
                    .members()
                    .any(|(name, _)| !name.is("exitCode"))
                    .then(|| Part::Json(output.take(Field::ResultJson))),
            }
        }
        _ => None,
    }
}

/// The exit code of a command, where the agent has one: Qwen Code, OpenCode and Copilot have different places.
fn exit_code(output: Val<'_>) -> Option<i64> {
    let shell = || output.get("contents")?.elements().find_map(|element| element.get("exitCode"));
    let code = output
        .get("exitCode")
        .or_else(|| output.get("metadata")?.get("exit"))
        .or_else(shell)
        .filter(|code| code.kind() == Kind::Number)?;
    let number = code.text().parse().ok()?;
    // A result that is the whole object has claimed the number.
    if code.claimed() == Claim::Free {
        code.note(Field::ResultExitCode);
    }
    Some(number)
}
