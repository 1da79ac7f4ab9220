//! Content: a string, or a list of parts.

use crate::model::{Field, Media, MediaSource, Part, Shape};
use crate::pipe::Sink;
use crate::tape::Val;
use crate::text::Str;

pub(super) fn shape(content: Option<Val<'_>>) -> Shape {
    match content {
        Some(list) if list.elements().count() > 1 => Shape::List,
        _ => Shape::One,
    }
}

/// Reads a string or a list of parts. A part we do not know stays where it is.
pub(super) fn read_content(
    content: Val<'_>,
    out: &mut Sink<'_>,
    each: &mut dyn FnMut(u32, Part<'_>, &mut Sink<'_>),
) {
    if let Some(text) = content.take_text(Field::Unnamed) {
        each(0, Part::Text(text), out);
    }
    for (number, part) in content.elements().enumerate() {
        let Some(kind) = part.get("type").and_then(|kind| kind.str()) else { continue };
        let value = match kind.as_escaped() {
            "text" => part.take_str("text", Field::Unnamed).map(Part::Text),
            "refusal" => part.take_str("refusal", Field::Unnamed).map(Part::Refusal),
            "image_url" => part.get("image_url").and_then(|image| image.get("url")).and_then(|url| {
                let media = data_url(url).unwrap_or(Media {
                    media_type: None,
                    source: MediaSource::Url(url.str()?),
                    name: None,
                });
                url.take(Field::Unnamed);
                Some(Part::Media(media))
            }),
            "input_audio" => part.get("input_audio").and_then(|audio| {
                let media_type = match audio.note_str("format", Field::Unnamed)?.as_escaped() {
                    "wav" => Str::escaped("audio/wav"),
                    "mp3" => Str::escaped("audio/mpeg"),
                    _ => return None,
                };
                let source = MediaSource::Base64(audio.take_str("data", Field::Unnamed)?);
                Some(Part::Media(Media { media_type: Some(media_type), source, name: None }))
            }),
            "file" => part.get("file").and_then(file).map(Part::Media),
            _ => None,
        };
        if let Some(value) = value {
            part.note_str("type", Field::Unnamed);
            each(number as u32, value, out);
        }
    }
}

fn file(file: Val<'_>) -> Option<Media<'_>> {
    let mut media = if let Some(data) = file.get("file_data") {
        data_url(data).inspect(|_| _ = data.take(Field::Unnamed))?
    } else {
        let source = MediaSource::File(file.take_str("file_id", Field::Unnamed)?);
        Media { media_type: None, source, name: None }
    };
    media.name = file.take_str("filename", Field::Unnamed);
    Some(media)
}

/// `data:image/png;base64,…`, cut where it stands.
fn data_url(val: Val<'_>) -> Option<Media<'_>> {
    let text = val.str().map(|_| val.text())?;
    let inner = text.get(1..text.len() - 1)?.strip_prefix("data:")?;
    let (media_type, data) = inner.split_once(";base64,")?;
    Some(Media {
        media_type: Some(Str::escaped(media_type)),
        source: MediaSource::Base64(Str::escaped(data)),
        name: None,
    })
}
