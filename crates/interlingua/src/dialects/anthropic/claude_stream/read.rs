//! Lines to events. A whole `assistant` or `user` line is one message, as in the log. With partial messages each
//! content block is a message as well: `content_block_start` starts the item, deltas extend it, and the whole line that
//! follows completes it without repeating content. Every other line is a notice, whatever its type.

use super::control::Requests;
use super::line::{ended, is_renaming, notice, parent_call, repeat_parent_call, time};
use super::partial::Streams;
use crate::blocks;
use crate::dialects::anthropic::stream::{note_stop, usage};
use crate::json::{ChangeDetector, Str};
use crate::model::{Author, Event, Field, ItemId, ItemKind, Part, Session, Status, Turn, Usage};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

pub(in crate::dialects::anthropic) struct LiveReader {
    program: &'static PrintingProgram,
    started: bool,
    session: ChangeDetector,
    cwd: ChangeDetector,
    version: ChangeDetector,
    model: ChangeDetector,
    title: ChangeDetector,
    mode: ChangeDetector,
    /// `Some` while a turn is open; `true` once the assistant has emitted a message in the turn.
    turn: Option<bool>,
    streams: Streams,
    requests: Requests,
    /// The usage of the turn's messages.
    counted: Usage,
    /// The last prompt that was not an echo.
    prompt: String,
    /// The assistant's last text, which the result repeats.
    last_text: String,
}

/// A program that prints lines of this form, and the differences between such programs.
pub(in crate::dialects::anthropic) struct PrintingProgram {
    /// The agent, and the provider of its models if the agent has a single provider.
    pub(in crate::dialects::anthropic) agent: &'static str,
    pub(in crate::dialects::anthropic) provider: Option<&'static str>,
    /// The members of the first line that hold the program's version and the permission mode.
    pub(in crate::dialects::anthropic) version: &'static str,
    pub(in crate::dialects::anthropic) mode: &'static str,
    /// Whether the whole lines of a streamed response have the id of the response.
    pub(in crate::dialects::anthropic) shares_ids: bool,
    /// Whether the usage of messages is complete, so that a result has only what no message counted.
    pub(in crate::dialects::anthropic) counts_messages: bool,
    /// Reads a content block of a whole line into its message.
    pub(in crate::dialects::anthropic) read_block: fn(Val<'_>, u32, ItemId, &mut EventSink<'_>),
    /// Reads the usage of a message or result.
    pub(in crate::dialects::anthropic) usage: fn(Val<'_>) -> Option<Usage>,
}

/// Claude Code.
pub(super) static CLAUDE: PrintingProgram = PrintingProgram {
    agent: "claude-code",
    provider: Some("anthropic"),
    version: "claude_code_version",
    mode: "permissionMode",
    shares_ids: true,
    counts_messages: false,
    read_block: blocks::read_block,
    usage,
};

impl Reader for LiveReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<3> = WantedNames::new(["type", "subtype", "session_id"]);
        let line = doc.root;
        let [kind, subtype, session] = line.find(&WANTED);
        self.session(line, subtype, session, out);
        let understood = match kind.note_text(Field::Structure).as_ref().map(Str::as_escaped) {
            Some("system") if subtype.is_some_and(|subtype| subtype.is("init")) => {
                subtype.note_text(Field::Structure);
                self.begin_turn(out);
                true
            }
            Some("assistant") => self.said(line, Author::Assistant, out),
            Some("user") => self.said(line, Author::User, out),
            Some("stream_event") => self.streamed(line, out),
            Some("result") => {
                self.result(line, out);
                true
            }
            Some("control_request") => self.requests.request(line, out),
            Some("control_response") => self.requests.response(line, out),
            Some("control_cancel_request") => self.requests.cancel(line, out),
            _ => false,
        };
        if !understood {
            notice(line, out);
        }
    }
}

impl LiveReader {
    /// A reader of the lines of a program.
    pub(in crate::dialects::anthropic) fn new(program: &'static PrintingProgram) -> Self {
        Self {
            program,
            started: false,
            session: ChangeDetector::default(),
            cwd: ChangeDetector::default(),
            version: ChangeDetector::default(),
            model: ChangeDetector::default(),
            title: ChangeDetector::default(),
            mode: ChangeDetector::default(),
            turn: None,
            streams: Streams::new(program.shares_ids),
            requests: Requests::default(),
            counted: Usage::default(),
            prompt: String::new(),
            last_text: String::new(),
        }
    }

    /// Reads the session values that lines repeat; emits them at first and on change.
    fn session<'t>(
        &mut self,
        line: Val<'t>,
        subtype: Option<Val<'t>>,
        id: Option<Val<'t>>,
        out: &mut EventSink<'_>,
    ) {
        let init = subtype.is_some_and(|subtype| subtype.is("init"));
        let told = |name, field| if init { line.note_str(name, field) } else { None };
        let id = id.and_then(|id| {
            // Lines that our writer sends to stdin have an empty id.
            let field = if id.is("") { Field::Structure } else { Field::SessionId };
            id.note_text(field).filter(|id| !id.is_empty())
        });
        let title = if is_renaming(subtype) { line.note_str("title", Field::SessionTitle) } else { None };
        let (id, title) = (self.session.changed(id), self.title.changed(title));
        // Nearly every line repeats the id and nothing else.
        if !init && id.is_none() && title.is_none() {
            return;
        }
        let session = Session {
            id,
            cwd: self.cwd.changed(told("cwd", Field::SessionCwd)),
            cli_version: self.version.changed(told(self.program.version, Field::SessionVersion)),
            model: self.model.changed(told("model", Field::SessionModel)),
            title,
            permission_mode: self.mode.changed(told(self.program.mode, Field::PermissionMode)),
            ..Session::default()
        };
        if session == Session::default() {
            return;
        }
        if std::mem::replace(&mut self.started, true) {
            out.event(&Event::SessionUpdated(session));
        } else {
            out.event(&Event::SessionStarted(Session {
                agent: Some(Str::escaped(self.program.agent)),
                provider: self.program.provider.map(Str::escaped),
                ..session
            }));
        }
    }

    fn begin_turn(&mut self, out: &mut EventSink<'_>) {
        if self.turn.is_none() {
            self.turn = Some(false);
            out.event(&Event::TurnStarted(Turn::default()));
        }
    }

    /// Reads a whole message; blocks streamed before are only completed.
    fn said(&mut self, line: Val<'_>, author: Author, out: &mut EventSink<'_>) -> bool {
        const LINE: WantedNames<4> = WantedNames::new(["message", "parent_tool_use_id", "uuid", "timestamp"]);
        const MESSAGE: WantedNames<5> = WantedNames::new(["type", "role", "content", "id", "model"]);
        let [message, parent, uuid, when] = line.find(&LINE);
        let Some(message) = message.filter(|message| message.kind() == Kind::Object) else {
            return false;
        };
        self.begin_turn(out);
        let [kind, role, content, id, model] = message.find(&MESSAGE);
        let own_role = if author == Author::User { "user" } else { "assistant" };
        for tag in [kind.filter(|kind| kind.is("message")), role.filter(|role| role.is(own_role))] {
            tag.note_text(Field::Structure);
        }
        if author == Author::User {
            if self.is_echo(line, content) {
                return true;
            }
            self.requests.settle(line, content, out);
        } else {
            self.turn = Some(true);
            self.remember_text(content);
        }
        let known_id = id.and_then(|id| id.str());
        let under = parent.and_then(|parent| parent.str()).unwrap_or_default();
        let mut item = None;
        let start = |out: &mut EventSink<'_>| {
            let mut head = out.head(ItemKind::Message, author);
            head.native_id = uuid.take_text(Field::ItemId);
            head.parent_call = parent_call(parent);
            head.time = when.and_then(time);
            head.model = model.take_text(Field::ItemModel);
            head.shape = blocks::shape(content);
            out.start(head)
        };
        for (number, block) in content.into_iter().flat_map(|content| content.elements()).enumerate() {
            if let Some((under, known)) = self.streams.said_before(known_id.as_ref(), &under, block) {
                id.note_text(if self.program.shares_ids { Field::Structure } else { Field::Padding });
                repeat_parent_call(parent, under);
                let aborted = known.open && line.take_bool("aborted", Field::ItemStatus) == Some(true);
                known.repeat(block, if aborted { Status::Interrupted } else { Status::Completed }, out);
            } else {
                let item = *item.get_or_insert_with(|| start(out));
                out.within(block, |out| (self.program.read_block)(block, number as u32, item, out));
            }
        }
        if let Some(content) = content.filter(|content| content.kind() != Kind::Array) {
            let item = *item.get_or_insert_with(|| start(out));
            blocks::read_content(content, item, out);
        }
        if let Some(item) = item {
            out.complete(item);
        }
        if let Some(usage) = (self.program.usage)(message) {
            self.counted = self.counted.and(&usage);
            // The message item holds the time and the model; without an item, the turn does.
            if item.is_none() {
                model.note_text(Field::TurnModel);
                when.note_text(Field::TurnTime);
            }
            out.event(&Event::Usage(Turn {
                id: id.note_text(Field::TurnId),
                model: model.and_then(|model| model.str()),
                time: when.filter(|when| when.str().is_some()).map(|when| when.raw()),
                stop: note_stop(message),
                usage: Some(usage),
                ..Turn::default()
            }));
        } else if let Some(reason) = message.get("stop_reason").filter(Val::is_null) {
            reason.note(Field::Structure);
        }
        true
    }

    /// Reads one event of the Messages API. Returns whether the event is known.
    fn streamed(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(event) = line.get("event") else { return false };
        match event.str_or_empty("type") {
            "message_start" if event.get("message").is_some() => self.begin_turn(out),
            "content_block_start" => self.turn = Some(true),
            _ => {}
        }
        self.streams.event(line, event, out)
    }

    /// Stores the assistant's last text, if the content has a text.
    fn remember_text(&mut self, content: Option<Val<'_>>) {
        let blocks = content.into_iter().flat_map(|content| content.elements());
        let text = blocks.filter_map(|block| block.get("text")?.str()).last();
        if let Some(text) = text.or_else(|| content?.str()) {
            self.last_text.clear();
            self.last_text.push_str(text.as_escaped());
        }
    }

    /// Whether the line repeats an earlier prompt (`--replay-user-messages` in a two-way transcript).
    fn is_echo(&mut self, line: Val<'_>, content: Option<Val<'_>>) -> bool {
        let text = content.and_then(|content| match content.kind() {
            Kind::String => Some(content),
            _ => content.elements().next()?.get("text").filter(|text| text.str().is_some()),
        });
        let Some((place, text)) = text.and_then(|text| Some((text, text.str()?))) else { return false };
        if line.get("isReplay").and_then(|replay| replay.bool()) == Some(true) {
            let echo = self.prompt == text.as_escaped();
            self.prompt.clear();
            if echo {
                line.note_raw("isReplay", Field::Structure);
                place.note(Field::MessageText);
            }
            return echo;
        }
        self.prompt.clear();
        self.prompt.push_str(text.as_escaped());
        false
    }

    fn result(&mut self, line: Val<'_>, out: &mut EventSink<'_>) {
        self.begin_turn(out);
        self.streams.end(out);
        let result = line.get("result").filter(|result| result.str().is_some());
        let text = result.and_then(|result| result.str());
        // `--output-format json` prints only the result, so only then the text has not been emitted.
        if let (Some(false), Some(result), Some(text)) = (self.turn, result, &text)
            && !text.is_empty()
        {
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            head.native_id = line.take_str("uuid", Field::ItemId);
            let item = out.start(head);
            result.note(Field::MessageText);
            out.delta(item, 0, Part::Text(text.reborrow()));
            out.complete(item);
        } else if let (Some(result), Some(text)) = (result, &text)
            && text.as_escaped() == self.last_text
            // In a failure the result is the error message.
            && line.get("is_error").and_then(|failed| failed.bool()) != Some(true)
        {
            result.note(Field::MessageText);
        }
        let stop = ended(line, result, out);
        let counted = std::mem::take(&mut self.counted);
        let total = (self.program.usage)(line);
        let rest =
            |total: Usage| if self.program.counts_messages { total.increase_over(&counted) } else { total };
        out.event(&Event::TurnEnded(Turn {
            stop: Some(stop),
            usage: total.map(rest),
            cost: line
                .get("total_cost_usd")
                .filter(|cost| cost.kind() == Kind::Number)
                .map(|cost| cost.take(Field::Cost)),
            ..Turn::default()
        }));
        self.turn = None;
        self.last_text.clear();
    }
}
