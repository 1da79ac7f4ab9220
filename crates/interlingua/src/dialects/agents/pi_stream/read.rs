//! Lines to events. A message is emitted when it starts, piece by piece if it is an answer; the line at its end repeats the
//! message and adds what no piece held. The result of a call is emitted when the tool ends.

use std::collections::VecDeque;

use super::answer::StreamedAnswer;
use super::questions::Questions;
use crate::dialects::agents::pi::read::{PiReader, read_block, stop};
use crate::ledger::text_key;
use crate::live::printed::{StreamTurn, failure, notice};
use crate::model::{
    Author, Field, ItemKind, ItemKindTag, Notice, Part, Session, Shape, Stop, StopClass, Turn,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Val};

#[derive(Default)]
pub(super) struct PiStreamReader {
    /// Reads messages, which have the form of the log.
    log: PiReader,
    turn: StreamTurn,
    answer: Option<StreamedAnswer>,
    /// The key of the message that started last and is no answer.
    started: u128,
    /// The key of each result that was emitted, by call id, until its message repeats the result.
    results: Remembered<u128>,
    /// The keys of the messages of this response and its results.
    response: Vec<u128>,
    /// One key of all messages of the run, in their order.
    run: u128,
    questions: Questions,
    /// The keys of the prompts that the agent has not repeated.
    prompts: VecDeque<u128>,
}

impl Reader for PiStreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let message = line.get("message").filter(|message| message.has_str("role"));
        match (line.str_or_empty("type"), message) {
            ("session", _) if line.has_str("id") => {
                line.note_str("type", Field::Structure);
                self.log.session(line, "session", out);
            }
            ("agent_start", _) => {
                tag(line);
                self.run = 0;
                self.turn.begin(out);
            }
            ("agent_end", _) => self.end(line, out),
            ("turn_start", _) => {
                tag(line);
                self.response.clear();
                self.turn.begin(out);
            }
            ("turn_end", Some(message)) => self.response_end(line, message),
            ("message_start", Some(message)) => self.message_start(line, message, out),
            ("message_update", _) if line.get("assistantMessageEvent").is_some() => self.update(line, out),
            ("message_end", Some(message)) => self.message_end(line, message, out),
            ("tool_execution_start", _) if line.has_str("toolCallId") => Self::tool_start(line),
            ("tool_execution_end", _) if line.has_str("toolCallId") => self.tool_end(line, out),
            ("compaction_end", _) => self.compacted(line, out),
            ("session_info_changed", _) => {
                let title = line.note_str("name", Field::SessionTitle);
                self.changed(line, Session { title, ..Session::default() }, out);
            }
            ("thinking_level_changed", _) => {
                let effort = line.note_str("level", Field::SessionEffort);
                self.changed(line, Session { effort, ..Session::default() }, out);
            }
            ("response", _) if line.has_str("command") => self.response(line, out),
            ("extension_ui_request", _) if self.questions.request(line, out) => {}
            ("extension_ui_response", _) if self.questions.response(line, out) => {}
            ("prompt" | "steer" | "follow_up", None) if line.has_str("message") => self.prompted(line, out),
            ("", _) => {
                doc.report_foreign(super::DIALECT.name, out);
                notice(line, out);
            }
            _ => notice(line, out),
        }
    }
}

/// Notes the type of a line.
fn tag(line: Val<'_>) {
    line.note_str("type", Field::Structure);
}

/// A notice without text.
fn silent_notice(line: Val<'_>, out: &mut EventSink<'_>) {
    let event_type = line.note_str("type", Field::NoticeType);
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    out.complete(item);
}

impl PiStreamReader {
    /// Emits a change of the session.
    fn changed(&mut self, line: Val<'_>, told: Session<'_>, out: &mut EventSink<'_>) {
        if told == Session::default() {
            return notice(line, out);
        }
        tag(line);
        self.log.session.tell(AGENT, told, out);
    }

    fn message_start(&mut self, line: Val<'_>, message: Val<'_>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        self.interrupt(out);
        if message.str_or_empty("role") == "assistant" {
            tag(line);
            self.answer = Some(StreamedAnswer::start(message, out));
        } else {
            self.whole(line, message, out);
            self.started = text_key(message.text());
        }
    }

    fn message_end(&mut self, line: Val<'_>, message: Val<'_>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        let key = text_key(message.text());
        self.response.push(key);
        self.run = chained(self.run, key);
        if let Some(answer) = self.answer.take_if(|_| message.str_or_empty("role") == "assistant") {
            tag(line);
            return answer.end(message, &mut self.log.changes, out);
        }
        if std::mem::take(&mut self.started) == key {
            tag(line);
            message.note(Field::Padding);
        } else {
            self.interrupt(out);
            self.whole(line, message, out);
        }
    }

    /// Completes an answer whose end is missing.
    fn interrupt(&mut self, out: &mut EventSink<'_>) {
        if let Some(answer) = self.answer.take() {
            answer.interrupt(out);
        }
    }

    /// Reads a whole message.
    fn whole(&mut self, line: Val<'_>, message: Val<'_>, out: &mut EventSink<'_>) {
        let role = message.str_or_empty("role");
        let is_repeated = match role {
            "toolResult" => self.is_repeated(message),
            "user" => self.is_prompt(message),
            _ => false,
        };
        if is_repeated {
            tag(line);
            message.note(Field::Padding);
        } else if role == "system" && message.get("content").is_none_or(|content| content.is("")) {
            // Newer versions hold the prompt in `sections`.
            notice(line, out);
        } else {
            tag(line);
            self.log.message(message, message, role, out);
        }
    }

    /// Reads a prompt of the client. The agent repeats the prompt as a message of the user.
    fn prompted(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        line.note_str("type", Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, Author::User);
        head.shape = if line.get("images").is_some() { Shape::List } else { Shape::One };
        let item = out.start(head);
        if let Some(text) = line.take_str("message", Field::MessageText) {
            if self.prompts.len() == MOST_PROMPTS {
                self.prompts.pop_front();
            }
            self.prompts.push_back(text_key(&text.decode()));
            out.delta(item, 0, Part::Text(text));
        }
        let images = line.get("images").into_iter().flat_map(|images| images.elements());
        for (number, image) in (1..).zip(images) {
            let place = (item, ItemKindTag::Message);
            out.within(image, |out| read_block((number, image), line, place, &mut self.log.changes, out));
        }
        out.complete(item);
    }

    /// Whether a message of the user repeats a prompt of the client.
    fn is_prompt(&mut self, message: Val<'_>) -> bool {
        let content = message.get("content");
        let first = content.and_then(|content| content.elements().next()?.get("text"));
        let text = content.filter(|content| content.kind() == Kind::String).or(first);
        let key = text.and_then(|text| Some(text_key(&text.str()?.decode())));
        let at = self.prompts.iter().position(|prompt| Some(*prompt) == key);
        at.is_some_and(|at| self.prompts.remove(at).is_some())
    }

    /// Whether the result was emitted when the tool ended. The message may have more members than the result.
    fn is_repeated(&mut self, message: Val<'_>) -> bool {
        let known = self.results.remove(message.str_or_empty("toolCallId"));
        known.is_some_and(|known| Some(known) == content_key(message))
    }

    fn update(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        let known = self.answer.as_mut().is_some_and(|answer| answer.update(line, out));
        if !known {
            notice(line, out);
        }
    }

    /// Reads the start of a tool, which repeats the call.
    fn tool_start(line: Val<'_>) {
        tag(line);
        line.note_str("toolCallId", Field::Padding);
        line.note_str("toolName", Field::Padding);
        line.note_raw("args", Field::Padding);
    }

    fn tool_end(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        let Some(result) = line.get("result").filter(|result| result.kind() == Kind::Object) else {
            return notice(line, out);
        };
        tag(line);
        if let Some(key) = content_key(result) {
            // A result displaced from the bounded memory is emitted again with its message.
            let _ = self.results.insert(line.str_or_empty("toolCallId"), key);
        }
        self.log.answered(line, line, result, out);
    }

    /// The end of a response repeats the answer and its results.
    fn response_end(&mut self, line: Val<'_>, message: Val<'_>) {
        tag(line);
        let results = line.get("toolResults").into_iter().flat_map(|results| results.elements());
        for repeated in std::iter::once(message).chain(results) {
            if self.response.contains(&text_key(repeated.text())) {
                repeated.note(Field::Padding);
            }
        }
    }

    /// The end of a run repeats all its messages. A run that is tried again does not end the turn.
    fn end(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        self.interrupt(out);
        let messages = || line.get("messages").into_iter().flat_map(|messages| messages.elements());
        let all = messages().fold(0, |key, message| chained(key, text_key(message.text())));
        let last = messages().filter(|message| message.str_or_empty("role") == "assistant").last();
        if all == self.run {
            for message in messages().filter(|message| last.is_none_or(|last| last.span() != message.span()))
            {
                message.note(Field::Padding);
            }
        }
        let retries = line.get("willRetry").and_then(|retries| retries.bool());
        if retries.is_some() {
            line.note_raw("willRetry", Field::Structure);
        }
        if retries == Some(true) {
            return silent_notice(line, out);
        }
        tag(line);
        let stop = last.and_then(stop);
        let is_error = stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error);
        if let Some(message) = last.filter(|_| is_error) {
            let text = message.note_str("errorMessage", Field::ErrorMessage);
            self.turn.begin(out);
            out.event(&failure(None, text.unwrap_or_default()));
        }
        if let Some(content) = last.filter(|_| all == self.run).and_then(|last| last.get("content")) {
            content.note(Field::Padding);
        }
        // The answer before the end has the reason for its own stop; a run that ends stopped for good.
        let stop = stop.map(|stop| Stop { class: end_class(stop.class), ..stop });
        self.turn.end(Turn { stop, ..Turn::default() }, out);
    }

    /// The summary is a message, as in the log.
    fn compacted(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        let result = line.get("result").filter(|result| result.has_str("summary"));
        let Some(result) = result else { return notice(line, out) };
        tag(line);
        self.log.message(result, result, "compactionSummary", out);
    }

    /// Reads the response to a command.
    fn response(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        let data = line.get("data");
        let succeeded = line.get("success").and_then(|success| success.bool());
        if line.str_or_empty("command") == "prompt" && succeeded == Some(false) {
            tag(line);
            line.note_raw("success", Field::Structure);
            let code = line.note_str("command", Field::ErrorCode);
            let message = line.note_str("error", Field::ErrorMessage).unwrap_or_default();
            return out.event(&failure(code, message));
        }
        let Some(data) =
            data.filter(|data| line.str_or_empty("command") == "get_state" && data.has_str("sessionId"))
        else {
            return Self::plain_response(line, out);
        };
        tag(line);
        line.note_str("command", Field::Structure);
        let model = data.get("model");
        let told = Session {
            id: data.note_str("sessionId", Field::SessionId),
            title: data.note_str("sessionName", Field::SessionTitle),
            effort: data.note_str("thinkingLevel", Field::SessionEffort),
            model: model.and_then(|model| model.note_str("id", Field::SessionModel)),
            provider: model.and_then(|model| model.note_str("provider", Field::SessionProvider)),
            ..Session::default()
        };
        self.log.session.tell(AGENT, told, out);
    }

    /// A response without a meaning for the session: a notice with the error, if the command failed.
    fn plain_response(line: Val<'_>, out: &mut EventSink<'_>) {
        let event_type = line.note_str("type", Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(head);
        if let Some(error) = line.take_str("error", Field::NoticeText) {
            out.delta(item, 0, Part::Text(error));
        }
        out.complete(item);
    }
}

/// The stop reason of a run, from the stop reason of its last answer.
fn end_class(class: StopClass) -> StopClass {
    if class == StopClass::ToolUse { StopClass::Other } else { class }
}

/// The key of a result's content.
fn content_key(holder: Val<'_>) -> Option<u128> {
    holder.get("content").map(|content| text_key(content.text()))
}

/// The key of a list of messages with one more message.
fn chained(all: u128, message: u128) -> u128 {
    all.rotate_left(1) ^ message
}

/// The number of prompts that wait for their repetition.
const MOST_PROMPTS: usize = 64;

/// The agent of the session.
const AGENT: &str = "pi";
