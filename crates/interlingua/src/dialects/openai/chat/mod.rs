//! OpenAI Chat Completions: requests, whole responses, errors and streams. Most other vendors implement the same API.

mod positions;
mod read;
pub(super) mod settings;
pub(super) mod support;
mod write;

use super::items::{ERROR_MARK, OK_MARK, strip_mark};
use crate::dialects::{Dialect, Lineage, Options, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::model::{Author, FailureClass, Field, StopClass, Words};
use crate::pipe::{Reader, Writer};
use crate::sniff::Head;
use crate::tape::{Kind, Val};
use crate::wire;
use crate::wire::answer::AnswerWriter;
use crate::wire::backends::{NameRule, table::OPENAI_CHAT};
use crate::wire::content::{TEXT_PART, TextForm};
use crate::wire::listing::{ListWords, ModelListReader, ModelListWriter, says_of_models};
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
    detected_by: "`messages` with OpenAI's members, or with nobody's; `object` of `chat.completion`; `error` without `type`",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| read_request(&CHAT)),
            write: Some(WriteSpec {
                make: |options| write_request(&CHAT, options),
                support: support::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| read_response()),
            write: Some(WriteSpec {
                make: |options| write_response(&CHAT, options),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| read_stream()),
            write: Some(WriteSpec { make: |options| write_stream(&CHAT, options), support: support::answer }),
        },
        RoleSpec {
            role: Role::Models,
            framing: Framing::Whole,
            read: Some(|_| Box::new(ModelListReader(&MODELS))),
            write: Some(WriteSpec {
                make: |_| Box::new(ModelListWriter::new(&MODELS)),
                support: says_of_models,
            }),
        },
    ],
    reads_more: &[],
    sniff,
};

/// The model list.
pub(in super::super) static MODELS: ListWords = ListWords {
    list: "data",
    id_prefix: "",
    id: "id",
    members: &[(Field::ModelTime, "created"), (Field::ModelOwner, "owned_by")],
    tags: &[("object", "model")],
    around: r#""object":"list""#,
    time_in_seconds: true,
    needs_name: false,
    otherwise: &[(Field::ModelTime, "0"), (Field::ModelOwner, "\"unknown\"")],
};

// Readers and writers of a flavour, for the flavours' dialects.

pub(in super::super) fn read_request(flavour: &'static Flavour) -> Box<dyn Reader> {
    Box::new(read::request::ChatRequestReader(flavour))
}

pub(in super::super) fn read_response() -> Box<dyn Reader> {
    Box::new(read::CompletionReader)
}

pub(in super::super) fn read_stream() -> Box<dyn Reader> {
    Box::new(read::ChunkReader::default())
}

pub(in super::super) fn write_request(flavour: &'static Flavour, options: &Options) -> Box<dyn Writer> {
    Box::new(RequestWriter::new(write::ChatRequest::new(flavour), options))
}

pub(in super::super) fn write_response(flavour: &'static Flavour, options: &Options) -> Box<dyn Writer> {
    Box::new(AnswerWriter::new(write::Completion::new(flavour), options))
}

pub(in super::super) fn write_stream(flavour: &'static Flavour, options: &Options) -> Box<dyn Writer> {
    Box::new(AnswerWriter::new(write::Chunks::new(flavour), options))
}

/// A vendor's variant of the Chat Completions dialect.
pub(in super::super) struct Flavour {
    /// The fields and forms that servers support.
    pub(in super::super) backend: &'static Profile,
    /// The fields and forms that clients support in a whole response.
    pub(in super::super) client: &'static Profile,
    /// The fields and forms that clients support in a stream.
    pub(in super::super) stream_client: &'static Profile,
    /// The name of the reasoning member in a response.
    pub(in super::super) reasoning: &'static str,
    /// The member for signatures and encrypted state.
    pub(in super::super) state: StatePlace,
    /// The request member that enables thinking.
    pub(in super::super) thinking: ThinkingMember,
    /// Whether a message with calls and no text omits `content`.
    pub(in super::super) omits_content: bool,
    /// Whether a response may hold citations.
    pub(in super::super) cites: bool,
    /// Whether messages may hold films, and files in the vendor's file store.
    pub(in super::super) films: bool,
    /// The written cache mark of a part, for a vendor whose cache mark is on the message instead.
    pub(in super::super) message_mark: Option<&'static str>,
}

/// The member for signatures and encrypted state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum StatePlace {
    /// `reasoning_details`, with one entry per state.
    Details,
    /// `reasoning_opaque`, with one string per message.
    Opaque,
}

/// The request member that enables thinking, beside `reasoning_effort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ThinkingMember {
    /// No other member.
    Effort,
    /// `thinking`, an on/off switch.
    Switch,
    /// `thinking_budget`, a number of tokens.
    Budget,
}

/// OpenAI's own flavour.
static CHAT: Flavour = Flavour {
    backend: &BACKEND,
    client: &CLIENT,
    stream_client: &STREAM_CLIENT,
    reasoning: "reasoning_content",
    state: StatePlace::Details,
    thinking: ThinkingMember::Effort,
    omits_content: false,
    cites: true,
    films: false,
    message_mark: None,
};

/// The profile of servers.
pub(in super::super) static BACKEND: Profile = Profile {
    vendor: &OPENAI_CHAT,
    support: support::request,
    settings: settings::SETTINGS,
    cache: &CACHE,
    stops: &STOPS,
    // A client returns every id unchanged; only servers limit ids.
    answer_ids: NameRule::ANY,
    // Servers of this dialect issue no opaque state.
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

/// The profile of clients for a whole response.
pub(in super::super) static CLIENT: Profile =
    Profile { support: support::answer, opaque: OpaquePolicy::Carry, marks: Marks::Nothing, ..BACKEND };

/// The profile of clients for a stream, whose deltas have types for functions only.
static STREAM_CLIENT: Profile = Profile { free_text: FreeText::Wrapped, ..CLIENT };

/// The cache mark.
pub(super) const CACHE: CacheWords =
    CacheWords { name: "prompt_cache_breakpoint", kind: ("mode", "explicit"), lifetimes: &["30m", "12h"] };

/// The cache mark of gateways in front of other providers.
const CACHE_CONTROL: CacheWords =
    CacheWords { name: "cache_control", kind: ("type", "ephemeral"), lifetimes: &["5m", "1h"] };

/// Copilot's cache mark, which is on a whole message.
pub(in super::super) const COPILOT_CONTROL: CacheWords =
    CacheWords { name: "copilot_cache_control", kind: ("type", "ephemeral"), lifetimes: &[] };

/// The values of `role`. For a result, `tool` is written together with the call id.
const ROLES: Words<Author> = Words(&[
    (Author::User, "user"),
    (Author::Assistant, "assistant"),
    (Author::Tool, "tool"),
    (Author::System, "system"),
    (Author::Developer, "developer"),
    // The role of results in 2023, without ids.
    (Author::Tool, "function"),
]);

/// The values of `finish_reason`.
static STOPS: StopWords = StopWords {
    words: Words(&[
        (StopClass::End, "stop"),
        (StopClass::ToolUse, "tool_calls"),
        (StopClass::ToolUse, "function_call"),
        (StopClass::MaxTokens, "length"),
        (StopClass::Filter, "content_filter"),
        (StopClass::Error, "error"),
        // Values of other servers.
        (StopClass::MaxTokens, "max_tokens"),
        (StopClass::MaxTokens, "model_length"),
        (StopClass::End, "eos"),
        (StopClass::End, "end_turn"),
        (StopClass::ToolUse, "tool_use"),
    ]),
    nearest: Words(&[(StopClass::ContextFull, "length"), (StopClass::Refusal, "content_filter")]),
};

/// The values of `error.type` and `error.code`.
pub(super) static ERRORS: ErrorWords = ErrorWords {
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

/// The score of a document with messages as a Chat Completions request. Members that only this API has count most;
/// without them, members that all chat APIs share count.
fn request_score(doc: Val<'_>, messages: Val<'_>) -> u32 {
    let is = |name: &str, kind: Kind| doc.has_kind(name, kind);
    let parts = ["image_url", "input_audio", "file", "video_url", "document_url"];
    let is_own_part = |part: Val<'_>| parts.contains(&part.str_or_empty("type"));
    let is_own_message = |message: Val<'_>| {
        let content = message.get("content");
        ["developer", "tool", "function"].contains(&message.str_or_empty("role"))
            || message.has_kind("tool_calls", Kind::Array)
            || message.has_kind("function_call", Kind::Object)
            || content.is_some_and(|content| content.elements().any(is_own_part))
    };
    let numbers =
        ["max_completion_tokens", "n", "seed", "frequency_penalty", "presence_penalty", "top_logprobs"];
    let objects = ["response_format", "stream_options", "logit_bias", "web_search_options", "prediction"];
    let own = numbers.iter().any(|name| is(name, Kind::Number))
        || objects.iter().any(|name| is(name, Kind::Object))
        || ["functions", "modalities"].iter().any(|name| is(name, Kind::Array))
        || ["logprobs", "parallel_tool_calls"].iter().any(|name| is(name, Kind::Bool))
        || is("reasoning_effort", Kind::String);
    let is_own_tool = |tool: Val<'_>| tool.has_kind("function", Kind::Object);
    let strong = [
        doc.get("tools").is_some_and(|tools| tools.elements().any(is_own_tool)),
        messages.elements().any(is_own_message),
        own,
        is("stop", Kind::String) || is("stop", Kind::Array) || is("user", Kind::String),
        is("tool_choice", Kind::String),
    ];
    // A list of messages alone is weak evidence: it may be a line of a training set.
    let asks = is("model", Kind::String)
        || is("stream", Kind::Bool)
        || is("temperature", Kind::Number)
        || is("max_tokens", Kind::Number);
    let instructed = messages.elements().next().is_some_and(|first| first.str_or_empty("role") == "system");
    let common = 3 + u32::from(asks) + if instructed { 4 } else { 0 };
    strong.into_iter().map(|seen| if seen { 9 } else { 0 }).sum::<u32>().max(common)
}

/// Detects a document of any flavour.
pub(in super::super) fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    if let Some(messages) = wire::conversation(doc) {
        return Some((Role::Request, request_score(doc, messages)));
    }
    let is_model = |model: Val<'_>| model.get("object").is_some_and(|object| object.is("model"));
    if doc.get("data").is_some_and(|list| list.elements().any(is_model)) {
        return Some((Role::Models, 9));
    }
    let stream = matches!(head.kind, FrameKind::Sse(_));
    let object = doc.get("object").and_then(|object| object.str());
    match object {
        Some(object) if object.is("chat.completion") => return Some((Role::Response, 10)),
        Some(object) if object.is("chat.completion.chunk") => return Some((Role::Stream, 10)),
        Some(object) if object.is("error") && doc.has_str("message") => return Some((Role::Response, 5)),
        Some(_) | None => {}
    }
    if let Some(choices) = doc.get("choices") {
        let has = |name: &str| choices.elements().any(|choice| choice.has_kind(name, Kind::Object));
        return match (has("message"), has("delta")) {
            (true, _) if !stream => Some((Role::Response, 8)),
            (_, true) => Some((Role::Stream, 8)),
            // The first or last chunk of a stream.
            _ if stream && choices.kind() == Kind::Array => Some((Role::Stream, 4)),
            _ => None,
        };
    }
    let role = if stream { Role::Stream } else { Role::Response };
    if let Some(error) = doc.get("error").filter(|_| doc.get("type").is_none()) {
        // Every server reports errors in an `error` member. A document with no other member is likely from this API.
        let score = match doc.members().count() {
            _ if error.kind() == Kind::Object => 5,
            1 => 4,
            _ => 2,
        };
        return (error.kind() == Kind::String || error.has_str("message")).then_some((role, score));
    }
    // The error body of FastAPI servers for an invalid request.
    let detail = doc.get("detail").filter(|_| doc.members().count() == 1)?;
    let is_error = detail.kind() == Kind::String || detail.elements().any(|one| one.get("msg").is_some());
    is_error.then_some((role, 4))
}
