//! Bubbles to events. Each bubble is an entry: a message with its text, its thought and its call, and the result of the call
//! within the same message, because Cursor writes a call and its result as one bubble.

use super::DIALECT;
use crate::blocks::{start_call, start_reasoning};
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{SessionTracker, SpelledArguments};
use crate::model::{
    Author, Event, Field, ItemId, ItemKind, ItemTail, Notice, Part, Session, Status, ToolResult, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct CursorDbReader {
    session: SessionTracker,
    arguments: SpelledArguments,
}

impl Reader for CursorDbReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        match doc.kind {
            FrameKind::Head => {
                // A file may hold several sessions.
                self.session.end(out);
                self.session = SessionTracker::default();
                self.facts(root, out);
                root.get("bubbles").map(|list| list.note(Field::Padding));
                notice(Some(Str::escaped("session")), out);
            }
            // An empty end joins the entry before it.
            FrameKind::Tail if root.members().next().is_none() => _ = root.note(Field::Padding),
            FrameKind::Tail => {
                self.facts(root, out);
                notice(Some(Str::escaped("rows")), out);
            }
            _ => self.bubble(&doc, out),
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

impl CursorDbReader {
    /// Reads the data of the composer.
    fn facts(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<5> =
            WantedNames::new(["composerId", "name", "createdAt", "lastUpdatedAt", "modelConfig"]);
        let Some(composer) = root.get("composer").filter(|composer| composer.kind() == Kind::Object) else {
            return;
        };
        report_unreadable(composer, out);
        let [id, name, created, updated, model] = composer.find(&WANTED);
        let name = name.filter(|name| !Some(*name).word().is_empty());
        let told = Session {
            id: id.note_text(Field::SessionId),
            title: name.note_text(Field::SessionTitle),
            start: moment(created).map(|time| time.note(Field::SessionStart)),
            model: model.and_then(|model| model.note_str("modelName", Field::SessionModel)),
            ..Session::default()
        };
        self.session.tell(DIALECT.name, told, out);
        if let Some(updated) = moment(updated) {
            self.session.updated(&updated.raw());
        }
    }

    fn bubble(&mut self, doc: &Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<8> = WantedNames::new([
            "type",
            "bubbleId",
            "createdAt",
            "text",
            "thinking",
            "toolFormerData",
            "modelInfo",
            "tokenCount",
        ]);
        let root = doc.root;
        report_unreadable(root, out);
        let [kind, id, time, text, thinking, tool, model, tokens] = root.find(&WANTED);
        let author = match kind.and_then(|kind| kind.u64()) {
            Some(1) => Author::User,
            Some(2) => Author::Assistant,
            _ => {
                doc.report_foreign(DIALECT.name, out);
                return notice(Some(Str::escaped("bubble")), out);
            }
        };
        if let Some(kind) = kind {
            kind.note(Field::ItemAuthor);
        }
        let mut head = out.head(ItemKind::Message, author);
        head.native_id = id.take_text(Field::ItemId);
        head.time = moment(time).map(|time| time.take(Field::ItemTime));
        head.model = model.and_then(|model| model.take_str("modelName", Field::ItemModel));
        let model = head.model.clone();
        let item = out.start(head);
        let thought = thinking.and_then(|thinking| thinking.get("text"));
        let thought = thought.filter(|text| !Some(*text).word().is_empty());
        if let Some(text) = thought.take_text(Field::ReasoningText) {
            let thought = start_reasoning(item, out);
            out.delta(thought, 0, Part::Text(text));
            out.complete(thought);
        }
        let text = text.filter(|text| !Some(*text).word().is_empty());
        if let Some(text) = text.take_text(Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        if let Some(tool) = tool.filter(|tool| tool.has_str("name")) {
            out.within(tool, |out| self.tool(tool, item, out));
        }
        out.complete(item);
        if let Some(usage) = usage(tokens) {
            out.event(&Event::Usage(Turn { model, usage: Some(usage), ..Turn::default() }));
        }
    }

    /// Emits the call of a bubble, and its result if the bubble holds one.
    fn tool(&mut self, tool: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<7> =
            WantedNames::new(["toolCallId", "name", "rawArgs", "params", "result", "error", "status"]);
        let [id, name, raw, params, result, error, status] = tool.find(&WANTED);
        let given = [raw, params].into_iter().flatten().find(|given| is_filled(*given));
        let call_id = id.and_then(|id| id.str());
        let call = start_call(id, name, within, out);
        if let Some(given) = given {
            self.arguments.read(given, call, out);
        }
        out.complete(call);
        let word = status.word();
        let is_error = word == "error";
        let (result, error) = (result.filter(|it| is_filled(*it)), error.filter(|it| is_filled(*it)));
        let has_ended = matches!(word, "completed" | "error" | "cancelled");
        if result.is_none() && error.is_none() && !has_ended {
            return;
        }
        let kind = ItemKind::ToolResult(ToolResult { call_id, name: None });
        let mut head = out.head(kind, Author::Tool);
        head.within = Some(within);
        let item = out.start(head);
        for (number, value) in [result, error].into_iter().flatten().enumerate() {
            match value.take_text(Field::ResultText) {
                Some(text) => out.delta(item, number as u32, Part::Text(text)),
                None => out.delta(item, number as u32, Part::Json(value.note(Field::ResultJson))),
            }
        }
        let native_status = status.note_text(Field::ItemStatus);
        let is_error = native_status.is_some().then_some(is_error);
        let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
        out.end(ItemTail { native_status, is_error, ..ItemTail::new(item, status) });
    }
}

/// Whether a value is neither `null` nor an empty text.
fn is_filled(value: Val<'_>) -> bool {
    !value.is_null() && value.text() != "\"\""
}

/// A time of Cursor: milliseconds since 1970, or a date.
fn moment(time: Option<Val<'_>>) -> Option<Val<'_>> {
    let time = time?;
    let is_millis = time.u64().is_some_and(|millis| millis > 0 && millis < 253_402_300_800_000);
    (is_millis || time.is_time()).then_some(time)
}

/// The counts of a bubble. Most bubbles have zeros.
fn usage(tokens: Option<Val<'_>>) -> Option<Usage> {
    let [input, output] = tokens?.get_all(["inputTokens", "outputTokens"]);
    let count = |count: Option<Val<'_>>| count.and_then(|count| count.u64()).unwrap_or(0);
    (count(input) > 0 || count(output) > 0).then(|| Usage {
        input: input.note_count(Field::UsageInput),
        output: output.note_count(Field::UsageOutput),
        ..Usage::default()
    })
}

/// Reports a row that holds no JSON object.
fn report_unreadable(document: Val<'_>, out: &mut EventSink<'_>) {
    if document.str_or_empty("type") == "unreadable" && document.has_str("raw") {
        out.problem(Code::InvalidJson, None, "this row of the database holds no JSON object");
    }
}
