//! Addresses that hold their own bytes: `data:image/png;base64,…`.

use crate::json::{JsonWriter, Str, from_base64};
use crate::model::{Media, MediaSource};

/// The media that such an address holds, cut where it stands; `None` for any other address.
pub(crate) fn from_data_url(escaped: &str) -> Option<Media<'_>> {
    let (media_type, data) = escaped.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Media::new(Some(Str::escaped(media_type)), MediaSource::Base64(Str::escaped(data))))
}

/// A media type as every API spells it: in small letters, without parameters, and pictures by their proper name.
pub(crate) fn tidy_type(media_type: &Str<'_>) -> Option<Str<'static>> {
    let plain = media_type.decode();
    let bare = plain.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let tidy = match &*bare {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "audio/mp3" => "audio/mpeg",
        "audio/x-wav" | "audio/wave" => "audio/wav",
        bare => bare,
    };
    (tidy != plain).then(|| Str::from_plain(tidy))
}

/// The type of media that says none, by its first bytes.
pub(crate) fn type_of_bytes(base64: &Str<'_>) -> Option<&'static str> {
    let known = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
        ("JVBERi0", "application/pdf"),
    ];
    known.into_iter().find(|(begin, _)| base64.as_escaped().starts_with(begin)).map(|(_, kind)| kind)
}

/// Base64 in the alphabet that every API takes: Google's own clients send the one for addresses, which others
/// refuse, and leave out what fills it up.
pub(crate) fn standard_base64<'s>(data: &'s Str<'_>) -> Str<'s> {
    let escaped = data.as_escaped();
    if escaped.len().is_multiple_of(4) && !escaped.contains(['-', '_', '\\']) {
        return data.reborrow();
    }
    let mut standard = data.decode().trim_end_matches('=').replace('-', "+").replace('_', "/");
    let missing = standard.len().next_multiple_of(4) - standard.len();
    standard.extend(std::iter::repeat_n('=', missing));
    Str::from_plain(&standard)
}

/// The same media with their bytes in that alphabet, if they are in another.
pub(crate) fn with_standard_bytes<'m>(media: &'m Media<'_>) -> Option<Media<'m>> {
    let MediaSource::Base64(data) = &media.source else { return None };
    let standard = standard_base64(data);
    let is_same = standard.as_escaped() == data.as_escaped();
    (!is_same).then(|| Media { source: MediaSource::Base64(standard), ..media.clone() })
}

/// The same document as text, if its bytes are that.
pub(crate) fn as_text<'m>(media: &'m Media<'_>) -> Option<Media<'m>> {
    let MediaSource::Base64(data) = &media.source else { return None };
    let media_type = media.media_type.as_ref()?.decode();
    if !media_type.starts_with("text/") && !matches!(&*media_type, "application/json" | "application/xml") {
        return None;
    }
    let text = String::from_utf8(from_base64(&data.decode())?).ok()?;
    Some(Media { source: MediaSource::Text(Str::from_plain(&text)), ..media.clone() })
}

/// What a document without a name is called: the API tells its type by the ending.
pub(crate) fn usual_name(media_type: Option<&str>) -> &'static str {
    const NAMES: [(&str, &str); 7] = [
        ("text/plain", "document.txt"),
        ("text/csv", "document.csv"),
        ("text/markdown", "document.md"),
        ("text/html", "document.html"),
        ("text/xml", "document.xml"),
        ("application/xml", "document.xml"),
        ("application/json", "document.json"),
    ];
    let known = NAMES.iter().find(|(known, _)| media_type == Some(known));
    let is_text = media_type.is_some_and(|known| known.starts_with("text/"));
    known.map_or(if is_text { "document.txt" } else { "document.pdf" }, |(_, name)| name)
}

/// Writes such an address.
pub(crate) fn write_data_url(media_type: &Str<'_>, data: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.open_string().piece(&Str::escaped("data:")).piece(media_type);
    json.piece(&Str::escaped(";base64,")).piece(data).close_string();
}

/// The pieces of the address of media: where they are, or one that holds them. Media without a type are taken for a PNG.
pub(crate) fn address_of<'m>(media: &'m Media<'_>) -> Vec<Str<'m>> {
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media.media_type.as_ref().map_or(Str::escaped("image/png"), Str::reborrow);
            vec![Str::escaped("data:"), media_type, Str::escaped(";base64,"), data.reborrow()]
        }
        MediaSource::Url(text) | MediaSource::File(text) | MediaSource::Text(text) => vec![text.reborrow()],
    }
}
