//! Anthropic Messages: requests, whole responses and errors, streams.

pub(crate) mod read;
mod says;
mod settings;
mod write;

use super::blocks;
use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::model::{Author, CallKind, FailureClass, Words, issuers};
use crate::sniff::Head;
use crate::wire::Letters;
use crate::wire::answer::AnswerWriter;
use crate::wire::profile::{
    ArgumentForm, BlankText, FreeText, Marks, NameRule, OpaquePolicy, Profile, Refusals,
};
use crate::wire::request::RequestWriter;
use crate::wire::words::ErrorWords;

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
            read: Some(|_| Box::new(read::MessagesRequestReader)),
            write: Some(WriteSpec {
                make: |_| Box::new(RequestWriter::<write::MessagesRequest>::default()),
                says: says::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::WholeAnswerReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::<write::WholeAnswer>::new(options)),
                says: says::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| Box::new(read::MessageEventsReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::<write::MessageEvents>::new(options)),
                says: says::answer,
            }),
        },
    ],
    sniff,
};

/// What the API takes.
static BACKEND: Profile = Profile {
    says: says::request,
    settings: settings::SETTINGS,
    cache: &blocks::CACHE,
    stops: &blocks::STOPS,
    ids: NameRule { letters: Letters::Word, most: usize::MAX },
    names: NameRule::TOOL,
    opaque: OpaquePolicy::Withhold { unless: Some(issuers::ANTHROPIC) },
    refusals: Refusals::AsText,
    arguments: ArgumentForm::Object,
    free_text: FreeText::Wrapped,
    blank_text: BlankText::Refuse,
    marks: Marks::TextsAndCalls,
    tool_types: &[
        ("web_search_", CallKind::Server),
        ("web_fetch_", CallKind::Server),
        ("code_execution_", CallKind::Server),
        ("tool_search_tool_", CallKind::Server),
        ("advisor_", CallKind::Server),
        ("mcp_toolset", CallKind::Mcp),
        ("bash_", CallKind::Vendor),
        ("text_editor_", CallKind::Vendor),
        ("memory_", CallKind::Vendor),
        ("computer_", CallKind::Vendor),
        ("browser_", CallKind::Vendor),
    ],
};

/// What its clients take: anything that can be read.
static CLIENT: Profile = Profile {
    says: says::answer,
    names: NameRule::ANY,
    opaque: OpaquePolicy::Carry,
    blank_text: BlankText::Take,
    marks: Marks::Nothing,
    ..BACKEND
};

/// The words of `role`.
const ROLES: Words<Author> =
    Words(&[(Author::User, "user"), (Author::Assistant, "assistant"), (Author::System, "system")]);

/// The words of `error.type`.
static ERRORS: ErrorWords = ErrorWords {
    rows: &[
        (FailureClass::InvalidRequest, "invalid_request_error", None),
        (FailureClass::ContextTooLong, "invalid_request_error", None),
        (FailureClass::Authentication, "authentication_error", None),
        (FailureClass::Billing, "billing_error", None),
        (FailureClass::Permission, "permission_error", None),
        (FailureClass::NotFound, "not_found_error", None),
        (FailureClass::Conflict, "conflict_error", None),
        (FailureClass::TooLarge, "request_too_large", None),
        (FailureClass::RateLimit, "rate_limit_error", None),
        (FailureClass::Timeout, "timeout_error", None),
        (FailureClass::Server, "api_error", None),
        (FailureClass::Overloaded, "overloaded_error", None),
    ],
    more: Words(&[]),
    too_long: &[TOO_LONG],
};

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
