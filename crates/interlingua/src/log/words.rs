//! The words of lines that nobody knows.

use crate::json::Str;
use crate::model::Field;
use crate::tape::Val;

/// Where lines have their words, whichever agent writes them.
const NAMES: [&str; 4] = ["content", "text", "message", "summary"];

/// Takes what a line of an unknown type says in plain text: a later version may tell something to people or to the model in
/// it. The writer gives it back by itself: the first hole for which the dialect has no value is that of the words.
pub(crate) fn words_of_unknown(holder: Val<'_>) -> Option<Str<'_>> {
    let name = NAMES.into_iter().find(|name| !holder.str_or_empty(name).is_empty())?;
    holder.take_str(name, Field::NoticeText)
}
