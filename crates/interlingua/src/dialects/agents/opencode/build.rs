//! An export of another agent's session, for `opencode import`.
//!
//! OpenCode holds a call and its result in one part, so a message waits until its calls have results. OpenCode sorts
//! messages by time and parts by id, so both increase. A new turn after a message with a future date would never end,
//! so no time is later than now.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use super::write::data_url;
use crate::dialects::Dialect;
use crate::json::{JsonBuffer, Raw, Str};
use crate::ledger::TextDigest;
use crate::log::{
    CallValues, GatheredContent, GatheredItem, LogBuilder, NativeObject, NativeValue, SessionHead,
    name_with_group, text_of,
};
use crate::model::{
    Author, Field, ItemHead, ItemKind, ItemKindTag, Media, MediaSource, Opaque, OpaqueKind, Origin, Part,
    ToolCall, time,
};

/// Builds the messages of a session.
#[derive(Default)]
pub(super) struct ExportBuilder {
    now: Option<u64>,
    session: String,
    /// Included in every id, to keep ids of different sessions distinct.
    mark: u128,
    last_time: u64,
    /// The id of the last user message, the parent of every response.
    last_user: String,
    waiting: VecDeque<ExportMessage>,
    /// Number of messages already written.
    written: usize,
    /// Calls that wait for their results, by call id: the message number and the part number.
    calls: BTreeMap<String, VecDeque<(usize, usize)>>,
}

/// A message whose calls may lack results.
struct ExportMessage {
    place: MessagePlace,
    /// The members of the message's `info`.
    info: String,
    /// For a user message, the requested model; empty until a response holds it. OpenCode continues with the model of
    /// the last user message.
    model: Option<String>,
    parts: Vec<ExportPart>,
    open_calls: usize,
}

/// The id and the time of a message, which determine its order.
#[derive(Clone)]
struct MessagePlace {
    id: String,
    time: u64,
}

/// A part: its members, without the ids.
struct ExportPart {
    members: String,
    call: Option<ExportCall>,
}

/// A call that waits for its result.
struct ExportCall {
    id: String,
    input: String,
}

/// The most waiting messages: a call that has no result by then will not get one.
const MOST_WAITING: usize = 64;

impl ExportBuilder {
    pub(super) fn new(now: Option<u64>) -> Self {
        Self { now, ..Self::default() }
    }

    /// Adds a top-level item.
    pub(super) fn add(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if !log.has_head() {
            self.begin(item, log);
        }
        let mut place = self.place(item, log);
        let mut parts = Vec::new();
        // The message's own pending calls, by call id.
        let mut own_calls: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        // Results without a call.
        let mut orphans = Vec::new();
        for content in item.blocks() {
            match content {
                GatheredContent::Part(part) => {
                    let members = said(part, is_aside(item));
                    parts.extend(members.map(|members| ExportPart { members, call: None }));
                }
                GatheredContent::Item(inner) => match &inner.head().kind {
                    ItemKind::Reasoning => {
                        log.note(FOREIGN_THOUGHT);
                        parts.push(ExportPart { members: thought(inner, place.time), call: None });
                    }
                    ItemKind::ToolCall(call) => {
                        let CallValues { id, name, arguments } = CallValues::new(inner, call, Some(log));
                        let id = id.unwrap_or_default();
                        let mut tool = NativeObject::typed("tool");
                        tool.put("tool", name).put("callID", &id);
                        let input = arguments.map_or_else(|| "{}".to_owned(), |input| spelled(&input));
                        let call = Some(ExportCall { id: id.as_escaped().to_owned(), input });
                        own_calls.entry(id.as_escaped().to_owned()).or_default().push(parts.len());
                        parts.push(ExportPart { members: members(tool), call });
                    }
                    ItemKind::ToolResult(_) => {
                        let (id, call) = log.answered(inner);
                        let own = own_calls.get_mut(id.as_escaped()).and_then(Vec::pop);
                        match own.and_then(|number| parts.get_mut(number)) {
                            // A message may hold a call and its result; the result mostly follows the call.
                            Some(part) => self.finish_call(part, Some(inner), &place),
                            None => orphans.extend(self.answer(inner, (&id, call.as_ref()), &place, log)),
                        }
                    }
                    ItemKind::Message | ItemKind::Notice(_) => {}
                },
            }
        }
        if !orphans.is_empty() {
            let next = MessagePlace { id: self.id("msg", place.time + 1, 0), time: place.time + 1 };
            self.wait(item, std::mem::replace(&mut place, next), (orphans, true), log);
        }
        if !parts.is_empty() {
            self.wait(item, place, (parts, false), log);
        }
        let full = |waiting: &VecDeque<_>| waiting.len() > MOST_WAITING;
        while self.waiting.front().is_some_and(|message| message.is_ready() || full(&self.waiting)) {
            self.write_first(log);
        }
    }

    /// Queues a message. `orphans` marks a message made of results alone.
    fn wait(
        &mut self,
        item: GatheredItem<'_>,
        place: MessagePlace,
        (parts, orphans): (Vec<ExportPart>, bool),
        log: &mut LogBuilder<'_, '_>,
    ) {
        self.last_time = place.time;
        let (info, model) = self.info(item, &place, (&parts, orphans), log);
        let number = self.written + self.waiting.len();
        let mut open_calls = 0;
        for (part, call) in parts.iter().enumerate().filter_map(|(part, it)| Some((part, it.call.as_ref()?)))
        {
            self.calls.entry(call.id.clone()).or_default().push_back((number, part));
            open_calls += 1;
        }
        self.waiting.push_back(ExportMessage { place, info, model, parts, open_calls });
    }

    /// Writes all waiting messages at the end of input.
    pub(super) fn end(&mut self, log: &mut LogBuilder<'_, '_>) {
        while !self.waiting.is_empty() {
            self.write_first(log);
        }
        *self = Self::new(self.now);
    }

    /// Writes the head of the document.
    fn begin(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let SessionHead { id, start, cwd } = log.session_head(item);
        let id = id.as_str().trim_matches('"').to_owned();
        self.mark = TextDigest::of(&id);
        self.session = id;
        let start = self.clamped(time::epoch_millis(&start).unwrap_or(0), log);
        let title = log.say_or(Field::SessionTitle, "\"Session of another agent\"", "made up the title");
        let mut times = NativeObject::new();
        times.put("created", count(start)).put("updated", count(start));
        let mut info = NativeObject::new();
        info.put("id", Str::escaped(&self.session))
            .put("slug", Str::from_plain(&format!("s-{:08x}", self.mark >> 96)));
        info.put("directory", cwd).put("title", title).literal("version", VERSION).put("time", times);
        let mut head = NativeObject::new();
        head.put("info", info).put("messages", Vec::<NativeValue<'_>>::new());
        log.write_head(head);
    }

    /// The id and time of a message built from the item.
    fn place(&self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) -> MessagePlace {
        let time = log.time_of(item);
        let time = self.clamped(time::epoch_millis(&time).unwrap_or(0), log).max(self.last_time + 1);
        MessagePlace { id: self.id("msg", time, 0), time }
    }

    /// The `info` of a message, and the requested model of a user message, as far as known.
    fn info(
        &mut self,
        item: GatheredItem<'_>,
        MessagePlace { id, time }: &MessagePlace,
        (parts, orphans): (&[ExportPart], bool),
        log: &mut LogBuilder<'_, '_>,
    ) -> (String, Option<String>) {
        let ItemHead { author, origin, .. } = item.head();
        let is_answer = item.of() != ItemKindTag::Message || *author == Author::Assistant || orphans;
        let mut created = NativeObject::new();
        created.put("created", count(*time));
        let mut info = NativeObject::new();
        info.put("id", Str::escaped(id)).put("sessionID", Str::escaped(&self.session));
        let mode = log.say(Field::PermissionMode).unwrap_or(Raw::new("\"build\""));
        if !is_answer {
            info.literal("role", "user").put("time", created).put("agent", mode);
            self.last_user.clone_from(id);
            let known = log.known(Field::SessionModel).zip(log.known(Field::SessionProvider));
            let model = known.map(|(model, provider)| model_of(&provider.into(), &model.into()));
            return (members(info), Some(model.unwrap_or_default()));
        }
        // OpenCode sends a signature back to the provider that the message names.
        let signed = parts.iter().any(|part| part.members.ends_with(SIGNED));
        let provider = NativeValue::from(if signed { Raw::new(ANTHROPIC) } else { provider(log) });
        let model = log.model_of(item);
        let asked = model_of(&provider, &model);
        for message in &mut self.waiting {
            if let Some(model) = message.model.as_mut().filter(|model| model.is_empty()) {
                model.clone_from(&asked);
            }
        }
        let cwd = log.say(Field::SessionCwd).unwrap_or(Raw::new("\"/\""));
        let mut path = NativeObject::new();
        path.put("cwd", cwd.clone()).put("root", cwd);
        let parent = if self.last_user.is_empty() {
            log.note("an answer to no prompt: the message it names as its parent is not there");
            NO_PROMPT
        } else {
            &self.last_user
        };
        info.literal("role", "assistant").put("time", created).put("parentID", Str::escaped(parent));
        info.put("modelID", model).put("providerID", provider);
        info.put("mode", mode.clone()).put("agent", mode).put("path", path);
        if *origin == Some(Origin::Summary) {
            info.put("summary", true);
        }
        log.note("made up the usage of an answer: nothing was counted");
        info.put("cost", Raw::new("0")).put("tokens", Raw::new(UNCOUNTED));
        (members(info), None)
    }

    /// Adds a result to its pending call, or returns a separate part for it.
    fn answer(
        &mut self,
        result: GatheredItem<'_>,
        (id, call): (&Str<'_>, Option<&ToolCall<'static>>),
        place: &MessagePlace,
        log: &mut LogBuilder<'_, '_>,
    ) -> Option<ExportPart> {
        if let Some((message, part)) = self.take_call(id.as_escaped()) {
            let mut waiting = std::mem::take(&mut self.waiting);
            if let Some(message) = waiting.get_mut(message)
                && let Some(part) = message.parts.get_mut(part)
            {
                message.open_calls = message.open_calls.saturating_sub(1);
                self.finish_call(part, Some(result), &message.place);
            }
            self.waiting = waiting;
            return None;
        }
        log.note("result of a call that is not there: a call was made up");
        let called = call.map(|call| name_with_group(call).into_owned());
        let mut tool = NativeObject::typed("tool");
        tool.put("tool", called.unwrap_or(Str::escaped("unknown"))).put("callID", id);
        let call = Some(ExportCall { id: String::new(), input: "{}".to_owned() });
        let mut part = ExportPart { members: members(tool), call };
        self.finish_call(&mut part, Some(result), place);
        Some(part)
    }

    /// Removes the first pending call with this id and returns its position.
    fn take_call(&mut self, id: &str) -> Option<(usize, usize)> {
        let places = self.calls.get_mut(id)?;
        let place = places.pop_front();
        if places.is_empty() {
            self.calls.remove(id);
        }
        place.and_then(|(message, part)| Some((message.checked_sub(self.written)?, part)))
    }

    /// Adds the result to a call. OpenCode reports a call without a result to the model as interrupted.
    fn finish_call(&self, part: &mut ExportPart, result: Option<GatheredItem<'_>>, place: &MessagePlace) {
        let Some(call) = part.call.take() else { return };
        let mut state = NativeObject::new();
        let Some(result) = result else {
            state.literal("status", "pending").put("input", Raw::owned(call.input)).literal("raw", "");
            return put_state(part, state);
        };
        let tail = result.tail();
        let texts = joined(result);
        let mut times = NativeObject::new();
        let end = place.time.saturating_add(tail.duration.unwrap_or(0));
        times.put("start", count(place.time)).put("end", count(end));
        let mut metadata = NativeObject::new();
        metadata.put_some("exit", tail.exit_code.map(|code| Raw::owned(code.to_string())));
        let failed = tail.is_error == Some(true);
        state.literal("status", if failed { "error" } else { "completed" });
        state.put("input", Raw::owned(call.input));
        if failed {
            state.put("error", texts);
        } else {
            state.put("output", texts).literal("title", "");
        }
        state.put("metadata", metadata).put("time", times);
        let files: Vec<_> = result
            .parts()
            .filter_map(file)
            .enumerate()
            .map(|(number, mut file)| {
                file.put("id", Str::from_plain(&self.id("prt", place.time, 2048 + number as u64)));
                file.put("sessionID", Str::escaped(&self.session)).put("messageID", Str::escaped(&place.id));
                file
            })
            .collect();
        if !files.is_empty() {
            state.put("attachments", files);
        }
        put_state(part, state);
    }

    /// Writes the message that has waited longest.
    fn write_first(&mut self, log: &mut LogBuilder<'_, '_>) {
        let Some(message) = self.waiting.pop_front() else { return };
        self.written += 1;
        let ExportMessage { place, info, model, mut parts, .. } = message;
        for call in parts.iter().filter_map(|part| part.call.as_ref()) {
            // Remove the call from the pending calls.
            self.take_call(&call.id);
        }
        let mut json = format!("{{\"info\":{{{info}");
        if let Some(model) = model {
            let unknown = || model_of(&Raw::new(UNKNOWN).into(), &Raw::new(UNKNOWN).into());
            json.push_str(",\"model\":");
            json.push_str(&if model.is_empty() { unknown() } else { model });
        }
        json.push_str("},\"parts\":[");
        for (number, part) in parts.iter_mut().enumerate() {
            if part.call.is_some() {
                log.note("a call without a result is left open");
                self.finish_call(part, None, &place);
            }
            let comma = if number > 0 { "," } else { "" };
            let id = self.id("prt", place.time, number as u64);
            // Writing to a string cannot fail.
            let _ = write!(
                json,
                "{comma}{{\"id\":\"{id}\",\"sessionID\":\"{}\",\"messageID\":\"{}\",{}}}",
                self.session, place.id, part.members
            );
        }
        json.push_str("]}");
        log.write(Raw::owned(json));
    }

    /// An id in OpenCode's form: the time and a number in twelve digits, then fourteen letters and digits that
    /// distinguish sessions. These are derived from the session and the number: 83 bits of a digest.
    fn id(&self, sort: &str, time: u64, number: u64) -> String {
        let moment = (time << 12).wrapping_add(number) & 0xffff_ffff_ffff;
        let mut unlike = TextDigest::new();
        unlike.bytes(&self.mark.to_le_bytes());
        unlike.bytes(&number.to_le_bytes());
        let (mut rest, mut id) = (unlike.end(), format!("{sort}_{moment:012x}"));
        for _ in 0..14 {
            // A remainder of 62 is below 62.
            id.push(char::from(LETTERS[(rest % 62) as usize]));
            rest /= 62;
        }
        id
    }

    fn clamped(&self, time: u64, log: &mut LogBuilder<'_, '_>) -> u64 {
        match self.now {
            Some(now) if time > now => {
                log.note("a time in the future became now: OpenCode would never stop answering");
                now
            }
            _ => time,
        }
    }
}

impl ExportMessage {
    /// Whether the message has all results and its model.
    fn is_ready(&self) -> bool {
        self.open_calls == 0 && self.model.as_ref().is_none_or(|model| !model.is_empty())
    }
}

/// The provider of a response's model. Many agents use the models of a single vendor, which their logs do not name.
fn provider(log: &mut LogBuilder<'_, '_>) -> Raw<'static> {
    let agent = log.known(Field::SessionAgent);
    let issuer = agent.and_then(|agent| Dialect::named(agent.as_str().trim_matches('"'))?.issuer);
    log.say(Field::SessionProvider).unwrap_or_else(|| {
        if let Some(issuer) = issuer {
            return Raw::owned(format!("\"{issuer}\""));
        }
        log.note("provider of an answer unknown");
        Raw::new(UNKNOWN)
    })
}

fn model_of(provider: &NativeValue<'_>, model: &NativeValue<'_>) -> String {
    format!("{{\"providerID\":{},\"modelID\":{}}}", spelled(provider), spelled(model))
}

/// The OpenCode version whose export form is written.
const VERSION: &str = "1.18.33";
const UNKNOWN: &str = "\"unknown\"";
const ANTHROPIC: &str = "\"anthropic\"";
/// The `parentID` of a response without a prompt. OpenCode requires one; the message's own id would form a cycle.
const NO_PROMPT: &str = "msg_00000000000000000000000000";
/// The letters and digits of an id.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// OpenCode requires counts in every response.
const UNCOUNTED: &str = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
const FOREIGN_THOUGHT: &str =
    "reasoning becomes the answer's own words, unless OpenCode goes on with the model that the message names";

/// Whether a message's text was injected by the harness.
fn is_aside(item: GatheredItem<'_>) -> bool {
    item.head().origin == Some(Origin::Harness)
}

/// The members of a text or media part.
fn said(part: &Part<'_>, aside: bool) -> Option<String> {
    if let Some(file) = file(part) {
        return Some(members(file));
    }
    let mut text = NativeObject::typed("text");
    text.put("text", text_of(part)?);
    if aside {
        text.put("synthetic", true);
    }
    Some(members(text))
}

/// Media as a file part.
fn file<'g>(part: &'g Part<'_>) -> Option<NativeObject<'g>> {
    let Part::Media(Media { media_type: Some(kind), source: MediaSource::Base64(data), name, .. }) = part
    else {
        return None;
    };
    let mut file = NativeObject::typed("file");
    file.put("mime", kind).put("url", data_url(kind, data)).put_some("filename", name.as_ref());
    Some(file)
}

/// Reasoning, followed by its opaque state.
fn thought(item: GatheredItem<'_>, time: u64) -> String {
    let mut times = NativeObject::new();
    times.put("start", count(time)).put("end", count(time));
    let mut thought = NativeObject::typed("reasoning");
    thought.put("text", joined(item)).put("time", times);
    if let Some(Opaque { kind, value, .. }) = item.opaque() {
        let name = match kind {
            OpaqueKind::Signature => "signature",
            OpaqueKind::Encrypted => "redactedData",
        };
        let mut state = NativeObject::new();
        state.put(name, value);
        let mut metadata = NativeObject::new();
        metadata.put("anthropic", state);
        thought.put("metadata", metadata);
    }
    members(thought)
}

/// The end of a part with opaque state.
const SIGNED: &str = "\"}}";

/// All texts of an item, joined.
fn joined(item: GatheredItem<'_>) -> NativeValue<'_> {
    let mut texts = Vec::new();
    for text in item.parts().filter_map(text_of) {
        if !texts.is_empty() {
            texts.push(Str::escaped("\\n"));
        }
        texts.push(text);
    }
    NativeValue::Joined(texts)
}

fn put_state(part: &mut ExportPart, state: NativeObject<'_>) {
    part.members.push_str(",\"state\":");
    part.members.push_str(&spelled(&state.into()));
}

/// The members of an object, without its brackets.
fn members(object: NativeObject<'_>) -> String {
    let json = spelled(&object.into());
    json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or_default().to_owned()
}

fn spelled(value: &NativeValue<'_>) -> String {
    let mut json = JsonBuffer::default();
    value.write(&mut json.hold());
    json.held().to_owned()
}

fn count(number: u64) -> Raw<'static> {
    Raw::owned(number.to_string())
}
