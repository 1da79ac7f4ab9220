//! Items to messages. A kept message is written back byte for byte; another agent's session becomes a document with the
//! members that Cline requires.

use super::read;
use crate::blocks::{blocks_of, joined_texts, only_text, text_block};
use crate::framing::Framing;
use crate::json::{Raw, Str};
use crate::log::{
    GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, NativeObject, NativeValue, OneAgent,
    SessionIds, SignedThoughts, name_with_group, stage, text_of,
};
use crate::model::{Author, CallKind, Field, ItemHead, ItemKind, ItemKindTag, Part, ToolResult, issuers};
use crate::tape::Val;
use crate::wire::backends::NameRule;

pub(super) struct ClineForm;

impl LogForm for ClineForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        framing: Framing::Documents(super::MESSAGES),
        issuer: issuers::ANTHROPIC,
        calls: &[CallKind::Function, CallKind::FreeText],
        // A subagent has a session of its own. Cline sends thinking with its signature to Anthropic's API.
        stages: &[stage::<OneAgent>, stage::<SignedThoughts>],
        untimed: true,
        session_head: &[Field::SessionId],
        session_ids: SessionIds::PrefixedWord(""),
        call_ids: NameRule::TOOL,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, _: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, time, model, .. } = item.head();
        let mut message = NativeObject::new();
        if item.of() == ItemKindTag::Notice {
            return message;
        }
        message.put_some("id", native_id.as_ref()).put_some("ts", time.as_ref());
        let mut model_info = NativeObject::new();
        model_info.put_some("id", model.as_ref());
        message.put("modelInfo", model_info);
        let mut blocks = blocks_of(item, None);
        let one = only_text(&blocks);
        // Each content of a kept message is one block.
        for (block, content) in blocks.iter_mut().zip(item.blocks()) {
            if let GatheredContent::Part(part) = content {
                put_own_members(part, block);
            }
        }
        message.put("content", NativeValue::one_or_list(one, blocks));
        message
    }

    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        read::issuer(kept)
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let mut blocks = Vec::new();
        for content in item.blocks() {
            match content {
                GatheredContent::Part(part) => blocks.extend(text_block(part)),
                GatheredContent::Item(inner) => match &inner.head().kind {
                    ItemKind::ToolResult(result) => blocks.push(built_result(inner, result, log)),
                    _ => blocks.extend(blocks_of(inner, Some(log))),
                },
            }
        }
        if blocks.is_empty() {
            return;
        }
        if !log.has_frames() {
            let id = log.session_id();
            let (mut head, mut origin) = (NativeObject::new(), NativeObject::new());
            origin.literal("source", "cli").literal("mode", "user").put("sessionId", id.clone());
            head.put("version", Raw::new("1")).literal("agent", "lead").put("sessionId", id);
            head.put("origin", origin).put("messages", NativeValue::List(Vec::new()));
            log.write_head(head);
        }
        let role = if item.head().author == Author::Assistant { "assistant" } else { "user" };
        let mut message = NativeObject::new();
        message.literal("role", role).put("content", blocks);
        log.write(message);
    }
}

/// The block of a result. Cline refuses a history with a result that has no name, and sends a list of texts as JSON.
fn built_result<'g>(
    item: GatheredItem<'g>,
    result: &'g ToolResult<'static>,
    log: &mut LogBuilder<'_, '_>,
) -> NativeObject<'g> {
    let (id, call) = log.answered(item);
    let called = call.map(|call| name_with_group(&call).into_owned());
    let name = called.or(result.name.clone()).unwrap_or_else(|| {
        log.note("tool of a result unknown");
        Str::escaped("unknown")
    });
    let mut block = NativeObject::typed("tool_result");
    block.put("tool_use_id", id).put("name", name);
    block.put("content", NativeValue::Joined(joined_texts(item.parts())));
    block.put_some("is_error", item.tail().is_error);
    block
}

/// Adds the members of Cline's own blocks: the text of a file, and the data of a picture.
fn put_own_members<'g>(part: &'g Part<'static>, block: &mut NativeObject<'g>) {
    if let Part::Media(media) = part {
        block.put("data", media.source.text()).put_some("mediaType", media.media_type.as_ref());
    } else if let Some(text) = text_of(part) {
        block.put("content", text);
    }
}
