//! Capabilities of Claude, on Anthropic's own API and other clouds.

use std::borrow::Cow;

use super::{
    CacheMarkForm, Capabilities, MediaTypes, ModelRow, NameRule, RuleWords, SchemaRules, SystemPlaces,
    ThinkingForms,
};
use crate::model::Field;
use crate::wire::Letters;

/// A model behind the Messages API without a row: the caller is trusted to send settings that the model supports.
pub(super) const CLAUDE: Capabilities = Capabilities {
    needs_model: true,
    user_after_results: true,
    max_tokens: Cow::Borrowed("max_tokens"),
    max_tokens_default: Some(4096),
    refuses: Cow::Borrowed(&[]),
    max_temperature: 1.0,
    // A limit of zero tokens only warms the cache.
    min_tokens: 0,
    max_stop_texts: usize::MAX,
    max_stop_bytes: usize::MAX,
    blank_stop_texts: false,
    reasoning_names: words![],
    reasoning_with_calls: false,
    efforts: words!["low", "medium", "high", "xhigh", "max"],
    thinking: ThinkingForms { adaptive: true, ..BUDGETS },
    // "Extended thinking: feature compatibility".
    sampling_with_thinking: false,
    system: SystemPlaces::AfterUser,
    developer: false,
    call_ids: NameRule { letters: Letters::Word, least: 1, most: usize::MAX, letter_first: false },
    tool_names: NameRule::TOOL,
    schemas: SchemaRules {
        object_root: true,
        strict_is_closed: true,
        strict_requires_all: false,
        answer_is_closed: true,
        typed: false,
    },
    media: MediaTypes {
        inline: words!["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/"],
        by_address: words!["image/", "application/pdf"],
    },
    media_in_results: true,
    max_cache_marks: 4,
    cache_marks: CacheMarkForm::Own,
    prefill: true,
    prefill_member: None,
    seed: Cow::Borrowed("seed"),
    state_of: words![],
    forced_calls_with_thinking: false,
    unnamed_calls: true,
    call_state: None,
    other_dialect: None,
};

/// Claude on other clouds, which do not fetch URLs.
pub(super) const CLAUDE_BY_BYTES: Capabilities =
    Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE.media }, ..CLAUDE };

/// Reasoning by token budget ("Extended thinking": at least 1,024, and below `max_tokens`).
const BUDGETS: ThinkingForms = ThinkingForms {
    budget: true,
    budget_least: 1024,
    budget_below_limit: true,
    off: true,
    ..ThinkingForms::EFFORT_ALONE
};

/// Claude from 4.7 on. Sampling settings and budgets are removed from the types and cause an error.
pub(super) const CLAUDE_5: Capabilities = Capabilities {
    refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::TopK]),
    thinking: ThinkingForms { adaptive: true, off: true, ..ThinkingForms::EFFORT_ALONE },
    prefill: false,
    ..CLAUDE
};

/// Claude from 5.5 on always reasons: the API answers "thinking.type.disabled is not supported for this model".
pub(super) const CLAUDE_5_5: Capabilities =
    Capabilities { thinking: ThinkingForms { off: false, ..CLAUDE_5.thinking }, ..CLAUDE_5 };

/// Claude 4.5 and before: budgets, and system messages only at the beginning.
pub(super) const CLAUDE_4: Capabilities =
    Capabilities { thinking: BUDGETS, efforts: words![], system: SystemPlaces::First, ..CLAUDE };

/// Opus 4.5 was the first model with an effort, Claude 4.6 the first with adaptive reasoning.
pub(super) const CLAUDE_OPUS_4_5: Capabilities =
    Capabilities { efforts: words!["low", "medium", "high"], ..CLAUDE_4 };
pub(super) const CLAUDE_4_6: Capabilities = Capabilities {
    efforts: words!["low", "medium", "high", "max"],
    system: SystemPlaces::First,
    prefill: false,
    ..CLAUDE
};

/// Models before Claude 3.7 do not reason.
pub(super) const CLAUDE_3: Capabilities =
    Capabilities { thinking: ThinkingForms { off: true, ..ThinkingForms::EFFORT_ALONE }, ..CLAUDE_4 };

pub(super) const FROM_5_5: RuleWords =
    words!["*claude-opus-5-5*", "*claude-opus-5.5*", "*claude-sonnet-5-5*", "*claude-sonnet-5.5*"];
pub(super) const FROM_4_7: RuleWords = words![
    "*claude-opus-4-7*",
    "*claude-opus-4.7*",
    "*claude-opus-4-8*",
    "*claude-opus-4.8*",
    "*claude-opus-5*",
    "*claude-sonnet-5*",
    "*claude-haiku-5*",
    "*claude-fable*",
    "*claude-mythos*",
];
pub(super) const OPUS_4_5: RuleWords = words!["*claude-opus-4-5*", "*claude-opus-4.5*"];
pub(super) const OF_4_6: RuleWords =
    words!["*claude-opus-4-6*", "*claude-opus-4.6*", "*claude-sonnet-4-6*", "*claude-sonnet-4.6*"];
pub(super) const OF_3: RuleWords =
    words!["*claude-2*", "*claude-instant*", "*claude-3-5*", "*claude-3.5*", "*claude-3-opus*"];
pub(super) const OF_3_SMALL: RuleWords = words!["*claude-3-haiku*", "*claude-3-sonnet*"];
pub(super) const UP_TO_4_5: RuleWords = words![
    "*claude-3-7*",
    "*claude-3.7*",
    "*claude-opus-4",
    "*claude-opus-4-0*",
    "*claude-opus-4-1*",
    "*claude-opus-4-2025*",
    "*claude-opus-4@*",
    "*claude-sonnet-4",
    "*claude-sonnet-4-0*",
    "*claude-sonnet-4-5*",
    "*claude-sonnet-4.5*",
    "*claude-sonnet-4-2025*",
    "*claude-sonnet-4@*",
    "*claude-haiku-4-5*",
    "*claude-haiku-4.5*",
];

pub(super) const CLAUDE_MODELS: &[ModelRow] = &[
    ModelRow { names: FROM_5_5, takes: CLAUDE_5_5 },
    ModelRow { names: FROM_4_7, takes: CLAUDE_5 },
    ModelRow { names: OPUS_4_5, takes: CLAUDE_OPUS_4_5 },
    ModelRow { names: OF_4_6, takes: CLAUDE_4_6 },
    ModelRow { names: OF_3, takes: CLAUDE_3 },
    ModelRow { names: OF_3_SMALL, takes: CLAUDE_3 },
    ModelRow { names: UP_TO_4_5, takes: CLAUDE_4 },
];

pub(super) const CLAUDE_MODELS_BY_BYTES: &[ModelRow] = &[
    ModelRow { names: FROM_5_5, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_5_5 } },
    ModelRow { names: FROM_4_7, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_5 } },
    ModelRow { names: OPUS_4_5, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_OPUS_4_5 } },
    ModelRow { names: OF_4_6, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_4_6 } },
    ModelRow { names: OF_3, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_3 } },
    ModelRow { names: OF_3_SMALL, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_3 } },
    ModelRow { names: UP_TO_4_5, takes: Capabilities { media: CLAUDE_BY_BYTES.media, ..CLAUDE_4 } },
];
