//! Content: a string, an object, or a list of parts.

use super::super::{CACHE, CACHE_CONTROL, COPILOT_CONTROL};
use crate::json::Str;
use crate::model::{Field, Media, MediaSource, Of, Part, Shape};
use crate::pipe::Events;
use crate::tape::{Claim, Kind, Val, WantedNames};
use crate::wire::media::from_data_url;
use crate::wire::settings::{CacheWords, PART_MARK};

/// What the content of a message, which may have marks itself, will look like. A text with a mark for the cache is more
/// than one thing.
pub(super) fn shape(content: Option<Val<'_>>, marks: &[Option<Val<'_>>; 3]) -> Shape {
    if marks.iter().any(Option::is_some) {
        return Shape::List;
    }
    let Some(list) = content.filter(|content| content.kind() == Kind::Array) else { return Shape::One };
    let mut parts = list.elements();
    match (parts.next(), parts.next()) {
        (Some(_), Some(_)) => Shape::List,
        (Some(only), None) if only.find(&MARK_NAMES).iter().any(Option::is_some) => Shape::List,
        _ => Shape::One,
    }
}

/// Marks for the cache: the API's own, the one that gateways in front of other providers take, and Copilot's.
pub(super) const MARKS: [&CacheWords; 3] = [&CACHE, &CACHE_CONTROL, &COPILOT_CONTROL];

const MARK_NAMES: WantedNames<3> = WantedNames::new([MARKS[0].name, MARKS[1].name, MARKS[2].name]);

/// Whom the parts of an item are said to: the number of the part, and the part.
pub(super) type SayPart<'s> = dyn FnMut(u32, Part<'_>, &mut Events<'_>) + 's;

/// A part of content, or content that is only one.
#[derive(Clone, Copy)]
pub(super) struct ChatPart<'t> {
    pub(super) val: Val<'t>,
    /// It is the content itself, not an element of it.
    alone: bool,
}

/// The parts of content.
pub(super) fn parts_of(content: Val<'_>) -> impl Iterator<Item = ChatPart<'_>> {
    let alone = content.kind() != Kind::Array;
    let only = Some(ChatPart { val: content, alone }).filter(|_| alone);
    only.into_iter().chain(content.elements().map(|val| ChatPart { val, alone: false }))
}

/// Reads the content of an item of that kind. A part we do not know stays where it is.
pub(super) fn read_content(content: Val<'_>, of: Of, out: &mut Events<'_>, each: &mut SayPart<'_>) {
    if let Some(text) = content.take_text(of.text()) {
        return each(0, Part::Text(text), out);
    }
    for (number, part) in parts_of(content).enumerate() {
        out.within(part.val, |out| part.read(number as u32, of, out, each));
    }
}

impl<'t> ChatPart<'t> {
    /// Whether it is thinking, as Mistral has it.
    pub(super) fn is_thinking(self) -> bool {
        self.val.get("type").is_some_and(|tag| tag.is("thinking"))
    }

    pub(super) fn note_tag(self) {
        self.val.note_str("type", Field::Structure);
    }

    /// Reads it, if we know such parts.
    pub(super) fn read(self, number: u32, of: Of, out: &mut Events<'_>, each: &mut SayPart<'_>) {
        let Self { val: part, alone } = self;
        if let Some(text) = part.take_text(of.text()) {
            return each(number, Part::Text(text), out);
        }
        let Some(tag) = part.get("type").filter(|tag| tag.kind() == Kind::String) else {
            // Some servers answer with the object that was asked for, not with its text.
            if alone && part.kind() == Kind::Object {
                each(number, Part::Json(part.take(of.json())), out);
            }
            return;
        };
        // A value is claimed after its tag, and just before it is said: a writer that must give it up finds it so.
        tag.note(Field::Structure);
        let value = match tag.str().as_ref().map_or("", Str::as_escaped) {
            "text" | "input_text" | "output_text" => part.take_str("text", of.text()).map(Part::Text),
            "refusal" => part.take_str("refusal", Field::Refusal).map(Part::Refusal),
            "image_url" => part.get("image_url").and_then(|image| picture(image, of)),
            "input_audio" => part.get("input_audio").and_then(|audio| sound(audio, of)),
            "file" => part.get("file").and_then(|inner| file(inner, of)),
            "document_url" => part.get("document_url").and_then(|url| at_address(url, "application/pdf", of)),
            "file_url" => part.get("file_url").and_then(|url| at_address(url, "application/pdf", of)),
            "video_url" => part.get("video_url").and_then(|url| at_address(url, "video/mp4", of)),
            _ => None,
        };
        let Some(value) = value else {
            tag.claim(Claim::Free);
            if alone {
                each(number, Part::Json(part.take(of.json())), out);
            }
            return;
        };
        if let Part::Media(Media { name, .. }) = &value
            && name.is_none()
            && tag.is("document_url")
        {
            // Mistral's word for it stands beside the address.
            return self.named(number, value, out, each);
        }
        each(number, value, out);
        self.mark(number, out, each);
    }

    /// A document whose name stands beside it.
    fn named(self, number: u32, value: Part<'t>, out: &mut Events<'_>, each: &mut SayPart<'_>) {
        if let Part::Media(media) = value {
            let name = self.val.take_str("document_name", Field::MediaName);
            each(number, Part::Media(Media { name, ..media }), out);
            self.mark(number, out, each);
        }
    }

    /// A mark for the cache.
    fn mark(self, number: u32, out: &mut Events<'_>, each: &mut SayPart<'_>) {
        for (words, mark) in MARKS.iter().zip(self.val.find(&MARK_NAMES)) {
            if let Some(mark) = mark.and_then(|mark| words.read(mark, PART_MARK)) {
                return each(number, Part::Cache(mark), out);
            }
        }
    }
}

/// A picture: some clients say no more of it than its address.
fn picture(image: Val<'_>, of: Of) -> Option<Part<'_>> {
    let url = image.get("url").unwrap_or(image);
    let mut media = data_url(url).or_else(|| Some(Media::new(None, source(url)?)))?;
    url.take(of.media());
    media.detail = image.take_str("detail", Field::MediaDetail);
    Some(Part::Media(media))
}

/// A document or a film at an address, of the type that such parts usually are of.
fn at_address<'t>(val: Val<'t>, usual: &'static str, of: Of) -> Option<Part<'t>> {
    let url = val.get("url").unwrap_or(val);
    let media = if let Some(media) = data_url(url) {
        media
    } else {
        let source = source(url)?;
        let text = source.text().as_escaped();
        let path = text.split(['?', '#']).next().unwrap_or(text);
        let known = TYPES.iter().find(|(end, _)| path.ends_with(end)).map_or(usual, |(_, known)| known);
        Media::new(Some(Str::escaped(known)), source)
    };
    url.take(of.media());
    Some(Part::Media(media))
}

/// How addresses of media end.
const TYPES: [(&str, &str); 8] = [
    (".pdf", "application/pdf"),
    (".mp4", "video/mp4"),
    (".webm", "video/webm"),
    (".mov", "video/quicktime"),
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".txt", "text/plain"),
];

/// What an address names: something on the web, or a file that Kimi holds.
fn source(url: Val<'_>) -> Option<MediaSource<'_>> {
    let text = url.str()?;
    let held = text.as_escaped().starts_with("ms://");
    Some(if held { MediaSource::File(text) } else { MediaSource::Url(text) })
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
