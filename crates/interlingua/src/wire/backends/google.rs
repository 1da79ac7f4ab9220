//! Google's backends: Gemini for developers and for enterprises.

use super::builtin::ANSWER_SETTINGS;
use super::{
    Backend, CacheMarkForm, Capabilities, MediaTypes, ModelRow, NameRule, SchemaRules, SystemPlaces,
    ThinkingForms,
};
use crate::model::Field;
use crate::wire::Letters;

/// The vendor of its dialect.
pub(crate) static GEMINI_API: Backend = Backend {
    name: "gemini",
    dialect: "gemini",
    about: "Google's Gemini API for developers",
    takes: GEMINI,
    models: GEMINI_MODELS,
};

/// The same models for enterprises.
pub(super) static GEMINI_ON_VERTEX: Backend = Backend {
    name: "vertex",
    dialect: "gemini",
    about: "Gemini on Google Vertex AI",
    takes: Capabilities { refuses: &[Field::StoreAnswer], ..GEMINI },
    models: GEMINI_MODELS_ON_VERTEX,
};

/// The first, asked only how many tokens a request has.
pub(crate) static GEMINI_COUNT: Backend = Backend {
    name: "gemini",
    dialect: "gemini",
    about: "Google's Gemini API for developers",
    takes: Capabilities { refuses: ANSWER_SETTINGS, ..GEMINI },
    models: &[],
};

/// A Gemini model of which no more is known: whoever asks for it knows what it takes.
const GEMINI: Capabilities = Capabilities {
    // The address names it.
    needs_model: false,
    user_after_results: true,
    max_tokens: "maxOutputTokens",
    max_tokens_default: None,
    refuses: &[],
    max_temperature: 2.0,
    min_tokens: 1,
    max_stop_texts: 5,
    max_stop_bytes: usize::MAX,
    blank_stop_texts: true,
    reasoning_names: &[],
    reasoning_with_calls: false,
    efforts: &["minimal", "low", "medium", "high"],
    thinking: ThinkingForms { budget: true, adaptive: true, off: true },
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
        inline: &[
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
        by_address: &["image/", "application/pdf", "audio/", "video/", "text/"],
    },
    media_in_results: true,
    max_cache_marks: 0,
    cache_marks: CacheMarkForm::Own,
    prefill: true,
    prefill_member: None,
    seed: "seed",
    state_of: &[],
    forced_calls_with_thinking: true,
    forced_calls: true,
    call_state: None,
    other_dialect: None,
};

/// Gemini 2.5 is told a number of tokens to think; only its small models can be told not to.
const GEMINI_2_5: Capabilities = Capabilities { efforts: &[], media_in_results: false, ..GEMINI };
const GEMINI_2_5_PRO: Capabilities =
    Capabilities { thinking: ThinkingForms { off: false, ..GEMINI.thinking }, ..GEMINI_2_5 };

/// Before that no model thought.
const GEMINI_2: Capabilities =
    Capabilities { thinking: ThinkingForms { budget: false, adaptive: false, off: true }, ..GEMINI_2_5 };

/// Gemma before 4 was trained without a system ("Developer instruction is not enabled for models/gemma-3-27b-it").
const GEMMA: Capabilities = Capabilities { system: SystemPlaces::Nowhere, ..GEMINI_2 };

/// From 3 on a level says how hard to think, and the first call of each step must carry its state.
const GEMINI_3: Capabilities = Capabilities {
    thinking: ThinkingForms { budget: false, adaptive: true, off: false },
    call_state: Some("skip_thought_signature_validator"),
    ..GEMINI
};

const OF_GEMINI_3: &[&str] = &["*gemini-3*", "*gemini-4*"];
const OF_GEMINI_2_5_PRO: &[&str] = &["*gemini-2.5-pro*"];
const OF_GEMINI_2_5: &[&str] = &["*gemini-2.5*"];
const OF_GEMINI_2: &[&str] = &["*gemini-2.0*", "*gemini-1*", "*gemma*"];

const OF_GEMMA: &[&str] = &["*gemma-1*", "*gemma-2*", "*gemma-3*"];

const GEMINI_MODELS: &[ModelRow] = &[
    ModelRow { names: OF_GEMMA, takes: GEMMA },
    ModelRow { names: OF_GEMINI_3, takes: GEMINI_3 },
    ModelRow { names: OF_GEMINI_2_5_PRO, takes: GEMINI_2_5_PRO },
    ModelRow { names: OF_GEMINI_2_5, takes: GEMINI_2_5 },
    ModelRow { names: OF_GEMINI_2, takes: GEMINI_2 },
];

const GEMINI_MODELS_ON_VERTEX: &[ModelRow] = &[
    ModelRow { names: OF_GEMMA, takes: Capabilities { refuses: &[Field::StoreAnswer], ..GEMMA } },
    ModelRow { names: OF_GEMINI_3, takes: Capabilities { refuses: &[Field::StoreAnswer], ..GEMINI_3 } },
    ModelRow {
        names: OF_GEMINI_2_5_PRO,
        takes: Capabilities { refuses: &[Field::StoreAnswer], ..GEMINI_2_5_PRO },
    },
    ModelRow { names: OF_GEMINI_2_5, takes: Capabilities { refuses: &[Field::StoreAnswer], ..GEMINI_2_5 } },
    ModelRow { names: OF_GEMINI_2, takes: Capabilities { refuses: &[Field::StoreAnswer], ..GEMINI_2 } },
];
