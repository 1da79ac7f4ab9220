//! Items to lines. A line that was kept comes back byte for byte; a session of another agent becomes a file that Pi opens.

use std::collections::HashMap;

use super::read;
use crate::framing::Framing;
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::log::{
    GatheredContent, GatheredItem, ItemPlace, LogFile, LogForm, LogRules, NativeObject, NativeValue,
    arguments_object, arguments_of, name_with_group, note_group,
};
use crate::model::{
    Author, CallKind, Field, ItemHead, ItemKind, Media, MediaSource, Of, Opaque, OpaqueKind, Origin, Part,
    ToolCall, ToolResult, issuers,
};
use crate::pipe::Target;
use crate::tape::Val;

#[derive(Default)]
pub(super) struct PiForm {
    /// The tools of calls that wait for their result, by the call's id: a result names its tool.
    tools: HashMap<String, Str<'static>>,
}

impl LogForm for PiForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        framing: Framing::Lines,
        issuer: issuers::ANTHROPIC,
        authors: &[Author::User, Author::Assistant],
        origins: &[Origin::Harness, Origin::Summary],
        calls: &[CallKind::Function, CallKind::FreeText],
        within: &[],
        session: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionStart,
            Field::SessionModel,
            Field::SessionProvider,
        ],
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, parent, time, model, kind, .. } = item.head();
        let mut line = NativeObject::new();
        line.put_some("id", native_id.as_ref())
            .put_some("parentId", parent.as_ref())
            .put_some("timestamp", time.as_ref());
        let mut values = NativeObject::new();
        values.put_some("model", model.as_ref());
        if let ItemKind::ToolResult(ToolResult { call_id, name }) = kind {
            values.put_some("toolCallId", call_id.as_ref()).put_some("toolName", name.as_ref());
            values.put_some("isError", item.tail().is_error);
        }
        let message = kept.get("message");
        let mut parts = item.parts();
        for name in ["summary", "command", "output"] {
            if message.unwrap_or(kept).get(name).is_some()
                && let Some(Part::Text(text)) = parts.next()
            {
                values.put(name, text);
            }
        }
        let mut content = Vec::new();
        put_blocks(item, &mut content, &mut own_values);
        let one = item.only_text().map(|text| Box::new(text.into()));
        values.put("content", NativeValue::Either(one, Box::new(content.into_iter().collect())));
        if message.is_some() {
            line.put("message", values);
        } else {
            line.append(values);
        }
        line
    }

    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        read::issuer(kept.get("message").unwrap_or(kept))
    }

    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        file: &LogFile,
        out: &mut Target<'_>,
    ) {
        if around.is_none() {
            out.lose_some(Field::ItemAgent, head.agent.as_ref(), Reason::Narrowed);
        }
        file.lose_of_frame(head, around, out);
    }

    fn media<'m>(
        &self,
        place: ItemPlace,
        media: &'m Media<'m>,
        _: &mut Target<'_>,
    ) -> Result<Media<'m>, Reason> {
        let picture = media.media_type.as_ref().is_some_and(|kind| kind.as_escaped().starts_with("image/"));
        match media.source {
            MediaSource::Base64(_) if picture && place.author != Author::Assistant => Ok(media.clone()),
            _ => Err(Reason::Refused),
        }
    }

    fn says_of_session(&self, field: Field, _: &Raw<'_>, file: &LogFile) -> bool {
        // The head is the first line, and nothing is added to it.
        matches!(field, Field::SessionModel | Field::SessionProvider) || !file.has_frames()
    }

    fn build(&mut self, item: GatheredItem<'_>, file: &mut LogFile, out: &mut Target<'_>) {
        if !file.has_frames() {
            let start = file.say(Field::SessionStart).unwrap_or_else(|| file.time_of(item, out));
            let id = file.say(Field::SessionId);
            let made_up = || Raw::owned(format!("\"{}\"", file.made_up_id(item.head().id)));
            let id = id.unwrap_or_else(made_up);
            let mut head = NativeObject::typed("session");
            head.put("version", Raw::new("3")).put("id", id).put("timestamp", start);
            head.put("cwd", file.say(Field::SessionCwd).unwrap_or(Raw::new("\"/\"")));
            file.write(&head.into(), out);
        }
        let mut blocks = Vec::new();
        put_blocks(item, &mut blocks, &mut |item, call| {
            note_group(call, out);
            let (id, name) = (file.call_id_of(item, out), name_with_group(call));
            self.tools.insert(id.as_escaped().to_owned(), name.clone().into_owned());
            (Some(id), name, Some(arguments_object(item, call.kind, out)))
        });
        // Results that stand in a message are lines of their own here, before what the user says beside them.
        let results = std::iter::once(item).chain(item.within()).filter(|item| item.of() == Of::Result);
        let mut lines: Vec<_> =
            results.map(|found| (found.head().id, "message", self.result(found, file, out))).collect();
        if item.of() != Of::Result && !blocks.is_empty() {
            let (kind, rest) = message(item, blocks, file, out);
            let at = if item.head().author == Author::Assistant { 0 } else { lines.len() };
            lines.insert(at, (item.head().id, kind, rest));
        }
        let (mut parent, count) = (file.parent_of(item), lines.len());
        for (number, (made_from, kind, rest)) in lines.into_iter().enumerate() {
            // What comes after the item hangs on the last of its lines.
            let last = number + 1 == count;
            let id = if last { file.id_of(item) } else { file.made_up_id(made_from) };
            let mut line = NativeObject::typed(kind);
            line.put("id", Str::escaped(&id).into_owned());
            line.put("parentId", parent.map_or(NativeValue::Json(Raw::new("null")), NativeValue::Text));
            line.put("timestamp", file.time_of(item, out)).append(rest);
            file.write(&line.into(), out);
            if last {
                file.links(item, &id);
            }
            parent = Some(Str::escaped(&id).into_owned());
        }
    }
}

/// The type of the line for a message, and what it has.
fn message<'g>(
    item: GatheredItem<'g>,
    blocks: Vec<NativeObject<'g>>,
    file: &mut LogFile,
    out: &mut Target<'_>,
) -> (&'static str, NativeObject<'g>) {
    let mut rest = NativeObject::new();
    match (item.head().author, item.head().origin) {
        (Author::Assistant, _) => {
            rest.put("message", answer(item, blocks, file, out));
            return ("message", rest);
        }
        (Author::User, Some(Origin::Summary)) => {
            if let Some(text) = item.only_text() {
                // Nothing before it is kept: it stands for all of that.
                rest.put("summary", text)
                    .put("firstKeptEntryId", Str::escaped(&file.id_of(item)).into_owned());
                rest.put("tokensBefore", Raw::new("0"));
                out.ledger.note("made up how much stood before a summary");
                return ("compaction", rest);
            }
            // A summary is one text; anything more is a message like any other.
            out.ledger.lose_late(Field::ItemOrigin, Reason::Narrowed, 1, 0);
        }
        _ => {}
    }
    let content = blocks.into_iter().collect::<NativeValue<'_>>();
    if item.head().author == Author::User && item.head().origin != Some(Origin::Harness) {
        let mut message = NativeObject::new();
        message.literal("role", "user").put("content", content);
        rest.put("message", message);
        return ("message", rest);
    }
    rest.literal("customType", super::DIALECT.name).put("content", content).put("display", false);
    ("custom_message", rest)
}

impl PiForm {
    fn result<'g>(
        &mut self,
        item: GatheredItem<'g>,
        file: &mut LogFile,
        out: &mut Target<'_>,
    ) -> NativeObject<'g> {
        let id = file.call_id_of(item, out);
        let called = self.tools.remove(id.as_escaped());
        let name = match &item.head().kind {
            ItemKind::ToolResult(ToolResult { name: Some(own), .. }) => own.clone(),
            _ => called.unwrap_or_else(|| {
                out.ledger.note("tool of a result unknown");
                Str::escaped("unknown")
            }),
        };
        let mut blocks = Vec::new();
        put_blocks(item, &mut blocks, &mut own_values);
        let mut message = NativeObject::new();
        message.literal("role", "toolResult").put("toolCallId", id).put("toolName", name);
        message.put("content", blocks.into_iter().collect::<NativeValue<'_>>());
        message.put("isError", item.tail().is_error.unwrap_or(false));
        let mut rest = NativeObject::new();
        rest.put("message", message);
        rest
    }
}

fn answer<'g>(
    item: GatheredItem<'g>,
    blocks: Vec<NativeObject<'g>>,
    file: &mut LogFile,
    out: &mut Target<'_>,
) -> NativeObject<'g> {
    let has = |name| blocks.iter().any(|block| block.get(name).is_some());
    let stop = if has("arguments") { "toolUse" } else { "stop" };
    // Pi gives a signature back to the provider that the message names, and to no other.
    let known = file
        .known(Field::SessionProvider)
        .filter(|known| !has("thinkingSignature") || known.as_str() == ANTHROPIC);
    let provider = match known {
        Some(_) => file.say(Field::SessionProvider),
        None => Some(Raw::new(ANTHROPIC)).filter(|_| has("thinkingSignature")),
    };
    let provider = provider.unwrap_or_else(|| {
        out.ledger.note("provider of an answer unknown: its API was guessed");
        Raw::new("\"unknown\"")
    });
    let api = if provider.as_str() == ANTHROPIC { "anthropic-messages" } else { "openai-responses" };
    let mut message = NativeObject::new();
    message.literal("role", "assistant").put("content", blocks.into_iter().collect::<NativeValue<'_>>());
    message.literal("api", api).put("provider", provider);
    match &item.head().model {
        Some(model) => message.put("model", model),
        None => message.put(
            "model",
            file.say(Field::SessionModel).unwrap_or_else(|| {
                out.ledger.note("model of an answer unknown");
                Raw::new("\"unknown\"")
            }),
        ),
    };
    message.literal("stopReason", stop);
    message
}

const ANTHROPIC: &str = "\"anthropic\"";

/// The id, the tool's name and the arguments that the block of a call has.
type CallValues<'g> = (Option<Str<'g>>, Str<'g>, Option<NativeValue<'g>>);

/// Those of the call itself.
fn own_values<'g>(item: GatheredItem<'g>, call: &'g ToolCall<'static>) -> CallValues<'g> {
    (item.call_id().map(Str::reborrow), call.name.reborrow(), arguments_of(item))
}

/// Adds the blocks of an item, but for the results within it.
fn put_blocks<'g>(
    item: GatheredItem<'g>,
    blocks: &mut Vec<NativeObject<'g>>,
    values: &mut dyn FnMut(GatheredItem<'g>, &'g ToolCall<'static>) -> CallValues<'g>,
) {
    match &item.head().kind {
        ItemKind::Message | ItemKind::ToolResult(_) => {
            for content in item.content() {
                match content {
                    GatheredContent::Part(part) => blocks.extend(part_block(part)),
                    GatheredContent::Item(inner) if inner.of() == Of::Result => {}
                    GatheredContent::Item(inner) => put_blocks(inner, blocks, values),
                }
            }
        }
        ItemKind::Reasoning => blocks.push(thinking(item)),
        ItemKind::ToolCall(call) => {
            let (id, name, arguments) = values(item, call);
            let mut block = NativeObject::typed("toolCall");
            block.put_some("id", id).put("name", name).put_some("arguments", arguments);
            block.put_some("thoughtSignature", item.opaque().map(|opaque| &opaque.value));
            blocks.push(block);
        }
        ItemKind::Notice(_) => {}
    }
}

fn part_block<'g>(part: &'g Part<'_>) -> Option<NativeObject<'g>> {
    let mut block;
    match part {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => {
            block = NativeObject::typed("text");
            block.put("text", text);
        }
        Part::Json(json) => {
            block = NativeObject::typed("text");
            block.put("text", Str::plain(json.as_str()));
        }
        Part::Media(Media { media_type, source, .. }) => {
            block = NativeObject::typed("image");
            block.put("data", source.text()).put_some("mimeType", media_type.as_ref());
        }
        Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Opaque(_) | Part::Cache(_) => return None,
    }
    Some(block)
}

fn thinking(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut texts = Vec::new();
    for part in item.parts() {
        let text = match part {
            Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => text.reborrow(),
            Part::Json(json) => Str::plain(json.as_str()),
            _ => continue,
        };
        if !texts.is_empty() {
            texts.push(Str::escaped("\\n\\n"));
        }
        texts.push(text);
    }
    let mut block = NativeObject::typed("thinking");
    block.put("thinking", NativeValue::Joined(texts));
    if let Some(Opaque { kind, value, .. }) = item.opaque() {
        block.put("thinkingSignature", value);
        if *kind == OpaqueKind::Encrypted {
            block.put("redacted", true);
        }
    }
    block
}
