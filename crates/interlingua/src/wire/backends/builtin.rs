//! The built-in backends: vendors, and common servers that offer their dialects.

use std::borrow::Cow;

use super::claude::{CLAUDE, CLAUDE_BY_BYTES, CLAUDE_MODELS, CLAUDE_MODELS_BY_BYTES};
use super::copilot::{COPILOT, COPILOT_MESSAGES, COPILOT_RESPONSES};
use super::google::{GEMINI_API, GEMINI_ON_VERTEX};
use super::{
    Backend, CacheMarkForm, Capabilities, MediaTypes, ModelRow, NameRule, RuleWords, SchemaRules,
    SystemPlaces, ThinkingForms,
};
use crate::model::Field;
use crate::wire::Letters;

/// Anthropic, the vendor of the dialect.
pub(crate) static ANTHROPIC: Backend = ANTHROPIC_VALUE;

const ANTHROPIC_VALUE: Backend = Backend {
    name: Cow::Borrowed("anthropic"),
    dialect: "anthropic",
    about: Cow::Borrowed("Anthropic's own API"),
    takes: CLAUDE,
    models: Cow::Borrowed(CLAUDE_MODELS),
};

/// OpenAI, the vendor of the dialect.
pub(crate) static OPENAI_CHAT: Backend = Backend {
    name: Cow::Borrowed("openai"),
    dialect: "openai-chat",
    about: Cow::Borrowed("OpenAI's own API"),
    takes: CHAT,
    models: Cow::Borrowed(CHAT_MODELS),
};

/// Anthropic's token counting: settings of the answer have no place.
pub(crate) static ANTHROPIC_COUNT: Backend = Backend {
    takes: Capabilities { max_tokens_default: None, refuses: Cow::Borrowed(ANSWER_SETTINGS), ..CLAUDE },
    models: Cow::Borrowed(&[]),
    ..ANTHROPIC_VALUE
};

/// OpenAI's token counting.
pub(crate) static OPENAI_RESPONSES_COUNT: Backend = Backend {
    name: Cow::Borrowed("openai"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's own API"),
    takes: Capabilities { refuses: Cow::Borrowed(ANSWER_SETTINGS), ..RESPONSES },
    models: Cow::Borrowed(&[]),
};

/// Settings of an answer, which token counting refuses.
pub(super) const ANSWER_SETTINGS: &[Field] = &[
    Field::MaxTokens,
    Field::Temperature,
    Field::TopP,
    Field::TopK,
    Field::StopTexts,
    Field::StreamAnswer,
    Field::ServiceTier,
    Field::EndUser,
    Field::Seed,
    Field::AnswerCount,
    Field::FrequencyPenalty,
    Field::PresencePenalty,
    Field::Logprobs,
    Field::TopLogprobs,
    Field::StoreAnswer,
    Field::Metadata,
    Field::Modalities,
    Field::CacheKey,
];

/// Moonshot AI, the vendor of the dialect.
pub(crate) static KIMI: Backend = KIMI_VALUE;

const KIMI_VALUE: Backend = Backend {
    name: Cow::Borrowed("moonshot"),
    dialect: "kimi",
    about: Cow::Borrowed("Moonshot AI's own API"),
    takes: KIMI_SWITCHED,
    models: Cow::Borrowed(KIMI_MODELS),
};

/// Moonshot AI's token counting.
pub(crate) static KIMI_COUNT: Backend = Backend {
    takes: Capabilities { refuses: Cow::Borrowed(ANSWER_SETTINGS), ..KIMI_VALUE.takes },
    models: Cow::Borrowed(&[]),
    ..KIMI_VALUE
};

/// OpenAI, the vendor of the dialect.
pub(crate) static OPENAI_RESPONSES: Backend = Backend {
    name: Cow::Borrowed("openai"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's own API"),
    takes: RESPONSES,
    models: Cow::Borrowed(RESPONSES_MODELS),
};

/// The first backend of a dialect is its vendor.
pub(super) static BACKENDS: &[&Backend] = &[
    &ANTHROPIC,
    &Backend {
        name: Cow::Borrowed("bedrock"),
        dialect: "anthropic",
        about: Cow::Borrowed("Claude on Amazon Bedrock"),
        takes: CLAUDE_BY_BYTES,
        models: Cow::Borrowed(CLAUDE_MODELS_BY_BYTES),
    },
    &Backend {
        name: Cow::Borrowed("vertex"),
        dialect: "anthropic",
        about: Cow::Borrowed("Claude on Google Vertex AI"),
        takes: CLAUDE_BY_BYTES,
        models: Cow::Borrowed(CLAUDE_MODELS_BY_BYTES),
    },
    &OPENAI_CHAT,
    &Backend {
        name: Cow::Borrowed("azure"),
        dialect: "openai-chat",
        about: Cow::Borrowed("OpenAI's models on Microsoft Azure"),
        takes: Capabilities {
            needs_model: false,
            refuses: Cow::Borrowed(&[
                Field::StoreAnswer,
                Field::CacheKey,
                Field::CacheMark,
                Field::TopK,
                Field::ToolService,
            ]),
            ..CHAT
        },
        models: Cow::Borrowed(CHAT_MODELS),
    },
    &OPENAI_RESPONSES,
    &Backend {
        name: Cow::Borrowed("azure"),
        dialect: "openai-responses",
        about: Cow::Borrowed("OpenAI's models on Microsoft Azure"),
        takes: Capabilities { refuses: Cow::Borrowed(&[Field::CacheMark]), max_cache_marks: 0, ..RESPONSES },
        models: Cow::Borrowed(RESPONSES_MODELS),
    },
    &Backend {
        name: Cow::Borrowed("vllm"),
        dialect: "openai-chat",
        about: Cow::Borrowed("vLLM serving any model"),
        takes: VLLM,
        models: Cow::Borrowed(&[ModelRow {
            names: STRICT_TEMPLATES,
            takes: Capabilities { system: SystemPlaces::First, ..VLLM },
        }]),
    },
    &Backend {
        name: Cow::Borrowed("ollama"),
        dialect: "openai-chat",
        about: Cow::Borrowed("Ollama serving any model"),
        takes: OLLAMA,
        // Ollama's own renderers of older models accept system messages anywhere (ollama/ollama#17774).
        models: Cow::Borrowed(&[ModelRow {
            names: words!["*qwen3.8*"],
            takes: Capabilities { system: SystemPlaces::First, ..OLLAMA },
        }]),
    },
    &Backend {
        name: Cow::Borrowed("openrouter"),
        dialect: "openai-chat",
        about: Cow::Borrowed("OpenRouter, in front of many providers"),
        takes: OPENROUTER,
        models: Cow::Borrowed(&[
            ModelRow {
                names: words!["anthropic/*"],
                takes: Capabilities { state_of: words!["anthropic"], ..OPENROUTER },
            },
            ModelRow {
                names: words!["openai/*"],
                takes: Capabilities { state_of: words!["openai"], ..OPENROUTER },
            },
            ModelRow {
                names: words!["x-ai/*"],
                takes: Capabilities { state_of: words!["xai"], ..OPENROUTER },
            },
        ]),
    },
    &Backend {
        name: Cow::Borrowed("deepseek"),
        dialect: "openai-chat",
        about: Cow::Borrowed("DeepSeek's own API"),
        takes: Capabilities {
            max_tokens: Cow::Borrowed("max_tokens"),
            reasoning_names: words!["reasoning_content"],
            reasoning_with_calls: true,
            // Accepted at the beta URL ("Chat Prefix Completion").
            prefill_member: Some(Cow::Borrowed("prefix")),
            efforts: words!["low", "medium", "high"],
            refuses: Cow::Borrowed(&[
                Field::TopK,
                Field::ToolService,
                Field::Seed,
                Field::AnswerCount,
                Field::EndUser,
                Field::Verbosity,
                Field::StoreAnswer,
                Field::CacheKey,
                Field::CacheMark,
                Field::ServiceTier,
                Field::Metadata,
                Field::ParallelCalls,
            ]),
            media: MediaTypes { inline: words![], by_address: words![] },
            max_stop_texts: 16,
            ..COMPATIBLE
        },
        models: Cow::Borrowed(&[]),
    },
    &Backend {
        name: Cow::Borrowed("groq"),
        dialect: "openai-chat",
        about: Cow::Borrowed("Groq's own API"),
        takes: Capabilities {
            reasoning_names: words!["reasoning"],
            efforts: words!["none", "low", "medium", "high"],
            refuses: Cow::Borrowed(&[
                Field::TopK,
                Field::ToolService,
                Field::Logprobs,
                Field::TopLogprobs,
                Field::Verbosity,
                Field::CacheKey,
                Field::CacheMark,
            ]),
            ..COMPATIBLE
        },
        models: Cow::Borrowed(&[]),
    },
    &Backend {
        name: Cow::Borrowed("mistral"),
        dialect: "openai-chat",
        about: Cow::Borrowed("Mistral's own API"),
        takes: Capabilities {
            max_tokens: Cow::Borrowed("max_tokens"),
            seed: Cow::Borrowed("random_seed"),
            prefill_member: Some(Cow::Borrowed("prefix")),
            // Reasoning is a content part of this type.
            reasoning_names: words!["thinking"],
            efforts: words!["none", "high"],
            refuses: Cow::Borrowed(&[
                Field::TopK,
                Field::ToolService,
                Field::Logprobs,
                Field::TopLogprobs,
                Field::Verbosity,
                Field::StoreAnswer,
                Field::EndUser,
                Field::ServiceTier,
                Field::CacheKey,
                Field::CacheMark,
                Field::StreamUsage,
            ]),
            max_temperature: 1.5,
            call_ids: NameRule { letters: Letters::Word, least: 1, most: 64, letter_first: false },
            // Mistral's validator (mistral-common) refuses a system message after the assistant or a result, and until
            // recently a user message after a result.
            system: SystemPlaces::AfterUser,
            user_after_results: false,
            ..COMPATIBLE
        },
        models: Cow::Borrowed(&[]),
    },
    &Backend {
        name: Cow::Borrowed("xai"),
        dialect: "openai-chat",
        about: Cow::Borrowed("xAI's own API"),
        takes: Capabilities {
            reasoning_names: words!["reasoning_content"],
            efforts: words!["low", "high"],
            refuses: Cow::Borrowed(&[
                Field::TopK,
                Field::ToolService,
                Field::PresencePenalty,
                Field::FrequencyPenalty,
                Field::StopTexts,
                Field::Verbosity,
                Field::CacheKey,
                Field::CacheMark,
            ]),
            ..COMPATIBLE
        },
        models: Cow::Borrowed(&[]),
    },
    &Backend {
        name: Cow::Borrowed("moonshot"),
        dialect: "openai-chat",
        about: Cow::Borrowed("Moonshot AI's own API, in OpenAI's words"),
        takes: Capabilities {
            media: MediaTypes { inline: words!["image/"], by_address: words!["image/"] },
            ..KIMI_SWITCHED
        },
        models: Cow::Borrowed(&[]),
    },
    &KIMI,
    &COPILOT,
    &COPILOT_RESPONSES,
    &COPILOT_MESSAGES,
    &GEMINI_API,
    &GEMINI_ON_VERTEX,
];

/// Chat according to OpenAI's current types.
const CHAT: Capabilities = Capabilities {
    needs_model: true,
    user_after_results: true,
    max_tokens: Cow::Borrowed("max_completion_tokens"),
    max_tokens_default: None,
    refuses: Cow::Borrowed(&[Field::TopK, Field::ToolService]),
    max_temperature: 2.0,
    min_tokens: 1,
    max_stop_texts: 4,
    max_stop_bytes: usize::MAX,
    blank_stop_texts: true,
    // OpenAI's API has no member for reasoning; compatible servers do, and an unread member does no harm.
    reasoning_names: words!["reasoning_content", "reasoning"],
    reasoning_with_calls: false,
    efforts: words!["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    thinking: ThinkingForms { off: true, ..ThinkingForms::EFFORT_ALONE },
    sampling_with_thinking: true,
    system: SystemPlaces::Anywhere,
    developer: true,
    call_ids: NameRule { letters: Letters::Any, least: 1, most: 64, letter_first: false },
    tool_names: NameRule::TOOL,
    schemas: SchemaRules {
        object_root: true,
        strict_is_closed: true,
        strict_requires_all: true,
        answer_is_closed: false,
        typed: false,
    },
    media: MediaTypes {
        inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"],
        by_address: words!["image/"],
    },
    media_in_results: false,
    max_cache_marks: 4,
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

/// Settings that reasoning models refuse: their sampling is fixed, and stop sequences are not supported ("Reasoning
/// models", the reference of `stop`).
const REFUSED_OF_THINKERS: &[Field] = &[
    Field::TopK,
    Field::ToolService,
    Field::Temperature,
    Field::TopP,
    Field::FrequencyPenalty,
    Field::PresencePenalty,
    Field::Logprobs,
    Field::TopLogprobs,
    Field::StopTexts,
];

/// GPT-5 always reasons. From 5.1 on, reasoning can be switched off, which is the default; sampling settings apply
/// then ("Using GPT-5.2"; the reference of `reasoning_effort`).
const OF_GPT_5: RuleWords = words!["gpt-5", "gpt-5-2025*", "gpt-5-mini*", "gpt-5-nano*", "gpt-5-codex*"];
const OF_GPT_5_PRO: RuleWords = words!["gpt-5-pro*"];
const OF_GPT_5_1: RuleWords = words!["gpt-5.1", "gpt-5.1-2025*", "gpt-5.1-codex", "gpt-5.1-codex-mini*"];
const UP_TO_GPT_5_5: RuleWords = words!["gpt-5.1-codex-max*", "gpt-5.2*", "gpt-5.3*", "gpt-5.4*", "gpt-5.5*"];
const OF_GPT_5_6: RuleWords = words!["gpt-5.6*"];
const EFFORTS_OF_GPT_5: RuleWords = words!["minimal", "low", "medium", "high"];
const EFFORTS_OF_GPT_5_1: RuleWords = words!["none", "low", "medium", "high"];
const EFFORTS_UP_TO_GPT_5_5: RuleWords = words!["none", "low", "medium", "high", "xhigh"];
const EFFORTS_OF_GPT_5_6: RuleWords = words!["none", "low", "medium", "high", "xhigh", "max"];
const ALWAYS: ThinkingForms = ThinkingForms { off: false, ..CHAT.thinking };

/// Reasoning models have fixed sampling; search models refuse sampling settings, too.
const CHAT_MODELS: &[ModelRow] = &[
    ModelRow {
        names: OF_GPT_5,
        takes: Capabilities {
            refuses: Cow::Borrowed(REFUSED_OF_THINKERS),
            efforts: EFFORTS_OF_GPT_5,
            thinking: ALWAYS,
            ..CHAT
        },
    },
    ModelRow {
        names: OF_GPT_5_PRO,
        takes: Capabilities {
            refuses: Cow::Borrowed(REFUSED_OF_THINKERS),
            efforts: words!["high"],
            thinking: ALWAYS,
            ..CHAT
        },
    },
    ModelRow {
        names: OF_GPT_5_1,
        takes: Capabilities { efforts: EFFORTS_OF_GPT_5_1, sampling_with_thinking: false, ..CHAT },
    },
    ModelRow {
        names: UP_TO_GPT_5_5,
        takes: Capabilities { efforts: EFFORTS_UP_TO_GPT_5_5, sampling_with_thinking: false, ..CHAT },
    },
    ModelRow {
        names: OF_GPT_5_6,
        takes: Capabilities { efforts: EFFORTS_OF_GPT_5_6, sampling_with_thinking: false, ..CHAT },
    },
    ModelRow {
        names: words!["*-search-preview*", "*-search-api*"],
        takes: Capabilities {
            refuses: Cow::Borrowed(&[Field::TopK, Field::Temperature, Field::TopP]),
            ..CHAT
        },
    },
    ModelRow {
        names: words!["o1*", "o3*", "o4*"],
        takes: Capabilities {
            refuses: Cow::Borrowed(REFUSED_OF_THINKERS),
            efforts: words!["low", "medium", "high"],
            thinking: ThinkingForms::EFFORT_ALONE,
            ..CHAT
        },
    },
];

/// Responses according to OpenAI's current types.
pub(super) const RESPONSES: Capabilities = Capabilities {
    max_tokens: Cow::Borrowed("max_output_tokens"),
    // "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16" (vectorize-io/hindsight#58).
    min_tokens: 16,
    refuses: Cow::Borrowed(&[]),
    media: MediaTypes {
        inline: words!["image/", "application/", "text/"],
        by_address: words!["image/", "application/", "text/"],
    },
    media_in_results: true,
    ..CHAT
};

/// Settings that reasoning models refuse over Responses, which has no stop sequences.
const REFUSED_OVER_RESPONSES: &[Field] = &[Field::Temperature, Field::TopP, Field::TopLogprobs];

const RESPONSES_MODELS: &[ModelRow] = &[
    ModelRow {
        names: OF_GPT_5,
        takes: Capabilities {
            refuses: Cow::Borrowed(REFUSED_OVER_RESPONSES),
            efforts: EFFORTS_OF_GPT_5,
            thinking: ALWAYS,
            ..RESPONSES
        },
    },
    ModelRow {
        names: OF_GPT_5_PRO,
        takes: Capabilities {
            refuses: Cow::Borrowed(REFUSED_OVER_RESPONSES),
            efforts: words!["high"],
            thinking: ALWAYS,
            ..RESPONSES
        },
    },
    ModelRow {
        names: OF_GPT_5_1,
        takes: Capabilities { efforts: EFFORTS_OF_GPT_5_1, sampling_with_thinking: false, ..RESPONSES },
    },
    ModelRow {
        names: UP_TO_GPT_5_5,
        takes: Capabilities { efforts: EFFORTS_UP_TO_GPT_5_5, sampling_with_thinking: false, ..RESPONSES },
    },
    ModelRow {
        names: OF_GPT_5_6,
        takes: Capabilities { efforts: EFFORTS_OF_GPT_5_6, sampling_with_thinking: false, ..RESPONSES },
    },
    ModelRow {
        names: words!["o1*", "o3*", "o4*"],
        takes: Capabilities {
            refuses: Cow::Borrowed(REFUSED_OVER_RESPONSES),
            efforts: words!["low", "medium", "high"],
            thinking: ALWAYS,
            ..RESPONSES
        },
    },
];

/// Chat on compatible servers of other vendors.
pub(super) const COMPATIBLE: Capabilities = Capabilities {
    max_tokens: Cow::Borrowed("max_tokens"),
    refuses: Cow::Borrowed(&[Field::CacheMark, Field::Verbosity, Field::StoreAnswer, Field::ToolService]),
    media: MediaTypes { inline: words!["image/"], by_address: words!["image/"] },
    schemas: SchemaRules { strict_is_closed: false, strict_requires_all: false, ..CHAT.schemas },
    developer: false,
    max_cache_marks: 0,
    ..CHAT
};

/// OpenRouter accepts state in `reasoning_details` ("Reasoning Tokens: preserving reasoning blocks") and cache marks
/// in Anthropic's form, which it translates for the provider ("Prompt Caching").
const OPENROUTER: Capabilities = Capabilities {
    refuses: Cow::Borrowed(&[Field::Verbosity, Field::StoreAnswer, Field::ToolService]),
    reasoning_names: words!["reasoning", "reasoning_content"],
    efforts: words!["none", "minimal", "low", "medium", "high", "xhigh"],
    media: MediaTypes {
        inline: words!["image/", "application/pdf", "audio/wav", "audio/mpeg"],
        by_address: words!["image/", "application/pdf"],
    },
    max_cache_marks: 4,
    cache_marks: CacheMarkForm::CacheControl,
    ..COMPATIBLE
};

/// vLLM, which renders messages by the model's own template.
const VLLM: Capabilities =
    Capabilities { reasoning_names: words!["reasoning", "reasoning_content"], ..COMPATIBLE };

const OLLAMA: Capabilities = Capabilities {
    reasoning_names: words!["reasoning"],
    efforts: words!["none", "low", "medium", "high"],
    media: MediaTypes { inline: words!["image/"], by_address: words![] },
    ..COMPATIBLE
};

/// Models whose templates refuse a system message after the first message (vllm-project/vllm#41114,
/// QwenLM/Qwen3.8#244), or a second system message (suitenumerique/conversations#197).
const STRICT_TEMPLATES: RuleWords =
    words!["*qwen3.5*", "*Qwen3.5*", "*qwen3.6*", "*Qwen3.6*", "*qwen3.8*", "*Qwen3.8*", "*gemma-3*"];

/// Kimi with switchable reasoning; the platform fixes the sampling.
const KIMI_SWITCHED: Capabilities = Capabilities {
    max_tokens: Cow::Borrowed("max_completion_tokens"),
    refuses: Cow::Borrowed(&[
        Field::Temperature,
        Field::TopP,
        Field::TopK,
        Field::FrequencyPenalty,
        Field::PresencePenalty,
        Field::AnswerCount,
        Field::Seed,
        Field::Logprobs,
        Field::TopLogprobs,
        Field::StoreAnswer,
        Field::Verbosity,
        Field::ServiceTier,
        Field::Metadata,
        Field::CacheMark,
        Field::ToolService,
    ]),
    max_temperature: 1.0,
    max_stop_texts: 5,
    max_stop_bytes: 32,
    reasoning_names: words!["reasoning_content"],
    reasoning_with_calls: true,
    efforts: words![],
    thinking: ThinkingForms { adaptive: true, off: true, ..ThinkingForms::EFFORT_ALONE },
    // Moonshot's own ids contain dots and colons, and no length limit is documented.
    call_ids: NameRule::ANY,
    tool_names: NameRule { letters: Letters::Word, least: 3, most: 64, letter_first: true },
    schemas: SchemaRules { typed: true, ..COMPATIBLE.schemas },
    media: MediaTypes { inline: words!["image/", "video/"], by_address: words!["image/", "video/"] },
    forced_calls_with_thinking: false,
    prefill_member: Some(Cow::Borrowed("partial")),
    ..COMPATIBLE
};

/// Older models accept sampling settings and do not reason.
const KIMI_SAMPLED: Capabilities = Capabilities {
    refuses: Cow::Borrowed(&[
        Field::TopK,
        Field::Seed,
        Field::Logprobs,
        Field::TopLogprobs,
        Field::StoreAnswer,
        Field::Verbosity,
        Field::ServiceTier,
        Field::Metadata,
        Field::CacheMark,
        Field::ToolService,
    ]),
    reasoning_with_calls: false,
    thinking: ThinkingForms::EFFORT_ALONE,
    ..KIMI_SWITCHED
};

const KIMI_MODELS: &[ModelRow] = &[
    ModelRow {
        names: words!["moonshot-v1*", "kimi-k2-0*", "kimi-k2-turbo*", "kimi-latest*"],
        takes: KIMI_SAMPLED,
    },
    // These models always reason; from the third generation on they accept an effort.
    ModelRow {
        names: words!["kimi-k2.7*", "kimi-k2-thinking*"],
        takes: Capabilities { thinking: ThinkingForms::EFFORT_ALONE, ..KIMI_SWITCHED },
    },
    ModelRow {
        names: words!["kimi-k3*"],
        takes: Capabilities {
            efforts: words!["low", "high", "max"],
            thinking: ThinkingForms::EFFORT_ALONE,
            ..KIMI_SWITCHED
        },
    },
];
