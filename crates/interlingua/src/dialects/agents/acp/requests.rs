//! Permission requests and questions of the agent, and the answers of the client in a transcript of both directions.

use super::asked::{Choice, RequestForm, choices, fields, is_multiple, is_skip, options};
use super::tools::Calls;
use crate::json::Str;
use crate::live::json_rpc::id_text;
use crate::model::{Decision, Event, Field, Permission, Prompt, Question};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Claim, Kind, Val};
use crate::wire::note_tag;

/// Open requests, by the text of their id.
#[derive(Default)]
pub(super) struct Requests(Remembered<OpenRequest>);

enum OpenRequest {
    Permission {
        permission: Permission<'static>,
        /// The id and the meaning of each option.
        options: Vec<(String, Decision<'static>)>,
    },
    Question {
        question: Question<'static>,
        /// The names of the fields, or the ids of Kimi's options with their labels.
        names: Vec<(String, Str<'static>)>,
    },
}

impl Requests {
    /// Reads a `session/request_permission`. Returns whether a person can answer it.
    pub(super) fn permission(
        &mut self,
        id: Val<'_>,
        params: Val<'_>,
        calls: &mut Calls,
        out: &mut EventSink<'_>,
    ) -> bool {
        let form = RequestForm::of_permission(params);
        let tool = params.get("toolCall").filter(|tool| tool.kind() == Kind::Object);
        match form {
            Some(RequestForm::Choice) => self.choice(id, params, tool, out),
            Some(_) => {
                if let Some(tool) = tool {
                    calls.asked(tool, out);
                }
                self.ask_permission(id, params, tool, out);
            }
            None => return false,
        }
        true
    }

    fn ask_permission(
        &mut self,
        id: Val<'_>,
        params: Val<'_>,
        tool: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) {
        let name = take_id(id, Field::PermissionId);
        let title = tool.and_then(|tool| tool.get("title").or_else(|| tool.get("kind")));
        // The title may be the arguments of a call that this line starts.
        let action = title.and_then(|title| free_text(title, Field::PermissionAction));
        let call_id = tool.and_then(|tool| free_text(tool.get("toolCallId")?, Field::PermissionCallId));
        let input = tool.and_then(|tool| tool.get("rawInput")).map(|input| match input.claimed() {
            Claim::Free => input.take(Field::PermissionInput),
            _ => input.raw(),
        });
        let permission = Permission {
            id: name,
            action: action.unwrap_or_else(|| Str::escaped("tool")),
            call_id,
            input,
            answer: None,
            by: None,
        };
        let kinds = options(params).map(|option| {
            let decision = decision(option.str_or_empty("kind"));
            (option.str_or_empty("optionId").to_owned(), decision)
        });
        let kinds = kinds.collect();
        out.event(&Event::PermissionRequested(permission.clone()));
        let permission = Permission { input: None, ..permission }.into_owned();
        self.remember(id, OpenRequest::Permission { permission, options: kinds }, out);
    }

    /// Reads a question of Kimi.
    fn choice(&mut self, id: Val<'_>, params: Val<'_>, tool: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let text = tool.and_then(|tool| {
            let mut blocks = tool.get("content").into_iter().flat_map(|content| content.elements());
            let said = blocks.find_map(|block| block.get("content")?.get("text"));
            said.or_else(|| tool.get("title"))?.take_text(Field::QuestionText)
        });
        let answers = || options(params).filter(|option| !is_skip(*option));
        let labels = answers().filter_map(|option| option.take_str("name", Field::QuestionOption));
        let labels: Vec<_> = labels.map(|label| (label, None)).collect();
        let names = answers().map(|option| {
            let label = option.get("name").and_then(|name| name.str()).unwrap_or_default();
            (option.str_or_empty("optionId").to_owned(), label.into_owned())
        });
        let names = names.collect();
        let prompt = Prompt { text: text.unwrap_or_default(), options: labels, multiple: false };
        let question = Question {
            id: take_id(id, Field::QuestionId),
            call_id: tool.and_then(|tool| tool.take_str("toolCallId", Field::QuestionCallId)),
            prompts: vec![prompt],
            answers: None,
            declined: false,
        };
        self.ask(id, question, names, out);
    }

    /// Reads an `elicitation/create`. Returns whether a person can answer it.
    pub(super) fn elicitation(&mut self, id: Val<'_>, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(form) = RequestForm::of_elicitation(params) else { return false };
        note_tag(params, "mode", &["form", "url"]);
        let message = params.get("message").filter(|message| message.str().is_some());
        let names: Vec<_> = match form {
            RequestForm::Page => vec![(String::new(), Str::default())],
            _ => fields(params).map(|(name, _)| (name.as_escaped().to_owned(), Str::default())).collect(),
        };
        let prompts = match form {
            RequestForm::Page => {
                let page = params.take_str("url", Field::QuestionOptionAbout);
                let text = message.and_then(|message| message.take_text(Field::QuestionText));
                vec![Prompt {
                    text: text.unwrap_or_default(),
                    options: vec![(Str::escaped("open"), page)],
                    multiple: false,
                }]
            }
            _ => fields(params).map(|(name, field)| prompt(name, field, message, names.len() == 1)).collect(),
        };
        let question = Question {
            id: take_id(id, Field::QuestionId),
            call_id: params.take_str("toolCallId", Field::QuestionCallId),
            prompts,
            answers: None,
            declined: false,
        };
        self.ask(id, question, names, out);
        true
    }

    fn ask(
        &mut self,
        id: Val<'_>,
        question: Question<'_>,
        names: Vec<(String, Str<'static>)>,
        out: &mut EventSink<'_>,
    ) {
        out.event(&Event::QuestionRequested(question.clone()));
        self.remember(id, OpenRequest::Question { question: question.into_owned(), names }, out);
    }

    fn remember(&mut self, id: Val<'_>, request: OpenRequest, out: &mut EventSink<'_>) {
        if self.0.insert(id_text(id), request).is_some() {
            out.note("forgot the request that waited longest: too many wait for their answer");
        }
    }

    /// Reads a withdrawal by the agent: `$/cancel_request`. Returns whether the request was open.
    pub(super) fn withdrawn(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(id) = params.get("requestId") else { return false };
        let Some(request) = self.0.remove(id_text(id)) else { return false };
        id.note(request.id_field());
        request.refuse(out);
        true
    }

    /// Reads a response of the client. Returns whether it answers a request.
    pub(super) fn answer(
        &mut self,
        id: Val<'_>,
        outcome: Result<Val<'_>, Val<'_>>,
        is_of_agent: bool,
        is_of_client: bool,
        out: &mut EventSink<'_>,
    ) -> bool {
        let is_decision = |result: Val<'_>| result.get("outcome").is_some_and(|it| it.has_str("outcome"));
        let is_form =
            |result: Val<'_>| ["accept", "decline", "cancel"].contains(&result.str_or_empty("action"));
        match outcome {
            Ok(result) if !is_decision(result) && !is_form(result) => false,
            // An error with the number of an open request of the client answers that request.
            Err(_) if is_of_agent => false,
            outcome => {
                let Some(request) = self.0.remove(id_text(id)) else {
                    return is_of_client && answer_unread(id, outcome, out);
                };
                id.note(request.id_field());
                match outcome {
                    Ok(result) => request.resolve(result, out),
                    Err(_) => request.refuse(out),
                }
                true
            }
        }
    }
}

impl OpenRequest {
    const fn id_field(&self) -> Field {
        match self {
            OpenRequest::Permission { .. } => Field::PermissionId,
            OpenRequest::Question { .. } => Field::QuestionId,
        }
    }

    /// Emits the answer of a person.
    fn resolve(self, result: Val<'_>, out: &mut EventSink<'_>) {
        match self {
            OpenRequest::Permission { permission, options } => {
                let chosen = selected(result);
                let meaning = |chosen: &str| options.into_iter().find(|(option, _)| option == chosen);
                let answer = chosen.and_then(|chosen| Some(meaning(id_text(chosen))?.1));
                let answer = note_decision(chosen, answer);
                out.event(&Event::PermissionResolved(Permission { answer: Some(answer), ..permission }));
            }
            OpenRequest::Question { question, names } => {
                let answers = match result.get("outcome") {
                    Some(_) => {
                        let chosen = selected(result);
                        let label = chosen.and_then(|chosen| {
                            names.into_iter().find(|(option, _)| option == id_text(chosen))
                        });
                        label.map(|(_, label)| {
                            chosen.map(|chosen| chosen.note(Field::QuestionAnswer));
                            vec![vec![label]]
                        })
                    }
                    None => accepted(result)
                        .then(|| names.iter().map(|(name, _)| labels(result.get("content"), name)).collect()),
                };
                let declined = answers.is_none();
                out.event(&Event::QuestionResolved(Question { answers, declined, ..question }));
            }
        }
    }

    /// Emits a refusal.
    fn refuse(self, out: &mut EventSink<'_>) {
        match self {
            OpenRequest::Permission { permission, .. } => {
                let answer = Some(Decision::Reject(None));
                out.event(&Event::PermissionResolved(Permission { answer, ..permission }));
            }
            OpenRequest::Question { question, .. } => {
                out.event(&Event::QuestionResolved(Question { declined: true, ..question }));
            }
        }
    }
}

/// Reads an answer whose request is not in the client's lines. The request was ours: its options are named by their kinds,
/// and its fields by their numbers.
fn answer_unread(id: Val<'_>, outcome: Result<Val<'_>, Val<'_>>, out: &mut EventSink<'_>) -> bool {
    let form = outcome.ok().filter(|result| result.has_str("action"));
    if let Some(result) = form {
        let answers = accepted(result).then(|| {
            let names = (0..).map(|number: usize| format!("q{number}"));
            let count = result.get("content").map_or(0, |content| content.members().count());
            names.take(count).map(|name| labels(result.get("content"), &name)).collect()
        });
        let declined = answers.is_none();
        let id = take_id(id, Field::QuestionId);
        out.event(&Event::QuestionResolved(Question {
            id,
            call_id: None,
            prompts: vec![],
            answers,
            declined,
        }));
        return true;
    }
    let answer = match outcome {
        Ok(result) => {
            let chosen = selected(result);
            note_decision(chosen, chosen.map(|chosen| decision(id_text(chosen))))
        }
        Err(_) => Decision::Reject(None),
    };
    out.event(&Event::PermissionResolved(Permission {
        id: take_id(id, Field::PermissionId),
        action: Str::default(),
        call_id: None,
        input: None,
        answer: Some(answer),
        by: None,
    }));
    true
}

/// The text of a request's id.
fn take_id(id: Val<'_>, field: Field) -> Str<'_> {
    if let Some(text) = id.take_text(field) {
        return text;
    }
    id.note(field);
    Str::escaped(id.text())
}

/// The text of a value; the value is taken unless another field has it.
fn free_text(val: Val<'_>, field: Field) -> Option<Str<'_>> {
    match val.claimed() {
        Claim::Free => val.take_text(field),
        _ => val.str(),
    }
}

/// The meaning of an option's kind. An unknown kind allows nothing.
fn decision(kind: &str) -> Decision<'static> {
    match kind {
        "allow_once" => Decision::Accept,
        "allow_always" => Decision::AcceptForSession,
        _ => Decision::Reject(None),
    }
}

/// The id of the selected option; `None` if the request was cancelled.
fn selected(result: Val<'_>) -> Option<Val<'_>> {
    let outcome = result.get("outcome")?;
    let is_selected = outcome.str_or_empty("outcome") == "selected";
    outcome.get("optionId").filter(|option| is_selected && option.str().is_some())
}

/// Notes the option of a permission. Every option that is not known to allow the action denies it.
fn note_decision(option: Option<Val<'_>>, decision: Option<Decision<'static>>) -> Decision<'static> {
    match decision {
        Some(allowed @ (Decision::Accept | Decision::AcceptForSession)) => {
            option.map(|option| option.note(Field::PermissionAnswer));
            allowed
        }
        Some(Decision::Reject(_)) | None => Decision::Reject(None),
    }
}

/// Whether a person filled in the form.
fn accepted(result: Val<'_>) -> bool {
    result.note_str("action", Field::QuestionDeclined).is_some_and(|action| action.is("accept"))
}

/// The prompt of a field. The message of a form with one field is its question.
fn prompt<'t>(name: Str<'t>, field: Val<'t>, message: Option<Val<'t>>, is_only: bool) -> Prompt<'t> {
    let message = message.filter(|message| is_only && !message.is(""));
    let text = message
        .and_then(|message| message.take_text(Field::QuestionText))
        .or_else(|| field.take_str("description", Field::QuestionText))
        .or_else(|| field.take_str("title", Field::QuestionText))
        .unwrap_or(name);
    let multiple = is_multiple(field);
    field.get("type").filter(|kind| kind.is("array")).map(|kind| kind.note(Field::QuestionMultiple));
    let options = choices(field).filter_map(|Choice { value, label, about }| {
        if value.text() == label.text() {
            value.note(Field::Structure);
        }
        let about = about.and_then(|about| about.take_text(Field::QuestionOptionAbout));
        Some((label.take_text(Field::QuestionOption)?, about))
    });
    let mut options: Vec<_> = options.collect();
    if field.str_or_empty("type") == "boolean" {
        field.note_str("type", Field::QuestionOption);
        options = ["true", "false"].map(|word| (Str::escaped(word), None)).into();
    }
    Prompt { text, options, multiple }
}

/// The answers to one field: a text, a number, or a list of texts.
fn labels<'t>(content: Option<Val<'t>>, name: &str) -> Vec<Str<'t>> {
    let Some(answer) = content.and_then(|content| content.get(name)) else { return Vec::new() };
    match answer.kind() {
        Kind::Array => answer.elements().filter_map(|label| label.note_text(Field::QuestionAnswer)).collect(),
        Kind::String => answer.note_text(Field::QuestionAnswer).into_iter().collect(),
        Kind::Object | Kind::Null => Vec::new(),
        _ => {
            answer.note(Field::QuestionAnswer);
            vec![Str::escaped(answer.text())]
        }
    }
}
