//! The paths of the daemon, those of the reference system and a few more.

use http::Method;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use interlingua_store::AgentSessionRow;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agents::{AGENTS, Agent};
use crate::answer::{ApiRequest, ApiResponse};
use crate::daemon::Daemon;
use crate::lines;
use crate::problem::ApiProblem;
use crate::session::Session;
use crate::settings::{MessageBody, PermissionReply, QuestionReply, SessionSettings};
use crate::subscription::{self, Subscription, Until};

/// Whether a path belongs to the daemon.
pub(crate) fn serves(path: &str) -> bool {
    ["/v1/health", "/v1/agents", "/v1/sessions"]
        .iter()
        .any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// How many events a request returns if it names no limit.
const MOST_EVENTS: u64 = 10_000;

pub(crate) async fn answer(daemon: &Daemon, request: ApiRequest) -> Result<ApiResponse, ApiProblem> {
    let path = request.path.trim_end_matches('/').to_owned();
    let parts: Vec<&str> = path.split('/').skip(2).collect();
    let (get, post) = (request.method == Method::GET, request.method == Method::POST);
    let delete = request.method == Method::DELETE;
    match (&parts[..], get, post, delete) {
        (["health"], true, ..) => Ok(ApiResponse::json(json!({ "status": "ok" }).to_string())),
        (["agents"], true, ..) => Ok(agents()),
        (["agents", id, "modes"], true, ..) => modes(id),
        (["agents", id, "install"], _, true, _) => install(id),
        (["sessions"], true, ..) => sessions(daemon).await,
        (["sessions", id], _, true, _) => {
            let settings: SessionSettings = body(&request)?;
            let session = daemon.create(id, settings).await?;
            let row = session.row().await;
            let created = json!({ "healthy": true, "nativeSessionId": row.native_id });
            Ok(ApiResponse::json(created.to_string()))
        }
        (["sessions", id], true, ..) => {
            let session = daemon.session(id).await?;
            Ok(ApiResponse::json(info(&session, &session.row().await).to_string()))
        }
        (["sessions", id], _, _, true) => daemon.delete(id).await.map(|()| ApiResponse::empty()),
        (["sessions", id, "messages"], _, true, _) => {
            let message: MessageBody = body(&request)?;
            daemon.session(id).await?.prompt(&message).await?;
            Ok(ApiResponse::empty())
        }
        (["sessions", id, "messages", "stream"], _, true, _) => {
            let message: MessageBody = body(&request)?;
            let session = daemon.session(id).await?;
            let after = session.prompt(&message).await?;
            let subscription =
                Subscription { after, include_raw: include_raw(&request), until: Until::TurnEnd };
            Ok(ApiResponse::events(subscription::start(session, subscription)))
        }
        (["sessions", id, "events"], true, ..) => events(daemon, id, &request).await,
        (["sessions", id, "events", "sse"], true, ..) => {
            let session = daemon.session(id).await?;
            let last = request.last_event_id.as_deref().and_then(|id| id.trim().parse().ok());
            // The offset of the query wins over the header.
            let after = number(&request, "offset")?.or(last).unwrap_or(0);
            let until = match request.parameter("until") {
                None => Until::Never,
                Some("ended") => Until::SessionEnd,
                Some(other) => {
                    return Err(ApiProblem::invalid_request(format!(
                        "`until={other}` is unknown; `until=ended` is known"
                    )));
                }
            };
            let subscription = Subscription { after, include_raw: include_raw(&request), until };
            Ok(ApiResponse::events(subscription::start(session, subscription)))
        }
        (["sessions", id, "terminate"], _, true, _) => {
            daemon.session(id).await?.terminate().await.map(|()| ApiResponse::empty())
        }
        (["sessions", id, "interrupt"], _, true, _) => {
            daemon.session(id).await?.interrupt().await.map(|()| ApiResponse::empty())
        }
        (["sessions", id, "pending"], true, ..) => {
            let rows = daemon.session(id).await?.pending().await;
            Ok(ApiResponse::json(list("events", &rows, include_raw(&request), "")))
        }
        (["sessions", id, "record"], true, ..) => record(daemon, id).await,
        (["sessions", id, "permissions", request_id, "reply"], _, true, _) => {
            let reply: PermissionReply = body(&request)?;
            daemon.session(id).await?.decide(request_id, &reply).await.map(|()| ApiResponse::empty())
        }
        (["sessions", id, "questions", request_id, "reply"], _, true, _) => {
            let reply: QuestionReply = body(&request)?;
            daemon.session(id).await?.answer(request_id, Some(&reply)).await.map(|()| ApiResponse::empty())
        }
        (["sessions", id, "questions", request_id, "reject"], _, true, _) => {
            daemon.session(id).await?.answer(request_id, None).await.map(|()| ApiResponse::empty())
        }
        (
            ["health" | "agents" | "sessions"]
            | ["agents", _, "modes" | "install"]
            | ["sessions", _]
            | ["sessions", _, "messages" | "events" | "terminate" | "interrupt" | "pending" | "record"]
            | ["sessions", _, "messages", "stream"]
            | ["sessions", _, "events", "sse"]
            | ["sessions", _, "permissions" | "questions", _, "reply"]
            | ["sessions", _, "questions", _, "reject"],
            ..,
        ) => {
            Err(ApiProblem::method_not_allowed(format!("`{}` is not a method of this path", request.method)))
        }
        _ => Err(ApiProblem::not_found(format!("there is no `{path}`"))),
    }
}

/// The body of a request, which must be JSON.
fn body<T: DeserializeOwned>(request: &ApiRequest) -> Result<T, ApiProblem> {
    let kind = request.content_type.as_deref().unwrap_or("application/json");
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(ApiProblem::unsupported_media_type(format!(
            "the body is `{kind}`, not `application/json`"
        )));
    }
    serde_json::from_slice(&request.body).map_err(|error| ApiProblem::invalid_request(error.to_string()))
}

fn number(request: &ApiRequest, name: &str) -> Result<Option<u64>, ApiProblem> {
    let Some(text) = request.parameter(name) else { return Ok(None) };
    let wrong = |_| ApiProblem::invalid_request(format!("`{name}={text}` is not a number"));
    text.parse().map(Some).map_err(wrong)
}

fn include_raw(request: &ApiRequest) -> bool {
    ["include_raw", "includeRaw"].iter().any(|name| request.parameter(name) == Some("true"))
}

fn agent(id: &str) -> Result<&'static Agent, ApiProblem> {
    Agent::named(id).ok_or_else(|| ApiProblem::unsupported_agent(format!("there is no agent `{id}`")))
}

fn agents() -> ApiResponse {
    let agents: Vec<Value> = AGENTS
        .iter()
        .map(|agent| {
            json!({
                "id": agent.id,
                "name": agent.name,
                "installed": agent.is_installed(),
                "path": agent.path(),
                "dialect": agent.dialect,
                "capabilities": agent.capabilities(),
            })
        })
        .collect();
    ApiResponse::json(json!({ "agents": agents }).to_string())
}

fn modes(id: &str) -> Result<ApiResponse, ApiProblem> {
    let modes: Vec<Value> = agent(id)?
        .modes()
        .iter()
        .map(|mode| {
            let about = if *mode == "plan" { "plans without changing files" } else { "works on files" };
            json!({ "id": mode, "name": mode, "description": about })
        })
        .collect();
    Ok(ApiResponse::json(json!({ "modes": modes }).to_string()))
}

/// Nothing is installed on behalf of a client.
fn install(id: &str) -> Result<ApiResponse, ApiProblem> {
    let agent = agent(id)?;
    if agent.is_installed() {
        return Ok(ApiResponse::empty());
    }
    let detail = format!("install {} with its own installer, so that its program is on the path", agent.name);
    Err(ApiProblem::install_failed(detail))
}

/// The description of a session.
fn info(session: &Session, row: &AgentSessionRow) -> Value {
    let settings = &session.settings;
    json!({
        "sessionId": row.id,
        "agent": row.agent,
        "agentMode": settings.agent_mode.as_deref().unwrap_or("build"),
        "permissionMode": settings.permission(),
        "model": settings.model,
        "variant": settings.variant,
        "nativeSessionId": row.native_id,
        "ended": row.ended,
        "eventCount": row.sequence,
        "createdAt": row.created_ms,
        "updatedAt": row.updated_ms,
        "directory": settings.directory,
        "title": settings.title,
        "mcp": settings.mcp,
    })
}

async fn sessions(daemon: &Daemon) -> Result<ApiResponse, ApiProblem> {
    let mut all = Vec::new();
    for session in daemon.sessions().await {
        let row = session.row().await;
        all.push((row.created_ms, info(&session, &row)));
    }
    all.sort_by_key(|(created, _)| std::cmp::Reverse(*created));
    let all: Vec<Value> = all.into_iter().map(|(_, info)| info).collect();
    Ok(ApiResponse::json(json!({ "sessions": all }).to_string()))
}

async fn events(daemon: &Daemon, id: &str, request: &ApiRequest) -> Result<ApiResponse, ApiProblem> {
    let session = daemon.session(id).await?;
    let after = number(request, "offset")?.unwrap_or(0);
    let most = number(request, "limit")?.unwrap_or(MOST_EVENTS).min(MOST_EVENTS);
    let mut rows = session.events(after, most + 1).await?;
    let has_more = rows.len() as u64 > most;
    rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let more = format!(r#","hasMore":{has_more}"#);
    Ok(ApiResponse::json(list("events", &rows, include_raw(request), &more)))
}

/// An object with a list of events and further members.
fn list(name: &str, rows: &[interlingua_store::AgentEventRow], include_raw: bool, more: &str) -> Vec<u8> {
    let mut out = format!(r#"{{"{name}":["#).into_bytes();
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

/// The session as a record, which `check` accepts.
async fn record(daemon: &Daemon, id: &str) -> Result<ApiResponse, ApiProblem> {
    let session = daemon.session(id).await?;
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
