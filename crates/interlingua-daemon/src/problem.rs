//! Errors for clients: `application/problem+json`.

use std::fmt;

use interlingua_store::StoreError;

use crate::shapes::ProblemBody;

/// An error that a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiProblem {
    /// The last part of the type, such as `session_not_found`.
    pub kind: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// A sentence for people.
    pub detail: String,
    /// The lowest number of an event that is still stored, for an offset whose events have expired.
    pub lowest: Option<u64>,
}

macro_rules! problems {
    ($($(#[$about:meta])* $name:ident => $status:literal,)*) => {
        impl ApiProblem {
            $($(#[$about])* pub(crate) fn $name(detail: impl Into<String>) -> Self {
                Self { kind: stringify!($name), status: $status, detail: detail.into(), lowest: None }
            })*
        }
    };
}

problems! {
    /// A request that cannot be read or has wrong values.
    invalid_request => 400,
    /// An agent that the daemon does not know.
    unsupported_agent => 400,
    /// A mode that the agent does not have.
    mode_not_supported => 400,
    /// A directory outside the allowed ones.
    permission_denied => 403,
    /// No session has this id.
    session_not_found => 404,
    /// No such path.
    not_found => 404,
    /// The program of the agent is not installed.
    agent_not_installed => 404,
    /// The path has no such method.
    method_not_allowed => 405,
    /// A session has this id already.
    session_already_exists => 409,
    /// A turn is running.
    session_busy => 409,
    /// The session has ended.
    session_ended => 409,
    /// The request was answered already.
    already_resolved => 409,
    /// A file or folder is in the way.
    entry_exists => 409,
    /// The events after the offset have expired.
    events_expired => 410,
    /// The body is not JSON.
    unsupported_media_type => 415,
    /// The system refuses an operation on a file.
    file_error => 500,
    /// The program of the agent cannot be installed by the daemon.
    install_failed => 500,
    /// The agent ended.
    agent_process_exited => 500,
    /// The agent or the store failed.
    stream_error => 502,
}

impl ApiProblem {
    /// The body.
    pub(crate) fn json(&self, instance: &str) -> String {
        let Self { kind, status, detail, lowest } = self;
        let body = ProblemBody {
            kind: format!("urn:interlingua:error:{kind}"),
            title: kind.replace('_', " "),
            status: *status,
            detail: detail.clone(),
            instance: Some(instance.to_owned()),
            lowest: *lowest,
        };
        // Text and numbers can always be written.
        serde_json::to_string(&body).unwrap_or_default()
    }
}

impl fmt::Display for ApiProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

impl std::error::Error for ApiProblem {}

impl From<StoreError> for ApiProblem {
    fn from(error: StoreError) -> Self {
        ApiProblem::stream_error(format!("the store failed: {error}"))
    }
}
