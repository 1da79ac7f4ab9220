//! Oversight: permissions and questions an agent puts to a person, and the answers.

use super::macros::{EachField, IntoOwned, Shown, owned, said, said_enum};
use super::neutral::{self, Neutral, PairFields, Spelling};
use super::{Field, Show, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// An agent's request for permission, and the decision.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Permission<'a> {
        /// The request's id, which the answer refers to.
        pub id: Str<'a> => PermissionId,
        /// The action the agent asks permission for: usually a tool's name.
        pub action: Str<'a> => PermissionAction,
        /// The tool call that needs the permission.
        pub call_id: Option<Str<'a>> => PermissionCallId,
        /// The arguments of the action.
        pub input: Option<Raw<'a>> => PermissionInput,
        /// The decision; `None` while the request is open.
        pub answer: Option<Decision<'a>> => each,
        /// The source of the decision (a person, a rule, a hook), in the agent's own word.
        pub by: Option<Str<'a>> => PermissionBy,
    }

    /// A question an agent asks the user, and the answer.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Question<'a> {
        /// The question's id, which the answer refers to.
        pub id: Str<'a> => QuestionId,
        /// The tool call that asks the question.
        pub call_id: Option<Str<'a>> => QuestionCallId,
        /// The prompts of the question, one or several.
        pub prompts: Vec<Prompt<'a>> => each,
        /// One list of chosen labels per prompt; `None` while open, or when declined.
        pub answers: Option<Vec<Vec<Str<'a>>>> => QuestionAnswer,
        /// Whether the user declined to answer.
        pub declined: bool => QuestionDeclined,
    }

    /// One prompt with its choices.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Prompt<'a> {
        /// The text of the prompt.
        pub text: Str<'a> => QuestionText,
        /// The choices: label and explanation.
        pub options: Vec<(Str<'a>, Option<Str<'a>>)> => each,
        /// Whether several choices may be selected.
        pub multiple: bool => QuestionMultiple,
    }
}

said_enum! {
    /// The decision on a permission request.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Decision<'a> {
        /// Allowed once.
        Accept,
        /// Allowed for the rest of the session.
        AcceptForSession,
        /// Denied, with an optional reason.
        Reject(Option<Str<'a>>),
    }
}

impl Value for Decision<'_> {
    fn change(&mut self) {
        *self = match self {
            Decision::Accept => Decision::AcceptForSession,
            Decision::AcceptForSession => Decision::Reject(None),
            Decision::Reject(_) => Decision::Accept,
        }
    }
}

impl EachField for Decision<'_> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        self.show(Field::PermissionAnswer, show);
        if let Decision::Reject(message) = self {
            message.show(Field::PermissionMessage, show);
        }
    }
}

/// A choice: its label and its explanation.
impl EachField for (Str<'_>, Option<Str<'_>>) {
    fn each_field(&mut self, show: &mut Show<'_>) {
        self.0.show(Field::QuestionOption, show);
        self.1.show(Field::QuestionOptionAbout, show);
    }
}

impl PairFields for (Str<'_>, Option<Str<'_>>) {
    const NAME: Field = Field::QuestionOption;
    const VALUE: Field = Field::QuestionOptionAbout;
}

impl<'t> Neutral<'t> for Decision<'t> {
    fn absent() -> Self {
        Decision::Accept
    }

    fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
        match self {
            Decision::Accept => json.literal("accept"),
            Decision::AcceptForSession => json.literal("accept_for_session"),
            Decision::Reject(None) => json.literal("reject"),
            Decision::Reject(Some(message)) => json.object().key("reject").str(message).end_object(),
        };
    }

    fn read(val: Val<'t>, _: Field, _: Spelling) -> Option<Self> {
        let decision = match val.str().as_ref().map(Str::as_escaped) {
            Some("accept") => Decision::Accept,
            Some("accept_for_session") => Decision::AcceptForSession,
            Some("reject") => Decision::Reject(None),
            Some(_) => return None,
            None => return Some(Decision::Reject(Some(val.take_str("reject", Field::PermissionMessage)?))),
        };
        val.take(Field::PermissionAnswer);
        Some(decision)
    }
}
