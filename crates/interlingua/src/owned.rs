//! Copies of items that outlive the frame they were read from, for writers that must hold back.

use crate::model::{
    Args, Delta, FileRef, ItemHead, ItemKind, ItemTail, Media, MediaSource, Notice, Opaque, Part, Stop,
    ToolCall, ToolResult,
};
use crate::text::{Raw, Str};

fn own(text: Option<Str<'_>>) -> Option<Str<'static>> {
    text.map(Str::into_owned)
}

impl ItemHead<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> ItemHead<'static> {
        let ItemHead { id, kind, author, within, native_id, parent, time, model, shape } = self;
        ItemHead {
            id,
            kind: match kind {
                ItemKind::Message => ItemKind::Message,
                ItemKind::Reasoning => ItemKind::Reasoning,
                ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                    ItemKind::ToolCall(ToolCall {
                        call_id: own(call_id),
                        kind,
                        namespace: own(namespace),
                        name: name.into_owned(),
                    })
                }
                ItemKind::ToolResult(ToolResult { call_id, name }) => {
                    ItemKind::ToolResult(ToolResult { call_id: own(call_id), name: own(name) })
                }
                ItemKind::Notice(Notice { event_type }) => {
                    ItemKind::Notice(Notice { event_type: event_type.into_owned() })
                }
            },
            author,
            within,
            native_id: own(native_id),
            parent: own(parent),
            time: time.map(Raw::into_owned),
            model: own(model),
            shape,
        }
    }
}

impl Delta<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Delta<'static> {
        let Delta { item, part, value } = self;
        Delta { item, part, value: value.into_owned() }
    }
}

impl Part<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Part<'static> {
        match self {
            Part::Text(text) => Part::Text(text.into_owned()),
            Part::Summary(text) => Part::Summary(text.into_owned()),
            Part::Media(Media { media_type, source, name }) => Part::Media(Media {
                media_type: own(media_type),
                source: match source {
                    MediaSource::Base64(data) => MediaSource::Base64(data.into_owned()),
                    MediaSource::Url(url) => MediaSource::Url(url.into_owned()),
                    MediaSource::File(id) => MediaSource::File(id.into_owned()),
                },
                name: own(name),
            }),
            Part::Json(json) => Part::Json(json.into_owned()),
            Part::Args(Args::Text(text)) => Part::Args(Args::Text(text.into_owned())),
            Part::Args(Args::Json(json)) => Part::Args(Args::Json(json.into_owned())),
            Part::File(FileRef { path, action, diff }) => {
                Part::File(FileRef { path: path.into_owned(), action: action.into_owned(), diff: own(diff) })
            }
            Part::Citation(json) => Part::Citation(json.into_owned()),
            Part::Refusal(text) => Part::Refusal(text.into_owned()),
            Part::Opaque(Opaque { kind, issuer, value }) => {
                Part::Opaque(Opaque { kind, issuer, value: value.into_owned() })
            }
        }
    }
}

impl ItemTail<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> ItemTail<'static> {
        let ItemTail { id, status, native_status, is_error } = self;
        ItemTail { id, status, native_status: own(native_status), is_error }
    }
}

impl Stop<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Stop<'static> {
        let Stop { class, raw, sequence } = self;
        Stop { class, raw: own(raw), sequence: own(sequence) }
    }
}
