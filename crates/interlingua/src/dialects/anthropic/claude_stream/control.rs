//! The control protocol: the agent's requests and the decisions on them. A two-way transcript holds a decision as a
//! `control_response`; in stdout alone, the tool result that follows shows it.

use crate::json::Str;
use crate::model::{Decision, Event, Field, Permission, Prompt, Question};
use crate::pipe::{EventSink, Remembered};
use crate::tape::Val;

/// Open requests.
#[derive(Default)]
pub(super) struct Requests {
    by_id: Remembered<OpenRequest>,
    /// The request's id by the call's id.
    by_call: Remembered<String>,
}

struct OpenRequest {
    id: Str<'static>,
    call_id: Option<Str<'static>>,
    asked: Asked,
}

enum Asked {
    Permission { action: Str<'static> },
    Question { prompts: Vec<Prompt<'static>> },
}

impl Asked {
    /// The field for the decision.
    const fn answer(&self) -> Field {
        match self {
            Asked::Permission { .. } => Field::PermissionAnswer,
            Asked::Question { .. } => Field::QuestionDeclined,
        }
    }
}

impl Requests {
    /// Reads a `control_request`. Returns whether the request is addressed to a person.
    pub(super) fn request(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(request) = line.get("request") else { return false };
        let text = |object: Val<'_>, name| object.get(name).is_some_and(|val| val.str().is_some());
        if !request.get("subtype").is_some_and(|subtype| subtype.is("can_use_tool"))
            || !text(line, "request_id")
            || !text(request, "tool_name")
        {
            return false;
        }
        let input = request.get("input");
        let is_question = match request.str_or_empty("tool_name") {
            "AskUserQuestion" => input.is_some_and(|input| questions(input).next().is_some()),
            "ExitPlanMode" => true,
            _ => false,
        };
        let (id, action, call_id) = if is_question {
            // The tool's name only identifies the request as a question.
            (Field::QuestionId, Field::Structure, Field::QuestionCallId)
        } else {
            (Field::PermissionId, Field::PermissionAction, Field::PermissionCallId)
        };
        // Claim the members in source order: a writer that drops a flag searches backwards from the last claim.
        let id = line.take_str("request_id", id).unwrap_or_default();
        request.note_str("subtype", Field::Structure);
        let action = request.take_str("tool_name", action).unwrap_or_default();
        let prompts = match (is_question, action.as_escaped()) {
            (true, "AskUserQuestion") => input.map(prompts).unwrap_or_default(),
            (true, _) => vec![plan()],
            (false, _) => Vec::new(),
        };
        let call_id = request.take_str("tool_use_id", call_id);
        let asked = if is_question {
            let owned = prompts.iter().cloned().map(Prompt::into_owned).collect();
            let (id, call_id) = (id.clone(), call_id.clone());
            out.event(&Event::QuestionRequested(Question {
                id,
                call_id,
                prompts,
                answers: None,
                declined: false,
            }));
            Asked::Question { prompts: owned }
        } else {
            out.event(&Event::PermissionRequested(Permission {
                id: id.clone(),
                action: action.clone(),
                call_id: call_id.clone(),
                input: input.map(|input| input.take(Field::PermissionInput)),
                answer: None,
                by: None,
            }));
            Asked::Permission { action: action.into_owned() }
        };
        let (id, call_id) = (id.into_owned(), call_id.map(Str::into_owned));
        if let Some(call) = &call_id {
            self.by_call.insert(call.as_escaped(), id.as_escaped().to_owned());
        }
        let name = id.clone();
        if self.by_id.insert(name.as_escaped(), OpenRequest { id, call_id, asked }).is_some() {
            out.note("forgot the request that waited longest: too many wait for their answer");
        }
        true
    }

    /// Reads a `control_response`. Returns whether it resolves an open request.
    pub(super) fn response(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(response) = line.get("response") else { return false };
        let Some(request) = self.named(response) else { return false };
        note_word(response, "subtype", &["success"], Field::Structure);
        let answer = response.get("response");
        let field = request.asked.answer();
        let allowed = answer.is_some_and(|answer| {
            note_word(answer, "behavior", &["allow", "deny"], field);
            answer.str_or_empty("behavior") == "allow"
        });
        let input = answer.and_then(|answer| answer.get("updatedInput"));
        let rules = answer.and_then(|answer| answer.get("updatedPermissions"));
        let lasting = rules.is_some_and(|rules| rules.elements().next().is_some());
        let verdict = match (allowed, lasting) {
            (true, true) => Decision::AcceptForSession,
            (true, false) => Decision::Accept,
            (false, _) => Decision::Reject(
                // The model has no reason for a declined question.
                answer
                    .filter(|_| matches!(request.asked, Asked::Permission { .. }))
                    .and_then(|answer| answer.take_str("message", Field::PermissionMessage)),
            ),
        };
        let answers = input.and_then(|input| input.get("answers"));
        request.resolve(verdict, input.filter(|_| allowed), answers, out);
        true
    }

    /// Reads a `control_cancel_request`: the agent withdraws the request.
    pub(super) fn cancel(&mut self, line: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(request) = self.named(line) else { return false };
        request.resolve(Decision::Reject(None), None, None, out);
        true
    }

    /// Removes and returns the open request with this `request_id`.
    fn named(&mut self, answer: Val<'_>) -> Option<OpenRequest> {
        let id = answer.get("request_id")?;
        let request = self.by_id.remove(id.str()?.as_escaped())?;
        id.note(match request.asked {
            Asked::Permission { .. } => Field::PermissionId,
            Asked::Question { .. } => Field::QuestionId,
        });
        Some(request)
    }

    /// Derives the decision from the tool result.
    pub(super) fn settle(&mut self, line: Val<'_>, content: Option<Val<'_>>, out: &mut EventSink<'_>) {
        for block in content.into_iter().flat_map(|content| content.elements()) {
            let Some(call) = block.get("tool_use_id").and_then(|id| id.str()) else { continue };
            let asked = self.by_call.remove(call.as_escaped()).and_then(|id| self.by_id.remove(&id));
            let Some(request) = asked else { continue };
            let field = request.asked.answer();
            let failed = block.get("is_error").and_then(|failed| failed.bool()) == Some(true);
            let decided = line.get("tool_result_meta").and_then(|meta| {
                let meta = meta
                    .elements()
                    .find(|meta| meta.get("id").is_some_and(|id| id.str() == Some(call.clone())))?;
                let decision = meta.get("permission_decision")?;
                note_word(decision, "decision", &["accept", "reject"], field);
                decision.get("decision")?.str()
            });
            let accepted = match decided {
                Some(decision) => decision.is("accept"),
                // Older versions do not record the decision.
                None => !failed,
            };
            let reason = block.get("content").and_then(|content| content.str());
            let verdict = if accepted { Decision::Accept } else { Decision::Reject(reason) };
            let answers = line.get("tool_use_result").and_then(|result| result.get("answers"));
            request.resolve(verdict, None, answers, out);
        }
    }
}

impl OpenRequest {
    fn resolve(
        self,
        verdict: Decision<'_>,
        input: Option<Val<'_>>,
        answers: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) {
        let Self { id, call_id, asked } = self;
        match asked {
            Asked::Permission { action } => {
                let (input, answer) = (input.map(|input| input.take(Field::PermissionInput)), Some(verdict));
                out.event(&Event::PermissionResolved(Permission {
                    id,
                    action,
                    call_id,
                    input,
                    answer,
                    by: None,
                }));
            }
            Asked::Question { prompts } => {
                let declined = matches!(verdict, Decision::Reject(_));
                let answers = answers.filter(|_| !declined).map(|given| {
                    prompts.iter().enumerate().map(|(number, prompt)| chosen(number, prompt, given)).collect()
                });
                // A plan has a single choice, so acceptance selects it.
                let answers = answers.or_else(|| (!declined).then(|| vec![vec![Str::escaped("approve")]]));
                out.event(&Event::QuestionResolved(Question { id, call_id, prompts, answers, declined }));
            }
        }
    }
}

/// Notes a member if its value is in `words`; any other value is left unclaimed.
fn note_word(object: Val<'_>, name: &str, words: &[&str], field: Field) {
    if words.contains(&object.str_or_empty(name)) {
        object.note_str(name, field);
    }
}

/// The questions of `AskUserQuestion`.
fn prompts<'t>(input: Val<'t>) -> Vec<Prompt<'t>> {
    let option = |option: Val<'t>| {
        Some(match option.take_text(Field::QuestionOption) {
            Some(label) => (label, None),
            None => (
                option.take_str("label", Field::QuestionOption)?,
                option.take_str("description", Field::QuestionOptionAbout),
            ),
        })
    };
    let prompt = |question: Val<'t>| {
        let text = question.take_str("question", Field::QuestionText)?;
        let options = question.get("options").into_iter().flat_map(|options| options.elements());
        let options = options.filter_map(option).collect();
        let multiple = question.take_bool("multiSelect", Field::QuestionMultiple) == Some(true);
        Some(Prompt { text, options, multiple })
    };
    questions(input).filter_map(prompt).collect()
}

/// The questions that have a text.
fn questions(input: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    let questions = input.get("questions").into_iter().flat_map(|questions| questions.elements());
    questions.filter(|question| question.get("question").is_some_and(|text| text.str().is_some()))
}

fn plan() -> Prompt<'static> {
    let options = vec![(Str::escaped("approve"), None), (Str::escaped("reject"), None)];
    Prompt { text: Str::escaped("Approve plan execution?"), options, multiple: false }
}

/// The answers to one prompt, found by its text or by its number. Several choices are one text with commas.
fn chosen<'t>(number: usize, prompt: &Prompt<'_>, given: Val<'t>) -> Vec<Str<'t>> {
    let number = number.to_string();
    let of = |name: &Str<'_>| name.decode() == prompt.text.decode() || name.is(&number);
    let Some((_, answer)) = given.members().find(|(name, _)| of(name)) else { return Vec::new() };
    match answer.note_text(Field::QuestionAnswer) {
        Some(text) if prompt.multiple => {
            text.decode().split(", ").map(|label| Str::from_plain(label)).collect()
        }
        Some(text) => vec![text],
        None => answer.elements().filter_map(|label| label.note_text(Field::QuestionAnswer)).collect(),
    }
}
