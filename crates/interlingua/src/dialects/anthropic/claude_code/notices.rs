//! Lines outside the conversation: progress of subagents and tools, attachments, and lines about the program itself.
//!
//! A notice is named by the line's innermost type. Its data is the object that holds the details, taken whole, or an
//! object built from members of the line. The lists below hold the known types. For an unknown type the notice holds
//! the line's text, if any; the other members remain in the kept line.

use super::origin;
use super::read::{ClaudeLine, ClaudeReader, ResponseOfLine, begin};
use super::results::ResultsOfLine;
use crate::blocks;
use crate::json::{Raw, Str};
use crate::log::words_of_unknown;
use crate::model::{
    Author, Compaction, Event, Failure, FailureClass, Field, ItemKind, Notice, Origin, Part, Session, Shape,
    Status,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The content of a notice.
#[derive(Default)]
struct Told<'t> {
    event_type: Option<Str<'t>>,
    text: Option<Str<'t>>,
    data: Option<Raw<'t>>,
    /// The call the notice is about.
    parent_call: Option<Str<'t>>,
    /// The agent the notice is about.
    agent: Option<Str<'t>>,
}

impl ClaudeReader {
    /// Reads a line that is not a message of the main conversation.
    pub(super) fn notice(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        match line.kind.word() {
            "progress" => self.progress(line, out),
            "attachment" => self.attachment(line, out),
            "system" => self.system(line, out),
            _ => self.bare(line, out),
        }
    }

    fn say<'t>(&mut self, line: &ClaudeLine<'t>, told: Told<'t>, out: &mut EventSink<'_>) {
        let Told { event_type, text, data, parent_call, agent } = told;
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        let call = self.call_of(line);
        begin(&mut head, line, &call);
        if parent_call.is_some() {
            head.parent_call = parent_call;
        }
        if agent.is_some() {
            head.agent = agent;
        }
        head.shape = if text.is_some() && data.is_some() { Shape::List } else { Shape::One };
        let item = out.start(head);
        let parts = [text.map(Part::Text), data.map(Part::Json)].into_iter().flatten();
        for (number, part) in parts.enumerate() {
            out.delta(item, number as u32, part);
        }
        out.complete(item);
        self.call = call;
    }

    /// A progress line of a running tool or subagent.
    fn progress(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        let data = line.root.get("data").filter(|data| data.kind() == Kind::Object);
        if let Some(data) = data
            && self.agent_said(line, data, out)
        {
            return;
        }
        let inner = data.and_then(|data| data.get("type")).and_then(|kind| kind.str());
        let known = inner.as_ref().is_some_and(|inner| PROGRESS.contains(&inner.as_escaped()));
        line.kind.note_text(if inner.is_some() { Field::Structure } else { Field::NoticeType });
        let told = Told {
            data: data.filter(|_| known).map(|data| data.take(Field::NoticeData)),
            event_type: inner.or_else(|| line.kind?.str()),
            text: data.filter(|_| !known).and_then(words_of_unknown),
            parent_call: line.parent_call.note_text(Field::ItemParentCall),
            agent: None,
        };
        if !known && let Some(kind) = data.and_then(|data| data.get("type")) {
            kind.note_text(Field::NoticeType);
        }
        self.say(line, told, out);
    }

    /// Reads a subagent's message from a progress line. Returns `true` if the line holds a message and the message is
    /// new.
    fn agent_said(&mut self, line: &ClaudeLine<'_>, data: Val<'_>, out: &mut EventSink<'_>) -> bool {
        const DATA: WantedNames<3> = WantedNames::new(["type", "message", "agentId"]);
        const WRAPPED: WantedNames<6> =
            WantedNames::new(["type", "message", "uuid", "requestId", "effort", "toolUseResult"]);
        let [kind, wrapped, agent] = data.find(&DATA);
        let Some(wrapped) = wrapped else { return false };
        let [author, message, id, request, effort, beside] = wrapped.find(&WRAPPED);
        let speaker = match author.word() {
            "user" => Author::User,
            "assistant" => Author::Assistant,
            _ => return false,
        };
        let message = message.filter(|message| message.kind() == Kind::Object);
        let Some((message, content)) = message.and_then(|message| Some((message, message.get("content")?)))
        else {
            return false;
        };
        let named = agent.and_then(|agent| agent.str());
        if let (Some(agent), Some(call)) = (&named, line.parent_call.and_then(|call| call.str())) {
            self.agents.started(agent, &call);
        }
        if self.agents.told(id, message.get("id"), content) {
            return false;
        }
        line.kind.note_text(Field::Structure);
        if let Some(kind) = kind.filter(|kind| kind.is("agent_progress") || kind.is("skill_progress")) {
            kind.note(Field::Structure);
        }
        author.note_text(Field::ItemAuthor);
        let mut head = out.head(ItemKind::Message, speaker);
        begin(&mut head, line, "");
        head.agent = Some(agent.note_text(Field::ItemAgent).unwrap_or(Str::escaped("sidechain")));
        head.parent_call = line.parent_call.note_text(Field::ItemParentCall);
        if speaker == Author::User
            && let Some(text) = origin::first_text(content)
        {
            // A subagent's prompt is written by another agent; the program may also inject text.
            head.origin = Some(origin::of_text(text).unwrap_or(Origin::Agent));
        }
        let results = ResultsOfLine { beside, decision: None };
        let response = ResponseOfLine { request, effort, counts: line.counts() };
        self.said(author, message, head, Status::Completed, &results, &response, out);
        true
    }

    fn attachment(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        let attachment = line.root.get("attachment").filter(|it| it.kind() == Kind::Object);
        let kind = attachment.and_then(|attachment| attachment.get("type"));
        let inner = kind.and_then(|kind| kind.str());
        let name = inner.as_ref().map_or("", Str::as_escaped);
        if let Some(attachment) = attachment.filter(|_| name == "queued_command")
            && self.queued(line, attachment, out)
        {
            return;
        }
        let mut known = ATTACHMENTS.contains(&name) || name.starts_with("hook_");
        if let Some(attachment) = attachment.filter(|_| name == "prompt_snapshot") {
            // Every request has a prompt snapshot; emit only changes.
            known = self.prompt != attachment.text();
            if known {
                attachment.text().clone_into(&mut self.prompt);
            }
        }
        line.kind.note_text(if inner.is_some() { Field::Structure } else { Field::NoticeType });
        if !known && let Some(kind) = kind {
            kind.note_text(Field::NoticeType);
        }
        let told = Told {
            text: attachment.filter(|_| !known && name != "prompt_snapshot").and_then(words_of_unknown),
            data: attachment.filter(|_| known).map(|attachment| attachment.take(Field::NoticeData)),
            event_type: inner.or_else(|| line.kind?.str()),
            ..Told::default()
        };
        self.say(line, told, out);
    }

    /// Reads a prompt that was queued while the agent was busy, or that came from elsewhere: the log holds it as an
    /// attachment and not as a `user` line. Returns whether the attachment is a prompt.
    fn queued(&mut self, line: &ClaudeLine<'_>, attachment: Val<'_>, out: &mut EventSink<'_>) -> bool {
        const WANTED: WantedNames<4> = WantedNames::new(["type", "origin", "prompt", "commandMode"]);
        let [kind, from, prompt, mode] = attachment.find(&WANTED);
        let Some(prompt) = prompt.filter(blocks::is_content) else { return false };
        for tag in [line.kind, kind] {
            tag.note_text(Field::ItemAuthor);
        }
        let from = from.and_then(|from| from.get("kind")).and_then(origin::of_kind);
        let origin = from.or_else(|| origin::first_text(prompt).and_then(origin::of_text));
        // Without `origin` and a known tag, the mode gives the origin.
        let origin = origin.unwrap_or_else(|| match mode.filter(|mode| mode.is("task-notification")) {
            Some(mode) => {
                mode.note(Field::ItemOrigin);
                Origin::Harness
            }
            None => Origin::Own,
        });
        let mut head = out.head(ItemKind::Message, Author::User);
        let call = self.call_of(line);
        begin(&mut head, line, &call);
        head.origin = Some(origin);
        head.shape = blocks::shape(Some(prompt));
        let item = out.start(head);
        blocks::read_content(prompt, item, out);
        out.complete(item);
        self.call = call;
        true
    }

    /// A `system` line: the program reports on itself.
    fn system(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        let subtype = line.root.note_str("subtype", Field::NoticeType);
        line.kind.note_text(if subtype.is_some() { Field::Structure } else { Field::NoticeType });
        let name = subtype.as_ref().map_or("", Str::as_escaped);
        match name {
            "compact_boundary" => compacted(line, "compactMetadata", out),
            "microcompact_boundary" => compacted(line, "microcompactMetadata", out),
            "api_error" => api_error(line, out),
            _ => {}
        }
        let known = SYSTEM.contains(&name);
        let text = match line.root.get("content").filter(|_| known || name.ends_with("_boundary")) {
            Some(text) => text.take_text(Field::NoticeText),
            None if known => None,
            // The oldest lines have no subtype.
            None => words_of_unknown(line.root),
        };
        let mut made = std::mem::take(&mut self.made);
        let data = match name {
            "api_error" => {
                let attempt = |name: &str| name == "retryAttempt" || name == "maxRetries";
                put_together(line.root, attempt, &mut made)
            }
            "compact_boundary" => {
                // Instructions of the user on what the summary must retain.
                let metadata = line.root.get("compactMetadata");
                metadata.and_then(|metadata| put_together(metadata, |name| name == "userContext", &mut made))
            }
            _ if known => put_together(line.root, |_| true, &mut made),
            _ => None,
        };
        let told = Told { event_type: subtype.or_else(|| line.kind?.str()), text, data, ..Told::default() };
        self.say(line, told, out);
        self.made = made;
    }

    /// A line whose members are at the top level.
    fn bare(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        let name = line.kind.word();
        let event_type = line.kind.note_text(Field::NoticeType);
        self.title(name, line, out);
        let mut made = std::mem::take(&mut self.made);
        let data = match name {
            "last-prompt" => {
                if let Some(leaf) = line.root.note_str("leafUuid", Field::SessionLeaf) {
                    self.leaf.clear();
                    self.leaf.push_str(leaf.as_escaped());
                    self.session.tell(
                        super::DIALECT.name,
                        Session { leaf: Some(leaf), ..Session::default() },
                        out,
                    );
                }
                None
            }
            "file-history-snapshot" => {
                let snapshot = line.root.get("snapshot").filter(|it| it.kind() == Kind::Object);
                snapshot.map(|snapshot| snapshot.take(Field::NoticeData))
            }
            // The queued text is emitted where it enters the conversation; the notice holds only the operation.
            "queue-operation" => put_together(line.root, |name| name == "operation", &mut made),
            _ if BARE.contains(&name) || is_of_workflow(line) => put_together(line.root, |_| true, &mut made),
            _ => None,
        };
        let agent = line.agent.filter(|_| is_of_workflow(line)).note_text(Field::ItemAgent);
        let known = data.is_some() || REPEATED.contains(&name);
        let text = if known { None } else { words_of_unknown(line.root) };
        self.say(line, Told { event_type, text, data, agent, ..Told::default() }, out);
        self.made = made;
    }

    /// The metadata file beside a subagent's log.
    pub(super) fn agent_meta(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        let parent_call = line.root.note_str("toolUseId", Field::SessionParentCall);
        if let Some(call) = &parent_call {
            self.agents.announce(call);
        }
        self.session.tell(super::DIALECT.name, Session { parent_call, ..Session::default() }, out);
        let mut made = std::mem::take(&mut self.made);
        let data = put_together(line.root, |name| name != "toolUseId", &mut made);
        self.say(line, Told { event_type: Some(Str::escaped("agent-meta")), data, ..Told::default() }, out);
        self.made = made;
    }

    /// Reads a session title. A title set by the user takes precedence over a generated title.
    fn title(&mut self, kind: &str, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
        let (name, by) = match kind {
            "custom-title" => ("customTitle", 3),
            "agent-name" => ("agentName", 3),
            "ai-title" => ("aiTitle", 2),
            "summary" => ("summary", 1),
            _ => return,
        };
        if by >= self.titled_by
            && let Some(title) = line.root.note_str(name, Field::SessionTitle)
        {
            self.titled_by = by;
            self.session.tell(super::DIALECT.name, Session { title: Some(title), ..Session::default() }, out);
        }
    }
}

/// Known types of progress lines: commands, hooks, servers, searches and background tasks.
const PROGRESS: &[&str] = &[
    "bash_progress",
    "powershell_progress",
    "hook_progress",
    "mcp_progress",
    "waiting_for_task",
    "query_update",
    "search_results_received",
    "task_progress",
    "workflow_progress",
];

/// Known types of attachments; every type that starts with `hook_` is a hook.
const ATTACHMENTS: &[&str] = &[
    // Context for the model: environment, model, date.
    "environment",
    "model",
    "date",
    "date_change",
    "session_context",
    "remote_session_change",
    "output_style",
    "critical_system_reminder",
    "total_tokens_reminder",
    "token_usage",
    "budget_usd",
    "context_efficiency",
    // Tools, agents and skills available to the model.
    "deferred_tools_delta",
    "agent_listing_delta",
    "skill_listing",
    "dynamic_skill",
    "invoked_skills",
    "mcp_instructions_delta",
    "mcp_resource",
    "command_permissions",
    "agent_mention",
    // Modes and rules.
    "auto_mode",
    "auto_mode_exit",
    "plan_mode",
    "plan_mode_reentry",
    "plan_mode_exit",
    "plan_file_reference",
    "ultra_effort_enter",
    "ultra_effort_exit",
    "verify_plan_reminder",
    "async_hook_response",
    // Files and their changes.
    "file",
    "directory",
    "already_read_file",
    "pdf_reference",
    "edited_text_file",
    "edited_image_file",
    "compact_file_reference",
    "nested_memory",
    "relevant_memories",
    "opened_file_in_ide",
    "selected_lines_in_ide",
    "diagnostics",
    // Tasks, team messages and queued commands.
    "todo",
    "todo_reminder",
    "task_reminder",
    "task_status",
    "task_progress",
    "teammate_mailbox",
    "team_context",
    "queued_command",
    "structured_output",
    "max_turns_reached",
];

/// Known subtypes of `system` lines.
const SYSTEM: &[&str] = &[
    "turn_duration",
    "stop_hook_summary",
    "local_command",
    "informational",
    "away_summary",
    "bridge_status",
    "memory_saved",
    "scheduled_task_fire",
    "agents_killed",
    "permission_retry",
    "model_refusal_fallback",
];

/// Known types of other lines.
const BARE: &[&str] = &[
    "cost-state",
    "mode",
    "pr-link",
    "agent-setting",
    "agent-color",
    "worktree-state",
    "relocated",
    "file-history-delta",
    "frame-link",
    "bridge-session",
    "tag",
    "task-summary",
    "speculation-accept",
    "content-replacement",
];

/// Lines whose text is already in a message or in the session's title.
const REPEATED: &[&str] = &[
    "last-prompt",
    "queue-operation",
    "summary",
    "custom-title",
    "agent-name",
    "ai-title",
    "tools-used",
    "atis-latch",
    "api-request",
    "api-request-shape",
    "api-request-blob",
];

/// Whether a line belongs to a workflow's journal: an agent started, or its result.
fn is_of_workflow(line: &ClaudeLine<'_>) -> bool {
    super::is_journal(line.root)
}

/// Members of nearly every line, left out of a notice's data.
const ENVELOPE: &[&str] = &[
    "type",
    "subtype",
    "content",
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "timestamp",
    "isSidechain",
    "isMeta",
    "agentId",
    "sessionId",
    "cwd",
    "version",
    "gitBranch",
    "permissionMode",
    "userType",
    "entrypoint",
    "slug",
    "forkedFrom",
];

/// The line's own members as one object.
fn put_together<'t>(root: Val<'t>, wanted: impl Fn(&str) -> bool, made: &'t mut String) -> Option<Raw<'t>> {
    made.clear();
    for (name, member) in root.members() {
        if ENVELOPE.contains(&name.as_escaped()) || !wanted(name.as_escaped()) {
            continue;
        }
        member.note(Field::NoticeData);
        made.push_str(if made.is_empty() { "{\"" } else { ",\"" });
        made.push_str(name.as_escaped());
        made.push_str("\":");
        made.push_str(member.text());
    }
    if made.is_empty() {
        return None;
    }
    made.push('}');
    Some(Raw::new(made))
}

/// A compaction: a summary replaces earlier parts of the conversation.
fn compacted(line: &ClaudeLine<'_>, name: &str, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<6> = WantedNames::new([
        "trigger",
        "preTokens",
        "postTokens",
        "tokensSaved",
        "preservedSegment",
        "preservedMessages",
    ]);
    let Some(metadata) = line.root.get(name).filter(|it| it.kind() == Kind::Object) else { return };
    let [trigger, before, after, saved, segment, _] = metadata.find(&WANTED);
    let before = before.note_count(Field::CompactionBefore);
    let after = after.note_count(Field::CompactionAfter).or_else(|| {
        let saved = saved.filter(|saved| saved.u64().is_some() && before.is_some());
        before?.checked_sub(saved.note_count(Field::CompactionAfter)?)
    });
    out.event(&Event::Compacted(Compaction {
        trigger: trigger.note_text(Field::CompactionTrigger),
        before,
        after,
        kept_from: segment.and_then(|segment| segment.note_str("headUuid", Field::CompactionKeptFrom)),
        ..Compaction::default()
    }));
}

/// A request that failed and may be retried.
fn api_error(line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
    let error = line.root.get("error").filter(|error| error.kind() == Kind::Object);
    let inside = error.and_then(|error| error.get("error")).filter(|inner| inner.kind() == Kind::Object);
    let inside =
        inside.and_then(|inner| inner.get("error").filter(|it| it.kind() == Kind::Object).or(Some(inner)));
    let text = |name: &str, field| {
        let own = error.and_then(|error| error.note_str(name, field));
        own.or_else(|| inside.and_then(|inner| inner.note_str(name, field)))
    };
    let status = error.and_then(|error| error.note_u64("status", Field::ErrorStatus));
    let status = status.and_then(|status| u16::try_from(status).ok());
    let cause = line.root.get("cause").and_then(|cause| cause.note_str("code", Field::ErrorCode));
    let message = ["formatted", "message"].into_iter().find_map(|name| text(name, Field::ErrorMessage));
    let request_id = ["requestId", "requestID", "request_id"]
        .into_iter()
        .find_map(|name| text(name, Field::ErrorRequestId));
    out.event(&Event::Error(Failure {
        class: status.map_or(FailureClass::Other, FailureClass::of_status),
        status,
        code: inside.and_then(|inner| inner.note_str("type", Field::ErrorCode)).or(cause),
        message: message.unwrap_or_default(),
        request_id: request_id.or_else(|| line.request.note_text(Field::ErrorRequestId)),
        retry_after: line.root.get("retryInMs").and_then(retry_after),
    }));
}

/// Milliseconds until the retry; the program writes fractions.
fn retry_after(delay: Val<'_>) -> Option<u64> {
    let number: f64 = delay.text().parse().ok().filter(|number| (0.0..1e12).contains(number))?;
    delay.note(Field::ErrorRetryAfter);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in this range")]
    Some(number.round() as u64)
}
