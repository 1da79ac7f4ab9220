//! How the data of events is written. The names are those of the base schema; what it has no word for (usage, stop
//! reasons, all questions with their choices) stands beside them.

use super::{FAILURES, STOPS, put_json, word};
use crate::json::JsonWriter;
use crate::json::Str;
use crate::model::{Decision, Failure, Permission, Prompt, Question, Session, Stop, Turn, Usage};

pub(super) fn put_session(session: &Session<'_>, json: &mut JsonWriter<'_>) {
    let Session {
        id,
        parent,
        cwd,
        cli_version,
        model,
        provider,
        branch,
        commit,
        repository,
        title,
        start,
        agent,
        ..
    } = session;
    json.object();
    if let Some(agent) = agent {
        json.key("agent").str(agent);
    }
    json.opt_str("id", id.as_ref())
        .opt_str("parent", parent.as_ref())
        .opt_str("cwd", cwd.as_ref())
        .opt_str("agent_version", cli_version.as_ref())
        .opt_str("model", model.as_ref())
        .opt_str("provider", provider.as_ref())
        .opt_str("branch", branch.as_ref())
        .opt_str("commit", commit.as_ref())
        .opt_str("repository", repository.as_ref())
        .opt_str("title", title.as_ref());
    put_json("start", start.as_ref(), json);
    json.end_object();
}

pub(super) fn put_turn(turn: &Turn<'_>, json: &mut JsonWriter<'_>) {
    // Each event has its own name for the id.
    let Turn { model, time, stop, usage, cost, .. } = turn;
    json.opt_str("model", model.as_ref());
    put_json("time", time.as_ref(), json);
    if let Some(Stop { class, raw, sequence, .. }) = stop {
        json.key("stop_reason").literal(word(STOPS, *class));
        json.opt_str("native_stop_reason", raw.as_ref()).opt_str("stop_sequence", sequence.as_ref());
    }
    if let Some(Usage { input, cache_read, cache_write, cache_write_long, output, reasoning, .. }) = usage {
        json.key("usage").object();
        json.opt_u64("input_tokens", *input)
            .opt_u64("cache_read_tokens", *cache_read)
            .opt_u64("cache_write_tokens", *cache_write)
            .opt_u64("cache_write_long_tokens", *cache_write_long)
            .opt_u64("output_tokens", *output)
            .opt_u64("reasoning_tokens", *reasoning);
        json.end_object();
    }
    put_json("cost_usd", cost.as_ref(), json);
}

pub(super) fn put_permission(permission: &Permission<'_>, json: &mut JsonWriter<'_>) {
    let Permission { id, action, call_id, input, answer } = permission;
    let (status, message) = match answer {
        None => ("requested", None),
        Some(Decision::Accept) => ("accept", None),
        Some(Decision::AcceptForSession) => ("accept_for_session", None),
        Some(Decision::Reject(message)) => ("reject", message.as_ref()),
    };
    json.object().key("permission_id").str(id).key("action").str(action).key("status").literal(status);
    json.key("metadata").object().opt_str("call_id", call_id.as_ref());
    put_json("input", input.as_ref(), json);
    json.opt_str("message", message).end_object().end_object();
}

/// The base schema has one question with labels; `questions` and `answers` have all of them.
pub(super) fn put_question(question: &Question<'_>, open: bool, json: &mut JsonWriter<'_>) {
    let Question { id, call_id, prompts, answers, declined } = question;
    let (none, first) = (Str::default(), prompts.first());
    json.object().key("question_id").str(id);
    json.key("prompt").str(first.map_or(&none, |prompt| &prompt.text)).key("options").array();
    for (label, _) in first.into_iter().flat_map(|prompt| &prompt.options) {
        json.str(label);
    }
    json.end_array().key("response");
    match answers.as_ref().and_then(|answers| answers.first()?.first()) {
        Some(answer) => json.str(answer),
        None => json.null(),
    };
    json.key("status").literal(match (open, declined) {
        (_, true) => "rejected",
        (true, false) => "requested",
        (false, false) => "answered",
    });
    json.opt_str("call_id", call_id.as_ref()).key("questions").array();
    for Prompt { text, options, multiple } in prompts {
        json.object().key("prompt").str(text).key("options").array();
        for (label, about) in options {
            json.object().key("label").str(label).opt_str("description", about.as_ref()).end_object();
        }
        json.end_array().key("multi_select").bool(*multiple).end_object();
    }
    json.end_array();
    if let Some(answers) = answers {
        json.key("answers").array();
        for chosen in answers {
            json.array();
            for label in chosen {
                json.str(label);
            }
            json.end_array();
        }
        json.end_array();
    }
    json.end_object();
}

pub(super) fn put_failure(failure: &Failure<'_>, json: &mut JsonWriter<'_>) {
    let Failure { class, status, code, message, request_id } = failure;
    json.object().key("message").str(message).opt_str("code", code.as_ref()).key("details").object();
    json.key("class").literal(word(FAILURES, *class)).opt_u64("status", status.map(u64::from));
    json.opt_str("request_id", request_id.as_ref()).end_object().end_object();
}
