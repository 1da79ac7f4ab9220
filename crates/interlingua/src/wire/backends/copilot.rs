//! GitHub Copilot's backends: one server, three dialects. Each model is available in some of the dialects
//! (`supported_endpoints` in the list of models).
//!
//! The facts come from Copilot's client (microsoft/vscode-copilot-chat: `messagesApi.ts`, `responsesApi.ts`): settings
//! the client never sends count as refused.

use std::borrow::Cow;

use super::builtin::{COMPATIBLE, RESPONSES};
use super::claude::{
    CLAUDE, CLAUDE_3, CLAUDE_4, CLAUDE_4_6, CLAUDE_5, CLAUDE_5_5, CLAUDE_OPUS_4_5, FROM_4_7, FROM_5_5, OF_3,
    OF_3_SMALL, OF_4_6, OPUS_4_5, UP_TO_4_5,
};
use super::{Backend, Capabilities, MediaTypes, ModelRow, NameRule, RuleWords, SystemPlaces, ThinkingForms};
use crate::model::Field;

/// The capabilities of a Claude model over Anthropic's dialect: no media by URL, no prefilled answer, and system
/// messages only in `system`.
macro_rules! over_messages {
    ($takes:ident, $refuses:ident) => {
        Capabilities {
            refuses: Cow::Borrowed($refuses),
            media: MediaTypes { by_address: words![], ..CLAUDE.media },
            prefill: false,
            system: SystemPlaces::First,
            ..$takes
        }
    };
}

/// GitHub, the vendor of the dialect.
pub(crate) static COPILOT: Backend = Backend {
    name: Cow::Borrowed("github"),
    dialect: "copilot",
    about: Cow::Borrowed("GitHub Copilot's chat API"),
    takes: CHAT,
    models: Cow::Borrowed(&[
        ModelRow {
            names: RESPONSES_ONLY,
            takes: Capabilities { other_dialect: Some(Cow::Borrowed("openai-responses")), ..CHAT_OF_OPENAI },
        },
        ModelRow { names: OF_OPENAI, takes: CHAT_OF_OPENAI },
    ]),
};

/// GitHub's server in OpenAI's Responses dialect.
pub(super) static COPILOT_RESPONSES: Backend = Backend {
    name: Cow::Borrowed("github"),
    dialect: "openai-responses",
    about: Cow::Borrowed("OpenAI's models on GitHub Copilot (POST /responses)"),
    takes: OVER_RESPONSES,
    models: Cow::Borrowed(&[
        ModelRow {
            names: OF_ANTHROPIC,
            takes: Capabilities { other_dialect: Some(Cow::Borrowed("anthropic")), ..OVER_RESPONSES },
        },
        ModelRow {
            names: CHAT_ONLY,
            takes: Capabilities { other_dialect: Some(Cow::Borrowed("copilot")), ..OVER_RESPONSES },
        },
    ]),
};

/// GitHub's server in Anthropic's dialect.
pub(super) static COPILOT_MESSAGES: Backend = Backend {
    name: Cow::Borrowed("github"),
    dialect: "anthropic",
    about: Cow::Borrowed("Claude on GitHub Copilot (POST /v1/messages)"),
    takes: over_messages!(CLAUDE, REFUSED_MESSAGES),
    models: Cow::Borrowed(&[
        ModelRow { names: FROM_5_5, takes: over_messages!(CLAUDE_5_5, REFUSED_OF_5) },
        ModelRow { names: FROM_4_7, takes: over_messages!(CLAUDE_5, REFUSED_OF_5) },
        ModelRow { names: OPUS_4_5, takes: over_messages!(CLAUDE_OPUS_4_5, REFUSED_MESSAGES) },
        ModelRow { names: OF_4_6, takes: over_messages!(CLAUDE_4_6, REFUSED_MESSAGES) },
        ModelRow { names: OF_3, takes: over_messages!(CLAUDE_3, REFUSED_MESSAGES) },
        ModelRow { names: OF_3_SMALL, takes: over_messages!(CLAUDE_3, REFUSED_MESSAGES) },
        ModelRow { names: UP_TO_4_5, takes: over_messages!(CLAUDE_4, REFUSED_MESSAGES) },
        ModelRow {
            names: OF_OPENAI,
            takes: Capabilities {
                other_dialect: Some(Cow::Borrowed("openai-responses")),
                ..over_messages!(CLAUDE, REFUSED_MESSAGES)
            },
        },
        ModelRow {
            names: CHAT_ONLY,
            takes: Capabilities {
                other_dialect: Some(Cow::Borrowed("copilot")),
                ..over_messages!(CLAUDE, REFUSED_MESSAGES)
            },
        },
    ]),
};

/// Models that are "not accessible via the /chat/completions endpoint" (caozhiyuan/copilot-api#102, #113; ericc-ch/copilot-api#269).
const RESPONSES_ONLY: RuleWords = words!["gpt-5*-codex*", "gpt-5.4*", "gpt-5.5*", "gpt-5.6*"];
const OF_OPENAI: RuleWords = words!["gpt-5*", "o1*", "o3*", "o4*"];
const OF_ANTHROPIC: RuleWords = words!["*claude*"];
const CHAT_ONLY: RuleWords = words!["gemini*", "grok*"];

/// Copilot's chat API, for models of several vendors.
const CHAT: Capabilities = Capabilities {
    max_tokens: Cow::Borrowed("max_tokens"),
    refuses: Cow::Borrowed(&[
        Field::TopK,
        Field::ToolService,
        Field::StoreAnswer,
        Field::Verbosity,
        Field::ServiceTier,
        Field::Metadata,
        Field::CacheKey,
        Field::EndUser,
    ]),
    reasoning_names: words!["reasoning_text"],
    efforts: words!["low", "medium", "high", "xhigh", "max"],
    // Only Claude accepts a budget on Copilot, by Anthropic's rules.
    thinking: ThinkingForms {
        budget: true,
        budget_least: 1024,
        budget_below_limit: true,
        off: true,
        ..ThinkingForms::EFFORT_ALONE
    },
    max_cache_marks: 4,
    unnamed_calls: false,
    ..COMPATIBLE
};

/// OpenAI's reasoning models require the newer name of the output token limit (ericc-ch/copilot-api#258).
const CHAT_OF_OPENAI: Capabilities =
    Capabilities { max_tokens: Cow::Borrowed("max_completion_tokens"), ..CHAT };

const OVER_RESPONSES: Capabilities = Capabilities {
    refuses: Cow::Borrowed(&[
        Field::Temperature,
        Field::TopP,
        Field::ServiceTier,
        Field::Metadata,
        Field::CacheKey,
        Field::CacheMark,
        Field::EndUser,
    ]),
    efforts: words!["low", "medium", "high", "xhigh", "max"],
    // The client sends `system` messages.
    developer: false,
    media: MediaTypes { inline: words!["image/"], by_address: words![] },
    // Copilot's ids have several hundred characters, and go back unchanged.
    call_ids: NameRule::ANY,
    max_cache_marks: 0,
    ..RESPONSES
};

const REFUSED_MESSAGES: &[Field] = &[Field::Temperature, Field::TopK, Field::ServiceTier, Field::EndUser];
const REFUSED_OF_5: &[Field] =
    &[Field::Temperature, Field::TopP, Field::TopK, Field::ServiceTier, Field::EndUser];
