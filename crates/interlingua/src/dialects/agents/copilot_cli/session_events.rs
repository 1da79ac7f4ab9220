//! Lines outside the conversation: session values, permissions and questions, failures, compactions. A line with a
//! meaning in the model emits an event, followed by a notice with the line's id and position.

use super::line::CopilotLine;
use super::read::{CopilotLogReader, value_key};
use crate::json::{JsonBuffer, Raw, Str};
use crate::model::{
    Author, Compaction, Decision, Event, Failure, FailureClass, Field, Origin, Permission, Prompt, Question,
    Session, SessionEnd, Status, Stop, StopClass, Turn, Words,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

impl CopilotLogReader {
    pub(super) fn happened(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let data = line.data;
        match line.word() {
            // Settings of a subagent do not belong to the session.
            word if word.starts_with("session.") && is_fact(word) && !line.agent().is_empty() => {
                self.notice_with_data(line, out);
            }
            "session.start" | "session.resume" | "session.context_changed" => {
                self.session_facts(line, out);
                self.notice(line, &[], out);
            }
            "session.model_change" => {
                let told = Session {
                    model: data.note_str("newModel", Field::SessionModel),
                    effort: data.note_str("reasoningEffort", Field::SessionEffort),
                    ..Session::default()
                };
                self.tell(line, told, out);
                self.notice(line, &["previousModel", "cause", "source"], out);
            }
            "session.mode_changed" => {
                let permission_mode = data.note_str("newMode", Field::PermissionMode);
                self.tell(line, Session { permission_mode, ..Session::default() }, out);
                self.notice(line, &["previousMode"], out);
            }
            "session.permissions_changed" => {
                let names = ["mode", "allowAllPermissionMode", "allowAllPermissions"];
                let policy = names.into_iter().find_map(|name| data.get(name).filter(|val| !val.is_null()));
                let approval_policy = policy.map(|policy| policy.note(Field::ApprovalPolicy));
                self.tell(line, Session { approval_policy, ..Session::default() }, out);
                self.notice(line, &["previousMode", "previousAllowAllPermissionMode"], out);
            }
            "session.title_changed" => {
                let title = data.note_str("title", Field::SessionTitle);
                self.tell(line, Session { title, ..Session::default() }, out);
                self.notice(line, &[], out);
            }
            "session.usage_record" => {
                if let Some(usage) = data.get("usage") {
                    self.accounts.record(line, usage, out);
                }
                self.notice(line, &[], out);
            }
            "assistant.usage" => {
                self.accounts.record(line, data, out);
                self.notice(line, &[], out);
            }
            "session.shutdown" => self.shutdown(line, out),
            "result" => self.printed_result(line, out),
            "session.error" if data.has_str("message") => {
                tell_error(line, out);
                self.notice(line, &["errorType", "originatingMessageId"], out);
            }
            "abort" => {
                if let Some(raw) = data.note_str("reason", Field::StopReason) {
                    let class = StopClass::Cancelled;
                    let stop = Some(Stop { class, raw: Some(raw), sequence: None, detail: None });
                    line.event(&Event::TurnEnded(Turn { stop, ..Turn::default() }), out);
                }
                self.notice(line, &[], out);
            }
            "session.compaction_complete" => self.compacted(line, out),
            "session.truncation" => {
                let compaction = Compaction {
                    trigger: data.note_str("performedBy", Field::CompactionTrigger),
                    before: data.note_u64("preTruncationTokensInMessages", Field::CompactionBefore),
                    after: data.note_u64("postTruncationTokensInMessages", Field::CompactionAfter),
                    ..Compaction::default()
                };
                line.event(&Event::Compacted(compaction), out);
                let tells =
                    ["tokenLimit", "messagesRemovedDuringTruncation", "tokensRemovedDuringTruncation"];
                self.notice(line, &tells, out);
            }
            "permission.requested" if data.has_str("requestId") => self.permission(line, out),
            "permission.completed" if data.has_str("requestId") => self.permission_given(line, out),
            "user_input.requested" if data.has_str("requestId") && data.has_str("question") => {
                self.question(line, out);
            }
            "user_input.completed" if data.has_str("requestId") => self.question_answered(line, out),
            "tool.execution_start" => {
                self.tool_started(line);
                self.notice(line, &["toolCallId"], out);
            }
            // These lines repeat a call, or the text of a skill that a message holds.
            "hook.start" => self.notice(line, &["hookInvocationId", "hookType"], out),
            "external_tool.requested" => self.notice(line, &["requestId", "toolCallId"], out),
            "skill.invoked" => self.notice(line, &["name", "path", "trigger"], out),
            word if TOLD_WHOLE.contains(&word) => self.notice_with_data(line, out),
            word if TOLD_BEFORE.iter().any(|begin| word.starts_with(begin)) => self.notice(line, &[], out),
            _ => self.notice_with_words(line, out),
        }
    }

    fn session_facts(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<6> = WantedNames::new([
            "sessionId",
            "copilotVersion",
            "startTime",
            "selectedModel",
            "reasoningEffort",
            "context",
        ]);
        const CONTEXT: WantedNames<4> = WantedNames::new(["cwd", "branch", "headCommit", "repository"]);
        let [id, version, start, model, effort, context] = line.data.find(&WANTED);
        // `session.context_changed` has the context's members at the top level.
        let context = context.filter(|context| context.kind() == Kind::Object).unwrap_or(line.data);
        let [cwd, branch, commit, repository] = context.find(&CONTEXT);
        let told = Session {
            id: id.note_text(Field::SessionId),
            parent: line.data.note_str("detachedFromSpawningParentSessionId", Field::SessionParent),
            cwd: cwd.note_text(Field::SessionCwd),
            cli_version: version.note_text(Field::SessionVersion),
            model: model.note_text(Field::SessionModel),
            branch: branch.note_text(Field::SessionBranch),
            commit: commit.note_text(Field::SessionCommit),
            repository: repository.note_text(Field::SessionRepository),
            start: start.filter(Val::is_time).map(|start| start.note(Field::SessionStart)),
            effort: effort.note_text(Field::SessionEffort),
            ..Session::default()
        };
        self.tell(line, told, out);
    }

    /// A run of the program ends; the session may be resumed later.
    fn shutdown(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> =
            WantedNames::new(["shutdownType", "errorReason", "modelMetrics", "accountingSnapshot"]);
        let [kind, reason, metrics, snapshot] = line.data.find(&WANTED);
        let metrics = metrics.or_else(|| snapshot?.get("modelMetrics"));
        if let Some(metrics) = metrics {
            self.accounts.totals(line, metrics, out);
        }
        let status = match kind.word() {
            "routine" => Some(Status::Completed),
            "error" => Some(Status::Failed),
            _ => None,
        };
        if let Some(status) = status {
            kind.note_text(Field::SessionEndStatus);
            let message = reason.note_text(Field::SessionEndMessage);
            line.event(&Event::SessionEnded(SessionEnd { status, message }), out);
        }
        self.notice(line, &["codeChanges", "totalPremiumRequests", "totalApiDurationMs"], out);
    }

    /// The last printed line.
    fn printed_result(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let id = line.data.note_str("sessionId", Field::SessionId);
        self.tell(line, Session { id, ..Session::default() }, out);
        if let Some(code) = line.data.get("exitCode").filter(|code| code.kind() == Kind::Number) {
            let succeeded = code.note(Field::SessionEndStatus).as_str() == "0";
            let status = if succeeded { Status::Completed } else { Status::Failed };
            line.event(&Event::SessionEnded(SessionEnd { status, message: None }), out);
        }
        self.notice(line, &["usage"], out);
    }

    /// The summary is a message: Copilot passes it to the model as a user message.
    fn compacted(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<5> = WantedNames::new([
            "success",
            "trigger",
            "preCompactionTokens",
            "postCompactionTokens",
            "summaryContent",
        ]);
        let [success, trigger, before, after, summary] = line.data.find(&WANTED);
        let Some(success) = success.filter(|success| success.bool() == Some(true)) else {
            return self.notice_with_data(line, out);
        };
        success.note(Field::Structure);
        let session_model = self.session.known().model.clone().unwrap_or_default();
        self.accounts.compaction(line, session_model.as_escaped(), out);
        let compaction = Compaction {
            trigger: trigger.note_text(Field::CompactionTrigger),
            before: before.note_count(Field::CompactionBefore),
            after: after.note_count(Field::CompactionAfter),
            ..Compaction::default()
        };
        line.event(&Event::Compacted(compaction), out);
        if summary.word().is_empty() {
            self.notice(line, &["messagesRemoved", "tokensRemoved", "checkpointNumber"], out);
        } else {
            self.said(line, Author::User, Some(Origin::Summary), "summaryContent", out);
        }
    }

    fn permission(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let request = line.data.get("permissionRequest").filter(|request| request.kind() == Kind::Object);
        let Some(request) = request else { return self.notice_with_data(line, out) };
        let id = line.data.note_str("requestId", Field::PermissionId).unwrap_or_default();
        let action = request.note_str("kind", Field::PermissionAction).unwrap_or_default();
        self.requests.insert(id.as_escaped(), action.clone().into_owned());
        let mut input = JsonBuffer::default();
        let mut json = input.hold();
        json.object();
        for (name, member) in request.members() {
            if !matches!(name.as_escaped(), "kind" | "toolCallId") {
                json.key(name.as_escaped()).raw(&member.note(Field::PermissionInput));
            }
        }
        json.end_object();
        let call_id = request.note_str("toolCallId", Field::PermissionCallId);
        let input = Some(Raw::new(input.held()));
        let permission = Permission { id, action, call_id, input, answer: None, by: None };
        line.event(&Event::PermissionRequested(permission), out);
        self.notice(line, &["permissionMode", "riskAssessment", "resolvedByHook"], out);
    }

    fn permission_given(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let result = line.data.get("result").filter(|result| result.kind() == Kind::Object);
        let kind = result.and_then(|result| result.get("kind"));
        let why = || {
            let members = ["feedback", "message", "reason"];
            let own = members.into_iter().find_map(|name| result?.note_str(name, Field::PermissionMessage));
            own.or_else(|| kind.note_text(Field::PermissionMessage))
        };
        let answer = match kind.word() {
            "approved" => Decision::Accept,
            "approved-for-session" | "approved-for-location" | "approved-read-only-for-session" => {
                Decision::AcceptForSession
            }
            word if word.starts_with("denied") || word == "cancelled" => Decision::Reject(why()),
            _ => return self.notice_with_data(line, out),
        };
        if !matches!(answer, Decision::Reject(_)) {
            kind.note_text(Field::PermissionAnswer);
        }
        let id = line.data.note_str("requestId", Field::PermissionId).unwrap_or_default();
        let action = self.requests.remove(id.as_escaped()).unwrap_or_default();
        let call_id = line.data.note_str("toolCallId", Field::PermissionCallId);
        let permission = Permission { id, action, call_id, input: None, answer: Some(answer), by: None };
        line.event(&Event::PermissionResolved(permission), out);
        self.notice(line, &["decisionSource"], out);
    }

    fn question(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let choices = line.data.get("choices");
        let choices = choices.into_iter().flat_map(|choices| choices.elements());
        let options = choices.filter_map(|choice| Some((choice.note_text(Field::QuestionOption)?, None)));
        let prompt = Prompt {
            text: line.data.note_str("question", Field::QuestionText).unwrap_or_default(),
            options: options.collect(),
            multiple: false,
        };
        let question = Question {
            id: line.data.note_str("requestId", Field::QuestionId).unwrap_or_default(),
            call_id: line.data.note_str("toolCallId", Field::QuestionCallId),
            prompts: vec![prompt],
            answers: None,
            declined: false,
        };
        line.event(&Event::QuestionRequested(question), out);
        self.notice(line, &["allowFreeform"], out);
    }

    fn question_answered(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        let answer = line.data.note_str("answer", Field::QuestionAnswer);
        let question = Question {
            id: line.data.note_str("requestId", Field::QuestionId).unwrap_or_default(),
            call_id: None,
            prompts: Vec::new(),
            declined: answer.is_none(),
            answers: answer.map(|answer| vec![vec![answer]]),
        };
        line.event(&Event::QuestionResolved(question), out);
        self.notice(line, &["wasFreeform"], out);
    }

    /// A tool starts; the line repeats the call.
    fn tool_started(&mut self, line: &CopilotLine<'_>) {
        let known = self.calls.remove(line.data.str_or_empty("toolCallId"));
        let arguments = line.data.get("arguments");
        if let Some(arguments) = arguments.filter(|arguments| known == Some(value_key(*arguments))) {
            arguments.note(Field::CallArgs);
        }
    }
}

fn tell_error(line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<5> =
        WantedNames::new(["message", "statusCode", "errorCode", "errorType", "serviceRequestId"]);
    let [message, status, code, kind, request_id] = line.data.find(&WANTED);
    let status = status.filter(|status| status.u64().is_some_and(|status| status < 1000));
    let status = status.note_count(Field::ErrorStatus).and_then(|status| u16::try_from(status).ok());
    let class = ERRORS.value(&Str::escaped(kind.word()));
    let class = class.or_else(|| status.map(FailureClass::of_status)).unwrap_or(FailureClass::Other);
    let failure = Failure {
        class,
        status,
        code: code.note_text(Field::ErrorCode),
        message: message.note_text(Field::ErrorMessage).unwrap_or_default(),
        request_id: request_id.note_text(Field::ErrorRequestId),
        retry_after: None,
    };
    line.event(&Event::Error(failure), out);
}

/// Whether a line of this type holds session values.
fn is_fact(word: &str) -> bool {
    matches!(
        word,
        "session.start"
            | "session.resume"
            | "session.context_changed"
            | "session.model_change"
            | "session.mode_changed"
            | "session.permissions_changed"
            | "session.title_changed"
    )
}

const ERRORS: Words<FailureClass> = Words(&[
    (FailureClass::Authentication, "authentication"),
    (FailureClass::Permission, "authorization"),
    (FailureClass::Permission, "policy"),
    (FailureClass::Billing, "quota"),
    (FailureClass::RateLimit, "rate_limit"),
    (FailureClass::ContextTooLong, "context_limit"),
]);

/// Prefixes of line types that repeat the conversation in pieces.
const TOLD_BEFORE: [&str; 6] = ["assistant.", "model.", "tool.", "system.", "user.", "hook."];

/// Types of lines whose data the notice holds whole, in Copilot's own form.
const TOLD_WHOLE: &[&str] = &[
    "agent.interrupted",
    "assistant.intent",
    "command.execute",
    "command.queued",
    "elicitation.completed",
    "elicitation.requested",
    "exit_plan_mode.completed",
    "exit_plan_mode.requested",
    "hook.end",
    "model.call_failure",
    "permission.assentDetected",
    "permission.carriedForward",
    "permission.contextualAuthorization",
    "permission.messageAuthorization",
    "session.auto_mode_resolved",
    "session.autopilot_objective_changed",
    "session.autopilot_stopped",
    "session.compaction_start",
    "session.context_cleared",
    "session.handoff",
    "session.info",
    "session.mode_notice_delivered",
    "session.model_deselected",
    "session.permission_recovery",
    "session.plan_changed",
    "session.remote_steerable_changed",
    "session.schedule_cancelled",
    "session.schedule_created",
    "session.schedule_rearmed",
    "session.session_limits_changed",
    "session.snapshot_rewind",
    "session.task_complete",
    "session.warning",
    "session.workspace_file_changed",
    "subagent.completed",
    "subagent.configured",
    "subagent.deselected",
    "subagent.failed",
    "subagent.selected",
    "subagent.started",
    "tool.user_requested",
];
