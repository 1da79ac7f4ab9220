//! Reads parts of messages and results.

use super::super::CACHE;
use crate::json::Str;
use crate::model::{CacheMark, Citation, Field, ItemKindTag, Media, MediaSource, Part, Shape};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Val};
use crate::wire::media::from_data_url;
use crate::wire::settings::PART_MARK;

pub(super) fn shape_of(content: Option<Val<'_>>) -> Shape {
    match content {
        Some(list) if list.elements().nth(1).is_some() => Shape::List,
        _ => Shape::One,
    }
}

/// The tag and the text member of a part, and the slot of its text.
pub(super) fn text_member(part: Val<'_>) -> Option<(Val<'_>, Val<'_>, Slot)> {
    let tag = part.get("type")?;
    let (name, slot) = match tag.str()?.as_escaped() {
        "input_text" | "output_text" | "text" => ("text", Slot::Text),
        "refusal" => ("refusal", Slot::Refusal),
        "summary_text" => ("text", Slot::Summary),
        "reasoning_text" => ("text", Slot::Thought),
        _ => return None,
    };
    let text = part.get(name).filter(|text| text.kind() == Kind::String)?;
    Some((tag, text, slot))
}

/// The role of a text in its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    Text,
    Refusal,
    Summary,
    Thought,
    Arguments,
}

impl Slot {
    /// The index of the list that holds texts of this slot.
    pub(super) const fn list(self) -> usize {
        match self {
            Slot::Text | Slot::Refusal => 0,
            Slot::Summary => 1,
            Slot::Thought => 2,
            Slot::Arguments => 3,
        }
    }

    pub(super) const fn field(self, of: ItemKindTag) -> Field {
        match self {
            Slot::Text => of.text(),
            Slot::Refusal => Field::Refusal,
            Slot::Summary => Field::ReasoningSummary,
            Slot::Thought => Field::ReasoningText,
            Slot::Arguments => Field::CallArgs,
        }
    }
}

/// Reads a picture or a file, and claims its tag; any other part stays unclaimed.
pub(super) fn take_media<'t>(part: Val<'t>, of: ItemKindTag, out: &mut EventSink<'_>) -> Option<Part<'t>> {
    let tag = part.get("type").filter(|tag| tag.kind() == Kind::String)?;
    // A value is claimed after its tag and directly before it is emitted, because a writer books a loss on the last
    // claim.
    tag.note(Field::Structure);
    let media = match tag.str().as_ref().map_or("", Str::as_escaped) {
        "input_image" | "computer_screenshot" => picture(part, of),
        "input_file" => file(part, of, out),
        _ => None,
    };
    if media.is_none() {
        tag.claim(Claim::Free);
    }
    media.map(Part::Media)
}

/// Whether the reader supports this part of a result.
pub(super) fn is_part(part: Val<'_>) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| part.has_str(name));
    match part.str_or_empty("type") {
        "input_image" | "computer_screenshot" => has(&["image_url", "file_id"]),
        "input_file" => has(&["file_data", "file_url", "file_id"]),
        _ => matches!(text_member(part), Some((_, _, Slot::Text | Slot::Refusal))),
    }
}

fn picture(part: Val<'_>, of: ItemKindTag) -> Option<Media<'_>> {
    let mut media = match part.get("image_url").filter(|url| url.kind() == Kind::String) {
        Some(url) => {
            let media = inline(url).or_else(|| Some(Media::new(None, MediaSource::Url(url.str()?))))?;
            url.take(of.media());
            media
        }
        None => stored(part, of)?,
    };
    media.detail = part.take_str("detail", Field::MediaDetail);
    Some(media)
}

fn file<'t>(part: Val<'t>, of: ItemKindTag, out: &mut EventSink<'_>) -> Option<Media<'t>> {
    let data = part.get("file_data").filter(|data| data.kind() == Kind::String);
    let mut media = if let Some(data) = data {
        // Some clients send bare base64 data without a `data:` prefix.
        let media = inline(data).or_else(|| Some(Media::new(None, MediaSource::Base64(data.str()?))))?;
        data.take(of.media());
        media
    } else if let Some(url) = part.take_str("file_url", of.media()) {
        out.note("file at an address taken for a PDF document");
        Media::new(Some(Str::escaped("application/pdf")), MediaSource::Url(url))
    } else {
        stored(part, of)?
    };
    media.name = part.take_str("filename", Field::MediaName);
    media.detail = part.take_str("detail", Field::MediaDetail);
    Some(media)
}

/// A file in the provider's file store.
fn stored(part: Val<'_>, of: ItemKindTag) -> Option<Media<'_>> {
    part.take_str("file_id", of.media()).map(|id| Media::new(None, MediaSource::File(id)))
}

/// The media in a `data:` URL.
fn inline(val: Val<'_>) -> Option<Media<'_>> {
    val.str()?;
    let text = val.text();
    from_data_url(text.get(1..text.len() - 1)?)
}

/// The cache mark of a part.
pub(super) fn mark(part: Val<'_>) -> Option<CacheMark<'_>> {
    CACHE.read(part.get(CACHE.name)?, PART_MARK)
}

/// Reads an annotation as a citation. Citations of files in the provider's store stay unclaimed.
pub(super) fn citation(note: Val<'_>) -> Option<Citation<'_>> {
    let kind = note.get("type").filter(|kind| kind.is("url_citation"))?;
    let source = note.take_str("url", Field::CitationSource)?;
    Some(Citation {
        kind: kind.take_text(Field::CitationKind),
        title: note.take_str("title", Field::CitationTitle),
        source: Some(source),
        from: note.take_raw("start_index", Field::CitationFrom),
        to: note.take_raw("end_index", Field::CitationTo),
        ..Citation::default()
    })
}
