//! The control protocol: what the agent asks, and what was answered. An answer is a `control_response` where the
//! transcript has both directions; on stdout alone it shows in the tool result that follows.

use crate::model::{Answer, Event, Field, Permission, Prompt, Question};
use crate::pipe::Sink;
use crate::tape::Val;
use crate::text::Str;

/// Requests without an answer.
#[derive(Default)]
pub(super) struct Requests(Vec<Request>);

struct Request {
    id: Str<'static>,
    call_id: Option<Str<'static>>,
    asked: Asked,
}

enum Asked {
    Permission { action: Str<'static> },
    Question { prompts: Vec<Prompt<'static>> },
}

impl Requests {
    /// Reads a `control_request`. Returns whether it is one for a person.
    pub(super) fn request(&mut self, line: Val<'_>, out: &mut Sink<'_>) -> bool {
        let Some(request) = line.get("request") else { return false };
        if !request.get("subtype").is_some_and(|subtype| subtype.is("can_use_tool")) {
            return false;
        }
        let (Some(id), Some(action)) =
            (line.take_str("request_id", Field::Unnamed), request.take_str("tool_name", Field::Unnamed))
        else {
            return false;
        };
        request.note_str("subtype", Field::Unnamed);
        let call_id = request.take_str("tool_use_id", Field::Unnamed);
        let input = request.get("input");
        let prompts = match action.as_escaped() {
            "AskUserQuestion" => input.map(prompts).unwrap_or_default(),
            "ExitPlanMode" => vec![plan()],
            _ => Vec::new(),
        };
        let asked = if prompts.is_empty() {
            out.event(&Event::PermissionRequested(Permission {
                id: id.clone(),
                action: action.clone(),
                call_id: call_id.clone(),
                input: input.map(|input| input.take(Field::Unnamed)),
                answer: None,
            }));
            Asked::Permission { action: action.into_owned() }
        } else {
            let owned = prompts.iter().cloned().map(own).collect();
            let (id, call_id) = (id.clone(), call_id.clone());
            out.event(&Event::QuestionRequested(Question {
                id,
                call_id,
                prompts,
                answers: None,
                declined: false,
            }));
            Asked::Question { prompts: owned }
        };
        self.0.push(Request { id: id.into_owned(), call_id: call_id.map(Str::into_owned), asked });
        true
    }

    /// Reads a `control_response`. Returns whether it answers a request we know.
    pub(super) fn response(&mut self, line: Val<'_>, out: &mut Sink<'_>) -> bool {
        let Some(response) = line.get("response") else { return false };
        let Some(id) = response.get("request_id").and_then(|id| id.str()) else { return false };
        let Some(at) = self.0.iter().position(|request| request.id == id) else { return false };
        response.note_str("request_id", Field::Unnamed);
        response.note_str("subtype", Field::Unnamed);
        let request = self.0.remove(at);
        let answer = response.get("response");
        let allowed = answer
            .and_then(|answer| answer.note_str("behavior", Field::Unnamed))
            .is_some_and(|word| word.is("allow"));
        let input = answer.and_then(|answer| answer.get("updatedInput"));
        let rules = answer.and_then(|answer| answer.get("updatedPermissions"));
        let message = answer.and_then(|answer| answer.take_str("message", Field::Unnamed));
        let answers = input.and_then(|input| input.get("answers"));
        let lasting = rules.is_some_and(|rules| rules.elements().next().is_some());
        let verdict = match (allowed, lasting) {
            (true, true) => Answer::AcceptForSession,
            (true, false) => Answer::Accept,
            (false, _) => Answer::Reject(message),
        };
        request.resolve(verdict, answers, out);
        true
    }

    /// Reads a `control_cancel_request`: the agent no longer wants to know.
    pub(super) fn cancel(&mut self, line: Val<'_>, out: &mut Sink<'_>) -> bool {
        let Some(id) = line.get("request_id").and_then(|id| id.str()) else { return false };
        let Some(at) = self.0.iter().position(|request| request.id == id) else { return false };
        line.note_str("request_id", Field::Unnamed);
        self.0.remove(at).resolve(Answer::Reject(None), None, out);
        true
    }

    /// Reads from a tool result what the answer must have been.
    pub(super) fn settle(&mut self, line: Val<'_>, content: Option<Val<'_>>, out: &mut Sink<'_>) {
        for block in content.into_iter().flat_map(|content| content.elements()) {
            let Some(call) = block.get("tool_use_id").and_then(|id| id.str()) else { continue };
            let Some(at) = self.0.iter().position(|request| request.call_id.as_ref() == Some(&call)) else {
                continue;
            };
            let failed = block.get("is_error").and_then(|failed| failed.bool()) == Some(true);
            let decided = line.get("tool_result_meta").and_then(|meta| {
                let meta = meta
                    .elements()
                    .find(|meta| meta.get("id").is_some_and(|id| id.str() == Some(call.clone())))?;
                meta.get("permission_decision")?.note_str("decision", Field::Unnamed)
            });
            let accepted = match decided {
                Some(decision) => decision.is("accept"),
                // Versions before the decision was told.
                None => !failed,
            };
            let reason = block.get("content").and_then(|content| content.str());
            let verdict = if accepted { Answer::Accept } else { Answer::Reject(reason) };
            let answers = line.get("tool_use_result").and_then(|result| result.get("answers"));
            self.0.remove(at).resolve(verdict, answers, out);
        }
    }
}

impl Request {
    fn resolve(self, verdict: Answer<'_>, answers: Option<Val<'_>>, out: &mut Sink<'_>) {
        let Self { id, call_id, asked } = self;
        match asked {
            Asked::Permission { action } => {
                let answer = Some(verdict);
                out.event(&Event::PermissionResolved(Permission {
                    id,
                    action,
                    call_id,
                    input: None,
                    answer,
                }));
            }
            Asked::Question { prompts } => {
                let declined = matches!(verdict, Answer::Reject(_));
                let answers = answers.filter(|_| !declined).map(|given| {
                    given.note(Field::Unnamed);
                    prompts.iter().enumerate().map(|(number, prompt)| chosen(number, prompt, given)).collect()
                });
                // A plan has one choice, and the verdict is it.
                let answers = answers.or_else(|| (!declined).then(|| vec![vec![Str::escaped("approve")]]));
                out.event(&Event::QuestionResolved(Question { id, call_id, prompts, answers, declined }));
            }
        }
    }
}

/// The questions of `AskUserQuestion`, all of them.
fn prompts<'t>(input: Val<'t>) -> Vec<Prompt<'t>> {
    let option = |option: Val<'t>| {
        Some(match option.take_text(Field::Unnamed) {
            Some(label) => (label, None),
            None => {
                (option.take_str("label", Field::Unnamed)?, option.take_str("description", Field::Unnamed))
            }
        })
    };
    let prompt = |question: Val<'t>| {
        let text = question.take_str("question", Field::Unnamed)?;
        let options = question.get("options").into_iter().flat_map(|options| options.elements());
        let options = options.filter_map(option).collect();
        Some(Prompt {
            text,
            options,
            multiple: question.take_bool("multiSelect", Field::Unnamed) == Some(true),
        })
    };
    input.get("questions").into_iter().flat_map(|questions| questions.elements()).filter_map(prompt).collect()
}

fn plan() -> Prompt<'static> {
    let options = vec![(Str::escaped("approve"), None), (Str::escaped("reject"), None)];
    Prompt { text: Str::escaped("Approve plan execution?"), options, multiple: false }
}

/// The answers to one prompt: by its text, or by its number. Several choices are one text with commas.
fn chosen<'t>(number: usize, prompt: &Prompt<'_>, given: Val<'t>) -> Vec<Str<'t>> {
    let number = number.to_string();
    let of = |name: &Str<'_>| name.decode() == prompt.text.decode() || name.is(&number);
    let Some((_, answer)) = given.members().find(|(name, _)| of(name)) else { return Vec::new() };
    match answer.str() {
        Some(text) if prompt.multiple => {
            text.decode().split(", ").map(|label| Str::from_plain(label)).collect()
        }
        Some(text) => vec![text],
        None => answer.elements().filter_map(|label| label.str()).collect(),
    }
}

fn own(prompt: Prompt<'_>) -> Prompt<'static> {
    let Prompt { text, options, multiple } = prompt;
    let own = |(label, about): (Str<'_>, Option<Str<'_>>)| (label.into_owned(), about.map(Str::into_owned));
    Prompt { text: text.into_owned(), options: options.into_iter().map(own).collect(), multiple }
}
