//! Reads the parts of a completed item.

use super::note_if;
use super::read::{ReadItem, flag};
use crate::json::{Raw, Str};
use crate::model::{
    Args, CacheMark, Citation, Field, FileRef, ItemId, ItemKindTag, Media, MediaSource, Neutral as _, Opaque,
    OpaqueKind, Part, Spelling,
};
use crate::pipe::EventSink;
use crate::tape::{Claim, Limits, TapeBuf, Val};

pub(super) fn read_reasoning(open: &mut ReadItem, number: u64, part: Val<'_>, out: &mut EventSink<'_>) {
    part.note_str("type", Field::Structure);
    let id = open.reasoning(number, out);
    let summary = flag(part, "summary", Field::ReasoningSummary);
    let field = if summary { Field::ReasoningSummary } else { Field::ReasoningText };
    let state = [OpaqueKind::Signature, OpaqueKind::Encrypted]
        .into_iter()
        .find(|kind| part.get(kind.word()).is_some());
    let said = open.said.get(&number);
    if let Some((val, text)) = part.get("text").and_then(|val| Some((val, val.str()?))) {
        match said {
            Some(said) if text.as_escaped() == said => drop(val.take(field)),
            // The text differs from the deltas.
            Some(_) => {}
            // Encrypted reasoning has an empty text.
            None if text.is_empty() && state.is_some() => drop(val.note(Field::Structure)),
            None => {
                val.take(field);
                out.delta(id, 0, if summary { Part::Summary(text) } else { Part::Text(text) });
            }
        }
    }
    // A delta that held the part whole has emitted its state.
    let is_new = |kind: &OpaqueKind| part.get(kind.word()).is_some_and(|val| val.claimed() == Claim::Free);
    let state = state.filter(is_new);
    let state = state.and_then(|kind| Some((kind, part.take_str(kind.word(), kind.field())?)));
    if let Some((kind, value)) = state {
        let issuer = part.take_str("issuer", Field::Issuer).unwrap_or(Str::escaped(UNKNOWN));
        out.delta(id, 1, Part::Opaque(Opaque { kind, issuer, value }));
    }
    read_marks(part, (id, 0), out);
}

/// Emits the marks of a part.
pub(super) fn read_marks(part: Val<'_>, (item, number): (ItemId, u32), out: &mut EventSink<'_>) {
    for citation in part.get("citations").into_iter().flat_map(|citations| citations.elements()) {
        if let Some(citation) = Citation::read(citation, Field::Structure, Spelling::Snake) {
            out.delta(item, number, Part::Citation(citation));
        }
    }
    if let Some(mark) = part.get("cache").and_then(CacheMark::read_on_part) {
        out.delta(item, number, Part::Cache(mark));
    }
}

/// The issuer of state without an issuer; a writer never sends state of this issuer.
const UNKNOWN: &str = "unknown";

/// Notes a part equal to its deltas; a different text is left unclaimed.
pub(super) fn repeat_part(of: ItemKindTag, part: Val<'_>, said: &str) {
    let refused = flag(part, "refusal", Field::Refusal);
    let texts = [
        ("text", if refused { Field::Refusal } else { of.text() }),
        ("arguments", Field::CallArgs),
        ("output", Field::ResultText),
    ];
    for (name, field) in texts {
        if part.get(name).and_then(|val| val.str()).is_some_and(|text| text.as_escaped() == said) {
            part.note_str(name, field);
        }
    }
    for kind in ["text", "tool_call", "tool_result"] {
        note_if(part, "type", kind);
    }
}

/// Reads a part that had no delta.
pub(super) fn read_part(of: ItemKindTag, part: Val<'_>) -> Option<Part<'_>> {
    let text = |name: &str| part.get(name).and_then(|val| val.str());
    let value = match part.str_or_empty("type") {
        "text" => {
            let text = text("text")?;
            let refused = flag(part, "refusal", Field::Refusal);
            part.take_str("text", if refused { Field::Refusal } else { of.text() });
            if refused { Part::Refusal(text) } else { Part::Text(text) }
        }
        "json" => {
            let json = part.get("json")?;
            let is_mark = part.get("citations").is_some() || part.get("cache").is_some();
            if json.is_null() && is_mark {
                json.note(Field::Structure);
                part.note_str("type", Field::Structure);
                return None;
            }
            Part::Json(json.take(of.json()))
        }
        "tool_call" => {
            let text = part.take_str("arguments", Field::CallArgs)?;
            let free = part.str_or_empty("call_kind") == "free_text";
            Part::Args(json_in(&text).filter(|_| !free).map_or(Args::Text(text), Args::Json))
        }
        "tool_result" => {
            let text = text("output")?;
            let json = parsed(&text).filter(|_| part.str_or_empty("encoding") == "json");
            let Some(json) = json else {
                part.take_str("output", Field::ResultText);
                return Some(structured(part, Part::Text(text)));
            };
            part.note_str("encoding", Field::ResultJson);
            // A text with a different spelling cannot be restored from the value, so the text is only noted.
            if Str::plain(json.as_str()).as_escaped() == text.as_escaped() {
                part.take_str("output", Field::ResultJson);
            } else {
                part.note_str("output", Field::ResultJson);
            }
            Part::Json(json)
        }
        "image" | "file_ref"
            if ["url", "data", "file_id", "text"].iter().any(|name| part.get(name).is_some()) =>
        {
            read_media(of, part)?
        }
        "file_ref" if text("path").is_some() && text("action").is_some() => {
            Part::File(FileRef::read_members(part, &[], Spelling::Snake))
        }
        "image" => read_media(of, part)?,
        _ => return None,
    };
    Some(structured(part, value))
}

/// A value, after noting the type of its part.
fn structured<'t>(part: Val<'_>, value: Part<'t>) -> Part<'t> {
    part.note_str("type", Field::Structure);
    value
}

fn read_media(of: ItemKindTag, part: Val<'_>) -> Option<Part<'_>> {
    let field = of.media();
    let source = if let Some(data) = part.take_str("data", field) {
        MediaSource::Base64(data)
    } else if let Some(id) = part.take_str("file_id", field) {
        MediaSource::File(id)
    } else if let Some(text) = part.take_str("text", field) {
        MediaSource::Text(text)
    } else {
        flag(part, "url", Field::Structure);
        MediaSource::Url(part.take_str("path", field)?)
    };
    // Fillers for the path and the action, which the base schema requires.
    note_if(part, "path", "");
    note_if(part, "action", "read");
    Some(Part::Media(Media {
        media_type: part.take_str("mime", Field::MediaType),
        source,
        name: part.take_str("name", Field::MediaName),
        context: part.take_str("context", Field::MediaContext),
        citable: part.take_bool("citable", Field::MediaCitable),
        detail: part.take_str("detail", Field::MediaDetail),
    }))
}

/// The JSON value in a string, if encoding the value restores the string.
fn json_in(text: &Str<'_>) -> Option<Raw<'static>> {
    parsed(text).filter(|json| Str::plain(json.as_str()).as_escaped() == text.as_escaped())
}

/// The JSON in a text of any spelling.
fn parsed(text: &Str<'_>) -> Option<Raw<'static>> {
    let json = text.decode();
    TapeBuf::default().parse(&json, &Limits::default()).ok()?;
    Some(Raw::owned(json.into_owned()))
}
