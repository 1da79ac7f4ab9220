//! The bodies of answers, from which the OpenAPI document has its schemas.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// The answer to a request about health.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct HealthStatus {
    /// `ok`.
    pub(crate) status: &'static str,
}

/// All agents.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AgentList {
    pub(crate) agents: Vec<AgentDescription>,
}

/// An agent of the daemon.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentDescription {
    /// The name in requests.
    pub(crate) id: &'static str,
    /// The name for people.
    pub(crate) name: &'static str,
    pub(crate) installed: bool,
    /// The version that the program prints.
    pub(crate) version: Option<String>,
    /// The path of the program.
    pub(crate) path: Option<String>,
    /// The dialect of the agent's output.
    pub(crate) dialect: &'static str,
    pub(crate) capabilities: BTreeMap<String, bool>,
}

/// The modes of an agent.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ModeList {
    pub(crate) modes: Vec<ModeDescription>,
}

/// A mode of an agent.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ModeDescription {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
}

/// The known models of an agent.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentModelList {
    /// Empty for an agent that uses models of many vendors.
    pub(crate) models: Vec<ModelDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default_model: Option<String>,
}

/// A model.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ModelDescription {
    /// The name in the settings of a session.
    pub(crate) id: String,
}

/// A file or folder.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    /// The absolute path.
    pub(crate) path: String,
    pub(crate) entry_type: EntryType,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The time of the last change in milliseconds since 1970.
    pub(crate) modified: Option<u64>,
}

/// The type of an entry. Links are followed, unless they lead out of the allowed folders.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryType {
    File,
    Directory,
    Other,
}

/// The answer to a change of an entry.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ChangedEntry {
    /// The absolute path.
    pub(crate) path: String,
}

/// The answer to a written file.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenFile {
    /// The absolute path.
    pub(crate) path: String,
    pub(crate) bytes_written: u64,
}

/// The answer to a moved entry.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct MovedEntry {
    /// The absolute paths.
    pub(crate) from: String,
    pub(crate) to: String,
}

/// All sessions.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct SessionList {
    /// The sessions, the newest first.
    pub(crate) sessions: Vec<SessionDescription>,
}

/// The description of a session.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionDescription {
    pub(crate) session_id: String,
    pub(crate) agent: String,
    pub(crate) agent_mode: String,
    pub(crate) permission_mode: String,
    pub(crate) model: Option<String>,
    /// The reasoning effort.
    pub(crate) variant: Option<String>,
    /// The agent's own id of the session; null until it is known.
    pub(crate) native_session_id: Option<String>,
    pub(crate) ended: bool,
    /// The number of the last event.
    pub(crate) event_count: u64,
    /// The time of creation in milliseconds since 1970.
    pub(crate) created_at: u64,
    /// The time of the last event in milliseconds since 1970.
    pub(crate) updated_at: u64,
    pub(crate) directory: Option<String>,
    pub(crate) title: Option<String>,
    /// The servers of the Model Context Protocol, in the agent's own terms.
    pub(crate) mcp: Option<serde_json::Value>,
    /// The model of the gateway that the agent uses.
    pub(crate) route: Option<String>,
}

/// The answer to the creation of a session.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedSession {
    pub(crate) healthy: bool,
    pub(crate) native_session_id: Option<String>,
}

/// A page of events.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "events are written as the bytes in the store; the type is the schema")]
pub(crate) struct EventPage {
    events: Vec<UniversalEnvelope>,
    /// Whether there are events after the page.
    has_more: bool,
}

/// The requests that wait for an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "events are written as the bytes in the store; the type is the schema")]
pub(crate) struct PendingRequests {
    /// The events `permission.requested` and `question.requested`.
    events: Vec<UniversalEnvelope>,
}

/// A universal event.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "events are written as the bytes in the store; the type is the schema")]
pub(crate) struct UniversalEnvelope {
    /// Unique in the store.
    event_id: String,
    /// The number in the session, from 1 and without gaps.
    sequence: u64,
    /// The time in UTC, as RFC 3339 has it.
    time: String,
    session_id: String,
    /// The agent's own id of the session; null until it is known.
    native_session_id: Option<String>,
    /// Whether the daemon added the event.
    synthetic: bool,
    source: EventSource,
    #[schemars(rename = "type")]
    kind: EventType,
    /// The members follow from the type.
    data: serde_json::Map<String, serde_json::Value>,
    /// The agent's line, if the client asks for it.
    raw: Option<serde_json::Value>,
}

/// The source of an event.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "events are written as the bytes in the store; the type is the schema")]
pub(crate) enum EventSource {
    Agent,
    Daemon,
}

/// The type of an event.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "events are written as the bytes in the store; the type is the schema")]
pub(crate) enum EventType {
    #[schemars(rename = "session.started")]
    SessionStarted,
    #[schemars(rename = "session.ended")]
    SessionEnded,
    #[schemars(rename = "turn.started")]
    TurnStarted,
    #[schemars(rename = "turn.ended")]
    TurnEnded,
    #[schemars(rename = "item.started")]
    ItemStarted,
    #[schemars(rename = "item.delta")]
    ItemDelta,
    #[schemars(rename = "item.completed")]
    ItemCompleted,
    #[schemars(rename = "permission.requested")]
    PermissionRequested,
    #[schemars(rename = "permission.resolved")]
    PermissionResolved,
    #[schemars(rename = "question.requested")]
    QuestionRequested,
    #[schemars(rename = "question.resolved")]
    QuestionResolved,
    #[schemars(rename = "error")]
    Error,
    #[schemars(rename = "agent.unparsed")]
    AgentUnparsed,
}

/// An error, as RFC 9457 has it.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ProblemBody {
    /// `urn:interlingua:error:` and the kind of the error.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The kind of the error as words.
    pub(crate) title: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// A sentence for people.
    pub(crate) detail: String,
    /// The path of the request.
    pub(crate) instance: Option<String>,
    /// The lowest number of an event that is still stored, for an offset whose events have expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lowest: Option<u64>,
}
