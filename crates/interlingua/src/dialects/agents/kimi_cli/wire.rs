//! Events of `wire.jsonl`: messages, tool results and permission decisions. A subagent's message is a whole wire
//! message nested in another.

use super::calls::{Braces, UnansweredCall};
use super::files::read_files;
use super::read::{KimiReader, envelope, think};
use crate::blocks::is_content;
use crate::dialects::agents::kimi_parts::{Stamp, exit_code, is_function, read_part, shape};
use crate::json::{Raw, Str};
use crate::log::words_of_unknown;
use crate::model::{
    Author, CallKind, Compaction, Decision, Event, Failure, FailureClass, Field, ItemHead, ItemKind,
    ItemKindTag, ItemTail, Notice, Origin, Part, Permission, Prompt, Question, Session, Shape, Status,
    ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// A wire message with its sender and its time.
#[derive(Clone, Copy)]
struct WireMessage<'t> {
    kind: Option<Val<'t>>,
    payload: Val<'t>,
    /// The subagent, and the call that started it.
    agent: Option<Val<'t>>,
    parent_call: Option<Val<'t>>,
    stamp: Stamp<'t>,
}

/// The most agents with a pending call.
const MOST_PENDING: usize = 64;

/// The deepest nesting of subagents.
const DEEPEST: usize = 8;

impl<'t> WireMessage<'t> {
    /// The innermost message: a subagent's message is nested in an event.
    fn innermost(message: Val<'t>, stamp: Stamp<'t>) -> Option<Self> {
        let (mut message, mut agent, mut parent_call) = (message, None, None);
        for _ in 0..DEEPEST {
            let [kind, payload] = message.get_all(["type", "payload"]);
            let payload = payload?;
            let inner = envelope(payload.get("event")).filter(|_| kind.word() == "SubagentEvent");
            let Some(inner) = inner else {
                return Some(Self { kind, payload, agent, parent_call, stamp });
            };
            kind.note_text(Field::Structure);
            agent = payload.get("agent_id");
            parent_call = payload.get("parent_tool_call_id").or_else(|| payload.get("task_tool_call_id"));
            message = inner;
        }
        None
    }

    /// The agent of the message and the call that started it, as keys.
    fn voice(&self) -> (&'t str, &'t str) {
        (self.agent.word(), self.parent_call.word())
    }

    /// The head of an item for this message.
    fn head<'o>(&self, kind: ItemKind<'t>, author: Author, out: &mut EventSink<'o>) -> ItemHead<'t> {
        let mut head = out.head(kind, author);
        head.agent = self.agent.take_text(Field::ItemAgent);
        head.parent_call = self.parent_call.take_text(Field::ItemParentCall);
        head.time = self.stamp.of_item();
        head
    }

    /// A notice for a line outside the conversation; some types have data.
    fn notice(&self, has_data: bool, out: &mut EventSink<'_>) {
        let event_type = self.kind.note_text(Field::NoticeType);
        let head = self.head(ItemKind::Notice(Notice { event_type }), Author::System, out);
        let item = out.start(head);
        if has_data {
            out.delta(item, 0, Part::Json(self.payload.take(Field::NoticeData)));
        } else if let Some(words) = words_of_unknown(self.payload) {
            out.delta(item, 0, Part::Text(words));
        }
        out.complete(item);
    }

    /// Emits the time of an event that is not an item, and notes its tag.
    fn happens(&self, out: &mut EventSink<'_>) {
        self.kind.note_text(Field::Structure);
        self.stamp.tick(out);
    }
}

impl KimiReader {
    /// A line of `wire.jsonl`.
    pub(super) fn wire<'t>(&mut self, message: Val<'t>, stamp: Stamp<'t>, out: &mut EventSink<'_>) {
        let Some(message) = WireMessage::innermost(message, stamp) else {
            let kind = message.get("type");
            let payload = message;
            return WireMessage { kind, payload, agent: None, parent_call: None, stamp }.notice(false, out);
        };
        let (word, payload) = (message.kind.word(), message.payload);
        self.give_up_waiting(&message, word, out);
        match word {
            "TurnBegin" | "SteerInput" if payload.get("user_input").as_ref().is_some_and(is_content) => {
                said_by_user(&message, out);
            }
            "ContentPart" => content_part(&message, out),
            "ToolCall"
                if payload.has_str("id")
                    && is_function(payload)
                    && payload.get("function").is_some_and(has_name) =>
            {
                self.call(&message, out);
            }
            "ToolCallPart" => self.more_of_call(&message, out),
            "ToolResult" if payload.get("return_value").is_some_and(|value| value.kind() == Kind::Object) => {
                result(&message, out);
            }
            "StatusUpdate" => self.status(&message, out),
            "ApprovalRequest" if payload.has_str("id") && payload.has_str("action") => {
                self.asks(&message, out);
            }
            "ApprovalResponse" | "ApprovalRequestResolved" => self.answers(&message, out),
            "QuestionRequest" if payload.has_str("id") => question(&message, out),
            "CompactionEnd" => {
                message.happens(out);
                out.event(&Event::Compacted(Compaction::default()));
            }
            "StepRetry" if payload.has_str("error_type") => retry(&message, out),
            "HookTriggered" | "HookResolved" | "HookRequest" | "Notification" | "PlanDisplay"
            | "BtwBegin" | "BtwEnd" | "ToolCallRequest" => message.notice(true, out),
            // The start and end of steps and turns, and unknown types.
            _ => message.notice(false, out),
        }
    }

    /// Emits the agent's pending call when its next message shows that no more arguments follow.
    fn give_up_waiting(&mut self, message: &WireMessage<'_>, word: &str, out: &mut EventSink<'_>) {
        let (agent, _) = message.voice();
        let Some(at) = self.pending.iter().position(|call| call.agent == agent) else { return };
        let names_it = |name| message.payload.str_or_empty(name) == self.pending[at].call_id;
        let goes_on = match word {
            "ToolResult" | "ApprovalRequest" | "QuestionRequest" => names_it("tool_call_id"),
            "TurnBegin" | "TurnEnd" | "StepBegin" | "StepInterrupted" | "StepRetry" | "ContentPart"
            | "ToolCall" | "StatusUpdate" | "CompactionBegin" | "CompactionEnd" => true,
            _ => false,
        };
        if goes_on {
            let call = self.pending.remove(at);
            self.say_call(call, None, out);
        }
    }

    fn call(&mut self, message: &WireMessage<'_>, out: &mut EventSink<'_>) {
        let [id, function] = message.payload.get_all(["id", "function"]);
        let Some(function) = function else { return };
        let arguments = function.get("arguments");
        let text = arguments.and_then(|arguments| arguments.str());
        message.kind.note_text(Field::Structure);
        message.payload.note_str("type", Field::Structure);
        if arguments.is_none_or(|arguments| arguments.is_null())
            || text.as_ref().is_some_and(|text| !Braces::is_whole(text))
        {
            if self.pending.len() == MOST_PENDING {
                let oldest = self.pending.remove(0);
                self.say_call(oldest, None, out);
            }
            return self.wait_for_more(message, id, function, text.as_ref());
        }
        let call = ToolCall {
            call_id: id.take_text(Field::CallId),
            kind: CallKind::Function,
            namespace: None,
            name: function.take_str("name", Field::CallName).unwrap_or_default(),
        };
        let head = message.head(ItemKind::ToolCall(call), Author::Assistant, out);
        let item = out.start(head);
        if let Some(arguments) = arguments {
            self.arguments.read(arguments, item, out);
        }
        out.complete(item);
    }

    /// Holds a call back. The call is emitted with the line that completes it, so its own line is kept without holes.
    fn wait_for_more<'t>(
        &mut self,
        message: &WireMessage<'t>,
        id: Option<Val<'t>>,
        function: Val<'t>,
        text: Option<&Str<'t>>,
    ) {
        let copy = |text: Option<Str<'_>>| text.map_or_else(String::new, |text| text.as_escaped().to_owned());
        let mut call = UnansweredCall {
            agent: copy(message.agent.note_text(Field::ItemAgent)),
            parent_call: copy(message.parent_call.note_text(Field::ItemParentCall)),
            call_id: copy(id.note_text(Field::CallId)),
            name: copy(function.note_str("name", Field::CallName)),
            date: message.stamp.of_item().map_or_else(String::new, |time| time.as_str().to_owned()),
            ..UnansweredCall::default()
        };
        if let Some(text) = text {
            call.hear(text);
            function.note_str("arguments", Field::CallArgs);
            call.pieces.push(text.as_escaped().to_owned());
        }
        self.pending.push(call);
    }

    /// Adds arguments to the agent's pending call.
    fn more_of_call(&mut self, message: &WireMessage<'_>, out: &mut EventSink<'_>) {
        let (agent, _) = message.voice();
        let at = self.pending.iter().position(|call| call.agent == agent);
        let piece = message.payload.get("arguments_part").filter(|piece| piece.kind() == Kind::String);
        let (Some(at), Some(piece)) = (at, piece) else { return message.notice(false, out) };
        message.kind.note_text(Field::Structure);
        let Some(text) = piece.note_text(Field::CallArgs) else { return };
        if self.pending[at].hear(&text) {
            let call = self.pending.remove(at);
            self.say_call(call, Some(&text), out);
        } else {
            self.pending[at].pieces.push(text.as_escaped().to_owned());
        }
    }

    /// Emits a pending call, with the last piece of its arguments from the current line.
    pub(super) fn say_call(&mut self, call: UnansweredCall, last: Option<&Str<'_>>, out: &mut EventSink<'_>) {
        // Copy the texts: their lines are no longer in memory.
        let text = |text: String| Some(Str::escaped(&text).into_owned()).filter(|text| !text.is_empty());
        let UnansweredCall { agent, parent_call, call_id, name, date, pieces, .. } = call;
        let tool = ToolCall {
            call_id: text(call_id),
            kind: CallKind::Function,
            namespace: None,
            name: text(name).unwrap_or_default(),
        };
        let mut head = out.head(ItemKind::ToolCall(tool), Author::Assistant);
        head.agent = text(agent);
        head.parent_call = text(parent_call);
        head.time = Some(date).filter(|date| !date.is_empty()).map(Raw::owned);
        let item = out.start(head);
        let mut whole = pieces.concat();
        whole.push_str(last.map_or("", Str::as_escaped));
        if !whole.is_empty() {
            self.arguments.read_pieces(&Str::escaped(&whole), item, out);
        }
        out.complete(item);
    }

    /// The usage of the last response, and the agent's mode.
    fn status(&mut self, message: &WireMessage<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["token_usage", "message_id", "plan_mode"]);
        const COUNTS: WantedNames<4> =
            WantedNames::new(["input_other", "output", "input_cache_read", "input_cache_creation"]);
        let [usage, id, plan_mode] = message.payload.find(&WANTED);
        let known = self.session.known().permission_mode.is_some();
        if let Some(plan_mode) =
            plan_mode.filter(|plan| plan.bool() == Some(true) || plan.bool().is_some() && known)
        {
            let mode = if plan_mode.bool() == Some(true) { "plan" } else { "default" };
            plan_mode.note(Field::PermissionMode);
            let told = Session { permission_mode: Some(Str::escaped(mode)), ..Session::default() };
            self.session.tell(super::DIALECT.name, told, out);
        }
        message.notice(false, out);
        let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) else { return };
        let [input, output, cache_read, cache_write] = usage.find(&COUNTS);
        out.event(&Event::Usage(Turn {
            id: id.note_text(Field::TurnId),
            usage: Some(Usage {
                input: input.note_count(Field::UsageInput),
                cache_read: cache_read.note_count(Field::UsageCacheRead),
                cache_write: cache_write.note_count(Field::UsageCacheWrite),
                output: output.note_count(Field::UsageOutput),
                ..Usage::default()
            }),
            ..Turn::default()
        }));
    }

    /// The agent requests permission.
    fn asks(&mut self, message: &WireMessage<'_>, out: &mut EventSink<'_>) {
        message.happens(out);
        let request = message.payload;
        let permission = Permission {
            id: request.note_str("id", Field::PermissionId).unwrap_or_default(),
            action: request.note_str("action", Field::PermissionAction).unwrap_or_default(),
            call_id: request.note_str("tool_call_id", Field::PermissionCallId),
            input: request.note_raw("description", Field::PermissionInput),
            by: None,
            answer: None,
        };
        let remembered = Permission { input: None, ..permission.clone() }.into_owned();
        self.asked.insert(permission.id.as_escaped(), remembered);
        out.event(&Event::PermissionRequested(permission));
    }

    /// A permission was granted or refused.
    fn answers(&mut self, message: &WireMessage<'_>, out: &mut EventSink<'_>) {
        let [id, response, feedback] = message.payload.get_all(["request_id", "response", "feedback"]);
        let decision = match response.word() {
            "approve" => Some(Decision::Accept),
            "approve_for_session" => Some(Decision::AcceptForSession),
            "reject" => Some(Decision::Reject(None)),
            _ => None,
        };
        let (Some(id), Some(decision)) = (id.filter(|id| id.kind() == Kind::String), decision) else {
            return message.notice(true, out);
        };
        message.happens(out);
        response.note_text(Field::PermissionAnswer);
        let why = feedback.filter(|why| !why.is("") && matches!(decision, Decision::Reject(_)));
        let answer = match decision {
            Decision::Reject(_) => Decision::Reject(why.note_text(Field::PermissionMessage)),
            other => other,
        };
        let asked = self.asked.remove(Some(id).word());
        let (action, call_id) = asked.map_or((None, None), |asked| (Some(asked.action), asked.call_id));
        out.event(&Event::PermissionResolved(Permission {
            id: id.note_text(Field::PermissionId).unwrap_or_default(),
            action: action.unwrap_or(Str::escaped("unknown")),
            call_id,
            input: None,
            by: None,
            answer: Some(answer),
        }));
    }
}

fn has_name(function: Val<'_>) -> bool {
    function.has_str("name")
}

/// A prompt of the user; a subagent's prompt comes from its caller.
fn said_by_user(message: &WireMessage<'_>, out: &mut EventSink<'_>) {
    let content = message.payload.get("user_input");
    message.kind.note_text(Field::ItemAuthor);
    let mut head = message.head(ItemKind::Message, Author::User, out);
    head.origin = Some(if message.agent.is_some() { Origin::Agent } else { Origin::Own });
    head.shape = shape(content);
    let item = out.start(head);
    if let Some(content) = content {
        if let Some(text) = content.take_text(Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        for (number, part) in (0..).zip(content.elements()) {
            if let Some(value) = read_part(part, ItemKindTag::Message) {
                out.within(part, |out| out.delta(item, number, value));
            }
        }
    }
    out.complete(item);
}

/// A part of a response: a thought, a text or a picture.
fn content_part(message: &WireMessage<'_>, out: &mut EventSink<'_>) {
    let part = message.payload;
    if part.str_or_empty("type") == "think" && part.has_str("think") {
        message.kind.note_text(Field::Structure);
        part.note_str("type", Field::Structure);
        let head = message.head(ItemKind::Reasoning, Author::Assistant, out);
        let item = out.start(head);
        return think(part, item, out);
    }
    let Some(value) = read_part(part, ItemKindTag::Message) else { return message.notice(false, out) };
    message.kind.note_text(Field::ItemAuthor);
    let head = message.head(ItemKind::Message, Author::Assistant, out);
    let item = out.start(head);
    out.delta(item, 0, value);
    out.complete(item);
}

/// A tool result: the output, the note for the model, and the changed files.
fn result(message: &WireMessage<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> = WantedNames::new(["is_error", "output", "message", "display"]);
    let Some(value) = message.payload.get("return_value") else { return };
    let [_, output, told, display] = value.find(&WANTED);
    message.kind.note_text(Field::Structure);
    let call_id = message.payload.take_str("tool_call_id", Field::ResultCallId);
    let result = ToolResult { call_id, name: None };
    let mut head = message.head(ItemKind::ToolResult(result), Author::Tool, out);
    let output = output.filter(|output| is_content(output) && !output.is(""));
    let told = told.filter(|told| told.kind() == Kind::String && !told.is(""));
    let both = output.is_some() && told.is_some();
    head.shape = if both { Shape::List } else { shape(output) };
    let item = out.start(head);
    let mut next = 0;
    if let Some(text) = output.take_text(Field::ResultText) {
        out.delta(item, next, Part::Text(text));
        next += 1;
    }
    for part in output.into_iter().flat_map(|output| output.elements()) {
        if let Some(value) = read_part(part, ItemKindTag::Result) {
            out.within(part, |out| out.delta(item, next, value));
        }
        next += 1;
    }
    let is_error = value.take_bool("is_error", Field::ResultIsError);
    let exit_code = exit_code(told.word());
    if let Some(text) = told.take_text(Field::ResultText) {
        out.delta(item, next, Part::Text(text));
        next += 1;
    }
    if is_error != Some(true) {
        read_files(display, item, next, out);
    }
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail { is_error, exit_code, ..ItemTail::new(item, status) }));
}

/// The agent asks the user a question. The result of the call holds the answer.
fn question(message: &WireMessage<'_>, out: &mut EventSink<'_>) {
    message.happens(out);
    let request = message.payload;
    let options = |prompt: Val<'_>| {
        let options = prompt.get("options").into_iter().flat_map(|options| options.elements());
        let option = |option: Val<'_>| {
            let label = option.note_str("label", Field::QuestionOption)?;
            Some((
                label.into_owned(),
                option.note_str("description", Field::QuestionOptionAbout).map(Str::into_owned),
            ))
        };
        options.filter_map(option).collect::<Vec<_>>()
    };
    let prompt = |prompt: Val<'_>| {
        let multiple = prompt.get("multi_select").filter(|multiple| multiple.bool().is_some());
        Some(Prompt {
            text: prompt.note_str("question", Field::QuestionText)?.into_owned(),
            options: options(prompt),
            multiple: multiple.is_some_and(|multiple| {
                multiple.note(Field::QuestionMultiple);
                multiple.bool() == Some(true)
            }),
        })
    };
    let prompts = request.get("questions").into_iter().flat_map(|questions| questions.elements());
    out.event(&Event::QuestionRequested(Question {
        id: request.note_str("id", Field::QuestionId).unwrap_or_default(),
        call_id: request.note_str("tool_call_id", Field::QuestionCallId),
        prompts: prompts.filter_map(prompt).collect(),
        answers: None,
        declined: false,
    }));
}

/// A model call failed and is retried.
fn retry(message: &WireMessage<'_>, out: &mut EventSink<'_>) {
    message.happens(out);
    let [status, error] = message.payload.get_all(["status_code", "error_type"]);
    let status = status.note_count(Field::ErrorStatus).and_then(|status| u16::try_from(status).ok());
    out.event(&Event::Error(Failure {
        class: status.map_or(FailureClass::Other, FailureClass::of_status),
        status,
        code: None,
        message: error.note_text(Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }));
}
