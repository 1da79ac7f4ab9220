//! The content of items while they are open: item.completed repeats everything the deltas said, so it is held here,
//! bounded by the item.

use crate::json::JsonBuffer;
use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::model::{
    Args, CallKind, FileRef, ItemId, Media, MediaSource, Neutral as _, Opaque, OpaqueKind, Part, Spelling,
    ToolCall,
};

/// One content part.
pub(super) struct Piece {
    /// The item it came for (reasoning is a part of its message) and the number it had there.
    from: (ItemId, u32),
    form: Form,
    /// Escaped text, or a JSON value.
    text: String,
    /// State of the issuer that stands beside reasoning.
    state: Option<State>,
}

struct State {
    part: u32,
    kind: OpaqueKind,
    issuer: Str<'static>,
    value: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Refusal,
    Reasoning,
    Summary,
    Arguments,
    Output,
    OutputJson,
    Json,
    Citation,
    /// The text is the part.
    Ready,
}

/// What an item is, as far as its parts need to know.
pub(super) enum Nature {
    Message,
    Reasoning,
    Call(ToolCall<'static>),
    Result { call_id: Option<Str<'static>>, name: Option<Str<'static>> },
    Status { label: Str<'static> },
}

/// Adds a part, or a piece to one. Returns its index and form if it is text that a delta can show.
pub(super) fn add(
    parts: &mut Vec<Piece>,
    nature: &Nature,
    from: (ItemId, u32),
    value: &Part<'_>,
) -> Option<(usize, Form)> {
    let result = matches!(nature, Nature::Result { .. });
    let reasoning = matches!(nature, Nature::Reasoning);
    let (form, text) = match value {
        Part::Text(text) if result => (Form::Output, text.reborrow()),
        Part::Text(text) if reasoning => (Form::Reasoning, text.reborrow()),
        Part::Text(text) => (Form::Text, text.reborrow()),
        Part::Summary(text) => (Form::Summary, text.reborrow()),
        Part::Refusal(text) => (Form::Refusal, text.reborrow()),
        Part::Args(Args::Text(text)) => (Form::Arguments, text.reborrow()),
        Part::Args(Args::Json(json)) => (Form::Arguments, Str::plain(json.as_str())),
        Part::Json(json) if result => (Form::OutputJson, Str::plain(json.as_str())),
        Part::Json(json) => (Form::Json, Str::escaped(json.as_str())),
        Part::Citation(citation) => {
            let mut state = JsonBuffer::default();
            citation.write(Spelling::Snake, &mut state.hold());
            (Form::Citation, Str::escaped(state.held()).into_owned())
        }
        Part::Media(media) => return ready(parts, from, |json| put_media(media, json)),
        Part::File(FileRef { path, action, diff }) => {
            return ready(parts, from, |json| {
                json.object().key("type").literal("file_ref").key("path").str(path).key("action").str(action);
                json.opt_str("diff", diff.as_ref()).end_object();
            });
        }
        Part::Cache(_) => return None,
        Part::Opaque(opaque) => {
            add_opaque(parts, from, opaque);
            return None;
        }
    };
    // Text grows; a JSON value comes whole.
    let grows = !matches!(form, Form::Json | Form::Citation | Form::OutputJson);
    let known = parts.iter().rposition(|part| grows && part.from == from && part.form == form);
    let at = known.unwrap_or_else(|| {
        parts.push(Piece { from, form, text: String::new(), state: None });
        parts.len() - 1
    });
    parts.get_mut(at)?.text.push_str(text.as_escaped());
    Some((at, form))
}

fn ready(
    parts: &mut Vec<Piece>,
    from: (ItemId, u32),
    write: impl FnOnce(&mut JsonWriter<'_>),
) -> Option<(usize, Form)> {
    let mut state = JsonBuffer::default();
    write(&mut state.hold());
    parts.push(Piece { from, form: Form::Ready, text: state.held().to_owned(), state: None });
    None
}

/// Adds state to the reasoning it belongs to, or a piece to state that is there.
fn add_opaque(parts: &mut Vec<Piece>, from: (ItemId, u32), opaque: &Opaque<'_>) {
    let Opaque { kind, issuer, value } = opaque;
    let (item, part) = from;
    let own = || parts.iter().enumerate().rev().filter(|(_, piece)| piece.from.0 == item);
    let same = |piece: &Piece| {
        piece
            .state
            .as_ref()
            .is_some_and(|state| state.part == part && state.kind == *kind && state.issuer == *issuer)
    };
    let bare = |piece: &Piece| piece.state.is_none() && matches!(piece.form, Form::Reasoning | Form::Summary);
    let known = own().find(|(_, piece)| same(piece)).or_else(|| own().find(|(_, piece)| bare(piece)));
    let known = known.map(|(at, _)| at);
    let at = known.unwrap_or_else(|| {
        // The text it belongs to may still come, as part 0.
        let from = (item, 0);
        parts.push(Piece { from, form: Form::Reasoning, text: String::new(), state: None });
        parts.len() - 1
    });
    if let Some(piece) = parts.get_mut(at) {
        let state = State { part, kind: *kind, issuer: issuer.clone().into_owned(), value: String::new() };
        piece.state.get_or_insert(state).value.push_str(value.as_escaped());
    }
}

/// Writes the content of an item: what its nature says in any case, then its parts.
pub(super) fn write(nature: &Nature, parts: &[Piece], complete: bool, json: &mut JsonWriter<'_>) {
    json.array();
    let mut parts = parts;
    match nature {
        Nature::Call(call) if !parts.iter().any(|part| part.form == Form::Arguments) => {
            put_call(call, if complete { "{}" } else { "" }, json);
        }
        Nature::Result { call_id, name } if !parts.iter().any(|part| is_output(part.form)) => {
            put_output(call_id.as_ref(), name.as_ref(), Form::Output, "", json);
        }
        Nature::Status { label } => {
            json.object().key("type").literal("status").key("label").str(label);
            if let Some((Piece { form: Form::Text, text, .. }, others)) = parts.split_first() {
                json.key("detail").literal(text);
                parts = others;
            }
            json.end_object();
        }
        Nature::Message | Nature::Reasoning | Nature::Call(_) | Nature::Result { .. } => {}
    }
    for Piece { from: _, form, text, state } in parts {
        match (form, nature) {
            (Form::Arguments, Nature::Call(call)) => put_call(call, text, json),
            (Form::Output | Form::OutputJson, Nature::Result { call_id, name }) => {
                put_output(call_id.as_ref(), name.as_ref(), *form, text, json);
            }
            (Form::Text | Form::Refusal | Form::Arguments | Form::Output | Form::OutputJson, _) => {
                json.object().key("type").literal("text").key("text").literal(text);
                if *form == Form::Refusal {
                    json.key("refusal").bool(true);
                }
                json.end_object();
            }
            (Form::Reasoning | Form::Summary, _) => {
                let visible = if text.is_empty() && state.is_some() { "private" } else { "public" };
                json.object().key("type").literal("reasoning").key("text").literal(text);
                json.key("visibility").literal(visible);
                if *form == Form::Summary {
                    json.key("summary").bool(true);
                }
                if let Some(State { part: _, kind, issuer, value }) = state {
                    let name = match kind {
                        OpaqueKind::Signature => "signature",
                        OpaqueKind::Encrypted => "encrypted",
                    };
                    json.key(name).literal(value).key("issuer").str(issuer);
                }
                json.end_object();
            }
            (Form::Json | Form::Citation, _) => {
                json.object().key("type").literal("json").key("json").raw(&Raw::new(text).one_line());
                if *form == Form::Citation {
                    json.key("citation").bool(true);
                }
                json.end_object();
            }
            (Form::Ready, _) => {
                json.raw(&Raw::new(text));
            }
        }
    }
    json.end_array();
}

const fn is_output(form: Form) -> bool {
    matches!(form, Form::Output | Form::OutputJson)
}

pub(super) const CALL_KINDS: &[(CallKind, &str)] = &[
    (CallKind::Function, "function"),
    (CallKind::FreeText, "free_text"),
    (CallKind::Vendor, "vendor"),
    (CallKind::Server, "server"),
    (CallKind::Mcp, "mcp"),
];

fn put_call(call: &ToolCall<'_>, arguments: &str, json: &mut JsonWriter<'_>) {
    let ToolCall { call_id, kind, namespace, name } = call;
    json.object().key("type").literal("tool_call").key("name").str(name).key("arguments").literal(arguments);
    match call_id {
        Some(id) => json.key("call_id").str(id),
        None => json.key("call_id").null(),
    };
    json.opt_str("namespace", namespace.as_ref());
    if *kind != CallKind::Function {
        json.key("call_kind").literal(super::word(CALL_KINDS, *kind));
    }
    json.end_object();
}

fn put_output(
    call_id: Option<&Str<'_>>,
    name: Option<&Str<'_>>,
    form: Form,
    output: &str,
    json: &mut JsonWriter<'_>,
) {
    json.object().key("type").literal("tool_result");
    match call_id {
        Some(id) => json.key("call_id").str(id),
        None => json.key("call_id").null(),
    };
    json.key("output").literal(output).opt_str("name", name);
    if form == Form::OutputJson {
        json.key("encoding").literal("json");
    }
    json.end_object();
}

fn put_media(media: &Media<'_>, json: &mut JsonWriter<'_>) {
    let Media { media_type, source, name, .. } = media;
    let image = media_type.as_ref().is_none_or(|kind| kind.as_escaped().starts_with("image/"));
    let path = if let MediaSource::Url(url) = source { url.reborrow() } else { Str::default() };
    json.object().key("type").literal(if image { "image" } else { "file_ref" }).key("path").str(&path);
    if !image {
        json.key("action").literal("read");
    }
    json.opt_str("mime", media_type.as_ref()).opt_str("name", name.as_ref());
    match source {
        MediaSource::Base64(data) => json.key("data").str(data),
        MediaSource::File(id) => json.key("file_id").str(id),
        MediaSource::Text(text) => json.key("text").str(text),
        MediaSource::Url(_) => json.key("url").bool(true),
    };
    json.end_object();
}
