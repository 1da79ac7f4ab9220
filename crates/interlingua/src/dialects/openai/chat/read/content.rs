//! Content: a string, an object, or a list of parts.

use super::super::{CACHE, CACHE_CONTROL, COPILOT_CONTROL};
use crate::json::Str;
use crate::model::{Field, ItemKindTag, Media, MediaSource, Part, Shape};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Val, WantedNames};
use crate::wire::media::from_data_url;
use crate::wire::settings::{CacheWords, PART_MARK};

/// The shape of a message's content. `marks` are the cache marks on the message; a text with a cache mark has two
/// parts, so its shape is a list.
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

/// The cache marks: the API's own, that of gateways in front of other providers, and Copilot's.
pub(super) const MARKS: [&CacheWords; 3] = [&CACHE, &CACHE_CONTROL, &COPILOT_CONTROL];

const MARK_NAMES: WantedNames<3> = WantedNames::new([MARKS[0].name, MARKS[1].name, MARKS[2].name]);

/// Callback for the parts of an item: the part number and the part.
pub(super) type SayPart<'s> = dyn FnMut(u32, Part<'_>, &mut EventSink<'_>) + 's;

/// A part of a content list, or content that is a single value.
#[derive(Clone, Copy)]
pub(super) struct ChatPart<'t> {
    pub(super) val: Val<'t>,
    /// Whether the part is the whole content, not an element of a list.
    alone: bool,
}

/// The parts of a message's content.
pub(super) fn parts_of(content: Val<'_>) -> impl Iterator<Item = ChatPart<'_>> {
    let alone = content.kind() != Kind::Array;
    let only = Some(ChatPart { val: content, alone }).filter(|_| alone);
    only.into_iter().chain(content.elements().map(|val| ChatPart { val, alone: false }))
}

/// Reads the content of an item of kind `of`. Unknown parts stay unclaimed.
pub(super) fn read_content(
    content: Val<'_>,
    of: ItemKindTag,
    out: &mut EventSink<'_>,
    each: &mut SayPart<'_>,
) {
    if let Some(text) = content.take_text(of.text()) {
        return each(0, Part::Text(text), out);
    }
    for (number, part) in parts_of(content).enumerate() {
        out.within(part.val, |out| part.read(number as u32, of, out, each));
    }
}

impl<'t> ChatPart<'t> {
    /// Whether the part is a thinking part, as in Mistral's API.
    pub(super) fn is_thinking(self) -> bool {
        self.val.get("type").is_some_and(|tag| tag.is("thinking"))
    }

    pub(super) fn note_tag(self) {
        self.val.note_str("type", Field::Structure);
    }

    /// Reads a part of a known type.
    pub(super) fn read(self, number: u32, of: ItemKindTag, out: &mut EventSink<'_>, each: &mut SayPart<'_>) {
        let Self { val: part, alone } = self;
        if let Some(text) = part.take_text(of.text()) {
            return each(number, Part::Text(text), out);
        }
        let Some(tag) = part.get("type").filter(|tag| tag.kind() == Kind::String) else {
            // Some servers return the requested object instead of its JSON text.
            if alone && part.kind() == Kind::Object {
                each(number, Part::Json(part.take(of.json())), out);
            }
            return;
        };
        // A value is claimed after its tag and directly before it is emitted, because a writer books a loss on the last
        // claim.
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
            // In Mistral's API the document name is beside the URL.
            return self.named(number, value, out, each);
        }
        each(number, value, out);
        self.mark(number, out, each);
    }

    /// Emits a document whose name is beside its URL.
    fn named(self, number: u32, value: Part<'t>, out: &mut EventSink<'_>, each: &mut SayPart<'_>) {
        if let Part::Media(media) = value {
            let name = self.val.take_str("document_name", Field::MediaName);
            each(number, Part::Media(Media { name, ..media }), out);
            self.mark(number, out, each);
        }
    }

    /// Emits the cache mark of the part.
    fn mark(self, number: u32, out: &mut EventSink<'_>, each: &mut SayPart<'_>) {
        for (words, mark) in MARKS.iter().zip(self.val.find(&MARK_NAMES)) {
            if let Some(mark) = mark.and_then(|mark| words.read(mark, PART_MARK)) {
                return each(number, Part::Cache(mark), out);
            }
        }
    }
}

/// Reads a picture. Some clients write the URL directly instead of an object.
fn picture(image: Val<'_>, of: ItemKindTag) -> Option<Part<'_>> {
    let url = image.get("url").unwrap_or(image);
    let mut media = data_url(url).or_else(|| Some(Media::new(None, source(url)?)))?;
    url.take(of.media());
    media.detail = image.take_str("detail", Field::MediaDetail);
    Some(Part::Media(media))
}

/// Reads a document or film at a URL. `usual` is the media type for URLs with an unknown extension.
fn at_address<'t>(val: Val<'t>, usual: &'static str, of: ItemKindTag) -> Option<Part<'t>> {
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

/// The media types of URL extensions.
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

/// The source of a URL: a web address, or a file in Kimi's file store.
fn source(url: Val<'_>) -> Option<MediaSource<'_>> {
    let text = url.str()?;
    let held = text.as_escaped().starts_with("ms://");
    Some(if held { MediaSource::File(text) } else { MediaSource::Url(text) })
}

fn sound(audio: Val<'_>, of: ItemKindTag) -> Option<Part<'_>> {
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

fn file(file: Val<'_>, of: ItemKindTag) -> Option<Part<'_>> {
    let mut media = if let Some(data) = file.get("file_data") {
        data_url(data).inspect(|_| _ = data.take(of.media()))?
    } else {
        Media::new(None, MediaSource::File(file.take_str("file_id", of.media())?))
    };
    media.name = file.take_str("filename", Field::MediaName);
    Some(Part::Media(media))
}

/// The media in a `data:` URL.
fn data_url(val: Val<'_>) -> Option<Media<'_>> {
    val.str()?;
    let text = val.text();
    from_data_url(text.get(1..text.len() - 1)?)
}
