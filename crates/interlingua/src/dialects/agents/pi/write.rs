//! Items to lines. A kept line is written back byte for byte; another agent's session becomes a file that Pi opens.

use super::read;
use crate::blocks::{CallNames, call_block, joined_texts, text_block};
use crate::json::{Raw, Str};
use crate::log::{
    CallsTogether, FrameHead, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules,
    NativeObject, NativeValue, OneAgent, SessionHead, SessionIds, name_with_group, stage,
};
use crate::model::{
    Author, CallKind, Field, ItemHead, ItemKind, ItemKindTag, Media, Opaque, OpaqueKind, Origin, Part,
    ToolResult, issuers,
};
use crate::tape::Val;
use crate::wire::backends::NameRule;

pub(super) struct PiForm;

impl LogForm for PiForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::ANTHROPIC,
        // A `compaction` line would hide all earlier lines from Pi, so a summary is written as a message.
        origins: &[Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/"], ..MediaRules::NONE },
        // Pi follows a single chain, from the last line. For Pi, a response after a call means that the call will have
        // no result.
        stages: &[stage::<OneAgent>, stage::<CallsTogether>],
        chained: true,
        session_head: &[Field::SessionId, Field::SessionCwd, Field::SessionStart],
        session: &[Field::SessionModel, Field::SessionProvider],
        session_ids: SessionIds::Uuid,
        // Pi can continue with any vendor's model; all vendors accept call ids under this rule.
        call_ids: NameRule::TOOL,
        ..LogRules::NOTHING
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
            let diff = item
                .parts()
                .find_map(|part| if let Part::File(file) = part { file.diff.as_ref() } else { None });
            if let Some(diff) = diff {
                let mut details = NativeObject::new();
                // Only one of the two members was taken.
                details.put("patch", diff).put("diff", diff);
                values.put("details", details);
            }
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
        let blocks = if item.of() == ItemKindTag::Result {
            item.parts().filter_map(part_block).collect()
        } else {
            blocks_of(item, None)
        };
        values.put("content", NativeValue::one_or_list(item.only_text(), blocks));
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

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if !log.has_frames() {
            let SessionHead { id, start, cwd } = log.session_head(item);
            let mut head = NativeObject::typed("session");
            head.put("version", Raw::new("3")).put("id", id).put("timestamp", start).put("cwd", cwd);
            log.write(head);
        }
        // Results within a message become lines of their own, before the user's text.
        let blocks = blocks_of(item, Some(log));
        let mut lines = Vec::new();
        for content in item.blocks() {
            if let GatheredContent::Item(inner) = content
                && let ItemKind::ToolResult(result) = &inner.head().kind
            {
                lines.push((inner.head().id, "message", answered(inner, result, log)));
            }
        }
        if !blocks.is_empty() {
            let (kind, rest) = message(item, blocks, log);
            let at = if item.head().author == Author::Assistant { 0 } else { lines.len() };
            lines.insert(at, (item.head().id, kind, rest));
        }
        let Some((_, others)) = lines.split_last() else { return };
        let frames = log.frames_of(item, others.iter().map(|(number, ..)| *number));
        for (FrameHead { id, parent, time }, (_, kind, rest)) in frames.into_iter().zip(lines) {
            let mut line = NativeObject::typed(kind);
            line.put("id", id).put("parentId", parent).put("timestamp", time).append(rest);
            log.write(line);
        }
    }
}

/// The type and the members of a message line.
fn message<'g>(
    item: GatheredItem<'g>,
    blocks: Vec<NativeObject<'g>>,
    log: &mut LogBuilder<'_, '_>,
) -> (&'static str, NativeObject<'g>) {
    let mut rest = NativeObject::new();
    let ItemHead { author, origin, .. } = item.head();
    if *author == Author::Assistant {
        rest.put("message", answer(item, blocks, log));
        return ("message", rest);
    }
    let content = blocks.into_iter().collect::<NativeValue<'_>>();
    if *author == Author::User && *origin != Some(Origin::Harness) {
        let mut message = NativeObject::new();
        message.literal("role", "user").put("content", content);
        rest.put("message", message);
        return ("message", rest);
    }
    rest.literal("customType", super::DIALECT.name).put("content", content).put("display", false);
    ("custom_message", rest)
}

fn answered<'g>(
    item: GatheredItem<'g>,
    result: &'g ToolResult<'_>,
    log: &mut LogBuilder<'_, '_>,
) -> NativeObject<'g> {
    let (id, call) = log.answered(item);
    let called = call.map(|call| name_with_group(&call).into_owned());
    let name = result.name.as_ref().map(Str::reborrow).or(called).unwrap_or_else(|| {
        log.note("tool of a result unknown");
        Str::escaped("unknown")
    });
    let mut message = NativeObject::new();
    message.literal("role", "toolResult").put("toolCallId", id).put("toolName", name);
    message.put("content", item.parts().filter_map(part_block).collect::<NativeValue<'_>>());
    message.put("isError", item.tail().is_error.unwrap_or(false));
    let mut rest = NativeObject::new();
    rest.put("message", message);
    rest
}

fn answer<'g>(
    item: GatheredItem<'g>,
    blocks: Vec<NativeObject<'g>>,
    log: &mut LogBuilder<'_, '_>,
) -> NativeObject<'g> {
    let has = |name| blocks.iter().any(|block| block.get(name).is_some());
    let stop = if has("arguments") { "toolUse" } else { "stop" };
    // Pi sends a signature back only to the provider that the message names.
    let known = log.known(Field::SessionProvider);
    let provider = if has("thinkingSignature") && known.is_none_or(|known| known.as_str() != ANTHROPIC) {
        Raw::new(ANTHROPIC)
    } else {
        let note = "provider of an answer unknown: its API was guessed";
        log.say_or(Field::SessionProvider, "\"unknown\"", note)
    };
    let api = if provider.as_str() == ANTHROPIC { "anthropic-messages" } else { "openai-responses" };
    let mut message = NativeObject::new();
    message.literal("role", "assistant").put("content", blocks.into_iter().collect::<NativeValue<'_>>());
    message.literal("api", api).put("provider", provider);
    log.note("made up the usage of an answer: nothing was counted");
    message.put("model", log.model_of(item)).put("usage", Raw::new(UNCOUNTED)).literal("stopReason", stop);
    message
}

const ANTHROPIC: &str = "\"anthropic\"";

/// Pi adds up the usage of every response, and stops at a response without usage.
const UNCOUNTED: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

const CALLS: CallNames = CallNames { kind: "toolCall", arguments: "arguments" };

/// The blocks of an item, for a kept line or for a built line. Results are lines of their own.
fn blocks_of<'g>(item: GatheredItem<'g>, mut log: Option<&mut LogBuilder<'_, '_>>) -> Vec<NativeObject<'g>> {
    let block = |content| match content {
        GatheredContent::Part(part) => part_block(part),
        GatheredContent::Item(item) => match &item.head().kind {
            ItemKind::Reasoning => Some(thinking(item)),
            ItemKind::ToolCall(call) => {
                let mut block = call_block(item, call, CALLS, log.as_deref_mut());
                block.put_some("thoughtSignature", item.opaque().map(|opaque| &opaque.value));
                Some(block)
            }
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => None,
        },
    };
    item.blocks().into_iter().filter_map(block).collect()
}

fn part_block<'g>(part: &'g Part<'_>) -> Option<NativeObject<'g>> {
    if let Part::Media(Media { media_type, source, .. }) = part {
        let mut block = NativeObject::typed("image");
        block.put("data", source.text()).put_some("mimeType", media_type.as_ref());
        return Some(block);
    }
    text_block(part)
}

fn thinking(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut block = NativeObject::typed("thinking");
    block.put("thinking", NativeValue::Joined(joined_texts(item.parts())));
    if let Some(Opaque { kind, value, .. }) = item.opaque() {
        block.put("thinkingSignature", value);
        if *kind == OpaqueKind::Encrypted {
            block.put("redacted", true);
        }
    }
    block
}
