//! Data URLs: `data:image/png;base64,…`.

use crate::json::{JsonWriter, Str, from_base64};
use crate::model::{Media, MediaSource};

/// The media in a data URL, borrowed from it; `None` for any other URL.
pub(crate) fn from_data_url(escaped: &str) -> Option<Media<'_>> {
    let (media_type, data) = escaped.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Media::new(Some(Str::escaped(media_type)), MediaSource::Base64(Str::escaped(data))))
}

/// A media type in canonical spelling: lower case, without parameters, and with the registered name of image and audio
/// types.
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

/// The type of media without a declared type, by their first bytes.
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

/// Base64 in the standard alphabet with padding, which every API accepts: Google's own clients send the URL-safe
/// alphabet without padding, which other APIs refuse.
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

/// The same media with bytes in the standard alphabet, if they use a different alphabet.
pub(crate) fn with_standard_bytes<'m>(media: &'m Media<'_>) -> Option<Media<'m>> {
    let MediaSource::Base64(data) = &media.source else { return None };
    let standard = standard_base64(data);
    let is_same = standard.as_escaped() == data.as_escaped();
    (!is_same).then(|| Media { source: MediaSource::Base64(standard), ..media.clone() })
}

/// The same document as text, if its bytes are UTF-8 text.
pub(crate) fn as_text<'m>(media: &'m Media<'_>) -> Option<Media<'m>> {
    let MediaSource::Base64(data) = &media.source else { return None };
    let media_type = media.media_type.as_ref()?.decode();
    if !media_type.starts_with("text/") && !matches!(&*media_type, "application/json" | "application/xml") {
        return None;
    }
    let text = String::from_utf8(from_base64(&data.decode())?).ok()?;
    Some(Media { source: MediaSource::Text(Str::from_plain(&text)), ..media.clone() })
}

/// The file name for a document without a name: the API derives the type from the extension.
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

/// Writes a data URL.
pub(crate) fn write_data_url(media_type: &Str<'_>, data: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.open_string().piece(&Str::escaped("data:")).piece(media_type);
    json.piece(&Str::escaped(";base64,")).piece(data).close_string();
}

/// The pieces of a URL for the media: the media's own URL, or a data URL. Media without a type are taken for a PNG.
pub(crate) fn address_of<'m>(media: &'m Media<'_>) -> Vec<Str<'m>> {
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media.media_type.as_ref().map_or(Str::escaped("image/png"), Str::reborrow);
            vec![Str::escaped("data:"), media_type, Str::escaped(";base64,"), data.reborrow()]
        }
        MediaSource::Url(text) | MediaSource::File(text) | MediaSource::Text(text) => vec![text.reborrow()],
    }
}
