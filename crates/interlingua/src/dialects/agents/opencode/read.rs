//! Documents to events. In storage a part precedes its message, so each part becomes an item of its own with the
//! message as its parent. An export has messages with their parts.

use super::api_like;
use super::message::{Answer, MessageMembers};
use super::part::{self, PartMembers};
use super::{DIALECT, moment};
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{SessionTracker, SpelledArguments};
use crate::model::{
    Author, Event, Field, FileRef, ItemHead, ItemKind, Notice, Part, Rewind, Session, Shape, Turn,
};
use crate::pipe::{Doc, EventSink, Reader, Remembered};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct OpencodeReader {
    session: SessionTracker,
    /// Set once the session's own document was read.
    named: bool,
    /// Authors of messages, from the first part or from the message itself.
    authors: Remembered<Author>,
    /// The first reverted message, from the session's document.
    reverted: Option<String>,
    /// The last message before the first reverted message.
    last_valid: Option<Str<'static>>,
    met_reverted: bool,
    arguments: SpelledArguments,
}

/// Values that the output of a run lacks.
const UNPRINTED: &str = "messages of the user, models, sessions of subagents";

impl Reader for OpencodeReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<12> = WantedNames::new([
            "info",
            "sessionID",
            "messageID",
            "part",
            "role",
            "type",
            "error",
            "slug",
            "projectID",
            "worktree",
            "secret",
            "timestamp",
        ]);
        let root = doc.root;
        match doc.kind {
            FrameKind::Head => return self.head(root, out),
            FrameKind::Tail => return self.tail(root, out),
            _ => {}
        }
        if root.kind() == Kind::Array {
            return list(root, out);
        }
        let object = |val: Option<Val<'_>>| val.is_some_and(|val| val.kind() == Kind::Object);
        let [info, session, message, part, role, kind, error, slug, project, worktree, secret, time] =
            root.find(&WANTED);
        if let Some(info) = info.filter(|info| info.kind() == Kind::Object) {
            self.message(info, root.get("parts"), root, out);
        } else if object(part) && session.is_some() {
            self.printed(session, (part, time), out);
        } else if object(error) && session.is_some() && kind.word() == "error" {
            self.enter_printed(session, out);
            kind.note_text(Field::Structure);
            if let Some(time) = time.and_then(moment) {
                out.event(&Event::Clock(time.note(Field::EventTime)));
            }
            out.event(&Event::Error(part::failure(error)));
        } else if message.is_some() && session.is_some() && kind.is_some() {
            self.enter(session, out);
            self.part(&PartMembers::new(root), out);
        } else if role.is_some() && session.is_some() {
            self.message(root, None, root, out);
        } else if slug.is_some() || project.is_some() && root.get("directory").is_some() {
            self.enter(root.get("id"), out);
            self.facts(root, out);
            notice(Str::escaped("session"), out);
        } else if let Some(worktree) = worktree {
            self.leave_named(out);
            let repository = worktree.note_text(Field::SessionRepository);
            self.session.tell(DIALECT.name, Session { repository, ..Session::default() }, out);
            notice(Str::escaped("project"), out);
        } else if secret.is_some() && root.get("url").is_some() {
            self.share(root, out);
            notice(Str::escaped("share"), out);
        } else if api_like::is_message(root) {
            api_like::read(root, &mut self.arguments, out);
        } else {
            doc.report_foreign(DIALECT.name, out);
            let event_type = kind.filter(|kind| !kind.is("system") && !kind.is("developer"));
            let named = event_type.note_text(Field::NoticeType);
            let meta = root.get("meta").map(|_| Str::escaped("meta"));
            let mut head = notice_head(named.or(meta), out);
            // A line printed by a run.
            let time = time.filter(|_| session.is_some()).and_then(moment);
            head.time = time.map(|time| time.take(Field::ItemTime));
            let item = out.start(head);
            out.complete(item);
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.session.end(out);
    }
}

impl OpencodeReader {
    /// Enters the session of a document. A different id starts a new session.
    fn enter(&mut self, id: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some(id) = id.note_text(Field::SessionId) else { return };
        let known = self.session.known().id.as_ref();
        if known.is_some_and(|known| *known != id) {
            self.session.end(out);
            *self = Self::default();
        }
        self.session.tell(DIALECT.name, Session { id: Some(id), ..Session::default() }, out);
    }

    fn enter_printed(&mut self, session: Option<Val<'_>>, out: &mut EventSink<'_>) {
        self.enter(session, out);
        let unrecorded = Some(Str::escaped(UNPRINTED));
        self.session.tell(DIALECT.name, Session { unrecorded, ..Session::default() }, out);
    }

    /// Starts a document that names no session: it belongs to the next session if the current session's own document
    /// was read. Storage is copied in the order of writing, and a session writes its own document late.
    fn leave_named(&mut self, out: &mut EventSink<'_>) {
        if self.named {
            self.session.end(out);
            *self = Self::default();
            self.session.begin(DIALECT.name, out);
        }
    }

    /// Reads the share document of a session: its id is the end of the session's id. The secret is left unclaimed.
    fn share(&mut self, share: Val<'_>, out: &mut EventSink<'_>) {
        let known = self.session.known().id.as_ref();
        if !known.is_some_and(|known| known.as_escaped().ends_with(share.str_or_empty("id"))) {
            self.leave_named(out);
        }
    }

    /// Reads the session's own document.
    fn facts(&mut self, info: Val<'_>, out: &mut EventSink<'_>) {
        self.named = true;
        self.session.tell(DIALECT.name, session_facts(info), out);
        let [time, revert] = info.get_all(["time", "revert"]);
        if let Some(updated) = time.and_then(|time| time.get("updated")).and_then(moment) {
            self.session.updated(&updated.raw());
        }
        let reverted = revert.map(|revert| revert.str_or_empty("messageID"));
        self.reverted = reverted.filter(|id| !id.is_empty()).map(str::to_owned);
    }

    /// Reads the start of an export, or of a list of messages.
    fn head(&mut self, head: Val<'_>, out: &mut EventSink<'_>) {
        if head.kind() == Kind::Array {
            // A bare list of messages has no members around it.
            self.leave_named(out);
            head.note(Field::Padding);
            return;
        }
        let info = head.get("info").filter(|info| info.kind() == Kind::Object);
        if let Some(info) = info {
            part::report_unreadable(info, out);
            self.enter(info.get("id"), out);
            self.facts(info, out);
        } else {
            self.leave_named(out);
        }
        if let Some(project) = head.get("project") {
            let repository = project.note_str("worktree", Field::SessionRepository);
            self.session.tell(DIALECT.name, Session { repository, ..Session::default() }, out);
        }
        head.get("messages").map(|list| list.note(Field::Padding));
        let name = Str::escaped(if info.is_some() { "session" } else { "meta" });
        match head.get("diff").filter(|files| files.kind() == Kind::Array) {
            Some(files) => changes(name, files, out),
            None => notice(name, out),
        }
    }

    /// Reads the end of an export.
    fn tail(&mut self, tail: Val<'_>, out: &mut EventSink<'_>) {
        if let (true, Some(to)) = (self.met_reverted, self.last_valid.take()) {
            out.event(&Event::Rewound(Rewind { to: Some(to), turns: None }));
        }
        match tail.get("todo").filter(|todo| todo.kind() == Kind::Array) {
            Some(todo) => todos(Str::escaped("todo"), todo, out),
            // The line joins the preceding entry.
            None => _ = tail.members().next().is_none().then(|| tail.note(Field::Padding)),
        }
    }

    /// Reads a message, with its parts if the message holds them.
    fn message(&mut self, info: Val<'_>, parts: Option<Val<'_>>, doc: Val<'_>, out: &mut EventSink<'_>) {
        let message = MessageMembers::new(info);
        self.enter(message.session, out);
        let Some(author) = message.author() else {
            part::report_unreadable(info, out);
            return notice(Str::escaped("message"), out);
        };
        let id = message.id.word();
        if doc.number() == info.number() {
            // The message's parts were read earlier, with the author derived from the first part.
            if self.authors.get(id).is_some_and(|assumed| *assumed != author) {
                let detail = "parts of this message stood before it and were taken for another's";
                out.problem(Code::UnknownShape, Some("/role".to_owned()), detail);
            }
            self.authors.insert(id, author);
        }
        self.session.tell(DIALECT.name, message.session_facts(), out);
        if let Some(reverted) = &self.reverted {
            self.met_reverted |= reverted == id;
            if !self.met_reverted {
                self.last_valid = message.id.and_then(|id| id.str()).map(Str::into_owned);
            }
        }
        let by_agent = self.session.known().parent.is_some();
        message.read(author, parts, by_agent, out);
    }

    /// Reads a part that is a separate document.
    fn part(&mut self, part: &PartMembers<'_>, out: &mut EventSink<'_>) {
        let message = part.message.word();
        let author = self.authors.get(message).copied().unwrap_or_else(|| {
            let author = part.sort().first_author(part.kind.word());
            self.authors.insert(message, author);
            author
        });
        part::read_alone(part, author, None, out);
    }

    /// Reads a line printed by a run: a completed part of a response.
    fn printed(
        &mut self,
        session: Option<Val<'_>>,
        (part, time): (Option<Val<'_>>, Option<Val<'_>>),
        out: &mut EventSink<'_>,
    ) {
        let Some(part) = part else { return };
        self.enter_printed(session, out);
        let part = PartMembers::new(part);
        part::read_alone(&part, Author::Assistant, time, out);
        let tokens = part.root.get("tokens").filter(|_| part.kind.word() == "step-finish");
        if let Some(tokens) = tokens.filter(|tokens| tokens.kind() == Kind::Object) {
            let [cost, stop] = part.root.get_all(["cost", "reason"]);
            let answer = Answer { tokens, cost, stop };
            if answer.is_told() {
                let id = part.message.and_then(|message| message.str());
                out.event(&Event::Usage(Turn { id, ..answer.turn() }));
            }
        }
    }
}

/// The facts of a session in its own document.
pub(in crate::dialects::agents) fn session_facts(info: Val<'_>) -> Session<'_> {
    const WANTED: WantedNames<8> = WantedNames::new([
        "parentID",
        "directory",
        "version",
        "title",
        "time",
        "model",
        "agent",
        "permission",
    ]);
    let [parent, directory, version, title, time, model, agent, permission] = info.find(&WANTED);
    let of_model = |name, field| model.and_then(|model| model.note_str(name, field));
    let created = time.and_then(|time| time.get("created")).and_then(moment);
    Session {
        parent: parent.note_text(Field::SessionParent),
        cwd: directory.note_text(Field::SessionCwd),
        cli_version: version.note_text(Field::SessionVersion),
        title: title.note_text(Field::SessionTitle),
        start: created.map(|time| time.note(Field::SessionStart)),
        model: of_model("id", Field::SessionModel),
        provider: of_model("providerID", Field::SessionProvider),
        effort: of_model("variant", Field::SessionEffort),
        permission_mode: agent.note_text(Field::PermissionMode),
        approval_policy: permission
            .filter(|rules| rules.kind() == Kind::Array)
            .map(|rules| rules.note(Field::ApprovalPolicy)),
        ..Session::default()
    }
}

/// Reads a list document: todos, or file changes.
fn list(list: Val<'_>, out: &mut EventSink<'_>) {
    let is_diff = list.elements().next().is_some_and(|file| file.has_str("file"));
    if is_diff {
        changes(Str::escaped("session_diff"), list, out);
    } else {
        todos(Str::escaped("todo"), list, out);
    }
}

/// Emits a notice with file changes.
pub(in crate::dialects::agents) fn changes(name: Str<'_>, list: Val<'_>, out: &mut EventSink<'_>) {
    let mut head = notice_head(Some(name), out);
    head.shape = Shape::List;
    let item = out.start(head);
    for (number, file) in list.elements().enumerate() {
        let Some(path) = file.note_str("file", Field::FilePath) else { continue };
        let action = match file.str_or_empty("status") {
            "added" => "write",
            "deleted" => "delete",
            _ => "patch",
        };
        let file = FileRef { path, action: Str::escaped(action), diff: None };
        out.delta(item, number as u32, Part::File(file));
    }
    out.complete(item);
}

/// Emits a notice with todos.
pub(in crate::dialects::agents) fn todos(name: Str<'_>, list: Val<'_>, out: &mut EventSink<'_>) {
    let head = notice_head(Some(name), out);
    let item = out.start(head);
    out.delta(item, 0, Part::Json(list.note(Field::NoticeData)));
    out.complete(item);
}

fn notice_head<'t>(event_type: Option<Str<'t>>, out: &mut EventSink<'_>) -> ItemHead<'t> {
    out.head(ItemKind::Notice(Notice { event_type }), Author::System)
}

/// Emits a notice with only a name.
fn notice(name: Str<'_>, out: &mut EventSink<'_>) {
    let head = notice_head(Some(name), out);
    let item = out.start(head);
    out.complete(item);
}
