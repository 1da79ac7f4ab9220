//! Known output and files of agents that no dialect reads: a specific message is better than an unknown input, and
//! some of these forms would be mistaken for a dialect.

use crate::tape::{Kind, Val};

/// A known form that no dialect reads.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct UnreadForm {
    /// A short description.
    pub about: &'static str,
    /// Dialects with similar lines: a single document of this form rules these dialects out.
    pub looks_like: &'static [&'static str],
    is: fn(Val<'_>, DocumentPlace) -> bool,
}

impl UnreadForm {
    /// The form of a document, if known.
    pub(super) fn of(doc: Val<'_>, place: DocumentPlace) -> Option<&'static Self> {
        FORMS.iter().find(|form| (form.is)(doc, place))
    }
}

/// The position of a document in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentPlace {
    First,
    Later,
}

static FORMS: &[UnreadForm] = &[
    UnreadForm {
        about: "what Qwen Code prints with `-o stream-json`",
        looks_like: &["claude-stream"],
        is: |line, _| line.has_str("session_id") && line.has_str("qwen_code_version"),
    },
    UnreadForm {
        about: "what Amp prints with `--stream-json`",
        looks_like: &["claude-stream"],
        // Amp calls its sessions threads.
        is: |line, _| line.has_str("type") && line.str_or_empty("session_id").starts_with("T-"),
    },
    UnreadForm {
        about: "what Cursor prints with `--output-format stream-json`",
        looks_like: &["claude-stream"],
        // Claude lists its tools at the start, and has calls within messages.
        is: |line, _| {
            let begins = line.str_or_empty("subtype") == "init" && line.has_str("apiKeySource");
            let calls = line.str_or_empty("type") == "tool_call" && line.has_str("subtype");
            line.has_str("session_id") && (calls || begins && line.get("tools").is_none())
        },
    },
    UnreadForm {
        about: "what Gemini CLI prints with `-o stream-json`",
        looks_like: &["gemini-cli"],
        is: |line, _| {
            line.str_or_empty("type") == "init" && line.has_str("session_id") && line.has_str("timestamp")
        },
    },
    UnreadForm {
        about: "Gemini CLI's list of prompts (`logs.json`), which has no answers",
        looks_like: &["gemini-cli"],
        is: |doc, _| {
            let first = doc.elements().next();
            first.is_some_and(|entry| {
                let number = entry.get("messageId").is_some_and(|id| id.kind() == Kind::Number);
                number && entry.has_str("sessionId") && entry.has_str("message")
            })
        },
    },
    UnreadForm {
        about: "what Codex prints with `exec --json`",
        looks_like: &["codex"],
        is: |line, _| line.str_or_empty("type") == "thread.started" && line.has_str("thread_id"),
    },
    UnreadForm {
        about: "a session of the first Codex, which was written in TypeScript",
        looks_like: &["codex", "record"],
        is: |doc, _| {
            let items = doc.get("items").is_some_and(|items| items.kind() == Kind::Array);
            items
                && doc
                    .get("session")
                    .is_some_and(|session| session.has_str("id") && session.has_str("timestamp"))
        },
    },
    UnreadForm {
        about: "what Pi prints with `--mode json`",
        looks_like: &["pi"],
        is: |line, _| line.str_or_empty("type") == "agent_start",
    },
    UnreadForm {
        about: "what Kimi Code prints with `--output-format stream-json`",
        looks_like: &["kimi-cli"],
        is: |line, _| line.str_or_empty("role") == "meta" && line.has_str("type"),
    },
    UnreadForm {
        about: "messages as Kimi CLI prints them, without those of the user",
        looks_like: &["kimi-cli"],
        // The input of the model, which is supported, begins with the user.
        is: |line, place| {
            let names = ["role", "content", "tool_calls"];
            let is_bare = line.members().all(|(name, _)| names.contains(&name.as_escaped()));
            place == DocumentPlace::First && is_bare && line.str_or_empty("role") == "assistant"
        },
    },
    UnreadForm {
        about: "JSON-RPC of another protocol, such as MCP",
        looks_like: &[],
        is: |line, _| line.str_or_empty("jsonrpc") == "2.0",
    },
];
