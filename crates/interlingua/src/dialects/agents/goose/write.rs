//! Items to messages. A kept message is written back byte for byte; another agent's session becomes a document that
//! `goose session import` reads.

use super::read;
use crate::blocks::{joined_texts, text_block};
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::log::{
    CallValues, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules, NativeObject,
    NativeValue, OneAgent, SessionHead, SessionIds, has_hole, stage, text_of,
};
use crate::model::{
    Author, CallKind, Field, ItemHead, ItemKind, ItemKindTag, Media, Opaque, OpaqueKind, Origin, Part,
    issuers, time,
};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Val};
use crate::wire::backends::NameRule;

#[derive(Default)]
pub(super) struct GooseForm {
    /// The time of the last built message, in seconds: Goose sorts messages by their times.
    last_time: u64,
}

impl LogForm for GooseForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        framing: super::FRAMING,
        issuer: issuers::ANTHROPIC,
        origins: &[Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/"], ..MediaRules::NONE },
        // A subagent has a session of its own. Goose itself joins consecutive messages of one author.
        stages: &[stage::<OneAgent>],
        // Goose opens a session with the provider and the model that it is configured with.
        session_head: &[Field::SessionId, Field::SessionStart, Field::SessionCwd, Field::SessionTitle],
        session_ids: SessionIds::PrefixedWord(""),
        call_ids: NameRule::TOOL,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, time, model, .. } = item.head();
        let mut message = NativeObject::new();
        message.put_some("id", native_id.as_ref()).put_some("created", time.as_ref());
        if item.of() == ItemKindTag::Notice {
            let mut block = NativeObject::new();
            block.put_some("msg", item.only_text());
            message.put("content", vec![block]);
            return message;
        }
        let (mut inference, mut metadata) = (NativeObject::new(), NativeObject::new());
        inference.put_some("requestedModel", model.as_ref());
        metadata.put("inference", inference);
        message.put("metadata", metadata);
        // Each content of a kept message is one block with a hole.
        let content = kept.get("content");
        let blocks = content.into_iter().flat_map(|content| content.elements());
        let blocks = blocks.filter(|block| has_hole(*block)).zip(item.blocks());
        let values: Vec<_> = blocks.map(|(block, content)| kept_block(content, block)).collect();
        message.put("content", values);
        message
    }

    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        read::issuer(kept)
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let mut blocks = Vec::new();
        for content in item.blocks() {
            match content {
                GatheredContent::Part(part) => blocks.extend(part_block(part)),
                GatheredContent::Item(inner) => blocks.extend(built_block(inner, log)),
            }
        }
        if blocks.is_empty() {
            return;
        }
        if !log.has_frames() {
            write_head(item, log);
            self.last_time = 0;
        }
        let ItemHead { native_id, author, origin, model, .. } = item.head();
        let is_answer = *author == Author::Assistant;
        let mut metadata = NativeObject::new();
        metadata.put("userVisible", *origin != Some(Origin::Harness)).put("agentVisible", true);
        if let Some(model) = model.as_ref().filter(|_| is_answer) {
            let is_signed = blocks.iter().any(is_signed);
            if !is_signed {
                log.note("made up the provider of an answer");
            }
            let mut inference = NativeObject::new();
            inference.literal("provider", if is_signed { issuers::ANTHROPIC } else { "unknown" });
            inference.put("requestedModel", model);
            metadata.put("inference", inference);
        }
        let mut message = NativeObject::new();
        message
            .put_some("id", native_id.as_ref())
            .literal("role", if is_answer { "assistant" } else { "user" });
        let created = time::epoch_millis(&log.time_of(item)).unwrap_or(0) / 1000;
        if created < self.last_time && item.head().time.is_some() {
            log.lose(Field::ItemTime, Reason::NoSlot);
        }
        self.last_time = self.last_time.max(created);
        message.put("created", Raw::owned(self.last_time.to_string())).put("content", blocks);
        message.put("metadata", metadata);
        log.write(message);
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
}

/// Whether a block has state of its provider.
fn is_signed(block: &NativeObject<'_>) -> bool {
    block.get("data").is_some() && block.get("mimeType").is_none()
        || matches!(block.get("signature"), Some(NativeValue::Text(text)) if !text.is_empty())
}

/// Writes the members around the messages that Goose requires.
fn write_head(item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
    let SessionHead { id, start, cwd } = log.session_head(item);
    let title = log.say_or(Field::SessionTitle, "\"Session of another agent\"", "made up the title");
    let mut head = NativeObject::new();
    head.put("id", id).put("working_dir", cwd).put("name", title).put("user_set_name", false);
    head.literal("session_type", "user").put("created_at", start.clone()).put("updated_at", start);
    head.put("extension_data", NativeObject::new()).put("message_count", Raw::new("0"));
    head.put("conversation", NativeValue::List(Vec::new()));
    log.write_head(head);
}

/// The values of a block for its holes.
fn kept_block<'g>(content: GatheredContent<'g>, kept: Val<'_>) -> NativeObject<'g> {
    let item = match content {
        GatheredContent::Part(part) => return kept_part(part),
        GatheredContent::Item(item) => item,
    };
    let mut block = NativeObject::new();
    match &item.head().kind {
        ItemKind::Reasoning => {
            let text = item.parts().find_map(text_of);
            block.put_some("text", text.clone()).put_some("thinking", text);
            if let Some(Opaque { kind, value, .. }) = item.opaque() {
                block.put(if *kind == OpaqueKind::Encrypted { "data" } else { "signature" }, value);
            }
        }
        ItemKind::ToolCall(call) => put_call(CallValues::new(item, call, None), &mut block),
        ItemKind::ToolResult(_) => {
            block.put_some("id", item.call_id());
            let mut outcome = NativeObject::new();
            outcome.put_some("error", item.parts().find_map(text_of));
            let parts: NativeValue<'g> = item.parts().map(kept_part).collect();
            let value = kept.get("toolResult").and_then(|outcome| outcome.get("value"));
            if value.is_some_and(|value| value.kind() == Kind::Array) {
                outcome.put("value", parts);
            } else {
                let mut value = NativeObject::new();
                value.put("content", parts).put_some("isError", item.tail().is_error);
                outcome.put("value", value);
            }
            block.put("toolResult", outcome);
        }
        ItemKind::Message | ItemKind::Notice(_) => {}
    }
    block
}

/// The values of a part: a text may be the text of a resource.
fn kept_part<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let mut block = part_block(part).unwrap_or_default();
    if let Some(text) = text_of(part) {
        let mut resource = NativeObject::new();
        resource.put("text", text);
        block.put("resource", resource);
    }
    block
}

/// The block of a text or a picture.
fn part_block<'g>(part: &'g Part<'_>) -> Option<NativeObject<'g>> {
    if let Part::Media(Media { media_type, source, .. }) = part {
        let mut block = NativeObject::typed("image");
        block.put("data", source.text()).put_some("mimeType", media_type.as_ref());
        return Some(block);
    }
    text_block(part)
}

fn put_call<'g>(CallValues { id, name, arguments }: CallValues<'g>, block: &mut NativeObject<'g>) {
    let (mut call, mut outcome) = (NativeObject::new(), NativeObject::new());
    call.put("name", name).put_some("arguments", arguments);
    outcome.literal("status", "success").put("value", call);
    block.put_some("id", id).put("toolCall", outcome);
}

/// The block of an item within a message. Goose does not send thinking without a signature to Anthropic's API.
fn built_block<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> Option<NativeObject<'g>> {
    Some(match &item.head().kind {
        ItemKind::Reasoning => {
            let texts = joined_texts(item.parts());
            match item.opaque() {
                Some(Opaque { kind: OpaqueKind::Encrypted, value, .. }) if texts.is_empty() => {
                    let mut block = NativeObject::typed("redactedThinking");
                    block.put("data", value);
                    block
                }
                state => {
                    let signature = state.filter(|state| state.kind == OpaqueKind::Signature);
                    let signature = signature.map_or(Str::default(), |state| state.value.reborrow());
                    let mut block = NativeObject::typed("thinking");
                    block.put("thinking", NativeValue::Joined(texts)).put("signature", signature);
                    block
                }
            }
        }
        ItemKind::ToolCall(call) => {
            let mut block = NativeObject::typed("toolRequest");
            put_call(CallValues::new(item, call, Some(log)), &mut block);
            block
        }
        ItemKind::ToolResult(_) => {
            let (mut value, mut outcome) = (NativeObject::new(), NativeObject::new());
            let parts: Vec<_> = item.parts().filter_map(part_block).collect();
            value.put("content", parts);
            if let Some(code) = item.tail().exit_code {
                let mut details = NativeObject::new();
                details.put("exit_code", Raw::owned(code.to_string()));
                value.put("structuredContent", details);
            }
            value.put_some("isError", item.tail().is_error);
            outcome.literal("status", "success").put("value", value);
            let mut block = NativeObject::typed("toolResponse");
            block.put("id", log.answered(item).0).put("toolResult", outcome);
            block
        }
        ItemKind::Message | ItemKind::Notice(_) => return None,
    })
}
