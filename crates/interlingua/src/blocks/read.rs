//! Blocks to events.

use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Citation, Field, FileRef, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail,
    Media, MediaSource, Opaque, OpaqueKind, Part, Shape, Status, ToolCall, ToolResult, issuers,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member, Val, WantedNames};
use crate::wire::is_blank;
use crate::wire::settings::{CacheWords, PART_MARK};

/// The member that marks a block as a cache breakpoint.
pub(crate) const CACHE: CacheWords =
    CacheWords { name: "cache_control", kind: ("type", "ephemeral"), lifetimes: &["5m", "1h"] };

/// `List` if more than one block is a part of the message itself and not an item within it.
pub(crate) fn shape(content: Option<Val<'_>>) -> Shape {
    let own = |block: &Val<'_>| match block.str_or_empty("type") {
        "text" => is_str(block.get("text")),
        "image" | "document" | "search_result" => media_place(*block).is_some(),
        _ => false,
    };
    match content {
        // Most lists have a single block, so count to two before looking at the types.
        Some(list) if list.elements().nth(1).is_some() && list.elements().filter(own).nth(1).is_some() => {
            Shape::List
        }
        _ => Shape::One,
    }
}

/// Reads a message's content: a string, or blocks. Unknown blocks are left unclaimed.
pub(crate) fn read_content(content: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
    if let Some(text) = content.take_text(Field::MessageText) {
        return out.delta(message, 0, Part::Text(text));
    }
    for (number, block) in content.elements().enumerate() {
        out.within(block, |out| read_block(block, number as u32, message, out));
    }
}

/// Reads one whole block as part `number` of `message`.
pub(crate) fn read_block(block: Val<'_>, number: u32, message: ItemId, out: &mut EventSink<'_>) {
    read_members(block, &block.find(&MEMBERS), number, message, out);
}

fn read_members(
    block: Val<'_>,
    members: &BlockMembers<'_>,
    number: u32,
    message: ItemId,
    out: &mut EventSink<'_>,
) {
    let Some(item) = open_members(block, members, Extent::Whole, number, message, out) else { return };
    let [kind, .., input, mark] = *members;
    // Only calls have input; a member named `input` of any other block is left unclaimed.
    let is_call =
        || kind.and_then(|kind| kind.str()).is_some_and(|kind| kind.as_escaped().ends_with("tool_use"));
    if let Some(input) = said(input).filter(|_| is_call()) {
        out.delta(item, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
    }
    read_mark(mark, item, 0, out);
    out.complete(item);
}

/// Members of the common block types.
const MEMBERS: WantedNames<9> = WantedNames::new([
    "type",
    "text",
    "id",
    "name",
    "tool_use_id",
    "content",
    "is_error",
    "input",
    CACHE.name,
]);

type BlockMembers<'t> = [Option<Val<'t>>; 9];

/// Details of a tool result that a log holds outside the result's block.
#[derive(Default)]
pub(crate) struct ResultDetail<'t> {
    pub(crate) exit_code: Option<i64>,
    /// In milliseconds.
    pub(crate) duration: Option<u64>,
    /// Set if the tool was stopped before it finished.
    pub(crate) interrupted: bool,
    /// Set if the tool failed, whatever its block says.
    pub(crate) failed: bool,
    /// The agent's own word for the status.
    pub(crate) status: Option<Str<'t>>,
    /// The subagent that produced the result.
    pub(crate) agent: Option<Str<'t>>,
    /// The file that was read or changed.
    pub(crate) file: Option<FileRef<'t>>,
}

/// Reads a whole block; if it is a tool result, `detail` is added to the item.
pub(crate) fn read_result_block(
    block: Val<'_>,
    number: u32,
    message: ItemId,
    detail: ResultDetail<'_>,
    out: &mut EventSink<'_>,
) {
    let members = &block.find(&MEMBERS);
    let [tag, _, _, _, answers, ..] = *members;
    if is_str(answers) {
        tag.note_text(Field::Structure);
        read_result(members, message, detail, out);
    } else {
        read_members(block, members, number, message, out);
    }
}

/// Whether a block is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The complete block.
    Whole,
    /// The start of a streamed block: deltas follow, so empty strings are skipped.
    Beginning,
}

/// Reads a whole block or the start of one. Returns the item that is now open, if the block is an item.
pub(crate) fn open_block(
    block: Val<'_>,
    extent: Extent,
    number: u32,
    message: ItemId,
    out: &mut EventSink<'_>,
) -> Option<ItemId> {
    open_members(block, &block.find(&MEMBERS), extent, number, message, out)
}

fn open_members(
    block: Val<'_>,
    members: &BlockMembers<'_>,
    extent: Extent,
    number: u32,
    message: ItemId,
    out: &mut EventSink<'_>,
) -> Option<ItemId> {
    let [tag, text, id, name, answers, content, _, input, mark] = *members;
    let support = |text: &Str<'_>| extent == Extent::Whole || !text.is_empty();
    let tag = tag?;
    let kind = tag.str()?;
    let kind = kind.as_escaped();
    match kind {
        // Claim the value after its tag and just before the event: a writer that drops the value looks up the last
        // claim.
        "text" if is_str(text) => {
            tag.note(Field::Structure);
            let text = text?.take_text(Field::MessageText)?;
            if support(&text) {
                match extent {
                    Extent::Whole => out.delta(message, number, Part::Text(text)),
                    Extent::Beginning => out.piece(message, number, Part::Text(text)),
                }
            }
            for source in block.get("citations").into_iter().flat_map(|list| list.elements()) {
                out.delta(message, number, Part::Citation(citation(source)));
            }
            read_mark(mark, message, number, out);
            None
        }
        // A thinking block without a string to take is unknown, whatever its type.
        "thinking" | "redacted_thinking" if is_str(block.get("thinking")) || is_str(block.get("data")) => {
            tag.note(Field::Structure);
            Some(open_thinking(block, &support, message, out))
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use"
            if is_str(id) || is_str(name) || said(input).is_some() =>
        {
            let call = named_call(block, id, name, kind);
            let head = out.head(ItemKind::ToolCall(call), Author::Assistant);
            tag.note(Field::CallKind);
            Some(out.start(ItemHead { within: Some(message), ..head }))
        }
        "image" | "document" | "search_result" => {
            let media = read_media(block, ItemKindTag::Message)?;
            out.delta(message, number, Part::Media(media));
            read_mark(mark, message, number, out);
            None
        }
        // `web_search_tool_result` and similar blocks arrive whole, with content specific to Anthropic.
        _ if (kind == "tool_result" || kind.ends_with("_tool_result"))
            && (is_str(answers) || said(content).is_some()) =>
        {
            tag.note(Field::Structure);
            read_result(members, message, ResultDetail::default(), out);
            None
        }
        // An unknown block keeps its bytes and its type; the report lists it.
        _ => None,
    }
}

fn open_thinking(
    block: Val<'_>,
    support: &dyn Fn(&Str<'_>) -> bool,
    message: ItemId,
    out: &mut EventSink<'_>,
) -> ItemId {
    let head = out.head(ItemKind::Reasoning, Author::Assistant);
    let item = out.start(ItemHead { within: Some(message), ..head });
    let text = block.take_str("thinking", Field::ReasoningText);
    // A signature belongs to a text. Without the text it would be read as encrypted thinking.
    let signature = text.as_ref().and_then(|_| take_opaque(block, "signature", OpaqueKind::Signature));
    if let Some(text) = text.filter(support) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(opaque) = signature.filter(|opaque| support(&opaque.value)) {
        out.delta(item, 1, Part::Opaque(opaque));
    }
    if let Some(opaque) = take_opaque(block, "data", OpaqueKind::Encrypted) {
        out.delta(item, 1, Part::Opaque(opaque));
    }
    item
}

/// Prefix of opaque state from another issuer, which a client of this API received and will send back. The issuer's
/// name, a colon and the state follow.
const CARRIED: &str = "interlingua:";

/// Takes opaque state, which only its issuer can read.
pub(crate) fn take_opaque<'t>(block: Val<'t>, name: &str, kind: OpaqueKind) -> Option<Opaque<'t>> {
    let val = block.get(name)?;
    val.take_text(kind.field())?;
    let text = val.text();
    let text = text.get(1..text.len() - 1).unwrap_or_default();
    let carried = text.strip_prefix(CARRIED).and_then(|rest| rest.split_once(':'));
    let (issuer, value) = carried.unwrap_or((issuers::ANTHROPIC, text));
    Some(Opaque { kind, issuer: Str::escaped(issuer), value: Str::escaped(value) })
}

/// Opaque state in its written form; the inverse of [`take_opaque`].
pub(crate) fn carried<'a>(opaque: &'a Opaque<'_>) -> Str<'a> {
    let Opaque { kind: _, issuer, value } = opaque;
    if issuer.is(issuers::ANTHROPIC) {
        return value.reborrow();
    }
    let mut carried = Str::escaped(CARRIED).into_owned();
    carried.push(issuer);
    carried.push(&Str::escaped(":"));
    carried.push(value);
    carried
}

/// Reads a block's cache breakpoint.
fn read_mark(mark: Option<Val<'_>>, item: ItemId, part: u32, out: &mut EventSink<'_>) {
    if let Some(mark) = mark.and_then(|mark| CACHE.read(mark, PART_MARK)) {
        out.delta(item, part, Part::Cache(mark));
    }
}

/// The call in a `tool_use` block, without its input.
pub(crate) fn call<'t>(block: Val<'t>, kind: &str) -> ToolCall<'t> {
    let [id, name] = block.get_all(["id", "name"]);
    named_call(block, id, name, kind)
}

fn named_call<'t>(block: Val<'t>, id: Option<Val<'t>>, name: Option<Val<'t>>, kind: &str) -> ToolCall<'t> {
    ToolCall {
        call_id: id.take_text(Field::CallId),
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
        name: name.take_text(Field::CallName).unwrap_or_default(),
    }
}

fn read_result(
    members: &BlockMembers<'_>,
    message: ItemId,
    detail: ResultDetail<'_>,
    out: &mut EventSink<'_>,
) {
    let ResultDetail { exit_code, duration, interrupted, failed, status: native_status, agent, file } =
        detail;
    let [.., call, content, is_error, _, mark] = *members;
    let content = said(content);
    // A list of texts and media is read part by part; any other content becomes a single JSON part.
    let list = content.is_some_and(|list| {
        list.kind() == Kind::Array && list.elements().all(|part| is_text(part) || media_place(part).is_some())
    });
    let result = ToolResult { call_id: call.take_text(Field::ResultCallId), name: None };
    let head = out.head(ItemKind::ToolResult(result), Author::Tool);
    let shape = if list { Shape::List } else { Shape::One };
    let id = out.start(ItemHead { within: Some(message), shape, agent, ..head });
    let mut number = 0;
    if let Some(content) = content {
        if let Some(text) = content.take_text(Field::ResultText) {
            out.delta(id, 0, Part::Text(text));
        } else if list {
            for (place, part) in content.elements().enumerate() {
                let value = if is_text(part) {
                    part.note_str("type", Field::Structure);
                    part.take_str("text", Field::ResultText).map(Part::Text)
                } else {
                    read_media(part, ItemKindTag::Result).map(Part::Media)
                };
                number = place as u32;
                if let Some(value) = value {
                    out.within(part, |out| {
                        out.delta(id, number, value);
                        read_mark(part.get(CACHE.name), id, number, out);
                    });
                }
            }
        } else {
            out.delta(id, 0, Part::Json(content.take(Field::ResultJson)));
        }
    }
    // A cache breakpoint on the result applies to its last part.
    read_mark(mark, id, number, out);
    let is_error = is_error.and_then(|flag| flag.bool().inspect(|_| _ = flag.take(Field::ResultIsError)));
    let status = match is_error {
        _ if interrupted => Status::Interrupted,
        _ if failed => Status::Failed,
        Some(true) => Status::Failed,
        Some(false) | None => Status::Completed,
    };
    if let Some(file) = file {
        out.delta(id, number + 1, Part::File(file));
    }
    out.end(ItemTail { native_status, is_error, exit_code, duration, ..ItemTail::new(id, status) });
}

/// The member, unless it is `null` or an empty list: neither holds a value to take.
fn said(member: Option<Val<'_>>) -> Option<Val<'_>> {
    member.filter(|val| !is_blank(*val))
}

fn is_str(member: Option<Val<'_>>) -> bool {
    member.is_some_and(|val| val.kind() == Kind::String)
}

fn is_text(block: Val<'_>) -> bool {
    let [kind, text] = block.get_all(["type", "text"]);
    kind.is_some_and(|kind| kind.is("text")) && is_str(text)
}

/// The kind of source of an `image`, `document` or `search_result` block and the value that holds the media or its
/// address, if the model supports it.
fn media_place(block: Val<'_>) -> Option<(&'static str, Val<'_>)> {
    let kind = block.get("type")?;
    if kind.is("search_result") {
        return Some(("texts", texts_in(block)?));
    }
    let source = block.get("source").filter(|_| kind.is("image") || kind.is("document"))?;
    let place = source.get("type")?.str()?;
    let (place, value) = match place.as_escaped() {
        "base64" => ("base64", source.get("data")?),
        "url" => ("url", source.get("url")?),
        "file" => ("file", source.get("file_id")?),
        "text" => ("text", source.get("data")?),
        "content" => {
            let content = source.get("content")?;
            let mut parts = content.elements();
            match (parts.next(), parts.next()) {
                (Some(only), None) if is_text(only) => ("content", only.get("text")?),
                (None, _) => ("content", content),
                (Some(_), _) => return Some(("texts", texts_in(source)?)),
            }
        }
        _ => return None,
    };
    Some((place, value)).filter(|_| value.kind() == Kind::String)
}

/// The content of a document or a search result, if it is a non-empty list of texts.
fn texts_in(holder: Val<'_>) -> Option<Val<'_>> {
    let content = holder.get("content").filter(|content| content.kind() == Kind::Array)?;
    content.elements().all(is_text).then_some(content).filter(|content| content.elements().next().is_some())
}

/// Joins the texts of one document.
fn joined_texts(content: Val<'_>, field: Field) -> Str<'static> {
    let mut joined = String::new();
    for part in content.elements() {
        part.note_str("type", Field::Structure);
        if let Some(text) = part.note_str("text", field) {
            if !joined.is_empty() {
                joined.push_str("\n\n");
            }
            joined.push_str(&text.decode());
        }
    }
    Str::from_plain(&joined)
}

/// Reads the media of a block; `of` is the kind of item that holds the block.
fn read_media(block: Val<'_>, of: ItemKindTag) -> Option<Media<'_>> {
    let (place, value) = media_place(block)?;
    let source = block.get("source")?;
    block.note_str("type", Field::Structure);
    if block.get("type").is_some_and(|kind| kind.is("search_result")) {
        let mut media = Media::new(None, MediaSource::Text(joined_texts(value, of.media())));
        media.name = block.note_str("title", Field::MediaName);
        media.context = block.note_str("source", Field::MediaContext);
        let enabled = block.get("citations").and_then(|citations| citations.get("enabled"));
        media.citable = enabled.and_then(|flag| flag.bool().inspect(|_| _ = flag.note(Field::MediaCitable)));
        return Some(media);
    }
    source.note_str("type", Field::Structure);
    if let Some(part) = source.get("content").and_then(|content| content.elements().next()) {
        part.note_str("type", Field::Structure);
    }
    let said = match place {
        "text" | "content" => MediaSource::Text(value.note_text(of.media())?),
        "texts" => MediaSource::Text(joined_texts(value, of.media())),
        "base64" => MediaSource::Base64(value.take_text(of.media())?),
        "url" => MediaSource::Url(value.take_text(of.media())?),
        _ => MediaSource::File(value.take_text(of.media())?),
    };
    // A document at a URL is always a PDF. In the model, only the media type distinguishes a document from a picture.
    let is_document = block.get("type").is_some_and(|kind| kind.is("document"));
    let pdf = || {
        Some(Str::escaped("application/pdf"))
            .filter(|_| is_document && !["content", "texts"].contains(&place))
    };
    let media_type = match place {
        "text" => source.note_str("media_type", Field::MediaType),
        _ => source.take_str("media_type", Field::MediaType).or_else(pdf),
    };
    let mut media = Media::new(media_type, said);
    media.name = block.take_str("title", Field::MediaName);
    if is_document {
        media.context = block.note_str("context", Field::MediaContext);
        let enabled = block.get("citations").and_then(|citations| citations.get("enabled"));
        media.citable = enabled.and_then(|flag| flag.bool().inspect(|_| _ = flag.note(Field::MediaCitable)));
    }
    Some(media)
}

/// Reads a citation and leaves its members in place. Each citation type has its own names for the same values.
pub(crate) fn citation(citation: Val<'_>) -> Citation<'_> {
    let text = |names: &[&str], field| names.iter().find_map(|name| citation.note_str(name, field));
    let number = |names: &[&str], field: Field| {
        let found = names.iter().find_map(|name| citation.get(name).filter(|val| !val.is_null()));
        found.map(|val| val.note(field))
    };
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
