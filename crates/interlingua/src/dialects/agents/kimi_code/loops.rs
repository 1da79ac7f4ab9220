//! Steps of the agent's loop: a step starts, the model emits thoughts, text and calls, tools return, the step ends.

use super::read::{KimiCodeReader, Line, end_result, is_thought, returned, think};
use super::session_events::{Change, usage_of};
use crate::blocks::is_content;
use crate::dialects::agents::kimi_parts::{read_part, shape};
use crate::json::{Raw, Str};
use crate::model::{
    Args, Author, CallKind, Event, Field, FileRef, ItemKind, ItemKindTag, Notice, Part, Shape, Stop,
    StopClass, ToolCall, ToolResult, Turn, Words,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

const STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "end_turn"),
    (StopClass::ToolUse, "tool_use"),
    (StopClass::MaxTokens, "max_tokens"),
    (StopClass::MaxTokens, "truncated"),
    (StopClass::Filter, "filtered"),
    (StopClass::Paused, "paused"),
    (StopClass::Cancelled, "cancelled"),
    (StopClass::Error, "error"),
]);

impl KimiCodeReader {
    /// An event of the loop.
    pub(super) fn loop_event<'t>(&mut self, line: Line<'t>, event: Val<'t>, out: &mut EventSink<'_>) {
        let kind = event.get("type");
        match kind.word() {
            "step.begin" => {
                (self.counted, self.told_at_end) = (false, None);
                line.kind.note_text(Field::Structure);
                let notice = ItemKind::Notice(Notice { event_type: kind.note_text(Field::NoticeType) });
                let mut head = line.head(notice, Author::System, out);
                head.native_id = event.take_str("uuid", Field::ItemId);
                let item = out.start(head);
                out.complete(item);
                return;
            }
            "content.part" if event.get("part").is_some_and(is_said) => part(line, event, out),
            "tool.call" if event.has_str("name") => self.call(line, event, out),
            "tool.result" if event.get("result").is_some_and(|result| result.kind() == Kind::Object) => {
                self.result(line, event, out);
            }
            "step.end" if event.has_str("finishReason") || event.has_str("messageId") => {
                line.kind.note_text(Field::Structure);
                line.notice(kind, out);
                return self.end_step(event, out);
            }
            _ => {
                line.kind.note_text(Field::Structure);
                return line.notice(kind, out);
            }
        }
        line.kind.note_text(Field::Structure);
        kind.note_text(Field::Structure);
    }

    /// Reads a call. The file change is emitted with the result.
    fn call<'t>(&mut self, line: Line<'t>, event: Val<'t>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<6> =
            WantedNames::new(["uuid", "stepUuid", "toolCallId", "name", "args", "display"]);
        let [uuid, step, call_id, name, args, display] = event.find(&WANTED);
        if let Some(change) = display.and_then(Change::of) {
            self.changes.insert(call_id.word(), change);
        }
        let call = ToolCall {
            call_id: call_id.take_text(Field::CallId),
            kind: CallKind::Function,
            namespace: None,
            name: name.take_text(Field::CallName).unwrap_or_default(),
        };
        let mut head = line.head(ItemKind::ToolCall(call), Author::Assistant, out);
        head.native_id = uuid.take_text(Field::ItemId);
        head.parent = step.take_text(Field::ItemParent);
        let item = out.start(head);
        if let Some(args) = args.filter(|args| args.kind() == Kind::Object) {
            out.delta(item, 0, Part::Args(Args::Json(args.take(Field::CallArgs))));
        } else if let Some(args) = args.filter(|args| !args.is_null()) {
            // A hole cannot distinguish a non-object value from a text, so the value is not taken.
            let args = match args.str() {
                Some(text) => Args::Text(text),
                None => Args::Json(Raw::new(args.text())),
            };
            if let Some(leaf) = event.get("args") {
                leaf.note(Field::CallArgs);
            }
            out.delta(item, 0, Part::Args(args));
        }
        out.complete(item);
    }

    /// Reads a tool result.
    fn result<'t>(&mut self, line: Line<'t>, event: Val<'t>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> = WantedNames::new(["output", "note", "durationMs", "message"]);
        let [call, call_id, result] = event.get_all(["parentUuid", "toolCallId", "result"]);
        let Some(result) = result else { return };
        let [output, note, duration, message] = result.find(&WANTED);
        // Earlier versions have `message` in place of `note`.
        let note = note.or(message);
        let output = output.filter(|output| is_content(output) && !output.is(""));
        let note = note.filter(|note| note.kind() == Kind::String && !note.is(""));
        let change = self.changes.remove(call_id.word());
        let kind =
            ItemKind::ToolResult(ToolResult { call_id: call_id.take_text(Field::ResultCallId), name: None });
        let mut head = line.head(kind, Author::Tool, out);
        head.parent = call.take_text(Field::ItemParent);
        head.shape = if output.is_some() && note.is_some() { Shape::List } else { shape(output) };
        let item = out.start(head);
        let next = returned(output, note, item, out);
        let is_error = result.take_bool("isError", Field::ResultIsError);
        if let Some(Change { path, action, diff }) = change.filter(|_| is_error != Some(true)) {
            let file = FileRef { path, action: Str::escaped(action), diff: Some(diff) };
            out.delta(item, next, Part::File(file));
        }
        end_result(item, is_error, duration.note_count(Field::ResultDuration), output, out);
    }

    /// Reads the stop reason of the response, and its usage unless an earlier line held it.
    fn end_step(&mut self, event: Val<'_>, out: &mut EventSink<'_>) {
        let [id, reason, usage] = event.get_all(["messageId", "finishReason", "usage"]);
        let usage = usage.filter(|usage| usage.kind() == Kind::Object && !self.counted);
        let stop = reason.note_text(Field::StopReason).map(|raw| Stop {
            class: STOPS.value(&raw).unwrap_or(StopClass::Other),
            raw: Some(raw),
            sequence: None,
            detail: None,
        });
        let usage = usage.map(usage_of);
        self.told_at_end = usage;
        out.event(&Event::Usage(Turn { id: id.note_text(Field::TurnId), stop, usage, ..Turn::default() }));
    }
}

fn is_said(part: Val<'_>) -> bool {
    is_thought(part) || crate::dialects::agents::kimi_parts::is_part(part)
}

/// A thought, a text or a picture of the response.
fn part<'t>(line: Line<'t>, event: Val<'t>, out: &mut EventSink<'_>) {
    let [uuid, step, part] = event.get_all(["uuid", "stepUuid", "part"]);
    let Some(part) = part else { return };
    let thinks = is_thought(part);
    let kind = if thinks { ItemKind::Reasoning } else { ItemKind::Message };
    let mut head = line.head(kind, Author::Assistant, out);
    head.native_id = uuid.take_text(Field::ItemId);
    head.parent = step.take_text(Field::ItemParent);
    let item = out.start(head);
    if thinks {
        part.note_str("type", Field::Structure);
        return think(part, item, out);
    }
    if let Some(part) = read_part(part, ItemKindTag::Message) {
        out.delta(item, 0, part);
    }
    out.complete(item);
}
