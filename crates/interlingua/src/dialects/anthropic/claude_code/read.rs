//! Lines to events. A `user` or `assistant` line is a message, and so is a subagent's message in a progress line. Every
//! other line is a notice, whatever its type.

use super::calls::{Agents, CalledTools};
use super::origin::{self, WhoseWords};
use super::results::{self, ResultsOfLine};
use crate::blocks;
use crate::dialects::anthropic::usage::{read_stop, read_usage};
use crate::error::Code;
use crate::json::Str;
use crate::log::SessionTracker;
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemHead, ItemKind, ItemTail, Session, Status, Turn,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct ClaudeReader {
    pub(super) session: SessionTracker,
    /// Precedence of the title seen last (see `title`).
    pub(super) titled_by: u8,
    /// The id of the last line of the main conversation.
    pub(super) leaf: String,
    pub(super) agents: Agents,
    tools: CalledTools,
    /// Set after the first message of a model.
    answered: bool,
    /// The last system prompt emitted.
    pub(super) prompt: String,
    /// Buffer for values built from several leaves of a line.
    pub(super) made: String,
    /// The call that started the subagent of the current line.
    pub(super) call: String,
}

/// A line with the members that give its type and its position.
pub(super) struct ClaudeLine<'t> {
    pub(super) root: Val<'t>,
    pub(super) kind: Option<Val<'t>>,
    message: Option<Val<'t>>,
    pub(super) id: Option<Val<'t>>,
    parent: Option<Val<'t>>,
    pub(super) time: Option<Val<'t>>,
    /// `true` for a subagent's line.
    sidechain: Option<Val<'t>>,
    pub(super) agent: Option<Val<'t>>,
    /// The call that started the subagent, or the call the line is about.
    pub(super) parent_call: Option<Val<'t>>,
    /// The session and the message the line was copied from.
    forked: Option<Val<'t>>,
    /// Session values repeated on the line.
    session: ToldOfSession<'t>,
    /// `true` for the summary of a compacted conversation.
    pub(super) summary: Option<Val<'t>>,
    /// `true` if the program injected the line as the user.
    pub(super) meta: Option<Val<'t>>,
    pub(super) origin: Option<Val<'t>>,
    /// Details of the line's tool result.
    result: Option<Val<'t>>,
    /// The permission decision on the call, with its source.
    decision: Option<Val<'t>>,
    pub(super) request: Option<Val<'t>>,
    effort: Option<Val<'t>>,
    /// `true` if the user interrupted the response.
    aborted: Option<Val<'t>>,
    /// `true` if the line reports a failed request.
    failed: Option<Val<'t>>,
}

/// Session values repeated on every line.
struct ToldOfSession<'t> {
    id: Option<Val<'t>>,
    cwd: Option<Val<'t>>,
    version: Option<Val<'t>>,
    branch: Option<Val<'t>>,
    mode: Option<Val<'t>>,
}

impl<'t> ClaudeLine<'t> {
    fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<23> = WantedNames::new([
            "type",
            "message",
            "uuid",
            "parentUuid",
            "timestamp",
            "isSidechain",
            "agentId",
            "parentToolUseID",
            "forkedFrom",
            "isCompactSummary",
            "isMeta",
            "origin",
            "toolUseResult",
            "permissionDecision",
            "requestId",
            "effort",
            "isAbortedMidStream",
            "isApiErrorMessage",
            "sessionId",
            "cwd",
            "version",
            "gitBranch",
            "permissionMode",
        ]);
        #[rustfmt::skip]
        let [
            kind, message, id, parent, time, sidechain, agent, parent_call, forked, summary, meta, origin, result, decision,
            request, effort, aborted, failed, session @ ..
        ] = root.find(&WANTED);
        let [session_id, cwd, version, branch, mode] = session;
        let session = ToldOfSession { id: session_id, cwd, version, branch, mode };
        let is_true = |flag: &Val<'_>| flag.bool() == Some(true);
        let [summary, meta, aborted, failed] =
            [summary, meta, aborted, failed].map(|flag| flag.filter(is_true));
        #[rustfmt::skip]
        return Self {
            root, kind, message, id, parent, time, sidechain, agent, parent_call, forked, session, summary, meta, origin, result,
            decision, request, effort, aborted, failed,
        };
    }

    /// Whether to count the line's usage. Lines copied from another session were counted there.
    pub(super) fn counts(&self) -> bool {
        self.forked.is_none()
    }

    /// Whether the line has no parent.
    pub(super) fn begins_chain(&self) -> bool {
        self.parent.is_none_or(|parent| parent.is_null())
    }

    pub(super) fn is_sidechain(&self) -> bool {
        self.sidechain.and_then(|flag| flag.bool()) == Some(true)
    }
}

impl Reader for ClaudeReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = ClaudeLine::new(doc.root);
        if line.kind.is_none() && super::is_agent_meta(doc.root) {
            return self.agent_meta(&line, out);
        }
        let names_session = self.session(&line, out);
        // Nearly every line holds the session's id; a line without that id may belong to another dialect.
        let known = names_session || super::is_journal(doc.root);
        if !known && !doc.report_foreign(super::DIALECT.name, out) && line.kind.is_none() {
            out.problem(Code::UnknownShape, None, "expected a line with a `type`");
        }
        let author = match line.kind.word() {
            "user" => Author::User,
            "assistant" => Author::Assistant,
            // `api-request-blob` lines have a `message` as well, so only the type identifies a message.
            _ => return self.notice(&line, out),
        };
        match line.message {
            Some(message) if message.kind() == Kind::Object => self.line_said(&line, message, author, out),
            _ => self.notice(&line, out),
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        if !self.leaf.is_empty() {
            let leaf = Some(Str::escaped(&self.leaf));
            self.session.tell(super::DIALECT.name, Session { leaf, ..Session::default() }, out);
        }
    }
}

impl ClaudeReader {
    /// Reads the session values of a line. Returns whether the line holds the session's id.
    fn session(&mut self, line: &ClaudeLine<'_>, out: &mut EventSink<'_>) -> bool {
        let ToldOfSession { id, cwd, version, branch, mode } = line.session;
        // Outside a repository the branch is empty.
        let is_branch = |branch: &Str<'_>| !branch.is_empty() || self.session.known().branch.is_some();
        let told = Session {
            id: id.note_text(Field::SessionId),
            cwd: cwd.note_text(Field::SessionCwd),
            cli_version: version.note_text(Field::SessionVersion),
            branch: branch.note_text(Field::SessionBranch).filter(is_branch),
            permission_mode: mode.note_text(Field::PermissionMode),
            // A fork starts with lines copied from its parent session.
            parent: line.forked.and_then(|from| from.get("sessionId")?.str()),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
        id.is_some()
    }

    /// A line of the conversation.
    fn line_said(
        &mut self,
        line: &ClaudeLine<'_>,
        message: Val<'_>,
        author: Author,
        out: &mut EventSink<'_>,
    ) {
        line.kind.note_text(Field::ItemAuthor);
        if !line.is_sidechain() {
            if let Some(id) = line.id.and_then(|id| id.str()) {
                self.leaf.clear();
                self.leaf.push_str(id.as_escaped());
            }
        } else if let Some(content) = message.get("content") {
            self.agents.told(line.id, message.get("id"), content);
        }
        let mut head = out.head(ItemKind::Message, author);
        let call = self.call_of(line);
        begin(&mut head, line, &call);
        let speaker = if author == Author::User {
            let speaker = origin::of_line(line, message.get("content"));
            head.origin = speaker.origin;
            speaker
        } else {
            if let Some(failed) = line.failed {
                failed.note(Field::ErrorClass);
                api_error_message(line, out);
            }
            if let Some(aborted) = line.aborted {
                aborted.note(Field::ItemStatus);
            }
            WhoseWords { interrupts: line.aborted.is_some(), ..WhoseWords::default() }
        };
        let status = if speaker.interrupts { Status::Interrupted } else { Status::Completed };
        let response = ResponseOfLine { request: line.request, effort: line.effort, counts: line.counts() };
        let results = ResultsOfLine { beside: line.result, decision: line.decision };
        self.said(line.kind, message, head, status, &results, &response, out);
        self.call = call;
    }

    /// Reads a message into an item that starts with `head`.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a line says beside its message, each of its own kind"
    )]
    pub(super) fn said<'t>(
        &mut self,
        kind: Option<Val<'t>>,
        message: Val<'t>,
        mut head: ItemHead<'t>,
        status: Status,
        results: &ResultsOfLine<'t>,
        response: &ResponseOfLine<'t>,
        out: &mut EventSink<'_>,
    ) {
        const WANTED: WantedNames<8> = WantedNames::new([
            "role",
            "content",
            "model",
            "usage",
            "id",
            "stop_reason",
            "stop_sequence",
            "type",
        ]);
        let [role, content, model, usage, id, stop, sequence, tag] = message.find(&WANTED);
        // The role repeats the line's type; a different role is left unclaimed.
        if let Some(role) = role.filter(|role| kind.is_some_and(|kind| role.text() == kind.text())) {
            role.note(Field::ItemAuthor);
        }
        if let Some(tag) = tag.filter(|tag| tag.is("message")) {
            tag.note(Field::Structure);
        }
        // `<synthetic>` marks text of Claude Code itself, which uses no tokens.
        let made_up = model.word() == "<synthetic>";
        let usage = usage.filter(|usage| usage.kind() == Kind::Object && !made_up && response.counts);
        if let Some(usage) = usage {
            self.iterations(usage, id, model, out);
        }
        results::decided(content, results, &self.tools, out);
        head.model = model.take_text(Field::ItemModel);
        head.shape = blocks::shape(content);
        let model = head.model.clone();
        let is_answer = head.author == Author::Assistant;
        self.answered |= is_answer && !made_up;
        let item = out.start(head);
        if let Some(content) = content {
            if is_answer {
                self.tools.remember(content);
            }
            results::read_content(content, results, item, &mut self.agents, &mut self.made, out);
        }
        out.end(ItemTail::new(item, status));
        // A response may span several lines, each with the usage so far; the response id joins them.
        if let Some(usage) = usage {
            for nothing in [stop, sequence].into_iter().flatten().filter(Val::is_null) {
                nothing.note(Field::Structure);
            }
            out.event(&Event::Usage(Turn {
                id: id.note_text(Field::TurnId),
                model,
                request_id: response.request.note_text(Field::TurnRequestId),
                effort: response.effort.note_text(Field::TurnEffort),
                stop: stop
                    .note_text(Field::StopReason)
                    .map(|raw| read_stop(raw, sequence.note_text(Field::StopSequence))),
                usage: Some(read_usage(usage)),
                ..Turn::default()
            }));
        }
    }

    /// Usage of other models during the response, such as an advisor; the counts of the response exclude this usage.
    fn iterations(
        &mut self,
        usage: Val<'_>,
        id: Option<Val<'_>>,
        model: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) {
        let Some(iterations) = usage.get("iterations") else { return };
        for (number, iteration) in iterations.elements().enumerate() {
            let other =
                iteration.get("type").filter(|kind| kind.kind() == Kind::String && !kind.is("message"));
            let (Some(kind), Some(id)) = (other, id.and_then(|id| id.str())) else { continue };
            kind.note(Field::Structure);
            if !self.answered {
                // The session's model is the model of the response, even though the other model's usage is emitted
                // first.
                let model = model.and_then(|model| model.str());
                self.session.tell(super::DIALECT.name, Session { model, ..Session::default() }, out);
            }
            self.made.clear();
            self.made.push_str(id.as_escaped());
            self.made.push('#');
            self.made.push_str(&number.to_string());
            out.event(&Event::Usage(Turn {
                id: Some(Str::escaped(&self.made)),
                model: iteration.note_str("model", Field::TurnModel),
                usage: Some(read_usage(iteration)),
                ..Turn::default()
            }));
        }
    }

    /// The call that started the subagent of a line, if an earlier line holds it; empty otherwise. Return the string to
    /// `self.call` after the line, to reuse its memory.
    pub(super) fn call_of(&mut self, line: &ClaudeLine<'_>) -> String {
        let mut call = std::mem::take(&mut self.call);
        call.clear();
        if line.is_sidechain()
            && let Some(agent) = line.agent.and_then(|agent| agent.str())
        {
            call.push_str(self.agents.heard_of(&agent).unwrap_or_default());
        }
        call
    }
}

/// Fills the item's head from the line. `call` started the subagent, if known.
pub(super) fn begin<'t>(head: &mut ItemHead<'t>, line: &ClaudeLine<'t>, call: &'t str) {
    head.native_id = line.id.take_text(Field::ItemId);
    head.parent = line.parent.take_text(Field::ItemParent);
    head.time = line.time.take_time(Field::ItemTime);
    if let Some(from) = line.forked {
        head.copied_from = from.note_str("sessionId", Field::ItemCopiedFrom);
    }
    let Some(sidechain) = line.sidechain else { return };
    if !line.is_sidechain() {
        // `false` only marks a line of the main agent.
        if sidechain.bool() == Some(false) {
            sidechain.note(Field::Structure);
        }
        return;
    }
    // Older logs do not name the subagent.
    let named = line.agent.note_text(Field::ItemAgent);
    sidechain.note(if named.is_some() { Field::Structure } else { Field::ItemAgent });
    let own = line.parent_call.note_text(Field::ItemParentCall);
    let own = own.or_else(|| line.root.note_str("parent_tool_use_id", Field::ItemParentCall));
    head.parent_call = own.or_else(|| (!call.is_empty()).then(|| Str::escaped(call)));
    head.agent = Some(named.unwrap_or(Str::escaped("sidechain")));
}

/// Members beside the message that describe its response.
pub(super) struct ResponseOfLine<'t> {
    pub(super) request: Option<Val<'t>>,
    pub(super) effort: Option<Val<'t>>,
    /// Whether to count the usage; see [`ClaudeLine::counts`].
    pub(super) counts: bool,
}

/// Emits the failure reported by a synthetic message.
fn api_error_message(line: &ClaudeLine<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> =
        WantedNames::new(["error", "apiErrorStatus", "apiErrorType", "errorDetails"]);
    let [word, status, kind, details] = line.root.find(&WANTED);
    let status = status.note_count(Field::ErrorStatus).and_then(|status| u16::try_from(status).ok());
    let kind = kind.note_text(Field::ErrorCode);
    let word = match kind {
        Some(_) => word.note_text(Field::ErrorMessage),
        None => word.note_text(Field::ErrorCode),
    };
    let class = match word.as_ref().map_or("", Str::as_escaped) {
        "rate_limit" => FailureClass::RateLimit,
        "authentication_failed" | "oauth_org_not_allowed" => FailureClass::Authentication,
        "billing_error" => FailureClass::Billing,
        "invalid_request" => FailureClass::InvalidRequest,
        "server_error" => status.map_or(FailureClass::Server, FailureClass::of_status),
        "overloaded" => FailureClass::Overloaded,
        _ => status.map_or(FailureClass::Other, FailureClass::of_status),
    };
    let code = kind.or_else(|| word.clone());
    out.event(&Event::Error(Failure {
        class,
        status,
        code,
        // The message's own text holds the wording for people.
        message: details.note_text(Field::ErrorMessage).or(word).unwrap_or_default(),
        request_id: line.request.note_text(Field::ErrorRequestId),
        retry_after: None,
    }));
}
