//! Fields that the input of the app server supports: settings, prompts, decisions, answers and the interrupt.

use crate::live::input_support::{ANSWERS, INTERRUPT, prompts_only};
use crate::model::{Field, Support};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaDetail => Support::Less("only prompts: messages of the user with text or media"),
        Field::StopReason => Support::Less(INTERRUPT),
        Field::PermissionId
        | Field::PermissionAnswer
        | Field::PermissionMessage
        | Field::QuestionId
        | Field::QuestionAnswer
        | Field::QuestionDeclined => Support::Less(ANSWERS),
        Field::PermissionAction => Support::Less("only the form of a decision depends on the action"),
        Field::SessionId => Support::Less("only the id of a thread of Codex is resumed"),
        Field::SessionModel | Field::SessionProvider | Field::SessionEffort => {
            Support::Less("only the client's settings, not those of another agent's session")
        }
        Field::SessionCwd => Support::Less("only once, when the thread opens"),
        Field::PermissionMode => Support::Less("only words of an approval policy or a sandbox"),
        Field::ApprovalPolicy => Support::Less("only the client's own policy"),
        Field::SandboxPolicy => Support::Less("only the mode of a sandbox"),
        other => prompts_only(other),
    }
}
