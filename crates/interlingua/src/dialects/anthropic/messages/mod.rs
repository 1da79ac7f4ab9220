//! Anthropic Messages: requests, whole responses and errors, streams.

pub(crate) mod read;
mod says;
mod write;

use super::blocks;
use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::model::{FailureClass, issuers};
use crate::sniff::Head;
use crate::wire::{Answering, Asking};

/// The Messages API of Anthropic.
pub static DIALECT: Dialect = Dialect {
    name: "anthropic",
    module: module_path!(),
    plane: Plane::Wire,
    about: "Anthropic Messages API (POST /v1/messages)",
    detected_by: "`messages` with `max_tokens` and Anthropic's own members; `type` of `message`, `error` or a stream event",
    issuer: Some(issuers::ANTHROPIC),
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::RequestReader)),
            write: Some(WriteSpec {
                make: |_| Box::new(Asking::<write::request::RequestWriter>::default()),
                says: says::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::ResponseReader)),
            write: Some(WriteSpec {
                make: |_| Box::new(Answering::<write::response::Response>::default()),
                says: says::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| Box::new(read::StreamReader::default())),
            write: Some(WriteSpec {
                make: |_| Box::new(Answering::<write::stream::Stream>::default()),
                says: says::answer,
            }),
        },
    ],
    sniff,
};

/// The words of `error.type`. The first word of a class is the one we write.
pub(crate) const ERRORS: &[(&str, FailureClass)] = &[
    ("invalid_request_error", FailureClass::InvalidRequest),
    ("invalid_request_error", FailureClass::ContextTooLong),
    ("authentication_error", FailureClass::Authentication),
    ("billing_error", FailureClass::Billing),
    ("permission_error", FailureClass::Permission),
    ("not_found_error", FailureClass::NotFound),
    ("conflict_error", FailureClass::Conflict),
    ("request_too_large", FailureClass::TooLarge),
    ("rate_limit_error", FailureClass::RateLimit),
    ("timeout_error", FailureClass::Timeout),
    ("api_error", FailureClass::Server),
    ("api_error", FailureClass::Other),
    ("api_error", FailureClass::Incomplete),
    ("overloaded_error", FailureClass::Overloaded),
];

/// How the API begins the message of an error when the conversation is too long; clients look for it.
const TOO_LONG: &str = "prompt is too long";

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    if let Some(messages) = doc.get("messages") {
        let own = ["system", "thinking", "stop_sequences", "output_config", "anthropic_version"];
        let blocks = ["tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"];
        let marked = own.iter().any(|name| doc.get(name).is_some())
            || doc
                .get("tools")
                .is_some_and(|tools| tools.elements().any(|tool| tool.get("input_schema").is_some()))
            || messages
                .elements()
                .filter_map(|message| message.get("content"))
                .flat_map(|content| content.elements())
                .any(|block| block.get("type").is_some_and(|kind| blocks.iter().any(|word| kind.is(word))));
        return match (marked, doc.get("max_tokens").is_some()) {
            (true, _) => Some((Role::Request, 9)),
            // The shortest request of both families; only here the limit is required.
            (false, true) => Some((Role::Request, 4)),
            (false, false) => None,
        };
    }
    let kind = doc.get("type")?.str()?;
    let stream = matches!(head.kind, FrameKind::Sse(_));
    match kind.as_escaped() {
        "error" if doc.get("error")?.get("type").is_some() => {
            Some((if stream { Role::Stream } else { Role::Response }, 8))
        }
        "message" if doc.get("content").is_some() && doc.get("role").is_some() => Some((Role::Response, 9)),
        "message_start"
        | "content_block_start"
        | "content_block_delta"
        | "content_block_stop"
        | "message_delta"
        | "message_stop"
        | "ping"
            if stream =>
        {
            Some((Role::Stream, 10))
        }
        _ => None,
    }
}
