//! Writes items as lines. Kept lines are restored byte for byte. Another agent's session becomes a rollout that Codex
//! can resume: a head line, then each item with the echo that lists show.

use super::echo::is_image_mark;
use crate::json::{Raw, Str};
use crate::ledger::is_hole;
use crate::log::{
    GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules, NativeElement, NativeObject,
    NativeValue, OneAgent, SessionHead, SessionIds, stage, text_of,
};
use crate::model::{
    Args, Author, CallKind, Event, Field, ItemId, ItemKind, ItemKindTag, Origin, Part, ToolCall, issuers,
};
use crate::tape::{Kind, Val, WantedNames};
use crate::wire::media::address_of;

#[derive(Default)]
pub(super) struct CodexForm {
    /// The item whose kept lines are being restored, and the number of its echoes with a single text so far.
    echoes: Option<(ItemId, usize)>,
}

/// The location of a content list in a kept line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListPlace {
    /// In the payload of a `response_item`.
    Payload,
    /// In the item of an `item_completed` echo.
    Echo,
}

/// The class of an element in a content list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Text,
    Summary,
    Refusal,
    Image,
    State,
    /// An item within the message, not a part.
    Within,
}

impl LogForm for CodexForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::OPENAI,
        origins: &[Origin::Own, Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/"], by_address: true, from_assistant: false },
        // Items within a message get their own lines.
        within: &[Field::ItemTime],
        session_head: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionCommit,
            Field::SessionBranch,
            Field::SessionRepository,
            Field::SessionStart,
        ],
        // A subagent has its own session.
        stages: &[stage::<OneAgent>],
        session_ids: SessionIds::Uuid,
        call_groups: true,
        ..LogRules::NOTHING
    };

    /// Fills every kept line of an item from the same values.
    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        // The oldest rollouts have items without an envelope.
        let payload = kept.get("payload").unwrap_or(kept);
        let mut line = NativeObject::new();
        line.put_some("timestamp", item.head().time.as_ref());
        if is_hole(payload) {
            line.put_some("payload", json_of(item));
            return line;
        }
        let mut values = own_values(item);
        self.put_content(item, payload, ListPlace::Payload, &mut values);
        if item.of() == ItemKindTag::Message && payload.get("base_instructions").is_some() {
            let mut prompt = NativeObject::new();
            prompt.put_some("text", item.parts().find_map(plain_text));
            values.put("base_instructions", prompt);
        }
        if payload.str_or_empty("type") == "image_generation_call" {
            put_picture(item, &mut values);
        }
        if payload.get("item").is_some_and(is_hole) {
            values.put_some("item", json_of(item));
        } else if let Some(holder) = payload.get("item").filter(|holder| holder.kind() == Kind::Object) {
            let mut inner = NativeObject::new();
            inner.put_some("id", item.head().native_id.as_ref());
            inner.put_some("phase", item.head().phase.as_ref());
            self.put_content(item, holder, ListPlace::Echo, &mut inner);
            values.put("item", inner);
        }
        if kept.get("payload").is_some() {
            line.put("payload", values);
        } else {
            line.append(values);
        }
        line
    }

    /// Fills the kept line of a compaction, which is an event and no item.
    fn kept_event<'g>(&mut self, event: &'g Event<'static>, _: Val<'_>) -> NativeObject<'g> {
        let (mut line, mut payload) = (NativeObject::new(), NativeObject::new());
        if let Event::Compacted(compaction) = event {
            payload.put_some("message", compaction.summary.as_ref());
            payload.put_some("replacement_history", compaction.history.as_ref());
        }
        line.put("payload", payload);
        line
    }

    fn class_of(list: &str, element: Val<'_>) -> usize {
        // The list decides, as in the reader: every text in a summary list is a summary.
        let text = if list.starts_with("summary") { Class::Summary } else { Class::Text };
        let class = match element.str_or_empty("type") {
            "input_text" | "output_text" | "text" | "Text" | "reasoning_text" | "summary_text" => text,
            "refusal" => Class::Refusal,
            "input_image" => Class::Image,
            "encrypted_content" => Class::State,
            _ if element.kind() == Kind::String => text,
            _ => Class::Within,
        };
        class as usize
    }

    /// Writes each run of parts between the items within a message as a line, and each of these items as its own line.
    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if item.of() != ItemKindTag::Message {
            return build_item(item, &item.parts().collect::<Vec<_>>(), log);
        }
        let mut parts = Vec::new();
        for content in item.content() {
            match content {
                GatheredContent::Part(part) => parts.push(part),
                GatheredContent::Item(inner) => {
                    if !parts.is_empty() {
                        build_item(item, &std::mem::take(&mut parts), log);
                    }
                    if inner.says_anything() {
                        self.build(inner, log);
                    }
                }
            }
        }
        if !parts.is_empty() {
            build_item(item, &parts, log);
        }
    }
}

/// Members that hold content, as one string or as a list.
const CONTENT: [&str; 9] =
    ["message", "text", "content", "output", "result", "tools", "summary", "summary_text", "raw_content"];

impl CodexForm {
    /// Puts an item's content into the members in which the kept object holds it.
    fn put_content<'g>(
        &mut self,
        item: GatheredItem<'g>,
        holder: Val<'_>,
        place: ListPlace,
        values: &mut NativeObject<'g>,
    ) {
        const WANTED: WantedNames<9> = WantedNames::new(CONTENT);
        for (name, val) in CONTENT.into_iter().zip(holder.find(&WANTED)) {
            if let Some(val) = val {
                values.put_some(name, self.kept_content(item, name, place, val));
            }
        }
    }

    /// An item's content in the form of the kept member with this name.
    fn kept_content<'g>(
        &mut self,
        item: GatheredItem<'g>,
        name: &str,
        place: ListPlace,
        val: Val<'_>,
    ) -> Option<NativeValue<'g>> {
        if val.kind() == Kind::Array {
            let bare = val.elements().any(is_hole);
            return Some(NativeValue::List(kept_elements(item, bare, place)));
        }
        if name != "text" || !is_hole(val) {
            return kept_string(item, name);
        }
        // Reasoning that is echoed text by text.
        let known = self.echoes.filter(|(known, _)| *known == item.head().id);
        let shown = known.map_or(0, |(_, shown)| shown);
        self.echoes = Some((item.head().id, shown + 1));
        item.parts().filter_map(plain_text).nth(shown).map(NativeValue::from)
    }
}

/// Writes the line of an item, or of a run of its parts, and its echo if the screen shows the item. The order of the
/// two lines is Codex's own.
fn build_item(item: GatheredItem<'_>, parts: &[&Part<'_>], log: &mut LogBuilder<'_, '_>) {
    build_head(item, log);
    let from_assistant = item.head().author == Author::Assistant;
    let mut lines = vec![("response_item", payload_of(item, parts, log))];
    if let Some(echo) = echo_of(item, parts) {
        lines.insert(usize::from(!from_assistant), ("event_msg", echo));
    }
    for (kind, payload) in lines {
        write_line(kind, payload, item, log);
    }
}

/// The echo of a message, unless the harness injected the message.
fn echo_of<'g>(item: GatheredItem<'g>, parts: &[&'g Part<'_>]) -> Option<NativeObject<'g>> {
    let word = match item.head().author {
        _ if item.of() != ItemKindTag::Message || item.head().origin == Some(Origin::Harness) => return None,
        Author::Assistant => "agent_message",
        Author::User | Author::Tool | Author::System | Author::Developer => "user_message",
    };
    let texts: Vec<_> = parts.iter().filter_map(|part| text_of(part)).collect();
    let mut payload = NativeObject::typed(word);
    let support = texts.iter().any(|text| !text.is_empty());
    payload.put("message", NativeValue::Joined(texts));
    support.then_some(payload)
}

/// The payload of a `response_item`.
fn payload_of<'g>(
    item: GatheredItem<'g>,
    parts: &[&'g Part<'_>],
    log: &mut LogBuilder<'_, '_>,
) -> NativeObject<'g> {
    let mut payload;
    match &item.head().kind {
        ItemKind::Message | ItemKind::Notice(_) => {
            let (role, word) = match item.head().author {
                Author::Assistant => ("assistant", "output_text"),
                Author::User | Author::Tool | Author::System | Author::Developer => ("user", "input_text"),
            };
            payload = NativeObject::typed("message");
            payload.literal("role", role).put("content", built_elements(parts, word));
        }
        ItemKind::Reasoning => {
            payload = NativeObject::typed("reasoning");
            payload.put("summary", built_elements(parts, "summary_text"));
            payload.put("encrypted_content", item.opaque().map(|opaque| &opaque.value));
        }
        ItemKind::ToolCall(call) => {
            let call_id = log.call_id(item, call);
            let (word, member, empty) = match call.kind {
                CallKind::FreeText => ("custom_tool_call", "input", ""),
                CallKind::Function | CallKind::Mcp => ("function_call", "arguments", "{}"),
                CallKind::Server | CallKind::Vendor => {
                    log.note("another vendor's own tool written as a function call");
                    ("function_call", "arguments", "{}")
                }
            };
            payload = NativeObject::typed(word);
            payload.put("name", &call.name).put_some("namespace", call.namespace.as_ref());
            payload.put(member, arguments_of(item).unwrap_or(Str::escaped(empty))).put("call_id", call_id);
        }
        ItemKind::ToolResult(_) => {
            let (call_id, call) = log.answered(item);
            let free = call.is_some_and(|call| call.kind == CallKind::FreeText);
            let word = if free { "custom_tool_call_output" } else { "function_call_output" };
            let one = match parts {
                [] => Some(Str::default()),
                [only] => text_of(only),
                _ => None,
            };
            payload = NativeObject::typed(word);
            payload.put("call_id", call_id);
            payload.put("output", NativeValue::one_or_list(one, built_elements(parts, "input_text")));
        }
    }
    payload
}

/// The values of an item that have their own members in the payload.
fn own_values(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut values = NativeObject::new();
    values
        .put_some("id", item.head().native_id.as_ref())
        .put_some("status", item.tail().native_status.as_ref())
        .put_some("phase", item.head().phase.as_ref())
        .put_some("call_id", item.call_id());
    match &item.head().kind {
        ItemKind::ToolCall(ToolCall { call_id: _, kind: _, namespace, name }) => {
            values.put("name", name).put_some("namespace", namespace.as_ref());
            let text = arguments_of(item);
            values.put_some("arguments", text.clone()).put_some("input", text);
            if let Some(Args::Json(json)) = item.arguments() {
                values.put("action", json);
            }
        }
        ItemKind::Reasoning | ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {
            values.put_some("encrypted_content", item.opaque().map(|opaque| &opaque.value));
        }
    }
    values
}

/// Puts the picture that the provider made, from the result within the item.
fn put_picture<'g>(item: GatheredItem<'g>, values: &mut NativeObject<'g>) {
    for inner in item.content() {
        let GatheredContent::Item(inner) = inner else { continue };
        values.put_some("id", inner.call_id()).put_some("status", inner.tail().native_status.as_ref());
        values.put_some("revised_prompt", inner.parts().find_map(plain_text));
        let picture = inner.parts().find_map(|part| match part {
            Part::Media(media) => Some(media.source.text()),
            _ => None,
        });
        values.put_some("result", picture);
    }
}

/// An item's elements for a kept list. In some echoes the element itself is the text.
fn kept_elements<'g>(item: GatheredItem<'g>, bare: bool, place: ListPlace) -> Vec<NativeElement<'g>> {
    let text_element = |member, text: &'g Str<'static>| {
        let mut element = NativeObject::new();
        element.put(member, text);
        if bare {
            NativeValue::Either(Some(Box::new(text.into())), Box::new(element.into()))
        } else {
            element.into()
        }
    };
    let element = |content| {
        let (class, value) = match content {
            // Echoes omit the marks around pictures.
            GatheredContent::Part(Part::Text(text))
                if place == ListPlace::Echo && is_image_mark(text.as_escaped()) =>
            {
                return None;
            }
            GatheredContent::Part(Part::Text(text)) => (Class::Text, text_element("text", text)),
            GatheredContent::Part(Part::Summary(text)) => (Class::Summary, text_element("text", text)),
            GatheredContent::Part(Part::Refusal(text)) => (Class::Refusal, text_element("refusal", text)),
            GatheredContent::Part(Part::Media(media)) => {
                let mut element = NativeObject::new();
                element.put("image_url", NativeValue::Joined(address_of(media)));
                (Class::Image, element.into())
            }
            GatheredContent::Part(Part::Opaque(state)) => {
                let mut element = NativeObject::new();
                element.put("encrypted_content", &state.value);
                (Class::State, element.into())
            }
            GatheredContent::Part(_) => return None,
            GatheredContent::Item(inner) => {
                let mut values = own_values(inner);
                for name in ["output", "result", "text"] {
                    if let Some(value) = kept_string(inner, name) {
                        values.put(name, value);
                    }
                }
                (Class::Within, values.into())
            }
        };
        Some(NativeElement { class: class as usize, value })
    };
    item.content().filter_map(element).collect()
}

/// An item's content as one value: its JSON value, or all texts joined.
fn kept_string<'g>(item: GatheredItem<'g>, name: &str) -> Option<NativeValue<'g>> {
    if let Some(json) = json_of(item) {
        return Some(json.into());
    }
    // Echoes omit the marks around pictures.
    let shown = |text: &&Str<'_>| name != "message" || !is_image_mark(text.as_escaped());
    let texts: Vec<_> = item.parts().filter_map(plain_text).filter(shown).collect();
    match &texts[..] {
        [] => None,
        [only] => Some((*only).into()),
        texts => Some(NativeValue::Joined(texts.iter().map(|text| text.reborrow()).collect())),
    }
}

/// The JSON part of an item.
fn json_of(item: GatheredItem<'_>) -> Option<&Raw<'static>> {
    item.parts().find_map(|part| if let Part::Json(json) = part { Some(json) } else { None })
}

/// The text of a text or summary part, borrowed from the part itself.
fn plain_text<'g>(part: &'g Part<'static>) -> Option<&'g Str<'static>> {
    match part {
        Part::Text(text) | Part::Summary(text) => Some(text),
        _ => None,
    }
}

/// The content list of a new line. Codex reads only texts and images, so a refusal becomes text.
fn built_elements<'p>(parts: &[&'p Part<'_>], word: &'static str) -> Vec<NativeObject<'p>> {
    let element = |part: &&'p Part<'_>| {
        if let Part::Media(media) = part {
            let mut element = NativeObject::typed("input_image");
            element.put("image_url", NativeValue::Joined(address_of(media)));
            return Some(element);
        }
        let mut element = NativeObject::typed(word);
        element.put("text", text_of(part)?);
        Some(element)
    };
    parts.iter().filter_map(element).collect()
}

/// Arguments as a string; a JSON value is escaped.
fn arguments_of(item: GatheredItem<'_>) -> Option<Str<'_>> {
    item.arguments().map(|args| match args {
        Args::Text(text) => text.reborrow(),
        Args::Json(json) => Str::plain(json.as_str()),
    })
}

fn write_line(
    kind: &'static str,
    payload: NativeObject<'_>,
    item: GatheredItem<'_>,
    log: &mut LogBuilder<'_, '_>,
) {
    let mut line = NativeObject::new();
    line.put("timestamp", log.time_of(item)).literal("type", kind).put("payload", payload);
    log.write(line);
}

/// Writes the head line, unless the log has lines already. Codex does not recognise a rollout without it.
fn build_head(item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
    if log.has_frames() {
        return;
    }
    let SessionHead { id, start, cwd } = log.session_head(item);
    let mut payload = NativeObject::new();
    payload.put("id", id).put("timestamp", start).put("cwd", cwd).literal("originator", "interlingua");
    // Codex requires a version; resuming a rollout of this form was tested with 0.166.0.
    payload.literal("cli_version", "0.166.0").literal("source", "cli");
    let mut git = NativeObject::new();
    for (name, field) in [
        ("commit_hash", Field::SessionCommit),
        ("branch", Field::SessionBranch),
        ("repository_url", Field::SessionRepository),
    ] {
        git.put_some(name, log.say(field));
    }
    if !git.is_empty() {
        payload.put("git", git);
    }
    write_line("session_meta", payload, item, log);
}
