//! Content parts in the logs of Gemini CLI and Qwen Code. Each is one part of a message or one item within it, and a
//! writer restores it at its original position. (On the wire, adjacent parts may be one part: see `parts`.)

use std::collections::VecDeque;

use super::parts::{either, read_media};
use crate::json::{Raw, Str};
use crate::log::{
    CallValues, GatheredContent, GatheredItem, LogBuilder, NativeElement, NativeObject, NativeValue,
    has_hole, name_with_group, text_of,
};
use crate::model::{
    Args, Author, CallKind, Field, FileRef, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Media,
    MediaSource, Part, Status, ToolCall, ToolResult, Usage,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The type of a content part.
#[derive(Clone, Copy)]
pub(super) enum LoggedPart<'t> {
    /// A text: the string.
    Text(Val<'t>),
    /// The text of a thought: the string.
    Thought(Val<'t>),
    /// A call: the object with the call's name.
    Call(Val<'t>),
    /// The result of a call: the object with the response.
    Response(Val<'t>),
    /// A picture, sound or document: the whole part.
    Media(Val<'t>),
    /// An unknown part, which stays unclaimed.
    Unknown,
}

impl<'t> LoggedPart<'t> {
    /// Determines the type of a part without claiming any value.
    pub(super) fn of(part: Val<'t>) -> Self {
        const MEMBERS: WantedNames<10> = WantedNames::new([
            "text",
            "thought",
            "functionCall",
            "function_call",
            "functionResponse",
            "function_response",
            "inlineData",
            "inline_data",
            "fileData",
            "file_data",
        ]);
        if part.kind() == Kind::String {
            return LoggedPart::Text(part);
        }
        let [text, thought, cc, cs, rc, rs, ic, is, fc, fs] = part.find(&MEMBERS);
        let text = text.filter(|text| text.kind() == Kind::String);
        let call = cc.or(cs).filter(|call| call.has_str("name"));
        let named = |response: &Val<'t>| {
            response.has_str("name") || response.get("response").is_some_and(|said| !said.is_null())
        };
        let response = rc.or(rs).filter(named);
        let inline = ic.or(is).is_some_and(|inline| inline.has_str("data"));
        let place = |file: Val<'t>| either(file, "fileUri", "file_uri");
        let file = fc.or(fs).and_then(place).is_some_and(|uri| uri.kind() == Kind::String);
        match (call, response, text) {
            (Some(call), _, _) => LoggedPart::Call(call),
            (_, Some(response), _) => LoggedPart::Response(response),
            _ if inline || file => LoggedPart::Media(part),
            (_, _, Some(text)) if thought.and_then(|flag| flag.bool()) == Some(true) => {
                LoggedPart::Thought(text)
            }
            (_, _, Some(text)) => LoggedPart::Text(text),
            _ => LoggedPart::Unknown,
        }
    }
}

/// The parts of a content value: a list of parts, a single part, or a string.
pub(super) fn parts_of(content: Option<Val<'_>>) -> impl Iterator<Item = Val<'_>> {
    let list = content.filter(|content| content.kind() == Kind::Array);
    let one = content.filter(|content| matches!(content.kind(), Kind::String | Kind::Object));
    list.into_iter().flat_map(|list| list.elements()).chain(one)
}

/// Emits a part of a message under this number. Unknown parts are skipped.
pub(super) fn say_part(part: Val<'_>, number: u32, message: ItemId, out: &mut EventSink<'_>) {
    match LoggedPart::of(part) {
        LoggedPart::Text(text) => {
            if let Some(text) = text.take_text(Field::MessageText) {
                out.delta(message, number, Part::Text(text));
            }
            if let Some(flag) = part.get("thought") {
                flag.note(Field::Structure);
            }
        }
        LoggedPart::Thought(text) => {
            if let Some(flag) = part.get("thought") {
                flag.note(Field::Structure);
            }
            let head = out.head(ItemKind::Reasoning, Author::Assistant);
            let item = out.start(ItemHead { within: Some(message), ..head });
            if let Some(text) = text.take_text(Field::ReasoningText) {
                out.delta(item, 0, Part::Text(text));
            }
            out.complete(item);
        }
        LoggedPart::Call(call) => {
            let item = start_call(call, message, None, out);
            out.complete(item);
        }
        LoggedPart::Response(response) => {
            let head = result_head(response, None, out);
            let item = out.start(ItemHead { within: Some(message), ..head });
            let said = say_response(response, item, out);
            out.end(said.tail(item, None));
        }
        LoggedPart::Media(part) => {
            if let Some(media) = media_of(part, ItemKindTag::Message) {
                out.delta(message, number, Part::Media(media));
            }
        }
        LoggedPart::Unknown => {}
    }
}

/// The media of a part.
pub(super) fn media_of(part: Val<'_>, of: ItemKindTag) -> Option<Media<'_>> {
    let inline = either(part, "inlineData", "inline_data").filter(|inline| inline.has_str("data"));
    read_media(inline, either(part, "fileData", "file_data"), of)
}

/// Starts a call and emits its arguments.
pub(super) fn start_call<'t>(
    call: Val<'t>,
    message: ItemId,
    time: Option<Val<'t>>,
    out: &mut EventSink<'_>,
) -> ItemId {
    let called = ToolCall {
        call_id: call.take_str("id", Field::CallId),
        kind: CallKind::Function,
        namespace: None,
        name: call.take_str("name", Field::CallName).unwrap_or_default(),
    };
    let mut head = out.head(ItemKind::ToolCall(called), Author::Assistant);
    head.within = Some(message);
    head.time = time.take_time(Field::ItemTime);
    let item = out.start(head);
    if let Some(arguments) = call.take_raw("args", Field::CallArgs) {
        out.delta(item, 0, Part::Args(Args::Json(arguments)));
    }
    item
}

/// The head of the result in a `functionResponse`. `call` provides the values that the response itself lacks.
pub(super) fn result_head<'t>(
    response: Val<'t>,
    call: Option<Val<'t>>,
    out: &mut EventSink<'_>,
) -> ItemHead<'t> {
    let own = response.take_str("id", Field::ResultCallId);
    // The call claims its own id; for the result the id follows from its position.
    let call_id = own.or_else(|| call?.get("id")?.str());
    let name = response.take_str("name", Field::ResultName);
    out.head(ItemKind::ToolResult(ToolResult { call_id, name }), Author::Tool)
}

/// The outcome of a response.
#[derive(Default)]
pub(super) struct SaidResponse<'t> {
    /// Whether the response holds an `error` and no other member.
    is_error: bool,
    /// The dialect's own word for the outcome.
    outcome: Option<Str<'t>>,
    exit_code: Option<i64>,
    /// The number of the next part of the result.
    pub(super) next: u32,
}

impl<'t> SaidResponse<'t> {
    /// The end of the result; `status` is the status beside the response.
    pub(super) fn tail(self, item: ItemId, status: Option<Str<'t>>) -> ItemTail<'t> {
        let native_status = status.or(self.outcome);
        let word = native_status.as_ref().map_or("", Str::as_escaped);
        let (status, is_error) = match word {
            "success" => (Status::Completed, Some(false)),
            "error" | "failure" | "failed" => (Status::Failed, Some(true)),
            "cancelled" | "canceled" => (Status::Interrupted, Some(self.is_error).filter(|error| *error)),
            _ if self.is_error => (Status::Failed, Some(true)),
            _ => (Status::Completed, None),
        };
        ItemTail { native_status, is_error, exit_code: self.exit_code, ..ItemTail::new(item, status) }
    }
}

/// Emits the content of a `functionResponse` as parts of its result.
pub(super) fn say_response<'t>(response: Val<'t>, item: ItemId, out: &mut EventSink<'_>) -> SaidResponse<'t> {
    let mut said = SaidResponse::default();
    let [value, parts] = response.get_all(["response", "parts"]);
    if let Some(value) = value.filter(|value| !value.is_null()) {
        let output = ToolOutput::of(value);
        said.is_error = output.is_error;
        said.outcome = output.outcome.note_text(Field::ItemStatus);
        let part = say_value(output.value, &mut said);
        out.delta(item, 0, part);
    }
    said.next = 1;
    for part in parts_of(parts) {
        say_more(part, item, &mut said, out);
    }
    said
}

/// A text or JSON value as a part of a result.
pub(super) fn say_value<'t>(value: Val<'t>, said: &mut SaidResponse<'t>) -> Part<'t> {
    match value.take_text(Field::ResultText) {
        Some(text) => {
            said.exit_code = exit_code(&text);
            Part::Text(text)
        }
        None => Part::Json(value.take(Field::ResultJson)),
    }
}

/// Emits a part beside a response that belongs to the response's result. Returns `false` for any other part.
pub(super) fn say_more<'t>(
    part: Val<'t>,
    item: ItemId,
    said: &mut SaidResponse<'t>,
    out: &mut EventSink<'_>,
) -> bool {
    let more = match LoggedPart::of(part) {
        LoggedPart::Text(text) => text.take_text(Field::ResultText).map(Part::Text),
        LoggedPart::Media(part) => media_of(part, ItemKindTag::Result).map(Part::Media),
        LoggedPart::Thought(_) | LoggedPart::Call(_) | LoggedPart::Response(_) | LoggedPart::Unknown => None,
    };
    let Some(more) = more else { return false };
    out.delta(item, said.next, more);
    said.next += 1;
    true
}

/// The output of a tool in a `response`: by convention its `output` or `error`, otherwise the whole value.
struct ToolOutput<'t> {
    value: Val<'t>,
    is_error: bool,
    outcome: Option<Val<'t>>,
}

impl<'t> ToolOutput<'t> {
    fn of(response: Val<'t>) -> Self {
        let [output, error, outcome] = response.get_all(["output", "error", "outcome"]);
        let outcome = outcome.filter(|outcome| outcome.kind() == Kind::String);
        let members = response.members().count() - usize::from(outcome.is_some());
        let is_error = error.is_some() && output.is_none();
        match output.or(error).filter(|value| members == 1 && value.kind() != Kind::Object) {
            Some(value) if !value.is_null() => Self { value, is_error, outcome },
            _ => Self { value: response, is_error, outcome: None },
        }
    }
}

/// The text or value of a response, whether the response is a text or an object around a text.
pub(super) fn value_of(response: Val<'_>) -> Val<'_> {
    ToolOutput::of(response).value
}

/// The exit code of a shell command, which is on its own line in the command's output.
fn exit_code(text: &Str<'_>) -> Option<i64> {
    const BEFORE: &str = r"\nExit Code: ";
    let text = text.as_escaped();
    let at = memchr::memmem::rfind(text.as_bytes(), BEFORE.as_bytes())?;
    let rest = text.get(at + BEFORE.len()..)?;
    rest.split('\\').next()?.parse().ok()
}

/// Emits the file that a tool changed, from the result display.
pub(super) fn say_file(display: Option<Val<'_>>, item: ItemId, number: u32, out: &mut EventSink<'_>) {
    let Some(display) = display else { return };
    let [diff, path, name, is_new] = display.get_all(["fileDiff", "filePath", "fileName", "isNewFile"]);
    let Some(diff) = diff.filter(|diff| diff.kind() == Kind::String) else { return };
    let is_text = |val: &Val<'_>| val.kind() == Kind::String;
    let Some(path) = path.filter(is_text).or(name.filter(is_text)).take_text(Field::FilePath) else { return };
    let is_new = is_new.filter(|is_new| is_new.bool().is_some());
    let action = if is_new.is_some_and(|is_new| is_new.note(Field::FileAction).as_str() == "true") {
        "write"
    } else {
        "patch"
    };
    let diff = diff.take_text(Field::FileDiff);
    out.delta(item, number, Part::File(FileRef { path, action: Str::escaped(action), diff }));
}

/// The member names of counts in one of the two spellings.
pub(super) struct CountNames {
    pub(super) prompt: &'static str,
    pub(super) cached: &'static str,
    pub(super) output: &'static str,
    pub(super) thoughts: &'static str,
    pub(super) tools: &'static str,
    pub(super) total: &'static str,
}

/// Reads counts. The prompt count includes cached input. The thoughts count is separate from the output count, unless
/// the total is correct only with thoughts inside the output count.
pub(super) fn read_counts(counts: Val<'_>, names: &CountNames) -> Usage {
    let CountNames { prompt, cached, output, thoughts, tools, total } = names;
    let number = |name: &str| counts.get(name).and_then(|count| count.u64());
    let note = |name: &str, field| _ = counts.note_u64(name, field);
    let all_input = [number(prompt), number(tools)].into_iter().flatten().reduce(u64::saturating_add);
    // An input count below the cached count stays unclaimed.
    let input = all_input.and_then(|all| all.checked_sub(number(cached).unwrap_or(0)));
    if input.is_some() {
        note(prompt, Field::UsageInput);
        note(tools, Field::UsageInput);
    }
    note(cached, Field::UsageCacheRead);
    note(output, Field::UsageOutput);
    note(thoughts, Field::UsageReasoning);
    let together = [number(output), number(thoughts)].into_iter().flatten().reduce(u64::saturating_add);
    let total_is = |said: Option<u64>| {
        let sum = all_input.unwrap_or(0).checked_add(said.unwrap_or(0));
        number(total).is_some() && number(total) == sum
    };
    let is_inside = number(output).is_some() && !total_is(together) && total_is(number(output));
    let all_output = if is_inside { number(output) } else { together };
    if total_is(all_output) {
        note(total, Field::UsageOutput);
    }
    Usage {
        input,
        cache_read: number(cached),
        output: all_output,
        reasoning: number(thoughts),
        ..Usage::default()
    }
}

// ---- Kept frames
// -----------------------------------------------------------------------------------------------------

/// The contents of an item, by kind and in order. Each hole in a kept line is filled with the next value of its kind.
#[derive(Default)]
pub(super) struct ByKind<'g> {
    texts: VecDeque<&'g Str<'static>>,
    media: VecDeque<&'g Media<'static>>,
    thoughts: VecDeque<GatheredItem<'g>>,
    calls: VecDeque<GatheredItem<'g>>,
    results: VecDeque<GatheredItem<'g>>,
    /// The number of values used by earlier lines: texts, media, thoughts, calls, results.
    taken: [usize; 5],
}

impl<'g> ByKind<'g> {
    /// The contents of an item that earlier lines have not used.
    pub(super) fn new(item: GatheredItem<'g>, taken: [usize; 5]) -> Self {
        let mut all = Self { taken, ..Self::default() };
        if item.of() == ItemKindTag::Result {
            all.results.push_back(item);
        } else {
            for content in item.content() {
                match content {
                    GatheredContent::Part(Part::Text(text)) => all.texts.push_back(text),
                    GatheredContent::Part(Part::Media(media)) => all.media.push_back(media),
                    GatheredContent::Part(_) => {}
                    GatheredContent::Item(inner) => match inner.of() {
                        ItemKindTag::Reasoning => all.thoughts.push_back(inner),
                        ItemKindTag::Call => all.calls.push_back(inner),
                        ItemKindTag::Result => all.results.push_back(inner),
                        ItemKindTag::Message | ItemKindTag::Notice => {}
                    },
                }
            }
        }
        let [texts, media, thoughts, calls, results] = taken;
        all.texts.drain(..texts.min(all.texts.len()));
        all.media.drain(..media.min(all.media.len()));
        all.thoughts.drain(..thoughts.min(all.thoughts.len()));
        all.calls.drain(..calls.min(all.calls.len()));
        all.results.drain(..results.min(all.results.len()));
        all
    }

    /// The number of values used up to and including this line.
    pub(super) fn taken(&self) -> [usize; 5] {
        self.taken
    }

    pub(super) fn text(&mut self) -> Option<&'g Str<'static>> {
        let next = self.texts.pop_front();
        self.taken[0] += usize::from(next.is_some());
        next
    }

    pub(super) fn thought(&mut self) -> Option<GatheredItem<'g>> {
        let next = self.thoughts.pop_front();
        self.taken[2] += usize::from(next.is_some());
        next
    }

    pub(super) fn call(&mut self) -> Option<GatheredItem<'g>> {
        let next = self.calls.pop_front();
        self.taken[3] += usize::from(next.is_some());
        next
    }

    pub(super) fn result(&mut self) -> Option<GatheredItem<'g>> {
        let next = self.results.pop_front();
        self.taken[4] += usize::from(next.is_some());
        next
    }

    /// The values for the holes of a content value: a text, or a list of parts.
    pub(super) fn content(&mut self, kept: Val<'_>) -> NativeValue<'g> {
        match kept.kind() {
            Kind::String => self.text().into(),
            Kind::Object => self.part(kept),
            _ => {
                let mut values = Vec::new();
                // The result to which following media parts belong.
                let mut beside = None;
                for part in kept.elements() {
                    let kind = LoggedPart::of(part);
                    let is_media = matches!(kind, LoggedPart::Media(_));
                    if !is_media {
                        beside = None;
                    }
                    if !has_hole(part) {
                        continue;
                    }
                    values.push(match (kind, &mut beside) {
                        (LoggedPart::Media(_), Some(result)) => LoggedResponse::more(result, part),
                        (LoggedPart::Response(_), _) => match self.result() {
                            Some(result) => beside.insert(LoggedResponse::new(result)).part(part),
                            None => NativeObject::new().into(),
                        },
                        _ => self.part(part),
                    });
                }
                list(values)
            }
        }
    }

    fn part(&mut self, kept: Val<'_>) -> NativeValue<'g> {
        let mut object = NativeObject::new();
        match LoggedPart::of(kept) {
            LoggedPart::Text(text) if text.number() == kept.number() => return self.text().into(),
            LoggedPart::Text(_) => _ = object.put_some("text", self.text()),
            LoggedPart::Thought(_) => {
                let thought = self.thought().and_then(|thought| thought.parts().find_map(text_of));
                object.put_some("text", thought);
            }
            LoggedPart::Call(_) => {
                let name = spelled(kept, "functionCall", "function_call");
                object.put_some(name, self.call().map(call_values));
            }
            LoggedPart::Response(response) => {
                let name = spelled(kept, "functionResponse", "function_response");
                object
                    .put_some(name, self.result().map(|result| LoggedResponse::new(result).object(response)));
            }
            LoggedPart::Media(_) => {
                let next = self.media.pop_front();
                self.taken[1] += usize::from(next.is_some());
                return media_values(kept, next);
            }
            LoggedPart::Unknown => {}
        }
        object.into()
    }
}

/// A list of values for the elements with holes, in order.
pub(super) fn list(values: Vec<NativeValue<'_>>) -> NativeValue<'_> {
    NativeValue::List(values.into_iter().map(|value| NativeElement { class: 0, value }).collect())
}

fn spelled(kept: Val<'_>, camel: &'static str, snake: &'static str) -> &'static str {
    if kept.get(camel).is_some() { camel } else { snake }
}

/// The values of a call for a kept line.
pub(super) fn call_values(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut values = NativeObject::new();
    if let ItemKind::ToolCall(call) = &item.head().kind {
        let CallValues { id, name, arguments } = CallValues::new(item, call, None);
        values.put_some("id", id).put("name", name).put_some("args", arguments);
    }
    values
}

fn media_values<'g>(kept: Val<'_>, media: Option<&'g Media<'static>>) -> NativeValue<'g> {
    let mut object = NativeObject::new();
    if let Some(Media { media_type, source, name, .. }) = media {
        for member in ["inlineData", "inline_data", "fileData", "file_data"] {
            let Some(place) = kept.get(member) else { continue };
            let mut values = NativeObject::new();
            values.put("data", source.text());
            values.put(spelled(place, "fileUri", "file_uri"), source.text());
            values.put_some(spelled(place, "mimeType", "mime_type"), media_type.as_ref());
            values.put_some(spelled(place, "displayName", "display_name"), name.as_ref());
            object.put(member, values);
        }
    }
    object.into()
}

/// A result for a kept line. Its first part is the response, and its other parts are beside the response.
pub(super) struct LoggedResponse<'g> {
    item: GatheredItem<'g>,
    said: VecDeque<&'g Part<'static>>,
}

impl<'g> LoggedResponse<'g> {
    pub(super) fn new(item: GatheredItem<'g>) -> Self {
        let is_content = |part: &&Part<'_>| !matches!(part, Part::File(_));
        Self { item, said: item.parts().filter(is_content).collect() }
    }

    /// The text or JSON value of the response.
    pub(super) fn value(&mut self) -> Option<NativeValue<'g>> {
        match self.said.pop_front()? {
            Part::Text(text) => Some(text.into()),
            Part::Json(json) => Some(json.into()),
            _ => None,
        }
    }

    /// The values for the holes of the response object.
    pub(super) fn object(&mut self, kept: Val<'_>) -> NativeObject<'g> {
        let mut object = NativeObject::new();
        object.put_some("id", self.item.call_id());
        if let ItemKind::ToolResult(result) = &self.item.head().kind {
            object.put_some("name", result.name.as_ref());
        }
        if let Some(response) = kept.get("response").filter(|response| has_hole(*response)) {
            let name = if response.get("output").is_some() { "output" } else { "error" };
            let value = self.value();
            if response.kind() == Kind::Object {
                let mut values = NativeObject::new();
                values.put_some(name, value);
                object.put("response", values);
            } else {
                object.put_some("response", value);
            }
        }
        if let Some(parts) = kept.get("parts") {
            let with_holes = parts.elements().filter(|part| has_hole(*part));
            object.put("parts", list(with_holes.map(|part| self.more(part)).collect()));
        }
        object
    }

    /// The values for the holes of a part: the response itself, or a part beside the response.
    pub(super) fn part(&mut self, kept: Val<'_>) -> NativeValue<'g> {
        let LoggedPart::Response(response) = LoggedPart::of(kept) else { return self.more(kept) };
        let mut object = NativeObject::new();
        object.put(spelled(kept, "functionResponse", "function_response"), self.object(response));
        object.into()
    }

    /// The values for the holes of a part beside the response.
    pub(super) fn more(&mut self, kept: Val<'_>) -> NativeValue<'g> {
        match self.said.pop_front() {
            Some(Part::Media(media)) => media_values(kept, Some(media)),
            Some(Part::Text(text)) => {
                let mut object = NativeObject::new();
                object.put("text", text);
                object.into()
            }
            _ => NativeObject::new().into(),
        }
    }

    /// The values for the holes of a result display.
    pub(super) fn display(&self) -> Option<NativeObject<'g>> {
        let file =
            self.item.parts().find_map(|part| if let Part::File(file) = part { Some(file) } else { None })?;
        let mut display = NativeObject::new();
        display
            .put("filePath", &file.path)
            .put("fileName", &file.path)
            .put_some("fileDiff", file.diff.as_ref());
        Some(display)
    }
}

// ---- New frames
// ------------------------------------------------------------------------------------------------------

/// A message part for a new frame.
pub(super) fn built_part<'g>(part: &'g Part<'static>) -> Option<NativeObject<'g>> {
    let mut object = NativeObject::new();
    if let Part::Media(Media { media_type, source, name, .. }) = part {
        let mut values = NativeObject::new();
        values.put_some("mimeType", media_type.as_ref());
        values.put_some("displayName", name.as_ref());
        let (place, member) = match source {
            MediaSource::Base64(_) | MediaSource::Text(_) => ("inlineData", "data"),
            MediaSource::Url(_) | MediaSource::File(_) => ("fileData", "fileUri"),
        };
        values.put(member, source.text());
        object.put(place, values);
    } else {
        object.put("text", text_of(part)?);
    }
    Some(object)
}

/// Reasoning for a new frame, as one text.
pub(super) fn built_thought(item: GatheredItem<'_>) -> Option<NativeValue<'_>> {
    let texts = joined(item.parts().filter_map(text_of), r"\n\n");
    (!texts.is_empty()).then_some(NativeValue::Joined(texts))
}

/// A call for a new frame.
pub(super) fn built_call<'g>(
    item: GatheredItem<'g>,
    call: &'g ToolCall<'static>,
    log: &mut LogBuilder<'_, '_>,
) -> NativeObject<'g> {
    let CallValues { id, name, arguments } = CallValues::new(item, call, Some(log));
    let mut values = NativeObject::new();
    values.put_some("id", id).put("name", name).put_some("args", arguments);
    values
}

/// A result for a new frame, with the id of its call.
pub(super) struct BuiltResult<'g> {
    pub(super) call_id: Str<'g>,
    /// The parts: the response, and media beside the response.
    pub(super) parts: Vec<NativeObject<'g>>,
    /// The agent's word for the outcome, if the outcome is known.
    pub(super) status: Option<&'static str>,
}

impl<'g> BuiltResult<'g> {
    pub(super) fn new(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> Self {
        let (call_id, call) = log.answered(item);
        let own = match &item.head().kind {
            ItemKind::ToolResult(result) => result.name.as_ref().map(Str::reborrow),
            _ => None,
        };
        let called = call.map(|call| name_with_group(&call).into_owned());
        let name = own.or(called).unwrap_or_else(|| {
            log.note("tool of a result unknown");
            Str::escaped("unknown")
        });
        let tail = item.tail();
        let is_error = tail.is_error == Some(true);
        let status = tail.is_error.map(|is_error| if is_error { "error" } else { "success" });
        let mut response = NativeObject::new();
        let mut said = item.parts().filter(|part| text_of(part).is_some());
        let value = match (said.next(), said.next()) {
            // An object inside `output` could be mistaken for the response itself.
            (Some(Part::Json(json)), None) if is_object(json) => NativeValue::from(json),
            (only, more) => {
                let value = match (only, more) {
                    (Some(Part::Json(json)), None) => json.into(),
                    _ => NativeValue::Joined(joined(item.parts().filter_map(text_of), r"\n")),
                };
                response.put(if is_error { "error" } else { "output" }, value);
                response.into()
            }
        };
        let mut answer = NativeObject::new();
        answer.put("id", call_id.clone()).put("name", name).put("response", value);
        let mut first = NativeObject::new();
        first.put("functionResponse", answer);
        let media = item.parts().filter(|part| matches!(part, Part::Media(_))).filter_map(built_part);
        Self { call_id, parts: std::iter::once(first).chain(media).collect(), status }
    }
}

fn is_object(json: &Raw<'_>) -> bool {
    json.as_str().trim_start().starts_with('{')
}

/// Texts with a separator between them.
pub(super) fn joined<'g>(texts: impl Iterator<Item = Str<'g>>, between: &'static str) -> Vec<Str<'g>> {
    let mut all = Vec::new();
    for text in texts {
        if !all.is_empty() {
            all.push(Str::escaped(between));
        }
        all.push(text);
    }
    all
}
