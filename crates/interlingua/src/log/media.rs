//! Media in built frames.

use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{Field, Media, MediaSource};
use crate::pipe::WriterOutput;

/// The media a frame can hold.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct MediaRules {
    /// The media types, or their prefixes. Only a document (`application/pdf`) has a name and keeps its type when
    /// referred to by URL: all other media are images.
    pub types: &'static [&'static str],
    /// Whether media may be referred to by URL.
    pub by_address: bool,
    /// Whether assistant messages may hold media.
    pub from_assistant: bool,
}

impl MediaRules {
    /// No media.
    pub const NONE: MediaRules = MediaRules { types: &[], by_address: false, from_assistant: false };

    /// The media with the members a frame can hold; books the other members as lost.
    pub(super) fn sayable<'m>(
        &self,
        media: &'m Media<'m>,
        from_assistant: bool,
        out: &mut WriterOutput<'_>,
    ) -> Result<Media<'m>, Reason> {
        let Media { media_type, source, name, context: _, citable: _, detail: _ } = media;
        let known = media_type.as_ref().map(Str::decode);
        let takes = |known: &str| self.types.iter().any(|begin| known.starts_with(begin));
        let document = known.as_deref() == Some("application/pdf");
        let by_address = match source {
            MediaSource::Text(_) => return Err(Reason::NoSlot),
            _ if self.types.is_empty() => return Err(Reason::NoSlot),
            // Each provider has its own file store.
            MediaSource::File(_) => return Err(Reason::Foreign),
            _ if from_assistant && !self.from_assistant => return Err(Reason::Refused),
            _ if known.as_deref().is_some_and(|known| !takes(known)) => return Err(Reason::Refused),
            MediaSource::Url(_) if !self.by_address => return Err(Reason::Refused),
            MediaSource::Url(_) => true,
            MediaSource::Base64(_) => false,
        };
        let mut said = Media::new(media_type.clone(), source.clone());
        if document {
            said.name.clone_from(name);
            return Ok(said);
        }
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
        if by_address {
            out.lose_some(Field::MediaType, said.media_type.take().as_ref(), Reason::NoSlot);
        } else if known.is_none() {
            out.ledger.note("picture without a type taken for a PNG");
            said.media_type = Some(Str::escaped("image/png"));
        }
        Ok(said)
    }
}
