//! Messages to events. The results of a response are a row of their own: a message of the user with the results within it, as
//! models get them.

use super::DIALECT;
use super::parts::{is_part, read_part};
use crate::blocks::shape_by;
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{SessionTracker, SpelledArguments};
use crate::model::{
    Author, Event, Failure, FailureClass, Field, FileRef, ItemKind, Notice, Origin, Part, Session, Shape,
    Stop, StopClass, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct CrushReader {
    session: SessionTracker,
    arguments: SpelledArguments,
}

impl Reader for CrushReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        match doc.kind {
            FrameKind::Head => {
                // A file may hold several sessions.
                self.session.end(out);
                self.session = SessionTracker::default();
                self.facts(root, out);
                root.get("rows").map(|list| list.note(Field::Padding));
            }
            // An empty end joins the entry before it.
            FrameKind::Tail if root.members().next().is_none() => _ = root.note(Field::Padding),
            FrameKind::Tail => files(root, out),
            _ => self.message(&doc, out),
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.session.end(out);
    }
}

fn notice(event_type: Option<Str<'_>>, out: &mut EventSink<'_>) {
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    out.complete(item);
}

/// Emits the files of a session: the versions that Crush keeps of changed files, and the files that were read.
fn files(root: Val<'_>, out: &mut EventSink<'_>) {
    let head = out.head(ItemKind::Notice(Notice { event_type: Some(Str::escaped("files")) }), Author::System);
    let item = out.start(crate::model::ItemHead { shape: Shape::List, ..head });
    let list = |name: &str| root.get(name).into_iter().flat_map(|list| list.elements());
    let changed = list("files").map(|file| {
        // The first version is the content before the first change.
        let version = file.get("version").filter(|version| version.u64().is_some_and(|version| version > 0));
        (file, version.map(|version| version.note(Field::FileAction)).is_some())
    });
    let read = list("read_files").map(|file| (file, false));
    for (number, (file, is_written)) in changed.chain(read).enumerate() {
        let Some(path) = file.note_str("path", Field::FilePath) else { continue };
        let action = Str::escaped(if is_written { "write" } else { "read" });
        out.delta(item, number as u32, Part::File(FileRef { path, action, diff: None }));
    }
    out.complete(item);
}

impl CrushReader {
    /// Reads the row of the session.
    fn facts(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<7> = WantedNames::new([
            "id",
            "title",
            "folder",
            "parent_session_id",
            "parent_call",
            "created_at",
            "updated_at",
        ]);
        let Some(session) = root.get("crush").filter(|session| session.kind() == Kind::Object) else {
            return;
        };
        let [id, title, folder, parent, parent_call, created, updated] = session.find(&WANTED);
        let title = title.filter(|title| !Some(*title).word().is_empty());
        let told = Session {
            id: id.note_text(Field::SessionId),
            title: title.note_text(Field::SessionTitle),
            cwd: folder.note_text(Field::SessionCwd),
            parent: parent.note_text(Field::SessionParent),
            parent_call: parent_call.note_text(Field::SessionParentCall),
            start: moment(created).map(|time| time.note(Field::SessionStart)),
            ..Session::default()
        };
        if told == Session::default() {
            self.session.begin(DIALECT.name, out);
        } else {
            self.session.tell(DIALECT.name, told, out);
        }
        if let Some(updated) = moment(updated) {
            self.session.updated(&updated.raw());
        }
        notice(Some(Str::escaped("session")), out);
        spent(session, out);
    }

    fn message(&mut self, doc: &Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<7> = WantedNames::new([
            "id",
            "role",
            "parts",
            "model",
            "provider",
            "created_at",
            "is_summary_message",
        ]);
        let row = doc.root;
        let [id, role, parts, model, provider, time, summary] = row.find(&WANTED);
        let author = match role.word() {
            "user" | "tool" => Some(Author::User),
            "assistant" => Some(Author::Assistant),
            "system" => Some(Author::System),
            _ => None,
        };
        let list = parts.filter(|parts| parts.kind() == Kind::Array);
        if parts.is_some() && list.is_none() {
            let detail = "the parts of this row are no JSON list";
            out.problem(Code::InvalidJson, Some("/parts".to_owned()), detail);
        }
        let (Some(author), Some(list)) = (author, list) else {
            if author.is_none() {
                doc.report_foreign(DIALECT.name, out);
            }
            return notice(Some(Str::escaped("message")), out);
        };
        role.map(|role| role.note(Field::ItemAuthor));
        // A model does not answer in the name of a user.
        let of_model = |name: &Val<'_>| author == Author::Assistant && !Some(*name).word().is_empty();
        let provider = provider.filter(of_model).note_text(Field::SessionProvider);
        self.session.tell(DIALECT.name, Session { provider, ..Session::default() }, out);
        // Crush sends the summary in the name of the user, and no message before it.
        let summary = summary.filter(|flag| flag.u64().is_some_and(|flag| flag > 0));
        let mut head = out.head(ItemKind::Message, if summary.is_some() { Author::User } else { author });
        head.native_id = id.take_text(Field::ItemId);
        head.time = moment(time).map(|time| time.take(Field::ItemTime));
        head.model = model.filter(of_model).take_text(Field::ItemModel);
        head.origin = match summary {
            Some(flag) => {
                flag.note(Field::ItemOrigin);
                Some(Origin::Summary)
            }
            None => self.origin(role.word(), list),
        };
        head.shape = shape_by(Some(list), is_part);
        // Each response of a model is a row.
        let response = Turn { id: head.native_id.clone(), model: head.model.clone(), ..Turn::default() };
        let item = out.start(head);
        let mut number = 0;
        for part in list.elements() {
            out.within(part, |out| read_part(part, &mut number, item, &mut self.arguments, out));
        }
        out.complete(item);
        if author == Author::Assistant {
            for finish in list.elements().filter(|part| part.str_or_empty("type") == "finish") {
                finished(finish, &response, out);
            }
        }
    }

    /// The origin of a prompt: Crush itself wrote a hidden text, and the calling agent the prompt of its subagent.
    fn origin(&self, role: &str, parts: Val<'_>) -> Option<Origin> {
        if role != "user" {
            return None;
        }
        let hidden = parts
            .elements()
            .find_map(|part| part.get("data")?.get("hidden").filter(|hidden| hidden.bool() == Some(true)));
        if let Some(hidden) = hidden {
            hidden.note(Field::ItemOrigin);
            return Some(Origin::Harness);
        }
        if parts.elements().any(|part| part.str_or_empty("type") == "shell_command") {
            return Some(Origin::Command);
        }
        self.session.known().parent.is_some().then_some(Origin::Agent)
    }
}

/// Emits the counts of a session. Crush adds up the cost and overwrites the tokens with each response.
fn spent(session: Val<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<3> = WantedNames::new(["prompt_tokens", "completion_tokens", "cost"]);
    let [input, output, cost] = session.find(&WANTED);
    let is_spent = |count: &Val<'_>| {
        count.kind() == Kind::Number && count.text().bytes().any(|byte| (b'1'..=b'9').contains(&byte))
    };
    let (input, output, cost) = (input.filter(is_spent), output.filter(is_spent), cost.filter(is_spent));
    if input.is_none() && output.is_none() && cost.is_none() {
        return;
    }
    if input.is_some() || output.is_some() {
        out.note("Crush keeps the numbers of tokens of the last response: a session has no sum");
    }
    let usage = Usage {
        input: input.note_count(Field::UsageInput),
        output: output.note_count(Field::UsageOutput),
        ..Usage::default()
    };
    let usage = (usage != Usage::default()).then_some(usage);
    out.event(&Event::Usage(Turn {
        usage,
        cost: cost.map(|cost| cost.note(Field::Cost)),
        ..Turn::default()
    }));
}

/// Emits the reason why a response ended, and its error.
fn finished(part: Val<'_>, response: &Turn<'_>, out: &mut EventSink<'_>) {
    let Some(finish) = part.get("data").filter(|data| data.has_str("reason")) else { return };
    part.note_str("type", Field::Structure);
    let class = match finish.str_or_empty("reason") {
        "end_turn" | "stop" => StopClass::End,
        "max_tokens" => StopClass::MaxTokens,
        "tool_use" => StopClass::ToolUse,
        "canceled" => StopClass::Cancelled,
        "error" => StopClass::Error,
        "content_filter" => StopClass::Filter,
        _ => StopClass::Other,
    };
    let raw = finish.note_str("reason", Field::StopReason);
    let stop = Some(Stop { class, raw, sequence: None, detail: None });
    out.event(&Event::Usage(Turn { stop, ..response.clone() }));
    let filled = |name: &str| finish.get(name).filter(|text| !Some(*text).word().is_empty());
    let (message, details) = (filled("message"), filled("details"));
    if class != StopClass::Error || (message.is_none() && details.is_none()) {
        return;
    }
    // The message is a heading, and the details are the error.
    let (code, message) = if details.is_some() { (message, details) } else { (None, message) };
    out.event(&Event::Error(Failure {
        class: FailureClass::Other,
        status: None,
        code: code.note_text(Field::ErrorCode),
        message: message.note_text(Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }));
}

/// A time of Crush: seconds since 1970, or milliseconds in some versions.
fn moment(time: Option<Val<'_>>) -> Option<Val<'_>> {
    time.filter(|time| time.u64().is_some_and(|time| time > 0 && time < 253_402_300_800_000))
}
