//! Items to messages. A kept message is written back byte for byte; another agent's session becomes a thread that Amp
//! can continue.

use super::date::milliseconds;
use super::read;
use crate::blocks::{CallNames, call_block, joined_texts, text_block, thinking_blocks};
use crate::framing::Framing;
use crate::json::{Raw, Str};
use crate::log::{
    AnswersTogether, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules, NativeObject,
    NativeValue, OneAgent, SessionIds, SignedThoughts, stage, text_of,
};
use crate::model::{Author, CallKind, Field, FileRef, ItemHead, ItemKind, ItemKindTag, Media, Part, issuers};
use crate::tape::Val;
use crate::wire::backends::NameRule;

#[derive(Default)]
pub(super) struct AmpForm {
    /// Number of messages so far; each message holds its number.
    written: u64,
}

impl LogForm for AmpForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        framing: Framing::Documents(super::MESSAGES),
        issuer: issuers::ANTHROPIC,
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/"], ..MediaRules::NONE },
        // A subagent has a session of its own. Amp requires every call's result in the next message.
        stages: &[stage::<OneAgent>, stage::<AnswersTogether>, stage::<SignedThoughts>],
        session_head: &[Field::SessionId, Field::SessionStart, Field::SessionTitle, Field::SessionCwd],
        session_ids: SessionIds::PrefixedUuid("T-"),
        call_ids: NameRule { most: usize::MAX, ..NameRule::TOOL },
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, time, model, .. } = item.head();
        let mut message = NativeObject::new();
        if item.of() == ItemKindTag::Notice {
            return message;
        }
        message.put_some("messageId", native_id.as_ref().map(|id| Raw::owned(id.as_escaped().to_owned())));
        let (mut meta, mut usage, mut state) =
            (NativeObject::new(), NativeObject::new(), NativeObject::new());
        if kept.get("meta").is_some_and(|meta| meta.get("sentAt").is_some()) {
            meta.put_some("sentAt", time.as_ref());
        } else {
            usage.put_some("timestamp", time.as_ref());
        }
        usage.put_some("model", model.as_ref());
        state.put_some("type", item.tail().native_status.as_ref());
        message.put("meta", meta).put("usage", usage).put("state", state);
        message.put("content", blocks_of(item, None));
        message
    }

    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        let content = kept.get("content");
        let mut blocks = content.into_iter().flat_map(|content| content.elements());
        let block = blocks.find(|block| block.get("provider").is_some());
        block.map_or(Str::escaped(issuers::ANTHROPIC), read::issuer)
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let blocks = blocks_of(item, Some(log));
        if blocks.is_empty() {
            return;
        }
        if !log.has_frames() {
            write_head(item, log);
        }
        let assistant = item.head().author == Author::Assistant;
        let mut message = NativeObject::new();
        message.literal("role", if assistant { "assistant" } else { "user" });
        message.put("messageId", Raw::owned(self.written.to_string()));
        self.written += 1;
        let calls = blocks.iter().any(|block| block.get("input").is_some());
        message.put("content", blocks);
        if assistant {
            // Amp stops at a response without a final state.
            let mut state = NativeObject::typed("complete");
            state.literal("stopReason", if calls { "tool_use" } else { "end_turn" });
            message.put("state", state);
        }
        log.write(message);
    }
}

fn write_head(item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
    let id = log.session_id();
    let start = log.say(Field::SessionStart).unwrap_or_else(|| log.time_of(item));
    let created = milliseconds(start.as_str().trim_matches('"'));
    let created = created.filter(|created| *created >= 0).unwrap_or_else(|| {
        log.note("made up when the thread began");
        0
    });
    let mut head = NativeObject::new();
    head.put("v", Raw::new("1")).put("id", id).put("created", Raw::owned(created.to_string()));
    head.put_some("title", log.say(Field::SessionTitle));
    if let Some(cwd) = log.say(Field::SessionCwd) {
        let path = cwd.as_str().trim_matches('"');
        let mut tree = NativeObject::new();
        tree.put("uri", Str::escaped(&format!("{}{path}", read::FILE)).into_owned());
        let (mut initial, mut env) = (NativeObject::new(), NativeObject::new());
        initial.put("trees", vec![tree]);
        env.put("initial", initial);
        head.put("env", env);
    }
    head.put("messages", NativeValue::List(Vec::new()));
    log.write_head(head);
}

/// The blocks of a message, for a kept thread or for a built thread.
fn blocks_of<'g>(item: GatheredItem<'g>, mut log: Option<&mut LogBuilder<'_, '_>>) -> Vec<NativeObject<'g>> {
    let mut blocks = Vec::new();
    for content in item.blocks() {
        let item = match content {
            GatheredContent::Part(part) => {
                let mut block = part_block(part);
                if let (None, Some(block), Some(text)) = (&log, &mut block, text_of(part)) {
                    // A kept block may be a summary.
                    let mut summary = NativeObject::new();
                    summary.put("summary", text);
                    block.put("summary", summary);
                }
                blocks.extend(block);
                continue;
            }
            GatheredContent::Item(item) => item,
        };
        match &item.head().kind {
            ItemKind::Reasoning => blocks.extend(thinking(item, log.is_some())),
            ItemKind::ToolCall(call) => {
                let built = log.is_some();
                let mut block = call_block(item, call, CallNames::API, log.as_deref_mut());
                if built {
                    block.put("complete", true);
                }
                blocks.push(block);
            }
            ItemKind::ToolResult(_) => {
                blocks.push(result(item, log.as_deref_mut()));
                if log.is_some() {
                    // A result holds only text; its pictures are separate blocks.
                    blocks.extend(
                        item.parts().filter(|part| matches!(part, Part::Media(_))).filter_map(part_block),
                    );
                }
            }
            ItemKind::Message | ItemKind::Notice(_) => {}
        }
    }
    blocks
}

fn part_block<'g>(part: &'g Part<'_>) -> Option<NativeObject<'g>> {
    if let Part::Media(media) = part {
        let mut block = NativeObject::typed("image");
        block.put("source", source(media));
        return Some(block);
    }
    text_block(part)
}

fn source<'g>(media: &'g Media<'_>) -> NativeObject<'g> {
    let mut source = NativeObject::typed("base64");
    source.put_some("mediaType", media.media_type.as_ref()).put("data", media.source.text());
    source
}

/// The blocks of reasoning, with all texts in one block.
fn thinking(item: GatheredItem<'_>, built: bool) -> Vec<NativeObject<'_>> {
    let texts = joined_texts(item.parts());
    let texts = if texts.is_empty() { Vec::new() } else { vec![NativeValue::Joined(texts)] };
    let mut blocks = thinking_blocks(item, texts, built);
    if built {
        for block in &mut blocks {
            block.literal("provider", issuers::ANTHROPIC);
        }
    }
    blocks
}

fn result<'g>(item: GatheredItem<'g>, log: Option<&mut LogBuilder<'_, '_>>) -> NativeObject<'g> {
    let mut block = NativeObject::typed("tool_result");
    let mut run = NativeObject::new();
    if let Some(log) = log {
        block.put("toolUseID", log.answered(item).0);
        built_run(item, &mut run);
    } else {
        block.put_some("toolUseID", item.call_id());
        run.put_some("status", item.tail().native_status.as_ref());
        let (mut object, mut error) = (NativeObject::new(), NativeObject::new());
        let mut one = None;
        match item.parts().next() {
            Some(Part::Text(text)) => {
                object.put("output", text).put("content", text);
                error.put("message", text);
                run.put("reason", text);
                one = Some(NativeValue::from(text));
            }
            Some(Part::Json(json)) => one = Some(json.into()),
            Some(Part::File(FileRef { diff, .. })) => _ = object.put_some("diff", diff.as_ref()),
            Some(Part::Media(Media { media_type, source, .. })) => {
                let mut info = NativeObject::new();
                info.put_some("mimeType", media_type.as_ref());
                object.put("content", source.text()).put("imageInfo", info);
            }
            _ => {}
        }
        run.put("result", NativeValue::Either(one.map(Box::new), Box::new(object.into())));
        run.put("error", error);
    }
    block.put("run", run);
    block
}

fn built_run<'g>(item: GatheredItem<'g>, run: &mut NativeObject<'g>) {
    let text = NativeValue::Joined(joined_texts(item.parts()));
    if item.tail().is_error == Some(true) {
        let mut error = NativeObject::new();
        error.put("message", text);
        error.put_some("exitCode", item.tail().exit_code.map(|code| Raw::owned(code.to_string())));
        run.literal("status", "error").put("error", error);
        return;
    }
    run.literal("status", "done");
    if let Some(code) = item.tail().exit_code {
        let mut result = NativeObject::new();
        result.put("output", text).put("exitCode", Raw::owned(code.to_string()));
        run.put("result", result);
    } else {
        run.put("result", text);
    }
}
