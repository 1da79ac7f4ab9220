//! Messages to events. The members before and after the messages, or the first line of an older file, describe the
//! session and are notices.

use super::super::signed_thinking::read_thinking;
use crate::blocks::{shape_by, start_call, start_reasoning};
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::SessionTracker;
use crate::model::{
    Args, Author, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Media, MediaSource,
    Notice, Origin, Part, Session, Shape, Status, ToolResult, Turn, Usage, issuers,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct GooseReader {
    session: SessionTracker,
    /// Whether the model no longer gets the message before: a compaction hides all earlier messages.
    is_hidden: bool,
}

impl Reader for GooseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        let is_head_line = super::is_head_line(root);
        if is_head_line || matches!(doc.kind, FrameKind::Head | FrameKind::Tail) {
            if doc.kind != FrameKind::Tail {
                // A file may hold several sessions.
                *self = Self::default();
            }
            self.around(root, out);
            let head = out.head(ItemKind::Notice(Notice { event_type: None }), Author::System);
            let item = out.start(head);
            out.complete(item);
            if is_head_line {
                count_session(root, out);
            }
            return;
        }
        let author = match root.str_or_empty("role") {
            "user" => Some(Author::User),
            "assistant" => Some(Author::Assistant),
            _ => None,
        };
        let content = root.get("content").filter(|content| content.kind() == Kind::Array);
        match (author, content) {
            (Some(_), Some(content)) if is_for_people(content) => show(root, content, out),
            (Some(author), Some(content)) => self.said(root, author, content, out),
            _ => {
                doc.report_foreign(super::DIALECT.name, out);
                let event_type = root.note_str("role", Field::NoticeType).filter(|role| !role.is("system"));
                let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
                let item = out.start(head);
                out.complete(item);
            }
        }
        let visible = root.get("metadata").and_then(|metadata| metadata.get("agentVisible")?.bool());
        self.is_hidden = visible == Some(false);
    }
}

impl GooseReader {
    /// Reads the facts of the session.
    fn around(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        let start = root.get("created_at").filter(Val::is_time);
        let name = root.note_str("name", Field::SessionTitle);
        let model = root.get("model_config");
        let told = Session {
            id: root.note_str("id", Field::SessionId),
            cwd: root.note_str("working_dir", Field::SessionCwd),
            title: name.or_else(|| root.note_str("description", Field::SessionTitle)),
            start: start.map(|start| start.note(Field::SessionStart)),
            parent: root.note_str("parent_session_id", Field::SessionParent),
            provider: root.note_str("provider_name", Field::SessionProvider),
            model: model.and_then(|model| model.note_str("model_name", Field::SessionModel)),
            permission_mode: root.note_str("goose_mode", Field::PermissionMode),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
    }

    fn said(&mut self, message: Val<'_>, author: Author, content: Val<'_>, out: &mut EventSink<'_>) {
        let metadata = message.get("metadata");
        let [inference, usage] = ["inference", "usage"].map(|name| metadata?.get(name));
        message.note_str("role", Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, author);
        head.origin = metadata.filter(|_| author == Author::User).and_then(|it| self.origin(it));
        head.model = inference.and_then(|inference| inference.take_str("requestedModel", Field::ItemModel));
        head.shape = shape(Some(content));
        let model = head.model.clone();
        let item = begin(head, message, out);
        let issuer = issuer(message);
        let mut provider = inference.and_then(|inference| inference.get("provider"));
        for (number, block) in content.elements().enumerate() {
            out.within(block, |out| {
                if matches!(block.str_or_empty("type"), "thinking" | "redactedThinking") && is_thought(block)
                {
                    read_thinking(block, &issuer, provider, item, out);
                    let has_state = !block.str_or_empty("signature").is_empty() || block.has_str("data");
                    provider = provider.filter(|_| !has_state);
                } else {
                    read_block(block, number as u32, item, out);
                }
            });
        }
        out.complete(item);
        if let Some(counts) = usage.filter(|usage| usage.kind() == Kind::Object) {
            let cost = counts.get("cost").filter(|cost| cost.kind() == Kind::Number);
            out.event(&Event::Usage(Turn {
                model,
                usage: Some(usage_of(counts, &MESSAGE_COUNTS)),
                cost: cost.map(|cost| cost.note(Field::Cost)),
                ..Turn::default()
            }));
        }
    }

    /// The origin of a user message that people do not see: Goose itself wrote it. The first such message after hidden
    /// messages is the summary of a compaction.
    fn origin(&self, metadata: Val<'_>) -> Option<Origin> {
        let visible = metadata.get("userVisible").filter(|visible| visible.bool() == Some(false))?;
        let [context, agent] = ["turnContext", "agentVisible"]
            .map(|name| metadata.get(name).and_then(|flag| flag.bool()).unwrap_or(name == "agentVisible"));
        visible.note(Field::ItemOrigin);
        Some(if self.is_hidden && agent && !context { Origin::Summary } else { Origin::Harness })
    }
}

/// Starts an item with the id and the time of a message.
fn begin<'t>(mut head: ItemHead<'t>, message: Val<'t>, out: &mut EventSink<'_>) -> ItemId {
    head.native_id = message.take_str("id", Field::ItemId);
    let time = message.get("created").filter(|time| time.u64().is_some());
    head.time = time.map(|time| time.take(Field::ItemTime));
    out.start(head)
}

/// Whether every block of a message is for people and never sent to a model.
fn is_for_people(content: Val<'_>) -> bool {
    let is_shown = |block: Val<'_>| {
        matches!(
            block.str_or_empty("type"),
            "systemNotification" | "actionRequired" | "toolConfirmationRequest"
        )
    };
    content.elements().next().is_some() && content.elements().all(is_shown)
}

/// Reads a message for people as a notice, named by its first block, with the text of a notification.
fn show(message: Val<'_>, content: Val<'_>, out: &mut EventSink<'_>) {
    let block = content.elements().next();
    let event_type = block.and_then(|block| block.note_str("type", Field::NoticeType));
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = begin(head, message, out);
    if let Some(text) = block.and_then(|block| block.take_str("msg", Field::NoticeText)) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

/// Whether a thinking block has a text or sealed state.
fn is_thought(block: Val<'_>) -> bool {
    block.has_str("thinking") || block.has_str("data")
}

/// `List` if more than one block is a part of the message or of the result itself.
fn shape(content: Option<Val<'_>>) -> Shape {
    shape_by(content, |block| match block.str_or_empty("type") {
        "text" => block.has_str("text"),
        "image" => block.has_str("data"),
        "resource" => resource(*block).is_some(),
        _ => false,
    })
}

/// The issuer of a message's state: the provider of its model. Older messages do not name the provider.
pub(super) fn issuer(message: Val<'_>) -> Str<'_> {
    let inference = message.get("metadata").and_then(|metadata| metadata.get("inference"));
    let provider = inference.and_then(|inference| inference.get("provider")?.str());
    provider.unwrap_or(Str::escaped(issuers::ANTHROPIC))
}

/// Reads a block other than thinking. A block of another type, and a call that Goose could not parse, is left unclaimed.
fn read_block(block: Val<'_>, number: u32, message: ItemId, out: &mut EventSink<'_>) {
    match block.str_or_empty("type") {
        "text" | "image" => read_part(block, number, (message, ItemKindTag::Message), out),
        // Older versions wrote thinking without a signature in this form.
        "reasoning" if block.has_str("text") => {
            block.note_str("type", Field::Structure);
            let item = start_reasoning(message, out);
            if let Some(text) = block.take_str("text", Field::ReasoningText) {
                out.delta(item, 0, Part::Text(text));
            }
            out.complete(item);
        }
        "toolRequest" | "frontendToolRequest" => {
            let Some(call) = value_of(block, "toolCall").filter(|call| call.has_str("name")) else { return };
            block.note_str("type", Field::Structure);
            let item = start_call(block.get("id"), call.get("name"), message, out);
            if let Some(arguments) = call.take_raw("arguments", Field::CallArgs) {
                out.delta(item, 0, Part::Args(Args::Json(arguments)));
            }
            out.complete(item);
        }
        "toolResponse" => read_result(block, message, out),
        _ => {}
    }
}

/// The value of a call or a result with the status `success`; notes the status.
fn value_of<'t>(block: Val<'t>, name: &str) -> Option<Val<'t>> {
    let outcome = block.get(name).filter(|outcome| outcome.str_or_empty("status") == "success")?;
    let value = outcome.get("value").filter(|value| matches!(value.kind(), Kind::Object | Kind::Array))?;
    outcome.note_str("status", Field::Structure);
    Some(value)
}

/// Reads a result: the content of the tool, or the error of a tool that could not run. In older
/// versions the value was the list of contents itself.
fn read_result(block: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
    let error = block.get("toolResult").filter(|outcome| outcome.str_or_empty("status") == "error");
    let error = error.filter(|outcome| outcome.has_str("error"));
    let value = value_of(block, "toolResult");
    if error.is_none() && value.is_none() {
        return;
    }
    block.note_str("type", Field::Structure);
    let content = value.and_then(contents);
    let result = ToolResult { call_id: block.take_str("id", Field::ResultCallId), name: None };
    let head = out.head(ItemKind::ToolResult(result), Author::Tool);
    let item = out.start(ItemHead { within: Some(message), shape: shape(content), ..head });
    let mut is_error = value.and_then(|value| value.take_bool("isError", Field::ResultIsError));
    if let Some(error) = error {
        error.note_str("status", Field::ResultIsError);
        is_error = Some(true);
        if let Some(text) = error.take_str("error", Field::ResultText) {
            out.delta(item, 0, Part::Text(text));
        }
    }
    for (number, part) in content.into_iter().flat_map(|content| content.elements()).enumerate() {
        out.within(part, |out| read_part(part, number as u32, (item, ItemKindTag::Result), out));
    }
    let exit_code = value.and_then(|value| value.get("structuredContent")?.get("exit_code"));
    let exit_code = exit_code.and_then(|code| {
        let number = code.text().parse::<i64>().ok()?;
        code.note(Field::ResultExitCode);
        Some(number)
    });
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail { is_error, exit_code, ..ItemTail::new(item, status) }));
}

/// The contents of a result.
pub(super) fn contents(value: Val<'_>) -> Option<Val<'_>> {
    let list = if value.kind() == Kind::Array { Some(value) } else { value.get("content") };
    list.filter(|list| list.kind() == Kind::Array)
}

/// The text of a resource that a tool returned.
fn resource(part: Val<'_>) -> Option<Val<'_>> {
    part.get("resource").filter(|resource| resource.has_str("text"))
}

/// Reads a text, a picture or the text of a resource as a part of a message or a result.
fn read_part(part: Val<'_>, number: u32, (item, of): (ItemId, ItemKindTag), out: &mut EventSink<'_>) {
    let read = match part.str_or_empty("type") {
        "text" => part.take_str("text", of.text()).map(Part::Text),
        "image" => part.take_str("data", of.media()).map(|data| {
            let media_type = part.take_str("mimeType", Field::MediaType);
            Part::Media(Media::new(media_type, MediaSource::Base64(data)))
        }),
        "resource" => resource(part).and_then(|it| it.take_str("text", of.text())).map(Part::Text),
        _ => None,
    };
    if let Some(read) = read {
        part.note_str("type", Field::Structure);
        out.delta(item, number, read);
    }
}

/// The names of the counts of a message: input, output, tokens read from the cache and written to it.
const MESSAGE_COUNTS: WantedNames<4> =
    WantedNames::new(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]);

/// The names of the counts of a session in the first line of an older file.
const SESSION_COUNTS: WantedNames<4> = WantedNames::new([
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "accumulated_cache_read_tokens",
    "accumulated_cache_write_tokens",
]);

/// Emits the counts of a session. Messages of older files have no counts of their own.
fn count_session(head: Val<'_>, out: &mut EventSink<'_>) {
    let usage = usage_of(head, &SESSION_COUNTS);
    if usage != Usage::default() {
        out.event(&Event::Usage(Turn { usage: Some(usage), ..Turn::default() }));
    }
}

/// The counts of a response. The input of Goose includes the tokens of the cache.
fn usage_of(counts: Val<'_>, names: &WantedNames<4>) -> Usage {
    let [input, output, read, written] = counts.find(names);
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
