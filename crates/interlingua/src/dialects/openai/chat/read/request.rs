//! Reads requests: the settings, then every message. [`MessageReader`] reads the assistant's messages, as in a
//! response.

use super::super::{ERROR_MARK, Flavour, OK_MARK, ROLES, settings, strip_mark};
use super::content::{MARKS, read_content, shape};
use super::message::MessageReader;
use crate::error::Code;
use crate::json::Str;
use crate::model::{
    Author, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Part, Status, ToolResult,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Member, Val, WantedNames};
use crate::wire::note_blanks;
use crate::wire::settings::PART_MARK;

pub(in super::super) struct ChatRequestReader(pub(in super::super) &'static Flavour);

impl Reader for ChatRequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        out.event(&Event::Request(Box::new(settings::read(root, self.0))));
        let Some(messages) = root.get("messages") else {
            return out.problem(Code::UnknownShape, None, "a request has `messages`");
        };
        let mut reader = MessageReader::whole();
        let mut rest = messages.elements().peekable();
        while let Some(message) = rest.next() {
            let [role, call, name, content, first, second, third] = message.find(&MEMBERS);
            let marks = [first, second, third];
            // A message with an unknown role stays unclaimed.
            let Some((role, author)) = role.and_then(|role| Some((role, ROLES.value(&role.str()?)?))) else {
                continue;
            };
            if author == Author::Tool {
                role.note(Field::Structure);
                note_blanks(message);
                let call_id = call.take_text(Field::ResultCallId);
                let result = ToolResult { call_id, name: name.take_text(Field::ResultName) };
                out.within(message, |out| tool_result(result, content, marks, out));
                continue;
            }
            role.note(Field::ItemAuthor);
            out.within(message, |out| {
                let id = reader.begin_with(author, shape(content, &marks), out);
                reader.read(message, out);
                mark(content, marks, id, out);
            });
            if author == Author::Assistant && rest.peek().is_none() {
                // Vendors' flags for a prefilled response. The position of the message has the same meaning: the model
                // continues the last assistant message.
                for name in ["prefix", "partial"] {
                    message
                        .get(name)
                        .filter(|it| it.bool() == Some(true))
                        .map(|it| it.note(Field::Structure));
                }
            }
            reader.end(Status::Completed, out);
        }
    }
}

/// The members that are looked up in every message.
const MEMBERS: WantedNames<7> = WantedNames::new([
    "role",
    "tool_call_id",
    "name",
    "content",
    MARKS[0].name,
    MARKS[1].name,
    MARKS[2].name,
]);

fn tool_result(
    result: ToolResult<'_>,
    content: Option<Val<'_>>,
    marks: [Option<Val<'_>>; 3],
    out: &mut EventSink<'_>,
) {
    let shape = shape(content, &marks);
    let head = out.head(ItemKind::ToolResult(result), Author::Tool);
    let id = out.start(ItemHead { shape, ..head });
    let mut is_error = None;
    if let Some(content) = content {
        read_content(content, ItemKindTag::Result, out, &mut |number, part, out| match part {
            Part::Text(text) if number == 0 => {
                let escaped = text.as_escaped();
                let rest = strip_mark(escaped, ERROR_MARK);
                is_error = rest.map(|_| true);
                let rest = rest.or_else(|| strip_mark(escaped, OK_MARK)).unwrap_or(escaped);
                out.delta(id, number, Part::Text(Str::escaped(rest)));
            }
            part => out.delta(id, number, part),
        });
    }
    mark(content, marks, id, out);
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.end(ItemTail { is_error, ..ItemTail::new(id, status) });
}

/// Reads a cache mark on a whole message as a mark on its last part.
fn mark(content: Option<Val<'_>>, marks: [Option<Val<'_>>; 3], item: ItemId, out: &mut EventSink<'_>) {
    let mark = MARKS.iter().zip(marks).find_map(|(words, mark)| words.read(mark?, PART_MARK));
    if let Some(mark) = mark {
        let parts = content.map_or(0, |content| content.elements().count());
        out.delta(item, (parts as u32).saturating_sub(1), Part::Cache(mark));
    }
}
