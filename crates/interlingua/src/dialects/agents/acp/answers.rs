//! The client's answers to the requests of an agent.

use super::asked::{RequestForm, choices, fields, is_multiple, is_skip, options};
use crate::json::{JsonWriter, Raw, Str};
use crate::live::json_rpc::{begin_result, end};
use crate::model::Decision;
use crate::tape::Val;

/// A request that waits for the answer of a person.
#[derive(Debug)]
pub(super) enum Waiting {
    Permission(PermissionOptions),
    /// Kimi's answers: the label and the id of each option, and the id of the option that skips the question.
    Choice {
        labels: Vec<(Str<'static>, Raw<'static>)>,
        skip: Option<Raw<'static>>,
    },
    Fields(Vec<Field>),
    Page,
}

/// The id of the first option of each kind.
#[derive(Debug, Default)]
pub(super) struct PermissionOptions {
    allow_once: Option<Raw<'static>>,
    allow_always: Option<Raw<'static>>,
    reject_once: Option<Raw<'static>>,
    reject_always: Option<Raw<'static>>,
}

/// A field of a form.
#[derive(Debug)]
pub(super) struct Field {
    name: String,
    value: ValueType,
    /// The label and the value of each choice.
    choices: Vec<(Str<'static>, Raw<'static>)>,
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug)]
enum ValueType {
    Text,
    /// A number or a truth value: the label is the JSON value.
    Bare,
    List,
}

impl Waiting {
    /// The request in the parameters of `session/request_permission`; `None` if no option can be selected.
    pub(super) fn of_permission(params: Val<'_>) -> Option<Self> {
        let id = |option: Val<'_>| option.get("optionId").map(|id| id.raw().into_owned());
        Some(match RequestForm::of_permission(params)? {
            RequestForm::Choice => {
                let answers = options(params).filter(|option| !is_skip(*option));
                let labels =
                    answers.filter_map(|option| Some((option.get("name")?.str()?.into_owned(), id(option)?)));
                let labels = labels.collect();
                Waiting::Choice { labels, skip: options(params).find(|option| is_skip(*option)).and_then(id) }
            }
            _ => Waiting::Permission(PermissionOptions::of(params)),
        })
    }

    /// The request in the parameters of `elicitation/create`; `None` for an unknown mode.
    pub(super) fn of_elicitation(params: Val<'_>) -> Option<Self> {
        Some(match RequestForm::of_elicitation(params)? {
            RequestForm::Page => Waiting::Page,
            _ => Waiting::Fields(fields(params).map(|(name, field)| Field::of(&name, field)).collect()),
        })
    }

    /// Answers a permission request. A decision on a question is not an answer: the question is cancelled.
    pub(super) fn decide(&self, id: &Raw<'_>, decision: &Decision<'_>, json: &mut JsonWriter<'_>) {
        match self {
            Waiting::Permission(options) => select(id, options.chosen(decision), json),
            Waiting::Choice { skip, .. } => select(id, skip.as_ref(), json),
            Waiting::Fields(_) | Waiting::Page => act(id, "cancel", json),
        }
    }

    /// Answers a question: the chosen labels of each prompt, or `None` if the person declined.
    pub(super) fn answer(&self, id: &Raw<'_>, answers: Option<&[Vec<Str<'_>>]>, json: &mut JsonWriter<'_>) {
        match (self, answers) {
            (Waiting::Permission(_), _) => select(id, None, json),
            (Waiting::Choice { labels, skip }, answers) => {
                let chosen = answers.and_then(|answers| answers.first()?.first());
                let chosen = chosen
                    .and_then(|chosen| Some(&labels.iter().find(|(label, _)| is_same(label, chosen))?.1));
                select(id, chosen.or(skip.as_ref()), json);
            }
            (Waiting::Fields(_) | Waiting::Page, None) => act(id, "decline", json),
            (Waiting::Page, Some(_)) => act(id, "accept", json),
            (Waiting::Fields(fields), Some(answers)) => {
                let json = begin_result(true, id, json);
                json.up_to_value(r#"{"action":"accept","content":"#).object();
                for (field, chosen) in fields.iter().zip(answers) {
                    field.put(chosen, json);
                }
                json.end_object().end_object();
                end(json);
            }
        }
    }

    /// Answers the request because the turn was cancelled.
    pub(super) fn cancel(&self, id: &Raw<'_>, json: &mut JsonWriter<'_>) {
        match self {
            Waiting::Permission(_) | Waiting::Choice { .. } => select(id, None, json),
            Waiting::Fields(_) | Waiting::Page => act(id, "cancel", json),
        }
    }
}

impl PermissionOptions {
    /// Options that are named by their kinds, as this dialect writes them.
    pub(super) fn ours() -> Self {
        let id = |json: &'static str| Some(Raw::new(json));
        Self {
            allow_once: id(r#""allow_once""#),
            allow_always: id(r#""allow_always""#),
            reject_once: id(r#""reject_once""#),
            reject_always: None,
        }
    }

    fn of(params: Val<'_>) -> Self {
        let mut found = Self::default();
        for option in options(params) {
            let place = match option.str_or_empty("kind") {
                "allow_once" => &mut found.allow_once,
                "allow_always" => &mut found.allow_always,
                "reject_once" => &mut found.reject_once,
                "reject_always" => &mut found.reject_always,
                // An option of an unknown kind is never selected for a person.
                _ => continue,
            };
            if place.is_none() {
                *place = option.get("optionId").map(|id| id.raw().into_owned());
            }
        }
        found
    }

    /// The option for a decision. Permission for the session falls back to permission once; permission once never
    /// becomes permission for the session.
    fn chosen(&self, decision: &Decision<'_>) -> Option<&Raw<'static>> {
        match decision {
            Decision::Accept => self.allow_once.as_ref(),
            Decision::AcceptForSession => self.allow_always.as_ref().or(self.allow_once.as_ref()),
            Decision::Reject(_) => self.reject_once.as_ref().or(self.reject_always.as_ref()),
        }
    }
}

impl Field {
    fn of(name: &Str<'_>, field: Val<'_>) -> Self {
        let value = match field.str_or_empty("type") {
            _ if is_multiple(field) => ValueType::List,
            "boolean" | "number" | "integer" => ValueType::Bare,
            _ => ValueType::Text,
        };
        let choices = choices(field)
            .filter_map(|choice| Some((choice.label.str()?.into_owned(), choice.value.raw().into_owned())));
        Self { name: name.as_escaped().to_owned(), value, choices: choices.collect() }
    }

    /// Writes the value of the field; a field without an answer is left out.
    fn put(&self, chosen: &[Str<'_>], json: &mut JsonWriter<'_>) {
        let Some(first) = chosen.first() else { return };
        json.key(&self.name);
        match self.value {
            ValueType::List => {
                json.array();
                for label in chosen {
                    self.put_value(label, json);
                }
                json.end_array();
            }
            ValueType::Bare if is_bare(&first.decode()) => _ = json.raw(&Raw::new(first.as_escaped())),
            ValueType::Bare | ValueType::Text => self.put_value(first, json),
        }
    }

    /// Writes the value of a choice, or a text of the person's own.
    fn put_value(&self, label: &Str<'_>, json: &mut JsonWriter<'_>) {
        match self.choices.iter().find(|(known, _)| is_same(known, label)) {
            Some((_, value)) => json.raw(value),
            None => json.str(label),
        };
    }
}

/// Whether two labels are the same text, in any spelling of JSON.
fn is_same(one: &Str<'_>, two: &Str<'_>) -> bool {
    one == two || one.decode() == two.decode()
}

/// Whether a text is a number or a truth value of JSON.
fn is_bare(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = is_whole(whole) && is_whole(part) && (whole == "0" || !whole.starts_with('0'));
    matches!(text, "true" | "false") || is_number
}

/// Selects an option; without an option, the request is cancelled.
fn select(id: &Raw<'_>, option: Option<&Raw<'_>>, json: &mut JsonWriter<'_>) {
    let json = begin_result(true, id, json);
    match option {
        Some(option) => json
            .up_to_value(r#"{"outcome":{"outcome":"selected","optionId":"#)
            .raw(option)
            .end_object()
            .end_object(),
        None => json.with_value(r#"{"outcome":{"outcome":"cancelled"}}"#),
    };
    end(json);
}

/// Answers a form without content.
fn act(id: &Raw<'_>, action: &str, json: &mut JsonWriter<'_>) {
    begin_result(true, id, json).object().key("action").literal(action).end_object();
    end(json);
}
