//! Events of the server to events of the model. The server sends the events of all its sessions: one session with the
//! sessions of its subagents is read, and the events of other sessions are notices.

use super::AGENT;
use super::http;
use super::message::Messages;
use super::requests::Requests;
use crate::dialects::agents::opencode::part::failure;
use crate::dialects::agents::opencode::read::{changes, session_facts, todos};
use crate::json::Str;
use crate::log::{SessionTracker, words_of_unknown};
use crate::model::{
    Author, Event, Field, FileRef, ItemHead, ItemId, ItemKind, Notice, Part, Session, Stop, StopClass, Turn,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct EventsReader {
    session: SessionTracker,
    /// The id of the session that is read.
    root: String,
    /// A response to the client named the session, so no other session replaces it.
    is_ours: bool,
    /// Whether the id of the session was emitted, which every event repeats.
    is_named: bool,
    turn: OpenTurn,
    subagents: Subagents,
    messages: Messages,
    requests: Requests,
}

/// The turn, as far as it decides the next events.
#[derive(Default)]
struct OpenTurn {
    is_open: bool,
    /// The stop reason so far, with OpenCode's word.
    stop: Option<(StopClass, String)>,
    /// The last failure: a session and its message report the same failure.
    failure: String,
}

/// The sessions of subagents.
#[derive(Default)]
pub(super) struct Subagents {
    sessions: Remembered<()>,
    /// The call that started each session.
    calls: Remembered<String>,
}

impl Subagents {
    /// Remembers the call that started a session: the call's part names the session. Returns whether the call is news.
    pub(super) fn started_by(&mut self, session: &str, call: &str) -> bool {
        let is_news = self.calls.get(session).is_none_or(|known| known != call);
        if is_news {
            self.calls.insert(session, call.to_owned());
        }
        is_news
    }

    /// Whether the session is one of a subagent.
    pub(super) fn has(&self, session: &str) -> bool {
        self.sessions.get(session).is_some()
    }

    fn call_of(&self, session: &str) -> Option<&str> {
        self.calls.get(session).map(String::as_str)
    }
}

/// The session that an event belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose<'t> {
    /// The session that is read.
    Main,
    /// The session of a subagent, with the id of that session.
    Subagent(&'t str),
    /// The server itself, or a session that is not read.
    Other,
}

impl<'t> Whose<'t> {
    /// Marks an item of a subagent.
    pub(super) fn mark(self, head: &mut ItemHead<'t>, subagents: &'t Subagents) {
        if let Whose::Subagent(session) = self {
            head.agent = Some(Str::escaped(session));
            head.parent_call = subagents.call_of(session).map(Str::escaped);
        }
    }
}

impl Reader for EventsReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<6> =
            WantedNames::new(["type", "properties", "request", "status", "method", "path"]);
        let root = doc.root;
        let [kind, properties, request, status, method, path] = root.find(&WANTED);
        let is_text = |member: Option<Val<'_>>| member.is_some_and(|member| member.kind() == Kind::String);
        if is_text(request) && status.is_some_and(|status| status.u64().is_some()) {
            return self.response(root, out);
        }
        if is_text(method) && is_text(path) {
            return http::read_request(doc, out);
        }
        self.event(root, kind, properties, out);
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        let Self { messages, subagents, .. } = self;
        out.of_no_frame(|out| messages.give_up_waiting(subagents, out));
    }
}

impl EventsReader {
    /// Reads one event of the server.
    fn event(
        &mut self,
        event: Val<'_>,
        tag: Option<Val<'_>>,
        properties: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) {
        let Some(properties) = properties.filter(|properties| properties.kind() == Kind::Object) else {
            return notice(event, Whose::Other, &self.subagents, out);
        };
        let kind = tag.word();
        if matches!(kind, "session.created" | "session.updated") {
            return self.facts(event, properties, out);
        }
        if kind == "server.heartbeat" && properties.members().next().is_none() {
            // A heartbeat only keeps the connection open.
            tag.note_text(Field::Structure);
            return;
        }
        let whose = self.whose(properties, out);
        if whose == Whose::Other {
            return about_server(event, kind, properties, &self.subagents, out);
        }
        let understood = match kind {
            "message.updated" => self.message(properties, whose, out),
            "message.part.updated" => self.messages.part(event, properties, whose, &mut self.subagents, out),
            "message.part.delta" => self.messages.piece(event, properties, out),
            "session.status" => self.status(properties, whose, out),
            "session.idle" => self.idle(whose, out),
            "session.error" => self.failed(properties, whose, out),
            "permission.asked" => self.requests.permission(properties, out),
            "permission.replied" => self.requests.decided(properties, out),
            "question.asked" => self.requests.question(properties, out),
            "question.replied" | "question.rejected" => self.requests.answered(properties, out),
            "todo.updated" => {
                let list = properties.get("todos").filter(|todos| todos.kind() == Kind::Array);
                list.map(|list| todos(Str::escaped("todo.updated"), list, out)).is_some()
            }
            "session.diff" => {
                let files = properties.get("diff").filter(|files| files.kind() == Kind::Array);
                if let Some(files) = files.filter(|files| files.elements().next().is_some()) {
                    changes(Str::escaped("session.diff"), files, out);
                }
                files.is_some()
            }
            _ => false,
        };
        if understood {
            tag.note_text(Field::Structure);
        } else {
            notice(event, whose, &self.subagents, out);
        }
    }

    /// The session of an event. The first session that an event names is read.
    fn whose<'t>(&mut self, properties: Val<'t>, out: &mut EventSink<'_>) -> Whose<'t> {
        let Some(session) = properties.get("sessionID").filter(|id| id.str().is_some()) else {
            // A failure may name no session: it then belongs to the running turn.
            let is_ours = self.turn.is_open && properties.get("error").is_some();
            return if is_ours { Whose::Main } else { Whose::Other };
        };
        let id = Some(session).word();
        if self.root.is_empty() {
            id.clone_into(&mut self.root);
        }
        if id == self.root {
            let id = session.note_text(Field::SessionId);
            if !std::mem::replace(&mut self.is_named, true) {
                self.session.tell(AGENT, Session { id, ..Session::default() }, out);
            }
            Whose::Main
        } else if self.subagents.has(id) {
            session.note(Field::ItemAgent);
            Whose::Subagent(id)
        } else {
            Whose::Other
        }
    }

    /// Reads the facts of a session.
    fn facts(&mut self, event: Val<'_>, properties: Val<'_>, out: &mut EventSink<'_>) {
        let Some(info) = properties.get("info").filter(|info| info.has_str("id")) else {
            return notice(event, Whose::Other, &self.subagents, out);
        };
        let (id, parent) = (info.str_or_empty("id"), info.str_or_empty("parentID"));
        let is_known = |id: &str| id == self.root || self.subagents.has(id);
        if !is_known(id) && !parent.is_empty() && is_known(parent) {
            self.subagents.sessions.insert(id, ());
        }
        let is_new = event.str_or_empty("type") == "session.created";
        if id != self.root && parent.is_empty() && (self.root.is_empty() || is_new && !self.is_busy()) {
            self.begin(id, out);
        }
        if id == self.root {
            event.note_str("type", Field::Structure);
            self.tell(info, out);
        } else {
            let is_subagent = self.subagents.has(id);
            let whose = if is_subagent { Whose::Subagent(id) } else { Whose::Other };
            if is_subagent {
                info.note_str("id", Field::ItemAgent);
            }
            notice(event, whose, &self.subagents, out);
        }
    }

    fn tell(&mut self, info: Val<'_>, out: &mut EventSink<'_>) {
        let id = info.note_str("id", Field::SessionId);
        self.session.tell(AGENT, Session { id, ..session_facts(info) }, out);
    }

    /// Whether no other session may replace the session that is read.
    fn is_busy(&self) -> bool {
        self.is_ours || self.turn.is_open
    }

    /// Begins another session.
    fn begin(&mut self, id: &str, out: &mut EventSink<'_>) {
        self.messages.close_all(out);
        *self = Self { root: id.to_owned(), ..Self::default() };
    }

    fn begin_turn(&mut self, out: &mut EventSink<'_>) {
        if !std::mem::replace(&mut self.turn.is_open, true) {
            (self.turn.stop, self.turn.failure) = (None, String::new());
            out.event(&Event::TurnStarted(Turn::default()));
        }
    }

    fn message(&mut self, properties: Val<'_>, whose: Whose<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(info) = properties.get("info").filter(|info| info.has_str("id")) else { return false };
        let is_prompt =
            info.str_or_empty("role") == "user" && !self.messages.is_known(info.str_or_empty("id"));
        if whose == Whose::Main && is_prompt {
            self.begin_turn(out);
        }
        let Self { session, messages, subagents, .. } = self;
        let Some(facts) = messages.updated(info, whose, subagents, out) else { return false };
        if whose == Whose::Main {
            session.tell(AGENT, facts, out);
            if let Some(error) = info.get("error").filter(|error| error.kind() == Kind::Object) {
                self.fail(error, out);
            } else if let Some(finish) = info.get("finish").and_then(|finish| finish.str()) {
                self.turn.stop = Some((http::stop_class(&finish), finish.as_escaped().to_owned()));
            }
        }
        messages_waiting(&mut self.messages, info, &mut self.subagents, out);
        true
    }

    fn status(&mut self, properties: Val<'_>, whose: Whose<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(status) = properties.get("status") else { return false };
        match (whose, status.str_or_empty("type")) {
            (Whose::Main, "busy") => {
                self.begin_turn(out);
                self.messages.close_prompts(out);
            }
            (Whose::Main, "idle") => {
                let ends_turn = self.turn.is_open;
                status.note_str("type", if ends_turn { Field::StopReason } else { Field::Structure });
                return self.idle(whose, out);
            }
            // A retry has a text for people.
            _ => return false,
        }
        status.note_str("type", Field::Structure);
        true
    }

    /// Ends the turn. The server reports the end of a turn twice, and after a failure four times.
    fn idle(&mut self, whose: Whose<'_>, out: &mut EventSink<'_>) -> bool {
        if whose != Whose::Main {
            return false;
        }
        if std::mem::take(&mut self.turn.is_open) {
            self.messages.close_prompts(out);
            self.requests.withdraw(out);
            let stop = self.turn.stop.as_ref();
            let stop = stop.map(|(class, raw)| Stop {
                class: *class,
                raw: Some(Str::escaped(raw)),
                sequence: None,
                detail: None,
            });
            out.event(&Event::TurnEnded(Turn { stop, ..Turn::default() }));
        }
        true
    }

    fn failed(&mut self, properties: Val<'_>, whose: Whose<'_>, out: &mut EventSink<'_>) -> bool {
        let error = properties.get("error").filter(|error| error.kind() == Kind::Object);
        match (whose, error) {
            (Whose::Main, Some(error)) => self.fail(error, out),
            // The failure of a subagent is the result of its call.
            (Whose::Subagent(_) | Whose::Other, _) | (_, None) => return false,
        }
        true
    }

    /// Reads a failure of the turn. An abort is no failure: the user requested it.
    fn fail(&mut self, error: Val<'_>, out: &mut EventSink<'_>) {
        let name = error.str_or_empty("name");
        if name == "MessageAbortedError" {
            error.note_str("name", Field::StopReason);
            self.turn.stop = Some((StopClass::Cancelled, name.to_owned()));
        } else if self.turn.failure != error.text() {
            error.text().clone_into(&mut self.turn.failure);
            self.turn.stop = Some((StopClass::Error, name.to_owned()));
            out.event(&Event::Error(failure(Some(error))));
        }
    }

    /// Reads the response to a request of the client.
    fn response(&mut self, response: Val<'_>, out: &mut EventSink<'_>) {
        let status = response.get("status").and_then(|status| status.u64()).unwrap_or_default();
        let body = response.get("body").filter(|body| body.kind() == Kind::Object);
        if let Some(info) = body.filter(|info| http::names_session(response, *info)) {
            let id = info.str_or_empty("id");
            if id != self.root {
                self.begin(id, out);
            }
            self.is_ours = true;
            self.tell(info, out);
        } else if (400..600).contains(&status) {
            out.event(&Event::Error(http::refusal(response, body)));
        } else {
            let event_type = response.note_str("request", Field::NoticeType);
            let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
            let item = out.start(head);
            out.complete(item);
        }
    }
}

/// Reads the parts that came before their message.
fn messages_waiting(
    messages: &mut Messages,
    info: Val<'_>,
    subagents: &mut Subagents,
    out: &mut EventSink<'_>,
) {
    if messages.has_waiting() {
        out.of_no_frame(|out| messages.read_waiting(info.str_or_empty("id"), subagents, out));
    }
}

/// Emits a notice for an event of the server itself, or of a session that is not read.
fn about_server(
    event: Val<'_>,
    kind: &str,
    properties: Val<'_>,
    subagents: &Subagents,
    out: &mut EventSink<'_>,
) {
    let file = properties.get("file").filter(|file| file.str().is_some());
    let Some(file) = file.filter(|_| kind == "file.edited") else {
        return notice(event, Whose::Other, subagents, out);
    };
    let item = start_notice(event, Whose::Other, subagents, out);
    if let Some(path) = file.take_text(Field::FilePath) {
        out.delta(item, 0, Part::File(FileRef { path, action: Str::escaped("patch"), diff: None }));
    }
    out.complete(item);
}

/// Emits a notice with the event's single text for people.
pub(super) fn notice(event: Val<'_>, whose: Whose<'_>, subagents: &Subagents, out: &mut EventSink<'_>) {
    let item = start_notice(event, whose, subagents, out);
    let properties = event.get("properties").filter(|_| whose != Whose::Other);
    let status = properties.and_then(|properties| properties.get("status"));
    let failure = properties.and_then(|properties| properties.get("error")?.get("data"));
    let text = [status, failure, properties].into_iter().flatten().find_map(words_of_unknown);
    if let Some(text) = text {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

fn start_notice<'t>(
    event: Val<'t>,
    whose: Whose<'t>,
    subagents: &'t Subagents,
    out: &mut EventSink<'_>,
) -> ItemId {
    let event_type = event.note_str("type", Field::NoticeType);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = event.take_str("id", Field::ItemId);
    whose.mark(&mut head, subagents);
    out.start(head)
}
