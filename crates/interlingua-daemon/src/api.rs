//! The handlers of the routes: those of the reference system and a few more.

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use interlingua_store::{AgentEventRow, AgentSessionRow};
use serde::Serialize;

use crate::agents::{AGENTS, Agent};
use crate::answer::ApiResponse;
use crate::lines;
use crate::model_names;
use crate::openapi;
use crate::problem::ApiProblem;
use crate::routes::RouteCall;
use crate::session::Session;
use crate::settings::{MessageBody, PermissionReply, QuestionReply, SessionSettings};
use crate::shapes::{
    AgentDescription, AgentList, CreatedSession, HealthStatus, ModeDescription, ModeList, SessionDescription,
    SessionList,
};
use crate::subscription::{self, Subscription, Until};

pub(crate) use crate::file_api::{
    delete_entry, list_entries, make_folder, move_entry, read_file, stat_entry, write_file,
};

/// How many events a request returns if it names no limit.
const MOST_EVENTS: u64 = 10_000;

/// The result of a handler.
pub(crate) type Answered = Result<ApiResponse, ApiProblem>;

/// A body of JSON.
pub(crate) fn json(body: &impl Serialize) -> Answered {
    let unwritable = |error: serde_json::Error| ApiProblem::stream_error(error.to_string());
    serde_json::to_vec(body).map(ApiResponse::json).map_err(unwritable)
}

pub(crate) async fn openapi(_: &RouteCall<'_>) -> Answered {
    json(&openapi::document())
}

pub(crate) async fn openapi_v1(call: &RouteCall<'_>) -> Answered {
    openapi(call).await
}

pub(crate) async fn health(_: &RouteCall<'_>) -> Answered {
    json(&HealthStatus { status: "ok" })
}

pub(crate) async fn list_agents(call: &RouteCall<'_>) -> Answered {
    let mut versions = call.daemon.versions().of(AGENTS.iter().filter_map(Agent::path)).await;
    let mut describe = |agent: &Agent| {
        let path = agent.path();
        // The mock agent is a part of the daemon.
        let own = || agent.program.is_none().then(|| env!("CARGO_PKG_VERSION").to_owned());
        AgentDescription {
            id: agent.id,
            name: agent.name,
            installed: agent.is_installed(),
            version: path.as_ref().and_then(|path| versions.remove(path)).or_else(own),
            path: path.map(|path| path.to_string_lossy().into_owned()),
            dialect: agent.dialect,
            capabilities: agent.capabilities(),
        }
    };
    json(&AgentList { agents: AGENTS.iter().map(&mut describe).collect() })
}

fn agent(call: &RouteCall<'_>) -> Result<&'static Agent, ApiProblem> {
    let id = call.value("agent")?;
    Agent::named(id).ok_or_else(|| ApiProblem::unsupported_agent(format!("there is no agent `{id}`")))
}

pub(crate) async fn list_modes(call: &RouteCall<'_>) -> Answered {
    let describe = |mode: &&'static str| {
        let description = if *mode == "plan" { "plans without changing files" } else { "works on files" };
        ModeDescription { id: mode, name: mode, description }
    };
    json(&ModeList { modes: agent(call)?.modes().iter().map(describe).collect() })
}

pub(crate) async fn list_models(call: &RouteCall<'_>) -> Answered {
    json(&model_names::of(agent(call)?))
}

/// Nothing is installed on behalf of a client.
pub(crate) async fn install_agent(call: &RouteCall<'_>) -> Answered {
    let agent = agent(call)?;
    if agent.is_installed() {
        return Ok(ApiResponse::empty());
    }
    let detail = format!("install {} with its own installer, so that its program is on the path", agent.name);
    Err(ApiProblem::install_failed(detail))
}

/// The session of a request.
async fn session(call: &RouteCall<'_>) -> Result<std::sync::Arc<Session>, ApiProblem> {
    call.daemon.session(call.value("session_id")?).await
}

fn describe(session: &Session, row: AgentSessionRow) -> SessionDescription {
    let settings = &session.settings;
    SessionDescription {
        agent_mode: settings.agent_mode.clone().unwrap_or_else(|| "build".to_owned()),
        permission_mode: settings.permission().to_owned(),
        model: settings.model.clone(),
        variant: settings.variant.clone(),
        directory: settings.directory.clone(),
        title: settings.title.clone(),
        mcp: settings.mcp.clone(),
        route: settings.route.clone(),
        session_id: row.id,
        agent: row.agent,
        native_session_id: row.native_id,
        ended: row.ended,
        event_count: row.sequence,
        created_at: row.created_ms,
        updated_at: row.updated_ms,
    }
}

pub(crate) async fn list_sessions(call: &RouteCall<'_>) -> Answered {
    let mut sessions = Vec::new();
    for session in call.daemon.sessions().await {
        let row = session.row().await;
        sessions.push(describe(&session, row));
    }
    sessions.sort_by_key(|session| std::cmp::Reverse(session.created_at));
    json(&SessionList { sessions })
}

pub(crate) async fn create_session(call: &RouteCall<'_>) -> Answered {
    let settings: SessionSettings = call.body()?;
    let session = call.daemon.create(call.value("session_id")?, settings).await?;
    json(&CreatedSession { healthy: true, native_session_id: session.row().await.native_id })
}

pub(crate) async fn get_session(call: &RouteCall<'_>) -> Answered {
    let session = session(call).await?;
    json(&describe(&session, session.row().await))
}

pub(crate) async fn delete_session(call: &RouteCall<'_>) -> Answered {
    call.daemon.delete(call.value("session_id")?).await.map(|()| ApiResponse::empty())
}

pub(crate) async fn send_message(call: &RouteCall<'_>) -> Answered {
    let message: MessageBody = call.body()?;
    session(call).await?.prompt(&message).await?;
    Ok(ApiResponse::empty())
}

pub(crate) async fn stream_message(call: &RouteCall<'_>) -> Answered {
    let message: MessageBody = call.body()?;
    let include_raw = include_raw(call)?;
    let session = session(call).await?;
    let after = session.prompt(&message).await?;
    let subscription = Subscription { after, include_raw, until: Until::TurnEnd };
    Ok(ApiResponse::events(subscription::start(session, subscription, call.daemon.closing())))
}

pub(crate) async fn stream_events(call: &RouteCall<'_>) -> Answered {
    let session = session(call).await?;
    // The offset of the query wins over the header.
    let after = offset(&session, call.number("offset")?.or(last_event_id(call)?)).await?;
    let until = match call.parameter("until")?.as_deref() {
        None => Until::Never,
        Some("ended") => Until::SessionEnd,
        Some(other) => {
            let detail = format!("`until={other}` is unknown; `until=ended` is known");
            return Err(ApiProblem::invalid_request(detail));
        }
    };
    let subscription = Subscription { after, include_raw: include_raw(call)?, until };
    Ok(ApiResponse::events(subscription::start(session, subscription, call.daemon.closing())))
}

/// The offset of a reader; without one, the reader gets all events that are stored.
async fn offset(session: &Session, asked: Option<u64>) -> Result<u64, ApiProblem> {
    let lowest = session.row().await.lowest;
    match asked {
        None => Ok(lowest.saturating_sub(1)),
        Some(after) if after.saturating_add(1) < lowest => {
            let detail = format!("the events {} to {} have expired", after + 1, lowest - 1);
            Err(ApiProblem { lowest: Some(lowest), ..ApiProblem::events_expired(detail) })
        }
        Some(after) => Ok(after),
    }
}

/// The number of the last event that the reader has, from its header.
fn last_event_id(call: &RouteCall<'_>) -> Result<Option<u64>, ApiProblem> {
    let header = call.request.last_event_id.as_deref().map(str::trim);
    let Some(text) = header.filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = |_| ApiProblem::invalid_request(format!("`Last-Event-ID: {text}` is not a number"));
    text.parse().map(Some).map_err(wrong)
}

/// Whether events hold the agent's line. The reference system takes both spellings.
fn include_raw(call: &RouteCall<'_>) -> Result<bool, ApiProblem> {
    match call.request.parameter("includeRaw")?.as_deref() {
        Some("true") => Ok(true),
        None | Some("false") => call.flag("include_raw"),
        Some(other) => {
            Err(ApiProblem::invalid_request(format!("`includeRaw={other}` is not `true` or `false`")))
        }
    }
}

pub(crate) async fn list_events(call: &RouteCall<'_>) -> Answered {
    let session = session(call).await?;
    let after = offset(&session, call.number("offset")?).await?;
    let most = call.number("limit")?.unwrap_or(MOST_EVENTS).min(MOST_EVENTS);
    let include_raw = include_raw(call)?;
    let mut rows = session.events(after, most + 1).await?;
    let has_more = rows.len() as u64 > most;
    rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(ApiResponse::json(page(&rows, include_raw, &format!(r#","hasMore":{has_more}"#))))
}

/// An object with a list of events and further members.
fn page(rows: &[AgentEventRow], include_raw: bool, more: &str) -> Vec<u8> {
    let mut out = br#"{"events":["#.to_vec();
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        lines::whole(row, include_raw, &mut out);
    }
    out.push(b']');
    out.extend_from_slice(more.as_bytes());
    out.push(b'}');
    out
}

pub(crate) async fn interrupt_session(call: &RouteCall<'_>) -> Answered {
    session(call).await?.interrupt().await.map(|()| ApiResponse::empty())
}

pub(crate) async fn terminate_session(call: &RouteCall<'_>) -> Answered {
    session(call).await?.terminate().await.map(|()| ApiResponse::empty())
}

pub(crate) async fn list_pending(call: &RouteCall<'_>) -> Answered {
    let rows = session(call).await?.pending().await;
    Ok(ApiResponse::json(page(&rows, include_raw(call)?, "")))
}

pub(crate) async fn reply_permission(call: &RouteCall<'_>) -> Answered {
    let reply: PermissionReply = call.body()?;
    let session = session(call).await?;
    session.decide(call.value("permission_id")?, &reply).await.map(|()| ApiResponse::empty())
}

pub(crate) async fn reply_question(call: &RouteCall<'_>) -> Answered {
    let reply: QuestionReply = call.body()?;
    let session = session(call).await?;
    session.answer(call.value("question_id")?, Some(&reply)).await.map(|()| ApiResponse::empty())
}

pub(crate) async fn reject_question(call: &RouteCall<'_>) -> Answered {
    let session = session(call).await?;
    session.answer(call.value("question_id")?, None).await.map(|()| ApiResponse::empty())
}

/// The session as a record, which `check` accepts.
pub(crate) async fn get_record(call: &RouteCall<'_>) -> Answered {
    let session = session(call).await?;
    let side = |name: &str| {
        Dialect::named(name).ok_or_else(|| ApiProblem::stream_error(format!("no dialect `{name}`")))
    };
    let (from, to) = ((side("universal")?, Role::Live), (side("record")?, Role::Log));
    let mut pipe = Pipe::new(from, to, &Options::default())
        .map_err(|error| ApiProblem::stream_error(error.to_string()))?;
    let (mut record, mut after) = (Vec::new(), 0);
    loop {
        let rows = session.events(after, MOST_EVENTS).await?;
        let Some(last) = rows.last() else { break };
        after = last.sequence;
        for row in &rows {
            let mut line = Vec::new();
            lines::whole(row, false, &mut line);
            line.push(b'\n');
            pipe.push(&line, &mut record);
        }
    }
    pipe.finish(&mut record);
    Ok(ApiResponse::json(record))
}
