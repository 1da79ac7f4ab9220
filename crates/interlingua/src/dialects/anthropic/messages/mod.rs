//! Anthropic Messages: requests, whole responses and errors, streams.

pub(crate) mod read;
mod settings;
mod support;
mod write;

use super::usage::STOPS;
use crate::blocks;
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::json::Str;
use crate::model::{Author, CallKind, FailureClass, Field, Service, Words, issuers};
use crate::sniff::Head;
use crate::tape::{Kind, Val};
use crate::wire;
use crate::wire::answer::AnswerWriter;
use crate::wire::backends::{NameRule, counting::ANTHROPIC_COUNT, table::ANTHROPIC};
use crate::wire::content::{TEXT_PART, TextForm};
use crate::wire::listing::{
    CountReader, CountWords, CountWriter, ListWords, ModelListReader, ModelListWriter, says_of_count,
    says_of_models,
};
use crate::wire::profile::{
    ArgumentForm, BlankText, FreeText, Marks, OpaquePolicy, OwnTool, Profile, Refusals,
};
use crate::wire::request::RequestWriter;
use crate::wire::words::ErrorWords;

/// The Messages API of Anthropic.
pub static DIALECT: Dialect = Dialect {
    name: "anthropic",
    module: module_path!(),
    plane: Plane::Wire,
    about: "Anthropic Messages API (POST /v1/messages)",
    detected_by: "`messages` with Anthropic's own members, or `max_tokens` and a Claude model; `type` of `message`, `error` or a stream event",
    flavour_of: None,
    issuer: Some(issuers::ANTHROPIC),
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::MessagesRequestReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(RequestWriter::new(write::MessagesRequest::default(), options)),
                support: support::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::WholeAnswerReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::WholeAnswer::default(), options)),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| Box::new(read::MessageEventsReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::MessageEvents::default(), options)),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Count,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::MessagesRequestReader)),
            write: Some(WriteSpec {
                make: |options| {
                    let options = options.clone().with_backend(&ANTHROPIC_COUNT);
                    Box::new(RequestWriter::new(write::MessagesRequest::default(), &options))
                },
                support: support::request,
            }),
        },
        RoleSpec {
            role: Role::Counted,
            framing: Framing::Whole,
            read: Some(|_| Box::new(CountReader(&COUNT))),
            write: Some(WriteSpec { make: |_| Box::new(CountWriter::new(&COUNT)), support: says_of_count }),
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

/// The member with the token count of a request.
static COUNT: CountWords = CountWords { path: &["input_tokens"], cached: None, around: "" };

/// The members of a model list.
static MODELS: ListWords = ListWords {
    list: "data",
    id_prefix: "",
    id: "id",
    members: &[
        (Field::ModelName, "display_name"),
        (Field::ModelTime, "created_at"),
        (Field::ModelInputLimit, "max_input_tokens"),
        (Field::ModelOutputLimit, "max_tokens"),
    ],
    tags: &[("type", "model"), ("lifecycle", "active")],
    around: r#""has_more":false,"first_id":null,"last_id":null"#,
    time_in_seconds: false,
    needs_name: true,
    otherwise: &[(Field::ModelTime, "\"1970-01-01T00:00:00Z\"")],
};

/// The capabilities of the API.
static BACKEND: Profile = Profile {
    vendor: &ANTHROPIC,
    support: support::request,
    settings: settings::SETTINGS,
    cache: &blocks::CACHE,
    stops: &STOPS,
    answer_ids: NameRule { most: usize::MAX, ..NameRule::TOOL },
    opaque: OpaquePolicy::Withhold { unless: Some(issuers::ANTHROPIC) },
    refusals: Refusals::AsText,
    arguments: ArgumentForm::Object,
    free_text: FreeText::Wrapped,
    texts: TextForm { head: TEXT_PART, blank: BlankText::Refuse },
    text_documents: true,
    system_is_turn: false,
    groups: false,
    marks: Marks::TextsAndCalls,
    own_tools: &[
        OwnTool {
            // OpenAI has other tools with the same prefix.
            begins: "web_search_#",
            kind: CallKind::Server,
            service: Some(Service::WebSearch),
            stands_in: Some(("web_search_20250305", "web_search")),
        },
        OwnTool {
            begins: "web_fetch_",
            kind: CallKind::Server,
            service: Some(Service::WebFetch),
            stands_in: Some(("web_fetch_20250910", "web_fetch")),
        },
        OwnTool {
            begins: "code_execution_",
            kind: CallKind::Server,
            service: Some(Service::CodeExecution),
            stands_in: Some(("code_execution_20250825", "code_execution")),
        },
        OwnTool {
            begins: "tool_search_tool_",
            kind: CallKind::Server,
            service: Some(Service::ToolSearch),
            stands_in: Some(("tool_search_tool_bm25_20251119", "tool_search_tool_bm25")),
        },
        OwnTool { begins: "advisor_", kind: CallKind::Server, service: None, stands_in: None },
        OwnTool { begins: "mcp_toolset", kind: CallKind::Mcp, service: Some(Service::Mcp), stands_in: None },
        OwnTool { begins: "bash_", kind: CallKind::Vendor, service: Some(Service::Shell), stands_in: None },
        OwnTool {
            begins: "text_editor_",
            kind: CallKind::Vendor,
            service: Some(Service::Editor),
            stands_in: None,
        },
        OwnTool { begins: "memory_", kind: CallKind::Vendor, service: None, stands_in: None },
        OwnTool {
            begins: "computer_#",
            kind: CallKind::Vendor,
            service: Some(Service::Computer),
            stands_in: None,
        },
        OwnTool {
            begins: "computer_toolset_",
            kind: CallKind::Vendor,
            service: Some(Service::Computer),
            stands_in: None,
        },
        OwnTool { begins: "browser_", kind: CallKind::Vendor, service: None, stands_in: None },
    ],
};

/// The capabilities of the API's clients, which accept every readable field.
static CLIENT: Profile = Profile {
    support: support::answer,
    opaque: OpaquePolicy::Carry,
    texts: TextForm { head: TEXT_PART, blank: BlankText::Take },
    marks: Marks::Nothing,
    ..BACKEND
};

/// Values of `role`.
const ROLES: Words<Author> =
    Words(&[(Author::User, "user"), (Author::Assistant, "assistant"), (Author::System, "system")]);

/// Values of `error.type`.
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
};

/// Prefix of the API's error message for a conversation that is too long; clients search for this prefix.
const TOO_LONG: &str = "prompt is too long";

/// Whether a model's name is one of Anthropic's, as its API and reselling clouds spell it.
fn is_claude(model: &Str<'_>) -> bool {
    let plain = model.decode();
    plain.contains("claude") && !plain.contains('/')
}

/// Score of a document with messages as a request of this API: signs add to the score, and signs of other APIs
/// subtract. Without the limit the document may be a request to count tokens, which has the same members.
fn request_score(doc: Val<'_>, messages: Val<'_>) -> Option<u32> {
    let has = |name: &str, kinds: &[Kind]| kinds.iter().any(|kind| doc.has_kind(name, *kind));
    let text_or_list = [Kind::String, Kind::Array];
    let blocks =
        ["tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"];
    let is_own_block = |block: Val<'_>| blocks.contains(&block.str_or_empty("type"));
    let mut contents = messages.elements().filter_map(|message| message.get("content"));
    let is_own_tool = |tool: Val<'_>| {
        let own_type = tool
            .get("type")
            .and_then(|kind| kind.str())
            .is_some_and(|kind| BACKEND.own_type(&kind).is_some());
        tool.has_kind("input_schema", Kind::Object) || own_type
    };
    let mut tools = doc.get("tools").into_iter().flat_map(|tools| tools.elements());
    let choice = doc.get("tool_choice").map_or("", |choice| choice.str_or_empty("type"));
    let budget = doc.get("thinking").is_some_and(|thinking| thinking.has_kind("budget_tokens", Kind::Number));
    let model = doc.get("model").and_then(|model| model.str());
    let limit = has("max_tokens", &[Kind::Number]);
    let objects = ["output_config", "output_format", "cache_control"];
    let signs = [
        (8, has("system", &text_or_list)),
        (8, objects.iter().any(|name| has(name, &[Kind::Object]))),
        (8, has("anthropic_version", &[Kind::String]) || has("anthropic_beta", &text_or_list)),
        (8, contents.any(|content| content.elements().any(is_own_block))),
        (8, tools.any(is_own_tool)),
        (5, has("stop_sequences", &[Kind::Array]) || has("mcp_servers", &[Kind::Array])),
        (5, has("context_management", &[Kind::Object]) || has("container", &[Kind::String, Kind::Object])),
        (5, budget || doc.get("metadata").is_some_and(|metadata| metadata.has_str("user_id"))),
        (3, ["auto", "any", "tool", "none"].contains(&choice)),
        // Other APIs serve Claude as well; only this API requires a limit.
        (5, limit && model.is_some_and(|model| is_claude(&model))),
        (1, limit),
    ];
    let score: u32 = signs.into_iter().filter(|(_, seen)| *seen).map(|(weight, _)| weight).sum();
    // Chat has its instructions at the head of the messages.
    let is_chat = messages.elements().next().is_some_and(|first| first.str_or_empty("role") == "system");
    let score = if is_chat { score.saturating_sub(4) } else { score };
    Some(score).filter(|score| *score > 0)
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    if let Some(messages) = wire::conversation(doc) {
        return request_score(doc, messages).map(|score| (Role::Request, score));
    }
    let is_model = |model: Val<'_>| model.str_or_empty("type") == "model" && model.has_str("id");
    if doc.get("data").is_some_and(|data| data.elements().next().is_some_and(is_model)) {
        return Some((Role::Models, 9));
    }
    if doc.get("input_tokens").is_some_and(|count| count.u64().is_some()) && doc.members().count() == 1 {
        return Some((Role::Counted, 8));
    }
    let kind = doc.get("type")?.str()?;
    let stream = matches!(head.kind, FrameKind::Sse(_));
    match kind.as_escaped() {
        // OpenAI's `error` event has a sequence number.
        "error" if doc.get("error")?.has_str("type") && doc.get("sequence_number").is_none() => {
            Some((if stream { Role::Stream } else { Role::Response }, 8))
        }
        // The API responds with a list of blocks; agents print similar lines with a string.
        "message"
            if doc.get("content").is_some_and(|content| content.kind() == Kind::Array)
                && doc.str_or_empty("role") == "assistant" =>
        {
            // OpenAI's items have the same type, with OpenAI's own parts; lines of old Codex rollouts are such items.
            let is_openai = |part: Val<'_>| {
                matches!(part.str_or_empty("type"), "input_text" | "output_text" | "input_image")
            };
            if doc.get("content")?.elements().any(is_openai) {
                return None;
            }
            Some((Role::Response, if doc.has_str("model") { 9 } else { 3 }))
        }
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
