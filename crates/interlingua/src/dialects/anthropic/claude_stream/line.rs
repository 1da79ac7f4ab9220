//! Single-line events: the end of a turn, notices, and the members that many lines share.

use crate::dialects::anthropic::usage::read_stop;
use crate::json::{Raw, Str};
use crate::model::{Author, Event, Failure, FailureClass, Field, ItemKind, Notice, Part, Stop, StopClass};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Val};
use crate::wire::note_tag;

/// The stop reason of a turn, from its result line; also emits a failure.
pub(super) fn ended<'t>(line: Val<'t>, result: Option<Val<'t>>, out: &mut EventSink<'_>) -> Stop<'t> {
    let subtype = line.get("subtype").filter(|subtype| subtype.str().is_some());
    let flag = line.get("is_error").filter(|flag| flag.bool().is_some());
    let terminal = line.get("terminal_reason").filter(|reason| reason.str().is_some());
    if terminal.is_some_and(|reason| reason.text().starts_with("\"aborted")) {
        let raw = terminal.and_then(|reason| reason.note_text(Field::StopReason));
        return Stop { class: StopClass::Cancelled, raw, sequence: None, detail: None };
    }
    let own_failure = subtype.is_some_and(|subtype| subtype.text().starts_with("\"error"));
    if !own_failure {
        // Only in this case does the flag decide the stop reason.
        flag.map(|flag| flag.note(Field::StopReason));
    }
    if own_failure || flag.and_then(|flag| flag.bool()) == Some(true) {
        // Without a terminal reason, the subtype of an own failure is the stop reason, and no code.
        let reason = terminal.or_else(|| subtype.filter(|_| own_failure));
        let code = subtype.filter(|_| terminal.is_some() || !own_failure);
        failure(line, (subtype, code), result, out);
        let raw = reason.and_then(|reason| reason.note_text(Field::StopReason));
        let raw = raw.or_else(|| subtype.and_then(|subtype| subtype.str()));
        return Stop { class: StopClass::Error, raw, sequence: None, detail: None };
    }
    note_tag(line, "subtype", &["success"]);
    let reason = line.get("stop_reason");
    if let Some(raw) = reason.and_then(|reason| reason.note_text(Field::StopReason)) {
        return read_stop(raw, None);
    }
    reason.filter(Val::is_null).map(|reason| reason.note(Field::Structure));
    let raw = terminal.and_then(|reason| reason.note_text(Field::StopReason));
    Stop { class: StopClass::End, raw, sequence: None, detail: None }
}

/// An API failure ends with subtype `success` and `is_error`; the agent's own limits have other subtypes.
pub(super) fn failure(
    line: Val<'_>,
    (subtype, code): (Option<Val<'_>>, Option<Val<'_>>),
    result: Option<Val<'_>>,
    out: &mut EventSink<'_>,
) {
    let first = line.get("errors").and_then(|errors| errors.elements().next());
    // Qwen Code has a single error, and Amp a text.
    let only = line.get("error").and_then(|error| error.get("message").or(Some(error)));
    let message = first.or(only).and_then(|error| error.take_text(Field::ErrorMessage));
    let message = message.or_else(|| match result?.claimed() {
        Claim::Free => result?.note_text(Field::ErrorMessage),
        Claim::Taken(_) | Claim::Noted(_) | Claim::Placed => result?.str(),
    });
    let status = line.get("api_error_status").and_then(|status| {
        let number = u16::try_from(status.u64()?).ok()?;
        status.note(Field::ErrorStatus);
        Some(number)
    });
    let code = line
        .note_str("api_error_type", Field::ErrorCode)
        .or_else(|| code.and_then(|code| code.note_text(Field::ErrorCode)));
    let class = status.map_or(FailureClass::Other, FailureClass::of_status);
    let message = message.or_else(|| subtype.and_then(|subtype| subtype.str())).unwrap_or_default();
    out.event(&Event::Error(Failure { class, status, code, message, request_id: None, retry_after: None }));
}

/// A notice for a line outside the conversation, with the line's single text for people.
pub(super) fn notice(line: Val<'_>, out: &mut EventSink<'_>) {
    let inner = line.get("request").or(line.get("event"));
    let subtype = match line.str_or_empty("type") {
        "system" => line.note_str("subtype", Field::NoticeType),
        "control_request" => inner.and_then(|request| request.note_str("subtype", Field::NoticeType)),
        "stream_event" => inner.and_then(|event| event.note_str("type", Field::NoticeType)),
        _ => None,
    };
    let event_type = subtype.or_else(|| line.note_str("type", Field::NoticeType));
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = line.take_str("uuid", Field::ItemId);
    head.parent_call = parent_call(line).or_else(|| line.note_str("tool_use_id", Field::ItemParentCall));
    head.time = line.get("timestamp").and_then(time);
    let item = out.start(head);
    let detail = ["message", "summary", "description", "title", "status", "error", "compact_result"];
    // A new title was emitted as a session update.
    let detail = detail.into_iter().filter(|name| *name != "title" || !is_renaming(line));
    let count = || line.get("estimated_tokens").filter(|count| count.kind() == Kind::Number);
    if let Some(text) = detail.into_iter().find_map(|name| line.take_str(name, Field::NoticeText)) {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(count) = count() {
        count.take(Field::NoticeText);
        out.delta(item, 0, Part::Text(Str::escaped(count.text())));
    } else if let Some(data) = line.get("data").filter(|data| data.kind() == Kind::Object) {
        out.delta(item, 0, Part::Json(data.take(Field::NoticeData)));
    }
    out.complete(item);
}

pub(super) fn is_renaming(line: Val<'_>) -> bool {
    line.get("subtype").is_some_and(|subtype| subtype.is("session_title_changed"))
}

/// The call that started the subagent of this line.
pub(super) fn parent_call(line: Val<'_>) -> Option<Str<'_>> {
    let call = line.get("parent_tool_use_id")?;
    if call.is_null() {
        call.note(Field::Structure);
    }
    call.take_text(Field::ItemParentCall)
}

/// Notes `parent_tool_use_id` if it equals the stream's call.
pub(super) fn repeat_parent_call(line: Val<'_>, under: &str) {
    let Some(parent) = line.get("parent_tool_use_id") else { return };
    if parent.is_null() && under.is_empty() {
        parent.note(Field::Structure);
    } else if parent.str().is_some_and(|parent| parent.as_escaped() == under) {
        parent.note(Field::ItemParentCall);
    }
}

pub(super) fn time(time: Val<'_>) -> Option<Raw<'_>> {
    time.take_text(Field::ItemTime).map(|_| time.raw())
}
