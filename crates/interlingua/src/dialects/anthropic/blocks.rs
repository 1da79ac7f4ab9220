//! Content blocks, as the Messages API, Claude Code's logs and its live output all write them.

use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Citation, Event, Field, ItemId, ItemKind, ItemTail, Media, MediaSource, Of,
    Opaque, OpaqueKind, Part, Shape, Status, Stop, StopClass, ToolCall, ToolResult, Usage, issuers,
};
use crate::pipe::Events;
use crate::tape::{Kind, Val, WantedNames};

/// How many of the content's blocks are parts of the message itself, not items within it.
pub(crate) fn shape(content: Option<Val<'_>>) -> Shape {
    let own = |block: &Val<'_>| is_text(*block) || media_member(*block).is_some();
    match content {
        // Most lists have one block, whatever it is.
        Some(list) if list.elements().nth(1).is_some() && list.elements().filter(own).nth(1).is_some() => {
            Shape::List
        }
        _ => Shape::One,
    }
}

/// Reads a message's content: a string, or blocks. Unknown blocks stay where they are.
pub(crate) fn read_content(content: Val<'_>, message: ItemId, out: &mut Events<'_>) {
    if let Some(text) = content.take_text(Field::MessageText) {
        out.delta(message, 0, Part::Text(text));
    }
    for (number, block) in content.elements().enumerate() {
        read_block(block, number as u32, message, out);
    }
}

/// Reads one whole block of `message`, which is its part `number`.
pub(crate) fn read_block(block: Val<'_>, number: u32, message: ItemId, out: &mut Events<'_>) {
    let Some(item) = open_block(block, Extent::Whole, number, message, out) else { return };
    // Only calls have input: what another block has under that name stays where it is.
    if let Some(input) = said(block, "input").filter(|_| block.str_or_empty("type").ends_with("tool_use")) {
        out.delta(item, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
    }
    out.complete(item);
}

/// How much of a block there is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// Its beginning: pieces follow, and what is empty so far says nothing.
    Beginning,
}

/// Reads the beginning of a block, which may be all of it. Returns the item that is open now, if the block is one.
pub(super) fn open_block(
    block: Val<'_>,
    extent: Extent,
    number: u32,
    message: ItemId,
    out: &mut Events<'_>,
) -> Option<ItemId> {
    let says = |text: &Str<'_>| extent == Extent::Whole || !text.is_empty();
    let kind = block.get("type").and_then(|kind| kind.str())?;
    let kind = kind.as_escaped();
    match kind {
        // A value is claimed after its tag, and just before it is said: a writer that must give it up finds it so.
        "text" if has_str(block, &["text"]) => {
            block.note_str("type", Field::Structure);
            let text = block.take_str("text", Field::MessageText)?;
            if says(&text) {
                out.delta(message, number, Part::Text(text));
            }
            None
        }
        // A block without anything we could take is not one of ours, whatever it calls itself.
        "thinking" | "redacted_thinking" if has_str(block, &["thinking", "data"]) => {
            block.note_str("type", Field::Structure);
            Some(open_thinking(block, &says, message, out))
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use"
            if has_str(block, &["id", "name"]) || said(block, "input").is_some() =>
        {
            let mut head = out.head(ItemKind::ToolCall(call(block, kind)), Author::Assistant);
            block.note_str("type", Field::CallKind);
            head.within = Some(message);
            Some(out.start(head))
        }
        "image" | "document" => {
            let media = read_media(block, Of::Message)?;
            out.delta(message, number, Part::Media(media));
            None
        }
        // `web_search_tool_result` and its kin arrive whole and mean nothing to anyone else.
        _ if (kind == "tool_result" || kind.ends_with("_tool_result"))
            && (has_str(block, &["tool_use_id"]) || said(block, "content").is_some()) =>
        {
            block.note_str("type", Field::Structure);
            read_result(block, message, out);
            None
        }
        // Anything else keeps its bytes and its name; the report will show it.
        _ => None,
    }
}

fn open_thinking(
    block: Val<'_>,
    says: &dyn Fn(&Str<'_>) -> bool,
    message: ItemId,
    out: &mut Events<'_>,
) -> ItemId {
    let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
    head.within = Some(message);
    let item = out.start(head);
    let text = block.take_str("thinking", Field::ReasoningText);
    // A signature is one of a text; without it, it would pass for encrypted thinking.
    let signature = text.as_ref().and_then(|_| block.take_str("signature", Field::Signature));
    if let Some(text) = text.filter(says) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(value) = signature.filter(says) {
        out.delta(
            item,
            1,
            Part::Opaque(Opaque {
                kind: OpaqueKind::Signature,
                issuer: Str::escaped(issuers::ANTHROPIC),
                value,
            }),
        );
    }
    if let Some(value) = block.take_str("data", Field::Encrypted) {
        out.delta(
            item,
            1,
            Part::Opaque(Opaque {
                kind: OpaqueKind::Encrypted,
                issuer: Str::escaped(issuers::ANTHROPIC),
                value,
            }),
        );
    }
    item
}

/// The call a `tool_use` block makes, without its input.
pub(crate) fn call<'t>(block: Val<'t>, kind: &str) -> ToolCall<'t> {
    ToolCall {
        call_id: block.take_str("id", Field::CallId),
        kind: match kind {
            "server_tool_use" => CallKind::Server,
            "mcp_tool_use" => CallKind::Mcp,
            _ => CallKind::Function,
        },
        namespace: if kind == "mcp_tool_use" {
            block.take_str("server_name", Field::CallNamespace)
        } else {
            None
        },
        name: block.take_str("name", Field::CallName).unwrap_or_default(),
    }
}

fn read_result(block: Val<'_>, message: ItemId, out: &mut Events<'_>) {
    let content = said(block, "content");
    // A list of texts and media is read part by part; any other content is one JSON value.
    let list = content.is_some_and(|list| {
        list.kind() == Kind::Array
            && list.elements().all(|part| is_text(part) || media_member(part).is_some())
    });
    let result = ToolResult { call_id: block.take_str("tool_use_id", Field::ResultCallId), name: None };
    let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
    head.within = Some(message);
    head.shape = if list { Shape::List } else { Shape::One };
    let id = out.start(head);
    if let Some(content) = content {
        if let Some(text) = content.take_text(Field::ResultText) {
            out.delta(id, 0, Part::Text(text));
        } else if list {
            for (number, part) in content.elements().enumerate() {
                let value = if is_text(part) {
                    part.note_str("type", Field::Structure);
                    part.take_str("text", Field::ResultText).map(Part::Text)
                } else {
                    read_media(part, Of::Result).map(Part::Media)
                };
                if let Some(value) = value {
                    out.delta(id, number as u32, value);
                }
            }
        } else {
            out.delta(id, 0, Part::Json(content.take(Field::ResultJson)));
        }
    }
    let is_error = block.take_bool("is_error", Field::ResultIsError);
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail {
        id,
        status,
        native_status: None,
        is_error,
        exit_code: None,
        duration: None,
    }));
}

/// A member that says something: `null` and an empty list leave nothing to take.
fn said<'t>(block: Val<'t>, name: &str) -> Option<Val<'t>> {
    let empty = |val: &Val<'_>| val.kind() == Kind::Array && val.elements().next().is_none();
    block.get(name).filter(|val| !val.is_null() && !empty(val))
}

fn has_str(block: Val<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| block.get(name).is_some_and(|val| val.kind() == Kind::String))
}

fn is_text(block: Val<'_>) -> bool {
    block.get("type").is_some_and(|kind| kind.is("text")) && has_str(block, &["text"])
}

/// The member that says where the media of an `image` or `document` block is, if we can carry it.
fn media_member(block: Val<'_>) -> Option<&'static str> {
    let kind = block.get("type")?;
    let source = block.get("source").filter(|_| kind.is("image") || kind.is("document"))?;
    let place = source.get("type")?.str()?;
    let member = match place.as_escaped() {
        "base64" => "data",
        "url" => "url",
        "file" => "file_id",
        _ => return None,
    };
    has_str(source, &[member]).then_some(member)
}

/// Reads the media of a block in an item of that kind.
fn read_media(block: Val<'_>, of: Of) -> Option<Media<'_>> {
    let member = media_member(block)?;
    let source = block.get("source")?;
    block.note_str("type", Field::Structure);
    source.note_str("type", Field::Structure);
    let place = source.take_str(member, of.media())?;
    let place = match member {
        "data" => MediaSource::Base64(place),
        "url" => MediaSource::Url(place),
        _ => MediaSource::File(place),
    };
    // A document by address is always a PDF; nothing else tells it from a picture once it is media.
    let pdf =
        || block.get("type").filter(|kind| kind.is("document")).map(|_| Str::escaped("application/pdf"));
    let media_type = source.take_str("media_type", Field::MediaType).or_else(pdf);
    Some(Media {
        media_type,
        source: place,
        name: block.take_str("title", Field::MediaName),
        context: None,
        citable: None,
    })
}

/// Reads where a statement comes from. Each sort of citation has names of its own for the same things.
pub(super) fn citation(citation: Val<'_>) -> Citation<'_> {
    let text = |names: &[&str], field| names.iter().find_map(|name| citation.take_str(name, field));
    let number = |names: &[&str], field| names.iter().find_map(|name| citation.take_raw(name, field));
    Citation {
        kind: text(&["type"], Field::CitationKind),
        quote: text(&["cited_text"], Field::CitationQuote),
        title: text(&["document_title", "title"], Field::CitationTitle),
        source: text(&["url", "source"], Field::CitationSource),
        document: number(&["document_index", "search_result_index"], Field::CitationDocument),
        start: number(&["start_char_index", "start_page_number", "start_block_index"], Field::CitationStart),
        end: number(&["end_char_index", "end_page_number", "end_block_index"], Field::CitationEnd),
        state: text(&["encrypted_index"], Field::CitationState),
        from: None,
        to: None,
    }
}

/// Reads a usage object, which stays where it is.
pub(crate) fn read_usage(usage: Val<'_>) -> Usage {
    const WANTED: WantedNames<6> = WantedNames::new([
        "output_tokens_details",
        "cache_creation",
        "cache_creation_input_tokens",
        "input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    ]);
    let [details, by_age, written, input, cache_read, output] = usage.find(&WANTED);
    let note = |count: Option<Val<'_>>, field| count.and_then(|count| count.note_count(field));
    let thinking = details.and_then(|details| details.note_u64("thinking_tokens", Field::UsageReasoning));
    let long = by_age.and_then(|ages| ages.note_u64("ephemeral_1h_input_tokens", Field::UsageCacheWriteLong));
    let short = by_age.and_then(|ages| ages.get("ephemeral_5m_input_tokens")).filter(|n| n.u64().is_some());
    let written = note(written, Field::UsageCacheWrite);
    let by_ages = short.and_then(|short| short.u64()?.checked_add(long.unwrap_or(0)));
    // The sum and its parts say the same; a part that does not fit stays where it is.
    if let Some(short) = short.filter(|_| by_ages.is_some() && written.is_none_or(|sum| Some(sum) == by_ages))
    {
        short.note(Field::UsageCacheWrite);
    }
    Usage {
        input: note(input, Field::UsageInput),
        cache_read: note(cache_read, Field::UsageCacheRead),
        cache_write: written.or(by_ages).or(long),
        cache_write_long: long,
        output: note(output, Field::UsageOutput),
        reasoning: thinking,
        ..Usage::default()
    }
}

/// Our word for a stop reason.
pub(crate) fn stop<'t>(raw: Str<'t>, sequence: Option<Str<'t>>) -> Stop<'t> {
    let class = match raw.as_escaped() {
        "end_turn" => StopClass::End,
        "stop_sequence" => StopClass::Sequence,
        "tool_use" => StopClass::ToolUse,
        "max_tokens" => StopClass::MaxTokens,
        "model_context_window_exceeded" => StopClass::ContextFull,
        "pause_turn" => StopClass::Paused,
        "refusal" => StopClass::Refusal,
        _ => StopClass::Other,
    };
    Stop { class, raw: Some(raw), sequence, detail: None }
}
