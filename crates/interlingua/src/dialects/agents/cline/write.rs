//! Items to messages. A kept message is written back byte for byte; another agent's session becomes a document with the
//! members that Cline requires.

use super::read;
use crate::blocks::{blocks_of, only_text};
use crate::framing::Framing;
use crate::json::{Raw, Str};
use crate::log::{
    GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, NativeObject, NativeValue, OneAgent,
    SessionIds, SignedThoughts, stage, text_of,
};
use crate::model::{Author, CallKind, Field, ItemHead, ItemKindTag, Part, issuers};
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
        let mut blocks = blocks_of(item, None, None);
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
        let blocks = blocks_of(item, None, Some(log));
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

/// Adds the members of Cline's own blocks: the text of a file, and the data of a picture.
fn put_own_members<'g>(part: &'g Part<'static>, block: &mut NativeObject<'g>) {
    if let Part::Media(media) = part {
        block.put("data", media.source.text()).put_some("mediaType", media.media_type.as_ref());
    } else if let Some(text) = text_of(part) {
        block.put("content", text);
    }
}
