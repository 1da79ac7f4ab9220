//! Messages to events. Notifications and requests of the server become items, turns, permissions and questions. Requests
//! of the client, which a two-way transcript holds as well, become prompts and notices.

use super::DIALECT;
use super::items::Items;
use super::messages::{error_of, turn_stop};
use super::requests::Requests;
use super::session::{Threads, number, settings};
use crate::json::{ChangeDetector, Str};
use crate::live::json_rpc::{Message, OwnRequests, id_text};
use crate::model::{
    Author, Compaction, Event, Failure, FailureClass, Field, ItemKind, Notice, Part, Session, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member, Val, WantedNames};

#[derive(Default)]
pub(super) struct AppServerReader {
    threads: Threads,
    items: Items,
    requests: Requests,
    /// The methods of the client's requests, by the text of their id. Only a transcript holds these requests.
    methods: Remembered<String>,
    time: ChangeDetector,
    /// Set while a turn of the session is open.
    turn_is_open: bool,
    /// The usage of the open turn.
    usage: Usage,
    /// The last running total of each thread, as JSON.
    totals: Remembered<String>,
    /// The message of the last error, which the end of the turn repeats.
    last_error: String,
    /// The turn of the last compaction.
    compacted: String,
}

impl Reader for AppServerReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        // The start of the session is rounded to seconds: earlier messages may have a later time.
        let when = line.get("emittedAtMs").filter(|_| self.threads.has_begun());
        let when = when.filter(|time| time.kind() == Kind::Number);
        if self.time.changed(when.map(|when| Str::escaped(when.text()))).is_some()
            && let Some(when) = when
        {
            out.event(&Event::Clock(when.note(Field::EventTime)));
        }
        match Message::of(line) {
            Some(Message::Request { id, method }) => self.request(line, id, method, out),
            Some(Message::Notification { method }) => self.notification(line, method, out),
            Some(Message::Response { id, outcome }) => self.response(id, outcome, out),
            None => {
                doc.report_foreign(DIALECT.name, out);
                self.notice(line, None, out);
            }
        }
    }
}

impl AppServerReader {
    fn request(&mut self, line: Val<'_>, id: Val<'_>, method: &str, out: &mut EventSink<'_>) {
        let Some(params) = line.get("params").filter(|params| params.kind() == Kind::Object) else {
            return self.notice(line, None, out);
        };
        if self.requests.asked(id, method, params, out) {
            line.note_str("method", Field::Structure);
            return;
        }
        self.methods.insert(id_text(id), method.to_owned());
        match method {
            "turn/start" | "turn/steer" if params.has_kind("input", Kind::Array) => {
                line.note_str("method", Field::Structure);
                self.items.prompted(params, out);
            }
            _ => self.notice(line, Some(params), out),
        }
    }

    fn response(&mut self, id: Val<'_>, outcome: Result<Val<'_>, Val<'_>>, out: &mut EventSink<'_>) {
        // Both sides count their requests: an id may name a request of either side.
        let is_to_client = OwnRequests::method_of(id).is_some() || self.methods.get(id_text(id)).is_some();
        if self.requests.answered(id, outcome, is_to_client, out) {
            return;
        }
        let asked = self.methods.remove(id_text(id));
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return refused(error, out),
        };
        let thread = result.get("thread").filter(|thread| thread.kind() == Kind::Object);
        if let Some(thread) = thread.filter(|_| result.get("approvalPolicy").is_some())
            && self.threads.opened(thread, result, out)
        {
            return;
        }
        let own = OwnRequests::method_of(id).inspect(|_| drop(id.note(Field::NoticeType)));
        // Without the request, the members of the result identify the method.
        let known = match result {
            _ if result.has_str("codexHome") => "initialize",
            _ if result.has_kind("turn", Kind::Object) => "turn/start",
            _ => "response",
        };
        let event_type = Some(Str::escaped(own.or(asked.as_deref()).unwrap_or(known)));
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = out.start(head);
        out.complete(item);
    }

    fn notification(&mut self, line: Val<'_>, method: &str, out: &mut EventSink<'_>) {
        let Some(params) = line.get("params").filter(|params| params.kind() == Kind::Object) else {
            return self.notice(line, None, out);
        };
        let understood = match method {
            "thread/started" => {
                let thread = params.get("thread").filter(|thread| thread.kind() == Kind::Object);
                thread.is_some_and(|thread| self.threads.opened(thread, thread, out))
            }
            "thread/name/updated" => self.renamed(params, out),
            "thread/settings/updated" => self.set(params, out),
            "turn/started" => self.turn_started(params, out),
            "turn/completed" => self.turn_completed(params, out),
            "item/started" => self.items.started(params, &mut self.threads, out),
            "item/completed" => self.completed(params, out),
            "item/reasoning/summaryPartAdded" => params.has_str("itemId"),
            "thread/tokenUsage/updated" => self.used(params, out),
            "thread/compacted" => self.compacted(params, out),
            "serverRequest/resolved" => self.requests.resolved(params, out),
            "error" => self.failed(params, out),
            _ => self.items.piece(method, params, &mut self.threads, &mut self.requests, out),
        };
        if understood {
            line.note_str("method", Field::Structure);
        } else {
            self.notice(line, Some(params), out);
        }
    }

    fn completed(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(item) = params.get("item").filter(|item| item.has_str("id")) else { return false };
        self.requests.settle(item, out);
        if item.get("type").is_some_and(|kind| kind.is("contextCompaction")) {
            item.note_str("type", Field::Structure);
            self.items.forget(params, item);
            return self.compacted(params, out);
        }
        self.items.completed(params, item, &mut self.threads, out)
    }

    /// Reads a compaction: an item, and in some versions a notification as well.
    fn compacted(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let turn = params.str_or_empty("turnId");
        if turn.is_empty() || turn != self.compacted {
            turn.clone_into(&mut self.compacted);
            out.event(&Event::Compacted(Compaction::default()));
        }
        true
    }

    fn renamed(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let name = params.get("threadName").or(params.get("name")).filter(|name| name.str().is_some());
        let (Some(name), true) = (name, self.threads.is_main(params, out)) else { return false };
        let title = name.note_text(Field::SessionTitle);
        self.threads.tell(Session { title, ..Session::default() }, out);
        true
    }

    fn set(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(applied) = params.get("threadSettings").filter(|it| it.kind() == Kind::Object) else {
            return false;
        };
        if !self.threads.is_main(params, out) {
            return false;
        }
        self.threads.tell(settings(applied, "effort", "sandboxPolicy"), out);
        true
    }

    /// Turns of subagents are notices: the turn of the session goes on around them.
    fn turn_started(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(turn) = params.get("turn").filter(|turn| turn.has_str("id")) else { return false };
        if !self.threads.is_main(params, out) {
            return false;
        }
        self.usage = Usage::default();
        self.turn_is_open = true;
        self.last_error.clear();
        out.event(&Event::TurnStarted(Turn {
            id: turn.note_str("id", Field::TurnId),
            time: number(turn, "startedAt", Field::TurnTime),
            ..Turn::default()
        }));
        true
    }

    fn turn_completed(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(turn) = params.get("turn").filter(|turn| turn.has_str("id")) else { return false };
        let is_main = self.threads.is_main(params, out);
        let is_cut = turn.str_or_empty("status") != "completed";
        self.items.turn_ended(params.str_or_empty("threadId"), is_cut, out);
        if !is_main {
            return false;
        }
        self.items.repeat_last_text(turn);
        self.requests.turn_ended(out);
        if let Some(error) = turn.get("error").filter(|error| error.kind() == Kind::Object) {
            let message = error.get("message").filter(|message| message.str().is_some());
            match message {
                Some(message) if message.text() == self.last_error => drop(message.note(Field::ErrorMessage)),
                Some(_) | None => out.event(&Event::Error(error_of(error))),
            }
        }
        out.event(&Event::TurnEnded(Turn {
            id: turn.note_str("id", Field::TurnId),
            time: number(turn, "completedAt", Field::TurnTime),
            stop: turn_stop(turn),
            usage: (self.usage != Usage::default()).then_some(self.usage),
            ..Turn::default()
        }));
        self.turn_is_open = false;
        self.usage = Usage::default();
        true
    }

    /// Reads the usage of the last response. A repeated running total adds no usage.
    fn used(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(counts) = params.get("tokenUsage") else { return false };
        let (Some(total), Some(last)) = (counts.get("total"), counts.get("last")) else { return false };
        let is_main = self.threads.is_main(params, out);
        let thread = params.str_or_empty("threadId");
        match self.totals.get_mut(thread) {
            Some(known) if known == total.text() => {
                total.note(Field::Structure);
                return true;
            }
            Some(known) => total.text().clone_into(known),
            None => _ = self.totals.insert(thread, total.text().to_owned()),
        }
        let usage = read_counts(last);
        if is_main && self.turn_is_open {
            self.usage = self.usage.and(&usage);
        }
        out.event(&Event::Usage(Turn { usage: Some(usage), ..Turn::default() }));
        true
    }

    /// Reads an error. An error that the server retries does not end the turn.
    fn failed(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(error) = params.get("error").filter(|error| error.has_str("message")) else { return false };
        self.threads.is_main(params, out);
        self.last_error.clear();
        self.last_error.push_str(error.get("message").map_or("", |message| message.text()));
        out.event(&Event::Error(error_of(error)));
        true
    }

    /// A notice for a message outside the conversation, with its single text for people.
    fn notice(&mut self, line: Val<'_>, params: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let event_type = line.note_str("method", Field::NoticeType);
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        if let Some(params) = params {
            self.threads.is_main(params, out);
            self.threads.place(&mut head, params);
        }
        let item = out.start(head);
        let texts = ["message", "summary", "diff", "stdin", "explanation", "toModel"];
        let text = params.and_then(|params| {
            let text = texts.into_iter().find_map(|name| params.take_str(name, Field::NoticeText));
            text.or_else(|| params.get("status")?.take_str("type", Field::NoticeText))
        });
        if let Some(text) = text {
            out.delta(item, 0, Part::Text(text));
        }
        let plan = params.and_then(|params| params.get("plan")).filter(|plan| plan.kind() == Kind::Array);
        if let Some(plan) = plan {
            out.delta(item, 1, Part::Json(plan.take(Field::NoticeData)));
        }
        out.complete(item);
    }
}

/// The refusal of a request of the client.
fn refused(error: Val<'_>, out: &mut EventSink<'_>) {
    let code = error.get("code").filter(|code| code.kind() == Kind::Number);
    out.event(&Event::Error(Failure {
        class: FailureClass::InvalidRequest,
        status: None,
        code: code.map(|code| Str::escaped(code.note(Field::ErrorCode).as_str()).into_owned()),
        message: error.take_str("message", Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }));
}

/// Reads counts by the server's names. `inputTokens` includes cached input.
fn read_counts(counts: Val<'_>) -> Usage {
    const COUNTS: WantedNames<5> = WantedNames::new([
        "inputTokens",
        "cachedInputTokens",
        "cacheWriteInputTokens",
        "outputTokens",
        "reasoningOutputTokens",
    ]);
    let [input, cached, written, output, reasoning] = counts.find(&COUNTS);
    let cache_read = cached.note_count(Field::UsageCacheRead);
    let cache_write = written.note_count(Field::UsageCacheWrite);
    let cache = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: input.note_count(Field::UsageInput).map(|input| input.saturating_sub(cache)),
        cache_read,
        cache_write,
        output: output.note_count(Field::UsageOutput),
        reasoning: reasoning.note_count(Field::UsageReasoning),
        ..Usage::default()
    }
}
