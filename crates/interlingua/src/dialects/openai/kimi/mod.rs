//! Kimi's API: the Chat Completions flavour of Moonshot AI.

mod support;

use crate::dialects::openai::chat::{self, Flavour, StatePlace, ThinkingMember};
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::model::{CallKind, Field, Service};
use crate::sniff::Head;
use crate::tape::{Kind, Val};
use crate::wire::backends::counting::KIMI_COUNT;
use crate::wire::backends::table::KIMI;
use crate::wire::content::{TEXT_PART, TextForm};
use crate::wire::listing::{
    CountReader, CountWords, CountWriter, ListWords, ModelListReader, ModelListWriter, says_of_count,
    says_of_models,
};
use crate::wire::profile::{BlankText, FreeText, Marks, OpaquePolicy, OwnTool, Profile, Refusals};
use crate::wire::settings::{Setting, SettingForm};

/// The API of Moonshot AI.
pub static DIALECT: Dialect = Dialect {
    name: "kimi",
    module: module_path!(),
    plane: Plane::Wire,
    about: "Kimi's chat API (Moonshot AI, POST /v1/chat/completions)",
    detected_by: "as `openai-chat`, with `partial`, a `builtin_function`, `ms://` files, `thinking.keep` or, of a Kimi model, `cached_tokens` in `usage` itself",
    flavour_of: Some(chat::DIALECT.name),
    issuer: None,
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| chat::read_request(&FLAVOUR)),
            write: Some(WriteSpec {
                make: |options| chat::write_request(&FLAVOUR, options),
                support: support::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| chat::read_response()),
            write: Some(WriteSpec {
                make: |options| chat::write_response(&FLAVOUR, options),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::Sse,
            read: Some(|_| chat::read_stream()),
            write: Some(WriteSpec {
                make: |options| chat::write_stream(&FLAVOUR, options),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Count,
            framing: Framing::Whole,
            read: Some(|_| chat::read_request(&FLAVOUR)),
            write: Some(WriteSpec {
                make: |options| {
                    let options = options.clone().with_backend(&KIMI_COUNT);
                    chat::write_request(&FLAVOUR, &options)
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

/// The token count of a request.
static COUNT: CountWords = CountWords { path: &["data", "total_tokens"], cached: None, around: "" };

/// The model list.
static MODELS: ListWords = ListWords {
    members: &[
        (Field::ModelTime, "created"),
        (Field::ModelOwner, "owned_by"),
        (Field::ModelInputLimit, "context_length"),
    ],
    ..chat::MODELS
};

/// Moonshot's flavour.
static FLAVOUR: Flavour = Flavour {
    backend: &BACKEND,
    client: &CLIENT,
    stream_client: &CLIENT,
    reasoning: "reasoning_content",
    state: StatePlace::Details,
    thinking: ThinkingMember::Switch,
    omits_content: true,
    cites: false,
    films: true,
    message_mark: None,
};

static BACKEND: Profile = Profile {
    vendor: &KIMI,
    support: support::request,
    settings: SETTINGS,
    refusals: Refusals::AsText,
    free_text: FreeText::Wrapped,
    // The server refuses an empty text beside calls.
    texts: TextForm { head: TEXT_PART, blank: BlankText::Refuse },
    marks: Marks::Nothing,
    own_tools: &[OwnTool {
        begins: "builtin_function",
        kind: CallKind::Vendor,
        service: Some(Service::WebSearch),
        stands_in: Some(("builtin_function", "$web_search")),
    }],
    ..chat::BACKEND
};

static CLIENT: Profile = Profile {
    support: support::answer,
    opaque: OpaquePolicy::Carry,
    texts: TextForm { head: TEXT_PART, blank: BlankText::Take },
    ..BACKEND
};

/// Settings with a single value.
const SETTINGS: &[Setting] = &[
    Setting { names: &["model"], field: Field::RequestModel, how: SettingForm::AsIs },
    Setting {
        names: &["max_completion_tokens", "max_tokens"],
        field: Field::MaxTokens,
        how: SettingForm::AsIs,
    },
    Setting { names: &["temperature"], field: Field::Temperature, how: SettingForm::AsIs },
    Setting { names: &["top_p"], field: Field::TopP, how: SettingForm::Between(0.0, 1.0) },
    Setting {
        names: &["frequency_penalty"],
        field: Field::FrequencyPenalty,
        how: SettingForm::Between(-2.0, 2.0),
    },
    Setting {
        names: &["presence_penalty"],
        field: Field::PresencePenalty,
        how: SettingForm::Between(-2.0, 2.0),
    },
    Setting { names: &["n"], field: Field::AnswerCount, how: SettingForm::Between(1.0, 5.0) },
    Setting { names: &["stop"], field: Field::StopTexts, how: SettingForm::AsIs },
    Setting { names: &["stream"], field: Field::StreamAnswer, how: SettingForm::AsIs },
    Setting { names: &["safety_identifier", "user"], field: Field::EndUser, how: SettingForm::ShortId(128) },
    Setting { names: &["prompt_cache_key"], field: Field::CacheKey, how: SettingForm::AsIs },
];

/// Detects the chat dialect; members that only Kimi has raise the score.
fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    if head.doc.get("data").is_some_and(|data| data.has_kind("total_tokens", Kind::Number)) {
        return Some((Role::Counted, 9));
    }
    let (role, score) = chat::sniff(head)?;
    let doc = head.doc;
    let elements = |name: &str| doc.get(name).into_iter().flat_map(|list: Val<'_>| list.elements());
    let is_file = |part: Val<'_>| {
        ["image_url", "video_url"].iter().filter_map(|name| part.get(name)).any(|place| {
            place.get("url").unwrap_or(place).str().is_some_and(|url| url.as_escaped().starts_with("ms://"))
        })
    };
    let is_own = match role {
        Role::Request => {
            elements("tools").any(|tool| tool.get("type").is_some_and(|kind| kind.is("builtin_function")))
                || doc.get("thinking").is_some_and(|thinking| thinking.get("keep").is_some())
                || elements("messages").any(|message| {
                    message.has_kind("partial", Kind::Bool)
                        || message.get("content").is_some_and(|content| content.elements().any(is_file))
                })
        }
        Role::Response | Role::Stream => {
            let tells = |usage: Val<'_>| usage.has_kind("cached_tokens", Kind::Number);
            // Other vendors also count cached tokens in `usage` itself, so the model must be Kimi's.
            let model = doc.str_or_empty("model");
            let is_kimi = model.contains("kimi") || model.contains("moonshot");
            let counted = doc.get("usage").is_some_and(tells)
                || elements("choices").any(|choice| choice.get("usage").is_some_and(tells));
            is_kimi && counted
        }
        Role::Models => elements("data").any(|model| model.has_kind("context_length", Kind::Number)),
        Role::Count | Role::Counted | Role::Live | Role::Input | Role::Log => false,
    };
    Some((role, if is_own { score + 8 } else { score }))
}
