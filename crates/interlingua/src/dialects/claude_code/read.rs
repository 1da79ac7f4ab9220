//! Lines to events. A `user` or `assistant` line is a message; every other line is a notice, whatever its type.

use crate::dialects::anthropic::blocks;
use crate::error::Code;
use crate::model::{Author, Event, ItemKind, Notice, Session, Turn};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Kind, Val};
use crate::text::{Known, Str};

#[derive(Default)]
pub(super) struct ClaudeReader {
    started: bool,
    session: Known,
    cwd: Known,
    version: Known,
    branch: Known,
    title: Known,
}

impl Reader for ClaudeReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        let line = doc.root;
        self.session(line, out);
        let kind = line.note_str("type");
        // Nearly every line names its session; what does not may have strayed in from somewhere else.
        if line.get("sessionId").is_none() && !doc.report_foreign(super::DIALECT.name, out) && kind.is_none()
        {
            out.problem(Code::UnknownShape, None, "expected a line with a `type`");
        }
        let author = match kind.as_ref().map(Str::as_escaped) {
            Some("user") => Author::User,
            Some("assistant") => Author::Assistant,
            // `api-request-blob` lines have a `message` too: only the type tells.
            _ => return notice(line, kind, out),
        };
        match line.get("message") {
            Some(message) if message.kind() == Kind::Object => said(line, message, author, out),
            _ => notice(line, kind, out),
        }
    }
}

impl ClaudeReader {
    /// What each line repeats about the session, said once and whenever it changes.
    fn session(&mut self, line: Val<'_>, out: &mut Sink<'_>) {
        let session = Session {
            id: self.session.news(line.note_str("sessionId")),
            cwd: self.cwd.news(line.note_str("cwd")),
            cli_version: self.version.news(line.note_str("version")),
            branch: self.branch.news(line.note_str("gitBranch")),
            title: self.title.news(line.note_str("customTitle")),
            ..Session::default()
        };
        if session == Session::default() {
            return;
        }
        if self.started {
            out.event(&Event::SessionUpdated(session));
        } else {
            self.started = true;
            out.event(&Event::SessionStarted(Session {
                agent: Some("claude-code"),
                provider: Some(Str::escaped("anthropic")),
                ..session
            }));
        }
    }
}

fn said(line: Val<'_>, message: Val<'_>, author: Author, out: &mut Sink<'_>) {
    message.note_str("role");
    let content = message.get("content");
    let mut head = out.head(ItemKind::Message, author);
    head.native_id = line.take_str("uuid");
    head.parent = line.take_str("parentUuid");
    head.time = line.get("timestamp").and_then(|time| time.take_time());
    head.model = message.take_str("model");
    head.shape = blocks::shape(content);
    let model = head.model.clone();
    let item = out.start(head);
    if let Some(content) = content {
        blocks::read_content(content, item, out);
    }
    out.complete(item);
    // One response may be spread over several lines, each with its usage so far; its id tells them apart.
    if let Some(usage) = message.get("usage").filter(|usage| usage.kind() == Kind::Object) {
        out.event(&Event::Usage(Turn {
            id: message.note_str("id"),
            model,
            stop: message
                .note_str("stop_reason")
                .map(|raw| blocks::stop(raw, message.note_str("stop_sequence"))),
            usage: Some(blocks::read_usage(usage)),
            ..Turn::default()
        }));
    }
}

fn notice<'t>(line: Val<'t>, kind: Option<Str<'t>>, out: &mut Sink<'_>) {
    // `system` lines tell by their subtype what they are.
    let subtype = line.note_str("subtype").filter(|_| kind.as_ref().is_some_and(|kind| kind.is("system")));
    let event_type = subtype.or(kind);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.native_id = line.take_str("uuid");
    head.parent = line.take_str("parentUuid");
    head.time = line.get("timestamp").and_then(|time| time.take_time());
    let item = out.start(head);
    out.complete(item);
}
