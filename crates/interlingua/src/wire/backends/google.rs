//! Google's backends: Gemini for developers and for enterprises.

use std::borrow::Cow;

use super::builtin::ANSWER_SETTINGS;
use super::{
    Backend, CacheMarkForm, Capabilities, MediaTypes, ModelRow, NameRule, RuleWords, SchemaRules,
    SystemPlaces, ThinkingForms,
};
use crate::model::Field;
use crate::wire::Letters;

/// The capabilities of a model on the enterprise API: no stored answers, and audio by URL, too.
macro_rules! on_vertex {
    ($takes:ident) => {
        Capabilities {
            refuses: Cow::Borrowed(&[Field::StoreAnswer]),
            media: MediaTypes {
                by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"],
                ..GEMINI.media
            },
            ..$takes
        }
    };
}

/// Google, the vendor of the dialect.
pub(crate) static GEMINI_API: Backend = Backend {
    name: Cow::Borrowed("gemini"),
    dialect: "gemini",
    about: Cow::Borrowed("Google's Gemini API for developers"),
    takes: GEMINI,
    models: Cow::Borrowed(GEMINI_MODELS),
};

/// Gemini on Vertex AI, for enterprises.
pub(super) static GEMINI_ON_VERTEX: Backend = Backend {
    name: Cow::Borrowed("vertex"),
    dialect: "gemini",
    about: Cow::Borrowed("Gemini on Google Vertex AI"),
    takes: on_vertex!(GEMINI),
    models: Cow::Borrowed(GEMINI_MODELS_ON_VERTEX),
};

/// Token counting on the Gemini API.
pub(crate) static GEMINI_COUNT: Backend = Backend {
    name: Cow::Borrowed("gemini"),
    dialect: "gemini",
    about: Cow::Borrowed("Google's Gemini API for developers"),
    takes: Capabilities { refuses: Cow::Borrowed(ANSWER_SETTINGS), ..GEMINI },
    models: Cow::Borrowed(&[]),
};

/// A Gemini model without a row: the caller is trusted to send settings that the model supports.
const GEMINI: Capabilities = Capabilities {
    // The URL names the model.
    needs_model: false,
    user_after_results: true,
    max_tokens: Cow::Borrowed("maxOutputTokens"),
    max_tokens_default: None,
    refuses: Cow::Borrowed(&[]),
    max_temperature: 2.0,
    min_tokens: 1,
    max_stop_texts: 5,
    max_stop_bytes: usize::MAX,
    blank_stop_texts: true,
    reasoning_names: words![],
    reasoning_with_calls: false,
    efforts: words!["minimal", "low", "medium", "high"],
    thinking: ThinkingForms { budget: true, adaptive: true, off: true, ..ThinkingForms::EFFORT_ALONE },
    sampling_with_thinking: true,
    system: SystemPlaces::First,
    developer: false,
    call_ids: NameRule::ANY,
    tool_names: NameRule { letters: Letters::Dotted, least: 1, most: 128, letter_first: true },
    schemas: SchemaRules {
        object_root: false,
        strict_is_closed: false,
        strict_requires_all: false,
        answer_is_closed: false,
        typed: false,
    },
    media: MediaTypes {
        inline: words![
            "image/png",
            "image/jpeg",
            "image/webp",
            "image/heic",
            "image/heif",
            "application/pdf",
            "audio/",
            "video/",
            "text/",
        ],
        // "File input methods: external URLs: supported content types", ai.google.dev. Audio is not among them.
        by_address: words!["image/", "application/pdf", "application/json", "video/", "text/"],
    },
    media_in_results: true,
    max_cache_marks: 0,
    cache_marks: CacheMarkForm::Own,
    prefill: true,
    prefill_member: None,
    seed: Cow::Borrowed("seed"),
    state_of: words![],
    forced_calls_with_thinking: true,
    unnamed_calls: true,
    call_state: None,
    other_dialect: None,
};

/// Gemini 2.5 accepts a budget of reasoning tokens; only its small models can switch reasoning off ("Gemini thinking",
/// ai.google.dev: 128 to 32,768 for Pro, up to 24,576 for Flash, 512 to 24,576 for Flash-Lite).
const GEMINI_2_5: Capabilities = Capabilities {
    efforts: words![],
    media_in_results: false,
    thinking: ThinkingForms { budget_most: 24_576, ..GEMINI.thinking },
    ..GEMINI
};
const GEMINI_2_5_PRO: Capabilities = Capabilities {
    thinking: ThinkingForms { off: false, budget_least: 128, budget_most: 32_768, ..GEMINI.thinking },
    ..GEMINI_2_5
};
const GEMINI_2_5_LITE: Capabilities =
    Capabilities { thinking: ThinkingForms { budget_least: 512, ..GEMINI_2_5.thinking }, ..GEMINI_2_5 };

/// Models before Gemini 2.5 do not reason and do not fetch URLs.
const GEMINI_2: Capabilities = Capabilities {
    thinking: ThinkingForms { off: true, ..ThinkingForms::EFFORT_ALONE },
    media: MediaTypes { by_address: words![], ..GEMINI.media },
    ..GEMINI_2_5
};

/// Gemma before 4 was trained without system messages ("Developer instruction is not enabled for
/// models/gemma-3-27b-it").
const GEMMA: Capabilities = Capabilities { system: SystemPlaces::Nowhere, ..GEMINI_2 };

/// Gemini from 3 on accepts a reasoning level. The first call of each step since the last user message must carry its
/// state, or a placeholder for history from another model ("Thought Signatures", ai.google.dev; the second accepted
/// placeholder is `context_engineering_is_the_way_to_go`). The state of parallel calls after the first, and of earlier
/// turns, is not checked.
const GEMINI_3: Capabilities = Capabilities {
    thinking: ThinkingForms { adaptive: true, ..ThinkingForms::EFFORT_ALONE },
    call_state: Some(Cow::Borrowed("skip_thought_signature_validator")),
    ..GEMINI
};

/// The larger models accept fewer levels ("Gemini thinking", ai.google.dev: not minimal, and 3 Pro not medium).
const GEMINI_3_PRO: Capabilities = Capabilities { efforts: words!["low", "high"], ..GEMINI_3 };
const GEMINI_3_1_PRO: Capabilities = Capabilities { efforts: words!["low", "medium", "high"], ..GEMINI_3 };

const OF_GEMINI_3_PRO: RuleWords = words!["*gemini-3-pro*"];
const OF_GEMINI_3_1_PRO: RuleWords = words!["*gemini-3.*-pro*"];
const OF_GEMINI_3: RuleWords = words!["*gemini-3*", "*gemini-4*"];
const OF_GEMINI_2_5_PRO: RuleWords = words!["*gemini-2.5-pro*"];
const OF_GEMINI_2_5_LITE: RuleWords = words!["*gemini-2.5-flash-lite*"];
const OF_GEMINI_2_5: RuleWords = words!["*gemini-2.5*"];
const OF_GEMINI_2: RuleWords = words!["*gemini-2.0*", "*gemini-1*", "*gemma*"];

const OF_GEMMA: RuleWords = words!["*gemma-1*", "*gemma-2*", "*gemma-3*"];

const GEMINI_MODELS: &[ModelRow] = &[
    ModelRow { names: OF_GEMMA, takes: GEMMA },
    ModelRow { names: OF_GEMINI_3_PRO, takes: GEMINI_3_PRO },
    ModelRow { names: OF_GEMINI_3_1_PRO, takes: GEMINI_3_1_PRO },
    ModelRow { names: OF_GEMINI_3, takes: GEMINI_3 },
    ModelRow { names: OF_GEMINI_2_5_PRO, takes: GEMINI_2_5_PRO },
    ModelRow { names: OF_GEMINI_2_5_LITE, takes: GEMINI_2_5_LITE },
    ModelRow { names: OF_GEMINI_2_5, takes: GEMINI_2_5 },
    ModelRow { names: OF_GEMINI_2, takes: GEMINI_2 },
];

const GEMINI_MODELS_ON_VERTEX: &[ModelRow] = &[
    ModelRow { names: OF_GEMMA, takes: on_vertex!(GEMMA) },
    ModelRow { names: OF_GEMINI_3_PRO, takes: on_vertex!(GEMINI_3_PRO) },
    ModelRow { names: OF_GEMINI_3_1_PRO, takes: on_vertex!(GEMINI_3_1_PRO) },
    ModelRow { names: OF_GEMINI_3, takes: on_vertex!(GEMINI_3) },
    ModelRow { names: OF_GEMINI_2_5_PRO, takes: on_vertex!(GEMINI_2_5_PRO) },
    ModelRow { names: OF_GEMINI_2_5_LITE, takes: on_vertex!(GEMINI_2_5_LITE) },
    ModelRow { names: OF_GEMINI_2_5, takes: on_vertex!(GEMINI_2_5) },
    ModelRow { names: OF_GEMINI_2, takes: on_vertex!(GEMINI_2) },
];
