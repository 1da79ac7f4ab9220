//! Lines to events: distinguishes the two files, and reads the messages of `context.jsonl`. [`super::wire`] reads
//! `wire.jsonl`.

use super::calls::UnansweredCall;
use crate::blocks::{is_content, shape_by, start_call, start_reasoning};
use crate::dialects::agents::kimi_parts::{
    Stamp, exit_code, first_text, is_function, is_part, read_part, shape, state_of,
};
use crate::json::Str;
use crate::log::{SessionTracker, SpelledArguments, date_of_seconds, words_of_unknown};
use crate::model::{
    Author, Event, Field, ItemId, ItemKind, ItemKindTag, ItemTail, Notice, Origin, Part, Permission, Session,
    Status, ToolResult,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(in crate::dialects::agents) struct KimiReader {
    /// Whether the lines are printed: then only the text of a result tells a failed command.
    pub(in crate::dialects::agents) is_printed: bool,
    pub(in crate::dialects::agents) session: SessionTracker,
    pub(super) arguments: SpelledArguments,
    /// Calls with incomplete arguments, at most one for each agent.
    pub(super) pending: Vec<UnansweredCall>,
    /// Open permission requests.
    pub(super) asked: Remembered<Permission<'static>>,
    /// The date of the current line.
    date: String,
}

impl Reader for KimiReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> = WantedNames::new(["timestamp", "message", "role", "type"]);
        let [timestamp, message, role, kind] = doc.root.find(&WANTED);
        if let Some(message) = envelope(message) {
            self.begin("model,cwd", out);
            let mut date = std::mem::take(&mut self.date);
            let number = timestamp.filter(|time| time.kind() == Kind::Number);
            if !number.is_some_and(|time| date_of_seconds(time.text(), &mut date)) {
                date.clear();
            }
            self.wire(message, Stamp { leaf: number, date: &date }, out);
            self.date = date;
            return;
        }
        match role.word() {
            "" => {
                if kind.is_none() {
                    doc.report_foreign(super::DIALECT.name, out);
                } else {
                    self.begin("model,cwd", out);
                }
                notice(kind, doc.root, out);
            }
            role_word => {
                self.begin("times,model,cwd,usage", out);
                self.message(doc.root, role, role_word, out);
            }
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        while !self.pending.is_empty() {
            let call = self.pending.remove(0);
            self.say_call(call, None, out);
        }
    }
}

/// A wire message: a type and a payload.
pub(super) fn envelope(message: Option<Val<'_>>) -> Option<Val<'_>> {
    let is_object = |payload: Val<'_>| payload.kind() == Kind::Object;
    message.filter(|message| message.has_str("type") && message.get("payload").is_some_and(is_object))
}

impl KimiReader {
    /// Starts the session with the first line. No line holds session values.
    fn begin(&mut self, unrecorded: &'static str, out: &mut EventSink<'_>) {
        if self.session.known().unrecorded.is_none() {
            let told = Session { unrecorded: Some(Str::escaped(unrecorded)), ..Session::default() };
            self.session.tell(super::DIALECT.name, told, out);
        }
    }

    /// A line of `context.jsonl`.
    pub(in crate::dialects::agents) fn message<'t>(
        &mut self,
        line: Val<'t>,
        role: Option<Val<'t>>,
        word: &str,
        out: &mut EventSink<'_>,
    ) {
        const WANTED: WantedNames<3> = WantedNames::new(["content", "tool_calls", "tool_call_id"]);
        let [content, calls, call_id] = line.find(&WANTED);
        let said = content.filter(is_content);
        let author = match word {
            "_system_prompt" if said.is_some_and(|said| said.kind() == Kind::String) => Author::System,
            "system" if said.is_some() => Author::System,
            "user" if said.is_some() => Author::User,
            "assistant" if said.is_some() || calls.is_some() => Author::Assistant,
            "tool" if said.is_some() => {
                role.note_text(Field::Structure);
                let call_id = call_id.take_text(Field::ResultCallId);
                return result(said, call_id, self.is_printed, out);
            }
            _ => return notice(role.filter(|role| !role.is("system")), line, out),
        };
        role.note_text(Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, author);
        head.origin = origin(author, first_text(said));
        head.shape = shape(said);
        let item = out.start(head);
        read_content(said, item, author, out);
        for call in calls.into_iter().flat_map(|calls| calls.elements()) {
            out.within(call, |out| self.call_in_list(call, item, out));
        }
        out.complete(item);
    }

    fn call_in_list(&mut self, call: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
        let function = call.get("function").filter(|function| function.has_str("name") && is_function(call));
        let Some(function) = function else { return };
        call.note_str("type", Field::Structure);
        let item = start_call(call.get("id"), function.get("name"), within, out);
        if let Some(arguments) = function.get("arguments") {
            self.arguments.read(arguments, item, out);
        }
        out.complete(item);
    }
}

/// Reads a message's content: a string, or parts. Thoughts are items within the message.
fn read_content(content: Option<Val<'_>>, item: ItemId, author: Author, out: &mut EventSink<'_>) {
    let Some(content) = content else { return };
    if let Some(text) = content.take_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    for (number, part) in (0..).zip(content.elements()) {
        if author == Author::Assistant && part.str_or_empty("type") == "think" && part.has_str("think") {
            part.note_str("type", Field::Structure);
            out.within(part, |out| {
                let thought = start_reasoning(item, out);
                think(part, thought, out);
            });
        } else if let Some(value) = read_part(part, ItemKindTag::Message) {
            out.within(part, |out| out.delta(item, number, value));
        }
    }
}

/// Reads a tool result in the model's form: a text marks a failure.
fn result(content: Option<Val<'_>>, call_id: Option<Str<'_>>, is_printed: bool, out: &mut EventSink<'_>) {
    let text = first_text(content);
    let exit_code = exit_code(text);
    let is_failed_command = is_printed && exit_code.is_some_and(|code| code != 0);
    let is_error = (text.starts_with(FAILED) || is_failed_command).then_some(true);
    let mut head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
    head.shape = shape_by(content, |part| is_part(*part) && !is_made_up(*part));
    let item = out.start(head);
    if let Some(content) = content {
        if let Some(text) = content.take_text(Field::ResultText) {
            out.delta(item, 0, Part::Text(text));
        }
        for (number, part) in (0..).zip(content.elements()) {
            if is_made_up(part) {
                part.note_str("type", Field::Structure);
                part.note_str("text", Field::ResultIsError);
            } else if let Some(value) = read_part(part, ItemKindTag::Result) {
                out.within(part, |out| out.delta(item, number, value));
            }
        }
    }
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail { is_error, exit_code, ..ItemTail::new(item, status) }));
}

/// Prefix of a failed result.
pub(super) const FAILED: &str = "<system>ERROR";

/// Text that a built line puts before a failed result without a failure text of its own.
pub(super) const MADE_UP_FAILURE: &str = "<system>ERROR: Tool failed.</system>";

fn is_made_up(part: Val<'_>) -> bool {
    part.get("text").is_some_and(|text| text.is(MADE_UP_FAILURE))
}

/// The origin of a user message: text injected by the program is in tags.
fn origin(author: Author, text: &str) -> Option<Origin> {
    if author != Author::User {
        return None;
    }
    if text.starts_with("<system>Previous context has been compacted") {
        return Some(Origin::Summary);
    }
    let injected = ["<system>", "<system-reminder>", "<notification"].iter().any(|tag| text.starts_with(tag));
    injected.then_some(Origin::Harness)
}

/// Emits a thought and completes its item.
pub(super) fn think(part: Val<'_>, item: ItemId, out: &mut EventSink<'_>) {
    let state = state_of(part);
    if let Some(text) = part.take_str("think", Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(state) = state {
        out.delta(item, 1, Part::Opaque(state));
    }
    out.complete(item);
}

/// A notice for a line outside the conversation.
fn notice(kind: Option<Val<'_>>, line: Val<'_>, out: &mut EventSink<'_>) {
    let event_type = kind.note_text(Field::NoticeType);
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    if let Some(words) = words_of_unknown(line) {
        out.delta(item, 0, Part::Text(words));
    }
    out.complete(item);
}
