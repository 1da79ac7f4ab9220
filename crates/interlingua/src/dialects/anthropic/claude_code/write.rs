//! Items to lines. A kept line is written back byte for byte; another agent's session becomes lines that Claude Code
//! resumes.

use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::log::{
    CallValues, FrameHead, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules,
    NativeObject, NativeValue, SessionIds, SignedThoughts, name_with_group, stage, text_of,
};
use crate::model::{
    Author, CallKind, Field, ItemHead, ItemKind, ItemKindTag, Media, MediaSource, Opaque, OpaqueKind, Origin,
    Part, ToolCall, issuers,
};
use crate::pipe::WriterOutput;
use crate::tape::Val;
use crate::wire;
use crate::wire::backends::NameRule;

/// Claude Code 2.1.197 hangs on a line without a version; resuming was tested with the version below.
const VERSION: &str = "2.1.325";

#[derive(Default)]
pub(super) struct ClaudeForm {
    /// The `message.id` shared by consecutive assistant lines: one response, one block a line, as Claude Code writes
    /// them.
    response: Option<String>,
}

impl LogForm for ClaudeForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::ANTHROPIC,
        origins: &[Origin::Own, Origin::Harness, Origin::Summary],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules {
            types: &["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"],
            by_address: true,
            from_assistant: true,
        },
        chained: true,
        session: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionBranch,
            Field::SessionModel,
            Field::PermissionMode,
        ],
        session_ids: SessionIds::Uuid,
        call_ids: NameRule { most: usize::MAX, ..NameRule::TOOL },
        stages: &[stage::<SignedThoughts>],
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let blocks = blocks_of(item, None);
        let content = NativeValue::one_or_list(only_text(&blocks), blocks);
        let mut line = NativeObject::new();
        let ItemHead { native_id, parent, time, model, .. } = item.head();
        line.put_some("uuid", native_id.as_ref())
            .put_some("parentUuid", parent.as_ref())
            .put_some("timestamp", time.as_ref());
        if item.of() == ItemKindTag::Notice {
            return notice_values(item, line);
        }
        let mut holder = NativeObject::new();
        if kept.get("message").is_some() {
            holder.put_some("model", model.as_ref()).put("content", content);
            line.put("message", holder);
        } else if kept.get("data").is_some() {
            // A subagent's message in a progress line.
            holder.put_some("model", model.as_ref()).put("content", content);
            let [mut wrapped, mut data] = [NativeObject::new(), NativeObject::new()];
            wrapped.put("message", holder);
            data.put("message", wrapped);
            line.put("data", data);
        } else {
            holder.put("prompt", content);
            line.put("attachment", holder);
        }
        line
    }

    fn lose_of_head(&self, head: &ItemHead<'_>, _: Option<GatheredItem<'_>>, out: &mut WriterOutput<'_>) {
        match &head.kind {
            ItemKind::ToolCall(call) => {
                lose_if_replaced(&name_with_group(call), &call.name, 64, Field::CallName, out);
            }
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Reasoning | ItemKind::Notice(_) => {}
        }
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let ItemHead { author, agent, parent_call, .. } = item.head();
        let assistant = *author == Author::Assistant;
        let word = if assistant { "assistant" } else { "user" };
        let FrameHead { id, parent, time } = log.frame_of(item);
        let mut line = NativeObject::new();
        line.put("parentUuid", parent).put("isSidechain", agent.is_some());
        line.put_some("agentId", agent.as_ref()).put_some("parentToolUseID", parent_call.as_ref());
        line.literal("userType", "external")
            .put_some("cwd", log.say(Field::SessionCwd))
            .put("sessionId", log.session_id())
            .put_some("gitBranch", log.say(Field::SessionBranch));
        if !assistant {
            // Only user lines hold a permission mode.
            line.put_some("permissionMode", log.say(Field::PermissionMode));
        }
        line.literal("version", VERSION).literal("type", word);
        mark_origin(item, &mut line);
        let mut message = NativeObject::new();
        if assistant {
            self.response_head(item, &mut message, log);
        } else {
            self.response = None;
        }
        message.literal("role", word);
        let blocks = blocks_of(item, Some(log));
        let one = only_text(&blocks).filter(|_| !assistant);
        message.put("content", NativeValue::one_or_list(one, blocks));
        if assistant {
            message.put("stop_reason", Raw::new("null")).put("stop_sequence", Raw::new("null"));
        }
        line.put("message", message).put("uuid", id).put("timestamp", time);
        log.write(line);
    }
}

/// Puts a notice's content at every path where a line may hold it; only the path that was taken has a hole.
fn notice_values<'g>(item: GatheredItem<'g>, mut line: NativeObject<'g>) -> NativeObject<'g> {
    for part in item.parts() {
        match part {
            Part::Text(text) => _ = line.put("content", text),
            Part::Json(data) => {
                for holder in ["attachment", "data", "snapshot"] {
                    line.put(holder, data);
                }
            }
            Part::Summary(_)
            | Part::Media(_)
            | Part::Args(_)
            | Part::File(_)
            | Part::Citation(_)
            | Part::Refusal(_)
            | Part::Opaque(_)
            | Part::Cache(_) => {}
        }
    }
    line
}

impl ClaudeForm {
    /// `"id":…,"type":"message","model":…`; without these members Claude Code 2.1.197 hangs.
    fn response_head<'g>(
        &mut self,
        item: GatheredItem<'g>,
        message: &mut NativeObject<'g>,
        log: &mut LogBuilder<'_, '_>,
    ) {
        let made_up = || format!("msg_{}", log.made_up_id(item.head().id).replace('-', ""));
        let response = self.response.get_or_insert_with(made_up);
        message.put("id", Str::from_plain(response)).literal("type", "message");
        message.put("model", log.model_of(item));
    }
}

/// Marks the origin of a user line: injected text is a meta line.
fn mark_origin(item: GatheredItem<'_>, line: &mut NativeObject<'_>) {
    let meta = match item.head().origin {
        Some(Origin::Summary) => {
            line.put("isCompactSummary", true);
            false
        }
        Some(Origin::Harness) => true,
        Some(Origin::Own | Origin::Agent | Origin::Command) | None => false,
    };
    if meta {
        line.put("isMeta", true);
    }
}

/// The blocks of an item, for a kept line or for a built line.
fn blocks_of<'g>(item: GatheredItem<'g>, mut log: Option<&mut LogBuilder<'_, '_>>) -> Vec<NativeObject<'g>> {
    let mut blocks = Vec::new();
    for content in item.blocks() {
        let item = match content {
            GatheredContent::Part(part) => {
                blocks.push(part_block(part));
                continue;
            }
            GatheredContent::Item(item) => item,
        };
        match &item.head().kind {
            ItemKind::Message | ItemKind::Notice(_) => {}
            ItemKind::Reasoning if log.is_some() => blocks.extend(thinking_blocks(item)),
            // In a kept line each reasoning item was read from one block.
            ItemKind::Reasoning => {
                let mut block = NativeObject::new();
                for thinking in thinking_blocks(item) {
                    block.append(thinking);
                }
                blocks.push(block);
            }
            ItemKind::ToolCall(call) => blocks.push(call_block(item, call, log.as_deref_mut())),
            ItemKind::ToolResult(_) => blocks.push(result_block(item, log.as_deref_mut())),
        }
    }
    blocks
}

/// The block for a part.
fn part_block<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let Part::Media(Media { media_type, source, name, context: _, citable: _, detail: _ }) = part else {
        let mut block = NativeObject::typed("text");
        block.put_some("text", text_of(part));
        return block;
    };
    let document = media_type.as_ref().is_some_and(|kind| kind.is("application/pdf"));
    let (kind, member, value) = match source {
        MediaSource::Base64(data) => ("base64", "data", data),
        MediaSource::Url(url) => ("url", "url", url),
        MediaSource::File(id) => ("file", "file_id", id),
        MediaSource::Text(text) => ("text", "data", text),
    };
    let mut place = NativeObject::typed(kind);
    place.put_some("media_type", media_type.as_ref()).put(member, value);
    let mut block = NativeObject::typed(if document { "document" } else { "image" });
    block.put("source", place).put_some("title", name.as_ref());
    block
}

fn call_block<'g>(
    item: GatheredItem<'g>,
    call: &'g ToolCall<'static>,
    log: Option<&mut LogBuilder<'_, '_>>,
) -> NativeObject<'g> {
    let mut block = NativeObject::typed("tool_use");
    if log.is_none() {
        block.put_some("server_name", call.namespace.as_ref());
    }
    let built = log.is_some();
    let CallValues { id, name, arguments } = CallValues::new(item, call, log);
    let (id, name) = if built { (id, api_word(&name, 64)) } else { (id, name) };
    block.put_some("id", id).put("name", name).put_some("input", arguments);
    block
}

fn result_block<'g>(item: GatheredItem<'g>, log: Option<&mut LogBuilder<'_, '_>>) -> NativeObject<'g> {
    let mut block = NativeObject::typed("tool_result");
    let said = |part: &&Part<'_>| !matches!(part, Part::File(_));
    let parts: Vec<_> = item.parts().filter(said).map(part_block).collect();
    let one = if let Some(log) = log {
        block.put("tool_use_id", log.answered(item).0);
        // A single text is a string, as Claude Code writes it; other content is a list.
        let nothing = parts.is_empty().then(Str::default);
        nothing.or_else(|| only_text(&parts)).map(NativeValue::from)
    } else {
        block.put_some("tool_use_id", item.call_id());
        item.parts().find_map(|part| match part {
            Part::Json(json) => Some(json.into()),
            Part::Text(text) => Some(text.into()),
            _ => None,
        })
    };
    block.put("content", NativeValue::one_or_list(one, parts)).put_some("is_error", item.tail().is_error);
    block
}

/// The blocks of a reasoning item: one per text, then the encrypted state.
fn thinking_blocks(item: GatheredItem<'_>) -> Vec<NativeObject<'_>> {
    let mut texts: Vec<_> = item.parts().filter_map(text_of).collect();
    let state = |wanted| {
        item.parts().find_map(|part| match part {
            Part::Opaque(Opaque { kind, value, .. }) if *kind == wanted => Some(value),
            _ => None,
        })
    };
    let signature = state(OpaqueKind::Signature);
    if texts.is_empty() && signature.is_some() {
        // The issuer left the signed text out.
        texts.push(Str::default());
    }
    let mut blocks = Vec::new();
    for text in texts {
        let mut block = NativeObject::typed("thinking");
        block.put("thinking", text).put("signature", signature.map_or(Str::default(), Str::reborrow));
        blocks.push(block);
    }
    if let Some(data) = state(OpaqueKind::Encrypted) {
        let mut block = NativeObject::typed("redacted_thinking");
        block.put("data", data);
        blocks.push(block);
    }
    blocks
}

/// The text, if the list is a single text block.
fn only_text<'g>(blocks: &[NativeObject<'g>]) -> Option<Str<'g>> {
    match blocks {
        [block] => match block.get("text") {
            Some(NativeValue::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// An id or a name, with characters the API refuses replaced.
fn api_word(text: &Str<'_>, most: usize) -> Str<'static> {
    wire::alias(text, NameRule { most, ..NameRule::TOOL }).into_owned()
}

/// Books an id or a name as lost if characters were replaced for the API.
fn lose_if_replaced(text: &Str<'_>, said: &Str<'_>, most: usize, field: Field, out: &mut WriterOutput<'_>) {
    if wire::alias(text, NameRule { most, ..NameRule::TOOL }).as_escaped() != text.as_escaped() {
        out.ledger.note("id or name of a call replaced by one the API takes");
        out.lose_str(field, said, Reason::Refused);
    }
}
