//! Lines to events. A `user` or `assistant` line is a message; every other line is a notice, whatever its type.

use crate::dialects::anthropic::blocks::{self, ResultDetail};
use crate::error::Code;
use crate::json::Str;
use crate::log::SessionNews;
use crate::model::{Author, Event, Field, ItemHead, ItemId, ItemKind, Notice, Origin, Session, Turn};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct ClaudeReader {
    session: SessionNews,
}

/// A line, with the members that tell what it is and where it stands.
struct ClaudeLine<'t> {
    root: Val<'t>,
    kind: Option<Val<'t>>,
    message: Option<Val<'t>>,
    id: Option<Val<'t>>,
    parent: Option<Val<'t>>,
    time: Option<Val<'t>>,
    /// `true`, if a subagent says it.
    sidechain: Option<Val<'t>>,
    /// What it repeats about the session.
    session: ToldOfSession<'t>,
    /// `true`, if a summary stands there for the conversation.
    summary: Option<Val<'t>>,
    /// `true`, if the program says it in the user's name.
    meta: Option<Val<'t>>,
    origin: Option<Val<'t>>,
    /// Details of the result in it.
    result: Option<Val<'t>>,
}

/// What a line repeats about the session.
struct ToldOfSession<'t> {
    id: Option<Val<'t>>,
    cwd: Option<Val<'t>>,
    version: Option<Val<'t>>,
    branch: Option<Val<'t>>,
    title: Option<Val<'t>>,
    mode: Option<Val<'t>>,
}

impl<'t> ClaudeLine<'t> {
    fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<16> = WantedNames::new([
            "type",
            "message",
            "uuid",
            "parentUuid",
            "timestamp",
            "isSidechain",
            "isCompactSummary",
            "isMeta",
            "origin",
            "toolUseResult",
            "sessionId",
            "cwd",
            "version",
            "gitBranch",
            "customTitle",
            "permissionMode",
        ]);
        let [kind, message, id, parent, time, sidechain, summary, meta, origin, result, session @ ..] =
            root.find(&WANTED);
        let [session_id, cwd, version, branch, title, mode] = session;
        let session = ToldOfSession { id: session_id, cwd, version, branch, title, mode };
        let is_true = |flag: &Val<'_>| flag.bool() == Some(true);
        let [sidechain, summary, meta] = [sidechain, summary, meta].map(|flag| flag.filter(is_true));
        Self { root, kind, message, id, parent, time, sidechain, session, summary, meta, origin, result }
    }
}

impl Reader for ClaudeReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let line = ClaudeLine::new(doc.root);
        let names_session = self.session(&line.session, out);
        // Nearly every line names its session; what does not may have strayed in from somewhere else.
        if !names_session && !doc.report_foreign(super::DIALECT.name, out) && line.kind.is_none() {
            out.problem(Code::UnknownShape, None, "expected a line with a `type`");
        }
        let author = match line.kind.word() {
            "user" => Author::User,
            "assistant" => Author::Assistant,
            "attachment" if queued(&line, out) => return,
            // `api-request-blob` lines have a `message` too: only the type tells.
            _ => return notice(&line, out),
        };
        match line.message {
            Some(message) if message.kind() == Kind::Object => said(&line, message, author, out),
            _ => notice(&line, out),
        }
    }
}

impl ClaudeReader {
    /// What each line repeats about the session. Returns whether it names it.
    fn session(&mut self, told: &ToldOfSession<'_>, out: &mut Events<'_>) -> bool {
        let ToldOfSession { id, cwd, version, branch, title, mode } = *told;
        // Outside a repository the branch is empty.
        let is_branch = |branch: &Str<'_>| !branch.is_empty() || self.session.known().branch.is_some();
        let told = Session {
            id: id.note_text(Field::SessionId),
            cwd: cwd.note_text(Field::SessionCwd),
            cli_version: version.note_text(Field::SessionVersion),
            branch: branch.note_text(Field::SessionBranch).filter(is_branch),
            title: title.note_text(Field::SessionTitle),
            permission_mode: mode.note_text(Field::PermissionMode),
            ..Session::default()
        };
        self.session.tell(super::DIALECT.name, told, out);
        id.is_some()
    }
}

fn said(line: &ClaudeLine<'_>, message: Val<'_>, author: Author, out: &mut Events<'_>) {
    const WANTED: WantedNames<7> =
        WantedNames::new(["role", "content", "model", "usage", "id", "stop_reason", "stop_sequence"]);
    let [role, content, model, usage, id, stop, sequence] = message.find(&WANTED);
    if let Some(kind) = line.kind {
        kind.note(Field::ItemAuthor);
        // The role repeats the type; another one would mean something we do not know.
        role.filter(|role| role.text() == kind.text()).inspect(|role| _ = role.note(Field::ItemAuthor));
    }
    let mut head = out.head(ItemKind::Message, author);
    begin(&mut head, line);
    if author == Author::User {
        head.origin = origin(line, content);
    }
    head.model = model.take_text(Field::ItemModel);
    head.shape = blocks::shape(content);
    let model = head.model.clone();
    let item = out.start(head);
    if let Some(content) = content {
        read_content(content, line, item, out);
    }
    out.complete(item);
    // One response may be spread over several lines, each with its usage so far; its id tells them apart.
    if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
        out.event(&Event::Usage(Turn {
            id: id.note_text(Field::TurnId),
            model,
            stop: stop
                .note_text(Field::StopReason)
                .map(|raw| blocks::stop(raw, sequence.note_text(Field::StopSequence))),
            usage: Some(blocks::read_usage(usage)),
            ..Turn::default()
        }));
    }
}

/// What a person typed while the agent was busy stands in no `user` line but in an attachment. Returns whether it does.
fn queued(line: &ClaudeLine<'_>, out: &mut Events<'_>) -> bool {
    let attachment = line.root.get("attachment").filter(|it| it.str_or_empty("type") == "queued_command");
    let Some(attachment) = attachment else { return false };
    let [kind, origin, prompt] = attachment.get_all(["type", "origin", "prompt"]);
    // Commands of the program itself say so.
    let origin = origin.map(|origin| origin.get("kind"));
    let human = origin.is_none_or(|origin| origin.word() == "human");
    let is_content = |prompt: &Val<'_>| matches!(prompt.kind(), Kind::String | Kind::Array);
    let Some(prompt) = prompt.filter(|prompt| human && is_content(prompt)) else { return false };
    for tag in [line.kind, kind, origin.flatten()] {
        tag.note_text(Field::ItemAuthor);
    }
    let mut head = out.head(ItemKind::Message, Author::User);
    begin(&mut head, line);
    head.origin = Some(Origin::Own);
    head.shape = blocks::shape(Some(prompt));
    let item = out.start(head);
    blocks::read_content(prompt, item, out);
    out.complete(item);
    true
}

fn notice(line: &ClaudeLine<'_>, out: &mut Events<'_>) {
    // `system` lines tell by their subtype what they are.
    let subtype =
        if line.kind.word() == "system" { line.root.note_str("subtype", Field::NoticeType) } else { None };
    let tag = if subtype.is_some() { Field::Structure } else { Field::NoticeType };
    let event_type = subtype.or(line.kind.note_text(tag));
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    begin(&mut head, line);
    let item = out.start(head);
    out.complete(item);
}

/// What every line says about its item.
fn begin<'t>(head: &mut ItemHead<'t>, line: &ClaudeLine<'t>) {
    head.native_id = line.id.take_text(Field::ItemId);
    head.parent = line.parent.take_text(Field::ItemParent);
    head.time = line.time.take_time(Field::ItemTime);
    if let Some(sidechain) = line.sidechain {
        // Older logs do not name the subagent.
        let named = line.root.note_str("agentId", Field::ItemAgent);
        head.agent = named.or_else(|| {
            sidechain.note(Field::ItemAgent);
            Some(Str::escaped("sidechain"))
        });
        head.parent_call = ["parentToolUseID", "parent_tool_use_id"]
            .into_iter()
            .find_map(|name| line.root.note_str(name, Field::ItemParentCall));
    }
}

/// Whose words a line of the user holds, where that shows: about a third of them are not the user's.
fn origin(line: &ClaudeLine<'_>, content: Option<Val<'_>>) -> Option<Origin> {
    for (mark, origin) in [(line.summary, Origin::Summary), (line.meta, Origin::Harness)] {
        if let Some(mark) = mark {
            mark.note(Field::ItemOrigin);
            return Some(origin);
        }
    }
    if let Some(kind) = line.origin.and_then(|origin| origin.note_str("kind", Field::ItemOrigin)) {
        return Some(if kind.is("human") { Origin::Own } else { Origin::Harness });
    }
    let text = content
        .and_then(|content| content.str().or_else(|| content.elements().next()?.get("text")?.str()))?;
    if COMMANDS.iter().any(|tag| text.as_escaped().starts_with(tag)) {
        return Some(Origin::Command);
    }
    // A chain of a subagent begins with the prompt that another agent wrote.
    let begins = line.parent.is_none_or(|parent| parent.is_null());
    line.sidechain.filter(|_| begins).map(|_| Origin::Agent)
}

/// What the texts of the program's own commands, and of what they printed, begin with.
const COMMANDS: &[&str] =
    &["<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>"];

/// Reads content; a result has its details beside the message.
fn read_content(content: Val<'_>, line: &ClaudeLine<'_>, message: ItemId, out: &mut Events<'_>) {
    let is_result = |block: &Val<'_>| block.str_or_empty("type") == "tool_result";
    let results = content.elements().filter(is_result).count();
    if results == 0 {
        return blocks::read_content(content, message, out);
    }
    // With several results nobody knows whose the details are.
    let beside = line.result.filter(|_| results == 1);
    for (number, block) in content.elements().enumerate() {
        if is_result(&block) {
            let duration = beside.and_then(|beside| beside.note_u64("durationMs", Field::ResultDuration));
            let detail = ResultDetail { exit_code: exit_code(block), duration };
            blocks::read_result_block(block, number as u32, message, detail, out);
        } else {
            blocks::read_block(block, number as u32, message, out);
        }
    }
}

/// What a command that failed returned: it stands before what the command printed.
fn exit_code(result: Val<'_>) -> Option<i64> {
    let failed = result.get("is_error").and_then(|is_error| is_error.bool()) == Some(true);
    let content = result.get("content").filter(|_| failed)?;
    let text = content.str().or_else(|| content.elements().next()?.get("text")?.str())?;
    let code = text.as_escaped().strip_prefix("Exit code ")?;
    code.split('\\').next()?.parse().ok()
}
