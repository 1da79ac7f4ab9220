//! Capabilities of servers and their models: data that is checked before a request is sent.
//!
//! A [`Backend`] is a server with a dialect. Each of its models has [`Capabilities`]: the first row whose pattern
//! matches the model's name applies, or else the defaults of the backend. Writers, the matrix, the documents and the
//! tests read the same tables, and a user's own rows come before the built-in rows.

use std::borrow::Cow;

use super::Letters;
use crate::json::Str;
use crate::model::Field;

/// A list of words in a table of the program.
macro_rules! words {
    ($($word:expr),* $(,)?) => { std::borrow::Cow::Borrowed(&[$(std::borrow::Cow::Borrowed($word)),*]) };
}

pub(crate) mod counting;
mod rules;
mod shared;
// Each row of the generated table is one line.
#[rustfmt::skip]
pub(crate) mod table;

pub use rules::{NamedRule, RuleError, RuleValue};
pub use shared::{ModelCapabilities, SharedBackend};

/// A word of a backend: borrowed in a built-in backend, owned in a user's backend.
pub type RuleWord = Cow<'static, str>;

/// Several words of a backend.
pub type RuleWords = Cow<'static, [RuleWord]>;

/// A server with a dialect. [`SharedBackend`] is the form for writers and options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Backend {
    /// The name on the command line.
    pub name: RuleWord,
    /// The dialect of the server.
    pub dialect: &'static str,
    /// A one-line description.
    pub about: RuleWord,
    /// The capabilities of models without a row.
    pub takes: Capabilities,
    /// Models with different capabilities.
    pub models: Cow<'static, [ModelRow]>,
}

/// The capabilities of some models of a backend.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelRow {
    /// The names of the models, literal or with a `*` as a wildcard.
    pub names: RuleWords,
    /// The capabilities of these models.
    pub takes: Capabilities,
}

/// The capabilities of a model on a server.
#[expect(clippy::struct_excessive_bools, reason = "a table of yes and no")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether a request must name a model.
    pub needs_model: bool,
    /// The member name of the output token limit.
    pub max_tokens: RuleWord,
    /// The limit that is sent if the source has none and the server requires one.
    pub max_tokens_default: Option<u64>,
    /// Settings that the server refuses or ignores.
    pub refuses: Cow<'static, [Field]>,
    /// The highest temperature.
    pub max_temperature: f64,
    /// The lowest accepted output token limit.
    pub min_tokens: u64,
    /// The maximum number of stop sequences.
    pub max_stop_texts: usize,
    /// The maximum size of a stop sequence in bytes.
    pub max_stop_bytes: usize,
    /// Whether a stop sequence may consist of whitespace only.
    pub blank_stop_texts: bool,
    /// The member names under which the server reads an assistant's reasoning in the history, the preferred name
    /// first; empty without a member for reasoning.
    pub reasoning_names: RuleWords,
    /// Every assistant message with calls must contain reasoning, if only an empty text.
    pub reasoning_with_calls: bool,
    /// The accepted reasoning efforts.
    pub efforts: RuleWords,
    /// The ways to request reasoning.
    pub thinking: ThinkingForms,
    /// Whether sampling can be set together with reasoning.
    pub sampling_with_thinking: bool,
    /// The accepted positions of system messages.
    pub system: SystemPlaces,
    /// Whether the server distinguishes developer and system messages.
    pub developer: bool,
    /// The rule for call ids.
    pub call_ids: NameRule,
    /// The rule for tool names.
    pub tool_names: NameRule,
    /// The rules for schemas of tools and answers.
    pub schemas: SchemaRules,
    /// The accepted media in user messages.
    pub media: MediaTypes,
    /// Whether tool results can hold media.
    pub media_in_results: bool,
    /// Whether a user message may directly follow results, which is required to send the media of results.
    pub user_after_results: bool,
    /// The maximum number of cache marks.
    pub max_cache_marks: usize,
    /// The form of cache marks.
    pub cache_marks: CacheMarkForm,
    /// Whether the conversation may end with an assistant message.
    pub prefill: bool,
    /// The member that marks the final assistant message as the beginning of the answer.
    pub prefill_member: Option<RuleWord>,
    /// The member name of the seed.
    pub seed: RuleWord,
    /// The issuers whose state the server accepts in `reasoning_details`, because it forwards requests to them.
    pub state_of: RuleWords,
    /// Whether a tool call can be required together with reasoning.
    pub forced_calls_with_thinking: bool,
    /// Whether a call of any tool can be required, without a tool name.
    pub unnamed_calls: bool,
    /// The placeholder for the state that the first call of an assistant's turn must carry if its issuer gave none:
    /// the server's own word for history from another model.
    pub call_state: Option<RuleWord>,
    /// The dialect in which the server offers the model, if it differs.
    pub other_dialect: Option<RuleWord>,
}

/// The ids or names a target accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NameRule {
    /// The accepted characters.
    pub letters: Letters,
    /// The minimum number of characters.
    pub least: usize,
    /// The maximum number of characters.
    pub most: usize,
    /// The first character must be a letter or an underscore.
    pub letter_first: bool,
}

impl NameRule {
    /// The tool names that nearly every backend accepts.
    pub const TOOL: Self = Self { letters: Letters::Word, least: 1, most: 64, letter_first: false };
    /// The names a client accepts: names in an answer are the client's own, or come from the backend.
    pub const ANY: Self = Self { letters: Letters::Any, least: 1, most: usize::MAX, letter_first: false };

    /// A rule for names of at least one and at most `most` of the characters.
    pub const fn new(letters: Letters, most: usize) -> Self {
        Self { letters, most, ..Self::ANY }
    }
}

/// The ways to request reasoning.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a form of its own that a backend takes or not")]
#[non_exhaustive]
pub struct ThinkingForms {
    /// Reasoning with a token budget.
    pub budget: bool,
    /// The minimum budget.
    pub budget_least: usize,
    /// The maximum budget.
    pub budget_most: usize,
    /// The budget must be below the output token limit.
    pub budget_below_limit: bool,
    /// Reasoning of a length the model chooses.
    pub adaptive: bool,
    /// Reasoning can be switched off.
    pub off: bool,
}

impl ThinkingForms {
    /// Reasoning by effort only; any budget is valid where a row adds budgets.
    pub const EFFORT_ALONE: Self = Self {
        budget: false,
        budget_least: 1,
        budget_most: usize::MAX,
        budget_below_limit: false,
        adaptive: false,
        off: false,
    };
}

/// The accepted positions of system messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemPlaces {
    /// Anywhere.
    Anywhere,
    /// At the beginning, and after a user message. In Anthropic's dialect, an assistant message or the end must
    /// follow.
    AfterUser,
    /// At the beginning, and only one.
    First,
    /// Nowhere: instructions are written as user messages.
    Nowhere,
}

/// The form of cache marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMarkForm {
    /// The form of the dialect.
    Own,
    /// `cache_control`, which gateways to other providers accept.
    CacheControl,
}

/// Requirements for schemas.
#[expect(clippy::struct_excessive_bools, reason = "a table of yes and no")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SchemaRules {
    /// The root of a tool's schema must be an object.
    pub object_root: bool,
    /// A strict schema closes every object.
    pub strict_is_closed: bool,
    /// A strict schema lists every property as required.
    pub strict_requires_all: bool,
    /// A schema of an answer closes every object, strict or not.
    pub answer_is_closed: bool,
    /// Every property has a type.
    pub typed: bool,
}

/// The media a user message may hold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediaTypes {
    /// Media types that are sent inline; a type that ends in `/` covers all its subtypes.
    pub inline: RuleWords,
    /// Media types that may be referred to by URL.
    pub by_address: RuleWords,
}

impl MediaTypes {
    /// Whether media of the type may be sent inline.
    pub fn takes(&self, media_type: &str) -> bool {
        fits(&self.inline, media_type)
    }

    /// Whether media of the type may be referred to by URL.
    pub fn takes_address(&self, media_type: &str) -> bool {
        fits(&self.by_address, media_type)
    }
}

fn fits(types: &[RuleWord], media_type: &str) -> bool {
    let fits = |known: &str| media_type == known || known.ends_with('/') && media_type.starts_with(known);
    types.iter().any(|known| fits(known))
}

impl Backend {
    /// The built-in backends.
    pub fn built_in() -> &'static [&'static Backend] {
        table::BACKENDS
    }

    /// The built-in backend with the given name and dialect.
    pub fn named(name: &str, dialect: &str) -> Option<&'static Backend> {
        Self::built_in().iter().copied().find(|backend| backend.name == name && backend.dialect == dialect)
    }

    /// The default backend of a dialect: its vendor.
    pub fn of_dialect(dialect: &str) -> Option<&'static Backend> {
        Self::built_in().iter().copied().find(|backend| backend.dialect == dialect)
    }

    /// Whether the vendor does not serve a model of this name. Servers that host third-party models have no list of
    /// models.
    pub fn lacks_model(&self, model: Option<&Str<'_>>) -> bool {
        let Some(model) = model.map(Str::decode) else { return false };
        let own = table::OWN_MODELS.iter().find(|(name, _)| self.name == *name);
        own.is_some_and(|(_, patterns)| !patterns.iter().any(|pattern| is_match(pattern, &model)))
    }

    /// The capabilities of the model on this backend.
    pub fn takes_of(&self, model: Option<&Str<'_>>) -> &Capabilities {
        self.takes_of_row(self.row_of(model))
    }

    /// The place of the first row with a pattern that matches the model's name.
    fn row_of(&self, model: Option<&Str<'_>>) -> Option<usize> {
        let plain = model.map(Str::decode).unwrap_or_default();
        let fits = |row: &ModelRow| row.names.iter().any(|name| is_match(name, &plain));
        self.models.iter().position(fits)
    }

    /// The capabilities in a row, or those of models without a row.
    fn takes_of_row(&self, row: Option<usize>) -> &Capabilities {
        row.and_then(|row| self.models.get(row)).map_or(&self.takes, |row| &row.takes)
    }
}

impl Capabilities {
    /// Whether the setting may be sent.
    pub fn takes(&self, setting: Field) -> bool {
        !self.refuses.contains(&setting)
    }
}

/// Whether a name matches a pattern in which `*` matches any text.
pub fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut in_pattern, mut in_name) = (0, 0);
    // The place in the pattern after the last star, and the end of the text that the star matches so far.
    let mut star = None;
    while let Some(byte) = name.get(in_name) {
        match (pattern.get(in_pattern), star) {
            (Some(b'*'), _) => {
                in_pattern += 1;
                star = Some((in_pattern, in_name));
            }
            (Some(known), _) if known == byte => (in_pattern, in_name) = (in_pattern + 1, in_name + 1),
            // The star matches more, up to the next place where the byte after the star is in the name.
            (_, Some((after, end))) => {
                let Some(next) = pattern.get(after) else { return true };
                let Some(further) = name[end + 1..].iter().position(|byte| byte == next) else {
                    return false;
                };
                in_name = end + 1 + further;
                (star, in_pattern) = (Some((after, in_name)), after);
            }
            (_, None) => return false,
        }
    }
    pattern[in_pattern..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, is) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5.1", false),
            ("gpt-5*", "gpt-5.1-codex", true),
            ("*claude-3*", "anthropic.claude-3-haiku@v1", true),
            ("*claude-3*", "claude-4", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("a*b*c", "aXbXbc", true),
            ("a*bc", "abcbc", true),
            ("a*a", "a", false),
            ("*ab*", "aab", true),
            ("a**", "a", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("*ü*", "für", true),
            ("*", "*", true),
        ] {
            assert_eq!(is_match(pattern, name), is, "{pattern} and {name}");
        }
    }

    #[test]
    fn a_backend_is_named_once_and_knows_older_models() {
        let mut names: Vec<_> =
            Backend::built_in().iter().map(|known| (&known.name, known.dialect)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Backend::built_in().len());
        let anthropic = Backend::of_dialect("anthropic").expect("built in");
        let takes = |model: &str| anthropic.takes_of(Some(&Str::plain(model))).takes(Field::Temperature);
        assert!(takes("claude-opus-4-5-20251101") && takes("us.anthropic.claude-3-5-haiku-20241022-v1:0"));
        assert!(takes("some-model") && !takes("claude-opus-5-5"));
    }
}
