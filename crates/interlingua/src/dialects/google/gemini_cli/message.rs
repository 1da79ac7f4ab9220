//! A message of a log, in any of its forms, and the pieces it is made of.

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
    /// `type`, or `role` where messages are as the API has them.
    pub(super) kind: Option<Val<'t>>,
    pub(super) content: Option<Val<'t>>,
    /// What the person saw, where that is not the content.
    pub(super) display: Option<Val<'t>>,
    pub(super) thoughts: Option<Val<'t>>,
    pub(super) tokens: Option<Val<'t>>,
    pub(super) model: Option<Val<'t>>,
    pub(super) calls: Option<Val<'t>>,
    pub(super) usage: Option<Val<'t>>,
    pub(super) finish: Option<Val<'t>>,
}

/// What a message is made of.
#[derive(Clone, Copy)]
pub(super) enum MessagePiece<'t> {
    /// A thought with its heading.
    Thought(Val<'t>),
    /// A part of the content.
    Part(Val<'t>, LoggedPart<'t>),
    /// A part of the content that belongs to the result before it, of the call of that id.
    Beside(Val<'t>, &'t str),
    /// A call.
    Call(Val<'t>),
    /// What came of that call.
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

    /// Who speaks; nobody does in what the program shows on the screen.
    pub(super) fn author(&self) -> Option<Author> {
        match self.kind.word() {
            "user" | "function" => Some(Author::User),
            "gemini" | "model" => Some(Author::Assistant),
            _ => None,
        }
    }

    /// Its id; empty if it has none.
    pub(super) fn id(&self) -> &'t str {
        self.id.word()
    }

    /// What its pieces are said of.
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

    /// Its pieces, in the order they are told.
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

/// What names the call that a response answers: its id, or the tool's name where calls have no ids.
pub(super) fn response_id(response: Val<'_>) -> &str {
    match response.str_or_empty("id") {
        "" => response.str_or_empty("name"),
        id => id,
    }
}

/// What came of a call: `result` is a text, a part, or a list of parts of which one is the response.
pub(super) struct ToolResults<'t> {
    /// The response, or the text.
    pub(super) main: Option<Val<'t>>,
    /// All of it.
    pub(super) all: Val<'t>,
}

impl<'t> ToolResults<'t> {
    pub(super) fn of(call: Val<'t>) -> Option<Self> {
        let all = call.get("result").filter(|result| !result.is_null())?;
        let own = |part: &Val<'t>| match LoggedPart::of(*part) {
            // A resumed session writes what came of all calls of a turn beside each.
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

    /// What the result says, to tell whether it was said before.
    pub(super) fn value(&self) -> Option<Val<'t>> {
        match self.main {
            Some(main) if main.kind() == Kind::Object => main.get("response"),
            Some(text) => Some(text),
            None => Some(self.all),
        }
    }
}

/// Whose words a message of the user holds, where its text shows it.
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

/// The working directory, where the program tells the model about it.
pub(super) fn cwd(text: &str) -> Option<&str> {
    let (_, rest) = text
        .split_once(r"- **Workspace Directories:**\n  - ")
        .or_else(|| text.split_once("I'm currently working in the directory: "))?;
    rest.split('\\').next().filter(|cwd| cwd.starts_with('/'))
}
