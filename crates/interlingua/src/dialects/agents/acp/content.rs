//! Content blocks: text, pictures, sound, links and embedded resources.

use crate::json::{JsonWriter, Str};
use crate::model::{Field, FileRef, Media, MediaSource, Part};
use crate::tape::Val;
use crate::wire::note_tag;

/// The fields that the content of an item becomes.
#[derive(Clone, Copy)]
pub(super) struct ContentFields {
    pub(super) text: Field,
    pub(super) media: Field,
}

impl ContentFields {
    pub(super) const MESSAGE: Self = Self { text: Field::MessageText, media: Field::MessageMedia };
    pub(super) const RESULT: Self = Self { text: Field::ResultText, media: Field::ResultMedia };
    pub(super) const REASONING: Self = Self { text: Field::ReasoningText, media: Field::MessageMedia };
}

/// The part that a content block becomes. `None` for a block of an unknown type or without its content: the block is left
/// unclaimed.
pub(super) fn part_of(block: Val<'_>, fields: ContentFields) -> Option<Part<'_>> {
    let part = match block.str_or_empty("type") {
        "text" => Part::Text(block.take_str("text", fields.text)?),
        // A picture's address may stand beside its bytes.
        "image" | "audio" => {
            let bytes = block.get("data").filter(|data| data.str().is_some() && !data.is(""));
            let source = match bytes {
                Some(bytes) => MediaSource::Base64(bytes.take_text(fields.media)?),
                None => MediaSource::Url(block.take_str("uri", fields.media)?),
            };
            Part::Media(Media::new(block.take_str("mimeType", Field::MediaType), source))
        }
        "resource_link" => {
            let source = MediaSource::Url(block.take_str("uri", fields.media)?);
            let mut media = Media::new(block.take_str("mimeType", Field::MediaType), source);
            media.name = block.take_str("name", Field::MediaName);
            Part::Media(media)
        }
        "resource" => {
            let resource = block.get("resource")?;
            let source = match resource.take_str("text", fields.media) {
                Some(text) => MediaSource::Text(text),
                None => MediaSource::Base64(resource.take_str("blob", fields.media)?),
            };
            let mut media = Media::new(resource.take_str("mimeType", Field::MediaType), source);
            media.name = resource.take_str("uri", Field::MediaName);
            Part::Media(media)
        }
        _ => return None,
    };
    note_tag(block, "type", &["text", "image", "audio", "resource_link", "resource"]);
    Some(part)
}

/// Writes a text block.
pub(super) fn put_text(text: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.up_to_value(r#"{"type":"text","text":"#).str(text).end_object();
}

/// Whether a block can hold the media: a file in a provider's store has neither bytes nor an address.
pub(super) const fn holds(media: &Media<'_>) -> bool {
    !matches!(media.source, MediaSource::File(_))
}

/// The name of media whose block has no place for a name: pictures and sound in base64.
pub(super) fn unsaid_name<'m, 't>(media: &'m Media<'t>) -> Option<&'m Str<'t>> {
    let is_own_block = matches!(media.source, MediaSource::Base64(_))
        && (is_of_class(media, "image/") || is_of_class(media, "audio/"));
    media.name.as_ref().filter(|_| is_own_block)
}

fn is_of_class(media: &Media<'_>, class: &str) -> bool {
    media.media_type.as_ref().is_some_and(|kind| kind.as_escaped().starts_with(class))
}

/// Writes media as a block. Pictures and sound have their own blocks; other bytes and texts are embedded resources.
pub(super) fn put_media(media: &Media<'_>, json: &mut JsonWriter<'_>) {
    let Media { media_type, source, name, context: _, citable: _, detail: _ } = media;
    let is = |class: &str| is_of_class(media, class);
    let unnamed = Str::escaped("attachment");
    let named = name.as_ref().unwrap_or(&unnamed);
    match source {
        MediaSource::Base64(bytes) if is("image/") || is("audio/") => {
            json.object().key("type").literal(if is("image/") { "image" } else { "audio" });
            json.key("data").str(bytes).opt_str("mimeType", media_type.as_ref()).end_object();
        }
        MediaSource::Base64(value) | MediaSource::Text(value) => {
            let member = if matches!(source, MediaSource::Text(_)) { "text" } else { "blob" };
            json.up_to_value(r#"{"type":"resource","resource":{"uri":"#).str(named);
            json.opt_str("mimeType", media_type.as_ref()).key(member).str(value).end_object().end_object();
        }
        MediaSource::Url(address) | MediaSource::File(address) => {
            json.up_to_value(r#"{"type":"resource_link","uri":"#).str(address);
            json.key("name").str(named).opt_str("mimeType", media_type.as_ref()).end_object();
        }
    }
}

/// The change of a file, from a block with the old and the new text. `None` if a member is missing.
pub(super) fn file_of(block: Val<'_>) -> Option<Part<'_>> {
    let new = block.get("newText").filter(|new| new.str().is_some())?;
    let path = block.take_str("path", Field::FilePath)?;
    note_tag(block, "type", &["diff"]);
    let old = block.get("oldText");
    if let Some(old) = old.filter(Val::is_null) {
        old.note(Field::Structure);
    }
    let (before, after) =
        (old.and_then(|old| old.note_text(Field::FileDiff)), new.note_text(Field::FileDiff));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let action = if before.is_empty() { "write" } else { "patch" };
    let diff = hunk(&before.decode(), &after.decode());
    Some(Part::File(FileRef { path, action: Str::escaped(action), diff: Some(Str::from_plain(&diff)) }))
}

/// A diff with one hunk: the lines between the common beginning and the common end.
fn hunk(old: &str, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = before.iter().zip(&after).take_while(|(one, two)| one == two).count();
    let (rest, added) = (&before[same..], &after[same..]);
    let tail = rest.iter().rev().zip(added.iter().rev()).take_while(|(one, two)| one == two).count();
    let (rest, added) = (&rest[..rest.len() - tail], &added[..added.len() - tail]);
    let place = |lines: &[&str]| if lines.is_empty() { same } else { same + 1 };
    let mut diff = format!("@@ -{},{} +{},{} @@\n", place(rest), rest.len(), place(added), added.len());
    for (mark, lines) in [('-', rest), ('+', added)] {
        for line in lines {
            diff.push(mark);
            diff.push_str(line);
            diff.push('\n');
        }
    }
    diff
}

/// Writes the change of a file as the old and the new text of the diff's hunks.
pub(super) fn put_file(file: &FileRef<'_>, json: &mut JsonWriter<'_>) {
    let FileRef { path, action: _, diff } = file;
    let (mut old, mut new) = (String::new(), String::new());
    let diff = diff.as_ref().map(Str::decode).unwrap_or_default();
    let mut in_hunk = false;
    for line in diff.split_inclusive('\n') {
        in_hunk |= line.starts_with("@@");
        if !in_hunk || line.starts_with("@@") {
            continue;
        }
        // Git marks a file without a final newline with a backslash; the mark is no line of the file.
        if let Some(text) = line.strip_prefix('-') {
            old.push_str(text);
        } else if let Some(text) = line.strip_prefix('+') {
            new.push_str(text);
        } else if let Some(text) = line.strip_prefix(' ') {
            old.push_str(text);
            new.push_str(text);
        }
    }
    json.up_to_value(r#"{"type":"diff","path":"#).str(path);
    if !old.is_empty() {
        json.key("oldText").plain(&old);
    }
    json.key("newText").plain(&new).end_object();
}
