//! Items to lines. A kept line is written back byte for byte, in either file; another agent's session becomes a
//! `context.jsonl` that Kimi CLI continues from.

use super::read::{FAILED, MADE_UP_FAILURE};
use crate::dialects::agents::kimi_parts::{
    ISSUER, THINK, built_part, built_thought, class_of, kept_part, kept_thought,
};
use crate::json::{Raw, Str};
use crate::ledger::is_hole;
use crate::log::{
    CallValues, CallsTogether, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules,
    NativeElement, NativeObject, NativeValue, OneAgent, arguments_text, date_of_seconds, stage, text_of,
};
use crate::model::{Author, CallKind, ItemHead, ItemId, ItemKind, ItemKindTag, Part, ToolCall};
use crate::tape::{Kind, Val};

#[derive(Default)]
pub(super) struct KimiForm {
    /// Restored lines that start a call which a later line completes: the call's id, and the date.
    begun: Vec<(String, String)>,
    /// The call whose lines are being restored: its start was used once.
    call: Option<ItemId>,
    date: String,
}

impl LogForm for KimiForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        calls: &[CallKind::Function],
        media: MediaRules { types: &["image/", "video/", "audio/"], by_address: true, from_assistant: true },
        // The model API requires the results of all calls before any other message.
        stages: &[stage::<OneAgent>, stage::<CallsTogether>],
        untimed: true,
        ..LogRules::NOTHING
    };

    fn gives_back(&mut self, kept: Val<'_>) {
        let Some(message) = innermost(kept) else { return };
        let [kind, payload] = message.get_all(["type", "payload"]);
        let id = payload.and_then(|payload| payload.get("id")).filter(|id| !is_hole(*id));
        if let Some(id) = id.and_then(|id| id.str()).filter(|_| kind.is_some_and(|kind| kind.is("ToolCall")))
        {
            let date = if self.dated(kept) { self.date.clone() } else { String::new() };
            // Fewer calls are ever pending at once.
            if self.begun.len() == 64 {
                self.begun.remove(0);
            }
            self.begun.push((id.as_escaped().to_owned(), date));
        }
    }

    fn has_given_back(&mut self, head: &ItemHead<'_>) -> bool {
        let ItemKind::ToolCall(call) = &head.kind else { return false };
        self.date_of_begun(call.call_id.as_ref()).is_some()
    }

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        if kept_envelope(kept.get("message")).is_none() {
            return context_values(item);
        }
        let mut line = NativeObject::new();
        line.put_some("timestamp", self.time_of(item, kept));
        line.put_some("message", kept.get("message").map(|message| wire_values(item, message)));
        line
    }

    fn class_of(list: &str, element: Val<'_>) -> usize {
        if list == "tool_calls" { 0 } else { class_of(element) }
    }

    fn issuer_of(_: Val<'_>) -> Str<'_> {
        Str::escaped(ISSUER)
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if !log.has_frames() {
            // A file starts with a checkpoint, and detection relies on it.
            let mut head = NativeObject::new();
            head.literal("role", "_checkpoint").put("id", Raw::new("0"));
            log.write(head);
        }
        let mut results = Vec::new();
        for content in item.blocks() {
            if let GatheredContent::Item(inner) = content
                && inner.of() == ItemKindTag::Result
            {
                results.push(result_line(inner, log));
            }
        }
        let message = message_line(item, log);
        let at = if item.head().author == Author::Assistant { 0 } else { results.len() };
        results.splice(at..at, message);
        for line in results {
            log.write(line);
        }
    }
}

/// A wire message in a kept line. The payload may be a hole, so it need not be an object.
fn kept_envelope(message: Option<Val<'_>>) -> Option<Val<'_>> {
    message.filter(|message| message.has_str("type") && message.get("payload").is_some())
}

/// The innermost message of a kept wire line.
fn innermost(kept: Val<'_>) -> Option<Val<'_>> {
    let mut message = kept_envelope(kept.get("message"))?;
    while let Some(inner) = kept_envelope(message.get("payload").and_then(|payload| payload.get("event"))) {
        message = inner;
    }
    Some(message)
}

impl KimiForm {
    /// Converts the time of a kept line to a date.
    fn dated(&mut self, kept: Val<'_>) -> bool {
        let time = kept.get("timestamp").filter(|time| time.kind() == Kind::Number);
        time.is_some_and(|time| date_of_seconds(time.text(), &mut self.date))
    }

    /// Removes and returns the date of the restored line that started this call.
    fn date_of_begun(&mut self, id: Option<&Str<'_>>) -> Option<String> {
        let id = id?;
        let at = self.begun.iter().position(|(known, _)| known == id.as_escaped())?;
        Some(self.begun.remove(at).1)
    }

    /// The time of an item, if the kept line holds the same time in its own form.
    fn time_of<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> Option<NativeValue<'g>> {
        let time = item.head().time.as_ref()?;
        let is_new =
            item.of() == ItemKindTag::Call && self.call.replace(item.head().id) != Some(item.head().id);
        let begun = if is_new { self.date_of_begun(item.call_id()) } else { None };
        let same = match begun {
            Some(date) => date == time.as_str(),
            None => self.dated(kept) && self.date == time.as_str(),
        };
        same.then(|| NativeValue::Otherwise(time.reborrow()))
    }
}

/// The values of an item for a kept wire message, which may be nested in a subagent's message.
fn wire_values<'g>(item: GatheredItem<'g>, message: Val<'_>) -> NativeObject<'g> {
    let payload = message.get("payload");
    let mut values = NativeObject::new();
    if let Some(inner) = kept_envelope(payload.and_then(|payload| payload.get("event"))) {
        let ItemHead { agent, parent_call, .. } = item.head();
        values.put_some("agent_id", agent.as_ref()).put_some("parent_tool_call_id", parent_call.as_ref());
        values.put_some("task_tool_call_id", parent_call.as_ref()).put("event", wire_values(item, inner));
    } else {
        put_payload(item, payload, &mut values);
    }
    let data = item.parts().find_map(json_of).filter(|_| item.of() == ItemKindTag::Notice);
    let mut message = NativeObject::new();
    let whole = data.map(|data| Box::new(data.into()));
    message.put("payload", NativeValue::Either(whole, Box::new(values.into())));
    message
}

fn json_of<'g>(part: &'g Part<'_>) -> Option<&'g Raw<'g>> {
    if let Part::Json(json) = part { Some(json) } else { None }
}

fn put_payload<'g>(item: GatheredItem<'g>, payload: Option<Val<'_>>, values: &mut NativeObject<'g>) {
    match &item.head().kind {
        ItemKind::Message => {
            values.put("user_input", content_of(item));
            if let Some((_, part)) = item.parts().find_map(kept_part) {
                values.append(part);
            }
        }
        ItemKind::Reasoning => values.append(kept_thought(item)),
        ItemKind::ToolCall(call) => values.append(call_values(item, call)),
        ItemKind::ToolResult(result) => {
            let value = payload.and_then(|payload| payload.get("return_value"));
            let told = value.and_then(|value| value.get("message")).is_some_and(is_hole);
            let mut texts: Vec<&Part<'_>> = item.parts().filter(|part| kept_part(part).is_some()).collect();
            let mut returned = NativeObject::new();
            returned.put_some("is_error", item.tail().is_error);
            if let Some(Part::Text(text)) = texts.pop_if(|_| told) {
                returned.put("message", text);
            }
            let one = match &texts[..] {
                [Part::Text(text)] => Some(text),
                _ => None,
            };
            let elements: Vec<_> = texts.iter().filter_map(|part| element_of(part)).collect();
            let one = one.map(|text| Box::new(text.into()));
            returned.put("output", NativeValue::Either(one, Box::new(NativeValue::List(elements))));
            values.put_some("tool_call_id", result.call_id.as_ref()).put("return_value", returned);
        }
        ItemKind::Notice(_) => {}
    }
}

fn element_of<'g>(part: &'g Part<'_>) -> Option<NativeElement<'g>> {
    kept_part(part).map(|(class, part)| NativeElement { class, value: part.into() })
}

/// The values of a call, for either file.
fn call_values<'g>(item: GatheredItem<'g>, call: &'g ToolCall<'_>) -> NativeObject<'g> {
    let mut function = NativeObject::new();
    function.put("name", &call.name).put_some("arguments", arguments_text(item));
    let mut values = NativeObject::new();
    values.put_some("id", call.call_id.as_ref()).put("function", function);
    values
}

/// The content of an item, as a string or as a list. Calls are in a separate member.
fn content_of(item: GatheredItem<'_>) -> NativeValue<'_> {
    let mut elements = Vec::new();
    let mut texts = Vec::new();
    for content in item.content() {
        match content {
            GatheredContent::Part(part) => {
                texts.extend(if let Part::Text(text) = part { Some(text) } else { None });
                elements.extend(element_of(part));
            }
            GatheredContent::Item(inner) if inner.of() == ItemKindTag::Reasoning => {
                elements.push(NativeElement { class: THINK, value: kept_thought(inner).into() });
            }
            GatheredContent::Item(_) => {}
        }
    }
    let one = match &texts[..] {
        [one] => Some(Box::new((*one).into())),
        _ => None,
    };
    NativeValue::Either(one, Box::new(NativeValue::List(elements)))
}

/// The values of an item for a kept line of `context.jsonl`.
fn context_values(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut line = NativeObject::new();
    line.put("content", content_of(item)).put_some("tool_call_id", item.call_id());
    let calls = item.content().filter_map(|content| match content {
        GatheredContent::Item(inner) => match &inner.head().kind {
            ItemKind::ToolCall(call) => Some(call_values(inner, call)),
            _ => None,
        },
        GatheredContent::Part(_) => None,
    });
    line.put("tool_calls", calls.collect::<NativeValue<'_>>());
    line
}

const MEMBERS: [&str; 3] = ["image_url", "video_url", "audio_url"];

/// The line for a message with its thoughts and calls, if it has content.
fn message_line<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> Option<NativeObject<'g>> {
    let (mut content, mut calls, mut text) = (Vec::new(), Vec::new(), None);
    for block in item.blocks() {
        match block {
            GatheredContent::Part(part) => {
                text = text_of(part);
                content.extend(built_part(part, MEMBERS));
            }
            GatheredContent::Item(inner) => match &inner.head().kind {
                ItemKind::Reasoning if inner.says_anything() => {
                    let mut thought = built_thought(inner);
                    thought.put("encrypted", None::<Raw<'_>>);
                    content.push(thought);
                }
                ItemKind::ToolCall(call) => calls.push(built_call(inner, call, log)),
                ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
            },
        }
    }
    if content.is_empty() && calls.is_empty() {
        return None;
    }
    let role = match item.head().author {
        Author::Assistant => "assistant",
        Author::User | Author::Tool | Author::System | Author::Developer => "user",
    };
    let mut line = NativeObject::new();
    // A single text is a string, as Kimi CLI writes it.
    let one = text.filter(|_| content.len() == 1);
    line.literal("role", role).put("content", NativeValue::one_or_list(one, content));
    if !calls.is_empty() {
        line.put("tool_calls", calls);
    }
    Some(line)
}

fn built_call<'g>(
    item: GatheredItem<'g>,
    call: &'g ToolCall<'static>,
    log: &mut LogBuilder<'_, '_>,
) -> NativeObject<'g> {
    let values = CallValues::new(item, call, Some(log));
    let mut function = NativeObject::new();
    let arguments = values.spelled_arguments();
    function.put("name", values.name).put("arguments", arguments);
    let mut built = NativeObject::typed("function");
    built.put("id", values.id).put("function", function);
    built
}

/// The line for a tool result.
fn result_line<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> NativeObject<'g> {
    let (id, _) = log.answered(item);
    let mut content: Vec<_> = item.parts().filter_map(|part| built_part(part, MEMBERS)).collect();
    let text = item.parts().find_map(text_of);
    let says_so = text.as_ref().is_some_and(|text| text.as_escaped().starts_with(FAILED));
    if item.tail().is_error == Some(true) && !says_so {
        let mut mark = NativeObject::typed("text");
        mark.literal("text", MADE_UP_FAILURE);
        content.insert(0, mark);
    }
    let one = match content.len() {
        0 => Some(Str::default()),
        1 => text,
        _ => None,
    };
    let mut line = NativeObject::new();
    line.literal("role", "tool").put("content", NativeValue::one_or_list(one, content));
    line.put("tool_call_id", id);
    line
}
