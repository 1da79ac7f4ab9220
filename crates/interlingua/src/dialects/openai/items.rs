//! Items as the Responses API and Codex's rollouts both write them, and the marks that OpenAI's dialects put into results.

use crate::json::{JsonWriter, Raw};
use crate::model::CallKind;
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// A result has no flag for failure: its text begins with this instead, and reading takes it off again. The invisible
/// character tells it from the words of a tool that happens to begin so.
pub(super) const ERROR_MARK: &str = "[tool error]\u{2063} ";
/// Put before a good result that begins with one of these marks, because it was written by us before.
pub(super) const OK_MARK: &str = "[tool ok]\u{2063} ";
/// The invisible separator, which nobody writes by chance.
const INVISIBLE: char = '\u{2063}';

/// What follows a mark of ours. Some programs escape whatever is not ASCII.
pub(super) fn strip_mark<'t>(escaped: &'t str, mark: &str) -> Option<&'t str> {
    // Nearly every result begins otherwise.
    if !escaped.starts_with('[') {
        return None;
    }
    let (words, space) = mark.split_once(INVISIBLE)?;
    let rest = escaped.strip_prefix(words)?;
    rest.strip_prefix(INVISIBLE).or_else(|| rest.strip_prefix("\\u2063"))?.strip_prefix(space)
}

/// How an API writes which texts a tool takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrammarForm {
    /// `{"type":"grammar","grammar":{"syntax":…,"definition":…}}`
    Nested,
    /// `{"type":"grammar","syntax":…,"definition":…}`
    Flat,
}

/// Writes which texts a tool takes, in that form, from either.
pub(super) fn write_grammar(
    format: &Raw<'_>,
    form: GrammarForm,
    tape: &mut TapeBuf,
    json: &mut JsonWriter<'_>,
) {
    let parsed = tape.parse(format.as_str(), &Limits::default()).ok();
    let root = parsed.as_ref().map(|tape| tape.root()).filter(|root| root.str_or_empty("type") == "grammar");
    let inner = root.and_then(|root| root.get("grammar"));
    let (Some(root), true) = (root, inner.is_some() != (form == GrammarForm::Nested)) else {
        json.raw(format);
        return;
    };
    json.with_value(r#"{"type":"grammar""#);
    if form == GrammarForm::Nested {
        json.key("grammar").object();
    }
    for (name, value) in inner.unwrap_or(root).members().filter(|(name, _)| !name.is("type")) {
        json.key(name.as_escaped()).raw(&value.raw());
    }
    if form == GrammarForm::Nested {
        json.end_object();
    }
    json.end_object();
}

/// Who runs the tool that an item of that type calls, and what the tool is called where the item has no name for it.
pub(super) fn call_of(word: &str) -> Option<(CallKind, &'static str)> {
    Some(match word {
        "function_call" => (CallKind::Function, ""),
        "custom_tool_call" => (CallKind::FreeText, ""),
        "local_shell_call" => (CallKind::Vendor, "local_shell"),
        "tool_search_call" => (CallKind::Vendor, "tool_search"),
        "web_search_call" => (CallKind::Server, "web_search"),
        _ => return None,
    })
}

/// Whether an item of that type is the result of a call.
pub(super) fn is_result(word: &str) -> bool {
    matches!(
        word,
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" | "function_result"
    )
}

/// The text of a part that is one. Codex also writes texts that are no parts but strings.
pub(super) fn text_of(element: Val<'_>) -> Option<Val<'_>> {
    let text = match element.str_or_empty("type") {
        "input_text" | "output_text" | "text" | "Text" | "summary_text" | "reasoning_text" => {
            element.get("text")?
        }
        _ => element,
    };
    (text.kind() == Kind::String).then_some(text)
}
