//! Backends for token counting, where settings of an answer have no place.

use std::borrow::Cow;

use super::table::{CLAUDE_CLASS, GEMINI_CLASS, KIMI_CLASS, RESPONSES_CLASS};
use super::{Backend, Capabilities};
use crate::model::Field;

/// Anthropic's token counting.
pub(crate) static ANTHROPIC_COUNT: Backend = Backend {
    name: Cow::Borrowed("anthropic"),
    dialect: "anthropic",
    about: Cow::Borrowed("Anthropic's own API"),
    takes: Capabilities { max_tokens_default: None, refuses: Cow::Borrowed(ANSWER_SETTINGS), ..CLAUDE_CLASS },
    models: Cow::Borrowed(&[]),
};

/// OpenAI's token counting.
pub(crate) static OPENAI_RESPONSES_COUNT: Backend = Backend {
    name: Cow::Borrowed("openai"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's own API"),
    takes: Capabilities { refuses: Cow::Borrowed(ANSWER_SETTINGS), ..RESPONSES_CLASS },
    models: Cow::Borrowed(&[]),
};

/// Moonshot AI's token counting.
pub(crate) static KIMI_COUNT: Backend = Backend {
    name: Cow::Borrowed("moonshot"),
    dialect: "kimi",
    about: Cow::Borrowed("Moonshot AI's own API"),
    takes: Capabilities { refuses: Cow::Borrowed(ANSWER_SETTINGS), ..KIMI_CLASS },
    models: Cow::Borrowed(&[]),
};

/// Token counting on the Gemini API.
pub(crate) static GEMINI_COUNT: Backend = Backend {
    name: Cow::Borrowed("gemini"),
    dialect: "gemini",
    about: Cow::Borrowed("Google's Gemini API for developers"),
    takes: Capabilities { refuses: Cow::Borrowed(ANSWER_SETTINGS), ..GEMINI_CLASS },
    models: Cow::Borrowed(&[]),
};

/// Settings of an answer.
const ANSWER_SETTINGS: &[Field] = &[
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
