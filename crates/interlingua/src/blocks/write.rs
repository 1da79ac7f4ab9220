//! Gathered items to the blocks of a log, for kept frames and for built frames.

use crate::json::Str;
use crate::log::{CallValues, GatheredContent, GatheredItem, LogBuilder, NativeObject, NativeValue, text_of};
use crate::model::{ItemKind, Media, MediaSource, Opaque, OpaqueKind, Part, ToolCall};

/// The names of a call's block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallNames {
    /// The `type` of the block.
    pub(crate) kind: &'static str,
    /// The member with the arguments.
    pub(crate) arguments: &'static str,
}

impl CallNames {
    /// The names of Anthropic's API.
    pub(crate) const API: CallNames = CallNames { kind: "tool_use", arguments: "input" };
}

/// The blocks of an item in the form of the API. `log` is the builder of a built frame, or `None` for a kept frame.
pub(crate) fn blocks_of<'g>(
    item: GatheredItem<'g>,
    mut log: Option<&mut LogBuilder<'_, '_>>,
) -> Vec<NativeObject<'g>> {
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
            ItemKind::Reasoning => {
                let texts = item.parts().filter_map(text_of).map(NativeValue::Text).collect();
                blocks.extend(thinking_blocks(item, texts, log.is_some()));
            }
            ItemKind::ToolCall(call) => blocks.push(api_call(item, call, log.as_deref_mut())),
            ItemKind::ToolResult(_) => blocks.push(result_block(item, log.as_deref_mut())),
        }
    }
    blocks
}

/// The block of a text, or of another part as text; `None` for a part without text.
pub(crate) fn text_block<'g>(part: &'g Part<'_>) -> Option<NativeObject<'g>> {
    let mut block = NativeObject::typed("text");
    block.put("text", text_of(part)?);
    Some(block)
}

/// The block of a part in the form of the API.
fn part_block<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let Part::Media(Media { media_type, source, name, context: _, citable: _, detail: _ }) = part else {
        return text_block(part).unwrap_or_else(|| NativeObject::typed("text"));
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

/// The block of a call.
pub(crate) fn call_block<'g>(
    item: GatheredItem<'g>,
    call: &'g ToolCall<'static>,
    names: CallNames,
    log: Option<&mut LogBuilder<'_, '_>>,
) -> NativeObject<'g> {
    let mut block = NativeObject::typed(names.kind);
    put_call(&mut block, CallValues::new(item, call, log), names.arguments);
    block
}

fn put_call<'g>(block: &mut NativeObject<'g>, values: CallValues<'g>, arguments_name: &'static str) {
    let CallValues { id, name, arguments } = values;
    block.put_some("id", id).put("name", name).put_some(arguments_name, arguments);
}

/// The block of a call in the form of the API, with the namespace of a kept frame.
fn api_call<'g>(
    item: GatheredItem<'g>,
    call: &'g ToolCall<'static>,
    log: Option<&mut LogBuilder<'_, '_>>,
) -> NativeObject<'g> {
    let built = log.is_some();
    let mut block = NativeObject::typed(CallNames::API.kind);
    if !built {
        block.put_some("server_name", call.namespace.as_ref());
    }
    put_call(&mut block, CallValues::new(item, call, log), CallNames::API.arguments);
    block
}

fn result_block<'g>(item: GatheredItem<'g>, log: Option<&mut LogBuilder<'_, '_>>) -> NativeObject<'g> {
    let mut block = NativeObject::typed("tool_result");
    let said = |part: &&Part<'_>| !matches!(part, Part::File(_));
    let parts: Vec<_> = item.parts().filter(said).map(part_block).collect();
    let one = if let Some(log) = log {
        block.put("tool_use_id", log.answered(item).0);
        // A single text is a string, as the programs write it; other content is a list.
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

/// The blocks of a reasoning item: one block for each of the `texts`, then the encrypted state. In a kept frame each
/// reasoning item was read from one block.
pub(crate) fn thinking_blocks<'g>(
    item: GatheredItem<'g>,
    mut texts: Vec<NativeValue<'g>>,
    built: bool,
) -> Vec<NativeObject<'g>> {
    let state = |wanted| {
        item.parts().find_map(|part| match part {
            Part::Opaque(Opaque { kind, value, .. }) if *kind == wanted => Some(value),
            _ => None,
        })
    };
    let signature = state(OpaqueKind::Signature);
    if texts.is_empty() && signature.is_some() {
        // The issuer left the signed text out.
        texts.push(Str::default().into());
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
    if !built {
        let mut one = NativeObject::new();
        for block in blocks {
            one.append(block);
        }
        return vec![one];
    }
    blocks
}

/// The pieces of a string with the texts of several parts and a blank line between two texts.
pub(crate) fn joined_texts<'g>(parts: impl Iterator<Item = &'g Part<'static>>) -> Vec<Str<'g>> {
    let mut texts = Vec::new();
    for text in parts.filter_map(text_of) {
        if !texts.is_empty() {
            texts.push(Str::escaped("\\n\\n"));
        }
        texts.push(text);
    }
    texts
}

/// The text, if the list is a single text block.
pub(crate) fn only_text<'g>(blocks: &[NativeObject<'g>]) -> Option<Str<'g>> {
    match blocks {
        [block] => match block.get("text") {
            Some(NativeValue::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}
