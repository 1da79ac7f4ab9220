//! Fields that requests to an OpenCode server support: the settings of the session, prompts, decisions and the interrupt.

use crate::live::input_support::{ANSWERS, INTERRUPT, prompts_only};
use crate::model::{Field, Support};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::ItemAuthor
        | Field::MessageText
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName => Support::Less("only prompts: messages of the user with text or media"),
        Field::StopReason => Support::Less(INTERRUPT),
        Field::PermissionId
        | Field::PermissionAnswer
        | Field::PermissionMessage
        | Field::QuestionId
        | Field::QuestionAnswer
        | Field::QuestionDeclined => Support::Less(ANSWERS),
        Field::SessionId => Support::Less("only the id of an OpenCode session to resume"),
        Field::SessionCwd
        | Field::SessionTitle
        | Field::SessionModel
        | Field::SessionProvider
        | Field::PermissionMode
        | Field::SessionEffort => Support::Less("only the settings that open the session"),
        other => prompts_only(other),
    }
}
