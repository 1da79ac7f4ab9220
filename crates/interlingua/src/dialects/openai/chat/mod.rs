//! OpenAI Chat Completions: requests, whole responses and errors, streams. Also what most other vendors speak.

mod read;
mod says;
mod settings;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::model::{Author, FailureClass, StopClass, Words};
use crate::sniff::Head;
use crate::wire::Letters;
use crate::wire::answer::AnswerWriter;
use crate::wire::backends::{NameRule, builtin::OPENAI_CHAT};
use crate::wire::content::{TEXT_PART, TextForm};
use crate::wire::profile::{ArgumentForm, BlankText, FreeText, Marks, OpaquePolicy, Profile, Refusals};
use crate::wire::request::RequestWriter;
use crate::wire::settings::CacheWords;
use crate::wire::words::{ErrorWords, StopWords};

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
            read: Some(|_| Box::new(read::request::ChatRequestReader(&CHAT))),
            write: Some(WriteSpec {
                make: |options| Box::new(RequestWriter::new(write::ChatRequest::new(&CHAT), options)),
                says: says::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::CompletionReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::Completion::new(&CHAT), options)),
                says: says::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| Box::new(read::ChunkReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::Chunks::new(&CHAT), options)),
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

/// The ways in which vendors speak this dialect.
pub(in super::super) struct Flavour {
    /// What servers take.
    backend: &'static Profile,
    /// What clients take of a whole response.
    client: &'static Profile,
    /// What they take of a stream.
    stream_client: &'static Profile,
}

/// As OpenAI does.
static CHAT: Flavour = Flavour { backend: &BACKEND, client: &CLIENT, stream_client: &STREAM_CLIENT };

/// What a server takes.
static BACKEND: Profile = Profile {
    vendor: &OPENAI_CHAT,
    says: says::request,
    settings: settings::SETTINGS,
    cache: &CACHE,
    stops: &STOPS,
    answer_ids: NameRule { letters: Letters::Any, ..NameRule::TOOL },
    // A server that speaks this dialect issues no state.
    opaque: OpaquePolicy::Withhold { unless: None },
    refusals: Refusals::Apart,
    arguments: ArgumentForm::Text,
    free_text: FreeText::Native,
    texts: TextForm { head: TEXT_PART, blank: BlankText::Take },
    text_documents: false,
    system_is_turn: true,
    groups: false,
    marks: Marks::Texts,
    own_tools: &[],
};

/// What its clients take of a whole response.
static CLIENT: Profile =
    Profile { says: says::answer, opaque: OpaquePolicy::Carry, marks: Marks::Nothing, ..BACKEND };

/// What they take of a stream, whose deltas are typed for functions only.
static STREAM_CLIENT: Profile = Profile { free_text: FreeText::Wrapped, ..CLIENT };

/// A mark for the cache.
const CACHE: CacheWords =
    CacheWords { name: "prompt_cache_breakpoint", kind: ("mode", "explicit"), lifetimes: &["30m", "12h"] };

/// The words of `role`. A writer says `system` for a developer, and a result has `tool` written beside its id.
const ROLES: Words<Author> = Words(&[
    (Author::User, "user"),
    (Author::Assistant, "assistant"),
    (Author::Tool, "tool"),
    (Author::System, "system"),
    (Author::Developer, "developer"),
    // The way of 2023, without ids.
    (Author::Tool, "function"),
]);

/// The words of `finish_reason`.
static STOPS: StopWords = StopWords {
    words: Words(&[
        (StopClass::End, "stop"),
        (StopClass::ToolUse, "tool_calls"),
        (StopClass::ToolUse, "function_call"),
        (StopClass::MaxTokens, "length"),
        (StopClass::Filter, "content_filter"),
        (StopClass::Error, "error"),
    ]),
    nearest: Words(&[(StopClass::ContextFull, "length"), (StopClass::Refusal, "content_filter")]),
};

/// The words of `error.type` and `error.code`.
static ERRORS: ErrorWords = ErrorWords {
    rows: &[
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
    ],
    more: Words(&[]),
};

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
