//! The data of events, in both directions. Members of the base schema have its names; further values are under the
//! model's own names where the schema is open: in `metadata` and `details`.

use super::item::opt_word;
use super::seed::Members;
use super::{inside, note_if};
use crate::dialects::ours::unreadable_run::UnreadableLines;
use crate::json::{JsonWriter, Str};
use crate::model::{Decision, Failure, Field, Neutral as _, Permission, Prompt, Question, Spelling, Turn};
use crate::tape::Val;

const SNAKE: Spelling = Spelling::Snake;

/// Writes the data of the start or end of turn `id`.
pub(super) fn put_turn(phase: &str, id: &str, turn: &Turn<'_>, members: Members, json: &mut JsonWriter<'_>) {
    json.object().key("phase").literal(phase).key("turn_id").literal(id);
    // The end of a turn holds the response's id only if it differs from the turn's id.
    let response = turn.id.clone().filter(|own| own.as_escaped() != id);
    let turn = Turn { id: response, ..turn.clone() };
    if turn != Turn::default() && members == Members::All {
        json.key("metadata");
        turn.write(SNAKE, json);
    }
    json.end_object();
}

pub(super) fn read_turn(data: Val<'_>) -> Turn<'_> {
    let metadata = data.get("metadata").and_then(|metadata| Turn::read(metadata, Field::Structure, SNAKE));
    let mut turn = metadata.unwrap_or_default();
    if turn.id.is_none() {
        turn.id = data.take_str("turn_id", Field::TurnId);
    }
    turn
}

pub(super) fn put_permission(permission: &Permission<'_>, json: &mut JsonWriter<'_>) {
    let (status, has_reason) = match &permission.answer {
        None => ("requested", false),
        Some(Decision::Accept) => ("accept", false),
        Some(Decision::AcceptForSession) => ("accept_for_session", false),
        Some(Decision::Reject(reason)) => ("reject", reason.is_some()),
    };
    json.object().key("permission_id").str(&permission.id).key("action").str(&permission.action);
    json.key("status").literal(status).key("metadata").object();
    // The status holds the decision; only a reason needs the `answer` member.
    permission.write_members(
        if has_reason { &["id", "action"] } else { &["id", "action", "answer"] },
        SNAKE,
        json,
    );
    json.end_object().end_object();
}

// Claims the members in source order: a writer that drops a flag searches backwards from the last claim.
pub(super) fn read_permission(data: Val<'_>) -> Permission<'_> {
    let id = data.take_str("permission_id", Field::PermissionId).unwrap_or_default();
    let action = data.take_str("action", Field::PermissionAction).unwrap_or_default();
    let status = data.str_or_empty("status");
    match status {
        "accept" | "accept_for_session" | "reject" => _ = data.take_str("status", Field::PermissionAnswer),
        _ => note_if(data, "status", "requested"),
    }
    let metadata = inside(data, "metadata");
    let reason = metadata.and_then(|metadata| metadata.get("answer")?.get("reject"));
    let has_reason = status == "reject" && reason.is_some_and(|reason| reason.str().is_some());
    let but: &[&str] = if has_reason { &["id", "action"] } else { &["id", "action", "answer"] };
    let mut permission =
        metadata.map_or_else(Permission::absent, |metadata| Permission::read_members(metadata, but, SNAKE));
    (permission.id, permission.action) = (id, action);
    match status {
        "accept" => permission.answer = Some(Decision::Accept),
        "accept_for_session" => permission.answer = Some(Decision::AcceptForSession),
        "reject" if !has_reason => permission.answer = Some(Decision::Reject(None)),
        _ => {}
    }
    permission
}

/// The base schema has a single question with labels; `prompts` and `answers` hold all questions.
pub(super) fn put_question(question: &Question<'_>, open: bool, members: Members, json: &mut JsonWriter<'_>) {
    let Question { id, prompts, answers, declined, .. } = question;
    let (none, first) = (Str::default(), prompts.first());
    json.object().key("question_id").str(id);
    json.key("prompt").str(first.map_or(&none, |prompt| &prompt.text)).key("options").array();
    for (label, _) in first.into_iter().flat_map(|prompt| &prompt.options) {
        json.str(label);
    }
    let answer = answers.as_ref().and_then(|answers| answers.first()?.first());
    opt_word(answer.map(Str::as_escaped), json.end_array().key("response"));
    json.key("status").literal(match (open, declined) {
        (_, true) => "rejected",
        (true, false) => "requested",
        (false, false) => "answered",
    });
    if members == Members::All {
        question.write_members(&["id", "declined"], SNAKE, json);
    }
    json.end_object();
}

pub(super) fn read_question(data: Val<'_>) -> Question<'_> {
    let mut question = Question::read_members(data, &["id", "declined"], SNAKE);
    let response = data.get("response");
    let first = question.answers.as_ref().and_then(|answers| answers.first()?.first());
    match (response.and_then(|response| response.str()), first) {
        // A writer without `answers`.
        (Some(label), None) if question.answers.is_none() => {
            response.map(|response| response.take(Field::QuestionAnswer));
            question.answers = Some(vec![vec![label]]);
        }
        (Some(label), Some(first)) if label == *first => {
            response.map(|response| response.note(Field::QuestionAnswer));
        }
        (Some(_), _) => {}
        (None, _) => {
            response.filter(|none| none.is_null() && first.is_none()).map(|none| none.note(Field::Structure));
        }
    }
    match question.prompts.first() {
        Some(first) => repeat_base_question(data, first),
        None => question.prompts.extend(base_question(data)),
    }
    question.declined = data.str_or_empty("status") == "rejected";
    match data.str_or_empty("status") {
        // The word stands for a flag, so note it.
        "answered" | "rejected" => _ = data.note_str("status", Field::QuestionDeclined),
        _ => note_if(data, "status", "requested"),
    }
    question.id = data.take_str("question_id", Field::QuestionId).unwrap_or_default();
    question
}

/// The single question of the base schema, from writers without `prompts`.
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

/// Notes the question of the base schema if it repeats the first prompt; otherwise it is left unclaimed.
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

pub(super) fn put_failure(failure: &Failure<'_>, members: Members, json: &mut JsonWriter<'_>) {
    json.object().key("message").str(&failure.message).opt_str("code", failure.code.as_ref());
    if members == Members::All {
        json.key("details").object();
        failure.write_members(&["message", "code"], SNAKE, json);
        json.end_object();
    }
    json.end_object();
}

pub(super) fn read_failure(data: Val<'_>) -> Failure<'_> {
    let details = inside(data, "details");
    let failure = details
        .map_or_else(Failure::absent, |details| Failure::read_members(details, &["message", "code"], SNAKE));
    Failure {
        code: data.take_str("code", Field::ErrorCode),
        message: data.take_str("message", Field::ErrorMessage).unwrap_or_default(),
        ..failure
    }
}

/// Writes the details of unreadable lines, including their bytes if `said` is set.
pub(super) fn put_unreadable(
    run: &UnreadableLines<'_>,
    place: &str,
    (said, members): (bool, Members),
    json: &mut JsonWriter<'_>,
) {
    let UnreadableLines { owner: _, why, bytes, lines } = *run;
    json.object().key("error").literal(why).key("location").literal(place);
    json.opt_u64("lines", (lines > 1 && members == Members::All).then_some(lines));
    if said {
        match std::str::from_utf8(bytes) {
            Ok(text) => json.key("text").plain(text),
            Err(_) => json.key("base64").base64(bytes),
        };
    }
    json.end_object();
}
