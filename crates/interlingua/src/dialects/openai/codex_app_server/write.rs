//! Events to requests and answers of a client: the handshake, prompts, decisions, answers and the interrupt.
//!
//! The server answers `initialize`, then `thread/start` or `thread/resume`; only then does it take prompts. One turn runs
//! at a time: a prompt waits until the turn before it has ended.

use std::collections::VecDeque;

use super::requests::{ApprovalMethod, QUESTION, questions};
use super::{DIALECT, OPENING};
use crate::dialects::Options;
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::live::input::AgentInput;
use crate::live::json_rpc::{
    METHOD_NOT_FOUND, Message, OpenRequests, OwnRequests, begin_notification, begin_request, begin_result,
    end, id_text, refuse,
};
use crate::model::{Decision, Event, Field, ItemKindTag, MediaSource, Part, Permission, Question, Session};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Limits, TapeBuf, Val};
use crate::wire::media::address_of;

/// The error code for a question that the user declines.
const DECLINED: i64 = -32000;

/// The version of this client in the handshake. A fixed text: the output does not depend on the build.
const CLIENT_VERSION: &str = "1";

/// The input of the app server.
pub(super) struct AppServerInput {
    /// Set if the server's output is read as well: the input waits for its responses.
    is_linked: bool,
    own: OwnRequests,
    stage: Stage,
    /// The client's settings, until the thread opens.
    settings: Session<'static>,
    /// The id of the thread and of its running turn, escaped.
    thread: String,
    turn: TurnState,
    waiting: VecDeque<Vec<Part<'static>>>,
    requests: OpenRequests<Asked>,
}

/// The stage of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Initializing,
    Opening,
    Open,
    /// The server refused the handshake.
    Refused,
}

/// The state of the running turn.
#[derive(Debug, Default, PartialEq, Eq)]
enum TurnState {
    #[default]
    Idle,
    /// The request was sent; the turn has no id yet. The flag is set if the turn must be interrupted.
    Requested(bool),
    Running(String),
}

/// An open request of the server.
enum Asked {
    Approval(&'static ApprovalMethod),
    /// The names of the answers.
    Question(Vec<String>),
}

impl AppServerInput {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            is_linked: options.source == Some(DIALECT.name),
            own: OwnRequests::default(),
            stage: Stage::New,
            settings: Session::default(),
            thread: String::new(),
            turn: TurnState::Idle,
            waiting: VecDeque::new(),
            requests: OpenRequests::default(),
        }
    }

    fn initialize(&mut self, out: &mut WriterOutput<'_>) {
        self.stage = Stage::Initializing;
        let json = begin_request(false, &self.own.next("initialize"), "initialize", &mut out.json);
        json.object().key("clientInfo").object().key("name").literal("interlingua");
        json.key("title").literal("Interlingua").key("version").literal(CLIENT_VERSION);
        json.end_object().end_object();
        end(json);
    }

    /// Confirms the handshake and opens the thread.
    fn open_thread(&mut self, out: &mut WriterOutput<'_>) {
        self.stage = Stage::Opening;
        begin_notification(false, "initialized", &mut out.json).object().end_object();
        end(&mut out.json);
        let Session {
            id,
            cwd,
            model,
            provider,
            permission_mode,
            approval_policy,
            sandbox_policy,
            effort,
            ..
        } = std::mem::take(&mut self.settings);
        let method = if id.is_some() { "thread/resume" } else { "thread/start" };
        let json = begin_request(false, &self.own.next(method), method, &mut out.json);
        json.object().opt_str("threadId", id.as_ref());
        json.opt_str("cwd", cwd.as_ref()).opt_str("model", model.as_ref());
        json.opt_str("modelProvider", provider.as_ref());
        match (&approval_policy, permission_mode.as_ref().and_then(approval_word)) {
            (_, Some(word)) => drop(json.key("approvalPolicy").literal(word)),
            (Some(policy), None) => drop(json.key("approvalPolicy").raw(policy)),
            (None, None) => {}
        }
        let mode = permission_mode.as_ref().and_then(sandbox_word);
        if let Some(word) = mode.or_else(|| sandbox_policy.as_ref().and_then(sandbox_mode)) {
            json.key("sandbox").literal(word);
        }
        if let Some(effort) = &effort {
            json.key("config").object().key("model_reasoning_effort").str(effort).end_object();
        }
        json.end_object();
        end(json);
    }

    /// Sends the next prompt, if the thread is open and idle.
    fn send_next(&mut self, out: &mut WriterOutput<'_>) {
        if self.stage != Stage::Open || self.turn != TurnState::Idle {
            return;
        }
        if let Some(parts) = self.waiting.pop_front() {
            self.turn = TurnState::Requested(false);
            self.start_turn(&parts, out);
        }
    }

    fn start_turn(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        let json = begin_request(false, &self.own.next("turn/start"), "turn/start", &mut out.json);
        json.object().key("threadId").str(&Str::escaped(&self.thread)).key("input").array();
        for part in parts {
            match part {
                Part::Text(text) => {
                    json.object().key("type").literal("text").key("text").str(text).end_object();
                }
                Part::Media(media) => {
                    json.object().key("type").literal("image");
                    let name = if matches!(media.source, MediaSource::File(_)) { "fileId" } else { "url" };
                    json.key(name).open_string();
                    for piece in address_of(media) {
                        json.piece(&piece);
                    }
                    json.close_string().opt_str("detail", media.detail.as_ref()).end_object();
                }
                Part::Summary(_)
                | Part::Json(_)
                | Part::Args(_)
                | Part::File(_)
                | Part::Citation(_)
                | Part::Refusal(_)
                | Part::Opaque(_)
                | Part::Cache(_) => {}
            }
        }
        json.end_array().end_object();
        end(json);
    }

    fn send_interrupt(&mut self, turn: &str, out: &mut WriterOutput<'_>) {
        let json = begin_request(false, &self.own.next("turn/interrupt"), "turn/interrupt", &mut out.json);
        json.object().key("threadId").str(&Str::escaped(&self.thread));
        json.key("turnId").str(&Str::escaped(turn)).end_object();
        end(json);
    }

    /// Reads the server's response to a request of ours.
    fn responded(&mut self, method: &str, outcome: Result<Val<'_>, Val<'_>>, out: &mut WriterOutput<'_>) {
        match (method, outcome) {
            ("initialize", Ok(_)) if self.stage == Stage::Initializing => self.open_thread(out),
            (_, Ok(result)) if OPENING.contains(&method) && self.stage == Stage::Opening => {
                let thread = result.get("thread").and_then(|thread| thread.get("id")?.str());
                let Some(thread) = thread else {
                    self.stage = Stage::Refused;
                    return;
                };
                thread.as_escaped().clone_into(&mut self.thread);
                self.stage = Stage::Open;
                self.send_next(out);
            }
            ("initialize", Err(_)) => self.stage = Stage::Refused,
            (_, Err(_)) if OPENING.contains(&method) => self.stage = Stage::Refused,
            ("turn/start", Ok(result)) => {
                // A turn that has started, or even ended, before the response is known already.
                let turn = result.get("turn").and_then(|turn| turn.get("id")?.str());
                if let (Some(turn), TurnState::Requested(_)) = (turn, &self.turn) {
                    self.turn_runs(turn.as_escaped(), out);
                }
            }
            ("turn/start", Err(_)) => {
                self.turn = TurnState::Idle;
                self.send_next(out);
            }
            // Any other response asks for no reply; the reader shows it.
            (_, Ok(_) | Err(_)) => {}
        }
    }

    /// The turn has an id: an interrupt that waited for the id is sent.
    fn turn_runs(&mut self, turn: &str, out: &mut WriterOutput<'_>) {
        let before = std::mem::replace(&mut self.turn, TurnState::Running(turn.to_owned()));
        if before == TurnState::Requested(true) {
            self.send_interrupt(turn, out);
        }
    }

    /// Reads a notification of the server.
    fn notified(&mut self, method: &str, params: Val<'_>, out: &mut WriterOutput<'_>) {
        let turn = params.get("turn").map_or("", |turn| turn.str_or_empty("id"));
        match method {
            "turn/started" | "turn/completed" if params.str_or_empty("threadId") != self.thread => {}
            // A turn that the server started itself, such as a compaction, runs as well.
            "turn/started" if !matches!(&self.turn, TurnState::Running(known) if known == turn) => {
                self.turn_runs(turn, out);
            }
            "turn/completed" if matches!(&self.turn, TurnState::Running(known) if known == turn) => {
                self.turn = TurnState::Idle;
                self.send_next(out);
            }
            // The server no longer waits for the answer.
            "serverRequest/resolved" => {
                if let Some(id) = params.get("requestId") {
                    self.requests.remove(id_text(id));
                }
            }
            // Any other notification asks for no reply; the reader shows it.
            _ => {}
        }
    }

    /// Reads a request of the server. A request that no event represents is refused at once.
    fn requested(&mut self, id: Val<'_>, method: &str, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let params = frame.get("params").filter(|params| params.kind() == Kind::Object);
        let asked = match (ApprovalMethod::of(method), params) {
            (Some(approval), Some(_)) => Asked::Approval(approval),
            (None, Some(params)) if method == QUESTION && questions(params).next().is_some() => {
                Asked::Question(questions(params).map(|it| it.str_or_empty("id").to_owned()).collect())
            }
            _ => {
                let why = "this client does not support the request";
                return refuse(false, &id.raw(), METHOD_NOT_FOUND, why, &mut out.json);
            }
        };
        for forgotten in self.requests.insert(id, asked) {
            refuse(false, &forgotten, DECLINED, "too many requests are open", &mut out.json);
        }
    }
}

impl AgentInput for AppServerInput {
    fn open(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        if self.stage != Stage::New {
            return out.lose_event(
                ItemKindTag::Message,
                &Event::SessionStarted(session.clone()),
                Reason::NoSlot,
            );
        }
        self.settings = settings(session, self.is_linked, out);
        self.initialize(out);
        if !self.is_linked {
            // No server answers: the requests follow each other at once.
            self.open_thread(out);
            self.stage = Stage::Open;
        }
    }

    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        for part in parts {
            lose_of_part(part, out);
        }
        if self.stage == Stage::New {
            // A client may prompt without settings.
            self.initialize(out);
            if !self.is_linked {
                self.open_thread(out);
                self.stage = Stage::Open;
            }
        }
        if self.stage == Stage::Refused {
            for part in parts {
                out.lose_part(ItemKindTag::Message, part, Reason::Refused);
            }
            return;
        }
        if !self.is_linked {
            return self.start_turn(parts, out);
        }
        self.waiting.push_back(parts.iter().cloned().map(Part::into_owned).collect());
        self.send_next(out);
    }

    fn asked(&mut self, request: &Permission<'_>, out: &mut WriterOutput<'_>) {
        out.lose_event(ItemKindTag::Message, &Event::PermissionRequested(request.clone()), Reason::NoSlot);
        if !self.is_linked
            && let Some(approval) = ApprovalMethod::of_action(request.action.as_escaped())
        {
            let id = native_id(&request.id);
            let mut buf = TapeBuf::default();
            if let Ok(tape) = buf.parse(id.as_str(), &Limits::default()) {
                self.requests.insert(tape.root(), Asked::Approval(approval));
            }
        }
    }

    fn decide(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action, call_id: _, input: _, answer, by: _ } = permission;
        let Some(answer) = answer else { return };
        let (id, approval) = match self.requests.remove(id.as_escaped()) {
            Some((id, Asked::Approval(approval))) => (id, approval),
            // No decision answers a question or an unknown request.
            other => {
                if let Some((raw, asked)) = other {
                    self.keep(&raw, asked);
                }
                let event = Event::PermissionResolved(permission.clone());
                return out.lose_event(ItemKindTag::Message, &event, Reason::NoSlot);
            }
        };
        out.lose_str(Field::PermissionAction, action, Reason::NoSlot);
        let json = begin_result(false, &id, &mut out.json).object().key("decision");
        match (answer, approval.is_old) {
            (Decision::Accept, false) => drop(json.literal("accept")),
            (Decision::AcceptForSession, false) => drop(json.literal("acceptForSession")),
            (Decision::Reject(_), false) => drop(json.literal("decline")),
            (Decision::Accept, true) => drop(json.literal("approved")),
            (Decision::AcceptForSession, true) => drop(json.literal("approved_for_session")),
            (Decision::Reject(reason), true) => {
                let none = Str::default();
                json.object().key("denied").object().key("rejection").str(reason.as_ref().unwrap_or(&none));
                json.end_object().end_object();
            }
        }
        json.end_object();
        end(json);
        if let (Decision::Reject(Some(reason)), false) = (answer, approval.is_old) {
            out.lose_str(Field::PermissionMessage, reason, Reason::NoSlot);
        }
    }

    fn answer(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        let Question { id, call_id: _, prompts: _, answers, declined } = question;
        let (id, names) = match self.requests.remove(id.as_escaped()) {
            Some((id, Asked::Question(names))) => (id, names),
            // No answers belong to an approval or an unknown request.
            other => {
                if let Some((raw, asked)) = other {
                    self.keep(&raw, asked);
                }
                let event = Event::QuestionResolved(question.clone());
                return out.lose_event(ItemKindTag::Message, &event, Reason::NoSlot);
            }
        };
        let Some(answers) = answers.as_ref().filter(|_| !declined) else {
            return refuse(false, &id, DECLINED, "the user declined to answer", &mut out.json);
        };
        for label in answers.iter().skip(names.len()).flatten() {
            out.lose_str(Field::QuestionAnswer, label, Reason::NoSlot);
        }
        let json = begin_result(false, &id, &mut out.json).object().key("answers").object();
        for (number, name) in names.iter().enumerate() {
            json.key(name).object().key("answers").array();
            for label in answers.get(number).into_iter().flatten() {
                json.str(label);
            }
            json.end_array().end_object();
        }
        json.end_object().end_object();
        end(json);
    }

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        match &mut self.turn {
            TurnState::Running(turn) => {
                let turn = std::mem::take(turn);
                self.send_interrupt(&turn, out);
                self.turn = TurnState::Running(turn);
            }
            TurnState::Requested(interrupted) => *interrupted = true,
            TurnState::Idle if !self.is_linked => self.send_interrupt("", out),
            TurnState::Idle => out.lose(Field::StopReason, Reason::NoSlot),
        }
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        match Message::of(frame) {
            Some(Message::Request { id, method }) => self.requested(id, method, frame, out),
            Some(Message::Notification { method }) => {
                if let Some(params) = frame.get("params") {
                    self.notified(method, params, out);
                }
            }
            Some(Message::Response { id, outcome }) => {
                if let Some(method) = OwnRequests::method_of(id) {
                    self.responded(method, outcome, out);
                }
            }
            None => {}
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        // A transcript has no server that answers: the requests follow each other at once.
        if self.stage == Stage::Initializing {
            self.open_thread(out);
            for parts in std::mem::take(&mut self.waiting) {
                self.start_turn(&parts, out);
            }
        }
        let mut late = out.of_earlier_frames();
        for part in self.waiting.drain(..).flatten() {
            late.lose_part(ItemKindTag::Message, &part, Reason::Refused);
        }
    }
}

impl AppServerInput {
    /// Puts back a request that the client's event does not answer.
    fn keep(&mut self, raw: &Raw<'_>, asked: Asked) {
        let mut buf = TapeBuf::default();
        if let Ok(tape) = buf.parse(raw.as_str(), &Limits::default()) {
            self.requests.insert(tape.root(), asked);
        }
    }
}

/// The settings that the server takes. A session of another agent has an id and a model that the server does not know.
fn settings(session: &Session<'_>, is_linked: bool, out: &mut WriterOutput<'_>) -> Session<'static> {
    let mut settings = session.clone().into_owned();
    if !is_linked {
        let own = [&session.id, &session.model, &session.provider, &session.effort];
        let fields = [Field::SessionId, Field::SessionModel, Field::SessionProvider, Field::SessionEffort];
        for (value, field) in own.into_iter().zip(fields) {
            out.lose_some(field, value.as_ref(), Reason::NoSlot);
        }
        settings = Session { id: None, model: None, provider: None, effort: None, ..settings };
        if let Some(policy) = settings.approval_policy.take() {
            out.lose_raw(Field::ApprovalPolicy, &policy, Reason::NoSlot);
        }
    }
    let mode = session.permission_mode.as_ref();
    let mode_approval = mode.and_then(approval_word);
    if mode.is_some() && mode_approval.is_none() && mode.and_then(sandbox_word).is_none() {
        out.lose_some(Field::PermissionMode, mode, Reason::NoSlot);
    }
    if let Some(policy) = &settings.approval_policy
        && mode_approval.is_some()
    {
        out.lose_raw(Field::ApprovalPolicy, policy, Reason::NoSlot);
    }
    if let Some(policy) = &session.sandbox_policy {
        out.lose_raw(Field::SandboxPolicy, policy, Reason::Narrowed);
    }
    settings
}

/// Books the values of a prompt that the server does not take.
fn lose_of_part(part: &Part<'_>, out: &mut WriterOutput<'_>) {
    if let Part::Media(media) = part
        && !matches!(media.source, MediaSource::Base64(_))
    {
        out.lose_some(Field::MediaType, media.media_type.as_ref(), Reason::NoSlot);
    }
}

/// The server's word for an approval policy.
fn approval_word(mode: &Str<'_>) -> Option<&'static str> {
    Some(match mode.as_escaped() {
        "untrusted" => "untrusted",
        "on-request" => "on-request",
        "never" | "danger-full-access" => "never",
        _ => return None,
    })
}

/// The sandbox of a permission mode.
fn sandbox_word(mode: &Str<'_>) -> Option<&'static str> {
    ["read-only", "workspace-write", "danger-full-access"].into_iter().find(|word| mode.is(word))
}

/// The sandbox of a policy: a word, or an object with a type.
fn sandbox_mode(policy: &Raw<'_>) -> Option<&'static str> {
    let words = [
        ("read-only", "readOnly"),
        ("workspace-write", "workspaceWrite"),
        ("danger-full-access", "dangerFullAccess"),
    ];
    let mut buf = TapeBuf::default();
    let tape = buf.parse(policy.as_str(), &Limits::default()).ok()?;
    let word = tape.root().str().or_else(|| tape.root().get("type")?.str())?;
    words.into_iter().find(|(own, typed)| word.is(own) || word.is(typed)).map(|(own, _)| own)
}

/// The id of a request from its text: the server counts its requests.
fn native_id(id: &Str<'_>) -> Raw<'static> {
    let is_number = !id.is_empty() && id.as_escaped().bytes().all(|byte| byte.is_ascii_digit());
    Raw::owned(if is_number { id.as_escaped().to_owned() } else { format!("\"{}\"", id.as_escaped()) })
}
