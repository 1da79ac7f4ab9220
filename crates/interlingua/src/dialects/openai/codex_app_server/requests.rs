//! Requests of the server to the user: approvals and questions. A transcript holds the client's answer; in the server's
//! output alone, the item that waited for the approval shows the decision.

use crate::dialects::openai::live_items::object_of;
use crate::json::Str;
use crate::live::json_rpc::id_text;
use crate::model::{Decision, Event, Field, Permission, Prompt, Question};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Kind, Val};

/// The method of a question.
pub(super) const QUESTION: &str = "item/tool/requestUserInput";

/// A method that asks for an approval: the action, the member with the id of the call, and the members of the input.
pub(super) struct ApprovalMethod {
    method: &'static str,
    pub(super) action: &'static str,
    call: &'static str,
    input: &'static [&'static str],
    /// Older clients answer with the words of `ReviewDecision`.
    pub(super) is_old: bool,
}

/// All methods that ask for an approval.
static APPROVALS: [ApprovalMethod; 4] = [
    ApprovalMethod {
        method: "item/commandExecution/requestApproval",
        action: "commandExecution",
        call: "itemId",
        input: &["kind", "command", "cwd", "reason", "networkApprovalContext", "additionalPermissions"],
        is_old: false,
    },
    ApprovalMethod {
        method: "item/fileChange/requestApproval",
        action: "fileChange",
        call: "itemId",
        input: &["reason", "grantRoot"],
        is_old: false,
    },
    ApprovalMethod {
        method: "execCommandApproval",
        action: "execCommandApproval",
        call: "callId",
        input: &["command", "cwd", "reason", "parsedCmd"],
        is_old: true,
    },
    ApprovalMethod {
        method: "applyPatchApproval",
        action: "applyPatchApproval",
        call: "callId",
        input: &["fileChanges", "reason", "grantRoot"],
        is_old: true,
    },
];

impl ApprovalMethod {
    /// The approval that a method asks for.
    pub(super) fn of(method: &str) -> Option<&'static Self> {
        APPROVALS.iter().find(|approval| approval.method == method)
    }

    /// The approval of an action.
    pub(super) fn of_action(action: &str) -> Option<&'static Self> {
        APPROVALS.iter().find(|approval| approval.action == action)
    }
}

/// Open requests.
#[derive(Default)]
pub(super) struct Requests {
    by_id: Remembered<OpenRequest>,
    /// The text of the request's id, by the id of the call.
    by_call: Remembered<String>,
}

struct OpenRequest {
    id: Str<'static>,
    call_id: Option<Str<'static>>,
    asked: Asked,
}

enum Asked {
    Approval(&'static ApprovalMethod),
    /// The prompts, and the names of their answers.
    Question {
        prompts: Vec<Prompt<'static>>,
        names: Vec<String>,
    },
}

/// The questions of a request that have a text.
pub(super) fn questions(params: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    let questions = params.get("questions").into_iter().flat_map(|questions| questions.elements());
    questions.filter(|question| question.has_str("question"))
}

impl Requests {
    /// Reads a request of the server. Returns whether the request is addressed to the user.
    pub(super) fn asked(
        &mut self,
        id: Val<'_>,
        method: &str,
        params: Val<'_>,
        out: &mut EventSink<'_>,
    ) -> bool {
        let name = Str::escaped(id_text(id));
        let (call_id, asked) = if let Some(approval) = ApprovalMethod::of(method) {
            id.note(Field::PermissionId);
            let call_id = params.take_str(approval.call, Field::PermissionCallId);
            out.event(&Event::PermissionRequested(Permission {
                id: name.clone(),
                action: Str::escaped(approval.action),
                call_id: call_id.clone(),
                input: Some(object_of(params, approval.input, Field::PermissionInput)),
                answer: None,
                by: None,
            }));
            (call_id, Asked::Approval(approval))
        } else if method == QUESTION && questions(params).next().is_some() {
            id.note(Field::QuestionId);
            let call_id = params.take_str("itemId", Field::QuestionCallId);
            let names = questions(params).map(|it| it.str_or_empty("id").to_owned()).collect();
            let prompts: Vec<_> = questions(params).filter_map(prompt).collect();
            let owned = prompts.iter().cloned().map(Prompt::into_owned).collect();
            out.event(&Event::QuestionRequested(Question {
                id: name.clone(),
                call_id: call_id.clone(),
                prompts,
                answers: None,
                declined: false,
            }));
            (call_id, Asked::Question { prompts: owned, names })
        } else {
            return false;
        };
        let call_id = call_id.map(Str::into_owned);
        if let (Some(call), Asked::Approval(_)) = (&call_id, &asked) {
            self.by_call.insert(call.as_escaped(), name.as_escaped().to_owned());
        }
        let request = OpenRequest { id: name.clone().into_owned(), call_id, asked };
        let again = self.by_id.remove(name.as_escaped());
        let forgotten = self.by_id.insert(name.as_escaped(), request);
        for request in again.into_iter().chain(forgotten) {
            request.resolve(&Answer::Refused(None), out);
        }
        true
    }

    /// Reads a response. Returns whether the response answers an open request of the server: a decision, answers, or an
    /// error that cannot belong to a request of the client.
    pub(super) fn answered(
        &mut self,
        id: Val<'_>,
        outcome: Result<Val<'_>, Val<'_>>,
        is_to_client: bool,
        out: &mut EventSink<'_>,
    ) -> bool {
        let Some(request) = self.by_id.get(id_text(id)) else { return false };
        let answer = match (&request.asked, outcome) {
            (Asked::Approval(_), Ok(result)) => result.get("decision").map(decision),
            (Asked::Question { .. }, Ok(result)) => {
                result.get("answers").filter(|answers| answers.kind() == Kind::Object).map(Answer::Given)
            }
            (_, Err(_)) if is_to_client => None,
            (_, Err(error)) => Some(Answer::Refused(Some(error))),
        };
        let Some(answer) = answer else { return false };
        let Some(request) = self.by_id.remove(id_text(id)) else { return false };
        id.note(match request.asked {
            Asked::Approval(_) => Field::PermissionId,
            Asked::Question { .. } => Field::QuestionId,
        });
        request.resolve(&answer, out);
        true
    }

    /// Reads `serverRequest/resolved`. The decision on an approval follows from the item; the answers to a question are
    /// not in the output of the server.
    pub(super) fn resolved(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(id) = params.get("requestId") else { return false };
        match self.by_id.get(id_text(id)).map(|request| &request.asked) {
            Some(Asked::Question { .. }) => {
                if let Some(request) = self.by_id.remove(id_text(id)) {
                    id.note(Field::QuestionId);
                    request.resolve(&Answer::Unknown, out);
                }
                true
            }
            Some(Asked::Approval(_)) => true,
            // The answer was in the transcript, or the request was refused.
            None => false,
        }
    }

    /// The item that waited for an approval runs.
    pub(super) fn runs(&mut self, call: &str, out: &mut EventSink<'_>) {
        if let Some(request) = self.by_call.remove(call).and_then(|id| self.by_id.remove(&id)) {
            request.resolve(&Answer::Accepted(Decision::Accept), out);
        }
    }

    /// The item that waited for an approval is complete.
    pub(super) fn settle(&mut self, item: Val<'_>, out: &mut EventSink<'_>) {
        let id = self.by_call.remove(item.str_or_empty("id"));
        let Some(request) = id.and_then(|id| self.by_id.remove(&id)) else { return };
        let status = item.get("status").filter(|status| status.str().is_some());
        let is_declined = status.is_some_and(|status| status.is("declined"));
        request.resolve(
            &if is_declined { Answer::Refused(None) } else { Answer::Accepted(Decision::Accept) },
            out,
        );
    }

    /// The end of the turn withdraws all open requests.
    pub(super) fn turn_ended(&mut self, out: &mut EventSink<'_>) {
        drop(self.by_call.take_all());
        for request in self.by_id.take_all() {
            request.resolve(&Answer::Refused(None), out);
        }
    }
}

/// The answer to a request.
enum Answer<'t> {
    Accepted(Decision<'t>),
    /// Refused, with the client's error.
    Refused(Option<Val<'t>>),
    /// Answers by the names of the questions.
    Given(Val<'t>),
    /// Answered, but the answers are not visible.
    Unknown,
}

/// The decision of a client.
fn decision(decision: Val<'_>) -> Answer<'_> {
    // Some decisions are objects with a single member.
    let member = decision.members().next();
    let word = member.as_ref().map_or_else(|| decision.str().unwrap_or_default(), |(name, _)| name.clone());
    let answer = match word.as_escaped() {
        "accept" | "approved" => Answer::Accepted(Decision::Accept),
        "acceptForSession"
        | "acceptWithExecpolicyAmendment"
        | "applyNetworkPolicyAmendment"
        | "approved_for_session"
        | "approved_execpolicy_amendment" => Answer::Accepted(Decision::AcceptForSession),
        "denied" => {
            let reason =
                member.and_then(|(_, detail)| detail.take_str("rejection", Field::PermissionMessage));
            return Answer::Accepted(Decision::Reject(reason));
        }
        "decline" | "cancel" | "abort" | "timed_out" => Answer::Refused(None),
        // An unknown word stays in the line, and allows nothing.
        _ => return Answer::Refused(None),
    };
    decision.note(Field::PermissionAnswer);
    answer
}

impl OpenRequest {
    fn resolve(self, answer: &Answer<'_>, out: &mut EventSink<'_>) {
        let Self { id, call_id, asked } = self;
        match asked {
            Asked::Approval(approval) => {
                let answer = match answer {
                    Answer::Accepted(decision) => decision.clone(),
                    Answer::Refused(error) => Decision::Reject(
                        error.and_then(|error| error.take_str("message", Field::PermissionMessage)),
                    ),
                    Answer::Given(_) | Answer::Unknown => Decision::Accept,
                };
                out.event(&Event::PermissionResolved(Permission {
                    id,
                    action: Str::escaped(approval.action),
                    call_id,
                    input: None,
                    answer: Some(answer),
                    by: None,
                }));
            }
            Asked::Question { prompts, names } => {
                let declined = matches!(answer, Answer::Refused(_));
                let answers = match answer {
                    Answer::Given(given) => Some(names.iter().map(|name| chosen(*given, name)).collect()),
                    Answer::Accepted(_) | Answer::Refused(_) | Answer::Unknown => None,
                };
                out.event(&Event::QuestionResolved(Question { id, call_id, prompts, answers, declined }));
            }
        }
    }
}

/// The chosen labels of one question.
fn chosen<'t>(given: Val<'t>, name: &str) -> Vec<Str<'t>> {
    let answer = given.members().find(|(of, _)| of.as_escaped() == name).map(|(_, answer)| answer);
    let labels = answer.and_then(|answer| answer.get("answers"));
    let labels = labels.into_iter().flat_map(|labels| labels.elements());
    labels.filter_map(|label| label.note_text(Field::QuestionAnswer)).collect()
}

fn prompt(question: Val<'_>) -> Option<Prompt<'_>> {
    let text = question.take_str("question", Field::QuestionText)?;
    let options = question.get("options").into_iter().flat_map(|options| options.elements());
    let options = options.filter_map(|option| {
        let label = option.take_str("label", Field::QuestionOption)?;
        Some((label, option.take_str("description", Field::QuestionOptionAbout)))
    });
    Some(Prompt { text, options: options.collect(), multiple: false })
}
