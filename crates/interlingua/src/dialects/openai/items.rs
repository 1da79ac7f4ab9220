//! Items that the Responses API and Codex rollouts share, and the marks that writers of OpenAI dialects put before
//! results.

use crate::json::{JsonWriter, Raw};
use crate::model::CallKind;
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// Prefix of a failed result's text, because OpenAI results have no error flag. Readers strip the prefix again. The
/// invisible character distinguishes it from tool output that happens to begin with the same words.
pub(super) const ERROR_MARK: &str = "[tool error]\u{2063} ";
/// Prefix of a successful result whose text begins with one of these marks, because we wrote that text before.
pub(super) const OK_MARK: &str = "[tool ok]\u{2063} ";
/// The invisible separator, which no text is expected to contain by chance.
const INVISIBLE: char = '\u{2063}';

/// The text after one of our marks. Some programs escape every character outside ASCII, so the separator may be an
/// escape.
pub(super) fn strip_mark<'t>(escaped: &'t str, mark: &str) -> Option<&'t str> {
    // Fast path: nearly every result begins with another character.
    if !escaped.starts_with('[') {
        return None;
    }
    let (words, space) = mark.split_once(INVISIBLE)?;
    let rest = escaped.strip_prefix(words)?;
    rest.strip_prefix(INVISIBLE).or_else(|| rest.strip_prefix("\\u2063"))?.strip_prefix(space)
}

/// The JSON form of a free-text tool's grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrammarForm {
    /// `{"type":"grammar","grammar":{"syntax":…,"definition":…}}`
    Nested,
    /// `{"type":"grammar","syntax":…,"definition":…}`
    Flat,
}

/// Writes the grammar of a free-text tool in the given form, whichever form the source used.
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

/// The call kind of an item type, and the tool name for item types without a name member.
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

/// Whether this item type is a tool result.
pub(super) fn is_result(word: &str) -> bool {
    matches!(
        word,
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" | "function_result"
    )
}

/// The text of a text part. Codex also writes plain strings instead of parts.
pub(super) fn text_of(element: Val<'_>) -> Option<Val<'_>> {
    let text = match element.str_or_empty("type") {
        "input_text" | "output_text" | "text" | "Text" | "summary_text" | "reasoning_text" => {
            element.get("text")?
        }
        _ => element,
    };
    (text.kind() == Kind::String).then_some(text)
}
