//! OpenAI Responses: requests, whole responses, errors and streams. Codex and OpenAI's newer clients use this API.

mod read;
mod settings;
mod support;
mod write;

use super::chat::{CACHE, ERRORS};
use super::items;
use crate::dialects::openai::chat;
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::json::Str;
use crate::model::{Author, CallKind, Field, Opaque, OpaqueKind, Service, StopClass, Words, issuers};
use crate::sniff::Head;
use crate::tape::{Kind, Val};
use crate::wire::answer::AnswerWriter;
use crate::wire::backends::{NameRule, counting::OPENAI_RESPONSES_COUNT, table::OPENAI_RESPONSES};
use crate::wire::content::TextForm;
use crate::wire::listing::{
    CountReader, CountWords, CountWriter, ModelListWriter, says_of_count, says_of_models,
};
use crate::wire::profile::{
    ArgumentForm, BlankText, FreeText, Marks, OpaquePolicy, OwnTool, Profile, Refusals,
};
use crate::wire::request::RequestWriter;
use crate::wire::words::StopWords;

/// The Responses API of OpenAI.
pub static DIALECT: Dialect = Dialect {
    name: "openai-responses",
    module: module_path!(),
    plane: Plane::Wire,
    about: "OpenAI Responses API (POST /v1/responses)",
    detected_by: "`input` without `messages`, with a `model` or items; `object` of `response`; events called `response.…`",
    flavour_of: None,
    issuer: Some(issuers::OPENAI),
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::request::ResponsesRequestReader)),
            write: Some(WriteSpec {
                make: |options| {
                    Box::new(RequestWriter::new(write::request::ResponsesRequest::new(options), options))
                },
                support: support::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::ResponseReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::answer::WholeResponse::default(), options)),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| Box::new(read::stream::ResponseEventReader::default())),
            write: Some(WriteSpec {
                make: |options| {
                    Box::new(AnswerWriter::new(write::answer::ResponseEvents::default(), options))
                },
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Count,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::request::ResponsesRequestReader)),
            write: Some(WriteSpec {
                make: |options| {
                    let options = options.clone().with_backend(&OPENAI_RESPONSES_COUNT);
                    Box::new(RequestWriter::new(write::request::ResponsesRequest::new(&options), &options))
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
        // The model list is the chat dialect's, and the chat dialect reads it.
        RoleSpec {
            role: Role::Models,
            framing: Framing::Whole,
            read: None,
            write: Some(WriteSpec {
                make: |_| Box::new(ModelListWriter::new(&chat::MODELS)),
                support: says_of_models,
            }),
        },
    ],
    reads_more: &[Field::ItemId],
    sniff,
};

/// The token count of a request.
static COUNT: CountWords =
    CountWords { path: &["input_tokens"], cached: None, around: r#""object":"response.input_tokens""# };

/// The profile of the API as a backend.
static BACKEND: Profile = Profile {
    vendor: &OPENAI_RESPONSES,
    support: support::request,
    settings: settings::SETTINGS,
    cache: &CACHE,
    stops: &STOPS,
    answer_ids: NameRule::ANY,
    opaque: OpaquePolicy::Withhold { unless: Some(issuers::OPENAI) },
    refusals: Refusals::Apart,
    arguments: ArgumentForm::Text,
    free_text: FreeText::Native,
    texts: TextForm { head: r#"{"type":"input_text","text":""#, blank: BlankText::Take },
    text_documents: false,
    // A leading system message becomes `instructions`, not an item.
    system_is_turn: false,
    groups: true,
    marks: Marks::Input,
    own_tools: OWN_TOOLS,
};

/// The profile of clients.
static CLIENT: Profile = Profile { support: support::answer, opaque: OpaquePolicy::Carry, ..BACKEND };

/// Tools that the vendor itself provides.
const OWN_TOOLS: &[OwnTool] = &[
    OwnTool {
        begins: "web_search",
        kind: CallKind::Server,
        service: Some(Service::WebSearch),
        stands_in: Some(("web_search", "web_search")),
    },
    server("web_search_2025_08_26", Service::WebSearch),
    server("web_search_preview", Service::WebSearch),
    server("web_search_preview_2025_03_11", Service::WebSearch),
    OwnTool {
        begins: "code_interpreter",
        kind: CallKind::Server,
        service: Some(Service::CodeExecution),
        stands_in: Some(("code_interpreter", "code_interpreter")),
    },
    OwnTool {
        begins: "image_generation",
        kind: CallKind::Server,
        service: Some(Service::ImageGeneration),
        stands_in: Some(("image_generation", "image_generation")),
    },
    OwnTool {
        begins: "tool_search",
        kind: CallKind::Server,
        service: Some(Service::ToolSearch),
        stands_in: Some(("tool_search", "tool_search")),
    },
    server("file_search", Service::FileSearch),
    OwnTool { begins: "mcp", kind: CallKind::Mcp, service: Some(Service::Mcp), stands_in: None },
    OwnTool { begins: "programmatic_tool_calling", kind: CallKind::Server, service: None, stands_in: None },
    client("shell", Service::Shell),
    client("local_shell", Service::Shell),
    client("apply_patch", Service::Editor),
    client("computer", Service::Computer),
    client("computer_use_preview", Service::Computer),
];

/// A tool that the provider runs, without a role as stand-in for another vendor's tool.
const fn server(begins: &'static str, service: Service) -> OwnTool {
    OwnTool { begins, kind: CallKind::Server, service: Some(service), stands_in: None }
}

/// A tool that the client runs, without a role as stand-in for another vendor's tool.
const fn client(begins: &'static str, service: Service) -> OwnTool {
    OwnTool { begins, kind: CallKind::Vendor, service: Some(service), stands_in: None }
}

/// The values of `role`.
const ROLES: Words<Author> = Words(&[
    (Author::User, "user"),
    (Author::Assistant, "assistant"),
    (Author::System, "system"),
    (Author::Developer, "developer"),
]);

/// The `status` values of a response, and the reasons of an incomplete response.
static STOPS: StopWords = StopWords {
    words: Words(&[
        (StopClass::End, COMPLETED),
        (StopClass::ToolUse, COMPLETED),
        (StopClass::MaxTokens, "max_output_tokens"),
        (StopClass::Filter, "content_filter"),
        (StopClass::Cancelled, CANCELLED),
        (StopClass::Cancelled, "steered"),
        // Some servers use this spelling.
        (StopClass::End, "complete"),
    ]),
    nearest: Words(&[(StopClass::ContextFull, "max_output_tokens"), (StopClass::Refusal, "content_filter")]),
};

const COMPLETED: &str = "completed";
/// A `status` value; the other values for an incomplete response are reasons.
const CANCELLED: &str = "cancelled";

/// Prefix of another issuer's state in `encrypted_content`, which a client of this API receives and sends back. The
/// issuer's name, the kind of state and the state follow, separated by colons.
const CARRIED: &str = "interlingua:";

/// Reads opaque state, and its issuer and kind if the state is another issuer's.
fn read_state(val: Val<'_>) -> Option<Opaque<'_>> {
    val.str()?;
    let text = val.text();
    let text = text.get(1..text.len() - 1)?;
    let carried = || {
        let (issuer, rest) = text.strip_prefix(CARRIED)?.split_once(':')?;
        let (kind, value) = rest.split_once(':')?;
        let kind = [OpaqueKind::Signature, OpaqueKind::Encrypted].into_iter().find(|of| word(*of) == kind)?;
        Some(Opaque { kind, issuer: Str::escaped(issuer), value: Str::escaped(value) })
    };
    Some(carried().unwrap_or(Opaque {
        kind: OpaqueKind::Encrypted,
        issuer: Str::escaped(issuers::OPENAI),
        value: Str::escaped(text),
    }))
}

/// Opaque state as it is written, escaped.
fn carried(opaque: &Opaque<'_>) -> String {
    let Opaque { kind, issuer, value } = opaque;
    if issuer.is(issuers::OPENAI) {
        return value.as_escaped().to_owned();
    }
    format!("{CARRIED}{}:{}:{}", issuer.as_escaped(), word(*kind), value.as_escaped())
}

const fn word(kind: OpaqueKind) -> &'static str {
    match kind {
        OpaqueKind::Signature => "signature",
        OpaqueKind::Encrypted => "encrypted",
    }
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    // Stored responses repeat the input of their request, so this check comes first.
    if doc.str_or_empty("object") == "response" {
        return Some((Role::Response, 10));
    }
    if let Some(input) = doc.get("input").filter(|_| doc.get("messages").is_none()) {
        return request_score(doc, input).map(|score| (Role::Request, score));
    }
    // A request with a stored prompt needs no input. The id of a stored prompt begins with `pmpt_`; `prompt` alone may
    // belong to another program.
    let prompt = doc.get("prompt").filter(|_| doc.get("messages").is_none());
    if let Some(id) = prompt.and_then(|prompt| prompt.get("id")?.str()) {
        return Some((Role::Request, if id.as_escaped().starts_with("pmpt_") { 9 } else { 4 }));
    }
    if doc.str_or_empty("object") == "response.input_tokens" {
        return Some((Role::Counted, 10));
    }
    let answered = |output: Val<'_>| output.elements().any(is_item);
    if doc.has_str("status") && doc.get("output").is_some_and(answered) {
        return Some((Role::Response, 8));
    }
    let stream = matches!(head.kind, FrameKind::Sse(_));
    let kind = doc.get("type").and_then(|kind| kind.str()).filter(|_| stream)?;
    match kind.as_escaped() {
        "error" if doc.has_str("message") => Some((Role::Stream, 8)),
        "error" if doc.has_kind("sequence_number", Kind::Number) => Some((Role::Stream, 10)),
        "keepalive" => Some((Role::Stream, 2)),
        word if word.starts_with("response.") => Some((Role::Stream, 10)),
        _ => None,
    }
}

/// The score of a document with `input` as a Responses request. OpenAI's other APIs also have an `input` member.
fn request_score(doc: Val<'_>, input: Val<'_>) -> Option<u32> {
    // Members of the embeddings and speech APIs.
    let others = ["encoding_format", "dimensions", "voice"];
    let model = doc.get("model").and_then(|model| model.str());
    let is_other = ["embed", "moderation", "tts"];
    let is_other = |name: &str| is_other.iter().any(|word| name.contains(word));
    if others.iter().any(|name| doc.get(name).is_some())
        || model.is_some_and(|name| is_other(name.as_escaped()))
    {
        return None;
    }
    let own = [
        (Kind::String, &["instructions", "previous_response_id", "truncation", "conversation"][..]),
        (Kind::Number, &["max_output_tokens", "max_tool_calls"]),
        (Kind::Bool, &["store", "background", "stream", "parallel_tool_calls"]),
        (Kind::Array, &["include", "tools"]),
        (Kind::Object, &["reasoning", "text", "prompt", "conversation"]),
    ];
    let marked = own.iter().any(|(kind, names)| names.iter().any(|name| doc.has_kind(name, *kind)));
    match input.kind() {
        Kind::Array if input.elements().any(is_item) => Some(if marked { 9 } else { 6 }),
        // A limit alone, or a text, may belong to another program.
        Kind::String | Kind::Array if doc.has_str("model") => Some(if marked { 8 } else { 4 }),
        Kind::String | Kind::Array if marked => Some(if doc.has_str("instructions") { 4 } else { 2 }),
        Kind::Null | Kind::Bool | Kind::Number | Kind::String | Kind::Array | Kind::Object => None,
    }
}

/// Whether a value is an item of a conversation.
fn is_item(item: Val<'_>) -> bool {
    let word = item.str_or_empty("type");
    let speaks = ["user", "assistant", "system", "developer"].contains(&item.str_or_empty("role"));
    let is_act = ["message", "reasoning", "compaction", "item_reference", "mcp_list_tools"].contains(&word);
    speaks && item.get("content").is_some()
        || is_act
        || word.ends_with("_call")
        || word.ends_with("_call_output")
}
