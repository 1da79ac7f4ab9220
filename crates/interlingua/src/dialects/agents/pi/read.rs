//! Lines to events. A line with text of a user, model or tool is a message or a result; any other line is a notice,
//! whatever its type.

use crate::blocks::{is_content, shape_by, start_call, start_reasoning};
use crate::json::Str;
use crate::live::printed::take_millis;
use crate::log::{CountedLine, SessionTracker, words_of_unknown};
use crate::model::{
    Args, Author, Compaction, Event, Failure, FailureClass, Field, FileRef, ItemHead, ItemId, ItemKind,
    ItemKindTag, ItemTail, Media, MediaSource, Notice, Opaque, OpaqueKind, Origin, Part, Session, Shape,
    Status, Stop, StopClass, ToolResult, Turn, Usage, Words,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val};

#[derive(Default)]
pub(in crate::dialects::agents) struct PiReader {
    pub(in crate::dialects::agents) session: SessionTracker,
    /// The last line of the tree.
    leaf: Option<Str<'static>>,
    pub(in crate::dialects::agents) changes: Changes,
    counted: CountedLine,
}

/// The files that calls are about to change, by call id.
pub(in crate::dialects::agents) type Changes = Remembered<Str<'static>>;

impl Reader for PiReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let kind = line.str_or_empty("type");
        if kind.is_empty() {
            doc.report_foreign(super::DIALECT.name, out);
        }
        if kind == "session" && self.session.is_another(line.get("id")) {
            self.finish(out);
            *self = Self::default();
        }
        self.session(line, kind, out);
        let message = line.get("message").filter(|_| kind == "message");
        let holder = message.unwrap_or(line);
        let role = message.map_or(kind, |message| message.str_or_empty("role"));
        self.message(line, holder, role, out);
        if kind != "session"
            && let Some(id) = line.get("id").and_then(|id| id.str())
        {
            self.leaf = Some(id.into_owned());
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        // A file is a tree, and its active branch ends with the last line.
        if let Some(leaf) = self.leaf.take() {
            let session = Session { leaf: Some(leaf), ..Session::default() };
            self.session.tell(super::DIALECT.name, session, out);
        }
    }
}

impl PiReader {
    /// Reads a line by its role; `holder` is the message of the line, or the line itself.
    pub(in crate::dialects::agents) fn message(
        &mut self,
        line: Val<'_>,
        holder: Val<'_>,
        role: &str,
        out: &mut EventSink<'_>,
    ) {
        let content = holder.get("content").filter(is_content);
        match role {
            "user" | "assistant" | "custom" | "custom_message" | "hookMessage" if content.is_none() => {
                notice(line, holder, out);
            }
            "user" => self.said(line, holder, Author::User, None, out),
            "assistant" => {
                failed(holder, out);
                self.said(line, holder, Author::Assistant, None, out);
            }
            // Newer versions hold the prompt in `sections` and leave the content empty.
            "system" if content.is_some_and(|content| content.text() != "\"\"") => {
                self.said(line, holder, Author::System, None, out);
            }
            // An extension's message to the model. A `custom` line without a message is private to the extension.
            "custom_message" | "hookMessage" => {
                self.said(line, holder, Author::User, Some(Origin::Harness), out);
            }
            "custom" if holder.str_or_empty("role") == "custom" => {
                self.said(line, holder, Author::User, Some(Origin::Harness), out);
            }
            "toolResult" => self.result(line, holder, out),
            "bashExecution" if holder.has_str("command") && holder.has_str("output") => {
                texts(line, holder, &["command", "output"], Origin::Command, out);
            }
            "compaction" | "branch_summary" | "compactionSummary" | "branchSummary"
                if holder.has_str("summary") =>
            {
                if matches!(role, "compaction" | "compactionSummary") {
                    compacted(holder, out);
                }
                texts(line, holder, &["summary"], Origin::Summary, out);
            }
            _ => notice(line, holder, out),
        }
    }

    /// Reads the session values of a line.
    pub(in crate::dialects::agents) fn session(
        &mut self,
        line: Val<'_>,
        kind: &str,
        out: &mut EventSink<'_>,
    ) {
        let mut session = Session::default();
        match kind {
            "session" => {
                session.id = line.note_str("id", Field::SessionId);
                session.cwd = line.note_str("cwd", Field::SessionCwd);
                session.parent = line.note_str("parentSession", Field::SessionParent);
                let start = line.get("timestamp").filter(Val::is_time);
                session.start = start.map(|start| start.note(Field::SessionStart));
            }
            "session_info" => session.title = line.note_str("name", Field::SessionTitle),
            "thinking_level_change" => session.effort = line.note_str("thinkingLevel", Field::SessionEffort),
            // Other lines hold no session values.
            _ => {}
        }
        // Files of the first versions hold the model in their head.
        if matches!(kind, "session" | "model_change") {
            session.model = line.note_str("modelId", Field::SessionModel);
            session.provider = line.note_str("provider", Field::SessionProvider);
        }
        self.session.tell(super::DIALECT.name, session, out);
    }

    fn said(
        &mut self,
        line: Val<'_>,
        holder: Val<'_>,
        author: Author,
        origin: Option<Origin>,
        out: &mut EventSink<'_>,
    ) {
        note_author(line, holder);
        let content = holder.get("content");
        let mut head = out.head(ItemKind::Message, author);
        head.origin = origin;
        head.shape = shape(content);
        if author == Author::Assistant {
            head.model = holder.take_str("model", Field::ItemModel);
        }
        let model = head.model.clone();
        let item = begin(head, line, out);
        read_content(content, holder, (item, ItemKindTag::Message), &mut self.changes, out);
        out.complete(item);
        if usage_of(holder).is_some() && self.counted.is_new(line) {
            count(holder, model, out);
        }
    }

    fn result(&mut self, line: Val<'_>, holder: Val<'_>, out: &mut EventSink<'_>) {
        line.note_str("type", Field::Structure);
        holder.note_str("role", Field::Structure);
        self.answered(line, holder, holder, out);
    }

    /// Reads a result: `call` names the call and its outcome, `holder` has the content.
    pub(in crate::dialects::agents) fn answered(
        &mut self,
        line: Val<'_>,
        call: Val<'_>,
        holder: Val<'_>,
        out: &mut EventSink<'_>,
    ) {
        let content = holder.get("content");
        let call_id = call.take_str("toolCallId", Field::ResultCallId);
        let changed = call_id.as_ref().and_then(|id| self.changes.remove(id.as_escaped()));
        let name = call.take_str("toolName", Field::ResultName);
        let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id, name }), Author::Tool);
        head.shape = shape(content);
        let item = begin(head, line, out);
        read_content(content, holder, (item, ItemKindTag::Result), &mut self.changes, out);
        let is_error = call.take_bool("isError", Field::ResultIsError);
        let duration = call.get("durationMs").note_count(Field::ResultDuration);
        if let Some(path) = changed.filter(|_| is_error != Some(true)) {
            // Newer versions have a patch beside the displayed diff.
            let details = holder.get("details");
            let [patch, shown] = ["patch", "diff"]
                .map(|name| details.filter(|details| details.has_str(name)).map(|it| (it, name)));
            let diff = patch.or(shown).and_then(|(details, name)| details.take_str(name, Field::FileDiff));
            let action = Str::escaped(if diff.is_some() { "patch" } else { "write" });
            let number = content.map_or(0, |content| content.elements().count()) + 1;
            out.delta(item, number as u32, Part::File(FileRef { path, action, diff }));
        }
        let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
        out.event(&Event::ItemCompleted(ItemTail { is_error, duration, ..ItemTail::new(item, status) }));
    }
}

/// The real usage of a message.
fn usage_of(message: Val<'_>) -> Option<Val<'_>> {
    let usage = message.get("usage").filter(|usage| usage.kind() == Kind::Object);
    usage.filter(|usage| is_told(*usage, message))
}

/// Emits the usage of a message.
pub(in crate::dialects::agents) fn count(holder: Val<'_>, model: Option<Str<'_>>, out: &mut EventSink<'_>) {
    let Some(usage) = usage_of(holder) else { return };
    out.event(&Event::Usage(Turn {
        id: holder.note_str("responseId", Field::TurnId),
        model,
        stop: stop(holder),
        usage: Some(Usage {
            input: usage.note_u64("input", Field::UsageInput),
            cache_read: usage.note_u64("cacheRead", Field::UsageCacheRead),
            cache_write: usage.note_u64("cacheWrite", Field::UsageCacheWrite),
            output: usage.note_u64("output", Field::UsageOutput),
            reasoning: usage.note_u64("reasoning", Field::UsageReasoning),
            ..Usage::default()
        }),
        cost: usage.get("cost").and_then(|cost| cost.note_raw("total", Field::Cost)),
        ..Turn::default()
    }));
}

/// The stop reason of a message.
pub(in crate::dialects::agents) fn stop(message: Val<'_>) -> Option<Stop<'_>> {
    let raw = message.note_str("stopReason", Field::StopReason)?;
    let class = STOPS.value(&raw).unwrap_or(StopClass::Other);
    Some(Stop { class, raw: Some(raw), sequence: None, detail: None })
}

/// Fills the item's head from the line and starts the item.
fn begin<'t>(mut head: ItemHead<'t>, line: Val<'t>, out: &mut EventSink<'_>) -> ItemId {
    // The id and time of the file's head belong to the session.
    if line.str_or_empty("type") != "session" {
        head.native_id = line.take_str("id", Field::ItemId);
        head.parent = line.take_str("parentId", Field::ItemParent);
        let time = line.get("timestamp");
        head.time = time.and_then(|time| time.take_time(Field::ItemTime)).or_else(|| take_millis(time));
    }
    out.start(head)
}

/// A notice for a line outside the conversation, named by the line's type; for a message, by its role, which is not an
/// author.
fn notice(line: Val<'_>, holder: Val<'_>, out: &mut EventSink<'_>) {
    let role = holder.get("role").filter(|role| !role.is("system"));
    let role = role.and_then(|role| role.note_text(Field::NoticeType));
    let tag = if role.is_some() { Field::Structure } else { Field::NoticeType };
    let event_type = line.note_str("type", tag);
    let head = out.head(ItemKind::Notice(Notice { event_type: role.or(event_type) }), Author::System);
    let item = begin(head, line, out);
    // Unknown types come from extensions and later versions, and may have text.
    let words = if is_silent(line) { None } else { words_of_unknown(holder) };
    if let Some(words) = words {
        out.delta(item, 0, Part::Text(words));
    }
    out.complete(item);
}

/// Whether a line of this type has no text.
fn is_silent(line: Val<'_>) -> bool {
    matches!(
        line.str_or_empty("type"),
        "session" | "session_info" | "model_change" | "thinking_level_change" | "label" | "custom"
    )
}

/// Notes the tags that give the author.
fn note_author(line: Val<'_>, holder: Val<'_>) {
    line.note_str("type", Field::ItemAuthor);
    holder.note_str("role", Field::ItemAuthor);
}

/// Whether a message holds real usage. Pi requires counts, so a message built from another agent's session has zeros,
/// and its stop reason is a filler as well.
fn is_told(usage: Val<'_>, message: Val<'_>) -> bool {
    let counts =
        ["input", "output", "cacheRead", "cacheWrite"].into_iter().filter_map(|name| usage.get(name));
    counts.filter_map(|count| count.u64()).any(|count| count > 0)
        || !matches!(message.str_or_empty("stopReason"), "stop" | "toolUse")
}

const STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "stop"),
    (StopClass::ToolUse, "toolUse"),
    (StopClass::MaxTokens, "length"),
    (StopClass::Error, "error"),
    (StopClass::Cancelled, "aborted"),
]);

/// Emits the error of a failed response, which is beside its partial content.
fn failed(message: Val<'_>, out: &mut EventSink<'_>) {
    if let Some(text) = message.note_str("errorMessage", Field::ErrorMessage) {
        let class = FailureClass::Other;
        out.event(&Event::Error(Failure {
            class,
            status: None,
            code: None,
            message: text,
            request_id: None,
            retry_after: None,
        }));
    }
}

/// Emits the compaction; the summary is a message of its own.
fn compacted(holder: Val<'_>, out: &mut EventSink<'_>) {
    out.event(&Event::Compacted(Compaction {
        before: holder.note_u64("tokensBefore", Field::CompactionBefore),
        kept_from: holder.note_str("firstKeptEntryId", Field::CompactionKeptFrom),
        ..Compaction::default()
    }));
}

/// Emits a user message from named members: a summary, or a user's command and its output.
fn texts(line: Val<'_>, holder: Val<'_>, names: &[&str], origin: Origin, out: &mut EventSink<'_>) {
    note_author(line, holder);
    let mut head = out.head(ItemKind::Message, Author::User);
    head.origin = Some(origin);
    head.shape = if names.len() > 1 { Shape::List } else { Shape::One };
    let item = begin(head, line, out);
    for (number, name) in names.iter().enumerate() {
        if let Some(text) = holder.take_str(name, Field::MessageText) {
            out.delta(item, number as u32, Part::Text(text));
        }
    }
    out.complete(item);
}

/// Reads a string, or blocks. Unknown blocks without text are left unclaimed.
fn read_content(
    content: Option<Val<'_>>,
    message: Val<'_>,
    place: (ItemId, ItemKindTag),
    changes: &mut Changes,
    out: &mut EventSink<'_>,
) {
    let Some(content) = content else { return };
    let (item, of) = place;
    if let Some(text) = content.take_text(of.text()) {
        out.delta(item, 0, Part::Text(text));
    }
    for (number, block) in content.elements().enumerate() {
        out.within(block, |out| read_block((number as u32, block), message, place, changes, out));
    }
}

/// Reads a block with its number. An unknown block without text is left unclaimed.
pub(in crate::dialects::agents) fn read_block(
    (number, block): (u32, Val<'_>),
    message: Val<'_>,
    (item, of): (ItemId, ItemKindTag),
    changes: &mut Changes,
    out: &mut EventSink<'_>,
) {
    let part = match block.str_or_empty("type") {
        "text" if block.has_str("text") => block.take_str("text", of.text()).map(Part::Text),
        "image" if block.has_str("data") => block.take_str("data", of.media()).map(|data| {
            let media_type = block.take_str("mimeType", Field::MediaType);
            Part::Media(Media::new(media_type, MediaSource::Base64(data)))
        }),
        "thinking" if of == ItemKindTag::Message && block.has_str("thinking") => {
            thinking(block, message, item, out);
            None
        }
        "toolCall" if of == ItemKindTag::Message && block.has_str("name") => {
            call(block, message, item, changes, out);
            None
        }
        // Read the text of any block type.
        _ => {
            if let Some(text) = block.take_str("text", of.text()) {
                out.delta(item, number, Part::Text(text));
            }
            return;
        }
    };
    block.note_str("type", Field::Structure);
    if let Some(part) = part {
        out.delta(item, number, part);
    }
}

fn thinking(block: Val<'_>, message: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    let item = start_reasoning(within, out);
    let redacted = block.get("redacted").filter(|redacted| redacted.bool() == Some(true));
    let kind = if let Some(redacted) = redacted {
        // The text of a redacted block is a placeholder.
        redacted.note(Field::Structure);
        OpaqueKind::Encrypted
    } else {
        if let Some(text) = block.take_str("thinking", Field::ReasoningText) {
            out.delta(item, 0, Part::Text(text));
        }
        OpaqueKind::Signature
    };
    if let Some(opaque) = opaque(block, "thinkingSignature", kind, message) {
        out.delta(item, 1, Part::Opaque(opaque));
    }
    out.complete(item);
}

/// Remembers the file that a call is about to change.
pub(in crate::dialects::agents) fn remember_change(call: Val<'_>, changes: &mut Changes) {
    if matches!(call.str_or_empty("name"), "edit" | "write")
        && let Some(path) = call.get("arguments").and_then(|arguments| arguments.get("path")?.str())
    {
        // A call displaced from the bounded memory never had a result.
        let _ = changes.insert(call.str_or_empty("id"), path.into_owned());
    }
}

fn call(block: Val<'_>, message: Val<'_>, within: ItemId, changes: &mut Changes, out: &mut EventSink<'_>) {
    remember_change(block, changes);
    let item = start_call(block.get("id"), block.get("name"), within, out);
    if let Some(arguments) = block.take_raw("arguments", Field::CallArgs) {
        out.delta(item, 0, Part::Args(Args::Json(arguments)));
    }
    if let Some(opaque) = opaque(block, "thoughtSignature", OpaqueKind::Signature, message) {
        out.delta(item, 1, Part::Opaque(opaque));
    }
    out.complete(item);
}

/// Opaque state of the message's provider. For OpenAI the value is a whole item as JSON, and for many others the name
/// of the member that held the thinking: only Pi uses these values, so they are left unclaimed.
pub(in crate::dialects::agents) fn opaque<'t>(
    block: Val<'t>,
    name: &str,
    kind: OpaqueKind,
    message: Val<'t>,
) -> Option<Opaque<'t>> {
    let text = block.str_or_empty(name);
    let is_state = !(text.is_empty() || text.starts_with('{') || text.starts_with("reasoning"));
    let value = block.get(name).filter(|_| is_state)?;
    message.note_str("provider", Field::Issuer);
    let issuer = issuer(message);
    Some(Opaque { kind, issuer, value: value.take_text(kind.field())? })
}

/// The issuer of a message's opaque state.
pub(super) fn issuer(message: Val<'_>) -> Str<'_> {
    message.get("provider").and_then(|provider| provider.str()).unwrap_or(Str::escaped("unknown"))
}

fn shape(content: Option<Val<'_>>) -> Shape {
    shape_by(content, |block| block.has_str("text") || block.str_or_empty("type") == "image")
}
