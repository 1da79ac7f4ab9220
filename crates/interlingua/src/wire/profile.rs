//! In which words a dialect says what backends and clients take: one static per use of a dialect, so that a flavour of
//! it is another static. What depends on the server and the model is data ([`super::backends`]).

use super::backends::{Backend, NameRule};
use super::content::TextForm;
use super::settings::{CacheWords, Setting};
use super::words::StopWords;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{CallKind, Opaque, SaysTable, Service, Tool};

/// What a backend or a client takes.
pub(crate) struct Profile {
    /// The vendor of the dialect, for requests that name no other backend.
    pub(crate) vendor: &'static Backend,
    /// What is said there.
    pub(crate) says: SaysTable,
    /// Settings that are one value.
    pub(crate) settings: &'static [Setting],
    /// Marks for the cache.
    pub(crate) cache: &'static CacheWords,
    /// Why an answer stopped.
    pub(crate) stops: &'static StopWords,
    /// Ids of calls in an answer; those of a request depend on the backend.
    pub(crate) answer_ids: NameRule,
    /// Signatures and encrypted state.
    pub(crate) opaque: OpaquePolicy,
    /// A text by which the model declines.
    pub(crate) refusals: Refusals,
    /// Arguments of calls.
    pub(crate) arguments: ArgumentForm,
    /// Calls with plain text.
    pub(crate) free_text: FreeText,
    /// Texts that are parts.
    pub(crate) texts: TextForm,
    /// Whether documents that are text have a place of their own; where not, they are written as text.
    pub(crate) text_documents: bool,
    /// Whether a system message is a turn of the conversation.
    pub(crate) system_is_turn: bool,
    /// Whether tools have groups; where they have none, the group is put before the name.
    pub(crate) groups: bool,
    /// What can be marked for the cache.
    pub(crate) marks: Marks,
    /// The vendor's own tools.
    pub(crate) own_tools: &'static [OwnTool],
}

/// A tool that the vendor trained or runs itself.
#[derive(Debug)]
pub(crate) struct OwnTool {
    /// Its type, or how that begins if this ends with an underscore; a `#` at the end is a date of eight digits.
    pub(crate) begins: &'static str,
    /// Who runs it.
    pub(crate) kind: CallKind,
    /// What it is for.
    pub(crate) service: Option<Service>,
    /// The type and the name it gets in place of another vendor's tool for the same.
    pub(crate) stands_in: Option<(&'static str, &'static str)>,
}

/// What to do with signatures and encrypted state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpaquePolicy {
    /// To a client, which will send it back: whoever issued it.
    Carry,
    /// To a backend: only what that issuer made itself.
    Withhold {
        /// The issuer behind the backend, if it issues any.
        unless: Option<&'static str>,
    },
}

/// Where a refusal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusals {
    /// It has a place of its own.
    Apart,
    /// It is text like any other.
    AsText,
}

/// How arguments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentForm {
    /// As JSON inside a string, which clients parse: it is never empty.
    Text,
    /// As an object.
    Object,
}

/// Whether calls can have plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreeText {
    /// They can.
    Native,
    /// It becomes the member `input` of an object.
    Wrapped,
}

/// What to do with a text of nothing but space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BlankText {
    /// Write it.
    #[default]
    Take,
    /// The target refuses it.
    Refuse,
}

/// What can be marked for the cache, each with all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Marks {
    /// Nothing.
    Nothing,
    /// What users and tools say.
    Input,
    /// The assistant's texts.
    Texts,
    /// Its calls.
    TextsAndCalls,
}

impl Profile {
    /// Whether state that only its issuer can read may go there.
    pub(crate) fn takes_opaque(&self, opaque: &Opaque<'_>) -> Result<(), Reason> {
        match self.opaque {
            OpaquePolicy::Carry => Ok(()),
            OpaquePolicy::Withhold { unless: Some(issuer) } if opaque.is_of(issuer) => Ok(()),
            OpaquePolicy::Withhold { .. } => Err(Reason::Foreign),
        }
    }

    /// Whether a tool may be offered there: one that the client runs and can be described, or one of the target's own.
    pub(crate) fn offers(&self, tool: &Tool<'_>) -> bool {
        match &tool.vendor_type {
            Some(vendor_type) => {
                self.own_type(vendor_type).is_some() || self.stand_in(tool.service).is_some()
            }
            None => client_runs(tool.kind).is_ok(),
        }
    }

    /// The tool of that type, if it is one of the target's own.
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

    /// The type and the name of the target's own tool for the same as another vendor's.
    pub(crate) fn stand_in(&self, service: Option<Service>) -> Option<(&'static str, &'static str)> {
        let same = |own: &&OwnTool| service.is_some() && own.service == service && own.stands_in.is_some();
        self.own_tools.iter().find(same)?.stands_in
    }

    /// The type and the name of a vendor's tool there: its own if it is the target's, else those of the tool that stands
    /// in for it.
    pub(crate) fn own_tool<'a>(&self, tool: &'a Tool<'_>) -> Option<(Str<'a>, Str<'a>)> {
        let vendor_type = tool.vendor_type.as_ref()?;
        if self.own_type(vendor_type).is_some() {
            return Some((vendor_type.reborrow(), tool.name.reborrow()));
        }
        self.stand_in(tool.service).map(|(kind, name)| (Str::escaped(kind), Str::escaped(name)))
    }
}

/// Only calls that the client runs have a place: the provider ran the others and keeps their state, so no one else can
/// replay them.
pub(crate) const fn client_runs(kind: CallKind) -> Result<(), Reason> {
    match kind {
        CallKind::Function | CallKind::FreeText | CallKind::Vendor => Ok(()),
        CallKind::Server | CallKind::Mcp => Err(Reason::NoSlot),
    }
}
