//! Events to the input of an agent: the handshake, prompts, the interrupt, and answers to the agent's requests.
//!
//! A prompt waits until the agent has opened the session and has answered the prompt before it. Every request of the
//! agent is either answered by the client or refused at once.

use std::collections::VecDeque;

use super::answers::{PermissionOptions, Waiting};
use super::content::{holds, put_media, put_text, unsaid_name};
use super::opening::OptionValues;
use super::{DIALECT, VERSION, code, method};
use crate::dialects::Options;
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::live::input::AgentInput;
use crate::live::json_rpc::{
    METHOD_NOT_FOUND, Message, OpenRequests, OwnRequests, begin_notification, begin_request, end, id_text,
    refuse,
};
use crate::model::{Event, Field, ItemKindTag, Part, Permission, Question, Session};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Val};

/// The input of an agent.
pub(super) struct AcpInput {
    /// Whether a running agent receives the bytes. A conversion waits for no response.
    is_linked: bool,
    phase: Phase,
    /// The client's settings.
    settings: Session<'static>,
    /// The id of the open session.
    session: Str<'static>,
    own: OwnRequests,
    requests: OpenRequests<Waiting>,
    /// Prompts that were not sent yet.
    prompts: VecDeque<Vec<Part<'static>>>,
    /// The id of the running prompt's request.
    running: Option<String>,
    /// The client interrupted a prompt that was not sent yet.
    cancels_next: bool,
}

/// The state of the connection.
enum Phase {
    Closed,
    /// The agent has not answered the request with this id: `initialize`.
    Starting(String),
    /// The agent has not answered the request with this id, which opens the session.
    Opening(String),
    /// The agent has not answered the requests with these ids, which set the mode and the model.
    Setting(Vec<String>),
    Ready,
}

impl AcpInput {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            is_linked: options.source == Some(DIALECT.name),
            phase: Phase::Closed,
            settings: Session::default(),
            session: Str::default(),
            own: OwnRequests::default(),
            requests: OpenRequests::default(),
            prompts: VecDeque::new(),
            running: None,
            cancels_next: false,
        }
    }

    /// Sends `initialize`.
    fn start(&mut self, json: &mut JsonWriter<'_>) {
        let id = self.own.next(method::INITIALIZE);
        let params = begin_request(true, &id, method::INITIALIZE, json).object();
        params.key("protocolVersion").u64(VERSION);
        params.with_value(
            r#""clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"elicitation":{"form":{},"url":{}}}"#,
        );
        params.key("clientInfo").object().key("name").literal("interlingua");
        params.key("version").literal(env!("CARGO_PKG_VERSION")).end_object().end_object();
        end(json);
        self.phase = Phase::Starting(id);
    }

    /// Opens a new session, or the session that the client named. An agent that cannot resume a session gets the request
    /// all the same: its error tells the client.
    fn open_session(&mut self, can_resume: bool, json: &mut JsonWriter<'_>) {
        let method = match &self.settings.id {
            None => method::NEW,
            Some(_) if can_resume => method::RESUME,
            Some(_) => method::LOAD,
        };
        let id = self.own.next(method);
        let params = begin_request(true, &id, method, json).object();
        params.opt_str("sessionId", self.settings.id.as_ref());
        // Without a directory, the agent's own directory counts.
        params.key("cwd").str(self.settings.cwd.as_ref().unwrap_or(&Str::escaped(".")));
        params.with_value(r#""mcpServers":[]"#).end_object();
        end(json);
        self.phase = Phase::Opening(id);
    }

    /// Sets the mode, the model and the effort that the client asked for. An agent without such an option gets the request
    /// all the same: its error tells the client.
    fn set_up(&mut self, opened: Val<'_>, json: &mut JsonWriter<'_>) {
        let options = opened.get("configOptions");
        let has = |list: &str| opened.has_kind(list, Kind::Object);
        let values = OptionValues::of(options);
        let current = |list: &str, member| opened.get(list).and_then(|list| list.get(member));
        let mut ids = Vec::new();
        let AcpInput { settings, session, own, .. } = self;
        let mut set = |method: &str, names: &[(&str, &Str<'_>)]| {
            let id = own.next(method);
            let params = begin_request(true, &id, method, json).object().key("sessionId").str(session);
            for (name, value) in names {
                params.key(name).str(value);
            }
            params.end_object();
            end(json);
            ids.push(id);
        };
        let is = |value: Option<Val<'_>>, wanted: &Str<'_>| {
            value.and_then(|value| value.str()).is_some_and(|it| it == *wanted)
        };
        if let Some(mode) = &settings.permission_mode {
            let known = current("modes", "currentModeId").or(values.mode);
            match option_id(options, "mode") {
                _ if is(known, mode) => {}
                Some(option) if !has("modes") => {
                    set(method::SET_OPTION, &[("configId", &option), ("value", mode)]);
                }
                _ => set(method::SET_MODE, &[("modeId", mode)]),
            }
        }
        if let Some(model) = &settings.model {
            let known = current("models", "currentModelId").or(values.model);
            match option_id(options, "model") {
                _ if is(known, model) => {}
                None if has("models") => set(method::SET_MODEL, &[("modelId", model)]),
                option => {
                    let option = option.unwrap_or(Str::escaped("model"));
                    set(method::SET_OPTION, &[("configId", &option), ("value", model)]);
                }
            }
        }
        if let Some(effort) = settings.effort.as_ref().filter(|effort| !is(values.effort, effort)) {
            let option = option_id(options, "thought_level").unwrap_or(Str::escaped("thought_level"));
            set(method::SET_OPTION, &[("configId", &option), ("value", effort)]);
        }
        self.phase = if ids.is_empty() { Phase::Ready } else { Phase::Setting(ids) };
    }

    /// Sends the next prompt, if the agent is ready.
    fn next_prompt(&mut self, json: &mut JsonWriter<'_>) {
        if !matches!(self.phase, Phase::Ready) || self.running.is_some() {
            return;
        }
        let Some(parts) = self.prompts.pop_front() else { return };
        let id = self.own.next(method::PROMPT);
        put_prompt(&id, &self.session, &parts, json);
        self.running = Some(id);
        if std::mem::take(&mut self.cancels_next) {
            put_cancel(&self.session, json);
        }
    }

    /// Reads a response to one of our requests. A response that does not belong to an open request changes nothing.
    fn answered(&mut self, id: Val<'_>, outcome: Result<Val<'_>, Val<'_>>, json: &mut JsonWriter<'_>) {
        let id = if id.kind() == Kind::String { id_text(id) } else { return };
        match &mut self.phase {
            Phase::Starting(own) | Phase::Opening(own) if own == id && outcome.is_err() => {
                // The next prompt tries again.
                self.phase = Phase::Closed;
            }
            Phase::Starting(own) if own == id => {
                let resume = outcome.ok().and_then(|result| {
                    result.get("agentCapabilities")?.get("sessionCapabilities")?.get("resume")
                });
                self.open_session(resume.is_some_and(|resume| !resume.is_null()), json);
            }
            Phase::Opening(own) if own == id => {
                let Ok(result) = outcome else { return };
                let named = result.get("sessionId").and_then(|id| id.str()).map(Str::into_owned);
                self.session = named.or_else(|| self.settings.id.clone()).unwrap_or_default();
                self.set_up(result, json);
            }
            Phase::Setting(ids) => {
                ids.retain(|own| own != id);
                if ids.is_empty() {
                    self.phase = Phase::Ready;
                }
            }
            Phase::Closed | Phase::Starting(_) | Phase::Opening(_) | Phase::Ready => {}
        }
        if self.running.as_deref() == Some(id) {
            self.running = None;
        }
        self.next_prompt(json);
    }

    /// Reads a request of the agent: remembers it until the client answers, or refuses it.
    fn requested(&mut self, id: Val<'_>, method: &str, params: Option<Val<'_>>, json: &mut JsonWriter<'_>) {
        let waiting = match (method, params) {
            (method::PERMISSION, Some(params)) => Waiting::of_permission(params),
            (method::ELICITATION, Some(params)) => Waiting::of_elicitation(params),
            (method::PERMISSION | method::ELICITATION, None) => None,
            _ => {
                return refuse(
                    true,
                    &id.raw(),
                    METHOD_NOT_FOUND,
                    "this client does not have the method",
                    json,
                );
            }
        };
        let Some(waiting) = waiting else {
            return refuse(true, &id.raw(), code::INVALID_PARAMS, "no answer can be selected", json);
        };
        for forgotten in self.requests.insert(id, waiting) {
            // A second request with the same id is the same request.
            if forgotten.as_str() != id.text() {
                refuse(true, &forgotten, code::CANCELLED, "too many requests wait for an answer", json);
            }
        }
    }
}

impl AgentInput for AcpInput {
    fn open(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        self.settings = session.clone().into_owned();
        self.start(&mut out.json);
        if !self.is_linked {
            self.open_session(false, &mut out.json);
            self.session = self.settings.id.clone().unwrap_or_default();
            self.phase = Phase::Ready;
        }
    }

    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        for part in parts {
            match part {
                Part::Media(media) if holds(media) => {
                    out.lose_some(Field::MediaName, unsaid_name(media), Reason::NoSlot);
                }
                Part::Media(_) => out.lose_part(ItemKindTag::Message, part, Reason::NoSlot),
                // The prompt has all of its texts, and no other part.
                _ => {}
            }
        }
        if matches!(self.phase, Phase::Closed) {
            self.open(&self.settings.clone(), out);
        }
        if self.is_linked {
            self.prompts.push_back(parts.iter().cloned().map(Part::into_owned).collect());
            self.next_prompt(&mut out.json);
        } else {
            let id = self.own.next(method::PROMPT);
            put_prompt(&id, &self.session, parts, &mut out.json);
        }
    }

    fn asked(&mut self, request: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action: _, call_id: _, input, answer: _, by: _ } = request;
        out.lose_str(Field::PermissionId, id, Reason::NoSlot);
        if let Some(input) = input {
            out.lose_raw(Field::PermissionInput, input, Reason::NoSlot);
        }
        for field in [Field::PermissionAction, Field::PermissionAnswer, Field::PermissionMessage] {
            out.lose(field, Reason::NoSlot);
        }
    }

    fn decide(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action: _, call_id: _, input: _, answer, by: _ } = permission;
        let Some(decision) = answer else { return };
        match self.requests.remove(id.as_escaped()) {
            Some((own, waiting)) => waiting.decide(&own, decision, &mut out.json),
            // The request of a conversion is ours: its options are named by their kinds.
            None if !self.is_linked => {
                let own = quoted(id);
                Waiting::Permission(PermissionOptions::ours()).decide(&own, decision, &mut out.json);
            }
            None => {
                out.lose_event(
                    ItemKindTag::Message,
                    &Event::PermissionResolved(permission.clone()),
                    Reason::NoSlot,
                );
            }
        }
    }

    fn answer(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        let Question { id, call_id: _, prompts: _, answers, declined } = question;
        let answers = answers.as_deref().filter(|_| !declined);
        match self.requests.remove(id.as_escaped()) {
            Some((own, waiting)) => waiting.answer(&own, answers, &mut out.json),
            None => {
                out.lose_event(
                    ItemKindTag::Message,
                    &Event::QuestionResolved(question.clone()),
                    Reason::NoSlot,
                );
            }
        }
    }

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        if self.running.is_some() || !self.is_linked {
            put_cancel(&self.session, &mut out.json);
            // The protocol demands an answer to each open request.
            for (id, waiting) in self.requests.take_all() {
                waiting.cancel(&id, &mut out.json);
            }
        } else {
            self.cancels_next = !self.prompts.is_empty();
        }
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let params = frame.get("params").filter(|params| params.kind() == Kind::Object);
        match Message::of(frame) {
            Some(Message::Request { id, method }) => self.requested(id, method, params, &mut out.json),
            Some(Message::Response { id, outcome }) => self.answered(id, outcome, &mut out.json),
            Some(Message::Notification { method: method::CANCEL_REQUEST }) => {
                let id = params.and_then(|params| params.get("requestId"));
                if let Some((own, _)) = id.and_then(|id| self.requests.remove(id_text(id))) {
                    refuse(true, &own, code::CANCELLED, "the request was withdrawn", &mut out.json);
                }
            }
            // Updates need no reply, and a line that is no message of JSON-RPC cannot be answered.
            Some(Message::Notification { .. }) | None => {}
        }
    }
}

/// The id of the option with this category.
fn option_id(options: Option<Val<'_>>, category: &str) -> Option<Str<'static>> {
    let mut options = options.into_iter().flat_map(|options| options.elements());
    let option = options.find(|option| option.str_or_empty("category") == category)?;
    Some(option.get("id")?.str()?.into_owned())
}

/// The text as a JSON string.
fn quoted(text: &Str<'_>) -> Raw<'static> {
    Raw::owned(format!("\"{}\"", text.as_escaped()))
}

fn put_prompt(id: &str, session: &Str<'_>, parts: &[Part<'_>], json: &mut JsonWriter<'_>) {
    let params = begin_request(true, id, method::PROMPT, json).object();
    params.key("sessionId").str(session).key("prompt").array();
    for part in parts {
        match part {
            Part::Text(text) => put_text(text, params),
            Part::Media(media) if holds(media) => put_media(media, params),
            // A prompt holds texts and media; the loss of other media is booked.
            Part::Media(_)
            | Part::Summary(_)
            | Part::Json(_)
            | Part::Args(_)
            | Part::File(_)
            | Part::Citation(_)
            | Part::Refusal(_)
            | Part::Opaque(_)
            | Part::Cache(_) => {}
        }
    }
    params.end_array().end_object();
    end(json);
}

fn put_cancel(session: &Str<'_>, json: &mut JsonWriter<'_>) {
    begin_notification(true, method::CANCEL, json).object().key("sessionId").str(session).end_object();
    end(json);
}
