//! Addresses that hold their own bytes: `data:image/png;base64,…`.

use crate::json::{JsonWriter, Str};
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
