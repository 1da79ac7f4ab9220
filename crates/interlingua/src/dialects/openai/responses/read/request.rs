//! Reads requests: the settings, then every item.

use super::super::settings;
use super::items::{ItemReader, Where};
use crate::error::Code;
use crate::model::{Author, Event, Field, ItemKind, Part};
use crate::pipe::{Doc, EventSink, Reader};

pub(in super::super) struct ResponsesRequestReader;

/// Members that continue a conversation stored by the provider.
const KEPT_THERE: [&str; 3] = ["previous_response_id", "conversation", "prompt"];

impl Reader for ResponsesRequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        out.event(&Event::Request(Box::new(settings::read(root))));
        if KEPT_THERE.iter().any(|name| root.get(name).is_some_and(|kept| !kept.is_null())) {
            out.note("the conversation goes on from what the provider keeps, which is not here");
        }
        if let Some(text) = root.take_str("instructions", Field::MessageText) {
            let head = out.head(ItemKind::Message, Author::System);
            let item = out.start(head);
            out.delta(item, 0, Part::Text(text));
            out.complete(item);
        }
        let Some(input) = root.get("input") else {
            if root.get("instructions").is_none() && !KEPT_THERE.iter().any(|name| root.get(name).is_some()) {
                out.problem(Code::UnknownShape, None, "a request has `input`");
            }
            return;
        };
        if let Some(text) = input.take_text(Field::MessageText) {
            let head = out.head(ItemKind::Message, Author::User);
            let item = out.start(head);
            out.delta(item, 0, Part::Text(text));
            return out.complete(item);
        }
        for item in input.elements() {
            let mut reader = ItemReader::new(Where::Request);
            out.within(item, |out| reader.read(item, out));
            if !reader.has_begun() && item.str_or_empty("type") == "item_reference" {
                out.note("an item is named that the provider keeps, and is not here");
            }
        }
    }
}
