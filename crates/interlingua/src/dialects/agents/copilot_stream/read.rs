//! Lines to events. Pieces of an answer are emitted as they arrive, and the line of the log that repeats the answer
//! completes it. The reader of the log reads every other line.

use crate::blocks::start_reasoning;
use crate::dialects::agents::copilot_cli::line::CopilotLine;
use crate::dialects::agents::copilot_cli::read::{CopilotLogReader, states, value_key};
use crate::json::Str;
use crate::live::printed::{StreamTurn, clock, stop};
use crate::live::streamed::{StreamedBlock, StreamedKind};
use crate::model::{
    Author, CallKind, Event, Field, ItemId, ItemKind, ItemTail, Session, Status, StopClass, ToolCall, Turn,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val};

#[derive(Default)]
pub(super) struct CopilotStreamReader {
    log: CopilotLogReader,
    has_begun: bool,
    turn: StreamTurn,
    /// Whether the turn failed.
    has_failed: bool,
    /// The open answers, each with its subagent; the main agent has the empty name.
    answers: Vec<(String, StreamedAnswer)>,
    /// The model of the last call.
    model: Option<Str<'static>>,
}

/// An answer of which pieces have arrived.
struct StreamedAnswer {
    item: ItemId,
    /// The blocks with the id of the call; a text or thought has the empty id.
    blocks: Vec<(String, StreamedBlock)>,
}

impl Reader for CopilotStreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = CopilotLine::new(doc.root);
        let is_main = line.agent().is_empty();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.log.is_printed = true;
            self.log.session.begin(AGENT, out);
        }
        match line.word() {
            "assistant.reasoning_delta" | "assistant.message_delta" | "assistant.tool_call_delta"
                if line.data.has_str("deltaContent") || line.data.has_str("inputDelta") =>
            {
                self.log.close(out);
                return self.piece(&line, out);
            }
            "assistant.message" if line.data.has_str("content") => {
                self.begin_turn(is_main, out);
                if let Some(answer) = self.take(line.agent()) {
                    self.log.close(out);
                    return self.whole(&line, answer, out);
                }
            }
            "model.call_start" => {
                // The line with the whole answer, or the line of the failure, repeats the model.
                let model = line.data.note_str("model", Field::Padding);
                self.model = model.map(Str::into_owned).or(self.model.take());
            }
            "session.tools_updated" if is_main => {
                let model = line.data.note_str("model", Field::SessionModel);
                self.log.session.tell(AGENT, Session { model, ..Session::default() }, out);
            }
            "user.message" | "assistant.turn_start" => self.begin_turn(is_main, out),
            "assistant.turn_end" => self.interrupt(line.agent(), out),
            "session.error" if is_main => self.has_failed = true,
            "abort" if is_main => {
                self.interrupt_all(out);
                self.log.document(doc, out);
                // The reader of the log ends the turn if the line has a reason.
                if line.data.has_str("reason") {
                    self.turn.has_ended();
                }
                return;
            }
            "assistant.idle" if is_main => {
                self.interrupt_all(out);
                self.log.document(doc, out);
                return self.end(&line, out);
            }
            "result" => {
                self.interrupt_all(out);
                if self.turn.is_open() {
                    self.has_failed |= line.data.get("exitCode").is_some_and(|code| code.text() != "0");
                    self.end(&line, out);
                }
            }
            // The reader of the log knows the other lines.
            _ => {}
        }
        self.log.document(doc, out);
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.log.finish(out);
    }
}

impl CopilotStreamReader {
    /// Begins the turn, unless the line is a subagent's.
    fn begin_turn(&mut self, is_main: bool, out: &mut EventSink<'_>) {
        if is_main {
            self.turn.begin(out);
        }
    }

    fn end(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        if !self.turn.is_open() {
            return;
        }
        clock(line.time, out);
        // The type of the line is the only value that ends the turn.
        line.kind.note_text(Field::StopReason);
        let class = if std::mem::take(&mut self.has_failed) { StopClass::Error } else { StopClass::End };
        self.turn.end(Turn { stop: Some(stop(class, None)), ..Turn::default() }, out);
    }

    fn take(&mut self, agent: &str) -> Option<StreamedAnswer> {
        let at = self.answers.iter().position(|(known, _)| known == agent)?;
        Some(self.answers.remove(at).1)
    }

    /// Completes the answer of an agent whose whole line is missing.
    fn interrupt(&mut self, agent: &str, out: &mut EventSink<'_>) {
        if let Some(answer) = self.take(agent) {
            answer.complete(Status::Interrupted, out);
        }
    }

    fn interrupt_all(&mut self, out: &mut EventSink<'_>) {
        for (_, answer) in std::mem::take(&mut self.answers) {
            answer.complete(Status::Interrupted, out);
        }
    }

    /// The open answer of the line's agent; starts one if there is none.
    fn open(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) -> &mut StreamedAnswer {
        let agent = line.agent();
        let at = self.answers.iter().position(|(known, _)| known == agent).unwrap_or_else(|| {
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            head.parent_call = line.data.take_str("parentToolCallId", Field::ItemParentCall);
            head.model.clone_from(&self.model);
            let item = out.start(self.log.begin(head, line));
            self.answers.push((agent.to_owned(), StreamedAnswer { item, blocks: Vec::new() }));
            self.answers.len() - 1
        });
        &mut self.answers[at].1
    }

    fn piece(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        self.begin_turn(line.agent().is_empty(), out);
        line.kind.note_text(Field::Structure);
        let (kind, member) = match line.word() {
            "assistant.reasoning_delta" => (StreamedKind::Thought, "deltaContent"),
            "assistant.tool_call_delta" => (StreamedKind::Call, "inputDelta"),
            _ => (StreamedKind::Text, "deltaContent"),
        };
        let call = line.data.str_or_empty("toolCallId");
        let answer = self.open(line, out);
        let block = answer.block(kind, call, line.data, out);
        let delta = line.data.get(member);
        if delta.is_some_and(|delta| delta.is("")) {
            delta.note_text(Field::Structure);
        } else if let Some(text) = delta.take_text(kind.field()) {
            block.grow(text, out);
        }
    }

    /// Reads the whole answer: adds what no piece held, and completes the answer.
    fn whole(&mut self, line: &CopilotLine<'_>, mut answer: StreamedAnswer, out: &mut EventSink<'_>) {
        let data = line.data;
        line.kind.note_text(Field::ItemAuthor);
        line.parent.note_text(Field::Padding);
        let turn = self.log.accounts.of_answer(data);
        let thought = data.get("reasoningText").filter(|text| text.kind() == Kind::String);
        match answer.find(StreamedKind::Thought, "") {
            Some(block) => {
                self.log.thoughts = thought.map_or(0, value_key);
                block.text_again(thought, out);
                states(data, block.item, out);
                block.complete(Status::Completed, out);
            }
            None => self.log.thinking(data, answer.item, out),
        }
        let text = data.get("content");
        if text.is_some_and(|text| text.is("")) {
            text.note_text(Field::Structure);
        } else {
            answer.block(StreamedKind::Text, "", data, out).text_again(text, out);
        }
        for request in data.get("toolRequests").into_iter().flat_map(|requests| requests.elements()) {
            let id = request.str_or_empty("toolCallId");
            match answer.find(StreamedKind::Call, id) {
                Some(block) => {
                    let arguments = request.get("arguments");
                    let _ = self.log.calls.insert(id, arguments.map_or(0, value_key));
                    request.note_str("toolCallId", Field::Structure);
                    for name in ["name", "type"] {
                        request.note_str(name, Field::Padding);
                    }
                    out.within(request, |out| block.arguments_again(arguments, out));
                }
                None => out.within(request, |out| self.log.call(request, answer.item, out)),
            }
        }
        answer.complete(Status::Completed, out);
        if turn != Turn::default() {
            let model = data.str_or_empty("model");
            let turn = Turn { model: data.note_str("model", Field::TurnModel), ..turn };
            self.log.accounts.tell(&turn, model, out);
        }
    }
}

impl StreamedAnswer {
    fn find(&mut self, kind: StreamedKind, call: &str) -> Option<&mut StreamedBlock> {
        let mut blocks = self.blocks.iter_mut();
        blocks.find(|(id, block)| block.kind == kind && id == call).map(|(_, block)| block)
    }

    /// The block of a kind; starts it if there is none.
    fn block(
        &mut self,
        kind: StreamedKind,
        call: &str,
        data: Val<'_>,
        out: &mut EventSink<'_>,
    ) -> &mut StreamedBlock {
        let is_it = |(id, block): &(String, StreamedBlock)| block.kind == kind && id == call;
        let at = self.blocks.iter().position(is_it).unwrap_or_else(|| {
            let item = match kind {
                StreamedKind::Text => self.item,
                StreamedKind::Thought => start_reasoning(self.item, out),
                StreamedKind::Call => self.call(data, out),
            };
            self.blocks.push((call.to_owned(), StreamedBlock::new(kind, item, 0)));
            self.blocks.len() - 1
        });
        &mut self.blocks[at].1
    }

    fn call(&self, data: Val<'_>, out: &mut EventSink<'_>) -> ItemId {
        let kind = match data.str_or_empty("toolType") {
            "function" | "" => CallKind::Function,
            "custom" => CallKind::FreeText,
            _ => CallKind::Vendor,
        };
        data.note_str("toolType", Field::CallKind);
        let call_id = data.take_str("toolCallId", Field::CallId);
        let name = data.take_str("toolName", Field::CallName).unwrap_or_default();
        let call = ToolCall { call_id, kind, namespace: None, name };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        head.within = Some(self.item);
        out.start(head)
    }

    fn complete(mut self, status: Status, out: &mut EventSink<'_>) {
        for (_, block) in &mut self.blocks {
            block.complete(status, out);
        }
        out.event(&Event::ItemCompleted(ItemTail::new(self.item, status)));
    }
}

/// The agent of the session.
const AGENT: &str = "copilot-cli";
