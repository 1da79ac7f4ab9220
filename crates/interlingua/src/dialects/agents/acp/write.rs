//! Events to the messages that an agent sends to an editor.
//!
//! With an editor ([`crate::pipe::EditorLink`]), responses have the ids of the editor's requests. In a conversion, responses
//! have the ids that our own client would have used (`session/prompt#1`), so that the lines are the agent's side of a
//! complete session.

use std::collections::VecDeque;

use super::content::unsaid_name;
use super::written::{OpenItem, begin_update, call_kind, end_update, put_chunk};
use super::{VERSION, code, method};
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::{Leftover, Reason};
use crate::live::json_rpc::{
    METHOD_NOT_FOUND, Message, begin_notification, begin_request, begin_result, end, id_text, refuse,
};
use crate::model::{
    Author, Delta, Event, Failure, Field, ItemHead, ItemKind, ItemKindTag, ItemTail, Part, Permission,
    Prompt, Question, Session, Stop, StopClass, Turn, Usage,
};
use crate::pipe::{OpenItems, Remembered, Writer, WriterOutput};
use crate::tape::{Kind, Val};

/// The agent's side of the protocol.
#[derive(Default)]
pub(super) struct AcpWriter {
    editor: Option<Editor>,
    /// The id of the session in each update.
    session: Str<'static>,
    /// The settings that `configOptions` repeats.
    settings: Session<'static>,
    items: OpenItems<OpenItem>,
    /// The kind and the id of the last message that was written.
    last_chunk: Option<(ItemKindTag, Author, bool)>,
    /// Numbers of made-up ids: requests of the client, messages.
    requests: u64,
    messages: u64,
    /// Open permission requests and questions.
    asked: Remembered<()>,
    /// The failure of the turn, which the response to the prompt tells.
    failure: Option<(String, Str<'static>)>,
}

/// The state of the editor's requests.
#[derive(Default)]
struct Editor {
    /// The ids of the prompts without a response.
    prompts: VecDeque<Raw<'static>>,
    /// The editor cancelled the first prompt.
    is_cancelled: bool,
    sessions: u64,
}

impl AcpWriter {
    fn began(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        self.settings.update(session.clone().into_owned());
        if self.editor.is_some() {
            // The editor has the session's id already: many agents name their session only after the first prompt.
            return self.changed(session, out);
        }
        self.session = session.id.clone().unwrap_or_else(|| Str::escaped("session")).into_owned();
        let json = &mut out.json;
        let id = self.next_id(method::INITIALIZE);
        let result = begin_result(true, &id, json);
        put_abilities(session.agent.as_ref(), session.cli_version.as_ref(), result);
        end(json);
        let id = self.next_id(method::NEW);
        let result = begin_result(true, &id, json).object().key("sessionId").str(&self.session);
        if let Some(mode) = &session.permission_mode {
            result.key("modes").object().key("currentModeId").str(mode);
            result.up_to_value(r#""availableModes":[{"id":"#).str(mode).key("name").str(mode);
            result.end_object().end_array().end_object();
        }
        if session.model.is_some() || session.effort.is_some() {
            put_options(session, result.key("configOptions"));
        }
        result.end_object();
        end(json);
        if session.agent.is_none() {
            out.lose_some(Field::SessionVersion, session.cli_version.as_ref(), Reason::NoSlot);
        }
        self.put_title(session, out);
    }

    fn changed(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        self.settings.update(session.clone().into_owned());
        out.lose_some(Field::SessionId, session.id.as_ref(), Reason::NoSlot);
        out.lose_some(Field::SessionAgent, session.agent.as_ref(), Reason::NoSlot);
        out.lose_some(Field::SessionVersion, session.cli_version.as_ref(), Reason::NoSlot);
        if let Some(mode) = &session.permission_mode {
            begin_update(&self.session, "current_mode_update", &mut out.json).key("currentModeId").str(mode);
            end_update(&mut out.json);
        }
        if session.model.is_some() || session.effort.is_some() {
            let update = begin_update(&self.session, "config_option_update", &mut out.json);
            put_options(&self.settings, update.key("configOptions"));
            end_update(&mut out.json);
        }
        self.put_title(session, out);
    }

    fn put_title(&self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        if let Some(title) = &session.title {
            begin_update(&self.session, "session_info_update", &mut out.json).key("title").str(title);
            end_update(&mut out.json);
        }
    }

    /// The id of the next request that our own client would have sent.
    fn next_id(&mut self, method: &str) -> Raw<'static> {
        self.requests += 1;
        Raw::owned(format!("\"{method}#{}\"", self.requests))
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        if !matches!(head.kind, ItemKind::Message | ItemKind::Reasoning) {
            out.lose_some(Field::ItemId, head.native_id.as_ref(), Reason::NoSlot);
        }
        if !matches!(head.kind, ItemKind::ToolCall(_)) {
            out.lose_some(Field::ItemParentCall, head.parent_call.as_ref(), Reason::NoSlot);
        }
        let mut open = OpenItem::new(head);
        open.author_frame = out.has_leaf(Field::ItemAuthor).then(|| out.ledger.frame_number());
        self.items.insert(head.id, open);
    }

    fn grew(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(mut open) = self.items.remove(*item) else { return };
        if open.is_message() && OpenItem::is_chunk(&open, value) {
            if !open.has_chunks && open.id.is_none() {
                self.separate(&mut open);
            }
            open.has_chunks = true;
            if let Part::Media(media) = value {
                out.lose_some(Field::MediaName, unsaid_name(media), Reason::NoSlot);
            }
            put_chunk(&self.session, &open, value, &mut out.json);
        } else {
            open.gather(*part, value, out);
        }
        self.items.insert(*item, open);
    }

    /// Gives a message an id if the message before it could not be told apart.
    fn separate(&mut self, open: &mut OpenItem) {
        let kind = (open.tag, open.author, false);
        if self.last_chunk == Some(kind) {
            self.messages += 1;
            open.id = Some(Str::from_escaped(format!("message-{}", self.messages)));
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
        let ItemTail { id, status: _, native_status, is_error: _, exit_code: _, duration: _ } = tail;
        let Some(open) = self.items.remove(*id) else { return };
        match open.tag {
            ItemKindTag::Call => {
                self.last_chunk = None;
                open.put_call(&self.session, &mut out.json);
                out.lose(Field::ItemStatus, Reason::NoSlot);
            }
            ItemKindTag::Result => {
                self.last_chunk = None;
                open.put_result(&self.session, tail, out);
            }
            ItemKindTag::Message | ItemKindTag::Reasoning | ItemKindTag::Notice => {
                if open.has_chunks {
                    self.last_chunk = Some((open.tag, open.author, open.id.is_some()));
                } else {
                    out.lose_some(Field::ItemId, open.id.as_ref(), Reason::NoSlot);
                    out.lose(Field::ItemAuthor, Reason::NoSlot);
                    // The end of the item may repeat the author that its start has.
                    if open.author_frame.is_some_and(|frame| frame != out.ledger.frame_number()) {
                        out.of_earlier_frames().lose(Field::ItemAuthor, Reason::NoSlot);
                    }
                }
                out.lose(Field::ItemStatus, Reason::NoSlot);
                out.lose_some(Field::ItemStatus, native_status.as_ref(), Reason::NoSlot);
            }
        }
    }

    /// Ends the turn: the response to the prompt.
    fn ended(&mut self, turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
        self.last_chunk = None;
        let stop = turn.stop.as_ref();
        let class = stop.map_or(StopClass::End, |stop| stop.class);
        // The turn goes on after the results of tools.
        if matches!(class, StopClass::ToolUse | StopClass::Paused) {
            return lose_turn(turn, out);
        }
        let id = match &mut self.editor {
            None => self.next_id(method::PROMPT),
            Some(editor) => match editor.prompts.pop_front() {
                Some(id) => id,
                None => return lose_turn(turn, out),
            },
        };
        let is_cancelled =
            self.editor.as_mut().is_some_and(|editor| std::mem::take(&mut editor.is_cancelled));
        if class == StopClass::Error && !is_cancelled {
            let (number, message) = self.failure.take().unwrap_or_default();
            let number = number.parse().unwrap_or(code::INTERNAL);
            let message = if message.is_empty() { Str::escaped("the turn failed") } else { message };
            put_error(&id, number, &message, &mut out.json);
            out.lose_some(Field::StopReason, stop.and_then(|stop| stop.raw.as_ref()), Reason::NoSlot);
            return lose_usage_wholly(turn, out);
        }
        let reason = if is_cancelled { "cancelled" } else { reason(class) };
        let result = begin_result(true, &id, &mut out.json).object().key("stopReason").literal(reason);
        let usage = turn.usage.as_ref().and_then(|usage| Some((usage, usage.all_input()?, usage.output?)));
        if let Some((usage, input, output)) = usage {
            put_usage(usage, input, output, result.key("usage"));
        }
        result.end_object();
        end(&mut out.json);
        if usage.is_none() {
            lose_usage_wholly(turn, out);
        }
        if let Some(Stop { class, raw, .. }) = stop {
            let other = raw.as_ref().filter(|raw| !raw.is(reason));
            out.lose_some(Field::StopReason, other, Reason::NoSlot);
            if !has_reason(*class) {
                out.lose(Field::StopReason, Reason::NoSlot);
            }
        }
        self.lose_failure(out);
    }

    /// Books a failure that no response told.
    fn lose_failure(&mut self, out: &mut WriterOutput<'_>) {
        if let Some((number, message)) = self.failure.take() {
            out.lose_some(
                Field::ErrorCode,
                Some(&Str::from_plain(&number)).filter(|text| !text.is_empty()),
                Reason::NoSlot,
            );
            out.lose_str(Field::ErrorMessage, &message, Reason::NoSlot);
        }
    }

    fn failed(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        let Failure { class: _, status: _, code, message, request_id: _, retry_after: _ } = failure;
        self.lose_failure(out);
        let number = code.as_ref().map(|code| code.decode().into_owned()).unwrap_or_default();
        let number = if number.parse::<i64>().is_ok() {
            number
        } else {
            out.lose_some(Field::ErrorCode, code.as_ref(), Reason::NoSlot);
            String::new()
        };
        self.failure = Some((number, message.clone().into_owned()));
    }

    fn permission(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action, call_id, input, answer: _, by: _ } = permission;
        self.last_chunk = None;
        self.asked.insert(id.as_escaped(), ());
        let params = begin_request_with(id, method::PERMISSION, &mut out.json).object();
        params.key("sessionId").str(&self.session).key("toolCall").object().key("toolCallId");
        match call_id {
            Some(call) => params.str(call),
            None => params.open_string().piece(&Str::escaped("permission-")).piece(id).close_string(),
        };
        params.key("title").str(action).key("kind").literal(call_kind(&action.decode()));
        params.with_value(r#""status":"pending""#).opt_raw("rawInput", input.as_ref()).end_object();
        params.with_value(concat!(
            r#""options":[{"optionId":"allow_once","name":"Allow once","kind":"allow_once"},"#,
            r#"{"optionId":"allow_always","name":"Allow for this session","kind":"allow_always"},"#,
            r#"{"optionId":"reject_once","name":"Reject","kind":"reject_once"}]"#
        ));
        params.end_object();
        end(&mut out.json);
    }

    fn question(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        let Question { id, call_id, prompts, answers: _, declined: _ } = question;
        self.last_chunk = None;
        self.asked.insert(id.as_escaped(), ());
        let params = begin_request_with(id, method::ELICITATION, &mut out.json).object();
        params.key("sessionId").str(&self.session).opt_str("toolCallId", call_id.as_ref());
        params.with_value(r#""mode":"form""#).key("message");
        match &prompts[..] {
            [prompt] => params.str(&prompt.text),
            _ => params.literal("Please answer these questions."),
        };
        params.up_to_value(r#""requestedSchema":{"type":"object","properties":"#).object();
        for (number, prompt) in prompts.iter().enumerate() {
            put_field(prompt, prompts.len() > 1, params.key(&format!("q{number}")));
        }
        params.end_object().end_object().end_object();
        end(&mut out.json);
    }

    /// Withdraws a request that was answered elsewhere: the editor need not ask any more.
    fn resolved(&mut self, id: &Str<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let is_open = self.asked.remove(id.as_escaped()).is_some();
        if !is_open || self.editor.is_none() {
            return out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
        }
        let params = begin_notification(true, method::CANCEL_REQUEST, &mut out.json).object();
        params.key("requestId").str(id).end_object();
        end(&mut out.json);
    }

    /// Answers a request of the editor, or refuses it.
    fn requested(&mut self, id: Val<'_>, method: &str, params: Option<Val<'_>>, json: &mut JsonWriter<'_>) {
        let raw = id.raw();
        let named = params.and_then(|params| params.get("sessionId")?.str());
        match (method, params) {
            (method::INITIALIZE, _) => {
                let result = begin_result(true, &raw, json);
                put_abilities(
                    Some(&Str::escaped("interlingua")),
                    Some(&Str::escaped(env!("CARGO_PKG_VERSION"))),
                    result,
                );
                end(json);
            }
            (method::NEW, Some(params)) if params.has_str("cwd") => {
                let editor = self.editor.get_or_insert_default();
                editor.sessions += 1;
                self.session = Str::from_escaped(format!("session-{}", editor.sessions));
                begin_result(true, &raw, json).object().key("sessionId").str(&self.session).end_object();
                end(json);
            }
            (method::LOAD | method::RESUME, Some(_)) if named.is_some() => {
                self.session = named.unwrap_or_default().into_owned();
                begin_result(true, &raw, json).with_value("{}");
                end(json);
            }
            (method::PROMPT, Some(params)) if params.has_kind("prompt", Kind::Array) => {
                self.editor.get_or_insert_default().prompts.push_back(raw.into_owned());
            }
            ("authenticate", _) => {
                begin_result(true, &raw, json).with_value("{}");
                end(json);
            }
            (method::NEW | method::LOAD | method::RESUME | method::PROMPT, _) => {
                refuse(true, &raw, code::INVALID_PARAMS, "the parameters are incomplete", json);
            }
            _ => refuse(true, &raw, METHOD_NOT_FOUND, "this agent does not have the method", json),
        }
    }
}

impl Writer for AcpWriter {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        // The editor shows its own prompts.
        let is_known = self.editor.as_ref().is_some_and(|editor| !editor.prompts.is_empty());
        match &head.kind {
            ItemKind::Message => match head.author {
                Author::User if is_known => Err(Reason::NoSlot),
                Author::User | Author::Assistant => Ok(()),
                Author::System | Author::Developer | Author::Tool => Err(Reason::NoSlot),
            },
            ItemKind::Reasoning | ItemKind::ToolCall(_) => Ok(()),
            ItemKind::ToolResult(result) if result.call_id.is_some() => Ok(()),
            ItemKind::ToolResult(_) | ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => self.began(session, out),
            Event::SessionUpdated(session) => self.changed(session, out),
            Event::ItemStarted(head) => self.started(head, out),
            Event::ItemDelta(delta) => self.grew(delta, out),
            Event::ItemCompleted(tail) => self.completed(tail, out),
            Event::TurnStarted(turn) | Event::Usage(turn) => lose_turn(turn, out),
            Event::TurnEnded(turn) => self.ended(turn, out),
            Event::PermissionRequested(permission) => self.permission(permission, out),
            Event::QuestionRequested(question) => self.question(question, out),
            Event::PermissionResolved(permission) => self.resolved(&permission.id, event, out),
            Event::QuestionResolved(question) => self.resolved(&question.id, event, out),
            Event::Error(failure) => self.failed(failure, out),
            // The table marks every field of these events as unsupported.
            Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_) => {}
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.lose(out.ledger, Reason::NoSlot);
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let params = frame.get("params").filter(|params| params.kind() == Kind::Object);
        self.editor.get_or_insert_default();
        match Message::of(frame) {
            Some(Message::Request { id, method }) => self.requested(id, method, params, &mut out.json),
            Some(Message::Notification { method: method::CANCEL }) => {
                let editor = self.editor.get_or_insert_default();
                editor.is_cancelled = !editor.prompts.is_empty();
            }
            // The answer to a permission request or a question.
            Some(Message::Response { id, .. }) => _ = self.asked.remove(id_text(id)),
            // Other notifications need no reply, and a line that is no message of JSON-RPC cannot be answered.
            Some(Message::Notification { .. }) | None => {}
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.lose_failure(out);
    }
}

/// Writes the result of `initialize`.
fn put_abilities(agent: Option<&Str<'_>>, version: Option<&Str<'_>>, json: &mut JsonWriter<'_>) {
    json.object().key("protocolVersion").u64(VERSION);
    json.with_value(
        r#""agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true}},"authMethods":[]"#,
    );
    if let Some(agent) = agent {
        let none = Str::default();
        json.key("agentInfo").object().key("name").str(agent);
        json.key("version").str(version.unwrap_or(&none)).end_object();
    }
    json.end_object();
}

/// Writes the model and the effort as options.
fn put_options(session: &Session<'_>, json: &mut JsonWriter<'_>) {
    json.array();
    let options =
        [(&session.model, "model", "model", "Model"), (&session.effort, "effort", "thought_level", "Effort")];
    for (value, id, category, name) in options {
        let Some(value) = value else { continue };
        json.object().key("id").literal(id).key("name").literal(name).key("category").literal(category);
        json.with_value(r#""type":"select""#).key("currentValue").str(value);
        json.up_to_value(r#""options":[{"value":"#).str(value).key("name").str(value);
        json.end_object().end_array().end_object();
    }
    json.end_array();
}

/// Writes the field of a prompt. A form with one field has its question as the message.
fn put_field(prompt: &Prompt<'_>, is_titled: bool, json: &mut JsonWriter<'_>) {
    let Prompt { text, options, multiple } = prompt;
    json.object().key("type").literal(if *multiple { "array" } else { "string" });
    if is_titled {
        json.key("title").str(text);
    }
    if *multiple {
        json.key("items").object();
    }
    if !options.is_empty() {
        json.key(if *multiple { "anyOf" } else { "oneOf" }).array();
        for (label, about) in options {
            json.object().key("const").str(label).key("title").str(label);
            json.opt_str("description", about.as_ref()).end_object();
        }
        json.end_array();
    } else if *multiple {
        json.with_value(r#""type":"string""#);
    }
    if *multiple {
        json.end_object();
    }
    json.end_object();
}

/// Writes the token counts: cached input within the input, reasoning within the output.
fn put_usage(usage: &Usage, input: u64, output: u64, json: &mut JsonWriter<'_>) {
    json.object().key("inputTokens").u64(input).key("outputTokens").u64(output);
    json.key("totalTokens").u64(input.saturating_add(output)).opt_u64("thoughtTokens", usage.reasoning);
    json.opt_u64("cachedReadTokens", usage.cache_read).opt_u64("cachedWriteTokens", usage.cache_write);
    json.end_object();
}

/// Writes the error of a prompt.
fn put_error(id: &Raw<'_>, number: i64, message: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.begin_frame("").up_to_value(r#"{"jsonrpc":"2.0","id":"#).raw(id);
    json.key("error").object().key("code").i64(number).key("message").str(message).end_object();
    end(json);
}

/// Begins a request whose id is a text of the source.
fn begin_request_with<'j, 'o>(
    id: &Str<'_>,
    method: &str,
    json: &'j mut JsonWriter<'o>,
) -> &'j mut JsonWriter<'o> {
    begin_request(true, id.as_escaped(), method, json)
}

/// The stop reason of the protocol.
const fn reason(class: StopClass) -> &'static str {
    match class {
        StopClass::MaxTokens | StopClass::ContextFull => "max_tokens",
        StopClass::Refusal | StopClass::Filter => "refusal",
        StopClass::Cancelled => "cancelled",
        StopClass::End
        | StopClass::Sequence
        | StopClass::ToolUse
        | StopClass::Paused
        | StopClass::Error
        | StopClass::Other => "end_turn",
    }
}

/// Whether the protocol has the same stop reason.
const fn has_reason(class: StopClass) -> bool {
    matches!(class, StopClass::End | StopClass::MaxTokens | StopClass::Refusal | StopClass::Cancelled)
}

/// Books a report on a turn that no message tells.
fn lose_turn(turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
    if let Some(Stop { raw, .. }) = &turn.stop {
        out.lose_some(Field::StopReason, raw.as_ref(), Reason::NoSlot);
        out.lose(Field::StopReason, Reason::NoSlot);
    }
    lose_usage(turn, out);
}

/// Books all leaves of the usage: a count may be computed from several leaves, such as a total.
fn lose_usage_wholly(turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
    lose_usage(turn, out);
    for (field, count) in turn.usage.as_ref().into_iter().flat_map(counts) {
        if count.is_some() {
            out.lose_leaves(field, Reason::NoSlot);
        }
    }
}

fn lose_usage(turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
    for (field, count) in turn.usage.as_ref().into_iter().flat_map(counts) {
        if let Some(count) = count {
            out.lose_number(field, count, Reason::NoSlot);
        }
    }
}

/// The counts that the protocol has.
const fn counts(usage: &Usage) -> [(Field, Option<u64>); 5] {
    [
        (Field::UsageInput, usage.input),
        (Field::UsageOutput, usage.output),
        (Field::UsageReasoning, usage.reasoning),
        (Field::UsageCacheRead, usage.cache_read),
        (Field::UsageCacheWrite, usage.cache_write),
    ]
}
