//! Lines to events. A line of a user or model is a message, a tool's output is a result, and any other line is a
//! notice. A line with a known meaning emits an event before its notice ([`super::happened`]).

use std::collections::VecDeque;

use super::line::CopilotLine;
use super::usage::Accounts;
use crate::json::{JsonBuffer, Raw, Str};
use crate::ledger::text_key;
use crate::log::{SessionTracker, words_of_unknown};
use crate::model::{
    Args, Author, CallKind, Field, FileRef, ItemHead, ItemId, ItemKind, Media, MediaSource, Notice, Opaque,
    OpaqueKind, Origin, Part, Session, Shape, ToolCall, Turn, issuers,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(in crate::dialects::agents) struct CopilotLogReader {
    pub(in crate::dialects::agents) session: SessionTracker,
    pub(in crate::dialects::agents) accounts: Accounts,
    /// The current response, which a further line may extend.
    answer: Option<OpenAnswer>,
    /// Lines joined to the item of an earlier line: the key of the line's id, and the item's id.
    joined: VecDeque<(u128, Str<'static>)>,
    /// Calls whose tool has not started: the key of the arguments.
    pub(in crate::dialects::agents) calls: Remembered<u128>,
    /// The actions of the open permission requests.
    pub(super) requests: Remembered<Str<'static>>,
    /// The key of the last reasoning text.
    pub(in crate::dialects::agents) thoughts: u128,
    /// Whether the lines are printed: the parent of a line may be a line that is no item.
    pub(in crate::dialects::agents) is_printed: bool,
    /// Buffer for a notice's data.
    told: JsonBuffer,
}

/// One model response that may be written as several consecutive messages: each has reasoning and text, and only the
/// last has calls. Some versions number the messages (`chunkIndex`).
struct OpenAnswer {
    item: ItemId,
    id: Str<'static>,
    frame: u64,
    /// Keys of the values all pieces share: the API call and the phase.
    marks: (u128, u128),
    /// Number of parts so far.
    parts: u32,
    /// The response's metadata and its model.
    turn: Turn<'static>,
    model: String,
}

impl Reader for CopilotLogReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = CopilotLine::new(doc.root);
        let word = line.word();
        if word.is_empty() {
            doc.report_foreign(super::DIALECT.name, out);
        }
        if line.is_ephemeral() && QUIET.contains(&word) {
            return self.quiet(&line, out);
        }
        if word == "assistant.message" && line.data.has_str("content") {
            return self.answer(&line, out);
        }
        self.close(out);
        if word == "session.start" && self.session.is_another(line.data.get("sessionId")) {
            self.accounts.finish(out);
            *self = Self { is_printed: self.is_printed, ..Self::default() };
        }
        if !matches!(word, "session.usage_record" | "assistant.usage" | "assistant.reasoning") {
            self.accounts.flush(&line, out);
        }
        let content = line.data.get("content").filter(|content| content.kind() == Kind::String);
        match word {
            "user.message" if content.is_some() => self.user(&line, out),
            "system.message" if content.is_some() => self.system(&line, out),
            "system.notification" if content.is_some() => {
                self.said(&line, Author::User, Some(Origin::Harness), "content", out);
            }
            "tool.execution_complete" if line.data.has_str("toolCallId") => self.result(&line, out),
            "session.binary_asset" if line.data.has_str("data") => self.asset(&line, out),
            "assistant.reasoning" => {
                self.repeated_thoughts(&line);
                self.notice(&line, &[], out);
            }
            _ => self.happened(&line, out),
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.close(out);
        self.accounts.finish(out);
    }
}

impl CopilotLogReader {
    /// Emits new session values of a line. A subagent's line does not change the session.
    pub(super) fn tell(&mut self, line: &CopilotLine<'_>, told: Session<'_>, out: &mut EventSink<'_>) {
        if line.agent().is_empty() && !told.is_old_news(self.session.known()) {
            line.clock(out);
            self.session.tell(super::DIALECT.name, told, out);
        }
    }

    /// A line that repeats pieces of a whole line: it stays with the preceding line.
    fn quiet(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        self.repeated_thoughts(line);
        if let Some(open) = self.answer.as_mut().filter(|open| open.frame + 1 == out.frame_number()) {
            open.frame += 1;
        } else {
            self.close(out);
        }
    }

    /// Reasoning is in its message and is repeated in a line of its own.
    fn repeated_thoughts(&self, line: &CopilotLine<'_>) {
        let content = line.data.get("content").filter(|_| line.word() == "assistant.reasoning");
        if let Some(content) = content.filter(|content| value_key(*content) == self.thoughts) {
            content.note_text(Field::ReasoningText);
        }
    }

    /// Completes the current response: no further piece follows.
    pub(in crate::dialects::agents) fn close(&mut self, out: &mut EventSink<'_>) {
        if let Some(OpenAnswer { item, turn, model, .. }) = self.answer.take() {
            out.complete(item);
            if turn != Turn::default() {
                self.accounts.tell(&turn, &model, out);
            }
        }
    }

    /// Fills the item's head from the line. The parent line may have been joined to an earlier item.
    pub(in crate::dialects::agents) fn begin<'t>(
        &self,
        mut head: ItemHead<'t>,
        line: &CopilotLine<'t>,
    ) -> ItemHead<'t> {
        line.begin(&mut head);
        if self.is_printed {
            head.parent = None;
            line.parent.note_text(Field::Padding);
            return head;
        }
        let parent = line.parent.map(value_key);
        let joined = self.joined.iter().find(|(id, _)| parent == Some(*id));
        if let (Some((_, item)), Some(parent)) = (joined, line.parent) {
            parent.note_text(Field::ItemParent);
            head.parent = Some(item.clone());
        }
        head
    }

    /// A message with a single text.
    pub(super) fn said(
        &mut self,
        line: &CopilotLine<'_>,
        author: Author,
        origin: Option<Origin>,
        member: &str,
        out: &mut EventSink<'_>,
    ) {
        line.kind.note_text(Field::Structure);
        let mut head = out.head(ItemKind::Message, author);
        head.origin = origin;
        head.parent_call = line.data.take_str("parentToolCallId", Field::ItemParentCall);
        let item = out.start(self.begin(head, line));
        if let Some(text) = line.data.take_str(member, Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        out.complete(item);
    }

    fn system(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let role = line.data.get("role");
        let author = match role.word() {
            "developer" => Author::Developer,
            "system" => Author::System,
            _ => return self.said(line, Author::System, None, "content", out),
        };
        role.note_text(Field::ItemAuthor);
        self.said(line, author, None, "content", out);
    }

    fn user(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> =
            WantedNames::new(["content", "attachments", "agentMode", "parentToolCallId"]);
        let [content, attachments, mode, parent_call] = line.data.find(&WANTED);
        let permission_mode = mode.note_text(Field::PermissionMode);
        self.tell(line, Session { permission_mode, ..Session::default() }, out);
        line.kind.note_text(Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, Author::User);
        head.origin = origin(line);
        head.parent_call = parent_call.take_text(Field::ItemParentCall);
        let attached = || attachments.into_iter().flat_map(|list| list.elements());
        let several = attached().any(|attachment| is_attached(attachment));
        head.shape = if several { Shape::List } else { Shape::One };
        let item = out.start(self.begin(head, line));
        if let Some(text) = content.take_text(Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        for (number, attachment) in attached().enumerate() {
            if let Some(part) = read_attachment(attachment) {
                out.delta(item, number as u32 + 1, part);
            }
        }
        out.complete(item);
    }

    /// A response, or a piece of a response: reasoning, text and calls.
    fn answer(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<8> = WantedNames::new([
            "content",
            "model",
            "phase",
            "chunkIndex",
            "chunkCount",
            "apiCallId",
            "parentToolCallId",
            "toolRequests",
        ]);
        let [content, model, phase, index, count, call, parent_call, requests] = line.data.find(&WANTED);
        let piece = index.and_then(|index| index.u64()).zip(count.and_then(|count| count.u64()));
        let marks = (call.map_or(0, value_key), phase.map_or(0, value_key));
        let frame = out.frame_number();
        let goes_on = |open: &OpenAnswer| {
            open.frame + 1 == frame && open.marks == marks && piece.is_none_or(|(index, _)| index > 0)
        };
        if !self.answer.as_ref().is_some_and(goes_on) {
            self.close(out);
        }
        line.kind.note_text(Field::ItemAuthor);
        let mut turn = self.accounts.of_answer(line.data);
        if turn != Turn::default() {
            turn.model = turn.model.or_else(|| model.and_then(|model| model.str()));
        }
        let mut open = if let Some(open) = self.answer.take() {
            self.join(line, open, turn)
        } else {
            let session_model = self.session.known().model.as_ref().map_or("", Str::as_escaped);
            let model_word = if model.word().is_empty() { session_model } else { model.word() }.to_owned();
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            head.model = model.take_text(Field::ItemModel);
            head.phase = phase.take_text(Field::ItemPhase);
            head.parent_call = parent_call.take_text(Field::ItemParentCall);
            let item = out.start(self.begin(head, line));
            let (id, turn) = (Str::escaped(line.id.word()).into_owned(), turn.into_owned());
            OpenAnswer { item, id, frame, marks, parts: 0, turn, model: model_word }
        };
        open.frame = frame;
        let item = open.item;
        self.thinking(line.data, item, out);
        let text = content.filter(|content| content.text() != "\"\"");
        if let Some(text) = text.take_text(Field::MessageText) {
            out.delta(item, open.parts, Part::Text(text));
            open.parts += 1;
        } else {
            // A response with only calls has empty content.
            content.note_text(Field::Structure);
        }
        let mut calls = false;
        for request in requests.into_iter().flat_map(|requests| requests.elements()) {
            calls = true;
            out.within(request, |out| self.call(request, item, out));
        }
        self.answer = Some(open);
        let is_last = calls || call.is_none() || piece.is_some_and(|(index, count)| index + 1 >= count);
        if is_last {
            self.close(out);
        }
    }

    /// Joins a further piece to the response. The piece's id, time and parent remain in its line; its child lines
    /// become children of the response.
    fn join(&mut self, line: &CopilotLine<'_>, mut open: OpenAnswer, turn: Turn<'_>) -> OpenAnswer {
        if let Some(id) = line.id {
            if self.joined.len() == MOST_JOINED {
                self.joined.pop_front();
            }
            self.joined.push_back((value_key(id), open.id.clone()));
        }
        let Turn { request_id, usage, .. } = turn.into_owned();
        open.turn.request_id = open.turn.request_id.or(request_id);
        open.turn.usage = open.turn.usage.or(usage);
        open
    }

    pub(in crate::dialects::agents) fn thinking(
        &mut self,
        data: Val<'_>,
        within: ItemId,
        out: &mut EventSink<'_>,
    ) {
        const WANTED: WantedNames<3> =
            WantedNames::new(["reasoningText", "reasoningOpaque", "encryptedContent"]);
        let members = data.find(&WANTED).map(|member| member.filter(|member| member.kind() == Kind::String));
        if members.iter().all(Option::is_none) {
            return;
        }
        let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
        head.within = Some(within);
        let item = out.start(head);
        let [text, ..] = members;
        self.thoughts = text.map_or(0, value_key);
        if let Some(text) = text.take_text(Field::ReasoningText) {
            out.delta(item, 0, Part::Text(text));
        }
        states(data, item, out);
        out.complete(item);
    }

    pub(in crate::dialects::agents) fn call(
        &mut self,
        request: Val<'_>,
        within: ItemId,
        out: &mut EventSink<'_>,
    ) {
        const WANTED: WantedNames<4> = WantedNames::new(["toolCallId", "name", "arguments", "type"]);
        let [id, name, arguments, kind] = request.find(&WANTED);
        let Some(name) = name.take_text(Field::CallName) else { return };
        let known = match kind.word() {
            // The type may be missing.
            "function" | "" => CallKind::Function,
            "custom" => CallKind::FreeText,
            _ => CallKind::Vendor,
        };
        kind.note_text(Field::CallKind);
        self.calls.insert(id.word(), arguments.map_or(0, value_key));
        let call = ToolCall { call_id: id.take_text(Field::CallId), kind: known, namespace: None, name };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        head.within = Some(within);
        let item = out.start(head);
        // A string with JSON becomes the parsed value, from which the exact string cannot be restored. So note the
        // string instead of taking it.
        let text = match known {
            CallKind::FreeText => arguments.take_text(Field::CallArgs),
            _ => arguments.note_text(Field::CallArgs),
        };
        let args = match text {
            Some(text) => Some(Args::Text(text)),
            None => arguments.filter(|val| !val.is_null()).map(|val| Args::Json(val.take(Field::CallArgs))),
        };
        if let Some(args) = args {
            out.delta(item, 0, Part::Args(args));
        }
        out.complete(item);
    }

    /// The bytes of a picture or file, emitted at the asset's own line; other lines refer to the asset's id.
    fn asset(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["assetId", "mimeType", "data"]);
        let [id, media_type, data] = line.data.find(&WANTED);
        let event_type = line.kind.note_text(Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(self.begin(head, line));
        if let Some(data) = data.take_text(Field::MessageMedia) {
            let media_type = media_type.take_text(Field::MediaType);
            let name = id.take_text(Field::MediaName);
            let media = Media { name, ..Media::new(media_type, MediaSource::Base64(data)) };
            out.delta(item, 0, Part::Media(media));
        }
        out.complete(item);
    }

    /// A notice for a line outside the conversation, named by the line's type. The notice holds the members in `tells`;
    /// the other members are repetition or bookkeeping and are left unclaimed.
    pub(super) fn notice(&mut self, line: &CopilotLine<'_>, tells: &[&str], out: &mut EventSink<'_>) {
        let event_type = line.kind.note_text(Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(self.begin(head, line));
        self.told.clear();
        let mut json = self.told.hold();
        json.object();
        let mut any = false;
        for name in tells {
            if let Some(val) = line.data.get(name).filter(|val| !val.is_null()) {
                any = true;
                json.key(name).raw(&val.note(Field::NoticeData));
            }
        }
        json.end_object();
        if any {
            out.delta(item, 0, Part::Json(Raw::new(self.told.held())));
        }
        out.complete(item);
    }

    /// A notice for a line of an unknown type, with its text.
    pub(super) fn notice_with_words(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let event_type = line.kind.note_text(Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(self.begin(head, line));
        if let Some(words) = words_of_unknown(line.data) {
            out.delta(item, 0, Part::Text(words));
        }
        out.complete(item);
    }

    /// A notice for a line with all its data, in Copilot's own form.
    pub(super) fn notice_with_data(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let event_type = line.kind.note_text(Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(self.begin(head, line));
        if let Some(data) = line.root.get("data").filter(|data| data.leaves() > 1 || !is_empty(*data)) {
            out.delta(item, 0, Part::Json(data.take(Field::NoticeData)));
        }
        out.complete(item);
    }
}

/// The origin of a user message, where the line records it: Copilot also writes messages as the user.
fn origin(line: &CopilotLine<'_>) -> Option<Origin> {
    if let Some(mark) = line.data.get("isAutopilotContinuation").filter(|mark| mark.bool() == Some(true)) {
        mark.note(Field::ItemOrigin);
        return Some(Origin::Harness);
    }
    let Some(source) = line.data.get("source") else {
        // A subagent's prompt comes from the agent that started it.
        return (!line.agent().is_empty()).then_some(Origin::Agent);
    };
    let origin = match Some(source).word() {
        "user" | "human" => Origin::Own,
        "system" | "instruction-discovery" => Origin::Harness,
        // The suffix holds the agent's name and is left unclaimed.
        word if word.starts_with("agent-") => return Some(Origin::Agent),
        word if word.starts_with("command-") => return Some(Origin::Command),
        // `skill-…`, `schedule-…` and others: not typed by a person.
        _ => return Some(Origin::Harness),
    };
    source.note_text(Field::ItemOrigin);
    Some(origin)
}

fn is_attached(attachment: Val<'_>) -> bool {
    match attachment.str_or_empty("type") {
        "file" | "directory" => attachment.has_str("path"),
        "selection" => attachment.has_str("filePath"),
        "blob" => attachment.has_str("data") || attachment.has_str("assetId"),
        _ => false,
    }
}

/// An attachment of a message. Unknown types are left unclaimed.
fn read_attachment(attachment: Val<'_>) -> Option<Part<'_>> {
    if !is_attached(attachment) {
        return None;
    }
    attachment.note_str("type", Field::Structure);
    if attachment.str_or_empty("type") == "blob" {
        let source = read_source(attachment, Field::MessageMedia)?;
        let media_type = attachment.take_str("mimeType", Field::MediaType);
        let name = attachment.take_str("displayName", Field::MediaName);
        return Some(Part::Media(Media { name, ..Media::new(media_type, source) }));
    }
    let path = attachment.take_str("path", Field::FilePath);
    let path = path.or_else(|| attachment.take_str("filePath", Field::FilePath))?;
    Some(Part::File(FileRef { path, action: Str::escaped("read"), diff: None }))
}

/// The source of media: inline data, or an earlier asset.
pub(super) fn read_source(holder: Val<'_>, field: Field) -> Option<MediaSource<'_>> {
    let here = holder.take_str("data", field).map(MediaSource::Base64);
    here.or_else(|| holder.take_str("assetId", field).map(MediaSource::File))
}

/// The key of a value's text.
pub(in crate::dialects::agents) fn value_key(val: Val<'_>) -> u128 {
    text_key(val.text())
}

fn is_empty(val: Val<'_>) -> bool {
    val.members().next().is_none()
}

/// Number of joined lines that later lines may refer to.
pub(super) const MOST_JOINED: usize = 64;

/// Types of lines printed while an operation runs; a whole line follows.
const QUIET: &[&str] = &[
    "assistant.idle",
    "assistant.message_delta",
    "assistant.message_start",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.streaming_delta",
    "assistant.tool_call_delta",
    "assistant.turn_retry",
    "model.call_final_result",
    "model.call_finished",
    "model.call_start",
    "pending_messages.modified",
    "session.background_tasks_changed",
    "session.idle",
    "session.todos_changed",
    "session.tools_updated",
    "session.usage_info",
    "tool.execution_partial_result",
    "tool.shell_output",
];

/// Emits the opaque state of reasoning. Copilot sends both values back to their issuer, within the session.
pub(in crate::dialects::agents) fn states(data: Val<'_>, item: ItemId, out: &mut EventSink<'_>) {
    let states = [("reasoningOpaque", OpaqueKind::Signature), ("encryptedContent", OpaqueKind::Encrypted)];
    for (number, (name, kind)) in (1..).zip(states) {
        if let Some(value) = data.take_str(name, kind.field()) {
            let issuer = Str::escaped(issuers::COPILOT);
            out.delta(item, number, Part::Opaque(Opaque { kind, issuer, value }));
        }
    }
}
