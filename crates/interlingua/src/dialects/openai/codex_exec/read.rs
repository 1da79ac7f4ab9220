//! Lines to events. An item is printed at its start, at updates, and as a whole at its end; most items only at their end.

use crate::dialects::openai::codex::usage::read_counts;
use crate::dialects::openai::live_items::{RepeatedMembers, changed_file, object_of};
use crate::json::Str;
use crate::log::SessionTracker;
use crate::model::{
    Args, Author, CallKind, Event, Failure, FailureClass, Field, ItemId, ItemKind, ItemTail, Notice, Part,
    Session, Status, Stop, StopClass, ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Claim, Kind, Member, Val};
use crate::wire::note_tag;

#[derive(Default)]
pub(super) struct ExecReader {
    session: SessionTracker,
    /// The open tools, by the id of their item.
    tools: Remembered<RepeatedMembers>,
    /// The last usage: the lines hold the sum over all turns of the thread.
    total: Usage,
    /// The text of the last error, as JSON, which the end of the turn repeats.
    last_error: String,
    /// The last version of the todo list, as JSON.
    todos: String,
}

impl Reader for ExecReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        if matches!(line.str_or_empty("type"), "turn.completed" | "turn.failed") {
            // The type of the last line of a turn is its stop reason.
            line.note_str("type", Field::StopReason);
        }
        let item = line.get("item").filter(|item| item.kind() == Kind::Object);
        let understood = match (line.str_or_empty("type"), item) {
            ("thread.started", _) if line.has_str("thread_id") => {
                let id = line.note_str("thread_id", Field::SessionId);
                self.session.tell("codex", Session { id, ..Session::default() }, out);
                true
            }
            ("turn.started", _) => {
                self.last_error.clear();
                out.event(&Event::TurnStarted(Turn::default()));
                true
            }
            ("turn.completed", _) => {
                let usage = line.get("usage").map(|usage| self.increase(usage));
                self.end_turn(StopClass::End, usage, out);
                true
            }
            ("turn.failed", _) => {
                self.failed(line.get("error"), out);
                self.end_turn(StopClass::Error, None, out);
                true
            }
            ("error", _) if line.has_str("message") => {
                self.failed(Some(line), out);
                true
            }
            ("item.started" | "item.updated", Some(item)) => self.started(item, out),
            ("item.completed", Some(item)) => self.completed(item, out),
            _ => false,
        };
        if understood {
            if line.get("type").is_some_and(|kind| kind.claimed() == Claim::Free) {
                line.note_str("type", Field::Structure);
            }
        } else {
            doc.report_foreign(super::DIALECT.name, out);
            notice(line, "type", out);
        }
    }
}

impl ExecReader {
    /// The usage of a turn: the increase of the sum over the thread.
    fn increase(&mut self, usage: Val<'_>) -> Usage {
        let total = read_counts(usage, Member::note_count);
        let increase = total.increase_over(&self.total);
        self.total = total;
        increase
    }

    fn end_turn(&mut self, class: StopClass, usage: Option<Usage>, out: &mut EventSink<'_>) {
        // A tool that did not end before its turn was cut off.
        let ids: Vec<_> = self.tools.take_all_named().map(|(id, _)| id).collect();
        for id in ids {
            let call_id = Some(Str::escaped(&id));
            let head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
            let result = out.start(head);
            out.end(ItemTail::new(result, Status::Interrupted));
        }
        let stop = Some(Stop { class, raw: None, sequence: None, detail: None });
        out.event(&Event::TurnEnded(Turn { stop, usage, ..Turn::default() }));
    }

    /// Reads an error. The end of the turn repeats the last error.
    fn failed(&mut self, holder: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let message = holder.and_then(|holder| holder.get("message")).filter(|text| text.str().is_some());
        let Some(message) = message else { return };
        if message.text() == self.last_error {
            message.note(Field::ErrorMessage);
            return;
        }
        message.text().clone_into(&mut self.last_error);
        out.event(&Event::Error(Failure {
            class: FailureClass::Other,
            status: None,
            code: None,
            message: message.take_text(Field::ErrorMessage).unwrap_or_default(),
            request_id: None,
            retry_after: None,
        }));
    }

    /// Reads the start or an update of an item. Only tools have a start that matters.
    fn started(&mut self, item: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(names) = argument_names(item.str_or_empty("type")) else { return self.todo(item, out) };
        let id = item.str_or_empty("id");
        if let Some(began) = self.tools.get(id) {
            began.claim(item);
        } else {
            let began = start_call(item, names, out);
            self.tools.insert(id, began);
        }
        true
    }

    fn completed(&mut self, item: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let kind = match item.str_or_empty("type") {
            "agent_message" if item.has_str("text") => ItemKind::Message,
            "reasoning" if item.has_str("text") => ItemKind::Reasoning,
            kind => {
                let Some(names) = argument_names(kind) else { return self.todo(item, out) };
                let began = self.tools.remove(item.str_or_empty("id"));
                let began = began.unwrap_or_else(|| start_call(item, names, out));
                began.claim(item);
                result(item, out);
                return true;
            }
        };
        let (is_reasoning, field) = match kind {
            ItemKind::Reasoning => (true, Field::ReasoningSummary),
            _ => (false, Field::MessageText),
        };
        let mut head = out.head(kind, Author::Assistant);
        head.native_id = item.take_str("id", Field::ItemId);
        item.note_str("type", Field::Structure);
        let id = out.start(head);
        if let Some(text) = item.take_str("text", field) {
            out.delta(id, 0, if is_reasoning { Part::Summary(text) } else { Part::Text(text) });
        }
        out.complete(id);
        true
    }

    /// Reads a todo list, or any other item: a notice. A repeated list is claimed only.
    fn todo(&mut self, item: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(list) = item.get("items").filter(|list| list.kind() == Kind::Array) else {
            notice(item, "type", out);
            return true;
        };
        if list.text() == self.todos {
            list.note(Field::NoticeData);
            return true;
        }
        list.text().clone_into(&mut self.todos);
        let event_type = item.note_str("type", Field::NoticeType);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let id = out.start(head);
        out.delta(id, 0, Part::Json(list.take(Field::NoticeData)));
        out.complete(id);
        true
    }
}

/// The members of an item that are the arguments of its call; `None` for an item that is no tool.
fn argument_names(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "command_execution" => &["command"],
        "file_change" => &["changes"],
        "mcp_tool_call" => &["arguments"],
        "collab_tool_call" => &["prompt", "receiver_thread_ids"],
        "web_search" => &["query", "action"],
        _ => return None,
    })
}

/// Emits the call of a tool. Returns the members that the end of the item repeats.
fn start_call(item: Val<'_>, names: &[&'static str], out: &mut EventSink<'_>) -> RepeatedMembers {
    let (name, namespace, kind) = match item.str_or_empty("type") {
        "mcp_tool_call" => ("tool", "server", CallKind::Mcp),
        "collab_tool_call" => ("tool", "", CallKind::Function),
        "web_search" => ("type", "", CallKind::Server),
        _ => ("type", "", CallKind::Function),
    };
    if name != "type" {
        item.note_str("type", Field::Structure);
    }
    let call = ToolCall {
        call_id: item.take_str("id", Field::CallId),
        kind,
        namespace: item.take_str(namespace, Field::CallNamespace),
        name: item.take_str(name, Field::CallName).unwrap_or_default(),
    };
    let head = out.head(ItemKind::ToolCall(call), Author::Assistant);
    let id = out.start(head);
    let arguments = match names {
        ["arguments"] => item.get("arguments").map(|arguments| arguments.take(Field::CallArgs)),
        names => Some(object_of(item, names, Field::CallArgs)),
    };
    if let Some(arguments) = arguments {
        out.delta(id, 0, Part::Args(Args::Json(arguments)));
    }
    out.complete(id);
    let mut claimed = vec!["type", "tool", "server"];
    // The result holds the changed files.
    claimed.extend(names.iter().filter(|name| **name != "changes"));
    RepeatedMembers::of(item, &claimed)
}

/// Emits the result of a tool.
fn result(item: Val<'_>, out: &mut EventSink<'_>) {
    let call_id = item.get("id").and_then(|id| id.str());
    if item.get("id").is_some_and(|id| id.claimed().field().is_none()) {
        item.note_str("id", Field::ResultCallId);
    }
    let head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
    let id = out.start(head);
    content(item, id, out);
    let native_status = item.note_str("status", Field::ItemStatus);
    let code = item.get("exit_code").filter(|code| code.kind() == Kind::Number);
    let exit_code = code.and_then(|code| code.text().parse::<i64>().ok());
    if exit_code.is_some() {
        code.map(|code| code.note(Field::ResultExitCode));
    }
    let failed = matches!(item.str_or_empty("status"), "failed" | "declined" | "interrupted")
        || exit_code.is_some_and(|code| code != 0);
    out.end(ItemTail {
        id,
        status: if failed { Status::Failed } else { Status::Completed },
        native_status,
        is_error: failed.then_some(true),
        exit_code,
        duration: None,
    });
}

/// Emits the content of a result.
fn content(item: Val<'_>, id: ItemId, out: &mut EventSink<'_>) {
    let mut number = 0;
    let mut add = |part: Part<'_>, out: &mut EventSink<'_>| {
        out.delta(id, number, part);
        number += 1;
    };
    let output = item.get("aggregated_output").filter(|output| !output.is(""));
    if let Some(text) = output.and_then(|output| output.take_text(Field::ResultText)) {
        add(Part::Text(text), out);
    }
    if item.str_or_empty("type") == "file_change" {
        for change in item.get("changes").into_iter().flat_map(|changes| changes.elements()) {
            out.within(change, |out| {
                if let Some(file) = changed_file(change) {
                    add(Part::File(file), out);
                }
            });
        }
    }
    let returned = item.get("result").and_then(|result| result.get("content"));
    for part in returned.into_iter().flat_map(|content| content.elements()) {
        out.within(part, |out| {
            let part = match part.take_str("text", Field::ResultText) {
                Some(text) => {
                    note_tag(part, "type", &["text"]);
                    Part::Text(text)
                }
                None => Part::Json(part.take(Field::ResultJson)),
            };
            add(part, out);
        });
    }
    let states = item.get("agents_states").filter(|states| states.members().next().is_some());
    if let Some(states) = states {
        add(Part::Json(states.take(Field::ResultJson)), out);
    }
    let error = item.get("error").and_then(|error| error.take_str("message", Field::ResultText));
    if let Some(message) = error {
        add(Part::Text(message), out);
    }
}

/// A notice for a line or an item outside the conversation, with its single text for people.
fn notice(holder: Val<'_>, name: &str, out: &mut EventSink<'_>) {
    let event_type = holder.note_str(name, Field::NoticeType);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = holder.take_str("id", Field::ItemId);
    let item = out.start(head);
    let text = ["message", "text"].into_iter().find_map(|name| holder.take_str(name, Field::NoticeText));
    if let Some(text) = text {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}
