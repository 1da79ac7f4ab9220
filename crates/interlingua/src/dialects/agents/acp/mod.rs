//! The Agent Client Protocol, version 1: JSON-RPC between an agent and an editor, one message a line. Both directions are
//! read and written: a client can drive an agent, and any agent can be offered to an editor.

mod answers;
mod asked;
mod content;
mod input;
mod opening;
mod read;
mod requests;
mod support;
mod tools;
mod write;
mod written;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::live::input::InputWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::Kind;

/// The Agent Client Protocol.
pub static DIALECT: Dialect = Dialect {
    name: "acp",
    module: module_path!(),
    plane: Plane::Live,
    about: "Agent Client Protocol between agents and editors (JSON-RPC lines)",
    detected_by: "JSON-RPC 2.0 lines with the methods and results of the protocol: `session/update`, `session/prompt`, `stopReason`",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::AcpReader::of_agent())),
            write: Some(WriteSpec {
                make: |_| Box::new(write::AcpWriter::default()),
                support: support::agent,
            }),
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::AcpReader::of_client())),
            write: Some(WriteSpec {
                make: |options| Box::new(InputWriter::new(input::AcpInput::new(options), options)),
                support: support::client,
            }),
        },
    ],
    reads_more: READS_MORE,
    sniff,
};

/// Fields that the agent's writer has no place for: a transcript of both directions holds the requests and the answers of
/// the client, and a notice is any message without a meaning of its own.
const READS_MORE: &[Field] = &[
    Field::SessionCwd,
    Field::NoticeType,
    Field::NoticeText,
    Field::NoticeData,
    Field::PermissionAnswer,
    Field::QuestionAnswer,
    Field::QuestionDeclined,
];

/// The version of the protocol.
const VERSION: u64 = 1;

/// The methods of the protocol.
mod method {
    pub(super) const INITIALIZE: &str = "initialize";
    pub(super) const NEW: &str = "session/new";
    pub(super) const LOAD: &str = "session/load";
    pub(super) const RESUME: &str = "session/resume";
    pub(super) const PROMPT: &str = "session/prompt";
    pub(super) const CANCEL: &str = "session/cancel";
    pub(super) const SET_MODE: &str = "session/set_mode";
    pub(super) const SET_MODEL: &str = "session/set_model";
    pub(super) const SET_OPTION: &str = "session/set_config_option";
    pub(super) const UPDATE: &str = "session/update";
    pub(super) const PERMISSION: &str = "session/request_permission";
    pub(super) const ELICITATION: &str = "elicitation/create";
    pub(super) const CANCEL_REQUEST: &str = "$/cancel_request";
}

/// Error codes beside those of JSON-RPC.
mod code {
    pub(super) const INVALID_PARAMS: i64 = -32602;
    pub(super) const INTERNAL: i64 = -32603;
    pub(super) const CANCELLED: i64 = -32800;
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let frame = head.doc;
    if frame.str_or_empty("jsonrpc") != "2.0" {
        return None;
    }
    let params = frame.get("params");
    let of_session = params.is_some_and(|params| params.has_str("sessionId"));
    let score = match frame.str_or_empty("method") {
        method::UPDATE if of_session => 10,
        method::PERMISSION | method::PROMPT | method::CANCEL | method::LOAD | method::RESUME
            if of_session =>
        {
            10
        }
        method::ELICITATION if of_session => 10,
        method::NEW if params?.has_str("cwd") => 9,
        // MCP has the same method; its version is a date.
        method::INITIALIZE if params?.has_kind("protocolVersion", Kind::Number) => 8,
        "" => {
            let result = frame.get("result")?;
            let stopped = result.has_str("stopReason");
            let began = result.has_kind("protocolVersion", Kind::Number);
            let opened = result.has_str("sessionId") || result.has_kind("modes", Kind::Object);
            let decided = result.get("outcome").is_some_and(|outcome| outcome.has_str("outcome"));
            if stopped || began || opened || decided {
                8
            } else {
                return None;
            }
        }
        _ if of_session => 4,
        _ => return None,
    };
    Some((Role::Live, score))
}
