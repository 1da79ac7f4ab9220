//! Events that are no items: what the record says of errors, permissions, questions, turns, requests and the session.
//!
//! Each is a `system-event` whose `data` has no `content`; a notice has no `data` without one, so the two cannot be
//! taken for each other, whatever an agent calls its notices.

use super::usage::write_counts;
use super::words::{CALL_KINDS, FAILURES, STATUSES, STOPS, stop_needs_class, word};
use crate::json::JsonWriter;
use crate::json::Str;
use crate::model::{
    Decision, Event, Failure, Format, Permission, Prompt, Question, Request, SchemaFormat, Session,
    SessionEnd, Stop, Tool, ToolChoice, Turn,
};

/// The name of such an event; `None` for events of items.
pub(super) const fn event_type(event: &Event<'_>) -> Option<&'static str> {
    Some(match event {
        Event::SessionUpdated(_) => "session-updated",
        Event::SessionEnded(_) => "session-ended",
        Event::Request(_) => "request",
        Event::TurnStarted(_) => "turn-started",
        Event::TurnEnded(_) => "turn-ended",
        Event::Usage(_) => "usage",
        Event::PermissionRequested(_) => "permission-requested",
        Event::PermissionResolved(_) => "permission-resolved",
        Event::QuestionRequested(_) => "question-requested",
        Event::QuestionResolved(_) => "question-resolved",
        Event::Error(_) => "error",
        Event::SessionStarted(_)
        | Event::Clock(_)
        | Event::Rewound(_)
        | Event::ItemStarted(_)
        | Event::ItemDelta(_)
        | Event::ItemCompleted(_) => {
            return None;
        }
    })
}

/// Writes the event as an entry and leaves its object open.
pub(super) fn open_event(event: &Event<'_>, json: &mut JsonWriter<'_>) {
    let Some(name) = event_type(event) else { return };
    json.object().key("type").literal("system-event").key("event-type").literal(name).key("data").object();
    match event {
        Event::SessionUpdated(session) => put_session(session, json),
        Event::SessionEnded(SessionEnd { status, message }) => {
            json.key("status").literal(word(STATUSES, *status)).opt_str("message", message.as_ref());
        }
        Event::Request(request) => put_request(request, json),
        // What it adds to the session's usage, and what it cost, stands in `token-usage`, as with any entry.
        Event::TurnStarted(turn) | Event::TurnEnded(turn) => {
            put_turn("turn-id", turn, json);
            if let Some(usage) = &turn.usage {
                json.key("usage").object();
                write_counts(usage, json);
                json.end_object();
            }
        }
        Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
            put_permission(permission, json);
        }
        Event::QuestionRequested(question) | Event::QuestionResolved(question) => {
            put_question(question, json);
        }
        Event::Error(failure) => put_failure(failure, json),
        Event::Usage(_)
        | Event::Clock(_)
        | Event::Rewound(_)
        | Event::SessionStarted(_)
        | Event::ItemStarted(_)
        | Event::ItemDelta(_)
        | Event::ItemCompleted(_) => {}
    }
    json.end_object();
}

/// What is said of a response or turn besides numbers.
pub(super) fn put_turn(id_name: &str, turn: &Turn<'_>, json: &mut JsonWriter<'_>) {
    let Turn { id, model, time, stop, .. } = turn;
    json.opt_str(id_name, id.as_ref()).opt_str("model-id", model.as_ref()).opt_raw("time", time.as_ref());
    if let Some(stop) = stop {
        put_stop(stop, json);
    }
}

fn put_stop(stop: &Stop<'_>, json: &mut JsonWriter<'_>) {
    let Stop { class, raw, sequence, .. } = stop;
    json.opt_str("stop-reason", raw.as_ref());
    if stop_needs_class(stop) {
        json.key("stop-class").literal(word(STOPS, *class));
    }
    json.opt_str("stop-sequence", sequence.as_ref());
}

fn put_session(session: &Session<'_>, json: &mut JsonWriter<'_>) {
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
    json.opt_str("session-id", id.as_ref())
        .opt_str("parent-session-id", parent.as_ref())
        .opt_str("working-dir", cwd.as_ref())
        .opt_str("model-id", model.as_ref())
        .opt_str("model-provider", provider.as_ref())
        .opt_str("cli-name", agent.as_ref())
        .opt_str("cli-version", cli_version.as_ref())
        .opt_str("branch", branch.as_ref())
        .opt_str("revision", commit.as_ref())
        .opt_str("repository", repository.as_ref())
        .opt_str("title", title.as_ref())
        .opt_raw("session-start", start.as_ref());
}

fn put_request(request: &Request<'_>, json: &mut JsonWriter<'_>) {
    let Request {
        model,
        max_tokens,
        temperature,
        top_p,
        stop,
        stream,
        tools,
        tool_choice,
        parallel_calls,
        reasoning,
        format,
        user,
        service_tier,
        ..
    } = request;
    json.opt_str("model-id", model.as_ref())
        .opt_raw("max-tokens", max_tokens.as_ref())
        .opt_raw("temperature", temperature.as_ref())
        .opt_raw("top-p", top_p.as_ref());
    put_texts("stop-sequences", stop, json);
    json.opt_bool("stream", *stream);
    if !tools.is_empty() {
        json.key("tools").array();
        for Tool { kind, name, description, schema, strict, .. } in tools {
            json.object().key("name").str(name).key("kind").literal(word(CALL_KINDS, *kind));
            json.opt_str("description", description.as_ref())
                .opt_raw("input-schema", schema.as_ref())
                .opt_bool("strict", *strict);
            json.end_object();
        }
        json.end_array();
    }
    match tool_choice {
        Some(ToolChoice::Auto) => {
            json.key("tool-choice").literal("auto");
        }
        Some(ToolChoice::None) => {
            json.key("tool-choice").literal("none");
        }
        Some(ToolChoice::Required) => {
            json.key("tool-choice").literal("required");
        }
        Some(ToolChoice::Named(name)) => {
            json.key("tool-choice").object().key("name").str(name).end_object();
        }
        None => {}
    }
    json.opt_bool("parallel-calls", *parallel_calls).opt_str("effort", reasoning.effort.as_ref());
    match format {
        Some(Format::Text) => {
            json.key("format").literal("text");
        }
        Some(Format::JsonObject) => {
            json.key("format").literal("json-object");
        }
        Some(Format::Schema(SchemaFormat { name, schema, strict })) => {
            json.key("format").object().opt_str("name", name.as_ref()).key("schema").raw(schema);
            json.opt_bool("strict", *strict).end_object();
        }
        None => {}
    }
    json.opt_str("user", user.as_ref()).opt_str("service-tier", service_tier.as_ref());
}

fn put_texts(name: &str, texts: &[Str<'_>], json: &mut JsonWriter<'_>) {
    if !texts.is_empty() {
        json.key(name).array();
        for text in texts {
            json.str(text);
        }
        json.end_array();
    }
}

fn put_permission(permission: &Permission<'_>, json: &mut JsonWriter<'_>) {
    let Permission { id, action, call_id, input, answer } = permission;
    json.key("permission-id").str(id).key("action").str(action).opt_str("call-id", call_id.as_ref());
    json.opt_raw("input", input.as_ref());
    let (word, message) = match answer {
        None => return,
        Some(Decision::Accept) => ("accept", None),
        Some(Decision::AcceptForSession) => ("accept-for-session", None),
        Some(Decision::Reject(message)) => ("reject", message.as_ref()),
    };
    json.key("answer").literal(word).opt_str("message", message);
}

fn put_question(question: &Question<'_>, json: &mut JsonWriter<'_>) {
    let Question { id, call_id, prompts, answers, declined } = question;
    json.key("question-id").str(id).opt_str("call-id", call_id.as_ref()).key("questions").array();
    for Prompt { text, options, multiple } in prompts {
        json.object().key("text").str(text);
        if !options.is_empty() {
            json.key("options").array();
            for (label, about) in options {
                json.object().key("label").str(label).opt_str("about", about.as_ref()).end_object();
            }
            json.end_array();
        }
        json.key("multiple").bool(*multiple).end_object();
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
    json.key("declined").bool(*declined);
}

fn put_failure(failure: &Failure<'_>, json: &mut JsonWriter<'_>) {
    let Failure { class, status, code, message, request_id } = failure;
    json.key("class").literal(word(FAILURES, *class)).opt_u64("status", status.map(u64::from));
    json.opt_str("code", code.as_ref()).key("message").str(message);
    json.opt_str("request-id", request_id.as_ref());
}
