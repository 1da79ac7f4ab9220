//! Gemini's generateContent: requests, whole responses, errors and streams.

pub(super) mod citations;
mod errors;
pub(super) mod partial;
mod parts;
mod read;
mod schema;
mod settings;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::model::{CallKind, Field, Service, StopClass, Words, issuers};
use crate::sniff::Head;
use crate::tape::{Kind, Val};
use crate::wire::answer::AnswerWriter;
use crate::wire::backends::{NameRule, counting::GEMINI_COUNT, table::GEMINI};
use crate::wire::content::TextForm;
use crate::wire::listing::{
    CountReader, CountWords, CountWriter, ListWords, ModelListReader, ModelListWriter, says_of_count,
    says_of_models,
};
use crate::wire::profile::{
    ArgumentForm, BlankText, FreeText, Marks, OpaquePolicy, OwnTool, Profile, Refusals,
};
use crate::wire::request::RequestWriter;
use crate::wire::settings::CacheWords;
use crate::wire::words::StopWords;

/// The generateContent API of Google's Gemini.
pub static DIALECT: Dialect = Dialect {
    name: "gemini",
    module: module_path!(),
    plane: Plane::Wire,
    about: "Google Gemini API (POST models/{model}:generateContent)",
    detected_by: "`contents` with `parts`; `candidates`, `promptFeedback` or `usageMetadata`; `error` with a `status` in capitals",
    flavour_of: None,
    issuer: Some(issuers::GOOGLE),
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Request,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::GenerateRequestReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(RequestWriter::new(write::GenerateRequest::default(), options)),
                support: support::request,
            }),
        },
        RoleSpec {
            role: Role::Response,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::WholeResponseReader)),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::WholeCandidates::default(), options)),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Stream,
            framing: Framing::EventsOrArray,
            read: Some(|_| Box::new(read::ResponseChunkReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(AnswerWriter::new(write::ResponseChunks::default(), options)),
                support: support::answer,
            }),
        },
        RoleSpec {
            role: Role::Count,
            framing: Framing::Whole,
            read: Some(|_| Box::new(read::GenerateRequestReader)),
            write: Some(WriteSpec {
                make: |options| {
                    let options = options.clone().with_backend(&GEMINI_COUNT);
                    Box::new(RequestWriter::new(write::GenerateRequest::to_count(), &options))
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
    reads_more: &[
        Field::MessageMedia,
        Field::MediaType,
        Field::ResultName,
        Field::ResultText,
        Field::ResultIsError,
    ],
    sniff,
};

/// The token count of a request.
static COUNT: CountWords =
    CountWords { path: &["totalTokens"], cached: Some("cachedContentTokenCount"), around: "" };

/// The model list.
static MODELS: ListWords = ListWords {
    list: "models",
    id_prefix: "models/",
    id: "name",
    members: &[
        (Field::ModelName, "displayName"),
        (Field::ModelAbout, "description"),
        (Field::ModelInputLimit, "inputTokenLimit"),
        (Field::ModelOutputLimit, "outputTokenLimit"),
    ],
    tags: &[],
    around: "",
    time_in_seconds: false,
    needs_name: false,
    otherwise: &[],
};

/// The member of a count request that holds the request to be counted.
const TO_COUNT: [&str; 2] = ["generateContentRequest", "generate_content_request"];

/// The form of a text part.
const TEXTS: TextForm = TextForm { head: r#"{"text":""#, blank: BlankText::Take };

/// The profile of the API as a backend.
static BACKEND: Profile = Profile {
    vendor: &GEMINI,
    support: support::request,
    settings: settings::BESIDE,
    cache: &NO_CACHE,
    stops: &STOPS,
    answer_ids: NameRule::ANY,
    opaque: OpaquePolicy::Withhold { unless: Some(issuers::GOOGLE) },
    refusals: Refusals::AsText,
    arguments: ArgumentForm::Object,
    free_text: FreeText::Wrapped,
    texts: TEXTS,
    text_documents: false,
    system_is_turn: false,
    groups: false,
    marks: Marks::Nothing,
    // Both spellings are recognised.
    own_tools: &[
        own("googleSearchRetrieval", CallKind::Server, Some(Service::WebSearch), None),
        own(
            "googleSearch",
            CallKind::Server,
            Some(Service::WebSearch),
            Some(("googleSearch", "googleSearch")),
        ),
        own("googleMaps", CallKind::Server, None, None),
        own("urlContext", CallKind::Server, Some(Service::WebFetch), Some(("urlContext", "urlContext"))),
        own(
            "codeExecution",
            CallKind::Server,
            Some(Service::CodeExecution),
            Some(("codeExecution", "codeExecution")),
        ),
        own("fileSearch", CallKind::Server, Some(Service::FileSearch), None),
        own("computerUse", CallKind::Vendor, Some(Service::Computer), None),
        own("enterpriseWebSearch", CallKind::Server, Some(Service::WebSearch), None),
        own("parallelAiSearch", CallKind::Server, Some(Service::WebSearch), None),
        own("exaAiSearch", CallKind::Server, Some(Service::WebSearch), None),
        own("retrieval", CallKind::Server, None, None),
    ],
};

const fn own(
    begins: &'static str,
    kind: CallKind,
    service: Option<Service>,
    stands_in: Option<(&'static str, &'static str)>,
) -> OwnTool {
    OwnTool { begins, kind, service, stands_in }
}

/// The profile of the settings in `generationConfig`.
static GENERATION: Profile = Profile { settings: settings::WITHIN, ..BACKEND };

/// The profile of clients, which accept every value that the reader supports.
static CLIENT: Profile = Profile { support: support::answer, opaque: OpaquePolicy::Carry, ..BACKEND };

/// The API has no cache marks.
static NO_CACHE: CacheWords = CacheWords { name: "", kind: ("", ""), lifetimes: &[] };

/// The values of `finishReason`. Responses with calls have no value of their own: they end with `STOP`.
static STOPS: StopWords = StopWords {
    words: Words(&[
        (StopClass::End, "STOP"),
        (StopClass::ToolUse, "STOP"),
        (StopClass::MaxTokens, "MAX_TOKENS"),
        (StopClass::Filter, "SAFETY"),
        (StopClass::Filter, "RECITATION"),
        (StopClass::Filter, "LANGUAGE"),
        (StopClass::Filter, "BLOCKLIST"),
        (StopClass::Filter, "PROHIBITED_CONTENT"),
        (StopClass::Filter, "SPII"),
        (StopClass::Filter, "IMAGE_SAFETY"),
        (StopClass::Filter, "IMAGE_PROHIBITED_CONTENT"),
        (StopClass::Filter, "IMAGE_RECITATION"),
        (StopClass::Filter, "MODEL_ARMOR"),
        (StopClass::Filter, "JAILBREAK"),
        (StopClass::Error, "MALFORMED_FUNCTION_CALL"),
        (StopClass::Error, "UNEXPECTED_TOOL_CALL"),
        (StopClass::Error, "TOO_MANY_TOOL_CALLS"),
        (StopClass::Error, "MALFORMED_RESPONSE"),
        (StopClass::Paused, "CONTINUATION"),
        (StopClass::Other, "OTHER"),
        (StopClass::Other, "NO_IMAGE"),
        (StopClass::Other, "IMAGE_OTHER"),
    ]),
    nearest: Words(&[
        (StopClass::ContextFull, "MAX_TOKENS"),
        (StopClass::Refusal, "SAFETY"),
        (StopClass::Cancelled, "OTHER"),
    ]),
};

/// The `finishReason` word of a number, from `google.ai.generativelanguage.v1beta.Candidate.FinishReason`. The numbers
/// of the enterprise API (`google.cloud.aiplatform.v1`) are the same up to 5; from 6 on they differ, and none of either
/// API is a success.
fn reason_of(number: u64) -> Option<&'static str> {
    const WORDS: [&str; 14] = [
        "FINISH_REASON_UNSPECIFIED",
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "OTHER",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "IMAGE_SAFETY",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
    ];
    usize::try_from(number).ok().and_then(|number| WORDS.get(number)).copied()
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    // A stream may be a list of responses, and an error may be in a list by itself.
    if doc.kind() == Kind::Array {
        let first = doc.elements().next()?;
        return match answer(first)? {
            (_, true) if doc.elements().nth(1).is_none() => Some((Role::Response, 8)),
            (sure, _) => Some((Role::Stream, sure)),
        };
    }
    if TO_COUNT.iter().any(|name| doc.get(name).is_some_and(|request| request.get("contents").is_some())) {
        return Some((Role::Count, 9));
    }
    let counts = [
        "totalTokens",
        "totalBillableCharacters",
        "cachedContentTokenCount",
        "promptTokensDetails",
        "cacheTokensDetails",
    ];
    let only_counts = || doc.members().all(|(name, _)| counts.contains(&name.as_escaped()));
    if doc.get("totalTokens").is_some_and(|count| count.u64().is_some()) && only_counts() {
        return Some((Role::Counted, 8));
    }
    let is_model = |model: Val<'_>| {
        model
            .get("name")
            .and_then(|name| name.str())
            .is_some_and(|name| name.as_escaped().starts_with("models/"))
    };
    if doc.get("models").is_some_and(|models| models.elements().next().is_some_and(is_model)) {
        return Some((Role::Models, 9));
    }
    if let Some(contents) = doc.get("contents") {
        // A single content may be without its list, and so may a single part.
        let has_parts = |content: Val<'_>| content.get("parts").is_some_and(|parts| !parts.is_null());
        let parts = has_parts(contents) || contents.elements().any(has_parts);
        let beside = [
            "generationConfig",
            "generation_config",
            "systemInstruction",
            "system_instruction",
            "safetySettings",
        ];
        let marked =
            beside.iter().any(|name| doc.has_kind(name, Kind::Object) || doc.has_kind(name, Kind::Array));
        return match (parts, marked) {
            (true, _) => Some((Role::Request, 9)),
            (false, true) => Some((Role::Request, 5)),
            (false, false) => None,
        };
    }
    let (sure, _) = answer(doc)?;
    let stream = matches!(head.kind, FrameKind::Sse(_) | FrameKind::Element { .. });
    Some((if stream { Role::Stream } else { Role::Response }, sure))
}

/// The score of a document as a response, and whether the document is an error.
fn answer(doc: Val<'_>) -> Option<(u32, bool)> {
    let spelled = [["usageMetadata", "usage_metadata"], ["promptFeedback", "prompt_feedback"]];
    let beside = spelled.iter().flatten().any(|name| doc.has_kind(name, Kind::Object));
    if let Some(candidates) = doc.get("candidates").filter(|list| list.kind() == Kind::Array) {
        let own = |candidate: Val<'_>| {
            let reason = ["finishReason", "finish_reason"].iter().any(|name| candidate.get(name).is_some());
            reason || candidate.has_kind("content", Kind::Object)
        };
        return (beside || candidates.elements().any(own)).then_some((10, false));
    }
    if beside {
        return Some((9, false));
    }
    let error = doc.get("error").filter(|_| doc.get("type").is_none())?;
    let status = error.get("status")?.str()?;
    let capitals = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    (error.has_kind("code", Kind::Number) && status.as_escaped().bytes().all(capitals)).then_some((9, true))
}
