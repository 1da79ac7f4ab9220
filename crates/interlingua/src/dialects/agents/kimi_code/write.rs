//! Items to lines. A kept line is written back byte for byte; another agent's session becomes a file that Kimi Code
//! opens: a head, a profile, then messages.

use super::read::TOLD;
use crate::dialects::agents::kimi_parts::{
    ISSUER, THINK, built_part, built_thought, class_of, kept_part, kept_thought,
};
use crate::json::{Raw, Str};
use crate::ledger::is_hole;
use crate::log::{
    CallValues, CallsTogether, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules,
    NativeElement, NativeObject, NativeValue, OneAgent, arguments_text, date_of_millis, millis_of_date,
    stage,
};
use crate::model::{Args, Author, CallKind, Field, ItemHead, ItemKind, ItemKindTag, Origin, Part, ToolCall};
use crate::tape::Val;

#[derive(Default)]
pub(super) struct KimiCodeForm {
    date: String,
}

impl LogForm for KimiCodeForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        origins: &[Origin::Own, Origin::Harness, Origin::Summary, Origin::Command],
        calls: &[CallKind::Function],
        media: MediaRules { types: &["image/", "video/", "audio/"], by_address: true, from_assistant: true },
        // The model API requires the results of all calls before any other message.
        stages: &[stage::<OneAgent>, stage::<CallsTogether>],
        session_head: &[Field::SessionStart],
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, parent, agent, parent_call, kind, .. } = item.head();
        let mut line = NativeObject::new();
        line.put_some("agentId", agent.as_ref()).put_some("subagentId", agent.as_ref());
        line.put_some("parentToolCallId", parent_call.as_ref()).put_some("time", self.time_of(item, kept));
        let mut event = NativeObject::new();
        event.put_some("uuid", native_id.as_ref()).put_some("toolCallId", item.call_id());
        event.put_some("stepUuid", parent.as_ref()).put_some("parentUuid", parent.as_ref());
        match kind {
            ItemKind::Message | ItemKind::Reasoning => {
                let block = if item.of() == ItemKindTag::Reasoning {
                    Some(kept_thought(item))
                } else {
                    item.parts().find_map(kept_part).map(|(_, part)| part)
                };
                event.put_some("part", block);
                line.put_some("systemPrompt", item.only_text());
            }
            ItemKind::ToolCall(call) => {
                event.put("name", &call.name);
                if let Some(Args::Json(json)) = item.arguments() {
                    event.put("args", json);
                }
            }
            ItemKind::ToolResult(_) => {
                let result = kept.get("event").and_then(|event| event.get("result"));
                event.put("result", returned(item, result));
            }
            ItemKind::Notice(_) => {
                for (_, name) in TOLD {
                    line.put_some(name, item.parts().find_map(told));
                }
            }
        }
        let mut message = NativeObject::new();
        message.put_some("id", native_id.as_ref()).put("content", content_of(item));
        message.put_some("toolCallId", item.call_id()).put_some("isError", item.tail().is_error);
        let calls = item.content().filter_map(|content| match content {
            GatheredContent::Item(inner) => match &inner.head().kind {
                ItemKind::ToolCall(call) => Some(call_values(inner, call)),
                _ => None,
            },
            GatheredContent::Part(_) => None,
        });
        message.put("toolCalls", calls.collect::<NativeValue<'_>>());
        line.put("event", event).put("message", message);
        line
    }

    fn class_of(list: &str, element: Val<'_>) -> usize {
        if list == "toolCalls" { 0 } else { class_of(element) }
    }

    fn issuer_of(_: Val<'_>) -> Str<'_> {
        Str::escaped(ISSUER)
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if !log.has_frames() {
            // Without a `profile.bind`, Kimi Code uses its own prompt and the model it was started with.
            let mut head = NativeObject::typed("metadata");
            let start = log.say(Field::SessionStart).unwrap_or_else(|| log.time_of(item));
            head.literal("protocol_version", "1.5").put("created_at", millis(&start));
            log.write(head);
        }
        let time = millis(&log.time_of(item));
        let mut lines = Vec::new();
        for content in item.blocks() {
            if let GatheredContent::Item(inner) = content
                && inner.of() == ItemKindTag::Result
            {
                lines.push(result_message(inner, log));
            }
        }
        let at = if item.head().author == Author::Assistant { 0 } else { lines.len() };
        lines.splice(at..at, built_message(item, log));
        // The last message gets the item's id, for references from other items.
        let last = lines.len().saturating_sub(1);
        for (number, mut message) in lines.into_iter().enumerate() {
            message.put_some("id", item.head().native_id.as_ref().filter(|_| number == last));
            let mut line = NativeObject::typed("context.append_message");
            line.literal("agentId", "main").put("message", message).put("time", time.clone());
            log.write(line);
        }
    }
}

impl KimiCodeForm {
    /// The time of an item, if the kept line holds the same time in its own form.
    fn time_of<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> Option<NativeValue<'g>> {
        let time = item.head().time.as_ref()?;
        let millis = kept.get("time").and_then(|time| time.u64())?;
        let same = date_of_millis(millis, &mut self.date) && self.date == time.as_str();
        same.then(|| NativeValue::Otherwise(time.reborrow()))
    }
}

/// The value of a notice.
fn told<'g>(part: &'g Part<'_>) -> Option<NativeValue<'g>> {
    match part {
        Part::Text(text) => Some(text.into()),
        Part::Json(json) => Some(json.into()),
        _ => None,
    }
}

fn element_of<'g>(part: &'g Part<'_>) -> Option<NativeElement<'g>> {
    kept_part(part).map(|(class, part)| NativeElement { class, value: part.into() })
}

/// The values of a result for a kept line.
fn returned<'g>(item: GatheredItem<'g>, kept: Option<Val<'_>>) -> NativeObject<'g> {
    let is_noted = |name| kept.and_then(|result| result.get(name)).is_some_and(is_hole);
    let noted = is_noted("note") || is_noted("message");
    let mut parts: Vec<&Part<'_>> = item.parts().filter(|part| kept_part(part).is_some()).collect();
    let mut result = NativeObject::new();
    result.put_some("isError", item.tail().is_error);
    if let Some(Part::Text(note)) = parts.pop_if(|_| noted) {
        // Only one of the two members was taken.
        result.put("note", note).put("message", note);
    }
    let one = match &parts[..] {
        [Part::Text(text)] => Some(Box::new(text.into())),
        _ => None,
    };
    let elements = parts.iter().filter_map(|part| element_of(part)).collect();
    result.put("output", NativeValue::Either(one, Box::new(NativeValue::List(elements))));
    result
}

/// The content of a message. Calls are in a separate member.
fn content_of(item: GatheredItem<'_>) -> NativeValue<'_> {
    let element = |content| match content {
        GatheredContent::Part(part) => element_of(part),
        GatheredContent::Item(inner) if inner.of() == ItemKindTag::Reasoning => {
            Some(NativeElement { class: THINK, value: kept_thought(inner).into() })
        }
        GatheredContent::Item(_) => None,
    };
    let mut texts =
        item.parts().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
    let one = texts.next().filter(|_| texts.next().is_none()).map(|text| Box::new(text.into()));
    NativeValue::Either(one, Box::new(NativeValue::List(item.content().filter_map(element).collect())))
}

fn call_values<'g>(item: GatheredItem<'g>, call: &'g ToolCall<'_>) -> NativeObject<'g> {
    let mut values = NativeObject::new();
    values.put_some("id", call.call_id.as_ref()).put("name", &call.name);
    values.put_some("arguments", arguments_text(item));
    values
}

const MEMBERS: [&str; 3] = ["imageUrl", "videoUrl", "audioUrl"];

/// A date in milliseconds, Kimi Code's form.
fn millis(date: &Raw<'_>) -> Raw<'static> {
    Raw::owned(millis_of_date(date.as_str()).unwrap_or(0).to_string())
}

/// A message with its thoughts and calls, if it has content.
fn built_message<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> Option<NativeObject<'g>> {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for block in item.blocks() {
        match block {
            GatheredContent::Part(part) => content.extend(built_part(part, MEMBERS)),
            GatheredContent::Item(inner) => match &inner.head().kind {
                ItemKind::Reasoning if inner.says_anything() => content.push(built_thought(inner)),
                ItemKind::ToolCall(call) => {
                    let values = CallValues::new(inner, call, Some(log));
                    let mut built = NativeObject::typed("function");
                    let arguments = values.spelled_arguments();
                    built.put("id", values.id).put("name", values.name).put("arguments", arguments);
                    calls.push(built);
                }
                ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
            },
        }
    }
    if content.is_empty() && calls.is_empty() {
        return None;
    }
    let ItemHead { author, origin, .. } = item.head();
    let role = match author {
        Author::Assistant => "assistant",
        Author::User | Author::Tool | Author::System | Author::Developer => "user",
    };
    let mut message = NativeObject::new();
    message.literal("role", role).put("content", content).put("toolCalls", calls);
    let kind = match origin {
        Some(Origin::Own) => Some("user"),
        Some(Origin::Harness) => Some("injection"),
        Some(Origin::Summary) => Some("compaction_summary"),
        Some(Origin::Command) => Some("shell_command"),
        Some(Origin::Agent) | None => None,
    };
    if let Some(kind) = kind {
        let mut origin = NativeObject::new();
        origin.literal("kind", kind);
        message.put("origin", origin);
    }
    Some(message)
}

/// A tool result in the form of a message.
fn result_message<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> NativeObject<'g> {
    let (id, _) = log.answered(item);
    let content: Vec<_> = item.parts().filter_map(|part| built_part(part, MEMBERS)).collect();
    let mut message = NativeObject::new();
    message.literal("role", "tool").put("content", content).put("toolCallId", id);
    message.put("toolCalls", NativeValue::List(Vec::new()));
    message.put_some("isError", item.tail().is_error);
    message
}
