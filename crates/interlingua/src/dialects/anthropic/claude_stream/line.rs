//! Single-line events: the end of a turn, notices, and the members that many lines share.

use crate::dialects::anthropic::usage::read_stop;
use crate::json::{Raw, Str};
use crate::model::{Author, Event, Failure, FailureClass, Field, ItemKind, Notice, Part, Stop, StopClass};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Member as _, Val, WantedNames};
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
    const WANTED: WantedNames<6> =
        WantedNames::new(["type", "subtype", "uuid", "parent_tool_use_id", "tool_use_id", "timestamp"]);
    // The first of these members is the text.
    const DETAIL: WantedNames<9> = WantedNames::new([
        "message",
        "summary",
        "description",
        "title",
        "status",
        "error",
        "compact_result",
        "estimated_tokens",
        "data",
    ]);
    let [kind, subtype, uuid, parent, call, when] = line.find(&WANTED);
    let named = match kind.word() {
        "system" => subtype.note_text(Field::NoticeType),
        "control_request" | "stream_event" => {
            let inner = line.get("request").or(line.get("event"));
            let name = if kind.word() == "stream_event" { "type" } else { "subtype" };
            inner.and_then(|inner| inner.note_str(name, Field::NoticeType))
        }
        _ => None,
    };
    let event_type = named.or_else(|| kind.note_text(Field::NoticeType));
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = uuid.take_text(Field::ItemId);
    head.parent_call = parent_call(parent).or_else(|| call.note_text(Field::ItemParentCall));
    head.time = when.and_then(time);
    let item = out.start(head);
    let [message, summary, description, title, status, error, compacted, count, data] = line.find(&DETAIL);
    // A new title was emitted as a session update.
    let title = title.filter(|_| !is_renaming(subtype));
    let detail = [message, summary, description, title, status, error, compacted];
    let count = count.filter(|count| count.kind() == Kind::Number);
    if let Some(text) = detail.into_iter().find_map(|detail| detail.take_text(Field::NoticeText)) {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(count) = count {
        count.take(Field::NoticeText);
        out.delta(item, 0, Part::Text(Str::escaped(count.text())));
    } else if let Some(data) = data.filter(|data| data.kind() == Kind::Object) {
        out.delta(item, 0, Part::Json(data.take(Field::NoticeData)));
    }
    out.complete(item);
}

/// Whether a line of this subtype renames the session.
pub(super) fn is_renaming(subtype: Option<Val<'_>>) -> bool {
    subtype.is_some_and(|subtype| subtype.is("session_title_changed"))
}

/// The call that started the subagent of a line, from the member `parent_tool_use_id`.
pub(super) fn parent_call(call: Option<Val<'_>>) -> Option<Str<'_>> {
    let call = call?;
    if call.is_null() {
        call.note(Field::Structure);
    }
    call.take_text(Field::ItemParentCall)
}

/// Notes the member `parent_tool_use_id` if it equals the stream's call.
pub(super) fn repeat_parent_call(parent: Option<Val<'_>>, under: &str) {
    let Some(parent) = parent else { return };
    if parent.is_null() && under.is_empty() {
        parent.note(Field::Structure);
    } else if parent.str().is_some_and(|parent| parent.as_escaped() == under) {
        parent.note(Field::ItemParentCall);
    }
}

pub(super) fn time(time: Val<'_>) -> Option<Raw<'_>> {
    time.take_text(Field::ItemTime).map(|_| time.raw())
}
