//! Messages to events. The members before and after the messages describe the session; each side is a notice.

use crate::blocks::{shape_by, start_call, start_reasoning};
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::SessionTracker;
use crate::model::{
    Args, Author, Event, Failure, FailureClass, Field, ItemId, ItemKind, ItemTail, Media, MediaSource,
    Notice, Opaque, OpaqueKind, Origin, Part, Session, Status, Stop, StopClass, Turn, Usage, Words,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct AmpReader {
    session: SessionTracker,
    /// Names of the called tools, by call id.
    tools: Remembered<Str<'static>>,
}

impl Reader for AmpReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let author = match doc.root.str_or_empty("role") {
            "user" => Some(Author::User),
            "assistant" => Some(Author::Assistant),
            // Text that Amp injects, such as a summary of another thread.
            "info" => Some(Author::User),
            _ => None,
        };
        let around = matches!(doc.kind, FrameKind::Head | FrameKind::Tail);
        let content = doc.root.get("content").filter(|content| content.kind() == Kind::Array);
        match (author, content) {
            (Some(author), Some(content)) if !around => {
                self.remember(content);
                self.said(doc.root, author, content, out);
            }
            _ if around => {
                if doc.kind == FrameKind::Head {
                    // A file may hold several threads.
                    self.session = SessionTracker::default();
                }
                self.thread(doc.root, out);
                notice(None, out);
            }
            _ => {
                doc.report_foreign(super::DIALECT.name, out);
                notice(doc.root.note_str("role", Field::NoticeType).filter(|role| !role.is("system")), out);
            }
        }
    }
}

impl AmpReader {
    fn thread(&mut self, thread: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<5> = WantedNames::new(["id", "created", "title", "env", "usageLedger"]);
        let [id, created, title, env, ledger] = thread.find(&WANTED);
        let initial = env.and_then(|env| env.get("initial"));
        let first_tree = || initial?.get("trees")?.elements().next()?.get("uri");
        let cwd = first_tree().filter(|uri| Some(*uri).word().starts_with(FILE));
        let platform = initial.and_then(|initial| initial.get("platform"));
        let told = Session {
            id: id.note_text(Field::SessionId),
            start: created.filter(|time| time.u64().is_some()).map(|time| time.note(Field::SessionStart)),
            title: title.note_text(Field::SessionTitle),
            cwd: cwd.map(|uri| path_of(uri, Field::SessionCwd)),
            cli_version: platform
                .and_then(|platform| platform.note_str("clientVersion", Field::SessionVersion)),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
        let events = ledger.and_then(|ledger| ledger.get("events"));
        for event in events.into_iter().flat_map(|events| events.elements()) {
            ledger_event(event, out);
        }
    }
}

/// A model call of Amp outside the conversation. Responses within the conversation hold their own usage.
fn ledger_event(event: Val<'_>, out: &mut EventSink<'_>) {
    let tokens = event.get("tokens").filter(|_| event.str_or_empty("operationType") == "title-generation");
    let Some(tokens) = tokens else { return };
    event.note_str("operationType", Field::Structure);
    let usage = Usage {
        input: tokens.note_u64("input", Field::UsageInput),
        output: tokens.note_u64("output", Field::UsageOutput),
        ..Usage::default()
    };
    out.event(&Event::Usage(Turn {
        id: event.note_str("id", Field::TurnId),
        model: event.note_str("model", Field::TurnModel),
        usage: Some(usage),
        ..Turn::default()
    }));
}

fn notice(event_type: Option<Str<'_>>, out: &mut EventSink<'_>) {
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    out.complete(item);
}

impl AmpReader {
    /// Stores the tool names of a message's calls until the results arrive.
    fn remember(&mut self, content: Val<'_>) {
        for block in content.elements().filter(|block| block.str_or_empty("type") == "tool_use") {
            if let Some(name) = block.get("name").and_then(|name| name.str()) {
                // A call displaced from the bounded memory never had a result.
                let _ = self.tools.insert(block.str_or_empty("id"), name.into_owned());
            }
        }
    }

    fn said(&mut self, message: Val<'_>, author: Author, content: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<5> = WantedNames::new(["role", "messageId", "meta", "state", "usage"]);
        let [role, id, meta, state, usage] = message.find(&WANTED);
        let usage = usage.filter(|usage| usage.kind() == Kind::Object);
        role.note_text(Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, author);
        let holds = |kind: &str| content.elements().any(|block| block.str_or_empty("type") == kind);
        head.origin = if holds("summary") {
            Some(Origin::Summary)
        } else {
            (role.word() == "info").then_some(Origin::Harness)
        };
        head.native_id = id.filter(|id| id.u64().is_some()).map(|id| number(id, Field::ItemId));
        let sent = meta.and_then(|meta| meta.get("sentAt")).filter(|sent| sent.u64().is_some());
        head.time = sent.map(|sent| sent.take(Field::ItemTime));
        if let Some(usage) = usage {
            head.model = usage.take_str("model", Field::ItemModel);
            if head.time.is_none() {
                head.time = usage.get("timestamp").take_time(Field::ItemTime);
            }
        }
        head.shape = shape_by(Some(content), |block| {
            block.has_str("text") || matches!(block.str_or_empty("type"), "image" | "summary")
        });
        let model = head.model.clone();
        failed(state, out);
        for block in content.elements() {
            out.within(block, |out| super::results::decided(block, &mut self.tools, out));
        }
        let item = out.start(head);
        for (number, block) in content.elements().enumerate() {
            out.within(block, |out| read_block(block, number as u32, item, out));
        }
        out.event(&Event::ItemCompleted(tail(item, state)));
        if let Some(usage) = usage {
            let turn = Turn { model, stop: stop(state), usage: Some(counts(usage)), ..Turn::default() };
            out.event(&Event::Usage(turn));
        }
    }
}

/// A failed response holds its error in `state`.
fn failed(state: Option<Val<'_>>, out: &mut EventSink<'_>) {
    let error = state.and_then(|state| state.get("error"));
    let told = error.note_text(Field::ErrorMessage);
    if let Some(message) = told.or_else(|| error?.note_str("message", Field::ErrorMessage)) {
        let (class, status, code) = (FailureClass::Other, None, None);
        out.event(&Event::Error(Failure {
            class,
            status,
            code,
            message,
            request_id: None,
            retry_after: None,
        }));
    }
}

/// A number as a string.
fn number(val: Val<'_>, field: Field) -> Str<'_> {
    val.take(field);
    Str::escaped(val.text())
}

/// The status of a message: nearly all messages are complete.
fn tail(item: ItemId, state: Option<Val<'_>>) -> ItemTail<'_> {
    let kind = state.and_then(|state| state.get("type"));
    let status = match kind.word() {
        "" | "complete" => Status::Completed,
        "error" => Status::Failed,
        _ => Status::Interrupted,
    };
    if status == Status::Completed {
        kind.note_text(Field::ItemStatus);
        return ItemTail::new(item, status);
    }
    ItemTail { native_status: kind.take_text(Field::ItemStatus), ..ItemTail::new(item, status) }
}

/// The stop reason of a response. Amp requires `stopReason`; without usage beside it the value may be made up, so the
/// reader does not emit it.
fn stop(state: Option<Val<'_>>) -> Option<Stop<'_>> {
    let raw = state?.note_str("stopReason", Field::StopReason)?;
    let class = STOPS.value(&raw).unwrap_or(StopClass::Other);
    Some(Stop { class, raw: Some(raw), sequence: None, detail: None })
}

const STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "end_turn"),
    (StopClass::ToolUse, "tool_use"),
    (StopClass::MaxTokens, "max_tokens"),
    (StopClass::Sequence, "stop_sequence"),
    (StopClass::Refusal, "refusal"),
    (StopClass::Paused, "pause_turn"),
]);

fn counts(usage: Val<'_>) -> Usage {
    const WANTED: WantedNames<4> =
        WantedNames::new(["inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"]);
    let [input, output, written, read] = usage.find(&WANTED);
    Usage {
        input: input.note_count(Field::UsageInput),
        cache_read: read.note_count(Field::UsageCacheRead),
        cache_write: written.note_count(Field::UsageCacheWrite),
        output: output.note_count(Field::UsageOutput),
        ..Usage::default()
    }
}

/// Unknown blocks without text are left unclaimed.
fn read_block(block: Val<'_>, number: u32, within: ItemId, out: &mut EventSink<'_>) {
    let kind = block.get("type");
    match kind.word() {
        "text" if block.has_str("text") => {
            if let Some(text) = block.take_str("text", Field::MessageText) {
                out.delta(within, number, Part::Text(text));
            }
        }
        "image" if image_data(block).is_some() => {
            let source = block.get("source");
            let data = image_data(block).take_text(Field::MessageMedia).unwrap_or_default();
            let media_type = source.and_then(|source| source.take_str("mediaType", Field::MediaType));
            out.delta(within, number, Part::Media(Media::new(media_type, MediaSource::Base64(data))));
        }
        "thinking" if block.has_str("thinking") => thinking(block, within, out),
        "redacted_thinking" if block.has_str("data") => thinking(block, within, out),
        "tool_use" if block.has_str("name") => call(block, within, out),
        "tool_result" if block.has_str("toolUseID") => super::results::read(block, within, out),
        "summary" if block.get("summary").is_some_and(|summary| summary.has_str("summary")) => {
            let summary = block.get("summary").and_then(|it| it.take_str("summary", Field::MessageText));
            if let Some(text) = summary {
                out.delta(within, number, Part::Text(text));
            }
        }
        // Read the text of any block type.
        _ => {
            if let Some(text) = block.take_str("text", Field::MessageText) {
                out.delta(within, number, Part::Text(text));
            }
            return;
        }
    }
    kind.note_text(Field::Structure);
}

fn image_data(block: Val<'_>) -> Option<Val<'_>> {
    let source = block.get("source").filter(|source| source.str_or_empty("type") == "base64")?;
    source.get("data").filter(|data| data.kind() == Kind::String)
}

fn thinking(block: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    let item = start_reasoning(within, out);
    if let Some(text) = block.take_str("thinking", Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    for (name, kind) in [("signature", OpaqueKind::Signature), ("data", OpaqueKind::Encrypted)] {
        let state = block.get(name).filter(|state| state.text() != "\"\"");
        if let Some(value) = state.take_text(kind.field()) {
            block.note_str("provider", Field::Issuer);
            out.delta(item, 1, Part::Opaque(Opaque { kind, issuer: issuer(block), value }));
        }
    }
    out.complete(item);
}

/// The issuer of a block's opaque state: older threads used a single provider.
pub(super) fn issuer(block: Val<'_>) -> Str<'_> {
    let provider = block.get("provider").and_then(|provider| provider.str());
    provider.unwrap_or(Str::escaped(crate::model::issuers::ANTHROPIC))
}

fn call(block: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    let item = start_call(block.get("id"), block.get("name"), within, out);
    if let Some(input) = block.take_raw("input", Field::CallArgs) {
        out.delta(item, 0, Part::Args(Args::Json(input)));
    }
    out.complete(item);
}

/// The path in a file URI.
pub(super) fn path_of(uri: Val<'_>, field: Field) -> Str<'_> {
    uri.note(field);
    let word = Some(uri).word();
    Str::escaped(word.strip_prefix(FILE).unwrap_or(word))
}

/// Prefix of a file URI.
pub(super) const FILE: &str = "file://";
