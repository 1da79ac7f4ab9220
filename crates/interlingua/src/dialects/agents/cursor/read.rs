//! Lines to events. A line with a `role` is a message; its calls have no ids, and the log holds no results. A line that
//! ends a turn is an event, and any other line is a notice.

use super::stamp;
use crate::blocks::{is_content, shape_by, start_call, start_reasoning};
use crate::json::{Raw, Str};
use crate::log::{SessionTracker, words_of_unknown};
use crate::model::{
    Args, Author, Event, Field, ItemId, ItemKind, Notice, Origin, Part, Session, Stop, StopClass, Turn,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// Values that Cursor's transcripts do not hold.
const UNRECORDED: &str = "results of tools, ids of calls, models, usage, times of answers, ids of messages";

#[derive(Default)]
pub(super) struct CursorReader {
    session: SessionTracker,
}

impl Reader for CursorReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> = WantedNames::new(["role", "message", "type", "status"]);
        let [role, message, kind, status] = doc.root.find(&WANTED);
        if role.is_none() && kind.is_none() {
            doc.report_foreign(super::DIALECT.name, out);
        }
        let unrecorded = Some(Str::escaped(UNRECORDED));
        self.session.tell(super::DIALECT.name, Session { unrecorded, ..Session::default() }, out);
        let content = message.and_then(|message| message.get("content")).filter(is_content);
        match (role.word(), content) {
            ("user", Some(content)) => said(role, content, Author::User, out),
            ("assistant", Some(content)) => said(role, content, Author::Assistant, out),
            _ if kind.word() == "turn_ended" && turn_ended(doc.root, kind, status, out) => {}
            _ => notice(doc.root, kind.or(role), out),
        }
    }
}

/// Reads the end of a turn; returns `false` for an unknown status.
fn turn_ended(
    line: Val<'_>,
    kind: Option<Val<'_>>,
    status: Option<Val<'_>>,
    out: &mut EventSink<'_>,
) -> bool {
    let error = line.get("error").filter(|error| error.kind() == Kind::String);
    let class = match status.word() {
        "success" => StopClass::End,
        "aborted" | "cancelled" => StopClass::Cancelled,
        "error" if error.word().contains("abort") => StopClass::Cancelled,
        "error" => StopClass::Error,
        _ => return false,
    };
    kind.note_text(Field::Structure);
    let word = status.note_text(Field::StopReason);
    let raw = error.note_text(Field::StopReason).or(word);
    let stop = Some(Stop { class, raw, sequence: None, detail: None });
    out.event(&Event::TurnEnded(Turn { stop, ..Turn::default() }));
    true
}

fn notice(line: Val<'_>, word: Option<Val<'_>>, out: &mut EventSink<'_>) {
    // A notice named after an author would be read as a message of that author.
    let word = word.filter(|word| !word.is("system") && !word.is("developer"));
    let event_type = word.note_text(Field::NoticeType);
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    if let Some(words) = words_of_unknown(line) {
        out.delta(item, 0, Part::Text(words));
    }
    out.complete(item);
}

fn said(role: Option<Val<'_>>, content: Val<'_>, author: Author, out: &mut EventSink<'_>) {
    role.note_text(Field::ItemAuthor);
    let mut head = out.head(ItemKind::Message, author);
    if author == Author::User {
        head.origin = origin(content);
        head.time = texts(content).find_map(stamp::time_in).map(Raw::owned);
    }
    head.shape = shape_by(Some(content), |block| block.has_str("text"));
    let item = out.start(head);
    if let Some(text) = content.take_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    for (number, block) in content.elements().enumerate() {
        let kind = block.get("type");
        match kind.word() {
            "tool_use" if block.has_str("name") => {
                kind.note_text(Field::Structure);
                out.within(block, |out| call(block, item, out));
            }
            // Not yet seen in transcripts; logs of several agents have this block.
            "thinking" if block.has_str("thinking") => {
                kind.note_text(Field::Structure);
                let thought = start_reasoning(item, out);
                if let Some(text) = block.take_str("thinking", Field::ReasoningText) {
                    out.delta(thought, 0, Part::Text(text));
                }
                out.complete(thought);
            }
            // Read the text of any block type; other unknown blocks are left unclaimed.
            word => {
                if word == "text" && block.has_str("text") {
                    kind.note_text(Field::Structure);
                }
                if let Some(text) = block.take_str("text", Field::MessageText) {
                    out.within(block, |out| out.delta(item, number as u32, Part::Text(text)));
                }
            }
        }
    }
    out.complete(item);
}

fn call(block: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    let item = start_call(block.get("id"), block.get("name"), within, out);
    if let Some(input) = block.get("input").filter(|input| !input.is_null()) {
        let args = match input.take_text(Field::CallArgs) {
            Some(text) => Args::Text(text),
            None => Args::Json(input.take(Field::CallArgs)),
        };
        out.delta(item, 0, Part::Args(args));
    }
    out.complete(item);
}

/// The origin of a user message: Cursor puts typed text between one pair of tags and its own text between others. Text
/// without tags may have either origin.
fn origin(content: Val<'_>) -> Option<Origin> {
    if texts(content).any(|text| text.contains("<user_query>")) {
        return Some(Origin::Own);
    }
    let mut texts = texts(content).peekable();
    texts.peek()?;
    texts.all(is_tagged).then_some(Origin::Harness)
}

/// Whether a (still escaped) text starts with a tag of Cursor.
fn is_tagged(text: &str) -> bool {
    let rest = text.trim_start_matches("\\n").trim_start().strip_prefix('<');
    let name = rest.and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
    name.is_some_and(|name| {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        !name.is_empty() && name.bytes().all(is_letter) && text.contains(&format!("</{name}>"))
    })
}

/// The texts of a message, still escaped.
fn texts(content: Val<'_>) -> impl Iterator<Item = &str> + use<'_> {
    let one = (content.kind() == Kind::String).then_some(content);
    let blocks = content.elements().filter(|block| block.str_or_empty("type") == "text");
    let all = one.into_iter().chain(blocks.filter_map(|block| block.get("text")));
    all.map(|text| Some(text).word())
}
