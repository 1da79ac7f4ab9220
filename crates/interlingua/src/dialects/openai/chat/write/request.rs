//! Writes requests.

use super::super::{CACHE_CONTROL, ERROR_MARK, Flavour, OK_MARK, ROLES, settings};
use super::message::ChatMessage;
use crate::json::{JsonBuffer, JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{Author, CacheMark, Field, ItemId, ItemKindTag, Media, MediaSource, Request};
use crate::pipe::WriterOutput;
use crate::wire::assistant::AssistantForm;
use crate::wire::backends::{CacheMarkForm, Capabilities, ModelCapabilities};
use crate::wire::content::WireContent;
use crate::wire::media::write_data_url;
use crate::wire::narrow::Narrowing;
use crate::wire::profile::Profile;
use crate::wire::request::{GatheredMessage, PlacedMedia, RequestForm};
use crate::wire::settings::CacheWords;
use crate::wire::turns::Speaker;

/// Writes a request: settings first, then `messages`, each as soon as it is complete.
///
/// A user message with results becomes `tool` messages, followed by a user message with the other parts. `tool`
/// messages hold text only, so media of results follow, labelled, in one user message after all results of the turn.
pub(in super::super) struct ChatRequest {
    flavour: &'static Flavour,
    assistant: ChatMessage,
    /// Media of results, for the user message after them.
    media: WireContent,
    media_count: u32,
    /// Messages that wait until every call has its result.
    deferred: JsonBuffer,
    /// Whether results were written last and the server requires an assistant message after them.
    wants_assistant: bool,
    takes: Option<ModelCapabilities>,
}

impl ChatRequest {
    pub(in super::super) fn new(flavour: &'static Flavour) -> Self {
        Self {
            flavour,
            assistant: ChatMessage::new(flavour),
            media: WireContent::default(),
            media_count: 0,
            deferred: JsonBuffer::default(),
            wants_assistant: false,
            takes: None,
        }
    }

    /// Inserts the required assistant message before a message of any other role.
    fn before_message(&mut self, out: &mut WriterOutput<'_>) {
        if std::mem::take(&mut self.wants_assistant) {
            out.ledger.note("this server wants the assistant between results and the user: it says `OK.`");
            out.json.with_value(r#"{"role":"assistant","content":"OK."}"#);
        }
    }
}

impl RequestForm for ChatRequest {
    const DEVELOPERS: bool = true;
    const SYSTEM_IS_MESSAGE: bool = true;

    fn profile(&self) -> &'static Profile {
        self.flavour.backend
    }

    fn cache(&self) -> &'static CacheWords {
        self.flavour.cache_words(self.takes.as_deref())
    }

    fn narrow(&self, settings: &mut Narrowing<'_, '_, '_>) {
        settings::narrow(self.flavour, settings);
    }

    fn settings(&mut self, request: &Request<'_>, takes: &ModelCapabilities, out: &mut WriterOutput<'_>) {
        self.assistant.obey(takes);
        self.takes = Some(takes.clone());
        settings::write(request, self.flavour, takes, &mut out.json);
    }

    fn assistant(&mut self) -> &mut dyn AssistantForm {
        &mut self.assistant
    }

    fn end_assistant(&mut self, is_last: bool, out: &mut WriterOutput<'_>) -> bool {
        let said = !self.assistant.is_empty();
        if said {
            self.assistant.write(is_last, out);
            self.wants_assistant = false;
        }
        said
    }

    fn media(&mut self, placed: PlacedMedia<'_>, content: &mut WireContent, out: &mut WriterOutput<'_>) {
        let PlacedMedia { of, call, delta, media } = placed;
        let mut part = JsonBuffer::default();
        if let Err(reason) = write_media(media, self.flavour, &mut part.hold(), out) {
            return out.lose_part(of, &delta.value, reason);
        }
        if of != ItemKindTag::Result {
            return content.item_part(delta.item, delta.part, &part, out);
        }
        out.ledger.note("media of a tool result moved into a user message after the results");
        self.media_count += 1;
        let number = self.media_count;
        // The id is already escaped, and the words around it need no escapes.
        let label = format!("[attachment {number}, from the result of {call}]");
        self.media.text(ItemId(0), number, &Str::escaped(&label), out);
        self.media.part(out).values(part.bytes());
        let here = format!("[attachment {number}: see the next user message]");
        content.text(delta.item, delta.part, &Str::escaped(&here), out);
        content.end(out);
    }

    fn message(&mut self, message: GatheredMessage<'_>, out: &mut WriterOutput<'_>) {
        let GatheredMessage { author, narrowed: _, content, waited: _, waits } = message;
        if content.is_empty() {
            // An empty message is left out.
            return out.lose(Field::ItemAuthor, Reason::Redundant);
        }
        if !waits {
            self.settle(Speaker::User, out);
            self.before_message(out);
            return write_message(self.flavour, author, content, &mut out.json);
        }
        write_message(self.flavour, author, content, &mut self.deferred.hold());
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
        let json = out.json.up_to_value(r#"{"role":"tool","tool_call_id":"#).literal(id);
        let cached = self.flavour.message_mark.is_some_and(|mark| content.remove_member(mark));
        content.write_marked(mark, json.key("content"));
        if cached {
            self.flavour.write_message_mark(&mut out.json);
        }
        out.json.end_object();
        self.wants_assistant = self.takes.as_ref().is_some_and(|takes| !takes.user_after_results);
    }

    /// Writes the messages and media that waited for the results.
    fn settle(&mut self, _: Speaker, out: &mut WriterOutput<'_>) {
        if !self.media.is_empty() || !self.deferred.bytes().is_empty() {
            self.before_message(out);
        }
        if !self.media.is_empty() {
            self.media.end(out);
            write_message(self.flavour, Author::User, &mut self.media, &mut out.json);
            self.media_count = 0;
        }
        self.deferred.pour_members(&mut out.json);
    }

    fn end(&mut self, out: &mut WriterOutput<'_>) {
        out.json.end_array().end_object();
    }
}

fn write_message(flavour: &Flavour, author: Author, content: &mut WireContent, json: &mut JsonWriter<'_>) {
    json.object().key("role").literal(ROLES.word(author).unwrap_or("user"));
    let cached = flavour.message_mark.is_some_and(|mark| content.remove_member(mark));
    content.write(json.key("content"));
    if cached {
        flavour.write_message_mark(json);
    }
    json.end_object();
}

impl Flavour {
    /// The cache mark of parts for a server with these capabilities.
    pub(super) fn cache_words(&self, takes: Option<&Capabilities>) -> &'static CacheWords {
        match takes.map(|takes| takes.cache_marks) {
            Some(CacheMarkForm::CacheControl) => &CACHE_CONTROL,
            Some(CacheMarkForm::Own) | None => self.backend.cache,
        }
    }

    /// Writes the cache mark of a message.
    pub(super) fn write_message_mark(&self, json: &mut JsonWriter<'_>) {
        let kind = Str::escaped(self.backend.cache.kind.1);
        self.backend.cache.write(&CacheMark { kind, lifetime: None }, json);
    }
}

/// Writes a media part, or returns the reason why the API does not support the media.
fn write_media(
    media: &Media<'_>,
    flavour: &Flavour,
    json: &mut JsonWriter<'_>,
    out: &mut WriterOutput<'_>,
) -> Result<(), Reason> {
    // `citable` has no field in this API; the table lists it as lost.
    let Media { media_type, source, name, context, citable: _, detail } = media;
    out.lose_some(Field::MediaContext, context.as_ref(), Reason::NoSlot);
    let known = media_type.as_ref().map(Str::decode);
    let is_film = known.as_deref().is_some_and(|kind| kind.starts_with("video/"));
    let is_held = matches!(source, MediaSource::File(id) if id.as_escaped().starts_with("ms://"));
    if flavour.films && (is_film || is_held) {
        let part = if is_film { "video_url" } else { "image_url" };
        json.object().key("type").literal(part).key(part).object().key("url");
        match (source, media_type) {
            (MediaSource::Base64(data), Some(media_type)) => write_data_url(media_type, data, json),
            (source, _) => {
                json.str(source.text());
                out.lose_some(Field::MediaType, media_type.as_ref(), Reason::Narrowed);
            }
        }
        json.end_object().end_object();
        out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
        out.lose_some(Field::MediaDetail, detail.as_ref(), Reason::NoSlot);
        return Ok(());
    }
    let (kind, data) = match (known.as_deref(), source) {
        (kind, MediaSource::Url(url)) if kind.is_none_or(|kind| kind.starts_with("image/")) => {
            json.up_to_value(r#"{"type":"image_url","image_url":{"url":"#).str(url);
            json.opt_str("detail", detail.as_ref()).end_object().end_object();
            out.lose_some(Field::MediaType, media_type.as_ref(), Reason::Narrowed);
            out.lose_some(Field::MediaName, name.as_ref(), Reason::NoSlot);
            return Ok(());
        }
        (Some(kind), MediaSource::Base64(data)) => (kind, data),
        // Each provider has its own file store.
        (_, MediaSource::File(_)) => return Err(Reason::Foreign),
        (_, MediaSource::Url(_) | MediaSource::Base64(_) | MediaSource::Text(_)) => {
            return Err(Reason::NoSlot);
        }
    };
    let media_type = Str::plain(kind);
    let part = match kind {
        "audio/wav" | "audio/mpeg" => "input_audio",
        "application/pdf" => "file",
        kind if kind.starts_with("image/") => "image_url",
        _ => return Err(Reason::NoSlot),
    };
    json.object().key("type").literal(part).key(part).object();
    match part {
        "input_audio" => {
            json.key("data").str(data);
            json.key("format").literal(if kind == "audio/wav" { "wav" } else { "mp3" });
        }
        "file" => {
            if name.is_none() {
                out.ledger.note("document without a name called after its type");
            }
            json.key("filename").str(&name.clone().unwrap_or(Str::escaped("document.pdf")));
            write_data_url(&media_type, data, json.key("file_data"));
        }
        _ => {
            write_data_url(&media_type, data, json.key("url"));
            json.opt_str("detail", detail.as_ref());
        }
    }
    json.end_object().end_object();
    out.lose_some(Field::MediaName, name.as_ref().filter(|_| part != "file"), Reason::NoSlot);
    out.lose_some(Field::MediaDetail, detail.as_ref().filter(|_| part != "image_url"), Reason::NoSlot);
    Ok(())
}
