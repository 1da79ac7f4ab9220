//! Events to HTTP requests, one JSON object a line: `method`, `path` and `body`. The client's transport sends them to the
//! server, and inserts the responses that open a session into the server's events.

use std::collections::VecDeque;

use super::http::{encode, names_session};
use crate::json::{JsonWriter, Str};
use crate::ledger::Reason;
use crate::live::input::AgentInput;
use crate::model::{
    Decision, Event, Field, ItemKindTag, Media, MediaSource, Part, Permission, Question, Session,
};
use crate::pipe::{Remembered, WriterOutput};
use crate::tape::{Kind, Val};

/// The state of the requests to a server.
#[derive(Default)]
pub(super) struct HttpInput {
    session: SessionState,
    /// The session to resume.
    resumed: Option<String>,
    settings: Settings,
    /// Prompts and interrupts until the session is open, in order.
    waiting: VecDeque<Waiting>,
    /// The server's open requests.
    asked: Remembered<Asked>,
    /// An agent is connected: only requests that it made are answered.
    is_linked: bool,
}

#[derive(Default)]
enum SessionState {
    /// No request for a session was sent, or the server refused it.
    #[default]
    Closed,
    /// The server has not answered.
    Opening,
    /// The session's id, as a segment of a path.
    Open(String),
}

/// The settings that each prompt repeats.
#[derive(Default)]
struct Settings {
    /// The query of each path, or an empty text.
    query: String,
    title: Option<Str<'static>>,
    /// The provider and its model.
    model: Option<(Str<'static>, Str<'static>)>,
    /// OpenCode's agent, such as `build` or `plan`.
    agent: Option<Str<'static>>,
    variant: Option<Str<'static>>,
    /// Settings that no request has said yet: only prompts say them.
    unsaid: Vec<(Field, u64)>,
}

enum Waiting {
    Prompt(Vec<Part<'static>>),
    Interrupt,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Permission,
    Question,
}

/// The place of the session's id in a path, for a client that fills it in.
const UNKNOWN_SESSION: &str = "{sessionID}";

impl AgentInput for HttpInput {
    fn open(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        self.settings = Settings::of(session, out);
        match &session.id {
            Some(id) if id.as_escaped().starts_with("ses") => self.resumed = Some(encode(&id.decode())),
            id => out.lose_some(Field::SessionId, id.as_ref(), Reason::NoSlot),
        }
        // A request that was sent before the facts of the session arrived has no title.
        let is_named = self.resumed.is_some() || !matches!(self.session, SessionState::Closed);
        self.settings.defer(is_named, session, out);
        self.ask_for_session(out);
    }

    fn update(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        out.lose_event(ItemKindTag::Message, &Event::SessionUpdated(session.clone()), Reason::NoSlot);
    }

    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        let parts: Vec<_> = parts.iter().filter(|part| holds(part, out)).collect();
        match &self.session {
            SessionState::Open(id) => self.settings.prompt(id, parts, &mut out.json),
            SessionState::Closed | SessionState::Opening => {
                let parts = parts.into_iter().map(|part| part.clone().into_owned()).collect();
                self.waiting.push_back(Waiting::Prompt(parts));
                self.ask_for_session(out);
            }
        }
    }

    fn asked(&mut self, request: &Permission<'_>, out: &mut WriterOutput<'_>) {
        self.asked.insert(request.id.as_escaped(), Asked::Permission);
        out.lose_event(ItemKindTag::Message, &Event::PermissionRequested(request.clone()), Reason::NoSlot);
    }

    fn decide(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action: _, call_id: _, input: _, answer, by: _ } = permission;
        let (reply, message) = match answer {
            Some(Decision::Accept) => ("once", None),
            Some(Decision::AcceptForSession) => ("always", None),
            Some(Decision::Reject(message)) => ("reject", message.as_ref()),
            None => ("", None),
        };
        if reply.is_empty() || !self.may_answer(id, Asked::Permission) {
            let event = Event::PermissionResolved(permission.clone());
            return out.lose_event(ItemKindTag::Message, &event, Reason::NoSlot);
        }
        let path = format!("/permission/{}/reply{}", encode(&id.decode()), self.settings.query);
        let json = begin("POST", &path, &mut out.json);
        json.key("body").object().key("reply").literal(reply).opt_str("message", message).end_object();
        end(json);
    }

    fn answer(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        let Question { id, call_id: _, prompts: _, answers, declined } = question;
        if !self.may_answer(id, Asked::Question) {
            let event = Event::QuestionResolved(question.clone());
            return out.lose_event(ItemKindTag::Message, &event, Reason::NoSlot);
        }
        let answers = answers.as_ref().filter(|_| !declined);
        let word = if answers.is_some() { "reply" } else { "reject" };
        let path = format!("/question/{}/{word}{}", encode(&id.decode()), self.settings.query);
        if answers.is_none() {
            for label in question.answers.iter().flatten().flatten() {
                out.lose_str(Field::QuestionAnswer, label, Reason::NoSlot);
            }
        }
        let json = begin("POST", &path, &mut out.json);
        if let Some(answers) = answers {
            json.key("body").object().key("answers").array();
            for chosen in answers {
                json.array();
                for label in chosen {
                    json.str(label);
                }
                json.end_array();
            }
            json.end_array().end_object();
        }
        end(json);
    }

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        match &self.session {
            SessionState::Open(id) => self.settings.interrupt(id, &mut out.json),
            SessionState::Opening => self.waiting.push_back(Waiting::Interrupt),
            // Without a session there is no turn.
            SessionState::Closed => out.lose(Field::StopReason, Reason::NoSlot),
        }
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        self.is_linked = true;
        let properties = frame.get("properties").filter(|properties| properties.kind() == Kind::Object);
        let named = |name| properties.map(|properties| properties.str_or_empty(name)).unwrap_or_default();
        match frame.str_or_empty("type") {
            "permission.asked" if !named("id").is_empty() => {
                self.asked.insert(named("id"), Asked::Permission);
            }
            "question.asked" if !named("id").is_empty() => {
                self.asked.insert(named("id"), Asked::Question);
            }
            "permission.replied" | "question.replied" | "question.rejected" => {
                self.asked.remove(named("requestID"));
            }
            _ if frame.has_str("request") => self.responded(frame, out),
            _ => {}
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        let id = self.resumed.clone().unwrap_or_else(|| UNKNOWN_SESSION.to_owned());
        self.send_waiting(&id, out);
        for (field, bytes) in std::mem::take(&mut self.settings.unsaid) {
            out.ledger.lose_late(field, Reason::NoSlot, 1, bytes);
        }
    }
}

impl HttpInput {
    /// Sends the request for the session, unless it was sent.
    fn ask_for_session(&mut self, out: &mut WriterOutput<'_>) {
        if !matches!(self.session, SessionState::Closed) {
            return;
        }
        self.session = SessionState::Opening;
        let Settings { query, title, model, agent, variant, unsaid: _ } = &self.settings;
        if let Some(id) = &self.resumed {
            end(begin("GET", &format!("/session/{id}{query}"), &mut out.json));
        } else {
            let json = begin("POST", &format!("/session{query}"), &mut out.json);
            json.key("body").object().opt_str("title", title.as_ref()).opt_str("agent", agent.as_ref());
            if let Some((provider, model)) = model {
                json.key("model").object().key("id").str(model).key("providerID").str(provider);
                json.opt_str("variant", variant.as_ref()).end_object();
            }
            json.end_object();
            end(json);
        }
    }

    /// Reads the response to the request for the session.
    fn responded(&mut self, response: Val<'_>, out: &mut WriterOutput<'_>) {
        if !matches!(self.session, SessionState::Opening) {
            return;
        }
        let body = response.get("body").filter(|body| body.kind() == Kind::Object);
        let status = response.get("status").and_then(|status| status.u64()).unwrap_or_default();
        if let Some(id) =
            body.filter(|body| names_session(response, *body)).and_then(|body| body.get("id")?.str())
        {
            let id = encode(&id.decode());
            self.send_waiting(&id, out);
            self.session = SessionState::Open(id);
        } else if status >= 400 {
            // The reader emits the failure; the next prompt asks again.
            self.session = SessionState::Closed;
        }
    }

    fn send_waiting(&mut self, id: &str, out: &mut WriterOutput<'_>) {
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Prompt(parts) => self.settings.prompt(id, parts.iter().collect(), &mut out.json),
                Waiting::Interrupt => self.settings.interrupt(id, &mut out.json),
            }
        }
    }

    /// Whether a request may be answered: it is open, and of that sort.
    fn may_answer(&mut self, id: &Str<'_>, sort: Asked) -> bool {
        match self.asked.get(id.as_escaped()) {
            Some(asked) if *asked == sort => self.asked.remove(id.as_escaped()).is_some(),
            Some(_) => false,
            None => !self.is_linked,
        }
    }
}

impl Settings {
    fn of(session: &Session<'_>, out: &mut WriterOutput<'_>) -> Self {
        let query = session.cwd.as_ref().map(|cwd| format!("?directory={}", encode(&cwd.decode())));
        let owned = |text: &Option<Str<'_>>| text.clone().map(Str::into_owned);
        let model = session.model.as_ref().and_then(|model| {
            if let Some(provider) = &session.provider {
                return Some((provider.clone().into_owned(), model.clone().into_owned()));
            }
            // OpenCode's own form of a model has the provider before a slash.
            let (provider, name) = model.as_escaped().split_once('/')?;
            Some((Str::from_escaped(provider.to_owned()), Str::from_escaped(name.to_owned())))
        });
        if model.is_none() {
            out.lose_some(Field::SessionModel, session.model.as_ref(), Reason::NoSlot);
            out.lose_some(Field::SessionProvider, session.provider.as_ref(), Reason::NoSlot);
        }
        Self {
            query: query.unwrap_or_default(),
            title: owned(&session.title),
            model,
            agent: owned(&session.permission_mode),
            variant: owned(&session.effort),
            unsaid: Vec::new(),
        }
    }

    /// Remembers the settings that the request for the session does not say. A session that has its name
    /// already, because it is resumed or asked for, keeps its title.
    fn defer(&mut self, is_named: bool, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        if is_named {
            out.lose_some(Field::SessionTitle, session.title.as_ref(), Reason::NoSlot);
        }
        let (provider, model) = self.model.as_ref().map(|(provider, model)| (provider, model)).unzip();
        let deferred = [
            (Field::SessionModel, model.filter(|_| is_named)),
            (Field::SessionProvider, provider.filter(|_| is_named && session.provider.is_some())),
            (Field::PermissionMode, self.agent.as_ref().filter(|_| is_named)),
            (Field::SessionEffort, self.variant.as_ref().filter(|_| is_named || self.model.is_none())),
        ];
        let said =
            deferred.into_iter().filter_map(|(field, text)| Some((field, text?.as_escaped().len() as u64)));
        self.unsaid = said.collect();
    }

    fn prompt(&mut self, id: &str, parts: Vec<&Part<'_>>, json: &mut JsonWriter<'_>) {
        if parts.is_empty() {
            return;
        }
        self.unsaid.clear();
        let json = begin("POST", &format!("/session/{id}/prompt_async{}", self.query), json);
        json.key("body").object();
        if let Some((provider, model)) = &self.model {
            json.key("model").object().key("providerID").str(provider).key("modelID").str(model).end_object();
        }
        json.opt_str("agent", self.agent.as_ref()).opt_str("variant", self.variant.as_ref());
        json.key("parts").array();
        for part in parts {
            if let Part::Text(text) = part {
                json.object().key("type").literal("text").key("text").str(text).end_object();
            } else if let Part::Media(media) = part {
                put_media(media, json);
            }
        }
        json.end_array().end_object();
        end(json);
    }

    fn interrupt(&self, id: &str, json: &mut JsonWriter<'_>) {
        end(begin("POST", &format!("/session/{id}/abort{}", self.query), json));
    }
}

/// Whether a prompt can hold the part; if not, books the part as lost.
fn holds(part: &Part<'_>, out: &mut WriterOutput<'_>) -> bool {
    let has_url = match part {
        Part::Media(media) => !matches!(media.source, MediaSource::File(_)),
        _ => true,
    };
    if !has_url {
        out.lose_part(ItemKindTag::Message, part, Reason::NoSlot);
    }
    has_url
}

/// Writes a file part: a file's content is a data URL.
fn put_media(media: &Media<'_>, json: &mut JsonWriter<'_>) {
    let Media { media_type, source, name, .. } = media;
    let fallback = Str::escaped(match source {
        MediaSource::Text(_) => "text/plain",
        _ => "application/octet-stream",
    });
    let mime = media_type.as_ref().unwrap_or(&fallback);
    json.object().key("type").literal("file").key("mime").str(mime).key("url");
    match source {
        MediaSource::Base64(data) => {
            json.open_string().piece(&Str::escaped("data:")).piece(mime).piece(&Str::escaped(";base64,"));
            json.piece(data).close_string();
        }
        MediaSource::Text(text) => {
            let data = crate::json::base64(text.decode().as_bytes());
            json.open_string().piece(&Str::escaped("data:")).piece(mime).piece(&Str::escaped(";base64,"));
            json.piece(&Str::escaped(&data)).close_string();
        }
        MediaSource::Url(url) | MediaSource::File(url) => _ = json.str(url),
    }
    json.opt_str("filename", name.as_ref()).end_object();
}

/// Writes the head of a request.
fn begin<'j, 'o>(method: &str, path: &str, json: &'j mut JsonWriter<'o>) -> &'j mut JsonWriter<'o> {
    json.begin_frame("").object().key("method").literal(method).key("path").plain(path)
}

fn end(json: &mut JsonWriter<'_>) {
    json.end_object().end_frame("\n");
}
