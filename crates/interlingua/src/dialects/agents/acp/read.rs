//! Messages of both directions to events.
//!
//! An agent's stdout holds no prompts, so the first activity of the agent starts the turn, and the response to
//! `session/prompt` ends it. A transcript of both directions holds the prompt, which then starts the turn.

use super::content::{ContentFields, part_of};
use super::opening::SessionFacts;
use super::requests::Requests;
use super::tools::Calls;
use super::{code, method};
use crate::json::Str;
use crate::live::json_rpc::{Message, OwnRequests, id_text};
use crate::log::words_of_unknown;
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemId, ItemKind, Notice, Part, Shape, Stop, StopClass,
    Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Val, WantedNames};
use crate::wire::note_tag;

pub(super) struct AcpReader {
    /// Whether only the lines of the client are read.
    is_of_client: bool,
    session: SessionFacts,
    turn: TurnState,
    message: Option<OpenMessage>,
    /// The id of the last message, which may continue after a call.
    last_message: String,
    calls: Calls,
    requests: Requests,
    /// The methods of the client's requests, by the text of their id.
    sent: Remembered<String>,
    /// The id of the last prompt that was answered.
    answered: String,
    /// The method of the request that the last response belongs to, empty if it is unknown.
    responded: String,
    /// The rest of the prompt's text that the agent has not repeated.
    unrepeated: String,
}

/// The state of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnState {
    None,
    /// The agent repeats an earlier session (`session/load`); messages start no turn.
    Replay,
    Open,
}

/// A message or a piece of reasoning that may grow.
struct OpenMessage {
    item: ItemId,
    chunk: Chunk,
    /// The native id, empty if the agent has none.
    id: String,
    /// The number of the current part.
    part: u32,
    /// Whether the current part is a text.
    in_text: bool,
}

/// The kind of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chunk {
    User,
    Agent,
    Thought,
}

impl AcpReader {
    /// A reader for the lines of an agent, or for a transcript of both directions.
    pub(super) fn of_agent() -> Self {
        Self::new(false)
    }

    /// A reader for the lines of a client.
    pub(super) fn of_client() -> Self {
        Self::new(true)
    }

    fn new(is_of_client: bool) -> Self {
        Self {
            is_of_client,
            session: SessionFacts::default(),
            turn: TurnState::None,
            message: None,
            last_message: String::new(),
            calls: Calls::default(),
            requests: Requests::default(),
            sent: Remembered::default(),
            answered: String::new(),
            responded: String::new(),
            unrepeated: String::new(),
        }
    }
}

impl Reader for AcpReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<6> =
            WantedNames::new(["jsonrpc", "id", "method", "params", "result", "error"]);
        let frame = doc.root;
        let [version, id, method, params, result, error] = frame.find(&WANTED);
        if let Some(version) = version.filter(|version| version.is("2.0")) {
            version.note(Field::Structure);
        }
        let params = params.filter(|params| params.kind() == Kind::Object);
        let understood = match Message::of_members(id, method, result, error) {
            Some(Message::Request { id, method }) => self.request(id, method, params, out),
            Some(Message::Notification { method }) => self.notification(method, params, out),
            Some(Message::Response { id, outcome }) => self.response(id, outcome, out),
            None => false,
        };
        if understood {
            method.and_then(|method| method.note_text(Field::Structure));
        } else {
            notice(frame, &self.responded, out);
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        // Outside a turn, no message marks the end of a repeated message. In a turn, the message is incomplete.
        if self.turn != TurnState::Open {
            self.close_message(out);
        }
    }
}

impl AcpReader {
    fn request(
        &mut self,
        id: Val<'_>,
        method: &str,
        params: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) -> bool {
        if let (method::PERMISSION | method::ELICITATION, Some(params)) = (method, params) {
            self.session.of_line(params, out);
            self.close_message(out);
            self.begin_turn(out);
            return match method {
                method::PERMISSION => self.requests.permission(id, params, &mut self.calls, out),
                _ => self.requests.elicitation(id, params, out),
            };
        }
        // The client's lines hold no responses to its own requests.
        if !self.is_of_client {
            self.sent.insert(id_text(id), method.to_owned());
        }
        let Some(params) = params else { return false };
        match method {
            method::NEW | method::LOAD | method::RESUME => self.session.asked(params, out),
            method::PROMPT => self.prompt(params, out),
            method::SET_MODE if self.is_of_client => self.session.set_mode(params, out),
            method::SET_MODEL | method::SET_OPTION if self.is_of_client => {
                self.session.set_option(params, out)
            }
            _ => false,
        }
    }

    fn notification(&mut self, method: &str, params: Option<Val<'_>>, out: &mut EventSink<'_>) -> bool {
        let Some(params) = params else { return false };
        match method {
            method::UPDATE => {
                let Some(update) = params.get("update") else { return false };
                let Some(kind) = update.get("sessionUpdate").filter(|kind| kind.str().is_some()) else {
                    return false;
                };
                self.session.of_line(params, out);
                self.update(update, kind, out)
            }
            method::CANCEL if self.is_of_client => {
                self.session.of_line(params, out);
                self.end_turn(cancelled(None), Turn::default(), out)
            }
            method::CANCEL_REQUEST => self.requests.withdrawn(params, out),
            _ => false,
        }
    }

    fn update(&mut self, update: Val<'_>, kind: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let understood = match id_text(kind) {
            "agent_message_chunk" => self.chunk(Chunk::Agent, update, out),
            "agent_thought_chunk" => self.chunk(Chunk::Thought, update, out),
            "user_message_chunk" => self.chunk(Chunk::User, update, out),
            "tool_call" | "tool_call_update" if update.has_str("toolCallId") => {
                self.close_message(out);
                let is_over = ["completed", "failed"].contains(&update.str_or_empty("status"));
                // A call of a repeated session is complete at once.
                if (self.turn != TurnState::Replay || !is_over) && !self.calls.is_late(update) {
                    self.begin_turn(out);
                }
                self.calls.update(update, out)
            }
            "current_mode_update" => self.session.mode_changed(update, out),
            "config_option_update" => self.session.options_changed(update, out),
            "session_info_update" => self.session.title_changed(update, out),
            _ => return false,
        };
        if understood {
            kind.note(Field::Structure);
        }
        understood
    }

    fn begin_turn(&mut self, out: &mut EventSink<'_>) {
        if self.turn != TurnState::Open {
            self.turn = TurnState::Open;
            out.event(&Event::TurnStarted(Turn::default()));
        }
    }

    fn close_message(&mut self, out: &mut EventSink<'_>) {
        if let Some(message) = self.message.take() {
            out.complete(message.item);
            self.last_message = message.id;
        }
    }

    /// Reads a piece of a message or of reasoning.
    fn chunk(&mut self, chunk: Chunk, update: Val<'_>, out: &mut EventSink<'_>) -> bool {
        const WANTED: WantedNames<3> = WantedNames::new(["content", "messageId", "_meta"]);
        let [content, id, meta] = update.find(&WANTED);
        let Some(content) = content.filter(|content| content.kind() == Kind::Object) else { return false };
        if chunk == Chunk::User {
            if self.is_repeated(content) {
                return true;
            }
            if self.turn == TurnState::None {
                self.turn = TurnState::Replay;
            }
        } else if self.turn == TurnState::None {
            self.begin_turn(out);
        }
        let usage = meta.and_then(|meta| meta.get("usage")).and_then(usage);
        if usage.is_some() && content.get("text").is_some_and(|text| text.is("")) {
            // Qwen Code reports the usage of a response with an empty text.
            content.note_str("text", Field::Structure);
            note_tag(content, "type", &["text"]);
        } else if !self.grow(chunk, id, content, out) {
            return false;
        }
        if usage.is_some() {
            out.event(&Event::Usage(Turn { usage, ..Turn::default() }));
        }
        true
    }

    /// Adds a content block to the open message, or starts a message with it.
    fn grow<'t>(
        &mut self,
        chunk: Chunk,
        id: Option<Val<'t>>,
        content: Val<'t>,
        out: &mut EventSink<'_>,
    ) -> bool {
        let id = id.filter(|id| id.str().is_some());
        let name = id.map(|id| id_text(id)).unwrap_or_default();
        let fields = match chunk {
            Chunk::User | Chunk::Agent => ContentFields::MESSAGE,
            // Reasoning holds only text.
            Chunk::Thought if content.str_or_empty("type") != "text" => return false,
            Chunk::Thought => ContentFields::REASONING,
        };
        if self.message.as_ref().is_some_and(|open| open.chunk != chunk || open.id != name) {
            self.close_message(out);
        }
        let Some(part) = part_of(content, fields) else { return false };
        let is_text = matches!(part, Part::Text(_));
        if let Some(id) = id.filter(|_| self.message.is_some()) {
            id.note(Field::ItemId);
        }
        let is_resumed = !name.is_empty() && self.last_message == name;
        let open = self.message.get_or_insert_with(|| {
            let (kind, author) = match chunk {
                Chunk::User => (ItemKind::Message, Author::User),
                Chunk::Agent => (ItemKind::Message, Author::Assistant),
                Chunk::Thought => (ItemKind::Reasoning, Author::Assistant),
            };
            let mut head = out.head(kind, author);
            // A message that continues after a call is a second item; the id belongs to the first.
            if is_resumed {
                id.map(|id| id.note(Field::Structure));
            } else {
                head.native_id = id.and_then(|id| id.take_text(Field::ItemId));
            }
            head.shape = if is_text { Shape::One } else { Shape::List };
            OpenMessage { item: out.start(head), chunk, id: name.to_owned(), part: 0, in_text: is_text }
        });
        if !(open.in_text && is_text) {
            open.part += u32::from(open.in_text || !is_text);
            open.in_text = is_text;
        }
        out.piece(open.item, open.part, part);
        true
    }

    /// Whether a chunk of the user repeats the prompt that the transcript holds.
    fn is_repeated(&mut self, content: Val<'_>) -> bool {
        let Some(text) = content.get("text") else { return false };
        let said = text.str().unwrap_or_default();
        let repeats = !said.is_empty() && self.unrepeated.starts_with(said.as_escaped());
        if repeats {
            self.unrepeated.drain(..said.as_escaped().len());
            text.note(Field::MessageText);
            note_tag(content, "type", &["text"]);
        }
        repeats
    }

    /// Reads a prompt, which starts a turn.
    fn prompt(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(blocks) = params.get("prompt").filter(|blocks| blocks.kind() == Kind::Array) else {
            return false;
        };
        self.session.of_line(params, out);
        self.close_message(out);
        self.begin_turn(out);
        self.unrepeated.clear();
        let mut head = out.head(ItemKind::Message, Author::User);
        head.shape = if blocks.elements().nth(1).is_some() { Shape::List } else { Shape::One };
        let item = out.start(head);
        for (number, block) in blocks.elements().enumerate() {
            out.within(block, |out| {
                let Some(part) = part_of(block, ContentFields::MESSAGE) else { return };
                if let Part::Text(text) = &part {
                    self.unrepeated.push_str(text.as_escaped());
                }
                out.delta(item, number as u32, part);
            });
        }
        out.complete(item);
        true
    }

    fn response(&mut self, id: Val<'_>, outcome: Result<Val<'_>, Val<'_>>, out: &mut EventSink<'_>) -> bool {
        let sent = self.sent.remove(id_text(id));
        if self.requests.answer(id, outcome, sent.is_some(), self.is_of_client, out) {
            return true;
        }
        let method = OwnRequests::method_of(id).or(sent.as_deref());
        self.responded.clear();
        self.responded.push_str(method.unwrap_or_default());
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return self.failed(id, method, error, out),
        };
        match method {
            Some(method::INITIALIZE) => self.session.initialized(result, out),
            Some(method::NEW | method::LOAD | method::RESUME) => self.session.opened(result, out),
            Some(method::PROMPT) => self.prompt_answered(id, result, out),
            Some(_) => false,
            // A line without its request is recognised by its members.
            None if result.has_str("stopReason") => self.prompt_answered(id, result, out),
            None if result.has_kind("protocolVersion", Kind::Number) => self.session.initialized(result, out),
            None if result.has_str("sessionId") => self.session.opened(result, out),
            None => false,
        }
    }

    fn prompt_answered(&mut self, id: Val<'_>, result: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(raw) = result.get("stopReason").filter(|raw| raw.str().is_some()) else { return false };
        if self.is_second_answer(id) {
            return false;
        }
        let raw = raw.note_text(Field::StopReason);
        let class = match raw.as_ref().map(Str::as_escaped) {
            Some("end_turn") => StopClass::End,
            Some("max_tokens") => StopClass::MaxTokens,
            Some("refusal") => StopClass::Refusal,
            Some("cancelled") => StopClass::Cancelled,
            _ => StopClass::Other,
        };
        let usage = result.get("usage").and_then(usage).or_else(|| quota(result));
        let stop = Stop { class, raw, sequence: None, detail: None };
        self.begin_turn(out);
        self.end_turn(stop, Turn { usage, ..Turn::default() }, out)
    }

    /// Whether the prompt was answered before. Only ids of our own requests are unique.
    fn is_second_answer(&mut self, id: Val<'_>) -> bool {
        let is_second = OwnRequests::method_of(id).is_some() && self.answered == id_text(id);
        self.answered.clear();
        self.answered.push_str(id_text(id));
        is_second
    }

    /// Ends the turn, if one is open.
    fn end_turn(&mut self, stop: Stop<'_>, turn: Turn<'_>, out: &mut EventSink<'_>) -> bool {
        if self.turn != TurnState::Open {
            return false;
        }
        self.close_message(out);
        self.calls.end(stop.class == StopClass::Cancelled, out);
        self.turn = TurnState::None;
        self.unrepeated.clear();
        out.event(&Event::TurnEnded(Turn { stop: Some(stop), ..turn }));
        true
    }

    /// Reads the error of a request of the client.
    fn failed(&mut self, id: Val<'_>, method: Option<&str>, error: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let is_prompt = method == Some(method::PROMPT);
        let is_known =
            is_prompt || method.is_some_and(|method| method.starts_with("session/") || is_opening(method));
        // The client's refusal of a request has the same form.
        let is_unnamed = method.is_none() && self.turn == TurnState::Open && !self.is_of_client;
        if !is_known && !is_unnamed {
            return false;
        }
        if is_prompt && self.is_second_answer(id) {
            return false;
        }
        let number = error.get("code").filter(|number| number.kind() == Kind::Number);
        let number = number.map(|number| number.note(Field::ErrorCode));
        let number: i64 = number.and_then(|raw| raw.as_str().parse().ok()).unwrap_or_default();
        if is_prompt && number == code::CANCELLED {
            error.note_str("message", Field::StopReason);
            self.begin_turn(out);
            return self.end_turn(
                cancelled(error.get("message").and_then(|text| text.str())),
                Turn::default(),
                out,
            );
        }
        let class = match number {
            -32000 => FailureClass::Authentication,
            -32002 => FailureClass::NotFound,
            -32602..=-32600 => FailureClass::InvalidRequest,
            -32603 => FailureClass::Server,
            _ => FailureClass::Other,
        };
        let message = error.take_str("message", Field::ErrorMessage).unwrap_or_default();
        let code = error.get("code").map(|code| Str::escaped(code.text()));
        out.event(&Event::Error(Failure {
            class,
            status: None,
            code,
            message,
            request_id: None,
            retry_after: None,
        }));
        if is_prompt {
            self.begin_turn(out);
            let stop = Stop { class: StopClass::Error, raw: None, sequence: None, detail: None };
            self.end_turn(stop, Turn::default(), out);
        }
        true
    }
}

/// Whether a method belongs to the start of the connection.
fn is_opening(method: &str) -> bool {
    matches!(method, method::INITIALIZE | "authenticate" | "logout")
}

const fn cancelled(raw: Option<Str<'_>>) -> Stop<'_> {
    Stop { class: StopClass::Cancelled, raw, sequence: None, detail: None }
}

/// The token counts of a response. Some agents count cached input and reasoning within the input and the output, others
/// beside them; the total decides.
fn usage(usage: Val<'_>) -> Option<Usage> {
    let input = usage.note_u64("inputTokens", Field::UsageInput)?;
    let output = usage.note_u64("outputTokens", Field::UsageOutput)?;
    let thought = usage.note_u64("thoughtTokens", Field::UsageReasoning);
    let read = usage.note_u64("cachedReadTokens", Field::UsageCacheRead);
    let written = usage.note_u64("cachedWriteTokens", Field::UsageCacheWrite);
    let beside = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let total = usage.get("totalTokens").and_then(|total| total.u64());
    let is_within = total.is_none_or(|total| total == input.saturating_add(output));
    if is_within && beside.saturating_add(thought.unwrap_or(0)) > 0 {
        usage.note_u64("totalTokens", Field::Structure);
    }
    let (input, output) = if is_within {
        (input.saturating_sub(beside), output)
    } else {
        (input, output.saturating_add(thought.unwrap_or(0)))
    };
    Some(Usage { cache_read: read, cache_write: written, reasoning: thought, ..Usage::new(input, output) })
}

/// The token counts of Gemini CLI.
fn quota(result: Val<'_>) -> Option<Usage> {
    let count = result.get("_meta")?.get("quota")?.get("token_count")?;
    let input = count.note_u64("input_tokens", Field::UsageInput)?;
    Some(Usage::new(input, count.note_u64("output_tokens", Field::UsageOutput)?))
}

/// A notice for a message outside the conversation, named by the kind of its update or by its method.
fn notice(frame: Val<'_>, responded: &str, out: &mut EventSink<'_>) {
    let params = frame.get("params");
    let update = params.and_then(|params| params.get("update"));
    let name = update.and_then(|update| update.note_str("sessionUpdate", Field::NoticeType));
    let name = name.or_else(|| frame.note_str("method", Field::NoticeType));
    let responded = if responded.is_empty() { "response" } else { responded };
    let name = name.unwrap_or(Str::escaped(responded));
    let head = out.head(ItemKind::Notice(Notice { event_type: Some(name) }), Author::System);
    let item = out.start(head);
    let holder = update.or(params);
    let text = holder.and_then(|holder| {
        let content = holder.get("content").filter(|content| content.has_str("text"));
        content
            .unwrap_or(holder)
            .get("text")
            .and_then(|text| text.take_text(Field::NoticeText))
            .or_else(|| words_of_unknown(holder))
    });
    if let Some(text) = text {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(entries) = update.and_then(|update| update.take_raw("entries", Field::NoticeData)) {
        out.delta(item, 0, Part::Json(entries));
    }
    out.complete(item);
}
