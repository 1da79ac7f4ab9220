//! The table of routes: the dispatcher and the OpenAPI document both come from the table, so each route is in the document.

use std::borrow::Cow;
use std::pin::Pin;

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use crate::answer::{ApiRequest, ApiResponse};
use crate::api;
use crate::daemon::Daemon;
use crate::problem::ApiProblem;
use crate::settings::{MessageBody, MoveBody, PermissionReply, QuestionReply, SessionSettings};
use crate::shapes::{
    AgentList, AgentModelList, ChangedEntry, CreatedSession, EventPage, FileEntry, HealthStatus, ModeList,
    MovedEntry, PendingRequests, SessionDescription, SessionList, WrittenFile,
};

/// A route of the API.
pub(crate) struct ApiRoute {
    pub(crate) method: Method,
    /// The path, with the names of its parameters in braces.
    pub(crate) path: &'static str,
    /// The name of the operation.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) query: &'static [QueryParameter],
    pub(crate) body: BodyShape,
    pub(crate) answer: AnswerShape,
    handler: Handler,
}

/// A parameter of a query.
#[derive(Debug)]
pub(crate) struct QueryParameter {
    pub(crate) name: &'static str,
    pub(crate) kind: ParameterKind,
    pub(crate) about: &'static str,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Number,
    Flag,
    Text,
    /// Text that must be there.
    RequiredText,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) enum BodyShape {
    Nothing,
    Json(SchemaOf),
    /// The content of a file.
    Bytes,
}

/// The body of an answer.
#[derive(Clone, Copy)]
pub(crate) enum AnswerShape {
    /// Status 204.
    Nothing,
    Json(SchemaOf),
    /// A JSON document with a schema of its own elsewhere.
    Document(&'static str),
    /// Server-sent events.
    Events,
    /// The content of a file.
    Bytes,
}

type Handler = for<'c> fn(
    &'c RouteCall<'_>,
) -> Pin<Box<dyn Future<Output = Result<ApiResponse, ApiProblem>> + Send + 'c>>;

/// A request that a route has matched.
pub(crate) struct RouteCall<'d> {
    pub(crate) daemon: &'d Daemon,
    pub(crate) request: ApiRequest,
    route: &'static ApiRoute,
    /// The values of the parameters in the path.
    values: Vec<String>,
}

const INCLUDE_RAW: QueryParameter = QueryParameter {
    name: "include_raw",
    kind: ParameterKind::Flag,
    about: "Whether events hold the agent's line; `includeRaw` is the same.",
};
const OFFSET: QueryParameter = QueryParameter {
    name: "offset",
    kind: ParameterKind::Number,
    about: "The number of the last event that the client has.",
};
const LIMIT: QueryParameter =
    QueryParameter { name: "limit", kind: ParameterKind::Number, about: "The most events of the answer." };
const UNTIL: QueryParameter = QueryParameter {
    name: "until",
    kind: ParameterKind::Word(&["ended"]),
    about: "`ended` ends the stream after the end of the session.",
};

const PATH: QueryParameter = QueryParameter {
    name: "path",
    kind: ParameterKind::RequiredText,
    about: "An absolute path, or a path below the directory of the session.",
};
const SESSION: QueryParameter = QueryParameter {
    name: "session_id",
    kind: ParameterKind::Text,
    about: "The session whose directory relative paths begin at.",
};
const RECURSIVE: QueryParameter = QueryParameter {
    name: "recursive",
    kind: ParameterKind::Flag,
    about: "Whether a folder is deleted with its content.",
};

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Builds a row of the table.
macro_rules! route {
    ($method:ident $path:literal, $name:ident, $about:literal, $query:expr, $body:expr, $answer:expr) => {
        ApiRoute {
            method: Method::$method,
            path: $path,
            name: stringify!($name),
            about: $about,
            query: $query,
            body: $body,
            answer: $answer,
            handler: |call| Box::pin(api::$name(call)),
        }
    };
}

/// Every route of the daemon.
pub(crate) static ROUTES: &[ApiRoute] = &[
    route!(GET "/openapi.json", openapi, "This document.", &[], BodyShape::Nothing, AnswerShape::Document("An OpenAPI document.")),
    route!(GET "/v1/openapi.json", openapi_v1, "This document.", &[], BodyShape::Nothing, AnswerShape::Document("An OpenAPI document.")),
    route!(GET "/v1/health", health, "Whether the server runs. Needs no key.", &[], BodyShape::Nothing, AnswerShape::Json(schema::<HealthStatus>)),
    route!(GET "/v1/agents", list_agents, "The agents and their capabilities.", &[], BodyShape::Nothing, AnswerShape::Json(schema::<AgentList>)),
    route!(GET "/v1/agents/{agent}/modes", list_modes, "The modes of an agent.", &[], BodyShape::Nothing, AnswerShape::Json(schema::<ModeList>)),
    route!(GET "/v1/agents/{agent}/models", list_models, "The known models of an agent.", &[], BodyShape::Nothing, AnswerShape::Json(schema::<AgentModelList>)),
    route!(POST "/v1/agents/{agent}/install", install_agent, "Answers 204 if the agent is installed. Nothing is installed.", &[], BodyShape::Nothing, AnswerShape::Nothing),
    route!(GET "/v1/sessions", list_sessions, "All sessions, the newest first.", &[], BodyShape::Nothing, AnswerShape::Json(schema::<SessionList>)),
    route!(POST "/v1/sessions/{session_id}", create_session, "Creates a session. The agent starts with the first message.", &[], BodyShape::Json(schema::<SessionSettings>), AnswerShape::Json(schema::<CreatedSession>)),
    route!(GET "/v1/sessions/{session_id}", get_session, "The description of a session.", &[], BodyShape::Nothing, AnswerShape::Json(schema::<SessionDescription>)),
    route!(DELETE "/v1/sessions/{session_id}", delete_session, "Stops the agent and deletes the session with its events.", &[], BodyShape::Nothing, AnswerShape::Nothing),
    route!(POST "/v1/sessions/{session_id}/messages", send_message, "Sends a prompt, which begins a turn.", &[], BodyShape::Json(schema::<MessageBody>), AnswerShape::Nothing),
    route!(POST "/v1/sessions/{session_id}/messages/stream", stream_message, "Sends a prompt and streams the events of its turn.", &[INCLUDE_RAW], BodyShape::Json(schema::<MessageBody>), AnswerShape::Events),
    route!(GET "/v1/sessions/{session_id}/events", list_events, "The stored events after an offset.", &[OFFSET, LIMIT, INCLUDE_RAW], BodyShape::Nothing, AnswerShape::Json(schema::<EventPage>)),
    route!(GET "/v1/sessions/{session_id}/events/sse", stream_events, "Streams the stored events after an offset, and then new events. The header `Last-Event-ID` is an offset, too.", &[OFFSET, INCLUDE_RAW, UNTIL], BodyShape::Nothing, AnswerShape::Events),
    route!(POST "/v1/sessions/{session_id}/interrupt", interrupt_session, "Ends the turn as cancelled; the session stays.", &[], BodyShape::Nothing, AnswerShape::Nothing),
    route!(POST "/v1/sessions/{session_id}/terminate", terminate_session, "Ends the session and its agent.", &[], BodyShape::Nothing, AnswerShape::Nothing),
    route!(GET "/v1/sessions/{session_id}/pending", list_pending, "The requests that wait for an answer.", &[INCLUDE_RAW], BodyShape::Nothing, AnswerShape::Json(schema::<PendingRequests>)),
    route!(GET "/v1/sessions/{session_id}/record", get_record, "The session as a record.", &[], BodyShape::Nothing, AnswerShape::Document("A record, which `interlingua check` accepts.")),
    route!(POST "/v1/sessions/{session_id}/permissions/{permission_id}/reply", reply_permission, "Answers a permission request.", &[], BodyShape::Json(schema::<PermissionReply>), AnswerShape::Nothing),
    route!(POST "/v1/sessions/{session_id}/questions/{question_id}/reply", reply_question, "Answers the questions of a request.", &[], BodyShape::Json(schema::<QuestionReply>), AnswerShape::Nothing),
    route!(POST "/v1/sessions/{session_id}/questions/{question_id}/reject", reject_question, "Rejects the questions of a request.", &[], BodyShape::Nothing, AnswerShape::Nothing),
    route!(GET "/v1/fs/entries", list_entries, "The entries of a folder.", &[PATH, SESSION], BodyShape::Nothing, AnswerShape::Json(schema::<Vec<FileEntry>>)),
    route!(GET "/v1/fs/stat", stat_entry, "The facts of a file or folder.", &[PATH, SESSION], BodyShape::Nothing, AnswerShape::Json(schema::<FileEntry>)),
    route!(GET "/v1/fs/file", read_file, "The content of a file.", &[PATH, SESSION], BodyShape::Nothing, AnswerShape::Bytes),
    route!(PUT "/v1/fs/file", write_file, "Writes a file, and the folders around it.", &[PATH, SESSION], BodyShape::Bytes, AnswerShape::Json(schema::<WrittenFile>)),
    route!(DELETE "/v1/fs/entry", delete_entry, "Deletes a file or folder.", &[PATH, SESSION, RECURSIVE], BodyShape::Nothing, AnswerShape::Json(schema::<ChangedEntry>)),
    route!(POST "/v1/fs/mkdir", make_folder, "Makes a folder, and the folders around it.", &[PATH, SESSION], BodyShape::Nothing, AnswerShape::Json(schema::<ChangedEntry>)),
    route!(POST "/v1/fs/move", move_entry, "Moves a file or folder.", &[SESSION], BodyShape::Json(schema::<MoveBody>), AnswerShape::Json(schema::<MovedEntry>)),
];

/// Whether a path belongs to the daemon: a route has its first segments, up to a parameter.
pub(crate) fn serves(path: &str) -> bool {
    ROUTES.iter().any(|route| {
        let fixed = route.path.split("/{").next().unwrap_or(route.path);
        path.strip_prefix(fixed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Finds the route of a request and runs its handler.
pub(crate) async fn dispatch(daemon: &Daemon, request: ApiRequest) -> Result<ApiResponse, ApiProblem> {
    let mut is_known = false;
    for route in ROUTES {
        let Some(values) = route.matched(&request.path)? else { continue };
        if route.method != request.method {
            is_known = true;
            continue;
        }
        let call = RouteCall { daemon, request, route, values };
        return (route.handler)(&call).await;
    }
    Err(if is_known {
        ApiProblem::method_not_allowed(format!("`{}` is not a method of this path", request.method))
    } else {
        ApiProblem::not_found(format!("there is no `{}`", request.path))
    })
}

impl ApiRoute {
    /// The names of the parameters in the path.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// The values of the parameters, if the path is one of the route.
    fn matched(&self, path: &str) -> Result<Option<Vec<String>>, ApiProblem> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let (mut own, mut asked) = (self.path.split('/'), path.split('/'));
        let mut values = Vec::new();
        loop {
            match (own.next(), asked.next()) {
                (None, None) => break,
                (Some(own), Some(asked)) if own.starts_with('{') && !asked.is_empty() => values.push(asked),
                (Some(own), Some(asked)) if own == asked => {}
                _ => return Ok(None),
            }
        }
        values
            .into_iter()
            .map(|value| decoded(value).map(Cow::into_owned))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

impl RouteCall<'_> {
    /// The value of a parameter in the path.
    pub(crate) fn value(&self, name: &str) -> Result<&str, ApiProblem> {
        let mut named = self.route.parameters().zip(&self.values);
        let value = named.find_map(|(known, value)| (known == name).then_some(value.as_str()));
        value.ok_or_else(|| ApiProblem::stream_error(format!("the route has no parameter `{name}`")))
    }

    /// A value of the query. The table must list the parameter, because the document comes from the table.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<Cow<'_, str>>, ApiProblem> {
        if !self.route.query.iter().any(|known| known.name == name) {
            return Err(ApiProblem::stream_error(format!("the route has no query parameter `{name}`")));
        }
        self.request.parameter(name)
    }

    /// A number of the query.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ApiProblem> {
        let Some(text) = self.parameter(name)? else { return Ok(None) };
        let wrong = |_| ApiProblem::invalid_request(format!("`{name}={text}` is not a number"));
        text.parse().map(Some).map_err(wrong)
    }

    /// A flag of the query; false if the query has no such flag.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiProblem> {
        match self.parameter(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                Err(ApiProblem::invalid_request(format!("`{name}={other}` is not `true` or `false`")))
            }
        }
    }

    /// The body, which must be JSON.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, ApiProblem> {
        let kind = self.request.content_type.as_deref().unwrap_or("application/json");
        if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
            return Err(ApiProblem::unsupported_media_type(format!(
                "the body is `{kind}`, not `application/json`"
            )));
        }
        serde_json::from_slice(&self.request.body)
            .map_err(|error| ApiProblem::invalid_request(error.to_string()))
    }
}

/// The text behind percent signs.
pub(crate) fn decoded(text: &str) -> Result<Cow<'_, str>, ApiProblem> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let wrong = || ApiProblem::invalid_request(format!("`{text}` is not percent-encoded text"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = after.split_at_checked(2).ok_or_else(wrong)?;
        let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
        // `from_str_radix` takes a sign as well.
        let digits = Some(digits).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        bytes.push(digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(wrong)?);
        rest = after;
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| wrong())
}
