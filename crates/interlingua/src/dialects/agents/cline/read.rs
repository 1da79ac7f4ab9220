//! Messages to events. The members before and after the messages describe the session; each side is a notice.

use super::super::signed_thinking::{is_thinking, read_thinking};
use crate::blocks::{self, ResultDetail};
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::SessionTracker;
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemId, ItemKind, Media, MediaSource, Notice, Part, Session,
    Shape, Turn, Usage, issuers,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct ClineReader {
    session: SessionTracker,
}

impl Reader for ClineReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        if matches!(doc.kind, FrameKind::Head | FrameKind::Tail) {
            if doc.kind == FrameKind::Head {
                // A file may hold several sessions.
                self.session = SessionTracker::default();
            }
            return self.around(root, out);
        }
        let author = match root.str_or_empty("role") {
            "user" => Some(Author::User),
            "assistant" => Some(Author::Assistant),
            _ => None,
        };
        let content = root.get("content").filter(blocks::is_content);
        match (author, content) {
            (Some(Author::Assistant), Some(content)) if is_error(root) => failed(root, content, out),
            (Some(author), Some(content)) => said(root, author, content, out),
            _ => {
                doc.report_foreign(super::DIALECT.name, out);
                let role = root.note_str("role", Field::NoticeType);
                notice(role.filter(|role| !role.is("system")), None, out);
            }
        }
    }
}

impl ClineReader {
    /// Reads the members around the messages: the facts of the session and the system prompt.
    fn around(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        let origin = root.get("origin");
        let told = Session {
            id: root.note_str("sessionId", Field::SessionId),
            cli_version: origin.and_then(|origin| origin.note_str("version", Field::SessionVersion)),
            parent: origin.and_then(|origin| origin.note_str("parentThreadId", Field::SessionParent)),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
        notice(None, root.get("system_prompt"), out);
    }
}

/// Emits a notice, with the text of a member if there is one.
fn notice(event_type: Option<Str<'_>>, text: Option<Val<'_>>, out: &mut EventSink<'_>) {
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    if let Some(text) = text.take_text(Field::NoticeText) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

/// Whether a message is an error that Cline shows to the user and never sends to a model.
fn is_error(message: Val<'_>) -> bool {
    message.get("metadata").is_some_and(|metadata| metadata.str_or_empty("displayRole") == "error")
}

fn failed(message: Val<'_>, content: Val<'_>, out: &mut EventSink<'_>) {
    let metadata = message.get("metadata");
    metadata.and_then(|metadata| metadata.note_str("displayRole", Field::Structure));
    let block = content.elements().find_map(|block| block.note_str("text", Field::ErrorMessage));
    let text = content.note_text(Field::ErrorMessage).or(block).unwrap_or_default();
    out.event(&Event::Error(Failure {
        class: FailureClass::Other,
        status: None,
        code: None,
        message: text,
        request_id: None,
        retry_after: None,
    }));
}

fn said(message: Val<'_>, author: Author, content: Val<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<5> = WantedNames::new(["role", "id", "ts", "modelInfo", "metrics"]);
    let [role, id, time, model, metrics] = message.find(&WANTED);
    role.note_text(Field::ItemAuthor);
    let mut head = out.head(ItemKind::Message, author);
    head.native_id = id.take_text(Field::ItemId);
    head.time = time.filter(|time| time.u64().is_some()).map(|time| time.take(Field::ItemTime));
    head.model = model.and_then(|model| model.take_str("id", Field::ItemModel));
    head.shape = shape(content);
    let said_model = head.model.clone();
    let item = out.start(head);
    if let Some(text) = content.take_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    let issuer = issuer(message);
    let mut provider = model.and_then(|model| model.get("provider"));
    for (number, block) in content.elements().enumerate() {
        out.within(block, |out| {
            if is_thinking(block) {
                read_thinking(block, &issuer, provider, item, out);
                let has_state = block.has_str("signature") || block.has_str("data");
                provider = provider.filter(|_| !has_state);
            } else {
                read_block(block, number as u32, item, out);
            }
        });
    }
    out.complete(item);
    if let Some(metrics) = metrics.filter(|metrics| metrics.kind() == Kind::Object) {
        let cost = metrics.get("cost").filter(|cost| cost.kind() == Kind::Number);
        out.event(&Event::Usage(Turn {
            model: said_model,
            usage: Some(usage(metrics)),
            cost: cost.map(|cost| cost.note(Field::Cost)),
            ..Turn::default()
        }));
    }
}

/// `List` if more than one block is a part of the message itself.
fn shape(content: Val<'_>) -> Shape {
    blocks::shape_by(Some(content), |block| match block.str_or_empty("type") {
        "text" => block.has_str("text"),
        "image" => block.has_str("data"),
        "file" => block.has_str("content"),
        _ => false,
    })
}

/// The issuer of a message's state: the provider of its model.
pub(super) fn issuer(message: Val<'_>) -> Str<'_> {
    let provider = message.get("modelInfo").and_then(|model| model.get("provider")?.str());
    provider.unwrap_or(Str::escaped(issuers::ANTHROPIC))
}

/// Reads a block other than thinking. Pictures and files have members of their own.
fn read_block(block: Val<'_>, number: u32, item: ItemId, out: &mut EventSink<'_>) {
    match block.str_or_empty("type") {
        "image" if block.has_str("data") => {
            block.note_str("type", Field::Structure);
            let data = block.take_str("data", Field::MessageMedia).unwrap_or_default();
            let media_type = block.take_str("mediaType", Field::MediaType);
            out.delta(item, number, Part::Media(Media::new(media_type, MediaSource::Base64(data))));
        }
        "file" if block.has_str("content") => {
            block.note_str("type", Field::Structure);
            if let Some(text) = block.take_str("content", Field::MessageText) {
                out.delta(item, number, Part::Text(text));
            }
        }
        "tool_result" => {
            let detail = ResultDetail { failed: has_failed(block), ..ResultDetail::default() };
            blocks::read_result_block(block, number, item, detail, out);
        }
        _ => blocks::read_block(block, number, item, out),
    }
}

/// Whether a tool reports in its own result that everything it was asked for failed: Cline sets `is_error` only if the
/// tool itself could not run.
fn has_failed(result: Val<'_>) -> bool {
    let outcomes = || result.get("content").into_iter().flat_map(|content| content.elements());
    let is_failure =
        |outcome: Val<'_>| outcome.get("success").is_some_and(|success| success.bool() == Some(false));
    outcomes().next().is_some() && outcomes().all(is_failure)
}

/// The counts of a response. The input of Cline includes the tokens of the cache.
fn usage(metrics: Val<'_>) -> Usage {
    const WANTED: WantedNames<4> =
        WantedNames::new(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]);
    let [input, output, read, written] = metrics.find(&WANTED);
    let cache_read = read.note_count(Field::UsageCacheRead);
    let cache_write = written.note_count(Field::UsageCacheWrite);
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: input.note_count(Field::UsageInput).map(|input| input.saturating_sub(cached)),
        cache_read,
        cache_write,
        output: output.note_count(Field::UsageOutput),
        ..Usage::default()
    }
}
