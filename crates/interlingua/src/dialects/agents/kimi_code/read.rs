//! Lines to events. The `context.*` lines are the conversation. Repetitions in other lines (the prompt of a turn, the
//! messages of the agent's loop) are left unclaimed.

use super::session_events::{Change, asked_in};
use crate::blocks::{is_content, start_call, start_reasoning};
use crate::dialects::agents::kimi_parts::{Stamp, exit_code, is_function, read_part, shape, state_of};
use crate::json::{Raw, Str};
use crate::log::{CountedLine, SessionTracker, SpelledArguments, date_of_millis, words_of_unknown};
use crate::model::{
    Author, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Notice, Origin, Part, Session,
    Status, ToolResult, Usage,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct KimiCodeReader {
    pub(super) session: SessionTracker,
    pub(super) arguments: SpelledArguments,
    /// File changes of the running calls, by call id.
    pub(super) changes: Remembered<Change>,
    /// Ids of permission requests, by call id.
    pub(super) asked: Remembered<Str<'static>>,
    /// Set once the usage of the current step was emitted.
    pub(super) counted: bool,
    /// Usage emitted at the end of the last step; a usage record may repeat it.
    pub(super) told_at_end: Option<Usage>,
    /// The previous usage record.
    pub(super) last_record: CountedLine,
    /// The date of the current line.
    date: String,
}

/// A line with the members common to all lines.
#[derive(Clone, Copy)]
pub(super) struct Line<'t> {
    pub(super) val: Val<'t>,
    pub(super) kind: Option<Val<'t>>,
    agent: Option<Val<'t>>,
    pub(super) stamp: Stamp<'t>,
}

impl<'t> Line<'t> {
    /// The head of an item on this line.
    pub(super) fn head(&self, kind: ItemKind<'t>, author: Author, out: &mut EventSink<'_>) -> ItemHead<'t> {
        let mut head = out.head(kind, author);
        if self.agent.word() == MAIN {
            self.agent.note_text(Field::Structure);
        } else {
            head.agent = self.agent.take_text(Field::ItemAgent);
        }
        head.time = self.stamp.of_item();
        head
    }

    /// Emits the time of an event that is not an item, and notes its tags.
    pub(super) fn happens(&self, out: &mut EventSink<'_>) {
        self.kind.note_text(Field::Structure);
        if self.agent.word() == MAIN {
            self.agent.note_text(Field::Structure);
        }
        self.stamp.tick(out);
    }

    /// A notice for a line outside the conversation, named by the line's type; some types have a text or data.
    pub(super) fn notice(&self, kind: Option<Val<'t>>, out: &mut EventSink<'_>) {
        let event_type = kind.note_text(Field::NoticeType);
        let head = self.head(ItemKind::Notice(Notice { event_type }), Author::System, out);
        self.notice_with(head, out);
    }

    fn notice_with(&self, mut head: ItemHead<'t>, out: &mut EventSink<'_>) {
        if self.kind.word().starts_with("subagent.") && head.agent.is_none() {
            head.agent = self.val.take_str("subagentId", Field::ItemAgent);
            head.parent_call = self.val.take_str("parentToolCallId", Field::ItemParentCall);
        }
        let item = out.start(head);
        let told = TOLD.iter().find(|(kind, _)| *kind == self.kind.word());
        if let Some(told) = told.and_then(|(_, member)| self.val.get(member)).filter(|told| !told.is_null()) {
            let part = match told.take_text(Field::NoticeText) {
                Some(text) => Part::Text(text),
                None => Part::Json(told.take(Field::NoticeData)),
            };
            out.delta(item, 0, part);
        } else if let Some(words) = self.words() {
            out.delta(item, 0, Part::Text(words));
        }
        out.complete(item);
    }

    /// The text of a line of an unknown type.
    fn words(&self) -> Option<Str<'t>> {
        let word = self.kind.word();
        // These lines repeat the conversation.
        let repeats = ["agent.", "context.append_message", "llm.", "turn.prompt", "turn.steer"];
        if repeats.iter().any(|begin| word.starts_with(begin)) {
            return None;
        }
        words_of_unknown(self.val.get("event").unwrap_or(self.val))
    }
}

/// The name of the main agent.
const MAIN: &str = "main";

/// Types of lines whose notice holds one member.
pub(super) const TOLD: &[(&str, &str)] = &[
    ("subagent.spawned", "description"),
    ("subagent.completed", "resultSummary"),
    ("subagent.failed", "error"),
    ("tools.update_store", "value"),
    ("tools.set_active_tools", "names"),
    ("interaction.resolved", "response"),
    ("full_compaction.begin", "source"),
    ("plan_mode.enter", "id"),
    ("goal.create", "objective"),
    ("goal.update", "reason"),
    ("turn.cancel", "reason"),
    ("turn.ended", "reason"),
    ("turn.step.interrupted", "reason"),
    ("prompt.completed", "reason"),
    ("permission.rules.add", "rules"),
];

impl Reader for KimiCodeReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["type", "agentId", "time"]);
        let [kind, agent, time] = doc.root.find(&WANTED);
        if kind.is_none() {
            doc.report_foreign(super::DIALECT.name, out);
        }
        let mut date = std::mem::take(&mut self.date);
        let time = time.filter(|time| time.u64().is_some_and(|millis| date_of_millis(millis, &mut date)));
        if time.is_none() {
            date.clear();
        }
        let line = Line { val: doc.root, kind, agent, stamp: Stamp { leaf: time, date: &date } };
        self.line(line, out);
        self.date = date;
    }
}

impl KimiCodeReader {
    fn line(&mut self, line: Line<'_>, out: &mut EventSink<'_>) {
        self.begin(line, out);
        let word = line.kind.word();
        match word {
            "profile.bind" | "config.update" if !line.val.str_or_empty("systemPrompt").is_empty() => {
                line.kind.note_text(Field::ItemAuthor);
                let head = line.head(ItemKind::Message, Author::System, out);
                let item = out.start(head);
                if let Some(text) = line.val.take_str("systemPrompt", Field::MessageText) {
                    out.delta(item, 0, Part::Text(text));
                }
                out.complete(item);
            }
            "context.append_message" => match line.val.get("message") {
                Some(message) if message.has_str("role") => self.message(line, message, out),
                _ => line.notice(line.kind, out),
            },
            "context.append_loop_event" => match line.val.get("event") {
                Some(event) if event.has_str("type") => self.loop_event(line, event, out),
                _ => line.notice(line.kind, out),
            },
            "interaction.request" => {
                if asked_in(line.val).is_some() {
                    self.asks(line, out);
                } else {
                    line.notice(line.kind, out);
                }
            }
            _ => {
                if !self.happened(line, word, out) {
                    line.notice(line.kind, out);
                }
            }
        }
    }

    /// Reads the session values of a line.
    fn begin(&mut self, line: Line<'_>, out: &mut EventSink<'_>) {
        let val = line.val;
        let mut start = String::new();
        let mut told = Session::default();
        match line.kind.word() {
            "metadata" => {
                let created = val.get("created_at");
                let created = created.filter(|at| at.u64().is_some_and(|at| date_of_millis(at, &mut start)));
                if let Some(created) = created {
                    created.note(Field::SessionStart);
                    told.start = Some(Raw::new(&start));
                }
            }
            "profile.bind" | "config.update" => {
                let [model, effort, level, place] =
                    val.get_all(["modelAlias", "thinkingEffort", "thinkingLevel", "environmentDisclosure"]);
                // Names with this prefix stand for environment settings and are not models.
                told.model = model
                    .filter(|model| !Some(*model).word().starts_with("__"))
                    .note_text(Field::SessionModel);
                told.effort = effort.or(level).note_text(Field::SessionEffort);
                told.cwd = place.and_then(|place| place.note_str("cwd", Field::SessionCwd));
            }
            "llm.request" => {
                told.model = val.note_str("model", Field::SessionModel);
                told.provider = val.note_str("provider", Field::SessionProvider);
                told.effort = val.note_str("thinkingEffort", Field::SessionEffort);
            }
            "permission.set_mode" => told.permission_mode = val.note_str("mode", Field::PermissionMode),
            // Other lines hold no session values.
            _ => {}
        }
        self.session.tell(super::DIALECT.name, told, out);
    }

    /// A message in the model's form.
    fn message<'t>(&mut self, line: Line<'t>, message: Val<'t>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<5> = WantedNames::new(["role", "content", "id", "toolCalls", "origin"]);
        let [role, content, id, calls, origin] = message.find(&WANTED);
        let content = content.filter(is_content);
        let author = match role.word() {
            "user" => Author::User,
            "assistant" => Author::Assistant,
            "system" => Author::System,
            "tool" => return tool_message(line, message, content, out),
            _ => return line.notice(line.kind, out),
        };
        line.kind.note_text(Field::Structure);
        role.note_text(Field::ItemAuthor);
        let mut head = line.head(ItemKind::Message, author, out);
        head.native_id = id.take_text(Field::ItemId);
        head.origin = origin.and_then(origin_of);
        head.shape = shape(content);
        let item = out.start(head);
        if let Some(text) = content.take_text(Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        for (number, part) in (0..).zip(content.into_iter().flat_map(|content| content.elements())) {
            if is_thought(part) {
                part.note_str("type", Field::Structure);
                out.within(part, |out| {
                    let thought = start_reasoning(item, out);
                    think(part, thought, out);
                });
            } else if let Some(value) = read_part(part, ItemKindTag::Message) {
                out.within(part, |out| out.delta(item, number, value));
            }
        }
        let is_call = |call: &Val<'_>| call.has_str("name") && is_function(*call);
        for call in calls.into_iter().flat_map(|calls| calls.elements()).filter(is_call) {
            call.note_str("type", Field::Structure);
            let call_item = out.within(call, |out| start_call(call.get("id"), call.get("name"), item, out));
            if let Some(arguments) = call.get("arguments") {
                self.arguments.read(arguments, call_item, out);
            }
            out.complete(call_item);
        }
        out.complete(item);
    }
}

/// A tool result in the form of a message.
fn tool_message<'t>(line: Line<'t>, message: Val<'t>, content: Option<Val<'t>>, out: &mut EventSink<'_>) {
    line.kind.note_text(Field::Structure);
    message.note_str("role", Field::Structure);
    let result = ToolResult { call_id: message.take_str("toolCallId", Field::ResultCallId), name: None };
    let mut head = line.head(ItemKind::ToolResult(result), Author::Tool, out);
    head.native_id = message.take_str("id", Field::ItemId);
    head.shape = shape(content);
    let item = out.start(head);
    returned(content, None, item, out);
    let is_error = message.take_bool("isError", Field::ResultIsError);
    end_result(item, is_error, None, content, out);
}

/// The origin of a message. Only `user` is typed by a person.
fn origin_of(origin: Val<'_>) -> Option<Origin> {
    let [kind, name] = origin.get_all(["kind", "name"]);
    let found = match kind.word() {
        "" => return None,
        "user" => Origin::Own,
        "compaction_summary" => Origin::Summary,
        "skill_activation" | "plugin_command" | "shell_command" => Origin::Command,
        "system_trigger" if name.word() == "subagent" => {
            name.note_text(Field::ItemOrigin);
            Origin::Agent
        }
        "injection" | "task" | "system_trigger" | "hook_result" | "background_task" | "cron_job"
        | "cron_missed" => Origin::Harness,
        // An unknown kind is not typed by a person.
        _ => return Some(Origin::Harness),
    };
    kind.note_text(Field::ItemOrigin);
    Some(found)
}

pub(super) fn is_thought(part: Val<'_>) -> bool {
    part.str_or_empty("type") == "think" && part.has_str("think")
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

/// Emits a result's content and the note for the model. Returns the number of the next part.
pub(super) fn returned<'t>(
    content: Option<Val<'t>>,
    note: Option<Val<'t>>,
    item: ItemId,
    out: &mut EventSink<'_>,
) -> u32 {
    let mut next = 0;
    if let Some(text) = content.take_text(Field::ResultText) {
        out.delta(item, next, Part::Text(text));
        next += 1;
    }
    for part in content.into_iter().flat_map(|content| content.elements()) {
        if let Some(value) = read_part(part, ItemKindTag::Result) {
            out.within(part, |out| out.delta(item, next, value));
        }
        next += 1;
    }
    if let Some(text) = note.take_text(Field::ResultText) {
        out.delta(item, next, Part::Text(text));
        next += 1;
    }
    next
}

/// Completes a result.
pub(super) fn end_result(
    item: ItemId,
    is_error: Option<bool>,
    duration: Option<u64>,
    content: Option<Val<'_>>,
    out: &mut EventSink<'_>,
) {
    let failed = is_error == Some(true);
    let text = content.filter(|content| failed && content.kind() == Kind::String);
    let exit_code = exit_code(text.word());
    let status = if failed { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail {
        is_error,
        exit_code,
        duration,
        ..ItemTail::new(item, status)
    }));
}
