//! Addresses that hold their own bytes: `data:image/png;base64,…`.

use crate::json::{JsonWriter, Str};
use crate::model::{Media, MediaSource};

/// The media that such an address holds, cut where it stands; `None` for any other address.
pub(crate) fn from_data_url(escaped: &str) -> Option<Media<'_>> {
    let (media_type, data) = escaped.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Media::new(Some(Str::escaped(media_type)), MediaSource::Base64(Str::escaped(data))))
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
