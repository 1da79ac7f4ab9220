//! Images and files that a log stores apart from their place in the conversation: a notice holds the bytes under a
//! name, and a message or a result refers to the name. The name has no meaning for any other agent, so the bytes are
//! written in place of the name.

use std::collections::{HashMap, VecDeque};

use crate::ledger::Reason;
use crate::model::{Delta, Event, Field, ItemId, ItemKindTag, Media, MediaSource, Part};
use crate::pipe::WriterOutput;

/// The bytes of notices, by name. Bounded: beyond the limit the oldest bytes are dropped, and later parts keep only
/// the name.
#[derive(Default)]
pub(super) struct Assets {
    by_name: HashMap<String, Asset>,
    order: VecDeque<String>,
    bytes: usize,
    /// The open notice that the target has no place for, and the reason.
    refused: Option<(ItemId, Reason)>,
}

struct Asset {
    media: Media<'static>,
    is_shown: bool,
    /// The part that shows the media has no media type of its own.
    tells_type: bool,
    /// The target writes the notice itself.
    is_written: bool,
}

impl Assets {
    const MOST_BYTES: usize = 64 << 20;

    /// Records the start of a notice that the target has no place for.
    pub(super) fn refuse(&mut self, notice: ItemId, reason: Reason) {
        self.refused = Some((notice, reason));
    }

    /// Consumes an event of the refused notice. Returns whether the event belongs to the notice.
    pub(super) fn take_refused(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) -> bool {
        let Some((notice, reason)) = self.refused.filter(|(notice, _)| event.item() == Some(*notice)) else {
            return false;
        };
        match event {
            Event::ItemStarted(head) => out.ledger.left_out(head),
            Event::ItemCompleted(_) => self.refused = None,
            Event::ItemDelta(Delta { value: Part::Media(media), .. }) if is_asset(media) => {
                self.remember(media, false, out);
                return true;
            }
            _ => {}
        }
        debug_assert_eq!(event.item(), Some(notice));
        out.lose_event(ItemKindTag::Notice, event, reason);
        true
    }

    /// Remembers the bytes of a notice.
    pub(super) fn remember(&mut self, media: &Media<'_>, is_written: bool, out: &mut WriterOutput<'_>) {
        let Some(name) = media.name.as_ref().filter(|_| is_asset(media)) else { return };
        let name = name.as_escaped().to_owned();
        self.bytes += size(media);
        let asset =
            Asset { media: media.clone().into_owned(), is_shown: false, tells_type: false, is_written };
        match self.by_name.insert(name.clone(), asset) {
            Some(known) => self.forget(&known, out),
            None => self.order.push_back(name),
        }
        while self.bytes > Self::MOST_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some(asset) = self.by_name.remove(&oldest) {
                self.forget(&asset, out);
            }
        }
    }

    /// The event with the bytes in place of their name, if the event refers to remembered bytes.
    pub(super) fn joined<'a>(&mut self, event: &Event<'a>) -> Option<Event<'a>> {
        if self.by_name.is_empty() {
            return None;
        }
        let Event::ItemDelta(delta) = event else { return None };
        let Part::Media(media) = &delta.value else { return None };
        let MediaSource::File(name) = &media.source else { return None };
        let asset = self.by_name.get_mut(name.as_escaped())?;
        asset.is_shown = true;
        asset.tells_type |= media.media_type.is_none();
        let mut media = media.clone();
        media.source = asset.media.source.clone();
        media.media_type = media.media_type.or_else(|| asset.media.media_type.clone());
        Some(Event::ItemDelta(Delta { value: Part::Media(media), ..delta.clone() }))
    }

    /// Ends the input: bytes no item referred to are lost.
    pub(super) fn end(&mut self, out: &mut WriterOutput<'_>) {
        let mut by_name = std::mem::take(&mut self.by_name);
        for name in std::mem::take(&mut self.order) {
            if let Some(asset) = by_name.remove(&name) {
                self.forget(&asset, out);
            }
        }
    }

    fn forget(&mut self, asset: &Asset, out: &mut WriterOutput<'_>) {
        self.bytes = self.bytes.saturating_sub(size(&asset.media));
        let Media { media_type, name, source, .. } = &asset.media;
        if asset.is_written {
            return;
        }
        // The name is written nowhere; the type and the bytes are written at the place that shows the media.
        let lost = [
            (Field::MediaName, name.as_ref(), false),
            (Field::MediaType, media_type.as_ref(), asset.is_shown && asset.tells_type),
            (Field::MessageMedia, Some(source.text()), asset.is_shown),
        ];
        let reason = if asset.is_shown { Reason::Redundant } else { Reason::NoSlot };
        for (field, text, _) in lost.into_iter().filter(|(_, _, is_told)| !is_told) {
            if let Some(text) = text {
                out.ledger.lose_late(field, reason, 1, text.as_escaped().len() as u64);
            }
        }
    }
}

/// Whether the media are named bytes that parts may refer to.
fn is_asset(media: &Media<'_>) -> bool {
    media.name.is_some() && matches!(media.source, MediaSource::Base64(_))
}

fn size(media: &Media<'_>) -> usize {
    media.source.text().as_escaped().len()
}
