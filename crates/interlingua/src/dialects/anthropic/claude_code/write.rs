//! Items to lines. A line that was kept comes back byte for byte; a session of another agent becomes lines that Claude
//! Code resumes.

use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::log::{
    CallValues, FrameHead, GatheredContent, GatheredItem, ItemPlace, LogFile, LogForm, LogRules,
    NativeObject, NativeValue, name_with_group, text_of,
};
use crate::model::{
    Author, CallKind, Field, ItemHead, ItemKind, Media, MediaSource, Opaque, OpaqueKind, Origin, Part,
    ToolResult, issuers,
};
use crate::pipe::Target;
use crate::tape::Val;
use crate::wire::{self, Letters};

/// Claude Code 2.1.197 waits for ever on a line without a version; this is the one whose resume was tried.
const VERSION: &str = "2.1.325";

#[derive(Default)]
pub(super) struct ClaudeForm {
    /// The `message.id` that assistant lines in a row share: one response, one block a line, as Claude Code writes them.
    response: Option<String>,
}

impl LogForm for ClaudeForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::ANTHROPIC,
        authors: &[Author::User, Author::Assistant],
        origins: &[Origin::Own, Origin::Harness, Origin::Summary],
        calls: &[CallKind::Function, CallKind::FreeText],
        chained: true,
        session: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionBranch,
            Field::SessionModel,
            Field::PermissionMode,
        ],
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let mut blocks = Vec::new();
        for content in item.blocks() {
            blocks.push(match content {
                GatheredContent::Part(part) => part_block(part),
                GatheredContent::Item(item) => kept_block(item),
            });
        }
        let content = NativeValue::one_or_list(only_text(&blocks), blocks);
        let mut line = NativeObject::new();
        let ItemHead { native_id, parent, time, model, .. } = item.head();
        line.put_some("uuid", native_id.as_ref())
            .put_some("parentUuid", parent.as_ref())
            .put_some("timestamp", time.as_ref());
        let mut holder = NativeObject::new();
        if kept.get("message").is_some() {
            holder.put_some("model", model.as_ref()).put("content", content);
            line.put("message", holder);
        } else {
            holder.put("prompt", content);
            line.put("attachment", holder);
        }
        line
    }

    fn lose_of_head(&self, head: &ItemHead<'_>, _: Option<GatheredItem<'_>>, out: &mut Target<'_>) {
        match &head.kind {
            ItemKind::ToolCall(call) => {
                if let Some(id) = &call.call_id {
                    lose_if_replaced(id, id, usize::MAX, Field::CallId, out);
                }
                lose_if_replaced(&name_with_group(call), &call.name, 64, Field::CallName, out);
            }
            ItemKind::ToolResult(ToolResult { call_id: Some(id), .. }) => {
                lose_if_replaced(id, id, usize::MAX, Field::ResultCallId, out);
            }
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Reasoning | ItemKind::Notice(_) => {}
        }
    }

    fn media<'m>(
        &self,
        _: ItemPlace,
        media: &'m Media<'m>,
        out: &mut Target<'_>,
    ) -> Result<Media<'m>, Reason> {
        sayable(media, out)
    }

    fn build(&mut self, item: GatheredItem<'_>, file: &mut LogFile, out: &mut Target<'_>) {
        let ItemHead { author, agent, parent_call, .. } = item.head();
        let assistant = *author == Author::Assistant;
        let word = if assistant { "assistant" } else { "user" };
        let FrameHead { id, parent, time } = file.frame_of(item, out);
        let mut line = NativeObject::new();
        line.put("parentUuid", parent).put("isSidechain", agent.is_some());
        line.put_some("agentId", agent.as_ref()).put_some("parentToolUseID", parent_call.as_ref());
        line.literal("userType", "external")
            .put_some("cwd", file.say(Field::SessionCwd))
            .put_some("sessionId", file.say(Field::SessionId))
            .put_some("gitBranch", file.say(Field::SessionBranch));
        if !assistant {
            // Only what a person asks for has a mode.
            line.put_some("permissionMode", file.say(Field::PermissionMode));
        }
        line.literal("version", VERSION).literal("type", word);
        mark_origin(item, &mut line, out);
        let mut message = NativeObject::new();
        if assistant {
            self.response_head(item, file, &mut message, out);
        } else {
            self.response = None;
        }
        message.literal("role", word);
        let mut blocks = Vec::new();
        for content in item.blocks() {
            match content {
                GatheredContent::Part(part) => blocks.push(typed_part(part)),
                GatheredContent::Item(item) => built_blocks(item, &mut blocks, file, out),
            }
        }
        let one = only_text(&blocks).filter(|_| !assistant);
        message.put("content", NativeValue::one_or_list(one, blocks));
        if assistant {
            message.put("stop_reason", Raw::new("null")).put("stop_sequence", Raw::new("null"));
        }
        line.put("message", message).put("uuid", id).put("timestamp", time);
        file.write(&line.into(), out);
    }
}

impl ClaudeForm {
    /// `"id":…,"type":"message","model":…`, without which Claude Code 2.1.197 waits for ever.
    fn response_head<'g>(
        &mut self,
        item: GatheredItem<'g>,
        file: &mut LogFile,
        message: &mut NativeObject<'g>,
        out: &mut Target<'_>,
    ) {
        let made_up = || format!("msg_{}", file.made_up_id(item.head().id).replace('-', ""));
        let response = self.response.get_or_insert_with(made_up);
        message.put("id", Str::from_plain(response)).literal("type", "message");
        message.put("model", file.model_of(item, out));
    }
}

/// Says whose words a line of the user holds. The log has no system messages: what a harness injects is a user line
/// marked as meta.
fn mark_origin(item: GatheredItem<'_>, line: &mut NativeObject<'_>, out: &mut Target<'_>) {
    let meta = match (item.head().author, item.head().origin) {
        (Author::System | Author::Developer, _) => {
            out.ledger.note("system message written as a meta user line");
            true
        }
        (_, Some(Origin::Summary)) => {
            line.put("isCompactSummary", true);
            false
        }
        (_, Some(Origin::Harness)) => true,
        (Author::User | Author::Assistant | Author::Tool, _) => false,
    };
    if meta {
        line.put("isMeta", true);
    }
}

/// Where a kept block has the values of an item, whatever block it is.
fn kept_block(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut block = NativeObject::new();
    match &item.head().kind {
        ItemKind::ToolCall(call) => {
            let CallValues { id, name, arguments } = CallValues::own(item, call);
            block.put_some("id", id).put("name", name).put_some("input", arguments);
            block.put_some("server_name", call.namespace.as_ref());
        }
        ItemKind::ToolResult(_) => {
            let one = item.parts().find_map(|part| match part {
                Part::Json(json) => Some(NativeValue::from(json)),
                Part::Text(text) => Some(text.into()),
                _ => None,
            });
            block
                .put_some("tool_use_id", item.call_id())
                .put("content", NativeValue::one_or_list(one, item.parts().map(part_block)))
                .put_some("is_error", item.tail().is_error);
        }
        ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {
            thinking_blocks(item).into_iter().for_each(|thinking| block.append(thinking));
        }
    }
    block
}

/// A part that is a block of its own, without its type.
fn part_block<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let mut block = NativeObject::new();
    if let Part::Media(Media { media_type, source, name, context: _, citable: _ }) = part {
        let (kind, member, value) = match source {
            MediaSource::Base64(data) => ("base64", "data", data),
            MediaSource::Url(url) => ("url", "url", url),
            MediaSource::File(id) => ("file", "file_id", id),
            MediaSource::Text(text) => ("text", "data", text),
        };
        let mut place = NativeObject::typed(kind);
        place.put_some("media_type", media_type.as_ref()).put(member, value);
        block.put("source", place).put_some("title", name.as_ref());
    } else {
        block.put_some("text", text_of(part));
    }
    block
}

/// Adds the blocks that a built line has for an item.
fn built_blocks<'g>(
    item: GatheredItem<'g>,
    blocks: &mut Vec<NativeObject<'g>>,
    file: &mut LogFile,
    out: &mut Target<'_>,
) {
    match &item.head().kind {
        ItemKind::Message | ItemKind::Notice(_) => {}
        ItemKind::Reasoning => blocks.extend(thinking_blocks(item)),
        ItemKind::ToolCall(call) => {
            let CallValues { id, name, arguments } = CallValues::built(item, call, file, out);
            let mut block = NativeObject::typed("tool_use");
            block.put_some("id", id.map(|id| api_word(&id, usize::MAX)));
            block.put("name", api_word(&name, 64)).put_some("input", arguments);
            blocks.push(block);
        }
        ItemKind::ToolResult(_) => {
            let mut block = NativeObject::typed("tool_result");
            block.put("tool_use_id", api_word(&file.call_id_of(item, out), usize::MAX));
            let parts: Vec<_> = item.parts().map(typed_part).collect();
            // One text is a string, as Claude Code writes it; anything more is a list.
            let one = if parts.is_empty() { Some(Str::default()) } else { only_text(&parts) };
            block.put("content", NativeValue::one_or_list(one, parts));
            block.put_some("is_error", item.tail().is_error);
            blocks.push(block);
        }
    }
}

/// Reasoning in several parts is several blocks.
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
        // The text was left out by whoever signed it.
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

fn typed_part<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let kind = match part {
        Part::Media(media) if media.media_type.as_ref().is_some_and(|kind| kind.is("application/pdf")) => {
            "document"
        }
        Part::Media(_) => "image",
        _ => "text",
    };
    let mut block = NativeObject::typed(kind);
    block.append(part_block(part));
    block
}

/// The text of a list of blocks that is only a text.
fn only_text<'g>(blocks: &[NativeObject<'g>]) -> Option<Str<'g>> {
    match blocks {
        [block] => match block.get("text") {
            Some(NativeValue::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// An id or a name in letters that the API takes.
fn api_word(text: &Str<'_>, most: usize) -> Str<'static> {
    wire::alias(text, Letters::Word, most).into_owned()
}

/// Gives up an id or a name of which the API would not take every letter.
fn lose_if_replaced(text: &Str<'_>, said: &Str<'_>, most: usize, field: Field, out: &mut Target<'_>) {
    if wire::alias(text, Letters::Word, most).as_escaped() != text.as_escaped() {
        out.ledger.note("id or name of a call replaced by one the API takes");
        out.lose_str(field, said, Reason::Refused);
    }
}

/// As much of the media as a block that the API takes can say; `out` learns the rest.
fn sayable<'a>(media: &'a Media<'a>, out: &mut Target<'_>) -> Result<Media<'a>, Reason> {
    let Media { media_type, source, name, .. } = media;
    let known = media_type.as_ref().map(Str::decode);
    let pdf = known.as_deref() == Some("application/pdf");
    let picture = matches!(known.as_deref(), Some("image/jpeg" | "image/png" | "image/gif" | "image/webp"));
    let guess = match (source, known.as_deref()) {
        // Each provider has its own store of files.
        (MediaSource::File(_), _) => return Err(Reason::Foreign),
        (MediaSource::Base64(_), None) => {
            out.ledger.note("picture without a type taken for a PNG");
            Some(Str::escaped("image/png"))
        }
        (MediaSource::Text(_), _) => return Err(Reason::NoSlot),
        (MediaSource::Url(_), None) => None,
        (_, Some(_)) if !pdf && !picture => return Err(Reason::Refused),
        (_, Some(_)) => None,
    };
    let media_type = match source {
        MediaSource::Url(_) if !pdf => {
            out.lose_some(Field::MediaType, media_type.as_ref(), Reason::NoSlot);
            None
        }
        MediaSource::Base64(_) | MediaSource::Url(_) | MediaSource::File(_) | MediaSource::Text(_) => {
            media_type.clone().or(guess)
        }
    };
    if !pdf {
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
    }
    let name = name.clone().filter(|_| pdf);
    Ok(Media { media_type, source: source.clone(), name, context: None, citable: None })
}
