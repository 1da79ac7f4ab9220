//! A message of a log in any of its forms, and its pieces.

use super::super::logged::{LoggedPart, parts_of};
use super::memory::Owner;
use crate::json::Str;
use crate::model::{Author, Origin};
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// A message, with the members that are read.
pub(super) struct LoggedMessage<'t> {
    pub(super) root: Val<'t>,
    pub(super) id: Option<Val<'t>>,
    pub(super) time: Option<Val<'t>>,
    /// `type`, or `role` in messages of the API's form.
    pub(super) kind: Option<Val<'t>>,
    pub(super) content: Option<Val<'t>>,
    /// The text that the screen showed, if it differs from the content.
    pub(super) display: Option<Val<'t>>,
    pub(super) thoughts: Option<Val<'t>>,
    pub(super) tokens: Option<Val<'t>>,
    pub(super) model: Option<Val<'t>>,
    pub(super) calls: Option<Val<'t>>,
    pub(super) usage: Option<Val<'t>>,
    pub(super) finish: Option<Val<'t>>,
}

/// A piece of a message.
#[derive(Clone, Copy)]
pub(super) enum MessagePiece<'t> {
    /// A thought with its heading.
    Thought(Val<'t>),
    /// A part of the content.
    Part(Val<'t>, LoggedPart<'t>),
    /// A part of the content that belongs to the preceding result; the string identifies the call.
    Beside(Val<'t>, &'t str),
    /// A call.
    Call(Val<'t>),
    /// The result of a call; the value is the call.
    Result(Val<'t>),
}

impl<'t> LoggedMessage<'t> {
    pub(super) fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<14> = WantedNames::new([
            "id",
            "timestamp",
            "type",
            "content",
            "displayContent",
            "thoughts",
            "tokens",
            "model",
            "toolCalls",
            "role",
            "parts",
            "usageMetadata",
            "finishReason",
            "finish_reason",
        ]);
        let [id, time, kind, content, display, thoughts, tokens, model, calls, role, parts, usage, fc, fs] =
            root.find(&WANTED);
        let (kind, content) = if kind.is_some() { (kind, content) } else { (role, parts) };
        let is_object = |val: &Val<'_>| val.kind() == Kind::Object;
        let [tokens, usage] = [tokens, usage].map(|counts| counts.filter(is_object));
        let finish = fc.or(fs);
        Self { root, id, time, kind, content, display, thoughts, tokens, model, calls, usage, finish }
    }

    /// The author of the message; `None` for messages that the program itself shows.
    pub(super) fn author(&self) -> Option<Author> {
        match self.kind.word() {
            "user" | "function" => Some(Author::User),
            "gemini" | "model" => Some(Author::Assistant),
            _ => None,
        }
    }

    /// The id; empty if the message has none.
    pub(super) fn id(&self) -> &'t str {
        self.id.word()
    }

    /// The owner of the message's pieces.
    pub(super) fn owner(&self) -> Owner<'t> {
        Owner { id: self.id(), is_user: self.author() == Some(Author::User) }
    }

    /// The texts of the content.
    pub(super) fn texts(&self) -> impl Iterator<Item = Str<'t>> + use<'t> {
        parts_of(self.content).filter_map(|part| match LoggedPart::of(part) {
            LoggedPart::Text(text) => text.str(),
            _ => None,
        })
    }

    /// The pieces, in the order in which they are emitted.
    pub(super) fn pieces(&self) -> impl Iterator<Item = MessagePiece<'t>> + use<'t> {
        let is_thought = |thought: &Val<'_>| thought.has_str("description");
        let thoughts = self.thoughts.into_iter().flat_map(|thoughts| thoughts.elements()).filter(is_thought);
        let mut answered = None;
        let parts = parts_of(self.content).map(move |part| match (LoggedPart::of(part), answered) {
            (LoggedPart::Media(_), Some(call)) => MessagePiece::Beside(part, call),
            (kind, _) => {
                answered = match kind {
                    LoggedPart::Response(response) => Some(response_id(response)),
                    _ => None,
                };
                MessagePiece::Part(part, kind)
            }
        });
        let is_call = |call: &Val<'_>| call.has_str("name");
        let calls = self.calls.into_iter().flat_map(|calls| calls.elements()).filter(is_call);
        let calls = calls.flat_map(|call| {
            let result = ToolResults::of(call).is_some().then_some(MessagePiece::Result(call));
            [Some(MessagePiece::Call(call)), result].into_iter().flatten()
        });
        thoughts.map(MessagePiece::Thought).chain(parts).chain(calls)
    }
}

/// The call to which a response belongs: its id, or the tool's name for calls without ids.
pub(super) fn response_id(response: Val<'_>) -> &str {
    match response.str_or_empty("id") {
        "" => response.str_or_empty("name"),
        id => id,
    }
}

/// The result of a call: `result` is a text, a part, or a list of parts that includes the response.
pub(super) struct ToolResults<'t> {
    /// The response object, or the text.
    pub(super) main: Option<Val<'t>>,
    /// The whole `result` value.
    pub(super) all: Val<'t>,
}

impl<'t> ToolResults<'t> {
    pub(super) fn of(call: Val<'t>) -> Option<Self> {
        let all = call.get("result").filter(|result| !result.is_null())?;
        let own = |part: &Val<'t>| match LoggedPart::of(*part) {
            // A resumed session repeats the results of all calls of a turn beside each call.
            LoggedPart::Response(response) => {
                let id = response.str_or_empty("id");
                id.is_empty() || id == call.str_or_empty("id")
            }
            LoggedPart::Text(_) | LoggedPart::Media(_) => true,
            LoggedPart::Thought(_) | LoggedPart::Call(_) | LoggedPart::Unknown => false,
        };
        let main = parts_of(Some(all)).filter(own).find_map(|part| match LoggedPart::of(part) {
            LoggedPart::Response(response) => Some(response),
            LoggedPart::Text(text) if all.kind() == Kind::String => Some(text),
            _ => None,
        });
        parts_of(Some(all)).any(|part| own(&part)).then_some(Self { main, all })
    }

    /// The value of the result, to recognise a repetition.
    pub(super) fn value(&self) -> Option<Val<'t>> {
        match self.main {
            Some(main) if main.kind() == Kind::Object => main.get("response"),
            Some(text) => Some(text),
            None => Some(self.all),
        }
    }
}

/// The origin of a user message, if its text shows it.
pub(super) fn origin(text: &str) -> Option<Origin> {
    let begins = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
    if begins(&[
        "<session_context>",
        "<hook_context>",
        "System: ",
        "This is the Gemini CLI. We are setting up",
    ]) {
        Some(Origin::Harness)
    } else if begins(&["<state_snapshot>", "<compressed_state>"]) {
        Some(Origin::Summary)
    } else if begins(&["/", "?"]) && !text.starts_with("//") {
        Some(Origin::Command)
    } else {
        None
    }
}

/// The working directory, from the text in which the program reports it to the model.
pub(super) fn cwd(text: &str) -> Option<&str> {
    let (_, rest) = text
        .split_once(r"- **Workspace Directories:**\n  - ")
        .or_else(|| text.split_once("I'm currently working in the directory: "))?;
    rest.split('\\').next().filter(|cwd| cwd.starts_with('/'))
}
