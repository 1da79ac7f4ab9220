//! Fields that Claude Code's stdin supports: prompts, decisions and the interrupt.

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
        | Field::QuestionDeclined => Support::Less(ANSWERS),
        Field::PermissionAction => Support::Less("only a decision for the whole session names the action"),
        Field::PermissionInput => Support::Less("only an allowance repeats the input of the call"),
        Field::QuestionText
        | Field::QuestionOption
        | Field::QuestionOptionAbout
        | Field::QuestionMultiple => Support::Less("only an answer repeats its question"),
        Field::QuestionAnswer => Support::Less("only answers to a question that is repeated"),
        other => prompts_only(other),
    }
}
