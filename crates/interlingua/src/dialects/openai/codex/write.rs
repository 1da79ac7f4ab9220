//! Items to lines. Lines that were kept come back byte for byte; a session of another agent becomes a rollout that Codex
//! resumes: its head, then each item with the echo that makes it visible in lists.

use std::collections::BTreeSet;

use super::echo::is_image_mark;
use crate::json::{Raw, Str};
use crate::ledger::{Reason, is_hole};
use crate::log::{
    GatheredContent, GatheredItem, ItemPlace, LogFile, LogForm, LogRules, NativeElement, NativeObject,
    NativeValue, SessionHead, is_uuid, text_of,
};
use crate::model::{
    Args, Author, CallKind, Field, ItemId, ItemKind, Media, MediaSource, Of, Origin, Part, ToolCall, issuers,
};
use crate::pipe::Target;
use crate::tape::{Kind, Val};
use crate::wire::media::address_of;

#[derive(Default)]
pub(super) struct CodexForm {
    /// The item whose kept lines are being given back, and how many of them echo a single text.
    echoes: Option<(ItemId, usize)>,
    /// Calls with free text, whose results have a type of their own.
    free_calls: BTreeSet<String>,
}

/// What an element of a content list is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Text,
    Summary,
    Refusal,
    Image,
    /// Not a part of the item but an item within it.
    Within,
}

impl LogForm for CodexForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::OPENAI,
        authors: &[Author::User, Author::Assistant, Author::System, Author::Developer],
        origins: &[Origin::Own, Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        // Items within a message become lines of their own.
        within: &[Field::ItemTime],
        session_head: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionCommit,
            Field::SessionBranch,
            Field::SessionRepository,
            Field::SessionStart,
        ],
        is_session_id: is_uuid,
        ..LogRules::NOTHING
    };

    /// All lines of an item are filled from the same values.
    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        // The oldest rollouts have items without an envelope.
        let payload = kept.get("payload").unwrap_or(kept);
        let mut line = NativeObject::new();
        line.put_some("timestamp", item.head().time.as_ref());
        let mut values = own_values(item);
        self.put_content(item, payload, &mut values);
        if let Some(holder) = payload.get("item").filter(|holder| holder.kind() == Kind::Object) {
            let mut inner = NativeObject::new();
            inner.put_some("id", item.head().native_id.as_ref());
            self.put_content(item, holder, &mut inner);
            values.put("item", inner);
        }
        if kept.get("payload").is_some() {
            line.put("payload", values);
        } else {
            line.append(values);
        }
        line
    }

    fn class_of(list: &str, element: Val<'_>) -> usize {
        // The reader goes by the list, too: whatever stands in a summary is one.
        let text = if list.starts_with("summary") { Class::Summary } else { Class::Text };
        let class = match element.str_or_empty("type") {
            "input_text" | "output_text" | "text" | "Text" | "reasoning_text" | "summary_text" => text,
            "refusal" => Class::Refusal,
            "input_image" => Class::Image,
            _ if element.kind() == Kind::String => text,
            _ => Class::Within,
        };
        class as usize
    }

    fn media<'m>(
        &self,
        place: ItemPlace,
        media: &'m Media<'m>,
        out: &mut Target<'_>,
    ) -> Result<Media<'m>, Reason> {
        let Media { media_type, source, .. } = media;
        let picture = media_type.as_ref().is_none_or(|kind| kind.as_escaped().starts_with("image/"));
        match source {
            // What the model is sent back as its own words may hold no picture.
            _ if place.of == Of::Message && place.author == Author::Assistant => Err(Reason::Refused),
            // Each provider has its own store of files.
            MediaSource::File(_) => Err(Reason::Foreign),
            MediaSource::Base64(_) if picture => {
                if media_type.is_none() {
                    out.ledger.note("picture without a type taken for a PNG");
                }
                Ok(media.clone())
            }
            MediaSource::Url(_) if picture => {
                out.lose_some(Field::MediaType, media_type.as_ref(), Reason::NoSlot);
                Ok(media.clone())
            }
            MediaSource::Base64(_) | MediaSource::Url(_) | MediaSource::Text(_) => Err(Reason::Refused),
        }
    }

    /// Content between the items within a message becomes a line, and so does each of these.
    fn build(&mut self, item: GatheredItem<'_>, file: &mut LogFile, out: &mut Target<'_>) {
        if item.of() != Of::Message {
            return self.build_item(item, &item.parts().collect::<Vec<_>>(), file, out);
        }
        let mut parts = Vec::new();
        for content in item.content() {
            match content {
                GatheredContent::Part(part) => parts.push(part),
                GatheredContent::Item(inner) => {
                    if !parts.is_empty() {
                        self.build_item(item, &std::mem::take(&mut parts), file, out);
                    }
                    if inner.says_anything() {
                        self.build(inner, file, out);
                    }
                }
            }
        }
        if !parts.is_empty() {
            self.build_item(item, &parts, file, out);
        }
    }
}

/// Members that hold what was said, as one string or as a list.
const CONTENT: &[&str] =
    &["message", "text", "content", "output", "result", "tools", "summary", "summary_text", "raw_content"];

impl CodexForm {
    /// Puts what was said where a kept object has it.
    fn put_content<'g>(&mut self, item: GatheredItem<'g>, holder: Val<'_>, values: &mut NativeObject<'g>) {
        for name in CONTENT {
            if let Some(val) = holder.get(name) {
                values.put(name, self.kept_content(item, name, val));
            }
        }
    }

    /// What was said, as the member of that name has it.
    fn kept_content<'g>(&mut self, item: GatheredItem<'g>, name: &str, val: Val<'_>) -> NativeValue<'g> {
        if val.kind() == Kind::Array {
            return NativeValue::List(kept_elements(item, val.elements().any(is_hole)));
        }
        let one = if name == "text" && is_hole(val) {
            // Reasoning that is shown text by text.
            let known = self.echoes.filter(|(known, _)| *known == item.head().id);
            let shown = known.map_or(0, |(_, shown)| shown);
            self.echoes = Some((item.head().id, shown + 1));
            item.parts().filter_map(plain_text).nth(shown).map(NativeValue::from)
        } else {
            kept_string(item, name)
        };
        one.unwrap_or(NativeValue::Object(NativeObject::default()))
    }

    fn build_item(
        &mut self,
        item: GatheredItem<'_>,
        parts: &[&Part<'_>],
        file: &mut LogFile,
        out: &mut Target<'_>,
    ) {
        let mut payload = NativeObject::new();
        let mut echo = None;
        match &item.head().kind {
            ItemKind::Notice(_) => return,
            ItemKind::Message => {
                let (role, word, echoed) = match item.head().author {
                    Author::Assistant => ("assistant", "output_text", Some("agent_message")),
                    Author::User | Author::Tool => ("user", "input_text", Some("user_message")),
                    Author::System => ("system", "input_text", None),
                    Author::Developer => ("developer", "input_text", None),
                };
                let texts: Vec<_> = parts.iter().filter_map(|part| text_of(part)).collect();
                // The screen does not show what the program put there.
                let shown =
                    item.head().origin != Some(Origin::Harness) && texts.iter().any(|text| !text.is_empty());
                echo = echoed.filter(|_| shown).map(|word| {
                    let mut payload = NativeObject::typed(word);
                    payload.put("message", NativeValue::Joined(texts));
                    payload
                });
                payload.literal("type", "message").literal("role", role);
                payload.put("content", built_elements(parts, word));
            }
            ItemKind::Reasoning => {
                payload.literal("type", "reasoning").put("summary", built_elements(parts, "summary_text"));
                payload.put("encrypted_content", item.opaque().map(|opaque| &opaque.value));
            }
            ItemKind::ToolCall(call) => self.build_call(item, call, &mut payload, file, out),
            ItemKind::ToolResult(_) => {
                let call_id = file.call_id_of(item, out);
                let free = self.free_calls.remove(call_id.as_escaped());
                let word = if free { "custom_tool_call_output" } else { "function_call_output" };
                payload.literal("type", word).put("call_id", call_id);
                let one = match parts {
                    [] => Some(Str::default()),
                    [only] => text_of(only),
                    _ => None,
                };
                payload.put("output", NativeValue::one_or_list(one, built_elements(parts, "input_text")));
            }
        }
        build_head(item, file, out);
        // The order Codex itself writes them in.
        let echo_first = item.head().author == Author::Assistant;
        let (before, after) = if echo_first { (echo, None) } else { (None, echo) };
        for (kind, payload) in [("event_msg", before), ("response_item", Some(payload)), ("event_msg", after)]
        {
            if let Some(payload) = payload {
                write_line(kind, payload, item, file, out);
            }
        }
    }

    fn build_call<'g>(
        &mut self,
        item: GatheredItem<'g>,
        call: &'g ToolCall<'_>,
        payload: &mut NativeObject<'g>,
        file: &mut LogFile,
        out: &mut Target<'_>,
    ) {
        let call_id = file.call_id_of(item, out);
        let (word, member, empty) = match call.kind {
            CallKind::FreeText => {
                self.free_calls.insert(call_id.as_escaped().to_owned());
                ("custom_tool_call", "input", "")
            }
            CallKind::Function | CallKind::Mcp => ("function_call", "arguments", "{}"),
            CallKind::Server | CallKind::Vendor => {
                out.ledger.note("another vendor's own tool written as a function call");
                ("function_call", "arguments", "{}")
            }
        };
        payload
            .literal("type", word)
            .put("name", &call.name)
            .put_some("namespace", call.namespace.as_ref())
            .put(member, arguments_of(item).unwrap_or(Str::escaped(empty)))
            .put("call_id", call_id);
    }
}

/// The values of an item that stand under their own names in the payload.
fn own_values(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut values = NativeObject::new();
    values
        .put_some("id", item.head().native_id.as_ref())
        .put_some("status", item.tail().native_status.as_ref())
        .put_some("call_id", item.call_id());
    match &item.head().kind {
        ItemKind::ToolCall(ToolCall { call_id: _, kind: _, namespace, name }) => {
            values.put("name", name).put_some("namespace", namespace.as_ref());
            values.put_some("arguments", arguments_of(item)).put_some("input", arguments_of(item));
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

/// The elements that kept lists have for an item. In some echoes a text is not a member of its element but the element.
fn kept_elements<'g>(item: GatheredItem<'g>, bare: bool) -> Vec<NativeElement<'g>> {
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
            GatheredContent::Part(Part::Text(text)) => (Class::Text, text_element("text", text)),
            GatheredContent::Part(Part::Summary(text)) => (Class::Summary, text_element("text", text)),
            GatheredContent::Part(Part::Refusal(text)) => (Class::Refusal, text_element("refusal", text)),
            GatheredContent::Part(Part::Media(media)) => {
                let mut element = NativeObject::new();
                let address = Raw::owned(format!("\"{}\"", address_of(media).as_escaped()));
                element.put("image_url", NativeValue::Made(address, media.source.text().reborrow()));
                (Class::Image, element.into())
            }
            GatheredContent::Part(_) => return None,
            GatheredContent::Item(inner) => {
                let mut values = own_values(inner);
                for name in ["output", "result"] {
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

/// What was said as one value: a JSON value, or all texts together.
fn kept_string<'g>(item: GatheredItem<'g>, name: &str) -> Option<NativeValue<'g>> {
    let json = item.parts().find_map(|part| if let Part::Json(json) = part { Some(json) } else { None });
    if let Some(json) = json {
        return Some(json.into());
    }
    // What the screen showed has no marks around pictures.
    let shown = |text: &&Str<'_>| name != "message" || !is_image_mark(text.as_escaped());
    let texts: Vec<_> = item.parts().filter_map(plain_text).filter(shown).collect();
    match &texts[..] {
        [] => None,
        [only] => Some((*only).into()),
        texts => Some(NativeValue::Joined(texts.iter().map(|text| text.reborrow()).collect())),
    }
}

/// A text as the reader takes it, with its own address.
fn plain_text<'g>(part: &'g Part<'static>) -> Option<&'g Str<'static>> {
    match part {
        Part::Text(text) | Part::Summary(text) => Some(text),
        _ => None,
    }
}

/// The list that a built line has for parts. Codex reads no other elements: a refusal is text.
fn built_elements<'p>(parts: &[&'p Part<'_>], word: &'static str) -> Vec<NativeObject<'p>> {
    let element = |part: &&'p Part<'_>| {
        if let Part::Media(media) = part {
            let mut element = NativeObject::typed("input_image");
            element.put("image_url", address_of(media));
            return Some(element);
        }
        let mut element = NativeObject::typed(word);
        element.put("text", text_of(part)?);
        Some(element)
    };
    parts.iter().filter_map(element).collect()
}

/// Arguments as text: a JSON value is escaped once more.
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
    file: &mut LogFile,
    out: &mut Target<'_>,
) {
    let mut line = NativeObject::new();
    line.put("timestamp", file.time_of(item, out)).literal("type", kind).put("payload", payload);
    file.write(&NativeValue::Object(line), out);
}

/// Writes the first line, unless there is one: without it Codex does not take the file for a rollout.
fn build_head(item: GatheredItem<'_>, file: &mut LogFile, out: &mut Target<'_>) {
    if file.has_frames() {
        return;
    }
    let SessionHead { id, start, cwd } = file.session_head(item, out);
    let mut payload = NativeObject::new();
    payload.put("id", id).put("timestamp", start).put("cwd", cwd).literal("originator", "interlingua");
    // Codex wants a version; this is the one whose resume was tried with such a file.
    payload.literal("cli_version", "0.166.0").literal("source", "cli");
    let mut git = NativeObject::new();
    for (name, field) in [
        ("commit_hash", Field::SessionCommit),
        ("branch", Field::SessionBranch),
        ("repository_url", Field::SessionRepository),
    ] {
        git.put_some(name, file.say(field));
    }
    if !git.is_empty() {
        payload.put("git", git);
    }
    write_line("session_meta", payload, item, file, out);
}
