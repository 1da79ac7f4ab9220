//! How the parts of a completed item are read.

use super::note_if;
use super::read::{Open, flag};
use crate::json::{Raw, Str};
use crate::model::{
    Args, Citation, Field, FileRef, Media, MediaSource, Neutral as _, Of, Opaque, OpaqueKind, Part, Spelling,
};
use crate::pipe::Events;
use crate::tape::{Limits, TapeBuf, Val};

pub(super) fn read_reasoning(open: &mut Open, number: u64, part: Val<'_>, out: &mut Events<'_>) {
    part.note_str("type", Field::Structure);
    let id = open.reasoning(number, out);
    let summary = flag(part, "summary", Field::ReasoningSummary);
    let field = if summary { Field::ReasoningSummary } else { Field::ReasoningText };
    let state = [OpaqueKind::Signature, OpaqueKind::Encrypted]
        .into_iter()
        .find(|kind| part.get(word(*kind)).is_some());
    let said = open.said.iter().find(|(known, _)| *known == number).map(|(_, said)| said);
    if let Some((val, text)) = part.get("text").and_then(|val| Some((val, val.str()?))) {
        match said {
            Some(said) if text.as_escaped() == said => drop(val.take(field)),
            // The deltas have said something else.
            Some(_) => {}
            // State that hides all of the reasoning stands beside an empty text.
            None if text.is_empty() && state.is_some() => drop(val.note(Field::Structure)),
            None => {
                val.take(field);
                out.delta(id, 0, if summary { Part::Summary(text) } else { Part::Text(text) });
            }
        }
    }
    let state = state.and_then(|kind| Some((kind, part.take_str(word(kind), kind.field())?)));
    if let Some((kind, value)) = state {
        let issuer = part.take_str("issuer", Field::Issuer).unwrap_or(Str::escaped(UNKNOWN));
        out.delta(id, 1, Part::Opaque(Opaque { kind, issuer, value }));
    }
}

/// State of which nobody says who issued it is sent to no one.
const UNKNOWN: &str = "unknown";

const fn word(kind: OpaqueKind) -> &'static str {
    match kind {
        OpaqueKind::Signature => "signature",
        OpaqueKind::Encrypted => "encrypted",
    }
}

/// Notes a part that says what the deltas have said; anything else is left alone.
pub(super) fn repeat_part(of: Of, part: Val<'_>, said: &str) {
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

/// Reads a part that no delta has said.
pub(super) fn read_part(of: Of, part: Val<'_>) -> Option<Part<'_>> {
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
            if flag(part, "citation", Field::Structure) {
                Part::Citation(Citation::read(json, Field::Structure, Spelling::Snake)?)
            } else {
                Part::Json(json.take(of.json()))
            }
        }
        "tool_call" => {
            let text = part.take_str("arguments", Field::CallArgs)?;
            let free = part.str_or_empty("call_kind") == "free_text";
            Part::Args(json_in(&text).filter(|_| !free).map_or(Args::Text(text), Args::Json))
        }
        "tool_result" => {
            let text = text("output")?;
            let json = json_in(&text).filter(|_| part.str_or_empty("encoding") == "json");
            part.take_str("output", if json.is_some() { Field::ResultJson } else { Field::ResultText });
            if json.is_some() {
                part.note_str("encoding", Field::ResultJson);
            }
            json.map_or(Part::Text(text), Part::Json)
        }
        "image" | "file_ref" if ["url", "data", "file_id"].iter().any(|name| part.get(name).is_some()) => {
            read_media(of, part)?
        }
        "file_ref" if text("path").is_some() && text("action").is_some() => Part::File(FileRef {
            path: part.take_str("path", Field::FilePath)?,
            action: part.take_str("action", Field::FileAction)?,
            diff: part.take_str("diff", Field::FileDiff),
        }),
        "image" => Part::Media(Media {
            source: MediaSource::Url(part.take_str("path", of.media())?),
            media_type: part.take_str("mime", Field::MediaType),
            name: part.take_str("name", Field::MediaName),
            context: None,
            citable: None,
        }),
        _ => return None,
    };
    part.note_str("type", Field::Structure);
    Some(value)
}

fn read_media(of: Of, part: Val<'_>) -> Option<Part<'_>> {
    let field = of.media();
    let source = if let Some(data) = part.take_str("data", field) {
        MediaSource::Base64(data)
    } else if let Some(id) = part.take_str("file_id", field) {
        MediaSource::File(id)
    } else {
        flag(part, "url", Field::Structure);
        MediaSource::Url(part.take_str("path", field)?)
    };
    // The base schema wants a path, and what was done with the file.
    note_if(part, "path", "");
    note_if(part, "action", "read");
    let (media_type, name) =
        (part.take_str("mime", Field::MediaType), part.take_str("name", Field::MediaName));
    Some(Part::Media(Media { media_type, source, name, context: None, citable: None }))
}

/// The JSON value in a string, if writing it into a string again gives the same.
fn json_in(text: &Str<'_>) -> Option<Raw<'static>> {
    let json = text.decode();
    TapeBuf::default().parse(&json, &Limits::default()).ok()?;
    (Str::plain(&json).as_escaped() == text.as_escaped()).then(|| Raw::owned(json.into_owned()))
}
