//! The settings of a session, as a client sends them.

use std::collections::BTreeMap;

use interlingua::json::Str;
use interlingua::model::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::routing::GatewayLink;

/// The body of the request that creates a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionSettings {
    pub(crate) agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) permission_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Variables for the agent's process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, String>,
    /// Servers of the Model Context Protocol by name, in the agent's own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mcp: Option<serde_json::Value>,
    /// The agent's own session to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) native_session_id: Option<String>,
    /// The pause of the mock agent between two lines, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mock_pace_ms: Option<u64>,
    /// A model of the gateway on the same server. The agent uses the gateway instead of its vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) route: Option<String>,
    /// The way to the gateway of the route.
    #[serde(skip)]
    pub(crate) gateway: GatewayLink,
    /// Arguments of the agent's process before all others.
    #[serde(skip)]
    pub(crate) leading_arguments: Vec<String>,
}

impl SessionSettings {
    /// The permission mode; `default` if the client names none.
    pub(crate) fn permission(&self) -> &str {
        self.permission_mode.as_deref().unwrap_or("default")
    }

    /// The facts of the session for the agent and for the stream.
    pub(crate) fn facts(&self, agent: &str, native_id: Option<&str>) -> Session<'static> {
        let text = |text: &Option<String>| text.as_deref().map(|text| Str::from_plain(text).into_owned());
        Session {
            id: native_id.map(|id| Str::from_plain(id).into_owned()),
            cwd: text(&self.directory),
            model: text(&self.model),
            title: text(&self.title),
            agent: Some(Str::from_plain(agent).into_owned()),
            permission_mode: Some(Str::from_plain(self.permission()).into_owned()),
            effort: text(&self.variant),
            ..Session::default()
        }
    }
}

/// The body of the request that sends a message.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageBody {
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) attachments: Vec<Attachment>,
}

/// A file of the user's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Attachment {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) mime: Option<String>,
    #[serde(default)]
    pub(crate) filename: Option<String>,
}

/// The body of a reply to a permission request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PermissionReply {
    pub(crate) reply: Reply,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

/// The reply to a permission request.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Once,
    Always,
    Reject,
}

/// The body of a reply to a question: the chosen labels of each prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionReply {
    pub(crate) answers: Vec<Vec<String>>,
}

/// The body of the request that moves a file or folder.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MoveBody {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Whether a file at the new path is replaced.
    #[serde(default)]
    pub(crate) overwrite: bool,
}
