//! The agent's requests to a person: permissions and questions. The server tells every client of each answer, whoever
//! gave it.

use crate::json::Str;
use crate::model::{Decision, Event, Field, Permission, Prompt, Question};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Kind, Val};

/// The open requests by their id.
#[derive(Default)]
pub(super) struct Requests(Remembered<OpenRequest>);

enum OpenRequest {
    Permission(Permission<'static>),
    Question(Question<'static>),
}

impl Requests {
    /// Reads a request for permission.
    pub(super) fn permission(&mut self, properties: Val<'_>, out: &mut EventSink<'_>) -> bool {
        if !properties.has_str("id") || !properties.has_str("permission") {
            return false;
        }
        let id = properties.take_str("id", Field::PermissionId).unwrap_or_default();
        let action = properties.take_str("permission", Field::PermissionAction).unwrap_or_default();
        let call = properties.get("tool");
        let call_id = call.and_then(|call| call.take_str("callID", Field::PermissionCallId));
        // The metadata has the arguments; a request without metadata has only the patterns.
        let filled = |val: &Val<'_>| val.inner_values().next().is_some();
        let metadata = properties.get("metadata").filter(|val| val.kind() == Kind::Object).filter(filled);
        let input = metadata.or_else(|| properties.get("patterns").filter(filled));
        let input = input.map(|input| input.take(Field::PermissionInput));
        let request = Permission { id, action, call_id, input, answer: None, by: None };
        out.event(&Event::PermissionRequested(request.clone()));
        // A decision repeats no arguments.
        let known = Permission { input: None, ..request }.into_owned();
        let name = known.id.as_escaped().to_owned();
        self.remember(&name, OpenRequest::Permission(known), out);
        true
    }

    /// Reads the decision on a permission.
    pub(super) fn decided(&mut self, properties: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let id = properties.str_or_empty("requestID");
        let verdict = match properties.str_or_empty("reply") {
            "once" => Decision::Accept,
            "always" => Decision::AcceptForSession,
            "reject" => Decision::Reject(None),
            _ => return false,
        };
        match self.0.remove(id) {
            Some(OpenRequest::Permission(request)) => {
                properties.note_str("requestID", Field::PermissionId);
                properties.note_str("reply", Field::PermissionAnswer);
                resolve_permission(&request, verdict, out);
                true
            }
            Some(other) => {
                self.0.insert(id, other);
                false
            }
            None => false,
        }
    }

    /// Reads a question.
    pub(super) fn question(&mut self, properties: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(questions) = properties.get("questions").filter(|list| list.kind() == Kind::Array) else {
            return false;
        };
        let has_text = |question: Val<'_>| question.has_str("question");
        if !properties.has_str("id") || !questions.elements().all(has_text) {
            return false;
        }
        let id = properties.take_str("id", Field::QuestionId).unwrap_or_default();
        let prompts = questions.elements().filter_map(prompt).collect();
        let call_id = properties.get("tool").and_then(|call| call.take_str("callID", Field::QuestionCallId));
        let question = Question { id, call_id, prompts, answers: None, declined: false };
        out.event(&Event::QuestionRequested(question.clone()));
        let question = question.into_owned();
        let name = question.id.as_escaped().to_owned();
        self.remember(&name, OpenRequest::Question(question), out);
        true
    }

    /// Reads the answer to a question, or the refusal to answer.
    pub(super) fn answered(&mut self, properties: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let id = properties.str_or_empty("requestID");
        match self.0.remove(id) {
            Some(OpenRequest::Question(question)) => {
                properties.note_str("requestID", Field::QuestionId);
                let answers = properties.get("answers").filter(|list| list.kind() == Kind::Array);
                let labels = |answer: Val<'_>| -> Vec<Str<'static>> {
                    let labels = answer.elements();
                    labels
                        .filter_map(|label| Some(label.note_text(Field::QuestionAnswer)?.into_owned()))
                        .collect()
                };
                let answers = answers.map(|list| list.elements().map(labels).collect());
                resolve_question(&question, answers, out);
                true
            }
            Some(other) => {
                self.0.insert(id, other);
                false
            }
            None => false,
        }
    }

    /// Resolves the open requests at the end of the turn: after an interrupt nobody waits for their answers.
    pub(super) fn withdraw(&mut self, out: &mut EventSink<'_>) {
        for request in self.0.take_all() {
            match request {
                OpenRequest::Permission(request) => resolve_permission(&request, Decision::Reject(None), out),
                OpenRequest::Question(question) => resolve_question(&question, None, out),
            }
        }
    }

    fn remember(&mut self, name: &str, request: OpenRequest, out: &mut EventSink<'_>) {
        let same = self.0.remove(name);
        if same.is_some() || self.0.insert(name, request).is_some() {
            out.note("forgot a request: another has its id, or too many wait for their answer");
        }
    }
}

fn resolve_permission(request: &Permission<'static>, verdict: Decision<'_>, out: &mut EventSink<'_>) {
    let Permission { id, action, call_id, .. } = request;
    out.event(&Event::PermissionResolved(Permission {
        id: id.reborrow(),
        action: action.reborrow(),
        call_id: call_id.as_ref().map(Str::reborrow),
        input: None,
        answer: Some(verdict),
        by: None,
    }));
}

/// Resolves a question; without answers, the user declined.
fn resolve_question(
    question: &Question<'static>,
    answers: Option<Vec<Vec<Str<'static>>>>,
    out: &mut EventSink<'_>,
) {
    let declined = answers.is_none();
    out.event(&Event::QuestionResolved(Question { answers, declined, ..question.clone() }));
}

fn prompt(question: Val<'_>) -> Option<Prompt<'_>> {
    let text = question.take_str("question", Field::QuestionText)?;
    let options = question.get("options").into_iter().flat_map(|options| options.elements());
    let options = options.filter_map(|option| {
        let label = option.take_str("label", Field::QuestionOption)?;
        Some((label, option.take_str("description", Field::QuestionOptionAbout)))
    });
    let options = options.collect();
    let multiple = question.take_bool("multiple", Field::QuestionMultiple) == Some(true);
    Some(Prompt { text, options, multiple })
}
