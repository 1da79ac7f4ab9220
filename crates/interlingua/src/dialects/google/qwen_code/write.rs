//! Writes items as lines. Kept lines are restored byte for byte. Another agent's session becomes lines that Qwen Code
//! can resume, in the folder of the directory that they name.

use super::super::logged::{BuiltResult, ByKind, LoggedResponse, built_call, built_part, built_thought};
use crate::json::Str;
use crate::log::{
    CallsTogether, FrameHead, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules,
    NativeObject, NativeValue, OneAgent, SessionIds, has_hole, stage,
};
use crate::model::{Author, CallKind, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Origin, Part};
use crate::tape::{Kind, Val};

/// The version with which resuming was tested.
const VERSION: &str = "0.24.4";

pub(super) struct QwenForm;

impl LogForm for QwenForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        origins: &[Origin::Own, Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/", "audio/", "video/", "application/pdf"], ..MediaRules::NONE },
        // Qwen Code follows a single chain, from the last line.
        stages: &[stage::<OneAgent>, stage::<CallsTogether>],
        chained: true,
        session: &[Field::SessionId, Field::SessionCwd, Field::SessionBranch, Field::SessionModel],
        session_ids: SessionIds::EarlyUuid,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, parent, time, model, .. } = item.head();
        let mut line = NativeObject::new();
        line.put_some("uuid", native_id.as_ref())
            .put_some("parentUuid", parent.as_ref())
            .put_some("timestamp", time.as_ref())
            .put_some("model", model.as_ref());
        if let Some(parts) = kept.get("message").and_then(|message| message.get("parts")) {
            let mut message = NativeObject::new();
            if item.of() == ItemKindTag::Result {
                let mut response = LoggedResponse::new(item);
                let with_holes = parts.elements().filter(|part| has_hole(*part));
                message.put("parts", with_holes.map(|part| response.part(part)).collect::<NativeValue<'_>>());
                let mut result = NativeObject::new();
                result.put_some("status", item.tail().native_status.as_ref());
                result.put_some("resultDisplay", response.display());
                line.put("toolCallResult", result);
            } else {
                message.put("parts", ByKind::new(item, Default::default()).content(parts));
            }
            line.put("message", message);
        } else if let Some(payload) = kept.get("systemPayload") {
            line.put_some("systemPayload", payload_values(item, payload));
        }
        line
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        // Results get their own lines, before the line with the user's other content.
        let mut lines = Vec::new();
        let mut parts = Vec::new();
        for content in item.blocks() {
            let inner = match content {
                GatheredContent::Part(part) => {
                    parts.extend(built_part(part));
                    continue;
                }
                GatheredContent::Item(inner) => inner,
            };
            match &inner.head().kind {
                ItemKind::Reasoning => {
                    if let Some(text) = built_thought(inner) {
                        let mut part = NativeObject::new();
                        part.put("text", text).put("thought", true);
                        parts.push(part);
                    }
                }
                ItemKind::ToolCall(call) => {
                    let mut part = NativeObject::new();
                    part.put("functionCall", built_call(inner, call, log));
                    parts.push(part);
                }
                ItemKind::ToolResult(_) => lines.push((inner.head().id, result_line(inner, log))),
                ItemKind::Message | ItemKind::Notice(_) => {}
            }
        }
        if !parts.is_empty() {
            let line = message_line(item, parts, log);
            lines.push((item.head().id, line));
        }
        let Some((_, others)) = lines.split_last() else { return };
        let others: Vec<ItemId> = others.iter().map(|(number, _)| *number).collect();
        let frames = log.frames_of(item, others.into_iter());
        for (FrameHead { id, parent, time }, (_, rest)) in frames.into_iter().zip(lines) {
            let mut line = NativeObject::new();
            line.put("uuid", id).put("parentUuid", parent);
            line.put("sessionId", log.session_id()).put("timestamp", time);
            let cwd = log.say_or(Field::SessionCwd, "\"/\"", "made up the working directory");
            let Rest { kind, members } = rest;
            line.literal("type", kind).put("cwd", cwd).literal("version", VERSION);
            line.put_some("gitBranch", log.say(Field::SessionBranch));
            line.append(members);
            log.write(line);
        }
    }
}

/// The type of a line, and the members that not every line has.
struct Rest<'g> {
    kind: &'static str,
    members: NativeObject<'g>,
}

fn message_line<'g>(
    item: GatheredItem<'g>,
    parts: Vec<NativeObject<'g>>,
    log: &mut LogBuilder<'_, '_>,
) -> Rest<'g> {
    let ItemHead { author, origin, .. } = item.head();
    let mut members = NativeObject::new();
    let mut message = NativeObject::new();
    if *author == Author::Assistant {
        members.put("model", log.model_of(item));
        message.literal("role", "model").put("parts", parts);
        members.put("message", message);
        return Rest { kind: "assistant", members };
    }
    let is_harness = *origin == Some(Origin::Harness) || *author != Author::User;
    if is_harness {
        members.literal("subtype", "notification").literal("provenance", "system");
    } else if *origin == Some(Origin::Own) {
        members.literal("provenance", "real_user");
    }
    message.literal("role", "user").put("parts", parts);
    members.put("message", message);
    Rest { kind: "user", members }
}

fn result_line<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> Rest<'g> {
    let BuiltResult { call_id, parts, status } = BuiltResult::new(item, log);
    let mut message = NativeObject::new();
    message.literal("role", "user").put("parts", parts);
    let mut result = NativeObject::new();
    result.put("callId", call_id).put_some("status", status.map(Str::escaped));
    let mut members = NativeObject::new();
    members.put("message", message).put("toolCallResult", result);
    Rest { kind: "tool_result", members }
}

/// The values for the holes of a payload: the whole payload, or the member that was taken.
fn payload_values<'g>(item: GatheredItem<'g>, kept: Val<'_>) -> Option<NativeValue<'g>> {
    let value = |part: &'g Part<'static>| -> Option<NativeValue<'g>> {
        match part {
            Part::Json(json) => Some(json.into()),
            Part::Text(text) => Some(text.into()),
            _ => None,
        }
    };
    let value = item.parts().find_map(value)?;
    if kept.kind() != Kind::Object {
        return Some(value);
    }
    let names = ["rawCommand", "outputHistoryItems", "filesRead", "uiEvent"];
    let name = names.into_iter().find(|name| kept.get(name).is_some_and(has_hole))?;
    let mut payload = NativeObject::new();
    payload.put(name, value);
    Some(payload.into())
}
