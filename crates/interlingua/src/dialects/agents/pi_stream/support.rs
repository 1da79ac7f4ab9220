//! Fields that Pi's stdin supports: prompts, answers to dialogs and the interrupt.

use crate::live::input_support::{ANSWERS, INTERRUPT, prompts_only};
use crate::model::{Field, Support};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::StopReason => Support::Less(INTERRUPT),
        Field::QuestionId => Support::Less(ANSWERS),
        Field::QuestionAnswer => Support::Less("only the first answer"),
        Field::QuestionDeclined => Support::Less("only a refusal"),
        other => prompts_only(other),
    }
}
