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
    is: fn(Val<'_>) -> bool,
}

impl UnreadForm {
    /// The form of a document, if known.
    pub(super) fn of(doc: Val<'_>) -> Option<&'static Self> {
        FORMS.iter().find(|form| (form.is)(doc))
    }
}

static FORMS: &[UnreadForm] = &[
    UnreadForm {
        about: "Gemini CLI's list of prompts (`logs.json`), which has no answers",
        looks_like: &["gemini-cli"],
        is: |doc| {
            let first = doc.elements().next();
            first.is_some_and(|entry| {
                let number = entry.get("messageId").is_some_and(|id| id.kind() == Kind::Number);
                number && entry.has_str("sessionId") && entry.has_str("message")
            })
        },
    },
    UnreadForm {
        about: "a session of the first Codex, which was written in TypeScript",
        looks_like: &["codex", "record"],
        is: |doc| {
            let items = doc.get("items").is_some_and(|items| items.kind() == Kind::Array);
            items
                && doc
                    .get("session")
                    .is_some_and(|session| session.has_str("id") && session.has_str("timestamp"))
        },
    },
    UnreadForm {
        about: "JSON-RPC of another protocol, such as MCP",
        looks_like: &[],
        is: |line| line.str_or_empty("jsonrpc") == "2.0",
    },
];
