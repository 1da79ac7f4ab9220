//! Calls and their results. The name of a member is the name of the tool, and in a result the outcome.

use crate::json::Str;
use crate::model::{Field, FileRef, ItemId, Part};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};

/// A `tool_call` line.
pub(super) struct ToolLine<'t> {
    /// The member that holds the call, such as `readToolCall`.
    member: Str<'t>,
    function: Option<Val<'t>>,
    pub(super) arguments: Option<Val<'t>>,
    result: Option<Val<'t>>,
}

impl<'t> ToolLine<'t> {
    pub(super) fn new(line: Val<'t>) -> Option<Self> {
        let holder = line.get("tool_call").filter(|_| line.has_str("call_id"))?;
        let (member, call) = holder.members().find(|(_, val)| val.kind() == Kind::Object)?;
        // A tool without a member of its own has its name inside.
        let is_function = member.is("function");
        let function = call.get("name").filter(|name| is_function && name.str().is_some());
        let arguments = call.get(if is_function { "arguments" } else { "args" });
        Some(Self { member, function, arguments, result: call.get("result") })
    }

    /// The name of the tool.
    pub(super) fn name(&self) -> Str<'_> {
        let member = self.member.as_escaped();
        let own = member.strip_suffix("ToolCall").unwrap_or(member);
        self.function.and_then(|name| name.str()).unwrap_or(Str::escaped(own))
    }

    /// Claims the name of a tool without a member of its own.
    pub(super) fn claim_name(&self, field: Field) {
        self.function.map(|name| name.note(field));
    }

    pub(super) fn changes_a_file(&self) -> bool {
        self.action().is_some()
    }

    /// The action of a tool that changes a file.
    fn action(&self) -> Option<&'static str> {
        match self.member.as_escaped() {
            "writeToolCall" => Some("write"),
            "editToolCall" => Some("patch"),
            "deleteToolCall" => Some("delete"),
            _ => None,
        }
    }
}

/// The result of a call.
pub(super) struct Outcome<'t> {
    /// The agent's word, unless the call succeeded.
    pub(super) word: Option<Str<'t>>,
    value: Option<Val<'t>>,
    pub(super) is_error: bool,
    pub(super) exit_code: Option<i64>,
}

impl<'t> Outcome<'t> {
    pub(super) fn of(tool: &ToolLine<'t>) -> Self {
        let outcome = tool.result.filter(|result| result.kind() == Kind::Object);
        let mut members = outcome.into_iter().flat_map(|outcome| outcome.members());
        let Some((word, value)) = members.find(|(_, value)| value.kind() == Kind::Object) else {
            // A result of another form, or none.
            return Self { word: None, value: tool.result, is_error: false, exit_code: None };
        };
        let code = value.get("exitCode");
        let exit_code = code.and_then(|code| code.text().parse().ok());
        if let (Some(code), Some(_)) = (code, exit_code) {
            code.note(Field::ResultExitCode);
        }
        let has_succeeded = word.is("success");
        let is_error = !has_succeeded || exit_code.is_some_and(|code| code != 0);
        Self { word: (!has_succeeded).then_some(word), value: Some(value), is_error, exit_code }
    }

    /// Emits the text of the result, or its value if it has no text.
    pub(super) fn tell(&self, item: ItemId, out: &mut EventSink<'_>) {
        let Some(value) = self.value else { return };
        let mut has_text = false;
        for (number, name) in (0..).zip(TEXTS) {
            let text = value.get(name).filter(|text| text.str().is_some());
            if text.is_some_and(|text| text.is("")) {
                text.map(|text| text.note(Field::Structure));
                has_text = true;
            } else if let Some(text) = text.and_then(|text| text.take_text(Field::ResultText)) {
                out.delta(item, number, Part::Text(text));
                has_text = true;
            }
        }
        if let Some(text) = value.take_text(Field::ResultText) {
            out.delta(item, 0, Part::Text(text));
        } else if !has_text && !value.is_null() {
            out.delta(item, 0, Part::Json(value.take(Field::ResultJson)));
        }
    }

    /// The file that the call changed. A result without text holds the path, or else the arguments.
    pub(super) fn file(&self, tool: &ToolLine<'t>) -> Option<FileRef<'t>> {
        let action = tool.action().filter(|_| !self.is_error)?;
        let path_of =
            |holder: Option<Val<'t>>| holder.and_then(|holder| holder.note_str("path", Field::FilePath));
        let path = path_of(tool.arguments).or_else(|| path_of(self.value))?;
        Some(FileRef { path, action: Str::escaped(action), diff: None })
    }
}

/// The members that hold the text of a result: a file, the output of a command, the message of a failure.
const TEXTS: [&str; 7] = ["content", "stdout", "stderr", "errorMessage", "error", "message", "reason"];
