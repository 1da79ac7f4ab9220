//! The text of lines of unknown types.

use crate::json::Str;
use crate::model::Field;
use crate::tape::Val;

/// The members in which agents' lines hold their text.
const NAMES: [&str; 4] = ["content", "text", "message", "summary"];

/// Claims the plain text of a line of an unknown type: a later version of the agent may have added a line for people
/// or for the model. The log writer restores the text without help from the dialect: it fills the first hole for which
/// the dialect has no value.
pub(crate) fn words_of_unknown(holder: Val<'_>) -> Option<Str<'_>> {
    let name = NAMES.into_iter().find(|name| !holder.str_or_empty(name).is_empty())?;
    holder.take_str(name, Field::NoticeText)
}
