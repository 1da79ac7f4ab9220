//! The built-in backends. Made by `cargo xtask docs` from `crates/interlingua-models/models.toml`; do not edit.

use std::borrow::Cow;

use super::{
    Backend, CacheMarkForm, Capabilities, MediaTypes, ModelRow, NameRule, RuleWords, SchemaRules, SystemPlaces, ThinkingForms,
};
use crate::model::Field;
use crate::wire::Letters;

const CLAUDE_NAMES: RuleWords = words!["*claude*"];
const CLAUDE_3_NAMES: RuleWords = words!["*claude-2*", "*claude-instant*", "*claude-3-5*", "*claude-3.5*", "*claude-3-opus*"];
const CLAUDE_3_SMALL_NAMES: RuleWords = words!["*claude-3-haiku*", "*claude-3-sonnet*"];
const CLAUDE_4_6_NAMES: RuleWords = words!["*claude-opus-4-6*", "*claude-opus-4.6*", "*claude-sonnet-4-6*", "*claude-sonnet-4.6*"];
const CLAUDE_5_5_NAMES: RuleWords = words!["*claude-opus-5-5*", "*claude-opus-5.5*", "*claude-sonnet-5-5*", "*claude-sonnet-5.5*"];
const CLAUDE_FROM_4_7_NAMES: RuleWords = words!["*claude-opus-4-7*", "*claude-opus-4.7*", "*claude-opus-4-8*", "*claude-opus-4.8*", "*claude-opus-5*", "*claude-sonnet-5*", "*claude-haiku-5*", "*claude-fable*", "*claude-mythos*"];
const CLAUDE_OPUS_4_5_NAMES: RuleWords = words!["*claude-opus-4-5*", "*claude-opus-4.5*"];
const CLAUDE_UP_TO_4_5_NAMES: RuleWords = words!["*claude-3-7*", "*claude-3.7*", "*claude-opus-4", "*claude-opus-4-0*", "*claude-opus-4-1*", "*claude-opus-4-2025*", "*claude-opus-4@*", "*claude-sonnet-4", "*claude-sonnet-4-0*", "*claude-sonnet-4-5*", "*claude-sonnet-4.5*", "*claude-sonnet-4-2025*", "*claude-sonnet-4@*", "*claude-haiku-4-5*", "*claude-haiku-4.5*"];
const COPILOT_CHAT_ONLY_NAMES: RuleWords = words!["gemini*", "grok*"];
const COPILOT_OPENAI_NAMES: RuleWords = words!["gpt-5*", "o1*", "o3*", "o4*"];
const COPILOT_RESPONSES_ONLY_NAMES: RuleWords = words!["gpt-5*-codex*", "gpt-5.4*", "gpt-5.5*", "gpt-5.6*"];
const GEMINI_2_NAMES: RuleWords = words!["*gemini-2.0*", "*gemini-1*", "*gemma*"];
const GEMINI_2_5_NAMES: RuleWords = words!["*gemini-2.5*"];
const GEMINI_2_5_LITE_NAMES: RuleWords = words!["*gemini-2.5-flash-lite*"];
const GEMINI_2_5_PRO_NAMES: RuleWords = words!["*gemini-2.5-pro*"];
const GEMINI_3_NAMES: RuleWords = words!["*gemini-3*", "*gemini-4*"];
const GEMINI_3_1_PRO_NAMES: RuleWords = words!["*gemini-3.*-pro*"];
const GEMINI_3_PRO_NAMES: RuleWords = words!["*gemini-3-pro*"];
const GEMMA_NAMES: RuleWords = words!["*gemma-1*", "*gemma-2*", "*gemma-3*"];
const GPT_5_NAMES: RuleWords = words!["gpt-5", "gpt-5-2025*", "gpt-5-mini*", "gpt-5-nano*", "gpt-5-codex*"];
const GPT_5_1_NAMES: RuleWords = words!["gpt-5.1", "gpt-5.1-2025*", "gpt-5.1-codex", "gpt-5.1-codex-mini*"];
const GPT_5_6_NAMES: RuleWords = words!["gpt-5.6*"];
const GPT_5_PRO_NAMES: RuleWords = words!["gpt-5-pro*"];
const GPT_SEARCH_NAMES: RuleWords = words!["*-search-preview*", "*-search-api*"];
const GPT_UP_TO_5_5_NAMES: RuleWords = words!["gpt-5.1-codex-max*", "gpt-5.2*", "gpt-5.3*", "gpt-5.4*", "gpt-5.5*"];
const KIMI_K3_NAMES: RuleWords = words!["kimi-k3*"];
const KIMI_SAMPLED_NAMES: RuleWords = words!["moonshot-v1*", "kimi-k2-0*", "kimi-k2-turbo*", "kimi-latest*"];
const KIMI_THINKING_NAMES: RuleWords = words!["kimi-k2.7*", "kimi-k2-thinking*"];
const O_SERIES_NAMES: RuleWords = words!["o1*", "o3*", "o4*"];
const OPENROUTER_ANTHROPIC_NAMES: RuleWords = words!["anthropic/*"];
const OPENROUTER_OPENAI_NAMES: RuleWords = words!["openai/*"];
const OPENROUTER_XAI_NAMES: RuleWords = words!["x-ai/*"];
const STRICT_TEMPLATES_NAMES: RuleWords = words!["*qwen3.5*", "*Qwen3.5*", "*qwen3.6*", "*Qwen3.6*", "*qwen3.8*", "*Qwen3.8*", "*gemma-3*"];
const STRICT_TEMPLATES_ON_OLLAMA_NAMES: RuleWords = words!["*qwen3.8*"];

pub(super) const CHAT_CLASS: Capabilities = Capabilities {
    blank_stop_texts: true,
    cache_marks: CacheMarkForm::Own,
    call_ids: NameRule { letters: Letters::Any, most: 64, ..NameRule::ANY },
    call_state: None,
    developer: true,
    efforts: words!["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    forced_calls_with_thinking: true,
    max_cache_marks: 4,
    max_stop_bytes: usize::MAX,
    max_stop_texts: 4,
    max_temperature: 2.0,
    max_tokens: Cow::Borrowed("max_completion_tokens"),
    max_tokens_default: None,
    media: MediaTypes { by_address: words!["image/"], inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"] },
    media_in_results: false,
    min_tokens: 1,
    needs_model: true,
    other_dialect: None,
    prefill: true,
    prefill_member: None,
    reasoning_names: words!["reasoning_content", "reasoning"],
    reasoning_with_calls: false,
    refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService]),
    sampling_with_thinking: true,
    schemas: SchemaRules { answer_is_closed: false, object_root: true, strict_is_closed: true, strict_requires_all: true, typed: false },
    seed: Cow::Borrowed("seed"),
    state_of: words![],
    system: SystemPlaces::Anywhere,
    thinking: ThinkingForms { adaptive: false, budget: false, budget_below_limit: false, budget_least: 1, budget_most: usize::MAX, off: true },
    tool_names: NameRule { least: 1, letter_first: false, letters: Letters::Word, most: 64 },
    unnamed_calls: true,
    user_after_results: true,
};

pub(super) const CHAT_ON_AZURE_CLASS: Capabilities = Capabilities { needs_model: false, refuses: Cow::Borrowed(&[Field::StoreAnswer, Field::CacheKey, Field::CacheMark, Field::TopK, Field::ToolService]), ..CHAT_CLASS };

pub(super) const CHAT_REASONING_CLASS: Capabilities = Capabilities { refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService, Field::Temperature, Field::TopP, Field::FrequencyPenalty, Field::PresencePenalty, Field::Logprobs, Field::TopLogprobs, Field::StopTexts]), thinking: ThinkingForms { off: false, ..CHAT_CLASS.thinking }, ..CHAT_CLASS };

pub(super) const CHAT_SWITCHED_CLASS: Capabilities = Capabilities { sampling_with_thinking: false, ..CHAT_CLASS };

pub(super) const CLAUDE_CLASS: Capabilities = Capabilities {
    blank_stop_texts: false,
    cache_marks: CacheMarkForm::Own,
    call_ids: NameRule { letters: Letters::Word, most: usize::MAX, ..NameRule::ANY },
    call_state: None,
    developer: false,
    efforts: words!["low", "medium", "high", "xhigh", "max"],
    forced_calls_with_thinking: false,
    max_cache_marks: 4,
    max_stop_bytes: usize::MAX,
    max_stop_texts: usize::MAX,
    max_temperature: 1.0,
    max_tokens: Cow::Borrowed("max_tokens"),
    max_tokens_default: Some(4096),
    media: MediaTypes { by_address: words!["image/", "application/pdf"], inline: words!["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/"] },
    media_in_results: true,
    min_tokens: 0,
    needs_model: true,
    other_dialect: None,
    prefill: true,
    prefill_member: None,
    reasoning_names: words![],
    reasoning_with_calls: false,
    refuses: Cow::Borrowed(&[]),
    sampling_with_thinking: false,
    schemas: SchemaRules { answer_is_closed: true, object_root: true, strict_is_closed: true, strict_requires_all: false, typed: false },
    seed: Cow::Borrowed("seed"),
    state_of: words![],
    system: SystemPlaces::AfterUser,
    thinking: ThinkingForms { adaptive: true, budget: true, budget_below_limit: true, budget_least: 1024, budget_most: usize::MAX, off: true },
    tool_names: NameRule { least: 1, letter_first: false, letters: Letters::Word, most: 64 },
    unnamed_calls: true,
    user_after_results: true,
};

pub(super) const CLAUDE_3_CLASS: Capabilities = Capabilities { max_tokens_default: Some(4096), thinking: ThinkingForms { budget: false, budget_below_limit: false, budget_least: 1, ..CLAUDE_4_CLASS.thinking }, ..CLAUDE_4_CLASS };

pub(super) const CLAUDE_4_CLASS: Capabilities = Capabilities { efforts: words![], max_tokens_default: Some(32000), system: SystemPlaces::First, thinking: ThinkingForms { adaptive: false, ..CLAUDE_CLASS.thinking }, ..CLAUDE_CLASS };

pub(super) const CLAUDE_4_6_CLASS: Capabilities = Capabilities { efforts: words!["low", "medium", "high", "max"], max_tokens_default: Some(32000), prefill: false, system: SystemPlaces::First, ..CLAUDE_CLASS };

pub(super) const CLAUDE_5_CLASS: Capabilities = Capabilities { max_tokens_default: Some(32000), prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::TopK]), thinking: ThinkingForms { budget: false, budget_below_limit: false, budget_least: 1, ..CLAUDE_CLASS.thinking }, ..CLAUDE_CLASS };

pub(super) const CLAUDE_5_5_CLASS: Capabilities = Capabilities { thinking: ThinkingForms { off: false, ..CLAUDE_5_CLASS.thinking }, ..CLAUDE_5_CLASS };

pub(super) const CLAUDE_OPUS_4_5_CLASS: Capabilities = Capabilities { efforts: words!["low", "medium", "high"], ..CLAUDE_4_CLASS };

pub(super) const COMPATIBLE_CLASS: Capabilities = Capabilities { developer: false, max_cache_marks: 0, max_tokens: Cow::Borrowed("max_tokens"), media: MediaTypes { by_address: words!["image/"], inline: words!["image/"] }, refuses: Cow::Borrowed(&[Field::CacheMark, Field::Verbosity, Field::StoreAnswer, Field::ToolService]), schemas: SchemaRules { strict_is_closed: false, strict_requires_all: false, ..CHAT_CLASS.schemas }, ..CHAT_CLASS };

pub(super) const COPILOT_CLASS: Capabilities = Capabilities { efforts: words!["low", "medium", "high", "xhigh", "max"], max_cache_marks: 4, reasoning_names: words!["reasoning_text"], refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService, Field::StoreAnswer, Field::Verbosity, Field::ServiceTier, Field::Metadata, Field::CacheKey, Field::EndUser]), thinking: ThinkingForms { budget: true, budget_below_limit: true, budget_least: 1024, ..COMPATIBLE_CLASS.thinking }, unnamed_calls: false, ..COMPATIBLE_CLASS };

pub(super) const COPILOT_OPENAI_CLASS: Capabilities = Capabilities { max_tokens: Cow::Borrowed("max_completion_tokens"), ..COPILOT_CLASS };

pub(super) const GEMINI_CLASS: Capabilities = Capabilities {
    blank_stop_texts: true,
    cache_marks: CacheMarkForm::Own,
    call_ids: NameRule { letters: Letters::Any, most: usize::MAX, ..NameRule::ANY },
    call_state: None,
    developer: false,
    efforts: words!["minimal", "low", "medium", "high"],
    forced_calls_with_thinking: true,
    max_cache_marks: 0,
    max_stop_bytes: usize::MAX,
    max_stop_texts: 5,
    max_temperature: 2.0,
    max_tokens: Cow::Borrowed("maxOutputTokens"),
    max_tokens_default: None,
    media: MediaTypes { by_address: words!["image/", "application/pdf", "application/json", "video/", "text/"], inline: words!["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf", "audio/", "video/", "text/"] },
    media_in_results: true,
    min_tokens: 1,
    needs_model: false,
    other_dialect: None,
    prefill: true,
    prefill_member: None,
    reasoning_names: words![],
    reasoning_with_calls: false,
    refuses: Cow::Borrowed(&[]),
    sampling_with_thinking: true,
    schemas: SchemaRules { answer_is_closed: false, object_root: false, strict_is_closed: false, strict_requires_all: false, typed: false },
    seed: Cow::Borrowed("seed"),
    state_of: words![],
    system: SystemPlaces::First,
    thinking: ThinkingForms { adaptive: true, budget: true, budget_below_limit: false, budget_least: 1, budget_most: usize::MAX, off: true },
    tool_names: NameRule { least: 1, letter_first: true, letters: Letters::Dotted, most: 128 },
    unnamed_calls: true,
    user_after_results: true,
};

pub(super) const GEMINI_2_CLASS: Capabilities = Capabilities { media: MediaTypes { by_address: words![], ..GEMINI_2_5_CLASS.media }, thinking: ThinkingForms { adaptive: false, budget: false, budget_most: usize::MAX, ..GEMINI_2_5_CLASS.thinking }, ..GEMINI_2_5_CLASS };

pub(super) const GEMINI_2_5_CLASS: Capabilities = Capabilities { efforts: words![], media_in_results: false, thinking: ThinkingForms { budget_most: 24576, ..GEMINI_CLASS.thinking }, ..GEMINI_CLASS };

pub(super) const GEMINI_2_5_LITE_CLASS: Capabilities = Capabilities { thinking: ThinkingForms { budget_least: 512, ..GEMINI_2_5_CLASS.thinking }, ..GEMINI_2_5_CLASS };

pub(super) const GEMINI_2_5_PRO_CLASS: Capabilities = Capabilities { thinking: ThinkingForms { budget_least: 128, budget_most: 32768, off: false, ..GEMINI_2_5_CLASS.thinking }, ..GEMINI_2_5_CLASS };

pub(super) const GEMINI_3_CLASS: Capabilities = Capabilities { call_state: Some(Cow::Borrowed("skip_thought_signature_validator")), thinking: ThinkingForms { budget: false, off: false, ..GEMINI_CLASS.thinking }, ..GEMINI_CLASS };

pub(super) const GEMINI_3_1_PRO_CLASS: Capabilities = Capabilities { efforts: words!["low", "medium", "high"], ..GEMINI_3_CLASS };

pub(super) const GEMINI_3_PRO_CLASS: Capabilities = Capabilities { efforts: words!["low", "high"], ..GEMINI_3_CLASS };

pub(super) const GEMMA_CLASS: Capabilities = Capabilities { system: SystemPlaces::Nowhere, ..GEMINI_2_CLASS };

pub(super) const KIMI_CLASS: Capabilities = Capabilities { call_ids: NameRule { most: usize::MAX, ..COMPATIBLE_CLASS.call_ids }, efforts: words![], forced_calls_with_thinking: false, max_stop_bytes: 32, max_stop_texts: 5, max_temperature: 1.0, max_tokens: Cow::Borrowed("max_completion_tokens"), media: MediaTypes { by_address: words!["image/", "video/"], inline: words!["image/", "video/"] }, prefill_member: Some(Cow::Borrowed("partial")), reasoning_names: words!["reasoning_content"], reasoning_with_calls: true, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::TopK, Field::FrequencyPenalty, Field::PresencePenalty, Field::AnswerCount, Field::Seed, Field::Logprobs, Field::TopLogprobs, Field::StoreAnswer, Field::Verbosity, Field::ServiceTier, Field::Metadata, Field::CacheMark, Field::ToolService]), schemas: SchemaRules { typed: true, ..COMPATIBLE_CLASS.schemas }, thinking: ThinkingForms { adaptive: true, ..COMPATIBLE_CLASS.thinking }, tool_names: NameRule { least: 3, letter_first: true, ..COMPATIBLE_CLASS.tool_names }, ..COMPATIBLE_CLASS };

pub(super) const KIMI_SAMPLED_CLASS: Capabilities = Capabilities { reasoning_with_calls: false, refuses: Cow::Borrowed(&[Field::TopK, Field::Seed, Field::Logprobs, Field::TopLogprobs, Field::StoreAnswer, Field::Verbosity, Field::ServiceTier, Field::Metadata, Field::CacheMark, Field::ToolService]), thinking: ThinkingForms { adaptive: false, off: false, ..KIMI_CLASS.thinking }, ..KIMI_CLASS };

pub(super) const RESPONSES_CLASS: Capabilities = Capabilities { max_tokens: Cow::Borrowed("max_output_tokens"), media: MediaTypes { by_address: words!["image/", "application/", "text/"], inline: words!["image/", "application/", "text/"] }, media_in_results: true, min_tokens: 16, refuses: Cow::Borrowed(&[]), ..CHAT_CLASS };

pub(super) const RESPONSES_ON_AZURE_CLASS: Capabilities = Capabilities { max_cache_marks: 0, refuses: Cow::Borrowed(&[Field::CacheMark]), ..RESPONSES_CLASS };

pub(super) const RESPONSES_REASONING_CLASS: Capabilities = Capabilities { refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::TopLogprobs]), thinking: ThinkingForms { off: false, ..RESPONSES_CLASS.thinking }, ..RESPONSES_CLASS };

pub(super) const RESPONSES_SWITCHED_CLASS: Capabilities = Capabilities { sampling_with_thinking: false, ..RESPONSES_CLASS };

pub(crate) static ANTHROPIC: Backend = Backend {
    name: Cow::Borrowed("anthropic"),
    dialect: "anthropic",
    about: Cow::Borrowed("Anthropic's own API"),
    takes: CLAUDE_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: CLAUDE_5_5_NAMES, takes: CLAUDE_5_5_CLASS },
        ModelRow { names: CLAUDE_FROM_4_7_NAMES, takes: CLAUDE_5_CLASS },
        ModelRow { names: CLAUDE_OPUS_4_5_NAMES, takes: CLAUDE_OPUS_4_5_CLASS },
        ModelRow { names: CLAUDE_4_6_NAMES, takes: CLAUDE_4_6_CLASS },
        ModelRow { names: CLAUDE_3_NAMES, takes: CLAUDE_3_CLASS },
        ModelRow { names: CLAUDE_3_SMALL_NAMES, takes: CLAUDE_3_CLASS },
        ModelRow { names: CLAUDE_UP_TO_4_5_NAMES, takes: CLAUDE_4_CLASS },
    ]),
};

static BEDROCK_IN_ANTHROPIC: Backend = Backend {
    name: Cow::Borrowed("bedrock"),
    dialect: "anthropic",
    about: Cow::Borrowed("Claude on Amazon Bedrock"),
    takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_CLASS.media }, ..CLAUDE_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: CLAUDE_5_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_5_5_CLASS.media }, ..CLAUDE_5_5_CLASS } },
        ModelRow { names: CLAUDE_FROM_4_7_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_5_CLASS.media }, ..CLAUDE_5_CLASS } },
        ModelRow { names: CLAUDE_OPUS_4_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_OPUS_4_5_CLASS.media }, ..CLAUDE_OPUS_4_5_CLASS } },
        ModelRow { names: CLAUDE_4_6_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_4_6_CLASS.media }, ..CLAUDE_4_6_CLASS } },
        ModelRow { names: CLAUDE_3_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_3_CLASS.media }, ..CLAUDE_3_CLASS } },
        ModelRow { names: CLAUDE_3_SMALL_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_3_CLASS.media }, ..CLAUDE_3_CLASS } },
        ModelRow { names: CLAUDE_UP_TO_4_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_4_CLASS.media }, ..CLAUDE_4_CLASS } },
    ]),
};

static VERTEX_IN_ANTHROPIC: Backend = Backend {
    name: Cow::Borrowed("vertex"),
    dialect: "anthropic",
    about: Cow::Borrowed("Claude on Google Vertex AI"),
    takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_CLASS.media }, ..CLAUDE_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: CLAUDE_5_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_5_5_CLASS.media }, ..CLAUDE_5_5_CLASS } },
        ModelRow { names: CLAUDE_FROM_4_7_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_5_CLASS.media }, ..CLAUDE_5_CLASS } },
        ModelRow { names: CLAUDE_OPUS_4_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_OPUS_4_5_CLASS.media }, ..CLAUDE_OPUS_4_5_CLASS } },
        ModelRow { names: CLAUDE_4_6_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_4_6_CLASS.media }, ..CLAUDE_4_6_CLASS } },
        ModelRow { names: CLAUDE_3_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_3_CLASS.media }, ..CLAUDE_3_CLASS } },
        ModelRow { names: CLAUDE_3_SMALL_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_3_CLASS.media }, ..CLAUDE_3_CLASS } },
        ModelRow { names: CLAUDE_UP_TO_4_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_4_CLASS.media }, ..CLAUDE_4_CLASS } },
    ]),
};

pub(crate) static OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("openai"),
    dialect: "openai-chat",
    about: Cow::Borrowed("OpenAI's own API"),
    takes: CHAT_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: GPT_5_NAMES, takes: Capabilities { efforts: words!["minimal", "low", "medium", "high"], ..CHAT_REASONING_CLASS } },
        ModelRow { names: GPT_5_PRO_NAMES, takes: Capabilities { efforts: words!["high"], ..CHAT_REASONING_CLASS } },
        ModelRow { names: GPT_5_1_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high"], ..CHAT_SWITCHED_CLASS } },
        ModelRow { names: GPT_UP_TO_5_5_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh"], ..CHAT_SWITCHED_CLASS } },
        ModelRow { names: GPT_5_6_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh", "max"], ..CHAT_SWITCHED_CLASS } },
        ModelRow { names: GPT_SEARCH_NAMES, takes: Capabilities { refuses: Cow::Borrowed(&[Field::TopK, Field::Temperature, Field::TopP]), ..CHAT_CLASS } },
        ModelRow { names: O_SERIES_NAMES, takes: Capabilities { efforts: words!["low", "medium", "high"], ..CHAT_REASONING_CLASS } },
    ]),
};

static AZURE_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("azure"),
    dialect: "openai-chat",
    about: Cow::Borrowed("OpenAI's models on Microsoft Azure"),
    takes: CHAT_ON_AZURE_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: GPT_5_NAMES, takes: Capabilities { efforts: words!["minimal", "low", "medium", "high"], ..CHAT_REASONING_CLASS } },
        ModelRow { names: GPT_5_PRO_NAMES, takes: Capabilities { efforts: words!["high"], ..CHAT_REASONING_CLASS } },
        ModelRow { names: GPT_5_1_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high"], ..CHAT_SWITCHED_CLASS } },
        ModelRow { names: GPT_UP_TO_5_5_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh"], ..CHAT_SWITCHED_CLASS } },
        ModelRow { names: GPT_5_6_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh", "max"], ..CHAT_SWITCHED_CLASS } },
        ModelRow { names: GPT_SEARCH_NAMES, takes: Capabilities { refuses: Cow::Borrowed(&[Field::TopK, Field::Temperature, Field::TopP]), ..CHAT_CLASS } },
        ModelRow { names: O_SERIES_NAMES, takes: Capabilities { efforts: words!["low", "medium", "high"], ..CHAT_REASONING_CLASS } },
    ]),
};

pub(crate) static OPENAI_RESPONSES: Backend = Backend {
    name: Cow::Borrowed("openai"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's own API"),
    takes: RESPONSES_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: GPT_5_NAMES, takes: Capabilities { efforts: words!["minimal", "low", "medium", "high"], ..RESPONSES_REASONING_CLASS } },
        ModelRow { names: GPT_5_PRO_NAMES, takes: Capabilities { efforts: words!["high"], ..RESPONSES_REASONING_CLASS } },
        ModelRow { names: GPT_5_1_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high"], ..RESPONSES_SWITCHED_CLASS } },
        ModelRow { names: GPT_UP_TO_5_5_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh"], ..RESPONSES_SWITCHED_CLASS } },
        ModelRow { names: GPT_5_6_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh", "max"], ..RESPONSES_SWITCHED_CLASS } },
        ModelRow { names: O_SERIES_NAMES, takes: Capabilities { efforts: words!["low", "medium", "high"], ..RESPONSES_REASONING_CLASS } },
    ]),
};

static AZURE_IN_OPENAI_RESPONSES: Backend = Backend {
    name: Cow::Borrowed("azure"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's models on Microsoft Azure"),
    takes: RESPONSES_ON_AZURE_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: GPT_5_NAMES, takes: Capabilities { efforts: words!["minimal", "low", "medium", "high"], ..RESPONSES_REASONING_CLASS } },
        ModelRow { names: GPT_5_PRO_NAMES, takes: Capabilities { efforts: words!["high"], ..RESPONSES_REASONING_CLASS } },
        ModelRow { names: GPT_5_1_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high"], ..RESPONSES_SWITCHED_CLASS } },
        ModelRow { names: GPT_UP_TO_5_5_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh"], ..RESPONSES_SWITCHED_CLASS } },
        ModelRow { names: GPT_5_6_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high", "xhigh", "max"], ..RESPONSES_SWITCHED_CLASS } },
        ModelRow { names: O_SERIES_NAMES, takes: Capabilities { efforts: words!["low", "medium", "high"], ..RESPONSES_REASONING_CLASS } },
    ]),
};

static VLLM_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("vllm"),
    dialect: "openai-chat",
    about: Cow::Borrowed("vLLM serving any model"),
    takes: Capabilities { reasoning_names: words!["reasoning", "reasoning_content"], ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: STRICT_TEMPLATES_NAMES, takes: Capabilities { reasoning_names: words!["reasoning", "reasoning_content"], system: SystemPlaces::First, ..COMPATIBLE_CLASS } },
    ]),
};

static OLLAMA_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("ollama"),
    dialect: "openai-chat",
    about: Cow::Borrowed("Ollama serving any model"),
    takes: Capabilities { efforts: words!["none", "low", "medium", "high"], media: MediaTypes { by_address: words![], inline: words!["image/"] }, reasoning_names: words!["reasoning"], ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: STRICT_TEMPLATES_ON_OLLAMA_NAMES, takes: Capabilities { efforts: words!["none", "low", "medium", "high"], media: MediaTypes { by_address: words![], inline: words!["image/"] }, reasoning_names: words!["reasoning"], system: SystemPlaces::First, ..COMPATIBLE_CLASS } },
    ]),
};

static OPENROUTER_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("openrouter"),
    dialect: "openai-chat",
    about: Cow::Borrowed("OpenRouter, in front of many providers"),
    takes: Capabilities { cache_marks: CacheMarkForm::CacheControl, efforts: words!["none", "minimal", "low", "medium", "high", "xhigh"], max_cache_marks: 4, media: MediaTypes { by_address: words!["image/", "application/pdf"], inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"] }, reasoning_names: words!["reasoning", "reasoning_content"], refuses: Cow::Borrowed(&[Field::Verbosity, Field::StoreAnswer, Field::ToolService]), ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: OPENROUTER_ANTHROPIC_NAMES, takes: Capabilities { cache_marks: CacheMarkForm::CacheControl, efforts: words!["none", "minimal", "low", "medium", "high", "xhigh"], max_cache_marks: 4, media: MediaTypes { by_address: words!["image/", "application/pdf"], inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"] }, reasoning_names: words!["reasoning", "reasoning_content"], refuses: Cow::Borrowed(&[Field::Verbosity, Field::StoreAnswer, Field::ToolService]), state_of: words!["anthropic"], ..COMPATIBLE_CLASS } },
        ModelRow { names: OPENROUTER_OPENAI_NAMES, takes: Capabilities { cache_marks: CacheMarkForm::CacheControl, efforts: words!["none", "minimal", "low", "medium", "high", "xhigh"], max_cache_marks: 4, media: MediaTypes { by_address: words!["image/", "application/pdf"], inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"] }, reasoning_names: words!["reasoning", "reasoning_content"], refuses: Cow::Borrowed(&[Field::Verbosity, Field::StoreAnswer, Field::ToolService]), state_of: words!["openai"], ..COMPATIBLE_CLASS } },
        ModelRow { names: OPENROUTER_XAI_NAMES, takes: Capabilities { cache_marks: CacheMarkForm::CacheControl, efforts: words!["none", "minimal", "low", "medium", "high", "xhigh"], max_cache_marks: 4, media: MediaTypes { by_address: words!["image/", "application/pdf"], inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"] }, reasoning_names: words!["reasoning", "reasoning_content"], refuses: Cow::Borrowed(&[Field::Verbosity, Field::StoreAnswer, Field::ToolService]), state_of: words!["xai"], ..COMPATIBLE_CLASS } },
    ]),
};

static DEEPSEEK_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("deepseek"),
    dialect: "openai-chat",
    about: Cow::Borrowed("DeepSeek's own API"),
    takes: Capabilities { efforts: words!["low", "medium", "high"], max_stop_texts: 16, media: MediaTypes { by_address: words![], inline: words![] }, prefill_member: Some(Cow::Borrowed("prefix")), reasoning_names: words!["reasoning_content"], reasoning_with_calls: true, refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService, Field::Seed, Field::AnswerCount, Field::EndUser, Field::Verbosity, Field::StoreAnswer, Field::CacheKey, Field::CacheMark, Field::ServiceTier, Field::Metadata, Field::ParallelCalls]), ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[]),
};

static GROQ_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("groq"),
    dialect: "openai-chat",
    about: Cow::Borrowed("Groq's own API"),
    takes: Capabilities { efforts: words!["none", "low", "medium", "high"], reasoning_names: words!["reasoning"], refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService, Field::Logprobs, Field::TopLogprobs, Field::Verbosity, Field::CacheKey, Field::CacheMark]), ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[]),
};

static MISTRAL_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("mistral"),
    dialect: "openai-chat",
    about: Cow::Borrowed("Mistral's own API"),
    takes: Capabilities { call_ids: NameRule { letters: Letters::Word, ..COMPATIBLE_CLASS.call_ids }, efforts: words!["none", "high"], max_temperature: 1.5, prefill_member: Some(Cow::Borrowed("prefix")), reasoning_names: words!["thinking"], refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService, Field::Logprobs, Field::TopLogprobs, Field::Verbosity, Field::StoreAnswer, Field::EndUser, Field::ServiceTier, Field::CacheKey, Field::CacheMark, Field::StreamUsage]), seed: Cow::Borrowed("random_seed"), system: SystemPlaces::AfterUser, user_after_results: false, ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[]),
};

static XAI_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("xai"),
    dialect: "openai-chat",
    about: Cow::Borrowed("xAI's own API"),
    takes: Capabilities { efforts: words!["low", "high"], reasoning_names: words!["reasoning_content"], refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService, Field::PresencePenalty, Field::FrequencyPenalty, Field::StopTexts, Field::Verbosity, Field::CacheKey, Field::CacheMark]), ..COMPATIBLE_CLASS },
    models: Cow::Borrowed(&[]),
};

static MOONSHOT_IN_OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("moonshot"),
    dialect: "openai-chat",
    about: Cow::Borrowed("Moonshot AI's own API, in OpenAI's words"),
    takes: Capabilities { media: MediaTypes { by_address: words!["image/"], inline: words!["image/"] }, ..KIMI_CLASS },
    models: Cow::Borrowed(&[]),
};

pub(crate) static KIMI: Backend = Backend {
    name: Cow::Borrowed("moonshot"),
    dialect: "kimi",
    about: Cow::Borrowed("Moonshot AI's own API"),
    takes: KIMI_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: KIMI_SAMPLED_NAMES, takes: KIMI_SAMPLED_CLASS },
        ModelRow { names: KIMI_THINKING_NAMES, takes: Capabilities { thinking: ThinkingForms { adaptive: false, off: false, ..KIMI_CLASS.thinking }, ..KIMI_CLASS } },
        ModelRow { names: KIMI_K3_NAMES, takes: Capabilities { efforts: words!["low", "high", "max"], thinking: ThinkingForms { adaptive: false, off: false, ..KIMI_CLASS.thinking }, ..KIMI_CLASS } },
    ]),
};

pub(crate) static COPILOT: Backend = Backend {
    name: Cow::Borrowed("github"),
    dialect: "copilot",
    about: Cow::Borrowed("GitHub Copilot's chat API"),
    takes: COPILOT_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: COPILOT_RESPONSES_ONLY_NAMES, takes: Capabilities { other_dialect: Some(Cow::Borrowed("openai-responses")), ..COPILOT_OPENAI_CLASS } },
        ModelRow { names: COPILOT_OPENAI_NAMES, takes: COPILOT_OPENAI_CLASS },
    ]),
};

static GITHUB_IN_OPENAI_RESPONSES: Backend = Backend {
    name: Cow::Borrowed("github"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's models on GitHub Copilot (POST /responses)"),
    takes: Capabilities { call_ids: NameRule { most: usize::MAX, ..RESPONSES_CLASS.call_ids }, developer: false, efforts: words!["low", "medium", "high", "xhigh", "max"], max_cache_marks: 0, media: MediaTypes { by_address: words![], inline: words!["image/"] }, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::ServiceTier, Field::Metadata, Field::CacheKey, Field::CacheMark, Field::EndUser]), ..RESPONSES_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: CLAUDE_NAMES, takes: Capabilities { call_ids: NameRule { most: usize::MAX, ..RESPONSES_CLASS.call_ids }, developer: false, efforts: words!["low", "medium", "high", "xhigh", "max"], max_cache_marks: 0, media: MediaTypes { by_address: words![], inline: words!["image/"] }, other_dialect: Some(Cow::Borrowed("anthropic")), refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::ServiceTier, Field::Metadata, Field::CacheKey, Field::CacheMark, Field::EndUser]), ..RESPONSES_CLASS } },
        ModelRow { names: COPILOT_CHAT_ONLY_NAMES, takes: Capabilities { call_ids: NameRule { most: usize::MAX, ..RESPONSES_CLASS.call_ids }, developer: false, efforts: words!["low", "medium", "high", "xhigh", "max"], max_cache_marks: 0, media: MediaTypes { by_address: words![], inline: words!["image/"] }, other_dialect: Some(Cow::Borrowed("copilot")), refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::ServiceTier, Field::Metadata, Field::CacheKey, Field::CacheMark, Field::EndUser]), ..RESPONSES_CLASS } },
    ]),
};

static GITHUB_IN_ANTHROPIC: Backend = Backend {
    name: Cow::Borrowed("github"),
    dialect: "anthropic",
    about: Cow::Borrowed("Claude on GitHub Copilot (POST /v1/messages)"),
    takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: CLAUDE_5_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_5_5_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_5_5_CLASS } },
        ModelRow { names: CLAUDE_FROM_4_7_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_5_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopP, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_5_CLASS } },
        ModelRow { names: CLAUDE_OPUS_4_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_OPUS_4_5_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_OPUS_4_5_CLASS } },
        ModelRow { names: CLAUDE_4_6_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_4_6_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_4_6_CLASS } },
        ModelRow { names: CLAUDE_3_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_3_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_3_CLASS } },
        ModelRow { names: CLAUDE_3_SMALL_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_3_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_3_CLASS } },
        ModelRow { names: CLAUDE_UP_TO_4_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_4_CLASS.media }, prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_4_CLASS } },
        ModelRow { names: COPILOT_OPENAI_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_CLASS.media }, other_dialect: Some(Cow::Borrowed("openai-responses")), prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_CLASS } },
        ModelRow { names: COPILOT_CHAT_ONLY_NAMES, takes: Capabilities { media: MediaTypes { by_address: words![], ..CLAUDE_CLASS.media }, other_dialect: Some(Cow::Borrowed("copilot")), prefill: false, refuses: Cow::Borrowed(&[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser]), system: SystemPlaces::First, ..CLAUDE_CLASS } },
    ]),
};

pub(crate) static GEMINI: Backend = Backend {
    name: Cow::Borrowed("gemini"),
    dialect: "gemini",
    about: Cow::Borrowed("Google's Gemini API for developers"),
    takes: GEMINI_CLASS,
    models: Cow::Borrowed(&[
        ModelRow { names: GEMMA_NAMES, takes: GEMMA_CLASS },
        ModelRow { names: GEMINI_3_PRO_NAMES, takes: GEMINI_3_PRO_CLASS },
        ModelRow { names: GEMINI_3_1_PRO_NAMES, takes: GEMINI_3_1_PRO_CLASS },
        ModelRow { names: GEMINI_3_NAMES, takes: GEMINI_3_CLASS },
        ModelRow { names: GEMINI_2_5_PRO_NAMES, takes: GEMINI_2_5_PRO_CLASS },
        ModelRow { names: GEMINI_2_5_LITE_NAMES, takes: GEMINI_2_5_LITE_CLASS },
        ModelRow { names: GEMINI_2_5_NAMES, takes: GEMINI_2_5_CLASS },
        ModelRow { names: GEMINI_2_NAMES, takes: GEMINI_2_CLASS },
    ]),
};

static VERTEX_IN_GEMINI: Backend = Backend {
    name: Cow::Borrowed("vertex"),
    dialect: "gemini",
    about: Cow::Borrowed("Gemini on Google Vertex AI"),
    takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_CLASS },
    models: Cow::Borrowed(&[
        ModelRow { names: GEMMA_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMMA_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMMA_CLASS } },
        ModelRow { names: GEMINI_3_PRO_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_3_PRO_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_3_PRO_CLASS } },
        ModelRow { names: GEMINI_3_1_PRO_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_3_1_PRO_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_3_1_PRO_CLASS } },
        ModelRow { names: GEMINI_3_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_3_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_3_CLASS } },
        ModelRow { names: GEMINI_2_5_PRO_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_2_5_PRO_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_2_5_PRO_CLASS } },
        ModelRow { names: GEMINI_2_5_LITE_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_2_5_LITE_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_2_5_LITE_CLASS } },
        ModelRow { names: GEMINI_2_5_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_2_5_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_2_5_CLASS } },
        ModelRow { names: GEMINI_2_NAMES, takes: Capabilities { media: MediaTypes { by_address: words!["image/", "application/pdf", "audio/", "video/", "text/"], ..GEMINI_2_CLASS.media }, refuses: Cow::Borrowed(&[Field::StoreAnswer]), ..GEMINI_2_CLASS } },
    ]),
};

pub(super) static BACKENDS: &[&Backend] = &[
    &ANTHROPIC,
    &BEDROCK_IN_ANTHROPIC,
    &VERTEX_IN_ANTHROPIC,
    &OPENAI_CHAT,
    &AZURE_IN_OPENAI_CHAT,
    &OPENAI_RESPONSES,
    &AZURE_IN_OPENAI_RESPONSES,
    &VLLM_IN_OPENAI_CHAT,
    &OLLAMA_IN_OPENAI_CHAT,
    &OPENROUTER_IN_OPENAI_CHAT,
    &DEEPSEEK_IN_OPENAI_CHAT,
    &GROQ_IN_OPENAI_CHAT,
    &MISTRAL_IN_OPENAI_CHAT,
    &XAI_IN_OPENAI_CHAT,
    &MOONSHOT_IN_OPENAI_CHAT,
    &KIMI,
    &COPILOT,
    &GITHUB_IN_OPENAI_RESPONSES,
    &GITHUB_IN_ANTHROPIC,
    &GEMINI,
    &VERTEX_IN_GEMINI,
];

/// The names of the models that vendors serve from their own APIs, by backend.
pub(super) const OWN_MODELS: &[(&str, &[&str])] = &[
    ("anthropic", &["claude*"]),
    ("deepseek", &["deepseek*"]),
    ("gemini", &["gemini*", "gemma*", "models/*", "tunedModels/*", "learnlm*", "deep-research*", "nano-banana*"]),
    ("mistral", &["*stral*", "labs-*", "ft:*"]),
    ("moonshot", &["kimi*", "moonshot*"]),
    ("openai", &["gpt*", "o1*", "o3*", "o4*", "o5*", "chatgpt*", "chat-*", "codex*", "computer-use*", "daybreak*", "davinci*", "babbage*", "text-*", "ft:*", "omni*"]),
    ("xai", &["grok*"]),
];
