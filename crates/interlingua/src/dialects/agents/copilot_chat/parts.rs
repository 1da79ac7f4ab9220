//! The parts of an answer as VS Code shows them: Markdown, thinking and tools. They are the conversation only if the request
//! has no rounds: a participant other than Copilot, an answer that was cancelled, or an early version.

use super::rounds::{JoinedText, read_arguments, read_thought, start_call, texts};
use super::{markdown, moment};
use crate::blocks::shape_by;
use crate::log::SpelledArguments;
use crate::model::{Args, Author, Field, ItemId, ItemKind, ItemTail, Part, Status, ToolResult};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val};

/// The parts of an answer.
#[derive(Clone, Copy)]
pub(super) struct Parts<'t>(pub(super) Val<'t>);

/// What a part is.
enum Shown<'t> {
    Text(Val<'t>),
    Thinking(Val<'t>),
    Tool,
    /// Progress, references, edits and buttons: they stay in the frame.
    Other,
}

fn shown(part: Val<'_>) -> Shown<'_> {
    let found = match part.str_or_empty("kind") {
        // Markdown has no `kind`; some versions wrote one.
        "" | "markdownContent" => {
            filled(markdown(part.get("value").or(part.get("content")))).map(Shown::Text)
        }
        "markdownVuln" => filled(markdown(part.get("content"))).map(Shown::Text),
        "thinking" => filled(part.get("value")).map(Shown::Thinking),
        "toolInvocationSerialized" if part.has_str("toolId") => Some(Shown::Tool),
        _ => None,
    };
    found.unwrap_or(Shown::Other)
}

/// A value with a text that is not empty.
fn filled(value: Option<Val<'_>>) -> Option<Val<'_>> {
    value.filter(|value| texts(*value).any(|text| !Some(text).word().is_empty()))
}

impl<'t> Parts<'t> {
    /// Emits the parts as one message, and the results of its tools. Returns `false` if no part has content.
    pub(super) fn read(
        self,
        request: Val<'_>,
        model: Option<Val<'_>>,
        arguments: &mut SpelledArguments,
        out: &mut EventSink<'_>,
    ) -> bool {
        if self.0.elements().all(|part| matches!(shown(part), Shown::Other)) {
            return false;
        }
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        head.native_id = request.note_str("responseId", Field::ItemId);
        head.model = model.note_text(Field::ItemModel);
        head.time = moment(request.get("responseTimestamp")).map(|time| time.note(Field::ItemTime));
        head.shape = shape_by(Some(self.0), |part| matches!(shown(*part), Shown::Text(_)));
        let item = out.start(head);
        for (number, part) in self.0.elements().enumerate() {
            out.within(part, |out| match shown(part) {
                Shown::Text(text) => {
                    part.note_str("kind", Field::Structure);
                    if let Some(text) = text.note_text(Field::MessageText) {
                        out.delta(item, number as u32, Part::Text(text));
                    }
                }
                Shown::Thinking(text) => {
                    part.note_str("kind", Field::Structure);
                    read_thought(text, item, out);
                }
                Shown::Tool => {
                    part.note_str("kind", Field::Structure);
                    read_tool(part, item, arguments, out);
                }
                Shown::Other => {}
            });
        }
        out.complete(item);
        for part in self.0.elements().filter(|part| matches!(shown(*part), Shown::Tool)) {
            out.within(part, |out| read_result(part, out));
        }
        true
    }

    /// The outcome of the tool with the call's id. Some versions give the part an id of its own.
    pub(super) fn outcome(self, call_id: &str) -> Outcome<'t> {
        let id = call_id.split("__vscode-").next().unwrap_or(call_id);
        let is_of_call = |part: &Val<'_>| {
            let part_id = part.str_or_empty("toolCallId");
            !part_id.is_empty() && (part_id == call_id || part_id == id)
        };
        self.0.elements().find(is_of_call).map(Outcome::of).unwrap_or_default()
    }

    /// Claims the texts that repeat the text of a round.
    pub(super) fn claim_repeated(self, is_said: impl Fn(Val<'_>) -> bool) {
        for part in self.0.elements() {
            if let Shown::Text(text) = shown(part)
                && is_said(text)
            {
                text.note(Field::Padding);
            }
        }
    }
}

/// Emits the call of a tool. Its arguments are in the details of its result, or in the data of its kind.
fn read_tool(part: Val<'_>, within: ItemId, arguments: &mut SpelledArguments, out: &mut EventSink<'_>) {
    let [id, name, data, details] =
        part.get_all(["toolCallId", "toolId", "toolSpecificData", "resultDetails"]);
    let item = start_call(id, name, within, out);
    let raw = data.and_then(|data| data.get("rawInput")).filter(|raw| raw.kind() == Kind::Object);
    let spelled = details.and_then(|details| details.get("input")).filter(|input| input.str().is_some());
    let command = data.filter(|data| data.str_or_empty("kind") == "terminal");
    let command = command.and_then(|data| data.get("commandLine").or(data.get("command")));
    if let Some(raw) = raw {
        out.delta(item, 0, Part::Args(Args::Json(raw.note(Field::CallArgs))));
    } else if let Some(given) = spelled.or(command) {
        read_arguments(given, item, arguments, out);
    }
    out.complete(item);
}

/// Emits the result of a tool, if the part has one: the output of its details, or of a terminal.
fn read_result(part: Val<'_>, out: &mut EventSink<'_>) {
    let [data, details] = part.get_all(["toolSpecificData", "resultDetails"]);
    let output = details.and_then(|details| details.get("output"));
    let texts = || {
        let outputs = output.into_iter().flat_map(|output| output.elements());
        outputs.filter_map(|output| output.get("value")).filter(|text| text.kind() == Kind::String)
    };
    let terminal = data.and_then(|data| data.get("terminalCommandOutput")?.get("text"));
    let terminal = terminal.filter(|text| text.kind() == Kind::String);
    let outcome = Outcome::of(part);
    if texts().next().is_none() && terminal.is_none() && outcome.is_unknown() {
        return;
    }
    let call_id = part.get("toolCallId").and_then(|id| id.str());
    let head = out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool);
    let item = out.start(head);
    let mut joined = JoinedText::default();
    for text in texts().chain(terminal) {
        joined.push(text.note_text(Field::ResultText));
    }
    joined.tell(item, 0, out);
    out.end(outcome.tail(item));
}

/// The error flag and the exit code of a tool.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome<'t> {
    flag: Option<Val<'t>>,
    code: Option<Val<'t>>,
}

impl<'t> Outcome<'t> {
    fn of(part: Val<'t>) -> Self {
        let [data, details] = part.get_all(["toolSpecificData", "resultDetails"]);
        let code = data.and_then(|data| data.get("terminalCommandState")?.get("exitCode"));
        let flag = details.and_then(|details| details.get("isError"));
        Self {
            flag: flag.filter(|flag| flag.bool().is_some()),
            code: code.filter(|code| code.text().parse::<i64>().is_ok()),
        }
    }

    const fn is_unknown(&self) -> bool {
        self.flag.is_none() && self.code.is_none()
    }

    /// The end of a result.
    pub(super) fn tail(self, item: ItemId) -> ItemTail<'static> {
        let exit_code = self.code.and_then(|code| code.note(Field::ResultExitCode).as_str().parse().ok());
        let is_error = self.flag.and_then(|flag| flag.note(Field::ResultIsError).as_str().parse().ok());
        let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
        ItemTail { is_error, exit_code, ..ItemTail::new(item, status) }
    }
}
