//! Writes items as frames. Kept frames are restored byte for byte. Another agent's session becomes a file of lines that
//! Gemini CLI can resume: a head, and messages with each result beside its call.

use std::collections::{BTreeMap, VecDeque};

use super::super::logged::{
    BuiltResult, ByKind, LoggedResponse, built_call, built_part, built_thought, call_values, list,
};
use crate::json::{JsonBuffer, Raw, Str};
use crate::ledger::Reason;
use crate::log::{
    CallsTogether, FrameHead, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules,
    NativeObject, NativeValue, OneAgent, SessionHead, SessionIds, has_hole, is_date, stage,
};
use crate::model::{Author, CallKind, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Part, issuers};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Val};
use crate::wire::Letters;
use crate::wire::backends::NameRule;

#[derive(Default)]
pub(super) struct GeminiForm {
    /// The item whose kept lines are being restored, and the number of its values used so far.
    given: Option<(ItemId, [usize; 5])>,
    /// A message whose calls wait for their results.
    waiting: Option<WaitingMessage>,
}

/// A message that is held back until its calls have results, because Gemini CLI expects a result beside its call.
struct WaitingMessage {
    /// The line up to its calls.
    line: String,
    /// The calls, each an open object.
    calls: Vec<String>,
    /// The calls without results: the indices for each id, in order.
    unanswered: BTreeMap<String, VecDeque<usize>>,
}

impl LogForm for GeminiForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        framing: super::FRAMING,
        issuer: issuers::GOOGLE,
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/", "audio/", "video/", "application/pdf"], ..MediaRules::NONE },
        // A subagent has its own session. A result is beside its call, so all calls must be in the message that is held
        // back.
        stages: &[stage::<OneAgent>, stage::<CallsTogether>],
        session_head: &[Field::SessionId, Field::SessionStart, Field::SessionCwd, Field::SessionTitle],
        session: &[Field::SessionModel],
        session_ids: SessionIds::Uuid,
        call_names: NameRule { letter_first: true, ..NameRule::new(Letters::Dotted, 128) },
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let list = match kept.kind() {
            Kind::Array => Some(kept),
            _ => kept.get("$set").and_then(|set| set.get("messages")),
        };
        let Some(list) = list.filter(|_| item.of() == ItemKindTag::Notice) else {
            return self.message(item, kept);
        };
        let mut messages = item.content().filter_map(|content| match content {
            GatheredContent::Item(item) => Some(item),
            GatheredContent::Part(_) => None,
        });
        let with_holes = list.elements().filter(|element| has_hole(*element));
        let mut values = Vec::new();
        for (element, message) in with_holes.zip(&mut messages) {
            values.push(self.message(message, element));
        }
        let mut frame = NativeObject::new();
        if kept.kind() == Kind::Array {
            for value in values {
                frame.put("", value);
            }
        } else {
            let mut set = NativeObject::new();
            set.put("messages", values).put_some("lastUpdated", item.head().time.as_ref());
            frame.put("$set", set);
        }
        frame
    }

    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        if around.is_none() && head.author != Author::Assistant {
            out.lose_some(Field::ItemModel, head.model.as_ref(), Reason::NoSlot);
        }
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if !log.has_frames() && self.waiting.is_none() {
            let SessionHead { id, start, cwd } = log.session_head(item);
            let mut head = NativeObject::new();
            head.put("sessionId", id).literal("projectHash", PROJECT);
            head.put("startTime", start.clone()).put("lastUpdated", start).literal("kind", "main");
            head.put_some("summary", log.say(Field::SessionTitle));
            head.put("directories", vec![cwd]);
            log.write(head);
        }
        // Results go to the waiting calls.
        let mut parts = Vec::new();
        for content in item.blocks() {
            if let GatheredContent::Item(inner) = content
                && inner.of() == ItemKindTag::Result
            {
                let result = BuiltResult::new(inner, log);
                let time = inner.head().time.as_ref().or(item.head().time.as_ref());
                parts.extend(self.answer(result, time.filter(|time| is_date(time))));
            }
        }
        self.write_answered(log);
        if item.head().author == Author::Assistant {
            self.write_waiting(log);
            return self.answer_line(item, log);
        }
        if item.of() == ItemKindTag::Message {
            // Messages within the message are part of its content.
            parts.extend(item.blocks().into_iter().filter_map(|content| match content {
                GatheredContent::Part(part) => built_part(part),
                GatheredContent::Item(_) => None,
            }));
        }
        if !parts.is_empty() {
            self.write_waiting(log);
            let FrameHead { id, time, .. } = log.frame_of(item);
            let mut line = NativeObject::new();
            line.put("id", id).put("timestamp", time).literal("type", "user").put("content", parts);
            log.write(line);
        } else if item.head().native_id.is_some() {
            // All content of the message went to the calls.
            log.lose(Field::ItemId, Reason::NoSlot);
        }
    }

    fn finish(&mut self, log: &mut LogBuilder<'_, '_>) {
        self.write_waiting(log);
    }
}

/// A placeholder; Gemini CLI writes a hash of the directory, but accepts any text.
const PROJECT: &str = "0000000000000000000000000000000000000000000000000000000000000000";

impl GeminiForm {
    /// The values of a message for the holes of its line.
    fn message<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { id: number, native_id, time, model, .. } = item.head();
        let taken = self.given.filter(|(given, _)| given == number).map(|(_, taken)| taken);
        let mut parts = ByKind::new(item, taken.unwrap_or_default());
        let mut line = NativeObject::new();
        line.put_some("id", native_id.as_ref())
            .put_some("timestamp", time.as_ref())
            .put_some("model", model.as_ref());
        if item.of() == ItemKindTag::Notice {
            let data =
                item.parts().find_map(|part| if let Part::Json(data) = part { Some(data) } else { None });
            let mut set = NativeObject::new();
            set.put_some("memoryScratchpad", data).put_some("lastUpdated", time.as_ref());
            line.put("$set", set).put_some("startTime", time.as_ref());
        }
        // The same order as in the reader.
        if let Some(thoughts) = kept.get("thoughts") {
            let with_holes = thoughts.elements().filter(|thought| has_hole(*thought));
            line.put("thoughts", list(with_holes.map(|_| thought_values(parts.thought())).collect()));
        }
        for name in ["content", "parts"] {
            if let Some(content) = kept.get(name) {
                let is_hole = content.kind() != Kind::String || has_hole(content);
                let value = if is_hole { parts.content(content) } else { item.only_text().into() };
                line.put(name, value);
            }
        }
        if let Some(calls) = kept.get("toolCalls") {
            let with_holes = calls.elements().filter(|call| has_hole(*call));
            line.put("toolCalls", list(with_holes.map(|call| tool_call(call, &mut parts)).collect()));
        }
        self.given = Some((*number, parts.taken()));
        line
    }

    /// Adds a result to its waiting call, or returns the result's parts if no call waits.
    fn answer<'g>(
        &mut self,
        result: BuiltResult<'g>,
        time: Option<&'g Raw<'static>>,
    ) -> Vec<NativeObject<'g>> {
        let BuiltResult { call_id, parts, status } = result;
        let Some(call) = self.waiting.as_mut().and_then(|waiting| waiting.take_call(call_id.as_escaped()))
        else {
            return parts;
        };
        let mut rest = NativeObject::new();
        rest.put("result", parts).put_some("status", status.map(Str::escaped)).put_some("timestamp", time);
        push_members(call, &rest);
        Vec::new()
    }

    /// Writes the waiting message, if all its calls have results.
    fn write_answered(&mut self, log: &mut LogBuilder<'_, '_>) {
        if self.waiting.as_ref().is_some_and(|waiting| waiting.unanswered.is_empty()) {
            self.write_waiting(log);
        }
    }

    /// Writes the waiting message, with or without results.
    fn write_waiting(&mut self, log: &mut LogBuilder<'_, '_>) {
        let Some(WaitingMessage { mut line, calls, .. }) = self.waiting.take() else { return };
        line.push_str(r#","toolCalls":["#);
        for (number, call) in calls.iter().enumerate() {
            if number > 0 {
                line.push(',');
            }
            line.push_str(call);
            line.push('}');
        }
        line.push_str("]}");
        log.write(Raw::owned(line));
    }

    /// Writes the line of an assistant message. A message with calls waits for their results.
    fn answer_line(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let (mut thoughts, mut calls, mut content) = (Vec::new(), Vec::new(), Vec::new());
        for block in item.blocks() {
            let inner = match block {
                GatheredContent::Part(part) => {
                    content.extend(built_part(part));
                    continue;
                }
                GatheredContent::Item(inner) => inner,
            };
            match &inner.head().kind {
                ItemKind::Reasoning => {
                    let mut thought = NativeObject::new();
                    thought.put_some("subject", inner.head().subject.as_ref());
                    if let Some(text) = built_thought(inner) {
                        thought.put("description", text);
                        thoughts.push(thought);
                    }
                }
                ItemKind::ToolCall(call) => calls.push(built_call(inner, call, log)),
                ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
            }
        }
        if thoughts.is_empty() && calls.is_empty() && content.is_empty() {
            return;
        }
        let FrameHead { id, time, .. } = log.frame_of(item);
        let mut line = NativeObject::new();
        line.put("id", id).put("timestamp", time).literal("type", "gemini");
        let one = match content.as_slice() {
            [] => Some(NativeValue::Text(Str::default())),
            [only] => match only.get("text") {
                Some(NativeValue::Text(text)) => Some(NativeValue::Text(text.clone())),
                _ => None,
            },
            _ => None,
        };
        line.put("content", NativeValue::one_or_list(one, content)).put("thoughts", thoughts);
        line.put("model", log.model_of(item));
        if calls.is_empty() {
            return log.write(line);
        }
        let open = |object: &NativeObject<'_>| {
            let mut json = String::new();
            push_members(&mut json, object);
            json
        };
        let mut waiting =
            WaitingMessage { line: open(&line), calls: Vec::new(), unanswered: BTreeMap::new() };
        for call in calls {
            let id = match call.get("id") {
                Some(NativeValue::Text(id)) => id.as_escaped().to_owned(),
                _ => String::new(),
            };
            waiting.unanswered.entry(id).or_default().push_back(waiting.calls.len());
            waiting.calls.push(open(&call));
        }
        self.waiting = Some(waiting);
    }
}

impl WaitingMessage {
    /// Takes the first call with this id that has no result.
    fn take_call(&mut self, id: &str) -> Option<&mut String> {
        let numbers = self.unanswered.get_mut(id)?;
        let number = numbers.pop_front()?;
        if numbers.is_empty() {
            self.unanswered.remove(id);
        }
        self.calls.get_mut(number)
    }
}

/// Adds members to an open JSON object, and opens the object if the string is empty.
fn push_members(open: &mut String, members: &NativeObject<'_>) {
    let mut json = JsonBuffer::default();
    members.write_to(&mut json.hold());
    let members = json.held().trim_start_matches('{').trim_end_matches('\n');
    let members = members.strip_suffix('}').unwrap_or(members);
    open.push(if open.is_empty() { '{' } else { ',' });
    open.push_str(members);
}

fn thought_values(thought: Option<GatheredItem<'_>>) -> NativeValue<'_> {
    let mut values = NativeObject::new();
    if let Some(thought) = thought {
        let ItemHead { subject, time, .. } = thought.head();
        values.put_some("subject", subject.as_ref()).put_some("timestamp", time.as_ref());
        values.put_some("description", thought.only_text());
    }
    values.into()
}

/// The values of a call and its result.
fn tool_call<'g>(kept: Val<'_>, parts: &mut ByKind<'g>) -> NativeValue<'g> {
    let has = |name: &str| kept.get(name).is_some_and(has_hole);
    let call = (has("id") || has("name") || has("args")).then(|| parts.call()).flatten();
    let result = has("result").then(|| parts.result()).flatten();
    let mut values = call.map(call_values).unwrap_or_default();
    if let Some(ended) = result.or(call) {
        values.put_some("timestamp", ended.head().time.as_ref());
        values.put_some("status", ended.tail().native_status.as_ref());
    }
    if let (Some(result), Some(kept)) = (result, kept.get("result")) {
        let mut response = LoggedResponse::new(result);
        values.put_some("resultDisplay", response.display());
        let value = match kept.kind() {
            Kind::Array => {
                let with_holes = kept.elements().filter(|part| has_hole(*part));
                list(with_holes.map(|part| response.part(part)).collect())
            }
            Kind::Object => response.part(kept),
            _ => response.value().into(),
        };
        values.put("result", value);
    }
    values.into()
}
