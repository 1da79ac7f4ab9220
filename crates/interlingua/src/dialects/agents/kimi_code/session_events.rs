//! Events beside the conversation: usage, permissions, rewinds, compactions and failures.

use super::read::{KimiCodeReader, Line};
use crate::json::Str;
use crate::log::hunk_of;
use crate::model::{
    Compaction, Decision, Event, Failure, FailureClass, Field, Permission, Rewind, Turn, Usage,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The file change of a call, as the program displays it to the user.
pub(super) struct Change {
    pub(super) path: Str<'static>,
    pub(super) action: &'static str,
    pub(super) diff: Str<'static>,
}

impl Change {
    /// The change displayed for a call, if it changes a file.
    pub(super) fn of(display: Val<'_>) -> Option<Self> {
        let [kind, operation, path, before, after] =
            display.get_all(["kind", "operation", "path", "before", "after"]);
        let action = match operation.word() {
            "edit" => "patch",
            "write" => "write",
            _ => return None,
        };
        let text =
            |val: Option<Val<'_>>| val.and_then(|val| val.str()).map(|text| text.decode().into_owned());
        // A file written whole has `content` in place of `after`.
        let after = text(after).or_else(|| text(display.get("content")))?;
        let path = path.and_then(|path| path.str()).filter(|_| kind.word() == "file_io")?.into_owned();
        let hunk = hunk_of(&text(before).unwrap_or_default(), &after, (1, 1));
        Some(Self { path, action, diff: Str::from_plain(&hunk) })
    }
}

/// The permission request in an interaction.
pub(super) fn asked_in(line: Val<'_>) -> Option<Val<'_>> {
    let [kind, id, request] = line.get_all(["kind", "id", "request"]);
    let request = request.filter(|request| request.has_str("action") || request.has_str("toolName"));
    request.filter(|_| kind.word() == "approval" && id.is_some_and(|id| id.kind() == Kind::String))
}

/// Parses usage counts under Kimi Code's names.
pub(super) fn usage_of(usage: Val<'_>) -> Usage {
    const COUNTS: WantedNames<4> =
        WantedNames::new(["inputOther", "output", "inputCacheRead", "inputCacheCreation"]);
    let [input, output, cache_read, cache_write] = usage.find(&COUNTS);
    Usage {
        input: input.note_count(Field::UsageInput),
        cache_read: cache_read.note_count(Field::UsageCacheRead),
        cache_write: cache_write.note_count(Field::UsageCacheWrite),
        output: output.note_count(Field::UsageOutput),
        ..Usage::default()
    }
}

impl KimiCodeReader {
    /// Reads an event that is not an item; returns whether the line is an event.
    pub(super) fn happened(&mut self, line: Line<'_>, word: &str, out: &mut EventSink<'_>) -> bool {
        let val = line.val;
        match word {
            "usage.record" if val.get("usage").is_some_and(|usage| usage.kind() == Kind::Object) => {
                line.notice(line.kind, out);
                self.counted = true;
                let usage = val.get("usage").map(usage_of);
                let model = val.note_str("model", Field::TurnModel);
                let is_repeated = self.told_at_end.take().is_some_and(|told| Some(told) == usage);
                if is_repeated {
                    out.event(&Event::Usage(Turn { model, ..Turn::default() }));
                } else if self.last_record.is_new(val) {
                    out.event(&Event::Usage(Turn { model, usage, ..Turn::default() }));
                }
            }
            "context.undo" => {
                line.happens(out);
                let turns = val.note_u64("count", Field::RewindTurns);
                out.event(&Event::Rewound(Rewind { to: None, turns }));
            }
            "context.apply_compaction" => compacted(line, out),
            "permission.record_approval_result" => return self.answers(line, out),
            "turn.step.retrying" if val.has_str("errorMessage") => {
                line.happens(out);
                let status = val.note_u64("statusCode", Field::ErrorStatus);
                let status = status.and_then(|status| u16::try_from(status).ok());
                out.event(&Event::Error(Failure {
                    class: status.map_or(FailureClass::Other, FailureClass::of_status),
                    status,
                    code: val.note_str("errorName", Field::ErrorCode),
                    message: val.note_str("errorMessage", Field::ErrorMessage).unwrap_or_default(),
                    request_id: None,
                    retry_after: val.note_u64("delayMs", Field::ErrorRetryAfter),
                }));
            }
            "turn.ended" => {
                let Some(error) = val.get("error").filter(|error| error.has_str("message")) else {
                    return false;
                };
                line.happens(out);
                out.event(&Event::Error(Failure {
                    class: FailureClass::Other,
                    status: None,
                    code: error.note_str("code", Field::ErrorCode),
                    message: error.note_str("message", Field::ErrorMessage).unwrap_or_default(),
                    request_id: None,
                    retry_after: None,
                }));
            }
            _ => return false,
        }
        true
    }

    /// The agent requests permission.
    pub(super) fn asks(&mut self, line: Line<'_>, out: &mut EventSink<'_>) {
        let Some(request) = asked_in(line.val) else { return };
        line.happens(out);
        line.val.note_str("kind", Field::Structure);
        let id = line.val.note_str("id", Field::PermissionId).unwrap_or_default();
        let call_id = line.val.note_str("toolCallId", Field::PermissionCallId);
        if let Some(call) = &call_id {
            self.asked.insert(call.as_escaped(), id.clone().into_owned());
        }
        let action = request.note_str("action", Field::PermissionAction);
        let action = action.or_else(|| request.note_str("toolName", Field::PermissionAction));
        let input = request.get("display").filter(|display| !display.is_null());
        out.event(&Event::PermissionRequested(Permission {
            id,
            action: action.unwrap_or_default(),
            call_id,
            input: input.map(|input| input.note(Field::PermissionInput)),
            by: None,
            answer: None,
        }));
    }

    /// A permission was granted or refused. The decision holds the call's id, not the request's.
    fn answers(&mut self, line: Line<'_>, out: &mut EventSink<'_>) -> bool {
        const WANTED: WantedNames<3> = WantedNames::new(["toolCallId", "action", "result"]);
        let [call, action, result] = line.val.find(&WANTED);
        let decision = result.and_then(|result| result.get("decision"));
        let is_known = ["approved", "rejected", "denied", "cancelled"].contains(&decision.word());
        let call = call.filter(|call| call.kind() == Kind::String && is_known);
        let (Some(call), Some(result)) = (call, result) else {
            return false;
        };
        line.happens(out);
        decision.note_text(Field::PermissionAnswer);
        let [scope, feedback] = result.get_all(["scope", "feedback"]);
        let answer = match decision.word() {
            "approved" if scope.word() == "session" => {
                scope.note_text(Field::PermissionAnswer);
                Decision::AcceptForSession
            }
            "approved" => Decision::Accept,
            _ => {
                let why = feedback.filter(|why| !why.is(""));
                Decision::Reject(why.note_text(Field::PermissionMessage))
            }
        };
        let asked = self.asked.remove(Some(call).word());
        let call_id = call.note_text(Field::PermissionCallId);
        out.event(&Event::PermissionResolved(Permission {
            id: asked.or_else(|| call_id.clone()).unwrap_or_default(),
            action: action.note_text(Field::PermissionAction).unwrap_or(Str::escaped("unknown")),
            call_id,
            input: None,
            by: None,
            answer: Some(answer),
        }));
        true
    }
}

/// The conversation was compacted. The event holds the summary; the lines before it remain in the file.
fn compacted(line: Line<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> =
        WantedNames::new(["tokensBefore", "tokensAfter", "contextSummary", "summary"]);
    let [before, after, short, long] = line.val.find(&WANTED);
    line.happens(out);
    out.event(&Event::Compacted(Compaction {
        before: before.note_count(Field::CompactionBefore),
        after: after.note_count(Field::CompactionAfter),
        summary: short.or(long).note_text(Field::CompactionSummary),
        ..Compaction::default()
    }));
}
