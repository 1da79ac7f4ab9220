//! Profiles: the words of a dialect for the capabilities of backends and clients. Each use of a dialect is one static,
//! so a flavour of a dialect is a further static. Capabilities that depend on the server and the model are data
//! ([`super::backends`]).

use super::backends::{Backend, NameRule};
use super::content::TextForm;
use super::settings::{CacheWords, Setting};
use super::words::StopWords;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{CallKind, Opaque, Service, SupportTable, Tool};

/// The profile of a backend or a client.
pub(crate) struct Profile {
    /// The vendor of the dialect, for requests without a named backend.
    pub(crate) vendor: &'static Backend,
    /// The support table.
    pub(crate) support: SupportTable,
    /// Settings that are a single value.
    pub(crate) settings: &'static [Setting],
    /// The words for cache marks.
    pub(crate) cache: &'static CacheWords,
    /// The words for stop reasons.
    pub(crate) stops: &'static StopWords,
    /// The rule for call ids in an answer; the rule for requests depends on the backend.
    pub(crate) answer_ids: NameRule,
    /// The policy for signatures and encrypted state.
    pub(crate) opaque: OpaquePolicy,
    /// The place of refusals.
    pub(crate) refusals: Refusals,
    /// The form of call arguments.
    pub(crate) arguments: ArgumentForm,
    /// Support for calls with plain text.
    pub(crate) free_text: FreeText,
    /// The form of text parts.
    pub(crate) texts: TextForm,
    /// Whether text documents have a part type of their own; if not, they are written as text.
    pub(crate) text_documents: bool,
    /// Whether a system message is a turn of the conversation.
    pub(crate) system_is_turn: bool,
    /// Whether tools have groups; if not, the group is prefixed to the name.
    pub(crate) groups: bool,
    /// The content that can carry a cache mark.
    pub(crate) marks: Marks,
    /// The vendor's own tools.
    pub(crate) own_tools: &'static [OwnTool],
}

/// A tool that the vendor trained or runs.
#[derive(Debug)]
pub(crate) struct OwnTool {
    /// The tool's type, or its prefix if it ends with an underscore; a `#` at the end is a date of eight digits.
    pub(crate) begins: &'static str,
    /// The executor of the tool.
    pub(crate) kind: CallKind,
    /// The purpose of the tool.
    pub(crate) service: Option<Service>,
    /// The type and name used in place of another vendor's tool with the same purpose.
    pub(crate) stands_in: Option<(&'static str, &'static str)>,
}

/// The policy for signatures and encrypted state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpaquePolicy {
    /// For a client, which will send the state back: state of any issuer is written.
    Carry,
    /// For a backend: only state of the backend's own issuer is written.
    Withhold {
        /// The issuer behind the backend, if the backend issues state.
        unless: Option<&'static str>,
    },
}

/// The place of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusals {
    /// In a member or part of its own.
    Apart,
    /// In an ordinary text.
    AsText,
}

/// The form of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentForm {
    /// JSON inside a string, which clients parse: it is never empty.
    Text,
    /// An object.
    Object,
}

/// Support for calls with plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreeText {
    /// Calls can have plain text.
    Native,
    /// The plain text becomes the member `input` of an object.
    Wrapped,
}

/// The handling of a text of whitespace only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BlankText {
    /// The text is written.
    #[default]
    Take,
    /// The target refuses the text.
    Refuse,
}

/// The content that can carry a cache mark, each variant including those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Marks {
    /// No content.
    Nothing,
    /// Content of users and tools.
    Input,
    /// The assistant's texts.
    Texts,
    /// The assistant's calls.
    TextsAndCalls,
}

impl Profile {
    /// Whether the target accepts the opaque state.
    pub(crate) fn takes_opaque(&self, opaque: &Opaque<'_>) -> Result<(), Reason> {
        match self.opaque {
            OpaquePolicy::Carry => Ok(()),
            OpaquePolicy::Withhold { unless: Some(issuer) } if opaque.is_of(issuer) => Ok(()),
            OpaquePolicy::Withhold { .. } => Err(Reason::Foreign),
        }
    }

    /// Whether the target can offer the tool: a described tool that the client runs, or one of the target's own tools.
    pub(crate) fn offers(&self, tool: &Tool<'_>) -> bool {
        match &tool.vendor_type {
            Some(vendor_type) => {
                self.own_type(vendor_type).is_some() || self.stand_in(tool.service).is_some()
            }
            None => client_runs(tool.kind).is_ok(),
        }
    }

    /// The target's own tool with the given type, if any.
    pub(crate) fn own_type(&self, vendor_type: &Str<'_>) -> Option<&'static OwnTool> {
        let word = vendor_type.as_escaped();
        let is = |begins: &str| match begins.strip_suffix('#') {
            Some(stem) => word
                .strip_prefix(stem)
                .is_some_and(|date| date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit())),
            None => word == begins || begins.ends_with('_') && word.starts_with(begins),
        };
        self.own_tools.iter().find(|own| is(own.begins))
    }

    /// The type and name of the target's own tool with the same purpose as another vendor's tool.
    pub(crate) fn stand_in(&self, service: Option<Service>) -> Option<(&'static str, &'static str)> {
        let same = |own: &&OwnTool| service.is_some() && own.service == service && own.stands_in.is_some();
        self.own_tools.iter().find(same)?.stands_in
    }
}

/// Only calls that the client runs are supported: the provider ran the other calls and keeps their state, so no other
/// provider can replay them.
pub(crate) const fn client_runs(kind: CallKind) -> Result<(), Reason> {
    match kind {
        CallKind::Function | CallKind::FreeText | CallKind::Vendor => Ok(()),
        CallKind::Server | CallKind::Mcp => Err(Reason::NoSlot),
    }
}
