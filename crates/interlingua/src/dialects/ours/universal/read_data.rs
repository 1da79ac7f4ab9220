//! How the data of events is read: the other side of [`super::data`]. Words that the model cannot hold are left alone.

use super::{FAILURES, STOPS, inside, named, note_if};
use crate::json::Str;
use crate::model::{
    Decision, Failure, FailureClass, Field, Permission, Prompt, Question, Session, Stop, StopClass, Turn,
    Usage,
};
use crate::tape::Val;

pub(super) fn session(metadata: Val<'_>) -> Session<'_> {
    Session {
        id: metadata.take_str("id", Field::SessionId),
        parent: metadata.take_str("parent", Field::SessionParent),
        cwd: metadata.take_str("cwd", Field::SessionCwd),
        cli_version: metadata.take_str("agent_version", Field::SessionVersion),
        model: metadata.take_str("model", Field::SessionModel),
        provider: metadata.take_str("provider", Field::SessionProvider),
        branch: metadata.take_str("branch", Field::SessionBranch),
        commit: metadata.take_str("commit", Field::SessionCommit),
        repository: metadata.take_str("repository", Field::SessionRepository),
        title: metadata.take_str("title", Field::SessionTitle),
        start: metadata.take_raw("start", Field::SessionStart),
        agent: metadata.take_str("agent", Field::SessionAgent),
        ..Session::default()
    }
}

pub(super) fn turn<'t>(data: Val<'t>, id: &str) -> Turn<'t> {
    let usage = inside(data, "usage").map(|usage| Usage {
        input: usage.take_u64("input_tokens", Field::UsageInput),
        cache_read: usage.take_u64("cache_read_tokens", Field::UsageCacheRead),
        cache_write: usage.take_u64("cache_write_tokens", Field::UsageCacheWrite),
        cache_write_long: usage.take_u64("cache_write_long_tokens", Field::UsageCacheWriteLong),
        output: usage.take_u64("output_tokens", Field::UsageOutput),
        reasoning: usage.take_u64("reasoning_tokens", Field::UsageReasoning),
        ..Usage::default()
    });
    // The end of a turn names its response only if that is not what the turn is called.
    let id = if data.get("response_id").is_some() { "response_id" } else { id };
    Turn {
        id: data.take_str(id, Field::TurnId),
        model: data.take_str("model", Field::TurnModel),
        time: data.take_raw("time", Field::TurnTime),
        stop: stop(data),
        usage,
        cost: data.take_raw("cost_usd", Field::Cost),
        ..Turn::default()
    }
}

fn stop(data: Val<'_>) -> Option<Stop<'_>> {
    let reason = data.get("stop_reason")?;
    let word = reason.str()?;
    let class = named(STOPS, word.as_escaped());
    let raw = data.take_str("native_stop_reason", Field::StopReason);
    // A reason we have no word for is at least the native one, unless that is told.
    if class.is_some() || raw.is_none() {
        reason.take(Field::StopReason);
    }
    let unknown = || class.is_none().then_some(word);
    Some(Stop {
        class: class.unwrap_or(StopClass::Other),
        raw: raw.or_else(unknown),
        sequence: data.take_str("stop_sequence", Field::StopSequence),
        detail: None,
    })
}

// Members are claimed in the order they stand in: a flag that a writer gives up is looked for before the last claim.
pub(super) fn permission(data: Val<'_>) -> Permission<'_> {
    let id = data.take_str("permission_id", Field::PermissionId).unwrap_or_default();
    let action = data.take_str("action", Field::PermissionAction).unwrap_or_default();
    let status = data.str_or_empty("status");
    match status {
        "accept" | "accept_for_session" | "reject" => _ = data.take_str("status", Field::PermissionAnswer),
        _ => note_if(data, "status", "requested"),
    }
    let metadata = inside(data, "metadata");
    let text = |name: &str, field| metadata.and_then(|metadata| metadata.take_str(name, field));
    let call_id = text("call_id", Field::PermissionCallId);
    let input = metadata.and_then(|metadata| metadata.take_raw("input", Field::PermissionInput));
    let answer = match status {
        "accept" => Some(Decision::Accept),
        "accept_for_session" => Some(Decision::AcceptForSession),
        "reject" => Some(Decision::Reject(text("message", Field::PermissionMessage))),
        _ => None,
    };
    Permission { id, action, call_id, input, answer }
}

pub(super) fn question<'t>(data: Val<'t>) -> Question<'t> {
    let list = |val: Option<Val<'t>>| val.into_iter().flat_map(|val| val.elements());
    let prompt = |question: Val<'t>| Prompt {
        text: question.take_str("prompt", Field::QuestionText).unwrap_or_default(),
        options: list(inside(question, "options"))
            .map(|option| {
                (
                    option.take_str("label", Field::QuestionOption).unwrap_or_default(),
                    option.take_str("description", Field::QuestionOptionAbout),
                )
            })
            .collect(),
        multiple: question.get("multi_select").and_then(|multiple| multiple.bool()) == Some(true),
    };
    let labels = |chosen: Val<'t>| {
        if chosen.elements().next().is_none() {
            chosen.note(Field::Structure);
        }
        chosen.elements().filter_map(|label| label.take_text(Field::QuestionAnswer)).collect()
    };
    let mut prompts: Vec<Prompt<'t>> = list(inside(data, "questions")).map(prompt).collect();
    let answers: Option<Vec<Vec<Str<'t>>>> =
        inside(data, "answers").map(|answers| answers.elements().map(labels).collect());
    if prompts.is_empty() {
        prompts.extend(base_question(data));
    } else {
        repeat_base_question(data, &prompts[0]);
    }
    let response = data.get("response");
    let first = answers.as_ref().and_then(|answers| answers.first()?.first());
    let base_answer = match (response.and_then(|response| response.str()), first) {
        (Some(label), None) if answers.is_none() => Some(label),
        (Some(label), Some(first)) if label == *first => {
            response.map(|response| response.note(Field::QuestionAnswer));
            None
        }
        (Some(_), _) => None,
        (None, _) => {
            response.filter(|none| none.is_null() && first.is_none()).map(|none| none.note(Field::Structure));
            None
        }
    };
    let base_answer = base_answer.map(|label| {
        response.map(|response| response.take(Field::QuestionAnswer));
        vec![vec![label]]
    });
    let declined = data.str_or_empty("status") == "rejected";
    match data.str_or_empty("status") {
        "answered" | "rejected" => _ = data.take_str("status", Field::QuestionDeclined),
        _ => note_if(data, "status", "requested"),
    }
    let id = data.take_str("question_id", Field::QuestionId).unwrap_or_default();
    let call_id = data.take_str("call_id", Field::QuestionCallId);
    for question in list(data.get("questions")) {
        question.take_bool("multi_select", Field::QuestionMultiple);
    }
    Question { id, call_id, prompts, answers: answers.or(base_answer), declined }
}

/// The one question of the base schema, from writers that do not list `questions`.
fn base_question(data: Val<'_>) -> Option<Prompt<'_>> {
    let text = data.get("prompt").filter(|prompt| prompt.str().is_some_and(|text| !text.is_empty()));
    let options = inside(data, "options");
    let Some(text) = text else {
        note_if(data, "prompt", "");
        return None;
    };
    let options = options.into_iter().flat_map(|options| options.elements());
    let options = options.filter_map(|label| Some((label.take_text(Field::QuestionOption)?, None))).collect();
    Some(Prompt { text: text.take_text(Field::QuestionText)?, options, multiple: false })
}

/// The base schema's question repeats the first of all; where it does not, it is left alone.
fn repeat_base_question(data: Val<'_>, first: &Prompt<'_>) {
    if data.get("prompt").and_then(|prompt| prompt.str()).as_ref() == Some(&first.text) {
        data.note_str("prompt", Field::QuestionText);
    }
    let options = inside(data, "options").into_iter().flat_map(|options| options.elements());
    for (label, (known, _)) in options.zip(&first.options) {
        if label.str().as_ref() == Some(known) {
            label.note(Field::QuestionOption);
        }
    }
}

pub(super) fn failure(data: Val<'_>) -> Failure<'_> {
    let details = inside(data, "details");
    let class = details.and_then(|details| {
        let class = named(FAILURES, details.str_or_empty("class"))?;
        details.take_str("class", Field::ErrorClass);
        Some(class)
    });
    let status = details.and_then(|details| {
        let status = details.get("status")?;
        let number = u16::try_from(status.u64()?).ok()?;
        status.take(Field::ErrorStatus);
        Some(number)
    });
    Failure {
        class: class.unwrap_or(FailureClass::Other),
        status,
        code: data.take_str("code", Field::ErrorCode),
        message: data.take_str("message", Field::ErrorMessage).unwrap_or_default(),
        request_id: details.and_then(|details| details.take_str("request_id", Field::ErrorRequestId)),
    }
}
