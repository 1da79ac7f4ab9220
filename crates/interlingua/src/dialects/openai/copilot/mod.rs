//! GitHub Copilot's chat API: Chat Completions with additional members.

mod support;

use crate::dialects::openai::chat::{self, COPILOT_CONTROL, Flavour, StatePlace, ThinkingMember};
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::model::{Field, issuers};
use crate::sniff::Head;
use crate::tape::{Kind, Val};
use crate::wire::backends::table::COPILOT;
use crate::wire::listing::{ListWords, ModelListReader, ModelListWriter, says_of_models};
use crate::wire::profile::{FreeText, OpaquePolicy, Profile, Refusals};

/// The chat API of GitHub Copilot.
pub static DIALECT: Dialect = Dialect {
    name: "copilot",
    module: module_path!(),
    plane: Plane::Wire,
    about: "GitHub Copilot's chat API (POST /chat/completions)",
    detected_by: "as `openai-chat`, with members that begin with `copilot_`, or `reasoning_opaque`",
    flavour_of: Some(chat::DIALECT.name),
    issuer: Some(issuers::COPILOT),
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

/// The model list. The models' capabilities stay unclaimed.
static MODELS: ListWords = ListWords {
    members: &[(Field::ModelName, "name"), (Field::ModelOwner, "vendor")],
    needs_name: true,
    otherwise: &[(Field::ModelOwner, "\"unknown\"")],
    ..chat::MODELS
};

/// GitHub's flavour.
static FLAVOUR: Flavour = Flavour {
    backend: &BACKEND,
    client: &CLIENT,
    stream_client: &CLIENT,
    reasoning: "reasoning_text",
    state: StatePlace::Opaque,
    thinking: ThinkingMember::Budget,
    omits_content: false,
    cites: false,
    films: false,
    message_mark: Some(r#","copilot_cache_control":{"type":"ephemeral"}"#),
};

static BACKEND: Profile = Profile {
    vendor: &COPILOT,
    support: support::request,
    cache: &COPILOT_CONTROL,
    opaque: OpaquePolicy::Withhold { unless: Some(issuers::COPILOT) },
    refusals: Refusals::AsText,
    free_text: FreeText::Wrapped,
    ..chat::BACKEND
};

static CLIENT: Profile =
    Profile { support: support::answer, opaque: OpaquePolicy::Carry, marks: chat::CLIENT.marks, ..BACKEND };

/// Detects the chat dialect; members that only Copilot has raise the score.
fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    let is_own = |val: Val<'_>| {
        val.members().any(|(name, _)| {
            name.as_escaped().starts_with("copilot_") || name.as_escaped() == "reasoning_opaque"
        })
    };
    let elements = |name: &str| doc.get(name).into_iter().flat_map(|list: Val<'_>| list.elements());
    let own = is_own(doc)
        || elements("data")
            .any(|model| model.has_str("vendor") && model.has_kind("capabilities", Kind::Object))
        || elements("messages").any(is_own)
        || elements("choices")
            .flat_map(|choice| [choice.get("message"), choice.get("delta")].into_iter().flatten())
            .any(is_own);
    match chat::sniff(head) {
        Some((role, score)) => Some((role, if own { score + 8 } else { score })),
        // Chunks that hold only Copilot's additional members for the client.
        None if own && doc.get("choices").is_some() => Some((Role::Stream, 9)),
        None => None,
    }
}
