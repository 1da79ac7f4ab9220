//! Code shared by Kimi CLI and Kimi Code: content parts, the time of a line, and values found in texts.

use crate::blocks::{joined_texts, shape_by, text_block};
use crate::json::{Raw, Str};
use crate::log::{GatheredItem, NativeObject, NativeValue};
use crate::model::{Event, Field, ItemKindTag, Media, MediaSource, Opaque, OpaqueKind, Part, Shape};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};
use crate::wire::media::{address_of, from_data_url};

/// The time of a line.
#[derive(Clone, Copy)]
pub(super) struct Stamp<'t> {
    /// The line's member that holds the time as a number.
    pub(super) leaf: Option<Val<'t>>,
    /// The time as a JSON date; empty if the line has no time.
    pub(super) date: &'t str,
}

impl<'t> Stamp<'t> {
    /// The time of an item on the line.
    pub(super) fn of_item(self) -> Option<Raw<'t>> {
        self.as_field(Field::ItemTime)
    }

    /// Emits the time for an event other than an item.
    pub(super) fn tick(self, out: &mut EventSink<'_>) {
        if let Some(time) = self.as_field(Field::EventTime) {
            out.event(&Event::Clock(time));
        }
    }

    fn as_field(self, field: Field) -> Option<Raw<'t>> {
        let leaf = self.leaf.filter(|_| !self.date.is_empty())?;
        leaf.note(field);
        Some(Raw::new(self.date))
    }
}

/// The two programs' spellings of the member with the URL of a picture, film or sound.
const ADDRESSES: [&str; 6] = ["image_url", "imageUrl", "video_url", "videoUrl", "audio_url", "audioUrl"];

/// The URL of a part's picture, film or sound, if supported: media other than pictures must have a media type.
fn address(part: Val<'_>) -> Option<Val<'_>> {
    let member = part.get_all(ADDRESSES).into_iter().flatten().next()?;
    let url = member.get("url").filter(|url| url.kind() == Kind::String)?;
    let text = &url.text()[1..url.text().len() - 1];
    let is_picture = part.str_or_empty("type") == "image_url";
    (is_picture || from_data_url(text).is_some()).then_some(url)
}

/// Whether an element is a part of a message or result: a text, or media.
pub(super) fn is_part(part: Val<'_>) -> bool {
    match part.str_or_empty("type") {
        "text" => part.has_str("text"),
        "image_url" | "video_url" | "audio_url" => address(part).is_some(),
        _ => false,
    }
}

/// Reads a text or media; any other element is left unclaimed.
pub(super) fn read_part(part: Val<'_>, of: ItemKindTag) -> Option<Part<'_>> {
    if !is_part(part) {
        return None;
    }
    part.note_str("type", Field::Structure);
    if let Some(text) = part.get("text").filter(|_| part.str_or_empty("type") == "text") {
        return text.take_text(of.text()).map(Part::Text);
    }
    let url = address(part)?;
    url.take(of.media());
    let text = &url.text()[1..url.text().len() - 1];
    Some(Part::Media(from_data_url(text).unwrap_or(Media::new(None, MediaSource::Url(Str::escaped(text))))))
}

/// Whether the content has more than one part of its own.
pub(super) fn shape(content: Option<Val<'_>>) -> Shape {
    shape_by(content, |part| is_part(*part))
}

/// The first text of content, still escaped.
pub(super) fn first_text(content: Option<Val<'_>>) -> &str {
    let Some(content) = content else { return "" };
    if content.kind() == Kind::String {
        return &content.text()[1..content.text().len() - 1];
    }
    let first = content.elements().find(|part| part.str_or_empty("type") == "text");
    first.map_or("", |part| part.str_or_empty("text"))
}

/// Opaque state of a thought: encrypted reasoning if the text is empty, otherwise the signature of the text. Neither
/// program records the provider.
pub(super) fn state_of(thought: Val<'_>) -> Option<Opaque<'_>> {
    let shown = !thought.str_or_empty("think").is_empty();
    let kind = if shown { OpaqueKind::Signature } else { OpaqueKind::Encrypted };
    let value = thought.take_str("encrypted", kind.field())?;
    Some(Opaque { kind, issuer: Str::escaped(ISSUER), value })
}

/// The issuer of opaque state, which the log does not record.
pub(super) const ISSUER: &str = "unknown";

/// Whether a call is of the type `function`, the only type so far.
pub(super) fn is_function(call: Val<'_>) -> bool {
    call.get("type").is_none_or(|kind| kind.is("function"))
}

/// The exit code of a shell command, which both programs write into the text.
pub(super) fn exit_code(text: &str) -> Option<i64> {
    let (_, rest) = text.rsplit_once("Command failed with exit code: ")?;
    let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The class of an element in a content list.
pub(super) fn class_of(element: Val<'_>) -> usize {
    match element.str_or_empty("type") {
        "text" => TEXT,
        "think" => THINK,
        _ => MEDIA,
    }
}

pub(super) const TEXT: usize = 0;
pub(super) const MEDIA: usize = 1;
pub(super) const THINK: usize = 2;

/// The class and the members of a part in a kept list, for both programs' spellings.
pub(super) fn kept_part<'g>(part: &'g Part<'_>) -> Option<(usize, NativeObject<'g>)> {
    let mut block = NativeObject::new();
    match part {
        Part::Text(text) => {
            block.put("text", text);
            Some((TEXT, block))
        }
        Part::Media(media) => {
            for name in ADDRESSES {
                let mut holder = NativeObject::new();
                holder.put("url", NativeValue::Joined(address_of(media)));
                block.put(name, holder);
            }
            Some((MEDIA, block))
        }
        Part::Summary(_)
        | Part::Json(_)
        | Part::Args(_)
        | Part::File(_)
        | Part::Citation(_)
        | Part::Refusal(_)
        | Part::Opaque(_)
        | Part::Cache(_) => None,
    }
}

/// The members of a kept thought.
pub(super) fn kept_thought(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut block = NativeObject::new();
    let text = item.parts().find_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
    block.put_some("think", text).put_some("encrypted", item.opaque().map(|opaque| &opaque.value));
    block
}

/// A content part for a built line. `members` are the member names for pictures, films and sounds.
pub(super) fn built_part<'g>(part: &'g Part<'_>, members: [&'static str; 3]) -> Option<NativeObject<'g>> {
    if let Part::Media(media) = part {
        let known = media.media_type.as_ref().map(Str::decode);
        let (kind, member) = match known.as_deref().and_then(|known| known.split('/').next()) {
            Some("video") => ("video_url", members[1]),
            Some("audio") => ("audio_url", members[2]),
            _ => ("image_url", members[0]),
        };
        let mut holder = NativeObject::new();
        holder.put("url", NativeValue::Joined(address_of(media)));
        let mut block = NativeObject::typed(kind);
        block.put(member, holder);
        return Some(block);
    }
    text_block(part)
}

/// A thought for a built line, with all its texts joined.
pub(super) fn built_thought(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut block = NativeObject::typed("think");
    block.put("think", NativeValue::Joined(joined_texts(item.parts())));
    block
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn exit_codes_stand_in_words() {
        assert_eq!(exit_code("oops\\nCommand failed with exit code: 3."), Some(3));
        assert_eq!(exit_code("Command failed with exit code: -9."), Some(-9));
        assert_eq!(exit_code("Command failed with exit code: "), None);
        assert_eq!(exit_code("It failed."), None);
    }
}
