//! OpenAI Chat Completions: requests, whole responses and errors, streams. Also what most other vendors speak.

mod read;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::model::FailureClass;
use crate::sniff::Head;
use crate::wire::{Answering, Asking};

/// The Chat Completions API of OpenAI.
pub static DIALECT: Dialect = Dialect {
    name: "openai-chat",
    module: module_path!(),
    plane: Plane::Wire,
    about: "OpenAI Chat Completions API (POST /v1/chat/completions)",
    detected_by: "`messages` without Anthropic's members; `object` of `chat.completion`; `error` without `type`",
    issuer: None,
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::request::RequestReader)),
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

/// A `tool` message has no flag for failure: its text begins with this instead, and reading takes it off again.
const ERROR_MARK: &str = "[tool error] ";
/// Put before a good result that happens to begin with a mark, so that it is not mistaken for one.
const OK_MARK: &str = "[tool ok] ";

/// `error.type` and `error.code` per class, as we write them.
const ERRORS: &[(FailureClass, &str, Option<&str>)] = &[
    (FailureClass::InvalidRequest, "invalid_request_error", None),
    (FailureClass::ContextTooLong, "invalid_request_error", Some("context_length_exceeded")),
    (FailureClass::Authentication, "authentication_error", Some("invalid_api_key")),
    (FailureClass::Billing, "insufficient_quota", Some("insufficient_quota")),
    (FailureClass::Permission, "permission_error", Some("permission_denied")),
    (FailureClass::NotFound, "not_found_error", Some("not_found")),
    (FailureClass::Conflict, "conflict_error", Some("conflict")),
    (FailureClass::TooLarge, "request_too_large", Some("request_too_large")),
    (FailureClass::RateLimit, "rate_limit_error", Some("rate_limit_exceeded")),
    (FailureClass::Server, "server_error", None),
    (FailureClass::Incomplete, "server_error", Some("incomplete_stream")),
    (FailureClass::Overloaded, "overloaded_error", Some("server_is_overloaded")),
    (FailureClass::Timeout, "timeout_error", Some("timeout")),
    (FailureClass::Other, "error", None),
];

/// Other words that servers use for these classes, as code or as type.
const MORE_ERRORS: &[(&str, FailureClass)] = &[
    ("model_not_found", FailureClass::NotFound),
    ("requests", FailureClass::RateLimit),
    ("tokens", FailureClass::RateLimit),
    ("billing_hard_limit_reached", FailureClass::Billing),
    ("overloaded", FailureClass::Overloaded),
    ("api_error", FailureClass::Server),
    ("internal_error", FailureClass::Server),
];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    if let Some(messages) = doc.get("messages") {
        let own =
            ["max_completion_tokens", "response_format", "reasoning_effort", "stream_options", "n", "seed"];
        let marked = own.iter().any(|name| doc.get(name).is_some())
            || doc
                .get("tools")
                .is_some_and(|tools| tools.elements().any(|tool| tool.get("function").is_some()))
            || messages.elements().any(|message| {
                message.get("tool_calls").is_some()
                    || message.get("role").is_some_and(|role| role.is("developer") || role.is("tool"))
            });
        return Some((Role::Request, if marked { 9 } else { 3 }));
    }
    let stream = matches!(head.kind, FrameKind::Sse(_));
    match doc.get("object").and_then(|object| object.str()) {
        Some(object) if object.is("chat.completion") => Some((Role::Response, 10)),
        Some(object) if object.is("chat.completion.chunk") => Some((Role::Stream, 10)),
        _ => {
            let error = doc.get("error").filter(|_| doc.get("type").is_none())?;
            error.get("message")?;
            Some((if stream { Role::Stream } else { Role::Response }, 5))
        }
    }
}
