//! The forms of an agent's requests to a person. The reader of the requests and the writer of the answers share them, so
//! that a request is either an event or refused.

use crate::json::Str;
use crate::tape::{Kind, Val};

/// The form of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestForm {
    Permission,
    /// Kimi asks questions as permission requests: each option is an answer.
    Choice,
    /// Fields to fill in.
    Fields,
    /// A page to open.
    Page,
}

impl RequestForm {
    /// The form of a `session/request_permission`; `None` if no option can be selected.
    pub(super) fn of_permission(params: Val<'_>) -> Option<Self> {
        options(params).next()?;
        let is_choice = options(params).all(|option| is_answer(option.str_or_empty("optionId")));
        Some(if is_choice { RequestForm::Choice } else { RequestForm::Permission })
    }

    /// The form of an `elicitation/create`; `None` for an unknown mode.
    pub(super) fn of_elicitation(params: Val<'_>) -> Option<Self> {
        let properties = params.get("requestedSchema").and_then(|schema| schema.get("properties"));
        match params.str_or_empty("mode") {
            "url" if params.has_str("url") => Some(RequestForm::Page),
            // MCP has no mode, which means a form.
            "form" | "" if properties.is_some_and(|it| it.kind() == Kind::Object) => {
                Some(RequestForm::Fields)
            }
            _ => None,
        }
    }
}

/// The options of a permission request that can be selected.
pub(super) fn options(params: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    let options = params.get("options").into_iter().flat_map(|options| options.elements());
    options.filter(|option| option.has_str("optionId"))
}

/// Whether an option is an answer to a question of Kimi: `q0_opt_1` or `q0_skip`.
fn is_answer(id: &str) -> bool {
    let Some((number, answer)) = id.strip_prefix('q').and_then(|id| id.split_once('_')) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(number) && (answer == "skip" || answer.strip_prefix("opt_").is_some_and(is_number))
}

/// Whether an option of Kimi skips the question.
pub(super) fn is_skip(option: Val<'_>) -> bool {
    option.str_or_empty("optionId").ends_with("_skip")
}

/// The fields of a form: their names and schemas.
pub(super) fn fields(params: Val<'_>) -> impl Iterator<Item = (Str<'_>, Val<'_>)> {
    let properties = params.get("requestedSchema").and_then(|schema| schema.get("properties"));
    properties.into_iter().flat_map(|properties| properties.members())
}

/// Whether a field takes several choices.
pub(super) fn is_multiple(field: Val<'_>) -> bool {
    field.str_or_empty("type") == "array"
}

/// A choice of a field.
#[derive(Clone, Copy)]
pub(super) struct Choice<'t> {
    /// The value of the answer.
    pub(super) value: Val<'t>,
    /// The text for people, which may be the value.
    pub(super) label: Val<'t>,
    pub(super) about: Option<Val<'t>>,
}

/// The choices of a field.
pub(super) fn choices(field: Val<'_>) -> impl Iterator<Item = Choice<'_>> {
    let of = if is_multiple(field) { field.get("items") } else { Some(field) };
    let list = of.and_then(|of| of.get("oneOf").or_else(|| of.get("anyOf")).or_else(|| of.get("enum")));
    list.into_iter().flat_map(|list| list.elements()).filter_map(|choice| {
        let value = choice.get("const").unwrap_or(choice);
        let label = choice.get("title").unwrap_or(value);
        let about = choice.get("description").filter(|about| about.str().is_some());
        (value.str().is_some() && label.str().is_some()).then_some(Choice { value, label, about })
    })
}
