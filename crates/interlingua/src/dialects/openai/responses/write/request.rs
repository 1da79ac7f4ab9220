//! Writes a request: settings, then `instructions`, then `input`, each item as soon as it is complete.

use super::super::items::{ERROR_MARK, OK_MARK};
use super::super::settings::{self, Asker};
use super::super::{BACKEND, DIALECT, ROLES};
use super::items::{OutputItems, Purpose};
use crate::dialects::Options;
use crate::json::{JsonBuffer, JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{Author, Field, Media, MediaSource, Request};
use crate::pipe::WriterOutput;
use crate::wire::assistant::AssistantForm;
use crate::wire::backends::ModelCapabilities;
use crate::wire::content::WireContent;
use crate::wire::media::{usual_name, write_data_url};
use crate::wire::narrow::Narrowing;
use crate::wire::profile::Profile;
use crate::wire::request::{GatheredMessage, PlacedMedia, RequestForm};
use crate::wire::turns::Speaker;

/// Writes a request.
pub(in super::super) struct ResponsesRequest {
    asker: Asker,
    items: OutputItems,
    /// Whether `instructions` have been written.
    instructed: bool,
}

impl ResponsesRequest {
    pub(in super::super) fn new(options: &Options) -> Self {
        let asker = if options.source == Some(DIALECT.name) { Asker::Own } else { Asker::Other };
        let mut items = OutputItems::new(Purpose::Request);
        // OpenAI accepts thoughts only as summaries. It refuses `content` with "array too long. Expected an array with
        // maximum length 0".
        items.summarises = true;
        Self { asker, items, instructed: false }
    }
}

impl RequestForm for ResponsesRequest {
    const APART: bool = true;
    const DEVELOPERS: bool = true;
    const SYSTEM_IS_MESSAGE: bool = true;

    fn profile(&self) -> &'static Profile {
        &BACKEND
    }

    fn narrow(&self, settings: &mut Narrowing<'_, '_, '_>) {
        settings::narrow(self.asker, settings);
    }

    fn settings(&mut self, request: &Request<'_>, takes: &ModelCapabilities, out: &mut WriterOutput<'_>) {
        settings::write(request, self.asker, takes, &mut out.json);
    }

    fn assistant(&mut self) -> &mut dyn AssistantForm {
        &mut self.items
    }

    fn end_assistant(&mut self, _: bool, out: &mut WriterOutput<'_>) -> bool {
        self.items.end_turn(out)
    }

    fn media(&mut self, placed: PlacedMedia<'_>, content: &mut WireContent, out: &mut WriterOutput<'_>) {
        let PlacedMedia { of, call: _, delta, media } = placed;
        let mut part = JsonBuffer::default();
        match write_media(media, &mut part.hold(), out) {
            Ok(()) => content.item_part(delta.item, delta.part, &part, out),
            Err(reason) => out.lose_part(of, &delta.value, reason),
        }
    }

    fn message(&mut self, message: GatheredMessage<'_>, out: &mut WriterOutput<'_>) {
        let GatheredMessage { author, narrowed: _, content, waited: _, waits: _ } = message;
        if content.is_empty() {
            // An empty message is left out.
            return out.lose(Field::ItemAuthor, Reason::Redundant);
        }
        let leads = author == Author::System && !self.items.listed && !self.instructed;
        if leads && content.is_one_text() {
            self.instructed = true;
            return content.write(out.json.key("instructions"));
        }
        self.items.open_list(out);
        let json = out.json.up_to_value(r#"{"type":"message","role":"#);
        json.literal(ROLES.word(author).unwrap_or("user"));
        content.write(json.key("content"));
        out.json.end_object();
    }

    fn result(
        &mut self,
        id: &str,
        is_error: Option<bool>,
        content: &mut WireContent,
        out: &mut WriterOutput<'_>,
    ) {
        let mark = if is_error == Some(true) {
            out.ledger.note("failed result marked with `[tool error]`");
            ERROR_MARK
        } else if content.begins_with(ERROR_MARK) || content.begins_with(OK_MARK) {
            OK_MARK
        } else {
            ""
        };
        if is_error == Some(false) {
            out.lose(Field::ResultIsError, Reason::Redundant);
        }
        self.items.open_list(out);
        let is_free = self.items.free_calls.contains(id);
        let word = if is_free { "custom_tool_call_output" } else { "function_call_output" };
        let json = out.json.object().key("type").literal(word).key("call_id").literal(id);
        content.write_marked(mark, json.key("output"));
        out.json.end_object();
    }

    /// Items may be in any order, so no item waits.
    fn settle(&mut self, _: Speaker, _: &mut WriterOutput<'_>) {}

    fn end(&mut self, out: &mut WriterOutput<'_>) {
        self.items.open_list(out);
        out.json.end_array().end_object();
    }
}

/// Writes a media part, or returns the reason why the API does not support the media.
fn write_media(
    media: &Media<'_>,
    json: &mut JsonWriter<'_>,
    out: &mut WriterOutput<'_>,
) -> Result<(), Reason> {
    // `citable` has no field in this API; the table lists it as lost.
    let Media { media_type, source, name, context, citable: _, detail } = media;
    out.lose_some(Field::MediaContext, context.as_ref(), Reason::NoSlot);
    let known = media_type.as_ref().map(Str::decode);
    let is_picture = known.as_ref().is_none_or(|kind| kind.starts_with("image/"));
    let part = if is_picture { "input_image" } else { "input_file" };
    json.object().key("type").literal(part);
    match (source, media_type) {
        (MediaSource::Url(url), _) => {
            json.key(if is_picture { "image_url" } else { "file_url" }).str(url);
            let is_usual = known.as_deref() == Some("application/pdf");
            out.lose_some(Field::MediaType, media_type.as_ref().filter(|_| !is_usual), Reason::Narrowed);
        }
        (MediaSource::Base64(data), Some(kind)) => {
            write_data_url(kind, data, json.key(if is_picture { "image_url" } else { "file_data" }));
        }
        // Each provider has its own file store.
        (MediaSource::File(_), _) => return Err(Reason::Foreign),
        (MediaSource::Base64(_), None) | (MediaSource::Text(_), _) => return Err(Reason::NoSlot),
    }
    if is_picture {
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
        json.key("detail").str(&detail.clone().unwrap_or(Str::escaped("auto")));
    } else {
        if name.is_none() && matches!(source, MediaSource::Base64(_)) {
            out.ledger.note("document without a name called after its type");
            json.key("filename").literal(usual_name(known.as_deref()));
        }
        json.opt_str("filename", name.as_ref()).opt_str("detail", detail.as_ref());
    }
    json.end_object();
    Ok(())
}
