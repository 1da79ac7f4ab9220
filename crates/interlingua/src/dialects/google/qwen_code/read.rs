//! Reads lines into events. Lines with parts become messages or results; every other line becomes a notice. Most lines
//! only repeat other lines for the screen.

use super::super::logged::{
    CountNames, LoggedPart, parts_of, read_counts, result_head, say_file, say_more, say_part, say_response,
};
use crate::json::Str;
use crate::log::{CountedLine, SessionTracker};
use crate::model::{
    Author, Compaction, Decision, Event, Failure, FailureClass, Field, ItemHead, ItemId, ItemKind, Notice,
    Origin, Part, Permission, Rewind, Session, Shape, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct QwenReader {
    session: SessionTracker,
    /// The durations of calls without results so far, by call id.
    durations: Remembered<u64>,
    /// The id and token counts of the last response; its message follows.
    response: Option<(String, [Option<u64>; 2])>,
    counted: CountedLine,
}

/// A line, with the members that are read.
struct QwenLine<'t> {
    root: Val<'t>,
    id: Option<Val<'t>>,
    parent: Option<Val<'t>>,
    time: Option<Val<'t>>,
    kind: Option<Val<'t>>,
    subtype: Option<Val<'t>>,
    provenance: Option<Val<'t>>,
    parts: Option<Val<'t>>,
    payload: Option<Val<'t>>,
}

impl<'t> QwenLine<'t> {
    fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<8> = WantedNames::new([
            "uuid",
            "parentUuid",
            "timestamp",
            "type",
            "subtype",
            "provenance",
            "message",
            "systemPayload",
        ]);
        let [id, parent, time, kind, subtype, provenance, message, payload] = root.find(&WANTED);
        let parts = message.and_then(|message| message.get("parts"));
        let parts = parts.filter(|parts| parts.kind() == Kind::Array);
        Self { root, id, parent, time, kind, subtype, provenance, parts, payload }
    }

    /// Starts an item with the members that every line has.
    fn begin(&self, mut head: ItemHead<'t>, out: &mut EventSink<'_>) -> ItemId {
        head.native_id = self.id.take_text(Field::ItemId);
        head.parent = self.parent.take_text(Field::ItemParent);
        head.time = self.time.take_time(Field::ItemTime);
        out.start(head)
    }

    /// Emits an event at the time of the line; the time stays free for the line's notice.
    fn happened(&self, event: &Event<'_>, out: &mut EventSink<'_>) {
        if let Some(time) = self.time.filter(Val::is_time) {
            out.event(&Event::Clock(time.raw()));
        }
        out.event(event);
    }
}

impl Reader for QwenReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = QwenLine::new(doc.root);
        if line.kind.is_none() {
            doc.report_foreign(super::DIALECT.name, out);
        }
        self.session(&line, out);
        match (line.kind.word(), line.parts) {
            ("user", Some(parts)) => self.said(&line, parts, Author::User, out),
            ("assistant", Some(parts)) => self.said(&line, parts, Author::Assistant, out),
            ("tool_result", Some(parts)) => self.result(&line, parts, out),
            ("system", _) => self.system(&line, out),
            _ => notice(&line, None, out),
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.end_response(out);
    }
}

impl QwenReader {
    /// Reads the session facts that every line repeats.
    fn session(&mut self, line: &QwenLine<'_>, out: &mut EventSink<'_>) {
        let [id, cwd, version, branch] = line.root.get_all(["sessionId", "cwd", "version", "gitBranch"]);
        let told = |name: &str, of: &str, field| {
            let payload = line.payload.filter(|_| line.subtype.word() == of);
            payload.and_then(|payload| payload.note_str(name, field))
        };
        let told = Session {
            id: id.note_text(Field::SessionId),
            cwd: cwd.note_text(Field::SessionCwd),
            cli_version: version.note_text(Field::SessionVersion),
            branch: branch.note_text(Field::SessionBranch),
            title: told("customTitle", "custom_title", Field::SessionTitle),
            parent: told("parentSessionId", "parent_session", Field::SessionParent),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
    }

    fn said(&mut self, line: &QwenLine<'_>, parts: Val<'_>, author: Author, out: &mut EventSink<'_>) {
        line.kind.note_text(Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, author);
        if author == Author::Assistant {
            head.model = line.root.take_str("model", Field::ItemModel);
        } else {
            head.origin = origin(line, parts);
        }
        let own =
            |part: &Val<'_>| matches!(LoggedPart::of(*part), LoggedPart::Text(_) | LoggedPart::Media(_));
        head.shape = if parts.elements().filter(own).nth(1).is_some() { Shape::List } else { Shape::One };
        let item = line.begin(head, out);
        for (number, part) in parts.elements().enumerate() {
            out.within(part, |out| say_part(part, number as u32, item, out));
        }
        note_display(line, parts);
        out.complete(item);
        let counts = line.root.get("usageMetadata").filter(|counts| counts.kind() == Kind::Object);
        if let Some(counts) = counts.filter(|_| author == Author::Assistant) {
            let usage = read_counts(counts, &USAGE_METADATA);
            let model = line.root.get("model").and_then(|model| model.str());
            if self.counted.is_new(line.root) {
                self.used(counts, usage, model, out);
            }
        }
    }

    /// Emits the usage of a response. A preceding telemetry line with the same counts holds the response id.
    fn used(&mut self, counts: Val<'_>, usage: Usage, model: Option<Str<'_>>, out: &mut EventSink<'_>) {
        let number = |name| counts.get(name).and_then(|count| count.u64());
        let own = [number("promptTokenCount"), number("candidatesTokenCount")];
        let is_own = self.response.as_ref().is_some_and(|(_, known)| *known == own);
        let id = self.response.take_if(|_| is_own);
        let id = id.map(|(id, _)| Str::escaped(&id).into_owned());
        self.end_response(out);
        out.event(&Event::Usage(Turn { id, model, usage: Some(usage), ..Turn::default() }));
    }

    /// Emits the id of a response that no message followed.
    fn end_response(&mut self, out: &mut EventSink<'_>) {
        if let Some((id, _)) = self.response.take() {
            let id = Some(Str::escaped(&id));
            out.event(&Event::Usage(Turn { id, ..Turn::default() }));
        }
    }

    /// Reads a tool result, with its status.
    fn result(&mut self, line: &QwenLine<'_>, parts: Val<'_>, out: &mut EventSink<'_>) {
        let responses = || {
            parts.elements().filter_map(|part| match LoggedPart::of(part) {
                LoggedPart::Response(response) => Some(response),
                _ => None,
            })
        };
        let (Some(response), None) = (responses().next(), responses().nth(1)) else {
            return self.said(line, parts, Author::User, out);
        };
        line.kind.note_text(Field::Structure);
        let call = line.root.get("toolCallResult");
        let id = response.str_or_empty("id");
        let mut head = result_head(response, None, out);
        let more =
            |part: &Val<'_>| matches!(LoggedPart::of(*part), LoggedPart::Text(_) | LoggedPart::Media(_));
        head.shape = if parts.elements().any(|part| more(&part)) { Shape::List } else { Shape::One };
        let item = line.begin(head, out);
        let mut said = say_response(response, item, out);
        for part in parts.elements().filter(more) {
            out.within(part, |out| say_more(part, item, &mut said, out));
        }
        let [call_id, status, display] = match call {
            Some(call) => call.get_all(["callId", "status", "resultDisplay"]),
            None => [None; 3],
        };
        call_id.filter(|call_id| call_id.is(id)).note_text(Field::ResultCallId);
        say_file(display, item, said.next, out);
        let mut tail = said.tail(item, status.take_text(Field::ItemStatus));
        let code = display.and_then(|display| display.get("exitCode"));
        if let Some((code, number)) = code.and_then(|code| Some((code, code.text().parse().ok()?))) {
            code.note(Field::ResultExitCode);
            tail.exit_code = Some(number);
        }
        tail.duration = self.durations.remove(id);
        out.end(tail);
    }

    /// Reads a line outside the conversation as a notice, named by its subtype.
    fn system(&mut self, line: &QwenLine<'_>, out: &mut EventSink<'_>) {
        let Some(payload) = line.payload.filter(|payload| payload.kind() == Kind::Object) else {
            return notice(line, None, out);
        };
        match line.subtype.word() {
            "ui_telemetry" => self.telemetry(line, payload, out),
            "rewind" => {
                // The parent of a rewind line is the last live line.
                let target = payload.note_str("targetUuid", Field::RewindTo);
                let to = target.or_else(|| line.parent.and_then(|parent| parent.str()));
                line.happened(&Event::Rewound(Rewind { to, turns: None }), out);
                line.kind.note_text(Field::Structure);
                notice(line, None, out);
            }
            "chat_compression" => {
                let info = payload.get("info");
                let count = |name: &str, field| info.and_then(|info| info.note_u64(name, field));
                let trigger = info.and_then(|info| info.note_str("triggerReason", Field::CompactionTrigger));
                let history = payload.get("compressedHistory").filter(|history| !history.is_null());
                line.happened(
                    &Event::Compacted(Compaction {
                        trigger,
                        before: count("originalTokenCount", Field::CompactionBefore),
                        after: count("newTokenCount", Field::CompactionAfter),
                        history: history.map(|history| history.note(Field::CompactionHistory)),
                        ..Compaction::default()
                    }),
                    out,
                );
                line.kind.note_text(Field::Structure);
                notice(line, None, out);
            }
            "slash_command"
                if payload.str_or_empty("phase") == "invocation" && payload.has_str("rawCommand") =>
            {
                for tag in [line.kind, line.subtype, payload.get("phase")] {
                    tag.note_text(Field::ItemOrigin);
                }
                let head = out.head(ItemKind::Message, Author::User);
                let item = line.begin(ItemHead { origin: Some(Origin::Command), ..head }, out);
                if let Some(text) = payload.take_str("rawCommand", Field::MessageText) {
                    out.delta(item, 0, Part::Text(text));
                }
                out.complete(item);
            }
            "slash_command" => notice(line, payload.get("outputHistoryItems"), out),
            // The message itself holds the text that the user typed.
            "at_command" => notice(line, payload.get("filesRead"), out),
            "custom_title" | "parent_session" => notice(line, None, out),
            _ => notice(line, Some(payload), out),
        }
    }

    /// Reads a telemetry line. It repeats other lines, except for the duration of a call, the permission decision, and
    /// the id of a response.
    fn telemetry(&mut self, line: &QwenLine<'_>, payload: Val<'_>, out: &mut EventSink<'_>) {
        let Some(event) = payload.get("uiEvent") else { return notice(line, None, out) };
        let name = event.get("event.name").and_then(|name| name.str()).unwrap_or_default();
        match name.as_escaped().rsplit('.').next().unwrap_or_default() {
            "tool_call" => {
                let decision = match event.str_or_empty("decision") {
                    "accept" | "modify" => Some(Decision::Accept),
                    "reject" => Some(Decision::Reject(None)),
                    // No permission was requested.
                    _ => None,
                };
                if let Some(took) = event.note_u64("duration_ms", Field::ResultDuration) {
                    self.durations.insert(event.str_or_empty("call_id"), took);
                }
                if let (Some(answer), Some(id)) = (decision, event.get("call_id").and_then(|id| id.str())) {
                    event.note_str("decision", Field::PermissionAnswer);
                    event.note_str("call_id", Field::PermissionId);
                    line.happened(
                        &Event::PermissionResolved(Permission {
                            id,
                            action: event
                                .note_str("function_name", Field::PermissionAction)
                                .unwrap_or_default(),
                            call_id: None,
                            input: None,
                            by: None,
                            answer: Some(answer),
                        }),
                        out,
                    );
                }
            }
            // Responses of internal helpers have no message line.
            "api_response" if event.get("subagent_id").is_none() => {
                let number = |name| event.get(name).and_then(|count| count.u64());
                let own = [number("input_token_count"), number("output_token_count")];
                self.end_response(out);
                let id = event.note_str("response_id", Field::TurnId);
                self.response = id.map(|id| (id.as_escaped().to_owned(), own));
            }
            "api_response" => {}
            "api_error" => {
                let [status, message] = ["status_code", "error_message"].map(|name| event.get(name));
                let message = message.or_else(|| event.get("error")).note_text(Field::ErrorMessage);
                let status = status.and_then(|status| Some((status, u16::try_from(status.u64()?).ok()?)));
                status.map(|(status, _)| status.note(Field::ErrorStatus));
                let status = status.map(|(_, status)| status);
                line.happened(
                    &Event::Error(Failure {
                        class: status.map_or(FailureClass::Other, FailureClass::of_status),
                        status,
                        code: event.note_str("error_type", Field::ErrorCode),
                        message: message.unwrap_or_default(),
                        request_id: None,
                        retry_after: None,
                    }),
                    out,
                );
            }
            _ => return notice(line, Some(event), out),
        }
        event.note_str("event.name", Field::NoticeType);
        line.kind.note_text(Field::Structure);
        line.subtype.note_text(Field::Structure);
        let event_type = Some(name);
        let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let item = line.begin(head, out);
        out.complete(item);
    }
}

/// Emits a line outside the conversation as a notice with `data`, named by its subtype or type.
fn notice(line: &QwenLine<'_>, data: Option<Val<'_>>, out: &mut EventSink<'_>) {
    let subtype = line.subtype.note_text(Field::NoticeType);
    let data = data.filter(|data| !data.is_null());
    let event_type = match (subtype, data) {
        (Some(subtype), Some(_)) => {
            line.kind.note_text(Field::Structure);
            Some(subtype)
        }
        (subtype, _) => subtype.or_else(|| line.kind.note_text(Field::NoticeType)),
    };
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = line.begin(head, out);
    if let Some(data) = data {
        out.delta(item, 0, Part::Json(data.take(Field::NoticeData)));
    }
    out.complete(item);
}

/// The origin of a user line.
fn origin(line: &QwenLine<'_>, parts: Val<'_>) -> Option<Origin> {
    let (origin, mark) = match (line.subtype.word(), line.provenance.word()) {
        ("mid_turn_user_message" | "realtime_message", _) => (Origin::Own, line.subtype),
        (_, "system" | "goal_runtime") => (Origin::Harness, line.provenance),
        ("notification" | "cron" | "goal_runtime", _) => (Origin::Harness, line.subtype),
        ("", "real_user") => (Origin::Own, line.provenance),
        _ => return command(parts),
    };
    mark.note_text(Field::ItemOrigin);
    Some(origin)
}

/// The origin of a message by its first words: the session context comes from the harness.
fn command(parts: Val<'_>) -> Option<Origin> {
    let first = parts_of(Some(parts)).next()?.get("text")?.str()?;
    first.as_escaped().starts_with("<session_context>").then_some(Origin::Harness)
}

/// Notes the displayed text if the message repeats it.
fn note_display(line: &QwenLine<'_>, parts: Val<'_>) {
    let shown = line.payload.and_then(|payload| payload.get("displayText"));
    let is_said = |shown: &Val<'_>| {
        let support = |part: Val<'_>| part.get("text").is_some_and(|text| text.str() == shown.str());
        parts.elements().any(support)
    };
    shown.filter(is_said).note_text(Field::MessageText);
}

const USAGE_METADATA: CountNames = CountNames {
    prompt: "promptTokenCount",
    cached: "cachedContentTokenCount",
    output: "candidatesTokenCount",
    thoughts: "thoughtsTokenCount",
    tools: "toolUsePromptTokenCount",
    total: "totalTokenCount",
};
