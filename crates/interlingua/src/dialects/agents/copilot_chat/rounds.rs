//! The rounds of an answer as Copilot sends them to the model: thinking, text and calls of each round, and the results of
//! the calls by their ids.

use super::moment;
use super::parts::{Outcome, Parts};
use crate::blocks::start_reasoning;
use crate::json::Str;
use crate::log::SpelledArguments;
use crate::model::{
    Args, Author, CallKind, Field, ItemId, ItemKind, Media, MediaSource, Part, Shape, ToolCall, ToolResult,
};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Member as _, Val, WantedNames};

/// The rounds of an answer, and the results of their calls.
pub(super) struct Rounds<'t> {
    rounds: Val<'t>,
    results: Option<Val<'t>>,
}

impl<'t> Rounds<'t> {
    /// The rounds in the metadata of a result; `None` if no round has a text, a thought or a call.
    pub(super) fn of(metadata: Val<'t>) -> Option<Self> {
        let rounds = metadata.get("toolCallRounds").filter(|list| list.kind() == Kind::Array)?;
        let results = metadata.get("toolCallResults").filter(|map| map.kind() == Kind::Object);
        rounds.elements().any(|round| is_said(round)).then_some(Self { rounds, results })
    }
}

fn is_said(round: Val<'_>) -> bool {
    !round.str_or_empty("response").is_empty() || calls(round).next().is_some() || thought(round).is_some()
}

fn calls(round: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    let list = round.get("toolCalls").into_iter().flat_map(|list| list.elements());
    list.filter(|call| call.has_str("name"))
}

/// The text of a thought: a string, or a list of strings.
fn thought(round: Val<'_>) -> Option<Val<'_>> {
    let thinking = round.get("thinking")?;
    let text = if thinking.kind() == Kind::String { Some(thinking) } else { thinking.get("text") };
    text.filter(|text| texts(*text).any(|text| !Some(text).word().is_empty()))
}

/// A string itself, or the strings of a list.
pub(super) fn texts(text: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    let one = (text.kind() == Kind::String).then_some(text);
    one.into_iter().chain(text.elements()).filter(|text| text.kind() == Kind::String)
}

/// Emits the rounds, each with the results of its calls. The parts of the answer repeat the rounds for people.
pub(super) fn read_rounds(
    rounds: &Rounds<'_>,
    parts: Option<Parts<'_>>,
    model: Option<Val<'_>>,
    arguments: &mut SpelledArguments,
    out: &mut EventSink<'_>,
) {
    for round in rounds.rounds.elements().filter(|round| is_said(*round)) {
        out.within(round, |out| read_round(round, model, arguments, out));
        for call in calls(round) {
            let id = call.str_or_empty("id");
            let result = rounds.results.and_then(|results| results.get(id)).filter(|_| !id.is_empty());
            if let Some(result) = result {
                let outcome = parts.map(|parts| parts.outcome(id)).unwrap_or_default();
                read_result(call, result, outcome, out);
            }
        }
    }
    if let Some(parts) = parts {
        let said = |text: Val<'_>| {
            let texts = rounds.rounds.elements().filter_map(|round| round.get("response"));
            texts.into_iter().any(|round| round.text() == text.text())
        };
        parts.claim_repeated(said);
    }
}

fn read_round(
    round: Val<'_>,
    model: Option<Val<'_>>,
    arguments: &mut SpelledArguments,
    out: &mut EventSink<'_>,
) {
    const WANTED: WantedNames<3> = WantedNames::new(["id", "timestamp", "response"]);
    let [id, time, response] = round.find(&WANTED);
    let mut head = out.head(ItemKind::Message, Author::Assistant);
    head.native_id = id.note_text(Field::ItemId);
    head.time = moment(time).map(|time| time.note(Field::ItemTime));
    head.model = model.note_text(Field::ItemModel);
    let item = out.start(head);
    if let Some(text) = thought(round) {
        read_thought(text, item, out);
    }
    let response = response.filter(|response| !Some(*response).word().is_empty());
    if let Some(text) = response.note_text(Field::MessageText) {
        out.delta(item, 0, Part::Text(text));
    }
    for call in calls(round) {
        out.within(call, |out| read_call(call, item, arguments, out));
    }
    out.complete(item);
}

pub(super) fn read_thought(text: Val<'_>, within: ItemId, out: &mut EventSink<'_>) {
    let thought = start_reasoning(within, out);
    let mut joined = JoinedText::default();
    for text in texts(text) {
        joined.push(text.note_text(Field::ReasoningText));
    }
    joined.tell(thought, 0, out);
    out.complete(thought);
}

/// A text in several strings.
#[derive(Default)]
pub(super) struct JoinedText<'t>(Option<Str<'t>>);

impl<'t> JoinedText<'t> {
    pub(super) fn push(&mut self, more: Option<Str<'t>>) {
        match (&mut self.0, more) {
            (Some(text), Some(more)) => text.push(&more),
            (text @ None, more) => *text = more,
            (Some(_), None) => {}
        }
    }

    /// Emits the text as one part, if there is a text.
    pub(super) fn tell(self, item: ItemId, number: u32, out: &mut EventSink<'_>) {
        if let Some(text) = self.0 {
            out.delta(item, number, Part::Text(text));
        }
    }
}

fn read_call(call: Val<'_>, within: ItemId, arguments: &mut SpelledArguments, out: &mut EventSink<'_>) {
    let [id, name, given] = call.get_all(["id", "name", "arguments"]);
    let item = start_call(id, name, within, out);
    if let Some(given) = given {
        read_arguments(given, item, arguments, out);
    }
    out.complete(item);
}

/// Starts a call whose id and name stay in the frame.
pub(super) fn start_call(
    id: Option<Val<'_>>,
    name: Option<Val<'_>>,
    within: ItemId,
    out: &mut EventSink<'_>,
) -> ItemId {
    let call = ToolCall {
        call_id: id.note_text(Field::CallId),
        kind: CallKind::Function,
        namespace: None,
        name: name.note_text(Field::CallName).unwrap_or_default(),
    };
    let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
    head.within = Some(within);
    out.start(head)
}

/// Emits arguments that are JSON in a string, or a value.
pub(super) fn read_arguments(
    given: Val<'_>,
    item: ItemId,
    arguments: &mut SpelledArguments,
    out: &mut EventSink<'_>,
) {
    match given.str() {
        // The string stays in the frame.
        Some(text) => {
            given.claim(Claim::Noted(Field::CallArgs));
            arguments.read_pieces(&text, item, out);
        }
        None if given.is_null() => {}
        None => out.delta(item, 0, Part::Args(Args::Json(given.note(Field::CallArgs)))),
    }
}

/// Emits the result of a call: texts, trees of texts, and data.
fn read_result(call: Val<'_>, result: Val<'_>, outcome: Outcome<'_>, out: &mut EventSink<'_>) {
    let id = call.get("id").and_then(|id| id.str());
    let kind = ItemKind::ToolResult(ToolResult { call_id: id, name: None });
    let mut head = out.head(kind, Author::Tool);
    let content = || result.get("content").into_iter().flat_map(|content| content.elements());
    if content().nth(1).is_some() {
        head.shape = Shape::List;
    }
    let item = out.start(head);
    for (number, part) in content().enumerate() {
        out.within(part, |out| read_content(part, number as u32, item, out));
    }
    out.end(outcome.tail(item));
}

fn read_content(part: Val<'_>, number: u32, item: ItemId, out: &mut EventSink<'_>) {
    let [value, data, media_type] = part.get_all(["value", "data", "mimeType"]);
    if let Some(text) = value.note_text(Field::ResultText) {
        out.delta(item, number, Part::Text(text));
    } else if let Some(data) = data.filter(|data| media_type.is_some() && data.kind() == Kind::String) {
        let data = data.note_text(Field::ResultMedia).unwrap_or_default();
        let media_type = media_type.note_text(Field::MediaType);
        out.delta(item, number, Part::Media(Media::new(media_type, MediaSource::Base64(data))));
    } else if let Some(node) = value.and_then(|value| value.get("node")) {
        let mut text = JoinedText::default();
        read_node(node, &mut text);
        text.tell(item, number, out);
    }
}

/// Joins the texts of a tree. Copilot describes a result as a tree of elements, and a text may begin on a new line.
fn read_node<'t>(node: Val<'t>, joined: &mut JoinedText<'t>) {
    let [text, line_break, children] = node.get_all(["text", "lineBreakBefore", "children"]);
    if let Some(line_break) = line_break.filter(|flag| text.is_some() && flag.bool() == Some(true)) {
        line_break.note(Field::ResultText);
        joined.push(Some(Str::escaped("\\n")));
    }
    joined.push(text.note_text(Field::ResultText));
    for child in children.into_iter().flat_map(|list| list.elements()) {
        read_node(child, joined);
    }
}
