//! Universal events to events. What the writer adds of its own (the start and end of the session, answers nobody gave,
//! calls made up for results) is not read: it is added again wherever it is needed.

use std::collections::VecDeque;

use super::parts::CALL_KINDS;
use super::{EPOCH, FAILURES, SESSION_UPDATED, STOPS, USAGE, named};
use crate::dialects::{DIALECTS, Plane};
use crate::error::Code;
use crate::model::{
    Answer, Args, Author, CallKind, Event, Failure, FailureClass, Field, FileRef, ItemId, ItemKind, ItemTail,
    Media, MediaSource, Notice, Opaque, OpaqueKind, Part, Permission, Prompt, Question, Session, SessionEnd,
    Status, Stop, StopClass, ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Limits, TapeBuf, Val};
use crate::text::{Raw, Str, from_base64};

#[derive(Default)]
pub(super) struct UniversalReader {
    time: String,
    open: Vec<Open>,
    /// The native ids of the last few hundred items.
    recent: VecDeque<(String, Str<'static>)>,
}

/// An item that is not complete.
struct Open {
    item_id: String,
    id: ItemId,
    kind: Kind,
    /// The message around it that was not shown.
    around: Option<ItemId>,
    /// Which parts the deltas have said.
    said: Vec<u64>,
    /// Reasoning within this message, by part.
    reasoning: Vec<(u64, ItemId)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Call,
    Result,
    Status,
}

impl Reader for UniversalReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let event = doc.root;
        let (Some(kind), Some(data)) = (event.note_str("type", Field::Unnamed), event.get("data")) else {
            return out.problem(Code::UnknownShape, None, "no `type` or no `data`");
        };
        for name in ["event_id", "session_id", "source"] {
            event.note_str(name, Field::Unnamed);
        }
        event.note_u64("sequence", Field::Unnamed);
        let by_us = event.take_bool("synthetic", Field::Unnamed) == Some(true);
        self.tick(event, out);
        let native = event
            .get("native_session_id")
            .inspect(|id| drop(id.note(Field::Unnamed)))
            .and_then(|id| id.str());
        match kind.as_escaped() {
            "session.started" => {
                let mut session = inside(data, "metadata").map(session).unwrap_or_default();
                session.id = session.id.or(native);
                out.event(&Event::SessionStarted(session));
            }
            "session.ended" => session_ended(data, by_us, out),
            "turn.started" | "turn.ended" | "permission.resolved" | "question.resolved" if by_us => {
                data.note(Field::Unnamed);
            }
            "turn.started" => out.event(&Event::TurnStarted(turn(data, "turn_id"))),
            "turn.ended" => out.event(&Event::TurnEnded(turn(data, "turn_id"))),
            "item.started" | "item.completed" => self.item(kind.as_escaped(), data, by_us, out),
            "item.delta" => self.delta(data, by_us, out),
            "permission.requested" => out.event(&Event::PermissionRequested(permission(data))),
            "permission.resolved" => out.event(&Event::PermissionResolved(permission(data))),
            "question.requested" => out.event(&Event::QuestionRequested(question(data))),
            "question.resolved" => out.event(&Event::QuestionResolved(question(data))),
            "error" => out.event(&Event::Error(failure(data))),
            "agent.unparsed" => unparsed(data, out),
            _ => {
                let head = out.head(ItemKind::Notice(Notice { event_type: Some(kind) }), Author::System);
                let item = out.start(head);
                out.complete(item);
            }
        }
        match event.get("raw") {
            Some(raw) if raw.is_null() => drop(raw.note(Field::Unnamed)),
            Some(raw) => out.kept_line(super::DIALECT.name, raw, ("", "")),
            None => {}
        }
    }
}

impl UniversalReader {
    /// Passes a new time on by itself: most events have no place for one.
    fn tick(&mut self, event: Val<'_>, out: &mut Sink<'_>) {
        let Some(time) = event.get("time").filter(|time| time.str().is_some()) else { return };
        let text = time.note(Field::Unnamed);
        if text.as_str() != self.time && !time.is(EPOCH) {
            text.as_str().clone_into(&mut self.time);
            out.event(&Event::Usage(Turn { time: Some(text), ..Turn::default() }));
        }
    }

    fn item(&mut self, event: &str, data: Val<'_>, by_us: bool, out: &mut Sink<'_>) {
        let Some(item) = data.get("item") else { return };
        let Some(item_id) = item.note_str("item_id", Field::Unnamed) else { return };
        let done = event == "item.completed";
        let content = inside(item, "content");
        let label = content.and_then(|content| content.elements().next()?.get("label")?.str());
        let status = item.note_str("status", Field::Unnamed);
        let failed = status.as_ref().is_some_and(|status| status.is("failed"));
        match label.as_ref().map(Str::as_escaped) {
            Some(SESSION_UPDATED | USAGE) if !done => drop(item.note(Field::Unnamed)),
            Some(label @ (SESSION_UPDATED | USAGE)) => {
                let value = content.and_then(|content| content.elements().nth(1)?.get("json"));
                match value {
                    Some(value) if label == USAGE => {
                        out.event(&Event::Usage(turn(value, "response_id")));
                    }
                    Some(value) => out.event(&Event::SessionUpdated(session(value))),
                    None => {}
                }
                for name in ["native_item_id", "parent_id", "kind", "role"] {
                    item.note_raw(name, Field::Unnamed);
                }
                for part in content.into_iter().flat_map(|content| content.elements()) {
                    part.note_str("type", Field::Unnamed);
                    part.note_str("label", Field::Unnamed);
                }
            }
            // A call made up for a result: it will be made up again.
            _ if by_us && !failed => {
                let native = item.get("native_item_id").and_then(|native| native.str());
                self.remember(&item_id, native.as_ref());
                item.note(Field::Unnamed);
            }
            _ => {
                let known = |open: &Open| open.item_id == item_id.as_escaped();
                if !self.open.iter().any(known) {
                    self.start(item, &item_id, content, out);
                }
                if let Some(at) = self.open.iter().position(known).filter(|_| done) {
                    let open = self.open.remove(at);
                    let status = match (failed, by_us) {
                        (false, _) => Status::Completed,
                        (true, false) => Status::Failed,
                        (true, true) => Status::Interrupted,
                    };
                    complete(open, item, content, status, out);
                } else if let Some(content) = content {
                    content.note(Field::Unnamed);
                }
            }
        }
    }

    fn start(&mut self, item: Val<'_>, item_id: &Str<'_>, content: Option<Val<'_>>, out: &mut Sink<'_>) {
        let first = content.and_then(|content| content.elements().next());
        let text = |name: &str| first.and_then(|part| part.get(name)?.str());
        let call_id = text("call_id");
        let (kind, item_kind, author) =
            match item.take_str("kind", Field::Unnamed).as_ref().map(Str::as_escaped) {
                Some("tool_call") => {
                    let kind = text("call_kind").and_then(|kind| named(CALL_KINDS, kind.as_escaped()));
                    let call = ToolCall {
                        call_id: call_id.clone(),
                        kind: kind.unwrap_or(CallKind::Function),
                        namespace: text("namespace"),
                        name: text("name").unwrap_or_default(),
                    };
                    (Kind::Call, ItemKind::ToolCall(call), Author::Assistant)
                }
                Some("tool_result") => {
                    let result = ToolResult { call_id: call_id.clone(), name: text("name") };
                    (Kind::Result, ItemKind::ToolResult(result), Author::Tool)
                }
                Some("message" | "system") => (Kind::Message, ItemKind::Message, author(item)),
                kind => {
                    let event_type = text("label").or_else(|| Some(Str::from_plain(kind?)));
                    let notice = Notice { event_type };
                    (Kind::Status, ItemKind::Notice(notice), Author::System)
                }
            };
        item.note_str("role", Field::Unnamed);
        let noted = |name: &str| {
            item.get(name).inspect(|val| drop(val.note(Field::Unnamed))).and_then(|val| val.str())
        };
        let (native, parent_id) = (noted("native_item_id"), noted("parent_id"));
        let message = item.take_str("native_message_id", Field::Unnamed);
        let (mut model, mut time) =
            (item.take_str("model", Field::Unnamed), item.take_raw("time", Field::Unnamed));
        let parent_id = parent_id.as_ref().map(Str::as_escaped);
        let holds = |open: &&Open| Some(&*open.item_id) == parent_id && open.kind == Kind::Message;
        let within = self.open.iter().find(holds).map(|open| open.id);
        let mut parent = self.recent.iter().rev().find(|(known, _)| Some(&**known) == parent_id);
        parent = parent.filter(|_| within.is_none());
        let mut parent = parent.map(|(_, native)| native.clone());
        self.remember(item_id, native.as_ref().or(message.as_ref()));
        let around = message.map(|message| {
            let speaker = if kind == Kind::Result { Author::User } else { Author::Assistant };
            let mut head = out.head(ItemKind::Message, speaker);
            head.native_id = Some(message);
            head.parent = parent.take();
            head.model = model.take();
            head.time = time.take();
            out.start(head)
        });
        let mut head = out.head(item_kind, author);
        head.within = around.or(within);
        // A call's native id is the call's own unless it says otherwise.
        head.native_id = native.filter(|native| kind != Kind::Call || call_id.as_ref() != Some(native));
        head.parent = parent;
        head.model = model;
        head.time = time;
        let id = out.start(head);
        let item_id = item_id.as_escaped().to_owned();
        self.open.push(Open { item_id, id, kind, around, said: Vec::new(), reasoning: Vec::new() });
    }

    fn remember(&mut self, item_id: &Str<'_>, native: Option<&Str<'_>>) {
        let Some(native) = native else { return };
        if self.recent.len() == 512 {
            self.recent.pop_front();
        }
        self.recent.push_back((item_id.as_escaped().to_owned(), native.clone().into_owned()));
    }

    fn delta(&mut self, data: Val<'_>, by_us: bool, out: &mut Sink<'_>) {
        let item_id = data.note_str("item_id", Field::Unnamed).unwrap_or_default();
        let Some(open) = self.open.iter_mut().find(|open| open.item_id == item_id.as_escaped()) else {
            return out.problem(
                Code::Lifecycle,
                Some("/data/item_id".to_owned()),
                "delta for an item that is not open",
            );
        };
        let Some(text) = data.take_str("delta", Field::Unnamed) else { return };
        data.note_raw("native_item_id", Field::Unnamed);
        let part = data.note_u64("part", Field::Unnamed).unwrap_or(0);
        if !open.said.contains(&part) {
            open.said.push(part);
        }
        let flag = |name: &str| data.take_bool(name, Field::Unnamed) == Some(true);
        let (id, part, value) =
            match data.note_str("content_type", Field::Unnamed).as_ref().map(Str::as_escaped) {
                Some("reasoning") => {
                    let value = if flag("summary") { Part::Summary(text) } else { Part::Text(text) };
                    (open.reasoning(part, out), 0, value)
                }
                Some("arguments") => (open.id, part, Part::Args(Args::Text(text))),
                _ if flag("refusal") => (open.id, part, Part::Refusal(text)),
                _ => (open.id, part, Part::Text(text)),
            };
        if by_us {
            out.delta(id, part as u32, value);
        } else {
            out.piece(id, part as u32, value);
        }
    }
}

impl Open {
    /// The reasoning that is that part of the message.
    fn reasoning(&mut self, part: u64, out: &mut Sink<'_>) -> ItemId {
        if let Some((_, id)) = self.reasoning.iter().find(|(known, _)| *known == part) {
            return *id;
        }
        let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
        head.within = Some(self.id);
        let id = out.start(head);
        self.reasoning.push((part, id));
        id
    }
}

/// A member that holds others; an empty one is a leaf of its own.
fn inside<'t>(val: Val<'t>, name: &str) -> Option<Val<'t>> {
    let member = val.get(name)?;
    if member.members().next().is_none() && member.elements().next().is_none() {
        member.note(Field::Unnamed);
    }
    Some(member)
}

/// Says what the deltas have left out and ends the item.
fn complete(mut open: Open, item: Val<'_>, content: Option<Val<'_>>, status: Status, out: &mut Sink<'_>) {
    for name in
        ["native_item_id", "parent_id", "kind", "role", "model", "time", "native_message_id", "author"]
    {
        item.note_raw(name, Field::Unnamed);
    }
    let parts = || content.into_iter().flat_map(|content| content.elements());
    let outputs = parts().filter(|part| part.get("output").is_some()).count();
    for (index, part) in parts().enumerate() {
        let index = index as u64;
        let said = open.said.contains(&index);
        if let Some(label) = part.get("label") {
            label.note(Field::Unnamed);
            part.note_str("type", Field::Unnamed);
            if let Some(detail) = part.take_str("detail", Field::Unnamed) {
                out.delta(open.id, 0, Part::Text(detail));
            }
        } else if part.get("type").is_some_and(|kind| kind.is("reasoning")) {
            read_reasoning(&mut open, index, said, part, out);
        } else if said || (outputs == 1 && part.get("output").is_some_and(|output| output.is(""))) {
            part.note(Field::Unnamed);
        } else if let Some(value) = read_part(part) {
            out.delta(open.id, index as u32, value);
        }
    }
    let ids = open.reasoning.iter().map(|(_, id)| *id);
    for id in ids {
        out.event(&Event::ItemCompleted(ItemTail { id, status, native_status: None, is_error: None }));
    }
    let (native_status, is_error) =
        (item.take_str("native_status", Field::Unnamed), item.take_bool("is_error", Field::Unnamed));
    out.event(&Event::ItemCompleted(ItemTail { id: open.id, status, native_status, is_error }));
    if let Some(around) = open.around {
        out.complete(around);
    }
}

fn read_reasoning(open: &mut Open, index: u64, said: bool, part: Val<'_>, out: &mut Sink<'_>) {
    for name in ["type", "visibility"] {
        part.note_str(name, Field::Unnamed);
    }
    let id = open.reasoning(index, out);
    let summary = part.take_bool("summary", Field::Unnamed) == Some(true);
    let issuer = part.take_str("issuer", Field::Unnamed);
    let issuer = issuer.as_ref().map_or("unknown", |issuer| issuer_named(issuer.as_escaped()));
    let state = [(OpaqueKind::Signature, "signature"), (OpaqueKind::Encrypted, "encrypted")];
    let state = state.into_iter().find_map(|(kind, name)| Some((kind, part.take_str(name, Field::Unnamed)?)));
    if let Some(text) =
        part.take_str("text", Field::Unnamed).filter(|text| !said && (!text.is_empty() || state.is_none()))
    {
        out.delta(id, 0, if summary { Part::Summary(text) } else { Part::Text(text) });
    }
    if let Some((kind, value)) = state {
        out.delta(id, 1, Part::Opaque(Opaque { kind, issuer, value }));
    }
}

fn read_part(part: Val<'_>) -> Option<Part<'_>> {
    let value = match part.get("type")?.str()?.as_escaped() {
        "text" => {
            let text = part.take_str("text", Field::Unnamed)?;
            if part.take_bool("refusal", Field::Unnamed) == Some(true) {
                Part::Refusal(text)
            } else {
                Part::Text(text)
            }
        }
        "json" if part.take_bool("citation", Field::Unnamed) == Some(true) => {
            Part::Citation(part.take_raw("json", Field::Unnamed)?)
        }
        "json" => Part::Json(part.get("json")?.take(Field::Unnamed)),
        "tool_call" => {
            for name in ["name", "call_id", "namespace", "call_kind"] {
                part.note_raw(name, Field::Unnamed);
            }
            let text = part.take_str("arguments", Field::Unnamed)?;
            let free = part.get("call_kind").is_some_and(|kind| kind.is("free_text"));
            Part::Args(json_in(&text).filter(|_| !free).map_or(Args::Text(text), Args::Json))
        }
        "tool_result" => {
            part.note_raw("call_id", Field::Unnamed);
            part.note_raw("name", Field::Unnamed);
            let text = part.take_str("output", Field::Unnamed)?;
            match json_in(&text).filter(|_| part.note_str("encoding", Field::Unnamed).is_some()) {
                Some(json) => Part::Json(json),
                None => Part::Text(text),
            }
        }
        "image" | "file_ref" if part.get("url").or(part.get("data")).or(part.get("file_id")).is_some() => {
            part.note_raw("action", Field::Unnamed);
            part.note_raw("url", Field::Unnamed);
            let path = part.take_str("path", Field::Unnamed)?;
            let source =
                match (part.take_str("data", Field::Unnamed), part.take_str("file_id", Field::Unnamed)) {
                    (Some(data), _) => MediaSource::Base64(data),
                    (None, Some(id)) => MediaSource::File(id),
                    (None, None) => MediaSource::Url(path),
                };
            Part::Media(Media {
                media_type: part.take_str("mime", Field::Unnamed),
                source,
                name: part.take_str("name", Field::Unnamed),
            })
        }
        "file_ref" => Part::File(FileRef {
            path: part.take_str("path", Field::Unnamed)?,
            action: part.take_str("action", Field::Unnamed)?,
            diff: part.take_str("diff", Field::Unnamed),
        }),
        "image" => Part::Media(Media {
            source: MediaSource::Url(part.take_str("path", Field::Unnamed)?),
            media_type: part.take_str("mime", Field::Unnamed),
            name: part.take_str("name", Field::Unnamed),
        }),
        _ => return None,
    };
    part.note_str("type", Field::Unnamed);
    Some(value)
}

/// The JSON value in a string, if writing it into a string again gives the same.
fn json_in(text: &Str<'_>) -> Option<Raw<'static>> {
    let json = text.decode();
    TapeBuf::default().parse(&json, &Limits::default()).ok()?;
    (Str::plain(&json).as_escaped() == text.as_escaped()).then(|| Raw::owned(json.into_owned()))
}

fn author(item: Val<'_>) -> Author {
    let role = item.get("role").and_then(|role| role.str());
    match role.as_ref().map(Str::as_escaped) {
        Some("user") => Author::User,
        Some("tool") => Author::Tool,
        Some("system") if item.take_str("author", Field::Unnamed).is_some() => Author::Developer,
        Some("system") => Author::System,
        _ => Author::Assistant,
    }
}

fn session(metadata: Val<'_>) -> Session<'_> {
    let agent = metadata.take_str("agent", Field::Unnamed);
    Session {
        id: metadata.take_str("id", Field::Unnamed),
        parent: metadata.take_str("parent", Field::Unnamed),
        cwd: metadata.take_str("cwd", Field::Unnamed),
        cli_version: metadata.take_str("agent_version", Field::Unnamed),
        model: metadata.take_str("model", Field::Unnamed),
        provider: metadata.take_str("provider", Field::Unnamed),
        branch: metadata.take_str("branch", Field::Unnamed),
        commit: metadata.take_str("commit", Field::Unnamed),
        repository: metadata.take_str("repository", Field::Unnamed),
        title: metadata.take_str("title", Field::Unnamed),
        start: metadata.take_raw("start", Field::Unnamed),
        agent: agent.and_then(|agent| agents().find(|known| agent.is(known))),
    }
}

/// The agents whose name the model can hold: those whose logs we know.
fn agents() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log).map(|dialect| dialect.name)
}

fn issuer_named(name: &str) -> &'static str {
    ["anthropic", "openai", "google"].into_iter().find(|known| *known == name).unwrap_or("unknown")
}

fn session_ended(data: Val<'_>, by_us: bool, out: &mut Sink<'_>) {
    data.note_str("terminated_by", Field::Unnamed);
    let completed = data.note_str("reason", Field::Unnamed).is_some_and(|reason| reason.is("completed"));
    if !by_us {
        let status = if completed { Status::Completed } else { Status::Failed };
        out.event(&Event::SessionEnded(SessionEnd {
            status,
            message: data.take_str("message", Field::Unnamed),
        }));
    }
}

fn turn<'t>(data: Val<'t>, id: &str) -> Turn<'t> {
    data.note_str("phase", Field::Unnamed);
    let class = data.take_str("stop_reason", Field::Unnamed);
    let usage = inside(data, "usage").map(|usage| Usage {
        input: usage.take_u64("input_tokens", Field::Unnamed),
        cache_read: usage.take_u64("cache_read_tokens", Field::Unnamed),
        cache_write: usage.take_u64("cache_write_tokens", Field::Unnamed),
        cache_write_long: usage.take_u64("cache_write_long_tokens", Field::Unnamed),
        output: usage.take_u64("output_tokens", Field::Unnamed),
        reasoning: usage.take_u64("reasoning_tokens", Field::Unnamed),
    });
    Turn {
        id: data.take_str(id, Field::Unnamed),
        model: data.take_str("model", Field::Unnamed),
        time: data.take_raw("time", Field::Unnamed),
        stop: class.map(|class| Stop {
            class: named(STOPS, class.as_escaped()).unwrap_or(StopClass::Other),
            raw: data.take_str("native_stop_reason", Field::Unnamed),
            sequence: data.take_str("stop_sequence", Field::Unnamed),
        }),
        usage,
        cost: data.take_raw("cost_usd", Field::Unnamed),
    }
}

fn permission(data: Val<'_>) -> Permission<'_> {
    let metadata = inside(data, "metadata");
    let text = |name: &str| metadata.and_then(|metadata| metadata.take_str(name, Field::Unnamed));
    let status = data.take_str("status", Field::Unnamed);
    Permission {
        id: data.take_str("permission_id", Field::Unnamed).unwrap_or_default(),
        action: data.take_str("action", Field::Unnamed).unwrap_or_default(),
        call_id: text("call_id"),
        input: metadata.and_then(|metadata| metadata.take_raw("input", Field::Unnamed)),
        answer: match status.as_ref().map(Str::as_escaped) {
            Some("accept") => Some(Answer::Accept),
            Some("accept_for_session") => Some(Answer::AcceptForSession),
            Some("reject") => Some(Answer::Reject(text("message"))),
            _ => None,
        },
    }
}

fn question<'t>(data: Val<'t>) -> Question<'t> {
    for name in ["prompt", "options", "response"] {
        data.note_raw(name, Field::Unnamed);
    }
    let list = |val: Option<Val<'t>>| val.into_iter().flat_map(|val| val.elements());
    let prompt = |question: Val<'t>| Prompt {
        text: question.take_str("prompt", Field::Unnamed).unwrap_or_default(),
        options: list(inside(question, "options"))
            .map(|option| {
                (
                    option.take_str("label", Field::Unnamed).unwrap_or_default(),
                    option.take_str("description", Field::Unnamed),
                )
            })
            .collect(),
        multiple: question.take_bool("multi_select", Field::Unnamed) == Some(true),
    };
    let labels = |chosen: Val<'t>| {
        if chosen.elements().next().is_none() {
            chosen.note(Field::Unnamed);
        }
        chosen.elements().filter_map(|label| label.take_text(Field::Unnamed)).collect()
    };
    Question {
        id: data.take_str("question_id", Field::Unnamed).unwrap_or_default(),
        call_id: data.take_str("call_id", Field::Unnamed),
        prompts: list(inside(data, "questions")).map(prompt).collect(),
        answers: inside(data, "answers").map(|answers| answers.elements().map(labels).collect()),
        declined: data.take_str("status", Field::Unnamed).is_some_and(|status| status.is("rejected")),
    }
}

fn failure(data: Val<'_>) -> Failure<'_> {
    let details = inside(data, "details");
    let class = details.and_then(|details| details.take_str("class", Field::Unnamed));
    let status = details.and_then(|details| details.take_u64("status", Field::Unnamed));
    Failure {
        class: class.and_then(|class| named(FAILURES, class.as_escaped())).unwrap_or(FailureClass::Other),
        status: status.and_then(|status| u16::try_from(status).ok()),
        code: data.take_str("code", Field::Unnamed),
        message: data.take_str("message", Field::Unnamed).unwrap_or_default(),
        request_id: details.and_then(|details| details.take_str("request_id", Field::Unnamed)),
    }
}

/// Gives back bytes that could not be read when the event was made.
fn unparsed(data: Val<'_>, out: &mut Sink<'_>) {
    data.note_str("location", Field::Unnamed);
    let why = data.note_str("error", Field::Unnamed);
    let damage =
        [Code::InvalidJson, Code::Torn, Code::InvalidUtf8, Code::NulBytes, Code::TooDeep, Code::TooLarge];
    let why = why.and_then(|why| damage.into_iter().find(|code| why.is(code.name())));
    let bytes = match data.take_str("text", Field::Unnamed) {
        Some(text) => Some(text.decode().into_owned().into_bytes()),
        None => data.take_str("base64", Field::Unnamed).and_then(|text| from_base64(text.as_escaped())),
    };
    let why = why.map_or("unparsed", Code::name);
    out.kept_bytes(super::DIALECT.name, &bytes.unwrap_or_default(), why, false);
}
