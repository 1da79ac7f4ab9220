//! Content: a string, or a list of parts.

use super::super::CACHE;
use crate::json::Str;
use crate::model::{Field, Media, MediaSource, Of, Part, Shape};
use crate::pipe::Events;
use crate::tape::{Claim, Kind, Val};
use crate::wire::media::from_data_url;
use crate::wire::settings::PART_MARK;

pub(super) fn shape(content: Option<Val<'_>>) -> Shape {
    match content {
        Some(list) if list.elements().nth(1).is_some() => Shape::List,
        _ => Shape::One,
    }
}

/// Reads a string or a list of parts of an item of that kind. A part we do not know stays where it is.
pub(super) fn read_content(
    content: Val<'_>,
    of: Of,
    out: &mut Events<'_>,
    each: &mut dyn FnMut(u32, Part<'_>, &mut Events<'_>),
) {
    if let Some(text) = content.take_text(of.text()) {
        return each(0, Part::Text(text), out);
    }
    for (number, part) in content.elements().enumerate() {
        let Some(tag) = part.get("type").filter(|tag| tag.kind() == Kind::String) else { continue };
        // A value is claimed after its tag, and just before it is said: a writer that must give it up finds it so.
        tag.note(Field::Structure);
        let value = match tag.str().as_ref().map_or("", Str::as_escaped) {
            "text" => part.take_str("text", of.text()).map(Part::Text),
            "refusal" => part.take_str("refusal", Field::Refusal).map(Part::Refusal),
            "image_url" => part.get("image_url").and_then(|image| picture(image, of)),
            "input_audio" => part.get("input_audio").and_then(|audio| sound(audio, of)),
            "file" => part.get("file").and_then(|inner| file(inner, of)),
            _ => None,
        };
        let Some(value) = value else {
            tag.claim(Claim::Free);
            continue;
        };
        each(number as u32, value, out);
        if let Some(mark) = part.get(CACHE.name).and_then(|mark| CACHE.read(mark, PART_MARK)) {
            each(number as u32, Part::Cache(mark), out);
        }
    }
}

/// A picture: some clients say no more of it than its address.
fn picture(image: Val<'_>, of: Of) -> Option<Part<'_>> {
    let url = image.get("url").unwrap_or(image);
    let mut media = data_url(url).or_else(|| Some(Media::new(None, MediaSource::Url(url.str()?))))?;
    url.take(of.media());
    media.detail = image.take_str("detail", Field::MediaDetail);
    Some(Part::Media(media))
}

fn sound(audio: Val<'_>, of: Of) -> Option<Part<'_>> {
    let format = audio.get("format")?;
    let media_type = match format.str()?.as_escaped() {
        "wav" => Str::escaped("audio/wav"),
        "mp3" => Str::escaped("audio/mpeg"),
        _ => return None,
    };
    let source = MediaSource::Base64(audio.take_str("data", of.media())?);
    format.note(Field::MediaType);
    Some(Part::Media(Media::new(Some(media_type), source)))
}

fn file(file: Val<'_>, of: Of) -> Option<Part<'_>> {
    let mut media = if let Some(data) = file.get("file_data") {
        data_url(data).inspect(|_| _ = data.take(of.media()))?
    } else {
        Media::new(None, MediaSource::File(file.take_str("file_id", of.media())?))
    };
    media.name = file.take_str("filename", Field::MediaName);
    Some(Part::Media(media))
}

/// The media of an address that holds its own bytes.
fn data_url(val: Val<'_>) -> Option<Media<'_>> {
    val.str()?;
    let text = val.text();
    from_data_url(text.get(1..text.len() - 1)?)
}
